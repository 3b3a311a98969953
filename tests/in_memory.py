"""A store over the engine in memory, without any client: for properties that are tried often."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dynamap import Store, Sync, Table, connect
from dynamap.drivers.interceptor import method_of
from dynamap.plan import Call
from dynamap.schema import create_params
from dynamap.testing import MemoryEngine
from tests.fakes import NOW, FakeClient

__all__ = ["memory_store"]

_OPERATIONS = {
    method_of(operation): operation
    for operation in (
        "BatchGetItem",
        "BatchWriteItem",
        "DeleteItem",
        "GetItem",
        "PutItem",
        "Query",
        "Scan",
        "UpdateItem",
    )
}


def memory_store(table: Table, items: Sequence[Any] = (), **options: Any) -> tuple[Store[Sync], FakeClient]:
    """A store whose table holds these entities, and the client that knows what was called since."""
    engine = MemoryEngine()
    engine.answer(Call("CreateTable", create_params(table, table.name)))
    client = FakeClient(lambda method, params: engine.answer(Call(_OPERATIONS[method], params)))
    store = connect(table, client=client, clock=lambda: NOW, **options)
    for item in items:
        store.of(type(item)).put(item).send()
    client.calls.clear()
    return store, client
