"""Upsert: change some attributes of an item, or create it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Generic, TypeVar, overload

from typing_extensions import Self

from dynamap.expressions import Action, Assignment, Compiler, Field, UpdateCompiler
from dynamap.markers import D, Write
from dynamap.operations.base import Moment, Scope
from dynamap.operations.creation import check_complete, created_item, creation, plain_defaults
from dynamap.operations.guards import Guard, GuardKind, guard_of_version
from dynamap.operations.index_keys import assignments, index_attributes
from dynamap.operations.item_size import check_item_size
from dynamap.operations.sending import MOST_ATTEMPTS, Answer, others_quicker, pause
from dynamap.operations.settling import Settled, is_mine, settle, with_item
from dynamap.operations.update_steps import ReturningSteps, UpdateSteps
from dynamap.plan import Call, CallFailed, Item, Plan

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
    _unguarded_hint = "if_version(0) is for an item that is not stored yet"

    _defaults: dict[str, Any]

    def if_version(self, version: int, /) -> Self:
        """Write only if the stored version is this one, or with 0 if nothing is stored; `VersionConflict` otherwise."""
        return self._copy(_version_guard=guard_of_version(self._scope.entity, version))

    def ignore_version(self) -> Self:
        """Write whatever the stored version is, or create the item; the version rises all the same."""
        guard_of_version(self._scope.entity, 0)
        return self._copy(_version_guard=Guard(GuardKind.ANYTHING))

    def _guard(self) -> Guard:
        guard = self._checked_version_guard()
        if guard is not None:
            return guard
        expires = self._scope.entity.ttl_attribute is not None and not self._expired_included
        return Guard(GuardKind.UNEXPIRED if expires else GuardKind.NONE)

    def _stored_assumptions(self) -> Collection[str]:
        # one that may create the item stores all defaults
        creates = self._version_guard is None or not self._version_guard.is_version
        return () if creates else super()._stored_assumptions()

    def _stores_write_id(self, guard: Guard) -> bool:
        return self._scope.entity.version is not None or guard.kind is GuardKind.EXPIRED

    def _condition_params(self, compiler: Compiler, guard: Guard, now: int | None) -> dict[str, Any]:
        # an update would keep what an expired item holds, so that one is none of those that it may find
        return super()._condition_params(compiler, guard, None if guard.kind is GuardKind.ABSENT else now)

    def _changes(self, compiler: UpdateCompiler, guard: Guard) -> tuple[Sequence[Action], list[Assignment]]:
        if guard.is_version:
            # it exists, or nothing is written
            return super()._changes(compiler, guard)
        entity = self._scope.entity
        check_complete(compiler, entity, self._actions, self._what)
        created = list(creation(compiler, entity, self._key, self._values, self._defaults, self._actions))
        return self._actions, created + assignments(compiler, self._known_fields(compiler).upserted())

    # ---- onto what has expired

    def _request(self, moment: Moment, guard: Guard) -> Call:
        return self._replacement(moment, guard) if guard.kind is GuardKind.EXPIRED else super()._request(moment, guard)

    def _replacement(self, moment: Moment, guard: Guard) -> Call:
        """A put of what the upsert creates where nothing is stored, in the place of what has expired."""
        entity = self._scope.entity
        item = created_item(entity, self._key, self._values, self._defaults, self._actions)
        if entity.version_attribute is not None:
            item[entity.version_attribute] = {"N": str(guard.next_version(entity, moment.start))}
        item |= index_attributes(entity, entity.decode(item), item)
        item |= self._write_id(moment, guard)
        check_item_size(entity, item, self._what)
        compiler = self._compiler()
        params: dict[str, Any] = {"TableName": self._scope.table_name, "Item": item}
        params |= super()._condition_params(compiler, guard, self._expiry(moment))
        params |= compiler.placeholders()
        return Call("PutItem", params)

    def _send(self, lost: CallFailed | None = None) -> Plan[tuple[R_co] | Settled]:
        for turn in range(MOST_ATTEMPTS):
            if turn:
                yield pause(self._runtime, turn)
            try:
                return (yield from super()._send(lost))
            except _ChangedMeanwhile as changed:
                lost = changed.lost
        raise others_quicker(self._what, lost)

    def _conclude(self, guard: Guard, moment: Moment, call: Call, answer: Answer) -> Plan[tuple[R_co] | Settled]:
        now = self._expiry(moment)
        if now is not None and answer.condition_failed and not guard.is_version:
            answer = yield from with_item(self._scope, self._key, self._what, answer)
            if answer.unread is not None:
                # without the item it is not known whether it takes the place of what has expired
                raise answer.unread
            entity, seen = self._scope.entity, answer.seen
            mine = answer.ambiguous and is_mine(entity, self._terms(guard, moment).write_id, seen)
            expired = seen is not None and entity.is_expired(seen, now)
            if expired and not mine and self._holds_of_nothing():
                return (yield from self._replace_expired(moment, answer.lost))
            if guard.kind is GuardKind.UNEXPIRED and not (expired or self._is_conditioned()):
                # that it had expired was all that could fail
                raise _ChangedMeanwhile(answer.lost)
        return (yield from super()._conclude(guard, moment, call, answer))

    def _replace_expired(self, moment: Moment, lost: CallFailed | None) -> Plan[tuple[R_co] | Settled]:
        # another request, so that it needs another id; that the item has expired was decided before
        moment, guard = Moment(moment.now, self._runtime.write_ids()), Guard(GuardKind.EXPIRED)
        call = self._replacement(moment, guard)
        answer = yield from self._attempt(guard, moment, call, lost)
        if answer.condition_failed:
            settled = yield from settle(self._scope, self._terms(guard, moment), answer)
            if settled.item is None:
                raise _ChangedMeanwhile(answer.lost)
            call = self._applied_call(settled.item, answer)
        elif answer.calls:
            call = answer.calls[-1]
        return (self._created(call.params["Item"]),)

    def _created(self, item: Item) -> R_co:
        """The result where the item is new."""
        return self._answer(item)  # type: ignore[no-any-return]


class _ChangedMeanwhile(Exception):
    """The item is another than the one that was looked at: the upsert begins anew."""

    def __init__(self, lost: CallFailed | None) -> None:
        super().__init__()
        self.lost = lost


class UpsertReturning(ReturningSteps[D, M, R_co], _UpsertSteps[D, M, R_co]):
    """An upsert that answers other values than the new entity; no part of a transaction."""

    def _answer(self, item: Item) -> Any:
        if self._fields is None and not item:
            return None
        return super()._answer(item)

    def _created(self, item: Item) -> Any:
        return None if self._fields is None else self._answer(item)


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
