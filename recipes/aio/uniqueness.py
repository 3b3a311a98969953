"""Unique values: an address or handle belongs to one record at a time, by a claim item written with the record.

Guarantees
    A value has one owner, at every moment: records and claims are written in one transaction or not at all, and what
    counts as the same value is said in one function, `normalise`. A value is free again as soon as its owner changes
    it or is deleted. Only its owner's claim is ever released. A registration that is repeated, also after a lost
    answer or a crash, is answered as done: it is recognised by its own id, not by what it holds.

Does not guarantee
    That one of several registrations succeeds at once: all may stop one another, and then end as Contended; call again.
    That a deleted registration stays deleted while a request of it may still be under way, for some minutes: a repeat
    of `register` makes it anew. Anything for writers that write records without claims, or in another region.

Costs
    Twice the write units of a record and its claims: 6 for a record of up to 1 KB with two unique values. A change or
    a deletion costs the same, with a claim for each value given up or taken, and a strong read. A refusal costs as much
    as what it refuses, and each run that met another writer too. `find`: two strong reads.

Take another
    The key itself, where a record has one unique value that never changes: a put with `if_not_exists()`. An index finds
    records by a value, but keeps nothing unique, and is a little late.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, TypeAlias

from dynamap import (
    CONDITION,
    TRANSACTION,
    VERSION,
    Applied,
    Async,
    Delete,
    DynamapError,
    F,
    Failures,
    Normalize,
    OutcomeUnknown,
    Put,
    Reason,
    Store,
    TransactionCanceled,
    TransactionConflict,
    entity,
    evolve,
    retry_on_conflict,
)

__all__ = [
    "Claim",
    "ClaimsDamaged",
    "Contended",
    "Done",
    "Registrant",
    "Taken",
    "change",
    "delete",
    "find",
    "normalise",
    "register",
    "release",
]

RUNS = 20
MOST_VALUES = 49
"""A change may give up and take that many, with the record: a transaction has up to 100 items."""
LOST_RUNS = 5


class Contended(TransactionConflict):
    """Other writers were in the way each time: nothing was changed; call again later, as a retry around it does."""


class ClaimsDamaged(Exception):
    """The record has a value that it has no claim of: the table was changed by hand. Nothing was done."""


@dataclass(frozen=True)
class Done:
    """The record as it is stored."""

    registrant: Registrant


@dataclass(frozen=True)
class Taken:
    """Nothing was changed: this field has a value that belongs to another record; "id" is the record's own key."""

    field: str


def normalise(value: str) -> str:
    """The form in which values are compared: without case, composed, without space around it."""
    decomposed = unicodedata.normalize("NFD", value)
    return unicodedata.normalize("NFC", decomposed.casefold()).strip()


@entity("CLAIM", pk="CLAIM#{field}#{value}", sk="CLAIM", frozen=True)
class Claim:
    """Says whose value this is."""

    field: str
    value: Annotated[str, Normalize(normalise)]
    owner: str


@entity("REGISTRANT", pk="REGISTRANT#{id}", sk="REGISTRATION", version="revision", frozen=True)
class Registrant:
    """A record with unique values. `registration` is the id of the call that made it, and never changes."""

    id: str
    registration: str
    email: str
    handle: str | None = None
    phones: frozenset[str] = frozenset()
    revision: int = 0


FIELDS = ("email", "handle", "phones")
"""The fields whose values are unique."""

Claims: TypeAlias = "Mapping[tuple[str, str], Claim]"
Takes: TypeAlias = "Mapping[tuple[str, str], Put[Async, Claim]]"


def claims_of(registrant: Registrant) -> Claims:
    """The claims that a record needs, one for each of its values. Raises ValueError for too many, or empty ones."""
    held = [("email", registrant.email), ("handle", registrant.handle)]
    held += [("phones", phone) for phone in sorted(registrant.phones)]
    values = [(field, normalise(value)) for field, value in held if value is not None]
    for field, value in values:
        if not value:
            msg = f"{registrant.id}: {field} is empty, which nobody can have for their own; take None for no value"
            raise ValueError(msg)
    if len(values) > MOST_VALUES:
        msg = f"{registrant.id} has {len(values)} unique values: more than {MOST_VALUES} cannot be exchanged at once"
        raise ValueError(msg)
    return {(field, value): Claim(field, value, registrant.id) for field, value in values}


async def register(store: Store[Async], registrant: Registrant) -> Done | Taken:
    """Store a new record and claim its values, or say which of them is taken.

    A repetition with the same `registration` is Done, with the record as it is stored by now. Raises Contended, and
    OutcomeUnknown after lost answers: call it again then too. ValueError without an id or a registration.
    """
    if not registrant.id or not registrant.registration:
        msg = "a registrant has an id and a registration: without them, whoever comes first would be everybody"
        raise ValueError(msg)
    unknown: list[OutcomeUnknown] = []
    while True:
        try:
            with _or_contended(registrant.id):
                result = await _register(store, registrant)
        except OutcomeUnknown as error:
            # the stored record tells the next run whether it is this registration's
            unknown.append(error)
            if len(unknown) > LOST_RUNS:
                raise
        except DynamapError as error:
            if unknown:
                # that the last run did nothing says nothing of the one before
                raise unknown[-1] from error
            raise
        else:
            if unknown and isinstance(result, Taken):
                raise unknown[-1]
            return result


@retry_on_conflict(attempts=RUNS, on=VERSION | TRANSACTION | CONDITION)
async def _register(store: Store[Async], registrant: Registrant) -> Done | Taken:
    create = store.of(Registrant).put(registrant).if_not_exists()
    takes = _takes(store, claims_of(registrant))
    result = await store.transact(create, *takes.values()).try_send()
    if isinstance(result, Applied):
        return Done(result.stored.stored(create))
    if result.seen.reason_for(create) is Reason.CONDITION_FAILED:
        existing = result.seen.item_for(create)
        if existing is not None and existing.registration == registrant.registration:
            return Done(existing)
        return Taken("id")
    return _taken(takes, result.seen, registrant.id)


async def change(store: Store[Async], id: str, decide: Callable[[Registrant], Registrant]) -> Done | Taken:  # noqa: A002
    """Let *decide* answer the new record for the stored one; release the values it has no more, claim its new ones.

    *decide* is called again after a conflict, so it must have no effects. Raises ItemNotFound, Contended,
    ClaimsDamaged, whatever *decide* raises, and OutcomeUnknown: another call does nothing if this one was done.
    """
    with _or_contended(id):
        return await _change(store, id, decide)


@retry_on_conflict(attempts=RUNS, on=VERSION | TRANSACTION | CONDITION)
async def _change(store: Store[Async], id: str, decide: Callable[[Registrant], Registrant]) -> Done | Taken:  # noqa: A002
    old = await store.of(Registrant).get(id=id).required().send()
    new = decide(old)
    if (new.id, new.registration) != (old.id, old.registration):
        msg = f"the id and the registration of {id} cannot change: register another record"
        raise ValueError(msg)
    # what stays the same value keeps its claim, however it is written: a transaction takes one write for each item
    held, wanted = claims_of(old), claims_of(new)
    if new == old:
        return Done(old)
    rewrite = store.of(Registrant).update(old).to(new)
    takes = _takes(store, {key: claim for key, claim in wanted.items() if key not in held})
    releases = _releases(store, [claim for key, claim in held.items() if key not in wanted])
    result = await store.transact(rewrite, *releases, *takes.values()).try_send()
    if isinstance(result, Applied):
        return Done(result.stored.stored(rewrite))
    if any(result.seen.reason_for(each) for each in releases):
        raise _damaged(id)
    return _taken(takes, result.seen, id)


async def release(store: Store[Async], id: str, value: str) -> Done | Taken:  # noqa: A002
    """Give up a handle or phone, however it is written; doing it again does nothing. Raises as `change` does."""

    def without(registrant: Registrant) -> Registrant:
        given_up, handle = normalise(value), registrant.handle
        kept = None if handle is not None and normalise(handle) == given_up else handle
        phones = frozenset(each for each in registrant.phones if normalise(each) != given_up)
        return evolve(registrant, handle=kept, phones=phones)

    return await change(store, id, without)


async def delete(store: Store[Async], id: str) -> Registrant | None:  # noqa: A002
    """Delete a record and release its values; answers what was deleted, None if nothing was there.

    Raises Contended, ClaimsDamaged, and OutcomeUnknown: deleting again is harmless.
    """
    with _or_contended(id):
        return await _delete(store, id)


@retry_on_conflict(attempts=RUNS, on=VERSION | TRANSACTION | CONDITION)
async def _delete(store: Store[Async], id: str) -> Registrant | None:  # noqa: A002
    registrant = await store.of(Registrant).get(id=id).send()
    if registrant is None:
        return None
    releases = _releases(store, claims_of(registrant).values())
    result = await store.transact(store.of(Registrant).delete(registrant), *releases).try_send()
    if isinstance(result, Applied):
        return registrant
    raise _damaged(id)


async def find(store: Store[Async], field: str, value: str) -> Registrant | None:
    """The record that has this value, however it is written. Raises ValueError for a field that is not unique."""
    if field not in FIELDS:
        msg = f"a record is found by {', '.join(FIELDS)}; got {field!r}"
        raise ValueError(msg)
    claim = await store.of(Claim).get(field=field, value=value).strongly_consistent().send()
    if claim is None:
        return None
    registrant = await store.of(Registrant).get(id=claim.owner).send()
    if registrant is None or (field, claim.value) not in claims_of(registrant):
        # it was given up between the two reads
        return None
    return registrant


# ---- claims


def _takes(store: Store[Async], claims: Claims) -> Takes:
    return {key: store.of(Claim).put(claim).if_not_exists() for key, claim in claims.items()}


def _releases(store: Store[Async], claims: Iterable[Claim]) -> list[Delete[Async, Claim]]:
    return [store.of(Claim).delete(claim).if_(F(Claim.owner).eq(claim.owner)) for claim in claims]


def _taken(takes: Takes, failures: Failures, owner: str) -> Taken:
    """Which value is another's. Raises TransactionConflict, to look again, where that is not so any more."""
    for (field, _), take in takes.items():
        claim = failures.item_for(take)
        if claim is not None and claim.owner != owner:
            return Taken(field)
    msg = f"the values of {owner} changed hands meanwhile"
    raise TransactionConflict(msg)


@contextmanager
def _or_contended(id: str) -> Generator[None, None, None]:  # noqa: A002
    try:
        yield
    except (TransactionCanceled, TransactionConflict) as error:
        if error.conflict is None:
            raise
        msg = f"others were in the way each time: nothing was changed for {id}"
        raise Contended(msg) from error


def _damaged(id: str) -> ClaimsDamaged:  # noqa: A002
    return ClaimsDamaged(f"{id}: a value that it has is not claimed by it; compare its record with the claims")
