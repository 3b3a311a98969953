"""How the counters are used, and what they refuse; copied along with the recipe."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone
from decimal import Decimal

import pytest

from dynamap import ItemNotFound, Store, Sync, Table
from dynamap.testing import memory_store
from recipes.counters import (
    Counter,
    MarkedTally,
    Marker,
    SetTally,
    Shard,
    ShardedCounter,
    Shards,
    Stock,
    TooLate,
    add,
    count_by_marker,
    count_in_set,
    put_back,
    take,
)

TODAY = datetime.fromtimestamp(time.time(), timezone.utc)


def site() -> Store[Sync]:
    models = [Counter, Stock, SetTally, MarkedTally, Marker, Shards, Shard]
    return memory_store(Table("site", models, ttl="ttl"))


def test_tenths_add_up() -> None:
    counters = site().of(Counter)
    for _ in range(10):
        add(counters, "kilograms", Decimal("0.1"))
    assert add(counters, "kilograms", 0) == 1
    assert add(counters, "kilograms", -3, when_lost="at_least_once") == Decimal(-2)


def test_a_stock_is_never_below_nothing() -> None:
    stocks = site().of(Stock)
    stocks.put(Stock("ticket", 3)).send()
    assert [take(stocks, "ticket", 2), take(stocks, "ticket", 2)] == [1, None]
    assert [put_back(stocks, "ticket", 1), take(stocks, "ticket", 2)] == [2, 0]
    with pytest.raises(ItemNotFound):
        take(stocks, "unknown", 1)
    with pytest.raises(ValueError, match="at least one unit"):
        take(stocks, "ticket", -1)


def test_an_event_counts_once_in_the_day_of_its_own_time() -> None:
    store = site()
    tallies = store.of(SetTally)
    assert count_in_set(tallies, "signups", "event-1", TODAY)
    assert not count_in_set(tallies, "signups", "event-1", TODAY.astimezone(timezone(timedelta(hours=14))))
    tally = tallies.get(name="signups", day=TODAY.date()).required().send()
    assert (tally.count, tally.seen) == (1, frozenset({"event-1"}))
    assert count_by_marker(store, "signups", "event-1", TODAY)
    assert not count_by_marker(store, "signups", "event-1", TODAY)
    marked = store.of(MarkedTally).get(name="signups", day=TODAY.date()).required().send()
    assert marked.count == tally.count


def test_what_is_forgotten_is_not_counted_again() -> None:
    store = site()
    with pytest.raises(TooLate):
        count_by_marker(store, "signups", "event-1", TODAY - timedelta(days=3))
    with pytest.raises(ValueError, match="zone"):
        count_by_marker(store, "signups", "event-1", TODAY.replace(tzinfo=None), horizon=timedelta(days=9))


def test_shards_add_up_while_their_number_grows() -> None:
    store = site()
    views = ShardedCounter(store, "views", pick=lambda shards: shards - 1)
    assert views.grow(2) == views.grow(1)
    views.add(5)
    views.grow(4)
    ShardedCounter(store, "views", pick=lambda shards: shards - 1).add(-2)
    assert views.total() == Decimal(3)


def test_a_shard_that_no_total_has_is_not_added_to() -> None:
    counter = ShardedCounter(site(), "views", pick=lambda shards: shards)
    counter.grow(2)
    with pytest.raises(ValueError, match="from 0 to 1"):
        counter.add()


def test_nothing_and_less_may_be_added() -> None:
    counters = site().of(Counter)
    answers = [add(counters, "balance", amount) for amount in (0, -5, Decimal("-0.5"), 0, 5)]
    assert answers == [0, -5, Decimal("-5.5"), Decimal("-5.5"), Decimal("-0.5")]
