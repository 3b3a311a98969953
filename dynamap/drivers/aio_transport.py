"""Connections of our own for aiobotocore clients that dynamap makes.

Loaded with the first client. What is out of the common goes over aiohttp, as aiobotocore has it.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPException
from types import SimpleNamespace
from typing import Any

from aiobotocore.httpsession import AIOHTTPSession
from urllib3.exceptions import ConnectTimeoutError

from dynamap.drivers.failures import NeverConnected
from dynamap.drivers.messages import Answer, ClientResponse, Reader
from dynamap.drivers.transport import (
    ROOM,
    NotSecured,
    Origin,
    Settings,
    message_of,
    origin_of,
    readable_check,
    time_to_read,
    translated,
)
from dynamap.drivers.waiting import in_seconds

__all__ = ["Session"]

_IDLE_SECONDS = 12.0
"""As long as aiobotocore keeps a connection that is not used."""


class Response(ClientResponse):
    """An answer in the form of aiobotocore's `AioAWSResponse`."""

    @property
    def raw(self) -> Any:
        """What older versions take the headers from."""
        pairs = [(name.encode(), value.encode("latin-1")) for name, value in self.headers.items()]
        return SimpleNamespace(raw_headers=pairs, read=self._content)

    @property
    def content(self) -> Any:
        return self._content()

    @property
    def text(self) -> Any:
        """The body, which is JSON."""
        return self._text()

    async def _content(self) -> bytes:
        return bytes(self.body)

    async def _text(self) -> str:
        return self.body.decode()


class Session(AIOHTTPSession):  # type: ignore[misc]  # it comes without types
    """What aiobotocore's `http_session_cls` takes."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)  # pyright: ignore[reportUnknownMemberType]
        self._aiohttp: Any = super()
        connect_timeout, read_timeout = options["timeout"]
        cert = options.get("client_cert")
        self._proxied: tuple[str, ...] = tuple(options.get("proxies") or ())
        self._transport = _Transport(
            Settings(
                connect_timeout=connect_timeout,
                read_timeout=read_timeout,
                most_idle=options["max_pool_connections"],
                socket_options=tuple(options.get("socket_options") or ()),
                verify=options["verify"],
                client_cert=() if cert is None else (cert,) if isinstance(cert, str) else tuple(cert),
            )
        )

    async def send(self, request: Any) -> Any:
        """The answer to a prepared request."""
        origin = origin_of(request.url)
        if origin is not None and origin.scheme not in self._proxied:
            answer = await self._transport.send(request, origin)
            if answer is not None:
                return answer
        return await self._aiohttp.send(request)

    async def __aexit__(self, *error: object) -> None:
        self._transport.close()
        await self._aiohttp.__aexit__(*error)


class _Transport:
    """Connections that carry one request at a time, no more of them than the client may have, in one event loop."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._idle: dict[Origin, deque[_Wire]] = {}
        self._places = asyncio.Semaphore(settings.most_idle)
        self._tls: ssl.SSLContext | None = None
        self._closed = False

    async def send(self, request: Any, origin: Origin) -> Response | None:
        """The answer to a prepared request; None, and nothing is sent, where it is not of the usual kind.

        Raises what aiobotocore's own session raises.
        """
        try:
            data = message_of(request, origin)
            if data is None:
                return None
            async with self._places:
                wire = self._take(origin) or await self._open(origin)
                try:
                    answer = await wire.ask(data, time_to_read(request, self._settings.read_timeout))
                except BaseException:
                    wire.close()
                    raise
                if answer.reusable and not self._closed:
                    wire.idle_since = wire.loop.time()
                    self._idle.setdefault(origin, deque()).append(wire)
                else:
                    wire.close()
        except Exception as error:
            raise translated(error, request) from error
        return Response(request.url, answer)

    def close(self) -> None:
        """Close what is idle; what is under way is closed after its answer."""
        self._closed = True
        for wires in self._idle.values():
            for wire in wires:
                wire.close()
        self._idle.clear()

    def _take(self, origin: Origin) -> _Wire | None:
        idle = self._idle.get(origin)
        while idle:
            wire = idle.pop()
            if wire.is_usable():
                return wire
            wire.close()
        return None

    async def _open(self, origin: Origin) -> _Wire:
        loop = asyncio.get_running_loop()
        settings = self._settings
        try:
            connecting = loop.create_connection(lambda: _Wire(loop), origin.host, origin.port)
            transport, wire = await in_seconds(connecting, settings.connect_timeout)
        except asyncio.TimeoutError as error:
            msg = "no connection in time"
            raise ConnectTimeoutError(msg) from error
        except OSError as error:
            raise NeverConnected(str(error)) from error
        plain: Any = transport.get_extra_info("socket")
        for option in settings.socket_options:
            # not every loop's sockets have all of them
            with suppress(OSError, AttributeError):
                plain.setsockopt(*option)
        if origin.scheme == "https":
            await self._secure(wire, origin)
        return wire

    async def _secure(self, wire: _Wire, origin: Origin) -> None:
        try:
            if self._tls is None:
                # it reads files
                self._tls = await asyncio.to_thread(self._settings.tls)
            secured = await wire.loop.start_tls(
                wire.transport,
                wire,
                self._tls,
                server_hostname=origin.host,
                ssl_handshake_timeout=self._settings.read_timeout,
            )
        except BaseException as error:
            wire.close()
            if not isinstance(error, Exception):
                raise
            raise NotSecured(str(error)) from error
        wire.transport = secured


class _Wire(asyncio.BufferedProtocol):
    """One connection, and the request that it carries."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.transport: Any = None
        self.idle_since = 0.0
        self._answer: asyncio.Future[Answer] | None = None
        self._room = memoryview(bytearray(ROOM))
        self._reader = Reader(self._room)
        self._is_readable: Callable[[], bool] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._patience = self._last_heard = 0.0
        self._unsent = 0
        self._lost = False

    async def ask(self, data: bytes, seconds: float) -> Answer:
        """The answer to this request, of which something is to arrive every so many seconds."""
        self._reader = Reader(self._room)
        answer: asyncio.Future[Answer] = self.loop.create_future()
        self._answer = answer
        self._patience, self._last_heard = seconds, self.loop.time()
        self._watch(self._last_heard + seconds)
        try:
            if self._lost:
                self._fail(ConnectionResetError("the connection is lost"))
            else:
                self.transport.write(data)
                self._unsent = self.transport.get_write_buffer_size()
            return await answer
        finally:
            self._answer = None

    def is_usable(self) -> bool:
        """Whether the other side has neither closed it nor said something that nobody asked for."""
        if self._lost or self.transport.is_closing() or self.loop.time() - self.idle_since > _IDLE_SECONDS:
            return False
        # the loop may not have looked since
        return self._is_readable is None or not self._is_readable()

    def close(self) -> None:
        self._unwatch()
        if self.transport is not None:
            self.transport.abort()

    def _watch(self, due: float) -> None:
        """See to it that `_look` is called by then; a timer of an earlier request serves as well."""
        if self._timer is None or self._timer.when() > due:
            self._unwatch()
            self._timer = self.loop.call_at(due, self._look)

    def _unwatch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # ---- what the transport calls

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        # not every loop has one
        plain: socket.socket | None = transport.get_extra_info("socket")
        self._is_readable = None if plain is None else readable_check(plain)

    def get_buffer(self, sizehint: int) -> memoryview:
        del sizehint
        return self._reader.buffer() if self._is_awaited else self._room

    def buffer_updated(self, nbytes: int) -> None:
        if not self._is_awaited:
            self.close()
            return
        self._last_heard = self.loop.time()
        try:
            answer = self._reader.received(nbytes)
        except HTTPException as error:
            self._fail(error)
            return
        if answer is not None:
            self._end(answer)

    @property
    def _is_awaited(self) -> bool:
        """Whether somebody waits for an answer that is not whole."""
        return self._answer is not None and not self._answer.done()

    def eof_received(self) -> None:
        self._over(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        self._unwatch()
        self._over(exc)

    def _over(self, error: Exception | None) -> None:
        """The connection has ended, as some answers do."""
        if self._answer is None or self._answer.done():
            return
        if error is not None:
            self._fail(error)
            return
        try:
            answer = self._reader.end()
        except (HTTPException, ConnectionError) as raised_at:
            self._fail(raised_at)
        else:
            self._end(answer)

    def _look(self) -> None:
        """See whether something has happened in time."""
        self._timer = None
        if self._answer is None:
            return
        unsent = self.transport.get_write_buffer_size()
        if unsent < self._unsent:
            self._unsent, self._last_heard = unsent, self.loop.time()
        due = self._last_heard + self._patience
        if due > self.loop.time():
            self._watch(due)
        else:
            self._fail(TimeoutError())

    def _end(self, answer: Answer) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(answer)

    def _fail(self, error: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)
