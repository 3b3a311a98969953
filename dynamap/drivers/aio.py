"""Runs plans over an aiobotocore client; spawned plans run in tasks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any, TypeVar

import msgspec

from dynamap.backoff import time_left
from dynamap.drivers.aio_sources import AsyncSource
from dynamap.drivers.clients import ClientOptions
from dynamap.drivers.failures import describe
from dynamap.drivers.interceptor import Interceptor, method_of
from dynamap.drivers.lane import LaneRefused, begin_call
from dynamap.drivers.waiting import in_seconds
from dynamap.outcomes import Verdict, judge
from dynamap.plan import Call, CallFailed, Emit, Join, Plan, Reached, Reply, Sleep, Spawn, Ticket

__all__ = ["AsyncDriver"]

R = TypeVar("R")


class AsyncDriver:
    """One client, made at the first call unless it was given; it belongs to the event loop that made it."""

    def __init__(
        self,
        client: Any | ClientOptions | AsyncSource,
        *,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        interceptors: Sequence[Interceptor] = (),
        lane: bool = False,
    ) -> None:
        self._closes = not isinstance(client, AsyncSource)
        self._source: AsyncSource = client if isinstance(client, AsyncSource) else AsyncSource(client, lane=lane)
        self._sleep = sleep
        self._interceptors = tuple(interceptors)

    def intercepted(self, interceptor: Interceptor) -> AsyncDriver:
        """The same client behind one more interceptor; closing this driver leaves the client open."""
        return AsyncDriver(self._source, sleep=self._sleep, interceptors=(*self._interceptors, interceptor))

    async def client(self) -> Any:
        """The client, made now if there is none yet."""
        return await self._source.get()

    def explain_client(self) -> str:
        """Which way the calls take through the client, and why."""
        return self._source.explain()

    async def close(self) -> None:
        """Close a client that dynamap made; one that was given stays open."""
        if self._closes:
            await self._source.close()

    async def run(self, plan: Plan[R]) -> R:
        """Run a plan to its end and answer its result; what it emits is dropped."""
        tasks = _Tasks()
        try:
            while isinstance(step := await self._step(plan, tasks), Emit):
                continue
            result: R = step.result
            return result
        finally:
            await tasks.close()
            plan.close()

    async def iterate(self, plan: Plan[object]) -> AsyncGenerator[Sequence[Any], None]:
        """Run a plan and hand out what it emits; ends its spawned plans when it is closed early."""
        tasks = _Tasks()
        try:
            while isinstance(step := await self._step(plan, tasks), Emit):
                yield step.items
        finally:
            await tasks.close()
            plan.close()

    async def _step(self, plan: Plan[Any], tasks: _Tasks) -> Emit | _Ended:
        """Run a plan to what it emits next, or to its end."""
        reply: Any = None
        error: Exception | None = None
        while True:
            try:
                command = plan.send(reply) if error is None else plan.throw(error)
            except StopIteration as stop:
                return _Ended(stop.value)
            reply = error = None
            try:
                if isinstance(command, Call):
                    reply = await self._call(command)
                elif isinstance(command, Emit):
                    return command
                else:
                    reply = await self._do(command, tasks)
            except Exception as raised:  # noqa: BLE001 - the plan decides; cancellation passes through
                error = raised

    async def _do(self, command: Sleep | Spawn | Join, tasks: _Tasks) -> Any:
        if isinstance(command, Sleep):
            await self._sleep(command.seconds)
            return None
        if isinstance(command, Spawn):
            return tasks.spawn(self.run(command.plan))
        return await tasks.join(command.tickets)

    async def _call(self, call: Call) -> Reply:
        for interceptor in self._interceptors:
            call = interceptor.before(call) or call
        try:
            reply = await self._send(call)
        except CallFailed as failed:
            for interceptor in self._interceptors:
                interceptor.after(call, failed)
            raise
        for interceptor in self._interceptors:
            changed = interceptor.after(call, reply)
            reply = reply if changed is None else changed
        return reply

    async def _send(self, call: Call) -> Reply:
        client = self._source.at_hand() if time_left() is None else None
        if client is None:
            client = await self._client_in_time()
        try:
            try:
                reply = await _ask(client, call, lane=self._source.lane)
            except LaneRefused:
                reply = await _ask(client, call, lane=False)
        except Exception as error:
            failed = describe(error)
            if judge(failed) is Verdict.CREDENTIALS:
                await self._source.renew(client)
            raise failed from error
        return reply

    async def _client_in_time(self) -> Any:
        try:
            return await _in_time(self.client())
        except _OverTime as error:
            msg = "the deadline ended before there was a client"
            raise CallFailed(Reached.NOTHING, type(error).__name__, msg) from error


async def _ask(client: Any, call: Call, *, lane: bool) -> Reply:
    with begin_call(client, call, lane=lane) as params:
        answer = getattr(client, method_of(call.operation))(**params)
        reply: Reply = await answer if time_left() is None else await _in_time(answer)
    return reply


class _OverTime(Exception):
    """The deadline ended while something was awaited."""


async def _in_time(answer: Awaitable[R]) -> R:
    """What is awaited, given up when the enclosing deadline ends: the connection of a request is dropped then."""
    left = time_left()
    if left is None:
        return await answer
    try:
        return await in_seconds(answer, left)
    except asyncio.TimeoutError as error:
        msg = "the deadline ended before the answer came"
        raise _OverTime(msg) from error


class _Ended(msgspec.Struct, frozen=True):
    """A plan has come to its end."""

    result: Any


class _Tasks:
    """The plans that one plan has spawned."""

    def __init__(self) -> None:
        self._running: dict[Ticket, asyncio.Task[Any]] = {}

    def spawn(self, coroutine: Any) -> Ticket:
        ticket = Ticket()
        self._running[ticket] = asyncio.ensure_future(coroutine)
        return ticket

    async def join(self, tickets: Sequence[Ticket]) -> tuple[Ticket, Any]:
        done, _ = await asyncio.wait([self._running[t] for t in tickets], return_when=asyncio.FIRST_COMPLETED)
        first = next(ticket for ticket in tickets if self._running[ticket] in done)
        return first, self._running.pop(first).result()

    async def close(self) -> None:
        for task in self._running.values():
            task.cancel()
        if self._running:
            await asyncio.gather(*self._running.values(), return_exceptions=True)
