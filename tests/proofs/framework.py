"""Recipes on the bench: scenarios that hold under every fault and schedule, and mutants that do not.

A proof is a module beside this one with the recipe's name. It is written once, for asyncio: `load_proof` gives the
plain form too. It has

    SCENARIOS  functions `scenario(recipe, stage)` that make a bench with `stage.bench(table, ...)` and fill it;
               *recipe* is the module under proof, so that a mutant can stand in for it
    MUTANTS    one for each invariant at least: a piece of the recipe's source, and what stands there instead

What the letters of the invariants mean is in `invariants`. A scenario names the letter in the words of each check, so
that a mutant is only caught where the run fails for the invariant that it stands for.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from typing_extensions import Self

from dynamap import Table
from dynamap.testing import AnyFault, Bench, Crash, Fault, Record, Run, ScheduleFailed
from recipes.write_sync import as_sync

Mode = Literal["sync", "async"]
MODES: tuple[Mode, ...] = ("sync", "async")

HERE = Path(__file__).parent
RECIPES = HERE.parents[1] / "recipes"

FAULTS: tuple[AnyFault, ...] = (*Fault, *Crash)
"""Everything that may go wrong at any call."""


@dataclass(frozen=True)
class Mutant:
    """A recipe that is wrong in one condition, and so *breaks* an invariant.

    *caught_by* names the scenarios that are tried, all if it is empty.
    """

    breaks: str
    how: str
    old: str
    new: str
    caught_by: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.breaks}: {self.how}: {self.old!r} -> {self.new!r}"

    def explains(self, failed: ScheduleFailed) -> bool:
        """Whether the run failed for the invariant that this stands for, and not for another one."""
        return re.search(rf"\b{self.breaks}(?:, \w+)*: ", f"{failed.args[0]} ") is not None


@dataclass(frozen=True)
class Strike:
    """A fault at one call of one client."""

    client: str
    call: int
    fault: AnyFault


class StagedBench(Bench):
    """A bench whose clients may be struck from outside, and which knows their names."""

    def __init__(self, table: Table, /, *, strike: Strike | None = None, **options: Any) -> None:
        super().__init__(table, **options)
        self.strike = strike
        self.names: list[str] = []

    def client(self, function: Any = None, /, *args: Any, **options: Any) -> Any:
        if function is None:
            return lambda given: self.client(given, *args, **options)
        before = len(self._parts)
        super().client(function, *args, **options)
        for position in range(before, len(self._parts)):
            part = self._parts[position]
            self.names.append(part.name)
            if self.strike is not None and self.strike.client == part.name:
                object.__setattr__(part, "faults", {**part.faults, self.strike.call: self.strike.fault})
        return function


@dataclass
class Stage:
    """Where a scenario makes its bench. *options* win over what the scenario says."""

    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def bench(self, table: Table, /, **options: Any) -> StagedBench:
        """A bench with the faults that this stage has to bring; the rest is the scenario's to say."""
        return StagedBench(table, **{"fault_rate": 0.1, **options, **self.options})


Scenario = Callable[[ModuleType, Stage], StagedBench]


@dataclass(frozen=True)
class Proof:
    """A proof in one mode."""

    name: str
    mode: Mode
    module: ModuleType

    @property
    def scenarios(self) -> Sequence[Scenario]:
        found: Sequence[Scenario] = self.module.SCENARIOS
        return found

    @property
    def mutants(self) -> Sequence[Mutant]:
        found: Sequence[Mutant] = self.module.MUTANTS
        return found


# ---- loading


def names() -> list[str]:
    """The recipes that there are proofs of."""
    return sorted(path.stem for path in HERE.glob("*.py") if (RECIPES / "aio" / path.name).exists())


def _module(name: str, text: str, origin: Path) -> ModuleType:
    spec = importlib.util.spec_from_loader(name, loader=None, origin=str(origin))
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    exec(compile(text, str(origin), "exec"), module.__dict__)
    return module


@cache
def load_proof(name: str, mode: Mode) -> Proof:
    path = HERE / f"{name}.py"
    text = path.read_text(encoding="utf-8")
    return Proof(name, mode, _module(f"proof_{mode}_{name}", text if mode == "async" else as_sync(text), path))


@cache
def load_recipe(name: str, mode: Mode, mutant: Mutant | None = None) -> ModuleType:
    """The recipe as a module; with a mutant, the one whose source is changed in one place."""
    path = RECIPES / "aio" / f"{name}.py"
    text = path.read_text(encoding="utf-8")
    if mode == "sync":
        # the texts of the mutants, in a proof that was made plain, are plain too
        text = as_sync(text)
    if mutant is not None:
        assert text.count(mutant.old) == 1, f"stands {text.count(mutant.old)} times: {mutant}"
        text = text.replace(mutant.old, mutant.new)
    marked = "" if mutant is None else f"_{abs(hash((mutant.old, mutant.new)))}"
    return _module(f"recipe_{mode}_{name}{marked}", text, path)


# ---- what a run was like


def is_overlapping(record: Record, clients: Sequence[str]) -> bool:
    """Whether a client made a call between the first and the last call of another one."""
    order = [step.who for step in record.steps if step.who in clients]
    spans = {who: (order.index(who), len(order) - 1 - order[::-1].index(who)) for who in order}
    return any(
        first < at < last and who != name for name, (first, last) in spans.items() for at, who in enumerate(order)
    )


def is_struck(record: Record) -> bool:
    """Whether a fault hit a call."""
    return any(step.fault and step.fault != "stale" for step in record.steps)


@dataclass
class Tally:
    """What a number of schedules came to."""

    schedules: int = 0
    overlapping: int = 0
    faults: int = 0
    violations: list[str] = field(default_factory=list[str])

    def count(self, bench: StagedBench, schedule: int) -> Run | None:
        """Run one schedule and note what it was like."""
        self.schedules += 1
        try:
            run = bench.run(schedule)
        except ScheduleFailed as failed:
            self.violations.append(str(failed))
            record = failed.record
        else:
            record = run.record
        self.overlapping += is_overlapping(record, bench.names)
        self.faults += is_struck(record)
        return run if not self.violations else None

    def __iadd__(self, other: Tally) -> Self:
        self.schedules += other.schedules
        self.overlapping += other.overlapping
        self.faults += other.faults
        self.violations += other.violations
        return self


# ---- what is proven


def random_schedules(scenario: Scenario, recipe: ModuleType, count: int, first_seed: int = 0) -> Tally:
    """So many random schedules, with all faults."""
    bench = scenario(recipe, Stage({"faults": FAULTS}))
    tally = Tally()
    for seed in range(first_seed, first_seed + count):
        tally.count(bench, seed)
    return tally


def strikes(scenario: Scenario, recipe: ModuleType) -> Iterator[Strike]:
    """Every fault at every call of every client, up to the number of calls that it makes undisturbed and one more."""
    bench = scenario(recipe, Stage())
    record = bench.run(0).record
    for client in bench.names:
        calls = sum(step.who == client and bool(step.outcome) for step in record.steps)
        for call in range(1, calls + 2):
            for fault in FAULTS:
                yield Strike(client, call, fault)


def every_fault(scenario: Scenario, recipe: ModuleType, seeds: Sequence[int] = (0, 1, 2)) -> Tally:
    """Every fault at every call, each under some interleavings."""
    tally = Tally()
    for strike in strikes(scenario, recipe):
        bench = scenario(recipe, Stage({"strike": strike}))
        for seed in seeds:
            tally.count(bench, seed)
    return tally


def is_caught(proof: Proof, mutant: Mutant, most: int = 2000) -> bool:
    """Whether a scenario fails for the mutant's invariant: in so many random schedules, or with any one fault."""
    recipe = load_recipe(proof.name, proof.mode, mutant)
    chosen = [each for each in proof.scenarios if not mutant.caught_by or each.__name__ in mutant.caught_by]
    benches = [scenario(recipe, Stage({"faults": FAULTS})) for scenario in chosen]
    runs = ((bench, seed) for seed in range(most) for bench in benches)
    return any(is_caught_by(mutant, bench, seed) for bench, seed in runs) or any(
        is_caught_by(mutant, scenario(recipe, Stage({"strike": strike})), seed)
        for scenario in chosen
        for strike in strikes(scenario, load_recipe(proof.name, proof.mode))
        for seed in range(3)
    )


def is_caught_by(mutant: Mutant, bench: StagedBench, seed: int) -> bool:
    try:
        bench.run(seed)
    except ScheduleFailed as failed:
        return mutant.explains(failed)
    return False


def shared_out(name: str) -> list[tuple[Mode, int]]:
    """Each mutant of a recipe in one of the modes; what only asyncio can do comes last in the lists."""
    plain, everything = (len(load_proof(name, mode).mutants) for mode in MODES)
    return [("sync" if position < plain and position % 2 == 0 else "async", position) for position in range(everything)]
