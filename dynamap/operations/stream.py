"""Results one by one as they arrive: `for` in one mode, `async for` in the other."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Sequence
from contextlib import aclosing, closing
from typing import Any, Generic, TypeVar, cast

from dynamap.markers import Async, D, Sync
from dynamap.operations.base import Scope
from dynamap.plan import Emit, Plan

__all__ = ["Stream", "gathered"]

M = TypeVar("M")
R = TypeVar("R")


class Stream(Generic[D, M]):
    """What can be iterated: with `for` over a store of `connect`, with `async for` over one of `connect_async`.

    Every loop sends anew. What arrives is handed out at once, and memory holds only what is under way. A loop that is
    left early ends what is under way.
    """

    _scope: Scope[Any]

    def _emitting(self) -> Generator[Any, Any, Any]:
        """The plan that emits what is iterated."""
        raise NotImplementedError

    def _iterated(self) -> Any:
        """What the driver makes of the plan: a generator in one mode, an asynchronous one in the other."""
        runtime = self._scope.runtime
        return runtime.driver.iterate(runtime.observed(self._emitting(), self._scope.subject))

    def __iter__(self: Stream[Sync, M]) -> Iterator[M]:
        steps: object = self._iterated()
        if not isinstance(steps, Generator):
            msg = f"{type(self).__name__} of an asynchronous store is iterated with `async for`, or `await ... .send()`"
            raise TypeError(msg)
        return _each(cast("Generator[Sequence[Any], Any, Any]", steps))

    def __aiter__(self: Stream[Async, M]) -> AsyncIterator[M]:
        steps: object = self._iterated()
        if not isinstance(steps, AsyncGenerator):
            msg = f"{type(self).__name__} of a synchronous store is iterated with `for`; connect_async() makes others"
            raise TypeError(msg)
        return _each_async(cast("AsyncGenerator[Sequence[Any], None]", steps))


def _each(steps: Generator[Sequence[Any], Any, Any]) -> Iterator[Any]:
    with closing(steps):
        for items in steps:
            yield from items


async def _each_async(steps: AsyncGenerator[Sequence[Any], None]) -> AsyncIterator[Any]:
    async with aclosing(steps):
        async for items in steps:
            for item in items:
                yield item


def gathered(plan: Plan[object], found: list[Any]) -> Plan[None]:
    """The same plan with nobody to emit to: what it emits is added to *found*."""
    reply: Any = None
    error: Exception | None = None
    try:
        while True:
            try:
                command = plan.send(reply) if error is None else plan.throw(error)
            except StopIteration:
                return
            reply = error = None
            if isinstance(command, Emit):
                found.extend(command.items)
                continue
            try:
                reply = yield command
            except Exception as raised:  # noqa: BLE001 - the plan decides
                error = raised
    finally:
        plan.close()
