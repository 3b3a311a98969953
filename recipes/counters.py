"""Counters: plain, bounded, idempotent, and spread over shards.

Guarantees
    Plain (`add`): at_most_once never counts a call twice, at_least_once never misses one; the answers of concurrent
    additions are all different. Bounded (`take`): the stock never falls below 0, and what was granted was taken once.
    Idempotent (`count_in_set`, `count_by_marker`): an event counts once in the day of its own time, however often,
    late, or by how many it is delivered; calling again is right after any error. Sharded (`ShardedCounter`): the total
    is the sum of all additions, also while shards are added.

Does not guarantee
    After OutcomeUnknown, `add` at_most_once and `take` may have counted: nobody can know. A total of shards is no
    snapshot: additions that run beside it may be in it or not. The number of shards never falls. `count_by_marker`
    refuses what is later than its horizon (TooLate), since it forgets markers an hour after that: a clock that is more
    than an hour slow may count an event again. `count_in_set` refuses a day's further ids when its set is full.

Costs
    `add`, `take`: one write unit. `count_in_set`: one write unit for each KB of the day's item, which grows with every
    id: keep to few, short ids. `count_by_marker`: 4 write units, however many there are, and a marker stored until it
    expires. A shard's addition: one write unit; a total: a strong read of each shard and of the header.

Take another
    `optimistic_locking` where the change is decided from the value. `hilo` for ids, `gapless_sequence` for numbers of
    documents. `.exactly_once()` on an `add` is exact for repetitions of one call, not for a second call, at 2 write
    units; what it answers may include additions of others. The table's stream where counting may lag behind.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Literal

from dynamap import (
    TRANSACTION,
    Applied,
    F,
    OutcomeUnknown,
    Reason,
    Repository,
    Store,
    Sync,
    TransactionCanceled,
    TransactionConflict,
    entity,
    retry_on_conflict,
)
from dynamap import deadline as within

__all__ = [
    "Contended",
    "Counter",
    "MarkedTally",
    "Marker",
    "SetTally",
    "Shard",
    "ShardedCounter",
    "Shards",
    "Stock",
    "TooLate",
    "WindowFull",
    "add",
    "count_by_marker",
    "count_in_set",
    "put_back",
    "take",
]

MOST_IDS = 1000
MARGIN = timedelta(hours=1)
RUNS = 30
_UNKNOWN = 5


class Contended(TransactionConflict):
    """Other writers were quicker each time: the event is not counted; call again later, as a retry around it does."""


class TooLate(Exception):
    """The event is older than the horizon: whether it was counted is forgotten, so it is not counted now."""


class WindowFull(Exception):
    """The day's set holds as many ids as it may: the event is not counted."""


# ---- plain


@entity("COUNTER", pk="COUNTER#{name}", sk="COUNTER")
class Counter:
    """A number that is only added to; decimal, so that tenths add up."""

    name: str
    value: Decimal = Decimal(0)


def add(
    counters: Repository[Sync, Counter],
    name: str,
    amount: Decimal | int = 1,
    *,
    when_lost: Literal["at_most_once", "at_least_once"] = "at_most_once",
) -> Decimal:
    """Add an amount, and answer the value after it; a counter that is not there begins at 0.

    *when_lost* says what a lost answer does: with at_most_once it raises OutcomeUnknown, with at_least_once the
    addition is repeated, and may count twice.
    """
    _check_given(name=name)
    value = F(Counter.value)
    addition = counters.upsert(name=name).add(value, amount).returning(value)
    if when_lost == "at_least_once":
        return addition.at_least_once().send()
    if when_lost == "at_most_once":
        return addition.at_most_once().send()
    msg = f"when_lost= is at_most_once or at_least_once; got {when_lost!r}"
    raise ValueError(msg)


# ---- bounded


@entity("STOCK", pk="STOCK#{sku}", sk="STOCK")
class Stock:
    """How much is left of something that cannot be less than nothing."""

    sku: str
    left: int = 0


def take(stocks: Repository[Sync, Stock], sku: str, units: int) -> int | None:
    """Take units, and answer how many are left; None if there were too few, and nothing was taken.

    Raises ItemNotFound, and OutcomeUnknown after a lost answer: the units may be gone.
    """
    _check_units(units)
    left = F(Stock.left)
    result = stocks.update(sku=sku).add(left, -units).if_(left.ge(units)).returning(left).at_most_once().try_send()
    return result.stored if isinstance(result, Applied) else None


def put_back(stocks: Repository[Sync, Stock], sku: str, units: int) -> int:
    """Put units back, and answer how many there are. Raises ItemNotFound, OutcomeUnknown."""
    _check_units(units)
    left = F(Stock.left)
    return stocks.update(sku=sku).add(left, units).returning(left).at_most_once().send()


def _check_units(units: int) -> None:
    if units < 1:
        msg = f"at least one unit is taken or put back; got {units}"
        raise ValueError(msg)


# ---- idempotent, in windows of a day


@entity("SET_TALLY", pk="SET_TALLY#{name}", sk="DAY#{day}")
class SetTally:
    """A day's count, with the ids that are in it."""

    name: str
    day: date
    count: int = 0
    seen: frozenset[str] = frozenset()


@entity("MARKED_TALLY", pk="MARKED_TALLY#{name}", sk="DAY#{day}")
class MarkedTally:
    """A day's count; a marker for each event says that it is in it."""

    name: str
    day: date
    count: int = 0


@entity("COUNTED", pk="COUNTED#{name}#{event_id}", sk="COUNTED", ttl="forget_at")
class Marker:
    """That an event was counted."""

    name: str
    event_id: str
    forget_at: int


def count_in_set(tallies: Repository[Sync, SetTally], name: str, event_id: str, at: datetime) -> bool:
    """Count an event in the day of its own time *at*; False if it was counted before, perhaps by a lost attempt.

    Raises WindowFull. The day comes from the event, not from a clock: a repetition after midnight finds the same day.
    """
    _check_given(name=name, event_id=event_id)
    seen = F(SetTally.seen)
    is_new = ~seen.contains(event_id) & (seen.not_exists() | seen.size().lt(MOST_IDS))
    count = tallies.upsert(name=name, day=_day(at)).add(F(SetTally.count), 1).add(seen, event_id).if_(is_new)
    # repeated after a lost answer: a repetition meets its own id
    result = count.at_least_once().try_send()
    if isinstance(result, Applied):
        return True
    if result.seen is not None and event_id not in result.seen.seen:
        msg = f"{name} of {_day(at)} holds {MOST_IDS} ids: take count_by_marker where there are more"
        raise WindowFull(msg)
    return False


def count_by_marker(
    store: Store[Sync],
    name: str,
    event_id: str,
    at: datetime,
    *,
    horizon: timedelta = timedelta(days=2),
    deadline: float = 10.0,
    clock: Callable[[], float] = time.time,
) -> bool:
    """Count an event in the day of its own time *at*; False if it was counted before, perhaps by a lost attempt.

    Raises TooLate for an event that is older than *horizon*, Contended, or DeadlineExceeded, after about *deadline*
    seconds, and OutcomeUnknown after lost answers. An id stands for one event: it is never used again with another
    time.
    """
    _check_given(name=name, event_id=event_id)
    if horizon <= timedelta():
        msg = f"a horizon is how late an event may be; got {horizon}"
        raise ValueError(msg)
    day = _day(at)

    @retry_on_conflict(attempts=RUNS, on=TRANSACTION)
    def run() -> bool:
        return _count(store, Marker(name, event_id, math.ceil(last_moment + MARGIN.total_seconds())), day)

    last_moment = at.timestamp() + horizon.total_seconds()
    unknown: list[OutcomeUnknown] = []
    with within(deadline):
        while True:
            try:
                if clock() > last_moment:
                    msg = f"an event of {at:%Y-%m-%d} is too late to be counted in {name}"
                    raise TooLate(msg)  # noqa: TRY301 - after a lost answer it is no answer
                return run()
            except OutcomeUnknown as error:
                # the marker tells the next run whether the event was counted
                unknown.append(error)
                if len(unknown) > _UNKNOWN:
                    raise
            except Exception as error:
                if unknown:
                    # that the last run did nothing says nothing of the one before
                    raise unknown[-1] from error
                if not isinstance(error, (TransactionCanceled, TransactionConflict)) or error.conflict is None:
                    raise
                msg = f"the counter {name} is busy: the event is not counted"
                raise Contended(msg) from error


def _count(store: Store[Sync], marker: Marker, day: date) -> bool:
    mark = store.of(Marker).put(marker).if_not_exists()
    count = store.of(MarkedTally).upsert(name=marker.name, day=day).add(F(MarkedTally.count), 1)
    try:
        store.transact(mark, count).send()
    except TransactionCanceled as error:
        if [error.reason_for(mark), error.reason_for(count)] == [Reason.CONDITION_FAILED, None]:
            return False
        raise
    return True


def _check_given(**texts: str) -> None:
    """Refuse what is empty: all without a name would be one counter, all without an id one event."""
    for what, text in texts.items():
        if not text:
            msg = f"{what}= is empty"
            raise ValueError(msg)


def _day(at: datetime) -> date:
    """The day of a moment in UTC, which is the same for every caller."""
    if at.tzinfo is None:
        msg = "the time of an event needs a zone: its day would depend on where it is counted"
        raise ValueError(msg)
    return at.astimezone(timezone.utc).date()


# ---- sharded


@entity("SHARDS", pk="SHARDS#{name}", sk="SHARDS")
class Shards:
    """How many shards a counter has; the number only rises, so that no reader misses one."""

    name: str
    shards: int = 0


@entity("SHARD", pk="SHARD#{name}#{number}", sk="SHARD")
class Shard:
    """A part of a counter, in a partition of its own."""

    name: str
    number: int
    value: int = 0


class ShardedCounter:
    """A counter for more writes than one item takes, which is about a thousand a second."""

    def __init__(self, store: Store[Sync], name: str, *, pick: Callable[[int], int] = random.randrange) -> None:
        _check_given(name=name)
        self._headers = store.of(Shards)
        self._shards = store.of(Shard)
        self._name = name
        self._pick = pick
        self._known = 0

    def grow(self, shards: int) -> int:
        """Make the counter, or give it more shards; answers how many it has, which may be more."""
        if shards < 1:
            msg = f"a counter has at least one shard; got {shards}"
            raise ValueError(msg)
        stored = F(Shards.shards)
        header = self._headers.upsert(name=self._name).set(stored, shards).if_(stored.not_exists_or_lt(shards))
        result = header.at_least_once().try_send()
        seen = result.stored if isinstance(result, Applied) else result.seen
        return shards if seen is None else seen.shards

    def add(self, amount: int = 1) -> None:
        """Add an amount at most once. Raises ItemNotFound before the first `grow`, OutcomeUnknown."""
        # a number that was read earlier is never too large
        self._known = self._known or self._count()
        number = self._pick(self._known)
        if not 0 <= number < self._known:
            msg = f"pick= answers a number from 0 to {self._known - 1}, or no total would have it; got {number}"
            raise ValueError(msg)
        shard = self._shards.upsert(name=self._name, number=number)
        shard.add(F(Shard.value), amount).at_most_once().send()

    def total(self) -> int:
        """The sum of all shards; no snapshot. Raises ItemNotFound before the first `grow`, BatchIncomplete."""
        numbers = range(self._count())
        keys = [self._shards.key(name=self._name, number=number) for number in numbers]
        shards = self._shards.get_many(keys).strongly_consistent().send()
        return sum(shard.value for shard in shards if shard is not None)

    def _count(self) -> int:
        header = self._headers.get(name=self._name).required().strongly_consistent().send()
        return header.shards
