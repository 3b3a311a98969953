"""Types that say something and hold nothing: the two modes, and what a transaction takes."""

from __future__ import annotations

from typing import Generic, TypeVar

__all__ = ["Async", "D", "M_co", "Sync", "Write"]

M_co = TypeVar("M_co", covariant=True)


class Sync:
    """The mode of connect(): send() answers at once."""


class Async:
    """The mode of connect_async(): send() is awaited."""


D = TypeVar("D", Sync, Async)


class Write(Generic[D, M_co]):
    """What a transaction takes: its own marker in `reason_for` and `item_for`."""
