"""A gapless sequence on every backend that has transactions, in both modes."""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import Any

import pytest

from dynamap import Store, Table
from recipes import gapless_sequence
from recipes.aio import gapless_sequence as gapless_sequence_async
from tests.backends import Backend
from tests.modes import Mode, RawTable
from tests.recipe_processes import Invoice

pytestmark = pytest.mark.not_on("dynalite", reason="it has no transactions")


@pytest.fixture
def recipe(mode: Mode) -> ModuleType:
    return gapless_sequence_async if mode.is_async else gapless_sequence


@pytest.fixture
def store(mode: Mode, backend: Backend, raw: RawTable, recipe: ModuleType) -> Store[Any]:
    return mode.connect(Table(raw.name, [Invoice, recipe.Numbered, recipe.NumberClaim]), backend)


def test_one_number_for_each_order(store: Store[Any], mode: Mode, recipe: ModuleType) -> None:
    def issue(order: str) -> Any:
        return mode.call(recipe.issue, store, "invoice", order, partial(Invoice, order=order))

    assert [issue(order).number for order in ("a", "b", "a", "c", "b")] == [1, 2, 1, 3, 2]
    assert issue("a").document is None
    invoices = mode.wait(store.of(Invoice, consistent=True).scan().send())
    assert sorted((invoice.number, invoice.order) for invoice in invoices) == [(1, "a"), (2, "b"), (3, "c")]


def test_a_document_in_the_way_is_named_and_nothing_is_stored(
    store: Store[Any], mode: Mode, recipe: ModuleType, raw: RawTable
) -> None:
    mode.wait(store.of(Invoice).put(Invoice(1, "by hand")).send())
    with pytest.raises(recipe.DocumentExists, match="number 1 of invoice"):
        mode.call(recipe.issue, store, "invoice", "a", partial(Invoice, order="a"))
    assert raw.get("NUMBERED#invoice", "LAST") is None
    assert raw.get("NUMBERED#invoice#FOR#a", "CLAIM") is None


def test_a_document_that_was_deleted_leaves_a_hole(store: Store[Any], mode: Mode, recipe: ModuleType) -> None:
    for order in ("a", "b"):
        mode.call(recipe.issue, store, "invoice", order, partial(Invoice, order=order))
    mode.wait(store.of(Invoice).delete(number=1).send())
    # its number is not given again: void a document, never delete it
    assert mode.call(recipe.issue, store, "invoice", "c", partial(Invoice, order="c")).number == 3
    assert mode.call(recipe.issue, store, "invoice", "a", partial(Invoice, order="a")).number == 1
    assert mode.wait(store.of(Invoice).get(number=1).strongly_consistent().send()) is None
