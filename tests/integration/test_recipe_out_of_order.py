"""Events out of order on every backend, in both modes: late, repeated, tied, and after a removal."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone
from itertools import permutations
from types import ModuleType
from typing import Any

import pytest

from dynamap import CONDITION, ItemNotFound, Store, Table, retry_on_conflict
from dynamap.testing import Fault, FaultPlan, memory_store, memory_store_async
from recipes import out_of_order
from recipes.aio import out_of_order as out_of_order_async
from tests.backends import Backend
from tests.modes import Mode, RawTable

KICK_OFF = datetime(2026, 5, 1, 20, tzinfo=timezone.utc)


@pytest.fixture
def recipe(mode: Mode) -> ModuleType:
    return out_of_order_async if mode.is_async else out_of_order


@pytest.fixture
def store(mode: Mode, backend: Backend, raw: RawTable, recipe: ModuleType) -> Store[Any]:
    return mode.connect(Table(raw.name, [recipe.LiveMatch, recipe.Standing], ttl="ttl"), backend)


def expire(raw: RawTable, pk: str, sk: str) -> None:
    """Let an item's time be over, as after days; it stays where it is."""
    raw.client.update_item(
        TableName=raw.name,
        Key={"pk": {"S": pk}, "sk": {"S": sk}},
        UpdateExpression="SET #ttl = :past",
        ExpressionAttributeNames={"#ttl": "ttl"},
        ExpressionAttributeValues={":past": {"N": str(int(time.time()) - 9)}},
    )


def test_every_order_ends_alike(store: Store[Any], mode: Mode, recipe: ModuleType) -> None:
    matches = store.of(recipe.LiveMatch)
    events = [
        (recipe.Stamp(KICK_OFF, "a"), (1, 0)),
        # a time without a fraction is before one with a fraction, though its text could be greater
        (recipe.Stamp(KICK_OFF + timedelta(microseconds=1), "a"), (2, 0)),
        (recipe.Stamp(KICK_OFF + timedelta(microseconds=1), "b"), (2, 1)),
    ]
    for number, order in enumerate(permutations(events)):
        outcomes: list[Any] = []
        newest = None
        for stamp, score in (*order, *order):
            outcome = mode.call(recipe.change_score, matches, f"match-{number}", *score, stamp)
            expected = "APPLIED" if newest is None or stamp > newest else "SUPERSEDED"
            assert outcome.name == ("ALREADY_STORED" if stamp == newest else expected)
            newest = stamp if newest is None else max(newest, stamp)
            outcomes.append(outcome)
        stored = mode.call(recipe.read, matches, f"match-{number}")
        assert (stored.home, stored.away, stored.score_event) == (2, 1, "b")
        assert outcomes.count(recipe.Outcome.ALREADY_STORED) == 1


def test_times_of_other_zones_are_the_same_times(store: Store[Any], mode: Mode, recipe: ModuleType) -> None:
    matches = store.of(recipe.LiveMatch)
    there = KICK_OFF.astimezone(timezone(timedelta(hours=14)))
    assert mode.call(recipe.change_status, matches, "m", "on", recipe.Stamp(KICK_OFF, "a")).name == "APPLIED"
    assert mode.call(recipe.change_status, matches, "m", "on", recipe.Stamp(there, "a")).name == "ALREADY_STORED"


def test_a_removal_holds_until_it_is_forgotten(
    store: Store[Any], mode: Mode, recipe: ModuleType, raw: RawTable
) -> None:
    matches = store.of(recipe.LiveMatch)
    late, removed = recipe.Stamp(KICK_OFF, "a"), recipe.Stamp(KICK_OFF + timedelta(hours=2), "b")
    assert mode.call(recipe.remove, matches, "m", removed).name == "APPLIED"
    assert mode.call(recipe.change_score, matches, "m", 1, 0, late).name == "APPLIED"
    assert mode.call(recipe.read, matches, "m") is None
    # the mark is over, though the item is still there: a late event makes the match anew
    expire(raw, "LIVE_MATCH#m", "LIVE")
    with pytest.raises(ItemNotFound):
        mode.call(lambda: recipe.change_score(matches, "m", 1, 0, late, must_exist=True))
    assert mode.call(recipe.change_score, matches, "m", 1, 0, late).name == "APPLIED"
    stored = mode.call(recipe.read, matches, "m")
    assert (stored.home, stored.removed, stored.removed_at, stored.forget_at) == (1, False, None, None)


def test_after_a_lost_answer_it_is_stored_already(store: Store[Any], mode: Mode, recipe: ModuleType) -> None:
    lost = FaultPlan({1: Fault.DROP_AFTER}).over(store).of(recipe.LiveMatch)
    stamp = recipe.Stamp(KICK_OFF, "a")
    assert mode.call(recipe.change_score, lost, "m", 1, 0, stamp).name == "ALREADY_STORED"
    assert mode.call(recipe.read, store.of(recipe.LiveMatch), "m").home == 1


def test_a_late_event_is_answered_at_once_and_is_no_error(mode: Mode, recipe: ModuleType) -> None:
    calls: list[Any] = []
    make: Any = memory_store_async if mode.is_async else memory_store
    matches = make(Table("live", [recipe.LiveMatch], ttl="ttl"), on_call=calls.append).of(recipe.LiveMatch)

    def plainly(stamp: Any) -> Any:
        return recipe.change_score(matches, "m", 1, 0, stamp)

    async def awaited(stamp: Any) -> Any:
        return await recipe.change_score(matches, "m", 1, 0, stamp)

    # a retry around it finds no conflict
    change = retry_on_conflict(on=CONDITION)(awaited if mode.is_async else plainly)
    mode.call(change, recipe.Stamp(KICK_OFF, "a"))
    assert mode.call(change, recipe.Stamp(KICK_OFF - timedelta(minutes=1), "b")).name == "SUPERSEDED"
    assert [(call.operation, call.attempts, call.refused) for call in calls] == [
        ("UpdateItem", 1, False),
        ("UpdateItem", 1, True),
    ]


def test_a_delete_lets_a_late_event_bring_it_back(store: Store[Any], mode: Mode, recipe: ModuleType) -> None:
    matches = store.of(recipe.LiveMatch)
    mode.call(recipe.change_score, matches, "m", 2, 0, recipe.Stamp(KICK_OFF + timedelta(hours=1), "b"))
    mode.wait(matches.delete(match="m").send())
    # that is what remove() is for
    assert mode.call(recipe.change_score, matches, "m", 1, 0, recipe.Stamp(KICK_OFF, "a")).name == "APPLIED"
    assert mode.call(recipe.read, matches, "m").home == 1


def test_times_of_two_producers_are_as_good_as_their_clocks(store: Store[Any], mode: Mode, recipe: ModuleType) -> None:
    matches = store.of(recipe.LiveMatch)
    ahead = recipe.Stamp(KICK_OFF + timedelta(minutes=10), "one whose clock is ahead")
    assert mode.call(recipe.change_score, matches, "m", 1, 0, ahead).name == "APPLIED"
    # the other one's goal fell later, and is taken for an older one
    right = recipe.Stamp(KICK_OFF + timedelta(minutes=5), "one whose clock is right")
    assert mode.call(recipe.change_score, matches, "m", 2, 0, right).name == "SUPERSEDED"


def test_whole_states(store: Store[Any], mode: Mode, recipe: ModuleType) -> None:
    standings = store.of(recipe.Standing)
    told = []
    for points, sequence, event in ((4, 2, "b"), (3, 1, "z"), (4, 2, "b"), (4, 2, "a"), (5, 2, "c"), (6, 10, "a")):
        standing = recipe.Standing("Bern", points, sequence, event)
        told.append(mode.call(recipe.replace, standings, standing).name)
    assert told == ["APPLIED", "SUPERSEDED", "ALREADY_STORED", "SUPERSEDED", "APPLIED", "APPLIED"]
    assert mode.wait(standings.get(team="Bern").strongly_consistent().send()).points == 6
