"""The plain form of a recipe: what is asyncio's goes, and nothing else."""

from __future__ import annotations

import pytest

from recipes.write_sync import as_sync


@pytest.mark.parametrize(
    ("source", "plain"),
    [
        ("async def f(store: Store[Async]) -> None: ...", "def f(store: Store[Sync]) -> None: ..."),
        ("x = [y async for y in query] + [await g(await h())]", "x = [y for y in query] + [g(h())]"),
        ("async with lock, Account(Async, Account): pass", "with lock, Account(Sync, Account): pass"),
        ("await f()  # await it, Async", "f()  # it, Sync"),
        ('"""Say `await f()`.\n\nasync for x in y.\n"""\n', '"""Say `f()`.\n\nfor x in y.\n"""\n'),
        ("import asyncio\n\nlock = asyncio.Lock()\n", "import threading\n\nlock = threading.Lock()\n"),
        (
            "import asyncio\nimport time\n\nawait asyncio.sleep(time.time())\n",
            "import time\n\ntime.sleep(time.time())\n",
        ),
        ("from recipes.aio.hilo import Block", "from recipes.hilo import Block"),
        ("x = 1\ny = asyncio.gather  # asyncio only\nz = 2\n", "x = 1\nz = 2\n"),
        ("awaited = Asynchronous", "awaited = Asynchronous"),
        ("run: Callable[[], Awaitable[Effect[A]]]", "run: Callable[[], Effect[A]]"),
        ("from collections.abc import Awaitable, Callable\n", "from collections.abc import Callable\n"),
    ],
)
def test_as_sync(source: str, plain: str) -> None:
    assert as_sync(source) == plain
