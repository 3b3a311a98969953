"""Every kind of write of several items: transactions and batches.

A new one is one more entry of `_transactions` or `_whole_batches`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dynamap import F, OutcomeUnknown, evolve
from dynamap.plan import Plan
from tests.enumeration_kinds import Excludes, Kind
from tests.enumeration_worlds import READ_VERSION, Claim, Doc, Foreign, World, foreign_writers, stored

__all__ = ["several"]

_DOC = Doc("1", "", 1, READ_VERSION)

# ---- transactions


def _transaction(world: World) -> Any:
    docs, claims = world.mine.of(Doc), world.mine.of(Claim)
    return world.mine.transact(
        claims.put(Claim("new", "mine")).if_not_exists(),
        docs.update(_DOC).to(evolve(_DOC, text="mine")),
        claims.check(id="checked").exists(),
        claims.delete(id="old"),
    )


_SEVERAL = (*stored(Doc), *stored(Claim, "checked"), *stored(Claim, "old"))


def _around_several() -> tuple[Foreign, ...]:
    return (
        *foreign_writers(Claim, "new", ("recreated",), " (put)"),
        *foreign_writers(Doc, "1", ("updated", "equal", "deleted", "recreated"), " (update)"),
        *foreign_writers(Claim, "checked", ("updated", "deleted"), " (check)"),
        *foreign_writers(Claim, "old", ("updated", "deleted"), " (delete)"),
    )


class _Again:
    """A transaction with a token that its caller sends again where its outcome is unknown."""

    def __init__(self, transaction: Any) -> None:
        self._transaction = transaction

    def _plan(self) -> Plan[Any]:
        try:
            return (yield from self._transaction._plan())
        except OutcomeUnknown:
            return (yield from self._transaction._plan())


def _transactions() -> Iterator[Kind]:
    def kind(name: str, make: Callable[[World], Any], **more: Any) -> Kind:
        items, foreign = more.pop("items", _SEVERAL), more.pop("foreign", _around_several())
        weight = int(items is _SEVERAL)
        return Kind(name, make, Excludes.ONESELF, items, foreign, mode="exactly_once", weight=weight, **more)

    yield kind("transaction", _transaction)
    yield kind("transaction with a token", lambda world: _transaction(world).token("token"), remembers=True)
    yield kind(
        "transaction with a token, sent again",
        lambda world: _Again(_transaction(world).token("token")),
        remembers=True,
        answers=False,
    )
    yield kind(
        "transaction of unversioned writes",
        lambda world: world.mine.transact(
            world.mine.of(Claim).update(id="1").add(F(Claim.count), 1),
            world.mine.of(Claim).put(Claim("new", "mine")),
        ),
        items=tuple(stored(Claim)),
        foreign=(*foreign_writers(Claim), *foreign_writers(Claim, "new", ("recreated", "deleted"), " (put)")),
    )
    yield kind(
        "transaction of one check",
        lambda world: world.mine.transact(world.mine.of(Claim).check(id="1").if_(F(Claim.count).lt(50))),
        items=tuple(stored(Claim)),
        foreign=tuple(foreign_writers(Claim)),
    )


# ---- batches

_BATCH = ("1", "2", "3")


def _batches() -> Iterator[Kind]:
    """A batch gives each of its items an outcome of its own: a kind for each that is looked at."""
    for watched in ("1", "2"):
        yield from (
            Kind(
                f"{name}, item {watched} of {len(_BATCH)}",
                make,
                excludes,
                tuple(item for each in _BATCH for item in stored(cls, each)),
                tuple(foreign_writers(cls, watched)),
                remembers=True,
                answers=False,
                watched=watched,
            )
            for name, cls, make, excludes in _whole_batches()
        )


def _whole_batches() -> Iterator[tuple[str, Any, Callable[[World], Any], Excludes]]:
    keys = [{"id": each} for each in _BATCH]
    yield (
        "put_many",
        Claim,
        lambda world: world.mine.of(Claim).put_many([Claim(each, "mine") for each in _BATCH]),
        Excludes.ONESELF,
    )
    yield (
        "put_many, unversioned",
        Doc,
        lambda world: world.mine.of(Doc).put_many([Doc(each, "mine") for each in _BATCH], unversioned=True),
        Excludes.NOBODY,
    )
    yield "delete_many", Claim, lambda world: world.mine.of(Claim).delete_many(keys), Excludes.ONESELF
    yield (
        "delete_many, unversioned",
        Doc,
        lambda world: world.mine.of(Doc).delete_many(keys, unversioned=True),
        Excludes.NOBODY,
    )


def several() -> Iterator[Kind]:
    """All of them."""
    yield from _transactions()
    yield from _batches()
