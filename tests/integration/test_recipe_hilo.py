"""Hi/lo ids on every backend, in both modes: created once, shared, and lost with their counter."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from dynamap import ItemNotFound, Store, Table
from dynamap.testing import Fault, FaultPlan
from recipes import hilo
from recipes.aio import hilo as hilo_async
from tests.backends import Backend
from tests.modes import Mode, RawTable


@pytest.fixture
def recipe(mode: Mode) -> ModuleType:
    return hilo_async if mode.is_async else hilo


@pytest.fixture
def store(mode: Mode, backend: Backend, raw: RawTable, recipe: ModuleType) -> Store[Any]:
    return mode.connect(Table(raw.name, [recipe.HiLoBlock]), backend)


def test_blocks_of_different_sizes(store: Store[Any], mode: Mode, recipe: ModuleType, raw: RawTable) -> None:
    assert mode.call(recipe.create, store, "order") is True
    assert mode.call(recipe.create, store, "order") is False
    small, large = recipe.HiLo(store, "order", 2), recipe.HiLo(store, "order", 5)
    numbers = [mode.call(allocator.next) for allocator in (small, large, small, small, large, small, small)]
    assert numbers == [1, 3, 2, 8, 4, 9, 10]
    item = raw.get("HILO#order", "HILO")
    assert item is not None
    assert item["high"] == {"N": "11"}


def test_a_lost_answer_wastes_a_block_and_repeats_no_number(store: Store[Any], mode: Mode, recipe: ModuleType) -> None:
    mode.call(recipe.create, store, "order")
    allocator = recipe.HiLo(FaultPlan({2: Fault.DROP_AFTER}).over(store), "order", 2)
    # 3 and 4 were claimed by the write whose answer was lost; 6 stays in the memory of a process that ends
    assert [mode.call(allocator.next) for _ in range(3)] == [1, 2, 5]
    assert mode.call(recipe.HiLo(store, "order", 2).next) == 7


def test_without_its_counter_nothing_is_handed_out(
    store: Store[Any], mode: Mode, recipe: ModuleType, raw: RawTable
) -> None:
    mode.call(recipe.create, store, "order")
    allocator = recipe.HiLo(store, "order", 1)
    assert mode.call(allocator.next) == 1
    # a counter that began again by itself would hand out the same numbers again
    raw.delete("HILO#order", "HILO")
    with pytest.raises(ItemNotFound):
        mode.call(allocator.next)
    assert raw.get("HILO#order", "HILO") is None
    mode.call(lambda: recipe.create(store, "order", floor=1000))
    assert mode.call(allocator.next) == 1001
