"""Clients: what is asked of one that is passed in, whose it stays, and what becomes of connections that break."""

from __future__ import annotations

import asyncio
import http.client
import os
import shutil
import socket
import socketserver
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import boto3
import botocore.session
import pytest
from botocore.exceptions import ConnectionClosedError

from dynamap import (
    F,
    OutcomeUnknown,
    RequestError,
    ServiceError,
    Store,
    Table,
    connect,
    connect_async,
    entity,
)
from tests.backends import DIRECT, Backend, client_for
from tests.modes import Mode, RawTable, async_client

RETRY_MODES = [None, "legacy", "standard", "adaptive"]


@entity("NOTE", pk="NOTE#{id}", sk="NOTE")
class Note:
    id: str
    count: int = 0


@entity("ACCOUNT", pk="ACCOUNT#{id}", sk="BALANCE", version="revision")
class Account:
    id: str
    balance: int = 0
    revision: int = 0


def described(name: str) -> Table:
    return Table(name, [Note, Account])


@pytest.fixture
def notes_table(embedded_backend: Backend, table_name: str) -> Iterator[RawTable]:
    table = RawTable(embedded_backend.client, table_name)
    table.create()
    yield table
    embedded_backend.client.delete_table(TableName=table_name)


def closed_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


# ---- clients that are passed in


@pytest.mark.parametrize("retry_mode", RETRY_MODES)
def test_our_calls_are_sent_once_and_the_clients_own_are_retried(
    notes_table: RawTable, embedded_backend: Backend, retry_mode: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda seconds: None)
    retries: Any = None if retry_mode is None else {"mode": retry_mode, "max_attempts": 3}
    client = client_for(embedded_backend.url, retries=retries)
    sent: list[str] = []

    def fail(request: Any, **_rest: Any) -> None:
        sent.append(request.headers["X-Amz-Target"])
        raise ConnectionClosedError(endpoint_url=embedded_backend.url)

    notes = connect(described(notes_table.name), client=client).of(Note)
    client.meta.events.register("before-send.dynamodb.UpdateItem", fail)
    with pytest.raises(OutcomeUnknown):
        notes.update(id="n").add(F(Note.count), 1).send()
    assert len(sent) == 1
    # the caller's own call over the same client, by its own settings
    with pytest.raises(ConnectionClosedError):
        client.update_item(TableName=notes_table.name, Key={"pk": {"S": "NOTE#n"}, "sk": {"S": "NOTE"}})
    assert len(sent) > 2
    client.close()


def test_a_client_that_was_passed_in_stays_open(notes_table: RawTable, embedded_backend: Backend, mode: Mode) -> None:
    store = mode.connect(described(notes_table.name), embedded_backend)
    mode.wait(store.of(Note).put(Note("n", 1)).send())
    mode.wait(store.close())
    mode.wait(store.close())
    again = mode.connect(described(notes_table.name), embedded_backend)
    assert mode.wait(again.of(Note).get(id="n").send()) == Note("n", 1)


def test_a_botocore_client_is_a_client(notes_table: RawTable, embedded_backend: Backend) -> None:
    client = botocore.session.get_session().create_client(
        "dynamodb",
        endpoint_url=embedded_backend.url,
        region_name="us-east-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",
    )
    with connect(described(notes_table.name), client=client) as store:
        store.of(Note).put(Note("n", 1)).send()
        assert store.of(Note).get(id="n").send() == Note("n", 1)
    assert client.get_item(TableName=notes_table.name, Key={"pk": {"S": "NOTE#n"}, "sk": {"S": "NOTE"}})["Item"]
    client.close()


def test_a_resource_is_refused_and_so_is_its_client(embedded_backend: Backend) -> None:
    """Its client takes plain values where ours are wire values: even a get would be another request."""
    resource = boto3.resource(
        "dynamodb",
        endpoint_url=embedded_backend.url,
        region_name="us-east-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",
    )
    for given in (resource, resource.Table("notes"), resource.meta.client, resource.Table("notes").meta.client):
        with pytest.raises(RequestError, match="resource"):
            connect(described("notes"), client=given)
    resource.meta.client.close()


def test_a_client_of_another_service_or_mode_is_refused(mode: Mode) -> None:
    streams = boto3.client("dynamodbstreams", region_name="us-east-1")
    make: Any = connect_async if mode.is_async else connect
    with pytest.raises(RequestError, match="dynamodbstreams"):
        connect(described("notes"), client=streams)
    streams.close()
    for given in (object(), "dynamodb", boto3.Session(region_name="us-east-1")):
        with pytest.raises(RequestError, match="client="):
            make(described("notes"), client=given)
    with pytest.raises(RequestError, match="endpoint"):
        make(described("notes"), client=object(), endpoint_url="http://127.0.0.1:1")


def test_a_client_of_the_other_mode_is_refused(embedded_backend: Backend, mode: Mode) -> None:
    async def check() -> None:
        async with async_client(embedded_backend.url) as client:
            with pytest.raises(RequestError, match="connect_async"):
                connect(described("notes"), client=client)
            store = connect_async(described("notes"), client=client)
            await store.close()

    mode.wait(check())
    with pytest.raises(RequestError, match=r"connect\(\)"):
        connect_async(described("notes"), client=embedded_backend.client)


# ---- clients that dynamap makes


def test_a_client_that_was_made_is_closed_and_made_again(
    notes_table: RawTable, embedded_backend: Backend, mode: Mode
) -> None:
    store = mode.connect_url(described(notes_table.name), embedded_backend.url)
    mode.wait(store.of(Note).put(Note("n", 1)).send())
    mode.wait(store.close())
    mode.wait(store.close())
    assert mode.wait(store.of(Note).get(id="n").send()) == Note("n", 1)
    mode.wait(store.close())


def test_with_blocks_close(notes_table: RawTable, embedded_backend: Backend, mode: Mode) -> None:
    async def inside() -> Any:
        async with connect_async(described(notes_table.name), endpoint_url=embedded_backend.url) as store:
            return await store.of(Note).put(Note("n", 1)).send()

    if mode.is_async:
        assert mode.wait(inside()) == Note("n", 1)
        return
    with connect(described(notes_table.name), endpoint_url=embedded_backend.url) as store:
        assert store.of(Note).put(Note("n", 1)).send() == Note("n", 1)


def test_an_endpoint_that_is_none_is_the_callers_mistake(mode: Mode) -> None:
    with pytest.raises(RequestError, match="no url at all"):
        mode.connect_url(described("notes"), "no url at all", region_name="us-east-1")


# ---- event loops


def in_new_loop(make: Callable[[], Any]) -> Any:
    """As `asyncio.run` has it: a loop of its own, closed afterwards."""
    return asyncio.run(make())


@pytest.mark.parametrize("given", [False, True], ids=["made", "passed in"])
def test_a_store_belongs_to_the_event_loop_that_used_it_first(
    notes_table: RawTable, embedded_backend: Backend, given: bool
) -> None:
    async def first() -> Any:
        client = None
        if given:
            client = await async_client(embedded_backend.url).__aenter__()
            store = connect_async(described(notes_table.name), client=client)
        else:
            store = connect_async(described(notes_table.name), endpoint_url=embedded_backend.url)
        await store.of(Note).put(Note("n", 1)).send()
        return store, client

    async def second(store: Any) -> None:
        await store.of(Note).update(id="n").add(F(Note.count), 1).send()

    async def close(store: Any, client: Any) -> None:
        await store.close()
        if client is not None:
            await client.close()

    loop = asyncio.new_event_loop()
    store, client = loop.run_until_complete(first())
    with pytest.raises(RequestError, match="event loop"):
        in_new_loop(lambda: second(store))
    if not given:
        with pytest.raises(RequestError, match="event loop"):
            in_new_loop(store.close)
    loop.run_until_complete(second(store))
    loop.run_until_complete(close(store, client))
    loop.close()
    assert notes_table.get("NOTE#n", "NOTE")["count"] == {"N": "2"}


def test_a_store_that_was_closed_can_be_used_in_another_event_loop(
    notes_table: RawTable, embedded_backend: Backend
) -> None:
    store = connect_async(described(notes_table.name), endpoint_url=embedded_backend.url)

    async def use() -> Any:
        async with store:
            return await store.of(Note).put(Note("n", 1)).send()

    assert in_new_loop(use) == Note("n", 1)
    assert in_new_loop(use) == Note("n", 1)


def test_without_an_event_loop_nothing_is_sent(embedded_backend: Backend) -> None:
    store = connect_async(described("notes"), endpoint_url=embedded_backend.url)
    sending = store.of(Note).get(id="n").send()
    sending.close()
    for enter in (store.__enter__, lambda: connect(described("notes")).__aenter__().send(None)):
        with pytest.raises(TypeError, match="with"):
            enter()


# ---- a server that is not there


@DIRECT
def test_a_refused_connection_is_named_and_nothing_is_applied(mode: Mode) -> None:
    url = f"http://127.0.0.1:{closed_port()}"
    store = mode.connect_url(described("notes"), url)
    notes = store.of(Note)
    for operation in (
        notes.get(id="n"),
        notes.put(Note("n")),
        notes.update(id="n").add(F(Note.count), 1),
        notes.delete(id="n").returning_old(),
    ):
        with pytest.raises(ServiceError, match=url) as caught:
            mode.wait(operation.send())
        assert not isinstance(caught.value, OutcomeUnknown)
        assert caught.value.code == "EndpointConnectionError"
    with pytest.raises(ServiceError, match=url):
        mode.wait(store.create_table())
    mode.wait(store.close())


@DIRECT
def test_a_name_that_nobody_has_is_named(mode: Mode) -> None:
    store = mode.connect_url(described("notes"), "http://nobody.invalid:1", region_name="us-east-1")
    options = {"aws_access_key_id": "local", "aws_secret_access_key": "local"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in options.items():
            patch.setenv(name.upper(), value)
        with pytest.raises(ServiceError, match=r"nobody\.invalid"):
            mode.wait(store.of(Note).update(id="n").add(F(Note.count), 1).send())
    mode.wait(store.close())


# ---- connections that break


class Breaking(socketserver.ThreadingTCPServer):
    """Passes requests on to a server, and breaks the connection where it is told to.

    *script* has a word for each UpdateItem, PutItem and DeleteItem in turn: "before" breaks without passing it on,
    "after" without answering, "cut" in the middle of the answer, "idle" after it; an empty script passes everything.
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, url: str) -> None:
        super().__init__(("127.0.0.1", 0), _Passing)
        self.target = url.removeprefix("http://")
        self.script: list[str] = []
        self.writes = 0
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def word(self, target: str) -> str:
        if target.endswith("GetItem"):
            return "pass"
        self.writes += 1
        return self.script.pop(0) if self.script else "pass"

    def stop(self) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Passing(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Breaking

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        word = self.server.word(self.headers["X-Amz-Target"])
        if word == "before":
            self._break()
            return
        upstream = http.client.HTTPConnection(self.server.target)
        headers = {name: self.headers[name] for name in ("Content-Type", "X-Amz-Target", "Authorization", "X-Amz-Date")}
        upstream.request("POST", "/", body, headers)
        answer = upstream.getresponse()
        content = answer.read()
        upstream.close()
        if word == "after":
            self._break()
            return
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if word == "cut" else content)
        if word in ("cut", "idle"):
            self.wfile.flush()
            self._break()

    def _break(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


@pytest.fixture
def breaking(embedded_backend: Backend) -> Iterator[Breaking]:
    server = Breaking(embedded_backend.url)
    yield server
    server.stop()


@pytest.fixture
def broken_store(notes_table: RawTable, breaking: Breaking, mode: Mode) -> Iterator[Store[Any]]:
    store = mode.connect_url(described(notes_table.name), breaking.url)
    mode.wait(store.of(Note).put(Note("n")).send())
    breaking.writes = 0
    yield store
    mode.wait(store.close())


@DIRECT
@pytest.mark.parametrize("word", ["before", "after", "cut"])
def test_a_relative_write_over_a_connection_that_breaks_is_unknown_and_sent_once(
    broken_store: Store[Any], breaking: Breaking, notes_table: RawTable, mode: Mode, word: str
) -> None:
    breaking.script = [word]
    with pytest.raises(OutcomeUnknown) as caught:
        mode.wait(broken_store.of(Note).update(id="n").add(F(Note.count), 1).send())
    assert breaking.writes == 1
    assert notes_table.get("NOTE#n", "NOTE")["count"] == {"N": "0" if word == "before" else "1"}
    assert caught.value.applied is None or word == "cut"
    # the next one takes a new connection
    assert mode.wait(broken_store.of(Note).get(id="n").send()).count == (word != "before")


@DIRECT
@pytest.mark.parametrize(
    "script", [["before"], ["after"], ["after", "before"], ["before", "after", "before"]], ids=" ".join
)
def test_a_guarded_write_over_connections_that_break_is_applied_once(
    broken_store: Store[Any], breaking: Breaking, notes_table: RawTable, mode: Mode, script: list[str]
) -> None:
    accounts = broken_store.of(Account)
    breaking.script = list(script)
    account = mode.wait(accounts.put(Account("a", 1)).if_not_exists().send())
    assert not breaking.script
    breaking.script = list(script)
    changed = mode.wait(accounts.update(account).add(F(Account.balance), 1).send())
    assert changed == Account("a", 2, account.revision + 1)
    assert notes_table.get("ACCOUNT#a", "BALANCE")["balance"] == {"N": "2"}


@DIRECT
def test_a_guarded_write_whose_answer_was_cut_is_applied_once(
    broken_store: Store[Any], breaking: Breaking, notes_table: RawTable, mode: Mode
) -> None:
    accounts = broken_store.of(Account)
    account = mode.wait(accounts.put(Account("a", 1)).send())
    breaking.script = ["cut"]
    with suppress(OutcomeUnknown):
        assert mode.wait(accounts.update(account).add(F(Account.balance), 1).send()).balance == 2
    item = notes_table.get("ACCOUNT#a", "BALANCE")
    assert item["balance"] == {"N": "2"}
    assert item["revision"] == {"N": str(account.revision + 1)}


@DIRECT
def test_a_connection_that_the_server_closed_while_it_was_idle(
    broken_store: Store[Any], breaking: Breaking, notes_table: RawTable, mode: Mode
) -> None:
    """The client may see it before it sends, and then takes another connection, or after, and then it cannot know."""
    notes, applied = broken_store.of(Note), 0
    for _ in range(5):
        breaking.script = ["idle"]
        mode.wait(notes.put(Note("other")).send())
        sent_before = breaking.writes
        try:
            mode.wait(notes.update(id="n").add(F(Note.count), 1).send())
        except OutcomeUnknown:
            assert breaking.writes == sent_before
        else:
            applied += 1
    assert notes_table.get("NOTE#n", "NOTE")["count"] == {"N": str(applied)}


# ---- a server that is killed and started again


class Restartable:
    """A roto that keeps its data in a directory, on the same port after every start."""

    def __init__(self, command: str, directory: Path) -> None:
        self.port = closed_port()
        self._command = [
            *(command, "--host", "127.0.0.1", "--port", str(self.port)),
            *("--data-dir", str(directory), "--durable"),
        ]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while self._process.poll() is None:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
        pytest.fail(f"roto ended with status {self._process.returncode}")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@pytest.fixture
def restartable(tmp_path: Path) -> Iterator[Restartable]:
    command = shutil.which(os.environ.get("DYNAMAP_ROTO") or "roto-server")
    if command is None:
        pytest.skip("roto is not installed")
    server = Restartable(command, tmp_path)
    server.start()
    yield server
    server.kill()


@DIRECT
def test_a_server_that_was_killed_and_started_again_between_calls(
    restartable: Restartable, table_name: str, mode: Mode
) -> None:
    store = mode.connect_url(described(table_name), restartable.url)
    mode.wait(store.create_table())
    accounts, notes = store.of(Account), store.of(Note)
    account = mode.wait(accounts.put(Account("a")).send())
    mode.wait(notes.put(Note("n")).send())
    added = 0
    for number in range(1, 4):
        restartable.kill()
        restartable.start()
        # over a connection that the old server left behind: guarded writes are repeated, others are applied or unknown
        account = mode.wait(accounts.update(account).add(F(Account.balance), 1).send())
        assert account.balance == number
        restartable.kill()
        restartable.start()
        with suppress(OutcomeUnknown):
            mode.wait(notes.update(id="n").add(F(Note.count), 1).send())
            added += 1
        found = mode.wait(notes.get(id="n").required().send())
        assert found.count == added
    mode.wait(store.close())


@DIRECT
def test_a_server_that_stays_away_is_named(restartable: Restartable, table_name: str, mode: Mode) -> None:
    store = mode.connect_url(described(table_name), restartable.url)
    mode.wait(store.create_table())
    mode.wait(store.of(Note).put(Note("n", 1)).send())
    restartable.kill()
    # the first attempt may go out over the old connection
    with pytest.raises((ServiceError, OutcomeUnknown)):
        mode.wait(store.of(Note).update(id="n").add(F(Note.count), 1).send())
    with pytest.raises(ServiceError, match=restartable.url):
        mode.wait(store.of(Note).update(id="n").add(F(Note.count), 1).send())
    restartable.start()
    assert mode.wait(store.of(Note).get(id="n").send()) == Note("n", 1)
    mode.wait(store.close())
