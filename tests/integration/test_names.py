"""One description under several physical names: prefix= and with_name, with indexes, transactions and capacity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dynamap import GlobalIndex, Index, RequestError, ServiceError, Store, Table, entity
from tests.backends import Backend
from tests.modes import Mode


@entity("NOTE", pk="NOTE#{id}", sk="NOTE", indexes=[Index("gsi1", pk="BY#{author}", sk="NOTE#{id}")])
class Note:
    id: str
    author: str = "me"


@pytest.fixture
def store(mode: Mode, backend: Backend, table_name: str, client: Any) -> Iterator[Store[Any]]:
    """A store with a prefix, and the same table under another name beside it."""
    store = mode.connect(Table(table_name, [Note], indexes=[GlobalIndex("gsi1")]), backend, prefix="stage-")
    names = (f"stage-{table_name}", f"{table_name}.other")
    for name in names:
        mode.call(store.with_name(name).create_table)
    yield store
    for name in names:
        client.delete_table(TableName=name)


def test_a_prefix_comes_before_the_name(mode: Mode, store: Store[Any], table_name: str, client: Any) -> None:
    mode.wait(store.of(Note).put(Note("a")).send())
    assert repr(store) == f"Store('stage-{table_name}')"
    assert len(client.scan(TableName=f"stage-{table_name}")["Items"]) == 1
    assert mode.wait(store.of(Note).index("gsi1").query(author="me").send()) == [Note("a")]


def test_names_hold_their_own_items(mode: Mode, store: Store[Any], table_name: str) -> None:
    other = store.with_name(f"{table_name}.other")
    mode.wait(store.of(Note).put(Note("a")).send())
    mode.wait(other.of(Note).put(Note("b")).send())
    assert mode.wait(store.of(Note).get(id="b").send()) is None
    assert mode.wait(other.of(Note).index("gsi1").query(author="me").send()) == [Note("b")]
    assert mode.wait(other.of(Note).get_many([{"id": "a"}, {"id": "b"}]).send()) == [None, Note("b")]
    # the prefix belongs to connect: another name is taken as it is
    with pytest.raises(ServiceError) as caught:
        mode.wait(store.with_name(table_name).of(Note).get(id="a").send())
    assert caught.value.code == "ResourceNotFoundException"


@pytest.mark.not_on("dynalite", reason="it has no transactions")
def test_transactions_reach_both(mode: Mode, store: Store[Any], table_name: str) -> None:
    other = store.with_name(f"{table_name}.other")
    here, there = store.of(Note), other.of(Note)
    mode.wait(store.transact(here.put(Note("a")), there.put(Note("a", "you"))).send())
    assert mode.wait(other.transact_get(here.get(id="a"), there.get(id="a")).send()) == (Note("a"), Note("a", "you"))


def test_capacity_is_told_apart(mode: Mode, store: Store[Any], table_name: str) -> None:
    other = store.with_name(f"{table_name}.other")
    with other.capacity() as used:
        mode.wait(store.of(Note).put(Note("a")).send())
        mode.wait(other.of(Note).put(Note("a")).send())
    assert list(used.by_table) == [f"stage-{table_name}", f"{table_name}.other"]
    assert used.total == sum(used.by_table.values())


def test_a_name_that_no_table_can_have_is_refused(store: Store[Any]) -> None:
    with pytest.raises(RequestError):
        store.with_name("a table")
    with pytest.raises(RequestError):
        store.with_name("x" * 256)
