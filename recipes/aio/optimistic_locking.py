"""Optimistic locking: read an item, decide, and write only if nobody wrote in between; else read again.

Guarantees
    Every successful change was made from the state directly before it: no update is lost, whoever else writes, also
    when an item was deleted and made again in between. What fails changes nothing, in the table or in the object that
    was read. A change whose answer was lost is not reported as a conflict when it is the one that is stored.

Does not guarantee
    Fairness: a writer of a hot item may lose every run, and then raises VersionConflict. That an OutcomeUnknown was not
    applied: read the item before you repeat it. Anything across several items, but in `transfer`, which is one
    transaction. Versions hold in one region only: replicas in other regions accept what they like.

Costs
    A change: a strong read (1 read unit per 4 KB) and a write (1 write unit per KB of the larger of the old and the new
    item), for each run. A lost run has paid for both. `transfer`: two strong reads, and twice its two
    writes, since they are a transaction: 4 write units for accounts of up to 1 KB.

Take another
    `counters` where the change is an addition: it needs no read and cannot lose a race. `out_of_order` where the change
    carries its own order. A lease where the work between read and write is long.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from dynamap import Async, Repository, Store, entity, evolve, retry_on_conflict

__all__ = ["Account", "Insufficient", "change", "close", "transfer"]

RUNS = 20


class Insufficient(Exception):
    """There is less in the account than should leave it."""


@entity("ACCOUNT", pk="ACCOUNT#{id}", sk="BALANCE", version="revision")
class Account:
    """What is changed by reading first; `version=` lets no write pass that was made from an older state."""

    id: str
    balance: Decimal = Decimal(0)
    revision: int = 0


@retry_on_conflict(attempts=RUNS)
async def change(accounts: Repository[Async, Account], id: str, decide: Callable[[Account], Account]) -> Account:  # noqa: A002
    """Let *decide* answer the new state for the stored one, and store it; answers what is stored.

    *decide* is called again with a newer state after a conflict, so it must have no effects. Raises ItemNotFound,
    whatever *decide* raises, VersionConflict after 20 lost runs, OutcomeUnknown.
    """
    account = await accounts.get(id=id).required().send()
    return await accounts.update(account).to(decide(account)).send()


@retry_on_conflict(attempts=RUNS)
async def close(accounts: Repository[Async, Account], id: str) -> Account:  # noqa: A002
    """Delete an account that is empty; answers its last state. Raises ItemNotFound, Insufficient, OutcomeUnknown."""
    account = await accounts.get(id=id).required().send()
    if account.balance != 0:
        msg = f"account {id} is not empty"
        raise Insufficient(msg)
    await accounts.delete(account).send()
    return account


@retry_on_conflict(attempts=RUNS)
async def transfer(store: Store[Async], amount: Decimal, *, source: str, target: str) -> None:
    """Move an amount between two accounts, both or neither changed. Raises as `change` does, and Insufficient.

    ValueError for one account twice, and unless the amount is a Decimal of more than nothing.
    """
    if source == target:
        msg = "source and target are one account: a transaction takes one write for each item"
        raise ValueError(msg)
    if type(amount) is not Decimal or not amount.is_finite() or amount <= 0:
        msg = f"a transfer moves a Decimal of more than nothing; got {amount!r}"
        raise ValueError(msg)
    accounts = store.of(Account)
    paying = await accounts.get(id=source).required().send()
    paid = await accounts.get(id=target).required().send()
    if paying.balance < amount:
        msg = f"account {source} has not enough"
        raise Insufficient(msg)
    await store.transact(
        accounts.update(paying).to(evolve(paying, balance=paying.balance - amount)),
        accounts.update(paid).to(evolve(paid, balance=paid.balance + amount)),
    ).send()
