"""Clients that are renewed: when, how often, and when the old ones are closed; and what was never sent at all."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from botocore import exceptions

from dynamap import deadline
from dynamap.drivers import ClientOptions, sources
from dynamap.drivers.aio_sources import AsyncSource
from dynamap.drivers.failures import DeadlineOver, OurCall, describe, within_deadline
from dynamap.drivers.sources import Source
from dynamap.plan import Reached
from tests.fakes import FakeClient


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Closing:
    """A client that knows whether it is open."""

    def __init__(self, made: list[Closing]) -> None:
        self.is_open = True
        made.append(self)

    def close(self) -> None:
        assert self.is_open
        self.is_open = False


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Closing]:
    clients: list[Closing] = []
    monkeypatch.setattr(sources, "make_client", lambda options: Closing(clients))
    return clients


def test_a_renewed_client_stays_open_for_the_calls_that_are_under_way(made: list[Closing]) -> None:
    clock = Clock()
    source = Source(ClientOptions("http://127.0.0.1:9"), clock)
    first = source.get()
    assert source.get() is first
    source.renew(first)
    second = source.get()
    assert second is not first
    assert [client.is_open for client in made] == [True, True]
    # the others that were refused with the first client have it already
    source.renew(first)
    assert source.get() is second
    # one that was just renewed is not renewed again
    source.renew(second)
    assert source.get() is second
    clock.now += 10.0
    source.renew(second)
    third = source.get()
    assert [client.is_open for client in made] == [False, True, True]
    source.close()
    source.close()
    assert [client.is_open for client in made] == [False, False, False]
    assert source.get() not in (first, second, third)
    source.close()


def test_a_given_client_is_neither_renewed_nor_closed(made: list[Closing]) -> None:
    client = FakeClient()
    source = Source(client)
    source.renew(client)
    assert source.get() is client
    source.close()
    assert made == client.calls == []


async def test_an_awaited_client_is_renewed_as_rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    class Session:
        user_agent_extra = "more"

        def user_agent(self) -> str:
            return "session more"

        def get_config_variable(self, name: str) -> None:
            """There is no configuration."""

        def get_component(self, name: str) -> Any:
            return SimpleNamespace(remove=lambda provider: None, search_paths=[])

        def register_component(self, name: str, component: Any) -> None:
            """Nothing is loaded by it."""

        async def get_credentials(self) -> Any:
            return "some"

        def create_client(self, **_options: Any) -> Any:
            return self

        async def __aenter__(self) -> Any:
            opened.append("open")
            self.number = len(opened) - 1
            return FakeClient()

        async def __aexit__(self, *_error: object) -> None:
            opened[self.number] = "closed"

    import aiobotocore.session

    monkeypatch.setattr(aiobotocore.session, "AioSession", lambda **_: Session())
    clock = Clock()
    source = AsyncSource(ClientOptions("http://127.0.0.1:9"), clock)
    first = await source.get()
    await source.renew(first)
    second = await source.get()
    await source.renew(first)
    await source.renew(second)
    assert await source.get() is second
    assert opened == ["open", "open"]
    clock.now += 10.0
    await source.renew(second)
    await source.get()
    assert opened == ["closed", "open", "open"]
    await source.close()
    await source.close()
    assert opened == ["closed"] * 3


# ---- what was never sent


@pytest.mark.parametrize(
    "error",
    [
        DeadlineOver("over"),
        exceptions.CredentialRetrievalError(provider="p", error_msg="no"),
        exceptions.PartialCredentialsError(provider="p", cred_var="v"),
        exceptions.UnauthorizedSSOTokenError(),
        exceptions.SSOTokenLoadError(error_msg="no"),
        exceptions.TokenRetrievalError(provider="p", error_msg="no"),
        exceptions.NoAuthTokenError(),
        exceptions.MetadataRetrievalError(error_msg="no"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_where_nothing_could_be_signed_nothing_was_sent(error: Exception) -> None:
    assert describe(error).reached is Reached.NOTHING


@pytest.mark.parametrize(
    ("context", "most"),
    [
        ({}, 60.0),
        ({"read_timeout": 2.0}, 2.0),
        ({"read_timeout": 500.0}, 60.0),
        ({"client_config": SimpleNamespace(read_timeout=5.0)}, 5.0),
        ({"client_config": SimpleNamespace(read_timeout=None)}, 60.0),
        ({"read_timeout": 3.0, "client_config": SimpleNamespace(read_timeout=5.0)}, 3.0),
    ],
)
def test_a_request_waits_until_the_deadline_and_no_longer_than_it_would(context: dict[str, Any], most: float) -> None:
    request = SimpleNamespace(context=context)
    before = dict(context)
    within_deadline(request)
    with OurCall({}):
        within_deadline(request)
    with deadline(60):
        within_deadline(request)
    assert context == before
    with OurCall({}), deadline(60):
        within_deadline(request)
        within_deadline(SimpleNamespace())
    assert context["read_timeout"] == pytest.approx(most, abs=1)
    with OurCall({}), deadline(0), pytest.raises(DeadlineOver):
        within_deadline(request)
