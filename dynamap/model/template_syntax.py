"""The syntax of key templates: literal text, and fields in braces. Knows names, but no types."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import pairwise

import msgspec

from dynamap.errors import ModelError

__all__ = ["FieldToken", "LiteralText", "is_sort", "scan", "sole_field", "template_error", "template_fields"]

_SPEC = re.compile(r"raw|ordered|0(?P<width>[1-9][0-9]{0,2})(?:\.(?P<scale>[0-9]{1,2}))?")


class LiteralText(msgspec.Struct, frozen=True):
    """Text that every key of the template has at this place."""

    text: str


class FieldToken(msgspec.Struct, frozen=True):
    """A field in braces: `{name}`, `{name:ordered}`, `{name:raw}`, `{name:012}` or `{name:09.2}`."""

    field: str
    format: str = ""

    @property
    def width(self) -> int | None:
        """The declared width of a number."""
        match = _SPEC.fullmatch(self.format)
        return int(match["width"]) if match and match["width"] else None

    @property
    def scale(self) -> int | None:
        """The declared decimals of a number."""
        match = _SPEC.fullmatch(self.format)
        return int(match["scale"]) if match and match["scale"] else None


Token = LiteralText | FieldToken


def template_error(text: str, problem: str, *, owner: str, part: str) -> ModelError:
    """A ModelError that names the class, the part of the key and the template."""
    return ModelError(f"{owner}: the {part} template {text!r} {problem}")


def is_sort(part: str) -> bool:
    """Whether *part* names a sort key: its last word begins with "sk" ("pk" for a partition key).

    >>> is_sort("gsi1 sk"), is_sort("pk")
    (True, False)
    """
    return part.rsplit(maxsplit=1)[-1].startswith("sk")


def _tokens(text: str) -> Sequence[Token]:
    tokens: list[Token] = []
    literal: list[str] = []
    position = 0
    while position < len(text):
        character = text[position]
        if character not in "{}":
            literal.append(character)
            position += 1
        elif text.startswith(character * 2, position):
            literal.append(character)
            position += 2
        elif character == "}":
            msg = "has a '}' without its '{': write '}}' for a literal brace"
            raise ValueError(msg)
        else:
            end = text.find("}", position)
            inner = text[position + 1 : end]
            if end < 0 or "{" in inner:
                msg = "has a '{' without its '}': write '{{' for a literal brace"
                raise ValueError(msg)
            if literal:
                tokens.append(LiteralText("".join(literal)))
                literal = []
            field, _, spec = inner.partition(":")
            tokens.append(FieldToken(field, spec))
            if inner.endswith(":"):
                msg = f"has an empty format in {{{inner}}}: leave out the ':'"
                raise ValueError(msg)
            position = end + 1
    if literal:
        tokens.append(LiteralText("".join(literal)))
    return tokens


def _check_field(token: FieldToken, names: Collection[str]) -> None:
    if token.field not in names:
        listed = ", ".join(names) or "none"
        msg = f"names {token.field!r}, which is no field: the fields are {listed}"
        raise ValueError(msg)
    if token.format and not _SPEC.fullmatch(token.format):
        msg = (
            f"has the format {token.format!r} for field {token.field!r}: formats are 'ordered' and 'raw' for text,"
            " a width such as '012' for an int, and width and decimals such as '09.2' for a Decimal"
        )
        raise ValueError(msg)


def _check(tokens: Sequence[Token], names: Collection[str]) -> None:
    if not tokens:
        msg = "is empty: a key needs at least one character"
        raise ValueError(msg)
    for token in tokens:
        if isinstance(token, FieldToken):
            _check_field(token, names)
        elif token.text in names:
            msg = f"has the literal {token.text!r}, the name of a field: write '{{{token.text}}}' for its value"
            raise ValueError(msg)
    for left, right in pairwise(tokens):
        if isinstance(left, FieldToken) and isinstance(right, FieldToken):
            msg = (
                f"has nothing between {{{left.field}}} and {{{right.field}}}, so that different values share a key:"
                " put a '#' between them"
            )
            raise ValueError(msg)  # noqa: TRY004 -- no value has a wrong type


def scan(text: str, *, owner: str, part: str, names: Collection[str]) -> tuple[Token, ...]:
    """The literals and fields of a template in their order; ModelError for wrong syntax or a field not in *names*."""
    try:
        tokens = _tokens(text)
        _check(tokens, names)
        text.encode()
    except UnicodeEncodeError:
        raise template_error(text, "holds a surrogate, which UTF-8 cannot write", owner=owner, part=part) from None
    except ValueError as error:
        raise template_error(text, str(error), owner=owner, part=part) from None
    return tuple(tokens)


def template_fields(text: str, *, owner: str, part: str, names: Collection[str]) -> tuple[str, ...]:
    """The fields of a template, each once, in order; checks syntax and names, for when types are not yet known.

    Raises ModelError for unknown fields, literals that equal a field's name, adjacent or unbalanced braces,
    formats that do not exist, and an empty template.

    >>> template_fields("ORDER#{customer}#{at}", owner="Order", part="sk", names=["customer", "at"])
    ('customer', 'at')
    """
    tokens = scan(text, owner=owner, part=part, names=names)
    return tuple(dict.fromkeys(token.field for token in tokens if isinstance(token, FieldToken)))


def sole_field(text: str) -> str | None:
    """The field of a template that is one field and nothing else, as keys of type N and B need; None for any other.

    >>> sole_field("{number}"), sole_field("NO#{number}")
    ('number', None)
    """
    match = re.fullmatch(r"\{([^{}:]+)\}", text)
    return match[1] if match else None
