"""Writes and reads of a store, and what a plain dict says they must do: a model to compare every server with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs
from hypothesis import strategies as st

from dynamap import (
    ConditionFailed,
    DynamapError,
    Field,
    GlobalIndex,
    Index,
    ItemAlreadyExists,
    ItemNotFound,
    Table,
    VersionConflict,
    entity,
    evolve,
)

__all__ = [
    "NAMES",
    "SPACES",
    "Doc",
    "Entity",
    "Key",
    "Model",
    "Shelf",
    "Tally",
    "Write",
    "copies_of",
    "key_of",
    "keys",
    "new_entities",
    "sort_key",
    "writes",
]

SPACES = ("s", "s#")
NAMES = ("", "a", "a#", "a$", "ab", "b")


@entity("DOC", pk="SPACE#{space}", sk="DOC#{name:ordered}", version="revision", frozen=True)
class Doc:
    """Versioned; what a service answers in one page may hold three of the large ones."""

    space: str
    name: str
    count: int = 0
    note: str | None = None
    tags: frozenset[str] = frozenset()
    log: tuple[int, ...] = ()
    body: bytes = attrs.field(default=b"", repr=False)
    revision: int = 0


@entity(
    "TALLY",
    pk="SPACE#{space}",
    sk="TALLY#{number:02}",
    indexes=[Index("notes", pk="NOTE#{note}", sk="{number:02}#{space}")],
    frozen=True,
)
class Tally:
    space: str
    number: int
    count: int = 0
    note: str | None = None
    tags: frozenset[str] = frozenset()
    log: tuple[int, ...] = ()


Shelf = Table("shelf", [Doc, Tally], indexes=[GlobalIndex("notes")])

Entity = Doc | Tally
Key = tuple[type[Any], str, Any]
Model = Mapping[Key, Entity]
"""What is stored, by its key, with the revisions that the service was seen to give."""


def key_of(item: Entity) -> Key:
    return type(item), item.space, item.name if isinstance(item, Doc) else item.number


def fields_of(key: Key) -> dict[str, Any]:
    """The key as keyword arguments."""
    cls, space, rest = key
    return {"space": space, ("name" if cls is Doc else "number"): rest}


def sort_key(item: Entity) -> tuple[Any, ...]:
    """What sorts as the sort keys do."""
    return key_of(item)[0].__name__, key_of(item)[2]


# ---- changes of one item


@attrs.frozen
class Change:
    """A step of an update, and what it does to an entity."""

    field: str
    step: Callable[[Any, type[Any]], Any]
    done: Callable[[Entity], Entity]


def _field(cls: type[Any], name: str) -> Any:
    return Field[Any](cls, (name,))


def set_note(note: str | None) -> Change:
    return Change("note", lambda op, cls: op.set(_field(cls, "note"), note), lambda item: evolve(item, note=note))


def add_count(amount: int) -> Change:
    return Change(
        "count",
        lambda op, cls: op.add(_field(cls, "count"), amount),
        lambda item: evolve(item, count=item.count + amount),
    )


def add_tags(*tags: str) -> Change:
    return Change(
        "tags",
        lambda op, cls: op.add(_field(cls, "tags"), *tags),
        lambda item: evolve(item, tags=item.tags | set(tags)),
    )


def discard_tags(*tags: str) -> Change:
    return Change(
        "tags",
        lambda op, cls: op.discard(_field(cls, "tags"), *tags),
        lambda item: evolve(item, tags=item.tags - set(tags)),
    )


def append_log(*numbers: int) -> Change:
    return Change(
        "log",
        lambda op, cls: op.append(_field(cls, "log"), *numbers),
        lambda item: evolve(item, log=(*item.log, *numbers)),
    )


notes = st.sampled_from([None, "x", "y"])
tags = st.sampled_from(["p", "q", "p#"])
_rest: dict[str, Any] = {
    "count": st.integers(-2, 3),
    "note": notes,
    "tags": st.frozensets(tags, max_size=2),
    "log": st.lists(st.integers(0, 3), max_size=2).map(tuple),
}
# discarding from what is not there would say nothing new of an upsert
growing = st.one_of(
    notes.map(set_note), st.integers(-2, 2).map(add_count), tags.map(add_tags), st.integers(0, 3).map(append_log)
)
changes = st.lists(st.one_of(growing, tags.map(discard_tags)), min_size=1, max_size=3, unique_by=lambda c: c.field)
upserted = st.lists(growing, min_size=1, max_size=3, unique_by=lambda change: change.field)


# ---- writes


@attrs.frozen
class Write:
    """One write: the operation, and what the item must be afterwards, or the error that is raised."""

    what: str
    key: Key
    operation: Callable[[Any], Any]
    outcome: Callable[[Entity | None], Entity | type[DynamapError] | None]

    def fails(self, model: Model) -> type[DynamapError] | None:
        found = self.outcome(model.get(self.key))
        return found if isinstance(found, type) else None

    def done(self, model: Model) -> dict[Key, Entity]:
        """The model afterwards; a new revision is not known yet, and is one more, or 0 where the item is new."""
        after = dict(model)
        found = self.outcome(model.get(self.key))
        assert not isinstance(found, type)
        if found is None:
            after.pop(self.key, None)
        else:
            after[self.key] = found
        return after


def _keyed(operation: Any, cls: type[Any]) -> Any:
    return operation.ignore_version() if cls is Doc else operation


def _raised(item: Entity, before: Entity | None) -> Entity:
    """With the revision that follows."""
    if not isinstance(item, Doc):
        return item
    return evolve(item, revision=before.revision + 1 if isinstance(before, Doc) else 0)


def _matches(seen: Entity | None, read: Entity) -> bool:
    return not isinstance(read, Doc) or (isinstance(seen, Doc) and seen.revision == read.revision)


def create(item: Entity) -> Write:
    return Write(
        f"create {item}",
        key_of(item),
        lambda store: store.of(type(item)).put(item).if_not_exists(),
        lambda seen: ItemAlreadyExists if seen is not None else item,
    )


def put(item: Entity) -> Write:
    def outcome(seen: Entity | None) -> Any:
        return VersionConflict if seen is not None and isinstance(item, Doc) else item

    return Write(f"put {item}", key_of(item), lambda store: store.of(type(item)).put(item), outcome)


def put_read(read: Entity, changed: Entity) -> Write:
    """Put what was read, changed as a whole."""

    def outcome(seen: Entity | None) -> Any:
        if isinstance(read, Doc) and not _matches(seen, read):
            return VersionConflict
        return _raised(changed, seen)

    return Write(f"put {changed}", key_of(read), lambda store: store.of(type(read)).put(changed), outcome)


def rewrite(read: Entity, changed: Entity) -> Write:
    """Update what was read to something else: only the difference is written."""
    differing = {name: getattr(changed, name) for name in _rest if getattr(changed, name) != getattr(read, name)}

    def outcome(seen: Entity | None) -> Any:
        if not _matches(seen, read):
            return VersionConflict
        return ItemNotFound if seen is None else _raised(evolve(seen, **differing), seen)

    return Write(
        f"update {read} to {changed}",
        key_of(read),
        lambda store: store.of(type(read)).update(read).to(changed),
        outcome,
    )


def update(key: Key, steps: list[Change], least: int | None = None) -> Write:
    """Change a key's item; with *least* only if its count is no less."""

    def operation(store: Any) -> Any:
        made = _keyed(store.of(key[0]).update(**fields_of(key)), key[0])
        for step in steps:
            made = step.step(made, key[0])
        return made if least is None else made.if_(_field(key[0], "count").ge(least))

    def outcome(seen: Entity | None) -> Any:
        if seen is None:
            return ItemNotFound
        if least is not None and seen.count < least:
            return ConditionFailed
        return _raised(_changed(seen, steps), seen)

    return Write(f"update {key} {[step.field for step in steps]} if {least}", key, operation, outcome)


def upsert(key: Key, steps: list[Change]) -> Write:
    def operation(store: Any) -> Any:
        made = _keyed(store.of(key[0]).upsert(**fields_of(key)), key[0])
        for step in steps:
            made = step.step(made, key[0])
        return made

    def outcome(seen: Entity | None) -> Any:
        return _raised(_changed(key[0](**fields_of(key)) if seen is None else seen, steps), seen)

    return Write(f"upsert {key} {[step.field for step in steps]}", key, operation, outcome)


def delete(key: Key, *, existing: bool) -> Write:
    def operation(store: Any) -> Any:
        made = _keyed(store.of(key[0]).delete(**fields_of(key)), key[0])
        return made.if_exists() if existing else made

    def outcome(seen: Entity | None) -> Any:
        return ItemNotFound if existing and seen is None else None

    return Write(f"delete {key}{' if exists' if existing else ''}", key, operation, outcome)


def delete_read(read: Entity) -> Write:
    def outcome(seen: Entity | None) -> Any:
        return None if _matches(seen, read) else VersionConflict

    return Write(f"delete {read}", key_of(read), lambda store: store.of(type(read)).delete(read), outcome)


def check(key: Key, *, present: bool) -> Write:
    """For transactions only."""

    def operation(store: Any) -> Any:
        made = store.of(key[0]).check(**fields_of(key))
        return made.exists() if present else made.not_exists()

    def outcome(seen: Entity | None) -> Any:
        return seen if (seen is not None) == present else ConditionFailed

    return Write(f"check {key} {'exists' if present else 'does not exist'}", key, operation, outcome)


def _changed(item: Entity, steps: list[Change]) -> Entity:
    for step in steps:
        item = step.done(item)
    return item


# ---- strategies

spaces = st.sampled_from(SPACES)
keys: st.SearchStrategy[Key] = st.one_of(
    st.tuples(st.just(Doc), spaces, st.sampled_from(NAMES)), st.tuples(st.just(Tally), spaces, st.integers(0, 5))
)
# the embedded server measures updates in another way, by which the large ones must stay below 400 KB too
bodies = st.sampled_from([0, 0, 0, 0, 0, 1, 180_000]).map(bytes)
new_entities: st.SearchStrategy[Entity] = st.one_of(
    st.builds(Doc, spaces, st.sampled_from(NAMES), body=bodies, **_rest),
    st.builds(Tally, spaces, st.integers(0, 5), **_rest),
)
_fresh = st.one_of(
    new_entities.map(create),
    new_entities.map(put),
    st.builds(update, keys, changes),
    st.builds(update, keys, changes, st.integers(-1, 2)),
    st.builds(upsert, keys, upserted),
    st.builds(delete, keys, existing=st.booleans()),
)


def copies_of(item: Entity) -> st.SearchStrategy[Entity]:
    """What was read, with other values in some fields."""
    return st.fixed_dictionaries({}, optional=_rest).map(lambda values: evolve(item, **values))


def writes(read: list[Entity], *, checks: bool = False) -> st.SearchStrategy[Write]:
    """Writes of keys, and of what was read before, which may have changed since."""
    kinds = [_fresh]
    if checks:
        kinds.append(st.builds(check, keys, present=st.booleans()))
    if read:
        of_read = st.sampled_from(read)
        kinds += [
            of_read.flatmap(lambda item: copies_of(item).map(lambda changed: put_read(item, changed))),
            of_read.flatmap(lambda item: copies_of(item).map(lambda changed: rewrite(item, changed))),
            of_read.map(delete_read),
        ]
    return st.one_of(kinds)
