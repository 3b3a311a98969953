"""Proof of optimistic locking. The letters are those of its page's list of what is proven."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from types import ModuleType
from typing import Any

from dynamap import Async, ConditionFailed, ItemNotFound, OutcomeUnknown, Store, Sync, Table, entity, evolve
from dynamap.testing import Items, Run
from tests.proofs.framework import Mutant, Scenario, Stage, StagedBench


@entity("ACCOUNT", pk="ACCOUNT#{id}", sk="BALANCE")
class OldAccount:
    """An account as it was stored before there were versions."""

    id: str
    balance: Decimal = Decimal(0)


# each is a digit of its own, so that a sum says which of them are in it
AMOUNTS = (1, 10, 100)


def table(recipe: ModuleType) -> Table:
    return Table("bank", [recipe.Account])


def counted(run: Run) -> tuple[int, int]:
    """How many clients were told that they succeeded, and how many cannot know."""
    done = sum(outcome.returned for outcome in run.outcomes.values())
    unknown = sum(isinstance(each.error, OutcomeUnknown) or each.crashed for each in run.outcomes.values())
    return done, unknown


def deposits(recipe: ModuleType, stage: Stage) -> StagedBench:
    """O1, O2, O3, O5: each change is there once, on the one before it, whatever its writer was told."""
    bench = stage.bench(table(recipe), fault_rate=0.2)

    @bench.setup
    def open_account(store: Store[Sync]) -> None:
        store.of(recipe.Account).put(recipe.Account("a")).send()

    async def deposit(store: Store[Async], amount: int) -> None:
        await recipe.change(store.of(recipe.Account), "a", lambda each: evolve(each, balance=each.balance + amount))

    for amount in AMOUNTS:
        bench.client(deposit, amount)
    seen: list[Any] = []

    @bench.invariant
    def versions_rise_by_one(items: Items) -> None:
        (account,) = items.of(recipe.Account)
        if account.balance == 0:
            seen.clear()
        if seen and seen[-1] != account:
            assert account.revision == seen[-1].revision + 1, f"O1: from {seen[-1].revision} to {account.revision}"
            added = account.balance - seen[-1].balance
            assert added / 2 not in AMOUNTS, f"O1: {added} is two changes in one"
            assert added in AMOUNTS, f"O3: {account.balance} is not made from {seen[-1].balance}"
        seen.append(account)

    @bench.afterwards
    def every_deposit_is_there_once(run: Run) -> None:
        (account,) = run.items.of(recipe.Account)
        for amount, outcome in zip(AMOUNTS, run.outcomes.values(), strict=True):
            times = int(account.balance) // amount % 10
            conflict = isinstance(outcome.error, ConditionFailed)
            assert not (times and conflict), f"O5: {amount} is stored, and was called a conflict"
            assert times <= 1, f"O5: {amount} was stored, taken for a conflict, and made again"
            assert not conflict, f"O2: {amount} lost more than two runs against two others"
            assert times or not outcome.returned, f"O2: {amount} is not in {account.balance}"
            known = not (outcome.returned or outcome.crashed or isinstance(outcome.error, OutcomeUnknown))
            assert not (times and known), f"O2: {amount} is stored, and ended as {outcome.error!r}"

    return bench


def incarnations(recipe: ModuleType, stage: Stage) -> StagedBench:
    """O3: nothing is based on a state before a delete, though the new item looks like the old one."""
    bench = stage.bench(table(recipe), fault_rate=0.2)

    @bench.setup
    def open_account(store: Store[Sync]) -> None:
        store.of(recipe.Account).put(recipe.Account("a")).send()

    @bench.client(count=2)
    async def deposit(store: Store[Async]) -> None:
        await recipe.change(store.of(recipe.Account), "a", lambda each: evolve(each, balance=each.balance + 1))

    @bench.client
    async def reopen(store: Store[Async]) -> Decimal | None:
        """Close the account while it is empty, and open one that cannot be told from it but by its version."""
        accounts = store.of(recipe.Account)
        try:
            closed = await recipe.close(accounts, "a")
        except recipe.Insufficient:
            return None
        await accounts.put(recipe.Account("a", Decimal(100))).if_not_exists().send()
        return Decimal(closed.balance)

    @bench.afterwards
    def the_new_account_keeps_what_it_began_with(run: Run) -> None:
        accounts = run.items.of(recipe.Account)
        done, unknown = counted(run)
        reopened = run.outcomes["reopen"]
        allowed = (ItemNotFound, OutcomeUnknown)
        assert all(each.error is None or isinstance(each.error, allowed) for each in run.outcomes.values())
        if reopened.returned and reopened.result is not None:
            assert reopened.result == 0, "O3: money was in the account that was closed"
            assert accounts, "O3: the new account is gone"
            # the account was empty when it was closed, so every deposit went into the new one
            added = accounts[0].balance - 100
            assert done - 1 <= added <= done - 1 + unknown, f"O3: {added} was added to it"

    return bench


def without_versions(recipe: ModuleType, stage: Stage) -> StagedBench:
    """O3: an account from before there were versions loses nothing either, and its version rises from then on."""
    bench = stage.bench(table(recipe), fault_rate=0.25)
    versions: list[int] = []

    @bench.setup
    def open_old_account(store: Store[Sync]) -> None:
        versions.clear()
        old = Store[Sync](Table("bank", [OldAccount]), "bank", store._runtime)
        old.of(OldAccount).put(OldAccount("a")).send()

    @bench.client(count=3)
    async def deposit(store: Store[Async]) -> None:
        await recipe.change(store.of(recipe.Account), "a", lambda each: evolve(each, balance=each.balance + 1))

    @bench.invariant
    def versions_rise(items: Items) -> None:
        (account,) = items.of(recipe.Account)
        assert not versions or account.revision >= versions[-1], f"O3: from {versions[-1]} to {account.revision}"
        assert len(set(versions)) <= account.balance + 1, "O3: two versions for one change"
        versions.append(account.revision)

    @bench.afterwards
    def every_deposit_is_there_once(run: Run) -> None:
        (account,) = run.items.of(recipe.Account)
        done, unknown = counted(run)
        assert done <= account.balance <= done + unknown, f"O3: {account.balance} of {done}"

    return bench


def failures(recipe: ModuleType, stage: Stage) -> StagedBench:
    """O4: what fails leaves the object as it was read."""
    bench = stage.bench(table(recipe), fault_rate=0.3)

    @bench.setup
    def open_account(store: Store[Sync]) -> None:
        store.of(recipe.Account).put(recipe.Account("a")).send()

    @bench.client(count=3)
    async def deposit(store: Store[Async]) -> None:
        read: list[Any] = []

        def decide(account: Any) -> Any:
            read.append((account, evolve(account)))
            return evolve(account, balance=account.balance + 1)

        try:
            await recipe.change(store.of(recipe.Account), "a", decide)
        finally:
            for account, copy in read:
                assert account == copy, "O4: the object that was read was changed"

    return bench


def transfers(recipe: ModuleType, stage: Stage) -> StagedBench:
    """sum, overdraft: the sum never changes, and no account is overdrawn."""
    bench = stage.bench(table(recipe), fault_rate=0.15)

    @bench.setup
    def open_accounts(store: Store[Sync]) -> None:
        for each in "abc":
            store.of(recipe.Account).put(recipe.Account(each, Decimal(10))).send()

    async def move(store: Store[Async], source: str, target: str) -> bool:
        try:
            await recipe.transfer(store, Decimal(6), source=source, target=target)
        except recipe.Insufficient:
            return False
        return True

    for source, target in ("ab", "ab", "cb"):
        bench.client(move, source, target)

    @bench.invariant
    def the_sum_stays(items: Items) -> None:
        accounts = items.of(recipe.Account)
        total = sum(each.balance for each in accounts)
        assert len(accounts) < 3 or total == 30, f"sum: {total}"
        assert all(each.balance >= 0 for each in accounts), f"overdraft: {accounts}"

    return bench


SCENARIOS: Sequence[Scenario] = (deposits, incarnations, without_versions, failures, transfers)

_WRITE = "return await accounts.update(account).to(decide(account)).send()"
_CHANGE = "async def change("
_BLIND = 'return await accounts.update(id=id).ignore_version().set_fields({"balance": decide(account).balance})'
MUTANTS: Sequence[Mutant] = (
    Mutant(
        "O3",
        "a write without its guard",
        _WRITE,
        f"{_BLIND}.send()",
    ),
    Mutant(
        "O2",
        "a lost race ends it",
        f"(attempts=RUNS)\n{_CHANGE}",
        f"(attempts=1)\n{_CHANGE}",
    ),
    Mutant("O1", "one write is two changes", "to(decide(account))", "to(decide(decide(account)))"),
    Mutant(
        "O3",
        "a delete without its guard",
        "await accounts.delete(account).send()",
        "await accounts.delete(id=id).ignore_version().send()",
    ),
    Mutant(
        "O4",
        "the object is changed in place",
        _WRITE,
        "account.balance = decide(account).balance; return await accounts.put(account).send()",
    ),
    Mutant(
        "O5",
        "its own repetition is a conflict",
        _WRITE,
        f"from dynamap import F; {_BLIND}.if_(F(Account.revision).eq(account.revision)).at_least_once().send()",
    ),
    Mutant(
        "sum",
        "one side without its guard",
        "accounts.update(paid).to(evolve(paid, balance=paid.balance + amount)),",
        'accounts.update(id=target).ignore_version().set_fields({"balance": paid.balance + amount}),',
    ),
    Mutant("overdraft", "whoever has anything", "if paying.balance < amount:", "if paying.balance < 0:"),
)
