"""Requests whose text was made for others with the same outline are those that the compiler would make of them."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any

import pytest
from attrs import define, field
from hypothesis import given
from hypothesis import strategies as st

from dynamap import Attribute, Condition, DynamapError, F, Field, GlobalIndex, Index, Store, Sync, Table, entity, evolve
from dynamap.expressions import Compiler, Outline, Unusual, UpdateCompiler
from tests.fakes import store_of


@define
class Inner:
    city: str
    floor: int | None = None


def thing(name: str, **options: Any) -> Any:
    """A class with fields of many kinds."""

    @entity(name, pk=f"{name}#{{id}}", sk="T", **options)
    class Thing:
        id: str
        count: int = 0
        other: int = 5
        amount: Decimal | None = None
        name: str = ""
        tags: set[str] = field(factory=set[str])
        words: list[str] = field(factory=list[str])
        renamed: Annotated[str, Attribute("stored", aliases=("older",))] = ""
        inner: Inner | None = None
        table: dict[str, int] = field(factory=dict[str, int])
        revision: int = 0
        expires: int | None = None

    return Thing


KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "plain": (thing("PLAIN"), {}),
    "versioned": (thing("VERSIONED", version="revision"), {}),
    "expiring": (thing("EXPIRING", ttl="expires"), {"ttl": "ttl"}),
    "indexed": (
        thing("INDEXED", indexes=[Index("gsi", pk="{name}", sk="{count:05}")]),
        {"indexes": [GlobalIndex("gsi")]},
    ),
    "replicated": (thing("REPLICATED"), {"replicated": True}),
}


def made(kind: str) -> Store[Sync]:
    cls, options = KINDS[kind]
    return store_of(Table("things", [cls], **options), write_ids=lambda: "w")


WARM = {kind: made(kind) for kind in KINDS}
"""Stores that remember the outlines of all examples before."""

# ---- chains: what is done, apart from the values, and the values

texts = st.text(max_size=3)
whole = st.integers(-3, 3)
anything = st.one_of(
    texts, whole, st.none(), st.booleans(), st.binary(max_size=2), st.sampled_from([1.5, {"a"}, ["b"], 10**40])
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "id": texts,
    "count": whole,
    "other": whole,
    "amount": st.decimals(allow_nan=False, allow_infinity=False, places=1, min_value=-9, max_value=9) | st.none(),
    "name": texts,
    "tags": st.sets(texts, max_size=2),
    "words": st.lists(texts, max_size=2),
    "renamed": texts,
    "inner": st.builds(Inner, texts, whole | st.none()) | st.none(),
    "inner.city": texts,
    "inner.floor": whole | st.none(),
    "table.a": whole,
    "words.1": texts,
    "revision": whole,
    "expires": st.integers(1, 10**9) | st.none(),
}
PATHS: dict[str, tuple[Any, ...]] = {name: tuple(name.split(".")) for name in VALUES} | {"words.1": ("words", 1)}


def reference(cls: Any, name: str) -> Any:
    return Field[Any](cls, PATHS[name])


CHANGEABLE = [name for name in sorted(VALUES) if name not in ("id", "revision")]
FITTING: dict[str, list[str]] = {
    "set": CHANGEABLE,
    "set_if_missing": CHANGEABLE,
    "remove": [name for name in CHANGEABLE if name not in ("inner.city", "table.a", "words.1")],
    "add": ["count", "other", "amount", "tags", "inner.floor", "table.a"],
    "discard": ["tags"],
    "append": ["words"],
    "prepend": ["words"],
}
"""The fields that take a step."""

Filled = Callable[[Any, Callable[[st.SearchStrategy[Any]], Any]], Any]
"""Makes something for a class, with values that it asks for by their strategy."""

names = st.sampled_from(sorted(VALUES))
strategies = st.integers(0, 24).map(bool)


@st.composite
def terms(draw: st.DrawFn) -> Filled:
    """What a field is set to: mostly a value, or a field, an or_else or a sum."""
    name, other, kind = draw(names), draw(names), draw(st.integers(0, 9))
    wild = VALUES[name] if draw(strategies) else anything
    if kind == 0:
        return lambda cls, value: reference(cls, other)
    if kind == 1:
        return lambda cls, value: reference(cls, other).or_else(value(wild))
    if kind == 2:
        return lambda cls, value: reference(cls, other) + value(wild)
    if kind == 3:
        return lambda cls, value: reference(cls, name).or_else(value(wild)) - reference(cls, other)
    return lambda cls, value: value(wild)


@st.composite
def steps(draw: st.DrawFn) -> Callable[[Any, Any, Any], Any]:
    """One step of an update, which is made of it, the class and what gives values."""
    method = draw(st.sampled_from(["set", "set", *FITTING]))
    name = draw(st.sampled_from(FITTING[method]) if draw(strategies) else names)
    strategy = VALUES[name] if draw(strategies) else anything
    if method in ("add", "discard") and name == "tags":
        strategy = texts
    if method in ("append", "prepend"):
        strategy = texts
    computed = draw(terms()) if method == "set" and not draw(st.integers(0, 4)) else None

    def do(operation: Any, cls: Any, value: Callable[[st.SearchStrategy[Any]], Any]) -> Any:
        if method == "remove":
            return operation.remove(reference(cls, name))
        what = value(strategy) if computed is None else computed(cls, value)
        return getattr(operation, method)(reference(cls, name), what)

    return do


Comparison = Callable[[Any, Callable[[], Any], Callable[[st.SearchStrategy[Any]], Any]], Any]
COMPARISONS: dict[str, Comparison] = {
    **{
        word: lambda it, own, value, word=word: getattr(it, word)(own())  # type: ignore[misc]
        for word in ("eq", "ne", "lt", "le", "gt", "ge", "not_exists_or_eq")
    },
    "between": lambda it, own, value: it.between(own(), own()),
    "is_in": lambda it, own, value: it.is_in(own(), own()),
    "one": lambda it, own, value: it.is_in(own()),
    "exists": lambda it, own, value: it.exists(),
    "not_exists": lambda it, own, value: it.not_exists(),
    "text": lambda it, own, value: it.attribute_type("S"),
    "number": lambda it, own, value: it.attribute_type("N"),
    "begins": lambda it, own, value: it.begins_with(value(texts)),
    "contains": lambda it, own, value: it.contains(value(texts)),
    "size": lambda it, own, value: it.size().gt(value(whole)),
    "sizes": lambda it, own, value: it.size().between(value(whole), value(whole)),
}
"""What is asked of a field, with values of its own kind or of others."""


@st.composite
def comparisons(draw: st.DrawFn) -> Filled:
    name, other = draw(names), draw(names)
    strategy = VALUES[name] if draw(strategies) else anything
    compare = COMPARISONS[draw(st.sampled_from(sorted(COMPARISONS)))]
    if not draw(st.integers(0, 9)):
        return lambda cls, value: reference(cls, name).eq(reference(cls, other))
    return lambda cls, value: compare(reference(cls, name), lambda: value(strategy), value)


def both(one: Filled, two: Filled) -> Filled:
    return lambda cls, value: one(cls, value) & two(cls, value)


def either(one: Filled, two: Filled) -> Filled:
    return lambda cls, value: one(cls, value) | two(cls, value)


def opposite(one: Filled) -> Filled:
    return lambda cls, value: ~one(cls, value)


def combined(inner: st.SearchStrategy[Filled]) -> st.SearchStrategy[Filled]:
    return st.one_of(st.builds(both, inner, inner), st.builds(either, inner, inner), st.builds(opposite, inner))


conditions: st.SearchStrategy[Filled] = st.recursive(comparisons(), combined, max_leaves=3)


def outcome(make: Callable[[], Any]) -> tuple[str, Any]:
    try:
        return "made", make()
    except DynamapError as error:
        return type(error).__name__, str(error)


def forgetful(kind: str) -> Store[Sync]:
    """A store that has compiled nothing yet."""
    store = made(kind)
    assert not entity_of(store, kind).derived
    return store


def entity_of(store: Any, kind: str) -> Any:
    return store._table.entity(KINDS[kind][0])


def typed(found: Any) -> Any:
    """With the order of every dict, and the types."""
    kind = type(found).__name__
    if kind == "dict":
        return [(name, typed(each)) for name, each in found.items()]
    return [typed(each) for each in found] if kind in ("list", "tuple") else (kind, found)


Making = Callable[[Store[Sync], Callable[[st.SearchStrategy[Any]], Any]], Any]


def check(data: st.DataObject, kind: str, make: Making) -> None:
    """What several fillings of one chain make after one another, they make alone as well."""
    for _ in range(3):
        check_one(data, kind, make)


def check_one(data: st.DataObject, kind: str, make: Making) -> None:
    values: list[Any] = []

    def fresh(strategy: st.SearchStrategy[Any]) -> Any:
        values.append(data.draw(strategy))
        return values[-1]

    warm = outcome(lambda: make(WARM[kind], fresh))
    again = iter(values)
    alone = outcome(lambda: make(forgetful(kind), lambda _: next(again)))
    assert warm == alone
    assert typed(warm[1]) == typed(alone[1])


kinds = st.sampled_from(sorted(KINDS))


@given(st.data(), kinds, st.lists(steps(), min_size=1, max_size=4), st.lists(conditions, max_size=2), st.booleans())
def test_an_update(
    data: st.DataObject,
    kind: str,
    chain: list[Callable[[Any, Any, Any], Any]],
    asked: list[Filled],
    expired: bool,
) -> None:
    cls = KINDS[kind][0]

    def make(store: Store[Sync], value: Callable[[st.SearchStrategy[Any]], Any]) -> Any:
        operation: Any = store.of(cls).update(id="1")
        if kind == "versioned":
            operation = operation.if_version(value(st.integers(1, 3))) if expired else operation.ignore_version()
        for do in chain:
            operation = do(operation, cls, value)
        for condition in asked:
            operation = operation.if_(condition(cls, value))
        if expired:
            operation = operation.include_expired()
        return operation.params()

    check(data, kind, make)


@given(
    st.data(), kinds, st.lists(conditions, max_size=2), st.sampled_from(["put", "delete", "check"]), st.integers(0, 3)
)
def test_conditions(data: st.DataObject, kind: str, asked: list[Filled], verb: str, existence: int) -> None:
    cls = KINDS[kind][0]

    def make(store: Store[Sync], value: Callable[[st.SearchStrategy[Any]], Any]) -> Any:
        items: Any = store.of(cls)
        if verb == "put":
            operation = items.put(cls("1", name="n", revision=value(st.integers(0, 2))))
            operation = (
                operation if existence % 2 else operation.if_not_exists() if existence else operation.if_exists()
            )
        elif verb == "delete":
            operation = items.delete(id="1")
            operation = operation.if_version(value(st.integers(1, 2))) if kind == "versioned" else operation
            operation = operation if existence % 2 else operation.if_exists()
        else:
            operation = items.check(id="1")
            operation = operation if existence % 2 else operation.exists() if existence else operation.not_exists()
        for condition in asked:
            operation = operation.if_(condition(cls, value))
        if existence == 3:
            operation = operation.include_expired()
        return operation.params()

    check(data, kind, make)


@st.composite
def things(draw: st.DrawFn, cls: Any) -> Any:
    return cls(
        "1",
        *(draw(VALUES[name]) for name in ("count", "other", "amount", "name", "tags", "words", "renamed", "inner")),
        {},
        draw(st.integers(1, 2)),
    )


@given(st.data(), kinds, st.lists(conditions, max_size=1))
def test_a_rewrite(data: st.DataObject, kind: str, asked: list[Filled]) -> None:
    cls = KINDS[kind][0]

    def make(store: Store[Sync], value: Callable[[st.SearchStrategy[Any]], Any]) -> Any:
        read = value(things(cls))
        operation: Any = store.of(cls).update(read).to(evolve(value(things(cls)), revision=read.revision))
        for condition in asked:
            operation = operation.if_(condition(cls, value))
        return operation.params()

    check(data, kind, make)


# ---- that it is so at all


def compiled_nothing(*_given: object) -> Any:
    msg = "it was compiled"
    raise AssertionError(msg)


def usual(store: Store[Sync], kind: str, number: int) -> list[Any]:
    cls = KINDS[kind][0]
    count, name, amount = F(cls, lambda t: t.count), F(cls, lambda t: t.name), F(cls, lambda t: t.amount)
    items: Any = store.of(cls)
    keyed = items.update(id=str(number))
    read = cls(str(number), count=number, revision=number + 1)
    if kind == "versioned":
        keyed = keyed.if_version(number + 1)
    updates = [
        keyed.set(count, number).set(name, f"n{number}").if_(amount.gt(Decimal(number))),
        keyed.add(count, number).remove(amount),
        keyed.set(count, count + number).if_(count.between(number, number + 1) | name.begins_with(f"n{number}")),
        keyed.add(F(cls, lambda t: t.other), number).append(F(cls, lambda t: t.words), f"w{number}"),
        items.update(read).to(evolve(read, count=number + 1, inner=Inner(f"c{number}"))),
        items.put(read).if_(count.lt(number)),
    ]
    return [each.params() for each in updates]


@pytest.mark.parametrize("kind", ["plain", "versioned"])
def test_the_usual_is_compiled_once(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = made(kind)
    usual(store, kind, 1)
    expected = usual(forgetful(kind), kind, 2)
    monkeypatch.setattr(UpdateCompiler, "update", compiled_nothing)
    monkeypatch.setattr(Compiler, "condition", compiled_nothing)
    assert usual(store, kind, 2) == expected


def test_what_was_compiled_can_be_changed_by_whoever_gets_it() -> None:
    store = made("plain")
    expected = usual(forgetful("plain"), "plain", 2)
    for _ in range(2):
        for params in usual(store, "plain", 1):
            params.clear()
            for names in (params.get("ExpressionAttributeNames"), params.get("ExpressionAttributeValues")):
                if names:
                    names.clear()
    assert usual(store, "plain", 2) == expected


def test_no_more_outlines_are_kept_than_a_bound() -> None:
    store = made("plain")
    cls = KINDS["plain"][0]
    operation: Any = store.of(cls).update(id="1")
    for number in range(600):
        path = Field[Any](cls, ("table", f"key {number}"))
        operation.set(path, number).params()
        assert len(entity_of(store, "plain").derived["expressions"]) <= 256


@pytest.mark.parametrize("step", [True, "1", 1])
def test_a_position_is_no_other_step_that_is_equal(step: Any) -> None:
    store = made("plain")
    cls = KINDS["plain"][0]
    operation: Any = store.of(cls).update(id="1")
    operation.set(Field[Any](cls, ("words", 1)), "x").params()
    made_now = outcome(lambda: operation.set(Field[Any](cls, ("words", step)), "x").params())
    alone = outcome(
        lambda: forgetful("plain").of(cls).update(id="1").set(Field[Any](cls, ("words", step)), "x").params()
    )
    assert made_now == alone


def test_what_has_no_outline_says_so() -> None:
    described = entity_of(made("plain"), "plain")
    cls = KINDS["plain"][0]
    amount: Field[Decimal | None] = F(cls, lambda t: t.amount)
    for condition in (amount.eq(None), amount.is_in(Decimal(1)), F(cls, lambda t: t.tags).eq(set[str]())):
        with pytest.raises(Unusual):
            Outline(described, "condition").conditions([Condition(condition.node)])
