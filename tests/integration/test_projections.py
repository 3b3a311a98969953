"""Projections on every backend, in both modes: each value is the one of the whole entity."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from decimal import Decimal
from typing import Annotated, Any

import attrs
import pytest

from dynamap import Attribute, F, GlobalIndex, Index, ItemNotFound, RequestError, Store, Table, entity
from dynamap.schema import create_params
from tests.backends import Backend
from tests.fakes import NOW
from tests.modes import Mode


@attrs.frozen
class Place:
    city: str = "Bern"
    zip: Annotated[str | None, Attribute("post.code")] = None


@entity(
    "PARCEL",
    pk="SHELF#{shelf}",
    sk="PARCEL#{number:04}",
    ttl="until",
    indexes=[Index("some", pk="STATE#{size}", sk="{number:04}")],
)
class Parcel:
    shelf: Annotated[str, Attribute(stored=False)]
    number: Annotated[int, Attribute(stored=False)]
    size: Annotated[str, Attribute("name")] = "s"
    price: Annotated[Decimal, Attribute("scope", aliases=("cost",))] = Decimal(3)
    place: Place = attrs.field(factory=Place)
    notes: dict[str, str] = attrs.field(factory=dict[str, str])
    stops: list[Place] = attrs.field(factory=list[Place])
    until: datetime | None = None


@entity("LABEL", pk="SHELF#{shelf}", sk="LABEL")
class Label:
    shelf: str


@attrs.frozen
class Short:
    number: int
    price: Decimal
    notes: dict[str, str]


Parcels = Table(
    "parcels",
    [Parcel, Label],
    ttl="ttl",
    indexes=[GlobalIndex("some", projection=["_type", "ttl", "notes"])],
)
FIRST = Parcel("a", 1, "l", Decimal(5), Place("Thun", "3600"), {"a.b": "c", "d": "e"}, [Place("X"), Place("Y", "1")])
SECOND = Parcel("a", 2)
OLD = Parcel("a", 3, until=datetime(2001, 1, 1, tzinfo=timezone.utc))
LATER = Parcel("a", 4, "m", until=datetime(2400, 1, 1, tzinfo=timezone.utc))
ZIP = F(Parcel, lambda p: p.place.zip)
CITY = F(Parcel, lambda p: p.place.city)
DOTTED = F(Parcel, lambda p: p.notes["a.b"])
WHAT: list[tuple[Any, ...]] = [
    (F(Parcel.size),),
    (F(Parcel.shelf), F(Parcel.number)),
    (F(Parcel.price), F(Parcel.notes), F(Parcel.stops), F(Parcel.place), F(Parcel.until), F(Parcel.size)),
    (ZIP,),
    (CITY, ZIP, DOTTED),
    (DOTTED, F(Parcel, lambda p: p.notes["d"]), F(Parcel, lambda p: p.notes["none"])),
    (F(Parcel, lambda p: p.stops[1].zip), F(Parcel, lambda p: p.stops[0].city), F(Parcel, lambda p: p.stops[9])),
    (F(Parcel.notes), DOTTED),
    (Short,),
    (Parcel,),
]


@pytest.fixture(scope="module")
def shared() -> Iterator[dict[tuple[str, str], tuple[Mode, Store[Any]]]]:
    """Tables that are only read, by mode and backend."""
    made: dict[tuple[str, str], tuple[Mode, Store[Any]]] = {}
    yield made
    for mode, store in made.values():
        mode.wait(store.delete_table())


@pytest.fixture
def parcels(
    mode: Mode, backend: Backend, table_name: str, shared: dict[tuple[str, str], tuple[Mode, Store[Any]]]
) -> Any:
    """A repository with four parcels, one of which has expired, one with older attribute names; not to be changed."""
    if (mode.name, backend.name) not in shared:
        store = mode.connect(Parcels, backend, clock=lambda: NOW, cursor_key=bytes(32)).with_name(table_name)
        # dynalite knows no UpdateTimeToLive, which create_table() asks for; nothing here expires by itself
        backend.client.create_table(**create_params(Parcels, table_name))
        backend.client.get_waiter("table_exists").wait(TableName=table_name, WaiterConfig={"Delay": 1})
        for parcel in (FIRST, SECOND, OLD, LATER):
            mode.wait(store.of(Parcel).put(parcel).send())
        mode.wait(store.of(Label).put(Label("a")).send())
        backend.client.update_item(
            TableName=table_name,
            Key=Parcels.entity(Parcel).key({"shelf": "a", "number": 2}),
            UpdateExpression="SET cost = :cost REMOVE #price, notes",
            ExpressionAttributeNames={"#price": "scope"},
            ExpressionAttributeValues={":cost": {"N": "8"}},
        )
        shared[mode.name, backend.name] = mode, store
    return shared[mode.name, backend.name][1].of(Parcel)


def part(parcel: Parcel, what: tuple[Any, ...]) -> Any:
    """What of the whole entity was asked for, found without the package's own walk."""
    if what == (Parcel,):
        return parcel
    if what == (Short,):
        return Short(parcel.number, parcel.price, parcel.notes)
    values = tuple(walked(parcel, field.path) for field in what)
    return values if len(values) > 1 else values[0]


def walked(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list):
            value = value[step] if step < len(value) else None
        else:
            value = None if value is None else getattr(value, step)
    return value


@pytest.mark.parametrize("what", WHAT)
def test_a_get_answers_parts(mode: Mode, parcels: Any, what: tuple[Any, ...]) -> None:
    for number in (1, 2, 4):
        get = parcels.get(shelf="a", number=number)
        whole = mode.wait(get.required().send())
        assert mode.wait(get.project(*what).send()) == part(whole, what)
        assert mode.wait(get.project(*what).strongly_consistent().required().send()) == part(whole, what)


@pytest.mark.parametrize("what", WHAT)
def test_a_miss_and_what_has_expired_are_none(mode: Mode, parcels: Any, what: tuple[Any, ...]) -> None:
    for number in (3, 5):
        get = parcels.get(shelf="a", number=number).project(*what)
        assert mode.wait(get.send()) is None
        with pytest.raises(ItemNotFound):
            mode.wait(get.required().send())
    old = parcels.get(shelf="a", number=3).project(*what).include_expired()
    assert mode.wait(old.send()) == part(OLD, what)


@pytest.mark.parametrize("what", WHAT)
def test_a_query_answers_parts(mode: Mode, parcels: Any, what: tuple[Any, ...]) -> None:
    query = parcels.query(shelf="a")
    wholes = mode.wait(query.send())
    assert [whole.number for whole in wholes] == [1, 2, 4]
    expected = [part(whole, what) for whole in wholes]
    assert mode.wait(query.project(*what).send()) == expected
    assert mode.wait(query.project(*what).reverse().page_size(1).send()) == expected[::-1]
    assert mode.wait(query.project(*what).first().send()) == expected[0]
    assert mode.wait(query.filter(F(Parcel.size).eq("m")).project(*what).send()) == expected[2:]
    assert mode.wait(query.project(*what).count().send()) == 3


@pytest.mark.parametrize("what", WHAT)
def test_pages_of_parts_lose_nothing(mode: Mode, parcels: Any, what: tuple[Any, ...]) -> None:
    query = parcels.query(shelf="a")
    expected = [part(whole, what) for whole in mode.wait(query.send())]
    found: list[Any] = []
    cursor = None
    for _ in range(10):
        page = mode.wait(query.project(*what).limit(1).page(cursor).send())
        found += page.items
        cursor = page.next
        if cursor is None:
            break
    assert found == expected
    assert cursor is None


def test_a_global_index_answers_what_it_holds(mode: Mode, parcels: Any) -> None:
    query = parcels.index("some").query(size="s")
    assert mode.wait(query.project(F(Parcel.number), DOTTED).send()) == [(2, None)]
    large = parcels.index("some").query(size="l")
    assert mode.wait(large.project(F(Parcel.number), DOTTED).send()) == [(1, "c")]
    page = mode.wait(large.project(F(Parcel.notes)).limit(1).page().send())
    assert page.items == [FIRST.notes]
    with pytest.raises(RequestError, match="the index 'some' does not hold size"):
        large.project(F(Parcel.size))
    with pytest.raises(RequestError, match="the index 'some' does not hold price"):
        large.project(Short)
    for both in (lambda: large.hydrate().project(Parcel), lambda: large.project(F(Parcel.number)).hydrate()):
        with pytest.raises(RequestError) as caught:
            both()
        assert str(caught.value) == (
            "query of Parcel size='l': hydrate() reads whole items, project() parts of them: leave one out"
        )
