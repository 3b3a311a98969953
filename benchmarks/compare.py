"""The same work by every peer, in alternating rounds of fresh processes; ratios to the bare boto3 client."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence

from benchmarks.processes import answer_of
from benchmarks.server import Stub
from benchmarks.works import WORKS

Timing = Sequence[float]
"""Microseconds of processor time and of wall time."""
PROCESSOR, WALL = 0, 1

Round = Mapping[str, Mapping[str, Timing]]
"""What one round took: {peer: {work: timing}}."""

Ratios = dict[str, dict[str, float]]
"""{work: {peer: ratio}}"""


def measure(stub: Stub, peers: Sequence[str], scale: float) -> Callable[[int], Round]:
    """A function that runs the round with that number: every second one goes backwards through the peers."""

    def one(number: int) -> Round:
        ordered = peers if number % 2 == 0 else peers[::-1]
        return {
            peer: answer_of("-m", "benchmarks.worker", peer, str(stub.port), str(scale), *WORKS) for peer in ordered
        }

    return one


def rounds_within(
    one: Callable[[int], Round],
    *,
    most: int,
    seconds: float = float("inf"),
    clock: Callable[[], float] = time.monotonic,
) -> list[Round]:
    """One round, and then as many as *most* and the time permit, taking each next one for as long as the longest."""
    begin = clock()
    done: list[Round] = []
    longest = 0.0
    while len(done) < most:
        started = clock()
        if done and started - begin + longest > seconds:
            break
        done.append(one(len(done)))
        longest = max(longest, clock() - started)
    return done


def ratios(rounds: Sequence[Round], baseline: str, what: int = PROCESSOR) -> Ratios:
    """How many times as long as the baseline each takes: the median of each round's ratio.

    A round's ratio compares what ran within seconds of each other, so that a machine that is slower for a while is
    slower for both.
    """
    peers = list(rounds[0])
    works = list(rounds[0][baseline])
    return {
        work: {
            peer: statistics.median(each[peer][work][what] / each[baseline][work][what] for each in rounds)
            for peer in peers
        }
        for work in works
    }


def medians(rounds: Sequence[Round], peer: str, what: int = PROCESSOR) -> dict[str, float]:
    """Microseconds that each work took the peer: the median of the rounds."""
    return {work: statistics.median(each[peer][work][what] for each in rounds) for work in rounds[0][peer]}


def spread(rounds: Sequence[Round], baseline: str) -> float:
    """How much the baseline's own times differ between rounds: the worst work's longest through its shortest."""
    return max(
        max(each[baseline][work][PROCESSOR] for each in rounds)
        / min(each[baseline][work][PROCESSOR] for each in rounds)
        for work in rounds[0][baseline]
    )
