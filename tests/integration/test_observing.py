"""Consumed capacity and told calls, in both modes and on every server."""

from __future__ import annotations

from typing import Any

import pytest

from dynamap import Applied, CallInfo, GlobalIndex, Index, Refused, Store, Table, entity
from dynamap.testing import Fault, FaultPlan
from tests.backends import Backend
from tests.modes import Mode


@entity("NOTE", pk="NOTE#{id}", sk="NOTE", indexes=[Index("gsi1", pk="BY#{author}", sk="NOTE#{id}")])
class Note:
    id: str
    author: str = "me"
    text: str = ""


@pytest.fixture
def told() -> list[CallInfo]:
    return []


@pytest.fixture
def store(mode: Mode, backend: Backend, table_name: str, told: list[CallInfo]) -> Store[Any]:
    table = Table(table_name, [Note], indexes=[GlobalIndex("gsi1")])
    store = mode.connect(table, backend, on_call=told.append)
    mode.call(store.create_table)
    told.clear()
    return store


def test_units_of_writes_and_reads(mode: Mode, store: Store[Any], table_name: str) -> None:
    notes = store.of(Note)
    with store.capacity() as used:
        mode.wait(notes.put(Note("a")).send())
        written = used.total
        mode.wait(notes.get(id="a").strongly_consistent().send())
        read = used.total - written
    mode.wait(notes.get(id="a").send())
    # embedded and roto count half a unit for every read, and one for every write
    assert written >= 1.0
    assert read in {0.5, 1.0}
    assert dict(used.by_operation) == {"GetItem": read, "PutItem": written}
    assert dict(used.by_table) == {table_name: used.total}


@pytest.mark.not_on("embedded", "dynalite", "roto", reason="they report the table's units only")
def test_units_of_an_index(mode: Mode, store: Store[Any]) -> None:
    with store.capacity() as used:
        mode.wait(store.of(Note).put(Note("a")).send())
    assert (used.total, dict(used.by_index)) == (2.0, {"gsi1": 1.0})


@pytest.mark.not_on("dynalite", "embedded", "roto", reason="one has no transactions, two do not report their units")
def test_units_of_a_transaction_over_two_tables(mode: Mode, store: Store[Any], table_name: str, client: Any) -> None:
    other = store.with_name(f"{table_name}-other")
    mode.call(other.create_table)
    try:
        with store.capacity() as used:
            mode.wait(store.transact(store.of(Note).put(Note("a")), other.of(Note).put(Note("a"))).send())
        assert list(used.by_table) == [table_name, f"{table_name}-other"]
        # two for each write, and one for each item in the index
        assert used.total == 6.0
    finally:
        client.delete_table(TableName=f"{table_name}-other")


def test_every_call_is_told_with_its_attempts(
    mode: Mode, store: Store[Any], told: list[CallInfo], table_name: str
) -> None:
    faulty = FaultPlan({1: Fault.THROTTLE, 2: Fault.DROP_BEFORE}).over(store)
    assert mode.wait(faulty.of(Note).put(Note("a")).send()) == Note("a")
    [info] = told
    assert (info.operation, info.entity, info.index, info.attempts, info.error, info.tables) == (
        "PutItem",
        "Note",
        None,
        3,
        None,
        (table_name,),
    )
    assert info.units is not None
    assert info.units >= 1.0
    assert info.latency.total_seconds() > 0


def test_a_failed_condition_is_an_answer(mode: Mode, store: Store[Any], told: list[CallInfo]) -> None:
    create = store.of(Note).put(Note("a")).if_not_exists()
    assert mode.wait(create.try_send()) == Applied(Note("a"))
    told.clear()
    assert mode.wait(create.try_send()) == Refused(Note("a"))
    assert (told[0].error, told[0].refused, told[0].units) == ("ConditionalCheckFailedException", True, None)


def test_calls_beside_each_other_are_told_apart(mode: Mode, store: Store[Any], told: list[CallInfo]) -> None:
    if not mode.is_async:
        pytest.skip("a thread has its own test: this is about tasks of one loop")
    notes = store.of(Note)

    async def one(number: int) -> float:
        with store.capacity() as used:
            for _ in range(number):
                await notes.get(id=str(number)).strongly_consistent().send()
        return float(used.total)

    unit = mode.gather(one(1))[0]
    told.clear()
    assert mode.gather(*(one(number) for number in range(4))) == [unit * number for number in range(4)]
    assert len(told) == 6


@pytest.mark.not_on("roto", reason="it does not report what queries and scans consume")
def test_pages_and_segments_are_told_one_by_one_and_counted_together(
    mode: Mode, store: Store[Any], told: list[CallInfo]
) -> None:
    notes = store.of(Note)
    mode.wait(notes.put_many([Note(str(number)) for number in range(7)]).send())
    told.clear()
    with store.capacity() as used:
        assert len(mode.wait(notes.index("gsi1").query(author="me").page_size(3).send())) == 7
        queried = len(told)
        assert len(mode.wait(notes.scan().segments(3).send())) == 7
    assert queried >= 3
    assert {(each.operation, each.entity, each.index) for each in told[:queried]} == {("Query", "Note", "gsi1")}
    assert {(each.operation, each.entity, each.index) for each in told[queried:]} == {("Scan", "Note", None)}
    assert len(told) - queried >= 3
    assert used.total == sum(each.units for each in told if each.units is not None)
    assert sorted(used.by_operation) == ["Query", "Scan"]


@pytest.mark.not_on("roto", reason="it does not report what queries and scans consume")
def test_an_iteration_is_counted_as_far_as_it_comes(mode: Mode, store: Store[Any], told: list[CallInfo]) -> None:
    notes = store.of(Note)
    mode.wait(notes.put_many([Note(str(number)) for number in range(7)]).send())
    told.clear()
    query = notes.index("gsi1").query(author="me").page_size(2)

    async def first_async() -> Any:
        stream = query.__aiter__()
        try:
            return await stream.__anext__()
        finally:
            await stream.aclose()

    def first() -> Any:
        stream = query.__iter__()
        try:
            return next(stream)
        finally:
            stream.close()

    with store.capacity() as used:
        assert mode.call(first_async if mode.is_async else first) == Note("0")
    assert [(each.operation, each.error) for each in told] == [("Query", None)]
    assert used.total == told[0].units
