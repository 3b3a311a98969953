"""Get: one item by its key."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from typing_extensions import Never, Self

from dynamap.errors import ItemNotFound
from dynamap.markers import D
from dynamap.operations.base import Moment, Operation, Scope, named
from dynamap.operations.sending import read
from dynamap.operations.settling import unexpired
from dynamap.plan import Call, Item, Plan

__all__ = ["Get", "Readable"]

M = TypeVar("M")
Miss = TypeVar("Miss")
R_co = TypeVar("R_co", covariant=True)


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

    def _call(self, moment: Moment) -> Call:
        del moment
        params: dict[str, Any] = {"TableName": self._scope.table_name, "Key": self._key}
        if self._consistent:
            params["ConsistentRead"] = True
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
        return self._scope.entity.decode(item)
