"""dynamoxy: models on a core in Rust, for asyncio only; no botocore."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import dynamoxy
from dynamoxy import Attr, Document, Model, field, partition_key, sort_key

from benchmarks.answers import BATCH_GET, BATCH_WRITE, MIXED, TABLE, TRANSACT, mixed_table
from benchmarks.items import CUSTOMER, ORDER, FieldType, Kind, mixed_kinds
from benchmarks.works import UPDATE, UPDATE_IF, UPDATED, Works


class Address(Document):  # type: ignore[misc]  # it is Any where it is not installed
    street: Attr[str]
    city: Attr[str]
    zip_code: Attr[int]


TYPES: dict[FieldType, Any] = {
    FieldType.TEXT: str,
    FieldType.COUNT: int,
    FieldType.PRICE: Decimal,
    FieldType.FLAG: bool,
    FieldType.LABELS: set[str],
    FieldType.LINES: list[str],
    FieldType.ADDRESS: Address,
    FieldType.PHOTO: bytes,
    FieldType.ABSENT: str | None,
}


def _declared(kind: Kind, table: str) -> Any:
    fields: dict[str, Any] = {
        "__module__": __name__,
        "__annotations__": {
            "pk": Attr[str],
            "sk": Attr[str],
            **{name: Attr[TYPES[each]] for name, each in kind.all_fields.items()},
        },
        "pk": partition_key(template="CUSTOMER#{customer}"),
        "sk": sort_key(template=f"{kind.name}#{{number}}"),
        **{name: field(default=None) for name, each in kind.fields.items() if each is FieldType.ABSENT},
    }
    return type(Model)(kind.class_name, (Model,), fields, table=table, entity=kind.name)


def _instance(cls: Any, number: int) -> Any:
    values = ORDER.values(number)
    return cls(**(values | {"address": Address(**values["address"])}))


async def prepare(url: str) -> Works:
    client = dynamoxy.Client(region="us-east-1", endpoint_url=url)
    order = _declared(ORDER, TABLE)
    orders = client.repository(order)
    mixed = client.collection(*(_declared(kind, mixed_table(MIXED)) for kind in mixed_kinds(MIXED)))
    items = [_instance(order, number) for number in range(max(BATCH_WRITE, TRANSACT))]
    keys = [ORDER.key(number) for number in range(BATCH_GET)]

    def update() -> Any:
        actions = [getattr(order, name).set(value) for name, value in UPDATE.items()]
        return orders.update(keys[UPDATED], *actions, condition=order.quantity == UPDATE_IF)

    async def transact() -> None:
        async with client.transaction() as transaction:
            for item in items[:TRANSACT]:
                transaction.put(item)

    return {
        "get": lambda: orders.get(*keys[1].values()),
        "put": lambda: orders.put(items[1]),
        "update": update,
        "query": lambda: orders.query(customer=CUSTOMER).all(),
        "query_5_types": lambda: mixed.query(customer=CUSTOMER).all(),
        "batch_get": lambda: orders.batch_get(keys),
        "batch_write": lambda: orders.batch_put(items[:BATCH_WRITE]),
        "transact": transact,
    }
