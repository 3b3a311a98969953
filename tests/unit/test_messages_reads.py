"""Queries, batches, projections and cursors that are refused before anything is sent: each message, whole."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import attrs
import pytest

from dynamap import (
    DynamapError,
    F,
    GlobalIndex,
    Index,
    KeyValueError,
    LimitExceeded,
    RequestError,
    Table,
    UnguardedWrite,
    connect,
    entity,
)
from tests.fakes import FakeClient, store_of


@attrs.frozen
class Place:
    city: str = ""


@entity(
    "VISIT",
    pk="SITE#{site}",
    sk="{day:05}#{page:ordered}#{no:03}",
    indexes=[
        Index("by_page", pk="PAGE#{page}", sk="{no:03}"),
        Index("by_type", sk=("{day:05}", "{no:03}")),
        Index("by_note"),
    ],
    aliases=("OLD_VISIT",),
    frozen=True,
)
class Visit:
    site: str
    day: int
    page: str
    no: int = 0
    place: Place = attrs.field(factory=Place)
    note: str | None = None


@entity("BOOK", pk="BOOK#{id}", sk="BOOK", indexes=[Index("by-author", pk="AUTHOR#{author}", sk="{id}")], frozen=True)
class Book:
    id: str
    author: str = ""


@entity("SITE", pk="SITE#{site}", sk="SITE", version="revision", frozen=True)
class Site:
    site: str
    revision: int = 0


@attrs.frozen
class Stranger:
    """With a field that no visit has."""

    site: str
    colour: str


@attrs.frozen
class Differently:
    """With a field that is of another type there."""

    site: str
    day: str


def wide() -> Any:
    """A class of many fields."""
    hints = {"id": str, **{f"field{number}": str for number in range(800)}}
    made = type("Wide", (), {"__annotations__": hints})
    return entity("WIDE", pk="WIDE#{id}", sk="WIDE")(made)


Visits = Table(
    "visits",
    [Visit, Site],
    indexes=[
        GlobalIndex("by_page", projection=["_type", "note"]),
        GlobalIndex("by_type", pk="_type", sk=("type_day", "type_no")),
        GlobalIndex("by_note", pk="site", sk="note"),
    ],
)
Wide: Any = wide()
store: Any = store_of(Visits)
visits: Any = store.of(Visit)
sites: Any = store.of(Site)
by_page = visits.index("by_page")
by_note = visits.index("by_note")
books: Any = store_of(Table("library", [Book], indexes=[GlobalIndex("by-author")])).of(Book)
query = visits.query(site="a")


def field(name: str) -> Any:
    return F(Visit, attrgetter(name))


def city(visit: Any) -> Any:
    return visit.place.city


def twice(many: Any) -> object:
    """Two requests of what can be read but once."""
    list(many._given.begin())
    return many.params()


def wide_projection() -> object:
    names = [name for name in Wide.__annotations__ if name != "id"]
    fields = [F(Wide, attrgetter(name)) for name in names]
    return store_of(Table("wide", [Wide])).of(Wide).get(id="a").project(*fields).params()


QUERIES: dict[str, tuple[Callable[[], object], type[DynamapError], str]] = {
    "of no field": (
        lambda: visits.query(place="x"),
        KeyValueError,
        ("Visit has no field 'place' in the key of the table: that is site, day, page, no"),
    ),
    "of the field of an index": (
        lambda: books.query(author="A"),
        KeyValueError,
        (
            "Book has no field 'author' in the key of the table: that is id; the index 'by-author' begins with author: "
            "index('by-author').query(...)"
        ),
    ),
    "of a field of the sort key that begins an index": (
        lambda: visits.query(page="x"),
        KeyValueError,
        (
            "Visit: query() of the table is missing site: it takes the whole partition key, site, and the first fields "
            "of the sort key or none; the index 'by_page' begins with page: index('by_page').query(...)"
        ),
    ),
    "of half a partition key": (
        lambda: visits.query(day=1),
        KeyValueError,
        (
            "Visit: query() of the table is missing site: it takes the whole partition key, site, and the "
            "first fields of the sort key or none"
        ),
    ),
    "of None": (lambda: visits.query(site=None), KeyValueError, "Visit.site is None: give a value"),
    "of None in the sort key": (
        lambda: visits.query(site="a", day=None),
        KeyValueError,
        ("Visit.day is None: give a value, or leave the field out for all of its values"),
    ),
    "of a type with several names": (
        lambda: visits.index("by_type").query(),
        RequestError,
        (
            "Visit: the index 'by_type' has the discriminator in its partition key, and items that were stored "
            "as 'OLD_VISIT' are in other partitions: scan the index, or store them again and leave out the "
            "aliases"
        ),
    ),
    "with a gap": (
        lambda: sole().query(type="x", no=1),
        KeyValueError,
        ("Event.no is given without Event.day, which stands before it in the sort key of the index 'gsi': give both"),
    ),
    "two ranges": (
        lambda: query.range(field("day").ge(1)).range(field("day").le(5)),
        RequestError,
        (
            "query of Visit site='a': a query takes one range, and has one of day: use between() for two ends, "
            "or filter()"
        ),
    ),
    "a range of two conditions": (
        lambda: query.range(field("day").ge(1) & field("day").le(5)),
        RequestError,
        (
            "Visit: range() takes one comparison of a sort key field, as F(Visit.field).between(low, high); "
            "got Condition: use filter() for other conditions"
        ),
    ),
    "a range of a part": (
        lambda: query.range(F(Visit, city).ge("x")),
        RequestError,
        "Visit: range() takes a sort key field; place.city is a part of one",
    ),
    "a range of the partition key": (
        lambda: query.range(field("site").ge("x")),
        RequestError,
        ("Visit.site is part of the partition key of the table, which takes no range: give its value"),
    ),
    "a range of another field": (
        lambda: query.range(field("note").ge("x")),
        RequestError,
        (
            "Visit.note is no field of the sort key of the table (those are day, page, no), so it takes no "
            "range: use filter()"
        ),
    ),
    "a range of what is given": (
        lambda: visits.query(site="a", day=1).range(field("day").ge(2)),
        RequestError,
        (
            "Visit.day is given to query() already, so it takes no range: leave it out there, or give a range "
            "of Visit.page"
        ),
    ),
    "a range after a gap": (
        lambda: query.range(field("no").ge(2)),
        RequestError,
        (
            "Visit.no takes no range before Visit.day and Visit.page are given to query(): give the value, or "
            "a range of Visit.day"
        ),
    ),
    "a range of a field": (
        lambda: query.range(field("day").ge(field("no"))),
        RequestError,
        ("Visit.day: a range of a key is compared with a value; got another field"),
    ),
    "a range of None": (
        lambda: query.range(field("day").ge(None)),
        RequestError,
        "Visit.day: a range of a key is compared with a value; got None",
    ),
    "a beginning of another type": (
        lambda: by_note.query(site="a").range(field("note").begins_with(b"x")),
        RequestError,
        "Visit.note takes no begins_with of bytes: it is str",
    ),
    "a range that is reversed": (
        lambda: by_note.query(site="a").range(field("note").between("b", "a")),
        RequestError,
        ("Visit.note: the low end of between() is above its high end: exchange them"),
    ),
    "a filter that is none": (
        lambda: query.filter(True),
        RequestError,
        ("query of Visit site='a': filter() takes a Condition, such as F(X.count).ge(1); got bool"),
    ),
    "a filter of the key": (
        lambda: by_note.query(site="a").filter(field("site").eq("a")),
        RequestError,
        (
            "query of Visit site='a': Visit.site is stored as 'site', a key attribute of the index 'by_note', "
            "which no filter may name: give it to query() or range()"
        ),
    ),
    "a filter of what is not held": (
        lambda: by_page.query(page="x").filter(field("day").eq(1)),
        RequestError,
        (
            "query of Visit page='x': the index 'by_page' does not hold 'day', so that no filter can see "
            "Visit.day: project it in the index, or filter what was read"
        ),
    ),
    "no limit": (
        lambda: query.limit(0),
        RequestError,
        "query of Visit site='a': limit() takes an int from 1 on; got 0",
    ),
    "a limit that is no number": (
        lambda: query.limit("5"),
        RequestError,
        "query of Visit site='a': limit() takes an int from 1 on; got str",
    ),
    "half of the items": (
        lambda: by_page.query(page="x").params(),
        RequestError,
        (
            "query of Visit page='x': the index 'by_page' does not hold 'site', 'day', 'page', 'no', 'place', "
            "so that its items are no whole Visit: add hydrate(), which reads them from the table, or project()"
        ),
    ),
    "strong reads of a global index": (
        lambda: by_page.query(page="x").strongly_consistent(),
        RequestError,
        (
            "Visit: the index 'by_page' is global, and global indexes are read eventually only: leave out "
            "strongly_consistent(), or read the table"
        ),
    ),
    "whole items of a table": (
        query.hydrate,
        RequestError,
        ("query of Visit site='a': the items of a table are whole: leave out hydrate(), which is for indexes"),
    ),
    "whole items and parts": (
        lambda: by_page.query(page="x").hydrate().project(field("note")),
        RequestError,
        ("query of Visit page='x': hydrate() reads whole items, project() parts of them: leave one out"),
    ),
    "parts and whole items": (
        lambda: by_page.query(page="x").project(field("note")).hydrate(),
        RequestError,
        ("query of Visit page='x': hydrate() reads whole items, project() parts of them: leave one out"),
    ),
    "a page without a secret": (
        query.page,
        RequestError,
        (
            "query of Visit site='a': page() gives and takes cursors, which need a secret: write connect(..., "
            "cursor_key=...), or iterate, which needs none"
        ),
    ),
    "a short secret": (
        lambda: connect(Visits, client=FakeClient(), cursor_key=b"short"),
        RequestError,
        (
            "cursor_key= is a secret of at least 32 bytes, or a sequence of them of which the first seals new "
            "cursors; got one of 5: make one with secrets.token_bytes(32) and keep it with your other secrets"
        ),
    ),
    "an index without a bound field": (
        lambda: visits.bind(site="a").index("by_page").query(page="x"),
        RequestError,
        (
            "Visit.site is bound here, but no part of the key that is asked for, so items with other values "
            "would be read too: use a key that has it, or do not bind it"
        ),
    ),
}

PROJECTIONS: dict[str, tuple[Callable[[], object], type[DynamapError], str]] = {
    "of nothing": (
        query.project,
        RequestError,
        ("project() of Visit takes one class, or fields, as project(F(Visit.name)); got nothing"),
    ),
    "of a class and a field": (
        lambda: query.project(Place, field("day")),
        RequestError,
        ("project() of Visit takes one class, or fields, as project(F(Visit.name)); got Place, F(Visit: day)"),
    ),
    "of what an index does not hold": (
        lambda: by_page.query(page="x").project(field("place")),
        RequestError,
        (
            "project() of Visit: the index 'by_page' does not hold place: leave it out, add its attribute to "
            "the index's projection, or read whole entities with the hydrate() of a query"
        ),
    ),
    "of a field that is none": (
        lambda: query.project(Stranger),
        RequestError,
        ("project(Stranger) of Visit: Stranger.colour is no field of Visit: leave it out, or name it as there"),
    ),
    "of a field of another type": (
        lambda: query.project(Differently),
        RequestError,
        (
            "project(Differently) of Visit: Differently.day is declared as str, but Visit.day as int: declare "
            "it the same"
        ),
    ),
    "of too much text": (
        wide_projection,
        LimitExceeded,
        ("Wide: the projection expression has 4,706 bytes; DynamoDB takes 4,096: project fewer fields"),
    ),
}

BATCHES: dict[str, tuple[Callable[[], object], type[DynamapError], str]] = {
    "one key": (
        lambda: sites.get_many({"site": "a"}),
        RequestError,
        ("get_many of Site takes keys as a list or another iterable; got dict: put it in a list"),
    ),
    "no iterable": (
        lambda: sites.get_many(5),
        RequestError,
        ("get_many of Site takes keys as a list or another iterable; got int: collect it in a list first"),
    ),
    "no keys": (
        lambda: sites.get_many([]).params(),
        RequestError,
        "get_many of Site: there are no keys, so nothing would be sent",
    ),
    "a key of another class": (
        lambda: sites.get_many([visits.key(site="a", day=1, page="p", no=1)]).params(),
        RequestError,
        "get_many of Site, key 1: this is a key of Visit, not of Site",
    ),
    "no key": (
        lambda: sites.get_many([5]).params(),
        RequestError,
        (
            "get_many of Site, key 1: a key is key(...) of the repository, an instance of Site, or a dict of "
            "its key fields (site); got int"
        ),
    ),
    "an iterator, twice": (
        lambda: twice(sites.get_many(iter([{"site": "a"}]))),
        RequestError,
        (
            "get_many of Site: it was given an iterator, which was read when it was sent: make it of a list to "
            "send it again"
        ),
    ),
    "another class": (
        lambda: visits.put_many([Site("a")]).params(),
        RequestError,
        "put_many of Visit, item 1: it takes instances of Visit; got Site",
    ),
    "no items": (
        lambda: visits.put_many([]).params(),
        RequestError,
        "put_many of Visit: there are no items, so nothing would be sent",
    ),
    "puts without versions": (
        lambda: sites.put_many([Site("a")]),
        UnguardedWrite,
        (
            "put_many of Site: the type is versioned, and a batch cannot look at versions: put them one by one "
            "or in a transaction, or say unversioned=True to put whatever version is stored"
        ),
    ),
    "deletes without versions": (
        lambda: sites.delete_many([Site("a")]),
        UnguardedWrite,
        (
            "delete_many of Site: the type is versioned, and a batch cannot look at versions: delete them one "
            "by one or in a transaction, or say unversioned=True to delete whatever version is stored"
        ),
    ),
}


def sole() -> Any:
    """An index with two sort attributes."""

    @entity("EVENT", pk="{id}", sk="E", indexes=[Index("gsi", pk="{type}", sk=("{day:05}", "{no:03}"))])
    class Event:
        __qualname__ = "Event"
        id: str
        type: str
        day: int
        no: int

    table = Table("events", [Event], indexes=[GlobalIndex("gsi", sk=("a", "b"))])
    return store_of(table).of(Event).index("gsi")


CASES = {**QUERIES, **PROJECTIONS, **BATCHES}


@pytest.mark.parametrize("name", CASES)
def test_the_message_says_what_was_asked_and_what_to_do(name: str) -> None:
    make, kind, message = CASES[name]
    with pytest.raises(RequestError) as raised:
        make()
    assert type(raised.value) is kind
    assert str(raised.value) == message
