"""Classes stay the user's own: what they are, what instances can do, and how fast their attributes are."""

from __future__ import annotations

import copy
import dataclasses
import gc
import inspect
import pickle
import sys
import timeit
import types
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Generic, TypeVar

import attrs
import pytest
from pydantic import BaseModel, ConfigDict, PrivateAttr
from pydantic.dataclasses import dataclass as pydantic_dataclass

from dynamap import F, Table, entity, evolve, mapped
from dynamap.codec.generated import compiled

T = TypeVar("T")


class Body:
    """The part that all of them have in common; methods are the user's own."""

    __slots__ = ()

    def shout(self) -> str:
        return str(getattr(self, "id", "")).upper()


@dataclass
class Data(Body):
    id: str
    n: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenData(Body):
    id: str
    n: int = 0


@dataclass(order=True, unsafe_hash=True)
class OrderedData(Body):
    id: str
    n: int = dataclasses.field(default=0, compare=False, repr=False)


@attrs.define
class Defined(Body):
    id: str
    n: int = 0


@attrs.frozen(kw_only=True)
class FrozenAttrs(Body):
    id: str
    n: int = 0


@attrs.define(slots=False, eq=False)
class Unslotted(Body):
    id: str
    n: int = 0


class Model(BaseModel):
    id: str
    n: int = 0
    _secret: int = PrivateAttr(default=1)

    def shout(self) -> str:
        return self.id.upper()


class FrozenModel(BaseModel):
    model_config = ConfigDict(frozen=True)
    id: str
    n: int = 0

    def shout(self) -> str:
        return self.id.upper()


@pydantic_dataclass
class ModelData(Body):
    id: str
    n: int = 0


ADOPTED: list[Any] = [
    Data,
    FrozenData,
    OrderedData,
    Defined,
    FrozenAttrs,
    Unslotted,
    Model,
    FrozenModel,
    ModelData,
]


def state(cls: type[Any]) -> dict[str, Any]:
    """Everything that stands on the class and on its bases, down to each annotation."""
    return {
        f"{base.__qualname__}.{name}": dict(value) if isinstance(value, types.MappingProxyType | dict) else value
        for base in cls.__mro__[:-1]
        for name, value in vars(base).items()
        # what the machinery of abstract classes caches
        if name != "_abc_impl"
    }


BEFORE = {cls: state(cls) for cls in ADOPTED}

for _cls in ADOPTED:
    assert mapped(_cls.__name__, pk=f"{_cls.__name__}#{{id}}", sk="X")(_cls) is _cls


@entity("MADE", pk="MADE#{id}", sk="X")
class Made(Body):
    id: str
    n: int = 0


@entity("FROZEN", pk="FROZEN#{id}", sk="X", frozen=True, kw_only=True)
class FrozenMade(Body):
    id: str
    n: int = 0


TABLE = Table("table", [*ADOPTED, Made, FrozenMade])
EVERY = [*ADOPTED, Made, FrozenMade]
every_class = pytest.mark.parametrize("cls", EVERY)


def read(instance: Any) -> Any:
    """What comes back of an instance that is stored, by the interpreter and by generated code."""
    described = TABLE.entity(type(instance))
    item = described.encode(instance)
    one, other = described.decode(item), compiled(described.shape).decode_item(item)
    assert vars_of(one) == vars_of(other) == vars_of(instance)
    return one


def vars_of(instance: Any) -> dict[str, Any]:
    return {name: getattr(instance, name) for name in ("id", "n")}


@pytest.mark.parametrize("cls", ADOPTED)
def test_nothing_is_written_onto_a_class_that_is_adopted(cls: Any) -> None:
    read(cls(id="a", n=1))
    evolve(cls(id="a"), n=2)
    F(cls, lambda one: one.n)
    after = state(cls)
    assert list(after) == list(BEFORE[cls])
    assert after == BEFORE[cls]


@every_class
def test_instances_hold_their_fields_and_nothing_else(cls: Any) -> None:
    for instance in (cls(id="a", n=1), read(cls(id="a", n=1)), evolve(cls(id="b", n=1), id="a")):
        plain = {"id": "a", "n": 1}
        if hasattr(instance, "__dict__"):
            assert vars(instance) == plain
        assert vars_of(instance) == plain
        assert instance.shout() == "A"
        assert type(instance.id) is str
        assert type(instance.n) is int


@every_class
def test_signature_docstring_and_names_stay(cls: Any) -> None:
    assert list(inspect.signature(cls).parameters) == ["id", "n"]
    assert cls.__module__ == __name__
    assert getattr(sys.modules[__name__], cls.__qualname__) is cls


WAYS: dict[str, Callable[[Any], Any]] = {
    "pickled": lambda one: pickle.loads(pickle.dumps(one)),
    "pickled as of old": lambda one: pickle.loads(pickle.dumps(one, protocol=2)),
    "copied": copy.copy,
    "copied deeply": copy.deepcopy,
    "stored": read,
    "evolved": evolve,
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@every_class
def test_copies_are_equal_and_of_the_class(cls: Any, way: Callable[[Any], Any]) -> None:
    original = cls(id="a", n=1)
    # what was read can be copied as well as what was made
    for instance in (original, read(original)):
        copied = way(instance)
        assert type(copied) is cls
        assert copied is not instance
        assert vars_of(copied) == vars_of(original)
        assert (copied == original) is (cls is not Unslotted)


@every_class
def test_equality_hash_and_order_are_as_declared(cls: Any) -> None:
    one, two = read(cls(id="a", n=1)), cls(id="a", n=1)
    hashable = cls in (FrozenData, OrderedData, FrozenAttrs, Unslotted, FrozenModel, FrozenMade)
    assert (cls.__hash__ is not None) is hashable
    if hashable:
        assert (hash(one) == hash(two)) is (cls is not Unslotted)
        assert len({one, two}) == (2 if cls is Unslotted else 1)
    if cls is OrderedData:
        assert cls("a", 5) == cls("a", 6)
        assert cls("a", 5) < cls("b", 1)
    else:
        assert cls(id="a", n=1) != cls(id="a", n=2)
        with pytest.raises(TypeError):
            assert cls(id="a") < cls(id="b")


@every_class
def test_frozen_stays_frozen_and_the_rest_can_be_changed(cls: Any) -> None:
    instance = read(cls(id="a", n=1))
    if cls in (FrozenData, FrozenAttrs, FrozenModel, FrozenMade):
        with pytest.raises((AttributeError, ValueError)):
            instance.n = 2
    else:
        instance.n = 2
        assert instance.n == 2
    slotted = cls in (FrozenData, Defined, FrozenAttrs, Made, FrozenMade)
    assert hasattr(instance, "__dict__") is not slotted


@every_class
def test_classes_and_instances_are_garbage_as_before(cls: Any) -> None:
    if cls is FrozenData:
        # dataclass(slots=True) leaves no room for a weak reference, by itself
        with pytest.raises(TypeError, match="weak reference"):
            weakref.ref(read(cls(id="a")))
        return
    instance = read(cls(id="a"))
    reference = weakref.ref(instance)
    del instance
    gc.collect()
    assert reference() is None


def test_a_class_in_a_table_that_is_gone_is_gone_too() -> None:
    def local() -> list[weakref.ref[Any]]:
        adopted = mapped("L", pk="L#{id}", sk="L")(dataclasses.make_dataclass("Local", [("id", str)]))
        made = entity("M", pk="M#{id}", sk="M")(type("Made", (), {"__annotations__": {"id": str}}))
        for cls in (adopted, made):
            described = Table("table", [cls]).entity(cls)
            described.decode(described.encode(cls("a")))
        return [weakref.ref(adopted), weakref.ref(made)]

    references = local()
    for _ in references:
        gc.collect()
    assert [reference() for reference in references] == [None, None]


@pytest.mark.parametrize("cls", [cls for cls in EVERY if cls is not ModelData])
def test_subclassing_works(cls: Any) -> None:
    class Sub(cls):  # type: ignore[misc]
        def shout(self) -> str:
            return f"{super().shout()}!"

    assert Sub(id="a").shout() == "A!"
    assert isinstance(Sub(id="a", n=2), cls)
    assert evolve(Sub(id="a"), n=3).n == 3
    assert type(evolve(Sub(id="a"), n=3)) is Sub


@every_class
def test_attributes_are_read_as_fast_as_ever(cls: Any) -> None:
    # nothing in between: no hook of the class, and slots or the instance's own dict underneath
    assert cls.__getattribute__ is object.__getattribute__
    assert type(cls).__getattribute__ is type.__getattribute__
    for name in ("id", "n"):
        standing = inspect.getattr_static(cls, name, None)
        assert not hasattr(type(standing), "__get__") or isinstance(standing, types.MemberDescriptorType)
    if not issubclass(cls, BaseModel):
        assert not hasattr(cls, "__getattr__")
        frozen = cls in (FrozenData, FrozenAttrs, FrozenMade)
        assert (cls.__setattr__ is object.__setattr__) is not frozen


@pytest.mark.slow
def test_attributes_of_an_entity_are_as_fast_as_those_of_a_slotted_class() -> None:
    class Plain:
        __slots__ = ("n",)

        def __init__(self) -> None:
            self.n = 0

    def best(instance: Any) -> float:
        timer = timeit.Timer("one.n; one.n; one.n; one.n", globals={"one": instance})
        return min(timer.repeat(30, 20_000))

    best(Plain())
    # the same instruction on the same kind of descriptor: twice is far from any hook, and far from noise
    assert best(Made("a")) < 2 * best(Plain())


@entity("GENERIC", pk="G#{id}", sk="G")
class Generated(Generic[T]):
    id: str
    value: T


def test_generic_entities_are_subscripted_and_pickled() -> None:
    value = Generated[Decimal]("a", Decimal("1.5"))
    assert pickle.loads(pickle.dumps(value)) == value
    assert copy.deepcopy(value) == value
    assert evolve(value, value=Decimal(2)).value == 2


def test_private_attributes_of_a_model_are_its_own_business() -> None:
    model = Model(id="a")
    model._secret = 5
    assert read(model)._secret == 1
    assert copy.copy(model)._secret == 5
    assert "_secret" not in str(TABLE.entity(Model).encode(model))
