"""Query: items of one partition of a table or index, in the order of the sort key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, TypeVar, overload

from typing_extensions import Self

from dynamap.codec import DecodeFailure
from dynamap.errors import RequestError
from dynamap.expressions import Compiler, Field, KeyCondition
from dynamap.markers import D
from dynamap.model.templates import KeyMismatch
from dynamap.operations.base import Moment, Scope, named
from dynamap.operations.batch_get import GetMany
from dynamap.operations.key_conditions import Bound, Selection, bound_of, select
from dynamap.operations.pages import Source
from dynamap.operations.projection import Projection
from dynamap.operations.reading import Reading
from dynamap.operations.targets import Target
from dynamap.plan import Item, Plan

__all__ = ["Query"]

M = TypeVar("M")
T1 = TypeVar("T1")
T2 = TypeVar("T2")
T3 = TypeVar("T3")
T4 = TypeVar("T4")
T5 = TypeVar("T5")
T6 = TypeVar("T6")


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

    def hydrate(self) -> Self:
        """Read each item from the table by its key, where the index does not hold whole items; needs an index.

        Answers them as they are in the table now, which may be newer than the index; those that are gone are left out.
        Costs a read of each item beside the query, strong for versioned types unless asked otherwise.
        """
        if self._target.index is None:
            msg = f"{self._what}: the items of a table are whole: leave out hydrate(), which is for indexes"
            raise RequestError(msg)
        if self._projection is not None:
            self._refuse_both()
        return self._copy(_hydrated=True)

    @overload
    def project(self, model: type[T1], /) -> Query[D, T1]: ...
    @overload
    def project(self, a: Field[T1], /) -> Query[D, T1]: ...
    @overload
    def project(self, a: Field[T1], b: Field[T2], /) -> Query[D, tuple[T1, T2]]: ...
    @overload
    def project(self, a: Field[T1], b: Field[T2], c: Field[T3], /) -> Query[D, tuple[T1, T2, T3]]: ...
    @overload
    def project(self, a: Field[T1], b: Field[T2], c: Field[T3], d: Field[T4], /) -> Query[D, tuple[T1, T2, T3, T4]]: ...
    @overload
    def project(
        self, a: Field[T1], b: Field[T2], c: Field[T3], d: Field[T4], e: Field[T5], /
    ) -> Query[D, tuple[T1, T2, T3, T4, T5]]: ...
    @overload
    def project(
        self, a: Field[T1], b: Field[T2], c: Field[T3], d: Field[T4], e: Field[T5], f: Field[T6], /
    ) -> Query[D, tuple[T1, T2, T3, T4, T5, T6]]: ...
    def project(self, *what: Any) -> Any:
        """Answer a part of each item: another class with some of the fields, a field's value, or a tuple of several.

        Each value is what reading the whole item gives, and costs the same read units; only less is sent. What a local
        index does not hold is fetched from the table, which costs a read of each item. Raises RequestError for what is
        no field of the entity or not in a global index, or a class that does not fit.
        """
        if self._hydrated:
            self._refuse_both()
        return self._copy(_projection=Projection.of(self._scope.entity, what, index=self._target.index))

    def _refuse_both(self) -> NoReturn:
        msg = f"{self._what}: hydrate() reads whole items, project() parts of them: leave one out"
        raise RequestError(msg)

    def _decoded(self, items: list[Item], values: list[M]) -> Plan[None]:
        if not self._hydrated:
            yield from super()._decoded(items, values)
            return
        many: GetMany[D, M] = GetMany(self._scope, [self._key_of(item) for item in items])
        if self._expired_included:
            many = many.include_expired()
        many = many.strongly_consistent() if self._whole_consistent else many.eventually_consistent()
        # sent as a part of this
        found = yield from many._plan()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        values += [each for each in found if each is not None]

    def _key_of(self, item: Item) -> dict[str, Any]:
        """The key fields of an item. Raises ItemDecodeError."""
        entity = self._scope.entity
        values: dict[str, Any] = {}
        for part in entity.key_parts:
            try:
                values |= part.decode(item[part.attribute])
            except KeyMismatch as mismatch:
                entity.refuse(item, DecodeFailure((part.attribute,), f"the key is {mismatch}"))
        return values

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
