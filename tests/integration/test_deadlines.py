"""Deadlines over servers that keep their clients waiting, and credentials that the service does not take any more."""

from __future__ import annotations

import json
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import botocore
import pytest

from dynamap import (
    DeadlineExceeded,
    F,
    OutcomeUnknown,
    ServiceError,
    Store,
    Table,
    connect,
    connect_async,
    deadline,
    entity,
)
from tests.backends import Backend, client_for
from tests.modes import Mode, RawTable, impatient

SHORT = 0.3
"""Long enough for a request to be on its way."""
OLD_BOTOCORE = tuple(map(int, botocore.__version__.split(".")[:3])) < (1, 43, 72)
AT_MOST = 2.0
"""Far less than the client's own timeout for reading, and enough for a machine that is busy."""


@entity("NOTE", pk="NOTE#{id}", sk="NOTE")
class Note:
    id: str
    count: int = 0


@entity("ACCOUNT", pk="ACCOUNT#{id}", sk="BALANCE", version="revision")
class Account:
    id: str
    balance: int = 0
    revision: int = 0


Things = Table("things", [Note, Account])


class Silent:
    """Takes connections and requests, and never answers."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._connections: list[socket.socket] = []
        self.requests = 0
        self._thread = threading.Thread(target=self._take)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def _take(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                self._connections.append(connection)
                if connection.recv(1):
                    self.requests += 1

    def stop(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()
        for connection in self._connections:
            connection.close()


@pytest.fixture
def silent() -> Iterator[Silent]:
    server = Silent()
    yield server
    server.stop()


@pytest.fixture(params=["made", "passed in"])
def store(request: pytest.FixtureRequest, silent: Silent, mode: Mode) -> Iterator[Store[Any]]:
    """Over a client with timeouts of its own: 5 seconds where dynamap made it, a minute otherwise."""
    if not mode.is_async and OLD_BOTOCORE:
        pytest.skip("botocore before 1.43.72 has no timeouts for single requests")
    if request.param == "made":
        made = mode.connect_url(Things, silent.url)
        # which takes longer than the deadlines here
        mode.wait(made._runtime.driver.client())
        yield made
        mode.wait(made.close())
        return
    if mode.is_async:
        client = mode.wait(mode.open_client(silent.url))
        yield impatient(connect_async(Things, client=client))
        return
    client = client_for(silent.url)
    yield impatient(connect(Things, client=client))
    client.close()


WRITES: dict[str, Callable[[Store[Any]], Any]] = {
    "relative": lambda s: s.of(Note).update(id="n").add(F(Note.count), 1),
    "absolute": lambda s: s.of(Note).put(Note("n")),
    "guarded": lambda s: s.of(Account).put(Account("a", 1, 7)),
    "transaction": lambda s: s.transact(s.of(Note).put(Note("n"))),
    "exactly once": lambda s: s.of(Note).update(id="n").add(F(Note.count), 1).exactly_once(),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_under_way_when_the_deadline_ends_is_unknown(
    store: Store[Any], silent: Silent, mode: Mode, write: Callable[[Store[Any]], Any]
) -> None:
    began = time.monotonic()
    with deadline(SHORT), pytest.raises(OutcomeUnknown) as caught:
        mode.wait(write(store).send())
    assert time.monotonic() - began < AT_MOST
    assert caught.value.applied is None
    # and nothing is sent behind it
    assert silent.requests <= 1


def test_a_read_under_way_when_the_deadline_ends(store: Store[Any], silent: Silent, mode: Mode) -> None:
    began = time.monotonic()
    with deadline(SHORT), pytest.raises(DeadlineExceeded, match="nothing was read"):
        mode.wait(store.of(Note).get(id="n").send())
    assert time.monotonic() - began < AT_MOST
    assert silent.requests <= 1


def test_after_the_deadline_nothing_is_sent(store: Store[Any], silent: Silent, mode: Mode) -> None:
    with deadline(0):
        with pytest.raises(DeadlineExceeded, match="nothing was written"):
            mode.wait(store.of(Note).put(Note("n")).send())
        with pytest.raises(DeadlineExceeded, match="nothing was read"):
            mode.wait(store.of(Note).get(id="n").send())
    assert silent.requests == 0


@pytest.mark.skipif(OLD_BOTOCORE, reason="botocore before 1.43.72 has no timeouts for single requests")
@pytest.mark.parametrize("own", [3.0, None], ids=["with a timeout", "without"])
def test_the_clients_own_calls_keep_its_timeout(embedded_backend: Backend, own: float | None) -> None:
    client = client_for(embedded_backend.url, read_timeout=own)
    seen: list[Any] = []
    store = connect(Things, client=client)

    def look(request: Any, **_rest: Any) -> None:
        seen.append(request.context.get("read_timeout"))

    client.meta.events.register_last("before-send.dynamodb", look)
    with suppress(ServiceError):
        store.of(Note).get(id="n").send()
    with deadline(60):
        with suppress(ServiceError):
            store.of(Note).get(id="n").send()
        client.list_tables()
    with deadline(1), suppress(ServiceError):
        store.of(Note).get(id="n").send()
    without, long, other, short = seen
    assert without is other is None
    assert long == (3.0 if own else pytest.approx(60, abs=5))
    assert 0 < short <= 1
    client.close()


# ---- credentials


class Gate(ThreadingHTTPServer):
    """Passes requests that are signed with a key of at least this number, and refuses the others."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Gatekeeper)
        self.lowest = 1
        self.code = "ExpiredTokenException"
        self.keys: list[int] = []
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def stop(self) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Gatekeeper(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Gate

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        found = re.search(r"Credential=KEY(\d+)/", self.headers["Authorization"])
        key = 0 if found is None else int(found[1])
        self.server.keys.append(key)
        refused = key < self.server.lowest
        answer = {"__type": f"com.amazon.coral.service#{self.server.code}", "message": "no"} if refused else {}
        content = json.dumps(answer).encode()
        self.send_response(400 if refused else 200)
        self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


@pytest.fixture
def gate() -> Iterator[Gate]:
    server = Gate()
    yield server
    server.stop()


PROVIDER = """
import json, pathlib, sys
count = pathlib.Path(sys.argv[1])
number = int(count.read_text()) + 1
count.write_text(str(number))
print(json.dumps({
    "Version": 1, "AccessKeyId": f"KEY{number}", "SecretAccessKey": "x", "Expiration": "2099-01-01T00:00:00Z",
}))
"""


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """A provider of KEY1, KEY2, KEY3, each good for decades by its own account; answers how often it was asked."""
    count, program, config = tmp_path / "count", tmp_path / "provider.py", tmp_path / "config"
    count.write_text("0")
    program.write_text(PROVIDER)
    config.write_text(f"[default]\nregion = us-east-1\ncredential_process = {sys.executable} {program} {count}\n")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    return lambda: int(count.read_text())


def test_credentials_that_are_refused_are_asked_for_anew(gate: Gate, asked: Callable[[], int], mode: Mode) -> None:
    """Though they are not over by what their provider said: the service knows better."""
    store = mode.connect_url(Things, gate.url)
    notes = store.of(Note)
    assert mode.wait(notes.put(Note("n")).send()) == Note("n")
    assert (gate.keys, asked()) == ([1], 1)
    gate.lowest = 2
    assert mode.wait(notes.put(Note("n")).send()) == Note("n")
    assert mode.wait(notes.get(id="n").send()) is None
    assert (gate.keys, asked()) == ([1, 1, 2, 2], 2)
    mode.wait(store.close())


@pytest.mark.parametrize("code", ["UnrecognizedClientException", "InvalidSignatureException"])
def test_credentials_that_stay_refused_are_said_to_be(
    gate: Gate, asked: Callable[[], int], mode: Mode, code: str
) -> None:
    store = mode.connect_url(Things, gate.url)
    gate.lowest, gate.code = 99, code
    for number in (1, 2):
        with pytest.raises(ServiceError) as caught:
            mode.wait(store.of(Note).update(id="n").add(F(Note.count), 1).send())
        assert caught.value.code == code
        assert len(gate.keys) == 2 * number
    # a client that was just renewed is not renewed again
    assert (gate.keys, asked()) == ([1, 2, 2, 2], 2)
    mode.wait(store.close())


def test_a_client_that_was_passed_in_keeps_its_credentials(gate: Gate, mode: Mode, notes_of: Any) -> None:
    gate.lowest = 1
    with pytest.raises(ServiceError) as caught:
        mode.wait(notes_of(gate.url).get(id="n").send())
    assert caught.value.code == "ExpiredTokenException"
    assert gate.keys == [0, 0]


@pytest.fixture
def notes_of(mode: Mode) -> Iterator[Callable[[str], Any]]:
    clients: list[Any] = []

    def connected(url: str) -> Any:
        if mode.is_async:
            return impatient(connect_async(Things, client=mode.wait(mode.open_client(url)))).of(Note)
        clients.append(client_for(url))
        return impatient(connect(Things, client=clients[-1])).of(Note)

    yield connected
    for client in clients:
        client.close()


def test_a_table_of_a_made_client_is_still_there_after_a_renewal(
    embedded_backend: Backend, table_name: str, mode: Mode
) -> None:
    """Calls go on over the new client, and both are closed with the store."""
    raw = RawTable(embedded_backend.client, table_name)
    raw.create()
    store = mode.connect_url(Table(table_name, [Note, Account]), embedded_backend.url)
    notes = store.of(Note)
    mode.wait(notes.put(Note("n", 1)).send())
    source = store._runtime.driver._source
    mode.wait(source.renew(mode.wait(source.get())))
    assert mode.wait(notes.get(id="n").send()) == Note("n", 1)
    mode.wait(store.close())
    assert mode.wait(notes.get(id="n").send()) == Note("n", 1)
    mode.wait(store.close())
    embedded_backend.client.delete_table(TableName=table_name)
