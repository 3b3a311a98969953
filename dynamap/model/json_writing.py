"""From an instance to its item in JSON, where nothing needs to look into the item on the way."""

from __future__ import annotations

from typing import Any, TypeVar

from dynamap.codec import JsonItem, Wire
from dynamap.codec.generated import JsonEncoder, compiled
from dynamap.model.entities import Entity

__all__ = ["json_item"]

M = TypeVar("M")


class _Writer:
    """What is the same for all items of an entity; without an *encoder* they are made as dicts."""

    def __init__(self, entity: Entity[Any]) -> None:
        layout = entity.layout
        name = layout.discriminator
        self.encoder: JsonEncoder | None = None
        names = {field.attribute for field in entity.shape.fields if field.stored}
        others = [key.name for key in layout.keys]
        others += [part.attribute for use in entity.indexes for part in use.computed]
        others += [each for each in (name, layout.write_id) if each is not None]
        # an attribute that two of these give is put together by name, in a dict
        if not entity.has_stored_keys and names.isdisjoint(others):
            keys = {key.name: key.wire_type for key in layout.keys}
            constants: dict[str, Wire] = {} if name is None else {name: {"S": entity.name}}
            self.encoder = compiled(entity.shape).json_encoder(entity.version, keys, constants)


def json_item(entity: Entity[M], instance: M, key: dict[str, Wire]) -> JsonItem | None:
    """The item of an instance with this key but for version and write id; None where it is to be made as a dict.

    That is so for what is mistaken too, which `Entity.encode` tells.
    """
    writer: _Writer | None = entity.derived.get("json item")
    if writer is None:
        writer = entity.derived["json item"] = _Writer(entity)
    json = None if writer.encoder is None else writer.encoder(instance, key)
    if json is None:
        return None
    if not entity.indexes:
        return JsonItem(json)
    index = entity.index_attributes(instance)
    return None if index is None else JsonItem(json).with_attributes(index)
