"""A query of several types answers exactly what a filter over all items would, in the order of the key."""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import datetime
from typing import Any

import attrs
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from dynamap import (
    CallInfo,
    CursorError,
    F,
    Field,
    ItemDecodeError,
    ItemNotFound,
    KeyCondition,
    Page,
    SeveralItems,
    Store,
    Sync,
    Table,
    connect,
    entity,
)
from tests.depth import how_many
from tests.fakes import NOW, FakeClient
from tests.in_memory import memory_store
from tests.orders import day
from tests.partitions import (
    Bookings,
    Customer,
    Deposit,
    Line,
    Note,
    Order,
    Partitions,
    Payment,
    Remarked,
    Session,
    Visit,
    Withdrawal,
)

SETTINGS = settings(max_examples=how_many(quick=100, deep=5000), deadline=None)
SECRET = bytes(range(32))
PAST, FUTURE = day(-400), day(4000)
TYPES: tuple[type[Any], ...] = (Customer, Order, Line, Session, Note, Visit, Payment)

customers = st.sampled_from(["c", "c#", "d"])
words = st.sampled_from(["a", "a#", "a$", "aLINE", "ab", "b"])
remarks = st.sampled_from([None, "x", "y"])
ends = st.sampled_from([None, PAST, FUTURE])
days = st.integers(0, 3).map(day)
counts = st.integers(0, 2)

things = st.one_of(
    st.builds(Customer, customers, remarks.map(str)),
    st.builds(Order, customers, remarks, words, count=counts),
    st.builds(Line, customers, remarks, words, st.integers(0, 2), counts),
    st.builds(Session, customers, words, ends),
    st.builds(Note, customers, words, remarks.map(str)),
    st.builds(Visit, customers, remarks, days, ends),
    st.builds(Payment, customers, remarks, days, st.integers(0, 2)),
)


def customer_of(item: Any) -> str:
    return str(item.id if isinstance(item, Customer) else item.customer)


def key_order(item: Any) -> tuple[Any, ...]:
    """What sorts as the sort keys do, written apart from the package."""
    if isinstance(item, Customer):
        return ("CUSTOMER",)
    if isinstance(item, Order):
        return ("ORDER", item.order, 0)
    if isinstance(item, Line):
        return ("ORDER", item.number, 1, item.line)
    if isinstance(item, (Session, Note)):
        return (type(item).__name__.upper(), item.id.replace("$", "$24").replace("#", "$23"))
    at: datetime = item.at
    return ("", at, 1) if isinstance(item, Visit) else ("", at, 0, item.number)


def has_expired(item: Any) -> bool:
    return getattr(item, "until", None) == PAST


def with_customer(*classes: type[Any], customer: str) -> dict[str, str]:
    """The fields of which these classes make their partition keys."""
    names = ["id" if cls is Customer else "customer" for cls in classes]
    return dict.fromkeys(names, customer)


# ---- what is asked for, as dynamap and as Python say it


@attrs.frozen
class Filter:
    """A condition of a class, and what holds of those of its items that stay in."""

    condition: Any
    of: tuple[type[Any], ...]
    holds: Callable[[Any], bool]

    def keeps(self, item: Any) -> bool:
        return not isinstance(item, self.of) or self.holds(item)


FILTERS = [
    Filter(F(Order.count).ge(1), (Order,), lambda item: item.count >= 1),
    Filter(F(Line.count).eq(1) | F(Line.remark).eq("x"), (Line,), lambda item: item.count == 1 or item.remark == "x"),
    Filter(~F(Line.count).eq(1), (Line,), lambda item: item.count != 1),
    Filter(F(Remarked.remark).eq("x"), (Remarked,), lambda item: item.remark == "x"),
    Filter(F(Remarked.remark).not_exists(), (Remarked,), lambda item: item.remark is None),
    Filter(F(Order, lambda order: order.remark).eq("y"), (Order,), lambda item: item.remark == "y"),
    Filter(F(Note.text).eq("x"), (Note,), lambda item: item.text == "x"),
    Filter(F(Visit.until).exists(), (Visit,), lambda item: item.until is not None),
]
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    name: getattr(operator, name) for name in ("eq", "lt", "le", "gt", "ge")
}


@attrs.frozen
class Range:
    """A range of the field at one place of several classes."""

    names: tuple[tuple[type[Any], str], ...]
    word: str
    operands: tuple[Any, ...]

    def condition(self, number: int) -> KeyCondition:
        cls, name = self.names[number % len(self.names)]
        made: KeyCondition = getattr(Field[Any](cls, (name,)), self.word)(*self.operands)
        return made

    def holds(self, item: Any) -> bool:
        value = getattr(item, dict(self.names)[type(item)])
        if self.word == "between":
            return bool(self.operands[0] <= value <= self.operands[1])
        if self.word == "begins_with":
            return bool(value.startswith(self.operands[0]))
        return COMPARISONS[self.word](value, self.operands[0])


def ranges(names: tuple[tuple[type[Any], str], ...], values: st.SearchStrategy[Any]) -> st.SearchStrategy[Range]:
    single = st.builds(Range, st.just(names), st.sampled_from(sorted(COMPARISONS)), st.tuples(values))
    pairs = st.tuples(values, values).map(lambda pair: tuple(sorted(pair)))
    return st.one_of(single, st.builds(Range, st.just(names), st.just("between"), pairs))


BY_ORDER = ((Order, "order"), (Line, "number"))
BY_TIME = ((Visit, "at"), (Payment, "at"))
beginnings = st.builds(Range, st.just(BY_ORDER), st.just("begins_with"), st.tuples(words))


@attrs.frozen
class Asked:
    """Classes, and a range that fits them."""

    classes: tuple[type[Any], ...]
    bound: Range | None = None


asked = st.one_of(
    st.lists(st.sampled_from(TYPES), min_size=1, max_size=7, unique=True).map(lambda classes: Asked(tuple(classes))),
    st.builds(
        Asked,
        st.permutations([Order, Line]).map(tuple),
        st.one_of(ranges(BY_ORDER, words), beginnings),
    ),
    st.builds(Asked, st.permutations([Visit, Payment]).map(tuple), ranges(BY_TIME, st.integers(-1, 4).map(day))),
)


@attrs.frozen
class Paging:
    """How a query is read."""

    page_size: int | None
    limit: int | None
    reverse: bool
    ahead: bool
    include_expired: bool

    def apply(self, query: Any) -> Any:
        query = query if self.page_size is None else query.page_size(self.page_size)
        query = query if self.limit is None else query.limit(self.limit)
        query = query.reverse() if self.reverse else query
        query = query.include_expired() if self.include_expired else query
        return query.read_ahead() if self.ahead else query


pagings = st.builds(
    Paging,
    st.sampled_from([None, 1, 2, 50]),
    st.sampled_from([None, 1, 2, 3]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)


def check(query: Any, classes: tuple[type[Any], ...], paging: Paging, expected: list[Any]) -> None:
    """Every way of asking answers what was computed apart."""
    event(f"{min(len(expected), 4)} items")
    whole = expected[::-1] if paging.reverse else expected
    wanted = whole if paging.limit is None else whole[: paging.limit]
    assert query.send() == wanted
    assert list(query) == wanted
    assert query.count().send() == len(wanted)
    assert query.first().send() == (wanted[0] if wanted else None)
    assert query.grouped().send() == tuple([item for item in wanted if type(item) is cls] for cls in classes)
    pages = list(query.pages())
    assert [item for page in pages for item in page.items] == wanted
    assert all(page.items for page in pages)
    found: list[Any] = []
    cursor: str | None = None
    while True:
        page = query.page(cursor).send()
        assert paging.limit is None or len(page.items) <= paging.limit
        assert page.items or page.next is None
        found += page.items
        cursor = page.next
        if cursor is None:
            break
    assert found == whole


@pytest.mark.deep
@SETTINGS
@given(
    st.lists(things, max_size=14, unique_by=lambda item: (customer_of(item), key_order(item))),
    customers,
    asked,
    st.lists(st.sampled_from(FILTERS), max_size=2),
    pagings,
    st.integers(0, 1),
)
def test_as_a_filter_over_all_items(
    items: list[Any], customer: str, wanted: Asked, filters: list[Filter], paging: Paging, number: int
) -> None:
    store, _ = memory_store(Partitions, items, cursor_key=SECRET)
    query: Any = store.query(*wanted.classes, **with_customer(*wanted.classes, customer=customer))
    if wanted.bound is not None:
        query = query.range(wanted.bound.condition(number))
    filters = [each for each in filters if any(issubclass(cls, each.of) for cls in wanted.classes)]
    for each in filters:
        query = query.filter(each.condition)
    expected = [
        item
        for item in sorted(items, key=key_order)
        if isinstance(item, wanted.classes)
        and customer_of(item) == customer
        and (paging.include_expired or not has_expired(item))
        and (wanted.bound is None or wanted.bound.holds(item))
        and all(each.keeps(item) for each in filters)
    ]
    # versions are given when they are stored
    answered = [store.of(Customer).get(id=item.id).send() if isinstance(item, Customer) else item for item in expected]
    check(paging.apply(query), wanted.classes, paging, answered)
    # nobody wrote a type that is not declared
    check(paging.apply(query.raise_unknown()), wanted.classes, paging, answered)


# ---- numbers, of which one class makes others

deposits = st.builds(Deposit, st.just("c"), st.integers(-3, 1005))
withdrawals = st.builds(Withdrawal, st.just("c"), st.integers(1000, 1010))


@pytest.mark.deep
@SETTINGS
@given(
    st.lists(st.one_of(deposits, withdrawals), max_size=8, unique_by=lambda item: item.number),
    ranges(((Deposit, "number"), (Withdrawal, "number")), st.integers(-4, 1012)),
    pagings,
)
def test_each_type_has_the_range_in_its_own_form(items: list[Any], bound: Range, paging: Paging) -> None:
    def own(number: int) -> int:
        return number % 1000 + 1000

    store, _ = memory_store(Bookings, items, cursor_key=SECRET)
    query = store.query(Deposit, Withdrawal, account="c")
    if bound.word == "between" and own(bound.operands[0]) > own(bound.operands[1]):
        return
    of_withdrawals = attrs.evolve(bound, operands=tuple(map(own, bound.operands)))
    expected = [
        item
        for item in sorted(items, key=lambda item: item.number)
        if (of_withdrawals if isinstance(item, Withdrawal) else bound).holds(item)
    ]
    check(paging.apply(query.range(bound.condition(0))), (Deposit, Withdrawal), paging, expected)


# ---- what is skipped, and what nobody declared


@entity("INVOICE", pk="CUSTOMER#{customer}", sk="ORDER#{id}#INVOICE", frozen=True)
class Invoice:
    """Of a release that this one does not know."""

    customer: str
    id: str
    remark: str | None = None


NEWER = Table("partitions", [Customer, Order, Line, Session, Note, Visit, Payment, Invoice], untyped=Note, ttl="ttl")
ORDER, LINE, INVOICE = Order("c", None, "a"), Line("c", "x", "b", 1), Invoice("c", "a", "x")
PAYMENT, VISIT = Payment("c", None, day(1)), Visit("c", None, day(1), until=PAST)


def stored(*items: Any) -> tuple[Store[Sync], FakeClient]:
    """A store that does not know of invoices, though there may be some in its table."""
    _, client = memory_store(NEWER, items)
    return connect(Partitions, client=client, clock=lambda: NOW, cursor_key=SECRET), client


def test_other_types_are_skipped_and_counted() -> None:
    store, _ = stored(ORDER, LINE, INVOICE, PAYMENT, VISIT, Session("c", "s"), Customer("c"))
    page = store.query(Order, Line, customer="c").page().send()
    assert (page.items, page.skipped, page.next) == ([ORDER, LINE], 1, None)
    page_of_all = store.query(Order, Visit, customer="c").page().send()
    assert (page_of_all.items, page_of_all.skipped) == ([ORDER], 6)
    pages = list(store.query(Order, Line, customer="c").page_size(1).pages())
    assert [(each.items, each.skipped) for each in pages] == [([ORDER], 0), ([LINE], 1)]
    assert store.query(Order, Line, customer="c").count().send() == 2


def test_an_unknown_type_is_raised_where_that_is_asked_for() -> None:
    store, _ = stored(ORDER, LINE, INVOICE, PAYMENT, Customer("c"))
    query = store.query(Order, Line, customer="c").raise_unknown()
    for end in (query, query.count(), query.grouped(), query.page(), query.filter(F(Order.count).eq(7)).one()):
        with pytest.raises(ItemDecodeError) as raised:
            end.send()
        assert str(raised.value) == (
            "query of Order, Line customer='c': the item {'pk': 'CUSTOMER#c', 'sk': 'ORDER#a#INVOICE'} has the type "
            "'INVOICE', which is none of the table's: $._type: add its class to the Table, or leave out raise_unknown()"
        )
        assert (raised.value.path, raised.value.key["sk"]) == ("$._type", "ORDER#a#INVOICE")
    # whatever a filter says that all have, which is of the types that are known
    with pytest.raises(ItemDecodeError):
        query.filter(F(Remarked.remark).eq("y")).send()


def test_what_comes_before_an_unknown_type_is_answered() -> None:
    store, _ = stored(ORDER, LINE, INVOICE)
    query = store.query(Order, Line, customer="c").raise_unknown()
    assert query.first().send() == ORDER
    assert query.reverse().first().send() == LINE
    found = iter(query.page_size(1))
    assert next(found) == ORDER
    with pytest.raises(ItemDecodeError):
        next(found)


def test_an_item_without_a_type_is_unknown_in_a_table_of_which_all_have_one() -> None:
    table = Table("partitions", [Order, Line])
    _, client = memory_store(NEWER, [ORDER])
    client.put_item(TableName="partitions", Item={"pk": {"S": "CUSTOMER#c"}, "sk": {"S": "ORDER#b"}})
    store = connect(table, client=client)
    assert store.query(Order, Line, customer="c").send() == [ORDER]
    with pytest.raises(ItemDecodeError) as raised:
        store.query(Order, Line, customer="c").raise_unknown().send()
    assert str(raised.value) == (
        "query of Order, Line customer='c': the item {'pk': 'CUSTOMER#c', 'sk': 'ORDER#b'} has no type, which is none "
        "of the table's: $._type: add its class to the Table, or leave out raise_unknown()"
    )


def test_the_only_one() -> None:
    store, _ = stored(ORDER, LINE, Order("d", None, "a"))
    assert store.query(Order, Line, customer="d").one().send() == Order("d", None, "a")
    with pytest.raises(SeveralItems) as several:
        store.query(Order, Line, customer="c").one().send()
    assert str(several.value) == (
        "query of Order, Line customer='c': one() found several items: use first(), or say more of the key"
    )
    with pytest.raises(ItemNotFound) as none:
        store.query(Order, Line, customer="nobody").one().send()
    assert str(none.value) == "query of Order, Line customer='nobody': there is no such item"
    assert none.value.key == {"customer": "nobody"}


def test_what_no_key_can_be_in_is_not_sent() -> None:
    store, client = stored(Order("c", None, "a"))
    query = store.query(Order, customer="c").range(F(Order.order).lt(""))
    assert query.params() == {}
    assert (query.send(), query.count().send(), query.grouped().send()) == ([], 0, ([],))
    assert query.page().send() == Page([], None)
    assert query.explain() == "nothing is sent: no key can be in this range"
    assert client.calls == []


# ---- cursors

STEPS: dict[str, Callable[[Any], Any]] = {
    "another type": lambda s: s.query(Order, Payment, customer="c"),
    "fewer types": lambda s: s.query(Order, customer="c"),
    "another partition": lambda s: s.query(Order, Line, customer="d"),
    "a range": lambda s: s.query(Order, Line, customer="c").range(F(Order.order).ge("a")),
    "a filter": lambda s: s.query(Order, Line, customer="c").filter(F(Order.count).eq(0)),
    "another direction": lambda s: s.query(Order, Line, customer="c").reverse(),
    "unknown types": lambda s: s.query(Order, Line, customer="c").raise_unknown(),
    "one type's query": lambda s: s.of(Order).query(customer="c"),
}


@pytest.mark.parametrize("other", STEPS.values(), ids=STEPS)
def test_a_cursor_is_of_one_query(other: Callable[[Any], Any]) -> None:
    store, _ = stored(ORDER, LINE)
    cursor = store.query(Order, Line, customer="c").limit(1).page().send().next
    assert cursor is not None
    assert store.query(Order, Line, customer="c").limit(1).page(cursor).send().items == [LINE]
    with pytest.raises(CursorError):
        other(store).page(cursor).send()


# ---- who listens


def test_calls_are_of_no_one_class() -> None:
    calls: list[CallInfo] = []
    _, client = memory_store(NEWER, [ORDER, LINE])
    store = connect(Partitions, client=client, on_call=calls.append)
    store.query(Order, Line, customer="c").send()
    list(store.query(Order, Line, customer="c").pages())
    store.query(Order, customer="c").grouped().send()
    store.query(Order, Line, customer="c").count().send()
    assert [call.entity for call in calls] == [None, None, "Order", None]
