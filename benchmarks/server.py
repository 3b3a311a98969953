"""Build and start the stub, and ask it what it has seen."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.answers import write_answers

HERE = Path(__file__).parent
BUILD = HERE.parent / "build" / "benchmarks"
"""Everything that is made here lies below build/, which git ignores."""

COMPILERS = ("gcc", "cc", "clang")


class NoCompiler(Exception):
    """There is none, and CI=true lets nothing be missing."""


def compiler() -> str | None:
    """The first C compiler on the PATH."""
    return next(filter(None, map(shutil.which, COMPILERS)), None)


def build(into: Path = BUILD) -> Path | None:
    """The compiled stub, made anew if its source is newer; None without a compiler."""
    source, made = HERE / "stub.c", into / "stub"
    if made.exists() and made.stat().st_mtime >= source.stat().st_mtime:
        return made
    found = compiler()
    if found is None:
        return None
    into.mkdir(parents=True, exist_ok=True)
    # under another name first: another run may be using the old one
    fresh = into / f"stub-{os.getpid()}"
    subprocess.run([found, "-O2", "-Wall", "-Wextra", "-o", str(fresh), str(source)], check=True)
    fresh.replace(made)
    return made


def stub_command() -> list[str]:
    """What starts the stub: compiled, or, with a message, in Python. Raises NoCompiler in CI."""
    built = build()
    if built is not None:
        return [str(built)]
    if os.environ.get("CI") == "true":
        msg = f"no C compiler is installed ({', '.join(COMPILERS)}), and CI=true lets nothing be missing"
        raise NoCompiler(msg)
    print("No C compiler is installed: the stub is the one in Python, and wall times say little.", file=sys.stderr)
    return python_stub()


def python_stub() -> list[str]:
    return [sys.executable, "-m", "benchmarks.stub"]


@dataclass(frozen=True)
class Reply:
    """What a call of the stub brought."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Stub:
    """A stub that runs."""

    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def call(self, operation: str, body: str = "{}") -> Reply:
        """One call, on a connection of its own."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)) as connection:
            connection.request("POST", "/", body, {"X-Amz-Target": f"DynamoDB_20120810.{operation}"})
            answer = connection.getresponse()
            return Reply(answer.status, dict(answer.headers), answer.read())

    def seen(self) -> Seen:
        """How many calls there were since this was asked last, and the last one's body."""
        content = json.loads(self.call("Seen").body)
        return Seen(content["calls"], content["body"])


@dataclass(frozen=True)
class Seen:
    """What the stub was asked."""

    calls: int
    body: Any


@contextmanager
def running(command: list[str] | None = None, *, sizes: bool = False) -> Iterator[Stub]:
    """A stub on a free port, for as long as the block runs."""
    started = stub_command() if command is None else command
    with tempfile.TemporaryDirectory() as folder:
        write_answers(Path(folder), sizes=sizes)
        with subprocess.Popen(
            [*started, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HERE.parent
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                yield Stub(int(process.stdout.readline()))
            finally:
                process.stdin.close()
                process.wait(10)
