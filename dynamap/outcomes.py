"""What an error means: whether the attempt was applied, and whether it may be repeated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, auto
from typing import Any

from dynamap.errors import Conflict, Reason
from dynamap.plan import CallFailed, Reached

__all__ = ["Verdict", "judge", "judge_reasons", "only_contention", "reason_of"]


class Verdict(Enum):
    """What one failed attempt was."""

    UNSENT = auto()
    """Not applied: nothing reached the service. Repeat, whatever it was."""
    CONDITION = auto()
    """Not applied: the condition is false."""
    THROTTLED = auto()
    """Not applied: back off and repeat."""
    CONFLICT = auto()
    """Not applied: a transaction holds the item. Back off and repeat."""
    CREDENTIALS = auto()
    """Not applied: refresh the credentials once and repeat."""
    REFUSED = auto()
    """Not applied: the request itself is wrong."""
    AMBIGUOUS = auto()
    """Perhaps applied: what may follow depends on the kind of write."""
    APPLIED = auto()
    """Applied, and the answer lost."""
    PENDING = auto()
    """The same token is being worked on: ask again with it."""
    CANCELED = auto()
    """A transaction was cancelled: not applied, for the reasons given."""


# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
_BY_CODE: dict[str, Verdict] = {
    "ConditionalCheckFailedException": Verdict.CONDITION,
    "DuplicateItemException": Verdict.CONDITION,
    "ThrottlingException": Verdict.THROTTLED,
    "ThrottlingError": Verdict.THROTTLED,
    "Throttling": Verdict.THROTTLED,
    "ProvisionedThroughputExceededException": Verdict.THROTTLED,
    "RequestLimitExceeded": Verdict.THROTTLED,
    "TransactionConflictException": Verdict.CONFLICT,
    "ReplicatedWriteConflictException": Verdict.CONFLICT,
    "ExpiredTokenException": Verdict.CREDENTIALS,
    "ExpiredToken": Verdict.CREDENTIALS,
    "UnrecognizedClientException": Verdict.CREDENTIALS,
    "InvalidSignatureException": Verdict.CREDENTIALS,
    "RequestExpired": Verdict.CREDENTIALS,
    "ValidationException": Verdict.REFUSED,
    "ResourceNotFoundException": Verdict.REFUSED,
    "AccessDeniedException": Verdict.REFUSED,
    "ItemCollectionSizeLimitExceededException": Verdict.REFUSED,
    "IdempotentParameterMismatchException": Verdict.REFUSED,
    "MissingAuthenticationTokenException": Verdict.REFUSED,
    "IncompleteSignatureException": Verdict.REFUSED,
    "SerializationException": Verdict.REFUSED,
    "UnknownOperationException": Verdict.REFUSED,
    "LimitExceededException": Verdict.REFUSED,
    "ResourceInUseException": Verdict.REFUSED,
    "TransactionInProgressException": Verdict.PENDING,
    "TransactionCanceledException": Verdict.CANCELED,
    "InternalServerError": Verdict.AMBIGUOUS,
    "RequestTimeout": Verdict.AMBIGUOUS,
    "RequestTimeoutException": Verdict.AMBIGUOUS,
}
_BY_REACHED = {
    Reached.NOTHING: Verdict.UNSENT,
    Reached.REFUSED: Verdict.REFUSED,
    Reached.UNKNOWN: Verdict.AMBIGUOUS,
    Reached.APPLIED: Verdict.APPLIED,
}


def judge(failed: CallFailed) -> Verdict:
    """The verdict on one failed attempt; what is not known to be harmless is ambiguous."""
    if failed.reached is not Reached.ANSWERED:
        return _BY_REACHED[failed.reached]
    return _BY_CODE.get(failed.code, Verdict.AMBIGUOUS)


_THROTTLES = {Reason.CAPACITY_EXCEEDED, Reason.THROTTLED}
_KNOWN_REASONS = {reason.value: reason for reason in Reason if reason is not Reason.OTHER}


def reason_of(code: str | None) -> Reason | None:
    """The reason that a cancellation code stands for: None for none, OTHER for one that this release does not know."""
    if code is None or code == "None":
        return None
    return _KNOWN_REASONS.get(code, Reason.OTHER)


def only_contention(reasons: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a transaction was cancelled for conflicts and load alone, so that sending it again may help."""
    found = [kind for kind in (reason_of(reason.get("Code")) for reason in reasons) if kind is not None]
    return bool(found) and all(kind is Reason.CONFLICT or kind in _THROTTLES for kind in found)


def judge_reasons(reasons: Sequence[Mapping[str, Any]], *, version_guards: Sequence[bool]) -> Conflict | None:
    """The kind of conflict that a cancelled transaction is; None where rerunning it is of no use.

    *version_guards* says, for each operation, whether its failed condition can only be its version guard. A mixed
    result blames nobody: beside a conflict or a throttle even a failed condition may be a passing one.
    """
    kinds = [reason_of(reason.get("Code")) for reason in reasons]
    found = [kind for kind in kinds if kind is not None]
    if not found or any(kind in (Reason.INVALID, Reason.COLLECTION_TOO_LARGE, Reason.OTHER) for kind in found):
        return None
    if any(kind is Reason.CONFLICT or kind in _THROTTLES for kind in found):
        return Conflict.TRANSACTION
    guards = [guard for kind, guard in zip(kinds, version_guards, strict=True) if kind is not None]
    return Conflict.VERSION if all(guards) else Conflict.CONDITION
