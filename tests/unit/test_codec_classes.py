"""Classes of every kind as items and as values in items."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import InitVar, dataclass, field
from datetime import datetime, timezone
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, NewType, TypeVar

import attrs
import pytest

from dynamap.codec import (
    Attribute,
    ClassShape,
    Context,
    DecodeFailure,
    EpochMillis,
    EpochSeconds,
    Extras,
    Normalize,
    class_shape,
)
from dynamap.errors import EncodeError, ModelError

T = TypeVar("T")
UserId = NewType("UserId", str)


def camel_case(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.title() for word in rest)


def shape(cls: Any, names: Callable[[str], str] = lambda name: name) -> ClassShape:
    return class_shape(cls, context=Context(names=names))


@attrs.define
class Address:
    city: str
    zip_code: int
    tags: set[str] = attrs.field(factory=set)


@attrs.frozen
class Line:
    sku: str
    price: Decimal
    count: int = 1


@attrs.frozen(kw_only=True)
class Order:
    customer: UserId
    address: Address
    note: str | None = None
    visits: int | None = 7
    lines: list[Line] = attrs.field(factory=list)
    tags: set[str] = attrs.field(factory=set)
    labels: frozenset[str] | None = None
    email: Annotated[str, Normalize(str.casefold), Attribute("mail", aliases=("e-mail", "email"))] = ""
    created_at: Annotated[datetime, EpochMillis()] = datetime(2020, 1, 1, tzinfo=timezone.utc)
    expires: Annotated[datetime | None, EpochSeconds()] = None
    rest: Annotated[dict[str, Any], Extras()] = attrs.field(factory=dict)
    _token: str = "secret"
    registry: ClassVar[dict[str, int]] = {}


FULL = Order(
    customer=UserId("c"),
    address=Address("Rome", 1, {"home"}),
    note="",
    visits=None,
    lines=[Line("a", Decimal("1.5")), Line("b", Decimal(2), 0)],
    tags=set(),
    labels=None,
    email="a@b",
    expires=datetime(2030, 1, 1, tzinfo=timezone.utc),
    rest={"later": [1, None]},
    token="",
)


def test_an_item_holds_stored_names_and_leaves_absent_ones_out() -> None:
    item = shape(Order, camel_case).encode_item(FULL)
    assert item == {
        "customer": {"S": "c"},
        "address": {"M": {"city": {"S": "Rome"}, "zipCode": {"N": "1"}, "tags": {"SS": ["home"]}}},
        "note": {"S": ""},
        "visits": {"NULL": True},
        "lines": {
            "L": [
                {"M": {"sku": {"S": "a"}, "price": {"N": "1.5"}, "count": {"N": "1"}}},
                {"M": {"sku": {"S": "b"}, "price": {"N": "2"}, "count": {"N": "0"}}},
            ]
        },
        "labels": {"NULL": True},
        "mail": {"S": "a@b"},
        "createdAt": {"N": "1577836800000"},
        "expires": {"N": "1893456000"},
        "Token": {"S": ""},
        "later": {"L": [{"N": "1"}, {"NULL": True}]},
    }
    assert shape(Order, camel_case).decode_item(item) == FULL


def test_missing_attributes_are_defaults_none_or_empty_sets() -> None:
    item: dict[str, Any] = {"customer": {"S": "c"}, "address": {"M": {"city": {"S": "x"}, "zip_code": {"N": "1"}}}}
    order = shape(Order).decode_item(item)
    assert order == Order(customer=UserId("c"), address=Address("x", 1), labels=frozenset())


def test_older_names_are_read_in_order_and_the_new_one_wins() -> None:
    base: dict[str, Any] = {"customer": {"S": "c"}, "address": {"M": {"city": {"S": "x"}, "zip_code": {"N": "1"}}}}
    orders = shape(Order)
    assert orders.decode_item({**base, "email": {"S": "3"}, "e-mail": {"S": "2"}}).email == "2"
    assert orders.decode_item({**base, "email": {"S": "3"}, "e-mail": {"S": "2"}, "mail": {"S": "1"}}).email == "1"
    assert orders.decode_item({**base, "email": {"S": "3"}}).rest == {}


def test_unknown_attributes_are_extras_but_for_bookkeeping() -> None:
    item: dict[str, Any] = {
        "customer": {"S": "c"},
        "address": {"M": {"city": {"S": "x"}, "zip_code": {"N": "1"}, "new": {"N": "1"}}},
        "pk": {"S": "p"},
        "more": {"SS": ["a"]},
    }
    order = shape(Order).decode_item(item, ignore=frozenset({"pk"}))
    assert order.rest == {"more": {"a"}}
    assert shape(Order).encode_item(order)["more"] == {"SS": ["a"]}


@pytest.mark.parametrize("name", ["mail", "e-mail", "customer", "pk"])
def test_extras_never_overwrite_what_is_stored_anyway(name: str) -> None:
    order = attrs.evolve(FULL, rest={name: "x"})
    with pytest.raises(EncodeError, match="an extra with the name of an attribute that is stored anyway; leave it out"):
        shape(Order).encode_item(order, ignore=frozenset({"pk"}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"lines": [Line("a", Decimal(1)), Line("b", 0.5)]},  # type: ignore[arg-type]
            "$.lines[1].price: a Decimal expected, got float; use Decimal(str(value))",
        ),
        ({"address": None}, "$.address: an Address expected, got None; declare the type Optional to allow it"),
        ({"address": {"city": "x"}}, "$.address: an Address expected, got dict; use Address(**value)"),
        ({"tags": {1}}, "$.tags: a str expected, got int; use str(value)"),
        ({"email": 5}, "$.email: a str expected, got int; use str(value)"),
        ({"visits": True}, "$.visits: an int expected, got bool; use int(value), or declare bool"),
        (
            {"rest": {"a": {"b": float("inf")}}},
            "$.rest.a.b: NaN and infinities are no numbers to DynamoDB; store None or leave the attribute out",
        ),
    ],
)
def test_refusals_name_the_field(change: dict[str, Any], message: str) -> None:
    with pytest.raises(EncodeError) as caught:
        shape(Order).encode_item(attrs.evolve(FULL, **change))
    assert str(caught.value) == message


def test_a_subclass_instance_is_refused_rather_than_cut_down() -> None:
    @attrs.define
    class Postal(Address):
        box: int = 0

    with pytest.raises(EncodeError, match=r"an Address expected, got .*Postal; declare the subclass, or a union"):
        shape(Order).encode_item(attrs.evolve(FULL, address=Postal("x", 1)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"customer": None}, "$.customer: a str expected, the attribute 'customer' is missing"),
        (
            {"lines": {"L": [{"M": {"sku": {"S": "a"}}}]}},
            "$.lines[0].price: a Decimal expected, the attribute 'price' is missing",
        ),
        ({"lines": {"L": [{"S": "a"}]}}, "$.lines[0]: a Line expected, found a text (S)"),
        ({"visits": {"S": "7"}}, "$.visits: an int expected, found a text (S)"),
        ({"mail": {"NULL": True}}, "$.email: a str expected, found NULL"),
    ],
)
def test_items_that_do_not_fit_name_the_field(change: dict[str, Any], message: str) -> None:
    item = {**shape(Order).encode_item(FULL), **change}
    with pytest.raises(DecodeFailure) as caught:
        shape(Order).decode_item({name: wire for name, wire in item.items() if wire is not None})
    assert str(caught.value) == message


def test_known_values_come_from_elsewhere_and_are_not_stored() -> None:
    @dataclass
    class Keyed:
        id: Annotated[str, Attribute(stored=False)]
        n: int = 0

    keyed = shape(Keyed)
    assert keyed.encode_item(Keyed("a", 1)) == {"n": {"N": "1"}}
    assert keyed.decode_item({"n": {"N": "1"}}, known={"id": "a"}) == Keyed("a", 1)
    with pytest.raises(DecodeFailure, match=r"\$\.id: a str expected, the attribute 'id' is missing"):
        keyed.decode_item({"n": {"N": "1"}})
    with pytest.raises(LookupError, match=r"Keyed\.id is not stored as an attribute"):
        keyed.at("id")


def test_steps_give_the_stored_name() -> None:
    orders = shape(Order, camel_case)
    assert orders.at("email")[0] == "mail"
    assert orders.at("created_at")[0] == "createdAt"
    name, address = orders.at("address")
    assert name == "address"
    assert address.at("zip_code")[0] == "zipCode"
    for missing in ("mail", "nothing", 3):
        with pytest.raises(LookupError):
            orders.at(missing)
    with pytest.raises(LookupError, match=r"Order\.rest is not stored as an attribute"):
        orders.at("rest")


# ---------------------------------------------------------------------------------------------------- kinds of classes


@dataclass(frozen=True)
class FrozenData:
    a: int
    b: str = "x"


@dataclass(slots=True)
class SlottedData:
    a: int
    b: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictData:
    a: int
    b: StrictData | None = None


@dataclass
class WithInitVar:
    id: str
    seed: InitVar[int]
    doubled: int = field(init=False, default=0)

    def __post_init__(self, seed: int) -> None:
        self.doubled = seed * 2


@dataclass
class WithInitVarDefault:
    id: str
    seed: InitVar[int] = 4
    doubled: int = field(init=False)

    def __post_init__(self, seed: int) -> None:
        self.doubled = seed * 2


@dataclass(frozen=True, slots=True)
class FrozenComputed:
    price: int
    total: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", self.price * 2)


@dataclass
class Counting:
    n: int

    def __post_init__(self) -> None:
        self.n += 1


@attrs.define
class AttrsComputed:
    n: int
    label: str | None = attrs.field(init=False)
    tags: set[str] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.label = "computed"
        self.tags = {"computed"}


@attrs.define
class Private:
    _x: int
    __y: int = attrs.field(default=2, alias="y")


def as_tuple(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(values)


@attrs.define
class Converting:
    tags: tuple[str, ...] = attrs.field(converter=as_tuple)
    size: int = attrs.field(default=attrs.Factory(lambda self: len(self.tags), takes_self=True))


@attrs.define(init=False)
class OwnInit:
    n: int
    twice: int = attrs.field(default=attrs.Factory(lambda self: self.n * 2, takes_self=True))

    def __init__(self, text: str) -> None:
        self.n = int(text)
        self.twice = self.n * 2


class Point(NamedTuple):
    x: int
    y: int = 0


@dataclass
class Base:
    value: Any
    other: int = 0


@dataclass
class Derived(Base):
    value: str


class PlainChild(Base):
    """Adds no fields and is not decorated."""


@dataclass
class Backed:
    _amount: int = 1

    @property
    def amount(self) -> int:
        return self._amount

    @amount.setter
    def amount(self, value: int) -> None:
        self._amount = value * 100


@dataclass
class Box(Generic[T]):
    value: T
    many: list[T] = field(default_factory=list)


@attrs.define
class IntBox(Box[int]):
    """An attrs class is no dataclass, though its base is one."""

    extra: int = 0


@dataclass
class TextBox(Box[str]):
    label: str = ""


@dataclass
class Node:
    name: str
    children: list[Node] = field(default_factory=list)
    parent: Annotated[Node | None, "metadata of somebody else"] = None


@pytest.mark.parametrize(
    ("cls", "value"),
    [
        (FrozenData, FrozenData(1)),
        (SlottedData, SlottedData(1, [2])),
        (StrictData, StrictData(a=1, b=StrictData(a=2))),
        (WithInitVar, WithInitVar("a", 21)),
        (WithInitVarDefault, WithInitVarDefault("a", 5)),
        (FrozenComputed, FrozenComputed(4)),
        (Counting, Counting(1)),
        (AttrsComputed, AttrsComputed(1)),
        (Private, Private(1, 3)),
        (Converting, Converting(("a",), 7)),
        (OwnInit, OwnInit("4")),
        (Point, Point(1, 2)),
        (Derived, Derived("x", 1)),
        (PlainChild, PlainChild(1)),
        (Backed, Backed(5)),
        (Box[int], Box(1, [2])),
        (Box[str | None], Box[str | None](None, [None, "x"])),
        (Box, Box[Any]("anything", [1])),
        (TextBox, TextBox("a", ["b"], "c")),
        (Node, Node("a", [Node("b", [], Node("c"))])),
    ],
)
def test_every_kind_of_class_comes_back_equal(cls: Any, value: Any) -> None:
    shaped = shape(cls)
    decoded = shaped.decode_item(shaped.encode_item(value))
    assert decoded == value
    assert type(decoded) is type(value)
    assert shaped.decode(shaped.encode(value)) == value


def test_computed_fields_come_back_as_they_were_stored() -> None:
    value = AttrsComputed(1)
    value.label, value.tags = None, set()
    shaped = shape(AttrsComputed)
    assert shaped.decode_item(shaped.encode_item(value)) == value
    changed = WithInitVarDefault("a")
    changed.doubled = 5
    assert shape(WithInitVarDefault).decode_item(shape(WithInitVarDefault).encode_item(changed)).doubled == 5


def test_a_computed_field_that_was_never_stored_stays_as_the_class_computes_it() -> None:
    assert shape(WithInitVarDefault).decode_item({"id": {"S": "a"}}).doubled == 8
    assert shape(FrozenComputed).decode_item({"price": {"N": "3"}}).total == 6
    assert shape(WithInitVar).decode_item({"id": {"S": "a"}}).doubled == 0


def test_attrs_factories_get_the_instance() -> None:
    assert shape(Converting).decode_item({"tags": {"L": [{"S": "a"}]}}).size == 1
    assert shape(OwnInit).decode_item({"n": {"N": "4"}}).twice == 8


def test_generics_fill_their_variables_in() -> None:
    with pytest.raises(EncodeError, match=r"^\$\.value: a str expected, got int"):
        shape(TextBox).encode_item(TextBox(1))  # type: ignore[arg-type]
    with pytest.raises(EncodeError, match=r"^\$\.many\[0\]: an int expected, got str"):
        shape(Box[int]).encode_item(Box[Any](1, ["x"]))


def test_an_overridden_field_has_the_type_of_the_subclass() -> None:
    with pytest.raises(EncodeError, match=r"^\$\.value: a str expected, got int"):
        shape(Derived).encode_item(Derived(1))  # type: ignore[arg-type]


def test_a_class_that_refuses_the_stored_values() -> None:
    @attrs.define
    class Positive:
        n: int = attrs.field(validator=attrs.validators.gt(0))

    with pytest.raises(DecodeFailure) as caught:
        shape(Positive).decode({"M": {"n": {"N": "-4"}}}, ("a",))
    assert str(caught.value) == "$.a: Positive() refused the stored values with ValueError"
    assert isinstance(caught.value.__cause__, ValueError)


def test_an_instance_without_a_value_is_refused() -> None:
    value = AttrsComputed.__new__(AttrsComputed)
    with pytest.raises(EncodeError) as caught:
        shape(AttrsComputed).encode_item(value)
    assert str(caught.value) == "$.n: the AttrsComputed has no value there; set it first"


def test_the_users_functions() -> None:
    @attrs.define
    class Converted:
        point: Annotated[
            complex, Attribute(encode=lambda c: [c.real, c.imag], decode=lambda p: complex(*map(float, p)))
        ]
        old: Annotated[int, Attribute(decode=int)] = 0
        shout: Annotated[str | None, Attribute(encode=str.upper)] = None
        none: Annotated[str, Attribute(encode=lambda _: None, decode=lambda _: "back")] = "default"

    shaped = shape(Converted)
    item = shaped.encode_item(Converted(1 + 2j, 5, "a", "x"))
    assert item == {
        "point": {"L": [{"N": "1"}, {"N": "2"}]},
        "old": {"N": "5"},
        "shout": {"S": "A"},
        "none": {"NULL": True},
    }
    assert shaped.decode_item(item) == Converted(1 + 2j, 5, "A", "back")
    assert shaped.decode_item({**item, "old": {"S": "7"}}).old == 7
    assert shaped.decode_item(shaped.encode_item(Converted(0j))).shout is None


def test_errors_of_the_users_functions_keep_their_cause() -> None:
    @attrs.define
    class Failing:
        a: Annotated[int, Attribute(encode=lambda _: 1 / 0, decode=lambda _: 1 / 0)] = 0
        b: Annotated[str, Normalize(lambda _: 1 / 0)] = ""
        c: Annotated[int, Attribute(encode=lambda _: object(), decode=int)] = 0

    shaped = shape(Failing)
    with pytest.raises(EncodeError) as caught:
        shaped.encode_item(Failing())
    assert str(caught.value) == "$.a: the encode function raised ZeroDivisionError; see the error that caused this one"
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    with pytest.raises(EncodeError, match=r"^\$\.b: the Normalize function raised ZeroDivisionError"):
        shaped.by_name["b"].shape.encode("", ("b",))
    with pytest.raises(EncodeError, match=r"^\$\.c: a plain value expected, got object"):
        shaped.by_name["c"].shape.encode(1, ("c",))
    with pytest.raises(DecodeFailure, match=r"^\$\.a: the decode function raised ZeroDivisionError"):
        shaped.decode_item({"a": {"N": "1"}})


def test_normalizing_an_instance() -> None:
    shaped = shape(Order)
    changed = shaped.normalize(attrs.evolve(FULL, email="A@B"))
    assert changed == FULL
    assert shaped.normalize(FULL) is FULL
    assert shaped.by_name["email"].shape.normalize("X") == "x"


UNKNOWN = (
    "the type complex is not known; "
    "give the field Attribute(encode=, decode=), or the table a cattrs converter with hooks for it"
)
FIELD_ONLY = "Attribute(name, aliases=, stored=) speaks of a field; put its Annotated around the field's whole type"


@attrs.define
class Tag:
    name: Annotated[str, Normalize(str.casefold), Normalize(str.strip)]


def test_markers_apply_in_their_order() -> None:
    assert shape(Tag).encode_item(Tag(" A ")) == {"name": {"S": "a"}}


@pytest.mark.parametrize(
    ("annotations", "message"),
    [
        (
            {"a": int, "b": Annotated[int, Attribute("a")]},
            "Made.b: the attribute 'a' is stored or read by a too; give one of them another name",
        ),
        (
            {"a": int, "b": Annotated[int, Attribute(aliases=("a",))]},
            "Made.b: the attribute 'a' is stored or read by a too; give one of them another name",
        ),
        (
            {"a": Annotated[dict[str, Any], Extras()], "b": Annotated[dict[str, Any], Extras()]},
            "Made.b: a keeps the extras already; leave one Extras()",
        ),
        (
            {"a": Annotated[list[str], Extras()]},
            "Made.a: Extras() goes with a dict of str keys, as dict[str, Any]; change the type",
        ),
        (
            {"a": list[Annotated[int, Attribute("x")]]},
            f"Made.a: {FIELD_ONLY}",
        ),
        (
            {"a": Annotated[int, Attribute("x"), Attribute("y")]},
            "Made.a: two Attribute markers name the attribute; leave one",
        ),
        (
            {"a": Annotated[str, EpochSeconds()]},
            "Made.a: epoch markers go with datetime, int or float, not with str; change the type or the marker",
        ),
        ({"a": Annotated[int, EpochSeconds(), EpochMillis()]}, "Made.a: several epoch markers; leave one"),
        (
            {"a": complex},
            f"Made.a: {UNKNOWN}",
        ),
        (
            {"a": list[dict[str, complex]]},
            f"Made.a: {UNKNOWN}",
        ),
    ],
)
def test_classes_that_cannot_work(annotations: dict[str, Any], message: str) -> None:
    made = attrs.define(type("Made", (), {"__annotations__": annotations}))
    with pytest.raises(ModelError) as caught:
        shape(made)
    assert str(caught.value) == message


def test_a_nested_field_that_no_key_recovers() -> None:
    @attrs.define
    class Inner:
        id: Annotated[str, Attribute(stored=False)]

    @attrs.define
    class Outer:
        inner: Inner

    with pytest.raises(ModelError, match=r"Inner\.id: stored=False needs a key to recover the field from"):
        class_shape(Outer, context=Context(localns={"Inner": Inner}))


def test_a_class_of_no_fields_is_no_entity() -> None:
    with pytest.raises(ModelError, match="str is no attrs class, dataclass or pydantic model; make it one"):
        shape(str)


@dataclass(frozen=True)
class Knot:
    knots: set[Knot]


def test_a_class_in_a_set_of_itself_is_refused() -> None:
    with pytest.raises(ModelError, match="Knot contains itself where its stored form must be known"):
        shape(Knot)


def test_literal_tags_and_unions_stand_in_fields() -> None:
    @attrs.define
    class Payment:
        how: Literal["card", "cash"]
        amount: int | str

    shaped = shape(Payment)
    assert shaped.decode_item(shaped.encode_item(Payment("card", "1"))) == Payment("card", "1")
