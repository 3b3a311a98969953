"""Server fixtures: ready when the block begins, gone when it ends, and clear about what is missing or broken."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from dynamap.testing import ServerUnavailable, dynalite, ministack, roto
from tests.backends import STARTERS, Backend, client_for

Starter = Callable[[], AbstractContextManager[str]]

SERVERS = [
    pytest.param(ministack, "DYNAMAP_MINISTACK", "pip install ministack", id="ministack"),
    pytest.param(dynalite, "DYNAMAP_DYNALITE", "npm install -g dynalite", id="dynalite"),
    pytest.param(roto, "DYNAMAP_ROTO", "pip install roto-aws", id="roto"),
]


def refuses_connections(url: str) -> bool:
    port = int(url.rpartition(":")[2])
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def write_command(path: Path, program: str) -> Path:
    path.write_text(f"#!{sys.executable}\n{program}", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_a_server_is_ready_in_the_block_and_gone_after_it(backend: Backend) -> None:
    # `backend` skips where the server is not installed; this one is another of its kind, on a port of its own.
    with STARTERS[backend.name]() as url:
        assert url != backend.url
        client = client_for(url)
        assert client.list_tables()["TableNames"] == []
        client.close()
    assert refuses_connections(url)


def test_the_server_stops_when_the_block_fails(backend: Backend) -> None:
    url = ""

    def fail() -> None:
        nonlocal url
        with STARTERS[backend.name]() as url:
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert refuses_connections(url)


@pytest.mark.not_on("embedded", reason="it is no process of its own")
def test_the_server_stops_with_an_interpreter_that_never_leaves_the_block(backend: Backend) -> None:
    program = f"from dynamap.testing import {backend.name}\nserver = {backend.name}()\nprint(server.__enter__())"
    result = subprocess.run(  # our own program
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert result.stdout.startswith("http://127.0.0.1:")
    assert refuses_connections(result.stdout.strip())


@pytest.mark.parametrize(("starter", "variable", "install"), SERVERS)
def test_a_missing_server_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, starter: Starter, variable: str, install: str
) -> None:
    monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ServerUnavailable, match=install) as error, starter():
        pass
    assert variable in str(error.value)


@pytest.mark.parametrize(("starter", "variable", "install"), SERVERS)
def test_a_command_that_does_not_exist_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, starter: Starter, variable: str, install: str
) -> None:
    absent = str(tmp_path / "absent")
    monkeypatch.setenv(variable, absent)
    with pytest.raises(ServerUnavailable, match=install) as error, starter():
        pass
    assert f"{variable} names {absent!r}" in str(error.value)


@pytest.mark.parametrize(("starter", "variable", "install"), SERVERS)
def test_a_server_that_ends_at_once_shows_what_it_printed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, starter: Starter, variable: str, install: str
) -> None:
    command = write_command(tmp_path / install.rsplit(maxsplit=1)[-1], "import sys\nsys.exit('the disk is full')")
    monkeypatch.setenv(variable, str(command))
    with pytest.raises(ServerUnavailable, match=r"(?s)ended with status 1.*the disk is full"), starter():
        pass


def test_a_port_that_was_taken_meanwhile_is_replaced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    marker = tmp_path / "tried"
    command = write_command(
        tmp_path / "late",
        f"""
import pathlib, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

marker = pathlib.Path({str(marker)!r})
if not marker.exists():
    marker.touch()
    sys.exit("address already in use")

class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{{}}")

HTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), Handler).serve_forever()
""",
    )
    monkeypatch.setenv("DYNAMAP_ROTO", str(command))
    with roto() as url:
        assert marker.exists()
        assert not refuses_connections(url)
    assert refuses_connections(url)


def test_a_server_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    command = write_command(
        tmp_path / "deaf",
        f"import os, pathlib, threading\npathlib.Path({str(pid)!r}).write_text(str(os.getpid()))\n"
        "threading.Event().wait()",
    )
    monkeypatch.setenv("DYNAMAP_ROTO", str(command))
    monkeypatch.setattr("dynamap.testing.servers.READY_SECONDS", 2.0)
    began = time.monotonic()
    with pytest.raises(ServerUnavailable, match="was not ready after"), roto():
        pass
    assert time.monotonic() - began < 20  # bounded, on a busy machine too
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text(encoding="utf-8")), 0)
