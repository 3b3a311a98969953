"""Writes that the service refuses, through every fault of a real connection: never said to be applied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dynamap import (
    DynamapError,
    F,
    ItemAlreadyExists,
    ItemNotFound,
    TransactionCanceled,
    VersionConflict,
    evolve,
)
from tests.backends import DIRECT, Backend, RunningBackends
from tests.depth import how_many
from tests.fault_lanes import Account, Item, Kind, Lane, Lanes, Note, read_account
from tests.modes import Mode
from tests.wire_faults import FAULTS

pytestmark = DIRECT


def stale(new: str) -> Account:
    """The account as it was before another writer came."""
    account = read_account(new)
    return evolve(account, revision=account.revision - 1)


def changes(account: Item | None, note: Item | None) -> int:
    """How much differs from what was stored before."""
    assert account is not None
    return int(account["balance"]["N"]) - 1 + (0 if note is None else int(note["count"]["N"]) - 1)


def kind(write: Any, *, creates: bool = False) -> Kind:
    return Kind(1, write, changes, lambda new: None, creates)


KINDS: dict[str, tuple[Kind, type[DynamapError]]] = {
    "put": (kind(lambda s, new: s.of(Account).put(evolve(stale(new), balance=2))), VersionConflict),
    "update": (kind(lambda s, new: s.of(Account).update(stale(new)).add(F(Account.balance), 1)), VersionConflict),
    "create": (kind(lambda s, new: s.of(Note).put(Note(new, 2)).if_not_exists()), ItemAlreadyExists),
    "add": (kind(lambda s, new: s.of(Note).update(id=new).add(F(Note.count), 1), creates=True), ItemNotFound),
    "set": (kind(lambda s, new: s.of(Note).update(id=new).set(F(Note.count), 2), creates=True), ItemNotFound),
    "delete": (kind(lambda s, new: s.of(Account).delete(stale(new))), VersionConflict),
    "transact": (
        kind(
            lambda s, new: s.transact(
                s.of(Note).update(id=new).add(F(Note.count), 1),
                s.of(Account).update(stale(new)).add(F(Account.balance), 1),
            ).token(f"refused-{new}")
        ),
        TransactionCanceled,
    ),
    "exactly": (
        kind(lambda s, new: s.of(Note).update(id=new).add(F(Note.count), 1).exactly_once(), creates=True),
        ItemNotFound,
    ),
}

# As in test_real_faults.py; no: refused. Whether a create or a set was applied before the item came or went, nothing
# that is stored could tell.
#                   put    update create add    set    delete transact exactly
_AT_ONCE = "        no0/1  no0/1  no0/1  no0/1  no0/1  no0/1  no0/1    no0/1  "
_LOST = "           no0/2  no0/2  ?0/2   ?0/1   ?0/2   no0/2  no0/2    no0/2  "

# where nothing was sent, and where the words of the refusal arrived: only a success must fit its checksum
HARMLESS = ("refused", "wrong checksum")
QUICK = [name for name in FAULTS if "stall" not in name]


@pytest.fixture(params=["ministack", "roto"])
def backend(request: pytest.FixtureRequest, running_backends: RunningBackends) -> Backend:
    """One server that sends the item with a failed condition, and one where it is read afterwards."""
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
@pytest.mark.parametrize("mode", ["sync", "async"][: how_many(quick=1, deep=2)], indirect=True)
@pytest.mark.parametrize("fault", QUICK)
def test_a_refused_write_is_refused_or_unknown(lane: Lane, fault: str) -> None:
    told = lane.tell_in_turn([(kind, {1: FAULTS[fault]}) for kind, _ in KINDS.values()])
    assert all(each.agrees for each in told)
    row = (_AT_ONCE if fault in HARMLESS else _LOST).split()
    assert dict(zip(KINDS, map(str, told), strict=True)) == dict(zip(KINDS, row, strict=True))
    for (_, error), each in zip(KINDS.values(), told, strict=True):
        assert str(each).startswith("?") or type(each.answer) is error
