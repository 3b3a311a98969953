"""Idempotency keys: a call that a client repeats under one key has one effect, and gets the first answer again.

Guarantees
    `IdempotentTransaction`: the effect is one transaction, and the record of the key is part of it. While the record
    lasts there is at most one effect for a key, whatever is lost, late or repeated, and everyone who succeeds gets the
    answer of that one, equal and of the same types.
    `IdempotentCall`: the effect is anything, under a lease. The body runs at most once, once more for each lease that
    ran out before the call was completed, and once more for each body that failed. Whoever finishes after another has
    taken over changes nothing, and is told so by LeaseLost. Both refuse a key that was used for another request.

Does not guarantee
    Anything after the horizon: the key is then as good as new, whether or not DynamoDB has deleted its record. A body
    that is done at most once: a process that ends in the middle, or outlasts its lease, leaves it to the next. Give the
    lease several times the time that the body takes, plus what the clocks of your machines may differ, and pass a key
    on to what the body calls if that takes one. Clocks shorten the horizon, too, by what they differ.

Costs
    A first transaction: a strong read (1 read unit per 4 KB) and 2 write units per KB of the record, beside its own
    writes. A repetition: the read. A first call: 2 write units; a repetition: 1, as a failed condition costs a write.
    The answer is in the record, and counts toward its 400 KB.

Take another
    `if_not_exists()` on an item whose key comes from the request, where the answer need not be kept. `counters` counts
    each id once. `uniqueness` where a key is for ever.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar, cast

from dynamap import (
    CONDITION,
    TRANSACTION,
    Applied,
    Async,
    Condition,
    DynamapError,
    F,
    OutcomeUnknown,
    Reason,
    Store,
    TransactionCanceled,
    TransactionConflict,
    Write,
    entity,
    evolve,
    retry_on_conflict,
)

__all__ = [
    "Answered",
    "Contended",
    "Effect",
    "IdempotentCall",
    "IdempotentTransaction",
    "InProgress",
    "LeaseLost",
    "LeasedCall",
    "PayloadMismatch",
    "State",
]

DAY = 86_400.0
SHORTEST_HORIZON = 600.0
"""A request that was given up may arrive some five minutes late: its record must be there still."""
RUNS = 20
LOST_RUNS = 5

A = TypeVar("A")


class PayloadMismatch(Exception):
    """The key was used for another request; nothing was done."""


class InProgress(Exception):
    """Another call with this key is at work, or died at work; nothing was done. Call again, from `until` at the latest.

    `until` is in epoch seconds.
    """

    def __init__(self, key: str, until: float) -> None:
        super().__init__(key, until)
        self.key = key
        self.until = until

    def __str__(self) -> str:
        return (
            f"another call with the key {self.key} is at work until {self.until:.0f}, in epoch seconds, at the latest"
        )


class LeaseLost(Exception):
    """The body ran, and another call had taken the key over meanwhile: its answer counts, not this one's."""


class Contended(TransactionConflict):
    """Other writers were in the way each time: nothing was done; call again later, as a retry around the call does."""


def fingerprint(request: object) -> str:
    """What tells one request from another: a hash of its JSON, with sorted keys. Raises TypeError if it has none."""
    text = json.dumps(request, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


# ---- the effect is a transaction


@entity("ANSWERED", pk="ANSWERED#{key}", sk="ANSWERED", ttl="expires_at", frozen=True)
class Answered(Generic[A]):
    """The answer to a key, for calls that are transactions. A table has `Answered[int]`, or whatever type it is."""

    key: str
    request: str
    answer: A
    expires_at: int


@dataclass(frozen=True)
class Effect(Generic[A]):
    """What is to be written, and what is to be answered then."""

    answer: A
    writes: Sequence[Write[Async, object]]


class IdempotentTransaction(Generic[A]):
    """Answers a key by a transaction that holds the record of the key, of a class such as `Answered[int]`.

    *horizon* is how long a key is remembered, in seconds, from 600: longer than clients repeat their calls.
    """

    def __init__(
        self,
        store: Store[Async],
        record: type[Answered[A]],
        *,
        horizon: float = DAY,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._record = record
        self._records = store.of(record)
        self._horizon = _checked_horizon(horizon)
        self._clock = clock

    async def run(self, key: str, request: object, effect: Callable[[], Awaitable[Effect[A]]]) -> A:
        """Answer the key: with the stored answer, or with that of *effect*, whose writes are then applied.

        *effect* is called again after a conflict, so all it does must be in its writes. Raises PayloadMismatch,
        Contended, whatever *effect* raises, what the failed conditions of its writes are, and OutcomeUnknown after
        lost answers: call it again then too.
        """
        asked = _checked_request(key, request)
        unknown: list[OutcomeUnknown] = []
        while True:
            try:
                return await self._run(key, asked, effect)
            except OutcomeUnknown as error:
                # the record tells the next run whether it was done
                unknown.append(error)
                if len(unknown) > LOST_RUNS:
                    raise
            except Exception as error:
                if unknown:
                    # that the last run did nothing says nothing of the one before
                    raise unknown[-1] from error
                if not isinstance(error, DynamapError) or error.conflict in {None, CONDITION}:
                    raise
                msg = f"others were in the way each time: nothing was done for the key {key}"
                raise Contended(msg) from error

    @retry_on_conflict(attempts=RUNS)
    async def _run(self, key: str, asked: str, effect: Callable[[], Awaitable[Effect[A]]]) -> A:
        now = self._clock()
        answered = await self._answered(key, asked, now)
        if answered is not None:
            return answered.answer
        try:
            wanted = await effect()
        except Exception:
            # what it needs may have gone into the effect of a call with this key that was quicker
            answered = await self._answered(key, asked, now)
            if answered is None:
                raise
            return answered.answer
        record = self._record(key, asked, wanted.answer, math.ceil(now + self._horizon))
        free = F(Answered.expires_at).not_exists_or_le(math.floor(now))
        claim = self._records.put(record).if_(free).include_expired()
        try:
            done = await self._store.transact(claim, *wanted.writes).send()
        except TransactionCanceled as error:
            found = error.item_for(claim)
            if error.conflict is TRANSACTION or error.reason_for(claim) is not Reason.CONDITION_FAILED or found is None:
                raise
            _check_request(key, found.request, asked)
            return found.answer
        return done.stored(claim).answer

    async def _answered(self, key: str, asked: str, now: float) -> Answered[A] | None:
        found = await self._records.get(key=key).strongly_consistent().include_expired().send()
        if found is None or found.expires_at <= now:
            return None
        _check_request(key, found.request, asked)
        return found


# ---- the effect is anything


class State(Enum):
    """How far a call has come."""

    IN_PROGRESS = "in progress"
    COMPLETED = "completed"


@entity("LEASED_CALL", pk="LEASED_CALL#{key}", sk="LEASED_CALL", ttl="expires_at", frozen=True)
class LeasedCall(Generic[A]):
    """Who works on a key, until when, and the answer. A table has `LeasedCall[int]`, or whatever type it is."""

    key: str
    request: str
    owner: str
    leased_until: float
    expires_at: int
    state: State = State.IN_PROGRESS
    answer: A | None = None


class IdempotentCall(Generic[A]):
    """Answers a key by running a body that has effects anywhere, under a lease; *record* is as `LeasedCall[int]`.

    *lease* is how long the body may take, in seconds, before another call may run it too. *horizon* as in
    `IdempotentTransaction`, and longer than the lease.
    """

    def __init__(
        self,
        store: Store[Async],
        record: type[LeasedCall[A]],
        *,
        lease: float,
        horizon: float = DAY,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if not 0 < lease < horizon:
            msg = f"a lease is longer than nothing and shorter than the horizon of {horizon} s; got {lease} s"
            raise ValueError(msg)
        self._record = record
        self._records = store.of(record)
        self._lease = lease
        self._horizon = _checked_horizon(horizon)
        self._clock = clock

    async def run(self, key: str, request: object, body: Callable[[], Awaitable[A]]) -> A:
        """Answer the key: with the stored answer, or with that of *body*.

        Raises InProgress, for the caller to wait, PayloadMismatch, LeaseLost, and OutcomeUnknown: the body may have
        run, so call again, as after InProgress. What *body* raises passes too; that counts as no effect, and the next
        call runs it again.
        """
        now = self._clock()
        mine = self._record(
            key, _checked_request(key, request), uuid.uuid4().hex, now + self._lease, math.ceil(now + self._horizon)
        )
        completed = await self._acquire(mine, now)
        if completed is not None:
            return cast("A", completed.answer)
        try:
            answer = await body()
        except Exception:
            with suppress(DynamapError):
                # if it fails, the lease ends by itself
                await self._delete(mine)
            raise
        return await self._complete(mine, answer)

    async def _acquire(self, mine: LeasedCall[A], now: float) -> LeasedCall[A] | None:
        """Take the lease, or answer the record of a call that is completed. Raises InProgress, PayloadMismatch."""
        free = F(LeasedCall.expires_at).not_exists_or_le(math.floor(now))
        died = F(LeasedCall.state).eq(State.IN_PROGRESS) & F(LeasedCall.leased_until).le(now)
        abandoned = died & F(LeasedCall.request).eq(mine.request)
        # repeated where an answer is lost: the record that it finds then is known by its owner
        take = self._records.put(mine).if_(free | abandoned).include_expired().at_least_once()
        result = await take.try_send()
        if isinstance(result, Applied):
            return None
        found = result.seen
        if found is None:
            # it was given up between the refusal and the look at it
            raise InProgress(mine.key, now)
        if found.owner == mine.owner:
            return None
        _check_request(mine.key, found.request, mine.request)
        if found.state is State.COMPLETED:
            return found
        raise InProgress(mine.key, found.leased_until)

    async def _complete(self, mine: LeasedCall[A], answer: A) -> A:
        expires_at = math.ceil(self._clock() + self._horizon)
        completed = evolve(mine, state=State.COMPLETED, answer=answer, expires_at=expires_at)
        put = self._records.put(completed).if_(_is_held(mine)).include_expired().at_least_once()
        result = await put.try_send()
        stored = result.stored if isinstance(result, Applied) else result.seen
        # refused for what its own lost attempt has stored, it is completed too
        if stored is None or stored.owner != mine.owner or stored.state is not State.COMPLETED:
            raise LeaseLost(mine.key)
        return cast("A", stored.answer)

    async def _delete(self, mine: LeasedCall[A]) -> None:
        release = self._records.delete(key=mine.key).if_(_is_held(mine)).include_expired().at_least_once()
        await release.try_send()


def _is_held(mine: LeasedCall[A]) -> Condition:
    """That nobody has taken it over, and that it is not completed."""
    return F(LeasedCall.owner).eq(mine.owner) & F(LeasedCall.state).eq(State.IN_PROGRESS)


# ---- both


def _checked_request(key: str, request: object) -> str:
    if not key:
        msg = "the key is empty: whoever sends none would get the answer of the first who did so"
        raise ValueError(msg)
    return fingerprint(request)


def _check_request(key: str, stored: str, asked: str) -> None:
    if stored != asked:
        msg = f"the key {key} was used for another request: a new request takes a new key"
        raise PayloadMismatch(msg)


def _checked_horizon(horizon: float) -> float:
    if not SHORTEST_HORIZON <= horizon < math.inf:
        msg = f"a horizon is at least {SHORTEST_HORIZON:.0f} s, since requests may arrive minutes late; got {horizon} s"
        raise ValueError(msg)
    return horizon
