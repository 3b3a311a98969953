"""Operations that are refused before anything is sent: each message, whole."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import attrs
import pytest

from dynamap import (
    DynamapError,
    F,
    GlobalIndex,
    IncompleteUpsert,
    Index,
    LimitExceeded,
    RequestError,
    Table,
    connect,
    connect_async,
    entity,
)
from tests.fakes import FakeClient, store_of


@attrs.frozen
class Address:
    city: str = ""


@entity("ORDER", pk="ORDER#{id}", sk="ORDER", frozen=True)
class Order:
    id: str
    title: str
    total: Decimal = Decimal(0)
    note: str | None = None
    tags: set[str] = attrs.field(factory=lambda: {"new"})
    address: Address | None = None


@entity("DOCUMENT", pk="DOCUMENT#{id}", sk="DOCUMENT", version="revision", frozen=True)
class Document:
    id: str
    address: Address | None = None
    revision: int = 0


@entity(
    "CLAIM",
    pk="CLAIM#{id}",
    sk="CLAIM",
    indexes=[Index("gsi", pk="CLAIM#{id}", sk="{id}", when=lambda: F(Claim.note).lt(None))],
)
class Claim:
    id: str
    note: str | None = None


@entity(
    "TAGGED",
    pk="TAGGED#{id}",
    sk="TAGGED",
    indexes=[Index("gsi", pk="TAGGED#{id}", sk="{id}", when=lambda: tagged.between(set(), set()))],
)
class Tagged:
    id: str
    tags: set[str] = attrs.field(factory=lambda: {"new"})


tagged: Any = F(Tagged.tags)


PARTS = [f"part{number}" for number in range(400)]
Wide: Any = entity("WIDE", pk="WIDE#{id}", sk="WIDE")(
    type("Wide", (), {"__annotations__": {"id": str, **dict.fromkeys(PARTS, str)}})
)

Orders = Table("orders", [Order, Document, Claim, Tagged, Wide], indexes=[GlobalIndex("gsi")])
READ = Order("a", "first")
store: Any = store_of(Orders)
orders: Any = store.of(Order)
put = orders.put(READ)
check = orders.check(id="a")
update = orders.update(id="a")
upsert = orders.upsert(id="a")


def city(owner: Any) -> Any:
    return owner.address.city


def many(count: int, note: str) -> Callable[[], object]:
    return lambda: store.transact(*[orders.put(Order(str(n), "x", note=note)) for n in range(count)]).params()


CASES: dict[str, tuple[Callable[[], object], type[DynamapError], str]] = {
    # updates that change nothing
    "an item, and no step": (
        orders.update(READ).send,
        RequestError,
        (
            "update of Order id='a': it changes nothing: add to(changed), where changed is a copy of the item, or "
            "set() or another step"
        ),
    ),
    "a key, and no step": (
        update.send,
        RequestError,
        "update of Order id='a': it changes nothing: add set() or another step",
    ),
    "a key, and no step, on trial": (
        update.if_(F(Order.title).eq("x")).try_send,
        RequestError,
        "update of Order id='a': it changes nothing: add set() or another step",
    ),
    "a key and what is given, and no step": (
        update.given(title="x").params,
        RequestError,
        "update of Order id='a': it changes nothing: add set() or another step",
    ),
    "no step, and the old item": (
        update.returning_old().params,
        RequestError,
        "update of Order id='a': it changes nothing: add set() or another step",
    ),
    "no step, under a version": (
        store.of(Document).update(id="a").if_version(3).explain,
        RequestError,
        "update of Document id='a': it changes nothing: add set() or another step",
    ),
    "no step, as a transaction": (
        update.exactly_once().send,
        RequestError,
        "update of Order id='a': it changes nothing: add set() or another step",
    ),
    "no step, in a transaction": (
        store.transact(put, store.of(Document).update(Document("d", revision=3))).send,
        RequestError,
        (
            "update of Document id='d': it changes nothing: add to(changed), where changed is a copy of the item, or "
            "set() or another step"
        ),
    ),
    # transactions
    "nothing to do together": (store.transact, RequestError, "transact() takes at least one operation"),
    "what is no write": (
        lambda: store.transact(put, orders.get(id="a")),
        RequestError,
        (
            "transact() takes puts, updates, upserts, deletes and checks, without returning() and "
            "returning_old(); argument 2 is Get"
        ),
    ),
    "what answers more": (
        lambda: store.transact(put.returning_old()),
        RequestError,
        (
            "transact() takes puts, updates, upserts, deletes and checks, without returning() and "
            "returning_old(); argument 1 is PutReturning"
        ),
    ),
    "a list of writes": (
        lambda: store.transact([put]),
        RequestError,
        (
            "transact() takes puts, updates, upserts, deletes and checks, without returning() and "
            "returning_old(); argument 1 is list: write transact(*...)"
        ),
    ),
    "a tuple of writes": (
        lambda: store.transact((put, put)),
        RequestError,
        (
            "transact() takes puts, updates, upserts, deletes and checks, without returning() and "
            "returning_old(); argument 1 is tuple: write transact(*...)"
        ),
    ),
    "a generator of writes": (
        lambda: store.transact(each for each in [put]),
        RequestError,
        (
            "transact() takes puts, updates, upserts, deletes and checks, without returning() and "
            "returning_old(); argument 1 is generator: write transact(*...)"
        ),
    ),
    "of another client": (
        lambda: store.transact(store_of(Orders).of(Order).put(READ)),
        RequestError,
        (
            "transact(): argument 1 belongs to a store with another client: pass one client= to connect() of both "
            "stores, or, where they have the same Table, make one of the other with store.with_name()"
        ),
    ),
    "one item twice": (
        lambda: store.transact(put, orders.delete(id="a")).params(),
        RequestError,
        (
            "a transaction takes one operation per item, but operations 1 (put of Order id='a') and 2 (delete "
            "of Order id='a') are about the same: make one of them"
        ),
    ),
    "too many operations": (
        many(101, ""),
        LimitExceeded,
        "a transaction takes up to 100 operations; got 101: make several of it",
    ),
    "too many bytes": (
        many(11, "x" * 390_000),
        LimitExceeded,
        ("the items of this transaction have 4,290,574 bytes; DynamoDB takes 4,194,304: make several of it"),
    ),
    "an empty token": (
        lambda: store.transact(put).token(""),
        RequestError,
        "a transaction's token has 1 to 36 characters; got 0",
    ),
    "a long token": (
        lambda: store.transact(put).token("x" * 37),
        RequestError,
        "a transaction's token has 1 to 36 characters; got 37",
    ),
    "a token that is no text": (
        lambda: store.transact(put).token(5),
        RequestError,
        "a transaction's token has 1 to 36 characters; got int",
    ),
    "a transaction that answers": (
        lambda: put.returning_old().exactly_once().params(),
        RequestError,
        (
            "put of Order id='a': exactly_once() sends a transaction, which answers no values: leave out "
            "returning() and returning_old(), or read the item afterwards"
        ),
    ),
    # checks
    "there and not there": (
        lambda: check.exists().not_exists(),
        RequestError,
        ("check of Order id='a': exists() and not_exists() contradict each other: leave one out"),
    ),
    "a check of nothing": (
        check.params,
        RequestError,
        ("check of Order id='a': it checks nothing: add exists(), not_exists() or if_(condition)"),
    ),
    # updates
    "fields that are no mapping": (
        lambda: update.set_fields(["note"]),
        RequestError,
        ("update of Order id='a': set_fields() takes a mapping from field names to values; got list"),
    ),
    "fields that are none": (
        lambda: update.set_fields({}),
        RequestError,
        ("update of Order id='a': set_fields() takes a mapping from field names to values; got an empty one"),
    ),
    "a field that is none of its": (
        lambda: update.set_fields({"nope": 1}),
        RequestError,
        ("update of Order id='a': Order has no field 'nope'; its fields are id, title, total, note, tags, address"),
    ),
    "a field that no item can lack": (
        lambda: update.remove(F(Order.title)),
        RequestError,
        (
            "update of Order id='a': title is neither optional nor has it a default, so an item without it "
            "could not be read: set it to another value"
        ),
    ),
    "inside of what was not there": (
        lambda: store.of(Document).update(Document("a", revision=3)).set(F(Document, city), "Bonn"),
        RequestError,
        (
            "update of Document id='a': the item that was read has no address, and nothing can be changed "
            "inside of what is not there: set it as a whole"
        ),
    ),
    "more than 4 KB of changes": (
        lambda: store.of(Wide).update(id="a").set_fields(dict.fromkeys(PARTS, "x")).params(),
        LimitExceeded,
        ("Wide: the update expression has 4,982 bytes; DynamoDB takes 4,096: split the request"),
    ),
    # upserts
    "inside of what is not there yet": (
        lambda: upsert.set(F(Order, city), "Bonn").params(),
        IncompleteUpsert,
        (
            "upsert of Order id='a': it may create the item, which would have no address to change "
            "address.city inside of: set address as a whole, or update() an item that exists"
        ),
    ),
    "from what is not there yet": (
        lambda: upsert.set(F(Order.title), F(Order.note)).params(),
        IncompleteUpsert,
        (
            "upsert of Order id='a': it may create the item, which would have no note to set title to: use "
            ".or_else(...), or update() an item that exists"
        ),
    ),
    "without what it needs": (
        lambda: upsert.set(F(Order.note), "x").params(),
        IncompleteUpsert,
        (
            "upsert of Order id='a': it may create the item, which would lack title: set it, or update() an "
            "item that exists"
        ),
    ),
    "a default that hides the empty set": (
        lambda: upsert.set(F(Order.title), "x").params(),
        IncompleteUpsert,
        (
            "upsert of Order id='a': it may create the item, but a default for tags would change an item that "
            "exists where the set is empty: give it with set() or set_if_missing(), or update() an item that "
            "exists"
        ),
    ),
    # conditions of indexes
    "the order of sets": (
        lambda: store.of(Tagged).put(Tagged("a")).params(),
        RequestError,
        ("F(Tagged: tags): >= cannot compare with None or an empty set; use eq, ne, exists or not_exists"),
    ),
    "the order of None": (
        lambda: store.of(Claim).put(Claim("a")).params(),
        RequestError,
        ("Claim.note: < cannot compare with None; use eq, ne, exists or not_exists"),
    ),
    # tables
    "a short name": (
        lambda: store.with_name("x"),
        RequestError,
        ("'x' is no table name: 3 to 255 letters, digits, dots, dashes and underscores"),
    ),
    "a name that is no text": (
        lambda: store.with_name(5),
        RequestError,
        ("5 is no table name: 3 to 255 letters, digits, dots, dashes and underscores"),
    ),
    "half a capacity": (
        lambda: store.create_table(read_capacity=5),
        RequestError,
        (
            "write_capacity is None: a provisioned table takes whole read_capacity and write_capacity from 1 "
            "on; leave both out for a table on demand"
        ),
    ),
    "no capacity": (
        lambda: store.create_table(read_capacity=0, write_capacity=1),
        RequestError,
        (
            "read_capacity is 0: a provisioned table takes whole read_capacity and write_capacity from 1 on; "
            "leave both out for a table on demand"
        ),
    ),
    # clients
    "no client": (
        lambda: connect(Orders, client="dynamodb"),
        RequestError,
        (
            "client= takes a DynamoDB client, as boto3.client('dynamodb') makes it; got str: of a boto3 "
            "resource or table, make a client beside it"
        ),
    ),
    "a client of another service": (
        lambda: connect(Orders, client=of_service("s3")),
        RequestError,
        (
            "client= takes a DynamoDB client, as boto3.client('dynamodb') makes it; got FakeClient for s3: of "
            "a boto3 resource or table, make a client beside it"
        ),
    ),
    "two endpoints": (
        lambda: connect(Orders, client=FakeClient(), region_name="eu-west-1"),
        RequestError,
        ("client= brings its own endpoint and region: leave out endpoint_url= and region_name="),
    ),
    "a client whose calls are awaited": (
        lambda: connect(Orders, client=Awaited()),
        RequestError,
        ("connect() takes a boto3 or botocore client; this one is aiobotocore's: pass it to connect_async()"),
    ),
    "a client whose calls are not": (
        lambda: connect_async(Orders, client=Waiting()),
        RequestError,
        ("connect_async() takes an aiobotocore client; this one is boto3's or botocore's: pass it to connect()"),
    ),
    "a client of a resource": (
        lambda: connect(Orders, client=of_resource()),
        RequestError,
        (
            "client= takes a DynamoDB client, as boto3.client('dynamodb') makes it; this one belongs to a "
            "boto3 resource, whose calls translate values by themselves: make a client beside it"
        ),
    ),
}


class Awaited(FakeClient):
    """As aiobotocore makes them."""

    async def _make_api_call(self) -> None: ...


class Waiting(FakeClient):
    """As botocore makes them."""

    def _make_api_call(self) -> None: ...


def of_service(name: str) -> FakeClient:
    client = FakeClient()
    client.meta.service_model.service_name = name
    return client


def of_resource() -> Any:
    """The client inside of a boto3 resource."""
    import boto3

    resource: Any = boto3.resource("dynamodb", region_name="us-east-1")
    return resource.meta.client


@pytest.mark.parametrize("name", CASES)
def test_the_message_says_what_was_asked_and_what_to_do(name: str) -> None:
    make, kind, message = CASES[name]
    with pytest.raises(RequestError) as raised:
        make()
    assert type(raised.value) is kind
    assert str(raised.value) == message
