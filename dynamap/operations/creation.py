"""What an upsert writes for the case that it creates the item, and whether that would be a complete entity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dynamap.codec import FieldShape, Wire
from dynamap.errors import IncompleteUpsert
from dynamap.expressions import Action, Assignment, Field, OrElse, Set, StartingValues, Sum, UpdateCompiler
from dynamap.model import Entity, Resolved
from dynamap.plan import Item

__all__ = ["check_complete", "created_item", "creation", "plain_defaults"]

_UPDATE = "or update() an item that exists"


def plain_defaults(entity: Entity[Any]) -> dict[str, Any]:
    """The defaults of a new item by field: made once for an upsert, so that a repetition has the same bytes.

    Those that an instance is needed for, or its class computes, are left out: the class makes them at every reading.
    """
    return {field.name: field.field.make_default() for field in entity.shape.fields if _has_plain_default(field)}


def creation(
    compiler: UpdateCompiler,
    entity: Entity[Any],
    key: Item,
    values: Mapping[str, Any],
    defaults: Mapping[str, Any],
    actions: Sequence[Action],
) -> Iterator[Assignment]:
    """What a new item needs beside the actions: discriminator, key fields, defaults.

    Of an item that exists nothing is changed by them: its key fields are the same, and an attribute that is not there
    is read as its default anyway.
    """
    discriminator: str | None = entity.layout.discriminator
    if discriminator is not None:
        name = compiler.name(discriminator)
        yield (discriminator,), f"if_not_exists({name}, {compiler.value({'S': entity.name})})"
    for field, resolved, wire in _initial(compiler, entity, key, values, defaults, actions):
        is_key = field.name in entity.key_fields
        yield (field.attribute,), compiler.value(wire) if is_key else compiler.present_or(resolved, wire)


def created_item(
    entity: Entity[Any],
    key: Item,
    values: Mapping[str, Any],
    defaults: Mapping[str, Any],
    actions: Sequence[Action],
) -> Item:
    """What an upsert stores where nothing is stored, but for version, write id and index keys. Raises EncodeError."""
    compiler = StartingValues(entity)
    item = dict(key)
    if entity.layout.discriminator is not None:
        item[entity.layout.discriminator] = {"S": entity.name}
    for field, _, wire in _initial(compiler, entity, key, values, defaults, actions):
        item[field.attribute] = wire
    return {**item, **compiler.attributes(actions)}


def _initial(
    compiler: UpdateCompiler,
    entity: Entity[Any],
    key: Item,
    values: Mapping[str, Any],
    defaults: Mapping[str, Any],
    actions: Sequence[Action],
) -> Iterator[tuple[FieldShape, Resolved, Wire]]:
    """The fields that no action sets: those of the key, and those with defaults."""
    changed = {compiler.resolve(action.field).field for action in actions}
    for field in entity.shape.fields:
        if not field.stored or field.extras or field.attribute in key or field.name in (entity.version, *changed):
            continue
        given = values if field.name in entity.key_fields else defaults
        if field.name in given:
            resolved = compiler.resolve(Field[Any](entity.cls, (field.name,)))
            wire = compiler.stored(given[field.name], resolved)
            if wire is not None:
                yield field, resolved, wire


def _has_plain_default(field: FieldShape) -> bool:
    return field.field.has_default and field.field.init and not field.field.factory_takes_self


def check_complete(compiler: UpdateCompiler, entity: Entity[Any], actions: Sequence[Action], what: str) -> None:
    """Raise IncompleteUpsert if what the actions would create is not a complete entity."""
    given: set[str] = set()
    for action in actions:
        resolved = compiler.resolve(action.field)
        if not resolved.top_level:
            path = ".".join(map(str, resolved.path))
            msg = (
                f"{what}: it may create the item, which would have no {resolved.field} to change {path} inside of: "
                f"set {resolved.field} as a whole, {_UPDATE}"
            )
            raise IncompleteUpsert(msg, fields=(resolved.field,))
        if isinstance(action, Set):
            for field in _references(action.value):
                path = ".".join(map(str, field.path))
                msg = (
                    f"{what}: it may create the item, which would have no {path} to set {resolved.field} to: "
                    f"use .or_else(...), {_UPDATE}"
                )
                raise IncompleteUpsert(msg, fields=(str(field.path[0]),))
        given.add(resolved.field)
    own = [field for field in entity.shape.fields if field.stored and not field.extras]
    left = [field for field in own if field.name not in (entity.version, *entity.key_fields, *given)]
    lacking = [field.name for field in left if not entity.shape.can_lack(field.name)]
    if lacking:
        msg = (
            f"{what}: it may create the item, which would lack {', '.join(lacking)}: "
            f"set {'it' if len(lacking) == 1 else 'them'}, {_UPDATE}"
        )
        raise IncompleteUpsert(msg, fields=tuple(lacking))
    hidden = [field.name for field in left if _hides_default(field)]
    if hidden:
        msg = (
            f"{what}: it may create the item, but a default for {', '.join(hidden)} would change an item that exists "
            f"where the set is empty: give {'it' if len(hidden) == 1 else 'them'} with set() or set_if_missing(), "
            f"{_UPDATE}"
        )
        raise IncompleteUpsert(msg, fields=tuple(hidden))


def _references(value: object) -> Iterator[Field[Any]]:
    """The fields without which a value cannot be computed."""
    if isinstance(value, Field):
        yield value
    elif isinstance(value, OrElse):
        default: object = value.default
        yield from _references(default)
    elif isinstance(value, Sum):
        left: object = value.left
        right: object = value.right
        yield from _references(left)
        yield from _references(right)


def _hides_default(field: FieldShape) -> bool:
    """Whether absence means the empty set, though the default is another."""
    if not field.shape.empty_when_absent or not _has_plain_default(field):
        return False
    return field.shape.encode_attribute(field.field.make_default()) is not None
