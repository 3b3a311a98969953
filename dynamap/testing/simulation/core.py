"""One run of a simulation, for both modes: what each step may bring, what is noted, and what is checked after it."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from dynamap.backoff import Surroundings
from dynamap.model import Table
from dynamap.plan import Call, CallFailed, Item, Reply
from dynamap.testing.faults import AnyFault, Cancellation, ClientCrashed, Strike, can_strike, fault_name
from dynamap.testing.memory import Snapshot
from dynamap.testing.simulation.backends import Backend, is_eventual_read, is_write
from dynamap.testing.simulation.clocks import ClientClock, Clocks, World
from dynamap.testing.simulation.records import Record, key_words, outcome_words, target_words
from dynamap.testing.simulation.schedules import Schedule

__all__ = ["Abandoned", "Client", "Settings", "Simulation", "Step", "words_of"]

# a call takes a moment, so that nothing happens at the same time
_CALL_SECONDS = 0.001
_REAP_ONE_IN = 6


class Abandoned(BaseException):
    """The run is over for another reason: raised in every client that has not ended."""


@dataclass(frozen=True)
class Settings:
    """What may happen in a run."""

    faults: Sequence[AnyFault] = ()
    fault_rate: float = 0.1
    most_faults: int | None = None
    lag: int = 0
    clocks: Clocks = field(default_factory=Clocks)
    reaper: bool = True
    most_steps: int = 10_000


@dataclass
class Client:
    """One client of a run: its clocks, and what is to go wrong at which of its calls."""

    name: str
    clock: ClientClock
    seed: str
    faults: Mapping[int, AnyFault] = field(default_factory=dict[int, AnyFault])
    calls: int = 0
    crashed: bool = False

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed).random  # noqa: S311 - it must be repeatable
        self._ids = 0

    def write_id(self) -> str:
        """A new write id, the same in every run of the schedule."""
        self._ids += 1
        return f"{self.name}.{self._ids}"

    def surroundings(self, sleep: Callable[[float], object]) -> Surroundings:
        """Its clock and chance for what has none of its own."""
        return Surroundings(self.clock.monotonic, self.random, sleep)

    def check_alive(self) -> None:
        """Raise ClientCrashed if it is no more."""
        if self.crashed:
            msg = f"{self.name} crashed before (injected)"
            raise ClientCrashed(msg)


def words_of(error: Exception) -> str:
    """What an exception says, or at least what it is."""
    return str(error) or type(error).__name__


class Simulation:
    """What the clients of one run share."""

    def __init__(self, table: Table, backend: Backend, schedule: Schedule, settings: Settings) -> None:
        self.backend = backend
        self.schedule = schedule
        self.settings = settings
        self.world = World()
        self.record = Record(schedule)
        self.failure: BaseException | None = None
        self.invariants: Sequence[Callable[[list[Item]], object]] = ()
        self.keys = tuple(key.name for key in table.layout.keys)
        self._table = table
        self._faults_left = settings.most_faults
        faults = len(settings.faults)
        self._quiet = round(faults * (1 - settings.fault_rate) / settings.fault_rate) if settings.fault_rate else 0
        self._history: list[Snapshot] = []
        self._applied: set[object] = set()
        self._checked = -1

    # ---- before and after everything

    def begin(self) -> None:
        """Check what the run begins with."""
        self.look("the beginning")

    def fail(self, error: BaseException) -> None:
        """End the run for this reason; only the first counts."""
        if self.failure is None:
            self.failure = error

    # ---- a step

    def step(self, client: Client, call: Call) -> Step:
        """A client is to make a call now. Raises Abandoned, ClientCrashed."""
        if self.failure is not None:
            raise Abandoned
        client.check_alive()
        if len(self.record.steps) >= self.settings.most_steps:
            msg = f"no end after {self.settings.most_steps} steps: is a client waiting for something that never comes?"
            self.fail(AssertionError(msg))
            raise Abandoned
        self.world.advance(_CALL_SECONDS)
        happened = client.clock.disturb(self.settings.clocks, self.schedule)
        if happened is not None:
            self.note(client.name, happened)
        self._reap(call.params.get("TableName"))
        client.calls += 1
        return Step(self, client, call, self._fault(client, call))

    def note(self, who: str, what: str, fault: str = "", outcome: str = "") -> None:
        """Add a line to the record."""
        self.record.add(self.world.elapsed, who, what, fault, outcome)

    def _fault(self, client: Client, call: Call) -> AnyFault | None:
        if client.calls in client.faults:
            return client.faults[client.calls]
        faults = self.settings.faults
        if not faults or not self.settings.fault_rate or self._faults_left == 0:
            return None
        choice = self.schedule.below(self._quiet + len(faults)) - self._quiet
        if choice < 0 or not can_strike(faults[choice], call):
            return None
        if isinstance(faults[choice], Cancellation) and call.params.get("ClientRequestToken") in self._applied:
            # the service recognises the token, and answers that all is well
            return None
        if self._faults_left is not None:
            self._faults_left -= 1
        return faults[choice]

    def applied(self, call: Call) -> None:
        """Note that a call was applied."""
        if "ClientRequestToken" in call.params:
            self._applied.add(call.params["ClientRequestToken"])

    # ---- the replica, the reaper and the checks

    def stale(self, call: Call) -> Snapshot | None:
        """The older state that an eventually consistent read is answered from; None for what stands now."""
        if not self.settings.lag or not is_eventual_read(call):
            return None
        if not self._history:
            return None
        back = self.schedule.below(min(self.settings.lag + 1, len(self._history)))
        return self._history[-1 - back] if back else None

    def _reap(self, table_name: str | None) -> None:
        """Perhaps delete an expired item, as DynamoDB does sooner or later."""
        ttl = self._table.layout.ttl
        if ttl is None or not self.settings.reaper or table_name is None:
            return
        expired = [item for item in self.backend.items() if float(item.get(ttl, {}).get("N", "inf")) <= self.world.now]
        if not expired or not self.schedule.one_in(_REAP_ONE_IN):
            return
        item = expired[self.schedule.below(len(expired))]
        key = {name: item[name] for name in self.keys}
        self.backend.send(Call("DeleteItem", {"TableName": table_name, "Key": key}))
        self.note("the TTL reaper", f"deletes {key_words(key, self.keys)}")
        self.look("the reaper")

    def look(self, who: str) -> None:
        """Check what stands in the table now, after *who*; the first failure ends the run. Raises Abandoned."""
        version = self.backend.version()
        if version == self._checked:
            return
        self._checked = version
        if self.settings.lag:
            snapshot = self.backend.snapshot()
            if not self._history or snapshot != self._history[-1]:
                self._history.append(snapshot)
        if not self.invariants:
            return
        items = self.backend.items()
        for invariant in self.invariants:
            try:
                invariant(items)
            except Exception as error:
                name = getattr(invariant, "__name__", repr(invariant))
                failure = AssertionError(f"{name} does not hold after {who}: {words_of(error)}")
                failure.__cause__ = error
                self.fail(failure)
                raise Abandoned from error


class Step:
    """One call of one client."""

    def __init__(self, simulation: Simulation, client: Client, call: Call, fault: AnyFault | None) -> None:
        self._simulation = simulation
        self._client = client
        self._what = target_words(call, simulation.keys)
        self._fault = "" if fault is None else fault_name(fault)
        self._strike = None if fault is None else Strike(fault)
        self._real: Reply | CallFailed | None = None

    def perform(self, call: Call) -> Reply:
        """Make the call. Raises what its client is to see: CallFailed, ClientCrashed, Abandoned."""
        simulation = self._simulation
        try:
            reply = self._struck(call)
        except BaseException as error:
            self._note(error)
            if isinstance(error, ClientCrashed):
                self._client.crashed = True
            raise
        else:
            self._note(reply)
        finally:
            if is_write(call):
                simulation.look(self._client.name)
        return reply

    def _struck(self, call: Call) -> Reply:
        strike = self._strike
        if strike is None:
            self._real = self._send(call)
        else:
            call = strike.before(call) or call
            self._real = self._send(call)
            changed = strike.after(call, self._real)
            if changed is not None:
                return changed
        if isinstance(self._real, CallFailed):
            raise self._real
        return self._real

    def _send(self, call: Call) -> Reply | CallFailed:
        simulation = self._simulation
        try:
            snapshot = simulation.stale(call)
            if snapshot is not None:
                self._fault = f"{self._fault}, stale" if self._fault else "stale"
                return simulation.backend.answer_from(snapshot, call)
            reply = simulation.backend.send(call)
        except CallFailed as failed:
            return failed
        simulation.applied(call)
        return reply

    def _note(self, outcome: Reply | BaseException) -> None:
        words = outcome_words(outcome)
        if self._real is not None and outcome is not self._real:
            words = f"{words} (really: {outcome_words(self._real)})"
        self._simulation.note(self._client.name, self._what, self._fault, words)
