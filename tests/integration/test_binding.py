"""Tenants beside each other in one table: what a bound repository does never reaches another's items."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from dynamap import F, GlobalIndex, Index, KeyValueError, RequestError, Store, Table, entity, evolve
from tests.backends import Backend
from tests.modes import Mode


@entity(
    "ORDER",
    pk="TENANT#{tenant}",
    sk="ORDER#{number}",
    indexes=[Index("by_state", pk="STATE#{state}", sk="OF#{tenant}#{number}"), Index("by_mail", pk="MAIL#{mail}")],
)
class Order:
    tenant: str
    number: str
    state: str = "open"
    mail: str = "x@y"
    total: int = 0


NASTY = ("a", "A", "a#", "a#ORDER#1", "a$23ORDER", "$24", "a\x00", "' OR 1=1")


@pytest.fixture
def store(mode: Mode, backend: Backend, table_name: str) -> Store[Any]:
    indexes = [GlobalIndex("by_state"), GlobalIndex("by_mail", sk=())]
    store = mode.connect(Table(table_name, [Order], indexes=indexes), backend)
    mode.call(store.create_table)
    return store


def everything(client: Any, table_name: str) -> dict[tuple[str, str], int]:
    """What a plain client finds in the table: tenant and number, and the total."""
    items = client.scan(TableName=table_name, ConsistentRead=True)["Items"]
    return {(item["tenant"]["S"], item["number"]["S"]): int(item["total"]["N"]) for item in items}


@pytest.mark.slow
def test_nothing_of_one_tenant_is_another_ones(mode: Mode, store: Store[Any], client: Any, table_name: str) -> None:
    bound = {tenant: store.of(Order).bind(tenant=tenant) for tenant in NASTY}
    numbers = ("1", "a#ORDER#1", "#")
    for tenant, number in itertools.product(NASTY, numbers):
        mode.wait(bound[tenant].put(Order(tenant, number)).send())
    for tenant in NASTY:
        before = everything(client, table_name)
        own = bound[tenant]
        assert [order.tenant for order in mode.wait(own.query().send())] == [tenant] * len(numbers)
        assert {order.tenant for order in mode.wait(own.index("by_state").query(state="open").send())} <= {tenant}
        for number in numbers:
            order = mode.wait(own.get(number=number).required().send())
            mode.wait(own.update(order).to(evolve(order, total=1)).send())
            mode.wait(own.update(number=number).add(F(Order.total), 1).send())
            mode.wait(own.upsert(number=number).set(F(Order.mail), "z").send())
        mode.wait(own.put_many([Order(tenant, "1", total=9)]).send())
        mode.wait(own.delete_many([{"number": "#"}, own.key(number="nothing")]).send())
        mode.wait(own.delete(number="a#ORDER#1").send())
        after = everything(client, table_name)
        assert {key: total for key, total in after.items() if key[0] == tenant} == {(tenant, "1"): 9}
        assert {key: total for key, total in after.items() if key[0] != tenant} == {
            key: total for key, total in before.items() if key[0] != tenant
        }


def test_what_is_refused_sends_nothing(mode: Mode, store: Store[Any]) -> None:
    own = store.of(Order).bind(tenant="a")
    theirs = mode.wait(store.of(Order).put(Order("b", "1")).send())
    for make in (
        lambda: own.get(tenant="b", number="1"),
        lambda: own.update(theirs),
        lambda: own.delete(theirs),
        lambda: own.put(theirs),
        lambda: own.upsert(tenant="b", number="1"),
        lambda: own.check(tenant="b", number="1"),
        lambda: own.query(tenant="b"),
        lambda: own.key(tenant="b", number="1"),
    ):
        with pytest.raises(KeyValueError):
            make()
    for many in (own.get_many([theirs]), own.put_many([theirs]), own.delete_many([theirs])):
        with pytest.raises(KeyValueError):
            mode.wait(many.send())
    with pytest.raises(RequestError):
        own.index("by_mail").query(mail="x@y")
    assert mode.wait(store.of(Order).get(tenant="b", number="1").send()) == theirs


@pytest.mark.not_on("dynalite", reason="it has no transactions")
def test_bound_operations_are_parts_of_transactions(mode: Mode, store: Store[Any]) -> None:
    one, two = (store.of(Order).bind(tenant=tenant) for tenant in "ab")
    mode.wait(store.transact(one.put(Order("a", "1")), two.put(Order("b", "1"))).send())
    gets = (one.get(number="1"), two.get(number="1").required())
    assert mode.wait(store.transact_get(*gets).send()) == (Order("a", "1"), Order("b", "1"))
