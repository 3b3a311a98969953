"""How hi/lo ids are used, and what they refuse; copied along with the recipe."""

from __future__ import annotations

import pytest

from dynamap import ItemNotFound, Store, Sync, Table
from dynamap.testing import memory_store
from recipes.hilo import Closed, HiLo, HiLoBlock, create


def shop() -> Store[Sync]:
    return memory_store(Table("shop", [HiLoBlock]))


def test_two_processes_share_no_number() -> None:
    store = shop()
    assert create(store, "order", floor=1000)
    one, two = HiLo(store, "order", size=3), HiLo(store, "order", size=10)
    numbers = [one.next(), two.next(), one.next(), one.next(), one.next()]
    assert numbers == [1001, 1004, 1002, 1003, 1014]


def test_the_counter_is_made_once() -> None:
    store = shop()
    with pytest.raises(ItemNotFound):
        HiLo(store, "order").next()
    assert create(store, "order")
    assert not create(store, "order", floor=1000)
    assert HiLo(store, "order").next() == 1


def test_a_closed_allocator_hands_out_nothing() -> None:
    store = shop()
    create(store, "order")
    numbers = HiLo(store, "order")
    numbers.next()
    numbers.close()
    with pytest.raises(Closed):
        numbers.next()


def test_a_block_has_at_least_one_number() -> None:
    with pytest.raises(ValueError, match="at least one"):
        HiLo(shop(), "order", size=0)
