"""Waiting for an answer in asyncio, and no longer than a time."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable
from typing import TypeVar

__all__ = ["in_seconds"]

R = TypeVar("R")


async def in_seconds(answer: Awaitable[R], seconds: float) -> R:
    """What is awaited. Raises `asyncio.TimeoutError`, and gives it up, when so many seconds are over."""
    if sys.version_info < (3, 11):
        return await _timed(answer, seconds)
    async with asyncio.timeout(seconds):
        return await answer


async def _timed(answer: Awaitable[R], seconds: float) -> R:
    """What `asyncio.timeout` does, which is new in 3.11: `asyncio.wait_for` swallows a cancellation at times."""
    task = asyncio.current_task()
    over: list[bool] = []

    def end() -> None:
        over.append(True)
        if task is not None:
            task.cancel()

    timer = asyncio.get_running_loop().call_later(seconds, end)
    try:
        return await answer
    except asyncio.CancelledError as error:
        if not over:
            raise
        raise asyncio.TimeoutError from error
    finally:
        timer.cancel()
