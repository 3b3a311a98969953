"""What a kind of write is to the enumeration: how it is made, and what its documentation permits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from dynamap.plan import Item
from tests.enumeration_worlds import READ_VERSION, Foreign, World

__all__ = ["Excludes", "Kind"]


class Excludes(Enum):
    """What of a write's own condition excludes that it is applied again."""

    VERSION = "the version that it raises"
    NEW_VERSION = "the version 0 of what is new"
    EXISTENCE = "that the caller wants nothing to be there"
    NO_VERSION = "that there is no version"
    ONESELF = "nothing, but the last writer wins anyway"
    NOBODY = "nothing"


# Whoever undoes what excludes the repetition lets it be applied again:
# docs/writing-safely.md, "What is not guaranteed".
_UNDONE_BY = {
    Excludes.VERSION: (),
    Excludes.NEW_VERSION: ("deleted", "expired"),
    Excludes.EXISTENCE: ("deleted", "expired"),
    Excludes.NO_VERSION: ("replaced",),
}
_OF_VERSIONS = (Excludes.VERSION, Excludes.NEW_VERSION, Excludes.NO_VERSION)


@dataclass(frozen=True)
class Kind:
    """A kind of write: what it is made of, what stands there before, who else writes there."""

    name: str
    make: Callable[[World], Any]
    excludes: Excludes
    items: tuple[Item, ...]
    foreign: tuple[Foreign, ...]
    read_version: int = READ_VERSION
    table: str = "with id"
    mode: str = "default"
    undone_by: tuple[str, ...] = ()
    """Other writers that let it be applied again beside those that follow from *excludes*."""
    remembers: bool = False
    """Whether the operation remembers its first sending, so that each history needs a new one."""
    answers: bool = True
    """Whether it has a `try_send`."""
    weight: int = 0
    """What each of its histories weighs beforehand: those of kinds that make many calls are many."""
    imitated_by: int = 1
    """How many steps of others it may take to leave what this write would have left."""
    watched: str | None = None
    """The id of the item of a batch that is looked at: each has an outcome of its own."""

    def __str__(self) -> str:
        return self.name if self.mode == "default" else f"{self.name}, {self.mode}"

    @property
    def repeats_freely(self) -> bool:
        """Whether it is documented that each repeat may be applied again."""
        if self.mode == "at_least_once":
            return self.excludes in (Excludes.ONESELF, Excludes.NOBODY)
        return self.mode == "default" and self.excludes is Excludes.ONESELF

    def may_be_applied_after(self, others: Sequence[str]) -> bool:
        """Whether it is documented that it is applied twice, if these came in between."""
        if self.repeats_freely:
            return True
        if self.mode in ("exactly_once", "at_most_once"):
            return False
        undone_by = (*_UNDONE_BY.get(self.excludes, ()), *self.undone_by)
        return any(each in undone_by for each in others)

    @property
    def refused_means_little(self) -> bool:
        """Whether it is documented that a refusal may be that of a repeat, after the first attempt was applied."""
        return self.mode == "at_least_once" and self.excludes not in _OF_VERSIONS
