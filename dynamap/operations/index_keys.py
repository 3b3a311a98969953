"""What a write stores for the indexes: every write leaves the index attributes as the item's fields make them.

Each attribute is computed by itself: an item with some of an index's key attributes is not in the index.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from dynamap.codec import FieldShape, JsonItem, Wire
from dynamap.errors import RequestError
from dynamap.expressions import Action, Assignment, Compiler, Remove, Set, SetIfMissing, Value
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
    "reads_as",
    "rewritten",
    "stored_item",
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
    """An index attribute that depends on a field which changes, before and after.

    *assumed* are the other fields that it depends on: without a version, they must still be as they were read.
    """

    attribute: str
    before: Wire | None
    after: Wire | None
    assumed: tuple[str, ...]


def rewritten(entity: Entity[M], before: M, after: M) -> Iterator[IndexChange]:
    """The index attributes that depend on what differs between two instances. Raises KeyValueError."""
    if not any(use.computed for use in entity.indexes):
        return
    items = entity.encode(before), entity.encode(after)
    changed = {
        each.name for each in entity.shape.fields if items[0].get(each.attribute) != items[1].get(each.attribute)
    }
    if not changed:
        return
    attributes = index_attributes(entity, before, items[0]), index_attributes(entity, after, items[1])
    for use, part in _computed(entity):
        depends = dict.fromkeys((*part.fields, *use.when_fields))
        if not changed.isdisjoint(depends):
            assumed = tuple(name for name in depends if name not in changed and name not in entity.key_fields)
            yield IndexChange(
                part.attribute, attributes[0].get(part.attribute), attributes[1].get(part.attribute), assumed
            )


def _computed(entity: Entity[Any]) -> Iterator[tuple[IndexUse, KeyPart]]:
    """Every attribute that is written for indexes, once: indexes may share one."""
    seen: set[str] = set()
    for use in entity.indexes:
        for part in use.computed:
            if part.attribute not in seen:
                seen.add(part.attribute)
                yield use, part


def components(entity: Entity[Any], changed: Collection[str]) -> list[str]:
    """The fields, but those of the key, that index attributes depend on together with the fields that change."""
    found: dict[str, None] = {}
    for use, part in _computed(entity):
        depends = (*part.fields, *use.when_fields)
        if any(name in changed for name in depends):
            found |= dict.fromkeys(depends)
    return [name for name in found if name not in entity.key_fields]


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

    def updated(self) -> Iterator[KeyChange]:
        """The index attributes that depend on what changes, for an item that exists.

        Raises RequestError where one of them cannot be known, naming index, fields and what to do.
        """
        touched = {*self.changed, *self.initial, *self.computed}
        for use, part in _computed(self.entity):
            if not touched.isdisjoint((*part.fields, *use.when_fields)):
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


def reads_as(compiler: Compiler, entity: Entity[Any], name: str, value: object) -> str:
    """The condition that reading this field of the stored item would give this value.

    A missing attribute is read under the field's aliases, then as its default, None or the empty set.
    """
    described = entity.shape.by_name[name]
    wire = described.shape.encode_attribute(value, (name,))
    attributes = [compiler.name(attribute) for attribute in described.read_from]
    if wire is None and value is not None:
        return " AND ".join(f"attribute_not_exists({attribute})" for attribute in attributes)
    equal = compiler.value({"NULL": True} if wire is None else wire)
    text = f"{attributes[-1]} = {equal}"
    if _absent_wire(described) == wire:
        text = f"(attribute_not_exists({attributes[-1]}) OR {text})"
    for attribute in reversed(attributes[:-1]):
        text = f"({attribute} = {equal} OR (attribute_not_exists({attribute}) AND {text}))"
    return text


def absent_reads_as(entity: Entity[Any], name: str, value: object) -> bool:
    """Whether `reads_as` holds where nothing is stored."""
    described = entity.shape.by_name[name]
    wire = described.shape.encode_attribute(value, (name,))
    return (wire is None and value is not None) or _absent_wire(described) == wire


def _absent_wire(described: FieldShape) -> Wire | None:
    """What the value that is read where nothing is stored would be stored as."""
    if described.shape.empty_when_absent or not described.field.has_default:
        return None
    if not described.field.init or described.field.factory_takes_self:
        return None
    return described.shape.encode_attribute(described.field.make_default())
