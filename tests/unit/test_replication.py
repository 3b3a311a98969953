"""Global tables: what cannot hold in several regions is refused, and everything else is as it was."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from dynamap import F, GlobalIndex, Index, LocalIndex, ModelError, RequestError, Table, UnguardedWrite, entity
from tests.fakes import drive, store_of


@entity("VIEW", pk="VIEW#{page}", sk="VIEW", indexes=[Index("gsi1", pk="BY#{owner}")])
class View:
    page: str
    count: int = 0
    shown: int = 0
    owner: str = "me"
    tags: set[str] = attrs.field(factory=set[str])


@entity("ACCOUNT", pk="ACCOUNT#{id}", sk="ACCOUNT", version="revision")
class Account:
    id: str
    revision: int = 0


INDEXES = [GlobalIndex("gsi1", sk=())]


def views(replicated: Any = True) -> Any:
    return store_of(Table("views", [View], indexes=INDEXES, replicated=replicated)).of(View)


def refused(error: type[Exception], make: Any) -> str:
    with pytest.raises(error) as caught:
        make()
    assert type(caught.value) is error
    return str(caught.value)


# ---- declarations


def test_versions_do_not_hold_with_eventual_consistency() -> None:
    assert refused(ModelError, lambda: Table("shop", [View, Account], indexes=INDEXES, replicated=True)) == (
        "Table 'shop' is replicated, so that the last writer of any region wins, but Account has a version, which "
        "would promise something else: let one region write, without replicated=True, or use a table with strong "
        'consistency, replicated="strongly"'
    )
    assert Table("shop", [Account], replicated="strongly").layout.replicated == "strongly"
    assert Table("shop", [Account]).layout.replicated is False


def test_ttl_and_local_indexes_are_not_there_with_strong_consistency() -> None:
    message = (
        "Table 'shop' has a TTL and the local index 'by_day', which a global table with strong consistency does not "
        "take: leave it out"
    )
    local = LocalIndex("by_day", sk="day")

    def declare(replicated: Any) -> Table:
        return Table("shop", [Account], ttl="ttl", indexes=[local], replicated=replicated)

    assert refused(ModelError, lambda: declare("strongly")) == message
    assert declare(replicated=False)
    assert Table("shop", [View], ttl="ttl", indexes=[*INDEXES, local], replicated=True)


def test_what_it_may_be() -> None:
    given: Any = "eventually"
    assert refused(ModelError, lambda: Table("shop", [Account], replicated=given)) == (
        "Table 'shop': replicated is True, \"strongly\" or False; got 'eventually'"
    )


# ---- eventual consistency


CONDITION = (
    "the table is replicated, so that a condition holds in one region only, and the last writer of any region wins: "
    "leave the condition out, or let one region write, without replicated=True"
)
COUNTER = (
    "the table is replicated, so that what is added in two regions at a time is lost in one: set values, keep an item "
    "for each region, or let one region write, without replicated=True"
)


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda views: views.put(View("p")).if_not_exists(), "put of View page='p'"),
        (lambda views: views.put(View("p")).if_(F(View.count).eq(1)), "put of View page='p'"),
        (
            lambda views: views.update(page="p").set(F(View.count), 1).if_(F(View.count).eq(1)),
            "update of View page='p'",
        ),
        (lambda views: views.delete(page="p").if_(F(View.count).eq(1)), "delete of View page='p'"),
        (lambda views: views.check(page="p").not_exists(), "check of View page='p'"),
    ],
)
def test_conditions_are_refused(make: Any, what: str) -> None:
    assert refused(RequestError, make(views()).params) == f"{what}: {CONDITION}"
    assert make(views(replicated=False)).params()
    assert make(views(replicated="strongly")).params()


def test_the_whole_message_of_a_condition_and_of_a_counter() -> None:
    assert refused(RequestError, views().put(View("p")).if_not_exists().params) == (
        "put of View page='p': the table is replicated, so that a condition holds in one region only, and the last "
        "writer of any region wins: leave the condition out, or let one region write, without replicated=True"
    )
    assert refused(RequestError, lambda: views().update(page="p").add(F(View.count), 1)) == (
        "update of View page='p': the table is replicated, so that what is added in two regions at a time is lost in "
        "one: set values, keep an item for each region, or let one region write, without replicated=True"
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda views: views.update(page="p").add(F(View.count), 1),
        lambda views: views.update(page="p").set(F(View.count), F(View.count) + 1),
        lambda views: views.upsert(page="p").add(F(View.tags), "x"),
    ],
)
def test_counters_are_refused(make: Any) -> None:
    assert refused(RequestError, lambda: make(views())).endswith(COUNTER)
    assert make(views(replicated=False)).params()
    assert make(views(replicated="strongly")).params()


def test_everything_else_is_as_it_was() -> None:
    for make in (
        lambda views: views.put(View("p")),
        lambda views: views.put(View("p")).if_exists(),
        lambda views: views.get(page="p"),
        lambda views: views.update(page="p").set(F(View.count), 3).set(F(View.shown), F(View.count)),
        lambda views: views.upsert(page="p").set(F(View.count), 3).remove(F(View.tags)),
        lambda views: views.delete(page="p").if_exists(),
        lambda views: views.query(page="p"),
        lambda views: views.put(View("p")).exactly_once(),
    ):
        assert make(views()).params() == make(views(replicated=False)).params()


# ---- strong consistency


def test_transactions_are_not_there() -> None:
    table = Table("shop", [Account], replicated="strongly")
    store: Any = store_of(table)
    accounts = store.of(Account)
    message = (
        "transact(): argument 1: the table is replicated with strong consistency, where DynamoDB has no transactions: "
        "write the items one by one, each under its version or a condition"
    )
    assert refused(RequestError, lambda: store.transact(accounts.put(Account("a")))) == message
    assert refused(RequestError, lambda: store.transact_get(accounts.get(id="a"))) == message.replace(
        "transact()", "transact_get()"
    )
    assert refused(RequestError, accounts.put(Account("a")).exactly_once().params) == message.replace(
        "transact(): argument 1", "put of Account id='a'"
    )
    assert drive(accounts.put(Account("a"))._plan(), {}).result.id == "a"
    assert refused(UnguardedWrite, accounts.delete(id="a").params)
