"""Recipes inside a caller's own retry, and what they may say after an answer was lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import Any

import pytest

from dynamap import (
    OutcomeUnknown,
    Store,
    Sync,
    Table,
    TransactionCanceled,
    entity,
    evolve,
    retry_on_conflict,
)
from dynamap.backoff import time_left
from dynamap.testing import AnyFault, Cancellation, Fault, FaultPlan, memory_store
from recipes import counters, gapless_sequence, idempotency, uniqueness

NOW = datetime.now(timezone.utc)
ATTEMPTS = 10
"""How often a write whose answer is lost, or that meets a conflict, is sent by one `send()`."""


@entity("INVOICE", pk="INVOICE#{number}", sk="INVOICE")
class Invoice:
    number: int


@entity("WALLET", pk="WALLET#{owner}", sk="WALLET", version="revision", frozen=True)
class Wallet:
    owner: str
    left: int = 5
    revision: int = 0


SHOP = Table(
    "shop",
    [
        Invoice,
        Wallet,
        counters.MarkedTally,
        counters.Marker,
        gapless_sequence.Numbered,
        gapless_sequence.NumberClaim,
        idempotency.Answered[int],
        uniqueness.Claim,
        uniqueness.Registrant,
    ],
    ttl="ttl",
)


def faulty(faults: Mapping[int, AnyFault]) -> tuple[Store[Sync], FaultPlan]:
    plan = FaultPlan(faults)
    return plan.over(memory_store(SHOP)), plan


def count(store: Store[Sync]) -> Any:
    return counters.count_by_marker(store, "signups", "event", NOW)


def issue(store: Store[Sync]) -> Any:
    return gapless_sequence.issue(store, "invoice", "order", Invoice).number


def register(store: Store[Sync]) -> Any:
    return uniqueness.register(store, uniqueness.Registrant("ann", "form", "ann@example.org"))


def pay(store: Store[Sync]) -> int:
    def effect() -> idempotency.Effect[int]:
        wallet = Wallet("ann")
        return idempotency.Effect(1, [store.of(Wallet).put(wallet)])

    return idempotency.IdempotentTransaction(store, idempotency.Answered[int]).run("key", "tea", effect)


# the recipe, and the number of its first call that is a write
RECIPES: list[tuple[Callable[[Store[Sync]], Any], int]] = [(count, 1), (issue, 3), (register, 1), (pay, 2)]


def go_on(seconds: float) -> None:
    """Waits for nothing."""


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", go_on)


@pytest.mark.parametrize(("call", "first"), RECIPES, ids=["count", "issue", "register", "pay"])
def test_a_retry_around_a_recipe_runs_it_again(call: Callable[[Store[Sync]], Any], first: int) -> None:
    store, _ = faulty(dict.fromkeys(range(first, first + ATTEMPTS), Fault.CONFLICT))
    runs: list[None] = []

    @retry_on_conflict(attempts=3)
    def order() -> Any:
        runs.append(None)
        return call(store)

    assert order()
    assert len(runs) == 2


def test_a_lost_race_is_run_again_by_a_retry_around_it() -> None:
    store = memory_store(SHOP)
    uniqueness.register(store, uniqueness.Registrant("ann", "form", "ann@example.org"))
    rivals = ["1"]

    def decide(old: uniqueness.Registrant) -> uniqueness.Registrant:
        if rivals:
            phones = frozenset({rivals.pop()})
            uniqueness.change(store, "ann", lambda each: evolve(each, phones=phones))
        return evolve(old, handle="boss")

    @retry_on_conflict
    def order() -> Any:
        return uniqueness.change(store, "ann", decide)

    done = order()
    assert isinstance(done, uniqueness.Done)
    assert (done.registrant.handle, done.registrant.phones) == ("boss", frozenset({"1"}))


def test_after_a_lost_answer_a_busy_table_does_not_say_that_nothing_was_done() -> None:
    lost = dict.fromkeys(range(1, 1 + ATTEMPTS), Fault.DROP_AFTER)
    store, _ = faulty({**lost, **dict.fromkeys(range(1 + ATTEMPTS, 1000), Fault.CONFLICT)})
    with pytest.raises(OutcomeUnknown):
        count(store)


def test_after_a_lost_answer_what_makes_the_document_does_not_hide_it() -> None:
    # the request may still be under way
    store, _ = faulty(dict.fromkeys(range(3, 3 + ATTEMPTS), Fault.DROP_BEFORE))
    made: list[int] = []

    def make(number: int) -> Invoice:
        if made:
            raise LookupError
        made.append(number)
        return Invoice(number)

    with pytest.raises(OutcomeUnknown) as caught:
        gapless_sequence.issue(store, "invoice", "order", make)
    assert isinstance(caught.value.__cause__, LookupError)


def test_after_a_lost_answer_an_effect_that_fails_does_not_hide_it() -> None:
    store, _ = faulty(dict.fromkeys(range(2, 2 + ATTEMPTS), Fault.DROP_BEFORE))
    made: list[int] = []

    def effect() -> idempotency.Effect[int]:
        if made:
            raise LookupError
        made.append(1)
        return idempotency.Effect(1, [store.of(Wallet).put(Wallet("ann"))])

    with pytest.raises(OutcomeUnknown) as caught:
        idempotency.IdempotentTransaction(store, idempotency.Answered[int]).run("key", "tea", effect)
    assert isinstance(caught.value.__cause__, LookupError)


@pytest.mark.parametrize(("call", "first", "items"), [(count, 1, 2), (issue, 3, 3)], ids=["count", "issue"])
def test_what_no_repetition_cures_is_not_called_busy(
    call: Callable[[Store[Sync]], Any], first: int, items: int
) -> None:
    store, plan = faulty({first: Cancellation(["ValidationError", *["None"] * (items - 1)])})
    with pytest.raises(TransactionCanceled) as caught:
        call(store)
    assert caught.value.conflict is None
    assert len(plan.calls) == first


def test_the_deadline_is_for_the_whole_call() -> None:
    left: list[float | None] = []
    calls = range(1, 6 * ATTEMPTS + 1)
    plan = FaultPlan(
        dict.fromkeys(calls, Fault.DROP_BEFORE), before=dict.fromkeys(calls, lambda: left.append(time_left()))
    )
    with pytest.raises(OutcomeUnknown):
        counters.count_by_marker(plan.over(memory_store(SHOP)), "signups", "event", NOW)
    seconds = [each for each in left if each is not None]
    assert len(seconds) == len(plan.calls) > ATTEMPTS
    assert seconds == sorted(seconds, reverse=True), "a run that follows a lost answer has no more time than was left"


def test_after_a_lost_answer_an_event_is_not_called_too_late() -> None:
    store, _ = faulty(dict.fromkeys(range(1, 1 + ATTEMPTS), Fault.DROP_AFTER))
    times = iter([0.0, 1e12])
    with pytest.raises(OutcomeUnknown):
        counters.count_by_marker(store, "signups", "event", NOW, clock=lambda: next(times))


def test_after_a_lost_answer_nobody_is_told_that_a_value_is_taken() -> None:
    """The request that was lost may be done later, when the value is free again."""
    inside = memory_store(SHOP)
    uniqueness.register(inside, uniqueness.Registrant("bea", "form 2", "ann@example.org"))
    plan = FaultPlan(dict.fromkeys(range(1, 1 + ATTEMPTS), Fault.DROP_BEFORE))
    with pytest.raises(OutcomeUnknown):
        register(plan.over(inside))
    assert register(inside) == uniqueness.Taken("email")
