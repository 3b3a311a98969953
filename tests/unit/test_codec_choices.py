"""Enums, literals and unions."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import Enum, Flag, IntEnum, IntFlag
from typing import Annotated, Any, Literal, NewType

import attrs
import pytest

from dynamap.codec import Attribute, Context, DecodeFailure, Normalize, Shape, shape_of
from dynamap.errors import EncodeError, ModelError


class Color(Enum):
    RED = "red"
    BLUE = "blue"
    CRIMSON = "red"  # noqa: PIE796  (an alias)


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Word(str, Enum):
    YES = "yes"


class Right(Flag):
    READ = enum.auto()
    WRITE = enum.auto()


class Bits(IntFlag):
    ONE = 1
    TWO = 2


class Mixed(Enum):
    TEXT = "1"
    NUMBER = 1
    HALF = Decimal("0.5")
    RAW = b"x"
    NOTHING = None
    NO = False


class Renamed(Enum):
    NEW = "new"

    @classmethod
    def _missing_(cls, value: object) -> Renamed | None:
        return cls.NEW if value == "old" else None


def shape(hint: Any) -> Shape:
    return shape_of(hint, where="Order.kind", context=Context())


@pytest.mark.parametrize(
    ("hint", "value", "wire"),
    [
        (Color, Color.RED, {"S": "red"}),
        (Color, Color.CRIMSON, {"S": "red"}),
        (Level, Level.HIGH, {"N": "2"}),
        (Word, Word.YES, {"S": "yes"}),
        (Right, Right.READ | Right.WRITE, {"N": "3"}),
        (Right, Right(0), {"N": "0"}),
        (Bits, Bits.TWO, {"N": "2"}),
        (Mixed, Mixed.TEXT, {"S": "1"}),
        (Mixed, Mixed.NUMBER, {"N": "1"}),
        (Mixed, Mixed.HALF, {"N": "0.5"}),
        (Mixed, Mixed.RAW, {"B": b"x"}),
        (Mixed, Mixed.NOTHING, {"NULL": True}),
        (Mixed, Mixed.NO, {"BOOL": False}),
        (Literal["a", 1, True], 1, {"N": "1"}),
        (Literal["a", 1, True], True, {"BOOL": True}),
        (Literal[b"x"], b"x", {"B": b"x"}),
        (Literal["a"] | None, None, {"NULL": True}),
        (Literal["a", None], None, {"NULL": True}),
        (Literal[Color.RED, "green"], Color.RED, {"S": "red"}),
        (Literal["a"] | Literal["b", 1], "b", {"S": "b"}),  # noqa: PYI030
        (str | int, 1, {"N": "1"}),
        (str | bool | int | bytes | list[int], False, {"BOOL": False}),
        (str | bool | int | bytes | list[int], [1], {"L": [{"N": "1"}]}),
        (int | str | None, None, {"NULL": True}),
        (set[str] | int, set(), {"L": []}),
        (Color | None, Color.BLUE, {"S": "blue"}),
        (NewType("Id", str), "x", {"S": "x"}),
    ],
)
def test_choices_are_stored_as_what_they_are(hint: Any, value: Any, wire: dict[str, Any]) -> None:
    assert shape(hint).encode(value) == wire
    decoded = shape(hint).decode(wire)
    assert decoded == value
    assert type(decoded) is type(value)


def test_enum_values_of_other_writers_are_compared_as_numbers() -> None:
    assert shape(Level).decode({"N": "2.0"}) is Level.HIGH
    assert shape(Literal[1, 2]).decode({"N": "2.0"}) == 2


def test_missing_maps_old_values() -> None:
    assert shape(Renamed).decode({"S": "old"}) is Renamed.NEW


@pytest.mark.parametrize(
    ("hint", "value", "message"),
    [
        (Color, "red", "$: a Color expected, got str; use Color(value)"),
        (Level, 1, "$: a Level expected, got int; use Level(value)"),
        (Color, None, "$: a Color expected, got None; declare the type Optional to allow it"),
        (Literal["a", "b"], "c", "$: a Literal['a', 'b'] expected, got str; use one of its values"),
        (Literal["a", 1], True, "$: a Literal['a', 1] expected, got bool; use one of its values"),
        (Literal[Color.RED], [], "$: a Literal[Color.RED] expected, got list; use one of its values"),
        (str | int, 0.5, "$: a str or int expected, got float; convert it to one of these"),
        (str | int | None, 0.5, "$: a str or int expected, got float; convert it to one of these"),
    ],
)
def test_other_values_are_refused(hint: Any, value: Any, message: str) -> None:
    with pytest.raises(EncodeError) as caught:
        shape(hint).encode(value)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("hint", "wire", "problem"),
    [
        (
            Color,
            {"S": "green"},
            "a member of Color expected, found a value that is none; add it, or map it in _missing_",
        ),
        (Color, {"N": "1"}, "a Color expected, found a number (N)"),
        (Literal["a"], {"S": "b"}, "a Literal['a'] expected, found another value"),
        (str | int, {"BOOL": True}, "a str or int expected, found a boolean (BOOL)"),
    ],
)
def test_stored_values_that_are_no_choice(hint: Any, wire: dict[str, Any], problem: str) -> None:
    with pytest.raises(DecodeFailure) as caught:
        shape(hint).decode(wire)
    assert caught.value.problem == problem


# ---------------------------------------------------------------------------------------------------- tagged classes

ALIKE = "are stored alike and cannot be told apart when read; declare one of them, or classes with a Literal tag each"
UNTAGGED = (
    "are both stored as maps and cannot be told apart when read; "
    'give each a field of the same name with a value of its own, as kind: Literal["card"] = "card"'
)
NO_SET = "cannot be stored: a set in DynamoDB holds only texts, only numbers or only bytes; use a list"
NO_KEY = "; use a type that is stored as a text or as a number"


@attrs.frozen
class Card:
    number: str
    kind: Literal["card"] = "card"


@dataclass(frozen=True)
class Transfer:
    iban: str
    kind: Literal["transfer", "sepa"] = "transfer"


@attrs.frozen
class Cash:
    amount: int


@attrs.frozen
class Voucher:
    code: str
    kind: Annotated[Literal["voucher"], Attribute("type")] = "voucher"


@attrs.frozen
class Tree:
    kind: Literal["tree"]
    left: Tree | Leaf
    right: Tree | Leaf


@attrs.frozen
class Leaf:
    kind: Literal["leaf"]
    value: int


def test_classes_are_told_apart_by_their_tag() -> None:
    payment = shape(Card | Transfer | str)
    for value in (Card("1"), Transfer("DE", "sepa"), "cash"):
        assert payment.decode(payment.encode(value)) == value
    assert payment.encode(Card("1")) == {"M": {"number": {"S": "1"}, "kind": {"S": "card"}}}


def test_recursive_tagged_classes_come_back() -> None:
    tree = shape(Tree)
    value = Tree("tree", Leaf("leaf", 1), Tree("tree", Leaf("leaf", 2), Leaf("leaf", 3)))
    assert tree.decode(tree.encode(value)) == value


@pytest.mark.parametrize(
    ("wire", "message"),
    [
        ({"M": {"number": {"S": "1"}}}, "$: a Card or Transfer expected, the tag 'kind' that tells which is missing"),
        ({"M": {"kind": {"S": "gold"}}}, "$: a Card or Transfer expected, the tag 'kind' is of none of them"),
        ({"M": {"kind": {"L": []}}}, "$: a Card or Transfer expected, the tag 'kind' is of none of them"),
        ({"M": {"kind": {"S": "card"}}}, "$.number: a str expected, the attribute 'number' is missing"),
        ({"S": "x"}, "$: a Card or Transfer expected, found a text (S)"),
    ],
)
def test_stored_maps_that_are_none_of_the_classes(wire: dict[str, Any], message: str) -> None:
    with pytest.raises(DecodeFailure) as caught:
        shape(Card | Transfer).decode(wire)
    assert str(caught.value) == message


def test_an_instance_of_another_class_is_refused() -> None:
    with pytest.raises(EncodeError) as caught:
        shape(Card | Transfer).encode(Cash(1), ("pay",))
    assert str(caught.value) == "$.pay: a Card or Transfer expected, got Cash; pass an instance of one of these classes"


@pytest.mark.parametrize(
    ("hint", "message"),
    [
        (
            int | float,
            f"Order.kind: int and float {ALIKE}",
        ),
        (
            str | datetime,
            f"Order.kind: str and datetime {ALIKE}",
        ),
        (
            Cash | dict[str, int],
            f"Order.kind: dict and Cash {ALIKE}",
        ),
        (
            Card | Cash,
            f"Order.kind: Card and Cash {UNTAGGED}",
        ),
        (
            Card | Voucher,
            f"Order.kind: Card and Voucher {UNTAGGED}",
        ),
        (Literal[1, True] | int, f"Order.kind: int and Literal[1, True] {ALIKE}"),  # noqa: PYI051
        (Literal["red", Color.RED], "Order.kind: two values of the Literal are stored as the same; leave one"),
        (
            set[int | str],
            f"Order.kind: a set of int or str {NO_SET}",
        ),
        (
            set[tuple[int, int]],
            f"Order.kind: a set of tuple of 2 {NO_SET}",
        ),
        (
            set[bool],
            f"Order.kind: a set of bool {NO_SET}",
        ),
        (
            dict[tuple[int, int], int],
            f"Order.kind: a dict cannot have keys of type tuple of 2{NO_KEY}",
        ),
        (
            dict[Mixed, int],
            f"Order.kind: a dict cannot have keys of type Mixed{NO_KEY}",
        ),
    ],
)
def test_declarations_that_could_not_be_read_back(hint: Any, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        shape(hint)
    assert str(caught.value) == message


def test_enums_that_cannot_be_stored() -> None:
    class Pair(Enum):
        ONE = (1, 2)

    class Empty(Enum):
        pass

    with pytest.raises(
        ModelError, match=r"Order.kind: an enum of plain single values expected, a value of .*Pair is a tuple"
    ):
        shape(Pair)
    with pytest.raises(ModelError, match="has no members"):
        shape(Empty)


def test_markers_of_an_optional_speak_of_its_value() -> None:
    folded = shape(Annotated[str | None, Normalize(str.casefold)])
    assert folded.encode(None) == {"NULL": True}
    assert folded.encode("A") == {"S": "a"}
    both = shape(Annotated[str | int | None, Normalize(lambda value: value or "none")])
    assert both.encode(0) == {"S": "none"}
    assert both.encode(None) == {"NULL": True}


@pytest.mark.parametrize(
    ("hint", "value", "wire", "wrong"),
    [
        (None, None, {"NULL": True}, 0),
        (type(None), None, {"NULL": True}, ""),
        (Literal[None], None, {"NULL": True}, "None"),
        (tuple[int, None], (1, None), {"L": [{"N": "1"}, {"NULL": True}]}, (1, 2)),
        (dict[str, None], {"a": None}, {"M": {"a": {"NULL": True}}}, {"a": 1}),
    ],
)
def test_none_is_the_only_value_of_its_type(hint: Any, value: Any, wire: dict[str, Any], wrong: Any) -> None:
    shape = shape_of(hint, where="X.x", context=Context())
    assert shape.encode(value) == wire
    assert shape.decode(wire) == value
    with pytest.raises(EncodeError, match=r"a None expected, got .*; declare the type that it has"):
        shape.encode(wrong)
