"""Numbers through every server: exact, by value, and of the declared type."""

from __future__ import annotations

import json
from decimal import Decimal
from itertools import pairwise
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynamap import EncodeError, F, Repository, Sync, Table, connect, entity
from tests.backends import Backend
from tests.modes import RawTable

GREATEST = Decimal("9.9999999999999999999999999999999999999E+125")
LOWEST = Decimal("-9.9999999999999999999999999999999999999E+125")


@attrs.frozen
class Line:
    price: Decimal
    count: int = 0


@entity("MEASURE", pk="MEASURE#{id}", sk="MEASURE")
class Measure:
    id: str
    whole: int = 0
    exact: Decimal = Decimal(0)
    rough: float = 0.0
    wholes: set[int] = attrs.field(factory=set[int])
    exacts: set[Decimal] = attrs.field(factory=set[Decimal])
    many: list[int] = attrs.field(factory=list[int])
    named: dict[str, int] = attrs.field(factory=dict[str, int])
    lines: tuple[Line, ...] = ()
    any: Any = None


KEY = ("MEASURE#m", "MEASURE")


@pytest.fixture
def measures(backend: Backend, raw: RawTable) -> Repository[Sync, Measure]:
    return connect(Table(raw.name, [Measure]), client=backend.client).of(Measure)


def types(value: Any) -> Any:
    """The type of a value and of everything in it."""
    if isinstance(value, dict):
        return {key: types(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [types(each) for each in value]
    if isinstance(value, (set, frozenset)):
        return {type(each) for each in value}
    return type(value)


def same(read: Measure, stored: Measure) -> bool:
    """Whether all is equal, and every number of the same type."""
    return read == stored and types(attrs.astuple(read)) == types(attrs.astuple(stored))


EXACT = [
    Measure("m", 10**38, Decimal("1.10"), 30.4, {1, 2**53 + 1, -(10**37)}),
    Measure("m", -(10**125), Decimal("-0"), 0.1, exacts={Decimal(1), Decimal("2.50"), Decimal("-0.001")}),
    Measure("m", 10**38 - 1, Decimal("1E+3"), 0.1 + 0.2, many=[1, 2**53 + 1], any=9007199254740993),
    Measure("m", 2**53 + 1, Decimal("0.5"), -1e-100, named={"a": 3804086584686624768}, any=Decimal("0.1")),
    Measure("m", 3804086584686624768, GREATEST, lines=(Line(Decimal("30.40"), 2**53 + 1),)),
    Measure("m", 1, LOWEST, any=[1, {"a": Decimal("2.5"), "b": [10**30]}, {3, 4}]),
    Measure("m", -1, Decimal("1E-130"), 1e100),
    Measure("m", 7, Decimal("1234567890123456789012345678.9012345678")),
    Measure("m", 8, Decimal("0E+500")),
]


def test_numbers_come_back_exact_and_of_their_type(measures: Repository[Sync, Measure]) -> None:
    for measure in EXACT:
        assert same(measures.put(measure).send(), measure)
        assert same(measures.get(id="m").strongly_consistent().required().send(), measure)
    for before, after in pairwise(EXACT):
        measures.put(before).send()
        values = attrs.asdict(after, recurse=False)
        del values["id"]
        assert same(measures.update(id="m").set_fields(values).send(), after)


def test_undeclared_floats_come_back_as_decimals(measures: Repository[Sync, Measure], raw: RawTable) -> None:
    measures.put(Measure("m", rough=30.4, any={"x": 0.1, "y": [1.0, 2]})).send()
    item = raw.get(*KEY)
    assert item is not None
    assert item["rough"] == {"N": "30.4"}
    assert item["any"] == {"M": {"x": {"N": "0.1"}, "y": {"L": [{"N": "1"}, {"N": "2"}]}}}
    read = measures.get(id="m").required().send()
    assert read.rough == 30.4
    assert read.any == {"x": Decimal("0.1"), "y": [1, 2]}
    assert types(read.any) == {"x": Decimal, "y": [int, int]}
    # whoever makes JSON of it decides about Decimal alone: what is integral is an int, and nothing a text
    assert json.loads(json.dumps(read.any, default=float)) == {"x": 0.1, "y": [1, 2]}


NUMBERS = st.fixed_dictionaries(
    {
        "whole": st.integers() | st.integers(-(10**38), 10**38) | st.integers(0, 125).map(lambda zeros: 10**zeros),
        "exact": st.decimals(allow_nan=False, allow_infinity=False) | st.decimals(-(10**9), 10**9, places=4),
        "rough": st.floats(allow_nan=False, allow_infinity=False) | st.floats(-1000, 1000),
        "wholes": st.sets(st.integers(-(2**64), 2**64), max_size=3),
        "any": st.integers() | st.decimals(-(10**20), 10**20, places=6),
    }
)


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(values=NUMBERS)
def test_random_numbers_come_back_equal_or_are_refused(
    measures: Repository[Sync, Measure], values: dict[str, Any]
) -> None:
    storable = {}
    for name, value in values.items():
        try:
            measures.put(Measure("m", **{name: value})).params()
        except EncodeError:
            continue
        storable[name] = value
    measure = Measure("m", **storable)
    measures.put(measure).send()
    read = measures.get(id="m").strongly_consistent().required().send()
    assert read == measure
    assert same(attrs.evolve(read, any=None), attrs.evolve(measure, any=None))


# ---- what other writers stored

PLAIN = [("1.10", "1.1"), ("1e3", "1000"), ("-0", "0"), (".5", "0.5"), ("007", "7"), ("1E-130", "1E-130")]


def test_numbers_of_other_writers_are_read_and_compared_by_value(
    measures: Repository[Sync, Measure], raw: RawTable
) -> None:
    for text, value in PLAIN:
        raw.put(*KEY, _type={"S": "MEASURE"}, id={"S": "m"}, exact={"N": text}, any={"N": text})
        read = measures.get(id="m").required().send()
        assert read.exact == read.any == Decimal(value)
        assert types([read.exact, read.any]) == [Decimal, int if Decimal(value) % 1 == 0 else Decimal]
        condition = F(Measure.exact).eq(Decimal(value))
        assert measures.update(id="m").set(F(Measure.whole), 1).if_(condition).send().whole == 1


@pytest.mark.not_on(
    "ministack", "dynalite", "roto", reason="they store no such number, as DynamoDB itself no longer does"
)
@pytest.mark.parametrize("text", ["1" * 39, "-" + "9" * 100, "0." + "3" * 45])
def test_numbers_of_too_many_digits_are_read_all_the_same(
    measures: Repository[Sync, Measure], raw: RawTable, text: str
) -> None:
    raw.put(*KEY, _type={"S": "MEASURE"}, id={"S": "m"}, exact={"N": text}, any={"N": text}, rough={"N": text})
    read = measures.get(id="m").required().send()
    assert read.exact == read.any == Decimal(text)
    assert read.rough == float(text)
    # a change of something else leaves them as they are
    assert measures.update(id="m").set(F(Measure.whole), 1).send().exact == Decimal(text)


# ---- arithmetic on the server


@pytest.mark.parametrize(
    ("field", "start", "change", "result"),
    [
        ("whole", 2**53, 1, 2**53 + 1),
        ("whole", 3804086584686624768, -1, 3804086584686624767),
        ("whole", 0, 10**30, 10**30),
        ("exact", Decimal("0.1"), Decimal("0.2"), Decimal("0.3")),
        ("exact", Decimal("30.40"), Decimal("-30.4"), Decimal(0)),
        ("rough", 30.4, 0.1, 30.5),
    ],
)
def test_arithmetic_is_decimal(
    measures: Repository[Sync, Measure], field: str, start: Any, change: Any, result: Any
) -> None:
    where: Any = F(Measure, lambda m: getattr(m, field))
    for step in (lambda u: u.add(where, change), lambda u: u.set(where, where + change)):
        measures.put(Measure("m", **{field: start})).send()
        answer = getattr(step(measures.update(id="m")).send(), field)
        assert answer == result
        assert type(answer) is type(start)


def test_sets_hold_numbers_by_value(measures: Repository[Sync, Measure]) -> None:
    measures.put(Measure("m", exacts={Decimal("1.0"), Decimal("2.50")})).send()
    added = measures.update(id="m").add(F(Measure.exacts), Decimal("1.00"), Decimal(3)).send()
    assert added.exacts == {Decimal(1), Decimal("2.5"), Decimal(3)}
    left = measures.update(id="m").discard(F(Measure.exacts), Decimal("2.500"), Decimal("1E+0")).send()
    assert left.exacts == {Decimal(3)}
