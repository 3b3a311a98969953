"""Proof of the gapless sequence."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

from dynamap import Async, OutcomeUnknown, Store, Table, entity
from dynamap.testing import Items, Run
from tests.proofs.framework import Mutant, Scenario, Stage, StagedBench


@entity("INVOICE", pk="INVOICE#{number}", sk="INVOICE")
class Invoice:
    number: int
    order: str = ""


def invoices(recipe: ModuleType, stage: Stage, orders: Sequence[str]) -> StagedBench:
    bench = stage.bench(Table("books", [Invoice, recipe.Numbered, recipe.NumberClaim]), fault_rate=0.15)

    async def issue(store: Store[Async], order: str) -> int | None:
        try:
            issued = await recipe.issue(store, "invoice", order, lambda number: Invoice(number, order))
        except recipe.Contended:
            return None
        return int(issued.number)

    for order in orders:
        bench.client(issue, order, restarts=1)

    @bench.invariant
    def numbers_are_one_to_n(items: Items) -> None:
        numbers = sorted(invoice.number for invoice in items.of(Invoice))
        counters = items.of(recipe.Numbered)
        assert numbers == list(range(1, len(numbers) + 1)), f"G1: {numbers}"
        assert [each.last for each in counters] == ([len(numbers)] if numbers else []), "G1: the counter"

    @bench.invariant
    def one_document_for_each_order(items: Items) -> None:
        documents = sorted((invoice.order, invoice.number) for invoice in items.of(Invoice))
        claims = sorted((claim.business_key, claim.number) for claim in items.of(recipe.NumberClaim))
        assert len({order for order, _ in documents}) == len(documents), f"G2: {documents}"
        assert claims == documents, f"G2: {claims} for {documents}"

    @bench.afterwards
    def everyone_has_the_number_of_their_order(run: Run) -> None:
        stored = {invoice.order: invoice.number for invoice in run.items.of(Invoice)}
        for order, outcome in zip(orders, run.outcomes.values(), strict=True):
            if outcome.returned and outcome.result is not None:
                assert outcome.result == stored[order], f"G3: {outcome.result} for {order}"
            assert outcome.error is None or isinstance(outcome.error, OutcomeUnknown), f"{outcome.error!r}"
            if not any(step.fault for step in run.record.steps):
                assert outcome.result is not None, "G3: gave up without a fault"

    return bench


def different_orders(recipe: ModuleType, stage: Stage) -> StagedBench:
    """G1, G3: concurrent writers get consecutive numbers."""
    return invoices(recipe, stage, ("a", "b", "c"))


def one_order(recipe: ModuleType, stage: Stage) -> StagedBench:
    """G2: one document for one order, whoever asks and however often."""
    return invoices(recipe, stage, ("a", "a", "b"))


SCENARIOS: Sequence[Scenario] = (different_orders, one_order)

MUTANTS: Sequence[Mutant] = (
    Mutant("G1: the counter moves without a condition", ".if_(last.eq(counter.last))", ""),
    Mutant("G1: a number is left out", "else counter.last + 1", "else counter.last + 2"),
    Mutant(
        "G2: the claim is taken over",
        "claims.put(NumberClaim(sequence, business_key, number)).if_not_exists()",
        "claims.put(NumberClaim(sequence, business_key, number))",
    ),
    Mutant(
        "G2: the claim is not looked up",
        "if issued is not None:\n        return Issued(issued.number, None)",
        "if issued is not None:\n        return Issued(issued.number + 1, None)",
    ),
    Mutant("G3: a conflict ends it", "on=TRANSACTION | CONDITION", "on=TRANSACTION"),
)
