"""How fast a scan may read, and how far it has come."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dynamap.backoff import time_left
from dynamap.codec import item_size
from dynamap.operations.base import Runtime
from dynamap.operations.pages import Found
from dynamap.plan import Call, Plan, Sleep

__all__ = ["Pace", "Progress"]

_UNIT_BYTES = 4096


@dataclass(frozen=True)
class Progress:
    """How far a scan has come: after so many requests, that have read so many items and answered so many of them.

    *segments_ended* counts the segments that are through; a scan without segments is one.
    """

    requests: int = 0
    read: int = 0
    answered: int = 0
    segments_ended: int = 0


class Pace:
    """Watches the requests of a scan, of all its segments together.

    With *rate*, in read units per second, no request is sent before those already sent are paid for. The first ones of
    several segments go out together. *told* is called after each request, one call after the other.
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        rate: float | None = None,
        told: Callable[[Progress], object] | None = None,
        consistent: bool = False,
    ) -> None:
        self._runtime = runtime
        self._rate = rate
        self._told = told
        self._factor = 1.0 if consistent else 0.5
        self._paid_at = 0.0
        self._progress = Progress()
        self._lock = threading.Lock()

    def before(self) -> Plan[None]:
        """Wait until what was read is paid for, but not beyond the deadline."""
        if self._rate is None:
            return
        while True:
            with self._lock:
                wait = self._paid_at - self._runtime.monotonic()
            left = time_left(self._runtime.monotonic)
            if wait <= 0 or (left is not None and left <= 0):
                return
            yield Sleep(wait if left is None else min(wait, left))

    def prepared(self, call: Call) -> Call:
        """The request, which asks for what it costs where there is a rate."""
        if self._rate is None:
            return call
        return Call(call.operation, {"ReturnConsumedCapacity": "TOTAL", **call.params})

    def after(self, reply: Mapping[str, Any], found: Found) -> None:
        """Note what a request has read."""
        with self._lock:
            if self._rate is not None:
                now = self._runtime.monotonic()
                self._paid_at = max(self._paid_at, now) + self._units(reply) / self._rate
            before = self._progress
            self._progress = Progress(
                before.requests + 1,
                before.read + found.count + found.skipped,
                before.answered + found.count,
                before.segments_ended + (found.next_start is None),
            )
            if self._told is not None:
                self._told(self._progress)

    def _units(self, reply: Mapping[str, Any]) -> float:
        """The read units of an answer: as the service says, or from the items where it says nothing."""
        said = reply.get("ConsumedCapacity", {}).get("CapacityUnits")
        if said is not None:
            return float(said)
        size = sum(map(item_size, reply.get("Items", ())))
        return self._factor * max(1, -(-size // _UNIT_BYTES))
