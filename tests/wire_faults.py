"""What networks, and the servers between, do to a request and its answer: the faults of a `FaultProxy`, by name."""

from __future__ import annotations

import http.client
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

__all__ = ["FAULTS", "READS", "REFUSED", "Ending", "Forward", "Part", "Request", "Response", "WireFault", "cut_at"]

READS = ("GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems")


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
    """The answer up to this byte, but never all of it: checksums make answers to the same request differ in length."""
    return lambda response: response.text()[:-1][:length]


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
