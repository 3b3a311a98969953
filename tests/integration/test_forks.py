"""A store in a process that was forked: it answers for itself, not with its parent's connections."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.backends import Backend

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")

SCRIPT = """
    import os, sys
    from dynamap import F, Table, connect, entity

    @entity("ITEM", pk="ITEM#{id}", sk="ITEM")
    class Item:
        id: str
        count: int = 0

    store = connect(Table(sys.argv[2], [Item]), endpoint_url=sys.argv[1])
    store.create_table()
    items = store.of(Item)
    items.put(Item("a")).send()
    # the child may be made while another thread holds what guards the client
    store._runtime.driver._source._lock.acquire()
    child = os.fork()
    mine = "child" if child == 0 else "parent"
    if child:
        store._runtime.driver._source._lock.release()
    for number in range(100):
        items.upsert(id=mine).add(F(Item.count), 1).send()
        assert items.get(id=mine).required().strongly_consistent().send() == Item(mine, number + 1), mine
    if child == 0:
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert items.get(id="child").required().strongly_consistent().send().count == 100
    store.delete_table()
"""


def test_parent_and_child_read_their_own_answers(embedded_backend: Backend, table_name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), embedded_backend.url, table_name],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "AWS_ACCESS_KEY_ID": "local",
            "AWS_SECRET_ACCESS_KEY": "local",
            "AWS_DEFAULT_REGION": "us-east-1",
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
