"""Sending one call until its outcome is known, or known to be unknowable."""

from __future__ import annotations

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
from dynamap.outcomes import Verdict, judge
from dynamap.plan import Call, CallFailed, Item, Plan, Reply, Sleep

__all__ = ["Answer", "Repeat", "read", "write"]

MOST_ATTEMPTS = 10
_BASE = 0.025
_THROTTLED_BASE = 0.05
_CAP = 5.0


class Repeat(Enum):
    """Whether an ambiguous attempt of a write may be followed by another."""

    SAFELY = auto()
    """The write excludes or outlives its own repetition."""
    NEVER = auto()
    """A repeat might apply it twice."""


@dataclass(frozen=True, slots=True)
class Answer:
    """How a write's sending ended: a reply, a failed condition, or an unreadable word of success.

    *seen* is the item that came with a failed condition; *ambiguous* says that an attempt before the last one may have
    been applied.
    """

    reply: Reply | None
    condition_failed: bool = False
    seen: Item | None = None
    ambiguous: bool = False
    cause: CallFailed | None = None


def read(runtime: Runtime, call: Call, what: str) -> Plan[Reply]:
    """Send a read; whatever happened to an attempt, it may be repeated."""
    answer = yield from _send(runtime, call, what, Repeat.SAFELY, is_read=True)
    return answer.reply or {}


def write(runtime: Runtime, call: Call, what: str, repeat: Repeat) -> Plan[Answer]:
    """Send a write by the rules for its kind.

    Raises OutcomeUnknown where nothing more can be known: after an ambiguous attempt any error but a failed condition
    ends so, for it says nothing about the attempt before.
    """
    return _send(runtime, call, what, repeat, is_read=False)


def _send(runtime: Runtime, call: Call, what: str, repeat: Repeat, *, is_read: bool) -> Plan[Answer]:
    lost: CallFailed | None = None
    refreshed = False
    taken = 0.0
    attempt = 0
    while True:
        attempt += 1
        _check_deadline(runtime, what, lost, is_read=is_read)
        try:
            reply: Reply = yield call
        except CallFailed as failed:
            verdict = judge(failed)
            failure = failed
        else:
            runtime.bucket.give(taken or FIRST_SUCCESS)
            return Answer(reply, ambiguous=lost is not None)

        if verdict is Verdict.CONDITION:
            return Answer(None, condition_failed=True, seen=failure.item, ambiguous=lost is not None, cause=failure)
        if verdict is Verdict.APPLIED and not is_read:
            return Answer(None, ambiguous=lost is not None, cause=failure)
        if verdict in (Verdict.REFUSED, Verdict.CANCELED) or (verdict is Verdict.CREDENTIALS and refreshed):
            _give_up(failure, verdict, what, lost, is_read=is_read)
        refreshed = refreshed or verdict is Verdict.CREDENTIALS
        if verdict is Verdict.AMBIGUOUS:
            lost = failure
            if repeat is Repeat.NEVER:
                _give_up(failure, verdict, what, lost, is_read=is_read)
        cost = LOST_COST if verdict is Verdict.AMBIGUOUS else RETRY_COST
        if attempt == MOST_ATTEMPTS or not runtime.bucket.take(cost):
            _give_up(failure, verdict, what, lost, is_read=is_read)
        taken = cost
        base = _THROTTLED_BASE if verdict is Verdict.THROTTLED else _BASE
        pause = full_jitter(attempt, base=base, cap=_CAP, random=runtime.random)
        left = time_left(runtime.monotonic)
        yield Sleep(pause if left is None else min(pause, left))


def _check_deadline(runtime: Runtime, what: str, lost: CallFailed | None, *, is_read: bool) -> None:
    left = time_left(runtime.monotonic)
    if left is None or left > 0:
        return
    if lost is not None and not is_read:
        _unknown(what, lost)
    msg = f"{what}: the deadline is over, and nothing was {'read' if is_read else 'written'}"
    raise DeadlineExceeded(msg) from lost


def _give_up(failed: CallFailed, verdict: Verdict, what: str, lost: CallFailed | None, *, is_read: bool) -> NoReturn:
    if lost is not None and not is_read:
        _unknown(what, lost)
    cause = failed.__cause__ or failed
    done = "read" if is_read else "written"
    error: DynamapError
    if verdict is Verdict.THROTTLED:
        msg = f"{what}: the service kept refusing for load ({failed.code}), nothing was {done}: spread the load or raise the capacity"
        error = Throttled(msg)
    elif verdict is Verdict.CONFLICT:
        msg = f"{what}: a transaction kept the item busy, nothing was {done}: send it again later"
        error = TransactionConflict(msg)
    else:
        error = ServiceError(f"{what}: {failed.code}: {failed.message}", code=failed.code, message=failed.message)
    raise error from cause


def _unknown(what: str, lost: CallFailed) -> NoReturn:
    msg = (
        f"{what}: the answer was lost ({lost.code}), so the write may or may not have been applied: "
        f"read the item before you repeat it"
    )
    raise OutcomeUnknown(msg) from (lost.__cause__ or lost)
