"""Where a field reference leads: its place in an item, the type that stands there, and what is found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dynamap.codec import Shape, Wire

__all__ = ["Resolved", "value_at", "wire_at"]


@dataclass(frozen=True, slots=True)
class Resolved:
    """A field reference, resolved: the stored path and the type that stands there."""

    attributes: tuple[str | int, ...]
    shape: Shape
    path: tuple[str | int, ...]

    @property
    def field(self) -> str:
        """The entity's own field that the path begins with."""
        return str(self.path[0])

    @property
    def top_level(self) -> bool:
        return len(self.path) == 1


def wire_at(item: Mapping[str, Wire], attributes: tuple[str | int, ...]) -> Wire | None:
    """What stands at a stored path of an item; None if nothing does."""
    here: Any = {"M": item}
    for step in attributes:
        inside: Any = here.get("L" if isinstance(step, int) else "M")
        try:
            here = None if inside is None else inside[step]
        except LookupError:
            here = None
        if here is None:
            return None
    found: Wire = here
    return found


def value_at(value: Any, path: tuple[str | int, ...]) -> Any:
    """What stands at a path of a value, through fields, list items and map keys; None if nothing does."""
    here = value
    for step in path:
        inside: Any = here
        if isinstance(step, str) and not issubclass(type(inside), dict):
            here = getattr(inside, step, None)
        else:
            try:
                here = inside[step]
            except (LookupError, TypeError):
                return None
    return here
