"""How truncate is used, and what it leaves alone; copied along with the recipe."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from dynamap import Progress, RequestError, Store, Sync, Table, entity
from dynamap.testing import MemoryEngine, memory_store
from recipes.truncate import Anything, NotConfirmed, anything, truncate

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


def filled(engine: MemoryEngine) -> Store[Sync]:
    store = memory_store(Table("notes", [Draft, Page]), engine=engine)
    titles = [f"{number}" for number in range(COUNT)]
    store.of(Draft).put_many([Draft("a", title) for title in titles], unversioned=True).send()
    store.of(Page).put_many([Page("a", title) for title in titles]).send()
    return store


def test_one_type_goes_and_the_others_stay() -> None:
    store = filled(MemoryEngine())
    seen: list[Progress] = []
    deleted = truncate(store.of(Draft), confirm="notes", keys=DraftKey, page_size=20, progress=seen.append)
    assert deleted == COUNT
    assert store.of(Draft).scan().count().send() == 0
    assert store.of(Page).scan().count().send() == COUNT
    assert seen[-1].read == 2 * COUNT


def test_everything_in_the_table_goes() -> None:
    engine = MemoryEngine()
    store = filled(engine)
    whole = memory_store(anything("notes"), engine=engine)
    assert truncate(whole.of(Anything), confirm="notes", keys=Anything) == 2 * COUNT
    assert store.of(Page).scan().count().send() == 0


def test_nothing_goes_unless_the_table_is_named() -> None:
    store = filled(MemoryEngine())
    with pytest.raises(NotConfirmed, match="'notes', but 'note' was confirmed"):
        truncate(store.of(Draft), confirm="note")
    assert store.of(Draft).scan().count().send() == COUNT


def test_a_checkpoint_that_would_never_come_is_refused() -> None:
    store = filled(MemoryEngine())
    cursors: list[str] = []
    with pytest.raises(RequestError, match="cursor_key"):
        truncate(store.of(Draft), confirm="notes", page_size=20, checkpoint=cursors.append)
    assert store.of(Draft).scan().count().send() == COUNT
