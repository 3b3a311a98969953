"""Conditions on one item with DynamoDB's verdict on each: whatever evaluates conditions must agree.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import attrs

from dynamap import Condition, F, Table, entity


@attrs.define
class Place:
    city: str
    zip: int | None = None


@entity("THING", pk="THING#{id}", sk="THING", version="revision")
class Thing:
    id: str
    name: str = ""
    other: str | None = None
    count: int = 0
    limit: int | None = None
    price: Decimal | None = None
    blob: bytes | None = None
    flag: bool | None = None
    place: Place | None = None
    tags: set[str] = attrs.field(factory=set[str])
    numbers: set[Decimal] = attrs.field(factory=set[Decimal])
    blobs: set[bytes] = attrs.field(factory=set[bytes])
    parts: list[str] = attrs.field(factory=list[str])
    amounts: list[Decimal] = attrs.field(factory=list[Decimal])
    prices: dict[str, Decimal] = attrs.field(factory=dict[str, Decimal])
    anything: Any = None
    revision: int = 0


Things = Table("things", [Thing])

ITEM = Thing(
    "a",
    name="abc\u00fc",
    count=10,
    price=Decimal("1.50"),
    blob=b"\x01\xff",
    flag=False,
    place=Place("Bonn"),
    tags={"x", "y"},
    numbers={Decimal(1), Decimal("2.5")},
    blobs={b"1", b"2"},
    parts=["a", "b"],
    amounts=[Decimal(1), Decimal(2)],
    prices={"eur": Decimal(3)},
    anything="10",
)

MISSING = F(Thing.other)
CASES: dict[str, tuple[Condition, bool]] = {
    "= of equal numbers": (F(Thing.price).eq(Decimal("1.5")), True),
    "= of other numbers": (F(Thing.count).eq(9), False),
    "= of texts": (F(Thing.name).eq("abc\u00fc"), True),
    "= of bytes": (F(Thing.blob).eq(b"\x01\xff"), True),
    "= of a bool": (F(Thing.flag).eq(False), True),
    "= of sets in another order": (F(Thing.tags).eq({"y", "x"}), True),
    "= of number sets by value": (F(Thing.numbers).eq({Decimal("2.50"), Decimal("1.0")}), True),
    "= of a subset": (F(Thing.tags).eq({"x"}), False),
    "= of byte sets": (F(Thing.blobs).eq({b"2", b"1"}), True),
    "= of lists": (F(Thing.parts).eq(["a", "b"]), True),
    "= of lists in another order": (F(Thing.parts).eq(["b", "a"]), False),
    "= of lists of numbers": (F(Thing.amounts).eq([Decimal("1.0"), Decimal(2)]), True),
    "= of maps": (F(Thing.prices).eq({"eur": Decimal(3)}), True),
    "= of other maps": (F(Thing.prices).eq({"usd": Decimal(3)}), False),
    "= of a nested class": (F(Thing.place).eq(Place("Bonn")), True),
    "= of a missing attribute": (MISSING.eq("x"), False),
    "= with a missing attribute": (F(Thing.name).eq(MISSING), False),
    "= of two fields of other types": (F(Thing.anything).eq(F(Thing.count)), False),
    "<> of equal numbers": (F(Thing.count).ne(10), False),
    "<> of other numbers": (F(Thing.count).ne(9), True),
    "<> of a missing attribute": (MISSING.ne("x"), True),
    "<> with a missing attribute": (F(Thing.name).ne(MISSING), True),
    "= None of a missing attribute": (MISSING.eq(None), True),
    "= None of a stored NULL": (F(Thing, lambda t: t.place.zip if t.place else None).eq(None), True),
    "= None of a value": (F(Thing.price).eq(None), False),
    "<> None of a missing attribute": (MISSING.ne(None), False),
    "<> None of a value": (F(Thing.price).ne(None), True),
    "< of numbers": (F(Thing.count).lt(11), True),
    "< of a number of fewer digits": (F(Thing.count).lt(9), False),
    "<= of numbers": (F(Thing.count).le(10), True),
    "> of numbers": (F(Thing.count).gt(10), False),
    ">= of numbers": (F(Thing.count).ge(10), True),
    "< of texts by UTF-8 bytes": (F(Thing.name).lt("abd"), True),
    "> of texts by UTF-8 bytes": (F(Thing.name).gt("abcz"), True),
    "> of bytes": (F(Thing.blob).gt(b"\x01\x02"), True),
    "< of a missing attribute": (F(Thing.limit).lt(1), False),
    ">= of a missing attribute": (F(Thing.limit).ge(1), False),
    "< with a missing attribute": (F(Thing.count).lt(F(Thing.limit)), False),
    "not < with a missing attribute": (~F(Thing.count).lt(F(Thing.limit)), True),
    "BETWEEN with its ends": (F(Thing.count).between(10, 11), True),
    "BETWEEN below": (F(Thing.count).between(11, 12), False),
    "BETWEEN of a missing attribute": (F(Thing.limit).between(0, 100), False),
    "IN": (F(Thing.count).is_in(1, 10), True),
    "not IN": (F(Thing.count).is_in(1, 2), False),
    "IN with None": (F(Thing.limit).is_in(1, None), True),
    "IN of a missing attribute": (F(Thing.limit).is_in(1, 2), False),
    "exists": (F(Thing.count).exists(), True),
    "exists of a missing attribute": (MISSING.exists(), False),
    "exists of a nested path": (F(Thing, lambda t: t.prices["eur"]).exists(), True),
    "exists of a nested path that is missing": (F(Thing, lambda t: t.prices["usd"]).exists(), False),
    "exists of a list item": (F(Thing, lambda t: t.parts[1]).exists(), True),
    "exists beyond a list": (F(Thing, lambda t: t.parts[2]).exists(), False),
    "not_exists": (MISSING.not_exists(), True),
    "attribute_type": (F(Thing.count).attribute_type("N"), True),
    "attribute_type of another": (F(Thing.count).attribute_type("S"), False),
    "attribute_type of a missing attribute": (MISSING.attribute_type("S"), False),
    "attribute_type of a set": (F(Thing.tags).attribute_type("SS"), True),
    "begins_with": (F(Thing.name).begins_with("ab"), True),
    "begins_with another": (F(Thing.name).begins_with("b"), False),
    "begins_with of bytes": (F(Thing.blob).begins_with(b"\x01"), True),
    "begins_with of a missing attribute": (MISSING.begins_with("a"), False),
    "contains a part of a text": (F(Thing.name).contains("bc"), True),
    "contains no part of a text": (F(Thing.name).contains("cb"), False),
    "contains an element of a set": (F(Thing.tags).contains("x"), True),
    "contains no element of a set": (F(Thing.tags).contains("z"), False),
    "contains a number of a set": (F(Thing.numbers).contains(Decimal("1.0")), True),
    "contains an item of a list": (F(Thing.parts).contains("a"), True),
    "contains no item of a list": (F(Thing.parts).contains("c"), False),
    "contains of a missing attribute": (MISSING.contains("a"), False),
    "size of bytes": (F(Thing.blob).size().eq(2), True),
    "size of a list": (F(Thing.parts).size().ge(2), True),
    "size of a set": (F(Thing.tags).size().between(1, 2), True),
    "size of a map": (F(Thing.prices).size().lt(1), False),
    "size of a missing attribute": (MISSING.size().ge(0), False),
    "size beside a field": (F(Thing.count).gt(F(Thing.parts).size()), True),
    "and": (F(Thing.count).eq(10) & F(Thing.flag).eq(True), False),
    "or": (F(Thing.count).eq(9) | F(Thing.flag).eq(False), True),
    "not": (~F(Thing.count).eq(9), True),
    "not of a missing attribute": (~MISSING.eq("x"), True),
    "nested": (~(F(Thing.count).eq(9) | MISSING.exists()) & F(Thing.parts).size().eq(2), True),
    "not_exists_or_lt of a missing attribute": (F(Thing.limit).not_exists_or_lt(1), True),
    "not_exists_or_lt of a value": (F(Thing.count).not_exists_or_lt(5), False),
    "= inside of a nested class": (F(Thing, lambda t: t.place.city if t.place else None).eq("Bonn"), True),
}
