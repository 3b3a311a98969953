"""Sending one call until its outcome is known, or known to be unknowable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import NoReturn

from dynamap.backoff import FIRST_SUCCESS, LOST_COST, RETRY_COST, full_jitter, time_left
from dynamap.errors import (
    DeadlineExceeded,
    DynamapError,
    OutcomeUnknown,
    ServiceError,
    Throttled,
    TransactionConflict,
)
from dynamap.operations.base import Runtime
from dynamap.outcomes import Verdict, judge, only_contention
from dynamap.plan import Call, CallFailed, Item, Plan, Reply, Sleep, tables_of

__all__ = ["Answer", "Repeat", "others_quicker", "pause", "read", "read_item", "transact", "write"]

MOST_ATTEMPTS = 10
_BASE = 0.025
_THROTTLED_BASE = 0.05
_CAP = 5.0
_NO_TABLE = "ResourceNotFoundException"
# the service knows a token for ten minutes; after that a repetition would be a new transaction
_TOKEN_SECONDS = 9 * 60.0


class Repeat(Enum):
    """Whether an ambiguous attempt of a write may be followed by another."""

    SAFELY = auto()
    """The write excludes or outlives its own repetition."""
    NEVER = auto()
    """A repeat might apply it twice."""


@dataclass(slots=True)
class Answer:
    """How a write's sending ended: a reply, a failed condition, or an unreadable word of success.

    *seen* is the item that came with a failed condition, or that was *asked* for then, unless it stayed *unread*;
    *lost* is the last attempt before that may have been applied. *calls* are the different requests that the write was
    sent as, the last one last.
    """

    reply: Reply | None
    condition_failed: bool = False
    seen: Item | None = None
    asked: bool = False
    unread: DynamapError | None = None
    cause: CallFailed | None = None
    lost: CallFailed | None = None
    calls: tuple[Call, ...] = ()

    @property
    def ambiguous(self) -> bool:
        """Whether an attempt before the last one may have been applied."""
        return self.lost is not None

    @property
    def origin(self) -> BaseException | None:
        """What an error that is raised for it names as its cause."""
        return None if self.cause is None else self.cause.origin


def others_quicker(what: str, lost: CallFailed | None) -> DynamapError:
    """The error of a write that is of several requests, between which others changed the item every time."""
    if lost is not None:
        msg = f"{what}: an answer was lost, and others kept the item busy: read it before you repeat it"
        unknown = OutcomeUnknown(msg)
        unknown.__cause__ = lost.origin
        return unknown
    msg = f"{what}: other writers kept the item busy, nothing was written: send it again later"
    return TransactionConflict(msg)


def read(runtime: Runtime, call: Call, what: str) -> Plan[Reply]:
    """Send a read; whatever happened to an attempt, it may be repeated."""
    attempts = _Attempts(runtime, what, "read")
    while True:
        attempts.begin()
        try:
            reply: Reply = yield call
        except CallFailed as failed:
            yield attempts.pause(call, failed, judge(failed))
        else:
            attempts.succeeded()
            return reply


def read_item(runtime: Runtime, table_name: str, key: Item, what: str) -> Plan[Item | None]:
    """The item as it stands now, read strongly; None if there is none."""
    reply = yield from read(
        runtime, Call("GetItem", {"TableName": table_name, "Key": key, "ConsistentRead": True}), what
    )
    return reply.get("Item") or None


def write(
    runtime: Runtime,
    call: Call,
    what: object,
    repeat: Repeat,
    lost: CallFailed | None = None,
    again: Callable[[], Call] | None = None,
) -> Plan[Answer]:
    """Send a write by the rules for its kind; *lost* is an attempt of the same write by another call before.

    *what* names it in messages when `str` asks for it. *again* makes the request that follows a lost answer, where
    that must be another one.
    Raises OutcomeUnknown where nothing more can be known: after an ambiguous attempt any error but a failed condition
    ends so, for it says nothing about the attempt before.
    """
    attempts = _Attempts(runtime, what, "written", lost)
    calls: tuple[Call, ...] = (call,)
    while True:
        attempts.begin()
        try:
            reply: Reply = yield calls[-1]
        except CallFailed as failed:
            verdict = judge(failed)
            if verdict is Verdict.CONDITION:
                # an answer all the same: the service is well
                attempts.succeeded()
                seen, lost = failed.item, attempts.lost
                return Answer(None, condition_failed=True, seen=seen, cause=failed, lost=lost, calls=calls)
            if verdict is Verdict.APPLIED:
                return Answer(None, cause=failed, lost=attempts.lost, calls=calls)
            if verdict is Verdict.AMBIGUOUS and repeat is Repeat.NEVER:
                attempts.lose(failed)
            yield attempts.pause(calls[-1], failed, verdict)
            if again is not None and verdict is Verdict.AMBIGUOUS:
                calls = (*calls, again())
        else:
            attempts.succeeded()
            return Answer(reply, lost=attempts.lost, calls=calls)


def transact(runtime: Runtime, call: Call, what: str, started: float) -> Plan[CallFailed | None]:
    """Send a transaction; answers None if it was applied, or the failure that cancelled it.

    Every attempt has the same bytes and token, so a repetition is the same transaction, and one that was cancelled
    after a lost answer was not applied by that answer's attempt either. *started* is when the token was first sent, on
    the clock of `Runtime.elapsed`.
    """
    attempts = _Attempts(runtime, what, "written")
    while True:
        attempts.begin()
        try:
            yield call
        except CallFailed as failed:
            verdict = judge(failed)
            if verdict is Verdict.APPLIED:
                return None
            over = runtime.elapsed() - started > _TOKEN_SECONDS
            if verdict is Verdict.CANCELED:
                contention = only_contention(failed.reasons)
                pause = attempts.next_pause(failed, Verdict.CONFLICT) if contention and not over else None
                if pause is None:
                    if not contention:
                        # an answer all the same: the service is well
                        attempts.succeeded()
                    return failed
                yield pause
                continue
            if over:
                attempts.give_up(call, failed, verdict)
            yield attempts.pause(call, failed, verdict)
        else:
            attempts.succeeded()
            return None


def pause(runtime: Runtime, turn: int) -> Sleep:
    """The pause after this many turns of a write that another writer was quicker than."""
    return _bounded(runtime, full_jitter(turn, base=_BASE, cap=_CAP, random=runtime.random))


def _bounded(runtime: Runtime, seconds: float) -> Sleep:
    left = time_left(runtime.monotonic)
    return Sleep(seconds if left is None else min(seconds, left))


def _missing_table(call: Call) -> str:
    """What may be wrong where the service does not know the table: it names none itself."""
    names = tables_of(call)
    if not names:
        table = "the table"
    elif len(names) == 1:
        table = f"table {names[0]!r}"
    else:
        table = f"one of the tables {', '.join(map(repr, names))}"
    return (
        f"{table} is not there, or not ACTIVE yet: create it with store.create_table(), or correct its name (that of "
        f"the Table, prefix=, with_name()), the region or the endpoint"
    )


class _Attempts:
    """The attempts of one sending: how many, what they took from the bucket, and whether an answer was lost.

    *lost* is the last attempt that may have been applied.
    """

    __slots__ = ("_count", "_done", "_last", "_refreshed", "_runtime", "_taken", "_what", "lost")

    def __init__(self, runtime: Runtime, what: object, done: str, lost: CallFailed | None = None) -> None:
        self._runtime = runtime
        self._what = what
        self._done = done
        self._count = 0
        self._taken = 0.0
        self._refreshed = False
        self._last: CallFailed | None = None
        self.lost = lost

    def begin(self) -> None:
        """Count one more. Raises DeadlineExceeded or OutcomeUnknown when the time is over."""
        self._count += 1
        left = time_left(self._runtime.monotonic)
        if left is None or left > 0:
            return
        if self.lost is not None and self._done == "written":
            self.lose(self.lost)
        msg = f"{self._what}: the deadline is over, and nothing was {self._done}"
        raise DeadlineExceeded(msg) from (None if self._last is None else self._last.origin)

    def succeeded(self) -> None:
        """Give back what the last repeat took."""
        self._runtime.bucket.give(self._taken or FIRST_SUCCESS)

    def pause(self, call: Call, failed: CallFailed, verdict: Verdict) -> Sleep:
        """The pause before the next attempt. Raises if there may be none."""
        pause = self.next_pause(failed, verdict)
        if pause is None:
            self.give_up(call, failed, verdict)
        return pause

    def next_pause(self, failed: CallFailed, verdict: Verdict) -> Sleep | None:
        """The same, but None if there may be none."""
        self._note(failed, verdict)
        if verdict in (Verdict.REFUSED, Verdict.CONDITION) or (verdict is Verdict.CREDENTIALS and self._refreshed):
            return None
        self._refreshed = self._refreshed or verdict is Verdict.CREDENTIALS
        cost = LOST_COST if verdict is Verdict.AMBIGUOUS else RETRY_COST
        exhausted = self._count >= MOST_ATTEMPTS and verdict is not Verdict.PENDING
        if exhausted or not self._runtime.bucket.take(cost):
            return None
        self._taken = cost
        base = _THROTTLED_BASE if verdict is Verdict.THROTTLED else _BASE
        return _bounded(self._runtime, full_jitter(self._count, base=base, cap=_CAP, random=self._runtime.random))

    def _note(self, failed: CallFailed, verdict: Verdict) -> None:
        self._last = failed
        if verdict in (Verdict.AMBIGUOUS, Verdict.PENDING):
            self.lost = failed

    def give_up(self, call: Call, failed: CallFailed, verdict: Verdict) -> NoReturn:
        """Raise what the last attempt was, or OutcomeUnknown after a lost answer, which it may be itself."""
        self._note(failed, verdict)
        if self.lost is not None and self._done == "written":
            self.lose(self.lost)
        error: DynamapError
        if verdict is Verdict.THROTTLED:
            msg = (
                f"{self._what}: the service kept refusing for load ({failed.code}), nothing was {self._done}: "
                f"spread the load or raise the capacity"
            )
            error = Throttled(msg)
        elif verdict is Verdict.CONFLICT:
            msg = f"{self._what}: a transaction kept the item busy, nothing was {self._done}: send it again later"
            error = TransactionConflict(msg)
        else:
            msg = f"{self._what}: {failed.code}: {failed.message}"
            if failed.code == _NO_TABLE:
                msg += f"; {_missing_table(call)}"
            if self._count > 1:
                msg += f" (nothing was {self._done}, after {self._count} attempts)"
            error = ServiceError(msg, code=failed.code, message=failed.message)
        raise error from failed.origin

    def lose(self, lost: CallFailed) -> NoReturn:
        """Raise OutcomeUnknown: this answer was lost, and there is no further attempt."""
        said = f"{lost.code}: {lost.message}" if lost.message else lost.code
        msg = (
            f"{self._what}: the answer was lost ({said}), so the write may or may not have been applied: "
            f"read the item before you repeat it"
        )
        raise OutcomeUnknown(msg) from lost.origin
