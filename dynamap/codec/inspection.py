"""From annotations to shapes."""

from __future__ import annotations

import typing
from collections.abc import (
    Collection,
    Iterable,
    Mapping,
    MutableMapping,
    MutableSequence,
    MutableSet,
    Sequence,
)
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, NewType, TypeVar, get_args, get_origin
from uuid import UUID

from dynamap.codec.annotations import Attribute, EpochMillis, EpochSeconds, Normalize
from dynamap.codec.anything import AnyShape
from dynamap.codec.choices import EnumShape, LiteralShape
from dynamap.codec.classes import ClassShape, FieldShape
from dynamap.codec.containers import ListOf, MapOf, SetOf, TupleOf
from dynamap.codec.context import Context
from dynamap.codec.fields import ClassField, class_fields, has_fields
from dynamap.codec.hints import (
    ALIASES,
    SELVES,
    TRANSPARENT,
    UNIONS,
    is_extras,
    merged_attribute,
    model_error,
    type_name,
    union_members,
    upper_bound,
    value_hint,
)
from dynamap.codec.pydantic_classes import annotated_type
from dynamap.codec.scalars import Binary, Boolean, Float, Integer, Number, Text, Uuid
from dynamap.codec.shapes import Shape
from dynamap.codec.temporal import Date, DateTime, Duration, EpochNumber, EpochTime, EpochUnit, Time
from dynamap.codec.unions import TaggedUnion, UnionShape
from dynamap.codec.wrappers import Converted, Custom, Normalized, OptionalShape, Reference
from dynamap.errors import EncodeError, ModelError

__all__ = ["class_shape", "shape_of"]

_SCALARS: dict[Any, Shape] = {
    str: Text(),
    int: Integer(),
    float: Float(),
    bool: Boolean(),
    Decimal: Number(),
    bytes: Binary(),
    bytearray: Binary(bytearray),
    UUID: Uuid(),
    datetime: DateTime(),
    date: Date(),
    time: Time(),
    timedelta: Duration(),
    Any: AnyShape(),
    object: AnyShape(),
}
# No value but None.
_NONE = OptionalShape(LiteralShape(()))
_LISTS: dict[Any, tuple[type, ...]] = {
    list: (list,),
    MutableSequence: (list,),
    Sequence: (list, tuple),
    Collection: (list, tuple),
    Iterable: (list, tuple),
}
_SETS: dict[Any, type[set[Any] | frozenset[Any]]] = {
    set: set,
    MutableSet: set,
    frozenset: frozenset,
    AbstractSet: frozenset,
}
_MAPS = (dict, Mapping, MutableMapping)


def shape_of(hint: Any, *, where: str, context: Context) -> Shape:
    """Give the shape for a type; raises ModelError that names `where` (as "Order.lines") and the remedy."""
    return _shape(hint, (), where, context)


def class_shape(cls: Any, *, context: Context) -> ClassShape:
    """Give the shape of a class, or of a generic alias of one, whose instances are items.

    Raises ModelError for what cannot be stored, naming class, field and remedy.
    """
    if not has_fields(cls):
        msg = f"{type_name(cls)} is no attrs class, dataclass or pydantic model; make it one"
        raise ModelError(msg)
    shape = context.once(cls, type_name(cls), lambda: _build_class(cls, context))
    assert isinstance(shape, ClassShape)  # noqa: S101 - another is made only of a class inside of itself
    return shape


# ---------------------------------------------------------------------------------------------------- one type


def _shape(hint: Any, markers: tuple[Any, ...], where: str, context: Context) -> Shape:
    """Take the type apart from outside; markers of outer Annotated wait for the type that they speak of."""
    origin = get_origin(hint)
    if origin is Annotated:
        return _shape(hint.__origin__, (*hint.__metadata__, *markers), where, context)
    if origin in TRANSPARENT:
        return _shape(get_args(hint)[0], markers, where, context)
    if hint is None or hint is type(None):
        return _NONE
    if hint in SELVES:
        return _shape(context.innermost, markers, where, context)
    if isinstance(hint, NewType):
        return _shape(hint.__supertype__, markers, where, context)
    if isinstance(hint, ALIASES) or isinstance(origin, ALIASES):
        return _alias(hint, markers, where, context)
    if isinstance(hint, TypeVar):
        return _shape(upper_bound(hint, where), markers, where, context)
    if origin in UNIONS:
        return _union(hint, markers, where, context)
    return _marked(annotated_type(hint), markers, where, context)


def _alias(hint: Any, markers: tuple[Any, ...], where: str, context: Context) -> Shape:
    origin = get_origin(hint)
    value = hint.__value__ if origin is None else origin.__value__[get_args(hint)]
    if markers:
        return _shape(value, markers, where, context)
    return context.once(hint, str(hint), lambda: _shape(value, (), where, context))


def _marked(hint: Any, markers: tuple[Any, ...], where: str, context: Context) -> Shape:
    shape = _custom(hint, markers, where, context) or _epoch(hint, markers, where) or _plain(hint, where, context)
    for marker in markers:
        if isinstance(marker, Normalize):
            shape = Normalized(shape, marker.function)
        if isinstance(marker, Attribute) and (marker.name or marker.aliases or not marker.stored):
            problem = "Attribute(name, aliases=, stored=) speaks of a field"
            raise model_error(where, f"{problem}; put its Annotated around the field's whole type")
        if is_extras(marker):
            problem = "Extras() speaks of a field"
            raise model_error(where, f"{problem}; put its Annotated around the field's whole type, a dict")
    return shape


def _custom(hint: Any, markers: tuple[Any, ...], where: str, context: Context) -> Shape | None:
    functions = [each for each in markers if isinstance(each, Attribute) and (each.encode or each.decode)]
    if not functions:
        return None
    if len(functions) > 1:
        raise model_error(where, "two Attribute markers with functions; leave one")
    both = functions[0].encode is not None and functions[0].decode is not None
    inner = None if both else _epoch(hint, markers, where) or _plain(hint, where, context)
    return Custom(type_name(hint), inner, functions[0].encode, functions[0].decode)


def _epoch(hint: Any, markers: tuple[Any, ...], where: str) -> Shape | None:
    units: list[EpochUnit] = []
    for marker in markers:
        if isinstance(marker, EpochSeconds) or marker is EpochSeconds:
            units.append("seconds")
        if isinstance(marker, EpochMillis) or marker is EpochMillis:
            units.append("milliseconds")
    if not units:
        return None
    if len(units) > 1:
        raise model_error(where, "several epoch markers; leave one")
    if hint is datetime:
        return EpochTime(units[0])
    if hint is int or hint is float:
        return EpochNumber(units[0], hint)
    problem = f"epoch markers go with datetime, int or float, not with {type_name(hint)}"
    raise model_error(where, f"{problem}; change the type or the marker")


def _plain(hint: Any, where: str, context: Context) -> Shape:
    origin = get_origin(hint)
    if origin is Literal:
        return _literal(get_args(hint), where)
    if origin is None and (known := _scalar(hint)) is not None:
        return known
    container = _container(hint, hint if origin is None else origin, where, context)
    if container is not None:
        return container
    if isinstance(hint, type) and origin is None and issubclass(hint, Enum):
        return _enum(hint, where)
    if has_fields(hint):
        return _nested(hint, context)
    return _converted(hint, where, context)


def _scalar(hint: Any) -> Shape | None:
    try:
        return _SCALARS.get(hint)
    except TypeError:  # unhashable
        return None


def _literal(values: tuple[Any, ...], where: str) -> Shape:
    some = tuple(value for value in values if value is not None)
    shape = LiteralShape(some)
    if not shape.distinct:
        raise model_error(where, "two values of the Literal are stored as the same; leave one")
    if not some:
        return _NONE
    return shape if len(some) == len(values) else OptionalShape(shape)


def _enum(cls: type[Enum], where: str) -> Shape:
    try:
        shape = EnumShape(cls)
    except EncodeError as error:
        raise model_error(where, str(error).removeprefix("$: ")) from error
    if not shape.wire_types:
        raise model_error(where, f"the enum {cls.__qualname__} has no members; add some")
    return shape


def _nested(hint: Any, context: Context) -> Shape:
    shape = context.once(hint, type_name(hint), lambda: _build_class(hint, context))
    if isinstance(shape, ClassShape):
        for field in shape.fields:
            if not field.stored and not field.field.has_default:
                problem = "stored=False needs a key to recover the field from, a nested value has none"
                inside = f"{shape.kind}.{field.name}"
                raise model_error(inside, f"{problem}; store it, or give it a default")
    return shape


def _converted(hint: Any, where: str, context: Context) -> Shape:
    name = type_name(hint)
    remedy = "give the field Attribute(encode=, decode=), or the table a cattrs converter with hooks for it"
    if context.converter is None:
        raise model_error(where, f"the type {name} is not known; {remedy}")
    # loaded already by whoever made the converter; nobody else needs it
    from cattrs.fns import identity  # noqa: PLC0415

    try:
        context.converter.get_structure_hook(hint)
        plain = context.converter.get_unstructure_hook(hint)
    except Exception as error:
        raise model_error(where, f"neither dynamap nor the converter knows the type {name}; {remedy}") from error
    if plain is identity:
        raise model_error(where, f"the converter has no unstructure hook for {name}; register one")
    return Converted(hint, name, context.converter)


# ---------------------------------------------------------------------------------------------------- containers


def _container(hint: Any, origin: Any, where: str, context: Context) -> Shape | None:
    try:
        hash(origin)
    except TypeError:
        return None
    arguments = get_args(hint)
    if origin in _LISTS:
        element = _shape(arguments[0] if arguments else Any, (), where, context)
        return ListOf(element, list, _LISTS[origin])
    if origin is tuple:
        return _tuple(arguments, hint, where, context)
    if origin in _SETS:
        return _set(arguments, _SETS[origin], where, context)
    if origin in _MAPS:
        return _map(arguments or (str, Any), (dict,) if origin is dict else (Mapping,), where, context)
    return None


def _tuple(arguments: tuple[Any, ...], hint: Any, where: str, context: Context) -> Shape:
    if hint is tuple or hint is typing.Tuple:  # noqa: UP006  (the old spelling is what is looked for)
        arguments = (Any, ...)
    if len(arguments) == 2 and arguments[1] is ...:  # noqa: PLR2004
        return ListOf(_shape(arguments[0], (), where, context), tuple, (tuple,))
    # before 3.11, the arguments of typing.Tuple[()] are ((),)
    elements = () if arguments == ((),) else arguments
    return TupleOf(tuple(_shape(argument, (), where, context) for argument in elements))


def _set(arguments: tuple[Any, ...], factory: type[set[Any] | frozenset[Any]], where: str, context: Context) -> Shape:
    element = _shape(arguments[0] if arguments else Any, (), where, context)
    # what the user's own functions make of an element is seen when it is stored
    known = not isinstance(element, AnyShape | Custom)
    if known and element.wire_types not in {("S",), ("N",), ("B",)}:
        problem = f"a set of {element.kind} cannot be stored"
        raise model_error(
            where, f"{problem}: a set in DynamoDB holds only texts, only numbers or only bytes; use a list"
        )
    return SetOf(element, factory)


def _map(arguments: tuple[Any, ...], accepted: tuple[type, ...], where: str, context: Context) -> Shape:
    key = Text() if arguments[0] is Any else _shape(arguments[0], (), where, context)
    if not key.keyable:
        problem = f"a dict cannot have keys of type {key.kind}"
        raise model_error(where, f"{problem}; use a type that is stored as a text or as a number")
    return MapOf(key, _shape(arguments[1], (), where, context), accepted)


# ---------------------------------------------------------------------------------------------------- unions


def _union(hint: Any, markers: tuple[Any, ...], where: str, context: Context) -> Shape:
    members = union_members(hint)
    some = [member for member in members if member is not type(None)]
    if not some:
        return _NONE
    if len(some) == 1:
        shape = _shape(some[0], markers, where, context)
    elif markers:
        shape = _marked_union(some, markers, where, context)
    else:
        shape = _alternatives(some, where, context)
    if len(some) == len(members) or isinstance(shape, OptionalShape | AnyShape):
        return shape
    return OptionalShape(shape)


def _marked_union(members: list[Any], markers: tuple[Any, ...], where: str, context: Context) -> Shape:
    if any(isinstance(marker, EpochSeconds | EpochMillis) for marker in markers):
        raise model_error(where, "epoch markers go with one type of a union; put Annotated around that type")
    shape = _alternatives(members, where, context)
    functions = [each for each in markers if isinstance(each, Attribute) and (each.encode or each.decode)]
    for each in functions:
        shape = Custom(shape.kind, shape, each.encode, each.decode)
    for marker in markers:
        if isinstance(marker, Normalize):
            shape = Normalized(shape, marker.function)
    return shape


def _alternatives(members: list[Any], where: str, context: Context) -> Shape:
    classes = [member for member in members if has_fields(member)]
    shapes = [_shape(member, (), where, context) for member in members if member not in classes]
    if len(classes) > 1:
        shapes.append(_tagged(classes, where, context))
    else:
        shapes += [_shape(member, (), where, context) for member in classes]
    if len(shapes) == 1:
        return shapes[0]
    owners: dict[str, Shape] = {}
    for shape in shapes:
        for tag in ("M",) if isinstance(shape, Reference) else shape.wire_types:
            if tag in owners:
                problem = (
                    f"{owners[tag].kind} and {shape.kind} are stored alike and cannot be told apart when read; "
                    "declare one of them, or classes with a Literal tag each"
                )
                raise model_error(where, problem)
            owners[tag] = shape
    return UnionShape(tuple(shapes))


def _tagged(classes: list[Any], where: str, context: Context) -> Shape:
    origins = [get_origin(cls) or cls for cls in classes]
    names = " and ".join(type_name(cls) for cls in classes)
    if len(set(origins)) < len(origins):
        raise model_error(where, f"{names} are the same class and cannot be told apart; make two classes of them")
    literals = [_literal_fields(cls, context) for cls in classes]
    for attribute in literals[0]:
        if all(attribute in each for each in literals):
            tags = tuple(each[attribute] for each in literals)
            every = tuple(value for values in tags for value in values)
            if LiteralShape(every).distinct:
                shapes = tuple(_shape(cls, (), where, context) for cls in classes)
                return TaggedUnion(attribute, shapes, tags)
    problem = (
        f"{names} are both stored as maps and cannot be told apart when read; "
        'give each a field of the same name with a value of its own, as kind: Literal["card"] = "card"'
    )
    raise model_error(where, problem)


def _literal_fields(cls: Any, context: Context) -> dict[str, tuple[Any, ...]]:
    """Find what could be a tag: Literal fields by their stored names, without looking at other fields' types."""
    found: dict[str, tuple[Any, ...]] = {}
    for field in class_fields(cls, context.localns):
        hint = field.hint
        while get_origin(hint) is Annotated:
            hint = hint.__origin__
        if get_origin(hint) is Literal and None not in get_args(hint):
            found[merged_attribute(field, f"{type_name(cls)}.{field.name}").name or context.names(field.name)] = (
                get_args(hint)
            )
    return found


# ---------------------------------------------------------------------------------------------------- classes


def _build_class(cls: Any, context: Context) -> ClassShape:
    origin: type = get_origin(cls) or cls
    fields = tuple(_build_field(cls, field, context) for field in class_fields(cls, context.localns))
    owners: dict[str, str] = {}
    for field in fields:
        for name in () if field.extras else field.read_from:
            if name in owners:
                problem = (
                    f"the attribute {name!r} is stored or read by {owners[name]} too; give one of them another name"
                )
                inside = f"{type_name(cls)}.{field.name}"
                raise model_error(inside, problem)
            owners[name] = field.name
    extras = [field.name for field in fields if field.extras]
    if len(extras) > 1:
        inside = f"{type_name(cls)}.{extras[1]}"
        raise model_error(inside, f"{extras[0]} keeps the extras already; leave one Extras()")
    return ClassShape(origin, fields)


def _build_field(cls: Any, field: ClassField, context: Context) -> FieldShape:
    where = f"{type_name(cls)}.{field.name}"
    extras = any(map(is_extras, field.markers))
    merged = merged_attribute(field, where)
    attribute = merged.name or context.names(field.name)
    if not attribute:
        raise model_error(where, "the stored name is empty; give the field Attribute(name)")
    shape = _shape(value_hint(field), (), where, context)
    if extras and not (isinstance(shape, MapOf) and isinstance(shape.key, Text)):
        raise model_error(where, "Extras() goes with a dict of str keys, as dict[str, Any]; change the type")
    if not (field.defaults_to_none and field.init):
        shape = shape.storing_null()
    return FieldShape(field.name, attribute, merged.aliases, shape, field, merged.stored, extras)
