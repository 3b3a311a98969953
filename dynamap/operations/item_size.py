"""Items that are too large are refused before they are sent.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html#limits-items
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dynamap.codec import MOST_ITEM_BYTES, Wire, exceeds, item_size, wire_size
from dynamap.errors import ItemTooLarge
from dynamap.model import Entity

__all__ = ["check_item_size"]

_MOST_NAMED = 3


def check_item_size(entity: Entity[Any], item: Mapping[str, Wire], what: object, *, whole: bool = True) -> None:
    """Raise ItemTooLarge for an item of more than 400 KB; without *whole* it is only a part of what will be stored."""
    if not exceeds(item, MOST_ITEM_BYTES):
        return
    names = {field.attribute: field.name for field in entity.shape.fields if field.stored and not field.extras}
    sizes = [
        (len(attribute.encode()) + wire_size(wire), names.get(attribute, attribute)) for attribute, wire in item.items()
    ]
    sizes.sort(key=lambda each: -each[0])
    largest = ", ".join(f"{name} ({size:,})" for size, name in sizes[:_MOST_NAMED])
    size = item_size(item)
    msg = (
        f"{what}: the item would have {'' if whole else 'at least '}{size:,} bytes, and DynamoDB takes "
        f"{MOST_ITEM_BYTES:,}; the largest fields are {largest}: store what is large in items of its own, or elsewhere"
    )
    raise ItemTooLarge(msg, size=size)
