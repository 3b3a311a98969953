"""Every history of a write to what has expired: lost answers and other writers before each of its calls."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest

from dynamap import (
    Applied,
    ConditionFailed,
    F,
    ItemNotFound,
    OutcomeUnknown,
    Refused,
    Table,
    TransactionConflict,
    entity,
)
from dynamap.plan import Call, CallFailed
from tests.depth import how_many
from tests.fakes import NOW, drive, lost, numbered, store_of
from tests.tiny_table import TinyTable

SECOND = str(int(NOW))
LATER = str(int(NOW) + 3600)


@entity("SEAT", pk="SEAT#{id}", sk="SEAT", ttl="until")
class Seat:
    id: str
    holder: str = ""
    count: int = 0
    until: int | None = None


@entity("LEASE", pk="LEASE#{id}", sk="LEASE", version="revision", ttl="until")
class Lease:
    id: str
    holder: str = ""
    count: int = 0
    until: int | None = None
    revision: int = 0


Things = Table("things", [Seat, Lease], ttl="ttl")


@attrs.define
class World:
    """One item, a store of mine and one of the others."""

    cls: Any
    sends_item: bool
    table: TinyTable = attrs.field(factory=TinyTable)
    mine: Any = attrs.field(factory=lambda: store_of(Things, write_ids=numbered("mine")))
    others: Any = attrs.field(factory=lambda: store_of(Things, write_ids=numbered("other")))

    @property
    def key(self) -> dict[str, Any]:
        key: dict[str, Any] = Things.entity(self.cls).key({"id": "1"})
        return key

    def begin(self) -> None:
        """With a leftover of somebody else's."""
        self.table = TinyTable(sends_item=self.sends_item)
        self.mine._runtime.bucket.give(500)
        self.write(self.others.of(self.cls).put(self.cls("1", "old", 40, int(SECOND))).if_not_exists())

    def write(self, operation: Any) -> None:
        drive(operation._plan(), answer=self.table.apply)

    def change(self, **attributes: Any) -> None:
        item = self.table.get(self.key)
        if item is not None:
            self.table.items[self.table._key(self.key)] = {**item, **attributes}


def expired(world: World) -> None:
    """By another program, which leaves the write id as it is."""
    world.change(ttl={"N": SECOND})


def revived(world: World) -> None:
    world.change(ttl={"N": LATER})


def deleted(world: World) -> None:
    world.table.items.clear()


def created(world: World) -> None:
    """Where nothing is, or only what has expired."""
    world.write(world.others.of(world.cls).put(world.cls("1", "other", 7)).if_not_exists())


def changed(world: World) -> None:
    """Blindly, if it is there."""
    update = world.others.of(world.cls).update(id="1").add(F(world.cls.count), 100)
    world.write(update if world.cls is Seat else update.ignore_version())


FOREIGN: tuple[Callable[[World], None], ...] = (expired, revived, deleted, created, changed)
AGAIN = (expired, deleted)
"""After these what I created is absent, and a create may be applied twice: documented."""


@attrs.frozen
class Kind:
    name: str
    cls: Any
    make: Callable[[Any], Any]
    at_least_once: bool = False


KINDS = [
    Kind("upsert add", Seat, lambda seats: seats.upsert(id="1").add(F(Seat.count), 1)),
    Kind(
        "upsert add, permitted",
        Seat,
        lambda seats: seats.upsert(id="1").add(F(Seat.count), 1).at_least_once(),
        at_least_once=True,
    ),
    Kind("upsert set", Seat, lambda seats: seats.upsert(id="1").set(F(Seat.holder), "me"), at_least_once=True),
    Kind("upsert set, at most once", Seat, lambda seats: seats.upsert(id="1").set(F(Seat.holder), "me").at_most_once()),
    Kind(
        "upsert under a condition",
        Seat,
        lambda seats: seats.upsert(id="1").add(F(Seat.count), 1).if_(F(Seat.count).ne(7)),
    ),
    Kind("create", Seat, lambda seats: seats.put(Seat("1", "me")).if_not_exists()),
    Kind("put of version 0", Lease, lambda leases: leases.put(Lease("1", "me"))),
    Kind("upsert of version 0", Lease, lambda leases: leases.upsert(id="1").if_version(0).set(F(Lease.holder), "me")),
    Kind("upsert of any version", Lease, lambda leases: leases.upsert(id="1").ignore_version().add(F(Lease.count), 1)),
    Kind(
        "upsert of any version, permitted",
        Lease,
        lambda leases: leases.upsert(id="1").ignore_version().add(F(Lease.count), 1).at_least_once(),
        at_least_once=True,
    ),
]


@attrs.frozen
class History:
    """What becomes of the first three writes, and who comes before each of the first four calls."""

    faults: tuple[str, ...]
    before: tuple[Callable[[World], None] | None, ...]

    def __str__(self) -> str:
        return f"{self.faults} {[getattr(each, '__name__', '-') for each in self.before]}"


def histories() -> Iterator[History]:
    """One lost answer and up to two other writers, or two lost answers and one other writer."""
    for faults in itertools.product(("", "before", "after"), repeat=3):
        answers = sum(map(bool, faults))
        for before in itertools.product((None, *FOREIGN), repeat=4):
            if 1 <= answers <= 2 and answers + sum(each is not None for each in before) <= 3:
                yield History(faults, before)


HISTORIES = tuple(histories())[:: how_many(quick=5, deep=1)]
"""Every fifth is enough for each of the others to come at each place, and for each sequence of lost answers."""


def run(kind: Kind, history: History, world: World) -> tuple[str, int]:
    """What was reported, and how often it was applied."""
    world.begin()
    applied, calls, writes = 0, 0, 0

    def answer(call: Call) -> Any:
        nonlocal applied, calls, writes
        other = history.before[calls] if calls < len(history.before) else None
        calls += 1
        if other is not None:
            other(world)
        if call.operation == "GetItem":
            return world.table.apply(call)
        fault = history.faults[writes] if writes < len(history.faults) else ""
        writes += 1
        if fault == "before":
            raise lost()
        try:
            reply = world.table.apply(call)
        except CallFailed as failed:
            if fault:
                raise lost() from failed
            raise
        applied += 1
        if fault:
            raise lost()
        return reply

    driven = drive(kind.make(world.mine.of(kind.cls))._try_plan(), answer=answer)
    if driven.error is None:
        assert isinstance(driven.result, (Applied, Refused))
        return ("applied" if isinstance(driven.result, Applied) else "refused"), applied
    if isinstance(driven.error, OutcomeUnknown):
        return ("applied" if driven.error.applied else "unknown"), applied
    assert isinstance(driven.error, (ConditionFailed, ItemNotFound, TransactionConflict)), driven.error
    return "refused", applied


@pytest.mark.slow
@pytest.mark.deep
@pytest.mark.parametrize("sends_item", [True, False], ids=["item sent", "item asked for"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_what_is_reported_is_what_happened(kind: Kind, sends_item: bool) -> None:
    world = World(kind.cls, sends_item)
    reports: set[str] = set()
    for history in HISTORIES:
        reported, applied = run(kind, history, world)
        reports.add(reported)
        if reported == "applied":
            assert applied >= 1, history
        elif reported == "refused" and not kind.at_least_once:
            assert applied == 0, history
        if applied > 1:
            assert kind.at_least_once or not set(AGAIN).isdisjoint(history.before), history
    assert {"applied", "unknown"} <= reports or (kind.at_least_once and "applied" in reports)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_undisturbed_it_replaces_the_leftover(kind: Kind) -> None:
    world = World(kind.cls, sends_item=True)
    assert run(kind, History((), ()), world) == ("applied", 1)
    item = world.table.get(world.key)
    assert item is not None
    assert "ttl" not in item
    assert item["count"] == {"N": "1" if "add" in kind.name or "any" in kind.name or "condition" in kind.name else "0"}
