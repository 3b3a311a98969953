"""The stub of stub.c in Python, for machines without a C compiler: it takes longer, so that wall times say less.

python -m benchmarks.stub FOLDER
"""

from __future__ import annotations

import asyncio
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

_BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\n{}"
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_TARGET = re.compile(rb"\r\nx-amz-target: *[^.\r]*\.(\w+)", re.IGNORECASE)
_EXPECT = re.compile(rb"\r\nexpect:", re.IGNORECASE)


@dataclass
class Answers:
    """The prepared answers, and what was asked."""

    by_operation: dict[bytes, bytes] = field(default_factory=dict)
    by_text: dict[bytes, list[tuple[bytes, bytes]]] = field(default_factory=dict)
    calls: int = 0
    body: bytes = b""

    @classmethod
    def read(cls, folder: Path) -> Answers:
        made = cls()
        for path in sorted(folder.iterdir()):
            operation, _, text = path.name.encode().partition(b"@")
            if text:
                made.by_text.setdefault(operation, []).append((b'"%s"' % text, path.read_bytes()))
            else:
                made.by_operation[operation] = path.read_bytes()
        return made

    def answer(self, operation: bytes, body: bytes) -> bytes:
        if operation == b"Seen":
            seen = b'{"calls":%d,"body":%s}' % (self.calls, self.body or b"null")
            self.calls, self.body = 0, b""
            return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(seen), seen)
        self.calls += 1
        self.body = body
        for text, answer in self.by_text.get(operation, []):
            if text in body:
                return answer
        return self.by_operation.get(operation, _BAD_REQUEST)


class Connection(asyncio.Protocol):
    """One client: HTTP/1.1 with keep-alive."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._input = bytearray()
        self._continued = False
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._input += data
        while self._handle_one():
            pass

    def _handle_one(self) -> bool:
        assert self._transport is not None
        end = self._input.find(b"\r\n\r\n")
        if end < 0:
            return False
        head = bytes(self._input[: end + 2])
        length = _LENGTH.search(head)
        whole = end + 4 + (int(length[1]) if length else 0)
        if len(self._input) < whole:
            if _EXPECT.search(head) and not self._continued:
                self._continued = True
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            return False
        body = bytes(self._input[end + 4 : whole])
        del self._input[:whole]
        self._continued = False
        target = _TARGET.search(head)
        self._transport.write(self._answers.answer(target[1] if target else b"", body))
        return True


async def serve(folder: Path) -> None:
    loop = asyncio.get_running_loop()
    answers = Answers.read(folder)
    server = await loop.create_server(lambda: Connection(answers), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    # the stub ends with what it was started by, however that ends
    await loop.run_in_executor(None, sys.stdin.buffer.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(serve(Path(*sys.argv[1:])))
