"""The indexes of a table, and how an entity maps onto them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import msgspec

from dynamap.errors import ModelError
from dynamap.model.keys import Key, KeyPart, as_key

__all__ = [
    "Conditional",
    "GlobalIndex",
    "Index",
    "IndexUse",
    "LocalIndex",
    "PhysicalIndex",
    "Projection",
    "Reference",
    "physical_indexes",
    "templates_of",
]

# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
_MOST_ATTRIBUTES = 4
_MOST_LOCAL = 5
_NAME = re.compile(r"[A-Za-z0-9_.-]{3,255}")

Projection: TypeAlias = Literal["ALL", "KEYS_ONLY"]


class Reference(Protocol):
    """What a field reference says: the class, and the path from it."""

    @property
    def owner(self) -> type[Any]: ...
    @property
    def path(self) -> tuple[str | int, ...]: ...


@runtime_checkable
class Conditional(Protocol):
    """A condition on the fields of one item, as `F(Order.status).eq("open")` makes it."""

    @property
    def node(self) -> object: ...
    def fields(self) -> Sequence[Reference]: ...


class Index(msgspec.Struct, frozen=True):
    """An entity's use of an index of its table.

    *pk* and *sk* are key templates; a sequence of them for a key of several attributes. Without one, the attribute is
    one that is stored anyway: a field's, or a key of the table. Items of which a component is None are not in the
    index, nor are those of which *when* does not hold, a condition, or a function that answers one, since the class
    does not exist yet in its own decorator.
    """

    name: str
    pk: str | Sequence[str] | None = None
    sk: str | Sequence[str] | None = None
    when: Conditional | Callable[[], Conditional] | None = None


class GlobalIndex(msgspec.Struct, frozen=True):
    """A global secondary index of a table.

    *pk* and *sk* name its key attributes, up to four each; None stands for `f"{name}pk"` and `f"{name}sk"`. An index
    without sort key has `sk=()`: that None means none is said of a `Table` only. *projection* is "ALL", "KEYS_ONLY" or
    the names of the attributes that it holds besides keys.
    """

    name: str
    pk: str | Key | Sequence[str | Key] | None = None
    sk: str | Key | Sequence[str | Key] | None = None
    projection: Projection | Sequence[str] = "ALL"


class LocalIndex(msgspec.Struct, frozen=True):
    """A local secondary index of a table: it has the table's partition key and another sort key.

    It can be made with the table only. *sk* is `f"{name}sk"` unless said otherwise; *projection* as in `GlobalIndex`.
    """

    name: str
    sk: str | Key | None = None
    projection: Projection | Sequence[str] = "ALL"


class PhysicalIndex(msgspec.Struct, frozen=True):
    """An index with its key attributes, checked; *included* are the attributes of a projection that names some."""

    name: str
    local: bool
    partition: tuple[Key, ...]
    sort: tuple[Key, ...]
    projection: Literal["ALL", "KEYS_ONLY", "INCLUDE"]
    included: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[Key, ...]:
        """All key attributes, those of the partition key first."""
        return (*self.partition, *self.sort)

    def projects(self, attribute: str, table_keys: Sequence[str]) -> bool:
        """Whether an item in the index has this attribute."""
        always = (*table_keys, *(key.name for key in self.keys))
        return self.projection == "ALL" or attribute in self.included or attribute in always


class IndexUse(msgspec.Struct, frozen=True):
    """How an entity maps onto an index: what its items hold in each key attribute, and when.

    *when_fields* are the entity's own fields that the condition speaks of.
    """

    index: PhysicalIndex
    partition: tuple[KeyPart, ...]
    sort: tuple[KeyPart, ...]
    when: Conditional | None = None
    when_fields: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[KeyPart, ...]:
        """All of the key, the partition key first."""
        return (*self.partition, *self.sort)

    @property
    def computed(self) -> tuple[KeyPart, ...]:
        """Those that are written in addition to the fields."""
        return tuple(part for part in self.parts if part.computed)


def physical_indexes(
    table: str, table_keys: Sequence[Key], indexes: Sequence[GlobalIndex | LocalIndex]
) -> tuple[PhysicalIndex, ...]:
    """The indexes of a table, with all names filled in. Raises ModelError."""
    types = {key.name: key for key in table_keys}
    made: list[PhysicalIndex] = []
    for index in indexes:
        where = f"Table {table!r}: index {index.name!r}"
        if not _NAME.fullmatch(index.name):
            msg = f"{where}: the name of an index has 3 to 255 letters, digits, dots, dashes and underscores"
            raise ModelError(msg)
        if any(other.name == index.name for other in made):
            msg = f"{where} stands there twice: give one another name"
            raise ModelError(msg)
        local = isinstance(index, LocalIndex)
        if local and len(table_keys) == 1:
            msg = f"{where}: a local index needs a table with a sort key: use GlobalIndex"
            raise ModelError(msg)
        given = table_keys[0] if isinstance(index, LocalIndex) else index.pk
        partition = _keys(given, f"{index.name}pk", types)
        sort = _keys(index.sk, f"{index.name}sk", types)
        one = PhysicalIndex(index.name, local, partition, sort, *_projection(index.projection, where))
        _check_keys(one, where)
        for key in one.keys:
            if types.setdefault(key.name, key) != key:
                msg = (
                    f"{where}: the attribute {key.name!r} has the type {types[key.name].type.__name__} elsewhere, and "
                    f"{key.type.__name__} here: an attribute has one type"
                )
                raise ModelError(msg)
        made.append(one)
    if sum(index.local for index in made) > _MOST_LOCAL:
        msg = (
            f"Table {table!r} has more than {_MOST_LOCAL} local indexes, which DynamoDB does not take: use GlobalIndex"
        )
        raise ModelError(msg)
    return tuple(made)


def _keys(given: str | Key | Sequence[str | Key] | None, default: str, types: dict[str, Key]) -> tuple[Key, ...]:
    names: Sequence[str | Key] = (default,) if given is None else (given,) if isinstance(given, (str, Key)) else given
    # a name alone is the attribute as it is known, or holds text
    return tuple(types.get(name, as_key(name)) if isinstance(name, str) else name for name in names)


def _check_keys(index: PhysicalIndex, where: str) -> None:
    names = [key.name for key in index.keys]
    if len(set(names)) < len(names):
        msg = f"{where}: one attribute stands twice among its keys, {', '.join(names)}"
        raise ModelError(msg)
    if not index.partition or (index.local and not index.sort):
        msg = f"{where} needs a {'sort' if index.local else 'partition'} key"
        raise ModelError(msg)
    for what, keys in (("partition", index.partition), ("sort", index.sort)):
        if len(keys) > _MOST_ATTRIBUTES:
            msg = f"{where}: a {what} key has up to {_MOST_ATTRIBUTES} attributes; got {len(keys)}"
            raise ModelError(msg)


def _projection(
    projection: Projection | Sequence[str], where: str
) -> tuple[Literal["ALL", "KEYS_ONLY", "INCLUDE"], tuple[str, ...]]:
    if projection == "ALL":
        return "ALL", ()
    if projection == "KEYS_ONLY":
        return "KEYS_ONLY", ()
    if isinstance(projection, str) or not projection:
        msg = f'{where}: projection is "ALL", "KEYS_ONLY" or a list of attribute names; got {projection!r}'
        raise ModelError(msg)
    return "INCLUDE", tuple(projection)


def templates_of(given: str | Sequence[str] | None, keys: Sequence[Key], what: str) -> tuple[str | None, ...]:
    """One template for each of these key attributes, None for those stored anyway. Raises ModelError."""
    if given is None:
        return (None,) * len(keys)
    templates = (given,) if isinstance(given, str) else tuple(given)
    if len(templates) != len(keys):
        names = ", ".join(key.name for key in keys) or "none"
        msg = f"{what} has {len(keys)} attributes ({names}), but {len(templates)} templates: give one for each"
        raise ModelError(msg)
    return templates
