"""How many bytes the service counts for what is stored.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dynamap.codec.json_items import JsonItem, to_json

__all__ = ["MOST_ITEM_BYTES", "exceeds", "item_size", "size_at_most", "wire_size"]

MOST_ITEM_BYTES = 400 * 1024
# 38 digits in pairs, a sign, an exponent
_QUARTER_OF_A_NUMBER = 6


def item_size(item: Mapping[str, Mapping[str, Any]]) -> int:
    """The bytes that the service counts for an item, its attribute names included."""
    return sum(len(name.encode()) + wire_size(wire) for name, wire in item.items())


def wire_size(wire: Mapping[str, Any]) -> int:
    """The bytes that the service counts for one attribute value.

    >>> wire_size({"S": "é"}), wire_size({"N": "-12.5"}), wire_size({"L": [{"BOOL": True}]})
    (2, 4, 5)
    """
    kind, value = next(iter(wire.items()))
    if kind == "N":
        digits = str(value).lstrip("-").replace(".", "").strip("0")
        return (len(digits) + 1) // 2 + 1 + str(value).startswith("-")
    if kind in ("BOOL", "NULL"):
        return 1
    if kind == "S":
        return len(value.encode())
    if kind == "B":
        return len(value)
    if kind == "L":
        return 3 + sum(1 + wire_size(inner) for inner in value)
    if kind == "M":
        return 3 + sum(1 + len(name.encode()) + wire_size(inner) for name, inner in value.items())
    return sum(wire_size({kind[0]: element}) for element in value)


def exceeds(item: Mapping[str, Mapping[str, Any]], most: int) -> bool:
    """Whether an item has more bytes than *most*; a small one is not measured exactly."""
    return size_at_most(item) > most and item_size(item) > most


def size_at_most(item: Mapping[str, Mapping[str, Any]]) -> int:
    """No less than the size of an item, and quicker: in JSON nothing is shorter than it counts."""
    if type(item) is JsonItem:
        return len(item.json)
    try:
        return len(to_json(item))
    except (TypeError, ValueError):
        # a lone surrogate, which is told of where the value is encoded
        return 4 * (sum(map(len, item)) + _quarters(item.values()))


def _quarters(wires: Iterable[Mapping[str, Any]]) -> int:
    """No less than a quarter of the size, from lengths alone: a character has up to four bytes."""
    total = 0
    for wire in wires:
        for kind, value in wire.items():
            if kind in ("S", "B"):
                total += len(value)
            elif kind in ("N", "BOOL", "NULL"):
                total += _QUARTER_OF_A_NUMBER
            elif kind == "M":
                total += 1 + len(value) + sum(map(len, value)) + _quarters(value.values())
            elif kind == "L":
                total += 1 + len(value) + _quarters(value)
            elif kind == "NS":
                total += _QUARTER_OF_A_NUMBER * len(value)
            else:
                total += sum(map(len, value))
    return total
