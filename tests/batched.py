"""The classes that are written and read in batches, and a service for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from dynamap import Key, Store, Sync, Table, entity
from dynamap.plan import Call
from dynamap.schema import create_params
from dynamap.testing.memory import MemoryEngine
from tests.fakes import NOW, numbered, store_of

__all__ = ["NOW", "Account", "Batched", "Cart", "Note", "Numbered", "Service", "Views", "notes"]


@entity("NOTE", pk="NOTE#{id}", sk="NOTE", frozen=True)
class Note:
    id: str
    text: str = ""
    data: bytes = b""


@entity("ACCOUNT", pk="ACCOUNT#{id}", sk="ACCOUNT", version="revision", frozen=True)
class Account:
    id: str
    balance: int = 0
    text: str = ""
    revision: int = 0


@entity("CART", pk="CART#{id}", sk="CART", ttl="expires", frozen=True)
class Cart:
    id: str
    expires: datetime | None = None


Batched = Table("batched", [Note, Account, Cart], ttl="ttl")


@entity("VIEWS", pk="{page}", frozen=True)
class Views:
    page: int
    count: int = 0


Numbered = Table("numbered", [Views], pk=Key("page", int), sk=None)


class Service:
    """A table in memory, and the stores that lead to it; *fail* may raise in the place of an answer."""

    def __init__(self, table: Table = Batched, fail: Callable[[Call], object] = lambda call: None) -> None:
        self.engine = MemoryEngine()
        self.engine.answer(Call("CreateTable", create_params(table, table.name)))
        self.store: Store[Sync] = store_of(table, clock=lambda: NOW, write_ids=numbered())
        self._fail = fail

    def __call__(self, call: Call) -> Any:
        """Answer a call."""
        self._fail(call)
        return self.engine.answer(call)


def notes(count: int, start: int = 0) -> Iterator[Note]:
    """So many notes, made as they are asked for."""
    for number in range(start, start + count):
        yield Note(str(number), f"text {number}")
