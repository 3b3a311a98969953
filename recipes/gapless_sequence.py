"""A sequence without gaps: numbers 1, 2, 3, ... for documents that must have one each, as invoices do.

Guarantees
    The numbers of all documents are 1 to n, at every moment: number, document and the claim of its business key are
    written in one transaction or not at all. One business key (an order) gets one document, however often the call is
    repeated, also after a lost answer or a crash: the claim is looked up before another number is taken.

Does not guarantee
    That a number is never unused later: a document must be voided, never deleted. Throughput: the counter takes one
    transaction after the other, some tens a second; under more than that calls end as Contended. The order of calls:
    numbers are given in the order of the transactions.

Costs
    Two strong reads (2 read units) and a transaction of three items: 6 write units for items of up to 1 KB. Each run
    that met another writer has paid for its reads and for its transaction too.

Take another
    `hilo` where numbers may be missing: it is a hundred times cheaper and never contended. `counters` where nothing
    belongs to the numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from dynamap import (
    CONDITION,
    TRANSACTION,
    F,
    OutcomeUnknown,
    Reason,
    Store,
    Sync,
    TransactionCanceled,
    TransactionConflict,
    Write,
    entity,
    retry_on_conflict,
)
from dynamap import deadline as within

__all__ = ["Contended", "DocumentExists", "Issued", "NumberClaim", "Numbered", "issue"]

RUNS = 30
_UNKNOWN = 5

M = TypeVar("M")


class Contended(TransactionConflict):
    """Other writers were quicker each time: nothing was issued; call again later, as a retry around the call does."""


class DocumentExists(Exception):
    """There is a document under the key that the new one would have: its key must come from its number."""


@entity("NUMBERED", pk="NUMBERED#{sequence}", sk="LAST")
class Numbered:
    """The last number of a sequence."""

    sequence: str
    last: int = 0


@entity("NUMBER_CLAIM", pk="NUMBERED#{sequence}#FOR#{business_key}", sk="CLAIM")
class NumberClaim:
    """Which number a business key has."""

    sequence: str
    business_key: str
    number: int = 0


@dataclass(frozen=True)
class Issued(Generic[M]):
    """The number, and the document if this call has issued it; None if an earlier one had."""

    number: int
    document: M | None


def issue(
    store: Store[Sync], sequence: str, business_key: str, make: Callable[[int], M], *, deadline: float = 10.0
) -> Issued[M]:
    """Give the business key the next number of the sequence, and store the document that *make* answers for it.

    The document is an entity of the store's table whose key comes from its number; *make* is called again with another
    number after a conflict. Raises Contended, or DeadlineExceeded, after about *deadline* seconds, DocumentExists,
    whatever *make* raises, and OutcomeUnknown after lost answers: call it again then too.
    """
    if not sequence or not business_key:
        msg = "the sequence or the business key is empty: all documents without one would be one document"
        raise ValueError(msg)

    @retry_on_conflict(attempts=RUNS, on=TRANSACTION | CONDITION)
    def run() -> Issued[M]:
        return _issue(store, sequence, business_key, make)

    unknown: list[OutcomeUnknown] = []
    with within(deadline):
        while True:
            try:
                return run()
            except OutcomeUnknown as error:
                # the claim tells the next run whether the number was issued
                unknown.append(error)
                if len(unknown) > _UNKNOWN:
                    raise
            except Exception as error:
                if unknown:
                    # that the last run did nothing says nothing of the one before
                    raise unknown[-1] from error
                if not isinstance(error, (TransactionCanceled, TransactionConflict)) or error.conflict is None:
                    raise
                msg = f"the sequence {sequence} is busy: nothing was issued for {business_key}"
                raise Contended(msg) from error


def _issue(store: Store[Sync], sequence: str, business_key: str, make: Callable[[int], M]) -> Issued[M]:
    claims, counters = store.of(NumberClaim), store.of(Numbered)
    issued = claims.get(sequence=sequence, business_key=business_key).strongly_consistent().send()
    if issued is not None:
        return Issued(issued.number, None)
    counter = counters.get(sequence=sequence).strongly_consistent().send()
    number = 1 if counter is None else counter.last + 1
    document = make(number)
    count: Write[Sync, Numbered]
    if counter is None:
        count = counters.put(Numbered(sequence, number)).if_not_exists()
    else:
        last = F(Numbered.last)
        count = counters.update(sequence=sequence).set(last, number).if_(last.eq(counter.last))
    claim = claims.put(NumberClaim(sequence, business_key, number)).if_not_exists()
    store_document = store.of(type(document)).put(document).if_not_exists()
    try:
        store.transact(count, claim, store_document).send()
    except TransactionCanceled as error:
        reasons = [error.reason_for(each) for each in (count, claim, store_document)]
        if reasons == [None, None, Reason.CONDITION_FAILED]:
            msg = f"number {number} of {sequence}: there is a document under this key already"
            raise DocumentExists(msg) from error
        raise
    return Issued(number, document)
