"""Upserts against every server, in both modes: what they create, what they change, what they leave alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import attrs
import pytest

from dynamap import (
    Applied,
    Attribute,
    ConditionFailed,
    F,
    OutcomeUnknown,
    Reason,
    Refused,
    Repository,
    Store,
    Table,
    TransactionCanceled,
    VersionConflict,
    entity,
)
from dynamap.testing import Fault, FaultPlan
from tests.backends import Backend
from tests.modes import Mode, RawTable

Wait = Callable[[Any], Any]

NOW = 1_700_000_000.25
FIRST = 1_700_000_000_250_000


@entity("VIEWS", pk="VIEWS#{page}", sk="VIEWS", frozen=True)
class Views:
    page: str
    count: int = 0


@entity("NOTE", pk="NOTE#{id}", sk="NOTE", frozen=True)
class Note:
    id: str
    title: str
    size: int = 7
    text: str | None = None
    tags: set[str] = attrs.field(factory=set[str])
    lines: list[int] = attrs.field(factory=list[int])


@entity("MOVED", pk="MOVED#{id}", sk="MOVED", frozen=True)
class Moved:
    id: str
    title: str = ""
    size: Annotated[int, Attribute("s", aliases=("size",))] = 7


@entity("DOC", pk="DOC#{id}", sk="DOC", version="revision", frozen=True)
class Doc:
    id: str
    title: str
    count: int = 0
    revision: int = 0


NOTE_KEY, DOC_KEY = ("NOTE#n", "NOTE"), ("DOC#d", "DOC")


@pytest.fixture
def store(mode: Mode, backend: Backend, raw: RawTable) -> Store[Any]:
    table = Table(raw.name, [Views, Note, Moved, Doc])
    return mode.connect(table, backend, clock=lambda: NOW, write_ids=lambda: "mine")


@pytest.fixture
def wait(mode: Mode) -> Wait:
    return mode.wait


@pytest.fixture
def notes(store: Store[Any]) -> Repository[Any, Note]:
    return store.of(Note)


@pytest.fixture
def docs(store: Store[Any]) -> Repository[Any, Doc]:
    return store.of(Doc)


def test_it_creates_a_complete_item(notes: Repository[Any, Note], wait: Wait, raw: RawTable) -> None:
    assert wait(notes.upsert(id="n").set(F(Note.title), "x").send()) == Note("n", "x")
    assert raw.get(*NOTE_KEY) == {
        "pk": {"S": "NOTE#n"},
        "sk": {"S": "NOTE"},
        "_type": {"S": "NOTE"},
        "id": {"S": "n"},
        "title": {"S": "x"},
        "size": {"N": "7"},
        "lines": {"L": []},
    }


def test_it_leaves_alone_what_it_does_not_name(notes: Repository[Any, Note], wait: Wait, raw: RawTable) -> None:
    before = Note("n", "a", 3, "text", {"t"}, [1])
    wait(notes.put(before).send())
    raw.update(*NOTE_KEY, "SET newer = :x", x={"S": "kept"})
    assert wait(notes.upsert(id="n").set(F(Note.title), "x").send()) == Note("n", "x", 3, "text", {"t"}, [1])
    assert (raw.get(*NOTE_KEY) or {})["newer"] == {"S": "kept"}


@pytest.mark.parametrize("there", [True, False])
def test_counters_sets_and_lists_begin_by_themselves(notes: Repository[Any, Note], wait: Wait, there: bool) -> None:
    if there:
        wait(notes.put(Note("n", "x", 3, None, {"t"}, [1])).send())
    upsert = notes.upsert(id="n").set_if_missing(F(Note.title), "new").add(F(Note.size), 1).add(F(Note.tags), "a")
    found = wait(upsert.append(F(Note.lines), 2).send())
    expected = Note("n", "x", 4, None, {"a", "t"}, [1, 2]) if there else Note("n", "new", 8, None, {"a"}, [2])
    assert found == expected
    assert wait(notes.get(id="n").strongly_consistent().send()) == expected


@pytest.mark.not_on("embedded", reason="its parser takes no function inside of if_not_exists")
def test_a_default_does_not_hide_what_an_alias_holds(store: Store[Any], wait: Wait, raw: RawTable) -> None:
    moved = store.of(Moved)
    assert wait(moved.upsert(id="new").set(F(Moved.title), "x").send()) == Moved("new", "x", 7)
    raw.put("MOVED#old", "MOVED", _type={"S": "MOVED"}, id={"S": "old"}, size={"N": "3"})
    assert wait(moved.upsert(id="old").set(F(Moved.title), "x").send()) == Moved("old", "x", 3)


def test_the_old_entity_is_answered_or_none(notes: Repository[Any, Note], wait: Wait) -> None:
    upsert = notes.upsert(id="n").set(F(Note.title), "x").returning_old()
    assert wait(upsert.send()) is None
    assert wait(upsert.send()) == Note("n", "x")


def test_single_values_are_answered(store: Store[Any], wait: Wait) -> None:
    upsert = store.of(Views).upsert(page="p").add(F(Views.count), 1).returning(F(Views.count))
    assert [wait(upsert.send()) for _ in range(3)] == [1, 2, 3]
    both = store.of(Views).upsert(page="p").returning(F(Views.count), F(Views.page))
    assert wait(both.send()) == (3, "p")


def test_conditions_hold_of_what_is_stored(notes: Repository[Any, Note], wait: Wait, raw: RawTable) -> None:
    upsert = notes.upsert(id="n").set(F(Note.title), "x").if_(F(Note.title).ne("a"))
    assert wait(upsert.try_send()) == Applied(Note("n", "x"))
    wait(notes.put(Note("n", "a")).send())
    assert wait(upsert.try_send()) == Refused(Note("n", "a"))
    raw.delete(*NOTE_KEY)
    with pytest.raises(ConditionFailed) as caught:
        wait(notes.upsert(id="n").set(F(Note.title), "x").if_(F(Note.title).eq("a")).send())
    assert caught.value.seen is None
    assert raw.get(*NOTE_KEY) is None


# ---- versions

STORED: list[tuple[str, dict[str, Any] | None, Doc]] = [
    ("nothing", None, Doc("d", "x", 1, FIRST)),
    ("a version", {"revision": {"N": "7"}, "count": {"N": "3"}}, Doc("d", "x", 4, 8)),
    ("no version", {"count": {"N": "3"}}, Doc("d", "x", 4, FIRST)),
    ("version 0", {"revision": {"N": "0"}, "count": {"N": "3"}}, Doc("d", "x", 4, FIRST)),
]


@pytest.mark.parametrize(("attributes", "expected"), [each[1:] for each in STORED], ids=[each[0] for each in STORED])
def test_ignoring_the_version_raises_it_all_the_same(
    docs: Repository[Any, Doc], wait: Wait, raw: RawTable, attributes: Any, expected: Doc
) -> None:
    if attributes is not None:
        raw.put(*DOC_KEY, _type={"S": "DOC"}, id={"S": "d"}, title={"S": "old"}, **attributes)
    found = wait(docs.upsert(id="d").set(F(Doc.title), "x").add(F(Doc.count), 1).ignore_version().send())
    assert found == expected
    item = raw.get(*DOC_KEY) or {}
    assert item["revision"] == {"N": str(expected.revision)}
    assert item["_w"] == {"S": "mine"}


def test_version_0_creates_and_does_not_overwrite(docs: Repository[Any, Doc], wait: Wait) -> None:
    upsert = docs.upsert(id="d").set(F(Doc.title), "x").if_version(0)
    assert wait(upsert.send()) == Doc("d", "x", 0, FIRST)
    with pytest.raises(VersionConflict) as caught:
        wait(upsert.send())
    assert caught.value.seen == Doc("d", "x", 0, FIRST)


def test_a_version_that_was_read_guards(docs: Repository[Any, Doc], wait: Wait, raw: RawTable) -> None:
    wait(docs.put(Doc("d", "a")).send())
    changed = wait(docs.upsert(id="d").add(F(Doc.count), 1).if_version(FIRST).send())
    assert changed == Doc("d", "a", 1, FIRST + 1)
    with pytest.raises(VersionConflict) as caught:
        wait(docs.upsert(id="d").add(F(Doc.count), 1).if_version(FIRST).send())
    assert caught.value.seen == changed
    raw.delete(*DOC_KEY)
    with pytest.raises(VersionConflict):
        wait(docs.upsert(id="d").add(F(Doc.count), 1).if_version(FIRST).send())
    assert raw.get(*DOC_KEY) is None


# ---- lost answers


@pytest.mark.parametrize("fault", [Fault.DROP_AFTER, Fault.DROP_BEFORE])
def test_a_plain_upsert_is_repeated(store: Store[Any], wait: Wait, fault: Fault) -> None:
    faults = FaultPlan({1: fault})
    assert wait(faults.over(store).of(Note).upsert(id="n").set(F(Note.title), "x").send()) == Note("n", "x")
    assert len(faults.calls) == 2


def test_a_counting_upsert_is_not_repeated(store: Store[Any], wait: Wait) -> None:
    faults = FaultPlan({1: Fault.DROP_AFTER})
    upsert = faults.over(store).of(Views).upsert(page="p").add(F(Views.count), 1)
    with pytest.raises(OutcomeUnknown) as caught:
        wait(upsert.send())
    assert caught.value.applied is None
    assert wait(store.of(Views).get(page="p").strongly_consistent().send()) == Views("p", 1)


def test_a_counting_upsert_that_may_be_repeated_may_count_twice(store: Store[Any], wait: Wait) -> None:
    faults = FaultPlan({1: Fault.DROP_AFTER})
    upsert = faults.over(store).of(Views).upsert(page="p").add(F(Views.count), 1).at_least_once()
    assert wait(upsert.send()) == Views("p", 2)


@pytest.mark.parametrize("fault", [Fault.DROP_AFTER, Fault.DROP_BEFORE])
def test_a_guarded_upsert_recognises_itself(
    store: Store[Any], docs: Repository[Any, Doc], wait: Wait, fault: Fault
) -> None:
    created = FaultPlan({1: fault}).over(store).of(Doc).upsert(id="d").set(F(Doc.title), "x").if_version(0)
    # the clock stands: an attempt after a lost answer starts a millisecond later
    first = FIRST if fault is Fault.DROP_AFTER else FIRST + 1000
    assert wait(created.send()) == Doc("d", "x", 0, first)
    counted = FaultPlan({1: fault}).over(store).of(Doc).upsert(id="d").add(F(Doc.count), 1).if_version(first)
    assert wait(counted.send()) == Doc("d", "x", 1, first + 1)
    assert wait(docs.get(id="d").send()) == Doc("d", "x", 1, first + 1)


def test_another_writer_after_a_lost_create_is_not_taken_for_this_one(
    store: Store[Any], wait: Wait, raw: RawTable
) -> None:
    def other_writer() -> None:
        raw.put(*DOC_KEY, _type={"S": "DOC"}, id={"S": "d"}, title={"S": "theirs"}, revision={"N": "9"})

    faults = FaultPlan({1: Fault.DROP_BEFORE}, before={2: other_writer})
    with pytest.raises(OutcomeUnknown):
        wait(faults.over(store).of(Doc).upsert(id="d").set(F(Doc.title), "x").if_version(0).send())
    assert (raw.get(*DOC_KEY) or {})["title"] == {"S": "theirs"}


# ---- transactions


@pytest.mark.not_on("dynalite", reason="it has no transactions")
def test_upserts_and_checks_in_a_transaction(
    store: Store[Any], notes: Repository[Any, Note], wait: Wait, raw: RawTable
) -> None:
    token = raw.name[-32:]
    check = store.of(Doc).check(id="d").exists().if_(F(Doc.count).ge(1))
    upsert = notes.upsert(id="n").set(F(Note.title), "x")
    with pytest.raises(TransactionCanceled) as caught:
        wait(store.transact(upsert, check).token(f"1{token}").send())
    assert caught.value.reason_for(check) is Reason.CONDITION_FAILED
    assert caught.value.reason_for(upsert) is None
    assert caught.value.item_for(check) is None
    assert raw.get(*NOTE_KEY) is None
    wait(store.of(Doc).put(Doc("d", "x", 1)).send())
    wait(store.transact(upsert, check).token(f"2{token}").send())
    assert wait(notes.get(id="n").strongly_consistent().send()) == Note("n", "x")
    absent = store.of(Doc).check(id="d").not_exists()
    with pytest.raises(TransactionCanceled) as caught:
        wait(store.transact(upsert, absent).token(f"3{token}").send())
    assert caught.value.item_for(absent) == Doc("d", "x", 1, FIRST)
