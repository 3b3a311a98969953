"""The steps of updates: what each is compiled to, and which are refused before anything is sent."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any

import attrs
import pytest

from dynamap import (
    Attribute,
    ConflictingUpdate,
    DynamapError,
    EncodeError,
    F,
    Normalize,
    RequestError,
    ServiceError,
    Table,
    entity,
    evolve,
)
from dynamap.operations.sending import Repeat
from tests.fakes import answered, async_store_of, drive, store_of


@attrs.frozen
class Street:
    name: str = ""


@attrs.frozen
class Address:
    city: str
    street: Street | None = None
    tags: frozenset[str] = frozenset()


@entity("NOTE", pk="NOTE#{id}", sk="NOTE", frozen=True)
class Note:
    id: str
    title: str
    size: int = 0
    score: int = 100
    price: Decimal = Decimal(0)
    weight: float = 0.0
    text: str | None = None
    tags: set[str] = attrs.field(factory=set[str])
    codes: frozenset[int] | None = None
    lines: list[int] = attrs.field(factory=list[int])
    steps: tuple[str, ...] = ("start",)
    pair: tuple[int, int] = (0, 0)
    names: Annotated[set[str], Normalize(lambda names: {each.lower() for each in names})] = attrs.field(
        factory=set[str]
    )
    prices: dict[str, Decimal] = attrs.field(factory=dict[str, Decimal])
    visits: Annotated[int, Attribute("v", aliases=("n", "old.v"))] = 0
    history: Annotated[list[int], Attribute("h", aliases=("log",))] = attrs.field(factory=list[int])
    marks: Annotated[set[str], Attribute("m", aliases=("flags",))] = attrs.field(factory=set[str])
    home: Address | None = None
    office: Address = attrs.field(factory=lambda: Address(""))
    any: Any = None


@entity("DOC", pk="DOC#{id}", sk="DOC", version="revision", frozen=True)
class Doc:
    id: str
    home: Address | None = None
    labels: dict[str, Address] = attrs.field(factory=dict[str, Address])
    lines: list[Address] = attrs.field(factory=list[Address])
    count: int = 0
    revision: int = 0


Notes = Table("notes", [Note, Doc])
Step = Callable[[Any], Any]


def note() -> Any:
    return store_of(Notes).of(Note).update(id="n")


def shown(params: dict[str, Any]) -> str:
    """The update expression with names and values put back."""
    text: str = params["UpdateExpression"]
    names, values = params.get("ExpressionAttributeNames", {}), params.get("ExpressionAttributeValues", {})
    for placeholder in sorted([*names, *values], key=len, reverse=True):
        restored = names.get(placeholder) or repr(values[placeholder])
        text = text.replace(placeholder, f"<{restored}>")
    return text


STEPS: list[tuple[str, Step, str]] = [
    ("set", lambda u: u.set(F(Note.title), "x"), "SET <title> = <{'S': 'x'}>"),
    ("set to None", lambda u: u.set(F(Note.text), None), "REMOVE <text>"),
    ("set to an empty set", lambda u: u.set(F(Note.tags), set()), "REMOVE <tags>"),
    ("set to an empty optional set", lambda u: u.set(F(Note.codes), frozenset()), "REMOVE <codes>"),
    ("set an optional set to None", lambda u: u.set(F(Note.codes), None), "SET <codes> = <{'NULL': True}>"),
    ("set if missing", lambda u: u.set_if_missing(F(Note.size), 3), "SET <size> = if_not_exists(<size>, <{'N': '3'}>)"),
    (
        "set if missing, nested",
        lambda u: u.set_if_missing(F(Note, lambda n: n.office.city), "x"),
        "SET <office>.<city> = if_not_exists(<office>.<city>, <{'S': 'x'}>)",
    ),
    (
        "set if missing also under aliases",
        lambda u: u.set_if_missing(F(Note.visits), 3),
        "SET <v> = if_not_exists(<v>, if_not_exists(<n>, if_not_exists(<old.v>, <{'N': '3'}>))) REMOVE <n>, <old.v>",
    ),
    (
        "set fields by name",
        lambda u: u.set_fields({"title": "x", "text": None, "size": F(Note.size) + 1}),
        "SET <title> = <{'S': 'x'}>, <size> = <size> + <{'N': '1'}> REMOVE <text>",
    ),
    ("remove", lambda u: u.remove(F(Note.text), F(Note.tags)), "REMOVE <text>, <tags>"),
    ("remove under aliases", lambda u: u.remove(F(Note.visits)), "REMOVE <v>, <n>, <old.v>"),
    ("remove a map's entry", lambda u: u.remove(F(Note, lambda n: n.prices["a.b"])), "REMOVE <prices>.<a.b>"),
    ("remove list items", lambda u: u.remove(F(Note, lambda n: n.lines[3])), "REMOVE <lines>[3]"),
    ("add", lambda u: u.add(F(Note.size), -2), "ADD <size> <{'N': '-2'}>"),
    ("add an int to a Decimal", lambda u: u.add(F(Note.price), 2), "ADD <price> <{'N': '2'}>"),
    (
        "add to a field with a default",
        lambda u: u.add(F(Note.score), 5),
        "SET <score> = if_not_exists(<score>, <{'N': '100'}>) + <{'N': '5'}>",
    ),
    (
        "add to a field with aliases",
        lambda u: u.add(F(Note.visits), 5),
        "SET <v> = if_not_exists(<v>, if_not_exists(<n>, if_not_exists(<old.v>, <{'N': '0'}>))) + <{'N': '5'}> "
        "REMOVE <n>, <old.v>",
    ),
    ("add inside a map", lambda u: u.add(F(Note, lambda n: n.prices["eur"]), 1), "ADD <prices>.<eur> <{'N': '1'}>"),
    ("add elements", lambda u: u.add(F(Note.tags), "b", "a"), "ADD <tags> <{'SS': ['a', 'b']}>"),
    ("add elements to an optional set", lambda u: u.add(F(Note.codes), 3), "ADD <codes> <{'NS': ['3']}>"),
    ("add normalized elements", lambda u: u.add(F(Note.names), "B"), "ADD <names> <{'SS': ['b']}>"),
    ("discard", lambda u: u.discard(F(Note.tags), "b", "a"), "DELETE <tags> <{'SS': ['a', 'b']}>"),
    ("discard from an optional set", lambda u: u.discard(F(Note.codes), 3), "DELETE <codes> <{'NS': ['3']}>"),
    ("discard normalized elements", lambda u: u.discard(F(Note.names), "B"), "DELETE <names> <{'SS': ['b']}>"),
    (
        "append",
        lambda u: u.append(F(Note.lines), 1, 2),
        "SET <lines> = list_append(if_not_exists(<lines>, <{'L': []}>), <{'L': [{'N': '1'}, {'N': '2'}]}>)",
    ),
    (
        "prepend",
        lambda u: u.prepend(F(Note.lines), 1, 2),
        "SET <lines> = list_append(<{'L': [{'N': '1'}, {'N': '2'}]}>, if_not_exists(<lines>, <{'L': []}>))",
    ),
    (
        "append to a tuple with a default",
        lambda u: u.append(F(Note.steps), "end"),
        "SET <steps> = list_append(if_not_exists(<steps>, <{'L': [{'S': 'start'}]}>), <{'L': [{'S': 'end'}]}>)",
    ),
    (
        "append to what may have an alias",
        lambda u: u.append(F(Note.history), 1),
        "SET <h> = list_append(if_not_exists(<h>, if_not_exists(<log>, <{'L': []}>)), <{'L': [{'N': '1'}]}>) "
        "REMOVE <log>",
    ),
    (
        "all clauses",
        lambda u: u.discard(F(Note.tags), "a").add(F(Note.size), 1).remove(F(Note.text)).set(F(Note.title), "x"),
        "SET <title> = <{'S': 'x'}> REMOVE <text> ADD <size> <{'N': '1'}> DELETE <tags> <{'SS': ['a']}>",
    ),
]


@pytest.mark.parametrize(("step", "expected"), [each[1:] for each in STEPS], ids=[each[0] for each in STEPS])
def test_each_step_is_one_part_of_the_update(step: Step, expected: str) -> None:
    for store in (store_of(Notes), async_store_of(Notes)):
        params = step(store.of(Note).update(id="n")).params()
        assert shown(params) == expected
        assert params["ReturnValues"] == "ALL_NEW"
        assert params["Key"] == {"pk": {"S": "NOTE#n"}, "sk": {"S": "NOTE"}}


def test_a_removal_by_difference_removes_aliases_too() -> None:
    before = Note("n", "t", home=Address("x"))
    update = store_of(Notes).of(Note).update(before).to(evolve(before, home=None, marks=set()))
    assert shown(update.params()) == "REMOVE <home>"
    before = evolve(before, marks={"a"})
    update = store_of(Notes).of(Note).update(before).to(evolve(before, marks=set()))
    assert shown(update.params()) == "REMOVE <m>, <flags>"


def test_steps_answer_copies() -> None:
    start = note()
    for step in (
        start.set_if_missing(F(Note.size), 1),
        start.set_fields({"size": 1}),
        start.discard(F(Note.tags), "a"),
        start.append(F(Note.lines), 1),
        start.prepend(F(Note.lines), 1),
    ):
        assert step is not start
        assert type(step) is type(start)
        assert "UpdateExpression" in step.params()
    with pytest.raises(RequestError, match="it changes nothing"):
        start.params()


WHAT = "update of Note id='n': "
FIELDS = (
    "id, title, size, score, price, weight, text, tags, codes, lines, steps, pair, names, prices, visits, history, "
    "marks, home, office, any"
)
REFUSED: list[tuple[str, Step, type[DynamapError], str]] = [
    ("nothing removed", lambda u: u.remove(), RequestError, f"{WHAT}remove() names the fields to remove; got nothing"),
    (
        "nothing added",
        lambda u: u.add(F(Note.size)),
        RequestError,
        f"{WHAT}add() takes an amount, or the elements to add; got nothing",
    ),
    (
        "nothing discarded",
        lambda u: u.discard(F(Note.tags)),
        RequestError,
        f"{WHAT}discard() takes the elements to take out; got nothing",
    ),
    (
        "nothing appended",
        lambda u: u.append(F(Note.lines)),
        RequestError,
        f"{WHAT}append() takes the items to append; got nothing",
    ),
    (
        "nothing prepended",
        lambda u: u.prepend(F(Note.lines)),
        RequestError,
        f"{WHAT}prepend() takes the items to prepend; got nothing",
    ),
    (
        "no fields",
        lambda u: u.set_fields({}),
        RequestError,
        f"{WHAT}set_fields() takes a mapping from field names to values; got an empty one",
    ),
    (
        "no mapping",
        lambda u: u.set_fields([("size", 1)]),
        RequestError,
        f"{WHAT}set_fields() takes a mapping from field names to values; got list",
    ),
    (
        "an unknown field",
        lambda u: u.set_fields({"sise": 1}),
        RequestError,
        f"{WHAT}Note has no field 'sise'; its fields are {FIELDS}",
    ),
    (
        "a stored name",
        lambda u: u.set_fields({"v": 1}),
        RequestError,
        f"{WHAT}Note has no field 'v'; its fields are {FIELDS}",
    ),
    (
        "a field of the key",
        lambda u: u.set_fields({"id": "x"}),
        RequestError,
        f"{WHAT}id is part of the key, which never changes: put a new item and delete this one",
    ),
    (
        "a field that every item has",
        lambda u: u.remove(F(Note.title)),
        RequestError,
        (
            f"{WHAT}title is neither optional nor has it a default, so an item without it could not be read: "
            f"set it to another value"
        ),
    ),
    (
        "missing set to nothing",
        lambda u: u.set_if_missing(F(Note.text), None).params(),
        RequestError,
        "Note.text: set_if_missing() with a value that is stored as an absent attribute changes nothing; leave it out",
    ),
    (
        "missing set to the empty set",
        lambda u: u.set_if_missing(F(Note.tags), set()).params(),
        RequestError,
        "Note.tags: set_if_missing() with a value that is stored as an absent attribute changes nothing; leave it out",
    ),
    (
        "discard from a list",
        lambda u: u.discard(F(Note.lines), 1).params(),
        RequestError,
        "Note.lines: discard() takes elements out of a set; this field holds list",
    ),
    (
        "append to a set",
        lambda u: u.append(F(Note.tags), "a").params(),
        RequestError,
        "Note.tags: append() puts items into a list; this field holds set",
    ),
    (
        "prepend to text",
        lambda u: u.prepend(F(Note.title), "a").params(),
        RequestError,
        "Note.title: prepend() puts items into a list; this field holds str",
    ),
    (
        "append to a tuple of fixed length",
        lambda u: u.append(F(Note.pair), 1).params(),
        RequestError,
        "Note.pair: append() puts items into a list; this field holds tuple of 2",
    ),
    (
        "append to Any",
        lambda u: u.append(F(Note, lambda n: n.any), 1).params(),
        RequestError,
        "Note.any: append() puts items into a list; this field holds plain value",
    ),
    (
        "add to text",
        lambda u: u.add(F(Note.title), 1).params(),
        RequestError,
        "Note.title: add() takes one amount for a number or elements for a set; this field holds str",
    ),
    (
        "add two amounts",
        lambda u: u.add(F(Note.size), 1, 2).params(),
        RequestError,
        "Note.size: add() takes one amount for a number or elements for a set; this field holds int",
    ),
    (
        "a nested set",
        lambda u: u.add(F(Note, lambda n: n.office.tags), "a").params(),
        RequestError,
        (
            "Note.office.tags: add() changes sets that are fields of Note itself, because inside of another value an "
            "empty set is stored as a list; set it as a whole"
        ),
    ),
    (
        "discard from a nested set",
        lambda u: u.discard(F(Note, lambda n: n.office.tags), "a").params(),
        RequestError,
        (
            "Note.office.tags: discard() changes sets that are fields of Note itself, because inside of another value "
            "an empty set is stored as a list; set it as a whole"
        ),
    ),
    (
        "a set with aliases",
        lambda u: u.discard(F(Note.marks), "a").params(),
        RequestError,
        (
            "Note.marks: discard() would miss what is stored under an alias of the field; read the item and update it "
            "as a whole, with update(item).to(changed)"
        ),
    ),
    (
        "a list as an element",
        lambda u: u.add(F(Note.tags), ["a"]).params(),
        RequestError,
        "Note.tags: add() takes the elements one by one, each of which a set can hold",
    ),
    (
        "an element of another type",
        lambda u: u.discard(F(Note.tags), 3).params(),
        EncodeError,
        "Note $.tags: a str expected, got int; use str(value)",
    ),
    (
        "an item of another type",
        lambda u: u.append(F(Note.lines), 1, "x").params(),
        EncodeError,
        "Note $.lines[1]: an int expected, got str; use int(value), or declare str",
    ),
    (
        "one path twice",
        lambda u: u.append(F(Note.lines), 1).prepend(F(Note.lines), 2).params(),
        ConflictingUpdate,
        "Note: one update changes lines and lines, which are the same: leave one out",
    ),
    (
        "a path and its parent",
        lambda u: u.remove(F(Note, lambda n: n.office.street)).set(F(Note.office), Address("x")).params(),
        ConflictingUpdate,
        "Note: one update changes office.street and office, which overlap: leave one out",
    ),
    (
        "a list and one of its items",
        lambda u: u.append(F(Note.lines), 1).set(F(Note, lambda n: n.lines[0]), 2).params(),
        ConflictingUpdate,
        "Note: one update changes lines and lines.0, which overlap: leave one out",
    ),
]


@pytest.mark.parametrize(("step", "error", "text"), [each[1:] for each in REFUSED], ids=[each[0] for each in REFUSED])
def test_what_cannot_work_is_refused_before_it_is_sent(step: Step, error: type[DynamapError], text: str) -> None:
    with pytest.raises(DynamapError) as caught:
        step(note())
    assert type(caught.value) is error
    assert str(caught.value) == text


def test_the_version_is_not_set_by_name() -> None:
    doc = store_of(Notes).of(Doc).update(id="d").ignore_version()
    with pytest.raises(RequestError) as caught:
        doc.set_fields({"revision": 3})
    assert str(caught.value) == (
        "update of Doc id='d': revision is the version, which every write raises by itself: leave it out"
    )


# ---- what may be repeated when an answer was lost

REPEATS: list[tuple[str, Step, bool]] = [
    ("set", lambda u: u.set(F(Note.size), 1), True),
    ("set if missing", lambda u: u.set_if_missing(F(Note.size), 1), True),
    ("set fields", lambda u: u.set_fields({"size": 1}), True),
    ("remove", lambda u: u.remove(F(Note.text)), True),
    ("discard", lambda u: u.discard(F(Note.tags), "a"), True),
    ("add", lambda u: u.add(F(Note.size), 1), False),
    ("add elements", lambda u: u.add(F(Note.tags), "a"), False),
    ("append", lambda u: u.append(F(Note.lines), 1), False),
    ("prepend", lambda u: u.prepend(F(Note.lines), 1), False),
    ("arithmetic by name", lambda u: u.set_fields({"size": F(Note.size) + 1}), False),
    ("append, permitted", lambda u: u.append(F(Note.lines), 1).at_least_once(), True),
    ("discard, forbidden", lambda u: u.discard(F(Note.tags), "a").at_most_once(), False),
    ("discard under a condition", lambda u: u.discard(F(Note.tags), "a").if_(F(Note.size).ge(1)), False),
    ("discard with the old values", lambda u: u.discard(F(Note.tags), "a").returning_old(), False),
]


@pytest.mark.parametrize(("step", "repeats"), [each[1:] for each in REPEATS], ids=[each[0] for each in REPEATS])
def test_only_what_a_repetition_does_not_change_is_repeated(step: Step, repeats: bool) -> None:
    operation = step(note())
    assert operation._repeats(operation._guard()) is (Repeat.SAFELY if repeats else Repeat.NEVER)


def test_under_a_version_everything_is_repeated() -> None:
    operation = store_of(Notes).of(Doc).update(id="d").append(F(Doc.lines), Address("x")).if_version(3)
    assert operation._repeats(operation._guard()) is Repeat.SAFELY


# ---- a parent that is not there

INVALID_PATH = answered(
    "ValidationException", "The document path provided in the update expression is invalid for update", status=400
)
ADVICE = "and nothing can be changed inside of what is not there: set it as a whole first"
PARENTS: list[tuple[str, Step, str]] = [
    (
        "optional",
        lambda u: u.set(F(Note, lambda n: n.home.city if n.home else ""), "x"),
        f"{WHAT}the item has no home (it may be None), {ADVICE}",
    ),
    (
        "not optional",
        lambda u: u.set(F(Note, lambda n: n.office.city), "x"),
        f"{WHAT}the item has no office, {ADVICE}",
    ),
    (
        "deep",
        lambda u: u.set(F(Note, lambda n: n.office.street.name if n.office.street else ""), "x"),
        f"{WHAT}the item has no office.street (it may be None), {ADVICE}",
    ),
    (
        "several",
        lambda u: u.remove(F(Note, lambda n: n.prices["a"])).set(F(Note, lambda n: n.office.city), "x"),
        (
            f"{WHAT}the item has not all of prices, office, and nothing can be changed inside of what is not there: "
            f"set that as a whole first"
        ),
    ),
]


@pytest.mark.parametrize(("step", "text"), [each[1:] for each in PARENTS], ids=[each[0] for each in PARENTS])
def test_a_missing_parent_is_named_with_what_to_do(step: Step, text: str) -> None:
    driven = drive(step(note())._plan(), INVALID_PATH)
    error = driven.error
    assert isinstance(error, ServiceError)
    assert str(error) == text
    assert error.code == "ValidationException"
    assert error.message == "The document path provided in the update expression is invalid for update"


def test_a_difference_names_the_parent_that_went_missing() -> None:
    before = Note("n", "t", home=Address("x"))
    update = store_of(Notes).of(Note).update(before).to(evolve(before, home=Address("y")))
    driven = drive(update._plan(), INVALID_PATH)
    assert str(driven.error) == f"{WHAT}the item has no home, {ADVICE}"


def test_other_refusals_of_the_service_stay_as_they_are() -> None:
    refused = answered("ValidationException", "An operand in the update expression has an incorrect data type")
    driven = drive(note().set(F(Note, lambda n: n.office.city), "x")._plan(), refused)
    assert str(driven.error) == (
        f"{WHAT}ValidationException: An operand in the update expression has an incorrect data type"
    )
    driven = drive(note().set(F(Note.title), "x")._plan(), INVALID_PATH)
    assert "ValidationException: The document path" in str(driven.error)


@pytest.mark.parametrize(
    ("item", "step", "missing"),
    [
        (Doc("d", revision=7), lambda u: u.set(F(Doc, lambda d: d.home.city if d.home else ""), "x"), "home"),
        (Doc("d", revision=7), lambda u: u.set(F(Doc, lambda d: d.labels["a"].city), "x"), "labels.a"),
        (Doc("d", revision=7), lambda u: u.set(F(Doc, lambda d: d.lines[0].city), "x"), "lines.0"),
        (
            Doc("d", Address("x"), revision=7),
            lambda u: u.remove(F(Doc, lambda d: d.home.street.name if d.home and d.home.street else "")),
            "home.street",
        ),
    ],
)
def test_a_parent_that_the_item_read_lacks_is_refused_before_it_is_sent(item: Doc, step: Step, missing: str) -> None:
    with pytest.raises(RequestError) as caught:
        step(store_of(Notes).of(Doc).update(item))
    assert str(caught.value) == (
        f"update of Doc id='d': the item that was read has no {missing}, and nothing can be changed inside of what is "
        f"not there: set it as a whole"
    )


def test_a_parent_that_the_item_read_has_is_changed_inside() -> None:
    doc = Doc("d", labels={"a": Address("x")}, lines=[Address("x")], revision=7)
    update = store_of(Notes).of(Doc).update(doc)
    params = update.set(F(Doc, lambda d: d.labels["a"].city), "y").set(F(Doc, lambda d: d.lines[0].city), "y").params()
    assert shown(params).startswith("SET <labels>.<a>.<city> = <{'S': 'y'}>, <lines>[0].<city> = <{'S': 'y'}>")
