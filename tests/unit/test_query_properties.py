"""A query answers exactly what a filter over all items would, in the order of the key, however it is paged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
from hypothesis import event, given, settings
from hypothesis import strategies as st

from dynamap import F, Field, KeyCondition
from tests.depth import how_many
from tests.in_memory import memory_store
from tests.orders import Document, Documents, Line, Order, Orders, Reading, Readings, Session, Stock, day

SETTINGS = settings(max_examples=how_many(quick=60, deep=3000))
SECRET = bytes(range(32))

# code points have the order of UTF-8 bytes, which is DynamoDB's
TEXTS = ["", "a", "a#", "a$", "ab", "a\0", "a!", "b", "$", "#", "##", "ORDER", "é", "\uffff", "\U00010000"]
WORDS = [text for text in TEXTS if text]
text = st.sampled_from(TEXTS)
word = st.sampled_from(WORDS)

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda stored, value: stored == value,
    "lt": lambda stored, value: stored < value,
    "le": lambda stored, value: stored <= value,
    "gt": lambda stored, value: stored > value,
    "ge": lambda stored, value: stored >= value,
}


@attrs.frozen
class Range:
    """A range of a field, as dynamap and as Python says it."""

    field: str
    word: str
    operands: tuple[Any, ...]

    def condition(self, field: Field[Any]) -> KeyCondition:
        made: KeyCondition = getattr(field, self.word)(*self.operands)
        return made

    def holds(self, item: Any) -> bool:
        stored = getattr(item, self.field)
        if stored is None:
            return False
        if self.word == "between":
            low, high = self.operands
            return bool(low <= stored <= high)
        if self.word == "begins_with":
            return bool(stored.startswith(self.operands[0]))
        return COMPARISONS[self.word](stored, self.operands[0])


def ranges(field: str, values: st.SearchStrategy[Any], *, beginnings: bool = False) -> st.SearchStrategy[Range]:
    """Every kind of range of a field."""
    single = st.builds(Range, st.just(field), st.sampled_from(sorted(COMPARISONS)), st.tuples(values))
    pairs = st.tuples(values, values).map(lambda pair: tuple(sorted(pair)))
    double = st.builds(Range, st.just(field), st.just("between"), pairs)
    beginning = st.builds(Range, st.just(field), st.just("begins_with"), st.tuples(values))
    return st.one_of(single, double, beginning) if beginnings else st.one_of(single, double)


@attrs.frozen
class Paging:
    """How a query is read."""

    page_size: int | None
    limit: int | None
    reverse: bool
    ahead: bool

    def apply(self, query: Any) -> Any:
        query = query if self.page_size is None else query.page_size(self.page_size)
        query = query if self.limit is None else query.limit(self.limit)
        query = query.reverse() if self.reverse else query
        return query.read_ahead() if self.ahead else query


pagings = st.builds(
    Paging,
    st.sampled_from([None, 1, 2, 50]),
    st.sampled_from([None, 1, 2, 3]),
    st.booleans(),
    st.booleans(),
)


def check(query: Any, paging: Paging, expected: Sequence[Any]) -> None:
    """Every way of asking answers what was computed apart."""
    event(f"{min(len(expected), 4)} items")
    whole = list(reversed(expected)) if paging.reverse else list(expected)
    wanted = whole if paging.limit is None else whole[: paging.limit]
    asked = paging.apply(query)
    assert asked.send() == wanted
    assert list(asked) == wanted
    assert asked.count().send() == len(wanted)
    assert asked.first().send() == (wanted[0] if wanted else None)
    pages = list(asked.pages())
    assert [item for page in pages for item in page.items] == wanted
    assert all(page.items for page in pages)
    # page after page, each in a request of its own: a limit is that of each page, and nothing is lost in between
    found: list[Any] = []
    cursor: str | None = None
    while True:
        page = asked.page(cursor).send()
        assert paging.limit is None or len(page.items) <= paging.limit
        assert page.items or page.next is None
        found += page.items
        cursor = page.next
        if cursor is None:
            break
    assert found == whole


def stored(table: Any, items: Sequence[Any]) -> Any:
    store, _ = memory_store(table, items, cursor_key=SECRET)
    return store


# ---- two texts that keep their order

stocks = st.builds(Stock, text, text, st.integers(0, 2))


@SETTINGS
@given(
    st.lists(stocks, max_size=12, unique_by=lambda item: (item.shelf, item.name)),
    st.one_of(
        st.tuples(st.just({}), st.none()),
        st.tuples(st.just({}), ranges("shelf", text, beginnings=True)),
        st.tuples(st.fixed_dictionaries({"shelf": text}), st.one_of(st.none(), ranges("name", text, beginnings=True))),
        st.tuples(st.fixed_dictionaries({"shelf": text, "name": text}), st.none()),
    ),
    pagings,
    st.booleans(),
)
def test_texts(items: list[Stock], asked: tuple[dict[str, str], Range | None], paging: Paging, filtered: bool) -> None:
    leading, bound = asked
    fields: dict[str, Field[Any]] = {"shelf": F(Stock.shelf), "name": F(Stock.name)}
    query: Any = stored(Orders, items).of(Stock).query(**leading)
    if bound is not None:
        query = query.range(bound.condition(fields[bound.field]))
    if filtered:
        query = query.filter(F(Stock.count).ge(1))
    expected = [
        item
        for item in sorted(items, key=lambda item: (item.shelf, item.name))
        if all(getattr(item, name) == value for name, value in leading.items())
        and (bound is None or bound.holds(item))
        and (not filtered or item.count >= 1)
    ]
    check(query, paging, expected)


# ---- a customer's orders, among neighbours

orders = st.builds(Order, word, st.integers(0, 3).map(day), st.integers(0, 2), st.sampled_from([None, "open", "o#"]))
neighbours = st.one_of(
    st.builds(Line, word, word, st.integers(0, 2)), st.builds(Session, word, word, st.sampled_from([None, day(-300)]))
)


def is_order(item: Any) -> bool:
    return isinstance(item, Order)


def key_of(item: Any) -> tuple[Any, ...]:
    if isinstance(item, Order):
        return ("order", item.customer, item.at, item.number)
    return (type(item).__name__, *attrs.astuple(item)[:2], getattr(item, "line", None))


@SETTINGS
@given(
    st.lists(st.one_of(orders, orders, neighbours), max_size=12, unique_by=key_of),
    word,
    st.one_of(
        st.tuples(st.just({}), st.one_of(st.none(), ranges("at", st.integers(-1, 4).map(day)))),
        st.tuples(
            st.fixed_dictionaries({"at": st.integers(0, 3).map(day)}),
            st.one_of(st.none(), ranges("number", st.integers(0, 3))),
        ),
    ),
    pagings,
)
def test_orders(items: list[Any], customer: str, asked: tuple[dict[str, Any], Range | None], paging: Paging) -> None:
    leading, bound = asked
    store = stored(Orders, items)
    query = store.of(Order).query(customer=customer, **leading)
    fields: dict[str, Field[Any]] = {"at": F(Order.at), "number": F(Order.number)}
    if bound is not None:
        query = query.range(bound.condition(fields[bound.field]))
    whole = [store.of(Order).get(customer=i.customer, at=i.at, number=i.number).send() for i in items if is_order(i)]
    expected = [
        item
        for item in sorted(whole, key=lambda item: (item.at, item.number))
        if item.customer == customer
        and all(getattr(item, name) == value for name, value in leading.items())
        and (bound is None or bound.holds(item))
    ]
    check(query, paging, expected)


@SETTINGS
@given(st.lists(st.one_of(orders, neighbours), max_size=12, unique_by=key_of), word, pagings)
def test_sessions_that_have_not_expired(items: list[Any], customer: str, paging: Paging) -> None:
    query = stored(Orders, items).of(Session).query(customer=customer)
    expected = sorted(
        (i for i in items if isinstance(i, Session) and i.customer == customer and i.until is None), key=lambda i: i.id
    )
    check(query, paging, [item for item in expected if item.id])


@SETTINGS
@given(st.lists(st.one_of(orders, neighbours), max_size=12, unique_by=key_of), pagings)
def test_all_of_a_type_by_an_index_on_the_discriminator(items: list[Any], paging: Paging) -> None:
    store = stored(Orders, items)
    whole = [store.of(Order).get(customer=i.customer, at=i.at, number=i.number).send() for i in items if is_order(i)]
    ordered = store.of(Order).index("kinds").query().send()
    assert sorted(ordered, key=key_of) == sorted(whole, key=key_of)
    assert [item.at for item in ordered] == sorted(item.at for item in whole)
    check(store.of(Order).index("kinds").query(), paging, ordered)


# ---- keys that are fields

documents = st.builds(
    Document,
    word,
    st.integers(-11, 12),
    st.sampled_from([None, "ch", "de"]),
    st.sampled_from([None, "bern", "b"]),
    st.sampled_from([None, "a", "a#", "ab", "b"]),
    st.sampled_from([None, 1, 2, 10, -3]),
)


@SETTINGS
@given(
    st.lists(documents, max_size=12, unique_by=lambda item: (item.customer, item.number)),
    word,
    st.one_of(st.none(), ranges("number", st.integers(-12, 13))),
    pagings,
)
def test_numbers(items: list[Document], customer: str, bound: Range | None, paging: Paging) -> None:
    query = stored(Documents, items).of(Document).query(customer=customer)
    if bound is not None:
        query = query.range(bound.condition(F(Document.number)))
    expected = [
        item
        for item in sorted(items, key=lambda item: item.number)
        if item.customer == customer and (bound is None or bound.holds(item))
    ]
    check(query, paging, expected)


@SETTINGS
@given(
    st.lists(documents, max_size=12, unique_by=lambda item: (item.customer, item.number)),
    st.one_of(
        st.tuples(
            st.just({}), st.one_of(st.none(), ranges("street", st.sampled_from(["a", "a#", "b"]), beginnings=True))
        ),
        st.tuples(
            st.fixed_dictionaries({"street": st.sampled_from(["a", "a#", "b"])}),
            st.one_of(st.none(), ranges("house", st.integers(-4, 11))),
        ),
        st.tuples(st.fixed_dictionaries({"street": st.just("a"), "house": st.just(1)}), st.none()),
    ),
    pagings,
)
def test_an_index_with_a_key_of_several_attributes(
    items: list[Document], asked: tuple[dict[str, Any], Range | None], paging: Paging
) -> None:
    leading, bound = asked
    query = stored(Documents, items).of(Document).index("place").query(country="ch", city="b", **leading)
    fields: dict[str, Field[Any]] = {
        "street": F(Document, lambda d: d.street),
        "house": F(Document, lambda d: d.house),
    }
    if bound is not None:
        query = query.range(bound.condition(fields[bound.field]))
    expected = [
        item
        for item in items
        if (item.country, item.city) == ("ch", "b")
        and item.street is not None
        and item.house is not None
        and all(getattr(item, name) == value for name, value in leading.items())
        and (bound is None or bound.holds(item))
    ]
    # among equal keys of an index there is no promised order
    ordered = query.send()
    assert [(item.street, item.house) for item in ordered] == sorted(
        (item.street or "", item.house or 0) for item in expected
    )
    assert sorted(ordered, key=lambda d: (d.customer, d.number)) == sorted(
        expected, key=lambda d: (d.customer, d.number)
    )
    check(query, paging, ordered)


# ---- binary keys

frames = st.sampled_from([b"\0", b"a", b"a\0", b"ab", b"\xff", b"\xff\xff"])


@SETTINGS
@given(
    st.lists(st.builds(Reading, word, frames), max_size=8, unique_by=lambda item: (item.sensor, item.frame)),
    word,
    st.one_of(st.none(), ranges("frame", frames, beginnings=True)),
    pagings,
)
def test_bytes(items: list[Reading], sensor: str, bound: Range | None, paging: Paging) -> None:
    query = stored(Readings, items).of(Reading).query(sensor=sensor)
    if bound is not None:
        query = query.range(bound.condition(F(Reading.frame)))
    expected = [
        item
        for item in sorted(items, key=lambda item: item.frame)
        if item.sensor == sensor and (bound is None or bound.holds(item))
    ]
    check(query, paging, expected)
