"""The steps of an update by key: what is to change."""

from __future__ import annotations

from builtins import set as Set  # the builder's own method is called set  # noqa: N812
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Generic, TypeVar, overload

from typing_extensions import Self

from dynamap.codec import MOST_ITEM_BYTES, ListOf, MapOf, OptionalShape, exceeds, unwrapped
from dynamap.errors import RequestError
from dynamap.expressions import (
    Action,
    Add,
    Append,
    Assignment,
    Discard,
    Field,
    Remove,
    SetIfMissing,
    UpdateCompiler,
    Value,
)
from dynamap.expressions import Set as SetAction
from dynamap.markers import D
from dynamap.operations.base import Moment
from dynamap.operations.guards import Guard
from dynamap.operations.index_keys import KnownFields, assignments, kept_stored
from dynamap.operations.item_size import check_item_size
from dynamap.operations.replication import check_actions_hold
from dynamap.operations.settling import Terms
from dynamap.operations.updating import Updating
from dynamap.plan import Call, Item

__all__ = ["ReturningSteps", "UpdateSteps"]

M = TypeVar("M")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
T = TypeVar("T")
U = TypeVar("U")
Number = TypeVar("Number", bound="int | float | Decimal")


_CHANGEABLE = "changeable"
_MOST_CHANGEABLE = 1000
"""The kinds of actions on fields that are remembered as possible for one class in one table."""


class UpdateSteps(Updating[D, M, R_co], Generic[D, M, R_co]):
    """What an update or upsert changes: every step answers a changed copy."""

    _actions: tuple[Action, ...]
    _given: Mapping[str, Any] = MappingProxyType({})

    def set(self, field: Field[T], value: T | Value[T], /) -> Self:
        """Set a field to a value, to another field, or to a sum of two.

        None and an empty set remove the attribute where that reads back as the same.
        """
        return self._with(SetAction(field, value))

    def set_if_missing(self, field: Field[T], value: T, /) -> Self:
        """Set a field where the item has no such attribute; a stored NULL is one."""
        return self._with(SetIfMissing(field, value))

    def set_fields(self, fields: Mapping[str, Any], /) -> Self:
        """Set several fields by their names, as `set` does; for changes that are known at run time only."""
        given: Any = fields
        if not isinstance(given, Mapping) or not given:
            kind = "an empty one" if isinstance(given, Mapping) else type(given).__name__
            msg = f"{self._what}: set_fields() takes a mapping from field names to values; got {kind}"
            raise RequestError(msg)
        entity = self._scope.entity
        for name in fields:
            if name not in entity.shape.by_name:
                msg = (
                    f"{self._what}: {entity.cls.__qualname__} has no field {name!r}; its fields are "
                    f"{', '.join(entity.shape.by_name)}"
                )
                raise RequestError(msg)
        return self._with(*[SetAction(Field[Any](entity.cls, (name,)), value) for name, value in fields.items()])

    def remove(self, *fields: Field[Any]) -> Self:
        """Remove the attributes of these fields; RequestError for a field without which no item could be read."""
        self._check_any(fields, "remove() names the fields to remove")
        return self._with(*[Remove(field) for field in fields])

    @overload
    def add(self, field: Field[Set[U]] | Field[Set[U] | None], element: U, /, *more: U) -> Self: ...
    @overload
    def add(self, field: Field[frozenset[U]] | Field[frozenset[U] | None], element: U, /, *more: U) -> Self: ...
    @overload
    def add(self, field: Field[Number] | Field[Number | None], amount: Number | int, /) -> Self: ...
    def add(self, field: Any, *what: Any) -> Self:
        """Add to a number, or add elements to a set.

        A missing number counts as the field's default, or as 0 if it has none; a missing set as empty.
        """
        self._check_any(what, "add() takes an amount, or the elements to add")
        return self._with(Add(field, what))

    @overload
    def discard(self, field: Field[Set[U]] | Field[Set[U] | None], element: U, /, *more: U) -> Self: ...
    @overload
    def discard(self, field: Field[frozenset[U]] | Field[frozenset[U] | None], element: U, /, *more: U) -> Self: ...
    def discard(self, field: Any, *elements: Any) -> Self:
        """Take elements out of a set, if they are in it; taking the last one leaves an empty set."""
        self._check_any(elements, "discard() takes the elements to take out")
        return self._with(Discard(field, elements))

    @overload
    def append(self, field: Field[list[U]] | Field[list[U] | None], item: U, /, *more: U) -> Self: ...
    @overload
    def append(self, field: Field[tuple[U, ...]] | Field[tuple[U, ...] | None], item: U, /, *more: U) -> Self: ...
    def append(self, field: Any, *items: Any) -> Self:
        """Put items behind those of a list; a missing one counts as the field's default, or as empty."""
        self._check_any(items, "append() takes the items to append")
        return self._with(Append(field, items, in_front=False))

    @overload
    def prepend(self, field: Field[list[U]] | Field[list[U] | None], item: U, /, *more: U) -> Self: ...
    @overload
    def prepend(self, field: Field[tuple[U, ...]] | Field[tuple[U, ...] | None], item: U, /, *more: U) -> Self: ...
    def prepend(self, field: Any, *items: Any) -> Self:
        """Put items before those of a list, in the order given; a missing list counts as it does for `append`."""
        self._check_any(items, "prepend() takes the items to prepend")
        return self._with(Append(field, items, in_front=True))

    def given(self, **fields: object) -> Self:
        """Say what other fields hold, where keys of an index are made of them and of what changes.

        It is written only if they do: failing, `ConditionFailed`. A default that is only read, where nothing is stored,
        counts as held, but not for an update that puts the item into an index whose `when=` speaks of the field, or
        takes it out: that is a condition on what is stored. Raises RequestError for what is no field, and for fields of
        the key and the version, which are known.
        """
        self._check_any(list(fields), "given() names fields and what they hold, such as given(status=...)")
        entity = self._scope.entity
        for name, value in fields.items():
            described = entity.shape.by_name.get(name)
            if described is None or not described.stored or described.extras:
                msg = (
                    f"{self._what}: given() takes stored fields; {entity.cls.__qualname__} has no {name!r}: its fields "
                    f"are {', '.join(entity.shape.by_name)}"
                )
                raise RequestError(msg)
            if name in entity.key_fields or name == entity.version:
                remedy = "if_version(n)" if name == entity.version else "leave it out"
                msg = f"{self._what}: given() takes what is not known yet, not {name}: {remedy}"
                raise RequestError(msg)
            compiler = self._compiler()
            compiler.stored(value, compiler.resolve(Field[Any](entity.cls, (name,))))
        return self._copy(_given={**self._given, **fields})

    def _check_any(self, given: Sequence[Any], expected: str) -> None:
        if not given:
            msg = f"{self._what}: {expected}; got nothing"
            raise RequestError(msg)

    def _with(self, *actions: Action) -> Self:
        for action in actions:
            self._check_changeable(action)
        check_actions_hold(self._scope.entity, self._named, actions)
        return self._copy(_actions=(*self._actions, *actions))

    def _check_changeable(self, action: Action) -> None:
        entity = self._scope.entity
        field: Any = action.field
        path: Any = field.path if isinstance(field, Field) else ()
        whole = len(path) == 1 and type(path[0]) is str
        checked: dict[tuple[Any, ...], None] = entity.derived.setdefault(_CHANGEABLE, {})
        known = (type(action), field.owner, path[0]) if whole else ()
        if known in checked:
            return
        self._check_changeable_anew(action)
        if known:
            if len(checked) >= _MOST_CHANGEABLE:
                checked.clear()
            checked[known] = None

    def _check_changeable_anew(self, action: Action) -> None:
        entity = self._scope.entity
        resolved = self._compiler().resolve(action.field)
        name = resolved.field
        if name in entity.key_fields:
            msg = f"{self._what}: {name} is part of the key, which never changes: put a new item and delete this one"
            raise RequestError(msg)
        if name == entity.version:
            msg = f"{self._what}: {name} is the version, which every write raises by itself: leave it out"
            raise RequestError(msg)
        if isinstance(action, Remove) and resolved.top_level and not entity.shape.can_lack(name):
            msg = (
                f"{self._what}: {name} is neither optional nor has it a default, so an item without it could not be "
                f"read: set it to another value"
            )
            raise RequestError(msg)

    # ---- compiling

    def _changes(self, compiler: UpdateCompiler, guard: Guard) -> tuple[Sequence[Action], list[Assignment]]:
        del guard
        known = self._known_fields(compiler)
        # all that an item that was read holds is known, so that what it may lack is simply stored
        stored = known.stored() if self._as_read() else {}
        kept = kept_stored(compiler, self._scope.entity, stored)
        return self._actions, kept + assignments(compiler, known.updated(stored))

    def _as_read(self) -> Mapping[str, Any]:
        """The fields of an item that is guarded by the version that was read."""
        return {}

    def _known_fields(self, compiler: UpdateCompiler) -> KnownFields:
        known = {**self._as_read(), **self._values, **self._given}
        return KnownFields.of(self._what, self._scope.entity, known, self._actions, compiler)

    def _assumptions(self) -> Mapping[str, Any]:
        return self._given

    def _stored_assumptions(self) -> Collection[str]:
        if not self._given or self._as_read():
            return ()
        return self._known_fields(self._compiler()).conditional()

    def _terms(self, guard: Guard, moment: Moment) -> Terms:
        return replace(super()._terms(guard, moment), given=self._given, stored=self._stored_assumptions())

    def _check_item_size(self, guard: Guard, params: dict[str, Any]) -> None:
        del guard
        if not exceeds(params.get("ExpressionAttributeValues", {}), MOST_ITEM_BYTES):
            return
        # what else is stored is not known here
        known, compiler = dict(self._key), self._compiler()
        for action in self._actions:
            resolved = compiler.resolve(action.field)
            if isinstance(action, SetAction) and not isinstance(action.value, Value) and resolved.top_level:
                wire = compiler.stored(action.value, resolved)
                if wire is not None:
                    known[str(resolved.attributes[0])] = wire
        check_item_size(self._scope.entity, known, self._what, whole=False)

    def _uncertain_parents(self) -> list[str]:
        """Those that may be missing by their types; of a path without such, the part that the change is in."""
        found: dict[str, None] = {}
        for action in self._actions:
            field: Any = action.field
            parents = [
                f"{_dotted(field.path[:length])}{' (it may be None)' if optional else ''}"
                for length in range(1, len(field.path))
                for optional in (self._may_be_none(field, length),)
                if optional or self._is_element(field, length)
            ]
            if len(field.path) > 1:
                found |= dict.fromkeys(parents or [_dotted(field.path[:-1])])
        return list(found)

    def _may_be_none(self, field: Field[Any], length: int) -> bool:
        return isinstance(self._compiler().resolve(Field[Any](field.owner, field.path[:length])).shape, OptionalShape)

    def _is_element(self, field: Field[Any], length: int) -> bool:
        if length == 1:
            return False
        around = self._compiler().resolve(Field[Any](field.owner, field.path[: length - 1])).shape
        return isinstance(unwrapped(around), (ListOf, MapOf))

    def _repeatable(self, guard: Guard) -> bool:
        if guard.excludes_repetition:
            return True
        relative = any(
            isinstance(action, (Add, Append)) or (isinstance(action, SetAction) and isinstance(action.value, Value))
            for action in self._actions
        )
        return not (relative or self._is_conditioned() or guard.ignores_version)

    # ---- other answers

    def _returning(self, kind: type[R], fields: tuple[Field[Any], ...] | None) -> R:
        """The same write, answering these fields as they are afterwards, or with None the entity as it was before."""
        if fields is not None and not fields:
            msg = f"{self._what}: returning() names the fields to answer, such as returning(F(X.count))"
            raise RequestError(msg)
        for field in fields or ():
            self._compiler().resolve(field)
        return self._become(kind, _fields=fields)


class ReturningSteps(UpdateSteps[D, M, R_co], Generic[D, M, R_co]):
    """An update or upsert that answers other values than the new entity; no part of a transaction."""

    _answers_values = True
    _fields: tuple[Field[Any], ...] | None

    @property
    def _return_values(self) -> str:  # type: ignore[override]
        return "ALL_OLD" if self._fields is None else "ALL_NEW"

    def _repeatable(self, guard: Guard) -> bool:
        # a repetition would answer what the first attempt stored
        return guard.excludes_repetition if self._fields is None else super()._repeatable(guard)

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


def _dotted(path: Sequence[str | int]) -> str:
    return ".".join(map(str, path))
