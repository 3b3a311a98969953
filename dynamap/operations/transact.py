"""Transactions: several writes, all or nothing; the operations are their own markers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar

from typing_extensions import Self

from dynamap.errors import DynamapError, Failures, Reason, RequestError, TransactionCanceled
from dynamap.markers import D, Write
from dynamap.operations.actions import LONGEST_TOKEN, Action, check_actions, checked_write, transaction_of
from dynamap.operations.base import Applied, Attempt, Moment, Refused, Runtime, Stores
from dynamap.operations.cancellation import UNREAD, canceled_error, failures_of, only_callers_conditions
from dynamap.operations.capabilities import Capability, needing
from dynamap.operations.guards import Guard
from dynamap.operations.sending import MOST_ATTEMPTS, pause, read_item, transact
from dynamap.outcomes import reason_of
from dynamap.plan import Call, Plan

__all__ = ["Transacted", "Transaction"]

M = TypeVar("M")

_PASSING = (Reason.CONFLICT, Reason.CAPACITY_EXCEEDED, Reason.THROTTLED)


class Transacted:
    """What a transaction stored; each entity is made when it is first asked for."""

    def __init__(self, operations: Sequence[object], stored: Sequence[Callable[[], Any]]) -> None:
        self._operations = operations
        self._make = stored
        self._made: dict[int, Any] = {}

    def __repr__(self) -> str:
        operations: Sequence[Any] = self._operations
        return f"Transacted({', '.join(operation._what for operation in operations)})"  # noqa: SLF001

    def stored(self, operation: Stores[M], /) -> M:
        """The entity that this put or rewrite stored.

        LookupError for an operation of another transaction, and for a rewrite that was not guarded by the version that
        was read: what other writers may have stored in its other fields, a transaction does not answer.
        """
        for position, one in enumerate(self._operations):
            if one is not operation:
                continue
            if position not in self._made:
                self._made[position] = self._make[position]()
            found: M | None = self._made[position]
            if found is not None:
                return found
            msg = "what this operation stored is not known: a transaction answers no values; read the item"
            raise LookupError(msg)
        msg = "this operation object was not part of the transaction (every builder step makes a new one)"
        raise LookupError(msg)


@dataclass(frozen=True)
class _Sending:
    """What every attempt has in common, and since when the service has known the token."""

    moment: Moment
    token: str
    started: float


class Transaction(Attempt[D, Transacted, Failures]):
    """Several writes, all applied or none.

    Costs twice what the writes cost alone. Where an answer was lost it is sent again with the same token, which the
    service recognises for ten minutes: it is applied once.
    """

    _operations: tuple[Any, ...]
    _token: str | None
    _first: list[_Sending]

    def __init__(self, runtime: Runtime, operations: Sequence[Write[D, object]]) -> None:
        self.__dict__.update(
            _runtime=runtime,
            _operations=tuple(checked_write(position, each, runtime) for position, each in enumerate(operations, 1)),
            _token=None,
            _first=[],
        )
        if not operations:
            msg = "transact() takes at least one operation"
            raise RequestError(msg)

    def token(self, token: str, /) -> Self:
        """Name the transaction: the same operation object sent again within ten minutes is applied once.

        Up to 36 characters. Another request under the same token is a ServiceError with the code
        IdempotentParameterMismatchException.
        """
        given: Any = token
        if not isinstance(given, str) or not 1 <= len(given) <= LONGEST_TOKEN:
            found = len(given) if isinstance(given, str) else type(given).__name__
            msg = f"a transaction's token has 1 to {LONGEST_TOKEN} characters; got {found}"
            raise RequestError(msg)
        return self._copy(_token=token, _first=[])

    # ---- compiling

    def _next(self) -> _Sending:
        """The next sending; with a token of the caller's it is like the first, so that the bytes stay the same."""
        if self._first:
            return self._first[0]
        started = self._runtime.elapsed()
        if self._token is not None:
            return _Sending(Moment(self._runtime.clock(), self._token), self._token, started)
        moment = self._runtime.moment()
        return _Sending(moment, moment.write_id[:LONGEST_TOKEN], started)

    def _actions(self, moment: Moment, forms: Mapping[int, tuple[Any, Guard]] = MappingProxyType({})) -> list[Action]:
        # the ids of a transaction come from its token, so that a repetition has the same bytes
        actions: list[Action] = []
        for position, operation in enumerate(self._operations):
            form, guard = forms.get(position, (operation, None))
            actions.append(form._action(Moment(moment.now, f"{moment.write_id}.{position}"), guard))  # noqa: SLF001
        check_actions(actions)
        return actions

    def _call(self, moment: Moment) -> Call:
        del moment
        sending = self._next()
        return transaction_of(self._actions(sending.moment), sending.token)

    # ---- the plan

    def _plan(self) -> Plan[Transacted]:
        result = yield from self._send()
        if isinstance(result, TransactionCanceled):
            raise result
        return result

    def _try_plan(self) -> Plan[Applied[Transacted] | Refused[Failures]]:
        result = yield from self._send()
        if isinstance(result, Transacted):
            return Applied(result)
        if only_callers_conditions(result):
            return Refused(failures_of(result))
        raise result

    def _send(self) -> Plan[Transacted | TransactionCanceled]:
        if self._token is not None and not self._first:
            self._first.append(self._next())
        forms: dict[int, tuple[Any, Guard]] = {}
        what = f"transaction of {len(self._operations)}"
        for turn in itertools.count(1):
            sending = self._next()
            actions = self._actions(sending.moment, forms)
            call = transaction_of(actions, sending.token)
            sent = transact(self._runtime, call, what, sending.started)
            canceled = yield from needing(Capability.TRANSACTIONS, self._runtime, what, sent)
            if canceled is None:
                return Transacted(self._operations, [action.stored for action in actions])
            canceled.reasons = yield from self._with_items(actions, canceled.reasons, what)
            others = self._other_forms(actions, canceled.reasons, forms)
            if not others or turn == MOST_ATTEMPTS:
                return canceled_error(what, self._operations, actions, canceled)
            forms |= others
            yield pause(self._runtime, turn)
        raise AssertionError  # pragma: no cover - the loop ends only from inside

    def _other_forms(
        self, actions: Sequence[Action], reasons: Sequence[Mapping[str, Any]], forms: Mapping[int, tuple[Any, Guard]]
    ) -> dict[int, tuple[Any, Guard]]:
        """Those operations, by position, that another transaction would send otherwise for what cancelled this one."""
        found: dict[int, tuple[Any, Guard]] = {}
        # a token of the caller's stands for one request only, and after a mixed result nobody is to blame
        if self._token is not None or any(reason_of(reason.get("Code")) in _PASSING for reason in reasons):
            return found
        for position, (action, reason) in enumerate(zip(actions, reasons, strict=False)):
            operation: Any = forms[position][0] if position in forms else self._operations[position]
            expired = action.has_expired(reason.get("Item") or {})
            form = operation._other_form(action.terms.guard, reason, expired=expired)  # noqa: SLF001
            if form is not None and UNREAD not in reason:
                found[position] = form
        return found

    def _with_items(
        self, actions: Sequence[Action], reasons: Sequence[Mapping[str, Any]], what: str
    ) -> Plan[list[Mapping[str, Any]]]:
        """The reasons with the items that stand there: some servers send none, as if nothing stood there."""
        complete: list[Mapping[str, Any]] = []
        for action, reason in zip(actions, reasons, strict=False):
            if reason_of(reason.get("Code")) is Reason.CONDITION_FAILED and not reason.get("Item"):
                try:
                    item = yield from read_item(self._runtime, action.params["TableName"], action.key, what)
                except DynamapError as error:
                    # that it was cancelled is known all the same
                    complete.append({**reason, UNREAD: error})
                else:
                    complete.append({**reason, "Item": item or {}})
            else:
                complete.append(reason)
        return complete
