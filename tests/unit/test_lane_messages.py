"""What arrives over a connection is read as `http.client` reads it, however it is cut."""

from __future__ import annotations

import io
import tracemalloc
import zlib
from copy import copy
from http.client import HTTPException, HTTPResponse, IncompleteRead
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamap.drivers.messages import Answer, Headers, Reader, RequestHeaders, request_bytes
from dynamap.drivers.transport import ROOM, Origin, message_of

USUAL = (
    b"HTTP/1.1 200 OK\r\nServer: Server\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\n"
    b"Content-Type: application/x-amz-json-1.0\r\nContent-Length: 2\r\nConnection: keep-alive\r\n"
    b"x-amzn-RequestId: request\r\nx-amz-crc32: 2745614147\r\n\r\n{}"
)
ANSWERS = {
    "usual": USUAL,
    "no words": b"HTTP/1.1 200\r\ncontent-length: 2\r\n\r\n{}",
    "spaces": b"HTTP/1.1 400 Bad Request\r\nContent-Length:   2  \r\nEmpty:\r\n\r\n{}",
    "empty body": b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n",
    "closing": b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
    "older": b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
    "older, staying": b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\n{}",
    "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{  \r\n1\r\n}\r\n0\r\n\r\n",
    "announced": b"HTTP/1.1 100 Continue\r\n\r\n" + USUAL,
    "twice": b"HTTP/1.1 200 OK\r\nA: 1\r\nContent-Length: 2\r\na: 2\r\n\r\n{}",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "folded": b"HTTP/1.1 200 OK\r\nA: 1\r\n 2\r\nContent-Length: 2\r\n\r\n{}",
    "bare ends": b"HTTP/1.1 200 OK\nContent-Length: 2\n\n{}",
    "mixed ends": b"HTTP/1.1 200 OK\nContent-Length: 2\n\r\n{}",
    "no content": b"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n",
    "latin": b"HTTP/1.1 200 Tr\xe8s bien\r\nA: \xe9\r\nContent-Length: 2\r\n\r\n{}",
}
UNTIL_CLOSED = {
    "no length": b"HTTP/1.1 200 OK\r\nA: 1\r\n\r\n{}",
    "odd length": b"HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\n{}",
    "odd digits": "HTTP/1.1 200 OK\r\nContent-Length: ²\r\n\r\n{}".encode("latin-1"),
    "negative": b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n{}",
}


class Wire:
    def __init__(self, data: bytes) -> None:
        self.data = data

    def makefile(self, *_mode: Any) -> Any:
        return io.BytesIO(self.data)


def read_by_standard_library(data: bytes) -> tuple[Any, ...]:
    wire: Any = Wire(data)
    response = HTTPResponse(wire, method="POST")
    response.begin()
    try:
        body = response.read()
    except IncompleteRead as error:
        body = error.partial
    headers: dict[str, str] = {}
    for name, value in response.getheaders():
        lowered = name.lower()
        headers[lowered] = f"{headers[lowered]}, {value}" if lowered in headers else value
    return response.status, stripped(headers), body


def stripped(headers: Any) -> dict[str, str]:
    return {name.lower(): value.strip() for name, value in headers.items()}


def parts(answer: Answer) -> tuple[Any, ...]:
    return answer.status, stripped(answer.headers), answer.body


def reader_with(size: int = ROOM) -> Reader:
    return Reader(memoryview(bytearray(size)))


def feed(reader: Reader, data: bytes) -> Answer | None:
    """Let these bytes arrive, as many at once as there is room for; answers what it did at the last of them."""
    answer: Answer | None = None
    while data:
        assert answer is None
        room = reader.buffer()
        count = min(len(room), len(data))
        room[:count] = data[:count]
        answer, data = reader.received(count), data[count:]
    return answer


def fed(*pieces: bytes, size: int = ROOM) -> Answer | None:
    """The answer after the last of these pieces; none of the others may have ended it."""
    reader = reader_with(size)
    for piece in pieces[:-1]:
        assert feed(reader, piece) is None
    return feed(reader, pieces[-1])


@pytest.mark.parametrize("data", ANSWERS.values(), ids=ANSWERS)
def test_an_answer_is_whole_wherever_it_is_cut(data: bytes) -> None:
    whole = fed(data)
    assert whole is not None
    assert parts(whole) == read_by_standard_library(data)
    for cut in range(1, len(data)):
        answer = fed(data[:cut], data[cut:])
        assert answer == whole
    assert fed(*[data[place : place + 1] for place in range(len(data))]) == whole


@pytest.mark.parametrize("data", UNTIL_CLOSED.values(), ids=UNTIL_CLOSED)
def test_an_answer_without_a_length_ends_with_the_connection(data: bytes) -> None:
    for cut in range(1, len(data)):
        reader = reader_with()
        assert feed(reader, data[:cut]) is feed(reader, data[cut:]) is None
        answer = reader.end()
        assert parts(answer) == read_by_standard_library(data)
        assert not answer.reusable


@pytest.mark.parametrize("data", (ANSWERS | UNTIL_CLOSED).values(), ids=ANSWERS | UNTIL_CLOSED)
def test_what_is_cut_off_is_what_the_standard_library_makes_of_it(data: bytes) -> None:
    for cut in range(len(data)):
        reader = reader_with()
        if cut and feed(reader, data[:cut]) is not None:
            continue
        try:
            expected = read_by_standard_library(data[:cut])
        except (HTTPException, ConnectionError) as error:
            with pytest.raises(type(error)):
                reader.end()
            continue
        answer = reader.end()
        assert parts(answer) == expected
        assert not answer.reusable


@pytest.mark.parametrize(
    ("name", "reusable"),
    [
        ("usual", True),
        ("no words", True),
        ("closing", False),
        ("older", False),
        ("older, staying", True),
        ("chunked", True),
        ("announced", True),
    ],
)
def test_a_connection_is_used_again_unless_the_answer_closes_it(name: str, reusable: bool) -> None:
    answer = fed(ANSWERS[name])
    assert answer is not None
    assert answer.reusable is reusable


@pytest.mark.parametrize("interim", [b"100 Continue", b"102 Processing", b"103 Early Hints\r\nLink: </x>", b"100"])
def test_no_interim_answer_is_the_answer(interim: bytes) -> None:
    data = b"HTTP/1.1 " + interim + b"\r\n\r\n"
    assert fed(data, USUAL) == fed(data + USUAL) == fed(data, data, USUAL) == fed(USUAL)


def test_a_connection_with_more_than_the_answer_is_not_used_again() -> None:
    answer = fed(USUAL + b"H")
    assert answer is not None
    assert (answer.body, answer.reusable) == (b"{}", False)


@pytest.mark.parametrize("data", (ANSWERS | UNTIL_CLOSED).values(), ids=ANSWERS | UNTIL_CLOSED)
@pytest.mark.parametrize("size", [1, 7, 64])
def test_an_answer_may_need_more_than_the_room(data: bytes, size: int) -> None:
    reader = reader_with(size)
    answer = feed(reader, data) or reader.end()
    assert parts(answer) == read_by_standard_library(data)


@pytest.mark.parametrize("size", [ROOM // 2, ROOM, ROOM + 1, 3 * ROOM])
@pytest.mark.parametrize("piece", [1000, ROOM, 5 * ROOM])
def test_a_long_body_is_written_where_it_stays(size: int, piece: int) -> None:
    body = bytes(range(256)) * (size // 256 + 1)
    data = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    answer = fed(*[data[start : start + piece] for start in range(0, len(data), piece)])
    assert answer is not None
    assert answer.body == body
    assert answer.reusable
    for cut in (len(data) - 1, len(data) - piece, len(data) // 2):
        reader = reader_with()
        if cut <= 0 or feed(reader, data[:cut]) is not None:
            continue
        try:
            expected = read_by_standard_library(data[:cut])
        except HTTPException:
            continue
        assert parts(reader.end()) == expected


def test_a_long_body_is_not_copied() -> None:
    size = 10 * ROOM
    reader = reader_with()
    assert feed(reader, b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size) is None
    assert reader.received(size - 1) is None
    tracemalloc.start()
    answer = reader.received(1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert answer is not None
    assert len(answer.body) == size
    assert peak < ROOM


def test_there_is_room_for_the_longest_body() -> None:
    # 16 MB of control characters
    size = 96 << 20
    reader = reader_with()
    assert feed(reader, b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\nx" % size) is None
    assert len(reader.buffer()) == size - 1


def test_no_room_is_made_for_a_body_that_is_beyond_any() -> None:
    reader = reader_with()
    assert feed(reader, b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (1 << 40) + b"x") is None
    assert len(reader.buffer()) == ROOM
    assert reader.end().body == b"x"


@pytest.mark.parametrize("data", [b"\x16\x03\x01\r\n\r\n", b"HTTP/2.0 200 OK\r\n\r\n", b"HTTP/1.1 2000 OK\r\n\r\n"])
def test_what_is_no_answer_is_refused_at_once(data: bytes) -> None:
    with pytest.raises(HTTPException):
        fed(data)


def test_an_endless_head_is_refused() -> None:
    reader = reader_with()
    for _ in range(4):
        assert feed(reader, b"HTTP/1.1 200 OK" + b"x" * 32_000) is None
    with pytest.raises(HTTPException):
        feed(reader, b"x" * 32_000)


@given(
    body=st.binary(max_size=200),
    headers=st.lists(
        st.tuples(
            st.from_regex(r"[A-Za-z-]{1,8}", fullmatch=True),
            st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f\x85\xa0"), max_size=12),
        ),
        max_size=4,
    ),
    cuts=st.lists(st.integers(1, 400), max_size=4),
)
def test_any_headers_and_bodies(body: bytes, headers: list[tuple[str, str]], cuts: list[int]) -> None:
    lowered = {name.lower() for name, _ in headers}
    if lowered & {"content-length", "connection", "transfer-encoding"}:
        return
    lines = [f"Content-Length: {len(body)}", *[f"{name}: {value}" for name, value in headers]]
    data = ("HTTP/1.1 200 OK\r\n" + "\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body
    places = [0, *sorted({cut for cut in cuts if cut < len(data)}), len(data)]
    answer = fed(*[data[start:end] for start, end in pairwise(places)])
    assert answer is not None
    assert parts(answer) == read_by_standard_library(data)
    assert answer.reusable


def test_a_request_is_a_post_to_the_root() -> None:
    made = request_bytes("localhost:8000", [("A", "1"), ("B", b"\xc3\xa9"), ("C", "\xe9")], b"{}")
    assert made.split(b"\r\n") == [
        b"POST / HTTP/1.1",
        b"Host: localhost:8000",
        b"Accept-Encoding: identity",
        *(b"A: 1", b"B: \xc3\xa9", b"C: \xe9"),
        *(b"", b"{}"),
    ]


@pytest.mark.parametrize("value", ["a\r\nEvil: 1", "a\n", b"a\r", "a\0"])
def test_a_header_cannot_hold_another(value: str | bytes) -> None:
    for headers in ([("A", value)], [(value if isinstance(value, str) else value.decode(), "1")]):
        with pytest.raises(ValueError, match="holds the end of a line"):
            request_bytes("localhost", headers, b"{}")


def test_headers_are_found_by_any_case_and_keep_their_own() -> None:
    headers = Headers([("X-Amz-Crc32", str(zlib.crc32(b"{}"))), ("Date", "today")])
    assert headers["x-amz-crc32"] == headers.get("X-AMZ-CRC32") == "2745614147"
    assert ("dATE" in headers, "date" in headers, "other" in headers, 1 in headers) == (True, True, False, False)
    headers["date"] = "tomorrow"
    assert list(headers) == ["X-Amz-Crc32", "date"]
    copied = headers.copy()
    del headers["DATE"]
    assert (len(headers), headers.get("date"), headers.get("date", "?")) == (1, None, "?")
    assert dict(copied.items()) == {"X-Amz-Crc32": "2745614147", "date": "tomorrow"}
    assert copied.by_lowered_name() == {"x-amz-crc32": "2745614147", "date": "tomorrow"}
    assert repr(copied) == "Headers({'X-Amz-Crc32': '2745614147', 'date': 'tomorrow'})"


# ---- requests

GIVEN = [("X-Amz-Target", b"GetItem"), ("User-Agent", "é".encode()), ("Content-Length", "2")]
BODY = b"{}"
ORIGIN = Origin("http", "localhost", 80, "localhost")


def prepared(headers: Headers, body: Any = BODY, method: str = "POST") -> Any:
    return SimpleNamespace(headers=headers, body=body, method=method)


def test_headers_that_have_not_changed_are_sent_without_a_look_at_them() -> None:
    headers = RequestHeaders(GIVEN, BODY)
    assert (dict(headers), headers["x-amz-target"]) == (dict(GIVEN), b"GetItem")
    assert headers.unchanged_for(BODY) == GIVEN
    sent = message_of(prepared(headers), ORIGIN)
    assert sent is not None
    assert sent.endswith(b"User-Agent: \xc3\xa9\r\nContent-Length: 2\r\n\r\n{}")
    assert message_of(prepared(headers.copy()), ORIGIN) == message_of(prepared(copy(headers)), ORIGIN) == sent


def test_what_is_changed_goes_out_changed() -> None:
    headers = RequestHeaders(GIVEN, BODY)
    headers["X-More"] = "1"
    del headers["user-agent"]
    assert headers.unchanged_for(BODY) is None
    sent = message_of(prepared(headers), ORIGIN)
    assert sent is not None
    assert sent.endswith(b"X-Amz-Target: GetItem\r\nContent-Length: 2\r\nX-More: 1\r\n\r\n{}")


@pytest.mark.parametrize(
    "request_",
    [
        prepared(RequestHeaders(GIVEN, BODY), b"{  }"),
        prepared(RequestHeaders(GIVEN, BODY), io.BytesIO(BODY)),
        prepared(RequestHeaders(GIVEN, BODY), method="PUT"),
        prepared(Headers([("Content-Length", "3")])),
        *[prepared(Headers([*GIVEN, (name, "1")])) for name in ("Host", "Accept-Encoding", "Transfer-Encoding")],
    ],
)
def test_what_is_not_of_the_usual_kind_is_left_to_the_client(request_: Any) -> None:
    assert message_of(request_, ORIGIN) is None


def test_neither_can_one_of_a_whole_request() -> None:
    headers = RequestHeaders([("A", "1\r\nB: 2"), ("Content-Length", "2")], BODY)
    with pytest.raises(ValueError, match="holds the end of a line"):
        message_of(prepared(headers), ORIGIN)
