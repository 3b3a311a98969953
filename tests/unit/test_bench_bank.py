"""Twenty clients move money between ten accounts while everything goes wrong: no cent is lost, doubled or made up."""

from __future__ import annotations

from typing import Any

import pytest

from dynamap import (
    DynamapError,
    F,
    OutcomeUnknown,
    Store,
    Sync,
    Table,
    TransactionCanceled,
    entity,
    evolve,
    retry_on_conflict,
)
from dynamap.testing import Bench, Cancellation, Clocks, Crash, Fault, Items, Run
from tests.depth import how_many

ACCOUNTS = 10
CLIENTS = 20
OPENING = 100


@entity("ACCOUNT", pk="ACCOUNT#{id}", sk="BALANCE", version="revision")
class Account:
    id: int
    balance: int = OPENING
    revision: int = 0


@entity("TRANSFER", pk="TRANSFER#{id}", sk="TRANSFER", frozen=True)
class Transfer:
    """The receipt: written in the same transaction, so it is there exactly if the money was moved."""

    id: str
    source: int
    target: int
    amount: int


Bank = Table("bank", [Account, Transfer])
FAULTS = [
    *Fault,
    *Crash,
    Cancellation(["TransactionConflict"]),
    Cancellation([None, "ThrottlingError"]),
    Cancellation(["TransactionConflict", "ConditionalCheckFailed"]),
]


def transfer_of(number: int) -> Transfer:
    return Transfer(str(number), number % ACCOUNTS, (number * 3 + 1) % ACCOUNTS, 1 + number * 7 % 60)


def guarded(store: Store[Sync], transfer: Transfer) -> None:
    """Read both, write both under the versions that were read."""
    accounts, transfers = store.of(Account), store.of(Transfer)

    @retry_on_conflict(attempts=4)
    def run() -> None:
        source = accounts.get(id=transfer.source).required().send()
        target = accounts.get(id=transfer.target).required().send()
        if source.balance < transfer.amount:
            return
        store.transact(
            accounts.update(source).to(evolve(source, balance=source.balance - transfer.amount)),
            accounts.update(target).to(evolve(target, balance=target.balance + transfer.amount)),
            transfers.put(transfer).if_not_exists(),
        ).send()

    run()


def blind(store: Store[Sync], transfer: Transfer) -> None:
    """Read nothing: a condition on the one, additions to both."""
    accounts, transfers = store.of(Account), store.of(Transfer)
    store.transact(
        accounts.update(id=transfer.source)
        .ignore_version()
        .add(F(Account.balance), -transfer.amount)
        .if_(F(Account.balance).ge(transfer.amount)),
        accounts.update(id=transfer.target).ignore_version().add(F(Account.balance), transfer.amount),
        transfers.put(transfer).if_not_exists(),
    ).send()


def what_was_acknowledged_is_there_exactly_once(run: Run) -> None:
    receipts = {transfer.id: transfer for transfer in run.items.of(Transfer)}
    expected = dict.fromkeys(range(ACCOUNTS), OPENING)
    for receipt in receipts.values():
        expected[receipt.source] -= receipt.amount
        expected[receipt.target] += receipt.amount
    assert {account.id: account.balance for account in run.items.of(Account)} == expected
    for name, outcome in run.outcomes.items():
        number = name.removeprefix("transfer-")
        if isinstance(outcome.error, DynamapError) and not isinstance(outcome.error, OutcomeUnknown):
            assert number not in receipts, f"{name} was refused by {outcome.error!r}, but is there"
        if outcome.returned and int(number) % 2 == 0:
            assert number in receipts, f"{name} was acknowledged, but is not there"


def bank(*, clients: int = CLIENTS, **options: Any) -> Bench:
    bench = Bench(Bank, **options)

    @bench.setup
    def open_accounts(store: Store[Sync]) -> None:
        for number in range(ACCOUNTS):
            store.of(Account).put(Account(number)).send()

    for number in range(clients):
        transfer = transfer_of(number)
        if transfer.source != transfer.target:
            bench.client(guarded if number % 2 else blind, transfer, name=f"transfer-{number}")

    @bench.invariant
    def the_sum_never_changes(items: Items) -> None:
        assert sum(account.balance for account in items.of(Account)) == ACCOUNTS * OPENING

    @bench.invariant
    def nobody_owes(items: Items) -> None:
        assert all(account.balance >= 0 for account in items.of(Account))

    bench.afterwards(what_was_acknowledged_is_there_exactly_once)
    return bench


@pytest.mark.slow
@pytest.mark.deep
def test_money_is_moved_exactly_once_under_every_fault() -> None:
    schedules = how_many(quick=60, deep=10_000)
    bench = bank(faults=FAULTS, fault_rate=0.15, clocks=Clocks(skew=30, jumps=(-60, 60), stalls=(20,)))
    assert bench.run_many(schedules) > schedules * CLIENTS


def test_every_way_to_end_is_met() -> None:
    bench = bank(faults=FAULTS, fault_rate=0.15)
    ends: set[str] = set()
    for seed in range(30):
        for outcome in bench.run(seed).outcomes.values():
            ends.add("crash" if outcome.crashed else type(outcome.error).__name__ if outcome.error else "done")
    assert {"done", "crash", TransactionCanceled.__name__} <= ends


def test_what_is_not_there_is_noticed() -> None:
    """The checks themselves: money that is moved without a receipt, and money that is made up."""
    for steps in ("balance only", "receipt only"):
        bench = bank(clients=0)

        def break_in(store: Store[Sync], steps: str = steps) -> None:
            if steps == "balance only":
                account = store.of(Account).get(id=1).required().send()
                store.of(Account).update(account).to(evolve(account, balance=account.balance + 1)).send()
            else:
                store.of(Transfer).put(Transfer("1", 1, 2, 3)).send()

        bench.client(break_in, name="transfer-1")
        with pytest.raises(AssertionError, match=r"the_sum_never_changes|acknowledged_is_there"):
            bench.run(0)
