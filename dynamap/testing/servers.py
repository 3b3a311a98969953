"""DynamoDB-compatible servers as child processes: on a free port, ready when the block begins, gone when it ends."""

from __future__ import annotations

import atexit
import http.client
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

READY_SECONDS = 60.0
STOP_SECONDS = 10.0
POLL_SECONDS = 0.02
PORT_ATTEMPTS = 3
OUTPUT_LINES = 40


class ServerUnavailable(RuntimeError):  # a state of this machine, as the fixtures that skip on it see it
    """The server is not installed, or did not start; the message says which, and how to install it or what it said."""


class _Kind(NamedTuple):
    """How to run one server; "{port}" in arguments and environment stands for the port."""

    name: str
    command: str
    variable: str
    install: str
    arguments: tuple[str, ...]
    environment: dict[str, str]


_MINISTACK = _Kind(
    name="ministack",
    command="ministack",
    variable="DYNAMAP_MINISTACK",
    install="python3 -m venv ministack && ministack/bin/pip install ministack (it pins botocore: give it its own venv)",
    arguments=(),
    environment={
        "GATEWAY_PORT": "{port}",
        "BIND_HOST": "127.0.0.1",
        "SERVICES": "dynamodb,dynamodbstreams",
        "LOG_LEVEL": "WARNING",
    },
)
_DYNALITE = _Kind(
    name="dynalite",
    command="dynalite",
    variable="DYNAMAP_DYNALITE",
    install="npm install -g dynalite@4",
    arguments=(
        *("--host", "127.0.0.1", "--port", "{port}"),
        *("--createTableMs", "0", "--deleteTableMs", "0", "--updateTableMs", "0"),
    ),
    environment={},
)
_ROTO = _Kind(
    name="roto",
    command="roto-server",
    variable="DYNAMAP_ROTO",
    install="pip install roto-aws",
    arguments=("--host", "127.0.0.1", "--port", "{port}", "--ephemeral"),
    environment={},
)


def ministack() -> AbstractContextManager[str]:
    """Run ministack, with transactions, TTL and streams, and give its endpoint URL.

    The command comes from the environment variable DYNAMAP_MINISTACK, else `ministack` from the PATH.

    Raises:
        ServerUnavailable: it is not installed, or did not start; the message shows what it printed.
    """
    return _run(_MINISTACK)


def dynalite() -> AbstractContextManager[str]:
    """Run dynalite, the strictest validator, without transactions, TTL or streams, and give its endpoint URL.

    The command comes from the environment variable DYNAMAP_DYNALITE, else `dynalite` from the PATH.

    Raises:
        ServerUnavailable: it is not installed, or did not start; the message shows what it printed.
    """
    return _run(_DYNALITE)


def roto() -> AbstractContextManager[str]:
    """Run roto, with transactions and without streams, and give its endpoint URL.

    The command comes from the environment variable DYNAMAP_ROTO, else `roto-server` from the PATH.

    Raises:
        ServerUnavailable: it is not installed, or did not start; the message shows what it printed.
    """
    return _run(_ROTO)


@contextmanager
def _run(kind: _Kind) -> Generator[str, None, None]:
    command = _find(kind)
    # Its own directory: whatever the server writes where it stands is gone with it.
    with tempfile.TemporaryDirectory(prefix=f"dynamap-{kind.name}-") as directory:
        process, port = _start(kind, command, Path(directory))
        stop = partial(_stop, process)
        # A program that ends inside the block, or never closes its fixtures, must not leave the server behind.
        atexit.register(stop)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            atexit.unregister(stop)
            stop()


def _find(kind: _Kind) -> str:
    """Give the command's path, from the environment variable or the PATH."""
    named = os.environ.get(kind.variable)
    found = shutil.which(named or kind.command)
    if found is not None:
        return str(Path(found).absolute())
    looked = f"{kind.variable} names {named!r}, which cannot be run" if named else f"no {kind.command!r} on the PATH"
    msg = f"{kind.name} is not installed: {looked}. Install it by `{kind.install}`, or set {kind.variable} to its path."
    raise ServerUnavailable(msg)


def _start(kind: _Kind, command: str, directory: Path) -> tuple[subprocess.Popen[bytes], int]:
    """Start the server and wait until it answers; take another port if somebody was quicker."""
    reports: list[str] = []
    for _ in range(PORT_ATTEMPTS):
        port = _free_port()
        output = directory / f"{port}.txt"
        with output.open("wb") as sink:
            process = subprocess.Popen(  # noqa: S603  # the command is the developer's own
                [command, *(argument.format(port=port) for argument in kind.arguments)],
                cwd=directory,
                env={**os.environ, **{name: value.format(port=port) for name, value in kind.environment.items()}},
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
            )
        try:
            problem = _wait_until_ready(process, port)
        except BaseException:
            _stop(process)
            raise
        if problem is None:
            return process, port
        ended = process.poll() is not None
        _stop(process)
        lines = output.read_text(encoding="utf-8", errors="replace").splitlines()[-OUTPUT_LINES:]
        reports.append("\n".join([f"port {port}: {problem}, and it printed:", *(lines or ["(nothing)"])]))
        if not ended:
            # A port that was taken ends the server at once; one that runs and does not answer has another trouble.
            break
    msg = "\n".join([f"{kind.name} did not start ({command}).", *reports])
    raise ServerUnavailable(msg)


def _wait_until_ready(process: subprocess.Popen[bytes], port: int) -> str | None:
    """Poll until the server lists its tables; give what went wrong, or None."""
    give_up = time.monotonic() + READY_SECONDS
    while time.monotonic() < give_up:
        status = process.poll()
        if status is not None:
            return f"it ended with status {status}"
        if _lists_tables(port):
            # Another process may have taken the port and answered: then ours is about to end.
            with suppress(subprocess.TimeoutExpired):
                return f"it ended with status {process.wait(POLL_SECONDS)}"
            return None
        time.sleep(POLL_SECONDS)
    return f"it was not ready after {READY_SECONDS:g} seconds"


def _lists_tables(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    headers = {
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Target": "DynamoDB_20120810.ListTables",
        "X-Amz-Date": "20000101T000000Z",
        # The servers want to see a signature and check none.
        "Authorization": (
            "AWS4-HMAC-SHA256 Credential=local/20000101/us-east-1/dynamodb/aws4_request, "
            "SignedHeaders=host;x-amz-date, Signature=0"
        ),
    }
    try:
        connection.request("POST", "/", body=b"{}", headers=headers)
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ask the process to end, and make it end."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
