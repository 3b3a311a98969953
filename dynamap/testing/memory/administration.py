"""Calls about tables themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dynamap.plan import Reply
from dynamap.testing.memory.failures import refuse
from dynamap.testing.memory.requests import State
from dynamap.testing.memory.tables import described, table_of

__all__ = [
    "create_table",
    "delete_table",
    "describe_table",
    "describe_time_to_live",
    "list_tables",
    "update_table",
    "update_time_to_live",
]


def create_table(state: State, params: Mapping[str, Any]) -> Reply:
    """Create a table, at once ACTIVE."""
    table = table_of(params)
    if table.name in state.tables:
        refuse(f"Table already exists: {table.name}", "ResourceInUseException")
    state.tables[table.name] = table
    return {"TableDescription": described(table)}


def describe_table(state: State, params: Mapping[str, Any]) -> Reply:
    """What a table is."""
    return {"Table": described(state.table(params["TableName"]))}


def delete_table(state: State, params: Mapping[str, Any]) -> Reply:
    """Delete a table, at once."""
    description = described(state.table(params["TableName"]))
    del state.tables[params["TableName"]]
    return {"TableDescription": {**description, "TableStatus": "DELETING"}}


def update_table(state: State, params: Mapping[str, Any]) -> Reply:
    """Change capacity, streams and global indexes, at once."""
    table = state.table(params["TableName"])
    created = dict(table.created)
    changes = {"BillingMode", "ProvisionedThroughput", "StreamSpecification", "AttributeDefinitions"}
    created.update({name: value for name, value in params.items() if name in changes})
    indexes = list(created.get("GlobalSecondaryIndexes") or ())
    for change in params.get("GlobalSecondaryIndexUpdates", ()):
        if "Create" in change:
            indexes.append(change["Create"])
        elif "Delete" in change:
            indexes = [each for each in indexes if each["IndexName"] != change["Delete"]["IndexName"]]
    created["GlobalSecondaryIndexes"] = indexes
    changed = table_of({**created, "TableName": table.name})
    state.tables[table.name] = replace(
        changed, ttl=table.ttl, items=table.items, version=table.version, created=created
    )
    return {"TableDescription": described(state.tables[table.name])}


def update_time_to_live(state: State, params: Mapping[str, Any]) -> Reply:
    """Name the attribute that says when items expire."""
    table = state.table(params["TableName"])
    wanted = params["TimeToLiveSpecification"]
    if wanted["Enabled"] == (table.ttl is not None):
        msg = f"TimeToLive is already {'enabled' if wanted['Enabled'] else 'disabled'}"
        refuse(msg)
    table.ttl = wanted["AttributeName"] if wanted["Enabled"] else None
    return {"TimeToLiveSpecification": wanted}


def describe_time_to_live(state: State, params: Mapping[str, Any]) -> Reply:
    """Which attribute says when items expire."""
    ttl = state.table(params["TableName"]).ttl
    if ttl is None:
        return {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}
    return {"TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": ttl}}


def list_tables(state: State, params: Mapping[str, Any]) -> Reply:
    """The names of all tables, on one page."""
    del params
    return {"TableNames": sorted(state.tables)}
