"""Shapes around another shape or around functions: optional, normalized, converted, referred to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from dynamap.codec.anything import AnyShape
from dynamap.codec.failures import DecodeFailure, Wire, refusal, split
from dynamap.codec.paths import Path
from dynamap.codec.shapes import ALL_WIRE_TYPES, NULL, Shape
from dynamap.errors import DynamapError, ModelError

__all__ = ["Converted", "Custom", "Normalized", "OptionalShape", "Reference"]

_PLAIN = AnyShape()


def _call(function: Callable[[Any], Any], value: object, path: Path, what: str) -> Any:
    """Call a user's function while encoding; what it raises becomes an EncodeError."""
    try:
        return function(value)
    except DynamapError:
        raise
    except Exception as error:
        msg = f"{what} raised {type(error).__name__}; see the error that caused this one"
        raise refusal(path, msg) from error


def _call_back(function: Callable[[Any], Any], value: object, path: Path, what: str) -> Any:
    """Call a user's function while decoding; what it raises becomes a DecodeFailure."""
    try:
        return function(value)
    except DecodeFailure:
        raise
    except Exception as error:
        raise DecodeFailure(path, f"{what} raised {type(error).__name__}") from error


class OptionalShape(Shape, frozen=True):
    """A value or None. None is NULL in a container, absent as an attribute.

    It is NULL as an attribute too where absence already means something else: the empty set, or another default.
    """

    inner: Shape
    stores_null: bool = False

    @property
    def kind(self) -> str:
        return f"{self.inner.kind} or None"

    @property
    def wire_types(self) -> tuple[str, ...]:
        return (*self.inner.wire_types, NULL)

    @property
    def empty_when_absent(self) -> bool:
        return self.inner.empty_when_absent

    def accepts(self, value: object) -> bool:
        return value is None or self.inner.accepts(value)

    def encode(self, value: Any, path: Path = ()) -> Wire:
        return {NULL: True} if value is None else self.inner.encode(value, path)

    def decode(self, wire: Wire, path: Path = ()) -> Any:
        return None if split(wire, path)[0] == NULL else self.inner.decode(wire, path)

    def encode_attribute(self, value: Any, path: Path = ()) -> Wire | None:
        if value is None:
            return {NULL: True} if self.stores_null or self.empty_when_absent else None
        return self.inner.encode_attribute(value, path)

    def decode_attribute(self, wire: Wire | None, path: Path = ()) -> Any:
        if wire is None:
            return self.inner.decode_attribute(None, path) if self.empty_when_absent else None
        return self.decode(wire, path)

    def normalize(self, value: Any) -> Any:
        return None if value is None else self.inner.normalize(value)

    def storing_null(self) -> Shape:
        return msgspec.structs.replace(self, stores_null=True)

    def at(self, step: Any) -> tuple[str | int, Shape]:
        return self.inner.at(step)

    def remedy(self, value: object) -> str:
        return self.inner.remedy(value)


class Normalized(Shape, frozen=True):
    """A value that a function brings into its stored form, in items, keys and lookups alike."""

    inner: Shape
    function: Callable[[Any], Any]

    @property
    def kind(self) -> str:
        return self.inner.kind

    @property
    def wire_types(self) -> tuple[str, ...]:
        return self.inner.wire_types

    @property
    def empty_when_absent(self) -> bool:
        return self.inner.empty_when_absent

    @property
    def keyable(self) -> bool:
        return self.inner.keyable

    def accepts(self, value: object) -> bool:
        return self.inner.accepts(value)

    def _applied(self, value: object, path: Path) -> Any:
        if not self.inner.accepts(value):
            raise self.inner.unexpected(value, path)
        return _call(self.function, value, path, "the Normalize function")

    def encode(self, value: Any, path: Path = ()) -> Wire:
        return self.inner.encode(self._applied(value, path), path)

    def decode(self, wire: Wire, path: Path = ()) -> Any:
        return self.inner.decode(wire, path)

    def encode_attribute(self, value: Any, path: Path = ()) -> Wire | None:
        return self.inner.encode_attribute(self._applied(value, path), path)

    def decode_attribute(self, wire: Wire | None, path: Path = ()) -> Any:
        return self.inner.decode_attribute(wire, path)

    def encode_key(self, value: Any, path: Path = ()) -> str:
        return self.inner.encode_key(self._applied(value, path), path)

    def decode_key(self, text: str, path: Path = ()) -> Any:
        return self.inner.decode_key(text, path)

    def normalize(self, value: Any) -> Any:
        return self.inner.normalize(self._applied(value, ()))

    def storing_null(self) -> Shape:
        return msgspec.structs.replace(self, inner=self.inner.storing_null())

    def at(self, step: Any) -> tuple[str | int, Shape]:
        return self.inner.at(step)

    def remedy(self, value: object) -> str:
        return self.inner.remedy(value)


class Custom(Shape, frozen=True):
    """A value that the user's own functions turn into a plain one and back.

    With one function only, the declared type serves for the other direction; `inner` is None where there are both.
    """

    name: str
    inner: Shape | None
    encoder: Callable[[Any], Any] | None
    decoder: Callable[[Any], Any] | None

    @property
    def kind(self) -> str:
        return self.name

    @property
    def wire_types(self) -> tuple[str, ...]:
        return ALL_WIRE_TYPES if self.decoder is not None or self.inner is None else self.inner.wire_types

    @property
    def keyable(self) -> bool:
        return False

    def accepts(self, value: object) -> bool:
        return self.inner is None or self.inner.accepts(value)

    @property
    def empty_when_absent(self) -> bool:
        both = self.encoder is not None and self.decoder is not None
        return self.inner is not None and not both and self.inner.empty_when_absent

    def encode(self, value: Any, path: Path = ()) -> Wire:
        if self.encoder is None and self.inner is not None:
            return self.inner.encode(value, path)
        plain = value if self.encoder is None else _call(self.encoder, value, path, "the encode function")
        return _PLAIN.encode(plain, path)

    def decode(self, wire: Wire, path: Path = ()) -> Any:
        if self.decoder is None and self.inner is not None:
            return self.inner.decode(wire, path)
        plain = _PLAIN.decode(wire, path)
        return plain if self.decoder is None else _call_back(self.decoder, plain, path, "the decode function")

    def encode_attribute(self, value: Any, path: Path = ()) -> Wire | None:
        if self.encoder is None and self.inner is not None:
            return self.inner.encode_attribute(value, path)
        return self.encode(value, path)

    def decode_attribute(self, wire: Wire | None, path: Path = ()) -> Any:
        if wire is None and self.empty_when_absent and self.inner is not None:
            return self.inner.decode_attribute(None, path)
        return super().decode_attribute(wire, path)


class Converted(Shape, frozen=True):
    """A type that dynamap does not know: the table's cattrs converter makes a plain value of it, and that is stored."""

    hint: Any
    name: str
    converter: Any

    def __repr__(self) -> str:
        return f"Converted(hint={self.hint!r}, name={self.name!r})"

    @property
    def kind(self) -> str:
        return self.name

    @property
    def wire_types(self) -> tuple[str, ...]:
        return ALL_WIRE_TYPES

    @property
    def keyable(self) -> bool:
        return False

    def accepts(self, value: object) -> bool:
        return value is not None and (not isinstance(self.hint, type) or isinstance(value, self.hint))

    def encode(self, value: Any, path: Path = ()) -> Wire:
        if not self.accepts(value):
            raise self.unexpected(value, path)
        plain = _call(lambda given: self.converter.unstructure(given, self.hint), value, path, "the converter")
        return _PLAIN.encode(plain, path)

    def decode(self, wire: Wire, path: Path = ()) -> Any:
        plain = _PLAIN.decode(wire, path)
        return _call_back(lambda given: self.converter.structure(given, self.hint), plain, path, "the converter")


class Reference(Shape, frozen=True, eq=False):
    """A type that is still being looked at when it is met again inside of itself; `target` is its shape."""

    name: str
    _key: Any
    _memo: dict[Any, Shape]

    @property
    def target(self) -> Shape:
        """The shape that is referred to; ModelError while it is not known yet."""
        if self._key not in self._memo:
            msg = (
                f"{self.name} contains itself where its stored form must be known: as an element of a set, or "
                f"directly; put it into a list or a dict"
            )
            raise ModelError(msg)
        return self._memo[self._key]

    def __repr__(self) -> str:
        return f"Reference({self.name!r})"

    @property
    def kind(self) -> str:
        return self.name

    @property
    def wire_types(self) -> tuple[str, ...]:
        return self.target.wire_types

    @property
    def empty_when_absent(self) -> bool:
        return self.target.empty_when_absent

    @property
    def keyable(self) -> bool:
        return False

    def accepts(self, value: object) -> bool:
        return self.target.accepts(value)

    def encode(self, value: Any, path: Path = ()) -> Wire:
        return self.target.encode(value, path)

    def decode(self, wire: Wire, path: Path = ()) -> Any:
        return self.target.decode(wire, path)

    def encode_attribute(self, value: Any, path: Path = ()) -> Wire | None:
        return self.target.encode_attribute(value, path)

    def decode_attribute(self, wire: Wire | None, path: Path = ()) -> Any:
        return self.target.decode_attribute(wire, path)

    def normalize(self, value: Any) -> Any:
        return self.target.normalize(value)

    def at(self, step: Any) -> tuple[str | int, Shape]:
        return self.target.at(step)

    def remedy(self, value: object) -> str:
        return self.target.remedy(value)
