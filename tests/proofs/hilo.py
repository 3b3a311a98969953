"""Proof of hi/lo ids. Each client is a process with an allocator of its own."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

from dynamap import Async, DynamapError, Store, Sync, Table
from dynamap.testing import Run
from tests.proofs.framework import Mutant, Scenario, Stage, StagedBench

SIZES = (3, 2, 5)


def allocators(recipe: ModuleType, stage: Stage) -> StagedBench:
    """H1 to H5: distinct, rising within a block, little wasted, few requests, whatever goes wrong and starts again."""
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
        for size in SIZES:
            for numbers in handed[str(size)]:
                for start in range(0, len(numbers), size):
                    part = numbers[start : start + size]
                    assert part == list(range(part[0], part[0] + len(part))), f"H2: {part}"
        requests = sum(step.what.startswith("UpdateItem") for step in run.record.steps)
        struck = sum(bool(step.fault) for step in run.record.steps)
        needed = sum(-(-len(numbers) // size) for size in SIZES for numbers in handed[str(size)])
        assert requests <= needed + struck, f"H4: {requests} requests for {needed} blocks and {struck} faults"
        wasted = block.high - 10 - len(everything)
        assert wasted <= max(SIZES) * (len(lives) + struck), f"H3: {wasted} wasted"
        errors = [each.error for each in run.outcomes.values() if each.error is not None]
        assert struck or not errors, f"without a fault: {errors}"
        assert all(isinstance(error, DynamapError) for error in errors)

    return bench


SCENARIOS: Sequence[Scenario] = (allocators,)

MUTANTS: Sequence[Mutant] = (
    Mutant("H1: a block begins one too low", "high - self._size + 1, high", "high - self._size, high"),
    Mutant("H1: a block of another's size", "high - self._size + 1, high", "high - 4, high"),
    Mutant(
        "H2: numbers fall",
        "number = block.next\n            block.next += 1",
        "number = block.last\n            block.last -= 1",
    ),
    Mutant("H3: larger blocks than are used", "F(HiLoBlock.high), self._size)", "F(HiLoBlock.high), self._size * 20)"),
    Mutant("H4: a claim for each number", "if block.next > block.last:", "if block.next > 0:"),
    Mutant(
        "H5: a block that was not claimed",
        "except OutcomeUnknown:\n                continue",
        "except OutcomeUnknown:\n                return self._size + 10",
    ),
)
