"""Proof of hi/lo ids. Each client is a process with an allocator of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from dynamap import Async, DynamapError, ItemNotFound, Store, Sync, Table
from dynamap.testing import Items, Run
from tests.proofs.framework import Mutant, Scenario, Stage, StagedBench

SIZES = (3, 2, 5)


def allocators(recipe: ModuleType, stage: Stage) -> StagedBench:
    """H1 to H4: distinct, rising within a block, little wasted, few requests, whatever goes wrong and starts again."""
    bench = stage.bench(Table("ids", [recipe.HiLoBlock]), fault_rate=0.25)
    handed: dict[str, list[list[int]]] = {}

    @bench.setup
    def begin(store: Store[Sync]) -> None:
        handed.clear()
        store.of(recipe.HiLoBlock).put(recipe.HiLoBlock("order", 10)).send()

    async def take(store: Store[Async], size: int) -> None:
        # numbers that were handed out count, also if the process ends before it has them all
        numbers: list[int] = []
        handed.setdefault(str(size), []).append(numbers)
        allocator = recipe.HiLo(store, "order", size)
        while len(numbers) < 4:
            numbers.append(await allocator.next())

    for size in SIZES:
        bench.client(take, size, restarts=1)

    @bench.afterwards
    def no_number_is_there_twice(run: Run) -> None:
        lives = [numbers for each in handed.values() for numbers in each]
        everything = [number for numbers in lives for number in numbers]
        assert len(set(everything)) == len(everything), f"H1: {sorted(everything)}"
        assert all(number > 10 for number in everything), "H1: below the floor"
        (block,) = run.items.of(recipe.HiLoBlock)
        assert all(number <= block.high for number in everything), "H1: beyond every block"
        for numbers in lives:
            assert numbers == sorted(numbers), f"H2: {numbers}"
        requests = sum(step.what.startswith("UpdateItem") for step in run.record.steps)
        struck = sum(bool(step.fault) for step in run.record.steps)
        needed = sum(-(-len(numbers) // size) for size in SIZES for numbers in handed[str(size)])
        assert requests <= needed + struck, f"H4: {requests} requests for {needed} blocks and {struck} faults"
        wasted = block.high - 10 - len(everything)
        assert wasted <= max(SIZES) * (len(lives) + struck), f"H3: {wasted} wasted"
        errors = [each.error for each in run.outcomes.values() if each.error is not None]
        assert struck or not errors, f"H1: without a fault: {errors}"
        assert all(isinstance(error, DynamapError) for error in errors)

    return bench


def creators(recipe: ModuleType, stage: Stage) -> StagedBench:
    """created: of many one makes the counter, the others leave it, and H1 holds for all who take numbers at once."""
    bench = stage.bench(Table("ids", [recipe.HiLoBlock]), fault_rate=0.25)
    taken: list[int] = []
    made: list[int] = []
    highs: list[int] = []

    @bench.setup
    def begin(store: Store[Sync]) -> None:
        for each in (taken, made, highs):
            each.clear()

    async def start(store: Store[Async], floor: int) -> bool:
        is_mine = await recipe.create(store, "order", floor=floor)
        if is_mine:
            made.append(floor)
        allocator = recipe.HiLo(store, "order", 2)
        for _ in range(3):
            number = await allocator.next()
            taken.append(number)
        return bool(is_mine)

    for floor in (0, 100, 200):
        bench.client(start, floor, restarts=1)

    @bench.invariant
    def the_counter_never_falls(items: Items) -> None:
        for block in items.of(recipe.HiLoBlock):
            assert not highs or block.high >= highs[-1], f"created: from {highs[-1]} to {block.high}"
            highs.append(block.high)

    @bench.afterwards
    def one_made_it(run: Run) -> None:
        assert len(made) <= 1, f"created: {len(made)} times"
        assert not made or highs[0] == made[0], f"created: begins at {highs[0]}, and {made[0]} was said to"
        assert len(set(taken)) == len(taken), f"H1: {sorted(taken)}"
        errors = [each.error for each in run.outcomes.values() if each.error is not None]
        assert any(step.fault for step in run.record.steps) or (len(made) == 1 and not errors), f"created: {errors}"
        # whoever was told that the counter is there finds it
        assert not any(isinstance(error, ItemNotFound) for error in errors), f"created: {errors}"

    return bench


def cancelled(recipe: ModuleType, stage: Stage) -> StagedBench:
    """H5, H4: tasks share an allocator, and one of them is cancelled wherever it is."""
    bench = stage.bench(Table("ids", [recipe.HiLoBlock]), fault_rate=0.15)
    size, lives = 4, list[list[int]]()
    given_up: list[int] = []

    @bench.setup
    def begin(store: Store[Sync]) -> None:
        lives.clear()
        given_up.clear()
        store.of(recipe.HiLoBlock).put(recipe.HiLoBlock("order")).send()

    async def share(store: Store[Async], victim: int) -> None:
        allocator = recipe.HiLo(store, "order", size)
        numbers: list[int] = []
        lives.append(numbers)

        async def take() -> None:
            for _ in range(2):
                number = await allocator.next()
                numbers.append(number)

        tasks: list[Any] = [asyncio.create_task(take()) for _ in range(4)]
        # the schedule says how far they come meanwhile
        await asyncio.sleep(0.001)
        if tasks[victim].cancel():
            given_up.append(victim)
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        for position, end in enumerate(ends):
            if isinstance(end, BaseException) and not isinstance(end, asyncio.CancelledError):
                raise end
            was_cancelled = isinstance(end, asyncio.CancelledError)
            assert was_cancelled is (victim in given_up and position == victim), f"H5: {ends}"

    bench.client(share, 0, restarts=1)
    bench.client(share, 1, restarts=1)

    @bench.afterwards
    def one_block_is_lost(run: Run) -> None:
        everything = [number for numbers in lives for number in numbers]
        assert len(set(everything)) == len(everything), f"H5: {sorted(everything)}"
        (block,) = run.items.of(recipe.HiLoBlock)
        assert all(0 < number <= block.high for number in everything), "H5: beyond every block"
        faults = len(given_up) + sum(bool(step.fault) for step in run.record.steps)
        wasted = block.high - len(everything)
        assert wasted <= size * (len(lives) + faults), f"H5: {wasted} wasted"
        requests = sum(step.what.startswith("UpdateItem") for step in run.record.steps)
        needed = sum(-(-len(numbers) // size) for numbers in lives)
        assert requests <= needed + faults, f"H4: {requests} requests for {needed} blocks and {faults} faults"

    return bench


SCENARIOS: Sequence[Scenario] = (
    allocators,
    creators,
    cancelled,  # asyncio only
)

CANCELLED: Sequence[Mutant] = (
    Mutant(
        "H5",
        "a block is counted before it is claimed",
        "high = await self._claim()",
        "block.last += self._size; high = await self._claim()",
        ("cancelled",),
    ),
    Mutant("H4", "each task claims for itself", "async with block.lock:", "if block.lock:", ("cancelled",)),
)

MUTANTS: Sequence[Mutant] = (
    Mutant("H1", "a block begins one too low", "high - self._size + 1, high", "high - self._size, high"),
    Mutant("H1", "a block of another's size", "high - self._size + 1, high", "high - 4, high"),
    Mutant(
        "H2",
        "numbers fall",
        "number = block.next\n            block.next += 1",
        "number = block.last\n            block.last -= 1",
    ),
    Mutant("H3", "larger blocks than are used", "add(high, self._size)", "add(high, self._size * 20)"),
    Mutant("H4", "a claim for each number", "if block.next > block.last:", "if block.next > 0:"),
    Mutant(
        "H1",
        "a block that was not claimed",
        "except OutcomeUnknown:\n                continue",
        "except OutcomeUnknown:\n                return self._size + 10",
    ),
    Mutant(
        "created", "it begins again", ".put(HiLoBlock(name, floor)).if_not_exists()", ".put(HiLoBlock(name, floor))"
    ),
    Mutant("created", "everybody made it", "return isinstance(made, Applied)", "return made is not None"),
    *CANCELLED,  # asyncio only
)
