"""Query and Scan.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Query.html
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from dynamap.plan import Reply
from dynamap.testing.memory.expressions import Comparison, Path, parse_condition, parse_projection
from dynamap.testing.memory.failures import refuse
from dynamap.testing.memory.requests import Request, State, read_units, with_capacity
from dynamap.testing.memory.tables import Index, MemoryTable
from dynamap.testing.memory.values import Item, item_size, kind_of, stored

__all__ = ["query", "scan"]

PAGE_BYTES = 1024 * 1024
_RANGES = ("=", "<", "<=", ">", ">=", "BETWEEN", "begins_with")
_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def query(state: State, params: Mapping[str, Any]) -> Reply:
    """One page of a partition."""
    request = Request(state, params)
    index = _index_of(request)
    if "KeyConditionExpression" not in params:
        refuse("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
    condition = parse_condition(params["KeyConditionExpression"], "KeyConditionExpression")
    condition.check(request.parameters)
    if condition.conjuncts is None:
        refuse("Invalid operator used in KeyConditionExpression: OR or NOT")
    _check_key_condition(condition.conjuncts, request, index)
    found = [item for item in request.table.items.values() if index.holds(item)]
    found = [item for item in found if condition.test(item, request.parameters)]
    ordered = request.table.ordered(found, index)
    if params.get("ScanIndexForward", True) is False:
        ordered.reverse()
    return _page(request, index, ordered)


def scan(state: State, params: Mapping[str, Any]) -> Reply:
    """One page of a table or index, or of one segment of it."""
    request = Request(state, params)
    index = _index_of(request)
    segment, total = params.get("Segment"), params.get("TotalSegments")
    if (segment is None) != (total is None) or (segment is not None and not 0 <= segment < (total or 0)):
        refuse("The Segment parameter is zero-based and must be less than parameter TotalSegments")
    found = request.table.ordered(request.table.items.values(), index)
    if total is not None:
        found = [item for item in found if _spread(item, index) % total == segment]
    return _page(request, index, found)


def _spread(item: Item, index: Index) -> int:
    return zlib.crc32(repr([item[name] for name in index.partition]).encode())


def _index_of(request: Request) -> Index:
    index = request.table.index(request.params.get("IndexName"))
    if index.is_global and request.params.get("ConsistentRead"):
        refuse("Consistent reads are not supported on global secondary indexes")
    limit = request.params.get("Limit")
    if limit is not None and limit < 1:
        refuse("1 validation error detected: Value at 'limit' failed to satisfy constraint: at least 1")
    return index


def _check_key_condition(conjuncts: Sequence[Comparison], request: Request, index: Index) -> None:
    """Raise CallFailed unless every partition key is equal to a value, and the sort keys are bounded from the left."""
    words: dict[str, str] = {}
    for comparison in conjuncts:
        name = _compared_key(comparison, request)
        if name in words:
            refuse("Invalid KeyConditionExpression: KeyConditionExpressions must only contain one condition per key")
        words[name] = _MIRRORED.get(comparison.word, comparison.word) if _is_reversed(comparison) else comparison.word
    for name in index.partition:
        if words.pop(name, None) != "=":
            msg = f"Query condition missed key schema element: {name}"
            refuse(msg)
    open_end = False
    for name in index.sort:
        word = words.pop(name, None)
        if word is not None and open_end:
            msg = f"Query condition missed key schema element before {name}"
            refuse(msg)
        open_end = word != "="
    if words:
        msg = f"Query key condition not supported: {', '.join(words)} is no key of the table or index"
        refuse(msg)


def _is_reversed(comparison: Comparison) -> bool:
    """Whether the value stands before the key."""
    return isinstance(comparison.operands[0], str) and comparison.word in _MIRRORED


def _compared_key(comparison: Comparison, request: Request) -> str:
    """The attribute that a part of a key condition is about. Raises CallFailed."""
    first, *others = comparison.operands[::-1] if _is_reversed(comparison) else comparison.operands
    if not isinstance(first, Path) or len(first.steps) != 1 or not all(isinstance(each, str) for each in others):
        refuse("Invalid KeyConditionExpression: a key attribute is compared with values")
    if comparison.word not in _RANGES:
        msg = f"Invalid operator used in KeyConditionExpression: {comparison.word}"
        refuse(msg)
    name = str(first.resolved(request.parameters)[0])
    wanted = request.table.types.get(name)
    for other in others:
        if wanted is not None and kind_of(request.parameters.value(str(other))) != wanted:
            msg = (
                "One or more parameter values were invalid: Condition parameter type does not match schema type of "
                f"{name}"
            )
            refuse(msg)
    return name


def _page(request: Request, index: Index, found: list[Item]) -> Reply:
    params, table = request.params, request.table
    if index.is_global and _asks_for_more(index, request):
        refuse("One or more parameter values were invalid: The index does not project all requested attributes")
    filtering = _filter_of(request, index, is_query="KeyConditionExpression" in params)
    request.check_projection()
    request.parameters.check_all_used()
    start = _start_of(request, index)
    if start is not None:
        place = table.place(start, index)
        if params.get("ScanIndexForward", True) is False:
            found = [item for item in found if table.place(item, index) < place]
        else:
            found = [item for item in found if table.place(item, index) > place]
    limit = params.get("Limit")
    taken: list[Item] = []
    size = 0
    for item in found:
        taken.append(item)
        size += item_size(_seen(item, index, request))
        if len(taken) == limit or size >= PAGE_BYTES:
            break
    views = [_seen(item, index, request) for item in taken]
    if filtering is not None:
        views = [view for view in views if filtering.test(view, request.parameters)]
    reply: Reply = {"Count": len(views), "ScannedCount": len(taken)}
    if params.get("Select") != "COUNT":
        reply["Items"] = [request.projected(view) for view in views]
    # with a limit there is a next key even if nothing follows: the service does not look ahead
    if taken and (len(taken) < len(found) or len(taken) == limit):
        reply["LastEvaluatedKey"] = _next_key(taken[-1], table, index)
    units = read_units(size, consistent=bool(params.get("ConsistentRead")))
    return with_capacity(reply, params, [(table.name, units)])


def _seen(item: Item, index: Index, request: Request) -> Item:
    """What a request sees of an item: a local index fetches from the table what is asked for and not projected."""
    return item if not index.is_global and _asks_for_more(index, request) else index.view(item)


def _asks_for_more(index: Index, request: Request) -> bool:
    if index.projected is None:
        return False
    if request.params.get("Select") == "ALL_ATTRIBUTES":
        return True
    text = request.params.get("ProjectionExpression")
    if text is None:
        return False
    return any(path.resolved(request.parameters)[0] not in index.projected for path in parse_projection(text)[0])


def _next_key(item: Item, table: MemoryTable, index: Index) -> Item:
    return {name: dict(item[name]) for name in dict.fromkeys((*table.primary.keys, *index.keys))}


def _filter_of(request: Request, index: Index, *, is_query: bool) -> Any:
    text = request.params.get("FilterExpression")
    if text is None:
        return None
    condition = parse_condition(text, "FilterExpression")
    condition.check(request.parameters)
    if is_query:
        for path in condition.paths(request.parameters):
            if path[0] in index.keys:
                msg = f"Filter Expression can only contain non-primary key attributes: Primary key attribute: {path[0]}"
                refuse(msg)
    return condition


def _start_of(request: Request, index: Index) -> Item | None:
    given = request.params.get("ExclusiveStartKey")
    if not given:
        return None
    key = {name: stored(wire) for name, wire in given.items()}
    wanted = dict.fromkeys((*request.table.primary.keys, *index.keys))
    if sorted(key) != sorted(wanted) or any(kind_of(wire) != request.table.types[name] for name, wire in key.items()):
        refuse("The provided starting key is invalid")
    return key
