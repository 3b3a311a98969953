"""Pydantic models and dataclasses as entities and inside of others: what is stored, comes back, and is refused."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import InitVar, dataclass
from datetime import datetime, timezone
from decimal import Decimal
from functools import cached_property
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar

import pydantic
import pytest
from pydantic import (
    AliasChoices,
    AliasPath,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    RootModel,
    ValidationError,
    computed_field,
    field_validator,
    model_validator,
)
from pydantic.dataclasses import dataclass as pydantic_dataclass
from typing_extensions import Self

from dynamap import Attribute, EncodeError, Extras, F, ModelError, Normalize, Table, entity, evolve, mapped
from dynamap.codec import ClassShape, Context, DecodeFailure, class_shape
from dynamap.codec.generated import compiled

T = TypeVar("T")


def shape(cls: Any) -> ClassShape:
    return class_shape(cls, context=Context())


def reads(cls: Any, item: dict[str, Any]) -> Any:
    """What both decoders, which must agree, make of the item."""
    shaped = shape(cls)
    decoded, generated = shaped.decode_item(item), compiled(shaped).decode_item(item)
    assert decoded == generated
    assert vars(decoded) == vars(generated)
    return decoded


def there_and_back(cls: Any, value: Any) -> Any:
    shaped = shape(cls)
    item = shaped.encode_item(value)
    assert compiled(shaped).encode_item(value) == item
    return reads(cls, item)


# ---- what there is


class Address(BaseModel):
    city: str
    zip_code: int = 0


@dataclass(frozen=True)
class Line:
    sku: str
    price: Decimal


class Order(BaseModel):
    known: ClassVar[int] = 3
    id: str
    address: Address
    lines: list[Line] = []
    tags: set[str] = Field(default_factory=set)
    total: Annotated[Decimal, Field(ge=0), Attribute("sum")] = Decimal(0)
    mail: Annotated[str, Normalize(str.lower)] = Field(default="", alias="e-mail", max_length=20)
    note: str | None = None
    parent: Order | None = None

    @computed_field
    @property
    def size(self) -> int:
        return len(self.lines)


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)
    id: str
    at: AwareDatetime


class Box(BaseModel, Generic[T]):
    value: T
    many: list[T] = []


class IntBox(Box[int]):
    label: str = ""


class Hooked(BaseModel):
    price: int
    doubled: int = 0
    _cache: int = PrivateAttr(default=1)
    _made: list[int] = PrivateAttr(default_factory=list)

    def model_post_init(self, context: Any, /) -> None:
        self.doubled = self.price * 2
        self._cache = self.price * 3


class Node(BaseModel):
    name: str
    children: list[Self] = []


class Numbers(RootModel[list[int]]):
    pass


@pydantic_dataclass
class Data:
    a: int
    b: list[int] = Field(default_factory=list, alias="bee")
    c: int = Field(default=3, kw_only=True)


@pydantic_dataclass(frozen=True, slots=True, kw_only=True)
class SlottedData:
    a: int
    b: Decimal | None = None


@pydantic_dataclass
class ComputedData:
    a: int
    factor: InitVar[int] = 2
    b: int = Field(init=False)

    def __post_init__(self, factor: int) -> None:
        self.b = self.a * factor


class DataChild(Data):
    """Adds no fields and is not decorated."""


@dataclass
class Holder:
    model: Order
    data: Data


VALUES: list[tuple[Any, Any]] = [
    (Address, Address(city="Rome", zip_code=7)),
    (
        Order,
        Order(
            id="o",
            address=Address(city="x"),
            lines=[Line("a", Decimal("1.5"))],
            tags={"t"},
            total=Decimal("3.1"),
            note="n",
            parent=Order(id="p", address=Address(city="y")),
            **{"e-mail": "a@b"},
        ),
    ),
    (Frozen, Frozen(id="a", at=datetime(2030, 1, 1, tzinfo=timezone.utc))),
    (Box[int], Box[int](value=1, many=[2])),
    (Box[str | None], Box[str | None](value=None, many=[None, "x"])),
    (Box[Box[int]], Box[Box[int]](value=Box[int](value=1))),
    (IntBox, IntBox(value=1, many=[2], label="x")),
    (Hooked, Hooked(price=2)),
    (Node, Node(name="a", children=[Node(name="b")])),
    (Numbers, Numbers([1, 2])),
    (Data, Data(1, bee=[2], c=4)),
    (SlottedData, SlottedData(a=1, b=Decimal("0.5"))),
    (ComputedData, ComputedData(3, 5)),
    (DataChild, DataChild(1)),
    (Holder, Holder(Order(id="o", address=Address(city="x")), Data(2))),
]


@pytest.mark.parametrize(("cls", "value"), VALUES, ids=[getattr(cls, "__name__", str(cls)) for cls, _ in VALUES])
def test_every_kind_comes_back_equal(cls: Any, value: Any) -> None:
    shaped = shape(cls)
    item = shaped.encode_item(value)
    decoded = shaped.decode_item(item)
    generated = compiled(shaped)
    assert generated.encode_item(value) == item
    for one in (decoded, generated.decode_item(item), shaped.decode(shaped.encode(value))):
        assert one == value
        assert type(one) is type(value)


def test_an_item_holds_fields_by_their_own_names() -> None:
    item = shape(Order).encode_item(Order(id="o", address=Address(city="x"), **{"e-mail": "A@B"}))
    assert item == {
        "id": {"S": "o"},
        "address": {"M": {"city": {"S": "x"}, "zip_code": {"N": "0"}}},
        "lines": {"L": []},
        "sum": {"N": "0"},
        "mail": {"S": "a@b"},
    }


def test_generic_arguments_are_checked() -> None:
    with pytest.raises(EncodeError, match=r"^\$\.value: an int expected, got str"):
        shape(Box[int]).encode_item(Box[int].model_construct(value="x"))
    with pytest.raises(EncodeError, match=r"^\$\.many\[0\]: an int expected, got str"):
        shape(IntBox).encode_item(IntBox.model_construct(value=1, many=["x"]))


# ---- values come back as they are stored


class Hashing(BaseModel):
    secret: str
    upper: str = ""

    @field_validator("secret")
    @classmethod
    def _hash(cls, value: str) -> str:
        return f"hash({value})"

    @field_validator("upper", mode="before")
    @classmethod
    def _from_list(cls, value: list[str]) -> str:
        return value[0].upper()


def test_validators_do_not_run_when_an_item_is_read() -> None:
    made = Hashing(secret="s", upper=["a"])
    assert (made.secret, made.upper) == ("hash(s)", "A")
    assert there_and_back(Hashing, made) == made


@pytest.mark.parametrize(
    ("value", "message"),
    [("1", "$.zip_code: an int expected, got str"), (True, "got bool"), (1.0, "got float"), (None, "got None")],
)
def test_what_pydantic_would_coerce_is_refused_when_it_is_written(value: Any, message: str) -> None:
    address = Address(city="x")
    address.zip_code = value
    with pytest.raises(EncodeError) as caught:
        shape(Address).encode_item(address)
    assert message in str(caught.value)


def test_a_stored_value_that_does_not_fit_is_refused_when_it_is_read() -> None:
    with pytest.raises(DecodeFailure, match=r"^\$\.zip_code: an int expected, found a text"):
        shape(Address).decode_item({"city": {"S": "x"}, "zip_code": {"S": "1"}})
    with pytest.raises(DecodeFailure, match=r"^\$\.city: a str expected, the attribute 'city' is missing"):
        shape(Address).decode_item({})


def test_defaults_fill_in_for_missing_attributes() -> None:
    class Late(BaseModel):
        id: str
        items: list[int] = [1]
        nested: Address = Address(city="x")
        twice: str = Field(default_factory=lambda data: data["id"] * 2)
        aware: bool = Field(default=True, validate_default=True)

    one, two = (reads(Late, {"id": {"S": "a"}}) for _ in range(2))
    assert one == Late(id="a")
    assert one.twice == "aa"
    # as in pydantic, each has its own
    assert one.items is not two.items
    assert one.nested is not two.nested


def test_the_fields_that_an_item_has_are_set() -> None:
    order = reads(Address, {"city": {"S": "x"}})
    assert order.model_fields_set == {"city"}
    assert order.model_dump(exclude_unset=True) == {"city": "x"}
    order.zip_code = 1
    assert order.model_fields_set == {"city", "zip_code"}


def test_hooks_and_private_attributes() -> None:
    read = reads(Hooked, {"price": {"N": "2"}, "doubled": {"N": "5"}})
    # what is stored counts, whatever the hook says
    assert read.doubled == 5
    assert read._cache == 6
    assert read._made == []
    read._cache = 9
    assert read._cache == 9
    assert reads(Hooked, {"price": {"N": "2"}}).doubled == 4


def test_a_hook_that_refuses() -> None:
    class Refusing(BaseModel):
        n: int

        def model_post_init(self, context: Any, /) -> None:
            msg = "no"
            raise RuntimeError(msg)

    with pytest.raises(DecodeFailure) as caught:
        shape(Refusing).decode({"M": {"n": {"N": "1"}}}, ("a",))
    assert str(caught.value) == "$.a: Refusing() refused the stored values with RuntimeError"
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_hooks_of_dataclasses() -> None:
    assert reads(ComputedData, {"a": {"N": "3"}, "b": {"N": "9"}}).b == 9
    assert reads(ComputedData, {"a": {"N": "3"}}).b == 6

    @pydantic_dataclass
    class Needy:
        a: int
        factor: InitVar[int]
        b: int = 0

        def __post_init__(self, factor: int) -> None:
            self.b = self.a * factor

    # the hook cannot be called without the InitVar, which nobody has stored
    assert reads(Needy, {"a": {"N": "3"}}).b == 0
    assert reads(Needy, {"a": {"N": "3"}, "b": {"N": "9"}}).b == 9


def test_what_was_read_works_as_any_other_instance() -> None:
    for cls, value in VALUES:
        read = shape(cls).decode_item(shape(cls).encode_item(value))
        if isinstance(value, BaseModel):
            assert read.model_dump() == value.model_dump()
            assert read.model_copy() == value
            assert repr(read) == repr(value)
        assert copy.deepcopy(read) == value
        if cls not in (Box[str | None], Box[Box[int]]):
            assert pickle.loads(pickle.dumps(read)) == value
    frozen = there_and_back(Frozen, Frozen(id="a", at=datetime(2030, 1, 1, tzinfo=timezone.utc)))
    assert hash(frozen) == hash(Frozen(id="a", at=datetime(2030, 1, 1, tzinfo=timezone.utc)))
    with pytest.raises(ValidationError):
        frozen.id = "b"


def test_cached_properties_are_not_stored() -> None:
    class Cached(BaseModel):
        n: int

        @cached_property
        def twice(self) -> int:
            return self.n * 2

    value = Cached(n=1)
    assert value.twice == 2
    assert shape(Cached).encode_item(value) == {"n": {"N": "1"}}
    assert there_and_back(Cached, Cached(n=1)).twice == 2


# ---- extra


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    n: int


class TypedOpen(BaseModel):
    __pydantic_extra__: dict[str, float]
    model_config = ConfigDict(extra="allow")
    n: int


def test_extra_values_keep_unknown_attributes() -> None:
    value = Open(n=1, more={"a": [1, None]})
    item = shape(Open).encode_item(value)
    assert item == {"n": {"N": "1"}, "more": {"M": {"a": {"L": [{"N": "1"}, {"NULL": True}]}}}}
    assert there_and_back(Open, value) == value
    read = shape(Open).decode_item({**item, "pk": {"S": "p"}}, ignore=frozenset({"pk"}))
    assert read.model_extra == {"more": {"a": [1, None]}}
    assert reads(Open, {"n": {"N": "1"}}).model_extra == {}


def test_extra_values_have_the_declared_type() -> None:
    value = TypedOpen(n=1, x=0.5)
    read = there_and_back(TypedOpen, value)
    assert read == value
    assert type(read.x) is float
    with pytest.raises(DecodeFailure, match=r"^\$\.model_extra\.x: a float expected, found a text"):
        shape(TypedOpen).decode_item({"n": {"N": "1"}, "x": {"S": "0.5"}})


def test_an_extra_value_never_overwrites_what_is_stored_anyway() -> None:
    value = Open.model_construct(n=1)
    assert value.model_extra is not None
    value.model_extra["n"] = 2
    with pytest.raises(EncodeError, match="an extra with the name of an attribute that is stored anyway; leave it out"):
        shape(Open).encode_item(value)


def test_unknown_attributes_are_no_matter_to_other_models() -> None:
    class Strict(BaseModel):
        model_config = ConfigDict(extra="forbid")
        n: int

    assert reads(Strict, {"n": {"N": "1"}, "new": {"S": "x"}}) == Strict(n=1)


def test_extra_values_that_would_be_lost_are_refused() -> None:
    @pydantic_dataclass(config=ConfigDict(extra="allow"))
    class OpenData:
        n: int

    with pytest.raises(ModelError, match="is a pydantic dataclass with extra='allow', whose extra values would not be"):
        shape(OpenData)

    class Twice(Open):
        rest: Annotated[dict[str, Any], Extras()] = {}

    with pytest.raises(ModelError, match=r"Twice\.model_extra: rest keeps the extras already; leave one Extras"):
        shape(Twice)


# ---- types


def test_annotations_of_pydantic() -> None:
    class Typed(BaseModel):
        positive: pydantic.PositiveInt
        text: Annotated[str, pydantic.StringConstraints(strip_whitespace=True)]
        aware: AwareDatetime
        past: pydantic.PastDate
        kind: Literal["typed"] = "typed"

    value = Typed(positive=1, text=" a ", aware=datetime(2020, 1, 1, tzinfo=timezone.utc), past="2020-01-01")
    assert there_and_back(Typed, value) == value


@pytest.mark.parametrize("hint", [pydantic.HttpUrl, pydantic.SecretStr, pydantic.NaiveDatetime])
def test_types_of_pydantic_that_are_more_than_annotations_say_what_to_do(hint: Any) -> None:
    made = pydantic.create_model("Made", x=(hint, ...))
    with pytest.raises(ModelError, match=r"^Made\.x: the type .* is not known; give the field Attribute\("):
        shape(made)


def test_attribute_functions_take_any_type() -> None:
    class Linked(BaseModel):
        url: Annotated[pydantic.HttpUrl, Attribute(encode=str, decode=pydantic.HttpUrl)]

    value = Linked(url="https://example.com/")
    assert shape(Linked).encode_item(value) == {"url": {"S": "https://example.com/"}}
    assert there_and_back(Linked, value) == value


def test_tagged_unions() -> None:
    class Card(BaseModel):
        kind: Literal["card"] = "card"

    class Cash(BaseModel):
        kind: Literal["cash"] = "cash"

    class Payment(BaseModel):
        by: Card | Cash = Field(discriminator="kind")

    assert there_and_back(Payment, Payment(by=Cash())) == Payment(by=Cash())


def test_models_of_functions() -> None:
    class Inner(BaseModel):
        later: Later | None = None

    class Later(BaseModel):
        n: int
        inner: Inner | None = None

    Inner.model_rebuild()
    value = Inner(later=Later(n=1, inner=Inner()))
    assert there_and_back(Inner, value) == value


def local_model() -> type[BaseModel]:
    class Part(BaseModel):
        n: int

    class Whole(BaseModel):
        part: Part

    return Whole


def test_a_model_of_a_function_that_has_returned_knows_what_pydantic_has_resolved() -> None:
    whole = local_model()
    assert there_and_back(whole, whole(part={"n": 1})) == whole(part={"n": 1})


# ---- as entities


@mapped("USER", pk="USER#{id}", sk="USER", version="revision")
class User(BaseModel):
    model_config = ConfigDict(frozen=True)
    id: str = Field(alias="userId")
    seen: AwareDatetime | None = None
    revision: int = 0


@mapped("BOX", pk="BOX#{id}", sk="BOX")
class EntityBox(BaseModel, Generic[T]):
    id: str
    value: T


def test_a_model_is_an_entity() -> None:
    table = Table("table", [User])
    user = User(userId="a")
    item = table.entity(User).encode(user)
    assert item == {
        "pk": {"S": "USER#a"},
        "sk": {"S": "USER"},
        "_type": {"S": "USER"},
        "id": {"S": "a"},
        "revision": {"N": "0"},
    }
    assert table.entity(User).decode({**item, "revision": {"N": "3"}}) == User(userId="a", revision=3)
    reference = F(User, lambda user: user.revision)
    resolved = table.entity(User).resolve(reference.owner, reference.path)
    assert resolved is not None
    assert resolved.attributes == ("revision",)


def test_a_key_may_be_an_aware_datetime() -> None:
    @mapped("AT", pk="AT#{id}", sk="AT#{at}")
    class Dated(BaseModel):
        id: str
        at: AwareDatetime

    key = Table("table", [Dated]).entity(Dated).key({"id": "a", "at": datetime(2030, 1, 1, tzinfo=timezone.utc)})
    assert key["sk"] == {"S": "AT#2030-01-01T00:00:00.000000Z"}


def test_a_generic_model_is_an_entity_with_its_arguments() -> None:
    table = Table("table", [EntityBox[int]])
    box = EntityBox[int](id="a", value=1)
    described = table.entity(EntityBox[int])
    assert described.decode(described.encode(box)) == box
    with pytest.raises(EncodeError, match=r"EntityBox\[int\] \$\.value: an int expected, got str"):
        described.encode(EntityBox[int].model_construct(id="a", value="x"))


def test_mapped_writes_nothing_onto_a_model() -> None:
    class Plain(BaseModel):
        id: str

    before = dict(vars(Plain))
    schema = Plain.model_json_schema()
    assert mapped("PLAIN", pk="P#{id}", sk="P")(Plain) is Plain
    Table("table", [Plain])
    after = dict(vars(Plain))
    assert after == before
    assert Plain.model_json_schema() == schema


@pytest.mark.parametrize(
    "make",
    [
        lambda: entity("X", pk="X#{id}")(type("X", (BaseModel,), {"__annotations__": {"id": str}})),
        lambda: entity("X", pk="X#{id}")(type("X", (Address,), {})),
        lambda: entity("X", pk="X#{a}")(Data),
        lambda: entity("X", pk="X#{a}")(type("X", (Data,), {"__annotations__": {"id": str}})),
    ],
)
def test_entity_leaves_pydantic_classes_to_mapped(make: Callable[[], object]) -> None:
    with pytest.raises(ModelError, match=r"@entity makes \w+ an attrs class itself, but pydantic made it; use @mapped"):
        make()


def test_an_undecorated_subclass_of_a_pydantic_dataclass_has_no_fields_of_its_own() -> None:
    class Sub(Data):
        d: int = 0

    with pytest.raises(ModelError, match=r"is no field, because .*Sub only inherits from Data, which is decorated"):
        shape(Sub)


# ---- evolve


class Account(BaseModel):
    id: str
    mail: str = Field(default="", validation_alias=AliasChoices(AliasPath("a", 0), "mailAddress"))
    low: int = 0
    high: int = Field(default=10, alias="top")
    made: str = Field(default_factory=lambda: "made")
    _hidden: int = PrivateAttr(default=0)

    @model_validator(mode="after")
    def _ordered(self) -> Account:
        if self.low > self.high:
            msg = "low > high"
            raise ValueError(msg)
        return self


def test_evolve_makes_a_changed_copy() -> None:
    account = Account(id="a", mailAddress="m")
    changed = evolve(account, low=12, high=15, mail="x")
    assert (changed.id, changed.mail, changed.low, changed.high) == ("a", "x", 12, 15)
    assert (account.low, account.high) == (0, 10)
    assert changed.model_fields_set == {"id", "mail", "low", "high"}
    user = User(userId="a")
    assert evolve(user, revision=2) == User(userId="a", revision=2)
    assert evolve(Box[int](value=1), value=2) == Box[int](value=2)
    assert evolve(Data(1, bee=[2]), b=[3]) == Data(1, bee=[3])
    assert evolve(SlottedData(a=1), a=2) == SlottedData(a=2)
    assert evolve(Open(n=1, x=2), n=3, y=4) == Open(n=3, x=2, y=4)


def test_evolve_validates() -> None:
    account = Account(id="a")
    with pytest.raises(ValidationError):
        evolve(account, low="many")
    with pytest.raises(ValidationError, match="low > high"):
        evolve(account, low=11)
    assert evolve(account, low="7").low == 7
    with pytest.raises(ValidationError):
        evolve(Data(1), a="x")


def test_evolve_refuses_what_has_no_such_field() -> None:
    for instance in (Account(id="a"), Data(1)):
        with pytest.raises(TypeError, match="has no field 'nope' that evolve"):
            evolve(instance, nope=1)
    # the field's own name counts, not its alias
    with pytest.raises(TypeError, match="has no field 'top'"):
        evolve(Account(id="a"), top=1)


def test_evolve_needs_a_keyword_for_each_field() -> None:
    class Deep(BaseModel):
        n: int = Field(validation_alias=AliasPath("a", 0))

    class Named(Deep):
        model_config = ConfigDict(populate_by_name=True)

    with pytest.raises(TypeError, match=r"evolve\(\) cannot give Deep its n, .*: set validate_by_name=True"):
        evolve(Deep(a=[1]), n=2)
    assert evolve(Named(n=1), n=2) == Named(n=2)


# ---- pydantic is not needed


def test_pydantic_is_not_imported() -> None:
    code = (
        "import sys, dynamap, dataclasses\n"
        "cls = dynamap.mapped('X', pk='X#{id}', sk='X')(dataclasses.make_dataclass('X', [('id', str)]))\n"
        "described = dynamap.Table('t', [cls]).entity(cls)\n"
        "described.decode(described.encode(cls('a')))\n"
        "dynamap.evolve(cls('a'), id='b')\n"
        "assert 'pydantic' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
