"""From queries of several types to the dicts that boto3 would take, or to a refusal; nothing is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dynamap import DynamapError, F, KeyValueError, RequestError
from tests.fakes import NOW, async_store_of, store_of
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

Build = Callable[[Any], Any]

C = {"customer": "c"}
IN_PARTITION = "CUSTOMER#c"
DAY1 = "2024-01-02T00:00:00.000000Z"
DAY2 = "2024-01-03T00:00:00.000000Z"
STRONG = {"ConsistentRead": True}


def request(
    condition: str, names: list[str], values: list[Any], *, filtering: str | None = None, **more: Any
) -> dict[str, Any]:
    """The dict of a query: names and values in their order."""
    made: dict[str, Any] = {"TableName": "partitions", "KeyConditionExpression": condition}
    if filtering is not None:
        made["FilterExpression"] = filtering
    made["ExpressionAttributeNames"] = {f"#{number}": name for number, name in enumerate(names)}
    made["ExpressionAttributeValues"] = {
        f":{number}": {"N": str(value)} if isinstance(value, int) else {"S": value}
        for number, value in enumerate(values)
    }
    return {**made, **more}


ALL = "#0 = :0"
BEGINNING = "#0 = :0 AND begins_with(#1, :1)"
BETWEEN = "#0 = :0 AND #1 BETWEEN :1 AND :2"
KEYS = ["pk", "sk", "_type"]

CASES: dict[str, tuple[Build, dict[str, Any]]] = {
    # ---- keys
    "of one type": (
        lambda s: s.query(Order, **C),
        request(BEGINNING, KEYS, [IN_PARTITION, "ORDER#", "ORDER"], filtering="#2 = :2"),
    ),
    "of one type with one key": (
        lambda s: s.query(Customer, id="c"),
        request("#0 = :0 AND #1 = :1", KEYS, [IN_PARTITION, "CUSTOMER", "CUSTOMER"], filtering="#2 = :2", **STRONG),
    ),
    "of types whose keys begin in the same way": (
        lambda s: s.query(Line, Order, **C),
        request(BEGINNING, KEYS, [IN_PARTITION, "ORDER#", "LINE", "ORDER"], filtering="#2 IN (:2, :3)"),
    ),
    "of types that have nothing in common but the partition, one of them versioned": (
        lambda s: s.query(Customer, Order, id="c", **C),
        request(ALL, ["pk", "_type"], [IN_PARTITION, "CUSTOMER", "ORDER"], filtering="#1 IN (:1, :2)", **STRONG),
    ),
    "eventually": (
        lambda s: s.query(Customer, Order, id="c", **C).eventually_consistent(),
        request(ALL, ["pk", "_type"], [IN_PARTITION, "CUSTOMER", "ORDER"], filtering="#1 IN (:1, :2)"),
    ),
    "backwards": (
        lambda s: s.query(Order, Payment, **C).reverse(),
        request(
            ALL,
            ["pk", "_type"],
            [IN_PARTITION, "ORDER", "PAYMENT"],
            filtering="#1 IN (:1, :2)",
            ScanIndexForward=False,
        ),
    ),
    # ---- ranges
    "in a range, the keys of one type being behind those of another": (
        lambda s: s.query(Order, Line, **C).range(F(Order.order).between("a", "b")),
        request(
            BETWEEN,
            KEYS,
            [IN_PARTITION, "ORDER#a", "ORDER#b#LINE$", "ORDER", "LINE"],
            filtering="#2 IN (:3, :4)",
        ),
    ),
    "in a range, by the other's field": (
        lambda s: s.query(Order, Line, **C).range(F(Line.number).between("a", "b")),
        request(
            BETWEEN,
            KEYS,
            [IN_PARTITION, "ORDER#a", "ORDER#b#LINE$", "ORDER", "LINE"],
            filtering="#2 IN (:3, :4)",
        ),
    ),
    "equal in a range": (
        lambda s: s.query(Order, Line, **C).range(F(Order.order).eq("a")),
        request(
            BETWEEN,
            KEYS,
            [IN_PARTITION, "ORDER#a", "ORDER#a#LINE$", "ORDER", "LINE"],
            filtering="#2 IN (:3, :4)",
        ),
    ),
    "a beginning, which is the same for both": (
        lambda s: s.query(Order, Line, **C).range(F(Order.order).begins_with("a")),
        request(BEGINNING, KEYS, [IN_PARTITION, "ORDER#a", "ORDER", "LINE"], filtering="#2 IN (:2, :3)"),
    ),
    "from a time on": (
        lambda s: s.query(Payment, Visit, **C).range(F(Visit.at).ge(day(1))).include_expired(),
        request(
            "#0 = :0 AND #1 >= :1",
            KEYS,
            [IN_PARTITION, f"{DAY1}#PAYMENT#", "PAYMENT", "VISIT"],
            filtering="#2 IN (:2, :3)",
        ),
    ),
    "up to a time": (
        lambda s: s.query(Payment, Visit, **C).range(F(Payment.at).le(day(1))).include_expired(),
        request(
            "#0 = :0 AND #1 <= :1",
            KEYS,
            [IN_PARTITION, f"{DAY1}#VISIT", "PAYMENT", "VISIT"],
            filtering="#2 IN (:2, :3)",
        ),
    ),
    "a range of numbers": (
        lambda s: s.query(Deposit, account="c").range(F(Deposit.number).lt(3)),
        request(
            "#0 = :0 AND #1 < :1",
            ["account", "number", "_type"],
            ["c", 3, "DEPOSIT"],
            filtering="#2 = :2",
            TableName="bookings",
        ),
    ),
    "a range of numbers of which one type makes others": (
        lambda s: s.query(Deposit, Withdrawal, account="c").range(F(Deposit.number).between(3, 7)),
        request(
            BETWEEN,
            ["account", "number", "_type"],
            ["c", 3, 1007, "DEPOSIT", "WITHDRAWAL"],
            filtering="#2 IN (:3, :4)",
            TableName="bookings",
        ),
    ),
    # ---- what is left out
    "where all expire": (
        lambda s: s.query(Session, Visit, **C),
        request(
            ALL,
            ["pk", "_type", "ttl"],
            [IN_PARTITION, "SESSION", "LOGIN", "VISIT", int(NOW)],
            filtering="#1 IN (:1, :2, :3) AND NOT #2 <= :4",
        ),
    ),
    "where one type expires": (
        lambda s: s.query(Session, Order, **C),
        request(
            ALL,
            ["pk", "_type", "ttl"],
            [IN_PARTITION, "SESSION", "LOGIN", "ORDER", int(NOW)],
            filtering="#1 IN (:1, :2, :3) AND NOT (#1 IN (:1, :2) AND #2 <= :4)",
        ),
    ),
    "expired or not": (
        lambda s: s.query(Session, Visit, **C).include_expired(),
        request(ALL, ["pk", "_type"], [IN_PARTITION, "SESSION", "LOGIN", "VISIT"], filtering="#1 IN (:1, :2, :3)"),
    ),
    "with the class of items without a type": (
        lambda s: s.query(Note, Order, **C),
        request(
            ALL,
            ["pk", "_type"],
            [IN_PARTITION, "NOTE", "ORDER"],
            filtering="(#1 IN (:1, :2) OR attribute_not_exists(#1))",
        ),
    ),
    "with a filter of one type": (
        lambda s: s.query(Order, Line, **C).filter(F(Line.count).gt(1) | F(Line.remark).exists()),
        request(
            BEGINNING,
            [*KEYS, "amount", "remark"],
            [IN_PARTITION, "ORDER#", "ORDER", "LINE", 1],
            filtering="#2 IN (:2, :3) AND (NOT #2 = :3 OR #3 > :4 OR attribute_exists(#4))",
        ),
    ),
    "with a filter of each": (
        lambda s: s.query(Order, Line, **C).filter(F(Line.count).gt(1)).filter(F(Order.count).gt(2)),
        request(
            BEGINNING,
            [*KEYS, "amount", "count"],
            [IN_PARTITION, "ORDER#", "ORDER", "LINE", 1, 2],
            filtering="#2 IN (:2, :3) AND (NOT #2 = :3 OR #3 > :4) AND (NOT #2 = :2 OR #4 > :5)",
        ),
    ),
    "with a filter of what all inherit": (
        lambda s: s.query(Order, Line, **C).filter(F(Remarked.remark).eq("x")),
        request(
            BEGINNING,
            [*KEYS, "remark"],
            [IN_PARTITION, "ORDER#", "ORDER", "LINE", "x"],
            filtering="#2 IN (:2, :3) AND #3 = :4",
        ),
    ),
    "with a filter of what some inherit": (
        lambda s: s.query(Note, Order, Payment, **C).filter(F(Remarked.remark).eq("x")),
        request(
            ALL,
            ["pk", "_type", "remark"],
            [IN_PARTITION, "NOTE", "ORDER", "PAYMENT", "x"],
            filtering=("(#1 IN (:1, :2, :3) OR attribute_not_exists(#1)) AND (NOT #1 IN (:2, :3) OR #2 = :4)"),
        ),
    ),
    "with a filter of the class of items without a type": (
        lambda s: s.query(Note, Order, **C).filter(F(Note.text).eq("x")),
        request(
            ALL,
            ["pk", "_type", "text"],
            [IN_PARTITION, "NOTE", "ORDER", "x"],
            filtering=(
                "(#1 IN (:1, :2) OR attribute_not_exists(#1)) AND "
                "(NOT (#1 = :1 OR attribute_not_exists(#1)) OR #2 = :3)"
            ),
        ),
    ),
    "where others are unknown": (
        lambda s: s.query(Session, Order, **C).raise_unknown().filter(F(Order.count).ge(1)),
        request(
            ALL,
            ["pk", "_type", "ttl", "count"],
            [
                IN_PARTITION,
                *("CUSTOMER", "LINE", "NOTE", "VISIT", "PAYMENT"),
                int(NOW),
                *("SESSION", "LOGIN"),
                1,
                "ORDER",
            ],
            filtering=(
                "NOT (#1 IN (:1, :2, :3, :4, :5) OR attribute_not_exists(#1)) AND "
                "NOT (#1 IN (:7, :8) AND #2 <= :6) AND (NOT #1 = :10 OR #3 >= :9)"
            ),
        ),
    ),
    "where all of the table's are asked for, and others are unknown": (
        lambda s: s.query(Deposit, Withdrawal, account="c").raise_unknown().filter(F(Deposit.amount).eq(1)),
        request(
            ALL,
            ["account", "amount", "_type"],
            ["c", 1, "DEPOSIT"],
            filtering="(NOT #2 = :2 OR #1 = :1)",
            TableName="bookings",
        ),
    ),
    # ---- other ends
    "the first": (
        lambda s: s.query(Order, Line, **C).first(),
        request(BEGINNING, KEYS, [IN_PARTITION, "ORDER#", "ORDER", "LINE"], filtering="#2 IN (:2, :3)", Limit=1),
    ),
    "their number": (
        lambda s: s.query(Order, Line, **C).count(),
        request(BEGINNING, KEYS, [IN_PARTITION, "ORDER#", "ORDER", "LINE"], filtering="#2 IN (:2, :3)", Select="COUNT"),
    ),
    "their number in a range that is not the same for both": (
        lambda s: s.query(Order, Line, **C).range(F(Order.order).eq("a")).count(),
        request(
            BETWEEN,
            KEYS,
            [IN_PARTITION, "ORDER#a", "ORDER#a#LINE$", "ORDER", "LINE"],
            filtering="#2 IN (:3, :4)",
        ),
    ),
    "by type": (
        lambda s: s.query(Order, Line, **C).page_size(7).grouped(),
        request(BEGINNING, KEYS, [IN_PARTITION, "ORDER#", "ORDER", "LINE"], filtering="#2 IN (:2, :3)", Limit=7),
    ),
}


@pytest.mark.parametrize(("build", "expected"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("make", [store_of, async_store_of])
def test_params(make: Callable[..., Any], build: Build, expected: dict[str, Any]) -> None:
    table = Bookings if expected["TableName"] == "bookings" else Partitions
    assert build(make(table)).params() == expected


MISTAKES: dict[str, tuple[Build, type[DynamapError], str]] = {
    "a class of another table": (
        lambda s: s.query(Order, Deposit, **C),
        RequestError,
        "Deposit is not in Table 'partitions': add it to the table's entities",
    ),
    "a class twice": (
        lambda s: s.query(Order, Line, Order, **C),
        RequestError,
        "query of Order, Line, Order customer='c': Order is asked for twice: name each class once",
    ),
    "no field": (
        lambda s: s.query(Order, Line),
        KeyValueError,
        "query of Order, Line: customer is missing, of which Order makes its partition key 'CUSTOMER#{customer}'",
    ),
    "one field of two": (
        lambda s: s.query(Order, Customer, **C),
        KeyValueError,
        "query of Order, Customer customer='c': id is missing, of which Customer makes its partition key "
        "'CUSTOMER#{id}'",
    ),
    "None": (
        lambda s: s.query(Order, Line, customer=None),
        KeyValueError,
        "Order.customer is None: give a value",
    ),
    "a value of another type": (
        lambda s: s.query(Order, Line, customer=7),
        KeyValueError,
        "Order.customer must be a str, not int (in the pk template 'CUSTOMER#{customer}')",
    ),
    "a field of a sort key": (
        lambda s: s.query(Order, Line, **C, order="x"),
        KeyValueError,
        "query of Order, Line customer='c', order='x': 'order' is no field of a partition key, which takes customer: "
        "ask for sort keys with range()",
    ),
    "two partitions": (
        lambda s: s.query(Order, Customer, Line, **C, id="d"),
        RequestError,
        "query of Order, Customer, Line customer='c', id='d': a query reads one partition, but Order has its items in "
        "'CUSTOMER#c' ('CUSTOMER#{customer}') and Customer has its items in 'CUSTOMER#d' ('CUSTOMER#{id}'): query "
        "them apart",
    ),
    "a range of what is no condition": (
        lambda s: s.query(Order, Line, **C).range(F(Order.order)),
        RequestError,
        "Order: range() takes one comparison of a sort key field, as F(Order.field).between(low, high); got Field: "
        "use filter() for other conditions",
    ),
    "a range of a class that is not asked for": (
        lambda s: s.query(Order, Line, **C).range(F(Visit.at).ge(day(1))),
        RequestError,
        "query of Order, Line customer='c': range() got F(Visit: at), but Visit is not asked for",
    ),
    "a range of no sort key field": (
        lambda s: s.query(Order, Line, **C).range(F(Order.count).ge(1)),
        RequestError,
        "Order.count is no field of the sort key of the table (those are order), so it takes no range: use filter()",
    ),
    "a range where a type has one key": (
        lambda s: s.query(Customer, Order, **C, id="c").range(F(Order.order).ge("a")),
        RequestError,
        "query of Customer, Order customer='c', id='c': Customer takes no range, for its sort key 'CUSTOMER' is always "
        "the same: query it apart, or use filter()",
    ),
    "a range of another place": (
        lambda s: s.query(Order, Visit, **C).range(F(Visit.at).ge(day(1))),
        RequestError,
        "query of Order, Visit customer='c': a range is of one place in the sort keys, but Visit.at stands first and "
        "Order.order stands after 'ORDER#': query them apart, or use filter()",
    ),
    "a range of a value of another type": (
        lambda s: s.query(Payment, Visit, **C).range(F(Visit.at).ge("x")),  # type: ignore[arg-type]
        KeyValueError,
        "Payment.at must be an aware datetime, not str (in the sk template '{at}#PAYMENT#{number:03}')",
    ),
    "a second range": (
        lambda s: s.query(Payment, Visit, **C).range(F(Visit.at).ge(day(1))).range(F(Visit.at).le(day(2))),
        RequestError,
        "query of Payment, Visit customer='c': a query takes one range, and has one: use between() for two ends, or "
        "filter()",
    ),
    "a filter of a class that is not asked for": (
        lambda s: s.query(Order, Line, **C).filter(F(Order.count).eq(1) | F(Visit.until).exists()),
        RequestError,
        "query of Order, Line customer='c': filter() got F(Visit: until), but Visit is not asked for",
    ),
    "a filter of two classes": (
        lambda s: s.query(Order, Line, **C).filter(F(Order.count).eq(1) | F(Line.count).eq(1)),
        RequestError,
        "query of Order, Line customer='c': filter() takes a condition on one class, and this is on Order and Line: "
        "write a filter() for each",
    ),
    "a filter of a key attribute": (
        lambda s: s.query(Deposit, Withdrawal, account="c").filter(F(Deposit, lambda d: d.number).eq(1)),
        RequestError,
        "query of Deposit, Withdrawal account='c': Deposit.number is stored as 'number', a key attribute of the table, "
        "which no filter may name: give it to query() or range()",
    ),
    "a filter that is no condition": (
        lambda s: s.query(Order, Line, **C).filter("count > 1"),
        RequestError,
        "query of Order, Line customer='c': filter() takes a Condition, such as F(X.count).ge(1); got str",
    ),
    "a limit of nothing": (
        lambda s: s.query(Order, Line, **C).limit(0),
        RequestError,
        "query of Order, Line customer='c': limit() takes an int from 1 on; got 0",
    ),
    "a page without a secret": (
        lambda s: s.query(Order, Line, **C).page(),
        RequestError,
        "query of Order, Line customer='c': page() gives and takes cursors, which need a secret: write "
        "connect(..., cursor_key=...), or iterate, which needs none",
    ),
}


@pytest.mark.parametrize(("build", "kind", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes(build: Build, kind: type[DynamapError], message: str) -> None:
    table = Bookings if "Deposit, W" in message else Partitions
    with pytest.raises(DynamapError) as caught:
        build(store_of(table))
    assert str(caught.value) == message
    assert type(caught.value) is kind


def test_it_is_explained() -> None:
    text = store_of(Partitions).query(Order, Line, **C).explain()
    assert 'filter     _type IN ("ORDER", "LINE")' in text
