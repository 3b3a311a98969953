"""Which encoding a field has in a key: decided by its type and the format in the template."""

from __future__ import annotations

import types
from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum, Flag
from typing import Annotated, Any, Final, Literal, NewType, Union, cast, get_args, get_origin
from uuid import UUID

from dynamap.codec import annotated_type
from dynamap.model.key_values import (
    Choices,
    Day,
    Escape,
    Identifier,
    Instant,
    Integer,
    KeyCodec,
    KeyValueProblem,
    Scaled,
    Text,
    TimeOfDay,
)
from dynamap.model.template_syntax import FieldToken

__all__ = ["TemplateProblem", "codec_for", "plain_type"]

_FIXED: dict[Any, KeyCodec] = {datetime: Instant(), date: Day(), time: TimeOfDay(), UUID: Identifier()}
_WIDEST = 100


class TemplateProblem(ValueError):
    """A field that cannot stand in a key; the message completes a sentence that begins with the field."""


def plain_type(hint: Any) -> Any:
    """A hint without Annotated, Final, NewType, type alias and Optional: what its values in a key are.

    >>> plain_type(Annotated[int | None, "extra"])
    <class 'int'>
    """
    while True:
        origin = get_origin(hint)
        if origin is Annotated or origin is Final:
            hint = get_args(hint)[0]
        elif isinstance(hint, NewType):
            hint = hint.__supertype__
        elif type(hint).__name__ == "TypeAliasType":
            hint = hint.__value__
        elif origin is Union or origin is types.UnionType:
            members = [member for member in get_args(hint) if member is not type(None)]
            if len(members) != 1:
                return hint
            hint = members[0]
        else:
            return annotated_type(hint)


def codec_for(hint: Any, token: FieldToken, *, sort: bool, raw: bool) -> KeyCodec:
    """The encoding of a field whose type is *hint*; TemplateProblem where keys cannot hold it.

    *raw* says that text is not escaped; *sort* that the template is one of a sort key, where numbers need a width.
    """
    plain = plain_type(hint)
    choices = _choices(plain)
    if choices is not None:
        return _choices_codec(choices, token, kind=_kind_of_choices(plain, choices), sort=sort, raw=raw)
    if plain is str:
        _refuse_width(token, "a str")
        return Text(Escape.RAW if raw else Escape.ORDERED if token.format == "ordered" else Escape.DELIMITER)
    if token.format == "ordered":
        msg = "is no str: the format 'ordered' is for text, numbers have a width and everything else has its own order"
        raise TemplateProblem(msg)
    if plain is int:
        return _integer(token, sort=sort)
    if plain is Decimal:
        return _scaled(token)
    if plain in _FIXED_TYPES:
        if token.format:
            msg = f"has the format {token.format!r}, but {_FIXED[plain].kind} has a fixed form: leave the format out"
            raise TemplateProblem(msg)
        return _FIXED[plain]
    raise _unfit(plain)


_FIXED_TYPES = list(_FIXED)


def _refuse_width(token: FieldToken, kind: str) -> None:
    if token.width is not None:
        msg = f"has a width, but is {kind}: widths are for numbers"
        raise TemplateProblem(msg)


def _check_width(token: FieldToken, least: int) -> int:
    width = token.width or 0
    if not least <= width <= _WIDEST:
        msg = f"has the width {width}: it must be from {least} to {_WIDEST}"
        raise TemplateProblem(msg)
    return width


def _integer(token: FieldToken, *, sort: bool) -> Integer:
    if token.width is None:
        if sort:
            raise _needs_width(token)
        return Integer(None)
    if token.scale is not None:
        msg = f"has decimals in its format, but is an int: write '{{{token.field}:0{token.width}}}'"
        raise TemplateProblem(msg)
    return Integer(_check_width(token, 1))


def _needs_width(token: FieldToken) -> TemplateProblem:
    return TemplateProblem(
        f"is a number in a sort key, where '10' sorts before '9': give it a width, such as '{{{token.field}:012}}'"
    )


def _scaled(token: FieldToken) -> Scaled:
    scale = token.scale
    if scale is None:
        msg = f"is a Decimal and needs a width and decimals, the point counted, such as '{{{token.field}:012.2}}'"
        raise TemplateProblem(msg)
    return Scaled(_check_width(token, scale + 2 if scale else 1), scale)


def _unfit(plain: Any) -> TemplateProblem:
    name = plain.__name__ if isinstance(plain, type) and get_origin(plain) is None else str(plain)
    return TemplateProblem(
        f"is of type {name}, which keys cannot hold:"
        " use str, int, Decimal, datetime, date, time, UUID, bool, an Enum or a Literal"
    )


def _choices(plain: Any) -> Sequence[object] | None:
    """The values of an Enum, Literal or bool; None for other types."""
    if plain is bool:
        return [False, True]
    if get_origin(plain) is Literal:
        return [choice for choice in _literals(plain) if choice is not None]
    if isinstance(plain, type) and issubclass(plain, Enum):
        if issubclass(plain, Flag):
            msg = "is a Flag, whose members combine, so that no text stands for each: use an Enum"
            raise TemplateProblem(msg)
        return list(plain)
    return None


def _literals(plain: Any) -> Sequence[object]:
    return cast("Sequence[object]", get_args(plain))


def _kind_of_choices(plain: Any, choices: Sequence[object]) -> str:
    if get_origin(plain) is Literal:
        return f"one of {', '.join(map(repr, choices))}"
    return f"a {plain.__name__}"


def _content(choice: object) -> str | int | bool:
    """What a choice is written as: the value of an Enum's member, anything else as it is."""
    content: object = choice.value if isinstance(choice, Enum) else choice
    if isinstance(content, (str, int)):
        return content
    msg = f"has a choice that is a {type(content).__name__}: choices in keys are str or int"
    raise TemplateProblem(msg)


def _choices_codec(choices: Sequence[object], token: FieldToken, *, kind: str, sort: bool, raw: bool) -> Choices:
    if not choices:
        msg = "has no choices, so that there is no key: add some"
        raise TemplateProblem(msg)
    contents = [_content(choice) for choice in choices]
    numbers = [content for content in contents if isinstance(content, int) and not isinstance(content, bool)]
    if token.format == "ordered":
        msg = "is no str: the format 'ordered' is for text"
        raise TemplateProblem(msg)
    if token.width is not None and len(numbers) < len(contents):
        _refuse_width(token, kind)
    # numbers among the choices follow the rule of numbers: unpadded, 10 would sort before 9
    number = _integer(token, sort=sort) if numbers else None
    text = Text(Escape.RAW if raw else Escape.DELIMITER)
    try:
        texts = [_text(content, number, text) for content in contents]
    except KeyValueProblem as problem:
        msg = f"has a choice that {problem}"
        raise TemplateProblem(msg) from None
    if len(set(texts)) < len(texts):
        msg = "has two choices with the same text in a key: give them different values"
        raise TemplateProblem(msg)
    return Choices(kind, tuple(zip(choices, texts, strict=True)), token.width)


def _text(content: str | int, number: Integer | None, text: Text) -> str:
    if isinstance(content, bool):
        return "true" if content else "false"
    if number is not None and isinstance(content, int):
        return number.encode(content)
    return text.encode(content)
