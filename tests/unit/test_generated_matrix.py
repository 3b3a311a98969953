"""Each kind of class, each type, written and read by generated code: the interpreter stands by and is not called."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, make_dataclass
from typing import Annotated, Any, NamedTuple

import attrs
import msgspec
import pydantic
import pydantic.dataclasses
import pytest

from dynamap.codec import (
    AnyShape,
    Binary,
    Boolean,
    ClassShape,
    Date,
    DateTime,
    Duration,
    EnumShape,
    EpochNumber,
    EpochTime,
    Extras,
    Float,
    Integer,
    ListOf,
    LiteralShape,
    MapOf,
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
from tests.comparing import KEYS, written_as_json
from tests.value_types import CALLED, GENERATED, Address, Link, exact, json_of, shape_of_class


class Own:
    """A class whose `__init__` is written by hand."""

    def __init__(self, value: Any, other: int = 3) -> None:
        self.value = value
        self.other = other


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
    code.json_encoder(None, KEYS, {})
    code.decode_item(items[0])
    code.decode_struct(msgspec.json.decode(bodies[0], type=raw_type))
    many = code.decode_structs if shape.extras is None else None
    forbid()
    for instance, item, body, expected in zip(instances, items, bodies, read, strict=True):
        assert exact(code.encode_item(instance)) == exact(item)
        if shape.extras is None:
            assert exact(written_as_json(shape, instance)) == exact(item)
        assert exact(code.decode_item(item)) == expected
        assert exact(code.decode_struct(msgspec.json.decode(body, type=raw_type))) == expected
    if many is not None:
        made: list[Any] = []
        many([msgspec.json.decode(body, type=raw_type) for body in bodies], made.append)
        assert [exact(each) for each in made] == read


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("name", GENERATED)
def test_no_interpreter_is_needed_for(name: str, kind: str, no_interpreter: Callable[[], None]) -> None:
    check(kind, *GENERATED[name], no_interpreter)


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("name", CALLED)
def test_only_the_value_is_left_to_the_interpreter_for(name: str, kind: str, no_items: Callable[[], None]) -> None:
    check(kind, *CALLED[name], no_items)


def test_no_interpreter_is_needed_for_an_item_with_its_like_inside(no_interpreter: Callable[[], None]) -> None:
    code = compiled(shape_of_class(Link))
    link = Link("a", Link("b", None, [Link("c")]), [Link("d")])
    item = code.encode_item(link)
    assert item == code.shape.encode_item(link)
    body = json.dumps(item).encode()
    code.decode_item(item)
    code.decode_struct(msgspec.json.decode(body, type=code.raw_type))
    no_interpreter()
    assert code.encode_item(link) == item
    assert code.decode_item(item) == link
    assert code.decode_struct(msgspec.json.decode(body, type=code.raw_type)) == link


def test_no_interpreter_is_needed_for_fields_that_the_class_computes(no_interpreter: Callable[[], None]) -> None:
    @dataclass
    class Doubling:
        size: int
        double: int = field(init=False)

        def __post_init__(self) -> None:
            self.double = self.size * 2

    code = compiled(shape_of_class(Doubling))
    code.decode_item({"size": {"N": "4"}})
    no_interpreter()
    assert code.decode_item({"size": {"N": "4"}}).double == 8


def test_the_interpreter_would_be_seen(no_interpreter: Callable[[], None]) -> None:
    code = compiled(shape_of_class(Address))
    assert code.encode_item(Address("Rome"))
    no_interpreter()
    with pytest.raises(AssertionError, match="the interpreter was called"):
        code.encode_item(Address(5))  # type: ignore[arg-type]
