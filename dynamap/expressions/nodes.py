"""What an expression says: frozen nodes that know no text. The compiler gives them one.

They are structs, as are other small classes here: dataclasses would make up a tenth of the time that dynamap takes to
be imported.
"""

from __future__ import annotations

from typing import Generic, Literal, TypeAlias, TypeVar

import msgspec

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


class Compare(msgspec.Struct, frozen=True, eq=False):
    """A comparison of two operands."""

    operator: Operator
    left: Operand[object]
    right: object


class Between(msgspec.Struct, frozen=True, eq=False):
    """Low and high included."""

    operand: Operand[object]
    low: object
    high: object


class Membership(msgspec.Struct, frozen=True, eq=False):
    """One of several candidates."""

    operand: Operand[object]
    candidates: tuple[object, ...]


class Exists(msgspec.Struct, frozen=True, eq=False):
    """Whether the attribute is there, or is not."""

    field: Operand[object]
    expected: bool


class TypeIs(msgspec.Struct, frozen=True, eq=False):
    """Whether the attribute is stored as this DynamoDB type."""

    field: Operand[object]
    kind: AttributeType


class BeginsWith(msgspec.Struct, frozen=True, eq=False):
    """Whether a text or bytes begin so."""

    field: Operand[object]
    prefix: str | bytes


class Contains(msgspec.Struct, frozen=True, eq=False):
    """Whether a list or set holds the item, or a text the part."""

    field: Operand[object]
    item: object


class And(msgspec.Struct, frozen=True, eq=False):
    """All of them."""

    parts: tuple[Node, ...]


class Or(msgspec.Struct, frozen=True, eq=False):
    """Any of them."""

    parts: tuple[Node, ...]


class Not(msgspec.Struct, frozen=True, eq=False):
    """The opposite."""

    part: Node


Node: TypeAlias = "Compare | Between | Membership | Exists | TypeIs | BeginsWith | Contains | And | Or | Not"


# ---- actions of an update


class Set(msgspec.Struct, frozen=True, eq=False):
    """A field gets a value, another field's, or a sum."""

    field: Operand[object]
    value: object


class SetIfMissing(msgspec.Struct, frozen=True, eq=False):
    """A field gets a value where it has none."""

    field: Operand[object]
    value: object


class Remove(msgspec.Struct, frozen=True, eq=False):
    """The attribute goes."""

    field: Operand[object]


class Add(msgspec.Struct, frozen=True, eq=False):
    """An amount to add to a number, or elements to add to a set."""

    field: Operand[object]
    what: tuple[object, ...]


class Discard(msgspec.Struct, frozen=True, eq=False):
    """Elements to take out of a set."""

    field: Operand[object]
    what: tuple[object, ...]


class Append(msgspec.Struct, frozen=True, eq=False):
    """Items to put behind those of a list, or before them."""

    field: Operand[object]
    items: tuple[object, ...]
    in_front: bool


Action: TypeAlias = "Set | SetIfMissing | Remove | Add | Discard | Append"
