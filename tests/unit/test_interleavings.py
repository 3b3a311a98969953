"""Every history of a write whose answer was lost: what the plan reports must agree with what happened.

The first attempt's answer is lost, whether the service applied it or not; other writers come in between, also between a
failed condition and the read that asks for the item; then the plan goes on. The foreign writers are real operations.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from dynamap import (
    Applied,
    ConditionFailed,
    ItemAlreadyExists,
    ItemNotFound,
    OutcomeUnknown,
    Refused,
    VersionConflict,
    evolve,
)
from dynamap.plan import Call, CallFailed
from tests.fakes import drive, lost
from tests.writers import (
    DOC_KEY,
    FOREIGN,
    NOT_REPEATED,
    REPEATED,
    Kind,
    Tables,
    World,
    created,
    deleted,
    docs,
    prepared,
    replaced_by_hand,
    updated,
    world_of,
)

# ---- histories


@dataclass
class History:
    """What happens to one write: each lost attempt was applied or not, and who comes when."""

    delivered: tuple[bool, ...]
    between: tuple[tuple[Callable[[World], None], ...], ...]
    """Before each attempt but the first, and last before the read that asks for the item."""

    def __str__(self) -> str:
        return f"delivered {self.delivered}, then {[[each.__name__ for each in group] for group in self.between]}"


def histories() -> Iterator[History]:
    """Up to two foreign writers, one of them perhaps after the refusal; and two lost attempts with one before each."""
    for delivered in (False, True):
        for count in range(3):
            for sequence in itertools.product(FOREIGN, repeat=count):
                for split in range(max(0, count - 1), count + 1):
                    yield History((delivered,), (sequence[:split], sequence[split:]))
    for first, second in itertools.product((False, True), repeat=2):
        for one, two in itertools.product((None, *FOREIGN), repeat=2):
            groups = tuple(() if each is None else (each,) for each in (one, two))
            yield History((first, second), (*groups, ()))


HISTORIES = tuple(histories())


@dataclass
class Run:
    """One history as it went."""

    world: World
    history: History
    applied: int = 0
    """How often the service applied my write."""
    came: list[Callable[[World], None]] = field(default_factory=list)
    attempts: int = 0
    seen: list[Any] = field(default_factory=list)
    asked: bool = False

    def answer(self, call: Call) -> Any:
        if call.operation == "GetItem":
            if not self.asked:
                self._others(len(self.history.delivered))
            self.asked = True
            reply = self.world.table.apply(call)
            self.seen.append(self._observed(reply.get("Item")))
            return reply
        self.attempts += 1
        if self.attempts > 1:
            self._others(self.attempts - 2)
        losing = self.attempts <= len(self.history.delivered)
        if losing and not self.history.delivered[self.attempts - 1]:
            raise lost()
        try:
            reply = self.world.table.apply(call)
        except CallFailed as failed:
            if losing:
                raise lost() from failed
            self.seen.append(("refused", self._observed(failed.item)))
            raise
        self.applied += 1
        if losing:
            raise lost()
        self.seen.append("done")
        return reply

    def _others(self, group: int) -> None:
        for other in self.history.between[group]:
            other(self.world)
            self.came.append(other)

    def _observed(self, item: dict[str, Any] | None) -> Any:
        """The part of an item that can tell who wrote it: its id, and its version beside the one that was read."""
        if item is None:
            return None
        written_by = item.get("_w", {}).get("S", "nobody").rstrip("0123456789")
        version = int(item.get("revision", {}).get("N", "0"))
        return written_by, {self.read_version: "as read", self.read_version + 1: "one more"}.get(version, "another")

    read_version: int = 0


def run(kind: Kind, history: History, world: World, *, trying: bool = False) -> tuple[Run, str]:
    """Let it happen; answers what the plan reported: applied, refused or unknown."""
    operation = prepared(kind, world)
    course = Run(world, history)
    item = world.item
    course.read_version = 0 if item is None else int(item.get("revision", {}).get("N", "0"))
    driven = drive(operation._try_plan() if trying else operation._plan(), answer=course.answer)
    if driven.error is None:
        assert not trying or isinstance(driven.result, (Applied, Refused))
        return course, "refused" if isinstance(driven.result, Refused) else "applied"
    if isinstance(driven.error, OutcomeUnknown):
        return course, "applied" if driven.error.applied else "unknown"
    assert isinstance(driven.error, (ConditionFailed, ItemNotFound)), driven.error
    return course, "refused"


@pytest.mark.parametrize(
    ("sends_item", "trying"), [(True, False), (False, True)], ids=["item sent", "item asked for, try_send"]
)
@pytest.mark.parametrize("kind", REPEATED, ids=repr)
def test_what_is_reported_is_what_happened(kind: Kind, sends_item: bool, trying: bool) -> None:
    world = world_of(kind, sends_item=sends_item)
    truths: defaultdict[tuple[Any, ...], set[bool]] = defaultdict(set)
    unknown: dict[tuple[Any, ...], History] = {}
    for history in HISTORIES:
        course, reported = run(kind, history, world, trying=trying)
        replies = (len(history.delivered), *course.seen)
        truths[replies].add(course.applied > 0)
        if reported == "applied":
            assert course.applied >= 1, history
        elif reported == "refused":
            if not kind.at_least_once:
                assert course.applied == 0, history
        else:
            unknown[replies] = history
        if course.applied > 1:
            assert kind.at_least_once or kind.twice_after in course.came, history
    for replies, history in unknown.items():
        assert truths[replies] == {True, False}, f"{history} could be told from its replies {replies}"


@pytest.mark.parametrize("delivered", [False, True], ids=["not applied", "applied"])
@pytest.mark.parametrize("kind", NOT_REPEATED, ids=repr)
def test_what_cannot_be_repeated_is_unknown_at_once(kind: Kind, delivered: bool) -> None:
    course, reported = run(kind, History((delivered,), ((), ())), world_of(kind))
    assert reported == "unknown"
    assert course.attempts == 1
    assert course.applied == delivered


def test_a_retried_deposit_is_never_lost_and_never_doubled() -> None:
    """The loop that users write, over every history: on a conflict it reads and decides anew."""
    world = World(Tables["with id"], DOC_KEY)
    for history in HISTORIES:
        world.clear()
        created(world)
        first = True
        deposits = 0
        while True:
            doc = world.read()
            if doc is None:
                break
            operation = docs(world).update(doc).to(evolve(doc, text=doc.text + "+"))
            course = Run(world, history if first else History((), ((),)))
            first = False
            driven = drive(operation._plan(), answer=course.answer)
            deposits += course.applied
            if driven.error is None:
                assert deposits == 1, history
                break
            if isinstance(driven.error, OutcomeUnknown):
                break
            assert isinstance(driven.error, VersionConflict), history
            assert deposits == 0, history


@pytest.mark.parametrize(
    ("kind", "before", "after", "error"),
    [
        # the condition failed because of *before*; the server sends no item, and *after* comes before it is read
        ("put of version 0", created, deleted, VersionConflict),
        ("create", created, deleted, ItemAlreadyExists),
        ("put if it exists", deleted, created, ItemNotFound),
        ("absolute set", deleted, created, ItemNotFound),
        ("put of a legacy item", updated, replaced_by_hand, VersionConflict),
    ],
)
def test_a_refusal_is_blamed_on_the_only_condition_there_was(
    kind: str, before: Callable[[World], None], after: Callable[[World], None], error: type[Exception]
) -> None:
    chosen = next(each for each in REPEATED if each.name == kind)
    world = world_of(chosen, sends_item=False)
    operation = prepared(chosen, world)
    before(world)

    def answer(call: Call) -> Any:
        if call.operation == "GetItem":
            after(world)
        return world.table.apply(call)

    driven = drive(operation._plan(), answer=answer)
    assert type(driven.error) is error
