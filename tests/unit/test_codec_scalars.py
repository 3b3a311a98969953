"""Single values: what is stored, what is refused with which words, what is read."""

from __future__ import annotations

import enum
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from boto3.dynamodb.types import TypeDeserializer, TypeSerializer

from dynamap.codec import (
    AnyShape,
    Binary,
    Boolean,
    Date,
    DecodeFailure,
    Float,
    Integer,
    Number,
    Shape,
    Text,
    Time,
    Uuid,
)
from dynamap.codec.temporal import DateTime, Duration
from dynamap.errors import EncodeError


class Level(enum.IntEnum):
    LOW = 1


class Word(str, enum.Enum):
    YES = "yes"


IDENTITY = UUID("12345678-1234-5678-1234-567812345678")


@pytest.mark.parametrize(
    ("shape", "value", "wire"),
    [
        (Text(), "x", {"S": "x"}),
        (Text(), "", {"S": ""}),
        (Text(), Word.YES, {"S": "yes"}),
        (Text(), "\U00010000", {"S": "\U00010000"}),
        (Integer(), 0, {"N": "0"}),
        (Integer(), Level.LOW, {"N": "1"}),
        (Float(), 0.5, {"N": "0.5"}),
        (Float(), 3, {"N": "3"}),
        (Float(), 2**53, {"N": "9007199254740992"}),
        (Number(), Decimal("1.10"), {"N": "1.1"}),
        (Boolean(), False, {"BOOL": False}),
        (Binary(), b"", {"B": b""}),
        (Binary(), b"\xff\x00", {"B": b"\xff\x00"}),
        (Uuid(), IDENTITY, {"S": "12345678-1234-5678-1234-567812345678"}),
        (Date(), date(33, 1, 1), {"S": "0033-01-01"}),
        (Time(), time(1, 2), {"S": "01:02:00.000000"}),
        (Duration(), timedelta(seconds=90.5), {"N": "90.5"}),
        (Duration(), timedelta(microseconds=-1), {"N": "-0.000001"}),
        (Duration(), timedelta.max, {"N": "86399999999999.999999"}),
        (Duration(), timedelta(0), {"N": "0"}),
    ],
)
def test_values_have_one_stored_form_and_come_back(shape: Shape, value: Any, wire: dict[str, Any]) -> None:
    assert shape.encode(value) == wire
    assert shape.decode(wire) == value
    assert shape.decode_attribute(shape.encode_attribute(value)) == value


@pytest.mark.parametrize("value", [b"\xff\x00", bytearray(b"\xff\x00"), memoryview(b"\xff\x00")])
@pytest.mark.parametrize("factory", [bytes, bytearray])
def test_bytes_of_every_kind_come_back_as_the_declared_one(value: Any, factory: type[bytes | bytearray]) -> None:
    shape = Binary(factory)
    wire = shape.encode(value)
    assert wire == {"B": b"\xff\x00"}
    assert type(wire["B"]) is bytes
    assert type(shape.decode(wire)) is factory


def test_a_str_or_int_subclass_is_stored_as_the_plain_type() -> None:
    class Odd(str):
        __slots__ = ()

        def __str__(self) -> str:
            return "something else"

    assert Text().encode(Odd("x")) == {"S": "x"}
    assert type(Text().encode(Odd("x"))["S"]) is str
    assert Integer().encode(Level.LOW)["N"] == "1"


NULL = "declare the type Optional to allow it"


@pytest.mark.parametrize(
    ("shape", "value", "message"),
    [
        (Text(), None, f"a str expected, got None; {NULL}"),
        (Text(), 1, "a str expected, got int; use str(value)"),
        (Text(), b"x", "a str expected, got bytes; declare bytes, or use value.decode()"),
        (
            Text(),
            "\ud800",
            "a text with a lone surrogate, which is no Unicode text; decode its bytes with the right encoding",
        ),
        (Integer(), True, "an int expected, got bool; use int(value), or declare bool"),
        (Integer(), 1.0, "an int expected, got float; use int(value), or declare float"),
        (Integer(), Decimal(1), "an int expected, got Decimal; use int(value), or declare Decimal"),
        (Integer(), "1", "an int expected, got str; use int(value), or declare str"),
        (Float(), True, "a float expected, got bool; use float(value), or declare bool"),
        (Float(), Decimal(1), "a float expected, got Decimal; use float(value), or declare Decimal"),
        (Float(), 2**53 + 1, "an int that no float holds exactly; declare int"),
        (Float(), 10**400, "an int that no float holds exactly; declare int"),
        (Number(), 1, "a Decimal expected, got int; use Decimal(value)"),
        (Number(), 0.5, "a Decimal expected, got float; use Decimal(str(value))"),
        (Number(), True, "a Decimal expected, got bool; declare bool, or use Decimal(value)"),
        (Boolean(), 1, "a bool expected, got int; use bool(value), or declare int"),
        (Boolean(), None, f"a bool expected, got None; {NULL}"),
        (Binary(), "x", "a bytes expected, got str; use value.encode()"),
        (Binary(), [1], "a bytes expected, got list; use bytes, bytearray or memoryview"),
        (Uuid(), "x", "a UUID expected, got str; use UUID(value)"),
        (Date(), datetime(2020, 1, 1, tzinfo=timezone.utc), "a date expected, got datetime; use value.date()"),
        (Date(), "2020-01-01", "a date expected, got str; use date.fromisoformat(value)"),
        (Time(), "10:00", "a time expected, got str; use time.fromisoformat(value)"),
        (Duration(), 5, "a timedelta expected, got int; use timedelta(seconds=value)"),
        (DateTime(), "x", "a datetime expected, got str; use datetime.fromisoformat(value)"),
        (
            DateTime(),
            date(2020, 1, 1),
            "a datetime expected, got date; use datetime.combine(value, time(), timezone.utc)",
        ),
        (DateTime(), 5, "a datetime expected, got int; use datetime.fromtimestamp(value, timezone.utc)"),
        (
            AnyShape(),
            IDENTITY,
            "a plain value expected, got UUID; declare the type as UUID, so that it can be read back",
        ),
    ],
)
def test_other_kinds_are_refused_with_path_kind_and_remedy(shape: Shape, value: Any, message: str) -> None:
    with pytest.raises(EncodeError) as caught:
        shape.encode(value, ("lines", 2, "price"))
    assert str(caught.value) == f"$.lines[2].price: {message}"
    assert caught.value.path == "$.lines[2].price"


@pytest.mark.parametrize(
    ("shape", "wire", "problem"),
    [
        (Text(), {"N": "1"}, "a str expected, found a number (N)"),
        (Text(), {"NULL": True}, "a str expected, found NULL"),
        (Integer(), {"S": "1"}, "an int expected, found a text (S)"),
        (Integer(), {"BOOL": True}, "an int expected, found a boolean (BOOL)"),
        (Integer(), {"N": "1.5"}, "an int expected, found a number with a fraction"),
        (Boolean(), {"N": "1"}, "a bool expected, found a number (N)"),
        (Uuid(), {"S": "x"}, "a UUID expected, found a text that is none"),
        (Date(), {"S": "x"}, "a date expected, found a text that is no ISO 8601 date"),
        (Date(), {"S": "2021-02-30"}, "a date expected, found a text that is no ISO 8601 date"),
        (Time(), {"S": "25:00"}, "a time expected, found a text that is no ISO 8601 time"),
        (Duration(), {"N": "1E+120"}, "a number of seconds expected, found one beyond any timedelta"),
        (Text(), {}, "an attribute value with exactly one type expected"),
        (AnyShape(), {"X": 1}, "a value expected, found the unknown type X"),
    ],
)
def test_stored_values_that_do_not_fit(shape: Shape, wire: dict[str, Any], problem: str) -> None:
    with pytest.raises(DecodeFailure) as caught:
        shape.decode(wire, ("a", 0))
    assert caught.value.problem == problem
    assert str(caught.value) == f"$.a[0]: {problem}"


def test_a_missing_attribute_says_what_was_expected() -> None:
    with pytest.raises(DecodeFailure, match=r"^\$\.n: an int expected, the attribute is missing$"):
        Integer().decode_attribute(None, ("n",))


def test_legal_numbers_of_other_writers_are_read() -> None:
    assert Integer().decode({"N": "1" * 39}) == int("1" * 39)
    assert Integer().decode({"N": "1E+3"}) == 1000
    assert Integer().decode({"N": "5.0"}) == 5
    assert Float().decode({"N": "1" * 39}) == float("1" * 39)
    assert Number().decode({"N": "1E-400"}) == Decimal("1E-400")


@pytest.mark.parametrize(
    ("wire", "value"),
    [
        ({"N": "9007199254740993"}, 9007199254740993),
        ({"N": "0.5"}, Decimal("0.5")),
        ({"N": "3.00"}, 3),
        ({"N": "1E-400"}, Decimal("1E-400")),
        ({"N": "1E+2000"}, Decimal("1E+2000")),
        ({"NS": ["1", "2.5"]}, {1, Decimal("2.5")}),
        ({"BS": [b"\x00"]}, {b"\x00"}),
        ({"M": {"a": {"NULL": True}}}, {"a": None}),
        ({"L": [{"NULL": True}, {"N": "1"}]}, [None, 1]),
    ],
)
def test_undeclared_values_read_as_int_if_integral_else_decimal(wire: dict[str, Any], value: Any) -> None:
    decoded = AnyShape().decode(wire)
    assert decoded == value
    assert type(decoded) is type(value)


def test_undeclared_values_take_floats_and_tuples() -> None:
    assert AnyShape().encode({"x": 0.5, "y": (1, 2**53 + 1)}) == {
        "M": {"x": {"N": "0.5"}, "y": {"L": [{"N": "1"}, {"N": "9007199254740993"}]}}
    }


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (set(), "$: an empty set that would not come back as one; declare the type as set[...]"),
        ({True, 2}, "$: a set in DynamoDB holds only texts, only numbers or only bytes; use a list"),
        ({True}, "$: a set in DynamoDB holds only texts, only numbers or only bytes; use a list"),
        ({("a",)}, "$: a set in DynamoDB holds only texts, only numbers or only bytes; use a list"),
        ({1: "x"}, "$: a dict with str keys expected, got a key of type int; declare the type of the keys"),
        (
            {"a": [float("nan")]},
            "$.a[0]: NaN and infinities are no numbers to DynamoDB; store None or leave the attribute out",
        ),
        ([{"a b": "\udfff"}], None),
    ],
)
def test_undeclared_values_that_would_not_come_back(value: Any, message: str | None) -> None:
    with pytest.raises(EncodeError) as caught:
        AnyShape().encode(value)
    if message is None:
        assert caught.value.path == '$[0]["a b"]'
    else:
        assert str(caught.value) == message


def test_nesting_beyond_32_levels_is_refused_before_python_gives_up() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(EncodeError, match="nested deeper than DynamoDB's 32 levels"):
        AnyShape().encode(endless)


@pytest.mark.parametrize(
    "value",
    ["", "x", 0, 7, Decimal("1.5"), True, None, {"a": [None, {"b": ""}]}, [], {}, {"x", "y"}, {1, 2}, {Decimal("0.5")}],
)
def test_plain_values_agree_with_boto3(value: Any) -> None:
    writer: Any = TypeSerializer()
    reader: Any = TypeDeserializer()
    assert reader.deserialize(AnyShape().encode(value)) == value
    assert AnyShape().decode(writer.serialize(value)) == value
