"""Keys on servers: what differs has another key, comes back unchanged, and sorts there as its values do."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import pairwise
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynamap import F, GlobalIndex, Index, KeyValueError, Table, connect, entity, evolve
from dynamap.testing import FaultPlan
from tests.backends import Backend
from tests.modes import Mode, RawTable

# ---- different fields, different keys


@entity("PAIR", pk="A#{x}#{y}", sk="PAIR#{y}#{x}", frozen=True)
class Pair:
    x: str
    y: str
    text: str = ""


@entity("STUDENT", pk="STUDENT#{id}", sk="STUDENT", frozen=True)
class Student:
    id: str


WORDS = ["", "#", "$23", "p", "p#q", "q#r"]


def test_fields_that_differ_never_share_a_key(backend: Backend, raw: RawTable) -> None:
    pairs = connect(Table(raw.name, [Pair]), client=backend.client).of(Pair)
    stored = [Pair(x, y, f"{x}|{y}") for x, y in itertools.product(WORDS, WORDS)]
    for pair in stored:
        pairs.put(pair).if_not_exists().send()
    for pair in stored:
        assert pairs.get(x=pair.x, y=pair.y).strongly_consistent().send() == pair
    assert len(raw.client.scan(TableName=raw.name, ConsistentRead=True)["Items"]) == len(WORDS) ** 2


def test_an_id_that_holds_the_prefix_is_another_id(backend: Backend, mode: Mode, raw: RawTable) -> None:
    students = mode.connect(Table(raw.name, [Student]), backend).of(Student)
    plain = Student("x")
    mode.wait(students.put(plain).send())
    for prefix in ("STUDENT#", "STUDENT", "STUDENT#STUDENT#", "#"):
        prefixed = Student(f"{prefix}x")
        mode.wait(students.put(prefixed).if_not_exists().send())
        assert mode.wait(students.get(id=prefixed.id).strongly_consistent().send()) == prefixed
        mode.wait(students.delete(id=prefixed.id).if_exists().send())
        assert mode.wait(students.get(id="x").strongly_consistent().send()) == plain


# ---- order


def sorted_class(hint: Any, sk: str) -> Any:
    """A class whose sort key is made of one field of this type."""
    body = {"__annotations__": {"run": int, "value": hint}, "__module__": __name__}
    return entity("SORTED", pk="PARTITION#{run}", sk=sk, frozen=True)(type("Sorted", (), body))


UTC = timezone.utc
ZONES = [UTC, timezone(timedelta(hours=2)), timezone(timedelta(hours=-7, minutes=-30))]
FIRST = datetime(2024, 1, 1, 12, 0, 29, tzinfo=UTC)
Values = st.SearchStrategy[Any]
ORDERS: dict[str, tuple[Any, str, list[Any], Values]] = {
    "numbers of a width": (int, "V#{value:04}", [-10, -2, 0, 3, 9, 10, 100, 9999, -9999], st.integers(-9999, 9999)),
    "numbers before more": (int, "{value:04}#X", [-10, -2, -1, 0, 9, 10, 100], st.integers(-9999, 9999)),
    "decimals of a scale": (
        Decimal,
        "D#{value:08.2}",
        [Decimal("-10.5"), Decimal("-10.45"), Decimal(-2), Decimal(0), Decimal("0.1"), Decimal(9), Decimal(10)],
        st.decimals(-9999, 9999, places=2, allow_nan=False, allow_infinity=False),
    ),
    "times with and without a fraction": (
        datetime,
        "T#{value}",
        [FIRST, FIRST + timedelta(microseconds=1), FIRST + timedelta(milliseconds=17), FIRST + timedelta(seconds=1)],
        st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.sampled_from(ZONES)),
    ),
    "times of other zones": (
        datetime,
        "{value}",
        [
            datetime(2024, 1, 2, 0, 0, tzinfo=ZONES[1]),
            datetime(2024, 1, 1, 23, 0, tzinfo=UTC),
            datetime(2024, 1, 1, 23, 0, tzinfo=ZONES[2]),
        ],
        st.datetimes(datetime(2024, 1, 1), datetime(2024, 1, 3), timezones=st.sampled_from(ZONES)),
    ),
    "times of before the year 1000": (
        datetime,
        "{value}",
        [datetime(33, 1, 1, tzinfo=UTC), datetime(539, 1, 1, tzinfo=UTC), datetime(1000, 1, 1, tzinfo=UTC)],
        st.datetimes(datetime(1, 1, 2), datetime(2000, 1, 1), timezones=st.just(UTC)),
    ),
    "dates": (date, "{value}", [date(1, 1, 1), date(33, 1, 1), date(999, 12, 31), date(1000, 1, 1)], st.dates()),
    "texts by their UTF-8 bytes": (
        str,
        "S#{value}",
        ["", "a", "a#", "a$", "aa", "\u00e9", "\uffff", "\U00010000"],
        st.text(st.sampled_from('\0 "#$%09a~\x7f\u00e9\uffff\U00010000\U0010ffff'), max_size=4),
    ),
    "texts before more": (
        str,
        "{value:ordered}#X",
        ["", "\0", " ", "!", "#", "$", "%", "a", "a b", "a#b", "ab", "\uffff", "\U00010000"],
        st.text(st.sampled_from('\0 "#$%09a~\x7f\u00e9\uffff\U00010000\U0010ffff'), max_size=4),
    ),
    "UUIDs": (UUID, "{value}", [UUID(int=0), UUID(int=9), UUID(int=10), UUID(int=2**127)], st.uuids()),
}


@pytest.fixture
def in_order(backend: Backend, raw: RawTable) -> Callable[[str, list[Any]], None]:
    """Store values in one partition, and let the server bring them in order, as any other program would ask it."""
    runs = itertools.count()
    made = {name: sorted_class(hint, sk) for name, (hint, sk, _, _) in ORDERS.items()}

    def check(name: str, values: list[Any]) -> None:
        cls, run = made[name], next(runs)
        table = Table(raw.name, [cls])
        repository = connect(table, client=backend.client).of(cls)
        for value in values:
            repository.put(cls(run, value)).send()
        items = raw.client.query(
            TableName=raw.name,
            ConsistentRead=True,
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": {"S": f"PARTITION#{run}"}},
        )["Items"]
        found = [table.entity(cls).decode(item).value for item in items]
        assert len(found) == len(set(values))
        assert set(found) == set(values)
        assert all(one < other for one, other in pairwise(found))

    return check


def test_items_sort_as_their_values_do(in_order: Callable[[str, list[Any]], None]) -> None:
    for name, (_, _, values, _) in ORDERS.items():
        in_order(name, values[::-1])


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_random_items_sort_as_their_values_do(in_order: Callable[[str, list[Any]], None], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(ORDERS)))
    in_order(name, data.draw(st.lists(ORDERS[name][3], min_size=2, max_size=5)))


@entity("MEETING", pk="MEETING", sk="{at}", frozen=True)
class Meeting:
    at: datetime


def test_one_moment_has_one_key_in_every_zone(backend: Backend, mode: Mode, raw: RawTable) -> None:
    meetings = mode.connect(Table(raw.name, [Meeting]), backend).of(Meeting)
    at = datetime(2024, 1, 1, 22, tzinfo=UTC)
    mode.wait(meetings.put(Meeting(at.astimezone(ZONES[1]))).if_not_exists().send())
    for zone in ZONES:
        assert mode.wait(meetings.get(at=at.astimezone(zone)).required().send()) == Meeting(at)
    assert raw.get("MEETING", "2024-01-01T22:00:00.000000Z") is not None
    assert mode.wait(meetings.get(at=at.replace(tzinfo=ZONES[1])).send()) is None


def test_the_hour_that_clocks_run_through_twice_is_two_keys(backend: Backend, mode: Mode, raw: RawTable) -> None:
    meetings = mode.connect(Table(raw.name, [Meeting]), backend).of(Meeting)
    first = datetime(2023, 10, 29, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"))
    second = first.replace(fold=1)
    for meeting in (first, second):
        mode.wait(meetings.put(Meeting(meeting)).if_not_exists().send())
    for meeting, hour in ((first, 0), (second, 1)):
        read = mode.wait(meetings.get(at=meeting).required().send())
        assert read.at == datetime(2023, 10, 29, hour, 30, tzinfo=UTC)


# ---- no empty key


@entity("SHELF", indexes=[Index("place"), Index("label", sk="{note}")])
class Shelf:
    room: str
    number: str
    place: str | None = None
    note: str | None = None
    count: int = 0


Shelves = Table(
    "shelves",
    [Shelf],
    pk="room",
    sk="number",
    indexes=[GlobalIndex("place", pk="place", sk="room"), GlobalIndex("label", pk="number", sk="label")],
)
EMPTY = "is empty, which DynamoDB does not take in a key: give it a value"
NO_ROOM, NO_NUMBER, NO_PLACE = f"Shelf.room {EMPTY}", f"Shelf.number {EMPTY}", f"Shelf.place {EMPTY}"
FULL = Shelf("r", "1", "here", "n")
EMPTY_KEYS: list[tuple[Callable[[Any], Any], str]] = [
    (lambda shelves: shelves.get(room="", number="1"), NO_ROOM),
    (lambda shelves: shelves.put(Shelf("", "1")), NO_ROOM),
    (lambda shelves: shelves.put(Shelf("r", "")), NO_NUMBER),
    (lambda shelves: shelves.update(Shelf("r", "")).set(F(Shelf.count), 1), NO_NUMBER),
    (lambda shelves: shelves.update(room="r", number="").set(F(Shelf.count), 1), NO_NUMBER),
    (lambda shelves: shelves.upsert(room="", number="1").set(F(Shelf.count), 1), NO_ROOM),
    (lambda shelves: shelves.delete(room="", number="1"), NO_ROOM),
    (lambda shelves: shelves.check(room="", number="1").exists(), NO_ROOM),
    (lambda shelves: shelves.key(room="", number="1"), NO_ROOM),
    (lambda shelves: shelves.put(Shelf("r", "1", place="")), NO_PLACE),
    (lambda shelves: shelves.update(room="r", number="1").set(F(Shelf.place), ""), NO_PLACE),
    (lambda shelves: shelves.update(room="r", number="1").set_if_missing(F(Shelf.place), ""), NO_PLACE),
    (lambda shelves: shelves.update(FULL).to(evolve(FULL, place="")), NO_PLACE),
    (lambda shelves: shelves.upsert(room="r", number="1").set(F(Shelf.place), ""), NO_PLACE),
]


@pytest.mark.parametrize(("make", "message"), EMPTY_KEYS)
def test_an_empty_text_never_reaches_a_key(
    embedded_backend: Backend, mode: Mode, make: Callable[[Any], Any], message: str
) -> None:
    plan = FaultPlan()
    shelves = plan.over(mode.connect(Shelves, embedded_backend)).of(Shelf)
    with pytest.raises(KeyValueError) as caught:
        mode.wait(make(shelves).send())
    assert str(caught.value) == message
    assert plan.calls == []


def test_what_is_missing_is_no_key_of_an_index(backend: Backend, mode: Mode, table_name: str) -> None:
    store = mode.connect(Shelves, backend).with_name(table_name)
    mode.wait(store.create_table())
    shelves = store.of(Shelf)

    def stored() -> dict[str, Any]:
        items: list[dict[str, Any]] = backend.client.scan(TableName=table_name, ConsistentRead=True)["Items"]
        return {name: wire for name, wire in items[0].items() if name in ("place", "label")}

    mode.wait(shelves.put(FULL).send())
    assert stored() == {"place": {"S": "here"}, "label": {"S": "n"}}
    read = mode.wait(shelves.update(FULL).to(evolve(FULL, place=None, note=None)).send())
    assert stored() == {}
    mode.wait(shelves.update(read).to(evolve(read, note="m")).send())
    assert stored() == {"label": {"S": "m"}}
    mode.wait(shelves.put(Shelf("r", "1")).send())
    assert stored() == {}
    mode.wait(store.delete_table())
