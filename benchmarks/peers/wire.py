"""Works of the low-level clients, which take and answer DynamoDB's own form: boto3's and aiobotocore's."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from benchmarks.answers import BATCH_GET, BATCH_WRITE, MIXED, TABLE, TRANSACT, mixed_table
from benchmarks.items import CUSTOMER, ORDER, wire_value
from benchmarks.works import RAW_UPDATE, RAW_UPDATE_VALUES, UPDATED, Works


def _with_bytes(value: Any) -> Any:
    """DynamoDB's JSON as botocore takes it: bytes are bytes."""
    (kind, held), *_ = value.items()
    if kind == "B":
        return {kind: b64decode(held)}
    if kind == "M":
        return {kind: {name: _with_bytes(each) for name, each in held.items()}}
    return {kind: [_with_bytes(each) for each in held]} if kind == "L" else value


def works_of(client: Any) -> Works:
    """The works, with everything prepared that a program could have prepared."""
    items = [
        {name: _with_bytes(value) for name, value in ORDER.wire(number).items()}
        for number in range(max(BATCH_WRITE, TRANSACT))
    ]
    keys = [{name: {"S": text} for name, text in ORDER.key(number).items()} for number in range(BATCH_GET)]
    values = {name: wire_value(value) for name, value in RAW_UPDATE_VALUES.items()}
    partition = {
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": {"S": f"CUSTOMER#{CUSTOMER}"}},
    }
    puts = {TABLE: [{"PutRequest": {"Item": item}} for item in items[:BATCH_WRITE]]}
    transaction = [{"Put": {"TableName": TABLE, "Item": item}} for item in items[:TRANSACT]]
    return {
        "get": lambda: client.get_item(TableName=TABLE, Key=keys[1]),
        "put": lambda: client.put_item(TableName=TABLE, Item=items[1]),
        "update": lambda: client.update_item(
            TableName=TABLE, Key=keys[UPDATED], ExpressionAttributeValues=values, **RAW_UPDATE
        ),
        "query": lambda: client.query(TableName=TABLE, **partition),
        "query_5_types": lambda: client.query(TableName=mixed_table(MIXED), **partition),
        "batch_get": lambda: client.batch_get_item(RequestItems={TABLE: {"Keys": keys}}),
        "batch_write": lambda: client.batch_write_item(RequestItems=puts),
        "transact": lambda: client.transact_write_items(TransactItems=transaction),
    }
