"""Faults between a store and its client: what goes wrong at the k-th call is said beforehand."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import combinations, product
from typing import Any, TypeAlias, TypeVar, cast

from dynamap.errors import RequestError
from dynamap.markers import D
from dynamap.plan import Call, CallFailed, Reached, Reply
from dynamap.store import Store, intercepted

__all__ = [
    "AnyFault",
    "Cancellation",
    "ClientCrashed",
    "Crash",
    "Fault",
    "FaultPlan",
    "Refusal",
    "Strike",
    "Unprocessed",
    "can_strike",
    "every_fault",
    "fault_name",
]


V = TypeVar("V")


class Fault(Enum):
    """What happens to one call."""

    DROP_BEFORE = "drop before"
    """The connection breaks before the service saw the request; the client cannot know that."""
    DROP_AFTER = "drop after"
    """The service did what it was asked, and the answer is lost."""
    NOT_SENT = "not sent"
    """There is no connection, and the client knows that nothing was sent."""
    THROTTLE = "throttle"
    """The service refuses for load."""
    CONFLICT = "conflict"
    """The service refuses because a transaction holds the item."""
    ERROR_BEFORE = "error before"
    """The service answers with an internal error, and did nothing."""
    ERROR_AFTER = "error after"
    """The service answers with an internal error after it did what it was asked."""
    DAMAGED = "damaged"
    """The service answers that all is well, and the body does not fit its checksum."""


@dataclass(frozen=True)
class Refusal:
    """The service answers with this error and does nothing.

    >>> FaultPlan({1: Refusal("AccessDeniedException")})
    FaultPlan(call 1: AccessDeniedException)
    """

    code: str
    message: str = "refused (injected)"
    status: int = 400


@dataclass(frozen=True)
class Cancellation:
    """The service cancels a transaction, with these codes for its operations in order; None, and all the rest, passed.

    >>> FaultPlan({2: Cancellation([None, "TransactionConflict"])})
    FaultPlan(call 2: cancelled [None, TransactionConflict])
    """

    codes: Sequence[str | None]


@dataclass(frozen=True)
class Unprocessed:
    """A batch of several entries: every second one is left undone, and the reply says so."""


class Crash(Enum):
    """The client itself ends, by `ClientCrashed`, which no `except Exception` stops."""

    BEFORE = "crash before"
    """It ends before it sends the request."""
    AFTER = "crash after"
    """It ends before it sees the answer."""


AnyFault: TypeAlias = "Fault | Crash | Refusal | Cancellation | Unprocessed"


class ClientCrashed(BaseException):
    """The client ended in the middle of a call; what the service knows stays."""


def fault_name(fault: AnyFault) -> str:
    """A fault in words."""
    if isinstance(fault, (Fault, Crash)):
        words: str = fault.value
        return words
    if isinstance(fault, Unprocessed):
        return "unprocessed"
    if isinstance(fault, Refusal):
        return fault.code
    return f"cancelled [{', '.join(map(str, fault.codes))}]"


# ---- what each does to a call

_BATCHES = {
    "BatchGetItem": ("UnprocessedKeys", "Keys"),
    "BatchWriteItem": ("UnprocessedItems", None),
}
_TRANSACTIONS = ("TransactWriteItems", "TransactGetItems")
_READS = ("GetItem", "BatchGetItem", "Query", "Scan")


def can_strike(fault: AnyFault, call: Call) -> bool:
    """Whether DynamoDB could ever do that to this call: reads meet no conflict, only transactions are cancelled."""
    if isinstance(fault, Unprocessed):
        return call.operation in _BATCHES and len(_entries(call)) > 1
    if isinstance(fault, Cancellation):
        return call.operation in _TRANSACTIONS and len(fault.codes) <= len(call.params["TransactItems"])
    return fault is not Fault.CONFLICT or call.operation not in _READS


class Strike:
    """One fault at one call: what it does before and after the service sees it."""

    def __init__(self, fault: AnyFault) -> None:
        self.fault = fault
        self._left: Mapping[str, Any] = {}

    def before(self, call: Call) -> Call | None:
        """The call to send in its place. Raises CallFailed or ClientCrashed."""
        fault = self.fault
        if fault is Crash.BEFORE:
            msg = f"crashed before {call.operation} (injected)"
            raise ClientCrashed(msg)
        failure = _before(fault, call)
        if failure is not None:
            raise failure
        if isinstance(fault, Unprocessed):
            if not can_strike(fault, call):
                msg = f"{call.operation} leaves nothing unprocessed: the fault is for batches of several entries"
                raise RequestError(msg)
            sent, self._left = _halves(call)
            return sent
        return None

    def after(self, call: Call, outcome: Reply | CallFailed) -> Reply | None:
        """The reply to give in its place. Raises CallFailed or ClientCrashed."""
        if self.fault is Fault.DROP_AFTER:
            raise _lost()
        if self.fault is Fault.ERROR_AFTER:
            raise _internal_error()
        if self.fault is Crash.AFTER:
            msg = f"crashed after {call.operation} (injected)"
            raise ClientCrashed(msg)
        if isinstance(outcome, CallFailed):
            return None
        if self.fault is Fault.DAMAGED:
            message = "the checksum x-amz-crc32 does not fit the body (injected)"
            raise CallFailed(Reached.APPLIED, "DamagedReply", message)
        if isinstance(self.fault, Unprocessed):
            name = _BATCHES[call.operation][0]
            return {**outcome, name: {**outcome.get(name, {}), **self._left}}
        return None


def _before(fault: AnyFault, call: Call) -> CallFailed | None:
    """The failure that takes the place of sending."""
    if isinstance(fault, Refusal):
        return CallFailed(Reached.ANSWERED, fault.code, fault.message, status=fault.status)
    if isinstance(fault, Cancellation):
        return _canceled(fault, call)
    made: Mapping[Fault, Callable[[], CallFailed]] = {
        Fault.DROP_BEFORE: _lost,
        Fault.ERROR_BEFORE: _internal_error,
        Fault.NOT_SENT: lambda: CallFailed(
            Reached.NOTHING, "EndpointConnectionError", "could not connect to the endpoint (injected)"
        ),
        Fault.THROTTLE: lambda: CallFailed(
            Reached.ANSWERED, "ThrottlingException", "rate exceeded (injected)", status=400
        ),
        Fault.CONFLICT: lambda: CallFailed(
            Reached.ANSWERED,
            "TransactionConflictException",
            "a transaction is ongoing for the item (injected)",
            status=400,
        ),
    }
    return made[fault]() if isinstance(fault, Fault) and fault in made else None


def _lost() -> CallFailed:
    message = "the connection was closed before a valid response was received (injected)"
    return CallFailed(Reached.UNKNOWN, "ConnectionClosedError", message)


def _internal_error() -> CallFailed:
    return CallFailed(Reached.ANSWERED, "InternalServerError", "internal server error (injected)", status=500)


def _canceled(fault: Cancellation, call: Call) -> CallFailed:
    if not can_strike(fault, call):
        msg = (
            f"{call.operation} cannot be cancelled with {len(fault.codes)} reasons: the fault is for transactions of "
            f"at least as many operations"
        )
        raise RequestError(msg)
    missing = [None] * (len(call.params["TransactItems"]) - len(fault.codes))
    reasons = [
        {"Code": "None"} if code is None else {"Code": code, "Message": "(injected)"}
        for code in (*fault.codes, *missing)
    ]
    return CallFailed(
        Reached.ANSWERED, "TransactionCanceledException", "cancelled (injected)", status=400, reasons=reasons
    )


def _entries(call: Call) -> list[tuple[str, Any]]:
    inner = _BATCHES[call.operation][1]
    tables: Mapping[str, Any] = call.params["RequestItems"]
    return [(name, entry) for name, each in tables.items() for entry in (each if inner is None else each[inner])]


def _halves(call: Call) -> tuple[Call, Mapping[str, Any]]:
    """The call with every other entry, beginning with the first, and the rest in the form of the request."""
    entries = _entries(call)
    inner = _BATCHES[call.operation][1]
    tables: Mapping[str, Any] = call.params["RequestItems"]

    def chosen(some: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        by_table: dict[str, list[Any]] = {}
        for name, entry in some:
            by_table.setdefault(name, []).append(entry)
        if inner is None:
            return dict(by_table)
        return {name: {**tables[name], inner: kept} for name, kept in by_table.items()}

    return Call(call.operation, {**call.params, "RequestItems": chosen(entries[::2])}), chosen(entries[1::2])


# ---- plans


def _by_number(given: Mapping[int, V] | None, what: str) -> dict[int, V]:
    """What is to happen at which call. Raises RequestError for numbers that no call has."""
    numbered: Any = {} if given is None else given
    kind = type(numbered).__name__
    if not hasattr(numbered, "keys"):
        msg = f"{what} is a dict by the call's number, counted from 1, such as {{1: ...}}; got {kind}"
        raise RequestError(msg)
    numbers: list[Any] = list(numbered)
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            msg = f"{what}: no call has the number {number!r}: they count from 1"
            raise RequestError(msg)
    return dict(cast("Mapping[int, V]", numbered))


class FaultPlan:
    """Faults by the number of the call, counted from 1 over everything that is sent through `over(store)`.

    *before* are actions to run just before a call is sent, such as another writer's write. `calls` lists what was sent,
    in order. Works for both modes and every server; in asyncio the actions run in the event loop.

    A fault that DynamoDB never does to such a call, such as unprocessed entries of a `GetItem`, is a RequestError where
    it would have to be made up.

    >>> plan = FaultPlan({1: Fault.DROP_AFTER})
    >>> plan
    FaultPlan(call 1: drop after)
    >>> plan.calls
    []
    """

    def __init__(
        self, faults: Mapping[int, AnyFault] | None = None, *, before: Mapping[int, Callable[[], object]] | None = None
    ) -> None:
        self.calls: list[Call] = []
        self._faults = _by_number(faults, "faults")
        self._before = _by_number(before, "before")
        self._strikes: dict[int, tuple[Call, Strike]] = {}
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        faults = ", ".join(f"call {number}: {fault_name(fault)}" for number, fault in self._faults.items())
        return f"FaultPlan({faults})"

    def over(self, store: Store[D]) -> Store[D]:
        """The same store, with this plan's faults between it and its client."""
        return intercepted(store, self)

    def before(self, call: Call, /) -> Call | None:
        """Called by the driver."""
        with self._lock:
            self.calls.append(call)
            number = len(self.calls)
        if number in self._before:
            self._before[number]()
        if number not in self._faults:
            return None
        strike = Strike(self._faults[number])
        changed = strike.before(call) or call
        with self._lock:
            # the call is kept, so that no other can have its id
            self._strikes[id(changed)] = (changed, strike)
        return changed

    def after(self, call: Call, outcome: Reply | CallFailed, /) -> Reply | None:
        """Called by the driver."""
        with self._lock:
            _, strike = self._strikes.pop(id(call), (None, None))
        return None if strike is None else strike.after(call, outcome)


def every_fault(
    undisturbed_calls: int, faults: Sequence[AnyFault] = tuple(Fault), *, at_once: int = 1
) -> Iterator[FaultPlan]:
    """A plan for every place that a fault can have: each fault at each of the calls that are made without any.

    *undisturbed_calls* is `len(plan.calls)` of a run under an empty `FaultPlan()`. With *at_once* 2, every pair.
    Faults make a run longer: calls beyond the undisturbed ones are not struck.

    >>> [str(plan) for plan in every_fault(2, [Fault.DROP_BEFORE, Fault.DROP_AFTER])][:3]
    ['FaultPlan(call 1: drop before)', 'FaultPlan(call 1: drop after)', 'FaultPlan(call 2: drop before)']
    >>> len(list(every_fault(3, [Fault.THROTTLE, Fault.DAMAGED], at_once=2)))
    12
    """
    for numbers in combinations(range(1, undisturbed_calls + 1), at_once):
        for chosen in product(faults, repeat=at_once):
            yield FaultPlan(dict(zip(numbers, chosen, strict=True)))
