"""What speaks of one item under conditions: writes, and the checks of a transaction."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from typing_extensions import Self

from dynamap.errors import RequestError
from dynamap.expressions import Compiler, Condition, Outline, Unusual
from dynamap.expressions.evaluate import evaluate
from dynamap.operations.base import Builder, Moment, Named, Runtime, Scope
from dynamap.operations.guards import Guard, GuardKind, expired_text
from dynamap.operations.index_keys import absent_reads_as, reads_as
from dynamap.operations.replication import check_condition_holds
from dynamap.plan import Item

__all__ = ["Conditioned"]


class Conditioned(Builder):
    """A builder about one item; *existence* is what the caller asked of it, None for nothing."""

    _runtime: Runtime
    _scope: Scope[Any]
    _key: Item
    _values: dict[str, Any]
    _named: Named
    _conditions: tuple[Condition, ...] = ()
    _existence: bool | None = None
    _expired_included: bool = False

    def _begin(self, verb: str, scope: Scope[Any], key: Item, values: dict[str, Any]) -> None:
        self.__dict__.update(
            _runtime=scope.runtime,
            _scope=scope,
            _key=key,
            _values=values,
            _named=Named(verb, scope, values),
        )

    @property
    def _what(self) -> str:
        """What it is called in messages."""
        return str(self._named)

    def if_(self, condition: Condition) -> Self:
        """Write only if this holds of the stored item; several must all hold. Failing, `ConditionFailed`."""
        given: Any = condition
        if not isinstance(given, Condition):
            msg = f"{self._what}: if_() takes a Condition, such as F(X.count).ge(1); got {type(given).__name__}"
            raise RequestError(msg)
        return self._copy(_conditions=(*self._conditions, condition))

    def include_expired(self) -> Self:
        """Take an item whose time is over as one that is there, until DynamoDB has deleted it."""
        return self._copy(_expired_included=True)

    def _expiry(self, moment: Moment) -> int | None:
        """The second up to which items have expired; None where that does not count."""
        return None if self._expired_included else self._scope.expiry(moment)

    def _compiler(self) -> Compiler:
        return Compiler(self._scope.entity)

    def _assumptions(self) -> Mapping[str, Any]:
        """Fields that must read as these values, beside the guard and the caller's conditions."""
        return {}

    def _stored_assumptions(self) -> Collection[str]:
        """Those of the assumptions that do not hold of a default that is read, but not stored."""
        return ()

    def _other_form(self, guard: Guard, reason: Mapping[str, Any], *, expired: bool) -> tuple[Self, Guard] | None:
        """The same write as it fits what a transaction was cancelled for, with its guard; None if it has no other form.

        *guard* is the one that it was sent under, *expired* says that the item of the reason counts as absent.
        """
        del guard, reason, expired
        return None

    def _is_conditioned(self) -> bool:
        """Whether anything but the guard can fail."""
        return bool(self._conditions or self._assumptions())

    def _asks_nothing(self, guard: Guard) -> bool:
        """Whether the request has no condition at all."""
        return guard.kind is GuardKind.NONE and self._existence is None and not self._is_conditioned()

    def _holds_of_nothing(self) -> bool:
        """Whether everything but the guard would hold if nothing were stored."""
        entity, stored = self._scope.entity, self._stored_assumptions()
        return all(
            absent_reads_as(entity, name, value, stored=name in stored) for name, value in self._assumptions().items()
        ) and all(evaluate(condition, entity, {}) for condition in self._conditions)

    def _conditioned(self, guard: Guard, moment: Moment) -> dict[str, Any]:
        """What a request says of its conditions, names and values included, if that is all that it says in text."""
        if self._asks_nothing(guard):
            return {}
        now = self._expiry(moment)
        outline = Outline(self._scope.entity, "condition")
        try:
            self._outline_conditions(outline, guard, now)
            known, complete = outline.params(), True
        except Exception:  # noqa: BLE001 - whatever it is, the compiler says it
            known, complete = None, False
        if known is not None:
            return known
        compiler = self._compiler()
        params = self._condition_params(compiler, guard, now)
        if complete:
            outline.keep(params, compiler)
        return {**params, **compiler.placeholders()}

    def _outline_conditions(self, outline: Outline, guard: Guard, now: int | None) -> None:
        """Add the guard and the conditions to an outline of a request that assumes nothing. Raises Unusual."""
        entity = self._scope.entity
        depends = now is not None and bool(self._conditions) and not guard.excludes_expired
        if depends or entity.layout.replicated is True:
            raise Unusual
        outline.guarded(guard.kind, guard.wires(now), expires=now is not None)
        outline.conditions(self._conditions)

    def _condition_params(self, compiler: Compiler, guard: Guard, now: int | None) -> dict[str, Any]:
        entity = self._scope.entity
        if self._conditions or self._existence is False:
            check_condition_holds(entity, self._named)
        texts: list[str | Condition] = [*guard.texts(compiler, entity, now)]
        stored = self._stored_assumptions()
        others: list[str | Condition] = [
            *(
                reads_as(compiler, entity, name, value, stored=name in stored)
                for name, value in self._assumptions().items()
            ),
            *self._conditions,
        ]
        if now is None or not others or guard.excludes_expired:
            texts += others
        elif self._holds_of_nothing():
            # an expired item must pass as nothing would
            texts.append(f"({compiler.condition(others)} OR {expired_text(compiler, entity, now)})")
        else:
            texts += [f"NOT {expired_text(compiler, entity, now)}", *others]
        text = compiler.condition(texts)
        if text is None:
            return {}
        return {"ConditionExpression": text, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
