"""PartiQL, driven by hand: what is sent, what is refused before it, and what an answer means."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from dynamap import (
    ConditionFailed,
    EncodeError,
    ItemAlreadyExists,
    ItemDecodeError,
    OutcomeUnknown,
    RequestError,
    ServiceError,
    Table,
    UnguardedWrite,
    entity,
)
from tests.fakes import answered, applied_but_unreadable, condition_failed, drive, lost, store_of


@entity("NOTE", pk="NOTE#{id}", sk="NOTE")
class Note:
    id: str


@entity("ACCOUNT", pk="ACCOUNT#{id}", sk="ACCOUNT", version="revision")
class Account:
    id: str
    revision: int = 0


def notes() -> Any:
    return store_of(Table("notes", [Note]))


def shop() -> Any:
    return store_of(Table("shop", [Note, Account]))


SELECT = 'SELECT * FROM "notes" WHERE pk = ?'
UPDATE = 'UPDATE "notes" SET n = ? WHERE pk = ? AND sk = ?'


def test_a_statement_with_plain_values() -> None:
    operation = notes().execute(SELECT, ["x", 3, Decimal("1.50"), None, [b"b", {"a": True}], {1, 2}])
    assert operation.params() == {
        "Statement": SELECT,
        "Parameters": [
            {"S": "x"},
            {"N": "3"},
            {"N": "1.5"},
            {"NULL": True},
            {"L": [{"B": b"b"}, {"M": {"a": {"BOOL": True}}}]},
            {"NS": ["1", "2"]},
        ],
    }
    assert notes().execute("SELECT * FROM notes").params() == {"Statement": "SELECT * FROM notes"}
    assert notes().execute(SELECT, ("x",)).strongly_consistent().params()["ConsistentRead"] is True
    assert notes().execute(SELECT, ["x", 3]).explain() == (
        'ExecuteStatement SELECT * FROM "notes" WHERE pk = ?\n  parameter  "x"\n  parameter  3'
    )


def test_pages_are_read_to_their_end() -> None:
    operation = notes().execute(SELECT, ["x"])
    driven = drive(
        operation._plan(),
        {"Items": [{"pk": {"S": "a"}, "n": {"N": "1.5"}}], "NextToken": "t1", "LastEvaluatedKey": {"pk": {"S": "a"}}},
        lost(),
        {"Items": [], "NextToken": "t2"},
        {"Items": [{"tags": {"SS": ["x"]}, "n": {"N": "10"}}]},
    )
    assert driven.result == [{"pk": "a", "n": Decimal("1.5")}, {"tags": {"x"}, "n": 10}]
    assert [call.params.get("NextToken") for call in driven.calls] == [None, "t1", "t1", "t2"]
    assert all(call.params["Parameters"] == [{"S": "x"}] for call in driven.calls)


def test_what_cannot_be_read_is_said() -> None:
    error = drive(notes().execute(SELECT)._plan(), {"Items": [{"a": {"S": "x"}}, {"a": {"Q": "x"}}]}).error
    assert isinstance(error, ItemDecodeError)
    assert (
        str(error)
        == "PartiQL SELECT: item 2 of the answer cannot be read: $.a: a value expected, found the unknown type Q"
    )


def refused(error: type[Exception], *arguments: Any, **options: Any) -> str:
    with pytest.raises(error) as caught:
        shop().execute(*arguments, **options)
    assert type(caught.value) is error
    return str(caught.value)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("", "execute() takes a PartiQL statement that begins with SELECT, INSERT, UPDATE, DELETE"),
        ("EXISTS(x)", "execute() takes a PartiQL statement that begins with SELECT, INSERT, UPDATE, DELETE"),
        (b"SELECT", "execute() takes a PartiQL statement that begins with SELECT, INSERT, UPDATE, DELETE; got bytes"),
        (None, "execute() takes a PartiQL statement that begins with SELECT, INSERT, UPDATE, DELETE; got NoneType"),
        (f"SELECT {'x' * 8192}", "execute() takes a statement of up to 8,192 characters; got 8,199"),
    ],
)
def test_what_is_no_statement(statement: Any, message: str) -> None:
    assert refused(RequestError, statement) == message


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ([date(2024, 1, 1)], "parameter 1: a plain value expected, got date"),
        (["x", {"a": [date(2024, 1, 1)]}], "parameter 2: $.a[0]: a plain value expected, got date"),
    ],
)
def test_values_that_only_a_class_could_declare(parameters: Any, message: str) -> None:
    hint = "; give the text, number or other plain value that is stored"
    assert refused(EncodeError, SELECT, parameters) == f"PartiQL SELECT: {message}{hint}"


def test_values_that_nothing_can_hold() -> None:
    assert refused(EncodeError, SELECT, [10**40 + 1]).startswith("PartiQL SELECT: parameter 1: ")
    assert refused(RequestError, SELECT, "x") == (
        "PartiQL SELECT: the parameters are a list, one for each ? of the statement; got str"
    )
    assert refused(RequestError, SELECT, {"a": 1}) == (
        "PartiQL SELECT: the parameters are a list, one for each ? of the statement; got dict"
    )


WRITES = [
    "INSERT INTO notes VALUE {'pk': ?}",
    'insert into "notes" value {}',
    UPDATE,
    "  update notes set x = 1 where pk = 'a'",
    "DELETE FROM notes WHERE pk = ?",
]


@pytest.mark.parametrize("statement", WRITES)
def test_a_statement_that_writes_is_refused_unless_it_is_permitted(statement: str) -> None:
    verb = statement.split(maxsplit=1)[0].upper()
    with pytest.raises(RequestError) as caught:
        notes().execute(statement)
    assert str(caught.value) == (
        "PartiQL VERB: it writes, and knows nothing of keys, indexes, types and versions: put, update and delete "
        "do; say writes=True to send it all the same"
    ).replace("VERB", verb)
    assert notes().execute(statement, writes=True).params() == {"Statement": statement}


@pytest.mark.parametrize(
    "statement",
    [
        'UPDATE "shop" SET n = 1 WHERE pk = ?',
        "DELETE FROM shop WHERE pk = ?",
        "INSERT  INTO\n shop VALUE {}",
        "update SHOP set n = 1",
        'DELETE FROM "shop"."gsi1" WHERE pk = ?',
        "DELETE /* whence */ FROM shop",
        "UPDATE",
    ],
)
def test_versioned_types_need_more(statement: str) -> None:
    verb = statement.split(maxsplit=1)[0].upper()
    assert refused(UnguardedWrite, statement, writes=True) == (
        "PartiQL VERB: the table holds Account, whose versions it would neither check nor raise, so that other "
        "writers would lose its change or theirs: say unversioned=True if it writes none of them, or if nobody else "
        "writes meanwhile"
    ).replace("VERB", verb)
    assert shop().execute(statement, writes=True, unversioned=True).params() == {"Statement": statement}


def test_another_table_is_another_matter() -> None:
    assert shop().execute("DELETE FROM audit WHERE pk = ?", ["x"], writes=True).params()
    assert shop().execute('DELETE FROM "shop-2" WHERE pk = ?', ["x"], writes=True).params()
    with pytest.raises(UnguardedWrite):
        shop().with_name("shop-2").execute('DELETE FROM "shop-2" WHERE pk = ?', ["x"], writes=True)


def test_writes_are_not_read_strongly() -> None:
    with pytest.raises(RequestError) as caught:
        notes().execute(UPDATE, writes=True).strongly_consistent()
    assert str(caught.value) == (
        "PartiQL UPDATE: only a SELECT is read strongly or eventually: leave out strongly_consistent()"
    )


# ---- what becomes of a write


def written(*replies: Any, statement: str = UPDATE) -> Any:
    return drive(notes().execute(statement, [1, "x", "y"], writes=True)._plan(), *replies)


def test_a_write_that_was_applied() -> None:
    assert written({"Items": []}).result == []
    assert written({"Items": [{"n": {"N": "1"}}]}, statement=f"{UPDATE} RETURNING ALL NEW *").result == [{"n": 1}]


def test_a_write_that_was_refused() -> None:
    failed = written(condition_failed())
    assert type(failed.error) is ConditionFailed
    assert str(failed.error) == (
        "PartiQL UPDATE: the condition does not hold, or there is no such item; nothing was written"
    )
    twice = written(answered("DuplicateItemException", "Duplicate primary key"), statement=WRITES[0])
    assert type(twice.error) is ItemAlreadyExists
    assert str(twice.error) == "PartiQL INSERT: there is an item already; nothing was written"
    assert isinstance(written(answered("ValidationException", "no")).error, ServiceError)


def test_a_write_whose_answer_was_lost_is_never_repeated() -> None:
    driven = written(lost())
    assert isinstance(driven.error, OutcomeUnknown)
    assert driven.error.applied is None
    assert driven.operations == ["ExecuteStatement"]


def test_a_write_that_was_not_applied_is_repeated() -> None:
    driven = written(answered("ThrottlingException"), answered("TransactionConflictException"), {"Items": []})
    assert driven.result == []
    assert driven.calls[0] is driven.calls[2]


def test_an_unreadable_word_of_success() -> None:
    assert written(applied_but_unreadable()).result == []
    error = written(applied_but_unreadable(), statement=f"{UPDATE} returning all old *").error
    assert isinstance(error, OutcomeUnknown)
    assert error.applied is True
    assert str(error) == "PartiQL UPDATE: it was applied, but the answer with the value was lost: read the item"


def test_a_server_without_partiql() -> None:
    store = notes()
    unknown = answered("UnknownOperationException", "Unsupported operation", status=400)
    message = (
        "PartiQL SELECT: this server has no PartiQL, and nothing was done: use get, query and scan, or a server that "
        "has it"
    )
    assert str(drive(store.execute(SELECT)._plan(), unknown).error) == message
    again = drive(store.execute(SELECT)._plan())
    assert (str(again.error), again.calls) == (message, [])
