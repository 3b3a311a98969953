"""Lists, tuples, sets and dicts: stored form, empty and null at every depth, refusals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime, timezone
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest

from dynamap.codec import (
    Context,
    DecodeFailure,
    EpochSeconds,
    ListOf,
    MapOf,
    Normalize,
    SetOf,
    Shape,
    TupleOf,
    shape_of,
)
from dynamap.errors import EncodeError


class Color(Enum):
    RED = "red"


class Rank(Enum):
    FIRST = 1


def shape(hint: Any) -> Shape:
    return shape_of(hint, where="Order.lines", context=Context())


def of(container: Any, *arguments: Any) -> Any:
    return container[arguments]


IDENTITY = UUID(int=5)


@pytest.mark.parametrize(
    ("hint", "value", "wire"),
    [
        (list[int], [1, 2], {"L": [{"N": "1"}, {"N": "2"}]}),
        (list, [1, "x"], {"L": [{"N": "1"}, {"S": "x"}]}),
        (list[Any], [], {"L": []}),
        (list[int | None], [None, 0], {"L": [{"NULL": True}, {"N": "0"}]}),
        (Sequence[str], ["a"], {"L": [{"S": "a"}]}),
        (tuple[int, ...], (1,), {"L": [{"N": "1"}]}),
        (tuple[int, str], (1, ""), {"L": [{"N": "1"}, {"S": ""}]}),
        (tuple[()], (), {"L": []}),
        (tuple, (1, "x"), {"L": [{"N": "1"}, {"S": "x"}]}),
        (set[str], {"b", "a", ""}, {"SS": ["", "a", "b"]}),
        (set[str], {"\uffff", "\U00010000"}, {"SS": ["\uffff", "\U00010000"]}),
        (set[int], {10, 9}, {"NS": ["10", "9"]}),
        (frozenset[Decimal], frozenset({Decimal("1.50")}), {"NS": ["1.5"]}),
        (AbstractSet[bytes], frozenset({b"\xff\x00", b""}), {"BS": [b"", b"\xff\x00"]}),
        (set[float], {0.5, 1.0}, {"NS": ["0.5", "1"]}),
        (set[Color], {Color.RED}, {"SS": ["red"]}),
        (set[UUID], {IDENTITY}, {"SS": [str(IDENTITY)]}),
        (set[Literal["a", "b"]], {"b", "a"}, {"SS": ["a", "b"]}),
        (set[date], {date(2020, 1, 1)}, {"SS": ["2020-01-01"]}),
        (set[Any], {1, 2}, {"NS": ["1", "2"]}),
        (set, {"x"}, {"SS": ["x"]}),
        (dict, {"a": None}, {"M": {"a": {"NULL": True}}}),
        (dict[str, int], {}, {"M": {}}),
        (dict[str, Any], {"a": {"b": ""}}, {"M": {"a": {"M": {"b": {"S": ""}}}}}),
        (dict[int, str], {-1: "x"}, {"M": {"-1": {"S": "x"}}}),
        (dict[Decimal, int], {Decimal("1.50"): 1}, {"M": {"1.5": {"N": "1"}}}),
        (dict[bool, int], {True: 1, False: 0}, {"M": {"true": {"N": "1"}, "false": {"N": "0"}}}),
        (dict[UUID, int], {IDENTITY: 1}, {"M": {str(IDENTITY): {"N": "1"}}}),
        (dict[Color, Color], {Color.RED: Color.RED}, {"M": {"red": {"S": "red"}}}),
        (dict[Rank, int], {Rank.FIRST: 1}, {"M": {"1": {"N": "1"}}}),
        (dict[date, int], {date(33, 1, 1): 1}, {"M": {"0033-01-01": {"N": "1"}}}),
        (Mapping[Literal["a"], int], {"a": 1}, {"M": {"a": {"N": "1"}}}),
        (list[dict[str, set[str]]], [{"x": {"a"}}, {}], {"L": [{"M": {"x": {"SS": ["a"]}}}, {"M": {}}]}),
        (list[set[str]], [set(), {"a"}], {"L": [{"L": []}, {"SS": ["a"]}]}),
        (dict[str, frozenset[int]], {"x": frozenset()}, {"M": {"x": {"L": []}}}),
        (list[set[int] | None], [None, set(), {1}], {"L": [{"NULL": True}, {"L": []}, {"NS": ["1"]}]}),
    ],
)
def test_containers_have_one_stored_form_and_come_back(hint: Any, value: Any, wire: dict[str, Any]) -> None:
    shaped = shape(hint)
    assert shaped.encode(value) == wire
    decoded = shaped.decode(wire)
    assert decoded == value
    assert type(decoded) is type(value)


FALSY: list[tuple[Any, Any]] = [
    (str, ""),
    (int, 0),
    (bool, False),
    (float, 0.0),
    (Decimal, Decimal(0)),
    (bytes, b""),
    (int | None, None),
    (list[int], []),
    (tuple[int, ...], ()),
    (dict[str, int], {}),
    (set[str], set()),
    (frozenset[str], frozenset()),
]


@pytest.mark.parametrize(("hint", "falsy"), FALSY)
@pytest.mark.parametrize(
    "within",
    [
        lambda hint, value: (hint, value),
        lambda hint, value: (of(list, hint), [value, value]),
        lambda hint, value: (of(dict, str, hint), {"j": value, "k": value}),
        lambda hint, value: (of(list, of(dict, str, of(list, hint))), [{"k": [value]}]),
    ],
    ids=["alone", "in a list", "in a dict", "three levels down"],
)
def test_falsy_values_survive_at_every_depth(hint: Any, falsy: Any, within: Any) -> None:
    whole, value = within(hint, falsy)
    shaped = shape(whole)
    assert shaped.decode(shaped.encode(value)) == value
    assert shaped.decode_attribute(shaped.encode_attribute(value)) == value


def test_absent_and_null_at_the_top_level() -> None:
    empty, optional, both = shape(set[str]), shape(str | None), shape(set[str] | None)
    assert empty.encode_attribute(set()) is None
    assert empty.decode_attribute(None) == set()
    assert optional.encode_attribute(None) is None
    assert optional.decode_attribute(None) is None
    assert both.encode_attribute(None) == {"NULL": True}
    assert both.encode_attribute(set()) is None
    assert both.decode_attribute({"NULL": True}) is None
    assert both.decode_attribute(None) == set()
    assert optional.storing_null().encode_attribute(None) == {"NULL": True}


@pytest.mark.parametrize(
    ("hint", "value", "message"),
    [
        (list[Decimal], [Decimal(1), 0.5], "$[1]: a Decimal expected, got float; use Decimal(str(value))"),
        (list[int], (1,), "$: a list expected, got tuple; use list(value)"),
        (list[str], "abc", "$: a list expected, got str; use list(value)"),
        (Sequence[str], "abc", "$: a list expected, got str; use list(value)"),
        (tuple[int, ...], [1], "$: a tuple expected, got list; use tuple(value)"),
        (tuple[int, int], [1, 2], "$: a tuple of 2 expected, got list; use tuple(value)"),
        (tuple[int, int], (1,), "$: a tuple of 2 expected, got a tuple of 1; pass one value for each position"),
        (set[str], ["a"], "$: a set expected, got list; use set(value)"),
        (set[int], {True}, "$: an int expected, got bool; use int(value), or declare bool"),
        (set[Any], {1, "a"}, "$: a set in DynamoDB holds only texts, only numbers or only bytes; use a list"),
        (dict[str, int], {1: 1}, "$: a str expected, got int; use str(value)"),
        (dict[str, int], {"a b": "1"}, '$["a b"]: an int expected, got str; use int(value), or declare str'),
        (dict[str, int], [("a", 1)], "$: a dict expected, got list; use dict(value)"),
        (
            dict[Annotated[str, Normalize(str.casefold)], int],
            {"A": 1, "a": 2},
            "$.a: two keys of the dict are stored as this one; make them distinct",
        ),
        (list[dict[str, int]], None, "$: a list expected, got None; declare the type Optional to allow it"),
    ],
)
def test_refusals_name_the_place(hint: Any, value: Any, message: str) -> None:
    with pytest.raises(EncodeError) as caught:
        shape(hint).encode(value)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("hint", "wire", "message"),
    [
        (list[int], {"M": {}}, "$: a list expected, found a map (M)"),
        (list[int], {"L": [{"S": "x"}]}, "$[0]: an int expected, found a text (S)"),
        (set[int], {"SS": ["a"]}, "$: a set expected, found a text set (SS)"),
        (set[int], {"NS": ["1.5"]}, "$: an int expected, found a number with a fraction"),
        (dict[int, int], {"M": {"x": {"N": "1"}}}, "$.x: a number (N) expected, found text that is none"),
        (
            dict[int, int],
            {"M": {"1": {"N": "1"}, "01": {"N": "2"}}},
            '$["01"]: two keys of the map are read as one and the same key',
        ),
        (
            dict[bool, int],
            {"M": {"yes": {"N": "1"}}},
            '$.yes: a bool expected, found a key that is neither "true" nor "false"',
        ),
        (tuple[int, int], {"L": [{"N": "1"}]}, "$: a tuple of 2 expected, found a list (L) of 1"),
        (dict[str, list[int]], {"M": {"a": {"NULL": True}}}, "$.a: a list expected, found NULL"),
    ],
)
def test_stored_containers_that_do_not_fit(hint: Any, wire: dict[str, Any], message: str) -> None:
    with pytest.raises(DecodeFailure) as caught:
        shape(hint).decode(wire)
    assert str(caught.value) == message


def test_elements_stored_alike_are_one_element() -> None:
    assert shape(set[Annotated[str, Normalize(str.casefold)]]).encode({"A", "a"}) == {"SS": ["a"]}


def test_a_set_written_as_a_list_by_others_is_read() -> None:
    assert shape(set[int]).decode({"L": [{"N": "1"}, {"N": "1.0"}]}) == {1}


def test_steps_of_expressions() -> None:
    lines = shape(list[dict[Color, tuple[int, str] | None]])
    assert isinstance(lines, ListOf)
    step, prices = lines.at(2)
    assert step == 2
    assert isinstance(prices, MapOf)
    step, pair = prices.at(Color.RED)
    assert step == "red"
    step, text = pair.at(1)
    assert (step, text.kind) == (1, "str")
    anything = shape(dict[str, Any]).at("a")[1]
    assert anything.at("b")[0] == "b"
    assert anything.at(3)[0] == 3


@pytest.mark.parametrize(
    ("hint", "step", "message"),
    [
        (list[int], -1, "a list is indexed by a position from 0 on, not by -1"),
        (list[int], "a", "a list is indexed by a position from 0 on, not by 'a'"),
        (list[int], True, "a list is indexed by a position from 0 on, not by True"),
        (dict[str, int], 1, "a dict with str keys has nothing at 1"),
        (str, 0, "a str has nothing at 0"),
        (Any, 1.5, "a plain value has nothing at 1.5"),
        (tuple[int], 1, "tuple index out of range"),
    ],
)
def test_steps_that_lead_nowhere(hint: Any, step: Any, message: str) -> None:
    with pytest.raises(LookupError) as caught:
        shape(hint).at(step)
    assert str(caught.value) == message


def test_normalizing_reaches_into_containers() -> None:
    folded = Annotated[str, Normalize(str.casefold)]
    expires = Annotated[datetime, EpochSeconds()]
    assert shape(list[folded]).normalize(["A"]) == ["a"]
    assert shape(set[folded]).normalize({"A"}) == {"a"}
    assert shape(dict[folded, folded]).normalize({"A": "B"}) == {"a": "b"}
    late = datetime(2020, 1, 1, 0, 0, 0, 1, timezone.utc)
    assert shape(tuple[expires | None, str]).normalize((late, "A")) == (
        datetime(2020, 1, 1, 0, 0, 1, 0, timezone.utc),
        "A",
    )
    assert shape(folded | None).normalize(None) is None


def test_the_tree_can_be_looked_into() -> None:
    shaped = shape(dict[str, list[set[int]]])
    assert isinstance(shaped, MapOf)
    assert isinstance(shaped.value, ListOf)
    assert isinstance(shaped.value.element, SetOf)
    assert isinstance(shape(tuple[int, str]), TupleOf)
    assert shaped == shape(dict[str, list[set[int]]])


@pytest.mark.parametrize("hint", [dict[str, int], dict[str, Any], Any])
def test_a_map_has_no_empty_key(hint: Any) -> None:
    with pytest.raises(EncodeError) as raised:
        shape_of(hint, where="X.a", context=Context()).encode({"": 1}, ("a",))
    assert str(raised.value) == (
        "$.a: an empty text as a key, which DynamoDB does not take as a name; leave it out, or choose another key"
    )
