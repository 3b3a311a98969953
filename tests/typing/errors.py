"""What the checkers must find: each line marked E is an error, and no other line may be one; see run.py."""

from __future__ import annotations

from datetime import datetime, timezone
from decimal import Decimal

from dynamap import (
    Applied,
    Async,
    F,
    GlobalIndex,
    Index,
    Key,
    LocalIndex,
    Refused,
    Repository,
    RequestError,
    Store,
    Sync,
    Table,
    connect,
    connect_async,
    entity,
    evolve,
    retry_on_conflict,
)
from tests.typing.models import (
    Account,
    Address,
    Box,
    Customer,
    Foreign,
    Line,
    Order,
    Payment,
    Registrant,
    ShopTable,
    Stock,
    UserId,
    Views,
    account_key,
    order_key,
)

NOW = datetime(2024, 1, 1, tzinfo=timezone.utc)


def fields(account: Account, order: Order) -> None:
    F(Account.nope)  # E no such field
    F(Order, lambda o: o.address.nope)  # E no such nested field
    F(Registrant, lambda r: r.nope)  # E
    F(Order, lambda o: o.lines[0].price).eq("x")  # E
    F(Account.balance).eq("x")  # E a value of another type
    F(Account.balance).ge(5)  # E an int is no Decimal
    F(Account.balance).begins_with("x")  # E a number has no prefix
    F(Stock.count).begins_with("x")  # E
    F(Order.blob).begins_with("x")  # E bytes have no text prefix
    F(Order.tags).contains(1)  # E an element of another type
    F(Order.labels).contains(1)  # E the same in an optional frozenset
    F(Order.codes).contains("x")  # E the same in a list
    F(Order.lines).contains("x")  # E
    F(Stock.count).contains(1)  # E no container
    F(Order.prices).contains("x")  # E contains is not for maps
    F(Order.tags).lt({"x"})  # E sets have no order
    F(Order.address).gt(Address("c", 1))  # E maps have no order
    F(Order.codes).not_exists_or_lt([1])  # E
    F(Stock.count).size()  # E numbers have no size
    F(Order.at).between(NOW, "x")  # E
    F(Order.status).is_in("open")  # E the enum's member, not its value
    F(Order.status).is_in()  # E in nothing
    F(Order.blob).attribute_type("X")  # E no such type
    F(Stock.count).ge(F(Account.balance))  # E fields of two types
    F(Order.tags).size().ge("x")  # E
    F(Account.id) + 5  # E text is not added to
    F(Order.visits) + 1  # E an optional needs or_else first
    F(Stock.count) + 1.5  # E
    F(Stock.count) + "x"  # E
    F(Stock.count) + 1 + 2  # E DynamoDB adds two operands only
    F(Order.visits).or_else("x")  # E
    F(Order.kind).eq("zzz")  # E mypy: pyright widens a Literal field to str
    F(Box.value)  # E a field of a generic class
    F(Foreign.n)  # E mypy: an adopted slotted class needs the lambda form
    F(Registrant.email)  # E mypy: the same
    Account(id=3)  # E
    Account("x", nope=1)  # E
    Order("x", NOW)  # E keywords only
    order.note = "x"  # E frozen
    evolve(account, balance="x")  # E mypy: pyright sees the changes from Python 3.13
    evolve(account, nope=1)  # E mypy: the same
    evolve(3, nope=1)  # E no instance of a class with fields
    Customer(id="x", vip=True)  # E an inherited field is missing


def conditions(stocks: Repository[Sync, Stock]) -> None:
    a, b = F(Stock.count).ge(1), F(Stock.reserved).ge(1)
    if a:  # E a condition has no truth value
        print()
    print(not a)  # E
    assert a  # E
    print(a and b)  # E mypy: pyright knows no such rule for `and`
    print(F(Stock.count) == 5)  # E fields are not compared by ==
    print(F(Stock.count) >= 5)  # E nor by >=
    print(a & True)  # E
    stocks.update(sku="x").if_(F(Stock.count) == 5)  # E a bool is no condition
    stocks.update(sku="x").if_(True)  # E


def writes(store: Store[Sync], account: Account) -> None:
    accounts, orders, stocks, views = store.of(Account), store.of(Order), store.of(Stock), store.of(Views)
    accounts.update(id="x").set(F(Account.balance), "x")  # E a value of another type
    accounts.update(id="x").set(F(Account.balance), F(Stock.count))  # E a field of another type
    stocks.update(sku="x").set(F(Stock.count), F(Stock.sku))  # E
    stocks.update(sku="x").set(F(Stock.count), F(Account.balance) + 1)  # E
    stocks.update(sku="x").set(F(Stock.count), None)  # E not optional
    stocks.update(sku="x").set_if_missing(F(Stock.count), "x")  # E
    stocks.update(sku="x").given("count")  # E fields go by name
    stocks.update(sku="x").set(Stock.count, 5)  # E the field, not its value
    stocks.update(sku="x").add(F(Stock.count), "x")  # E
    stocks.update(sku="x").add(F(Stock.sku), 1)  # E ADD on text
    orders.update(customer="x").add(F(Order.tags), 1)  # E an element of another type
    orders.update(customer="x").add(F(Order.lines), Line("s", Decimal(1)))  # E ADD on a list
    orders.update(customer="x").discard(F(Order.codes), 1)  # E discard on a list
    orders.update(customer="x").append(F(Order.codes), "x")  # E
    orders.update(customer="x").append(F(Order.tags), "x")  # E append on a set
    accounts.update(account).to(Stock("x"))  # E another class
    accounts.update(id="x").to(account)  # E only the item that was read can become another
    accounts.put(Stock("x"))  # E another class
    accounts.update(Stock("x"))  # E another class
    accounts.delete(Stock("x"))  # E another class
    accounts.get("x")  # E key fields go by name
    accounts.check(id="x").send()  # E a check is sent by a transaction only
    accounts.update(id="x").if_version("3")  # E
    accounts.get(id="x").nope()  # E no such step
    accounts.get(id="x").if_(F(Account.balance).exists())  # E a read has no condition
    accounts.get(id="x").send().balance  # E may be None
    text: str = views.update(page="x").returning(F(Views.count)).send()  # E an int comes back
    print(text)
    accounts.put(account).returning_old().send().balance  # E may be None
    accounts.get(id="x").try_send()  # E a read is not refused
    accounts.update(account).to(account).set(F(Account.balance), Decimal(1))  # E to() or set(), not both


def outcome(store: Store[Sync], account: Account) -> int:
    result = store.of(Account).put(account).try_send()
    result.stored  # E may be Refused
    match result:
        case Refused(seen):
            seen.balance  # E may be None
        case Applied(stored):
            stored.nope  # E
    return 1


def unfinished(store: Store[Sync], account: Account) -> int:  # E one case is missing
    match store.of(Account).put(account).try_send():  # e
        case Applied(_):
            return 1


async def modes(store: Store[Sync], astore: Store[Async], account: Account) -> None:
    accounts, others = store.of(Account), astore.of(Account)
    await accounts.get(id="x").send()  # E a sync send is not awaited
    others.get(id="x").send()  # E never awaited
    others.get(id="x").required().send().balance  # E not awaited
    others.put(account).try_send().stored  # E not awaited
    with connect_async(ShopTable):  # E the async store wants async with
        print()
    async with connect(ShopTable):  # E the sync store wants with
        print()
    astore.close()  # E never awaited
    await store.close()  # E


def keyed(store: Store[Sync], account: Account) -> None:
    accounts, orders = store.of(Account, key=account_key), store.of(Order, key=order_key)
    accounts.get()  # E a key field is missing
    accounts.get(id=3)  # E a key field of another type
    accounts.get(idd="x")  # E a misspelt key field
    accounts.get("x")  # E key fields go by name
    accounts.update()  # E
    accounts.delete(idd="x")  # E
    accounts.check(idd="x")  # E
    accounts.upsert(id="x", other=1)  # E
    accounts.key(idd="x")  # E
    accounts.update(Stock("x"))  # E another class
    orders.get(customer="x", at=NOW)  # E a str is no UserId
    orders.get(customer=UserId("x"))  # E a key field is missing
    orders.get(customer=UserId("x"), at="2024")  # E
    store.of(Account, key=3)  # E


@retry_on_conflict
def deposit(amount: Decimal) -> Account:
    raise RequestError


@retry_on_conflict(attempts="3")  # E
def other(amount: Decimal) -> Account:
    raise RequestError


def retries() -> None:
    deposit("x")  # E
    deposit()  # E
    deposit(Decimal(1)).nope  # E
    retry_on_conflict(on="VERSION")  # E a Conflict
    connect("shop")  # E a Table
    connect(ShopTable, endpoint="x")  # E a misspelt option


def declarations() -> None:
    Index("gsi1", pk=3)  # E a template
    Index("gsi1", when=True)  # E a condition, or a function that answers one
    Index("gsi1", when=lambda: True)  # E
    Index("gsi1", when=F(Stock.count))  # E a field is no condition
    GlobalIndex("gsi1", pk=Stock)  # E
    GlobalIndex("gsi1", projection=3)  # E
    LocalIndex("lsi1", pk="x")  # E its partition key is the table's
    Key("number", float)  # E numbers are int
    Key(3)  # E
    Table("shop", [Stock], pk=3)  # E
    Table("shop", [Stock], untyped=3)  # E
    Table("shop", [Stock], indexes=["gsi1"])  # E
    entity("X", pk="X#{id}", indexes=["gsi1"])  # E


def reads_together(store: Store[Sync], astore: Store[Async], account: Account) -> None:
    accounts = store.of(Account)
    astore.transact_get(accounts.get(id="x"))  # E a get of a store of the other mode
    store.transact_get(accounts.put(account))  # E a write
    first, second = store.transact_get(accounts.get(id="x"), accounts.get(id="y").required()).send()
    first.balance  # E None is possible
    second.nope  # E
    one, two, three = store.transact_get(accounts.get(id="x"), accounts.get(id="y")).send()  # E two, not three
    print(one, two, three)  # e


def listening(store: Store[Sync]) -> None:
    store.execute("SELECT 1", 3)  # E parameters are a list
    store.execute("SELECT 1").send().nope  # E
    connect(ShopTable, on_call=3)  # E
    connect(ShopTable, on_call=lambda: None)  # E it takes a CallInfo
    connect(ShopTable, on_call=lambda call: call.nope)  # E
    with store.capacity() as used:
        used.nope  # E
        used.total = 3.0  # E it is counted, not set
    accounts = store.of(Account)
    accounts.bind(id="x").key().nope  # E


async def batches(store: Store[Sync], astore: Store[Async], account: Account) -> None:
    accounts, others = store.of(Account), astore.of(Account)
    accounts.get_many([Stock("x")])  # E another class
    accounts.get_many(["x"])  # E a text is no key
    accounts.get_many(account)  # E one is not many
    accounts.put_many([Stock("x")])  # E another class
    accounts.put_many([accounts.key(id="x")])  # E a key is no item
    accounts.put_many([account], True)  # E by name
    accounts.delete_many([store.of(Stock).key(sku="x")])  # E a key of another class
    accounts.get_many([account]).send()[0].balance  # E None is possible
    accounts.get_many([account]).limit(3)  # E
    accounts.put_many([account]).try_send()  # E nothing refuses it
    [one async for one in accounts.get_many([account])]  # E
    [print(two) for two in others.get_many([account])]  # E
    others.put_many([account]).send()  # E never awaited
    store.transact(accounts.put_many([account]))  # E a batch


async def parts(store: Store[Sync], astore: Store[Async]) -> None:
    accounts, others = store.of(Account), astore.of(Account)
    total: int = accounts.get(id="x").project(F(Account.balance)).required().send()  # E project() is typed
    print(total)
    accounts.get(id="x").project(F(Account.balance)).send().real  # E None is possible
    accounts.get(id="x").project("balance")  # E a field is wanted
    accounts.get(id="x").project()  # E nothing is asked for
    accounts.get(id="x").project(F(Account.balance), Stock)  # E one class alone
    accounts.query(id="x").project(F(Account.balance)).first().send().real  # E None is possible
    accounts.query(id="x").project(Stock).send()[0].balance  # E it is a Stock
    [total async for total in accounts.query(id="x").project(F(Account.balance))]  # E
    [print(total) for total in others.query(id="x").project(F(Account.balance))]  # E
    connect(ShopTable, cursor_key="secret")  # E bytes
    connect(ShopTable, cursor_key=[3])  # E bytes


async def queries(store: Store[Sync], astore: Store[Async], account: Account) -> None:
    accounts, others, stocks = store.of(Account), astore.of(Account), store.of(Stock)
    a, b = F(Stock.count).ge(1), F(Stock.count).le(2)
    stocks.query(sku="x").filter(F(Stock.count))  # E a field is no condition
    stocks.query(sku="x").range(F(Stock.count).ne(1))  # E no key condition
    stocks.query(sku="x").range(a & b)  # E one key condition
    [print(one) for one in others.query(id="x")]  # E for over an async query
    [two async for two in accounts.query(id="x")]  # E async for over a sync query
    [print(three) for three in others.query(id="x").pages()]  # E
    accounts.query(id="x").page(None).send().nope  # E
    accounts.query(id="x").limit("3")  # E
    accounts.query(id="x").page(5)  # E
    accounts.query(id="x").first().send().balance  # E None is possible
    accounts.query(id="x").one().filter(a)  # E too late
    accounts.query(id="x").try_send()  # E nothing refuses it
    accounts.query(account)  # E fields by name
    accounts.index("gsi1").get(id="x")  # E an index answers queries
    others.query(id="x").send()  # E never awaited
    store.transact(accounts.query(id="x"))  # E a query


async def several(store: Store[Sync], astore: Store[Async]) -> None:
    orders, payments = store.query(Order, Payment, customer="x").grouped().send()
    orders[0].amount  # E an Order has none
    payments[0].lines  # E a Payment has none
    for item in store.query(Order, Payment, customer="x"):
        item.amount  # E only one of them has it
    store.query(customer="x")  # E no type
    store.query(Order, "x")  # E fields by name
    store.query(Order, Payment, customer="x").range(F(Order.at).ne(None))  # E no key condition
    store.query(Order, Payment, customer="x").project(F(Order.at))  # E whole items
    store.query(Order, Payment, customer="x").grouped().send()[2]  # E two lists
    [print(each) for each in astore.query(Order, Payment, customer="x")]  # E for over an async query
    astore.query(Order, Payment, customer="x").grouped().send()  # E never awaited
