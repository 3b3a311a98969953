"""From a table's description to the requests that create and delete it."""

from __future__ import annotations

import re
from typing import Any

from dynamap.errors import RequestError
from dynamap.model import Table

__all__ = ["check_table_name", "create_params"]

# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
_TABLE_NAME = re.compile(r"[A-Za-z0-9_.-]{3,255}\Z")


def check_table_name(name: str) -> None:
    """Raise RequestError for a name that DynamoDB does not take."""
    if not _TABLE_NAME.match(name):
        msg = f"{name!r} is no table name: 3 to 255 letters, digits, dots, dashes and underscores"
        raise RequestError(msg)


def create_params(
    table: Table, name: str, *, read_capacity: int | None = None, write_capacity: int | None = None
) -> dict[str, Any]:
    """The CreateTable request: on demand, or with both capacities provisioned. Raises RequestError."""
    check_table_name(name)
    keys = [(table.layout.pk, "HASH")]
    if table.layout.sk is not None:
        keys.append((table.layout.sk, "RANGE"))
    params: dict[str, Any] = {
        "TableName": name,
        "AttributeDefinitions": [{"AttributeName": attribute, "AttributeType": "S"} for attribute, _ in keys],
        "KeySchema": [{"AttributeName": attribute, "KeyType": kind} for attribute, kind in keys],
    }
    if read_capacity is None and write_capacity is None:
        return {**params, "BillingMode": "PAY_PER_REQUEST"}
    for option, capacity in (("read_capacity", read_capacity), ("write_capacity", write_capacity)):
        if isinstance(capacity, bool) or not isinstance(capacity, int) or capacity < 1:
            msg = (
                f"{option} is {capacity!r}: a provisioned table takes whole read_capacity and write_capacity from 1 on; "
                f"leave both out for a table on demand"
            )
            raise RequestError(msg)
    return {
        **params,
        "BillingMode": "PROVISIONED",
        "ProvisionedThroughput": {"ReadCapacityUnits": read_capacity, "WriteCapacityUnits": write_capacity},
    }
