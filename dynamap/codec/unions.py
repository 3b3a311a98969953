"""Shapes of unions: alternatives told apart by their wire type, or classes told apart by a tag."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from dynamap.codec.anything import wire_key
from dynamap.codec.choices import LiteralShape
from dynamap.codec.failures import DecodeFailure, Wire, split, with_article
from dynamap.codec.paths import Path
from dynamap.codec.shapes import Shape

__all__ = ["TaggedUnion", "UnionShape"]


class UnionShape(Shape, frozen=True):
    """One of several types, no two of which are read from the same wire type."""

    members: tuple[Shape, ...]

    @property
    def kind(self) -> str:
        return " or ".join(member.kind for member in self.members)

    @property
    def wire_types(self) -> tuple[str, ...]:
        return tuple(tag for member in self.members for tag in member.wire_types)

    @property
    def empty_when_absent(self) -> bool:
        return any(member.empty_when_absent for member in self.members)

    def _member(self, value: object, path: Path) -> Shape:
        for member in self.members:
            if member.accepts(value):
                return member
        raise self.unexpected(value, path)

    def accepts(self, value: object) -> bool:
        return any(member.accepts(value) for member in self.members)

    def encode(self, value: Any, path: Path = ()) -> Wire:
        return self._member(value, path).encode(value, path)

    def decode(self, wire: Wire, path: Path = ()) -> Any:
        tag = self.take(wire, path)[0]
        return next(member for member in self.members if tag in member.wire_types).decode(wire, path)

    def encode_attribute(self, value: Any, path: Path = ()) -> Wire | None:
        return self._member(value, path).encode_attribute(value, path)

    def decode_attribute(self, wire: Wire | None, path: Path = ()) -> Any:
        if wire is None:
            for member in self.members:
                if member.empty_when_absent:
                    return member.decode_attribute(None, path)
            return Shape.decode_attribute(self, None, path)
        return self.decode(wire, path)

    def normalize(self, value: Any) -> Any:
        for member in self.members:
            if member.accepts(value):
                return member.normalize(value)
        return value

    def remedy(self, value: object) -> str:  # noqa: ARG002
        return "convert it to one of these"


def _positions_by_tag(tags: tuple[tuple[Any, ...], ...]) -> dict[tuple[str, Any], int]:
    pairs = ((position, value) for position, values in enumerate(tags) for value in values)
    return {wire_key(LiteralShape((value,)).encode(value)): position for position, value in pairs}


class TaggedUnion(Shape, frozen=True, dict=True):
    """One of several classes, each with a Literal field of the same stored name and values of its own.

    `tags` holds the values of each member, at the same position.
    """

    attribute: str
    members: tuple[Shape, ...]
    tags: tuple[tuple[Any, ...], ...]

    @cached_property
    def _positions(self) -> dict[tuple[str, Any], int]:
        return _positions_by_tag(self.tags)

    @property
    def kind(self) -> str:
        return " or ".join(member.kind for member in self.members)

    @property
    def wire_types(self) -> tuple[str, ...]:
        return ("M",)

    def accepts(self, value: object) -> bool:
        return any(member.accepts(value) for member in self.members)

    def encode(self, value: Any, path: Path = ()) -> Wire:
        for member in self.members:
            if member.accepts(value):
                return member.encode(value, path)
        raise self.unexpected(value, path)

    def decode(self, wire: Wire, path: Path = ()) -> Any:
        content = self.take(wire, path)[1]
        tag = content.get(self.attribute)
        if tag is None:
            problem = f"{with_article(self.kind)} expected, the tag {self.attribute!r} that tells which is missing"
            raise DecodeFailure(path, problem)
        key = wire_key(tag, (*path, self.attribute)) if split(tag, path)[0] in {"S", "N", "B", "BOOL"} else None
        position = None if key is None else self._positions.get(key)
        if position is None:
            problem = f"{with_article(self.kind)} expected, the tag {self.attribute!r} is of none of them"
            raise DecodeFailure(path, problem)
        return self.members[position].decode(wire, path)

    def normalize(self, value: Any) -> Any:
        for member in self.members:
            if member.accepts(value):
                return member.normalize(value)
        return value

    def remedy(self, value: object) -> str:  # noqa: ARG002
        return "pass an instance of one of these classes"
