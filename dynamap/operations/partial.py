"""Parts of an entity: some of its fields, another class with some of its fields, or what lies deeper inside of one.

Each is read exactly as in the whole entity. Where that cannot be told from the part alone, more is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, get_origin

import attrs
import msgspec

from dynamap.codec import (
    AnyShape,
    ClassField,
    ClassShape,
    DecodeFailure,
    FieldShape,
    MapOf,
    Shape,
    class_fields,
    unwrapped,
)
from dynamap.codec.fitting import fits
from dynamap.codec.hints import type_name
from dynamap.errors import RequestError
from dynamap.model import Entity, value_at
from dynamap.plan import Item

__all__ = ["Part", "Partial", "class_partial", "field_partial", "part_of"]

# a program has few; one that makes them of its users' input must not fill the memory
_MOST_KEPT = 256
_PLAIN_DEFAULTS = (type(None), bool, int, str, bytes, float)


class Partial(msgspec.Struct, frozen=True):
    """Some fields of an entity, and the class that holds them.

    *needs_whole* says that the class computes one of them from others, or keeps unknown attributes in it.
    """

    fields: tuple[FieldShape, ...]
    needs_whole: bool
    decode: Callable[[Item], Any]
    """The instance that an item gives, which may hold these attributes only. Raises ItemDecodeError."""
    made_of: Callable[[Item, Any], Any]
    """The instance with the values of an entity that was decoded from an item. Raises ItemDecodeError."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)


def field_partial(entity: Entity[Any], names: Sequence[str]) -> Partial:
    """These fields of an entity, as attributes of a class made for them."""
    return _kept(entity, tuple(names), lambda: _of_fields(entity, names))


def class_partial(entity: Entity[Any], cls: Any) -> Partial:
    """The fields of another class, which are fields of the entity too. Raises RequestError where they are not."""
    return _kept(entity, cls, lambda: _of_class(entity, cls))


def _kept(entity: Entity[Any], key: object, make: Callable[[], Partial]) -> Partial:
    kept: dict[object, Partial] = entity.shape.derived.setdefault("partials", {})
    found = kept.get(key)
    if found is None:
        if len(kept) >= _MOST_KEPT:
            kept.clear()
        found = kept[key] = make()
    return found


# ---- some fields


def _of_fields(entity: Entity[Any], names: Sequence[str]) -> Partial:
    fields = tuple(entity.shape.by_name[name] for name in names)
    shape = _row(entity, fields)
    return Partial(
        fields,
        any(_depends(entity, field) for field in fields),
        lambda item: entity.decode_as(shape, item),
        lambda _, source: source,
    )


def _row(entity: Entity[Any], fields: Sequence[FieldShape]) -> ClassShape:
    """A class of these fields alone, with the entity's defaults and attrs converters."""
    attributes: dict[str, Any] = {}
    shapes: list[FieldShape] = []
    for field in fields:
        its, name = field.field, field.name
        default: Any = attrs.NOTHING
        if its.has_default and not its.factory_takes_self:
            default = its.default if its.factory is None else attrs.Factory(its.factory)
        attributes[name] = attrs.field(default=default, converter=_converter(entity.shape, name), alias=name)
        has_default = default is not attrs.NOTHING
        own = msgspec.structs.replace(its, init=True, init_name=name, kw_only=True, has_default=has_default)
        shapes.append(msgspec.structs.replace(field, field=own))
    made = attrs.make_class(entity.cls.__name__, attributes, kw_only=True, slots=True, eq=False)
    made.__qualname__ = entity.cls.__qualname__
    return ClassShape(made, tuple(shapes))


def _converter(shape: ClassShape, name: str) -> Any:
    """What attrs calls on the field's values."""
    if not attrs.has(shape.cls):
        return None
    found = next((each for each in attrs.fields(shape.cls) if each.name == name), None)
    return None if found is None else found.converter


def _depends(entity: Entity[Any], field: FieldShape) -> bool:
    """Whether its value may depend on more than its own attributes: on the others, or on the class's own code."""
    shape = entity.shape
    if not field.stored and field.name in entity.key_fields:
        return False
    its = field.field
    takes_self = its.factory_takes_self or getattr(_converter(shape, field.name), "takes_self", False)
    return field.extras or takes_self or shape.computes(field) or _has_own_code(shape, field)


def _has_own_code(shape: ClassShape, field: FieldShape) -> bool:
    """Whether code of the class's author may change the field when an instance is built."""
    if shape.builder is not None:
        return field.field.has_default and shape.builder.runs_hook(shape.cls)
    if not shape.calls_init:
        return False
    # what was stored is set after a hook, but a default is the hook's
    return not _init_is_made(shape.cls) or (field.field.has_default and bool(shape.set_afterwards))


def _init_is_made(cls: type[Any]) -> bool:
    """Whether `__init__` was made by attrs or dataclasses, or there is none."""
    for base in cls.__mro__:
        own = vars(base)
        if "__init__" in own:
            made = "__dataclass_params__" in own and own["__dataclass_params__"].init
            return base is object or made or ("__attrs_attrs__" in own and "__attrs_init__" not in own)
    return True


# ---- another class


def _of_class(entity: Entity[Any], cls: Any) -> Partial:
    pairs = [(each, _counterpart(entity, cls, each)) for each in class_fields(cls)]
    both = [(own, field) for own, field in pairs if field is not None]
    fields = tuple(field for _, field in both)
    shape = ClassShape(get_origin(cls) or cls, tuple(msgspec.structs.replace(field, field=own) for own, field in both))
    row = _row(entity, fields)

    def made_of(item: Item, source: Any) -> Any:
        try:
            return shape.build({field.name: getattr(source, field.name) for field in fields})
        except DecodeFailure as failure:
            entity.refuse(item, failure)

    direct = not shape.set_afterwards and all(_same_default(entity, own, field) for own, field in both)
    return Partial(
        fields,
        any(_depends(entity, field) for field in fields),
        (lambda item: entity.decode_as(shape, item))
        if direct
        else (lambda item: made_of(item, entity.decode_as(row, item))),
        made_of,
    )


def _counterpart(entity: Entity[Any], cls: Any, own: ClassField) -> FieldShape | None:
    """The entity's field of the same name; None where the class itself computes one that the entity does not have."""
    owner, name = entity.cls.__qualname__, f"{type_name(cls)}.{own.name}"
    field = entity.shape.by_name.get(own.name)
    if field is None:
        if not own.init:
            return None
        msg = f"project({type_name(cls)}) of {owner}: {name} is no field of {owner}: leave it out, or name it as there"
        raise RequestError(msg)
    if not fits(field.field.hint, own.hint):
        msg = (
            f"project({type_name(cls)}) of {owner}: {name} is declared as {_type_words(own)}, but {owner}.{own.name} "
            f"as {_type_words(field.field)}: declare it the same"
        )
        raise RequestError(msg)
    return field


def _type_words(field: ClassField) -> str:
    return type_name(field.hint.__origin__ if field.markers else field.hint)


def _same_default(entity: Entity[Any], own: ClassField, field: FieldShape) -> bool:
    """Whether the other class makes of a missing attribute what the entity makes of it."""
    its = field.field
    if not own.init or not its.init or _converter(entity.shape, field.name) is not None:
        return False
    if own.has_default != its.has_default or own.factory_takes_self or its.factory_takes_self:
        return False
    if own.factory is not None or its.factory is not None:
        return own.factory == its.factory
    return type(own.default) is type(its.default) in _PLAIN_DEFAULTS and own.default == its.default


# ---- what lies deeper


class Part(msgspec.Struct, frozen=True):
    """A stored path inside of one attribute, where a value at a path is found.

    *rest* is the way on from what stands there, *absent* gives what reading the whole entity gives if nothing does.
    """

    attributes: tuple[str | int, ...]
    path: tuple[str | int, ...]
    shape: Shape
    rest: tuple[str | int, ...]
    absent: Callable[[], Any]


class _Missing(msgspec.Struct, frozen=True):
    """Nothing stands there, though something must."""


class _Unclear(msgspec.Struct, frozen=True):
    """What it means that nothing stands there cannot be told."""


def part_of(entity: Entity[Any], path: tuple[str | int, ...]) -> Part | None:
    """How deep the path can be followed by the service; None if the whole attribute must be read.

    It answers nothing alike where a map has no such entry and where there is no such map: what the class makes of both
    must be the same. It answers list items without their positions, so that lists are read whole.
    """
    for depth in range(len(path), 1, -1):
        absent = _absent(entity.shape, path, depth)
        if not isinstance(absent, _Unclear):
            attributes, shape = _followed(entity.shape, path[:depth])
            return Part(attributes, path[:depth], shape, path[depth:], _outcome(absent, path[:depth], shape))
    return None


def _followed(shape: Shape, path: tuple[str | int, ...]) -> tuple[tuple[str | int, ...], Shape]:
    attributes: list[str | int] = []
    for step in path:
        attribute, shape = shape.at(step)
        attributes.append(attribute)
    return tuple(attributes), shape


def _outcome(absent: object, path: tuple[str | int, ...], shape: Shape) -> Callable[[], Any]:
    def missing() -> NoReturn:
        raise DecodeFailure(path, f"{shape.kind} expected, nothing is there")

    return missing if isinstance(absent, _Missing) else lambda: absent


def _absent(shape: Shape, path: tuple[str | int, ...], depth: int) -> object:
    """What the whole entity has at the path if nothing is stored so deep."""
    outcomes: list[object] = []
    for level, step in enumerate(path[:depth]):
        inner = unwrapped(shape)
        if isinstance(inner, ClassShape):
            outcomes.append(_absent_field(inner, str(step), path[level + 1 :]))
        elif isinstance(step, str) and isinstance(inner, (MapOf, AnyShape)):
            outcomes.append(None)
        else:
            return _Unclear()
        if level and "NULL" in shape.wire_types:
            outcomes.append(None)
        shape = shape.at(step)[1]
    first = outcomes[0]
    same = all(type(each) is type(first) and each == first for each in outcomes)
    # what can be changed must be made anew each time
    plain = isinstance(first, (_Missing, *_PLAIN_DEFAULTS))
    return first if same and plain else _Unclear()


def _absent_field(owner: ClassShape, name: str, rest: tuple[str | int, ...]) -> object:
    """What the class has at a path inside of a field whose attribute is missing."""
    field = owner.by_name[name]
    its = field.field
    if (
        field.aliases
        or its.factory_takes_self
        or owner.computes(field)
        or _has_own_code(owner, field)
        or _converter(owner, name) is not None
    ):
        return _Unclear()
    if field.shape.empty_when_absent or not its.has_default:
        try:
            value = field.shape.decode_attribute(None)
        except DecodeFailure:
            return _Missing()
    else:
        value = its.make_default()
    return value_at(value, rest)
