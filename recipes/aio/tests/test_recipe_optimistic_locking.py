"""How optimistic locking is used, and what it refuses; copied along with it."""

from __future__ import annotations

from decimal import Decimal

import pytest

from dynamap import Async, Repository, Store, Table, VersionConflict, evolve
from dynamap.testing import memory_store_async
from recipes.aio.optimistic_locking import Account, Insufficient, change, close, transfer

pytestmark = pytest.mark.asyncio  # asyncio only


def bank() -> Store[Async]:
    return memory_store_async(Table("bank", [Account]))


async def deposit(accounts: Repository[Async, Account], amount: int) -> Account:
    return await change(accounts, "alice", lambda account: evolve(account, balance=account.balance + amount))


async def test_changes_add_up() -> None:
    accounts = bank().of(Account)
    await accounts.put(Account("alice")).send()
    for amount in (5, 7):
        await deposit(accounts, amount)
    alice = await accounts.get(id="alice").required().send()
    assert alice.balance == Decimal(12)


async def test_what_was_read_too_early_is_refused() -> None:
    accounts = bank().of(Account)
    stale = await accounts.put(Account("alice")).send()
    await deposit(accounts, 5)
    with pytest.raises(VersionConflict):
        await accounts.update(stale).to(evolve(stale, balance=Decimal(1))).send()
    assert stale.balance == Decimal(0)


async def test_money_moves_whole_or_not_at_all() -> None:
    store = bank()
    accounts = store.of(Account)
    await accounts.put(Account("alice", Decimal(10))).send()
    await accounts.put(Account("bob")).send()
    await transfer(store, Decimal(8), source="alice", target="bob")
    with pytest.raises(Insufficient):
        await transfer(store, Decimal(8), source="alice", target="bob")
    alice, bob = await accounts.get(id="alice").required().send(), await accounts.get(id="bob").required().send()
    assert (alice.balance, bob.balance) == (Decimal(2), Decimal(8))
    with pytest.raises(Insufficient):
        await close(accounts, "bob")


@pytest.mark.parametrize("amount", [Decimal(-8), Decimal(0)])
async def test_a_transfer_moves_more_than_nothing(amount: Decimal) -> None:
    store = bank()
    accounts = store.of(Account)
    await accounts.put(Account("alice", Decimal(10))).send()
    await accounts.put(Account("bob")).send()
    with pytest.raises(ValueError, match="a Decimal of more than nothing"):
        await transfer(store, amount, source="alice", target="bob")
    assert (await accounts.get(id="bob").required().send()).balance == Decimal(0)
