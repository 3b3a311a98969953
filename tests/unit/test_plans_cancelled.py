"""What cancels a transaction means what it means alone: the same kind of conflict, and the same answer to try_send."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from dynamap import (
    Applied,
    Conflict,
    F,
    GlobalIndex,
    Index,
    Reason,
    Refused,
    ServiceError,
    Table,
    TransactionCanceled,
    VersionConflict,
    entity,
    evolve,
)
from dynamap.plan import Call, CallFailed, Reached
from tests.bank import READ, Account, Tables, View, account_item, view_item
from tests.fakes import answered, condition_failed, drive, lost, store_of

FAILED = "ConditionalCheckFailed"
START = 1_700_000_000_000_000


def canceled(*reasons: Any) -> CallFailed:
    return CallFailed(Reached.ANSWERED, "TransactionCanceledException", status=400, reasons=reasons)


def failed(item: Any = None, code: str = FAILED) -> dict[str, Any]:
    return {"Code": code, "Message": "The conditional request failed", **({"Item": item} if item else {})}


NONE = {"Code": "None"}


# ---- an item that is missing


@pytest.mark.parametrize("trying", [False, True], ids=["send", "try_send"])
def test_an_update_of_what_is_not_there_is_no_refusal_and_no_conflict(trying: bool) -> None:
    store = store_of(Tables)
    update = store.of(View).update(page="p").add(F(View.count), 1)
    check = store.of(View).check(page="q").exists()
    transaction = store.transact(update, check)
    plan = transaction._try_plan() if trying else transaction._plan()
    error = drive(plan, canceled(failed(), NONE), {}).error
    assert isinstance(error, TransactionCanceled)
    assert error.conflict is None
    assert error.reason_for(update) is Reason.CONDITION_FAILED
    assert error.failures[0].message == "there is no such item"
    assert str(error) == (
        "transaction of 2: cancelled, nothing was written: operation 1 (update of View page='p'): "
        "ConditionalCheckFailed, there is no such item"
    )


def test_what_the_caller_asked_for_is_a_refusal() -> None:
    store = store_of(Tables)
    views = store.of(View)
    asked: list[tuple[Any, Any, str]] = [
        (views.check(page="p").exists(), None, "there is no such item"),
        (views.check(page="p").not_exists(), view_item(1), "there is an item already"),
        (views.delete(page="p").if_exists(), None, "there is no such item"),
        (views.put(View("p")).if_exists(), None, "there is no such item"),
        (views.put(View("p")).if_not_exists(), view_item(1), "there is an item already"),
        (views.delete(page="p").if_(F(View.count).ge(5)), view_item(1), "the condition does not hold"),
    ]
    for operation, item, text in asked:
        answer = drive(store.transact(operation)._try_plan(), canceled(failed(item)), *([] if item else [{}])).outcome
        assert isinstance(answer, Refused)
        assert answer.seen.failures[0].message == text
        error = drive(store.transact(operation)._plan(), canceled(failed(item)), *([] if item else [{}])).error
        assert isinstance(error, TransactionCanceled)
        assert error.conflict is Conflict.CONDITION


def test_one_that_is_missing_beside_a_refusal_raises() -> None:
    store = store_of(Tables)
    views = store.of(View)
    transaction = store.transact(views.update(page="p").add(F(View.count), 1), views.put(View("q")).if_not_exists())
    error = drive(transaction._try_plan(), canceled(failed(), failed(view_item(1))), {}).error
    assert isinstance(error, TransactionCanceled)


# ---- what to() assumes


@entity("TICKET", pk="TICKET#{id}", sk="TICKET", indexes=[Index("gsi1", pk="TEAM#{team}", sk="{state}#{team}")])
class Ticket:
    id: str
    team: str
    state: str = "new"


Tickets = Table("tickets", [Ticket], indexes=[GlobalIndex("gsi1")])


def test_an_assumption_of_to_that_fails_is_a_version_conflict_in_a_transaction_as_alone() -> None:
    store = store_of(Tickets)
    tickets = store.of(Ticket)
    read = Ticket("t", "red")
    stored = tickets.put(Ticket("t", "blue")).params()["Item"]
    rewrite = tickets.update(read).to(evolve(read, state="done"))
    alone = drive(rewrite._plan(), condition_failed(stored)).error
    assert type(alone) is VersionConflict
    for plan in (store.transact(rewrite)._plan(), store.transact(rewrite)._try_plan()):
        error = drive(plan, canceled(failed(stored))).error
        assert isinstance(error, TransactionCanceled)
        assert error.conflict is Conflict.VERSION
        assert "team is no longer as it was read" in str(error)
    given = tickets.update(id="t").set(F(Ticket.state), "done").given(team="red")
    error = drive(store.transact(given)._plan(), canceled(failed(stored))).error
    assert isinstance(error, TransactionCanceled)
    assert error.conflict is Conflict.CONDITION


# ---- an item that cannot be read


def test_a_second_look_that_fails_leaves_what_is_known() -> None:
    store = store_of(Tables)
    replace, create = store.of(Account).put(READ), store.of(View).put(View("p")).if_not_exists()
    denied = answered("AccessDeniedException", "no GetItem")
    driven = drive(
        store.transact(replace, create)._plan(), canceled(failed(), failed()), denied, {"Item": view_item(3)}
    )
    error = driven.error
    assert isinstance(error, TransactionCanceled)
    assert error.item_for(replace) is None
    assert error.item_for(create) == View("p", 3)
    assert isinstance(error.__context__, ServiceError)
    message = error.failures[0].message
    assert message is not None
    assert message.startswith("what is stored there could not be read: ")
    assert "AccessDeniedException: no GetItem" in message
    error = drive(store.transact(replace)._try_plan(), canceled(failed()), denied).error
    assert isinstance(error, TransactionCanceled)
    assert error.conflict is Conflict.VERSION


# ---- version 0


def zero(store: Any) -> Any:
    return store.of(Account).update(id="a").ignore_version().add(F(Account.balance), 1)


def tokens(calls: list[Call]) -> list[str]:
    return [call.params["ClientRequestToken"] for call in calls if call.operation == "TransactWriteItems"]


def test_ignoring_a_version_of_zero_starts_afresh_by_another_transaction() -> None:
    store = store_of(Tables)
    put = store.of(View).put(View("p"))
    driven = drive(store.transact(put, zero(store))._plan(), canceled(NONE, failed(account_item(0))), lost(), {})
    assert driven.outcome.stored(put) == View("p")
    first, second, again = driven.calls
    assert len(set(tokens([first, second]))) == 2
    assert second == again
    update = second.params["TransactItems"][1]["Update"]
    assert {"N": str(START)} in update["ExpressionAttributeValues"].values()
    assert len(driven.sleeps) == 2


def test_other_writers_who_are_quicker_are_followed_for_a_while() -> None:
    store = store_of(Tables)
    versions = iter([0, 7] * 10)

    def answer(call: Call) -> Any:
        raise canceled(failed(account_item(next(versions))))

    driven = drive(store.transact(zero(store))._plan(), answer=answer)
    assert isinstance(driven.error, TransactionCanceled)
    assert len(driven.calls) == len(set(tokens(driven.calls))) == 10
    assert driven.error.conflict is Conflict.VERSION


def test_a_version_that_a_condition_beside_it_refuses_is_not_followed() -> None:
    store = store_of(Tables)
    update = zero(store).if_(F(Account.balance).exists())
    driven = drive(store.transact(update)._try_plan(), canceled(failed(account_item(7))))
    assert isinstance(driven.outcome, Refused)


def test_under_a_token_of_the_callers_it_says_what_to_do() -> None:
    store = store_of(Tables)
    error = drive(store.transact(zero(store)).token("t")._try_plan(), canceled(failed(account_item(0)))).error
    assert isinstance(error, TransactionCanceled)
    assert str(error) == (
        "transaction of 1: cancelled, nothing was written: operation 1 (update of Account id='a'): "
        "ConditionalCheckFailed, it is stored with version 0, and to start it afresh takes another request: leave out "
        "token(), or update the item that was read"
    )


def test_beside_a_conflict_nobody_is_to_blame() -> None:
    store = store_of(Tables)
    driven = drive(
        store.transact(zero(store), store.of(View).put(View("p")))._plan(),
        canceled(failed(account_item(0)), failed(code="TransactionConflict")),
    )
    assert isinstance(driven.error, TransactionCanceled)
    assert driven.error.conflict is Conflict.TRANSACTION


# ---- nested classes


@attrs.frozen
class Address:
    city: str = ""
    street: str = ""


@entity("PERSON", pk="PERSON#{id}", sk="PERSON")
class Person:
    id: str
    address: Address = Address()


Persons = Table("persons", [Person])
INVALID = {
    "Code": "ValidationError",
    "Message": "The document path provided in the update expression is invalid for update",
}
Send = Callable[[Any, Any], Any]
WAYS: dict[str, Send] = {
    "transaction": lambda store, operation: store.transact(operation),
    "exactly once": lambda store, operation: operation.exactly_once(),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_nested_class_that_an_older_item_has_not_is_stored_whole(way: Send) -> None:
    store = store_of(Persons)
    read = Person("p")
    rewrite = store.of(Person).update(read).to(evolve(read, address=Address("Rome")))
    item = store.of(Person).put(Person("p", Address("Rome"))).params()["Item"]
    driven = drive(way(store, rewrite)._plan(), canceled(INVALID), lost(), {}, answer=lambda call: {"Item": item})
    assert driven.error is None
    first, second, again = driven.calls[:3]
    assert len(set(tokens([first, second]))) == 2
    assert second == again
    (action,) = second.params["TransactItems"]
    assert {"M": {"city": {"S": "Rome"}, "street": {"S": ""}}} in action["Update"]["ExpressionAttributeValues"].values()


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_parent_that_is_missing_is_named(way: Send) -> None:
    store = store_of(Persons)
    update = store.of(Person).update(id="p").set(F(Person, lambda p: p.address.city), "Rome")
    error = drive(way(store, update)._plan(), canceled(INVALID)).error
    assert error is not None
    assert (
        "the item has no address, and nothing can be changed inside of what is not there: set it as a whole first"
    ) in str(error)


def test_under_a_token_of_the_callers_the_parent_is_named_too() -> None:
    store = store_of(Persons)
    read = Person("p")
    rewrite = store.of(Person).update(read).to(evolve(read, address=Address("Rome")))
    error = drive(store.transact(rewrite).token("t")._plan(), canceled(INVALID)).error
    assert isinstance(error, TransactionCanceled)
    assert "the item has no address, and nothing can be changed inside of what is not there" in str(error)


def test_an_answer_is_an_answer() -> None:
    store = store_of(Tables)
    assert isinstance(drive(store.transact(store.of(View).put(View("p")))._try_plan(), {}).outcome, Applied)
