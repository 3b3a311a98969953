"""Conditions evaluated here: DynamoDB's verdicts, and what is refused as compiling refuses it."""

from __future__ import annotations

from typing import Annotated, Any

import attrs
import pytest

from dynamap import Attribute, Condition, EncodeError, F, RequestError, Table, entity
from dynamap.expressions import Compiler
from dynamap.expressions.evaluate import evaluate
from tests.evaluations import CASES, ITEM, Thing, Things
from tests.tiny_table import holds

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


@entity("RENAMED", pk="RENAMED#{id}", sk="RENAMED")
class Renamed:
    id: str
    size: Annotated[int, Attribute("new", aliases=("old", "older"))] = 0
    tags: Annotated[list[str], Attribute("labels", aliases=("words",))] = attrs.field(factory=list[str])


RENAMED = Table("renamed", [Renamed]).entity(Renamed)


@pytest.mark.parametrize(
    ("item", "found"),
    [
        ({"new": {"N": "7"}}, True),
        ({"old": {"N": "7"}}, True),
        ({"older": {"N": "7"}, "words": {"L": []}}, True),
        ({"new": {"N": "1"}, "old": {"N": "7"}}, False),
        ({"old": {"N": "1"}, "older": {"N": "7"}}, False),
        ({"oldest": {"N": "7"}}, False),
    ],
)
def test_what_is_stored_under_an_alias_is_found_there_as_reading_finds_it(item: dict[str, Any], found: bool) -> None:
    assert evaluate(F(Renamed.size).eq(7), RENAMED, item) is found
    assert evaluate(F(Renamed.size).ne(7), RENAMED, item) is not found
    assert holds(compiled_condition(F(Renamed.size).eq(7)), item) is found


def test_a_path_inside_of_what_has_an_alias_is_found_there() -> None:
    first = F(Renamed, lambda renamed: renamed.tags[0])
    assert evaluate(first.eq("x"), RENAMED, {"words": {"L": [{"S": "x"}]}})
    assert not evaluate(first.exists(), RENAMED, {"labels": {"L": []}, "words": {"L": [{"S": "x"}]}})


def compiled_condition(condition: Condition) -> dict[str, Any]:
    compiler = Compiler(RENAMED)
    text = compiler.condition([condition])
    return {"ConditionExpression": text, **compiler.placeholders()}


def test_a_condition_names_its_fields() -> None:
    condition = F(Thing.count).ge(F(Thing.parts).size()) & ~F(Thing.name).is_in("a", F(Thing.other))
    paths = [field.path for field in condition.fields()]
    assert paths == [("count",), ("parts",), ("name",), ("other",)]
