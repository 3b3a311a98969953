"""The answers that the stub gives, written as files: whole HTTP responses, by operation and table.

A file `Query@bench-mixed-05` answers a Query whose body contains the JSON string "bench-mixed-05"; `Query` would
answer every other one.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

from benchmarks.items import ORDER, SMALL, TYPE_ATTRIBUTE, Kind, mixed_kinds, wide_kind

TABLE = "bench"
PAGE = 1000
MIXED = 5
BATCH_GET = 100
BATCH_WRITE = 25
TRANSACT = 10

PAGE_SIZES = (1, 10, 100, 1000, 10_000)
TYPE_COUNTS = (1, 2, 5, 10, 20)
ATTRIBUTE_COUNTS = (5, 10, 20, 50, 100, 200)
WIDE_PAGE = 100
"""Items in a page of wide ones."""

ENTITY_ATTRIBUTE = "__entity__"
"""Where one of the peers keeps the type's name; it has tables of its own, alike but for that."""
ENTITY_PREFIX = "entity-"


def page_table(items: int) -> str:
    return f"{TABLE}-items-{items:05}"


def mixed_table(types: int) -> str:
    return f"{TABLE}-mixed-{types:02}"


def wide_table(attributes: int) -> str:
    return f"{TABLE}-wide-{attributes:03}"


def mixed_numbers(types: int) -> list[tuple[Kind, int]]:
    """The items of a page of several types, in the order of their sort keys: each type's items together."""
    kinds = sorted(mixed_kinds(types), key=lambda kind: kind.name)
    return [(kind, number) for kind in kinds for number in range(PAGE // types)]


def response(content: Any) -> bytes:
    """A whole HTTP response as DynamoDB makes it, with the checksum that clients compare."""
    body = json.dumps(content, separators=(",", ":")).encode()
    head = (
        "HTTP/1.1 200 OK\r\n"
        "Server: Server\r\n"
        "Date: Thu, 01 Jan 2026 00:00:00 GMT\r\n"
        "Content-Type: application/x-amz-json-1.0\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Connection: keep-alive\r\n"
        "x-amzn-RequestId: 0000000000000000000000000000000000000000000000000000\r\n"
        f"x-amz-crc32: {zlib.crc32(body)}\r\n\r\n"
    )
    return head.encode() + body


def _page(items: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"Items": items, "Count": len(items), "ScannedCount": len(items), **more}


def _answers_of_tables(prefix: str, type_attribute: str) -> dict[str, Any]:
    """What is answered for items, for the tables of one prefix."""
    one = ORDER.wire(1, type_attribute)
    orders = [ORDER.wire(number, type_attribute) for number in range(PAGE)]
    at = f"@{prefix}"
    return {
        f"GetItem{at}{TABLE}": {"Item": one},
        f"Query{at}{TABLE}": _page(orders),
        f"Query{at}{mixed_table(MIXED)}": _page(
            [kind.wire(number, type_attribute) for kind, number in mixed_numbers(MIXED)]
        ),
        f"BatchGetItem{at}{TABLE}": {"Responses": {f"{prefix}{TABLE}": orders[:BATCH_GET]}, "UnprocessedKeys": {}},
    }


def _endless_scan() -> dict[str, Any]:
    """Two pages that each name the other's key as the next, since clients refuse the same key twice."""
    orders = [ORDER.wire(number) for number in range(PAGE)]
    last, other = ({name: orders[number][name] for name in ("pk", "sk")} for number in (PAGE - 1, PAGE - 2))
    return {
        "Scan": _page(orders, LastEvaluatedKey=last),
        f"Scan@{last['sk']['S']}": _page(orders, LastEvaluatedKey=other),
    }


def _description() -> dict[str, Any]:
    """What some clients ask for before their first call."""
    keys = {"pk": "HASH", "sk": "RANGE"}
    return {
        "Table": {
            "TableName": TABLE,
            "TableStatus": "ACTIVE",
            "TableArn": f"arn:aws:dynamodb:us-east-1:000000000000:table/{TABLE}",
            "TableId": "00000000-0000-0000-0000-000000000000",
            "ItemCount": PAGE,
            "TableSizeBytes": PAGE * 1000,
            "CreationDateTime": 1.6e9,
            "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in keys],
            "KeySchema": [{"AttributeName": name, "KeyType": kind} for name, kind in keys.items()],
            "ProvisionedThroughput": {
                "NumberOfDecreasesToday": 0,
                "ReadCapacityUnits": 0,
                "WriteCapacityUnits": 0,
            },
        }
    }


def answers(*, sizes: bool = False) -> dict[str, Any]:
    """All answers by the name of their file; *sizes* adds what only the curves need."""
    made: dict[str, Any] = {
        "PutItem": {},
        "UpdateItem": {},
        "UpdateItem@ALL_NEW": {"Attributes": ORDER.wire(1)},
        "BatchWriteItem": {"UnprocessedItems": {}},
        "TransactWriteItems": {},
        "DescribeTable": _description(),
        **_answers_of_tables("", TYPE_ATTRIBUTE),
        **_answers_of_tables(ENTITY_PREFIX, ENTITY_ATTRIBUTE),
    }
    if sizes:
        made |= _endless_scan()
        for size in PAGE_SIZES:
            made[f"Query@{page_table(size)}"] = _page([SMALL.wire(number) for number in range(size)])
        for types in TYPE_COUNTS:
            made[f"Query@{mixed_table(types)}"] = _page([kind.wire(number) for kind, number in mixed_numbers(types)])
        for attributes in ATTRIBUTE_COUNTS:
            kind = wide_kind(attributes)
            made[f"Query@{wide_table(attributes)}"] = _page([kind.wire(number) for number in range(WIDE_PAGE)])
    return made


def write_answers(folder: Path, *, sizes: bool = False) -> None:
    for name, content in answers(sizes=sizes).items():
        (folder / name).write_bytes(response(content))
