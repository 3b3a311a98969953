"""How events out of order are applied, and what becomes of late ones; copied along with the recipe."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from dynamap import ItemNotFound, Store, Sync, Table
from dynamap.testing import memory_store
from recipes.out_of_order import (
    LiveMatch,
    Outcome,
    Stamp,
    Standing,
    change_score,
    change_status,
    read,
    remove,
    replace,
    restore,
)


def live() -> Store[Sync]:
    return memory_store(Table("live", [LiveMatch, Standing], ttl="ttl"))


def at(minute: int, event_id: str = "event-1") -> Stamp:
    return Stamp(datetime(2026, 5, 1, 20, tzinfo=timezone.utc) + timedelta(minutes=minute), event_id)


def test_a_late_score_moves_nothing_back() -> None:
    matches = live().of(LiveMatch)
    assert change_score(matches, "final", 2, 0, at(30)) is Outcome.APPLIED
    assert change_score(matches, "final", 1, 0, at(12)) is Outcome.SUPERSEDED
    assert change_score(matches, "final", 2, 0, at(30)) is Outcome.ALREADY_STORED
    assert change_status(matches, "final", "first half", at(0)) is Outcome.APPLIED
    match = read(matches, "final")
    assert match is not None
    assert (match.home, match.away, match.status) == (2, 0, "first half")


def test_the_id_decides_between_events_of_one_time() -> None:
    matches = live().of(LiveMatch)
    assert change_score(matches, "final", 1, 0, at(12, "b")) is Outcome.APPLIED
    assert change_score(matches, "final", 0, 1, at(12, "a")) is Outcome.SUPERSEDED
    assert change_score(matches, "final", 1, 1, at(12, "c")) is Outcome.APPLIED


def test_a_late_event_brings_nothing_back() -> None:
    matches = live().of(LiveMatch)
    remove(matches, "final", at(5), keep_for=timedelta(days=7))
    assert change_score(matches, "final", 1, 0, at(3)) is Outcome.APPLIED
    assert read(matches, "final") is None
    assert restore(matches, "final", at(4)) is Outcome.SUPERSEDED
    assert restore(matches, "final", at(6)) is Outcome.APPLIED
    assert read(matches, "final") is not None


def test_an_event_may_be_for_a_match_that_exists_only() -> None:
    with pytest.raises(ItemNotFound):
        change_score(live().of(LiveMatch), "unknown", 1, 0, at(3), must_exist=True)


def test_a_whole_state_is_replaced_by_a_newer_one() -> None:
    standings = live().of(Standing)
    assert replace(standings, Standing("Bern", points=40, sequence=7, event_id="b")) is Outcome.APPLIED
    assert replace(standings, Standing("Bern", points=40, sequence=7, event_id="b")) is Outcome.ALREADY_STORED
    assert replace(standings, Standing("Bern", points=37, sequence=6, event_id="a")) is Outcome.SUPERSEDED
    stored = standings.get(team="Bern").required().send()
    assert (stored.points, stored.sequence) == (40, 7)
