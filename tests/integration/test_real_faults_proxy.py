"""The proxy does to a bare socket what its faults are called."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping

import pytest

from dynamap.testing._loopback import LoopbackServer, Reply
from tests.fault_proxy import FaultProxy
from tests.wire_faults import FAULTS, REFUSED, Ending, Forward, WireFault

ANSWER = b'{"Attributes": {"count": {"N": "1"}}}'


class Upstream:
    """Answers everything, and remembers what it was asked."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.server = LoopbackServer(self._answer)

    def _answer(self, headers: Mapping[str, str], body: bytes) -> Reply:
        self.bodies.append(body)
        return Reply(200, [("X-Asked", headers["x-amz-target"])], ANSWER)


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    made = Upstream()
    yield made
    made.server.close()


@pytest.fixture
def proxy(upstream: Upstream) -> Iterator[FaultProxy]:
    made = FaultProxy(upstream.server.url, tokens=True)
    yield made
    made.close()


def request(body: bytes = b"{}", operation: str = "UpdateItem") -> bytes:
    head = f"POST / HTTP/1.1\r\nHost: x\r\nX-Amz-Target: D.{operation}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Caller:
    """A socket that tells how it ended."""

    def __init__(self, proxy: FaultProxy) -> None:
        self.socket = socket.create_connection(("127.0.0.1", int(proxy.url.rpartition(":")[2])), timeout=10)

    def ask(self, text: bytes = b"") -> str:
        """Send a request, and answer what came of it: the status, how much of a body, and the end, if it ended."""
        received = b""
        try:
            self.socket.sendall(text or request())
            while not self._is_whole(received):
                more = self.socket.recv(65536)
                if not more:
                    return f"{self._seen(received)} closed"
                received += more
        except ConnectionResetError:
            return f"{self._seen(received)} reset"
        return self._seen(received)

    def _is_whole(self, received: bytes) -> bool:
        head, found, body = received.partition(b"\r\n\r\n")
        _, _, length = head.lower().partition(b"content-length: ")
        return bool(found and length) and len(body) >= int(length.split(b"\r\n")[0])

    def _seen(self, received: bytes) -> str:
        head, found, body = received.partition(b"\r\n\r\n")
        if not found:
            return "half a head" if head else "nothing"
        part = "half" if ANSWER.startswith(body) else "other"
        return f"{head.split()[1].decode()} {'whole' if body == ANSWER else part}"

    def close(self) -> None:
        self.socket.close()


@pytest.fixture
def caller(proxy: FaultProxy) -> Iterator[Caller]:
    made = Caller(proxy)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("fault", "seen", "asked"),
    [
        ("reset unread", "nothing reset", 0),
        ("closed unread", "nothing closed", 0),
        ("reset before", "nothing reset", 0),
        ("closed before", "nothing closed", 0),
        ("500 before", "500 other", 0),
        ("503 before", "503 other", 0),
        ("reset after", "nothing reset", 1),
        ("closed after", "nothing closed", 1),
        ("502 after", "502 other", 1),
        ("status cut", "half a head closed", 1),
        ("head cut", "half a head closed", 1),
        ("head reset", "half a head reset", 1),
        ("body cut", "200 half closed", 1),
        ("body reset", "200 half reset", 1),
        ("body cut, no length", "200 half closed", 1),
        ("wrong checksum", "200 whole", 1),
        ("other bits", "200 other", 1),
        ("garbage", "200 other", 1),
    ],
)
def test_a_fault_is_what_it_is_called(
    proxy: FaultProxy, upstream: Upstream, caller: Caller, fault: str, seen: str, asked: int
) -> None:
    script = proxy.play({2: FAULTS[fault]})
    assert caller.ask() == "200 whole"
    assert caller.ask() == seen
    proxy.settle(script)
    assert [each.operation for each in script.requests] == ["UpdateItem"] * 2
    assert [each.reused for each in script.requests] == [False, True]
    assert len(upstream.bodies) == script.applied == 1 + asked


@pytest.mark.parametrize("forward", [Forward.NEVER, Forward.AT_ONCE], ids=["before", "after"])
def test_a_stall_ends_when_the_client_goes(
    proxy: FaultProxy, upstream: Upstream, caller: Caller, forward: Forward
) -> None:
    script = proxy.play({1: WireFault(forward, Ending.HOLD)})
    caller.socket.settimeout(0.1)
    with pytest.raises(TimeoutError):
        caller.ask()
    caller.close()
    # which waits for the thread of that connection
    proxy.close()
    assert len(upstream.bodies) == (forward is Forward.AT_ONCE)
    assert len(script.requests) == 1


@pytest.mark.parametrize(
    ("fault", "order"), [("stall, late", [b"{}", b"{ }", b"{  }"]), ("stall, last", [b"{ }", b"{  }", b"{}"])]
)
def test_a_late_request_arrives_before_the_next_or_after_all(
    proxy: FaultProxy, upstream: Upstream, caller: Caller, fault: str, order: list[bytes]
) -> None:
    script = proxy.play({1: FAULTS[fault]})
    caller.socket.settimeout(0.1)
    with pytest.raises(TimeoutError):
        caller.ask()
    for body in (b"{ }", b"{  }"):
        other = Caller(proxy)
        assert other.ask(request(body)) == "200 whole"
        other.close()
    proxy.settle(script)
    assert upstream.bodies == order


def test_where_connections_are_refused_nobody_listens_until_told(proxy: FaultProxy, caller: Caller) -> None:
    script = proxy.play({2: REFUSED, 3: REFUSED})
    assert caller.ask() == "200 whole"
    # which was closed, so that the next needs a new one
    assert caller.socket.recv(1) == b""
    for _ in range(2):
        with pytest.raises(ConnectionRefusedError):
            Caller(proxy)
        proxy.listen()
    other = Caller(proxy)
    assert other.ask() == "200 whole"
    other.close()
    proxy.settle(script)
    assert len(script.requests) == 4
    assert len(script.writes) == 2


def test_a_script_takes_the_requests_that_speak_of_its_subject(proxy: FaultProxy, caller: Caller) -> None:
    one, two = (proxy.play({1: FAULTS["500 before"]}, about=about) for about in ("one", "two"))
    assert caller.ask(request(b'{"key": "one"}')) == "500 other"
    assert caller.ask(request(b'{"key": "one"}')) == "200 whole"
    assert caller.ask(request(b'{"key": "two"}')) == "500 other"
    assert caller.ask(request(b'{"key": "three"}')) == "200 whole"
    assert [len(script.requests) for script in (one, two)] == [2, 1]


def test_a_token_is_remembered_with_its_bytes(proxy: FaultProxy, upstream: Upstream, caller: Caller) -> None:
    def transaction(**body: object) -> bytes:
        return request(json.dumps({"ClientRequestToken": "t", **body}).encode(), "TransactWriteItems")

    assert [caller.ask(transaction(TransactItems=[])) for _ in range(2)] == ["200 whole"] * 2
    assert len(upstream.bodies) == 1
    assert caller.ask(transaction(TransactItems=[1])) == "400 other"
    assert len(upstream.bodies) == 1


def test_a_server_that_does_not_answer_is_not_taken_for_a_fault() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        proxy = FaultProxy(f"http://127.0.0.1:{taken.getsockname()[1]}")
        script, caller = proxy.play({}), Caller(proxy)
        assert caller.ask() == "nothing closed"
        with pytest.raises(RuntimeError, match="did not answer UpdateItem"):
            proxy.settle(script)
        caller.close()
        proxy.close()
