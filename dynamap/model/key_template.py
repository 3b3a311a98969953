"""A parsed key template: values to keys, keys to values, and conditions on keys."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Any

import msgspec
from msgspec.structs import replace

from dynamap.errors import KeyValueError, RequestError
from dynamap.model.key_text import byte_length
from dynamap.model.key_values import DELIMITER, KeyCodec, KeyValueProblem, Text
from dynamap.model.template_ranges import ALL, KeyRange, Operation, Place, in_order
from dynamap.model.template_syntax import LiteralText, is_sort

__all__ = ["KeyMismatch", "KeyTemplate", "Placeholder", "Refusal"]

_SORT_LIMIT = 1024
_PARTITION_LIMIT = 2048


class KeyMismatch(ValueError):
    """A text that is no key of this template."""


class Placeholder(msgspec.Struct, frozen=True):
    """A field inside a template, with its encoding; a raw text may not hold *stop*, the literal that ends it."""

    field: str
    codec: KeyCodec
    stop: str | None = None

    def encode(self, value: object) -> str:
        """The text of a value; KeyValueProblem if it has none."""
        text = self.codec.encode(value)
        # searched in text and literal together: "a" before "aa" would end one character early
        if self.stop is not None and (text + self.stop).find(self.stop) < len(text):
            msg = f"contains {self.stop!r}, which ends it in its template: leave out ':raw', or change the value"
            raise KeyValueProblem(msg)
        return text


class Refusal(msgspec.Struct, frozen=True):
    """Keys that would be another entity's: those that have one of the texts in each of the numbered segments."""

    other: str
    fields: tuple[str, ...]
    segments: tuple[tuple[int, tuple[str, ...]], ...]

    def meets(self, key: str) -> bool:
        """Whether *key* is one of them."""
        segments = key.split(DELIMITER)
        return all(segments[index] in texts for index, texts in self.segments)


class KeyTemplate(msgspec.Struct, frozen=True, dict=True):
    """A key template with the types of its fields: `ORDER#{customer}#{at}`.

    Injective: two keys are equal only if all fields are. *owner* and *part* are the class and key that messages name.
    """

    text: str
    parts: tuple[LiteralText | Placeholder, ...]
    owner: str
    part: str
    refusals: tuple[Refusal, ...] = ()

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields, each once, in order."""
        return tuple(dict.fromkeys(placeholder.field for placeholder in self.placeholders))

    @cached_property
    def placeholders(self) -> tuple[Placeholder, ...]:
        """The placeholders in order; a field may stand in several."""
        return tuple(part for part in self.parts if isinstance(part, Placeholder))

    @cached_property
    def limit(self) -> int:
        """The most UTF-8 bytes that DynamoDB takes: 2048 in a partition key, 1024 in a sort key."""
        return _SORT_LIMIT if is_sort(self.part) else _PARTITION_LIMIT

    @cached_property
    def segments(self) -> tuple[tuple[LiteralText | Placeholder, ...], ...]:
        """The parts between one `#` and the next: no value holds a `#`, so keys have as many segments."""
        segments: list[list[LiteralText | Placeholder]] = [[]]
        for part in self.parts:
            if isinstance(part, Placeholder):
                segments[-1].append(part)
                continue
            for index, text in enumerate(part.text.split(DELIMITER)):
                if index:
                    segments.append([])
                if text:
                    segments[-1].append(LiteralText(text))
        return tuple(tuple(segment) for segment in segments)

    def is_complete(self, values: Mapping[str, Any]) -> bool:
        """Whether every field has a value; None is none."""
        return all(values.get(field) is not None for field in self.fields)

    def render(self, values: Mapping[str, Any]) -> str:
        """The key of these field values; others are ignored.

        KeyValueError for a value that is missing or None, of another type, too wide or otherwise without a text, and
        for a key that is empty, too long, or another entity's.
        """
        return self.checked(self._join(values))

    def parse(self, key: str) -> dict[str, Any]:
        """The field values of a key, typed; KeyMismatch if `render` gives no such key."""
        values: dict[str, Any] = {}
        position = 0
        try:
            for index, part in enumerate(self.parts):
                end = self._end(key, index, position)
                if isinstance(part, Placeholder):
                    values[part.field] = part.codec.decode(key[position:end])
                position = end
            # writing it again settles what cutting left open: literals, a field that stands twice, refused texts
            same = position == len(key) and self.render(values) == key
        except (ValueError, KeyValueError) as error:
            msg = f"not a key of the {self.part} template {self.text!r} of {self.owner}"
            raise KeyMismatch(msg) from error
        if not same:
            msg = f"not a key of the {self.part} template {self.text!r} of {self.owner}"
            raise KeyMismatch(msg)
        return values

    def prefix(self, values: Mapping[str, Any]) -> str:
        """What all keys with these leading field values begin with, up to the next field; the key if none is left.

        It ends with the literal before that field, so that "1" never matches "10". Empty if the template begins with
        a field that is not given. KeyValueError as for `render`, and for a value that follows a missing one.
        """
        given = self._leading(values)
        if given == len(self.placeholders):
            return self.render(values)
        start = self._start(values, given)
        return self._within_limit(start) if start else start

    def condition(self, values: Mapping[str, Any]) -> KeyRange:
        """The condition for these leading field values: equality if they are all, else a beginning of the key."""
        prefix = self.prefix(values)
        if not prefix:
            return ALL
        return KeyRange("eq" if self.is_complete(values) else "begins_with", (prefix,))

    def next_field(self, values: Mapping[str, Any]) -> str | None:
        """The first field without a value, which is the one that takes a range; None if there is none."""
        given = self._leading(values)
        return self.placeholders[given].field if given < len(self.placeholders) else None

    def takes_range(self, field: str) -> bool:
        """Whether keys sort as this field does among those that agree in the fields before it."""
        for index, part in enumerate(self.parts):
            if isinstance(part, Placeholder) and part.field == field:
                return in_order(part.codec, self._following(index))
        return False

    def bounds(self, values: Mapping[str, Any], op: Operation, low: object, high: object = None) -> KeyRange:
        """The condition for leading field values, and a range of the next field; it never leaves the literal prefix.

        *high* is for "between", both ends of which count. Operands are encoded as keys are. RequestError if the next
        field takes no range, there is no next field, or "between" is reversed; KeyValueError as for `render`.
        """
        given = self._leading(values)
        if given == len(self.placeholders):
            msg = f"{self._named()} has no field left for a range: all of its fields are given"
            raise RequestError(msg)
        placeholder = self.placeholders[given]
        index = self._index(given)
        place = Place(
            self._start(values, given),
            placeholder.codec,
            self._following(index),
            given + 1 == len(self.placeholders),
            self.limit,
        )
        self._check_operation(placeholder, place, op)
        texts = [self._encode(placeholder, low), self._encode(placeholder, high) if op == "between" else ""]
        if op == "eq":
            return self._equal(place, texts[0])
        for text in texts:
            self._within_limit(place.prefix + text if op == "begins_with" else place.key(text))
        if op == "between" and texts[0] > texts[1]:
            msg = f"{self.owner}.{placeholder.field}: the low end of between() is above its high end: exchange them"
            raise RequestError(msg)
        if op == "begins_with":
            self._check_beginning(placeholder, place, texts[0])
        return place.compile(op, *texts)

    def refusing(self, other: str, segments: Mapping[int, Collection[str]]) -> KeyTemplate:
        """The template, not rendering keys of *other*: those with one of the texts in every segment that is named."""
        fields = dict.fromkeys(
            part.field for index in segments for part in self.segments[index] if isinstance(part, Placeholder)
        )
        texts = tuple((index, tuple(sorted(segments[index]))) for index in sorted(segments))
        return replace(self, refusals=(*self.refusals, Refusal(other, tuple(fields), texts)))

    def _named(self) -> str:
        return f"{self.owner}: the {self.part} template {self.text!r}"

    def _encode(self, placeholder: Placeholder, value: object) -> str:
        field = placeholder.field
        if value is None:
            msg = f"{self.owner}.{field} is missing: the {self.part} template {self.text!r} needs a value for it"
            raise KeyValueError(msg)
        try:
            return placeholder.encode(value)
        except KeyValueProblem as problem:
            msg = f"{self.owner}.{field} {problem} (in the {self.part} template {self.text!r})"
            raise KeyValueError(msg) from None

    def _join(self, values: Mapping[str, Any]) -> str:
        return "".join(
            [
                part.text if isinstance(part, LiteralText) else self._encode(part, values.get(part.field))
                for part in self.parts
            ]
        )

    def _within_limit(self, key: str) -> str:
        try:
            size = byte_length(key)
        except UnicodeEncodeError:
            msg = f"{self._named()} got a surrogate, which UTF-8 cannot write: change {self._listed()}"
            raise KeyValueError(msg) from None
        if size > self.limit:
            msg = f"{self._named()} gives {size} bytes of UTF-8, DynamoDB takes {self.limit}: shorten {self._listed()}"
            raise KeyValueError(msg)
        return key

    def _listed(self) -> str:
        return " or ".join(f"{self.owner}.{field}" for field in self.fields) or "the template"

    def checked(self, key: str) -> str:
        """The key itself. KeyValueError for one that is empty, too long, or another entity's."""
        if not key:
            msg = f"{self._named()} gives an empty key, which DynamoDB does not take: give {self._listed()} a text"
            raise KeyValueError(msg)
        for refusal in self.refusals:
            if refusal.meets(key):
                listed = " and ".join(f"{self.owner}.{field}" for field in refusal.fields)
                msg = (
                    f"{self._named()} would give a key of {refusal.other}: choose another value for {listed},"
                    " or permit it with Table(overlap=...)"
                )
                raise KeyValueError(msg)
        return self._within_limit(key)

    def _end(self, key: str, index: int, start: int) -> int:
        """Where the part that begins at *start* ends in a key; ValueError if it does not."""
        part = self.parts[index]
        if isinstance(part, LiteralText):
            return start + len(part.text)
        if part.codec.self_terminating:
            return part.codec.end(key, start)
        following = self._following(index)
        if index + 2 >= len(self.parts):
            return max(len(key) - len(following), start)
        if DELIMITER in following:
            return max(key.index(DELIMITER, start) - following.index(DELIMITER), start)
        return key.index(following, start)

    def _following(self, index: int) -> str:
        """The literal after a part; empty if the template ends with it."""
        part = self.parts[index + 1] if index + 1 < len(self.parts) else None
        return part.text if isinstance(part, LiteralText) else ""

    def _index(self, number: int) -> int:
        return [index for index, part in enumerate(self.parts) if isinstance(part, Placeholder)][number]

    def _leading(self, values: Mapping[str, Any]) -> int:
        """How many placeholders from the first on have a value; KeyValueError if one after a gap has one."""
        for field in self.fields:
            if field in values and values[field] is None:
                msg = f"{self.owner}.{field} is None: give a value, or leave the field out for all of its values"
                raise KeyValueError(msg)
        given = 0
        while given < len(self.placeholders) and self.placeholders[given].field in values:
            given += 1
        missing = self.placeholders[given].field if given < len(self.placeholders) else ""
        for placeholder in self.placeholders[given:]:
            if placeholder.field in values and placeholder.field not in self._before(given):
                msg = (
                    f"{self.owner}.{placeholder.field} is given without {self.owner}.{missing}, which stands before it"
                    f" in the {self.part} template {self.text!r}: give both"
                )
                raise KeyValueError(msg)
        return given

    def _before(self, number: int) -> tuple[str, ...]:
        return tuple(placeholder.field for placeholder in self.placeholders[:number])

    def _start(self, values: Mapping[str, Any], number: int) -> str:
        """The key up to the numbered placeholder."""
        return "".join(
            [
                part.text if isinstance(part, LiteralText) else self._encode(part, values.get(part.field))
                for part in self.parts[: self._index(number)]
            ]
        )

    def _equal(self, place: Place, text: str) -> KeyRange:
        key = place.key(text)
        checked = self.checked(key) if place.last else self._within_limit(key)
        return KeyRange("eq" if place.last else "begins_with", (checked,))

    def _check_operation(self, placeholder: Placeholder, place: Place, op: Operation) -> None:
        name = f"{self.owner}.{placeholder.field}"
        is_text = isinstance(placeholder.codec, Text)
        if op == "begins_with":
            if not is_text:
                msg = f"{name} takes no begins_with: it is {placeholder.codec.kind}, begins_with is for str"
                raise RequestError(msg)
        elif op != "eq" and not place.takes_range:
            remedy = (
                f"declare it as {{{placeholder.field}:ordered}}, followed by a '#' or nothing"
                if is_text
                else "only str, padded numbers, dates, times and UUIDs have an order in keys"
            )
            msg = (
                f"{name} takes no range, because keys of the {self.part} template {self.text!r} do not sort as it does:"
                f" {remedy}"
            )
            raise RequestError(msg)

    def _check_beginning(self, placeholder: Placeholder, place: Place, text: str) -> None:
        # a shorter value and the start of the literal after it would look like the longer beginning
        for size in range(1, len(place.following) + 1):
            if text.endswith(place.following[:size]):
                msg = (
                    f"{self.owner}.{placeholder.field}: this beginning cannot be told from the literal"
                    f" {place.following!r} that follows in the template {self.text!r}: filter for it instead"
                )
                raise RequestError(msg)
