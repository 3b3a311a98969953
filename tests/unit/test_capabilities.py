"""Servers that lack a part of DynamoDB: what needs it is refused, with what to do instead, and nothing else is."""

from __future__ import annotations

from typing import Any

import pytest

from dynamap import F, RequestError, ServiceError, Table, entity
from tests.fakes import answered, drive, lost, store_of


@entity("NOTE", pk="NOTE#{id}", sk="NOTE")
class Note:
    id: str
    count: int = 0


Notes = Table("notes", [Note])


def unknown() -> Any:
    failed = answered("UnknownOperationException", "Unsupported operation", status=400)
    failed.__cause__ = ValueError("botocore's own")
    return failed


NEEDING = {
    "transact": (
        lambda store: store.transact(store.of(Note).put(Note("a")), store.of(Note).put(Note("b"))),
        "transaction of 2: this server has no transactions, and nothing was done: write the items one by one, each "
        "under its version or a condition, or use a server that has them",
    ),
    "exactly_once": (
        lambda store: store.of(Note).update(id="a").add(F(Note.count), 1).exactly_once(),
        "update of Note id='a': this server has no transactions, and nothing was done: leave out exactly_once(): "
        "under a version, and where it only creates, a write recognises its own repetition",
    ),
    "transact_get": (
        lambda store: store.transact_get(store.of(Note).get(id="a")),
        "transaction of 1 gets: this server has no transactions, and nothing was done: read the items with get(), "
        "each as it is by itself, or use a server that has them",
    ),
}


@pytest.mark.parametrize("name", NEEDING)
def test_the_first_answer_is_the_probe_and_is_remembered(name: str) -> None:
    make, message = NEEDING[name]
    store: Any = store_of(Notes)
    first = drive(make(store)._plan(), unknown())
    assert type(first.error) is RequestError
    assert str(first.error) == message
    assert isinstance(first.error.__cause__, ValueError)
    for again in (store, store.with_name("other")):
        second = drive(make(again)._plan())
        assert (type(second.error), str(second.error), second.calls) == (RequestError, message, [])
    # another client may be another server's
    elsewhere = drive(make(store_of(Notes))._plan(), unknown())
    assert len(elsewhere.calls) == 1


def test_what_is_lacking_is_lacking_for_everything_that_needs_it() -> None:
    store: Any = store_of(Notes)
    drive(NEEDING["transact_get"][0](store)._plan(), unknown())
    assert drive(NEEDING["transact"][0](store)._plan()).calls == []
    assert drive(NEEDING["exactly_once"][0](store)._try_plan()).calls == []


@pytest.mark.parametrize("name", NEEDING)
def test_another_error_is_itself(name: str) -> None:
    make, _ = NEEDING[name]
    store: Any = store_of(Notes)
    error = drive(make(store)._plan(), answered("AccessDeniedException", "no")).error
    assert isinstance(error, ServiceError)
    assert error.code == "AccessDeniedException"
    assert len(drive(make(store)._plan(), answered("AccessDeniedException", "no")).calls) == 1


def test_an_attempt_that_was_lost_before_does_not_hide_it_from_reads() -> None:
    store: Any = store_of(Notes)
    make, message = NEEDING["transact_get"]
    assert str(drive(make(store)._plan(), lost(), unknown()).error) == message


def test_what_needs_nothing_of_it_still_works() -> None:
    store: Any = store_of(Notes)
    drive(NEEDING["transact"][0](store)._plan(), unknown())
    assert drive(store.of(Note).put(Note("a"))._plan(), {}).result == Note("a")
