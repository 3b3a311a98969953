"""From the clients' exceptions to what a plan is told, and which 2xx replies are damaged."""

from __future__ import annotations

import asyncio
import socket
import ssl
import zlib
from typing import Any

import aiohttp
import pytest
import urllib3
from aiohttp.client_reqrep import ConnectionKey
from botocore import exceptions as raised

from dynamap.drivers.failures import DamagedReply, check_reply, describe
from dynamap.outcomes import Verdict, judge
from dynamap.plan import Reached

URL = "https://dynamodb.eu-central-1.amazonaws.com/"
POOL: Any = None
REQUEST: Any = None
KEY = ConnectionKey("127.0.0.1", 443, True, True, None, None, None)


def new_connection() -> Exception:
    return urllib3.exceptions.NewConnectionError(POOL, "Connection refused")


def connector(error: OSError) -> Exception:
    return aiohttp.ClientConnectorError(KEY, error)


NOTHING_SENT = {
    "refused": raised.EndpointConnectionError(endpoint_url=URL, error=new_connection()),
    "no such name": raised.EndpointConnectionError(endpoint_url=URL, error=socket.gaierror(-2, "unknown")),
    "no such name, urllib3": raised.EndpointConnectionError(
        endpoint_url=URL, error=urllib3.exceptions.NameResolutionError("host", POOL, socket.gaierror(-2, "unknown"))
    ),
    "connect timeout": raised.ConnectTimeoutError(endpoint_url=URL, error=urllib3.exceptions.ConnectTimeoutError()),
    "refused, aiohttp": raised.EndpointConnectionError(
        endpoint_url=URL, error=connector(ConnectionRefusedError(111, "refused"))
    ),
    "no such name, aiohttp": raised.EndpointConnectionError(
        endpoint_url=URL, error=aiohttp.ClientConnectorDNSError(KEY, OSError(-2, "unknown"))
    ),
    "connect timeout, aiohttp": raised.ConnectTimeoutError(
        endpoint_url=URL, error=aiohttp.ConnectionTimeoutError("Connection timeout to host")
    ),
    "handshake, wrong certificate": raised.SSLError(
        endpoint_url=URL, error=urllib3.exceptions.SSLError(ssl.SSLCertVerificationError("CERTIFICATE_VERIFY_FAILED"))
    ),
    "handshake, wrong certificate, bare": raised.SSLError(endpoint_url=URL, error=ssl.SSLCertVerificationError("no")),
    "handshake, aiohttp": raised.SSLError(
        endpoint_url=URL, error=aiohttp.ClientConnectorSSLError(KEY, OSError(1, "handshake failure"))
    ),
    "handshake, wrong certificate, aiohttp": raised.SSLError(
        endpoint_url=URL, error=aiohttp.ClientConnectorCertificateError(KEY, ssl.CertificateError("no"))
    ),
    "proxy refused": raised.ProxyConnectionError(
        proxy_url="http://proxy", error=urllib3.exceptions.ProxyError("Unable to connect to proxy", new_connection())
    ),
    "proxy timed out": raised.ProxyConnectionError(
        proxy_url="http://proxy",
        error=urllib3.exceptions.ProxyError("Unable", urllib3.exceptions.ConnectTimeoutError("timed out")),
    ),
    "proxy would not tunnel": raised.ProxyConnectionError(
        proxy_url="http://proxy",
        error=urllib3.exceptions.ProxyError("Unable", OSError("Tunnel connection failed: 503 Service Unavailable")),
    ),
    "proxy refused, aiohttp": raised.ProxyConnectionError(
        proxy_url="http://proxy", error=aiohttp.ClientProxyConnectionError(KEY, ConnectionRefusedError(111, "refused"))
    ),
    "proxy would not tunnel, aiohttp": raised.ProxyConnectionError(
        proxy_url="http://proxy", error=aiohttp.ClientHttpProxyError(REQUEST, (), status=503)
    ),
    "no credentials could be fetched": raised.CredentialRetrievalError(provider="sso", error_msg="expired"),
}

PERHAPS_SENT = {
    "read timeout": raised.ReadTimeoutError(endpoint_url=URL, error=TimeoutError()),
    "reset": raised.ConnectionClosedError(endpoint_url=URL, error=ConnectionResetError(104, "reset")),
    "reset, aiohttp calls it an endpoint error": raised.EndpointConnectionError(
        endpoint_url=URL, error=aiohttp.ClientOSError(104, "Connection reset by peer")
    ),
    "closing transport, aiohttp": raised.EndpointConnectionError(
        endpoint_url=URL, error=aiohttp.ClientConnectionResetError("Cannot write to closing transport")
    ),
    "disconnected, aiohttp": raised.ConnectionClosedError(endpoint_url=URL, error=aiohttp.ServerDisconnectedError()),
    "TLS broke in the middle": raised.SSLError(
        endpoint_url=URL, error=ssl.SSLError("DECRYPTION_FAILED_OR_BAD_RECORD_MAC")
    ),
    "TLS ended in the middle": raised.SSLError(endpoint_url=URL, error=ssl.SSLEOFError("EOF occurred")),
    # urllib3 before 2.0 says so of every broken socket while a proxy is in use
    "reset behind a proxy": raised.ProxyConnectionError(
        proxy_url="http://proxy",
        error=urllib3.exceptions.ProxyError("Cannot connect to proxy.", ConnectionResetError(104, "reset")),
    ),
    "timeout behind a proxy": raised.ProxyConnectionError(
        proxy_url="http://proxy",
        error=urllib3.exceptions.ProxyError("Cannot connect to proxy.", TimeoutError("timed out")),
    ),
    "anything in the transport": raised.HTTPClientError(error=ValueError("what")),
    "incomplete": raised.IncompleteReadError(actual_bytes=1, expected_bytes=2),
    "a bug": RuntimeError("what"),
    "timeout of a task": asyncio.TimeoutError(),
}


@pytest.mark.parametrize("error", NOTHING_SENT.values(), ids=NOTHING_SENT)
def test_nothing_was_sent(error: Exception) -> None:
    failed = describe(error)
    assert failed.reached is Reached.NOTHING
    assert failed.code == type(error).__name__
    assert failed.__cause__ is error


@pytest.mark.parametrize("error", PERHAPS_SENT.values(), ids=PERHAPS_SENT)
def test_the_request_may_have_been_sent(error: Exception) -> None:
    failed = describe(error)
    assert failed.reached is Reached.UNKNOWN
    assert failed.code == type(error).__name__
    assert failed.message == str(error)
    assert failed.__cause__ is error


@pytest.mark.parametrize(
    "error",
    [
        raised.ParamValidationError(report='Missing required parameter in input: "Key"'),
        raised.NoCredentialsError(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_request_that_botocore_does_not_take_is_refused(error: Exception) -> None:
    failed = describe(error)
    assert (failed.reached, failed.code) == (Reached.REFUSED, type(error).__name__)
    assert failed.message.startswith(str(error))
    assert judge(failed) is Verdict.REFUSED


def client_error(**parts: Any) -> raised.ClientError:
    response: Any = {"ResponseMetadata": {"HTTPStatusCode": 400}, **parts}
    return raised.ClientError(response, "PutItem")


def test_an_answer_of_the_service_keeps_its_words() -> None:
    item = {"pk": {"S": "a"}}
    error = client_error(Error={"Code": "ConditionalCheckFailedException", "Message": "no"}, Item=item)
    failed = describe(error)
    assert failed.reached is Reached.ANSWERED
    assert (failed.code, failed.message, failed.status, failed.item) == (
        "ConditionalCheckFailedException",
        "no",
        400,
        item,
    )
    assert failed.reasons == ()
    assert str(failed) == "ConditionalCheckFailedException: no"
    assert failed.__cause__ is error


def test_a_cancelled_transaction_brings_its_reasons_and_a_lower_case_message() -> None:
    reasons = [{"Code": "None"}, {"Code": "ConditionalCheckFailed", "Item": {"pk": {"S": "a"}}}]
    error = client_error(
        Error={"Code": "TransactionCanceledException", "Message": ""}, CancellationReasons=reasons, message="cancelled"
    )
    failed = describe(error)
    assert list(failed.reasons) == reasons
    assert failed.message == "cancelled"


@pytest.mark.parametrize("parts", [{}, {"Error": {}}, {"Error": {"Code": ""}}])
def test_an_answer_without_a_code_is_unknown(parts: dict[str, Any]) -> None:
    failed = describe(client_error(**parts))
    assert (failed.reached, failed.code, failed.message) == (Reached.ANSWERED, "Unknown", "")


def test_an_empty_item_is_no_item() -> None:
    assert describe(client_error(Error={"Code": "ConditionalCheckFailedException"}, Item={})).item is None


def test_a_damaged_reply_was_applied() -> None:
    failed = describe(DamagedReply("3 bytes of 9 arrived"))
    assert (failed.reached, failed.message) == (Reached.APPLIED, "3 bytes of 9 arrived")


# ---- bodies

BODY = b'{"Item":{"pk":{"S":"a"}}}'
CRC = str(zlib.crc32(BODY))


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"content-length": str(len(BODY)), "x-amz-crc32": CRC}, BODY),
        ({"content-length": str(len(BODY))}, BODY),
        ({"x-amz-crc32": CRC}, BODY),
        ({}, BODY),
        ({}, b"{}"),
        ({}, b" {}\n"),
        ({"content-length": "2", "x-amz-crc32": str(zlib.crc32(b"{}"))}, b"{}"),
    ],
)
def test_a_whole_body_passes(headers: dict[str, str], body: bytes) -> None:
    check_reply(headers, body)


@pytest.mark.parametrize(
    ("headers", "body", "problem"),
    [
        ({"content-length": str(len(BODY))}, BODY[:-1], f"{len(BODY) - 1} bytes of {len(BODY)} arrived"),
        ({"content-length": str(len(BODY))}, b"", f"0 bytes of {len(BODY)} arrived"),
        ({"content-length": str(len(BODY)), "x-amz-crc32": CRC}, BODY[:-1] + b"]", "checksum"),
        ({"x-amz-crc32": CRC}, BODY.replace(b'"a"', b'"b"'), "checksum"),
        ({"x-amz-crc32": CRC}, b"", "checksum"),
        ({}, BODY[:-3], "not a JSON object"),
        ({}, b"<html>Bad Gateway</html>", "not a JSON object"),
        ({}, b"[]", "not a JSON object"),
        ({"content-length": "4"}, b"null", "not a JSON object"),
        # what http.client makes of a head that was cut off: a reply without headers and without a body
        ({}, b"", "not a JSON object"),
        ({"content-length": ""}, b"", "0 bytes of  arrived"),
        ({"x-amz-crc32": ""}, BODY, "checksum"),
        # the service never answers nothing
        ({"content-length": "0"}, b"", "not a JSON object"),
        ({"content-length": "0", "x-amz-crc32": "0"}, b"", "not a JSON object"),
        # a length that was cut off, where the part looks whole
        ({"content-length": "24"}, b'{"Item":{"pk":{"S":"a"}}', "not a JSON object"),
        # ends as a whole one does
        ({}, b'{"Item":{"pk":{"S":"a"}', "not a JSON object"),
        ({}, b'{"Item":{"pk":{"S":"a"}}}{"Item":{}', "not a JSON object"),
        ({}, b'{"Item":{"pk":{"S":"\xff"}}}', "not a JSON object"),
    ],
)
def test_a_damaged_body_is_noticed(headers: dict[str, str], body: bytes, problem: str) -> None:
    with pytest.raises(DamagedReply, match=problem):
        check_reply(headers, body)
