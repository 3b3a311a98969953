"""A write that starts a version afresh takes a later number with every attempt after a lost answer.

So a version that was there once, and whose item was deleted since, is not there again: who still holds it is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dynamap import F, OutcomeUnknown, Table, VersionConflict, entity, evolve
from dynamap.plan import Call, CallFailed
from tests.fakes import NOW, answered, applied_but_unreadable, condition_failed, drive, lost, store_of
from tests.tiny_table import TinyTable
from tests.writers import DOC_KEY, REPEATED, Kind, Tables, World, docs, prepared, world_of

FIRST = int(NOW * 1_000_000)


@entity("PAGE", pk="PAGE#{id}", sk="PAGE", version="revision")
class Page:
    id: str
    text: str = ""
    revision: int = 0


Pages = Table("pages", [Page])
Build = Callable[[Any], Any]

CREATES: dict[str, Build] = {
    "put of version 0": lambda pages: pages.put(Page("x", "mine")),
    "create": lambda pages: pages.put(Page("x", "mine")).if_not_exists(),
    "create returning the old": lambda pages: pages.put(Page("x", "mine")).returning_old(),
    "put of one without a version": lambda pages: pages.put(Page("x", "mine", -1)),
    "rewrite of one without a version": lambda pages: pages.update(Page("x", "", -1)).to(Page("x", "mine", -1)),
    "upsert of version 0": lambda pages: pages.upsert(id="x").if_version(0).set(F(Page.text), "mine"),
    "upsert of whatever": lambda pages: pages.upsert(id="x").ignore_version().set(F(Page.text), "mine").at_least_once(),
}


def started(call: Call) -> int:
    """The number that a request starts with."""
    if "Item" in call.params:
        return int(call.params["Item"]["revision"]["N"])
    numbers = [int(wire["N"]) for wire in call.params["ExpressionAttributeValues"].values() if "N" in wire]
    return max(numbers)


@pytest.mark.parametrize("build", CREATES.values(), ids=CREATES)
def test_every_attempt_after_a_lost_answer_starts_later_though_the_clock_stands(build: Build) -> None:
    pages = store_of(Pages).of(Page)
    stored = {**pages.put(Page("x")).params()["Item"], "revision": {"N": "1"}}
    driven = drive(build(pages)._plan(), lost(), lost(), {"Attributes": stored})
    numbers = [started(call) for call in driven.calls]
    assert numbers[0] in (FIRST, FIRST - 1)
    assert [round(number - numbers[0], -1) for number in numbers] == [0, 1000, 2000]


def test_the_number_is_the_time_of_the_attempt() -> None:
    times = iter([NOW, NOW + 5, NOW + 2])
    pages = store_of(Pages, clock=lambda: next(times)).of(Page)
    driven = drive(pages.put(Page("x"))._plan(), lost(), lost(), {})
    assert [started(call) - FIRST for call in driven.calls] == [0, 5_000_000, 5_001_000]
    assert driven.result == Page("x", "", FIRST + 5_001_000)


def test_the_write_id_and_all_else_stay_the_same() -> None:
    pages = store_of(Pages).of(Page)
    driven = drive(pages.put(Page("x", "mine"))._plan(), lost(), {})
    first, second = [{**call.params, "Item": {**call.params["Item"], "revision": ""}} for call in driven.calls]
    assert first == second


@pytest.mark.parametrize("failure", [answered("ThrottlingException"), answered("TransactionConflictException")])
def test_an_attempt_that_was_not_applied_is_repeated_as_it_was(failure: CallFailed) -> None:
    driven = drive(store_of(Pages).of(Page).put(Page("x"))._plan(), failure, {})
    assert driven.calls[0] == driven.calls[1]


def test_small_numbers_stay_small() -> None:
    pages = store_of(Table("pages", [Page], version_start=1)).of(Page)
    driven = drive(pages.put(Page("x"))._plan(), lost(), {})
    assert [started(call) for call in driven.calls] == [1, 1]


def test_a_transaction_is_repeated_with_the_same_bytes() -> None:
    pages = store_of(Pages).of(Page)
    driven = drive(pages.put(Page("x")).exactly_once()._plan(), lost(), {})
    assert driven.calls[0] == driven.calls[1]
    driven = drive(Pages_transaction()._plan(), lost(), {})
    assert driven.calls[0] == driven.calls[1]


def Pages_transaction() -> Any:  # noqa: N802
    store = store_of(Pages)
    return store.transact(store.of(Page).put(Page("x")))


# ---- what is answered


def test_the_answer_is_what_the_attempt_stored_that_was_applied() -> None:
    pages = store_of(Pages).of(Page)
    create = pages.put(Page("x", "mine")).if_not_exists()
    by_reply = drive(create._plan(), lost(), {})
    assert by_reply.result == Page("x", "mine", FIRST + 1000)
    unreadable = drive(create._plan(), lost(), applied_but_unreadable())
    assert unreadable.result == Page("x", "mine", FIRST + 1000)
    for applied in (0, 1):
        calls: list[Call] = []

        def answer(call: Call, applied: int = applied, calls: list[Call] = calls) -> Any:
            calls.append(call)
            if len(calls) < 3:
                raise lost()
            raise condition_failed(calls[applied].params["Item"])

        resolved = drive(create._plan(), answer=answer)
        assert resolved.result == Page("x", "mine", FIRST + 1000 * applied)


def test_an_item_of_mine_that_another_gave_a_version_does_not_lend_it() -> None:
    """A writer that keeps the id may have changed other fields: its version must not pass for what was answered."""
    pages = store_of(Pages).of(Page)
    calls: list[Call] = []

    def answer(call: Call) -> Any:
        calls.append(call)
        if len(calls) == 1:
            raise lost()
        raise condition_failed({**calls[0].params["Item"], "revision": {"N": "99"}, "text": {"S": "theirs"}})

    resolved = drive(pages.put(Page("x", "mine"))._plan(), answer=answer)
    assert resolved.result == Page("x", "mine", FIRST + 1000)


def test_the_old_value_of_a_create_that_was_resolved_is_lost() -> None:
    pages = store_of(Pages).of(Page)
    calls: list[Call] = []

    def answer(call: Call) -> Any:
        calls.append(call)
        raise lost() if len(calls) == 1 else condition_failed(calls[0].params["Item"])

    driven = drive(pages.put(Page("x")).returning_old()._plan(), answer=answer)
    assert isinstance(driven.error, OutcomeUnknown)
    assert driven.error.applied is True


# ---- who holds the old version


TWICE = [
    each for each in REPEATED if each.twice_after is not None and each.key is DOC_KEY and "delete" not in each.name
]


@pytest.mark.parametrize("kind", TWICE, ids=repr)
def test_who_read_what_the_first_attempt_stored_is_refused_by_what_the_repeat_stores(kind: Kind) -> None:
    world = world_of(kind)
    operation = prepared(kind, world)
    old: list[Any] = []
    attempts = 0

    def answer(call: Call) -> Any:
        nonlocal attempts
        attempts += 1
        if attempts == 2:
            old.append(world.read())
            assert kind.twice_after is not None
            kind.twice_after(world)
        reply = world.table.apply(call)
        if attempts == 1:
            raise lost()
        return reply

    new = drive(operation._plan(), answer=answer).outcome
    assert attempts == 2
    assert new.revision > old[0].revision
    with pytest.raises(VersionConflict):
        world.send(docs(world).update(old[0]).to(evolve(old[0], count=5)))
    assert world.send(docs(world).update(new).to(evolve(new, count=6))).count == 6


def test_a_late_first_attempt_is_not_taken_for_the_second() -> None:
    """The second attempt was answered, its item was deleted, and then the first one arrives."""
    world = World(Tables["with id"], DOC_KEY)
    kind = next(each for each in REPEATED if each.name == "put of version 0")
    late: list[Call] = []

    def answer(call: Call) -> Any:
        if not late:
            late.append(call)
            raise lost()
        return world.table.apply(call)

    held = drive(prepared(kind, world)._plan(), answer=answer).outcome
    world.table = TinyTable(sends_item=True)
    world.table.apply(late[0])
    assert world.read().revision < held.revision
    with pytest.raises(VersionConflict):
        world.send(docs(world).update(held).to(evolve(held, count=5)))
