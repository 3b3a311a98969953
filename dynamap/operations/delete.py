"""Delete: remove one item."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Generic, TypeVar

from typing_extensions import Self

from dynamap.markers import D, Write
from dynamap.operations.base import Moment, Scope
from dynamap.operations.guards import Guard, GuardKind
from dynamap.operations.settling import Terms
from dynamap.operations.versioned import VersionedSteps
from dynamap.plan import Call, Item, Plan

__all__ = ["Delete", "DeleteReturning"]

M = TypeVar("M")
R_co = TypeVar("R_co", covariant=True)


class _DeleteSteps(VersionedSteps[D, M, R_co], Generic[D, M, R_co]):
    def if_exists(self) -> Self:
        """An item that is not there is `ItemNotFound` instead of fine."""
        return self._copy(_existence=True)

    def _guard(self) -> Guard:
        guard = self._checked_version_guard()
        if guard is not None and guard.is_version:
            return guard
        return Guard(GuardKind.EXISTS if self._existence else GuardKind.NONE)

    def _request(self, moment: Moment, guard: Guard) -> Call:
        params: dict[str, Any] = {"TableName": self._scope.table_name, "Key": self._key}
        params |= self._conditioned(guard, moment)
        return Call("DeleteItem", params)

    def _repeatable(self, guard: Guard) -> bool:
        ignored = self._version_guard is not None and self._version_guard.kind is GuardKind.ANY_VERSION
        return guard.is_version or not (self._conditions or ignored)

    def _stores_write_id(self, guard: Guard) -> bool:
        del guard
        return False

    def _terms(self, guard: Guard, moment: Moment) -> Terms:
        return replace(super()._terms(guard, moment), deletes=True)

    def _resolved_result(self, item: Item, call: Call) -> R_co:
        # a delete leaves nothing that could prove it
        del item, call
        raise self._old_value_lost()


class DeleteReturning(_DeleteSteps[D, M, R_co]):
    """A delete that answers what was deleted; no part of a transaction."""

    _answers_values = True

    def _request(self, moment: Moment, guard: Guard) -> Call:
        call = super()._request(moment, guard)
        return Call(call.operation, {**call.params, "ReturnValues": "ALL_OLD"})

    def _repeatable(self, guard: Guard) -> bool:
        return guard.is_version

    def _result(self, reply: dict[str, Any], call: Call, moment: Moment) -> Any:
        del call
        return self._old_value(reply, moment)


class Delete(_DeleteSteps[D, M, None], Write[D, M]):
    """Delete one item; of a versioned type only in the version that was read.

    Costs a write unit for each KB of the item, one if there is none.
    """

    def __init__(self, scope: Scope[M], key: Item, values: dict[str, Any], guard: Guard | None) -> None:
        self._begin("delete", scope, key, values)
        self.__dict__.update(_version_guard=guard)

    def returning_old(self) -> DeleteReturning[D, M, M | None]:
        """Answer the entity that was deleted, None if there was none."""
        kind: type[DeleteReturning[D, M, M | None]] = DeleteReturning
        return self._become(kind)

    def _result(self, reply: dict[str, Any], call: Call, moment: Moment) -> None:
        del reply, call, moment

    def _unread_result(self, call: Call) -> None:
        del call

    def _result_of_transaction(self, guard: Guard, moment: Moment, call: Call) -> Plan[None]:
        del guard, moment, call
        yield from ()
