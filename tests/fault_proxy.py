"""A proxy on 127.0.0.1 that passes requests on to a server, and does to the k-th of them what networks do.

What a `FaultPlan` only pretends happens here to real sockets: whether a client's own machinery sends a request a second
time, or takes half an answer for a whole one, shows here and nowhere else.
"""

from __future__ import annotations

import http.client
import json
import re
import socket
import struct
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from tests.wire_faults import REFUSED, Ending, Forward, Request, Response, WireFault

__all__ = ["FaultProxy", "Script"]

_WAIT = 30.0
"""More than any client here waits for an answer."""

_REFUSED = Request("", (), b"")
"""Stands for one that found nobody listening."""


@dataclass
class Script:
    """Which faults come to the requests whose bodies hold *about*, and what these requests were."""

    faults: Mapping[int, WireFault]
    about: bytes = b""
    requests: list[Request] = field(default_factory=list[Request])
    applied: int = 0
    """How many requests the server has taken, reads left out."""
    held: list[Request] = field(default_factory=list[Request])

    @property
    def writes(self) -> list[Request]:
        """Those that are no reads; one that met a closed door was never made."""
        return [request for request in self.requests if not request.is_read and request is not _REFUSED]

    def next_fault(self) -> WireFault | None:
        return self.faults.get(len(self.requests) + 1)


class FaultProxy:
    """Stands before the server at *url*; *tokens* lends it the memory for transactions' tokens that it lacks."""

    def __init__(self, url: str, *, tokens: bool = False) -> None:
        self._upstream = url.removeprefix("http://")
        self._lock = threading.RLock()
        self._scripts: list[Script] = []
        self._connections: dict[socket.socket, threading.Thread] = {}
        self._tokens: dict[str, tuple[bytes, Response]] | None = {} if tokens else None
        self._keep = True
        self._listener: socket.socket | None = None
        self._port = 0
        self._broken: list[BaseException] = []
        self.listen()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def listen(self) -> None:
        """Take connections, again if nobody did; unless the next is to be refused too."""
        with self._lock:
            if any(self._is_refused(script) for script in self._scripts):
                return
            self._listen()

    def _listen(self) -> None:
        if self._listener is None:
            self._listener = socket.create_server(("127.0.0.1", self._port), backlog=128)
            self._port = self._listener.getsockname()[1]
            threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def refuse(self) -> None:
        """Let connections be refused from now on; those that are open stay open."""
        listener, self._listener = self._listener, None
        if listener is not None:
            # which wakes accept(); closing alone does not
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()

    def keep_alive(self, keep: bool) -> None:
        """Whether a whole answer leaves the connection open."""
        self._keep = keep

    def play(self, faults: Mapping[int, WireFault], about: str = "") -> Script:
        """Let these faults come to the next requests, counted from 1; with *about*, to those that speak of it."""
        script = Script(dict(faults), about.encode())
        with self._lock:
            self._scripts.insert(0, script)
            self._prepare_next(script)
        return script

    def settle(self, script: Script) -> None:
        """Deliver what was held back for the last, and end the script. Raises what has gone wrong in the proxy."""
        with self._lock:
            self._deliver(script)
            self._scripts.remove(script)
            self._listen()
        if self._broken:
            raise self._broken.pop()

    def close(self) -> None:
        self.refuse()
        with self._lock:
            connections = list(self._connections.items())
        for connection, _ in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for _, thread in connections:
            thread.join(_WAIT)

    # ---- connections

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connection.settimeout(_WAIT)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            with self._lock:
                self._connections[connection] = thread
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            reused = False
            while self._answer_one(connection, reused=reused):
                reused = True
        except (ConnectionError, TimeoutError):
            # the client went away
            pass
        except Exception as error:  # noqa: BLE001 - the test that waits for the answer must hear of it
            self._broken.append(error)
        finally:
            connection.close()
            with self._lock:
                del self._connections[connection]

    def _answer_one(self, connection: socket.socket, *, reused: bool) -> bool:
        """Take one request; answers whether there may be another."""
        if not connection.recv(1, socket.MSG_PEEK):
            return False
        unread = self._unread_fault(connection, reused=reused)
        if unread is not None:
            _end(connection, unread.ending)
            return False
        request = _read(connection, reused=reused)
        with self._lock:
            script = next((script for script in self._scripts if script.about in request.body), None)
            fault = None if script is None else script.next_fault()
            if script is not None:
                self._deliver(script, Forward.LATE)
                script.requests.append(request)
            response = self._handle(request, script, fault)
            keep = self._keep if script is None else self._prepare_next(script)
        if fault is None:
            connection.sendall(response.text(keep=keep))
            return keep
        connection.sendall(b"" if fault.part is None else fault.part(response))
        _end(connection, fault.ending)
        return fault.ending is Ending.KEEP

    def _unread_fault(self, connection: socket.socket, *, reused: bool) -> WireFault | None:
        """The fault that strikes before the request is read, if it is such a one's turn."""
        with self._lock:
            script = next((script for script in self._scripts if not script.about), None)
            fault = None if script is None else script.next_fault()
            if script is None or fault is None or not fault.unread:
                return None
            script.requests.append(_glimpse(connection, reused=reused))
            self._prepare_next(script)
            return fault

    def _prepare_next(self, script: Script) -> bool:
        """Whether the connection may stay open for the next request; nobody listens where that is to be refused."""
        return self._keep and not self._is_refused(script)

    def _is_refused(self, script: Script) -> bool:
        if script.next_fault() is not REFUSED:
            return False
        script.requests.append(_REFUSED)
        self.refuse()
        return True

    def _handle(self, request: Request, script: Script | None, fault: WireFault | None) -> Response:
        """Pass the request on as the fault has it."""
        if fault is None or fault.forward is Forward.AT_ONCE:
            return self._forward(request, script)
        if script is not None and fault.forward in (Forward.LATE, Forward.LAST):
            script.held.append(request)
        return Response(500, (), b"")

    def _deliver(self, script: Script, forward: Forward | None = None) -> None:
        """Pass on what was held back, all or what was to come so late."""
        late, script.held = script.held, []
        for request in late:
            fault = script.faults[_place(script.requests, request)]
            if forward in (None, fault.forward):
                self._forward(request, script)
            else:
                script.held.append(request)

    def _forward(self, request: Request, script: Script | None) -> Response:
        known = self._remembered(request)
        if known is not None:
            return known
        upstream = http.client.HTTPConnection(self._upstream, timeout=_WAIT)
        try:
            upstream.request("POST", "/", request.body, dict(request.headers))
            answer = upstream.getresponse()
            body = answer.read()
        except OSError as error:
            msg = f"the server behind the proxy did not answer {request.operation}"
            raise RuntimeError(msg) from error
        finally:
            upstream.close()
        skipped = ("content-length", "transfer-encoding", "connection", "keep-alive")
        response = Response(answer.status, tuple(answer.getheaders()), body).without(*skipped)
        if script is not None and not request.is_read:
            script.applied += response.status == http.client.OK
        self._remember(request, response)
        return response

    # ---- tokens

    def _remembered(self, request: Request) -> Response | None:
        token = _token(request)
        if self._tokens is None or token is None or token not in self._tokens:
            return None
        body, response = self._tokens[token]
        if body == request.body:
            return response
        refusal = b'{"__type":"com.amazonaws.dynamodb.v20120810#IdempotentParameterMismatchException"}'
        return Response(400, (("Content-Type", "application/x-amz-json-1.0"),), refusal)

    def _remember(self, request: Request, response: Response) -> None:
        token = _token(request)
        if self._tokens is not None and token is not None and response.status == http.client.OK:
            self._tokens[token] = request.body, response


def _token(request: Request) -> str | None:
    if request.operation != "TransactWriteItems":
        return None
    token: str | None = json.loads(request.body).get("ClientRequestToken")
    return token


def _place(requests: Sequence[Request], request: Request) -> int:
    return next(number for number, each in enumerate(requests, 1) if each is request)


def _read(connection: socket.socket, *, reused: bool) -> Request:
    text = b""
    while b"\r\n\r\n" not in text:
        text += _some(connection)
    head, _, body = text.partition(b"\r\n\r\n")
    lines = [line.partition(":") for line in head.decode("latin-1").split("\r\n")[1:]]
    headers = {name.lower(): value.strip() for name, _, value in lines}
    while len(body) < int(headers["content-length"]):
        body += _some(connection)
    operation = headers["x-amz-target"].rpartition(".")[2]
    passed = tuple((name, value) for name, value in headers.items() if name not in ("host", "connection"))
    return Request(operation, passed, body, reused)


def _glimpse(connection: socket.socket, *, reused: bool) -> Request:
    """What can be seen of a request without taking it; clients send the head at once."""
    seen = connection.recv(65536, socket.MSG_PEEK)
    target = re.search(rb"(?i)x-amz-target: *\w+\.(\w+)", seen)
    return Request("unread" if target is None else target[1].decode(), (), b"", reused)


def _some(connection: socket.socket) -> bytes:
    received = connection.recv(65536)
    if not received:
        msg = "the client closed the connection in the middle of a request"
        raise ConnectionError(msg)
    return received


def _end(connection: socket.socket, ending: Ending) -> None:
    if ending is Ending.RESET:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
        return
    if ending is Ending.CLOSE:
        connection.shutdown(socket.SHUT_WR)
    if ending is not Ending.KEEP:
        # what a client still sends is taken and lost: closing before that would be a reset
        while connection.recv(65536):
            pass
