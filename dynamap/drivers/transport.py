"""Connections of the lane's own, for clients that dynamap makes: urllib3 opens them, one request follows another.

Loaded with the first client. What is out of the common goes over the client's own connections instead.
"""

from __future__ import annotations

import os
import select
import socket
import ssl
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit
from weakref import finalize

from botocore import exceptions as raised
from botocore.httpsession import (
    create_urllib3_context,  # pyright: ignore[reportUnknownVariableType]
    get_cert_path,  # pyright: ignore[reportUnknownVariableType]
)
from botocore.utils import get_environ_proxies  # pyright: ignore[reportUnknownVariableType]
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError
from urllib3.util.wait import wait_for_read

from dynamap.backoff import time_left
from dynamap.drivers.failures import NeverConnected
from dynamap.drivers.messages import Answer, ClientResponse, Reader, RequestHeaders, request_bytes

__all__ = [
    "ROOM",
    "NotSecured",
    "Origin",
    "Settings",
    "Transport",
    "message_of",
    "origin_of",
    "readable_check",
    "time_to_read",
    "translated",
    "transport_of",
]

_PORTS = {"http": 80, "https": 443}
ROOM = 1 << 15
"""Bytes that a connection has room for when an answer begins."""


@dataclass(frozen=True)
class Settings:
    """What the configuration of a client says about its connections."""

    connect_timeout: float
    read_timeout: float
    most_idle: int
    socket_options: tuple[tuple[int, int, int], ...]
    verify: str | bool
    client_cert: tuple[str, ...]

    def tls(self) -> ssl.SSLContext:
        """A context as botocore makes one for each connection."""
        context: ssl.SSLContext = create_urllib3_context()
        context.check_hostname = True
        verify: Any = self.verify
        context.load_verify_locations(get_cert_path(verify))
        if self.client_cert:
            context.load_cert_chain(*self.client_cert)
        return context


def transport_of(client: Any, session: Any) -> Transport | None:
    """Connections like those of a client of this session of botocore; None where a proxy stands in between."""
    config = client.meta.config
    url: str = client.meta.endpoint_url
    if urlsplit(url).scheme in (config.proxies or get_environ_proxies(url)):
        return None
    options = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]
    if config.tcp_keepalive:
        options.append((socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1))
    cert = config.client_cert
    return Transport(
        Settings(
            connect_timeout=config.connect_timeout,
            read_timeout=config.read_timeout,
            most_idle=config.max_pool_connections,
            socket_options=tuple(options),
            verify=session.get_config_variable("ca_bundle") or os.environ.get("REQUESTS_CA_BUNDLE") or True,
            client_cert=() if cert is None else (cert,) if isinstance(cert, str) else tuple(cert),
        )
    )


class NotSecured(NeverConnected):
    """There was a connection, and no agreement on TLS."""


class Response(ClientResponse):
    """An answer in the form of botocore's `AWSResponse`."""

    raw = None

    @property
    def content(self) -> bytes:
        """The body."""
        return bytes(self.body)

    @property
    def text(self) -> str:
        """The body, which is JSON."""
        return self.body.decode()


class Transport:
    """Sends requests of the lane and waits for their answers; may be shared by threads.

    A connection carries one request at a time, and is kept for the next when the answer came whole. Raises what
    botocore's own session raises.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._pools: dict[str, _Pool | None] = {}

    def send(self, request: Any) -> Response | None:
        """The answer to a prepared request; None, and nothing is sent, where it is not of the usual kind."""
        pool = self._pool(request.url)
        if pool is None:
            return None
        connection = None
        try:
            data = message_of(request, pool.origin)
            if data is None:
                return None
            connection = pool.take() or pool.open()
            answer = connection.ask(data, time_to_read(request, self._settings.read_timeout))
        except BaseException as error:
            if connection is not None:
                connection.close()
            if not isinstance(error, Exception):
                raise
            raise translated(error, request) from error
        if answer.reusable:
            pool.put(connection)
        else:
            connection.close()
        return Response(request.url, answer)

    def close(self) -> None:
        """Close what is idle; what is under way is closed after its answer."""
        pools, self._pools = self._pools, {}
        for pool in pools.values():
            if pool is not None:
                pool.close()

    def _pool(self, url: str) -> _Pool | None:
        try:
            return self._pools[url]
        except KeyError:
            origin = origin_of(url)
            pool = self._pools[url] = None if origin is None else _Pool(self._settings, origin)
            return pool


@dataclass(frozen=True)
class Origin:
    """Where a connection leads to."""

    scheme: str
    host: str
    port: int
    host_header: str


@lru_cache(maxsize=256)
def origin_of(url: str) -> Origin | None:
    """Where a request to the root of a host goes; None for a URL that says more."""
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname or parts.path not in ("", "/") or parts.query or parts.username:
        return None
    host, usual = parts.hostname, _PORTS[parts.scheme]
    port = parts.port or usual
    bracketed = f"[{host}]" if ":" in host else host
    return Origin(parts.scheme, host, port, bracketed if port == usual else f"{bracketed}:{port}")


class _Connection:
    """One connection that urllib3 has opened."""

    def __init__(self, opened: Any) -> None:
        self._opened = opened
        self._socket: socket.socket = opened.sock
        self._room = memoryview(bytearray(ROOM))
        self._timeout: float | None = None
        self.is_readable = readable_check(self._socket)

    def ask(self, data: bytes, seconds: float) -> Answer:
        """The answer to this request, of which something is to arrive every so many seconds.

        All of it has to arrive within the enclosing deadline.
        """
        self._wait_no_longer_than(seconds)
        # an answer may have come before the connection was closed
        with suppress(BrokenPipeError, ConnectionResetError):
            self._socket.sendall(data)
        reader = Reader(self._room)
        while True:
            count = self._socket.recv_into(reader.buffer())
            answer = reader.received(count) if count else reader.end()
            if answer is not None:
                return answer
            left = time_left()
            if left is not None:
                self._wait_no_longer_than(min(seconds, left))

    def _wait_no_longer_than(self, seconds: float) -> None:
        if seconds <= 0:
            msg = "the deadline ended before the answer was whole"
            raise TimeoutError(msg)
        if seconds != self._timeout:
            # a system call, and the time is mostly the same
            self._socket.settimeout(seconds)
            self._timeout = seconds

    def close(self) -> None:
        self._opened.close()


def readable_check(connection: socket.socket) -> Callable[[], bool]:
    """What tells of an idle connection whether something has arrived, be it its end: nobody has asked for that."""
    polls: Any = getattr(select, "poll", None)
    is_readable: Callable[[], bool]
    if polls is None:
        is_readable = partial(wait_for_read, connection, timeout=0)
    else:
        # kept: to make one for each call costs more than the question
        poll = polls()
        poll.register(connection, select.POLLIN)
        is_readable = lambda: bool(poll.poll(0))  # noqa: E731
    if isinstance(connection, ssl.SSLSocket):
        # what came in one record with the answer is no more to be read from the system
        return lambda: connection.pending() > 0 or is_readable()
    return is_readable


def message_of(request: Any, origin: Origin) -> bytes | None:
    """What goes over the wire for a prepared request; None for one that is no body with a length, sent as it is.

    Raises ValueError for a header that would end before its line does.
    """
    headers, body = request.headers, request.body
    if request.method != "POST" or type(body) is not bytes:
        return None
    unchanged = headers.unchanged_for(body) if type(headers) is RequestHeaders else None
    if unchanged is not None:
        return request_bytes(origin.host_header, unchanged, body)
    is_usual = (
        headers.get("Content-Length") == str(len(body))
        and "Transfer-Encoding" not in headers
        and "Host" not in headers
        and "Accept-Encoding" not in headers
    )
    return request_bytes(origin.host_header, headers.items(), body) if is_usual else None


class _Pool:
    """The idle connections to one host; the one that was used last comes first."""

    def __init__(self, settings: Settings, origin: Origin) -> None:
        self.origin, self._settings = origin, settings
        self._idle: deque[_Connection] = deque()
        self._tls: ssl.SSLContext | None = None
        self._closed = False
        # of a store that nobody closes, as of a boto3 client, nothing is left open
        finalize(self, _close, self._idle)

    def take(self) -> _Connection | None:
        """An idle connection that the other side has not closed, or None."""
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return None
            if not connection.is_readable():
                return connection
            connection.close()

    def open(self) -> _Connection:
        options: dict[str, Any] = {
            "timeout": self._settings.connect_timeout,
            "socket_options": list(self._settings.socket_options),
        }
        connection: Any
        if self.origin.scheme == "http":
            connection = HTTPConnection(self.origin.host, self.origin.port, **options)
        else:
            if self._tls is None:
                self._tls = self._settings.tls()
            connection = HTTPSConnection(self.origin.host, self.origin.port, ssl_context=self._tls, **options)
        try:
            connection.connect()
        except BaseException as error:
            connection.close()
            if isinstance(error, (NewConnectionError, ConnectTimeoutError)) or not isinstance(error, Exception):
                raise
            raise NotSecured(str(error)) from error
        return _Connection(connection)

    def put(self, connection: _Connection) -> None:
        """Keep a connection for the next request."""
        if self._closed or len(self._idle) >= self._settings.most_idle:
            connection.close()
        else:
            self._idle.append(connection)

    def close(self) -> None:
        self._closed = True
        _close(self._idle)


def _close(idle: deque[_Connection]) -> None:
    while idle:
        idle.pop().close()


def time_to_read(request: Any, usual: float) -> float:
    """The seconds that may pass without a word of the answer."""
    # as botocore looks for it; older ones have no context
    context: Any = getattr(request, "context", None)
    wanted: float | None = None if context is None else context.get("read_timeout")
    return usual if wanted is None else wanted


def translated(error: Exception, request: Any) -> Exception:
    """What botocore's session raises for this error of a connection."""
    made: Exception
    if isinstance(error, (NotSecured, ssl.SSLError)):
        made = raised.SSLError(endpoint_url=request.url, error=error)
    elif isinstance(error, (NewConnectionError, NeverConnected)):
        made = raised.EndpointConnectionError(endpoint_url=request.url, error=error)
    elif isinstance(error, ConnectTimeoutError):
        made = raised.ConnectTimeoutError(endpoint_url=request.url, error=error)
    elif isinstance(error, TimeoutError):
        made = raised.ReadTimeoutError(endpoint_url=request.url, error=error)
    elif isinstance(error, (HTTPException, OSError)):
        made = raised.ConnectionClosedError(error=error, request=request, endpoint_url=request.url)
    else:
        made = raised.HTTPClientError(error=error)
    return made
