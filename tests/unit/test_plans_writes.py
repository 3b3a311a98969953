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
    ConditionFailed,
    DeadlineExceeded,
    DynamapError,
    F,
    ItemAlreadyExists,
    ItemDecodeError,
    ItemNotFound,
    OutcomeUnknown,
    Refused,
    ServiceError,
    Table,
    Throttled,
    TransactionConflict,
    VersionConflict,
    entity,
    evolve,
)
from dynamap.backoff import LOST_COST, TokenBucket
from dynamap.errors import Conflict
from dynamap.plan import CallFailed
from tests.fakes import NOW, answered, applied_but_unreadable, condition_failed, drive, lost, never_sent, numbered, store_of


@entity("ACCOUNT", pk="ACCOUNT#{id}", sk="ACCOUNT", version="revision", frozen=True)
class Account:
    id: str
    balance: Decimal = Decimal(0)
    revision: int = 0


@entity("VIEW", pk="VIEW#{page}", sk="VIEW", frozen=True)
class View:
    page: str
    count: int = 0


Tables = Table("tables", [Account, View])
START = int(NOW * 1_000_000)


def account_item(version: int | None, *, by: str | None = None, balance: int = 0) -> dict[str, Any]:
    item: dict[str, Any] = {
        "pk": {"S": "ACCOUNT#a"},
        "sk": {"S": "ACCOUNT"},
        "_type": {"S": "ACCOUNT"},
        "id": {"S": "a"},
        "balance": {"N": str(balance)},
    }
    if version is not None:
        item["revision"] = {"N": str(version)}
    if by is not None:
        item["_w"] = {"S": by}
    return item


def view_item(count: int = 0, *, by: str | None = None) -> dict[str, Any]:
    item = {
        "pk": {"S": "VIEW#p"},
        "sk": {"S": "VIEW"},
        "_type": {"S": "VIEW"},
        "page": {"S": "p"},
        "count": {"N": str(count)},
    }
    return item if by is None else {**item, "_w": {"S": by}}


READ = Account("a", revision=7)
Build = Callable[[Any, Any], Any]

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


def operation_of(build: Build, **options: Any) -> Any:
    store = store_of(Tables, **options)
    return build(store.of(Account), store.of(View))


def plan_of(build: Build, *, trying: bool = False, **options: Any) -> Any:
    operation = operation_of(build, **options)
    return operation._try_plan() if trying else operation._plan()


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
            "put of View page='p': the service kept refusing for load (ThrottlingException), nothing was written: spread "
            "the load or raise the capacity",
        ),
        (
            lambda: answered("TransactionConflictException"),
            TransactionConflict,
            "put of View page='p': a transaction kept the item busy, nothing was written: send it again later",
        ),
        (never_sent, ServiceError, "put of View page='p': EndpointConnectionError: refused"),
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


@pytest.mark.parametrize("failure", AMBIGUOUS.values(), ids=AMBIGUOUS)
@BY_KIND
def test_an_ambiguous_attempt_is_repeated_by_kind(kind: str, failure: Any) -> None:
    _, reply, result = WRITES[kind]
    if kind in SAFE:
        driven = drive(plan_of_kind(kind), failure(), reply)
        assert driven.result == result
        assert driven.calls[0] is driven.calls[1]
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
        "update of View page='p': the answer was lost (ConnectionClosedError), so the write may or may not have been "
        "applied: read the item before you repeat it"
    )
    assert error is not None
    assert error.__cause__ is failed.__cause__


@BY_KIND
def test_at_least_once_permits_every_repeat(kind: str) -> None:
    build, reply, result = WRITES[kind]
    driven = drive(plan_of(lambda a, v: build(a, v).at_least_once()), lost(), reply)
    assert driven.result == result


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
    assert "(ConnectionClosedError)" in str(driven.error)


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


def test_the_clock_is_read_once_for_all_attempts() -> None:
    times = iter([NOW, NOW + 1])
    driven = drive(plan_of(lambda a, v: a.put(Account("a")), clock=lambda: next(times)), lost(), {})
    assert driven.result.revision == START


def test_real_ids_do_not_repeat() -> None:
    from dynamap import connect
    from tests.fakes import FakeClient

    accounts = connect(Tables, client=FakeClient()).of(Account)
    operation = accounts.put(Account("a"))
    ids = {operation.params()["Item"]["_w"]["S"] for _ in range(100)}
    assert len(ids) == 100
    assert all(re.fullmatch("[0-9a-f]{32}", each) for each in ids)


# ---- refusals without an ambiguous attempt

FAILED_CONDITIONS: dict[str, tuple[Build, Any, type[DynamapError], str, Any, bool]] = {
    # the write, the item that was seen, the error and its text, what it has seen, whether try_send answers Refused
    "create": (
        lambda a, v: v.put(View("p")).if_not_exists(),
        view_item(5),
        ItemAlreadyExists,
        "put of View page='p': there is an item already; nothing was written",
        View("p", 5),
        True,
    ),
    "version 0": (
        lambda a, v: a.put(Account("a")),
        account_item(3),
        VersionConflict,
        "put of Account id='a': version 0 means a new item, but one is stored already; nothing was written: read it first",
        Account("a", revision=3),
        False,
    ),
    "version 0 and if_not_exists": (
        lambda a, v: a.put(Account("a")).if_not_exists(),
        account_item(3),
        ItemAlreadyExists,
        "put of Account id='a': there is an item already; nothing was written",
        Account("a", revision=3),
        True,
    ),
    "another version": (
        lambda a, v: a.put(READ),
        account_item(9),
        VersionConflict,
        "put of Account id='a': read with version 7, but stored with version 9; nothing was written: read it again, as "
        "retry_on_conflict does",
        Account("a", revision=9),
        False,
    ),
    "another version, update": (
        lambda a, v: a.update(READ).to(evolve(READ, balance=Decimal(1))),
        account_item(8),
        VersionConflict,
        "update of Account id='a': read with version 7, but stored with version 8; nothing was written: read it again, as "
        "retry_on_conflict does",
        Account("a", revision=8),
        False,
    ),
    "a legacy item that has a version now": (
        lambda a, v: a.put(evolve(READ, revision=-1)),
        account_item(9),
        VersionConflict,
        "put of Account id='a': read with version -1, but stored with version 9; nothing was written: read it again, as "
        "retry_on_conflict does",
        Account("a", revision=9),
        False,
    ),
    "a version that was lost": (
        lambda a, v: a.delete(READ),
        account_item(None),
        VersionConflict,
        "delete of Account id='a': read with version 7, but stored with version 0; nothing was written: read it again, as "
        "retry_on_conflict does",
        Account("a", revision=-1),
        False,
    ),
    "gone": (
        lambda a, v: a.put(READ),
        None,
        VersionConflict,
        "put of Account id='a': the item that was read is gone; nothing was written",
        None,
        False,
    ),
    "gone, delete": (
        lambda a, v: a.delete(READ).if_exists(),
        None,
        VersionConflict,
        "delete of Account id='a': the item that was read is gone; nothing was written",
        None,
        False,
    ),
    "the caller's condition": (
        lambda a, v: a.put(READ).if_(F(Account.balance).ge(Decimal(5))),
        account_item(7, balance=2),
        ConditionFailed,
        "put of Account id='a': the condition does not hold; nothing was written",
        Account("a", Decimal(2), 7),
        True,
    ),
    "both": (
        lambda a, v: a.put(READ).if_(F(Account.balance).ge(Decimal(5))),
        account_item(9, balance=2),
        VersionConflict,
        "put of Account id='a': read with version 7, but stored with version 9; nothing was written: read it again, as "
        "retry_on_conflict does",
        Account("a", Decimal(2), 9),
        False,
    ),
    "the caller's condition, unversioned": (
        lambda a, v: v.update(page="p").add(F(View.count), 1).if_(F(View.count).lt(5)),
        view_item(5),
        ConditionFailed,
        "update of View page='p': the condition does not hold; nothing was written",
        View("p", 5),
        True,
    ),
    "the caller's condition on nothing": (
        lambda a, v: v.put(View("p")).if_(F(View.count).lt(5)),
        None,
        ConditionFailed,
        "put of View page='p': the condition does not hold; nothing was written",
        None,
        True,
    ),
    "update of nothing": (
        lambda a, v: v.update(page="p").add(F(View.count), 1),
        None,
        ItemNotFound,
        "update of View page='p': there is no such item; nothing was written",
        ...,
        False,
    ),
    "update of nothing, with a condition": (
        lambda a, v: v.update(page="p").add(F(View.count), 1).if_(F(View.count).lt(5)),
        None,
        ItemNotFound,
        "update of View page='p': there is no such item; nothing was written",
        ...,
        False,
    ),
    "ignoring the version of nothing": (
        lambda a, v: a.update(id="a").ignore_version().add(F(Account.balance), 1),
        None,
        ItemNotFound,
        "update of Account id='a': there is no such item; nothing was written",
        ...,
        False,
    ),
    "replacing nothing": (
        lambda a, v: v.put(View("p")).if_exists(),
        None,
        ItemNotFound,
        "put of View page='p': there is no such item; nothing was written",
        ...,
        True,
    ),
    "deleting nothing": (
        lambda a, v: v.delete(page="p").if_exists(),
        None,
        ItemNotFound,
        "delete of View page='p': there is no such item; nothing was written",
        ...,
        True,
    ),
}
REFUSALS = pytest.mark.parametrize("case", FAILED_CONDITIONS)


@pytest.mark.parametrize("sends_item", [True, False], ids=["item sent", "item asked for"])
@REFUSALS
def test_a_failed_condition_says_whose_it_was(case: str, sends_item: bool) -> None:
    build, item, error_class, message, seen, _ = FAILED_CONDITIONS[case]
    failed = condition_failed(item if sends_item else None)
    failed.__cause__ = ValueError("botocore's own")
    looks = [] if sends_item and item is not None else [{} if item is None else {"Item": item}]
    driven = drive(plan_of(build), failed, *looks)
    assert type(driven.error) is error_class
    assert str(driven.error) == message
    assert driven.error.__cause__ is failed.__cause__
    if isinstance(driven.error, ConditionFailed):
        assert driven.error.seen == seen
    else:
        assert isinstance(driven.error, ItemNotFound)
        assert driven.error.entity in (Account, View)
        assert driven.error.key in ({"page": "p"}, {"id": "a"})
    if looks:
        assert driven.operations[-1] == "GetItem"
        assert driven.calls[-1].params["ConsistentRead"] is True
        assert driven.calls[-1].params["Key"].keys() == {"pk", "sk"}


@REFUSALS
def test_try_send_answers_the_callers_own_conditions_and_raises_the_rest(case: str) -> None:
    build, item, error_class, _, seen, is_answer = FAILED_CONDITIONS[case]
    looks = [] if item is not None else [{}]
    driven = drive(plan_of(build, trying=True), condition_failed(item), *looks)
    if is_answer:
        assert driven.error is None
        assert driven.result == Refused(None if seen is ... else seen)
    else:
        assert type(driven.error) is error_class


def test_kinds_of_conflict() -> None:
    assert ConditionFailed.conflict is ItemAlreadyExists.conflict is Conflict.CONDITION
    assert VersionConflict.conflict is Conflict.VERSION
    assert ItemNotFound.conflict is OutcomeUnknown.conflict is None


def test_a_condition_that_failed_on_an_item_of_another_type_names_it() -> None:
    other = {**view_item(), "_type": {"S": "OTHER"}}
    error = drive(plan_of_kind("create"), condition_failed(other)).error
    assert isinstance(error, ItemDecodeError)
    assert not error.applied


# ---- refusals after an ambiguous attempt


def after_a_loss(build: Build, item: Any, *, trying: bool = False) -> Any:
    looks = [] if item is not None else [{}]
    return drive(plan_of(build, trying=trying), lost(), condition_failed(item), *looks)


RESOLVED: list[tuple[str, Build, Any, Any]] = [
    # the write, what stands there, what comes of it: a result, an error class, or OutcomeUnknown(applied)
    ("mine", lambda a, v: a.put(READ), account_item(8, by="w1"), evolve(READ, revision=8)),
    ("mine, changed by hand", lambda a, v: a.put(READ), account_item(8, by="w1", balance=4), evolve(READ, revision=8)),
    ("next, another's", lambda a, v: a.put(READ), account_item(8, by="other"), VersionConflict),
    ("next, nobody's", lambda a, v: a.put(READ), account_item(8), VersionConflict),
    ("as read", lambda a, v: a.put(READ).if_(F(Account.balance).ge(Decimal(5))), account_item(7), ConditionFailed),
    ("later", lambda a, v: a.put(READ), account_item(9, by="other"), None),
    ("earlier", lambda a, v: a.put(READ), account_item(5, by="other"), None),
    ("gone", lambda a, v: a.put(READ), None, None),
    ("no version", lambda a, v: a.put(READ), account_item(None), None),
    ("zero", lambda a, v: a.put(READ), account_item(0, by="other"), None),
    (
        "update, mine",
        lambda a, v: a.update(READ).to(evolve(READ, balance=Decimal(4))),
        account_item(8, by="w1", balance=4),
        Account("a", Decimal(4), 8),
    ),
    (
        "update, a field of mine",
        lambda a, v: a.update(READ).add(F(Account.balance), 4).returning(F(Account.balance)),
        account_item(8, by="w1", balance=4),
        Decimal(4),
    ),
    (
        "update, old of mine",
        lambda a, v: a.update(READ).add(F(Account.balance), 4).returning_old(),
        account_item(8, by="w1", balance=4),
        True,
    ),
    ("put, old of mine", lambda a, v: a.put(READ).returning_old(), account_item(8, by="w1"), True),
    ("new, mine", lambda a, v: a.put(Account("a")), account_item(START, by="w1"), Account("a", revision=START)),
    ("new, another's", lambda a, v: a.put(Account("a")), account_item(START, by="other"), None),
    ("new, gone", lambda a, v: a.put(Account("a")), None, None),
    ("create, mine", lambda a, v: v.put(View("p")).if_not_exists(), view_item(by="w1"), View("p")),
    ("create, another's", lambda a, v: v.put(View("p")).if_not_exists(), view_item(by="other"), None),
    ("create, nobody's", lambda a, v: v.put(View("p")).if_not_exists(), view_item(), None),
    ("legacy, mine", lambda a, v: a.put(evolve(READ, revision=-1)), account_item(START, by="w1"), Account("a", revision=START)),
    ("legacy, no version", lambda a, v: a.put(evolve(READ, revision=-1)), account_item(None), None),
    ("delete, as read", lambda a, v: a.delete(READ).if_(F(Account.balance).ge(Decimal(5))), account_item(7), ConditionFailed),
    ("delete, next", lambda a, v: a.delete(READ), account_item(8, by="other"), VersionConflict),
    ("delete, gone", lambda a, v: a.delete(READ), None, None),
    ("delete, later", lambda a, v: a.delete(READ), account_item(9, by="other"), None),
    ("put, gone", lambda a, v: v.put(View("p")).if_exists(), None, None),
    ("set, gone", lambda a, v: v.update(page="p").set(F(View.count), 1), None, None),
    ("plain delete, gone", lambda a, v: v.delete(page="p").if_exists(), None, None),
]


@pytest.mark.parametrize(("build", "item", "outcome"), [case[1:] for case in RESOLVED], ids=[case[0] for case in RESOLVED])
def test_a_failed_condition_after_a_lost_answer_is_resolved(build: Build, item: Any, outcome: Any) -> None:
    driven = after_a_loss(build, item)
    trying = after_a_loss(build, item, trying=True)
    if outcome is None or outcome is True:
        for each in (driven, trying):
            assert isinstance(each.error, OutcomeUnknown)
            assert each.error.applied is outcome
            assert each.error.conflict is None
            assert each.error.__cause__ is not None
    elif isinstance(outcome, type):
        assert type(driven.error) is outcome
    else:
        assert driven.result == outcome
        assert trying.result == Applied(outcome)


def test_unknown_after_a_look_says_so() -> None:
    error = after_a_loss(lambda a, v: a.put(READ), account_item(9)).error
    assert str(error) == (
        "put of Account id='a': an answer was lost, and the item that is stored now does not tell whether the write was "
        "applied: read it before you repeat it"
    )


def test_what_was_applied_though_its_old_value_is_lost_says_so() -> None:
    error = after_a_loss(lambda a, v: a.put(READ).returning_old(), account_item(8, by="w1")).error
    assert str(error) == "put of Account id='a': it was applied, but the answer with the old value was lost"


def test_without_write_ids_a_repeat_that_fails_is_unknown() -> None:
    table = Table("tables", [Account, View], write_id=None)
    for version, outcome in ((8, OutcomeUnknown), (9, OutcomeUnknown), (7, ConditionFailed)):
        plan = store_of(table).of(Account).put(READ).if_(F(Account.balance).ge(Decimal(5)))._plan()
        assert type(drive(plan, lost(), condition_failed(account_item(version))).error) is outcome


PERMITTED: list[tuple[str, Build, Any, Any]] = [
    (
        "a condition that does not hold any more",
        lambda a, v: v.update(page="p").add(F(View.count), 1).if_(F(View.count).lt(5)),
        view_item(5),
        Refused(View("p", 5)),
    ),
    ("another's", lambda a, v: v.put(View("p")).if_not_exists(), view_item(5, by="other"), Refused(View("p", 5))),
    ("mine all the same", lambda a, v: v.put(View("p")).if_not_exists(), view_item(by="w1"), Applied(View("p"))),
    ("a version of mine", lambda a, v: a.put(READ), account_item(8, by="w1"), Applied(evolve(READ, revision=8))),
    ("a later version", lambda a, v: a.put(READ), account_item(9, by="other"), None),
]


@pytest.mark.parametrize(("build", "item", "outcome"), [case[1:] for case in PERMITTED], ids=[case[0] for case in PERMITTED])
def test_at_least_once_takes_a_refusal_as_one(build: Build, item: Any, outcome: Any) -> None:
    driven = after_a_loss(lambda a, v: build(a, v).at_least_once(), item, trying=True)
    if outcome is None:
        assert isinstance(driven.error, OutcomeUnknown)
    else:
        assert driven.result == outcome


def test_a_look_that_fails_after_a_loss_is_unknown() -> None:
    plan = plan_of(lambda a, v: a.put(READ))
    driven = drive(plan, lost(), condition_failed(), answered("AccessDeniedException", "no reading"))
    assert isinstance(driven.error, OutcomeUnknown)
    assert driven.error.applied is None


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
