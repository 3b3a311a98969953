"""A request for a person: names and values put back, what it costs, and which limits it comes near."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from dynamap.codec import item_size
from dynamap.plan import Call

__all__ = ["explain"]

_PLACEHOLDER = re.compile(r"[#:]\d+")
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_EXPRESSIONS = {
    "UpdateExpression": "update",
    "ConditionExpression": "condition",
    "KeyConditionExpression": "key",
    "FilterExpression": "filter",
    "ProjectionExpression": "attributes",
}
_MOST_BYTES = 4096
_KB = 1024


def explain(call: Call) -> str:
    """The request as lines of text; the first names the operation and the table."""
    if call.operation == "TransactWriteItems":
        parts = [Call(_named(kind), params) for item in call.params["TransactItems"] for kind, params in item.items()]
        head = f"TransactWriteItems of {len(parts)}, at twice the write units of each"
        return "\n".join([head, *(f"  {line}" for part in parts for line in explain(part).split("\n"))])
    if call.operation in ("BatchGetItem", "BatchWriteItem"):
        parts = list(_requests(call))
        head = f"{call.operation} of {len(parts)}, each on its own"
        return "\n".join([head, *(f"  {line}" for part in parts for line in explain(part).split("\n"))])
    if call.operation == "TransactGetItems":
        gets = [Call("GetItem", {**item["Get"], "ConsistentRead": True}) for item in call.params["TransactItems"]]
        head = f"TransactGetItems of {len(gets)}, at twice the read units of each"
        return "\n".join([head, *(f"  {line}" for get in gets for line in explain(get).split("\n"))])
    if call.operation == "ExecuteStatement":
        values = [f"  parameter  {_value(wire)}" for wire in call.params.get("Parameters", ())]
        return "\n".join([f"ExecuteStatement {call.params['Statement']}", *values])
    index = f", index {call.params['IndexName']}" if "IndexName" in call.params else ""
    lines = [f"{call.operation} on {call.params['TableName']}{index}"]
    lines += [f"  {label:<10} {text}" for label, text in _rows(call)]
    return "\n".join(lines)


def _requests(call: Call) -> Iterator[Call]:
    """The requests of a batch as the calls that would do the same."""
    for table, wanted in call.params["RequestItems"].items():
        if call.operation == "BatchGetItem":
            common = {name: value for name, value in wanted.items() if name != "Keys"}
            for key in wanted["Keys"]:
                yield Call("GetItem", {"TableName": table, "Key": key, **common})
            continue
        for request in wanted:
            for kind, inner in request.items():
                yield Call(f"{kind.removesuffix('Request')}Item", {"TableName": table, **inner})


def _named(kind: str) -> str:
    """The operation by itself of a kind of action; a check has none."""
    return kind if kind == "ConditionCheck" else f"{kind}Item"


def _rows(call: Call) -> Iterator[tuple[str, str]]:
    params = call.params
    for parameter, label in (("Key", "key"), ("Item", "item")):
        if parameter in params:
            yield label, ", ".join(f"{_name(name)} = {_value(wire)}" for name, wire in params[parameter].items())
    for parameter, label in _EXPRESSIONS.items():
        if parameter in params:
            yield label, _restored(params[parameter], params)
    if call.operation in ("Query", "Scan"):
        yield "reads", _reads(call)
    answers = params.get("ReturnValues", "NONE")
    if answers != "NONE":
        yield "answers", answers
    yield "capacity", _capacity(call)
    sizes = [
        f"{label} {len(params[parameter].encode()):,}"
        for parameter, label in _EXPRESSIONS.items()
        if parameter in params
    ]
    if sizes:
        yield "limits", f"{', '.join(sizes)} of {_MOST_BYTES:,} bytes"


def _reads(call: Call) -> str:
    """How much a query or scan reads by this one request, which others may follow, and from where on."""
    params = call.params
    if "Limit" in params:
        filtered = ", before the filter" if "FilterExpression" in params else ""
        parts = [f"{_counted(params['Limit'], 'item')} at most in this request{filtered}"]
    else:
        parts = ["up to 1 MB in this request"]
    if params.get("ScanIndexForward") is False:
        parts.append("from the last key to the first")
    if "TotalSegments" in params:
        parts.append(f"segment {params['Segment'] + 1:,} of {params['TotalSegments']:,}")
    if "ExclusiveStartKey" in params:
        start = ", ".join(f"{_name(name)} = {_value(wire)}" for name, wire in params["ExclusiveStartKey"].items())
        parts.append(f"after {start}")
    if params.get("Select") == "COUNT":
        parts.append("counted only")
    return ", ".join(parts)


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _restored(text: str, params: Mapping[str, Any]) -> str:
    names = params.get("ExpressionAttributeNames", {})
    values = params.get("ExpressionAttributeValues", {})

    def original(match: re.Match[str]) -> str:
        placeholder = match[0]
        return _name(names[placeholder]) if placeholder[0] == "#" else _value(values[placeholder])

    return _PLACEHOLDER.sub(original, text)


def _name(name: str) -> str:
    return name if _PLAIN_NAME.match(name) else f"`{name}`"


def _value(wire: Mapping[str, Any]) -> str:
    kind, value = next(iter(wire.items()))
    if kind == "N":
        return str(value)
    if kind == "NULL":
        return "null"
    if kind == "M":
        return "{" + ", ".join(f"{_name(name)}: {_value(inner)}" for name, inner in value.items()) + "}"
    if kind == "L":
        return "[" + ", ".join(map(_value, value)) + "]"
    if kind in ("SS", "NS", "BS"):
        return "{" + ", ".join(_value({kind[0]: element}) for element in value) + "}"
    if kind == "B":
        return f"{len(value)} bytes"
    return json.dumps(value, ensure_ascii=False)


def _capacity(call: Call) -> str:
    params = call.params
    if call.operation == "GetItem":
        if params.get("ConsistentRead"):
            return "1 read unit for each 4 KB of the item (strongly consistent)"
        return "half a read unit for each 4 KB of the item (eventually consistent)"
    if call.operation in ("Query", "Scan"):
        what = "what the keys select" if call.operation == "Query" else "what is read"
        if params.get("ConsistentRead"):
            return f"1 read unit for each 4 KB of {what}, filtered out or not (strongly consistent)"
        return f"half a read unit for each 4 KB of {what}, filtered out or not (eventually consistent)"
    if call.operation == "PutItem":
        size = item_size(params["Item"])
        units = math.ceil(size / _KB)
        return f"{_counted(units, 'write unit')} for these {size:,} bytes; more if a larger item is replaced"
    if call.operation == "ConditionCheck":
        return "1 write unit for each KB of the item; twice that, as for everything in a transaction"
    return "1 write unit for each KB of the item, before or after, whichever is larger"
