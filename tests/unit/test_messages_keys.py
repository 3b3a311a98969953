"""Key templates, keys, and ranges of keys that are refused: each message, whole."""

from __future__ import annotations

import enum
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest

from dynamap import Key, KeyValueError, ModelError, Normalize, RequestError, Table, entity
from dynamap.model.templates import parse_template


class Colours(enum.Flag):
    RED = 1
    BLUE = 2


class Weight(enum.Enum):
    LIGHT = 1.5


class Nothing(enum.Enum):
    """No members."""


class Grade(enum.Enum):
    LOW = 1
    HIGH = 100


class Sign(enum.Enum):
    PLUS = "#"
    MINUS = "-"


HINTS: dict[str, Any] = {
    "id": str,
    "name": str,
    "no": int,
    "price": Decimal,
    "at": datetime,
    "day": date,
    "hour": time,
    "paid": bool,
    "weight": float,
    "colours": Colours,
    "weights": Weight,
    "nothing": Nothing,
    "grade": Grade,
    "sign": Sign,
    "alike": Literal["true", True],
    "state": Literal["open", "paid"],
}


def template(text: str, part: str = "sk") -> Any:
    return parse_template(text, HINTS, owner="Order", part=part, escape=True)


# a template, with which words it is refused
TEMPLATES: dict[str, str] = {
    "": ("Order: the sk template '' is empty: a key needs at least one character"),
    "A#{id": ("Order: the sk template 'A#{id' has a '{' without its '}': write '{{' for a literal brace"),
    "A#id}": ("Order: the sk template 'A#id}' has a '}' without its '{': write '}}' for a literal brace"),
    "{id:}": ("Order: the sk template '{id:}' has an empty format in {id:}: leave out the ':'"),
    "A#{nope}": (
        "Order: the sk template 'A#{nope}' names 'nope', which is no field: the fields are id, name, no, "
        "price, at, day, hour, paid, weight, colours, weights, nothing, grade, sign, alike, state"
    ),
    "id": ("Order: the sk template 'id' has the literal 'id', the name of a field: write '{id}' for its value"),
    "{id}{name}": (
        "Order: the sk template '{id}{name}' has nothing between {id} and {name}, so that different values "
        "share a key: put a '#' between them"
    ),
    "{id:07x}": (
        "Order: the sk template '{id:07x}' has the format '07x' for field 'id': formats are 'ordered' and "
        "'raw' for text, a width such as '012' for an int, and width and decimals such as '09.2' for a "
        "Decimal"
    ),
    "\ud800": ("Order: the sk template '\\ud800' holds a surrogate, which UTF-8 cannot write"),
    "{no:ordered}": (
        "Order: the sk template '{no:ordered}' cannot hold 'no': it is no str: the format 'ordered' is for "
        "text, numbers have a width and everything else has its own order"
    ),
    "{sign:ordered}": (
        "Order: the sk template '{sign:ordered}' cannot hold 'sign': it is no str: the format 'ordered' is for text"
    ),
    "{at:012}": (
        "Order: the sk template '{at:012}' cannot hold 'at': it has the format '012', but an aware "
        "datetime has a fixed form: leave the format out"
    ),
    "{id:012}": (
        "Order: the sk template '{id:012}' cannot hold 'id': it has a width, but is a str: widths are for numbers"
    ),
    "{sign:012}": (
        "Order: the sk template '{sign:012}' cannot hold 'sign': it has a width, but is a Sign: widths are for numbers"
    ),
    "{no:0101}": (
        "Order: the sk template '{no:0101}' cannot hold 'no': it has the width 101: it must be from 1 to 100"
    ),
    "{price:02.4}": (
        "Order: the sk template '{price:02.4}' cannot hold 'price': it has the width 2: it must be from 6 to 100"
    ),
    "{no:09.2}": (
        "Order: the sk template '{no:09.2}' cannot hold 'no': it has decimals in its format, but is an "
        "int: write '{no:09}'"
    ),
    "{no}": (
        "Order: the sk template '{no}' cannot hold 'no': it is a number in a sort key, where '10' sorts "
        "before '9': give it a width, such as '{no:012}'"
    ),
    "{grade}": (
        "Order: the sk template '{grade}' cannot hold 'grade': it is a number in a sort key, where '10' "
        "sorts before '9': give it a width, such as '{grade:012}'"
    ),
    "{price}": (
        "Order: the sk template '{price}' cannot hold 'price': it is a Decimal and needs a width and "
        "decimals, the point counted, such as '{price:012.2}'"
    ),
    "{weight}": (
        "Order: the sk template '{weight}' cannot hold 'weight': it is of type float, which keys cannot "
        "hold: use str, int, Decimal, datetime, date, time, UUID, bool, an Enum or a Literal"
    ),
    "{colours}": (
        "Order: the sk template '{colours}' cannot hold 'colours': it is a Flag, whose members combine, so "
        "that no text stands for each: use an Enum"
    ),
    "{weights}": (
        "Order: the sk template '{weights}' cannot hold 'weights': it has a choice that is a float: "
        "choices in keys are str or int"
    ),
    "{nothing}": (
        "Order: the sk template '{nothing}' cannot hold 'nothing': it has no choices, so that there is no key: add some"
    ),
    "{grade:02}": (
        "Order: the sk template '{grade:02}' cannot hold 'grade': it has a choice that does not fit the 2 "
        "digits of its placeholder: declare a greater width, or give less"
    ),
    "{sign:raw}": (
        "Order: the sk template '{sign:raw}' cannot hold 'sign': it has a choice that contains the "
        "delimiter '#', which raw text does not escape: leave out ':raw', or change the value"
    ),
    "{alike}": (
        "Order: the sk template '{alike}' cannot hold 'alike': it has two choices with the same text in a "
        "key: give them different values"
    ),
    "{id:ordered}!{name}": (
        "Order: the sk template '{id:ordered}!{name}' cannot hold 'id': it is ordered, but '!' follows, "
        "which sorts among its characters: let a '#' follow, or nothing"
    ),
    "{id}-{name}": (
        "Order: the sk template '{id}-{name}' cannot hold 'id': it is separated from 'name' by '-' only, "
        "which its values can hold too, so that different values share a key: put a '#' between them, or "
        "write '{id:raw}', which refuses it"
    ),
}


@pytest.mark.parametrize("text", TEMPLATES, ids=[repr(text[:20]) for text in TEMPLATES])
def test_a_template_that_gives_no_keys_is_refused(text: str) -> None:
    with pytest.raises(ModelError) as raised:
        template(text)
    assert str(raised.value) == TEMPLATES[text]


def test_more_literal_text_than_a_key_may_have_is_refused() -> None:
    with pytest.raises(ModelError) as raised:
        template("x" * 1025)
    assert str(raised.value) == (
        "Order: the sk template '" + "x" * 1025 + "' has 1025 bytes of literal text, DynamoDB takes 1024: shorten it"
    )


def refused(text: str, **values: Any) -> Callable[[], object]:
    return lambda: template(text).render(values)


@entity("ORDER", pk="ORDER#{id}", sk="ORDER")
class Order:
    id: str


@entity("MAIL", pk="MAIL#{address}", sk="MAIL")
class Mail:
    address: Annotated[str, Normalize(str.casefold)]


@entity("FREE", pk="{kind}#{id}", sk="ORDER")
class Free:
    id: str
    kind: str


@entity("NUMBERED")
class Numbered:
    no: int


@entity("NAMED")
class Named:
    name: str


Orders = Table("orders", [Order], indexes=[])
Mails = Table("mails", [Mail])
Shared = Table("shared", [Order, Free])
Numbers = Table("numbers", [Numbered], pk=Key("no", int), sk=None)
Names = Table("names", [Named], pk="name", sk=None)


# values without a key
VALUES: dict[str, tuple[Callable[[], object], str]] = {
    "missing": (refused("A#{id}"), "Order.id is missing: the sk template 'A#{id}' needs a value for it"),
    "too long": (
        refused("A#{id}", id="x" * 1023),
        ("Order: the sk template 'A#{id}' gives 1025 bytes of UTF-8, DynamoDB takes 1024: shorten Order.id"),
    ),
    "empty": (
        refused("{id}", id=""),
        ("Order: the sk template '{id}' gives an empty key, which DynamoDB does not take: give Order.id a text"),
    ),
    "a surrogate": (
        refused("A#{id}", id="\ud800"),
        ("Order: the sk template 'A#{id}' got a surrogate, which UTF-8 cannot write: change Order.id"),
    ),
    "of another type": (refused("A#{id}", id=5), "Order.id must be a str, not int (in the sk template 'A#{id}')"),
    "another choice": (refused("{sign}", sign="+"), "Order.sign must be a Sign (in the sk template '{sign}')"),
    "another choice of a Literal": (
        refused("{state}", state="no"),
        ("Order.state must be one of 'open', 'paid' (in the sk template '{state}')"),
    ),
    "a delimiter in raw text": (
        refused("{id:raw}", id="a#b"),
        (
            "Order.id contains the delimiter '#', which raw text does not escape: leave out ':raw', or change "
            "the value (in the sk template '{id:raw}')"
        ),
    ),
    "the literal that ends a raw text": (
        refused("{id:raw}-{name}", id="a-b", name="c"),
        (
            "Order.id contains '-', which ends it in its template: leave out ':raw', or change the value (in "
            "the sk template '{id:raw}-{name}')"
        ),
    ),
    "an int of many digits": (
        lambda: template("{no}", "pk").render({"no": 1 << 8193}),
        ("Order.no has more digits than a key has room for: give a smaller number (in the pk template '{no}')"),
    ),
    "an int that is too wide": (
        refused("{no:03}", no=1000),
        (
            "Order.no does not fit the 3 digits of its placeholder: declare a greater width, or give less (in "
            "the sk template '{no:03}')"
        ),
    ),
    "an infinite Decimal": (
        refused("{price:09.2}", price=Decimal("inf")),
        ("Order.price must be a finite Decimal (in the sk template '{price:09.2}')"),
    ),
    "a Decimal with more decimals": (
        refused("{price:09.2}", price=Decimal("0.001")),
        (
            "Order.price has more than the 2 decimals of its placeholder: round it first, or declare more (in "
            "the sk template '{price:09.2}')"
        ),
    ),
    "a Decimal that is too wide": (
        refused("{price:06.2}", price=Decimal(1000)),
        (
            "Order.price does not fit the 3 digits before the point that its placeholder has: declare a "
            "greater width, or give a smaller number (in the sk template '{price:06.2}')"
        ),
    ),
    "a naive datetime": (
        refused("{at}", at=datetime(2024, 5, 6)),
        (
            "Order.at is a datetime without a zone: make it aware, for example with tzinfo=timezone.utc (in "
            "the sk template '{at}')"
        ),
    ),
    "a datetime out of the years": (
        refused("{at}", at=datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1)))),
        ("Order.at is not between the years 0001 and 9999 in UTC (in the sk template '{at}')"),
    ),
    "a time with a zone": (
        refused("{hour}", hour=time(1, tzinfo=timezone.utc)),
        (
            "Order.hour is a time with a zone, which has no order without its date: leave out the zone, or use "
            "a datetime (in the sk template '{hour}')"
        ),
    ),
}

# keys of items, by their fields
ITEMS: dict[str, tuple[Callable[[], object], str]] = {
    "no such field": (
        lambda: Orders.entity(Order).key({"id": "x", "name": "y"}),
        "Order has no key field 'name': its key is id",
    ),
    "another type": (
        lambda: Orders.entity(Order).key({"id": 5}),
        "Order.id must be a str, not int (in the pk template 'ORDER#{id}')",
    ),
    "what Normalize cannot take": (
        lambda: Mails.entity(Mail).key({"address": 5}),
        "Mail.address has no key: a str expected, got int; use str(value)",
    ),
    "the key of another entity": (
        lambda: Shared.entity(Free).key({"id": "1", "kind": "ORDER"}),
        (
            "Free: the pk template '{kind}#{id}' would give a key of Order: choose another value for "
            "Free.kind, or permit it with Table(overlap=...)"
        ),
    ),
    "a field that is missing": (
        lambda: Numbers.entity(Numbered).key({}),
        "Numbered.no is missing: the key needs a value for it",
    ),
    "a field that is empty": (
        lambda: Names.entity(Named).key({"name": ""}),
        ("Named.name is empty, which DynamoDB does not take in a key: give it a value"),
    ),
    "a field that is too long": (
        lambda: Names.entity(Named).key({"name": "x" * 2049}),
        ("Named.name has 2049 bytes; DynamoDB takes 2048 in the key attribute 'name': shorten it"),
    ),
    "a number of another type": (
        lambda: Numbers.entity(Numbered).key({"no": "5"}),
        ("Numbered.no has no key: an int expected, got str; use int(value), or declare str"),
    ),
    "an index without mapping": (
        lambda: Orders.entity(Order).index("gsi"),
        ("Order does not map onto an index 'gsi'; its indexes are none: declare it with indexes=[Index('gsi', ...)]"),
    ),
}

# ranges and leading fields of a sort key
RANGES: dict[str, tuple[Callable[[], object], str]] = {
    "nothing left": (
        lambda: template("{no:03}").bounds({"no": 1}, "ge", 5),
        ("Order: the sk template '{no:03}' has no field left for a range: all of its fields are given"),
    ),
    "reversed": (
        lambda: template("{no:03}").bounds({}, "between", 5, 4),
        ("Order.no: the low end of between() is above its high end: exchange them"),
    ),
    "begins_with of a number": (
        lambda: template("{no:03}").bounds({}, "begins_with", "1"),
        "Order.no takes no begins_with: it is an int, begins_with is for str",
    ),
    "a text without order": (
        lambda: template("{id}#{name}").bounds({}, "ge", "a"),
        (
            "Order.id takes no range, because keys of the sk template '{id}#{name}' do not sort as it does: "
            "declare it as {id:ordered}, followed by a '#' or nothing"
        ),
    ),
    "a choice without order": (
        lambda: template("{sign}").bounds({}, "ge", Sign.PLUS),
        (
            "Order.sign takes no range, because keys of the sk template '{sign}' do not sort as it does: only "
            "str, padded numbers, dates, times and UUIDs have an order in keys"
        ),
    ),
    "a beginning that runs into the literal": (
        lambda: template("{id}END").bounds({}, "begins_with", "xE"),
        (
            "Order.id: this beginning cannot be told from the literal 'END' that follows in the template "
            "'{id}END': filter for it instead"
        ),
    ),
    "None": (
        lambda: template("A#{id}#{no:03}").prefix({"id": None}),
        ("Order.id is None: give a value, or leave the field out for all of its values"),
    ),
    "a gap": (
        lambda: template("A#{id}#{name}#{no:03}").prefix({"name": "x"}),
        (
            "Order.name is given without Order.id, which stands before it in the sk template "
            "'A#{id}#{name}#{no:03}': give both"
        ),
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_without_a_key_is_refused(name: str) -> None:
    make, message = VALUES[name]
    with pytest.raises(KeyValueError) as raised:
        make()
    assert str(raised.value) == message


@pytest.mark.parametrize("name", ITEMS)
def test_an_item_without_a_key_is_refused(name: str) -> None:
    make, message = ITEMS[name]
    with pytest.raises(RequestError) as raised:
        make()
    assert str(raised.value) == message


@pytest.mark.parametrize("name", RANGES)
def test_a_range_that_keys_cannot_answer_is_refused(name: str) -> None:
    make, message = RANGES[name]
    with pytest.raises(RequestError) as raised:
        make()
    assert str(raised.value) == message
