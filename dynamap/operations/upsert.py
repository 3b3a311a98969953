"""Upsert: change some attributes of an item, or create it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar, overload

from typing_extensions import Self

from dynamap.expressions import Action, Assignment, Field, UpdateCompiler
from dynamap.markers import D, Write
from dynamap.operations.base import Scope
from dynamap.operations.creation import check_complete, creation, plain_defaults
from dynamap.operations.guards import Guard, GuardKind, guard_of_version
from dynamap.operations.index_keys import assignments
from dynamap.operations.update_steps import ReturningSteps, UpdateSteps
from dynamap.plan import Item

__all__ = ["Upsert", "UpsertReturning"]

M = TypeVar("M")
R_co = TypeVar("R_co", covariant=True)
T1 = TypeVar("T1")
T2 = TypeVar("T2")
T3 = TypeVar("T3")
T4 = TypeVar("T4")
T5 = TypeVar("T5")
T6 = TypeVar("T6")


class _UpsertSteps(UpdateSteps[D, M, R_co], Generic[D, M, R_co]):
    _defaults: dict[str, Any]

    def if_version(self, version: int, /) -> Self:
        """Write only if the stored version is this one, or with 0 if nothing is stored; `VersionConflict` otherwise."""
        return self._copy(_version_guard=guard_of_version(self._scope.entity, version))

    def ignore_version(self) -> Self:
        """Write whatever the stored version is, or create the item; the version rises all the same."""
        guard_of_version(self._scope.entity, 0)
        return self._copy(_version_guard=Guard(GuardKind.ANYTHING))

    def _guard(self) -> Guard:
        return self._checked_version_guard() or Guard(GuardKind.NONE)

    def _stores_write_id(self, guard: Guard) -> bool:
        del guard
        return self._scope.entity.version is not None

    def _changes(self, compiler: UpdateCompiler, guard: Guard) -> tuple[Sequence[Action], list[Assignment]]:
        if guard.is_version:
            # it exists, or nothing is written
            return super()._changes(compiler, guard)
        entity = self._scope.entity
        check_complete(compiler, entity, self._actions, self._what)
        created = list(creation(compiler, entity, self._key, self._values, self._defaults, self._actions))
        return self._actions, created + assignments(compiler, self._known_fields(compiler).upserted())


class UpsertReturning(ReturningSteps[D, M, R_co], _UpsertSteps[D, M, R_co]):
    """An upsert that answers other values than the new entity; no part of a transaction."""

    def _answer(self, item: Item) -> Any:
        if self._fields is None and not item:
            return None
        return super()._answer(item)


class Upsert(_UpsertSteps[D, M, M], Write[D, M]):
    """Change attributes of an item, or create it; answers the new entity.

    What it would create must be a complete entity: every field that has no default and is not optional is set,
    otherwise `IncompleteUpsert` before anything is sent. A new item gets the defaults of the other fields. An upsert of
    a versioned type says `if_version(n)` or `ignore_version()`. Costs a write unit for each KB of the item, before or
    after, whichever is larger.
    """

    def __init__(self, scope: Scope[M], values: dict[str, Any]) -> None:
        self._begin("upsert", scope, scope.entity.key(values), values)
        self.__dict__.update(_actions=(), _version_guard=None, _defaults=plain_defaults(scope.entity))

    def returning_old(self) -> UpsertReturning[D, M, M | None]:
        """Answer the entity as it was before, None if there was none."""
        kind: type[UpsertReturning[D, M, M | None]] = UpsertReturning
        return self._returning(kind, None)

    @overload
    def returning(self, a: Field[T1], /) -> UpsertReturning[D, M, T1]: ...
    @overload
    def returning(self, a: Field[T1], b: Field[T2], /) -> UpsertReturning[D, M, tuple[T1, T2]]: ...
    @overload
    def returning(self, a: Field[T1], b: Field[T2], c: Field[T3], /) -> UpsertReturning[D, M, tuple[T1, T2, T3]]: ...
    @overload
    def returning(
        self, a: Field[T1], b: Field[T2], c: Field[T3], d: Field[T4], /
    ) -> UpsertReturning[D, M, tuple[T1, T2, T3, T4]]: ...
    @overload
    def returning(
        self, a: Field[T1], b: Field[T2], c: Field[T3], d: Field[T4], e: Field[T5], /
    ) -> UpsertReturning[D, M, tuple[T1, T2, T3, T4, T5]]: ...
    @overload
    def returning(
        self, a: Field[T1], b: Field[T2], c: Field[T3], d: Field[T4], e: Field[T5], f: Field[T6], /
    ) -> UpsertReturning[D, M, tuple[T1, T2, T3, T4, T5, T6]]: ...
    def returning(self, *fields: Any) -> Any:
        """Answer the new values of these fields: one as it is, several as a tuple."""
        kind: type[UpsertReturning[D, M, Any]] = UpsertReturning
        return self._returning(kind, fields)
