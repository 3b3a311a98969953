"""Scans on every backend, in both modes: whole, in segments, page by page, and on from any page."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from dynamap import CursorError, F, GlobalIndex, Index, Progress, Store, Table, entity
from tests.backends import Backend
from tests.modes import Mode

SECRET = bytes(range(32))
PARCELS = 60


@entity("PARCEL", pk="PARCEL#{id}", sk="PARCEL", indexes=[Index("gsi1", pk="CITY#{city}", sk="{id:04}")])
class Parcel:
    id: int
    city: str = ""
    weight: int = 0


@entity("DEPOT", pk="DEPOT#{id}", sk="DEPOT")
class Depot:
    id: int


Post = Table("post", [Parcel, Depot], indexes=[GlobalIndex("gsi1")])


@pytest.fixture(scope="module")
def shared() -> Iterator[dict[tuple[str, str], tuple[Mode, Store[Any]]]]:
    """Tables that are only read, by mode and backend."""
    made: dict[tuple[str, str], tuple[Mode, Store[Any]]] = {}
    yield made
    for mode, store in made.values():
        mode.wait(store.delete_table())


@pytest.fixture
def post(
    mode: Mode, backend: Backend, table_name: str, shared: dict[tuple[str, str], tuple[Mode, Store[Any]]]
) -> Store[Any]:
    if (mode.name, backend.name) not in shared:
        store = mode.connect(Post, backend, cursor_key=SECRET).with_name(table_name)
        mode.wait(store.create_table())
        parcels = [Parcel(number, "Bern" if number % 3 else "Zug", number % 5) for number in range(PARCELS)]
        mode.wait(store.of(Parcel).put_many(parcels).send())
        mode.wait(store.of(Depot).put_many([Depot(number) for number in range(20)]).send())
        shared[mode.name, backend.name] = mode, store
    return shared[mode.name, backend.name][1]


async def gathered(stream: Any, most: int | None) -> list[Any]:
    found: list[Any] = []
    if most == 0:
        return found
    async for each in stream:
        found.append(each)
        if len(found) == most:
            break
    return found


def collected(mode: Mode, stream: Any, most: int | None = None) -> list[Any]:
    """What iteration hands out, in either mode; *most* leaves it early."""
    if mode.is_async:
        found: list[Any] = mode.wait(gathered(stream, most))
        return found
    return list(stream if most is None else islice(stream, most))


def first_of(mode: Mode, stream: Any) -> Any:
    found = collected(mode, stream, 1)
    return found[0] if found else None


def ids(parcels: Any) -> list[int]:
    return sorted(parcel.id for parcel in parcels)


def test_all_of_a_class_and_nothing_else(mode: Mode, post: Store[Any]) -> None:
    assert ids(mode.wait(post.of(Parcel).scan().send())) == list(range(PARCELS))
    assert len(mode.wait(post.of(Depot).scan().consistent().send())) == 20


@pytest.mark.parametrize(("segments", "page_size"), [(1, 1), (2, 7), (5, 3), (5, 1000)])
def test_segments_and_page_sizes_change_nothing(mode: Mode, post: Store[Any], segments: int, page_size: int) -> None:
    scan = post.of(Parcel).scan().segments(segments).page_size(page_size)
    assert ids(collected(mode, scan)) == list(range(PARCELS))


def test_a_filter_may_name_a_key_and_counts_too(mode: Mode, post: Store[Any]) -> None:
    scan = post.of(Parcel).scan().segments(3).filter(F(Parcel.weight).eq(4))
    assert mode.wait(scan.count().send()) == 12
    assert ids(mode.wait(scan.filter(F(Parcel.id).lt(20)).send())) == [4, 9, 14, 19]


def test_the_other_ends(mode: Mode, post: Store[Any]) -> None:
    scan = post.of(Parcel).scan()
    assert len(mode.wait(scan.segments(4).limit(11).send())) == 11
    assert mode.wait(scan.filter(F(Parcel.id).eq(17)).one().send()).id == 17
    assert mode.wait(scan.filter(F(Parcel.id).eq(PARCELS)).first().send()) is None
    assert sorted(mode.wait(scan.project(F(Parcel.id)).send())) == list(range(PARCELS))


def test_an_index(mode: Mode, post: Store[Any]) -> None:
    found = mode.wait(post.of(Parcel).index("gsi1").scan().filter(F(Parcel.weight).ge(3)).send())
    assert ids(found) == [number for number in range(PARCELS) if number % 5 >= 3]


@pytest.mark.parametrize("segments", [1, 4])
def test_it_goes_on_from_every_page(mode: Mode, post: Store[Any], segments: int) -> None:
    scan = post.of(Parcel).scan().segments(segments).page_size(9)
    found: list[Any] = []
    cursor = None
    while True:
        begun = scan if cursor is None else scan.resume(cursor)
        page = first_of(mode, begun.pages())
        if page is None:
            break
        found += page.items
        cursor = page.next
        if cursor is None:
            break
    assert ids(found) == list(range(PARCELS))


def test_a_cursor_of_other_segments_does_not_fit(mode: Mode, post: Store[Any]) -> None:
    page = first_of(mode, post.of(Parcel).scan().segments(2).page_size(5).pages())
    with pytest.raises(CursorError):
        mode.wait(post.of(Parcel).scan().segments(3).resume(page.next).send())


def test_progress_is_told(mode: Mode, post: Store[Any]) -> None:
    told: list[Progress] = []
    mode.wait(post.of(Parcel).scan().segments(3).page_size(10).on_progress(told.append).send())
    last = told[-1]
    assert (last.answered, last.segments_ended) == (PARCELS, 3)
    assert last.read == PARCELS + 20
    assert [each.requests for each in told] == list(range(1, last.requests + 1))
