"""The bench: clients of one table, interleaved and disturbed in every way that a schedule can say, and replayable."""

from __future__ import annotations

import inspect
import itertools
import uuid
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar, overload

from dynamap.backoff import TokenBucket, surrounded_by
from dynamap.drivers import ClientOptions
from dynamap.errors import DynamapError, ModelError, RequestError
from dynamap.markers import Sync
from dynamap.model import Table
from dynamap.operations import Runtime
from dynamap.plan import Item
from dynamap.store import Store
from dynamap.testing.faults import AnyFault, ClientCrashed
from dynamap.testing.memory import EngineDriver
from dynamap.testing.simulation.backends import Backend, MemoryBackend, ServerBackend, sorted_by_key
from dynamap.testing.simulation.clocks import Clocks, skewed_clock
from dynamap.testing.simulation.core import Abandoned, Client, Settings, Simulation, words_of
from dynamap.testing.simulation.records import Record
from dynamap.testing.simulation.schedules import Schedule
from dynamap.testing.simulation.tasks import TaskDriver, TaskStage
from dynamap.testing.simulation.threads import ThreadDriver, ThreadStage

__all__ = ["Bench", "Items", "Outcome", "Run", "ScheduleFailed"]

_performing: ContextVar[Client | None] = ContextVar("dynamap_bench_client", default=None)

M = TypeVar("M")
FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


class ScheduleFailed(AssertionError):
    """A schedule under which something did not hold; `record` says what happened, and replays it."""

    def __init__(self, message: str, record: Record) -> None:
        super().__init__(message, record)
        self.record = record

    def __str__(self) -> str:
        return f"{self.args[0]}\n\n{self.record}"


class Items(list[Item]):
    """Everything in the table, as raw items in the order of their keys."""

    def __init__(self, table: Table, items: Sequence[Item]) -> None:
        super().__init__(items)
        self._table = table

    def of(self, model: type[M], /) -> list[M]:
        """The items of one class, decoded. Raises ItemDecodeError for one that is damaged."""
        entity = self._table.entity(model)
        return [entity.decode(item) for item in self if entity.claims(item)]


@dataclass(frozen=True)
class Outcome:
    """How a client ended: with a result, with an error of dynamap, or by crashing."""

    result: Any = None
    error: DynamapError | None = None
    crashed: bool = False

    @property
    def returned(self) -> bool:
        """Whether its function came to its end."""
        return self.error is None and not self.crashed


@dataclass(frozen=True)
class Run:
    """What one schedule came to. *outcomes* are by the client's name; *items* stood in the table at the end."""

    outcomes: Mapping[str, Outcome]
    items: Items
    record: Record


@dataclass(frozen=True)
class _Part:
    """A function that is a client in every run."""

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    faults: Mapping[int, AnyFault]
    restarts: int


@dataclass
class _Scene:
    """A run while it lasts."""

    simulation: Simulation
    name: str
    outcomes: dict[str, Outcome] = field(default_factory=dict[str, Outcome])


class Bench:
    """Clients of one table, and what may happen to them.

    Each client is a function that takes a store of its own: all plain functions, or all coroutine functions. A run
    interleaves them call by call: only one of them runs at any time, and at each of its calls the schedule decides who
    goes on, and what goes wrong. The same schedule is the same run, to the last clock value and write id. Nothing
    sleeps: a pause lets time pass on the simulation's clock.

    *table* is made anew for each run: in memory, or on the server at *endpoint_url* or of *client*, a boto3 client.
    *faults* may strike at any call, at *fault_rate* of them, at most *most_faults* times in a run. *lag*: eventually
    consistent reads may be answered from a state that is up to so many writes old. *clocks*: what may be wrong with
    them. *reaper*: expired items may be deleted at any time, or never. *most_steps* ends a run that would not end.

    >>> from dynamap import Table, entity, F
    >>> @entity("VIEWS", pk="VIEWS#{page}", sk="VIEWS")
    ... class Views:
    ...     page: str
    ...     count: int = 0
    >>> bench = Bench(Table("site", [Views]))
    >>> @bench.setup
    ... def open_page(store):
    ...     store.of(Views).put(Views("home")).send()
    >>> @bench.client(count=3)
    ... def visit(store):
    ...     store.of(Views).update(page="home").add(F(Views.count), 1).send()
    >>> bench.run(1).items.of(Views)
    [Views(page='home', count=3)]
    """

    def __init__(
        self,
        table: Table,
        /,
        *,
        endpoint_url: str | None = None,
        client: Any = None,
        faults: Sequence[AnyFault] = (),
        fault_rate: float = 0.1,
        most_faults: int | None = None,
        lag: int = 0,
        clocks: Clocks | None = None,
        reaper: bool = True,
        most_steps: int = 10_000,
    ) -> None:
        if not 0 <= fault_rate <= 1:
            msg = f"fault_rate is the share of calls that a fault strikes, from 0 to 1; got {fault_rate!r}"
            raise RequestError(msg)
        self._table = table
        self._server = client if client is not None else ClientOptions(endpoint_url) if endpoint_url else None
        self._settings = Settings(tuple(faults), fault_rate, most_faults, lag, clocks or Clocks(), reaper, most_steps)
        self._parts: list[_Part] = []
        self._setups: list[Callable[..., Any]] = []
        self._invariants: list[Callable[[Items], object]] = []
        self._endings: list[Callable[[Run], object]] = []
        self._scene: _Scene | None = None

    # ---- what a run is made of

    def setup(self, function: FunctionT, /) -> FunctionT:
        """Call this before each run with an undisturbed `Store[Sync]`; a decorator."""
        self._setups.append(function)
        return function

    @overload
    def client(
        self,
        function: FunctionT,
        /,
        *args: Any,
        count: int = 1,
        name: str | None = None,
        faults: Mapping[int, AnyFault] | None = None,
        restarts: int = 0,
    ) -> FunctionT: ...
    @overload
    def client(
        self,
        function: None = None,
        /,
        *,
        count: int = 1,
        name: str | None = None,
        faults: Mapping[int, AnyFault] | None = None,
        restarts: int = 0,
    ) -> Callable[[FunctionT], FunctionT]: ...
    def client(
        self,
        function: Any = None,
        /,
        *args: Any,
        count: int = 1,
        name: str | None = None,
        faults: Mapping[int, AnyFault] | None = None,
        restarts: int = 0,
    ) -> Any:
        """Let *count* clients run this function, each with a store of its own and *args*; a decorator too.

        *faults* strike at the client's calls with these numbers, counted from 1, beside those of the schedule. After a
        crash the function is called again up to *restarts* times. An error of dynamap that leaves the function is an
        outcome; any other exception fails the run, and so does a RequestError or ModelError, which no race explains.
        """
        if function is None:
            return partial(self.client, count=count, name=name, faults=faults, restarts=restarts)
        if self._parts and _is_async(function) is not _is_async(self._parts[0].function):
            msg = "the clients of a bench are all plain functions or all coroutine functions: make two benches"
            raise RequestError(msg)
        base = str(getattr(function, "__name__", "client")) if name is None else name
        taken = {part.name for part in self._parts}
        numbered = (f"{base}-{number}" for number in itertools.count(1))
        free = itertools.chain([base] if count == 1 else [], numbered)
        for each in itertools.islice((each for each in free if each not in taken), count):
            self._parts.append(_Part(each, function, args, dict(faults or {}), restarts))
        return function

    def invariant(self, function: FunctionT, /) -> FunctionT:
        """Check this after every change of the table: it takes the `Items`, and raises or asserts; a decorator."""
        self._invariants.append(function)
        return function

    def afterwards(self, function: FunctionT, /) -> FunctionT:
        """Check this at the end of each run: it takes the `Run`, and raises or asserts; a decorator."""
        self._endings.append(function)
        return function

    def clock(self) -> float:
        """Epoch seconds on the wall clock of the client that asks; for code under test that takes a clock."""
        scene = self._scene
        client = _performing.get()
        if client is not None:
            return client.clock.wall()
        return scene.simulation.world.now if scene is not None else 0.0

    def monotonic(self) -> float:
        """Seconds on the clock of the client that asks that never jumps and also counts while it is suspended."""
        scene = self._scene
        client = _performing.get()
        if client is not None:
            return client.clock.elapsed()
        return scene.simulation.world.elapsed if scene is not None else 0.0

    # ---- runs

    def run(self, schedule: Schedule | int = 0, /) -> Run:
        """Run one schedule, or the random one of a seed. Raises ScheduleFailed where something does not hold."""
        if not self._parts:
            msg = "a bench without clients has nothing to run: add some by bench.client"
            raise RequestError(msg)
        chosen = Schedule.seeded(schedule) if isinstance(schedule, int) else schedule
        name = self._table.name if self._server is None else f"bench-{uuid.uuid4().hex}"
        with self._backend(name) as backend:
            simulation = Simulation(self._table, backend, chosen, self._settings)
            simulation.invariants = [self._checked(invariant) for invariant in self._invariants]
            scene = self._scene = _Scene(simulation, name)
            try:
                for setup in self._setups:
                    setup(self._undisturbed(scene))
                return self._play(scene)
            finally:
                self._scene = None

    def run_many(self, schedules: int, /, *, first_seed: int = 0) -> int:
        """Run so many random schedules; answers how many steps they had together. Raises ScheduleFailed."""
        return sum(len(self.run(seed).record.steps) for seed in range(first_seed, first_seed + schedules))

    def replay(self, record: Record | str, /) -> Run:
        """Run the schedule of a record, or of a text that holds one, such as the message of a ScheduleFailed."""
        return self.run(Schedule.parse(str(record)))

    # ---- inside of a run

    @contextmanager
    def _backend(self, name: str) -> Generator[Backend, None, None]:
        if self._server is None:
            yield MemoryBackend(self._table, name)
            return
        backend = ServerBackend(self._table, name, self._server)
        driver = EngineDriver(backend.send)
        store = Store[Sync](self._table, name, Runtime(driver, lambda: 0.0, lambda: "", route=(driver,)))
        store.create_table()
        try:
            yield backend
        finally:
            store.delete_table()
            backend.close()

    def _checked(self, invariant: Callable[[Items], object]) -> Callable[[list[Item]], object]:
        keys = [key.name for key in self._table.layout.keys]

        def check(items: list[Item]) -> object:
            return invariant(Items(self._table, sorted_by_key(items, keys)))

        check.__name__ = getattr(invariant, "__name__", "an invariant")
        return check

    def _undisturbed(self, scene: _Scene) -> Store[Sync]:
        simulation = scene.simulation
        ids = itertools.count(1)
        driver = EngineDriver(simulation.backend.send)
        runtime = Runtime(
            driver,
            lambda: simulation.world.now,
            lambda: f"setup.{next(ids)}",
            monotonic=lambda: simulation.world.elapsed,
            elapsed=lambda: simulation.world.elapsed,
            route=(driver,),
        )
        return Store(self._table, scene.name, runtime)

    def _play(self, scene: _Scene) -> Run:
        simulation = scene.simulation
        try:
            simulation.begin()
            if _is_async(self._parts[0].function):
                self._play_tasks(scene)
            else:
                self._play_threads(scene)
        except Abandoned:
            pass
        self._raise_failure(simulation)
        keys = [key.name for key in self._table.layout.keys]
        items = Items(self._table, sorted_by_key(simulation.backend.items(), keys))
        outcomes = {part.name: scene.outcomes[part.name] for part in self._parts}
        run = Run(outcomes, items, simulation.record)
        for ending in self._endings:
            try:
                ending(run)
            except Exception as error:  # noqa: BLE001 - whatever it raises is its verdict
                name = getattr(ending, "__name__", repr(ending))
                simulation.fail(AssertionError(f"{name} does not hold in the end: {words_of(error)}"))
                self._raise_failure(simulation, error)
        return run

    @staticmethod
    def _raise_failure(simulation: Simulation, cause: BaseException | None = None) -> None:
        failure = simulation.failure
        if failure is None:
            return
        if not isinstance(failure, Exception):
            raise failure
        words = str(failure) if isinstance(failure, AssertionError) else f"{type(failure).__name__}: {failure}"
        raise ScheduleFailed(words, simulation.record) from cause or failure.__cause__ or failure

    def _cast(self, scene: _Scene, part: _Part) -> Client:
        simulation = scene.simulation
        clock = skewed_clock(simulation.world, self._settings.clocks, simulation.schedule)
        seed = f"{simulation.schedule.seed} {part.name}"
        return Client(part.name, clock, seed, part.faults)

    def _store(self, scene: _Scene, client: Client, driver: Any) -> Store[Any]:
        runtime = Runtime(
            driver,
            client.clock.wall,
            client.write_id,
            monotonic=client.clock.monotonic,
            elapsed=client.clock.elapsed,
            random=client.random,
            bucket=TokenBucket(),
            route=(driver,),
        )
        return Store(self._table, scene.name, runtime)

    def _play_threads(self, scene: _Scene) -> None:
        stage = ThreadStage(scene.simulation)
        for part in self._parts:
            client = self._cast(scene, part)
            store = self._store(scene, client, ThreadDriver(stage, client))

            def work(part: _Part = part, client: Client = client, store: Store[Any] = store) -> None:
                _performing.set(client)
                with surrounded_by(client.surroundings(stage.pause)):
                    for left in range(part.restarts, -1, -1):
                        with self._ending(scene, client):
                            scene.outcomes[part.name] = Outcome(part.function(store, *part.args))
                        if not self._restarted(scene, client, left):
                            return

            stage.add(work)
        stage.run()

    def _play_tasks(self, scene: _Scene) -> None:
        stage = TaskStage(scene.simulation)
        for part in self._parts:
            client = self._cast(scene, part)
            store = self._store(scene, client, TaskDriver(stage, client))

            async def work(part: _Part = part, client: Client = client, store: Store[Any] = store) -> None:
                _performing.set(client)
                with surrounded_by(client.surroundings(_no_sleep)):
                    for left in range(part.restarts, -1, -1):
                        with self._ending(scene, client):
                            scene.outcomes[part.name] = Outcome(await part.function(store, *part.args))
                        if not self._restarted(scene, client, left):
                            return

            stage.add(work)
        stage.run()

    @contextmanager
    def _ending(self, scene: _Scene, client: Client) -> Generator[None, None, None]:
        """Note how a client's function ends, unless the run is over for all."""
        simulation = scene.simulation
        try:
            yield
        except Abandoned:
            raise
        except ClientCrashed:
            scene.outcomes[client.name] = Outcome(crashed=True)
        except BaseException as error:
            if isinstance(error, DynamapError) and not isinstance(error, (RequestError, ModelError)):
                scene.outcomes[client.name] = Outcome(error=error)
                simulation.note(client.name, "ends", outcome=type(error).__name__)
                return
            failure = AssertionError(f"{client.name} raised {type(error).__name__}: {error}")
            failure.__cause__ = error
            simulation.fail(failure)
            raise

    @staticmethod
    def _restarted(scene: _Scene, client: Client, left: int) -> bool:
        if not (client.crashed and left):
            return False
        client.crashed = False
        scene.simulation.note(client.name, "starts again")
        return True


def _no_sleep(_seconds: float) -> None:
    msg = "retry_on_conflict around a plain function cannot wait inside of a coroutine: make the function async"
    raise RequestError(msg)


def _is_async(function: Callable[..., Any]) -> bool:
    inner = inspect.unwrap(function)
    return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(function)
