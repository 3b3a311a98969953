"""Table: its options, what it says about classes that cannot be together, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import pytest

from dynamap import Key, ModelError, RequestError, Table, camel_case, entity, mapped
from dynamap.errors import KeyValueError

T = TypeVar("T")


@entity("A", pk="A#{id}", sk="A")
class A:
    id: str
    first_name: str = ""


@entity("B", pk="B#{id}", sk="B")
class B:
    id: str


@entity("A", pk="C#{id}", sk="C")
class SameName:
    id: str


@entity("C", pk="C2#{id}", sk="C", aliases=("A",))
class SameAlias:
    id: str


@entity("LIKE-A", pk="A#{id}", sk="A")
class LikeA:
    id: str


@entity("FREE", pk="{id:raw}", sk="A")
class Free:
    id: str


@entity("FIXED", pk="FIXED", sk="A")
class Fixed:
    id: str


@entity("LONE", pk="LONE#{id}")
class Lone:
    id: str


@entity(abstract=True)
class Base:
    id: str


class Plain:
    pass


@mapped("M", pk="M#{id}", sk="M")
@dataclass
class Mapped:
    id: str


@entity("BOX", pk="BOX#{id}", sk="BOX")
class Box(Generic[T]):
    id: str
    value: T


def anything(value: Any) -> Any:
    """The same, hidden from the type checkers."""
    return value


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "version_start": (
        lambda: Table("table", [A], version_start=0),
        "Table 'table': version_start must be at least 1, because 0 means a new item",
    ),
    "two names alike": (
        lambda: Table("table", [A], sk="pk"),
        "Table 'table': pk, sk, discriminator, write_id and ttl need names of their own; got pk, pk, _type, _w",
    ),
    "write id as discriminator": (
        lambda: Table("table", [A], discriminator="x", write_id="x"),
        "Table 'table': pk, sk, discriminator, write_id and ttl need names of their own; got pk, sk, x, x",
    ),
    "a class by itself": (
        lambda: Table("table", anything(A)),
        "Table 'table' takes its classes in a list: write Table('table', [A])",
    ),
    "a generic class by itself": (
        lambda: Table("table", anything(Box[int])),
        "Table 'table' takes its classes in a list: write Table('table', [Box[int]])",
    ),
    "an instance": (
        lambda: Table("table", anything(A("a", "x"))),
        "Table 'table' takes its classes in a list, such as [Book]; got A",
    ),
    "a name in the place of the classes": (
        lambda: Table("table", anything("A")),
        "Table 'table' takes its classes in a list, such as [Book]; got str",
    ),
    "a set of classes": (
        lambda: Table("table", anything({A})),
        "Table 'table' takes its classes in a list, such as [Book]; got set",
    ),
    "a frozen set of classes": (
        lambda: Table("table", anything(frozenset([A]))),
        "Table 'table' takes its classes in a list, such as [Book]; got frozenset",
    ),
    "a dict of classes": (
        lambda: Table("table", anything({A: 1})),
        "Table 'table' takes its classes in a list, such as [Book]; got dict",
    ),
    "classes in the place of the name": (
        lambda: Table(anything([A]), anything("table")),
        "a Table has a name and then a list of classes, such as Table('books', [Book]); got list for the name",
    ),
    "no entity": (
        lambda: Table("table", [Plain]),
        "Plain is no entity, so it cannot be in Table 'table': decorate it with @entity or @mapped",
    ),
    "an abstract one": (
        lambda: Table("table", [Base]),
        "Base is abstract, so it cannot be in Table 'table': decorate it with @entity or @mapped",
    ),
    "twice": (lambda: Table("table", [A, A]), "A stands twice in Table 'table'"),
    "one name": (
        lambda: Table("table", [A, SameName]),
        "Table 'table': A and SameName are both called 'A': give one another name",
    ),
    "a name and an alias": (
        lambda: Table("table", [A, SameAlias]),
        "Table 'table': A and SameAlias are both called 'A': give one another name",
    ),
    "one key": (
        lambda: Table("table", [A, LikeA]),
        (
            "Table 'table': keys of A ('A#{id}', 'A') and LikeA ('A#{id}', 'A') can be the same: begin one with "
            "another "
            "literal, or permit it with overlap=[(A, LikeA)]"
        ),
    ),
    "a subclass by inheritance": (
        lambda: Table("table", [type("Sub", (A,), {})]),
        "Sub is no entity, so it cannot be in Table 'table': decorate it with @entity or @mapped",
    ),
}


@pytest.mark.parametrize(("make", "message"), WRONG.values(), ids=WRONG)
def test_what_cannot_work_is_said_when_the_table_is_made(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ModelError) as caught:
        make()
    assert str(caught.value) == message


def test_overlap_permits_one_key_for_two_classes() -> None:
    for pair in ((A, LikeA), (LikeA, A)):
        table = Table("table", [A, LikeA], overlap=[pair])
        assert table.entity(A).key({"id": "1"}) == table.entity(LikeA).key({"id": "1"})


def test_a_value_that_would_be_anothers_key_is_refused_when_it_is_made() -> None:
    table = Table("table", [Fixed, Free])
    assert table.entity(Free).key({"id": "ELSE"})["pk"] == {"S": "ELSE"}
    with pytest.raises(KeyValueError, match=r"Free\.id"):
        table.entity(Free).key({"id": "FIXED"})
    permitting = Table("table", [Fixed, Free], overlap=[(Fixed, Free)])
    assert permitting.entity(Free).key({"id": "FIXED"})["pk"] == {"S": "FIXED"}


def test_a_table_without_sort_key() -> None:
    table = Table("table", [Lone], sk=None)
    assert table.entity(Lone).key({"id": "1"}) == {"pk": {"S": "LONE#1"}}
    assert table.layout.sk is None


def test_keys_may_be_named_by_text_or_key() -> None:
    for pk in ("customer-id", Key("customer-id")):
        assert list(Table("table", [A], pk=pk).entity(A).key({"id": "1"})) == ["customer-id", "sk"]


def test_names_make_attribute_names() -> None:
    table = Table("table", [A], names=camel_case)
    assert "firstName" in table.entity(A).encode(A("1", "x"))


@pytest.mark.parametrize(
    ("name", "attribute"),
    [("a", "a"), ("order_lines", "orderLines"), ("a_b_c", "aBC"), ("x1_y2", "x1Y2"), ("alreadyCamel", "alreadyCamel")],
)
def test_camel_case(name: str, attribute: str) -> None:
    assert camel_case(name) == attribute


@pytest.mark.parametrize("name", ["_private", "trailing_", "a__b"])
def test_camel_case_keeps_fields_apart_that_differ_in_underscores(name: str) -> None:
    # what would be stored under one attribute is found when the table is made; nothing becomes empty
    assert camel_case(name)


def test_names_that_collide_are_found() -> None:
    @entity("X", pk="X#{id}", sk="X")
    class X:
        id: str
        a_b: int = 0
        aB: int = 0  # noqa: N815 - the collision that is tested

    with pytest.raises(ModelError, match="aB"):
        Table("table", [X], names=camel_case)


def test_a_class_of_another_table_is_refused() -> None:
    table = Table("table", [A])
    with pytest.raises(RequestError) as caught:
        table.entity(B)
    assert str(caught.value) == "B is not in Table 'table': add it to the table's entities"
    unchecked: Any = "A"
    with pytest.raises(RequestError, match="a class of Table 'table' is wanted; got an instance of str"):
        table.entity(unchecked)


def test_one_class_may_be_in_two_tables() -> None:
    one, two = Table("one", [A]), Table("two", [A], pk="k")
    assert list(one.entity(A).key({"id": "1"})) == ["pk", "sk"]
    assert list(two.entity(A).key({"id": "1"})) == ["k", "sk"]


def test_a_table_shows_what_it_holds() -> None:
    assert repr(Table("table", [A, Mapped])) == "Table('table', [A, Mapped])"


def test_items_say_what_they_are() -> None:
    table = Table("table", [A, Mapped])
    for cls, name in ((A, "A"), (Mapped, "M")):
        instance = cls("1")
        item = table.entity(cls).encode(instance)
        assert item["_type"] == {"S": name}
        assert table.entity(cls).decode(item) == instance


def test_an_alias_is_read_and_the_name_is_written() -> None:
    @entity("NEW", pk="N#{id}", sk="N", aliases=("OLD", "OLDER"))
    class Renamed:
        id: str

    entity_ = Table("table", [Renamed]).entity(Renamed)
    item = entity_.encode(Renamed("1"))
    assert item["_type"] == {"S": "NEW"}
    for name in ("OLD", "OLDER"):
        assert entity_.decode({**item, "_type": {"S": name}}) == Renamed("1")


def test_versions_read_as_they_are_stored_and_minus_one_where_there_is_none() -> None:
    @entity("V", pk="V#{id}", sk="V", version="v")
    class Versioned:
        id: str
        v: int = 0

    described = Table("table", [Versioned]).entity(Versioned)
    item = described.encode(Versioned("1"))
    without = {name: wire for name, wire in item.items() if name != "v"}
    assert described.decode({**without, "v": {"N": "3"}}).v == 3
    assert described.decode(without).v == -1
    assert described.decode({**without, "v": {"N": "0"}}).v == -1
