"""Peak memory of a scan of 100,000 items of 1 KB, each looked at and let go, or all kept.

python -m benchmarks.memory WAY PORT

prints the megabytes that the process had at most, before the scan and in the end.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import resource
import sys
from collections.abc import AsyncIterable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.answers import TABLE
from benchmarks.processes import answer_of
from benchmarks.server import Stub
from benchmarks.tables import table

ITEMS = 100_000


def peak() -> float:
    """The most megabytes that this process has had in memory."""
    status = Path("/proc/self/status")
    if status.exists():
        # not ru_maxrss, which begins with what the parent had
        (line,) = (line for line in status.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1024 * 1024 if sys.platform == "darwin" else 1024)


def _look_at(items: Iterable[Any]) -> int:
    """Go through the items of a table that never ends."""
    for count, item in enumerate(items, 1):
        assert item is not None
        if count == ITEMS:
            return count
    return 0


def _boto3(url: str) -> Callable[[], int]:
    client = importlib.import_module("boto3").client("dynamodb", endpoint_url=url)
    pages = client.get_paginator("scan").paginate(TableName=TABLE)
    return lambda: _look_at(item for page in pages for item in page["Items"])


def _orders(url: str) -> Any:
    declared = importlib.import_module("benchmarks.peers.with_dynamap")
    store = importlib.import_module("dynamap").connect(declared.OrderTable, endpoint_url=url)
    return store.of(declared.Order)


def _dynamap(url: str) -> Callable[[], int]:
    orders = _orders(url)
    return lambda: _look_at(orders.scan())


def _dynamap_list(url: str) -> Callable[[], int]:
    orders = _orders(url)
    return lambda: len(orders.scan().limit(ITEMS).send())


def _dynamap_aio(url: str) -> Callable[[], int]:
    declared = importlib.import_module("benchmarks.peers.with_dynamap")
    connect_async = importlib.import_module("dynamap").connect_async

    async def look(items: AsyncIterable[Any]) -> int:
        count = 0
        async for item in items:
            assert item is not None
            count += 1
            if count == ITEMS:
                break
        return count

    async def scan() -> int:
        async with connect_async(declared.OrderTable, endpoint_url=url) as store:
            return await look(store.of(declared.Order).scan())

    return lambda: asyncio.run(scan())


WAYS: Mapping[str, tuple[str, Callable[[str], Callable[[], int]]]] = {
    "boto3": ("boto3, its paginator", _boto3),
    "dynamap": ("dynamap, iterated", _dynamap),
    "dynamap_aio": ("dynamap_aio, iterated", _dynamap_aio),
    "dynamap_list": ("dynamap, all in a list", _dynamap_list),
}


def show_memory(stub: Stub) -> None:
    rows: list[tuple[str, list[str]]] = []
    for way, (title, _) in WAYS.items():
        before, most = answer_of("-m", "benchmarks.memory", way, str(stub.port))
        rows.append((title, [f"{before:.0f}", f"{most:.0f}"]))
    print()
    print(table(f"peak memory of a scan of {ITEMS:,} items of 1 KB, MB", ["before", "peak"], rows))


def main() -> None:
    way, port = sys.argv[1:]
    scan = WAYS[way][1](Stub(int(port)).url)
    before = peak()
    found = scan()
    assert found == ITEMS, f"{way}: {found} items"
    print(json.dumps([before, peak()]), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
