"""Every history of a write whose answer was lost: what the plan reports must agree with what happened.

The first attempt's answer is lost, whether the service applied it or not; other writers come in between, also between a
failed condition and the read that asks for the item; then the plan goes on. The foreign writers are real operations.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from dynamap import (
    Applied,
    ConditionFailed,
    F,
    ItemAlreadyExists,
    ItemNotFound,
    OutcomeUnknown,
    Refused,
    Store,
    Sync,
    Table,
    VersionConflict,
    entity,
    evolve,
)
from dynamap.plan import Call, CallFailed
from tests.fakes import NOW, drive, lost, numbered, store_of
from tests.tiny_table import TinyTable


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


# ---- histories


@dataclass
class History:
    """What happens to one write: each lost attempt was applied or not, and who comes when."""

    delivered: tuple[bool, ...]
    between: tuple[tuple[Callable[[World], None], ...], ...]
    """Before each attempt but the first, and last before the read that asks for the item."""

    def __str__(self) -> str:
        return f"delivered {self.delivered}, then {[[each.__name__ for each in group] for group in self.between]}"


def histories() -> Iterator[History]:
    """Up to two foreign writers, one of them perhaps after the refusal; and two lost attempts with one before each."""
    for delivered in (False, True):
        for count in range(3):
            for sequence in itertools.product(FOREIGN, repeat=count):
                for split in range(max(0, count - 1), count + 1):
                    yield History((delivered,), (sequence[:split], sequence[split:]))
    for first, second in itertools.product((False, True), repeat=2):
        for one, two in itertools.product((None, *FOREIGN), repeat=2):
            groups = tuple(() if each is None else (each,) for each in (one, two))
            yield History((first, second), (*groups, ()))


HISTORIES = tuple(histories())


@dataclass
class Run:
    """One history as it went."""

    world: World
    history: History
    applied: int = 0
    """How often the service applied my write."""
    came: list[Callable[[World], None]] = field(default_factory=list)
    attempts: int = 0
    seen: list[Any] = field(default_factory=list)
    asked: bool = False

    def answer(self, call: Call) -> Any:
        if call.operation == "GetItem":
            if not self.asked:
                self._others(len(self.history.delivered))
            self.asked = True
            reply = self.world.table.apply(call)
            self.seen.append(self._observed(reply.get("Item")))
            return reply
        self.attempts += 1
        if self.attempts > 1:
            self._others(self.attempts - 2)
        losing = self.attempts <= len(self.history.delivered)
        if losing and not self.history.delivered[self.attempts - 1]:
            raise lost()
        try:
            reply = self.world.table.apply(call)
        except CallFailed as failed:
            if losing:
                raise lost() from failed
            self.seen.append(("refused", self._observed(failed.item)))
            raise
        self.applied += 1
        if losing:
            raise lost()
        self.seen.append("done")
        return reply

    def _others(self, group: int) -> None:
        for other in self.history.between[group]:
            other(self.world)
            self.came.append(other)

    def _observed(self, item: dict[str, Any] | None) -> Any:
        """The part of an item that can tell who wrote it: its id, and its version beside the one that was read."""
        if item is None:
            return None
        written_by = item.get("_w", {}).get("S", "nobody").rstrip("0123456789")
        version = int(item.get("revision", {}).get("N", "0"))
        return written_by, {self.read_version: "as read", self.read_version + 1: "one more"}.get(version, "another")

    read_version: int = 0


def run(kind: Kind, history: History, world: World, *, trying: bool = False) -> tuple[Run, str]:
    """Let it happen; answers what the plan reported: applied, refused or unknown."""
    operation = prepared(kind, world)
    course = Run(world, history)
    item = world.item
    course.read_version = 0 if item is None else int(item.get("revision", {}).get("N", "0"))
    driven = drive(operation._try_plan() if trying else operation._plan(), answer=course.answer)
    if driven.error is None:
        assert not trying or isinstance(driven.result, (Applied, Refused))
        return course, "refused" if isinstance(driven.result, Refused) else "applied"
    if isinstance(driven.error, OutcomeUnknown):
        return course, "applied" if driven.error.applied else "unknown"
    assert isinstance(driven.error, (ConditionFailed, ItemNotFound)), driven.error
    return course, "refused"


@pytest.mark.parametrize(
    ("sends_item", "trying"), [(True, False), (False, True)], ids=["item sent", "item asked for, try_send"]
)
@pytest.mark.parametrize("kind", REPEATED, ids=repr)
def test_what_is_reported_is_what_happened(kind: Kind, sends_item: bool, trying: bool) -> None:
    world = world_of(kind, sends_item=sends_item)
    truths: defaultdict[tuple[Any, ...], set[bool]] = defaultdict(set)
    unknown: dict[tuple[Any, ...], History] = {}
    for history in HISTORIES:
        course, reported = run(kind, history, world, trying=trying)
        replies = (len(history.delivered), *course.seen)
        truths[replies].add(course.applied > 0)
        if reported == "applied":
            assert course.applied >= 1, history
        elif reported == "refused":
            if not kind.at_least_once:
                assert course.applied == 0, history
        else:
            unknown[replies] = history
        if course.applied > 1:
            assert kind.at_least_once or kind.twice_after in course.came, history
    for replies, history in unknown.items():
        assert truths[replies] == {True, False}, f"{history} could be told from its replies {replies}"


@pytest.mark.parametrize("delivered", [False, True], ids=["not applied", "applied"])
@pytest.mark.parametrize("kind", NOT_REPEATED, ids=repr)
def test_what_cannot_be_repeated_is_unknown_at_once(kind: Kind, delivered: bool) -> None:
    course, reported = run(kind, History((delivered,), ((), ())), world_of(kind))
    assert reported == "unknown"
    assert course.attempts == 1
    assert course.applied == delivered


def test_a_retried_deposit_is_never_lost_and_never_doubled() -> None:
    """The loop that users write, over every history: on a conflict it reads and decides anew."""
    world = World(Tables["with id"], DOC_KEY)
    for history in HISTORIES:
        world.clear()
        created(world)
        first = True
        deposits = 0
        while True:
            doc = world.read()
            if doc is None:
                break
            operation = docs(world).update(doc).to(evolve(doc, text=doc.text + "+"))
            course = Run(world, history if first else History((), ((),)))
            first = False
            driven = drive(operation._plan(), answer=course.answer)
            deposits += course.applied
            if driven.error is None:
                assert deposits == 1, history
                break
            if isinstance(driven.error, OutcomeUnknown):
                break
            assert isinstance(driven.error, VersionConflict), history
            assert deposits == 0, history


@pytest.mark.parametrize(
    ("kind", "before", "after", "error"),
    [
        # the condition failed because of *before*; the server sends no item, and *after* comes before it is read
        ("put of version 0", created, deleted, VersionConflict),
        ("create", created, deleted, ItemAlreadyExists),
        ("put if it exists", deleted, created, ItemNotFound),
        ("absolute set", deleted, created, ItemNotFound),
        ("put of a legacy item", updated, replaced_by_hand, VersionConflict),
    ],
)
def test_a_refusal_is_blamed_on_the_only_condition_there_was(
    kind: str, before: Callable[[World], None], after: Callable[[World], None], error: type[Exception]
) -> None:
    chosen = next(each for each in REPEATED if each.name == kind)
    world = world_of(chosen, sends_item=False)
    operation = prepared(chosen, world)
    before(world)

    def answer(call: Call) -> Any:
        if call.operation == "GetItem":
            after(world)
        return world.table.apply(call)

    driven = drive(operation._plan(), answer=answer)
    assert type(driven.error) is error
