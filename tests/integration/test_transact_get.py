"""Reads at one moment, in both modes and on every server that has transactions."""

from __future__ import annotations

from typing import Any

import pytest

from dynamap import F, ItemNotFound, Store, Table, entity
from dynamap.testing import Fault, FaultPlan
from tests.backends import Backend
from tests.modes import Mode, RawTable

pytestmark = pytest.mark.not_on("dynalite", reason="it has no transactions")


@entity("ACCOUNT", pk="ACCOUNT#{id}", sk="BALANCE", version="revision")
class Account:
    id: str
    balance: int = 0
    revision: int = 0


@entity("COUNTER", pk="COUNTER#{id}", sk="COUNTER")
class Counter:
    id: str
    count: int = 0


@pytest.fixture
def store(mode: Mode, backend: Backend, raw: RawTable) -> Store[Any]:
    return mode.connect(Table(raw.name, [Account, Counter]), backend)


def test_several_classes_and_misses_in_order(mode: Mode, store: Store[Any]) -> None:
    accounts, counters = store.of(Account), store.of(Counter)
    alice = mode.wait(accounts.put(Account("alice", 5)).send())
    mode.wait(counters.put(Counter("x", 3)).send())
    gets = (counters.get(id="x"), accounts.get(id="nobody"), accounts.get(id="alice").required())
    assert mode.wait(store.transact_get(*gets).send()) == (Counter("x", 3), None, alice)
    with pytest.raises(ItemNotFound) as caught:
        mode.wait(store.transact_get(counters.get(id="x"), accounts.get(id="nobody").required()).send())
    assert str(caught.value) == "get of Account id='nobody': there is no such item"


def test_tables_of_one_client(mode: Mode, store: Store[Any], client: Any, table_name: str) -> None:
    other = RawTable(client, f"{table_name}-other")
    other.create()
    try:
        elsewhere = store.with_name(other.name)
        mode.wait(store.of(Counter).put(Counter("x", 1)).send())
        mode.wait(elsewhere.of(Counter).put(Counter("x", 2)).send())
        gets = (store.of(Counter).get(id="x"), elsewhere.of(Counter).get(id="x"))
        assert mode.wait(store.transact_get(*gets).send()) == (Counter("x", 1), Counter("x", 2))
    finally:
        client.delete_table(TableName=other.name)


def test_sums_are_never_seen_half_changed(mode: Mode, store: Store[Any]) -> None:
    counters = store.of(Counter)
    mode.wait(store.transact(counters.put(Counter("a", 50)), counters.put(Counter("b", 50))).send())
    for _ in range(5):
        move = store.transact(
            counters.update(id="a").add(F(Counter.count), -1), counters.update(id="b").add(F(Counter.count), 1)
        )
        mode.wait(move.send())
        a, b = mode.wait(store.transact_get(counters.get(id="a").required(), counters.get(id="b").required()).send())
        assert a.count + b.count == 100


@pytest.mark.parametrize("fault", list(Fault))
def test_lost_and_refused_attempts_are_repeated(mode: Mode, store: Store[Any], fault: Fault) -> None:
    mode.wait(store.of(Counter).put(Counter("x", 3)).send())
    faults = FaultPlan({1: fault, 2: fault})
    faulty = faults.over(store)
    assert mode.wait(faulty.transact_get(faulty.of(Counter).get(id="x")).send()) == (Counter("x", 3),)
    assert [call.operation for call in faults.calls] == ["TransactGetItems"] * 3


def test_parts_of_items(mode: Mode, store: Store[Any]) -> None:
    accounts, counters = store.of(Account), store.of(Counter)
    mode.wait(accounts.put(Account("alice", 5)).send())
    mode.wait(counters.put(Counter("x", 3)).send())
    gets = (
        accounts.get(id="alice").project(F(Account.balance)).required(),
        counters.get(id="x").project(F(Counter.count), F(Counter.id)),
        counters.get(id="nobody").project(F(Counter.count)),
    )
    assert mode.wait(store.transact_get(*gets).send()) == (5, (3, "x"), None)
