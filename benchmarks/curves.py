"""Cost against size: items of a page, types in a page, attributes of an item, tasks at a time.

python -m benchmarks.curves PEER PORT CURVE [SIZE ...]

prints microseconds of processor and wall time as JSON: for one item each, and of tasks for one call each.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import boto3

from benchmarks.answers import (
    ATTRIBUTE_COUNTS,
    PAGE,
    PAGE_SIZES,
    TYPE_COUNTS,
    WIDE_PAGE,
    mixed_table,
    page_table,
    wide_table,
)
from benchmarks.items import CUSTOMER, SMALL, Kind, mixed_kinds, wide_kind
from benchmarks.peers.with_dynamap import declared
from benchmarks.processes import answer_of
from benchmarks.server import Stub
from benchmarks.tables import table
from benchmarks.works import PEERS
from dynamap import Table, connect

TASK_COUNTS = (1, 2, 5, 10, 20, 50, 100, 200)
CALLS = 1000
"""How many calls the tasks share."""

Page = tuple[str, list[Kind], int]
"""The table to query, the types in it, and how many items there are."""


def _page_of_items(size: int) -> Page:
    return page_table(size), [SMALL], size


def _page_of_types(size: int) -> Page:
    return mixed_table(size), mixed_kinds(size), PAGE // size * size


def _page_of_attributes(size: int) -> Page:
    return wide_table(size), [wide_kind(size)], WIDE_PAGE


CURVES: Mapping[str, tuple[str, Sequence[int], Callable[[int], Page]]] = {
    "items": ("items per page", PAGE_SIZES, _page_of_items),
    "types": ("types of items in a page of 1000", TYPE_COUNTS, _page_of_types),
    "attributes": ("attributes per item, in a page of 100", ATTRIBUTE_COUNTS, _page_of_attributes),
}
PAGE_PEERS = ("boto3", "dynamap")
TASK_PEERS = ("aiobotocore", "dynamap_aio", "aiodynamo", "dynamoxy")

Points = dict[int, tuple[float, float]]
Curves = dict[str, dict[str, Points]]
"""{curve: {peer: {size: (processor, wall)}}}"""


def _boto3_query(url: str, page: Page) -> Callable[[], int]:
    client = boto3.client("dynamodb", endpoint_url=url)
    values = {":pk": {"S": f"CUSTOMER#{CUSTOMER}"}}
    return lambda: len(
        client.query(TableName=page[0], KeyConditionExpression="pk = :pk", ExpressionAttributeValues=values)["Items"]
    )


def _dynamap_query(url: str, page: Page) -> Callable[[], int]:
    classes = [declared(kind) for kind in page[1]]
    store: Any = connect(Table(page[0], classes), endpoint_url=url)
    if len(classes) == 1:
        orders = store.of(classes[0])
        return lambda: len(orders.query(customer=CUSTOMER).send())
    return lambda: len(store.query(*classes, customer=CUSTOMER).send())


def page_points(peer: str, url: str, curve: str, sizes: Sequence[int]) -> Points:
    """Times for each item of the pages."""
    query_of = {"boto3": _boto3_query, "dynamap": _dynamap_query}[peer]
    points: Points = {}
    for size in sizes:
        page = CURVES[curve][2](size)
        query, items = query_of(url, page), page[2]
        for _ in range(2):
            found = query()
            assert found == items, f"{peer}, {curve} {size}: {found} items instead of {items}"
        gc.collect()
        count = min(200, max(3, 5000 // items))
        begin = time.process_time(), time.perf_counter()
        for _ in range(count):
            query()
        end = time.process_time(), time.perf_counter()
        points[size] = ((end[0] - begin[0]) * 1e6 / count / items, (end[1] - begin[1]) * 1e6 / count / items)
    return points


async def task_points(peer: str, url: str, sizes: Sequence[int]) -> Points:
    """Times for each GetItem, of tasks that share the calls."""
    (module,) = (each.module for each in PEERS if each.name == peer)
    works = await importlib.import_module(f"benchmarks.peers.{module}").prepare(url)
    get, points = works["get"], Points()

    async def several(count: int) -> None:
        for _ in range(count):
            await get()

    for tasks in sizes:
        await asyncio.gather(*(several(2) for _ in range(tasks)))
        each = max(2, CALLS // tasks)
        begin = time.process_time(), time.perf_counter()
        await asyncio.gather(*(several(each) for _ in range(tasks)))
        end = time.process_time(), time.perf_counter()
        count = each * tasks
        points[tasks] = ((end[0] - begin[0]) * 1e6 / count, (end[1] - begin[1]) * 1e6 / count)
    return points


def _curve(stub: Stub, peer: str, curve: str, sizes: Sequence[int]) -> Points:
    found = answer_of("-m", "benchmarks.curves", peer, str(stub.port), curve, *map(str, sizes))
    return {int(size): (taken[0], taken[1]) for size, taken in found.items()}


def _show(title: str, sizes: Sequence[int], lines: Mapping[str, Mapping[int, float]]) -> None:
    print()
    columns = [f"{size:,}" for size in sizes]
    print(table(title, columns, [(name, [f"{line[size]:.1f}" for size in sizes]) for name, line in lines.items()]))


def show_curves(stub: Stub, peers: Sequence[str]) -> Curves:
    """Measure every curve, each peer in a process of its own, and print them."""
    curves: Curves = {}
    for name, (title, sizes, _) in CURVES.items():
        curves[name] = {peer: _curve(stub, peer, name, sizes) for peer in PAGE_PEERS}
        lines = {peer: {size: taken[0] for size, taken in points.items()} for peer, points in curves[name].items()}
        _show(f"microseconds of processor time for an item, by {title}", sizes, lines)
    curves["tasks"] = {peer: _curve(stub, peer, "tasks", TASK_COUNTS) for peer in TASK_PEERS if peer in peers}
    for position, what in enumerate(("processor time", "wall time")):
        lines = {
            peer: {size: taken[position] for size, taken in points.items()} for peer, points in curves["tasks"].items()
        }
        _show(f"microseconds of {what} for a get, by tasks at a time", TASK_COUNTS, lines)
    return curves


def main() -> None:
    peer, port, curve, *asked = sys.argv[1:]
    url, sizes = Stub(int(port)).url, [int(size) for size in asked]
    if curve != "tasks":
        print(json.dumps(page_points(peer, url, curve, sizes)))
        return

    async def measure() -> None:
        print(json.dumps(await task_points(peer, url, sizes)), flush=True)
        # clients are not closed, in no peer
        os._exit(0)

    asyncio.run(measure())


if __name__ == "__main__":
    main()
