"""Every kind of write of one item, in every mode of repeating it.

A new one is one more `_Base`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from dynamap import F, evolve
from dynamap.plan import Item
from tests.enumeration_kinds import Excludes, Kind
from tests.enumeration_worlds import (
    READ_VERSION,
    Claim,
    Doc,
    Lease,
    Seat,
    World,
    absent,
    foreign_writers,
    leftover,
    legacy,
    stored,
    zero,
)

__all__ = ["singles"]

_DOC = Doc("1", "", 1, READ_VERSION)
_LEGACY = Doc("1", "", 1, -1)
_CLAIM = Claim("1", "", 1)
_LEASE = Lease("1", "", 1, None, READ_VERSION)
_IN_MODES = ("default", "exactly_once", "at_least_once", "at_most_once")
_WITH_VALUES = ("default", "at_least_once", "at_most_once")
"""Without a transaction, which answers no values."""


@dataclass(frozen=True)
class _Base:
    name: str
    cls: Any
    before: Callable[[Any], list[Item]]
    make: Callable[[Any], Any]
    """From the repository."""
    excludes: Excludes
    modes: tuple[str, ...] = _IN_MODES
    table: str = "with id"
    undone_by: tuple[str, ...] = ()
    weight: int = 0
    imitated_by: int = 1

    def kinds(self) -> Iterator[Kind]:
        for mode in self.modes:
            yield Kind(
                self.name,
                self._maker(mode),
                self.excludes,
                tuple(self.before(self.cls)),
                tuple(foreign_writers(self.cls)),
                read_version=self._read_version(),
                table=self.table,
                mode=mode,
                undone_by=self.undone_by,
                imitated_by=self.imitated_by,
                weight=self.weight or int(self.before is leftover and self.name.startswith("upsert")),
            )

    def _read_version(self) -> int:
        """The version that the caller has read; 0 if none."""
        if self.excludes is Excludes.VERSION:
            return READ_VERSION
        return -1 if self.excludes is Excludes.NO_VERSION else 0

    def _maker(self, mode: str) -> Callable[[World], Any]:
        def made(world: World) -> Any:
            operation = self.make(world.mine.of(self.cls))
            return operation if mode == "default" else getattr(operation, mode)()

        return made


def _bases() -> Iterator[_Base]:
    yield from _of_versions()
    yield from _without_ids()
    yield from _of_no_versions()
    yield from _that_expire()


def _of_versions() -> Iterator[_Base]:
    text, count = F(Doc.text), F(Doc.count)
    mine = evolve(_DOC, text="mine")
    version, new = Excludes.VERSION, Excludes.NEW_VERSION
    yield _Base("put, version read", Doc, stored, lambda docs: docs.put(mine), version)
    yield _Base("put, version 0", Doc, absent, lambda docs: docs.put(Doc("1", "mine")), new)
    yield _Base(
        "put if_not_exists, versioned",
        Doc,
        absent,
        lambda docs: docs.put(Doc("1", "mine")).if_not_exists(),
        Excludes.EXISTENCE,
    )
    yield _Base(
        "put with a condition, version read", Doc, stored, lambda docs: docs.put(mine).if_(count.lt(50)), version
    )
    yield _Base(
        "put returning_old, version read",
        Doc,
        stored,
        lambda docs: docs.put(mine).returning_old(),
        version,
        _WITH_VALUES,
    )
    yield _Base("update to, version read", Doc, stored, lambda docs: docs.update(_DOC).to(mine), version)
    yield _Base(
        "update to the same, version read", Doc, stored, lambda docs: docs.update(_DOC).to(evolve(_DOC)), version
    )
    yield _Base("update set, item read", Doc, stored, lambda docs: docs.update(_DOC).set(text, "mine"), version)
    keyed = "update, if_version"

    def by_key(docs: Any) -> Any:
        return docs.update(id="1").if_version(READ_VERSION)

    yield _Base(f"{keyed} set", Doc, stored, lambda docs: by_key(docs).set(text, "mine"), version)
    yield _Base(f"{keyed} add", Doc, stored, lambda docs: by_key(docs).add(count, 1), version)
    yield _Base(
        f"{keyed} add returning",
        Doc,
        stored,
        lambda docs: by_key(docs).add(count, 1).returning(count),
        version,
        _WITH_VALUES,
    )
    yield _Base(
        f"{keyed} add returning_old",
        Doc,
        stored,
        lambda docs: by_key(docs).add(count, 1).returning_old(),
        version,
        _WITH_VALUES,
    )
    ignoring = "update, ignore_version"
    nobody = Excludes.NOBODY
    yield _Base(
        f"{ignoring} set", Doc, stored, lambda docs: docs.update(id="1").ignore_version().set(text, "mine"), nobody
    )
    yield _Base(f"{ignoring} add", Doc, stored, lambda docs: docs.update(id="1").ignore_version().add(count, 1), nobody)
    yield _Base(
        f"{ignoring} add, stored with 0",
        Doc,
        zero,
        lambda docs: docs.update(id="1").ignore_version().add(count, 1),
        nobody,
        undone_by=("replaced",),
        weight=1,
        # where it was applied, only a program that writes the version 0 could let it look like this again
        imitated_by=3,
    )
    yield _Base(f"{ignoring} to", Doc, stored, lambda docs: docs.update(_DOC).ignore_version().to(mine), nobody)
    yield _Base("upsert, if_version", Doc, stored, lambda docs: by_key_upsert(docs).set(text, "mine"), version)

    def by_key_upsert(docs: Any) -> Any:
        return docs.upsert(id="1").if_version(READ_VERSION)

    yield _Base("upsert, version 0", Doc, absent, lambda docs: docs.upsert(id="1").if_version(0).set(text, "mine"), new)
    for before in (stored, absent):
        yield _Base(
            f"upsert, ignore_version add, {before.__name__}",
            Doc,
            before,
            lambda docs: docs.upsert(id="1").ignore_version().add(count, 1),
            nobody,
        )
    yield _Base("delete, version read", Doc, stored, lambda docs: docs.delete(_DOC), version)
    yield _Base(
        "delete returning_old, version read",
        Doc,
        stored,
        lambda docs: docs.delete(_DOC).returning_old(),
        version,
        _WITH_VALUES,
    )
    yield _Base(
        "delete with a condition, version read", Doc, stored, lambda docs: docs.delete(_DOC).if_(count.lt(50)), version
    )
    yield _Base("delete, ignore_version", Doc, stored, lambda docs: docs.delete(id="1").ignore_version(), nobody)
    for before in (legacy, zero):
        name = {legacy: "stored without a version", zero: "stored with version 0"}[before]
        yield _Base(
            f"put, {name}", Doc, before, lambda docs: docs.put(evolve(_LEGACY, text="mine")), Excludes.NO_VERSION
        )
        yield _Base(
            f"update to, {name}",
            Doc,
            before,
            lambda docs: docs.update(_LEGACY).to(evolve(_LEGACY, text="mine")),
            Excludes.NO_VERSION,
        )
    yield _Base("delete, stored without a version", Doc, legacy, lambda docs: docs.delete(_LEGACY), Excludes.NO_VERSION)


def _without_ids() -> Iterator[_Base]:
    mine = evolve(_DOC, text="mine")
    modes = ("default", "at_least_once")
    yield _Base(
        "put, version read, no id", Doc, stored, lambda docs: docs.put(mine), Excludes.VERSION, modes, "without id"
    )
    yield _Base(
        "update to, version read, no id",
        Doc,
        stored,
        lambda docs: docs.update(_DOC).to(mine),
        Excludes.VERSION,
        modes,
        "without id",
    )
    yield _Base(
        "put, version 0, no id",
        Doc,
        absent,
        lambda docs: docs.put(Doc("1", "mine")),
        Excludes.NEW_VERSION,
        modes,
        "without id",
    )
    yield _Base(
        "put if_not_exists, no id",
        Claim,
        absent,
        lambda claims: claims.put(Claim("1", "mine")).if_not_exists(),
        Excludes.EXISTENCE,
        modes,
        "without id",
    )


def _of_no_versions() -> Iterator[_Base]:
    text, count, lines = F(Claim.text), F(Claim.count), F(Claim.lines)
    mine = Claim("1", "mine")
    oneself, nobody, existence = Excludes.ONESELF, Excludes.NOBODY, Excludes.EXISTENCE
    yield _Base("put", Claim, stored, lambda claims: claims.put(mine), oneself)
    yield _Base("put, absent", Claim, absent, lambda claims: claims.put(mine), oneself)
    yield _Base("put if_not_exists", Claim, absent, lambda claims: claims.put(mine).if_not_exists(), existence)
    yield _Base("put if_exists", Claim, stored, lambda claims: claims.put(mine).if_exists(), oneself)
    yield _Base("put with a condition", Claim, stored, lambda claims: claims.put(mine).if_(count.lt(50)), nobody)
    yield _Base(
        "put returning_old", Claim, stored, lambda claims: claims.put(mine).returning_old(), nobody, _WITH_VALUES
    )
    yield _Base(
        "put if_not_exists returning_old",
        Claim,
        absent,
        lambda claims: claims.put(mine).if_not_exists().returning_old(),
        existence,
        _WITH_VALUES,
    )

    def update(claims: Any) -> Any:
        return claims.update(id="1")

    yield _Base("update set", Claim, stored, lambda claims: update(claims).set(text, "mine"), oneself)
    yield _Base("update remove", Claim, stored, lambda claims: update(claims).remove(lines), oneself)
    yield _Base(
        "update set returning",
        Claim,
        stored,
        lambda claims: update(claims).set(text, "mine").returning(text),
        oneself,
        _WITH_VALUES,
    )
    yield _Base(
        "update set returning_old",
        Claim,
        stored,
        lambda claims: update(claims).set(text, "mine").returning_old(),
        nobody,
        _WITH_VALUES,
    )
    yield _Base("update add", Claim, stored, lambda claims: update(claims).add(count, 1), nobody)
    yield _Base(
        "update add returning",
        Claim,
        stored,
        lambda claims: update(claims).add(count, 1).returning(count),
        nobody,
        _WITH_VALUES,
    )
    yield _Base("update append", Claim, stored, lambda claims: update(claims).append(lines, "mine"), nobody)
    yield _Base("update arithmetic", Claim, stored, lambda claims: update(claims).set(count, count + 1), nobody)
    yield _Base(
        "update with a condition",
        Claim,
        stored,
        lambda claims: update(claims).set(text, "mine").if_(count.ge(0)),
        nobody,
    )
    yield _Base(
        "update to", Claim, stored, lambda claims: claims.update(_CLAIM).to(evolve(_CLAIM, text="mine")), oneself
    )
    yield _Base("upsert set", Claim, stored, lambda claims: claims.upsert(id="1").set(text, "mine"), oneself)
    yield _Base("upsert set, absent", Claim, absent, lambda claims: claims.upsert(id="1").set(text, "mine"), oneself)
    yield _Base("upsert add", Claim, stored, lambda claims: claims.upsert(id="1").add(count, 1), nobody)
    yield _Base("upsert add, absent", Claim, absent, lambda claims: claims.upsert(id="1").add(count, 1), nobody)
    yield _Base("delete", Claim, stored, lambda claims: claims.delete(id="1"), oneself)
    yield _Base("delete if_exists", Claim, stored, lambda claims: claims.delete(id="1").if_exists(), oneself)
    yield _Base("delete with a condition", Claim, stored, lambda claims: claims.delete(id="1").if_(count.ge(0)), nobody)
    yield _Base(
        "delete returning_old",
        Claim,
        stored,
        lambda claims: claims.delete(id="1").returning_old(),
        nobody,
        _WITH_VALUES,
    )


def _that_expire() -> Iterator[_Base]:
    text, count = F(Seat.text), F(Seat.count)
    oneself, nobody = Excludes.ONESELF, Excludes.NOBODY
    onto = "onto what has expired"
    # the put that takes its place is repeated by the rule of creates
    twice = ("deleted", "expired")
    yield _Base(
        f"put if_not_exists {onto}",
        Seat,
        leftover,
        lambda s: s.put(Seat("1", "mine")).if_not_exists(),
        Excludes.EXISTENCE,
    )
    yield _Base(f"put {onto}", Seat, leftover, lambda s: s.put(Seat("1", "mine")), oneself)
    # what it was applied to must have been created before, and expire afterwards
    again = 2
    # and an item with a version has an id, which another must replace
    versioned_again = again + 1
    yield _Base(
        f"upsert set {onto}",
        Seat,
        leftover,
        lambda s: s.upsert(id="1").set(text, "mine"),
        oneself,
        imitated_by=again,
    )
    yield _Base(
        f"upsert add {onto}",
        Seat,
        leftover,
        lambda s: s.upsert(id="1").add(count, 1),
        nobody,
        undone_by=twice,
        imitated_by=again,
    )
    yield _Base(
        f"upsert with a condition {onto}",
        Seat,
        leftover,
        lambda s: s.upsert(id="1").add(count, 1).if_(count.ne(7)),
        nobody,
        undone_by=twice,
        imitated_by=again,
    )
    yield _Base(f"update set {onto}", Seat, leftover, lambda s: s.update(id="1").set(text, "mine"), oneself)
    yield _Base(
        f"delete if_exists {onto}",
        Seat,
        leftover,
        lambda s: s.delete(id="1").if_exists(),
        oneself,
        # what is deleted must be created and expire, to be expired again
        imitated_by=2,
    )
    yield _Base(f"put, version 0, {onto}", Lease, leftover, lambda s: s.put(Lease("1", "mine")), Excludes.NEW_VERSION)
    yield _Base(
        f"update to, version read, {onto}",
        Lease,
        leftover,
        lambda s: s.update(_LEASE).to(evolve(_LEASE, text="mine")),
        Excludes.VERSION,
    )
    yield _Base(
        "update to, version read, may expire",
        Lease,
        stored,
        lambda s: s.update(_LEASE).to(evolve(_LEASE, text="mine")),
        Excludes.VERSION,
    )
    yield _Base(
        f"upsert, version 0, {onto}",
        Lease,
        leftover,
        lambda s: s.upsert(id="1").if_version(0).set(F(Lease.text), "mine"),
        Excludes.NEW_VERSION,
        imitated_by=versioned_again,
    )
    yield _Base(
        f"upsert, ignore_version add {onto}",
        Lease,
        leftover,
        lambda s: s.upsert(id="1").ignore_version().add(F(Lease.count), 1),
        nobody,
        undone_by=twice,
        imitated_by=versioned_again,
    )


def singles() -> Iterator[Kind]:
    """All of them."""
    for base in _bases():
        yield from base.kinds()
