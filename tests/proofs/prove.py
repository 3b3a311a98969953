"""Prove the recipes: `python -m tests.proofs.prove [--quick] [NAME ...]` prints a table, and as last line JSON.

For each recipe and mode: every fault at every call, random schedules with all faults, and every mutant, which must be
caught. The exit code is 1 if anything does not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context

from tests.proofs import framework
from tests.proofs.framework import Mode, Tally

SCHEDULES = 10_000
QUICK_SCHEDULES = 60
CHUNK = 500


@dataclass(frozen=True)
class Work:
    """One piece of a proof, small enough to share out: schedules of a scenario, all its faults, or a mutant."""

    recipe: str
    mode: Mode
    kind: str
    position: int
    first_seed: int = 0
    count: int = 0


@dataclass
class Finding:
    """What one piece came to, and how much of a processor it took."""

    work: Work
    tally: Tally = field(default_factory=Tally)
    caught: bool = False
    seconds: float = 0


@dataclass
class Verdict:
    """What all work on one recipe came to."""

    tally: Tally = field(default_factory=Tally)
    mutants: int = 0
    caught: int = 0
    survivors: list[str] = field(default_factory=list[str])
    seconds: float = 0

    def as_json(self) -> dict[str, int]:
        return {
            "schedules": self.tally.schedules,
            "overlapping": self.tally.overlapping,
            "faults": self.tally.faults,
            "violations": len(self.tally.violations),
            "mutants": self.mutants,
            "caught": self.caught,
        }


def pieces(recipe: str, quick: bool) -> Iterator[Work]:
    """All work on a recipe; the quick form tries each mutant in one mode."""
    total = QUICK_SCHEDULES if quick else SCHEDULES
    for mode in framework.MODES:
        proof = framework.load_proof(recipe, mode)
        scenarios = len(proof.scenarios)
        for position in range(scenarios):
            share = total // scenarios + (position < total % scenarios)
            for first in range(0, share, CHUNK):
                yield Work(recipe, mode, "random", position, first, min(CHUNK, share - first))
            if not quick:
                yield Work(recipe, mode, "faults", position)
        for position in range(len(proof.mutants)):
            if not quick or (mode, position) in framework.shared_out(recipe):
                yield Work(recipe, mode, "mutant", position)


def perform(work: Work) -> Finding:
    """Do one piece."""
    finding, started = Finding(work), time.process_time()
    proof = framework.load_proof(work.recipe, work.mode)
    recipe = framework.load_recipe(work.recipe, work.mode)
    if work.kind == "mutant":
        finding.caught = framework.is_caught(proof, proof.mutants[work.position])
    elif work.kind == "faults":
        finding.tally = framework.every_fault(proof.scenarios[work.position], recipe)
    else:
        scenario = proof.scenarios[work.position]
        finding.tally = framework.random_schedules(scenario, recipe, work.count, work.first_seed)
    finding.seconds = time.process_time() - started
    return finding


def prove(recipes: Sequence[str], quick: bool) -> dict[str, Verdict]:
    """Prove these recipes on all cores."""
    works = [work for recipe in recipes for work in pieces(recipe, quick)]
    verdicts = {recipe: Verdict() for recipe in recipes}
    with ProcessPoolExecutor(os.cpu_count() or 1, mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(perform, work) for work in works]):
            finding = done.result()
            work, verdict = finding.work, verdicts[finding.work.recipe]
            verdict.tally += finding.tally
            verdict.seconds += finding.seconds
            if work.kind == "mutant":
                verdict.mutants += 1
                verdict.caught += finding.caught
                if not finding.caught:
                    mutant = framework.load_proof(work.recipe, work.mode).mutants[work.position]
                    verdict.survivors.append(f"{work.mode}: {mutant}")
    return verdicts


def holds(verdict: Verdict) -> bool:
    tally = verdict.tally
    enough = 2 * tally.overlapping > tally.schedules and 2 * tally.faults > tally.schedules
    return enough and not tally.violations and verdict.caught == verdict.mutants > 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Prove the recipes against every fault.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="recipes; all without one")
    parser.add_argument("--quick", action="store_true", help="few schedules, for a first look")
    arguments = parser.parse_args()
    known = framework.names()
    unknown = [name for name in arguments.names if name not in known]
    if unknown:
        parser.error(f"no proof of {', '.join(unknown)}; there are {', '.join(known)}")
    started = time.monotonic()
    verdicts = prove(arguments.names or known, arguments.quick)
    heads = f"{'recipe':20} {'schedules':>9} {'overlapping':>11} {'faults':>8} {'violations':>10} {'caught':>8}"
    print(f"{heads} {'CPU seconds':>12}")
    for recipe, verdict in verdicts.items():
        tally, caught = verdict.tally, f"{verdict.caught}/{verdict.mutants}"
        print(
            f"{recipe:20} {tally.schedules:9,} {tally.overlapping:11,} {tally.faults:8,} "
            f"{len(tally.violations):10,} {caught:>8} {verdict.seconds:12.1f}{'' if holds(verdict) else '  FAILS'}"
        )
    for recipe, verdict in verdicts.items():
        for text in [*verdict.tally.violations[:3], *verdict.survivors]:
            print(f"\n{recipe}: {text}")
    print(f"{time.monotonic() - started:.0f} s")
    print(json.dumps({recipe: verdict.as_json() for recipe, verdict in verdicts.items()}))
    return 0 if all(map(holds, verdicts.values())) else 1


if __name__ == "__main__":
    sys.exit(main())
