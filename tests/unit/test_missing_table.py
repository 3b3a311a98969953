"""A table that is not there: the message names it, and what it may be that is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dynamap import ServiceError, Table, entity
from tests.fakes import answered, drive, never_sent, store_of


@entity("NOTE", pk="NOTE#{id}", sk="NOTE")
class Note:
    id: str


WORDS = "Requested resource not found"
REMEDY = (
    "is not there, or not ACTIVE yet: create it with store.create_table(), or correct its name (that of the Table, "
    "prefix=, with_name()), the region or the endpoint"
)

OPERATIONS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "get": (lambda s: s.of(Note).get(id="a"), f"get of Note id='a': CODE: {WORDS}; table 'notes' {REMEDY}"),
    "put": (lambda s: s.of(Note).put(Note("a")), f"put of Note id='a': CODE: {WORDS}; table 'notes' {REMEDY}"),
    "query": (lambda s: s.of(Note).query(id="a"), f"query of Note id='a': CODE: {WORDS}; table 'notes' {REMEDY}"),
    "several puts": (
        lambda s: s.of(Note).put_many([Note("a"), Note("b")]),
        f"put_many of Note: CODE: {WORDS}; table 'notes' {REMEDY}",
    ),
    "several gets": (
        lambda s: s.of(Note).get_many([{"id": "a"}]),
        f"get_many of Note: CODE: {WORDS}; table 'notes' {REMEDY}",
    ),
    "a transaction of one table": (
        lambda s: s.transact(s.of(Note).put(Note("a")), s.of(Note).put(Note("b"))),
        f"transaction of 2: CODE: {WORDS}; table 'notes' {REMEDY}",
    ),
    "a transaction of two": (
        lambda s: s.transact(s.of(Note).put(Note("a")), s.with_name("other").of(Note).put(Note("b"))),
        f"transaction of 2: CODE: {WORDS}; one of the tables 'notes', 'other' {REMEDY}",
    ),
    "reads of two": (
        lambda s: s.transact_get(s.of(Note).get(id="a"), s.with_name("other").of(Note).get(id="a")),
        f"transaction of 2 gets: CODE: {WORDS}; one of the tables 'notes', 'other' {REMEDY}",
    ),
    "a statement": (
        lambda s: s.execute("SELECT * FROM nowhere"),
        f"PartiQL SELECT: CODE: {WORDS}; the table {REMEDY}",
    ),
}


@pytest.mark.parametrize(("build", "message"), OPERATIONS.values(), ids=OPERATIONS)
def test_the_message_names_the_table_and_the_remedy(build: Callable[[Any], Any], message: str) -> None:
    store = store_of(Table("notes", [Note]))
    error = drive(build(store)._plan(), answered("ResourceNotFoundException", WORDS)).error
    assert isinstance(error, ServiceError)
    assert str(error) == message.replace("CODE", "ResourceNotFoundException")
    assert (error.code, error.message) == ("ResourceNotFoundException", WORDS)


def test_the_physical_name_counts() -> None:
    store = store_of(Table("notes", [Note])).with_name("stage-notes")
    error = drive(
        store.of(Note).get(id="a")._plan(), never_sent(), answered("ResourceNotFoundException", "Table not found: x")
    ).error
    assert str(error) == (
        "get of Note id='a': ResourceNotFoundException: Table not found: x; table 'stage-notes' is not there, or not "
        "ACTIVE yet: create it with store.create_table(), or correct its name (that of the Table, prefix=, "
        "with_name()), the region or the endpoint (nothing was read, after 2 attempts)"
    )


def test_other_refusals_are_in_the_services_words_alone() -> None:
    store = store_of(Table("notes", [Note]))
    error = drive(store.of(Note).get(id="a")._plan(), answered("AccessDeniedException", "not authorized")).error
    assert str(error) == "get of Note id='a': AccessDeniedException: not authorized"
