"""Dates and times as text: one fixed-width form is written, the ISO 8601 forms of other writers are read."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta, timezone
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Any

__all__ = [
    "EPOCH",
    "MICROSECOND",
    "date_text",
    "datetime_text",
    "from_epoch",
    "parse_date",
    "parse_datetime",
    "parse_time",
    "span",
    "time_text",
    "to_epoch",
]

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
MICROSECOND = timedelta(microseconds=1)
BEYOND_ANY_SPAN = 20
_EXACT = Context(prec=60, rounding=ROUND_FLOOR)

_DATE = r"(?P<year>\d{4})-?(?P<month>\d{2})-?(?P<day>\d{2})"
_TIME = r"(?P<hour>\d{2}):?(?P<minute>\d{2})(?::?(?P<second>\d{2})(?:[.,](?P<fraction>\d+))?)?"
_ZONE = r"(?:[ ]?(?P<zone>[Zz]|(?P<sign>[+-])(?P<hours>\d{2}):?(?P<minutes>\d{2})?(?::?(?P<seconds>\d{2}))?))?"
_DATE_FORM = re.compile(_DATE, re.ASCII)
_TIME_FORM = re.compile(_TIME + _ZONE, re.ASCII)
_DATETIME_FORM = re.compile(f"{_DATE}[Tt ]{_TIME}{_ZONE}", re.ASCII)


def datetime_text(value: datetime) -> str:
    """Give an aware datetime as UTC, always with microseconds, so that texts sort as the times do.

    Raises OverflowError where UTC would lie outside of the years 1 to 9999.

    >>> datetime_text(datetime(33, 1, 1, tzinfo=timezone.utc))
    '0033-01-01T00:00:00.000000Z'
    """
    return value.astimezone(timezone.utc).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def parse_datetime(text: str) -> datetime:
    """Read a datetime as UTC; a text without a zone is UTC, digits beyond microseconds are cut.

    Raises ValueError for anything else, OverflowError outside of the years 1 to 9999.
    """
    match = _DATETIME_FORM.fullmatch(text)
    if match is None:
        msg = "not an ISO 8601 date and time"
        raise ValueError(msg)
    parts = match.groupdict()
    local = datetime.combine(_date(parts), _clock(parts))
    return local.replace(tzinfo=_zone(parts) or timezone.utc).astimezone(timezone.utc)


def date_text(value: date) -> str:
    """Give a date with a year of four digits."""
    return value.isoformat()


def parse_date(text: str) -> date:
    """Read a date; raises ValueError for anything else."""
    match = _DATE_FORM.fullmatch(text)
    if match is None:
        msg = "not an ISO 8601 date"
        raise ValueError(msg)
    return _date(match.groupdict())


def time_text(value: time) -> str:
    """Give a time of day with microseconds, and its offset if it has one."""
    return value.isoformat(timespec="microseconds")


def parse_time(text: str) -> time:
    """Read a time of day; raises ValueError for anything else."""
    match = _TIME_FORM.fullmatch(text)
    if match is None:
        msg = "not an ISO 8601 time"
        raise ValueError(msg)
    parts = match.groupdict()
    return _clock(parts).replace(tzinfo=_zone(parts))


def _date(parts: dict[str, Any]) -> date:
    return date(int(parts["year"]), int(parts["month"]), int(parts["day"]))


def _clock(parts: dict[str, Any]) -> time:
    microsecond = int((parts["fraction"] or "0")[:6].ljust(6, "0"))
    return time(int(parts["hour"]), int(parts["minute"]), int(parts["second"] or 0), microsecond)


def _zone(parts: dict[str, Any]) -> timezone | None:
    if parts["zone"] is None:
        return None
    if parts["sign"] is None:
        return timezone.utc
    hours, minutes, seconds = (int(parts[name] or 0) for name in ("hours", "minutes", "seconds"))
    offset = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    return timezone(-offset if parts["sign"] == "-" else offset)


def to_epoch(value: datetime, unit: timedelta) -> int:
    """Count whole units since 1970, rounded up: an expiry is never early."""
    return -((EPOCH - value) // unit)


def from_epoch(number: Decimal, unit: timedelta) -> datetime:
    """Read a count of units since 1970, cut to microseconds; raises OverflowError outside of the calendar."""
    return EPOCH + span(number, unit)


def span(number: Decimal, unit: timedelta) -> timedelta:
    """Give the timedelta of so many units, cut to microseconds; raises OverflowError beyond any timedelta."""
    if number.adjusted() > BEYOND_ANY_SPAN:
        msg = "beyond any timedelta"
        raise OverflowError(msg)
    return int(_EXACT.multiply(number, Decimal(unit // MICROSECOND))) * MICROSECOND
