"""Times: one fixed-width form is written, the forms of other writers are read, epochs are rounded up."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamap.codec import Date, DateTime, DecodeFailure, EpochNumber, EpochTime, Shape, Time
from dynamap.errors import EncodeError

UTC = timezone.utc
NAIVE = "$.at: an aware datetime expected, got a naive one; say its zone, as in value.replace(tzinfo=timezone.utc)"


def east(hours: int) -> timezone:
    return timezone(timedelta(hours=hours))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (datetime(2025, 12, 17, 21, 47, 8, 305464, UTC), "2025-12-17T21:47:08.305464Z"),
        (datetime(2025, 12, 17, 21, 47, 8, tzinfo=UTC), "2025-12-17T21:47:08.000000Z"),
        (datetime(33, 1, 1, tzinfo=UTC), "0033-01-01T00:00:00.000000Z"),
        (datetime(2020, 1, 2, tzinfo=east(2)), "2020-01-01T22:00:00.000000Z"),
        (datetime(2020, 1, 1, 23, tzinfo=east(-2)), "2020-01-02T01:00:00.000000Z"),
        (datetime(2023, 10, 29, 2, 30, tzinfo=ZoneInfo("Europe/Berlin")), "2023-10-29T00:30:00.000000Z"),
        (datetime(2023, 10, 29, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin")), "2023-10-29T01:30:00.000000Z"),
    ],
)
def test_datetimes_are_stored_in_utc_at_fixed_width(value: datetime, text: str) -> None:
    assert DateTime().encode(value) == {"S": text}
    decoded = DateTime().decode({"S": text})
    assert decoded == value.astimezone(UTC)
    assert decoded.tzinfo is UTC
    assert DateTime().normalize(value) == decoded


@given(st.datetimes(timezones=st.sampled_from([UTC, east(5), east(-7)])), st.datetimes(timezones=st.just(UTC)))
def test_stored_texts_sort_as_the_times_do(one: datetime, other: datetime) -> None:
    try:
        texts = [DateTime().encode(each)["S"] for each in (one, other)]
    except EncodeError:
        return
    assert (texts[0] < texts[1]) == (one < other)
    assert DateTime().decode({"S": texts[0]}) == one


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2025-12-17T21:47:08.305464+00:00", datetime(2025, 12, 17, 21, 47, 8, 305464, UTC)),
        ("2025-12-17T21:47:08Z", datetime(2025, 12, 17, 21, 47, 8, tzinfo=UTC)),
        ("2025-12-17t21:47:08z", datetime(2025, 12, 17, 21, 47, 8, tzinfo=UTC)),
        ("2019-07-01T00:00:00", datetime(2019, 7, 1, tzinfo=UTC)),
        ("2019-07-01 10:00:00.5 +0200", datetime(2019, 7, 1, 8, 0, 0, 500000, UTC)),
        ("2019-07-01T10:00-05", datetime(2019, 7, 1, 15, tzinfo=UTC)),
        ("2019-07-01T10:00:00.123456789Z", datetime(2019, 7, 1, 10, 0, 0, 123456, UTC)),
        ("20190701T100000Z", datetime(2019, 7, 1, 10, tzinfo=UTC)),
        ("2019-07-01T10:00:00,25Z", datetime(2019, 7, 1, 10, 0, 0, 250000, UTC)),
    ],
)
def test_datetimes_of_other_writers_are_read(text: str, value: datetime) -> None:
    assert DateTime().decode({"S": text}) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2019-07-01",
        "2019-13-01T00:00:00Z",
        "2019-07-01T00:00:60Z",
        "0001-01-01T00:00:00+02:00",
        "2019-07-01T00:00:00Z\n",
    ],
)
def test_texts_that_are_no_datetime_are_a_failure(text: str) -> None:
    with pytest.raises(DecodeFailure, match="a datetime expected, found a text that is no ISO 8601 date and time"):
        DateTime().decode({"S": text})


@pytest.mark.parametrize("shape", [DateTime(), EpochTime("seconds"), EpochTime("milliseconds")])
def test_naive_datetimes_are_refused(shape: Shape) -> None:
    with pytest.raises(EncodeError) as caught:
        shape.encode(datetime(2020, 1, 1), ("at",))
    assert str(caught.value) == NAIVE


def test_a_datetime_that_leaves_the_calendar_in_utc_is_refused() -> None:
    early = datetime(1, 1, 1, tzinfo=east(2))
    with pytest.raises(EncodeError, match="outside of the years 1 to 9999 in UTC"):
        DateTime().encode(early)
    assert DateTime().normalize(early) is early


@pytest.mark.parametrize(
    ("unit", "value", "number"),
    [
        ("seconds", datetime(1970, 1, 1, tzinfo=UTC), "0"),
        ("seconds", datetime(1970, 1, 1, 0, 0, 0, 1, UTC), "1"),
        ("seconds", datetime(1969, 12, 31, 23, 59, 59, 999999, UTC), "0"),
        ("seconds", datetime(1969, 12, 31, tzinfo=UTC), "-86400"),
        ("seconds", datetime(2020, 1, 1, 2, tzinfo=east(2)), "1577836800"),
        ("milliseconds", datetime(1970, 1, 1, 0, 0, 0, 1, UTC), "1"),
        ("milliseconds", datetime(2020, 1, 1, 0, 0, 0, 5000, UTC), "1577836800005"),
    ],
)
def test_epochs_are_whole_units_rounded_up(unit: Any, value: datetime, number: str) -> None:
    shape = EpochTime(unit)
    assert shape.encode(value) == {"N": number}
    assert shape.decode({"N": number}) == shape.normalize(value)
    assert shape.normalize(value) >= value


def test_fractions_of_other_writers_are_read_exactly() -> None:
    assert EpochTime("seconds").decode({"N": "1.5"}) == datetime(1970, 1, 1, 0, 0, 1, 500000, UTC)
    assert EpochTime("milliseconds").decode({"N": "1.5"}) == datetime(1970, 1, 1, 0, 0, 0, 1500, UTC)


@pytest.mark.parametrize("number", ["1E+120", "99999999999999", "-99999999999999", "1E+999999"])
def test_epochs_outside_of_the_calendar_are_a_failure(number: str) -> None:
    with pytest.raises(DecodeFailure, match="a count of seconds since 1970 expected"):
        EpochTime("seconds").decode({"N": number})


@pytest.mark.parametrize("value", [1_700_000_000_000, 1_700_000_000_000.5])
@pytest.mark.parametrize("factory", [int, float])
def test_milliseconds_in_a_field_of_seconds_are_refused(value: float, factory: Any) -> None:
    shape = EpochNumber("seconds", factory)
    with pytest.raises(EncodeError) as caught:
        shape.encode(factory(value), ("ttl",))
    assert str(caught.value) == (
        "$.ttl: seconds since 1970 expected, got a number beyond the year 2100, as milliseconds are; divide it by 1000"
    )


@pytest.mark.parametrize(
    ("factory", "value", "number"),
    [(int, 5, "5"), (int, 0, "0"), (float, 4.2, "5"), (float, 4.0, "4"), (float, 4, "4")],
)
def test_plain_epoch_numbers_are_rounded_up_too(factory: Any, value: float, number: str) -> None:
    shape = EpochNumber("seconds", factory)
    assert shape.encode(value) == {"N": number}
    assert shape.decode({"N": number}) == shape.normalize(value)
    assert type(shape.decode({"N": number})) is factory


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (True, "$: an int expected, got bool; use int(value)"),
        (4.5, "$: an int expected, got float; use int(value)"),
        (datetime(2020, 1, 1, tzinfo=UTC), "$: an int expected, got datetime; use value.timestamp()"),
    ],
)
def test_epoch_numbers_take_their_own_type_only(value: Any, message: str) -> None:
    with pytest.raises(EncodeError) as caught:
        EpochNumber("seconds", int).encode(value)
    assert str(caught.value) == message


def test_nan_is_no_epoch() -> None:
    with pytest.raises(EncodeError, match="NaN and infinities"):
        EpochNumber("seconds", float).encode(float("nan"))


@given(st.dates())
def test_dates_come_back(value: date) -> None:
    wire = Date().encode(value)
    assert len(wire["S"]) == 10
    assert Date().decode(wire) == value


@given(st.times(timezones=st.none() | st.just(UTC) | st.just(east(-3))))
def test_times_come_back(value: time) -> None:
    decoded = Time().decode(Time().encode(value))
    assert decoded == value
    assert decoded.utcoffset() == value.utcoffset()


def test_a_time_without_a_fixed_offset_is_refused() -> None:
    with pytest.raises(EncodeError, match="a time whose zone has no fixed offset"):
        Time().encode(time(1, tzinfo=ZoneInfo("Europe/Berlin")))
