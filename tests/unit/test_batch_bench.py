"""Batches of clients beside each other, on the bench: whatever the order and the faults, the last put stays."""

from __future__ import annotations

from typing import Any

from dynamap.testing import Bench, Crash, Fault, Unprocessed
from dynamap.testing.faults import AnyFault
from tests.batched import Batched, Note

FAULTS: tuple[AnyFault, ...] = (
    Fault.DROP_BEFORE,
    Fault.DROP_AFTER,
    Fault.THROTTLE,
    Fault.NOT_SENT,
    Fault.ERROR_AFTER,
    Unprocessed(),
)
SCHEDULES = 15


def items(of: str) -> list[Note]:
    """Each key comes several times, in other requests; the texts say which is which."""
    return [Note(f"{of}{place % 90}", str(place)) for place in range(230)]


def last(of: str) -> dict[str, str]:
    return {item.id: item.text for item in items(of)}


EVERYTHING = {**last("a"), **last("b")}


def stored(run: Any) -> dict[str, str]:
    return {note.id: note.text for note in run.items.of(Note)}


def work(store: Any, of: str) -> Any:
    repository = store.of(Note)
    repository.put_many(items(of)).send()
    keys = [{"id": each} for each in last(of)]
    return {note.id: note.text for note in repository.get_many(keys).strongly_consistent()}


async def work_async(store: Any, of: str) -> Any:
    repository = store.of(Note)
    await repository.put_many(items(of)).send()
    keys = [{"id": each} for each in last(of)]
    return {note.id: note.text async for note in repository.get_many(keys).strongly_consistent()}


def test_in_threads() -> None:
    bench = Bench(Batched, faults=FAULTS, fault_rate=0.2)

    @bench.client
    def a(store: Any) -> Any:
        return work(store, "a")

    @bench.client
    def b(store: Any) -> Any:
        return work(store, "b")

    for seed in range(SCHEDULES):
        run = bench.run(seed)
        assert [run.outcomes[each].result for each in "ab"] == [last("a"), last("b")]
        assert stored(run) == EVERYTHING


def test_in_tasks() -> None:
    bench = Bench(Batched, faults=FAULTS, fault_rate=0.2)

    @bench.client
    async def a(store: Any) -> Any:
        return await work_async(store, "a")

    @bench.client
    async def b(store: Any) -> Any:
        return await work_async(store, "b")

    for seed in range(SCHEDULES):
        run = bench.run(seed)
        assert [run.outcomes[each].result for each in "ab"] == [last("a"), last("b")]
        assert stored(run) == EVERYTHING


def test_a_client_that_ends_in_the_middle_begins_again() -> None:
    for number in range(1, 9):
        bench = Bench(Batched)

        @bench.client(faults={number: Crash.AFTER}, restarts=1)
        def a(store: Any) -> Any:
            return work(store, "a")

        run = bench.run(number)
        assert run.outcomes["a"].result == last("a")
        assert stored(run) == last("a")
