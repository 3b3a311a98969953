"""Any declared type, to three levels: what is encoded is what DynamoDB takes, and comes back equal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any, Literal
from uuid import UUID

import attrs
import pytest
from boto3.dynamodb.types import TypeDeserializer, TypeSerializer
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamap.codec import AnyShape, Context, Shape, class_shape, shape_of
from tests.depth import how_many


class Color(Enum):
    RED = "red"
    BLUE = "blue"


@attrs.frozen
class Inner:
    name: str
    size: int | None = 5
    tags: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Shelf:
    items: dict[int, list[Inner | None]] = field(default_factory=dict)
    at: datetime | None = None


texts = st.text(max_size=8)


def named(key: object) -> bool:
    """Whether a map can have this key: DynamoDB has no empty names."""
    return key != ""


ints = st.integers(min_value=-(10**38) + 1, max_value=10**38 - 1)
decimals = st.decimals(min_value=-(10**20), max_value=10**20, places=7, allow_nan=False, allow_infinity=False)
floats = st.floats(min_value=-1e100, max_value=1e100, allow_subnormal=False).filter(lambda x: x == 0 or abs(x) > 1e-100)
times = st.datetimes(timezones=st.just(timezone.utc))
inners = st.builds(Inner, texts, st.none() | ints, st.frozensets(texts, max_size=3))
shelves = st.builds(
    Shelf, st.dictionaries(ints, st.lists(st.none() | inners, max_size=2), max_size=2), st.none() | times
)

Case = tuple[Any, st.SearchStrategy[Any]]
"""A type and the values of it."""

reader: Any = TypeDeserializer()
writer: Any = TypeSerializer()

SINGLE: list[Case] = [
    (str, texts),
    (int, ints),
    (bool, st.booleans()),
    (float, floats),
    (Decimal, decimals),
    (bytes, st.binary(max_size=8)),
    (UUID, st.uuids()),
    (Color, st.sampled_from(Color)),
    (datetime, times),
    (date, st.dates()),
    (time, st.times()),
    (timedelta, st.timedeltas()),
    (Literal["a", 1], st.sampled_from(["a", 1])),
    (str | int | bytes, texts | ints | st.binary(max_size=3)),
    (Inner, inners),
    (Shelf, shelves),
]
ELEMENTS = [
    case
    for case in SINGLE
    if case[0] in {str, int, float, Decimal, bytes, UUID, Color, datetime, date, time, timedelta}
]
KEYS = [case for case in SINGLE if case[0] in {str, int, bool, float, Decimal, UUID, Color, datetime, date}]


def of(container: Any, *arguments: Any) -> Any:
    return container[arguments]


def nested(inner: st.SearchStrategy[Case]) -> st.SearchStrategy[Case]:
    shapes: list[Callable[[Case], Case]] = [
        lambda case: (of(list, case[0]), st.lists(case[1], max_size=3)),
        lambda case: (of(tuple, case[0], ...), st.lists(case[1], max_size=3).map(tuple)),
        lambda case: (of(tuple, case[0], int), st.tuples(case[1], ints)),
        lambda case: (case[0] | None, st.none() | case[1]),
    ]
    return st.one_of(
        *(inner.map(make) for make in shapes),
        st.builds(
            lambda key, value: (
                of(dict, key[0], value[0]),
                st.dictionaries(key[1].filter(named), value[1], max_size=3),
            ),
            st.sampled_from(KEYS),
            inner,
        ),
        st.sampled_from(ELEMENTS).map(lambda case: (of(set, case[0]), st.sets(case[1], max_size=3))),
    )


level_1 = st.sampled_from(SINGLE)
level_2 = level_1 | nested(level_1)
level_3 = level_2 | nested(level_2)


@pytest.mark.deep
@settings(max_examples=how_many(quick=60, deep=10_000))
@given(st.data())
def test_values_of_every_declared_type_come_back_equal(data: st.DataObject) -> None:
    hint, values = data.draw(level_3 | nested(level_3))
    shape = shape_of(hint, where="Case.field", context=Context())
    for _ in range(how_many(quick=1, deep=10)):
        check_round_trip(shape, data.draw(values))


def check_round_trip(shape: Shape, value: Any) -> None:
    wire = shape.encode(value)
    decoded = shape.decode(wire)
    assert decoded == value
    assert shape.encode(decoded) == wire
    # what boto3's own reader does not take apart, DynamoDB would not take either
    reader.deserialize(wire)
    if shape.keyable:
        assert shape.decode_key(shape.encode_key(value)) == value
    top = shape.encode_attribute(value)
    assert shape.decode_attribute(top) == value


@pytest.mark.deep
@given(shelves)
def test_items_come_back_equal(value: Shelf) -> None:
    shape = class_shape(Shelf, context=Context())
    item = shape.encode_item(value)
    assert shape.decode_item(item) == value
    assert ("at" in item) == (value.at is not None)


plain = st.recursive(
    st.none()
    | st.booleans()
    | texts
    | st.integers(-(10**37), 10**37)
    | decimals
    | st.binary(max_size=5)
    | st.sets(texts, min_size=1, max_size=3)
    | st.sets(st.integers(-9, 9), min_size=1, max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts.filter(named), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.deep
@given(plain)
def test_plain_values_agree_with_boto3(value: Any) -> None:
    ours = AnyShape().encode(value)
    assert reader.deserialize(ours) == value
    assert AnyShape().decode(writer.serialize(value)) == value
    assert AnyShape().decode(ours) == value


@given(st.sets(texts, min_size=2, max_size=5))
def test_sets_are_stored_in_one_order(value: set[str]) -> None:
    stored = shape_of(set[str], where="A.b", context=Context()).encode(value)["SS"]
    assert stored == sorted(stored, key=lambda text: text.encode())
