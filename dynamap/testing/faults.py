"""Faults between a store and its client: what goes wrong at the k-th call is said beforehand."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from enum import Enum

from dynamap.markers import D
from dynamap.plan import Call, CallFailed, Reached, Reply
from dynamap.store import Store, intercepted

__all__ = ["Fault", "FaultPlan"]


class Fault(Enum):
    """What happens to one call."""

    DROP_BEFORE = "drop before"
    """The connection breaks before the service saw the request; the client cannot know that."""
    DROP_AFTER = "drop after"
    """The service did what it was asked, and the answer is lost."""
    THROTTLE = "throttle"
    """The service refuses for load."""
    CONFLICT = "conflict"
    """The service refuses because a transaction holds the item."""


_LOST = ("ConnectionClosedError", "the connection was closed before a valid response was received (injected)")
_REFUSALS = {
    Fault.THROTTLE: ("ThrottlingException", "rate exceeded (injected)"),
    Fault.CONFLICT: ("TransactionConflictException", "a transaction is ongoing for the item (injected)"),
}


class FaultPlan:
    """Faults by the number of the call, counted from 1 over everything that is sent through `over(store)`.

    *before* are actions to run just before a call is sent, such as another writer's write. `calls` lists what was sent,
    in order. Works for both modes and every server; in asyncio the actions run in the event loop.

    >>> plan = FaultPlan({1: Fault.DROP_AFTER})
    >>> plan.calls
    []
    """

    def __init__(
        self, faults: Mapping[int, Fault] | None = None, *, before: Mapping[int, Callable[[], object]] | None = None
    ) -> None:
        self.calls: list[Call] = []
        self._faults = dict(faults or {})
        self._before = dict(before or {})
        self._numbers: dict[int, int] = {}
        self._lock = threading.Lock()

    def over(self, store: Store[D]) -> Store[D]:
        """The same store, with this plan's faults between it and its client."""
        return intercepted(store, self)

    def before(self, call: Call, /) -> None:
        """Called by the driver."""
        with self._lock:
            self.calls.append(call)
            number = len(self.calls)
            self._numbers[id(call)] = number
        if number in self._before:
            self._before[number]()
        fault = self._faults.get(number)
        if fault is Fault.DROP_BEFORE:
            raise CallFailed(Reached.UNKNOWN, *_LOST)
        if fault in _REFUSALS:
            raise CallFailed(Reached.ANSWERED, *_REFUSALS[fault], status=400)

    def after(self, call: Call, _outcome: Reply | CallFailed, /) -> None:
        """Called by the driver."""
        with self._lock:
            number = self._numbers.pop(id(call))
        if self._faults.get(number) is Fault.DROP_AFTER:
            raise CallFailed(Reached.UNKNOWN, *_LOST)
