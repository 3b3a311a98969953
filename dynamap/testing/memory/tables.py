"""Tables as the engine holds them: their keys, indexes and items."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from dynamap.testing.memory.failures import refuse
from dynamap.testing.memory.values import Item, Wire, exceeds, kind_of, order

__all__ = ["Identity", "Index", "MemoryTable", "described", "table_of"]

Identity: TypeAlias = "tuple[Any, ...]"
"""The key of an item as a value that can be compared."""

MOST_ITEM_BYTES = 400 * 1024
MOST_PK_BYTES = 2048
MOST_SK_BYTES = 1024


@dataclass(frozen=True)
class Index:
    """What can be queried: the table itself, or one of its indexes. *projected* is None for all attributes."""

    name: str | None
    partition: tuple[str, ...]
    sort: tuple[str, ...]
    is_global: bool = False
    projected: tuple[str, ...] | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """Its key attributes."""
        return (*self.partition, *self.sort)

    def holds(self, item: Mapping[str, Wire]) -> bool:
        """Whether an item is in it."""
        return all(name in item for name in self.keys)

    def view(self, item: Item) -> Item:
        """What of an item is in it."""
        if self.projected is None:
            return item
        return {name: wire for name, wire in item.items() if name in self.projected}


@dataclass
class MemoryTable:
    """A table: stored items are never changed in place, so that a copy of `items` is a snapshot."""

    name: str
    types: dict[str, str]
    primary: Index
    indexes: dict[str, Index]
    created: Mapping[str, Any]
    ttl: str | None = None
    items: dict[Identity, Item] = field(default_factory=dict[Identity, Item])
    version: int = 0

    # ---- keys

    def identity(self, item: Mapping[str, Wire]) -> Identity:
        """The key of an item."""
        return tuple(order(item[name]) for name in self.primary.keys)

    def key_of(self, item: Mapping[str, Wire]) -> Item:
        """The key attributes of an item."""
        return {name: item[name] for name in self.primary.keys}

    def check_key(self, key: Mapping[str, Wire]) -> None:
        """Raise CallFailed unless these are the key attributes, and no others."""
        if sorted(key) != sorted(self.primary.keys):
            refuse("The provided key element does not match the schema")
        self.check_keys_of(key)

    def check_keys_of(self, item: Mapping[str, Wire]) -> None:
        """Raise CallFailed for an item whose primary key is missing or cannot be one."""
        for name in self.primary.keys:
            if name not in item:
                msg = f"One or more parameter values were invalid: Missing the key {name} in the item"
                refuse(msg)
            if kind_of(item[name]) != self.types[name]:
                msg = f"One or more parameter values were invalid: Type mismatch for key {name}"
                refuse(msg)
            self._check_key_value(name, item[name], is_partition=name in self.primary.partition)

    def check_item(self, item: Mapping[str, Wire]) -> None:
        """Raise CallFailed for an item that cannot be stored."""
        self.check_keys_of(item)
        for index in self.indexes.values():
            for name in index.keys:
                if name in item and kind_of(item[name]) != self.types[name]:
                    msg = (
                        f"One or more parameter values were invalid: Type mismatch for Index Key {name} Expected: "
                        f"{self.types[name]} Actual: {kind_of(item[name])} IndexName: {index.name}"
                    )
                    refuse(msg)
                if name in item:
                    self._check_key_value(name, item[name], is_partition=name in index.partition)
        if exceeds(item, MOST_ITEM_BYTES):
            refuse("Item size has exceeded the maximum allowed size")

    @staticmethod
    def _check_key_value(name: str, wire: Wire, *, is_partition: bool) -> None:
        kind, value = next(iter(wire.items()))
        if kind == "N":
            return
        size = len(value.encode()) if kind == "S" else len(value)
        if size == 0:
            msg = (
                f"One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an "
                f"empty string value. Key: {name}"
            )
            refuse(msg)
        if size > (MOST_PK_BYTES if is_partition else MOST_SK_BYTES):
            msg = "One or more parameter values were invalid: Size of a key has exceeded the maximum size limit"
            refuse(msg)

    # ---- items

    def get(self, key: Mapping[str, Wire]) -> Item | None:
        """The item under this key; not to be changed."""
        return self.items.get(self.identity(key))

    def store(self, key: Mapping[str, Wire], item: Item | None) -> None:
        """Put an item, or delete what is there."""
        identity = self.identity(key)
        if item is None:
            if self.items.pop(identity, None) is None:
                return
        else:
            self.items[identity] = item
        self.version += 1

    def index(self, name: str | None) -> Index:
        """The index of this name, the table itself without one. Raises CallFailed."""
        if name is None:
            return self.primary
        if name not in self.indexes:
            msg = f"The table does not have the specified index: {name}"
            refuse(msg)
        return self.indexes[name]

    def place(self, item: Mapping[str, Wire], index: Index) -> tuple[Any, ...]:
        """Where an item stands in a scan: partitions in an order that has no meaning, then by sort key."""
        partition = [order(item[name]) for name in index.partition]
        spread = hashlib.blake2b(repr(partition).encode(), digest_size=8).digest()
        inner = [order(item[name]) for name in index.sort]
        return (spread, partition, inner, self.identity(item))

    def ordered(self, items: Iterable[Item], index: Index) -> list[Item]:
        """Items of an index in the order of a scan; those of one partition come by sort key."""
        return sorted((item for item in items if index.holds(item)), key=lambda item: self.place(item, index))


def table_of(params: Mapping[str, Any]) -> MemoryTable:
    """The table that a CreateTable request describes. Raises CallFailed."""
    name = params["TableName"]
    types = {each["AttributeName"]: each["AttributeType"] for each in params["AttributeDefinitions"]}
    primary = _index(None, params["KeySchema"])
    indexes: dict[str, Index] = {}
    for given in params.get("GlobalSecondaryIndexes") or ():
        index = _index(given["IndexName"], given["KeySchema"], is_global=True)
        indexes[index.name or ""] = _projecting(index, primary, given["Projection"])
    for given in params.get("LocalSecondaryIndexes") or ():
        index = _index(given["IndexName"], given["KeySchema"])
        if index.partition != primary.partition:
            refuse("Table KeySchema and the local index's must have the same partition key")
        indexes[index.name or ""] = _projecting(index, primary, given["Projection"])
    used = dict.fromkeys([*primary.keys, *(key for index in indexes.values() for key in index.keys)])
    if sorted(used) != sorted(types):
        msg = (
            f"One or more parameter values were invalid: AttributeDefinitions {sorted(types)} do not match the "
            f"attributes of the keys {sorted(used)}"
        )
        refuse(msg)
    return MemoryTable(name, types, primary, indexes, dict(params))


def _index(name: str | None, schema: Sequence[Mapping[str, str]], *, is_global: bool = False) -> Index:
    partition = tuple(each["AttributeName"] for each in schema if each["KeyType"] == "HASH")
    sort = tuple(each["AttributeName"] for each in schema if each["KeyType"] == "RANGE")
    most = 4 if is_global else 1
    if not 1 <= len(partition) <= most or len(sort) > most:
        refuse("1 validation error detected: KeySchema has too many or too few keys")
    return Index(name, partition, sort, is_global)


def _projecting(index: Index, primary: Index, projection: Mapping[str, Any]) -> Index:
    if projection["ProjectionType"] == "ALL":
        return index
    names = (*primary.keys, *index.keys, *projection.get("NonKeyAttributes", ()))
    return Index(index.name, index.partition, index.sort, index.is_global, tuple(dict.fromkeys(names)))


def described(table: MemoryTable) -> dict[str, Any]:
    """What DescribeTable answers."""
    created = table.created
    arn = f"arn:aws:dynamodb:us-east-1:000000000000:table/{table.name}"
    description: dict[str, Any] = {
        "TableName": table.name,
        "TableStatus": "ACTIVE",
        "TableArn": arn,
        "KeySchema": created["KeySchema"],
        "AttributeDefinitions": created["AttributeDefinitions"],
        "ItemCount": len(table.items),
        "BillingModeSummary": {"BillingMode": created.get("BillingMode", "PROVISIONED")},
        "ProvisionedThroughput": created.get(
            "ProvisionedThroughput", {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0}
        ),
    }
    for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        if created.get(kind):
            description[kind] = [
                {**each, "IndexStatus": "ACTIVE", "IndexArn": f"{arn}/index/{each['IndexName']}"}
                for each in created[kind]
            ]
    if created.get("StreamSpecification"):
        description["StreamSpecification"] = created["StreamSpecification"]
    return description
