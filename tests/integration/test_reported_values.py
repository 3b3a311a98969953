"""Empty, null and binary values and sets through every server: equal at every depth, and of the declared type."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynamap import F, Repository, Sync, Table, connect, entity, evolve
from tests.backends import Backend
from tests.modes import RawTable


@attrs.frozen
class Part:
    name: str = ""
    note: str | None = None
    greeting: str | None = "hello"
    tags: frozenset[str] = frozenset()
    maybe_tags: frozenset[str] | None = None


@entity("BOX", pk="BOX#{id}", sk="BOX")
class Box:
    id: str
    text: str = ""
    data: bytes = b""
    changeable: bytearray = attrs.field(factory=bytearray)
    note: str | None = None
    greeting: str | None = "hello"
    flag: bool = False
    tags: set[str] = attrs.field(factory=set[str])
    blobs: set[bytes] = attrs.field(factory=set[bytes])
    maybe_tags: set[str] | None = None
    lists: list[list[str]] = attrs.field(factory=list[list[str]])
    sets: list[set[str]] = attrs.field(factory=list[set[str]])
    named: list[dict[str, set[str]]] = attrs.field(factory=list[dict[str, set[str]]])
    by_number: dict[int, tuple[str, ...]] = attrs.field(factory=dict[int, tuple[str, ...]])
    pair: tuple[int, str] = (0, "")
    optional: list[str | None] = attrs.field(factory=list[str | None])
    parts: list[Part | None] = attrs.field(factory=list[Part | None])
    any: Any = None


KEY = ("BOX#b", "BOX")


@pytest.fixture
def boxes(backend: Backend, raw: RawTable) -> Repository[Sync, Box]:
    return connect(Table(raw.name, [Box]), client=backend.client).of(Box)


def stored(raw: RawTable) -> dict[str, Any]:
    """The item without its bookkeeping."""
    item = raw.get(*KEY)
    assert item is not None
    return {name: wire for name, wire in item.items() if name not in ("pk", "sk", "_type", "id")}


# ---- every value at every depth

texts = st.sampled_from(["", "a", "a.b", " ", "\u00e9\U0001f600", "null"])
names = texts.filter(bool)
sets = st.sets(texts, max_size=3)
notes = st.none() | texts
parts = st.builds(
    Part, texts, notes, notes, st.frozensets(texts, max_size=2), st.none() | st.frozensets(texts, max_size=2)
)
anything = st.recursive(
    st.none()
    | st.booleans()
    | texts
    | st.integers(-9, 9)
    | st.binary(max_size=3)
    | st.sets(texts, min_size=1, max_size=2)
    | st.sets(st.integers(-9, 9), min_size=1, max_size=2)
    | st.sets(st.binary(max_size=2), min_size=1, max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
BOXES = st.builds(
    Box,
    st.just("b"),
    text=texts,
    data=st.binary(max_size=4),
    changeable=st.binary(max_size=4).map(bytearray),
    note=notes,
    greeting=notes,
    flag=st.booleans(),
    tags=sets,
    blobs=st.sets(st.binary(max_size=3), max_size=3),
    maybe_tags=st.none() | sets,
    lists=st.lists(st.lists(texts, max_size=2), max_size=2),
    sets=st.lists(sets, max_size=3),
    named=st.lists(st.dictionaries(names, sets, max_size=2), max_size=2),
    by_number=st.dictionaries(st.integers(-3, 3), st.lists(texts, max_size=2).map(tuple), max_size=3),
    pair=st.tuples(st.integers(-1, 1), texts),
    optional=st.lists(notes, max_size=3),
    parts=st.lists(st.none() | parts, max_size=2),
    any=anything,
)


def alike(one: Any, other: Any) -> bool:
    """Equal, and of the same types all through."""
    if type(one) is not type(other):
        return False
    if attrs.has(type(one)):
        names = [field.name for field in attrs.fields(type(one))]
        return all(alike(getattr(one, name), getattr(other, name)) for name in names)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(alike, one, other))
    return bool(one == other)


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(BOXES, BOXES)
def test_random_values_come_back_as_they_were(boxes: Repository[Sync, Box], first: Box, second: Box) -> None:
    assert alike(boxes.put(first).send(), first)
    read = boxes.get(id="b").strongly_consistent().required().send()
    assert alike(read, first)
    assert alike(boxes.update(read).to(evolve(second)).send(), second)
    assert alike(boxes.get(id="b").strongly_consistent().required().send(), second)
    values = {field.name: getattr(first, field.name) for field in attrs.fields(Box) if field.name != "id"}
    assert alike(boxes.update(id="b").set_fields(values).send(), first)


# ---- the forms


def test_empty_sets_are_absent_and_inside_of_containers_empty_lists(
    boxes: Repository[Sync, Box], raw: RawTable
) -> None:
    box = Box("b", tags=set(), sets=[set(), {""}], named=[{"a": set()}, {"b": {"x"}}], parts=[Part(), None])
    boxes.put(box).send()
    item = stored(raw)
    assert {"tags", "blobs", "note"}.isdisjoint(item)
    assert item["maybe_tags"] == {"NULL": True}
    assert item["sets"] == {"L": [{"L": []}, {"SS": [""]}]}
    assert item["named"] == {"L": [{"M": {"a": {"L": []}}}, {"M": {"b": {"SS": ["x"]}}}]}
    null = {"NULL": True}
    part = {"name": {"S": ""}, "note": null, "greeting": {"S": "hello"}, "tags": {"L": []}, "maybe_tags": null}
    assert item["parts"] == {"L": [{"M": part}, {"NULL": True}]}
    assert boxes.get(id="b").required().send() == box


def test_a_set_that_becomes_empty_is_removed_and_read_as_empty(boxes: Repository[Sync, Box], raw: RawTable) -> None:
    full = Box("b", tags={"a"}, maybe_tags={"a"}, sets=[{"a"}], named=[{"x": {"a"}}])
    for change in (
        lambda: boxes.update(id="b").set(F(Box.tags), set()).set(F(Box.maybe_tags), set()),
        lambda: boxes.update(id="b").discard(F(Box.tags), "a").discard(F(Box.maybe_tags), "a"),
        lambda: boxes.update(full).to(evolve(full, tags=set(), maybe_tags=set())),
    ):
        boxes.put(full).send()
        assert change().send() == evolve(full, tags=set(), maybe_tags=set())
        assert {"tags", "maybe_tags"}.isdisjoint(stored(raw))
    inside = boxes.update(id="b").set(F(Box, lambda b: b.sets[0]), set()).set(F(Box, lambda b: b.named[0]["x"]), set())
    assert inside.send() == Box("b", maybe_tags=set(), sets=[set()], named=[{"x": set()}])


def test_none_is_absent_at_the_top_and_null_inside(boxes: Repository[Sync, Box], raw: RawTable) -> None:
    box = Box("b", note=None, greeting=None, optional=[None, "", None], any={"a": None, "b": {"c": [None, 1]}})
    boxes.put(box).send()
    item = stored(raw)
    assert "note" not in item
    # absent, it would be read as "hello"
    assert item["greeting"] == {"NULL": True}
    assert item["optional"] == {"L": [{"NULL": True}, {"S": ""}, {"NULL": True}]}
    assert item["any"] == {"M": {"a": {"NULL": True}, "b": {"M": {"c": {"L": [{"NULL": True}, {"N": "1"}]}}}}}
    assert boxes.get(id="b").required().send() == box
    raw.update(*KEY, "SET note = :null REMOVE greeting", null={"NULL": True})
    assert boxes.get(id="b").required().send() == evolve(box, greeting="hello")


@pytest.mark.parametrize("make", [bytes, bytearray, memoryview])
def test_bytes_of_every_kind_come_back_as_declared(boxes: Repository[Sync, Box], raw: RawTable, make: Any) -> None:
    content = b"\xff\x00\x80"
    boxes.put(Box("b", data=make(content), changeable=make(content), blobs={content, b""}, any=make(content))).send()
    assert stored(raw)["data"] == stored(raw)["changeable"] == stored(raw)["any"] == {"B": content}
    read = boxes.get(id="b").required().send()
    assert alike(read, Box("b", data=content, changeable=bytearray(content), blobs={content, b""}, any=content))
    update = boxes.update(id="b").set(F(Box.data), make(b"")).set(F(Box.changeable), make(b"\x01"))
    assert alike(update.send().data, b"")
    assert boxes.update(id="b").set(F(Box.text), "x").if_(F(Box.data).eq(make(b""))).send().text == "x"
