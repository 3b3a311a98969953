"""The two ways in which a value and its shape can disagree, and how they are told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dynamap.codec.paths import Path, format_path
from dynamap.errors import EncodeError

__all__ = ["EMPTY_KEY", "DecodeFailure", "Wire", "found", "kind_of", "refusal", "split", "with_article"]

Wire = dict[str, Any]
"""One attribute value as boto3's low-level client takes it, such as `{"S": "x"}`; bytes stand unencoded under "B"."""

_WIRE_KINDS = {
    "S": "a text (S)",
    "N": "a number (N)",
    "B": "binary data (B)",
    "BOOL": "a boolean (BOOL)",
    "NULL": "NULL",
    "L": "a list (L)",
    "M": "a map (M)",
    "SS": "a text set (SS)",
    "NS": "a number set (NS)",
    "BS": "a binary set (BS)",
}


class DecodeFailure(Exception):
    """A stored value that does not fit its shape: the path to it and what is wrong, without the value."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem

    def __str__(self) -> str:
        return f"{format_path(self.path)}: {self.problem}"


# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html: names have 1 to 65535 bytes
EMPTY_KEY = "an empty text as a key, which DynamoDB does not take as a name; leave it out, or choose another key"


def refusal(path: Path, problem: str) -> EncodeError:
    """Make the error for a value that cannot be stored; the caller raises it."""
    shown = format_path(path)
    return EncodeError(f"{shown}: {problem}", path=shown)


def with_article(kind: str) -> str:
    """Put "a" or "an" before a kind; a leading u is spoken as in UUID.

    >>> with_article("int"), with_article("UUID")
    ('an int', 'a UUID')
    """
    return f"an {kind}" if kind[:1] in "aeioAEIO" else f"a {kind}"


def kind_of(value: object) -> str:
    """Name the kind of a Python value for a message."""
    return "None" if value is None else type(value).__qualname__


def split(wire: Mapping[str, Any], path: Path) -> tuple[str, Any]:
    """Take an attribute value apart into its type and its content; raises DecodeFailure unless it has exactly one."""
    if len(wire) != 1:
        raise DecodeFailure(path, "an attribute value with exactly one type expected")
    return next(iter(wire.items()))


def found(tag: str) -> str:
    """Name a wire type for a message."""
    return _WIRE_KINDS.get(tag, f"the unknown type {tag}")
