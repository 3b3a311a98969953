"""dyntastic: pydantic models on boto3's Table."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pydantic
from dyntastic import A, Dyntastic, transaction

from benchmarks.answers import BATCH_GET, BATCH_WRITE, MIXED, TABLE, TRANSACT, mixed_table
from benchmarks.items import CUSTOMER, ORDER, TYPE_ATTRIBUTE, FieldType, Kind, mixed_kinds
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
    FieldType.PHOTO: bytes,
    FieldType.ABSENT: str | None,
}


def _declared(kind: Kind, table: str, url: str, **more: Any) -> Any:
    fields: dict[str, Any] = {
        "__module__": __name__,
        "__annotations__": {
            "pk": str,
            "sk": str,
            **{name: TYPES[field] for name, field in kind.all_fields.items()},
        },
        "__table_name__": table,
        "__hash_key__": "pk",
        "__range_key__": "sk",
        "__table_region__": "us-east-1",
        "__table_host__": url,
        **{name: None for name, field in kind.fields.items() if field is FieldType.ABSENT},
        **more,
    }
    return type(Dyntastic)(kind.class_name, (Dyntastic,), fields)


def prepare(url: str) -> Works:
    order = _declared(ORDER, TABLE, url)
    by_name = {kind.name: _declared(kind, mixed_table(MIXED), url) for kind in mixed_kinds(MIXED)}
    anything = Kind("ANYTHING", {})
    chosen = staticmethod(lambda item: by_name[item[TYPE_ATTRIBUTE]])
    mixed = _declared(anything, mixed_table(MIXED), url, get_model=chosen)
    items = [order(**ORDER.key(number), **ORDER.values(number)) for number in range(max(BATCH_WRITE, TRANSACT))]
    keys = [tuple(ORDER.key(number).values()) for number in range(BATCH_GET)]
    partition = f"CUSTOMER#{CUSTOMER}"

    def update() -> None:
        actions = [getattr(A, name).set(value) for name, value in UPDATE.items()]
        items[UPDATED].update(*actions, condition=A.quantity == UPDATE_IF, refresh=False)
        items[UPDATED].ignore_unrefreshed()

    def batch_write() -> None:
        with order.batch_writer():
            for item in items[:BATCH_WRITE]:
                item.save()

    def transact() -> None:
        with transaction():
            for item in items[:TRANSACT]:
                item.save()

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
