"""Updates and conditions on servers: defaults are for new items, siblings stay, and what is missing equals nothing."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any

import attrs
import pytest

from dynamap import (
    Applied,
    Attribute,
    Condition,
    EpochSeconds,
    F,
    ItemNotFound,
    Refused,
    Repository,
    ServiceError,
    Store,
    Table,
    entity,
    evolve,
)
from tests.backends import Backend
from tests.modes import Mode, RawTable


@attrs.frozen
class Street:
    name: str = ""
    number: int | None = None


@attrs.frozen
class Address:
    city: str
    street: Street = Street()
    note: str | None = None


@entity("PERSON", pk="PERSON#{id}", sk="PERSON")
class Person:
    id: str
    name: str = "nobody"
    tags: list[str] = attrs.field(factory=lambda: ["new"])
    score: int = 100
    roles: set[str] = attrs.field(factory=set[str])
    limits: dict[str, Decimal] = attrs.field(factory=lambda: {"eur": Decimal(5)})
    greeting: str | None = "hello"
    home: Address | None = None
    office: Address = Address("here")
    created: int = attrs.field(factory=lambda: 7)
    seconds: Annotated[int, EpochSeconds(), Attribute("at")] = 0


KEY = ("PERSON#p", "PERSON")
OLD = {"_type": {"S": "PERSON"}, "id": {"S": "p"}, "newer": {"S": "kept"}}


@pytest.fixture
def store(mode: Mode, backend: Backend, raw: RawTable) -> Store[Any]:
    return mode.connect(Table(raw.name, [Person]), backend)


@pytest.fixture
def people(store: Store[Any]) -> Repository[Any, Person]:
    return store.of(Person)


def stored(raw: RawTable) -> dict[str, Any] | None:
    item = raw.get(*KEY)
    return None if item is None else {name: wire for name, wire in item.items() if name not in ("pk", "sk", "_w")}


# ---- defaults


WRITES: list[Callable[[Any], Any]] = [
    lambda people: people.update(id="p").set(F(Person.name), "x"),
    lambda people: people.update(id="p").set_fields({"name": "x"}),
    lambda people: people.update(id="p").set_if_missing(F(Person.name), "x"),
    lambda people: people.update(Person("p")).to(Person("p", "x")),
    lambda people: people.update(Person("p")).set(F(Person.name), "x"),
]


def test_an_update_writes_no_defaults(people: Repository[Any, Person], mode: Mode, raw: RawTable) -> None:
    for write in WRITES:
        raw.put(*KEY, **OLD)
        assert mode.wait(write(people).send()) == Person("p", "x")
        assert stored(raw) == {**OLD, "name": {"S": "x"}}


def test_values_that_differ_from_their_defaults_survive_updates(people: Repository[Any, Person], mode: Mode) -> None:
    person = Person("p", "n", [], 0, {"x"}, {}, None, Address("Ulm"), Address("Bonn"), 1, 9)
    mode.wait(people.put(person).send())
    for update in (
        people.update(id="p").set(F(Person.name), "x"),
        people.upsert(id="p").set(F(Person.name), "x"),
        people.update(person).to(evolve(person, name="x")),
    ):
        assert mode.wait(update.send()) == evolve(person, name="x")
    assert mode.wait(people.get(id="p").strongly_consistent().send()) == evolve(person, name="x")


def test_an_upsert_writes_defaults_when_it_creates_and_only_then(
    people: Repository[Any, Person], mode: Mode, raw: RawTable
) -> None:
    upsert = people.upsert(id="p").set(F(Person.name), "x")
    assert mode.wait(upsert.send()) == Person("p", "x")
    item = stored(raw)
    assert item is not None
    assert (item["created"], item["tags"], item["greeting"]) == ({"N": "7"}, {"L": [{"S": "new"}]}, {"S": "hello"})
    raw.update(*KEY, "SET created = :one, tags = :none", one={"N": "1"}, none={"L": []})
    assert mode.wait(upsert.send()) == Person("p", "x", [], created=1)


# ---- ghosts


STEPS: list[Callable[[Any], Any]] = [
    lambda update: update.set(F(Person.name), "x"),
    lambda update: update.add(F(Person.score), 1),
    lambda update: update.add(F(Person.roles), "x"),
    lambda update: update.append(F(Person.tags), "x"),
    lambda update: update.remove(F(Person.greeting)),
    lambda update: update.set_if_missing(F(Person.name), "x"),
    lambda update: update.set(F(Person.name), "x").if_(F(Person.name).not_exists()),
    lambda update: update.set_fields({"name": "x"}),
]


def test_no_update_creates_an_item(people: Repository[Any, Person], mode: Mode, raw: RawTable) -> None:
    for step in STEPS:
        for update in (people.update(id="p"), people.update(Person("p"))):
            with pytest.raises(ItemNotFound) as caught:
                mode.wait(step(update).send())
            assert str(caught.value) == "update of Person id='p': there is no such item; nothing was written"
            assert caught.value.key == {"id": "p"}
            assert stored(raw) is None


# ---- nested


CITY = F(Person, lambda p: p.home.city if p.home else "")
STREET = F(Person, lambda p: p.home.street.name if p.home else "")


def test_a_nested_change_keeps_its_siblings(people: Repository[Any, Person], mode: Mode, raw: RawTable) -> None:
    person = Person("p", home=Address("Ulm", Street("Hof", 1), "x"), office=Address("Bonn", Street("Weg", 2)))
    changes: list[tuple[Any, Person]] = [
        (people.update(id="p").set(CITY, "Jena"), evolve(person, home=Address("Jena", Street("Hof", 1), "x"))),
        (people.update(id="p").set(STREET, "Tor"), evolve(person, home=Address("Ulm", Street("Tor", 1), "x"))),
        (
            people.update(person).to(evolve(person, home=Address("Ulm", Street("Hof", 1)))),
            evolve(person, home=Address("Ulm", Street("Hof", 1))),
        ),
        (
            people.update(id="p").remove(F(Person, lambda p: p.limits["eur"])),
            evolve(person, limits={}),
        ),
        (people.update(id="p").set(F(Person.limits), {}), evolve(person, limits={})),
        (people.update(person).to(evolve(person, limits={})), evolve(person, limits={})),
    ]
    for update, expected in changes:
        mode.wait(people.put(person).send())
        raw.update(*KEY, "SET home.newer = :x, office.street.newer = :x", x={"S": "x"})
        assert mode.wait(update.send()) == expected
        assert mode.wait(people.get(id="p").strongly_consistent().send()) == expected
        item = raw.get(*KEY)
        assert item is not None
        assert item["home"]["M"]["newer"] == item["office"]["M"]["street"]["M"]["newer"] == {"S": "x"}
        assert item["limits"] == {"M": {"eur": {"N": "5"}} if expected.limits else {}}


PARENTS: list[tuple[Callable[[Any], Any], str]] = [
    (lambda update: update.set(CITY, "x"), "home (it may be None)"),
    (lambda update: update.set(STREET, "x"), "home (it may be None)"),
    (lambda update: update.set(F(Person, lambda p: p.office.street.name), "x"), "office.street"),
    (lambda update: update.set(F(Person, lambda p: p.limits["usd"]), Decimal(1)), "limits"),
]


def test_a_parent_that_is_missing_is_named(people: Repository[Any, Person], mode: Mode, raw: RawTable) -> None:
    raw.put(*KEY, **OLD)
    for step, parent in PARENTS:
        with pytest.raises(ServiceError) as caught:
            mode.wait(step(people.update(id="p")).send())
        assert str(caught.value) == (
            f"update of Person id='p': the item has no {parent}, and nothing can be changed inside of what is not "
            "there: set it as a whole first"
        )
        assert stored(raw) == OLD


# ---- conditions

MISSING: list[tuple[str, Condition, bool]] = [
    ("<> of nothing", F(Person.name).ne("x"), True),
    ("<> of nothing stored inside", F(Person, lambda p: p.office.city).ne("x"), True),
    ("<> of a number", F(Person.score).ne(5), True),
    ("<> of two missing ones", F(Person.name).ne(F(Person.greeting)), True),
    ("= of two missing ones", F(Person.name).eq(F(Person.greeting)), False),
    ("= of nothing", F(Person.name).eq("x"), False),
    ("not =", ~F(Person.name).eq("x"), True),
    ("not = of two missing ones", ~F(Person.name).eq(F(Person.greeting)), True),
    ("< of nothing", F(Person.score).lt(5), False),
    (">= of nothing", F(Person.score).ge(5), False),
    ("between of nothing", F(Person.score).between(0, 5), False),
    ("in of nothing", F(Person.score).is_in(0, 5), False),
    ("not in of nothing", ~F(Person.score).is_in(0, 5), True),
    ("contains of nothing", F(Person.tags).contains("x"), False),
    ("not_exists_or_lt", F(Person.score).not_exists_or_lt(5), True),
]
# Where a server is known to be wrong: on AWS nothing is equal to nothing, not even to another nothing.
TWO_MISSING = ("<> of two missing ones", "= of two missing ones", "not = of two missing ones")
WRONG = {"embedded": TWO_MISSING, "ministack": TWO_MISSING, "dynalite": TWO_MISSING}


def test_what_is_missing_equals_nothing(
    people: Repository[Any, Person], mode: Mode, raw: RawTable, backend: Backend
) -> None:
    differ = []
    for name, condition, verdict in MISSING:
        raw.delete(*KEY)
        put = mode.wait(people.put(Person("p")).if_(condition).try_send())
        if isinstance(put, Applied) is not verdict:
            differ.append(name)
        assert (stored(raw) is None) is isinstance(put, Refused)
    assert tuple(differ) == WRONG.get(backend.name, ())


def test_sets_are_equal_in_any_order_and_by_value(mode: Mode, backend: Backend, raw: RawTable) -> None:
    @attrs.frozen
    class Inner:
        codes: frozenset[Decimal]
        tags: frozenset[str]

    @entity("BAG", pk="BAG#{id}", sk="BAG")
    class Bag:
        id: str
        tags: set[str] = attrs.field(factory=set[str])
        codes: set[Decimal] = attrs.field(factory=set[Decimal])
        inner: Inner | None = None
        count: int = 0

    bags = mode.connect(Table(raw.name, [Bag]), backend).of(Bag)
    tags, codes = F(Bag, lambda b: b.tags), F(Bag, lambda b: b.codes)
    mode.wait(
        bags.put(Bag("b", {"b"}, {Decimal("2.50")}, Inner(frozenset({Decimal(1), Decimal(2)}), frozenset("ba")))).send()
    )
    mode.wait(bags.update(id="b").add(tags, "a", "c").add(codes, Decimal(1), Decimal(10)).send())
    deep_codes = F(Bag, lambda b: b.inner.codes if b.inner else frozenset())
    deep_tags = F(Bag, lambda b: b.inner.tags if b.inner else frozenset())
    equal = [
        tags.eq({"c", "b", "a"}),
        codes.eq({Decimal("10.0"), Decimal("1.00"), Decimal("2.5")}),
        tags.is_in({"x"}, {"a", "b", "c"}),
        deep_codes.eq(frozenset({Decimal("2.0"), Decimal("1.0")})),
        deep_tags.eq(frozenset({"a", "b"})),
        codes.contains(Decimal("1.0")),
    ]
    for number, condition in enumerate(equal, 1):
        update = bags.update(id="b").add(F(Bag, lambda b: b.count), 1)
        assert mode.wait(update.if_(condition).send()).count == number
        assert isinstance(mode.wait(update.if_(~condition).try_send()), Refused)
    for condition in (
        tags.eq({"a", "b"}),
        tags.eq({"a", "b", "c", "d"}),
        codes.ne({Decimal(1), Decimal(10), Decimal("2.5")}),
    ):
        assert isinstance(
            mode.wait(bags.update(id="b").add(F(Bag, lambda b: b.count), 1).if_(condition).try_send()), Refused
        )
