"""What a simulation runs on: the engine in memory, or a server; and what stands there, as raw items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from dynamap.drivers import ClientOptions, SyncDriver
from dynamap.model import Table
from dynamap.plan import Call, Item, Plan, Reply
from dynamap.schema import create_params
from dynamap.testing.memory import MemoryEngine, Snapshot

__all__ = ["Backend", "MemoryBackend", "ServerBackend", "is_eventual_read", "is_write"]

_READS = ("GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems", "DescribeTable")


class Backend(Protocol):
    """Answers calls one by one, in the thread that makes them."""

    def send(self, call: Call, /) -> Reply:
        """The reply. Raises CallFailed."""
        ...

    def items(self) -> list[Item]:
        """Every item of the table."""
        ...

    def version(self) -> int:
        """A number that changes whenever items may have changed."""
        ...

    def snapshot(self) -> Snapshot:
        """What stands in the table now, for a replica."""
        ...

    def answer_from(self, snapshot: Snapshot, call: Call, /) -> Reply:
        """What a replica answers that has come as far as a snapshot. Raises CallFailed."""
        ...


class MemoryBackend:
    """A table in the engine in memory; made at once, gone with this object."""

    def __init__(self, table: Table, name: str) -> None:
        self._name = name
        self._engine = MemoryEngine()
        self._engine.answer(Call("CreateTable", create_params(table, name)))
        self.send = self._engine.answer
        self.answer_from = self._engine.answer_from

    def items(self) -> list[Item]:
        """Every item of the table."""
        return self._engine.items(self._name)

    def version(self) -> int:
        """A number that changes with every change of an item."""
        return self._engine.version

    def snapshot(self) -> Snapshot:
        """What stands in the table now."""
        return self._engine.snapshot()


class ServerBackend:
    """A table on a server. Replicas are simulated from what a strong scan brings."""

    def __init__(self, table: Table, name: str, client: Any | ClientOptions) -> None:
        self._name = name
        self._driver = SyncDriver(client)
        self._replica = MemoryEngine()
        self._params = create_params(table, name)
        self._replica.answer(Call("CreateTable", self._params))
        self._writes = 0

    def send(self, call: Call, /) -> Reply:
        """The reply. Raises CallFailed."""
        self._writes += is_write(call)
        return self._driver.run(_one(call))

    def items(self) -> list[Item]:
        """Every item of the table."""
        found: list[Item] = []
        params: dict[str, Any] = {"TableName": self._name, "ConsistentRead": True}
        while True:
            reply = self._driver.run(_one(Call("Scan", params)))
            found += reply["Items"]
            if not reply.get("LastEvaluatedKey"):
                return found
            params = {**params, "ExclusiveStartKey": reply["LastEvaluatedKey"]}

    def version(self) -> int:
        """How many writes there have been."""
        return self._writes

    def snapshot(self) -> Snapshot:
        """What stands in the table now."""
        self._replica.load(self._name, self.items())
        return self._replica.snapshot()

    def answer_from(self, snapshot: Snapshot, call: Call, /) -> Reply:
        """What a replica answers that has come as far as a snapshot. Raises CallFailed."""
        return self._replica.answer_from(snapshot, call)

    def close(self) -> None:
        """Close the client if it was made here."""
        self._driver.close()


def _one(call: Call) -> Plan[Reply]:
    reply: Reply = yield call
    return reply


def is_write(call: Call) -> bool:
    """Whether a call may change items."""
    return call.operation not in _READS


def is_eventual_read(call: Call) -> bool:
    """Whether a call may be answered by a replica that lags behind."""
    if call.operation == "BatchGetItem":
        tables: Mapping[str, Mapping[str, Any]] = call.params["RequestItems"]
        return not any(each.get("ConsistentRead") for each in tables.values())
    return call.operation in ("GetItem", "Query", "Scan") and not call.params.get("ConsistentRead")


def sorted_by_key(items: Sequence[Item], keys: Sequence[str]) -> list[Item]:
    """Items in an order that does not depend on the server."""
    return sorted(items, key=lambda item: [repr(item[name]) for name in keys])
