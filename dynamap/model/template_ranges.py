"""What a condition on a key compiles to: one operator of DynamoDB that stays inside the literal prefix."""

from __future__ import annotations

from typing import Literal

import msgspec

from dynamap.model.key_text import after_prefix, before, byte_length, last_with_prefix
from dynamap.model.key_values import KeyCodec, Text

__all__ = ["ALL", "NOTHING", "KeyRange", "Operation", "Operator", "Place", "in_order"]

Side = Literal["lt", "le", "gt", "ge"]
Operation = Literal["eq", "between", "begins_with", Side]
Operator = Literal[Operation, "all", "nothing"]


class KeyRange(msgspec.Struct, frozen=True):
    """One condition on a key attribute: an operator of DynamoDB and its operands, which are texts.

    "all" needs no condition; "nothing" means that no key can match, so that no request is needed. Neither has operands.
    """

    operator: Operator
    operands: tuple[str, ...] = ()

    def matches(self, key: str) -> bool:
        """Whether a stored key is in the range, as DynamoDB compares: by UTF-8 bytes."""
        first = self.operands[0] if self.operands else ""
        match self.operator:
            case "all":
                return True
            case "nothing":
                return False
            case "begins_with":
                return key.startswith(first)
            case "between":
                # code points have the order of UTF-8 bytes
                return first <= key <= self.operands[1]
            case "eq":
                return key == first
            case "lt":
                return key < first
            case "le":
                return key <= first
            case "gt":
                return key > first
            case "ge":
                return key >= first


ALL = KeyRange("all")
NOTHING = KeyRange("nothing")


class Place(msgspec.Struct, frozen=True):
    """Where a placeholder stands: after *prefix*, before the literal *following*; *last* if no placeholder comes after.

    Its keys are prefix + text + following, and more unless it is the last. *limit* is in UTF-8 bytes.
    """

    prefix: str
    codec: KeyCodec
    following: str
    last: bool
    limit: int

    @property
    def takes_range(self) -> bool:
        """Whether keys sort as the values at this place do."""
        return in_order(self.codec, self.following)

    def key(self, text: str) -> str:
        """The key, or what all keys with this text at this place begin with."""
        return f"{self.prefix}{text}{self.following}"

    def fits(self, key: str) -> bool:
        """Whether DynamoDB takes *key* as an operand."""
        return byte_length(key) <= self.limit

    def compile(self, operation: Literal[Side, "between", "begins_with"], low: str, high: str) -> KeyRange:
        """The condition for encoded operands; *high* counts for "between" only, where it is not below *low*."""
        match operation:
            case "begins_with":
                start = self.prefix + low
                return KeyRange("begins_with", (start,)) if start else ALL
            case "between":
                return self._between(self.key(low), self._highest(high))
            case "lt" | "le" | "gt" | "ge":
                return self._inside(operation, low) if self.prefix else self._bare(operation, low)

    def _bare(self, operation: Side, text: str) -> KeyRange:
        """A one-sided condition where no prefix has to be kept to."""
        key = self.key(text)
        after = operation in ("gt", "le")
        if not key:
            # the empty text is below every key, and no key itself
            return ALL if operation in ("gt", "ge") else NOTHING
        if self.last or not after:
            return KeyRange(operation, (key,))
        # every key with this text begins with `key`: past all of them
        bound = after_prefix(key, self.limit)
        if bound is None:
            return ALL if operation == "le" else NOTHING
        return KeyRange("ge" if operation == "gt" else "lt", (bound,))

    def _inside(self, operation: Side, text: str) -> KeyRange:
        """A one-sided condition whose other side is an end of the prefix."""
        match operation:
            case "ge":
                return self._between(self.key(text), self._top())
            case "gt":
                return self._between(self._above(text), self._top())
            case "le":
                return self._between(self.prefix, self._highest(text))
            case "lt":
                return self._between(self.prefix, self._below(text))

    def _between(self, low: str | None, high: str | None) -> KeyRange:
        if low is None or high is None or low > high or not high:
            return NOTHING
        # an empty operand is refused by DynamoDB, and every key is above it
        return KeyRange("between", (low, high)) if low else KeyRange("le", (high,))

    def _top(self) -> str:
        """A text not below any key with the prefix."""
        if isinstance(self.codec, Text):
            return last_with_prefix(self.prefix, self.limit)
        return f"{self.prefix}{self.codec.ceiling}"

    def _highest(self, text: str) -> str | None:
        """A text not below any key with *text*, and below every key with a greater one."""
        key = self.key(text)
        # in any other place the bound is no key itself: it would need the whole literal
        return key if self.last else after_prefix(key, self.limit)

    def _above(self, text: str) -> str | None:
        """A text above every key with *text*, and not above any key with a greater one."""
        key = self.key(text)
        if isinstance(self.codec, Text) and not self.following and self.fits(key + self.codec.floor):
            return key + self.codec.floor
        bound = after_prefix(key, self.limit)
        return bound if bound is not None and bound.startswith(self.prefix) else None

    def _below(self, text: str) -> str | None:
        """A text below every key with *text*, and not below any key with a smaller one."""
        start = self.prefix + text
        if self.following:
            return start
        if not text:
            return None
        if isinstance(self.codec, Text):
            return before(start, self.limit)
        # no text is as long as this one and begins so: nothing lies between
        return start[:-1] + chr(ord(start[-1]) - 1)


def in_order(codec: KeyCodec, following: str) -> bool:
    """Whether keys sort as values do, where *following* is the literal after the placeholder.

    A shorter text meets the literal where a longer one goes on: only a `#` sorts below all that an ordered text holds.
    """
    if codec.self_terminating or not following:
        return codec.ordered
    return isinstance(codec, Text) and codec.escape.value == "ordered" and following.startswith("#")
