"""Who listens to a store's calls: what they consume, and what each of them was.

A plan is watched from outside, as the driver sees it: what follows a failure and a pause is the next attempt.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar, Token
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from dynamap.plan import Call, CallFailed, Plan, Reached, Reply, Sleep, Spawn, tables_of

__all__ = ["CallInfo", "Capacity", "Counting", "Observing", "observed"]

R = TypeVar("R")

_log = logging.getLogger("dynamap")

_INDEXES = "INDEXES"
_REPORTING = (
    "GetItem",
    "PutItem",
    "UpdateItem",
    "DeleteItem",
    "Query",
    "Scan",
    "BatchGetItem",
    "BatchWriteItem",
    "TransactGetItems",
    "TransactWriteItems",
    "ExecuteStatement",
)
"""The operations that say what they consumed, if asked.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Operations_Amazon_DynamoDB.html
"""


@dataclass(frozen=True)
class CallInfo:
    """One call to the service, with all its attempts; `connect(on_call=...)` is told of each.

    *operation* is the service's name, such as `UpdateItem`, *entity* the class whose operation it was, None where
    several may be meant; *tables* and *index* are what it named. *units* are the capacity units that it consumed, read
    or write, None where the service does not say: it does not of calls that failed. *latency* is the time from the
    first attempt to the end of the last, with the pauses between. *error* is None after an answer, else the last
    attempt's code, such as `ConditionalCheckFailedException`; *reasons* are those of a cancelled transaction.
    """

    operation: str
    entity: str | None
    index: str | None
    units: float | None
    attempts: int
    latency: timedelta
    tables: tuple[str, ...] = ()
    error: str | None = None
    reasons: tuple[str, ...] = ()

    @property
    def refused(self) -> bool:
        """Whether nothing but conditions failed: an answer to whoever asked, and no fault."""
        if self.error == "TransactionCanceledException":
            failed = [reason for reason in self.reasons if reason != "None"]
            return bool(failed) and all(reason == "ConditionalCheckFailed" for reason in failed)
        return self.error in ("ConditionalCheckFailedException", "DuplicateItemException")


class Capacity:
    """The capacity units that operations consumed, read and write units together, from `store.capacity()`.

    May be read at any time, also while more is added. Failed calls consume too, a failed condition at least a write
    unit, but the service does not report theirs, so that they are missing here.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._total = 0.0
        self._tables: dict[str, float] = {}
        self._indexes: dict[str, float] = {}
        self._operations: dict[str, float] = {}

    def __repr__(self) -> str:
        return f"Capacity({self._total:g} units)"

    @property
    def total(self) -> float:
        """All units."""
        return self._total

    @property
    def by_table(self) -> Mapping[str, float]:
        """The units by the table's physical name, those of its indexes included."""
        return self._sorted(self._tables)

    @property
    def by_index(self) -> Mapping[str, float]:
        """The units of secondary indexes, by the index's name; those of one name in several tables together."""
        return self._sorted(self._indexes)

    @property
    def by_operation(self) -> Mapping[str, float]:
        """The units by the service's operation, such as `PutItem`."""
        return self._sorted(self._operations)

    def _sorted(self, units: dict[str, float]) -> Mapping[str, float]:
        with self._lock:
            return dict(sorted(units.items()))

    def _add(self, operation: str, consumed: Sequence[Mapping[str, Any]]) -> None:
        with self._lock:
            for each in consumed:
                units = _units(each)
                self._total += units
                _count(self._operations, operation, units)
                if "TableName" in each:
                    _count(self._tables, each["TableName"], units)
                for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
                    indexes: Mapping[str, Mapping[str, Any]] = each.get(kind) or {}
                    for name, its in indexes.items():
                        _count(self._indexes, name, _units(its))


def _units(consumed: Mapping[str, Any]) -> float:
    return float(consumed.get("CapacityUnits", 0.0))


def _count(units: dict[str, float], name: str, more: float) -> None:
    units[name] = units.get(name, 0.0) + more


_counting: ContextVar[tuple[Counting, ...]] = ContextVar("dynamap_capacity", default=())


class Counting:
    """The with block of `store.capacity()`: what operations over this driver consume that begin inside of it."""

    def __init__(self, driver: object) -> None:
        self.driver = driver
        self.capacity = Capacity()
        self._token: Token[tuple[Counting, ...]] | None = None

    def __enter__(self) -> Capacity:
        if self._token is not None:
            msg = "this capacity() is in use already: make a new one for each with block"
            raise RuntimeError(msg)
        self._token = _counting.set((*_counting.get(), self))
        return self.capacity

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        token, self._token = self._token, None
        if token is not None:
            # a coroutine that is closed by the garbage collector leaves in a context that was never changed
            with suppress(ValueError):
                _counting.reset(token)


class Observing(msgspec.Struct, frozen=True):
    """Whom a plan's calls are told to."""

    entity: str | None
    clock: Callable[[], float]
    on_call: Callable[[CallInfo], object] | None
    capacities: tuple[Capacity, ...]
    lacking: set[str]


def observed(
    plan: Plan[R],
    *,
    driver: object,
    on_call: Callable[[CallInfo], object] | None,
    clock: Callable[[], float],
    entity: str | None,
    lacking: set[str],
) -> Plan[R]:
    """The plan, watched by those who listen now; the plan itself where nobody does.

    *lacking* is what the server was found not to have.
    """
    counting = _counting.get()
    if on_call is None and not counting:
        return plan
    capacities = tuple(each.capacity for each in counting if each.driver is driver)
    if on_call is None and not capacities:
        return plan
    return _watched(plan, Observing(entity, clock, on_call, capacities, lacking))


def _watched(plan: Plan[R], observing: Observing) -> Plan[R]:
    calls = _Calls(observing)
    reply: Any = None
    error: Exception | None = None
    try:
        while True:
            try:
                command = plan.send(reply) if error is None else plan.throw(error)
            except StopIteration as stop:
                result: R = stop.value
                return result
            reply = error = None
            if isinstance(command, Spawn):
                reply = yield Spawn(_watched(command.plan, observing))
                continue
            if not isinstance(command, Call):
                calls.paused = isinstance(command, Sleep)
                try:
                    reply = yield command
                except Exception as raised:  # noqa: BLE001 - the plan decides
                    error = raised
                continue
            try:
                reply = yield from _answered(calls, command)
            except CallFailed as failed:
                calls.fail(failed)
                error = failed
            except Exception as raised:  # noqa: BLE001 - the plan decides
                calls.fail(CallFailed(Reached.UNKNOWN, type(raised).__name__))
                error = raised
            else:
                calls.answer(reply)
    finally:
        plan.close()
        calls.end()


def _answered(calls: _Calls, call: Call) -> Plan[Reply]:
    try:
        reply: Reply = yield calls.begin(call)
    except CallFailed as failed:
        if not calls.asks_too_much(failed):
            raise
        reply = yield calls.asking_less(call)
    return reply


class _Calls:
    """The calls of one plan, one after the other."""

    def __init__(self, observing: Observing) -> None:
        self._observing = observing
        self._call: Call | None = None
        self._sent: Call | None = None
        self._attempts = 0
        self._started = 0.0
        self._ended = 0.0
        self._failed: CallFailed | None = None
        self.paused = False

    def begin(self, call: Call) -> Call:
        """The call as it is to be sent; after a failure and a pause it is the next attempt, whatever it has inside."""
        before, sent = self._call, self._sent
        again = before is not None and self.paused and before.operation == call.operation
        if not again:
            self.end()
            self._attempts, self._started = 0, self._observing.clock()
        if sent is None or before is not call:
            sent = self._asking(call)
        self._call, self._sent, self.paused = call, sent, False
        self._attempts += 1
        # what ends without an answer was given up while it was under way
        self._failed = CallFailed(Reached.UNKNOWN, "Abandoned")
        return sent

    def asks_too_much(self, failed: CallFailed) -> bool:
        """Whether the server refused the question what indexes consumed, and so did nothing; Alternator does."""
        asked = self._sent is not None and self._sent.given.get("ReturnConsumedCapacity") == _INDEXES
        refused = failed.code == "ValidationException" and "consumed capacity" in failed.message.casefold()
        return asked and refused

    def asking_less(self, call: Call) -> Call:
        """The same attempt with a question that every server takes, as are all from now on."""
        self._observing.lacking.add(_INDEXES)
        self._sent = self._asking(call)
        return self._sent

    def _asking(self, call: Call) -> Call:
        """The call with the question what it consumes."""
        if call.operation not in _REPORTING:
            return call
        detail = "TOTAL" if _INDEXES in self._observing.lacking else _INDEXES
        return replace(call, given={**call.given, "ReturnConsumedCapacity": detail})

    def fail(self, failed: CallFailed) -> None:
        """The attempt failed; whether there is another one the plan decides."""
        self._ended = self._observing.clock()
        self._failed = failed

    def answer(self, reply: Reply) -> None:
        """The attempt was answered: the call is over."""
        self._ended = self._observing.clock()
        self._failed = None
        call = self._call
        if call is None:
            return
        consumed = _consumed(reply, call)
        for capacity in self._observing.capacities:
            capacity._add(call.operation, consumed)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        self._tell(call, sum(map(_units, consumed)) if consumed else None)

    def end(self) -> None:
        """There is no further attempt of the last call."""
        if self._call is not None:
            if self._failed is not None and self._failed.code == "Abandoned":
                self._ended = self._observing.clock()
            self._tell(self._call, None)

    def _tell(self, call: Call, units: float | None) -> None:
        failed, self._call, self._sent = self._failed, None, None
        tell = self._observing.on_call
        if tell is None:
            return
        info = CallInfo(
            operation=call.operation,
            entity=self._observing.entity,
            index=call.given.get("IndexName"),
            units=units,
            attempts=self._attempts,
            latency=timedelta(seconds=self._ended - self._started),
            tables=tables_of(call),
            error=None if failed is None else failed.code,
            reasons=() if failed is None else tuple(str(reason.get("Code")) for reason in failed.reasons),
        )
        try:
            tell(info)
        except Exception:  # noqa: BLE001 - what was sent is sent: a listener's mistake must not look like the call's
            _log.exception("on_call raised; the call itself is not affected")


def _consumed(reply: Reply, call: Call) -> list[Mapping[str, Any]]:
    consumed: Any = reply.get("ConsumedCapacity") or []
    listed: list[Mapping[str, Any]] = [consumed] if isinstance(consumed, dict) else consumed
    # some servers leave out the table where there is only one
    named = tables_of(call)
    return [{"TableName": named[0], **each} if len(named) == 1 else each for each in listed]
