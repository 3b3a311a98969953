"""What retry_on_conflict reruns, how long it waits, and when it gives up; no test waits for real."""

from __future__ import annotations

import asyncio
import math
import pickle
import random
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamap.backoff import deadline, time_left
from dynamap.errors import (
    ConditionFailed,
    DeadlineExceeded,
    DynamapError,
    ItemAlreadyExists,
    ItemNotFound,
    OutcomeUnknown,
    RequestError,
    ServiceError,
    Throttled,
    TransactionCanceled,
    TransactionConflict,
    VersionConflict,
)
from dynamap.retry import CONDITION, TRANSACTION, VERSION, Conflict, retry_on_conflict


class Time:
    """A clock that only sleeping and the function under test move."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    async def asleep(self, seconds: float) -> None:
        await asyncio.sleep(0)
        self.sleep(seconds)


class Script:
    """A function that raises what is listed, one after the other, then answers."""

    def __init__(self, *errors: BaseException, time: Time | None = None, takes: float = 0) -> None:
        self.errors = list(errors)
        self.runs = 0
        self.time = time
        self.takes = takes

    def __call__(self) -> str:
        self.runs += 1
        if self.time is not None:
            self.time.now += self.takes
        if self.errors:
            raise self.errors.pop(0)
        return "done"


Play = Callable[..., str]


def play_sync(script: Script, time: Time, **options: Any) -> str:
    @retry_on_conflict(clock=time.clock, sleep=time.sleep, **options)
    def step() -> str:
        return script()

    return step()


def play_async(script: Script, time: Time, **options: Any) -> str:
    @retry_on_conflict(clock=time.clock, sleep=time.asleep, **options)
    async def step() -> str:
        await asyncio.sleep(0)
        return script()

    return asyncio.run(step())


both = pytest.mark.parametrize("play", [play_sync, play_async], ids=["sync", "async"])


def conflicts(count: int) -> list[VersionConflict]:
    return [VersionConflict(f"conflict {n}") for n in range(1, count + 1)]


# ---- what is rerun
@both
@pytest.mark.parametrize(
    ("error", "kinds"),
    [
        (VersionConflict("x"), VERSION),
        (TransactionConflict("x"), TRANSACTION),
        (TransactionCanceled("x", conflict=TRANSACTION), TRANSACTION),
        (TransactionCanceled("x", conflict=VERSION), VERSION),
        (TransactionCanceled("x", conflict=CONDITION), CONDITION),
        (ConditionFailed("x"), CONDITION),
        (ItemAlreadyExists("x"), CONDITION),
    ],
)
@pytest.mark.parametrize("on", [VERSION, TRANSACTION, CONDITION, VERSION | TRANSACTION, ~Conflict(0)], ids=str)
def test_a_conflict_is_rerun_if_its_kind_was_asked_for(
    play: Play, error: DynamapError, kinds: Conflict, on: Conflict
) -> None:
    script, time = Script(error), Time()
    if kinds in on:
        assert play(script, time, on=on) == "done"
        assert (script.runs, len(time.slept)) == (2, 1)
    else:
        with pytest.raises(type(error)) as caught:
            play(script, time, on=on)
        assert caught.value is error
        assert (script.runs, time.slept, error.runs) == (1, [], 1)


@both
def test_versions_and_transactions_are_the_default(play: Play) -> None:
    script = Script(VersionConflict("x"), TransactionConflict("x"), ConditionFailed("x"))
    with pytest.raises(ConditionFailed):
        play(script, Time())
    assert script.runs == 3


@both
@pytest.mark.parametrize(
    "error",
    [
        OutcomeUnknown("x"),
        OutcomeUnknown("x", applied=True),
        ItemNotFound("x"),
        RequestError("x"),
        Throttled("x"),
        DeadlineExceeded("x"),
        ServiceError("x", code="C", message="m"),
        TransactionCanceled("x"),
        KeyError("x"),
        KeyboardInterrupt(),
        asyncio.CancelledError(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_everything_else_passes_at_once_and_unchanged(play: Play, error: BaseException) -> None:
    script, time = Script(*conflicts(1), error), Time()
    with pytest.raises(type(error)) as caught:
        play(script, time, on=VERSION | TRANSACTION | CONDITION)
    if not isinstance(error, asyncio.CancelledError):
        assert caught.value is error
    assert (script.runs, len(time.slept)) == (2, 1)
    assert getattr(error, "runs", 1) == 1


# ---- how often, and how long between
@both
@pytest.mark.parametrize("attempts", [1, 2, 10])
def test_the_last_conflict_is_raised_and_says_how_many_runs_there_were(play: Play, attempts: int) -> None:
    errors = conflicts(12)
    script, time = Script(*errors), Time()
    with pytest.raises(VersionConflict) as caught:
        play(script, time, attempts=attempts)
    assert caught.value is errors[attempts - 1]
    assert caught.value.runs == script.runs == attempts
    assert len(time.slept) == attempts - 1
    assert pickle.loads(pickle.dumps(caught.value)).runs == attempts
    assert (f"given up after {attempts} runs" in str(caught.value)) is (attempts > 1)


@both
def test_ten_runs_are_the_default(play: Play) -> None:
    script = Script(*conflicts(20))
    with pytest.raises(VersionConflict):
        play(script, Time())
    assert script.runs == 10


@both
def test_a_run_of_a_new_call_starts_from_one(play: Play) -> None:
    script, time = Script(*conflicts(2)), Time()
    assert play(script, time, attempts=3) == "done"
    assert play(script, time, attempts=1) == "done"


@both
@pytest.mark.parametrize("drawn", [0.0, 0.5, 1.0])
def test_pauses_have_full_jitter_from_25_ms_doubling_to_a_second(play: Play, drawn: float) -> None:
    time = Time()
    play(Script(*conflicts(9)), time, random=lambda: drawn)
    ceilings = [0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1, 1, 1]
    assert time.slept == pytest.approx([drawn * ceiling for ceiling in ceilings])


@both
def test_the_last_error_does_not_drag_the_earlier_ones_along(play: Play) -> None:
    with pytest.raises(VersionConflict) as caught:
        play(Script(*conflicts(5)), Time(), attempts=3)
    assert caught.value.__context__ is None


# ---- the deadline
@both
@pytest.mark.parametrize("three", [0.3, timedelta(milliseconds=300)], ids=["seconds", "timedelta"])
def test_no_pause_reaches_beyond_the_deadline(play: Play, three: Any) -> None:
    errors = conflicts(20)
    script, time = Script(*errors), Time()
    with pytest.raises(VersionConflict) as caught:
        play(script, time, deadline=three, random=lambda: 1.0)
    # 25 + 50 + 100 = 175 ms; the next pause would end at 375 ms
    assert time.slept == pytest.approx([0.025, 0.05, 0.1])
    assert caught.value is errors[3]
    assert caught.value.runs == 4


@both
def test_runs_use_up_the_deadline_too(play: Play) -> None:
    time = Time()
    script = Script(*conflicts(20), time=time, takes=0.4)
    with pytest.raises(VersionConflict) as caught:
        play(script, time, deadline=1, random=lambda: 0.0)
    assert caught.value.runs == script.runs == 3


@both
def test_a_first_run_always_happens(play: Play) -> None:
    assert play(Script(), Time(), deadline=0) == "done"
    script = Script(*conflicts(1))
    with pytest.raises(VersionConflict) as caught:
        play(script, Time(), deadline=0)
    assert (script.runs, caught.value.runs) == (1, 1)


def test_a_pause_that_took_too_long_ends_the_rerun() -> None:
    errors, time = conflicts(3), Time()
    script = Script(*errors)

    def oversleep(seconds: float) -> None:
        time.sleep(seconds + 5)

    wrapped = retry_on_conflict(script, deadline=5, clock=time.clock, sleep=oversleep)
    with pytest.raises(VersionConflict) as caught:
        wrapped()
    assert (caught.value, caught.value.runs, script.runs) == (errors[0], 1, 1)


@both
def test_the_deadline_bounds_the_operations_inside_a_run(play: Play) -> None:
    seen: list[float | None] = []

    class Looking(Script):
        def __call__(self) -> str:
            seen.append(time_left(lambda: 0.0))
            return super().__call__()

    play(Looking(), Time())
    play(Looking(), Time(), deadline=1000)
    assert seen[0] is None
    assert seen[1] is not None
    assert time_left() is None


@both
def test_an_operation_that_ran_out_of_time_leaves_the_conflict_before_it_as_the_answer(play: Play) -> None:
    errors, time = conflicts(1), Time()

    class OutOfTime(Script):
        def __call__(self) -> str:
            if self.runs == 1:
                time.now += 10
            return super().__call__()

    over = DeadlineExceeded("no time left")
    with pytest.raises(VersionConflict) as caught:
        play(OutOfTime(*errors, over), time, deadline=5)
    assert caught.value is errors[0]
    assert caught.value.runs == 2
    assert caught.value.__context__ is over


@both
def test_an_enclosing_deadline_holds_too(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    time = Time()
    monkeypatch.setattr("dynamap.backoff.monotonic", time.clock)
    script = Script(*conflicts(20))
    with deadline(0.3), pytest.raises(VersionConflict) as caught:
        play(script, time, deadline=100, random=lambda: 1.0)
    assert time.slept == pytest.approx([0.025, 0.05, 0.1])
    assert caught.value.runs == 4


@given(
    st.floats(0, 30),
    st.integers(1, 40),
    st.lists(st.floats(0, 2), min_size=40, max_size=40),
    st.randoms(use_true_random=False),
)
def test_pauses_never_add_up_to_more_than_the_deadline(
    seconds: float, attempts: int, takes: list[float], source: random.Random
) -> None:
    time = Time()
    start, durations, runs = time.now, iter(takes), 0

    @retry_on_conflict(attempts=attempts, deadline=seconds, clock=time.clock, sleep=time.sleep, random=source.random)
    def step() -> None:
        nonlocal runs
        assert runs == 0 or time.now - start <= seconds + 1e-9
        runs += 1
        time.now += next(durations)
        msg = "again"
        raise VersionConflict(msg)

    with pytest.raises(VersionConflict) as caught:
        step()
    assert sum(time.slept) <= seconds + 1e-9
    assert caught.value.runs == runs <= attempts
    assert len(time.slept) == runs - 1


# ---- cancellation and sleeping under asyncio
def test_cancelling_during_a_pause_ends_it_and_runs_nothing_more() -> None:
    script = Script(*conflicts(5))

    async def main() -> None:
        asleep = asyncio.Event()

        async def sleep(seconds: float) -> None:
            asleep.set()
            await asyncio.Event().wait()

        @retry_on_conflict(sleep=sleep)
        async def step() -> str:
            return script()

        task = asyncio.create_task(step())
        await asleep.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert script.runs == 1


def test_a_coroutine_takes_a_plain_sleep_as_well() -> None:
    time = Time()

    @retry_on_conflict(sleep=time.sleep)
    async def step(script: Script = Script(*conflicts(2))) -> str:  # noqa: B008
        return script()

    assert asyncio.run(step()) == "done"
    assert len(time.slept) == 2


@pytest.mark.parametrize("name", ["dynamap.backoff.time.sleep", "asyncio.sleep"])
def test_the_usual_sleep_is_the_default(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def asleep(seconds: float) -> None:
        slept.append(seconds)

    is_async = "asyncio" in name
    monkeypatch.setattr(name, asleep if is_async else slept.append)
    script = Script(*conflicts(2))
    if is_async:

        @retry_on_conflict
        async def astep() -> str:
            return script()

        assert asyncio.run(astep()) == "done"
    else:
        assert retry_on_conflict(script)() == "done"
    assert len(slept) == 2


# ---- options
@pytest.mark.parametrize(
    ("options", "error", "part"),
    [
        ({"attempts": 0}, ValueError, "attempts="),
        ({"attempts": -3}, ValueError, "attempts="),
        ({"attempts": True}, TypeError, "attempts="),
        ({"attempts": 3.0}, TypeError, "attempts="),
        ({"attempts": "3"}, TypeError, "attempts="),
        ({"attempts": None}, TypeError, "attempts="),
        ({"on": Conflict(0)}, ValueError, "on="),
        ({"on": "VERSION"}, TypeError, "on="),
        ({"on": 1}, TypeError, "on="),
        ({"on": None}, TypeError, "on="),
        ({"deadline": -1}, ValueError, "deadline="),
        ({"deadline": timedelta(seconds=-1)}, ValueError, "deadline="),
        ({"deadline": math.nan}, ValueError, "deadline="),
        ({"deadline": "3"}, TypeError, "deadline="),
        ({"deadline": False}, TypeError, "deadline="),
        ({"clock": 3}, TypeError, "clock="),
        ({"sleep": 3}, TypeError, "sleep="),
        ({"random": None}, TypeError, "random="),
    ],
    ids=lambda value: repr(value) if isinstance(value, dict) else "",
)
def test_options_that_make_no_sense_are_refused_where_they_stand(
    options: dict[str, Any], error: type[Exception], part: str
) -> None:
    with pytest.raises(error, match=part):
        retry_on_conflict(**options)
    with pytest.raises(error, match=part):
        retry_on_conflict(lambda: 3, **options)


def test_a_plain_function_cannot_await_its_sleep() -> None:
    with pytest.raises(TypeError, match=r"sleep= is a coroutine function"):
        retry_on_conflict(lambda: 3, sleep=asyncio.sleep)


def test_the_constants_are_the_kinds() -> None:
    every: Iterable[Conflict] = (VERSION, TRANSACTION, CONDITION)
    assert list(every) == [Conflict.VERSION, Conflict.TRANSACTION, Conflict.CONDITION]
