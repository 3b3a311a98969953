"""Where a driver's client comes from: one that was given, or one that dynamap makes, renews and closes."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any
from weakref import WeakSet

from dynamap.drivers.clients import (
    PLACEHOLDERS,
    ClientOptions,
    accept_async_client,
    accept_client,
    client_arguments,
    close_client,
    make_client,
    placeholders_for,
)
from dynamap.drivers.lane import lane_of
from dynamap.errors import RequestError

__all__ = ["AsyncSource", "Source"]

_RENEWAL_SECONDS = 10.0
"""A session that is newer than this has just asked for its credentials: another would be given the same."""


class Source:
    """The client of a SyncDriver, made at its first call unless it was given."""

    def __init__(
        self, client: Any | ClientOptions, monotonic: Callable[[], float] = time.monotonic, *, lane: bool = False
    ) -> None:
        self.lane = lane
        self._options = replace(client, lane=lane) if isinstance(client, ClientOptions) else None
        self._client: Any = None if isinstance(client, ClientOptions) else accept_client(client, lane=lane)
        self._monotonic = monotonic
        self._renewed: float | None = None
        self._retired: Any = None
        self._lock = threading.Lock()
        if self._options is not None:
            _sources_with_own_clients.add(self)

    def get(self) -> Any:
        """The client, made now if there is none yet."""
        client = self._client
        if client is not None:
            return client
        with self._lock:
            if self._client is None:
                self._client = make_client(self._options or ClientOptions())
            return self._client

    def renew(self, client: Any) -> None:
        """Let the next call have a client of a new session, which asks for credentials anew; not one that was given.

        A session cannot be told that the service does not take its credentials any more, so it is replaced.
        """
        with self._lock:
            now = self._monotonic()
            recent = self._renewed is not None and now - self._renewed < _RENEWAL_SECONDS
            if self._options is None or self._client is not client or recent:
                return
            if self._retired is not None:
                close_client(self._retired)
            # calls that are under way still use it
            self._retired, self._client, self._renewed = client, None, now

    def explain(self) -> str:
        """Which way the calls take through the client, and why."""
        return _explain(self._client, lane=self.lane)

    def leave_to_parent(self) -> None:
        """In the child of a fork: its connections are the parent's, which would read the answers to our requests."""
        # the lock may be held by a thread that is not here
        self._lock, self._client, self._retired = threading.Lock(), None, None

    def close(self) -> None:
        """Close what was made here; a client that was given stays open."""
        with self._lock:
            if self._options is None:
                return
            clients, self._client, self._retired = (self._client, self._retired), None, None
        for client in clients:
            if client is not None:
                close_client(client)


_sources_with_own_clients: WeakSet[Source] = WeakSet()


def _after_fork() -> None:
    for source in tuple(_sources_with_own_clients):
        source.leave_to_parent()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no forks
    os.register_at_fork(after_in_child=_after_fork)


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

    async def get(self) -> Any:
        """The client, made now if there is none yet. Raises RequestError in another event loop."""
        self._stay_in_loop()
        if self._given is not None:
            return self._given
        if self._opened is None:
            async with self._lock():
                if self._opened is None:
                    self._opened = await _open(self._options or ClientOptions())
        return self._opened.client

    async def renew(self, client: Any) -> None:
        """The same as that of `Source`."""
        if self._opened is None or self._opened.client is not client:
            return
        now = self._monotonic()
        if self._renewed is not None and now - self._renewed < _RENEWAL_SECONDS:
            return
        before, self._retired, self._opened, self._renewed = self._retired, self._opened, None, now
        if before is not None:
            await before.resources.aclose()

    def explain(self) -> str:
        """The same as that of `Source`."""
        return _explain(self._given if self._opened is None else self._opened.client, lane=self.lane)

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


def _explain(client: Any, *, lane: bool) -> str:
    if not lane:
        return "plain: the lane is switched off; connect(lane=True) or DYNAMAP_LANE=1 switches it on"
    if client is None:
        return "plain: there is no client yet, the first call makes it"
    found = lane_of(client)
    return "plain: the client's events cannot be followed" if found is None else found.explain()


async def _open(options: ClientOptions) -> _Opened:
    try:
        # an extra, loaded with the first client
        config, sessions = import_module("aiobotocore.config"), import_module("aiobotocore.session")
    except ImportError as error:
        msg = "connect_async needs aiobotocore: pip install 'dynamap[aio]'"
        raise ImportError(msg) from error
    session = sessions.get_session()
    import_module("dynamap.drivers.models_loader").load_models_quickly(session)
    arguments = client_arguments(options, session, config.AioConfig)
    if placeholders_for(options, session) and await session.get_credentials() is None:
        arguments |= PLACEHOLDERS
    async with AsyncExitStack() as resources:
        client = accept_async_client(
            await resources.enter_async_context(session.create_client(**arguments)), lane=options.lane
        )
        return _Opened(client, resources.pop_all())
