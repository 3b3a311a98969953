"""Which templates are accepted, and what is said about the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum, Flag, IntEnum
from typing import Annotated, Any, Final, Literal, NewType
from uuid import UUID

import pytest

from dynamap.errors import ModelError
from dynamap.model.templates import KeyTemplate, parse_template, sole_field, template_fields

UserId = NewType("UserId", str)


class Kind(Enum):
    OPEN = "open"
    CLOSED = "closed"


class Level(IntEnum):
    LOW = 1
    HIGH = 10


class Access(Flag):
    READ = 1
    WRITE = 2


class Mixed(Enum):
    A = 1
    B = "1"


class Empty(Enum):
    pass


@dataclass
class Address:
    city: str


HINTS: Mapping[str, Any] = {
    "id": str,
    "name": Annotated[str | None, "extra"],
    "user": UserId,
    "seq": int,
    "price": Decimal,
    "at": datetime,
    "uuid": UUID,
    "kind": Kind,
    "level": Level,
    "flag": bool,
    "tag": Literal["a", "b"],
    "final": Final[str],
    "score": float,
    "tags": set[str],
    "codes": list[str],
    "blob": bytes,
    "address": Address,
    "delta": timedelta,
    "access": Access,
    "mixed": Mixed,
    "empty": Empty,
    "either": str | int,
    "anything": Any,
}


def parse(text: str, part: str = "sk", *, escape: bool = True) -> KeyTemplate:
    return parse_template(text, HINTS, owner="Order", part=part, escape=escape)


@pytest.mark.parametrize(
    ("text", "problem", "remedy"),
    [
        ("", "is empty", "at least one character"),
        ("A#{nope}", "'nope'", "id, name, user"),
        ("A#{}", "''", "the fields are"),
        ("A#{id.x}", "'id.x'", "the fields are"),
        ("A#{id!r}", "'id!r'", "the fields are"),
        ("id", "literal 'id'", "'{id}'"),
        ("{seq:03}id", "literal 'id'", "'{id}'"),
        ("{id}{name}", "nothing between {id} and {name}", "'#'"),
        ("{seq:03}{id}", "nothing between {seq} and {id}", "'#'"),
        ("A#{id", "'{' without its '}'", "'{{'"),
        ("A#{i{d}", "'{' without its '}'", "'{{'"),
        ("A#id}", "'}' without its '{'", "'}}'"),
        ("{id:}", "empty format", "leave out"),
        ("{id:upper}", "'upper'", "'ordered' and 'raw'"),
        ("{seq:12}", "'12'", "'012'"),
        ("{seq:012d}", "'012d'", "'012'"),
        ("{seq:00}", "'00'", "'012'"),
        ("\ud800#{id}", "surrogate", "UTF-8"),
        ("{id}-{name}", "by '-' only", "{id:raw}"),
        ("{kind}-{name}", "by '-' only", "put a '#'"),
        ("{name:ordered}/{id}", "'/' follows", "let a '#' follow"),
        ("{name:ordered}/#{id}", "'/#' follows", "let a '#' follow"),
        ("{seq}", "number in a sort key", "{seq:012}"),
        ("{seq:raw}", "number in a sort key", "{seq:012}"),
        ("{level}", "number in a sort key", "{level:012}"),
        ("{level:01}", "does not fit", "greater width"),
        ("{seq:09.2}", "decimals in its format", "{seq:09}"),
        ("{seq:0999}", "width 999", "from 1 to 100"),
        ("{seq:ordered}", "for text", "have a width"),
        ("{price}", "needs a width and decimals", "{price:012.2}"),
        ("{price:09}", "needs a width and decimals", "{price:012.2}"),
        ("{price:03.2}", "width 3", "from 4 to 100"),
        ("{id:012}", "has a width", "widths are for numbers"),
        ("{kind:012}", "has a width", "widths are for numbers"),
        ("{kind:ordered}", "is no str", "for text"),
        ("{at:raw}", "fixed form", "leave the format out"),
        ("{uuid:ordered}", "for text", "its own order"),
        ("{score}", "of type float", "use str, int"),
        ("{tags}", "of type set[str]", "use str, int"),
        ("{codes}", "of type list[str]", "use str, int"),
        ("{blob}", "of type bytes", "use str, int"),
        ("{address}", "of type Address", "use str, int"),
        ("{delta}", "of type timedelta", "use str, int"),
        ("{either}", "str | int", "use str, int"),
        ("{anything}", "Any", "use str, int"),
        ("{access}", "is a Flag", "use an Enum"),
        ("{empty}", "no choices", "no key"),
        ("X" * 1025, "1025 bytes of literal text", "shorten it"),
    ],
)
def test_a_bad_template_says_class_part_problem_and_remedy(text: str, problem: str, remedy: str) -> None:
    with pytest.raises(ModelError) as caught:
        parse(text)
    message = str(caught.value)
    assert message.startswith("Order: the sk template ")
    assert problem in message
    assert remedy in message


def test_choices_with_one_text_are_refused() -> None:
    with pytest.raises(ModelError, match="same text"):
        parse("{mixed}", "pk")


@pytest.mark.parametrize(
    ("text", "part", "fields"),
    [
        ("BALANCE", "sk", ()),
        ("ACCOUNT#{id}", "pk", ("id",)),
        ("{at}", "gsi1 sk", ("at",)),
        ("{seq}", "gsi1 pk", ("seq",)),
        ("{seq}", "pk", ("seq",)),
        ("{level}", "pk", ("level",)),
        ("{level:02}#{id}", "sk", ("level", "id")),
        ("{id}#{id}", "sk", ("id",)),
        ("{seq:03}-{id}", "sk", ("seq", "id")),
        ("{at}{{{id}}}", "sk", ("at", "id")),
        ("{id:raw}-{name}", "sk", ("id", "name")),
        ("{name:ordered}#{id:ordered}", "sk", ("name", "id")),
        ("{name:ordered}", "sk", ("name",)),
        ("{user}#{final}#{tag}#{flag}", "sk", ("user", "final", "tag", "flag")),
        ("{price:09.2}", "sk", ("price",)),
        ("{price:05.0}", "sk", ("price",)),
        ("order#{id}", "sk", ("id",)),
        ("ids", "sk", ()),
    ],
)
def test_a_good_template_lists_its_fields(text: str, part: str, fields: tuple[str, ...]) -> None:
    assert parse(text, part).fields == fields
    assert template_fields(text, owner="Order", part=part, names=list(HINTS)) == fields


def test_without_escaping_text_is_raw_and_needs_no_hash() -> None:
    template = parse("{id}-{kind}-{seq:03}", escape=False)
    key = template.render({"id": "a$b", "kind": Kind.OPEN, "seq": 7})
    assert key == "a$b-open-007"
    assert template.parse(key) == {"id": "a$b", "kind": Kind.OPEN, "seq": 7}
    assert parse("{name:ordered}", escape=False).render({"name": "a b"}) == "a$20b"


@pytest.mark.parametrize("text", ["", "{nope}", "id", "{id}{name}", "{id", "{id:upper}"])
def test_syntax_is_checked_before_types_are_known(text: str) -> None:
    with pytest.raises(ModelError, match="Order: the gsi1 sk template"):
        template_fields(text, owner="Order", part="gsi1 sk", names=["id", "name"])


@pytest.mark.parametrize(
    ("text", "field"),
    [("{seq}", "seq"), ("{seq:012}", None), ("NO#{seq}", None), ("{{seq}}", None), ("{a}#{b}", None), ("seq", None)],
)
def test_a_sole_field_is_a_template_of_one_field(text: str, field: str | None) -> None:
    assert sole_field(text) == field
