"""Messages of HTTP/1.1 without their transport: the bytes of a request, and the answer from bytes as they arrive.

An answer of the usual form, as the service gives it, is taken apart here; any other is left to `http.client`.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from http.client import HTTPException, HTTPResponse, IncompleteRead
from typing import Any

from dynamap.codec import Body

__all__ = ["Answer", "ClientResponse", "Headers", "Reader", "RequestHeaders", "request_bytes"]

_END_OF_HEAD = b"\r\n\r\n"
_OTHER_ENDS = (b"\n\n", b"\n\r\n")
_ENDS = (_END_OF_HEAD, *_OTHER_ENDS)
_CHUNKED = re.compile(rb"\n *transfer-encoding *: *chunked", re.IGNORECASE)
# https://www.rfc-editor.org/rfc/rfc9110#name-informational-1xx
_INTERIM = re.compile(rb"HTTP/1\.[01] 1[0-9][0-9][ \r]")
# https://www.rfc-editor.org/rfc/rfc9112#name-field-syntax
_STATUS_LINE = re.compile(r"HTTP/1\.1 ([0-9]{3})(?: [^\r\n\0]*)?", re.ASCII)
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FIRST_FINAL = 200
# they have no body, whatever their headers say
_BODILESS = (204, 304)
# what can no more be a head
_LONGEST_HEAD = 1 << 17
# room for it is made before it comes; the service counts 16 MB at most, of which JSON makes up to 13 times as much
_LONGEST_BODY = 1 << 28


class Headers(MutableMapping[str, Any]):
    """Headers in their order, found by any case of their names; no two of those *given* have the same.

    *values* are the same by name in lower case, where somebody has them already.
    """

    __slots__ = ("_given", "_names", "_values")

    def __init__(self, given: Iterable[tuple[str, Any]] = (), values: dict[str, Any] | None = None) -> None:
        self._given = list(given)
        """As long as none has changed."""
        self._names: dict[str, str] | None = None
        self._values = values

    def _by_lowered_name(self) -> dict[str, Any]:
        if self._values is None:
            self._values = {name.lower(): value for name, value in self._given}
        return self._values

    def _names_to_change(self) -> dict[str, str]:
        if self._names is None:
            self._names = {name.lower(): name for name, _ in self._given}
        return self._names

    def __getitem__(self, name: str) -> Any:
        return self._by_lowered_name()[name.lower()]

    def __setitem__(self, name: str, value: Any) -> None:
        values, names, lowered = self._by_lowered_name(), self._names_to_change(), name.lower()
        names[lowered] = name
        values[lowered] = value

    def __delitem__(self, name: str) -> None:
        values, names, lowered = self._by_lowered_name(), self._names_to_change(), name.lower()
        del values[lowered], names[lowered]

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, _ in self.items()])

    def __len__(self) -> int:
        return len(self._by_lowered_name())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._by_lowered_name()

    def __repr__(self) -> str:
        return f"Headers({dict(self.items())!r})"

    def get(self, name: str, default: Any = None) -> Any:
        return self._by_lowered_name().get(name.lower(), default)

    def copy(self) -> Headers:
        return Headers(self.items())

    def items(self) -> Any:
        """The pairs, sooner than a mapping gives them."""
        if self._names is None:
            return dict(self._given).items()
        return dict(zip(self._names.values(), self._by_lowered_name().values(), strict=True)).items()

    def by_lowered_name(self) -> dict[str, Any]:
        """A dict by the names in lower case."""
        return self._by_lowered_name().copy()


class RequestHeaders(Headers):
    """The headers of a request of the usual kind with this *body*."""

    __slots__ = ("_body",)

    def __init__(self, given: Iterable[tuple[str, Any]], body: bytes) -> None:
        super().__init__(given)
        self._body = body

    def unchanged_for(self, body: object) -> Sequence[tuple[str, Any]] | None:
        """The pairs as they were given, if none has changed and they are those of a request with this body."""
        return self._given if self._names is None and body is self._body else None


def request_bytes(host: str, headers: Iterable[tuple[str, Any]], body: bytes) -> bytes:
    """A POST to the root of *host* as it goes over the wire.

    Raises ValueError for a header that would end before its line does.
    """
    lines = [f"POST / HTTP/1.1\r\nHost: {host}\r\nAccept-Encoding: identity"]
    lines += [f"{name}: {value.decode('latin-1') if type(value) is bytes else value}" for name, value in headers]
    head = "\r\n".join(lines)
    # two are in the first of them
    breaks = len(lines) + 1
    if head.count("\r") != breaks or head.count("\n") != breaks or "\0" in head:
        msg = "a header of the request holds the end of a line"
        raise ValueError(msg)
    return head.encode("latin-1") + _END_OF_HEAD + body


@dataclass
class Answer:
    """One answer: its body may be shorter than its head says, where the connection ended before."""

    status: int
    headers: Headers
    body: Body
    reusable: bool
    """Whether the connection may carry another request."""


class ClientResponse:
    """An answer as a response of botocore's, which answers to `content` as the mode has it; its *body* is at hand."""

    def __init__(self, url: str, answer: Answer) -> None:
        self.url, self.status_code, self.headers, self.body = url, answer.status, answer.headers, answer.body


@dataclass
class _Head:
    status: int
    headers: Headers
    length: int
    """How many bytes the body has."""


class Reader:
    """Takes what arrives for one request, until its answer is whole.

    What arrives is put into `buffer()`, and then told of by `received()`: so a long body is received into the memory
    where it stays. *room* is for heads, and short bodies with them; a connection has one for all its answers.
    """

    def __init__(self, room: memoryview) -> None:
        self._room = room
        self._arrived = b""
        """What came before the head was whole, or all of an answer of another form."""
        self._head: _Head | None = None
        self._start = 0
        """Where the body begins in what came with the head."""
        self._body = bytearray()
        self._rest: memoryview | None = None
        """The part of the body that is still to come."""
        self._unusual = self._chunked = False

    def buffer(self) -> memoryview:
        """Where the next bytes are to be put; never empty before the answer is whole."""
        return self._room if self._rest is None else self._rest

    def received(self, count: int) -> Answer | None:
        """The answer, if it is whole with so many bytes more.

        Raises `http.client.HTTPException` for what can be none.
        """
        if self._rest is None:
            return self._begun(bytes(self._room[:count]))
        self._rest = self._rest[count:]
        return None if self._head is None or len(self._rest) else self._answer(self._head, self._body)

    def end(self) -> Answer:
        """The answer that ends with the connection. Raises `http.client.HTTPException` if there is none."""
        if self._head is not None:
            missing = 0 if self._rest is None else len(self._rest)
            return self._answer(self._head, self._body[: self._head.length - missing], reusable=False)
        answer = _read_elsewhere(self._arrived, ended=True)
        if answer is None:
            msg = "the connection ended before an answer"
            raise HTTPException(msg)
        return answer

    def _begun(self, data: bytes) -> Answer | None:
        """The same for bytes that came with the head or before it."""
        self._arrived += data
        if not self._unusual:
            self._begin()
        if self._unusual:
            # to look for the end of the last chunk at each piece would take too long
            may_be_whole = not self._chunked or self._arrived.endswith(_ENDS)
            return _read_elsewhere(self._arrived, ended=False) if may_be_whole else None
        head = self._head
        if head is None:
            return None
        start, count = self._start, len(self._arrived) - self._start
        if count >= head.length:
            # what comes behind the body answers nothing that was asked
            body = self._arrived[start : start + head.length]
            return self._answer(head, body, reusable=count == head.length)
        self._body = bytearray(head.length)
        self._body[:count] = memoryview(self._arrived)[start:]
        self._rest = memoryview(self._body)[count:]
        return None

    def _begin(self) -> None:
        end = self._arrived.find(_END_OF_HEAD)
        while end >= 0 and _INTERIM.match(self._arrived):
            self._arrived = self._arrived[end + len(_END_OF_HEAD) :]
            end = self._arrived.find(_END_OF_HEAD)
        if end < 0:
            # lines may end without a return
            self._unusual = len(self._arrived) > _LONGEST_HEAD or any(each in self._arrived for each in _OTHER_ENDS)
            return
        head = _usual_head(self._arrived[:end].decode("latin-1"))
        if head is None or head.length > _LONGEST_BODY:
            self._unusual = True
            self._chunked = _CHUNKED.search(self._arrived, 0, end) is not None
            return
        self._head, self._start = head, end + len(_END_OF_HEAD)

    def _answer(self, head: _Head, body: Body, *, reusable: bool = True) -> Answer:
        stays_open = head.headers.get("connection", "keep-alive").lower() == "keep-alive"
        return Answer(head.status, head.headers, body, reusable and stays_open)


def _usual_head(text: str) -> _Head | None:
    """The head of an answer whose body has a length; None for one of another form."""
    lines = text.split("\r\n")
    breaks = len(lines) - 1
    status = _status(lines[0])
    if status is None or text.count("\r") != breaks or text.count("\n") != breaks or "\0" in text:
        return None
    given: list[tuple[str, str]] = []
    values: dict[str, str] = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        lowered = _lowered(name)
        if not colon or lowered is None:
            return None
        values[lowered] = value = value.strip(" \t")
        given.append((name, value))
    length = values.get("content-length", "")
    if (
        len(values) != breaks
        or not length.isdecimal()
        or "transfer-encoding" in values
        or status < _FIRST_FINAL
        or status in _BODILESS
    ):
        return None
    return _Head(status, Headers(given, values), int(length))


@lru_cache(maxsize=64)
def _status(line: str) -> int | None:
    found = _STATUS_LINE.fullmatch(line)
    return None if found is None else int(found[1])


@lru_cache(maxsize=256)
def _lowered(name: str) -> str | None:
    """The name of a header in lower case; None for what is no name."""
    return name.lower() if _NAME.fullmatch(name) else None


class _Arrived:
    """What `http.client` reads an answer from in place of a socket."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, *_mode: Any) -> io.BytesIO:
        return io.BytesIO(self._data)


def _read_elsewhere(data: bytes, *, ended: bool) -> Answer | None:
    """The answer as `http.client` reads it, if it is whole, or if the connection has ended."""
    response = HTTPResponse(_Arrived(data), method="POST")  # type: ignore[arg-type]
    try:
        response.begin()
        if not ended and response.will_close and not response.chunked and response.length is None:
            # only the end of the connection is the end of this one
            return None
        body = response.read()
    except IncompleteRead as error:
        if not ended:
            return None
        body = error.partial
    headers = Headers()
    for name, value in response.getheaders():
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return Answer(response.status, headers, body, not ended and not response.will_close)
