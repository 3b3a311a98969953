"""What an expression says: frozen nodes that know no text. The compiler gives them one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

__all__ = [
    "Action",
    "Add",
    "And",
    "Append",
    "AttributeType",
    "BeginsWith",
    "Between",
    "Compare",
    "Contains",
    "Discard",
    "Exists",
    "Membership",
    "Node",
    "Not",
    "Operand",
    "Operator",
    "Or",
    "Remove",
    "Set",
    "SetIfMissing",
    "TypeIs",
    "Value",
]

T_co = TypeVar("T_co", covariant=True)

Operator: TypeAlias = Literal["=", "<>", "<", "<=", ">", ">="]
AttributeType: TypeAlias = Literal["S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS"]


class Operand(Generic[T_co]):
    """What a field may be compared with: a field or the size of one."""

    __slots__ = ()


class Value(Generic[T_co]):
    """What may stand on the right of a set: a field, an or_else, or a sum of two."""

    __slots__ = ()


# ---- conditions; an operand is a Field, a Size, or a plain value that the field beside it knows how to encode


@dataclass(frozen=True, slots=True, eq=False)
class Compare:
    """A comparison of two operands."""

    operator: Operator
    left: Operand[object]
    right: object


@dataclass(frozen=True, slots=True, eq=False)
class Between:
    """Low and high included."""

    operand: Operand[object]
    low: object
    high: object


@dataclass(frozen=True, slots=True, eq=False)
class Membership:
    """One of several candidates."""

    operand: Operand[object]
    candidates: tuple[object, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Exists:
    """Whether the attribute is there, or is not."""

    field: Operand[object]
    expected: bool


@dataclass(frozen=True, slots=True, eq=False)
class TypeIs:
    """Whether the attribute is stored as this DynamoDB type."""

    field: Operand[object]
    kind: AttributeType


@dataclass(frozen=True, slots=True, eq=False)
class BeginsWith:
    """Whether a text or bytes begin so."""

    field: Operand[object]
    prefix: str | bytes


@dataclass(frozen=True, slots=True, eq=False)
class Contains:
    """Whether a list or set holds the item, or a text the part."""

    field: Operand[object]
    item: object


@dataclass(frozen=True, slots=True, eq=False)
class And:
    """All of them."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Or:
    """Any of them."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Not:
    """The opposite."""

    part: Node


Node: TypeAlias = "Compare | Between | Membership | Exists | TypeIs | BeginsWith | Contains | And | Or | Not"


# ---- actions of an update


@dataclass(frozen=True, slots=True, eq=False)
class Set:
    """A field gets a value, another field's, or a sum."""

    field: Operand[object]
    value: object


@dataclass(frozen=True, slots=True, eq=False)
class SetIfMissing:
    """A field gets a value where it has none."""

    field: Operand[object]
    value: object


@dataclass(frozen=True, slots=True, eq=False)
class Remove:
    """The attribute goes."""

    field: Operand[object]


@dataclass(frozen=True, slots=True, eq=False)
class Add:
    """An amount to add to a number, or elements to add to a set."""

    field: Operand[object]
    what: tuple[object, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Discard:
    """Elements to take out of a set."""

    field: Operand[object]
    what: tuple[object, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Append:
    """Items to put behind those of a list, or before them."""

    field: Operand[object]
    items: tuple[object, ...]
    in_front: bool


Action: TypeAlias = "Set | SetIfMissing | Remove | Add | Discard | Append"
