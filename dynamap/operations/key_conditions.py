"""Which keys a query asks for: the leading fields of a key, and a range of the next one.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.KeyConditionExpressions.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dynamap.codec import Wire, unwrapped
from dynamap.errors import KeyValueError, RequestError
from dynamap.expressions import Compiler, Field, KeyCondition
from dynamap.expressions.compiler import is_operand, order
from dynamap.expressions.nodes import BeginsWith, Between, Compare
from dynamap.model.keys import ConstantKey, FieldKey, KeyPart, TemplateKey
from dynamap.model.templates import KeyRange, Operation
from dynamap.operations.targets import Target

__all__ = ["Bound", "KeyComparison", "Selection", "bound_of", "compared", "select"]

Sign = Literal["eq", "lt", "le", "gt", "ge", "between", "begins_with"]

_OPERATIONS: Mapping[str, Operation] = {"=": "eq", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_SIGNS: Mapping[str, str] = {operation: sign for sign, operation in _OPERATIONS.items()}


@dataclass(frozen=True)
class KeyComparison:
    """One key attribute, compared with one value, or two for "between"."""

    attribute: str
    sign: Sign
    operands: tuple[Wire, ...]

    def text(self, compiler: Compiler) -> str:
        """Its text in a KeyConditionExpression."""
        name = compiler.name(self.attribute)
        values = [compiler.value(operand) for operand in self.operands]
        if self.sign == "between":
            return f"{name} BETWEEN {values[0]} AND {values[1]}"
        if self.sign == "begins_with":
            return f"begins_with({name}, {values[0]})"
        return f"{name} {_SIGNS[self.sign]} {values[0]}"


@dataclass(frozen=True)
class Selection:
    """The keys that are asked for: all comparisons hold of them. *nothing* says that no key can be among them."""

    comparisons: tuple[KeyComparison, ...]
    nothing: bool = False

    def text(self, compiler: Compiler) -> str:
        """The KeyConditionExpression."""
        return " AND ".join([comparison.text(compiler) for comparison in self.comparisons])


@dataclass(frozen=True)
class Bound:
    """A range of one field: an operation and its operands in stored form; *high* is for "between"."""

    field: str
    operation: Operation
    low: Any
    high: Any = None


def select(target: Target, values: Mapping[str, Any], bound: Bound | None = None) -> Selection:
    """The keys with these field values: those of the whole partition key, and the first ones of the sort key.

    *bound* is a range of the sort key field after them. Raises KeyValueError for values that are missing, unknown, not
    the first ones, or without a key, RequestError for a range that the key cannot answer.
    """
    normal = _checked(target, values)
    comparisons = [_equal(target, part, normal) for part in target.partition]
    known = dict.fromkeys(name for part in target.partition for name in part.fields)
    for position, part in enumerate(target.sort):
        if _has_several_names(target, part):
            _check_end(target, position, normal, known, bound)
            break
        if part.is_complete(normal):
            comparisons.append(_equal(target, part, normal))
            known |= dict.fromkeys(part.fields)
            continue
        _check_gap(target, position, normal, known)
        found = _last(target, part, _leading(part, normal, known), bound)
        if found.operator == "nothing":
            return Selection((), nothing=True)
        if found.operator != "all":
            comparisons.append(KeyComparison(part.attribute, found.operator, found.operands))
        break
    return Selection(tuple(comparisons))


def bound_of(target: Target, values: Mapping[str, Any], condition: KeyCondition) -> Bound:
    """The range that a condition is. Raises RequestError unless it is one of the first sort key field not given."""
    owner = target.entity.cls.__qualname__
    given: Any = condition
    node = given.node if isinstance(given, KeyCondition) else None
    if not isinstance(node, (Compare, Between, BeginsWith)):
        msg = (
            f"{owner}: range() takes one comparison of a sort key field, as F({owner}.field).between(low, high); "
            f"got {type(given).__name__}: use filter() for other conditions"
        )
        raise RequestError(msg)
    field = _field_of(target, compared(node))
    _check_is_next(target, values, field)
    if isinstance(node, Compare):
        return Bound(field, _OPERATIONS[node.operator], _operand(target, field, node.right))
    if isinstance(node, Between):
        low, high = (_operand(target, field, each) for each in (node.low, node.high))
        return Bound(field, "between", low, high)
    return Bound(field, "begins_with", _operand(target, field, node.prefix))


def compared(node: object) -> object:
    """What a comparison that may be a range is about; None for any other node."""
    if isinstance(node, Compare):
        return node.left
    if isinstance(node, Between):
        return node.operand
    return node.field if isinstance(node, BeginsWith) else None


def _field_of(target: Target, reference: object) -> str:
    """The field that is compared, stored or not. Raises RequestError for a part of one, and one of another class."""
    entity = target.entity
    given: Any = reference
    if isinstance(given, Field) and len(given.path) == 1 and issubclass(entity.cls, given.owner):
        name = str(given.path[0])
        if name in _fields(target.parts):
            return name
    resolved = Compiler(entity).resolve(reference)
    if not resolved.top_level:
        msg = f"{entity.cls.__qualname__}: range() takes a sort key field; {_path(reference)} is a part of one"
        raise RequestError(msg)
    return resolved.field


# ---- leading fields


def _checked(target: Target, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values in their stored form, the partition key complete. Raises KeyValueError."""
    owner = target.entity.cls.__qualname__
    fields = _fields(target.parts)
    for name in values:
        if name not in fields:
            msg = (
                f"{owner} has no field {name!r} in the key of {target.words}: that is {_listed(fields)}"
                f"{_begun(target, [name])}"
            )
            raise KeyValueError(msg)
    wanted = _fields(target.partition)
    missing = [name for name in wanted if name not in values]
    if missing:
        msg = (
            f"{owner}: query() of {target.words} is missing {' and '.join(missing)}: it takes the whole partition key, "
            f"{_listed(wanted)}, and the first fields of the sort key or none{_begun(target, list(values))}"
        )
        raise KeyValueError(msg)
    for name, value in values.items():
        if value is None:
            remedy = "give a value" if name in wanted else "give a value, or leave the field out for all of its values"
            msg = f"{owner}.{name} is None: {remedy}"
            raise KeyValueError(msg)
    return target.entity.normalized(values)


def _begun(target: Target, given: Sequence[str]) -> str:
    """Which other index begins with one of the fields that were given, as the end of a message."""
    for use in target.entity.indexes:
        first = _fields(use.partition)[:1]
        if first and first[0] in given and use.index != target.index:
            return f"; the index {use.index.name!r} begins with {first[0]}: index({use.index.name!r}).query(...)"
    return ""


def _fields(parts: Sequence[KeyPart]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for part in parts for name in part.fields))


def _listed(fields: Sequence[str]) -> str:
    return ", ".join(fields) or "the same for all its items"


def _has_several_names(target: Target, part: KeyPart) -> bool:
    """Whether it is the discriminator of a class that has aliases, so that it is not one value."""
    return isinstance(part, ConstantKey) and bool(target.entity.aliases)


def _equal(target: Target, part: KeyPart, values: Mapping[str, Any]) -> KeyComparison:
    if _has_several_names(target, part):
        aliases = ", ".join(map(repr, target.entity.aliases))
        msg = (
            f"{target.entity.cls.__qualname__}: {target.words} has the discriminator in its partition key, and items "
            f"that were stored as {aliases} are in other partitions: scan the index, or store them again and leave "
            f"out the aliases"
        )
        raise RequestError(msg)
    return KeyComparison(part.attribute, "eq", (part.encode(values),))


def _check_end(
    target: Target, position: int, values: Mapping[str, Any], known: Mapping[str, None], bound: Bound | None
) -> None:
    """Raise RequestError if more is asked for behind a discriminator that has several names."""
    later = [name for part in target.sort[position + 1 :] for name in part.fields if name not in known]
    asked = [name for name in later if name in values or (bound is not None and bound.field == name)]
    if asked:
        owner = target.entity.cls.__qualname__
        aliases = ", ".join(map(repr, target.entity.aliases))
        msg = (
            f"{owner}.{asked[0]} stands behind the discriminator in the sort key of {target.words}, and items that "
            f"were stored as {aliases} are in other places: leave it out, or store them again and leave out the aliases"
        )
        raise RequestError(msg)


def _leading(part: KeyPart, values: Mapping[str, Any], known: Mapping[str, None]) -> dict[str, Any]:
    """The part's first fields, and those that the caller gave after a gap: not what other parts hold as well."""
    leading: dict[str, Any] = {}
    gap = False
    for name in part.fields:
        gap = gap or name not in values
        if name in values and not (gap and name in known):
            leading[name] = values[name]
    return leading


def _check_gap(target: Target, position: int, values: Mapping[str, Any], known: Mapping[str, None]) -> None:
    """Raise KeyValueError for a field of a later part: the key attributes before it are to be given first."""
    part = target.sort[position]
    missing = [name for name in part.fields if name not in values]
    for later in target.sort[position + 1 :]:
        for name in later.fields:
            if name in values and name not in known and name not in part.fields:
                owner = target.entity.cls.__qualname__
                before = " and ".join(f"{owner}.{each}" for each in missing) or f"the attribute {part.attribute!r}"
                msg = (
                    f"{owner}.{name} is given without {before}, which stands before it in the sort key of "
                    f"{target.words}: give both"
                )
                raise KeyValueError(msg)


# ---- the last attribute that is compared


def _last(target: Target, part: KeyPart, leading: Mapping[str, Any], bound: Bound | None) -> _Found:
    if isinstance(part, TemplateKey):
        made = part.template.condition(leading) if bound is None else _template_range(part, leading, bound)
        return _Found(made.operator, tuple({"S": text} for text in made.operands))
    if bound is None or not isinstance(part, FieldKey):
        return _Found("all")
    return _field_range(target, part, bound)


@dataclass(frozen=True)
class _Found:
    """What KeyRange is, for attributes of any type."""

    operator: Literal[Sign, "all", "nothing"]
    operands: tuple[Wire, ...] = ()


def _template_range(part: TemplateKey, leading: Mapping[str, Any], bound: Bound) -> KeyRange:
    return part.template.bounds(leading, bound.operation, bound.low, bound.high)


def _field_range(target: Target, part: FieldKey, bound: Bound) -> _Found:
    owner = target.entity.cls.__qualname__
    if bound.operation == "begins_with":
        kind = unwrapped(part.field.shape).kind
        binary = (bytes, bytearray, memoryview)
        wanted: Any = {"str": str, "bytes": binary, "bytearray": binary}.get(kind)
        if wanted is None or not isinstance(bound.low, wanted):
            msg = f"{owner}.{bound.field} takes no begins_with of {type(bound.low).__name__}: it is {kind}"
            raise RequestError(msg)
        # every key begins with nothing, but DynamoDB takes no empty operand
        return _Found("begins_with", (part.encode({bound.field: bound.low}),)) if len(bound.low) else _Found("all")
    low = part.encode({bound.field: bound.low})
    if bound.operation != "between":
        return _Found(bound.operation, (low,))
    high = part.encode({bound.field: bound.high})
    if order(low) > order(high):
        msg = f"{owner}.{bound.field}: the low end of between() is above its high end: exchange them"
        raise RequestError(msg)
    return _Found("between", (low, high))


# ---- ranges


def _path(reference: object) -> str:
    return ".".join(map(str, reference.path)) if isinstance(reference, Field) else type(reference).__name__


def _check_is_next(target: Target, values: Mapping[str, Any], field: str) -> None:
    """Raise RequestError unless this is the first sort key field that has no value yet."""
    owner = target.entity.cls.__qualname__
    ordered = _fields(target.sort)
    following = next((name for name in ordered if name not in values), None)
    if field == following:
        return
    if field in _fields(target.partition):
        msg = f"{owner}.{field} is part of the partition key of {target.words}, which takes no range: give its value"
    elif field not in ordered:
        listed = f"those are {', '.join(ordered)}" if ordered else "it has none"
        msg = (
            f"{owner}.{field} is no field of the sort key of {target.words} ({listed}), so it takes no range: "
            f"use filter()"
        )
    elif field in values:
        remedy = "leave it out there" + ("" if following is None else f", or give a range of {owner}.{following}")
        msg = f"{owner}.{field} is given to query() already, so it takes no range: {remedy}"
    else:
        before = list(_unknown_before(ordered, values, field))
        msg = (
            f"{owner}.{field} takes no range before {' and '.join(f'{owner}.{name}' for name in before)} "
            f"{'is' if len(before) == 1 else 'are'} given to query(): give the value, or a range of {owner}.{following}"
        )
    raise RequestError(msg)


def _unknown_before(ordered: Sequence[str], values: Mapping[str, Any], field: str) -> Iterator[str]:
    for name in ordered[: ordered.index(field)]:
        if name not in values:
            yield name


def _operand(target: Target, field: str, value: object) -> Any:
    owner = target.entity.cls.__qualname__
    if value is None or is_operand(value):
        what = "None" if value is None else "another field"
        msg = f"{owner}.{field}: a range of a key is compared with a value; got {what}"
        raise RequestError(msg)
    return target.entity.normalized({field: value})[field]
