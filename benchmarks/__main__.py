"""All benchmarks, or the quick ones: what `make bench` runs.

python -m benchmarks [--quick] [--rounds N]

The last line is a JSON object {work: {peer: ratio of processor time to the bare boto3 client}}.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import sys
from collections.abc import Sequence

from benchmarks import compare, plots
from benchmarks.curves import show_curves
from benchmarks.memory import show_memory
from benchmarks.processes import WorkerFailed, installed, machine
from benchmarks.recipe_calls import show_calls
from benchmarks.server import NoCompiler, Stub, running
from benchmarks.start import show_start
from benchmarks.tables import ratio_table, table
from benchmarks.works import PEERS, Peer

BASELINE = PEERS[0].name
QUICK_SECONDS = 38.0
QUICK_SCALE = 0.25
FULL_ROUNDS = 9
FULL_SCALE = 1.0


def show_comparison(rounds: Sequence[compare.Round], peers: Sequence[Peer]) -> compare.Ratios:
    """Print what the rounds took; answers the ratios of processor time."""
    names = [peer.name for peer in peers]
    processor = compare.ratios(rounds, BASELINE)
    base = compare.medians(rounds, BASELINE)
    print()
    print(
        table(
            f"{BASELINE}, microseconds of processor time",
            list(base),
            [("", [f"{taken:.0f}" for taken in base.values()])],
        )
    )
    print()
    print(ratio_table(f"processor time, times that of {BASELINE}", processor, names))
    print()
    print(ratio_table(f"wall time, times that of {BASELINE}", compare.ratios(rounds, BASELINE, compare.WALL), names))
    print()
    if len(rounds) == 1:
        print("One round only: nothing is known of how much it would vary.")
    else:
        varied = compare.spread(rounds, BASELINE)
        print(f"Medians of {len(rounds)} rounds. {BASELINE} itself varied between them up to {varied:.2f} times.")
    return processor


def run(*, quick: bool, most: int = FULL_ROUNDS) -> compare.Ratios:
    peers = installed(peer for peer in PEERS if peer.quick or not quick)
    print(machine())
    with running(sizes=not quick) as stub:
        measure = compare.measure(stub, [peer.name for peer in peers], QUICK_SCALE if quick else FULL_SCALE)
        rounds = compare.rounds_within(measure, most=most, seconds=QUICK_SECONDS if quick else math.inf)
        processor = show_comparison(rounds, peers)
        if not quick:
            show_more(stub, peers, processor)
    return {work: {peer.name: each[peer.name] for peer in peers if peer.quick} for work, each in processor.items()}


def show_more(stub: Stub, peers: Sequence[Peer], processor: compare.Ratios) -> None:
    """What the quick form leaves out."""
    curves = show_curves(stub, [peer.name for peer in peers])
    show_start(stub, peers)
    show_memory(stub)
    show_calls()
    plots.draw(processor, curves)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the comparison only, with few repetitions")
    parser.add_argument("--rounds", type=int, default=FULL_ROUNDS, help="how often each peer is measured at most")
    asked = parser.parse_args()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # what is done shows at once, in a file too
        sys.stdout.reconfigure(line_buffering=True)
    try:
        found = run(quick=asked.quick, most=asked.rounds)
    except (NoCompiler, WorkerFailed) as error:
        sys.exit(str(error))
    print(json.dumps({work: {peer: round(ratio, 3) for peer, ratio in each.items()} for work, each in found.items()}))


if __name__ == "__main__":
    main()
