"""Classes that cannot be entities, and decorators used wrongly: each message, whole."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import attrs
import pydantic
import pytest

from dynamap import ModelError, Table, entity, mapped
from dynamap.codec import Context as CodecContext
from dynamap.codec import class_shape, field_names
from dynamap.codec.fields import class_fields

if TYPE_CHECKING:
    from decimal import Context

T = TypeVar("T")
Either = TypeVar("Either", int, str)


def table(made: type[Any], **options: Any) -> Table:
    """A table of this class alone, which is decorated here."""
    return Table("orders", [mapped("ORDER", pk="ORDER#{id}", sk="ORDER")(made)], **options)


def anything(value: Any) -> Any:
    """The same, hidden from the type checkers."""
    return value


class Plain:
    """No decorator at all."""

    id: str


@dataclasses.dataclass
class Base:
    id: str


class Child(Base):
    """The decorator is missing."""

    extra: int


Untyped = attrs.make_class("Untyped", {"id": attrs.field(type=str), "note": attrs.field(default="")})


@dataclasses.dataclass
class Hidden:
    """What it names is known to type checkers only."""

    id: str
    context: Context


Hidden.__module__ = "shop.orders"


@dataclasses.dataclass
class Tree:
    id: str
    branches: set[Tree]


@pydantic.dataclasses.dataclass(config={"extra": "allow"})
class Open:
    id: str


class Model(pydantic.BaseModel):
    id: str


class Factory:
    """dataclasses.field is not what @entity takes."""

    id: str
    lines: list[str] = dataclasses.field(default_factory=list[str])


@attrs.define
class Box(Generic[T]):
    id: str
    value: T


@attrs.define
class Constrained(Generic[Either]):
    id: str
    value: Either


def broken() -> type[Any]:
    return dataclasses.make_dataclass("Broken", [("id", str), ("count", "int |")])


def shared(default: Any) -> type[Any]:
    return type("Order", (), {"__annotations__": {"id": "str", "lines": "Any"}, "lines": default})


CASES: dict[str, tuple[Callable[[], object], str]] = {
    "adopted without fields": (
        lambda: table(Plain),
        (
            "@mapped adopts a dataclass, an attrs class or what pydantic makes; Plain is neither: put @mapped "
            "above @dataclass, or use @entity"
        ),
    ),
    "a subclass without decorator": (
        lambda: table(Child),
        ("Child.extra is no field, because Child only inherits from Base, which is decorated; decorate Child as well"),
    ),
    "a field without a type": (lambda: table(Untyped), "Untyped.note has no type; annotate it"),
    "a type that only checkers know": (
        lambda: table(Hidden),
        (
            "Hidden.context: the annotation 'Context' names 'Context', which cannot be resolved; define or "
            "import it at the top of shop.orders, outside of TYPE_CHECKING"
        ),
    ),
    "an annotation that is no expression": (
        lambda: table(broken()),
        (
            "Broken.count: the annotation 'int |' cannot be resolved: Forward reference must be an expression "
            "-- got 'int |'; correct it"
        ),
    ),
    "a class in a set of itself": (
        lambda: table(Tree),
        (
            "Tree contains itself where its stored form must be known: as an element of a set, or directly; "
            "put it into a list or a dict"
        ),
    ),
    "a type variable that may be several types": (
        lambda: table(Constrained),
        ("Constrained.value: the type variable ~Either may be several types; say which, as in Box[int]"),
    ),
    "extra values of a pydantic dataclass": (
        lambda: table(Open),
        (
            "Open is a pydantic dataclass with extra='allow', whose extra values would not be stored: give it "
            "a field `rest: Annotated[dict[str, Any], Extras()]` instead, or make it a BaseModel"
        ),
    ),
    "@entity above a pydantic model": (
        lambda: entity("MODEL", pk="MODEL#{id}")(Model),
        ("@entity makes Model an attrs class itself, but pydantic made it; use @mapped(...) above it"),
    ),
    "@entity above a dataclass": (
        lambda: entity("BASE", pk="BASE#{id}")(Base),
        (
            "@entity makes Base an attrs class itself, but it already is an attrs class or a dataclass; use "
            "@mapped(...) above @dataclass or @attrs.define"
        ),
    ),
    "@entity below a dataclass": (
        lambda: entity("CHILD", pk="CHILD#{id}")(Child),
        (
            "Child inherits fields from Base, which @entity did not make: decorate Base with "
            "@entity(abstract=True), or use @mapped on both"
        ),
    ),
    "@entity without parentheses": (
        lambda: anything(entity)(Plain),
        '@entity takes arguments: write @entity("PLAIN", pk="...") above Plain',
    ),
    "@mapped without parentheses": (
        lambda: anything(mapped)(Plain),
        '@mapped takes arguments: write @mapped("PLAIN", pk="...") above Plain',
    ),
    "a default of dataclasses": (
        lambda: entity("FACTORY", pk="FACTORY#{id}")(Factory),
        (
            "Factory.lines has dataclasses.field(...) as its default, which attrs would take for a value: "
            "write attrs.field(...), as @entity makes an attrs class"
        ),
    ),
    "one list for all instances": (
        lambda: entity("ORDER", pk="ORDER#{id}")(shared([])),
        ("Order.lines has one list as the default of all instances: write attrs.field(factory=list)"),
    ),
    "one dict for all instances": (
        lambda: entity("ORDER", pk="ORDER#{id}")(shared({})),
        ("Order.lines has one dict as the default of all instances: write attrs.field(factory=dict)"),
    ),
    "one set for all instances": (
        lambda: entity("ORDER", pk="ORDER#{id}")(shared(set())),
        ("Order.lines has one set as the default of all instances: write attrs.field(factory=set)"),
    ),
    "the fields of what has none": (
        lambda: field_names(int),
        "int is no attrs class, dataclass or pydantic model; make it one",
    ),
    "the shape of what has no fields": (
        lambda: class_shape(int, context=CodecContext()),
        "int is no attrs class, dataclass or pydantic model; make it one",
    ),
    "the default of a field without one": (class_fields(Base)[0].make_default, "the field id has no default"),
    "a table of no class": (
        lambda: Table("orders", [list]),
        ("list is no entity, so it cannot be in Table 'orders': decorate it with @entity or @mapped"),
    ),
    "a table of a plain class": (
        lambda: Table("orders", [Plain]),
        ("Plain is no entity, so it cannot be in Table 'orders': decorate it with @entity or @mapped"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_message_names_the_class_and_what_to_write(name: str) -> None:
    make, message = CASES[name]
    with pytest.raises(ModelError) as raised:
        make()
    assert str(raised.value) == message
