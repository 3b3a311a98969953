"""Fixtures of the integration tests: `mode`, and `raw`, a new table as other programs see it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.backends import Backend
from tests.modes import MODES, Mode, RawTable


@pytest.fixture(scope="session")
def running_modes() -> Iterator[dict[str, Mode]]:
    """Each mode once, with its event loop and clients."""
    modes = {name: Mode(name) for name in MODES}
    yield modes
    for mode in modes.values():
        mode.close()


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest, running_modes: dict[str, Mode]) -> Mode:
    """Both modes in turn."""
    name: str = request.param
    return running_modes[name]


@pytest.fixture
def raw(backend: Backend, client: Any, table_name: str) -> Iterator[RawTable]:
    """A new table with the keys pk and sk on the backend."""
    table = RawTable(client, table_name)
    table.create()
    yield table
    client.delete_table(TableName=table_name)
