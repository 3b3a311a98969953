"""The connections of clients that dynamap makes: when they are used again, over TLS, and through a proxy."""

from __future__ import annotations

import asyncio
import gc
import json
import select
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme
import urllib3.util.wait

from dynamap import deadline
from dynamap.drivers import AsyncDriver, ClientOptions, SyncDriver
from dynamap.plan import Call, CallFailed, Plan, Reached
from tests.lane_servers import ForwardProxy, Server, read_request, reply

GET = Call("GetItem", {"TableName": "table", "Key": {"pk": {"S": "a"}}})
PUT = Call("PutItem", {"TableName": "table", "Item": {"pk": {"S": "a"}}})
OWN = "lane: through the client and its events, over the lane's own connections"
THE_CLIENTS = "lane: through the client and its events, over its own connections"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.delenv("AWS_CA_BUNDLE", raising=False)
    monkeypatch.delenv("REQUESTS_CA_BUNDLE", raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")


def one(call: Call) -> Plan[Any]:
    return (yield call)


class Client:
    """A driver of one mode whose lane is open, unless its first call is yet to come."""

    def __init__(self, mode: str, url: str) -> None:
        self.loop = asyncio.new_event_loop() if mode == "async" else None
        made = AsyncDriver if mode == "async" else SyncDriver
        self.driver: Any = made(ClientOptions(url, "us-east-1"), lane=True)

    def wait(self, answer: Any) -> Any:
        return answer if self.loop is None else self.loop.run_until_complete(answer)

    def run(self, call: Call = GET) -> Any:
        return self.wait(self.driver.run(one(call)))

    def look_around(self) -> None:
        """Let an event loop take notice of what has happened to its connections."""
        for _ in range(3 if self.loop else 0):
            self.wait(asyncio.sleep(0))

    def explain(self) -> str:
        text: str = self.driver.explain_client()
        return text

    def close(self) -> None:
        self.wait(self.driver.close())
        if self.loop is not None:
            self.loop.run_until_complete(asyncio.sleep(0))
            self.loop.close()


@pytest.fixture(params=["sync", "async"])
def opened(request: pytest.FixtureRequest) -> Iterator[Callable[[str], Client]]:
    clients: list[Client] = []

    def open_client(url: str, *, warm: bool = True) -> Client:
        clients.append(Client(request.param, url))
        if warm:
            clients[-1].run()
        return clients[-1]

    yield open_client
    for client in clients:
        client.close()


@contextmanager
def served(*answers: Any, **options: Any) -> Iterator[Server]:
    server = Server(*answers, **options)
    yield server
    server.close()


def failed(client: Client, call: Call = GET) -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        client.run(call)
    return caught.value


Opened = Callable[..., Client]


# ---- connections


def test_a_long_answer_is_read_whole(opened: Opened) -> None:
    text = "x" * 100_000
    body = json.dumps({"Item": {"text": {"S": text}}}).encode()
    with served(lambda asked: reply(body)) as server:
        assert opened(server.url).run()["Item"] == {"text": {"S": text}}


def test_so_is_that_of_an_error(opened: Opened) -> None:
    text = "x" * 100_000
    body = json.dumps({"__type": "com.amazonaws#Odd", "message": text}).encode()
    with served(lambda asked: reply(body, status="400 Bad Request")) as server:
        assert failed(opened(server.url, warm=False)).message == text


def test_a_store_that_nobody_closes_leaves_no_connection_open() -> None:
    # an unclosed socket is a ResourceWarning when it is collected, and warnings are errors here
    with served(lambda asked: reply(b"{}")) as server:
        client = Client("sync", server.url)
        client.run()
        del client
        gc.collect()


def test_one_connection_carries_one_call_after_another(opened: Opened) -> None:
    with served(lambda asked: reply(b'{"Item":{"pk":{"S":"a"}}}')) as server:
        client = opened(server.url)
        for _ in range(5):
            answer = client.run()
            assert answer["Item"] == {"pk": {"S": "a"}}
            assert answer["ResponseMetadata"]["RequestId"] == "request"
            assert answer["ResponseMetadata"]["HTTPHeaders"]["content-length"] == "25"
        client.run(PUT)
        # the first call has the client's
        assert len({asked.connection for asked in server.asked[1:]}) == 1
        assert {asked.first for asked in server.asked} == {"POST / HTTP/1.1"}
        assert f"host: 127.0.0.1:{server.port}" in server.asked[-1].head
        assert "x-amz-target: dynamodb_20120810.putitem" in server.asked[-1].head
        assert server.asked[-1].body == b'{"TableName":"table","Item":{"pk":{"S":"a"}}}'


def test_the_sending_is_an_event_where_somebody_handles_it(opened: Opened) -> None:
    seen: list[str] = []

    def handle(**_rest: object) -> None:
        seen.append("botocore's own")

    handle.__module__ = "botocore.handlers"
    with served() as server:
        client = opened(server.url)
        events = client.wait(client.driver.client()).meta.events
        # moto has one for all clients, where other tests have loaded it
        events._emitter.others.sending = False
        events.register("before-send", handle)
        client.run()
        assert not seen
        events.register("before-send", lambda **_: seen.append("another's"))
        client.run()
        assert seen == ["botocore's own", "another's"]


@pytest.mark.parametrize("polls", [True, False])
def test_a_connection_that_was_closed_meanwhile_is_replaced_and_nothing_is_sent_twice(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, polls: bool
) -> None:
    if not polls:
        # as on systems that have none
        monkeypatch.delattr(select, "poll")
        monkeypatch.setattr(urllib3.util.wait, "wait_for_socket", urllib3.util.wait.select_wait_for_socket)
    with served() as server:
        client = opened(server.url)
        client.run()
        server.close_connections()
        client.look_around()
        client.run(PUT)
        client.run(PUT)
        assert len(server.asked) == 4


@pytest.mark.parametrize("answer", [None, b"", b"HTTP/1.1 200 OK\r\nContent-", b"\x16\x03\x01\r\n\r\n"])
def test_a_connection_that_ends_before_an_answer_leaves_the_outcome_open(opened: Opened, answer: bytes | None) -> None:
    ends = False

    def answered(asked: Any) -> bytes | None:
        return answer if ends else reply()

    with served(answered) as server:
        client = opened(server.url)
        client.run()
        original = server.serve
        server.serve = lambda connection, number: original(Once(connection) if ends else connection, number)  # type: ignore[method-assign]
        server.close_connections()
        client.look_around()
        ends = True
        failure = failed(client, PUT)
        assert failure.reached in (Reached.UNKNOWN, Reached.APPLIED)
        ends = False
        client.run(PUT)
        assert len(server.asked) == 4


class Once:
    """A connection over which one request is read."""

    def __init__(self, connection: Any) -> None:
        self._connection, self._read = connection, False

    def recv(self, size: int) -> bytes:
        if self._read:
            return b""
        self._read = True
        data: bytes = self._connection.recv(size)
        return data

    def sendall(self, data: bytes) -> None:
        self._connection.sendall(data)


@pytest.mark.parametrize(
    ("answer", "connections"),
    [
        pytest.param(reply(more="Connection: close\r\n"), 3, id="closing"),
        pytest.param(reply(more="Connection: keep-alive\r\n"), 1, id="staying"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 1, id="chunked"),
    ],
)
def test_an_answer_says_whether_the_connection_stays(opened: Opened, answer: bytes, connections: int) -> None:
    with served(lambda asked: answer) as server:
        client = opened(server.url)
        for _ in range(3):
            client.run()
        assert len({asked.connection for asked in server.asked[1:]}) == connections


def test_large_requests_and_answers_arrive_whole(opened: Opened) -> None:
    content = "x" * 3_000_000
    body = f'{{"Item":{{"pk":{{"S":"{content}"}}}}}}'.encode()
    with served(lambda asked: reply(body)) as server:
        client = opened(server.url)
        # aiohttp warns of more
        sent = content[:900_000]
        put = Call("PutItem", {"TableName": "table", "Item": {"pk": {"S": sent}}})
        assert client.run(put)["Item"]["pk"]["S"] == content
        assert server.asked[-1].body == f'{{"TableName":"table","Item":{{"pk":{{"S":"{sent}"}}}}}}'.encode()


def test_a_server_that_is_gone_was_never_reached(opened: Opened) -> None:
    with served() as server:
        client = opened(server.url)
        client.run()
    client.look_around()
    failure = failed(client, PUT)
    assert (failure.reached, failure.code) == (Reached.NOTHING, "EndpointConnectionError")


def test_a_silent_server_is_given_up_at_the_deadline_and_its_connection_is_not_used_again(opened: Opened) -> None:
    go_on = threading.Event()
    silent = False

    def answered(asked: Any) -> bytes:
        if silent:
            go_on.wait(10)
        return reply()

    with served(answered) as server:
        client = opened(server.url)
        client.run()
        silent = True
        with deadline(0.2):
            failure = failed(client, PUT)
        assert failure.reached is Reached.UNKNOWN
        silent = False
        go_on.set()
        client.run()
        assert server.asked[-1].connection != server.asked[-2].connection


class Dripping(Server):
    """Begins to answer, and goes on a byte at a time."""

    gone = threading.Event()

    def serve(self, connection: socket.socket, number: int) -> None:
        assert read_request(connection, number) is not None
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
        for _ in range(998):
            self.gone.wait(0.02)
            connection.sendall(b" ")
        connection.sendall(b"}")


def test_an_answer_is_to_be_whole_at_the_deadline(opened: Opened) -> None:
    server = Dripping()
    client = opened(server.url, warm=False)
    # to make the client may take longer
    client.wait(client.driver.client())
    with deadline(0.5):
        assert failed(client, PUT).reached is Reached.UNKNOWN
    server.close()


def test_closing_the_driver_closes_the_connections(opened: Opened) -> None:
    with served() as server:
        client = opened(server.url)
        client.run()
        client.wait(client.driver.close())
        server.wait_until_closed()
        client.run()
        assert len(server.asked) == 3


def test_threads_have_a_connection_each() -> None:
    together = threading.Barrier(4, timeout=10)
    with served() as server:
        client = Client("sync", server.url)
        client.run()
        server.answer = lambda asked: reply() if together.wait() is not None else None
        threads = [threading.Thread(target=client.run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert len({asked.connection for asked in server.asked[1:]}) == 4
        client.close()


# ---- TLS


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def context_for(authority: trustme.CA, *names: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    return context


@pytest.fixture
def bundle(authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "authorities.pem"
    authority.cert_pem.write_to_path(path)
    monkeypatch.setenv("AWS_CA_BUNDLE", str(path))
    return path


@pytest.mark.parametrize("variable", ["AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"])
def test_the_authorities_are_those_of_the_environment(
    opened: Opened, authority: trustme.CA, bundle: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.delenv("AWS_CA_BUNDLE")
    monkeypatch.setenv(variable, str(bundle))
    content = "x" * 300_000
    body = f'{{"Item":{{"pk":{{"S":"{content}"}}}}}}'.encode()
    with served(lambda asked: reply(body), tls=context_for(authority, "127.0.0.1")) as server:
        client = opened(server.url)
        for _ in range(3):
            assert client.run(PUT)["Item"]["pk"]["S"] == content
        assert client.explain().startswith("lane: ")
        assert len({asked.connection for asked in server.asked[1:]}) == 1


@pytest.mark.parametrize("wrong", ["another authority", "another name"])
def test_a_server_that_cannot_prove_its_name_is_sent_nothing(
    opened: Opened, authority: trustme.CA, bundle: Path, wrong: str
) -> None:
    with served(tls=context_for(authority, "127.0.0.1")) as server:
        client = opened(server.url)
        client.run()
        issuer, name = (trustme.CA(), "127.0.0.1") if wrong == "another authority" else (authority, "127.0.0.2")
        server.tls = context_for(issuer, name)
        server.close_connections()
        client.look_around()
        failure = failed(client, PUT)
        assert failure.reached is Reached.NOTHING
        assert failure.code in ("SSLError", "ClientConnectorCertificateError")
        server.close_connections()
        assert len(server.asked) == 2


def test_without_the_authority_the_first_call_fails_too(opened: Opened, authority: trustme.CA) -> None:
    with served(tls=context_for(authority, "127.0.0.1")) as server:
        client = opened(server.url, warm=False)
        assert failed(client, PUT).reached is Reached.NOTHING
        assert server.asked == []


@pytest.mark.parametrize("secured", [True, False])
@pytest.mark.parametrize("length", [10, 20_000, 60_000, 100_000])
def test_what_comes_after_an_answer_answers_no_other_call(
    opened: Opened, authority: trustme.CA, bundle: Path, length: int, secured: bool
) -> None:
    item = f'{{"Item":{{"pk":{{"S":"{"x" * length}"}}}}}}'.encode()
    refused = reply(b'{"__type":"com.amazonaws#ConditionalCheckFailedException"}', status="400 Bad Request")

    def answer(asked: Any) -> bytes:
        return reply(item) + reply(b"{}") if "getitem" in asked.head else refused

    with served(answer, tls=context_for(authority, "127.0.0.1") if secured else None) as server:
        client = opened(server.url)
        assert len(client.run()["Item"]["pk"]["S"]) == length
        client.look_around()
        assert failed(client, PUT).code == "ConditionalCheckFailedException"


# ---- proxies


def test_over_http_the_proxy_of_the_environment_is_asked(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = ForwardProxy()
    with served() as server:
        monkeypatch.setenv("http_proxy", proxy.url)
        client = opened(server.url)
        client.run(PUT)
        assert client.explain() == THE_CLIENTS
        assert {asked.first for asked in proxy.asked} == {f"POST {server.url}/ HTTP/1.1"}
        assert len(server.asked) == 2
    proxy.close()


def test_over_tls_the_proxy_passes_on_what_it_cannot_read(
    opened: Opened, authority: trustme.CA, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = ForwardProxy()
    with served(tls=context_for(authority, "127.0.0.1")) as server:
        monkeypatch.setenv("https_proxy", proxy.url)
        client = opened(server.url)
        client.run(PUT)
        assert client.explain() == THE_CLIENTS
        assert {asked.first.partition(" HTTP")[0] for asked in proxy.asked} == {f"CONNECT 127.0.0.1:{server.port}"}
        assert len(server.asked) == 2
    proxy.close()


def test_a_server_of_no_proxy_is_asked_itself(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = ForwardProxy()
    with served() as server:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        client = opened(server.url)
        client.run(PUT)
        assert client.explain().startswith("lane: ")
        assert proxy.asked == []
        assert len(server.asked) == 2
    proxy.close()


def test_a_proxy_that_is_gone_was_never_passed(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = ForwardProxy()
    with served() as server:
        monkeypatch.setenv("http_proxy", proxy.url)
        client = opened(server.url)
        proxy.close()
        client.look_around()
        assert failed(client, PUT).reached is Reached.NOTHING
        assert len(server.asked) == 1


def test_only_clients_that_are_made_have_connections_of_the_lane() -> None:
    with served() as server:
        made = Client("sync", server.url)
        made.run()
        assert made.explain() == OWN
        given = SyncDriver(made.driver.client(), lane=True)
        given.run(one(GET))
        assert given.explain_client() == OWN
        made.close()
