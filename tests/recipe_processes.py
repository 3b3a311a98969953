"""What the processes of the recipes' tests do: top-level functions, so that a spawned process finds them."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from dynamap import Store, Sync, Table, connect, entity
from recipes.gapless_sequence import Contended, NumberClaim, Numbered, issue
from recipes.hilo import HiLo, HiLoBlock

__all__ = ["Invoice", "books", "ids", "issue_numbers", "numbers_in", "running", "take_ids"]


@entity("INVOICE", pk="INVOICE#{number}", sk="INVOICE")
class Invoice:
    """A document with a number."""

    number: int
    order: str = ""


def ids(table: str) -> Table:
    return Table(table, [HiLoBlock])


def books(table: str) -> Table:
    return Table(table, [Invoice, Numbered, NumberClaim])


def store_at(url: str, table: Table) -> Store[Sync]:
    """A store with a client of this process, made by dynamap: to import boto3 takes longer than what is to do."""
    return connect(table, endpoint_url=url, region_name="us-east-1")


@contextmanager
def running(function: Any, arguments: Sequence[tuple[Any, ...]]) -> Iterator[list[SpawnProcess]]:
    """A new process for each of these arguments; none is left when this ends."""
    context = get_context("spawn")
    processes = [context.Process(target=function, args=each, daemon=True) for each in arguments]
    try:
        for process in processes:
            process.start()
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.join()


def take_ids(url: str, table: str, size: int, count: int, path: Path, begun: Connection | None) -> None:
    """Take so many ids, and note each one where a kill cannot undo it; says when a quarter is done."""
    allocator = HiLo(store_at(url, ids(table)), "order", size)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for taken in range(count):
        os.write(file, struct.pack("<q", allocator.next()))
        if begun is not None and taken == count // 4:
            begun.send("begun")
    os.close(file)


def numbers_in(path: Path) -> list[int]:
    """What `take_ids` noted."""
    data = path.read_bytes()
    return [number for (number,) in struct.iter_unpack("<q", data)]


def issue_numbers(url: str, table: str, orders: Sequence[str]) -> None:
    """Issue an invoice for each order, however long it takes."""
    store = store_at(url, books(table))
    for order in orders:
        while True:
            try:
                issue(store, "invoice", order, partial(Invoice, order=order), deadline=60)
                break
            except Contended:
                continue
