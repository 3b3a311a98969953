"""How many calls and capacity units an operation of a recipe takes when nothing is in its way, on a table in memory.

python -m benchmarks.recipe_calls
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from decimal import Decimal

from benchmarks.tables import table
from dynamap import CallInfo, F, Store, Sync, Table, entity, evolve
from dynamap.testing import memory_store
from recipes import (
    counters,
    gapless_sequence,
    hilo,
    idempotency,
    optimistic_locking,
    out_of_order,
    outbox,
    soft_delete,
    truncate,
    uniqueness,
)

NOW = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
BLOCK = 100
SHARDS = 4
DRAFTS = 30


@entity("INVOICE", pk="INVOICE#{number}", sk="INVOICE")
class Invoice:
    """What a number of a sequence is for."""

    number: int


@entity("PAYMENT", pk="PAYMENT#{id}", sk="STATE", version="revision")
class Payment:
    """What the events of an outbox tell of."""

    id: str
    state: str = "new"
    revision: int = 0


@entity("MEMBER", pk="CLUB#{club}", sk="MEMBER#{name}", ttl="purge_at")
class Member(soft_delete.SoftDeletable):
    """What is deleted and comes back."""

    club: str
    name: str


@entity("MEMBER_MAIL", pk="MEMBER_MAIL#{mail}", sk="MEMBER_MAIL", frozen=True)
class MemberMail:
    """The unique value of a member."""

    mail: str


@entity("DRAFT", pk="DRAFT#{number}", sk="DRAFT")
class Draft:
    """What is truncated."""

    number: int


@dataclass(frozen=True)
class DraftKey:
    """The key of a draft."""

    number: int


MODELS: Mapping[str, tuple[type, ...]] = {
    "counters": (
        counters.Counter,
        counters.MarkedTally,
        counters.Marker,
        counters.SetTally,
        counters.Shard,
        counters.Shards,
        counters.Stock,
    ),
    "gapless_sequence": (gapless_sequence.NumberClaim, gapless_sequence.Numbered, Invoice),
    "hilo": (hilo.HiLoBlock,),
    "idempotency": (idempotency.Answered[str], idempotency.LeasedCall[str], counters.Stock),
    "optimistic_locking": (optimistic_locking.Account,),
    "out_of_order": (out_of_order.LiveMatch, out_of_order.Standing),
    "outbox": (outbox.OutboxEvent, outbox.OutboxLease, Payment),
    "soft_delete": (Member, MemberMail),
    "truncate": (Draft,),
    "uniqueness": (uniqueness.Claim, uniqueness.Registrant),
}
"""The classes of each recipe, and those that its cases take besides."""


def table_of(name: str, *recipes: str) -> Table:
    """A table with the classes of these recipes."""
    models = dict.fromkeys(model for recipe in recipes for model in MODELS[recipe])
    return Table(name, list(models), ttl="ttl")


Everything = table_of("bench", *MODELS)

ALICE = uniqueness.Registrant("alice", "first", "alice@example.com", "alice")


@dataclass(frozen=True)
class Case:
    """A logical operation, what must be done before it, and how many of its results one run makes.

    An operation that goes on with what was made before is what *before* answers, and *run* is None.
    """

    run: Callable[[Store[Sync]], object] | None
    before: Callable[[Store[Sync]], object] = lambda _: None
    results: int = 1


def _clock() -> float:
    return NOW.timestamp()


def _two_accounts(store: Store[Sync]) -> None:
    for name in ("ann", "bob"):
        store.of(optimistic_locking.Account).put(optimistic_locking.Account(name, Decimal(10))).send()


def _deposit(store: Store[Sync]) -> object:
    accounts = store.of(optimistic_locking.Account)
    return optimistic_locking.change(accounts, "ann", lambda old: evolve(old, balance=old.balance + 1))


def _stock(store: Store[Sync]) -> object:
    return store.of(counters.Stock).put(counters.Stock("book", 9)).send()


def _spend(store: Store[Sync]) -> object:
    stocks = store.of(counters.Stock)
    once = idempotency.IdempotentTransaction(store, idempotency.Answered[str], clock=_clock)
    take = stocks.update(sku="book").add(F(counters.Stock.left), -1)
    return once.run("key", {"sku": "book"}, lambda: idempotency.Effect("taken", [take]))


def _lease(store: Store[Sync]) -> object:
    once = idempotency.IdempotentCall(store, idempotency.LeasedCall[str], lease=10, clock=_clock)
    return once.run("key", {}, lambda: "done")


def _numbers(store: Store[Sync]) -> object:
    allocator = hilo.HiLo(store, "orders", BLOCK)
    return [allocator.next() for _ in range(BLOCK)]


def _issue(store: Store[Sync]) -> object:
    return gapless_sequence.issue(store, "invoices", "order-2", Invoice)


def _mark(store: Store[Sync]) -> object:
    return counters.count_by_marker(store, "visits", "event", NOW, clock=_clock)


def _score(store: Store[Sync], late: timedelta = timedelta()) -> object:
    matches = store.of(out_of_order.LiveMatch)
    return out_of_order.change_score(matches, "final", 1, 0, out_of_order.Stamp(NOW - late, "event"))


def _sharded(store: Store[Sync]) -> counters.ShardedCounter:
    return counters.ShardedCounter(store, "votes")


class _Broker:
    """Takes every event."""

    def publish(self, event: outbox.OutboxEvent, /) -> None:
        """Do nothing."""


RELAYED = outbox.bucket_of("payment")


def _record(store: Store[Sync]) -> object:
    payment = store.of(Payment).put(Payment("payment"))
    return store.transact(payment, outbox.record(store, "payment", 0, "paid")).send()


def _sweep(store: Store[Sync], bucket: int = RELAYED) -> object:
    return outbox.Relay(store, _Broker()).sweep(bucket)


def _swept(store: Store[Sync], *, event: bool) -> Callable[[], object]:
    """The next sweep of a relay that holds its bucket."""
    relay = outbox.Relay(store, _Broker())
    relay.sweep(RELAYED)
    if event:
        _record(store)
    return lambda: relay.sweep(RELAYED)


def _members(store: Store[Sync], *, claims: bool) -> soft_delete.SoftRepository[Member]:
    mails = store.of(MemberMail)
    by_mail: soft_delete.Claims[Member] = soft_delete.Claims(
        claim=lambda member: [mails.put(MemberMail(member.name)).if_not_exists()],
        release=lambda member: [mails.delete(mail=member.name)],
    )
    return soft_delete.SoftRepository(store, Member, claims=by_mail if claims else None, clock=_clock)


def _join(store: Store[Sync], *, claims: bool = False) -> object:
    return _members(store, claims=claims).create(Member(club="chess", name="ann"))


def _leave(store: Store[Sync], *, claims: bool = False) -> object:
    return _members(store, claims=claims).delete(club="chess", name="ann", by="bob")


def _come_back(store: Store[Sync], *, claims: bool = False) -> object:
    return _members(store, claims=claims).restore(club="chess", name="ann")


def _write_drafts(store: Store[Sync]) -> object:
    return store.of(Draft).put_many(Draft(number) for number in range(DRAFTS)).send()


def _truncate(store: Store[Sync]) -> object:
    drafts = store.of(Draft)
    return truncate.truncate(drafts, confirm=drafts.scan().params()["TableName"], keys=DraftKey)


def _register(store: Store[Sync]) -> object:
    return uniqueness.register(store, ALICE)


def _readdress(store: Store[Sync]) -> object:
    return uniqueness.change(store, "alice", lambda old: evolve(old, email="new@example.com"))


CASES: Mapping[str, Case] = {
    "optimistic_locking.change": Case(_deposit, _two_accounts),
    "optimistic_locking.transfer": Case(
        lambda store: optimistic_locking.transfer(store, Decimal(1), source="ann", target="bob"), _two_accounts
    ),
    "counters.add": Case(lambda store: counters.add(store.of(counters.Counter), "visits")),
    "counters.take": Case(lambda store: counters.take(store.of(counters.Stock), "book", 1), _stock),
    "counters.count_in_set": Case(
        lambda store: counters.count_in_set(store.of(counters.SetTally), "visits", "event", NOW)
    ),
    "counters.count_by_marker": Case(_mark),
    "counters.ShardedCounter.add, the first": Case(
        lambda store: _sharded(store).add(), lambda store: _sharded(store).grow(SHARDS)
    ),
    f"counters.ShardedCounter.total, {SHARDS} shards": Case(
        lambda store: _sharded(store).total(), lambda store: _sharded(store).grow(SHARDS)
    ),
    f"hilo.HiLo.next, blocks of {BLOCK}": Case(_numbers, lambda store: hilo.create(store, "orders"), results=BLOCK),
    "gapless_sequence.issue": Case(_issue, lambda store: gapless_sequence.issue(store, "invoices", "order-1", Invoice)),
    "gapless_sequence.issue, repeated": Case(_issue, _issue),
    "idempotency.IdempotentTransaction.run": Case(_spend, _stock),
    "idempotency.IdempotentTransaction.run, repeated": Case(_spend, lambda store: (_stock(store), _spend(store))),
    "idempotency.IdempotentCall.run": Case(_lease),
    "idempotency.IdempotentCall.run, repeated": Case(_lease, _lease),
    "out_of_order.change_score": Case(_score),
    "out_of_order.change_score, late": Case(lambda store: _score(store, timedelta(minutes=1)), _score),
    "outbox.record, with its change": Case(_record),
    "outbox.Relay.sweep, the first, of an event": Case(_sweep, _record),
    "outbox.Relay.sweep, of an event": Case(None, lambda store: _swept(store, event=True)),
    "outbox.Relay.sweep, of nothing": Case(None, lambda store: _swept(store, event=False)),
    "soft_delete.SoftRepository.create": Case(_join),
    "soft_delete.SoftRepository.delete": Case(_leave, _join),
    "soft_delete.SoftRepository.delete, with a claim": Case(
        lambda store: _leave(store, claims=True), lambda store: _join(store, claims=True)
    ),
    "soft_delete.SoftRepository.restore": Case(_come_back, lambda store: (_join(store), _leave(store))),
    f"truncate.truncate, {DRAFTS} items": Case(_truncate, _write_drafts),
    "uniqueness.register, two values": Case(_register),
    "uniqueness.register, repeated": Case(_register, _register),
    "uniqueness.change of a value": Case(_readdress, _register),
    "uniqueness.find": Case(lambda store: uniqueness.find(store, "email", "alice@example.com"), _register),
}


READS = ("BatchGetItem", "GetItem", "Query", "Scan", "TransactGetItems")


@dataclass
class Taken:
    """What one run took: its calls by operation, and the capacity units of those that were answered."""

    calls: Counter[str] = field(default_factory=Counter[str])
    read_units: float = 0
    write_units: float = 0

    def note(self, call: CallInfo) -> None:
        """Count a call in."""
        self.calls[call.operation] += 1
        if call.operation in READS:
            self.read_units += call.units or 0
        else:
            self.write_units += call.units or 0


def taken_by(case: Case, table: Table = Everything) -> Taken:
    """What the one run takes, on a table in memory."""
    seen: list[CallInfo] = []
    store = memory_store(table, clock=_clock, on_call=seen.append)
    before = case.before(store)
    seen.clear()
    if case.run is not None:
        case.run(store)
    elif callable(before):
        before()
    taken = Taken()
    for call in seen:
        taken.note(call)
    return taken


def show_calls() -> None:
    """Print what every case takes; a failed condition, whose units the service does not report, is missing in them."""
    rows: list[tuple[str, list[str]]] = []
    for name, case in CASES.items():
        found = taken_by(case)
        numbers = (found.calls.total(), found.read_units, found.write_units)
        operations = ", ".join(f"{count} {operation}" for operation, count in found.calls.items())
        rows.append((name, [*(f"{number / case.results:g}" for number in numbers), operations]))
    print()
    heads = ["calls", "read units", "write units", "which"]
    print(table("calls of a logical operation, undisturbed", heads, rows))


if __name__ == "__main__":
    show_calls()
