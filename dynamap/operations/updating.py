"""What every UpdateItem does: its request, the version that it raises, and the way from its answer to its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from typing_extensions import Self

from dynamap.codec import Wire
from dynamap.errors import ItemDecodeError, Reason, ServiceError, VersionConflict
from dynamap.expressions import Action, Assignment, Outline, Unusual, UpdateCompiler
from dynamap.markers import D
from dynamap.operations.base import Moment
from dynamap.operations.guards import Guard, GuardKind
from dynamap.operations.parents import lacks_parent, missing
from dynamap.operations.replies import attributes_decoder
from dynamap.operations.sending import MOST_ATTEMPTS, Answer, others_quicker, pause
from dynamap.operations.settling import Settled, is_zero, unexpired, with_item
from dynamap.operations.versioned import VersionedSteps
from dynamap.outcomes import reason_of
from dynamap.plan import Call, CallFailed, Item, Plan

__all__ = ["Updating"]

M = TypeVar("M")
R_co = TypeVar("R_co", covariant=True)


class Updating(VersionedSteps[D, M, R_co], Generic[D, M, R_co]):
    """What keyed updates, upserts and rewrites share."""

    _return_values = "ALL_NEW"

    def _changes(self, compiler: UpdateCompiler, guard: Guard) -> tuple[Sequence[Action], list[Assignment]]:
        """What is changed, apart from version and write id."""
        raise NotImplementedError

    def _check_item_size(self, guard: Guard, params: dict[str, Any]) -> None:
        """Raise ItemTooLarge for an item that is known to become too large."""
        raise NotImplementedError

    def _compiler(self) -> UpdateCompiler:
        return UpdateCompiler(self._scope.entity)

    def _guard(self) -> Guard:
        return self._checked_version_guard() or Guard(GuardKind.EXISTS)

    def _request(self, moment: Moment, guard: Guard) -> Call:
        outline = Outline(self._scope.entity, "update")
        try:
            self._outline(outline, moment, guard)
            expressions, complete = outline.params(), True
        except Exception:  # noqa: BLE001 - whatever it is, the compiler says it
            expressions, complete = None, False
        if expressions is None:
            expressions = self._compiled(moment, guard, outline if complete else None)
        params = {"TableName": self._scope.table_name, "Key": self._key, **expressions}
        self._check_item_size(guard, params)
        params["ReturnValues"] = self._return_values
        whole = self._return_values == "ALL_NEW" and self.__dict__.get("_fields") is None
        return Call("UpdateItem", params, attributes_decoder(self._scope.entity) if whole else None)

    def _compiled(self, moment: Moment, guard: Guard, outline: Outline | None) -> dict[str, Any]:
        """The expressions, names and values of the request; kept for requests with the same *outline*."""
        compiler = self._compiler()
        actions, assigned = self._changes(compiler, guard)
        assigned += self._bookkeeping(compiler, moment, guard)
        text = compiler.update(actions, assigned)
        expressions: dict[str, Any] = {} if text is None else {"UpdateExpression": text}
        expressions |= self._condition_params(compiler, guard, self._expiry(moment))
        if outline is not None:
            outline.keep(expressions, compiler)
        return {**expressions, **compiler.placeholders()}

    def _outline(self, outline: Outline, moment: Moment, guard: Guard) -> None:
        """Take the request apart. Raises Unusual where it has no outline, or what is wrong with it."""
        self._outline_changes(outline, guard, self._bookkeeping_wires(moment, guard))
        self._outline_conditions(outline, guard, self._expiry(moment))

    def _outline_changes(self, outline: Outline, guard: Guard, bookkeeping: Sequence[Wire]) -> None:
        """Add to an outline what is changed, in the order in which it is compiled. Raises Unusual."""
        del outline, guard, bookkeeping
        raise Unusual

    def _bookkeeping_wires(self, moment: Moment, guard: Guard) -> list[Wire]:
        """The values that `_bookkeeping` names, in their order."""
        entity = self._scope.entity
        if entity.version_attribute is None:
            return []
        number = guard.next_version(entity, moment.start)
        numbers: list[int] = [number - 1, 1] if guard.ignores_version else [number]
        return [*({"N": str(each)} for each in numbers), *self._write_id(moment, guard).values()]

    def _bookkeeping(self, compiler: UpdateCompiler, moment: Moment, guard: Guard) -> list[Assignment]:
        entity = self._scope.entity
        if entity.version_attribute is None:
            return []
        number = guard.next_version(entity, moment.start)
        if guard.ignores_version:
            # never lowered: add one to what is stored, or start afresh where nothing is
            start, one = compiler.value({"N": str(number - 1)}), compiler.value({"N": "1"})
            text = f"if_not_exists({compiler.name(entity.version_attribute)}, {start}) + {one}"
        else:
            text = compiler.value({"N": str(number)})
        own: list[Assignment] = [((entity.version_attribute,), text)]
        return own + [((name,), compiler.value(wire)) for name, wire in self._write_id(moment, guard).items()]

    def _stores_write_id(self, guard: Guard) -> bool:
        return guard.kind is not GuardKind.EXISTS

    # ---- the plan

    def _send(self, lost: CallFailed | None = None) -> Plan[tuple[R_co] | Settled]:
        guard = self._guard()
        if not guard.ignores_version:
            return (yield from self._send_under(guard, self._runtime.moment(), lost))
        entity = self._scope.entity
        for turn in range(MOST_ATTEMPTS):
            if turn:
                yield pause(self._runtime, turn)
            moment = self._runtime.moment()
            call = self._request(moment, guard)
            answer = yield from self._attempt(guard, moment, call, lost)
            lost = answer.lost
            if answer.condition_failed:
                answer = yield from with_item(self._scope, self._key, self._what, answer)
            if answer.unread is not None:
                # without the item it is not known what else it takes
                raise answer.unread
            expired = answer.seen is not None and unexpired(entity, answer.seen, self._expiry(moment)) is None
            if not expired and self._changed_meanwhile(guard, answer):
                continue
            if expired or not self._stored_as_zero(answer.seen):
                return (yield from self._conclude(guard, moment, call, answer))
            # stored with version 0, which one more must not turn into 1: it starts afresh as unversioned items do
            result = yield from self._send_under(Guard(GuardKind.LEGACY, -1), self._runtime.moment(), lost)
            if not (isinstance(result, Settled) and isinstance(result.error, VersionConflict)):
                return result
            # another writer was quicker: the item has a version now, or is gone
        raise others_quicker(self._what, lost)

    def _attempt(self, guard: Guard, moment: Moment, call: Call, lost: CallFailed | None = None) -> Plan[Answer]:
        try:
            return (yield from super()._attempt(guard, moment, call, lost))
        except ServiceError as error:
            parents = self._uncertain_parents()
            if not parents or not lacks_parent(error.code, error.message):
                raise
            msg = f"{self._what}: {missing(parents)}"
            raise ServiceError(msg, code=error.code, message=error.message) from error.__cause__

    def _other_form(self, guard: Guard, reason: Mapping[str, Any], *, expired: bool) -> tuple[Self, Guard] | None:
        own = self._guard()
        if not own.ignores_version or reason_of(reason.get("Code")) is not Reason.CONDITION_FAILED:
            return None
        zero = not expired and self._stored_as_zero(reason.get("Item") or None)
        if guard.ignores_version:
            return (self, Guard(GuardKind.LEGACY, -1)) if zero else None
        # another writer was quicker: the item has a version now, or is gone
        return None if zero else (self, own)

    def _changed_meanwhile(self, guard: Guard, answer: Answer) -> bool:
        """Whether the item that was asked for after a failed condition is another than the one that failed it."""
        if not answer.asked or self._is_conditioned():
            return False
        if answer.seen is None:
            return guard.kind is GuardKind.ANYTHING
        return not self._stored_as_zero(answer.seen)

    def _stored_as_zero(self, seen: Item | None) -> bool:
        try:
            return seen is not None and is_zero(self._scope.entity, seen)
        except ItemDecodeError:
            # what it is refused for is said first
            return False

    def _result(self, reply: dict[str, Any], call: Call, moment: Moment) -> Any:
        del call, moment
        return self._answer(reply.get("Attributes") or {})

    def _resolved_result(self, item: Item, call: Call) -> Any:
        del call
        return self._answer(item)

    def _answer(self, item: Item) -> Any:
        """What is answered of the item as it is stored."""
        return self._scope.entity.decode(item, applied=True)
