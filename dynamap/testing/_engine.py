"""moto's DynamoDB as a function from request to reply, with a state of its own for each engine."""

from __future__ import annotations

import io
import itertools
import os
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Literal

from moto.dynamodb.models import dynamodb_backends
from moto.dynamodbstreams.models import dynamodbstreams_backends
from moto.iam.models import iam_backends
from moto.moto_server.werkzeug_app import create_backend_app

from dynamap.testing._loopback import Reply
from dynamap.testing._mends import Mends, error_reply

_Service = Literal["dynamodb", "dynamodbstreams"]

DEFAULT_REGION = "us-east-1"
SERVER_ERROR = 500

# moto is not thread-safe: without the lock one conditional transaction has two winners, and a cancelled one undoes
# writes of others. One lock for the process, because engines share moto's caches.
_LOCK = threading.RLock()
_ACCOUNTS = itertools.count(700_000_000_001)
_REGION_OF_CREDENTIAL = re.compile(r"Credential=[^/,]*/[^/,]*/([^/,]+)/")


class Engine:
    """One empty DynamoDB: an account of its own among moto's accounts, dropped again by `close()`."""

    def __init__(self) -> None:
        if "MOTO_ACCOUNT_ID" in os.environ:
            msg = (
                "embedded() gives each engine an account of its own, and MOTO_ACCOUNT_ID in the environment "
                "would make them share one. Unset MOTO_ACCOUNT_ID."
            )
            raise RuntimeError(msg)
        self._account = str(next(_ACCOUNTS))
        # Tokens belong to an account and region, as tables do.
        self._mends: dict[str, Mends] = {}

    def answer(self, headers: Mapping[str, str], body: bytes) -> Reply:
        """Answer one HTTP request, its headers named in lower case.

        A mistake in it is an HTTP 400 with DynamoDB's error code, never an exception.
        """
        service, _, operation = headers.get("x-amz-target", "").partition(".")
        if not service.startswith(("DynamoDB_", "DynamoDBStreams_")) or not operation:
            return error_reply("UnknownOperationException", "X-Amz-Target names no operation of DynamoDB.")
        with _LOCK:
            region = self._region(headers.get("authorization", ""))
            if service.startswith("DynamoDBStreams_"):
                return self._perform("dynamodbstreams", service, region)(operation, body)
            if region not in self._mends:
                self._mends[region] = Mends(self._perform("dynamodb", service, region))
            return self._mends[region].answer(operation, body)

    def close(self) -> None:
        """Drop every table of this engine."""
        with _LOCK:
            for backends in (dynamodb_backends, dynamodbstreams_backends, iam_backends):
                backends.pop(self._account, None)

    def _region(self, authorization: str) -> str:
        found = _REGION_OF_CREDENTIAL.search(authorization)
        region = found.group(1) if found else DEFAULT_REGION
        # Names as "local" are common with local engines; moto knows only Amazon's.
        return region if region in dynamodb_backends[self._account] else DEFAULT_REGION

    def _perform(self, service: _Service, target: str, region: str) -> Callable[[str, bytes], Reply]:
        def perform(operation: str, body: bytes) -> Reply:
            environ = self._environ(f"{target}.{operation}", region, body)
            try:
                reply = _call(_application(service), environ)
            except Exception as error:  # noqa: BLE001  # moto raises whatever its code met; the client must get an answer
                return _unanswered(operation, f"{type(error).__name__}: {error}")
            if reply.status >= SERVER_ERROR:
                return _unanswered(operation, f"HTTP {reply.status}")
            return reply

        return perform

    def _environ(self, target: str, region: str, body: bytes) -> dict[str, Any]:
        return {
            "REQUEST_METHOD": "POST",
            "SCRIPT_NAME": "",
            "PATH_INFO": "/",
            "QUERY_STRING": "",
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "CONTENT_TYPE": "application/x-amz-json-1.0",
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_HOST": "127.0.0.1",
            "HTTP_AUTHORIZATION": f"AWS4-HMAC-SHA256 Credential=local/20000101/{region}/dynamodb/aws4_request",
            "HTTP_X_AMZ_TARGET": target,
            "HTTP_X_MOTO_ACCOUNT_ID": self._account,
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(body),
            "wsgi.errors": io.StringIO(),
            "wsgi.multithread": True,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
        }


@cache
def _application(service: _Service) -> Callable[..., Iterable[bytes]]:
    application: Callable[..., Iterable[bytes]] = create_backend_app(service)
    return application


def _call(application: Callable[..., Iterable[bytes]], environ: dict[str, Any]) -> Reply:
    started: list[tuple[int, list[tuple[str, str]]]] = []

    def start_response(status: str, headers: list[tuple[str, str]], _: object = None) -> None:
        kept = [(name, value) for name, value in headers if name.lower() not in {"content-length", "connection"}]
        started.append((int(status.split(" ", 1)[0]), kept))

    chunks = application(environ, start_response)
    try:
        body = b"".join(chunks)
    finally:
        close = getattr(chunks, "close", None)
        if close is not None:
            close()
    status, headers = started[-1]
    return Reply(status, headers, body)


def _unanswered(operation: str, reason: str) -> Reply:
    """Turn moto's failure into the caller's: a 500 would be retried, and then be an unknown outcome."""
    return error_reply("ValidationException", f"The embedded engine cannot perform this {operation} ({reason}).")
