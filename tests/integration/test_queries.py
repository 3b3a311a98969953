"""Queries on every backend, in both modes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any

import pytest

from dynamap import (
    Attribute,
    CursorError,
    F,
    ItemDecodeError,
    ItemNotFound,
    Key,
    Page,
    RequestError,
    SeveralItems,
    Store,
    Table,
    entity,
)
from dynamap.schema import create_params
from tests.backends import Backend
from tests.fakes import NOW
from tests.modes import Mode
from tests.orders import Document, Documents, Line, Order, Orders, Reading, Readings, Session, Stock, day

SECRET = bytes(range(32))
CUSTOMERS = ("a", "a#", "ab", "$", "日本")


@pytest.fixture
def tables(mode: Mode, backend: Backend, table_name: str) -> Iterator[Callable[[Table], Store[Any]]]:
    """Makes a table, and deletes what it made."""
    made: list[Store[Any]] = []

    def make(table: Table) -> Store[Any]:
        store = mode.connect(table, backend, clock=lambda: NOW, cursor_key=SECRET)
        store = store.with_name(f"{table_name}-{len(made)}")
        create(backend, table, store._name)
        made.append(store)
        return store

    yield make
    for store in made:
        mode.wait(store.delete_table())


@pytest.fixture(scope="module")
def shared() -> Iterator[dict[tuple[str, str], tuple[Mode, Store[Any]]]]:
    """Tables that are only read, by mode and backend."""
    made: dict[tuple[str, str], tuple[Mode, Store[Any]]] = {}
    yield made
    for mode, store in made.values():
        mode.wait(store.delete_table())


@pytest.fixture
def orders(
    mode: Mode, backend: Backend, table_name: str, shared: dict[tuple[str, str], tuple[Mode, Store[Any]]]
) -> Store[Any]:
    """Orders of several customers, with neighbours in the same partitions; not to be changed."""
    if (mode.name, backend.name) not in shared:
        store = mode.connect(Orders, backend, clock=lambda: NOW, cursor_key=SECRET).with_name(table_name)
        create(backend, Orders, store._name)
        fill(mode, store)
        shared[mode.name, backend.name] = mode, store
    return shared[mode.name, backend.name][1]


def create(backend: Backend, table: Table, name: str) -> None:
    """Create it without what some servers do not know: TTL, and indexes with keys of several attributes."""
    params = create_params(table, name)
    indexes = [index for index in params.pop("GlobalSecondaryIndexes", ()) if len(index["KeySchema"]) <= 2]
    if indexes:
        params["GlobalSecondaryIndexes"] = indexes
    keys = [params, *indexes, *params.get("LocalSecondaryIndexes", ())]
    used = {key["AttributeName"] for each in keys for key in each["KeySchema"]}
    definitions = [each for each in params["AttributeDefinitions"] if each["AttributeName"] in used]
    backend.client.create_table(**{**params, "AttributeDefinitions": definitions})
    while backend.client.describe_table(TableName=name)["Table"]["TableStatus"] != "ACTIVE":
        pass


def fill(mode: Mode, store: Store[Any]) -> None:
    for customer in CUSTOMERS:
        for number in range(6):
            status, label = ("open", "x" * number) if number % 2 else (None, "x" * number or None)
            order = Order(customer, day(number // 2), number, status, Decimal(number), label, f"n{number}")
            put(mode, store, order)
        put(mode, store, Line(customer, "1", 1), Line(customer, "2", 1))
        put(mode, store, Session(customer, "s1"), Session(customer, "s2", until=day(-400)))
        put(mode, store, Session(customer, "s3", until=day(400)))


def put(mode: Mode, store: Store[Any], *items: Any) -> None:
    for item in items:
        mode.wait(store.of(type(item)).put(item).send())


def numbers(items: list[Order]) -> list[int]:
    return [item.number for item in items]


def listed(mode: Mode, stream: Any) -> list[Any]:
    """What a loop over it brings."""

    async def collected() -> list[Any]:
        return [item async for item in stream]

    return mode.wait(collected()) if mode.is_async else list(stream)


# ---- keys


@pytest.mark.parametrize("customer", CUSTOMERS)
def test_a_partition_has_its_own_items_only_in_the_order_of_the_key(
    mode: Mode, orders: Store[Any], customer: str
) -> None:
    query = orders.of(Order).query(customer=customer)
    found = mode.wait(query.send())
    assert [(item.customer, item.number) for item in found] == [(customer, number) for number in range(6)]
    assert mode.wait(query.reverse().send()) == found[::-1]
    assert listed(mode, query) == found
    assert mode.wait(query.count().send()) == 6


def test_a_key_that_is_given_in_part_or_as_a_whole(mode: Mode, orders: Store[Any]) -> None:
    repo = orders.of(Order)
    assert numbers(mode.wait(repo.query(customer="a", at=day(1)).send())) == [2, 3]
    assert numbers(mode.wait(repo.query(customer="a", at=day(1), number=3).send())) == [3]
    assert numbers(mode.wait(repo.query(customer="a", at=day(1), number=4).send())) == []
    assert numbers(mode.wait(repo.query(customer="nobody").send())) == []
    lines = orders.of(Line)
    assert [item.order for item in mode.wait(lines.query(customer="a").send())] == ["1", "2"]
    assert len(mode.wait(lines.query(customer="a", order="1").send())) == 1


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (F(Order.at).eq(day(1)), [2, 3]),
        (F(Order.at).lt(day(1)), [0, 1]),
        (F(Order.at).le(day(1)), [0, 1, 2, 3]),
        (F(Order.at).gt(day(1)), [4, 5]),
        (F(Order.at).ge(day(1)), [2, 3, 4, 5]),
        (F(Order.at).between(day(0), day(1)), [0, 1, 2, 3]),
        (F(Order.at).between(day(5), day(9)), []),
    ],
)
def test_ranges(mode: Mode, orders: Store[Any], condition: Any, expected: list[int]) -> None:
    query = orders.of(Order).query(customer="a#").range(condition)
    assert numbers(mode.wait(query.send())) == expected
    assert numbers(mode.wait(query.reverse().send())) == expected[::-1]


def test_a_number_is_ordered_as_a_number(mode: Mode, tables: Callable[[Table], Store[Any]]) -> None:
    store = tables(Documents)
    put(mode, store, *(Document("c", number) for number in (-11, -2, 0, 1, 2, 10, 100)))
    repo = store.of(Document)
    assert [item.number for item in mode.wait(repo.query(customer="c").send())] == [-11, -2, 0, 1, 2, 10, 100]
    query = repo.query(customer="c").range(F(Document.number).between(-2, 10)).page_size(2)
    assert [item.number for item in mode.wait(query.send())] == [-2, 0, 1, 2, 10]
    assert [item.number for item in mode.wait(repo.query(customer="c", number=10).send())] == [10]


def test_bytes_are_ordered_as_bytes(mode: Mode, tables: Callable[[Table], Store[Any]]) -> None:
    store = tables(Readings)
    put(mode, store, *(Reading("s", frame) for frame in (b"\0", b"a", b"a\0", b"b", b"\xff")))
    repo = store.of(Reading)
    begun = repo.query(sensor="s").range(F(Reading.frame).begins_with(b"a"))
    assert [item.frame for item in mode.wait(begun.send())] == [b"a", b"a\0"]
    pages = [mode.wait(repo.query(sensor="s").limit(2).page().send())]
    while pages[-1].next is not None:
        pages.append(mode.wait(repo.query(sensor="s").limit(2).page(pages[-1].next).send()))
    assert [item.frame for page in pages for item in page.items] == [b"\0", b"a", b"a\0", b"b", b"\xff"]


def test_texts_are_ordered_by_their_bytes(mode: Mode, tables: Callable[[Table], Store[Any]]) -> None:
    store = tables(Orders)
    # as UTF-16, the last one would come before the one in front of it
    names = ["", "\0", "!", "#", "$", "a", "a#", "ab", "\uffff", "\U00010000"]
    put(mode, store, *(Stock("s", name) for name in reversed(names)), Stock("s#", "a"), Stock("", "a"))
    repo = store.of(Stock)
    assert [item.name for item in mode.wait(repo.query(shelf="s").send())] == names
    later = repo.query(shelf="s").range(F(Stock.name).gt("a"))
    assert [item.name for item in mode.wait(later.send())] == ["a#", "ab", "\uffff", "\U00010000"]


def test_numbers_in_pages(mode: Mode, tables: Callable[[Table], Store[Any]]) -> None:
    store = tables(Documents)
    put(mode, store, *(Document("c", number) for number in (-11, 0, 1, 10, 100, 10**37)))
    query = store.of(Document).query(customer="c").limit(1)
    found: list[int] = []
    cursor: str | None = None
    while len(found) < 7:
        page = mode.wait(query.page(cursor).send())
        found += [item.number for item in page.items]
        cursor = page.next
        if cursor is None:
            break
    assert found == [-11, 0, 1, 10, 100, 10**37]


@entity("USER", pk="TEAM#{team}", sk="USER#{number:05}")
class User:
    team: str
    number: int


@entity("USERNAME", pk="TEAM#{team}", sk="USERNAME#{number:05}")
class UserName:
    team: str
    number: int


@entity("EVENT", pk="EVENTS", sk="{at}")
class Event:
    at: datetime


def test_numbers_in_texts_have_the_order_of_numbers(mode: Mode, tables: Callable[[Table], Store[Any]]) -> None:
    store = tables(Table("teams", [User, UserName, Event]))
    put(mode, store, *(User("a", number) for number in (100, 9, 10, -10, -2, 0)), UserName("a", 1))
    query = store.of(User).query(team="a")
    assert [item.number for item in mode.wait(query.send())] == [-10, -2, 0, 9, 10, 100]
    low = query.range(F(User.number).ge(-5))
    assert [item.number for item in mode.wait(low.send())] == [-2, 0, 9, 10, 100]
    high = query.range(F(User.number).gt(9))
    assert [item.number for item in mode.wait(high.send())] == [10, 100]
    assert mode.wait(store.of(UserName).query(team="a").send()) == [UserName("a", 1)]


def test_times_have_their_order_with_and_without_a_fraction(mode: Mode, tables: Callable[[Table], Store[Any]]) -> None:
    store = tables(Table("teams", [User, UserName, Event]))
    second = datetime(2024, 1, 1, 12, 0, 29, tzinfo=timezone.utc)
    east, west = timezone(timedelta(hours=2)), timezone(timedelta(hours=-2))
    times = [
        datetime(2024, 1, 1, tzinfo=east),
        datetime(2023, 12, 31, 22, 30, tzinfo=timezone.utc),
        datetime(2023, 12, 31, 23, tzinfo=west),
        second,
        second + timedelta(microseconds=1),
        second + timedelta(milliseconds=17),
    ]
    put(mode, store, *map(Event, reversed(times)))
    query = store.of(Event).query()
    assert [item.at for item in mode.wait(query.send())] == times
    later = query.range(F(Event.at).gt(second.astimezone(east)))
    assert [item.at for item in mode.wait(later.send())] == times[4:]


@entity("WORD", frozen=True)
class Word:
    """Every attribute is a reserved word, or no word at all."""

    name: str
    hash: Annotated[int, Attribute("1st-range.key")]
    size: str = ""
    scope: Annotated[int, Attribute("a b")] = 0


def test_names_may_be_any(mode: Mode, tables: Callable[[Table], Store[Any]]) -> None:
    store = tables(Table("words", [Word], pk="name", sk=Key("1st-range.key", int), discriminator="type"))
    put(mode, store, Word("n", 1, "xx", 5), Word("n", 2, "x", 5), Word("n", 3, "xx", 6))
    query = store.of(Word).query(name="n").range(F(Word.hash).le(2))
    found = query.filter(F(Word.size).size().gt(1) & F(Word.scope).eq(5))
    assert mode.wait(found.send()) == [Word("n", 1, "xx", 5)]
    assert mode.wait(found.count().send()) == 1


# ---- indexes


def test_an_index(mode: Mode, orders: Store[Any]) -> None:
    opened = orders.of(Order).index("status").query(status="open")
    found = mode.wait(opened.send())
    assert len(found) == 15
    assert [item.total for item in found] == sorted(item.total for item in found)
    some = opened.range(F(Order.total).between(Decimal(2), Decimal(4)))
    assert {item.number for item in mode.wait(some.send())} == {3}
    assert mode.wait(some.count().send()) == 5


def test_an_index_by_the_type_of_items(mode: Mode, orders: Store[Any]) -> None:
    query = orders.of(Order).index("kinds").query()
    assert len(mode.wait(query.send())) == 30
    assert mode.wait(query.page_size(7).count().send()) == 30
    assert len(mode.wait(query.range(F(Order.at).ge(day(2))).send())) == 10


def test_a_local_index_is_read_strongly(mode: Mode, orders: Store[Any]) -> None:
    query = orders.of(Order).index("label").query(customer="ab")
    assert query.params()["ConsistentRead"] is True
    assert numbers(mode.wait(query.send())) == [1, 2, 3, 4, 5]
    assert numbers(mode.wait(query.range(F(Order.label).gt("xxx")).send())) == [4, 5]


def test_whole_items_behind_an_index_of_some_attributes(mode: Mode, orders: Store[Any]) -> None:
    query = orders.of(Order).index("brief").query(customer="$")
    with pytest.raises(RequestError):
        mode.wait(query.send())
    found = mode.wait(query.hydrate().send())
    assert numbers(found) == list(range(6))
    assert found == mode.wait(orders.of(Order).query(customer="$").send())
    assert numbers(listed(mode, query.hydrate().page_size(2).reverse())) == [5, 4, 3, 2, 1, 0]
    assert numbers(mode.wait(query.hydrate().limit(4).page_size(3).send())) == [0, 1, 2, 3]
    assert mode.wait(query.count().send()) == mode.wait(query.hydrate().count().send()) == 6


# ---- what is left out


def test_expired_items_are_hidden_and_not_counted(mode: Mode, orders: Store[Any]) -> None:
    query = orders.of(Session).query(customer="a")
    assert [item.id for item in mode.wait(query.send())] == ["s1", "s3"]
    assert mode.wait(query.count().send()) == 2
    everything = query.include_expired()
    assert [item.id for item in mode.wait(everything.send())] == ["s1", "s2", "s3"]
    assert mode.wait(everything.count().send()) == 3
    page = mode.wait(query.page().send())
    assert ([item.id for item in page.items], page.next, page.skipped) == (["s1", "s3"], None, 1)


def test_a_filter_leaves_out_after_reading(mode: Mode, orders: Store[Any]) -> None:
    query = orders.of(Order).query(customer="a").filter(F(Order.status).eq("open"))
    assert numbers(mode.wait(query.send())) == [1, 3, 5]
    narrower = query.filter(F(Order.note).ne("n3") | F(Order.label).not_exists())
    assert numbers(mode.wait(narrower.send())) == [1, 5]
    assert mode.wait(narrower.count().send()) == 2
    # of six items three match: a limit counts those that do
    assert numbers(mode.wait(query.limit(2).page_size(2).send())) == [1, 3]


def test_pages_that_a_filter_empties_are_no_end(mode: Mode, orders: Store[Any]) -> None:
    query = orders.of(Order).query(customer="a").filter(F(Order.note).eq("n4")).page_size(1)
    assert numbers(mode.wait(query.send())) == [4]
    assert mode.wait(query.first().send()).number == 4
    assert mode.wait(query.one().send()).number == 4
    page = mode.wait(query.page().send())
    assert (numbers(page.items), page.skipped) == ([4], 4)
    last = mode.wait(query.page(page.next).send())
    assert (last.items, last.next) == ([], None)


def test_items_of_other_types_are_left_out_and_old_names_are_read(
    mode: Mode, backend: Backend, tables: Callable[[Table], Store[Any]]
) -> None:
    store = tables(Orders)
    put(mode, store, Session("a", "s1"), Order("a", day(0), 1))
    for sort, item in {
        "SESSION#s2": {"_type": {"S": "LOGIN"}, "customer": {"S": "a"}, "id": {"S": "s2"}, "device": {"S": ""}},
        "SESSION#s3": {"_type": {"S": "STRANGE"}},
        "SESSION#s4": {},
    }.items():
        backend.client.put_item(TableName=store._name, Item={"pk": {"S": "CUSTOMER#a"}, "sk": {"S": sort}, **item})
    query = store.of(Session).query(customer="a")
    assert [item.id for item in mode.wait(query.send())] == ["s1", "s2"]
    page = mode.wait(query.page().send())
    assert (len(page.items), page.skipped) == (2, 2)


def test_a_damaged_item_is_an_error_with_its_key(
    mode: Mode, backend: Backend, tables: Callable[[Table], Store[Any]]
) -> None:
    store = tables(Orders)
    key = {"pk": {"S": "CUSTOMER#a"}, "sk": {"S": "SESSION#zz"}}
    backend.client.put_item(TableName=store._name, Item={**key, "_type": {"S": "SESSION"}, "id": {"N": "1"}})
    with pytest.raises(ItemDecodeError) as caught:
        mode.wait(store.of(Session).query(customer="a").send())
    assert caught.value.key == {"pk": "CUSTOMER#a", "sk": "SESSION#zz"}
    assert mode.wait(store.of(Session).query(customer="a").count().send()) == 1


# ---- how many


def test_the_first_the_only_one_and_none(mode: Mode, orders: Store[Any]) -> None:
    repo = orders.of(Order)
    assert mode.wait(repo.query(customer="a").first().send()).number == 0
    assert mode.wait(repo.query(customer="a").reverse().first().send()).number == 5
    assert mode.wait(repo.query(customer="nobody").first().send()) is None
    assert mode.wait(repo.query(customer="a", at=day(1), number=3).one().send()).number == 3
    with pytest.raises(ItemNotFound) as missing:
        mode.wait(repo.query(customer="nobody").one().send())
    assert (missing.value.entity, missing.value.key) == (Order, {"customer": "nobody"})
    with pytest.raises(SeveralItems) as several:
        mode.wait(repo.query(customer="a").one().send())
    assert (several.value.entity, several.value.key) == (Order, {"customer": "a"})


@pytest.mark.parametrize("page_size", [None, 1, 2, 4, 100])
@pytest.mark.parametrize("limit", [1, 3, 6, 7])
def test_limits_are_of_items_and_page_sizes_of_requests(
    mode: Mode, orders: Store[Any], page_size: int | None, limit: int
) -> None:
    query = orders.of(Order).query(customer="a").limit(limit)
    query = query if page_size is None else query.page_size(page_size)
    assert numbers(mode.wait(query.send())) == list(range(min(limit, 6)))
    assert numbers(listed(mode, query.read_ahead())) == list(range(min(limit, 6)))
    assert mode.wait(query.count().send()) == min(limit, 6)


def test_no_more_requests_than_allowed(mode: Mode, orders: Store[Any]) -> None:
    query = orders.of(Order).query(customer="a").page_size(2).max_pages(2)
    assert numbers(mode.wait(query.send())) == [0, 1, 2, 3]
    assert numbers(listed(mode, query.read_ahead())) == [0, 1, 2, 3]
    assert mode.wait(query.count().send()) == 4
    none = query.max_pages(1).filter(F(Order.note).eq("n5"))
    page = mode.wait(none.page().send())
    assert (page.items, page.skipped) == ([], 2)
    assert numbers(mode.wait(none.max_pages(9).page(page.next).send()).items) == [5]


# ---- pages


def test_a_cursor_after_a_limit_loses_nothing(mode: Mode, orders: Store[Any]) -> None:
    query = orders.of(Order).query(customer="a").page_size(10)
    first = mode.wait(query.limit(3).page().send())
    assert numbers(first.items) == [0, 1, 2]
    rest = mode.wait(query.limit(10).page(first.next).send())
    assert (numbers(rest.items), rest.next) == ([3, 4, 5], None)


@pytest.mark.parametrize("index", [None, "status", "label", "kinds"])
@pytest.mark.parametrize("reverse", [False, True])
def test_pages_of_the_table_and_of_every_index(
    mode: Mode, orders: Store[Any], index: str | None, reverse: bool
) -> None:
    repo = orders.of(Order)
    queries: dict[str | None, Callable[[], Any]] = {
        None: lambda: repo.query(customer="a"),
        "status": lambda: repo.index("status").query(status="open"),
        "label": lambda: repo.index("label").query(customer="a"),
        "kinds": lambda: repo.index("kinds").query(),
    }
    query = queries[index]().reverse() if reverse else queries[index]()
    whole = mode.wait(query.send())
    found: list[Order] = []
    page: Page[Order] = mode.wait(query.limit(2).page_size(3).page().send())
    while True:
        found += page.items
        if page.next is None:
            break
        page = mode.wait(query.limit(2).page_size(3).page(page.next).send())
    assert found == whole
    assert [item for each in listed(mode, query.page_size(3).pages()) for item in each.items] == whole


def test_a_cursor_of_another_query_is_refused(mode: Mode, orders: Store[Any]) -> None:
    repo = orders.of(Order)
    query = repo.query(customer="a").limit(1)
    cursor = mode.wait(query.page().send()).next
    others = [
        repo.query(customer="ab").limit(1),
        query.reverse(),
        query.filter(F(Order.status).eq("open")),
        query.range(F(Order.at).ge(day(0))),
        repo.index("label").query(customer="a").limit(1),
        orders.with_name(orders._name[:-1] + "x").of(Order).query(customer="a").limit(1),
    ]
    for other in others:
        with pytest.raises(CursorError):
            mode.wait(other.page(cursor).send())
    # how much is read, how strongly, and what is answered of it, makes no difference
    assert numbers(mode.wait(query.limit(2).eventually_consistent().page(cursor).send()).items) == [1, 2]


# ---- loops


def test_a_loop_that_is_left_early_leaves_nothing_behind(mode: Mode, orders: Store[Any]) -> None:
    query = orders.of(Order).query(customer="a").page_size(2).read_ahead()

    async def first_of() -> int:
        stream: Any = query.__aiter__()
        item = await stream.__anext__()
        await stream.aclose()
        return int(item.number)

    if mode.is_async:
        assert mode.wait(first_of()) == 0
        return
    stream: Any = iter(query)
    assert next(stream).number == 0
    stream.close()
    assert numbers(list(query)) == list(range(6))


def test_the_loop_of_the_other_mode_says_so(mode: Mode, orders: Store[Any]) -> None:
    query: Any = orders.of(Order).query(customer="a")
    with pytest.raises(TypeError, match="async for" if mode.is_async else "iterated with `for`"):
        iter(query) if mode.is_async else query.__aiter__()
