"""Hi/lo ids: numbers that no two processes share, handed out of memory from blocks that are claimed by one write each.

Guarantees
    No number is handed out twice: not by two allocators, threads, tasks or processes, not after a crash, a lost answer
    or a fork, and not when processes use blocks of different sizes. Within one block numbers rise.

Does not guarantee
    Numbers without gaps: an allocator that ends leaves the rest of its block unused, and a claim whose answer was lost
    wastes a block. Order between processes: a higher number may be older. Anything after somebody deleted the counter
    item or restored it from a backup: `create` is an administrative act, with a floor above every number in use.

Costs
    One write unit for each block, so 1/size of one for each number. A larger block costs less and wastes more. `create`
    costs one write unit, also where it answers False.

Take another
    `gapless_sequence` where no number may be missing, as with invoices. A random id (`uuid.uuid4()`) where it need not
    be a number. `counters` where the value itself matters.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field

from dynamap import Applied, Async, F, OutcomeUnknown, Store, entity

__all__ = ["Closed", "HiLo", "HiLoBlock", "create"]

_CLAIMS = 5


class Closed(Exception):
    """The allocator hands out no more numbers."""


@entity("HILO", pk="HILO#{name}", sk="HILO")
class HiLoBlock:
    """The counter of one sequence: the last number that belongs to a block."""

    name: str
    high: int = 0


async def create(store: Store[Async], name: str, *, floor: int = 0) -> bool:
    """Make the counter once, so that numbers begin above *floor*; False if it is there already, whoever made it.

    Raises ValueError without a name, and for a floor below 0.
    """
    if not name or floor < 0:
        msg = f"a sequence has a name, and a floor from 0 on; got {name!r}, {floor}"
        raise ValueError(msg)
    made = await store.of(HiLoBlock).put(HiLoBlock(name, floor)).if_not_exists().try_send()
    return isinstance(made, Applied)


@dataclass
class _Block:
    """What is left of a block, and which process may hand it out."""

    process: int = field(default_factory=os.getpid)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    next: int = 1
    last: int = 0


class HiLo:
    """Hands out the numbers of one sequence, from blocks of *size*; tasks may share it.

    `create` comes first, once: without the counter, which would begin again at 1, `next` raises ItemNotFound.
    """

    def __init__(self, store: Store[Async], name: str, size: int = 100) -> None:
        if size < 1:
            msg = f"a block has at least one number; got {size}"
            raise ValueError(msg)
        self._blocks = store.of(HiLoBlock)
        self._name = name
        self._size = size
        self._block = _Block()
        self._closed = False

    async def next(self) -> int:
        """The next number. Raises Closed, ItemNotFound, and what a write may raise; then none was handed out."""
        block = self._block
        if block.process != os.getpid():
            # a fork: the parent goes on with its block, and its lock may be held by nobody here
            block = self._block = _Block()
        async with block.lock:
            if self._closed:
                msg = f"the allocator of {self._name} is closed"
                raise Closed(msg)
            if block.next > block.last:
                # one claim at a time: those who wait for the lock find its numbers
                high = await self._claim()
                block.next, block.last = high - self._size + 1, high
            number = block.next
            block.next += 1
        return number

    def close(self) -> None:
        """Hand out no more numbers; the rest of the block is left unused."""
        self._closed = True

    async def _claim(self) -> int:
        """Raise the counter by a block, and answer its last number; repeated until an answer comes."""
        high = F(HiLoBlock.high)
        claim = self._blocks.update(name=self._name).add(high, self._size).returning(high).at_least_once()
        for _ in range(_CLAIMS - 1):
            try:
                return await claim.send()
            except OutcomeUnknown:
                continue
        return await claim.send()
