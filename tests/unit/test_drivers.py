"""Drivers over fake clients: both do the same with the five commands, one in threads and one in tasks."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from dynamap.drivers import AsyncDriver, SyncDriver
from dynamap.plan import Call, CallFailed, Emit, Join, Plan, Reached, Sleep, Spawn, Ticket
from tests.fakes import FakeClient


def awaited(answer: Callable[[str, dict[str, Any]], Any]) -> Callable[[str, dict[str, Any]], Any]:
    """The same answers from a client whose methods are coroutine functions."""

    async def answered(method: str, params: dict[str, Any]) -> Any:
        result = answer(method, params)
        return await result if asyncio.iscoroutine(result) else result

    return answered


class Both:
    """One way to use either driver."""

    def __init__(self, mode: str, answer: Callable[[str, dict[str, Any]], Any]) -> None:
        self.slept: list[float] = []
        if mode == "sync":
            self.client = FakeClient(answer)
            self.driver: Any = SyncDriver(self.client, sleep=self.slept.append)
        else:
            self.client = FakeClient(awaited(answer))
            self.driver = AsyncDriver(self.client, sleep=self._sleep)
        self._sync = mode == "sync"

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    async def run(self, plan: Plan[Any]) -> Any:
        return self.driver.run(plan) if self._sync else await self.driver.run(plan)

    async def pages(self, plan: Plan[Any]) -> AsyncIterator[Any]:
        if self._sync:
            for page in self.driver.iterate(plan):
                yield page
        else:
            async for page in self.driver.iterate(plan):
                yield page


@pytest.fixture(params=["sync", "async"])
def mode(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


def echo(method: str, params: dict[str, Any]) -> Any:
    return {"method": method, **params}


def call(number: int) -> Plan[Any]:
    return (yield Call("GetItem", {"n": number}))


async def test_a_call_becomes_a_method_of_the_client_and_its_reply_comes_back(mode: str) -> None:
    def plan() -> Plan[Any]:
        one = yield Call("GetItem", {"TableName": "t"})
        two = yield Call("BatchGetItem", {})
        three = yield Call("TransactWriteItems", {})
        return one, two, three

    both = Both(mode, echo)
    one, two, three = await both.run(plan())
    assert one == {"method": "get_item", "TableName": "t"}
    assert [two["method"], three["method"]] == ["batch_get_item", "transact_write_items"]


async def test_sleeping_answers_nothing_and_takes_the_given_time(mode: str) -> None:
    def plan() -> Plan[Any]:
        return (yield Sleep(0.25)), (yield Sleep(0))

    both = Both(mode, echo)
    assert await both.run(plan()) == (None, None)
    assert both.slept == [0.25, 0]


async def test_what_is_emitted_is_handed_out_in_order_and_dropped_by_run(mode: str) -> None:
    def plan() -> Plan[str]:
        for number in range(3):
            reply = yield Emit([number, number])
            assert reply is None
        return "done"

    both = Both(mode, echo)
    assert [page async for page in both.pages(plan())] == [[0, 0], [1, 1], [2, 2]]
    assert await both.run(plan()) == "done"


async def test_an_error_of_the_client_is_thrown_into_the_plan_as_a_failed_call(mode: str) -> None:
    boom = ValueError("boom")
    thrown: list[CallFailed] = []

    def answer(method: str, params: dict[str, Any]) -> Any:
        if params["n"] == 1:
            raise boom
        return {"n": params["n"]}

    def plan() -> Plan[Any]:
        try:
            yield Call("GetItem", {"n": 1})
        except CallFailed as failed:
            thrown.append(failed)
        return (yield Call("GetItem", {"n": 2}))

    assert await Both(mode, answer).run(plan()) == {"n": 2}
    assert [(failed.reached, failed.__cause__) for failed in thrown] == [(Reached.UNKNOWN, boom)]


async def test_what_a_plan_raises_reaches_the_caller(mode: str) -> None:
    def plan() -> Plan[None]:
        yield Sleep(0)
        msg = "of the plan"
        raise LookupError(msg)

    with pytest.raises(LookupError, match="of the plan"):
        await Both(mode, echo).run(plan())


async def test_a_failed_call_that_the_plan_does_not_handle_reaches_the_caller(mode: str) -> None:
    def answer(method: str, params: dict[str, Any]) -> Any:
        msg = "boom"
        raise ValueError(msg)

    with pytest.raises(CallFailed, match="boom"):
        await Both(mode, answer).run(call(1))


async def test_a_plan_may_yield_in_its_handler_of_an_error(mode: str) -> None:
    def answer(method: str, params: dict[str, Any]) -> Any:
        if params["n"] < 3:
            msg = "again"
            raise ValueError(msg)
        return params["n"]

    def plan() -> Plan[Any]:
        number = 0
        while True:
            number += 1
            try:
                return (yield Call("GetItem", {"n": number}))
            except CallFailed:
                yield Sleep(number)

    both = Both(mode, answer)
    assert await both.run(plan()) == 3
    assert both.slept == [1, 2]


# ---- spawned plans


class Meeting:
    """A call that ends only when so many of them are under way together."""

    def __init__(self, mode: str, parties: int) -> None:
        self._mode = mode
        self._barrier = threading.Barrier(parties) if mode == "sync" else None
        self._parties = parties
        self._waiting = 0
        self._all_here: asyncio.Event | None = None if mode == "sync" else asyncio.Event()

    def __call__(self, method: str, params: dict[str, Any]) -> Any:
        if self._barrier is not None:
            self._barrier.wait(10)
            return params["n"]
        return self._meet(params["n"])

    async def _meet(self, number: int) -> int:
        assert self._all_here is not None
        self._waiting += 1
        if self._waiting == self._parties:
            self._all_here.set()
        await asyncio.wait_for(self._all_here.wait(), 10)
        return number


async def test_spawned_plans_run_at_the_same_time(mode: str) -> None:
    def plan() -> Plan[list[int]]:
        tickets: list[Ticket] = []
        for number in range(4):
            ticket = yield Spawn(call(number))
            tickets.append(ticket)
        assert len(set(tickets)) == 4
        results = []
        while tickets:
            ticket, result = yield Join(tuple(tickets))
            tickets.remove(ticket)
            results.append(result)
        return sorted(results)

    # each of the four waits for the others: one after the other they would wait for ever
    assert await Both(mode, Meeting(mode, 4)).run(plan()) == [0, 1, 2, 3]


async def test_of_several_that_are_done_the_first_ticket_counts(mode: str) -> None:
    def plan() -> Plan[Any]:
        one = yield Spawn(call(1))
        two = yield Spawn(call(2))
        first, result = yield Join((one,))
        assert first is one
        second, other = yield Join((two,))
        assert second is two
        return result["n"], other["n"]

    assert await Both(mode, echo).run(plan()) == (1, 2)


async def test_the_error_of_a_spawned_plan_is_thrown_where_it_is_joined(mode: str) -> None:
    def failing() -> Plan[None]:
        yield Sleep(0)
        msg = "of the child"
        raise LookupError(msg)

    def plan() -> Plan[str]:
        ticket = yield Spawn(failing())
        try:
            yield Join((ticket,))
        except LookupError as error:
            return str(error)
        return "no error"

    assert await Both(mode, echo).run(plan()) == "of the child"


async def test_a_spawned_plan_may_spawn(mode: str) -> None:
    def child(depth: int) -> Plan[int]:
        if depth == 0:
            return (yield Call("GetItem", {"n": 1}))["n"]  # type: ignore[no-any-return]
        ticket = yield Spawn(child(depth - 1))
        _, result = yield Join((ticket,))
        return result + 1  # type: ignore[no-any-return]

    assert await Both(mode, echo).run(child(3)) == 4


async def test_spawned_plans_see_the_deadline_of_their_parent(mode: str) -> None:
    import dynamap
    from dynamap.backoff import time_left

    def child() -> Plan[Any]:
        yield Sleep(0)
        return time_left()

    def plan() -> Plan[Any]:
        ticket = yield Spawn(child())
        return (yield Join((ticket,)))[1]

    with dynamap.deadline(100):
        left = await Both(mode, echo).run(plan())
    assert left is not None
    assert 0 < left <= 100


async def test_an_error_of_the_parent_ends_what_it_spawned(mode: str) -> None:
    ended: list[str] = []

    def child() -> Plan[None]:
        try:
            while True:
                yield Sleep(0)
                if ended:
                    return
        finally:
            ended.append("child")

    def plan() -> Plan[None]:
        yield Spawn(child())
        ended.append("parent")
        msg = "of the parent"
        raise LookupError(msg)

    with pytest.raises(LookupError, match="of the parent"):
        await Both(mode, echo).run(plan())
    assert ended in (["parent", "child"], ["parent"])


# ---- early ends


def endless(closed: list[str], *, spawning: bool = False) -> Plan[None]:
    try:
        if spawning:
            yield Spawn(call(1))
        number = 0
        while True:
            yield Emit([number])
            number += 1
    finally:
        closed.append("plan")


def test_a_sync_iteration_that_is_left_early_closes_its_plan() -> None:
    closed: list[str] = []
    pages: Any = SyncDriver(FakeClient(echo)).iterate(endless(closed))
    assert [next(pages), next(pages)] == [[0], [1]]
    assert closed == []
    pages.close()
    assert closed == ["plan"]


async def test_an_async_iteration_that_is_left_early_closes_its_plan() -> None:
    closed: list[str] = []
    pages = AsyncDriver(FakeClient(echo)).iterate(endless(closed))
    assert [await anext(pages), await anext(pages)] == [[0], [1]]
    await pages.aclose()
    assert closed == ["plan"]


def test_leaving_early_waits_for_the_threads_that_were_spawned() -> None:
    entered, release = threading.Event(), threading.Event()
    done: list[str] = []

    def answer(method: str, params: dict[str, Any]) -> Any:
        entered.set()
        assert release.wait(10)
        done.append("call")
        return {}

    pages: Any = SyncDriver(FakeClient(answer)).iterate(endless([], spawning=True))
    next(pages)
    assert entered.wait(10)
    release.set()
    pages.close()
    assert done == ["call"]


async def test_leaving_early_cancels_the_tasks_that_were_spawned() -> None:
    cancelled: list[str] = []
    entered = asyncio.Event()

    async def answer(method: str, params: dict[str, Any]) -> Any:
        entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append("call")
            raise

    tasks = len(asyncio.all_tasks())
    pages = AsyncDriver(FakeClient(answer)).iterate(endless([], spawning=True))
    await anext(pages)
    await asyncio.wait_for(entered.wait(), 10)
    await pages.aclose()
    assert cancelled == ["call"]
    assert len(asyncio.all_tasks()) == tasks


async def test_cancelling_a_call_passes_through_the_plan_and_closes_it() -> None:
    entered = asyncio.Event()
    seen: list[str] = []

    async def answer(method: str, params: dict[str, Any]) -> Any:
        entered.set()
        await asyncio.Event().wait()

    def plan() -> Plan[None]:
        try:
            yield Call("PutItem", {})
        except Exception:  # noqa: BLE001 - what must not be caught is what is tested
            seen.append("thrown in")
        finally:
            seen.append("closed")

    task = asyncio.ensure_future(AsyncDriver(FakeClient(answer)).run(plan()))
    await asyncio.wait_for(entered.wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == ["closed"]


async def test_cancelling_a_parent_cancels_its_spawned_plans() -> None:
    entered = asyncio.Event()
    closed: list[str] = []

    async def answer(method: str, params: dict[str, Any]) -> Any:
        entered.set()
        await asyncio.Event().wait()

    def child() -> Plan[None]:
        try:
            yield Call("GetItem", {})
        finally:
            closed.append("child")

    def plan() -> Plan[None]:
        try:
            ticket = yield Spawn(child())
            yield Join((ticket,))
        finally:
            closed.append("parent")

    tasks = len(asyncio.all_tasks())
    task = asyncio.ensure_future(AsyncDriver(FakeClient(answer)).run(plan()))
    await asyncio.wait_for(entered.wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert closed == ["child", "parent"]
    assert len(asyncio.all_tasks()) == tasks


def test_what_is_no_exception_passes_through_the_sync_driver_and_closes_the_plan() -> None:
    seen: list[str] = []

    def answer(method: str, params: dict[str, Any]) -> Any:
        raise KeyboardInterrupt

    def plan() -> Plan[None]:
        try:
            yield Call("PutItem", {})
        except Exception:  # noqa: BLE001 - what must not be caught is what is tested
            seen.append("thrown in")
        finally:
            seen.append("closed")

    with pytest.raises(KeyboardInterrupt):
        SyncDriver(FakeClient(answer)).run(plan())
    assert seen == ["closed"]


# ---- interceptors


class Watching:
    def __init__(self, name: str, log: list[tuple[Any, ...]]) -> None:
        self._name, self._log = name, log

    def before(self, call: Call, /) -> None:
        self._log.append((self._name, "before", call.operation))

    def after(self, call: Call, outcome: Any, /) -> None:
        self._log.append((self._name, "after", type(outcome).__name__))


async def test_interceptors_see_every_call_and_its_outcome(mode: str) -> None:
    log: list[tuple[Any, ...]] = []

    def answer(method: str, params: dict[str, Any]) -> Any:
        if params["n"] == 2:
            msg = "boom"
            raise ValueError(msg)
        return {}

    def plan() -> Plan[None]:
        yield Call("GetItem", {"n": 1})
        with contextlib.suppress(CallFailed):
            yield Call("PutItem", {"n": 2})

    both = Both(mode, answer)
    both.driver = both.driver.intercepted(Watching("a", log)).intercepted(Watching("b", log))
    await both.run(plan())
    assert log == [
        ("a", "before", "GetItem"),
        ("b", "before", "GetItem"),
        ("a", "after", "dict"),
        ("b", "after", "dict"),
        ("a", "before", "PutItem"),
        ("b", "before", "PutItem"),
        ("a", "after", "CallFailed"),
        ("b", "after", "CallFailed"),
    ]


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_what_an_interceptor_raises_takes_the_place_of_the_reply(mode: str, moment: str) -> None:
    class Raising:
        def before(self, call: Call, /) -> None:
            if moment == "before":
                raise CallFailed(Reached.UNKNOWN, "injected")

        def after(self, call: Call, outcome: Any, /) -> None:
            if moment == "after":
                raise CallFailed(Reached.UNKNOWN, "injected")

    both = Both(mode, echo)
    both.driver = both.driver.intercepted(Raising())
    with pytest.raises(CallFailed, match="injected"):
        await both.run(call(1))
    assert len(both.client.calls) == (moment == "after")


def test_iterating_by_threads_leaves_no_thread_behind() -> None:
    def plan() -> Plan[None]:
        for number in range(3):
            ticket = yield Spawn(call(number))
            yield Join((ticket,))

    before = threading.active_count()
    SyncDriver(FakeClient(echo)).run(plan())
    assert threading.active_count() == before
