"""Truncate on every backend, in both modes: pages, cursors, expired, damaged and foreign items."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest

from dynamap import ItemDecodeError, RequestError, Table, entity
from recipes import truncate
from recipes.aio import truncate as truncate_async
from tests.backends import Backend
from tests.modes import Mode, RawTable

CURSOR_KEY = bytes(range(32))


@entity("DRAFT", pk="NOTEBOOK#{book}", sk="DRAFT#{number:04}", version="revision", ttl="expires", aliases=("SCRAP",))
class Draft:
    book: str
    number: int
    expires: int | None = None
    revision: int = 0


@entity("PAGE", pk="NOTEBOOK#{book}", sk="PAGE#{number:04}")
class Page:
    book: str
    number: int
    text: str = ""


@dataclass(frozen=True)
class DraftKey:
    book: str
    number: int


@pytest.fixture
def recipe(mode: Mode) -> ModuleType:
    return truncate_async if mode.is_async else truncate


def text(value: str) -> dict[str, Any]:
    return {"S": value}


def fill(raw: RawTable) -> None:
    """Items of two types, one that is expired, one with an older name, one that is damaged, one of nobody."""
    for number in range(12):
        raw.put(
            "NOTEBOOK#a", f"PAGE#{number:04}", _type=text("PAGE"), text=text("x" * 9), book=text("a"), number={"N": "1"}
        )
        own: dict[str, Any] = {"_type": text("DRAFT"), "book": text("a"), "number": {"N": str(number)}}
        if number == 3:
            own["ttl"] = {"N": "1"}
        if number == 5:
            own["_type"] = text("SCRAP")
        if number == 7:
            own["revision"] = text("seven")
        raw.put("NOTEBOOK#a", f"DRAFT#{number:04}", **own)
    raw.put("ALIEN", "ALIEN", what=text("ever"))


def left(raw: RawTable) -> list[str]:
    items = raw.client.scan(TableName=raw.name, ConsistentRead=True)["Items"]
    return sorted(item["sk"]["S"] for item in items)


OTHERS = ["ALIEN", *(f"PAGE#{number:04}" for number in range(12))]


@pytest.mark.parametrize("page_size", [1, 5, None])
def test_one_type_goes(mode: Mode, backend: Backend, raw: RawTable, recipe: ModuleType, page_size: int | None) -> None:
    fill(raw)
    store = mode.connect(Table(raw.name, [Draft, Page], ttl="ttl"), backend)

    def run() -> Any:
        return recipe.truncate(store.of(Draft), confirm=raw.name, keys=DraftKey, page_size=page_size)

    assert mode.call(run) == 12
    assert left(raw) == OTHERS
    assert mode.call(run) == 0


def test_what_cannot_be_read_needs_the_key_alone(
    mode: Mode, backend: Backend, raw: RawTable, recipe: ModuleType
) -> None:
    fill(raw)
    store = mode.connect(Table(raw.name, [Draft, Page], ttl="ttl"), backend)
    with pytest.raises(ItemDecodeError, match="revision"):
        mode.call(lambda: recipe.truncate(store.of(Draft), confirm=raw.name))
    with pytest.raises(recipe.NotConfirmed):
        mode.call(lambda: recipe.truncate(store.of(Draft), confirm=raw.name[:-1], keys=DraftKey))
    assert "PAGE#0000" in left(raw)


def test_everything_goes(mode: Mode, backend: Backend, raw: RawTable, recipe: ModuleType) -> None:
    fill(raw)
    whole = mode.connect(recipe.anything(raw.name), backend).of(recipe.Anything)
    assert mode.call(lambda: recipe.truncate(whole, confirm=raw.name, keys=recipe.Anything)) == 25
    assert left(raw) == []


def test_it_goes_on_where_it_ended(mode: Mode, backend: Backend, raw: RawTable, recipe: ModuleType) -> None:
    fill(raw)
    store = mode.connect(Table(raw.name, [Draft, Page], ttl="ttl"), backend, cursor_key=CURSOR_KEY)
    cursors: list[str] = []

    def note(cursor: str) -> None:
        cursors.append(cursor)
        if len(cursors) == 2:
            raise InterruptedError

    options: dict[str, Any] = {"confirm": raw.name, "keys": DraftKey, "page_size": 3}
    with pytest.raises(InterruptedError):
        mode.call(lambda: recipe.truncate(store.of(Draft), checkpoint=note, **options))
    # an item that was written behind the cursor is not looked for
    gone = 12 - sum(name.startswith("DRAFT") for name in left(raw))
    assert 0 < gone < 12
    assert mode.call(lambda: recipe.truncate(store.of(Draft), resume=cursors[-1], **options)) == 12 - gone
    assert left(raw) == OTHERS
    without = mode.connect(Table(raw.name, [Draft, Page], ttl="ttl"), backend)
    with pytest.raises(RequestError, match="cursor_key"):
        mode.call(lambda: recipe.truncate(without.of(Draft), resume=cursors[-1], **options))
