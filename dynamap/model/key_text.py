"""Texts as DynamoDB orders them: by UTF-8 bytes, which is the order of code points and so that of `str`."""

from __future__ import annotations

import sys

__all__ = ["after_prefix", "before", "byte_length", "last_with_prefix"]

_FIRST_SURROGATE = 0xD800
_LAST_SURROGATE = 0xDFFF
# the greatest character that UTF-8 writes in 4, 3, 2 and 1 bytes
_GREATEST = ((4, "\U0010ffff"), (3, "\uffff"), (2, "\u07ff"), (1, "\x7f"))


def byte_length(text: str) -> int:
    """The length of a text in UTF-8 bytes; UnicodeEncodeError for a lone surrogate."""
    return len(text) if text.isascii() else len(text.encode())


def _next_character(character: str) -> str | None:
    code = ord(character) + 1
    if code > sys.maxunicode:
        return None
    return chr(_LAST_SURROGATE + 1 if code == _FIRST_SURROGATE else code)


def _previous_character(character: str) -> str:
    code = ord(character) - 1
    return chr(_FIRST_SURROGATE - 1 if code == _LAST_SURROGATE else code)


def after_prefix(text: str, limit: int) -> str | None:
    """The least text of at most *limit* bytes that is greater than every text that begins with *text*; None if none is.

    >>> after_prefix("ORDER#", 1024)
    'ORDER$'
    """
    for end in range(len(text), 0, -1):
        following = _next_character(text[end - 1])
        if following is not None:
            candidate = text[: end - 1] + following
            if byte_length(candidate) <= limit:
                return candidate
    return None


def last_with_prefix(text: str, limit: int) -> str:
    """The greatest text of at most *limit* bytes that begins with *text*."""
    left = limit - byte_length(text)
    filled = [text]
    for size, character in _GREATEST:
        count, left = divmod(left, size)
        filled.append(character * count)
    return "".join(filled)


def before(text: str, limit: int) -> str:
    """The greatest text of at most *limit* bytes that is less than *text*, which is not empty.

    >>> before("c", 5) == "b" + chr(0x10FFFF)
    True
    """
    head, last = text[:-1], text[-1]
    return head if last == "\0" else last_with_prefix(head + _previous_character(last), limit)
