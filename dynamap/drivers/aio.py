"""Runs plans over an aiobotocore client; spawned plans run in tasks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from importlib import import_module
from typing import Any, TypeVar

from dynamap.drivers.clients import PLACEHOLDERS, ClientOptions, accept_async_client, client_arguments, placeholders_for
from dynamap.drivers.failures import describe, our_call
from dynamap.drivers.interceptor import Interceptor, method_of
from dynamap.errors import RequestError
from dynamap.plan import Call, CallFailed, Emit, Join, Plan, Reply, Sleep, Spawn, Ticket

__all__ = ["AsyncDriver"]

R = TypeVar("R")


class AsyncDriver:
    """One client, made at the first call unless it was given; it belongs to the event loop that made it."""

    def __init__(
        self,
        client: Any | ClientOptions,
        *,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        interceptors: Sequence[Interceptor] = (),
    ) -> None:
        self._given = client
        self._owned = isinstance(client, ClientOptions)
        self._client: Any = None if self._owned else accept_async_client(client)
        self._opening: asyncio.Lock | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stack = AsyncExitStack()
        self._sleep = sleep
        self._interceptors = tuple(interceptors)
        self._shared: AsyncDriver | None = None

    def intercepted(self, interceptor: Interceptor) -> AsyncDriver:
        """The same client behind one more interceptor; closing this driver leaves the client open."""
        driver = AsyncDriver(self._given, sleep=self._sleep, interceptors=(*self._interceptors, interceptor))
        driver._shared = self
        return driver

    async def client(self) -> Any:
        """The client, made now if there is none yet."""
        if self._shared is not None:
            return await self._shared.client()
        self._stay_in_loop()
        if self._client is None:
            if self._opening is None:
                self._opening = asyncio.Lock()
            async with self._opening:
                if self._client is None:
                    self._client = await self._make_client(self._given)
        return self._client

    async def _make_client(self, options: ClientOptions) -> Any:
        try:
            # an extra, loaded with the first client
            config, sessions = import_module("aiobotocore.config"), import_module("aiobotocore.session")
        except ImportError as error:
            msg = "connect_async needs aiobotocore: pip install 'dynamap[aio]'"
            raise ImportError(msg) from error
        session = sessions.get_session()
        arguments = client_arguments(options, session, config.AioConfig)
        if placeholders_for(options, session) and await session.get_credentials() is None:
            arguments |= PLACEHOLDERS
        return accept_async_client(await self._stack.enter_async_context(session.create_client(**arguments)))

    async def close(self) -> None:
        """Close a client that dynamap made; one that was given stays open."""
        if self._owned and self._client is not None:
            self._stay_in_loop()
            self._client = self._loop = self._opening = None
            await self._stack.aclose()

    def _stay_in_loop(self) -> None:
        """Raise RequestError in another event loop: connections do not work there, and a write would be half sent."""
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        elif self._loop is not loop:
            msg = (
                "this store was used in another event loop, and so its connections belong there: "
                "make one for each loop by connect_async(), or close it before the next loop begins"
            )
            raise RequestError(msg)

    async def run(self, plan: Plan[R]) -> R:
        """Run a plan to its end and answer its result; what it emits is dropped."""
        results: list[R] = []
        async for _ in self._steps(plan, results):
            pass
        return results[0]

    def iterate(self, plan: Plan[object]) -> AsyncGenerator[Sequence[Any], None]:
        """Run a plan and hand out what it emits; ends its spawned plans when it is closed early."""
        return self._steps(plan, [])

    async def _steps(self, plan: Plan[R], results: list[R]) -> AsyncGenerator[Sequence[Any], None]:
        tasks = _Tasks()
        reply: Any = None
        error: Exception | None = None
        try:
            while True:
                try:
                    command = plan.send(reply) if error is None else plan.throw(error)
                except StopIteration as stop:
                    results.append(stop.value)
                    return
                reply = error = None
                try:
                    if isinstance(command, Emit):
                        yield command.items
                    else:
                        reply = await self._do(command, tasks)
                except Exception as raised:  # noqa: BLE001 - the plan decides; cancellation passes through
                    error = raised
        finally:
            await tasks.close()
            plan.close()

    async def _do(self, command: Call | Sleep | Spawn | Join, tasks: _Tasks) -> Any:
        if isinstance(command, Call):
            return await self._call(command)
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
        client = await self.client()
        try:
            with our_call():
                reply: Reply = await getattr(client, method_of(call.operation))(**call.params)
        except Exception as error:
            raise describe(error) from error
        return reply


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
