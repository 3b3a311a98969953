"""Where a driver's client comes from: one that was given, or one that dynamap makes, renews and closes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from weakref import WeakSet

from dynamap.drivers.clients import ClientOptions, accept_client, close_client, make_client
from dynamap.drivers.lane import lane_of

__all__ = ["RENEWAL_SECONDS", "Source", "explain_client"]

RENEWAL_SECONDS = 10.0
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
            recent = self._renewed is not None and now - self._renewed < RENEWAL_SECONDS
            if self._options is None or self._client is not client or recent:
                return
            if self._retired is not None:
                close_client(self._retired)
            # calls that are under way still use it
            self._retired, self._client, self._renewed = client, None, now

    def explain(self) -> str:
        """Which way the calls take through the client, and why."""
        return explain_client(self._client, lane=self.lane)

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


def explain_client(client: Any, *, lane: bool) -> str:
    """Which way the calls take through a client, if there is one, and why."""
    if not lane:
        return "plain: the lane is switched off, by connect(lane=False) or DYNAMAP_LANE=0"
    if client is None:
        return "plain: there is no client yet, the first call makes it"
    found = lane_of(client)
    return "plain: the client's events cannot be followed" if found is None else found.explain()
