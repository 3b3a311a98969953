"""What is known of a write outlives what fails after it, and what is not known is not answered."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Any

import pytest
from attrs import field, frozen

from dynamap import (
    Attribute,
    ConditionFailed,
    Conflict,
    DynamapError,
    F,
    GlobalIndex,
    Index,
    OutcomeUnknown,
    RequestError,
    Store,
    Table,
    TransactionCanceled,
    VersionConflict,
    deadline,
    entity,
    evolve,
)
from dynamap.backoff import TokenBucket
from dynamap.plan import Call
from tests.bank import READ, START, Account, Build, Tables, View, account_item, plan_of, view_item
from tests.fakes import NOW, answered, condition_failed, drive, lost, store_of

COUNTED: dict[str, Build] = {
    "add": lambda a, v: v.update(page="p").add(F(View.count), 1).exactly_once(),
    "upsert": lambda a, v: v.upsert(page="p").add(F(View.count), 1).exactly_once(),
    "ignore_version": lambda a, v: a.update(id="a").ignore_version().add(F(Account.balance), 1).exactly_once(),
}


@pytest.mark.parametrize("build", COUNTED.values(), ids=COUNTED)
@pytest.mark.parametrize("code", ["ThrottlingException", "AccessDeniedException"])
def test_a_transaction_that_was_applied_is_not_reported_as_the_failed_read_of_its_result(
    build: Build, code: str
) -> None:
    driven = drive(plan_of(build, bucket=TokenBucket(0.0)), {}, answered(code))
    assert driven.operations == ["TransactWriteItems", "GetItem"]
    assert isinstance(driven.error, OutcomeUnknown)
    assert driven.error.applied is True
    assert isinstance(driven.error.__cause__, DynamapError)
    assert "it was applied, but the item could not be read" in str(driven.error)


def test_nor_as_a_deadline_that_ends_between_the_two() -> None:
    now = [0.0]

    def answer(call: Call) -> dict[str, object]:
        now[0] += 2.0
        return {}

    with deadline(3600):
        plan = plan_of(COUNTED["add"], monotonic=lambda: 1e12 if now[0] else 0.0)
        driven = drive(plan, answer=answer)
    assert driven.operations == ["TransactWriteItems"]
    assert isinstance(driven.error, OutcomeUnknown)
    assert driven.error.applied is True


NO_VERSION = {**account_item(None, by="theirs"), "revision": {"S": "oops"}}


def test_after_a_lost_answer_a_stored_version_that_is_none_leaves_the_outcome_unknown() -> None:
    plan = plan_of(lambda a, v: a.update(READ).set(F(Account.balance), Decimal(1)))
    driven = drive(plan, lost(), condition_failed(NO_VERSION))
    assert isinstance(driven.error, OutcomeUnknown)
    assert driven.error.applied is None


def test_a_refusal_is_a_refusal_also_where_the_stored_version_is_none() -> None:
    balance = F(Account.balance)
    driven = drive(
        plan_of(lambda a, v: a.update(id="a").ignore_version().set(balance, Decimal(1)).if_(balance.ge(Decimal(9)))),
        condition_failed(NO_VERSION),
    )
    assert isinstance(driven.error, ConditionFailed)
    assert "does not fit" in str(driven.error)


# ---- what a write without the version that was read may say


@entity(
    "JOB",
    pk="JOB#{id}",
    sk="JOB",
    version="revision",
    indexes=[Index("gsi1", pk="{tenant}#{state}", sk="X#{id}")],
    frozen=True,
)
class Job:
    id: str
    tenant: str = "a"
    state: str = "new"
    revision: int = 0


Jobs = Table("jobs", [Job], indexes=[GlobalIndex("gsi1")])
JOB = Job("1", revision=7)


def test_a_rewrite_without_a_version_answers_what_is_stored_not_what_it_was_given() -> None:
    other = {**view_item(3), "newer": {"S": "x"}}
    build: Build = lambda a, v: v.update(View("p", 1)).to(View("p", 3)).exactly_once()  # noqa: E731
    driven = drive(plan_of(build), {}, {"Item": other})
    assert (driven.operations, driven.outcome) == (["TransactWriteItems", "GetItem"], View("p", 3))

    store = store_of(Tables)
    rewrite = store.of(View).update(View("p", 1)).to(View("p", 3))
    done = drive(store.transact(rewrite)._plan(), {}).outcome
    with pytest.raises(LookupError, match="not known"):
        done.stored(rewrite)


def test_the_item_that_was_read_says_nothing_of_another_version() -> None:
    jobs = store_of(Jobs).of(Job)
    with pytest.raises(RequestError, match="without tenant"):
        jobs.update(JOB).if_version(8).set(F(Job.state), "done").params()
    changed = jobs.update(JOB).to(evolve(JOB, state="done"))
    own, other = changed.params(), changed.if_version(8).params()
    assert {"S": "a"} not in own["ExpressionAttributeValues"].values()
    assert {"S": "a"} in other["ExpressionAttributeValues"].values()
    assert jobs.update(JOB).if_version(7).set(F(Job.state), "done").params()["UpdateExpression"]


VERSIONED: dict[str, tuple[Build, object]] = {
    "put": (lambda a, v: a.put(Account("a")).at_least_once(), account_item(START + 1, by="theirs")),
    "upsert": (
        lambda a, v: a.upsert(id="a").if_version(0).set(F(Account.balance), Decimal(1)).at_least_once(),
        account_item(START + 1, by="theirs"),
    ),
}


@pytest.mark.parametrize(("build", "seen"), VERSIONED.values(), ids=VERSIONED)
def test_a_create_by_version_is_no_conflict_after_a_lost_answer_though_it_may_be_repeated(
    build: Build, seen: object
) -> None:
    driven = drive(plan_of(build), lost(), condition_failed(seen))
    assert isinstance(driven.error, OutcomeUnknown)
    assert driven.error.conflict is None


def test_nor_is_an_assumption_of_a_rewrite() -> None:
    @entity("TASK", pk="TASK#{id}", sk="TASK", indexes=[Index("gsi1", pk="{tenant}#{state}", sk="X#{id}")], frozen=True)
    class Task:
        id: str
        tenant: str = "a"
        state: str = "new"

    table = Table("tasks", [Task], indexes=[GlobalIndex("gsi1")])
    rewrite = store_of(table).of(Task).update(Task("1")).to(Task("1", state="done")).at_least_once()
    seen = table.entity(Task).encode(Task("1", tenant="b"))
    driven = drive(rewrite._plan(), lost(), condition_failed(seen))
    assert isinstance(driven.error, OutcomeUnknown)


# ---- values of fields that the item lacks


@frozen
class Place:
    city: str
    floor: int = 3


@entity("NOTE", pk="NOTE#{id}", sk="NOTE", frozen=True)
class Note:
    id: str
    count: int = 0
    rank: int = 5
    tag: Annotated[str, Attribute("tag", aliases=("label",))] = "none"
    marks: set[str] = field(factory=set)
    place: Place = Place("Ulm")
    text: str | None = None


Notes = Table("notes", [Note])
OLDER = {"pk": {"S": "NOTE#n"}, "sk": {"S": "NOTE"}, "_type": {"S": "NOTE"}, "id": {"S": "n"}, "count": {"N": "2"}}
READ_AS: dict[str, tuple[Any, dict[str, Any], object]] = {
    "stored": (F(Note.count), {}, 2),
    "a default": (F(Note.rank), {}, 5),
    "an alias": (F(Note.tag), {"label": {"S": "old"}}, "old"),
    "an empty set": (F(Note.marks), {}, set()),
    "None": (F(Note.text), {}, None),
    "a default inside": (F(Note, lambda n: n.place.floor), {"place": {"M": {"city": {"S": "Bonn"}}}}, 3),
    "inside a default": (F(Note, lambda n: n.place.city), {}, "Ulm"),
}


@pytest.mark.parametrize(("wanted", "more", "value"), READ_AS.values(), ids=READ_AS)
def test_returning_answers_what_reading_would(wanted: Any, more: dict[str, Any], value: object) -> None:
    update = store_of(Notes).of(Note).update(id="n").add(F(Note.count), 1).returning(wanted)
    assert drive(update._plan(), {"Attributes": {**OLDER, **more}}).outcome == value


# ---- transactions


@pytest.mark.parametrize("code", ["TransactionConflict", "ThrottlingError"])
def test_a_transaction_that_may_not_be_repeated_says_why_it_was_cancelled(code: str) -> None:
    store = store_of(Tables, bucket=TokenBucket(0.0))
    put = store.of(View).put(View("p"))
    driven = drive(store.transact(put)._plan(), answered("TransactionCanceledException", reasons=[{"Code": code}]))
    assert isinstance(driven.error, TransactionCanceled)
    assert driven.error.conflict is Conflict.TRANSACTION
    assert driven.error.failures[0].code == code


def test_looking_at_a_transaction_does_not_fix_its_clock() -> None:
    now = [NOW]
    store = store_of(Tables, clock=lambda: now[0])
    transaction = store.transact(store.of(Account).put(Account("a"))).token("t")
    transaction.params()
    now[0] += 60.0
    sent = [drive(transaction._plan(), {}).calls[0].params for now[0] in (now[0], now[0] + 60.0)]
    assert sent[0] == sent[1] == transaction.params()
    assert sent[0]["TransactItems"][0]["Put"]["Item"]["revision"] == {"N": str(START + 60_000_000)}


def test_the_time_of_a_token_counts_from_its_first_sending() -> None:
    elapsed = [0.0]
    store = store_of(Tables)
    store = Store(Tables, store._name, replace(store._runtime, elapsed=lambda: elapsed[0]))
    transaction = store.transact(store.of(View).update(page="p").add(F(View.count), 1)).token("t")
    drive(transaction._plan(), {})
    elapsed[0] = 9.5 * 60.0
    driven = drive(transaction._plan(), lost())
    assert isinstance(driven.error, OutcomeUnknown)


def test_an_answer_that_is_lost_after_the_time_of_its_token_is_lost_all_the_same() -> None:
    elapsed = iter([0.0, 10 * 60.0])
    store = store_of(Tables)
    store = Store(Tables, store._name, replace(store._runtime, elapsed=lambda: next(elapsed)))
    driven = drive(store.of(View).update(page="p").add(F(View.count), 1).exactly_once()._plan(), lost())
    assert isinstance(driven.error, OutcomeUnknown)


# ---- items of before there was a version


LEGACY = {
    "set": lambda jobs, read: jobs.update(read).set(F(Job.state), "done"),
    "to": lambda jobs, read: jobs.update(read).to(evolve(read, state="done")),
}


@pytest.mark.parametrize("build", LEGACY.values(), ids=LEGACY)
def test_an_item_without_a_version_is_not_taken_for_the_one_that_was_read(build: Any) -> None:
    read = Job("1", revision=-1)
    operation = build(store_of(Jobs).of(Job), read)
    stored = {**Jobs.entity(Job).encode(Job("1", tenant="b"))}
    del stored["revision"]
    driven = drive(operation._plan(), condition_failed(stored))
    values = driven.calls[0].params["ExpressionAttributeValues"]
    # the other component of the key is a term of the write
    assert {"S": "a#done"} in values.values()
    assert {"S": "a"} in values.values()
    assert isinstance(driven.error, VersionConflict)
    assert driven.error.seen == Job("1", tenant="b", revision=-1)
    assert "tenant is no longer as it was read" in str(driven.error)
