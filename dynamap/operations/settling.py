"""What a failed condition means: whose condition it was, and whether the write was applied after all.

The rules are in docs/writing-safely.md, "When the answer is lost".
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from dynamap.errors import (
    ConditionFailed,
    DynamapError,
    ItemAlreadyExists,
    ItemDecodeError,
    ItemNotFound,
    OutcomeUnknown,
    VersionConflict,
)
from dynamap.model import Entity
from dynamap.operations.base import Scope
from dynamap.operations.guards import Guard, GuardKind
from dynamap.operations.sending import Answer, read_item
from dynamap.plan import Item, Plan

__all__ = ["Settled", "Terms", "chained", "is_mine", "settle", "unexpired", "with_item"]


@dataclass(frozen=True, slots=True)
class Terms:
    """What a write was sent under.

    *what* names it in messages, *existence* is what the caller asked of it: True for `if_exists`, False for
    `if_not_exists`. *write_id* is the one that it stores, None where it stores none. *permitted* says that the caller
    permits it to be applied more than once, *conditioned* that there are other conditions beside the guard. *assumed*
    are the fields that must be as they were read, without which the keys of an index could not be computed. *now* is
    the second up to which items have expired, as the request has it.
    """

    what: str
    key: Item
    values: dict[str, Any]
    guard: Guard
    existence: bool | None = None
    write_id: str | None = None
    permitted: bool = False
    deletes: bool = False
    conditioned: bool = False
    assumed: Mapping[str, Any] = field(default_factory=dict[str, Any])
    now: int | None = None


@dataclass(frozen=True, slots=True)
class Settled:
    """The item that shows that the write was applied, or the error; *callers* says whose condition failed."""

    item: Item | None = None
    error: DynamapError | None = None
    callers: bool = False
    seen: object = None


def settle(scope: Scope[Any], terms: Terms, answer: Answer) -> Plan[Settled]:
    """Find out what a failed condition means; asks for the item if the failure brought none. Raises OutcomeUnknown."""
    seen = (yield from with_item(scope, terms.key, terms.what, answer)).seen
    if answer.ambiguous:
        if is_mine(scope.entity, terms.write_id, seen):
            return Settled(item=seen)
        if not terms.permitted and not _surely_refused(scope.entity, terms, seen):
            msg = (
                f"{terms.what}: an answer was lost, and the item that is stored now does not tell whether the write "
                f"was applied: read it before you repeat it"
            )
            raise OutcomeUnknown(msg) from _cause(answer)
    settled = _blame(scope.entity, terms, unexpired(scope.entity, seen, terms.now))
    if settled.error is not None:
        settled.error.__cause__ = _cause(answer)
    return settled


def with_item(scope: Scope[Any], key: Item, what: str, answer: Answer) -> Plan[Answer]:
    """The same answer with the item that the failed condition was about, None if there is none.

    Raises OutcomeUnknown if it cannot be read after a lost answer.
    """
    if answer.seen is not None or answer.asked:
        return answer
    # some servers never send it, and then an absent item looks the same
    try:
        seen = yield from read_item(scope.runtime, scope.table_name, key, what)
    except DynamapError as error:
        if not answer.ambiguous:
            raise
        # that the read failed says nothing about the attempt whose answer was lost
        msg = (
            f"{what}: an answer was lost, and the item could not be read to see whether the write was applied: "
            f"read it before you repeat it"
        )
        raise OutcomeUnknown(msg) from error
    return replace(answer, seen=seen, asked=True)


def unexpired(entity: Entity[Any], item: Item | None, now: int | None) -> Item | None:
    """The item, unless its time is over: then there is none."""
    return None if item is None or (now is not None and entity.is_expired(item, now)) else item


@contextmanager
def chained(answer: Answer) -> Generator[None, None, None]:
    """Whatever OutcomeUnknown is raised inside was caused by the failure of this answer."""
    try:
        yield
    except OutcomeUnknown as error:
        raise error from _cause(answer)


def _cause(answer: Answer) -> BaseException | None:
    return None if answer.cause is None else answer.cause.__cause__ or answer.cause


def is_mine(entity: Entity[Any], write_id: str | None, seen: Item | None) -> bool:
    """Whether a stored item, expired or not, carries the id of this write."""
    attribute = entity.layout.write_id
    return (
        seen is not None and attribute is not None and write_id is not None and seen.get(attribute) == {"S": write_id}
    )


def _surely_refused(entity: Entity[Any], terms: Terms, seen: Item | None) -> bool:
    """Whether the stored item excludes that an earlier attempt was applied: versions only rise and never recur."""
    if seen is None or terms.guard.kind is not GuardKind.VERSION:
        # what is stored without versions may be stored so again by another writer
        return False
    try:
        stored = entity.stored_version(seen)
    except ItemDecodeError:
        # another writer left no version there that could tell
        return False
    if stored == terms.guard.version:
        return True
    # the number that mine would have stored, but under another writer's id; a delete of mine would have left nothing
    return stored == terms.guard.version + 1 and (terms.deletes or terms.write_id is not None)


def _blame(entity: Entity[Any], terms: Terms, seen: Item | None) -> Settled:
    try:
        return _blame_condition(entity, terms, seen)
    except ItemDecodeError as damaged:
        # that it was refused matters more than what stands there, and None would say that nothing does
        msg = f"{terms.what}: refused, nothing was written, and what is stored there does not fit: {damaged}"
        if terms.guard.kind is GuardKind.ABSENT and terms.existence is False:
            return Settled(error=ItemAlreadyExists(msg))
        guarded = terms.guard.is_version or terms.guard.kind is GuardKind.ABSENT
        return Settled(error=VersionConflict(msg) if guarded else ConditionFailed(msg))


def _blame_condition(entity: Entity[Any], terms: Terms, seen: Item | None) -> Settled:
    found = None if seen is None else entity.decode(seen)
    guard = terms.guard
    # where the guard was the only condition it was the one that failed, even if what is read later would fit it
    if guard.kind is GuardKind.ABSENT and (seen is not None or not terms.conditioned):
        if terms.existence is False:
            msg = f"{terms.what}: there is an item already; nothing was written"
            return Settled(error=ItemAlreadyExists(msg, seen=found), callers=True, seen=found)
        msg = (
            f"{terms.what}: version 0 means a new item, but one is stored already; nothing was written: read it first, "
            f"or put it with if_not_exists() where this is an answer"
        )
        return Settled(error=VersionConflict(msg, seen=found))
    if guard.is_version:
        expected = max(guard.version, 0)
        if seen is None:
            msg = f"{terms.what}: the item that was read is gone; nothing was written"
            return Settled(error=VersionConflict(msg, seen=None))
        if entity.stored_version(seen) != expected or not terms.conditioned:
            msg = (
                f"{terms.what}: read with version {guard.version}, but stored with version "
                f"{entity.stored_version(seen)}; nothing was written: read it again, as retry_on_conflict does"
            )
            return Settled(error=VersionConflict(msg, seen=found))
    if guard.kind in (GuardKind.EXISTS, GuardKind.ANY_VERSION) and (seen is None or not terms.conditioned):
        msg = f"{terms.what}: there is no such item; nothing was written"
        return Settled(error=ItemNotFound(msg, entity=entity.cls, key=terms.values), callers=terms.existence is True)
    if found is not None and terms.assumed:
        now = entity.normalized({name: getattr(found, name) for name in terms.assumed})
        changed = [name for name, value in entity.normalized(terms.assumed).items() if now[name] != value]
        if changed:
            msg = (
                f"{terms.what}: {', '.join(changed)} is no longer as it was read, and part of an index; nothing was "
                f"written: read it again, as retry_on_conflict does"
            )
            return Settled(error=VersionConflict(msg, seen=found))
    msg = f"{terms.what}: the condition does not hold; nothing was written"
    return Settled(error=ConditionFailed(msg, seen=found), callers=True, seen=found)
