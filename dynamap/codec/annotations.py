"""What `Annotated[...]` may say about a field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from dynamap.errors import ModelError

__all__ = ["Attribute", "EpochMillis", "EpochSeconds", "Extras", "Normalize"]


class Attribute(msgspec.Struct, frozen=True):
    """How a field is stored.

    `name` is the attribute's name in DynamoDB, `aliases` are older names that are still read, in this order.
    `encode` turns the field's value into a plain one (str, int, float, Decimal, bool, bytes, None, list, dict, set) and
    `decode` turns what was stored back; None of an Optional passes by both. With `stored=False` nothing is written and
    the field is recovered from a key.
    """

    name: str | None = None
    aliases: tuple[str, ...] = ()
    encode: Callable[[Any], Any] | None = None
    decode: Callable[[Any], Any] | None = None
    stored: bool = True

    def __post_init__(self) -> None:
        given: Any = self.aliases
        if isinstance(given, str):
            msg = f"Attribute(aliases={given!r}) would be one alias for each letter: write aliases=({given!r},)"
            raise ModelError(msg)
        for each in (self.name, *self.aliases):
            if isinstance(each, str) and any("\ud800" <= character <= "\udfff" for character in each):
                msg = f"the attribute name {each!r} has half of a surrogate pair, which no request can hold: correct it"
                raise ModelError(msg)


class EpochSeconds(msgspec.Struct, frozen=True):
    """Stored as a Number of whole seconds since 1970, rounded up; on a datetime, an int or a float.

    This is what DynamoDB's TTL takes. An int or float so large that it must be milliseconds is an EncodeError.
    """


class EpochMillis(msgspec.Struct, frozen=True):
    """Stored as a Number of whole milliseconds since 1970, rounded up; on a datetime, an int or a float."""


class Normalize(msgspec.Struct, frozen=True):
    """Applies `function` to the value wherever it is written or looked up: stored values, keys and conditions alike."""

    function: Callable[[Any], Any]


class Extras(msgspec.Struct, frozen=True):
    """On a `dict[str, Any]` field: keeps the attributes that the class does not know, and writes them back."""
