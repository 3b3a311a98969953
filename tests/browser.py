"""A headless Chromium, told what to do through its pipe: what a test of a page needs, and no more."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome-headless-shell")
PATIENCE = 120.0

# The protocol's two files are 3 and 4; the shell puts there what Popen calls stdin and stdout.
_TO_PIPE = 'exec "$@" 3<&0 4>&1 0</dev/null 1>&2'


def find_chromium() -> str:
    """Give the browser's path; skip the test, with the reason, where there is none that starts."""
    path = os.environ.get("DYNAMAP_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("no browser: set DYNAMAP_CHROMIUM to a Chromium, or install one as " + ", ".join(NAMES))
    try:
        tried = subprocess.run(
            [path, "--version"], env=_environment(path), capture_output=True, text=True, timeout=60, check=False
        )
    except OSError as error:
        pytest.skip(f"{path} does not start: {error}")
    if tried.returncode != 0:
        pytest.skip(f"{path} does not start: {tried.stderr.strip()[-300:]}")
    return path


class Page:
    """The one page of a browser; `errors` are the exceptions that its scripts have left uncaught."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._to = process.stdin
        self._from = process.stdout
        self._unread = b""
        self._last = 0
        self._session: str | None = None
        self.errors: list[str] = []

    def attach(self) -> None:
        """Take the page that the browser has opened."""
        opened = self._call("Target.createTarget", url="about:blank")
        attached = self._call("Target.attachToTarget", targetId=opened["targetId"], flatten=True)
        self._session = attached["sessionId"]
        self._call("Page.enable")
        self._call("Runtime.enable")

    def open(self, url: str) -> None:
        """Return when the page is loaded."""
        self._call("Page.navigate", url=url)
        while self._next().get("method") != "Page.loadEventFired":
            pass

    def evaluate(self, expression: str) -> Any:
        """Give the value of an expression; of a promise, what it comes to."""
        answer = self._call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def _call(self, method: str, **params: Any) -> Any:
        self._last += 1
        message = {"id": self._last, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        self._to.write(json.dumps(message).encode() + b"\0")
        self._to.flush()
        while (answer := self._next()).get("id") != self._last:
            pass
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def _next(self) -> Any:
        """The next message: an answer or an event."""
        until = time.monotonic() + PATIENCE
        while b"\0" not in self._unread:
            left = max(0.0, until - time.monotonic())
            assert select.select([self._from], [], [], left)[0], "the browser does not answer"
            read = os.read(self._from.fileno(), 1 << 16)
            assert read, "the browser has ended"
            self._unread += read
        text, _, self._unread = self._unread.partition(b"\0")
        message = json.loads(text)
        if message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(message["params"]["exceptionDetails"]["exception"].get("description", ""))
        return message


@contextmanager
def browser(path: str, folder: Path) -> Generator[Page, None, None]:
    """Start a Chromium that keeps its files in *folder*, and end it."""
    # without a sandbox: a container permits none, and the page is ours
    options = [
        "--headless",
        "--no-sandbox",
        "--no-zygote",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
    ]
    command = [path, *options, f"--user-data-dir={folder}", "--remote-debugging-pipe", "about:blank"]
    process = subprocess.Popen(
        ["sh", "-c", _TO_PIPE, "sh", *command],
        env=_environment(path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with process:
        try:
            page = Page(process)
            page.attach()
            yield page
        finally:
            process.terminate()
            process.wait(30)


def _environment(path: str) -> dict[str, str]:
    """Libraries that came with the browser are found beside it; those of the system come first."""
    beside = str(Path(path).resolve().parent / "lib")
    return {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(filter(None, [os.environ.get("LD_LIBRARY_PATH"), beside]))}
