"""Which stores can take part in one transaction: those whose calls take the same route, to one client."""

from __future__ import annotations

from typing import Any

import pytest

from dynamap import RequestError, Table, connect, connect_async, entity
from dynamap.testing import Bench, FaultPlan
from dynamap.testing.memory import MemoryEngine
from dynamap.testing.memory.stores import memory_store, memory_store_async
from tests.fakes import FakeClient


@entity("ORDER", pk="ORDER#{id}", sk="ORDER")
class Order:
    id: str


@entity("STOCK", pk="STOCK#{id}", sk="STOCK")
class Stock:
    id: str


Orders, Stocks = Table("orders", [Order]), Table("stocks", [Stock])
REMEDY = (
    "belongs to a store with another client: pass one client= to connect() of both stores, or, where they have the "
    "same Table, make one of the other with store.with_name()"
)


def tables_written(orders: Any, stocks: Any) -> list[str]:
    transaction = orders.transact(orders.of(Order).put(Order("a")), stocks.of(Stock).put(Stock("a")))
    return [item["Put"]["TableName"] for item in transaction.params()["TransactItems"]]


def tables_read(orders: Any, stocks: Any) -> list[str]:
    transaction = orders.transact_get(orders.of(Order).get(id="a"), stocks.of(Stock).get(id="a"))
    return [item["Get"]["TableName"] for item in transaction.params()["TransactItems"]]


def check_together(orders: Any, stocks: Any) -> None:
    assert tables_written(orders, stocks) == tables_read(orders, stocks) == ["orders", "stocks"]


def check_apart(orders: Any, stocks: Any) -> None:
    with pytest.raises(RequestError) as caught:
        tables_written(orders, stocks)
    assert str(caught.value) == f"transact(): argument 2 {REMEDY}"
    with pytest.raises(RequestError) as caught:
        tables_read(orders, stocks)
    assert str(caught.value) == f"transact_get(): argument 2 {REMEDY}"


@pytest.mark.parametrize("make", [connect, connect_async])
def test_stores_that_were_given_one_client(make: Any) -> None:
    client = FakeClient()
    check_together(make(Orders, client=client), make(Stocks, client=client))
    check_together(make(Orders, client=client), make(Stocks, client=client, lane=False))
    check_apart(make(Orders, client=client), make(Stocks, client=FakeClient()))


@pytest.mark.parametrize("make", [connect, connect_async])
def test_stores_that_make_their_clients(make: Any) -> None:
    # each makes its own, of one endpoint too
    check_apart(make(Orders, endpoint_url="http://localhost:1"), make(Stocks, endpoint_url="http://localhost:1"))
    check_apart(make(Orders, client=FakeClient()), make(Stocks))


def test_a_store_by_another_name() -> None:
    store: Any = connect(Table("both", [Order, Stock]))
    other = store.with_name("orders")
    assert tables_written(other, store.with_name("stocks")) == ["orders", "stocks"]


def test_no_store_goes_around_the_faults_of_another() -> None:
    client = FakeClient()
    orders, stocks = connect(Orders, client=client), connect(Stocks, client=client)
    plan = FaultPlan()
    check_together(plan.over(orders), plan.over(stocks))
    check_apart(plan.over(orders), stocks)
    check_apart(orders, plan.over(stocks))
    check_apart(plan.over(orders), FaultPlan().over(stocks))


@pytest.mark.parametrize("make", [connect, connect_async, memory_store, memory_store_async])
def test_one_plan_of_faults_over_a_store_and_over_the_same_by_another_name(make: Any) -> None:
    store = make(Table("both", [Order, Stock]))
    orders, stocks, plan = store.with_name("orders"), store.with_name("stocks"), FaultPlan()
    check_together(plan.over(orders), plan.over(stocks))
    check_together(plan.over(orders), plan.over(orders).with_name("stocks"))
    check_apart(plan.over(orders), stocks)
    check_apart(plan.over(orders), plan.over(plan.over(stocks)))
    check_apart(plan.over(orders), FaultPlan().over(stocks))


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_one_plan_of_faults_over_a_store_of_a_bench_and_over_the_same_by_another_name(kind: str) -> None:
    bench = Bench(Table("both", [Order, Stock]))

    def check(store: Any) -> None:
        plan = FaultPlan()
        check_together(store.with_name("orders"), store.with_name("stocks"))
        check_together(plan.over(store.with_name("orders")), plan.over(store.with_name("stocks")))
        check_apart(plan.over(store.with_name("orders")), store.with_name("stocks"))

    async def check_async(store: Any) -> None:
        check(store)

    bench.setup(check)
    bench.client(check if kind == "sync" else check_async)
    bench.run()


def test_the_clients_of_a_bench_are_apart() -> None:
    bench, stores = Bench(Table("both", [Order, Stock])), list[Any]()
    bench.client(stores.append, count=2)
    bench.run()
    check_apart(stores[0].with_name("orders"), stores[1].with_name("stocks"))
    plan = FaultPlan()
    check_apart(plan.over(stores[0].with_name("orders")), plan.over(stores[1].with_name("stocks")))


def test_stores_in_one_memory() -> None:
    engine = MemoryEngine()
    orders: Any = memory_store(Orders, engine=engine)
    stocks: Any = memory_store(Stocks, engine=engine)
    orders.transact(orders.of(Order).put(Order("a")), stocks.of(Stock).put(Stock("a"))).send()
    read = orders.transact_get(orders.of(Order).get(id="a"), stocks.of(Stock).get(id="a")).send()
    assert read == (Order("a"), Stock("a"))
    check_apart(orders, memory_store(Stocks))
    check_apart(orders, memory_store_async(Stocks, engine=engine))
