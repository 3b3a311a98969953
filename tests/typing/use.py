"""What must pass the checkers, with the types that matter asserted; no line here may be an error."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any, TypeVar

from typing_extensions import assert_never, assert_type

import dynamap
from dynamap import (
    CONDITION,
    TRANSACTION,
    VERSION,
    Applied,
    Async,
    BatchIncomplete,
    Capacity,
    Check,
    Condition,
    ConditionFailed,
    DynamapError,
    F,
    Field,
    GetMany,
    IndexView,
    ItemKey,
    ItemNotFound,
    MultiQuery,
    OutcomeUnknown,
    Page,
    Query,
    Refused,
    Repository,
    ServiceError,
    Store,
    Sync,
    connect,
    connect_async,
    evolve,
    retry_on_conflict,
)
from dynamap.testing import embedded
from tests.typing.models import (
    Account,
    Address,
    Box,
    Cents,
    Customer,
    Foreign,
    Legacy,
    LegacyTable,
    Line,
    Order,
    OrderLine,
    Payment,
    Payments,
    Registrant,
    ShopTable,
    Status,
    Stock,
    UserId,
    Views,
    account_key,
    order_key,
)

M = TypeVar("M")
NOW = datetime(2024, 1, 1, tzinfo=timezone.utc)

# ---- a first look
store = connect(ShopTable)
assert_type(store, Store[Sync])
store.create_table()
accounts = store.of(Account)
assert_type(accounts, Repository[Sync, Account])


@retry_on_conflict
def deposit(amount: Decimal) -> Account:
    account = accounts.get(id="alice").required().send()
    return accounts.update(account).to(evolve(account, balance=account.balance + amount)).send()


assert_type(deposit(Decimal(5)), Account)


# ---- fields
def fields() -> None:
    assert_type(F(Account.balance), Field[Decimal])
    assert_type(F(Order.note), Field[str | None])
    assert_type(F(Order, lambda o: o.address.city), Field[str])
    assert_type(F(Order, lambda o: o.lines[0].price), Field[Decimal])
    assert_type(F(Order, lambda o: o.prices["eur"]), Field[Decimal])
    assert_type(F(Registrant, lambda r: r.handle), Field[str | None])
    assert_type(F(Foreign, lambda f: f.address.city if f.address else None), Field[str | None])
    assert_type(F(Box[int], lambda b: b.value), Field[int])
    assert_type(F(Customer.name), Field[str])
    assert_type(F(Order.created), Field[datetime])
    assert_type(F(Stock.count).ge(F(Stock.reserved)) & ~F(Stock.sku).eq("x") | F(Stock.views).not_exists(), Condition)
    conditions: list[Condition] = [
        F(Order.customer).begins_with("a"),
        F(Order.note).begins_with("a"),
        F(Order.blob).begins_with(b"a"),
        F(Order.kind).begins_with("w"),
        F(Order.tags).contains("x"),
        F(Order.labels).contains("x"),
        F(Order.codes).contains(3),
        F(Order.note).contains("sub"),
        F(Order.lines).contains(Line("sku", Decimal(1))),
        F(Order.lines).size().ge(1),
        F(Order.tags).size().between(1, 3),
        F(Order.note).size().lt(F(Order.codes).size()),
        F(Order.visits).ge(F(Order.codes).size()),
        F(Order.at).between(NOW, NOW),
        F(Order.status).is_in(Status.OPEN, Status.PAID),
        F(Order.customer).is_in(*[UserId("a")]),
        F(Order.note).eq(F(Order.email)),
        F(Order.email).ne(F(Order.note)),
        F(Order.weight).lt(1),
        F(Order.total).ge(Cents(5)),
        F(Order.took).exists(),
        F(Order.blob).attribute_type("B"),
        F(Order.revision).not_exists_or_lt(5),
        F(Order.at).not_exists_or_le(NOW),
        F(Order.kind).not_exists_or_eq("web"),
        F(Order.paid).eq(True),
        F(Order.address).eq(Address("c", 1)),
    ]
    assert conditions


# ---- one item, sync
def single(store: Store[Sync], account: Account, order: Order) -> None:
    accounts = store.of(Account, consistent=True)
    orders = store.of(Order)
    stocks = store.of(Stock)
    views = store.of(Views)
    assert_type(accounts.get(id="x").send(), Account | None)
    assert_type(accounts.get(id="x").eventually_consistent().required().send(), Account)
    assert_type(accounts.get(id="x").required().strongly_consistent().send(), Account)
    assert_type(accounts.get(id="x").params(), dict[str, Any])
    assert_type(accounts.get(id="x").explain(), str)
    assert_type(accounts.put(account).send(), Account)
    assert_type(accounts.put(account).returning_old().if_exists().send(), Account | None)
    assert_type(accounts.put(account).if_(F(Account.balance).ge(Decimal(3))).send(), Account)
    assert_type(accounts.update(account).to(evolve(account, balance=Decimal(3))).send(), Account)
    assert_type(accounts.update(account).set(F(Account.balance), Decimal(3)).send(), Account)
    doubled = F(Account.balance) + F(Account.balance)
    assert_type(accounts.update(id="x").set(F(Account.balance), doubled).if_version(3).send(), Account)
    overwritten = accounts.update(id="x").set(F(Account.balance), F(Account.balance) + 5).ignore_version()
    assert_type(overwritten.returning_old().send(), Account)
    assert_type(views.update(page="x").add(F(Views.count), 1).returning(F(Views.count)).send(), int)
    both = views.update(page="x").returning(F(Views.count), F(Views.page)).add(F(Views.count), 1)
    assert_type(both.send(), tuple[int, str])
    assert_type(views.upsert(page="x").add(F(Views.count), 1).at_least_once().send(), Views)
    assert_type(stocks.upsert(sku="x").set_if_missing(F(Stock.count), 5).returning_old().send(), Stock | None)
    assert_type(stocks.update(sku="x").set(F(Stock.count), 1).given(reserved=2).send(), Stock)
    assert_type(stocks.update(sku="x").returning(F(Stock.count)).given(reserved=2).send(), int)
    assert_type(views.upsert(page="x").add(F(Views.count), 1).returning(F(Views.count)).send(), int)
    assert_type(accounts.upsert(id="x").ignore_version().try_send(), Applied[Account] | Refused[Account | None])
    assert_type(accounts.check(id="x").exists().if_(F(Account.balance).ge(Decimal(1))), Check[Sync, Account])
    assert_type(accounts.key(id="x"), ItemKey[Account])
    stocks.update(sku="x").set(F(Stock.count), F(Stock.reserved)).send()
    stocks.update(sku="x").set(F(Stock.count), F(Stock.count) - F(Stock.reserved)).send()
    stocks.update(sku="x").set(F(Stock.views), F(Stock.views).or_else(0) + 1).add(F(Stock.reserved), 1).send()
    stocks.update(sku="x").set(F(Stock.views), None).at_most_once().send()
    assert_type(stocks.update(sku="x").add(F(Stock.count), -1).at_least_once().send(), Stock)
    (
        orders.update(order)
        .add(F(Order.tags), "a", "b")
        .add(F(Order.labels), "x")
        .discard(F(Order.tags), "c")
        .discard(F(Order.labels), "x")
        .append(F(Order.lines), Line("s", Decimal(1)))
        .prepend(F(Order.codes), 1, 2)
        .set_fields({"note": "x"})
        .remove(F(Order.note), F(Order.visits))
        .set(F(Order, lambda o: o.address.city), "Bonn")
        .set(F(Order.total), F(Order.total) + 5)
        .set(F(Order.status), Status.PAID)
        .send()
    )
    assert_type(accounts.delete(account).send(), None)
    assert_type(accounts.delete(id="x").if_exists().if_version(3).send(), None)
    assert_type(accounts.delete(id="x").returning_old().send(), Account | None)
    assert_type(store.with_name("prod-shop").of(Account), Repository[Sync, Account])
    assert_type(connect(ShopTable, client=object(), prefix="stage-"), Store[Sync])
    connect(Payments).close()
    connect(LegacyTable).of(Legacy).get(customer="x", number=3)
    with connect(Payments) as other, dynamap.deadline(3):
        other.create_table()


def outcome(store: Store[Sync], account: Account) -> str:
    match store.of(Account).put(account).if_not_exists().try_send():
        case Applied(stored):
            assert_type(stored, Account)
            return stored.id
        case Refused(seen):
            assert_type(seen, Account | None)
            return seen.id if seen else "?"


def outcome_by_isinstance(store: Store[Sync]) -> int:
    result = store.of(Views).update(page="x").add(F(Views.count), 1).returning(F(Views.count)).try_send()
    assert_type(result, Applied[int] | Refused[Views | None])
    if isinstance(result, Applied):
        assert_type(result, Applied[int])
        return result.stored
    assert_type(result, Refused[Views | None])
    return result.seen.count if result.seen is not None else 0


def exhaustive(result: Applied[int] | Refused[Views | None]) -> int:
    match result:
        case Applied(stored):
            return stored
        case Refused(seen):
            return seen.count if seen is not None else 0
        case _:
            assert_never(result)


def errors(store: Store[Sync]) -> None:
    try:
        store.of(Account).get(id="x").required().send()
    except ItemNotFound as error:
        print(error.entity, error.key)
    except ConditionFailed as error:
        if isinstance(error.seen, Account):
            print(error.seen.balance)
    except OutcomeUnknown as error:
        print(error.applied is True)
    except ServiceError as error:
        assert_type(error.code, str)
    except DynamapError:
        raise


# ---- batches
def batches(accounts: Repository[Sync, Account], account: Account) -> None:
    many = accounts.get_many([accounts.key(id="x"), account, {"id": "y"}])
    assert_type(many, GetMany[Sync, Account])
    assert_type(many.send(), list[Account | None])
    assert_type(many.eventually_consistent().strongly_consistent().include_expired(), GetMany[Sync, Account])
    for maybe in accounts.get_many(accounts.key(id=str(n)) for n in range(3)):
        assert_type(maybe, Account | None)
    accounts.put_many([account], unversioned=True).send()
    accounts.delete_many([account, {"id": "y"}], unversioned=True).send()
    assert_type(accounts.delete_many(accounts.key(id=str(n)) for n in range(3)).params(), dict[str, Any])
    try:
        many.send()
    except BatchIncomplete as error:
        accounts.get_many(error.left)
    except OutcomeUnknown as error:
        accounts.put_many(error.left)


async def abatches(accounts: Repository[Async, Account], account: Account) -> None:
    assert_type(await accounts.get_many([account]).send(), list[Account | None])
    async for maybe in accounts.get_many([account]):
        assert_type(maybe, Account | None)
    await accounts.put_many([account], unversioned=True).send()
    await accounts.delete_many([account], unversioned=True).send()


def load_many(accounts: Repository[Sync, M], keys: list[dict[str, str]]) -> list[M]:
    return [found for found in accounts.get_many(keys) if found is not None]


async def aload_many(accounts: Repository[Async, M], keys: list[dict[str, str]]) -> list[M]:
    return [found async for found in accounts.get_many(keys) if found is not None]


# ---- typed keys
def keyed(store: Store[Sync], order: Order) -> None:
    accounts = store.of(Account, key=account_key)
    orders = store.of(Order, key=order_key)
    assert_type(accounts.get(id="x").required().send(), Account)
    assert_type(orders.update(customer=UserId("x"), at=NOW).set(F(Order.note), "x").send(), Order)
    assert_type(orders.update(order).to(order).send(), Order)
    assert_type(orders.key(customer=UserId("x"), at=NOW), ItemKey[Order])
    orders.delete(order)
    orders.delete(customer=UserId("x"), at=NOW)
    orders.check(customer=UserId("x"), at=NOW).exists()
    orders.upsert(customer=UserId("x"), at=NOW)
    plain: Repository[Sync, Account] = accounts
    print(plain)


# ---- asyncio
async def main() -> None:
    with embedded() as endpoint_url:
        async with connect_async(ShopTable, endpoint_url=endpoint_url) as store:
            assert_type(store, Store[Async])
            await store.create_table()
            accounts = store.of(Account)
            account = await accounts.get(id="x").required().send()
            assert_type(account, Account)
            assert_type(await accounts.update(account).to(evolve(account, balance=Decimal(1))).send(), Account)
            assert_type(await accounts.update(id="x").returning(F(Account.balance)).send(), Decimal)
            put = accounts.put(account).if_not_exists()
            match await put.try_send():
                case Applied(stored):
                    assert_type(stored, Account)
                case Refused(seen):
                    assert_type(seen, Account | None)
            one, two = await asyncio.gather(accounts.get(id="x").send(), store.of(Views).get(page="y").send())
            assert_type(one, Account | None)
            assert_type(two, Views | None)
            task = asyncio.create_task(accounts.get(id="x").send())
            assert_type(await task, Account | None)
            with dynamap.deadline(3):
                await asyncio.wait_for(put.send(), 1)
    other = connect_async(ShopTable)
    await other.close()


@retry_on_conflict(attempts=3, on=VERSION | TRANSACTION | CONDITION, deadline=3)
async def adeposit(accounts: Repository[Async, Account], amount: Decimal) -> Account:
    account = await accounts.get(id="alice").required().send()
    return await accounts.update(account).to(evolve(account, balance=account.balance + amount)).send()


class Service:
    @retry_on_conflict(attempts=3)
    def move(self, to: str, *, amount: int) -> int:
        return amount


async def retries(accounts: Repository[Async, Account], service: Service) -> None:
    assert_type(await adeposit(accounts, Decimal(1)), Account)
    assert_type(service.move("a", amount=3), int)
    assert_type(retry_on_conflict(lambda: 3)(), int)
    assert_type(retry_on_conflict(service.move, attempts=2)("a", amount=3), int)
    assert_type(await retry_on_conflict(adeposit, sleep=asyncio.sleep)(accounts, Decimal(1)), Account)


# ---- code over any entity
def load(accounts: Repository[Sync, M], keys: list[dict[str, str]]) -> list[M | None]:
    return [accounts.get(**key).send() for key in keys]


def later(accounts: Repository[Async, M], key: str) -> Coroutine[Any, Any, M]:
    return accounts.get(id=key).required().send()


def evolved(account: Account, registrant: Registrant, foreign: Foreign, customer: Customer) -> None:
    assert_type(evolve(account, balance=Decimal(1), revision=3), Account)
    assert_type(evolve(registrant, handle=None), Registrant)
    assert_type(evolve(customer, name="x", vip=True), Customer)
    if sys.version_info >= (3, 13):
        # before 3.13 mypy wants attrs.evolve for adopted attrs classes
        assert_type(evolve(foreign, n=3), Foreign)


# ---- reads at one moment, PartiQL, bound repositories, and who listens
def reads_together(store: Store[Sync]) -> None:
    a, o = store.of(Account), store.of(Order)
    assert_type(
        store.transact_get(a.get(id="x"), o.get(customer="x", at=NOW).required()).send(), tuple[Account | None, Order]
    )
    assert_type(store.transact_get(a.get(id="x").project(F(Account.balance)).required()).send(), tuple[Decimal])
    one, two, three = store.transact_get(a.get(id="1"), a.get(id="2"), a.get(id="3").required()).send()
    assert_type(three, Account)
    print(one, two)
    eight = store.transact_get(*[a.get(id=str(n)) for n in range(9)]).send()
    assert_type(eight, tuple[Account | None, ...])


def listening(store: Store[Sync]) -> None:
    assert_type(store.of(Account).bind(id="x"), Repository[Sync, Account])
    assert_type(store.of(Account).bind(id="x").get().send(), Account | None)
    assert_type(store.of(Account, key=account_key).bind(id="x"), Repository[Sync, Account])
    assert_type(store.execute("SELECT * FROM x", ["y"]).send(), list[dict[str, Any]])
    store.execute("SELECT * FROM x").strongly_consistent().send()
    store.execute("DELETE FROM x", writes=True, unversioned=True).send()
    assert_type(connect(ShopTable, on_call=lambda call: print(call.attempts, call.latency)), Store[Sync])
    with connect(ShopTable) as other, dynamap.deadline(3), other.capacity() as used:
        assert_type(used, Capacity)
        print(used.total, used.by_table["x"], used.by_index, used.by_operation)


async def listening_too(store: Store[Async]) -> None:
    accounts = store.of(Account)
    with store.capacity() as used:
        assert_type(
            await store.transact_get(accounts.get(id="x"), accounts.get(id="y").required()).send(),
            tuple[Account | None, Account],
        )
        assert_type(await store.execute("SELECT * FROM x").send(), list[dict[str, Any]])
    assert_type(used.total, float)


# ---- projections and cursors
def parts(store: Store[Sync]) -> None:
    accounts, orders = store.of(Account), store.of(Order)
    get = accounts.get(id="x")
    assert_type(get.project(F(Account.balance)).send(), Decimal | None)
    assert_type(get.project(F(Account.balance)).required().send(), Decimal)
    assert_type(get.required().project(F(Account.balance), F(Account.id)).send(), tuple[Decimal, str])
    assert_type(get.project(Registrant).eventually_consistent().send(), Registrant | None)
    order = orders.get(customer="x", at=NOW)
    assert_type(order.project(OrderLine).send(), OrderLine | None)
    assert_type(order.project(F(Order, lambda o: o.address.city)).required().send(), str)
    assert_type(order.project(F(Order.note)).required().send(), str | None)
    six = order.project(
        F(Order.at), F(Order.status), F(Order.weight), F(Order.paid), F(Order.visits), F(Order.total)
    ).required()
    assert_type(six.send(), tuple[datetime, Status, float, bool, int | None, Cents])
    assert_type(store.transact_get(get.project(F(Account.balance)).required()).send(), tuple[Decimal])
    query = orders.query(customer="x")
    assert_type([line.total for line in query.project(OrderLine)], list[Cents])
    assert_type(query.project(F(Order.total)).send(), list[Cents])
    assert_type(query.project(F(Order.total), F(Order.at)).first().send(), tuple[Cents, datetime] | None)
    assert_type(query.project(F(Order.total)).limit(3).page().send().items, list[Cents])
    connect(ShopTable, cursor_key=bytes(32), cursor_max_age=3600)
    connect(ShopTable, cursor_key=[bytes(32), bytes(32)])


async def parts_too(store: Store[Async]) -> None:
    orders = store.of(Order)
    assert_type(await orders.get(customer="x", at=NOW).project(F(Order.total)).required().send(), Cents)
    assert_type([total async for total in orders.query(customer="x").project(F(Order.total))], list[Cents])


# ---- queries
def queries(store: Store[Sync]) -> None:
    orders = store.of(Order)
    query = (
        orders.query(customer="x")
        .range(F(Order.at).between(NOW, NOW))
        .filter(F(Order.paid).eq(False))
        .reverse()
        .limit(5)
        .page_size(100)
        .max_pages(3)
    )
    assert_type(query, Query[Sync, Order])
    assert_type(query.consistent().eventually_consistent().include_expired().read_ahead(), Query[Sync, Order])
    assert_type(query.strongly_consistent(), Query[Sync, Order])
    assert_type(query.send(), list[Order])
    assert_type(query.first().send(), Order | None)
    assert_type(query.one().send(), Order)
    assert_type(query.count().send(), int)
    assert_type(query.page(None).send(), Page[Order])
    page = query.page().send()
    assert_type(page.items, list[Order])
    assert_type(page.next, str | None)
    assert_type(page.skipped, int)
    for order in query:
        assert_type(order, Order)
    for each in query.pages():
        assert_type(each, Page[Order])
    assert_type(list(query), list[Order])
    registrants = store.of(Registrant).index("gsi1")
    assert_type(registrants, IndexView[Sync, Registrant])
    assert_type(registrants.query(email="x").hydrate().send(), list[Registrant])
    assert_type(store.of(Order, key=order_key).query(customer="x").send(), list[Order])


async def queries_too(store: Store[Async]) -> None:
    query = store.of(Order).query(customer="x")
    async for order in query:
        assert_type(order, Order)
    async for page in query.pages():
        assert_type(page, Page[Order])
    assert_type([o.total async for o in query], list[Cents])
    assert_type(await query.send(), list[Order])
    assert_type(await query.first().send(), Order | None)
    assert_type(await query.count().send(), int)
    assert_type((await query.page("x").send()).items, list[Order])


# ---- several types
def several(store: Store[Sync]) -> None:
    partition = store.query(Account, Order, customer="x")
    for item in partition:
        match item:
            case Account():
                print(item.balance)
            case Order():
                print(item.total)
    assert_type(partition.send(), list[Account | Order])
    assert_type(partition.grouped().send(), tuple[list[Account], list[Order]])
    assert_type(
        store.query(Account, Order, Payment, id="x").grouped().send(),
        tuple[list[Account], list[Order], list[Payment]],
    )
    assert_type(store.query(Account, id="x").grouped().send(), tuple[list[Account]])
    assert_type(
        store.query(Account, Order, Payment, Stock, Views, Customer, id="x").send(),
        list[Account | Order | Payment | Stock | Views | Customer],
    )
    assert_type(
        partition.range(F(Order.at).between(NOW, NOW)).filter(F(Order.paid).eq(False)).reverse().limit(3),
        MultiQuery[Sync, Account | Order, tuple[list[Account], list[Order]]],
    )
    assert_type(partition.raise_unknown().grouped().send(), tuple[list[Account], list[Order]])
    assert_type(partition.first().send(), Account | Order | None)
    assert_type(partition.one().send(), Account | Order)
    assert_type(partition.count().send(), int)
    assert_type(partition.page(None).send(), Page[Account | Order])
    for page in partition.pages():
        assert_type(page.items, list[Account | Order])


async def several_too(store: Store[Async]) -> None:
    async for item in store.query(Account, Order, id="x"):
        assert_type(item, Account | Order)
    assert_type(await store.query(Account, Order, id="x").send(), list[Account | Order])
    assert_type(await store.query(Account, Order, id="x").grouped().send(), tuple[list[Account], list[Order]])
