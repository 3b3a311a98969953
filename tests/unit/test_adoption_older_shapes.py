"""Items of before a nested class was declared: a difference inside of it sets it whole, as it is not there."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from dynamap import OutcomeUnknown, ServiceError, Table, VersionConflict, entity, evolve
from tests.fakes import answered, condition_failed, drive, lost, store_of


@attrs.frozen
class Street:
    name: str = ""
    number: int | None = None


@attrs.frozen
class Address:
    city: str = ""
    street: Street = Street()


@entity("USER", pk="USER#{id}", sk="USER", frozen=True, version="revision")
class User:
    id: str
    home: Address = Address()
    office: Address | None = None
    revision: int = 0


Users = Table("users", [User])
READ = User("a", home=Address("Rome"), revision=7)
OLD = User("a", revision=7)
SEEN = {"id": {"S": "a"}, "_type": {"S": "USER"}, "revision": {"N": "9"}}
NO_PATH = answered(
    "ValidationException", "The document path provided in the update expression is invalid for update", status=400
)


def plan(before: User, after: User) -> Any:
    return store_of(Users).of(User).update(before).to(after)._plan()


def texts(driven: Any) -> list[str]:
    """The updates that were sent and their conditions, with names and values put back."""
    found: list[str] = []
    for call in driven.calls:
        text = f"{call.params['UpdateExpression']} IF {call.params['ConditionExpression']}"
        for placeholder, name in reversed(call.params["ExpressionAttributeNames"].items()):
            text = text.replace(placeholder, name)
        for placeholder, wire in reversed(call.params["ExpressionAttributeValues"].items()):
            text = text.replace(placeholder, str(next(iter(wire.values()))))
        found.append(text)
    return found


def test_what_was_read_as_the_default_is_set_whole_where_it_is_missing() -> None:
    stored = {"id": {"S": "a"}, "_type": {"S": "USER"}, "revision": {"N": "8"}, "home": {"M": {"city": {"S": "Oslo"}}}}
    driven = drive(plan(OLD, evolve(OLD, home=Address("Oslo"))), NO_PATH, {"Attributes": stored})
    assert driven.result == User("a", Address("Oslo"), revision=8)
    assert texts(driven) == [
        "SET home.city = Oslo, revision = 8, _w = w1 IF revision = 7",
        (
            "SET home = {'city': {'S': 'Oslo'}, 'street': {'M': {'name': {'S': ''}, 'number': {'NULL': True}}}}, "
            "revision = 8, _w = w1 IF revision = 7"
        ),
    ]


def test_inside_of_what_is_there_only_the_missing_part_is_set_whole() -> None:
    changed = evolve(READ, home=Address("Oslo", Street("Main")))
    driven = drive(plan(READ, changed), NO_PATH, condition_failed(SEEN))
    assert isinstance(driven.error, VersionConflict)
    assert texts(driven)[1] == (
        "SET home.city = Oslo, home.street = {'name': {'S': 'Main'}, 'number': {'NULL': True}}, "
        "revision = 8, _w = w1 IF revision = 7"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (READ, evolve(READ, home=Address("Oslo"))),
        (evolve(OLD, office=Address("x")), evolve(OLD, office=Address("y"))),
    ],
    ids=["no default", "None by default"],
)
def test_what_was_read_from_the_item_is_not_replaced(before: User, after: User) -> None:
    driven = drive(plan(before, after), NO_PATH)
    assert isinstance(driven.error, ServiceError)
    assert len(driven.calls) == 1


def test_it_is_tried_once() -> None:
    driven = drive(plan(OLD, evolve(OLD, home=Address("Oslo"))), NO_PATH, NO_PATH)
    assert isinstance(driven.error, ServiceError)
    assert len(driven.calls) == 2


def test_a_lost_answer_before_it_stays_lost() -> None:
    driven = drive(plan(OLD, evolve(OLD, home=Address("Oslo"))), lost(), NO_PATH)
    assert isinstance(driven.error, OutcomeUnknown)


def test_exactly_once_it_is_another_transaction() -> None:
    operation = store_of(Users).of(User).update(OLD).to(evolve(OLD, home=Address("Oslo"))).exactly_once()
    canceled = answered(
        "TransactionCanceledException",
        reasons=({"Code": "ValidationError", "Message": NO_PATH.message},),
    )
    driven = drive(operation._plan(), canceled, {})
    assert driven.error is None
    first, second = driven.calls
    assert first.params["ClientRequestToken"] != second.params["ClientRequestToken"]
    assert first.params["TransactItems"] != second.params["TransactItems"]
