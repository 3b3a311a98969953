"""Update: change some attributes of an item that exists."""

from __future__ import annotations

from builtins import set as Set  # the builder's own method is called set  # noqa: N812
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Generic, TypeVar, overload

from typing_extensions import Self

from dynamap.errors import RequestError
from dynamap.expressions import Action, Add, Assignment, Compiler, Field, Remove, Value
from dynamap.expressions import Set as SetAction
from dynamap.markers import D, Write
from dynamap.operations.base import Moment, Scope, Stores
from dynamap.operations.difference import Change, difference
from dynamap.operations.guards import Guard, GuardKind
from dynamap.operations.sending import Answer, read_item
from dynamap.operations.settling import Settled
from dynamap.operations.versioned import VersionedSteps
from dynamap.plan import Call, Item, Plan

__all__ = ["Rewrite", "Update", "UpdateItem", "UpdateReturning"]

M = TypeVar("M")
R_co = TypeVar("R_co", covariant=True)
T = TypeVar("T")
U = TypeVar("U")
T1 = TypeVar("T1")
T2 = TypeVar("T2")
T3 = TypeVar("T3")
T4 = TypeVar("T4")
T5 = TypeVar("T5")
T6 = TypeVar("T6")
Number = TypeVar("Number", bound="int | float | Decimal")


class _Updating(VersionedSteps[D, M, R_co], Generic[D, M, R_co]):
    """What keyed updates and rewrites share."""

    _return_values = "ALL_NEW"

    def _changes(self, compiler: Compiler) -> tuple[Sequence[Action], list[Assignment]]:
        """What the caller changes."""
        raise NotImplementedError

    def _guard(self) -> Guard:
        return self._checked_version_guard() or Guard(GuardKind.EXISTS)

    def _request(self, moment: Moment, guard: Guard) -> Call:
        compiler = self._compiler()
        actions, assigned = self._changes(compiler)
        assigned += self._bookkeeping(compiler, moment, guard)
        text = compiler.update(actions, assigned)
        params: dict[str, Any] = {"TableName": self._scope.table_name, "Key": self._key}
        if text is not None:
            params["UpdateExpression"] = text
        params |= self._condition_params(compiler, guard)
        params |= compiler.placeholders()
        params["ReturnValues"] = self._return_values
        return Call("UpdateItem", params)

    def _bookkeeping(self, compiler: Compiler, moment: Moment, guard: Guard) -> list[Assignment]:
        entity = self._scope.entity
        if entity.version_attribute is None:
            return []
        number = guard.next_version(entity, moment.now)
        if guard.kind is GuardKind.ANY_VERSION:
            # never lowered: add one to what is stored, or start afresh where nothing is
            start, one = compiler.value({"N": str(number - 1)}), compiler.value({"N": "1"})
            text = f"if_not_exists({compiler.name(entity.version_attribute)}, {start}) + {one}"
        else:
            text = compiler.value({"N": str(number)})
        own: list[Assignment] = [((entity.version_attribute,), text)]
        return own + [((name,), compiler.value(wire)) for name, wire in self._write_id(moment, guard).items()]

    def _stores_write_id(self, guard: Guard) -> bool:
        return guard.kind is not GuardKind.EXISTS

    def _send(self) -> Plan[tuple[R_co] | Settled]:
        moment = self._runtime.moment()
        guard = self._guard()
        if guard.kind is not GuardKind.ANY_VERSION:
            return (yield from self._send_under(guard, moment))
        call = self._request(moment, guard)
        answer = yield from self._attempt(guard, moment, call)
        if answer.condition_failed and not answer.ambiguous:
            seen = answer.seen or (
                yield from read_item(self._runtime, self._scope.table_name, self._key, self._what)
            )
            if seen is not None and self._scope.entity.version_attribute in seen and self._stored_as_zero(seen):
                # stored with version 0, which one more must not turn into 1: it starts afresh as unversioned items do
                return (yield from self._send_under(Guard(GuardKind.LEGACY, -1), moment))
            answer = Answer(None, condition_failed=True, seen=seen, cause=answer.cause)
        return (yield from self._conclude(guard, moment, call, answer))

    def _stored_as_zero(self, seen: Item) -> bool:
        return self._scope.entity.stored_version(seen) == 0

    def _result(self, reply: dict[str, Any], call: Call) -> Any:
        del call
        return self._answer(reply.get("Attributes") or {})

    def _resolved_result(self, item: Item, call: Call) -> Any:
        del call
        return self._answer(item)

    def _answer(self, item: Item) -> Any:
        """What is answered of the item as it is stored."""
        return self._scope.entity.decode(item, applied=True)


class _UpdateSteps(_Updating[D, M, R_co], Generic[D, M, R_co]):
    _actions: tuple[Action, ...]

    def set(self, field: Field[T], value: T | Value[T], /) -> Self:
        """Set a field to a value, to another field, or to a sum of two; None removes the attribute."""
        return self._with(SetAction(field, value))

    def remove(self, *fields: Field[Any]) -> Self:
        """Remove the attributes of these fields."""
        return self._with(*[Remove(field) for field in fields])

    @overload
    def add(self, field: Field[Set[U]] | Field[Set[U] | None], element: U, /, *more: U) -> Self: ...
    @overload
    def add(self, field: Field[frozenset[U]] | Field[frozenset[U] | None], element: U, /, *more: U) -> Self: ...
    @overload
    def add(self, field: Field[Number] | Field[Number | None], amount: Number | int, /) -> Self: ...
    def add(self, field: Any, *what: Any) -> Self:
        """Add to a number, or add elements to a set; a missing one counts as 0 or as empty."""
        return self._with(Add(field, what))

    def _with(self, *actions: Action) -> Self:
        for action in actions:
            self._check_changeable(action)
        return self._copy(_actions=(*self._actions, *actions))

    def _check_changeable(self, action: Action) -> None:
        entity = self._scope.entity
        name = self._compiler().resolve(action.field).field
        if name in entity.key_fields:
            msg = f"{self._what}: {name} is part of the key, which never changes: put a new item and delete this one"
            raise RequestError(msg)
        if name == entity.version:
            msg = f"{self._what}: {name} is the version, which every write raises by itself: leave it out"
            raise RequestError(msg)

    def _changes(self, compiler: Compiler) -> tuple[Sequence[Action], list[Assignment]]:
        del compiler
        return self._actions, []

    def _repeatable(self, guard: Guard) -> bool:
        if guard.is_version:
            return True
        relative = any(
            isinstance(action, Add) or (isinstance(action, SetAction) and isinstance(action.value, Value))
            for action in self._actions
        )
        return not (relative or self._conditions or guard.kind is GuardKind.ANY_VERSION)


class UpdateReturning(_UpdateSteps[D, M, R_co]):
    """An update that answers other values than the new entity; no part of a transaction."""

    _answers_values = True
    _fields: tuple[Field[Any], ...] | None

    @property
    def _return_values(self) -> str:  # type: ignore[override]
        return "ALL_OLD" if self._fields is None else "ALL_NEW"

    def _repeatable(self, guard: Guard) -> bool:
        # a repetition would answer what the first attempt stored
        return guard.is_version if self._fields is None else super()._repeatable(guard)

    def _answer(self, item: Item) -> Any:
        if self._fields is None:
            return self._scope.entity.decode(item, applied=True)
        entity, compiler = self._scope.entity, self._compiler()
        values = tuple(entity.decode_path(item, compiler.resolve(field), applied=True) for field in self._fields)
        return values[0] if len(values) == 1 else values

    def _resolved_result(self, item: Item, call: Call) -> Any:
        if self._fields is None:
            raise self._old_value_lost()
        return super()._resolved_result(item, call)


class Update(_UpdateSteps[D, M, M], Write[D, M]):
    """Change attributes of an item that exists; answers the new entity.

    Nothing is stored under the key: `ItemNotFound`. A keyed update of a versioned type says `if_version(n)` or
    `ignore_version()`. Costs a write unit for each KB of the item, before or after, whichever is larger.
    """

    def __init__(self, scope: Scope[M], key: Item, values: dict[str, Any], guard: Guard | None) -> None:
        self._begin("update", scope, key, values)
        self.__dict__.update(_actions=(), _version_guard=guard)

    def returning_old(self) -> UpdateReturning[D, M, M]:
        """Answer the entity as it was before."""
        kind: type[UpdateReturning[D, M, M]] = UpdateReturning
        return self._become(kind, _fields=None)

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
        if not fields:
            msg = f"{self._what}: returning() names the fields to answer, such as returning(F(X.count))"
            raise RequestError(msg)
        for field in fields:
            self._compiler().resolve(field)
        kind: type[UpdateReturning[D, M, Any]] = UpdateReturning
        return self._become(kind, _fields=fields)


class Rewrite(_Updating[D, M, M], Write[D, M], Stores[M]):
    """update(item).to(changed): only the difference is sent."""

    _difference: tuple[Change, ...]
    _changed: M

    def _changes(self, compiler: Compiler) -> tuple[Sequence[Action], list[Assignment]]:
        return (), [
            (path, None if wire is None else compiler.value(wire)) for path, wire in self._difference
        ]

    def _repeatable(self, guard: Guard) -> bool:
        return guard.is_version or not (self._conditions or guard.kind is GuardKind.ANY_VERSION)

    def _known_result(self, call: Call, guard: Guard, moment: Moment) -> M | None:
        del call
        if guard.kind is GuardKind.ANY_VERSION:
            return None
        entity = self._scope.entity
        item = entity.encode(self._changed)
        if entity.version_attribute is not None:
            item[entity.version_attribute] = {"N": str(guard.next_version(entity, moment.now))}
        return entity.decode(item, applied=True)


class UpdateItem(Update[D, M]):
    """update(item): guarded by the version of the item that was read."""

    _read: M

    def __init__(self, scope: Scope[M], key: Item, values: dict[str, Any], guard: Guard | None, item: M) -> None:
        super().__init__(scope, key, values, guard)
        self.__dict__.update(_read=item)

    def to(self, changed: M, /) -> Rewrite[D, M]:
        """Send what differs between the item that was read and *changed*, and nothing else.

        Attributes that this class does not know survive. Keys and the version must be the same in both.
        """
        entity = self._scope.entity
        if self._actions:
            msg = f"{self._what}: to() or set(), add() and remove(), not both"
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
        kind: type[Rewrite[D, M]] = Rewrite
        return self._become(kind, _difference=tuple(difference(entity, self._read, changed)), _changed=changed)
