"""Messages of HTTP/1.1 without their transport: the bytes of a request, and the answer from bytes as they arrive.

An answer of the usual form, as the service gives it, is taken apart here; any other is left to `http.client`.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, MutableMapping
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse, IncompleteRead
from typing import Any

__all__ = ["Answer", "Headers", "Reader", "request_bytes"]

_END_OF_HEAD = b"\r\n\r\n"
_OTHER_ENDS = (b"\n\n", b"\n\r\n")
_ANNOUNCEMENT = b"HTTP/1.1 100"
# https://www.rfc-editor.org/rfc/rfc9112#name-field-syntax
_USUAL_HEAD = re.compile(
    r"HTTP/1\.1 ([0-9]{3})(?: [^\r\n\0]*)?(?:\r\n[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\r\n\0]*)*", re.ASCII
)
_FIRST_FINAL = 200
# they have no body, whatever their headers say
_BODILESS = (204, 304)
# what can no more be a head
_LONGEST_HEAD = 1 << 17


class Headers(MutableMapping[str, Any]):
    """Headers in their order, found by any case of their names."""

    __slots__ = ("_names", "_values")

    def __init__(self, headers: Iterable[tuple[str, Any]] = ()) -> None:
        pairs = list(headers)
        self._names: dict[str, str] = {name.lower(): name for name, _ in pairs}
        self._values: dict[str, Any] = {name.lower(): value for name, value in pairs}

    def __getitem__(self, name: str) -> Any:
        return self._values[name.lower()]

    def __setitem__(self, name: str, value: Any) -> None:
        lowered = name.lower()
        self._names[lowered] = name
        self._values[lowered] = value

    def __delitem__(self, name: str) -> None:
        lowered = name.lower()
        del self._values[lowered], self._names[lowered]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names.values())

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._values

    def __repr__(self) -> str:
        return f"Headers({dict(self.items())!r})"

    def get(self, name: str, default: Any = None) -> Any:
        return self._values.get(name.lower(), default)

    def copy(self) -> Headers:
        return Headers(self.items())

    def items(self) -> Any:
        """The pairs, sooner than a mapping gives them."""
        return dict(zip(self._names.values(), self._values.values(), strict=True)).items()

    def by_lowered_name(self) -> dict[str, Any]:
        """A dict by the names in lower case."""
        return self._values.copy()


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
    body: bytes
    reusable: bool
    """Whether the connection may carry another request."""


@dataclass
class _Head:
    status: int
    headers: Headers
    length: int
    """How many bytes the body has."""


class Reader:
    """Takes what arrives for one request, until its answer is whole."""

    def __init__(self) -> None:
        self._arrived: bytes | bytearray = b""
        """What came before the head was whole, or all of an answer of another form."""
        self._head: _Head | None = None
        self._pieces: list[bytes] = []
        self._missing = 0
        self._unusual = False

    @property
    def missing(self) -> int:
        """How many bytes of the body are still to come, as far as that is known."""
        return self._missing

    def feed(self, data: bytes) -> Answer | None:
        """The answer, if it is whole with these bytes. Raises `http.client.HTTPException` for what can be none."""
        if self._head is None:
            if not self._arrived:
                self._arrived = data
            elif isinstance(self._arrived, bytes):
                self._arrived = bytearray(self._arrived) + data
            else:
                self._arrived += data
            if not self._unusual:
                self._begin()
            if self._unusual:
                return _read_elsewhere(bytes(self._arrived), ended=False)
        else:
            self._pieces.append(data)
            self._missing -= len(data)
        return None if self._head is None or self._missing > 0 else self._answer(self._head)

    def end(self) -> Answer:
        """The answer that ends with the connection. Raises `http.client.HTTPException` if there is none."""
        if self._head is not None:
            return self._answer(self._head, ended=True)
        answer = _read_elsewhere(bytes(self._arrived), ended=True)
        if answer is None:
            msg = "the connection ended before an answer"
            raise HTTPException(msg)
        return answer

    def _begin(self) -> None:
        end = self._arrived.find(_END_OF_HEAD)
        while end >= 0 and self._arrived.startswith(_ANNOUNCEMENT):
            self._arrived = self._arrived[end + len(_END_OF_HEAD) :]
            end = self._arrived.find(_END_OF_HEAD)
        if end < 0:
            # lines may end without a return
            self._unusual = len(self._arrived) > _LONGEST_HEAD or any(each in self._arrived for each in _OTHER_ENDS)
            return
        head = _usual_head(self._arrived[:end].decode("latin-1"))
        if head is None:
            self._unusual = True
            return
        first = bytes(self._arrived[end + len(_END_OF_HEAD) :])
        self._head, self._pieces, self._missing = head, [first], head.length - len(first)

    def _answer(self, head: _Head, *, ended: bool = False) -> Answer:
        body = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        # what comes behind the body answers nothing that was asked
        stays_open = head.headers.get("connection", "keep-alive").lower() == "keep-alive"
        reusable = stays_open and not ended and self._missing == 0
        return Answer(head.status, head.headers, body if self._missing >= 0 else body[: head.length], reusable)


def _usual_head(text: str) -> _Head | None:
    """The head of an answer whose body has a length; None for one of another form."""
    found = _USUAL_HEAD.fullmatch(text)
    if found is None:
        return None
    lines = text.split("\r\n")
    headers = Headers([(name, value.strip(" \t")) for name, _, value in [line.partition(":") for line in lines[1:]]])
    length = headers.get("content-length", "")
    status = int(found[1])
    if (
        len(headers) != len(lines) - 1
        or not length.isdecimal()
        or "transfer-encoding" in headers
        or status < _FIRST_FINAL
        or status in _BODILESS
    ):
        return None
    return _Head(status, headers, int(length))


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
