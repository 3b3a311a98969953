"""What DynamoDB cannot hold is refused by every kind of write, with the place where it stands, and nothing is sent."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

import attrs
import pytest

from dynamap import EncodeError, EpochMillis, EpochSeconds, F, Table, entity
from tests.fakes import async_store_of, store_of


@attrs.frozen
class Line:
    price: Decimal
    at: datetime | None = None


@entity("SAMPLE", pk="SAMPLE#{id}", sk="SAMPLE")
class Sample:
    id: str
    whole: int = 0
    tags: set[str] = attrs.field(factory=set[str])


@entity("MEASURE", pk="MEASURE#{id}", sk="MEASURE", ttl="expires")
class Measure:
    id: str
    whole: int = 0
    exact: Decimal = Decimal(0)
    rough: float = 0.0
    wholes: set[int] = attrs.field(factory=set[int])
    many: list[int] = attrs.field(factory=list[int])
    named: dict[str, int] = attrs.field(factory=dict[str, int])
    lines: tuple[Line, ...] = ()
    any: Any = None
    expires: int = 0
    at: datetime | None = None
    times: list[datetime] = attrs.field(factory=list[datetime])
    seconds: Annotated[datetime | None, EpochSeconds()] = None
    millis: Annotated[datetime | None, EpochMillis()] = None
    text: str = ""
    day: date | None = None


Measures = Table("measures", [Measure, Sample], ttl="ttl")

RANGE = "a number outside of DynamoDB's range of 1E-130 to 9.99E+125; scale it, or store it as text"
FINITE = "NaN and infinities are no numbers to DynamoDB; store None or leave the attribute out"
BOOL = "an int expected, got bool; use int(value), or declare bool"
NAIVE = "an aware datetime expected, got a naive one; say its zone, as in value.replace(tzinfo=timezone.utc)"
MILLISECONDS = "seconds since 1970 expected, got a number beyond the year 2100, as milliseconds are; divide it by 1000"
SURROGATE = "a text with a lone surrogate, which is no Unicode text; decode its bytes with the right encoding"
MIXED = "a set in DynamoDB holds only texts, only numbers or only bytes; use a list"


def digits(count: int) -> str:
    return f"a number of {count} significant digits, DynamoDB holds 38; round it, or store it as text"


NOON = datetime(2024, 1, 1, 12)
BAD: list[tuple[str, Any, str]] = [
    ("whole", 10**38 + 1, f"$.whole: {digits(39)}"),
    ("whole", 2**200, f"$.whole: {digits(61)}"),
    ("whole", 10**126, f"$.whole: {RANGE}"),
    ("whole", True, f"$.whole: {BOOL}"),
    ("exact", Decimal("NaN"), f"$.exact: {FINITE}"),
    ("exact", Decimal("-Infinity"), f"$.exact: {FINITE}"),
    ("exact", Decimal("1E+126"), f"$.exact: {RANGE}"),
    ("exact", Decimal("1E-131"), f"$.exact: {RANGE}"),
    ("exact", Decimal("1." + "1" * 38), f"$.exact: {digits(39)}"),
    ("exact", Decimal(0.1), f"$.exact: {digits(55)}"),  # noqa: RUF032 -- the digits of the binary fraction
    ("rough", float("nan"), f"$.rough: {FINITE}"),
    ("rough", float("-inf"), f"$.rough: {FINITE}"),
    ("rough", 1e126, f"$.rough: {RANGE}"),
    ("rough", 5e-324, f"$.rough: {RANGE}"),
    ("wholes", {True}, f"$.wholes: {BOOL}"),
    ("wholes", {2, 10**38 + 1}, f"$.wholes: {digits(39)}"),
    ("many", [1, True], f"$.many[1]: {BOOL}"),
    ("named", {"a": 2**200}, f"$.named.a: {digits(61)}"),
    ("lines", (Line(Decimal(1)), Line(Decimal("NaN"))), f"$.lines[1].price: {FINITE}"),
    ("lines", (Line(Decimal(1), NOON),), f"$.lines[0].at: {NAIVE}"),
    ("any", float("inf"), f"$.any: {FINITE}"),
    ("any", {True, 2}, f"$.any: {MIXED}"),
    ("any", {True}, f"$.any: {MIXED}"),
    ("any", {"x": [{"y": float("nan")}]}, f"$.any.x[0].y: {FINITE}"),
    ("any", {"x": 2**200}, f"$.any.x: {digits(61)}"),
    ("any", {"a": ["\ud800"]}, f"$.any.a[0]: {SURROGATE}"),
    (
        "any",
        UUID(int=1),
        "$.any: a plain value expected, got UUID; declare the type as UUID, so that it can be read back",
    ),
    ("expires", 1_700_000_000_123, f"$.expires: {MILLISECONDS}"),
    ("at", NOON, f"$.at: {NAIVE}"),
    ("times", [NOON.replace(tzinfo=timezone.utc), NOON], f"$.times[1]: {NAIVE}"),
    ("seconds", NOON, f"$.seconds: {NAIVE}"),
    ("millis", NOON, f"$.millis: {NAIVE}"),
    (
        "at",
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))),
        "$.at: a datetime outside of the years 1 to 9999 in UTC; move it inside",
    ),
    ("text", "a\udfff", f"$.text: {SURROGATE}"),
    ("text", b"a", "$.text: a str expected, got bytes; declare bytes, or use value.decode()"),
    ("day", NOON, "$.day: a date expected, got datetime; use value.date()"),
]

Write = Callable[[Any, str, Any], Any]


def where(name: str) -> Any:
    return F(Measure, lambda m: getattr(m, name))


WRITES: dict[str, Write] = {
    "put": lambda measures, name, bad: measures.put(Measure("m", **{name: bad})),
    "rewrite": lambda measures, name, bad: measures.update(Measure("m")).to(Measure("m", **{name: bad})),
    "update": lambda measures, name, bad: measures.update(id="m").set_fields({name: bad}),
    "set": lambda measures, name, bad: measures.update(id="m").set(where(name), bad),
    "set if missing": lambda measures, name, bad: measures.update(id="m").set_if_missing(where(name), bad),
    "upsert": lambda measures, name, bad: measures.upsert(id="m").set_fields({name: bad}),
    "condition of a put": lambda measures, name, bad: measures.put(Measure("m")).if_(where(name).ne(bad)),
    "condition of a delete": lambda measures, name, bad: measures.delete(id="m").if_(where(name).is_in(bad)),
}


@pytest.mark.parametrize(("name", "bad", "message"), BAD, ids=[f"{name} {bad!r}"[:50] for name, bad, _ in BAD])
def test_what_cannot_be_stored_is_refused_by_every_write(name: str, bad: Any, message: str) -> None:
    for store in (store_of(Measures), async_store_of(Measures)):
        measures = store.of(Measure)
        for write in WRITES.values():
            for whole in (lambda operation: operation, store.transact):
                with pytest.raises(EncodeError) as caught:
                    whole(write(measures, name, bad)).params()
                assert str(caught.value) == f"Measure {message}"


def test_adding_what_cannot_be_stored_is_refused() -> None:
    measures = store_of(Measures).of(Measure)
    for name, bad, message in BAD:
        if name in ("whole", "exact", "rough"):
            with pytest.raises(EncodeError) as caught:
                measures.update(id="m").add(where(name), bad).params()
            assert str(caught.value) == f"Measure {message}"


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (
            lambda s: F(s, lambda m: m.whole).is_in(set()),
            "$.whole: an int expected, got set; use int(value), or declare set: is_in() takes the values one by one, "
            "as is_in(*values)",
        ),
        (
            lambda s: F(s, lambda m: m.whole).eq(set()),
            "$.whole: an int expected, got set; use int(value), or declare set",
        ),
        (lambda s: F(s, lambda m: m.whole).between(1, True), f"$.whole: {BOOL}"),
        (
            lambda s: F(s, lambda m: m.whole).not_exists_or_lt("1"),
            "$.whole: an int expected, got str; use int(value), or declare str",
        ),
    ],
)
@pytest.mark.parametrize("cls", [Sample, Measure])
def test_a_condition_that_cannot_be_stored_names_the_class(
    cls: Any, condition: Callable[[Any], Any], message: str
) -> None:
    samples = store_of(Measures).of(cls)
    with pytest.raises(EncodeError) as caught:
        samples.put(cls("m")).if_(condition(cls)).params()
    assert str(caught.value) == f"{cls.__name__} {message}"
