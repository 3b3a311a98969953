"""Optimistic locking on every backend, in both modes."""

from __future__ import annotations

from decimal import Decimal
from types import ModuleType
from typing import Any

import pytest

from dynamap import ItemNotFound, Store, Table, UnguardedWrite, VersionConflict, entity, evolve
from dynamap.testing import FaultPlan
from recipes import optimistic_locking
from recipes.aio import optimistic_locking as optimistic_locking_async
from tests.backends import Backend
from tests.modes import Mode, RawTable


@pytest.fixture
def recipe(mode: Mode) -> ModuleType:
    return optimistic_locking_async if mode.is_async else optimistic_locking


@pytest.fixture
def store(mode: Mode, backend: Backend, raw: RawTable, recipe: ModuleType) -> Store[Any]:
    return mode.connect(Table(raw.name, [recipe.Account]), backend)


def test_a_change_that_meets_another_is_made_again(
    store: Store[Any], mode: Mode, recipe: ModuleType, raw: RawTable
) -> None:
    accounts = store.of(recipe.Account)
    first = mode.wait(accounts.put(recipe.Account("a")).send())
    states: list[Decimal] = []

    def decide(account: Any) -> Any:
        states.append(account.balance)
        if len(states) < 3:
            # somebody else, between the read and the write
            raw.update("ACCOUNT#a", "BALANCE", "ADD balance :ten, revision :one", ten={"N": "10"}, one={"N": "1"})
        return evolve(account, balance=account.balance + 1)

    changed = mode.call(recipe.change, accounts, "a", decide)
    assert states == [0, 10, 20]
    assert (changed.balance, changed.revision) == (21, first.revision + 3)


def test_what_knows_no_version_is_refused_before_it_is_sent(store: Store[Any], mode: Mode, recipe: ModuleType) -> None:
    accounts = store.of(recipe.Account)
    first = mode.wait(accounts.put(recipe.Account("a", Decimal(5))).send())
    keyed = (accounts.delete(id="a"), accounts.update(id="a").set_fields({"balance": Decimal(0)}))
    for write in keyed:
        with pytest.raises(UnguardedWrite):
            mode.call(write.send)
    assert mode.wait(accounts.get(id="a").send()) == first
    # said to go ahead all the same, it still raises the version
    mode.wait(keyed[1].ignore_version().send())
    with pytest.raises(VersionConflict):
        mode.wait(accounts.update(first).to(evolve(first, balance=Decimal(9))).send())


@entity("PURSE", pk="PURSE#{id}", sk="BALANCE")
class Purse:
    """An account without a version."""

    id: str
    balance: int = 0


def test_without_a_version_the_second_undoes_the_first(mode: Mode, backend: Backend, raw: RawTable) -> None:
    purses = mode.connect(Table(raw.name, [Purse]), backend).of(Purse)
    read_by_both = mode.wait(purses.put(Purse("a")).send())
    for amount in (10, 1):
        changed = evolve(read_by_both, balance=read_by_both.balance + amount)
        mode.wait(purses.update(read_by_both).to(changed).send())
    # the ten are gone, and nobody was told
    assert mode.wait(purses.get(id="a").strongly_consistent().send()).balance == 1


def test_nothing_is_run_again_by_itself(store: Store[Any], mode: Mode, recipe: ModuleType) -> None:
    accounts = store.of(recipe.Account)
    first = mode.wait(accounts.put(recipe.Account("a")).send())
    mode.wait(accounts.update(first).to(evolve(first, balance=Decimal(1))).send())
    plan = FaultPlan()
    again = plan.over(store).of(recipe.Account).update(first).to(evolve(first, balance=Decimal(2)))
    with pytest.raises(VersionConflict):
        mode.wait(again.send())
    assert sum(call.operation == "UpdateItem" for call in plan.calls) == 1


def test_a_closed_account_takes_nothing_and_its_successor_no_old_write(
    store: Store[Any], mode: Mode, recipe: ModuleType
) -> None:
    accounts = store.of(recipe.Account)
    old = mode.wait(accounts.put(recipe.Account("a")).send())
    mode.call(recipe.close, accounts, "a")
    with pytest.raises(ItemNotFound):
        mode.call(recipe.change, accounts, "a", lambda account: account)
    mode.wait(accounts.put(recipe.Account("a", Decimal(7))).send())
    with pytest.raises(VersionConflict):
        mode.wait(accounts.update(old).to(evolve(old, balance=Decimal(1))).send())
    with pytest.raises(recipe.Insufficient):
        mode.call(recipe.close, accounts, "a")


@pytest.mark.not_on("dynalite", reason="it has no transactions")
def test_transfers_keep_the_sum(store: Store[Any], mode: Mode, recipe: ModuleType) -> None:
    accounts = store.of(recipe.Account)
    for name, balance in (("a", 10), ("b", 0)):
        mode.wait(accounts.put(recipe.Account(name, Decimal(balance))).send())

    def transfer() -> Any:
        return recipe.transfer(store, Decimal(6), source="a", target="b")

    mode.call(transfer)
    with pytest.raises(recipe.Insufficient):
        mode.call(transfer)
    balances = [mode.wait(accounts.get(id=name).required().send()).balance for name in ("a", "b")]
    assert balances == [4, 6]
