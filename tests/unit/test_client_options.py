"""What a client that dynamap makes is told: local servers need no credentials, and no region."""

from __future__ import annotations

import asyncio
import inspect
import os
from pathlib import Path
from typing import Any

import pytest

from dynamap import RequestError, ServiceError, Table, connect, connect_async, entity
from dynamap.drivers.clients import ClientOptions, is_loopback, make_client


@entity("PAGE", pk="PAGE#{id}", sk="PAGE")
class Page:
    id: str


LOCAL = ["http://127.0.0.1:8000", "http://localhost:8000", "http://[::1]:8000", "https://127.9.9.9"]
ELSEWHERE = [None, "https://dynamodb.eu-central-1.amazonaws.com", "http://10.0.0.1:8000", "http://localhost.example:80"]


@pytest.mark.parametrize("url", LOCAL)
def test_an_endpoint_on_this_machine_is_local(url: str) -> None:
    assert is_loopback(url)
    assert ClientOptions(endpoint_url=url).is_local


@pytest.mark.parametrize("url", ELSEWHERE)
def test_any_other_endpoint_is_not(url: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    assert not is_loopback(url)
    assert not ClientOptions(endpoint_url=url).is_local


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("localhost:8000", "endpoint_url='localhost:8000' has no scheme: write endpoint_url='http://localhost:8000'"),
        ("localhost", "endpoint_url='localhost' has no scheme: write endpoint_url='http://localhost'"),
        ("127.0.0.1:8000", "endpoint_url='127.0.0.1:8000' has no scheme: write endpoint_url='http://127.0.0.1:8000'"),
        ("//db:8000/", "endpoint_url='//db:8000/' has no scheme: write endpoint_url='http://db:8000/'"),
        (
            "dynamodb.eu-central-1.amazonaws.com",
            "endpoint_url='dynamodb.eu-central-1.amazonaws.com' has no scheme: write "
            "endpoint_url='https://dynamodb.eu-central-1.amazonaws.com'",
        ),
        ("no url at all", "endpoint_url='no url at all' is no URL of a server, such as 'http://localhost:8000'"),
        ("http:db", "endpoint_url='http:db' is no URL of a server, such as 'http://localhost:8000'"),
        ("", "endpoint_url='' is no URL of a server, such as 'http://localhost:8000'"),
        ("http://", "endpoint_url='http://' is no URL of a server, such as 'http://localhost:8000'"),
        ("http://[::1", "endpoint_url='http://[::1' is no URL of a server, such as 'http://localhost:8000'"),
        ("ftp://db:21", "endpoint_url='ftp://db:21' is no URL of a server, such as 'http://localhost:8000'"),
        (8000, "endpoint_url=8000 is no URL of a server, such as 'http://localhost:8000'"),
    ],
)
@pytest.mark.parametrize("connected", [connect, connect_async], ids=["sync", "async"])
def test_an_endpoint_that_is_no_url_is_refused_at_once(connected: Any, url: object, message: str) -> None:
    with pytest.raises(RequestError) as caught:
        connected(Table("pages", [Page]), endpoint_url=url)
    assert str(caught.value) == message


@pytest.mark.parametrize("url", ["HTTP://localhost:8000/", "http://[::1]:8000", "https://db.example/path"])
@pytest.mark.parametrize("connected", [connect, connect_async], ids=["sync", "async"])
def test_an_endpoint_is_taken_with_either_scheme(connected: Any, url: str) -> None:
    assert connected(Table("pages", [Page]), endpoint_url=url)


@pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL"])
def test_an_endpoint_from_the_environment_counts_too(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "http://127.0.0.1:8000")
    assert ClientOptions().is_local
    assert not ClientOptions(endpoint_url="https://dynamodb.eu-central-1.amazonaws.com").is_local


@pytest.mark.parametrize(
    ("url", "seconds"), [("http://127.0.0.1:9", 60.0), ("https://dynamodb.eu-central-1.amazonaws.com", 5.0)]
)
def test_a_server_on_this_machine_may_take_longer(url: str, seconds: float) -> None:
    config = make_client(ClientOptions(url, "eu-central-1")).meta.config
    assert (config.connect_timeout, config.read_timeout) == (1.0, seconds)


@pytest.mark.parametrize("connected", [connect, connect_async], ids=["sync", "async"])
def test_without_a_region_the_first_call_says_what_to_configure(
    connected: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    store = connected(Table("pages", [Page]))
    with pytest.raises(RequestError, match=r"no region is configured: pass region_name=, set AWS_DEFAULT_REGION, or"):
        wait(store.of(Page).get(id="x").send())


@pytest.mark.parametrize("connected", [connect, connect_async], ids=["sync", "async"])
def test_without_credentials_nothing_is_sent_and_the_client_is_quoted(
    connected: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    store = connected(Table("pages", [Page]), region_name="eu-west-1")
    refused = pytest.raises(ServiceError, match="Unable to locate credentials: configure them as for boto3")

    async def both() -> Any:
        with refused as raised:
            await answer_of(store.of(Page).get(id="x").send())
        await answer_of(store.close())
        return raised.value

    assert asyncio.run(both()).code == "NoCredentialsError"


async def answer_of(answer: Any) -> Any:
    return await answer if inspect.isawaitable(answer) else answer


def wait(answer: Any) -> Any:
    return asyncio.run(answer_of(answer))
