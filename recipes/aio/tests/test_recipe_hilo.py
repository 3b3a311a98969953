"""How hi/lo ids are used, and what they refuse; copied along with the recipe."""

from __future__ import annotations

import pytest

from dynamap import Async, ItemNotFound, Store, Table
from dynamap.testing import memory_store_async
from recipes.aio.hilo import Closed, HiLo, HiLoBlock, create

pytestmark = pytest.mark.asyncio  # asyncio only


def shop() -> Store[Async]:
    return memory_store_async(Table("shop", [HiLoBlock]))


async def test_two_processes_share_no_number() -> None:
    store = shop()
    assert await create(store, "order", floor=1000)
    one, two = HiLo(store, "order", size=3), HiLo(store, "order", size=10)
    numbers = [await one.next(), await two.next(), await one.next(), await one.next(), await one.next()]
    assert numbers == [1001, 1004, 1002, 1003, 1014]


async def test_the_counter_is_made_once() -> None:
    store = shop()
    with pytest.raises(ItemNotFound):
        await HiLo(store, "order").next()
    assert await create(store, "order")
    assert not await create(store, "order", floor=1000)
    assert await HiLo(store, "order").next() == 1


async def test_a_closed_allocator_hands_out_nothing() -> None:
    store = shop()
    await create(store, "order")
    numbers = HiLo(store, "order")
    await numbers.next()
    numbers.close()
    with pytest.raises(Closed):
        await numbers.next()


async def test_a_block_has_at_least_one_number() -> None:
    with pytest.raises(ValueError, match="at least one"):
        HiLo(shop(), "order", size=0)
