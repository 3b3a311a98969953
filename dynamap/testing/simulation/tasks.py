"""Clients as tasks of an event loop whose time is the simulation's: when nothing else can run, the schedule decides."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from dynamap.drivers import AsyncDriver
from dynamap.drivers.interceptor import Interceptor
from dynamap.errors import RequestError
from dynamap.plan import Call, Reply
from dynamap.testing.simulation.core import Abandoned, Client, Simulation

__all__ = ["TaskDriver", "TaskStage"]


class _IdleSelector(selectors.BaseSelector):
    """Asks what to do whenever the loop would wait, and never waits itself."""

    def __init__(self, idle: Callable[[float | None], None]) -> None:
        self._inner = selectors.DefaultSelector()
        self._idle = idle

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._inner.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._inner.unregister(fileobj)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = self._inner.select(0)
        if not events and (timeout is None or timeout > 0):
            self._idle(timeout)
        return events

    def get_map(self) -> Any:
        return self._inner.get_map()

    def explain_client(self) -> str:
        """There is no client."""
        return "plain: the calls of a bench client are made by the bench"

    def close(self) -> None:
        self._inner.close()


class _Loop(asyncio.SelectorEventLoop):
    """An event loop on the simulation's time."""

    def __init__(self, simulation: Simulation, idle: Callable[[float | None], None]) -> None:
        self._simulation = simulation
        super().__init__(_IdleSelector(idle))

    def time(self) -> float:
        return self._simulation.world.elapsed


class TaskStage:
    """Lets one waiting call after the other be made as the schedule says."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self._waiting: list[tuple[Client, asyncio.Future[None]]] = []
        self._last: Client | None = None
        self._works: list[Callable[[], Coroutine[Any, Any, Any]]] = []

    def add(self, work: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        """Another client."""
        self._works.append(work)

    def run(self) -> None:
        """Run all clients to their end, in an event loop of their own. Raises RequestError inside of another loop."""
        if _is_inside_loop():
            msg = "a bench of async clients makes its own event loop: call run() from a plain function, not a coroutine"
            raise RequestError(msg)
        loop = _Loop(self.simulation, self._idle)
        try:
            tasks = [loop.create_task(work()) for work in self._works]
            try:
                loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            except Abandoned:
                self._end(loop)
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            loop.close()

    @staticmethod
    def _end(loop: asyncio.AbstractEventLoop) -> None:
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))

    async def pause(self, client: Client) -> None:
        """Wait until the schedule says that this client's call is next."""
        if self.simulation.failure is not None:
            raise Abandoned
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((client, turn))
        await turn
        self._last = client

    def _idle(self, timeout: float | None) -> None:
        """Nothing can run: let a waiting call be made, or time pass until the next timer. Raises Abandoned."""
        if self.simulation.failure is not None:
            raise Abandoned
        self._waiting = [(client, turn) for client, turn in self._waiting if not turn.done()]
        self._waiting.sort(key=lambda waiting: waiting[0] is not self._last)
        options = len(self._waiting) + (timeout is not None)
        if not options:
            self.simulation.fail(RuntimeError("every client waits for another one: nobody can go on"))
            raise Abandoned
        choice = self.simulation.schedule.below(options)
        if choice < len(self._waiting):
            _, turn = self._waiting.pop(choice)
            turn.set_result(None)
        else:
            self.simulation.world.advance(timeout or 0.0)


def _is_inside_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class TaskDriver(AsyncDriver):
    """Runs the plans of one client of a simulation."""

    def __init__(self, stage: TaskStage, client: Client, interceptors: Sequence[Interceptor] = ()) -> None:
        self._stage = stage
        self._performer = client
        self._interceptors = tuple(interceptors)
        self._sleep = asyncio.sleep

    def intercepted(self, interceptor: Interceptor) -> TaskDriver:
        """The same client behind one more interceptor."""
        return TaskDriver(self._stage, self._performer, (*self._interceptors, interceptor))

    async def client(self) -> Any:
        """There is no aiobotocore client. Raises RequestError."""
        msg = "a bench client has no aiobotocore client: its calls are made by the bench"
        raise RequestError(msg)

    def explain_client(self) -> str:
        """There is no client."""
        return "plain: the calls of a bench client are made by the bench"

    async def close(self) -> None:
        """Nothing is open."""

    async def _send(self, call: Call) -> Reply:
        self._performer.check_alive()
        await self._stage.pause(self._performer)
        return self._stage.simulation.step(self._performer, call).perform(call)
