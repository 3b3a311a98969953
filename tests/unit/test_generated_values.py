"""The short ways to texts of numbers and times give what the long ones give."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamap.codec.generated.values import (
    datetime_content,
    decimal_content,
    duration_content,
    float_content,
    read_datetime,
    read_duration,
    read_float,
)
from dynamap.codec.numbers import decimal_text, float_text, parse_number
from dynamap.codec.temporal import Duration
from dynamap.codec.times import datetime_text, parse_datetime
from dynamap.errors import EncodeError


def attempt(work: Callable[[Any], Any], value: Any) -> Any:
    try:
        return work(value)
    except (EncodeError, ValueError, OverflowError) as error:
        return type(error)


DECIMALS = ["0", "-0", "0.00", "-0.00", "0E-7", "1.10", "-1.10", "10", "1E+3", "1E-7", "0.0000010", "NaN", "-Infinity"]


@pytest.mark.parametrize("text", [*DECIMALS, "9" * 38, "9" * 39, f"0.{'9' * 38}", "1E-131", "1E+126", "sNaN"])
def test_decimals_have_the_one_text_at_the_edges(text: str) -> None:
    assert attempt(decimal_content, Decimal(text)) == attempt(decimal_text, Decimal(text))


@given(st.decimals() | st.decimals(places=2, min_value=-(10**9), max_value=10**9))
def test_decimals_have_the_one_text(value: Decimal) -> None:
    assert attempt(decimal_content, value) == attempt(decimal_text, value)


@given(st.floats() | st.sampled_from([0.0, -0.0, 1e16, 1e-5, 123456789012345.6]))
def test_floats_have_the_one_text_and_are_read_as_by_decimal(value: float) -> None:
    text = attempt(float_content, value)
    assert text == attempt(float_text, value)
    if isinstance(text, str):
        assert read_float(text) == float(parse_number(text)) == value


@given(st.timedeltas())
def test_durations_have_the_one_text(value: Any) -> None:
    text = duration_content(value)
    assert text == Duration().encode(value)["N"]
    assert read_duration(text) == value


@given(st.datetimes(timezones=st.just(timezone.utc) | st.timezones()))
def test_datetimes_have_the_one_text(value: datetime) -> None:
    assert attempt(datetime_content, value) == attempt(datetime_text, value)


FORMS = [
    "2025-12-17T21:47:08.305464Z",
    "2025-W51-3T21:47:08.305464Z",
    "2025-12-17x21:47:08.305464Z",
    "2025-12-17 21:47:08.305464Z",
    "2025-12-17T21:47:08.3+0000Z",
    "20251217T214708Z",
]


@pytest.mark.parametrize("text", FORMS)
def test_datetimes_are_read_in_the_same_forms(text: str) -> None:
    assert attempt(read_datetime, text) == attempt(parse_datetime, text)
