"""Conditions evaluated here: DynamoDB's verdicts, and what is refused as compiling refuses it."""

from __future__ import annotations

from typing import Any

import pytest

from dynamap import Condition, EncodeError, F, RequestError
from dynamap.expressions.evaluate import evaluate
from tests.evaluations import CASES, ITEM, Thing, Things

THING = Things.entity(Thing)


@pytest.mark.parametrize("name", CASES)
def test_a_condition_holds_as_dynamodb_says(name: str) -> None:
    condition, verdict = CASES[name]
    assert evaluate(condition, THING, THING.encode(ITEM)) is verdict


def test_missing_attributes_of_an_empty_item_are_equal_to_nothing() -> None:
    field, other = F(Thing.limit), F(Thing.count)
    assert not evaluate(field.eq(other), THING, {})
    assert evaluate(field.ne(other), THING, {})
    assert evaluate(F(Thing.tags).eq(set()), THING, {})
    assert not evaluate(F(Thing.tags).ne(set()), THING, {})


@pytest.mark.parametrize(
    ("stored", "verdict"),
    [
        ({"S": "10"}, False),
        ({"N": "10.0"}, True),
        ({"N": "1E1"}, True),
        ({"NULL": True}, False),
        ({"L": []}, False),
    ],
)
def test_values_of_different_types_are_unequal_and_in_no_order(stored: dict[str, Any], verdict: bool) -> None:
    item = {"count": stored}
    assert evaluate(F(Thing.count).eq(10), THING, item) is verdict
    assert evaluate(F(Thing.count).ne(10), THING, item) is not verdict
    assert evaluate(F(Thing.count).ge(10), THING, item) is verdict
    assert evaluate(F(Thing.count).le(10), THING, item) is verdict


def test_the_size_of_a_number_is_none() -> None:
    assert not evaluate(F(Thing.name).size().ge(0), THING, {"name": {"N": "1"}})


@pytest.mark.parametrize(
    ("condition", "error"),
    [
        (F(Thing, lambda t: t.count).eq("x"), EncodeError),  # type: ignore[arg-type]
        (F(Thing.limit).lt(None), RequestError),
        (F(Thing, lambda t: t.nope).exists(), RequestError),  # type: ignore[attr-defined]
    ],
)
def test_what_cannot_be_compiled_cannot_be_evaluated(condition: Condition, error: type[Exception]) -> None:
    with pytest.raises(error):
        evaluate(condition, THING, {"limit": {"N": "1"}})


def test_a_condition_names_its_fields() -> None:
    condition = F(Thing.count).ge(F(Thing.parts).size()) & ~F(Thing.name).is_in("a", F(Thing.other))
    paths = [field.path for field in condition.fields()]
    assert paths == [("count",), ("parts",), ("name",), ("other",)]
