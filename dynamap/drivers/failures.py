"""From what botocore raises to what a plan is told: how far the call came, and the service's own words."""

from __future__ import annotations

import json
import ssl
import zlib
from collections.abc import Callable, Mapping
from contextvars import ContextVar, Token
from typing import Any

from dynamap.backoff import time_left
from dynamap.codec import Body
from dynamap.plan import CallFailed, Reached, Reply

__all__ = [
    "DamagedReply",
    "DeadlineOver",
    "NeverConnected",
    "OurCall",
    "check_reply",
    "describe",
    "our_call",
    "within_deadline",
    "without_retries",
]

# of socket, of urllib3, of aiohttp: a base class stands for its forms, such as those for names, TLS and proxies
_CONNECTING = {"gaierror", "NewConnectionError", "ConnectTimeoutError", "ClientConnectorError", "ClientHttpProxyError"}

_FIRST_NO_SUCCESS = 300


class OurCall:
    """A call of ours; it is under way while this is entered.

    Then `without_retries` speaks for the client's calls; others keep the client's own settings.
    """

    __slots__ = ("_token", "body", "decode", "given", "lane", "params", "whole")

    def __init__(
        self,
        params: dict[str, Any],
        *,
        lane: bool = False,
        decode: Callable[[Body], Reply] | None = None,
        given: Mapping[str, Any] | None = None,
    ) -> None:
        self.params, self.lane, self.decode = params, lane, decode
        # all parameters, where the client has only those that it finds the endpoint by
        self.given = given
        # what was written of them
        self.body: bytes | None = None
        # the answer that `check_reply` has found whole
        self.whole: Any = None
        self._token: Token[OurCall | None] | None = None

    def __enter__(self) -> dict[str, Any]:
        self._token = _ours.set(self)
        return self.params

    def __exit__(self, *_details: object) -> None:
        if self._token is not None:
            _ours.reset(self._token)


_ours: ContextVar[OurCall | None] = ContextVar("dynamap_call", default=None)


class DamagedReply(Exception):
    """A 2xx reply whose body does not fit its length, its checksum, or JSON."""


class NeverConnected(Exception):
    """A connection of our own was not made: no byte of a request was sent."""


class DeadlineOver(Exception):
    """The deadline ended before the request was sent."""


def our_call() -> OurCall | None:
    """The call of ours that is under way."""
    return _ours.get()


def without_retries(
    client: Any, response: tuple[Any, dict[str, Any]] | None, caught_exception: Exception | None, operation: Any
) -> Any | None:
    """End a call of ours at its first answer, whatever retry mode the client has; answers the 2xx reply to check.

    Meant for `needs-retry`, registered first. Raises just what botocore would raise after its last attempt, so that
    whatever watches the client sees the usual errors.
    """
    call = _ours.get()
    if call is None:
        return None
    if caught_exception is not None:
        raise caught_exception
    if response is None:
        return None
    http, parsed = response
    if http.status_code < _FIRST_NO_SUCCESS:
        return None if http is call.whole else http
    error_class = client.exceptions.from_code(parsed.get("Error", {}).get("Code"))
    raise error_class(parsed, operation.name)


def within_deadline(request: Any = None, **_rest: object) -> None:
    """Let a request of ours wait for its answer until the enclosing deadline ends, and not be sent after it.

    Meant for `before-send`. The time to read comes from the request's context where botocore looks there, as it does
    from 1.43.72 on; before that, the client's own timeout is all there is.
    """
    left = None if _ours.get() is None else time_left()
    if left is None:
        return
    if left <= 0:
        msg = "the deadline ended before the request was sent"
        raise DeadlineOver(msg)
    context: Any = getattr(request, "context", None)
    if context is not None:
        limit = context.get("read_timeout")
        if limit is None:
            limit = getattr(context.get("client_config"), "read_timeout", None)
        context["read_timeout"] = left if limit is None else min(left, limit)


def check_reply(headers: Mapping[str, Any], body: Body, *, parsed: bool = False) -> None:
    """Raise DamagedReply unless this is the whole body that the service sent; it is JSON if it was *parsed*.

    botocore takes a damaged body of a 2xx for an empty answer, and http.client takes the part of a head that came for
    all of it, so that an item that is there would read as None. Length, checksum and braces are checked here; a body
    without a checksum is parsed.
    """
    length = headers.get("content-length")
    if length is not None and _number(length) != len(body):
        msg = f"{len(body)} bytes of {length} arrived"
        raise DamagedReply(msg)
    checksum = headers.get("x-amz-crc32")
    if checksum is not None and _number(checksum) != zlib.crc32(body):
        msg = "the checksum x-amz-crc32 does not fit the body"
        raise DamagedReply(msg)
    if not (body.startswith(b"{") and body.endswith(b"}")):
        # not always: a bytearray is copied
        body = body.strip()
    # an empty body is none either: no operation answers less than {}
    whole = body.startswith(b"{") and body.endswith(b"}")
    if not whole or (checksum is None and not parsed and not _is_json(body)):
        msg = "the body is not a JSON object"
        raise DamagedReply(msg)


def _number(text: str) -> int | None:
    """The number in a header; None if there is none, as where the head was cut off behind its name."""
    try:
        return int(text)
    except ValueError:
        return None


def _is_json(text: Body) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def describe(error: Exception) -> CallFailed:
    """A driver's account of an exception that a botocore or aiobotocore client raised."""
    # imported here: `import dynamap` must stay light
    from botocore import exceptions as raised  # noqa: PLC0415

    failed: CallFailed
    name = type(error).__name__
    if isinstance(error, raised.ClientError):
        answered: Any = error
        failed = _service_answer(answered.response)
    elif isinstance(error, DamagedReply):
        failed = CallFailed(Reached.APPLIED, name, str(error))
    elif isinstance(error, raised.NoCredentialsError):
        hint = "configure them as for boto3, or pass the endpoint_url= of a local server, as embedded() gives"
        failed = CallFailed(Reached.REFUSED, name, f"{error}: {hint}")
    elif isinstance(error, raised.ParamValidationError):
        failed = CallFailed(Reached.REFUSED, name, str(error))
    elif isinstance(error, (DeadlineOver, raised.ConnectTimeoutError, *_before_signing())) or _never_connected(error):
        failed = CallFailed(Reached.NOTHING, name, str(error))
    else:
        failed = CallFailed(Reached.UNKNOWN, name, str(error))
    failed.__cause__ = error
    return failed


def _before_signing() -> tuple[type[Exception], ...]:
    """What is raised where there is nothing to sign a request with."""
    from botocore import exceptions as raised  # noqa: PLC0415

    return (
        raised.CredentialRetrievalError,
        raised.PartialCredentialsError,
        raised.SSOError,
        raised.TokenRetrievalError,
        raised.NoAuthTokenError,
        raised.MetadataRetrievalError,
    )


def _service_answer(response: Mapping[str, Any]) -> CallFailed:
    error = response.get("Error", {})
    return CallFailed(
        Reached.ANSWERED,
        error.get("Code") or "Unknown",
        error.get("Message") or response.get("message") or "",
        status=response.get("ResponseMetadata", {}).get("HTTPStatusCode"),
        item=response.get("Item") or None,
        reasons=response.get("CancellationReasons", ()),
    )


def _never_connected(error: Exception) -> bool:
    """Whether a connection error came before the first byte of the request."""
    from botocore import exceptions as raised  # noqa: PLC0415

    details: Any = getattr(error, "kwargs", {})
    inner: Any = details.get("error")
    if isinstance(error, raised.SSLError):
        # a handshake that failed sent nothing; a TLS error later may follow a whole request
        unverified = isinstance(inner, ssl.SSLCertVerificationError) or "CERTIFICATE_VERIFY_FAILED" in str(inner)
        return unverified or _is_connect_error(inner)
    if isinstance(error, raised.ProxyConnectionError):
        # urllib3 before 2.0 reports every broken socket so while a proxy is in use
        original: Any = getattr(inner, "original_error", inner)
        return _is_connect_error(original) or "Tunnel connection failed" in str(original)
    if isinstance(error, raised.EndpointConnectionError):
        # aiobotocore reports a reset in the middle of a request under this name too
        return inner is None or _is_connect_error(inner)
    return False


def _is_connect_error(inner: object) -> bool:
    names = {base.__name__ for base in type(inner).__mro__}
    return isinstance(inner, NeverConnected) or bool(names & _CONNECTING)
