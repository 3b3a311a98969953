"""Unique values on every server that has transactions, in both modes."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from dynamap import OutcomeUnknown, Store, Table, evolve
from dynamap.testing import Fault, FaultPlan, memory_store
from recipes import uniqueness as plain
from recipes.aio import uniqueness as awaited
from tests.backends import Backend
from tests.modes import Mode, RawTable
from tests.together import together

pytestmark = pytest.mark.not_on("dynalite", reason="it has no transactions")

WRITERS = 8


@pytest.fixture
def recipe(mode: Mode) -> ModuleType:
    return awaited if mode.is_async else plain


@pytest.fixture
def store(mode: Mode, backend: Backend, raw: RawTable, recipe: ModuleType) -> Store[Any]:
    return mode.connect(Table(raw.name, [recipe.Registrant, recipe.Claim]), backend)


def owners(mode: Mode, store: Store[Any], recipe: ModuleType) -> dict[tuple[str, str], str]:
    found = mode.wait(store.of(recipe.Claim, consistent=True).scan().send())
    return {(each.field, each.value): each.owner for each in found}


def test_values_are_claimed_changed_and_released(
    store: Store[Any], mode: Mode, recipe: ModuleType, raw: RawTable
) -> None:
    ann = recipe.Registrant("ann", "form-1", "Ann#1@example.org", "annie", frozenset({"1", "2"}))
    assert mode.call(recipe.register, store, ann).registrant.email == "Ann#1@example.org"
    claim = raw.get("CLAIM#email#ann$231@example.org", "CLAIM")
    assert claim is not None
    assert claim["owner"] == {"S": "ann"}
    bea = recipe.Registrant("bea", "form-2", "bea@example.org", phones=frozenset({"2", "3"}))
    assert mode.call(recipe.register, store, bea) == recipe.Taken("phones")
    assert mode.call(recipe.release, store, "ann", "2").registrant.phones == frozenset({"1"})
    assert isinstance(mode.call(recipe.register, store, bea), recipe.Done)
    refused = mode.call(recipe.change, store, "ann", lambda each: evolve(each, email="BEA@example.org"))
    assert refused == recipe.Taken("email")
    moved = mode.call(recipe.change, store, "ann", lambda each: evolve(each, email="ann@example.com"))
    assert isinstance(moved, recipe.Done)
    # the form comes once more: it is recognised, though the record has another address by now
    assert mode.call(recipe.register, store, ann) == moved
    assert mode.call(recipe.delete, store, "bea").id == "bea"
    left = {("email", "ann@example.com"): "ann", ("handle", "annie"): "ann", ("phones", "1"): "ann"}
    assert owners(mode, store, recipe) == left
    assert mode.call(recipe.find, store, "phones", "3") is None
    assert mode.call(recipe.find, store, "handle", "ANNIE") == moved.registrant


def test_of_many_registrations_of_one_value_one_is_done(store: Store[Any], mode: Mode, recipe: ModuleType) -> None:
    registrants = [recipe.Registrant(str(number), "form", "ann@example.org") for number in range(WRITERS)]

    def plainly(number: int) -> Any:
        return recipe.register(store, registrants[number])

    async def in_a_task(number: int) -> Any:
        return await recipe.register(store, registrants[number])

    results = together(mode, plainly, in_a_task, WRITERS)
    done = [result.registrant.id for result in results if isinstance(result, recipe.Done)]
    assert len(done) == 1
    assert results.count(recipe.Taken("email")) == WRITERS - 1
    assert owners(mode, store, recipe) == {("email", "ann@example.org"): done[0]}


def test_two_who_want_each_others_value_both_keep_theirs(store: Store[Any], mode: Mode, recipe: ModuleType) -> None:
    for name in "xy":
        mode.call(recipe.register, store, recipe.Registrant(name, "form", name))

    def plainly(number: int) -> Any:
        return recipe.change(store, "xy"[number], lambda each: evolve(each, email="yx"[number]))

    async def in_a_task(number: int) -> Any:
        return await recipe.change(store, "xy"[number], lambda each: evolve(each, email="yx"[number]))

    assert together(mode, plainly, in_a_task, 2) == [recipe.Taken("email")] * 2
    assert owners(mode, store, recipe) == {("email", "x"): "x", ("email", "y"): "y"}


def test_a_registration_whose_answers_are_lost_is_done(store: Store[Any], mode: Mode, recipe: ModuleType) -> None:
    ann = recipe.Registrant("ann", "form-1", "ann@example.org")
    lost = FaultPlan(dict.fromkeys(range(1, 9), Fault.DROP_AFTER)).over(store)
    assert mode.call(recipe.register, lost, ann).registrant.id == "ann"
    dead = FaultPlan(dict.fromkeys(range(1, 200), Fault.DROP_BEFORE)).over(store)
    with pytest.raises(OutcomeUnknown):
        mode.call(recipe.register, dead, recipe.Registrant("bea", "form-2", "bea@example.org"))
    # what is unknown stays so, whatever comes after it
    ill = FaultPlan({position: Fault.DROP_BEFORE if position < 11 else Fault.THROTTLE for position in range(1, 200)})
    with pytest.raises(OutcomeUnknown):
        mode.call(recipe.register, ill.over(store), recipe.Registrant("bea", "form-2", "bea@example.org"))
    assert owners(mode, store, recipe) == {("email", "ann@example.org"): "ann"}


def test_a_claim_that_was_given_away_by_hand_stays_where_it_is(
    store: Store[Any], mode: Mode, recipe: ModuleType
) -> None:
    mode.call(recipe.register, store, recipe.Registrant("ann", "form-1", "ann@example.org"))
    mode.wait(store.of(recipe.Claim).put(recipe.Claim("email", "ann@example.org", "bea")).send())
    with pytest.raises(recipe.ClaimsDamaged):
        mode.call(recipe.delete, store, "ann")
    with pytest.raises(recipe.ClaimsDamaged):
        mode.call(recipe.change, store, "ann", lambda each: evolve(each, email="other@example.org"))
    assert owners(mode, store, recipe) == {("email", "ann@example.org"): "bea"}
    with pytest.raises(ValueError, match="registration"):
        mode.call(recipe.change, store, "ann", lambda each: evolve(each, registration="form-3"))


def test_a_claim_that_failed_is_an_answer_and_not_asked_again() -> None:
    store = memory_store(Table("members", [plain.Registrant, plain.Claim]))
    plain.register(store, plain.Registrant("ann", "form-1", "ann@example.org"))
    plan = FaultPlan()
    bea = plain.Registrant("bea", "form-2", "ann@example.org")
    assert plain.register(plan.over(store), bea) == plain.Taken("email")
    assert [call.operation for call in plan.calls] == ["TransactWriteItems"]


def test_what_it_costs() -> None:
    store = memory_store(Table("members", [plain.Registrant, plain.Claim]))
    ann = plain.Registrant("ann", "form-1", "ann@example.org", "annie")
    with store.capacity() as registering:
        plain.register(store, ann)
    with store.capacity() as changing:
        plain.change(store, "ann", lambda each: evolve(each, handle="ann"))
    with store.capacity() as deleting:
        plain.delete(store, "ann")
    assert (registering.total, changing.total, deleting.total) == (6, 7, 7)
