"""Each kind of class, each type, written and read by generated code: the interpreter stands by and is not called."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, TypeVar
from uuid import UUID

import attrs
import msgspec
import pydantic
import pydantic.dataclasses
import pytest

from dynamap.codec import (
    AnyShape,
    Attribute,
    Binary,
    Boolean,
    ClassShape,
    Date,
    DateTime,
    Duration,
    EnumShape,
    EpochMillis,
    EpochNumber,
    EpochSeconds,
    EpochTime,
    Extras,
    Float,
    Integer,
    ListOf,
    LiteralShape,
    MapOf,
    Normalize,
    Normalized,
    Number,
    OptionalShape,
    Reference,
    SetOf,
    Shape,
    Text,
    Time,
    TupleOf,
    Uuid,
)
from dynamap.codec.generated import compiled
from tests.class_strategies import (
    Card,
    Color,
    Level,
    Mixed,
    Point,
    Rights,
    Temperature,
    Transfer,
    Word,
    exact,
    json_of,
    shape_of_class,
)

T = TypeVar("T")
UserId = NewType("UserId", str)


@attrs.define
class Address:
    city: str
    zip_code: int = 5
    tags: set[str] = attrs.field(factory=set)
    note: str | None = None


@dataclass
class Line:
    sku: str
    price: Decimal | None
    moves: list[tuple[int, date]] = field(default_factory=list)
    total: int = field(default=0, init=False)


@attrs.define
class Link:
    name: str
    next: Link | None = None
    others: list[Link] = attrs.field(factory=list)


@attrs.frozen
class Box(Generic[T]):
    content: T


class Own:
    """A class whose `__init__` is written by hand."""

    def __init__(self, value: Any, other: int = 3) -> None:
        self.value = value
        self.other = other


def hint_of(container: Any, *arguments: Any) -> Any:
    return container[arguments]


UTC_TIME = datetime(2025, 12, 17, 21, 47, 8, 305464, timezone.utc)
OFFSET = timezone(timedelta(hours=2))

# a type and values of it; none of them needs the interpreter
GENERATED: dict[str, tuple[Any, list[Any]]] = {
    "str": (str, ["", "x", "ü", "\U0001f600"]),
    "int": (int, [0, -1, 10**38 - 1, 1 - 10**38]),
    "bool": (bool, [True, False]),
    "float": (float, [0.0, -0.5, 1e16, 1e-7, 30.4]),
    "Decimal": (Decimal, [Decimal(0), Decimal("-1.5"), Decimal(12), Decimal("1E-20"), Decimal("1E+20")]),
    "bytes": (bytes, [b"", b"\xff"]),
    "bytearray": (bytearray, [bytearray(b"x")]),
    "UUID": (UUID, [UUID(int=5)]),
    "Enum": (Color, list(Color)),
    "str Enum": (Word, list(Word)),
    "IntEnum": (Level, list(Level)),
    "Flag": (Rights, [Rights.READ, Rights.READ | Rights.WRITE, Rights(0)]),
    "datetime": (datetime, [UTC_TIME, datetime(33, 1, 1, tzinfo=timezone.utc)]),
    "datetime as seconds": (Annotated[datetime, EpochSeconds()], [UTC_TIME.replace(microsecond=0)]),
    "datetime as milliseconds": (Annotated[datetime, EpochMillis()], [UTC_TIME.replace(microsecond=305000)]),
    "int as seconds": (Annotated[int, EpochSeconds()], [0, 1_700_000_000]),
    "float as milliseconds": (Annotated[float, EpochMillis()], [5.0]),
    "date": (date, [date(2025, 2, 28), date(1, 1, 1)]),
    "time": (time, [time(1, 2), time(1, 2, 3, 4, OFFSET)]),
    "timedelta": (timedelta, [timedelta(0), timedelta(5), timedelta(microseconds=-1)]),
    "Literal of texts": (Literal["a", "b"], ["a", "b"]),
    "Literal of numbers": (Literal[1, 2], [1, 2]),
    "NewType": (UserId, [UserId("u")]),
    "Normalize": (Annotated[str, Normalize(str.casefold)], ["x"]),
    "Optional": (str | None, ["", None]),
    "Optional number": (int | None, [0, None]),
    "Optional set": (set[str] | None, [{"x"}, set(), None]),
    "Optional class": (Address | None, [Address("Rome"), None]),
    "set of texts": (set[str], [set(), {"b", "a", "ü"}]),
    "set of numbers": (set[int], [{1, 20, 3}]),
    "set of bytes": (set[bytes], [{b"b", b"a"}]),
    "frozenset of Decimals": (frozenset[Decimal], [frozenset(), frozenset({Decimal("1.5")})]),
    "set of enums": (set[Color], [{Color.RED, Color.BLUE}]),
    "set of normalized": (set[Annotated[str, Normalize(str.casefold)]], [{"x", "y"}]),
    "list": (list[str], [[], ["x", ""]]),
    "list of Optional": (list[int | None], [[1, None]]),
    "list of sets": (list[set[str]], [[set(), {"x"}]]),
    "list of classes": (list[Address], [[Address("Rome", 1, {"x"}, "n"), Address("Oslo")]]),
    "Sequence": (Sequence[bool], [[True]]),
    "tuple": (tuple[str, ...], [(), ("x",)]),
    "tuple of two": (tuple[str, int | None], [("x", None), ("x", 1)]),
    "tuple of one": (tuple[Address], [(Address("x"),)]),
    "tuple of none": (hint_of(tuple, ()), [()]),
    "dict": (dict[str, int], [{}, {"x": 1, "": 2}]),
    "Mapping": (Mapping[str, int], [{"x": 1}]),
    "dict with int keys": (dict[int, str], [{1: "x", -2: "y"}]),
    "dict with bool keys": (dict[bool, str], [{True: "x", False: "y"}]),
    "dict with UUID keys": (dict[UUID, str], [{UUID(int=5): "x"}]),
    "dict with enum keys": (dict[Color, list[int]], [{Color.RED: [1]}]),
    "dict with normalized keys": (dict[Annotated[str, Normalize(str.casefold)], int], [{"x": 1}]),
    "dict of classes": (dict[str, Address], [{"home": Address("Rome")}]),
    "attrs class": (Address, [Address("Rome", 7, {"x"}, "note")]),
    "dataclass": (Line, [Line("a", None), Line("b", Decimal("1.5"), [(1, date(2020, 1, 1))])]),
    "NamedTuple": (Point, [Point(1), Point(1, None)]),
    "generic class": (Box[list[int]], [Box([1, 2])]),
    "class with itself inside": (Link, [Link("a"), Link("a", Link("b", None, [Link("c")]), [Link("d")])]),
    "lists of lists": (list[list[list[list[list[list[int]]]]]], [[[[[[[1], []]]]]]]),
}
# kinds whose values the interpreter's shapes encode and decode, called by generated code
CALLED: dict[str, tuple[Any, list[Any]]] = {
    "Any": (Any, [None, 1, "x", {"x": [1, None]}, {1, 2}]),
    "Optional Any": (list[Any], [[None, "x"]]),
    "set of any": (set, [{"x"}, {1, Decimal("1.5")}]),
    "union": (str | int, ["x", 5]),
    "union with a set": (set[str] | int, [set(), {"x"}, 5]),
    "union with tags": (Card | Transfer, [Card("1"), Transfer(1)]),
    "converted": (Temperature, [Temperature(5)]),
    "encode and decode": (Annotated[int, Attribute(encode=str, decode=int)], [5]),
    "Literal of several kinds": (Literal["a", 1, True], ["a", 1, True]),
    "Enum of several kinds": (Mixed, list(Mixed)),
}


def _dataclass_of(**options: Any) -> Callable[[Any], Any]:
    return lambda hint: make_dataclass("Holder", [("value", hint), ("other", int, field(default=3))], **options)


def _attrs_of(**options: Any) -> Callable[[Any], Any]:
    return lambda hint: attrs.define(**options)(
        type("Holder", (), {"__annotations__": {"value": hint, "other": int}, "other": 3, "__module__": __name__})
    )


def _hooked(hint: Any) -> Any:
    namespace = {
        "__annotations__": {"value": hint, "other": int},
        "other": attrs.field(default=3, init=False),
        "__attrs_post_init__": lambda self: None,
    }
    return attrs.define(type("Holder", (), namespace))


def _named_tuple(hint: Any) -> Any:
    return NamedTuple("Holder", [("value", hint), ("other", int)])


def _by_hand(hint: Any) -> Any:
    return attrs.define(init=False)(
        type("Holder", (Own,), {"__annotations__": {"value": hint, "other": int}, "other": 3, "__init__": Own.__init__})
    )


def _without_init(hint: Any) -> Any:
    return make_dataclass("Holder", [("value", hint), ("other", int, field(default=3))], init=False)


def _keeping_extras(hint: Any) -> Any:
    return make_dataclass(
        "Holder",
        [
            ("value", hint),
            ("other", int, 3),
            ("rest", Annotated[dict[str, str], Extras()], field(default_factory=dict)),
        ],
    )


def _pydantic_model(hint: Any) -> Any:
    config = pydantic.ConfigDict(arbitrary_types_allowed=True)
    return pydantic.create_model("Holder", __config__=config, value=(hint, ...), other=(int, 3))


def _pydantic_dataclass(hint: Any) -> Any:
    bare = type("Holder", (), {"__annotations__": {"value": hint, "other": int}, "other": 3})
    return pydantic.dataclasses.dataclass(config=pydantic.ConfigDict(arbitrary_types_allowed=True))(bare)


CLASSES: dict[str, Callable[[Any], Any]] = {
    "attrs": _attrs_of(),
    "frozen attrs": _attrs_of(frozen=True),
    "attrs by keyword": _attrs_of(kw_only=True),
    "attrs without slots": _attrs_of(slots=False),
    "attrs with a hook": _hooked,
    "attrs with an own init": _by_hand,
    "dataclass": _dataclass_of(),
    "frozen dataclass": _dataclass_of(frozen=True, slots=True),
    "dataclass by keyword": _dataclass_of(kw_only=True),
    "dataclass without init": _without_init,
    "dataclass with extras": _keeping_extras,
    "NamedTuple": _named_tuple,
    "pydantic model": _pydantic_model,
    "pydantic dataclass": _pydantic_dataclass,
}

INTERPRETED = ["encode", "decode", "encode_attribute", "decode_attribute", "encode_key", "decode_key"]
GENERATED_SHAPES: list[type[Shape]] = [
    *(Text, Integer, Float, Number, Boolean, Binary, Uuid, DateTime, Date, Time, Duration, EpochTime, EpochNumber),
    *(EnumShape, LiteralShape, ListOf, TupleOf, SetOf, MapOf, ClassShape, OptionalShape, Normalized, Reference),
]


def _called(*_: Any, **__: Any) -> Any:
    msg = "the interpreter was called"
    raise AssertionError(msg)


@pytest.fixture
def no_items(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let the interpreter take no whole item any more."""

    def forbid() -> None:
        monkeypatch.setattr(ClassShape, "encode_item", _called)
        monkeypatch.setattr(ClassShape, "decode_item", _called)

    return forbid


@pytest.fixture
def no_interpreter(monkeypatch: pytest.MonkeyPatch, no_items: Callable[[], None]) -> Callable[[], None]:
    """Let no shape encode or decode anything any more."""

    def forbid() -> None:
        no_items()
        for shape in [*GENERATED_SHAPES, AnyShape]:
            for name in INTERPRETED:
                monkeypatch.setattr(shape, name, _called)

    return forbid


def holders(cls: Any, values: list[Any]) -> Iterator[Any]:
    for value in values:
        if issubclass(cls, pydantic.BaseModel):
            yield cls.model_construct(value=value, other=7)
            continue
        holder: Any = cls.__new__(cls, value, 3) if issubclass(cls, tuple) else object.__new__(cls)
        if not issubclass(cls, tuple):
            object.__setattr__(holder, "value", value)
            object.__setattr__(holder, "other", 7)
            if "rest" in cls.__annotations__:
                object.__setattr__(holder, "rest", {"later": "x"})
        yield holder


def check(kind: str, hint: Any, values: list[Any], forbid: Callable[[], None]) -> None:
    """Encode and decode by generated code what the interpreter has encoded and decoded before it was forbidden."""
    shape = shape_of_class(CLASSES[kind](hint))
    code = compiled(shape)
    instances = list(holders(shape.cls, values))
    items = [shape.encode_item(instance) for instance in instances]
    read = [exact(shape.decode_item(item)) for item in items]
    bodies = [json.dumps(json_of(item)).encode() for item in items]
    raw_type = code.raw_type
    # what is generated is generated now
    code.encode_item(instances[0])
    code.decode_item(items[0])
    code.decode_struct(msgspec.json.decode(bodies[0], type=raw_type))
    forbid()
    for instance, item, body, expected in zip(instances, items, bodies, read, strict=True):
        assert exact(code.encode_item(instance)) == exact(item)
        assert exact(code.decode_item(item)) == expected
        assert exact(code.decode_struct(msgspec.json.decode(body, type=raw_type))) == expected


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("name", GENERATED)
def test_no_interpreter_is_needed_for(name: str, kind: str, no_interpreter: Callable[[], None]) -> None:
    check(kind, *GENERATED[name], no_interpreter)


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("name", CALLED)
def test_only_the_value_is_left_to_the_interpreter_for(name: str, kind: str, no_items: Callable[[], None]) -> None:
    check(kind, *CALLED[name], no_items)


def test_the_interpreter_would_be_seen(no_interpreter: Callable[[], None]) -> None:
    code = compiled(shape_of_class(Address))
    assert code.encode_item(Address("Rome"))
    no_interpreter()
    with pytest.raises(AssertionError, match="the interpreter was called"):
        code.encode_item(Address(5))  # type: ignore[arg-type]
