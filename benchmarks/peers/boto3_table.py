"""boto3's Table: dicts of plain values, numbers as Decimal."""

from __future__ import annotations

from typing import Any

import boto3
from boto3.dynamodb.conditions import Key

from benchmarks.answers import BATCH_GET, BATCH_WRITE, MIXED, TABLE, TRANSACT, mixed_table
from benchmarks.items import CUSTOMER, ORDER, TYPE_ATTRIBUTE
from benchmarks.works import RAW_UPDATE, RAW_UPDATE_VALUES, UPDATED, Works


def _item(number: int) -> dict[str, Any]:
    values = {name: value for name, value in ORDER.values(number).items() if value is not None}
    return {**ORDER.key(number), TYPE_ATTRIBUTE: ORDER.name, **values}


def prepare(url: str) -> Works:
    resource = boto3.resource("dynamodb", endpoint_url=url)
    table, mixed = resource.Table(TABLE), resource.Table(mixed_table(MIXED))
    items = [_item(number) for number in range(max(BATCH_WRITE, TRANSACT))]
    keys = [ORDER.key(number) for number in range(BATCH_GET)]
    partition = f"CUSTOMER#{CUSTOMER}"

    def batch_write() -> None:
        with table.batch_writer() as batch:
            for item in items[:BATCH_WRITE]:
                batch.put_item(Item=item)

    return {
        "get": lambda: table.get_item(Key=keys[1])["Item"],
        "put": lambda: table.put_item(Item=items[1]),
        "update": lambda: table.update_item(
            Key=keys[UPDATED], ExpressionAttributeValues=dict(RAW_UPDATE_VALUES), **RAW_UPDATE
        ),
        "query": lambda: table.query(KeyConditionExpression=Key("pk").eq(partition))["Items"],
        "query_5_types": lambda: mixed.query(KeyConditionExpression=Key("pk").eq(partition))["Items"],
        "batch_get": lambda: resource.batch_get_item(RequestItems={TABLE: {"Keys": keys}})["Responses"][TABLE],
        "batch_write": batch_write,
        "transact": lambda: table.meta.client.transact_write_items(
            TransactItems=[{"Put": {"TableName": TABLE, "Item": item}} for item in items[:TRANSACT]]
        ),
    }
