"""A retry inside another leaves the conflicts that the outer one handles to it, for as long as that runs."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import itertools
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from dynamap.errors import ConditionFailed, DynamapError, TransactionConflict, VersionConflict
from dynamap.retry import CONDITION, TRANSACTION, VERSION, Conflict, retry_on_conflict


def no_sleep(_seconds: float) -> None:
    """Return at once."""


def raising(error: Callable[[], DynamapError]) -> tuple[Callable[[], None], list[int]]:
    runs: list[int] = []

    def step() -> None:
        runs.append(1)
        raise error()

    return step, runs


def test_nested_retries_do_not_multiply() -> None:
    step, runs = raising(lambda: VersionConflict("x"))
    inner = retry_on_conflict(step, attempts=4, sleep=no_sleep)
    middle = retry_on_conflict(inner, attempts=5, sleep=no_sleep)
    outer = retry_on_conflict(middle, attempts=3, sleep=no_sleep)
    with pytest.raises(VersionConflict) as caught:
        outer()
    assert len(runs) == 3
    assert caught.value.runs == 3


def test_nested_retries_do_not_multiply_under_asyncio() -> None:
    runs: list[int] = []

    @retry_on_conflict(attempts=4, sleep=no_sleep)
    async def inner() -> None:
        runs.append(1)
        raise VersionConflict

    @retry_on_conflict(attempts=3, sleep=no_sleep)
    async def outer() -> None:
        await asyncio.gather(inner())

    with pytest.raises(VersionConflict) as caught:
        asyncio.run(outer())
    assert (len(runs), caught.value.runs) == (3, 3)


def test_the_inner_retry_keeps_what_the_outer_one_does_not_handle() -> None:
    step, runs = raising(lambda: ConditionFailed("x"))
    inner = retry_on_conflict(step, attempts=4, on=VERSION | CONDITION, sleep=no_sleep)
    outer_runs: list[int] = []

    @retry_on_conflict(attempts=3, on=VERSION, sleep=no_sleep)
    def outer() -> None:
        outer_runs.append(1)
        inner()

    with pytest.raises(ConditionFailed) as caught:
        outer()
    assert (len(runs), len(outer_runs), caught.value.runs) == (4, 1, 4)


@pytest.mark.parametrize("middle", [VERSION, TRANSACTION, CONDITION], ids=str)
def test_every_retry_around_counts_not_only_the_next(middle: Conflict) -> None:
    step, runs = raising(lambda: TransactionConflict("x"))
    inner = retry_on_conflict(step, attempts=4, on=TRANSACTION, sleep=no_sleep)
    between = retry_on_conflict(inner, attempts=5, on=middle, sleep=no_sleep)
    outer = retry_on_conflict(between, attempts=3, on=TRANSACTION, sleep=no_sleep)
    with pytest.raises(TransactionConflict):
        outer()
    assert len(runs) == 3


def test_the_inner_retry_still_succeeds_within_a_rerun_of_the_outer() -> None:
    numbers = itertools.count(1)

    @retry_on_conflict(sleep=no_sleep)
    def inner() -> int:
        number = next(numbers)
        if number < 3:
            raise VersionConflict
        return number

    pauses: list[float] = []
    assert retry_on_conflict(inner, sleep=pauses.append)() == 3
    assert len(pauses) == 2


def test_a_retry_after_another_has_its_own_runs_back() -> None:
    step, runs = raising(lambda: VersionConflict("x"))
    inner = retry_on_conflict(step, attempts=4, sleep=no_sleep)
    with pytest.raises(VersionConflict):
        retry_on_conflict(inner, attempts=2, sleep=no_sleep)()
    assert len(runs) == 2
    runs.clear()
    with pytest.raises(VersionConflict):
        inner()
    assert len(runs) == 4


def test_a_task_that_outlives_the_outer_retry_retries_itself() -> None:
    runs: list[int] = []

    @retry_on_conflict(attempts=4, sleep=no_sleep)
    async def inner(may_start: asyncio.Event) -> None:
        await may_start.wait()
        runs.append(1)
        raise VersionConflict

    async def main() -> None:
        may_start = asyncio.Event()

        @retry_on_conflict(attempts=3, sleep=no_sleep)
        async def outer() -> asyncio.Task[None]:
            return asyncio.create_task(inner(may_start))

        task = await outer()
        may_start.set()
        with pytest.raises(VersionConflict) as caught:
            await task
        assert caught.value.runs == 4

    asyncio.run(main())
    assert len(runs) == 4


def test_a_task_of_an_earlier_run_is_not_answered_for_by_the_next() -> None:
    runs: list[int] = []

    @retry_on_conflict(attempts=4, sleep=no_sleep)
    async def inner(may_start: asyncio.Event) -> None:
        await may_start.wait()
        runs.append(1)
        raise VersionConflict

    async def main() -> None:
        may_start = asyncio.Event()
        tasks: list[asyncio.Task[None]] = []

        @retry_on_conflict(attempts=2, sleep=no_sleep)
        async def outer() -> None:
            if not tasks:
                tasks.append(asyncio.create_task(inner(may_start)))
                raise VersionConflict
            may_start.set()
            with pytest.raises(VersionConflict) as caught:
                await tasks[0]
            assert caught.value.runs == 4

        await outer()

    asyncio.run(main())
    assert len(runs) == 4


@pytest.mark.parametrize(("context", "expected"), [(contextvars.copy_context, 3), (contextvars.Context, 12)])
def test_a_thread_belongs_to_the_outer_retry_if_its_context_does(
    context: Callable[[], contextvars.Context], expected: int
) -> None:
    step, runs = raising(lambda: VersionConflict("x"))
    inner = retry_on_conflict(step, attempts=4, sleep=no_sleep)

    @retry_on_conflict(attempts=3, sleep=no_sleep)
    def outer() -> None:
        raised: list[DynamapError] = []

        def work() -> None:
            try:
                inner()
            except VersionConflict as error:
                raised.append(error)

        thread = threading.Thread(target=context().run, args=(work,))
        thread.start()
        thread.join()
        raise raised[0]

    with pytest.raises(VersionConflict) as caught:
        outer()
    assert (len(runs), caught.value.runs) == (expected, 3)


def test_threads_with_one_wrapped_function_do_not_disturb_each_other() -> None:
    start = threading.Barrier(8)
    answers: dict[int, int] = {}

    @retry_on_conflict(attempts=50, sleep=no_sleep)
    def step(number: int, left: list[int]) -> int:
        if left:
            left.pop()
            raise VersionConflict
        return number

    def work(number: int) -> None:
        start.wait()
        answers[number] = step(number, [0] * number * 5)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: number for number in range(8)}


def test_a_coroutine_that_is_closed_from_another_context_leaves_quietly() -> None:
    class Suspend:
        def __await__(self) -> Any:
            yield

    @retry_on_conflict(deadline=5)
    async def wait() -> None:
        await Suspend()

    coroutine: Any = wait()
    contextvars.Context().run(coroutine.send, None)
    coroutine.close()
    step, runs = raising(lambda: VersionConflict("x"))
    with pytest.raises(VersionConflict):
        retry_on_conflict(step, attempts=2, sleep=no_sleep)()
    assert len(runs) == 2


def test_nothing_of_a_finished_call_waits_for_the_garbage_collector() -> None:
    class Payload:
        pass

    def fresh() -> tuple[Payload, weakref.ref[Payload]]:
        payload = Payload()
        return payload, weakref.ref(payload)

    @retry_on_conflict(sleep=no_sleep)
    def step(payload: Payload, left: list[int]) -> None:
        if left:
            left.pop()
            raise VersionConflict(seen=payload)

    gc.collect()
    gc.disable()
    try:
        payload, seen = fresh()
        step(payload, [0])
        del payload
        assert seen() is None
    finally:
        gc.enable()
