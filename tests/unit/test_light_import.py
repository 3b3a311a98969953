"""`import dynamap` is light: no client library is loaded before a client is made."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("boto3", "botocore", "aiobotocore", "aiohttp", "moto", "hypothesis", "pytest", "opentelemetry", "urllib3")


def modules_after(code: str) -> set[str]:
    """The top-level modules that a fresh interpreter has loaded after this code."""
    script = f"{code}\nimport sys\nprint(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return {name.partition(".")[0] for name in done.stdout.split()}


@pytest.mark.parametrize(
    "code",
    [
        "import dynamap",
        "from dynamap import *",
        """
from dynamap import F, Table, connect, connect_async, entity
@entity("X", pk="X#{id}", sk="X", version="v")
class X:
    id: str
    n: int = 0
    v: int = 0
store = connect(Table("table", [X]), endpoint_url="http://127.0.0.1:9")
store.of(X).update(id="a").if_version(1).add(F(X.n), 1).params()
connect_async(Table("table", [X])).of(X).get(id="a").explain()
store.close()
""",
    ],
    ids=["import", "everything", "seeing requests"],
)
def test_no_client_library_is_loaded(code: str) -> None:
    assert modules_after(code).isdisjoint(HEAVY)


def test_a_sync_client_loads_no_asyncio_client() -> None:
    loaded = modules_after(
        """
from dynamap import Table, connect, entity
@entity("X", pk="X#{id}", sk="X")
class X:
    id: str
connect(Table("table", [X]), endpoint_url="http://127.0.0.1:9")._runtime.driver.client()
"""
    )
    assert "botocore" in loaded
    assert loaded.isdisjoint({"aiobotocore", "aiohttp", "boto3"})
