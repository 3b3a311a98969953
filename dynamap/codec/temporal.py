"""Shapes of points in time and spans of it."""

from __future__ import annotations

import math
from datetime import date, datetime, time, timedelta, timezone
from decimal import Context, Decimal
from typing import Any, Literal

from dynamap.codec.failures import DecodeFailure, Wire, refusal
from dynamap.codec.numbers import decimal_text, float_text, integer_text, parse_integer, parse_number
from dynamap.codec.paths import Path
from dynamap.codec.shapes import Shape
from dynamap.codec.times import (
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

__all__ = ["Date", "DateTime", "Duration", "EpochNumber", "EpochTime", "EpochUnit", "Time"]

EpochUnit = Literal["seconds", "milliseconds"]

_UNITS: dict[EpochUnit, timedelta] = {"seconds": timedelta(seconds=1), "milliseconds": timedelta(milliseconds=1)}
_YEAR_2101 = 4_133_980_800
_EXACT = Context(prec=60)  # the caller's context could round


def _refuse_naive(value: datetime, path: Path) -> None:
    if value.utcoffset() is None:
        msg = "an aware datetime expected, got a naive one; say its zone, as in value.replace(tzinfo=timezone.utc)"
        raise refusal(path, msg)


def _datetime_remedy(value: object) -> str:
    if isinstance(value, str):
        return "use datetime.fromisoformat(value)"
    if isinstance(value, date):
        return "use datetime.combine(value, time(), timezone.utc)"
    return "use datetime.fromtimestamp(value, timezone.utc)"


class DateTime(Shape, frozen=True):
    """An aware datetime, stored as S in UTC with microseconds, as "2025-12-17T21:47:08.305464Z".

    Naive ones are refused; a stored text without a zone is read as UTC.
    """

    @property
    def kind(self) -> str:
        return "datetime"

    @property
    def wire_types(self) -> tuple[str, ...]:
        return ("S",)

    def accepts(self, value: object) -> bool:
        return isinstance(value, datetime)

    def encode(self, value: Any, path: Path = ()) -> Wire:
        if not isinstance(value, datetime):
            raise self.unexpected(value, path)
        _refuse_naive(value, path)
        try:
            return {"S": datetime_text(value)}
        except OverflowError as error:
            raise refusal(path, "a datetime outside of the years 1 to 9999 in UTC; move it inside") from error

    def decode(self, wire: Wire, path: Path = ()) -> Any:
        try:
            return parse_datetime(self.take(wire, path)[1])
        except (ValueError, OverflowError) as error:
            raise DecodeFailure(path, "a datetime expected, found a text that is no ISO 8601 date and time") from error

    def normalize(self, value: Any) -> Any:
        if isinstance(value, datetime) and value.utcoffset() is not None:
            try:
                return value.astimezone(timezone.utc)
            except OverflowError:
                return value
        return value

    def remedy(self, value: object) -> str:
        return _datetime_remedy(value)


class EpochTime(Shape, frozen=True):
    """An aware datetime, stored as N: whole units since 1970, rounded up."""

    unit: EpochUnit

    @property
    def kind(self) -> str:
        return "datetime"

    @property
    def wire_types(self) -> tuple[str, ...]:
        return ("N",)

    def accepts(self, value: object) -> bool:
        return isinstance(value, datetime)

    def encode(self, value: Any, path: Path = ()) -> Wire:
        if not isinstance(value, datetime):
            raise self.unexpected(value, path)
        _refuse_naive(value, path)
        return {"N": integer_text(to_epoch(value, _UNITS[self.unit]), path)}

    def decode(self, wire: Wire, path: Path = ()) -> Any:
        number = parse_number(self.take(wire, path)[1], path)
        try:
            return from_epoch(number, _UNITS[self.unit])
        except OverflowError as error:
            msg = f"a count of {self.unit} since 1970 expected, found a number outside of the calendar"
            raise DecodeFailure(path, msg) from error

    def normalize(self, value: Any) -> Any:
        if isinstance(value, datetime) and value.utcoffset() is not None:
            try:
                return from_epoch(Decimal(to_epoch(value, _UNITS[self.unit])), _UNITS[self.unit])
            except OverflowError:
                return value
        return value

    def remedy(self, value: object) -> str:
        return _datetime_remedy(value)


class EpochNumber(Shape, frozen=True):
    """An int or float of units since 1970, stored as N, rounded up to whole units.

    Seconds so large that they must be milliseconds (beyond the year 2100) are an EncodeError: such a TTL never expires.
    """

    unit: EpochUnit
    factory: type[int | float]

    @property
    def kind(self) -> str:
        return self.factory.__name__

    @property
    def wire_types(self) -> tuple[str, ...]:
        return ("N",)

    def accepts(self, value: object) -> bool:
        return isinstance(value, int if self.factory is int else float | int) and not isinstance(value, bool)

    def encode(self, value: Any, path: Path = ()) -> Wire:
        if not self.accepts(value):
            raise self.unexpected(value, path)
        if isinstance(value, float):
            float_text(value, path)
        whole = math.ceil(value)
        if self.unit == "seconds" and whole >= _YEAR_2101:
            problem = "seconds since 1970 expected, got a number beyond the year 2100, as milliseconds are"
            raise refusal(path, f"{problem}; divide it by 1000")
        return {"N": integer_text(whole, path)}

    def decode(self, wire: Wire, path: Path = ()) -> Any:
        text = self.take(wire, path)[1]
        return parse_integer(text, path) if self.factory is int else float(parse_number(text, path))

    def normalize(self, value: Any) -> Any:
        return self.factory(math.ceil(value)) if isinstance(value, float) and math.isfinite(value) else value

    def remedy(self, value: object) -> str:
        return "use value.timestamp()" if isinstance(value, datetime) else f"use {self.factory.__name__}(value)"


class Date(Shape, frozen=True):
    """A date, stored as S with a year of four digits; a datetime is none."""

    @property
    def kind(self) -> str:
        return "date"

    @property
    def wire_types(self) -> tuple[str, ...]:
        return ("S",)

    def accepts(self, value: object) -> bool:
        return isinstance(value, date) and not isinstance(value, datetime)

    def encode(self, value: Any, path: Path = ()) -> Wire:
        if not self.accepts(value):
            raise self.unexpected(value, path)
        return {"S": date_text(value)}

    def decode(self, wire: Wire, path: Path = ()) -> Any:
        try:
            return parse_date(self.take(wire, path)[1])
        except ValueError as error:
            raise DecodeFailure(path, "a date expected, found a text that is no ISO 8601 date") from error

    def remedy(self, value: object) -> str:
        return "use value.date()" if isinstance(value, datetime) else "use date.fromisoformat(value)"


class Time(Shape, frozen=True):
    """A time of day, stored as S with microseconds, and with its offset where it has a fixed one."""

    @property
    def kind(self) -> str:
        return "time"

    @property
    def wire_types(self) -> tuple[str, ...]:
        return ("S",)

    def accepts(self, value: object) -> bool:
        return isinstance(value, time)

    def encode(self, value: Any, path: Path = ()) -> Wire:
        if not isinstance(value, time):
            raise self.unexpected(value, path)
        if value.tzinfo is not None and value.utcoffset() is None:
            msg = "a time whose zone has no fixed offset; store a datetime, or use value.replace(tzinfo=None)"
            raise refusal(path, msg)
        return {"S": time_text(value)}

    def decode(self, wire: Wire, path: Path = ()) -> Any:
        try:
            return parse_time(self.take(wire, path)[1])
        except ValueError as error:
            raise DecodeFailure(path, "a time expected, found a text that is no ISO 8601 time") from error

    def remedy(self, value: object) -> str:
        return "use value.timetz()" if isinstance(value, datetime) else "use time.fromisoformat(value)"


class Duration(Shape, frozen=True):
    """A timedelta, stored as N: seconds, exact to the microsecond."""

    @property
    def kind(self) -> str:
        return "timedelta"

    @property
    def wire_types(self) -> tuple[str, ...]:
        return ("N",)

    def accepts(self, value: object) -> bool:
        return isinstance(value, timedelta)

    def encode(self, value: Any, path: Path = ()) -> Wire:
        if not isinstance(value, timedelta):
            raise self.unexpected(value, path)
        return {"N": decimal_text(_EXACT.scaleb(Decimal(value // MICROSECOND), -6), path)}

    def decode(self, wire: Wire, path: Path = ()) -> Any:
        number = parse_number(self.take(wire, path)[1], path)
        try:
            return span(number, _UNITS["seconds"])
        except OverflowError as error:
            raise DecodeFailure(path, "a number of seconds expected, found one beyond any timedelta") from error

    def remedy(self, value: object) -> str:  # noqa: ARG002
        return "use timedelta(seconds=value)"
