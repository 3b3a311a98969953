"""Jitter, deadlines and the token bucket, without waiting."""

from __future__ import annotations

import asyncio
import contextvars
import math
import threading
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamap.backoff import FIRST_SUCCESS, LOST_COST, RETRY_COST, TokenBucket, deadline, full_jitter, time_left


class Clock:
    def __init__(self, now: float = 100.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("dynamap.backoff.monotonic", clock)
    return clock


# ---- jitter
@pytest.mark.parametrize(
    ("attempt", "ceiling"), [(1, 0.025), (2, 0.05), (3, 0.1), (6, 0.8), (7, 1.0), (8, 1.0), (5000, 1.0)]
)
def test_jitter_doubles_up_to_the_cap(attempt: int, ceiling: float) -> None:
    assert full_jitter(attempt, base=0.025, cap=1.0, random=lambda: 1.0) == ceiling
    assert full_jitter(attempt, base=0.025, cap=1.0, random=lambda: 0.0) == 0.0


@given(
    st.integers(1, 10**9),
    st.floats(0, 1e300),
    st.floats(0, 1e300),
    st.floats(0, 1, exclude_max=True),
)
def test_jitter_never_leaves_its_range(attempt: int, base: float, cap: float, drawn: float) -> None:
    assert 0 <= full_jitter(attempt, base=base, cap=cap, random=lambda: drawn) <= cap


@pytest.mark.parametrize("attempt", [0, -1])
def test_jitter_counts_attempts_from_one(attempt: int) -> None:
    with pytest.raises(ValueError, match="counts from 1"):
        full_jitter(attempt, base=1, cap=1, random=lambda: 0.5)


# ---- deadlines
def test_there_is_no_deadline_unless_one_was_set(clock: Clock) -> None:
    assert time_left() is None
    with deadline(3):
        assert time_left() == 3
    assert time_left() is None


@pytest.mark.parametrize("three", [3, 3.0, timedelta(seconds=3)])
def test_a_deadline_counts_down_and_stops_at_zero(clock: Clock, three: Any) -> None:
    with deadline(three):
        clock.now += 1
        assert time_left() == 2
        clock.now += 5
        assert time_left() == 0


def test_a_deadline_starts_when_its_block_does(clock: Clock) -> None:
    bound = deadline(3)
    clock.now += 10
    with bound:
        assert time_left() == 3


@pytest.mark.parametrize(("outer", "inner", "left"), [(3, 1, 1), (1, 3, 1), (0, 3, 0), (3, math.inf, 3)])
def test_the_nearer_of_nested_deadlines_holds(clock: Clock, outer: float, inner: float, left: float) -> None:
    with deadline(outer):
        with deadline(inner):
            assert time_left() == left
        assert time_left() == outer


def test_a_deadline_ends_with_its_block_when_that_raises(clock: Clock) -> None:
    with pytest.raises(KeyError), deadline(3):
        raise KeyError
    assert time_left() is None


def test_time_left_can_be_read_on_another_clock(clock: Clock) -> None:
    with deadline(3):
        assert time_left(lambda: clock.now + 1) == 2


def test_a_deadline_can_be_used_again_but_not_inside_itself(clock: Clock) -> None:
    bound = deadline(3)
    for _ in range(2):
        with bound:
            assert time_left() == 3
            with pytest.raises(RuntimeError, match=r"deadline\(3.0\) is in use"), bound:
                pass
            assert time_left() == 3
    assert time_left() is None


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (-1, ValueError),
        (math.nan, ValueError),
        (timedelta(seconds=-1), ValueError),
        ("3", TypeError),
        (None, TypeError),
        (True, TypeError),
    ],
)
def test_a_deadline_refuses_what_is_no_duration(bad: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="deadline"):
        deadline(bad)


def test_a_deadline_reaches_threads_through_a_copied_context_only(clock: Clock) -> None:
    seen: dict[str, float | None] = {}

    def look(name: str) -> None:
        seen[name] = time_left()

    with deadline(3):
        copied = threading.Thread(target=contextvars.copy_context().run, args=(look, "copied"))
        plain = threading.Thread(target=contextvars.Context().run, args=(look, "plain"))
        for thread in (copied, plain):
            thread.start()
            thread.join()
    assert seen == {"copied": 3, "plain": None}


def test_a_deadline_reaches_tasks_and_stays_inside_them(clock: Clock) -> None:
    async def nearer() -> float | None:
        with deadline(1):
            await asyncio.sleep(0)
            return time_left()

    async def main() -> None:
        with deadline(3):
            assert list(await asyncio.gather(nearer(), nearer(), asyncio.to_thread(time_left))) == [1, 1, 3]
            assert time_left() == 3

    asyncio.run(main())


def test_a_coroutine_that_is_closed_from_another_context_leaves_its_deadline_quietly(clock: Clock) -> None:
    class Suspend:
        def __await__(self) -> Any:
            yield

    async def wait() -> None:
        with deadline(3):
            await Suspend()

    coroutine: Any = wait()
    contextvars.Context().run(coroutine.send, None)
    coroutine.close()
    assert time_left() is None


# ---- the bucket
def test_the_bucket_gives_until_it_is_empty() -> None:
    bucket = TokenBucket()
    taken = 0
    while bucket.take(RETRY_COST):
        taken += 1
    assert (taken, bucket.left) == (100, 0)
    assert not bucket.take(LOST_COST)


def test_the_bucket_takes_nothing_when_too_little_is_left() -> None:
    bucket = TokenBucket(7)
    assert not bucket.take(LOST_COST)
    assert bucket.take(RETRY_COST)
    assert bucket.left == 2
    assert repr(bucket) == "TokenBucket(2 of 7 left)"


def test_the_bucket_never_holds_more_than_its_capacity() -> None:
    bucket = TokenBucket(10)
    bucket.give(FIRST_SUCCESS)
    assert bucket.left == 10
    assert bucket.take(LOST_COST)
    bucket.give(LOST_COST)
    assert bucket.left == 10


@pytest.mark.parametrize("bad", [-1, math.nan])
def test_the_bucket_refuses_amounts_that_make_no_sense(bad: float) -> None:
    bucket = TokenBucket(10)
    for use in (bucket.take, bucket.give, TokenBucket):
        with pytest.raises(ValueError, match="negative or NaN"):
            use(bad)
    assert bucket.left == 10


@given(st.floats(0, 1000), st.lists(st.tuples(st.booleans(), st.floats(0, 100))))
def test_the_bucket_stays_between_empty_and_full(capacity: float, uses: list[tuple[bool, float]]) -> None:
    bucket = TokenBucket(capacity)
    for take, amount in uses:
        before = bucket.left
        if take:
            assert bucket.take(amount) is (amount <= before)
        else:
            bucket.give(amount)
        assert 0 <= bucket.left <= capacity


def test_threads_never_take_more_than_there_is() -> None:
    bucket = TokenBucket(1000)
    taken: list[int] = []
    start = threading.Barrier(8)

    def drain() -> None:
        start.wait()
        mine = 0
        while bucket.take(1):
            mine += 1
        taken.append(mine)

    threads = [threading.Thread(target=drain) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(taken) == 1000
    assert bucket.left == 0
