"""The DynamoDB-compatible servers that integration tests run against, each started once and only when needed."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from functools import cached_property
from typing import Any

import boto3
import pytest
from botocore.config import Config

from dynamap.testing import ServerUnavailable, dynalite, embedded, ministack, roto
from tests.fronts import Certificate, environment, forward_proxy, tls_front

STARTERS: dict[str, Callable[[], AbstractContextManager[str]]] = {
    "embedded": embedded,
    "ministack": ministack,
    "dynalite": dynalite,
    "roto": roto,
}
BACKENDS = tuple(STARTERS)

VIA = os.environ.get("DYNAMAP_TEST_VIA", "")
"""What stands between all clients and these servers: "tls", "proxy", both as "tls,proxy", or nothing."""

DIRECT = pytest.mark.skipif(VIA != "", reason="it is about the connections to the server itself")
"""For tests of sockets: what stands between has connections of its own."""


class Backend:
    """A running server: its name, one of BACKENDS, its endpoint's URL, and a boto3 client for it."""

    def __init__(self, name: str, url: str) -> None:
        self.name = name
        self.url = url

    @cached_property
    def client(self) -> Any:
        """Give a low-level boto3 client with placeholder credentials and a pool of 100 connections, made once."""
        return client_for(self.url)

    def close(self) -> None:
        """Close the client's connections."""
        if "client" in self.__dict__:
            self.client.close()

    def __repr__(self) -> str:
        return f"Backend({self.name!r}, {self.url!r})"


def client_for(url: str, **config: Any) -> Any:
    """Make a low-level boto3 DynamoDB client for a local endpoint; more of botocore's Config by keyword."""
    return boto3.client(
        "dynamodb",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",  # a placeholder: local servers check no signature
        config=Config(**{"max_pool_connections": 100, **config}),
    )


class RunningBackends:
    """Starts each backend at its first use, and stops all of them together."""

    def __init__(self) -> None:
        self._resources = ExitStack()
        self._running: dict[str, Backend] = {}
        self._missing: dict[str, str] = {}
        self._certificate: Certificate | None = None
        if "tls" in VIA:
            self._certificate = Certificate()
            self._resources.callback(self._certificate.close)
            trusted = str(self._certificate.path)
            self._resources.enter_context(environment(AWS_CA_BUNDLE=trusted, NODE_EXTRA_CA_CERTS=trusted))
        if "proxy" in VIA:
            proxy = self._resources.enter_context(forward_proxy())
            names = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
            self._resources.enter_context(environment(**dict.fromkeys(names, proxy.url), no_proxy="", NO_PROXY=""))

    def _started(self, name: str) -> str:
        """The URL of a server that now runs."""
        url = self._resources.enter_context(STARTERS[name]())
        if self._certificate is not None:
            url = self._resources.enter_context(tls_front(url, self._certificate))
        return url

    def get(self, name: str) -> Backend:
        """Give the running backend; skip the test where its server is not installed, but fail it with CI=true."""
        if name in self._running:
            return self._running[name]
        if name not in self._missing:
            try:
                backend = Backend(name, self._started(name))
            except ServerUnavailable as error:
                self._missing[name] = str(error)
            else:
                self._resources.callback(backend.close)
                self._running[name] = backend
                return backend
        if os.environ.get("CI") == "true":
            pytest.fail(self._missing[name], pytrace=False)
        pytest.skip(self._missing[name])

    def close(self) -> None:
        """Stop every server that was started."""
        self._resources.close()
