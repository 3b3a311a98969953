"""Shapes of single values: texts, numbers, booleans, bytes, UUIDs."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, cast
from uuid import UUID

from dynamap.codec.failures import DecodeFailure, Wire, kind_of, refusal
from dynamap.codec.numbers import decimal_text, float_text, integer_text, parse_integer, parse_number
from dynamap.codec.paths import Path
from dynamap.codec.shapes import Shape

__all__ = ["Binary", "Boolean", "Float", "Integer", "Number", "Text", "Uuid", "checked_text"]


def checked_text(value: str, path: Path) -> str:
    """Give the plain str of a str; raises EncodeError for lone surrogates, which UTF-8 cannot hold."""
    text = str.__str__(value)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        msg = "a text with a lone surrogate, which is no Unicode text; decode its bytes with the right encoding"
        raise refusal(path, msg) from error
    return text


class Text(Shape, frozen=True):
    """A str, stored as S; the empty one too."""

    @property
    def kind(self) -> str:
        return "str"

    @property
    def wire_types(self) -> tuple[str, ...]:
        return ("S",)

    def accepts(self, value: object) -> bool:
        return isinstance(value, str)

    def encode(self, value: Any, path: Path = ()) -> Wire:
        if not isinstance(value, str):
            raise self.unexpected(value, path)
        return {"S": checked_text(value, path)}

    def decode(self, wire: Wire, path: Path = ()) -> Any:
        return self.take(wire, path)[1]

    def remedy(self, value: object) -> str:
        return "declare bytes, or use value.decode()" if isinstance(value, bytes | bytearray) else "use str(value)"


class Integer(Shape, frozen=True):
    """An int, stored as N and read exactly at any size; a bool is none."""

    @property
    def kind(self) -> str:
        return "int"

    @property
    def wire_types(self) -> tuple[str, ...]:
        return ("N",)

    def accepts(self, value: object) -> bool:
        return isinstance(value, int) and not isinstance(value, bool)

    def encode(self, value: Any, path: Path = ()) -> Wire:
        if not self.accepts(value):
            raise self.unexpected(value, path)
        return {"N": integer_text(value, path)}

    def decode(self, wire: Wire, path: Path = ()) -> Any:
        return parse_integer(self.take(wire, path)[1], path)

    def remedy(self, value: object) -> str:
        return f"use int(value), or declare {kind_of(value)}"


class Float(Shape, frozen=True):
    """A float, stored as N by its shortest repr; an int is taken if a float can hold it exactly."""

    @property
    def kind(self) -> str:
        return "float"

    @property
    def wire_types(self) -> tuple[str, ...]:
        return ("N",)

    def accepts(self, value: object) -> bool:
        return isinstance(value, float | int) and not isinstance(value, bool)

    def encode(self, value: Any, path: Path = ()) -> Wire:
        if isinstance(value, float):
            return {"N": float_text(value, path)}
        if not self.accepts(value):
            raise self.unexpected(value, path)
        try:
            exact = int(float(value)) == value
        except OverflowError:
            exact = False
        if not exact:
            raise refusal(path, "an int that no float holds exactly; declare int")
        return {"N": integer_text(value, path)}

    def decode(self, wire: Wire, path: Path = ()) -> Any:
        return float(parse_number(self.take(wire, path)[1], path))

    def remedy(self, value: object) -> str:
        return f"use float(value), or declare {kind_of(value)}"


class Number(Shape, frozen=True):
    """A Decimal, stored as N; equal by value after a round trip, its exponent is not kept ("1.10" reads as "1.1")."""

    @property
    def kind(self) -> str:
        return "Decimal"

    @property
    def wire_types(self) -> tuple[str, ...]:
        return ("N",)

    def accepts(self, value: object) -> bool:
        return isinstance(value, Decimal)

    def encode(self, value: Any, path: Path = ()) -> Wire:
        if not isinstance(value, Decimal):
            raise self.unexpected(value, path)
        return {"N": decimal_text(value, path)}

    def decode(self, wire: Wire, path: Path = ()) -> Any:
        return parse_number(self.take(wire, path)[1], path)

    def remedy(self, value: object) -> str:
        if isinstance(value, bool):
            return "declare bool, or use Decimal(value)"
        return "use Decimal(value)" if isinstance(value, int) else "use Decimal(str(value))"


class Boolean(Shape, frozen=True):
    """A bool, stored as BOOL and never as a number."""

    @property
    def kind(self) -> str:
        return "bool"

    @property
    def wire_types(self) -> tuple[str, ...]:
        return ("BOOL",)

    @property
    def keyable(self) -> bool:
        return True

    def accepts(self, value: object) -> bool:
        return isinstance(value, bool)

    def encode(self, value: Any, path: Path = ()) -> Wire:
        if not isinstance(value, bool):
            raise self.unexpected(value, path)
        return {"BOOL": value}

    def decode(self, wire: Wire, path: Path = ()) -> Any:
        return bool(self.take(wire, path)[1])

    def encode_key(self, value: Any, path: Path = ()) -> str:
        return "true" if self.encode(value, path)["BOOL"] else "false"

    def decode_key(self, text: str, path: Path = ()) -> Any:
        if text not in {"true", "false"}:
            raise DecodeFailure(path, 'a bool expected, found a key that is neither "true" nor "false"')
        return text == "true"

    def remedy(self, value: object) -> str:
        return f"use bool(value), or declare {kind_of(value)}"


class Binary(Shape, frozen=True):
    """Bytes, stored as B; bytearray and memoryview are taken too, and `factory` is what comes back."""

    factory: type[bytes | bytearray] = bytes

    @property
    def kind(self) -> str:
        return self.factory.__name__

    @property
    def wire_types(self) -> tuple[str, ...]:
        return ("B",)

    def accepts(self, value: object) -> bool:
        return isinstance(value, bytes | bytearray | memoryview)

    def encode(self, value: Any, path: Path = ()) -> Wire:
        if not self.accepts(value):
            raise self.unexpected(value, path)
        return {"B": bytes(value)}

    def decode(self, wire: Wire, path: Path = ()) -> Any:
        return self.factory(bytes(self.take(wire, path)[1]))

    def normalize(self, value: Any) -> Any:
        # what can change is no key of a dict
        return bytes(cast("bytes", value)) if isinstance(value, bytearray | memoryview) else value

    def remedy(self, value: object) -> str:
        return "use value.encode()" if isinstance(value, str) else "use bytes, bytearray or memoryview"


class Uuid(Shape, frozen=True):
    """A UUID, stored as S in lower case with dashes; read in every form that UUID() takes."""

    @property
    def kind(self) -> str:
        return "UUID"

    @property
    def wire_types(self) -> tuple[str, ...]:
        return ("S",)

    def accepts(self, value: object) -> bool:
        return isinstance(value, UUID)

    def encode(self, value: Any, path: Path = ()) -> Wire:
        if not isinstance(value, UUID):
            raise self.unexpected(value, path)
        return {"S": str(value)}

    def decode(self, wire: Wire, path: Path = ()) -> Any:
        try:
            return UUID(self.take(wire, path)[1])
        except ValueError as error:
            raise DecodeFailure(path, "a UUID expected, found a text that is none") from error

    def remedy(self, value: object) -> str:  # noqa: ARG002
        return "use UUID(value)"
