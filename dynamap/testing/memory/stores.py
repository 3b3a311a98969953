"""Stores over a table in memory, for tests that want nothing but speed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

from dynamap.drivers import AsyncDriver, SyncDriver
from dynamap.drivers.interceptor import Interceptor
from dynamap.errors import RequestError
from dynamap.markers import Async, Sync
from dynamap.model import Table
from dynamap.operations import CallInfo, cursor_keys
from dynamap.plan import Call, Reply
from dynamap.schema import create_params
from dynamap.store import Store, check_table, runtime_of
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

    def explain_client(self) -> str:
        """There is no client."""
        return "plain: a store in memory has no client"

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

    def explain_client(self) -> str:
        """There is no client."""
        return "plain: a store in memory has no client"

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
    on_call: Callable[[CallInfo], object] | None = None,
    cursor_key: bytes | Sequence[bytes] | None = None,
    cursor_max_age: float | None = None,
) -> Store[Sync]:
    """A store over a table in memory, which is there at once: no client, no server, microseconds for each call.

    Pass an *engine* to let several stores, of both modes too, see the same tables. The other arguments are those of
    `connect`.

    >>> from dynamap import Table, entity
    >>> @entity("NOTE", pk="NOTE#{id}", sk="NOTE")
    ... class Note:
    ...     id: str
    >>> notes = memory_store(Table("notes", [Note])).of(Note)
    >>> notes.put(Note("a")).send()
    Note(id='a')
    """
    check_table(table)
    keys = cursor_keys(cursor_key, cursor_max_age)
    made = _with_table(engine, table)
    driver = EngineDriver(made.answer)
    return Store(table, table.name, runtime_of(driver, clock, write_ids, on_call, keys, made))


def memory_store_async(
    table: Table,
    /,
    *,
    engine: MemoryEngine | None = None,
    clock: Callable[[], float] = time.time,
    write_ids: Callable[[], str] | None = None,
    on_call: Callable[[CallInfo], object] | None = None,
    cursor_key: bytes | Sequence[bytes] | None = None,
    cursor_max_age: float | None = None,
) -> Store[Async]:
    """The same for asyncio; the arguments are those of `memory_store`."""
    check_table(table)
    keys = cursor_keys(cursor_key, cursor_max_age)
    made = _with_table(engine, table)
    driver = AsyncEngineDriver(made.answer)
    return Store(table, table.name, runtime_of(driver, clock, write_ids, on_call, keys, made))


def _with_table(engine: MemoryEngine | None, table: Table) -> MemoryEngine:
    made = engine or MemoryEngine()
    if not made.has_table(table.name):
        made.answer(Call("CreateTable", create_params(table, table.name)))
    return made
