"""How many calls a logical operation of a recipe makes when nothing is in its way, counted on a table in memory.

python -m benchmarks.recipe_calls
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal

from benchmarks.tables import table
from dynamap import F, Store, Sync, Table, entity, evolve
from dynamap.testing import FaultPlan, memory_store
from recipes import counters, gapless_sequence, hilo, idempotency, optimistic_locking, out_of_order, uniqueness

NOW = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
BLOCK = 100
SHARDS = 4


@entity("INVOICE", pk="INVOICE#{number}", sk="INVOICE")
class Invoice:
    """What a number of a sequence is for."""

    number: int


Everything = Table(
    "bench",
    [
        Invoice,
        counters.Counter,
        counters.MarkedTally,
        counters.Marker,
        counters.SetTally,
        counters.Shard,
        counters.Shards,
        counters.Stock,
        gapless_sequence.NumberClaim,
        gapless_sequence.Numbered,
        hilo.HiLoBlock,
        idempotency.Answered[str],
        idempotency.LeasedCall[str],
        optimistic_locking.Account,
        out_of_order.LiveMatch,
        uniqueness.Claim,
        uniqueness.Registrant,
    ],
    ttl="ttl",
)

ALICE = uniqueness.Registrant("alice", "first", "alice@example.com", "alice")


@dataclass(frozen=True)
class Case:
    """A logical operation, what must be done before it, and how many of its results one run makes."""

    run: Callable[[Store[Sync]], object]
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
    "uniqueness.register, two values": Case(_register),
    "uniqueness.register, repeated": Case(_register, _register),
    "uniqueness.change of a value": Case(_readdress, _register),
    "uniqueness.find": Case(lambda store: uniqueness.find(store, "email", "alice@example.com"), _register),
}


def calls_of(case: Case) -> Counter[str]:
    """The calls of the one run, by operation."""
    store = memory_store(Everything, clock=_clock)
    case.before(store)
    plan = FaultPlan()
    case.run(plan.over(store))
    return Counter(call.operation for call in plan.calls)


def show_calls() -> None:
    rows: list[tuple[str, list[str]]] = []
    for name, case in CASES.items():
        found = calls_of(case)
        operations = ", ".join(f"{count} {operation}" for operation, count in found.items())
        rows.append((name, [f"{found.total() / case.results:g}", operations]))
    print()
    print(table("calls of a logical operation, undisturbed", ["calls", "which"], rows))


if __name__ == "__main__":
    show_calls()
