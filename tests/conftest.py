"""Fixtures of all tests, such as `backend`, `client`, `table_name` and `initialized`, and the marker `not_on`."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import botocore
import pytest

from tests.backends import BACKENDS, Backend, RunningBackends


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers."""
    config.addinivalue_line(
        "markers", "not_on(*names, reason): the backends that cannot run this test, and why they cannot."
    )
    config.addinivalue_line("markers", "deep: a property whose full number of examples is tried by `make test-deep`.")
    config.addinivalue_line("markers", "slow: takes more than a second; left out on the other interpreters.")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a `not_on` without a reason, or for a backend that does not exist."""
    for item in items:
        for marker in item.iter_markers("not_on"):
            unknown = [name for name in marker.args if name not in BACKENDS]
            if unknown or not marker.args:
                msg = f"{item.nodeid}: not_on takes names of {', '.join(BACKENDS)}, not {unknown}"
                raise pytest.UsageError(msg)
            if not str(marker.kwargs.get("reason") or "").strip():
                msg = f"{item.nodeid}: not_on({marker.args[0]!r}) needs reason="
                raise pytest.UsageError(msg)


@pytest.fixture(scope="session")
def running_backends() -> Iterator[RunningBackends]:
    """Servers of this worker, started when first asked for."""
    running = RunningBackends()
    yield running
    running.close()


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, running_backends: RunningBackends) -> Backend:
    """Each backend in turn, with `.name`, `.url` and `.client`; its tables live on: take `table_name` for a new one."""
    name: str = request.param
    for marker in request.node.iter_markers("not_on"):
        if name in marker.args:
            pytest.skip(f"not on {name}: {marker.kwargs['reason']}")
    return running_backends.get(name)


@pytest.fixture
def embedded_backend(running_backends: RunningBackends) -> Backend:
    """The embedded engine alone, for what does not depend on the server."""
    return running_backends.get("embedded")


@pytest.fixture
def client(backend: Backend) -> Any:
    """A low-level boto3 client of the backend."""
    return backend.client


@pytest.fixture
def table_name() -> str:
    """A table name that no other test has."""
    return f"test-{uuid.uuid4().hex}"


@pytest.fixture
def initialized() -> Iterator[Callable[[Callable[[Any], None]], None]]:
    """Registers initializers of sessions for the time of a test."""
    registered: list[Any] = []

    def register(initializer: Callable[[Any], None]) -> None:
        botocore.register_initializer(initializer)
        registered.append(initializer)

    yield register
    for initializer in registered:
        botocore.unregister_initializer(initializer)
