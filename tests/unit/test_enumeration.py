"""Every history of every kind of write: what is reported agrees with what happened, and with the committed tables.

How histories are made is in `tests/enumeration.py`, which also writes the tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from tests.depth import how_many
from tests.enumeration import (
    BY_FAULT,
    BY_REPLIES,
    EVERYTHING,
    KINDS,
    NOT_JUDGED,
    Tries,
    all_outcomes,
    cells_of,
    read_table,
)
from tests.enumeration_kinds import Kind
from tests.enumeration_running import FAULTS, NOTHING, SETTINGS, Decision, faults_of, run
from tests.enumeration_worlds import TABLES, World

TOLD = read_table(BY_REPLIES)
STRUCK = read_table(BY_FAULT)
WHOLE = how_many(quick=1, deep=EVERYTHING)
"""Every history that weighs so much is tried."""


@pytest.fixture(scope="module")
def tally() -> Iterator[Counter[str]]:
    """Counts the histories, and says at the end how many there were."""
    counted: Counter[str] = Counter()
    yield counted
    print(f"\n{sum(counted.values()):,} histories of {len(counted)} kinds of write")


def counts_of(times: str) -> set[str]:
    """How often it was applied, in words."""
    return set(times.partition(",")[0].split(" or "))


@pytest.mark.slow
@pytest.mark.deep
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_what_is_reported_is_what_happened(
    kind: Kind, tally: Counter[str], record_property: Callable[[str, object], None]
) -> None:
    # each fault and each other writer alone, and some of the rest; in `make test-deep` all
    outcomes = all_outcomes(kind, Tries(WHOLE, stride=503))
    tally[str(kind)] += outcomes.histories
    record_property("histories", outcomes.histories)
    assert outcomes.problems == []
    told, struck = TOLD[str(kind)], cells_of(STRUCK[str(kind)])
    if WHOLE == EVERYTHING:
        assert list(outcomes.contradictions()) == []
        assert outcomes.rows() == told
        assert outcomes.rows_by_fault() == STRUCK[str(kind)]
        return
    for replies, (reported, times) in outcomes.rows().items():
        assert replies in told, f"told {replies}, reported {reported}: the table knows no such history"
        assert set(reported.split(" or ")) <= set(told[replies][0].split(" or ")), replies
        assert counts_of(times) <= counts_of(told[replies][1]), replies
    for cell, reports in outcomes.by_fault.items():
        # each fault alone is always tried
        assert reports == struck[cell] if cell[1] == "nobody" else reports <= struck[cell], cell
    assert {cell for cell in struck if cell[1] == "nobody"} <= set(outcomes.by_fault)


# ---- the tables


def test_the_tables_are_of_these_kinds() -> None:
    names = [str(kind) for kind in KINDS]
    assert len(set(names)) == len(names)
    assert sorted(TOLD) == sorted(STRUCK) == sorted(names)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_table_keeps_what_is_promised(kind: Kind) -> None:
    for replies, (reported, times) in TOLD[str(kind)].items():
        outcomes = {each.partition(":")[0].partition(",")[0] for each in reported.split(" or ")}
        counts = counts_of(times)
        assert len(outcomes) == 1, replies
        if outcomes == {"applied"}:
            assert "never" not in counts, replies
        elif outcomes == {"refused"} and not kind.refused_means_little:
            assert counts == {"never"}, replies
        elif outcomes == {"unknown"} and NOT_JUDGED not in times:
            assert "never" in counts, replies
            assert len(counts) > 1, replies
        if kind.mode in ("exactly_once", "at_most_once"):
            assert counts <= {"never", "once"}, replies


# ---- faults


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_fault_beyond_the_last_call_strikes_nothing(kind: Kind) -> None:
    world = World(TABLES[kind.table])
    undisturbed = run(kind, SETTINGS[0], world, kind.make(world), ())
    last = len(undisturbed.calls)
    for fault in FAULTS:
        course = run(kind, SETTINGS[0], world, kind.make(world), (*[NOTHING] * last, Decision(fault=fault)))
        assert (course.struck, len(course.calls), course.reported) == ([], last, undisturbed.reported), fault
    for number, call in enumerate(undisturbed.calls):
        assert {(f"{fault}, call {number + 1}", "nobody") for fault in faults_of(call)} <= set(
            cells_of(STRUCK[str(kind)])
        )
