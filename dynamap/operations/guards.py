"""The conditions that dynamap writes by itself: existence and versions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from dynamap.errors import RequestError
from dynamap.expressions import Compiler
from dynamap.model import Entity

__all__ = ["Guard", "GuardKind", "guard_of_version"]


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
    def ignores_version(self) -> bool:
        """Whether it holds of every version that can be counted on."""
        return self.kind in (GuardKind.ANY_VERSION, GuardKind.ANYTHING)

    def texts(self, compiler: Compiler, entity: Entity[Any]) -> list[str]:
        """The condition's parts, all of which must hold."""
        if self.kind is GuardKind.NONE:
            return []
        if self.kind is GuardKind.VERSION:
            # an item with this version exists
            return [f"{compiler.name(_version_attribute(entity))} = {compiler.value({'N': str(self.version)})}"]
        if self.kind is GuardKind.ANYTHING:
            return [f"{compiler.name(_version_attribute(entity))} <> {compiler.value({'N': '0'})}"]
        pk = compiler.name(entity.layout.pk)
        if self.kind is GuardKind.ABSENT:
            return [f"attribute_not_exists({pk})"]
        texts = [f"attribute_exists({pk})"]
        if self.kind is GuardKind.EXISTS:
            return texts
        version = compiler.name(_version_attribute(entity))
        zero = compiler.value({"N": "0"})
        if self.kind is GuardKind.ANY_VERSION:
            # <> holds for a missing attribute too
            return [*texts, f"{version} <> {zero}"]
        return [*texts, f"(attribute_not_exists({version}) OR {version} = {zero})"]

    def next_version(self, entity: Entity[Any], now: float) -> int:
        """The number to store where this guard held."""
        return self.version + 1 if self.kind is GuardKind.VERSION else entity.layout.first_version(now)


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
