"""What moto's DynamoDB answers differently from DynamoDB, put right in front of it.

Each mend looks at one operation's request as JSON and either changes it, answers it, or lets it through. Nothing of
moto itself is patched, so that a program's own `mock_aws` behaves as it always did.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any, NamedTuple, cast

from dynamap.testing._loopback import Reply

JsonObject = dict[str, Any]

TOKEN_SECONDS = 600.0
TRANSACT_LIMIT = 100
BATCH_WRITE_LIMIT = 25
# DynamoDB's numbers have 38 digits; Python's default context would round them to 28.
EXACT = Context(prec=64)
# No item can hold it by accident: what it removes is never there.
UNTOUCHED_ATTRIBUTE = "dynamap:untouched"


def json_reply(content: JsonObject, *, status: int = 200) -> Reply:
    """Build a reply of DynamoDB's JSON protocol."""
    return Reply(status, [("Content-Type", "application/x-amz-json-1.0")], json.dumps(content).encode())


def error_reply(code: str, message: str) -> Reply:
    """Build the reply for a mistake in the request: HTTP 400 with the service's error code."""
    return json_reply({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": message}, status=400)


class _Remembered(NamedTuple):
    until: float
    parameters: JsonObject
    reply: Reply


class Mends:
    """Stands before `perform(operation, body)` and mends what it answers.

    It keeps state (client tokens) and is not safe to call from two threads at once; `now` counts seconds.
    """

    def __init__(self, perform: Callable[[str, bytes], Reply], now: Callable[[], float] = time.monotonic) -> None:
        self._perform = perform
        self._now = now
        self._tokens: dict[str, _Remembered] = {}
        self._mends: dict[str, Callable[[JsonObject], Reply]] = {
            "BatchWriteItem": self._batch_write_item,
            "TransactGetItems": self._transact_get_items,
            "TransactWriteItems": self._transact_write_items,
            "UpdateItem": self._update_item,
        }

    def answer(self, operation: str, body: bytes) -> Reply:
        """Answer one request of the operation, for example "UpdateItem"."""
        mend = self._mends.get(operation)
        if mend is None:
            return self._perform(operation, body)
        try:
            parameters: object = json.loads(body)
        except ValueError as error:
            return error_reply("SerializationException", f"The body is not JSON: {error}")
        if not isinstance(parameters, dict):
            return error_reply("SerializationException", "The body must be a JSON object.")
        try:
            return mend(cast("JsonObject", parameters))
        except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
            return error_reply("ValidationException", f"The {operation} is malformed: {error!r}")

    def _send(self, operation: str, parameters: JsonObject) -> Reply:
        return self._perform(operation, json.dumps(parameters).encode())

    def _update_item(self, parameters: JsonObject) -> Reply:
        """Perform an update that changes nothing: moto answers 500 where DynamoDB checks the condition and creates."""
        if "UpdateExpression" in parameters or parameters.get("AttributeUpdates"):
            return self._send("UpdateItem", parameters)
        mended = {name: value for name, value in parameters.items() if name != "AttributeUpdates"}
        names: dict[str, str] = dict(parameters.get("ExpressionAttributeNames") or {})
        placeholder = "#untouched"
        while placeholder in names:
            placeholder += "_"
        mended["ExpressionAttributeNames"] = {**names, placeholder: UNTOUCHED_ATTRIBUTE}
        mended["UpdateExpression"] = f"REMOVE {placeholder}"
        if str(mended.get("ReturnValues", "NONE")).startswith("UPDATED_"):
            # DynamoDB returns the attributes that the update named: none.
            mended["ReturnValues"] = "NONE"
        return self._send("UpdateItem", mended)

    def _transact_write_items(self, parameters: JsonObject) -> Reply:
        """Honour the client token: a repeated success has no second effect; one token cannot name two requests."""
        token = parameters.get("ClientRequestToken")
        if not token:
            return self._send("TransactWriteItems", parameters)
        # Compared as parsed JSON: the order of a map's keys is no difference.
        without_token = {name: value for name, value in parameters.items() if name != "ClientRequestToken"}
        now = self._now()
        self._tokens = {name: entry for name, entry in self._tokens.items() if entry.until > now}
        known = self._tokens.get(token)
        if known is None:
            reply = self._send("TransactWriteItems", parameters)
            # A cancelled transaction had no effect: its token is free to try again.
            if reply.status == 200:  # noqa: PLR2004  # HTTP's OK
                self._tokens[token] = _Remembered(now + TOKEN_SECONDS, without_token, reply)
            return reply
        if known.parameters != without_token:
            return error_reply(
                "IdempotentParameterMismatchException",
                "The request uses the same client token as a previous, but non-identical request.",
            )
        return known.reply

    def _transact_get_items(self, parameters: JsonObject) -> Reply:
        """Read each item by a GetItem: moto returns whole items whatever the projection, and refuses more than 25.

        The caller holds the engine's lock, so that the reads are one snapshot.
        """
        gets = [entry["Get"] for entry in parameters["TransactItems"]]
        if not 1 <= len(gets) <= TRANSACT_LIMIT:
            return error_reply(
                "ValidationException",
                "1 validation error detected: Value at 'transactItems' failed to satisfy constraint: "
                f"Member must have length between 1 and {TRANSACT_LIMIT}, inclusive",
            )
        keys = [(get["TableName"], _canonical(get["Key"])) for get in gets]
        if len(set(keys)) != len(keys):
            return error_reply(
                "ValidationException", "Transaction request cannot include multiple operations on one item"
            )
        responses: list[JsonObject] = []
        units: dict[str, float] = {}
        for get in gets:
            reply = self._send("GetItem", {**get, "ConsistentRead": True})
            if reply.status != 200:  # noqa: PLR2004  # HTTP's OK
                return reply
            content = json.loads(reply.body)
            responses.append({"Item": content["Item"]} if "Item" in content else {})
            # A transactional read costs two units for each 4 KB; the engine counts items, not bytes.
            units[get["TableName"]] = units.get(get["TableName"], 0.0) + 2.0
        answer: JsonObject = {"Responses": responses}
        wanted = parameters.get("ReturnConsumedCapacity", "NONE")
        if wanted != "NONE":
            answer["ConsumedCapacity"] = [
                {
                    "TableName": table,
                    "CapacityUnits": total,
                    "ReadCapacityUnits": total,
                    **({"Table": {"CapacityUnits": total, "ReadCapacityUnits": total}} if wanted == "INDEXES" else {}),
                }
                for table, total in units.items()
            ]
        return json_reply(answer)

    def _batch_write_item(self, parameters: JsonObject) -> Reply:
        """Refuse what DynamoDB refuses and moto accepts: more than 25 writes, and two writes of one item."""
        requests: dict[str, list[JsonObject]] = parameters["RequestItems"]
        if sum(map(len, requests.values())) > BATCH_WRITE_LIMIT:
            return error_reply(
                "ValidationException",
                "1 validation error detected: Value at 'requestItems' failed to satisfy constraint: "
                f"Map value must satisfy constraint: [Member must have length at most {BATCH_WRITE_LIMIT}]",
            )
        for table, writes in requests.items():
            description = self._send("DescribeTable", {"TableName": table})
            if description.status != 200:  # noqa: PLR2004  # HTTP's OK
                return description
            attributes = [part["AttributeName"] for part in json.loads(description.body)["Table"]["KeySchema"]]
            keys: list[str] = []
            for write in writes:
                found = write["PutRequest"]["Item"] if "PutRequest" in write else write["DeleteRequest"]["Key"]
                keys.append(_canonical({name: found.get(name) for name in attributes}))
            if len(set(keys)) != len(keys):
                return error_reply("ValidationException", "Provided list of item keys contains duplicates")
        return self._send("BatchWriteItem", parameters)


def _canonical(key: JsonObject) -> str:
    """Render a key so that equal keys are equal texts: numbers compare by value, 1 and 1.0 are one key."""
    values: JsonObject = {}
    for name, value in key.items():
        number = value.get("N") if value else None
        values[name] = value if number is None else {"N": str(Decimal(number).normalize(EXACT))}
    return json.dumps(values, sort_keys=True)
