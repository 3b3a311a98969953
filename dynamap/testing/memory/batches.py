"""BatchGetItem and BatchWriteItem: nothing is ever left unprocessed here; a fault can do that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dynamap.plan import Reply
from dynamap.testing.memory.failures import refuse
from dynamap.testing.memory.requests import Request, State, Write, prepared_write, read_units, with_capacity
from dynamap.testing.memory.values import Item, item_size, stored

__all__ = ["batch_get_item", "batch_write_item"]

MOST_KEYS = 100
MOST_WRITES = 25
MOST_BYTES = 16 * 1024 * 1024


def batch_get_item(state: State, params: Mapping[str, Any]) -> Reply:
    """Items by their keys, in no order that means anything; keys beyond 16 MB of items stay unprocessed."""
    wanted: Mapping[str, Mapping[str, Any]] = params["RequestItems"]
    count = sum(len(each["Keys"]) for each in wanted.values())
    if not 1 <= count <= MOST_KEYS:
        msg = f"1 to {MOST_KEYS} keys can be read at once, not {count}"
        refuse(msg)
    responses: dict[str, list[Item]] = {}
    unprocessed: dict[str, Any] = {}
    units: list[tuple[str, float]] = []
    total = 0
    for name, each in wanted.items():
        request = Request(state, {**each, "TableName": name})
        request.check_projection()
        request.parameters.check_all_used()
        responses[name] = []
        seen: set[object] = set()
        for given in reversed(each["Keys"]):
            key = {attribute: stored(wire) for attribute, wire in given.items()}
            request.table.check_key(key)
            identity = request.table.identity(key)
            if identity in seen:
                refuse("Provided list of item keys contains duplicates")
            seen.add(identity)
            item = request.table.get(key)
            total += 0 if item is None else item_size(item)
            if total > MOST_BYTES:
                unprocessed.setdefault(name, {**each, "Keys": []})["Keys"].append(given)
            elif item is not None:
                responses[name].append(request.projected(item))
            units.append((name, read_units(item_size(item or {}), consistent=bool(each.get("ConsistentRead")))))
    reply: Reply = {"Responses": responses, "UnprocessedKeys": unprocessed}
    return with_capacity(reply, params, units, several=True)


def batch_write_item(state: State, params: Mapping[str, Any]) -> Reply:
    """Puts and deletes without conditions, each of them on its own."""
    wanted: Mapping[str, Any] = params["RequestItems"]
    count = sum(map(len, wanted.values()))
    if not 1 <= count <= MOST_WRITES:
        msg = f"1 to {MOST_WRITES} items can be written at once, not {count}"
        refuse(msg)
    writes: list[Write] = []
    seen: set[object] = set()
    for name, requests in wanted.items():
        for request in requests:
            ((kind, inner),) = request.items()
            operation = {"PutRequest": "Put", "DeleteRequest": "Delete"}[kind]
            write, _ = prepared_write(state, operation, {**inner, "TableName": name})
            identity = (name, write.table.identity(write.key))
            if identity in seen:
                refuse("Provided list of item keys contains duplicates")
            seen.add(identity)
            writes.append(write)
    for write in writes:
        write.make()
    units = ((write.table.name, write.units) for write in writes)
    return with_capacity({"UnprocessedItems": {}}, params, units, several=True)
