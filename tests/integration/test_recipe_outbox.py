"""The outbox on every backend that has transactions, in both modes, and what a backend shows of its caveats."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from dynamap import Store, Table, TransactionCanceled, VersionConflict, entity, evolve
from dynamap.testing import ClientCrashed, Crash, FaultPlan, memory_store, memory_store_async
from recipes import outbox
from recipes.aio import outbox as outbox_async
from tests.backends import Backend
from tests.modes import Mode, RawTable


@entity("PARCEL", pk="PARCEL#{id}", sk="PARCEL", version="revision")
class Parcel:
    """What the events tell of."""

    id: str
    place: str = ""
    revision: int = 0


class Ended(BaseException):
    """The process ends."""


class Broker:
    """Takes events, in both modes; *meanwhile* happens while it does so."""

    def __init__(self, mode: Mode, meanwhile: Callable[[Any], None] | None = None) -> None:
        self.taken: list[tuple[str, str]] = []
        self.ids: list[str] = []
        self._meanwhile = meanwhile
        if mode.is_async:
            self.publish: Any = self._publish_async
        else:
            self.publish = self._publish

    def _publish(self, event: Any, /) -> None:
        self.taken.append((event.key, event.payload))
        self.ids.append(event.event_id)
        if self._meanwhile is not None:
            self._meanwhile(event)

    async def _publish_async(self, event: Any, /) -> None:
        self._publish(event)


@pytest.fixture
def recipe(mode: Mode) -> ModuleType:
    return outbox_async if mode.is_async else outbox


def table(name: str, recipe: ModuleType) -> Table:
    return Table(name, [Parcel, recipe.OutboxEvent, recipe.OutboxLease])


@pytest.fixture
def in_memory(mode: Mode, recipe: ModuleType) -> Store[Any]:
    made: Callable[[Table], Any] = memory_store_async if mode.is_async else memory_store
    store: Store[Any] = made(table("depot", recipe))
    return store


def add(store: Store[Any], mode: Mode, recipe: ModuleType, key: str, sequence: int, payload: str = "") -> None:
    mode.wait(recipe.record(store, key, sequence, payload, buckets=1).send())


def stored(store: Store[Any], mode: Mode, recipe: ModuleType) -> list[Any]:
    found: list[Any] = mode.wait(store.of(recipe.OutboxEvent, consistent=True).scan().send())
    return sorted(found, key=lambda event: (event.key, event.sequence))


@pytest.mark.not_on("dynalite", reason="it has no transactions")
def test_changes_are_published_with_their_events(
    mode: Mode, backend: Backend, raw: RawTable, recipe: ModuleType
) -> None:
    store = mode.connect(table(raw.name, recipe), backend)
    parcels, broker = store.of(Parcel), Broker(mode)
    # keys of which one begins like the other, or has a delimiter in it
    for key in ("a", "a#b", "ab"):
        for place in ("depot", "van"):
            parcel = mode.wait(parcels.get(id=key).send()) or Parcel(key)
            moved = parcels.put(evolve(parcel, place=place))
            mode.wait(store.transact(moved, recipe.record(store, key, parcel.revision, place, buckets=1)).send())
    stale = mode.wait(parcels.get(id="a").send())
    mode.wait(parcels.update(stale).to(evolve(stale, place="door")).send())
    late = parcels.update(stale).to(evolve(stale, place="lost"))
    lost = store.transact(late, recipe.record(store, "a", stale.revision, "lost", buckets=1))
    with pytest.raises(TransactionCanceled):
        mode.call(lost.send)
    relay = recipe.Relay(store, broker)
    sweeps = [mode.call(relay.sweep, 0) for _ in range(3)]
    assert [(each.published, each.complete) for each in sweeps] == [(3, True), (3, True), (0, True)]
    assert sorted(broker.taken) == [(key, place) for key in ("a", "a#b", "ab") for place in ("depot", "van")]
    assert [place for key, place in broker.taken if key == "ab"] == ["depot", "van"]
    assert stored(store, mode, recipe) == []
    other = recipe.Relay(store, Broker(mode))
    assert not mode.call(other.sweep, 0).complete
    mode.call(relay.release, 0)
    assert mode.call(other.sweep, 0).complete


def test_the_tail_of_a_sweep_is_left_when_the_lease_is_over(
    in_memory: Store[Any], mode: Mode, recipe: ModuleType
) -> None:
    now = [0.0]

    def take_two_seconds(_event: Any) -> None:
        now[0] += 2.0

    for number in range(10):
        add(in_memory, mode, recipe, f"key-{number}", 0)
    broker = Broker(mode, take_two_seconds)
    relay = recipe.Relay(in_memory, broker, lease=12.0, monotonic=lambda: now[0])
    first = mode.call(relay.sweep, 0)
    assert (first.published, first.complete) == (6, False)
    left = stored(in_memory, mode, recipe)
    assert [(event.key, event.attempts) for event in left] == [(f"key-{number}", 0) for number in range(6, 10)]
    assert mode.call(relay.sweep, 0).published == 4
    assert broker.taken == [(f"key-{number}", "") for number in range(10)]


def test_tries_are_counted_though_each_ends_the_process(in_memory: Store[Any], mode: Mode, recipe: ModuleType) -> None:
    now = [0.0]

    def end(_event: Any) -> None:
        raise Ended

    def sweep_as_new_process() -> Any:
        """It waits for the lease of the one before, as long as that takes."""
        broker = Broker(mode, end)
        relay = recipe.Relay(in_memory, broker, attempts=3, monotonic=lambda: now[0])
        swept = None
        while not broker.taken and (swept is None or not swept.complete):
            try:
                swept = mode.call(relay.sweep, 0)
            except Ended:
                return None
            now[0] += 100.0
        return swept

    add(in_memory, mode, recipe, "a", 0)
    assert [sweep_as_new_process() for _ in range(3)] == [None, None, None]
    swept = sweep_as_new_process()
    assert [event.attempts for event in swept.parked] == [3]


def test_a_relay_that_stops_between_publishing_and_deleting_publishes_again(
    in_memory: Store[Any], mode: Mode, recipe: ModuleType
) -> None:
    add(in_memory, mode, recipe, "a", 0)
    broker = Broker(mode)
    # lease read and write, two queries and the count come before the deletion
    relay = recipe.Relay(FaultPlan({6: Crash.BEFORE}).over(in_memory), broker)
    with pytest.raises(ClientCrashed):
        mode.call(relay.sweep, 0)
    (event,) = stored(in_memory, mode, recipe)
    again = Broker(mode)
    now = [0.0]
    other = recipe.Relay(in_memory, again, monotonic=lambda: now[0])
    assert not mode.call(other.sweep, 0).complete
    now[0] += 32.0
    assert mode.call(other.sweep, 0).published == 1
    assert broker.taken == again.taken == [(event.key, "")]
    # by which consumers know it again
    assert broker.ids == again.ids == [event.event_id]


def test_an_event_is_discarded_by_its_id_alone(in_memory: Store[Any], mode: Mode, recipe: ModuleType) -> None:
    add(in_memory, mode, recipe, "a", 0, "old")
    (old,) = stored(in_memory, mode, recipe)
    relay = recipe.Relay(in_memory, Broker(mode))
    mode.call(relay.discard, old)
    mode.call(relay.discard, old)
    # an event of a later life of the key has its numbers, and is not the one that was meant
    add(in_memory, mode, recipe, "a", 0, "new")
    mode.call(relay.discard, old)
    assert [event.payload for event in stored(in_memory, mode, recipe)] == ["new"]


def test_a_number_that_is_taken_is_a_conflict(in_memory: Store[Any], mode: Mode, recipe: ModuleType) -> None:
    add(in_memory, mode, recipe, "a", 0, "first")
    with pytest.raises(VersionConflict):
        add(in_memory, mode, recipe, "a", 0, "second")
    add(in_memory, mode, recipe, "a", 10**19, "a large number")
    mode.wait(recipe.record(in_memory, "a", 0, "another part", part=1, buckets=1).send())
    assert len(stored(in_memory, mode, recipe)) == 3


def test_numbers_of_a_clock_that_is_behind_are_published_in_the_wrong_order(
    in_memory: Store[Any], mode: Mode, recipe: ModuleType
) -> None:
    broker = Broker(mode)
    # committed in this order, by writers that took their wall clocks for the sequence
    add(in_memory, mode, recipe, "a", 1_700_000_005, "first")
    add(in_memory, mode, recipe, "a", 1_700_000_001, "second")
    relay = recipe.Relay(in_memory, broker)
    mode.call(relay.sweep, 0)
    mode.call(relay.sweep, 0)
    assert [payload for _, payload in broker.taken] == ["second", "first"]


def test_buckets_are_the_same_everywhere(recipe: ModuleType) -> None:
    assert [recipe.bucket_of(key) for key in ("a", "b", "order-1", "ü")] == [10, 10, 12, 4]
    assert {recipe.bucket_of(str(number), 4) for number in range(100)} == {0, 1, 2, 3}
