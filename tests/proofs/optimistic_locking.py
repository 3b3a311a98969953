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


def table(recipe: ModuleType) -> Table:
    return Table("bank", [recipe.Account])


def counted(run: Run) -> tuple[int, int]:
    """How many clients were told that they succeeded, and how many cannot know."""
    done = sum(outcome.returned for outcome in run.outcomes.values())
    unknown = sum(isinstance(each.error, OutcomeUnknown) or each.crashed for each in run.outcomes.values())
    return done, unknown


def deposits(recipe: ModuleType, stage: Stage) -> StagedBench:
    """O2, O5: what was acknowledged is there once; O1: each change raises the version by one."""
    bench = stage.bench(table(recipe), fault_rate=0.2)

    @bench.setup
    def open_account(store: Store[Sync]) -> None:
        store.of(recipe.Account).put(recipe.Account("a")).send()

    @bench.client(count=3)
    async def deposit(store: Store[Async]) -> None:
        await recipe.change(store.of(recipe.Account), "a", lambda each: evolve(each, balance=each.balance + 1))

    seen: list[Any] = []

    @bench.invariant
    def versions_rise_by_one(items: Items) -> None:
        (account,) = items.of(recipe.Account)
        if account.balance == 0:
            seen.clear()
        if seen and seen[-1] != account:
            assert account.revision == seen[-1].revision + 1, f"from {seen[-1].revision} to {account.revision}"
            assert account.balance == seen[-1].balance + 1, "two changes in one"
        seen.append(account)

    @bench.afterwards
    def every_deposit_is_there_once(run: Run) -> None:
        (account,) = run.items.of(recipe.Account)
        done, unknown = counted(run)
        assert done <= account.balance <= done + unknown
        conflicts = [each.error for each in run.outcomes.values() if isinstance(each.error, ConditionFailed)]
        assert not conflicts, f"three writers lost more than two runs: {conflicts}"

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
            assert reopened.result == 0, "money was in the account that was closed"
            assert accounts, "the new account is gone"
            # the account was empty when it was closed, so every deposit went into the new one
            assert 100 + (done - 1) <= accounts[0].balance <= 100 + (done - 1) + unknown

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
        assert not versions or account.revision >= versions[-1], f"from {versions[-1]} to {account.revision}"
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
                assert account == copy, "the object that was read was changed"

    return bench


def transfers(recipe: ModuleType, stage: Stage) -> StagedBench:
    """The sum never changes, and no account is overdrawn."""
    bench = stage.bench(table(recipe), fault_rate=0.15)

    @bench.setup
    def open_accounts(store: Store[Sync]) -> None:
        for each in ("a", "b"):
            store.of(recipe.Account).put(recipe.Account(each, Decimal(10))).send()

    async def move(store: Store[Async], source: str, target: str) -> bool:
        try:
            await recipe.transfer(store, Decimal(6), source=source, target=target)
        except recipe.Insufficient:
            return False
        return True

    for source, target in ("ab", "ab", "ba"):
        bench.client(move, source, target)

    @bench.invariant
    def the_sum_stays(items: Items) -> None:
        accounts = items.of(recipe.Account)
        assert len(accounts) < 2 or sum(each.balance for each in accounts) == 20
        assert all(each.balance >= 0 for each in accounts), "overdrawn"

    return bench


SCENARIOS: Sequence[Scenario] = (deposits, incarnations, without_versions, failures, transfers)

_WRITE = "return await accounts.update(account).to(decide(account)).send()"
MUTANTS: Sequence[Mutant] = (
    Mutant(
        "O2, O3: a write without its guard",
        _WRITE,
        "return await accounts.put(decide(account)).ignore_version().send()",
    ),
    Mutant("O1: one write is two changes", "to(decide(account))", "to(decide(decide(account)))"),
    Mutant(
        "O3: a delete without its guard",
        "await accounts.delete(account).send()",
        "await accounts.delete(id=id).ignore_version().send()",
    ),
    Mutant(
        "O4: the object is changed in place",
        _WRITE,
        "account.balance = decide(account).balance; return await accounts.put(account).send()",
    ),
    Mutant(
        "O5: its own repetition is a conflict",
        _WRITE,
        "from dynamap import F; unchanged = F(Account.revision).eq(account.revision); return await accounts"
        ".put(decide(account)).ignore_version().if_(unchanged).at_least_once().send()",
    ),
    Mutant(
        "sum: one side without its guard",
        "accounts.update(paid).to(evolve(paid, balance=paid.balance + amount)),",
        "accounts.put(evolve(paid, balance=paid.balance + amount)).ignore_version(),",
    ),
    Mutant("no overdraft", "if paying.balance < amount:", "if paying.balance < 0:"),
)
