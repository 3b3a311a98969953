"""The client of an AsyncDriver; a module of its own, as asyncio takes time to load and one for threads needs none."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any

from dynamap.drivers.clients import PLACEHOLDERS, ClientOptions, accept_async_client, client_arguments, placeholders_for
from dynamap.drivers.events import watched
from dynamap.drivers.lane import lane_of
from dynamap.drivers.sources import RENEWAL_SECONDS, explain_client
from dynamap.errors import RequestError

__all__ = ["AsyncSource"]


@dataclass
class _Opened:
    """An aiobotocore client and what closes it."""

    client: Any
    resources: AsyncExitStack


class AsyncSource:
    """The client of an AsyncDriver, made at its first call unless it was given; it belongs to one event loop."""

    def __init__(
        self, client: Any | ClientOptions, monotonic: Callable[[], float] = time.monotonic, *, lane: bool = False
    ) -> None:
        self.lane = lane
        self._options = replace(client, lane=lane) if isinstance(client, ClientOptions) else None
        self._given: Any = None if isinstance(client, ClientOptions) else accept_async_client(client, lane=lane)
        self._monotonic = monotonic
        self._renewed: float | None = None
        self._opened: _Opened | None = None
        self._retired: _Opened | None = None
        self._opening: asyncio.Lock | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def at_hand(self) -> Any:
        """The client if there is one. Raises RequestError in another event loop."""
        self._stay_in_loop()
        return self._given if self._opened is None else self._opened.client

    async def get(self) -> Any:
        """The client, made now if there is none yet. Raises RequestError in another event loop."""
        client = self.at_hand()
        if client is not None:
            return client
        async with self._lock():
            if self._opened is None:
                self._opened = await _open(self._options or ClientOptions())
        return self._opened.client

    async def renew(self, client: Any) -> None:
        """The same as that of `Source`."""
        if self._opened is None or self._opened.client is not client:
            return
        now = self._monotonic()
        if self._renewed is not None and now - self._renewed < RENEWAL_SECONDS:
            return
        before, self._retired, self._opened, self._renewed = self._retired, self._opened, None, now
        if before is not None:
            await before.resources.aclose()

    def explain(self) -> str:
        """The same as that of `Source`."""
        return explain_client(self._given if self._opened is None else self._opened.client, lane=self.lane)

    async def close(self) -> None:
        """Close what was made here, also what is just being made; a client that was given stays open."""
        if self._loop is None or self._given is not None:
            return
        self._stay_in_loop()
        async with self._lock():
            opened, self._opened, self._retired = (self._opened, self._retired), None, None
        # what follows may be in another loop
        self._loop = self._opening = None
        for each in opened:
            if each is not None:
                await each.resources.aclose()

    def _lock(self) -> asyncio.Lock:
        if self._opening is None:
            self._opening = asyncio.Lock()
        return self._opening

    def _stay_in_loop(self) -> None:
        """Raise RequestError in another event loop: connections do not work there, and a write would be half sent."""
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        elif self._loop is not loop:
            msg = (
                "this store was used in another event loop, and so its connections belong there: "
                "make one for each loop by connect_async(), or close it before the next loop begins"
            )
            raise RequestError(msg)


async def _open(options: ClientOptions) -> _Opened:
    try:
        # an extra, loaded with the first client
        config, sessions = import_module("aiobotocore.config"), import_module("aiobotocore.session")
    except ImportError as error:
        msg = "connect_async needs aiobotocore: pip install 'dynamap[aio]'"
        raise ImportError(msg) from error
    events = watched(import_module("aiobotocore.hooks").AioHierarchicalEmitter)
    session = sessions.AioSession(event_hooks=events)
    import_module("dynamap.drivers.models_loader").load_models_quickly(session)
    make = config.AioConfig
    if options.lane and "http_session_cls" in inspect.signature(make).parameters:
        make = partial(make, http_session_cls=import_module("dynamap.drivers.aio_transport").Session)
    arguments = client_arguments(options, session, make)
    if placeholders_for(options, session) and await session.get_credentials() is None:
        arguments |= PLACEHOLDERS
    async with AsyncExitStack() as resources:
        client = accept_async_client(
            await resources.enter_async_context(session.create_client(**arguments)), lane=options.lane
        )
        lane = lane_of(client)
        if lane is not None:
            # its own connections are the lane's already
            lane.own(events.others)
        return _Opened(client, resources.pop_all())
