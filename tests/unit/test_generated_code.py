"""When code is generated, how it is kept, and what it does at the edges."""

from __future__ import annotations

import functools
import gc
import json
import linecache
import threading
import traceback
import weakref
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, make_dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Annotated, Any

import attrs
import msgspec
import pytest

from dynamap.codec import Attribute, ClassShape, Context, DecodeFailure, Extras, Normalize, class_shape
from dynamap.codec.generated import CompiledClass, compiled
from dynamap.errors import EncodeError
from tests.comparing import outcome
from tests.value_types import exact, json_of


@attrs.define
class Account:
    id: str
    balance: Decimal = Decimal(0)
    tags: set[str] = attrs.field(factory=set)


ITEM: dict[str, Any] = {"id": {"S": "a"}, "balance": {"N": "1.5"}}


def fresh(cls: Any = Account) -> CompiledClass:
    return compiled(class_shape(cls, context=Context()))


def sources(word: str) -> list[str]:
    """The files that tracebacks would show code from."""
    return [name for name in linecache.cache if name.startswith("<dynamap") and word in name]


# ---------------------------------------------------------------------------------------------------- when


def test_nothing_is_generated_before_it_is_used() -> None:
    @attrs.define
    class Lazy:
        id: str

    code = fresh(Lazy)
    assert sources("Lazy") == []
    code.encode_item(Lazy("a"))
    assert sources("Lazy") == ["<dynamap encoder of Lazy>"]
    code.decode_item({"id": {"S": "a"}})
    assert sources("Lazy") == ["<dynamap encoder of Lazy>", "<dynamap decoder of Lazy, dicts>"]
    code.decode_struct(msgspec.json.decode(b'{"id":{"S":"a"}}', type=code.raw_type))
    assert sources("Lazy")[2:] == ["<dynamap decoder of Lazy, structs>"]


def test_code_is_generated_once_for_a_shape() -> None:
    shape = class_shape(Account, context=Context())
    code = compiled(shape)
    assert compiled(shape) is code
    code.decode_item(ITEM)
    generated = code.decode_item
    code.decode_item(ITEM)
    assert code.decode_item is generated
    assert code.raw_type is code.raw_type


def test_two_shapes_of_a_class_have_code_of_their_own() -> None:
    upper = compiled(class_shape(Account, context=Context(names=str.upper)))
    assert upper.encode_item(Account("a"))["ID"] == {"S": "a"}
    assert fresh().encode_item(Account("a"))["id"] == {"S": "a"}


def test_threads_that_come_first_together_get_the_same_code() -> None:
    shape = class_shape(Account, context=Context())
    together = threading.Barrier(8)
    seen: list[Any] = []

    def work() -> None:
        together.wait()
        code = compiled(shape)
        seen.append((code, code.decode_item(ITEM), code.encode_item(Account("a")), code.raw_type))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 8
    assert len({id(code) for code, *_ in seen}) == 1
    assert len({id(raw_type) for *_, raw_type in seen}) == 1
    assert all(account == Account("a", Decimal("1.5")) for _, account, *_ in seen)


def test_whoever_holds_the_first_function_gets_the_same_results() -> None:
    code = fresh()
    first = code.decode_item
    assert first(ITEM) == code.decode_item(ITEM) == first(ITEM)


def test_code_goes_with_its_class() -> None:
    @attrs.define
    class Fleeting:
        id: str

    code = fresh(Fleeting)
    code.encode_item(Fleeting("a"))
    code.decode_item({"id": {"S": "a"}})
    shape = weakref.ref(code.shape)
    del code, Fleeting
    gc.collect()
    assert shape() is None
    assert sources("Fleeting") == []


@pytest.mark.parametrize("value", ["1", "0"])
def test_the_environment_can_leave_everything_to_the_interpreter(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    @attrs.define
    class Doubted:
        id: str

    monkeypatch.setenv("DYNAMAP_INTERPRETER", value)
    code = fresh(Doubted)
    assert code.encode_item(Doubted("a")) == {"id": {"S": "a"}}
    assert code.decode_item({"id": {"S": "a"}}, None, frozenset()) == Doubted("a")
    assert code.decode_struct(msgspec.json.decode(b'{"id":{"S":"a"}}', type=code.raw_type)) == Doubted("a")
    assert (sources("Doubted") == []) == (value == "1")


# ---------------------------------------------------------------------------------------------------- errors


def test_errors_are_the_interpreters_and_have_no_other_behind_them() -> None:
    code = fresh()
    with pytest.raises(DecodeFailure, match=r"\$\.balance: a Decimal expected, found a text \(S\)") as failure:
        code.decode_item({**ITEM, "balance": {"S": "x"}})
    assert failure.value.__context__ is None
    with pytest.raises(EncodeError, match=r"\$\.id: a str expected, got int") as refusal:
        code.encode_item(Account(5))  # type: ignore[arg-type]
    assert refusal.value.__context__ is None


def test_tracebacks_show_the_generated_lines() -> None:
    class Interrupted(BaseException):
        pass

    @attrs.define
    class Interrupting:
        id: str

        def __attrs_post_init__(self) -> None:
            raise Interrupted

    with pytest.raises(Interrupted) as caught:
        fresh(Interrupting).decode_item({"id": {"S": "a"}})
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert [frame.line for frame in frames if frame.filename == "<dynamap decoder of Interrupting, dicts>"] != [""]
    assert any("cls" in (frame.line or "") for frame in frames)


def test_what_a_class_refuses_it_is_asked_twice() -> None:
    asked: list[int] = []

    @attrs.define
    class Small:
        size: int

        def __attrs_post_init__(self) -> None:
            asked.append(self.size)
            if self.size > 5:
                msg = "too large"
                raise ValueError(msg)

    code = fresh(Small)
    assert code.decode_item({"size": {"N": "5"}}).size == 5
    with pytest.raises(DecodeFailure, match=r"Small\(\) refused the stored values with ValueError"):
        code.decode_item({"size": {"N": "6"}})
    assert asked == [5, 6, 6]


# ---------------------------------------------------------------------------------------------------- items


@attrs.define
class Keeping:
    id: Annotated[str, Attribute(stored=False)]
    name: Annotated[str, Attribute("n", aliases=("old", "older"))] = "default"
    rest: Annotated[dict[str, Any], Extras()] = attrs.field(factory=dict)


def test_extras_keep_what_is_unknown_and_no_bookkeeping() -> None:
    code = fresh(Keeping)
    item: dict[str, Any] = {
        "pk": {"S": "A#1"},
        "older": {"S": "x"},
        "photo": {"B": b"\xff"},
        "l": {"L": [{"BS": [b"1"]}]},
    }
    expected = Keeping("1", "x", {"photo": b"\xff", "l": [{b"1"}]})
    assert code.decode_item(item, {"id": "1"}, frozenset({"pk"})) == expected
    raw = msgspec.json.decode(json.dumps(json_of(item)), type=code.raw_type)
    assert code.decode_struct(raw, {"id": "1"}, frozenset({"pk"})) == expected
    assert code.encode_item(expected, frozenset({"pk"})) == {"n": {"S": "x"}, "photo": item["photo"], "l": item["l"]}
    with pytest.raises(EncodeError, match=r"\$\.rest\.pk: an extra with the name of an attribute"):
        code.encode_item(Keeping("1", "x", {"pk": 1}), frozenset({"pk"}))


def test_known_values_win_over_stored_ones() -> None:
    code = fresh(Keeping)
    assert code.decode_item({"n": {"S": "x"}}, {"id": "1", "name": "known"}).name == "known"
    with pytest.raises(DecodeFailure, match=r"\$\.id: a str expected, the attribute 'id' is missing"):
        code.decode_item({"n": {"S": "x"}})


@pytest.mark.parametrize("make", [dict, OrderedDict, MappingProxyType])
def test_items_are_any_mapping(make: Any) -> None:
    assert fresh().decode_item(make(ITEM)) == Account("a", Decimal("1.5"))


def test_defaults_are_the_classes_own_every_time() -> None:
    code = fresh()
    first, second = code.decode_item(ITEM), code.decode_item(ITEM)
    first.tags.add("x")
    assert second.tags == set()


def test_encoded_values_are_not_shared() -> None:
    code = fresh()
    account = Account("a", tags={"x"})
    first, second = code.encode_item(account), code.encode_item(account)
    first["tags"]["SS"].append("y")
    assert second["tags"] == {"SS": ["x"]}


def test_defaults_of_an_own_init_are_its_own() -> None:
    @attrs.define(init=False)
    class Differing:
        id: str
        size: int = 1

        def __init__(self, id: str, size: int = 2, *, extra: int = 3) -> None:  # noqa: A002
            self.__attrs_init__(id, size + extra)  # type: ignore[attr-defined]

    code = fresh(Differing)
    item: dict[str, Any] = {"id": {"S": "a"}}
    assert code.decode_item(item) == code.shape.decode_item(item)
    assert code.decode_item(item).size == 5
    assert code.decode_item({**item, "size": {"N": "7"}}).size == 7


def test_an_init_that_takes_anything_is_told_only_what_is_there() -> None:
    seen: list[dict[str, Any]] = []

    @dataclass(init=False)
    class Open:
        id: str
        size: int = 1

        def __init__(self, **values: Any) -> None:
            seen.append(values)
            self.id, self.size = values["id"], values.get("size", 9)

    assert fresh(Open).decode_item({"id": {"S": "a"}}).size == 9
    assert seen == [{"id": "a"}]


def test_a_metaclass_that_makes_instances_is_called() -> None:
    class Counting(type):
        calls = 0

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            Counting.calls += 1
            assert not args
            return super().__call__(*args, **kwargs)

    @dataclass
    class Counted(metaclass=Counting):
        id: str
        size: int = 1

    assert fresh(Counted).decode_item({"id": {"S": "a"}}) == Counted(id="a")
    assert Counting.calls == 2


@dataclass
class Computed:
    id: str
    size: int = 0
    double: int = field(init=False, default=-1)

    def __post_init__(self) -> None:
        self.double = self.size * 2


@pytest.mark.parametrize("stored", [{}, {"double": {"N": "5"}}, {"double": {"N": "5"}, "size": {"N": "7"}}])
def test_stored_values_of_computed_fields_come_back(stored: dict[str, Any]) -> None:
    code = fresh(Computed)
    item = {"id": {"S": "a"}, **stored}
    assert code.decode_item(item) == code.shape.decode_item(item)
    raw = msgspec.json.decode(json.dumps(item), type=code.raw_type)
    assert code.decode_struct(raw) == code.shape.decode_item(item)


def test_a_computed_field_without_default_stays_as_the_class_computes_it() -> None:
    @dataclass
    class Doubling:
        size: int
        double: int = field(init=False)

        def __post_init__(self) -> None:
            self.double = self.size * 2

    code = fresh(Doubling)
    assert code.decode_item({"size": {"N": "4"}}).double == 8
    assert code.decode_item({"size": {"N": "4"}, "double": {"N": "9"}}).double == 9


def test_a_wrapped_init_is_told_only_what_is_there() -> None:
    @dataclass(kw_only=True)
    class Wrapped:
        id: str
        size: int = 1

    plain = Wrapped.__init__

    @functools.wraps(plain)
    def wrapper(self: Any, **values: Any) -> None:
        plain(self, **{"size": 9, **values})

    Wrapped.__init__ = wrapper  # type: ignore[method-assign]
    code = fresh(Wrapped)
    assert code.decode_item({"id": {"S": "a"}}).size == code.shape.decode_item({"id": {"S": "a"}}).size == 9


# ---------------------------------------------------------------------------------------------------- depth


@attrs.define
class Chain:
    next: Chain | None = None
    anything: Any = None


@pytest.mark.parametrize("links", [5, 31, 32, 33, 34, 60])
@pytest.mark.parametrize("inside", [None, [], {}, [[]]])
def test_too_deep_values_are_refused_at_the_same_depth(links: int, inside: Any) -> None:
    chain = Chain(anything=inside)
    for _ in range(links):
        chain = Chain(chain)
    code = fresh(Chain)
    # the item's own attribute is level 1, and an inner list or dict lies one or two below the last link
    if links + {"None": 0, "[]": 1, "{}": 1, "[[]]": 2}[str(inside)] <= 32:
        item = code.encode_item(chain)
        assert item == code.shape.encode_item(chain)
        assert exact(code.decode_item(item)) == exact(chain)
        return
    with pytest.raises(EncodeError, match="nested deeper") as expected:
        code.shape.encode_item(chain)
    with pytest.raises(EncodeError, match="nested deeper") as refusal:
        code.encode_item(chain)
    assert str(refusal.value) == str(expected.value)


@attrs.define
class KeepingAny:
    rest: Annotated[dict[str, Any], Extras()] = attrs.field(factory=dict)


@dataclass
class Outer:
    inner: KeepingAny
    rest: Annotated[dict[str, list[Any]], Extras()]


@pytest.mark.parametrize("levels", range(27, 35))
def test_extras_are_as_deep_as_the_interpreter_lets_them_be(levels: int) -> None:
    deep: list[Any] = []
    for _ in range(levels):
        deep = [deep]
    code = fresh(Outer)
    for outer in (Outer(KeepingAny({"x": deep}), {}), Outer(KeepingAny(), {"x": deep})):
        expected = outcome(lambda: code.shape.encode_item(outer))  # noqa: B023
        assert outcome(lambda: code.encode_item(outer)) == expected  # noqa: B023


@pytest.mark.parametrize("levels", [1, 5, 6, 20, 31, 32, 40])
@pytest.mark.parametrize("container", [list, tuple, dict])
def test_types_of_any_depth_compile(levels: int, container: Any) -> None:
    hint: Any = set[str]
    value: Any = {"x"}
    for _ in range(levels):
        hint = {list: list[hint], tuple: tuple[hint, int], dict: dict[str, hint]}[container]
        value = {list: [value], tuple: (value, 1), dict: {"k": value}}[container]
    cls = make_dataclass("Deep", [("value", hint)])
    code = fresh(cls)
    if levels > 32:
        with pytest.raises(EncodeError, match="nested deeper"):
            code.encode_item(cls(value))
        return
    item = code.encode_item(cls(value))
    assert item == code.shape.encode_item(cls(value))
    assert code.decode_item(item) == cls(value)
    raw = msgspec.json.decode(json.dumps(item), type=code.raw_type)
    assert code.decode_struct(raw) == cls(value)


def test_normalize_sees_only_what_its_type_takes() -> None:
    seen: list[Any] = []

    def note(value: Any) -> Any:
        seen.append(value)
        return str(value)

    cls = make_dataclass("Noted", [("name", Annotated[str, Normalize(note)])])
    with pytest.raises(EncodeError, match="a str expected, got int"):
        fresh(cls).encode_item(cls(5))
    assert seen == []


def test_a_shape_without_code_is_any_mapping_too() -> None:
    shape: ClassShape = class_shape(Account, context=Context())
    assert isinstance(shape.derived, Mapping)
    assert "compiled" not in shape.derived
    assert compiled(shape) is shape.derived["compiled"]
