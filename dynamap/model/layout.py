"""The attributes of a table that belong to the table: its keys, those of its indexes, and bookkeeping."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal

from dynamap.model.indexes import PhysicalIndex
from dynamap.model.keys import Key

__all__ = ["Layout"]


@dataclass(frozen=True)
class Layout:
    """The attributes of a table that belong to the table.

    *discriminator* is None where items do not say what they are, *ttl* where they never expire. *replicated* is as the
    `Table` says it.
    """

    partition: Key
    sort: Key | None
    discriminator: str | None
    write_id: str | None
    version_start: int | None
    ttl: str | None = None
    indexes: tuple[PhysicalIndex, ...] = ()
    replicated: bool | Literal["strongly"] = False

    @property
    def pk(self) -> str:
        """The name of the partition key attribute."""
        return self.partition.name

    @property
    def sk(self) -> str | None:
        """The name of the sort key attribute; None of a table without one."""
        return None if self.sort is None else self.sort.name

    @cached_property
    def keys(self) -> tuple[Key, ...]:
        """The key attributes, the partition key first."""
        return (self.partition,) if self.sort is None else (self.partition, self.sort)

    @cached_property
    def identity(self) -> Callable[[Mapping[str, Mapping[str, Any]]], tuple[Any, ...]]:
        """What two keys of one item share, from its key or the whole of it; numbers by value, as the service compares.

        Raises KeyError for what has no such key.
        """
        keys = [(key.name, key.wire_type) for key in self.keys]
        if any(tag == "N" for _, tag in keys):
            return lambda item: tuple(
                [Decimal(item[name][tag]) if tag == "N" else item[name][tag] for name, tag in keys]
            )
        if len(keys) == 1:
            ((only, tag),) = keys
            return lambda item: (item[only][tag],)
        (pk, of_pk), (sk, of_sk) = keys
        return lambda item: (item[pk][of_pk], item[sk][of_sk])

    @cached_property
    def bookkeeping(self) -> frozenset[str]:
        """The attributes that dynamap writes beside the fields, unless a field is stored there itself."""
        names = [*(key.name for key in self.keys), self.discriminator, self.write_id]
        names += [key.name for index in self.indexes for key in index.keys]
        return frozenset(name for name in names if name is not None)

    def index(self, name: str) -> PhysicalIndex | None:
        """The index of this name; None if there is none."""
        return next((index for index in self.indexes if index.name == name), None)

    def first_version(self, now: float) -> int:
        """The number that a new item gets: the current microsecond, so that versions do not recur after a delete."""
        return self.version_start if self.version_start is not None else int(now * 1_000_000)
