"""Proof of idempotency keys. The letters are those of its page's list of what is proven."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from decimal import Decimal
from types import ModuleType
from typing import Any

from dynamap import Async, OutcomeUnknown, Store, Sync, Table, entity, evolve
from dynamap.backoff import pause_thread
from dynamap.testing import Clocks, Items, Outcome, Run
from tests.proofs.framework import Mutant, Scenario, Stage, StagedBench

pause: Any = pause_thread
pause = asyncio.sleep  # asyncio only

PRICE = Decimal("60.00")
FIRST = 1_700_000_000
EDGE = FIRST + 1000
LEASE = 10.0

writer: ContextVar[str] = ContextVar("writer", default="")


@entity("WALLET", pk="WALLET#{owner}", sk="WALLET", version="revision", frozen=True)
class Wallet:
    owner: str
    balance: Decimal = PRICE
    revision: int = 0


@entity("CHARGE", pk="CHARGE#{key}#{number:06}", sk="CHARGE", frozen=True)
class Charge:
    """An effect: there may be several of one key, so that those who are too many show."""

    key: str
    number: int
    request: str = ""


class TooPoor(Exception):
    pass


class Failed(Exception):
    pass


async def settled(recipe: ModuleType, call: Callable[[], Any]) -> Any:
    """What a call comes to, plain exceptions as words."""
    try:
        return await call()
    except TooPoor:
        return "too poor"
    except recipe.PayloadMismatch:
        return "mismatch"
    except recipe.Contended:
        return "contended"


CALLERS = (("one", "k", "tea"), ("again", "k", "tea"), ("other", "k", "cake"), ("poor", "p", "tea"))


def check_answer(name: str, outcome: Outcome, made: str | None, request: str) -> None:
    """I1, I3, I6: what a caller gets, if the effect of its key was *made* for this request, or there is none."""
    assert outcome.error is None or isinstance(outcome.error, OutcomeUnknown), f"{name}: {outcome.error!r}"
    if outcome.returned:
        result = outcome.result
        right = "too poor" if made is None else Decimal(0) if made == request else "mismatch"
        assert "mismatch" not in {result, right} or result == right, f"I3: {name} gets {result!r}, not {right!r}"
        assert result == right, f"I1: {name} gets {result!r}, not {right!r}"
        assert repr(result) == repr(right), f"I6: {name} gets {result!r}, not {right!r}"


def charges(recipe: ModuleType, stage: Stage) -> StagedBench:
    """I1, I3, I6: one charge for a key, and one answer, though the money is enough for one only."""
    table = Table("shop", [recipe.Answered[Decimal], Wallet, Charge], ttl="ttl")
    bench = stage.bench(table, fault_rate=0.2, clocks=Clocks(skew=60, jumps=(-60, 60)))
    numbers = itertools.count()

    @bench.setup
    def fill(store: Store[Sync]) -> None:
        store.of(Wallet).put(Wallet("ann")).send()

    async def charge(store: Store[Async], key: str, request: str) -> Any:
        wallets = store.of(Wallet)
        number = next(numbers)

        async def effect() -> Any:
            wallet = await wallets.get(owner="ann").required().send()
            if wallet.balance < PRICE:
                raise TooPoor
            paid = evolve(wallet, balance=wallet.balance - PRICE)
            return recipe.Effect(
                paid.balance,
                [store.of(Charge).put(Charge(key, number, request)).if_not_exists(), wallets.update(wallet).to(paid)],
            )

        call = recipe.IdempotentTransaction(store, recipe.Answered[Decimal], clock=bench.clock)
        return await settled(recipe, lambda: call.run(key, {"for": request}, effect))

    for name, key, request in CALLERS:
        bench.client(charge, key, request, name=name, restarts=1)

    @bench.invariant
    def one_effect_for_a_key(items: Items) -> None:
        made = {each.key: each for each in items.of(Charge)}
        assert len(made) == len(items.of(Charge)), "I1: a key has several effects"
        records = {each.key: each for each in items.of(recipe.Answered[Decimal])}
        assert sorted(made) == sorted(records), f"I1: effects of {sorted(made)}, records of {sorted(records)}"
        for key, record in records.items():
            expected = recipe.fingerprint({"for": made[key].request})
            assert record.request == expected, "I3: the record is of another request than the effect"

    @bench.afterwards
    def everyone_gets_the_one_answer(run: Run) -> None:
        made = {each.key: each.request for each in run.items.of(Charge)}
        for name, key, request in CALLERS:
            check_answer(name, run.outcomes[name], made.get(key), request)

    return bench


def transactions_at_the_end(recipe: ModuleType, stage: Stage, reaper: bool) -> StagedBench:
    table = Table("shop", [recipe.Answered[int], Charge], ttl="ttl")
    bench = stage.bench(table, fault_rate=0.2, reaper=reaper)

    @bench.setup
    def earlier_answers(store: Store[Sync]) -> None:
        for key, expires_at in (("edge", EDGE), ("old", FIRST - 1)):
            record = recipe.Answered(key, recipe.fingerprint(""), 0, expires_at)
            store.of(recipe.Answered[int]).put(record).include_expired().send()

    async def call(store: Store[Async], key: str, number: int, clock: Callable[[], float]) -> Any:
        async def effect() -> Any:
            return recipe.Effect(number, [store.of(Charge).put(Charge(key, number)).if_not_exists()])

        once = recipe.IdempotentTransaction(store, recipe.Answered[int], clock=clock)
        return await settled(recipe, lambda: once.run(key, "", effect))

    return with_clients(bench, call)


def calls_at_the_end(recipe: ModuleType, stage: Stage, reaper: bool) -> StagedBench:
    table = Table("shop", [recipe.LeasedCall[int], Charge], ttl="ttl")
    bench = stage.bench(table, fault_rate=0.2, reaper=reaper)

    @bench.setup
    def earlier_answers(store: Store[Sync]) -> None:
        for key, expires_at in (("edge", EDGE), ("old", FIRST - 1)):
            record = recipe.LeasedCall(
                key, recipe.fingerprint(""), "me", FIRST - 9.0, expires_at, recipe.State.COMPLETED, 0
            )
            store.of(recipe.LeasedCall[int]).put(record).include_expired().send()

    async def call(store: Store[Async], key: str, number: int, clock: Callable[[], float]) -> Any:
        async def body() -> int:
            await store.of(Charge).put(Charge(key, number)).send()
            return number

        once = recipe.IdempotentCall(store, recipe.LeasedCall[int], lease=LEASE, clock=clock)
        try:
            return await settled(recipe, lambda: once.run(key, "", body))
        except (recipe.InProgress, recipe.LeaseLost):
            return None

    return with_clients(bench, call)


def with_clients(bench: StagedBench, call: Callable[..., Any]) -> StagedBench:
    """I4, I7: a record holds until the second in which it ends, and not in it, whether or not it is still there."""
    bench.client(call, "edge", 1, lambda: float(EDGE), name="at the end")
    bench.client(call, "edge", 2, lambda: EDGE - 0.5, name="before")
    bench.client(call, "old", 3, bench.clock, name="late")
    bench.client(call, "old", 4, bench.clock, name="later")

    @bench.afterwards
    def expired_is_absent(run: Run) -> None:
        results = {name: outcome.result for name, outcome in run.outcomes.items() if outcome.returned}
        made = [(each.key, each.number) for each in run.items.of(Charge)]
        assert ("edge", 2) not in made, "I4: a record was replaced before its end"
        assert results.get("at the end") in (None, 1), "I7: a record counted at its end"
        assert results.get("before") in (None, 0, 1)
        assert sum(key == "old" for key, _ in made) <= 1, "I1, I4: an expired record counts as none, once"
        answers = {results[name] for name in ("late", "later") if results.get(name) is not None}
        assert answers <= {number for key, number in made if key == "old"}, f"I4: {answers} of {made}"

    return bench


def expired_transactions_reaped(recipe: ModuleType, stage: Stage) -> StagedBench:
    """I4, I7, where DynamoDB may delete what has expired at any time."""
    return transactions_at_the_end(recipe, stage, reaper=True)


def expired_transactions_kept(recipe: ModuleType, stage: Stage) -> StagedBench:
    """The same, where it never does."""
    return transactions_at_the_end(recipe, stage, reaper=False)


def expired_calls_reaped(recipe: ModuleType, stage: Stage) -> StagedBench:
    """I4, I7 of leased calls."""
    return calls_at_the_end(recipe, stage, reaper=True)


def expired_calls_kept(recipe: ModuleType, stage: Stage) -> StagedBench:
    """The same, where nothing is deleted."""
    return calls_at_the_end(recipe, stage, reaper=False)


class Watch:
    """I2, I5: who may change the record of a key, and when."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.begin()

    def begin(self) -> None:
        self.record: Any = None
        self.owners: dict[str, str] = {}
        self.bodies = 0

    def see(self, recipe: ModuleType, new: Any) -> None:
        old, self.record = self.record, new
        working = recipe.State.IN_PROGRESS
        if new is not None and new.owner not in self.owners:
            assert new.state is working, "I2: an answer of nobody"
            self.owners[new.owner] = writer.get()
            free = old is None or (old.state is working and self.clock() >= old.leased_until)
            assert free, "I2: taken over before the lease was over, or after the answer"
            assert old is None or old.request == new.request, "I3: taken over for another request"
        elif old != new:
            assert old is not None, "I2: a lease that came back"
            assert old.state is working, "I2: an answer was changed"
            assert self.owners[old.owner] == writer.get(), "I2: changed by one who had lost it"
            assert new is None or new.owner == old.owner, "I2: another one's record came back"


async def persistently(recipe: ModuleType, bench: StagedBench, watch: Watch, call: Callable[[], Any]) -> Any:
    """What a call comes to in the end, for one who waits for the others."""
    for _ in range(12):
        try:
            return await settled(recipe, call)
        except recipe.InProgress as error:
            await pause(max(0.0, error.until - bench.clock()) + 1)
        except (Failed, OutcomeUnknown):
            await pause(1)
        except recipe.LeaseLost:
            owner = None if watch.record is None else watch.owners[watch.record.owner]
            assert owner != writer.get(), "I2: it was told that its answer is lost"
    return "gave up"


def leases(recipe: ModuleType, stage: Stage) -> StagedBench:
    """I2, I3, I5, I6: one body at a time while leases last, one answer for ever, and an end to every crash."""
    table = Table("shop", [recipe.LeasedCall[int], Charge], ttl="ttl")
    bench = stage.bench(table, fault_rate=0.15, clocks=Clocks(skew=2, stalls=(12,)))
    watch = Watch(bench.clock)

    @bench.setup
    def begin(store: Store[Sync]) -> None:
        watch.begin()

    async def call(store: Store[Async], name: str, request: str, fails: bool) -> Any:
        writer.set(name)
        once = recipe.IdempotentCall(store, recipe.LeasedCall[int], lease=LEASE, clock=bench.clock)
        left = [Failed()] if fails else []

        async def body() -> int:
            answered = watch.record is not None and watch.record.state is recipe.State.COMPLETED
            assert not answered, "I6: it begins again though it was answered"
            number = watch.bodies
            watch.bodies += 1
            await store.of(Charge).put(Charge("k", number)).send()
            if left:
                raise left.pop()
            return number

        return await persistently(recipe, bench, watch, lambda: once.run("k", request, body))

    names = ("one", "fails", "third", "other")
    for name in names:
        bench.client(call, name, "cake" if name == "other" else "tea", name == "fails", name=name, restarts=1)

    @bench.invariant
    def only_owners_change_a_record(items: Items) -> None:
        watch.see(recipe, next(iter(items.of(recipe.LeasedCall[int])), None))
        assert watch.bodies <= len(watch.owners), "I2: a body ran without a lease"

    @bench.afterwards
    def everyone_gets_the_one_answer(run: Run) -> None:
        results = [outcome.result for outcome in run.outcomes.values() if outcome.returned]
        assert "gave up" not in results, "I5: nobody takes over"
        answers = {result for result in results if result != "mismatch"}
        records = run.items.of(recipe.LeasedCall[int])
        stored = {each.answer for each in records if each.state is recipe.State.COMPLETED}
        assert None not in answers, f"I6: no answer for {stored}"
        assert answers <= stored, f"I2: {answers} for {stored}"

    return bench


SCENARIOS: Sequence[Scenario] = (
    charges,
    leases,
    expired_transactions_reaped,
    expired_transactions_kept,
    expired_calls_reaped,
    expired_calls_kept,
)

MUTANTS: Sequence[Mutant] = (
    Mutant(
        "I1",
        "the record takes what is there",
        "put(record).if_(free).include_expired()",
        "put(record)",
        ("expired_transactions_kept",),
    ),
    Mutant(
        "I1",
        "the record is written after the effect",
        "done = await self._store.transact(claim, *wanted.writes).send()",
        "await self._store.transact(*wanted.writes).send(); done = await self._store.transact(claim).send()",
        ("charges",),
    ),
    Mutant("I1", "the effect's own repetition is refused", "if answered is None:", "if True:", ("charges",)),
    Mutant("I3", "whoever knows the key", "if stored != asked:", "if not stored:", ("charges", "leases")),
    Mutant(
        "I6",
        "the first answer passes by the codec",
        "return done.stored(claim).answer",
        "return wanted.answer",
        ("charges",),
    ),
    Mutant(
        "I4",
        "an expired record counts in the condition",
        "free = F(Answered.expires_at).not_exists_or_le(math.floor(now))",
        "free = F(Answered.expires_at).not_exists()",
        ("expired_transactions_kept",),
    ),
    Mutant(
        "I7",
        "another end in the condition",
        "F(Answered.expires_at).not_exists_or_le(",
        "F(Answered.expires_at).not_exists_or_lt(",
        ("expired_transactions_kept",),
    ),
    Mutant(
        "I7",
        "another end in the code",
        "found.expires_at <= now",
        "found.expires_at < now",
        ("expired_transactions_kept",),
    ),
    Mutant(
        "I1",
        "a record that ends at once",
        "math.ceil(now + self._horizon))\n        free = F(Answered",
        "math.ceil(now))\n        free = F(Answered",
        ("expired_transactions_reaped",),
    ),
    Mutant("I2", "whoever comes later completes", "put(completed).if_(_is_held(mine))", "put(completed)", ("leases",)),
    Mutant(
        "I2", "whoever fails deletes", "delete(key=mine.key).if_(_is_held(mine))", "delete(key=mine.key)", ("leases",)
    ),
    Mutant("I2", "a lease that holds nobody off", " & F(LeasedCall.leased_until).le(now)", "", ("leases",)),
    Mutant(
        "I2",
        "its own lost answer is another's",
        "stored = result.stored if isinstance(result, Applied) else result.seen",
        "stored = result.stored if isinstance(result, Applied) else None",
        ("leases",),
    ),
    Mutant(
        "I3", "taken over for another request", "died & F(LeasedCall.request).eq(mine.request)", "died", ("leases",)
    ),
    Mutant(
        "I4",
        "an expired call counts",
        "free = F(LeasedCall.expires_at).not_exists_or_le(math.floor(now))",
        "free = F(LeasedCall.expires_at).not_exists()",
        ("expired_calls_kept",),
    ),
    Mutant(
        "I4",
        "a call is replaced before its end",
        "free | abandoned",
        "free | F(LeasedCall.request).eq(mine.request)",
        ("expired_calls_kept",),
    ),
    Mutant("I5", "a lease without an end", "free | abandoned", "free", ("leases",)),
    Mutant(
        "I6",
        "an answer that counts as none",
        "if completed is not None:",
        "if completed is not None and completed.answer:",
        ("leases",),
    ),
    Mutant(
        "I7",
        "another end of a call",
        "F(LeasedCall.expires_at).not_exists_or_le(",
        "F(LeasedCall.expires_at).not_exists_or_lt(",
        ("expired_calls_kept",),
    ),
)
