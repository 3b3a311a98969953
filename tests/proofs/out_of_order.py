"""Proof of events out of order. Every client is a consumer; one that crashes is given all its events again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from types import ModuleType
from typing import Any

from dynamap import Async, DynamapError, ItemNotFound, Store, Table
from dynamap.testing import Items, Run
from tests.proofs.framework import Mutant, Scenario, Stage, StagedBench


@dataclass(frozen=True)
class Event:
    """An event of a group at a minute, with what it says."""

    group: str
    minute: int
    id: str
    says: Any

    @property
    def at(self) -> datetime:
        return datetime(2026, 5, 1, 20, self.minute, tzinfo=timezone.utc)

    @property
    def order(self) -> tuple[datetime, str]:
        return self.at, self.id


LOW = Event("score", 1, "b", (1, 0))
HIGH = Event("score", 5, "a", (2, 2))
# the same minute as HIGH: the id decides, whoever comes first
TIED = Event("score", 5, "c", (3, 2))
FIRST_HALF = Event("status", 1, "e", "first half")
PAUSE = Event("status", 4, "d", "pause")
GONE = Event("removed", 3, "x", True)
BACK = Event("removed", 6, "w", False)
EVENTS = (LOW, HIGH, TIED, FIRST_HALF, PAUSE, GONE, BACK)
GROUPS = ("score", "status", "removed")


@dataclass
class Story:
    """What was stored, one after the other, and what the consumers were told."""

    stored: dict[str, list[tuple[datetime, str]]] = field(default_factory=dict[str, list[tuple[datetime, str]]])
    begun: list[Event] = field(default_factory=list[Event])
    told: list[tuple[Event, str]] = field(default_factory=list[tuple[Event, str]])

    def clear(self) -> None:
        self.stored.clear()
        self.begun.clear()
        self.told.clear()

    def note(self, group: str, order: tuple[datetime | None, str]) -> None:
        at, event = order
        if at is None:
            assert group not in self.stored, f"E4: the stamp of {group} is gone"
            return
        history = self.stored.setdefault(group, [])
        if not history or history[-1] != (at, event):
            assert not history or history[-1] < (at, event), f"E4: {group} moved back to {at}, {event}"
            history.append((at, event))

    def check(self, quiet: bool) -> None:
        """What was told fits what was stored, and the newest that was delivered stands."""
        for group in GROUPS:
            history = self.stored.get(group, [])
            told = [event for event, _ in self.told if event.group == group]
            if told:
                newest = max(event.order for event in told)
                assert history, f"E1: nothing of {group} is stored"
                assert history[-1] >= newest, f"E1: {group} stands at {history[-1]}, and {newest} was delivered"
            begun = [event.order for event in self.begun if event.group == group]
            assert not quiet or history[-1:] == ([max(begun)] if begun else []), f"E1: {group} ends at {history[-1:]}"
        for event, outcome in self.told:
            history = self.stored.get(event.group, [])
            applied = self.told.count((event, "APPLIED"))
            assert applied <= 1, f"E3: {event} was applied {applied} times"
            if outcome in {"APPLIED", "ALREADY_STORED"}:
                assert event.order in history, f"E3: {event} is {outcome} and was never stored"
            elif self.begun.count(event) == 1:
                assert history[-1] > event.order, f"E5: {event} is superseded by its own first attempt"
            else:
                assert history[-1] > event.order, f"E3: {event} is superseded by itself"
        assert not quiet or all(
            (event, "APPLIED") in self.told for event in self.begun if event.order in self.stored[event.group]
        ), "E3: what is stored was applied by nobody"


async def deliver(recipe: ModuleType, matches: Any, event: Event, clock: Callable[[], float]) -> Any:
    """Hand an event to the recipe; answers the outcome."""
    stamp = recipe.Stamp(event.at, event.id)
    if event.group == "score":
        return await recipe.change_score(matches, "m", *event.says, stamp)
    if event.group == "status":
        return await recipe.change_status(matches, "m", event.says, stamp)
    if event.says:
        return await recipe.remove(matches, "m", stamp, clock=clock)
    return await recipe.restore(matches, "m", stamp)


def check_group(group: str, values: Any, order: tuple[datetime | None, str]) -> None:
    """The fields of a group are those of the event that its stamp names."""
    said = {event.order: event.says for event in EVENTS if event.group == group}
    nothing = {"score": (0, 0), "status": "", "removed": False}[group]
    expected = nothing if order[0] is None else said.get((order[0], order[1]))
    assert values == expected, f"E2: {group} is {values} under the stamp {order}"


def groups(recipe: ModuleType, stage: Stage, deliveries: Sequence[Sequence[Event]]) -> StagedBench:
    bench = stage.bench(Table("live", [recipe.LiveMatch], ttl="ttl"), fault_rate=0.2)
    story = Story()

    @bench.setup
    def begin(store: Any) -> None:
        story.clear()

    async def consume(store: Store[Async], events: Sequence[Event]) -> None:
        for event in events:
            story.begun.append(event)
            outcome = await deliver(recipe, store.of(recipe.LiveMatch), event, bench.clock)
            story.told.append((event, outcome.name))

    for events in deliveries:
        bench.client(consume, events, restarts=1)

    @bench.invariant
    def groups_never_move_back(items: Items) -> None:
        for match in items.of(recipe.LiveMatch):
            for group, values, order in (
                ("score", (match.home, match.away), (match.score_at, match.score_event)),
                ("status", match.status, (match.status_at, match.status_event)),
                ("removed", match.removed, (match.removed_at, match.removed_event)),
            ):
                story.note(group, order)
                check_group(group, values, order)
            stays = match.forget_at is None
            assert stays is not match.removed, "removed: a mark that stays, or a match that goes"

    @bench.afterwards
    def everything_told_is_true(run: Run) -> None:
        quiet = not any(step.fault for step in run.record.steps)
        errors = [each.error for each in run.outcomes.values() if each.error is not None]
        assert not (quiet and errors), f"E1: without a fault: {errors}"
        story.check(quiet)

    return bench


def scores(recipe: ModuleType, stage: Stage) -> StagedBench:
    """E1, E3, E4, E5: one group, late, repeated and tied events."""
    return groups(recipe, stage, ((LOW, TIED), (HIGH, LOW), (TIED, HIGH)))


def two_groups(recipe: ModuleType, stage: Stage) -> StagedBench:
    """E2: a late score undoes no newer status, and the other way around."""
    return groups(recipe, stage, ((PAUSE, LOW), (HIGH, FIRST_HALF), (PAUSE, LOW)))


def removals(recipe: ModuleType, stage: Stage) -> StagedBench:
    """E1 to E5 with a removal: no late event brings the match back, and a newer restoration does."""
    return groups(recipe, stage, ((GONE, LOW), (BACK, HIGH), (GONE,)))


def late_after_removal(recipe: ModuleType, stage: Stage) -> StagedBench:
    """removed: a removal stays, whatever comes after it."""
    return groups(recipe, stage, ((GONE, HIGH), (LOW, PAUSE), (GONE,)))


def whole_states(recipe: ModuleType, stage: Stage) -> StagedBench:
    """E1, E3, E4, E5 where every event carries the whole state."""
    bench = stage.bench(Table("live", [recipe.Standing]), fault_rate=0.25)
    story = Story()
    events = {1: Event("score", 1, "b", 3), 2: Event("score", 2, "z", 4), 3: Event("score", 2, "a", 6)}

    @bench.setup
    def begin(store: Any) -> None:
        story.clear()

    async def consume(store: Store[Async], numbers: Sequence[int]) -> None:
        for number in numbers:
            event = events[number]
            story.begun.append(event)
            standing = recipe.Standing("Bern", event.says, event.minute, event.id)
            outcome = await recipe.replace(store.of(recipe.Standing), standing)
            story.told.append((event, outcome.name))

    for numbers in ((1, 2), (3, 1), (2, 3)):
        bench.client(consume, numbers, restarts=1)

    @bench.invariant
    def standings_never_move_back(items: Items) -> None:
        for standing in items.of(recipe.Standing):
            (event,) = (
                each for each in events.values() if (each.minute, each.id) == (standing.sequence, standing.event_id)
            )
            assert standing.points == event.says, "E1: points of another event"
            story.note("score", event.order)

    @bench.afterwards
    def everything_told_is_true(run: Run) -> None:
        story.check(not any(step.fault for step in run.record.steps))

    return bench


def only_what_exists(recipe: ModuleType, stage: Stage) -> StagedBench:
    """must_exist: an event that must find its match makes none."""
    bench = stage.bench(Table("live", [recipe.LiveMatch], ttl="ttl"), fault_rate=0.25)

    async def announce(store: Store[Async]) -> None:
        stamp = recipe.Stamp(LOW.at, LOW.id)
        await recipe.change_score(store.of(recipe.LiveMatch), "m", 0, 0, stamp)

    async def follow(store: Store[Async], event: Event) -> bool:
        try:
            await recipe.change_status(
                store.of(recipe.LiveMatch), "m", event.says, recipe.Stamp(event.at, event.id), must_exist=True
            )
        except ItemNotFound:
            return False
        return True

    bench.client(announce)
    bench.client(follow, PAUSE, restarts=1)
    bench.client(follow, FIRST_HALF, restarts=1)

    @bench.invariant
    def it_was_announced(items: Items) -> None:
        assert all(match.score_at is not None for match in items.of(recipe.LiveMatch)), "must_exist: made"

    @bench.afterwards
    def only_known_errors(run: Run) -> None:
        followed = [each for name, each in run.outcomes.items() if name != "announce" and each.returned and each.result]
        assert not followed or run.items.of(recipe.LiveMatch), "must_exist: followed"
        assert all(each.error is None or isinstance(each.error, DynamapError) for each in run.outcomes.values())

    return bench


SCENARIOS: Sequence[Scenario] = (
    scores,
    two_groups,
    removals,
    late_after_removal,
    whole_states,
    only_what_exists,
)

_STAMPED = "write.set(group.at, stamp.at).set(group.event, stamp.event_id).if_(group.is_older(stamp))"
MUTANTS: Sequence[Mutant] = (
    Mutant(
        "E1",
        "of two with one time the first stays",
        "self.at.not_exists_or_lt(stamp.at) | same_time",
        "self.at.not_exists_or_lt(stamp.at)",
    ),
    Mutant(
        "E4", "of two with one time the last stays", "self.event.lt(stamp.event_id)", "self.event.ne(stamp.event_id)"
    ),
    Mutant(
        "E2",
        "the groups share a stamp",
        "_Group(F(LiveMatch.status_at), F(LiveMatch.status_event)",
        "_Group(F(LiveMatch.score_at), F(LiveMatch.score_event)",
    ),
    Mutant(
        "E3", "what is stored is applied again", "return self.at.not_exists_or_lt(", "return self.at.not_exists_or_le("
    ),
    Mutant("E4", "a group moves back", _STAMPED, _STAMPED.replace(".if_(group.is_older(stamp))", "")),
    Mutant(
        "E5",
        "its own repetition supersedes an event",
        "same = result.seen is not None and group.stored(result.seen) == (stamp.at, stamp.event_id)",
        "same = False",
    ),
    Mutant(
        "E3",
        "what is newer was stored already",
        "same = seen is not None and (seen.sequence, seen.event_id) == (standing.sequence, standing.event_id)",
        "same = seen is not None and seen.sequence == standing.sequence",
        caught_by=("whole_states",),
    ),
    Mutant(
        "E2",
        "a score brings the match back",
        ".set(F(LiveMatch.away), away), _SCORE",
        ".set(F(LiveMatch.away), away).set(F(LiveMatch.removed), False), _SCORE",
    ),
    Mutant("removed", "a restored match is forgotten", ".remove(F(LiveMatch.forget_at))", ""),
    Mutant(
        "must_exist",
        "an event makes what it must find",
        "matches.update(match=match) if must_exist else",
        "matches.update(match=match) if not must_exist else",
        caught_by=("only_what_exists",),
    ),
)
