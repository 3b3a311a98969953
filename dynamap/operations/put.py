"""Put: create an item, or replace it."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from msgspec.structs import replace
from typing_extensions import Self

from dynamap.codec import JsonItem
from dynamap.errors import RequestError
from dynamap.markers import D, Write
from dynamap.operations.base import Moment, Scope, Stores
from dynamap.operations.guards import NOTHING_ASKED, Guard, GuardKind, guard_of_version
from dynamap.operations.index_keys import completed, stored_item
from dynamap.operations.item_size import check_item_size
from dynamap.operations.writing import WriteSteps
from dynamap.plan import Call, Item

__all__ = ["Put", "PutReturning"]

M = TypeVar("M")
R_co = TypeVar("R_co", covariant=True)


class _PutSteps(WriteSteps[D, M, R_co], Generic[D, M, R_co]):
    _item: Item | JsonItem
    _read_version: int

    def if_not_exists(self) -> Self:
        """Create only: an item that is there already is `ItemAlreadyExists`."""
        return self._copy(_existence=False)

    def if_exists(self) -> Self:
        """Replace only: an item that is not there is `ItemNotFound`."""
        return self._copy(_existence=True)

    def _guard(self) -> Guard:
        if self._scope.entity.version is not None:
            guard = guard_of_version(self._scope.entity, self._read_version)
            contradiction = guard.kind is GuardKind.ABSENT if self._existence else guard.kind is not GuardKind.ABSENT
            if self._existence is not None and contradiction:
                msg = (
                    f"{self._what}: version {self._read_version} says that it was "
                    f"{'never stored' if self._existence else 'stored before'}, which contradicts "
                    f"{'if_exists' if self._existence else 'if_not_exists'}(): leave it out, or put an item with "
                    f"{'the version that was read' if self._existence else 'version 0'}"
                )
                raise RequestError(msg)
            return guard
        if self._existence is None:
            return NOTHING_ASKED
        return Guard(GuardKind.EXISTS if self._existence else GuardKind.ABSENT)

    def _request(self, moment: Moment, guard: Guard) -> Call:
        entity = self._scope.entity
        more: Item = self._write_id(moment, guard)
        if entity.version_attribute is not None:
            more = {entity.version_attribute: {"N": str(guard.next_version(entity, moment.start))}, **more}
        item = completed(self._item, more)
        check_item_size(entity, item, self._named)
        params: dict[str, Any] = {"TableName": self._scope.table_name, "Item": item}
        params |= self._conditioned(guard, moment)
        return Call("PutItem", params, holds_json=type(item) is JsonItem)

    def _repeatable(self, guard: Guard) -> bool:
        # a guard excludes the write's own repetition; without one, the last writer wins anyway
        return guard.excludes_repetition or not self._conditions

    def _stores_write_id(self, guard: Guard) -> bool:
        return guard.excludes_repetition


class PutReturning(_PutSteps[D, M, R_co]):
    """A put that answers something else than what it stored; no part of a transaction."""

    _answers_values = True

    def _request(self, moment: Moment, guard: Guard) -> Call:
        call = super()._request(moment, guard)
        return replace(call, given={**call.given, "ReturnValues": "ALL_OLD"})

    def _repeatable(self, guard: Guard) -> bool:
        # a repetition would answer what the first attempt stored
        return guard.excludes_repetition

    def _result(self, reply: dict[str, Any], call: Call, moment: Moment) -> Any:
        del call
        return self._old_value(reply, moment)

    def _resolved_result(self, item: Item, call: Call) -> R_co:
        del item, call
        raise self._old_value_lost()


class Put(_PutSteps[D, M, M], Write[D, M], Stores[M]):
    """Create or replace an item; answers the entity as it is stored.

    Of a versioned type, version 0 creates, and any other replaces just the item that was read: `VersionConflict`
    otherwise. A replacement drops attributes that this class does not know; `update(item).to(changed)` keeps them.
    Costs a write unit for each KB of the larger of the old and the new item.
    """

    def __init__(self, scope: Scope[M], item: M) -> None:
        entity = scope.entity
        key = entity.key_of(item)
        self._begin("put", scope, key, entity.key_values(item))
        version = entity.read_version(item) if entity.version is not None else 0
        self.__dict__.update(_item=stored_item(entity, item, key), _read_version=version)

    def returning_old(self) -> PutReturning[D, M, M | None]:
        """Answer the entity that was replaced, None if there was none."""
        kind: type[PutReturning[D, M, M | None]] = PutReturning
        return self._become(kind)

    def _result(self, reply: dict[str, Any], call: Call, moment: Moment) -> M:
        del reply, moment
        return self._stored(call)

    def _unread_result(self, call: Call) -> M:
        return self._stored(call)

    def _resolved_result(self, item: Item, call: Call) -> M:
        del item
        return self._stored(call)

    def _known_item(self, call: Call, guard: Guard, moment: Moment) -> Item:
        del guard, moment
        item: Item = call.given["Item"]
        return item

    def _stored(self, call: Call) -> M:
        return self._scope.entity.decode(call.given["Item"], applied=True)
