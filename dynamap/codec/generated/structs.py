"""msgspec struct types for items and attribute values, made from shapes.

An attribute value becomes a struct with a field for each wire type that its shape is read from; one whose shape has no
generated code stays what JSON holds. A class becomes a struct with a field for each attribute, in which others are not
kept; one that keeps extras stays a dict.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import msgspec

from dynamap.codec.classes import ClassShape
from dynamap.codec.containers import ListOf, MapOf, SetOf, TupleOf
from dynamap.codec.generated.singles import set_tag, single_tag, without_normalize
from dynamap.codec.shapes import NULL, Shape
from dynamap.codec.wrappers import OptionalShape

__all__ = ["Structs", "field_of"]

_CONTENT: dict[str, type] = {"S": str, "N": str, "B": bytes, "BOOL": bool}


@lru_cache(maxsize=256)
def _scalar_struct(fields: tuple[tuple[str, Any], ...]) -> Any:
    return _wire_struct(fields)


def _wire_struct(fields: Iterable[tuple[str, Any]]) -> Any:
    given = list(fields)
    if len(given) > 1:
        optional = [(tag, kind | msgspec.UnsetType, msgspec.UNSET) for tag, kind in given]
        return msgspec.defstruct("Wire", optional, gc=False, forbid_unknown_fields=True)
    return msgspec.defstruct("Wire", given, gc=False, forbid_unknown_fields=True)


def field_of(attribute: str) -> str:
    """What a struct calls the field for an attribute: always the same, so that structs of several classes agree."""
    plain = attribute.isascii() and attribute.isidentifier()
    return f"a_{attribute}" if plain else f"x_{attribute.encode('utf-8', 'surrogatepass').hex()}"


def _fits_json(name: str) -> bool:
    """Tell whether msgspec takes the name for a key: only one that stands in JSON as it is."""
    return not any(character in '"\\' or character < " " for character in name)


class Structs:
    """The struct types for one class and all within."""

    def __init__(self) -> None:
        self._structs: dict[int, Any] = {}
        self._fields: dict[int, dict[str, str]] = {}

    # ------------------------------------------------------------------------------------------------ classes

    def has_struct(self, shape: ClassShape) -> bool:
        """Tell whether items of the class can be structs."""
        names = (name for field in shape.fields if field.stored for name in field.read_from)
        return shape.extras is None and all(map(_fits_json, names))

    def fields(self, shape: ClassShape) -> dict[str, str]:
        """The field of the class's struct for each attribute and each older name of one."""
        if id(shape) not in self._fields:
            names = [name for field in shape.fields if field.stored for name in field.read_from]
            self._fields[id(shape)] = {name: field_of(name) for name in names}
        return self._fields[id(shape)]

    def struct(self, shape: ClassShape) -> Any:
        """The struct type for items of the class."""
        if id(shape) not in self._structs:
            by_name = self.fields(shape)
            fields: list[tuple[str, Any, Any]] = []
            for field in shape.fields:
                if field.stored:
                    kind = self.wire_type(field.shape)
                    kind = kind if kind is Any else kind | msgspec.UnsetType
                    fields += [(by_name[name], kind, msgspec.UNSET) for name in field.read_from]
            rename = {field: name for name, field in by_name.items()}
            self._structs[id(shape)] = msgspec.defstruct(shape.cls.__name__, fields, rename=rename, gc=False)
        return self._structs[id(shape)]

    # ------------------------------------------------------------------------------------------------ values

    def tags(self, shape: Shape) -> tuple[str, ...]:
        """The wire types in an attribute value's struct; none if it stays what JSON holds."""
        shape = without_normalize(shape)
        if isinstance(shape, OptionalShape):
            inner = self.tags(shape.inner)
            return (*inner, NULL) if inner and NULL not in inner else ()
        single = single_tag(shape)
        if single is not None:
            return (single,)
        if isinstance(shape, SetOf):
            own = set_tag(shape)
            return () if own is None else (own, "L")
        if isinstance(shape, ListOf | TupleOf):
            return ("L",)
        if isinstance(shape, MapOf) or (isinstance(shape, ClassShape) and self.has_struct(shape)):
            return ("M",)
        return ()

    def wire_type(self, shape: Shape) -> Any:
        """The type of an attribute value: a struct type, or Any."""
        tags = self.tags(shape)
        if not tags:
            return Any
        fields = tuple((tag, self._content_type(shape, tag)) for tag in tags)
        scalar = not {"L", "M"} & set(tags)
        return _scalar_struct(fields) if scalar else _wire_struct(fields)

    def _content_type(self, shape: Shape, tag: str) -> Any:
        shape = without_normalize(shape)
        if tag == NULL:
            return bool
        if isinstance(shape, OptionalShape):
            return self._content_type(shape.inner, tag)
        if tag in _CONTENT:
            return _CONTENT[tag]
        if isinstance(shape, SetOf):
            return _list_of(self.wire_type(shape.element) if tag == "L" else _CONTENT[tag[0]])
        if isinstance(shape, ListOf):
            return _list_of(self.wire_type(shape.element))
        if isinstance(shape, TupleOf):
            parts = tuple(self.wire_type(element) for element in shape.elements)
            return tuple.__class_getitem__(parts) if parts else list[Any]
        if isinstance(shape, MapOf):
            return dict.__class_getitem__((str, self.wire_type(shape.value)))
        return self.struct(shape) if isinstance(shape, ClassShape) else Any


def _list_of(element: Any) -> Any:
    return list.__class_getitem__(element)
