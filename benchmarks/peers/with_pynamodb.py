"""PynamoDB: models of descriptors; several types of a table are subclasses that share a discriminator."""

from __future__ import annotations

from typing import Any

from pynamodb.attributes import (
    Attribute,
    BinaryAttribute,
    BooleanAttribute,
    DiscriminatorAttribute,
    ListAttribute,
    MapAttribute,
    NumberAttribute,
    UnicodeAttribute,
    UnicodeSetAttribute,
)
from pynamodb.connection import Connection
from pynamodb.models import Model
from pynamodb.transactions import TransactWrite

from benchmarks.answers import BATCH_GET, BATCH_WRITE, MIXED, TABLE, TRANSACT, mixed_table
from benchmarks.items import CUSTOMER, ORDER, TYPE_ATTRIBUTE, FieldType, Kind, mixed_kinds
from benchmarks.works import UPDATE, UPDATE_IF, UPDATED, Works


class Address(MapAttribute[str, Any]):
    street = UnicodeAttribute()
    city = UnicodeAttribute()
    zip_code = NumberAttribute()


ATTRIBUTES: dict[FieldType, Any] = {
    FieldType.TEXT: UnicodeAttribute,
    FieldType.COUNT: NumberAttribute,
    FieldType.PRICE: NumberAttribute,
    FieldType.FLAG: BooleanAttribute,
    FieldType.LABELS: UnicodeSetAttribute,
    FieldType.LINES: lambda: ListAttribute(of=UnicodeAttribute),
    FieldType.ADDRESS: Address,
    FieldType.PHOTO: lambda: BinaryAttribute(legacy_encoding=False),
    FieldType.ABSENT: lambda: UnicodeAttribute(null=True),
}


def _attributes(kind: Kind) -> dict[str, Attribute[Any]]:
    return {name: ATTRIBUTES[field]() for name, field in kind.all_fields.items()}


def _base(table: str, url: str) -> Any:
    """The model that the types of a table derive from."""
    meta = type("Meta", (), {"table_name": table, "host": url, "region": "us-east-1"})
    return type(
        "Base",
        (Model,),
        {
            "Meta": meta,
            "pk": UnicodeAttribute(hash_key=True),
            "sk": UnicodeAttribute(range_key=True),
            "kind": DiscriminatorAttribute(attr_name=TYPE_ATTRIBUTE),
        },
    )


def _declared(base: Any, kind: Kind) -> Any:
    meta = type(base)
    return meta(kind.class_name, (base,), _attributes(kind), discriminator=kind.name)


def _instance(cls: Any, number: int) -> Any:
    values = ORDER.values(number)
    # its numbers are int or float
    values |= {"price": float(values["price"]), "address": Address(**values["address"])}  # type: ignore[no-untyped-call]
    return cls(**ORDER.key(number), **values)


def prepare(url: str) -> Works:
    order = _declared(_base(TABLE, url), ORDER)
    mixed = _base(mixed_table(MIXED), url)
    for kind in mixed_kinds(MIXED):
        _declared(mixed, kind)
    items = [_instance(order, number) for number in range(max(BATCH_WRITE, TRANSACT))]
    keys = [tuple(ORDER.key(number).values()) for number in range(BATCH_GET)]
    partition = f"CUSTOMER#{CUSTOMER}"
    connection = Connection(region="us-east-1", host=url)

    def update() -> None:
        items[UPDATED].update(
            actions=[
                order.quantity.set(UPDATE["quantity"]),
                order.note.set(UPDATE["note"]),
                order.price.set(float(UPDATE["price"])),
            ],
            condition=order.quantity == UPDATE_IF,
        )

    def batch_write() -> None:
        with order.batch_write() as batch:
            for item in items[:BATCH_WRITE]:
                batch.save(item)

    def transact() -> None:
        with TransactWrite(connection=connection) as transaction:
            for item in items[:TRANSACT]:
                transaction.save(item)

    return {
        "get": lambda: order.get(*keys[1]),
        "put": items[2].save,
        "update": update,
        "query": lambda: list(order.query(partition)),
        "query_5_types": lambda: list(mixed.query(partition)),
        "batch_get": lambda: list(order.batch_get(keys)),
        "batch_write": batch_write,
        "transact": transact,
    }
