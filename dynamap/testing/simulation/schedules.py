"""Schedules: where every choice of a simulation comes from, so that it can be made again."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from dynamap.errors import RequestError

__all__ = ["Schedule", "schedules"]

_MARK = "schedule:"
_SEED = "seed="
_ENTRY = re.compile(r"(?:(\d+)x)?(\d+)\Z")


class Schedule:
    """A source of choices: from a seed, or from a list of numbers after which every choice is the first.

    The first choice always is the quiet one: the same client goes on, nothing fails, no clock jumps. *seed* also gives
    the lengths of pauses, so that it belongs to a list as well. `made` lists the choices that were made, and `str`
    writes them down for `Schedule.parse`.

    >>> schedule = Schedule.listed([4, 1])
    >>> [schedule.below(3) for _ in range(4)]
    [1, 1, 0, 0]
    >>> str(schedule)
    'schedule: 2x1'
    """

    def __init__(self, *, seed: int = 0, choices: Iterable[int] | None = None) -> None:
        self.seed = seed
        self.made: list[int] = []
        self._random = random.Random(seed) if choices is None else None  # noqa: S311 - it must be repeatable
        self._choices = iter(() if choices is None else tuple(choices))

    @classmethod
    def seeded(cls, seed: int, /) -> Schedule:
        """Every choice is random, and the same for the same seed."""
        return cls(seed=seed)

    @classmethod
    def listed(cls, choices: Iterable[int], /) -> Schedule:
        """These choices in order, each taken modulo the number of options; then always the first option."""
        return cls(choices=choices)

    @classmethod
    def parse(cls, text: str, /) -> Schedule:
        """The schedule that is written in a text, such as a record or the message of a failure. Raises RequestError."""
        found = [line.partition(_MARK)[2] for line in text.splitlines() if _MARK in line]
        if not found:
            msg = f"no line with {_MARK!r} is in the text: take the whole record"
            raise RequestError(msg)
        choices: list[int] = []
        seed = 0
        for entry in found[-1].split():
            if entry.startswith(_SEED) and entry.removeprefix(_SEED).isdecimal():
                seed = int(entry.removeprefix(_SEED))
                continue
            match = _ENTRY.match(entry)
            if match is None:
                msg = f"{entry!r} is no choice of a schedule: choices are numbers, or 12x0 for twelve of them"
                raise RequestError(msg)
            choices += [int(match[2])] * int(match[1] or 1)
        return cls(seed=seed, choices=choices)

    def __str__(self) -> str:
        made = self.made[: len(self.made) - _trailing_zeros(self.made)]
        runs = ((choice, len(list(group))) for choice, group in groupby(made))
        seed = [f"{_SEED}{self.seed}"] if self.seed else []
        return " ".join([_MARK, *seed, *(f"{count}x{choice}" if count > 1 else str(choice) for choice, count in runs)])

    def below(self, options: int) -> int:
        """The next choice: a number from 0 to *options* - 1. Where there is no choice nothing is used up."""
        if options <= 1:
            return 0
        choice = next(self._choices, 0) % options if self._random is None else self._random.randrange(options)
        self.made.append(choice)
        return choice

    def one_in(self, options: int) -> bool:
        """Whether something happens that happens once in so many times."""
        return self.below(options) == options - 1


def _trailing_zeros(choices: Sequence[int]) -> int:
    count = 0
    for choice in reversed(choices):
        if choice:
            break
        count += 1
    return count


def schedules(longest: int = 400) -> Any:
    """A hypothesis strategy of schedules: failing ones shrink to few switches between clients and few faults.

    >>> from hypothesis import given
    >>> @given(schedules())
    ... def test_transfers(schedule: Schedule) -> None:
    ...     bench.run(schedule)
    """
    from hypothesis import strategies  # noqa: PLC0415 - an extra

    number = strategies.integers(0, 2**16 - 1)
    short = strategies.lists(number, max_size=longest)
    long = strategies.lists(number, min_size=longest // 2, max_size=longest)
    return strategies.one_of(short, long).map(Schedule.listed)
