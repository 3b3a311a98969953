"""Keys from values, values from keys, prefixes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal, localcontext
from enum import Enum, IntEnum
from typing import Any, Literal
from uuid import UUID

import pytest

from dynamap.errors import KeyValueError
from dynamap.model.templates import KeyMismatch, KeyRange, KeyTemplate, parse_template


class Kind(str, Enum):
    OPEN = "open"
    ODD = "a#b"
    NONE = ""


class Level(IntEnum):
    LOW = 1
    HIGH = 10


HINTS: Mapping[str, Any] = {
    "id": str,
    "name": str | None,
    "seq": int,
    "price": Decimal,
    "at": datetime,
    "day": date,
    "hour": time,
    "uuid": UUID,
    "kind": Kind,
    "level": Level,
    "flag": bool,
    "tag": Literal["a", "b", 1],
}
UTC = timezone.utc


class Fold(tzinfo):
    """A zone in the hour that clocks run through twice: two hours ahead at first, then one."""

    def utcoffset(self, moment: datetime | None, /) -> timedelta:
        return timedelta(hours=1 if moment is not None and moment.fold else 2)

    def dst(self, moment: datetime | None, /) -> timedelta | None:
        del moment
        return None

    def tzname(self, moment: datetime | None, /) -> str:
        del moment
        return "FOLD"


def template(text: str, part: str = "sk") -> KeyTemplate:
    return parse_template(text, HINTS, owner="Order", part=part)


@pytest.mark.parametrize(
    ("text", "values", "key"),
    [
        ("BALANCE", {}, "BALANCE"),
        ("A#{id}#{name}", {"id": "p#q", "name": "r"}, "A#p$23q#r"),
        ("A#{id}#{name}", {"id": "p", "name": "q#r"}, "A#p#q$23r"),
        ("A#{id}#{name}", {"id": "", "name": ""}, "A##"),
        ("{id}", {"id": "$23"}, "$2423"),
        ("student#{id}", {"id": "student#x"}, "student#student$23x"),
        ("{id:ordered}", {"id": ' !"#$%\0'}, "$20$21$22$23$24%$00"),
        ("{id:raw}", {"id": "a$b c"}, "a$b c"),
        ("{{{id}}}", {"id": "x"}, "{x}"),
        ("{seq:04}", {"seq": 0}, "0000"),
        ("{seq:04}", {"seq": 10}, "0010"),
        ("{seq:04}", {"seq": -2}, "-9998"),
        ("{seq:04}", {"seq": -10}, "-9990"),
        ("{seq:04}", {"seq": Level.HIGH}, "0010"),
        ("{price:09.2}", {"price": Decimal("12.5")}, "000012.50"),
        ("{price:09.2}", {"price": Decimal("1.2E+3")}, "001200.00"),
        ("{price:09.2}", {"price": Decimal("-0.01")}, "-999999.99"),
        ("{price:09.2}", {"price": Decimal("-0")}, "000000.00"),
        ("{price:09.2}", {"price": Decimal("1.5000000")}, "000001.50"),
        ("{price:05.0}", {"price": Decimal(12)}, "00012"),
        ("{at}", {"at": datetime(2024, 1, 1, tzinfo=UTC)}, "2024-01-01T00:00:00.000000Z"),
        ("{at}", {"at": datetime(33, 1, 1, tzinfo=UTC)}, "0033-01-01T00:00:00.000000Z"),
        ("{at}", {"at": datetime(2024, 1, 1, 0, tzinfo=timezone(timedelta(hours=2)))}, "2023-12-31T22:00:00.000000Z"),
        ("{at}", {"at": datetime(2024, 10, 27, 2, 30, tzinfo=Fold())}, "2024-10-27T00:30:00.000000Z"),
        ("{at}", {"at": datetime(2024, 10, 27, 2, 30, tzinfo=Fold(), fold=1)}, "2024-10-27T01:30:00.000000Z"),
        ("{day}", {"day": date(1, 1, 1)}, "0001-01-01"),
        ("{hour}", {"hour": time(1, 2)}, "01:02:00.000000"),
        ("{uuid}", {"uuid": UUID(int=255)}, "00000000-0000-0000-0000-0000000000ff"),
        ("{kind}", {"kind": Kind.ODD}, "a$23b"),
        ("K#{kind}", {"kind": Kind.NONE}, "K#"),
        ("{id}", {"id": Kind.OPEN}, "open"),
        ("{level:03}", {"level": Level.HIGH}, "010"),
        ("{flag}", {"flag": False}, "false"),
        ("{seq:01}-{flag}", {"seq": 0, "flag": True}, "0-true"),
    ],
)
def test_a_key_is_rendered_and_parsed_back(text: str, values: Mapping[str, Any], key: str) -> None:
    parsed = template(text)
    assert parsed.render(values) == key
    again = parsed.parse(key)
    assert parsed.render(again) == key
    if "at" not in values:  # a datetime of another zone, or in a fold, does not compare as equal to its UTC form
        assert again == values


def test_an_unpadded_int_stands_in_a_partition_key() -> None:
    parsed = template("V#{seq}#{tag}", "pk")
    assert parsed.render({"seq": -7, "tag": 1}) == "V#-7#1"
    assert parsed.parse("V#-7#1") == {"seq": -7, "tag": 1}
    for other in ("V#07#1", "V#+7#1", "V#٧#1", "V#1_0#1", "V#-0#1", "V##1"):
        with pytest.raises(KeyMismatch):
            parsed.parse(other)


def test_a_decimal_does_not_depend_on_the_context() -> None:
    value = Decimal("1234567890123.25")
    with localcontext() as context:
        context.prec = 3
        key = template("{price:020.2}").render({"price": value})
        assert key == "00001234567890123.25"
        assert template("{price:020.2}").parse(key) == {"price": value}


@pytest.mark.parametrize(
    ("text", "values", "problem"),
    [
        ("A#{id}", {}, "Order.id is missing"),
        ("A#{id}", {"id": None}, "Order.id is missing"),
        ("A#{id}", {"id": 5}, "Order.id must be a str, not int"),
        ("A#{id}", {"id": ["a"]}, "Order.id must be a str, not list"),
        ("{seq:03}", {"seq": "5"}, "Order.seq must be an int, not str"),
        ("{seq:03}", {"seq": True}, "Order.seq must be an int, not bool"),
        ("{seq:03}", {"seq": 1.0}, "Order.seq must be an int, not float"),
        ("{seq:03}", {"seq": 1000}, "does not fit the 3 digits"),
        ("{seq:03}", {"seq": -1000}, "does not fit the 3 digits"),
        ("{price:09.2}", {"price": 5}, "must be a Decimal, not int"),
        ("{price:09.2}", {"price": Decimal("0.005")}, "more than the 2 decimals"),
        ("{price:09.2}", {"price": Decimal("1E-400")}, "more than the 2 decimals"),
        ("{price:09.2}", {"price": Decimal(1000000)}, "does not fit the 6 digits"),
        ("{price:09.2}", {"price": Decimal("-1E+999999")}, "does not fit the 6 digits"),
        ("{price:09.2}", {"price": Decimal("NaN")}, "finite"),
        ("{price:09.2}", {"price": Decimal("-Infinity")}, "finite"),
        ("{at}", {"at": datetime(2024, 1, 1)}, "without a zone"),
        ("{at}", {"at": date(2024, 1, 1)}, "must be an aware datetime, not date"),
        ("{at}", {"at": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=2)))}, "0001 and 9999"),
        ("{day}", {"day": datetime(2024, 1, 1, tzinfo=UTC)}, "must be a date, not datetime"),
        ("{hour}", {"hour": time(1, tzinfo=UTC)}, "time with a zone"),
        ("{uuid}", {"uuid": str(UUID(int=1))}, "must be a UUID, not str"),
        ("{kind}", {"kind": "open"}, "must be a Kind"),
        ("{flag}", {"flag": 1}, "must be a bool"),
        ("{id}", {"id": ""}, "empty key"),
        ("{id:raw}", {"id": "a#b"}, "contains the delimiter '#'"),
        ("{id:raw}-{name}", {"id": "a-b", "name": "c"}, "contains '-'"),
        ("{id:raw}aa{name}", {"id": "xa", "name": "c"}, "contains 'aa'"),
        ("A#{id}", {"id": "\ud800"}, "surrogate"),
        ("A#{id}", {"id": "x" * 1023}, "gives 1025 bytes of UTF-8, DynamoDB takes 1024"),
        ("A#{id}", {"id": "é" * 512}, "gives 1026 bytes"),
        ("A#{id}", {"id": "#" * 341}, "gives 1025 bytes"),
    ],
)
def test_a_value_without_a_key_is_refused_by_name(text: str, values: Mapping[str, Any], problem: str) -> None:
    with pytest.raises(KeyValueError) as caught:
        template(text).render(values)
    assert problem in str(caught.value)
    assert "Order" in str(caught.value)


def test_a_choice_is_told_by_its_type() -> None:
    with pytest.raises(KeyValueError, match="must be one of 'a', 'b', 1"):
        template("{tag}", "pk").render({"tag": True})


def test_a_partition_key_may_have_twice_the_bytes_and_a_huge_int_is_refused() -> None:
    assert len(template("A#{id}", "pk").render({"id": "x" * 2046})) == 2048
    assert len(template("A#{id}", "gsi1 pk").render({"id": "x" * 2046})) == 2048
    with pytest.raises(KeyValueError, match="2049 bytes"):
        template("A#{id}", "pk").render({"id": "x" * 2047})
    with pytest.raises(KeyValueError, match="more digits"):
        template("{seq}", "pk").render({"seq": 10**9999})


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("ORDER#{id}", "OTHER#1"),
        ("ORDER#{id}", "ORDER"),
        ("ORDER#{id}", "ORDER#1#2"),
        ("ORDER#{id}", "ORDER#a$b"),
        ("ORDER#{id}", "ORDER#a$20"),
        ("{id:ordered}", "a b"),
        ("{id}#{id}", "a#b"),
        ("{id}#END", "a#en"),
        ("{id}#END", "END"),
        ("{id}x#{name}", "#b"),
        ("{id}", ""),
        ("{seq:03}", "7"),
        ("{seq:03}", "-000"),
        ("{seq:03}", "-07"),
        ("{seq:03}", "0x7"),
        ("{seq:03}", "٠٠٧"),
        ("{seq:03}-{id}", "0007-a"),
        ("{price:06.2}", "0012.5"),
        ("{price:06.2}", "00.125"),
        ("{price:06.2}", "-000.00"),
        ("{at}", "2024-01-01T00:00:00Z"),
        ("{at}", "2024-01-01 00:00:00.000000Z"),
        ("{at}", "2024-13-01T00:00:00.000000Z"),
        ("{day}", "20240101"),
        ("{hour}", "01:02"),
        ("{uuid}", "00000000-0000-0000-0000-0000000000FF"),
        ("{uuid}", "000000000000000000000000000000ff"),
        ("{kind}", "closed"),
        ("{flag}", "True"),
    ],
)
def test_another_text_is_no_key(text: str, key: str) -> None:
    with pytest.raises(KeyMismatch, match="Order"):
        template(text).parse(key)


@pytest.mark.parametrize(
    ("text", "values", "prefix"),
    [
        ("ORD#{id}#{name}", {}, "ORD#"),
        ("ORD#{id}#{name}", {"id": "1"}, "ORD#1#"),
        ("ORD#{id}#{name}", {"id": "1", "name": "2"}, "ORD#1#2"),
        ("ORD#{id}#{name}#END", {"id": ""}, "ORD##"),
        ("{id}#{name}", {}, ""),
        ("{seq:03}/{name}", {"seq": 1}, "001/"),
        ("{id}#{seq:03}#{id}#{name}", {"id": "a"}, "a#"),
        ("{id}#{seq:03}#{id}#{name}", {"id": "a", "seq": 1}, "a#001#a#"),
        ("BALANCE", {}, "BALANCE"),
        ("A#{id}", {"id": "1", "unrelated": 5}, "A#1"),
    ],
)
def test_a_prefix_ends_before_the_next_field(text: str, values: Mapping[str, Any], prefix: str) -> None:
    assert template(text).prefix(values) == prefix


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"name": "x"}, "Order.name is given without Order.id"),
        ({"id": "a", "seq": 1}, "Order.seq is given without Order.name"),
        ({"id": None}, "Order.id is None"),
        ({"id": "a", "name": None}, "Order.name is None"),
        ({"id": "x" * 1100}, "bytes of UTF-8"),
        ({"id": 5}, "must be a str"),
    ],
)
def test_a_prefix_never_widens_silently(values: Mapping[str, Any], problem: str) -> None:
    with pytest.raises(KeyValueError, match=problem):
        template("A#{id}#{name}#{seq:03}").prefix(values)


def test_a_condition_is_equality_only_for_a_complete_key() -> None:
    parsed = template("ORD#{id}#{name}")
    assert parsed.condition({"id": "1", "name": "2"}) == KeyRange("eq", ("ORD#1#2",))
    assert parsed.condition({"id": "1"}) == KeyRange("begins_with", ("ORD#1#",))
    assert template("{id}#{name}").condition({}) == KeyRange("all")
    assert parsed.is_complete({"id": "", "name": ""})
    assert not parsed.is_complete({"id": "1", "name": None})
    assert parsed.next_field({"id": "1"}) == "name"
    assert parsed.next_field({"id": "1", "name": "2"}) is None


def test_a_refused_text_has_no_key() -> None:
    parsed = template("{id}#{name}").refusing("Account", {0: ("BALANCE",), 1: ("x", "y")})
    assert parsed.render({"id": "BALANCE", "name": "z"}) == "BALANCE#z"
    with pytest.raises(KeyValueError, match=r"key of Account: choose another value for Order.id and Order.name"):
        parsed.render({"id": "BALANCE", "name": "y"})
    with pytest.raises(KeyMismatch):
        parsed.parse("BALANCE#y")
