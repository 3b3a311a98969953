"""Proof of the gapless sequence."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

from dynamap import Async, OutcomeUnknown, Store, Sync, Table, entity
from dynamap.testing import Items, Run
from tests.proofs.framework import Mutant, Scenario, Stage, StagedBench


@entity("INVOICE", pk="INVOICE#{number}", sk="INVOICE")
class Invoice:
    number: int
    order: str = ""


def invoices(recipe: ModuleType, stage: Stage, orders: Sequence[str]) -> StagedBench:  # noqa: C901 - one story
    bench = stage.bench(Table("books", [Invoice, recipe.Numbered, recipe.NumberClaim]), fault_rate=0.15)

    async def issue(store: Store[Async], order: str) -> int | None:
        try:
            issued = await recipe.issue(store, "invoice", order, lambda number: Invoice(number, order))
        except recipe.Contended:
            return None
        except recipe.DocumentExists:
            return 0
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
            assert outcome.result != 0, f"G3: {order} met a document under its own number"
            if outcome.result:
                number = stored.get(order)
                assert outcome.result == number, f"G2: {order} was given {outcome.result}, and has {number}"
            assert outcome.error is None or isinstance(outcome.error, OutcomeUnknown), f"G3: {outcome.error!r}"
        if not any(step.fault for step in run.record.steps):
            numbers = {outcome.result for outcome in run.outcomes.values()}
            assert numbers == set(range(1, len(set(orders)) + 1)), f"G3: {numbers} without a fault"

    return bench


def different_orders(recipe: ModuleType, stage: Stage) -> StagedBench:
    """G1, G3: concurrent writers get consecutive numbers."""
    return invoices(recipe, stage, ("a", "b", "c"))


def one_order(recipe: ModuleType, stage: Stage) -> StagedBench:
    """G2: one document for one order, whoever asks and however often."""
    return invoices(recipe, stage, ("a", "a", "b"))


def a_number_that_is_in_use(recipe: ModuleType, stage: Stage) -> StagedBench:
    """G1: a document that stands where the next one would is neither replaced nor counted."""
    bench = stage.bench(Table("books", [Invoice, recipe.Numbered, recipe.NumberClaim]), fault_rate=0.25)
    by_hand = Invoice(2, "by hand")

    @bench.setup
    def begin(store: Store[Sync]) -> None:
        store.of(Invoice).put(by_hand).send()

    async def issue(store: Store[Async], order: str) -> int | None:
        try:
            issued = await recipe.issue(store, "invoice", order, lambda number: Invoice(number, order))
        except (recipe.Contended, recipe.DocumentExists):
            return None
        return int(issued.number)

    for order in ("a", "b"):
        bench.client(issue, order, restarts=1)

    @bench.invariant
    def it_stays(items: Items) -> None:
        documents = [invoice.number for invoice in items.of(Invoice)]
        assert by_hand in items.of(Invoice), "G1: replaced"
        assert documents in ([2], [1, 2]), f"G1: {documents}"
        assert [claim.number for claim in items.of(recipe.NumberClaim)] == documents[:-1], "G2: a claim of nothing"
        assert [each.last for each in items.of(recipe.Numbered)] == documents[:-1], "G1: the counter"

    @bench.afterwards
    def nobody_has_its_number(run: Run) -> None:
        assert all(outcome.result in {None, 1} for outcome in run.outcomes.values()), "G3: a number in use"

    return bench


SCENARIOS: Sequence[Scenario] = (different_orders, one_order, a_number_that_is_in_use)

MUTANTS: Sequence[Mutant] = (
    Mutant("G3", "the counter moves without a condition", ".if_(last.eq(counter.last))", ""),
    Mutant("G1", "a number is left out", "else counter.last + 1", "else counter.last + 2"),
    Mutant(
        "G2",
        "the claim is taken over",
        "claims.put(NumberClaim(sequence, business_key, number)).if_not_exists()",
        "claims.put(NumberClaim(sequence, business_key, number))",
    ),
    Mutant(
        "G2",
        "the claim is not looked up",
        "if issued is not None:\n        return Issued(issued.number, None)",
        "if issued is not None:\n        return Issued(issued.number + 1, None)",
    ),
    Mutant("G1", "a document is replaced", "put(document).if_not_exists()", "put(document)"),
    Mutant("G3", "a conflict ends it", "on=TRANSACTION | CONDITION", "on=TRANSACTION"),
)
