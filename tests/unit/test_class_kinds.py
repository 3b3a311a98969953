"""Which classes can be entities, what they inherit and hold, and what is said of those that cannot."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from decimal import Decimal
from enum import Enum, Flag, IntEnum, IntFlag
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, NamedTuple, TypeVar

import attrs
import pytest

from dynamap import Attribute, EncodeError, F, ModelError, RequestError, Table, connect, entity, evolve, mapped
from dynamap.codec import Context, class_shape, shape_of
from dynamap.model import Entity
from dynamap.model.declare import declaration_of

if TYPE_CHECKING:
    pass

T = TypeVar("T")
U = TypeVar("U")
Made = Callable[[], object]


def described(cls: Any, **options: Any) -> Entity[Any]:
    """The class as the only one of a table."""
    return Table("table", [cls], **options).entity(cls)


def comes_back(cls: Any, *values: Any) -> None:
    for value in values:
        read = described(cls, ttl="expires_").decode(described(cls, ttl="expires_").encode(value))
        assert read == value
        assert type(read) is type(value)


def refusal(make: Made) -> str:
    with pytest.raises(ModelError) as caught:
        make()
    return str(caught.value).replace(f"{make.__qualname__}.<locals>.", "")


# ---- inheritance


@entity(abstract=True, version="revision")
class Guarded:
    revision: int = attrs.field(default=0, kw_only=True)


@entity("NAMED", pk="N#{id}", sk="N")
class Named(Guarded):
    id: str
    name: str = ""


@entity("TITLED", pk="T#{id}", sk="T")
class Titled(Named):
    title: str = ""
    name: str = "none"


class Undecorated(Named):
    pass


def test_a_subclass_has_the_fields_and_roles_of_its_bases() -> None:
    for cls in (Named, Titled):
        assert described(cls).version == "revision"
        comes_back(cls, cls("a", revision=3), cls("a", name="b", revision=4))
    assert Titled("a").name == "none"
    assert [each.name for each in described(Titled).shape.fields] == ["revision", "id", "title", "name"]
    declared = declaration_of(Titled)
    assert declared is not None
    assert declared.name == "TITLED"
    assert F(Titled.id).owner is Named


def test_a_subclass_may_name_another_version() -> None:
    @entity("OWN", pk="O#{id}", sk="O", version="mine")
    class Own(Named):
        mine: int = 0

    assert described(Own).version == "mine"


def test_adopted_classes_inherit_version_and_ttl() -> None:
    @mapped("BASE", pk="B#{id}", sk="B", version="revision", ttl="expires")
    @dataclass(kw_only=True)
    class Base:
        id: str
        revision: int = 0
        expires: datetime | None = None

    @mapped("SUB", pk="S#{id}", sk="S")
    @dataclass
    class Sub(Base):
        more: int = 0

    sub = described(Sub, ttl="ttl")
    assert (sub.version, sub.ttl) == ("revision", "expires")
    value = Sub(more=1, id="a", expires=datetime(2030, 1, 1, tzinfo=timezone.utc))
    item = sub.encode(value)
    assert item["ttl"] == {"N": "1893456000"}
    assert sub.decode({**item, "revision": {"N": "1"}}) == evolve(value, revision=1)


def test_keys_are_not_inherited() -> None:
    @entity("SUB")
    class Sub(Named):
        pass

    with pytest.raises(ModelError, match="Sub has no pk template"):
        Table("table", [Sub])


def test_both_classes_may_be_in_one_table() -> None:
    table = Table("table", [Named, Titled])
    store = connect(table)
    assert "TITLED" in str(store.of(Titled).put(Titled("a")).params())
    item = table.entity(Titled).encode(Titled("a"))
    assert not table.entity(Named).claims(item)


def test_an_instance_of_an_undecorated_subclass_is_refused() -> None:
    store = connect(Table("table", [Named, Titled]))
    for verb in ("put", "update", "delete"):
        for item in (Undecorated("a"), Titled("a")):
            with pytest.raises(RequestError, match=rf"takes an instance of Named; got {type(item).__name__}"):
                getattr(store.of(Named), verb)(item)
    with pytest.raises(RequestError, match="Undecorated is not in Table 'table'"):
        store.of(Undecorated)
    assert refusal(lambda: Table("table", [Undecorated])).startswith("Undecorated is no entity")


def undecorated(base: type[Any]) -> type[Any]:
    return type("Child", (base,), {"__annotations__": {"id": "str", "extra": "int", "known": "ClassVar[int]"}})


@dataclass
class DataBase:
    id: str


@attrs.frozen
class FrozenBase:
    id: str


class TupleBase(NamedTuple):
    id: str


@pytest.mark.parametrize("base", [DataBase, FrozenBase])
def test_what_an_undecorated_subclass_annotates_would_never_be_stored(base: type[Any]) -> None:
    name = base.__name__
    expected = (
        f"Child.extra is no field, because Child only inherits from {name}, which is decorated; decorate Child as well"
    )
    assert refusal(lambda: mapped("X", pk="X#{id}", sk="X")(undecorated(base))) == expected
    with pytest.raises(ModelError, match=r"Child\.extra is no field"):
        class_shape(undecorated(base), context=Context())


def test_an_undecorated_subclass_without_fields_is_fine() -> None:
    @mapped("X", pk="X#{id}", sk="X")
    class Child(DataBase):
        known: ClassVar[int] = 1

        def shout(self) -> str:
            return self.id.upper()

    comes_back(Child, Child("a"))


def test_what_a_mixin_annotates_is_no_field() -> None:
    class Mixin:
        cache: dict[str, int]

    @mapped("X", pk="X#{id}", sk="X")
    @dataclass
    class X(Mixin):
        id: str

    assert [each.name for each in described(X).shape.fields] == ["id"]


@pytest.mark.parametrize("decorate", [mapped("X", pk="X#{id}", sk="X"), entity("X", pk="X#{id}", sk="X")])
def test_a_named_tuple_is_no_entity(decorate: Any) -> None:
    with pytest.raises(ModelError, match="TupleBase"):
        decorate(TupleBase)


@pytest.mark.parametrize("base", [DataBase, FrozenBase, TupleBase])
def test_entity_refuses_fields_that_others_made(base: type[Any]) -> None:
    with pytest.raises(ModelError, match=f"Child inherits fields from {base.__name__}, which @entity did not make"):
        entity("X", pk="X#{id}", sk="X")(type("Child", (base,), {"__annotations__": {"n": "int"}}))


@pytest.mark.parametrize("make", [dataclass, attrs.define])
def test_mapped_below_the_decorator_that_makes_the_class_is_refused(make: Any) -> None:
    def declare() -> object:
        @make
        @mapped("X", pk="X#{id}", sk="X")
        class X:
            id: str

        return X

    assert "X is neither: put @mapped above @dataclass" in refusal(declare)


# ---- generic classes


@entity("BOX", pk="BOX#{id}", sk="BOX")
class Box(Generic[T]):
    id: str
    value: T


@mapped("PAIR", pk="PAIR#{id}", sk="PAIR")
@dataclass
class Pair(Generic[T, U]):
    id: str
    one: T
    other: list[U]


@pytest.mark.parametrize(
    ("alias", "value", "wrong"),
    [
        (Box[int], Box("a", 1), Box("a", "x")),
        (Box[list[str]], Box("a", ["x"]), Box("a", [1])),
        (Box[Decimal | None], Box("a", None), Box("a", 1.5)),
        (Pair[int, str], Pair("a", 1, ["x"]), Pair("a", 1, [2])),
        (Pair[Box[int], str], Pair("a", Box("b", 1), ["x"]), Pair("a", Box("b", "c"), [])),
    ],
)
def test_a_generic_class_is_an_entity_with_its_arguments(alias: Any, value: Any, wrong: Any) -> None:
    comes_back(alias, value)
    with pytest.raises(EncodeError):
        described(alias).encode(wrong)


def test_a_table_knows_a_generic_class_with_and_without_arguments() -> None:
    table = Table("table", [Box[int], DataBaseEntity], untyped=Box[int], overlap=[(Box[int], DataBaseEntity)])
    assert repr(table) == "Table('table', [Box[int], DataBaseEntity])"
    assert table.entity(Box[int]) is table.entity(Box)
    assert table.entity(Box).cls is Box
    with pytest.raises(RequestError) as caught:
        table.entity(Box[str])
    assert str(caught.value) == (
        "Box[str] is not in Table 'table': the table holds Box[int]; use one of both in both places"
    )
    with pytest.raises(RequestError, match=r"Box\[int\] is not in Table 'table': add it to the table's entities"):
        Table("table", [DataBaseEntity]).entity(Box[int])
    with pytest.raises(RequestError, match=r"Box\[int\] is not in Table 'table': the table holds Box; use one of both"):
        Table("table", [Box]).entity(Box[int])


@mapped("BOX2", pk="BOX#{id}", sk="BOX")
@dataclass
class DataBaseEntity:
    id: str


def test_one_generic_class_is_one_entity() -> None:
    alias: Any = Box[str]
    assert refusal(lambda: Table("table", [Box[int], alias])) == "Box stands twice in Table 'table'"


def test_operations_take_a_generic_class() -> None:
    store = connect(Table("table", [Box[int]]))
    boxes = store.of(Box[int])
    assert boxes.put(Box("a", 1)).params()["Item"]["value"] == {"N": "1"}
    field = F(Box[int], lambda box: box.value)
    assert boxes.update(id="a").set(field, 2).params()["ExpressionAttributeValues"]


def test_a_subclass_of_a_generic_class_fills_it_in() -> None:
    @entity("INTS", pk="I#{id}", sk="I")
    class Ints(Box[int]):
        pass

    comes_back(Ints, Ints("a", 1))
    with pytest.raises(EncodeError, match=r"\$\.value: an int expected, got str"):
        described(Ints).encode(Ints("a", "x"))  # type: ignore[arg-type]


# ---- what classes do by themselves


@entity("FULL", pk="F#{_id}", sk="F", frozen=True, kw_only=True, order=True)
class Full:
    _id: str
    n: int = attrs.field(default=1, converter=int, validator=attrs.validators.ge(0))
    tags: list[str] = attrs.field(factory=list)
    size: int = attrs.field(init=False, default=attrs.Factory(lambda self: len(self.tags), takes_self=True))
    given: int = attrs.field(default=0, alias="other_name")


@entity("CACHED", pk="C#{id}", sk="C")
class Cached:
    id: str
    n: int = 0

    @cached_property
    def twice(self) -> int:
        return self.n * 2

    @property
    def shown(self) -> str:
        return f"<{self.n}>"

    @shown.setter
    def shown(self, text: str) -> None:
        self.n = int(text)

    def __attrs_post_init__(self) -> None:
        self.n = min(self.n, 100)


def test_options_of_attrs_work_on_entities() -> None:
    comes_back(Full, Full(_id="a"), Full(_id="a", n="7", tags=["x"], other_name=3))
    assert described(Full).encode(Full(_id="a", tags=["x"]))["size"] == {"N": "1"}
    assert Full(_id="a") < Full(_id="b")
    assert evolve(Full(_id="a"), n=5).n == 5
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        Full(_id="a").n = 2  # type: ignore[misc]


def test_validators_speak_when_an_item_is_read() -> None:
    item = described(Full).encode(Full(_id="a"))
    with pytest.raises(Exception, match=r"Full\(\) refused the stored values with ValueError"):
        described(Full).decode({**item, "n": {"N": "-1"}})


def test_properties_are_no_fields() -> None:
    value = Cached("a", 3)
    assert value.twice == 6
    value.shown = "4"
    item = described(Cached).encode(value)
    assert {"id", "n"} == item.keys() - {"pk", "sk", "_type"}
    assert described(Cached).decode(item).twice == 8


def test_a_hook_does_not_change_what_is_stored() -> None:
    value = Cached("a", 500)
    assert value.n == 100
    value.n = 300
    comes_back(Cached, value)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Text(str, Enum):
    A = "a"


class Number(IntEnum):
    ONE = 1
    TWO = 2


class Bits(Flag):
    A = 1
    B = 2
    C = 4


class IntBits(IntFlag):
    A = 1
    B = 2


class Mixed(Enum):
    N = 1
    S = "1"


class WithMethods(Enum):
    EARTH = "3"

    @property
    def number(self) -> int:
        return int(self.value)


class Renamed(Enum):
    NEW = "new"

    @classmethod
    def _missing_(cls, value: object) -> Renamed | None:
        return cls.NEW if value == "old" else None


@pytest.mark.parametrize(
    ("hint", "value", "wire"),
    [
        (Colour, Colour.RED, {"S": "red"}),
        (Text, Text.A, {"S": "a"}),
        (Number, Number.TWO, {"N": "2"}),
        (Bits, Bits.A | Bits.C, {"N": "5"}),
        (Bits, Bits(0), {"N": "0"}),
        (IntBits, IntBits.A | IntBits.B, {"N": "3"}),
        (Mixed, Mixed.N, {"N": "1"}),
        (Mixed, Mixed.S, {"S": "1"}),
        (WithMethods, WithMethods.EARTH, {"S": "3"}),
        (dict[str, Colour], {"x": Colour.RED}, {"M": {"x": {"S": "red"}}}),
        (dict[Colour, int], {Colour.RED: 1}, {"M": {"red": {"N": "1"}}}),
        (dict[Number, Number], {Number.ONE: Number.TWO}, {"M": {"1": {"N": "2"}}}),
        (set[Colour], {Colour.RED}, {"SS": ["red"]}),
        (frozenset[Number], frozenset({Number.ONE}), {"NS": ["1"]}),
        (list[Text], [Text.A], {"L": [{"S": "a"}]}),
        (Colour | None, None, {"NULL": True}),
        (Colour | int, Colour.BLUE, {"S": "blue"}),
    ],
)
def test_enums_are_stored_by_value(hint: Any, value: Any, wire: dict[str, Any]) -> None:
    shape = shape_of(hint, where="X.x", context=Context())
    assert shape.encode(value) == wire
    read = shape.decode(wire)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="StrEnum is new in Python 3.11")
def test_a_str_enum_is_stored_by_value() -> None:
    made = importlib.import_module("enum").StrEnum("Made", {"A": "a"})
    shape = shape_of(made, where="X.x", context=Context())
    assert shape.encode(made.A) == {"S": "a"}
    assert shape.decode({"S": "a"}) is made.A


def test_an_unknown_member_is_told_and_an_old_one_may_be_mapped() -> None:
    colour = shape_of(Colour, where="X.x", context=Context())
    with pytest.raises(Exception, match="a member of Colour expected, found a value that is none"):
        colour.decode({"S": "green"})
    assert shape_of(Renamed, where="X.x", context=Context()).decode({"S": "old"}) is Renamed.NEW


def test_an_enum_is_a_default() -> None:
    @entity("X", pk="X#{id}", sk="X")
    class X:
        id: str
        colour: Colour = Colour.RED
        maybe: Colour | None = Colour.BLUE

    comes_back(X, X("a"), X("a", Colour.BLUE, None))
    item = described(X).encode(X("a", Colour.BLUE))
    assert described(X).decode({name: item[name] for name in ("pk", "sk", "_type", "id")}) == X("a")


class Point(NamedTuple):
    x: int
    y: int = 0


def test_named_tuples_are_values() -> None:
    @mapped("X", pk="X#{id}", sk="X")
    @dataclass
    class X:
        id: str
        point: Point
        path: tuple[Point, ...] = ()

    comes_back(X, X("a", Point(1), (Point(2, 3),)))
    assert described(X).encode(X("a", Point(1)))["point"] == {"M": {"x": {"N": "1"}, "y": {"N": "0"}}}


def test_metadata_of_others_is_left_alone() -> None:
    @mapped("X", pk="X#{id}", sk="X")
    @dataclass
    class X:
        id: str
        n: Annotated[Annotated[int, "inner"], "before", Attribute("number"), {"after": 1}] = 0
        m: int = field(default=0, metadata={"dataclass": True})

    comes_back(X, X("a", 1, 2))
    assert described(X).encode(X("a", 1))["number"] == {"N": "1"}
