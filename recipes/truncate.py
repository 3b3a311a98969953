"""Truncate: delete all items of one type, or everything in a table, and leave the table as it is.

Guarantees
    When it answers, every item of the type that stood there before is gone, expired ones too, whatever the size of the
    table and of its pages, and whatever the service left undone on the way. Nothing of another type or table is
    touched. Nothing is done unless the table's name is given again. It may end at any point and be started again.

Does not guarantee
    Anything about items that are written while it runs: they may stay or go, also those that are written over one that
    was read to be deleted. All or nothing: who reads meanwhile sees part of the items. Versions and conditions are not
    looked at, claims of unique values and counters that belong to the items stay.

Costs
    A strong scan of the whole table, other types too: 1 read unit per 4 KB. A write unit per KB of each item that is
    deleted. A stream record for each. Started again without a cursor it scans again what is left.

Take another
    `store.delete_table()` and `create_table()` for a table that has nothing to keep: it costs nothing, but takes its
    settings, alarms and permissions with it. A TTL on the items, where deleting may take days: it is free.
    `soft_delete` where it must be possible to undo.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from dynamap import BatchIncomplete, OutcomeUnknown, Progress, Repository, Scan, Sync, Table, mapped

__all__ = ["Anything", "NotConfirmed", "anything", "truncate"]

_TRIES = 5

M = TypeVar("M")


class NotConfirmed(Exception):
    """The name that was given is not that of the table: nothing was done."""


@mapped("ANYTHING")
@dataclass(frozen=True)
class Anything:
    """The key of any item, of whatever type."""

    pk: str
    sk: str


def anything(name: str) -> Table:
    """A table as one type whose items are all that is in it: `connect(anything("shop"))` empties it with `truncate`.

    Other keys than the texts `pk` and `sk`: change `Anything`.
    """
    return Table(name, [Anything], discriminator=None)


def truncate(
    items: Repository[Sync, M],
    *,
    confirm: str,
    keys: type[Any] | None = None,
    page_size: int | None = None,
    resume: str | None = None,
    checkpoint: Callable[[str], object] | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> int:
    """Delete all items of the type; answers how many.

    *confirm* is the name of the table, with its prefix. *keys* is a dataclass with the key fields: only they are then
    sent, and items that cannot be read any more go too. After each page that was deleted *checkpoint* is given a cursor
    with which *resume* goes on, which needs `connect(cursor_key=...)`. *progress* is told how much was read, such as
    dynamap's `progress_bar()`. Raises NotConfirmed, and what dynamap's operations raise: start it again then.
    """
    scan: Scan[Sync, Any] = items.scan().include_expired().consistent()
    table = scan.params()["TableName"]
    if confirm != table:
        msg = f"this deletes items of the table {table!r}, but {confirm!r} was confirmed"
        raise NotConfirmed(msg)
    if keys is not None:
        scan = scan.project(keys)
    if page_size is not None:
        scan = scan.page_size(page_size)
    if resume is not None:
        scan = scan.resume(resume)
    if progress is not None:
        scan = scan.on_progress(progress)
    if checkpoint is not None:
        # refused here without connect(cursor_key=...): there would be no cursor to go on with
        scan.page()
    deleted = 0
    for page in scan.pages():
        _delete(items, [item if keys is None else asdict(item) for item in page.items])
        deleted += len(page.items)
        if checkpoint is not None and page.next is not None:
            checkpoint(page.next)
    return deleted


def _delete(items: Repository[Sync, M], keys: Sequence[Any]) -> None:
    """Delete these, and again what was left, or may have been: of a deletion it does not matter how often."""
    left = keys
    for _ in range(_TRIES - 1):
        try:
            return items.delete_many(left, unversioned=True).send()
        except (BatchIncomplete, OutcomeUnknown) as error:
            left = error.left
    return items.delete_many(left, unversioned=True).send()
