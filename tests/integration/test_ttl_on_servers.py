"""What has expired, on every server: none of them has deleted it yet, and it is absent all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import attrs
import pytest

from dynamap import (
    F,
    GlobalIndex,
    Index,
    ItemAlreadyExists,
    ItemNotFound,
    Reason,
    Refused,
    Store,
    Table,
    TransactionCanceled,
    VersionConflict,
    entity,
    evolve,
)
from tests.backends import Backend
from tests.modes import Mode, RawTable

NOW = 1_700_000_000
LATER = str(NOW + 3600)

Wait = Callable[[Any], Any]
Build = Callable[[Any, Any], Any]


@entity("CART", pk="CART#{id}", sk="CART", ttl="expires", frozen=True)
class Cart:
    id: str
    owner: str = "nobody"
    count: int = 0
    start: int = 5
    total: Decimal = Decimal("0.5")
    tags: frozenset[str] = frozenset()
    lines: list[int] = attrs.field(factory=list[int])
    note: str | None = None
    expires: datetime | None = None


@entity("LEASE", pk="LEASE#{id}", sk="LEASE", version="revision", ttl="until", frozen=True)
class Lease:
    id: str
    holder: str = ""
    count: int = 0
    until: int | None = None
    revision: int = 0


CART, LEASE = ("CART#a", "CART"), ("LEASE#a", "LEASE")
VERSION = (NOW - 7) * 1_000_000
READ = Lease("a", "old", 41, NOW, VERSION)


@pytest.fixture
def wait(mode: Mode) -> Wait:
    return mode.wait


@pytest.fixture
def store(mode: Mode, backend: Backend, raw: RawTable) -> Store[Any]:
    return mode.connect(Table(raw.name, [Cart, Lease], ttl="ttl"), backend, clock=lambda: NOW + 0.9)


@pytest.fixture
def carts(store: Store[Any]) -> Any:
    return store.of(Cart)


@pytest.fixture
def leases(store: Store[Any]) -> Any:
    return store.of(Lease)


def leave(raw: RawTable, ttl: str = str(NOW)) -> None:
    """Items of which the time was over at this second."""
    raw.put(
        *CART,
        _type={"S": "CART"},
        id={"S": "a"},
        owner={"S": "old"},
        count={"N": "41"},
        start={"N": "42"},
        total={"N": "43"},
        tags={"SS": ["old"]},
        lines={"L": [{"N": "1"}]},
        note={"S": "old"},
        left={"S": "by an older release"},
        ttl={"N": ttl},
    )
    raw.put(
        *LEASE,
        _type={"S": "LEASE"},
        id={"S": "a"},
        holder={"S": "old"},
        count={"N": "41"},
        revision={"N": str(VERSION)},
        ttl={"N": ttl},
    )


def clear(raw: RawTable) -> None:
    raw.delete(*CART)
    raw.delete(*LEASE)


count, owner = F(Cart.count), F(Cart.owner)
WRITES: dict[str, Build] = {
    "get": lambda c, _: c.get(id="a"),
    "get what must be there": lambda c, _: c.get(id="a").required(),
    "strong get": lambda _, le: le.get(id="a"),
    "put": lambda c, _: c.put(Cart("a", "me")),
    "put returning old": lambda c, _: c.put(Cart("a", "me")).returning_old(),
    "create": lambda c, _: c.put(Cart("a", "me")).if_not_exists(),
    "replace": lambda c, _: c.put(Cart("a", "me")).if_exists(),
    "put if not 41": lambda c, _: c.put(Cart("a", "me")).if_(count.ne(41)),
    "put if 41": lambda c, _: c.put(Cart("a", "me")).if_(count.eq(41)),
    "create if not 41": lambda c, _: c.put(Cart("a", "me")).if_not_exists().if_(count.ne(41)),
    "update": lambda c, _: c.update(id="a").set(owner, "me"),
    "update if 41": lambda c, _: c.update(id="a").set(owner, "me").if_(count.eq(41)),
    "delete": lambda c, _: c.delete(id="a"),
    "delete returning old": lambda c, _: c.delete(id="a").returning_old(),
    "delete what exists": lambda c, _: c.delete(id="a").if_exists(),
    "delete if 41": lambda c, _: c.delete(id="a").if_(count.eq(41)),
    "put of version 0": lambda _, le: le.put(Lease("a", "me")),
    "put of what was read": lambda _, le: le.put(evolve(READ, holder="me")),
    "rewrite of what was read": lambda _, le: le.update(READ).to(evolve(READ, count=1)),
    "update of any version": lambda _, le: le.update(id="a").ignore_version().add(F(Lease.count), 1),
    "delete of what was read": lambda _, le: le.delete(READ),
    "upsert set": lambda c, _: c.upsert(id="a").set(owner, "me"),
    "upsert add": lambda c, _: c.upsert(id="a").add(count, 2).add(F(Cart.start), 2),
    "upsert add a Decimal": lambda c, _: c.upsert(id="a").add(F(Cart.total), Decimal("0.25")),
    "upsert add elements": lambda c, _: c.upsert(id="a").add(F(Cart.tags), "x", "y"),
    "upsert discard": lambda c, _: c.upsert(id="a").discard(F(Cart.tags), "old"),
    "upsert append and prepend": lambda c, _: c.upsert(id="a").append(F(Cart.lines), 7, 8),
    "upsert set if missing": lambda c, _: c.upsert(id="a").set_if_missing(F(Cart.note), "new"),
    "upsert remove": lambda c, _: c.upsert(id="a").remove(F(Cart.note)),
    "upsert arithmetic": lambda c, _: (
        c.upsert(id="a").set(count, count.or_else(10) + 1).set(F(Cart.start), count.or_else(7) - 3)
    ),
    "upsert of an expiry": lambda c, _: c.upsert(id="a").set(
        F(Cart.expires), datetime.fromtimestamp(NOW, timezone.utc) + timedelta(hours=1)
    ),
    "upsert returning": lambda c, _: c.upsert(id="a").add(count, 2).returning(count, owner),
    "upsert returning old": lambda c, _: c.upsert(id="a").add(count, 2).returning_old(),
    "upsert if not 41": lambda c, _: c.upsert(id="a").add(count, 2).if_(count.ne(41)),
    "upsert if 41": lambda c, _: c.upsert(id="a").add(count, 2).if_(count.eq(41)),
    "upsert of version 0": lambda _, le: le.upsert(id="a").if_version(0).set(F(Lease.holder), "me"),
    "upsert of a version": lambda _, le: le.upsert(id="a").if_version(VERSION).set(F(Lease.holder), "me"),
    "upsert of any version": lambda _, le: le.upsert(id="a").ignore_version().add(F(Lease.count), 2),
}


def outcome(wait: Wait, operation: Any) -> tuple[Any, ...]:
    try:
        return (wait(operation.send()),)
    except Exception as error:  # noqa: BLE001 - whatever it is must be the same on both sides
        return type(error), str(error), getattr(error, "seen", None)


def test_a_leftover_is_as_good_as_nothing(carts: Any, leases: Any, raw: RawTable, wait: Wait) -> None:
    """The same answer or error as over an empty table, and the same item behind it."""
    for name, build in WRITES.items():
        leave(raw)
        left = [raw.get(*CART), raw.get(*LEASE)]
        over = outcome(wait, build(carts, leases))
        after_over = [raw.get(*CART), raw.get(*LEASE)]
        clear(raw)
        onto = outcome(wait, build(carts, leases))
        after_onto = [raw.get(*CART), raw.get(*LEASE)]
        clear(raw)
        assert over == onto, name
        for one, other, before in zip(after_over, after_onto, left, strict=True):
            # a create in the place of a leftover carries its id, which an upsert of an unversioned type has not
            without_id = None if one is None else {key: wire for key, wire in one.items() if key != "_w"}
            plain = None if other is None else {key: wire for key, wire in other.items() if key != "_w"}
            assert without_id == plain or (one == before and other is None), name


def test_the_time_is_over_at_the_second_itself(carts: Any, leases: Any, raw: RawTable, wait: Wait) -> None:
    """The clock says nine tenths of a second more: an item of the next second is alive."""
    for ttl, alive in ((str(NOW - 1), False), (str(NOW), False), (str(NOW + 1), True), ("0", False)):
        leave(raw, ttl)
        assert (wait(carts.get(id="a").send()) is not None) is alive
        assert (wait(leases.get(id="a").send()) is not None) is alive
        create = carts.put(Cart("a")).if_not_exists()
        if alive:
            with pytest.raises(ItemAlreadyExists) as caught:
                wait(create.send())
            assert caught.value.seen.count == 41
            assert wait(carts.update(id="a").add(count, 1).send()).count == 42
            assert wait(carts.upsert(id="a").add(count, 1).send()).count == 43
            assert wait(leases.update(READ).to(evolve(READ, count=1)).send()).revision == VERSION + 1
        else:
            with pytest.raises(ItemNotFound):
                wait(carts.update(id="a").add(count, 1).send())
            with pytest.raises(VersionConflict) as conflict:
                wait(leases.update(READ).to(evolve(READ, count=1)).send())
            assert conflict.value.seen is None
            assert wait(create.send()) == Cart("a")


TEXT = pytest.param(
    {"ttl": {"S": "1"}},
    marks=pytest.mark.not_on("embedded", reason="moto answers 500 where a number is compared with a text"),
)


@pytest.mark.parametrize("stored", [{}, TEXT, {"ttl": {"NULL": True}}], ids=["none", "text", "null"])
def test_what_has_no_number_there_never_expires(leases: Any, raw: RawTable, wait: Wait, stored: dict[str, Any]) -> None:
    raw.put(*LEASE, _type={"S": "LEASE"}, id={"S": "a"}, holder={"S": ""}, count={"N": "1"}, **stored)
    update = leases.update(id="a").ignore_version().add(F(Lease.count), 1).set(F(Lease.until), None)
    assert wait(update.send()).count == 2


def test_expired_items_can_be_included(carts: Any, leases: Any, raw: RawTable, wait: Wait) -> None:
    leave(raw)
    assert wait(carts.get(id="a").include_expired().send()).count == 41
    assert wait(carts.update(id="a").add(count, 1).include_expired().send()).owner == "old"
    assert wait(carts.upsert(id="a").add(count, 1).include_expired().send()).count == 43
    assert wait(leases.put(READ).include_expired().send()).revision == VERSION + 1
    assert wait(carts.get(id="a").send()) is None
    assert wait(carts.delete(id="a").returning_old().include_expired().send()).count == 43


def test_a_lease_that_ran_out_is_taken_over_by_one_writer(leases: Any, raw: RawTable, wait: Wait) -> None:
    leave(raw)
    first = wait(leases.put(Lease("a", "first", until=NOW + 60)).send())
    with pytest.raises(VersionConflict) as caught:
        wait(leases.put(Lease("a", "second", until=NOW + 60)).send())
    assert caught.value.seen == first
    # who held it before has lost it, though it was never deleted
    with pytest.raises(VersionConflict):
        wait(leases.update(READ).to(evolve(READ, until=NOW + 99)).send())


@pytest.mark.not_on("dynalite", reason="it knows no UpdateTimeToLive, which create_table() asks for")
def test_index_keys_of_a_replaced_leftover(mode: Mode, backend: Backend, client: Any, table_name: str) -> None:
    @entity("TASK", pk="TASK#{id}", sk="TASK", ttl="expires", indexes=[Index("gsi1", pk="OWNER#{owner}", sk="{at:03}")])
    class Task:
        id: str
        owner: str = "nobody"
        at: int = 7
        note: str = ""
        expires: int | None = None

    table = Table(table_name, [Task], indexes=[GlobalIndex("gsi1")], ttl="ttl")
    store = mode.connect(table, backend, clock=lambda: float(NOW))
    mode.wait(store.create_table())
    raw = RawTable(client, table_name)
    raw.put(
        "TASK#a",
        "TASK",
        _type={"S": "TASK"},
        id={"S": "a"},
        owner={"S": "old"},
        at={"N": "1"},
        gsi1pk={"S": "OWNER#old"},
        gsi1sk={"S": "001"},
        ttl={"N": str(NOW)},
    )
    assert mode.wait(store.of(Task).upsert(id="a").set(F(Task.note), "new").send()) == Task("a", note="new")
    item = raw.get("TASK#a", "TASK")
    assert item is not None
    assert (item["gsi1pk"], item["gsi1sk"]) == ({"S": "OWNER#nobody"}, {"S": "007"})
    client.delete_table(TableName=table_name)


# ---- transactions


@pytest.mark.not_on("dynalite", reason="it has no transactions")
def test_transactions_see_what_has_expired_as_absent(
    store: Store[Any], carts: Any, leases: Any, raw: RawTable, wait: Wait
) -> None:
    leave(raw)
    create, check = carts.put(Cart("a", "me")).if_not_exists(), leases.check(id="a").not_exists()
    wait(store.transact(create, check).send())
    assert wait(carts.get(id="a").send()) == Cart("a", "me")
    leave(raw)
    update, exists = carts.update(id="a").set(owner, "me"), leases.check(id="a").exists()
    with pytest.raises(TransactionCanceled) as caught:
        wait(store.transact(update, exists).send())
    assert [failure.reason for failure in caught.value.failures] == [Reason.CONDITION_FAILED] * 2
    assert caught.value.item_for(update) is caught.value.item_for(exists) is None


@pytest.mark.not_on("dynalite", reason="it has no transactions")
def test_an_upsert_onto_a_leftover_fails_in_a_transaction_and_not_alone(
    store: Store[Any], carts: Any, leases: Any, raw: RawTable, wait: Wait
) -> None:
    for upsert in (
        carts.upsert(id="a").add(count, 2),
        leases.upsert(id="a").if_version(0).add(F(Lease.count), 2),
        leases.upsert(id="a").ignore_version().add(F(Lease.count), 2),
    ):
        leave(raw)
        assert isinstance(wait(store.transact(upsert).try_send()), Refused)
        assert wait(upsert.exactly_once().send()).count == 2


# ---- the table itself


@pytest.fixture
def made(mode: Mode, backend: Backend, table_name: str) -> Iterator[Store[Any]]:
    store = mode.connect(Table(table_name, [Cart], ttl="ttl"), backend)
    mode.wait(store.create_table())
    yield store
    mode.wait(store.delete_table())


@pytest.mark.not_on("dynalite", reason="it knows no UpdateTimeToLive")
def test_a_created_table_has_its_ttl_switched_on(made: Store[Any], client: Any, mode: Mode) -> None:
    described = client.describe_time_to_live(TableName=made._name)["TimeToLiveDescription"]
    assert described["TimeToLiveStatus"] in ("ENABLED", "ENABLING")
    assert described["AttributeName"] == "ttl"
    past = datetime.now(timezone.utc) - timedelta(seconds=5)
    mode.wait(made.of(Cart).put(Cart("a", expires=past)).send())
    assert mode.wait(made.of(Cart).get(id="a").send()) is None
