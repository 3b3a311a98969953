"""Projections: what `project(...)` reads instead of whole entities, and what it makes of that.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.ProjectionExpressions.html
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, get_origin

from dynamap.codec import DecodeFailure, FieldShape, has_fields
from dynamap.errors import LimitExceeded, RequestError
from dynamap.expressions import Compiler, Field
from dynamap.expressions.compiler import MOST_BYTES
from dynamap.model import Entity, value_at, wire_at
from dynamap.model.indexes import PhysicalIndex
from dynamap.operations.partial import Part, Partial, class_partial, field_partial, part_of
from dynamap.plan import Item

__all__ = ["Projection"]

_Steps: TypeAlias = tuple["str | int", ...]
_Getter: TypeAlias = Callable[[Any, Item], Any]


class Projection:
    """What is read of an item, and what is answered for it.

    Besides what was asked for it reads the table's key, by which an error names the item, the discriminator, and the
    TTL attribute, so that what is no item of the class or has expired stays hidden.
    """

    def __init__(self, entity: Entity[Any], paths: Sequence[_Steps] | None, decode: Callable[[Item], Any]) -> None:
        self._entity = entity
        self._paths = paths
        self._decode = decode

    @classmethod
    def of(cls, entity: Entity[Any], what: Sequence[object], *, index: PhysicalIndex | None = None) -> Projection:
        """What `project(*what)` means for items of the table or of an index: a class, or one or more fields.

        Values are what reading the whole entity gives, defaults included. Raises RequestError for what is no field of
        the entity, for a class that does not fit it, and for what a partial index does not hold.
        """
        return _Projecting(entity, index).project(tuple(what))

    def text(self, compiler: Compiler, keys: Sequence[str] = (), /) -> str | None:
        """The ProjectionExpression, with these attributes in any case; None where all attributes are read.

        Raises LimitExceeded for more than 4 KB, or for a path of more than 32 steps.
        """
        if self._paths is None:
            return None
        layout = self._entity.layout
        silent = [*keys, *(key.name for key in layout.keys), layout.discriminator, self._entity.ttl_attribute]
        paths = dict.fromkeys([*self._paths, *((name,) for name in silent if name is not None)])
        # DynamoDB refuses a path beside a part of it
        shortest = [path for path in paths if not any(path[:length] in paths for length in range(1, len(path)))]
        text = ", ".join(compiler.path(path) for path in shortest)
        if len(text) > MOST_BYTES:
            msg = (
                f"{self._entity.cls.__qualname__}: the projection expression has {len(text):,} bytes; DynamoDB takes "
                f"{MOST_BYTES:,}: project fewer fields"
            )
            raise LimitExceeded(msg)
        return text

    def decode(self, item: Item, /) -> Any:
        """What is answered for an item. Raises ItemDecodeError."""
        return self._decode(item)


class _Projecting:
    """Makes the projections of one entity on its table or one index."""

    def __init__(self, entity: Entity[Any], index: PhysicalIndex | None) -> None:
        self._entity = entity
        self._owner = entity.cls.__qualname__
        self._index = index if index is not None and index.projection != "ALL" else None

    def project(self, what: tuple[object, ...]) -> Projection:
        classes = [each for each in what if not isinstance(each, Field) and has_fields(each)]
        if not what or (classes and len(what) > 1):
            got = "nothing" if not what else ", ".join(map(_shown, what))
            msg = f"project() of {self._owner} takes one class, or fields, as project(F({self._owner}.name)); got {got}"
            raise RequestError(msg)
        if not classes:
            return self._fields(what)
        cls: Any = classes[0]
        if (get_origin(cls) or cls) is self._entity.cls:
            if get_origin(cls) is not None:
                # a generic class of other arguments has fields of other types
                class_partial(self._entity, cls)
            return self._own()
        return self._other(cls)

    # ---- kinds of projections

    def _own(self) -> Projection:
        """The entity itself, where all of it is there."""
        entity = self._entity
        if self._index is None:
            return Projection(entity, None, entity.decode)
        self._check_held([field.name for field in entity.shape.fields])
        paths = [(name,) for field in entity.shape.fields if field.stored for name in field.read_from]
        return Projection(entity, paths, entity.decode)

    def _other(self, cls: Any) -> Projection:
        """Another class, with some of the fields."""
        entity = self._entity
        partial = class_partial(entity, cls)
        self._check_held(partial.names)
        if self._index is None and partial.needs_whole:
            return Projection(entity, None, lambda item: partial.made_of(item, entity.decode(item)))
        return Projection(entity, _stored_paths(partial.fields), partial.decode)

    def _fields(self, what: tuple[object, ...]) -> Projection:
        """The bare value of a field, or a tuple of several."""
        entity, compiler = self._entity, Compiler(self._entity)
        steps = [self._path(each, compiler) for each in what]
        names = tuple(dict.fromkeys(str(path[0]) for path in steps))
        self._check_held(names)
        parts = [part_of(entity, path) for path in steps]
        whole = tuple(dict.fromkeys(str(path[0]) for path, part in zip(steps, parts, strict=True) if part is None))
        partial = field_partial(entity, whole)
        getters = [
            _of_field(path) if part is None or path[0] in whole else _of_part(entity, part)
            for path, part in zip(steps, parts, strict=True)
        ]
        if self._index is None and partial.needs_whole:
            return Projection(entity, None, _answering(entity, None, [_of_field(path) for path in steps]))
        paths = [
            fetched
            for path, part in zip(steps, parts, strict=True)
            for fetched in ([part.attributes] if part else _stored_paths([entity.shape.by_name[str(path[0])]]))
        ]
        return Projection(entity, paths, _answering(entity, partial, getters))

    # ---- checks

    def _path(self, field: Any, compiler: Compiler) -> _Steps:
        """The path of a field reference from the entity. Raises RequestError."""
        # one that has no attribute of its own can be read all the same
        given: Any = field
        if isinstance(field, Field) and len(field.path) == 1 and issubclass(self._entity.cls, field.owner):
            name = field.path[0]
            if name in self._entity.shape.by_name:
                return (name,)
        return compiler.resolve(given).path

    def _check_held(self, names: Sequence[str]) -> None:
        """Raise RequestError for a field that the items of a partial index do not have."""
        if self._index is None:
            return
        index = self._index
        missing = [name for name in names if not self._is_held(self._entity.shape.by_name[name], index)]
        if missing:
            listed = ", ".join(missing)
            msg = (
                f"project() of {self._owner}: the index {index.name!r} does not hold {listed}: leave it out, add its "
                f"attribute to the index's projection, or read whole entities with the hydrate() of a query"
            )
            raise RequestError(msg)

    def _is_held(self, field: FieldShape, index: PhysicalIndex) -> bool:
        # a local index fetches from the table what it does not hold, if it is told the names
        if field.extras or index.local or not field.stored:
            return not field.extras
        always = [key.name for key in self._entity.layout.keys]
        return all(index.projects(name, always) for name in field.read_from)


def _shown(what: Any) -> str:
    given: Any = what
    return repr(given) if isinstance(what, Field) else str(getattr(what, "__qualname__", type(what).__name__))


def _stored_paths(fields: Sequence[FieldShape]) -> list[_Steps]:
    return [(name,) for field in fields if field.stored for name in field.read_from]


def _of_field(path: _Steps) -> _Getter:
    name, rest = str(path[0]), path[1:]
    if not rest:
        return lambda row, _: getattr(row, name)
    return lambda row, _: value_at(getattr(row, name), rest)


def _of_part(entity: Entity[Any], part: Part) -> _Getter:
    def get(_: Any, item: Item) -> Any:
        wire = wire_at(item, part.attributes)
        try:
            if wire is None:
                return part.absent()
            return value_at(part.shape.decode(wire, part.path), part.rest)
        except DecodeFailure as failure:
            entity.refuse(item, failure)

    return get


def _answering(entity: Entity[Any], partial: Partial | None, getters: Sequence[_Getter]) -> Callable[[Item], Any]:
    """The bare value that the getter finds, or a tuple of those that several find."""
    read = entity.decode if partial is None else partial.decode
    if len(getters) == 1:
        only = getters[0]
        return lambda item: only(read(item), item)
    return lambda item: _tuple_of(read(item), item, getters)


def _tuple_of(row: Any, item: Item, getters: Sequence[_Getter]) -> tuple[Any, ...]:
    return tuple(getter(row, item) for getter in getters)
