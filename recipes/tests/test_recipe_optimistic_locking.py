"""How optimistic locking is used, and what it refuses; copied along with it."""

from __future__ import annotations

from decimal import Decimal

import pytest

from dynamap import Repository, Store, Sync, Table, VersionConflict, evolve
from dynamap.testing import memory_store
from recipes.optimistic_locking import Account, Insufficient, change, close, transfer


def bank() -> Store[Sync]:
    return memory_store(Table("bank", [Account]))


def deposit(accounts: Repository[Sync, Account], amount: int) -> Account:
    return change(accounts, "alice", lambda account: evolve(account, balance=account.balance + amount))


def test_changes_add_up() -> None:
    accounts = bank().of(Account)
    accounts.put(Account("alice")).send()
    for amount in (5, 7):
        deposit(accounts, amount)
    alice = accounts.get(id="alice").required().send()
    assert alice.balance == Decimal(12)


def test_what_was_read_too_early_is_refused() -> None:
    accounts = bank().of(Account)
    stale = accounts.put(Account("alice")).send()
    deposit(accounts, 5)
    with pytest.raises(VersionConflict):
        accounts.update(stale).to(evolve(stale, balance=Decimal(1))).send()
    assert stale.balance == Decimal(0)


def test_money_moves_whole_or_not_at_all() -> None:
    store = bank()
    accounts = store.of(Account)
    accounts.put(Account("alice", Decimal(10))).send()
    accounts.put(Account("bob")).send()
    transfer(store, Decimal(8), source="alice", target="bob")
    with pytest.raises(Insufficient):
        transfer(store, Decimal(8), source="alice", target="bob")
    alice, bob = accounts.get(id="alice").required().send(), accounts.get(id="bob").required().send()
    assert (alice.balance, bob.balance) == (Decimal(2), Decimal(8))
    with pytest.raises(Insufficient):
        close(accounts, "bob")


@pytest.mark.parametrize("amount", [Decimal(-8), Decimal(0)])
def test_a_transfer_moves_more_than_nothing(amount: Decimal) -> None:
    store = bank()
    accounts = store.of(Account)
    accounts.put(Account("alice", Decimal(10))).send()
    accounts.put(Account("bob")).send()
    with pytest.raises(ValueError, match="a Decimal of more than nothing"):
        transfer(store, amount, source="alice", target="bob")
    assert (accounts.get(id="bob").required().send()).balance == Decimal(0)
