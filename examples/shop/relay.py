"""The relay: publishes the events of orders, and has every order invoiced."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from contextlib import suppress
from typing import Any

from dynamap import Async, DynamapError, Store
from examples.shop.shop import BUCKETS, Service
from recipes.aio.outbox import OutboxEvent, Relay

LONGEST_PAUSE = 2.0
MOST_SHOWN = 1000

_log = logging.getLogger(__name__)


class Published:
    """Where events are published: a list to be looked at, in place of a broker."""

    def __init__(self) -> None:
        self.count = 0
        self.events: deque[dict[str, Any]] = deque(maxlen=MOST_SHOWN)
        self._news = asyncio.Condition()

    async def add(self, event: OutboxEvent) -> None:
        """Show an event."""
        async with self._news:
            self.count += 1
            shown = {"event_id": event.event_id, "key": event.key, "sequence": event.sequence}
            self.events.append(shown | json.loads(event.payload))
            self._news.notify_all()

    async def wait_for_more(self, than: int, seconds: float) -> None:
        """Return when more than so many were published, or the time is over."""
        with suppress(asyncio.TimeoutError):
            async with self._news:
                await asyncio.wait_for(self._news.wait_for(lambda: self.count > than), seconds)


class Publisher:
    """What is to follow an event: an invoice for what was placed, then a place in the list."""

    def __init__(self, service: Service, published: Published) -> None:
        self._service = service
        self._published = published

    async def publish(self, event: OutboxEvent, /) -> None:
        """Return when both are done; what fails is published again, and the invoice is issued once all the same."""
        payload = json.loads(event.payload)
        if payload["event"] == "placed":
            await self._service.invoice(payload["order"])
        await self._published.add(event)


class Runner:
    """Sweeps the outbox until it is stopped: at once after `wake`, and from time to time for what others have left."""

    def __init__(self, store: Store[Async], publisher: Publisher) -> None:
        self._relay = Relay(store, publisher)
        self._woken = asyncio.Event()
        self._stopping = False

    def wake(self) -> None:
        """Say that there is something to publish."""
        self._woken.set()

    def stop(self) -> None:
        """Let `run` end when it has done what it is at."""
        self._stopping = True
        self._woken.set()

    async def run(self) -> None:
        """Publish what there is, for as long as the service runs."""
        while not self._stopping:
            self._woken.clear()
            try:
                published = sum([await self._sweep(bucket) for bucket in range(BUCKETS)])
            except DynamapError as error:
                _log.warning("the outbox is left for later: %s", error)
                published = 0
            if not published and not self._stopping:
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._woken.wait(), LONGEST_PAUSE)
        for bucket in range(BUCKETS):
            await self._relay.release(bucket)

    async def _sweep(self, bucket: int) -> int:
        swept = await self._relay.sweep(bucket)
        for event, error in swept.failed:
            _log.warning("event %s is published later: %s", event.event_id, error)
        for event in swept.parked:
            _log.error("event %s has failed too often, and waits for somebody to look at it", event.event_id)
        return swept.published
