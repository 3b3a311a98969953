"""`import dynamap` is light: no client library is loaded before a client is made."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("boto3", "botocore", "aiobotocore", "aiohttp", "moto", "hypothesis", "pytest", "opentelemetry", "urllib3")


def loaded_after(code: str) -> set[str]:
    """What this code prints, and the modules that a fresh interpreter has loaded after it."""
    script = f"{code}\nimport sys\nprint(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.split())


def modules_after(code: str) -> set[str]:
    """The top-level ones."""
    return {name.partition(".")[0] for name in loaded_after(code)}


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


_ORDERS = """
from dynamap import F, Table, connect, entity
@entity("ORDER", pk="CUSTOMER#{customer}", sk="ORDER#{number}", version="revision")
class Order:
    customer: str
    number: str
    total: int = 0
    revision: int = 0
store = connect(Table("orders", [Order]), endpoint_url="http://127.0.0.1:9")
orders = store.of(Order)
"""


def test_who_never_awaits_loads_nothing_for_it() -> None:
    building = """
orders.get(customer="c", number="1").required().params()
orders.put(Order("c", "1", 5)).if_not_exists().params()
orders.update(customer="c", number="1").if_version(1).add(F(Order.total), 1).params()
orders.query(customer="c").params()
store.transact(orders.delete(customer="c", number="1").ignore_version()).params()
"""
    assert loaded_after(_ORDERS + building).isdisjoint({"asyncio", "cattrs", "dynamap.drivers.aio"})


def test_a_get_loads_no_other_operation() -> None:
    loaded = loaded_after(_ORDERS + "orders.get(customer='c', number='1').required().params()")
    assert "dynamap.operations.get" in loaded
    others = ("put", "update", "upsert", "query", "scan", "batch_get", "batch_write", "transact", "multi_query")
    assert loaded.isdisjoint({f"dynamap.operations.{name}" for name in others})


def test_a_get_that_is_sent_loads_no_asyncio() -> None:
    """All the way to the connection that is refused, with a client that dynamap makes."""
    sent = """
from dynamap import DynamapError, deadline
try:
    with deadline(0.2):
        orders.get(customer="c", number="1").send()
except DynamapError as error:
    print(type(error).__name__)
"""
    loaded = loaded_after(_ORDERS + sent)
    assert "DeadlineExceeded" in loaded
    assert "botocore.client" in loaded
    heavy = {
        "asyncio",
        "cattrs",
        "aiobotocore",
        "aiohttp",
        "boto3",
        "dynamap.drivers.aio",
        "dynamap.drivers.aio_sources",
    }
    assert loaded.isdisjoint(heavy)


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
