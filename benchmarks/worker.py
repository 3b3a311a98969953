"""One peer in a process of its own, started by the driver.

python -m benchmarks.worker PEER PORT SCALE [WORK ...]

Prints a JSON object: microseconds of processor and wall time that each work took, as {work: [processor, wall]}. SCALE
is how many times the usual number of repetitions; 0 does each work and checks it, and measures nothing.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import inspect
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from benchmarks.checks import check
from benchmarks.server import Stub
from benchmarks.works import PEERS, WORKS, Works

Timing = tuple[float, float]

WARM_UP = {work: max(2, count // 10) for work, count in WORKS.items()}
"""How often each work is done before it is checked, and again before it is measured, however few the repetitions: first
calls fill caches, and the check empties them, which would be the larger part of a short measurement."""


def repetitions(work: str, scale: float) -> int:
    return max(2, round(WORKS[work] * scale)) if scale else 0


def _spent(begin: Timing, end: Timing, count: int) -> Timing:
    return (end[0] - begin[0]) * 1e6 / count, (end[1] - begin[1]) * 1e6 / count


def _now() -> Timing:
    return time.process_time(), time.perf_counter()


def _measured(do: Callable[[], Any], count: int) -> Timing:
    begin = _now()
    for _ in range(count):
        do()
    return _spent(begin, _now(), count)


async def _measured_async(do: Callable[[], Awaitable[Any]], count: int) -> Timing:
    begin = _now()
    for _ in range(count):
        await do()
    return _spent(begin, _now(), count)


def run(stub: Stub, works: Works, names: list[str], scale: float) -> dict[str, Timing]:
    """Check each work, and measure it."""
    timings: dict[str, Timing] = {}
    for name in names:
        do, count = works[name], repetitions(name, scale)
        for _ in range(WARM_UP[name]):
            do()
        stub.seen()
        check(name, do(), stub.seen())
        gc.collect()
        if count:
            for _ in range(WARM_UP[name]):
                do()
            timings[name] = _measured(do, count)
    return timings


async def run_async(
    stub: Stub,
    prepare: Callable[[str], Awaitable[Works]],
    names: list[str],
    scale: float,
    verify: Callable[[], None],
) -> None:
    """The same, awaited. It prints by itself, and ends the process: clients are not closed, in no peer."""
    works = await prepare(stub.url)
    timings: dict[str, Timing] = {}
    for name in names:
        do, count = works[name], repetitions(name, scale)
        for _ in range(WARM_UP[name]):
            await do()
        stub.seen()
        check(name, await do(), stub.seen())
        gc.collect()
        if count:
            for _ in range(WARM_UP[name]):
                await do()
            timings[name] = await _measured_async(do, count)
    if scale:
        verify()
    print(json.dumps(timings), flush=True)
    os._exit(0)


def main() -> None:
    name, port, scale, *asked = sys.argv[1:]
    stub, names = Stub(int(port)), asked or list(WORKS)
    (peer,) = (each for each in PEERS if each.name == name)
    module = importlib.import_module(f"benchmarks.peers.{peer.module}")
    prepare, verify = module.prepare, getattr(module, "verify", _nothing)
    if inspect.iscoroutinefunction(prepare):
        asyncio.run(run_async(stub, prepare, names, float(scale), verify))
        return
    timings = run(stub, prepare(stub.url), names, float(scale))
    if float(scale):
        # one call for each work, the first the plain way, measures nothing
        verify()
    print(json.dumps(timings))


def _nothing() -> None:
    """What is verified of other libraries: nothing more than their answers."""


if __name__ == "__main__":
    main()
