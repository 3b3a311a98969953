"""Names through every server: map keys and attributes that look like paths, placeholders or reserved words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynamap import (
    Applied,
    Attribute,
    F,
    Field,
    GlobalIndex,
    Index,
    ItemNotFound,
    Refused,
    Repository,
    Store,
    Sync,
    Table,
    VersionConflict,
    connect,
    entity,
    evolve,
)
from tests.backends import Backend
from tests.modes import Mode, RawTable

# ---- map keys


@entity("DOC", pk="DOC#{id}", sk="DOC")
class Doc:
    id: str
    marks: dict[str, int] = attrs.field(factory=dict[str, int])
    inner: dict[str, dict[str, list[str]]] = attrs.field(factory=dict[str, dict[str, list[str]]])


NAMES = [
    *("My.Key.With.Dots", "example.txt", "a-b", "ab", "a b", "a:b", "#x", ":v", "#0", ":0", "1st", "[0]", "a[1]"),
    *("size", "name", "pk", "_", "SET x", "\u65e5\u672c", "\U0001f600", "A-B", "x" * 300),
    "6c84fb90-12c4-11e1-840d-7b25c5ee775a",
]


@pytest.fixture
def docs(backend: Backend, raw: RawTable) -> Repository[Sync, Doc]:
    return connect(Table(raw.name, [Doc]), client=backend.client).of(Doc)


def mark(name: str) -> Field[int]:
    return F(Doc, lambda d: d.marks[name])


def check_one(docs: Repository[Sync, Doc], names: list[str]) -> None:
    """Whatever is done to one name of a map is done to no other."""
    marks = {name: number for number, name in enumerate(names)}
    docs.put(Doc("d", marks)).send()
    name = names[0]
    others = {each: number for each, number in marks.items() if each != name}
    update = docs.update(id="d")
    assert update.set(mark(name), 100).if_(mark(name).eq(0)).send().marks == {**others, name: 100}
    assert update.add(mark(name), 1).if_(mark(name).between(100, 100)).returning(mark(name)).send() == 101
    for false in (mark(name).ne(101), mark(name).not_exists(), mark(name).attribute_type("S")):
        assert isinstance(update.remove(mark(name)).if_(false).try_send(), Refused)
    assert update.remove(mark(name)).if_(mark(name).exists()).send().marks == others
    assert isinstance(update.remove(mark(name)).if_(mark(name).exists()).try_send(), Refused)
    assert update.set_if_missing(mark(name), 0).send().marks == marks
    read = docs.get(id="d").strongly_consistent().required().send()
    assert docs.update(read).to(evolve(read, marks={**others, name: 7})).send().marks == {**others, name: 7}


def test_a_map_key_is_one_name_whatever_it_looks_like(docs: Repository[Sync, Doc]) -> None:
    for name in ("My.Key.With.Dots", "a-b", "#x", ":0", "\u65e5\u672c"):
        check_one(docs, [name, *(each for each in NAMES if each != name)])


@pytest.mark.not_on("dynalite", reason="there it is what all objects of JavaScript have")
def test_a_map_key_may_be_a_word_of_other_languages(docs: Repository[Sync, Doc]) -> None:
    check_one(docs, ["__proto__", "constructor", "__class__"])


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.text(st.sampled_from("ab.-:# []01$\u00e9"), min_size=1, max_size=4), min_size=2, unique=True))
def test_random_map_keys_are_names_of_their_own(docs: Repository[Sync, Doc], names: list[str]) -> None:
    check_one(docs, names)


def test_all_names_are_changed_in_one_update(docs: Repository[Sync, Doc]) -> None:
    docs.put(Doc("d", dict.fromkeys(NAMES, 1), {name: {name: []} for name in NAMES[:5]})).send()
    update = docs.update(id="d")
    for number, name in enumerate(NAMES):
        update = update.set(mark(name), number)
    for name in NAMES[:5]:
        update = update.append(F(Doc, lambda d, name=name: d.inner[name][name]), name)
    expected = Doc(
        "d", {name: number for number, name in enumerate(NAMES)}, {name: {name: [name]} for name in NAMES[:5]}
    )
    assert update.send() == expected
    assert docs.get(id="d").strongly_consistent().required().send() == expected


# ---- attributes


@entity("ORDER", version="version", indexes=[Index("range", pk="{scope}")])
class Order:
    """Reserved words all through, some of them as the names under which fields are stored."""

    name: str
    hash: str
    key: int = 0
    scope: str = "all"
    size: Annotated[list[int], Attribute("values")] = attrs.field(factory=list[int])
    status: Annotated[str | None, Attribute("example.txt")] = None
    dashed: Annotated[int, Attribute("a-b")] = 0
    joined: Annotated[int, Attribute("ab")] = 0
    hello: Annotated[int, Attribute("Hello World")] = 0
    ttl: int = 0
    version: Annotated[int, Attribute("_v:1")] = 0


Orders = Table("orders", [Order], pk="name", sk="hash", write_id="#w", indexes=[GlobalIndex("range", sk="name")])


@pytest.fixture
def orders(mode: Mode, backend: Backend, table_name: str) -> Any:
    store: Store[Any] = mode.connect(Orders, backend).with_name(table_name)
    mode.wait(store.create_table())
    yield store.of(Order)
    mode.wait(store.delete_table())


def test_reserved_words_are_names_like_any_other(orders: Repository[Any, Order], mode: Mode) -> None:
    wait = mode.wait
    first = wait(orders.put(Order("n", "h", 1, size=[1, 2], status="new")).if_not_exists().send())
    assert wait(orders.get(name="n", hash="h").required().send()) == first
    steps: list[Callable[[Any], Any]] = [
        lambda update: update.set(F(Order.key), F(Order.key) + 2).add(F(Order.dashed), 1).add(F(Order.ttl), 5),
        lambda update: update.set(F(Order.status), "old").set(F(Order.joined), 7).append(F(Order.size), 3),
        lambda update: update.set(F(Order.hello), F(Order.hello).or_else(0) + 1).set(F(Order, lambda o: o.size[0]), 9),
        lambda update: update.remove(F(Order.status)).set(F(Order.scope), "some"),
    ]
    conditions = [
        F(Order.size).size().gt(1) & F(Order.key).eq(1),
        F(Order.status).eq("new") & F(Order.dashed).ne(F(Order.joined)),
        F(Order.name).exists() & F(Order.hash).eq("h") & F(Order.hello).between(0, 0) & F(Order.ttl).is_in(5),
        F(Order.size).contains(3) & F(Order.scope).begins_with("al") & F(Order.status).attribute_type("S"),
    ]
    order = first
    for step, condition in zip(steps, conditions, strict=True):
        refused = wait(step(orders.update(order)).if_(~condition).try_send())
        assert refused == Refused(order)
        applied = wait(step(orders.update(order)).if_(condition).try_send())
        assert isinstance(applied, Applied)
        order = applied.stored
    assert attrs.astuple(order)[:-1] == ("n", "h", 3, "some", [9, 2, 3], None, 1, 7, 1, 5)
    with pytest.raises(VersionConflict):
        wait(orders.update(first).set(F(Order.key), 0).send())
    keyed = orders.update(name="n", hash="h").ignore_version().set(F(Order.key), 4)
    assert wait(keyed.returning(F(Order.key), F(Order.size), F(Order.status)).send()) == (4, [9, 2, 3], None)
    with pytest.raises(VersionConflict):
        wait(orders.delete(order).if_(F(Order.key).eq(4)).send())
    wait(orders.delete(name="n", hash="h").ignore_version().if_(F(Order.size).size().eq(3)).send())
    with pytest.raises(ItemNotFound):
        wait(orders.get(name="n", hash="h").required().send())


def test_no_placeholder_is_left_over() -> None:
    """An empty map of names or values is an error of the service, and so is one that the texts do not use."""
    orders = connect(Orders).of(Order)
    read = Order("n", "h", version=5)
    for operation in (
        orders.get(name="n", hash="h"),
        orders.put(Order("n", "h")),
        orders.put(Order("n", "h")).if_not_exists(),
        orders.put(read),
        orders.update(read).set(F(Order.key), 1),
        orders.update(read).remove(F(Order.status)),
        orders.delete(read),
        orders.delete(name="n", hash="h").ignore_version(),
        orders.delete(name="n", hash="h").ignore_version().if_exists(),
    ):
        params = operation.params()
        text = " ".join(
            params.get(part, "") for part in ("UpdateExpression", "ConditionExpression", "ProjectionExpression")
        )
        words = set(text.replace("(", " ").replace(")", " ").replace(",", " ").split())
        for part in ("ExpressionAttributeNames", "ExpressionAttributeValues"):
            assert params.get(part) != {}
            assert words.issuperset(params.get(part, {}))
