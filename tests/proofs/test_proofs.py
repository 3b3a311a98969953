"""The recipes hold under faults and races, in both modes, and their mutants do not; `make prove` does more of it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from dynamap.testing import ScheduleFailed
from recipes.write_sync import as_sync
from tests.depth import how_many
from tests.proofs import framework
from tests.proofs.framework import MODES, Mode, Mutant, Scenario, Stage, Tally
from tests.proofs.invariants import ASYNCIO_ONLY, INVARIANTS

RECIPES = framework.RECIPES
DOCS = RECIPES.parent / "docs" / "recipes"
NAMES = framework.names()
SCENARIOS = [
    (name, scenario.__name__, mode)
    for name in NAMES
    for mode in MODES
    for scenario in framework.load_proof(name, mode).scenarios
]
MUTANTS = [(name, mode, position) for name in NAMES for mode, position in framework.shared_out(name)]


def scenario_of(name: str, scenario: str, mode: Mode) -> Scenario:
    proof = framework.load_proof(name, mode)
    return next(each for each in proof.scenarios if each.__name__ == scenario)


def test_every_recipe_has_a_proof() -> None:
    assert sorted(path.stem for path in (RECIPES / "aio").glob("*.py")) == NAMES


def meaning(text: str) -> list[str]:
    """What a module says, without its formatting, parentheses and the order of what it imports."""
    body = ast.parse(text).body
    imports = [node for node in body if isinstance(node, (ast.Import, ast.ImportFrom))]
    for node in imports:
        node.names.sort(key=lambda alias: alias.name)
    return sorted(map(ast.dump, imports)) + [ast.dump(node) for node in body if node not in imports]


@pytest.mark.parametrize("source", sorted((RECIPES / "aio").rglob("*.py")), ids=lambda path: path.stem)
def test_both_forms_are_one_source(source: Path) -> None:
    plain = (RECIPES / source.relative_to(RECIPES / "aio")).read_text(encoding="utf-8")
    made = as_sync(source.read_text(encoding="utf-8"))
    assert meaning(plain) == meaning(made), "run python recipes/write_sync.py"


@pytest.mark.parametrize(("name", "scenario", "mode"), SCENARIOS)
def test_random_schedules(name: str, scenario: str, mode: Mode) -> None:
    tally = framework.random_schedules(
        scenario_of(name, scenario, mode), framework.load_recipe(name, mode), how_many(quick=15, deep=2000)
    )
    assert not tally.violations, tally.violations[0]


@pytest.mark.parametrize(("name", "scenario", "mode"), SCENARIOS)
def test_every_fault_at_every_call(name: str, scenario: str, mode: Mode) -> None:
    chosen, recipe = scenario_of(name, scenario, mode), framework.load_recipe(name, mode)
    tally = Tally()
    strikes = list(framework.strikes(chosen, recipe))
    # the modes share the strikes out, since they share the core
    step = how_many(quick=10, deep=1)
    for strike in strikes[MODES.index(mode) % step :: step]:
        tally.count(chosen(recipe, Stage({"strike": strike})), 1)
    assert tally.faults, "no fault struck"
    assert not tally.violations, tally.violations[0]


@pytest.mark.parametrize(("name", "mode", "position"), MUTANTS)
def test_every_mutant_is_caught(name: str, mode: Mode, position: int) -> None:
    proof = framework.load_proof(name, mode)
    mutant: Mutant = proof.mutants[position]
    assert framework.is_caught(proof, mutant), str(mutant)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", NAMES)
def test_every_mutant_is_another_recipe(name: str, mode: Mode) -> None:
    for mutant in framework.load_proof(name, mode).mutants:
        assert framework.load_recipe(name, mode, mutant) is not framework.load_recipe(name, mode)


@pytest.mark.parametrize("name", NAMES)
def test_every_invariant_is_broken_by_a_mutant(name: str) -> None:
    for mode in MODES:
        broken = {mutant.breaks for mutant in framework.load_proof(name, mode).mutants}
        only_here = ASYNCIO_ONLY.get(name, set()) if mode == "sync" else set()
        assert broken == set(INVARIANTS[name]) - only_here


@pytest.mark.parametrize("name", NAMES)
def test_the_page_says_what_is_proven(name: str) -> None:
    page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    proven = page.partition("## What is proven\n")[2].partition("\n## ")[0]
    said = re.findall(r"^\| ([A-Z][0-9]) \|", proven, re.MULTILINE)
    assert said == [letter for letter in INVARIANTS[name] if len(letter) == 2]


def test_a_found_schedule_replays() -> None:
    proof = framework.load_proof("optimistic_locking", "async")
    bench = proof.scenarios[0](
        framework.load_recipe(proof.name, proof.mode, proof.mutants[0]), Stage({"faults": framework.FAULTS})
    )
    for seed in range(2000):
        try:
            bench.run(seed)
        except ScheduleFailed as failed:
            with pytest.raises(ScheduleFailed) as again:
                bench.replay(str(failed))
            assert str(again.value) == str(failed)
            return
    pytest.fail("no schedule failed")
