"""Writes driven by hand: what each kind may repeat, and how each failure ends."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

import dynamap
from dynamap import (
    Applied,
    DeadlineExceeded,
    DynamapError,
    F,
    ItemDecodeError,
    ItemNotFound,
    OutcomeUnknown,
    ServiceError,
    Table,
    Throttled,
    TransactionConflict,
    entity,
    evolve,
)
from dynamap.backoff import LOST_COST, TokenBucket
from dynamap.errors import Conflict
from dynamap.plan import CallFailed
from tests.bank import READ, START, Account, Build, Tables, View, account_item, operation_of, plan_of, view_item
from tests.fakes import (
    NOW,
    answered,
    applied_but_unreadable,
    condition_failed,
    drive,
    lost,
    never_sent,
    numbered,
    store_of,
)

WRITES: dict[str, tuple[Build, Any, Any]] = {
    # the write, a reply, and its result
    "create": (lambda a, v: v.put(View("p")).if_not_exists(), {}, View("p")),
    "put": (lambda a, v: v.put(View("p", 3)), {}, View("p", 3)),
    "put, versioned": (lambda a, v: a.put(READ), {}, evolve(READ, revision=8)),
    "put, new": (lambda a, v: a.put(Account("a")), {}, Account("a", revision=START)),
    "put, legacy": (lambda a, v: a.put(evolve(READ, revision=-1)), {}, Account("a", revision=START)),
    "put, old": (
        lambda a, v: v.put(View("p")).returning_old(),
        {"Attributes": view_item(5)},
        View("p", 5),
    ),
    "put, no old": (lambda a, v: v.put(View("p")).returning_old(), {}, None),
    "set": (lambda a, v: v.update(page="p").set(F(View.count), 2), {"Attributes": view_item(2)}, View("p", 2)),
    "add": (lambda a, v: v.update(page="p").add(F(View.count), 2), {"Attributes": view_item(4)}, View("p", 4)),
    "add, old": (
        lambda a, v: v.update(page="p").add(F(View.count), 2).returning_old(),
        {"Attributes": view_item(2)},
        View("p", 2),
    ),
    "add, one field": (
        lambda a, v: v.update(page="p").add(F(View.count), 2).returning(F(View.count)),
        {"Attributes": view_item(4)},
        4,
    ),
    "add, two fields": (
        lambda a, v: v.update(page="p").add(F(View.count), 2).returning(F(View.count), F(View.page)),
        {"Attributes": view_item(4)},
        (4, "p"),
    ),
    "to": (
        lambda a, v: a.update(READ).to(evolve(READ, balance=Decimal(5))),
        {"Attributes": account_item(8, balance=5)},
        Account("a", Decimal(5), 8),
    ),
    "add, versioned": (
        lambda a, v: a.update(id="a").if_version(7).add(F(Account.balance), 5),
        {"Attributes": account_item(8, balance=5)},
        Account("a", Decimal(5), 8),
    ),
    "ignoring": (
        lambda a, v: a.update(id="a").ignore_version().add(F(Account.balance), 5),
        {"Attributes": account_item(8, balance=5)},
        Account("a", Decimal(5), 8),
    ),
    "delete": (lambda a, v: v.delete(page="p"), {}, None),
    "delete, versioned": (lambda a, v: a.delete(READ), {}, None),
    "delete, old": (lambda a, v: v.delete(page="p").returning_old(), {"Attributes": view_item(5)}, View("p", 5)),
    "delete, no old": (lambda a, v: v.delete(page="p").returning_old(), {}, None),
    "delete, versioned, old": (
        lambda a, v: a.delete(READ).returning_old(),
        {"Attributes": account_item(7)},
        READ,
    ),
}
SAFE = {
    "create",
    "put",
    "put, versioned",
    "put, new",
    "put, legacy",
    "set",
    "to",
    "add, versioned",
    "delete",
    "delete, versioned",
    "delete, versioned, old",
}
WANTS_NO_VALUE = {"create", "put", "put, versioned", "put, new", "put, legacy", "delete", "delete, versioned"}

BY_KIND = pytest.mark.parametrize("kind", WRITES)


def plan_of_kind(kind: str, **options: Any) -> Any:
    return plan_of(WRITES[kind][0], **options)


@BY_KIND
def test_a_reply_becomes_the_result(kind: str) -> None:
    _, reply, result = WRITES[kind]
    driven = drive(plan_of_kind(kind), reply)
    assert driven.result == result
    assert drive(plan_of_kind(kind, trying=True), reply).result == Applied(result)


# ---- attempts that were surely not applied

NOT_APPLIED: dict[str, Callable[[], CallFailed]] = {
    "never sent": never_sent,
    "throttled": lambda: answered("ThrottlingException"),
    "capacity": lambda: answered("ProvisionedThroughputExceededException"),
    "conflict": lambda: answered("TransactionConflictException"),
    "replicas": lambda: answered("ReplicatedWriteConflictException"),
    "credentials": lambda: answered("ExpiredTokenException"),
}


@pytest.mark.parametrize("failure", NOT_APPLIED.values(), ids=NOT_APPLIED)
@BY_KIND
def test_what_was_surely_not_applied_is_repeated_whatever_it_was(kind: str, failure: Any) -> None:
    _, reply, result = WRITES[kind]
    driven = drive(plan_of_kind(kind), failure(), reply)
    assert driven.result == result
    assert driven.calls[0] is driven.calls[1]


@pytest.mark.parametrize("step", ["at_most_once", "at_least_once"])
def test_what_was_surely_not_applied_is_repeated_whatever_the_caller_says(step: str) -> None:
    driven = drive(plan_of(lambda a, v: getattr(v.put(View("p")), step)()), answered("ThrottlingException"), {})
    assert len(driven.calls) == 2


@pytest.mark.parametrize(
    ("failure", "error", "message"),
    [
        (
            lambda: answered("ThrottlingException"),
            Throttled,
            (
                "put of View page='p': the service kept refusing for load (ThrottlingException), nothing was written: "
                "spread "
                "the load or raise the capacity"
            ),
        ),
        (
            lambda: answered("TransactionConflictException"),
            TransactionConflict,
            "put of View page='p': a transaction kept the item busy, nothing was written: send it again later",
        ),
        (
            never_sent,
            ServiceError,
            "put of View page='p': EndpointConnectionError: refused (nothing was written, after 10 attempts)",
        ),
    ],
)
def test_attempts_are_bounded(failure: Any, error: type[DynamapError], message: str) -> None:
    driven = drive(plan_of_kind("put"), *(failure() for _ in range(10)))
    assert type(driven.error) is error
    assert str(driven.error) == message


def test_a_conflict_that_stays_can_be_run_again_and_a_throttle_cannot() -> None:
    assert TransactionConflict.conflict is Conflict.TRANSACTION
    assert Throttled.conflict is None


# ---- ambiguous attempts

AMBIGUOUS: dict[str, Callable[[], CallFailed]] = {
    "lost": lost,
    "500": lambda: answered("InternalServerError", status=500),
    "503": lambda: answered("503", status=503),
    "timeout": lambda: answered("RequestTimeout", status=408),
    "unheard of": lambda: answered("WhatIsThis", status=400),
}


FRESH = {"put, new", "put, legacy"}
"""Those that start a version afresh: after a lost answer they start later."""


def once_repeated(kind: str, result: Any) -> Any:
    return evolve(result, revision=START + 1000) if kind in FRESH else result


@pytest.mark.parametrize("failure", AMBIGUOUS.values(), ids=AMBIGUOUS)
@BY_KIND
def test_an_ambiguous_attempt_is_repeated_by_kind(kind: str, failure: Any) -> None:
    _, reply, result = WRITES[kind]
    if kind in SAFE:
        driven = drive(plan_of_kind(kind), failure(), reply)
        assert driven.result == once_repeated(kind, result)
        assert (driven.calls[0] is driven.calls[1]) is (kind not in FRESH)
    else:
        driven = drive(plan_of_kind(kind), failure())
        assert isinstance(driven.error, OutcomeUnknown)
        assert driven.error.applied is None
        assert driven.error.conflict is None


def test_unknown_says_what_was_lost_and_what_to_do() -> None:
    failed = lost()
    failed.__cause__ = ConnectionResetError("botocore's own")
    error = drive(plan_of_kind("add"), failed).error
    assert str(error) == (
        "update of View page='p': the answer was lost (ConnectionClosedError: closed), so the write may or may not "
        "have been applied: read the item before you repeat it"
    )
    assert error is not None
    assert error.__cause__ is failed.__cause__


@BY_KIND
def test_at_least_once_permits_every_repeat(kind: str) -> None:
    build, reply, result = WRITES[kind]
    driven = drive(plan_of(lambda a, v: build(a, v).at_least_once()), lost(), reply)
    assert driven.result == once_repeated(kind, result)


@BY_KIND
def test_at_most_once_permits_none(kind: str) -> None:
    build = WRITES[kind][0]
    driven = drive(plan_of(lambda a, v: build(a, v).at_most_once()), lost())
    assert isinstance(driven.error, OutcomeUnknown)


@pytest.mark.parametrize("kind", sorted(SAFE))
def test_a_lost_answer_can_be_lost_ten_times(kind: str) -> None:
    driven = drive(plan_of_kind(kind), *(lost() for _ in range(10)))
    assert isinstance(driven.error, OutcomeUnknown)


@pytest.mark.parametrize(
    "later",
    [
        lambda: [answered("ValidationException")],
        lambda: [answered("AccessDeniedException")],
        lambda: [answered("ResourceNotFoundException")],
        lambda: [answered("ExpiredTokenException"), answered("ExpiredTokenException")],
        lambda: [answered("ThrottlingException")] * 9,
        lambda: [answered("TransactionConflictException")] * 9,
        lambda: [never_sent()] * 9,
    ],
    ids=["validation", "access", "no table", "expired", "throttled", "conflict", "unreachable"],
)
def test_after_an_ambiguous_attempt_nothing_else_is_certain(later: Any) -> None:
    driven = drive(plan_of_kind("put"), lost(), *later())
    assert isinstance(driven.error, OutcomeUnknown)
    assert "(ConnectionClosedError: closed)" in str(driven.error)


@pytest.mark.parametrize(
    "before", [lambda: answered("ThrottlingException"), never_sent, lambda: answered("ExpiredToken")]
)
def test_what_came_before_does_not_make_it_ambiguous(before: Any) -> None:
    error = drive(plan_of_kind("put"), before(), answered("ValidationException", "bad")).error
    assert isinstance(error, ServiceError)


@BY_KIND
def test_an_unreadable_word_of_success_is_never_repeated(kind: str) -> None:
    driven = drive(plan_of_kind(kind), applied_but_unreadable())
    if kind in WANTS_NO_VALUE:
        assert driven.result == WRITES[kind][2]
    else:
        assert isinstance(driven.error, OutcomeUnknown)
        assert driven.error.applied is True
        assert isinstance(driven.error.__cause__, CallFailed)


def test_an_unreadable_word_of_success_ends_the_uncertainty() -> None:
    assert drive(plan_of_kind("put"), lost(), applied_but_unreadable()).result == View("p", 3)


# ---- identity


def ids_of(driven: Any) -> list[str]:
    return [call.params["Item"]["_w"]["S"] for call in driven.calls]


def test_all_attempts_of_one_sending_carry_one_id_and_two_sendings_two() -> None:
    operation = operation_of(lambda a, v: a.put(READ))
    first = drive(operation._plan(), lost(), answered("ThrottlingException"), {})
    second = drive(operation._plan(), {})
    assert ids_of(first) == ["w1"] * 3
    assert ids_of(second) == ["w2"]


def test_the_clock_is_read_again_only_after_a_lost_answer() -> None:
    times = iter([NOW, NOW + 1])
    plan = plan_of(lambda a, v: a.put(Account("a")), clock=lambda: next(times))
    assert drive(plan, never_sent(), answered("ThrottlingException"), {}).result.revision == START
    assert next(times) == NOW + 1


def test_real_ids_do_not_repeat() -> None:
    from dynamap import connect
    from tests.fakes import FakeClient

    accounts = connect(Tables, client=FakeClient()).of(Account)
    operation = accounts.put(Account("a"))
    ids = {operation.params()["Item"]["_w"]["S"] for _ in range(100)}
    assert len(ids) == 100
    assert all(re.fullmatch("[0-9a-f]{32}", each) for each in ids)


# ---- versions that were ignored


def test_ignoring_a_version_of_zero_starts_afresh() -> None:
    build: Build = lambda a, v: a.update(id="a").ignore_version().add(F(Account.balance), 5)  # noqa: E731
    driven = drive(plan_of(build), condition_failed(account_item(0)), {"Attributes": account_item(START, balance=5)})
    assert driven.result == Account("a", Decimal(5), START)
    first, second = (call.params for call in driven.calls)
    assert "if_not_exists" in first["UpdateExpression"]
    assert "if_not_exists" not in second["UpdateExpression"]
    assert {"N": str(START)} in second["ExpressionAttributeValues"].values()


def test_ignoring_a_version_is_not_disturbed_by_who_was_quicker() -> None:
    build: Build = lambda a, v: a.update(id="a").ignore_version().set(F(Account.balance), Decimal(5))  # noqa: E731
    driven = drive(
        plan_of(build),
        condition_failed(account_item(0)),
        condition_failed(account_item(START, by="other")),
        {"Attributes": account_item(START + 1, balance=5)},
    )
    assert driven.result == Account("a", Decimal(5), START + 1)


def test_an_absent_item_is_asked_for_once() -> None:
    build: Build = lambda a, v: a.update(id="a").ignore_version().set(F(Account.balance), Decimal(5))  # noqa: E731
    driven = drive(plan_of(build), condition_failed(), {})
    assert driven.operations == ["UpdateItem", "GetItem"]
    assert isinstance(driven.error, ItemNotFound)


# ---- bounds


def test_a_write_that_may_not_be_repeated_takes_nothing_from_the_bucket() -> None:
    bucket = TokenBucket(100.0)
    drive(plan_of_kind("add", bucket=bucket), lost())
    assert bucket.left == 100.0


def test_an_empty_bucket_ends_the_repeats_of_a_write() -> None:
    driven = drive(plan_of_kind("put", bucket=TokenBucket(LOST_COST)), lost(), lost())
    assert isinstance(driven.error, OutcomeUnknown)


def test_a_deadline_that_is_over_writes_nothing() -> None:
    with dynamap.deadline(0):
        driven = drive(plan_of_kind("put"))
    assert isinstance(driven.error, DeadlineExceeded)
    assert str(driven.error) == "put of View page='p': the deadline is over, and nothing was written"


@pytest.mark.parametrize(
    ("failure", "error"), [(lost, OutcomeUnknown), (lambda: answered("ThrottlingException"), DeadlineExceeded)]
)
def test_a_deadline_after_an_ambiguous_attempt_is_unknown(failure: Any, error: type[DynamapError]) -> None:
    import time

    now = time.monotonic()
    with dynamap.deadline(1):
        plan = plan_of_kind("put", monotonic=lambda: now)
        next(plan)
        plan.throw(failure())
        now += 2
        with pytest.raises(error):
            plan.send(None)


# ---- what comes back


def test_what_a_newer_release_wrote_is_read_past() -> None:
    reply = {"Attributes": {**account_item(8), "later": {"S": "x"}}}
    assert drive(plan_of_kind("to"), reply).result == Account("a", Decimal(0), 8)


def test_a_reply_that_does_not_fit_was_applied_and_says_so() -> None:
    error = drive(plan_of_kind("add"), {"Attributes": {**view_item(), "count": {"S": "x"}}}).error
    assert isinstance(error, ItemDecodeError)
    assert error.applied is True
    assert str(error).endswith("(met after a write that was applied)")


def test_the_object_that_was_passed_in_is_not_changed() -> None:
    @entity("M", pk="M#{id}", sk="M", version="v")
    class Mutable:
        id: str
        v: int = 0

    item = Mutable("1")
    store = store_of(Table("tables", [Mutable]), write_ids=numbered())
    stored = drive(store.of(Mutable).put(item)._plan(), {}).result
    assert (item.v, stored.v) == (0, START)
    assert stored is not item
