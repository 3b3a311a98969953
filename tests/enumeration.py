"""Every history of every kind of write, and the table of their outcomes.

A history is decided call by call: up to two other writers come before a call, and something goes wrong with it. All are
tried: each fault at each call that is made, two in sequence for the important ones, and the other writers at every point.
Nothing here depends on the mode: plans are the same for threads and asyncio.

The tables are in `tests/data`. `python -m tests.enumeration --write` makes them anew, from all histories.
"""

from __future__ import annotations

import itertools
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.enumeration_kinds import KINDS, Kind
from tests.enumeration_running import (
    NOTHING,
    PAIRED,
    SETTINGS,
    Course,
    Decision,
    Idle,
    Setting,
    faults_of,
    run,
    violation,
)
from tests.enumeration_worlds import TABLES, World

__all__ = [
    "BY_FAULT",
    "BY_REPLIES",
    "EVERYTHING",
    "Outcomes",
    "Tries",
    "class_of",
    "explore",
    "summary",
]

MOST_OTHERS = 2
MOST_FAULTS = 2
EVERYTHING = MOST_OTHERS + MOST_FAULTS
_DATA = Path(__file__).parent / "data"
BY_REPLIES = _DATA / "outcomes_by_replies.txt"
BY_FAULT = _DATA / "outcomes_by_fault.txt"


# ---- histories


class Tries:
    """Which histories are tried: all in which at most *whole* things happen, and every *stride*-th of the others."""

    def __init__(self, whole: int = EVERYTHING, stride: int = 1) -> None:
        self._whole = whole
        self._stride = stride
        self._count = 0

    def takes(self, things: int) -> bool:
        """Whether to try the next history in which so many things happen."""
        if things <= self._whole:
            return True
        self._count += 1
        return self._count % self._stride == 0


def explore(kind: Kind, setting: Setting, tries: Tries, world: World | None = None) -> Iterator[Course]:
    """The histories of a kind of write that are tried, each once."""
    world = world or World(TABLES[kind.table])
    operation = kind.make(world)
    groups = [
        [group for count in range(most + 1) for group in itertools.product(kind.foreign, repeat=count)]
        for most in range(MOST_OTHERS + 1)
    ]

    def below(decisions: tuple[Decision, ...], others: int, faults: tuple[str, ...]) -> Iterator[Course]:
        made = kind.make(world) if kind.remembers else operation
        try:
            course = run(kind, setting, world, made, decisions)
        except Idle:
            return
        yield course
        if course.outcome == "crashed":
            return
        for number in range(len(decisions), len(course.calls)):
            waiting = (NOTHING,) * (number - len(decisions))
            for came in groups[MOST_OTHERS - others]:
                for fault in (None, *_next_faults(course, number, faults)):
                    struck = faults if fault is None else (*faults, fault)
                    count = others + len(came)
                    if (came or fault) and tries.takes(count + len(struck)):
                        yield from below((*decisions, *waiting, Decision(came, fault)), count, struck)

    yield from below((), 0, ())


def _next_faults(course: Course, number: int, before: tuple[str, ...]) -> list[str]:
    if len(before) >= MOST_FAULTS or any(each not in PAIRED for each in before):
        return []
    possible = faults_of(course.calls[number])
    return [each for each in possible if not before or each in PAIRED]


# ---- what a history is filed under

_LOST = ("lost", "error 500", "error 503", "in progress")
_NOT_DONE = ("not sent", "throttled", "conflict", "expired")


def summary(replies: Sequence[str]) -> str:
    """What the client was told, without what makes no difference: answers that say "not now", and a second lost one."""
    kept: list[str] = []
    for number, reply in enumerate(replies):
        is_last = number == len(replies) - 1
        if reply in _LOST:
            if "lost" not in kept:
                kept.append("lost")
        elif is_last or not (reply in _NOT_DONE or reply.startswith("reading: ") or _is_contention(reply)):
            kept.append(reply)
    return "; ".join(kept)


def _is_contention(reply: str) -> bool:
    reasons = set(reply.removeprefix("cancelled [").removesuffix("]").split(", "))
    return reply.startswith("cancelled") and reasons <= {"-", "TransactionConflict", "ThrottlingError"}


def class_of(course: Course) -> tuple[str, str] | None:
    """The fault with its call, and who else came when; None where two faults struck."""
    struck = [(number, each.fault) for number, each in enumerate(course.decisions) if each.fault is not None]
    if len(struck) > 1:
        return None
    others = [number for number, each in enumerate(course.decisions) for _ in each.others]
    call, fault = struck[0] if struck else (len(course.calls), None)
    name = "undisturbed" if fault is None else f"{fault}, call {call + 1}"
    if not others:
        return name, "nobody"
    if len(others) == 1:
        return name, "one before" if others[0] <= call else "one after"
    return name, "two"


@dataclass
class Outcomes:
    """What the histories of one kind of write were reported as, and what was true."""

    histories: int = 0
    by_replies: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    truths: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    by_fault: dict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    exact: dict[tuple[str, ...], tuple[set[str], set[bool], Course]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def add(self, course: Course) -> None:
        """File one history."""
        self.histories += 1
        told = summary(course.replies)
        self.by_replies[told].add(course.reported)
        self.truths[told].add(course.applied)
        filed = class_of(course)
        if filed is not None:
            self.by_fault[filed].add(course.reported)
        exact = self.exact.setdefault((course.setting.name, *course.replies), (set(), set(), course))
        exact[0].add(course.outcome)
        exact[1].add(course.applied > 0)
        found = violation(course)
        if found is not None:
            self.problems.append(found)

    def extra_unknowns(self) -> Iterator[str]:
        """Histories that could be told from their replies, and were not; of all histories only."""
        for reports, truths, course in self.exact.values():
            if "unknown" in reports and len(truths) == 1:
                yield f"could be told from its replies: {course}"

    def rows_by_replies(self) -> list[str]:
        """The lines of the table of replies."""
        return [
            f"  {told:<70} {' or '.join(sorted(self.by_replies[told])):<40} {_times(self.truths[told])}"
            for told in sorted(self.by_replies)
        ]

    def rows_by_fault(self) -> list[str]:
        """The lines of the table of faults."""
        rows = []
        for fault in dict.fromkeys(fault for fault, _ in self.by_fault):
            cells = [
                f"{others}: {' | '.join(sorted(self.by_fault[fault, others]))}"
                for others in ("nobody", "one before", "one after", "two")
                if (fault, others) in self.by_fault
            ]
            rows.append(f"  {fault:<40} {'; '.join(cells)}")
        return rows


def _times(counts: Iterable[int]) -> str:
    words = {0: "never", 1: "once", 2: "twice", 3: "thrice"}
    return " or ".join(words[count] for count in sorted(counts))
