"""Queries of several types on every backend, in both modes."""

from __future__ import annotations

from typing import Any

import pytest

from dynamap import CursorError, F, ItemDecodeError, Store, VersionConflict
from dynamap.schema import create_params
from tests.backends import Backend
from tests.fakes import NOW
from tests.modes import Mode, RawTable
from tests.orders import day
from tests.partitions import (
    Bookings,
    Customer,
    Deposit,
    Line,
    Note,
    Order,
    Partitions,
    Payment,
    Remarked,
    Session,
    Visit,
    Withdrawal,
)

C = {"customer": "c"}
EXPIRED = day(-400)
ORDERS = [Order("c", "x", "1", count=1), Order("c", None, "1#", count=2), Order("c", "x", "10", count=3)]
LINES = [Line("c", "x", "1", 1), Line("c", None, "1", 2, 2), Line("c", None, "10", 1, 3)]
VISITS = [Visit("c", None, day(1)), Visit("c", "x", day(2), until=day(4000))]
PAYMENTS = [Payment("c", "x", day(1), 1), Payment("c", None, day(3), 1)]
NOTES = [Note("c", "typed")]
EXPIRING = [Session("c", "1"), Session("c", "2", EXPIRED), Visit("c", None, day(0), until=EXPIRED)]


@pytest.fixture
def store(mode: Mode, backend: Backend, raw: RawTable) -> Store[Any]:
    made = mode.connect(Partitions, backend, clock=lambda: NOW, cursor_key=bytes(range(32))).with_name(raw.name)
    for item in (*ORDERS, *LINES, *VISITS, *PAYMENTS, *NOTES, *EXPIRING, Order("c#", None, "1"), Customer("c")):
        mode.wait(made.of(type(item)).put(item).send())
    raw.put("CUSTOMER#c", "NOTE#old", customer={"S": "c"}, id={"S": "old"}, text={"S": "x"})
    return made


def listed(mode: Mode, stream: Any) -> list[Any]:
    """What a loop over it brings."""

    async def collected() -> list[Any]:
        return [item async for item in stream]

    return mode.wait(collected()) if mode.is_async else list(stream)


def paged(mode: Mode, query: Any) -> list[Any]:
    """What page after page brings, each in a request of its own."""
    found: list[Any] = []
    cursor: str | None = None
    while True:
        page = mode.wait(query.page(cursor).send())
        found += page.items
        cursor = page.next
        if cursor is None:
            return found


def check(mode: Mode, query: Any, expected: list[Any]) -> None:
    """Every way of asking."""
    assert mode.wait(query.send()) == expected
    assert listed(mode, query.page_size(2)) == expected
    assert mode.wait(query.reverse().page_size(1).send()) == expected[::-1]
    assert mode.wait(query.count().send()) == len(expected)
    assert mode.wait(query.first().send()) == (expected[0] if expected else None)
    assert paged(mode, query.limit(2)) == expected
    assert [item for page in listed(mode, query.page_size(3).pages()) for item in page.items] == expected


def test_every_question(mode: Mode, store: Store[Any]) -> None:
    both = [ORDERS[0], *LINES[:2], ORDERS[1], ORDERS[2], LINES[2]]
    by_time = [PAYMENTS[0], VISITS[0], VISITS[1], PAYMENTS[1]]
    customer = mode.wait(store.of(Customer).get(id="c").send())
    notes = [Note("c", "old", "x"), *NOTES]
    check(mode, store.query(Order, Line, **C), both)
    check(mode, store.query(Customer, Order, id="c", **C), [customer, *ORDERS])
    check(mode, store.query(Visit, Payment, **C), by_time)
    check(mode, store.query(Session, Note, Visit, **C), [*VISITS, *notes, Session("c", "1")])
    check(mode, store.query(Order, Line, customer="nobody"), [])
    # ranges
    orders = store.query(Line, Order, **C)
    check(mode, orders.range(F(Order.order).between("1", "1#")), both[:4])
    check(mode, orders.range(F(Order.order).gt("1")), both[3:])
    check(mode, orders.range(F(Line.number).eq("1")), both[:3])
    check(mode, orders.range(F(Line.number).begins_with("1#")), both[3:4])
    check(mode, store.query(Visit, Payment, **C).range(F(Payment.at).le(day(1))), by_time[:2])
    check(mode, store.query(Visit, Payment, **C).range(F(Visit.at).gt(day(1))), by_time[2:])
    # filters
    check(mode, orders.filter(F(Line.count).ge(2)), [ORDERS[0], LINES[1], ORDERS[1], ORDERS[2], LINES[2]])
    check(mode, orders.filter(F(Line.count).ge(2)).filter(F(Order.count).eq(3)), [LINES[1], ORDERS[2], LINES[2]])
    check(mode, orders.filter(F(Remarked.remark).eq("x")), [ORDERS[0], LINES[0], ORDERS[2]])
    check(mode, store.query(Note, Payment, **C).filter(F(Note.text).ne("x")), [*PAYMENTS, *NOTES])
    check(mode, store.query(Note, Payment, **C).filter(F(Payment.remark).exists()), [PAYMENTS[0], *notes])


def test_by_type(mode: Mode, store: Store[Any]) -> None:
    query = store.query(Line, Visit, Order, Session, **C)
    assert mode.wait(query.grouped().send()) == (LINES, VISITS, ORDERS, [Session("c", "1")])
    expired = mode.wait(query.include_expired().grouped().send())
    assert ([item.until for item in expired[1]], len(expired[3])) == ([EXPIRED, None, day(4000)], 2)
    assert mode.wait(query.limit(3).grouped().send()) == ([], VISITS, ORDERS[:1], [])


def test_unknown_types(mode: Mode, store: Store[Any], raw: RawTable) -> None:
    query = store.query(Order, Line, **C)
    check(mode, query.raise_unknown(), mode.wait(query.send()))
    raw.put("CUSTOMER#c", "ORDER#1#REFUND", _type={"S": "REFUND"})
    page = mode.wait(query.page().send())
    assert (len(page.items), page.skipped) == (6, 1)
    for end in (query.raise_unknown(), query.raise_unknown().count(), query.raise_unknown().grouped()):
        with pytest.raises(ItemDecodeError, match="'REFUND', which is none of the table's"):
            mode.wait(end.send())
    # what is not read is not found
    assert len(mode.wait(query.raise_unknown().range(F(Order.order).ge("10")).send())) == 2


def test_a_cursor_is_of_one_query(mode: Mode, store: Store[Any]) -> None:
    query = store.query(Order, Line, **C).limit(1)
    cursor = mode.wait(query.page().send()).next
    assert mode.wait(query.page(cursor).send()).items == LINES[:1]
    for other in (query.reverse(), query.filter(F(Order.count).eq(1)), store.query(Order, Visit, **C).limit(1)):
        with pytest.raises(CursorError):
            mode.wait(other.page(cursor).send())


def test_what_was_read_can_be_written(mode: Mode, store: Store[Any]) -> None:
    (customer,), _ = mode.wait(store.query(Customer, Order, id="c", **C).grouped().send())
    customers = store.of(Customer)
    mode.wait(customers.update(customer).set(F(Customer.name), "A").send())
    with pytest.raises(VersionConflict):
        mode.wait(customers.update(customer).set(F(Customer.name), "B").send())


def test_numbers_as_keys(mode: Mode, backend: Backend, table_name: str) -> None:
    store = mode.connect(Bookings, backend, cursor_key=bytes(range(32))).with_name(table_name)
    backend.client.create_table(**create_params(Bookings, table_name))
    while backend.client.describe_table(TableName=table_name)["Table"]["TableStatus"] != "ACTIVE":
        pass
    items = [Deposit("c", -5), Deposit("c", 7), Withdrawal("c", 1006), Deposit("c", 1007), Withdrawal("c", 1008)]
    for item in items:
        mode.wait(store.of(type(item)).put(item).send())
    query = store.query(Deposit, Withdrawal, account="c")
    check(mode, query, items)
    check(mode, query.range(F(Deposit.number).le(7)), items[:3])
    check(mode, query.range(F(Deposit.number).between(7, 1007)), [items[1], items[3]])
    mode.wait(store.delete_table())
