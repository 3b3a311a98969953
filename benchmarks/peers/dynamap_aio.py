"""dynamap for asyncio, with the client that it makes by itself."""

from __future__ import annotations

from benchmarks.peers.with_dynamap import MixedTable, OrderTable, verify, works_of
from benchmarks.works import Works
from dynamap import connect_async

__all__ = ["prepare", "verify"]


async def prepare(url: str) -> Works:
    return works_of(connect_async(OrderTable, endpoint_url=url), connect_async(MixedTable, endpoint_url=url))
