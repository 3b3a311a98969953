"""Every declared type with values of it, and ways to compare them exactly."""

from __future__ import annotations

import dataclasses
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, Flag, IntEnum
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, TypeVar
from uuid import UUID

import attrs
import cattrs

from dynamap.codec import Attribute, ClassShape, Context, EpochMillis, EpochSeconds, Normalize, class_shape

T = TypeVar("T")
UserId = NewType("UserId", str)


class Color(Enum):
    RED = "red"
    BLUE = "blue"
    GREEN = "vert"


class Level(IntEnum):
    LOW = 1
    HIGH = 10


class Rights(Flag):
    READ = 1
    WRITE = 2
    ADMIN = 4


class Word(str, Enum):
    YES = "yes"
    NO = "no"


class Mixed(Enum):
    ONE = 1
    TWO = "two"
    BYTES = b"3"


class Temperature:
    """A type that only the converter knows."""

    def __init__(self, degrees: int) -> None:
        self.degrees = degrees

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Temperature) and self.degrees == other.degrees

    def __hash__(self) -> int:
        return hash(self.degrees)

    def __repr__(self) -> str:
        return f"Temperature({self.degrees})"


@attrs.frozen
class Card:
    number: str
    kind: Literal["card"] = "card"


@attrs.frozen
class Transfer:
    account: int
    kind: Literal["transfer"] = "transfer"


@attrs.define
class Node:
    name: str
    next: Node | None = None
    children: list[Node] = attrs.field(factory=list)
    anything: Any = None


class Point(NamedTuple):
    x: int
    y: int | None = 5


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
    "dict": (dict[str, int], [{}, {"x": 1, "y": 2}]),
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


def shape_of_class(cls: Any) -> ClassShape:
    """The shape in a table whose converter knows Temperature."""
    converter = cattrs.Converter()
    converter.register_unstructure_hook(Temperature, lambda value: value.degrees)
    converter.register_structure_hook(Temperature, lambda value, _: Temperature(value))
    return class_shape(cls, context=Context(converter=converter))


def json_of(value: Any, tag: str = "") -> Any:
    """The value as it stands in JSON: base64 under B, and nothing else that is no base64."""
    if isinstance(value, bytes | bytearray):
        return b64encode(value).decode()
    if isinstance(value, Mapping):
        return {
            key: json_of(inner, key if len(value) == 1 or key in {"B", "BS"} else "") for key, inner in value.items()
        }
    if isinstance(value, list):
        return [json_of(inner, tag) for inner in value]
    if isinstance(value, str) and tag in {"B", "BS"}:
        return b64encode(value.encode("utf-8", "replace")).decode()
    return value


def exact(value: Any) -> Any:
    """The value in a form that is equal only for the same types, digits and fields, at all depths."""
    if dataclasses.is_dataclass(value) or attrs.has(type(value)):
        names = [
            field.name for field in (attrs.fields(type(value)) if attrs.has(type(value)) else dataclasses.fields(value))
        ]
        return type(value), [(name, exact(getattr(value, name, attrs.NOTHING))) for name in names]
    if isinstance(value, Mapping):
        return type(value), [(exact(key), exact(inner)) for key, inner in value.items()]
    if isinstance(value, list | tuple):
        return type(value), [exact(inner) for inner in value]
    if isinstance(value, set | frozenset):
        return type(value), sorted(map(repr, map(exact, value)))
    return type(value), repr(value)
