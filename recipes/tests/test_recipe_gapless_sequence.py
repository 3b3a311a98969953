"""How a gapless sequence is used, and what it refuses; copied along with the recipe."""

from __future__ import annotations

from functools import partial

import pytest

from dynamap import Store, Sync, Table, entity
from dynamap.testing import memory_store
from recipes.gapless_sequence import DocumentExists, NumberClaim, Numbered, issue


@entity("INVOICE", pk="INVOICE#{number}", sk="INVOICE")
class Invoice:
    """A document with a number."""

    number: int
    order: str = ""


def books() -> Store[Sync]:
    return memory_store(Table("books", [Invoice, Numbered, NumberClaim]))


def test_numbers_follow_on_one_another() -> None:
    store = books()
    for expected, order in enumerate(("a", "b", "c"), 1):
        issued = issue(store, "invoice", order, partial(Invoice, order=order))
        assert (issued.number, issued.document) == (expected, Invoice(expected, order))


def test_an_order_gets_one_invoice() -> None:
    store = books()
    issue(store, "invoice", "a", partial(Invoice, order="a"))
    again = issue(store, "invoice", "a", partial(Invoice, order="a"))
    assert (again.number, again.document) == (1, None)
    assert store.of(Invoice).get(number=2).send() is None


def test_a_document_under_the_same_key_is_no_gap() -> None:
    store = books()
    store.of(Invoice).put(Invoice(1, "by hand")).send()
    with pytest.raises(DocumentExists):
        issue(store, "invoice", "a", partial(Invoice, order="a"))
    assert store.of(Numbered).get(sequence="invoice").send() is None


def test_a_document_has_a_business_key() -> None:
    store = books()
    with pytest.raises(ValueError, match="business key is empty"):
        issue(store, "invoice", "", Invoice)
    assert store.of(Numbered).get(sequence="invoice").send() is None
