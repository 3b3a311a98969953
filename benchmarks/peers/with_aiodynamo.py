"""aiodynamo on aiohttp: no botocore; dicts of plain values, numbers as float."""

from __future__ import annotations

from typing import Any

import aiohttp
import yarl
from aiodynamo.client import Client
from aiodynamo.credentials import Credentials
from aiodynamo.expressions import F, HashKey
from aiodynamo.http.aiohttp import AIOHTTP
from aiodynamo.models import BatchGetRequest, BatchWriteRequest
from aiodynamo.operations import Put

from benchmarks.answers import BATCH_GET, BATCH_WRITE, MIXED, TABLE, TRANSACT, mixed_table
from benchmarks.items import CUSTOMER, ORDER, TYPE_ATTRIBUTE
from benchmarks.works import UPDATE, UPDATE_IF, UPDATED, Works


def _item(number: int) -> dict[str, Any]:
    values = {name: value for name, value in ORDER.values(number).items() if value is not None}
    return {**ORDER.key(number), TYPE_ATTRIBUTE: ORDER.name, **values}


async def prepare(url: str) -> Works:
    http = AIOHTTP(aiohttp.ClientSession())
    client = Client(http, Credentials.auto(), "us-east-1", endpoint=yarl.URL(f"{url}/"))
    table, mixed = client.table(TABLE), client.table(mixed_table(MIXED))
    items = [_item(number) for number in range(max(BATCH_WRITE, TRANSACT))]
    keys = [ORDER.key(number) for number in range(BATCH_GET)]
    partition = HashKey("pk", f"CUSTOMER#{CUSTOMER}")

    def update() -> Any:
        first, *others = (F(name).set(value) for name, value in UPDATE.items())
        for each in others:
            first &= each
        return table.update_item(keys[UPDATED], first, condition=F("quantity").equals(UPDATE_IF))

    async def query() -> list[Any]:
        return [item async for item in table.query(partition)]

    async def query_mixed() -> list[Any]:
        return [item async for item in mixed.query(partition)]

    async def batch_get() -> list[Any]:
        found: list[Any] = (await client.batch_get({TABLE: BatchGetRequest(keys=keys)})).items[TABLE]
        return found

    return {
        "get": lambda: table.get_item(keys[1]),
        "put": lambda: table.put_item(items[1]),
        "update": update,
        "query": query,
        "query_5_types": query_mixed,
        "batch_get": batch_get,
        "batch_write": lambda: client.batch_write({TABLE: BatchWriteRequest(items_to_put=items[:BATCH_WRITE])}),
        "transact": lambda: client.transact_write_items([Put(table=TABLE, item=item) for item in items[:TRANSACT]]),
    }
