"""Limits of DynamoDB that no emulator checks: expressions, placeholders, paths, and sizes of items."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import and_, or_
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamap import Condition, DynamapError, F, ItemTooLarge, LimitExceeded, RequestError, Table, entity, evolve
from dynamap.codec import exceeds, item_size, size_at_most, wire_size
from dynamap.expressions import Field
from tests.fakes import drive, store_of


@attrs.frozen
class Tree:
    name: str = ""
    left: Tree | None = None
    inner: list[Tree] = attrs.field(factory=list["Tree"])


@entity("DOC", pk="DOC#{id}", sk="DOC", frozen=True)
class Doc:
    id: str
    count: int = 0
    text: str = ""
    blob: bytes = b""
    lines: list[str] = attrs.field(factory=list[str])
    words: dict[str, int] = attrs.field(factory=dict[str, int])
    limit: int | None = None
    tree: Tree | None = None


@entity("VERSIONED", pk="V#{id}", sk="V", version="revision", frozen=True)
class Versioned:
    id: str
    text: str = ""
    more: str = ""
    revision: int = 0


Docs = Table("docs", [Doc, Versioned])


def docs() -> Any:
    return store_of(Docs).of(Doc)


def word(name: str) -> Field[int]:
    return F(Doc, lambda d: d.words[name])


def anded(count: int) -> Condition:
    return reduce(and_, [F(Doc.count).ge(1)] * count)


# ---- expressions

UPDATE = "Doc: the update"
CONDITION = "Doc: the condition"


def operators(params: dict[str, Any]) -> int:
    """Operators and functions of a condition, counted in another way than the compiler does."""
    text: str = params["ConditionExpression"]
    tokens = text.replace("(", " ( ").replace(")", " ) ").replace(",", " ").split()
    comparisons = ("=", "<>", "<", "<=", ">", ">=", "AND", "OR", "NOT", "IN", "BETWEEN")
    functions = ("attribute_exists", "attribute_not_exists", "begins_with", "contains", "size", "attribute_type")
    return sum(token in comparisons + functions for token in tokens) - tokens.count("BETWEEN")


def test_300_operators_pass_and_more_are_refused() -> None:
    most = anded(150)
    params = docs().put(Doc("d")).if_(most).params()
    assert operators(params) == 299
    params = docs().put(Doc("d")).if_(~most).params()
    assert operators(params) == 300
    with pytest.raises(LimitExceeded) as caught:
        docs().put(Doc("d")).if_(anded(151)).params()
    assert str(caught.value) == f"{CONDITION} has 301 operators; DynamoDB takes 300: split the request"


def test_what_dynamap_adds_counts_too() -> None:
    params = docs().update(id="d").set(F(Doc.text), "x").if_(anded(149)).params()
    assert operators(params) == 299
    with pytest.raises(LimitExceeded, match="has 301 operators"):
        docs().update(id="d").set(F(Doc.text), "x").if_(anded(150)).params()


def test_update_and_condition_are_counted_apart() -> None:
    update = docs().update(id="d")
    for number in range(110):
        update = update.set_if_missing(word(f"w{number}"), number)
    assert "UpdateExpression" in update.if_(anded(149)).params()


def test_plain_assignments_are_no_operators() -> None:
    update = docs().update(id="d")
    for number in range(301):
        update = update.remove(Field[str](Doc, ("lines", number)))
    assert update.params()["UpdateExpression"].count(",") == 300


def test_an_expression_of_more_than_4_kb_is_refused() -> None:
    update = docs().update(id="d")
    number = 0
    while True:
        longer = update.set(word(f"w{number}"), number)
        try:
            params = longer.params()
        except LimitExceeded as error:
            refusal = str(error)
            break
        update, number = longer, number + 1
    assert 4060 < len(params["UpdateExpression"]) <= 4096
    assert refusal.startswith(f"{UPDATE} expression has 4,")
    assert refusal.endswith(" bytes; DynamoDB takes 4,096: split the request")


# ---- is_in and between

REFUSED: list[tuple[str, Callable[[], Condition], type[DynamapError], str]] = [
    (
        "101 candidates",
        lambda: F(Doc.count).is_in(*range(101)),
        LimitExceeded,
        "Doc.count: is_in() takes up to 100 values; got 101",
    ),
    (
        "reversed",
        lambda: F(Doc.count).between(5, 4),
        RequestError,
        "Doc.count: the lower bound of between() is above the upper one; swap them",
    ),
    (
        "reversed text",
        lambda: F(Doc.text).between("\U00010000", "\uffff"),
        RequestError,
        "Doc.text: the lower bound of between() is above the upper one; swap them",
    ),
    (
        "reversed sizes",
        lambda: F(Doc.lines).size().between(2, 1),
        RequestError,
        "Doc.lines: the lower bound of between() is above the upper one; swap them",
    ),
    (
        "no bound",
        lambda: F(Doc.limit).between(None, 4),
        RequestError,
        "Doc.limit: None is no bound of between(); use le() or ge() for one bound",
    ),
    (
        "no upper bound",
        lambda: F(Doc.limit).between(4, None),
        RequestError,
        "Doc.limit: None is no bound of between(); use le() or ge() for one bound",
    ),
    (
        "below None",
        lambda: F(Doc.limit).lt(None),
        RequestError,
        "Doc.limit: < cannot compare with None; use eq, ne, exists or not_exists",
    ),
]


@pytest.mark.parametrize(("make", "error", "text"), [each[1:] for each in REFUSED], ids=[each[0] for each in REFUSED])
def test_operands_that_the_service_refuses(make: Callable[[], Condition], error: type[DynamapError], text: str) -> None:
    with pytest.raises(DynamapError) as caught:
        docs().put(Doc("d")).if_(make()).params()
    assert type(caught.value) is error
    assert str(caught.value) == text


def test_100_candidates_and_equal_bounds_pass() -> None:
    condition = F(Doc.count).is_in(*range(100)) & F(Doc.count).between(4, 4) | F(Doc.lines).size().between(1, 2)
    params = docs().put(Doc("d")).if_(condition).params()
    assert len(params["ExpressionAttributeValues"]) == 104


def test_in_nothing_is_no_condition() -> None:
    is_in: Any = F(Doc.count).is_in
    with pytest.raises(TypeError):
        is_in()


# ---- paths and placeholders


def deep(steps: int) -> Field[Any]:
    """A path of so many steps, through a tree."""
    return Field[Any](Doc, ("tree", *["left"] * (steps - 2), "name"))


def test_a_path_of_32_steps_passes_and_a_longer_one_is_refused() -> None:
    assert docs().update(id="d").set(deep(32), "x").params()["UpdateExpression"].count(".") == 31
    expected = (
        "Doc: the path tree.left.left.left... has 33 steps; DynamoDB takes 32: change the part that holds it as a whole"
    )
    for operation in (
        docs().update(id="d").set(deep(33), "x"),
        docs().put(Doc("d")).if_(deep(33).exists()),
    ):
        with pytest.raises(LimitExceeded) as caught:
            operation.params()
        assert str(caught.value) == expected


def test_more_than_2_mb_of_values_are_refused() -> None:
    text = "x" * 400_000
    conditions = [F(Doc.text).ne(text) for _ in range(5)]
    docs().delete(id="d").if_(reduce(or_, conditions)).params()
    with pytest.raises(LimitExceeded) as caught:
        docs().delete(id="d").if_(reduce(or_, [*conditions, F(Doc.text).ne(text)])).params()
    assert str(caught.value) == (
        "Doc: the names and values of the request have 2,400,018 bytes; DynamoDB takes 2,097,152: split the request"
    )


# ---- sizes of items


def put_of(text: str) -> Any:
    return docs().put(Doc("d", text=text))


EMPTY_SIZE = item_size(put_of("").params()["Item"])


def test_an_item_of_400_kb_passes_and_a_byte_more_is_refused() -> None:
    most = "x" * (409_600 - EMPTY_SIZE)
    assert item_size(put_of(most).params()["Item"]) == 409_600
    with pytest.raises(ItemTooLarge) as caught:
        put_of(most + "x").params()
    assert caught.value.size == 409_601
    assert str(caught.value) == (
        f"put of Doc id='d': the item would have 409,601 bytes, and DynamoDB takes 409,600; the largest fields are "
        f"text ({len(most) + 5:,}), _type (8), lines (8): store what is large in items of its own, or elsewhere"
    )


def test_bytes_count_not_characters() -> None:
    half = (409_600 - EMPTY_SIZE) // 2
    put_of("é" * half).params()
    with pytest.raises(ItemTooLarge):
        put_of("é" * (half + 1)).params()


def test_the_largest_fields_are_named_with_their_sizes() -> None:
    doc = Doc("d", text="x" * 200_000, blob=b"x" * 150_000, lines=["x" * 1000] * 100)
    with pytest.raises(ItemTooLarge) as caught:
        docs().put(doc).params()
    assert str(caught.value) == (
        "put of Doc id='d': the item would have 450,153 bytes, and DynamoDB takes 409,600; the largest fields are "
        "text (200,004), blob (150,004), lines (100,108): store what is large in items of its own, or elsewhere"
    )
    assert caught.value.size == 450_153


def test_nothing_is_sent_of_an_item_that_is_too_large() -> None:
    driven = drive(put_of("x" * 500_000)._plan())
    assert isinstance(driven.error, ItemTooLarge)
    assert driven.calls == []


@pytest.mark.parametrize("verb", ["update", "upsert"])
def test_what_is_set_is_at_least_the_item(verb: str) -> None:
    changes = getattr(docs(), verb)(id="d").set(F(Doc.text), "x" * 300_000).set(F(Doc.blob), b"x" * 300_000)
    with pytest.raises(ItemTooLarge) as caught:
        changes.params()
    assert str(caught.value) == (
        f"{verb} of Doc id='d': the item would have at least 600,020 bytes, and DynamoDB takes 409,600; the largest "
        f"fields are text (300,004), blob (300,004), pk (7): store what is large in items of its own, or elsewhere"
    )


def test_values_of_conditions_are_not_stored() -> None:
    update = docs().update(id="d").set(F(Doc.text), "x" * 300_000).if_(F(Doc.text).ne("y" * 300_000))
    assert update.params()["ExpressionAttributeValues"]


def test_a_rewrite_of_a_versioned_item_is_measured_as_a_whole() -> None:
    versioned = store_of(Docs).of(Versioned)
    read = Versioned("v", "x" * 300_000, revision=7)
    with pytest.raises(ItemTooLarge, match="the item would have at least 409,6"):
        versioned.update(read).to(evolve(read, more="x" * 109_600)).params()
    versioned.update(read).to(evolve(read, more="x" * 109_000)).params()


def test_a_rewrite_without_a_version_is_measured_by_what_it_changes() -> None:
    read = Doc("d", text="x" * 300_000)
    docs().update(read).to(evolve(read, blob=b"x" * 300_000)).params()
    with pytest.raises(ItemTooLarge):
        docs().update(read).to(evolve(read, blob=b"x" * 410_000)).params()


@pytest.mark.parametrize(
    ("wire", "size"),
    [
        ({"S": ""}, 0),
        ({"S": "é"}, 2),
        ({"B": b"\x00\xff"}, 2),
        ({"BOOL": False}, 1),
        ({"NULL": True}, 1),
        ({"N": "0"}, 1),
        ({"N": "1"}, 2),
        ({"N": "-1"}, 3),
        ({"N": "12.5"}, 3),
        ({"N": "1000"}, 2),
        ({"N": "0.001"}, 2),
        ({"SS": ["a", "bc"]}, 3),
        ({"NS": ["1", "22"]}, 4),
        ({"BS": [b"a"]}, 1),
        ({"L": []}, 3),
        ({"L": [{"S": "ab"}, {"BOOL": True}]}, 8),
        ({"M": {"k": {"S": "ab"}}}, 7),
    ],
)
def test_values_are_measured_as_the_service_does(wire: dict[str, Any], size: int) -> None:
    assert wire_size(wire) == size


SCALARS: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.builds(lambda text: {"S": text}, st.text()),
    st.builds(lambda number: {"N": str(number)}, st.decimals(allow_nan=False, allow_infinity=False, places=5)),
    st.builds(lambda value: {"B": value}, st.binary()),
    st.builds(lambda texts: {"SS": sorted(texts)}, st.sets(st.text(), min_size=1)),
    st.builds(lambda numbers: {"NS": [str(each) for each in numbers]}, st.sets(st.integers(), min_size=1)),
    st.just({"NULL": True}),
)
WIRES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.builds(lambda items: {"L": items}, st.lists(inner)),
        st.builds(lambda items: {"M": items}, st.dictionaries(st.text(), inner)),
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), WIRES, max_size=5), st.integers(-1, 1))
def test_the_quick_look_never_misjudges(item: dict[str, Any], offset: int) -> None:
    most = item_size(item) + offset
    assert exceeds(item, most) is (offset < 0)
    assert size_at_most(item) >= item_size(item)
