"""What differs between an item that was read and one that is to be stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from dynamap.codec import ClassShape, FieldShape, Wire, unwrapped
from dynamap.model import Entity

__all__ = ["Change", "difference"]

Change: TypeAlias = "tuple[tuple[str | int, ...], Wire | None]"


def difference(
    entity: Entity[Any], before: Mapping[str, Wire], after: Mapping[str, Wire], *, whole_defaults: bool = False
) -> Iterator[Change]:
    """The stored paths at which the attributes of two instances differ, each with its new value; None to remove it.

    Goes into nested classes, so that attributes which a newer release wrote there survive; maps and lists are the
    user's own values and are replaced whole, and so is what may be stored under an alias. With *whole_defaults*, so are
    nested classes that were read as their field's default: an older item may not have them.
    """
    ignored = {entity.version_attribute}
    for path, wire in _changes(entity.shape, before, after, (), whole_defaults):
        if path[0] not in ignored:
            yield path, wire


def _changes(
    shape: ClassShape,
    before: Mapping[str, Wire],
    after: Mapping[str, Wire],
    path: tuple[str | int, ...],
    whole_defaults: bool,  # noqa: FBT001
) -> Iterator[Change]:
    fields = {field.attribute: field for field in shape.fields}
    for attribute in dict.fromkeys((*before, *after)):
        old, new = before.get(attribute), after.get(attribute)
        if old == new:
            continue
        here = (*path, attribute)
        field = fields.get(attribute)
        inner = None if field is None else unwrapped(field.shape)
        aliases = () if field is None else field.aliases
        # what was read under an alias is not there to be changed inside
        both_maps = not aliases and old is not None and new is not None and "M" in old and "M" in new
        if isinstance(inner, ClassShape) and both_maps and not (whole_defaults and _is_default(field, old)):
            nested_old: dict[str, Any] = before[attribute]["M"]
            nested_new: dict[str, Any] = after[attribute]["M"]
            yield from _changes(inner, nested_old, nested_new, here, whole_defaults)
            continue
        yield here, new
        if path:
            # those of whole attributes go with every change of them
            for alias in aliases:
                yield (*path, alias), None


def _is_default(described: FieldShape | None, wire: Wire | None) -> bool:
    """Whether the field is read like this also where nothing is stored."""
    if described is None or not described.field.has_default or described.field.factory_takes_self:
        return False
    return described.shape.encode(described.field.make_default()) == wire
