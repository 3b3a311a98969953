"""Order and ranges: what DynamoDB selects by bytes is what Python selects by values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import IntEnum
from itertools import combinations, pairwise, product
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamap.errors import KeyValueError, RequestError
from dynamap.model.key_text import after_prefix, before, last_with_prefix
from dynamap.model.templates import KeyRange, KeyTemplate, Operation, parse_template
from tests.depth import how_many

UTC = timezone.utc


class Level(IntEnum):
    BELOW = -3
    LOW = 1
    HIGH = 10


HINTS: Mapping[str, Any] = {
    "id": str,
    "name": str,
    "seq": int,
    "count": int,
    "price": Decimal,
    "at": datetime,
    "day": date,
    "hour": time,
    "uuid": UUID,
    "level": Level,
    "flag": bool,
}

# characters on both sides of every special one, digits, and the ends of each length in UTF-8
TEXT = st.text(st.sampled_from('\0 !"#$%&/0123a~\x7f\x80é\u07ff\uffff\U00010000\U0010ffff'), max_size=4)
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES: Mapping[str, st.SearchStrategy[Any]] = {
    "id": TEXT | ANY_TEXT,
    "name": TEXT | ANY_TEXT,
    "seq": st.integers(-999, 999) | st.integers(-12, 12),
    "count": st.integers(-99, 99),
    "price": st.decimals(-99, 99, places=2) | st.integers(-999, 999).map(lambda n: Decimal(n).scaleb(-1)),
    "at": st.datetimes(
        datetime(1, 1, 2),
        datetime(9999, 12, 30),
        timezones=st.sampled_from([UTC, timezone(timedelta(hours=-2))]),
    ),
    "day": st.dates(),
    "hour": st.times(),
    "uuid": st.uuids(),
    "level": st.sampled_from(Level),
    "flag": st.booleans(),
}

ORDERED = [
    "P#{id}",
    "P#{id:ordered}",
    "{id:ordered}#{name:ordered}",
    "P#{id:ordered}#{seq:03}#{name}",
    "{seq:03}",
    "{seq:03}x{count:02}#{name}",
    "{seq:03}\U0010ffff{count:02}",
    "P#{price:06.2}#{seq:03}",
    "{at}#{name:ordered}#END",
    "{day}T{hour}",
    "{uuid}/{seq:03}",
    "{level:02}#{id}",
]
PARSED = [*ORDERED, "A#{id}#{name}", "{id}x#{name}", "{flag}#{id}#{seq:03}", "{id}#{name}$23", "{id}$#{name}{{"]


def template(text: str, part: str = "sk") -> KeyTemplate:
    return parse_template(text, HINTS, owner="Order", part=part)


def draw(data: st.DataObject, parsed: KeyTemplate) -> dict[str, Any]:
    return {field: data.draw(VALUES[field], field) for field in parsed.fields}


def key_of(parsed: KeyTemplate, values: Mapping[str, Any]) -> str | None:
    """The key, or None for the only values that have none: those of an empty one."""
    try:
        return parsed.render(values)
    except KeyValueError as error:
        assert "empty key" in str(error)
        return None


@pytest.mark.deep
@pytest.mark.parametrize("text", PARSED)
@settings(max_examples=how_many(quick=60, deep=100_000 // len(PARSED) + 1))
@given(data=st.data())
def test_values_come_back_and_differ_where_keys_do(text: str, data: st.DataObject) -> None:
    parsed = template(text)
    one, other = draw(data, parsed), draw(data, parsed)
    keys = key_of(parsed, one), key_of(parsed, other)
    for values, key in zip((one, other), keys, strict=True):
        if key is not None:
            assert parsed.parse(key) == values
    if one != other:
        assert keys[0] != keys[1]


@pytest.mark.deep
@pytest.mark.parametrize("text", ORDERED)
@settings(max_examples=how_many(quick=60, deep=100_000 // len(ORDERED) + 1))
@given(data=st.data())
def test_keys_sort_as_tuples_of_values_do(text: str, data: st.DataObject) -> None:
    parsed = template(text)
    one, other = draw(data, parsed), draw(data, parsed)
    shared = data.draw(st.integers(0, len(parsed.fields)), "shared")
    other |= {field: one[field] for field in parsed.fields[:shared]}
    ordered = [field for field in parsed.fields if parsed.takes_range(field)]
    assert parsed.fields == tuple(ordered)
    keys = key_of(parsed, one), key_of(parsed, other)
    if keys[0] is not None and keys[1] is not None:
        tuples = tuple(one.values()), tuple(other.values())
        assert (tuples[0] < tuples[1]) == (keys[0].encode() < keys[1].encode())


COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": lambda value, low: bool(value == low),
    "lt": lambda value, low: bool(value < low),
    "le": lambda value, low: bool(value <= low),
    "gt": lambda value, low: bool(value > low),
    "ge": lambda value, low: bool(value >= low),
}
RANGES: list[Operation] = ["eq", "lt", "le", "gt", "ge", "between", "begins_with"]


def wanted(operation: Operation, value: Any, low: Any, high: Any) -> bool:
    if operation == "between":
        return bool(low <= value <= high)
    if operation == "begins_with":
        return bool(value.startswith(low))
    return COMPARE[operation](value, low)


def check(
    parsed: KeyTemplate,
    leading: Mapping[str, Any],
    found: KeyRange,
    all_values: list[dict[str, Any]],
    want: Callable[[Any], bool],
) -> None:
    field = parsed.next_field(leading)
    assert field is not None
    prefix = parsed.prefix(leading)
    for operand in found.operands:
        assert operand
        assert len(operand.encode()) <= parsed.limit
    if found.operator not in ("all", "nothing") and prefix:
        assert found.operator in ("eq", "begins_with", "between")
        assert all(operand.startswith(prefix) for operand in found.operands)
    if found.operator == "between":
        assert found.operands[0].encode() <= found.operands[1].encode()
    for values in all_values:
        key = key_of(parsed, values)
        if key is not None:
            here = all(values[name] == value for name, value in leading.items())
            inside = bool(not prefix or key.startswith(prefix))
            assert inside == here
            if here:
                assert found.matches(key) == want(values[field]), (found, key)
            elif prefix:
                assert not found.matches(key), (found, key)


@pytest.mark.deep
@pytest.mark.parametrize("operation", RANGES)
@pytest.mark.parametrize("text", ORDERED)
@settings(max_examples=how_many(quick=20, deep=100_000 // len(ORDERED) // len(RANGES) + 1))
@given(data=st.data())
def test_a_range_selects_by_value_within_its_prefix(text: str, operation: Operation, data: st.DataObject) -> None:
    parsed = template(text)
    values = draw(data, parsed)
    count = data.draw(st.integers(0, len(parsed.fields) - 1), "leading")
    leading = {field: values[field] for field in parsed.fields[:count]}
    field = parsed.fields[count]
    low, high = sorted([data.draw(VALUES[field], "bound") for _ in range(2)])
    others = [values, values | {field: low}, values | {field: high}]
    others += [values | {field: data.draw(VALUES[field], "other")} for _ in range(3)]
    others += [draw(data, parsed)]
    others += [one | {name: "" for name in parsed.fields[count + 1 :] if HINTS[name] is str} for one in others]
    try:
        found = parsed.bounds(leading, operation, low, high)
    except KeyValueError as error:
        assert "empty key" in str(error)
        assert not low
        return
    except RequestError as error:
        assert "takes no begins_with" in str(error)
        assert HINTS[field] is not str
        return
    check(parsed, leading, found, others, lambda value: wanted(operation, value, low, high))


WORDS = ["".join(word) for size in range(3) for word in product("\0!#$%0x\U0010ffff", repeat=size)]


@pytest.mark.parametrize("operation", RANGES)
@pytest.mark.parametrize(
    "text", ["P#{id}", "{id}", "{id:ordered}#{seq:03}", "P#{id:ordered}#", "{id:ordered}", "P#{id:raw}"]
)
def test_every_short_text_is_selected_rightly(text: str, operation: Operation) -> None:
    parsed = template(text)
    words = [word for word in WORDS if "raw" not in text or "#" not in word]
    stored: list[tuple[str, str | None]] = [(word, key_of(parsed, {"id": word, "seq": 5})) for word in words]
    for low in words:
        for high in [word for word in words if word >= low][:3] if operation == "between" else [low]:
            if operation == "eq" and not low and text in ("{id}", "{id:ordered}"):
                continue  # an empty key is no operand
            found = parsed.bounds({}, operation, low, high)
            for word, key in stored:
                if key is not None:
                    assert found.matches(key) == wanted(operation, word, low, high), (found, low, high, word)


@pytest.mark.parametrize("operation", ["lt", "le", "gt", "ge"])
@pytest.mark.parametrize("text", ["{seq:02}", "S#{seq:02}", "S#{seq:02}#{id}", "{seq:02}-{id}", "S#{seq:02}-"])
def test_every_small_number_is_selected_rightly(text: str, operation: Operation) -> None:
    parsed = template(text)
    stored = {
        (number, extra): parsed.render({"seq": number, "id": extra})
        for number in range(-99, 100, 3)
        for extra in ("", "\0", "~")
    }
    for low in range(-99, 100):
        found = parsed.bounds({}, operation, low)
        for (number, _), key in stored.items():
            assert found.matches(key) == COMPARE[operation](number, low), (found, key)


@pytest.mark.parametrize(
    ("text", "values", "operation", "operands", "expected"),
    [
        ("ORD#{id}", {}, "eq", ("1",), KeyRange("eq", ("ORD#1",))),
        ("ORD#{id}#{name}", {}, "eq", ("1",), KeyRange("begins_with", ("ORD#1#",))),
        ("V#{seq:03}", {}, "ge", (9,), KeyRange("between", ("V#009", "V#:"))),
        ("V#{seq:03}", {}, "gt", (9,), KeyRange("between", ("V#00:", "V#:"))),
        ("V#{seq:03}", {}, "le", (9,), KeyRange("between", ("V#", "V#009"))),
        ("V#{seq:03}", {}, "lt", (9,), KeyRange("between", ("V#", "V#008"))),
        ("V#{seq:03}", {}, "between", (-1, 9), KeyRange("between", ("V#-999", "V#009"))),
        ("V#{seq:03}#{id}", {}, "le", (9,), KeyRange("between", ("V#", "V#009$"))),
        ("{seq:03}", {}, "gt", (9,), KeyRange("gt", ("009",))),
        ("{seq:03}#{id}", {}, "gt", (9,), KeyRange("ge", ("009$",))),
        ("{seq:03}#{id}", {}, "le", (9,), KeyRange("lt", ("009$",))),
        ("A#{id}#{name}", {"id": "x"}, "begins_with", ("y#",), KeyRange("begins_with", ("A#x#y$23",))),
        ("{id}", {}, "begins_with", ("",), KeyRange("all")),
        ("{id}", {}, "ge", ("",), KeyRange("all")),
        ("{id}", {}, "le", ("",), KeyRange("nothing")),
        ("{id}", {}, "between", ("", "b"), KeyRange("le", ("b",))),
        ("A#{id}", {}, "lt", ("",), KeyRange("nothing")),
    ],
)
def test_a_range_is_one_condition(
    text: str, values: Mapping[str, Any], operation: Operation, operands: tuple[Any, ...], expected: KeyRange
) -> None:
    assert template(text).bounds(values, operation, *operands) == expected


@pytest.mark.parametrize(
    ("text", "part", "field", "takes"),
    [
        ("{id}", "sk", "id", True),
        ("{id:raw}", "sk", "id", True),
        ("{id:raw}-{name}", "sk", "id", False),
        ("{id}#{name}", "sk", "id", False),
        ("{id}#{name}", "sk", "name", True),
        ("{id}#END", "sk", "id", False),
        ("{id:ordered}#{name}", "sk", "id", True),
        ("{id:ordered}#END", "sk", "id", True),
        ("{flag}", "sk", "flag", False),
        ("{seq}", "pk", "seq", False),
        ("{seq:03}x{id}", "sk", "seq", True),
        ("{level:02}", "sk", "level", True),
        ("{id}", "sk", "seq", False),
    ],
)
def test_a_field_takes_a_range_only_where_keys_sort_as_it_does(text: str, part: str, field: str, takes: bool) -> None:
    assert template(text, part).takes_range(field) is takes


@pytest.mark.parametrize(
    ("text", "values", "operation", "operands", "problem"),
    [
        ("{id}#{name}", {}, "ge", ("a",), r"Order.id takes no range.*\{id:ordered\}"),
        ("{flag}", {}, "ge", (True,), "Order.flag takes no range.*only str, padded numbers"),
        ("{seq:03}", {}, "begins_with", ("0",), "Order.seq takes no begins_with: it is an int"),
        ("{seq:03}", {"seq": 1}, "ge", (1,), "no field left"),
        ("{seq:03}", {}, "between", (5, 4), "low end"),
        ("{id:ordered}", {}, "between", ("b", "a"), "low end"),
        ("{id}x#{name}", {}, "begins_with", ("ax",), "cannot be told from the literal 'x#'"),
        ("{id}END", {}, "begins_with", ("aE",), "cannot be told from the literal 'END'"),
        ("{id:raw}--{name}", {}, "begins_with", ("a-",), "(cannot be told|contains)"),
    ],
)
def test_a_range_that_keys_cannot_answer_is_refused(
    text: str, values: Mapping[str, Any], operation: Operation, operands: tuple[Any, ...], problem: str
) -> None:
    with pytest.raises(RequestError, match=problem):
        template(text).bounds(values, operation, *operands)


@pytest.mark.parametrize(
    ("text", "operation", "operands", "problem"),
    [
        ("{seq:03}", "ge", (1000,), "does not fit"),
        ("{seq:03}", "ge", ("5",), "must be an int"),
        ("{seq:03}", "between", (5,), "Order.seq is missing"),
        ("{at}", "ge", (datetime(2024, 1, 1),), "without a zone"),
        ("A#{id}", "ge", ("x" * 1023,), "1025 bytes"),
        ("A#{id}", "begins_with", ("x" * 1023,), "1025 bytes"),
        ("{id}", "eq", ("",), "empty key"),
    ],
)
def test_a_bound_is_encoded_and_checked_as_keys_are(
    text: str, operation: Operation, operands: tuple[Any, ...], problem: str
) -> None:
    with pytest.raises(KeyValueError, match=problem):
        template(text).bounds({}, operation, *operands)


@pytest.mark.parametrize(
    "value", ["x" * 1022, "x" * 1021 + "\x7f", "\U0010ffff" * 255 + "xx", "\U0010ffff" * 255 + "\u07ff"]
)
def test_bounds_hold_at_the_greatest_length(value: str) -> None:
    parsed = template("A#{id}")
    keys = {
        text: parsed.render({"id": text})
        for text in (value, value[:-1], value[:-1] + "w", "x", "y", "\U0010ffff" * 255)
    }
    for operation in ("lt", "le", "gt", "ge"):
        found = parsed.bounds({}, operation, value)
        assert all(len(operand.encode()) <= 1024 for operand in found.operands)
        for text, key in keys.items():
            assert found.matches(key) == COMPARE[operation](text, value), (operation, text)


def _texts(limit: int) -> list[str]:
    characters = "\0\x01a\x7f\x80\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff"
    words = ("".join(word) for size in range(limit + 1) for word in product(characters, repeat=size))
    return sorted(word for word in words if len(word.encode()) <= limit)


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_neighbours_of_texts_leave_nothing_between(limit: int) -> None:
    texts = _texts(limit)
    for text in texts:
        highest = last_with_prefix(text, limit)
        assert len(highest.encode()) <= limit
        assert highest == max(other for other in texts if other.startswith(text))
        above = after_prefix(text, limit)
        greater = [other for other in texts if other > text and not other.startswith(text)]
        # the characters of `texts` are both ends of each length, so that it has the successor or one after it
        assert (above is None) == (not text or not greater)
        assert above is None or (above > highest and above <= min(greater) and len(above.encode()) <= limit)
        if text:
            below = before(text, limit)
            assert below < text
            assert len(below.encode()) <= limit
            assert below >= max(other for other in texts if other < text)


def test_utf_8_sorts_astral_characters_last() -> None:
    keys = [template("{id:ordered}").render({"id": text}) for text in ("\uffff", "\U00010000")]
    assert [key.encode() for key in keys] == sorted(key.encode() for key in keys)


def test_all_numbers_of_a_width_sort() -> None:
    parsed = template("{seq:03}")
    keys = [parsed.render({"seq": number}) for number in range(-999, 1000)]
    assert all(one < other for one, other in pairwise(keys))


def test_times_with_and_without_a_fraction_sort() -> None:
    moments = [datetime(2024, 1, 1, 12, 0, 29, fraction, tzinfo=UTC) for fraction in (0, 1, 17000)]
    keys = [template("{at}").render({"at": moment}) for moment in moments]
    assert keys == sorted(keys)
    assert all(len(one) == len(other) for one, other in combinations(keys, 2))
