"""Histories of one versioned item are linearizable under every fault, but for what the documentation names."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import pytest

from dynamap import (
    F,
    ItemAlreadyExists,
    ItemNotFound,
    OutcomeUnknown,
    Repository,
    Store,
    Sync,
    Table,
    VersionConflict,
    entity,
    evolve,
)
from dynamap.testing import Bench, Fault, FaultPlan, Run
from tests.bench_linearizability import Event, is_linearizable
from tests.depth import how_many


@entity("DOCUMENT", pk="DOCUMENT", sk="DOCUMENT", version="revision")
class Document:
    text: str = ""
    count: int = 0
    revision: int = 0


Papers = Table("papers", [Document])
Build: TypeAlias = "Callable[[Repository[Sync, Document]], Any]"


class State(NamedTuple):
    """What stands there; *present* is False for nothing."""

    present: bool = False
    version: int = 0
    text: str = ""
    count: int = 0


class Done(NamedTuple):
    """What was done and what was answered; *version* is what it expected, *seen* what it was shown."""

    kind: str
    answer: str
    version: int = 0
    text: str = ""
    seen: State | None = None


def state_of(document: object) -> State:
    if document is None:
        return State()
    assert isinstance(document, Document)
    return State(True, document.revision, document.text, document.count)


def apply(state: State, done: Any) -> State | None:
    """The sequential item."""
    if done.kind == "read":
        return state if state == done.seen else None
    if done.answer == "refused":
        if not state.present:
            # what is seen then was looked for afterwards: it is noted as a read of its own
            return None if done.kind == "create" else state
        return state if state == done.seen and (done.kind == "create" or state.version != done.version) else None
    if done.kind == "create":
        created = State(True, done.version, done.text)
        return None if state.present else created
    if done.kind == "add":
        if done.answer == "missing":
            return None if state.present else state
        added = state._replace(version=state.version + 1, count=state.count + 1)
        fits = state.present and (done.seen is None or added == done.seen)
        return added if fits else None
    if not state.present or state.version != done.version:
        return None
    return State() if done.kind == "delete" else state._replace(version=state.version + 1, text=done.text)


@dataclass
class Histories:
    """Notes what clients do to the document, with a counter for a clock: only one of them ever runs."""

    events: list[Event] = field(default_factory=list[Event])
    clock: Callable[[], int] = field(default_factory=lambda: itertools.count().__next__)
    again: list[Event] = field(default_factory=list[Event])
    """What the earlier attempts of creates may have stored that were repeated and then applied."""

    def note(self, begin: int, kind: str, answer: str, *, optional: bool = False, **more: Any) -> Event:
        event = Event(begin, self.clock(), Done(kind, answer, **more), optional)
        self.events.append(event)
        return event

    def refused(self, begin: int, kind: str, seen: State, version: int = 0) -> Event:
        """A refusal, and the look at what stood there."""
        event = self.note(begin, kind, "refused", version=version, seen=seen)
        self.events.append(replace(event, operation=Done("read", "done", seen=seen)))
        return event

    def write(self, store: Store[Sync], kind: str, build: Build, *, version: int = 0, text: str = "") -> None:
        """Send a write and note what is known of it."""
        plan = FaultPlan()
        begin = self.clock()
        try:
            stored = build(plan.over(store).of(Document)).send()
        except OutcomeUnknown as unknown:
            for each in created_versions(plan) or [version]:
                # of a create any attempt may be the one that was applied
                self.note(begin, kind, "done", optional=unknown.applied is None, version=each, text=text)
        except (VersionConflict, ItemAlreadyExists) as refused:
            self.refused(begin, kind, state_of(refused.seen), version)
        except ItemNotFound:
            self.note(begin, kind, "missing")
        else:
            seen = state_of(stored) if kind == "add" else None
            version = stored.revision if kind == "create" else version
            event = self.note(begin, kind, "done", version=version, text=text, seen=seen)
            self.again += [
                replace(event, operation=event.operation._replace(version=each), optional=True)
                for each in created_versions(plan)
                if each != version
            ]


def created_versions(plan: FaultPlan) -> list[int]:
    """The versions that the attempts of a create asked to store, each once; none of other writes."""
    found: dict[int, None] = {}
    for call in plan.calls:
        action = call.params["TransactItems"][0].get("Put", {}) if "TransactItems" in call.params else call.params
        if "Item" in action:
            found[int(action["Item"]["revision"]["N"])] = None
    return list(found)


def lives(histories: Histories, *, exactly_once: bool, deletes: bool) -> Callable[..., None]:
    """A client that creates, edits, counts and deletes what it finds."""

    def create(documents: Repository[Sync, Document], text: str) -> Any:
        put = documents.put(Document(text)).if_not_exists()
        return put.exactly_once() if exactly_once else put

    def live(store: Store[Sync], number: int) -> None:
        for turn in range(2):
            text = f"{number}.{turn}"
            begin = histories.clock()
            document = store.of(Document).get().send()
            histories.note(begin, "read", "done", seen=state_of(document))
            write = partial(histories.write, store)
            if document is None:
                write("create", partial(create, text=text), text=text)
            elif (number + turn) % 4 == 0 and deletes:
                write("delete", partial(deletion, document=document), version=document.revision)
            elif (number + turn) % 4 == 1:
                write("add", addition)
            else:
                write("edit", partial(edition, document=document, text=text), version=document.revision, text=text)

    return live


def deletion(documents: Repository[Sync, Document], document: Document) -> Any:
    return documents.delete(document)


def addition(documents: Repository[Sync, Document]) -> Any:
    return documents.update().ignore_version().add(F(Document.count), 1)


def edition(documents: Repository[Sync, Document], document: Document, text: str) -> Any:
    return documents.update(document).to(evolve(document, text=text))


def history_of(seed: int, **how: bool) -> Histories:
    histories = Histories()
    bench = Bench(Papers, faults=list(Fault), fault_rate=0.25)
    for number in range(5):
        bench.client(lives(histories, **how), number, name=f"client-{number}")

    @bench.afterwards
    def the_item_is_what_the_history_ends_with(run: Run) -> None:
        begin = histories.clock()
        found = run.items.of(Document)
        histories.note(begin, "read", "done", seen=state_of(found[0] if found else None))

    bench.run(seed)
    return histories


def with_the_exception(histories: Histories) -> list[Event]:
    """The history where a create that was repeated may have been applied before, which is documented.

    Nothing else follows from it: each attempt has a version of its own, so that no write is guarded by a wrong one.
    """
    return [*histories.events, *histories.again]


@pytest.mark.slow
@pytest.mark.deep
def test_histories_are_linearizable_but_for_creates_that_were_deleted_and_repeated() -> None:
    exceptions = 0
    histories_tried = how_many(quick=400, deep=10_000)
    for seed in range(histories_tried):
        histories = history_of(seed, exactly_once=False, deletes=True)
        if is_linearizable(histories.events, State(), apply):
            continue
        exceptions += 1
        assert histories.again, f"seed {seed}"
        assert any(event.operation.kind == "delete" for event in histories.events), f"seed {seed}"
        assert is_linearizable(with_the_exception(histories), State(), apply), f"seed {seed}"
    assert exceptions < histories_tried / 20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("exactly_once", "deletes"), [(True, True), (False, False)], ids=["exactly once", "without deletes"]
)
@pytest.mark.deep
def test_without_the_exception_all_histories_are_linearizable(exactly_once: bool, deletes: bool) -> None:
    for seed in range(how_many(quick=150, deep=2_000)):
        histories = history_of(seed, exactly_once=exactly_once, deletes=deletes)
        assert is_linearizable(histories.events, State(), apply), f"seed {seed}"


def test_the_documented_exception_is_real() -> None:
    """A create whose answer is lost, a delete by another client, and the repetition: the item is there again.

    But it is another one: whoever still holds the first is refused.
    """
    histories = Histories()
    bench = Bench(Papers)
    held: list[Document] = []

    def create_once(store: Store[Sync]) -> None:
        plan = FaultPlan({1: Fault.DROP_AFTER}, before={2: lambda: delete(store)})
        histories.write(
            plan.over(store), "create", lambda documents: documents.put(Document("mine")).if_not_exists(), text="mine"
        )
        (old,) = held
        histories.write(store, "edit", partial(edition, document=old, text="old"), version=old.revision, text="old")

    def delete(store: Store[Sync]) -> None:
        begin = histories.clock()
        document = store.of(Document).get().required().send()
        held.append(document)
        histories.note(begin, "read", "done", seen=state_of(document))
        histories.write(store, "delete", partial(deletion, document=document), version=document.revision)

    bench.client(create_once)
    run = bench.run(0)
    (document,) = run.items.of(Document)
    assert document.text == "mine"
    assert document.revision > held[0].revision
    histories.note(histories.clock(), "read", "done", seen=state_of(document))
    assert not is_linearizable(histories.events, State(), apply)
    assert is_linearizable(with_the_exception(histories), State(), apply)


# ---- the checker itself

WRITE, READ = "write", "read"


def register(state: int, operation: Any) -> int | None:
    kind, value = operation
    if kind == WRITE:
        return int(value)
    return state if state == value else None


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ([], True),
        ([Event(0, 1, (WRITE, 1)), Event(2, 3, (READ, 1))], True),
        ([Event(0, 1, (WRITE, 1)), Event(2, 3, (READ, 0))], False),
        ([Event(0, 3, (WRITE, 1)), Event(1, 2, (READ, 0))], True),
        ([Event(0, 3, (WRITE, 1)), Event(1, 2, (READ, 1))], True),
        ([Event(0, 5, (WRITE, 1)), Event(1, 2, (READ, 1)), Event(3, 4, (READ, 0))], False),
        ([Event(0, 1, (WRITE, 1), optional=True), Event(2, 3, (READ, 0))], True),
        ([Event(0, 1, (WRITE, 1), optional=True), Event(2, 3, (READ, 1))], True),
        ([Event(0, 1, (WRITE, 1), optional=True), Event(2, 3, (READ, 2))], False),
        ([Event(0, 9, (WRITE, 1)), Event(0, 9, (WRITE, 2)), Event(1, 2, (READ, 2)), Event(3, 4, (READ, 1))], True),
        ([Event(0, 3, (WRITE, 1)), Event(0, 3, (WRITE, 2)), Event(4, 5, (READ, 1)), Event(6, 7, (READ, 2))], False),
    ],
)
def test_the_checker_knows_registers(history: list[Event], expected: bool) -> None:
    assert is_linearizable(history, 0, register) is expected


def test_the_checker_finds_a_lost_update() -> None:
    document = State(True, 7, "old")
    both = [
        Event(0, 3, Done("edit", "done", 7, "one")),
        Event(1, 4, Done("edit", "done", 7, "two")),
    ]
    assert not is_linearizable(both, document, apply)
    assert is_linearizable(both[:1], document, apply)
