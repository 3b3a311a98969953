"""Ten thousand items through put_many and get_many, with a tenth of every request left undone, in threads and tasks."""

from __future__ import annotations

import asyncio
import gc
import itertools
import threading
import time
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

import dynamap
from dynamap import Async, BatchIncomplete, Store, Sync
from dynamap.plan import Call, CallFailed, Reply
from dynamap.store import intercepted
from dynamap.testing import memory_store, memory_store_async
from dynamap.testing.memory import MemoryEngine
from tests.batched import Batched, Note, notes
from tests.leaving import Leaving
from tests.modes import impatient

SHARE = 0.1


def keys(number: int) -> Iterator[dict[str, str]]:
    for each in range(number):
        yield {"id": str(each)}


def sync_store(engine: MemoryEngine | None = None) -> Store[Sync]:
    return impatient(memory_store(Batched, engine=engine))


def async_store(engine: MemoryEngine | None = None) -> Store[Async]:
    return impatient(memory_store_async(Batched, engine=engine))


@pytest.mark.slow
def test_ten_thousand_items_all_once_in_order() -> None:
    engine = MemoryEngine()
    leaving = Leaving(SHARE, seed=1)
    repository = intercepted(sync_store(engine), leaving).of(Note)
    repository.put_many(notes(10_000)).send()
    assert len(engine.items("batched")) == 10_000
    assert repository.get_many(keys(10_000)).send() == list(notes(10_000))
    assert list(repository.get_many(keys(10_000))) == list(notes(10_000))
    repository.delete_many(keys(9_999)).send()
    assert repository.get_many(keys(10_000)).send() == [*[None] * 9_999, Note("9999", "text 9999")]
    assert leaving.left > 4_000


@pytest.mark.slow
async def test_ten_thousand_items_all_once_in_order_in_asyncio() -> None:
    engine = MemoryEngine()
    repository = intercepted(async_store(engine), Leaving(SHARE, seed=2)).of(Note)
    await repository.put_many(notes(10_000)).send()
    assert await repository.get_many(keys(10_000)).send() == list(notes(10_000))
    assert [each async for each in repository.get_many(keys(10_000))] == list(notes(10_000))
    await repository.delete_many(keys(10_000)).send()
    assert engine.items("batched") == []


def test_replies_are_full_at_16_mb() -> None:
    engine = MemoryEngine()
    repository = sync_store(engine).of(Note)
    text = "x" * 350_000
    repository.put_many(Note(str(each), text) for each in range(60)).send()
    assert [None if each is None else each.id for each in repository.get_many(keys(61))] == [*map(str, range(60)), None]


# ---- memory


class Swallowing:
    """A service that keeps nothing: it takes every write, and makes up what is asked for."""

    def answer(self, call: Call) -> Reply:
        ((name, wanted),) = call.params["RequestItems"].items()
        if call.operation == "BatchWriteItem":
            return {"UnprocessedItems": {name: wanted[20:]} if len(wanted) > 20 else {}}
        items = [
            {**key, "_type": {"S": "NOTE"}, "id": {"S": key["pk"]["S"][5:]}, "text": {"S": "x" * 1000}}
            for key in wanted["Keys"]
        ]
        return {"Responses": {name: items}, "UnprocessedKeys": {}}


def peak_of(work: Any) -> int:
    """The most bytes that were held at once."""
    gc.collect()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_items() -> None:
    # a store over a function that answers, as those in memory are
    store = sync_store()
    driver: Any = store._runtime.driver
    driver._answer = Swallowing().answer
    repository = store.of(Note)

    def written(number: int) -> None:
        repository.put_many(Note(str(each), "x" * 1000) for each in range(number)).send()

    def read(number: int) -> None:
        assert sum(1 for _ in repository.get_many(keys(number))) == number

    for work in (written, read):
        work(500)
        few, many = peak_of(lambda work=work: work(1_000)), peak_of(lambda work=work: work(10_000))
        # what is in flight: 8 times 25 items, or 4 times 100
        assert many < few * 1.5, work.__name__
        assert many < 8_000_000, work.__name__


# ---- leaving early


class Slow:
    """Counts what is under way; the calls after the first one last until they are let go."""

    def __init__(self) -> None:
        self.begun = 0
        self.ended = 0
        self.gate = threading.Event()
        self._lock = threading.Lock()

    def before(self, call: Call, /) -> Call | None:
        with self._lock:
            self.begun += 1
            first = self.begun == 1
        if not first:
            assert self.gate.wait(10)
        return None

    def after(self, call: Call, outcome: Reply | CallFailed, /) -> Reply | None:
        with self._lock:
            self.ended += 1
        if call.operation == "BatchGetItem" and not isinstance(outcome, CallFailed):
            # something is always left out: only who waits asks again
            keys = call.params["RequestItems"]["batched"]["Keys"]
            if self.ended > 1 and len(keys) > 1:
                return {"Responses": {}, "UnprocessedKeys": {"batched": {"Keys": keys[1:]}}}
        return None


def test_a_loop_that_is_left_ends_what_is_under_way() -> None:
    slow = Slow()
    repository = intercepted(sync_store(), slow).of(Note)
    before = threading.active_count()
    answers = iter(repository.get_many({"id": str(each)} for each in itertools.count()))
    assert next(answers) is None
    closing = threading.Thread(target=answers.close)  # type: ignore[attr-defined]
    closing.start()
    slow.gate.set()
    closing.join(10)
    assert not closing.is_alive()
    assert slow.ended == slow.begun
    # the four first ones, and not the hundreds that would have been needed to read the rest
    assert slow.begun <= 8
    assert threading.active_count() == before


async def test_a_task_that_is_cancelled_ends_what_is_under_way() -> None:
    store = async_store()
    driver: Any = store._runtime.driver
    begun: list[Call] = []
    ended: list[Call] = []

    async def send(call: Call) -> Reply:
        begun.append(call)
        if len(begun) == 4:
            four.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(call)
        raise AssertionError

    driver._send = send
    for operation in (store.of(Note).put_many(notes(1_000)), store.of(Note).get_many(keys(1_000))):
        begun.clear()
        ended.clear()
        four = asyncio.Event()
        task = asyncio.ensure_future(operation.send())  # type: ignore[attr-defined]
        await four.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert begun
        assert len(ended) == len(begun)


async def test_an_asynchronous_loop_that_is_left_ends_what_is_under_way() -> None:
    store = async_store()
    answers = store.of(Note).get_many({"id": str(each)} for each in itertools.count()).__aiter__()
    assert await anext(answers) is None
    await answers.aclose()  # type: ignore[attr-defined]
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    assert others == []


def test_a_deadline_ends_a_batch_that_takes_too_long() -> None:
    repository = intercepted(memory_store(Batched), Leaving(0.9, seed=3)).of(Note)
    started = time.monotonic()
    with dynamap.deadline(0.2), pytest.raises(BatchIncomplete) as caught:
        repository.put_many(notes(10_000)).send()
    assert time.monotonic() - started < 5
    assert str(caught.value).endswith("the deadline is over; send what is in .left again")
