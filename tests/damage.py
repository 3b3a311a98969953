"""What items and instances may hold that they should not, and other writers' forms."""

from __future__ import annotations

import dataclasses
import math
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any

from hypothesis import strategies as st

from tests.class_strategies import ODD_NAMES
from tests.value_types import Color, Level, Node, Rights, Word

NUMBERS = [
    "1.0",
    "1E+2",
    " 5",
    "NaN",
    "-Infinity",
    "+7",
    "1_000",
    "\u0663",
    "1" * 45,
    "",
    "x",
    "0.5",
    "-0",
    "1e-400",
    "1e400",
    "1e-99999999999999999999",
]
TEXTS = [
    "",
    "x",
    "2025-12-17T21:47:08.305464+00:00",
    "2025-12-17 21:47:08Z",
    "2025-W51-3T21:47:08.305464Z",
    "2025-12-17x21:47:08.305464Z",
    "20251217T214708.305464Z",
    "2025-12-17T21:47:08.3+0000Z",
    "9999-12-31T23:59:59-05:00",
    "2025-12-17",
    "20251217",
    "2025-W51-3",
    "12:30",
    "123e4567-e89b-12d3-a456-426614174000",
    "123E4567E89B12D3A456426614174000",
    "red",
    "rouge",
    "true",
    "eA==",
]
contents = st.sampled_from([None, 5, 5.5, True, False, [], {}, b"b", *NUMBERS, *TEXTS])
tags = st.sampled_from(["S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS", "X"])
wires = st.one_of(
    st.builds(lambda text: {"N": text}, st.sampled_from(NUMBERS)),
    st.builds(lambda text: {"S": text}, st.sampled_from(TEXTS)),
    st.just({"NULL": True}),
    st.dictionaries(tags, contents, max_size=2),
    st.sampled_from(
        [{"L": [{"N": "1"}]}, {"SS": ["x"]}, {"NS": ["1", "1.0"]}, {"BS": [b"x"]}, {"M": {"alpha": {"S": "x"}}}]
    ),
)


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every container and key in it, at all depths."""
    pairs = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    return [place for key, inner in pairs for place in [(value, key), *_places(inner)]]


def copied(value: Any) -> Any:
    """A copy down to the leaves."""
    if isinstance(value, dict):
        return {key: copied(inner) for key, inner in value.items()}
    return [copied(inner) for inner in value] if isinstance(value, list) else value


@st.composite
def damaged(draw: st.DrawFn, item: dict[str, Any]) -> dict[str, Any]:
    """The item with one to three things changed: other writers' forms, wrong types, missing and additional parts."""
    item = copied(item)
    for _ in range(draw(st.integers(1, 3))):
        places = _places(item)
        how = draw(st.integers(0, 5))
        if not places or how == 0:
            item[draw(st.sampled_from(["alpha", "beta", "extra", *ODD_NAMES]))] = copied(draw(wires))
            continue
        container, key = draw(st.sampled_from(places))
        if how == 1:
            del container[key]
        elif how == 2 and isinstance(container, dict):
            container[draw(tags | st.sampled_from(["alpha", "1", "1.0"]))] = copied(draw(contents | wires))
        else:
            container[key] = copied(draw(wires | contents if isinstance(container[key], dict) else contents))
    return item


class OddText(str):
    """A str that is not quite one."""

    __slots__ = ()


class Shade(Enum):
    """Its members have the names of others."""

    RED = "rot"
    LOW = 100
    READ = 64


@dataclasses.dataclass
class Stranger:
    alpha: int = 1


def _deep(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


WRONG: list[Any] = [
    None,
    object(),
    "x",
    OddText("odd"),
    "\ud800",
    "ü",
    5,
    10**40,
    10**125,
    10**130,
    5.5,
    math.nan,
    math.inf,
    True,
    Decimal("NaN"),
    Decimal("1E-140"),
    Decimal("1E+3"),
    Decimal("1.10"),
    b"x",
    bytearray(b"x"),
    [],
    ["x", None],
    [5, "\ud800"],
    (),
    ("x", 5),
    set(),
    {"x", 5},
    {b"x"},
    {5.5},
    {},
    {"x": 5},
    {5: "x", "5": "y"},
    {"A": 1, "a": 2},
    {"": 1},
    Decimal("-0.00"),
    Decimal("0E-200"),
    -0.0,
    2**53 + 1,
    2**60,
    time(1, 2),
    {"\ud800": 1},
    datetime(2020, 1, 1),
    datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))),
    datetime(2020, 1, 1, tzinfo=timezone.utc),
    date(2020, 1, 1),
    timedelta(1),
    Color.RED,
    Shade.RED,
    Shade.LOW,
    Word.YES,
    Level.LOW,
    Rights(7),
    Stranger(),
    Node("n"),
    _deep(31),
    _deep(40),
]


def _two_of_a_kind(wire: dict[str, Any]) -> dict[str, Any]:
    return {"M": {"1": wire, "01": wire}}


# attribute values of every type with every content that could stand there by mistake, plain and in containers
PLAIN_WIRES: list[Any] = [
    *({"S": text} for text in TEXTS),
    *({"N": number} for number in NUMBERS),
    *({tag: content} for tag in ("S", "N", "B", "BOOL", "X") for content in (None, 5, 5.5, True, [], {}, b"5", "5")),
    *({"NULL": content} for content in (True, False, None)),
    *({tag: content} for tag in ("L", "M", "SS", "NS", "BS") for content in ([], {}, "x", None, ["x"], ["1"], [b"x"])),
    {"SS": ["x", "x"]},
    {"NS": ["1", "1.0"]},
    {"NS": ["1", "x"]},
    {"NS": [1]},
    {},
    None,
    "S",
    ["NULL"],
    5,
    *({"S": "x", "N": "1"}, {"NULL": True, "S": "x"}, {"NULL": True, "L": []}, {"SS": ["x"], "L": []}),
    *({"NULL": True, "SS": ["x"]}, {"L": [], "M": {}}, {"NULL": True, "M": {}}, {"B": b"x", "NULL": True}),
]
WIRES: list[Any] = [
    *PLAIN_WIRES,
    *({"L": [wire]} for wire in PLAIN_WIRES),
    *({"L": [{"S": "x"}, wire]} for wire in PLAIN_WIRES),
    *({"M": {"k": wire}} for wire in PLAIN_WIRES),
    *({"M": {"city": {"S": "x"}, "zip_code": wire}} for wire in PLAIN_WIRES),
    *({"M": {"sku": {"S": "x"}, "price": wire}} for wire in PLAIN_WIRES),
    *({"M": {"name": {"S": "x"}, "next": wire}} for wire in PLAIN_WIRES),
    *(_two_of_a_kind(wire) for wire in ({"N": "1"}, {"S": "x"}, {"L": [{"N": "1"}]})),
]
