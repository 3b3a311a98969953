"""Whether two entities of one table can ever have the same key.

No value holds a `#`, so a key has as many segments as its template, and two keys are equal only if all of their
segments are. Each pair of segments is compared by the texts that it can have. What is said to be apart is apart; where
the comparison is not exact, it errs by seeing an overlap.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum
from itertools import product

import msgspec

from dynamap.model.key_template import KeyTemplate, Placeholder, Refusal
from dynamap.model.key_values import Shape
from dynamap.model.template_syntax import LiteralText

__all__ = ["Coincidence", "KeyTemplates", "Overlap", "can_coincide"]

KeyTemplates = tuple["KeyTemplate | None", "KeyTemplate | None"]
_Segment = tuple[LiteralText | Placeholder, ...]


class Overlap(Enum):
    """Whether keys of two entities can be equal."""

    NEVER = "never"
    """No values of the fields give equal keys."""
    AVOIDABLE = "avoidable"
    """Only if text fields of one of them have texts that the other one writes as a literal, an Enum, a Literal or a
    bool: refusing these texts keeps the keys apart."""
    UNAVOIDABLE = "unavoidable"
    """For texts that cannot be listed, as with two free fields, or for typed values, or always."""


class Coincidence(msgspec.Struct, frozen=True):
    """The verdict on two entities, and their templates, which refuse what would be the other's key.

    *refusal* is what was added to one of them: not None exactly where *overlap* is AVOIDABLE.
    """

    overlap: Overlap
    first: KeyTemplates
    second: KeyTemplates
    refusal: Refusal | None = None


class _Narrowed(msgspec.Struct, frozen=True):
    """What must hold for two segments to be equal: each has one of the texts (None: it has no choice or no bound)."""

    first: tuple[str, ...] | None = None
    second: tuple[str, ...] | None = None


def can_coincide(first: KeyTemplates, second: KeyTemplates) -> Coincidence:
    """Whether entities with these (partition, sort) templates can have equal keys, and templates that keep them apart.

    None stands for a key of which nothing is known: it may be equal to any other.

    For AVOIDABLE, one of the four templates refuses: rendering a key whose segments are all as the other entity would
    need them raises KeyValueError. The sort key is preferred, then the first entity. Refusals that are there already
    stay, so the result of one comparison can go into the next. What `overlap=` permits is the caller's business.
    """
    narrowed: dict[bool, list[_Narrowed]] = {}
    for sort in (True, False):
        templates = first[sort], second[sort]
        if templates[0] is None or templates[1] is None:
            continue
        compared = _compare(templates[0], templates[1])
        if compared is None:
            return Coincidence(Overlap.NEVER, first, second)
        narrowed[sort] = compared
    for sort, pairs in narrowed.items():
        for side, (own, other) in enumerate(((first, second), (second, first))):
            template, its = own[sort], other[sort]
            texts = _texts_by_segment(pairs, side)
            if template is None or its is None:
                continue
            if any(_is_free(template.segments[index]) for index in texts):
                refusing = template.refusing(its.owner, texts)
                changed: KeyTemplates = (own[0], refusing) if sort else (refusing, own[1])
                both = (changed, second) if side == 0 else (first, changed)
                return Coincidence(Overlap.AVOIDABLE, *both, refusing.refusals[-1])
    return Coincidence(Overlap.UNAVOIDABLE, first, second)


def _compare(first: KeyTemplate, second: KeyTemplate) -> list[_Narrowed] | None:
    """What each pair of segments needs to be equal; None if some pair never is."""
    if len(first.segments) != len(second.segments):
        return None
    pairs: list[_Narrowed] = []
    for one, other in zip(first.segments, second.segments, strict=True):
        pair = _compare_segments(one, other)
        if pair is None:
            return None
        pairs.append(pair)
    return pairs


def _texts_by_segment(pairs: Collection[_Narrowed], side: int) -> Mapping[int, tuple[str, ...]]:
    sides = [pair.second if side else pair.first for pair in pairs]
    return {index: texts for index, texts in enumerate(sides) if texts is not None}


def _compare_segments(first: _Segment, second: _Segment) -> _Narrowed | None:
    first_texts, second_texts = _all_texts(first), _all_texts(second)
    if first_texts is None and second_texts is None:
        return _Narrowed() if _shapes_meet(_shapes(first), _shapes(second)) else None
    # one side at least can be listed: what the other one can also write
    listed = first_texts if first_texts is not None else second_texts
    common = tuple(text for text in listed or () if _writes(first, text) and _writes(second, text))
    if not common:
        return None
    return _Narrowed(_unless_all(common, first_texts), _unless_all(common, second_texts))


def _unless_all(common: tuple[str, ...], texts: tuple[str, ...] | None) -> tuple[str, ...] | None:
    return None if texts is not None and len(common) == len(texts) else common


def _is_free(segment: _Segment) -> bool:
    return any(isinstance(part, Placeholder) and part.codec.free for part in segment)


def _all_texts(segment: _Segment) -> tuple[str, ...] | None:
    """Every text of a segment, where it is a literal or has one placeholder with few choices."""
    before, placeholder, after = _around(segment)
    if placeholder is None:
        return None if len(segment) > 1 else (before,)
    texts = placeholder.codec.texts
    return None if texts is None else tuple(f"{before}{text}{after}" for text in texts)


def _around(segment: _Segment) -> tuple[str, Placeholder | None, str]:
    """The literals before and after the only placeholder; no placeholder if there are none or several."""
    placeholders = [part for part in segment if isinstance(part, Placeholder)]
    literals = ["", ""]
    passed = 0
    for part in segment:
        if isinstance(part, LiteralText):
            literals[min(passed, 1)] += part.text
        else:
            passed += 1
    return literals[0], placeholders[0] if len(placeholders) == 1 else None, literals[1]


def _writes(segment: _Segment, text: str) -> bool:
    """Whether a segment can be *text*; may err towards yes where it has several placeholders."""
    before, placeholder, after = _around(segment)
    if placeholder is None:
        return _shapes_meet(_shapes(segment), (_spelled(text),))
    if len(text) < len(before) + len(after) or not (text.startswith(before) and text.endswith(after)):
        return False
    try:
        placeholder.codec.decode(text[len(before) : len(text) - len(after)])
    except ValueError:
        return False
    return True


def _spelled(text: str) -> Shape:
    return tuple((character, False) for character in text)


def _shapes(segment: _Segment) -> tuple[Shape, ...]:
    """Rows of characters that cover every text of a segment."""
    choices: list[tuple[Shape, ...]] = []
    for part in segment:
        if isinstance(part, LiteralText):
            choices.append((_spelled(part.text),))
        elif part.codec.texts is not None:
            # not each choice in turn: several placeholders would multiply them
            choices.append((((None, True),),))
        else:
            choices.append(part.codec.shapes)
    return tuple(tuple(element for shape in row for element in shape) for row in product(*choices))


def _shapes_meet(first: Collection[Shape], second: Collection[Shape]) -> bool:
    return any(_meet(one, other) for one, other in product(first, second))


def _meet(first: Shape, second: Shape) -> bool:
    """Whether some text is in both shapes: walks through both at once, by every pair of places within reach."""
    seen = {(0, 0)}
    waiting = [(0, 0)]
    while waiting:
        here = i, j = waiting.pop()
        if here == (len(first), len(second)):
            return True
        for step in _steps(first, second, i, j):
            if step not in seen:
                seen.add(step)
                waiting.append(step)
    return False


def _steps(first: Shape, second: Shape, i: int, j: int) -> Collection[tuple[int, int]]:
    steps: list[tuple[int, int]] = []
    if i < len(first) and first[i][1]:
        steps.append((i + 1, j))
    if j < len(second) and second[j][1]:
        steps.append((i, j + 1))
    if i < len(first) and j < len(second):
        (one, one_repeats), (other, other_repeats) = first[i], second[j]
        if one is None or other is None or set(one) & set(other):
            steps.append((i if one_repeats else i + 1, j if other_repeats else j + 1))
    return steps
