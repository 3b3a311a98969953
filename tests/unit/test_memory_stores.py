"""Stores in memory take what `connect` takes, and refuse what is no table."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

from dynamap import CallInfo, RequestError, Table, connect, connect_async, entity
from dynamap.testing import memory_store, memory_store_async

KEY = b"0123456789abcdef0123456789abcdef"


@entity("BOOK", pk="SHELF#{shelf}", sk="BOOK#{number:03}", frozen=True)
class Book:
    shelf: str
    number: int


Library = Table("library", [Book])
BOOKS = [Book("a", number) for number in range(3)]


def wait(awaited: Any) -> Any:
    async def waiting() -> Any:
        return await awaited

    return asyncio.run(waiting()) if inspect.isawaitable(awaited) else awaited


@pytest.mark.parametrize("made", [memory_store, memory_store_async], ids=["sync", "async"])
def test_pages_have_cursors(made: Any) -> None:
    books = made(Library, cursor_key=KEY).of(Book)
    wait(books.put_many(BOOKS).send())
    first = wait(books.query(shelf="a").limit(2).page().send())
    second = wait(books.query(shelf="a").limit(2).page(first.next).send())
    assert (first.items, second.items, second.next) == (BOOKS[:2], BOOKS[2:], None)


@pytest.mark.parametrize("made", [memory_store, memory_store_async], ids=["sync", "async"])
def test_calls_are_told_of(made: Any) -> None:
    seen: list[CallInfo] = []
    wait(made(Library, on_call=seen.append).of(Book).put(BOOKS[0]).send())
    assert [info.operation for info in seen] == ["PutItem"]


@pytest.mark.parametrize("made", [memory_store, memory_store_async, connect, connect_async])
@pytest.mark.parametrize(("given", "got"), [(Book, "the class Book"), ("library", "str"), (None, "NoneType")])
def test_a_store_is_of_a_table(made: Any, given: object, got: str) -> None:
    with pytest.raises(RequestError) as caught:
        made(given)
    assert str(caught.value) == (
        f"a store is of a Table, which names the classes in it, such as Table('books', [Book]); got {got}"
    )


def test_the_whole_message() -> None:
    with pytest.raises(RequestError) as caught:
        connect(Book)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert str(caught.value) == (
        "a store is of a Table, which names the classes in it, such as Table('books', [Book]); got the class Book"
    )
