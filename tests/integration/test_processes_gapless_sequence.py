"""A gapless sequence of real processes, two of which always ask for the same orders."""

from __future__ import annotations

import pytest

from recipes.gapless_sequence import NumberClaim, Numbered
from tests.backends import RunningBackends
from tests.depth import how_many
from tests.recipe_processes import Invoice, books, issue_numbers, running, store_at

PROCESSES = how_many(quick=4, deep=8)


@pytest.mark.slow
@pytest.mark.deep
@pytest.mark.parametrize("name", ["ministack", "roto"])
def test_numbers_of_processes_have_no_gap(name: str, running_backends: RunningBackends, table_name: str) -> None:
    url = running_backends.get(name).url
    store = store_at(url, books(table_name))
    store.create_table()
    count = how_many(quick=20, deep=300)
    orders = [f"order-{number}" for number in range(count)]
    # each order is asked for twice, by processes that come to it at about the same time
    shares = [orders[position // 2 :: PROCESSES // 2] for position in range(PROCESSES)]
    with running(issue_numbers, [(url, table_name, share) for share in shares]) as processes:
        for process in processes:
            process.join()
            assert process.exitcode == 0
    invoices = sorted(store.of(Invoice, consistent=True).scan().send(), key=lambda invoice: invoice.number)
    assert [invoice.number for invoice in invoices] == list(range(1, count + 1))
    assert sorted(invoice.order for invoice in invoices) == sorted(orders)
    claims = {claim.business_key: claim.number for claim in store.of(NumberClaim, consistent=True).scan().send()}
    assert claims == {invoice.order: invoice.number for invoice in invoices}
    counter = store.of(Numbered).get(sequence="invoice").required().strongly_consistent().send()
    assert counter.last == count
    store.delete_table()
    store.close()
