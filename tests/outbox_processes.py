"""What the processes of the outbox's test do: top-level functions, so that a spawned process finds them."""

from __future__ import annotations

import os
import random
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from pathlib import Path

from dynamap import Table, entity, evolve, retry_on_conflict
from recipes.outbox import OutboxEvent, OutboxLease, Relay, record
from tests.recipe_processes import store_at

__all__ = ["BUCKETS", "KEYS", "Parcel", "depot", "published_in", "relay_events", "write_events"]

BUCKETS = 3
KEYS = ("a", "b", "c", "d", "e")


@entity("PARCEL", pk="PARCEL#{id}", sk="PARCEL", version="revision")
class Parcel:
    """What the events tell of."""

    id: str
    moves: int = 0
    revision: int = 0


def depot(table: str) -> Table:
    return Table(table, [Parcel, OutboxEvent, OutboxLease], version_start=1)


def write_events(url: str, table: str, seed: int, count: int) -> None:
    """Change so many parcels, whoever else does, each with an event."""
    store = store_at(url, depot(table))
    parcels, chosen = store.of(Parcel), random.Random(seed)

    @retry_on_conflict(attempts=100)
    def move(key: str) -> None:
        parcel = parcels.get(id=key).required().send()
        moved = parcels.update(parcel).to(evolve(parcel, moves=parcel.moves + 1))
        store.transact(moved, record(store, key, parcel.revision, "moved", buckets=BUCKETS)).send()

    for _ in range(count):
        move(chosen.choice(KEYS))


class FileBroker:
    """Notes each event where a kill cannot undo it, in one order for all processes."""

    def __init__(self, path: Path, begun: Connection | None) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._begun = begun

    def publish(self, event: OutboxEvent, /) -> None:
        os.write(self._file, f"{event.key} {event.sequence} {event.event_id}\n".encode())
        if self._begun is not None:
            self._begun.send("begun")
            self._begun = None


def relay_events(url: str, table: str, path: Path, written: Event, begun: Connection | None) -> None:
    """Publish until everything is written and nothing is left."""
    store = store_at(url, depot(table))
    relay = Relay(store, FileBroker(path, begun), attempts=1000, lease=1.0)
    while True:
        ending = written.is_set()
        sweeps = [relay.sweep(bucket) for bucket in range(BUCKETS)]
        if not any(sweep.published for sweep in sweeps):
            events = store.of(OutboxEvent, consistent=True)
            if ending and not any(events.query(bucket=bucket).count().send() for bucket in range(BUCKETS)):
                return
            written.wait(0.02)


def published_in(path: Path) -> list[tuple[str, int, str]]:
    """What was published, in its order, with repetitions."""
    lines = (line.split() for line in path.read_text(encoding="ascii").splitlines())
    return [(key, int(sequence), event_id) for key, sequence, event_id in lines]
