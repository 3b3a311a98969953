"""Every history of every kind of write, and the table of their outcomes.

A history is decided call by call: up to two other writers come before a call, and something goes wrong with it. All
are tried: each fault at each call that is made, two in sequence for the important ones, and the other writers at every
point. Nothing here depends on the mode: plans are the same for threads and asyncio.

The tables are in `tests/data`. `python -m tests.enumeration --write` makes them anew, from all histories; with names of
kinds of write behind it, it makes only those.
"""

from __future__ import annotations

import itertools
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from tests.enumeration_kinds import Kind
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
    weight,
)
from tests.enumeration_several import several
from tests.enumeration_singles import singles
from tests.enumeration_worlds import TABLES, World

__all__ = [
    "BY_FAULT",
    "BY_REPLIES",
    "EVERYTHING",
    "KINDS",
    "NOT_JUDGED",
    "OTHERS",
    "TABLED",
    "Outcomes",
    "Tries",
    "all_outcomes",
    "cells_of",
    "class_of",
    "explore",
    "read_table",
    "summary",
]

MOST_OTHERS = 2
MOST_FAULTS = 2
EVERYTHING = MOST_OTHERS + MOST_FAULTS + 2
TABLED = 3
"""The tables are made of the histories that weigh so much."""
NOT_JUDGED = "as far as it was tried"
OTHERS = ("nobody", "one before", "one after")

KINDS: tuple[Kind, ...] = (*singles(), *several())

Rows: TypeAlias = "dict[str, tuple[str, ...]]"
_DATA = Path(__file__).parent / "data"
BY_REPLIES = _DATA / "outcomes_by_replies.txt"
BY_FAULT = _DATA / "outcomes_by_fault.txt"


# ---- histories


class Tries:
    """Which histories are tried: all that weigh at most *whole* or are a single fault, and every *stride*-th other one.

    Another writer weighs one, and so does a fault; one that has a sibling of the same effect weighs two. Little
    patience weighs one, and so do kinds of writes that make many calls.

    Without a stride none of those.
    """

    def __init__(self, whole: int = EVERYTHING, stride: int = 0) -> None:
        self.whole = whole
        self._stride = stride
        self._count = 0

    def takes(self, weighs: int) -> bool:
        """Whether to try the next history, which weighs so much."""
        if weighs <= self.whole:
            return True
        self._count += 1
        return self._stride > 0 and self._count % self._stride == 0


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
                    alone = len(struck) == 1 and not count
                    weighs = kind.weight + setting.weight + count + sum(map(weight, struck))
                    if (came or fault) and (alone or tries.takes(weighs)):
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
    """The fault with its call, and who else came when; None where two faults struck, or two others came."""
    struck = [(number, each.fault) for number, each in enumerate(course.decisions) if each.fault is not None]
    others = [number for number, each in enumerate(course.decisions) for _ in each.others]
    if len(struck) > 1 or len(others) > 1:
        return None
    call, fault = struck[0] if struck else (len(course.calls), None)
    name = "nothing, undisturbed" if fault is None else f"{fault}, call {call + 1}"
    if not others:
        return name, "nobody"
    return name, "one before" if others[0] <= call else "one after"


class Outcomes:
    """What the histories of one kind of write were reported as, and what was true; all that weigh *whole* are in it."""

    def __init__(self, whole: int = 0) -> None:
        self._whole = whole
        self.histories = 0
        self.by_replies: dict[str, set[str]] = defaultdict(set)
        self.times: dict[str, set[int]] = defaultdict(set)
        self.by_fault: dict[tuple[str, str], set[str]] = defaultdict(set)
        self.problems: list[str] = []
        self._beyond: dict[str, set[str]] = defaultdict(set)
        self._truths: dict[str, set[bool]] = defaultdict(set)
        self._margins: dict[str, int] = defaultdict(lambda: EVERYTHING)
        self._needed = 1
        """How many steps of others it may take to let it be applied, and to leave what it would have left."""

    def add(self, course: Course) -> None:
        """File one history."""
        self.histories += 1
        told = summary(course.replies)
        self._truths[told].add(course.applied > 0)
        self._beyond[told].add(course.reported)
        if not course.decisions:
            self._needed = course.kind.imitated_by + (course.outcome == "refused")
        if sum(len(each.others) for each in course.decisions) + self._needed <= MOST_OTHERS:
            self._margins[told] = min(self._margins[told], course.weight)
        if course.weight <= TABLED:
            self.by_replies[told].add(course.reported)
            self.times[told].add(course.applied)
            if course.setting is SETTINGS[0] and (filed := class_of(course)):
                self.by_fault[filed].add(course.reported)
        found = violation(course)
        if found is not None:
            self.problems.append(found)

    def _is_judged(self, told: str, whole: int) -> bool:
        """Whether the histories were tried too in which others make the same replies, if they can."""
        return self._margins[told] + self._needed <= whole

    def contradictions(self) -> Iterator[str]:
        """What is wrong with all histories together: equal replies, and another report; an unknown that is none."""
        for told, reports in self._beyond.items():
            outcomes = {each.partition(":")[0].partition(",")[0] for each in reports}
            if len(outcomes) > 1:
                yield f"told {told}: reported {' or '.join(sorted(reports))}"
            if "unknown" in outcomes and len(self._truths[told]) == 1 and self._is_judged(told, self._whole):
                yield f"told {told}: reported unknown, but the replies do tell"

    def rows(self) -> Rows:
        """The rows of the table by replies."""
        return {told: (" or ".join(sorted(self.by_replies[told])), self._times_of(told)) for told in self.by_replies}

    def _times_of(self, told: str) -> str:
        words = " or ".join(_TIMES[count] for count in sorted(self.times[told]))
        undecided = self.by_replies[told] == {"unknown"} and len({count > 0 for count in self.times[told]}) == 1
        return f"{words}, {NOT_JUDGED}" if undecided and not self._is_judged(told, TABLED) else words

    def rows_by_fault(self) -> Rows:
        """The rows of the table by faults; faults that make no difference share one."""
        alike: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
        for name in dict.fromkeys(name for name, _ in self.by_fault):
            fault, _, call = name.rpartition(", ")
            cells = tuple(" or ".join(sorted(self.by_fault.get((name, others), ()))) or "-" for others in OTHERS)
            alike[call, cells].append(fault)
        ordered = sorted(alike.items(), key=lambda each: each[0][0])
        return {f"{call}: {'; '.join(faults)}": cells for (call, cells), faults in ordered}


_TIMES = ("never", "once", "twice", "thrice", "four times")


# ---- the tables


def all_outcomes(kind: Kind, tries: Tries) -> Outcomes:
    """What becomes of a kind of write in every setting."""
    outcomes = Outcomes(tries.whole)
    for setting in SETTINGS:
        for course in explore(kind, setting, tries):
            outcomes.add(course)
    return outcomes


def read_table(path: Path) -> dict[str, Rows]:
    """A committed table: the rows of each kind of write."""
    return {name: rows for name, (_, rows) in _read_counted(path).items()}


def _read_counted(path: Path) -> dict[str, tuple[int, Rows]]:
    """The same with the number of histories."""
    tables: dict[str, tuple[int, Rows]] = {}
    rows: Rows = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        if line.startswith("== "):
            if rows:
                rows = {}
            name, _, count = line.removeprefix("== ").rpartition(": ")
            tables[name] = int(count.replace(",", "")), rows
        elif line and not line.startswith("#"):
            first, *cells = (each.strip() for each in line.split(" | "))
            rows[first] = tuple(cells)
    return tables


def cells_of(rows: Rows) -> dict[tuple[str, str], set[str]]:
    """The cells of the table by faults: fault and call, and who else came."""
    cells: dict[tuple[str, str], set[str]] = {}
    for first, found in rows.items():
        call, _, faults = first.partition(": ")
        for fault in faults.split("; "):
            for others, cell in zip(OTHERS, found, strict=True):
                if cell != "-":
                    cells[f"{fault}, {call}", others] = set(cell.split(" or "))
    return cells


def written_table(head: str, tables: dict[str, tuple[int, Rows]]) -> str:
    """The text of a table; kinds of write with the same rows share them."""
    alike: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    for name, (count, rows) in tables.items():
        alike[tuple(sorted(rows.items()))].append(f"{name}: {count:,}")
    total = sum(count for count, _ in tables.values())
    blocks = [f"{head.strip()}\n#\n# {total:,} histories of {len(tables)} kinds of write."]
    for shared, names in alike.items():
        cells = [[first, *rest] for first, rest in shared]
        widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
        lines = [" | ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in cells]
        blocks.append("\n".join([*(f"== {name}" for name in names), *(line.rstrip() for line in lines)]))
    return "\n\n".join(blocks) + "\n"


def _write(names: Sequence[str]) -> None:
    """Make the tables of these kinds of write anew, and of all if none is named; those with problems are left out."""
    known = [_read_counted(path) for path in (BY_REPLIES, BY_FAULT)]
    problems: list[str] = []
    chosen = [kind for kind in KINDS if not names or str(kind) in names]
    for number, kind in enumerate(chosen, 1):
        outcomes = all_outcomes(kind, Tries(TABLED))
        found = [f"{kind}: {each}" for each in (*outcomes.problems, *outcomes.contradictions())]
        problems += found
        for table, rows in zip(known, (outcomes.rows(), outcomes.rows_by_fault()), strict=True):
            table.pop(str(kind), None)
            if not found:
                table[str(kind)] = outcomes.histories, rows
        print(f"{number} of {len(chosen)}: {kind}, {outcomes.histories:,} histories", flush=True)
    _DATA.mkdir(exist_ok=True)
    for path, head, table in zip((BY_REPLIES, BY_FAULT), (_HEAD_BY_REPLIES, _HEAD_BY_FAULT), known, strict=True):
        ordered = {str(kind): table[str(kind)] for kind in KINDS if str(kind) in table}
        path.write_text(written_table(head, ordered), encoding="utf-8")
    if problems:
        raise SystemExit("\n".join(problems))


_HEAD_BY_REPLIES = """
# What every kind of write reports, by what its client was told. Made by `python -m tests.enumeration --write`.
#
# told | reported | how often the write was applied then, over all histories that look like this to the client
#
# "lost" is any answer after which the write may have been applied; a second one is left out, and so are answers that
# say that nothing was done yet, unless they are the last. "refused by" names what stands there: an item of this very
# write (mine), or another's by its version; a server may send no item, and then it is "read". "As far as it was tried"
# stands where only more other writers could make the same replies; `make test-deep` tries those.
"""
_HEAD_BY_FAULT = """
# What every kind of write reports, by what goes wrong, and by who else writes. Made by
# `python -m tests.enumeration --write`.
#
# call: faults | nobody else writes | one other writes before that call | one other writes after it
#
# The server sends the item with a refusal, and there are as many repeats as there may be.
"""


if __name__ == "__main__":
    if sys.argv[1:2] != ["--write"]:
        raise SystemExit(__doc__)
    _write(sys.argv[2:])
