"""Declarations and keys that are refused for rare reasons: the whole message says what and how to mend it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Generic, TypeVar

import attrs
import pytest

from dynamap import (
    Attribute,
    EpochSeconds,
    Extras,
    F,
    GlobalIndex,
    Index,
    KeyValueError,
    ModelError,
    Table,
    entity,
)

T = TypeVar("T")


@attrs.frozen
class Box(Generic[T]):
    value: T


def table_with(hint: Any, **options: Any) -> Table:
    made = type("Order", (), {"__annotations__": {"id": str, "value": hint}})
    return Table("orders", [entity("ORDER", pk="ORDER#{id}", sk="ORDER")(made)], **options)


def indexed(when: Any = None, **keys: Any) -> Table:
    @entity("ORDER", pk="ORDER#{id}", sk="ORDER", version="revision", indexes=[Index("gsi", when=when, **keys)])
    class Order:
        __qualname__ = "Order"
        id: str
        state: str = "open"
        revision: int = 0

    return Table("orders", [Order], indexes=[GlobalIndex("gsi")])


@entity("OTHER", pk="OTHER#{id}", sk="OTHER")
class Other:
    id: str
    colour: str = "red"


@entity("LAPSED", pk="{id}", sk="LAPSED", indexes=[Index("gsi", "{id}", "{id}", lambda: F(Lapsed, lapse).exists())])
class Lapsed:
    id: str


def lapse(lapsed: Any) -> Any:
    return lapsed.until


@entity("UNSTORED", pk="{id}", sk="UNSTORED", indexes=[Index("gsi", pk="{colour}")])
class Unstored:
    id: str
    colour: Annotated[str, Attribute(stored=False)] = "red"


@entity("RENAMED", pk="{id}", sk="RENAMED", version="revision")
class Renamed:
    id: str
    revision: Annotated[int, Attribute(aliases=("version",))] = 0


@entity("NULLED", pk="{id}", sk="NULLED")
class Nulled:
    id: str
    state: str | None = "open"


ENCODED = Attribute(encode=str, decode=str)

NAMES = [f"field{number}" for number in range(101)]


def many_fields() -> Any:
    made = type("Other", (), {"__annotations__": {"id": str, **dict.fromkeys(NAMES, str)}})
    return entity("OTHER", pk="OTHER#{id}", sk="OTHER")(made)


REFUSED: dict[str, tuple[Callable[[], Table], str]] = {
    "two functions on one type": (
        lambda: table_with(list[Annotated[str, ENCODED, Attribute(encode=repr, decode=str)]]),
        "Order.value: two Attribute markers with functions; leave one",
    ),
    "a stored name inside of a list": (
        lambda: table_with(list[Annotated[str, Attribute("other")]]),
        "Order.value: Attribute(name, aliases=, stored=) speaks of a field; put its Annotated around the field's whole "
        "type",
    ),
    "extras inside of a list": (
        lambda: table_with(list[Annotated[dict[str, Any], Extras()]]),
        "Order.value: Extras() speaks of a field; put its Annotated around the field's whole type, a dict",
    ),
    "epoch seconds of a union": (
        lambda: table_with(Annotated[datetime | str, EpochSeconds()]),
        "Order.value: epoch markers go with one type of a union; put Annotated around that type",
    ),
    "one class twice in a union": (
        lambda: table_with(Box[int] | Box[str]),
        "Order.value: Box[int] and Box[str] are the same class and cannot be told apart; make two classes of them",
    ),
    "names that are empty": (
        lambda: table_with(int, names=lambda _: ""),
        "Order.id: the stored name is empty; give the field Attribute(name)",
    ),
    "when= of another class": (
        lambda: indexed(lambda: F(Other.colour).eq("red"), pk="STATE#{state}", sk="{id}"),
        "Order: when= of the index 'gsi' speaks of F(Other: colour), a field of Other: use the class's own",
    ),
    "when= of no field": (
        lambda: Table("orders", [Lapsed], indexes=[GlobalIndex("gsi")]),
        ("Lapsed: when= of the index 'gsi' names until: Lapsed has no field 'until'; correct the name"),
    ),
    "an index of what is not stored": (
        lambda: Table("orders", [Unstored], indexes=[GlobalIndex("gsi", sk=())]),
        ("Unstored.colour is part of the index 'gsi', but not stored, nor part of the key: store it"),
    ),
    "another name for a version": (
        lambda: Table("orders", [Renamed]),
        (
            "Renamed.revision is the version, so it must have no aliases, under which others would go on "
            'counting: give it the stored name alone, as Annotated[int, Attribute("...")]'
        ),
    ),
    "a key whose None is stored": (
        lambda: Table("orders", [Nulled], indexes=[GlobalIndex("gsi", "state", ())]),
        (
            "Nulled.state is a key of the index 'gsi', but its None is stored as NULL, which no key may be: "
            "give it the default None"
        ),
    ),
    "a version in an index": (
        lambda: indexed(pk="STATE#{state}", sk="{revision:016}"),
        "Order.revision is the version, which changes with every write, and part of the index 'gsi': use another field",
    ),
    "too many projected attributes": (
        lambda: Table("others", [many_fields()], indexes=[GlobalIndex("gsi", projection=[*NAMES, "_type"])]),
        "Table 'others': index 'gsi' projects 102 attributes; DynamoDB takes 100 by name: project ALL",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_the_table_says_what_cannot_work_and_what_to_do(name: str) -> None:
    make, message = REFUSED[name]
    with pytest.raises(ModelError) as raised:
        make()
    assert str(raised.value).replace(f"{__name__}.", "") == message


@entity("PRICE", pk="PRICE#{id}", sk="{amount:06.2}")
class Price:
    id: str
    amount: Decimal


def test_a_decimal_wider_than_its_place_is_refused() -> None:
    with pytest.raises(KeyValueError) as raised:
        Table("prices", [Price]).entity(Price).key({"id": "x", "amount": Decimal("1E+9")})
    assert str(raised.value) == (
        "Price.amount does not fit the 3 digits before the point that its placeholder has: declare a greater width, or "
        "give a smaller number (in the sk template '{amount:06.2}')"
    )
