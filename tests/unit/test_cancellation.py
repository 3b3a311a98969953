"""Tasks that are cancelled wherever they wait: nothing goes on behind them, and the store can be used as before."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from dynamap import F, Table, connect_async, deadline, entity
from dynamap.drivers import AsyncDriver, ClientOptions
from dynamap.plan import Call, CallFailed, Join, Plan, Reached, Sleep, Spawn, Ticket
from tests.fakes import NOW, FakeClient, numbered


@entity("SEAT", pk="SEAT#{id}", sk="SEAT", version="revision", ttl="until")
class Seat:
    id: str
    count: int = 0
    until: int | None = None
    revision: int = 0


Things = Table("things", [Seat], ttl="ttl")
LEFT = {
    "pk": {"S": "SEAT#a"},
    "sk": {"S": "SEAT"},
    "_type": {"S": "SEAT"},
    "id": {"S": "a"},
    "count": {"N": "4"},
    "revision": {"N": "7"},
    "ttl": {"N": str(int(NOW))},
}
STEPS = 3
"""How often a call waits before it is answered."""


class SlowClient(FakeClient):
    """Waits a few times in every call, and counts those that have not ended."""

    def __init__(self, answer: Callable[[str, dict[str, Any]], Any]) -> None:
        super().__init__(self._slowly)
        self._give = answer
        self.pending = 0

    async def _slowly(self, method: str, params: dict[str, Any]) -> Any:
        self.pending += 1
        try:
            for _ in range(STEPS):
                await asyncio.sleep(0)
            return self._give(method, params)
        finally:
            self.pending -= 1


def first_lost(failures: int = 2) -> Callable[[str, dict[str, Any]], Any]:
    """The first answers are lost."""
    left = itertools.count(1)

    def answer(method: str, params: dict[str, Any]) -> Any:
        if next(left) <= failures:
            raise CallFailed(Reached.UNKNOWN, "ConnectionClosedError")
        return {"Attributes": {**LEFT, "ttl": {"NULL": True}}} if method == "update_item" else {}

    return answer


def leftover() -> Callable[[str, dict[str, Any]], Any]:
    """The update is refused by an item that has expired."""
    from botocore.exceptions import ClientError

    def answer(method: str, params: dict[str, Any]) -> Any:
        if method == "update_item":
            error: Any = {"Error": {"Code": "ConditionalCheckFailedException", "Message": ""}, "Item": LEFT}
            raise ClientError(error, "UpdateItem")
        return {}

    return answer


Send = Callable[[Any], Any]
SENDINGS: dict[str, tuple[Callable[[], Callable[[str, dict[str, Any]], Any]], Send]] = {
    "get": (first_lost, lambda store: store.of(Seat).get(id="a").send()),
    "put": (first_lost, lambda store: store.of(Seat).put(Seat("a")).send()),
    "try_send": (first_lost, lambda store: store.of(Seat).put(Seat("a")).try_send()),
    "exactly once": (first_lost, lambda store: store.of(Seat).put(Seat("a")).exactly_once().send()),
    "upsert of a leftover": (
        leftover,
        lambda store: store.of(Seat).upsert(id="a").ignore_version().add(F(Seat.count), 1).send(),
    ),
    "transaction": (first_lost, lambda store: store.transact(store.of(Seat).put(Seat("a"))).send()),
}


async def steps(task: asyncio.Task[Any], number: int) -> bool:
    """Let the task come this far; whether it is still under way."""
    for _ in range(number):
        await asyncio.sleep(0)
    return not task.done()


@pytest.mark.parametrize("limited", [False, True], ids=["", "under a deadline"])
@pytest.mark.parametrize(("answers", "send"), SENDINGS.values(), ids=SENDINGS)
async def test_it_ends_wherever_it_is_cancelled(answers: Any, send: Send, limited: bool) -> None:
    async def sending(store: Any) -> Any:
        if not limited:
            return await send(store)
        with deadline(3600):
            return await send(store)

    for number in itertools.count(1):
        client = SlowClient(answers())
        store = connect_async(Things, client=client, clock=lambda: NOW, write_ids=numbered())
        store._runtime = replace(store._runtime, random=lambda: 0.0)
        task = asyncio.ensure_future(sending(store))
        if not await steps(task, number):
            await task
            break
        sent = len(client.calls)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert client.pending == 0
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert len(client.calls) == sent
        # the store is none the worse for it
        client._give = lambda method, params: {}
        assert await store.of(Seat).get(id="b").send() is None
    assert number > 2 * STEPS


async def test_spawned_calls_end_with_the_task_that_joins_them() -> None:
    def child() -> Plan[Any]:
        yield Sleep(0)
        return (yield Call("GetItem", {}))

    def plan() -> Plan[Any]:
        tickets: list[Ticket] = []
        for _ in range(3):
            ticket = yield Spawn(child())
            tickets.append(ticket)
        results = []
        while tickets:
            ticket, result = yield Join(tuple(tickets))
            tickets.remove(ticket)
            results.append(result)
        return results

    for number in itertools.count(1):
        client = SlowClient(lambda method, params: {})
        task = asyncio.ensure_future(AsyncDriver(client).run(plan()))
        if not await steps(task, number):
            assert await task == [{}, {}, {}]
            break
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert client.pending == 0
        assert asyncio.all_tasks() == {asyncio.current_task()}
    assert number > STEPS


# ---- while the client is made


class SlowSession:
    """Makes clients slowly, and counts what is open."""

    user_agent_extra = ""

    def __init__(self) -> None:
        self.opened = 0
        self.closed = 0

    def user_agent(self) -> str:
        return "session"

    def get_config_variable(self, name: str) -> Any:
        return None

    def get_component(self, name: str) -> Any:
        class Component:
            search_paths = ()

            def remove(self, name: str) -> None:
                """There is none to remove."""

        return Component()

    def register_component(self, name: str, component: Any) -> None:
        """Nothing is loaded by it."""

    async def get_credentials(self) -> Any:
        await asyncio.sleep(0)

    def create_client(self, *_args: Any, **_options: Any) -> Any:
        return self

    async def __aenter__(self) -> Any:
        for _ in range(STEPS):
            await asyncio.sleep(0)
        self.opened += 1
        return SlowClient(lambda method, params: {})

    async def __aexit__(self, *_error: object) -> None:
        await asyncio.sleep(0)
        self.closed += 1


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> SlowSession:
    import aiobotocore.session

    made = SlowSession()
    monkeypatch.setattr(aiobotocore.session, "AioSession", lambda **_: made)
    return made


async def test_a_client_that_is_being_made_is_not_left_open(session: SlowSession) -> None:
    for number in itertools.count(1):
        session.opened = session.closed = 0
        store = connect_async(Things, endpoint_url="http://127.0.0.1:9")
        tasks = [asyncio.ensure_future(store.of(Seat).get(id="a").send()) for _ in range(2)]
        if not await steps(tasks[0], number):
            await asyncio.gather(*tasks)
            await store.close()
            break
        tasks[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await tasks[0]
        # who waited for the same client makes it, or has it
        assert await tasks[1] is None
        await store.close()
        await store.close()
        assert session.opened == session.closed == 1
        assert asyncio.all_tasks() == {asyncio.current_task()}
    assert number > STEPS


async def test_a_store_that_is_closed_while_its_client_is_made_leaves_none_open(session: SlowSession) -> None:
    store = connect_async(Things, endpoint_url="http://127.0.0.1:9")
    task = asyncio.ensure_future(store.of(Seat).get(id="a").send())
    await steps(task, 2)
    await store.close()
    assert await task is None
    assert session.opened == session.closed == 1


async def test_a_client_that_is_not_made_in_time_is_no_lost_answer(session: SlowSession) -> None:
    async def never() -> Any:
        await asyncio.Event().wait()

    session.get_credentials = never  # type: ignore[method-assign]
    driver = AsyncDriver(ClientOptions("http://127.0.0.1:9", "us-east-1"))

    def plan() -> Plan[Any]:
        return (yield Call("PutItem", {}))

    with deadline(0.01), pytest.raises(CallFailed) as caught:
        await driver.run(plan())
    assert caught.value.reached is Reached.NOTHING
    del session.get_credentials
    assert await driver.run(plan()) == {}
    await driver.close()
    assert session.opened == session.closed == 1
