"""What the debugger shows of conditions and answers: which fields and operations, and no values."""

from __future__ import annotations

import pytest

from dynamap import Applied, Condition, F, Refused
from dynamap.plan import CallFailed, Reached
from tests.bank import Tables, View
from tests.evaluations import Thing
from tests.fakes import drive, store_of

COUNT, NAME = F(Thing.count), F(Thing.name)

CONDITIONS: dict[str, Condition] = {
    "KeyCondition(F(Thing: count) >= ...)": COUNT.ge(7),
    "Condition(F(Thing: count) <> F(Thing: limit))": COUNT.ne(F(Thing.limit)),
    "Condition(F(Thing: name).size() > ...)": NAME.size().gt(7),
    "KeyCondition(F(Thing: count) between ... and ...)": COUNT.between(7, 8),
    "Condition(F(Thing: name) in (..., F(Thing: other)))": NAME.is_in("secret", F(Thing.other)),
    "Condition(F(Thing: name) exists)": NAME.exists(),
    "Condition(F(Thing: name) does not exist)": NAME.not_exists(),
    "Condition(F(Thing: name) is stored as S)": NAME.attribute_type("S"),
    "KeyCondition(F(Thing: name) begins with ...)": NAME.begins_with("secret"),
    "Condition(F(Thing: name) contains ...)": NAME.contains("secret"),
    "Condition(F(Thing: name) exists & (F(Thing: count) = ... | ~(F(Thing: name) = ...)))": (
        NAME.exists() & (COUNT.eq(7) | ~NAME.eq("secret"))
    ),
}


@pytest.mark.parametrize(("text", "condition"), CONDITIONS.items())
def test_a_condition_shows_its_fields_and_no_values(text: str, condition: Condition) -> None:
    assert repr(condition) == text


def test_what_is_set_shows_its_fields_and_no_values() -> None:
    assert repr(COUNT + 7) == "F(Thing: count) + ..."
    assert repr(7 - COUNT) == "... - F(Thing: count)"
    assert repr(COUNT.or_else(7)) == "F(Thing: count).or_else(...)"


def test_the_answers_of_a_transaction_show_operations_and_reasons() -> None:
    store = store_of(Tables)
    put, create = store.of(View).put(View("p", 77)), store.of(View).put(View("q")).if_not_exists()
    applied = drive(store.transact(put, create)._try_plan(), {}).outcome
    assert isinstance(applied, Applied)
    assert repr(applied.stored) == "Transacted(put of View page='p', put of View page='q')"
    item = store.of(View).put(View("q", 77)).params()["Item"]
    reasons = {"Code": "None"}, {"Code": "ConditionalCheckFailed", "Item": item}
    canceled = CallFailed(Reached.ANSWERED, "TransactionCanceledException", reasons=reasons)
    refused = drive(store.transact(put, create)._try_plan(), canceled).outcome
    assert isinstance(refused, Refused)
    assert repr(refused.seen) == "Failures(1: ConditionalCheckFailed)"
    assert repr(refused.seen.failures[1]) == (
        "Failure(position=1, reason=<Reason.CONDITION_FAILED: 'ConditionalCheckFailed'>, "
        "code='ConditionalCheckFailed', message='there is an item already')"
    )
