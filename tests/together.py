"""Several at once, in threads or in tasks as the mode says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.modes import Mode

__all__ = ["together"]


def together(
    mode: Mode, plain: Callable[[int], Any], awaited: Callable[[int], Awaitable[Any]], writers: int
) -> list[Any]:
    """Run one of these for each writer, and answer what they answer, in order."""

    async def run(number: int) -> Any:
        return await awaited(number)

    if mode.is_async:
        return mode.gather(*(run(number) for number in range(writers)))
    with ThreadPoolExecutor(writers) as threads:
        return list(threads.map(plain, range(writers)))
