"""What a cancelled transaction says, and about which operation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dynamap.errors import (
    ConditionFailed,
    Conflict,
    Failure,
    Failures,
    ItemDecodeError,
    ItemNotFound,
    Reason,
    TransactionCanceled,
    VersionConflict,
)
from dynamap.operations.actions import Action
from dynamap.operations.guards import GuardKind
from dynamap.operations.parents import lacks_parent, missing
from dynamap.operations.settling import Settled, refusal
from dynamap.outcomes import judge_reasons, reason_of
from dynamap.plan import CallFailed

__all__ = ["UNREAD", "canceled_error", "failures_of", "only_callers_conditions"]

UNREAD = "Unread"
"""Where a reason holds the error because of which the item of a failed condition is not known."""


def canceled_error(
    what: str, operations: Sequence[object], actions: Sequence[Action], canceled: CallFailed
) -> TransactionCanceled:
    """The error of a cancelled transaction; the reasons are by position, one for each operation."""
    nothing: list[Mapping[str, Any]] = [{}] * (len(actions) - len(canceled.reasons))
    reasons = [*canceled.reasons, *nothing]
    settled = [_settled(action, reason) for action, reason in zip(actions, reasons, strict=True)]
    failures = tuple(
        _failure(position, action, reason, found)
        for position, (action, reason, found) in enumerate(zip(actions, reasons, settled, strict=True))
    )
    named = "; ".join(
        f"operation {failure.position + 1} ({action.what}): {failure.code}{_because(action, found, reason)}"
        for failure, action, found, reason in zip(failures, actions, settled, reasons, strict=True)
        if failure.reason is not None
    )
    callers = all(
        failure.reason is None or (found is not None and found.callers)
        for failure, found in zip(failures, settled, strict=True)
    )
    error = TransactionCanceled(
        f"{what}: cancelled, nothing was written: {named or canceled.message}",
        conflict=_conflict(reasons, settled),
        _failures=Failures(failures, tuple(operations)),
        _callers=callers and any(failure.reason is not None for failure in failures),
    )
    error.__cause__ = canceled.origin
    error.__context__ = next((reason[UNREAD] for reason in reasons if UNREAD in reason), None)
    return error


def only_callers_conditions(error: TransactionCanceled) -> bool:
    """Whether nothing failed but conditions that the caller wrote."""
    return bool(vars(error).get("_callers"))


def failures_of(error: TransactionCanceled) -> Failures:
    """The failures with their operations, as `try_send` answers them."""
    failures: Failures = vars(error)["_failures"]
    return failures


def _settled(action: Action, reason: Mapping[str, Any]) -> Settled | None:
    """What a failed condition means, as it would alone; None of whatever else."""
    if reason_of(reason.get("Code")) is not Reason.CONDITION_FAILED:
        return None
    item = reason.get("Item") or None
    expired = item is not None and action.has_expired(item)
    creates = action.terms.guard.kind in (GuardKind.ABSENT, GuardKind.ANYTHING, GuardKind.UNEXPIRED)
    if expired and creates and action.kind == "Update":
        # reading it again would not help
        why = "what is stored has expired, and in a transaction an upsert cannot take its place"
        return Settled(error=ConditionFailed(why), callers=True, why=why)
    return refusal(action.entity, action.terms, None if expired else item, unread=reason.get(UNREAD))


def _conflict(reasons: Sequence[Mapping[str, Any]], settled: Sequence[Settled | None]) -> Conflict | None:
    versions = [each is not None and isinstance(each.error, VersionConflict) for each in settled]
    conflict = judge_reasons(reasons, version_guards=versions)
    absent = any(each is not None and isinstance(each.error, ItemNotFound) and not each.callers for each in settled)
    # what is not there is no conflict, in a transaction as alone
    return None if absent and conflict is Conflict.CONDITION else conflict


def _because(action: Action, settled: Settled | None, reason: Mapping[str, Any]) -> str:
    """What is known of a reason beyond its code."""
    if settled is not None:
        return f", {settled.why}"
    if action.parents and lacks_parent(reason.get("Code"), reason.get("Message")):
        return f", {missing(action.parents)}"
    return ""


def _failure(position: int, action: Action, reason: Mapping[str, Any], settled: Settled | None) -> Failure:
    code = reason.get("Code")
    item = reason.get("Item")
    found = reason_of(code)
    message: str | None = reason.get("Message")
    seen: object = None
    if item and not action.has_expired(item):
        try:
            seen = action.entity.decode(item)
        except ItemDecodeError:
            # that the transaction was cancelled matters more than what stands there, which the message says
            seen = None
    because = _because(action, settled, reason).removeprefix(", ")
    return Failure(position, found, None if found is None else code, because or message, seen)
