"""What is known of a write outlives what fails after it: a read of the result, or a version that is none."""

from __future__ import annotations

from decimal import Decimal

import pytest

from dynamap import ConditionFailed, DynamapError, F, OutcomeUnknown, deadline
from dynamap.backoff import TokenBucket
from dynamap.plan import Call
from tests.bank import READ, Account, Build, View, account_item, plan_of
from tests.fakes import answered, condition_failed, drive, lost

COUNTED: dict[str, Build] = {
    "add": lambda a, v: v.update(page="p").add(F(View.count), 1).exactly_once(),
    "upsert": lambda a, v: v.upsert(page="p").add(F(View.count), 1).exactly_once(),
    "ignore_version": lambda a, v: a.update(id="a").ignore_version().add(F(Account.balance), 1).exactly_once(),
}


@pytest.mark.parametrize("build", COUNTED.values(), ids=COUNTED)
@pytest.mark.parametrize("code", ["ThrottlingException", "AccessDeniedException"])
def test_a_transaction_that_was_applied_is_not_reported_as_the_failed_read_of_its_result(
    build: Build, code: str
) -> None:
    driven = drive(plan_of(build, bucket=TokenBucket(0.0)), {}, answered(code))
    assert driven.operations == ["TransactWriteItems", "GetItem"]
    assert isinstance(driven.error, OutcomeUnknown)
    assert driven.error.applied is True
    assert isinstance(driven.error.__cause__, DynamapError)
    assert "it was applied, but the item could not be read" in str(driven.error)


def test_nor_as_a_deadline_that_ends_between_the_two() -> None:
    now = [0.0]

    def answer(call: Call) -> dict[str, object]:
        now[0] += 2.0
        return {}

    with deadline(3600):
        plan = plan_of(COUNTED["add"], monotonic=lambda: 1e12 if now[0] else 0.0)
        driven = drive(plan, answer=answer)
    assert driven.operations == ["TransactWriteItems"]
    assert isinstance(driven.error, OutcomeUnknown)
    assert driven.error.applied is True


NO_VERSION = {**account_item(None, by="theirs"), "revision": {"S": "oops"}}


def test_after_a_lost_answer_a_stored_version_that_is_none_leaves_the_outcome_unknown() -> None:
    plan = plan_of(lambda a, v: a.update(READ).set(F(Account.balance), Decimal(1)))
    driven = drive(plan, lost(), condition_failed(NO_VERSION))
    assert isinstance(driven.error, OutcomeUnknown)
    assert driven.error.applied is None


def test_a_refusal_is_a_refusal_also_where_the_stored_version_is_none() -> None:
    balance = F(Account.balance)
    driven = drive(
        plan_of(lambda a, v: a.update(id="a").ignore_version().set(balance, Decimal(1)).if_(balance.ge(Decimal(9)))),
        condition_failed(NO_VERSION),
    )
    assert isinstance(driven.error, ConditionFailed)
    assert "does not fit" in str(driven.error)
