"""What a refusal says where an answer was lost before, and where the item that refused it cannot be read."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from dynamap import (
    ConditionFailed,
    DynamapError,
    F,
    ItemAlreadyExists,
    ItemNotFound,
    OutcomeUnknown,
    ServiceError,
    TransactionConflict,
    VersionConflict,
    evolve,
)
from dynamap.errors import Conflict
from dynamap.plan import Call
from tests.bank import READ, Account, Build, View, account_item, plan_of, view_item
from tests.fakes import answered, condition_failed, drive, lost

# ---- after a lost answer that the caller permits


PERMITTED: dict[str, tuple[Build, Any, type[DynamapError], str]] = {
    "create": (
        lambda a, v: v.put(View("p")).if_not_exists().at_least_once(),
        view_item(5),
        ItemAlreadyExists,
        "put of View page='p': there is an item already; an answer was lost before, so it may have been applied",
    ),
    "condition": (
        lambda a, v: v.update(page="p").add(F(View.count), 1).if_(F(View.count).lt(1)).at_least_once(),
        view_item(5),
        ConditionFailed,
        "update of View page='p': the condition does not hold; an answer was lost before, so it may have been applied",
    ),
    "delete": (
        lambda a, v: v.delete(page="p").if_exists().at_least_once(),
        None,
        ItemNotFound,
        "delete of View page='p': there is no such item; an answer was lost before, so it may have been applied",
    ),
}


@pytest.mark.parametrize(("build", "seen", "error", "text"), PERMITTED.values(), ids=PERMITTED)
def test_a_refusal_after_a_lost_answer_does_not_say_that_nothing_was_written(
    build: Build, seen: Any, error: type[DynamapError], text: str
) -> None:
    replies: list[Any] = [lost(), condition_failed(seen)] + ([] if seen else [{}])
    driven = drive(plan_of(build), *replies)
    assert (type(driven.error), str(driven.error)) == (error, text)


def test_nor_does_one_about_an_item_that_does_not_fit() -> None:
    build, _, error, _ = PERMITTED["create"]
    driven = drive(plan_of(build), lost(), condition_failed({**view_item(5), "count": {"S": "?"}}))
    assert type(driven.error) is error
    assert str(driven.error).startswith(
        "put of View page='p': refused, an answer was lost before, so it may have been applied, and what is stored "
        "there does not fit: "
    )


def test_a_version_that_was_not_raised_says_it_still() -> None:
    build: Build = lambda a, v: a.put(READ).if_(F(Account.balance).lt(Decimal(0)))  # noqa: E731
    driven = drive(plan_of(build), lost(), condition_failed(account_item(7)))
    assert str(driven.error) == "put of Account id='a': the condition does not hold; nothing was written"


# ---- a second look that fails


UNREAD: dict[str, tuple[Build, type[DynamapError], Conflict | None]] = {
    "create": (lambda a, v: v.put(View("p")).if_not_exists(), ItemAlreadyExists, Conflict.CONDITION),
    "create with a condition": (
        lambda a, v: v.put(View("p")).if_not_exists().if_(F(View.count).not_exists()),
        ConditionFailed,
        Conflict.CONDITION,
    ),
    "update": (lambda a, v: v.update(page="p").add(F(View.count), 1), ItemNotFound, None),
    "delete": (lambda a, v: v.delete(page="p").if_exists(), ItemNotFound, None),
    "condition": (
        lambda a, v: v.delete(page="p").if_(F(View.count).ge(1)),
        ConditionFailed,
        Conflict.CONDITION,
    ),
    "version": (lambda a, v: a.put(READ), VersionConflict, Conflict.VERSION),
    "version 0": (lambda a, v: a.put(evolve(READ, revision=0)), VersionConflict, Conflict.VERSION),
    "version and condition": (
        lambda a, v: a.delete(READ).if_(F(Account.balance).ge(Decimal(1))),
        VersionConflict,
        Conflict.VERSION,
    ),
}


@pytest.mark.parametrize("trying", [False, True], ids=["send", "try_send"])
@pytest.mark.parametrize(("build", "error", "conflict"), UNREAD.values(), ids=UNREAD)
def test_the_refusal_wins_where_the_item_cannot_be_read(
    build: Build, error: type[DynamapError], conflict: Conflict | None, trying: bool
) -> None:
    driven = drive(plan_of(build, trying=trying), condition_failed(), answered("AccessDeniedException", "no GetItem"))
    assert type(driven.error) is error
    assert getattr(driven.error, "seen", None) is None
    assert isinstance(driven.error, error)
    assert driven.error.conflict is conflict
    assert "refused, nothing was written, and what is stored there could not be read: " in str(driven.error)
    assert "AccessDeniedException: no GetItem" in str(driven.error)
    assert isinstance(driven.error.__context__, ServiceError)
    assert driven.error.__cause__ is not None


def test_after_a_lost_answer_it_is_unknown() -> None:
    driven = drive(plan_of(lambda a, v: a.put(READ)), lost(), condition_failed(), answered("AccessDeniedException"))
    assert type(driven.error) is OutcomeUnknown


def test_a_write_of_several_requests_raises_what_kept_it_from_reading() -> None:
    """That the first was refused is no refusal: what it takes instead cannot be known."""
    for build in (
        lambda a, v: a.update(id="a").ignore_version().add(F(Account.balance), 1),
        lambda a, v: a.update(id="a").ignore_version().add(F(Account.balance), 1).if_(F(Account.balance).exists()),
    ):
        driven = drive(plan_of(build), condition_failed(), answered("AccessDeniedException", "no GetItem"))
        assert type(driven.error) is ServiceError
        assert driven.operations == ["UpdateItem", "GetItem"]


# ---- writes of several requests, when others are quicker every time


def test_others_who_are_quicker_every_time_end_in_a_conflict_after_pauses() -> None:
    build: Build = lambda a, v: a.update(id="a").ignore_version().add(F(Account.balance), 1)  # noqa: E731

    def never_the_same(call: Call) -> Any:
        """What stood there when the update was refused is not what the read finds."""
        if call.operation == "GetItem":
            return {"Item": account_item(7)}
        raise condition_failed()

    driven = drive(plan_of(build), answer=never_the_same)
    assert type(driven.error) is TransactionConflict
    assert str(driven.error) == (
        "update of Account id='a': other writers kept the item busy, nothing was written: send it again later"
    )
    assert driven.operations == ["UpdateItem", "GetItem"] * 10
    assert len(driven.sleeps) == 9
    assert driven.sleeps == sorted(driven.sleeps)
    assert driven.sleeps[0] == 0.0125


def test_versions_that_appear_and_vanish_end_in_a_conflict_too() -> None:
    build: Build = lambda a, v: a.update(id="a").ignore_version().add(F(Account.balance), 1)  # noqa: E731
    versions = iter([0, 7] * 10)

    def answer(call: Call) -> Any:
        raise condition_failed(account_item(next(versions)))

    driven = drive(plan_of(build), answer=answer)
    assert type(driven.error) is TransactionConflict
    assert driven.operations == ["UpdateItem"] * 20
    assert len(driven.sleeps) == 9


def test_an_answer_that_was_lost_meanwhile_stays_unknown() -> None:
    build: Build = lambda a, v: (  # noqa: E731
        a.update(id="a").ignore_version().add(F(Account.balance), 1).at_least_once()
    )
    first = [lost()]

    def answer(call: Call) -> Any:
        if first:
            raise first.pop()
        if call.operation == "GetItem":
            return {"Item": account_item(7)}
        raise condition_failed()

    driven = drive(plan_of(build), answer=answer)
    assert type(driven.error) is OutcomeUnknown
    assert str(driven.error) == (
        "update of Account id='a': an answer was lost, and others kept the item busy: read it before you repeat it"
    )
