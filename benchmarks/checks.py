"""Whether a peer did the work: what it answered is what the stub sent, and what it sent is what it was given."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any

from benchmarks.answers import BATCH_GET, BATCH_WRITE, ENTITY_ATTRIBUTE, MIXED, PAGE, TRANSACT, mixed_numbers
from benchmarks.items import ORDER, TYPE_ATTRIBUTE, Kind, expected, plain
from benchmarks.server import Seen
from benchmarks.works import UPDATE, UPDATE_IF, UPDATED


class WrongWork(Exception):
    """A peer did something else than the others: its figures would mean nothing."""


def _value(wire: Mapping[str, Any]) -> Any:
    """The value of DynamoDB's form, with bytes as JSON has them or as botocore does."""
    ((kind, held),) = wire.items()
    if kind == "N":
        return Decimal(held)
    if kind == "B":
        return b64decode(held) if isinstance(held, str) else bytes(held)
    if kind == "SS":
        return set(held)
    if kind == "M":
        return unwired(held)
    if kind == "L":
        return [_value(each) for each in held]
    return None if kind == "NULL" else held


def unwired(item: Mapping[str, Any]) -> dict[str, Any]:
    """An item of DynamoDB's form as plain values."""
    return {name: _value(value) for name, value in item.items()}


def _is_wire(item: Any) -> bool:
    return isinstance(item, Mapping) and isinstance(item.get("pk"), Mapping)


def _read(item: Any, kind: Kind) -> dict[str, Any]:
    """What a peer answered for one item, which must say of which type it is."""
    known = unwired(item) if _is_wire(item) else item
    if isinstance(known, Mapping):
        name = known.get(TYPE_ATTRIBUTE, known.get(ENTITY_ATTRIBUTE))
        if name != kind.name:
            msg = f"an item is told to be a {name}, and is a {kind.name}"
            raise WrongWork(msg)
    elif type(known).__name__ != kind.class_name:
        msg = f"an item is a {type(known).__name__}, and should be a {kind.class_name}"
        raise WrongWork(msg)
    return plain(known, kind)


def _same(what: str, found: Any, right: Any) -> None:
    if found != right:
        msg = f"{what}: {str(found)[:300]} instead of {str(right)[:300]}"
        raise WrongWork(msg)


def _page(reply: Any) -> Any:
    """The items of a reply; bare clients answer more than these."""
    if isinstance(reply, Mapping):
        if "Responses" in reply:
            (items,) = reply["Responses"].values()
            return items
        return reply.get("Items", reply.get("Item", reply))
    return reply


def _number(item: Any) -> str:
    found = item["number"] if isinstance(item, Mapping) else item.number
    return str(found["S"] if isinstance(found, Mapping) else found)


def _check_items(what: str, found: Iterable[Any], right: list[tuple[Kind, int]]) -> None:
    items = list(found)
    _same(f"{what}, number of items", len(items), len(right))
    for item, (kind, number) in zip(items, right, strict=True):
        _same(f"{what}, {kind.name} {number}", _read(item, kind), expected(kind, number))


def _check_get(reply: Any, seen: Seen) -> None:
    _check_items("get", [_page(reply)], [(ORDER, 1)])
    _check_key("get", seen.body["Key"], 1)


def _check_key(what: str, found: Any, number: int) -> None:
    _same(f"{what}, key", unwired(found), ORDER.key(number))


def _sent(item: Any) -> dict[str, Any]:
    """An item that was sent, under its number."""
    return plain(unwired(item), ORDER)


def _check_put(_reply: Any, seen: Seen) -> None:
    item = seen.body["Item"]
    number = int(item["number"]["S"])
    _check_key("put", {name: item[name] for name in ("pk", "sk")}, number)
    _same("put", _sent(item), expected(ORDER, number))


def _check_update(reply: Any, seen: Seen) -> None:
    # some ask for the new item and put it into the old instance, or ask for nothing
    if seen.body.get("ReturnValues") == "ALL_NEW" and reply is not None:
        _check_items("update", [reply], [(ORDER, UPDATED)])
    _check_key("update", seen.body["Key"], UPDATED)
    values = [_value(value) for value in seen.body["ExpressionAttributeValues"].values()]
    missing = [right for right in (*UPDATE.values(), UPDATE_IF) if right not in values]
    _same("update, values that were not sent", missing, [])
    if "ConditionExpression" not in seen.body:
        msg = "update: it was sent without its condition"
        raise WrongWork(msg)


def _check_query(reply: Any, _seen: Seen) -> None:
    _check_items("query", _page(reply), [(ORDER, number) for number in range(PAGE)])


def _check_mixed(reply: Any, _seen: Seen) -> None:
    # a peer may group them by type: by number and type the order is the same for all
    right = sorted(mixed_numbers(MIXED), key=lambda each: (each[1], each[0].name))
    found = _page(reply)
    _same("query_5_types, number of items", len(found), len(right))
    _check_items("query_5_types", sorted(found, key=lambda item: (_number(item), _type_name(item))), right)


def _type_name(item: Any) -> str:
    if not isinstance(item, Mapping):
        return type(item).__name__.upper()
    found = item.get(TYPE_ATTRIBUTE, item.get(ENTITY_ATTRIBUTE))
    return str(found["S"] if isinstance(found, Mapping) else found)


def _check_batch_get(reply: Any, seen: Seen) -> None:
    _check_items("batch_get", sorted(_page(reply), key=_number), [(ORDER, number) for number in range(BATCH_GET)])
    (asked,) = seen.body["RequestItems"].values()
    _same("batch_get, number of keys", len(asked["Keys"]), BATCH_GET)


def _check_batch_write(_reply: Any, seen: Seen) -> None:
    (puts,) = seen.body["RequestItems"].values()
    found = sorted((_sent(put["PutRequest"]["Item"]) for put in puts), key=_number)
    _same("batch_write", found, [expected(ORDER, number) for number in range(BATCH_WRITE)])


def _check_transact(_reply: Any, seen: Seen) -> None:
    found = [_sent(write["Put"]["Item"]) for write in seen.body["TransactItems"]]
    _same("transact", found, [expected(ORDER, number) for number in range(TRANSACT)])


_CHECKS: Mapping[str, Callable[[Any, Seen], None]] = {
    "get": _check_get,
    "put": _check_put,
    "update": _check_update,
    "query": _check_query,
    "query_5_types": _check_mixed,
    "batch_get": _check_batch_get,
    "batch_write": _check_batch_write,
    "transact": _check_transact,
}


def check(work: str, reply: Any, seen: Seen) -> None:
    """Raise WrongWork unless this reply, and what the stub saw, are the work, done in one call."""
    _same(f"{work}, number of calls", seen.calls, 1)
    _CHECKS[work](reply, seen)
