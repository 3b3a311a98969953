"""What a cancelled transaction says, and about which operation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dynamap.errors import Failure, Failures, ItemDecodeError, Reason, TransactionCanceled
from dynamap.operations.actions import Action
from dynamap.operations.guards import GuardKind
from dynamap.outcomes import judge_reasons, reason_of
from dynamap.plan import CallFailed

__all__ = ["canceled_error", "failures_of", "only_callers_conditions"]


def canceled_error(
    what: str, operations: Sequence[object], actions: Sequence[Action], canceled: CallFailed
) -> TransactionCanceled:
    """The error of a cancelled transaction; the reasons are by position, one for each operation."""
    missing: list[Mapping[str, Any]] = [{}] * (len(actions) - len(canceled.reasons))
    reasons = [*canceled.reasons, *missing]
    failures = tuple(
        _failure(position, action, reason)
        for position, (action, reason) in enumerate(zip(actions, reasons, strict=True))
    )
    blamed = [_blames_version(action, reason) for action, reason in zip(actions, reasons, strict=True)]
    conflict = judge_reasons(reasons, version_guards=blamed)
    named = "; ".join(
        f"operation {failure.position + 1} ({action.what}): {failure.code}"
        for failure, action in zip(failures, actions, strict=True)
        if failure.reason is not None
    )
    callers = all(
        failure.reason is None or (failure.reason is Reason.CONDITION_FAILED and not guard)
        for failure, guard in zip(failures, blamed, strict=True)
    )
    error = TransactionCanceled(
        f"{what}: cancelled, nothing was written: {named or canceled.message}",
        conflict=conflict,
        _failures=Failures(failures, tuple(operations)),
        _callers=callers and any(failure.reason is not None for failure in failures),
    )
    error.__cause__ = canceled.__cause__ or canceled
    return error


def only_callers_conditions(error: TransactionCanceled) -> bool:
    """Whether nothing failed but conditions that the caller wrote."""
    return bool(vars(error).get("_callers"))


def failures_of(error: TransactionCanceled) -> Failures:
    """The failures with their operations, as `try_send` answers them."""
    failures: Failures = vars(error)["_failures"]
    return failures


def _failure(position: int, action: Action, reason: Mapping[str, Any]) -> Failure:
    code = reason.get("Code")
    item = reason.get("Item")
    found = reason_of(code)
    message: str | None = reason.get("Message")
    seen: object = None
    if item and not action.has_expired(item):
        try:
            seen = action.entity.decode(item)
        except ItemDecodeError as damaged:
            # that the transaction was cancelled matters more than what stands there
            message = f"{message or 'the condition does not hold'}; what is stored there does not fit: {damaged}"
    return Failure(position, found, None if found is None else code, message, seen)


def _blames_version(action: Action, reason: Mapping[str, Any]) -> bool:
    """Whether a failed condition is this action's version guard: another version is stored than was read, or none."""
    if not action.versioned:
        return False
    item: Mapping[str, Any] = reason.get("Item") or {}
    expired = action.has_expired(item)
    if action.guard.kind is GuardKind.ABSENT:
        # an upsert in a transaction cannot replace what has expired: reading it again would not help
        return not expired and (bool(item) or not action.conditioned)
    if not item or expired:
        return True
    try:
        return action.entity.stored_version(item) != max(action.guard.version, 0)
    except ItemDecodeError:
        return True
