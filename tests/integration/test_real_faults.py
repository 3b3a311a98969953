"""Every kind of write through every fault of a real connection: what is reported agrees with the table, and no more
outcomes are unknown than must be.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import pytest

from tests.backends import DIRECT, Backend, RunningBackends
from tests.depth import how_many
from tests.fault_lanes import KINDS, Case, Kind, Lane, Lanes, Told
from tests.modes import Mode
from tests.wire_faults import FAULTS

pytestmark = DIRECT

# A cell is what was reported (ok: applied; ?: unknown; !: applied, and only the value unknown), then how often it was
# applied, and in how many requests. The columns are those of KINDS; `exactly` sends a second request, a read, whose
# faults cost nothing.
#                   put    update create add    set    delete transact exactly
_NOT_SENT = "       ok1/1  ok1/1  ok1/1  ok1/1  ok1/1  ok1/1  ok1/1    ok1/1  "
_LOST_BEFORE = "    ok1/2  ok1/2  ok1/2  ?0/1   ok1/2  ok1/2  ok1/2    ok1/2  "
_LOST_AFTER = "     ok1/2  ok1/2  ok1/2  ?1/1   ok2/2  ?1/2   ok1/2    ok1/2  "
_LATE = "           ok1/2  ok1/2  ok1/2  ?1/1   ok2/2  ok1/2  ok1/2    ok1/2  "
_DAMAGED = "        ok1/1  !1/1   ok1/1  !1/1   !1/1   ok1/1  ok1/1    ok1/1  "

OFF = os.environ.get("DYNAMAP_LANE") == "0"
BOTH = ("sync", "async")
_CUT_SHORT = ("head cut", "body cut", "short length")
EXPECTED: dict[tuple[str, ...], dict[str, str]] = {
    BOTH: {
        "refused": _NOT_SENT,
        "reset unread": _LOST_BEFORE,
        "closed unread": _LOST_BEFORE,
        "reset before": _LOST_BEFORE,
        "closed before": _LOST_BEFORE,
        "500 before": _LOST_BEFORE,
        "500 empty before": _LOST_BEFORE,
        "502 before": _LOST_BEFORE,
        "503 before": _LOST_BEFORE,
        "504 before": _LOST_BEFORE,
        "reset after": _LOST_AFTER,
        "closed after": _LOST_AFTER,
        "500 after": _LOST_AFTER,
        "500 empty after": _LOST_AFTER,
        "502 after": _LOST_AFTER,
        "503 after": _LOST_AFTER,
        "504 after": _LOST_AFTER,
        "no http": _LOST_AFTER,
        "status cut": _LOST_AFTER,
        "status reset": _LOST_AFTER,
        "head reset": _LOST_AFTER,
        "body reset": _LOST_AFTER,
        "body cut, no length": _DAMAGED,
        "wrong checksum": _DAMAGED,
        "other bits": _DAMAGED,
        # off the lane botocore cannot even take these bytes for text, and does not say that the status was 200
        "garbage": _LOST_AFTER if OFF else _DAMAGED,
        "garbage in braces": _DAMAGED,
        "empty body": _DAMAGED,
        "stall before": _LOST_BEFORE,
        "stall after": _LOST_AFTER,
        "stall in head": _LOST_AFTER,
        "stall in body": _LOST_AFTER,
        "stall, late": _LOST_AFTER,
        "stall, last": _LATE,
    },
    # the part of an answer that came has its status 200; aiohttp, over which calls go off the lane, gives an error
    ("sync",): dict.fromkeys(_CUT_SHORT, _DAMAGED),
    ("async",): dict.fromkeys(_CUT_SHORT, _LOST_AFTER if OFF else _DAMAGED),
}

STALLS = [name for name in FAULTS if "stall" in name]
QUICK = [name for name in FAULTS if name not in STALLS]
TIMEOUT = 1.5
"""Of the clients that are let stall: long, for what does not stall must be answered in it on a busy machine."""
AT_ONCE = 27
"""How many stall together: fewer than a client has connections."""


@pytest.fixture(params=["ministack", "roto"])
def backend(request: pytest.FixtureRequest, running_backends: RunningBackends) -> Backend:
    """The servers with transactions that are nothing like each other: only one sends checksums, and seen items."""
    name: str = request.param
    return running_backends.get(name)


@pytest.fixture(scope="module")
def lanes(running_modes: dict[str, Mode], running_backends: RunningBackends) -> Iterator[Lanes]:
    made = Lanes()
    yield made
    made.close()


@pytest.fixture
def lane(lanes: Lanes, backend: Backend, mode: Mode) -> Lane:
    return lanes.get(backend, mode)


def expected(fault: str, mode: Mode, kind: str, place: int) -> str:
    if place > 1:
        return "ok1/1"
    row = next(table[fault] for modes, table in EXPECTED.items() if mode.name in modes and fault in table)
    return row.split()[list(KINDS).index(kind)]


def test_every_fault_has_its_expectation() -> None:
    for mode in BOTH:
        rows = [name for modes, table in EXPECTED.items() if mode in modes for name in table]
        assert sorted(rows) == sorted(FAULTS)


def test_an_undisturbed_write_makes_so_many_calls(lane: Lane) -> None:
    told = lane.tell_in_turn([(kind, {}) for kind in KINDS.values()])
    assert [str(each) for each in told] == ["ok1/1"] * len(KINDS)
    assert [each.calls for each in told] == [kind.calls for kind in KINDS.values()]


@pytest.mark.parametrize("fault", QUICK)
def test_what_is_reported_is_true(lane: Lane, fault: str) -> None:
    cases = [(name, place) for name in KINDS for place in range(1, KINDS[name].calls + 1)]
    told = lane.tell_in_turn([(KINDS[name], {place: FAULTS[fault]}) for name, place in cases])
    assert all(each.agrees for each in told)
    found = {case: str(each) for case, each in zip(cases, told, strict=True)}
    assert found == {case: expected(fault, lane.mode, *case) for case in cases}


@pytest.mark.deep
@pytest.mark.parametrize("fault", QUICK)
def test_a_new_connection_breaks_as_a_used_one_does(lane: Lane, fault: str) -> None:
    names = ["add", *KINDS][: how_many(quick=1, deep=len(KINDS) + 1)]
    told = lane.tell_in_turn([(KINDS[name], {1: FAULTS[fault]}) for name in names], reused=False)
    assert [str(each) for each in told] == [expected(fault, lane.mode, name, 1) for name in names]


def test_what_is_reported_after_a_timeout_is_true(lanes: Lanes, backend: Backend, mode: Mode) -> None:
    lane = lanes.get(backend, mode, read_timeout=TIMEOUT)
    cases = [(fault, kind, place) for fault in STALLS for kind in KINDS for place in range(1, KINDS[kind].calls + 1)]
    told: list[Told] = []
    for start in range(0, len(cases), AT_ONCE):
        batch = cases[start : start + AT_ONCE]
        told += lane.tell_at_once([(KINDS[kind], {place: FAULTS[fault]}) for fault, kind, place in batch])
    assert all(each.agrees for each in told)
    found = {case: str(each) for case, each in zip(cases, told, strict=True)}
    assert found == {(fault, kind, place): expected(fault, mode, kind, place) for fault, kind, place in cases}


# ---- one fault after another

_VALUE_WANTED = ("update", "set")


def check_pair(told: Told, name: str, faults: tuple[str, str]) -> None:
    """What must hold whatever came: true, applied once, and known wherever it can be."""
    history = f"{name}: {' and '.join(faults)}: {told}"
    assert told.agrees, history
    assert told.times <= (1 if name != "set" else 3), history
    if isinstance(told.answer, Exception):
        unknown_for_good = name in ("add", "delete") and faults != ("refused", "refused")
        value_lost = name in _VALUE_WANTED and str(told).startswith("!")
        assert unknown_for_good or value_lost, history
    if name == "add":
        assert told.sent == 1, history


@pytest.mark.deep
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_reported_after_two_faults_is_true(lane: Lane, kind: str) -> None:
    pairs = [(first, second) for first in QUICK for second in QUICK]
    chosen = random.Random(kind).sample(pairs, how_many(quick=6, deep=len(pairs)))
    for told, pair in zip(lane.tell_in_turn([_played(KINDS[kind], pair) for pair in chosen]), chosen, strict=True):
        check_pair(told, kind, pair)


@pytest.mark.deep
def test_what_is_reported_after_a_timeout_and_another_fault_is_true(lanes: Lanes, backend: Backend, mode: Mode) -> None:
    lane = lanes.get(backend, mode, read_timeout=TIMEOUT)
    # what strikes before a request is read cannot tell whose it is
    others = [name for name in FAULTS if name != "refused" and not FAULTS[name].unread]
    pairs = [(a, b) for a in others for b in others if a in STALLS or b in STALLS]
    cases = [(kind, pair) for kind in KINDS for pair in pairs]
    random.Random(0).shuffle(cases)
    for start in range(0, how_many(quick=AT_ONCE, deep=len(cases)), AT_ONCE):
        batch = cases[start : start + AT_ONCE]
        told = lane.tell_at_once([_played(KINDS[kind], pair) for kind, pair in batch])
        for each, (kind, pair) in zip(told, batch, strict=True):
            check_pair(each, kind, pair)


def _played(kind: Kind, faults: tuple[str, str]) -> Case:
    return kind, {place: FAULTS[fault] for place, fault in enumerate(faults, 1)}
