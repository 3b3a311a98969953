"""Faults, benches and stores in memory that are used wrongly, and clients that cannot be had: each message, whole."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dynamap import (
    Async,
    RequestError,
    Store,
    Sync,
    Table,
    VersionConflict,
    connect,
    connect_async,
    entity,
    retry_on_conflict,
)
from dynamap.testing import (
    Bench,
    Cancellation,
    FaultPlan,
    Schedule,
    Unprocessed,
    memory_store,
    memory_store_async,
)
from tests.fakes import FakeClient


@entity("COUNTER", pk="COUNTER#{name}", sk="COUNTER")
class Counter:
    name: str
    count: int = 0


Counters = Table("counters", [Counter])


def anything(value: Any) -> Any:
    """The same, hidden from the type checkers."""
    return value


def faulty(fault: Any) -> Callable[[], object]:
    return lambda: FaultPlan({1: fault}).over(memory_store(Counters)).of(Counter).get(name="c").send()


def cancelled_with_too_many_reasons() -> object:
    store = FaultPlan({1: Cancellation(["TransactionConflict"] * 2)}).over(memory_store(Counters))
    return store.transact(store.of(Counter).put(Counter("c"))).send()


def plainly(store: Store[Sync]) -> None:
    """One client of a bench of threads."""


async def awaited(store: Store[Async]) -> None:
    """One client of a bench of tasks."""


def in_two_modes() -> object:
    bench = Bench(Counters)
    bench.client(plainly)
    return bench.client(awaited)


def in_a_loop() -> object:
    bench = Bench(Counters)
    bench.client(awaited)

    async def run() -> object:
        return bench.run()

    return asyncio.run(run())


def of_client(function: Callable[[Any], Any]) -> Callable[[], object]:
    """What a client of a bench is refused."""

    def run() -> object:
        errors: list[RequestError] = []

        def work(store: Store[Sync]) -> None:
            try:
                function(store)
            except RequestError as error:
                errors.append(error)

        bench = Bench(Counters)
        bench.client(work)
        bench.run()
        raise errors[0]

    return run


def of_task(function: Callable[[Any], Any]) -> Callable[[], object]:
    """The same of a coroutine."""

    def run() -> object:
        errors: list[RequestError] = []

        async def work(store: Store[Async]) -> None:
            try:
                await function(store)
            except RequestError as error:
                errors.append(error)

        bench = Bench(Counters)
        bench.client(work)
        bench.run()
        raise errors[0]

    return run


def from_another_thread(store: Any) -> None:
    errors: list[RequestError] = []

    def use() -> None:
        try:
            store.of(Counter).get(name="c").send()
        except RequestError as error:
            errors.append(error)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    raise errors[0]


async def waiting_plainly(store: Any) -> None:
    del store

    @retry_on_conflict
    def conflict() -> None:
        msg = "it was changed"
        raise VersionConflict(msg)

    conflict()


def client_of(store: Any) -> Any:
    return store._runtime.driver.client()


def in_another_loop() -> object:
    store: Any = connect_async(Counters, client=FakeClient(lambda _method, _params: nothing()))

    async def read() -> object:
        return await store.of(Counter).get(name="c").send()

    asyncio.run(read())
    return asyncio.run(read())


async def nothing() -> dict[str, Any]:
    return {}


CASES: dict[str, tuple[Callable[[], object], str]] = {
    # faults
    "nothing to leave unprocessed": (
        faulty(Unprocessed()),
        ("GetItem leaves nothing unprocessed: the fault is for batches of several entries"),
    ),
    "no transaction to cancel": (
        faulty(Cancellation(["TransactionConflict"])),
        ("GetItem cannot be cancelled with 1 reasons: the fault is for transactions of at least as many operations"),
    ),
    "more reasons than operations": (
        cancelled_with_too_many_reasons,
        (
            "TransactWriteItems cannot be cancelled with 2 reasons: the fault is for transactions of at least "
            "as many operations"
        ),
    ),
    "a call number 0": (lambda: FaultPlan({0: Unprocessed()}), "faults: no call has the number 0: they count from 1"),
    "no numbers": (
        lambda: FaultPlan(anything([Unprocessed()])),
        ("faults is a dict by the call's number, counted from 1, such as {1: ...}; got list"),
    ),
    # benches
    "no rate": (
        lambda: Bench(Counters, fault_rate=1.5),
        ("fault_rate is the share of calls that a fault strikes, from 0 to 1; got 1.5"),
    ),
    "two modes": (
        in_two_modes,
        ("the clients of a bench are all plain functions or all coroutine functions: make two benches"),
    ),
    "no clients": (
        lambda: Bench(Counters).run(),
        "a bench without clients has nothing to run: add some by bench.client",
    ),
    "inside of an event loop": (
        in_a_loop,
        ("a bench of async clients makes its own event loop: call run() from a plain function, not a coroutine"),
    ),
    "from another thread": (
        of_client(from_another_thread),
        (
            "the store of a bench client is used from another thread: it belongs to the client's own function, "
            "which must not start threads"
        ),
    ),
    "a plain retry inside of a task": (
        of_task(waiting_plainly),
        ("retry_on_conflict around a plain function cannot wait inside of a coroutine: make the function async"),
    ),
    "the client of a thread": (
        of_client(client_of),
        "a bench client has no boto3 client: its calls are made by the bench",
    ),
    "the client of a task": (
        of_task(client_of),
        ("a bench client has no aiobotocore client: its calls are made by the bench"),
    ),
    # schedules
    "no schedule": (
        lambda: Schedule.parse("nothing"),
        "no line with 'schedule:' is in the text: take the whole record",
    ),
    "no choice": (
        lambda: Schedule.parse("schedule: 1 two"),
        ("'two' is no choice of a schedule: choices are numbers, or 12x0 for twelve of them"),
    ),
    # memory
    "the client of a store in memory": (lambda: client_of(memory_store(Counters)), "a store in memory has no client"),
    "the client of an async store in memory": (
        lambda: asyncio.run(client_of(memory_store_async(Counters))),
        "a store in memory has no client",
    ),
    # drivers
    "another event loop": (
        in_another_loop,
        (
            "this store was used in another event loop, and so its connections belong there: make one for each "
            "loop by connect_async(), or close it before the next loop begins"
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_message_says_what_cannot_be(name: str) -> None:
    make, message = CASES[name]
    with pytest.raises(RequestError) as raised:
        make()
    assert str(raised.value) == message


@pytest.mark.parametrize("opened", [connect, connect_async], ids=["sync", "async"])
def test_without_a_region_it_says_where_to_name_one(
    opened: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    store = opened(Counters)

    async def read() -> None:
        answer = store.of(Counter).get(name="c").send()
        if opened is connect_async:
            await answer

    with pytest.raises(RequestError) as raised:
        asyncio.run(read())
    assert str(raised.value) == (
        "no region is configured: pass region_name=, set AWS_DEFAULT_REGION, or pass the endpoint_url= of a local "
        "server, as dynamap.testing.embedded gives"
    )
