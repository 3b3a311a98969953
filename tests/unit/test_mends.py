"""The mends in front of moto, driven by hand: client tokens and their age, and requests that are no requests."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dynamap.testing._loopback import Reply
from dynamap.testing._mends import Mends


class RecordingEngine:
    """Answers everything with a number, and remembers what it was asked."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, Any]] = []
        self.status = 200

    def perform(self, operation: str, body: bytes) -> Reply:
        self.requests.append((operation, json.loads(body)))
        return Reply(self.status, [], b'{"answer": %d}' % len(self.requests))


class Clock:
    """Seconds that pass only when a test says so."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def transaction(table: str, token: str) -> bytes:
    item = {"Put": {"TableName": table, "Item": {"pk": {"S": "a"}}}}
    return json.dumps({"TransactItems": [item], "ClientRequestToken": token}).encode()


def test_a_token_is_remembered_for_ten_minutes() -> None:
    engine, clock = RecordingEngine(), Clock()
    mends = Mends(engine.perform, clock)
    first = mends.answer("TransactWriteItems", transaction("t", "token"))
    clock.seconds = 599.9
    assert mends.answer("TransactWriteItems", transaction("t", "token")) == first
    assert len(engine.requests) == 1
    clock.seconds = 600.0
    assert mends.answer("TransactWriteItems", transaction("t", "token")) != first
    assert len(engine.requests) == 2


def test_the_order_of_keys_in_a_map_is_no_other_request() -> None:
    engine = RecordingEngine()
    mends = Mends(engine.perform, Clock())
    one = b'{"ClientRequestToken": "t", "TransactItems": [{"Delete": {"TableName": "x", "Key": {"a": {}, "b": {}}}}]}'
    same = b'{"TransactItems": [{"Delete": {"Key": {"b": {}, "a": {}}, "TableName": "x"}}], "ClientRequestToken": "t"}'
    assert mends.answer("TransactWriteItems", one) == mends.answer("TransactWriteItems", same)
    assert len(engine.requests) == 1


def test_a_refused_transaction_leaves_its_token_free() -> None:
    engine = RecordingEngine()
    engine.status = 400
    mends = Mends(engine.perform, Clock())
    mends.answer("TransactWriteItems", transaction("t", "token"))
    engine.status = 200
    assert mends.answer("TransactWriteItems", transaction("another", "token")).status == 200


def test_a_mended_update_keeps_the_callers_names() -> None:
    engine = RecordingEngine()
    body = {"TableName": "t", "Key": {}, "ExpressionAttributeNames": {"#untouched": "color"}, "AttributeUpdates": {}}
    Mends(engine.perform).answer("UpdateItem", json.dumps(body).encode())
    [(_, sent)] = engine.requests
    assert sent["ExpressionAttributeNames"]["#untouched"] == "color"
    assert sent["UpdateExpression"] == "REMOVE #untouched_"
    assert "AttributeUpdates" not in sent


@pytest.mark.parametrize("operation", ["BatchWriteItem", "TransactGetItems", "TransactWriteItems", "UpdateItem"])
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"1", b"\xff"])
def test_a_body_that_is_no_request_is_refused(operation: str, body: bytes) -> None:
    reply = Mends(RecordingEngine().perform).answer(operation, body)
    assert reply.status == 400
    assert json.loads(reply.body)["__type"].endswith("#SerializationException")


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        ("BatchWriteItem", b"{}"),
        ("BatchWriteItem", b'{"RequestItems": []}'),
        ("TransactGetItems", b'{"TransactItems": [{"Put": {}}]}'),
        ("TransactGetItems", b'{"TransactItems": [{"Get": {"TableName": "t", "Key": {"pk": {"N": "x"}}}}]}'),
        ("UpdateItem", b'{"ExpressionAttributeNames": 3}'),
    ],
)
def test_a_request_of_the_wrong_shape_is_refused(operation: str, body: bytes) -> None:
    reply = Mends(RecordingEngine().perform).answer(operation, body)
    assert reply.status == 400
    assert json.loads(reply.body)["__type"].endswith("#ValidationException")


def test_keys_that_differ_in_the_last_of_38_digits_are_two_keys() -> None:
    keys = [{"pk": {"N": "1" * 37 + last}} for last in "12"]
    body = {"TransactItems": [{"Get": {"TableName": "t", "Key": key}} for key in keys]}
    engine = RecordingEngine()
    assert Mends(engine.perform).answer("TransactGetItems", json.dumps(body).encode()).status == 200
    assert len(engine.requests) == 2
