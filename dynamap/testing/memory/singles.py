"""Calls about one item."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dynamap.plan import Reply
from dynamap.testing.memory.failures import refuse
from dynamap.testing.memory.requests import (
    Request,
    State,
    Write,
    copied_item,
    fragment,
    prepared_write,
    read_units,
    with_capacity,
)
from dynamap.testing.memory.updates import parse_update
from dynamap.testing.memory.values import item_size

__all__ = ["delete_item", "get_item", "put_item", "update_item"]


def get_item(state: State, params: Mapping[str, Any]) -> Reply:
    """Read an item."""
    request = Request(state, params)
    item = request.table.get(request.key())
    request.check_projection()
    request.parameters.check_all_used()
    reply: Reply = {} if item is None else {"Item": request.projected(item)}
    consistent = bool(params.get("ConsistentRead"))
    units = ((request.table.name, read_units(item_size(each or {}), consistent=consistent)) for each in (item,))
    return with_capacity(reply, params, units)


def put_item(state: State, params: Mapping[str, Any]) -> Reply:
    """Create or replace an item."""
    _check_return_values(params, "ALL_OLD")
    write, _ = prepared_write(state, "Put", params)
    write.make()
    return _answer_write(params, write)


def delete_item(state: State, params: Mapping[str, Any]) -> Reply:
    """Delete an item."""
    _check_return_values(params, "ALL_OLD")
    write, _ = prepared_write(state, "Delete", params)
    write.make()
    return _answer_write(params, write)


def update_item(state: State, params: Mapping[str, Any]) -> Reply:
    """Change attributes of an item, or create it."""
    _check_return_values(params, "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW")
    write, request = prepared_write(state, "Update", params)
    write.make()
    reply = _answer_write(params, write)
    answers = params.get("ReturnValues", "NONE")
    if answers.startswith("UPDATED_") and params.get("UpdateExpression") is not None:
        paths = parse_update(params["UpdateExpression"]).paths(request.parameters)
        source = write.old if answers == "UPDATED_OLD" else write.new
        attributes = fragment(source or {}, paths)
        if attributes:
            reply["Attributes"] = attributes
    return reply


def _answer_write(params: Mapping[str, Any], write: Write) -> Reply:
    reply: Reply = {}
    answers = params.get("ReturnValues", "NONE")
    shown = {"ALL_OLD": write.old, "ALL_NEW": write.new}.get(answers)
    if shown is not None:
        reply["Attributes"] = copied_item(shown)
    return with_capacity(reply, params, ((each.table.name, each.units) for each in (write,)))


def _check_return_values(params: Mapping[str, Any], *allowed: str) -> None:
    if params.get("ReturnValues", "NONE") not in ("NONE", *allowed):
        refuse("Return values set to invalid value")
