"""The conditions that dynamap writes by itself: existence, versions, and the time at which an item expires.

An expired item is absent: whatever wants an item wants one that has not expired, and whatever wants none takes an
expired one for none. *now* is in whole epoch seconds; it is None where the TTL does not count.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from dynamap.codec import Wire
from dynamap.errors import RequestError
from dynamap.expressions import Compiler
from dynamap.model import Entity

__all__ = ["NOTHING_ASKED", "Guard", "GuardKind", "expired_text", "guard_of_version"]


class GuardKind(Enum):
    """What must be true of the stored item, apart from what the caller asked."""

    NONE = auto()
    EXISTS = auto()
    ABSENT = auto()
    VERSION = auto()
    LEGACY = auto()
    """It was stored without a version, or with 0."""
    ANY_VERSION = auto()
    """It exists, and its version, if it has one, can be counted on: 0 would have to start afresh."""
    ANYTHING = auto()
    """The same, or nothing is stored at all."""
    UNEXPIRED = auto()
    """Nothing is stored, or what is stored has not expired."""
    EXPIRED = auto()
    """Something is stored that has expired."""

    # the members are compared by identity; that of Enum is a function in Python
    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True)
class Guard:
    """A generated condition; *version* is the one that was read."""

    kind: GuardKind
    version: int = 0

    @property
    def is_version(self) -> bool:
        """Whether its failure is a VersionConflict."""
        return self.kind in (GuardKind.VERSION, GuardKind.LEGACY)

    @property
    def excludes_repetition(self) -> bool:
        """Whether it does not hold any more once the write was applied."""
        return self.is_version or self.kind in (GuardKind.ABSENT, GuardKind.EXPIRED)

    @property
    def ignores_version(self) -> bool:
        """Whether it holds of every version that can be counted on."""
        return self.kind in (GuardKind.ANY_VERSION, GuardKind.ANYTHING)

    @property
    def excludes_expired(self) -> bool:
        """Whether it never holds of an expired item."""
        return self.kind not in (GuardKind.NONE, GuardKind.ABSENT, GuardKind.EXPIRED)

    def texts(self, compiler: Compiler, entity: Entity[Any], now: int | None) -> list[str]:
        """The condition's parts, all of which must hold."""
        texts = self._texts(compiler, entity, now)
        if now is not None and self.excludes_expired:
            texts.append(f"NOT {expired_text(compiler, entity, now)}")
        return texts

    def _texts(self, compiler: Compiler, entity: Entity[Any], now: int | None) -> list[str]:
        if self.kind in (GuardKind.NONE, GuardKind.UNEXPIRED):
            return []
        if self.kind is GuardKind.EXPIRED:
            return [] if now is None else [expired_text(compiler, entity, now)]
        if self.kind is GuardKind.VERSION:
            # an item with this version exists
            return [f"{compiler.name(_version_attribute(entity))} = {compiler.value({'N': str(self.version)})}"]
        if self.kind is GuardKind.ANYTHING:
            return [f"{compiler.name(_version_attribute(entity))} <> {compiler.value({'N': '0'})}"]
        pk = compiler.name(entity.layout.pk)
        if self.kind is GuardKind.ABSENT:
            absent = f"attribute_not_exists({pk})"
            return [absent if now is None else f"({absent} OR {expired_text(compiler, entity, now)})"]
        texts = [f"attribute_exists({pk})"]
        if self.kind is GuardKind.EXISTS:
            return texts
        version = compiler.name(_version_attribute(entity))
        zero = compiler.value({"N": "0"})
        if self.kind is GuardKind.ANY_VERSION:
            # <> holds for a missing attribute too
            return [*texts, f"{version} <> {zero}"]
        return [*texts, f"(attribute_not_exists({version}) OR {version} = {zero})"]

    def wires(self, now: int | None) -> list[Wire]:
        """The values that `texts` names, in their order."""
        wires: list[Wire] = []
        if self.kind is GuardKind.VERSION:
            wires.append({"N": str(self.version)})
        elif self.kind in (GuardKind.ANYTHING, GuardKind.ANY_VERSION, GuardKind.LEGACY):
            wires.append({"N": "0"})
        elif now is not None and self.kind in (GuardKind.EXPIRED, GuardKind.ABSENT):
            wires.append({"N": str(now)})
        if now is not None and self.excludes_expired:
            wires.append({"N": str(now)})
        return wires

    @property
    def starts_afresh(self) -> bool:
        """Whether the version that is stored where it held is no successor of another."""
        return self.kind is not GuardKind.VERSION

    def next_version(self, entity: Entity[Any], start: float) -> int:
        """The number to store where this guard held; what starts afresh begins at *start*, in epoch seconds."""
        return entity.layout.first_version(start) if self.starts_afresh else self.version + 1


NOTHING_ASKED = Guard(GuardKind.NONE)


def expired_text(compiler: Compiler, entity: Entity[Any], now: int) -> str:
    """The condition that an item has expired, false of one that has no number there: NOT of it is its complement.

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
    """
    return f"{compiler.name(entity.ttl_attribute or '')} <= {compiler.value({'N': str(now)})}"


def _version_attribute(entity: Entity[Any]) -> str:
    if entity.version_attribute is None:
        msg = f"{entity.cls.__qualname__} has no version field: declare one with version=..., or leave the version out"
        raise RequestError(msg)
    return entity.version_attribute


def guard_of_version(entity: Entity[Any], version: object) -> Guard:
    """The guard for a version that was read: 0 was never stored, -1 was stored without one. Raises RequestError."""
    _version_attribute(entity)
    if isinstance(version, bool) or not isinstance(version, int):
        msg = f"{entity.cls.__qualname__}.{entity.version}: the version is an int; got {type(version).__name__}"
        raise RequestError(msg)
    if version > 0:
        return Guard(GuardKind.VERSION, version)
    if version == 0:
        return Guard(GuardKind.ABSENT)
    if version == -1:
        return Guard(GuardKind.LEGACY, version)
    msg = f"{entity.cls.__qualname__}.{entity.version}: no item has version {version}; read it again"
    raise RequestError(msg)
