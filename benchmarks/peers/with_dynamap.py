"""dynamap in both modes: the operations are the same, and `send()` answers what is to be awaited in one of them."""

from __future__ import annotations

from decimal import Decimal
from operator import attrgetter
from typing import Any

import attrs

from benchmarks.answers import BATCH_GET, BATCH_WRITE, MIXED, TABLE, TRANSACT, mixed_table
from benchmarks.items import CUSTOMER, ORDER, FieldType, Kind, mixed_kinds
from benchmarks.works import UPDATE, UPDATE_IF, UPDATED, Works
from dynamap import F, Store, Table, entity


@attrs.define
class Address:
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


def declared(kind: Kind) -> Any:
    """The class of a kind, as one would have written it by hand."""
    fields: dict[str, Any] = {
        "__module__": __name__,
        "__annotations__": {name: TYPES[field] for name, field in kind.all_fields.items()},
        **{name: None for name, field in kind.fields.items() if field is FieldType.ABSENT},
    }
    made = type(kind.class_name, (), fields)
    return entity(kind.name, pk="CUSTOMER#{customer}", sk=f"{kind.name}#{{number}}")(made)


def instance(cls: Any, kind: Kind, number: int) -> Any:
    values = kind.values(number)
    if "address" in values:
        values["address"] = Address(**values["address"])
    return cls(**values)


Order = declared(ORDER)
OrderTable = Table(TABLE, [Order])
Mixed = [declared(kind) for kind in mixed_kinds(MIXED)]
MixedTable = Table(mixed_table(MIXED), Mixed)


_stores: list[Store[Any]] = []
"""Those whose works are measured."""


def verify() -> None:
    """Raise AssertionError where calls went another way than the one that is meant to be measured."""
    for store in _stores:
        way = store.explain_client()
        # one whose work was not asked for has no client
        assert way.startswith("lane") or "there is no client yet" in way, way


def works_of(store: Store[Any], mixed: Store[Any]) -> Works:
    _stores[:] = [store, mixed]
    orders = store.of(Order)
    items = [instance(Order, ORDER, number) for number in range(max(BATCH_WRITE, TRANSACT))]
    keys = [{"customer": CUSTOMER, "number": f"{number:08}"} for number in range(BATCH_GET)]
    quantity, note, price = (F(Order, attrgetter(name)) for name in UPDATE)
    query_mixed: Any = mixed.query

    def update() -> Any:
        return (
            orders.update(**keys[UPDATED])
            .set(quantity, UPDATE["quantity"])
            .set(note, UPDATE["note"])
            .set(price, UPDATE["price"])
            .if_(quantity.eq(UPDATE_IF))
            .send()
        )

    return {
        "get": lambda: orders.get(**keys[1]).send(),
        "put": lambda: orders.put(items[1]).send(),
        "update": update,
        "query": lambda: orders.query(customer=CUSTOMER).send(),
        "query_5_types": lambda: query_mixed(*Mixed, customer=CUSTOMER).send(),
        "batch_get": lambda: orders.get_many(keys).send(),
        "batch_write": lambda: orders.put_many(items[:BATCH_WRITE]).send(),
        "transact": lambda: store.transact(*map(orders.put, items[:TRANSACT])).send(),
    }
