"""Runs plans over a boto3 or botocore client; spawned plans run in threads."""

from __future__ import annotations

import contextvars
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

from dynamap.drivers.clients import ClientOptions
from dynamap.drivers.failures import describe
from dynamap.drivers.interceptor import Interceptor, method_of
from dynamap.drivers.lane import LaneRefused, begin_call
from dynamap.drivers.sources import Source
from dynamap.outcomes import Verdict, judge
from dynamap.plan import Call, CallFailed, Join, Plan, Reply, Sleep, Spawn, Ticket

__all__ = ["SyncDriver", "Threads"]

R = TypeVar("R")

# a plan bounds what it has in flight; this only keeps a faulty one from exhausting the machine
_MOST_THREADS = 256


class SyncDriver:
    """One client, made at the first call unless it was given."""

    def __init__(
        self,
        client: Any | ClientOptions | Source,
        *,
        sleep: Callable[[float], object] = time.sleep,
        interceptors: Sequence[Interceptor] = (),
        lane: bool = False,
    ) -> None:
        self._closes = not isinstance(client, Source)
        self._source: Source = client if isinstance(client, Source) else Source(client, lane=lane)
        self._sleep = sleep
        self._interceptors = tuple(interceptors)

    def intercepted(self, interceptor: Interceptor) -> SyncDriver:
        """The same client behind one more interceptor; closing this driver leaves the client open."""
        return SyncDriver(self._source, sleep=self._sleep, interceptors=(*self._interceptors, interceptor))

    def client(self) -> Any:
        """The client, made now if there is none yet."""
        return self._source.get()

    def explain_client(self) -> str:
        """Which way the calls take through the client, and why."""
        return self._source.explain()

    def close(self) -> None:
        """Close a client that dynamap made; one that was given stays open."""
        if self._closes:
            self._source.close()

    def run(self, plan: Plan[R]) -> R:
        """Run a plan to its end and answer its result; what it emits is dropped."""
        steps = self.iterate(plan)
        while True:
            try:
                next(steps)
            except StopIteration as stop:
                result: R = stop.value
                return result

    def iterate(self, plan: Plan[R]) -> Generator[Sequence[Any], None, R]:
        """Run a plan and hand out what it emits; ends its spawned plans when it is closed early."""
        threads = self._threads()
        reply: Any = None
        error: Exception | None = None
        try:
            while True:
                try:
                    command = plan.send(reply) if error is None else plan.throw(error)
                except StopIteration as stop:
                    result: R = stop.value
                    return result
                reply = error = None
                try:
                    if isinstance(command, Call):
                        reply = self._call(command)
                    elif isinstance(command, Sleep):
                        self._sleep(command.seconds)
                    elif isinstance(command, Spawn):
                        reply = threads.spawn(self.run, command.plan)
                    elif isinstance(command, Join):
                        reply = threads.join(command.tickets)
                    else:
                        yield command.items
                except Exception as raised:  # noqa: BLE001 - the plan decides; what is no Exception passes through
                    error = raised
        finally:
            # the plan first: it may tell what it has spawned that nobody waits for it any more
            try:
                plan.close()
            finally:
                threads.close()

    def _call(self, call: Call) -> Reply:
        for interceptor in self._interceptors:
            call = interceptor.before(call) or call
        try:
            reply = self._send(call)
        except CallFailed as failed:
            for interceptor in self._interceptors:
                interceptor.after(call, failed)
            raise
        for interceptor in self._interceptors:
            changed = interceptor.after(call, reply)
            reply = reply if changed is None else changed
        return reply

    def _send(self, call: Call) -> Reply:
        client = self.client()
        try:
            try:
                reply = _ask(client, call, lane=self._source.lane)
            except LaneRefused:
                reply = _ask(client, call, lane=False)
        except Exception as error:
            failed = describe(error)
            if judge(failed) is Verdict.CREDENTIALS:
                self._source.renew(client)
            raise failed from error
        return reply

    def _threads(self) -> Threads:
        return Threads()


def _ask(client: Any, call: Call, *, lane: bool) -> Reply:
    with begin_call(client, call, lane=lane) as params:
        reply: Reply = getattr(client, method_of(call.operation))(**params)
    return reply


class Threads:
    """The plans that one plan has spawned."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._running: dict[Ticket, Future[Any]] = {}

    def spawn(self, run: Callable[[Plan[Any]], Any], plan: Plan[Any]) -> Ticket:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="dynamap")
        ticket = Ticket()
        self._running[ticket] = self._pool.submit(contextvars.copy_context().run, run, plan)
        return ticket

    def join(self, tickets: Sequence[Ticket]) -> tuple[Ticket, Any]:
        done, _ = wait([self._running[ticket] for ticket in tickets], return_when=FIRST_COMPLETED)
        first = next(ticket for ticket in tickets if self._running[ticket] in done)
        return first, self._running.pop(first).result()

    def close(self) -> None:
        for future in self._running.values():
            future.cancel()
        if self._pool is not None:
            self._pool.shutdown(wait=True)
