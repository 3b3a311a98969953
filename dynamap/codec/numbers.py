"""Numbers as DynamoDB holds them: 38 significant digits, magnitudes from 1E-130 to 9.99E+125, exact.

Every number has one text here, so that equal numbers are equal on the wire: no leading or trailing zeros, no sign on
zero, plain notation up to 38 digits before the point and 20 zeros after it, an exponent beyond.
"""

from __future__ import annotations

import math
from decimal import Decimal, DecimalException

from dynamap.codec.failures import DecodeFailure, refusal
from dynamap.codec.paths import Path

__all__ = ["decimal_text", "float_text", "integer_text", "parse_integer", "parse_number"]

MAXIMUM_DIGITS = 38
SMALLEST, LARGEST = -130, 125
PLAIN_FROM, PLAIN_BELOW = -20, 38
_PLAIN_INTEGER = 10**PLAIN_BELOW
_TOO_LARGE = 10 ** (LARGEST + 1)
_READABLE = 5000
_OUT_OF_RANGE = "a number outside of DynamoDB's range of 1E-130 to 9.99E+125; scale it, or store it as text"


def decimal_text(value: Decimal, path: Path = ()) -> str:
    """Give the wire text of a Decimal.

    Raises EncodeError for NaN, infinities, more than 38 significant digits, and magnitudes that DynamoDB does not hold.

    >>> decimal_text(Decimal("-1.10")), decimal_text(Decimal("1E+3")), decimal_text(Decimal("-0.0"))
    ('-1.1', '1000', '0')
    """
    if not value.is_finite():
        raise refusal(path, "NaN and infinities are no numbers to DynamoDB; store None or leave the attribute out")
    # Decimal.normalize() would round to the context's precision: the digits are trimmed as text instead
    _, digits, exponent = value.as_tuple()
    every = "".join(map(str, digits)).lstrip("0")
    kept = every.rstrip("0")
    if not kept:
        return "0"
    scale = int(exponent) + len(every) - len(kept)
    magnitude = scale + len(kept) - 1
    if len(kept) > MAXIMUM_DIGITS:
        problem = f"a number of {len(kept)} significant digits, DynamoDB holds {MAXIMUM_DIGITS}"
        raise refusal(path, f"{problem}; round it, or store it as text")
    if not SMALLEST <= magnitude <= LARGEST:
        raise refusal(path, _OUT_OF_RANGE)
    return ("-" if value.is_signed() else "") + _notation(kept, scale, magnitude)


def _notation(digits: str, scale: int, magnitude: int) -> str:
    if not PLAIN_FROM <= magnitude < PLAIN_BELOW:
        fraction = f".{digits[1:]}" if digits[1:] else ""
        return f"{digits[0]}{fraction}E{magnitude:+d}"
    if scale >= 0:
        return digits + "0" * scale
    if magnitude >= 0:
        return f"{digits[: magnitude + 1]}.{digits[magnitude + 1 :]}"
    return f"0.{'0' * (-magnitude - 1)}{digits}"


def integer_text(value: int, path: Path = ()) -> str:
    """Give the wire text of an int (a bool is not checked for here).

    Raises EncodeError for more than 38 significant digits; trailing zeros are none, so 10**125 is fine.
    """
    if -_PLAIN_INTEGER < value < _PLAIN_INTEGER:
        return int.__repr__(value)
    if not -_TOO_LARGE < value < _TOO_LARGE:
        # checked before the number becomes text: Python refuses to print very long ones
        raise refusal(path, _OUT_OF_RANGE)
    return decimal_text(Decimal(value), path)


def float_text(value: float, path: Path = ()) -> str:
    """Give the wire text of a float: its shortest repr, which reads back as the same float.

    >>> float_text(30.4), float_text(1e16)
    ('30.4', '10000000000000000')
    """
    if not math.isfinite(value):
        raise refusal(path, "NaN and infinities are no numbers to DynamoDB; store None or leave the attribute out")
    return decimal_text(Decimal(float.__repr__(value)), path)


def parse_number(text: str, path: Path = ()) -> Decimal:
    """Read a Number exactly, of any length; raises DecodeFailure for what is none."""
    try:
        number = Decimal(text)
    except (DecimalException, TypeError, ValueError) as error:
        raise DecodeFailure(path, "a number (N) expected, found text that is none") from error
    if not number.is_finite():
        raise DecodeFailure(path, "a finite number expected, found NaN or an infinity")
    return number


def parse_integer(text: str, path: Path = ()) -> int:
    """Read a Number that is integral; raises DecodeFailure for fractions."""
    number = parse_number(text, path)
    if number.adjusted() > _READABLE or number != number.to_integral_value():
        raise DecodeFailure(path, "an int expected, found a number with a fraction")
    return int(number)
