"""Proof of the transactional outbox: writers that commit events, relays that publish them, processes that end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from dynamap import Async, DynamapError, Store, Sync, Table, TransactionCanceled, entity, evolve, retry_on_conflict
from dynamap.plan import Call, CallFailed, Reply
from dynamap.store import intercepted
from dynamap.testing import Items, Run
from tests.proofs.framework import Mutant, Scenario, Stage, StagedBench

MOST_SWEEPS = 60


@entity("ORDER", pk="ORDER#{id}", sk="ORDER", version="revision")
class Order:
    """What the events tell of: `changes` says how many there must be."""

    id: str
    changes: int = 0
    revision: int = 0


class Killed(BaseException):
    """The process ends while it publishes."""


@dataclass
class Ledger:
    """What was committed and what was published, in the order in which it happened."""

    committed: dict[tuple[str, int], Any] = field(default_factory=dict[tuple[str, int], Any])
    committed_at: dict[str, float] = field(default_factory=dict[str, float])
    published: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    holder: str | None = None
    wrong: list[str] = field(default_factory=list[str])

    def clear(self) -> None:
        self.__init__()  # type: ignore[misc]

    def note(self, events: list[Any], leases: list[Any], now: float) -> None:
        for event in events:
            self.committed.setdefault((event.key, event.sequence), event)
            self.committed_at.setdefault(event.event_id, now)
        for lease in leases:
            self.holder = lease.holder

    def publish(self, event: Any, relay: Any) -> None:
        """Note what is published at this moment, and what is wrong with it: a relay would take an error for its own."""
        number = (event.key, event.sequence)
        known = self.committed.get(number)
        if known is None or (known.event_id, known.payload) != (event.event_id, event.payload):
            self.wrong.append(f"X3: {number} was never committed so")
        earlier = [each for each in self.committed if each[0] == event.key and each[1] < event.sequence]
        unpublished = [each for each in earlier if each not in self.published]
        if unpublished:
            self.wrong.append(f"X5: {number} is published before {unpublished}")
        if self.holder != relay._name:
            self.wrong.append(f"X7: {number} is published by {relay._name} while {self.holder} has the lease")
        self.published.append(number)


@dataclass
class Broker:
    """The publisher of one relay; *fail* says what goes wrong."""

    ledger: Ledger
    fail: Callable[[Any], None] | None = None
    relay: Any = None

    async def publish(self, event: Any, /) -> None:
        self.ledger.publish(event, self.relay)
        if self.fail is not None:
            self.fail(event)


class TornQueries:
    """Lets a query miss an event that was stored since this client's last call, but not a later one.

    DynamoDB reads the items of a query one after the other: what is stored meanwhile may be behind or before it.
    """

    def __init__(self, bench: StagedBench, ledger: Ledger) -> None:
        self._bench = bench
        self._ledger = ledger
        self._last = 0.0

    def before(self, call: Call, /) -> Call | None:
        if call.operation != "Query":
            return None
        return Call(call.operation, {**call.params, "Limit": call.params["Limit"] + 1})

    def after(self, call: Call, outcome: Reply | CallFailed, /) -> Reply | None:
        since, self._last = self._last, self._bench.monotonic()
        if call.operation != "Query" or isinstance(outcome, CallFailed):
            return None
        items = outcome["Items"]
        kept = items[:1]
        if len(items) > 1 and self._ledger.committed_at[items[0]["event_id"]["S"]] > since:
            kept = items[1:]
        answer = {**outcome, "Items": kept, "Count": len(kept), "ScannedCount": len(kept)}
        if len(kept) < len(items):
            answer["LastEvaluatedKey"] = {name: kept[-1][name] for name in ("pk", "sk")}
        return answer


def staged(recipe: ModuleType, stage: Stage, **options: Any) -> tuple[StagedBench, Ledger]:
    bench = stage.bench(Table("shop", [Order, recipe.OutboxEvent, recipe.OutboxLease]), **options)
    ledger = Ledger()

    @bench.setup
    def begin(store: Store[Sync]) -> None:
        ledger.clear()

    @bench.invariant
    def what_is_committed(items: Items) -> None:
        events = items.of(recipe.OutboxEvent)
        ledger.note(events, items.of(recipe.OutboxLease), bench.monotonic())
        for order in items.of(Order):
            told = sum(key == order.id for key, _ in ledger.committed)
            assert told == order.changes, f"X1: {order.id} changed {order.changes} times, and {told} events say so"

    @bench.afterwards
    def nothing_is_lost(run: Run) -> None:
        assert not ledger.wrong, ledger.wrong
        left = {(event.key, event.sequence) for event in run.items.of(recipe.OutboxEvent)}
        lost = [each for each in ledger.committed if each not in left and each not in ledger.published]
        assert not lost, f"X2: {lost} are gone, and were never published"

    return bench, ledger


def publishing(recipe: ModuleType, stage: Stage) -> StagedBench:
    """X1, X3, X4, X5: events that are committed while relays publish, with queries that are no snapshots."""
    bench, ledger = staged(recipe, stage, fault_rate=0.08)

    @bench.setup
    def make_an_order(store: Store[Sync]) -> None:
        store.of(Order).put(Order("a")).send()

    @retry_on_conflict(attempts=20)
    async def change(store: Store[Async], name: str) -> None:
        orders = store.of(Order)
        order = await orders.get(id=name).required().send()
        changed = orders.update(order).to(evolve(order, changes=order.changes + 1))
        event = recipe.record(store, name, order.revision, f"change {order.changes + 1}", buckets=1)
        await store.transact(changed, event).send()

    @bench.client(count=2)
    async def write(store: Store[Async]) -> None:
        for each in ("a", "a"):
            await change(store, each)

    @bench.client(count=2, restarts=1)
    async def relay(store: Store[Async]) -> None:
        broker = Broker(ledger)
        torn = intercepted(store, TornQueries(bench, ledger))
        broker.relay = recipe.Relay(torn, broker, lease=30.0, monotonic=bench.monotonic)
        for _ in range(3):
            await broker.relay.sweep(0)

    @bench.afterwards
    def a_lost_race_is_run_again(run: Run) -> None:
        errors = [outcome.error for outcome in run.outcomes.values()]
        assert not any(isinstance(error, TransactionCanceled) for error in errors), f"X1: {errors}"

    @bench.afterwards
    def each_once_but_for_faults(run: Run) -> None:
        struck = sum(bool(step.fault) for step in run.record.steps)
        counted = Counter(ledger.published)
        assert all(times <= 1 + struck for times in counted.values()), f"X4: {counted} with {struck} faults"

    return bench


def handing_over(recipe: ModuleType, stage: Stage) -> StagedBench:
    """X2, X7: whoever is left publishes everything, and nobody publishes while the lease is another's."""
    bench, ledger = staged(recipe, stage, fault_rate=0.06)

    @bench.setup
    def commit(store: Store[Sync]) -> None:
        for key, sequence in (("a", 0), ("a", 1)):
            recipe.record(store, key, sequence, "", buckets=1).send()

    @bench.client(count=2, restarts=1)
    async def relay(store: Store[Async]) -> None:
        broker = Broker(ledger)
        broker.relay = recipe.Relay(store, broker, attempts=1000, lease=0.014, monotonic=bench.monotonic)
        sweeps = 0
        while len(set(ledger.published)) < 2 and sweeps < MOST_SWEEPS:
            sweeps += 1
            try:
                await broker.relay.sweep(0)
            except DynamapError:
                continue
        await broker.relay.release(0)

    @bench.afterwards
    def everything_is_published(run: Run) -> None:
        if any(outcome.returned for outcome in run.outcomes.values()):
            missing = [each for each in ledger.committed if each not in ledger.published]
            assert not missing, f"X2: {missing} are never published"

    return bench


def poison(recipe: ModuleType, stage: Stage) -> StagedBench:  # noqa: C901 - one story
    """X6: an event that fails, or ends the process, is tried twice, parked and kept; other keys do not wait for it."""
    bench, ledger = staged(recipe, stage, fault_rate=0.08)
    # time passes while the lease is held by a process that is no more
    waits: list[float] = []
    killed: list[str] = []

    @bench.setup
    def commit(store: Store[Sync]) -> None:
        waits.clear()
        killed.clear()
        for key, sequence in (("a", 0), ("a", 1), ("b", 0), ("c", 0)):
            recipe.record(store, key, sequence, "", buckets=1).send()

    def monotonic() -> float:
        return bench.monotonic() + sum(waits)

    def fail(event: Any) -> None:
        if event.key == "a":
            raise Killed
        if event.key == "c" and ledger.published.count(("c", 0)) == 1:
            msg = "the recipient is busy"
            raise ConnectionError(msg)

    @bench.client(count=2, restarts=1)
    async def relay(store: Store[Async]) -> bool:
        """Sweep until nothing changes any more, if there is time for it."""
        broker = Broker(ledger, fail)
        for _ in range(12):
            if broker.relay is None:
                broker.relay = recipe.Relay(store, broker, attempts=2, monotonic=monotonic)
            if ledger.holder in killed:
                waits.append(40.0)
            try:
                swept = await broker.relay.sweep(0)
            except Killed:
                killed.append(broker.relay._name)
                broker.relay = None
            except DynamapError:
                continue
            else:
                if swept.complete and swept.parked and not swept.published and not swept.failed:
                    killed.append(broker.relay._name)
                    return True
        return False

    @bench.afterwards
    def it_is_parked_alone(run: Run) -> None:
        left = {(event.key, event.sequence): event for event in run.items.of(recipe.OutboxEvent)}
        assert ("a", 1) not in ledger.published, "X6: an event passes the parked one of its key"
        assert ledger.published.count(("a", 0)) <= 2, "X6: tried more often than it should be"
        assert list(left)[:2] == [("a", 0), ("a", 1)], "X6: what is parked is gone, or was passed"
        settled = any(outcome.returned and outcome.result for outcome in run.outcomes.values())
        if settled and not any(step.fault for step in run.record.steps):
            assert left[("a", 0)].attempts == 2, "X6: not tried often enough"
            assert list(left) == [("a", 0), ("a", 1)], "X6: others wait for the parked one"
            assert ledger.published.count(("c", 0)) == 2, "X2: what failed once is not tried again"

    return bench


def one_number(recipe: ModuleType, stage: Stage) -> StagedBench:
    """X1: two changes that give their events the same number, which is a mistake, are not both committed."""
    bench = stage.bench(Table("shop", [Order, recipe.OutboxEvent, recipe.OutboxLease]), fault_rate=0.3)

    async def write(store: Store[Async], name: str) -> None:
        order = store.of(Order).put(Order(name, 1)).if_not_exists()
        await store.transact(order, recipe.record(store, "shop", 1, name, buckets=1)).send()

    for each in ("a", "b", "c"):
        bench.client(write, each)

    @bench.invariant
    def an_event_for_each_order(items: Items) -> None:
        told = [event.payload for event in items.of(recipe.OutboxEvent)]
        stored = [order.id for order in items.of(Order)]
        assert told == stored, f"X1: events of {told} for {stored}"

    return bench


SCENARIOS: tuple[Scenario, ...] = (publishing, handing_over, poison, one_number)

_PUBLISH = "await self._publisher.publish(counted.stored)"
MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "X1",
        "an event replaces another",
        ".put(event)",
        ".upsert(bucket=event.bucket, key=key, sequence=sequence, part=part).ignore_version()"
        '.set_fields({"event_id": event.event_id, "payload": payload})',
        ("one_number",),
    ),
    Mutant("X2", "deleted before it is published", _PUBLISH, f"await self.discard(counted.stored); {_PUBLISH}"),
    Mutant("X2", "never back to the first key", "self._stopped_at.pop(bucket, None)", "self._stopped_at.get(bucket)"),
    Mutant(
        "X3",
        "what was not committed is told",
        "publish(counted.stored)",
        "publish(evolve(counted.stored, sequence=event.sequence + 1))",
    ),
    Mutant("X4", "not deleted", "await self.discard(counted.stored)", "swept.complete = False"),
    Mutant(
        "X5",
        "what the first query shows",
        "F(OutboxEvent.sequence).le(",
        "F(OutboxEvent.sequence).ge(",
        ("publishing",),
    ),
    Mutant("X6", "parked for good", "swept.parked.append(counted.seen)", "await self.discard(counted.seen)"),
    Mutant("X6", "tried once more", ".lt(self._attempts)", ".le(self._attempts)", ("poison",)),
    Mutant(
        "X6",
        "tries are not counted",
        ".add(F(OutboxEvent.attempts), 1)",
        ".add(F(OutboxEvent.attempts), 0)",
        ("poison",),
    ),
    Mutant(
        "X7",
        "the tail is published after the lease",
        "if self._monotonic() >= until:",
        "if until < 0:",
        ("handing_over",),
    ),
    Mutant("X7", "a live lease is taken", "* (1 + _DRIFT)", "* 0", ("handing_over",)),
    Mutant("X7", "a renewal is not seen", "if revision != lease.revision:", "if revision == 0:", ("handing_over",)),
    Mutant(
        "X7",
        "counted from when it was read",
        "until = self._monotonic() + self._seconds",
        "until = self._monotonic() + 3 * self._seconds",
        ("handing_over",),
    ),
)
