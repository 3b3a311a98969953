"""Key templates: `parse_template` reads one, the modules beside it say what it can do.

{id}            escapes `#` and `$`, so that every text is legal and no two share a key
{name:ordered}  escapes every character up to `$`: keys sort as the texts do, also before a `#`
{id:raw}        escapes nothing and refuses the delimiter
{seq:012}       an int, padded to 12 digits; negatives sort first
{price:09.2}    a Decimal with 2 decimals, 9 characters in all
{{ and }}       literal braces
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dynamap.model.key_template import KeyMismatch, KeyTemplate, Placeholder, Refusal
from dynamap.model.key_text import byte_length
from dynamap.model.key_types import TemplateProblem, codec_for, plain_type
from dynamap.model.template_overlap import Coincidence, KeyTemplates, Overlap, can_coincide
from dynamap.model.template_ranges import KeyRange, Operation, Operator, in_order
from dynamap.model.template_syntax import (
    FieldToken,
    LiteralText,
    is_sort,
    scan,
    sole_field,
    template_error,
    template_fields,
)

__all__ = [
    "Coincidence",
    "KeyMismatch",
    "KeyRange",
    "KeyTemplate",
    "KeyTemplates",
    "LiteralText",
    "Operation",
    "Operator",
    "Overlap",
    "Placeholder",
    "Refusal",
    "can_coincide",
    "parse_template",
    "plain_type",
    "sole_field",
    "template_fields",
]


def parse_template(text: str, hints: Mapping[str, Any], *, owner: str, part: str, escape: bool = True) -> KeyTemplate:
    """The template *text* of class *owner*, whose fields have the types *hints*.

    *part* is what messages call the key; its last word begins with "pk" or "sk", as in "gsi1 sk". Without *escape*,
    text that has no other format is raw. ModelError for wrong syntax, unknown fields, types that keys cannot hold,
    numbers of a sort key without a width, and placeholders that nothing separates.

    >>> template = parse_template("ORDER#{customer}#{line:03}", {"customer": str, "line": int}, owner="Line", part="sk")
    >>> template.render({"customer": "a#b", "line": 7})
    'ORDER#a$23b#007'
    >>> template.parse("ORDER#a$23b#007")
    {'customer': 'a#b', 'line': 7}
    """
    tokens = scan(text, owner=owner, part=part, names=list(hints))
    parts: list[LiteralText | Placeholder] = []
    for index, token in enumerate(tokens):
        if isinstance(token, LiteralText):
            parts.append(token)
            continue
        try:
            parts.append(_placeholder(tokens, index, token, hints[token.field], sort=is_sort(part), escape=escape))
        except TemplateProblem as problem:
            raise template_error(text, f"cannot hold {token.field!r}: it {problem}", owner=owner, part=part) from None
    template = KeyTemplate(text, tuple(parts), owner, part)
    _check_length(template)
    return template


def _placeholder(
    tokens: Sequence[LiteralText | FieldToken], index: int, token: FieldToken, hint: object, *, sort: bool, escape: bool
) -> Placeholder:
    raw = token.format == "raw" or (not escape and not token.format)
    codec = codec_for(hint, token, sort=sort, raw=raw)
    literal = tokens[index + 1] if index + 1 < len(tokens) else None
    following = literal.text if isinstance(literal, LiteralText) else ""
    if token.format == "ordered" and not in_order(codec, following):
        msg = f"is ordered, but {following!r} follows, which sorts among its characters: let a '#' follow, or nothing"
        raise TemplateProblem(msg)
    if codec.self_terminating or index + 2 >= len(tokens) or "#" in following:
        return Placeholder(token.field, codec)
    if not raw:
        following_field = tokens[index + 2]
        after = following_field.field if isinstance(following_field, FieldToken) else ""
        msg = (
            f"is separated from {after!r} by {following!r} only, which its values can hold too, so that different"
            f" values share a key: put a '#' between them, or write '{{{token.field}:raw}}', which refuses it"
        )
        raise TemplateProblem(msg)
    return Placeholder(token.field, codec, following)


def _check_length(template: KeyTemplate) -> None:
    size = sum(byte_length(part.text) for part in template.parts if isinstance(part, LiteralText))
    if size > template.limit:
        msg = f"has {size} bytes of literal text, DynamoDB takes {template.limit}: shorten it"
        raise template_error(template.text, msg, owner=template.owner, part=template.part)
