"""Each kind of class with each type of value: put, get, and an update that changes every value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, Flag, IntEnum
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, Optional, TypeVar
from uuid import UUID

import attrs
import pytest
from pydantic import BaseModel, ConfigDict, create_model
from pydantic import Field as ModelField
from pydantic.dataclasses import dataclass as pydantic_dataclass

from dynamap import Attribute, EpochMillis, EpochSeconds, Normalize, Table, connect, entity, evolve, mapped
from tests.backends import Backend
from tests.modes import RawTable

T = TypeVar("T")

# ---- kinds of classes: each makes one with a text `id`, these fields, and for each another that may be None


def _body(hints: dict[str, Any]) -> dict[str, Any]:
    return {
        "__annotations__": {"id": str, **hints, **{f"{name}_too": _spare(hint) for name, hint in hints.items()}},
        "__module__": __name__,
        **{f"{name}_too": None for name in hints},
    }


def _spare(hint: Any) -> Any:
    """The same type where it may be None; a name is one field's alone."""
    named = any(isinstance(each, Attribute) and each.name for each in getattr(hint, "__metadata__", ()))
    return Optional[hint.__origin__ if named else hint]  # noqa: UP045  (`|` is for types that know it)


def _entity(**options: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda hints: entity("X", pk="X#{id}", sk="X", **options)(type("X", (), _body(hints)))


def _adopted(make: Callable[..., Any], **options: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda hints: mapped("X", pk="X#{id}", sk="X")(make(**options)(type("X", (), _body(hints))))


def _model(**config: Any) -> Callable[[dict[str, Any]], Any]:
    def make(hints: dict[str, Any]) -> Any:
        fields: dict[str, Any] = {name: (hint, ...) for name, hint in hints.items()}
        for name, hint in hints.items():
            fields[f"{name}_too"] = (_spare(hint), ModelField(default=None, alias=f"alias-of-{name}"))
        return mapped("X", pk="X#{id}", sk="X")(
            create_model("X", __config__=ConfigDict(**config), __module__=__name__, id=(str, ...), **fields)
        )

    return make


KINDS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "entity": _entity(),
    "frozen entity": _entity(frozen=True, kw_only=True),
    "dataclass": _adopted(dataclass),
    "frozen slotted dataclass": _adopted(dataclass, frozen=True, slots=True),
    "keyword dataclass": _adopted(dataclass, kw_only=True),
    "attrs.define": _adopted(attrs.define),
    "attrs.frozen": _adopted(attrs.frozen, kw_only=True),
    "unslotted attrs": _adopted(attrs.define, slots=False),
    "pydantic model": _model(),
    "frozen pydantic model": _model(frozen=True),
    "pydantic dataclass": _adopted(pydantic_dataclass),
    "frozen pydantic dataclass": _adopted(pydantic_dataclass, frozen=True, slots=True, kw_only=True),
}

# ---- types of values: each with two that differ


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 10


class Rights(Flag):
    READ = 1
    WRITE = 2


class Point(NamedTuple):
    x: int
    y: float


@attrs.frozen
class Line:
    sku: str
    price: Decimal = Decimal(1)
    codes: frozenset[int] = frozenset()


@dataclass
class Address:
    city: str
    lines: list[str] = field(default_factory=list)
    next: Address | None = None


class Model(BaseModel):
    name: str
    at: datetime | None = None
    inner: list[Model] = []


@dataclass
class Box(Generic[T]):
    value: T


@attrs.frozen
class Card:
    number: str
    kind: Literal["card"] = "card"


@attrs.frozen
class Cash:
    kind: Literal["cash"] = "cash"


UserId = NewType("UserId", str)
NOON = datetime(2030, 1, 2, 12, 30, 45, 123456, tzinfo=timezone.utc)
WHOLE = datetime(2030, 1, 2, 12, 30, 45, tzinfo=timezone.utc)
PRECISE = Decimal(12345678901234567890123456789012345678)

TYPES: dict[str, tuple[Any, Any, Any]] = {
    "str": (str, "", "näh \U0001f600\x00#"),
    "int": (int, 0, -(10**37)),
    "bool": (bool, True, False),
    "float": (float, 0.1, -1e-100),
    "Decimal": (Decimal, PRECISE, Decimal("-0.000000001")),
    "bytes": (bytes, b"", b"\x00\xff"),
    "UUID": (UUID, UUID(int=0), UUID(int=2**128 - 1)),
    "datetime": (datetime, NOON, datetime(1, 1, 1, tzinfo=timezone.utc)),
    "date": (date, date(2024, 2, 29), date(9999, 12, 31)),
    "time": (time, time(0), time(23, 59, 59, 999999)),
    "timedelta": (timedelta, timedelta(0), timedelta(days=-1, microseconds=1)),
    "epoch seconds": (Annotated[datetime, EpochSeconds()], WHOLE, WHOLE + timedelta(seconds=1)),
    "epoch milliseconds": (Annotated[datetime, EpochMillis()], WHOLE, WHOLE + timedelta(milliseconds=1)),
    "Enum": (Colour, Colour.RED, Colour.BLUE),
    "IntEnum": (Level, Level.LOW, Level.HIGH),
    "Flag": (Rights, Rights(0), Rights.READ | Rights.WRITE),
    "Literal": (Literal["a", 1, True], "a", True),
    "NewType": (UserId, UserId("a"), UserId("b")),
    "Optional": (int | None, None, 3),
    "Optional set": (set[int] | None, None, set()),
    "set of str": (set[str], {"a"}, set()),
    "set of int": (frozenset[int], frozenset({1, -2}), frozenset()),
    "set of bytes": (set[bytes], {b"a"}, {b"b", b"c"}),
    "set of Enum": (set[Colour], {Colour.RED}, {Colour.RED, Colour.BLUE}),
    "list": (list[Decimal], [], [Decimal("1.5"), Decimal(2)]),
    "list of sets": (list[set[str]], [set(), {"a"}], [{"b"}]),
    "tuple": (tuple[int, str, None], (1, "a", None), (2, "", None)),
    "long tuple": (tuple[date, ...], (), (date(2020, 1, 1), date(2021, 1, 1))),
    "dict": (dict[str, int], {}, {"a.b": 1, "b": 2}),
    "dict of UUID": (dict[UUID, list[bool]], {UUID(int=1): [True]}, {UUID(int=2): []}),
    "dict of int": (dict[int, float | None], {1: None}, {-2: 0.5}),
    "attrs": (Line, Line("a"), Line("b", Decimal("0.1"), frozenset({1}))),
    "dataclass": (Address, Address("x"), Address("x", ["y"], Address("z"))),
    "NamedTuple": (Point, Point(1, 0.5), Point(2, 2.5)),
    "model": (Model, Model(name="a"), Model(name="a", at=NOON, inner=[Model(name="b")])),
    "list of attrs": (list[Line], [], [Line("a"), Line("b")]),
    "dict of dataclasses": (dict[str, Address], {"a": Address("x")}, {"b": Address("y", ["z"])}),
    "generic": (Box[int], Box(1), Box(2)),
    "union": (int | str | bytes | None, 1, "1"),
    "union of classes": (Card | Cash, Card("1"), Cash()),
    "Any": (Any, {"a": [1, None, True, Decimal("0.5")]}, "text"),
    "renamed": (Annotated[str, Attribute("other.name")], "a", "b"),
    "normalized": (Annotated[str, Normalize(str.lower)], "a", "b"),
    "own functions": (
        Annotated[complex, Attribute(encode=lambda c: [c.real, c.imag], decode=lambda p: complex(*map(float, p)))],
        1j,
        complex(0.5, -1),
    ),
}

# pydantic has no schema for attrs classes, and says so when the class is made
NOT_IN_PYDANTIC = {"attrs", "list of attrs", "union of classes"}


def alike(found: Any, wanted: Any) -> bool:
    """Equal, and of the same types all the way down: 1, True, 1.0 and Decimal(1) are four."""
    if type(found) is not type(wanted) or found != wanted:
        return False
    if isinstance(wanted, dict):
        return all(alike(*pair) for pair in zip(found.items(), wanted.items(), strict=True))
    if isinstance(wanted, list | tuple):
        return all(alike(*pair) for pair in zip(found, wanted, strict=True))
    if isinstance(wanted, set | frozenset):
        return sorted(map(repr, found)) == sorted(map(repr, wanted))
    if isinstance(wanted, float):
        return repr(found) == repr(wanted)
    if hasattr(wanted, "__dict__") and not isinstance(wanted, Enum):
        return alike(vars(found), vars(wanted))
    return True


def unlike(found: Any, wanted: Any, names: dict[str, str]) -> list[str]:
    """The types whose values are not what they should be."""
    assert type(found) is type(wanted)
    assert found == wanted
    return [
        f"{what}: {getattr(found, name)!r}, not {getattr(wanted, name)!r}"
        for field_name, what in names.items()
        for name in (field_name, f"{field_name}_too")
        if not alike(getattr(found, name), getattr(wanted, name))
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_class_holds_each_type(kind: str, backend: Backend, raw: RawTable) -> None:
    names = {
        f"field{number}": what
        for number, what in enumerate(TYPES)
        if not ("pydantic" in kind and what in NOT_IN_PYDANTIC)
    }
    cls = KINDS[kind]({name: TYPES[what][0] for name, what in names.items()})
    items = connect(Table(raw.name, [cls]), client=backend.client).of(cls)

    first = cls(id="a", **{name: TYPES[what][1] for name, what in names.items()})
    assert unlike(items.put(first).send(), first, names) == []
    read = items.get(id="a").strongly_consistent().required().send()
    assert unlike(read, first, names) == []

    changes = {name: TYPES[what][2] for name, what in names.items()}
    spares = {f"{name}_too": TYPES[what][1] for name, what in names.items()}
    second = evolve(read, **changes, **spares)
    assert unlike(items.update(read).to(second).send(), second, names) == []
    assert unlike(items.get(id="a").strongly_consistent().required().send(), second, names) == []


@pytest.mark.parametrize("what", TYPES)
def test_each_kind_of_class_holds_each_type_alone(what: str) -> None:
    hint, one, other = TYPES[what]
    for kind, make in KINDS.items():
        if "pydantic" in kind and what in NOT_IN_PYDANTIC:
            continue
        cls = make({"field": hint})
        described = Table("table", [cls]).entity(cls)
        for value in (one, other):
            for instance in (cls(id="a", field=value), evolve(cls(id="a", field=one), field=value, field_too=value)):
                read = described.decode(described.encode(instance))
                assert unlike(read, instance, {"field": what}) == [], kind
