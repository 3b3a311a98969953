"""A small, strict DynamoDB in memory, at the level of calls: parameters in, a reply or CallFailed out."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from dynamap.plan import Call, Reply
from dynamap.testing.memory import administration, batches, queries, singles, transactions
from dynamap.testing.memory.failures import refuse
from dynamap.testing.memory.requests import State, copied_item
from dynamap.testing.memory.tables import Identity
from dynamap.testing.memory.values import Item, stored

__all__ = ["MemoryEngine", "Snapshot"]

Snapshot: TypeAlias = "Mapping[str, Mapping[Identity, Item]]"
"""The items of every table at one moment; not to be changed."""

_HANDLERS: Mapping[str, Callable[[State, Mapping[str, Any]], Reply]] = {
    "BatchGetItem": batches.batch_get_item,
    "BatchWriteItem": batches.batch_write_item,
    "CreateTable": administration.create_table,
    "DeleteItem": singles.delete_item,
    "DeleteTable": administration.delete_table,
    "DescribeTable": administration.describe_table,
    "DescribeTimeToLive": administration.describe_time_to_live,
    "GetItem": singles.get_item,
    "ListTables": administration.list_tables,
    "PutItem": singles.put_item,
    "Query": queries.query,
    "Scan": queries.scan,
    "TransactGetItems": transactions.transact_get_items,
    "TransactWriteItems": transactions.transact_write_items,
    "UpdateItem": singles.update_item,
    "UpdateTable": administration.update_table,
    "UpdateTimeToLive": administration.update_time_to_live,
}


class MemoryEngine:
    """Tables in memory. `answer` does what DynamoDB would do with a call, at once and one call after the other.

    *clock* answers epoch seconds; it only decides how long tokens of transactions are remembered. Nothing expires by
    itself: a TTL attribute is stored like any other, as DynamoDB does for up to days. Answers PutItem, GetItem,
    UpdateItem, DeleteItem, Query, Scan, BatchGetItem, BatchWriteItem, TransactWriteItems, TransactGetItems, and the
    calls that create, describe, change and delete tables.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._state = State(clock)
        self._lock = threading.RLock()

    def answer(self, call: Call) -> Reply:
        """The reply to a call. Raises CallFailed, as a driver does, for an error of the service."""
        return self._answer(self._state, call)

    def _answer(self, state: State, call: Call) -> Reply:
        handler = _HANDLERS.get(call.operation)
        if handler is None:
            msg = f"the engine in memory does not know {call.operation}"
            refuse(msg, "UnknownOperationException")
        with self._lock:
            return handler(state, call.params)

    # ---- looking in from outside

    def has_table(self, name: str) -> bool:
        """Whether there is a table of this name."""
        return name in self._state.tables

    def items(self, table_name: str) -> list[Item]:
        """Copies of all items of a table, in the order of their keys. Raises CallFailed if there is no such table."""
        with self._lock:
            items = self._state.table(table_name).items
            return [copied_item(items[identity]) for identity in sorted(items)]

    def load(self, table_name: str, items: Iterable[Item]) -> None:
        """Let a table hold these items and no others. Raises CallFailed for an item that cannot be stored."""
        with self._lock:
            table = self._state.table(table_name)
            table.items = {}
            for each in items:
                item = {name: stored(wire) for name, wire in each.items()}
                table.check_item(item)
                table.store(item, item)

    @property
    def version(self) -> int:
        """A number that changes with every change of an item."""
        return sum(table.version for table in self._state.tables.values())

    def snapshot(self) -> Snapshot:
        """What every table holds now."""
        with self._lock:
            return {name: dict(table.items) for name, table in self._state.tables.items()}

    def answer_from(self, snapshot: Snapshot, call: Call) -> Reply:
        """The reply to a read that a replica would give which has come no further than a snapshot."""
        tables = {
            name: replace(table, items=dict(snapshot.get(name, {}))) for name, table in self._state.tables.items()
        }
        return self._answer(State(self._state.clock, tables), call)
