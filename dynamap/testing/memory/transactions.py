"""TransactWriteItems and TransactGetItems.

https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dynamap.plan import CallFailed, Reply
from dynamap.testing.memory.failures import refuse
from dynamap.testing.memory.requests import Request, State, Write, prepared_write, read_units, with_capacity
from dynamap.testing.memory.values import item_size, stored

__all__ = ["transact_get_items", "transact_write_items"]

MOST_ACTIONS = 100
MOST_BYTES = 4 * 1024 * 1024
TOKEN_SECONDS = 600.0
# so many items are never too large together
_FEW = 10
_KINDS = ("Put", "Update", "Delete", "ConditionCheck")
# what only the item can show: the others are mistakes of the whole request
_BY_ITEM = (
    "An operand in the update expression",
    "The document path provided in the update",
    "The provided expression refers to an attribute",
    "Attempting to store more than 38",
    "Number overflow",
    "Number underflow",
    "Item size",
    "One or more parameter values were invalid: Type mismatch for Index Key",
)


def transact_write_items(state: State, params: Mapping[str, Any]) -> Reply:
    """All of the writes or none; the same token and parameters again within ten minutes are one transaction."""
    actions: Sequence[Mapping[str, Any]] = params["TransactItems"]
    _check_count(actions)
    token = params.get("ClientRequestToken")
    fingerprint = repr(actions)
    if token is not None:
        known = state.tokens.get(token)
        if known is not None and state.clock() < known[0]:
            if known[1] != fingerprint:
                msg = "The provided idempotency token is in use with other parameters"
                refuse(msg, "IdempotentParameterMismatchException")
            return {}
    writes = _prepare_all(state, actions)
    for write in writes:
        write.make()
    if token is not None:
        state.tokens[token] = (state.clock() + TOKEN_SECONDS, fingerprint)
    units = ((write.table.name, 2.0 * write.units) for write in writes)
    return with_capacity({}, params, units, several=True)


def _prepare_all(state: State, actions: Sequence[Mapping[str, Any]]) -> list[Write]:
    writes: list[Write] = []
    reasons: list[dict[str, Any]] = []
    seen: set[object] = set()
    for action in actions:
        ((kind, inner),) = action.items()
        if kind not in _KINDS or (kind in ("Update", "ConditionCheck") and f"{_needed(kind)}Expression" not in inner):
            msg = f"Member must not be null: {kind} {_needed(kind)}Expression"
            refuse(msg)
        request = Request(state, inner)
        key = inner["Item"] if kind == "Put" else inner["Key"]
        wire = {name: stored(key[name]) for name in request.table.primary.keys if name in key}
        request.table.check_keys_of(wire)
        identity = (request.table.name, request.table.identity(wire))
        if identity in seen:
            refuse("Transaction request cannot include multiple operations on one item")
        seen.add(identity)
        try:
            write, _ = prepared_write(state, kind, inner)
        except CallFailed as failed:
            reasons.append(_reason(failed))
            continue
        reasons.append({"Code": "None"})
        writes.append(write)
    if len(writes) < len(actions):
        codes = ", ".join(reason["Code"] for reason in reasons)
        msg = f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]"
        refuse(msg, "TransactionCanceledException", reasons=reasons)
    if len(writes) > _FEW and sum(item_size(write.new or {}) for write in writes) > MOST_BYTES:
        refuse("The total size of the items in the transaction exceeds 4 MB")
    return writes


def _needed(kind: str) -> str:
    return "Update" if kind == "Update" else "Condition"


def _reason(failed: CallFailed) -> dict[str, Any]:
    """The failure as a reason of the cancellation; what is wrong with the request itself is raised as it is."""
    if failed.code == "ConditionalCheckFailedException":
        reason: dict[str, Any] = {"Code": "ConditionalCheckFailed", "Message": failed.message}
        return reason if failed.item is None else {**reason, "Item": failed.item}
    if failed.code == "ValidationException" and failed.message.startswith(_BY_ITEM):
        return {"Code": "ValidationError", "Message": failed.message}
    raise failed


def transact_get_items(state: State, params: Mapping[str, Any]) -> Reply:
    """Items as they all were at one moment, in the order of the request."""
    gets: Sequence[Mapping[str, Any]] = params["TransactItems"]
    _check_count(gets)
    responses: list[dict[str, Any]] = []
    seen: set[object] = set()
    units: list[tuple[str, float]] = []
    for each in gets:
        request = Request(state, each["Get"])
        key = request.key()
        identity = (request.table.name, request.table.identity(key))
        if identity in seen:
            refuse("Transaction request cannot include multiple operations on one item")
        seen.add(identity)
        request.check_projection()
        request.parameters.check_all_used()
        item = request.table.get(key)
        responses.append({} if item is None else {"Item": request.projected(item)})
        units.append((request.table.name, 2.0 * read_units(item_size(item or {}), consistent=True)))
    return with_capacity({"Responses": responses}, params, units, several=True)


def _check_count(actions: Sequence[object]) -> None:
    if not 1 <= len(actions) <= MOST_ACTIONS:
        msg = f"A transaction has 1 to {MOST_ACTIONS} actions, not {len(actions)}"
        refuse(msg)
