"""What a failed condition means: whose condition it was, and whether the write was applied after all.

The rules are in docs/writing-safely.md, "When the answer is lost".
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping
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

__all__ = ["Settled", "Terms", "chained", "is_mine", "is_zero", "refusal", "settle", "unexpired", "with_item"]

NOTHING_WRITTEN = "nothing was written"
_READ_AGAIN = ": read it again, as retry_on_conflict does"


@dataclass(frozen=True, slots=True)
class Terms:
    """What a write was sent under.

    *what* names it in messages, when `str` asks for it. *existence* is what the caller asked of it: True for
    `if_exists`, False for `if_not_exists`. *write_id* is the one that it stores, None where it stores none. *permitted*
    says that the caller permits it to be applied more than once, *conditioned* that there are other conditions beside
    the guard. *assumed* are the fields that must be as they were read, without which the keys of an index could not be
    computed, *given* those that the caller said them to be, and *stored* those of them that had to be stored so. *now*
    is the second up to which items have expired, as the request has it.
    """

    what: object
    key: Item
    values: dict[str, Any]
    guard: Guard
    existence: bool | None = None
    write_id: str | None = None
    permitted: bool = False
    deletes: bool = False
    conditioned: bool = False
    assumed: Mapping[str, Any] = field(default_factory=dict[str, Any])
    given: Mapping[str, Any] = field(default_factory=dict[str, Any])
    stored: Collection[str] = ()
    now: int | None = None


@dataclass(frozen=True, slots=True)
class Settled:
    """The item that shows that the write was applied, or the error and *why*; *callers* says whose condition failed."""

    item: Item | None = None
    error: DynamapError | None = None
    callers: bool = False
    seen: object = None
    why: str = ""


def settle(scope: Scope[Any], terms: Terms, answer: Answer) -> Plan[Settled]:
    """Find out what a failed condition means; asks for the item if the failure brought none. Raises OutcomeUnknown."""
    answer = yield from with_item(scope, terms.key, str(terms.what), answer)
    seen, outcome = answer.seen, NOTHING_WRITTEN
    if answer.ambiguous:
        if is_mine(scope.entity, terms.write_id, seen):
            return Settled(item=seen)
        if not _surely_refused(scope.entity, terms, seen):
            if not terms.permitted:
                msg = (
                    f"{terms.what}: an answer was lost, and the item that is stored now does not tell whether the "
                    f"write was applied: read it before you repeat it"
                )
                raise OutcomeUnknown(msg) from answer.origin
            outcome = "an answer was lost before, so it may have been applied"
    settled = refusal(scope.entity, terms, unexpired(scope.entity, seen, terms.now), outcome, answer.unread)
    if settled.error is not None:
        settled.error.__cause__ = answer.origin
    return settled


def with_item(scope: Scope[Any], key: Item, what: str, answer: Answer) -> Plan[Answer]:
    """The same answer with the item that the failed condition was about, None if there is none.

    It is *unread* where it cannot be read: that it was refused is known all the same. Raises OutcomeUnknown for that
    after a lost answer.
    """
    if answer.seen is not None or answer.asked:
        return answer
    # some servers never send it, and then an absent item looks the same
    try:
        seen = yield from read_item(scope.runtime, scope.table_name, key, what)
    except DynamapError as error:
        if not answer.ambiguous:
            return replace(answer, asked=True, unread=error)
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
        raise error from answer.origin


def is_zero(entity: Entity[Any], item: Mapping[str, Any]) -> bool:
    """Whether an item is stored with version 0, which one more must not turn into 1. Raises ItemDecodeError."""
    return entity.version_attribute in item and entity.stored_version(item) == 0


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


def refusal(
    entity: Entity[Any],
    terms: Terms,
    seen: Item | None,
    outcome: str = NOTHING_WRITTEN,
    unread: DynamapError | None = None,
) -> Settled:
    """Whose condition it was that failed.

    *seen* is what stands there and has not expired, unless it is *unread*; *outcome* is what is known of the write.
    """
    if unread is not None:
        return _refusal_of_unread(entity, terms, outcome, unread)
    try:
        return _refusal(entity, terms, seen, outcome)
    except ItemDecodeError as damaged:
        # that it was refused matters more than what stands there, and None would say that nothing does
        kind: type[ConditionFailed] = VersionConflict if _is_version_guard(terms) else ConditionFailed
        if terms.guard.kind is GuardKind.ABSENT and terms.existence is False:
            kind = ItemAlreadyExists
        why = f"refused, {outcome}, and what is stored there does not fit: {damaged}"
        return Settled(error=kind(f"{terms.what}: {why}"), why=f"what is stored there does not fit: {damaged}")


def _refusal_of_unread(entity: Entity[Any], terms: Terms, outcome: str, unread: DynamapError) -> Settled:
    """What is known without the item: where there was one condition only, that one failed."""
    why = f"what is stored there could not be read: {unread}"
    msg = f"{terms.what}: refused, {outcome}, and {why}"
    error: DynamapError
    if terms.guard.kind is GuardKind.EXISTS and not terms.conditioned:
        error = ItemNotFound(msg, entity=entity.cls, key=terms.values)
    elif terms.guard.kind is GuardKind.ABSENT and terms.existence is False and not terms.conditioned:
        error = ItemAlreadyExists(msg)
    else:
        # where it may have been the version, it is one: whoever reads and decides again learns what it was
        error = VersionConflict(msg) if _is_version_guard(terms) or terms.assumed else ConditionFailed(msg)
    error.__context__ = unread
    return Settled(error=error, why=why)


def _is_version_guard(terms: Terms) -> bool:
    return terms.guard.is_version or (terms.guard.kind is GuardKind.ABSENT and terms.existence is None)


def _changed(entity: Entity[Any], assumed: Mapping[str, Any], found: object) -> list[str]:
    """The fields that are not as they were assumed to be; of nothing that was found none is another."""
    if found is None:
        return []
    now = entity.normalized({name: getattr(found, name) for name in assumed})
    return [name for name, value in entity.normalized(assumed).items() if now[name] != value]


def _lacking(entity: Entity[Any], terms: Terms, seen: Item) -> list[str]:
    """The fields that had to be stored, and are not: None and the empty set are stored as nothing."""
    shapes = {name: entity.shape.by_name[name] for name in terms.stored}
    return [
        name
        for name, described in shapes.items()
        if not any(attribute in seen for attribute in described.read_from)
        and described.shape.encode_attribute(terms.given[name], (name,)) is not None
    ]


def _refused_for(entity: Entity[Any], terms: Terms, seen: Item | None, found: object) -> str:
    """Which of the caller's conditions failed, as far as it can be seen."""
    changed = _changed(entity, terms.given, found)
    if changed:
        return f"{', '.join(changed)} is not what given() said"
    lacking = [] if seen is None else _lacking(entity, terms, seen)
    if lacking:
        return (
            f"{', '.join(lacking)} is only read as given() said, not stored, and when= of an index is a condition on "
            f"what is stored: set it too, or use update(item).to(changed)"
        )
    return "the condition does not hold"


def _refusal(entity: Entity[Any], terms: Terms, seen: Item | None, outcome: str) -> Settled:
    found = None if seen is None else entity.decode(seen)
    guard = terms.guard

    def settled(kind: type[ConditionFailed], why: str, then: str = "", *, callers: bool = False) -> Settled:
        error = kind(f"{terms.what}: {why}; {outcome}{then}", seen=found)
        return Settled(error=error, callers=callers, seen=found if callers else None, why=why)

    # where the guard was the only condition it was the one that failed, even if what is read later would fit it
    if guard.kind is GuardKind.ABSENT and (seen is not None or not terms.conditioned):
        if terms.existence is False:
            return settled(ItemAlreadyExists, "there is an item already", callers=True)
        return settled(
            VersionConflict,
            "version 0 means a new item, but one is stored already",
            ": read it first, or put it with if_not_exists() where this is an answer",
        )
    if guard.is_version:
        if seen is None:
            return settled(VersionConflict, "the item that was read is gone")
        stored = entity.stored_version(seen)
        if stored != max(guard.version, 0) or not terms.conditioned:
            why = f"read with version {guard.version}, but stored with version {stored}"
            return settled(VersionConflict, why, _READ_AGAIN)
    if guard.ignores_version and seen is not None and is_zero(entity, seen):
        # a transaction without a token of the caller's is sent anew instead
        why = (
            "it is stored with version 0, and to start it afresh takes another request: leave out token(), or update "
            "the item that was read"
        )
        return settled(ConditionFailed, why)
    if guard.kind in (GuardKind.EXISTS, GuardKind.ANY_VERSION) and (seen is None or not terms.conditioned):
        why = "there is no such item"
        error = ItemNotFound(f"{terms.what}: {why}; {outcome}", entity=entity.cls, key=terms.values)
        return Settled(error=error, callers=terms.existence is True, why=why)
    changed = _changed(entity, terms.assumed, found)
    if changed:
        why = f"{', '.join(changed)} is no longer as it was read, and part of an index"
        return settled(VersionConflict, why, _READ_AGAIN)
    return settled(ConditionFailed, _refused_for(entity, terms, seen, found), callers=True)
