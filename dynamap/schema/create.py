"""From a table's description to the requests that create and delete it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from dynamap.errors import RequestError
from dynamap.model import Key, Layout, PhysicalIndex, Table

__all__ = ["check_table_name", "create_params"]

# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
_TABLE_NAME = re.compile(r"[A-Za-z0-9_.-]{3,255}\Z")


def check_table_name(name: str) -> None:
    """Raise RequestError for a name that DynamoDB does not take."""
    given: Any = name
    if not isinstance(given, str) or not _TABLE_NAME.match(given):
        msg = f"{name!r} is no table name: 3 to 255 letters, digits, dots, dashes and underscores"
        raise RequestError(msg)


def create_params(
    table: Table, name: str, *, read_capacity: int | None = None, write_capacity: int | None = None
) -> dict[str, Any]:
    """The CreateTable request: on demand, or with both capacities, which each global index has as well.

    Raises RequestError.
    """
    check_table_name(name)
    layout = table.layout
    attributes = {key.name: key for keys in (layout.keys, *(index.keys for index in layout.indexes)) for key in keys}
    params: dict[str, Any] = {
        "TableName": name,
        "AttributeDefinitions": [
            {"AttributeName": key.name, "AttributeType": key.wire_type} for key in attributes.values()
        ],
        "KeySchema": _schema(layout.keys[:1], layout.keys[1:]),
    }
    for parameter, local in (("GlobalSecondaryIndexes", False), ("LocalSecondaryIndexes", True)):
        indexes = [_index(layout, index) for index in layout.indexes if index.local is local]
        if indexes:
            params[parameter] = indexes
    if read_capacity is None and write_capacity is None:
        return {**params, "BillingMode": "PAY_PER_REQUEST"}
    for option, capacity in (("read_capacity", read_capacity), ("write_capacity", write_capacity)):
        if isinstance(capacity, bool) or not isinstance(capacity, int) or capacity < 1:
            msg = (
                f"{option} is {capacity!r}: a provisioned table takes whole read_capacity and write_capacity from 1 "
                f"on; leave both out for a table on demand"
            )
            raise RequestError(msg)
    throughput = {"ReadCapacityUnits": read_capacity, "WriteCapacityUnits": write_capacity}
    for index in params.get("GlobalSecondaryIndexes", ()):
        index["ProvisionedThroughput"] = throughput
    return {**params, "BillingMode": "PROVISIONED", "ProvisionedThroughput": throughput}


def _schema(partition: Sequence[Key], sort: Sequence[Key]) -> list[dict[str, str]]:
    return [
        {"AttributeName": key.name, "KeyType": kind}
        for kind, keys in (("HASH", partition), ("RANGE", sort))
        for key in keys
    ]


def _index(layout: Layout, index: PhysicalIndex) -> dict[str, Any]:
    projection: dict[str, Any] = {"ProjectionType": index.projection}
    if index.projection == "INCLUDE":
        # keys are always there, and naming one is refused
        keys = [key.name for key in (*layout.keys, *index.keys)]
        projection["NonKeyAttributes"] = [name for name in dict.fromkeys(index.included) if name not in keys]
        if not projection["NonKeyAttributes"]:
            projection = {"ProjectionType": "KEYS_ONLY"}
    return {
        "IndexName": index.name,
        "KeySchema": _schema(index.partition, index.sort),
        "Projection": projection,
    }
