"""A put, an update, a delete and a check in every order, and every way in which some of them fail."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import attrs
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from dynamap import Conflict, F, Reason, Store, Table, TransactionCanceled, entity, evolve, retry_on_conflict
from dynamap.testing import Cancellation, FaultPlan, memory_store
from tests.backends import Backend
from tests.depth import how_many
from tests.modes import Mode, RawTable

MANY = settings(max_examples=how_many(quick=50, deep=20_000))


@entity("ACCOUNT", pk="ACCOUNT#{id}", sk="BALANCE", version="revision", frozen=True)
class Account:
    id: str
    balance: int = 0
    revision: int = 0


@entity("COUNTER", pk="COUNTER#{id}", sk="COUNTER", frozen=True)
class Counter:
    id: str
    count: int = 0


@attrs.frozen
class Step:
    """One kind of operation: one that goes through, one that fails, and what stands where it fails."""

    passing: Any
    failing: Any
    seen: Any
    conflict: Conflict = Conflict.CONDITION


def unversioned(store: Store[Any], wait: Callable[[Any], Any]) -> dict[str, Step]:
    """Conditions that the caller wrote."""
    counters = store.of(Counter)
    for name in ("put", "update", "delete", "check"):
        wait(counters.put(Counter(name, 1)).send())
    count = F(Counter.count)
    return {
        "put": Step(
            counters.put(Counter("put", 2)).if_exists(),
            counters.put(Counter("put", 2)).if_not_exists(),
            Counter("put", 1),
        ),
        "update": Step(
            counters.update(id="update").set(count, 2).if_(count.eq(1)),
            counters.update(id="update").set(count, 2).if_(count.gt(1)),
            Counter("update", 1),
        ),
        "delete": Step(
            counters.delete(id="delete").if_(count.eq(1)),
            counters.delete(id="delete").if_(count.eq(2)),
            Counter("delete", 1),
        ),
        "check": Step(
            counters.check(id="check").exists(), counters.check(id="check").not_exists(), Counter("check", 1)
        ),
    }


def versioned(store: Store[Any], wait: Callable[[Any], Any]) -> dict[str, Step]:
    """The guards of versions, one of which finds nothing any more, and a check."""
    accounts = store.of(Account)
    old: dict[str, Any] = {}
    new: dict[str, Any] = {}
    for name in ("put", "update", "delete", "check"):
        old[name] = wait(accounts.put(Account(name)).send())
        new[name] = wait(accounts.update(old[name]).to(evolve(old[name], balance=1)).send())
    gone = wait(accounts.put(Account("gone")).send())
    wait(accounts.delete(gone).send())
    return {
        "put": Step(accounts.put(new["put"]), accounts.put(old["put"]), new["put"], Conflict.VERSION),
        "update": Step(
            accounts.update(new["update"]).to(evolve(new["update"], balance=2)),
            accounts.update(old["update"]).to(evolve(old["update"], balance=2)),
            new["update"],
            Conflict.VERSION,
        ),
        "delete": Step(accounts.delete(new["delete"]), accounts.delete(gone), None, Conflict.VERSION),
        "check": Step(
            accounts.check(id="check").if_(F(Account.balance).eq(1)),
            accounts.check(id="check").if_(F(Account.balance).eq(2)),
            new["check"],
        ),
    }


MAKERS = {"conditions": unversioned, "versions": versioned}


def check(
    wait: Callable[[Any], Any], store: Store[Any], steps: dict[str, Step], order: Sequence[str], failing: Sequence[str]
) -> None:
    """It is cancelled, and each operation is told apart."""
    operations = {name: steps[name].failing if name in failing else steps[name].passing for name in order}
    with pytest.raises(TransactionCanceled) as raised:
        wait(store.transact(*operations.values()).send())
    error = raised.value
    for position, (name, operation) in enumerate(operations.items()):
        fails = name in failing
        assert error.reason_for(operation) is (Reason.CONDITION_FAILED if fails else None)
        assert error.item_for(operation) == (steps[name].seen if fails else None)
        assert error.failures[position].position == position
        assert error.failures[position].code == ("ConditionalCheckFailed" if fails else None)
    guards = all(steps[name].conflict is Conflict.VERSION for name in failing)
    assert error.conflict is (Conflict.VERSION if guards else Conflict.CONDITION)


@pytest.mark.not_on("dynalite", reason="it has no transactions")
@pytest.mark.parametrize(("mode", "make"), [("sync", unversioned), ("async", versioned)], indirect=["mode"])
def test_whichever_fails_is_named_in_every_order(mode: Mode, backend: Backend, raw: RawTable, make: Any) -> None:
    store = mode.connect(Table(raw.name, [Account, Counter]), backend)
    steps = make(store, mode.wait)
    before = stored(raw)
    for order in itertools.permutations(steps):
        for failing in order:
            check(mode.wait, store, steps, order, [failing])
    check(mode.wait, store, steps, list(steps), list(steps))
    assert stored(raw) == before
    mode.wait(store.transact(*(step.passing for step in steps.values())).send())
    assert stored(raw) != before


def stored(raw: RawTable) -> list[Any]:
    items: list[Any] = raw.client.scan(TableName=raw.name, ConsistentRead=True)["Items"]
    return sorted(items, key=lambda item: str(item["pk"]["S"]))


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_any_that_fail_are_named_in_every_order(make: Any) -> None:
    store = memory_store(Table("table", [Account, Counter]))
    steps = make(store, lambda answer: answer)
    several = [some for size in (1, 2, 3, 4) for some in itertools.combinations(steps, size)]
    for order in itertools.permutations(steps):
        for failing in several:
            check(lambda answer: answer, store, steps, order, failing)


# ---- reasons that the service may give

CCF = "ConditionalCheckFailed"
CONTENTION = ("TransactionConflict", "ProvisionedThroughputExceeded", "ThrottlingError")
HOPELESS = ("ItemCollectionSizeLimitExceeded", "ValidationError", "DuplicateItem", "BrandNewReason")


@pytest.mark.deep
@MANY
@given(
    st.lists(st.sampled_from([None, CCF, *CONTENTION, *HOPELESS]), min_size=4, max_size=4).filter(any),
    st.permutations(["put", "update", "delete", "check"]),
    st.integers(1, 2),
)
def test_mixed_reasons_are_repeated_run_again_or_raised(codes: list[str | None], order: list[str], times: int) -> None:
    store = memory_store(Table("table", [Account, Counter]))
    store._runtime = replace(store._runtime, random=lambda: 0.0)
    unversioned(store, lambda answer: answer)
    # a failed condition without an item is followed by a look, which is a call too
    times = 1 if CCF in codes else times
    plan = FaultPlan(dict.fromkeys(range(1, times + 1), Cancellation(codes)))
    faulty = plan.over(store)
    counters = faulty.of(Counter)
    made: list[list[Any]] = []

    def transaction() -> Any:
        kinds: dict[str, Any] = {
            "put": counters.put(Counter("put", 2)).if_(F(Counter.count).eq(1)),
            "update": counters.update(id="update").add(F(Counter.count), 1).if_(F(Counter.count).eq(1)),
            "delete": counters.delete(id="delete").if_(F(Counter.count).eq(1)),
            "check": counters.check(id="check").if_(F(Counter.count).eq(1)),
        }
        made.append([kinds[name] for name in order])
        return faulty.transact(*made[-1]).send()

    found = {code for code in codes if code is not None}
    applied = False
    error: TransactionCanceled | None = None
    try:
        retry_on_conflict(transaction, sleep=lambda seconds: None)()
        applied = True
    except TransactionCanceled as canceled:
        error = canceled
    sent = [call for call in plan.calls if call.operation == "TransactWriteItems"]
    event(" ".join(sorted(found)))
    if found & set(HOPELESS):
        # whatever stands beside it
        assert error is not None
        assert (error.conflict, len(made), len(sent)) == (None, 1, 1)
    elif found <= set(CONTENTION):
        # sent again as it is, under its token
        assert applied
        assert len(made) == 1
        assert len(sent) == times + 1
        assert all(call == sent[0] for call in sent)
    elif found & set(CONTENTION):
        # nobody is blamed: all of it is run again
        assert applied
        assert len(made) == len(sent) == times + 1
        assert len({call.params["ClientRequestToken"] for call in sent}) == times + 1
    else:
        # a refusal is an answer
        assert error is not None
        assert (error.conflict, len(made), len(sent)) == (Conflict.CONDITION, 1, 1)
    if error is not None:
        assert [failure.code for failure in error.failures] == codes
        for operation, code in zip(made[-1], codes, strict=True):
            known = {reason.value: reason for reason in Reason}
            assert error.reason_for(operation) is (None if code is None else known.get(code, Reason.OTHER))
    rest = {item.id: item.count for item in store.of(Counter).scan().send()}
    assert rest == (
        {"put": 2, "update": 2, "check": 1} if applied else dict.fromkeys(["put", "update", "delete", "check"], 1)
    )
