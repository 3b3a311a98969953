"""Tables of declarations: what keys, indexes and TTL a table has, and what is refused with which words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any
from uuid import UUID

import pytest

from dynamap import (
    Attribute,
    EncodeError,
    F,
    GlobalIndex,
    Index,
    ItemDecodeError,
    Key,
    KeyValueError,
    LocalIndex,
    Normalize,
    RequestError,
    Table,
    camel_case,
    connect,
    entity,
    mapped,
)
from dynamap.schema import create_params

# ---- keys that are attributes


@mapped("LINE")
@dataclass(frozen=True)
class Line:
    customer: Annotated[str, Attribute("customer-id")]
    number: Annotated[int, Attribute("order.no")]
    note: str | None = None


@mapped("BLOB")
@dataclass(frozen=True)
class Blob:
    digest: bytes
    at: Annotated[Decimal, Attribute("when")]


Lines = Table("lines", [Line], pk=Key("customer-id"), sk=Key("order.no", int))
Blobs = Table("blobs", [Blob], pk=Key("digest", bytes), sk=Key("when", int))


def test_a_field_that_is_the_key_is_stored_once() -> None:
    line = Lines.entity(Line)
    assert line.encode(Line("a#b", 7, "x")) == {
        "customer-id": {"S": "a#b"},
        "order.no": {"N": "7"},
        "_type": {"S": "LINE"},
        "note": {"S": "x"},
    }
    assert line.key_fields == ("customer", "number")
    assert line.decode(line.encode(Line("a#b", 7))) == Line("a#b", 7)


@pytest.mark.parametrize("number", [Decimal(1), Decimal("1.0"), Decimal("1.00"), Decimal("10E-1")])
def test_equal_numbers_are_one_key(number: Decimal) -> None:
    assert Blobs.entity(Blob).key({"digest": b"x", "at": number}) == {"digest": {"B": b"x"}, "when": {"N": "1"}}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"customer": "a"}, "Line.number is missing: the key needs a value for it"),
        ({"customer": None, "number": 1}, "Line.customer is missing: the key needs a value for it"),
        (
            {"customer": "", "number": 1},
            "Line.customer is empty, which DynamoDB does not take in a key: give it a value",
        ),
        (
            {"customer": "x" * 2049, "number": 1},
            "Line.customer has 2049 bytes; DynamoDB takes 2048 in the key attribute 'customer-id': shorten it",
        ),
        (
            {"customer": "a", "number": "1"},
            "Line.number has no key: an int expected, got str; use int(value), or declare str",
        ),
        (
            {"customer": "a", "number": 1, "note": "x"},
            "Line has no key field 'note': its key is customer, number",
        ),
    ],
)
def test_a_key_that_dynamodb_would_not_take_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(KeyValueError) as error:
        Lines.entity(Line).key(values)
    assert str(error.value) == message


def test_empty_bytes_never_reach_a_key() -> None:
    with pytest.raises(KeyValueError, match=r"^Blob\.digest is empty, which DynamoDB does not take in a key"):
        Blobs.entity(Blob).key({"digest": b"", "at": Decimal(0)})
    with pytest.raises(KeyValueError, match=r"^Blob\.digest has 2049 bytes"):
        Blobs.entity(Blob).key({"digest": b"x" * 2049, "at": Decimal(0)})


def test_a_template_of_one_field_is_typed_as_the_attribute() -> None:
    @mapped("EVENT", pk="{day}", sk="{sequence}")
    @dataclass(frozen=True)
    class Event:
        day: str
        sequence: Annotated[int, Attribute(stored=False)]
        text: str = ""

    event = Table("events", [Event], pk=Key("d"), sk=Key("s", int)).entity(Event)
    item = event.encode(Event("1#2", 3))
    assert item == {
        "d": {"S": "1$232"},
        "s": {"N": "3"},
        "_type": {"S": "EVENT"},
        "day": {"S": "1#2"},
        "text": {"S": ""},
    }
    assert event.decode(item) == Event("1#2", 3)


def test_a_template_of_the_attributes_own_field_is_the_attribute() -> None:
    @entity("USER", pk="{id}")
    class User:
        id: str

    user = Table("users", [User], pk="id", sk=None).entity(User)
    assert user.encode(User("a#b")) == {"id": {"S": "a#b"}, "_type": {"S": "USER"}}


def test_normalized_keys_are_normalized_once() -> None:
    @entity("MAIL")
    class Mail:
        address: Annotated[str, Normalize(lambda text: text.casefold()[1:])]

    mail = Table("mails", [Mail], pk="address", sk=None).entity(Mail)
    assert mail.key({"address": "xABC"}) == {"address": {"S": "abc"}}
    with pytest.raises(KeyValueError, match=r"Mail\.address has no key: a str expected, got int"):
        mail.key({"address": 3})


class Color(Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("hint", "key", "wire"),
    [
        (str, Key("k"), {"S": "v"}),
        (UUID, Key("k"), {"S": "00000000-0000-0000-0000-000000000001"}),
        (Color, Key("k"), {"S": "red"}),
        (datetime, Key("k"), {"S": "2024-01-01T00:00:00.000000Z"}),
        (int, Key("k", int), {"N": "5"}),
        (float, Key("k", int), {"N": "1"}),
        (bytes, Key("k", bytes), {"B": b"v"}),
        (str | None, Key("k"), {"S": "v"}),
    ],
)
def test_every_type_that_is_stored_as_the_attributes_type_can_be_a_key(
    hint: Any, key: Key, wire: dict[str, Any]
) -> None:
    values = {
        str: "v",
        UUID: UUID(int=1),
        Color: Color.RED,
        datetime: datetime(2024, 1, 1, tzinfo=timezone.utc),
        int: 5,
        float: 1.0,
        bytes: b"v",
    }

    made = entity("ANY")(type("Made", (), {"__annotations__": {"k": hint}}))
    described = Table("any", [made], pk=key, sk=None).entity(made)
    assert described.key({"k": values.get(hint, "v")}) == {"k": wire}


# ---- tables that are created


def order(**options: Any) -> type[Any]:
    """A class to be in tables; each has its own."""

    @entity("ORDER", **options)
    class Order:
        id: str
        status: str = "open"
        total: Decimal = Decimal(0)
        paid: bool = False
        at: datetime | None = None
        revision: int = 0

    return Order


def two() -> list[type[Any]]:
    @entity("USER", pk="U#{id}", sk="U")
    class User:
        id: str

    return [order(pk="ORDER#{id}", sk="ORDER"), User]


Orders = {"pk": "ORDER#{id}", "sk": "ORDER"}


def test_indexes_are_created_with_the_table() -> None:
    cls = order(
        **Orders,
        indexes=[
            Index("gsi1", pk="{status}", sk="{id}"),
            Index("by-total", pk="{id}"),
            Index("inverse"),
            Index("lsi1"),
        ],
    )
    table = Table(
        "orders",
        [cls],
        indexes=[
            GlobalIndex("gsi1"),
            GlobalIndex("by-total", sk=Key("total", int), projection=["_type", "status"]),
            GlobalIndex("inverse", pk="sk", sk="pk"),
            LocalIndex("lsi1", sk="status", projection=["_type"]),
        ],
    )
    params = create_params(table, "orders")
    assert params == {
        "TableName": "orders",
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "S"},
            {"AttributeName": "gsi1pk", "AttributeType": "S"},
            {"AttributeName": "gsi1sk", "AttributeType": "S"},
            {"AttributeName": "by-totalpk", "AttributeType": "S"},
            {"AttributeName": "total", "AttributeType": "N"},
            {"AttributeName": "status", "AttributeType": "S"},
        ],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "gsi1",
                "KeySchema": [
                    {"AttributeName": "gsi1pk", "KeyType": "HASH"},
                    {"AttributeName": "gsi1sk", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "ALL"},
            },
            {
                "IndexName": "by-total",
                "KeySchema": [
                    {"AttributeName": "by-totalpk", "KeyType": "HASH"},
                    {"AttributeName": "total", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["_type", "status"]},
            },
            {
                "IndexName": "inverse",
                "KeySchema": [{"AttributeName": "sk", "KeyType": "HASH"}, {"AttributeName": "pk", "KeyType": "RANGE"}],
                "Projection": {"ProjectionType": "ALL"},
            },
        ],
        "LocalSecondaryIndexes": [
            {
                "IndexName": "lsi1",
                "KeySchema": [
                    {"AttributeName": "pk", "KeyType": "HASH"},
                    {"AttributeName": "status", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["_type"]},
            },
        ],
        "BillingMode": "PAY_PER_REQUEST",
    }
    provisioned = create_params(table, "orders", read_capacity=3, write_capacity=2)
    throughput = {"ReadCapacityUnits": 3, "WriteCapacityUnits": 2}
    assert [index["ProvisionedThroughput"] for index in provisioned["GlobalSecondaryIndexes"]] == [throughput] * 3
    assert "ProvisionedThroughput" not in provisioned["LocalSecondaryIndexes"][0]


def test_a_key_of_an_index_may_have_several_attributes() -> None:
    cls = order(**Orders, indexes=[Index("gsi", pk=("{status}", "C#{id}"), sk=("{at}", "{total}", "{id}"))])
    table = Table(
        "orders",
        [cls],
        indexes=[GlobalIndex("gsi", pk=("status", "a"), sk=("b", Key("c", int), "d"), projection=["_type"])],
    )
    (index,) = create_params(table, "orders")["GlobalSecondaryIndexes"]
    assert [(key["AttributeName"], key["KeyType"]) for key in index["KeySchema"]] == [
        ("status", "HASH"),
        ("a", "HASH"),
        ("b", "RANGE"),
        ("c", "RANGE"),
        ("d", "RANGE"),
    ]
    assert [part.attribute for part in table.entity(cls).index("gsi").computed] == ["a", "b", "c", "d"]


def test_a_projection_of_keys_alone_is_for_tables_without_discriminator() -> None:
    @mapped("LINE")
    @dataclass
    class Plain:
        id: str
        status: str

    table = Table(
        "plain", [Plain], pk="id", sk=None, discriminator=None, indexes=[GlobalIndex("gsi", "status", (), "KEYS_ONLY")]
    )
    (index,) = create_params(table, "plain")["GlobalSecondaryIndexes"]
    assert index["Projection"] == {"ProjectionType": "KEYS_ONLY"}
    by_type = Table("by-type", [Plain], pk="id", sk=None, indexes=[GlobalIndex("gsi", "_type", "status", "KEYS_ONLY")])
    assert create_params(by_type, "by-type")["GlobalSecondaryIndexes"][0]["Projection"] == {
        "ProjectionType": "KEYS_ONLY"
    }


def test_an_index_that_a_class_does_not_have_is_named_with_those_that_it_has() -> None:
    table = Table("t", [order(**Orders, indexes=[Index("gsi", pk="{id}")])], indexes=[GlobalIndex("gsi", sk=())])
    described = table.entity(table.entities[0])
    assert described.index("gsi").index.name == "gsi"
    with pytest.raises(
        RequestError, match=r"Order does not map onto an index 'other'; its indexes are gsi: declare it"
    ):
        described.index("other")


# ---- tables without discriminator


def test_a_table_without_discriminator_writes_and_wants_none() -> None:
    @mapped("LINE")
    @dataclass(frozen=True)
    class Plain:
        id: str

    plain = Table("t", [Plain], pk="id", sk=None, discriminator=None).entity(Plain)
    assert plain.encode(Plain("a")) == {"id": {"S": "a"}}
    assert plain.decode({"id": {"S": "a"}, "_type": {"S": "WHATEVER"}}) == Plain("a")


def test_items_without_discriminator_are_of_the_untyped_class() -> None:
    classes = two()
    table = Table("t", classes, untyped=classes[1])
    first, second = (table.entity(cls) for cls in classes)
    item = second.encode(classes[1]("a"))
    assert item["_type"] == {"S": "USER"}
    del item["_type"]
    assert second.decode(item) == classes[1]("a")
    with pytest.raises(ItemDecodeError, match="the discriminator should be 'ORDER', but it has none"):
        first.decode({**first.encode(classes[0]("a")), "_type": {"NULL": True}} | {"_type": {"N": "1"}})
    with pytest.raises(ItemDecodeError, match="the discriminator should be 'USER', but it says 'ORDER'"):
        second.decode({**item, "_type": {"S": "ORDER"}})


# ---- TTL


@entity("SESSION", pk="S#{id}", sk="S", ttl="expires_at")
class Session:
    id: str
    expires_at: datetime | None = None


@entity("LEASE", pk="L#{id}", sk="L", ttl="until")
class Lease:
    id: str
    until: int = 0


Expiring = Table("expiring", [Session, Lease], ttl="expires", names=camel_case)


@pytest.mark.parametrize(
    ("at", "seconds"),
    [
        (datetime(1970, 1, 1, tzinfo=timezone.utc), "0"),
        (datetime(2024, 1, 1, tzinfo=timezone.utc), "1704067200"),
        (datetime(2024, 1, 1, microsecond=1, tzinfo=timezone.utc), "1704067201"),
    ],
)
def test_a_ttl_is_stored_in_whole_seconds_rounded_up(at: datetime, seconds: str) -> None:
    session = Expiring.entity(Session)
    item = session.encode(Session("a", at))
    assert item["expires"] == {"N": seconds}
    assert "expiresAt" not in item
    assert session.decode(item) == Session("a", datetime.fromtimestamp(int(seconds), timezone.utc))
    assert "expires" not in session.encode(Session("a"))


def test_a_ttl_of_milliseconds_is_refused() -> None:
    lease = Expiring.entity(Lease)
    assert lease.encode(Lease("a", 1_700_000_000))["expires"] == {"N": "1700000000"}
    with pytest.raises(EncodeError) as error:
        lease.encode(Lease("a", 1_700_000_000_000))
    assert str(error.value) == (
        "Lease $.until: seconds since 1970 expected, got a number beyond the year 2100, as milliseconds are; "
        "divide it by 1000"
    )


def test_a_ttl_is_referred_to_by_its_field() -> None:
    sessions = connect(Expiring).of(Session)
    params = (
        sessions.put(Session("a")).if_(F(Session.expires_at).lt(datetime(2024, 1, 1, tzinfo=timezone.utc))).params()
    )
    assert params["ExpressionAttributeNames"]["#0"] == "expires"
    assert params["ExpressionAttributeValues"][":1"] == {"N": "1704067200"}
