"""The engine in memory against every server: the same random calls must get the same answers."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import event, given, settings
from hypothesis import strategies as st

from dynamap.drivers.interceptor import method_of
from dynamap.plan import Call, CallFailed
from dynamap.testing import MemoryEngine
from tests.backends import Backend
from tests.depth import how_many

N = st.integers(-2, 3).map(lambda number: {"N": str(number)})
S = st.sampled_from(["", "a", "ab", "b"]).map(lambda text: {"S": text})
TEXT = S.filter(lambda wire: wire["S"] != "")
SS = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=3, unique=True).map(lambda texts: {"SS": texts})
L = st.lists(st.one_of(N, TEXT), max_size=3).map(lambda items: {"L": items})
M = st.dictionaries(st.sampled_from(["x", "y"]), N).map(lambda entries: {"M": entries})
ATTRIBUTES = {"n": N, "s": S, "t": SS, "l": L, "m": M}

# each with the strategies of its values; an attribute's type never changes, so that no test is of a wrong type
CONDITIONS: dict[str, dict[str, Any]] = {
    "attribute_exists(#n)": {},
    "attribute_not_exists(#m.#x)": {},
    "#n = :n": {":n": N},
    "#n <> :n": {":n": N},
    "#n < :n": {":n": N},
    "#n >= :n": {":n": N},
    "#n BETWEEN :n AND :p": {":n": N, ":p": st.just({"N": "7"})},
    "#n IN (:n, :p)": {":n": N, ":p": N},
    "#m.#x = :n": {":n": N},
    "#l[1] = :n": {":n": N},
    "begins_with(#s, :s)": {":s": TEXT},
    "contains(#s, :s)": {":s": TEXT},
    "contains(#t, :s)": {":s": TEXT},
    "contains(#l, :n)": {":n": N},
    "size(#s) > :n": {":n": N},
    "size(#t) = :n": {":n": N},
    "attribute_type(#l, :kind)": {":kind": st.sampled_from(["L", "S"]).map(lambda kind: {"S": kind})},
    "#t = :t": {":t": SS},
}
# the attribute that is changed, the clause, and the values
UPDATES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "#n = :a": ("n", "SET", {":a": N}),
    "#n = #n + :a": ("n", "SET", {":a": N}),
    "#n = if_not_exists(#n, :a) - :b": ("n", "SET", {":a": N, ":b": N}),
    "#n = :c - #m.#x": ("n", "SET", {":c": N}),
    "#s = :d": ("s", "SET", {":d": S}),
    "#m = :e": ("m", "SET", {":e": M}),
    "#m.#x = :f": ("m", "SET", {":f": N}),
    "#l = list_append(if_not_exists(#l, :g), :h)": ("l", "SET", {":g": L, ":h": L}),
    "#l[1] = :i": ("l", "SET", {":i": N}),
    "#n :j": ("n", "ADD", {":j": N}),
    "#t :k": ("t", "ADD", {":k": SS}),
    "#t :o": ("t", "DELETE", {":o": SS}),
    "#n": ("n", "REMOVE", {}),
    "#m.#y": ("m", "REMOVE", {}),
    "#l[0]": ("l", "REMOVE", {}),
}


# what the servers answer differently from DynamoDB; left out there, so that both sides keep the same items
DEVIATIONS = {
    "embedded": {
        "size(#s) > :n": "a size of what is missing is a ValidationException",
        "size(#t) = :n": "the same",
        "LastEvaluatedKey": "none where the limit is reached at the end",
        "ProjectionExpression": "so is a projection of what is missing",
        "ValidationError": "is not a reason of a cancellation, but an error of the whole request",
    },
    "ministack": {
        "#m.#y": "removing from a map that is missing is accepted",
        "#l[0]": "removing from a list that is missing is accepted",
    },
    "roto": {
        "#m.#y": "removing from a map that is missing is accepted",
        "#l[0]": "removing from a list that is missing is accepted",
        "LastEvaluatedKey": "none where the limit is reached at the end",
        "ValidationError": "is not a reason of a cancellation, but an error of the whole request",
    },
}


@st.composite
def conditions(draw: st.DrawFn, without: Any) -> tuple[str, dict[str, Any]]:
    """One condition, or two that are joined, each with its own values."""
    texts: list[str] = []
    values: dict[str, Any] = {}
    for number in range(draw(st.integers(1, 2))):
        text = draw(st.sampled_from(sorted({*CONDITIONS} - {*without})))
        for name, strategy in CONDITIONS[text].items():
            values[f"{name}{number}"] = draw(strategy)
            text = text.replace(name, f"{name}{number}") if name != ":p" or ":p" in text else text
        texts.append(f"NOT ({text})" if draw(st.booleans()) else text)
    return draw(st.sampled_from([" AND ", " OR "])).join(f"({text})" for text in texts), values


@st.composite
def updates(draw: st.DrawFn, without: Any) -> tuple[str, dict[str, Any]]:
    """One to three changes of different attributes."""
    changes = st.sampled_from(sorted({*UPDATES} - {*without}))
    chosen = draw(st.lists(changes, min_size=1, max_size=3, unique_by=lambda change: UPDATES[change][0]))
    clauses: dict[str, list[str]] = {}
    values: dict[str, Any] = {}
    for change in chosen:
        _, clause, strategies = UPDATES[change]
        clauses.setdefault(clause, []).append(change)
        values |= {name: draw(strategy) for name, strategy in strategies.items()}
    return " ".join(f"{clause} {', '.join(changes)}" for clause, changes in clauses.items()), values


def named(params: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """The parameters with the names and values that their expressions use, and no others."""
    text = " ".join(str(value) for name, value in params.items() if name.endswith("Expression"))
    names = {f"#{name}": name for name in ("n", "s", "t", "l", "m", "x", "y", "pk", "sk") if _uses(text, f"#{name}")}
    result = dict(params)
    if names:
        result["ExpressionAttributeNames"] = names
    if values:
        result["ExpressionAttributeValues"] = values
    return result


def _uses(text: str, name: str) -> bool:
    return any(text[at + len(name) : at + len(name) + 1].isalnum() is False for at in _finds(text, name))


def _finds(text: str, name: str) -> Iterator[int]:
    at = text.find(name)
    while at >= 0:
        yield at
        at = text.find(name, at + 1)


KEYS = st.sampled_from(["1", "2", "3"])
ITEMS = st.fixed_dictionaries({}, optional=ATTRIBUTES)


@st.composite
def writes(draw: st.DrawFn, kinds: tuple[str, ...], without: Any) -> tuple[str, str, dict[str, Any]]:
    """The kind of a write, its sort key, and its parameters but for table and key."""
    kind = draw(st.sampled_from(kinds))
    params: dict[str, Any] = {}
    values: dict[str, Any] = {}
    if kind == "Put":
        params["Item"] = draw(ITEMS)
    if kind == "Update":
        params["UpdateExpression"], values = draw(updates(without))
    if kind == "ConditionCheck" or draw(st.booleans()):
        params["ConditionExpression"], more = draw(conditions(without))
        values = {**values, **more}
        if draw(st.booleans()):
            params["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    return kind, draw(KEYS), named(params, values)


@st.composite
def calls(draw: st.DrawFn, without: Any, *, transactions: bool) -> tuple[str, dict[str, Any]]:
    """An operation and its parameters, in which "pk" stands for the partition's key."""
    kind = draw(
        st.sampled_from(["write", "write", "write", "get", "query", *(["transact"] * 2 if transactions else [])])
    )
    if kind == "get":
        return "GetItem", {"Key": key(draw(KEYS)), "ConsistentRead": True}
    if kind == "query":
        return "Query", draw(queries(without))
    if kind == "transact":
        actions = draw(
            st.lists(
                writes(("Put", "Update", "Delete", "ConditionCheck"), without),
                min_size=1,
                max_size=3,
                unique_by=lambda write: write[1],
            )
        )
        return "TransactWriteItems", {"TransactItems": [{kind: with_key(*rest)} for kind, *rest in actions]}
    kind, sk, params = draw(writes(("Put", "Update", "Delete"), without))
    answers = ("NONE", "ALL_OLD", "ALL_NEW") if kind == "Update" else ("NONE", "ALL_OLD")
    return f"{kind}Item", {**with_key(sk, params), "ReturnValues": draw(st.sampled_from(answers))}


@st.composite
def queries(draw: st.DrawFn, without: Any) -> dict[str, Any]:
    text, values = draw(
        st.sampled_from(
            [
                ("", {}),
                (" AND #sk > :lo", {":lo": {"S": "1"}}),
                (" AND #sk BETWEEN :lo AND :hi", {":lo": {"S": "2"}, ":hi": {"S": "3"}}),
                (" AND begins_with(#sk, :lo)", {":lo": {"S": "2"}}),
            ]
        )
    )
    params: dict[str, Any] = {
        "KeyConditionExpression": f"#pk = :pk{text}",
        "ConsistentRead": True,
        "ScanIndexForward": draw(st.booleans()),
    }
    values = {":pk": {"S": "pk"}, **values}
    if draw(st.booleans()):
        params["Limit"] = draw(st.integers(1, 3))
    if draw(st.booleans()):
        params["FilterExpression"], more = draw(conditions(without))
        values = {**values, **more}
    if "ProjectionExpression" not in without and draw(st.booleans()):
        params["ProjectionExpression"] = "#sk, #m.#x, #l[1]"
    return named(params, values)


def key(sk: str) -> dict[str, Any]:
    return {"pk": {"S": "pk"}, "sk": {"S": sk}}


def with_key(sk: str, params: dict[str, Any]) -> dict[str, Any]:
    if "Item" in params:
        return {**params, "Item": {**key(sk), **params["Item"]}}
    return {**params, "Key": key(sk)}


def placed(value: Any, table_name: str, pk: str, *, within: bool = False) -> Any:
    """The parameters with the table's name, and with the partition's key where "pk" stands for it."""
    if isinstance(value, list):
        return [placed(each, table_name, pk, within=True) for each in value]
    if not isinstance(value, dict):
        return value
    if value == {"S": "pk"}:
        return {"S": pk}
    inner = {name: placed(each, table_name, pk, within=True) for name, each in value.items()}
    is_request = any(name in value for name in ("Key", "Item", "KeyConditionExpression")) or not within
    return {"TableName": table_name, **inner} if is_request and "TransactItems" not in value else inner


# ---- answers that can be compared


def normal(value: Any) -> Any:
    """Wire values with numbers by value and sets in order."""
    if isinstance(value, dict):
        if len(value) == 1:
            ((kind, inner),) = value.items()
            if kind == "N":
                return {"N": Decimal(inner)}
            if kind in ("SS", "NS", "BS"):
                return {kind: sorted(inner)}
        return {name: normal(inner) for name, inner in value.items()}
    return [normal(each) for each in value] if isinstance(value, list) else value


PARTS = ("Attributes", "Item", "Items", "Count", "ScannedCount", "LastEvaluatedKey")


def answer_of(reply: dict[str, Any]) -> Any:
    return {name: normal(reply[name]) for name in PARTS if reply.get(name) not in (None, {})}


def failure_of(code: str, item: Any, reasons: Any, *, sends_items: bool) -> Any:
    failed = [
        (reason.get("Code") or "None", normal(reason.get("Item") or {}) if sends_items else None)
        for reason in reasons or ()
    ]
    return code, normal(item or {}) if sends_items else None, failed


def outcome_on_server(backend: Backend, operation: str, params: dict[str, Any], *, sends_items: bool) -> Any:
    try:
        return answer_of(getattr(backend.client, method_of(operation))(**params))
    except ClientError as error:
        response: Any = error.response
        return failure_of(
            response["Error"]["Code"],
            response.get("Item"),
            response.get("CancellationReasons"),
            sends_items=sends_items,
        )


def outcome_in_memory(engine: MemoryEngine, operation: str, params: dict[str, Any], *, sends_items: bool) -> Any:
    try:
        return answer_of(engine.answer(Call(operation, params)))
    except CallFailed as failed:
        return failure_of(failed.code, failed.item, failed.reasons, sends_items=sends_items)


@pytest.fixture
def engine() -> MemoryEngine:
    return MemoryEngine()


@pytest.fixture
def table(backend: Backend, engine: MemoryEngine, table_name: str) -> Iterator[str]:
    """The same table on both sides."""
    params: Any = {
        "TableName": table_name,
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    backend.client.create_table(**params)
    while backend.client.describe_table(TableName=table_name)["Table"]["TableStatus"] != "ACTIVE":
        pass
    engine.answer(Call("CreateTable", params))
    yield table_name
    backend.client.delete_table(TableName=table_name)


# servers that send the item with a failed condition, also as a reason of a cancellation
SEND_ITEMS = ("embedded", "ministack")


@pytest.mark.deep
def test_random_calls_are_answered_as_the_servers_answer_them(
    backend: Backend, engine: MemoryEngine, table: str
) -> None:
    partitions = itertools.count()
    transactions = backend.name != "dynalite"
    sends_items = backend.name in SEND_ITEMS
    without = DEVIATIONS.get(backend.name, {})

    @settings(max_examples=how_many(quick=60, deep=600))
    @given(st.lists(calls(without, transactions=transactions), min_size=1, max_size=12))
    def compare(sequence: list[tuple[str, dict[str, Any]]]) -> None:
        pk = f"{uuid.uuid4().hex[:6]}-{next(partitions)}"
        for operation, given_params in sequence:
            params = placed(given_params, table, pk)
            expected = outcome_on_server(backend, operation, params, sends_items=sends_items)
            found = outcome_in_memory(engine, operation, params, sends_items=sends_items)
            event(f"{operation} {'answers' if isinstance(found, dict) else found[0]}")
            if "LastEvaluatedKey" in without and isinstance(found, dict) and isinstance(expected, dict):
                found.pop("LastEvaluatedKey", None)
                expected.pop("LastEvaluatedKey", None)
            if "ValidationError" in without and isinstance(found, tuple) and "ValidationError" in str(found[2]):
                assert isinstance(expected, tuple), (operation, params)
                continue
            assert found == expected, (operation, params)

    compare()
