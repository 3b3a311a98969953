"""Shapes of lists, tuples, sets and dicts, at every depth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dynamap.codec.anything import build_set
from dynamap.codec.failures import EMPTY_KEY, DecodeFailure, Wire, refusal
from dynamap.codec.paths import Path
from dynamap.codec.shapes import Shape, refuse_depth

__all__ = ["ListOf", "MapOf", "SetOf", "TupleOf"]

_ELEMENT_TYPES = {"SS": "S", "NS": "N", "BS": "B"}


def _position(shape: Shape, step: object) -> int:
    if isinstance(step, bool) or not isinstance(step, int) or step < 0:
        msg = f"a {shape.kind} is indexed by a position from 0 on, not by {step!r}"
        raise LookupError(msg)
    return step


class ListOf(Shape, frozen=True):
    """A list of one element type, stored as L; `factory` is what comes back, `accepted` what is taken."""

    element: Shape
    factory: type[list[Any] | tuple[Any, ...]] = list
    accepted: tuple[type, ...] = (list,)

    @property
    def kind(self) -> str:
        return self.factory.__name__

    @property
    def wire_types(self) -> tuple[str, ...]:
        return ("L",)

    def accepts(self, value: object) -> bool:
        return isinstance(value, self.accepted)

    def encode(self, value: Any, path: Path = ()) -> Wire:
        if not self.accepts(value):
            raise self.unexpected(value, path)
        refuse_depth(path)
        return {"L": [self.element.encode(item, (*path, index)) for index, item in enumerate(value)]}

    def decode(self, wire: Wire, path: Path = ()) -> Any:
        content = self.take(wire, path)[1]
        return self.factory([self.element.decode(item, (*path, index)) for index, item in enumerate(content)])

    def normalize(self, value: Any) -> Any:
        return self.factory([self.element.normalize(item) for item in value]) if self.accepts(value) else value

    def at(self, step: Any) -> tuple[str | int, Shape]:
        return _position(self, step), self.element

    def remedy(self, value: object) -> str:  # noqa: ARG002
        return f"use {self.kind}(value)"


class TupleOf(Shape, frozen=True):
    """A tuple with a type for each position, stored as L."""

    elements: tuple[Shape, ...]

    @property
    def kind(self) -> str:
        return f"tuple of {len(self.elements)}"

    @property
    def wire_types(self) -> tuple[str, ...]:
        return ("L",)

    def accepts(self, value: object) -> bool:
        return isinstance(value, tuple)

    def encode(self, value: Any, path: Path = ()) -> Wire:
        if not self.accepts(value):
            raise self.unexpected(value, path)
        given: tuple[Any, ...] = value
        if len(given) != len(self.elements):
            problem = f"a {self.kind} expected, got a tuple of {len(given)}; pass one value for each position"
            raise refusal(path, problem)
        refuse_depth(path)
        pairs = enumerate(zip(self.elements, given, strict=True))
        return {"L": [shape.encode(item, (*path, index)) for index, (shape, item) in pairs]}

    def decode(self, wire: Wire, path: Path = ()) -> Any:
        content = self.take(wire, path)[1]
        if len(content) != len(self.elements):
            raise DecodeFailure(path, f"a {self.kind} expected, found a list (L) of {len(content)}")
        pairs = enumerate(zip(self.elements, content, strict=True))
        return tuple(shape.decode(item, (*path, index)) for index, (shape, item) in pairs)

    def normalize(self, value: Any) -> Any:
        if not self.accepts(value) or len(value) != len(self.elements):
            return value
        return tuple(shape.normalize(item) for shape, item in zip(self.elements, value, strict=True))

    def at(self, step: Any) -> tuple[str | int, Shape]:
        position = _position(self, step)
        return position, self.elements[position]

    def remedy(self, value: object) -> str:  # noqa: ARG002
        return "use tuple(value)"


class SetOf(Shape, frozen=True):
    """A set of texts, numbers or bytes, stored as SS, NS or BS, in the order of the elements' stored bytes.

    DynamoDB has no empty sets: as an attribute it is absent, in a container it is an empty list; both read back as an
    empty set.
    """

    element: Shape
    factory: type[set[Any] | frozenset[Any]] = set

    @property
    def kind(self) -> str:
        return self.factory.__name__

    @property
    def wire_types(self) -> tuple[str, ...]:
        own = tuple(tag for tag, element in _ELEMENT_TYPES.items() if element in self.element.wire_types)
        return (*own, "L")

    @property
    def empty_when_absent(self) -> bool:
        return True

    def accepts(self, value: object) -> bool:
        return isinstance(value, set | frozenset)

    def encode(self, value: Any, path: Path = ()) -> Wire:
        if not self.accepts(value):
            raise self.unexpected(value, path)
        return build_set((self.element.encode(item, path) for item in value), path)

    def decode(self, wire: Wire, path: Path = ()) -> Any:
        tag, content = self.take(wire, path)
        if tag == "L":
            return self.factory(self.element.decode(item, (*path, index)) for index, item in enumerate(content))
        inner = _ELEMENT_TYPES[tag]
        return self.factory(self.element.decode({inner: item}, path) for item in content)

    def encode_attribute(self, value: Any, path: Path = ()) -> Wire | None:
        if self.accepts(value) and not value:
            return None
        return self.encode(value, path)

    def decode_attribute(self, wire: Wire | None, path: Path = ()) -> Any:
        return self.factory() if wire is None else self.decode(wire, path)

    def normalize(self, value: Any) -> Any:
        return self.factory(self.element.normalize(item) for item in value) if self.accepts(value) else value

    def remedy(self, value: object) -> str:  # noqa: ARG002
        return f"use {self.kind}(value)"


class MapOf(Shape, frozen=True):
    """A dict with typed keys, stored as M: keys that are no texts stand as the text that they are stored as."""

    key: Shape
    value: Shape
    accepted: tuple[type, ...] = (dict,)

    @property
    def kind(self) -> str:
        return "dict"

    @property
    def wire_types(self) -> tuple[str, ...]:
        return ("M",)

    def accepts(self, value: object) -> bool:
        return isinstance(value, self.accepted)

    def encode(self, value: Any, path: Path = ()) -> Wire:
        if not self.accepts(value):
            raise self.unexpected(value, path)
        refuse_depth(path)
        content: dict[str, Wire] = {}
        entries: Mapping[Any, Any] = value
        for key, item in entries.items():
            text = self.key.encode_key(key, path)
            if not text:
                raise refusal(path, EMPTY_KEY)
            if text in content:
                raise refusal((*path, text), "two keys of the dict are stored as this one; make them distinct")
            content[text] = self.value.encode(item, (*path, text))
        return {"M": content}

    def decode(self, wire: Wire, path: Path = ()) -> Any:
        content: dict[Any, Any] = {}
        for text, item in self.take(wire, path)[1].items():
            key = self.key.decode_key(text, (*path, text))
            if key in content:
                raise DecodeFailure((*path, text), "two keys of the map are read as one and the same key")
            content[key] = self.value.decode(item, (*path, text))
        return content

    def normalize(self, value: Any) -> Any:
        if not self.accepts(value):
            return value
        return {self.key.normalize(key): self.value.normalize(item) for key, item in value.items()}

    def at(self, step: Any) -> tuple[str | int, Shape]:
        if not self.key.accepts(step):
            msg = f"a dict with {self.key.kind} keys has nothing at {step!r}"
            raise LookupError(msg)
        return self.key.encode_key(step), self.value

    def remedy(self, value: object) -> str:  # noqa: ARG002
        return "use dict(value)"
