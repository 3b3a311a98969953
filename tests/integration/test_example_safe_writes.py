"""The first example: its promises on every backend, and that it fails where one does not hold."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from dynamap import Store, Sync
from examples import safe_writes
from examples.safe_writes import OPENING_BALANCE, WRITERS, Account, Figures, Jar, own_table, run_tasks, run_threads
from tests.backends import Backend
from tests.depth import how_many

ROOT = Path(__file__).parents[2]
DEPOSITS_EACH = how_many(quick=10, deep=50)
DEPOSITS = WRITERS * DEPOSITS_EACH


@pytest.fixture(autouse=True)
def local_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever AWS profile the developer has, the tests do not depend on it."""
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_DYNAMODB"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")


@pytest.fixture
def few_deposits(monkeypatch: pytest.MonkeyPatch) -> int:
    """A demo of two deposits for each writer, for what does not depend on how many there are; gives their sum."""
    monkeypatch.setattr(safe_writes, "DEPOSITS_EACH", 2)
    return 2 * WRITERS


@pytest.fixture
def deposits(monkeypatch: pytest.MonkeyPatch) -> int:
    """A demo of DEPOSITS deposits, which are all of its own in `make test-deep`; gives their number."""
    monkeypatch.setattr(safe_writes, "DEPOSITS_EACH", DEPOSITS_EACH)
    return DEPOSITS


@pytest.fixture
def store(backend: Backend) -> Iterator[Store[Sync]]:
    """The example's table on each backend in turn."""
    with own_table(backend.url) as made:
        yield made


class CountingExecutor(ThreadPoolExecutor):
    """An executor that counts what it is given to do."""

    submitted = 0

    def submit(self, *args: Any, **kwargs: Any) -> Future[Any]:
        """Count it, and do it."""
        self.submitted += 1
        return super().submit(*args, **kwargs)


async def run_tasks_on_the_loop(url: str, model: type[Any], owner: str) -> Figures:
    executor = CountingExecutor()
    asyncio.get_running_loop().set_default_executor(executor)
    figures = await run_tasks(url, model, owner)
    # aiobotocore reads the certificate authorities in a thread, once; no request goes through one.
    assert executor.submitted <= 1
    return figures


def run(mode: str, store: Store[Sync], url: str, model: type[Any]) -> Figures:
    if mode == "threads":
        return run_threads(store, model, mode)
    return asyncio.run(run_tasks_on_the_loop(url, model, mode))


MODES = pytest.mark.parametrize("mode", ["threads", "tasks"])


@pytest.mark.slow
@pytest.mark.deep
@MODES
def test_every_deposit_on_a_versioned_account_is_kept(
    mode: str, store: Store[Sync], backend: Backend, deposits: int
) -> None:
    figures = run(mode, store, backend.url, Account)
    assert figures.deposits == deposits
    assert figures.after == figures.before + deposits == OPENING_BALANCE + deposits
    # All eight read before the first of them writes, so seven of them are too late.
    assert figures.conflicts >= WRITERS - 1
    # The figures are not only the example's own account of itself.
    stored = store.of(Account).get(id=mode).required().send()
    assert stored.balance == figures.after


@pytest.mark.slow
@pytest.mark.deep
@MODES
def test_deposits_on_an_account_without_a_version_are_lost(
    mode: str, store: Store[Sync], backend: Backend, deposits: int
) -> None:
    figures = run(mode, store, backend.url, Jar)
    assert figures.deposits == deposits
    assert figures.conflicts == 0
    # The first eight all write the balance that each of them read.
    assert figures.lost >= WRITERS - 1
    assert store.of(Jar, consistent=True).get(id=mode).required().send().balance == figures.after


def test_an_unguarded_update_is_refused_and_changes_nothing(store: Store[Sync]) -> None:
    accounts = store.of(Account)
    account = accounts.put(Account("alice", Decimal(5))).send()
    refused = safe_writes.refuse_unguarded(store, "alice")
    assert "ignore_version" in str(refused)
    assert accounts.get(id="alice").send() == account


def test_keys_of_lookalike_inputs_differ(store: Store[Sync]) -> None:
    keys, texts = safe_writes.store_lookalikes(store)
    assert keys == ["DOCUMENT#ann#bob$23plans", "DOCUMENT#ann$23bob#plans"]
    assert texts == ["Ann's", "Bob's"]


def test_the_demo_runs_where_the_environment_points_and_leaves_other_tables_alone(
    backend: Backend,
    table_name: str,
    few_deposits: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    backend.client.create_table(
        TableName=table_name,
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    backend.client.get_waiter("table_exists").wait(TableName=table_name, WaiterConfig={"Delay": 1})
    before = backend.client.list_tables()["TableNames"]
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", backend.url)
    assert safe_writes.main() == 0
    said = capsys.readouterr().out
    assert f"DynamoDB at {backend.url}" in said
    assert f"the balance is {few_deposits} more, exactly" in said
    assert "UpdateItem on dynamap-demo-" in said
    assert "Everything held." in said
    assert backend.client.list_tables()["TableNames"] == before


@pytest.mark.deep
def test_the_demo_runs_as_a_program_on_an_embedded_engine() -> None:
    # with fewer deposits than it has by itself, as `make demo` runs it
    few = f"safe_writes.DEPOSITS_EACH = {DEPOSITS_EACH}"
    program = f"from examples import safe_writes; {few}; raise SystemExit(safe_writes.main())"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count(f"the balance is {DEPOSITS} more, exactly") == 2
    assert done.stdout.count("are lost, though each was answered with success") == 2
    assert done.stdout.endswith("Everything held.\n")


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        pytest.param({"after": Decimal(115)}, "the balance is 16 more, exactly", id="a deposit is missing"),
        pytest.param({"after": Decimal(117)}, "the balance is 16 more, exactly", id="a deposit counts twice"),
        pytest.param({"conflicts": 0}, "the writers did meet conflicts", id="no race"),
    ],
)
def test_the_demo_fails_if_a_promise_does_not_hold(
    embedded_backend: Backend,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    figures: dict[str, Any],
    words: str,
) -> None:
    held = Figures(deposits=16, conflicts=9, before=Decimal(100), after=Decimal(116))
    monkeypatch.setattr(safe_writes, "run_threads", lambda *_: replace(held, **figures))
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", embedded_backend.url)
    before = embedded_backend.client.list_tables()["TableNames"]
    assert safe_writes.main() == 1
    assert capsys.readouterr().err == f"FAILED, this does not hold: {words}\n"
    assert embedded_backend.client.list_tables()["TableNames"] == before


def test_the_demo_fails_if_nothing_is_lost_without_a_version(
    embedded_backend: Backend,
    few_deposits: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run_really = run_threads
    lucky = Figures(few_deposits, 0, OPENING_BALANCE, OPENING_BALANCE + few_deposits)
    monkeypatch.setattr(
        safe_writes,
        "run_threads",
        lambda store, model, owner: lucky if model is Jar else run_really(store, model, owner),
    )
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", embedded_backend.url)
    assert safe_writes.main() == 1
    assert "deposits are lost" in capsys.readouterr().err
