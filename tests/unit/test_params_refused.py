"""What is wrong with a request is said before anything is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dynamap import F, RequestError, Table, UnguardedWrite, entity, evolve
from dynamap.errors import ConflictingUpdate, EncodeError
from tests.fakes import store_of
from tests.shop import NEW, PAGE, READ, Account, Address, Shop, View, accounts, views

Build = Callable[[Any], Any]


def refused(build: Build, error: type[Exception] = RequestError) -> str:
    with pytest.raises(error) as caught:
        build(store_of(Shop)).params()
    assert type(caught.value) is error
    return str(caught.value)


REFUSED: dict[str, tuple[Build, type[Exception], str]] = {
    "update without a word about the version": (
        lambda s: accounts(s).update(id="a").set(F(Account.note), "x"),
        UnguardedWrite,
        (
            "update of Account id='a': the type is versioned, so a keyed write says if_version(n) or ignore_version(); "
            "better, pass the item that was read"
        ),
    ),
    "delete without a word about the version": (
        lambda s: accounts(s).delete(id="a"),
        UnguardedWrite,
        (
            "delete of Account id='a': the type is versioned, so a keyed write says if_version(n) or ignore_version(); "
            "better, pass the item that was read"
        ),
    ),
    "version of an unversioned type": (
        lambda s: views(s).update(page="p").if_version(1),
        RequestError,
        "View has no version field: declare one with version=..., or leave the version out",
    ),
    "ignoring the version of an unversioned type": (
        lambda s: views(s).delete(page="p").ignore_version(),
        RequestError,
        "View has no version field: declare one with version=..., or leave the version out",
    ),
    "version 0 of an update": (
        lambda s: accounts(s).update(id="a").if_version(0),
        RequestError,
        "update of Account id='a': version 0 is that of an item which was never stored: put it instead",
    ),
    "a version that is no number": (
        lambda s: accounts(s).update(id="a").if_version("7"),
        RequestError,
        "Account.revision: the version is an int; got str",
    ),
    "a version that is a bool": (
        lambda s: accounts(s).update(id="a").if_version(True),
        RequestError,
        "Account.revision: the version is an int; got bool",
    ),
    "a negative version": (
        lambda s: accounts(s).put(Account(id="a", revision=-2)),
        RequestError,
        "Account.revision: no item has version -2; read it again",
    ),
    "update of an item that was never stored": (
        lambda s: accounts(s).update(NEW),
        RequestError,
        "update of Account id='a': revision is 0, so this item was never stored: put it, or read it first",
    ),
    "delete of an item that was never stored": (
        lambda s: accounts(s).delete(NEW),
        RequestError,
        "delete of Account id='a': revision is 0, so this item was never stored: put it, or read it first",
    ),
    "creating what was read": (
        lambda s: accounts(s).put(READ).if_not_exists(),
        RequestError,
        (
            "put of Account id='a': version 7 says that it was stored before, which contradicts if_not_exists(): "
            "leave it "
            "out, or put an item with version 0"
        ),
    ),
    "replacing what was never stored": (
        lambda s: accounts(s).put(NEW).if_exists(),
        RequestError,
        (
            "put of Account id='a': version 0 says that it was never stored, which contradicts if_exists(): leave it "
            "out, "
            "or put an item with the version that was read"
        ),
    ),
    "to another key": (
        lambda s: accounts(s).update(READ).to(evolve(READ, id="b")),
        RequestError,
        "update of Account id='a': to() changes the key, which never changes: put a new item and delete this one",
    ),
    "to another version": (
        lambda s: accounts(s).update(READ).to(evolve(READ, revision=8)),
        RequestError,
        "update of Account id='a': to() changes the version revision, which every write raises by itself",
    ),
    "to another type": (
        lambda s: accounts(s).update(READ).to(PAGE),
        RequestError,
        "update of Account id='a': to() takes another Account; got View",
    ),
    "to the very object, which may have been changed in place": (
        lambda s: accounts(s).update(READ).to(READ),
        RequestError,
        "update of Account id='a': to() was given the very object that update() was, so no difference can be seen: "
        "pass a changed copy, as evolve(item, ...) makes it, or evolve(item) to raise the version alone",
    ),
    "to after a step": (
        lambda s: accounts(s).update(READ).set(F(Account.note), "x").to(READ),
        RequestError,
        "update of Account id='a': to() or set(), add() and the other steps, not both",
    ),
    "set of a key field": (
        lambda s: views(s).update(page="p").set(F(View.page), "q"),
        RequestError,
        "update of View page='p': page is part of the key, which never changes: put a new item and delete this one",
    ),
    "remove of a key field": (
        lambda s: views(s).update(page="p").remove(F(View.page)),
        RequestError,
        "update of View page='p': page is part of the key, which never changes: put a new item and delete this one",
    ),
    "set of the version": (
        lambda s: accounts(s).update(READ).set(F(Account.revision), 9),
        RequestError,
        "update of Account id='a': revision is the version, which every write raises by itself: leave it out",
    ),
    "add to the version": (
        lambda s: accounts(s).update(READ).add(F(Account.revision), 1),
        RequestError,
        "update of Account id='a': revision is the version, which every write raises by itself: leave it out",
    ),
    "returning nothing": (
        lambda s: views(s).update(page="p").returning(),
        RequestError,
        "update of View page='p': returning() names the fields to answer, such as returning(F(X.count))",
    ),
    "returning a field of another type": (
        lambda s: views(s).update(page="p").returning(F(Account.note)),
        RequestError,
        "F(Account: note) is a field of Account, but the request is about View",
    ),
    "if_ of no condition": (
        lambda s: views(s).update(page="p").if_(True),
        RequestError,
        "update of View page='p': if_() takes a Condition, such as F(X.count).ge(1); got bool",
    ),
    "the same path twice": (
        lambda s: views(s).update(page="p").set(F(View.count), 1).add(F(View.count), 1),
        ConflictingUpdate,
        "View: one update changes count and count, which are the same: leave one out",
    ),
    "overlapping paths": (
        lambda s: (
            accounts(s)
            .update(READ)
            .set(F(Account.address), Address())
            .remove(F(Account, lambda a: a.address.street.name))
        ),
        ConflictingUpdate,
        "Account: one update changes address and address.street.name, which overlap: leave one out",
    ),
}


@pytest.mark.parametrize(("build", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_refused_before_anything_is_sent(build: Build, error: type[Exception], message: str) -> None:
    assert refused(build, error) == message


@pytest.mark.parametrize("build", [build for build, _, _ in REFUSED.values()], ids=REFUSED)
def test_sending_refuses_what_params_refuses(build: Build) -> None:
    with pytest.raises(RequestError):
        build(store_of(Shop)).send()


def test_builders_are_frozen_and_their_steps_leave_them_alone() -> None:
    operation = views(store_of(Shop)).update(page="p").set(F(View.count), 1)
    before = operation.params()
    changed = operation.if_(F(View.count).lt(3))
    assert changed is not operation
    assert operation.params() == before != changed.params()
    with pytest.raises(AttributeError) as caught:
        operation._conditions = ()
    assert str(caught.value) == "Update is frozen: every step, such as .if_(...), answers a changed copy"


def test_to_takes_no_subclass_whose_fields_would_be_lost() -> None:
    @entity("BASE", pk="B#{id}", sk="B")
    class Base:
        id: str

    @entity("SUB", pk="S#{id}", sk="S")
    class Sub(Base):
        extra: str = ""

    bases = store_of(Table("shop", [Base])).of(Base)
    with pytest.raises(EncodeError, match=r"a Base expected, got .*Sub; declare the subclass"):
        bases.update(Base("1")).to(Sub("1", "x"))
