"""How many bytes the service counts for what is stored.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["MOST_ITEM_BYTES", "exceeds", "item_size", "wire_size"]

MOST_ITEM_BYTES = 400 * 1024
_MOST_NUMBER_BYTES = 24


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
    return _upper_bound({"M": item}) > most and item_size(item) > most


def _upper_bound(wire: Mapping[str, Any]) -> int:
    """No less than the size, from lengths alone: a character has up to four bytes."""
    for kind, value in wire.items():
        if kind == "S":
            return 4 * len(value)
        if kind == "B":
            return len(value)
        if kind == "M":
            return 3 + sum(1 + 4 * len(name) + _upper_bound(inner) for name, inner in value.items())
        if kind == "L":
            return 3 + len(value) + sum(map(_upper_bound, value))
        if kind in ("SS", "BS"):
            return 4 * sum(map(len, value))
        if kind == "NS":
            return _MOST_NUMBER_BYTES * len(value)
    return _MOST_NUMBER_BYTES
