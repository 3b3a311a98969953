"""Our calls are sent once, whatever retry mode the client has; other calls over the same client keep its retries."""

from __future__ import annotations

import asyncio
import threading
import zlib
from types import SimpleNamespace
from typing import Any

import aiobotocore.endpoint
import botocore.endpoint
import botocore.exceptions
import pytest
from aiobotocore.awsrequest import AioAWSResponse
from aiobotocore.config import AioConfig
from botocore.awsrequest import AWSResponse
from botocore.config import Config

from dynamap.drivers import AsyncDriver, SyncDriver
from dynamap.plan import Call, CallFailed, Plan, Reached
from tests.sessions import shared_session

MODES = [None, "legacy", "standard", "adaptive"]
KEYS = {"aws_access_key_id": "a", "aws_secret_access_key": "b"}
REQUEST = {"TableName": "table", "Key": {"pk": {"S": "a"}}}


class Wire:
    """What comes back over the wire, one answer for every attempt."""

    def __init__(self, answer: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.attempts = 0
        self._answer, self._status = answer, status
        self._headers = {"content-type": "application/x-amz-json-1.0", **(headers or {})}

    def sync(self, request: Any, **_rest: Any) -> Any:
        return AWSResponse(request.url, self._status, self._headers, self._body(SimpleNamespace(stream=self._stream)))

    async def awaited(self, request: Any, **_rest: Any) -> Any:
        return AioAWSResponse(request.url, self._status, self._headers, self._body(SimpleNamespace(read=self._read)))

    def _body(self, raw: Any) -> Any:
        self.attempts += 1
        if isinstance(self._answer, Exception):
            raise self._answer
        return raw

    def _stream(self, **_rest: Any) -> Any:
        yield self._answer

    async def _read(self) -> Any:
        return self._answer


def over(client: Any, wire: Wire) -> Any:
    client.meta.events.register("before-send.dynamodb", wire.sync)
    return client


def client_of(mode: Any) -> Any:
    config = Config(retries={"mode": mode, "max_attempts": 3}) if mode else Config()
    return shared_session("sync").create_client("dynamodb", region_name="us-east-1", config=config, **KEYS)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's own retries wait for nothing."""

    async def at_once(seconds: float) -> None:
        return None

    monkeypatch.setattr(botocore.endpoint.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(aiobotocore.endpoint.asyncio, "sleep", at_once)


def one() -> Plan[Any]:
    return (yield Call("GetItem", REQUEST))


INTERNAL = b'{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"x"}'
CONDITION = (
    b'{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"no",'
    b'"Item":{"pk":{"S":"a"}}}'
)
FAILURES = [
    pytest.param(lambda: Wire(INTERNAL, status=500), Reached.ANSWERED, "InternalServerError", id="500"),
    pytest.param(lambda: Wire(b"<html>", status=503), Reached.ANSWERED, "503", id="503 without words"),
    pytest.param(
        lambda: Wire(botocore.exceptions.ReadTimeoutError(endpoint_url="x")),
        Reached.UNKNOWN,
        "ReadTimeoutError",
        id="timeout",
    ),
    pytest.param(lambda: Wire(b'{"Item":{"pk"', headers={}), Reached.APPLIED, "DamagedReply", id="cut off"),
    pytest.param(
        lambda: Wire(b"{}", headers={"x-amz-crc32": "1"}), Reached.APPLIED, "DamagedReply", id="wrong checksum"
    ),
    pytest.param(
        lambda: Wire(b"{}", headers={"content-length": "40"}), Reached.APPLIED, "DamagedReply", id="wrong length"
    ),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("make", "reached", "code"), FAILURES)
def test_a_call_of_ours_is_sent_once(mode: Any, make: Any, reached: Reached, code: str) -> None:
    wire = make()
    driver = SyncDriver(over(client_of(mode), wire))
    with pytest.raises(CallFailed) as caught:
        driver.run(one())
    assert wire.attempts == 1
    assert (caught.value.reached, caught.value.code) == (reached, code)


@pytest.mark.parametrize("mode", MODES)
def test_the_callers_own_calls_keep_the_clients_retries(mode: Any) -> None:
    wire = Wire(INTERNAL, status=500)
    client = over(client_of(mode), wire)
    driver = SyncDriver(client)
    with pytest.raises(CallFailed):
        driver.run(one())
    wire.attempts = 0
    with pytest.raises(botocore.exceptions.ClientError):
        client.get_item(**REQUEST)
    assert wire.attempts > 1


@pytest.mark.parametrize("mode", MODES)
def test_the_checksum_of_the_callers_own_calls_is_checked_as_before(mode: Any) -> None:
    body = b'{"Item":{"pk":{"S":"a"}}}'
    wire = Wire(body, headers={"x-amz-crc32": str(zlib.crc32(body))})
    client = over(client_of(mode), wire)
    driver = SyncDriver(client)
    assert client.get_item(**REQUEST)["Item"] == driver.run(one())["Item"] == {"pk": {"S": "a"}}


def test_calls_of_others_at_the_same_time_are_not_ours() -> None:
    entered, release = threading.Event(), threading.Event()
    wire = Wire(INTERNAL, status=500)
    client = client_of("standard")
    mine: list[int] = []

    def send(request: Any, **_rest: Any) -> Any:
        if threading.current_thread().name == "mine":
            mine.append(1)
            entered.set()
            assert release.wait(10)
            return AWSResponse(request.url, 500, {}, SimpleNamespace(stream=wire._stream))
        return wire.sync(request)

    client.meta.events.register("before-send.dynamodb", send)
    driver = SyncDriver(client)
    failed: list[Exception] = []

    def run() -> None:
        try:
            driver.run(one())
        except CallFailed as error:
            failed.append(error)

    thread = threading.Thread(target=run, name="mine")
    thread.start()
    assert entered.wait(10)
    with pytest.raises(botocore.exceptions.ClientError):
        client.get_item(**REQUEST)
    release.set()
    thread.join(10)
    assert len(failed) == len(mine) == 1
    assert wire.attempts == 4


def test_a_condition_that_failed_brings_its_item() -> None:
    driver = SyncDriver(over(client_of(None), Wire(CONDITION, status=400)))
    with pytest.raises(CallFailed) as caught:
        driver.run(one())
    assert caught.value.code == "ConditionalCheckFailedException"
    assert caught.value.message == "no"
    assert caught.value.item == {"pk": {"S": "a"}}
    assert isinstance(caught.value.__cause__, botocore.exceptions.ClientError)
    assert type(caught.value.__cause__).__name__ == "ConditionalCheckFailedException"


def test_a_store_made_twice_over_one_client_checks_once() -> None:
    wire = Wire(b'{"Item":{"pk":{"S":"a"}}}')
    client = over(client_of(None), wire)
    SyncDriver(client)
    assert SyncDriver(client).run(one())["Item"] == {"pk": {"S": "a"}}
    assert wire.attempts == 1


def aio_client(mode: Any) -> Any:
    config = AioConfig(retries={"mode": mode, "max_attempts": 3}) if mode else AioConfig()
    return shared_session("async").create_client("dynamodb", region_name="us-east-1", config=config, **KEYS)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("make", "reached", "code"), FAILURES)
async def test_an_awaited_call_of_ours_is_sent_once(mode: Any, make: Any, reached: Reached, code: str) -> None:
    wire = make()
    async with aio_client(mode) as client:
        client.meta.events.register("before-send.dynamodb", wire.awaited)
        driver = AsyncDriver(client)
        with pytest.raises(CallFailed) as caught:
            await driver.run(one())
        assert wire.attempts == 1
        assert (caught.value.reached, caught.value.code) == (reached, code)


@pytest.mark.parametrize("mode", MODES)
async def test_the_callers_own_awaited_calls_keep_the_clients_retries(mode: Any) -> None:
    wire = Wire(INTERNAL, status=500)
    async with aio_client(mode) as client:
        client.meta.events.register("before-send.dynamodb", wire.awaited)
        driver = AsyncDriver(client)
        with pytest.raises(CallFailed):
            await driver.run(one())
        wire.attempts = 0
        results = await asyncio.gather(client.get_item(**REQUEST), return_exceptions=True)
        assert isinstance(results[0], botocore.exceptions.ClientError)
        assert wire.attempts > 1
