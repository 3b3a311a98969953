"""Transactions of writes, in both modes: all or nothing, reasons by operation, tokens, and `exactly_once`."""

from __future__ import annotations

import itertools
import pickle
from decimal import Decimal
from typing import Any

import pytest

from dynamap import (
    Applied,
    Conflict,
    F,
    ItemAlreadyExists,
    ItemNotFound,
    LimitExceeded,
    OutcomeUnknown,
    Reason,
    Refused,
    RequestError,
    ServiceError,
    Store,
    Table,
    TransactionCanceled,
    TransactionConflict,
    VersionConflict,
    entity,
    evolve,
)
from dynamap.testing import Fault, FaultPlan
from tests.backends import Backend
from tests.modes import Mode, RawTable

pytestmark = pytest.mark.not_on("dynalite", reason="it has no transactions")
honours_tokens = pytest.mark.not_on("dynalite", "roto", reason="dynalite has no transactions, roto ignores tokens")


@entity("ACCOUNT", pk="ACCOUNT#{id}", sk="BALANCE", version="revision")
class Account:
    id: str
    balance: Decimal = Decimal(0)
    revision: int = 0


@entity("COUNTER", pk="COUNTER#{id}", sk="COUNTER")
class Counter:
    id: str
    count: int = 0
    note: str | None = None


@pytest.fixture
def store(mode: Mode, backend: Backend, raw: RawTable) -> Store[Any]:
    return mode.connect(Table(raw.name, [Account, Counter]), backend)


def count(raw: RawTable, name: str) -> int | None:
    item = raw.get(f"COUNTER#{name}", "COUNTER")
    return None if item is None else int(item["count"]["N"])


def test_all_is_applied_and_what_is_known_beforehand_can_be_asked_for(
    mode: Mode, store: Store[Any], raw: RawTable
) -> None:
    accounts, counters = store.of(Account), store.of(Counter)
    alice = mode.wait(accounts.put(Account("alice", Decimal(5))).send())
    mode.wait(counters.put(Counter("x", 1)).send())
    mode.wait(counters.put(Counter("old")).send())
    rewrite = accounts.update(alice).to(evolve(alice, balance=Decimal(7)))
    create = counters.put(Counter("new", 3)).if_not_exists()
    add = counters.update(id="x").add(F(Counter.count), 2)
    done = mode.wait(store.transact(rewrite, create, add, counters.delete(id="old")).send())
    assert done.stored(create) == Counter("new", 3)
    assert done.stored(rewrite) == Account("alice", Decimal(7), alice.revision + 1)
    assert done.stored(rewrite) == mode.wait(accounts.get(id="alice").send())
    assert (count(raw, "x"), count(raw, "new"), count(raw, "old")) == (3, 3, None)
    with pytest.raises(LookupError, match="not known"):
        done.stored(add)
    with pytest.raises(LookupError, match="not part of the transaction"):
        done.stored(counters.put(Counter("new", 3)))


def test_tables_of_two_stores_over_one_client(
    mode: Mode, store: Store[Any], raw: RawTable, backend: Backend, client: Any
) -> None:
    other = RawTable(client, f"{raw.name}-other")
    other.create()
    try:
        elsewhere = mode.connect(Table(other.name, [Counter]), backend)
        here, there = store.of(Counter).put(Counter("x", 1)), elsewhere.of(Counter).put(Counter("x", 2))
        create = elsewhere.of(Counter).put(Counter("x")).if_not_exists()
        assert mode.wait(store.transact(here, there).send()).stored(there) == Counter("x", 2)
        assert (count(raw, "x"), count(other, "x")) == (1, 2)
        with pytest.raises(TransactionCanceled) as caught:
            mode.wait(store.transact(store.of(Counter).put(Counter("x", 5)), create).send())
        assert caught.value.item_for(create) == Counter("x", 2)
        assert (count(raw, "x"), count(other, "x")) == (1, 2)
        read = store.transact_get(store.of(Counter).get(id="x"), elsewhere.of(Counter).get(id="x"))
        assert mode.wait(read.send()) == (Counter("x", 1), Counter("x", 2))
    finally:
        client.delete_table(TableName=other.name)


def test_each_operation_in_each_order_is_named_when_it_fails(mode: Mode, store: Store[Any], raw: RawTable) -> None:
    counters = store.of(Counter)
    mode.wait(counters.put(Counter("there", 1)).send())
    operations = {
        "put": (counters.put(Counter("new")).if_not_exists(), counters.put(Counter("there")).if_not_exists()),
        "update": (
            counters.update(id="there").set(F(Counter.note), "x").if_(F(Counter.count).eq(1)),
            counters.update(id="there").set(F(Counter.note), "x").if_(F(Counter.count).eq(2)),
        ),
        "delete": (counters.delete(id="gone"), counters.delete(id="gone").if_exists()),
    }
    before = raw.get("COUNTER#there", "COUNTER")
    for order in itertools.permutations(operations):
        for failing in order:
            if failing == "put" and "update" in order:
                chosen = {"put": operations["put"][1], "delete": operations["delete"][0]}
            else:
                chosen = {name: operations[name][name == failing] for name in operations}
            parts = [chosen[name] for name in order if name in chosen]
            with pytest.raises(TransactionCanceled) as raised:
                mode.wait(store.transact(*parts).send())
            error = raised.value
            for name, part in chosen.items():
                assert (error.reason_for(part) is Reason.CONDITION_FAILED) == (name == failing)
            assert error.conflict is Conflict.CONDITION
            expected = None if failing == "delete" else Counter("there", 1)
            assert error.item_for(chosen[failing]) == expected
            assert raw.get("COUNTER#there", "COUNTER") == before
            assert count(raw, "new") is None


def test_a_refused_condition_is_an_answer_to_try_send(mode: Mode, store: Store[Any]) -> None:
    counters = store.of(Counter)
    claim = counters.put(Counter("x", 1)).if_not_exists()
    first = mode.wait(store.transact(claim).try_send())
    assert isinstance(first, Applied)
    assert first.stored.stored(claim) == Counter("x", 1)
    second = mode.wait(store.transact(claim).try_send())
    assert isinstance(second, Refused)
    assert second.seen.reason_for(claim) is Reason.CONDITION_FAILED
    assert second.seen.item_for(claim) == Counter("x", 1)


def test_a_version_guard_is_a_version_conflict_and_still_raises_from_try_send(mode: Mode, store: Store[Any]) -> None:
    accounts, counters = store.of(Account), store.of(Counter)
    alice = mode.wait(accounts.put(Account("alice")).send())
    mode.wait(accounts.update(alice).to(evolve(alice, balance=Decimal(1))).send())
    stale = accounts.update(alice).to(evolve(alice, balance=Decimal(2)))
    with pytest.raises(TransactionCanceled) as raised:
        mode.wait(store.transact(stale, counters.put(Counter("x"))).try_send())
    assert raised.value.conflict is Conflict.VERSION
    seen = raised.value.item_for(stale)
    assert seen is not None
    assert seen.balance == 1
    gone = accounts.delete(alice)
    mode.wait(accounts.delete(id="alice").ignore_version().send())
    with pytest.raises(TransactionCanceled) as raised:
        mode.wait(store.transact(gone).send())
    assert raised.value.conflict is Conflict.VERSION
    assert raised.value.item_for(gone) is None


def test_the_error_travels_without_its_operations(mode: Mode, store: Store[Any]) -> None:
    counters = store.of(Counter)
    update = counters.update(id="nobody").add(F(Counter.count), 1)
    with pytest.raises(TransactionCanceled) as raised:
        mode.wait(store.transact(update).send())
    again = pickle.loads(pickle.dumps(raised.value))
    assert again.failures == raised.value.failures
    assert again.conflict is raised.value.conflict
    with pytest.raises(LookupError, match="unpickled"):
        again.reason_for(update)


@honours_tokens
@pytest.mark.parametrize("fault", [Fault.DROP_BEFORE, Fault.DROP_AFTER, Fault.THROTTLE, Fault.CONFLICT])
def test_a_lost_answer_is_repeated_under_its_token_and_counts_once(
    mode: Mode, store: Store[Any], raw: RawTable, fault: Fault
) -> None:
    mode.wait(store.of(Counter).put(Counter("x")).send())
    plan = FaultPlan({1: fault})
    faulty = plan.over(store)
    counters = faulty.of(Counter)
    mode.wait(faulty.transact(counters.update(id="x").add(F(Counter.count), 1), counters.put(Counter("y", 7))).send())
    assert (count(raw, "x"), count(raw, "y")) == (1, 7)
    assert len(plan.calls) == 2
    assert plan.calls[0] == plan.calls[1]


@honours_tokens
def test_a_named_transaction_is_applied_once_and_its_name_belongs_to_it(
    mode: Mode, store: Store[Any], raw: RawTable
) -> None:
    counters = store.of(Counter)
    mode.wait(counters.put(Counter("x")).send())
    name = raw.name[5:]  # tokens are known to the whole account
    named = store.transact(counters.update(id="x").add(F(Counter.count), 1)).token(name)
    mode.wait(named.send())
    mode.wait(named.send())
    assert count(raw, "x") == 1
    other = store.transact(counters.update(id="x").add(F(Counter.count), 2)).token(name)
    with pytest.raises(ServiceError) as raised:
        mode.wait(other.send())
    assert raised.value.code == "IdempotentParameterMismatchException"
    assert count(raw, "x") == 1


@honours_tokens
def test_exactly_once_counts_once_though_the_answer_is_lost(mode: Mode, store: Store[Any], raw: RawTable) -> None:
    mode.wait(store.of(Counter).put(Counter("x")).send())
    for number, fault in enumerate((Fault.DROP_AFTER, Fault.DROP_BEFORE), 1):
        counters = FaultPlan({1: fault}).over(store).of(Counter)
        answer = mode.wait(counters.update(id="x").add(F(Counter.count), 1).exactly_once().send())
        assert answer == Counter("x", number)
    counters = FaultPlan({1: Fault.DROP_AFTER}).over(store).of(Counter)
    assert mode.wait(counters.delete(id="x").if_exists().exactly_once().send()) is None
    assert raw.get("COUNTER#x", "COUNTER") is None


def test_exactly_once_refuses_as_the_plain_write_does(mode: Mode, store: Store[Any]) -> None:
    accounts, counters = store.of(Account), store.of(Counter)
    mode.wait(counters.put(Counter("x", 1)).send())
    with pytest.raises(ItemAlreadyExists) as raised:
        mode.wait(counters.put(Counter("x")).if_not_exists().exactly_once().send())
    assert raised.value.seen == Counter("x", 1)
    refused = mode.wait(counters.put(Counter("x")).if_not_exists().exactly_once().try_send())
    assert refused == Refused(Counter("x", 1))
    with pytest.raises(ItemNotFound):
        mode.wait(counters.update(id="y").add(F(Counter.count), 1).exactly_once().send())
    alice = mode.wait(accounts.put(Account("alice")).exactly_once().send())
    assert alice == mode.wait(accounts.get(id="alice").send())
    changed = mode.wait(accounts.update(alice).to(evolve(alice, balance=Decimal(1))).exactly_once().send())
    assert changed == Account("alice", Decimal(1), alice.revision + 1)
    with pytest.raises(VersionConflict):
        mode.wait(accounts.update(alice).to(evolve(alice, balance=Decimal(2))).exactly_once().send())


def test_contention_alone_is_sent_again_a_bounded_number_of_times(mode: Mode, store: Store[Any]) -> None:
    plan = FaultPlan(dict.fromkeys(range(1, 100), Fault.CONFLICT))
    faulty = plan.over(store)
    with pytest.raises(TransactionConflict):
        mode.wait(faulty.transact(faulty.of(Counter).put(Counter("x"))).send())
    assert len(plan.calls) == 10


def test_an_answer_that_stays_lost_is_unknown(mode: Mode, store: Store[Any]) -> None:
    plan = FaultPlan(dict.fromkeys(range(1, 100), Fault.DROP_BEFORE))
    faulty = plan.over(store)
    with pytest.raises(OutcomeUnknown):
        mode.wait(faulty.transact(faulty.of(Counter).put(Counter("x"))).send())


def test_what_the_service_would_refuse_is_refused_before_anything_is_sent(mode: Mode, store: Store[Any]) -> None:
    plan = FaultPlan()
    faulty = plan.over(store)
    counters = faulty.of(Counter)
    put = counters.put(Counter("x"))
    with pytest.raises(
        RequestError, match=r"operations 1 \(put of Counter id='x'\) and 2 \(delete of Counter id='x'\)"
    ):
        mode.wait(faulty.transact(put, counters.delete(id="x")).send())
    with pytest.raises(LimitExceeded, match="up to 100 operations; got 101"):
        mode.wait(faulty.transact(*[counters.put(Counter(str(n))) for n in range(101)]).send())
    with pytest.raises(LimitExceeded, match="DynamoDB takes 4,194,304"):
        mode.wait(faulty.transact(*[counters.put(Counter(str(n), note="x" * 350_000)) for n in range(13)]).send())
    with pytest.raises(RequestError, match="at least one operation"):
        faulty.transact()
    with pytest.raises(RequestError, match="1 to 36 characters; got 37"):
        faulty.transact(put).token("x" * 37)
    with pytest.raises(RequestError, match="argument 2 belongs to a store with another client"):
        faulty.transact(put, store.of(Counter).put(Counter("y")))
    with pytest.raises(RequestError, match="argument 1 is PutReturning"):
        faulty.transact(put.returning_old())  # type: ignore[arg-type]
    with pytest.raises(RequestError, match="answers no values"):
        mode.wait(put.returning_old().exactly_once().send())
    assert plan.calls == []


def test_a_frozen_transaction_shows_the_request_that_it_sends(mode: Mode, store: Store[Any], raw: RawTable) -> None:
    counters = store.of(Counter)
    named = store.transact(counters.put(Counter("x")).if_not_exists()).token(raw.name[5:])
    shown = named.params()
    plan = FaultPlan()
    faulty = plan.over(store)
    again = faulty.transact(faulty.of(Counter).put(Counter("x")).if_not_exists()).token(raw.name[5:])
    mode.wait(again.send())
    assert plan.calls[0].params == shown
    assert shown["ClientRequestToken"] == raw.name[5:]
    assert raw.get("COUNTER#x", "COUNTER") == shown["TransactItems"][0]["Put"]["Item"]
    assert named.explain().startswith("TransactWriteItems of 1, at twice the write units of each\n  PutItem on ")


def test_an_item_that_does_not_fit_hides_no_reason(mode: Mode, store: Store[Any], raw: RawTable) -> None:
    raw.put("COUNTER#x", "COUNTER", _type={"S": "OTHER"})
    raw.put("ACCOUNT#a", "BALANCE", _type={"S": "ACCOUNT"}, id={"S": "a"}, revision={"S": "none"})
    counters, accounts = store.of(Counter), store.of(Account)
    claim = counters.put(Counter("x")).if_not_exists()
    guarded = accounts.delete(Account("a", revision=7))
    with pytest.raises(TransactionCanceled) as raised:
        mode.wait(store.transact(claim, guarded).send())
    assert raised.value.reason_for(claim) is Reason.CONDITION_FAILED
    assert raised.value.reason_for(guarded) is Reason.CONDITION_FAILED
    assert raised.value.item_for(claim) is None
    assert "does not fit" in str(raised.value.failures[0].message)
    assert "a version is a whole number" in str(raised.value.failures[1].message)
