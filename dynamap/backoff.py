"""How long to wait, how often to repeat, and when the time is over: what bounds every repetition."""

from __future__ import annotations

import math
import random as random_module
import threading
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar, Token
from datetime import timedelta
from time import monotonic
from types import TracebackType
from typing import Final

import msgspec

__all__ = [
    "FIRST_SUCCESS",
    "LOST_COST",
    "RETRY_COST",
    "Surroundings",
    "TokenBucket",
    "chance",
    "clock_now",
    "deadline",
    "full_jitter",
    "pause_thread",
    "seconds_of",
    "surrounded_by",
    "time_left",
]

RETRY_COST: Final = 5.0
"""What a repeat costs after an answer such as a throttle."""
LOST_COST: Final = 10.0
"""What a repeat costs after a timeout or a lost answer: the service may have done the work for nothing."""
FIRST_SUCCESS: Final = 1.0
"""What a first attempt that succeeds gives back; a later one gives back what its repeat took."""

# The last power of two that a float can be multiplied with safely: beyond it every ceiling is the cap anyway.
_LAST_DOUBLING: Final = 1000

# When the nearest deadline ends, on time.monotonic; a plain float, which copied contexts take into threads and tasks.
_ends: ContextVar[float | None] = ContextVar("dynamap_deadline", default=None)


class Surroundings(msgspec.Struct, frozen=True):
    """What stands in for the machine: its monotonic clock in seconds, `random.random`, and `time.sleep`."""

    monotonic: Callable[[], float]
    random: Callable[[], float]
    sleep: Callable[[float], object]


_surroundings: ContextVar[Surroundings | None] = ContextVar("dynamap_surroundings", default=None)


@contextmanager
def surrounded_by(surroundings: Surroundings) -> Generator[None, None, None]:
    """Let deadlines and `retry_on_conflict` inside the with block take time and chance from here; for simulations."""
    token = _surroundings.set(surroundings)
    try:
        yield
    finally:
        _surroundings.reset(token)


def clock_now() -> float:
    """Return the seconds on the monotonic clock."""
    around = _surroundings.get()
    return monotonic() if around is None else around.monotonic()


def chance() -> float:
    """Return a random number, at least 0 and less than 1."""
    around = _surroundings.get()
    return random_module.random() if around is None else around.random()  # noqa: S311 - it only spreads pauses


def pause_thread(seconds: float) -> None:
    """Wait, in a thread."""
    around = _surroundings.get()
    if around is None:
        time.sleep(seconds)
    else:
        around.sleep(seconds)


def full_jitter(attempt: int, *, base: float, cap: float, random: Callable[[], float]) -> float:
    """Return the seconds to wait after a failed attempt: from 0 to `base`, doubled with each attempt up to `cap`.

    `attempt` counts from 1; `random` answers at least 0 and less than 1, as `random.random` does.

    >>> [full_jitter(attempt, base=0.025, cap=1.0, random=lambda: 0.5) for attempt in (1, 2, 3, 9)]
    [0.0125, 0.025, 0.05, 0.5]
    """
    if attempt < 1:
        msg = f"attempt counts from 1, got {attempt!r}"
        raise ValueError(msg)
    return random() * min(cap, base * 2.0 ** min(attempt - 1, _LAST_DOUBLING))


def seconds_of(duration: object, name: str) -> float:
    """Return a duration as seconds; TypeError or ValueError, naming the option `name`, for what is none."""
    # bool is an int to isinstance, but nobody means one second by True
    if isinstance(duration, bool) or not isinstance(duration, int | float | timedelta):
        msg = f"{name} takes seconds or a timedelta, got {duration!r}"
        raise TypeError(msg)
    seconds = duration.total_seconds() if isinstance(duration, timedelta) else float(duration)
    if math.isnan(seconds) or seconds < 0:
        msg = f"{name} must not be negative or NaN, got {duration!r}"
        raise ValueError(msg)
    return seconds


class _Deadline:
    __slots__ = ("_seconds", "_token")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._token: Token[float | None] | None = None

    def __repr__(self) -> str:
        return f"deadline({self._seconds!r})"

    def __enter__(self) -> None:
        if self._token is not None:
            msg = f"{self!r} is in use already: make a new one for each with block"
            raise RuntimeError(msg)
        end, outer = clock_now() + self._seconds, _ends.get()
        self._token = _ends.set(end if outer is None else min(end, outer))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        token, self._token = self._token, None
        if token is not None:
            # a coroutine that is closed by the garbage collector leaves in a context that was never changed
            with suppress(ValueError):
                _ends.reset(token)


def deadline(seconds: float | timedelta, /) -> AbstractContextManager[None]:
    """Bound everything inside the with block: repeats, waits and requests end when the time is over.

    Takes seconds or a timedelta, counted from entering the block on the monotonic clock; of nested deadlines the
    nearer one holds. An operation that would begin, wait or repeat after the end raises `DeadlineExceeded`; the block
    itself raises nothing. Reaches the tasks that are started inside, and threads that run in a copy of the context, as
    `asyncio.to_thread` does. ValueError for a negative duration.

    >>> with deadline(3):
    ...     time_left() <= 3
    True
    """
    return _Deadline(seconds_of(seconds, "deadline"))


def time_left(clock: Callable[[], float] | None = None) -> float | None:
    """Return the seconds until the nearest enclosing deadline: 0.0 when it is over, None where there is none.

    `clock` stands in for `time.monotonic`, and must count from the same moment.
    """
    end = _ends.get()
    return None if end is None else max(0.0, end - (clock_now if clock is None else clock)())


class TokenBucket:
    """Stops repeating where repeats do not help: all operations of a client take their repeats from one bucket.

    The amounts are those of botocore's standard mode: a repeat takes `RETRY_COST`, or `LOST_COST` if the answer was
    lost, and is not made if the bucket does not hold that much. A success gives back what its last repeat took, or
    `FIRST_SUCCESS` if there was none. May be shared by threads.

    >>> bucket = TokenBucket(12.0)
    >>> bucket.take(LOST_COST), bucket.take(RETRY_COST), bucket.left
    (True, False, 2.0)
    >>> bucket.give(100.0)
    >>> bucket.left
    12.0
    """

    __slots__ = ("_capacity", "_left", "_lock")

    def __init__(self, capacity: float = 500.0) -> None:
        if not capacity >= 0:
            msg = f"the capacity of a TokenBucket must not be negative or NaN, got {capacity!r}"
            raise ValueError(msg)
        self._capacity = self._left = capacity
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"TokenBucket({self._left:g} of {self._capacity:g} left)"

    @property
    def left(self) -> float:
        """What can be taken now."""
        return self._left

    def take(self, cost: float) -> bool:
        """Take `cost` and return True; take nothing and return False where less is left."""
        _require_amount(cost)
        with self._lock:
            if cost > self._left:
                return False
            self._left -= cost
            return True

    def give(self, amount: float) -> None:
        """Put `amount` back, never above the capacity."""
        _require_amount(amount)
        if self._left >= self._capacity:
            # as if whoever takes at this moment came after it
            return
        with self._lock:
            self._left = min(self._capacity, self._left + amount)


def _require_amount(amount: float) -> None:
    if not amount >= 0:
        msg = f"a TokenBucket takes and gives amounts that are not negative or NaN, got {amount!r}"
        raise ValueError(msg)
