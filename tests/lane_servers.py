"""Servers on 127.0.0.1 that count connections and requests, over TLS if wanted, and a proxy before them."""

from __future__ import annotations

import socket
import ssl
import threading
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

__all__ = ["Asked", "ForwardProxy", "Server", "reply"]


@dataclass
class Asked:
    """One request: its first line, its head in lower case, and its body."""

    first: str
    head: str
    body: bytes
    connection: int


def reply(body: bytes = b"{}", more: str = "", status: str = "200 OK") -> bytes:
    """An answer as the service gives it, with more lines for its head."""
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: application/x-amz-json-1.0\r\nx-amzn-RequestId: request\r\n"
        f"x-amz-crc32: {zlib.crc32(body)}\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    )
    return head.encode() + body


class Server:
    """Answers with what *answer* gives; None closes the connection instead."""

    def __init__(
        self, answer: Callable[[Asked], bytes | None] | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        self.answer = answer or (lambda asked: reply())
        self.tls = tls
        self.asked: list[Asked] = []
        self.connections = 0
        self.refused: list[str] = []
        self._open: dict[threading.Thread, socket.socket] = {}
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def close_connections(self) -> None:
        """Close those that are idle, and wait until that is done."""
        for thread, connection in list(self._open.items()):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            thread.join(10)
            assert not thread.is_alive()

    def wait_until_closed(self) -> None:
        """Until the other side has closed every connection."""
        for thread in list(self._open):
            thread.join(10)
            assert not thread.is_alive()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)
        self.close_connections()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                thread = threading.Thread(target=self._serve, args=(connection, self.connections), daemon=True)
                self._open[thread] = connection
                thread.start()

    def _serve(self, plain: socket.socket, number: int) -> None:
        with plain, suppress(OSError):
            connection = plain
            if self.tls is not None:
                try:
                    connection = self.tls.wrap_socket(plain, server_side=True)
                except OSError as error:
                    self.refused.append(str(error))
                    return
                # the other one is detached from its wire
                self._open[threading.current_thread()] = connection
            with connection:
                self.serve(connection, number)

    def serve(self, connection: socket.socket, number: int) -> None:
        """Read requests until the other side closes."""
        while (asked := read_request(connection, number)) is not None:
            self.asked.append(asked)
            answer = self.answer(asked)
            if answer is None:
                return
            connection.sendall(answer)


def read_request(connection: socket.socket, number: int) -> Asked | None:
    arrived = b""
    while b"\r\n\r\n" not in arrived:
        data = connection.recv(65536)
        if not data:
            return None
        arrived += data
    head, _, body = arrived.partition(b"\r\n\r\n")
    first, _, rest = head.decode("latin-1").partition("\r\n")
    rest = rest.lower()
    length = next((int(line.partition(":")[2]) for line in rest.split("\r\n") if line.startswith("content-length:")), 0)
    while len(body) < length:
        body += connection.recv(65536)
    return Asked(first, rest, body, number)


class ForwardProxy(Server):
    """Passes on what it is asked for with a whole URL, or by CONNECT."""

    def serve(self, connection: socket.socket, number: int) -> None:
        asked = read_request(connection, number)
        if asked is None:
            return
        self.asked.append(asked)
        method, target, _ = asked.first.split()
        port = int(target.removeprefix("http://").strip("/").rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as behind:
            if method == "CONNECT":
                connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                behind.sendall(f"POST / HTTP/1.1\r\n{asked.head}\r\n\r\n".encode("latin-1") + asked.body)
            back = threading.Thread(target=_pass_on, args=(behind, connection), daemon=True)
            back.start()
            _pass_on(connection, behind)
            back.join(10)


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
