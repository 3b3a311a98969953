"""Annotations: how they are resolved, what is known, what goes to the converter."""

from __future__ import annotations

import dataclasses
import sys
import textwrap
import typing
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, TypeVar

import attrs
import cattrs
import pytest
from typing_extensions import TypeAliasType

from dynamap.codec import (
    AnyShape,
    Attribute,
    ClassField,
    Context,
    DecodeFailure,
    Extras,
    Integer,
    Text,
    class_fields,
    class_shape,
    field_names,
    format_path,
    has_fields,
    shape_of,
)
from dynamap.errors import EncodeError, ModelError

if TYPE_CHECKING:
    from fractions import Fraction

N = TypeVar("N", bound=int)
C = TypeVar("C", int, str)


def by_name(cls: Any, **localns: Any) -> dict[str, ClassField]:
    return {each.name: each for each in class_fields(cls, localns or None)}


@dataclass
class Shadowing:
    """A field named like its type hides it from the class's own names."""

    date: date | None = None
    registry: ClassVar[Fraction] = None  # type: ignore[assignment]
    limit: Final[int] = 5


@dataclass
class Unresolvable:
    part: Fraction


@dataclass
class Outer:
    @dataclass
    class Inner:
        n: int

    inner: Inner
    inners: list[Inner] = field(default_factory=list)


@attrs.define
class Mixed:
    a: int
    _b: Annotated[int, Attribute("bee"), "note"] = 1
    c: list[int] = attrs.field(factory=list, kw_only=True)
    d: int = attrs.field(default=attrs.Factory(lambda self: self.a, takes_self=True), kw_only=True)
    e: int = attrs.field(init=False, default=3)


def test_fields_of_attrs_classes() -> None:
    fields = by_name(Mixed)
    assert list(fields) == ["a", "_b", "c", "d", "e"]
    assert fields["a"] == ClassField("a", int, (), init=True, init_name="a", kw_only=False, has_default=False)
    assert fields["_b"].init_name == "b"
    assert fields["_b"].markers == (Attribute("bee"), "note")
    assert fields["_b"].make_default() == 1
    assert fields["c"].kw_only
    assert fields["c"].make_default() == []
    assert fields["d"].make_default(Mixed(7)) == 7
    assert not fields["e"].init
    with pytest.raises(ModelError, match="the field a has no default"):
        fields["a"].make_default()


def test_fields_of_dataclasses() -> None:
    fields = by_name(Shadowing)
    assert list(fields) == ["date", "limit"]
    assert fields["date"].hint == date | None
    assert fields["date"].defaults_to_none
    assert fields["limit"].hint is int
    assert not fields["limit"].defaults_to_none


def test_names_need_no_resolving() -> None:
    assert field_names(Unresolvable) == ("part",)
    assert has_fields(Unresolvable)
    assert not has_fields(int)
    assert not has_fields(Unresolvable("x"))  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="int is no attrs class, dataclass or pydantic model"):
        field_names(int)


def test_a_name_that_exists_for_the_checker_only_is_told() -> None:
    with pytest.raises(ModelError) as caught:
        class_fields(Unresolvable)
    assert str(caught.value) == (
        f"Unresolvable.part: the annotation 'Fraction' names 'Fraction', which cannot be resolved; "
        f"define or import it at the top of {__name__}, outside of TYPE_CHECKING"
    )


def test_what_else_cannot_be_resolved_is_told_too() -> None:
    made = dataclasses.make_dataclass("Made", [("a", "int |")])
    with pytest.raises(ModelError, match=r"^Made\.a: the annotation 'int \|' cannot be resolved: .*; correct it$"):
        class_fields(made)


def test_classes_inside_of_classes_and_functions_are_found() -> None:
    assert by_name(Outer)["inners"].hint == list[Outer.Inner]

    def local() -> tuple[type[Any], type[Any]]:
        @dataclass
        class Other:
            n: int

        @dataclass
        class Local:
            me: Local | None
            other: Other

        return Local, Other

    cls, other = local()
    assert by_name(cls, Other=other)["me"].hint == cls | None
    with pytest.raises(ModelError, match="names 'Other', which cannot be resolved"):
        by_name(cls)


def test_a_field_without_an_annotation_has_the_type_it_was_given() -> None:
    made = attrs.make_class("Made", {"a": attrs.field(type=int), "b": attrs.field()})
    with pytest.raises(ModelError, match=r"^Made\.b has no type; annotate it$"):
        class_fields(made)
    assert class_fields(attrs.make_class("Typed", {"a": attrs.field(type=int)}))[0].hint is int


def test_type_variables() -> None:
    context = Context()
    assert shape_of(N, where="Box.value", context=context) == Integer()
    assert shape_of(TypeVar("T"), where="Box.value", context=context) == AnyShape()
    with pytest.raises(ModelError, match=r"^Box\.value: the type variable ~C may be several types; say which"):
        shape_of(C, where="Box.value", context=context)


def test_the_older_spellings_mean_the_same() -> None:
    older: list[Any] = [
        typing.Optional[int],  # noqa: UP045
        typing.Union[str, int, None],  # noqa: UP007
        typing.List[int],  # noqa: UP006
        typing.Dict[str, int],  # noqa: UP006
        typing.Set[str],  # noqa: UP006
        typing.FrozenSet[str],  # noqa: UP006
        typing.Tuple[int, ...],  # noqa: UP006
        typing.Tuple[()],  # noqa: UP006
        typing.Tuple,  # noqa: UP006
        typing.List,  # noqa: UP006
    ]
    newer: list[Any] = [
        int | None,
        str | int | None,
        list[int],
        dict[str, int],
        set[str],
        frozenset[str],
        tuple[int, ...],
        tuple[()],
        tuple,
        list,
    ]
    for one, other in zip(older, newer, strict=True):
        assert shape_of(one, where="A.b", context=Context()) == shape_of(other, where="A.b", context=Context())


def test_aliases_stand_for_their_value() -> None:
    name, maybe = TypeAliasType("name", str), TypeAliasType("maybe", int | None)
    assert shape_of(name, where="A.b", context=Context()) == Text()
    assert shape_of(maybe | str, where="A.b", context=Context()).encode(None) == {"NULL": True}


def test_a_class_is_looked_at_once() -> None:
    context = Context()
    assert class_shape(Outer, context=context) is class_shape(Outer, context=context)
    assert class_shape(Outer, context=context).at("inner")[1] is class_shape(Outer.Inner, context=context)


# ---------------------------------------------------------------------------------------------------- converter


class Money:
    def __init__(self, cents: int) -> None:
        self.cents = cents

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Money) and other.cents == self.cents

    def __hash__(self) -> int:
        return hash(self.cents)


@attrs.define
class Priced:
    price: Money
    prices: list[Money] = attrs.field(factory=list)
    maybe: Money | None = None


@pytest.fixture
def converter() -> cattrs.Converter:
    made = cattrs.Converter()
    made.register_unstructure_hook(Money, lambda money: {"cents": money.cents})
    made.register_structure_hook(Money, lambda plain, _: Money(plain["cents"]))
    return made


def test_unknown_types_go_through_the_converter(converter: cattrs.Converter) -> None:
    shaped = class_shape(Priced, context=Context(converter=converter))
    value = Priced(Money(5), [Money(6)])
    item = shaped.encode_item(value)
    assert item == {"price": {"M": {"cents": {"N": "5"}}}, "prices": {"L": [{"M": {"cents": {"N": "6"}}}]}}
    assert shaped.decode_item(item) == value
    with pytest.raises(
        EncodeError, match=r"^\$\.price: a Money expected, got int; declare the type as int, or convert"
    ):
        shaped.encode_item(Priced(5))  # type: ignore[arg-type]
    with pytest.raises(DecodeFailure, match=r"^\$\.price: the converter raised TypeError$"):
        shaped.decode_item({"price": {"N": "5"}})


def test_known_types_never_go_to_the_converter(converter: cattrs.Converter) -> None:
    converter.register_unstructure_hook(int, str)
    converter.register_unstructure_hook(Decimal, str)
    context = Context(converter=converter)
    assert shape_of(int, where="A.b", context=context).encode(1) == {"N": "1"}
    assert shape_of(list[Decimal], where="A.b", context=context).encode([Decimal(1)]) == {"L": [{"N": "1"}]}


def test_a_type_that_the_converter_does_not_know_either(converter: cattrs.Converter) -> None:
    with pytest.raises(ModelError) as caught:
        shape_of(complex, where="Order.price", context=Context(converter=converter))
    assert str(caught.value) == (
        "Order.price: neither dynamap nor the converter knows the type complex; "
        "give the field Attribute(encode=, decode=), or the table a cattrs converter with hooks for it"
    )
    converter.register_structure_hook(complex, lambda plain, _: complex(plain))
    with pytest.raises(
        ModelError, match=r"^Order\.price: the converter has no unstructure hook for complex; register one$"
    ):
        shape_of(complex, where="Order.price", context=Context(converter=converter))


# ---------------------------------------------------------------------------------------------------- newer syntax


@pytest.fixture
def newer() -> Iterator[ModuleType]:
    source = """
        from __future__ import annotations
        from dataclasses import dataclass, field

        type Json = dict[str, Json] | list[Json] | str | int | None
        type Pair[A] = tuple[A, A]

        @dataclass
        class Box[T]:
            value: T
            pair: Pair[int]
            json: Json = None
            boxes: list[Box[T]] = field(default_factory=list)
    """
    module = ModuleType("newer_syntax")
    sys.modules[module.__name__] = module
    exec(textwrap.dedent(source), vars(module))
    yield module
    del sys.modules[module.__name__]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters and type statements are new in Python 3.12")
def test_type_parameters_and_type_statements(newer: ModuleType) -> None:
    shaped = class_shape(newer.Box[str], context=Context())
    value = newer.Box("a", (1, 2), {"x": [None, {"y": "z"}]}, [newer.Box("b", (3, 4))])
    assert shaped.decode_item(shaped.encode_item(value)) == value
    with pytest.raises(EncodeError, match=r"^\$\.boxes\[0\]\.value: a str expected, got int"):
        shaped.encode_item(newer.Box("a", (1, 2), None, [newer.Box(1, (1, 2))]))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), "$"),
        (("lines", 2, "price"), "$.lines[2].price"),
        (("prices", "a b"), '$.prices["a b"]'),
        (("x", ""), '$.x[""]'),
        (("x", 'a"b', "1st", "日本"), '$.x["a\\"b"]["1st"].日本'),
    ],
)
def test_paths(path: tuple[str | int, ...], text: str) -> None:
    assert format_path(path) == text


def test_bare_markers_count_as_called_ones() -> None:
    @attrs.define
    class Bare:
        rest: Annotated[dict[str, Any], Extras] = attrs.field(factory=dict)

    shaped = class_shape(Bare, context=Context())
    assert shaped.decode_item({"a": {"N": "1"}}) == Bare({"a": 1})


def test_aliases_are_several_names_not_the_letters_of_one() -> None:
    with pytest.raises(ModelError) as raised:
        Attribute(aliases="old")  # type: ignore[arg-type]
    assert str(raised.value) == "Attribute(aliases='old') would be one alias for each letter: write aliases=('old',)"
