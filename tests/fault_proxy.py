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
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto

__all__ = ["FAULTS", "READS", "REFUSED", "FaultProxy", "Part", "Request", "Response", "Script", "WireFault", "cut_at"]

READS = ("GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems")
_WAIT = 30.0
"""More than any client here waits for an answer."""


@dataclass(frozen=True)
class Request:
    """One request as it came in."""

    operation: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    reused: bool = False
    """Whether its connection had carried another before."""

    @property
    def is_read(self) -> bool:
        return self.operation in READS


@dataclass(frozen=True)
class Response:
    """One answer: its headers without the length, which follows from the body."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def without(self, *names: str) -> Response:
        kept = tuple((name, value) for name, value in self.headers if name.lower() not in names)
        return Response(self.status, kept, self.body)

    def head(self, length: int | None, *, keep: bool = True) -> bytes:
        """The status line and the headers, with the empty line that ends them; without a length if that is None."""
        lines = [f"HTTP/1.1 {self.status} {http.client.responses[self.status]}"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        lines += [] if length is None else [f"Content-Length: {length}"]
        lines += [] if keep else ["Connection: close"]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    def text(self, *, keep: bool = True) -> bytes:
        return self.head(len(self.body), keep=keep) + self.body


# ---- faults


class Forward(Enum):
    """When the server gets the request."""

    NEVER = auto()
    AT_ONCE = auto()
    LATE = auto()
    """When the client has given it up, and before its next request."""
    LAST = auto()
    """When the client has done all that it will do."""


class Ending(Enum):
    """What becomes of the connection."""

    KEEP = auto()
    CLOSE = auto()
    RESET = auto()
    HOLD = auto()
    """Nothing, until the client closes it."""


Part = Callable[[Response], bytes]
"""What the client is sent in place of the whole answer."""


@dataclass(frozen=True)
class WireFault:
    """What happens to one request; *unread* strikes at its first byte."""

    forward: Forward
    ending: Ending
    part: Part | None = None
    unread: bool = False

    def __repr__(self) -> str:
        return next((name for name, fault in FAULTS.items() if fault is self), "a fault")


def cut_at(length: int) -> Part:
    """The answer up to this byte."""
    return lambda response: response.text()[:length]


def _nothing(response: Response) -> bytes:
    del response
    return b""


def _half_of_status_line(response: Response) -> bytes:
    return response.text()[:7]


def _half_of_head(response: Response) -> bytes:
    head = response.head(None)
    # whole lines, as after a packet that ended there: http.client takes what it has for all headers
    return head[: head.index(b"\r\n", len(head) // 3) + 2]


def _half_of_body(response: Response) -> bytes:
    return response.head(len(response.body)) + response.body[: len(response.body) // 2]


def _half_of_body_without_length(response: Response) -> bytes:
    bare = response.without("x-amz-crc32")
    return bare.head(None, keep=False) + response.body[: len(response.body) // 2]


def _short_length(response: Response) -> bytes:
    return response.without("x-amz-crc32").head(len(response.body) // 2) + response.body


def _wrong_checksum(response: Response) -> bytes:
    checked = (*response.without("x-amz-crc32").headers, ("x-amz-crc32", str(zlib.crc32(response.body) ^ 1)))
    return Response(response.status, checked, response.body).text()


def _with_body(body: bytes) -> Part:
    return lambda response: Response(response.status, response.without("x-amz-crc32").headers, body).text()


def _other_bits(response: Response) -> bytes:
    """The right length and checksum, and another body; a server that sends no checksum gets one."""
    checked = (*response.without("x-amz-crc32").headers, ("x-amz-crc32", str(zlib.crc32(response.body))))
    return Response(response.status, checked, bytes(byte ^ 1 for byte in response.body)).text()


def _status(status: int, content_type: str, body: bytes, ending: Ending) -> Part:
    answer = Response(status, (("Content-Type", content_type),), body)
    return lambda response: answer.text(keep=ending is Ending.KEEP)


_INTERNAL = (
    b'{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"it may have succeeded or failed"}'
)


def _error(status: int, forward: Forward, ending: Ending, *, body: bytes | None = None) -> WireFault:
    """An answer of a server between, or of the service itself, whatever became of the request."""
    if status == http.client.INTERNAL_SERVER_ERROR:
        own = _INTERNAL if body is None else body
        return WireFault(forward, ending, _status(status, "application/x-amz-json-1.0", own, ending))
    text = f"<html><head><title>{status} {http.client.responses[status]}</title></head><body></body></html>"
    return WireFault(forward, ending, _status(status, "text/html", text.encode(), ending))


def _not_http(response: Response) -> bytes:
    del response
    return b"\x16\x03\x01 this is no HTTP\r\n\r\n"


REFUSED = WireFault(Forward.NEVER, Ending.CLOSE)
"""Nobody listens, until the proxy is told to `listen` again."""

FAULTS: dict[str, WireFault] = {
    "refused": REFUSED,
    # what never reached the server
    "reset unread": WireFault(Forward.NEVER, Ending.RESET, unread=True),
    "closed unread": WireFault(Forward.NEVER, Ending.CLOSE, unread=True),
    "reset before": WireFault(Forward.NEVER, Ending.RESET),
    "closed before": WireFault(Forward.NEVER, Ending.CLOSE),
    "500 before": _error(500, Forward.NEVER, Ending.KEEP),
    "500 empty before": _error(500, Forward.NEVER, Ending.CLOSE, body=b""),
    "502 before": _error(502, Forward.NEVER, Ending.CLOSE),
    "503 before": _error(503, Forward.NEVER, Ending.KEEP),
    "504 before": _error(504, Forward.NEVER, Ending.KEEP),
    # what reached it, without a byte of the answer
    "reset after": WireFault(Forward.AT_ONCE, Ending.RESET),
    "closed after": WireFault(Forward.AT_ONCE, Ending.CLOSE),
    "500 after": _error(500, Forward.AT_ONCE, Ending.KEEP),
    "500 empty after": _error(500, Forward.AT_ONCE, Ending.KEEP, body=b""),
    "502 after": _error(502, Forward.AT_ONCE, Ending.KEEP),
    "503 after": _error(503, Forward.AT_ONCE, Ending.CLOSE),
    "504 after": _error(504, Forward.AT_ONCE, Ending.KEEP),
    "no http": WireFault(Forward.AT_ONCE, Ending.CLOSE, _not_http),
    # a part of the answer
    "status cut": WireFault(Forward.AT_ONCE, Ending.CLOSE, _half_of_status_line),
    "status reset": WireFault(Forward.AT_ONCE, Ending.RESET, _half_of_status_line),
    "head cut": WireFault(Forward.AT_ONCE, Ending.CLOSE, _half_of_head),
    "head reset": WireFault(Forward.AT_ONCE, Ending.RESET, _half_of_head),
    "body cut": WireFault(Forward.AT_ONCE, Ending.CLOSE, _half_of_body),
    "body reset": WireFault(Forward.AT_ONCE, Ending.RESET, _half_of_body),
    "body cut, no length": WireFault(Forward.AT_ONCE, Ending.CLOSE, _half_of_body_without_length),
    "short length": WireFault(Forward.AT_ONCE, Ending.KEEP, _short_length),
    # a whole answer that is none
    "wrong checksum": WireFault(Forward.AT_ONCE, Ending.KEEP, _wrong_checksum),
    "other bits": WireFault(Forward.AT_ONCE, Ending.KEEP, _other_bits),
    "garbage": WireFault(Forward.AT_ONCE, Ending.KEEP, _with_body(b"\x00\xff no JSON")),
    "garbage in braces": WireFault(Forward.AT_ONCE, Ending.KEEP, _with_body(b'{"Item": no JSON}')),
    "empty body": WireFault(Forward.AT_ONCE, Ending.KEEP, _with_body(b"")),
    # no answer, for longer than the client waits
    "stall before": WireFault(Forward.NEVER, Ending.HOLD),
    "stall after": WireFault(Forward.AT_ONCE, Ending.HOLD),
    "stall in head": WireFault(Forward.AT_ONCE, Ending.HOLD, _half_of_head),
    "stall in body": WireFault(Forward.AT_ONCE, Ending.HOLD, _half_of_body),
    "stall, late": WireFault(Forward.LATE, Ending.HOLD),
    "stall, last": WireFault(Forward.LAST, Ending.HOLD),
}


# ---- the proxy


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
        connection.sendall((fault.part or _nothing)(response))
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
