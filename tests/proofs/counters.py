"""Proof of the counters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from types import ModuleType
from typing import Any

from dynamap import Async, ItemNotFound, Store, Sync, Table
from dynamap.testing import Clocks, Items, Run
from tests.proofs.framework import Mutant, Scenario, Stage, StagedBench

# the simulation's time begins here
NOW = datetime.fromtimestamp(1_700_000_000, timezone.utc)


@dataclass
class Story:
    """What was begun, and what the clients were told about it."""

    begun: list[Any] = field(default_factory=list[Any])
    told: list[Any] = field(default_factory=list[Any])

    def clear(self) -> None:
        self.begun.clear()
        self.told.clear()


def is_quiet(run: Run) -> bool:
    return not any(step.fault for step in run.record.steps)


DIGITS = ((1, 10), (100, 1000), (10_000,))
"""Each is a digit of its own, so that a sum says which of them are in it, and how often."""


def additions(
    recipe: ModuleType, stage: Stage, when_lost: str, shares: Sequence[Sequence[Decimal | int]] = DIGITS
) -> tuple[StagedBench, Story]:
    """Three clients that add different amounts; the story has the amounts begun, and (amount, answer)."""
    bench = stage.bench(Table("site", [recipe.Counter]), fault_rate=0.3)
    story = Story()

    @bench.setup
    def begin(store: Store[Sync]) -> None:
        story.clear()

    async def count(store: Store[Async], amounts: Sequence[Decimal | int]) -> None:
        for amount in amounts:
            story.begun.append(amount)
            answer = await recipe.add(store.of(recipe.Counter), "home", amount, when_lost=when_lost)
            story.told.append((amount, answer))

    for amounts in shares:
        bench.client(count, amounts)
    return bench, story


def value_of(recipe: ModuleType, items: Items) -> Decimal:
    return sum((counter.value for counter in items.of(recipe.Counter)), Decimal(0))


def at_most_once(recipe: ModuleType, stage: Stage) -> StagedBench:
    """C1, C4: acknowledged <= value <= begun, no call counts twice, and all answers differ."""
    bench, story = additions(recipe, stage, "at_most_once")

    @bench.afterwards
    def nothing_counts_twice(run: Run) -> None:
        digits = {amount: int(value_of(recipe, run.items)) // amount % 10 for amount in story.begun}
        acknowledged = [amount for amount, _ in story.told]
        assert sum(digit * amount for amount, digit in digits.items()) == value_of(recipe, run.items), "C1: another's"
        assert all(digit <= 1 for digit in digits.values()), f"C1: counted twice: {digits}"
        assert all(digits[amount] == 1 for amount in acknowledged), f"C1: acknowledged and not there: {digits}"
        answers = [answer for _, answer in story.told]
        assert len(set(answers)) == len(answers), f"C4: {answers}"
        assert not is_quiet(run) or len(acknowledged) == 5, "C1: refused without a fault"

    return bench


def at_least_once(recipe: ModuleType, stage: Stage) -> StagedBench:
    """C1, C4: acknowledged <= value, each request counts at most once, and all answers differ."""
    bench, story = additions(recipe, stage, "at_least_once")

    @bench.afterwards
    def nothing_is_missing(run: Run) -> None:
        value = value_of(recipe, run.items)
        assert value >= sum(amount for amount, _ in story.told), f"C1: {value} for {story.told}"
        requests = [step for step in run.record.steps if step.what.startswith("UpdateItem") and step.outcome]
        # every addition is of at least 1, so the sum of the digits counts the requests that were applied
        assert sum(map(int, str(value))) <= len(requests), f"C1: {value} by {len(requests)} requests"
        answers = [answer for _, answer in story.told]
        assert len(set(answers)) == len(answers), f"C4: {answers}"
        lost = [each.error for each in run.outcomes.values() if each.error is not None]
        assert not (is_quiet(run) and lost), f"without a fault: {lost}"

    return bench


def exact(recipe: ModuleType, stage: Stage) -> StagedBench:
    """C6: tenths, nothing, and less than nothing; of those whose answers were lost some are in the sum."""
    shares = ((Decimal("0.1"), Decimal(0)), (Decimal("0.2"), Decimal("-0.3")), (Decimal("0.7"), Decimal("0.1")))
    bench, story = additions(recipe, stage, "at_most_once", shares)

    @bench.afterwards
    def amounts_are_exact(run: Run) -> None:
        value, unknown = value_of(recipe, run.items), list(story.begun)
        for amount, _ in story.told:
            unknown.remove(amount)
        possible = {sum((amount for amount, _ in story.told), Decimal(0))}
        for amount in unknown:
            possible |= {total + amount for total in possible}
        assert value in possible, f"C6: {value}, not one of {sorted(possible)}"

    return bench


def bounded(recipe: ModuleType, stage: Stage) -> StagedBench:
    """C5: the stock never falls below 0, and what was granted is gone exactly once."""
    bench = stage.bench(Table("shop", [recipe.Stock]), fault_rate=0.3)
    story = Story()

    @bench.setup
    def begin(store: Store[Sync]) -> None:
        story.clear()
        store.of(recipe.Stock).put(recipe.Stock("ticket", 5)).send()

    async def take(store: Store[Async], wishes: Sequence[int]) -> None:
        for units in wishes:
            story.begun.append(units)
            left = await recipe.take(store.of(recipe.Stock), "ticket", units)
            story.told.append((units, left))

    for wishes in ((2, 1), (3,), (2, 1)):
        bench.client(take, wishes)

    @bench.invariant
    def never_below_nothing(items: Items) -> None:
        assert all(stock.left >= 0 for stock in items.of(recipe.Stock)), "C5: below 0"

    @bench.afterwards
    def what_was_granted_is_gone(run: Run) -> None:
        (stock,) = run.items.of(recipe.Stock)
        granted = sum(units for units, left in story.told if left is not None)
        unknown = sum(story.begun) - sum(units for units, _ in story.told)
        assert granted <= 5 - stock.left <= granted + unknown, f"C5: {stock.left} left, {granted} granted"
        assert not is_quiet(run) or stock.left == 0, "C5: refused what was there"

    return bench


def deliveries(
    recipe: ModuleType, bench: StagedBench, count: Callable[..., Any], events: Sequence[Sequence[str]]
) -> Story:
    """Clients that deliver events with an id each, again after a crash."""
    story = Story()

    @bench.setup
    def begin(store: Store[Sync]) -> None:
        story.clear()

    async def deliver(store: Store[Async], ids: Sequence[str]) -> None:
        for event in ids:
            story.begun.append(event)
            try:
                is_new = await count(store, event)
            except (recipe.Contended, recipe.TooLate):
                continue
            story.told.append((event, is_new))

    for ids in events:
        bench.client(deliver, ids, restarts=1)
    return story


def check_distinct(story: Story, run: Run, total: int) -> None:
    """As many are counted as ids were delivered; each one for one of those that delivered it."""
    acknowledged, begun = {event for event, _ in story.told}, set(story.begun)
    assert len(acknowledged) <= total <= len(begun), f"C2: {total} counted of {acknowledged}, {begun}"
    news = [event for event, is_new in story.told if is_new]
    assert len(set(news)) == len(news), f"C2: new twice: {news}"
    assert not is_quiet(run) or (total == len(begun) == len(news)), f"C2: {total} counted, {news} new"


EVENTS = (("a", "b"), ("b", "a"), ("a", "c"))


def in_sets(recipe: ModuleType, stage: Stage) -> StagedBench:
    """C2: the count is that of the distinct ids, and of the set, at every step."""
    bench = stage.bench(Table("site", [recipe.SetTally]), fault_rate=0.25)

    async def count(store: Store[Async], event: str) -> Any:
        return await recipe.count_in_set(store.of(recipe.SetTally), "signups", event, NOW)

    story = deliveries(recipe, bench, count, EVENTS)

    @bench.invariant
    def the_count_is_that_of_the_set(items: Items) -> None:
        for tally in items.of(recipe.SetTally):
            assert tally.count == len(tally.seen), f"C2: {tally.count} for {sorted(tally.seen)}"

    @bench.afterwards
    def every_id_counts_once(run: Run) -> None:
        check_distinct(story, run, sum(tally.count for tally in run.items.of(recipe.SetTally)))

    return bench


def by_markers(recipe: ModuleType, stage: Stage) -> StagedBench:
    """C2: the count is that of the distinct ids, and of the markers, at every step."""
    bench = stage.bench(Table("site", [recipe.MarkedTally, recipe.Marker], ttl="ttl"), fault_rate=0.2)

    async def count(store: Store[Async], event: str) -> Any:
        return await recipe.count_by_marker(store, "signups", event, NOW, clock=bench.clock)

    story = deliveries(recipe, bench, count, EVENTS)

    @bench.invariant
    def the_count_is_that_of_the_markers(items: Items) -> None:
        counted = sum(tally.count for tally in items.of(recipe.MarkedTally))
        assert counted == len(items.of(recipe.Marker)), f"C2: {counted} counted"

    @bench.afterwards
    def every_id_counts_once(run: Run) -> None:
        check_distinct(story, run, sum(tally.count for tally in run.items.of(recipe.MarkedTally)))

    return bench


def forgotten_markers(recipe: ModuleType, stage: Stage) -> StagedBench:
    """C2, though clocks are wrong, clients stand still, and expired markers are deleted or stay."""
    clocks = Clocks(skew=600, stalls=(900.0, 7000.0))
    table = Table("site", [recipe.MarkedTally, recipe.Marker], ttl="ttl")
    bench = stage.bench(table, fault_rate=0.25, clocks=clocks)

    async def count(store: Store[Async], event: str) -> Any:
        hour = timedelta(hours=1)
        return await recipe.count_by_marker(store, "signups", event, NOW, horizon=hour, clock=bench.clock)

    deliveries(recipe, bench, count, (("a", "a", "a"), ("a", "a"), ("a", "a")))

    @bench.invariant
    def it_counts_once(items: Items) -> None:
        counted = sum(tally.count for tally in items.of(recipe.MarkedTally))
        assert counted <= 1, "C2: counted again after it was forgotten"

    return bench


def sharded(recipe: ModuleType, stage: Stage) -> StagedBench:
    """C3: the total is the sum of what was added, between what was done before and what was begun, while it grows."""
    bench = stage.bench(Table("site", [recipe.Shards, recipe.Shard]), fault_rate=0.2, lag=3)
    story = Story()

    @bench.setup
    def begin(store: Store[Sync]) -> None:
        story.clear()
        store.of(recipe.Shards).put(recipe.Shards("views", 1)).send()

    async def count(store: Store[Async], shard: int) -> None:
        for amount in (1, 2):
            story.begun.append(amount)
            # a new process reads the number of shards anew
            counter = recipe.ShardedCounter(store, "views", pick=lambda shards: min(shard, shards - 1))
            await counter.add(amount)
            story.told.append(amount)

    async def grow(store: Store[Async]) -> None:
        counter = recipe.ShardedCounter(store, "views")
        assert await counter.grow(3) >= 3, "C3: grew to less"
        assert await counter.grow(2) >= 3, "C3: shrank"

    async def read(store: Store[Async]) -> None:
        for _ in range(2):
            done = sum(story.told)
            total = await recipe.ShardedCounter(store, "views").total()
            assert done <= total <= sum(story.begun), f"C3: {total}, and {done} were added before"

    bench.client(count, 2)
    bench.client(count, 0)
    bench.client(grow)
    bench.client(read)

    @bench.afterwards
    def the_sum_is_what_was_added(run: Run) -> None:
        (header,) = run.items.of(recipe.Shards)
        shards = run.items.of(recipe.Shard)
        total = sum(shard.value for shard in shards)
        assert sum(story.told) <= total <= sum(story.begun), f"C3: {total}"
        assert all(shard.number < header.shards for shard in shards), "C3: a shard that no reader asks for"
        errors = [each.error for each in run.outcomes.values() if isinstance(each.error, ItemNotFound)]
        assert not errors, f"{errors}"

    return bench


SCENARIOS: Sequence[Scenario] = (
    at_most_once,
    at_least_once,
    exact,
    bounded,
    in_sets,
    by_markers,
    forgotten_markers,
    sharded,
)

MUTANTS: Sequence[Mutant] = (
    Mutant(
        "C1",
        "a lost addition is repeated",
        'if when_lost == "at_least_once":',
        'if when_lost == "at_most_once":',
        caught_by=("at_most_once",),
    ),
    Mutant(
        "C2",
        "the set is not asked",
        "~seen.contains(event_id) & (seen.not_exists() | seen.size().lt(MOST_IDS))",
        "seen.not_exists() | seen.size().lt(MOST_IDS)",
        caught_by=("in_sets",),
    ),
    Mutant("C2", "the set is not kept", ".add(seen, event_id).if_(", ".if_(", caught_by=("in_sets",)),
    Mutant(
        "C2",
        "the marker is not asked",
        "store.of(Marker).put(marker).if_not_exists()",
        "store.of(Marker).put(marker)",
        caught_by=("by_markers",),
    ),
    Mutant(
        "C2",
        "late events are counted",
        "if clock() > last_moment:",
        "if clock() < 0:",
        caught_by=("forgotten_markers",),
    ),
    Mutant(
        "C2",
        "markers go too early",
        "last_moment + MARGIN.total_seconds()",
        "last_moment - MARGIN.total_seconds()",
        caught_by=("forgotten_markers",),
    ),
    Mutant("C3", "the number of shards falls", ".if_(stored.not_exists_or_lt(shards))", "", caught_by=("sharded",)),
    Mutant(
        "C3",
        "an old total",
        "get_many(keys).strongly_consistent()",
        "get_many(keys).eventually_consistent()",
        caught_by=("sharded",),
    ),
    Mutant(
        "C4",
        "the value is read afterwards",
        "return await addition.at_most_once().send()",
        "await addition.at_most_once().send()\n"
        "    return (await counters.get(name=name).required().strongly_consistent().send()).value",
        caught_by=("at_most_once",),
    ),
    Mutant("C6", "less is more", "add(value, amount)", "add(value, abs(amount))", caught_by=("exact",)),
    Mutant("C6", "nothing counts", "add(value, amount)", "add(value, amount or 1)", caught_by=("exact",)),
    Mutant("C6", "whole numbers only", "add(value, amount)", "add(value, int(amount))", caught_by=("exact",)),
    Mutant("C5", "below nothing", ".if_(left.ge(units))", ".if_(left.ge(0))", caught_by=("bounded",)),
)
