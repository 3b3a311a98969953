"""`retry_on_conflict`: run a read-modify-write again when another writer was faster."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext, suppress
from contextvars import ContextVar, Token
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import Any, Final, NoReturn, TypeVar, overload

from typing_extensions import ParamSpec

from dynamap.backoff import chance, clock_now, full_jitter, pause_thread, seconds_of, time_left
from dynamap.backoff import deadline as bounded_by
from dynamap.errors import Conflict, DeadlineExceeded, DynamapError

__all__ = ["CONDITION", "TRANSACTION", "VERSION", "Conflict", "retry_on_conflict"]

P = ParamSpec("P")
R = TypeVar("R")

VERSION: Final = Conflict.VERSION
"""The item was changed since it was read."""
TRANSACTION: Final = Conflict.TRANSACTION
"""A transaction was working on the item, or one was cancelled by another or for load."""
CONDITION: Final = Conflict.CONDITION
"""A condition that the caller wrote did not hold: usually an answer, so it must be asked for."""

FIRST_PAUSE: Final = 0.025
LONGEST_PAUSE: Final = 1.0


class _Run:
    """One run of a wrapped function, while it lasts: retries inside leave the kinds that it handles to it."""

    __slots__ = ("_limit", "_token", "alive", "kinds", "outer")

    def __init__(self, kinds: Conflict, limit: float | None) -> None:
        self.kinds = kinds
        self.alive = False
        self.outer = _enclosing()
        self._limit: AbstractContextManager[None] = nullcontext() if limit is None else bounded_by(limit)
        self._token: Token[_Run | None]

    def __enter__(self) -> None:
        self._limit.__enter__()
        self._token = _current.set(self)
        self.alive = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        # tasks and threads that outlive this run keep its context: for them it must handle nothing any more
        self.alive = False
        # a coroutine that is closed by the garbage collector leaves in a context that was never changed
        with suppress(ValueError):
            _current.reset(self._token)
        self._limit.__exit__(kind, error, trace)


_current: ContextVar[_Run | None] = ContextVar("dynamap_retry", default=None)


def _enclosing() -> _Run | None:
    """Return the innermost run around the caller that has not ended."""
    run = _current.get()
    while run is not None and not run.alive:
        run = run.outer
    return run


def _handled_outside() -> Conflict:
    kinds = Conflict(0)
    run = _current.get()
    while run is not None:
        if run.alive:
            kinds |= run.kinds
        run = run.outer
    return kinds


@dataclass(frozen=True)
class _Policy:
    attempts: int
    on: Conflict
    seconds: float | None
    clock: Callable[[], float]
    sleep: Callable[[float], object] | None
    random: Callable[[], float]


class _Course:
    """One call of a wrapped function, from its first run to its result or last error; it knows no threads or tasks."""

    __slots__ = ("_end", "_last", "_policy", "_runs")

    def __init__(self, policy: _Policy) -> None:
        self._policy = policy
        self._runs = 0
        self._last: DynamapError | None = None
        self._end = None if policy.seconds is None else policy.clock() + policy.seconds

    def run(self) -> _Run:
        self._runs += 1
        own = self._own_time_left()
        return _Run(self._policy.on, None if own is None else max(0.0, own))

    def pause(self, error: DynamapError) -> float:
        """Return the seconds to wait before the next run, or raise what ends this call."""
        if isinstance(error, DeadlineExceeded) and self._last is not None and self._is_over():
            self._give_up(self._last)
        if error.conflict is None or error.conflict not in self._policy.on:
            raise error
        if error.conflict in _handled_outside():
            raise error
        if self._runs >= self._policy.attempts:
            self._give_up(error)
        pause = full_jitter(self._runs, base=FIRST_PAUSE, cap=LONGEST_PAUSE, random=self._policy.random)
        if any(left is not None and pause >= left for left in (self._own_time_left(), time_left())):
            self._give_up(error)
        self._last = error
        return pause

    def resume(self) -> None:
        """Raise the last conflict if the pause was longer than asked for and no time is left."""
        if self._last is not None and (self._is_over() or time_left() == 0):
            self._give_up(self._last)

    def close(self) -> None:
        # the error's traceback holds the frame that holds this object: without this they would wait for the collector
        self._last = None

    def _give_up(self, error: DynamapError) -> NoReturn:
        error.runs = self._runs
        raise error

    def _own_time_left(self) -> float | None:
        return None if self._end is None else self._end - self._policy.clock()

    def _is_over(self) -> bool:
        left = self._own_time_left()
        return left is not None and left <= 0


def _core(function: Any) -> Any:
    """Return what does the work: what a partial calls, the `__call__` of an object that can be called."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function) or inspect.isclass(function) or inspect.iscoroutinefunction(function):
        return function
    return type(function).__call__


def _keep_identity(wrapper: Any, function: Any) -> Any:
    named = function
    while isinstance(named, functools.partial):
        named = named.func
    if inspect.isroutine(named):
        functools.update_wrapper(wrapper, named)
    else:
        # an object's own attributes are not the function's
        functools.update_wrapper(wrapper, named, updated=())
        wrapper.__name__ = getattr(named, "__name__", type(named).__name__)
        wrapper.__qualname__ = getattr(named, "__qualname__", type(named).__qualname__)
    wrapper.__wrapped__ = function
    return wrapper


def _wrap_sync(function: Callable[..., Any], policy: _Policy) -> Callable[..., Any]:
    sleep = pause_thread if policy.sleep is None else policy.sleep
    if inspect.iscoroutinefunction(_core(sleep)):
        msg = f"sleep= is a coroutine function, but {_name_of(function)} is a plain one and cannot await it"
        raise TypeError(msg)

    def run(*args: Any, **kwargs: Any) -> Any:
        course = _Course(policy)
        try:
            while True:
                try:
                    with course.run():
                        result = function(*args, **kwargs)
                except DynamapError as error:
                    pause = course.pause(error)
                else:
                    _require_plain(function, result)
                    return result
                sleep(pause)
                course.resume()
        finally:
            course.close()

    return run


def _wrap_async(function: Any, policy: _Policy) -> Callable[..., Coroutine[Any, Any, Any]]:
    # what is not asyncio does not wait for it to load
    import asyncio  # noqa: PLC0415

    sleep = asyncio.sleep if policy.sleep is None else policy.sleep

    async def run(*args: Any, **kwargs: Any) -> Any:
        course = _Course(policy)
        try:
            while True:
                try:
                    with course.run():
                        return await function(*args, **kwargs)
                except DynamapError as error:
                    pause = course.pause(error)
                slept = sleep(pause)
                if inspect.isawaitable(slept):
                    await slept
                course.resume()
        finally:
            course.close()

    return run


def _require_plain(function: Callable[..., Any], result: object) -> None:
    if not inspect.isawaitable(result):
        return
    kind = type(result).__name__
    close = getattr(result, "close", None) if inspect.iscoroutine(result) or inspect.isgenerator(result) else None
    if close is not None:
        # it will never be awaited, which Python would warn of
        close()
    msg = (
        f"retry_on_conflict cannot rerun {_name_of(function)}: it is no async function but returned an awaitable "
        f"({kind}), so a conflict would show only when that is awaited, after the retry; "
        "make it an `async def` that awaits inside"
    )
    raise TypeError(msg)


def _name_of(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__qualname__", None) or type(function).__qualname__


def _is_unbound(function: object) -> bool:
    return isinstance(function, staticmethod | classmethod)


def _wrap(function: Any, policy: _Policy) -> Any:
    if _is_unbound(function):
        return type(function)(_wrap(function.__func__, policy))
    if not callable(function):
        msg = f"retry_on_conflict takes a function, got {function!r}; options are given by name, as in attempts=3"
        raise TypeError(msg)
    core = _core(function)
    if inspect.isgeneratorfunction(core) or inspect.isasyncgenfunction(core):
        msg = f"retry_on_conflict cannot rerun the generator {_name_of(function)}: wrap the function that consumes it"
        raise TypeError(msg)
    wrapper = _wrap_async(function, policy) if inspect.iscoroutinefunction(core) else _wrap_sync(function, policy)
    return _keep_identity(wrapper, function)


def _require_attempts(attempts: object) -> None:
    # bool is an int to isinstance, but nobody means one run by True
    if isinstance(attempts, bool) or not isinstance(attempts, int):
        msg = f"attempts= takes a whole number of runs, got {attempts!r}"
        raise TypeError(msg)
    if attempts < 1:
        msg = f"attempts= counts the first run too and must be at least 1, got {attempts!r}"
        raise ValueError(msg)


def _require_conflict(on: object) -> None:
    if not isinstance(on, Conflict):
        msg = f"on= takes conflicts, such as VERSION | TRANSACTION, got {on!r}"
        raise TypeError(msg)
    if not on:
        msg = "on= names no conflict: nothing would ever be run again"
        raise ValueError(msg)


def _require_callable(name: str, option: object) -> None:
    if not callable(option):
        msg = f"{name}= takes a function, got {option!r}"
        raise TypeError(msg)


@overload
def retry_on_conflict(
    fn: Callable[P, R],
    /,
    *,
    attempts: int = 10,
    on: Conflict = ...,
    deadline: float | timedelta | None = None,
    clock: Callable[[], float] = ...,
    sleep: Callable[[float], object] | None = None,
    random: Callable[[], float] = ...,
) -> Callable[P, R]: ...
@overload
def retry_on_conflict(
    *,
    attempts: int = 10,
    on: Conflict = ...,
    deadline: float | timedelta | None = None,
    clock: Callable[[], float] = ...,
    sleep: Callable[[float], object] | None = None,
    random: Callable[[], float] = ...,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def retry_on_conflict(
    fn: Any = None,
    /,
    *,
    attempts: int = 10,
    on: Conflict = VERSION | TRANSACTION,
    deadline: float | timedelta | None = None,
    clock: Callable[[], float] = clock_now,
    sleep: Callable[[float], object] | None = None,
    random: Callable[[], float] = chance,
) -> Any:
    """Run the whole function again when it raises a conflict: read anew, decide anew, write anew.

    A decorator with or without arguments, or a call, for functions, methods, lambdas, partials and objects that can be
    called, sync or async; the result is of the same kind and keeps name and signature.

    attempts: how many runs there are at most, the first included.
    on: which conflicts are run again. `CONDITION` must be asked for: a refusal by a condition that the caller wrote is
        an answer. A read miss and `OutcomeUnknown` are no conflicts and pass at once, as all other errors do.
    deadline: seconds or a timedelta for all runs and pauses together; inside a run it bounds the operations as
        `dynamap.deadline` does. No pause reaches beyond it, or beyond an enclosing `dynamap.deadline`.
    clock, sleep, random: stand-ins for `time.monotonic`, for `time.sleep` or `asyncio.sleep`, and for `random.random`.

    Between runs it waits with full jitter, from 25 ms doubling to 1 s. When runs or time are used up it raises the last
    conflict, whose `runs` says how many runs there were. A retry inside another does not multiply: conflicts that the
    outer one handles go to it at once, for as long as it runs.

    Raises TypeError for generators, and when a function that is not async returns an awaitable; TypeError or ValueError
    for options that make no sense.

    >>> from dynamap.errors import VersionConflict
    >>> answers = iter([VersionConflict("changed by another writer"), None])
    >>> @retry_on_conflict(attempts=3, sleep=lambda seconds: None)
    ... def deposit(amount: int) -> int:
    ...     error = next(answers)
    ...     if error is not None:
    ...         raise error
    ...     return amount
    >>> deposit(5)
    5
    """
    _require_attempts(attempts)
    _require_conflict(on)
    for name, option in (("clock", clock), ("sleep", pause_thread if sleep is None else sleep), ("random", random)):
        _require_callable(name, option)
    seconds = None if deadline is None else seconds_of(deadline, "deadline=")
    policy = _Policy(attempts, on, seconds, clock, sleep, random)

    def decorate(function: Any) -> Any:
        return _wrap(function, policy)

    return decorate if fn is None else decorate(fn)
