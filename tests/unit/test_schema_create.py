"""The request that creates a table, and the plans that create and delete it and wait."""

from __future__ import annotations

from typing import Any

import pytest

import dynamap
from dynamap import DeadlineExceeded, Key, RequestError, ServiceError, Table, entity
from dynamap.operations.tables import create_table, delete_table
from dynamap.plan import Call
from dynamap.schema import create_params
from tests.fakes import answered, drive, lost, store_of


@entity("X", pk="X#{id}", sk="X")
class X:
    id: str


@entity("LONE", pk="LONE#{id}")
class Lone:
    id: str


Xs = Table("table", [X])


def test_a_table_is_made_on_demand() -> None:
    assert create_params(Xs, "table") == {
        "TableName": "table",
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "S"},
        ],
        "KeySchema": [
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
        "BillingMode": "PAY_PER_REQUEST",
    }


def test_a_table_without_sort_key_has_one_key() -> None:
    params = create_params(Table("table", [Lone], pk=Key("id-of"), sk=None), "other")
    assert params["TableName"] == "other"
    assert params["KeySchema"] == [{"AttributeName": "id-of", "KeyType": "HASH"}]
    assert params["AttributeDefinitions"] == [{"AttributeName": "id-of", "AttributeType": "S"}]


def test_a_table_is_made_with_both_capacities() -> None:
    params = create_params(Xs, "table", read_capacity=5, write_capacity=1)
    assert params["BillingMode"] == "PROVISIONED"
    assert params["ProvisionedThroughput"] == {"ReadCapacityUnits": 5, "WriteCapacityUnits": 1}


@pytest.mark.parametrize(
    ("read", "write", "option", "given"),
    [
        (5, None, "write_capacity", "None"),
        (None, 5, "read_capacity", "None"),
        (0, 1, "read_capacity", "0"),
        (1, -1, "write_capacity", "-1"),
        (1.5, 1, "read_capacity", "1.5"),
        (True, 1, "read_capacity", "True"),
        (1, "1", "write_capacity", "'1'"),
    ],
)
def test_capacities_are_whole_numbers_and_two(read: Any, write: Any, option: str, given: str) -> None:
    with pytest.raises(RequestError) as caught:
        create_params(Xs, "table", read_capacity=read, write_capacity=write)
    assert str(caught.value) == (
        f"{option} is {given}: a provisioned table takes whole read_capacity and write_capacity from 1 on; leave both "
        f"out "
        f"for a table on demand"
    )


@pytest.mark.parametrize("name", ["ab", "", "a table", "x" * 256, "täble"])
def test_a_wrong_name_is_refused_before_anything_is_sent(name: str) -> None:
    with pytest.raises(RequestError, match="is no table name: 3 to 255 letters, digits, dots, dashes and underscores"):
        create_params(Xs, name)


@pytest.mark.parametrize("name", ["abc", "a.b-c_d", "x" * 255, "123"])
def test_every_name_that_dynamodb_takes_passes(name: str) -> None:
    assert create_params(Xs, name)["TableName"] == name


# ---- creating and waiting

PARAMS = create_params(Xs, "table")
MISSING = "ResourceNotFoundException"


def status(word: str) -> dict[str, Any]:
    return {"Table": {"TableStatus": word}}


def creating(*replies: Any, **options: Any) -> Any:
    return drive(create_table(store_of(Xs, **options)._runtime, PARAMS), *replies)


def deleting(*replies: Any, **options: Any) -> Any:
    return drive(delete_table(store_of(Xs, **options)._runtime, "table"), *replies)


def test_creating_waits_until_the_table_is_active() -> None:
    driven = creating(answered(MISSING), {}, status("CREATING"), status("CREATING"), status("ACTIVE"))
    assert driven.error is None
    assert driven.operations == ["DescribeTable", "CreateTable", *["DescribeTable"] * 3]
    assert driven.calls[1] == Call("CreateTable", PARAMS)
    assert driven.sleeps == [0.05, 0.1]


def test_a_table_that_is_there_is_said() -> None:
    error = creating(status("ACTIVE")).error
    assert isinstance(error, ServiceError)
    assert error.code == "ResourceInUseException"
    assert str(error) == "create table table: a table of this name is there already, with status ACTIVE"


def test_a_table_that_is_being_deleted_is_waited_for() -> None:
    driven = creating(status("DELETING"), answered(MISSING), {}, status("ACTIVE"))
    assert driven.error is None


def test_a_lost_answer_is_cleared_up_by_looking() -> None:
    # the first attempt created it: the second is told that it is in use
    driven = creating(answered(MISSING), lost(), answered("ResourceInUseException"), status("ACTIVE"), status("ACTIVE"))
    assert driven.error is None
    assert driven.operations.count("CreateTable") == 2


def test_a_lost_answer_of_nothing_creates_again() -> None:
    driven = creating(
        answered(MISSING),
        lost(),
        answered("ValidationException"),
        answered(MISSING),
        answered(MISSING),
        {},
        status("ACTIVE"),
    )
    assert driven.error is None


def test_too_many_tables_at_once_are_waited_for() -> None:
    driven = creating(answered(MISSING), answered("LimitExceededException"), answered(MISSING), {}, status("ACTIVE"))
    assert driven.error is None


def test_what_the_service_refuses_is_raised() -> None:
    error = creating(answered(MISSING), answered("AccessDeniedException", "no")).error
    assert isinstance(error, ServiceError)
    assert error.code == "AccessDeniedException"


def test_looking_repeats_what_may_pass() -> None:
    driven = creating(answered("ThrottlingException"), answered(MISSING), {}, lost(), status("ACTIVE"))
    assert driven.error is None


def test_waiting_for_ever_is_bounded() -> None:
    runtime = store_of(Xs)._runtime
    looks = iter([answered(MISSING), {}])
    driven = drive(create_table(runtime, PARAMS), answer=lambda call: _next(looks))
    assert isinstance(driven.error, DeadlineExceeded)
    assert str(driven.error) == "create table table: it takes longer than it may; look at the table's status"
    assert sum(driven.sleeps) == pytest.approx(300.0)
    assert max(driven.sleeps) == 2.0


def _next(looks: Any) -> Any:
    given = next(looks, status("CREATING"))
    if isinstance(given, Exception):
        raise given
    return given


def test_waiting_ends_with_the_deadline() -> None:
    with dynamap.deadline(0):
        assert isinstance(creating().error, DeadlineExceeded)


def test_deleting_waits_until_the_table_is_gone() -> None:
    driven = deleting(status("ACTIVE"), {}, status("DELETING"), answered(MISSING))
    assert driven.error is None
    assert driven.operations == ["DescribeTable", "DeleteTable", "DescribeTable", "DescribeTable"]


def test_deleting_what_is_not_there_is_fine() -> None:
    assert deleting(answered(MISSING)).error is None


def test_a_table_that_is_being_created_is_waited_for_and_deleted() -> None:
    driven = deleting(status("CREATING"), status("ACTIVE"), {}, answered(MISSING))
    assert driven.operations.count("DeleteTable") == 1


@pytest.mark.parametrize("code", ["ResourceInUseException", "ResourceNotFoundException", "LimitExceededException"])
def test_a_deletion_that_is_not_possible_now_is_looked_at_again(code: str) -> None:
    assert deleting(status("ACTIVE"), answered(code), answered(MISSING)).error is None


def test_a_deletion_that_is_refused_is_raised() -> None:
    error = deleting(status("ACTIVE"), answered("AccessDeniedException", "no")).error
    assert isinstance(error, ServiceError)


def test_a_lost_deletion_is_looked_at() -> None:
    assert deleting(status("ACTIVE"), *[lost()] * 10, status("DELETING"), answered(MISSING)).error is None
