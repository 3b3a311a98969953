"""Clients: which are taken, how they are made, and when they are closed."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from aiobotocore.awsrequest import AioAWSResponse
from botocore.awsrequest import AWSResponse

from dynamap import Table, connect, connect_async, entity
from dynamap.drivers import AsyncDriver, ClientOptions, SyncDriver
from dynamap.errors import RequestError
from dynamap.plan import Call, Plan
from tests.fakes import FakeClient


def call(number: int) -> Plan[Any]:
    return (yield Call("GetItem", {"n": number}))


@pytest.fixture(params=["sync", "async"])
def mode(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


@entity("THING", pk="THING#{id}", sk="THING")
class Thing:
    id: str


Things = Table("things", [Thing])


@pytest.mark.parametrize("opened", [connect, connect_async], ids=["sync", "async"])
@pytest.mark.parametrize(
    ("given", "words"),
    [
        (object(), "got object"),
        ("dynamodb", "got str"),
    ],
)
def test_what_is_no_client_is_refused_when_it_is_given(opened: Any, given: Any, words: str) -> None:
    with pytest.raises(RequestError) as caught:
        opened(Things, client=given)
    assert str(caught.value) == (
        f"client= takes a DynamoDB client, as boto3.client('dynamodb') makes it; {words}: of a boto3 resource or "
        f"table, "
        f"make a client beside it"
    )


def boto_client(service: str = "dynamodb") -> Any:
    import botocore.session

    return botocore.session.get_session().create_client(
        service, region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b"
    )


def test_a_client_of_another_service_is_refused() -> None:
    with pytest.raises(RequestError, match=r"got SQS for sqs: of a boto3"):
        connect(Things, client=boto_client("sqs"))


async def test_a_client_of_the_other_mode_is_refused() -> None:
    import aiobotocore.session

    with pytest.raises(RequestError, match=r"connect_async\(\) takes an aiobotocore client; .* pass it to connect\(\)"):
        connect_async(Things, client=boto_client())
    session = aiobotocore.session.get_session()
    made = session.create_client("dynamodb", region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
    async with made as client:
        with pytest.raises(
            RequestError, match=r"connect\(\) takes a boto3 or botocore client; .* to connect_async\(\)"
        ):
            connect(Things, client=client)


@pytest.mark.parametrize("opened", [connect, connect_async], ids=["sync", "async"])
@pytest.mark.parametrize("option", ["endpoint_url", "region_name"])
def test_a_client_brings_its_own_endpoint(opened: Any, option: str) -> None:
    with pytest.raises(RequestError) as caught:
        opened(Things, client=FakeClient(), **{option: "x"})
    assert str(caught.value) == ("client= brings its own endpoint and region: leave out endpoint_url= and region_name=")


def test_a_given_client_stays_open() -> None:
    closed: list[str] = []
    client = FakeClient(lambda method, params: closed.append(method))
    with connect(Things, client=client):
        pass
    assert closed == []


async def test_a_given_async_client_stays_open() -> None:
    closed: list[str] = []
    client = FakeClient(lambda method, params: closed.append(method))
    async with connect_async(Things, client=client):
        pass
    assert closed == []


def test_with_and_async_with_are_not_mixed_up() -> None:
    sync: Any = connect(Things, client=FakeClient())
    with pytest.raises(TypeError, match="a store of connect\\(\\) is entered with `with`"):
        asyncio.run(sync.__aenter__())
    other: Any = connect_async(Things, client=FakeClient())
    with pytest.raises(TypeError, match="a store of connect_async\\(\\) is entered with `async with`"):
        other.__enter__()


def test_threads_make_one_client() -> None:
    driver = SyncDriver(ClientOptions("http://127.0.0.1:9", "us-east-1"))
    start = threading.Barrier(8)
    clients: list[Any] = []

    def make() -> None:
        start.wait(10)
        clients.append(driver.client())

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, clients))) == 1
    driver.close()


async def test_tasks_make_one_client_and_close_it() -> None:
    driver = AsyncDriver(ClientOptions("http://127.0.0.1:9", "us-east-1"))
    clients = await asyncio.gather(*(driver.client() for _ in range(8)))
    assert len(set(map(id, clients))) == 1
    await driver.close()
    again = await driver.client()
    assert again is not clients[0]
    await driver.close()


def test_placeholders_stand_for_credentials_on_this_machine_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for url, keyed in (
        ("http://127.0.0.1:8000", True),
        ("http://localhost:8000", True),
        ("http://[::1]:8000", True),
        ("http://dynamodb.example", False),
        ("http://127.0.0.1.example", False),
    ):
        driver = SyncDriver(ClientOptions(url, "us-east-1"))
        credentials = driver.client()._request_signer._credentials
        assert (credentials is not None and credentials.access_key == "placeholder") is keyed, url
        driver.close()


def test_clients_that_are_made_have_short_timeouts_and_no_retries() -> None:
    driver = SyncDriver(ClientOptions("https://dynamodb.example.org", "us-east-1"))
    config = driver.client().meta.config
    assert (config.connect_timeout, config.read_timeout) == (1.0, 5.0)
    assert config.retries["total_max_attempts"] == 1
    driver.close()


def test_clients_that_are_made_name_dynamap_and_the_application(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SDK_UA_APP_ID", "orders (new)")
    monkeypatch.setenv("AWS_EXECUTION_ENV", "AWS_Lambda_python3.13")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    seen: list[str] = []

    def answered(request: Any, **_rest: Any) -> Any:
        seen.append(request.headers["User-Agent"].decode())
        return AWSResponse(request.url, 200, {}, SimpleNamespace(stream=lambda **_: iter([b"{}"])))

    driver = SyncDriver(ClientOptions("http://127.0.0.1:9", "us-east-1"))
    driver.client().meta.events.register("before-send", answered)
    driver.client().describe_limits()
    driver.close()
    name, *more = seen[0].split()
    assert name.startswith("Botocore/")
    assert "exec-env/AWS_Lambda_python3.13" in more
    assert more[-2].partition("/")[0] == "dynamap"
    assert more[-1] == "app/orders--new-"


async def test_awaited_clients_that_are_made_name_what_they_are_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_SDK_UA_APP_ID", raising=False)
    driver = AsyncDriver(ClientOptions("http://127.0.0.1:9", "us-east-1"))
    client = await driver.client()
    seen: list[str] = []

    async def read() -> bytes:
        return b"{}"

    def answered(request: Any, **_rest: Any) -> Any:
        seen.append(request.headers["User-Agent"].decode())
        return AioAWSResponse(request.url, 200, {}, SimpleNamespace(read=read, raw_headers=[]))

    client.meta.events.register("before-send", answered)
    await client.describe_limits()
    await driver.close()
    names = [each.partition("/")[0].lower() for each in seen[0].split()]
    assert names[:2] == ["aiobotocore", "python"]
    assert names[-2:] == ["dynamap", "botocore"]
    assert names.count("botocore") == 1
