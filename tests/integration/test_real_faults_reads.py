"""Reads through every fault of a real connection end with the right item, wherever an answer is cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from dynamap import OutcomeUnknown
from tests.backends import DIRECT, Backend, RunningBackends
from tests.depth import how_many
from tests.fault_lanes import KINDS, Account, Lane, Lanes, Note, read_account
from tests.modes import Mode
from tests.wire_faults import FAULTS, Ending, Forward, WireFault, cut_at

pytestmark = DIRECT

STALLS = [name for name in FAULTS if "stall" in name]
QUICK = [name for name in FAULTS if name not in STALLS]


@pytest.fixture(params=["ministack", "roto"])
def backend(request: pytest.FixtureRequest, running_backends: RunningBackends) -> Backend:
    """One server that sends checksums, and one that sends none."""
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


@pytest.mark.deep
@pytest.mark.parametrize("fault", QUICK)
def test_a_read_ends_with_what_is_stored(lane: Lane, fault: str) -> None:
    (new,) = lane.prepare(KINDS["create"])
    present, absent = lane.store.of(Account).get(id=new), lane.store.of(Note).get(id=new)
    cases = [(1, True, present), (2, True, absent), (1, False, absent), (2, False, present)]
    for times, reused, operation in cases[: how_many(quick=2, deep=4)]:
        stored = read_account(new) if operation is present else None
        lane.connect_first(reused=reused and fault != "refused")
        script = lane.proxy.play(dict.fromkeys(range(1, times + 1), FAULTS[fault]))
        answer = lane.mode.wait(operation.send())
        lane.proxy.settle(script)
        assert answer == stored
        assert len(script.requests) == times + 1


def test_a_read_ends_with_what_is_stored_after_every_fault_in_turn(lane: Lane) -> None:
    (new,) = lane.prepare(KINDS["add"])
    # nine at a time: the tenth attempt is the last
    for start in range(0, len(QUICK), 9):
        chosen = QUICK[start : start + 9]
        lane.connect_first(reused=False)
        script = lane.proxy.play({place: FAULTS[fault] for place, fault in enumerate(chosen, 1)})
        answer = lane.mode.wait(lane.store.of(Note).get(id=new).send())
        lane.proxy.settle(script)
        assert answer == Note(new, 1)
        assert len(script.requests) == len(chosen) + 1


def test_a_read_that_was_let_wait_is_repeated(lanes: Lanes, backend: Backend, mode: Mode) -> None:
    lane = lanes.get(backend, mode, read_timeout=1.5)
    items = dict(zip(STALLS, lane.prepare(*[KINDS["create"]] * len(STALLS)), strict=True))
    scripts = [lane.proxy.play({1: FAULTS[fault]}, about=new) for fault, new in items.items()]
    answers = lane.send_all([lane.store.of(Account).get(id=new) for new in items.values()])
    for script in scripts:
        lane.proxy.settle(script)
    assert answers == [read_account(new) for new in items.values()]
    assert [len(script.requests) for script in scripts] == [2] * len(STALLS)


# ---- an answer that ends at any byte


def undisturbed_answer(lane: Lane, send: Callable[[], object]) -> bytes:
    """The whole answer to the first request that this sends, as the proxy passes it on."""
    texts: list[bytes] = []
    seen = WireFault(Forward.AT_ONCE, Ending.KEEP, lambda response: texts.append(response.text()) or texts[0])
    script = lane.proxy.play({1: seen})
    send()
    lane.proxy.settle(script)
    return texts[0]


def places(text: bytes) -> list[int]:
    """Where to cut: at the end of each line of the head, and at so many other bytes."""
    ends = [place + shift for place in range(len(text)) if text[place : place + 2] == b"\r\n" for shift in (0, 2)]
    step = max(1, len(text) // how_many(quick=8, deep=len(text)))
    return [place for place in sorted({*ends, *range(0, len(text), step)}) if place < len(text)]


@pytest.mark.deep
@pytest.mark.parametrize("ending", [Ending.CLOSE, Ending.RESET], ids=["closed", "reset"])
def test_a_read_ends_with_what_is_stored_wherever_its_answer_was_cut(lane: Lane, ending: Ending) -> None:
    (new,) = lane.prepare(KINDS["create"])
    get = lane.store.of(Account).get(id=new)
    for place in places(undisturbed_answer(lane, lambda: lane.mode.wait(get.send()))):
        script = lane.proxy.play({1: WireFault(Forward.AT_ONCE, ending, cut_at(place))})
        answer = lane.mode.wait(get.send())
        lane.proxy.settle(script)
        assert answer == read_account(new), place
        assert len(script.requests) == 2, place


@pytest.mark.deep
@pytest.mark.parametrize("ending", [Ending.CLOSE, Ending.RESET], ids=["closed", "reset"])
def test_an_addition_is_unknown_and_sent_once_wherever_its_answer_was_cut(lane: Lane, ending: Ending) -> None:
    kind = KINDS["add"]
    (first,) = lane.prepare(kind)
    cuts = places(undisturbed_answer(lane, lambda: lane.mode.wait(kind.write(lane.store, first).send())))
    told = lane.tell_in_turn([(kind, {1: WireFault(Forward.AT_ONCE, ending, cut_at(place))}) for place in cuts])
    for each, place in zip(told, cuts, strict=True):
        assert isinstance(each.answer, OutcomeUnknown), place
        assert str(each) in ("?1/1", "!1/1"), place
