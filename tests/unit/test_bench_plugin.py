"""The fixtures for pytest, in a pytest of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

TESTS = """
import sys
from dynamap import Table, connect, entity

LOADED = [name for name in ("moto", "boto3", "botocore", "hypothesis") if name in sys.modules]


@entity("NOTE", pk="NOTE#{id}", sk="NOTE")
class Note:
    id: str


Notes = Table("notes", [Note])


def test_nothing_heavy_is_loaded_at_the_start():
    assert LOADED == []


def test_dynamodb_is_an_empty_endpoint(dynamodb):
    with connect(Notes, endpoint_url=dynamodb) as store:
        store.create_table()
        store.of(Note).put(Note("a")).send()


def test_dynamodb_is_new_for_each_test(dynamodb):
    with connect(Notes, endpoint_url=dynamodb) as store:
        store.create_table()
        assert store.of(Note).get(id="a").send() is None


def test_bench_makes_benches(bench):
    made = bench(Notes)
    made.client(lambda store: store.of(Note).put(Note("a")).send())
    assert made.run(1).items.of(Note) == [Note("a")]
"""


@pytest.mark.slow
def test_the_fixtures_work_in_a_users_tests(tmp_path: Path) -> None:
    (tmp_path / "test_notes.py").write_text(TESTS, encoding="utf-8")
    installed = any(point.value == "dynamap.testing.plugin" for point in entry_points(group="pytest11"))
    plugin = [] if installed else ["-p", "dynamap.testing.plugin"]
    # other plugins of this environment load what a user's may not have
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", *plugin, "."],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "4 passed" in ran.stdout


def test_the_plugin_is_announced_under_its_modules_name() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert "[project.entry-points.pytest11]" in text
    assert '"dynamap.testing.plugin" = "dynamap.testing.plugin"' in text
