"""What cannot work is refused where it is declared: which words say so."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest

from dynamap import (
    EpochMillis,
    F,
    GlobalIndex,
    Index,
    Key,
    LocalIndex,
    ModelError,
    Table,
    entity,
    mapped,
)


@mapped("LINE", pk="{id}")
@dataclass(frozen=True)
class Line:
    id: str
    note: str | None = None


def order(**options: Any) -> type[Any]:
    """A class to be in tables; each has its own."""

    @entity("ORDER", **options)
    class Order:
        __qualname__ = "Order"
        id: str
        status: str = "open"
        total: Decimal = Decimal(0)
        paid: bool = False
        at: datetime | None = None
        revision: int = 0

    return Order


def two() -> list[type[Any]]:
    @entity("USER", pk="U#{id}", sk="U")
    class User:
        id: str

    return [order(pk="ORDER#{id}", sk="ORDER"), User]


def sharing(kind: Any, sk: str) -> Table:
    """Two classes with one partition key: the sort key is a field of one, a template of the other."""
    first = entity("A")(type("A", (), {"__annotations__": {"id": str, "kind": kind}}))

    @entity("B", sk=sk)
    class B:
        __qualname__ = "B"
        id: str

    return Table("t", [first, B], pk="id", sk="kind")


Orders = {"pk": "ORDER#{id}", "sk": "ORDER"}
REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: Key(""), "Key(''): the name of a key attribute has 1 to 255 bytes"),
    (lambda: Key("x", float), "Key('x', <class 'float'>): a key attribute holds str, int (any number) or bytes"),  # type: ignore[arg-type]
    (
        lambda: Table("t", [order()]),
        (
            "Order has no pk template, and no field that is stored as 'pk': write pk=\"ABC#{id}\", or give "
            "the field that it "
            "is Annotated[..., Attribute('pk')]"
        ),
    ),
    (
        lambda: Table("t", [order(pk="ORDER#{id}")]),
        (
            "Order has no sk template, and no field that is stored as 'sk': write sk=\"ABC#{id}\", or give "
            "the field that it "
            "is Annotated[..., Attribute('sk')]"
        ),
    ),
    (
        lambda: Table("t", [order(pk="ORDER#{id}")], sk=Key("no", int)),
        (
            "Order has no sk template, and no field that is stored as 'no': write sk=\"{number}\", or give "
            "the field that it "
            "is Annotated[..., Attribute('no')]"
        ),
    ),
    (
        lambda: Table("t", [order()], pk="total", sk=None),
        (
            "Order.total cannot be the key attribute 'total': that holds str (S), but Decimal is stored as N: declare "
            "Key('total', int), or give the field another type"
        ),
    ),
    (
        lambda: Table("t", [order()], pk="paid", sk=None),
        (
            "Order.paid cannot be the key attribute 'paid': that holds str (S), but bool is stored as BOOL: "
            "give the field "
            "another type, or the key another field"
        ),
    ),
    (
        lambda: Table("t", [order(pk="O#{id}", sk="{id}")], sk=Key("no", int)),
        (
            "Order.id cannot be the key attribute 'no': that holds int (N), but str is stored as S: declare "
            "Key('no', str), "
            "or give the field another type"
        ),
    ),
    (
        lambda: Table("t", [order(pk="O#{id}", sk="N#{total:09.2}")], sk=Key("no", int)),
        (
            "Order: the sk template 'N#{total:09.2}' must be one field in braces and nothing else, because "
            "the attribute "
            "'no' holds int"
        ),
    ),
    (
        lambda: Table("t", [order(pk="O#{id}")], pk="id", sk=None),
        (
            "Order.id is stored as 'id', where its pk template is to be stored too: leave out the template "
            "to make the field "
            'the key, or give the field another name with Attribute("...")'
        ),
    ),
    (
        lambda: Table("t", [order(version="revision")], pk=Key("revision", int), sk=None),
        "Order.revision is the version and part of a key, but a key never changes: use another field",
    ),
    (
        lambda: sharing(str, "b"),
        (
            "Table 't': keys of A ('{id}', '{kind}') and B ('{id}', 'b') can be the same: begin one with "
            "another literal, or "
            "permit it with overlap=[(A, B)]"
        ),
    ),
    # discriminators
    (
        lambda: Table("t", two(), discriminator=None),
        (
            "Table 't' has no discriminator, so nothing tells its items apart: let it hold one class, or "
            "name a discriminator "
            "and say with untyped= which class the items without one are"
        ),
    ),
    (
        lambda: Table("t", two(), untyped=int),
        "Table 't': untyped=int is none of its entities: add it to them",
    ),
    # TTL
    (
        lambda: order(**Orders, ttl="nope"),
        (
            "Order: ttl='nope' names no field; its fields are id, status, total, paid, at, revision: add "
            "`nope: datetime | None = None`"
        ),
    ),
    (
        lambda: Table("t", [order(**Orders, ttl="at")]),
        "Order has the TTL 'at', but Table 't' has no TTL attribute: write Table(..., ttl=\"ttl\")",
    ),
    (
        lambda: Table("t", [order(**Orders, ttl="status")], ttl="ttl"),
        (
            "Order.status is the TTL, so it must be a datetime or an int of seconds since 1970, or an "
            "Optional of one: write "
            "`status: datetime | None = None`"
        ),
    ),
    (
        lambda: Table("t", [order(**Orders)], ttl="at"),
        (
            "Order.at is stored as 'at', which the table uses for itself: give the field another name with "
            "Annotated[..., "
            'Attribute("...")], or the table other names'
        ),
    ),
    (
        lambda: Table("t", [order(**Orders, ttl="at")], ttl="status"),
        (
            "Order.status is stored as 'status', which the table uses for itself: give the field another name with "
            'Annotated[..., Attribute("...")], or the table other names'
        ),
    ),
    (
        lambda: Table("t", [order(**Orders, ttl="revision", version="revision")], ttl="ttl"),
        "Order.revision is the version and the TTL: use two fields",
    ),
    (
        lambda: Table("t", [order(pk="O#{id}", sk="{at}", ttl="at")], ttl="ttl"),
        "Order.at is the TTL and part of a key, but a key never changes: use another field",
    ),
    # indexes of a table
    (
        lambda: Table("t", [order(**Orders)], indexes=[GlobalIndex("x")]),
        "Table 't': index 'x': the name of an index has 3 to 255 letters, digits, dots, dashes and underscores",
    ),
    (
        lambda: Table("t", [order(**Orders)], indexes=[GlobalIndex("gsi"), LocalIndex("gsi")]),
        "Table 't': index 'gsi' stands there twice: give one another name",
    ),
    (
        lambda: Table("t", [order(pk="O#{id}")], sk=None, indexes=[LocalIndex("lsi")]),
        "Table 't': index 'lsi': a local index needs a table with a sort key: use GlobalIndex",
    ),
    (
        lambda: Table("t", [order(**Orders)], indexes=[GlobalIndex("gsi", pk=())]),
        "Table 't': index 'gsi' needs a partition key",
    ),
    (
        lambda: Table("t", [order(**Orders)], indexes=[GlobalIndex("gsi", pk=("a", "b", "c", "d", "e"))]),
        "Table 't': index 'gsi': a partition key has up to 4 attributes; got 5",
    ),
    (
        lambda: Table("t", [order(**Orders)], indexes=[GlobalIndex("gsi", sk=("a", "b", "c", "d", "e"))]),
        "Table 't': index 'gsi': a sort key has up to 4 attributes; got 5",
    ),
    (
        lambda: Table("t", [order(**Orders)], indexes=[GlobalIndex("gsi", pk="a", sk=("b", "a"))]),
        "Table 't': index 'gsi': one attribute stands twice among its keys, a, b, a",
    ),
    (
        lambda: Table(
            "t", [order(**Orders)], indexes=[GlobalIndex("gsi1", pk="a"), GlobalIndex("gsi2", pk=Key("a", int))]
        ),
        (
            "Table 't': index 'gsi2': the attribute 'a' has the type str elsewhere, and int here: an "
            "attribute has one type"
        ),
    ),
    (
        lambda: Table("t", [order(**Orders)], indexes=[LocalIndex(f"lsi{number}") for number in range(6)]),
        "Table 't' has more than 5 local indexes, which DynamoDB does not take: use GlobalIndex",
    ),
    (
        lambda: Table("t", [order(**Orders)], indexes=[GlobalIndex("gsi", pk="_w")]),
        "Table 't': index 'gsi' has the key attribute '_w', which dynamap uses for itself: use another attribute",
    ),
    (
        lambda: Table("t", [order(**Orders)], indexes=[GlobalIndex("gsi", sk=Key("_type", int))]),
        "Table 't': index 'gsi' has the key attribute '_type', which holds S: declare Key('_type', str)",
    ),
    (
        lambda: Table("t", [order(**Orders)], indexes=[GlobalIndex("gsi", projection="KEYS_ONLY")]),
        (
            "Table 't': index 'gsi' does not project '_type', without which its items cannot be read: write "
            "projection=['_type']"
        ),
    ),
    (
        lambda: Table("t", [order(**Orders, ttl="at")], ttl="ttl", indexes=[GlobalIndex("gsi", projection=["status"])]),
        (
            "Table 't': index 'gsi' does not project '_type' and 'ttl', without which its items cannot be read: write "
            "projection=['status', '_type', 'ttl']"
        ),
    ),
    (
        lambda: Table("t", [order(**Orders)], indexes=[GlobalIndex("gsi", projection=["_type", "sttus"])]),
        (
            "Table 't': index 'gsi' projects 'sttus', which is stored by none of its classes: correct the "
            "name, or leave it "
            "out"
        ),
    ),
    (
        lambda: Table(
            "t", [order(**Orders)], names=str.upper, indexes=[GlobalIndex("gsi", projection=["_type", "status"])]
        ),
        "Table 't': index 'gsi' projects 'status', which is the field that is stored as 'STATUS': name that",
    ),
    (
        lambda: Table("t", [order(**Orders)], indexes=[GlobalIndex("gsi", projection="SOME")]),
        "Table 't': index 'gsi': projection is \"ALL\", \"KEYS_ONLY\" or a list of attribute names; got 'SOME'",
    ),
    # indexes of an entity
    (
        lambda: Table("t", [order(**Orders, indexes=[Index("gsi2", pk="{status}")])], indexes=[GlobalIndex("gsi1")]),
        (
            "Order maps onto the index 'gsi2', but Table 't' has no such index; its indexes are gsi1: add "
            "GlobalIndex('gsi2') "
            "to indexes="
        ),
    ),
    (
        lambda: Table(
            "t",
            [order(**Orders, indexes=[Index("gsi", pk="{status}", sk="{id}"), Index("gsi", pk="{id}", sk="{id}")])],
            indexes=[GlobalIndex("gsi")],
        ),
        "Order maps onto the index 'gsi' twice: leave one out",
    ),
    (
        lambda: Table("t", [order(**Orders, indexes=[Index("gsi", pk="{status}")])], indexes=[GlobalIndex("gsi")]),
        (
            "Order has no gsi sk template, and no field that is stored as 'gsisk': write sk=\"ABC#{id}\", or "
            "give the field "
            "that it is Annotated[..., Attribute('gsisk')]"
        ),
    ),
    (
        lambda: Table(
            "t",
            [order(**Orders, indexes=[Index("gsi", pk="{status}", sk="{id}")])],
            indexes=[GlobalIndex("gsi", pk=("a", "b"))],
        ),
        "Order: index 'gsi': its partition key has 2 attributes (a, b), but 1 templates: give one for each",
    ),
    (
        lambda: Table(
            "t",
            [order(**Orders, indexes=[Index("gsi", pk="{status}", sk="{id}")])],
            indexes=[GlobalIndex("gsi", sk=())],
        ),
        "Order: index 'gsi': its sort key has 0 attributes (none), but 1 templates: give one for each",
    ),
    (
        lambda: Table(
            "t", [order(**Orders, indexes=[Index("lsi", pk="{id}", sk="{id}")])], indexes=[LocalIndex("lsi")]
        ),
        "Order: index 'lsi' is local, so its partition key is that of the table: leave out pk=",
    ),
    (
        lambda: order(**Orders, indexes=[Index("gsi", pk="{stat}")]),
        (
            "Order: the gsi pk template '{stat}' names 'stat', which is no field: the fields are id, "
            "status, total, paid, at, "
            "revision"
        ),
    ),
    (
        lambda: Table(
            "t",
            [order(**Orders, indexes=[Index("gsi", pk="S#{id}")])],
            indexes=[GlobalIndex("gsi", pk="status", sk=())],
        ),
        (
            "Order.status is stored as 'status', where its gsi pk template is to be stored too: leave out "
            "the template to "
            'make the field the key, or give the field another name with Attribute("...")'
        ),
    ),
    (
        lambda: Table(
            "t", [order(**Orders, indexes=[Index("gsi", pk="S#{id}")])], indexes=[GlobalIndex("gsi", pk="sk", sk=())]
        ),
        (
            "Order: the gsi pk attribute 'sk' is the table's own, so that it is stored anyway: leave out the template "
            "'S#{id}'"
        ),
    ),
    (
        lambda: Table("t", [order(**Orders)], indexes=[GlobalIndex("gsi", pk="total")]),
        (
            "Order.total cannot be the key attribute 'total': that holds str (S), but Decimal is stored as N: declare "
            "Key('total', int), or give the field another type"
        ),
    ),
    (
        lambda: Table(
            "t",
            [order(**Orders, version="revision", indexes=[Index("gsi", pk="{revision:09}")])],
            indexes=[GlobalIndex("gsi", sk=())],
        ),
        "Order.revision is the version, which changes with every write, and part of the index 'gsi': use another field",
    ),
    (
        lambda: Table(
            "t",
            [order(**Orders, indexes=[Index("gs1", pk="{status}"), Index("gs2", pk="X#{status}")])],
            indexes=[GlobalIndex("gs1", pk="a", sk=()), GlobalIndex("gs2", pk="a", sk=())],
        ),
        (
            "Order: the indexes 'gs1' and 'gs2' share the attribute 'a', so their templates there and when= "
            "must be the same"
        ),
    ),
    (
        lambda: Table(
            "t",
            [order(**Orders, indexes=[Index("gsi", when=lambda: F(Line, lambda line: line.note).exists())])],
            indexes=[GlobalIndex("gsi", pk="status", sk=())],
        ),
        (
            "Order: index 'gsi': when= leaves items out by leaving out what is written for the index alone, "
            "but all of its "
            "keys are stored anyway: give it a template, or leave out when="
        ),
    ),
    (
        lambda: Table(
            "t",
            [order(**Orders, indexes=[Index("gsi", pk="{id}", when=lambda: F(Line, lambda line: line.note).exists())])],
            indexes=[GlobalIndex("gsi", sk=())],
        ),
        "Order: when= of the index 'gsi' speaks of F(Line: note), a field of Line: use the class's own",
    ),
    (
        lambda: Table(
            "t",
            [order(**Orders, indexes=[Index("gsi", pk="{id}", when=lambda: True)])],  # type: ignore[arg-type, return-value]
            indexes=[GlobalIndex("gsi", sk=())],
        ),
        "Order: index 'gsi': when= is a condition, or a function that answers one; got bool",
    ),
    (
        lambda: entity(indexes=[Index("gsi")], abstract=True)(type("Base", (), {"__annotations__": {"id": str}})),
        "Base is abstract, so it has no items: leave out its name, key templates, ttl and indexes",
    ),
]


@pytest.mark.parametrize(("define", "message"), REFUSED, ids=[message[:60] for _, message in REFUSED])
def test_what_cannot_work_is_refused_at_definition(define: Callable[[], object], message: str) -> None:
    with pytest.raises(ModelError) as error:
        define()
    assert str(error.value) == message


def test_a_field_of_a_choice_is_compared_by_its_texts() -> None:
    assert sharing(Literal["a"], "b").name == "t"
    with pytest.raises(ModelError, match="can be the same"):
        sharing(Literal["a", "b"], "b")


def test_an_optional_field_whose_none_is_stored_cannot_be_the_key_of_an_index() -> None:
    @entity("NULLED", pk="{id}", sk="N")
    class Nulled:
        id: str
        status: str | None = "open"

    with pytest.raises(ModelError) as error:
        Table("t", [Nulled], indexes=[GlobalIndex("gsi", pk="status", sk=())])
    assert str(error.value).endswith(
        "Nulled.status is a key of the index 'gsi', but its None is stored as NULL, which no key may be: "
        "give it the default None"
    )


def test_milliseconds_are_no_ttl() -> None:
    @entity("MILLIS", pk="{id}", sk="M", ttl="at")
    class Millis:
        id: str
        at: Annotated[datetime, EpochMillis()]

    with pytest.raises(ModelError, match=r"Millis\.at is the TTL, so it must be a datetime or an int of seconds"):
        Table("t", [Millis], ttl="ttl")


def test_a_field_of_dataclasses_is_no_default_of_an_attrs_class() -> None:
    class Order:
        id: str
        lines: list[str] = dataclasses.field(default_factory=list)

    with pytest.raises(ModelError) as raised:
        entity("ORDER", pk="ORDER#{id}")(Order)
    assert str(raised.value) == (
        f"{Order.__qualname__}.lines has dataclasses.field(...) as its default, which attrs would take for a value: "
        f"write attrs.field(...), as @entity makes an attrs class"
    )


@pytest.mark.parametrize("default", [[], {}, set()], ids=["list", "dict", "set"])
def test_one_default_of_all_instances_is_refused(default: Any) -> None:
    made = type("Order", (), {"__annotations__": {"id": "str", "lines": "Any"}, "lines": default})
    with pytest.raises(ModelError) as raised:
        entity("ORDER", pk="ORDER#{id}")(made)
    kind = type(default).__name__
    assert str(raised.value) == (
        f"Order.lines has one {kind} as the default of all instances: write attrs.field(factory={kind})"
    )


@pytest.mark.parametrize(("decorator", "name"), [(entity, "@entity"), (mapped, "@mapped")])
def test_a_decorator_without_parentheses_says_what_to_write(decorator: Any, name: str) -> None:
    class Order:
        id: str

    with pytest.raises(ModelError) as raised:
        decorator(Order)
    assert str(raised.value) == (f'{name} takes arguments: write {name}("ORDER", pk="...") above {Order.__qualname__}')
