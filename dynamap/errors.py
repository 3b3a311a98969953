"""Errors, by cause. Each carries its data as attributes and pickles with them.

DynamapError
├─ ModelError                 at class or Table definition
├─ RequestError               the caller's mistake, raised before anything is sent
│   ├─ KeyValueError  EncodeError  ItemTooLarge  UnguardedWrite
│   └─ IncompleteUpsert  ConflictingUpdate  LimitExceeded  CursorError
├─ SeveralItems               `one()` found more than one
├─ ItemDecodeError            a stored item that does not fit its class
├─ ItemNotFound               a read miss, or an update of what is not there
├─ ConditionFailed
│   ├─ ItemAlreadyExists
│   └─ VersionConflict
├─ TransactionConflict
├─ TransactionCanceled
├─ OutcomeUnknown             the write may or may not have been applied
├─ Throttled
├─ DeadlineExceeded
├─ BatchIncomplete            a part of a batch could not be done; `left` says which
└─ ServiceError               anything else the service says
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, Flag, auto
from typing import Any, Literal, TypeVar

from dynamap.markers import Write

__all__ = [
    "BatchIncomplete",
    "ConditionFailed",
    "Conflict",
    "ConflictingUpdate",
    "CursorError",
    "DeadlineExceeded",
    "DynamapError",
    "EncodeError",
    "Failure",
    "Failures",
    "IncompleteUpsert",
    "ItemAlreadyExists",
    "ItemDecodeError",
    "ItemNotFound",
    "ItemTooLarge",
    "KeyValueError",
    "LimitExceeded",
    "ModelError",
    "OutcomeUnknown",
    "Reason",
    "RequestError",
    "ServiceError",
    "SeveralItems",
    "Throttled",
    "TransactionCanceled",
    "TransactionConflict",
    "UnguardedWrite",
    "VersionConflict",
]

M = TypeVar("M")


class Conflict(Flag):
    """What kind of race refused a write: `retry_on_conflict(on=...)` reruns by it."""

    VERSION = auto()
    TRANSACTION = auto()
    CONDITION = auto()


def _rebuild(cls: type[DynamapError], args: tuple[Any, ...], state: dict[str, Any]) -> DynamapError:
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class DynamapError(Exception):
    """Whatever is wrong with a model, a request or its answer; mistakes around requests are Python's own errors.

    `conflict` is the kind of race that it reports, None for what is no conflict. `runs` says how often
    `retry_on_conflict` ran the function before it gave up; 1 where nothing was rerun.
    """

    conflict: Conflict | None = None
    runs: int = 1

    def __init__(self, message: str = "", /, **data: Any) -> None:
        super().__init__(message)
        self.__dict__.update(data)

    def __str__(self) -> str:
        message = super().__str__()
        return message if self.runs == 1 else f"{message} (given up after {self.runs} runs)"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, self.__dict__)


class ModelError(DynamapError):
    """A class or table is declared in a way that cannot work: the message names class, field and remedy."""


class RequestError(DynamapError):
    """The caller's mistake, found before anything was sent: nothing was written."""


class KeyValueError(RequestError):
    """A key field is missing, unknown, of the wrong type, or gives a key that DynamoDB does not take."""


class EncodeError(RequestError):
    """A value that DynamoDB cannot hold, or that is not of the declared type; `path` says where it stands."""

    path: str


class ItemTooLarge(RequestError):
    """An item of more than 400 KB; `size` is in bytes."""

    size: int


class UnguardedWrite(RequestError):
    """A write of a versioned type that does not say what it knows of the version.

    A keyed one says `if_version(n)` or `ignore_version()`, a batch `unversioned=True`.
    """


class IncompleteUpsert(RequestError):
    """An upsert that could create an item which is no complete entity; `fields` are those that it leaves out."""

    fields: tuple[str, ...]


class ConflictingUpdate(RequestError):
    """Two steps of one update name the same or overlapping paths."""


class LimitExceeded(RequestError):
    """A request beyond a limit of the service, such as 4 KB of expression or 300 operators."""


class CursorError(RequestError):
    """A cursor that was changed, has expired, or belongs to another query."""


class ItemDecodeError(DynamapError):
    """A stored item that does not fit its class; `applied` is True if it was met after a write that was applied."""

    entity: type[Any]
    key: dict[str, Any]
    path: str
    applied: bool = False


class ItemNotFound(DynamapError):
    """Nothing is stored under the key that was asked for."""

    entity: type[Any]
    key: dict[str, Any]


class SeveralItems(DynamapError):
    """`one()` was asked for the only item, and there are more; `key` are the key fields that were given."""

    entity: type[Any]
    key: dict[str, Any]


class ConditionFailed(DynamapError):
    """A condition refused the write, nothing was written; `seen` is the entity that stood there, or None."""

    conflict = Conflict.CONDITION
    seen: object = None


class ItemAlreadyExists(ConditionFailed):
    """A create found an item under its key."""


class VersionConflict(ConditionFailed):
    """The item is no longer the one that was read: it has another version, or is gone (`seen` is None)."""

    conflict = Conflict.VERSION


class TransactionConflict(DynamapError):
    """A transaction was working on the item; nothing was written."""

    conflict = Conflict.TRANSACTION


class Reason(Enum):
    """Why the service cancelled a transaction, one for each operation."""

    CONDITION_FAILED = "ConditionalCheckFailed"
    COLLECTION_TOO_LARGE = "ItemCollectionSizeLimitExceeded"
    CONFLICT = "TransactionConflict"
    CAPACITY_EXCEEDED = "ProvisionedThroughputExceeded"
    THROTTLED = "ThrottlingError"
    INVALID = "ValidationError"
    OTHER = "other"


@dataclass(frozen=True)
class Failure:
    """One operation's reason; *position* is its index among the operations, from 0, *code* the service's own word."""

    position: int
    reason: Reason | None
    code: str | None = None
    message: str | None = None
    item: object = field(default=None, repr=False)


class Failures:
    """Positional reasons of a cancelled transaction; the operations are their own markers, by identity."""

    def __init__(self, failures: tuple[Failure, ...], operations: tuple[object, ...] = ()) -> None:
        self.failures = failures
        self._operations = operations

    def __repr__(self) -> str:
        reasons = (f"{each.position}: {each.code}" for each in self.failures if each.reason is not None)
        return f"Failures({', '.join(reasons)})"

    def __getstate__(self) -> dict[str, Any]:
        # the operations hold the client: they do not travel
        return {"failures": self.failures, "_operations": ()}

    def _of(self, operation: object) -> Failure:
        for one, failure in zip(self._operations, self.failures, strict=False):
            if one is operation:
                return failure
        msg = (
            "this operation object was not part of the transaction "
            "(every builder step makes a new one; an unpickled error knows only .failures)"
        )
        raise LookupError(msg)

    def reason_for(self, operation: Write[Any, object]) -> Reason | None:
        """Why this operation failed; None if it did not. LookupError for an operation of another transaction."""
        return self._of(operation).reason

    def item_for(self, operation: Write[Any, M]) -> M | None:
        """The entity that this operation's condition found; None if it found nothing or did not fail."""
        item: Any = self._of(operation).item
        found: M | None = item
        return found


class TransactionCanceled(DynamapError):
    """The service cancelled a transaction; nothing of it was written."""

    _failures: Failures

    @property
    def failures(self) -> tuple[Failure, ...]:
        """One for each operation, in the order of the transaction."""
        return self._failures.failures

    def reason_for(self, operation: Write[Any, object]) -> Reason | None:
        """Why this operation failed; None if it did not. LookupError for an operation of another transaction."""
        return self._failures.reason_for(operation)

    def item_for(self, operation: Write[Any, M]) -> M | None:
        """The entity that this operation's condition found; None if it found nothing or did not fail."""
        return self._failures.item_for(operation)


class OutcomeUnknown(DynamapError):
    """The service's answer was lost; `applied` is True if the write is known to be stored, None if nothing is known.

    `left` are the items of `put_many`, or the keys of `delete_many`, that are not known to be written or deleted.
    """

    applied: Literal[True] | None = None
    left: tuple[Any, ...] = ()


class Throttled(DynamapError):
    """The service kept refusing for load; nothing was written."""


class DeadlineExceeded(DynamapError):
    """The time of `dynamap.deadline` is over; nothing is in flight and nothing was written by the last operation."""


class BatchIncomplete(DynamapError):
    """A part of a batch was given up, after as many repeats as there may be; the message says why, and what is `left`.

    `left` are keys or, of `put_many`, items, in their order; pass them to the same method again. All else that was
    taken from the iterable is done, and nothing is in flight. `answered` are the answers of `get_many(...).send()` to
    the keys before them; a loop has had those already.
    """

    left: tuple[Any, ...] = ()
    answered: tuple[Any, ...] = ()


class ServiceError(DynamapError):
    """An answer of the service that has no class of its own here."""

    code: str
    message: str
