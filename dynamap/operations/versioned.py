"""Keyed writes of versioned types say what they know of the version."""

from __future__ import annotations

from typing import Generic, TypeVar

from typing_extensions import Self

from dynamap.errors import RequestError, UnguardedWrite
from dynamap.markers import D
from dynamap.operations.guards import Guard, GuardKind, guard_of_version
from dynamap.operations.writing import WriteSteps

__all__ = ["VersionedSteps"]

M = TypeVar("M")
R_co = TypeVar("R_co", covariant=True)


class VersionedSteps(WriteSteps[D, M, R_co], Generic[D, M, R_co]):
    """A write that may be guarded by the version that was read."""

    _version_guard: Guard | None
    _unguarded_hint = "better, pass the item that was read"

    def if_version(self, version: int, /) -> Self:
        """Write only if the stored version is this one; `VersionConflict` otherwise."""
        guard = guard_of_version(self._scope.entity, version)
        if guard.kind is GuardKind.ABSENT:
            msg = f"{self._what}: version 0 is that of an item which was never stored: put it instead"
            raise RequestError(msg)
        return self._copy(_version_guard=guard)

    def ignore_version(self) -> Self:
        """Write whatever the stored version is; an update still raises it, so that other writers notice."""
        guard_of_version(self._scope.entity, 0)
        return self._copy(_version_guard=Guard(GuardKind.ANY_VERSION))

    def _checked_version_guard(self) -> Guard | None:
        """The guard of a versioned type, None for other types. Raises UnguardedWrite."""
        if self._scope.entity.version is None or self._version_guard is not None:
            return self._version_guard
        msg = (
            f"{self._what}: the type is versioned, so a keyed write says if_version(n) or ignore_version(); "
            f"{self._unguarded_hint}"
        )
        raise UnguardedWrite(msg)
