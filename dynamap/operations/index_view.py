"""One index of a repository: the same items, by another key."""

from __future__ import annotations

from typing import Generic, TypeVar

from dynamap.markers import D
from dynamap.operations.base import Scope
from dynamap.operations.query import Query
from dynamap.operations.scan import Scan
from dynamap.operations.targets import Target

__all__ = ["IndexView"]

M = TypeVar("M")


class IndexView(Generic[D, M]):
    """The items of one class in one index, from `repo.index("name")`.

    A global index is read eventually, and may be a moment behind the table.
    """

    def __init__(self, scope: Scope[M], name: str) -> None:
        self._scope = scope
        self._target = Target.of_index(scope.entity, name)

    def __repr__(self) -> str:
        return f"IndexView({self._scope.entity.cls.__qualname__} in {self._target.words})"

    def query(self, **leading: object) -> Query[D, M]:
        """Read items by the key of the index: all fields of its partition key, and the first ones of its sort key.

        Items that are not in the index, because a component of its key is None, are not found. The rest is as for
        `Repository.query`; where the index does not hold whole items, `hydrate()` or `project()` says what to answer.
        """
        return Query(self._scope, self._target, leading)

    def scan(self) -> Scan[D, M]:
        """Read all items of the class in the index, in no order; it costs what the whole index does."""
        return Scan(self._scope, self._target)
