"""From queries to the dicts that boto3 would take, in both modes; nothing is sent."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any

import pytest

from dynamap import Attribute, F, GlobalIndex, Index, Key, KeyValueError, Normalize, RequestError, Table, entity
from tests.fakes import NOW, async_store_of, store_of
from tests.orders import Document, Documents, Line, Order, Orders, Reading, Readings, Session, Stock, day

Build = Callable[[Any], Any]

DAY1 = "2024-01-02T00:00:00.000000Z"
DAY2 = "2024-01-03T00:00:00.000000Z"


def request(
    condition: str, names: list[str], values: list[Any], *, filtering: str | None = None, **more: Any
) -> dict[str, Any]:
    """The dict of a query of the orders' table: names and values in their order."""
    made: dict[str, Any] = {"TableName": "orders", "KeyConditionExpression": condition}
    if filtering is not None:
        made["FilterExpression"] = filtering
    made["ExpressionAttributeNames"] = {f"#{number}": name for number, name in enumerate(names)}
    made["ExpressionAttributeValues"] = {
        f":{number}": {"N": str(value)} if isinstance(value, (int, Decimal)) else {"S": value}
        for number, value in enumerate(values)
    }
    return {**made, **more}


STRONG = {"ConsistentRead": True}
IN_ORDERS = "#0 = :0 AND begins_with(#1, :1)"
NAMES = ["pk", "sk", "_type"]
C = "CUSTOMER#c"

CASES: dict[str, tuple[Build, dict[str, Any]]] = {
    # ---- keys
    "of a partition, versioned": (
        lambda s: s.of(Order).query(customer="c"),
        request(IN_ORDERS, NAMES, [C, "ORDER#", "ORDER"], filtering="#2 = :2", **STRONG),
    ),
    "of a partition, unversioned": (
        lambda s: s.of(Line).query(customer="c"),
        request(IN_ORDERS, NAMES, [C, "ORDERLINE#", "LINE"], filtering="#2 = :2"),
    ),
    "of some of the sort key": (
        lambda s: s.of(Order).query(customer="c", at=day(1)),
        request(IN_ORDERS, NAMES, [C, f"ORDER#{DAY1}#", "ORDER"], filtering="#2 = :2", **STRONG),
    ),
    "of the whole key": (
        lambda s: s.of(Order).query(customer="c", at=day(1), number=7),
        request("#0 = :0 AND #1 = :1", NAMES, [C, f"ORDER#{DAY1}#0007", "ORDER"], filtering="#2 = :2", **STRONG),
    ),
    "of a time in another zone": (
        lambda s: s.of(Order).query(customer="c", at=day(1).astimezone(timezone(timedelta(hours=5)))),
        request(IN_ORDERS, NAMES, [C, f"ORDER#{DAY1}#", "ORDER"], filtering="#2 = :2", **STRONG),
    ),
    "of a key without literals": (
        lambda s: s.of(Stock).query(),
        request("#0 = :0", ["pk", "_type"], ["STOCK", "STOCK"], filtering="#1 = :1"),
    ),
    "of a value with a delimiter": (
        lambda s: s.of(Stock).query(shelf="a#b"),
        request(IN_ORDERS, NAMES, ["STOCK", "a$23b#", "STOCK"], filtering="#2 = :2"),
    ),
    # ---- ranges
    "from one time to another": (
        lambda s: s.of(Order).query(customer="c").range(F(Order.at).between(day(1), day(2))),
        request(
            "#0 = :0 AND #1 BETWEEN :1 AND :2",
            NAMES,
            [C, f"ORDER#{DAY1}#", f"ORDER#{DAY2}$", "ORDER"],
            filtering="#2 = :3",
            **STRONG,
        ),
    ),
    "equal in a range": (
        lambda s: s.of(Order).query(customer="c").range(F(Order.at).eq(day(1))),
        request(IN_ORDERS, NAMES, [C, f"ORDER#{DAY1}#", "ORDER"], filtering="#2 = :2", **STRONG),
    ),
    "a range of the last field": (
        lambda s: s.of(Order).query(customer="c", at=day(1)).range(F(Order.number).ge(7)),
        request(
            "#0 = :0 AND #1 BETWEEN :1 AND :2",
            NAMES,
            [C, f"ORDER#{DAY1}#0007", f"ORDER#{DAY1}#:", "ORDER"],
            filtering="#2 = :3",
            **STRONG,
        ),
    ),
    "a beginning": (
        lambda s: s.of(Stock).query(shelf="a").range(F(Stock.name).begins_with("b#")),
        request(IN_ORDERS, NAMES, ["STOCK", "a#b$23", "STOCK"], filtering="#2 = :2"),
    ),
    # ---- what is left out
    "with a filter": (
        lambda s: s.of(Line).query(customer="c").filter(F(Line.count).gt(1) | F(Line.count).eq(0)),
        request(
            IN_ORDERS,
            [*NAMES, "count"],
            [C, "ORDERLINE#", "LINE", 1, 0],
            filtering="#2 = :2 AND (#3 > :3 OR #3 = :4)",
        ),
    ),
    "with two filters": (
        lambda s: s.of(Line).query(customer="c").filter(F(Line.count).gt(1)).filter(~F(Line.count).eq(5)),
        request(
            IN_ORDERS,
            [*NAMES, "count"],
            [C, "ORDERLINE#", "LINE", 1, 5],
            filtering="#2 = :2 AND #3 > :3 AND NOT #3 = :4",
        ),
    ),
    "of what expires, under two names": (
        lambda s: s.of(Session).query(customer="c"),
        request(
            IN_ORDERS,
            [*NAMES, "ttl"],
            [C, "SESSION#", "SESSION", "LOGIN", int(NOW)],
            filtering="#2 IN (:2, :3) AND NOT #3 <= :4",
        ),
    ),
    "of what expires, expired or not": (
        lambda s: s.of(Session).query(customer="c").include_expired(),
        request(IN_ORDERS, NAMES, [C, "SESSION#", "SESSION", "LOGIN"], filtering="#2 IN (:2, :3)"),
    ),
    # ---- indexes
    "of a global index": (
        lambda s: s.of(Order).index("status").query(status="open"),
        request("#0 = :0", ["statuspk", "_type"], ["STATUS#open", "ORDER"], filtering="#1 = :1", IndexName="status"),
    ),
    "of a global index, in a range": (
        lambda s: s.of(Order).index("status").query(status="open").range(F(Order.total).lt(Decimal("1.5"))),
        request(
            "#0 = :0 AND #1 < :1",
            ["statuspk", "statussk", "_type"],
            ["STATUS#open", "000001.50", "ORDER"],
            filtering="#2 = :2",
            IndexName="status",
        ),
    ),
    "of an index by the type": (
        lambda s: s.of(Order).index("kinds").query(),
        request("#0 = :0", ["_type"], ["ORDER"], IndexName="kinds"),
    ),
    "of a local index": (
        lambda s: s.of(Order).index("label").query(customer="c", label="x"),
        request(
            "#0 = :0 AND #1 = :1",
            ["pk", "labelsk", "_type"],
            [C, "x", "ORDER"],
            filtering="#2 = :2",
            **STRONG,
            IndexName="label",
        ),
    ),
    "of a local index, in a range": (
        lambda s: s.of(Order).index("label").query(customer="c").range(F(Order.label).begins_with("x")),
        request(
            IN_ORDERS, ["pk", "labelsk", "_type"], [C, "x", "ORDER"], filtering="#2 = :2", **STRONG, IndexName="label"
        ),
    ),
    "of a part of an index, for whole items": (
        lambda s: s.of(Order).index("brief").query(customer="c", number=1).hydrate(),
        request(
            "#0 = :0 AND #1 = :1",
            ["briefpk", "briefsk", "_type"],
            ["BRIEF#c", "0001", "ORDER"],
            filtering="#2 = :2",
            IndexName="brief",
        ),
    ),
    # ---- how
    "backwards": (
        lambda s: s.of(Line).query(customer="c").reverse(),
        request(IN_ORDERS, NAMES, [C, "ORDERLINE#", "LINE"], filtering="#2 = :2", ScanIndexForward=False),
    ),
    "backwards twice": (
        lambda s: s.of(Line).query(customer="c").reverse().reverse(),
        request(IN_ORDERS, NAMES, [C, "ORDERLINE#", "LINE"], filtering="#2 = :2"),
    ),
    "strongly on request": (
        lambda s: s.of(Line).query(customer="c").strongly_consistent(),
        request(IN_ORDERS, NAMES, [C, "ORDERLINE#", "LINE"], filtering="#2 = :2", **STRONG),
    ),
    "consistently on request": (
        lambda s: s.of(Line).query(customer="c").consistent(),
        request(IN_ORDERS, NAMES, [C, "ORDERLINE#", "LINE"], filtering="#2 = :2", **STRONG),
    ),
    "eventually on request": (
        lambda s: s.of(Order).query(customer="c").eventually_consistent(),
        request(IN_ORDERS, NAMES, [C, "ORDER#", "ORDER"], filtering="#2 = :2"),
    ),
    "strongly by the repository": (
        lambda s: s.of(Line, consistent=True).query(customer="c"),
        request(IN_ORDERS, NAMES, [C, "ORDERLINE#", "LINE"], filtering="#2 = :2", **STRONG),
    ),
    "a global index is read eventually whatever the repository says": (
        lambda s: s.of(Order, consistent=True).index("kinds").query(),
        request("#0 = :0", ["_type"], ["ORDER"], IndexName="kinds"),
    ),
    "a few": (
        lambda s: s.of(Line).query(customer="c").limit(3),
        request(IN_ORDERS, NAMES, [C, "ORDERLINE#", "LINE"], filtering="#2 = :2", Limit=3),
    ),
    "a few in pages": (
        lambda s: s.of(Line).query(customer="c").limit(3).page_size(7),
        request(IN_ORDERS, NAMES, [C, "ORDERLINE#", "LINE"], filtering="#2 = :2", Limit=7),
    ),
    "a few that fit": (
        lambda s: s.of(Line).query(customer="c").limit(3).filter(F(Line.count).eq(1)),
        request(IN_ORDERS, [*NAMES, "count"], [C, "ORDERLINE#", "LINE", 1], filtering="#2 = :2 AND #3 = :3"),
    ),
    # ---- other ends
    "the first": (
        lambda s: s.of(Line).query(customer="c").first(),
        request(IN_ORDERS, NAMES, [C, "ORDERLINE#", "LINE"], filtering="#2 = :2", Limit=1),
    ),
    "the only one": (
        lambda s: s.of(Line).query(customer="c").one(),
        request(IN_ORDERS, NAMES, [C, "ORDERLINE#", "LINE"], filtering="#2 = :2", Limit=2),
    ),
    "their number": (
        lambda s: s.of(Session).query(customer="c").count(),
        request(
            IN_ORDERS,
            [*NAMES, "ttl"],
            [C, "SESSION#", "SESSION", "LOGIN", int(NOW)],
            filtering="#2 IN (:2, :3) AND NOT #3 <= :4",
            Select="COUNT",
        ),
    ),
    "their number, where the type is a key of the index": (
        lambda s: s.of(Order).index("kinds").query().count(),
        request("#0 = :0", ["_type"], ["ORDER"], IndexName="kinds"),
    ),
}


@pytest.mark.parametrize(("build", "expected"), CASES.values(), ids=CASES)
def test_params(build: Build, expected: dict[str, Any]) -> None:
    assert build(store_of(Orders)).params() == expected
    assert build(async_store_of(Orders)).params() == expected


def test_keys_that_are_fields() -> None:
    store = store_of(Documents)
    repo = store.of(Document)
    numbers = repo.query(customer="c").range(F(Document.number).between(-2, 10)).params()
    assert numbers["KeyConditionExpression"] == "#0 = :0 AND #1 BETWEEN :1 AND :2"
    assert numbers["ExpressionAttributeNames"] == {"#0": "customer-id", "#1": "order.no", "#2": "_type"}
    assert list(numbers["ExpressionAttributeValues"].values())[:3] == [{"S": "c"}, {"N": "-2"}, {"N": "10"}]
    place = repo.index("place").query(country="ch", city="bern", street="a").range(F(Document.house).gt(7)).params()
    assert place["KeyConditionExpression"] == "#0 = :0 AND #1 = :1 AND #2 = :2 AND #3 > :3"
    assert place["ExpressionAttributeNames"] == {
        "#0": "country",
        "#1": "city",
        "#2": "street",
        "#3": "house",
        "#4": "_type",
    }
    frames = store_of(Readings).of(Reading).query(sensor="s").range(F(Reading.frame).begins_with(b"\0")).params()
    assert frames["ExpressionAttributeValues"][":1"] == {"B": b"\0"}
    everything = store_of(Readings).of(Reading).query(sensor="s").range(F(Reading.frame).begins_with(b"")).params()
    assert everything["KeyConditionExpression"] == "#0 = :0"


def test_fields_of_both_keys_count_for_both() -> None:
    @entity("ITEM", pk="CART#{cart}", sk="ITEM#{cart}#{number:03}")
    class Item:
        cart: str
        number: int

    @entity("TAIL", pk="TAIL#{cart}", sk="TAIL#{number:03}#{cart}")
    class Tail:
        cart: str
        number: int

    store = store_of(Table("carts", [Item, Tail]))
    values = store.of(Item).query(cart="c").params()["ExpressionAttributeValues"]
    assert values[":1"] == {"S": "ITEM#c#"}
    query = store.of(Tail).query(cart="c")
    assert query.params()["ExpressionAttributeValues"][":1"] == {"S": "TAIL#"}
    assert query.range(F(Tail, lambda t: t.number).le(7)).params()["ExpressionAttributeValues"][":2"] == {
        "S": "TAIL#007$"
    }
    assert store.of(Tail).query(cart="c", number=7).params()["ExpressionAttributeValues"][":1"] == {"S": "TAIL#007#c"}


def test_values_are_normalized_as_they_are_stored() -> None:
    @entity("USER", pk="USER#{mail}", sk="USER#{name:ordered}")
    class User:
        mail: Annotated[str, Normalize(str.lower)]
        name: Annotated[str, Normalize(str.lower)]

    query = (
        store_of(Table("users", [User])).of(User).query(mail="A@B").range(F(User, lambda u: u.name).begins_with("Zo"))
    )
    values = query.params()["ExpressionAttributeValues"]
    assert (values[":0"], values[":1"]) == ({"S": "USER#a@b"}, {"S": "USER#zo"})


def test_what_expires_by_a_key_of_the_index_is_left_out_afterwards() -> None:
    @entity("LEASE", pk="LEASE#{id}", sk="LEASE", ttl="until", indexes=[Index("due", pk="LEASES")])
    class Lease:
        id: str
        until: datetime

    table = Table("leases", [Lease], ttl="ttl", indexes=[GlobalIndex("due", sk=Key("ttl", int))])
    query = store_of(table).of(Lease).index("due").query().range(F(Lease, lambda x: x.until).lt(day(1)))
    assert query.params() == {
        "TableName": "leases",
        "IndexName": "due",
        "KeyConditionExpression": "#0 = :0 AND #1 < :1",
        "FilterExpression": "#2 = :2",
        "ExpressionAttributeNames": {"#0": "duepk", "#1": "ttl", "#2": "_type"},
        "ExpressionAttributeValues": {":0": {"S": "LEASES"}, ":1": {"N": "1704153600"}, ":2": {"S": "LEASE"}},
    }
    assert "Select" not in query.count().params()
    assert query.include_expired().count().params()["Select"] == "COUNT"


def test_tables_without_a_discriminator_and_items_without_one() -> None:
    @entity("PLAIN", pk="P#{id}", sk="S#{n:02}")
    class Plain:
        id: str
        n: int

    @entity("TYPED", pk="T#{id}", sk="T")
    class Typed:
        id: str

    alone = store_of(Table("plain", [Plain], discriminator=None)).of(Plain).query(id="a").params()
    assert "FilterExpression" not in alone
    mixed = store_of(Table("plain", [Plain, Typed], untyped=Plain)).of(Plain).query(id="a").params()
    assert mixed["FilterExpression"] == "(#2 = :2 OR attribute_not_exists(#2))"


# ---- nothing to ask for


def test_a_range_that_no_key_can_be_in_sends_nothing() -> None:
    store = store_of(Orders)
    query = store.of(Stock).query(shelf="a").range(F(Stock.name).lt(""))
    assert query.params() == {}
    assert query.explain() == "nothing is sent: no key can be in this range"
    assert query.count().params() == query.first().params() == {}
    assert query.send() == list(query) == []
    assert list(query.pages()) == []
    assert query.first().send() is None
    assert query.count().send() == 0


# ---- refused


REFUSED: dict[str, tuple[Build, type[Exception], str]] = {
    "a number that is too wide": (
        lambda s: s.of(Order).query(customer="c", at=day(1), number=10_000),
        KeyValueError,
        "Order.number",
    ),
    "the start of a range that is too wide": (
        lambda s: s.of(Order).query(customer="c", at=day(1)).range(F(Order.number).gt(10_000)),
        KeyValueError,
        "Order.number",
    ),
    "a naive time": (
        lambda s: s.of(Order).query(customer="c", at=day(1).replace(tzinfo=None)),
        KeyValueError,
        "Order.at",
    ),
    "a gap inside a template": (
        lambda s: s.of(Order).query(customer="c", number=1),
        KeyValueError,
        "Order.number is given without Order.at, which stands before it",
    ),
    "a range of a text whose keys have another order": (
        lambda s: s.of(Line).query(customer="c").range(F(Line.order).lt("b")),
        RequestError,
        "Line.order takes no range",
    ),
    "bounds that are reversed": (
        lambda s: s.of(Order).query(customer="c").range(F(Order.at).between(day(2), day(1))),
        RequestError,
        "the low end of between() is above its high end",
    ),
    "a field of another class": (
        lambda s: s.of(Order).query(customer="c").range(F(Line.order).lt("b")),
        RequestError,
        "is a field of Line, but the request is about Order",
    ),
    "a filter of another class": (
        lambda s: s.of(Order).query(customer="c").filter(F(Line.count).lt(1)),
        RequestError,
        "is a field of Line, but the request is about Order",
    ),
    "an index of others": (lambda s: s.of(Line).index("status"), RequestError, "does not map onto an index 'status'"),
    "an index that is none": (lambda s: s.of(Order).index("nope"), RequestError, "its indexes are status, kinds"),
}


@pytest.mark.parametrize(("build", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_refused_before_anything_is_sent(build: Build, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        build(store_of(Orders)).params()
    assert type(caught.value) is error
    assert message in str(caught.value)


def test_behind_a_type_with_several_names_nothing_can_be_asked_for() -> None:
    @entity("NEW", pk="N#{id}", sk="N", aliases=("OLD",), indexes=[Index("ranks")])
    class Item:
        __qualname__ = "Item"
        id: str
        group: str
        rank: int

    table = Table("items", [Item], indexes=[GlobalIndex("ranks", pk="group", sk=("_type", Key("rank", int)))])
    index = store_of(table).of(Item).index("ranks")
    query = index.query(group="g")
    assert query.params()["KeyConditionExpression"] == "#0 = :0"
    expected = (
        "Item.rank stands behind the discriminator in the sort key of the index 'ranks', and items that were stored as "
        "'OLD' are in other places: leave it out, or store them again and leave out the aliases"
    )
    with pytest.raises(RequestError) as caught:
        query.range(F(Item, lambda i: i.rank).ge(2))
    assert str(caught.value) == expected
    with pytest.raises(RequestError) as caught:
        index.query(group="g", rank=1)
    assert str(caught.value) == expected


def test_a_range_of_a_field_that_is_stored_in_the_key_alone() -> None:
    @entity("BARE", pk="B#{id}", sk="B#{rank:03}")
    class Bare:
        id: str
        rank: Annotated[int, Attribute(stored=False)]

    query = store_of(Table("bare", [Bare])).of(Bare).query(id="a")
    values = query.range(F(Bare, lambda b: b.rank).le(2)).params()["ExpressionAttributeValues"]
    assert (values[":1"], values[":2"]) == ({"S": "B#"}, {"S": "B#002"})


# ---- for a person

TEXTS: dict[str, tuple[Build, str]] = {
    "a query": (
        lambda s: (
            s.of(Order).query(customer="c").range(F(Order.at).ge(day(1))).filter(F(Order.note).exists()).reverse()
        ),
        """\
Query on orders
  key        pk = "CUSTOMER#c" AND sk BETWEEN "ORDER#2024-01-02T00:00:00.000000Z#" AND "ORDER#:"
  filter     _type = "ORDER" AND attribute_exists(note)
  reads      up to 1 MB in this request, from the last key to the first
  capacity   1 read unit for each 4 KB of what the keys select, filtered out or not (strongly consistent)
  limits     key 32, filter 32 of 4,096 bytes""",
    ),
    "their number by an index": (
        lambda s: s.of(Order).index("status").query(status="open").limit(5).count(),
        """\
Query on orders, index status
  key        statuspk = "STATUS#open"
  filter     _type = "ORDER"
  reads      5 items at most in this request, before the filter, counted only
  capacity   half a read unit for each 4 KB of what the keys select, filtered out or not (eventually consistent)
  limits     key 7, filter 7 of 4,096 bytes""",
    ),
}


@pytest.mark.parametrize(("build", "text"), TEXTS.values(), ids=TEXTS)
def test_explain(build: Build, text: str) -> None:
    assert build(store_of(Orders)).explain() == text


# what dynamap counts by itself, over all requests, is no part of one
READS: dict[str, tuple[Build, str]] = {
    "everything": (lambda q: q, "up to 1 MB in this request"),
    "a limit": (lambda q: q.limit(5), "5 items at most in this request, before the filter"),
    "a page size": (lambda q: q.page_size(5), "5 items at most in this request, before the filter"),
    "a limit behind a filter": (lambda q: q.limit(3).filter(F(Order.note).exists()), "up to 1 MB in this request"),
    "a number of pages": (lambda q: q.max_pages(2), "up to 1 MB in this request"),
    "the first": (lambda q: q.first(), "1 item at most in this request, before the filter"),
    "the only one": (lambda q: q.one(), "2 items at most in this request, before the filter"),
    "their number": (lambda q: q.count(), "up to 1 MB in this request, counted only"),
    "backwards": (
        lambda q: q.reverse().page_size(5),
        "5 items at most in this request, before the filter, from the last key to the first",
    ),
}


@pytest.mark.parametrize(("build", "text"), READS.values(), ids=READS)
def test_explain_says_what_the_one_request_reads(build: Build, text: str) -> None:
    lines = build(store_of(Orders).of(Order).query(customer="c")).explain().splitlines()
    assert [line for line in lines if line.startswith("  reads ")] == [f"  reads      {text}"]


def test_queries_and_views_say_what_they_are() -> None:
    view = store_of(Orders).of(Order).index("status")
    assert repr(view) == "IndexView(Order in the index 'status')"
