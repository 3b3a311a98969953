"""Failed conditions: whose they were, and what they say after a lost answer."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from dynamap import (
    Applied,
    ConditionFailed,
    DynamapError,
    F,
    ItemAlreadyExists,
    ItemNotFound,
    OutcomeUnknown,
    Refused,
    Table,
    VersionConflict,
    evolve,
)
from dynamap.errors import Conflict
from tests.bank import READ, START, Account, Build, View, account_item, plan_of, view_item
from tests.fakes import answered, condition_failed, drive, lost, store_of

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
        (
            "put of Account id='a': version 0 means a new item, but one is stored already; nothing was written: read "
            "it first, or put it with if_not_exists() where this is an answer"
        ),
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
        (
            "put of Account id='a': read with version 7, but stored with version 9; nothing was written: read it "
            "again, as "
            "retry_on_conflict does"
        ),
        Account("a", revision=9),
        False,
    ),
    "another version, update": (
        lambda a, v: a.update(READ).to(evolve(READ, balance=Decimal(1))),
        account_item(8),
        VersionConflict,
        (
            "update of Account id='a': read with version 7, but stored with version 8; nothing was written: read it "
            "again, as "
            "retry_on_conflict does"
        ),
        Account("a", revision=8),
        False,
    ),
    "a legacy item that has a version now": (
        lambda a, v: a.put(evolve(READ, revision=-1)),
        account_item(9),
        VersionConflict,
        (
            "put of Account id='a': read with version -1, but stored with version 9; nothing was written: read it "
            "again, "
            "as "
            "retry_on_conflict does"
        ),
        Account("a", revision=9),
        False,
    ),
    "a version that was lost": (
        lambda a, v: a.delete(READ),
        account_item(None),
        VersionConflict,
        (
            "delete of Account id='a': read with version 7, but stored with version 0; nothing was written: read it "
            "again, as "
            "retry_on_conflict does"
        ),
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
        (
            "put of Account id='a': read with version 7, but stored with version 9; nothing was written: read it "
            "again, as "
            "retry_on_conflict does"
        ),
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
    "what given() said": (
        lambda a, v: v.update(page="p").add(F(View.count), 1).given(count=4),
        view_item(5),
        ConditionFailed,
        "update of View page='p': count is not what given() said; nothing was written",
        View("p", 5),
        True,
    ),
    "the caller's condition beside what given() said": (
        lambda a, v: v.update(page="p").add(F(View.count), 1).given(count=5).if_(F(View.count).lt(5)),
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
    error = drive(plan_of(lambda a, v: v.put(View("p")).if_not_exists()), condition_failed(other)).error
    assert isinstance(error, ItemAlreadyExists)
    assert "does not fit: the item {'pk': " in str(error)
    assert "the discriminator should be" in str(error)


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
    (
        "legacy, mine",
        lambda a, v: a.put(evolve(READ, revision=-1)),
        account_item(START, by="w1"),
        Account("a", revision=START),
    ),
    ("legacy, no version", lambda a, v: a.put(evolve(READ, revision=-1)), account_item(None), None),
    (
        "delete, as read",
        lambda a, v: a.delete(READ).if_(F(Account.balance).ge(Decimal(5))),
        account_item(7),
        ConditionFailed,
    ),
    ("delete, next", lambda a, v: a.delete(READ), account_item(8, by="other"), VersionConflict),
    ("delete, gone", lambda a, v: a.delete(READ), None, None),
    ("delete, later", lambda a, v: a.delete(READ), account_item(9, by="other"), None),
    ("put, gone", lambda a, v: v.put(View("p")).if_exists(), None, None),
    ("set, gone", lambda a, v: v.update(page="p").set(F(View.count), 1), None, None),
    ("plain delete, gone", lambda a, v: v.delete(page="p").if_exists(), None, None),
]


@pytest.mark.parametrize(
    ("build", "item", "outcome"), [case[1:] for case in RESOLVED], ids=[case[0] for case in RESOLVED]
)
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
        "put of Account id='a': an answer was lost, and the item that is stored now does not tell whether the write "
        "was "
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


@pytest.mark.parametrize(
    ("build", "item", "outcome"), [case[1:] for case in PERMITTED], ids=[case[0] for case in PERMITTED]
)
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


def test_an_answer_that_was_lost_is_not_forgotten_by_the_request_that_follows() -> None:
    """A version of 0 starts afresh by a second request; what refuses that says nothing of the first one."""
    plan = plan_of(lambda a, v: a.update(id="a").add(F(Account.balance), 1).ignore_version().at_least_once())
    zero = condition_failed({**account_item(7), "revision": {"N": "0"}})
    error = drive(plan, lost(), zero, answered("AccessDeniedException")).error
    assert isinstance(error, OutcomeUnknown)
    plan = plan_of(lambda a, v: a.update(id="a").add(F(Account.balance), 1).ignore_version().at_least_once())
    error = drive(plan, zero, answered("AccessDeniedException")).error
    assert not isinstance(error, OutcomeUnknown)
