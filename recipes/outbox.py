"""Transactional outbox: events written in the transaction of the change that they tell of, published by a relay later.

Guarantees
    A change is stored if and only if its event is. Every event is published, at least once, also when relays crash
    while they do it. Of one ordering key each event is published for the first time after all earlier ones, however
    many relays there are. While nothing goes wrong each is published once: a relay holds a bucket of keys by a lease,
    and begins to publish nothing when the lease is over. An event that cannot be published is tried so many times,
    counted before each try, and then parked: it stays stored, the later events of its key wait behind it, others pass.

Does not guarantee
    Once only: a relay that ends between publishing and deleting publishes again, so that consumers deduplicate by
    `event_id`. Order across keys. Order within a key whose `sequence` does not rise with each change, or that no
    condition of the same transaction guards: use the version that was read. An object that is deleted and made again
    begins at 0 again, before what is still unpublished of the old one: keep a tombstone, or take another key.

Costs
    An event of up to 1 KB: 2 write units in its transaction, and 2 for counting the try and deleting it; 2 read units.
    A sweep: 1 read unit, also of an empty bucket, and 1 read and 1 write unit each half lease. A bucket is one
    partition: at most some hundred events a second pass through it. The number of buckets is fixed while events are
    stored.

Take another
    The table's stream, where 24 hours are enough for every consumer to come back: it is this outbox without the items
    and the relay, in order for each item. `event_journal` where events are kept and read again.
"""

from __future__ import annotations

import math
import os
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Protocol

from dynamap import (
    F,
    ItemNotFound,
    OutcomeUnknown,
    Put,
    Refused,
    Store,
    Sync,
    Update,
    VersionConflict,
    entity,
    evolve,
)

__all__ = ["BUCKETS", "OutboxEvent", "OutboxLease", "Publisher", "Relay", "Sweep", "bucket_of", "record"]

BUCKETS = 16
MOST_BUCKETS = 10_000
_DRIFT = 0.05
"""By how much two clocks may differ in how fast they go."""


@entity(
    "OUTBOX_EVENT",
    pk="OUTBOX#{bucket:04}",
    sk="EVENT#{key:ordered}#{sequence:020}#{part:03}",
    version="revision",
    frozen=True,
    kw_only=True,
)
class OutboxEvent:
    """What happened to *key*, and has not been published. *payload* is the consumers' business."""

    bucket: int
    key: str
    sequence: int
    part: int = 0
    event_id: str
    payload: str
    attempts: int = 0
    revision: int = 0


@entity("OUTBOX_LEASE", pk="OUTBOX_LEASE#{bucket:04}", sk="LEASE", version="revision", frozen=True)
class OutboxLease:
    """Which relay publishes a bucket; None for whoever comes first. Its time runs from its last write."""

    bucket: int
    holder: str | None
    seconds: float
    revision: int = 0


class Publisher(Protocol):
    """Hands an event to whoever is to know it."""

    def publish(self, event: OutboxEvent, /) -> object:
        """Return when the event is safe with its recipient, raise an Exception when it is not, or may not be."""


def bucket_of(key: str, buckets: int = BUCKETS) -> int:
    """The bucket of an ordering key: the same in every process and release."""
    if isinstance(buckets, bool) or not 1 <= buckets <= MOST_BUCKETS:
        msg = f"there are 1 to {MOST_BUCKETS} buckets; got {buckets}"
        raise ValueError(msg)
    return int.from_bytes(sha256(key.encode()).digest()[:8], "big") % buckets


def record(
    store: Store[Sync], key: str, sequence: int, payload: str, *, part: int = 0, buckets: int = BUCKETS
) -> Put[Sync, OutboxEvent]:
    """The write of an event, to be sent in one transaction with the change.

    *sequence* is the version that the changed item was read with, 0 for one that is new; *part* tells several events of
    one change apart. An unpublished event with the same key and numbers cancels the transaction, as a version conflict.
    Raises ValueError for an empty key, and for numbers below 0.
    """
    if not key or sequence < 0 or part < 0:
        msg = f"an event has a key, and a sequence and part from 0 on; got {key!r}, {sequence}, {part}"
        raise ValueError(msg)
    event = OutboxEvent(
        bucket=bucket_of(key, buckets),
        key=key,
        sequence=sequence,
        part=part,
        event_id=uuid.uuid4().hex,
        payload=payload,
    )
    # a new version, so that a writer who lost the race for this number has a conflict, and reads again
    return store.of(OutboxEvent).put(event)


@dataclass
class Sweep:
    """What a sweep came to. It is *complete* if the relay held the bucket and went through all of it."""

    published: int = 0
    failed: list[tuple[OutboxEvent, Exception]] = field(default_factory=list[tuple[OutboxEvent, Exception]])
    parked: list[OutboxEvent] = field(default_factory=list[OutboxEvent])
    complete: bool = False


@dataclass
class _Held:
    lease: OutboxLease
    until: float


class Relay:
    """Publishes what is in the outbox, a bucket at a time; any number of relays may do so.

    *attempts* are made of each event. *lease*, in seconds, is how long the others wait for a relay that is gone: much
    longer than publishing an event takes. *monotonic* should count the time in which the machine is suspended.
    """

    def __init__(
        self,
        store: Store[Sync],
        publisher: Publisher,
        *,
        attempts: int = 10,
        lease: float = 30.0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        if isinstance(attempts, bool) or attempts < 1 or not 0 < lease < math.inf:
            msg = f"a relay makes at least one attempt, with a lease of more than nothing; got {attempts}, {lease} s"
            raise ValueError(msg)
        self._events = store.of(OutboxEvent)
        self._leases = store.of(OutboxLease)
        self._publisher = publisher
        self._attempts = attempts
        self._seconds = lease
        self._monotonic = monotonic
        self._name, self._process = uuid.uuid4().hex, os.getpid()
        self._held: dict[int, _Held] = {}
        self._watched: dict[int, tuple[int, float]] = {}
        self._stopped_at: dict[int, str] = {}

    def sweep(self, bucket: int) -> Sweep:
        """Publish the oldest event of each key in the bucket, from where the last sweep stopped.

        Call it for one bucket after the other, again at once while something is published, and after a pause when
        nothing is. Does nothing while another relay holds the bucket. Raises what dynamap's operations raise.
        """
        if bucket < 0:
            msg = f"buckets are counted from 0; got {bucket}"
            raise ValueError(msg)
        swept = Sweep()
        held = self._hold(bucket)
        if held is None:
            return swept
        while (seen := self._next_key(bucket)) is not None:
            event = self._oldest(seen)
            if self._monotonic() >= held.until:
                return swept
            # whatever becomes of it, the next sweep goes on behind it
            self._stopped_at[bucket] = seen.key
            if event is not None and not self._relay(event, held.until, swept):
                return swept
        self._stopped_at.pop(bucket, None)
        swept.complete = True
        return swept

    def release(self, bucket: int) -> None:
        """Let another relay have the bucket at once, as a relay does before it ends."""
        self._look_for_fork()
        held = self._held.pop(bucket, None)
        if held is not None:
            with suppress(VersionConflict, OutcomeUnknown):
                self._leases.update(held.lease).to(evolve(held.lease, holder=None)).send()

    def retry(self, event: OutboxEvent) -> None:
        """Try a parked event as often again. Raises ItemNotFound if it is gone."""
        self._stored(event).set(F(OutboxEvent.attempts), 0).send()

    def discard(self, event: OutboxEvent) -> None:
        """Delete an event, published or not: those behind it go on."""
        mine = F(OutboxEvent.event_id).eq(event.event_id)
        self._events.delete(event).ignore_version().if_(mine).at_least_once().try_send()

    # ---- inside of a sweep

    def _next_key(self, bucket: int) -> OutboxEvent | None:
        """An event of the next key that has any."""
        query = self._events.query(bucket=bucket)
        if bucket in self._stopped_at:
            query = query.range(F(OutboxEvent.key).gt(self._stopped_at[bucket]))
        return query.first().send()

    def _oldest(self, seen: OutboxEvent) -> OutboxEvent | None:
        """The first event of its key that is stored, None if even *seen* is gone.

        A query is no snapshot: it may show a later event without an earlier one that was stored while it ran. Whatever
        came before the one that was seen is shown to a query that begins now.
        """
        of_key = self._events.query(bucket=seen.bucket, key=seen.key)
        return of_key.range(F(OutboxEvent.sequence).le(seen.sequence)).first().send()

    def _relay(self, event: OutboxEvent, until: float, swept: Sweep) -> bool:
        """Count a try, publish, and delete; False if the lease is over."""
        left = F(OutboxEvent.attempts).lt(self._attempts)
        count = self._stored(event).add(F(OutboxEvent.attempts), 1).if_(left)
        try:
            counted = count.at_least_once().try_send()
        except ItemNotFound:
            # another relay was quicker
            return True
        if isinstance(counted, Refused):
            if counted.seen is not None:
                swept.parked.append(counted.seen)
            return True
        if self._monotonic() >= until:
            return False
        try:
            self._publisher.publish(counted.stored)
        except Exception as error:  # noqa: BLE001 - the publisher's own, for the caller to look at
            swept.failed.append((counted.stored, error))
            return True
        swept.published += 1
        self.discard(counted.stored)
        return True

    def _stored(self, event: OutboxEvent) -> Update[Sync, OutboxEvent]:
        key = {"bucket": event.bucket, "key": event.key, "sequence": event.sequence, "part": event.part}
        return self._events.update(**key).ignore_version()

    # ---- the lease

    def _look_for_fork(self) -> None:
        """Be another relay in another process: what was held is the parent's."""
        if self._process != os.getpid():
            self._name, self._process = uuid.uuid4().hex, os.getpid()
            self._held.clear()

    def _hold(self, bucket: int) -> _Held | None:
        """The bucket's lease if it is, or can be made, this relay's."""
        self._look_for_fork()
        held = self._held.get(bucket)
        if held is not None and self._monotonic() < held.until - self._seconds / 2:
            return held
        self._held.pop(bucket, None)
        lease = self._leases.get(bucket=bucket).send()
        # counted from before the write, and by the others from after it: never too long
        until = self._monotonic() + self._seconds
        try:
            if lease is None:
                mine = self._leases.put(OutboxLease(bucket, self._name, self._seconds)).send()
            elif self._may_take(lease):
                mine = self._leases.update(lease).to(evolve(lease, holder=self._name, seconds=self._seconds)).send()
            else:
                return None
        except (VersionConflict, OutcomeUnknown):
            # another relay's, or nobody knows: the next sweep looks
            return None
        self._held[bucket] = _Held(mine, until)
        return self._held[bucket]

    def _may_take(self, lease: OutboxLease) -> bool:
        """Whether it is free or ours, or was not renewed for all its time, as seen by this relay's own clock."""
        if lease.holder in {None, self._name}:
            return True
        now = self._monotonic()
        revision, since = self._watched.get(lease.bucket, (0, now))
        if revision != lease.revision:
            self._watched[lease.bucket] = (lease.revision, now)
            return False
        return now >= since + lease.seconds * (1 + _DRIFT)
