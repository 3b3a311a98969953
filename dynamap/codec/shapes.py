"""The shape of a value: the interpreter's base class, and the reference for every other encoder and decoder.

A shape tree is data: each node has its children as attributes, so that code can be generated from it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from dynamap.codec.failures import DecodeFailure, Wire, found, kind_of, refusal, split, with_article
from dynamap.codec.paths import Path
from dynamap.errors import EncodeError

__all__ = ["ALL_WIRE_TYPES", "NULL", "Shape", "refuse_depth"]

ALL_WIRE_TYPES = ("S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS")
NULL = "NULL"
MAXIMUM_DEPTH = 32


def refuse_depth(path: Path) -> None:
    """Raise EncodeError for a container that DynamoDB would find nested too deeply: 32 levels below the item."""
    if len(path) > MAXIMUM_DEPTH:
        problem = f"nested deeper than DynamoDB's {MAXIMUM_DEPTH} levels; store the inner part as its own item"
        raise refusal(path[:4], problem)


class Shape(msgspec.Struct, frozen=True):
    """How values of one declared type are stored.

    A struct, and what a kind of values must have its own way of is NotImplementedError here: a class of attrs or of
    `dataclasses` takes half a millisecond to make, and there are many of them to make whenever dynamap is imported.

    `encode` and `decode` are for a value inside a container or an expression, `encode_attribute` and `decode_attribute`
    for an attribute of an item, which can also be absent.
    """

    @property
    def kind(self) -> str:
        """The word for such values in messages."""
        raise NotImplementedError

    @property
    def wire_types(self) -> tuple[str, ...]:
        """The DynamoDB types that it can be read from, the one that is written first."""
        raise NotImplementedError

    def accepts(self, value: object) -> bool:
        """Tell whether the value is of this kind, without looking into containers."""
        raise NotImplementedError

    def encode(self, value: Any, path: Path = ()) -> Wire:
        """Give the attribute value for a Python value; raises EncodeError with the path."""
        raise NotImplementedError

    def decode(self, wire: Wire, path: Path = ()) -> Any:
        """Give the Python value for an attribute value; raises DecodeFailure with the path."""
        raise NotImplementedError

    @property
    def empty_when_absent(self) -> bool:
        """Whether an absent attribute is a value of its own: the empty set."""
        return False

    @property
    def keyable(self) -> bool:
        """Whether such values can be keys of a stored map."""
        return self.wire_types in {("S",), ("N",)}

    def encode_attribute(self, value: Any, path: Path = ()) -> Wire | None:
        """Give the attribute value at the top level of an item; None means that the attribute is absent."""
        return self.encode(value, path)

    def decode_attribute(self, wire: Wire | None, path: Path = ()) -> Any:
        """Give the Python value of an item's attribute, None standing for an absent one."""
        if wire is None:
            raise DecodeFailure(path, f"{with_article(self.kind)} expected, the attribute is missing")
        return self.decode(wire, path)

    def encode_key(self, value: Any, path: Path = ()) -> str:
        """Give the text under which a map stores the value as a key."""
        text: str = self.encode(value, path)[self.wire_types[0]]
        return text

    def decode_key(self, text: str, path: Path = ()) -> Any:
        """Give the key that a map stores under the text."""
        return self.decode({self.wire_types[0]: text}, path)

    def normalize(self, value: Any) -> Any:
        """Give the value as it will be stored; keys and lookups go through the same."""
        return value

    def storing_null(self) -> Shape:
        """Give the shape that stores None as NULL also at the top level, because absent means something else there."""
        return self

    def at(self, step: Any) -> tuple[str | int, Shape]:
        """Give the stored step and the shape one level down; raises LookupError where there is none."""
        msg = f"{with_article(self.kind)} has nothing at {step!r}"
        raise LookupError(msg)

    def remedy(self, value: object) -> str:
        """Say what a caller who passed this value can do; the text never holds the value."""
        return f"declare the type as {kind_of(value)}, or convert the value"

    def unexpected(self, value: object, path: Path) -> EncodeError:
        """Make the error for a value of another kind."""
        remedy = "declare the type Optional to allow it" if value is None else self.remedy(value)
        return refusal(path, f"{with_article(self.kind)} expected, got {kind_of(value)}; {remedy}")

    def take(self, wire: Wire, path: Path) -> tuple[str, Any]:
        """Take an attribute value of one of the wire types apart; raises DecodeFailure for any other."""
        tag, content = split(wire, path)
        if tag not in self.wire_types:
            raise DecodeFailure(path, f"{with_article(self.kind)} expected, found {found(tag)}")
        return tag, content
