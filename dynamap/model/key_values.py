"""The text that a value of each type has inside a key, and back.

Every encoding is injective and strict: `decode` takes exactly the texts that `encode` writes. No text holds a `#`.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, timezone
from decimal import Decimal
from enum import Enum
from functools import cached_property
from typing import Any, ClassVar
from uuid import UUID

import msgspec

__all__ = [
    "Choices",
    "Day",
    "Escape",
    "Identifier",
    "Instant",
    "Integer",
    "KeyCodec",
    "KeyValueProblem",
    "Scaled",
    "Shape",
    "Text",
    "TimeOfDay",
]

DELIMITER = "#"
_DIGITS = "0123456789"
_HEXADECIMAL = "0123456789abcdef"
# an integer of more bits has more digits than a key has bytes
_MOST_BITS = 8192

Shape = tuple[tuple["str | None", bool], ...]
"""Texts as a row of (characters, repeated): None stands for every character but `#`, repeated for none or more."""


class KeyValueProblem(ValueError):
    """A value that has no text in a key; the message completes a sentence that begins with the field."""


class Escape(Enum):
    """What a text placeholder does to the characters of its value."""

    DELIMITER = "delimiter"
    ORDERED = "ordered"
    RAW = "raw"


def _picture(pattern: str) -> Shape:
    classes = {"d": _DIGITS, "h": _HEXADECIMAL}
    return tuple((classes.get(character, character), False) for character in pattern)


class KeyCodec(msgspec.Struct, frozen=True):
    """How the values of one type are written inside a key."""

    @property
    def kind(self) -> str:
        """The type as messages name it, with its article."""
        raise NotImplementedError

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Rows of characters of which every text is one; they may admit more than is ever written."""
        raise NotImplementedError

    @property
    def texts(self) -> tuple[str, ...] | None:
        """Every text there is, where they are few and known."""
        return None

    @property
    def free(self) -> bool:
        """Whether callers choose the text freely, as with `str`."""
        return False

    @property
    def self_terminating(self) -> bool:
        """Whether no text begins with another one: what follows needs no delimiter and cannot disturb the order."""
        return False

    @property
    def ordered(self) -> bool:
        """Whether texts sort as their values do, where nothing follows them."""
        return self.self_terminating

    @property
    def ceiling(self) -> str | None:
        """A character above the first one of every text; None if there is no such character."""
        return None

    def encode(self, value: object) -> str:
        """The text of a value; KeyValueProblem if it has none."""
        raise NotImplementedError

    def read(self, text: str) -> Any:
        """The value of a text that may have been written in another form; ValueError if it is none at all."""
        raise NotImplementedError

    def decode(self, text: str) -> Any:
        """The value whose text this is; ValueError if `encode` writes no such text."""
        value = self.read(text)
        if self.encode(value) != text:
            msg = f"not written as {self.kind} is in a key"
            raise ValueError(msg)
        return value

    def end(self, text: str, start: int) -> int:
        """Where a self-terminating text that begins at *start* ends; beyond the end of *text* if it is cut off."""
        raise NotImplementedError

    def wrong(self, value: object) -> KeyValueProblem:
        """The error for a value of another type; the value itself is not shown."""
        return KeyValueProblem(f"must be {self.kind}, not {type(value).__name__}")


_ESCAPED = re.compile(r"\$([0-9a-f]{2})")
_ESCAPES = {Escape.DELIMITER: re.compile("[#$]"), Escape.ORDERED: re.compile("[\0-$]")}


def _escape(match: re.Match[str]) -> str:
    return f"${ord(match[0]):02x}"


def _unescape(match: re.Match[str]) -> str:
    return chr(int(match[1], 16))


class Text(KeyCodec, frozen=True):
    """`str`. ORDERED escapes every character up to `$`: a `#` after the text sorts below all that it can hold."""

    escape: Escape

    @property
    def kind(self) -> str:
        return "a str"

    @property
    def shapes(self) -> tuple[Shape, ...]:
        return (((None, True),),)

    @property
    def free(self) -> bool:
        return True

    @property
    def ordered(self) -> bool:
        return True

    @property
    def floor(self) -> str:
        """The least character that a text can begin with."""
        return "$" if self.escape is Escape.ORDERED else "\0"

    def encode(self, value: object) -> str:
        if not isinstance(value, str):
            raise self.wrong(value)
        text = value if type(value) is str else str.__str__(value)
        if self.escape is Escape.RAW:
            if DELIMITER in text:
                msg = (
                    "contains the delimiter '#', which raw text does not escape: leave out ':raw', or change the value"
                )
                raise KeyValueProblem(msg)
            return text
        return _ESCAPES[self.escape].sub(_escape, text)

    def read(self, text: str) -> str:
        return text if self.escape is Escape.RAW else _ESCAPED.sub(_unescape, text)


def _complement(scaled: int, digits: int) -> str:
    """Padded digits; a negative number is `-` and its complement, so that texts sort as the numbers do."""
    if scaled >= 0:
        return f"{scaled:0{digits}d}"
    return f"-{10**digits + scaled:0{digits}d}"


class Integer(KeyCodec, frozen=True):
    """`int`, padded to *width* digits, or plain decimal text where no order is asked for."""

    width: int | None

    @property
    def kind(self) -> str:
        return "an int"

    @property
    def shapes(self) -> tuple[Shape, ...]:
        digits = (*_picture("d"), (_DIGITS, True)) if self.width is None else _picture("d" * self.width)
        return digits, (("-", False), *digits)

    @property
    def self_terminating(self) -> bool:
        return self.width is not None

    @property
    def ceiling(self) -> str | None:
        return ":"

    def encode(self, value: object) -> str:
        # a bool is an int to Python, and True would share the key of 1
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.wrong(value)
        if self.width is None:
            if value.bit_length() > _MOST_BITS:
                msg = "has more digits than a key has room for: give a smaller number"
                raise KeyValueProblem(msg)
            return f"{int(value):d}"
        if abs(value) >= 10**self.width:
            msg = f"does not fit the {self.width} digits of its placeholder: declare a greater width, or give less"
            raise KeyValueProblem(msg)
        return _complement(int(value), self.width)

    def read(self, text: str) -> int:
        if self.width is not None and text.startswith("-"):
            complement: int = 10**self.width
            return int(text[1:]) - complement
        return int(text)

    def end(self, text: str, start: int) -> int:
        return start + (self.width or 0) + text.startswith("-", start)


class Scaled(KeyCodec, frozen=True):
    """`Decimal` with *scale* decimals and *width* characters in all, the point counted; exact, never rounded."""

    width: int
    scale: int

    @property
    def kind(self) -> str:
        return "a Decimal"

    @property
    def digits(self) -> int:
        """The digits before and after the point together."""
        return self.width - 1 if self.scale else self.width

    @property
    def shapes(self) -> tuple[Shape, ...]:
        whole = "d" * (self.digits - self.scale)
        picture = _picture(f"{whole}.{'d' * self.scale}" if self.scale else whole)
        return picture, (("-", False), *picture)

    @property
    def self_terminating(self) -> bool:
        return True

    @property
    def ceiling(self) -> str | None:
        return ":"

    def _scale(self, value: Decimal) -> int:
        # by hand, because the arithmetic of Decimal rounds to the precision of the context
        sign, digits, exponent = value.as_tuple()
        if not isinstance(exponent, int):
            msg = "must be a finite Decimal"
            raise KeyValueProblem(msg)
        coefficient = "".join(map(str, digits)).lstrip("0")
        shift = exponent + self.scale
        if shift < 0:
            if coefficient[shift:].strip("0"):
                msg = f"has more than the {self.scale} decimals of its placeholder: round it first, or declare more"
                raise KeyValueProblem(msg)
            coefficient = coefficient[:shift]
        elif coefficient:
            if len(coefficient) + shift > self.digits:
                raise self._too_wide()
            coefficient += "0" * shift
        if len(coefficient) > self.digits:
            raise self._too_wide()
        scaled = int(coefficient or "0")
        return -scaled if sign else scaled

    def _too_wide(self) -> KeyValueProblem:
        return KeyValueProblem(
            f"does not fit the {self.digits - self.scale} digits before the point that its placeholder has:"
            " declare a greater width, or give a smaller number"
        )

    def encode(self, value: object) -> str:
        if not isinstance(value, Decimal):
            raise self.wrong(value)
        text = _complement(self._scale(value), self.digits)
        return f"{text[: -self.scale]}.{text[-self.scale :]}" if self.scale else text

    def read(self, text: str) -> Decimal:
        plain = text.replace(".", "")
        scaled = int(plain[1:]) - 10**self.digits if plain.startswith("-") else int(plain)
        return Decimal((scaled < 0, tuple(map(int, str(abs(scaled)))), -self.scale))

    def end(self, text: str, start: int) -> int:
        return start + self.width + text.startswith("-", start)


class _Fixed(KeyCodec, frozen=True):
    """A type whose texts all look like one picture: d is a digit, h a hexadecimal one, and all else itself."""

    picture: ClassVar[str]

    @property
    def shapes(self) -> tuple[Shape, ...]:
        return (_picture(self.picture),)

    def end(self, text: str, start: int) -> int:
        del text
        return start + len(self.picture)

    @property
    def self_terminating(self) -> bool:
        return True

    @property
    def ceiling(self) -> str | None:
        return ":"


class Instant(_Fixed, frozen=True):
    """Aware `datetime`, in UTC, always with microseconds: `2024-01-01T00:00:00.000000Z`."""

    picture = "dddd-dd-ddTdd:dd:dd.ddddddZ"

    @property
    def kind(self) -> str:
        return "an aware datetime"

    def encode(self, value: object) -> str:
        if not isinstance(value, datetime):
            raise self.wrong(value)
        if value.utcoffset() is None:
            msg = "is a datetime without a zone: make it aware, for example with tzinfo=timezone.utc"
            raise KeyValueProblem(msg)
        try:
            utc = value.astimezone(timezone.utc)
        except OverflowError:
            msg = "is not between the years 0001 and 9999 in UTC"
            raise KeyValueProblem(msg) from None
        # the base class's own method: subclasses write other forms
        return f"{datetime.isoformat(utc.replace(tzinfo=None), timespec='microseconds')}Z"

    def read(self, text: str) -> datetime:
        return datetime.fromisoformat(text.removesuffix("Z")).replace(tzinfo=timezone.utc)


class Day(_Fixed, frozen=True):
    """`date`, with four digits of the year."""

    picture = "dddd-dd-dd"

    @property
    def kind(self) -> str:
        return "a date"

    def encode(self, value: object) -> str:
        # a datetime is a date to Python, and would lose its time here
        if isinstance(value, datetime) or not isinstance(value, date):
            raise self.wrong(value)
        return date.isoformat(value)

    def read(self, text: str) -> date:
        return date.fromisoformat(text)


class TimeOfDay(_Fixed, frozen=True):
    """`time` without a zone, always with microseconds."""

    picture = "dd:dd:dd.dddddd"

    @property
    def kind(self) -> str:
        return "a time"

    def encode(self, value: object) -> str:
        if not isinstance(value, time):
            raise self.wrong(value)
        if value.tzinfo is not None:
            msg = "is a time with a zone, which has no order without its date: leave out the zone, or use a datetime"
            raise KeyValueProblem(msg)
        return time.isoformat(value, timespec="microseconds")

    def read(self, text: str) -> time:
        return time.fromisoformat(text)


class Identifier(_Fixed, frozen=True):
    """`UUID`, in its canonical lower case."""

    picture = "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh"

    @property
    def kind(self) -> str:
        return "a UUID"

    @property
    def ceiling(self) -> str | None:
        return "g"

    def encode(self, value: object) -> str:
        if not isinstance(value, UUID):
            raise self.wrong(value)
        return str(value)

    def read(self, text: str) -> UUID:
        return UUID(text)


class Choices(KeyCodec, frozen=True, dict=True):
    """Enum, Literal and bool: each value with its text. *width* is that of padded numbers, which sort."""

    name: str
    entries: tuple[tuple[object, str], ...]
    width: int | None = None

    @property
    def kind(self) -> str:
        return self.name

    @property
    def shapes(self) -> tuple[Shape, ...]:
        return tuple(tuple((character, False) for character in text) for _, text in self.entries)

    @property
    def texts(self) -> tuple[str, ...] | None:
        return tuple(text for _, text in self.entries)

    @property
    def self_terminating(self) -> bool:
        return self.width is not None

    @property
    def ceiling(self) -> str | None:
        return ":"

    def wrong(self, value: object) -> KeyValueProblem:
        """The error for what is not among the choices."""
        del value
        return KeyValueProblem(f"must be {self.kind}")

    @cached_property
    def _by_value(self) -> dict[tuple[type, object], str]:
        # by type too, because True == 1
        return {(type(value), value): text for value, text in self.entries}

    @cached_property
    def _by_text(self) -> dict[str, object]:
        return {text: value for value, text in self.entries}

    def encode(self, value: object) -> str:
        try:
            return self._by_value[type(value), value]
        except (KeyError, TypeError):
            raise self.wrong(value) from None

    def read(self, text: str) -> object:
        if text not in self._by_text:
            msg = f"not {self.kind}"
            raise ValueError(msg)
        return self._by_text[text]

    def end(self, text: str, start: int) -> int:
        return start + (self.width or 0) + text.startswith("-", start)
