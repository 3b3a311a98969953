"""What every write of one item does: its steps, and the way from its answer to its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from typing_extensions import Self

from dynamap.errors import DynamapError, OutcomeUnknown, Reason, RequestError, ServiceError, TransactionConflict
from dynamap.markers import D
from dynamap.operations.actions import LONGEST_TOKEN, Action, transaction_of
from dynamap.operations.base import Applied, Attempt, Moment, Refused, Scope
from dynamap.operations.capabilities import Capability, needing
from dynamap.operations.conditioned import Conditioned
from dynamap.operations.guards import Guard, GuardKind
from dynamap.operations.replication import check_transactions_hold
from dynamap.operations.sending import Answer, Repeat, read_item, transact, write
from dynamap.operations.settling import Settled, Terms, chained, settle, unexpired
from dynamap.outcomes import only_contention, reason_of
from dynamap.plan import Call, CallFailed, Item, Plan

__all__ = ["WriteSteps"]

M = TypeVar("M")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class WriteSteps(Conditioned, Attempt[D, R_co, "M | None"], Generic[D, M, R_co]):
    """A write of one item."""

    _scope: Scope[M]
    _repeat: str | None = None
    _answers_values = False

    # ---- steps

    def exactly_once(self) -> Self:
        """Send it as a transaction of one, which recognises its own repetition; costs twice as much."""
        return self._copy(_repeat="exactly_once")

    def at_least_once(self) -> Self:
        """Repeat it where an answer was lost, though it may then be applied more than once."""
        return self._copy(_repeat="at_least_once")

    def at_most_once(self) -> Self:
        """Never repeat it where an answer was lost: that is `OutcomeUnknown` then."""
        return self._copy(_repeat="at_most_once")

    # ---- what the kinds of writes say

    def _guard(self) -> Guard:
        raise NotImplementedError

    def _request(self, moment: Moment, guard: Guard) -> Call:
        raise NotImplementedError

    def _repeatable(self, guard: Guard) -> bool:
        """Whether the write may follow its own ambiguous attempt unless the caller says otherwise."""
        raise NotImplementedError

    def _stores_write_id(self, guard: Guard) -> bool:
        raise NotImplementedError

    def _result(self, reply: dict[str, Any], call: Call, moment: Moment) -> R_co:
        """The result of a reply."""
        raise NotImplementedError

    def _unread_result(self, call: Call) -> R_co:
        """The result where it was applied and its reply was lost. Raises OutcomeUnknown if it cannot be known."""
        del call
        msg = f"{self._what}: it was applied, but the answer with the value was lost: read the item"
        raise OutcomeUnknown(msg, applied=True)

    def _resolved_result(self, item: Item, call: Call) -> R_co:
        """The result where *item* proves that an earlier attempt was applied."""
        raise NotImplementedError

    # ---- compiling

    def _write_id(self, moment: Moment, guard: Guard) -> dict[str, dict[str, Any]]:
        attribute = self._scope.entity.layout.write_id
        if attribute is None or not self._stores_write_id(guard):
            return {}
        return {attribute: {"S": moment.write_id}}

    # ---- the plan

    def _call(self, moment: Moment) -> Call:
        if self._repeat == "exactly_once":
            return self._transaction(moment, self._guard())
        return self._request(moment, self._guard())

    def _plan(self) -> Plan[R_co]:
        result = yield from self._send()
        if isinstance(result, Settled):
            raise _error_of(result)
        return result[0]

    def _try_plan(self) -> Plan[Applied[R_co] | Refused[M | None]]:
        result = yield from self._send()
        if not isinstance(result, Settled):
            return Applied(result[0])
        if not result.callers:
            raise _error_of(result)
        seen: Any = result.seen
        return Refused(seen)

    def _send(self, lost: CallFailed | None = None) -> Plan[tuple[R_co] | Settled]:
        """The result, or the refusal; *lost* is an attempt before that may have been applied."""
        return self._send_under(self._guard(), self._runtime.moment(), lost)

    def _send_under(self, guard: Guard, moment: Moment, lost: CallFailed | None = None) -> Plan[tuple[R_co] | Settled]:
        call = self._request(moment, guard)
        answer = yield from self._attempt(guard, moment, call, lost)
        if answer.reply is not None:
            return (self._result(answer.reply, answer.calls[-1] if answer.calls else call, moment),)
        return (yield from self._conclude(guard, moment, call, answer))

    def _attempt(self, guard: Guard, moment: Moment, call: Call, lost: CallFailed | None = None) -> Plan[Answer]:
        if self._repeat == "exactly_once":
            return self._attempt_once(guard, moment)
        repeats, again = self._repeats(guard), self._restarts(guard, moment)
        return write(self._runtime, call, self._named, repeats, lost, again)

    def _attempt_once(self, guard: Guard, moment: Moment) -> Plan[Answer]:
        request = self._transaction(moment, guard)
        sent = transact(self._runtime, request, self._what, self._runtime.elapsed())
        canceled = yield from needing(Capability.EXACTLY_ONCE, self._runtime, self._what, sent)
        if canceled is None:
            return Answer(None)
        reason: Mapping[str, Any] = canceled.reasons[0] if canceled.reasons else {}
        if reason_of(reason.get("Code")) is Reason.CONDITION_FAILED:
            return Answer(None, condition_failed=True, seen=reason.get("Item") or None, cause=canceled)
        code, message = reason.get("Code") or canceled.code, reason.get("Message") or canceled.message
        msg = f"{self._what}: {code}: {message}"
        error = TransactionConflict(msg) if only_contention([reason]) else ServiceError(msg, code=code, message=message)
        raise error from canceled.origin

    def _transaction(self, moment: Moment, guard: Guard) -> Call:
        if self._answers_values:
            msg = (
                f"{self._what}: exactly_once() sends a transaction, which answers no values: leave out returning() and "
                f"returning_old(), or read the item afterwards"
            )
            raise RequestError(msg)
        check_transactions_hold(self._scope.entity, self._what)
        action = self._action(moment, guard)
        return transaction_of([action], moment.write_id[:LONGEST_TOKEN])

    def _repeats(self, guard: Guard) -> Repeat:
        if self._repeat is not None:
            return Repeat.SAFELY if self._repeat == "at_least_once" else Repeat.NEVER
        return Repeat.SAFELY if self._repeatable(guard) else Repeat.NEVER

    def _restarts(self, guard: Guard, moment: Moment) -> Callable[[], Call] | None:
        """What makes the request after a lost answer; None where it is the same, as under a version that was read."""
        if self._scope.entity.version is None or not guard.starts_afresh:
            return None

        def again() -> Call:
            nonlocal moment
            moment = moment.restarted(self._runtime.clock())
            return self._request(moment, guard)

        return again

    def _conclude(self, guard: Guard, moment: Moment, call: Call, answer: Answer) -> Plan[tuple[R_co] | Settled]:
        call = answer.calls[-1] if answer.calls else call
        if answer.reply is not None:
            return (self._result(answer.reply, call, moment),)
        if not answer.condition_failed:
            if self._repeat == "exactly_once":
                return ((yield from self._result_of_transaction(guard, moment, call)),)
            with chained(answer):
                return (self._unread_result(call),)
        settled = yield from settle(self._scope, self._terms(guard, moment), answer)
        if settled.item is not None:
            with chained(answer):
                return (self._resolved_result(settled.item, self._applied_call(settled.item, answer)),)
        return settled

    def _applied_call(self, item: Item, answer: Answer) -> Call:
        """The request that stored an item which is known to be this write's."""
        attribute = self._scope.entity.version_attribute or ""
        stored = (call for call in answer.calls if call.given.get("Item", {}).get(attribute) == item.get(attribute))
        # where another writer gave it another version, whatever is answered will be in conflict with that
        return next(stored, answer.calls[-1])

    # ---- as a part of a transaction

    def _action(self, moment: Moment, guard: Guard | None = None) -> Action:
        """The same request as one action; a transaction answers no values."""
        guard = guard or self._guard()
        call = self._request(moment, guard)
        params = call.given
        if "ReturnValues" in params:
            params = {name: value for name, value in params.items() if name != "ReturnValues"}
        kind = call.operation.removesuffix("Item")
        if kind == "Update" and "UpdateExpression" not in params:
            # nothing to change: only the condition counts, and an update without changes is refused
            kind = "ConditionCheck"
        return Action(
            kind,
            params,
            self._scope.entity,
            self._key,
            self._named,
            lambda: self._terms(guard, moment),
            self._known_result(call, guard, moment),
            self._uncertain_parents,
        )

    def _uncertain_parents(self) -> list[str]:
        """The parts that must be there already for what is changed inside of them."""
        return []

    def _result_of_transaction(self, guard: Guard, moment: Moment, call: Call) -> Plan[R_co]:
        """The result of a transaction of one: what was stored if that is known, else the item as it stands now."""
        known = self._known_item(call, guard, moment)
        if known is not None:
            stored: Any = self._scope.entity.decode(known, applied=True)
            return stored  # type: ignore[no-any-return]
        try:
            item = yield from read_item(self._runtime, self._scope.table_name, self._key, self._what)
        except DynamapError as error:
            # that the read failed must not look as if the write had
            msg = f"{self._what}: it was applied, but the item could not be read to answer it: read it again"
            raise OutcomeUnknown(msg, applied=True) from error
        return self._unread_result(call) if item is None else self._resolved_result(item, call)

    def _known_result(self, call: Call, guard: Guard, moment: Moment) -> Callable[[], Any]:
        """What makes the entity that the write stores; it answers None where that is not known."""
        # the item is taken now, since what it was made of may be changed later
        known = self._known_item(call, guard, moment)
        return lambda: None if known is None else self._scope.entity.decode(known, applied=True)

    def _known_item(self, call: Call, guard: Guard, moment: Moment) -> Item | None:
        """The item that the write stores; None where that is not known before it is sent."""
        del call, guard, moment
        return None

    def _speaks_of_version(self, guard: Guard) -> bool:
        """Whether its failure is a VersionConflict: version 0 means that nothing is stored."""
        return guard.is_version or (guard.kind is GuardKind.ABSENT and self._existence is None)

    def _terms(self, guard: Guard, moment: Moment) -> Terms:
        return Terms(
            what=self._named,
            key=self._key,
            values=self._values,
            guard=guard,
            existence=self._existence,
            write_id=moment.write_id if self._write_id(moment, guard) else None,
            # of versions nothing is permitted: a conflict that may be the write's own would be run again
            permitted=self._repeat == "at_least_once" and not self._speaks_of_version(guard),
            conditioned=self._is_conditioned(),
            now=self._expiry(moment),
        )

    def _old_value(self, reply: dict[str, Any], moment: Moment) -> Any:
        """The entity that a reply has as the old one; None where there was none."""
        old = unexpired(self._scope.entity, reply.get("Attributes") or None, self._expiry(moment))
        return None if old is None else self._scope.entity.decode(old, applied=True)

    def _old_value_lost(self) -> OutcomeUnknown:
        msg = f"{self._what}: it was applied, but the answer with the old value was lost"
        return OutcomeUnknown(msg, applied=True)


def _error_of(settled: Settled) -> DynamapError:
    assert settled.error is not None  # noqa: S101 - a refusal without an item is an error
    return settled.error
