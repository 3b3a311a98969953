"""A small HTTP/1.1 server on 127.0.0.1: a thread for each connection, kept alive, quiet, closed without leftovers."""

from __future__ import annotations

import contextlib
import json
import socket
import socketserver
import threading
import traceback
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple

JOIN_SECONDS = 10.0


class Reply(NamedTuple):
    """What goes back to the client: an HTTP status, headers without Content-Length, and the body."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


class LoopbackServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """Answers every POST on a free port of 127.0.0.1 with `answer(headers, body)` until `close()`.

    The headers' names are in lower case.

    `answer` is called from many threads. The threads are daemons: a server that nobody closes
    does not keep the interpreter alive.
    """

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, answer: Callable[[Mapping[str, str], bytes], Reply]) -> None:
        self._answer = answer
        self._connections: dict[socket.socket, threading.Thread] = {}
        self._guard = threading.Lock()
        self._closing = False
        super().__init__(("127.0.0.1", 0), _Connection)
        self._acceptor = threading.Thread(target=self._accept, name="dynamap-embedded", daemon=True)
        self._acceptor.start()

    @property
    def url(self) -> str:
        """The endpoint's address, without a trailing slash."""
        return f"http://127.0.0.1:{self.socket.getsockname()[1]}"

    def close(self) -> None:
        """Stop accepting, let requests that are being answered finish, and close every connection."""
        address = self.socket.getsockname()
        self._closing = True
        # handle_request sleeps until somebody connects, so that an idle server costs nothing: connect to wake it.
        with contextlib.suppress(OSError), socket.create_connection(address, timeout=1):
            self._acceptor.join(JOIN_SECONDS)
        self.server_close()
        with self._guard:
            connections = list(self._connections.items())
        for connection, _ in connections:
            # Only the reading half: an idle connection sees its end, one at work can still write its reply.
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RD)
        for _, thread in connections:
            thread.join(JOIN_SECONDS)

    def reply_to(self, headers: Mapping[str, str], body: bytes) -> Reply:
        """Answer one request; a fault of the server's own is shown and answered, no silent end of the connection."""
        try:
            return self._answer(headers, body)
        except Exception as error:  # noqa: BLE001 - whatever it is, the client waits for an answer
            traceback.print_exc()
            text = json.dumps({"__type": "InternalServerError", "message": f"{type(error).__name__}: {error}"})
            return Reply(500, [("Content-Type", "application/x-amz-json-1.0")], text.encode())

    def _accept(self) -> None:
        while not self._closing:
            self.handle_request()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Give the connection a thread of its own, and remember both for `close`."""
        thread = threading.Thread(target=self.process_request_thread, args=(request, client_address), daemon=True)
        with self._guard:
            self._connections[request] = thread
        thread.start()

    def shutdown_request(self, request: Any) -> None:
        """Close the connection and forget it."""
        super().shutdown_request(request)
        with self._guard:
            self._connections.pop(request, None)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: this is a client that went away."""


class _Connection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Headers and body leave in one segment; unbuffered, each reply would wait for the client's delayed ACK.
    wbufsize = -1
    disable_nagle_algorithm = True
    server: LoopbackServer  # pyright: ignore[reportIncompatibleVariableOverride]  # it is always ours

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length")
        if length is None or not length.isdecimal():
            self.close_connection = True
            self._send(Reply(411, [("Content-Type", "text/plain")], b"Content-Length is required\n"))
            return
        body = self.rfile.read(int(length))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self._send(self.server.reply_to(headers, body))

    def do_GET(self) -> None:
        self._send(Reply(200, [("Content-Type", "text/plain")], b"healthy: dynamodb\n"))

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        for name, value in reply.headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class names it so
        """Write no access log."""
