"""Types that say something and hold nothing: the two modes, and what a transaction takes."""

from __future__ import annotations

from typing import Generic, TypeVar

__all__ = ["Async", "D", "M_co", "Sync", "Write"]

M_co = TypeVar("M_co", covariant=True)


class Sync:
    """The mode of `connect`, as in `Store[Sync]`: `send()` answers."""


class Async:
    """The mode of `connect_async`, as in `Store[Async]`: `send()` is awaited."""


D = TypeVar("D", Sync, Async)


class Write(Generic[D, M_co]):
    """What a transaction takes; the operation itself is its marker in `reason_for`, `item_for` and `stored`."""
