"""The compiler: every node's text, names and values; grouping; limits; what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamap import Condition, F, Field, LimitExceeded, RequestError, Table
from dynamap.errors import EncodeError
from dynamap.expressions import Compiler
from tests.everything import Color, X, Y
from tests.tiny_table import Expression

Entity = Table("table", [X, Y]).entity(X)


def compiled(*conditions: Condition) -> tuple[str, dict[str, str], dict[str, Any]]:
    compiler = Compiler(Entity)
    text = compiler.condition(conditions)
    assert text is not None
    placeholders = compiler.placeholders()
    return text, placeholders.get("ExpressionAttributeNames", {}), placeholders.get("ExpressionAttributeValues", {})


def readable(*conditions: Condition) -> str:
    """The text with names and values put back."""
    text, names, values = compiled(*conditions)
    shown = {**names, **{name: f"{kind}:{value}" for name, wire in values.items() for kind, value in wire.items()}}
    return re.sub(r"[#:]\d+", lambda match: f"<{shown[match[0]]}>", text)


NODES: list[tuple[Condition, str]] = [
    (F(X.n).eq(1), "<n> = <N:1>"),
    (F(X.n).ne(1), "<n> <> <N:1>"),
    (F(X.n).lt(1), "<n> < <N:1>"),
    (F(X.n).le(1), "<n> <= <N:1>"),
    (F(X.n).gt(1), "<n> > <N:1>"),
    (F(X.n).ge(1), "<n> >= <N:1>"),
    (F(X.n).eq(F(X.m)), "<n> = <m>"),
    (F(X.n).ge(F(X.text).size()), "<n> >= size(<text>)"),
    (F(X.n).between(1, 2), "<n> BETWEEN <N:1> AND <N:2>"),
    (F(X.n).between(2, 2), "<n> BETWEEN <N:2> AND <N:2>"),
    (F(X.n).between(F(X.m), 2), "<n> BETWEEN <m> AND <N:2>"),
    (F(X.n).between(9, F(X.m)), "<n> BETWEEN <N:9> AND <m>"),
    (F(X.n).is_in(1), "<n> IN (<N:1>)"),
    (F(X.n).is_in(1, F(X.m), 3), "<n> IN (<N:1>, <m>, <N:3>)"),
    (F(X.n).exists(), "attribute_exists(<n>)"),
    (F(X.n).not_exists(), "attribute_not_exists(<n>)"),
    (F(X.n).attribute_type("N"), "attribute_type(<n>, <S:N>)"),
    (F(X.n).not_exists_or_lt(5), "attribute_not_exists(<n>) OR <n> < <N:5>"),
    (F(X.n).not_exists_or_le(5), "attribute_not_exists(<n>) OR <n> <= <N:5>"),
    (F(X.n).not_exists_or_eq(5), "attribute_not_exists(<n>) OR <n> = <N:5>"),
    (F(X.text).begins_with("a"), "begins_with(<text>, <S:a>)"),
    (F(X.blob).begins_with(b"a"), "begins_with(<blob>, <B:b'a'>)"),
    (F(X.text).contains("a"), "contains(<text>, <S:a>)"),
    (F(X.blob).contains(b"a"), "contains(<blob>, <B:b'a'>)"),
    (F(X.tags).contains("a"), "contains(<tags>, <S:a>)"),
    (F(X.maybe_tags).contains("a"), "contains(<maybe_tags>, <S:a>)"),
    (F(X.numbers).contains(1), "contains(<numbers>, <N:1>)"),
    (F(X.names).contains("a"), "contains(<names>, <S:a>)"),
    (F(X.text).size().gt(1), "size(<text>) > <N:1>"),
    (F(X.tags).size().between(1, 2), "size(<tags>) BETWEEN <N:1> AND <N:2>"),
    (F(X.text).size().eq(F(X.blob).size()), "size(<text>) = size(<blob>)"),
    (F(X.text).size().ne(F(X.n)), "size(<text>) <> <n>"),
    # values are encoded as the field is stored
    (F(X.price).eq(Decimal("1.10")), "<price> = <N:1.1>"),
    (F(X.weight).lt(0.1), "<weight> < <N:0.1>"),
    (F(X.flag).eq(True), "<flag> = <BOOL:True>"),
    (F(X.text).eq(""), "<text> = <S:>"),
    (F(X.color).eq(Color.BLUE), "<color> = <S:blue>"),
    (F(X.color).is_in(Color.BLUE, Color.RED), "<color> IN (<S:blue>, <S:red>)"),
    (F(X.uid).eq(UUID(int=1)), "<uid> = <S:00000000-0000-0000-0000-000000000001>"),
    (F(X.at).lt(datetime(2020, 1, 1, tzinfo=timezone.utc)), "<at> < <S:2020-01-01T00:00:00.000000Z>"),
    (F(X.tags).eq({"b", "a"}), "<tags> = <SS:['a', 'b']>"),
    (F(X.mail).eq("A@B"), "<mail> = <S:a@b>"),
    (F(X.mail).begins_with("A@"), "begins_with(<mail>, <S:a@>)"),
    (F(X.mail).contains("A@"), "contains(<mail>, <S:a@>)"),
    (F(X.nick).eq("Al"), "<nick> = <S:al>"),
    (F(X.nick).eq(None), "attribute_not_exists(<nick>) OR <nick> = <NULL:True>"),
    (F(X.nick).contains("L"), "contains(<nick>, <S:l>)"),
    (F(X.nick).begins_with("L"), "begins_with(<nick>, <S:l>)"),
    (F(X.anything).eq(None), "attribute_not_exists(<anything>) OR <anything> = <NULL:True>"),
    (F(X.anything).contains("a"), "contains(<anything>, <S:a>)"),
    (F(X.anything).eq(3), "<anything> = <N:3>"),
    # None and the empty set are absent attributes, or stored ones inside of containers
    (F(X.note).eq(None), "attribute_not_exists(<note>) OR <note> = <NULL:True>"),
    (F(X.note).ne(None), "attribute_exists(<note>) AND <note> <> <NULL:True>"),
    (F(X.note).is_in(None, "a"), "attribute_not_exists(<note>) OR <note> = <NULL:True> OR <note> IN (<S:a>)"),
    (F(X.note).is_in(None), "attribute_not_exists(<note>) OR <note> = <NULL:True>"),
    (F(X.tags).eq(set()), "attribute_not_exists(<tags>) OR <tags> = <L:[]>"),
    (F(X.tags).ne(set()), "attribute_exists(<tags>) AND <tags> <> <L:[]>"),
    (F(X.numbers).eq(frozenset()), "attribute_not_exists(<numbers>) OR <numbers> = <L:[]>"),
    # where absence reads as something else, None is only what is stored as NULL
    (F(X.greeting).eq(None), "<greeting> = <NULL:True>"),
    (F(X.greeting).ne(None), "<greeting> <> <NULL:True>"),
    (F(X.greeting).is_in(None, "a"), "<greeting> IN (<NULL:True>, <S:a>)"),
    (F(X.maybe_tags).eq(None), "<maybe_tags> = <NULL:True>"),
    (F(X.maybe_tags).eq(set()), "attribute_not_exists(<maybe_tags>) OR <maybe_tags> = <L:[]>"),
    (
        F(X.maybe_tags).is_in(None, set(), {"a"}),
        "attribute_not_exists(<maybe_tags>) OR <maybe_tags> = <L:[]> OR <maybe_tags> IN (<NULL:True>, <SS:['a']>)",
    ),
    # reserved words, and names that must not be taken apart
    (F(X.size).gt(1) & F(X.size).ne(F(X.n)), "<size> > <N:1> AND <size> <> <n>"),
    (F(X.dotted).eq("x"), "<a.b> = <S:x>"),
    (F(X.dashed).ne(F(X.joined)), "<a-b> <> <ab>"),
    # paths
    (F(X, lambda x: x.address.city).eq("a"), "<address>.<city> = <S:a>"),
    (F(X, lambda x: x.address.zip).exists(), "attribute_exists(<address>.<post.code>)"),
    (F(X, lambda x: x.lines[0].city).ne("a"), "<lines>[0].<city> <> <S:a>"),
    (F(X, lambda x: x.marks["k"]).lt(1), "<marks>.<k> < <N:1>"),
    (F(X, lambda x: x.names[3]).eq("a"), "<names>[3] = <S:a>"),
]


@pytest.mark.parametrize(("condition", "text"), NODES, ids=[text for _, text in NODES])
def test_every_node_has_its_text(condition: Condition, text: str) -> None:
    assert readable(condition) == text


@pytest.mark.parametrize("key", ["a.b", "a-b", "ab", "a b", "a:b", "#x", ":v", "1st", "日本", "", "size", "k[0]", "#0"])
def test_a_map_key_is_one_placeholder_whatever_it_looks_like(key: str) -> None:
    text, names, _ = compiled(F(X, lambda x: x.marks[key]).ge(1) & F(X, lambda x: x.marks[key]).ne(7))
    assert text == "#0.#1 >= :0 AND #0.#1 <> :1"
    assert names == {"#0": "marks", "#1": key}


def test_names_that_differ_in_one_sign_have_placeholders_of_their_own() -> None:
    conditions = [F(X, lambda x, key=key: x.marks[key]).eq(1) for key in ("a-b", "ab", "a.b", "A-b")]  # type: ignore[misc]
    _, names, _ = compiled(*conditions)
    assert names == {"#0": "marks", "#1": "a-b", "#2": "ab", "#3": "a.b", "#4": "A-b"}


def test_the_same_name_at_two_depths_is_one_placeholder() -> None:
    text, names, _ = compiled(F(X, lambda x: x.marks["marks"]).eq(1))
    assert (text, names) == ("#0.#0 = :0", {"#0": "marks"})


def test_placeholders_are_numbered_in_order_of_appearance() -> None:
    text, names, values = compiled(F(X.m).eq(5), F(X.n).eq(6), F(X.m).ne(5))
    assert text == "#0 = :0 AND #1 = :1 AND #0 <> :2"
    assert names == {"#0": "m", "#1": "n"}
    assert values == {":0": {"N": "5"}, ":1": {"N": "6"}, ":2": {"N": "5"}}


def test_no_conditions_have_no_text_and_no_placeholders() -> None:
    compiler = Compiler(Entity)
    assert compiler.condition([]) is None
    assert compiler.placeholders() == {}


def test_what_has_no_values_leaves_them_out() -> None:
    compiler = Compiler(Entity)
    compiler.condition([F(X.n).not_exists()])
    assert compiler.placeholders() == {"ExpressionAttributeNames": {"#0": "n"}}


# ---- grouping

A, B, C, D = F(X.n).eq(1), F(X.m).eq(1), F(X.text).eq("1"), F(X.note).eq(None)
GROUPS = [
    (A & B & C, "(<n> = <N:1> AND <m> = <N:1>) AND <text> = <S:1>"),
    (A | B & C, "<n> = <N:1> OR (<m> = <N:1> AND <text> = <S:1>)"),
    ((A | B) & C, "(<n> = <N:1> OR <m> = <N:1>) AND <text> = <S:1>"),
    (~A, "NOT <n> = <N:1>"),
    (~(A | B), "NOT (<n> = <N:1> OR <m> = <N:1>)"),
    (~A | B, "NOT <n> = <N:1> OR <m> = <N:1>"),
    (~D, "NOT (attribute_not_exists(<note>) OR <note> = <NULL:True>)"),
    (D & A, "(attribute_not_exists(<note>) OR <note> = <NULL:True>) AND <n> = <N:1>"),
    (F(X.n).between(1, 2) & A, "(<n> BETWEEN <N:1> AND <N:2>) AND <n> = <N:1>"),
]


@pytest.mark.parametrize(("condition", "text"), GROUPS, ids=[text for _, text in GROUPS])
def test_parts_are_grouped(condition: Condition, text: str) -> None:
    assert readable(condition) == text


def test_several_conditions_must_all_hold_each_as_a_group() -> None:
    assert readable(A | B, C, D) == (
        "(<n> = <N:1> OR <m> = <N:1>) AND <text> = <S:1> AND (attribute_not_exists(<note>) OR <note> = <NULL:True>)"
    )


LEAVES: list[tuple[Condition, Callable[[dict[str, Any]], bool]]] = [
    (F(X.n).eq(1), lambda i: i.get("n") == 1),
    (F(X.n).ne(1), lambda i: i.get("n") != 1),
    (F(X.n).lt(2), lambda i: "n" in i and i["n"] < 2),
    (F(X.n).between(1, 2), lambda i: "n" in i and 1 <= i["n"] <= 2),
    (F(X.n).is_in(0, 2), lambda i: i.get("n") in (0, 2)),
    (F(X.n).not_exists(), lambda i: "n" not in i),
    (F(X.n).not_exists_or_lt(1), lambda i: "n" not in i or i["n"] < 1),
    (F(X.note).eq(None), lambda i: i.get("note") is None),
    (F(X.note).ne(None), lambda i: i.get("note") is not None),
    (F(X.note).is_in(None, "a"), lambda i: i.get("note") in (None, "a")),
    (F(X.tags).eq(set()), lambda i: not i.get("tags")),
    (F(X.tags).contains("t"), lambda i: "t" in i.get("tags", ())),
    (F(X.n).ge(F(X.m)), lambda i: "n" in i and "m" in i and i["n"] >= i["m"]),
    (F(X.note).size().gt(0), lambda i: isinstance(i.get("note"), str) and len(i["note"]) > 0),
]


def trees() -> st.SearchStrategy[Any]:
    """A condition beside what it means."""

    def inverted(part: Any) -> Any:
        return ~part[0], lambda item: not part[1](item)

    def joined(parts: Any) -> Any:
        one, two = parts
        return one[0] & two[0], lambda item: one[1](item) and two[1](item)

    def either(parts: Any) -> Any:
        one, two = parts
        return one[0] | two[0], lambda item: one[1](item) or two[1](item)

    return st.recursive(
        st.sampled_from(LEAVES),
        lambda inner: st.one_of(
            inner.map(inverted), st.tuples(inner, inner).map(joined), st.tuples(inner, inner).map(either)
        ),
        max_leaves=8,
    )


ITEMS: list[dict[str, Any]] = [
    {name: value for name, value in (("n", n), ("m", 1), ("note", note), ("tags", tags)) if value != "absent"}
    for n in ("absent", 0, 1, 2)
    for note in ("absent", None, "", "a")
    for tags in ("absent", {"t"})
]


def wire_of(item: dict[str, Any]) -> dict[str, Any]:
    def wire(value: Any) -> Any:
        if value is None:
            return {"NULL": True}
        if isinstance(value, set):
            return {"SS": sorted(value)}
        return {"N": str(value)} if isinstance(value, int) else {"S": value}

    return {name: wire(value) for name, value in item.items()}


@given(st.lists(trees(), min_size=1, max_size=3))
@settings(deadline=None)
def test_the_text_means_what_the_operators_say(parts: list[Any]) -> None:
    text, names, values = compiled(*(condition for condition, _ in parts))
    for item in ITEMS:
        expression = Expression(names, values, wire_of(item))
        assert expression.condition(text) is all(meaning(item) for _, meaning in parts), (text, item)
        assert expression.used == {*names, *values}


@given(trees())
def test_the_same_condition_compiles_to_the_same_text(part: Any) -> None:
    assert compiled(part[0]) == compiled(part[0])


# ---- refused


def unchecked(value: object) -> Any:
    """Hide a value from the type checkers, which would refuse what is about to be tried."""
    return value


REFUSED: list[tuple[Callable[[], Condition], type[Exception], str]] = [
    (
        lambda: F(X.n).between(5, 4),
        RequestError,
        "X.n: the lower bound of between() is above the upper one; swap them",
    ),
    (
        lambda: F(X.n).between(10, 9),
        RequestError,
        "X.n: the lower bound of between() is above the upper one; swap them",
    ),
    (
        lambda: F(X.text).between("\U00010000", "\uffff"),
        RequestError,
        "X.text: the lower bound of between() is above the upper one; swap them",
    ),
    (
        lambda: F(X.text).size().between(2, 1),
        RequestError,
        "X.text: the lower bound of between() is above the upper one; swap them",
    ),
    (
        lambda: F(X.note).between(unchecked(None), "a"),
        RequestError,
        "X.note: None is no bound of between(); use le() or ge() for one bound",
    ),
    (
        lambda: F(X.anything).between([1], [2]),
        RequestError,
        "X.anything: between() takes texts, numbers or binary data; others have no order",
    ),
    (
        lambda: F(X.lines).between([], []),
        RequestError,
        "X.lines: between() takes texts, numbers or binary data; others have no order",
    ),
    (
        lambda: F(X.anything).between(1, "a"),
        RequestError,
        "X.anything: the bounds of between() are stored as two types; use one for both",
    ),
    (
        lambda: F(X.note).lt(unchecked(None)),
        RequestError,
        "X.note: < cannot compare with None; use eq, ne, exists or not_exists",
    ),
    (
        lambda: F(X.greeting).ge(unchecked(None)),
        RequestError,
        "X.greeting: >= cannot compare with None; use eq, ne, exists or not_exists",
    ),
    (
        lambda: unchecked(F(X.tags)).ge(set()),
        RequestError,
        "X.tags: >= cannot compare with an empty set; use eq, ne, exists or not_exists",
    ),
    (lambda: F(X.text).size().eq(unchecked("1")), RequestError, "X.text: a size is compared with an int; got str"),
    (lambda: F(X.text).size().eq(unchecked(True)), RequestError, "X.text: a size is compared with an int; got bool"),
    (
        lambda: F(X.text).size().between(unchecked(1.5), 2),
        RequestError,
        "X.text: a size is compared with an int; got float",
    ),
    (
        lambda: unchecked(F(X.text)).begins_with(5),
        RequestError,
        "X.text: begins_with() takes a str or bytes; got int",
    ),
    (
        lambda: unchecked(F(X.blob)).begins_with(None),
        RequestError,
        "X.blob: begins_with() takes a str or bytes; got NoneType",
    ),
    (lambda: F(Y.n).eq(1), RequestError, "F(Y: n) is a field of Y, but the request is about X"),
    (lambda: F(X.n).eq(F(Y.n)), RequestError, "F(Y: n) is a field of Y, but the request is about X"),
    (
        lambda: F(X, lambda x: unchecked(x).nothing).eq(1),
        RequestError,
        "X has no path nothing: X has no field 'nothing'",
    ),
    (
        lambda: F(X, lambda x: unchecked(x).address.street).eq(1),
        RequestError,
        "X has no path address.street: Address has no field 'street'",
    ),
    (
        lambda: F(X, lambda x: unchecked(x).n.real).eq(1),
        RequestError,
        "X has no path n.real: an int has nothing at 'real'",
    ),
    (
        lambda: F(X, lambda x: unchecked(x).lines["0"]).exists(),
        RequestError,
        "X has no path lines.0: a list is indexed by a position from 0 on, not by '0'",
    ),
    (lambda: F(X.n).eq(unchecked(True)), EncodeError, "X $.n: an int expected, got bool; use int(value)"),
    (lambda: F(X.n).eq(10**38 + 1), EncodeError, "X $.n"),
    (lambda: F(X.weight).lt(float("nan")), EncodeError, "X $.weight"),
    (lambda: F(X.tags).contains(unchecked(1)), EncodeError, "X $.tags"),
    (lambda: F(X.text).eq(unchecked(None)) & F(X.at).eq(datetime(2020, 1, 1)), EncodeError, "X $.at"),
    (
        lambda: F(X.n).is_in(*range(101)),
        LimitExceeded,
        "X.n: is_in() takes up to 100 values; got 101",
    ),
    (
        lambda: F(X.n).is_in(unchecked([1, 2])),
        EncodeError,
        (
            "X $.n: an int expected, got list; use int(value), or declare list: is_in() takes the values one by one, "
            "as is_in(*values)"
        ),
    ),
    (
        lambda: F(X.text).is_in(unchecked(set())),
        EncodeError,
        "X $.text: a str expected, got set; use str(value): is_in() takes the values one by one, as is_in(*values)",
    ),
]


@pytest.mark.parametrize(("make", "error", "message"), REFUSED, ids=[f"{number}" for number in range(len(REFUSED))])
def test_refused_while_it_is_built(make: Callable[[], Condition], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        compiled(make())
    assert type(caught.value) is error
    assert str(caught.value) == message or (error is EncodeError and str(caught.value).startswith(message))


def test_a_field_is_wanted() -> None:
    with pytest.raises(RequestError) as caught:
        Compiler(Entity).resolve("n")
    assert str(caught.value) == "X: a field is wanted, as F(X.name) makes it; got str"


# ---- limits


def test_a_hundred_values_of_is_in_are_taken() -> None:
    assert readable(F(X.n).is_in(*range(100))).count("<N:") == 100


def many(count: int) -> Condition:
    """So many comparisons, joined by OR: 2 * count - 1 operators."""
    condition: Condition = F(X.n).eq(0)
    for number in range(1, count):
        condition = condition | F(X.n).eq(number)
    return condition


def test_operators_are_counted() -> None:
    compiled(many(150))
    with pytest.raises(LimitExceeded) as caught:
        compiled(many(151))
    assert str(caught.value) == "X: the condition has 301 operators; DynamoDB takes 300: split the request"


def test_an_expression_takes_4_kb() -> None:
    def long(count: int) -> Condition:
        # not many operators, but long lists
        condition: Condition = F(X.n).is_in(*range(100))
        for _ in range(count - 1):
            condition = condition & F(X.n).is_in(*range(100))
        return condition

    assert len(compiled(long(6))[0]) <= 4096
    with pytest.raises(LimitExceeded) as caught:
        compiled(long(7))
    assert re.fullmatch(
        r"X: the condition expression has \d,\d{3} bytes; DynamoDB takes 4,096: split the request", str(caught.value)
    )


def test_the_names_count_nothing_but_their_placeholders() -> None:
    key = "k" * 5000
    text, names, _ = compiled(F(X, lambda x: x.marks[key]).eq(1))
    assert len(text) < 20
    assert names["#1"] == key


def test_a_path_has_up_to_32_steps() -> None:
    field: Field[Any] = Field(X, ("anything", *("a" for _ in range(31))))
    compiler = Compiler(Entity)
    assert compiler.path(field.path).count(".") == 31
    with pytest.raises(LimitExceeded, match=r"X: the path anything\.a\.a\.a\.\.\. has 33 steps; DynamoDB takes 32"):
        compiler.path((*field.path, "a"))


def test_a_condition_has_no_truth_value() -> None:
    for combined in (lambda: A and B, lambda: A or B, lambda: not A, lambda: bool(A)):
        with pytest.raises(TypeError) as caught:
            combined()
        assert (
            str(caught.value) == "a Condition has no truth value; combine conditions with & | ~ instead of and, or, not"
        )


@pytest.mark.parametrize("other", [True, None, F(X.n)])
def test_conditions_combine_with_conditions_only(other: Any) -> None:
    with pytest.raises(TypeError, match=f"& combines two Conditions; got {type(other).__name__}"):
        A & other
    with pytest.raises(TypeError, match=rf"\| combines two Conditions; got {type(other).__name__}"):
        A | other
