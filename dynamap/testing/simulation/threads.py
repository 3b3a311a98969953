"""Clients in threads of which only one ever runs: it hands the baton on whenever it is about to call the service."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from dynamap.drivers import SyncDriver
from dynamap.drivers.interceptor import Interceptor
from dynamap.drivers.sync import Threads
from dynamap.errors import RequestError
from dynamap.plan import Call, Plan, Reply, Ticket
from dynamap.testing.simulation.core import Abandoned, Client, Simulation

__all__ = ["ThreadDriver", "ThreadStage"]

R = TypeVar("R")

# real seconds without a step after which a client is taken for stuck
_PATIENCE = 30.0


class Strand:
    """One thread of a client: the client itself, or a plan that it has spawned."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        self.baton = threading.Lock()
        self.baton.acquire()
        self.thread: threading.Thread | None = None
        self.wakes: float | None = None
        self.waits_for: Sequence[Strand] = ()
        self.started = False
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None

    @property
    def ready(self) -> bool:
        """Whether it can go on."""
        return not self.waits_for or any(strand.done for strand in self.waits_for)


class ThreadStage:
    """Hands the baton from strand to strand as the schedule says."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self._strands: list[Strand] = []
        self._current: Strand | None = None
        self._last: Strand | None = None
        self._over = threading.Event()
        self._switches = 0
        self._started: list[threading.Thread] = []

    # ---- from outside

    def add(self, work: Callable[[], Any]) -> Strand:
        """Another strand; it runs up to its first call before anything else is chosen."""
        context = contextvars.copy_context()
        strand = Strand(lambda: context.run(work))
        self._strands.append(strand)
        return strand

    def run(self) -> None:
        """Run all strands to their end."""
        self._hand_on()
        seen = -1
        while not self._over.wait(_PATIENCE):
            if self._switches == seen:
                msg = (
                    f"a client did not come back within {_PATIENCE:g} s: clients of a bench wait for each other only "
                    f"through the store, never for locks or barriers"
                )
                self.simulation.fail(RuntimeError(msg))
                break
            seen = self._switches
        self._abandon()
        for thread in self._started:
            thread.join(_PATIENCE)

    # ---- from the strand that has the baton

    def pause(self, seconds: float | None = None) -> None:
        """Let others go first, if the schedule says so; with *seconds*, come back when that time has passed."""
        me = self._mine()
        if seconds is not None:
            me.wakes = self.simulation.world.elapsed + seconds
        self._switch(me)

    def wait_for(self, strands: Sequence[Strand]) -> None:
        """Come back when one of these is done."""
        me = self._mine()
        me.waits_for = strands
        self._switch(me)
        me.waits_for = ()

    def forget(self, strand: Strand) -> bool:
        """Drop a strand that has not begun; answers whether that was so."""
        if strand.started:
            return False
        self._strands.remove(strand)
        strand.done = True
        return True

    def _mine(self) -> Strand:
        if self.simulation.failure is not None:
            raise Abandoned
        me = self._current
        if me is None or me.thread is not threading.current_thread():
            msg = (
                "the store of a bench client is used from another thread: it belongs to the client's own function, "
                "which must not start threads"
            )
            raise RequestError(msg)
        return me

    def _switch(self, me: Strand) -> None:
        chosen = self._choose()
        if chosen is not me:
            self._give(chosen)
            me.baton.acquire()
        if self.simulation.failure is not None:
            raise Abandoned
        if me.wakes is not None:
            self.simulation.world.advance(max(0.0, me.wakes - self.simulation.world.elapsed))
            me.wakes = None

    def _choose(self) -> Strand | None:
        """The next strand: the first option is the one that made the last call, sleepers come last."""
        for strand in self._strands:
            if not strand.started:
                return strand
        ready = [strand for strand in self._strands if strand.ready]
        if not ready:
            return None
        if len(ready) > 1:
            last = self._last
            ready.sort(key=lambda strand: (strand.wakes is not None, strand.wakes or 0.0, strand is not last))
        self._last = ready[self.simulation.schedule.below(len(ready))]
        return self._last

    def _give(self, strand: Strand | None) -> None:
        self._switches += 1
        self._current = strand
        if strand is None:
            if self._strands:
                self.simulation.fail(RuntimeError("every client waits for another one: nobody can go on"))
            self._over.set()
        elif strand.started:
            strand.baton.release()
        else:
            strand.started = True
            strand.thread = threading.Thread(target=self._live, args=(strand,), daemon=True)
            self._started.append(strand.thread)
            strand.thread.start()

    def _hand_on(self) -> None:
        if self.simulation.failure is not None:
            self._current = None
            self._over.set()
        else:
            self._give(self._choose())

    def _live(self, strand: Strand) -> None:
        try:
            strand.result = strand.work()
        except BaseException as error:  # noqa: BLE001 - whoever joins it sees it
            strand.error = error
        strand.done = True
        self._strands.remove(strand)
        if strand is self._current:
            self._hand_on()

    def _abandon(self) -> None:
        """Let every strand that still waits end by Abandoned."""
        for strand in list(self._strands):
            if strand.started and strand.baton.locked():
                strand.baton.release()


class ThreadDriver(SyncDriver):
    """Runs the plans of one client of a simulation."""

    def __init__(
        self, stage: ThreadStage, client: Client, interceptors: Sequence[Interceptor] = ()
    ) -> None:  # the client below is the simulation's
        self._stage = stage
        self._performer = client
        self._interceptors = tuple(interceptors)
        self._sleep = stage.pause

    def intercepted(self, interceptor: Interceptor) -> ThreadDriver:
        """The same client behind one more interceptor."""
        return ThreadDriver(self._stage, self._performer, (*self._interceptors, interceptor))

    def client(self) -> Any:
        """There is no boto3 client. Raises RequestError."""
        msg = "a bench client has no boto3 client: its calls are made by the bench"
        raise RequestError(msg)

    def explain_client(self) -> str:
        """There is no client."""
        return "plain: the calls of a bench client are made by the bench"

    def close(self) -> None:
        """Nothing is open."""

    def _send(self, call: Call) -> Reply:
        self._performer.check_alive()
        self._stage.pause()
        return self._stage.simulation.step(self._performer, call).perform(call)

    def _threads(self) -> Threads:
        return _Spawned(self._stage)


class _Spawned(Threads):
    """Spawned plans as further strands of the client."""

    def __init__(self, stage: ThreadStage) -> None:
        super().__init__()
        self._stage = stage
        self._strands: dict[Ticket, Strand] = {}

    def spawn(self, run: Callable[[Plan[Any]], Any], plan: Plan[Any]) -> Ticket:
        ticket = Ticket()
        self._strands[ticket] = self._stage.add(lambda: run(plan))
        return ticket

    def join(self, tickets: Sequence[Ticket]) -> tuple[Ticket, Any]:
        strands = {ticket: self._strands[ticket] for ticket in tickets}
        self._stage.wait_for(list(strands.values()))
        done = [ticket for ticket, strand in strands.items() if strand.done]
        ticket = done[self._stage.simulation.schedule.below(len(done))]
        strand = self._strands.pop(ticket)
        if strand.error is not None:
            raise strand.error
        return ticket, strand.result

    def explain_client(self) -> str:
        """There is no client."""
        return "plain: the calls of a bench client are made by the bench"

    def close(self) -> None:
        running = [strand for strand in self._strands.values() if not self._stage.forget(strand)]
        self._strands.clear()
        while left := [strand for strand in running if not strand.done]:
            self._stage.wait_for(left)
