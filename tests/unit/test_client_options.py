"""What a client that dynamap makes is told: local servers need no credentials, and no region."""

from __future__ import annotations

import pytest

from dynamap.drivers.clients import ClientOptions, is_loopback

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


@pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL"])
def test_an_endpoint_from_the_environment_counts_too(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "http://127.0.0.1:8000")
    assert ClientOptions().is_local
    assert not ClientOptions(endpoint_url="https://dynamodb.eu-central-1.amazonaws.com").is_local
