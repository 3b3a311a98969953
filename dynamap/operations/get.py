"""Get: one item by its key."""

from __future__ import annotations

from typing import Any, Generic, TypeVar, overload

from typing_extensions import Never, Self

from dynamap.errors import ItemNotFound
from dynamap.expressions import Compiler, Field
from dynamap.markers import D
from dynamap.operations.base import Moment, Operation, Scope, named
from dynamap.operations.projection import Projection
from dynamap.operations.replies import item_decoder
from dynamap.operations.sending import read
from dynamap.operations.settling import unexpired
from dynamap.plan import Call, Item, Plan

__all__ = ["Get", "Readable"]

M = TypeVar("M")
Miss = TypeVar("Miss")
R_co = TypeVar("R_co", covariant=True)
T1 = TypeVar("T1")
T2 = TypeVar("T2")
T3 = TypeVar("T3")
T4 = TypeVar("T4")
T5 = TypeVar("T5")
T6 = TypeVar("T6")


class Readable(Operation[D, R_co]):
    """A read of one item."""


class Get(Readable[D, "M | Miss"], Generic[D, M, Miss]):
    """Read one item; answers the entity, or None if nothing is stored under the key, or only what has expired.

    Versioned types are read strongly unless asked otherwise, others eventually. Costs a read unit for each 4 KB of the
    item, half of one if read eventually.
    """

    _scope: Scope[M]
    _key: Item
    _values: dict[str, Any]
    _what: str
    _consistent: bool
    _required: bool
    _expired_included: bool
    _projection: Projection | None

    def __init__(self, scope: Scope[M], values: dict[str, Any]) -> None:
        self.__dict__.update(
            _runtime=scope.runtime,
            _scope=scope,
            _key=scope.entity.key(values),
            _values=values,
            _what=named("get", scope, values),
            _consistent=scope.consistent,
            _required=False,
            _expired_included=False,
            _projection=None,
        )

    def required(self) -> Get[D, M, Never]:
        """A miss is `ItemNotFound` instead of None."""
        kind: Any = Get
        required: Get[D, M, Never] = self._become(kind, _required=True)
        return required

    def strongly_consistent(self) -> Self:
        """Read what every write that was answered before has stored; costs twice as much."""
        return self._copy(_consistent=True)

    def eventually_consistent(self) -> Self:
        """Read what may be a little old, for half the price."""
        return self._copy(_consistent=False)

    def include_expired(self) -> Self:
        """Answer an item whose time is over too, until DynamoDB has deleted it."""
        return self._copy(_expired_included=True)

    @overload
    def project(self, model: type[T1], /) -> Get[D, T1, Miss]: ...
    @overload
    def project(self, a: Field[T1], /) -> Get[D, T1, Miss]: ...
    @overload
    def project(self, a: Field[T1], b: Field[T2], /) -> Get[D, tuple[T1, T2], Miss]: ...
    @overload
    def project(self, a: Field[T1], b: Field[T2], c: Field[T3], /) -> Get[D, tuple[T1, T2, T3], Miss]: ...
    @overload
    def project(
        self, a: Field[T1], b: Field[T2], c: Field[T3], d: Field[T4], /
    ) -> Get[D, tuple[T1, T2, T3, T4], Miss]: ...
    @overload
    def project(
        self, a: Field[T1], b: Field[T2], c: Field[T3], d: Field[T4], e: Field[T5], /
    ) -> Get[D, tuple[T1, T2, T3, T4, T5], Miss]: ...
    @overload
    def project(
        self, a: Field[T1], b: Field[T2], c: Field[T3], d: Field[T4], e: Field[T5], f: Field[T6], /
    ) -> Get[D, tuple[T1, T2, T3, T4, T5, T6], Miss]: ...
    def project(self, *what: Any) -> Any:
        """Answer a part of the item: another class with some of the fields, a field's value, or a tuple of several.

        Each value is what reading the whole item gives, and costs the same read units; only less is sent. Raises
        RequestError for what is no field of the entity, or a class that does not fit it.
        """
        return self._copy(_projection=Projection.of(self._scope.entity, what))

    def _call(self, moment: Moment) -> Call:
        del moment
        params: dict[str, Any] = {"TableName": self._scope.table_name, "Key": self._key}
        if self._consistent:
            params["ConsistentRead"] = True
        if self._projection is None:
            return Call("GetItem", params, item_decoder(self._scope.entity))
        compiler = Compiler(self._scope.entity)
        text = self._projection.text(compiler)
        if text is not None:
            params["ProjectionExpression"] = text
            params |= compiler.placeholders()
        return Call("GetItem", params)

    def _plan(self) -> Plan[M | Miss]:
        moment = self._runtime.moment()
        reply = yield from read(self._runtime, self._call(moment), self._what)
        return self._answer(reply.get("Item") or None, moment)

    def _answer(self, found: Item | None, moment: Moment) -> M | Miss:
        """The result for the item that the service found. Raises ItemNotFound or ItemDecodeError."""
        expiry = None if self._expired_included else self._scope.expiry(moment)
        item = unexpired(self._scope.entity, found, expiry)
        if item is not None:
            return self._decoded(item)
        if self._required:
            msg = f"{self._what}: there is no such item"
            raise ItemNotFound(msg, entity=self._scope.entity.cls, key=self._values)
        miss: Any = None
        return miss  # type: ignore[no-any-return]

    def _decoded(self, item: Item) -> M:
        """What the item is to its reader. Raises ItemDecodeError."""
        if self._projection is None:
            return self._scope.entity.decode(item)
        projected: M = self._projection.decode(item)
        return projected
