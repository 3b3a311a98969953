"""dynamap, with the client that it makes by itself."""

from __future__ import annotations

from benchmarks.peers.with_dynamap import MixedTable, OrderTable, verify, works_of
from benchmarks.works import Works
from dynamap import connect

__all__ = ["prepare", "verify"]


def prepare(url: str) -> Works:
    return works_of(connect(OrderTable, endpoint_url=url), connect(MixedTable, endpoint_url=url))
