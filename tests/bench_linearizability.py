"""A small checker of linearizability: is there an order of the operations, each at one moment between its beginning and
its end, in which a plain sequential item would have answered the same?

The search of Wing and Gong, with the states that were met before remembered, as Lowe describes it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

__all__ = ["Event", "is_linearizable"]

S = TypeVar("S", bound=Hashable)


@dataclass(frozen=True)
class Event:
    """One operation of a history: when it began and ended, and what it was and was answered.

    *optional* says that it may also never have happened, as after an answer that was lost for good.
    """

    begin: int
    end: int
    operation: Any
    optional: bool = False


def is_linearizable(history: Sequence[Event], start: S, apply: Callable[[S, Any], S | None]) -> bool:
    """Whether the history has such an order. *apply* answers the next state, or None where the answer does not fit."""
    events = sorted(history, key=lambda event: event.begin)
    everything = frozenset(range(len(events)))
    stack: list[tuple[frozenset[int], S]] = [(everything, start)]
    met: set[tuple[frozenset[int], S]] = set()
    while stack:
        left, state = stack.pop()
        if all(events[index].optional for index in left):
            return True
        if (left, state) in met:
            continue
        met.add((left, state))
        # only what began before the first end of the others can come next
        first_end = min(events[index].end for index in left)
        for index in left:
            if events[index].begin > first_end:
                continue
            if events[index].optional:
                stack.append((left - {index}, state))
            found = apply(state, events[index].operation)
            if found is not None:
                stack.append((left - {index}, found))
    return False
