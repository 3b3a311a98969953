"""What the benchmarks read and write: items of about 1 KB, as Python values and as DynamoDB's JSON.

The one description serves the stub, which answers the JSON, and every peer, which declares its classes from it: so all
have the same attributes to handle.
"""

from __future__ import annotations

import random
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any

CUSTOMER = "c-0001"
TYPE_ATTRIBUTE = "_type"


class FieldType(Enum):
    """What a field holds; a peer says which of its types that is."""

    TEXT = "text"
    COUNT = "count"
    PRICE = "price"
    FLAG = "flag"
    LABELS = "labels"
    LINES = "lines"
    ADDRESS = "address"
    PHOTO = "photo"
    ABSENT = "absent"  # an optional text that is not there


ADDRESS_FIELDS = {"street": FieldType.TEXT, "city": FieldType.TEXT, "zip_code": FieldType.COUNT}


@dataclass(frozen=True)
class Kind:
    """A type of items: its name, its fields beside `customer` and `number`, and the length of its texts."""

    name: str
    fields: Mapping[str, FieldType]
    text_length: int = 480

    @property
    def class_name(self) -> str:
        return self.name.title()

    @property
    def all_fields(self) -> dict[str, FieldType]:
        """The fields with those that the key is made of, the required ones first."""
        every = {"customer": FieldType.TEXT, "number": FieldType.TEXT, **self.fields}
        return dict(sorted(every.items(), key=lambda field: field[1] is FieldType.ABSENT))

    def key(self, number: int) -> dict[str, str]:
        return {"pk": f"CUSTOMER#{CUSTOMER}", "sk": f"{self.name}#{number:08}"}

    def values(self, number: int) -> dict[str, Any]:
        """The item as Python values; the same number is the same item, in every process."""
        chance = random.Random(f"{self.name} {number}")
        made: dict[str, Any] = {"customer": CUSTOMER, "number": f"{number:08}"}
        for name, field in self.fields.items():
            made[name] = _value(field, chance, self.text_length)
        return made

    def wire(self, number: int, type_attribute: str = TYPE_ATTRIBUTE) -> dict[str, Any]:
        """The same as DynamoDB's JSON has it, with keys and type name; what is None is absent."""
        stored = {**self.key(number), type_attribute: self.name, **self.values(number)}
        return {name: wire_value(value) for name, value in stored.items() if value is not None}


_TEXT = "".join(random.Random(0).choices("abcdefghijklmnopqrstuvwxyz      ", k=10_000))
"""The texts of all items are pieces of this one, which is quicker than to make each by itself."""


def _value(field: FieldType, chance: random.Random, text_length: int) -> Any:
    if field is FieldType.TEXT:
        begin = chance.randrange(len(_TEXT) - text_length)
        return _TEXT[begin : begin + text_length]
    if field is FieldType.COUNT:
        return chance.randrange(1, 100_000)
    if field is FieldType.PRICE:
        return Decimal(chance.randrange(100, 10_000_000)) / 100
    if field is FieldType.FLAG:
        return chance.choice((True, False))
    if field is FieldType.LABELS:
        return {f"label-{label:04}" for label in chance.sample(range(10_000), 3)}
    if field is FieldType.LINES:
        return [f"sku-{chance.randrange(1_000_000):06}" for _ in range(4)]
    if field is FieldType.ADDRESS:
        return {"street": "17 Some Street", "city": "Springfield", "zip_code": chance.randrange(10_000, 99_999)}
    if field is FieldType.PHOTO:
        return chance.randbytes(64)
    return None


def wire_value(value: Any) -> dict[str, Any]:
    """The value in DynamoDB's JSON."""
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, (int, Decimal)):
        return {"N": str(value)}
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, bytes):
        return {"B": b64encode(value).decode()}
    if isinstance(value, (set, frozenset)):
        return {"SS": sorted(value)}
    if isinstance(value, Mapping):
        return {"M": {name: wire_value(each) for name, each in value.items()}}
    if isinstance(value, Sequence):
        return {"L": [wire_value(each) for each in value]}
    msg = f"no item of the benchmarks holds a {type(value).__name__}"
    raise TypeError(msg)


ORDER = Kind(
    "ORDER",
    {
        "quantity": FieldType.COUNT,
        "price": FieldType.PRICE,
        "active": FieldType.FLAG,
        "note": FieldType.TEXT,
        "labels": FieldType.LABELS,
        "lines": FieldType.LINES,
        "address": FieldType.ADDRESS,
        "photo": FieldType.PHOTO,
        "closed": FieldType.ABSENT,
    },
)
SMALL = Kind("SMALL", {"quantity": FieldType.COUNT, "note": FieldType.TEXT}, text_length=12)
"""For pages of 10,000 items, which must not be larger than 1 MB."""

_NAMES = ("ORDER", "INVOICE", "PAYMENT", "SHIPMENT", "VISIT")
_BASE = {name: field for name, field in ORDER.fields.items() if name != "closed"}


def mixed_kinds(count: int) -> list[Kind]:
    """That many types of items, of one size, with what all have, a field of each one's own, and one left out."""
    kinds: list[Kind] = []
    for position in range(count):
        name = _NAMES[position] if position < len(_NAMES) else f"KIND{position:02}"
        left_out = ("active", "labels", "lines", "address", "photo")[position % 5]
        fields = {each: field for each, field in _BASE.items() if each != left_out}
        kinds.append(Kind(name, {**fields, f"{name.lower()}_reference": FieldType.COUNT}, text_length=540))
    return kinds


def wide_kind(attributes: int) -> Kind:
    """A type with that many attributes, the keys and the type's name counted, of 12 characters or a number each."""
    own = attributes - 5
    return Kind(
        "WIDE",
        {f"field_{position:03}": (FieldType.COUNT if position % 3 else FieldType.TEXT) for position in range(own)},
        text_length=12,
    )


def plain(item: Any, kind: Kind) -> dict[str, Any]:
    """What a peer answered, in the form of `Kind.values`: dicts and objects become dicts, every number a Decimal."""
    return {name: _plain(_member(item, name), field) for name, field in kind.all_fields.items()}


def expected(kind: Kind, number: int) -> dict[str, Any]:
    """What `plain` of a right answer is."""
    return plain(kind.values(number), kind)


def _member(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name)


def _plain(value: Any, field: FieldType) -> Any:
    if value is None:
        return None
    if field in {FieldType.COUNT, FieldType.PRICE}:
        return Decimal(str(value))
    if field is FieldType.PHOTO:
        return bytes(value)
    if field is FieldType.LABELS:
        return set(value)
    if field is FieldType.LINES:
        return list(value)
    if field is FieldType.ADDRESS:
        return {name: _plain(_member(value, name), each) for name, each in ADDRESS_FIELDS.items()}
    return value
