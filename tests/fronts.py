"""What may stand between a client and a server on 127.0.0.1: TLS with a certificate made for it, a forward proxy."""

from __future__ import annotations

import asyncio
import os
import ssl
import threading
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta, timezone
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

__all__ = ["Certificate", "ForwardProxy", "environment", "forward_proxy", "tls_front"]

_Serve: TypeAlias = "Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]"

_CHUNK = 1 << 16
_WAIT = 10.0


class Certificate:
    """A certificate for 127.0.0.1 and localhost that vouches for itself; its files last as long as the object."""

    def __init__(self) -> None:
        self._directory = TemporaryDirectory()
        folder = Path(self._directory.name)
        self.path, self._key = folder / "certificate.pem", folder / "key.pem"
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a server of tests")])
        now = datetime.now(timezone.utc)
        hosts = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
        made = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA256())
        )
        self.path.write_bytes(made.public_bytes(serialization.Encoding.PEM))
        private = serialization.PrivateFormat.PKCS8
        self._key.write_bytes(
            key.private_bytes(serialization.Encoding.PEM, private, serialization.NoEncryption()),
        )

    def context(self) -> ssl.SSLContext:
        """That of a server which shows it."""
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.load_cert_chain(self.path, self._key)
        return made

    def close(self) -> None:
        self._directory.cleanup()


@contextmanager
def _served(serve: _Serve, context: ssl.SSLContext | None = None) -> Generator[int, None, None]:
    """Serve on a port of 127.0.0.1, in a thread with an event loop of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="front", daemon=True)
    thread.start()
    tasks: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                await serve(reader, writer)
        finally:
            tasks.discard(task)
            writer.close()

    async def end() -> None:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    begun = asyncio.start_server(accept, "127.0.0.1", 0, ssl=context, limit=1 << 24)
    server = asyncio.run_coroutine_threadsafe(begun, loop).result(_WAIT)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        asyncio.run_coroutine_threadsafe(end(), loop).result(_WAIT)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_WAIT)
        loop.close()


async def _pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on all that comes, and then the end."""
    with suppress(OSError):
        while received := await reader.read(_CHUNK):
            writer.write(received)
            await writer.drain()
    writer.close()


async def _connect(port: int, host: str = "127.0.0.1") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection(host, port, limit=1 << 24)


@contextmanager
def tls_front(url: str, certificate: Certificate) -> Generator[str, None, None]:
    """The same server behind TLS: gives the URL."""
    port = urlsplit(url).port
    assert port is not None

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream, out = await _connect(port)
        await asyncio.gather(_pour(reader, out), _pour(upstream, writer))

    with _served(serve, certificate.context()) as taken:
        yield f"https://127.0.0.1:{taken}"


class ForwardProxy:
    """A proxy that is asked for `http://` URLs, and with CONNECT for tunnels; it counts both."""

    def __init__(self) -> None:
        self.requests = 0
        self.tunnels = 0
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        method, target, _ = head.split(b" ", 2)
        if method == b"CONNECT":
            self.tunnels += 1
            host, _, port = target.decode().rpartition(":")
            upstream, out = await _connect(int(port), host)
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await asyncio.gather(_pour(reader, out), _pour(upstream, writer))
            return
        parts = urlsplit(target.decode())
        upstream, out = await _connect(parts.port or 80, parts.hostname or "")
        answers = asyncio.ensure_future(_pour(upstream, writer))
        try:
            while True:
                self.requests += 1
                await self._pass_on(head, reader, out)
                head = await reader.readuntil(b"\r\n\r\n")
        finally:
            out.close()
            answers.cancel()

    async def _pass_on(self, head: bytes, reader: asyncio.StreamReader, out: asyncio.StreamWriter) -> None:
        """One request, asked for by its path."""
        line, _, rest = head.partition(b"\r\n")
        method, target, version = line.split(b" ")
        path = urlsplit(target.decode()).path or "/"
        lengths = [each for each in rest.split(b"\r\n") if each.lower().startswith(b"content-length:")]
        length = int(lengths[0].partition(b":")[2]) if lengths else 0
        out.write(b" ".join((method, path.encode(), version)) + b"\r\n" + rest + await reader.readexactly(length))
        await out.drain()


@contextmanager
def forward_proxy() -> Generator[ForwardProxy, None, None]:
    """A proxy that runs."""
    proxy = ForwardProxy()
    with _served(proxy.serve) as port:
        proxy.url = f"http://127.0.0.1:{port}"
        yield proxy


@contextmanager
def environment(**values: str) -> Generator[None, None, None]:
    """Set variables of the environment; an empty value removes one."""
    before = {name: os.environ.get(name) for name in values}
    try:
        for name, value in values.items():
            os.environ.pop(name, None)
            if value:
                os.environ[name] = value
        yield
    finally:
        for name, former in before.items():
            os.environ.pop(name, None)
            if former is not None:
                os.environ[name] = former
