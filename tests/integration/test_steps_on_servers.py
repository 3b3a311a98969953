"""The steps of updates against every server, in both modes: what is stored, and what is answered."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any

import attrs
import pytest

from dynamap import (
    Attribute,
    F,
    ItemNotFound,
    OutcomeUnknown,
    Refused,
    Repository,
    ServiceError,
    Store,
    Table,
    entity,
    evolve,
)
from dynamap.testing import Fault, FaultPlan
from tests.backends import Backend
from tests.modes import Mode, RawTable

Step = Callable[[Any], Any]
Wait = Callable[[Any], Any]


@attrs.frozen
class Address:
    city: str
    zip: int = 0
    note: str | None = None


@entity("NOTE", pk="NOTE#{id}", sk="NOTE", frozen=True)
class Note:
    id: str
    size: int = 0
    score: int = 100
    price: Decimal = Decimal(0)
    text: str | None = None
    tags: set[str] = attrs.field(factory=set[str])
    lines: list[int] = attrs.field(factory=list[int])
    steps: tuple[str, ...] = ("start",)
    home: Address | None = None
    office: Address = Address("here")
    prices: dict[str, Decimal] = attrs.field(factory=dict[str, Decimal])
    visits: Annotated[int, Attribute("v", aliases=("n",))] = 0
    marks: Annotated[str | None, Attribute("m", aliases=("flag",))] = None


KEY = ("NOTE#n", "NOTE")


@pytest.fixture
def store(mode: Mode, backend: Backend, raw: RawTable) -> Store[Any]:
    return mode.connect(Table(raw.name, [Note]), backend, write_ids=lambda: "mine")


@pytest.fixture
def notes(store: Store[Any]) -> Repository[Any, Note]:
    return store.of(Note)


@pytest.fixture
def wait(mode: Mode) -> Wait:
    return mode.wait


FULL = Note(
    "n", 5, 7, Decimal("1.5"), "x", {"a", "b"}, [1, 2], ("s", "t"), Address("Ulm", 1, "x"), prices={"a": Decimal(1)}
)

STEPS: list[tuple[str, Step, Note]] = [
    ("set if missing, present", lambda u: u.set_if_missing(F(Note.text), "y"), FULL),
    ("set by names", lambda u: u.set_fields({"size": 9, "text": None}), evolve(FULL, size=9, text=None)),
    ("add", lambda u: u.add(F(Note.size), -7), evolve(FULL, size=-2)),
    ("add to one with a default", lambda u: u.add(F(Note.score), 3), evolve(FULL, score=10)),
    ("add elements", lambda u: u.add(F(Note.tags), "b", "c"), evolve(FULL, tags={"a", "b", "c"})),
    ("discard", lambda u: u.discard(F(Note.tags), "b", "z"), evolve(FULL, tags={"a"})),
    ("discard all", lambda u: u.discard(F(Note.tags), "a", "b"), evolve(FULL, tags=set())),
    ("set to the empty set", lambda u: u.set(F(Note.tags), set()), evolve(FULL, tags=set())),
    ("append", lambda u: u.append(F(Note.lines), 3, 4), evolve(FULL, lines=[1, 2, 3, 4])),
    ("prepend", lambda u: u.prepend(F(Note.lines), 3, 4), evolve(FULL, lines=[3, 4, 1, 2])),
    ("append to a tuple", lambda u: u.append(F(Note.steps), "u"), evolve(FULL, steps=("s", "t", "u"))),
    (
        "a nested field alone",
        lambda u: u.set(F(Note, lambda n: n.home.city if n.home else ""), "Bonn"),
        evolve(FULL, home=Address("Bonn", 1, "x")),
    ),
    (
        "a nested field if it is missing",
        lambda u: u.set_if_missing(F(Note, lambda n: n.prices["b"]), Decimal(2)),
        evolve(FULL, prices={"a": Decimal(1), "b": Decimal(2)}),
    ),
    (
        "a nested number",
        lambda u: u.add(F(Note, lambda n: n.prices["a"]), Decimal("0.5")),
        evolve(FULL, prices={"a": Decimal("1.5")}),
    ),
    ("remove an entry", lambda u: u.remove(F(Note, lambda n: n.prices["a"])), evolve(FULL, prices={})),
    ("an empty nested map", lambda u: u.set(F(Note.prices), {}), evolve(FULL, prices={})),
    (
        "many at once",
        lambda u: u.set(F(Note.text), "y").remove(F(Note.home)).add(F(Note.size), 1).discard(F(Note.tags), "a"),
        evolve(FULL, text="y", home=None, size=6, tags={"b"}),
    ),
]


@pytest.mark.parametrize(("step", "expected"), [each[1:] for each in STEPS], ids=[each[0] for each in STEPS])
def test_what_was_stored_changes_as_told(notes: Repository[Any, Note], wait: Wait, step: Step, expected: Note) -> None:
    wait(notes.put(FULL).send())
    assert wait(step(notes.update(id="n")).send()) == expected
    assert wait(notes.get(id="n").strongly_consistent().send()) == expected


BARE: list[tuple[str, Step, Note]] = [
    ("set if missing", lambda u: u.set_if_missing(F(Note.size), 3), Note("n", size=3)),
    ("add", lambda u: u.add(F(Note.size), 3), Note("n", size=3)),
    ("add to one with a default", lambda u: u.add(F(Note.score), 3), Note("n", score=103)),
    ("add elements", lambda u: u.add(F(Note.tags), "a"), Note("n", tags={"a"})),
    ("discard", lambda u: u.discard(F(Note.tags), "a"), Note("n")),
    ("append", lambda u: u.append(F(Note.lines), 1), Note("n", lines=[1])),
    ("prepend", lambda u: u.prepend(F(Note.lines), 1), Note("n", lines=[1])),
    ("append to a default", lambda u: u.append(F(Note.steps), "end"), Note("n", steps=("start", "end"))),
    ("prepend to a default", lambda u: u.prepend(F(Note.steps), "pre"), Note("n", steps=("pre", "start"))),
]


@pytest.mark.parametrize(("step", "expected"), [each[1:] for each in BARE], ids=[each[0] for each in BARE])
def test_what_is_missing_counts_as_it_is_read(
    notes: Repository[Any, Note], wait: Wait, raw: RawTable, step: Step, expected: Note
) -> None:
    raw.put(*KEY, _type={"S": "NOTE"}, id={"S": "n"})
    assert wait(step(notes.update(id="n")).send()) == expected


def test_the_last_element_leaves_no_attribute(notes: Repository[Any, Note], wait: Wait, raw: RawTable) -> None:
    wait(notes.put(FULL).send())
    wait(notes.update(id="n").discard(F(Note.tags), "a", "b").send())
    assert "tags" not in (raw.get(*KEY) or {})


@pytest.mark.not_on("embedded", reason="its parser takes no function inside of if_not_exists")
@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (lambda u: u.add(F(Note.visits), 1), 8),
        (lambda u: u.set_if_missing(F(Note.visits), 1), 7),
        (lambda u: u.set(F(Note.visits), 1), 1),
    ],
)
def test_a_value_under_an_alias_counts(
    notes: Repository[Any, Note], wait: Wait, raw: RawTable, step: Step, expected: int
) -> None:
    raw.put(*KEY, _type={"S": "NOTE"}, id={"S": "n"}, n={"N": "7"})
    assert wait(step(notes.update(id="n")).send()).visits == expected
    assert (raw.get(*KEY) or {})["v"] == {"N": str(expected)}


@pytest.mark.parametrize("step", [lambda u: u.remove(F(Note.marks)), lambda u: u.set(F(Note.marks), None)])
def test_a_removed_field_does_not_come_back_under_an_alias(
    notes: Repository[Any, Note], wait: Wait, raw: RawTable, step: Step
) -> None:
    raw.put(*KEY, _type={"S": "NOTE"}, id={"S": "n"}, flag={"S": "old"})
    assert wait(step(notes.update(id="n")).send()).marks is None
    assert wait(notes.get(id="n").send()) == Note("n")


def test_to_removes_what_was_read_under_an_alias(notes: Repository[Any, Note], wait: Wait, raw: RawTable) -> None:
    raw.put(*KEY, _type={"S": "NOTE"}, id={"S": "n"}, flag={"S": "old"})
    read = wait(notes.get(id="n").required().send())
    assert read.marks == "old"
    assert wait(notes.update(read).to(evolve(read, marks=None)).send()) == Note("n")


def test_no_step_creates_an_item(notes: Repository[Any, Note], wait: Wait, raw: RawTable) -> None:
    for step in (
        notes.update(id="n").set_if_missing(F(Note.size), 1),
        notes.update(id="n").discard(F(Note.tags), "a"),
        notes.update(id="n").append(F(Note.lines), 1),
    ):
        with pytest.raises(ItemNotFound):
            wait(step.send())
    assert raw.get(*KEY) is None


def test_a_missing_parent_is_named(notes: Repository[Any, Note], wait: Wait, raw: RawTable) -> None:
    raw.put(*KEY, _type={"S": "NOTE"}, id={"S": "n"})
    with pytest.raises(ServiceError) as caught:
        wait(notes.update(id="n").set(F(Note, lambda n: n.home.city if n.home else ""), "x").send())
    assert str(caught.value) == (
        "update of Note id='n': the item has no home (it may be None), and nothing can be changed inside of what is "
        "not there: set it as a whole first"
    )
    assert caught.value.code == "ValidationException"
    with pytest.raises(ServiceError, match="the item has no office, and nothing"):
        wait(notes.update(id="n").set(F(Note, lambda n: n.office.city), "x").send())
    office = notes.update(id="n").set(F(Note.office), Address("x"))
    assert wait(office.send()).office == Address("x")
    assert wait(notes.update(id="n").set(F(Note, lambda n: n.office.city), "y").send()).office == Address("y")


# ---- lost answers


def test_an_append_whose_answer_is_lost_is_not_repeated(
    store: Store[Any], notes: Repository[Any, Note], wait: Wait
) -> None:
    wait(notes.put(Note("n")).send())
    faults = FaultPlan({1: Fault.DROP_AFTER})
    with pytest.raises(OutcomeUnknown) as caught:
        wait(faults.over(store).of(Note).update(id="n").append(F(Note.lines), 1).send())
    assert caught.value.applied is None
    assert len(faults.calls) == 1
    assert wait(notes.get(id="n").strongly_consistent().required().send()).lines == [1]


def test_an_append_that_may_be_repeated_may_be_applied_twice(
    store: Store[Any], notes: Repository[Any, Note], wait: Wait
) -> None:
    wait(notes.put(Note("n")).send())
    faults = FaultPlan({1: Fault.DROP_AFTER})
    append = faults.over(store).of(Note).update(id="n").append(F(Note.lines), 1).at_least_once()
    assert wait(append.send()).lines == [1, 1]


@pytest.mark.parametrize("fault", [Fault.DROP_AFTER, Fault.DROP_BEFORE])
@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (lambda u: u.discard(F(Note.tags), "a"), evolve(FULL, tags={"b"})),
        (lambda u: u.set_if_missing(F(Note, lambda n: n.prices["b"]), Decimal(2)), None),
        (lambda u: u.set_fields({"size": 9}), evolve(FULL, size=9)),
    ],
)
def test_what_a_repetition_does_not_change_is_repeated(
    store: Store[Any], notes: Repository[Any, Note], wait: Wait, fault: Fault, step: Step, expected: Note | None
) -> None:
    wait(notes.put(FULL).send())
    faults = FaultPlan({1: fault})
    found = wait(step(faults.over(store).of(Note).update(id="n")).send())
    assert len(faults.calls) == 2
    assert found == (expected or evolve(FULL, prices={"a": Decimal(1), "b": Decimal(2)}))


def test_a_refused_step_is_a_value(notes: Repository[Any, Note], wait: Wait) -> None:
    wait(notes.put(FULL).send())
    append = notes.update(id="n").append(F(Note.lines), 3).if_(F(Note.lines).size().lt(2))
    assert wait(append.try_send()) == Refused(FULL)
