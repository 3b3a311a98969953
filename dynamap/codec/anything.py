"""The shape of values whose type is not declared, and of the plain values that others are turned into."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, cast

import msgspec

from dynamap.codec.failures import EMPTY_KEY, DecodeFailure, Wire, found, kind_of, refusal, split
from dynamap.codec.numbers import decimal_text, float_text, integer_text, parse_number
from dynamap.codec.paths import Path
from dynamap.codec.scalars import checked_text
from dynamap.codec.shapes import ALL_WIRE_TYPES, NULL, Shape, refuse_depth

__all__ = ["AnyShape", "build_set", "scalar_wire", "set_order", "wire_key"]

_SET_TYPES = {"S": "SS", "N": "NS", "B": "BS"}


def scalar_wire(value: object, path: Path = ()) -> Wire | None:
    """Give the attribute value of a plain single value; None for anything else. Raises EncodeError with the path."""
    if value is None:
        return {NULL: True}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, str):
        return {"S": checked_text(value, path)}
    if isinstance(value, int):
        return {"N": integer_text(value, path)}
    if isinstance(value, float):
        return {"N": float_text(value, path)}
    if isinstance(value, Decimal):
        return {"N": decimal_text(value, path)}
    if isinstance(value, bytes | bytearray | memoryview):
        return {"B": bytes(cast("bytes", value))}
    return None


def wire_key(wire: Wire, path: Path = ()) -> tuple[str, Any]:
    """Give what tells single values apart on the wire: numbers by value, whatever their text."""
    tag, content = split(wire, path)
    if tag == "N":
        return tag, parse_number(content, path)
    return (tag, bytes(content)) if tag == "B" else (tag, content)


def set_order(element: str | bytes) -> bytes:
    """Sort the elements of a set as DynamoDB compares texts: by their UTF-8 bytes."""
    return element.encode("utf-8") if isinstance(element, str) else element


def build_set(elements: Iterable[Wire], path: Path) -> Wire:
    """Give the attribute value of a set, in a fixed order; the empty one becomes an empty list.

    Raises EncodeError unless all elements are texts, all numbers, or all binary.
    """
    kind: str | None = None
    contents: dict[str | bytes, None] = {}
    for element in elements:
        tag, content = split(element, path)
        if tag not in _SET_TYPES or kind not in {None, tag}:
            raise refusal(path, "a set in DynamoDB holds only texts, only numbers or only bytes; use a list")
        kind = tag
        contents[content] = None
    return {"L": []} if kind is None else {_SET_TYPES[kind]: sorted(contents, key=set_order)}


class AnyShape(Shape, frozen=True):
    """A value of no declared type: whatever DynamoDB itself can tell apart.

    Numbers read as int if integral, else as Decimal; floats are taken and stored by their shortest repr, tuples as
    lists. Other types (dates, UUIDs, classes) are refused, since they would not come back, and so is an empty set.
    """

    stores_null: bool = False

    @property
    def kind(self) -> str:
        return "plain value"

    @property
    def wire_types(self) -> tuple[str, ...]:
        return ALL_WIRE_TYPES

    def accepts(self, value: object) -> bool:  # noqa: ARG002
        return True

    def encode(self, value: Any, path: Path = ()) -> Wire:
        scalar = scalar_wire(value, path)
        if scalar is not None:
            return scalar
        if isinstance(value, list | tuple):
            refuse_depth(path)
            items = enumerate(cast("list[Any]", value))
            return {"L": [self.encode(item, (*path, index)) for index, item in items]}
        if isinstance(value, dict):
            refuse_depth(path)
            entries = cast("Mapping[Any, Any]", value).items()
            return {"M": {self._key(key, path): self.encode(item, (*path, key)) for key, item in entries}}
        if isinstance(value, set | frozenset):
            if not value:
                raise refusal(path, "an empty set that would not come back as one; declare the type as set[...]")
            return build_set((self._element(element, path) for element in cast("set[Any]", value)), path)
        raise self.unexpected(value, path)

    def _key(self, key: object, path: Path) -> str:
        if not isinstance(key, str):
            problem = f"a dict with str keys expected, got a key of type {kind_of(key)}; declare the type of the keys"
            raise refusal(path, problem)
        if not key:
            raise refusal(path, EMPTY_KEY)
        return checked_text(key, path)

    def _element(self, element: object, path: Path) -> Wire:
        return scalar_wire(element, path) or {"M": {}}

    def decode(self, wire: Wire, path: Path = ()) -> Any:
        tag, content = split(wire, path)
        if tag in {"S", "BOOL"}:
            return content
        if tag == "N":
            return self._number(content, path)
        if tag == "B":
            return bytes(content)
        if tag == NULL:
            return None
        if tag == "L":
            return [self.decode(item, (*path, index)) for index, item in enumerate(content)]
        if tag == "M":
            return {key: self.decode(item, (*path, key)) for key, item in content.items()}
        if tag == "SS":
            return set(content)
        if tag == "NS":
            return {self._number(item, path) for item in content}
        if tag == "BS":
            return {bytes(item) for item in content}
        raise DecodeFailure(path, f"a value expected, found {found(tag)}")

    def _number(self, text: str, path: Path) -> int | Decimal:
        number = parse_number(text, path)
        # an exponent that no stored number has would become an int of as many digits
        integral = number.adjusted() < 1000 and number == number.to_integral_value()  # noqa: PLR2004
        return int(number) if integral else number

    def encode_attribute(self, value: Any, path: Path = ()) -> Wire | None:
        return None if value is None and not self.stores_null else self.encode(value, path)

    def decode_attribute(self, wire: Wire | None, path: Path = ()) -> Any:
        return None if wire is None else self.decode(wire, path)

    def storing_null(self) -> Shape:
        return msgspec.structs.replace(self, stores_null=True)

    def at(self, step: Any) -> tuple[str | int, Shape]:
        if isinstance(step, str | int) and not isinstance(step, bool):
            return step, AnyShape()
        return Shape.at(self, step)

    def remedy(self, value: object) -> str:
        return f"declare the type as {kind_of(value)}, so that it can be read back"
