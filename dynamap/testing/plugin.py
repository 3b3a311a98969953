"""Fixtures for pytest, there as soon as dynamap is installed: `dynamodb` and `bench`.

Neither moto nor boto3 is loaded before a test asks for them.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest

from dynamap.testing.bench import Bench
from dynamap.testing.embedded import embedded

__all__ = ["bench", "dynamodb"]


@pytest.fixture
def dynamodb() -> Generator[str, None, None]:
    """The endpoint URL of an empty DynamoDB in this process, which lasts as long as the test."""
    with embedded() as endpoint_url:
        yield endpoint_url


@pytest.fixture
def bench() -> type[Bench]:
    """The class `Bench`: `bench(table, faults=...)` makes one."""
    return Bench
