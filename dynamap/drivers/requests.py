"""The body of a request as JSON, and the few parameters that botocore still needs beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from dynamap.codec import to_json

__all__ = ["OPERATIONS", "body_of", "small_params"]

_Small: TypeAlias = "Callable[[Mapping[str, Any], dict[str, Any]], dict[str, Any] | None]"


def body_of(params: Mapping[str, Any]) -> bytes | None:
    """The parameters as the service reads them, bytes as base64; None where something else is to judge them."""
    try:
        return to_json(params)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None


def small_params(operation: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
    """What botocore accepts in place of *params* and finds the endpoint by; None where it had better see all.

    Its rules for endpoints look for the tables' names, in the same places.
    """
    small = {name: value for name, value in params.items() if type(value) in _PLAIN}
    return OPERATIONS[operation](params, small)


_PLAIN = (str, bool, int)


def _with_table(_params: Mapping[str, Any], small: dict[str, Any]) -> dict[str, Any] | None:
    return small if "TableName" in small else None


def _with_key(params: Mapping[str, Any], small: dict[str, Any]) -> dict[str, Any] | None:
    return small | {"Key": {}} if "TableName" in small and "Key" in params else None


def _with_item(params: Mapping[str, Any], small: dict[str, Any]) -> dict[str, Any] | None:
    return small | {"Item": {}} if "TableName" in small and "Item" in params else None


def _with_tables(one: Any) -> _Small:
    """For batches: each table's name, with as little as is accepted below it."""

    def made(params: Mapping[str, Any], small: dict[str, Any]) -> dict[str, Any] | None:
        items = params.get("RequestItems")
        if not isinstance(items, dict) or not items:
            return None
        return small | {"RequestItems": dict.fromkeys(cast("dict[str, Any]", items), one)}

    return made


_REQUIRED: dict[str, dict[str, Any]] = {
    "Put": {"Item": {}},
    "Delete": {"Key": {}},
    "Get": {"Key": {}},
    "Update": {"Key": {}, "UpdateExpression": "-"},
    "ConditionCheck": {"Key": {}, "ConditionExpression": "-"},
}


def _with_steps(params: Mapping[str, Any], small: dict[str, Any]) -> dict[str, Any] | None:
    """For transactions: one step for each kind and table, the first first."""
    steps = params.get("TransactItems")
    if not isinstance(steps, list) or not steps:
        return None
    found: dict[tuple[str, str], Any] = {}
    try:
        for step in cast("Sequence[Any]", steps):
            ((kind, inner),) = step.items()
            table = inner["TableName"]
            if (kind, table) not in found:
                if not isinstance(table, str):
                    return None
                found[kind, table] = {kind: {"TableName": table, **_REQUIRED[kind]}}
    except (AttributeError, KeyError, TypeError, ValueError):
        # it has no such parts
        return None
    return small | {"TransactItems": list(found.values())}


OPERATIONS: dict[str, _Small] = {
    "GetItem": _with_key,
    "PutItem": _with_item,
    "UpdateItem": _with_key,
    "DeleteItem": _with_key,
    "Query": _with_table,
    "Scan": _with_table,
    "BatchGetItem": _with_tables({"Keys": [{}]}),
    "BatchWriteItem": _with_tables([{}]),
    "TransactGetItems": _with_steps,
    "TransactWriteItems": _with_steps,
}
"""The operations on items; those on tables are rare, and their answers hold times."""
