"""Update: change some attributes of an item that exists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar, overload

import msgspec
from typing_extensions import Self

from dynamap.codec import Wire
from dynamap.errors import RequestError, ServiceError
from dynamap.expressions import Action, Assignment, Field, Outline, Unusual, UpdateCompiler
from dynamap.markers import D, Write
from dynamap.model import Entity, value_at
from dynamap.operations.base import Moment, Scope, Stores
from dynamap.operations.difference import Change, difference
from dynamap.operations.guards import Guard, GuardKind, guard_of_version
from dynamap.operations.index_keys import (
    IndexChange,
    KeyChange,
    assignments,
    components,
    kept_stored,
    rewritten,
)
from dynamap.operations.item_size import check_item_size
from dynamap.operations.parents import lacks_parent
from dynamap.operations.sending import Answer
from dynamap.operations.settling import Terms
from dynamap.operations.update_steps import ReturningSteps, UpdateSteps
from dynamap.operations.updating import Updating
from dynamap.plan import Call, CallFailed, Item, Plan

__all__ = ["Rewrite", "Update", "UpdateItem", "UpdateReturning"]

M = TypeVar("M")
R_co = TypeVar("R_co", covariant=True)
T1 = TypeVar("T1")
T2 = TypeVar("T2")
T3 = TypeVar("T3")
T4 = TypeVar("T4")
T5 = TypeVar("T5")
T6 = TypeVar("T6")


class _ExistingSteps(UpdateSteps[D, M, R_co], Generic[D, M, R_co]):
    """Of an item that exists, an update without a step would do nothing, and what was meant would be lost."""

    _forgotten = "add set() or another step"

    def _changes(self, compiler: UpdateCompiler, guard: Guard) -> tuple[Sequence[Action], list[Assignment]]:
        if not self._actions:
            msg = f"{self._what}: it changes nothing: {self._forgotten}"
            raise RequestError(msg)
        return super()._changes(compiler, guard)

    def _outline_changes(self, outline: Outline, guard: Guard, bookkeeping: Sequence[Wire]) -> None:
        touched = self._scope.entity.index_fields
        if not self._actions or self._given or (touched and any(_first(each) in touched for each in self._actions)):
            raise Unusual
        outline.kept_up(guard.kind, bookkeeping)
        outline.actions(self._actions)


class UpdateReturning(ReturningSteps[D, M, R_co], _ExistingSteps[D, M, R_co]):
    """An update that answers other values than the new entity; no part of a transaction."""


class Update(_ExistingSteps[D, M, M], Write[D, M]):
    """Change attributes of an item that exists; answers the new entity.

    Without a step that changes something it is a RequestError, before anything is sent. Nothing is stored under the
    key: `ItemNotFound`. A keyed update of a versioned type says `if_version(n)` or `ignore_version()`. Costs a write
    unit for each KB of the item, before or after, whichever is larger.
    """

    def __init__(self, scope: Scope[M], key: Item, values: dict[str, Any], guard: Guard | None) -> None:
        self._begin("update", scope, key, values)
        self.__dict__.update(_actions=(), _version_guard=guard)

    def returning_old(self) -> UpdateReturning[D, M, M]:
        """Answer the entity as it was before."""
        kind: type[UpdateReturning[D, M, M]] = UpdateReturning
        return self._returning(kind, None)

    @overload
    def returning(self, a: Field[T1], /) -> UpdateReturning[D, M, T1]: ...
    @overload
    def returning(self, a: Field[T1], b: Field[T2], /) -> UpdateReturning[D, M, tuple[T1, T2]]: ...
    @overload
    def returning(self, a: Field[T1], b: Field[T2], c: Field[T3], /) -> UpdateReturning[D, M, tuple[T1, T2, T3]]: ...
    @overload
    def returning(
        self, a: Field[T1], b: Field[T2], c: Field[T3], d: Field[T4], /
    ) -> UpdateReturning[D, M, tuple[T1, T2, T3, T4]]: ...
    @overload
    def returning(
        self, a: Field[T1], b: Field[T2], c: Field[T3], d: Field[T4], e: Field[T5], /
    ) -> UpdateReturning[D, M, tuple[T1, T2, T3, T4, T5]]: ...
    @overload
    def returning(
        self, a: Field[T1], b: Field[T2], c: Field[T3], d: Field[T4], e: Field[T5], f: Field[T6], /
    ) -> UpdateReturning[D, M, tuple[T1, T2, T3, T4, T5, T6]]: ...
    def returning(self, *fields: Any) -> Any:
        """Answer the new values of these fields: one as it is, several as a tuple."""
        kind: type[UpdateReturning[D, M, Any]] = UpdateReturning
        return self._returning(kind, fields)


class Rewrite(Updating[D, M, M], Write[D, M], Stores[M]):
    """update(item).to(changed): only the difference is sent."""

    _difference: tuple[Change, ...]
    _attributes: Item
    _changed: M
    _read: M
    _index_changes: tuple[IndexChange, ...]
    _stored: Mapping[str, Wire]

    def _changes(self, compiler: UpdateCompiler, guard: Guard) -> tuple[Sequence[Action], list[Assignment]]:
        del guard
        as_read = _is_as_read(self._scope.entity, self._read, self._version_guard)
        # of an item that another writer may have changed, what is to be absent is removed even if it was absent
        keys = [
            KeyChange(change.attribute, change.after) for change in self._index_changes if change.differs or not as_read
        ]
        assigned: list[Assignment] = [
            (path, None if wire is None else compiler.value(wire)) for path, wire in self._difference
        ]
        assigned += kept_stored(compiler, self._scope.entity, self._stored)
        return (), assigned + assignments(compiler, keys)

    def _outline_changes(self, outline: Outline, guard: Guard, bookkeeping: Sequence[Wire]) -> None:
        if self._index_changes:
            raise Unusual
        for path, wire in self._difference:
            outline.assigned(path, wire)
        outline.kept_up(guard.kind, bookkeeping)

    def _assumptions(self) -> Mapping[str, Any]:
        if _is_as_read(self._scope.entity, self._read, self._version_guard):
            return {}
        names = dict.fromkeys(name for change in self._index_changes for name in change.assumed)
        return {name: getattr(self._read, name) for name in names}

    def _terms(self, guard: Guard, moment: Moment) -> Terms:
        terms, assumed = super()._terms(guard, moment), self._assumptions()
        # an assumption that fails is a conflict, and one that may be the write's own would be run again
        return replace(terms, assumed=assumed, permitted=terms.permitted and not assumed)

    def _repeatable(self, guard: Guard) -> bool:
        return guard.is_version or not (self._conditions or guard.ignores_version)

    def _check_item_size(self, guard: Guard, params: dict[str, Any]) -> None:
        del params
        if _is_as_read(self._scope.entity, self._read, guard):
            # nobody else can have changed it: it becomes what it is here, and what other releases wrote
            item = {**self._key, **self._attributes}
        else:
            changes = [(path[0], wire) for path, wire in self._difference if len(path) == 1 and wire is not None]
            item = {**self._key, **{str(name): wire for name, wire in changes}}
        check_item_size(self._scope.entity, item, self._what, whole=False)

    def _attempt(self, guard: Guard, moment: Moment, call: Call, lost: CallFailed | None = None) -> Plan[Answer]:
        try:
            return (yield from super()._attempt(guard, moment, call, lost))
        except ServiceError as error:
            whole = self._with_whole_defaults() if lacks_parent(error.code, error.message) else None
            if whole is None:
                raise
        if self._repeat == "exactly_once":
            # a token stands for one request only; that one was not applied, or it would not have been refused
            moment = msgspec.structs.replace(moment, write_id=self._runtime.write_ids())
        request = whole._request(moment, guard)  # noqa: SLF001 - a copy of this very operation
        return (yield from super(Rewrite, whole)._attempt(guard, moment, request, lost))

    def _other_form(self, guard: Guard, reason: Mapping[str, Any], *, expired: bool) -> tuple[Self, Guard] | None:
        whole = self._with_whole_defaults() if lacks_parent(reason.get("Code"), reason.get("Message")) else None
        return super()._other_form(guard, reason, expired=expired) if whole is None else (whole, guard)

    def _with_whole_defaults(self) -> Self | None:
        """The same for an item of before a nested class was declared: it was read as its default, but is not there."""
        entity = self._scope.entity
        changes = tuple(difference(entity, entity.attributes(self._read), self._attributes, whole_defaults=True))
        return None if changes == self._difference else self._copy(_difference=changes)

    def _uncertain_parents(self) -> list[str]:
        parents = [".".join(map(str, path[:-1])) for path, _ in self._difference if len(path) > 1]
        return list(dict.fromkeys(parents))

    def _known_item(self, call: Call, guard: Guard, moment: Moment) -> Item | None:
        del call
        entity = self._scope.entity
        if not _is_as_read(entity, self._read, guard):
            # other fields may hold what another writer has stored
            return None
        item = entity.encode(self._changed)
        if entity.version_attribute is not None:
            item[entity.version_attribute] = {"N": str(guard.next_version(entity, moment.start))}
        return item


class UpdateItem(Update[D, M]):
    """update(item), of an item that was read: under its version, if it has one."""

    _forgotten = "add to(changed), where changed is a copy of the item, or set() or another step"
    _read: M

    def __init__(self, scope: Scope[M], key: Item, values: dict[str, Any], guard: Guard | None, item: M) -> None:
        super().__init__(scope, key, values, guard)
        self.__dict__.update(_read=item)

    def _as_read(self) -> Mapping[str, Any]:
        if not _has_read_version(self._scope.entity, self._read, self._version_guard):
            return {}
        fields = self._scope.entity.shape.fields
        return {field.name: getattr(self._read, field.name) for field in fields if not field.extras}

    def _assumptions(self) -> Mapping[str, Any]:
        return {**self._assumed(), **super()._assumptions()}

    def _assumed(self) -> Mapping[str, Any]:
        """What the keys of indexes are made of, though the guard does not say that it is as it was read."""
        entity, read, guard = self._scope.entity, self._read, self._version_guard
        if _is_as_read(entity, read, guard) or not _has_read_version(entity, read, guard):
            return {}
        changed: list[str] = [self._compiler().resolve(action.field).field for action in self._actions]
        depends = components(entity, changed, self._as_read())
        return {name: getattr(read, name) for name in depends if name not in (*changed, *self._given)}

    def _terms(self, guard: Guard, moment: Moment) -> Terms:
        return replace(super()._terms(guard, moment), assumed=self._assumed())

    def _check_changeable(self, action: Action) -> None:
        super()._check_changeable(action)
        if not _has_read_version(self._scope.entity, self._read, self._version_guard):
            return
        field: Any = action.field
        for length in range(1, len(field.path)):
            if value_at(self._read, field.path[:length]) is None:
                where = ".".join(map(str, field.path[:length]))
                msg = (
                    f"{self._what}: the item that was read has no {where}, and nothing can be changed inside of what "
                    f"is not there: set it as a whole"
                )
                raise RequestError(msg)

    def to(self, changed: M, /) -> Rewrite[D, M]:
        """Send what differs between the item that was read and *changed*, and nothing else.

        Index attributes that depend on it go with it, and defaults that `when=` of such an index speaks of, which may
        only have been read: what is not stored does not count there. Attributes that this class does not know survive.
        Keys and the version must be the same in both, and *changed* is a copy: what was changed in place cannot be
        seen. Without a difference the version still rises.
        """
        entity = self._scope.entity
        if self._actions:
            msg = f"{self._what}: to() or set(), add() and the other steps, not both"
            raise RequestError(msg)
        if self._given:
            msg = f"{self._what}: to() knows the item that was read: leave out given()"
            raise RequestError(msg)
        if changed is self._read:
            # after a change in place the difference would be empty, and the change lost without a word
            msg = (
                f"{self._what}: to() was given the very object that update() was, so no difference can be seen: pass a "
                f"changed copy, as evolve(item, ...) makes it, or evolve(item) to raise the version alone"
            )
            raise RequestError(msg)
        if not isinstance(changed, entity.cls):
            msg = f"{self._what}: to() takes another {entity.cls.__qualname__}; got {type(changed).__name__}"
            raise RequestError(msg)
        if entity.key_of(changed) != self._key:
            msg = f"{self._what}: to() changes the key, which never changes: put a new item and delete this one"
            raise RequestError(msg)
        if entity.version is not None and entity.read_version(changed) != entity.read_version(self._read):
            msg = f"{self._what}: to() changes the version {entity.version}, which every write raises by itself"
            raise RequestError(msg)
        attributes = entity.attributes(changed)
        differences = tuple(difference(entity, entity.attributes(self._read), attributes))
        index_changes, stored = rewritten(entity, self._read, changed)
        kind: type[Rewrite[D, M]] = Rewrite
        return self._become(
            kind,
            _difference=differences,
            _attributes=attributes,
            _changed=changed,
            _index_changes=index_changes,
            _stored=stored,
        )


def _first(action: Action) -> object:
    """The field that an action changes, or changes something inside of."""
    field: Any = action.field
    return field.path[0]


def _is_as_read(entity: Entity[M], read: M, guard: Guard | None) -> bool:
    """Whether the stored item is the one that was read, or nothing is written."""
    # writers that know no version may have changed one that has none
    return guard is not None and guard.kind is GuardKind.VERSION and _has_read_version(entity, read, guard)


def _has_read_version(entity: Entity[M], read: M, guard: Guard | None) -> bool:
    """Whether the guard is that of the item that was read: if_version() may name another version."""
    return guard is not None and guard.is_version and guard == guard_of_version(entity, entity.read_version(read))
