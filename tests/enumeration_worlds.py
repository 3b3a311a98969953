"""What the enumeration of outcomes happens to: entities, a table in memory, and the other writers.

The other writers are programs of their own: they speak to the table in plain requests, some as dynamap would, some
without any idea of versions and write ids.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import attrs

from dynamap import Store, Table, entity
from dynamap.operations.base import Runtime
from dynamap.plan import Item
from dynamap.testing.memory import MemoryEngine, memory_store

__all__ = [
    "FULL",
    "NOW",
    "READ_VERSION",
    "TABLES",
    "Claim",
    "Doc",
    "Foreign",
    "Lease",
    "Seat",
    "World",
    "absent",
    "foreign_writers",
    "leftover",
    "legacy",
    "stored",
    "zero",
]

NOW = 1_700_000_000
READ_VERSION = 1000
FULL = 500.0
"""What a bucket holds that nothing was taken from."""
EXPIRED = {"N": str(NOW - 60)}
LATER = {"N": str(NOW + 3600)}


@entity("DOC", pk="DOC#{id}", sk="DOC", version="revision")
class Doc:
    id: str
    text: str = ""
    count: int = 0
    revision: int = 0


@entity("CLAIM", pk="CLAIM#{id}", sk="CLAIM")
class Claim:
    id: str
    text: str = ""
    count: int = 0
    lines: list[str] = attrs.field(factory=list[str])


@entity("LEASE", pk="LEASE#{id}", sk="LEASE", version="revision", ttl="until")
class Lease:
    id: str
    text: str = ""
    count: int = 0
    until: int | None = None
    revision: int = 0


@entity("SEAT", pk="SEAT#{id}", sk="SEAT", ttl="until")
class Seat:
    id: str
    text: str = ""
    count: int = 0
    until: int | None = None


_ENTITIES = [Doc, Claim, Lease, Seat]
TABLES = {
    "with id": Table("table", _ENTITIES, ttl="ttl"),
    "without id": Table("table", _ENTITIES, ttl="ttl", write_id=None),
}
_VERSIONED = ("DOC", "LEASE")
_EXPIRING = ("LEASE", "SEAT")


# ---- what stands there before


def absent(cls: Any, item_id: str = "1") -> list[Item]:
    """Nothing."""
    return []


def stored(cls: Any, item_id: str = "1") -> list[Item]:
    """An item that another writer has stored, in the version that is read."""
    name = TABLES["with id"].entity(cls).name
    item: Item = {**_key(name, item_id), "_type": {"S": name}, "id": {"S": item_id}}
    item |= {"text": {"S": ""}, "count": {"N": "1"}}
    if name in _VERSIONED:
        item |= {"revision": {"N": str(READ_VERSION)}, "_w": {"S": "before"}}
    return [item]


def legacy(cls: Any, item_id: str = "1") -> list[Item]:
    """One of before the type had versions."""
    return [{name: wire for name, wire in stored(cls, item_id)[0].items() if name not in ("revision", "_w")}]


def zero(cls: Any, item_id: str = "1") -> list[Item]:
    """One with the version 0."""
    return [{**legacy(cls, item_id)[0], "revision": {"N": "0"}}]


def leftover(cls: Any, item_id: str = "1") -> list[Item]:
    """One whose time is over, not deleted yet."""
    return [{**stored(cls, item_id)[0], "ttl": EXPIRED}]


def _key(name: str, item_id: str) -> Item:
    return {"pk": {"S": f"{name}#{item_id}"}, "sk": {"S": name}}


# ---- the world


class World:
    """A table in memory, and a store of mine over it.

    Every history begins with `begin`. The clock ticks with every look at it, so that no two moments are the same.
    """

    def __init__(
        self, description: Table, make_store: Callable[..., Store[Any]] = memory_store, driver: Any = None
    ) -> None:
        self.engine = MemoryEngine(clock=lambda: float(NOW))
        self._ticks = 0
        self._ids = 0
        store: Store[Any] = make_store(
            description, engine=self.engine, clock=lambda: NOW + self.tick() / 1_000_000, write_ids=self._write_id
        )
        runtime: Runtime = replace(
            store._runtime,
            random=lambda: 0.5,
            monotonic=lambda: 0.0,
            elapsed=lambda: 0.0,
            driver=driver or store._runtime.driver,
        )
        self._runtime = runtime
        self._table = self.engine._state.table(description.name)
        self.mine: Store[Any] = Store(description, store._name, runtime)

    def begin(self, items: Sequence[Item], patience: float) -> None:
        """Begin another history: what stands there, and what repeats may cost."""
        self._ticks = self._ids = 0
        self.engine._state.tokens.clear()
        # stored items are never changed in place
        self._table.items = {self._table.identity(item): item for item in items}
        self._runtime.bucket.give(FULL)
        self._runtime.bucket.take(FULL - patience)

    def tick(self) -> int:
        """A moment after all others, in microseconds."""
        self._ticks += 1
        return self._ticks

    def _write_id(self) -> str:
        self._ids += 1
        return f"mine{self._ids}"

    # ---- for the others

    def get(self, key: Item) -> Item | None:
        """What stands there; not to be changed."""
        found: Item | None = self._table.get(key)
        return found

    def put(self, item: Item) -> bool:
        """Store it, and say that something has changed."""
        self._table.store(item, item)
        return True

    def delete(self, key: Item) -> bool:
        """Delete what stands there, and say that something has changed."""
        self._table.store(key, None)
        return True


# ---- the other writers


@dataclass(frozen=True)
class Foreign:
    """One step of another writer on one item; answers whether it changed anything."""

    name: str
    step: Callable[[World, Item, Item | None], bool]
    key: Item

    def __call__(self, world: World) -> bool:
        """Take the step."""
        return self.step(world, self.key, world.get(self.key))

    def __str__(self) -> str:
        return self.name


def _type_of(key: Item) -> str:
    name: str = key["sk"]["S"]
    return name


def _raised(world: World, item: Item) -> Item:
    """The version and write id that dynamap would store over this item."""
    if _type_of(item) not in _VERSIONED:
        return {}
    before = int(item.get("revision", {}).get("N", "0"))
    return {"revision": {"N": str(before + 1 if before else _fresh(world))}, "_w": {"S": "other"}}


def _fresh(world: World) -> int:
    return NOW * 1_000_000 + world.tick()


def _new(world: World, key: Item, text: str) -> Item:
    """A new item, created as dynamap would."""
    name = _type_of(key)
    item = {**key, "_type": {"S": name}, "id": {"S": "1"}, "text": {"S": text}, "count": {"N": "7"}}
    item["_w"] = {"S": "other"}
    if name in _VERSIONED:
        item["revision"] = {"N": str(_fresh(world))}
    return item


def _updated(world: World, key: Item, item: Item | None) -> bool:
    """Changes what it has read, by the rules."""
    if item is None or item.get("ttl") == EXPIRED:
        return False
    return world.put({**item, **_raised(world, item), "count": {"N": str(int(item["count"]["N"]) + 100)}})


def _equal(world: World, key: Item, item: Item | None) -> bool:
    """Stores the very values that I store, by the rules."""
    if item is None or item.get("ttl") == EXPIRED:
        return world.put(_new(world, key, "mine"))
    return world.put({**item, **_raised(world, item), "text": {"S": "mine"}})


def _touched(world: World, key: Item, item: Item | None) -> bool:
    """Changes a value and knows neither versions nor ids."""
    return item is not None and world.put({**item, "count": {"N": "9"}})


def _replaced(world: World, key: Item, item: Item | None) -> bool:
    """Puts an item without version and id, as a program does that knows neither."""
    kept = {name: wire for name, wire in (item or _new(world, key, "old")).items() if name not in ("_w", "revision")}
    return kept != item and world.put(kept)


def _deleted(world: World, key: Item, item: Item | None) -> bool:
    return item is not None and world.delete(key)


def _recreated(world: World, key: Item, item: Item | None) -> bool:
    """Deletes it, if it is there, and creates it anew."""
    return world.put(_new(world, key, "new"))


def _bumped(world: World, key: Item, item: Item | None) -> bool:
    """Raises the version and nothing else, not even the write id."""
    if item is None or "revision" not in item:
        return False
    return world.put({**item, "revision": {"N": str(int(item["revision"]["N"]) + 1)}})


def _jumped(world: World, key: Item, item: Item | None) -> bool:
    """Overwrites it with a version from elsewhere."""
    if item is None:
        return False
    return world.put({**item, "revision": {"N": str(_fresh(world))}, "_w": {"S": "other"}, "text": {"S": "jump"}})


def _expired(world: World, key: Item, item: Item | None) -> bool:
    """Ends its time, and leaves version and id as they are."""
    return item is not None and item.get("ttl") != EXPIRED and world.put({**item, "ttl": EXPIRED})


def _revived(world: World, key: Item, item: Item | None) -> bool:
    """Gives it more time."""
    return item is not None and item.get("ttl") == EXPIRED and world.put({**item, "ttl": LATER})


_EVERYWHERE = {
    "updated": _updated,
    "equal": _equal,
    "replaced": _replaced,
    "deleted": _deleted,
    "recreated": _recreated,
}
_OF_VERSIONS = {"touched": _touched, "bumped": _bumped, "jumped": _jumped}
_OF_TTL = {"expired": _expired, "revived": _revived}


def foreign_writers(cls: Any, item_id: str = "1", names: tuple[str, ...] = (), where: str = "") -> list[Foreign]:
    """The steps that others may take on this item: all, or those of these names."""
    name = TABLES["with id"].entity(cls).name
    steps: dict[str, Any] = dict(_EVERYWHERE)
    if name in _VERSIONED:
        steps |= _OF_VERSIONS
    if name in _EXPIRING:
        steps |= _OF_TTL
    return [
        Foreign(f"{each}{where}", step, _key(name, item_id))
        for each, step in steps.items()
        if not names or each in names
    ]
