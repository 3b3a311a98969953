"""What speaks of one item under conditions: writes, and the checks of a transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typing_extensions import Self

from dynamap.errors import RequestError
from dynamap.expressions import Compiler, Condition
from dynamap.operations.base import Builder, Runtime, Scope, named
from dynamap.operations.guards import Guard
from dynamap.operations.index_keys import reads_as
from dynamap.plan import Item

__all__ = ["Conditioned"]


class Conditioned(Builder):
    """A builder about one item; *existence* is what the caller asked of it, None for nothing."""

    _runtime: Runtime
    _scope: Scope[Any]
    _key: Item
    _values: dict[str, Any]
    _what: str
    _conditions: tuple[Condition, ...]
    _existence: bool | None

    def _begin(self, verb: str, scope: Scope[Any], key: Item, values: dict[str, Any]) -> None:
        self.__dict__.update(
            _runtime=scope.runtime,
            _scope=scope,
            _key=key,
            _values=values,
            _what=named(verb, scope, values),
            _conditions=(),
            _existence=None,
        )

    def if_(self, condition: Condition) -> Self:
        """Write only if this holds of the stored item; several must all hold. Failing, `ConditionFailed`."""
        given: Any = condition
        if not isinstance(given, Condition):
            msg = f"{self._what}: if_() takes a Condition, such as F(X.count).ge(1); got {type(given).__name__}"
            raise RequestError(msg)
        return self._copy(_conditions=(*self._conditions, condition))

    def _compiler(self) -> Compiler:
        return Compiler(self._scope.entity)

    def _assumptions(self) -> Mapping[str, Any]:
        """Fields that must read as these values, beside the guard and the caller's conditions."""
        return {}

    def _is_conditioned(self) -> bool:
        """Whether anything but the guard can fail."""
        return bool(self._conditions or self._assumptions())

    def _condition_params(self, compiler: Compiler, guard: Guard) -> dict[str, Any]:
        entity = self._scope.entity
        assumed = [reads_as(compiler, entity, name, value) for name, value in self._assumptions().items()]
        text = compiler.condition([*guard.texts(compiler, entity), *assumed, *self._conditions])
        if text is None:
            return {}
        return {"ConditionExpression": text, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
