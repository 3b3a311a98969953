"""A progress bar for what reads or writes many items; needs the extra `progress`."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from dynamap.errors import RequestError
from dynamap.operations import Progress

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(
    description: str = "", *, total: int | None = None, file: Any = None
) -> Generator[Callable[[Progress], None], None, None]:
    """A bar on standard error, or *file*, that counts the items that were read.

    `with progress_bar("orders") as bar: repo.scan().on_progress(bar).send()`. *total* is how many items there are, if
    somebody knows. Raises RequestError where tqdm, which draws it, is not installed.
    """
    try:
        from tqdm import tqdm  # noqa: PLC0415 - an extra
    except ImportError as error:
        msg = 'progress_bar() needs the package tqdm: install it with `pip install "dynamap[progress]"`'
        raise RequestError(msg) from error
    made: Any = tqdm
    with made(desc=description or None, total=total, unit=" items", file=file) as bar:

        def show(progress: Progress) -> None:
            bar.update(progress.read - bar.n)

        yield show
