"""@entity and @mapped: what they take, and what they say about declarations that cannot work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NewType

import attrs
import pytest

from dynamap import Attribute, ModelError, Table, entity, mapped
from dynamap.model.declare import declaration_of

Revision = NewType("Revision", int)


def refused(declare: Callable[[], object]) -> str:
    with pytest.raises(ModelError) as caught:
        declare()
    assert type(caught.value) is ModelError
    # local classes are named with the function that holds them
    return str(caught.value).replace("local.<locals>.", "")


def make(*, decorator: Any = entity, fields: dict[str, Any] | None = None, **options: Any) -> type[Any]:
    """A class X with these fields and an id, declared with these options."""

    def local() -> type[Any]:
        body = {"__annotations__": {"id": str, **(fields or {})}, "__qualname__": "X", "__module__": __name__}
        cls = type("X", (), body)
        name = options.pop("name", "X")
        names = () if name is ... else (name,)
        chosen: type[Any] = decorator(*names, **options)(dataclass(cls) if decorator is mapped else cls)
        return chosen

    return local()


DECLARATIONS: dict[str, tuple[Callable[[], object], str]] = {
    "no name": (
        lambda: make(name=..., pk="X#{id}"),
        'X needs a name, which is stored with every item as its discriminator: write @entity("X", ...)',
    ),
    "an empty name": (
        lambda: make(name="", pk="X#{id}"),
        'X needs a name, which is stored with every item as its discriminator: write @entity("X", ...)',
    ),
    "mapped without a name": (
        lambda: make(decorator=mapped, name=..., pk="X#{id}"),
        'X needs a name, which is stored with every item as its discriminator: write @mapped("X", ...)',
    ),
    "a version that is no field": (
        lambda: make(pk="X#{id}", version="revision"),
        "X: version='revision' names no field; its fields are id: add `revision: int = 0`",
    ),
    "a ttl that is no field": (
        lambda: make(pk="X#{id}", ttl="expires"),
        "X: ttl='expires' names no field; its fields are id: add `expires: datetime | None = None`",
    ),
    "an abstract class with a name": (
        lambda: make(name="X", abstract=True),
        "X is abstract, so it has no items: leave out its name, key templates, ttl and indexes",
    ),
    "an abstract class with a key": (
        lambda: make(name=..., pk="X#{id}", abstract=True),
        "X is abstract, so it has no items: leave out its name, key templates, ttl and indexes",
    ),
    "aliases that are one text": (
        lambda: make(pk="X#{id}", aliases="OLD"),
        "aliases='OLD' is one text: write aliases=('OLD',)",
    ),
}


@pytest.mark.parametrize(("declare", "message"), DECLARATIONS.values(), ids=DECLARATIONS)
def test_a_declaration_that_cannot_work_says_why(declare: Callable[[], object], message: str) -> None:
    assert refused(declare) == message


def test_an_unknown_field_in_a_template_is_named_with_the_class() -> None:
    text = refused(lambda: make(pk="X#{ident}"))
    assert text.startswith("X")
    assert "'ident'" in text
    assert "id" in text


def test_entity_refuses_a_class_that_is_made_already() -> None:
    @dataclass
    class Made:
        id: str

    text = refused(lambda: entity("X", pk="X#{id}")(Made))
    assert text.endswith(
        "Made an attrs class itself, but it already is an attrs class or a dataclass; use @mapped(...) above "
        "@dataclass "
        "or @attrs.define"
    )


def test_entity_refuses_fields_that_it_did_not_make() -> None:
    @attrs.define
    class Base:
        id: str

    def declare() -> object:
        @entity("X", pk="X#{id}")
        class Sub(Base):
            n: int = 0

        return Sub

    text = refused(declare)
    assert "inherits fields from" in text
    assert text.endswith("with @entity(abstract=True), or use @mapped on both")


def test_mapped_refuses_a_plain_class() -> None:
    class Plain:
        id: str

    text = refused(lambda: mapped("X", pk="X#{id}")(Plain))
    assert text.endswith("Plain is neither: put @mapped above @dataclass, or use @entity")


def test_a_declaration_is_of_exactly_its_class() -> None:
    @entity(abstract=True)
    class Base:
        id: str

    @entity("SUB", pk="S#{id}", sk="S", aliases=["OLD"])
    class Sub(Base):
        n: int = 0

    class Later(Sub):
        pass

    sub = declaration_of(Sub)
    assert sub is not None
    assert (sub.name, sub.aliases) == ("SUB", ("OLD",))
    base = declaration_of(Base)
    assert base is not None
    assert base.abstract
    assert declaration_of(Later) is None


def test_a_mapped_class_is_left_as_it_was() -> None:
    @dataclass(frozen=True)
    class Thing:
        id: str

    before = dict(vars(Thing))
    assert mapped("THING", pk="T#{id}", sk="T")(Thing) is Thing
    assert dict(vars(Thing)) == before


# ---- what only a table can find


def table_of(cls: type[Any], **options: Any) -> Table:
    return Table("table", [cls], **options)


IN_A_TABLE: dict[str, tuple[Callable[[], object], str]] = {
    "a version that is no int": (
        lambda: table_of(make(pk="X#{id}", sk="X", version="v", fields={"v": str})),
        "X.v is the version, so it must be an int: write `v: int = 0`",
    ),
    "a version that is optional": (
        lambda: table_of(make(pk="X#{id}", sk="X", version="v", fields={"v": int | None})),
        "X.v is the version, so it must be an int: write `v: int = 0`",
    ),
    "a version that is a bool": (
        lambda: table_of(make(pk="X#{id}", sk="X", version="v", fields={"v": bool})),
        "X.v is the version, so it must be an int: write `v: int = 0`",
    ),
    "a version that is part of the key": (
        lambda: table_of(make(pk="X#{id}", sk="X#{v:012}", version="v", fields={"v": int})),
        "X.v is the version and part of a key, but a key never changes: use another field",
    ),
    "a version that is not stored": (
        lambda: table_of(make(pk="X#{id}", sk="X", version="v", fields={"v": Annotated[int, Attribute(stored=False)]})),
        "X.v is the version, so it must be stored: write `v: int = 0`",
    ),
    "a field stored as the partition key": (
        lambda: table_of(make(pk="X#{id}", sk="X", fields={"pk": str})),
        (
            "X.pk is stored as 'pk', where its pk template is to be stored too: leave out the template to make the "
            "field "
            "the "
            'key, or give the field another name with Attribute("...")'
        ),
    ),
    "a field stored as the discriminator": (
        lambda: table_of(make(pk="X#{id}", sk="X", fields={"kind": Annotated[str, Attribute("_type")]})),
        (
            "X.kind is stored as '_type', which the table uses for itself: give the field another name with "
            'Annotated[..., Attribute("...")], or the table other names'
        ),
    ),
    "a field stored as the write id": (
        lambda: table_of(make(pk="X#{id}", sk="X", fields={"_w": str})),
        (
            "X._w is stored as '_w', which the table uses for itself: give the field another name with "
            'Annotated[..., Attribute("...")], or the table other names'
        ),
    ),
    "an alias that the table uses": (
        lambda: table_of(make(pk="X#{id}", sk="X", fields={"kind": Annotated[str, Attribute(aliases=("_type",))]})),
        ("X.kind has the alias '_type', which the table uses for itself: leave it out, or give the table other names"),
    ),
    "no partition key": (
        lambda: table_of(make(sk="X")),
        ...,
    ),
    "a sort key that the table has not": (
        lambda: table_of(make(pk="X#{id}", sk="X"), sk=None),
        "X has a sort key template, but Table 'table' has no sort key: leave it out",
    ),
    "a version that does not begin with 0": (
        lambda: table_of(versioned_from_1()),
        "X.v is the version, so its default must be 0, which means a new item: write `v: int = 0`",
    ),
}


def versioned_from_1() -> type[Any]:
    body = {"__annotations__": {"id": str, "v": int}, "v": 1, "__qualname__": "X", "__module__": __name__}
    chosen: type[Any] = entity("X", pk="X#{id}", sk="X", version="v")(type("X", (), body))
    return chosen


@pytest.mark.parametrize(("declare", "message"), IN_A_TABLE.values(), ids=IN_A_TABLE)
def test_a_table_says_why_a_class_cannot_be_in_it(declare: Callable[[], object], message: Any) -> None:
    text = refused(declare)
    if message is ...:
        assert text.startswith("X")
    else:
        assert text == message


@pytest.mark.parametrize("hint", [int, Revision, Annotated[int, Attribute("_v")]])
def test_a_version_is_an_int_by_whatever_name(hint: Any) -> None:
    cls = make(pk="X#{id}", sk="X", version="v", fields={"v": hint})
    assert table_of(cls).entity(cls).version == "v"


def test_what_is_no_field_is_no_matter() -> None:
    @entity("X", pk="X#{id}", sk="X")
    class X:
        known: ClassVar[dict[str, int]] = {}
        id: str

    assert [field.name for field in table_of(X).entity(X).shape.fields] == ["id"]
