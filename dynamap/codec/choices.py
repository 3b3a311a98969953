"""Shapes of values out of a fixed choice: enums and literals."""

from __future__ import annotations

from enum import Enum, Flag
from functools import cached_property
from typing import Any

from dynamap.codec.anything import AnyShape, scalar_wire, wire_key
from dynamap.codec.failures import DecodeFailure, Wire, kind_of, refusal, with_article
from dynamap.codec.paths import Path
from dynamap.codec.shapes import Shape

__all__ = ["EnumShape", "LiteralShape"]


def _member_wire(member: Enum, path: Path = ()) -> Wire:
    wire = scalar_wire(member.value, path)
    if wire is None:
        value = with_article(kind_of(member.value))
        problem = f"an enum of plain single values expected, a value of {type(member).__qualname__} is {value}"
        raise refusal(path, f"{problem}; give the field Attribute(encode=, decode=)")
    return wire


def _members_by_wire(cls: type[Enum]) -> dict[tuple[str, Any], Enum]:
    return {wire_key(_member_wire(member)): member for member in cls}


def _literal_wire(value: object) -> Wire:
    return AnyShape().encode(value.value if isinstance(value, Enum) else value)


class EnumShape(Shape, frozen=True, dict=True):
    """An Enum, stored by its members' values; a Flag by its number, combinations too.

    A stored value that is no member goes through the class, so that `_missing_` can map old values.
    """

    cls: type[Enum]

    def __post_init__(self) -> None:
        # a member that cannot be stored is an error at once
        assert self._members is not None  # noqa: S101

    @cached_property
    def _members(self) -> dict[tuple[str, Any], Enum]:
        return _members_by_wire(self.cls)

    @property
    def kind(self) -> str:
        return self.cls.__qualname__

    @property
    def wire_types(self) -> tuple[str, ...]:
        return ("N",) if issubclass(self.cls, Flag) else tuple(dict.fromkeys(tag for tag, _ in self._members))

    def accepts(self, value: object) -> bool:
        return isinstance(value, self.cls)

    def encode(self, value: Any, path: Path = ()) -> Wire:
        if not isinstance(value, self.cls):
            raise self.unexpected(value, path)
        return _member_wire(value, path)

    def decode(self, wire: Wire, path: Path = ()) -> Any:
        self.take(wire, path)
        member = self._members.get(wire_key(wire, path))
        if member is not None:
            return member
        try:
            return self.cls(AnyShape().decode(wire, path))
        except Exception as error:
            problem = f"a member of {self.kind} expected, found a value that is none; add it, or map it in _missing_"
            raise DecodeFailure(path, problem) from error

    def remedy(self, value: object) -> str:  # noqa: ARG002
        return f"use {self.kind}(value)"


def _stored_literals(values: tuple[Any, ...]) -> dict[tuple[type, Any], Wire]:
    return {(type(value), value): _literal_wire(value) for value in values}


def _readable_literals(values: tuple[Any, ...]) -> dict[tuple[str, Any], Any]:
    return {wire_key(_literal_wire(value)): value for value in values}


class LiteralShape(Shape, frozen=True, dict=True):
    """A Literal: each of its values is stored as what it is, enum members by value; 1, True and "1" are three."""

    values: tuple[Any, ...]

    @cached_property
    def _stored(self) -> dict[tuple[type, Any], Wire]:
        return _stored_literals(self.values)

    @cached_property
    def _readable(self) -> dict[tuple[str, Any], Any]:
        return _readable_literals(self.values)

    @property
    def kind(self) -> str:
        return f"Literal[{', '.join(map(_shown, self.values))}]" if self.values else "None"

    @property
    def wire_types(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(tag for tag, _ in self._readable))

    @property
    def distinct(self) -> bool:
        """Whether all values can be told apart once they are stored."""
        return len(self._readable) == len(self.values)

    def accepts(self, value: object) -> bool:
        try:
            return (type(value), value) in self._stored
        except TypeError:  # unhashable
            return False

    def encode(self, value: Any, path: Path = ()) -> Wire:
        if not self.accepts(value):
            raise self.unexpected(value, path)
        return dict(self._stored[type(value), value])

    def decode(self, wire: Wire, path: Path = ()) -> Any:
        self.take(wire, path)
        key = wire_key(wire, path)
        if key not in self._readable:
            raise DecodeFailure(path, f"{with_article(self.kind)} expected, found another value")
        return self._readable[key]

    def remedy(self, value: object) -> str:  # noqa: ARG002
        return "use one of its values" if self.values else "declare the type that it has"


def _shown(value: object) -> str:
    return f"{type(value).__qualname__}.{value.name}" if isinstance(value, Enum) else repr(value)
