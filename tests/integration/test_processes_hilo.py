"""Hi/lo ids of several real processes, of which one is killed, forked ones, threads, and tasks that are cancelled."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from dynamap import Table
from dynamap.testing import memory_store, memory_store_async
from recipes import hilo
from recipes.aio import hilo as hilo_async
from tests.backends import Backend, RunningBackends
from tests.depth import how_many
from tests.recipe_processes import ids, numbers_in, running, store_at, take_ids

ROOT = Path(__file__).parents[2]
SIZES = (50, 20, 70, 50)


@pytest.mark.slow
@pytest.mark.deep
@pytest.mark.parametrize("name", ["ministack", "roto"])
def test_ids_of_processes_are_distinct_though_one_is_killed(
    name: str, running_backends: RunningBackends, table_name: str, tmp_path: Path
) -> None:
    url = running_backends.get(name).url
    store = store_at(url, ids(table_name))
    store.create_table()
    assert hilo.create(store, "order", floor=1000)
    each = how_many(quick=1000, deep=5000)
    paths = [tmp_path / str(number) for number in range(len(SIZES))]
    receiver, sender = get_context("spawn").Pipe(duplex=False)
    arguments = [
        (url, table_name, size, each, path, sender if path is paths[0] else None)
        for size, path in zip(SIZES, paths, strict=True)
    ]
    with running(take_ids, arguments) as (victim, *others):
        assert receiver.recv() == "begun"
        victim.kill()
        victim.join()
        left = each - len(numbers_in(paths[0]))
        again = tmp_path / "again"
        with running(take_ids, [(url, table_name, SIZES[0], left, again, None)] if left else []) as restarted:
            for process in (*others, *restarted):
                process.join()
                assert process.exitcode == 0
    receiver.close()
    sender.close()
    numbers = [number for path in (*paths, again) if path.exists() for number in numbers_in(path)]
    assert len(numbers) == len(set(numbers)) == len(SIZES) * each
    block = store.of(hilo.HiLoBlock).get(name="order").required().strongly_consistent().send()
    assert 1000 < min(numbers) <= max(numbers) <= block.high
    assert block.high - 1000 - len(numbers) <= sum(SIZES) + SIZES[0]
    store.delete_table()
    store.close()


FORKS = """
    import os, sys, threading
    from dynamap import connect
    from recipes.hilo import HiLo, create
    from tests.recipe_processes import ids

    store = connect(ids(sys.argv[2]), endpoint_url=sys.argv[1])
    store.create_table()
    create(store, "order")
    allocator = HiLo(store, "order", 10)
    numbers = [allocator.next() for _ in range(4)]
    children = []
    # a thread may hold the lock while the process is forked
    allocator._block.lock.acquire()
    for _ in range(3):
        receiver, sender = os.pipe()
        if os.fork() == 0:
            children, numbers = [], [allocator.next() for _ in range(25)]
            os.write(sender, " ".join(map(str, numbers)).encode())
            os._exit(0)
        os.close(sender)
        children.append(receiver)
    allocator._block.lock.release()
    numbers += [allocator.next() for _ in range(25)]
    for receiver in children:
        assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
        numbers += map(int, os.read(receiver, 10_000).split())
    store.delete_table()
    print(*numbers)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")
def test_forked_processes_share_no_block(embedded_backend: Backend, table_name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FORKS), embedded_backend.url, table_name],
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
    numbers = [int(number) for number in done.stdout.split()]
    assert len(numbers) == len(set(numbers)) == 4 + 4 * 25
    # the parent goes on with the block that it had
    assert numbers[:10] == list(range(1, 11))


def test_threads_share_blocks_without_a_gap() -> None:
    store = memory_store(Table("ids", [hilo.HiLoBlock]))
    hilo.create(store, "order")
    allocator = hilo.HiLo(store, "order", 7)

    def take(_: int) -> list[int]:
        return [allocator.next() for _ in range(70)]

    with ThreadPoolExecutor(32) as threads:
        taken = list(threads.map(take, range(32)))
    assert sorted(number for numbers in taken for number in numbers) == list(range(1, 32 * 70 + 1))
    assert all(numbers == sorted(numbers) for numbers in taken)


@pytest.mark.parametrize("applied", [False, True])
async def test_a_cancelled_task_loses_at_most_a_block(applied: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    store = memory_store_async(Table("ids", [hilo_async.HiLoBlock]))
    await hilo_async.create(store, "order")
    allocator = hilo_async.HiLo(store, "order", 10)
    reached, claim = asyncio.Event(), allocator._claim

    async def held() -> int:
        """A claim that never comes back, before or after it is stored."""
        if applied:
            await claim()
        reached.set()
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(allocator, "_claim", held)
    first = asyncio.create_task(allocator.next())
    await reached.wait()
    waiters = [asyncio.create_task(allocator.next()) for _ in range(15)]
    # they wait for the lock, and one of them is cancelled there
    await asyncio.sleep(0)
    waiters[3].cancel()
    monkeypatch.setattr(allocator, "_claim", claim)
    first.cancel()
    numbers = await asyncio.gather(first, *waiters, return_exceptions=True)
    assert [position for position, each in enumerate(numbers) if isinstance(each, asyncio.CancelledError)] == [0, 4]
    begin = 11 if applied else 1
    assert [each for each in numbers if isinstance(each, int)] == list(range(begin, begin + 14))
    block = await store.of(hilo_async.HiLoBlock).get(name="order").required().send()
    assert block.high == begin + 19
