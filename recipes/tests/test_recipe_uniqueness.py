"""How unique values are used, and what is refused; copied along with it."""

from __future__ import annotations

import pytest

from dynamap import Store, Sync, Table, evolve
from dynamap.testing import memory_store
from recipes.uniqueness import Claim, Done, Registrant, Taken, change, delete, find, normalise, register, release


def members() -> Store[Sync]:
    return memory_store(Table("members", [Registrant, Claim]))


def test_a_value_belongs_to_one() -> None:
    store = members()
    ann = Registrant("ann", "form-1", "Ann@example.org", "annie")
    assert isinstance(register(store, ann), Done)
    # the form was sent twice: it is recognised by its id
    assert isinstance(register(store, ann), Done)
    assert register(store, Registrant("bea", "form-2", " ann@EXAMPLE.org")) == Taken("email")
    assert register(store, Registrant("bea", "form-2", "bea@example.org", "Annie")) == Taken("handle")
    assert register(store, Registrant("ann", "form-3", "other@example.org")) == Taken("id")
    found = find(store, "email", "ANN@example.org")
    assert found is not None
    assert found.email == "Ann@example.org"


def test_what_is_given_up_is_free_at_once() -> None:
    store = members()
    register(store, Registrant("ann", "form-1", "ann@example.org", "annie", frozenset({"1", "2"})))
    changed = change(store, "ann", lambda ann: evolve(ann, email="ann@example.com"))
    assert isinstance(changed, Done)
    release(store, "ann", "ANNIE")
    release(store, "ann", "2")
    bea = Registrant("bea", "form-2", "ann@example.org", "annie", frozenset({"2"}))
    assert isinstance(register(store, bea), Done)
    assert change(store, "ann", lambda ann: evolve(ann, handle="Annie")) == Taken("handle")
    delete(store, "bea")
    assert find(store, "handle", "annie") is None
    assert isinstance(change(store, "ann", lambda ann: evolve(ann, handle="Annie")), Done)
    delete(store, "ann")
    assert delete(store, "ann") is None


def test_another_spelling_of_a_value_is_no_other_value() -> None:
    store = members()
    register(store, Registrant("ann", "form-1", "ann@example.org"))
    changed = change(store, "ann", lambda ann: evolve(ann, email="Ann@Example.org"))
    assert isinstance(changed, Done)
    assert changed.registrant.email == "Ann@Example.org"


def test_more_values_than_a_transaction_can_exchange_are_refused() -> None:
    phones = frozenset(str(number) for number in range(49))
    with pytest.raises(ValueError, match="50 unique values"):
        register(members(), Registrant("ann", "form-1", "ann@example.org", phones=phones))


def test_what_counts_as_the_same_value() -> None:
    assert normalise(" Zoe\u0308 ") == normalise("ZO\u00cb") == "zo\u00eb"
    assert normalise("Stra\u00dfe") == normalise("STRASSE")
    assert normalise("x\u00b2") != normalise("x2")


@pytest.mark.parametrize(("email", "handle"), [("", None), (" ", None), ("ann@example.org", "")])
def test_an_empty_value_is_nobodys(email: str, handle: str | None) -> None:
    with pytest.raises(ValueError, match="is empty"):
        register(members(), Registrant("ann", "form-1", email, handle))
