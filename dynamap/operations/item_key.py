"""The key of one item, apart from any operation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic

from dynamap.markers import M_co

__all__ = ["ItemKey"]


@dataclass(frozen=True)
class ItemKey(Generic[M_co]):
    """The key of one entity, from `repo.key(...)`; hashable, and equal to another with the same fields."""

    entity: type[M_co]
    values: Mapping[str, object]

    def __hash__(self) -> int:
        return hash((self.entity, frozenset(self.values.items())))
