"""Query: items of one partition of a table or index, in the order of the sort key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from typing_extensions import Self

from dynamap.errors import RequestError
from dynamap.expressions import Compiler, KeyCondition
from dynamap.markers import D
from dynamap.operations.base import Moment, Scope, named
from dynamap.operations.key_conditions import Bound, Selection, bound_of, select
from dynamap.operations.pages import Source
from dynamap.operations.reading import Reading
from dynamap.operations.targets import Target

__all__ = ["Query"]

M = TypeVar("M")


class Query(Reading[D, M]):
    """Read the items of one partition that have these leading key fields, in the order of the sort key.

    Costs a read unit for each 4 KB of what the keys select, items of other types in between and what a filter leaves
    out included; half of that if read eventually, as unversioned types and global indexes are.
    """

    _bound: Bound | None
    _selection: Selection
    _reversed: bool

    def __init__(self, scope: Scope[M], target: Target, values: Mapping[str, object]) -> None:
        fields = tuple(name for part in target.parts for name in part.fields)
        filled = scope.filled(values, fields)
        self._begin(scope, target, filled, named("query", scope, filled))
        self.__dict__.update(_bound=None, _selection=select(target, filled), _reversed=False)

    def range(self, condition: KeyCondition, /) -> Self:
        """Only what has the next sort key field in this range, as `range(F(Order.at).between(a, b))`.

        It is the first field that was not given to `query()`. RequestError for another field, for a second range, and
        for a field in whose order keys do not sort; KeyValueError for a value that a key cannot hold.
        """
        if self._bound is not None:
            msg = (
                f"{self._what}: a query takes one range, and has one of {self._bound.field}: use between() for two "
                f"ends, or filter()"
            )
            raise RequestError(msg)
        bound = bound_of(self._target, self._values, condition)
        return self._copy(_bound=bound, _selection=select(self._target, self._values, bound))

    def reverse(self) -> Self:
        """From the last key to the first; twice is forward again."""
        return self._copy(_reversed=not self._reversed)

    def _source(self, moment: Moment, *, counting: bool = False) -> Source | None:
        if self._selection.nothing:
            return None
        compiler = Compiler(self._scope.entity)
        params: dict[str, Any] = {"TableName": self._scope.table_name}
        if self._target.index is not None:
            params["IndexName"] = self._target.index.name
        params["KeyConditionExpression"] = self._selection.text(compiler)
        if self._reversed:
            params["ScanIndexForward"] = False
        return self._completed("Query", params, compiler, moment, counting=counting)
