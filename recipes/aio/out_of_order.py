"""Events that arrive late, twice or after newer ones: one item holds the latest state, and never moves back.

Guarantees
    Each group of fields holds what the newest of its events said, in whatever order, how often and to however many
    consumers they were delivered. Of two events with one time the one with the greater id is newer, for everybody. An
    event of one group changes no other group. Applied is answered at most once for an event, and an event whose own
    first attempt was stored is never called Superseded, unless a newer one came in between. A late event does not bring
    back what was removed, while the item is kept.

Does not guarantee
    An order that the source does not have: times of several producers are as good as their clocks, offsets of Kafka
    compare within one partition only, and two events that share time and id are one event. That an event was seen that
    was never the newest. Removal after *keep_for*: an event that is later still makes the item anew. Groups together:
    an event for two groups is two calls, and a reader may come in between.

Costs
    One write unit for each KB of the item and event, applied or not: what is late or repeated costs as much as what is
    new. No reads.

Take another
    `optimistic_locking` where the change is decided from what is stored. `counters` where events add up instead of
    replacing one another. The table's stream, not this, where a consumer needs every event.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from dynamap import Applied, Async, Condition, F, Field, Repository, Update, Upsert, entity

__all__ = [
    "LiveMatch",
    "Outcome",
    "Stamp",
    "Standing",
    "change_score",
    "change_status",
    "read",
    "remove",
    "replace",
    "restore",
]


class Outcome(Enum):
    """What became of an event; its consumer may forget it, whichever it is."""

    APPLIED = "applied"
    ALREADY_STORED = "already stored"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, order=True)
class Stamp:
    """What orders events: the time that the source gave it, with its zone, and its id where times are equal.

    Raises ValueError where either is missing.
    """

    at: datetime
    event_id: str

    def __post_init__(self) -> None:
        if self.at.tzinfo is None or not self.event_id:
            msg = f"an event has a time with a zone and an id, or others could not be told from it; got {self}"
            raise ValueError(msg)


@entity("LIVE_MATCH", pk="LIVE_MATCH#{match}", sk="LIVE", ttl="forget_at")
class LiveMatch:
    """Three groups of fields, each with the stamp of the event that set it: score, status, removed."""

    match: str
    home: int = 0
    away: int = 0
    score_at: datetime | None = None
    score_event: str = ""
    status: str = ""
    status_at: datetime | None = None
    status_event: str = ""
    removed: bool = False
    removed_at: datetime | None = None
    removed_event: str = ""
    forget_at: int | None = None


@entity("STANDING", pk="STANDING#{team}", sk="LATEST")
class Standing:
    """Every event carries the whole state: one sequence number of its producer is enough."""

    team: str
    points: int
    sequence: int
    event_id: str


@dataclass(frozen=True)
class _Group:
    """Where the stamp of a group stands."""

    at: Field[datetime | None]
    event: Field[str]
    stored: Callable[[LiveMatch], tuple[datetime | None, str]]

    def is_older(self, stamp: Stamp) -> Condition:
        """Whether the stored stamp is older than this one, or there is none."""
        same_time = self.at.eq(stamp.at) & self.event.lt(stamp.event_id)
        return self.at.not_exists_or_lt(stamp.at) | same_time


_SCORE = _Group(F(LiveMatch.score_at), F(LiveMatch.score_event), lambda each: (each.score_at, each.score_event))
_STATUS = _Group(F(LiveMatch.status_at), F(LiveMatch.status_event), lambda each: (each.status_at, each.status_event))
_REMOVED = _Group(
    F(LiveMatch.removed_at), F(LiveMatch.removed_event), lambda each: (each.removed_at, each.removed_event)
)


async def change_score(
    matches: Repository[Async, LiveMatch],
    match: str,
    home: int,
    away: int,
    stamp: Stamp,
    *,
    must_exist: bool = False,
) -> Outcome:
    """Apply a score. A match that is not there is made, or with *must_exist* raises ItemNotFound."""
    write = _write(matches, match, must_exist=must_exist)
    return await _apply(write.set(F(LiveMatch.home), home).set(F(LiveMatch.away), away), _SCORE, stamp)


async def change_status(
    matches: Repository[Async, LiveMatch],
    match: str,
    status: str,
    stamp: Stamp,
    *,
    must_exist: bool = False,
) -> Outcome:
    """Apply a status. A match that is not there is made, or with *must_exist* raises ItemNotFound."""
    return await _apply(_write(matches, match, must_exist=must_exist).set(F(LiveMatch.status), status), _STATUS, stamp)


async def remove(
    matches: Repository[Async, LiveMatch],
    match: str,
    stamp: Stamp,
    *,
    keep_for: timedelta = timedelta(days=7),
    clock: Callable[[], float] = time.time,
) -> Outcome:
    """Mark the match as removed, and keep the mark for longer than any event can be late; then it is forgotten.

    What is marked first, or not there yet, is marked all the same: an older event may follow.
    """
    if keep_for <= timedelta():
        msg = f"a mark is kept for as long as events may be late; got {keep_for}"
        raise ValueError(msg)
    forget_at = math.ceil(clock() + keep_for.total_seconds())
    write = _write(matches, match).set(F(LiveMatch.removed), True)  # noqa: FBT003
    return await _apply(write.set(F(LiveMatch.forget_at), forget_at), _REMOVED, stamp)


async def restore(matches: Repository[Async, LiveMatch], match: str, stamp: Stamp) -> Outcome:
    """Take back a removal that is older. The other groups stand as their own events left them."""
    write = _write(matches, match).set(F(LiveMatch.removed), False)  # noqa: FBT003
    return await _apply(write.remove(F(LiveMatch.forget_at)), _REMOVED, stamp)


async def read(matches: Repository[Async, LiveMatch], match: str) -> LiveMatch | None:
    """The match as it is now; None if there is none, or if it is removed."""
    stored = await matches.get(match=match).strongly_consistent().send()
    return None if stored is None or stored.removed else stored


async def replace(standings: Repository[Async, Standing], standing: Standing) -> Outcome:
    """Store the whole state of an event, unless a newer one is stored. Raises ValueError without a team or id."""
    if not standing.team or not standing.event_id:
        msg = "an event has a team and an id: all without them would be one"
        raise ValueError(msg)
    sequence, event = F(Standing.sequence), F(Standing.event_id)
    is_older = sequence.not_exists_or_lt(standing.sequence) | (
        sequence.eq(standing.sequence) & event.lt(standing.event_id)
    )
    result = await standings.put(standing).if_(is_older).at_least_once().try_send()
    if isinstance(result, Applied):
        return Outcome.APPLIED
    seen = result.seen
    same = seen is not None and (seen.sequence, seen.event_id) == (standing.sequence, standing.event_id)
    return Outcome.ALREADY_STORED if same else Outcome.SUPERSEDED


def _write(
    matches: Repository[Async, LiveMatch],
    match: str,
    *,
    must_exist: bool = False,
) -> Update[Async, LiveMatch] | Upsert[Async, LiveMatch]:
    if not match:
        msg = "match is empty: all events without one would be of one match"
        raise ValueError(msg)
    return matches.update(match=match) if must_exist else matches.upsert(match=match)


async def _apply(write: Update[Async, LiveMatch] | Upsert[Async, LiveMatch], group: _Group, stamp: Stamp) -> Outcome:
    # repeated after a lost answer: a repetition meets its own stamp, and is refused as already stored
    stamped = write.set(group.at, stamp.at).set(group.event, stamp.event_id).if_(group.is_older(stamp))
    result = await stamped.at_least_once().try_send()
    if isinstance(result, Applied):
        return Outcome.APPLIED
    same = result.seen is not None and group.stored(result.seen) == (stamp.at, stamp.event_id)
    return Outcome.ALREADY_STORED if same else Outcome.SUPERSEDED
