"""Numbers are stored exactly, in one text each, or refused."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from decimal import Decimal, FloatOperation, Inexact, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamap.codec import Duration, EpochTime
from dynamap.codec.failures import DecodeFailure
from dynamap.codec.numbers import decimal_text, float_text, integer_text, parse_integer, parse_number
from dynamap.errors import EncodeError

RANGE = "$: a number outside of DynamoDB's range of 1E-130 to 9.99E+125; scale it, or store it as text"
FINITE = "$: NaN and infinities are no numbers to DynamoDB; store None or leave the attribute out"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1.10", "1.1"),
        ("-0", "0"),
        ("0E+500", "0"),
        ("0e126", "0"),
        ("1E+3", "1000"),
        ("30.40", "30.4"),
        ("00.5", "0.5"),
        ("-0.001", "-0.001"),
        ("1E-20", "0.00000000000000000001"),
        ("1E-21", "1E-21"),
        ("12E-30", "1.2E-29"),
        ("9" * 38, "9" * 38),
        ("1E+37", "1" + "0" * 37),
        ("1E+38", "1E+38"),
        ("-1.5E+100", "-1.5E+100"),
        ("9.9999999999999999999999999999999999999E+125", "9.9999999999999999999999999999999999999E+125"),
        ("1E-130", "1E-130"),
        ("1" + "0" * 60, "1E+60"),
    ],
)
def test_decimals_have_one_text(value: str, text: str) -> None:
    assert decimal_text(Decimal(value)) == text
    assert parse_number(text) == Decimal(value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("NaN", FINITE),
        ("sNaN", FINITE),
        ("-Infinity", FINITE),
        ("1E+126", RANGE),
        ("1E-131", RANGE),
        ("1E+999999", RANGE),
        (
            "1." + "1" * 38,
            "$: a number of 39 significant digits, DynamoDB holds 38; round it, or store it as text",
        ),
    ],
)
def test_decimals_that_cannot_be_stored(value: str, message: str) -> None:
    with pytest.raises(EncodeError) as caught:
        decimal_text(Decimal(value))
    assert str(caught.value) == message


@pytest.mark.parametrize("value", [0, 1, -1, 2**53 + 1, 3804086584686624768, 10**38, -(10**125), 10**38 - 1])
def test_ints_are_exact(value: int) -> None:
    assert parse_integer(integer_text(value)) == value
    assert integer_text(value) == decimal_text(Decimal(value))


@pytest.mark.parametrize("value", [10**38 + 1, 2**200, 10**126, -(10**126), pytest.param(10**5000, id="5001 digits")])
def test_ints_of_more_than_38_digits_are_refused(value: int) -> None:
    with pytest.raises(EncodeError):
        integer_text(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (30.4, "30.4"),
        (0.1, "0.1"),
        (1.0, "1"),
        (-0.0, "0"),
        (1e22, "1" + "0" * 22),
        (1e100, "1E+100"),
        (5e-7, "0.0000005"),
    ],
)
def test_floats_are_stored_by_their_shortest_repr(value: float, text: str) -> None:
    assert float_text(value) == text
    assert float(parse_number(text)) == value


@pytest.mark.parametrize(
    ("value", "message"), [(float("nan"), FINITE), (float("inf"), FINITE), (1e126, RANGE), (5e-324, RANGE)]
)
def test_floats_that_cannot_be_stored(value: float, message: str) -> None:
    with pytest.raises(EncodeError) as caught:
        float_text(value)
    assert str(caught.value) == message


@pytest.mark.parametrize("text", ["1" * 39, "-" + "7" * 200, "1E+400", "1E-400", "0." + "3" * 90])
def test_numbers_of_any_length_are_read(text: str) -> None:
    assert parse_number(text) == Decimal(text)


@pytest.mark.parametrize("text", ["1.5", "1E-3", "1E+999999"])
def test_fractions_are_no_ints(text: str) -> None:
    with pytest.raises(DecodeFailure, match="an int expected, found a number with a fraction"):
        parse_integer(text)


@pytest.mark.parametrize("text", ["", "x", "NaN", "Infinity", "1E+99999999999999999999"])
def test_what_is_no_number_is_a_failure(text: str) -> None:
    with pytest.raises(DecodeFailure, match="number"):
        parse_number(text)


def test_the_decimal_context_of_the_caller_changes_nothing() -> None:
    value = Decimal("1234567.890123456789")
    with localcontext() as context:
        context.prec = 3
        context.traps[Inexact] = context.traps[FloatOperation] = True
        assert parse_number(decimal_text(value)) == value
        assert parse_integer("1" * 39) == int("1" * 39)
        assert float_text(30.4) == "30.4"
        assert EpochTime("seconds").decode({"N": "1577836800.123456"}) == datetime(
            2020, 1, 1, 0, 0, 0, 123456, timezone.utc
        )
        assert Duration().decode(Duration().encode(timedelta.max)) == timedelta.max


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_a_decimal_comes_back_equal_or_is_refused(value: Decimal) -> None:
    try:
        text = decimal_text(value)
    except EncodeError:
        return
    assert parse_number(text) == value
    assert decimal_text(parse_number(text)) == text


@given(st.floats(min_value=-1e125, max_value=1e125, allow_subnormal=False))
def test_a_float_comes_back_equal_or_is_refused(value: float) -> None:
    try:
        text = float_text(value)
    except EncodeError:
        assert abs(value) < 1e-130
        return
    assert float(parse_number(text)) == value
