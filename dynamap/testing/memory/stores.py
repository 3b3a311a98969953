"""Stores over a table in memory, for tests that want nothing but speed."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from dynamap.drivers import AsyncDriver, SyncDriver
from dynamap.drivers.interceptor import Interceptor
from dynamap.errors import RequestError
from dynamap.markers import Async, Sync
from dynamap.model import Table
from dynamap.operations import Runtime
from dynamap.plan import Call, Reply
from dynamap.schema import create_params
from dynamap.store import Store
from dynamap.testing.memory.engine import MemoryEngine

__all__ = ["EngineDriver", "memory_store", "memory_store_async"]

_Answer = Callable[[Call], Reply]
_NO_CLIENT = "a store in memory has no client"


class EngineDriver(SyncDriver):
    """Runs plans over a function that answers calls."""

    def __init__(self, answer: _Answer, interceptors: Sequence[Interceptor] = ()) -> None:
        self._answer = answer
        self._interceptors = tuple(interceptors)
        self._sleep = time.sleep

    def intercepted(self, interceptor: Interceptor) -> EngineDriver:
        """The same behind one more interceptor."""
        return EngineDriver(self._answer, (*self._interceptors, interceptor))

    def client(self) -> Any:
        """There is none. Raises RequestError."""
        raise RequestError(_NO_CLIENT)

    def close(self) -> None:
        """Nothing is open."""

    def _send(self, call: Call) -> Reply:
        return self._answer(call)


class AsyncEngineDriver(AsyncDriver):
    """The same for asyncio; calls are answered at once."""

    def __init__(self, answer: _Answer, interceptors: Sequence[Interceptor] = ()) -> None:
        self._answer = answer
        self._interceptors = tuple(interceptors)
        self._sleep = asyncio.sleep

    def intercepted(self, interceptor: Interceptor) -> AsyncEngineDriver:
        """The same behind one more interceptor."""
        return AsyncEngineDriver(self._answer, (*self._interceptors, interceptor))

    async def client(self) -> Any:
        """There is none. Raises RequestError."""
        raise RequestError(_NO_CLIENT)

    async def close(self) -> None:
        """Nothing is open."""

    async def _send(self, call: Call) -> Reply:
        return self._answer(call)


def memory_store(
    table: Table,
    /,
    *,
    engine: MemoryEngine | None = None,
    clock: Callable[[], float] = time.time,
    write_ids: Callable[[], str] | None = None,
) -> Store[Sync]:
    """A store over a table in memory, which is there at once: no client, no server, microseconds for each call.

    Pass an *engine* to let several stores, of both modes too, see the same tables. *clock* and *write_ids* are those of
    `connect`.

    >>> from dynamap import Table, entity
    >>> @entity("NOTE", pk="NOTE#{id}", sk="NOTE")
    ... class Note:
    ...     id: str
    >>> notes = memory_store(Table("notes", [Note])).of(Note)
    >>> notes.put(Note("a")).send()
    Note(id='a')
    """
    made = _with_table(engine, table)
    return Store(table, table.name, Runtime(EngineDriver(made.answer), clock, write_ids or _new_write_id))


def memory_store_async(
    table: Table,
    /,
    *,
    engine: MemoryEngine | None = None,
    clock: Callable[[], float] = time.time,
    write_ids: Callable[[], str] | None = None,
) -> Store[Async]:
    """The same for asyncio; the arguments are those of `memory_store`."""
    made = _with_table(engine, table)
    return Store(table, table.name, Runtime(AsyncEngineDriver(made.answer), clock, write_ids or _new_write_id))


def _with_table(engine: MemoryEngine | None, table: Table) -> MemoryEngine:
    made = engine or MemoryEngine()
    if not made.has_table(table.name):
        made.answer(Call("CreateTable", create_params(table, table.name)))
    return made


def _new_write_id() -> str:
    return uuid.uuid4().hex
