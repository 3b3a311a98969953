"""What a write stores for the indexes: every write leaves the index attributes as the item's fields make them.

Each attribute is computed by itself: an item with some of an index's key attributes is not in the index.

A component of a key that the item does not store is read as its default. `when=` is a condition on what is stored, as a
scan with the same condition finds it, so that a missing attribute is no default there: a write that takes a field for
its default stores it together with the keys that depend on that, or requires that it is stored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from dynamap.codec import FieldShape, JsonItem, Wire
from dynamap.errors import RequestError
from dynamap.expressions import (
    Action,
    Assignment,
    Compiler,
    Field,
    Remove,
    Set,
    SetIfMissing,
    UpdateCompiler,
    Value,
)
from dynamap.expressions.evaluate import evaluate
from dynamap.model import Entity, IndexUse, KeyPart, json_item
from dynamap.plan import Item

__all__ = [
    "IndexChange",
    "KeyChange",
    "KnownFields",
    "absent_reads_as",
    "assignments",
    "completed",
    "components",
    "index_attributes",
    "kept_stored",
    "reads_as",
    "rewritten",
    "stored_item",
    "stored_with",
]

M = TypeVar("M")


def stored_item(entity: Entity[M], instance: M, key: Item) -> Item | JsonItem:
    """The whole item of an instance with this key, to be `completed`: what a put stores.

    Raises KeyValueError or EncodeError.
    """
    quickly = json_item(entity, instance, key)
    if quickly is not None:
        return quickly
    item = entity.encode(instance, key)
    if entity.indexes:
        item.update(index_attributes(entity, instance, item))
    return item


def completed(item: Item | JsonItem, bookkeeping: Item) -> Item | JsonItem:
    """The item with its version and write id, as far as it has them."""
    return {**item, **bookkeeping} if isinstance(item, dict) else item.with_attributes(bookkeeping)


def index_attributes(entity: Entity[M], instance: M, item: Item) -> Item:
    """The index attributes of an instance, which is encoded as *item*. Raises KeyValueError."""
    made = entity.index_attributes(instance)
    if made is not None:
        return made
    found: Item = {}
    for use in entity.indexes:
        if not use.computed or not _holds(use, entity, item):
            continue
        for part in use.computed:
            values = entity.normalized({name: getattr(instance, name) for name in part.fields})
            if part.is_complete(values):
                found[part.attribute] = part.encode(values)
    return found


def _holds(use: IndexUse, entity: Entity[Any], item: Mapping[str, Wire]) -> bool:
    when: Any = use.when
    return when is None or evaluate(when, entity, item)


# ---- the difference of two instances


@dataclass(frozen=True, slots=True)
class IndexChange:
    """An index attribute that depends on a field which changes, or is stored with it.

    *differs* says whether it may be another than before, if the item is as it was read. *assumed* are the other fields
    that it depends on: without a version, they must still be as they were read.
    """

    attribute: str
    after: Wire | None
    differs: bool
    assumed: tuple[str, ...]


def rewritten(entity: Entity[M], before: M, after: M) -> tuple[tuple[IndexChange, ...], dict[str, Wire]]:
    """The index attributes that depend on what differs between two instances, and what is `stored_with` them.

    Raises KeyValueError.
    """
    if not any(use.computed for use in entity.indexes):
        return (), {}
    items = entity.encode(before), entity.encode(after)
    changed = {
        each.name for each in entity.shape.fields if items[0].get(each.attribute) != items[1].get(each.attribute)
    }
    if not changed:
        return (), {}
    attributes = index_attributes(entity, before, items[0]), index_attributes(entity, after, items[1])
    read = {name: getattr(before, name) for name in entity.index_fields}
    stored = stored_with(entity, changed, read)
    changes: list[IndexChange] = []
    for use, part in _depending(entity, changed, stored):
        depends = dict.fromkeys((*part.fields, *use.when_fields))
        old, new = (each.get(part.attribute) for each in attributes)
        # whether the condition held of what was stored is not known where the item may have lacked something
        differs = old != new or any(_merely_read(entity, name, read[name]) is not None for name in use.when_fields)
        assumed = tuple(name for name in depends if name not in changed and name not in entity.key_fields)
        changes.append(IndexChange(part.attribute, new, differs, assumed))
    return tuple(changes), stored


def _computed(entity: Entity[Any]) -> Iterator[tuple[IndexUse, KeyPart]]:
    """Every attribute that is written for indexes, once: indexes may share one."""
    seen: set[str] = set()
    for use in entity.indexes:
        for part in use.computed:
            if part.attribute not in seen:
                seen.add(part.attribute)
                yield use, part


def _depending(
    entity: Entity[Any], changed: Collection[str], stored: Collection[str] = ()
) -> Iterator[tuple[IndexUse, KeyPart]]:
    """The attributes that depend on what changes, and on whether that is there which is stored with it."""
    for use, part in _computed(entity):
        anew = any(name in changed for name in (*part.fields, *use.when_fields))
        if anew or any(name in stored for name in use.when_fields):
            yield use, part


def components(entity: Entity[Any], changed: Collection[str], read: Mapping[str, Any]) -> list[str]:
    """The fields, but those of the key, that index attributes depend on together with the fields that change."""
    found: dict[str, None] = {}
    for use, part in _depending(entity, changed, stored_with(entity, changed, read)):
        found |= dict.fromkeys((*part.fields, *use.when_fields))
    return [name for name in found if name not in entity.key_fields]


def stored_with(entity: Entity[Any], changed: Collection[str], read: Mapping[str, Any]) -> dict[str, Wire]:
    """What is to be stored, by field, with the index attributes that depend on what changes.

    It is what their conditions speak of and the item, which was *read* so, may not have. The conditions of other
    indexes may speak of that too, so that these are written as well.
    """
    found: dict[str, Wire] = {}
    complete = False
    while not complete:
        spoken_of = [name for use, _ in _depending(entity, changed, found) for name in use.when_fields]
        complete = True
        for name in spoken_of:
            if name in found or name in changed or name not in read:
                continue
            wire = _merely_read(entity, name, read[name])
            if wire is not None:
                found[name] = wire
                complete = False
    return found


def _merely_read(entity: Entity[Any], name: str, value: object) -> Wire | None:
    """What a value would be stored as that may have been read where nothing is stored; None of any other value.

    None and the empty set, which are stored as nothing, are as they are read.
    """
    described = entity.shape.by_name[name]
    declared = described.field
    may_lack = declared.has_default or entity.shape.computes(described)
    if name in entity.key_fields or described.shape.empty_when_absent or not may_lack:
        return None
    wire = described.shape.encode_attribute(value, (name,))
    if declared.has_default and _has_known_default(described):
        return wire if wire == described.shape.encode_attribute(_default(described)) else None
    return wire


def kept_stored(compiler: UpdateCompiler, entity: Entity[Any], stored: Mapping[str, Wire]) -> list[Assignment]:
    """What is `stored_with` index attributes, as parts of an update: it stays as it is where it is stored."""
    made: list[Assignment] = []
    for name, wire in stored.items():
        resolved = compiler.resolve(Field[Any](entity.cls, (name,)))
        made.append((resolved.attributes, compiler.present_or(resolved, wire)))
    return made


# ---- keyed updates


@dataclass(frozen=True, slots=True)
class KeyChange:
    """What an index attribute is set to, None where it is removed; *if_missing* leaves one that is there already."""

    attribute: str
    wire: Wire | None
    if_missing: bool = False


@dataclass(frozen=True)
class KnownFields:
    """What is known of an item's fields when it is changed without being read.

    *known* are the values that hold before and after: those of the key, of `given()`, of an item that is guarded by its
    version. *changed* are those that are read after the write, *removed* names those of them that it does not store,
    *initial* are those that it stores where there are none, and *computed* names the fields whose new values only the
    service knows.
    """

    what: str
    entity: Entity[Any]
    known: Mapping[str, Any]
    changed: dict[str, Any] = field(default_factory=dict[str, Any])
    initial: dict[str, Any] = field(default_factory=dict[str, Any])
    computed: dict[str, None] = field(default_factory=dict[str, None])
    removed: dict[str, None] = field(default_factory=dict[str, None])

    @classmethod
    def of(
        cls, what: str, entity: Entity[Any], known: Mapping[str, Any], actions: Sequence[Action], compiler: Compiler
    ) -> KnownFields:
        """What is known under these actions of an update. Raises RequestError."""
        made = cls(what, entity, known)
        for action in actions:
            resolved = compiler.resolve(action.field)
            name = resolved.field
            value: object = action.value if isinstance(action, (Set, SetIfMissing)) else None
            if not resolved.top_level or isinstance(value, Value):
                made.computed[name] = None
            elif isinstance(action, Set):
                made.changed[name] = value
            elif isinstance(action, SetIfMissing):
                made.initial[name] = value
            elif isinstance(action, Remove) and _has_known_default(entity.shape.by_name[name]):
                # the key is that of the entity that will be read
                made.changed[name] = _default(entity.shape.by_name[name])
                made.removed[name] = None
            else:
                made.computed[name] = None
        return made

    def stored(self) -> dict[str, Wire]:
        """What is `stored_with` the index attributes of an item of which all fields are known."""
        return stored_with(self.entity, self._touched, self.known)

    def conditional(self) -> list[str]:
        """The known fields that must be stored, because a condition of an index that is written speaks of them."""
        touched = self._touched
        spoken_of = [name for use, _ in _depending(self.entity, touched) for name in use.when_fields]
        return [name for name in dict.fromkeys(spoken_of) if name in self.known and name not in touched]

    @property
    def _touched(self) -> set[str]:
        return {*self.changed, *self.initial, *self.computed}

    def updated(self, stored: Collection[str] = ()) -> Iterator[KeyChange]:
        """The index attributes that depend on what changes, for an item that exists; *stored* is written with them.

        Raises RequestError where one of them cannot be known, naming index, fields and what to do.
        """
        for use, part in _depending(self.entity, self._touched, stored):
            yield self._changed(use, part)

    def upserted(self) -> Iterator[KeyChange]:
        """The index attributes for an item that may exist, for an upsert.

        Those that depend on what changes, or of which all is known, are set as for an update. The others are as the
        fields' defaults make them if the item is new (*if_missing*), and stay as they are if it is not: that is certain
        where the fields are never None. Raises RequestError where it is not, and as `updated` does.
        """
        for use, part in _computed(self.entity):
            depends = (*part.fields, *use.when_fields)
            changes = any(name in self.changed or name in self.computed for name in depends)
            if changes or all(name in self.known for name in depends):
                yield self._changed(use, part, creates=True)
            else:
                yield from self._created(use, part)

    def _changed(self, use: IndexUse, part: KeyPart, *, creates: bool = False) -> KeyChange:
        values = {**self.known, **self.changed}
        for name in (*self.computed, *self.initial):
            values.pop(name, None)
        if any(name in values and values[name] is None for name in part.fields):
            return KeyChange(part.attribute, None)
        unknown = [name for name in use.when_fields if name not in values]
        if use.when is not None and not unknown and not _holds(use, self.entity, self._item(values, use.when_fields)):
            return KeyChange(part.attribute, None)
        lacking = list(dict.fromkeys((*(name for name in part.fields if name not in values), *unknown)))
        if not lacking:
            return KeyChange(part.attribute, self._encode(part, values))
        stays = use.when is None and not any(name in self.changed for name in part.fields)
        if stays and all(name in self.initial for name in lacking) and self._start_together(lacking):
            return KeyChange(part.attribute, self._encode(part, {**values, **self.initial}), if_missing=True)
        raise self._unknown(use, part, lacking, creates=creates)

    def _created(self, use: IndexUse, part: KeyPart) -> Iterator[KeyChange]:
        """The attribute of a new item, that of an old one being right already."""
        started = [name for name in part.fields if name in self.initial]
        others = [name for name in part.fields if name not in self.known and name not in self.initial]
        uncertain = [name for name in use.when_fields if name not in self.known]
        uncertain += [name for name in others if not self._is_certain(name)]
        if started and not self._start_together([*started, *others]):
            uncertain += started
        known = [name for name in use.when_fields if name in self.known]
        if any(_merely_read(self.entity, name, self.known[name]) is not None for name in known):
            # an old item that lacks it gets it only now, and may be in no index
            uncertain += [*started, *others]
        if uncertain:
            raise self._unknown(use, part, list(dict.fromkeys(uncertain)), creates=True)
        if use.when is not None and not _holds(use, self.entity, self._item(self.known, use.when_fields)):
            return
        defaults = {name: _default(self.entity.shape.by_name[name]) for name in others}
        values = {**self.known, **self.initial, **defaults}
        if part.is_complete(values):
            yield KeyChange(part.attribute, self._encode(part, values), if_missing=True)

    def _is_certain(self, name: str) -> bool:
        """Whether the default says what the index attribute of a new item is, and an old one has its own already."""
        described = self.entity.shape.by_name[name]
        if not _has_known_default(described):
            return False
        return not described.shape.accepts(None) or _default(described) is None

    def _start_together(self, names: Sequence[str]) -> bool:
        """Whether fields are stored for the first time exactly where the index attribute is missing."""
        optional = [name for name in names if self.entity.shape.by_name[name].shape.accepts(None)]
        if any(name in self.initial and self.initial[name] is None for name in names):
            return False
        if not optional:
            return all(name in self.initial or self._is_certain(name) for name in names)
        return names == optional and len(names) == 1 and not _stores_null(self.entity, names[0])

    def _encode(self, part: KeyPart, values: Mapping[str, Any]) -> Wire:
        return part.encode(self.entity.normalized({name: values[name] for name in part.fields}))

    def _item(self, values: Mapping[str, Any], names: Sequence[str]) -> Item:
        item: Item = {}
        for name in names:
            described = self.entity.shape.by_name[name]
            wire = described.shape.encode_attribute(values[name], (name,))
            if wire is not None and name not in self.removed:
                item[described.attribute] = wire
        return item

    def _unknown(self, use: IndexUse, part: KeyPart, lacking: Sequence[str], *, creates: bool) -> RequestError:
        index = use.index.name
        computed = [name for name in lacking if name in self.computed or name in self.initial]
        if computed:
            msg = (
                f"{self.what}: {_listed(computed)} gets a value that only DynamoDB computes, but is part of the index "
                f"{index!r} ({part.attribute}), whose key is computed before it is sent: set a plain value, or use "
                f"update(item).to(changed)"
            )
        elif creates:
            # what is given must be stored already, so that nothing could be created
            msg = (
                f"{self.what}: the key of the index {index!r} ({part.attribute}) cannot be known without "
                f"{_listed(lacking)}: set {'it' if len(lacking) == 1 else 'them'} too, or use update(item).to(changed)"
            )
        else:
            given = ", ".join(f"{name}=..." for name in lacking)
            msg = (
                f"{self.what}: the key of the index {index!r} ({part.attribute}) cannot be known without "
                f"{_listed(lacking)}: add .given({given}) with what is stored, or use update(item).to(changed)"
            )
        return RequestError(msg)


def assignments(compiler: Compiler, changes: Iterable[KeyChange]) -> list[Assignment]:
    """The changes as parts of an update."""
    made: list[Assignment] = []
    for change in changes:
        text = None if change.wire is None else compiler.value(change.wire)
        if change.if_missing and text is not None:
            text = f"if_not_exists({compiler.name(change.attribute)}, {text})"
        made.append(((change.attribute,), text))
    return made


def _listed(names: Sequence[str]) -> str:
    return " and ".join(names)


def _has_known_default(described: FieldShape) -> bool:
    declared = described.field
    if not declared.has_default:
        return described.shape.accepts(None)
    # a factory may make another value each time
    return declared.init and declared.factory is None


def _default(described: FieldShape) -> Any:
    return described.field.make_default() if described.field.has_default and _has_known_default(described) else None


def _stores_null(entity: Entity[Any], name: str) -> bool:
    shape = entity.shape.by_name[name].shape
    return shape.accepts(None) and shape.encode_attribute(None, (name,)) is not None


# ---- conditions


def reads_as(compiler: Compiler, entity: Entity[Any], name: str, value: object, *, stored: bool = False) -> str:
    """The condition that reading this field of the item would give this value.

    A missing attribute is read under the field's aliases, then as its default, None or the empty set. With *stored*, a
    default is not enough: a value that can be stored must be.
    """
    described = entity.shape.by_name[name]
    wire = described.shape.encode_attribute(value, (name,))
    attributes = [compiler.name(attribute) for attribute in described.read_from]
    if wire is None and value is not None:
        return " AND ".join(f"attribute_not_exists({attribute})" for attribute in attributes)
    equal = compiler.value({"NULL": True} if wire is None else wire)
    text = f"{attributes[-1]} = {equal}"
    if _absent_wire(described) == wire and not (stored and wire is not None):
        text = f"(attribute_not_exists({attributes[-1]}) OR {text})"
    for attribute in reversed(attributes[:-1]):
        text = f"({attribute} = {equal} OR (attribute_not_exists({attribute}) AND {text}))"
    return text


def absent_reads_as(entity: Entity[Any], name: str, value: object, *, stored: bool = False) -> bool:
    """Whether `reads_as` holds where nothing is stored."""
    described = entity.shape.by_name[name]
    wire = described.shape.encode_attribute(value, (name,))
    if wire is None and value is not None:
        return True
    return _absent_wire(described) == wire and not (stored and wire is not None)


def _absent_wire(described: FieldShape) -> Wire | None:
    """What the value that is read where nothing is stored would be stored as."""
    if described.shape.empty_when_absent or not described.field.has_default:
        return None
    if not described.field.init or described.field.factory_takes_self:
        return None
    return described.shape.encode_attribute(described.field.make_default())
