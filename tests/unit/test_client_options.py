"""What a client that dynamap makes is told: local servers need no credentials, and no region."""

from __future__ import annotations

import asyncio
import inspect
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore import utils
from hypothesis import example, given
from hypothesis import strategies as st

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
        ("http://a b", "endpoint_url='http://a b' is no URL of a server, such as 'http://localhost:8000'"),
        (
            "http://localhost:8000\n",
            "endpoint_url='http://localhost:8000\\n' is no URL of a server, such as 'http://localhost:8000'",
        ),
        ("http://-x", "endpoint_url='http://-x' is no URL of a server, such as 'http://localhost:8000'"),
        ("http://x-.y", "endpoint_url='http://x-.y' is no URL of a server, such as 'http://localhost:8000'"),
        (
            "http://b\u00fccher",
            "endpoint_url='http://b\u00fccher' is no URL of a server, such as 'http://localhost:8000'",
        ),
        ("http://db:port", "endpoint_url='http://db:port' is no URL of a server, such as 'http://localhost:8000'"),
        ("http://db:99999", "endpoint_url='http://db:99999' is no URL of a server, such as 'http://localhost:8000'"),
        ("http://::1:8000", "endpoint_url='http://::1:8000' is no URL of a server, such as 'http://localhost:8000'"),
        ("http://[1::2::3]", "endpoint_url='http://[1::2::3]' is no URL of a server, such as 'http://localhost:8000'"),
        (
            "http://my_host:8000",
            "endpoint_url='http://my_host:8000' has an underscore in its host name, which botocore does not take: give "
            "the server another name, such as an alias in its network",
        ),
        (
            "my_host:8000",
            "endpoint_url='my_host:8000' has an underscore in its host name, which botocore does not take: give the "
            "server another name, such as an alias in its network",
        ),
        (
            "user:secret@localhost:8000",
            "endpoint_url='localhost:8000' has no scheme: write endpoint_url='http://localhost:8000'",
        ),
        (
            "//user:secret@localhost:8000",
            "endpoint_url='//localhost:8000' has no scheme: write endpoint_url='http://localhost:8000'",
        ),
        (
            "http://user:secret@my_host",
            "endpoint_url='http://my_host' has an underscore in its host name, which botocore does not take: give the "
            "server another name, such as an alias in its network",
        ),
        (
            "ftp://user:sec//@ret@db:21",
            "endpoint_url='ftp://db:21' is no URL of a server, such as 'http://localhost:8000'",
        ),
        (8000, "endpoint_url= takes the URL of a server as str, such as 'http://localhost:8000'; got int"),
        (
            b"http://user:secret@db",
            "endpoint_url= takes the URL of a server as str, such as 'http://localhost:8000'; got bytes",
        ),
    ],
)
@pytest.mark.parametrize("connected", [connect, connect_async], ids=["sync", "async"])
def test_an_endpoint_that_is_no_url_is_refused_at_once(connected: Any, url: object, message: str) -> None:
    with pytest.raises(RequestError) as caught:
        connected(Table("pages", [Page]), endpoint_url=url)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "url",
    [
        "HTTP://localhost:8000/",
        "https://db.example/path",
        "http://user:secret@db-1.example.:8000",
        "http://127.0.0.1",
        "http://[::1]:8000",
        "http://[fe80::1%25my_eth0]:8000",
    ],
)
@pytest.mark.parametrize("connected", [connect, connect_async], ids=["sync", "async"])
def test_a_client_is_made_for_the_endpoint_as_it_was_given(connected: Any, url: str) -> None:
    taken: Any = connected(Table("pages", [Page]), endpoint_url=url)._runtime.driver
    assert taken._source._options.endpoint_url == url


NAMES = st.text("aZ0-._\u00fc ", max_size=70) | st.lists(st.from_regex(r"[a-z]{62,64}", fullmatch=True)).map(".".join)
ADDRESSES = st.text("aF1::%.", max_size=12) | st.from_regex(r"([0-9a-f]{1,5}::?){1,8}(%(25)?[a-z!/0-9._%]{1,3})?")
HOSTS = NAMES | st.one_of(ADDRESSES, st.ip_addresses().map(str)).map("[{}]".format)


@given(HOSTS)
@example("a" * 63)
@example("a" * 64)
@example(".".join(["a" * 62] * 4))
@example(".".join(["a" * 63] * 4))
@example("[fe80::1%25eth0]")
def test_what_botocore_refuses_at_the_first_call_is_refused_at_once(host: str) -> None:
    url = f"http://{host}/"
    try:
        expected = bool(utils.is_valid_endpoint_url(url)) or utils.is_valid_ipv6_endpoint_url(url)
        _ = urlsplit(url).port
    except (IndexError, ValueError):
        expected = False
    try:
        connect(Table("pages", [Page]), endpoint_url=url)
    except RequestError:
        taken = False
    else:
        taken = True
    assert taken is expected


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
