"""Proof of truncate. Batches are never processed whole, eventual reads lag, and processes end and start again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from types import ModuleType
from typing import Any

from dynamap import Async, Store, Sync, Table, entity
from dynamap.plan import Call, CallFailed, Reply
from dynamap.store import intercepted
from dynamap.testing import Items, Run, Unprocessed
from dynamap.testing.faults import Strike, can_strike
from tests.proofs.framework import Mutant, Scenario, Stage, StagedBench

LONG_AGO = datetime(2020, 1, 1, tzinfo=timezone.utc)


@entity("DRAFT", pk="NOTEBOOK#{book}", sk="DRAFT#{number:04}", version="revision", ttl="expires_at")
class Draft:
    book: str
    number: int
    expires_at: datetime | None = None
    revision: int = 0


@entity("PAGE", pk="NOTEBOOK#{book}", sk="PAGE#{number:04}", aliases=("SHEET",))
class Page:
    book: str
    number: int
    text: str = ""


@dataclass(frozen=True)
class DraftKey:
    book: str
    number: int


class HalfProcessed:
    """Leaves a part of every batch undone that has more than one entry."""

    def __init__(self) -> None:
        self._struck: dict[int, Strike] = {}

    def before(self, call: Call, /) -> Call | None:
        fault = Unprocessed()
        if call.operation != "BatchWriteItem" or not can_strike(fault, call):
            return None
        strike = Strike(fault)
        changed = strike.before(call) or call
        self._struck[id(changed)] = strike
        return changed

    def after(self, call: Call, outcome: Reply | CallFailed, /) -> Reply | None:
        strike = self._struck.pop(id(call), None)
        return None if strike is None else strike.after(call, outcome)


def one_type(recipe: ModuleType, stage: Stage) -> StagedBench:  # noqa: C901 - one story
    """S5: of the type nothing is left, of the other one everything, whoever else truncates at the same time."""
    bench = stage.bench(Table("notes", [Draft, Page], ttl="ttl"), fault_rate=0.2, lag=3, reaper=False)

    @bench.setup
    def write(store: Store[Sync]) -> None:
        for number in range(4):
            store.of(Draft).put(Draft("a", number, LONG_AGO if number == 2 else None)).send()
            store.of(Page).put(Page("a", number)).send()

    @bench.client
    async def add_and_empty(store: Store[Async]) -> None:
        """What was written just before is there for it, whatever a replica says."""
        drafts = intercepted(store, HalfProcessed()).of(Draft)
        await drafts.put(Draft("b", 9)).send()
        await recipe.truncate(drafts, confirm="notes", page_size=3)

    @bench.client
    async def empty(store: Store[Async]) -> None:
        drafts = intercepted(store, HalfProcessed()).of(Draft)
        await recipe.truncate(drafts, confirm="notes", keys=DraftKey, page_size=2)

    @bench.client
    async def misspell(store: Store[Async]) -> Any:
        try:
            await recipe.truncate(store.of(Page), confirm="note")
        except recipe.NotConfirmed:
            return "refused"
        return "done"

    @bench.invariant
    def pages_stay(items: Items) -> None:
        assert [page.number for page in items.of(Page)] == [0, 1, 2, 3], "S5: of another type"

    @bench.afterwards
    def drafts_are_gone(run: Run) -> None:
        left = [(draft.book, draft.number) for draft in run.items.of(Draft)]
        if run.outcomes["add_and_empty"].returned:
            assert not left, f"S5: {left} are left"
        if run.outcomes["empty"].returned:
            assert not [each for each in left if each[0] == "a"], f"S5: {left} are left"
        assert run.outcomes["misspell"].result in {"refused", None}, "S5: confirmed by another name"

    return bench


def everything(recipe: ModuleType, stage: Stage) -> StagedBench:
    """S5: items of every type, though an earlier run ended in the middle."""
    bench = stage.bench(Table("notes", [recipe.Anything], discriminator=None), fault_rate=0.25)

    @bench.setup
    def write(store: Store[Sync]) -> None:
        for number in range(5):
            store.of(recipe.Anything).put(recipe.Anything(f"NOTEBOOK#{number % 2}", f"PAGE#{number}")).send()

    @bench.client(count=2, restarts=1)
    async def empty(store: Store[Async]) -> int:
        things = intercepted(store, HalfProcessed()).of(recipe.Anything)
        return int(await recipe.truncate(things, confirm="notes", keys=recipe.Anything, page_size=2))

    @bench.afterwards
    def nothing_is_left(run: Run) -> None:
        counts = [outcome.result for outcome in run.outcomes.values() if outcome.returned]
        assert not counts or not run.items, f"S5: {run.items} are left"
        assert all(0 <= count <= 5 for count in counts), f"S5: counted {counts}"

    return bench


SCENARIOS: tuple[Scenario, ...] = (one_type, everything)

MUTANTS: tuple[Mutant, ...] = (
    Mutant("S5", "one page only", "in scan.pages():", "in scan.max_pages(1).pages():"),
    Mutant("S5", "what a replica shows", ".consistent()", ".eventually_consistent()"),
    Mutant("S5", "expired items stay", ".include_expired()", ""),
    Mutant("S5", "what was left stays", "left = error.left", "return None"),
    Mutant("S5", "not confirmed", "if confirm != table:", 'if confirm == "":'),
    Mutant("S5", "the first of each page stays", "for item in page.items]", "for item in page.items[1:]]"),
)
