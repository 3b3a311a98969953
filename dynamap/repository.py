"""The items of one class in one table: what makes operations, and checks what they are given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar, overload

from typing_extensions import ParamSpec

from dynamap import operations
from dynamap.errors import KeyValueError, RequestError
from dynamap.markers import D
from dynamap.model import Entity
from dynamap.operations.base import Operation, Scope, named
from dynamap.operations.get import Get
from dynamap.operations.guards import Guard, guard_of_version

__all__ = ["KeyedRepository", "Repository"]

K = ParamSpec("K")
M = TypeVar("M")


class Repository(Generic[D, M]):
    """The items of one class in one table, from `store.of(X)`.

    Its methods make operations, and send nothing. Keys are given by the names of all key fields, and are checked at
    once: KeyValueError for one that is missing, unknown, or cannot be part of a key.
    """

    def __init__(self, scope: Scope[M]) -> None:
        self._scope = scope

    def __repr__(self) -> str:
        bound = "".join(f", {name}={value!r}" for name, value in self._scope.bound.items())
        return f"Repository({self._scope.entity.cls.__qualname__} in {self._scope.table_name!r}{bound})"

    def key(self, **key: object) -> operations.ItemKey[M]:
        """The key of one item, for operations on many. Raises KeyValueError."""
        values = self._scope.filled(key)
        self._scope.entity.key(values)
        # in their stored form, so that what names one item is one key
        return operations.ItemKey(self._scope.entity.cls, self._scope.entity.normalized(values))

    def get(self, **key: object) -> Get[D, M, None]:
        """Read one item by its key; the answer is None, or with `required()` an `ItemNotFound`, if there is none."""
        return Get(self._scope, self._scope.filled(key))

    def put(self, item: M, /) -> operations.Put[D, M]:
        """Create an item, or replace the one under its key; guarded by its version, if it has one.

        Raises EncodeError for a value that cannot be stored, KeyValueError for one that its key cannot hold.
        """
        self._check_instance(item, "put")
        return operations.Put(self._scope, item)

    @overload
    def update(self, item: M, /) -> operations.UpdateItem[D, M]: ...
    @overload
    def update(self, **key: object) -> operations.Update[D, M]: ...
    def update(self, *args: Any, **key: Any) -> Any:
        """Change an item that exists: one that was read, guarded by its version if it has one, or by key."""
        item = self._instance(args, key, "update")
        if item is None:
            given = self._scope.filled(key)
            keyed: operations.Update[D, M] = operations.Update(self._scope, self._scope.entity.key(given), given, None)
            return keyed
        wire, values, guard = self._read(item, "update")
        made: operations.UpdateItem[D, M] = operations.UpdateItem(self._scope, wire, values, guard, item)
        return made

    def upsert(self, **key: object) -> operations.Upsert[D, M]:
        """Change an item, or create it where there is none; it must then be a complete entity."""
        return operations.Upsert(self._scope, self._scope.filled(key))

    @overload
    def delete(self, item: M, /) -> operations.Delete[D, M]: ...
    @overload
    def delete(self, **key: object) -> operations.Delete[D, M]: ...
    def delete(self, *args: Any, **key: Any) -> Any:
        """Delete an item: one that was read, guarded by its version if it has one, or by key; none there is fine."""
        item = self._instance(args, key, "delete")
        if item is None:
            given = self._scope.filled(key)
            keyed: operations.Delete[D, M] = operations.Delete(self._scope, self._scope.entity.key(given), given, None)
            return keyed
        wire, values, guard = self._read(item, "delete")
        made: operations.Delete[D, M] = operations.Delete(self._scope, wire, values, guard)
        return made

    def check(self, **key: object) -> operations.Check[D, M]:
        """A condition on an item that a transaction does not change; only `store.transact(...)` sends it."""
        return operations.Check(self._scope, self._scope.filled(key))

    def get_many(self, keys: Iterable[M | operations.ItemKey[M] | Mapping[str, Any]], /) -> operations.GetMany[D, M]:
        """Read any number of items, answered in the order of the keys, with None for those that are not there.

        Keys are `key(...)`, dicts of all key fields, or instances. Iterate it, or `send()` it for a list.
        """
        return operations.GetMany(self._scope, keys)

    def put_many(self, items: Iterable[M], /, *, unversioned: bool = False) -> Operation[D, None]:
        """Create or replace any number of items, without conditions.

        Of a versioned type only if *unversioned* says so: UnguardedWrite otherwise. See `PutMany` for what happens to
        items with the same key, to mistakes on the way and to lost answers.
        """
        return operations.PutMany(self._scope, items, unversioned=unversioned)

    def delete_many(
        self, keys: Iterable[M | operations.ItemKey[M] | Mapping[str, Any]], /, *, unversioned: bool = False
    ) -> Operation[D, None]:
        """Delete any number of items, without conditions; those that are not there are fine.

        Keys are `key(...)`, dicts of all key fields, or instances. Of a versioned type only if *unversioned* says so:
        UnguardedWrite otherwise.
        """
        return operations.DeleteMany(self._scope, keys, unversioned=unversioned)

    def bind(self, **key: object) -> Repository[D, M]:
        """The same items, but only those with these key fields, which need not be given any more.

        Every operation has them filled in, and neither other values nor items with other values are taken:
        KeyValueError, before anything is sent. What would read other items too is a RequestError: a query of an index
        whose key does not have them, and every scan.
        """
        scope = self._scope
        entity = scope.entity
        if not key:
            msg = f"{self!r}.bind() takes key fields by name: {', '.join(entity.key_fields) or 'there are none'}"
            raise KeyValueError(msg)
        for name, value in key.items():
            if name not in entity.key_fields:
                msg = (
                    f"{entity.cls.__qualname__} has no key field {name!r} to bind: its key is "
                    f"{', '.join(entity.key_fields) or 'the same for all its items'}"
                )
                raise KeyValueError(msg)
            entity.key_value(name, value)
        return Repository(replace(scope, bound=scope.filled(key)))

    def query(self, **leading: object) -> operations.Query[D, M]:
        """Read items of one partition, in the order of the sort key: `query(customer="c1")`.

        It takes all fields of the partition key, and the first ones of the sort key or none; fields that both have
        count for both. Items of other classes are left out. KeyValueError for a field that is missing, unknown, given
        without the one before it, or cannot be part of a key.

        Costs a read unit for each 4 KB that the keys select, whatever is left out afterwards, half of one if read
        eventually; a page is up to 1 MB, 128 units.
        """
        return operations.Query(self._scope, operations.Target.table(self._scope.entity), leading)

    def scan(self) -> operations.Scan[D, M]:
        """Read all items of the class, in no order; it reads, and costs, the whole table, whatever else is in it.

        RequestError of a repository that is bound to key fields.
        """
        return operations.Scan(self._scope, operations.Target.table(self._scope.entity))

    def index(self, name: str, /) -> operations.IndexView[D, M]:
        """The items as one index of the table has them. RequestError for one that the class does not map onto."""
        return operations.IndexView(self._scope, name)

    def _instance(self, args: Sequence[Any], key: dict[str, Any], verb: str) -> M | None:
        if not args:
            return None
        if len(args) > 1 or key:
            msg = f"{self!r}.{verb}() takes one item that was read, or key fields by name"
            raise RequestError(msg)
        item: M = args[0]
        self._check_instance(item, verb)
        return item

    def _check_instance(self, item: object, verb: str) -> None:
        cls = self._scope.entity.cls
        given = type(item)
        if given is not cls:
            same = given.__qualname__ == cls.__qualname__
            wanted, got = (
                f"{each.__module__}.{each.__qualname__}" if same else each.__qualname__ for each in (cls, given)
            )
            hint = " (imported twice, or reloaded: they are two classes)" if same else ""
            msg = f"{self!r}.{verb}() takes an instance of {wanted}; got {got}{hint}"
            raise RequestError(msg)
        instance: Any = item
        self._scope.check_instance(instance)

    def _read(self, item: M, verb: str) -> tuple[dict[str, Any], dict[str, Any], Guard | None]:
        entity: Entity[M] = self._scope.entity
        values = entity.key_values(item)
        if entity.version is None:
            return entity.key(values), values, None
        version = entity.read_version(item)
        if version == 0:
            msg = (
                f"{named(verb, self._scope, values)}: {entity.version} is 0, so this item was never stored: put it, or "
                f"read it first"
            )
            raise RequestError(msg)
        return entity.key(values), values, guard_of_version(entity, version)


class KeyedRepository(Repository[D, M], Generic[D, M, K]):
    """A Repository whose key fields the checkers know, from `store.of(X, key=x_key)`."""

    # narrower on purpose: whoever holds it as a Repository gets the run-time check instead
    def key(self, *args: K.args, **key: K.kwargs) -> operations.ItemKey[M]:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        """The key of one item, for operations on many. Raises KeyValueError."""
        self._refuse_positional(args, "key")
        return super().key(**key)

    def get(self, *args: K.args, **key: K.kwargs) -> Get[D, M, None]:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        """Read one item by its key."""
        self._refuse_positional(args, "get")
        return Get(self._scope, dict(key))

    @overload  # type: ignore[override]
    def update(self, item: M, /) -> operations.UpdateItem[D, M]: ...
    @overload
    def update(self, *args: K.args, **key: K.kwargs) -> operations.Update[D, M]: ...
    def update(self, *args: Any, **key: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Change an item that exists: of an item that was read, guarded by its version, or by key."""
        return super().update(*args, **key)

    def upsert(self, *args: K.args, **key: K.kwargs) -> operations.Upsert[D, M]:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        """Change an item, or create it where there is none."""
        self._refuse_positional(args, "upsert")
        return operations.Upsert(self._scope, dict(key))

    @overload  # type: ignore[override]
    def delete(self, item: M, /) -> operations.Delete[D, M]: ...
    @overload
    def delete(self, *args: K.args, **key: K.kwargs) -> operations.Delete[D, M]: ...
    def delete(self, *args: Any, **key: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Delete an item: one that was read, guarded by its version, or by key."""
        return super().delete(*args, **key)

    def check(self, *args: K.args, **key: K.kwargs) -> operations.Check[D, M]:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        """A condition on an item that a transaction does not change."""
        self._refuse_positional(args, "check")
        return operations.Check(self._scope, dict(key))

    def _refuse_positional(self, args: tuple[Any, ...], verb: str) -> None:
        if args:
            msg = f"{self!r}.{verb}() takes key fields by name"
            raise KeyValueError(msg)
