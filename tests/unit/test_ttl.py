"""What has expired is absent: what is sent of it, what is answered, and that a leftover is as good as nothing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import attrs
import pytest

from dynamap import (
    Applied,
    ConditionFailed,
    F,
    GlobalIndex,
    Index,
    ItemAlreadyExists,
    ItemNotFound,
    OutcomeUnknown,
    Refused,
    Table,
    TransactionCanceled,
    VersionConflict,
    entity,
    evolve,
)
from dynamap.errors import EncodeError
from dynamap.plan import Call, CallFailed, Reached
from tests.fakes import NOW, answered, drive, lost, numbered, store_of
from tests.tiny_table import TinyTable, holds

SECOND = int(NOW)
FIRST = str(SECOND * 1_000_000)


@entity(
    "SESSION",
    pk="SESSION#{id}",
    sk="SESSION",
    ttl="expires",
    indexes=[Index("gsi1", pk="OWNER#{owner}", sk="SESSION#{id}")],
    frozen=True,
)
class Session:
    id: str
    owner: str = "nobody"
    count: int = 0
    start: int = 5
    balance: Decimal = Decimal("0.5")
    tags: frozenset[str] = frozenset()
    lines: list[int] = attrs.field(factory=list[int])
    note: str | None = None
    expires: int | None = None


@entity("LEASE", pk="LEASE#{id}", sk="LEASE", version="revision", ttl="until", frozen=True)
class Lease:
    id: str
    holder: str = ""
    count: int = 0
    until: datetime | None = None
    revision: int = 0


@entity("PLAIN", pk="PLAIN#{id}", sk="PLAIN", version="revision", frozen=True)
class Plain:
    id: str
    count: int = 0
    revision: int = 0


Things = Table("things", [Session, Lease, Plain], ttl="ttl", indexes=[GlobalIndex("gsi1")])
KEY = {"pk": {"S": "SESSION#a"}, "sk": {"S": "SESSION"}}
LEASE_KEY = {"pk": {"S": "LEASE#a"}, "sk": {"S": "LEASE"}}
OLD_VERSION = SECOND * 1_000_000 - 7_000_000
SESSION_LEFT = {
    **KEY,
    "_type": {"S": "SESSION"},
    "id": {"S": "a"},
    "owner": {"S": "old"},
    "count": {"N": "41"},
    "start": {"N": "42"},
    "balance": {"N": "43"},
    "tags": {"SS": ["old"]},
    "lines": {"L": [{"N": "1"}]},
    "note": {"S": "old"},
    "gsi1pk": {"S": "OWNER#old"},
    "gsi1sk": {"S": "SESSION#a"},
    "left": {"S": "by an older release"},
    "ttl": {"N": str(SECOND)},
}
LEASE_LEFT = {
    **LEASE_KEY,
    "_type": {"S": "LEASE"},
    "id": {"S": "a"},
    "holder": {"S": "old"},
    "count": {"N": "41"},
    "revision": {"N": str(OLD_VERSION)},
    "_w": {"S": "old"},
    "ttl": {"N": str(SECOND)},
}
READ = Lease("a", "old", 41, datetime.fromtimestamp(NOW, timezone.utc), OLD_VERSION)

Build = Callable[[Any], Any]


def sessions(store: Any) -> Any:
    return store.of(Session)


def leases(store: Any) -> Any:
    return store.of(Lease)


# ---- what is sent

WITHOUT_NUMBER = [{}, {"ttl": {"S": "1"}}, {"ttl": {"NULL": True}}, {"ttl": {"N": str(SECOND + 1)}}]

CONDITIONS: dict[str, tuple[Build, str | None]] = {
    "put": (lambda s: sessions(s).put(Session("a")), None),
    "create": (lambda s: sessions(s).put(Session("a")).if_not_exists(), "(attribute_not_exists(pk) OR ttl <= now)"),
    "replace": (lambda s: sessions(s).put(Session("a")).if_exists(), "attribute_exists(pk) AND NOT ttl <= now"),
    "put of version 0": (lambda s: leases(s).put(Lease("a")), "(attribute_not_exists(pk) OR ttl <= now)"),
    "put of a version": (lambda s: leases(s).put(READ), f"revision = {OLD_VERSION} AND NOT ttl <= now"),
    "put of a legacy item": (
        lambda s: leases(s).put(evolve(READ, revision=-1)),
        "attribute_exists(pk) AND (attribute_not_exists(revision) OR revision = 0) AND NOT ttl <= now",
    ),
    "update": (
        lambda s: sessions(s).update(id="a").set(F(Session.count), 1),
        "attribute_exists(pk) AND NOT ttl <= now",
    ),
    "update, any version": (
        lambda s: leases(s).update(id="a").set(F(Lease.count), 1).ignore_version(),
        "attribute_exists(pk) AND revision <> 0 AND NOT ttl <= now",
    ),
    "rewrite": (
        lambda s: leases(s).update(READ).to(evolve(READ, count=1)),
        f"revision = {OLD_VERSION} AND NOT ttl <= now",
    ),
    "upsert": (lambda s: sessions(s).upsert(id="a").add(F(Session.count), 1), "NOT ttl <= now"),
    "upsert, any version": (
        lambda s: leases(s).upsert(id="a").add(F(Lease.count), 1).ignore_version(),
        "revision <> 0 AND NOT ttl <= now",
    ),
    "upsert of version 0": (
        lambda s: leases(s).upsert(id="a").add(F(Lease.count), 1).if_version(0),
        "attribute_not_exists(pk)",
    ),
    "upsert of a version": (
        lambda s: leases(s).upsert(id="a").add(F(Lease.count), 1).if_version(7),
        "revision = 7 AND NOT ttl <= now",
    ),
    "delete": (lambda s: sessions(s).delete(id="a"), None),
    "delete of what exists": (
        lambda s: sessions(s).delete(id="a").if_exists(),
        "attribute_exists(pk) AND NOT ttl <= now",
    ),
    "delete of a version": (lambda s: leases(s).delete(READ), f"revision = {OLD_VERSION} AND NOT ttl <= now"),
    "check that it exists": (
        lambda s: sessions(s).check(id="a").exists(),
        "attribute_exists(pk) AND NOT ttl <= now",
    ),
    "check that it does not": (
        lambda s: sessions(s).check(id="a").not_exists(),
        "(attribute_not_exists(pk) OR ttl <= now)",
    ),
    # a condition of the caller's says of a leftover what it says of nothing
    "put, false of nothing": (
        lambda s: sessions(s).put(Session("a")).if_(F(Session.count).eq(1) | F(Session.count).eq(2)),
        "NOT ttl <= now AND (count = 1 OR count = 2)",
    ),
    "put, true of nothing": (
        lambda s: sessions(s).put(Session("a")).if_(F(Session.count).ne(1)),
        "(count <> 1 OR ttl <= now)",
    ),
    "put, both": (
        lambda s: sessions(s).put(Session("a")).if_(F(Session.count).ne(1)).if_(F(Session.owner).not_exists()),
        "(count <> 1 AND attribute_not_exists(owner) OR ttl <= now)",
    ),
    "put, one of them": (
        lambda s: sessions(s).put(Session("a")).if_(F(Session.count).ne(1)).if_(F(Session.count).lt(9)),
        "NOT ttl <= now AND count <> 1 AND count < 9",
    ),
    "create under a condition": (
        lambda s: sessions(s).put(Session("a")).if_not_exists().if_(F(Session.count).ne(1)),
        "(attribute_not_exists(pk) OR ttl <= now) AND (count <> 1 OR ttl <= now)",
    ),
    "delete under a condition": (
        lambda s: sessions(s).delete(id="a").if_(F(Session.count).lt(9)),
        "NOT ttl <= now AND count < 9",
    ),
    "check of a condition": (
        lambda s: sessions(s).check(id="a").if_(F(Session.count).ne(1)),
        "(count <> 1 OR ttl <= now)",
    ),
    "update under a condition": (
        lambda s: sessions(s).update(id="a").set(F(Session.count), 1).if_(F(Session.count).ne(1)),
        "attribute_exists(pk) AND NOT ttl <= now AND count <> 1",
    ),
}


def condition_of(operation: Any, *, now: str = str(SECOND)) -> str | None:
    """The condition with its names and values put back, and `now` for the second of the clock."""
    for line in operation.explain().split("\n"):
        label, _, text = line.strip().partition(" ")
        if label == "condition":
            return str(text.strip()).replace(f"<= {now}", "<= now")
    return None


@pytest.mark.parametrize(("build", "condition"), CONDITIONS.values(), ids=CONDITIONS)
def test_what_is_sent(build: Build, condition: str | None) -> None:
    assert condition_of(build(store_of(Things))) == condition


@pytest.mark.parametrize("build", [build for build, _ in CONDITIONS.values()], ids=CONDITIONS)
def test_the_clock_is_that_of_the_store_in_whole_seconds(build: Build) -> None:
    for clock in (lambda: NOW + 0.999, lambda: SECOND):
        assert condition_of(build(store_of(Things, clock=clock))) == condition_of(build(store_of(Things)))


@pytest.mark.parametrize("build", [build for build, _ in CONDITIONS.values()], ids=CONDITIONS)
def test_expired_items_can_be_included(build: Build) -> None:
    operation = build(store_of(Things)).include_expired()
    assert "ttl" not in str(operation.params().get("ExpressionAttributeNames"))
    assert {"N": str(SECOND)} not in operation.params().get("ExpressionAttributeValues", {}).values()


def test_types_without_a_ttl_are_as_they_were() -> None:
    with_ttl = store_of(Things, write_ids=lambda: "w").of(Plain)
    without = store_of(Table("things", [Plain]), write_ids=lambda: "w").of(Plain)
    read, count = Plain("a", 1, 7), F(Plain.count)
    builds: list[Build] = [
        lambda r: r.put(Plain("a")),
        lambda r: r.put(Plain("a")).if_not_exists(),
        lambda r: r.put(read).if_(count.ne(1)),
        lambda r: r.update(read).to(evolve(read, count=2)),
        lambda r: r.update(id="a").ignore_version().add(count, 1),
        lambda r: r.upsert(id="a").ignore_version().add(count, 1),
        lambda r: r.upsert(id="a").if_version(0).add(count, 1),
        lambda r: r.delete(read),
        lambda r: r.check(id="a").not_exists(),
    ]
    for build in builds:
        assert build(with_ttl).params() == build(without).params() == build(with_ttl).include_expired().params()


@pytest.mark.parametrize("item", [*WITHOUT_NUMBER, {"ttl": {"N": str(SECOND)}}, {"ttl": {"N": "0"}}, None])
def test_existing_and_not_existing_are_opposites(item: dict[str, Any] | None) -> None:
    """Also of what other programs may have stored there; whatever is no number never expires."""
    store = store_of(Things)
    stored = None if item is None else {**KEY, **item}
    there = stored is not None and item in WITHOUT_NUMBER
    check = sessions(store).check(id="a")
    assert holds(check.exists().params(), stored) is there
    assert holds(check.not_exists().params(), stored) is not there
    assert holds(sessions(store).put(Session("a")).if_not_exists().params(), stored) is not there
    if item is not None and "N" in item.get("ttl", {}):
        found = drive(sessions(store).get(id="a")._plan(), {"Item": {**SESSION_LEFT, **item}}).outcome
        assert (found is not None) is there


# ---- a leftover is as good as nothing


@attrs.define
class World:
    """A table with a leftover in it, or with nothing."""

    table: TinyTable
    store: Any
    calls: list[Call] = attrs.field(factory=list[Call])

    @classmethod
    def of(cls, *items: dict[str, Any], sends_item: bool = True) -> World:
        table = TinyTable(sends_item=sends_item)
        for item in items:
            table.items[table._key(item)] = dict(item)
        return cls(table, store_of(Things, write_ids=lambda: "mine"))

    def apply(self, call: Call) -> Any:
        self.calls.append(call)
        return self.table.apply(call)

    def run(self, operation: Any, *, trying: bool = False) -> Any:
        return drive(operation._try_plan() if trying else operation._plan(), answer=self.apply)

    def item(self, key: dict[str, Any]) -> dict[str, Any] | None:
        found = self.table.get(key)
        return None if found is None else {name: wire for name, wire in found.items() if name != "_w"}


count, owner = F(Session.count), F(Session.owner)
WRITES: dict[str, Build] = {
    "get": lambda s: sessions(s).get(id="a"),
    "get what must be there": lambda s: sessions(s).get(id="a").required(),
    "get of a version": lambda s: leases(s).get(id="a"),
    "put": lambda s: sessions(s).put(Session("a", "me")),
    "put returning old": lambda s: sessions(s).put(Session("a", "me")).returning_old(),
    "create": lambda s: sessions(s).put(Session("a", "me")).if_not_exists(),
    "create returning old": lambda s: sessions(s).put(Session("a", "me")).if_not_exists().returning_old(),
    "replace": lambda s: sessions(s).put(Session("a", "me")).if_exists(),
    "put if not 41": lambda s: sessions(s).put(Session("a", "me")).if_(count.ne(41)),
    "put if 41": lambda s: sessions(s).put(Session("a", "me")).if_(count.eq(41)),
    "put if nobody's": lambda s: sessions(s).put(Session("a", "me")).if_(owner.not_exists() | count.eq(3)),
    "create if not 41": lambda s: sessions(s).put(Session("a", "me")).if_not_exists().if_(count.ne(41)),
    "create if 41": lambda s: sessions(s).put(Session("a", "me")).if_not_exists().if_(count.eq(41)),
    "update": lambda s: sessions(s).update(id="a").set(owner, "me"),
    "update returning": lambda s: sessions(s).update(id="a").set(owner, "me").returning(count),
    "update returning old": lambda s: sessions(s).update(id="a").set(owner, "me").returning_old(),
    "update if 41": lambda s: sessions(s).update(id="a").set(owner, "me").if_(count.eq(41)),
    "rewrite": lambda s: (
        sessions(s).update(Session("a", "old", 41, expires=SECOND)).to(Session("a", "old", 42, expires=SECOND))
    ),
    "delete": lambda s: sessions(s).delete(id="a"),
    "delete returning old": lambda s: sessions(s).delete(id="a").returning_old(),
    "delete what exists": lambda s: sessions(s).delete(id="a").if_exists(),
    "delete if 41": lambda s: sessions(s).delete(id="a").if_(count.eq(41)),
    "delete if not 41": lambda s: sessions(s).delete(id="a").if_(count.ne(41)),
    "put of version 0": lambda s: leases(s).put(Lease("a", "me")),
    "put of version 0 returning old": lambda s: leases(s).put(Lease("a", "me")).returning_old(),
    "put of what was read": lambda s: leases(s).put(evolve(READ, holder="me")),
    "put of a legacy item": lambda s: leases(s).put(evolve(READ, revision=-1)),
    "rewrite of what was read": lambda s: leases(s).update(READ).to(evolve(READ, count=1)),
    "update of what was read": lambda s: leases(s).update(READ).add(F(Lease.count), 1),
    "update of any version": lambda s: leases(s).update(id="a").ignore_version().add(F(Lease.count), 1),
    "delete of what was read": lambda s: leases(s).delete(READ),
    "delete of any version": lambda s: leases(s).delete(id="a").ignore_version(),
    "delete of any version returning old": lambda s: leases(s).delete(id="a").ignore_version().returning_old(),
    "upsert of nothing": lambda s: sessions(s).upsert(id="a"),
    "upsert set": lambda s: sessions(s).upsert(id="a").set(owner, "me"),
    "upsert add": lambda s: sessions(s).upsert(id="a").add(count, 2),
    "upsert add to a default": lambda s: sessions(s).upsert(id="a").add(F(Session.start), 2),
    "upsert add a Decimal": lambda s: sessions(s).upsert(id="a").add(F(Session.balance), Decimal("0.25")),
    "upsert add elements": lambda s: sessions(s).upsert(id="a").add(F(Session.tags), "x", "y"),
    "upsert discard": lambda s: sessions(s).upsert(id="a").discard(F(Session.tags), "old"),
    "upsert append": lambda s: sessions(s).upsert(id="a").append(F(Session.lines), 7, 8),
    "upsert prepend": lambda s: sessions(s).upsert(id="a").prepend(F(Session.lines), 7, 8),
    "upsert set if missing": lambda s: sessions(s).upsert(id="a").set_if_missing(F(Session.note), "new"),
    "upsert remove": lambda s: sessions(s).upsert(id="a").remove(F(Session.note)),
    "upsert set to None": lambda s: sessions(s).upsert(id="a").set(F(Session.note), None),
    "upsert arithmetic": lambda s: sessions(s).upsert(id="a").set(count, count.or_else(10) + 1),
    "upsert of another field": lambda s: (
        sessions(s).upsert(id="a").set(F(Session.start), count.or_else(10) - F(Session.start).or_else(3))
    ),
    "upsert of an expiry": lambda s: sessions(s).upsert(id="a").set(F(Session.expires), SECOND + 60),
    "upsert of what has expired": lambda s: sessions(s).upsert(id="a").set(F(Session.expires), SECOND),
    "upsert returning": lambda s: sessions(s).upsert(id="a").add(count, 2).returning(count, owner),
    "upsert returning old": lambda s: sessions(s).upsert(id="a").add(count, 2).returning_old(),
    "upsert if not 41": lambda s: sessions(s).upsert(id="a").add(count, 2).if_(count.ne(41)),
    "upsert if 41": lambda s: sessions(s).upsert(id="a").add(count, 2).if_(count.eq(41)),
    "upsert given": lambda s: sessions(s).upsert(id="a").add(count, 2).given(owner="nobody"),
    "upsert given another": lambda s: sessions(s).upsert(id="a").add(count, 2).given(owner="old"),
    "upsert of version 0": lambda s: leases(s).upsert(id="a").if_version(0).set(F(Lease.holder), "me"),
    "upsert of a version": lambda s: leases(s).upsert(id="a").if_version(OLD_VERSION).set(F(Lease.holder), "me"),
    "upsert of no version": lambda s: leases(s).upsert(id="a").if_version(-1).set(F(Lease.holder), "me"),
    "upsert of any version": lambda s: leases(s).upsert(id="a").ignore_version().add(F(Lease.count), 2),
    "upsert of any version returning": lambda s: (
        leases(s).upsert(id="a").ignore_version().add(F(Lease.count), 2).returning(F(Lease.count), F(Lease.revision))
    ),
    "upsert of any version, at least once": lambda s: (
        leases(s).upsert(id="a").ignore_version().add(F(Lease.count), 2).at_least_once()
    ),
}


@pytest.mark.parametrize("trying", [False, True], ids=["send", "try_send"])
@pytest.mark.parametrize("sends_item", [True, False], ids=["item sent", "item asked for"])
@pytest.mark.parametrize("build", WRITES.values(), ids=WRITES)
def test_a_leftover_is_as_good_as_nothing(build: Build, sends_item: bool, trying: bool) -> None:
    """The same answer or error, and the same item behind it."""
    with_leftovers = World.of(SESSION_LEFT, LEASE_LEFT, sends_item=sends_item)
    empty = World.of(sends_item=sends_item)
    reading = "get" in str(type(build(empty.store))).lower()
    over, onto = (each.run(build(each.store), trying=trying and not reading) for each in (with_leftovers, empty))
    assert over.result == onto.result
    assert type(over.error) is type(onto.error)
    assert str(over.error) == str(onto.error)
    assert getattr(over.error, "seen", None) is None
    for key, left in ((KEY, SESSION_LEFT), (LEASE_KEY, LEASE_LEFT)):
        untouched = with_leftovers.item(key) == {name: wire for name, wire in left.items() if name != "_w"}
        assert with_leftovers.item(key) == empty.item(key) or (untouched and empty.item(key) is None)
    if onto.error is not None:
        assert with_leftovers.table.items == World.of(SESSION_LEFT, LEASE_LEFT).table.items


@pytest.mark.parametrize("build", WRITES.values(), ids=WRITES)
def test_what_has_not_expired_is_what_it_would_be_without_a_ttl(build: Build) -> None:
    """A second before its time is over, as with a clock of before that time."""
    live = [{**left, "ttl": {"N": str(SECOND + 1)}} for left in (SESSION_LEFT, LEASE_LEFT)]
    hidden, included = World.of(*live), World.of(*live)
    one = hidden.run(build(hidden.store))
    two = included.run(build(included.store).include_expired())
    assert one.result == two.result
    assert (type(one.error), str(one.error)) == (type(two.error), str(two.error))
    assert hidden.table.items == included.table.items


def test_included_leftovers_are_read_and_changed() -> None:
    world = World.of(SESSION_LEFT, LEASE_LEFT)
    assert world.run(sessions(world.store).get(id="a").include_expired()).outcome.count == 41
    changed = world.run(sessions(world.store).update(id="a").add(count, 1).include_expired()).outcome
    assert (changed.count, changed.owner, changed.expires) == (42, "old", SECOND)
    upserted = world.run(sessions(world.store).upsert(id="a").add(count, 1).include_expired()).outcome
    assert (upserted.count, upserted.owner) == (43, "old")
    stored = world.run(leases(world.store).put(evolve(READ, holder="me")).include_expired()).outcome
    assert stored.revision == OLD_VERSION + 1
    failed = world.run(sessions(world.store).put(Session("a")).if_not_exists().include_expired())
    assert isinstance(failed.error, ItemAlreadyExists)
    assert failed.error.seen.count == 43
    assert world.run(sessions(world.store).delete(id="a").returning_old().include_expired()).outcome.count == 43


# ---- an upsert onto a leftover


def test_the_put_of_an_upsert_has_the_whole_item_and_its_own_id() -> None:
    store = store_of(Things)
    upsert = sessions(store).upsert(id="a").add(count, 2).set(owner, "me")
    failed = CallFailed(Reached.ANSWERED, "ConditionalCheckFailedException", status=400, item=SESSION_LEFT)
    driven = drive(upsert._plan(), failed, {})
    assert driven.operations == ["UpdateItem", "PutItem"]
    assert driven.calls[1].params == {
        "TableName": "things",
        "Item": {
            **KEY,
            "_type": {"S": "SESSION"},
            "id": {"S": "a"},
            "start": {"N": "5"},
            "balance": {"N": "0.5"},
            "lines": {"L": []},
            "count": {"N": "2"},
            "owner": {"S": "me"},
            "gsi1pk": {"S": "OWNER#me"},
            "gsi1sk": {"S": "SESSION#a"},
            "_w": {"S": "w2"},
        },
        "ConditionExpression": "#0 <= :0",
        "ExpressionAttributeNames": {"#0": "ttl"},
        "ExpressionAttributeValues": {":0": {"N": str(SECOND)}},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    assert driven.outcome == Session("a", "me", 2)


def test_versions_start_afresh() -> None:
    world = World.of(LEASE_LEFT)
    made = world.run(leases(world.store).upsert(id="a").ignore_version().add(F(Lease.count), 2)).outcome
    assert made == Lease("a", "", 2, None, int(FIRST))
    assert world.table.get(LEASE_KEY) == {
        **LEASE_KEY,
        "_type": {"S": "LEASE"},
        "id": {"S": "a"},
        "holder": {"S": ""},
        "count": {"N": "2"},
        "revision": {"N": FIRST},
        "_w": {"S": "mine"},
    }


def test_a_leftover_with_version_0_is_replaced_too() -> None:
    world = World.of({**LEASE_LEFT, "revision": {"N": "0"}})
    assert world.run(leases(world.store).upsert(id="a").ignore_version().add(F(Lease.count), 2)).outcome.count == 2
    assert [call.operation for call in world.calls] == ["UpdateItem", "PutItem"]
    refused = World.of({**LEASE_LEFT, "revision": {"N": "0"}})
    assert isinstance(
        refused.run(leases(refused.store).update(id="a").ignore_version().set(F(Lease.count), 2)).error, ItemNotFound
    )
    assert [call.operation for call in refused.calls] == ["UpdateItem"]


@pytest.mark.parametrize("revived", [{**SESSION_LEFT, "ttl": {"N": str(SECOND + 9)}}, None], ids=["revived", "deleted"])
@pytest.mark.parametrize("sends_item", [True, False], ids=["item sent", "item asked for"])
@pytest.mark.parametrize("at", ["PutItem", "GetItem"])
def test_a_leftover_that_changes_meanwhile_is_looked_at_anew(
    revived: dict[str, Any] | None, sends_item: bool, at: str
) -> None:
    """Another writer revives it, or the service deletes it, after the update was refused."""
    world = World.of(SESSION_LEFT, sends_item=sends_item)
    changed: list[str] = []

    def answer(call: Call) -> Any:
        if call.operation == at and not changed:
            changed.append(at)
            world.table.items.clear()
            if revived is not None:
                world.table.items[world.table._key(KEY)] = dict(revived)
        return world.apply(call)

    driven = drive(sessions(world.store).upsert(id="a").add(count, 2)._plan(), answer=answer)
    assert bool(changed) is (at == "PutItem" or not sends_item)
    assert driven.outcome.count == (43 if changed and revived is not None else 2)


def test_an_upsert_that_never_finds_it_the_same_says_that_nothing_was_written() -> None:
    def answer(call: Call) -> Any:
        item = SESSION_LEFT if call.operation == "UpdateItem" else {**SESSION_LEFT, "ttl": {"N": "9000000000"}}
        return CallFailed(Reached.ANSWERED, "ConditionalCheckFailedException", status=400, item=item)

    driven = drive(sessions(store_of(Things)).upsert(id="a").add(count, 2)._plan(), answer=answer)
    assert type(driven.error).__name__ == "TransactionConflict"
    assert "nothing was written" in str(driven.error)
    assert len(driven.calls) == 20


def test_what_is_computed_must_be_a_number_that_dynamodb_holds() -> None:
    world = World.of(SESSION_LEFT)
    upsert = sessions(world.store).upsert(id="a")
    upsert = upsert.set(F(Session.balance), F(Session.balance).or_else(Decimal(10**37)) + Decimal("0.01"))
    driven = world.run(upsert)
    assert isinstance(driven.error, EncodeError)
    assert "balance" in str(driven.error)
    assert world.table.get(KEY) == SESSION_LEFT


# ---- lost answers

REFUSED = CallFailed(Reached.ANSWERED, "ConditionalCheckFailedException", status=400, item=SESSION_LEFT)


def refused_by(item: Any) -> CallFailed:
    return CallFailed(Reached.ANSWERED, "ConditionalCheckFailedException", status=400, item=item)


def add(**ids: Any) -> Any:
    return sessions(store_of(Things, **ids)).upsert(id="a").add(count, 2)


def test_the_put_of_an_upsert_is_repeated_and_recognises_itself() -> None:
    """An ADD alone is never repeated; in the place of a leftover it is a put that excludes its own repetition."""
    assert drive(add()._plan(), REFUSED, lost(), {}).outcome.count == 2
    mine = {**SESSION_LEFT, "ttl": {"NULL": True}, "_w": {"S": "w2"}}
    assert drive(add()._plan(), REFUSED, lost(), refused_by(mine)).outcome.count == 2
    others = {**mine, "_w": {"S": "other"}}
    assert isinstance(drive(add()._plan(), REFUSED, lost(), refused_by(others)).error, OutcomeUnknown)
    assert isinstance(drive(add()._plan(), REFUSED, lost(), refused_by(None), {}).error, OutcomeUnknown)
    assert isinstance(drive(add().at_most_once()._plan(), REFUSED, lost()).error, OutcomeUnknown)
    assert isinstance(drive(add()._plan(), lost()).error, OutcomeUnknown)


def test_an_answer_that_was_lost_before_is_not_forgotten() -> None:
    """Whatever refuses the put says nothing about the update whose answer was lost."""
    denied = answered("AccessDeniedException")
    lost_before = drive(add().at_least_once()._plan(), lost(), REFUSED, denied)
    assert isinstance(lost_before.error, OutcomeUnknown)
    assert type(drive(add().at_least_once()._plan(), REFUSED, denied).error).__name__ == "ServiceError"


def test_a_write_that_has_expired_since_is_recognised() -> None:
    """One's own id counts, though the item that carries it is hidden."""
    put = sessions(store_of(Things)).put(Session("a", expires=SECOND)).if_not_exists()
    mine = {**SESSION_LEFT, "_w": {"S": "w1"}}
    assert drive(put._plan(), lost(), refused_by(mine)).outcome.expires == SECOND
    # read by another version, but stored as it was read: certainly not applied, expired or not
    rewrite = leases(store_of(Things)).update(READ).to(evolve(READ, count=1))
    conflict = drive(rewrite._plan(), lost(), refused_by(LEASE_LEFT)).error
    assert isinstance(conflict, VersionConflict)
    assert conflict.seen is None


# ---- transactions


def canceled(*reasons: Any) -> CallFailed:
    return CallFailed(Reached.ANSWERED, "TransactionCanceledException", status=400, reasons=reasons)


FAILED = "ConditionalCheckFailed"


def test_a_transaction_hides_what_has_expired() -> None:
    store = store_of(Things)
    replace = sessions(store).put(Session("a")).if_exists()
    guarded = leases(store).put(READ)
    transaction = store.transact(replace, guarded)
    reasons = {"Code": FAILED, "Item": SESSION_LEFT}, {"Code": FAILED, "Item": LEASE_LEFT}
    error = drive(transaction._plan(), canceled(*reasons)).error
    assert isinstance(error, TransactionCanceled)
    assert error.item_for(replace) is error.item_for(guarded) is None
    assert [failure.item for failure in error.failures] == [None, None]
    included = replace.include_expired()
    error = drive(store.transact(included)._plan(), canceled(reasons[0])).error
    assert isinstance(error, TransactionCanceled)
    assert error.item_for(included) == Session("a", "old", 41, 42, Decimal(43), frozenset({"old"}), [1], "old", SECOND)


def test_an_upsert_onto_a_leftover_is_a_failed_condition_of_a_transaction() -> None:
    """It would fail again and again: no conflict that is worth another run."""
    store = store_of(Things)
    for upsert, item in (
        (sessions(store).upsert(id="a").add(count, 2), SESSION_LEFT),
        (leases(store).upsert(id="a").if_version(0), LEASE_LEFT),
        (leases(store).upsert(id="a").ignore_version(), LEASE_LEFT),
    ):
        transaction = store.transact(upsert)
        (action,) = transaction.params()["TransactItems"]
        assert not holds_in(action["Update"], item)
        error = drive(transaction._plan(), canceled({"Code": FAILED, "Item": item})).error
        assert isinstance(error, TransactionCanceled)
        assert error.conflict is not None
        assert error.conflict.name == "CONDITION"
        assert isinstance(drive(transaction._try_plan(), canceled({"Code": FAILED, "Item": item})).result, Refused)
    # what was read and has expired since is worth one
    guarded = leases(store).put(READ)
    error = drive(store.transact(guarded)._plan(), canceled({"Code": FAILED, "Item": LEASE_LEFT})).error
    assert isinstance(error, TransactionCanceled)
    assert error.conflict is not None
    assert error.conflict.name == "VERSION"


def holds_in(params: dict[str, Any], item: dict[str, Any]) -> bool:
    names = dict(params["ExpressionAttributeNames"])
    condition = {
        "ConditionExpression": params["ConditionExpression"],
        "ExpressionAttributeNames": {
            name: each for name, each in names.items() if name in params["ConditionExpression"]
        },
        "ExpressionAttributeValues": {
            name: wire
            for name, wire in params["ExpressionAttributeValues"].items()
            if f"{name} " in params["ConditionExpression"] + " "
        },
    }
    return holds(condition, item)


def test_an_upsert_sent_exactly_once_replaces_a_leftover_by_another_transaction() -> None:
    upsert = sessions(store_of(Things)).upsert(id="a").add(count, 2).exactly_once()
    driven = drive(upsert._plan(), canceled({"Code": FAILED, "Item": SESSION_LEFT}), lost(), {})
    assert driven.outcome == Session("a", count=2)
    first, second, again = driven.calls
    assert list(first.params["TransactItems"][0]) == ["Update"]
    assert list(second.params["TransactItems"][0]) == ["Put"]
    assert first.params["ClientRequestToken"] != second.params["ClientRequestToken"]
    assert second == again


def test_a_refusal_by_the_callers_condition_saw_nothing() -> None:
    world = World.of(SESSION_LEFT)
    upsert = sessions(world.store).upsert(id="a").add(count, 2).if_(count.eq(41))
    assert world.run(upsert, trying=True).result == Refused(None)
    assert isinstance(world.run(upsert).error, ConditionFailed)
    assert isinstance(world.run(upsert.include_expired(), trying=True).result, Applied)


def test_nothing_is_decoded_of_what_has_expired() -> None:
    """A leftover of a shape that no longer fits is no obstacle."""
    unreadable = {**KEY, "_type": {"S": "OTHER"}, "ttl": {"N": str(SECOND)}}
    world = World.of(unreadable)
    assert world.run(sessions(world.store).get(id="a")).outcome is None
    assert isinstance(world.run(sessions(world.store).update(id="a").set(owner, "x")).error, ItemNotFound)
    assert world.run(sessions(world.store).upsert(id="a").add(count, 1)).outcome == Session("a", count=1)


def test_ids_of_a_store_stay_in_order() -> None:
    """The clock is asked without spending an id."""
    store = store_of(Things, write_ids=numbered("x"))
    sessions(store).check(id="a").exists().params()
    assert sessions(store).put(Session("a")).if_not_exists().params()["Item"]["_w"] == {"S": "x1"}
