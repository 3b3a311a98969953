"""Types that cannot be stored, and values of a type that can: each message, whole."""

from __future__ import annotations

import enum
from collections.abc import Callable
from datetime import time, tzinfo
from typing import Annotated, Any

import attrs
import cattrs
import pytest

from dynamap import Attribute, EncodeError, Extras, ModelError, Table, entity
from tests.fakes import store_of


class Nothing(enum.Enum):
    """No members."""


class Pair(enum.Enum):
    ONE = (1, 2)


@attrs.frozen
class Card:
    number: str


@attrs.frozen
class Transfer:
    account: str


@attrs.frozen
class Inner:
    id: Annotated[str, Attribute(stored=False)]


class Moved(tzinfo):
    """No offset but with a date."""

    def utcoffset(self, _moment: object) -> None: ...

    def dst(self, _moment: object) -> None: ...

    def tzname(self, _moment: object) -> None: ...


def table(hint: Any, **options: Any) -> Table:
    made = type("Order", (), {"__annotations__": {"id": str, "value": hint}})
    return Table("orders", [entity("ORDER", pk="ORDER#{id}", sk="ORDER")(made)], **options)


def reading() -> cattrs.Converter:
    """A converter that knows how to read complex numbers, but not how to write them."""
    converter = cattrs.Converter()
    converter.register_structure_hook(complex, lambda plain, _: complex(plain))
    return converter


DECLARED: dict[str, tuple[Callable[[], object], str]] = {
    "an enum without members": (lambda: table(Nothing), "Order.value: the enum Nothing has no members; add some"),
    "an enum of pairs": (
        lambda: table(Pair),
        (
            "Order.value: an enum of plain single values expected, a value of Pair is a tuple; give the field "
            "Attribute(encode=, decode=)"
        ),
    ),
    "what is not stored in a nested class": (
        lambda: table(Inner),
        (
            "Inner.id: stored=False needs a key to recover the field from, a nested value has none; store it, "
            "or give it a default"
        ),
    ),
    "an unknown type": (
        lambda: table(complex),
        (
            "Order.value: the type complex is not known; give the field Attribute(encode=, decode=), or the "
            "table a cattrs converter with hooks for it"
        ),
    ),
    "a type that the converter cannot write": (
        lambda: table(complex, converter=reading()),
        ("Order.value: the converter has no unstructure hook for complex; register one"),
    ),
    "a type that the converter does not know": (
        lambda: table(complex, converter=cattrs.Converter()),
        (
            "Order.value: neither dynamap nor the converter knows the type complex; give the field "
            "Attribute(encode=, decode=), or the table a cattrs converter with hooks for it"
        ),
    ),
    "two types that are stored alike": (
        lambda: table(int | float),
        (
            "Order.value: int and float are stored alike and cannot be told apart when read; declare one of "
            "them, or classes with a Literal tag each"
        ),
    ),
    "two classes without tags": (
        lambda: table(Card | Transfer),
        (
            "Order.value: Card and Transfer are both stored as maps and cannot be told apart when read; give "
            'each a field of the same name with a value of its own, as kind: Literal["card"] = "card"'
        ),
    ),
}


def put(hint: Any, value: Any) -> Callable[[], object]:
    def make() -> object:
        made = table(hint)
        model: Any = made.entities[0]
        store: Any = store_of(made)
        return store.of(model).put(model(id="a", value=value)).params()

    return make


def deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


VALUES: dict[str, tuple[Callable[[], object], str]] = {
    "another type": (put(int, "5"), ("Order $.value: an int expected, got str; use int(value), or declare str")),
    "an extra of a known name": (
        put(Annotated[dict[str, Any], Extras()], {"id": "b"}),
        ("Order $.value.id: an extra with the name of an attribute that is stored anyway; leave it out"),
    ),
    "more than 32 levels": (
        put(Any, deep(40)),
        ("Order $.value[0][0][0]: nested deeper than DynamoDB's 32 levels; store the inner part as its own item"),
    ),
    "a time whose zone needs a date": (
        put(time, time(12, tzinfo=Moved())),
        ("Order $.value: a time whose zone has no fixed offset; store a datetime, or use value.replace(tzinfo=None)"),
    ),
    "an empty key": (
        put(dict[str, int], {"": 1}),
        (
            "Order $.value: an empty text as a key, which DynamoDB does not take as a name; leave it out, or "
            "choose another key"
        ),
    ),
    "an empty key of anything": (
        put(Any, {"": 1}),
        (
            "Order $.value: an empty text as a key, which DynamoDB does not take as a name; leave it out, or "
            "choose another key"
        ),
    ),
    "an int of many digits": (
        put(int, 10**130),
        ("Order $.value: a number outside of DynamoDB's range of 1E-130 to 9.99E+125; scale it, or store it as text"),
    ),
    "39 digits": (
        put(int, 10**38 + 1),
        ("Order $.value: a number of 39 significant digits, DynamoDB holds 38; round it, or store it as text"),
    ),
}


@pytest.mark.parametrize("name", DECLARED)
def test_a_type_that_cannot_be_stored_is_refused_by_its_field(name: str) -> None:
    make, message = DECLARED[name]
    with pytest.raises(ModelError) as raised:
        make()
    assert str(raised.value) == message


@pytest.mark.parametrize("name", VALUES)
def test_a_value_that_cannot_be_stored_is_refused_by_its_path(name: str) -> None:
    make, message = VALUES[name]
    with pytest.raises(EncodeError) as raised:
        make()
    assert str(raised.value) == message
