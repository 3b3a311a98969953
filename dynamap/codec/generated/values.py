"""What generated code calls for single values that it does not treat in line.

Each function gives exactly what the interpreter's shape gives, or raises any exception at all: the interpreter then
does the whole item again and says precisely what is wrong.
"""

from __future__ import annotations

import math
from base64 import b64decode
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any, NoReturn, cast
from uuid import UUID

from dynamap.codec.failures import Wire
from dynamap.codec.numbers import MAXIMUM_DIGITS, decimal_text, float_text, integer_text, parse_number
from dynamap.codec.scalars import checked_text
from dynamap.codec.times import (
    EPOCH,
    MICROSECOND,
    date_text,
    datetime_text,
    from_epoch,
    parse_date,
    parse_datetime,
    parse_time,
    span,
    time_text,
    to_epoch,
)

__all__ = [
    "BOOLEANS",
    "Surprise",
    "binary_content",
    "date_content",
    "datetime_content",
    "decimal_content",
    "duration_content",
    "epoch_content",
    "epoch_number_content",
    "flag_content",
    "float_content",
    "from_json",
    "integer_content",
    "item_from_json",
    "read_date",
    "read_datetime",
    "read_duration",
    "read_epoch",
    "read_float",
    "read_time",
    "surprise",
    "text_content",
    "time_content",
    "uuid_content",
]

BOOLEANS = {"true": True, "false": False}
_SECOND = timedelta(seconds=1)
_EXACT_IN_FLOATS = 2**53
_MANY_DIGITS = 12


class Surprise(Exception):
    """Something that generated code leaves to the interpreter."""


def surprise() -> NoReturn:
    """Leave the item to the interpreter."""
    raise Surprise


# ---------------------------------------------------------------------------------------------------- encoding


def text_content(value: object) -> str:
    """A str that is not ASCII, or a subclass of str."""
    return checked_text(value, ()) if isinstance(value, str) else surprise()


def integer_content(value: object) -> str:
    """An int of any size, or a subclass of int."""
    return integer_text(value) if isinstance(value, int) and not isinstance(value, bool) else surprise()


def decimal_content(value: object) -> str:
    """Any Decimal."""
    if type(value) is not Decimal:
        return decimal_text(value) if isinstance(value, Decimal) else surprise()
    text = str(value)
    # without an exponent the text differs from the stored form by trailing zeros and the sign of zero alone
    whole, _, fraction = text.partition(".")
    if len(text) > MAXIMUM_DIGITS or not fraction.isdigit():
        return decimal_text(value)
    fraction = fraction.rstrip("0")
    if fraction:
        return f"{whole}.{fraction}"
    return "0" if whole == "-0" else whole


def float_content(value: object) -> str:
    """A float, or an int that a float holds exactly."""
    if type(value) is float:
        text = float.__repr__(value)
        whole, _, fraction = text.partition(".")
        if not fraction.isdigit() or len(text) > MAXIMUM_DIGITS:
            return float_text(value)
        if fraction != "0":
            return text
        return "0" if whole == "-0" else whole
    if type(value) is int and -_EXACT_IN_FLOATS <= value <= _EXACT_IN_FLOATS:
        return int.__repr__(value)
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, int) and not isinstance(value, bool) and int(float(value)) == value:
        return integer_text(value)
    surprise()


def binary_content(value: object) -> bytes:
    """Bytes of any type."""
    return bytes(cast("bytes", value)) if isinstance(value, bytes | bytearray | memoryview) else surprise()


def uuid_content(value: object) -> str:
    """A UUID."""
    return str(value) if isinstance(value, UUID) else surprise()


def datetime_content(value: object) -> str:
    """An aware datetime, as text in UTC."""
    if type(value) is datetime and value.tzinfo is timezone.utc:
        return value.isoformat("T", "microseconds")[:26] + "Z"
    if not isinstance(value, datetime) or value.utcoffset() is None:
        surprise()
    return datetime_text(value)


def date_content(value: object) -> str:
    """A date that is no datetime."""
    return date_text(value) if isinstance(value, date) and not isinstance(value, datetime) else surprise()


def time_content(value: object) -> str:
    """A time without a zone, or with a fixed offset."""
    if not isinstance(value, time) or (value.tzinfo is not None and value.utcoffset() is None):
        surprise()
    return time_text(value)


def duration_content(value: object) -> str:
    """A timedelta, as seconds."""
    if not isinstance(value, timedelta):
        surprise()
    seconds, rest = divmod(value // MICROSECOND, 1_000_000)
    if not rest:
        return int.__repr__(seconds)
    sign, count = ("-", -(value // MICROSECOND)) if seconds < 0 else ("", value // MICROSECOND)
    return f"{sign}{count // 1_000_000}.{count % 1_000_000:06}".rstrip("0")


def epoch_content(value: object, unit: timedelta) -> str:
    """An aware datetime, as a count of units since 1970."""
    if not isinstance(value, datetime) or value.utcoffset() is None:
        surprise()
    return integer_text(to_epoch(value, unit))


def epoch_number_content(value: object, cls: type[Any] | tuple[type[Any], ...], limit: int) -> str:
    """A number of units since 1970 below the limit, rounded up."""
    if not isinstance(value, cls) or isinstance(value, bool):
        surprise()
    if isinstance(value, float):
        float_text(value)  # refuses what is no number to DynamoDB
    whole = math.ceil(cast("float", value))
    return integer_text(whole) if whole < limit else surprise()


def flag_content(value: Any, cls: type[Any]) -> str:
    """The number of a Flag, a combined one too."""
    return integer_content(value.value) if isinstance(value, cls) else surprise()


# ---------------------------------------------------------------------------------------------------- decoding


def read_float(text: str) -> float:
    """A float from the text of a number."""
    number = float(text) if type(text) is str else math.nan
    # zero and the infinities are also what float makes of numbers that are too small or too large for it
    return number if number and math.isfinite(number) else float(parse_number(text))


def read_datetime(text: str) -> datetime:
    """A datetime in UTC from any of the ISO 8601 forms."""
    if len(text) == 27 and text[26] == "Z":  # noqa: PLR2004  (the one form that is written here)
        read = datetime.fromisoformat(text[:26])
        # fromisoformat takes many forms, of which only this one is written back as the same text
        if read.isoformat("T", "microseconds") == text[:26]:
            return read.replace(tzinfo=timezone.utc)
    return parse_datetime(text)


def read_date(text: str) -> date:
    """A date from any of the ISO 8601 forms."""
    return parse_date(text)


def read_time(text: str) -> time:
    """A time from any of the ISO 8601 forms."""
    return parse_time(text)


def read_duration(text: str) -> timedelta:
    """A timedelta from a number of seconds."""
    if type(text) is str and len(text) < _MANY_DIGITS and text.isdigit():
        return timedelta(seconds=int(text))
    return span(parse_number(text), _SECOND)


def read_epoch(text: str, unit: timedelta) -> datetime:
    """A datetime from a count of units since 1970."""
    if type(text) is str and len(text) < _MANY_DIGITS and text.isdigit():
        return EPOCH + int(text) * unit
    return from_epoch(parse_number(text), unit)


# ---------------------------------------------------------------------------------------------------- JSON


def from_json(wire: Any) -> Wire:
    """Give the attribute value that one in JSON stands for: bytes where JSON holds base64."""
    if not isinstance(wire, dict):
        return cast("Wire", wire)  # no attribute value, as the interpreter will say
    return {tag: _from_json(tag, content) for tag, content in cast("Wire", wire).items()}


def _from_json(tag: str, content: Any) -> Any:
    if tag == "B" and isinstance(content, str):
        return b64decode(content)
    if tag == "BS" and isinstance(content, list | tuple):
        return [_from_json("B", element) for element in cast("list[Any]", content)]
    if tag == "L" and isinstance(content, list | tuple):  # msgspec reads tuples too
        return [from_json(element) for element in cast("list[Any]", content)]
    if tag == "M" and isinstance(content, dict):
        return item_from_json(cast("dict[str, Any]", content))
    return content


def item_from_json(item: Mapping[str, Any]) -> dict[str, Wire]:
    r"""Give the item that one in JSON stands for, as boto3's low-level client gives it: bytes where JSON holds base64.

    >>> item_from_json({"photo": {"B": "/9g="}, "tags": {"L": [{"S": "x"}]}})
    {'photo': {'B': b'\xff\xd8'}, 'tags': {'L': [{'S': 'x'}]}}
    """
    return {name: from_json(wire) for name, wire in item.items()}
