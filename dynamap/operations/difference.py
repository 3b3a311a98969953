"""What differs between an item that was read and one that is to be stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from dynamap.codec import ClassShape, Shape, Wire, unwrapped
from dynamap.model import Entity

__all__ = ["Change", "difference"]

Change: TypeAlias = "tuple[tuple[str | int, ...], Wire | None]"


def difference(entity: Entity[Any], before: Mapping[str, Wire], after: Mapping[str, Wire]) -> Iterator[Change]:
    """The stored paths at which the attributes of two instances differ, each with its new value; None to remove it.

    Goes into nested classes, so that attributes which a newer release wrote there survive; maps and lists are the
    user's own values and are replaced whole.
    """
    ignored = {entity.version_attribute}
    for path, wire in _changes(entity.shape, before, after, ()):
        if path[0] not in ignored:
            yield path, wire


def _changes(
    shape: ClassShape, before: Mapping[str, Wire], after: Mapping[str, Wire], path: tuple[str | int, ...]
) -> Iterator[Change]:
    shapes: dict[str, Shape] = {field.attribute: field.shape for field in shape.fields}
    for attribute in dict.fromkeys((*before, *after)):
        old, new = before.get(attribute), after.get(attribute)
        if old == new:
            continue
        here = (*path, attribute)
        inner = unwrapped(shapes[attribute]) if attribute in shapes else None
        if isinstance(inner, ClassShape) and old is not None and new is not None and "M" in old and "M" in new:
            nested_old: dict[str, Any] = old["M"]
            nested_new: dict[str, Any] = new["M"]
            yield from _changes(inner, nested_old, nested_new, here)
        else:
            yield here, new
