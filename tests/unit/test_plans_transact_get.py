"""Reads at one moment, driven by hand: the request, what is refused before it, and what a cancelled one means."""

from __future__ import annotations

from typing import Any

import pytest

from dynamap import (
    Conflict,
    F,
    Get,
    ItemDecodeError,
    ItemNotFound,
    Key,
    LimitExceeded,
    RequestError,
    ServiceError,
    Table,
    Throttled,
    TransactionConflict,
    entity,
)
from tests.fakes import NOW, answered, drive, lost, never_sent, store_of


@entity("NOTE", pk="NOTE#{id}", sk="NOTE")
class Note:
    id: str
    text: str = ""


@entity("TOKEN", pk="TOKEN#{id}", sk="TOKEN", ttl="until")
class Token:
    id: str
    until: int = 0


@entity("COUNTER", pk="{number}")
class Counter:
    number: int
    count: int = 0


Notes = Table("notes", [Note, Token], ttl="ttl")
Counters = Table("counters", [Counter], pk=Key("number", int), sk=None)


def key(id: str, kind: str = "NOTE") -> Any:  # noqa: A002
    return {"pk": {"S": f"{kind}#{id}"}, "sk": {"S": kind}}


def note(id: str, text: str = "") -> Any:  # noqa: A002
    return {**key(id), "_type": {"S": "NOTE"}, "id": {"S": id}, "text": {"S": text}}


def test_a_request_has_the_keys_and_nothing_that_a_transaction_does_not_take() -> None:
    store: Any = store_of(Notes)
    other = store.with_name("others")
    gets = [store.of(Note).get(id="a").strongly_consistent(), other.of(Note).get(id="a").eventually_consistent()]
    operation = store.transact_get(*gets)
    assert operation.params() == {
        "TransactItems": [
            {"Get": {"TableName": "notes", "Key": key("a")}},
            {"Get": {"TableName": "others", "Key": key("a")}},
        ]
    }
    assert operation.explain() == (
        "TransactGetItems of 2, at twice the read units of each\n"
        "  GetItem on notes\n"
        '    key        pk = "NOTE#a", sk = "NOTE"\n'
        "    capacity   1 read unit for each 4 KB of the item (strongly consistent)\n"
        "  GetItem on others\n"
        '    key        pk = "NOTE#a", sk = "NOTE"\n'
        "    capacity   1 read unit for each 4 KB of the item (strongly consistent)"
    )


def test_answers_come_in_the_order_of_the_gets() -> None:
    store: Any = store_of(Notes)
    notes = store.of(Note)
    reply = {"Responses": [{"Item": note("b", "two")}, {}, {"Item": note("a", "one")}]}
    driven = drive(
        store.transact_get(notes.get(id="b"), notes.get(id="c"), notes.get(id="a").required())._plan(), reply
    )
    assert driven.result == (Note("b", "two"), None, Note("a", "one"))
    assert driven.operations == ["TransactGetItems"]


def test_a_miss_that_was_required_is_named() -> None:
    store: Any = store_of(Notes)
    gets = [store.of(Note).get(id=each).required() for each in "ab"]
    error = drive(store.transact_get(*gets)._plan(), {"Responses": [{"Item": note("a")}, {}]}).error
    assert isinstance(error, ItemNotFound)
    assert str(error) == "get of Note id='b': there is no such item"
    assert (error.entity, error.key) == (Note, {"id": "b"})


def test_what_has_expired_is_hidden_unless_it_is_asked_for() -> None:
    store: Any = store_of(Notes)
    get = store.of(Token).get(id="x")
    stored = {**key("x", "TOKEN"), "_type": {"S": "TOKEN"}, "id": {"S": "x"}, "ttl": {"N": str(int(NOW))}}
    reply = {"Responses": [{"Item": stored}]}
    assert drive(store.transact_get(get)._plan(), reply).result == (None,)
    assert drive(store.transact_get(get.include_expired())._plan(), reply).result == (Token("x", int(NOW)),)


def test_an_item_of_another_type_is_no_answer() -> None:
    store: Any = store_of(Notes)
    reply = {"Responses": [{"Item": {**note("a"), "_type": {"S": "TOKEN"}}}]}
    assert isinstance(drive(store.transact_get(store.of(Note).get(id="a"))._plan(), reply).error, ItemDecodeError)


def refused(made: Any, error: type[Exception]) -> str:
    with pytest.raises(error) as caught:
        made()
    assert type(caught.value) is error
    return str(caught.value)


@pytest.mark.parametrize(
    ("several", "got"),
    [
        (list, "list"),
        (tuple, "tuple"),
        (set, "set"),
        (frozenset, "frozenset"),
        (iter, "list_iterator"),
        (lambda each: (one for one in each), "generator"),
        (lambda each: map(id, each), "map"),
        (lambda each: dict(enumerate(each)).values(), "dict_values"),
    ],
)
def test_several_in_one_argument_are_to_be_unpacked(several: Any, got: str) -> None:
    store: Any = store_of(Notes)
    notes = store.of(Note)
    reads = refused(lambda: store.transact_get(several([notes.get(id="a")])), RequestError)
    words = "transact_get() takes gets, such as accounts.get(...)"
    assert reads == f"{words}; argument 1 is {got}: write transact_get(*...)"
    writes = refused(lambda: store.transact(several([notes.put(Note("a"))])), RequestError)
    assert writes.endswith(f"; argument 1 is {got}: write transact(*...)")


@pytest.mark.parametrize("given", ["text", 1, None, Note("a"), {"id": "a"}])
def test_what_is_not_several_is_only_named(given: object) -> None:
    store: Any = store_of(Notes)
    got = type(given).__name__
    assert refused(lambda: store.transact_get(given), RequestError) == (
        f"transact_get() takes gets, such as accounts.get(...); argument 1 is {got}"
    )
    assert refused(lambda: store.transact(given), RequestError).endswith(f"; argument 1 is {got}")


def test_what_cannot_be_read_together_is_refused() -> None:
    store: Any = store_of(Notes)
    notes = store.of(Note)
    assert refused(store.transact_get, RequestError) == "transact_get() takes at least one get"
    assert refused(lambda: store.transact_get(*(notes.get(id=str(n)) for n in range(101))), LimitExceeded) == (
        "transact_get() takes up to 100 gets; got 101: read them in several, or batches"
    )
    assert refused(lambda: store.transact_get(notes.get(id="a"), notes.put(Note("b"))), RequestError) == (
        "transact_get() takes gets, such as accounts.get(...); argument 2 is Put"
    )
    assert refused(lambda: store.transact_get([notes.get(id="a")]), RequestError) == (
        "transact_get() takes gets, such as accounts.get(...); argument 1 is list: write transact_get(*...)"
    )
    stranger: Any = store_of(Notes)
    assert refused(lambda: store.transact_get(stranger.of(Note).get(id="a")), RequestError) == (
        "transact_get(): argument 1 belongs to a store with another client: pass one client= to connect() of both "
        "stores, or, where they have the same Table, make one of the other with store.with_name()"
    )
    twice = [notes.get(id="a"), notes.get(id="b"), notes.get(id="a").required()]
    assert refused(lambda: store.transact_get(*twice), RequestError) == (
        "transact_get() takes an item once, but gets 1 and 3 (get of Note id='a') are about the same: leave one out"
    )
    assert store.transact_get(*(notes.get(id=str(n)) for n in range(100))).params()


def canceled(*codes: str) -> Any:
    return answered(
        "TransactionCanceledException", "Transaction cancelled", status=400, reasons=[{"Code": code} for code in codes]
    )


def read_two() -> Any:
    store: Any = store_of(Notes)
    notes = store.of(Note)
    return store.transact_get(notes.get(id="a"), notes.get(id="b"))._plan()


REPLY = {"Responses": [{"Item": note("a")}, {"Item": note("b")}]}


@pytest.mark.parametrize(
    "passing",
    [
        lost,
        never_sent,
        lambda: answered("ThrottlingException"),
        lambda: answered("InternalServerError", status=500),
        lambda: canceled("None", "TransactionConflict"),
        lambda: canceled("ThrottlingError", "ProvisionedThroughputExceeded"),
        lambda: canceled("ThrottlingError", "TransactionConflict"),
    ],
)
def test_what_may_pass_is_repeated_after_a_pause(passing: Any) -> None:
    driven = drive(read_two(), passing(), REPLY)
    assert driven.result == (Note("a"), Note("b"))
    assert driven.calls[0] is driven.calls[1]
    assert len(driven.sleeps) == 1


def test_conflicts_without_end_are_a_conflict_that_can_be_run_again() -> None:
    driven = drive(read_two(), *(canceled("None", "TransactionConflict") for _ in range(10)))
    assert isinstance(driven.error, TransactionConflict)
    assert driven.error.conflict is Conflict.TRANSACTION
    assert str(driven.error) == (
        "transaction of 2 gets: a transaction kept the item busy, nothing was read: send it again later"
    )
    assert len(driven.sleeps) == 9


def test_load_without_end_is_throttling() -> None:
    error = drive(read_two(), *(canceled("ThrottlingError", "None") for _ in range(10))).error
    assert isinstance(error, Throttled)
    assert str(error) == (
        "transaction of 2 gets: the service kept refusing for load (ThrottlingException), nothing was read: "
        "spread the load or raise the capacity"
    )


@pytest.mark.parametrize(
    ("codes", "named"),
    [
        (("None", "ValidationError"), "get 2 (get of Note id='b'): ValidationError"),
        (
            ("TransactionConflict", "AccessDenied"),
            "get 1 (get of Note id='a'): TransactionConflict; get 2 (get of Note id='b'): AccessDenied",
        ),
        ((), "Transaction cancelled"),
    ],
)
def test_what_does_not_pass_is_raised_with_its_reasons(codes: tuple[str, ...], named: str) -> None:
    driven = drive(read_two(), canceled(*codes))
    assert isinstance(driven.error, ServiceError)
    assert driven.error.code == "TransactionCanceledException"
    assert str(driven.error) == f"transaction of 2 gets: cancelled, nothing was read: {named}"
    assert driven.sleeps == []


def test_it_is_seen_as_a_kind_of_read_by_readers() -> None:
    store: Any = store_of(Counters)
    counters = store.of(Counter)
    assert isinstance(counters.get(number=1), Get)
    assert refused(lambda: store.transact_get(counters.get(number=1), counters.get(number=1)), RequestError) == (
        "transact_get() takes an item once, but gets 1 and 2 (get of Counter number=1) are about the same: "
        "leave one out"
    )


def test_a_part_is_asked_for_as_a_get_asks_for_it() -> None:
    store: Any = store_of(Notes)
    get = store.of(Note).get(id="a").project(F(Note.text))
    wanted = {name: value for name, value in get.params().items() if name != "ConsistentRead"}
    assert "ProjectionExpression" in wanted
    assert store.transact_get(get).params() == {"TransactItems": [{"Get": wanted}]}
    assert drive(store.transact_get(get)._plan(), {"Responses": [{"Item": note("a", "hello")}]}).result == ("hello",)
