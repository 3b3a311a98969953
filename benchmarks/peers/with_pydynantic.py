"""pydynantic: pydantic models on boto3's client. It names types in another attribute, in other tables."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import boto3
import pydantic
from pydynantic import Collection, Entity, F, Table, key, transaction

from benchmarks.answers import BATCH_GET, BATCH_WRITE, ENTITY_PREFIX, MIXED, TABLE, TRANSACT, mixed_table
from benchmarks.items import CUSTOMER, ORDER, FieldType, Kind, mixed_kinds
from benchmarks.works import UPDATE, UPDATE_IF, UPDATED, Works


class Address(pydantic.BaseModel):
    street: str
    city: str
    zip_code: int


TYPES: dict[FieldType, Any] = {
    FieldType.TEXT: str,
    FieldType.COUNT: int,
    FieldType.PRICE: Decimal,
    FieldType.FLAG: bool,
    FieldType.LABELS: set[str],
    FieldType.LINES: list[str],
    FieldType.ADDRESS: Address,
    # boto3's Binary, which its `bytes` refuses
    FieldType.PHOTO: Any,
    FieldType.ABSENT: str | None,
}


def _declared(kind: Kind, table: Table) -> Any:
    primary = key(pk="CUSTOMER#{customer}", sk=f"{kind.name}#{{number}}")
    # pydantic takes a nested class for what it is by its qualified name
    named = {"__module__": __name__, "__qualname__": f"{kind.class_name}.Meta"}
    fields: dict[str, Any] = {
        "__module__": __name__,
        "__qualname__": kind.class_name,
        "__annotations__": {name: TYPES[field] for name, field in kind.all_fields.items()},
        "Meta": type("Meta", (), {**named, "primary": primary}),
        **{name: None for name, field in kind.fields.items() if field is FieldType.ABSENT},
    }
    return type(Entity)(kind.class_name, (Entity,), fields, table=table, name=kind.name)


def prepare(url: str) -> Works:
    client = boto3.client("dynamodb", endpoint_url=url)
    table, several = (
        Table(name=ENTITY_PREFIX + name, pk="pk", sk="sk", indexes={}, client=client)
        for name in (TABLE, mixed_table(MIXED))
    )
    order = _declared(ORDER, table)
    members = [_declared(kind, several) for kind in mixed_kinds(MIXED)]
    mixed: Any = type("Mixed", (Collection,), {"members": members})
    items = [order(**ORDER.values(number)) for number in range(max(BATCH_WRITE, TRANSACT))]
    keys = [{"customer": CUSTOMER, "number": f"{number:08}"} for number in range(BATCH_GET)]

    def transact() -> None:
        with transaction(table) as writes:
            for item in items[:TRANSACT]:
                writes.put(item)

    return {
        "get": lambda: order.get(**keys[1]),
        "put": lambda: order.put(items[1]),
        "update": lambda: order.update(**keys[UPDATED], set=dict(UPDATE), condition=F("quantity") == UPDATE_IF),
        "query": lambda: order.query.primary(customer=CUSTOMER).all(),
        "query_5_types": lambda: mixed.query(customer=CUSTOMER).all().all(),
        "batch_get": lambda: order.batch_get(keys),
        "batch_write": lambda: order.batch_write(puts=items[:BATCH_WRITE]),
        "transact": transact,
    }
