"""Transactions that meet others: which are sent again, which are answers, and two operations on one item."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any

import attrs
import pytest

from dynamap import (
    Attribute,
    Conflict,
    F,
    ItemAlreadyExists,
    Key,
    Normalize,
    OutcomeUnknown,
    Reason,
    RequestError,
    ServiceError,
    Store,
    Table,
    TransactionCanceled,
    TransactionConflict,
    VersionConflict,
    connect,
    entity,
    evolve,
    retry_on_conflict,
)
from dynamap.testing import Cancellation, Fault, FaultPlan, Refusal
from tests.backends import Backend
from tests.modes import Mode, RawTable

transactional = pytest.mark.not_on("dynalite", reason="it has no transactions")
honours_tokens = pytest.mark.not_on("dynalite", "roto", reason="dynalite has no transactions, roto ignores tokens")


@entity("ACCOUNT", pk="ACCOUNT#{id}", sk="BALANCE", version="revision")
class Account:
    id: str
    balance: int = 0
    revision: int = 0


@entity("COUNTER", pk="COUNTER#{id}", sk="COUNTER")
class Counter:
    id: str
    count: int = 0
    labels: dict[str, int] = attrs.field(factory=dict[str, int])


@entity("CLAIM", pk="MAIL#{address}", sk="CLAIM")
class Claim:
    address: Annotated[str, Normalize(str.casefold)]
    owner: str = ""


@pytest.fixture
def store(mode: Mode, backend: Backend, raw: RawTable) -> Store[Any]:
    return mode.connect(Table(raw.name, [Account, Counter, Claim]), backend)


def count(raw: RawTable, name: str = "x") -> int:
    item = raw.get(f"COUNTER#{name}", "COUNTER")
    assert item is not None
    return int(item["count"]["N"])


# ---- what a cancellation means

CCF, CONFLICT, THROTTLED, CAPACITY, INVALID, SIZE = (
    "ConditionalCheckFailed",
    "TransactionConflict",
    "ThrottlingError",
    "ProvisionedThroughputExceeded",
    "ValidationError",
    "ItemCollectionSizeLimitExceeded",
)

# what comes back: how often one send() calls and how it ends, how often retry_on_conflict runs it
Passing = list[str | None]
AGAIN: list[Passing] = [
    [CONFLICT],
    [None, CONFLICT],
    [None, None, CONFLICT],
    [CONFLICT, THROTTLED],
    [THROTTLED],
    [CAPACITY, None, CONFLICT],
    [CONFLICT, CONFLICT, CONFLICT],
]
RERUN: list[Passing] = [
    [CCF, CONFLICT],
    [CONFLICT, CCF],
    [CCF, None, THROTTLED],
    [CCF, CCF, CAPACITY],
]
RAISED: list[Passing] = [
    [None, INVALID, CONFLICT],
    [INVALID],
    [SIZE, CONFLICT],
    [CONFLICT, "BrandNewReason"],
    [CCF, INVALID],
]


class Deposit:
    """A transaction of three operations, run under a plan, that counts its runs."""

    def __init__(self, mode: Mode, store: Store[Any], plan: FaultPlan) -> None:
        self.mode = mode
        self.runs = 0
        self.operations: list[Any] = []
        self._store = plan.over(store)

    def build(self) -> Any:
        self.runs += 1
        counters = self._store.of(Counter)
        count = F(Counter.count)
        self.operations = [counters.update(id=name).add(count, 1).if_(count.ge(0)) for name in "xyz"]
        return self._store.transact(*self.operations)

    def send(self) -> Any:
        return self.mode.wait(self.build().send())

    def retried(self) -> Any:
        if not self.mode.is_async:
            return retry_on_conflict(lambda: self.build().send())()

        @retry_on_conflict
        async def deposit() -> Any:
            return await self.build().send()

        return self.mode.wait(deposit())


@pytest.fixture
def counters(mode: Mode, store: Store[Any]) -> None:
    for name in "xyz":
        mode.wait(store.of(Counter).put(Counter(name)).send())


def named(codes: Passing) -> str:
    return ", ".join(code or "-" for code in codes)


@transactional
@pytest.mark.usefixtures("counters")
def test_contention_alone_is_sent_again_and_counts_once(mode: Mode, store: Store[Any], raw: RawTable) -> None:
    for number, codes in enumerate(AGAIN, 1):
        plan = FaultPlan({1: Cancellation(codes), 2: Cancellation(codes)})
        Deposit(mode, store, plan).send()
        assert len(plan.calls) == 3, codes
        assert plan.calls[0] == plan.calls[1] == plan.calls[2]
        assert [count(raw, name) for name in "xyz"] == [number] * 3


@transactional
@pytest.mark.usefixtures("counters")
def test_contention_beside_a_failed_condition_is_run_again_as_a_whole(
    mode: Mode, store: Store[Any], raw: RawTable
) -> None:
    for number, codes in enumerate(RERUN, 1):
        deposit = Deposit(mode, store, FaultPlan({1: Cancellation(codes)}))
        with pytest.raises(TransactionCanceled) as caught:
            deposit.send()
        assert caught.value.conflict is Conflict.TRANSACTION, codes
        plan = FaultPlan({1: Cancellation(codes)})
        deposit = Deposit(mode, store, plan)
        deposit.retried()
        assert deposit.runs == 2
        assert len([call for call in plan.calls if call.operation == "TransactWriteItems"]) == 2
        assert [count(raw, name) for name in "xyz"] == [number] * 3


@transactional
@pytest.mark.usefixtures("counters")
def test_what_no_repetition_mends_is_raised_with_its_reasons(mode: Mode, store: Store[Any], raw: RawTable) -> None:
    for codes in RAISED:
        plan = FaultPlan({1: Cancellation(codes)})
        deposit = Deposit(mode, store, plan)
        with pytest.raises(TransactionCanceled) as caught:
            deposit.retried()
        error = caught.value
        assert (error.conflict, error.runs, deposit.runs) == (None, 1, 1), codes
        assert [failure.code for failure in error.failures] == [*codes, *[None] * (3 - len(codes))]
        for operation, code in zip(deposit.operations, codes, strict=False):
            known = {reason.value for reason in Reason}
            expected = None if code is None else Reason(code) if code in known else Reason.OTHER
            assert error.reason_for(operation) is expected
    assert [count(raw, name) for name in "xyz"] == [0, 0, 0]


@transactional
@pytest.mark.usefixtures("counters")
def test_a_failed_condition_is_run_again_if_it_was_asked_for_only(mode: Mode, store: Store[Any]) -> None:
    deposit = Deposit(mode, store, FaultPlan({1: Cancellation([None, CCF])}))
    with pytest.raises(TransactionCanceled) as caught:
        deposit.retried()
    assert (caught.value.conflict, deposit.runs) == (Conflict.CONDITION, 1)
    assert caught.value.reason_for(deposit.operations[1]) is Reason.CONDITION_FAILED


# ---- one write beside a transaction


def test_a_plain_write_waits_for_a_transaction_to_end(mode: Mode, store: Store[Any], raw: RawTable) -> None:
    accounts, counters = store.of(Account), store.of(Counter)
    account = mode.wait(accounts.put(Account("a")).send())
    mode.wait(counters.put(Counter("x")).send())
    writes: list[Callable[[Store[Any], Account], Any]] = [
        lambda store, _: store.of(Counter).update(id="x").add(F(Counter.count), 1),
        lambda store, _: store.of(Counter).put(Counter("y")),
        lambda store, _: store.of(Counter).upsert(id="x").add(F(Counter.count), 1),
        lambda store, read: store.of(Account).update(read).to(evolve(read, balance=read.balance + 1)),
        lambda store, _: store.of(Counter).delete(id="y"),
    ]
    for code in ("TransactionConflictException", "ReplicatedWriteConflictException"):
        for write in writes:
            plan = FaultPlan({1: Refusal(code), 2: Refusal(code)})
            answer = mode.wait(write(plan.over(store), account).send())
            assert len(plan.calls) == 3
            account = answer if isinstance(answer, Account) else account
    assert count(raw) == 4
    assert account.balance == 2


def test_a_write_that_meets_its_own_first_attempt_is_applied(mode: Mode, store: Store[Any], raw: RawTable) -> None:
    for fault in (Fault.DROP_AFTER, Fault.ERROR_AFTER):
        raw.delete("ACCOUNT#a", "BALANCE")
        accounts = FaultPlan({1: fault}).over(store).of(Account)
        account = mode.wait(accounts.put(Account("a", 1)).if_not_exists().send())
        accounts = FaultPlan({1: fault}).over(store).of(Account)
        changed = mode.wait(accounts.update(account).to(evolve(account, balance=2)).send())
        assert (changed.balance, changed.revision) == (2, account.revision + 1)
        with pytest.raises(ItemAlreadyExists):
            mode.wait(store.of(Account).put(Account("a", 9)).if_not_exists().send())
        with pytest.raises(VersionConflict):
            mode.wait(store.of(Account).update(account).to(evolve(account, balance=9)).send())
        assert mode.wait(store.of(Account).get(id="a").required().send()) == changed


@transactional
def test_a_stale_delete_in_a_transaction_is_a_version_conflict(mode: Mode, store: Store[Any], raw: RawTable) -> None:
    accounts, counters = store.of(Account), store.of(Counter)
    old = mode.wait(accounts.put(Account("a", 1)).send())
    new = mode.wait(accounts.update(old).to(evolve(old, balance=2)).send())
    for delete in (accounts.delete(old), accounts.delete(id="a").if_version(old.revision)):
        with pytest.raises(TransactionCanceled) as caught:
            mode.wait(store.transact(counters.put(Counter("x")), delete).send())
        assert caught.value.conflict is Conflict.VERSION
        assert caught.value.item_for(delete) == new
    assert raw.get("COUNTER#x", "COUNTER") is None
    mode.wait(store.transact(accounts.delete(new)).send())
    assert raw.get("ACCOUNT#a", "BALANCE") is None


# ---- the token


@honours_tokens
@pytest.mark.usefixtures("counters")
def test_a_transaction_that_is_still_running_is_waited_for_under_its_token(
    mode: Mode, store: Store[Any], raw: RawTable
) -> None:
    running = Refusal("TransactionInProgressException")
    for number, first in enumerate((Fault.DROP_AFTER, Fault.DROP_BEFORE, running), 1):
        plan = FaultPlan({1: first, 2: running, 3: running})
        Deposit(mode, store, plan).send()
        assert len(plan.calls) == 4
        assert len({call.params["ClientRequestToken"] for call in plan.calls}) == 1
        assert all(call == plan.calls[0] for call in plan.calls)
        assert count(raw) == number


@transactional
@pytest.mark.usefixtures("counters")
def test_a_token_that_names_another_request_is_the_callers_mistake(mode: Mode, store: Store[Any]) -> None:
    mismatch = Refusal("IdempotentParameterMismatchException")
    plan = FaultPlan({1: mismatch})
    deposit = Deposit(mode, store, plan)
    with pytest.raises(ServiceError) as caught:
        deposit.retried()
    assert (caught.value.code, deposit.runs, len(plan.calls)) == ("IdempotentParameterMismatchException", 1, 1)
    # after a lost answer it says nothing of that one
    deposit = Deposit(mode, store, FaultPlan({1: Fault.DROP_AFTER, 2: mismatch}))
    with pytest.raises(OutcomeUnknown):
        deposit.retried()
    assert deposit.runs == 1


@honours_tokens
def test_equal_maps_in_another_order_are_one_request(mode: Mode, store: Store[Any], raw: RawTable) -> None:
    token = raw.name[5:]
    labels = {"a": 1, "b": 2, "c": 3}
    for order in ("abc", "cab", "bca"):
        counter = Counter("x", 5, {name: labels[name] for name in order})
        mode.wait(store.transact(store.of(Counter).put(counter)).token(token).send())
    assert mode.wait(store.of(Counter).get(id="x").send()) == Counter("x", 5, labels)
    with pytest.raises(ServiceError):
        mode.wait(store.transact(store.of(Counter).put(Counter("x", 6, labels))).token(token).send())


def test_nothing_is_sent_before_send(mode: Mode, store: Store[Any], raw: RawTable) -> None:
    plan = FaultPlan()
    watched = plan.over(store)
    counters = watched.of(Counter)
    transaction = watched.transact(
        counters.put(Counter("x")), counters.update(id="y").add(F(Counter.count), 1), counters.delete(id="z")
    )
    transaction.token("t").params()
    transaction.explain()
    assert plan.calls == []
    assert raw.client.scan(TableName=raw.name)["Items"] == []


# ---- two operations on one item


@entity("READING", frozen=True)
class Reading:
    place: str
    at: Annotated[Decimal, Attribute("when")]
    value: int = 0


Readings = Table("readings", [Reading], pk="place", sk=Key("when", int))
Shop = Table("shop", [Account, Counter, Claim])
Pair = Callable[[Any], tuple[Any, Any]]

ONE_ITEM: dict[str, tuple[Pair, str]] = {
    "check and update": (
        lambda s: (s.of(Counter).check(id="x").exists(), s.of(Counter).update(id="x").add(F(Counter.count), 1)),
        "1 (check of Counter id='x') and 2 (update of Counter id='x')",
    ),
    "put and delete": (
        lambda s: (s.of(Counter).put(Counter("x")), s.of(Counter).delete(id="x")),
        "1 (put of Counter id='x') and 2 (delete of Counter id='x')",
    ),
    "update twice": (
        lambda s: (
            s.of(Counter).update(id="x").add(F(Counter.count), 1),
            s.of(Counter).update(id="x").add(F(Counter.count), 1),
        ),
        "1 (update of Counter id='x') and 2 (update of Counter id='x')",
    ),
    "a unique value that is changed to itself": (
        lambda s: (s.of(Claim).delete(address="a@b"), s.of(Claim).put(Claim("a@b", "o")).if_not_exists()),
        "1 (delete of Claim address='a@b') and 2 (put of Claim address='a@b')",
    ),
    "a unique value that differs before it is normalized": (
        lambda s: (s.of(Claim).delete(address="a@b"), s.of(Claim).put(Claim("A@B", "o")).if_not_exists()),
        "1 (delete of Claim address='a@b') and 2 (put of Claim address='A@B')",
    ),
    "upsert and guarded put": (
        lambda s: (s.of(Account).upsert(id="x").ignore_version(), s.of(Account).put(Account("x", revision=3))),
        "1 (upsert of Account id='x') and 2 (put of Account id='x')",
    ),
}


@pytest.mark.parametrize(("make", "message"), ONE_ITEM.values(), ids=ONE_ITEM)
def test_two_operations_on_one_item_are_refused_by_name(make: Pair, message: str) -> None:
    store = connect(Shop)
    with pytest.raises(RequestError) as caught:
        store.transact(*make(store)).params()
    assert str(caught.value) == (
        f"a transaction takes one operation per item, but operations {message} are about the same: make one of them"
    )


@pytest.mark.parametrize(("one", "other"), [("1", "1.0"), ("10", "1E+1"), ("0", "-0"), ("0.50", "0.5")])
def test_numbers_that_are_equal_are_one_key(one: str, other: str) -> None:
    store = connect(Readings)
    readings = store.of(Reading)
    put, delete = readings.put(Reading("p", Decimal(one))), readings.delete(place="p", at=Decimal(other))
    with pytest.raises(RequestError, match="a transaction takes one operation per item, but operations 1"):
        store.transact(put, delete).params()
    assert len(store.transact(put, readings.delete(place="p", at=Decimal(99))).params()["TransactItems"]) == 2


def test_one_key_in_two_tables_is_two_items() -> None:
    store = connect(Shop)
    other = store.with_name("other")
    puts = [each.of(Counter).put(Counter("x")) for each in (store, other)]
    assert len(store.transact(*puts).params()["TransactItems"]) == 2


def test_contention_that_stays_is_given_up(mode: Mode, store: Store[Any]) -> None:
    plan = FaultPlan(dict.fromkeys(range(1, 100), Refusal("TransactionConflictException")))
    with pytest.raises(TransactionConflict) as caught:
        mode.wait(plan.over(store).of(Counter).put(Counter("x")).send())
    assert str(caught.value) == (
        "put of Counter id='x': a transaction kept the item busy, nothing was written: send it again later"
    )
    assert len(plan.calls) == 10
