"""How truncate is used, and what it leaves alone; copied along with the recipe."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from dynamap import Async, Progress, RequestError, Store, Table, entity
from dynamap.testing import MemoryEngine, memory_store_async
from recipes.aio.truncate import Anything, NotConfirmed, anything, truncate

pytestmark = pytest.mark.asyncio  # asyncio only

COUNT = 30


@entity("DRAFT", pk="NOTEBOOK#{book}", sk="DRAFT#{title}", version="revision")
class Draft:
    """What is to go."""

    book: str
    title: str
    revision: int = 0


@entity("PAGE", pk="NOTEBOOK#{book}", sk="PAGE#{title}")
class Page:
    """What is to stay."""

    book: str
    title: str


@dataclass(frozen=True)
class DraftKey:
    """The key fields of a draft."""

    book: str
    title: str


async def filled(engine: MemoryEngine) -> Store[Async]:
    store = memory_store_async(Table("notes", [Draft, Page]), engine=engine)
    titles = [f"{number}" for number in range(COUNT)]
    await store.of(Draft).put_many([Draft("a", title) for title in titles], unversioned=True).send()
    await store.of(Page).put_many([Page("a", title) for title in titles]).send()
    return store


async def test_one_type_goes_and_the_others_stay() -> None:
    store = await filled(MemoryEngine())
    seen: list[Progress] = []
    deleted = await truncate(store.of(Draft), confirm="notes", keys=DraftKey, page_size=20, progress=seen.append)
    assert deleted == COUNT
    assert await store.of(Draft).scan().count().send() == 0
    assert await store.of(Page).scan().count().send() == COUNT
    assert seen[-1].read == 2 * COUNT


async def test_everything_in_the_table_goes() -> None:
    engine = MemoryEngine()
    store = await filled(engine)
    whole = memory_store_async(anything("notes"), engine=engine)
    assert await truncate(whole.of(Anything), confirm="notes", keys=Anything) == 2 * COUNT
    assert await store.of(Page).scan().count().send() == 0


async def test_nothing_goes_unless_the_table_is_named() -> None:
    store = await filled(MemoryEngine())
    with pytest.raises(NotConfirmed, match="'notes', but 'note' was confirmed"):
        await truncate(store.of(Draft), confirm="note")
    assert await store.of(Draft).scan().count().send() == COUNT


async def test_a_checkpoint_that_would_never_come_is_refused() -> None:
    store = await filled(MemoryEngine())
    cursors: list[str] = []
    with pytest.raises(RequestError, match="cursor_key"):
        await truncate(store.of(Draft), confirm="notes", page_size=20, checkpoint=cursors.append)
    assert await store.of(Draft).scan().count().send() == COUNT
