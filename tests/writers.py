"""A table that several write to: the other writers, and every kind of write of mine."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dynamap import F, Store, Sync, Table, entity, evolve
from tests.fakes import NOW, drive, numbered, store_of
from tests.tiny_table import TinyTable

__all__ = [
    "DOC_KEY",
    "FOREIGN",
    "NOT_REPEATED",
    "REPEATED",
    "Kind",
    "Tables",
    "World",
    "created",
    "deleted",
    "docs",
    "prepared",
    "replaced_by_hand",
    "updated",
    "world_of",
]


@entity("DOC", pk="DOC#{id}", sk="DOC", version="revision")
class Doc:
    id: str
    text: str = ""
    count: int = 0
    revision: int = 0


@entity("CLAIM", pk="CLAIM#{id}", sk="CLAIM")
class Claim:
    id: str
    owner: str = ""
    count: int = 0


ENTITIES = [Doc, Claim]
Tables = {"with id": Table("table", ENTITIES), "without id": Table("table", ENTITIES, write_id=None)}
DOC_KEY = {"pk": {"S": "DOC#1"}, "sk": {"S": "DOC"}}
CLAIM_KEY = {"pk": {"S": "CLAIM#1"}, "sk": {"S": "CLAIM"}}


# ---- the world


@dataclass
class World:
    """A table, and two stores over it: mine and everybody else's."""

    description: Table
    key: dict[str, Any]
    sends_item: bool = True
    table: TinyTable = field(init=False)
    mine: Store[Sync] = field(init=False)
    others: Store[Sync] = field(init=False)

    def __post_init__(self) -> None:
        ticks = itertools.count()

        def clock() -> float:
            return NOW + next(ticks) / 1000

        self.mine = store_of(self.description, clock=clock, write_ids=numbered("mine"))
        self.others = store_of(self.description, clock=clock, write_ids=numbered("other"))
        self.clear()

    def clear(self) -> None:
        """Begin another history with an empty table."""
        self.table = TinyTable(sends_item=self.sends_item)
        self.mine._runtime.bucket.give(500)

    def send(self, operation: Any) -> Any:
        return drive(operation._plan(), answer=self.table.apply).outcome

    @property
    def item(self) -> dict[str, Any] | None:
        return self.table.get(self.key)

    def repository(self) -> Any:
        return self.others.of(Doc if self.key is DOC_KEY else Claim)

    def read(self) -> Any:
        return self.send(self.repository().get(id="1"))


def updated(world: World) -> None:
    """Another writer changes what it has read."""
    item = world.read()
    if item is None:
        return
    changed = evolve(item, count=item.count + 100)
    world.send(world.repository().update(item).to(changed))


def set_blindly(world: World) -> None:
    """Another writer does not care for versions; the write id that stands there is replaced, or kept, as it may be."""
    if world.item is None:
        return
    operation = world.repository().update(id="1").set(F(Doc.count if world.key is DOC_KEY else Claim.count), 7)
    world.send(operation.ignore_version() if world.key is DOC_KEY else operation)


def touched_by_hand(world: World) -> None:
    """A program without dynamap changes an attribute and knows neither versions nor ids."""
    item = world.item
    if item is not None:
        world.table.items[world.table._key(item)] = {**item, "count": {"N": "9"}}


def replaced_by_hand(world: World) -> None:
    """A program without dynamap replaces the item: no version, no id."""
    item = world.item
    if item is not None:
        kept = {name: wire for name, wire in item.items() if name not in ("_w", "revision")}
        world.table.items[world.table._key(item)] = kept


def deleted(world: World) -> None:
    world.table.items.pop(world.table._key(world.key), None)


def created(world: World) -> None:
    """Another writer creates the item where there is none."""
    if world.item is None:
        cls: Any = Doc if world.key is DOC_KEY else Claim
        world.send(world.repository().put(cls(id="1")).if_not_exists())


FOREIGN: tuple[Callable[[World], None], ...] = (
    updated,
    set_blindly,
    touched_by_hand,
    replaced_by_hand,
    deleted,
    created,
)


# ---- mine


@dataclass(frozen=True)
class Kind:
    """A kind of write: what stands there before, the write made from what was read, what it may do twice."""

    name: str
    make: Callable[[World, Any], Any]
    key: dict[str, Any] = field(default_factory=lambda: DOC_KEY)
    before: str = "stored"
    """stored, legacy, zero, or absent"""
    twice_after: Callable[[World], None] | None = None
    """Another writer's step that lets it be applied twice: documented."""
    at_least_once: bool = False
    """It is applied again by every repeat, documented as at least once."""
    table: str = "with id"

    def __repr__(self) -> str:
        return self.name


def docs(world: World) -> Any:
    return world.mine.of(Doc)


def claims(world: World) -> Any:
    return world.mine.of(Claim)


REPEATED = [
    Kind("put of a version", lambda w, doc: docs(w).put(evolve(doc, text="mine"))),
    Kind("put of a version, no id", lambda w, doc: docs(w).put(evolve(doc, text="mine")), table="without id"),
    Kind("put with a condition", lambda w, doc: docs(w).put(evolve(doc, text="mine")).if_(F(Doc.count).lt(50))),
    Kind("put returning old", lambda w, doc: docs(w).put(evolve(doc, text="mine")).returning_old()),
    Kind("rewrite", lambda w, doc: docs(w).update(doc).to(evolve(doc, text="mine"))),
    Kind("rewrite, no id", lambda w, doc: docs(w).update(doc).to(evolve(doc, text="mine")), table="without id"),
    Kind("rewrite of nothing", lambda w, doc: docs(w).update(doc).to(evolve(doc))),
    Kind("add under a version", lambda w, doc: docs(w).update(id="1").if_version(doc.revision).add(F(Doc.count), 1)),
    Kind(
        "add under a version, returning old",
        lambda w, doc: docs(w).update(id="1").if_version(doc.revision).add(F(Doc.count), 1).returning_old(),
    ),
    Kind("upsert under a version", lambda w, doc: docs(w).upsert(id="1").if_version(doc.revision).add(F(Doc.count), 1)),
    Kind(
        "upsert of version 0",
        lambda w, _: docs(w).upsert(id="1").if_version(0).set(F(Doc.text), "mine"),
        before="absent",
        twice_after=deleted,
    ),
    Kind(
        "upsert of version 0, no id",
        lambda w, _: docs(w).upsert(id="1").if_version(0).set(F(Doc.text), "mine"),
        before="absent",
        twice_after=deleted,
        table="without id",
    ),
    Kind(
        "put of a legacy item",
        lambda w, doc: docs(w).put(evolve(doc, text="mine")),
        before="legacy",
        twice_after=replaced_by_hand,
    ),
    Kind(
        "rewrite of a legacy item",
        lambda w, doc: docs(w).update(doc).to(evolve(doc, text="mine")),
        before="legacy",
        twice_after=replaced_by_hand,
    ),
    Kind(
        "rewrite of a zero version",
        lambda w, doc: docs(w).update(doc).to(evolve(doc, text="mine")),
        before="zero",
        twice_after=replaced_by_hand,
    ),
    Kind("delete of a version", lambda w, doc: docs(w).delete(doc)),
    Kind("delete of a version, returning old", lambda w, doc: docs(w).delete(doc).returning_old()),
    Kind("delete of a version with a condition", lambda w, doc: docs(w).delete(doc).if_(F(Doc.count).lt(50))),
    Kind("delete of a legacy item", lambda w, doc: docs(w).delete(doc), before="legacy", twice_after=replaced_by_hand),
    Kind(
        "put of version 0",
        lambda w, _: docs(w).put(Doc(id="1", text="mine")),
        before="absent",
        twice_after=deleted,
    ),
    Kind(
        "put of version 0, no id",
        lambda w, _: docs(w).put(Doc(id="1", text="mine")),
        before="absent",
        twice_after=deleted,
        table="without id",
    ),
    Kind(
        "create",
        lambda w, _: claims(w).put(Claim(id="1", owner="me")).if_not_exists(),
        key=CLAIM_KEY,
        before="absent",
        twice_after=deleted,
    ),
    Kind(
        "create returning old",
        lambda w, _: claims(w).put(Claim(id="1", owner="me")).if_not_exists().returning_old(),
        key=CLAIM_KEY,
        before="absent",
        twice_after=deleted,
    ),
    Kind("put", lambda w, _: claims(w).put(Claim(id="1", owner="me")), key=CLAIM_KEY, at_least_once=True),
    Kind(
        "put if it exists",
        lambda w, _: claims(w).put(Claim(id="1", owner="me")).if_exists(),
        key=CLAIM_KEY,
        at_least_once=True,
    ),
    Kind(
        "absolute set",
        lambda w, _: claims(w).update(id="1").set(F(Claim.owner), "me"),
        key=CLAIM_KEY,
        at_least_once=True,
    ),
    Kind(
        "absolute difference",
        lambda w, claim: claims(w).update(claim).to(evolve(claim, owner="me")),
        key=CLAIM_KEY,
        at_least_once=True,
    ),
    Kind(
        "upsert",
        lambda w, _: claims(w).upsert(id="1").set(F(Claim.owner), "me"),
        key=CLAIM_KEY,
        at_least_once=True,
    ),
    Kind(
        "upsert of nothing",
        lambda w, _: claims(w).upsert(id="1").set(F(Claim.owner), "me"),
        key=CLAIM_KEY,
        before="absent",
        at_least_once=True,
    ),
    Kind(
        "upsert under a version",
        lambda w, doc: docs(w).upsert(id="1").if_version(doc.revision).add(F(Doc.count), 1),
    ),
    Kind("delete", lambda w, _: claims(w).delete(id="1"), key=CLAIM_KEY, at_least_once=True),
    Kind("delete if it exists", lambda w, _: claims(w).delete(id="1").if_exists(), key=CLAIM_KEY, at_least_once=True),
    Kind(
        "ignore_version, permitted",
        lambda w, _: docs(w).update(id="1").set(F(Doc.text), "mine").ignore_version().at_least_once(),
        at_least_once=True,
    ),
    Kind(
        "put of a version, permitted",
        lambda w, doc: docs(w).put(evolve(doc, text="mine")).at_least_once(),
    ),
    Kind(
        "add, permitted",
        lambda w, _: claims(w).update(id="1").add(F(Claim.count), 1).at_least_once(),
        key=CLAIM_KEY,
        at_least_once=True,
    ),
]

NOT_REPEATED = [
    Kind("upsert that adds", lambda w, _: claims(w).upsert(id="1").add(F(Claim.count), 1), key=CLAIM_KEY),
    Kind(
        "upsert, ignore_version",
        lambda w, _: docs(w).upsert(id="1").ignore_version().set(F(Doc.text), "mine"),
    ),
    Kind(
        "upsert of nothing, ignore_version",
        lambda w, _: docs(w).upsert(id="1").ignore_version().set(F(Doc.text), "mine"),
        before="absent",
    ),
    Kind("add", lambda w, _: claims(w).update(id="1").add(F(Claim.count), 1), key=CLAIM_KEY),
    Kind(
        "arithmetic",
        lambda w, _: claims(w).update(id="1").set(F(Claim.count), F(Claim.count) + 1),
        key=CLAIM_KEY,
    ),
    Kind(
        "a condition that stays true",
        lambda w, _: claims(w).update(id="1").set(F(Claim.owner), "me").if_(F(Claim.count).ge(0)),
        key=CLAIM_KEY,
    ),
    Kind("conditional put", lambda w, _: claims(w).put(Claim("1")).if_(F(Claim.count).ge(0)), key=CLAIM_KEY),
    Kind("conditional delete", lambda w, _: claims(w).delete(id="1").if_(F(Claim.count).ge(0)), key=CLAIM_KEY),
    Kind("put returning old", lambda w, _: claims(w).put(Claim(id="1")).returning_old(), key=CLAIM_KEY),
    Kind(
        "update returning old",
        lambda w, _: claims(w).update(id="1").set(F(Claim.owner), "me").returning_old(),
        key=CLAIM_KEY,
    ),
    Kind("delete returning old", lambda w, _: claims(w).delete(id="1").returning_old(), key=CLAIM_KEY),
    Kind("ignore_version", lambda w, _: docs(w).update(id="1").set(F(Doc.text), "mine").ignore_version()),
    Kind("delete, ignore_version", lambda w, _: docs(w).delete(id="1").ignore_version()),
    Kind("put of a version, at most once", lambda w, doc: docs(w).put(evolve(doc, text="mine")).at_most_once()),
    Kind("put, at most once", lambda w, _: claims(w).put(Claim(id="1")).at_most_once(), key=CLAIM_KEY),
    Kind(
        "set, at most once", lambda w, _: claims(w).update(id="1").set(F(Claim.owner), "").at_most_once(), key=CLAIM_KEY
    ),
]


def world_of(kind: Kind, *, sends_item: bool = True) -> World:
    return World(Tables[kind.table], kind.key, sends_item)


def prepared(kind: Kind, world: World) -> Any:
    """The write, in a world that is as it was before it."""
    world.clear()
    if kind.before != "absent":
        created(world)
    if kind.before in ("legacy", "zero"):
        item = world.item
        assert item is not None
        for name in ("_w", "revision"):
            item.pop(name, None)
        if kind.before == "zero":
            item["revision"] = {"N": "0"}
        world.table.items[world.table._key(item)] = item
    return kind.make(world, world.read())
