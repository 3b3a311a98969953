"""How idempotency keys are used, and what is refused; copied along with it."""

from __future__ import annotations

import pytest

from dynamap import F, Store, Sync, Table, entity
from dynamap.testing import memory_store
from recipes.idempotency import (
    Answered,
    Effect,
    IdempotentCall,
    IdempotentTransaction,
    InProgress,
    LeasedCall,
    LeaseLost,
    PayloadMismatch,
)

NOW = 1_700_000_000.0
HORIZON = 600.0


@entity("BALANCE", pk="BALANCE#{owner}", sk="BALANCE")
class Balance:
    """What the effects change."""

    owner: str
    spent: int = 0


@pytest.fixture
def store() -> Store[Sync]:
    table = Table("shop", [Balance, Answered[tuple[str, int]], LeasedCall[str | None]], ttl="ttl")
    return memory_store(table, clock=lambda: NOW)


def test_a_transaction_that_is_repeated_has_one_effect(store: Store[Sync]) -> None:
    balances = store.of(Balance)
    balances.put(Balance("ann")).send()
    now = NOW
    once = IdempotentTransaction(store, Answered[tuple[str, int]], horizon=HORIZON, clock=lambda: now)

    def spend() -> Effect[tuple[str, int]]:
        return Effect(("spent", 5), [balances.update(owner="ann").add(F(Balance.spent), 5)])

    for _ in range(3):
        assert once.run("key-1", {"amount": 5}, spend) == ("spent", 5)
    assert balances.get(owner="ann").strongly_consistent().send() == Balance("ann", 5)
    with pytest.raises(PayloadMismatch):
        once.run("key-1", {"amount": 6}, spend)
    # at the end of the horizon the key is a new one
    now = NOW + HORIZON
    assert once.run("key-1", {"amount": 6}, spend) == ("spent", 5)
    assert balances.get(owner="ann").strongly_consistent().send() == Balance("ann", 10)


def test_a_call_runs_once_and_may_answer_nothing(store: Store[Sync]) -> None:
    ran = 0
    once = IdempotentCall(store, LeasedCall[str | None], lease=10, clock=lambda: NOW)

    def body() -> str | None:
        nonlocal ran
        ran += 1
        with pytest.raises(InProgress):
            once.run("key-1", "request", body)
        return None

    for _ in range(3):
        assert once.run("key-1", "request", body) is None
    assert ran == 1


def test_a_call_that_fails_is_run_again(store: Store[Sync]) -> None:
    once = IdempotentCall(store, LeasedCall[str | None], lease=10, clock=lambda: NOW)

    def fail() -> str:
        msg = "the mail server is down"
        raise OSError(msg)

    def succeed() -> str:
        return "sent"

    with pytest.raises(OSError, match="down"):
        once.run("key-1", "request", fail)
    assert once.run("key-1", "request", succeed) == "sent"


def test_who_outlasts_the_lease_changes_nothing(store: Store[Sync]) -> None:
    now = NOW
    once = IdempotentCall(store, LeasedCall[str | None], lease=10, clock=lambda: now)

    def quick() -> str:
        return "quick"

    def slow() -> str:
        nonlocal now
        now += 10
        assert once.run("key-1", "request", quick) == "quick"
        return "slow"

    with pytest.raises(LeaseLost):
        once.run("key-1", "request", slow)
    assert once.run("key-1", "request", slow) == "quick"


def test_a_horizon_is_longer_than_requests_may_be_late(store: Store[Sync]) -> None:
    with pytest.raises(ValueError, match="horizon"):
        IdempotentTransaction(store, Answered[tuple[str, int]], horizon=599)
    with pytest.raises(ValueError, match="lease"):
        IdempotentCall(store, LeasedCall[str | None], lease=0)


def test_who_sends_no_key_gets_nobodys_answer(store: Store[Sync]) -> None:
    with pytest.raises(ValueError, match="key is empty"):
        IdempotentTransaction(store, Answered[tuple[str, int]]).run("", "", lambda: pytest.fail("it was called"))
    with pytest.raises(ValueError, match="key is empty"):
        IdempotentCall(store, LeasedCall[str | None], lease=10).run("", "", lambda: pytest.fail("it was called"))
