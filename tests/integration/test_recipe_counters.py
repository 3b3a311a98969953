"""The counters on every backend, in both modes, and what a backend shows of their caveats."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from types import ModuleType
from typing import Any

import pytest

from dynamap import OutcomeUnknown, ServiceError, Store, Table
from dynamap.testing import Fault, FaultPlan, MemoryEngine, Unprocessed, memory_store, memory_store_async
from recipes import counters
from recipes.aio import counters as counters_async
from tests.backends import Backend
from tests.modes import Mode, RawTable

TODAY = datetime.fromtimestamp(time.time(), timezone.utc)


def models(recipe: ModuleType) -> list[Any]:
    names = ("Counter", "Stock", "SetTally", "MarkedTally", "Marker", "Shards", "Shard")
    return [getattr(recipe, name) for name in names]


@pytest.fixture
def recipe(mode: Mode) -> ModuleType:
    return counters_async if mode.is_async else counters


@pytest.fixture
def store(mode: Mode, backend: Backend, raw: RawTable, recipe: ModuleType) -> Store[Any]:
    return mode.connect(Table(raw.name, models(recipe), ttl="ttl"), backend)


def expire(raw: RawTable, pk: str, sk: str) -> None:
    """Let an item's time be over, as after days; it stays where it is."""
    raw.client.update_item(
        TableName=raw.name,
        Key={"pk": {"S": pk}, "sk": {"S": sk}},
        UpdateExpression="SET #ttl = :past",
        ExpressionAttributeNames={"#ttl": "ttl"},
        ExpressionAttributeValues={":past": {"N": str(int(time.time()) - 9)}},
    )


def test_plain(store: Store[Any], mode: Mode, recipe: ModuleType) -> None:
    repository = store.of(recipe.Counter)
    answers = [mode.call(recipe.add, repository, "home", Decimal("0.1")) for _ in range(10)]
    assert answers == [Decimal(tenths) / 10 for tenths in range(1, 11)]
    for amount, value in ((0, 1), (-3, -2), (Decimal("-0.5"), Decimal("-2.5")), (10**20, 10**20 - Decimal("2.5"))):
        assert (
            mode.call(lambda amount=amount: recipe.add(repository, "home", amount, when_lost="at_least_once")) == value
        )


def test_what_a_lost_answer_does(store: Store[Any], mode: Mode, recipe: ModuleType) -> None:
    def add(name: str, when_lost: str) -> Any:
        lost = FaultPlan({1: Fault.DROP_AFTER}).over(store).of(recipe.Counter)
        return mode.call(lambda: recipe.add(lost, name, when_lost=when_lost))

    with pytest.raises(OutcomeUnknown):
        add("at most", "at_most_once")
    assert add("at least", "at_least_once") == 2
    values = [
        mode.wait(store.of(recipe.Counter).get(name=name).strongly_consistent().send()).value
        for name in ("at most", "at least")
    ]
    assert values == [1, 2]


def test_bounded(store: Store[Any], mode: Mode, recipe: ModuleType) -> None:
    stocks = store.of(recipe.Stock)
    mode.wait(stocks.put(recipe.Stock("ticket", 5)).send())
    assert [mode.call(recipe.take, stocks, "ticket", units) for units in (3, 3, 2, 1)] == [2, None, 0, None]
    assert mode.call(recipe.put_back, stocks, "ticket", 4) == 4


def test_sets(
    store: Store[Any], mode: Mode, recipe: ModuleType, raw: RawTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipe, "MOST_IDS", 3)
    tallies = store.of(recipe.SetTally)

    def count(event: str, at: datetime = TODAY) -> Any:
        return mode.call(recipe.count_in_set, tallies, "signups", event, at)

    assert [count(event) for event in ("a", "b", "a", "c", "b")] == [True, True, False, True, False]
    with pytest.raises(recipe.WindowFull, match="holds 3 ids"):
        count("d")
    assert count("c") is False
    # the next day is another window, so an event must keep its own time
    assert count("a", TODAY + timedelta(days=1))
    item = raw.get("SET_TALLY#signups", f"DAY#{TODAY.date().isoformat()}")
    assert item is not None
    assert (item["count"], sorted(item["seen"]["SS"])) == ({"N": "3"}, ["a", "b", "c"])


def test_a_repetition_after_midnight_counts_in_the_day_of_the_event(
    store: Store[Any], mode: Mode, recipe: ModuleType
) -> None:
    tallies = store.of(recipe.SetTally)
    midnight = TODAY.replace(hour=0, minute=0, second=0, microsecond=0)
    at = midnight - timedelta(microseconds=1)
    assert mode.call(recipe.count_in_set, tallies, "signups", "a", at) is True
    assert mode.call(recipe.count_in_set, tallies, "signups", "a", at) is False
    # who takes the time of the repetition instead counts it twice
    assert mode.call(recipe.count_in_set, tallies, "signups", "a", midnight) is True


def test_a_set_makes_every_addition_dearer_until_it_is_full() -> None:
    store = memory_store(Table("site", models(counters), ttl="ttl"))
    tallies = store.of(counters.SetTally)
    spent: list[float] = []
    for held in (0, 10, 999):
        seen = frozenset(f"{number:0300}" for number in range(held))
        tallies.put(counters.SetTally("signups", TODAY.date(), held, seen)).send()
        with store.capacity() as capacity:
            assert counters.count_in_set(tallies, "signups", f"{held:0300}", TODAY)
        spent.append(capacity.total)
    assert spent == [1, 4, 294]
    with pytest.raises(counters.WindowFull):
        counters.count_in_set(tallies, "signups", "one more", TODAY)


def test_longer_ids_meet_the_limit_of_an_item_first(mode: Mode, recipe: ModuleType) -> None:
    make: Any = memory_store_async if mode.is_async else memory_store
    tallies = make(Table("site", models(recipe), ttl="ttl")).of(recipe.SetTally)
    for number in range(40):
        assert mode.call(recipe.count_in_set, tallies, "signups", f"{number:010000}", TODAY)
    with pytest.raises(ServiceError, match="size"):
        mode.call(recipe.count_in_set, tallies, "signups", f"{41:010000}", TODAY)


@pytest.mark.not_on("dynalite", reason="it has no transactions")
def test_markers(store: Store[Any], mode: Mode, recipe: ModuleType, raw: RawTable) -> None:
    def count(event: str, at: datetime = TODAY) -> Any:
        return mode.call(recipe.count_by_marker, store, "signups", event, at)

    assert [count(event) for event in ("a", "b", "a", "c", "b")] == [True, True, False, True, False]
    tally = mode.wait(store.of(recipe.MarkedTally).get(name="signups", day=TODAY.date()).required().send())
    assert tally.count == 3
    # an id is one event: another time is no other event
    assert count("a", TODAY - timedelta(days=1)) is False
    with pytest.raises(recipe.TooLate):
        count("old", TODAY - timedelta(days=3))
    # expired and not yet deleted is as good as deleted, so nothing relies on when that happens
    expire(raw, "COUNTED#signups#a", "COUNTED")
    assert count("a") is True


def test_shards(store: Store[Any], mode: Mode, recipe: ModuleType) -> None:
    last = recipe.ShardedCounter(store, "views", pick=lambda shards: shards - 1)
    assert [mode.call(last.grow, shards) for shards in (2, 130, 7)] == [2, 130, 130]
    early = recipe.ShardedCounter(store, "views", pick=lambda shards: 0)
    for counter, amount in ((last, 5), (early, 7), (last, 1)):
        mode.call(counter.add, amount)
    # more shards than one request reads
    assert mode.call(early.total) == 13


def test_a_total_has_what_was_left_unprocessed_too(mode: Mode, recipe: ModuleType) -> None:
    make: Any = memory_store_async if mode.is_async else memory_store
    engine = MemoryEngine()
    table = Table("site", models(recipe), ttl="ttl")
    plain: Any = memory_store(table, engine=engine)
    plain.of(recipe.Shards).put(recipe.Shards("views", 8)).send()
    for number in range(8):
        plain.of(recipe.Shard).put(recipe.Shard("views", number, 10**number)).send()
    store = FaultPlan({2: Unprocessed(), 3: Unprocessed()}).over(make(table, engine=engine))
    assert mode.call(recipe.ShardedCounter(store, "views").total) == 11_111_111
