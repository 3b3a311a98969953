"""From an instance to its item in JSON, where nothing needs to look into the item on the way."""

from __future__ import annotations

from typing import Any, TypeVar

from dynamap.codec import JsonItem, Wire, to_json
from dynamap.codec.generated import JsonEncoder, compiled
from dynamap.model.entities import Entity

__all__ = ["json_item"]

M = TypeVar("M")


class _Writer:
    """What is the same for all items of an entity; without an *encoder* they are made as dicts."""

    def __init__(self, entity: Entity[Any]) -> None:
        layout = entity.layout
        name = layout.discriminator
        self.discriminator = b"" if name is None else b",%b:%b" % (to_json(name), to_json({"S": entity.name}))
        self.encoder: JsonEncoder | None = None
        names = {field.attribute for field in entity.shape.fields if field.stored}
        others = [key.name for key in layout.keys]
        others += [part.attribute for use in entity.indexes for part in use.computed]
        others += [each for each in (name, layout.write_id) if each is not None]
        # an attribute that two of these give is put together by name, in a dict
        if not entity.has_stored_keys and names.isdisjoint(others):
            self.encoder = compiled(entity.shape).json_encoder(entity.version)


def json_item(entity: Entity[M], instance: M, key: dict[str, Wire]) -> JsonItem | None:
    """The item of an instance with this key but for version and write id; None where it is to be made as a dict.

    That is so for what is mistaken too, which `Entity.encode` tells.
    """
    writer: _Writer | None = entity.derived.get("json item")
    if writer is None:
        writer = entity.derived["json item"] = _Writer(entity)
    attributes = None if writer.encoder is None else writer.encoder(instance)
    if attributes is None:
        return None
    index = entity.index_attributes(instance)
    if index is None:
        return None
    more = b",%b" % to_json(index)[1:-1] if index else b""
    return JsonItem(b"%b%b%b%b}" % (to_json(key)[:-1], writer.discriminator, attributes, more))
