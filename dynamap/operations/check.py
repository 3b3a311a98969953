"""Check: a condition on an item that a transaction does not change."""

from __future__ import annotations

from typing import Any

from typing_extensions import Self

from dynamap.errors import RequestError
from dynamap.expressions import Condition
from dynamap.markers import D, M_co, Write
from dynamap.operations.actions import Action
from dynamap.operations.base import Moment, Scope
from dynamap.operations.conditioned import Conditioned
from dynamap.operations.explain import explain
from dynamap.operations.guards import Guard, GuardKind
from dynamap.operations.settling import Terms
from dynamap.plan import Call

__all__ = ["Check"]


class Check(Conditioned, Write[D, M_co]):
    """A condition that must hold of one item for a transaction to be applied; only a transaction sends it.

    It says at least one of `exists`, `not_exists` and `if_`. Costs two write units for each KB of the item.
    """

    def __init__(self, scope: Scope[Any], values: dict[str, Any]) -> None:
        self._begin("check", scope, scope.entity.key(values), values)

    def exists(self) -> Self:
        """The item must be there."""
        return self._demand(existence=True)

    def not_exists(self) -> Self:
        """Nothing may be stored under the key."""
        return self._demand(existence=False)

    def if_(self, condition: Condition) -> Self:
        """The condition must hold of the stored item; several must all hold."""
        return super().if_(condition)

    def params(self) -> dict[str, Any]:
        """The ConditionCheck of the transaction as the dict that boto3's client would take; nothing is sent.

        Raises RequestError for a check that checks nothing.
        """
        return self._request(self._moment()).params

    def explain(self) -> str:
        """The check for a person: names and values put back, limits used."""
        return explain(self._request(self._moment()))

    def _moment(self) -> Moment:
        return Moment(self._runtime.clock(), "")

    def _demand(self, *, existence: bool) -> Self:
        if self._existence is (not existence):
            msg = f"{self._what}: exists() and not_exists() contradict each other: leave one out"
            raise RequestError(msg)
        return self._copy(_existence=existence)

    def _guard(self) -> Guard:
        if self._existence is None:
            return Guard(GuardKind.NONE)
        return Guard(GuardKind.EXISTS if self._existence else GuardKind.ABSENT)

    def _request(self, moment: Moment) -> Call:
        condition = self._conditioned(self._guard(), moment)
        if not condition:
            msg = f"{self._what}: it checks nothing: add exists(), not_exists() or if_(condition)"
            raise RequestError(msg)
        return Call("ConditionCheck", {"TableName": self._scope.table_name, "Key": self._key, **condition})

    def _action(self, moment: Moment, guard: Guard | None = None) -> Action:
        """The check as one action of a transaction; it has no other guard than its own."""
        del guard
        return Action(
            "ConditionCheck",
            self._request(moment).params,
            self._scope.entity,
            self._key,
            self._named,
            lambda: self._terms(moment),
        )

    def _terms(self, moment: Moment) -> Terms:
        return Terms(
            self._named,
            self._key,
            self._values,
            self._guard(),
            existence=self._existence,
            conditioned=bool(self._conditions),
            now=self._expiry(moment),
        )
