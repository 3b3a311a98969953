"""Values on the wire: checked, brought into DynamoDB's form, measured, compared.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Context, Decimal, InvalidOperation
from typing import Any, TypeAlias, cast

from dynamap.testing.memory.failures import refuse

__all__ = [
    "EXACT",
    "Item",
    "Wire",
    "copied",
    "equal",
    "exceeds",
    "item_size",
    "kind_of",
    "number_text",
    "order",
    "precedes",
    "stored",
]

Wire: TypeAlias = "dict[str, Any]"
Item: TypeAlias = "dict[str, Wire]"

# DynamoDB's numbers have 38 digits; Python's default context would round them to 28
EXACT = Context(prec=256)
MOST_DIGITS = 38
MOST_DEPTH = 32
_LARGEST = Decimal("9.9999999999999999999999999999999999999E+125")
_SMALLEST = Decimal("1E-130")
_SETS = {"SS": "S", "NS": "N", "BS": "B"}
KINDS = ("S", "N", "B", "SS", "NS", "BS", "M", "L", "NULL", "BOOL")


def kind_of(wire: Wire) -> str:
    """Its type, such as S."""
    return next(iter(wire))


# ---- taking values in


def stored(wire: object, depth: int = 1) -> Wire:
    """A copy in the form that is stored. Raises CallFailed for a value that DynamoDB does not take."""
    if not isinstance(wire, Mapping) or len(cast("Mapping[str, Any]", wire)) != 1:
        refuse("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
    kind, value = next(iter(cast("Mapping[str, Any]", wire).items()))
    if kind == "S" and isinstance(value, str):
        return {"S": value}
    if kind == "N" and isinstance(value, str):
        return {"N": number_text(_number(value))}
    if kind == "BOOL" and isinstance(value, bool):
        return {"BOOL": value}
    if kind == "NULL":
        if value is not True:
            refuse("One or more parameter values were invalid: Null attribute value types must have the value of true")
        return {"NULL": True}
    if kind == "B" and isinstance(value, bytes | bytearray):
        return {"B": bytes(value)}
    return _stored_container(kind, value, depth)


def _stored_container(kind: str, value: Any, depth: int) -> Wire:
    if not _is_a(value, Mapping if kind == "M" else list) or kind not in ("M", "L", *_SETS):
        msg = f"Supplied AttributeValue is empty, must contain exactly one of the supported datatypes: {kind}"
        refuse(msg)
    if kind in _SETS:
        if not value:
            refuse("One or more parameter values were invalid: An string set  may not be empty")
        inner = [stored({_SETS[kind]: each})[_SETS[kind]] for each in value]
        if len(set(inner)) != len(inner):
            refuse("One or more parameter values were invalid: Input collection contains duplicates")
        return {kind: inner}
    if depth >= MOST_DEPTH:
        refuse("Nesting Levels have exceeded supported limits")
    if kind == "L":
        return {"L": [stored(each, depth + 1) for each in value]}
    return {"M": {name: stored(each, depth + 1) for name, each in value.items()}}


def _is_a(value: object, kind: type) -> bool:
    return isinstance(value, kind)


def _number(text: str) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or text != text.strip() or "_" in text:
        refuse("The parameter cannot be converted to a numeric value")
    return number


def number_text(number: Decimal) -> str:
    """The one text of a number. Raises CallFailed for one that DynamoDB does not take."""
    if number.is_zero():
        return "0"
    plain = number.normalize(EXACT)
    if len(plain.as_tuple().digits) > MOST_DIGITS:
        refuse("Attempting to store more than 38 significant digits in a Number")
    if abs(plain) > _LARGEST:
        refuse("Number overflow. Attempting to store a number with magnitude larger than supported range")
    if abs(plain) < _SMALLEST:
        refuse("Number underflow. Attempting to store a number with magnitude smaller than supported range")
    return format(plain, "f")


def copied(wire: Wire) -> Wire:
    """A copy that shares nothing which could be changed."""
    kind, value = next(iter(wire.items()))
    if kind == "M":
        return {"M": {name: copied(each) for name, each in value.items()}}
    if kind == "L":
        return {"L": [copied(each) for each in value]}
    return {kind: list(value) if kind in _SETS else value}


# ---- sizes


def item_size(item: Mapping[str, Wire]) -> int:
    """The bytes that DynamoDB counts for an item."""
    return sum(len(name.encode()) + _size(wire) for name, wire in item.items())


def exceeds(item: Mapping[str, Wire], most: int) -> bool:
    """Whether an item is larger than *most* bytes; small ones are not measured exactly."""
    bound = 0
    for name, wire in item.items():
        kind, value = next(iter(wire.items()))
        if kind not in ("S", "N", "B", "BOOL", "NULL"):
            return item_size(item) > most
        bound += 4 * len(name) + (4 * len(value) if kind in ("S", "B") else 24)
    return bound > most and item_size(item) > most


def _size(wire: Wire) -> int:
    kind, value = next(iter(wire.items()))
    size: int = 1
    if kind == "S":
        size = len(value.encode())
    elif kind == "N":
        size = (len(value.lstrip("-").replace(".", "").strip("0")) + 1) // 2 + 1 + value.startswith("-")
    elif kind == "B":
        size = len(value)
    elif kind == "M":
        size = 3 + len(value) + item_size(value)
    elif kind == "L":
        size = 3 + len(value) + sum(map(_size, value))
    elif kind in _SETS:
        size = sum(_size({_SETS[kind]: each}) for each in value)
    return size


# ---- comparing


def equal(left: Wire | None, right: Wire | None) -> bool:
    """Whether both are there and the same: numbers by value, sets in any order."""
    if left is None or right is None:
        return False
    (kind, one), (other_kind, two) = next(iter(left.items())), next(iter(right.items()))
    if kind != other_kind:
        return False
    if kind == "N":
        return Decimal(one) == Decimal(two)
    if kind == "NS":
        return {Decimal(each) for each in one} == {Decimal(each) for each in two}
    if kind in _SETS:
        return set(one) == set(two)
    if kind == "L":
        return len(one) == len(two) and all(map(equal, one, two))
    if kind == "M":
        return one.keys() == two.keys() and all(equal(one[name], two[name]) for name in one)
    return bool(one == two)


def order(wire: Wire) -> Any:
    """What S, N and B are ordered by: text by its UTF-8 bytes."""
    kind, value = next(iter(wire.items()))
    if kind == "N":
        return Decimal(value)
    return value.encode() if kind == "S" else value


def precedes(left: Wire | None, right: Wire | None, *, or_equal: bool) -> bool:
    """Whether both are there, have an order in common, and the left one comes first."""
    if left is None or right is None or left.keys() != right.keys() or kind_of(left) not in ("S", "N", "B"):
        return False
    one, two = order(left), order(right)
    return bool(one <= two if or_equal else one < two)


def contains(container: Wire | None, element: Wire | None) -> bool:
    """Whether a text holds another, or a set or list an element."""
    if container is None or element is None:
        return False
    kind, held = next(iter(container.items()))
    if kind == "L":
        return any(equal(each, element) for each in held)
    if kind in _SETS:
        return any(equal({_SETS[kind]: each}, element) for each in cast("Sequence[Any]", held))
    return kind in ("S", "B") and kind_of(element) == kind and next(iter(element.values())) in held


def length(wire: Wire | None) -> Wire | None:
    """What `size()` answers; None for what has no size."""
    if wire is None:
        return None
    kind, value = next(iter(wire.items()))
    if kind == "S":
        return {"N": str(len(value.encode()))}
    return None if kind in ("N", "BOOL", "NULL") else {"N": str(len(value))}
