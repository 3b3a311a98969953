"""Replies made straight from their bytes, where a driver has them: items as structs of the classes that are read.

What comes in a form that is not taken here raises, and is then read in the usual way: a wrong type, an item of no class
that was asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, TypeAlias

import msgspec

from dynamap.codec import Body
from dynamap.codec.generated import item_from_json
from dynamap.codec.generated.structs import field_of
from dynamap.model import Entity, StoredItems, joint_struct, whole_items
from dynamap.plan import Item, Reply

__all__ = ["attributes_decoder", "batch_decoder", "item_decoder", "joint_page_decoder", "page_decoder"]

Decode: TypeAlias = "Callable[[Body], Reply]"

_UNSET = msgspec.UNSET


class _Consumed(msgspec.Struct):
    """What replies have beside items."""

    ConsumedCapacity: Any = _UNSET


class _Page(_Consumed):
    Count: int | msgspec.UnsetType = _UNSET
    ScannedCount: int | msgspec.UnsetType = _UNSET
    LastEvaluatedKey: dict[str, Any] | msgspec.UnsetType = _UNSET


class _Type(msgspec.Struct):
    """The content of a discriminator."""

    S: str


def item_decoder(entity: Entity[Any]) -> Decode:
    """That of a GetItem."""
    return partial(_read, entity, "item", _item_decoder)


def attributes_decoder(entity: Entity[Any]) -> Decode:
    """That of an UpdateItem which answers the whole item."""
    return partial(_read, entity, "attributes", partial(_item_decoder, name="Attributes"))


def page_decoder(entity: Entity[Any]) -> Decode:
    """That of a Query or Scan whose items are whole ones of this class."""
    return partial(_read, entity, "page", _page_decoder)


def batch_decoder(entity: Entity[Any], table: str) -> Decode:
    """That of a BatchGetItem on this table."""
    return partial(_read, entity, ("batch", table), partial(_batch_decoder, table))


def joint_page_decoder(entities: tuple[Entity[Any], ...]) -> Decode:
    """That of a Query whose items are whole ones of several classes, each known by its discriminator."""
    return partial(_read, entities[0], entities, partial(_joint_page_decoder, entities))


def _read(entity: Entity[Any], what: object, make: Callable[[StoredItems], Decode], body: Body) -> Reply:
    """Read with what was made once for the class, when it was first needed."""
    items = entity.stored_items
    found: Decode | None = items.decoders.get(what)
    if found is None:
        found = items.decoders[what] = make(items)
    return found(body)


def _struct(items: StoredItems) -> Any:
    if items.struct is None:
        msg = "items of this class cannot be structs"
        raise ValueError(msg)
    return items.struct


def _item_decoder(items: StoredItems, name: str = "Item") -> Decode:
    kind = _struct(items) | msgspec.UnsetType
    reply = msgspec.defstruct("ItemReply", [("item", kind, _UNSET)], bases=(_Consumed,), rename={"item": name})
    decode = msgspec.json.Decoder(reply).decode

    def made(body: Body) -> Reply:
        found: Any = decode(body)
        made = _rest(found)
        if found.item is not _UNSET:
            found.item.origin = (whole_items(body, lambda whole: [whole[name]]), 0)
            made[name] = found.item
        return made

    return made


def _page_decoder(items: StoredItems) -> Decode:
    reply = msgspec.defstruct("Page", [("Items", _list_of(_struct(items)))], bases=(_Page,), kw_only=True)
    decode = msgspec.json.Decoder(reply).decode

    def made(body: Body) -> Reply:
        found: Any = decode(body)
        _place(found.Items, whole_items(body, lambda whole: whole["Items"]))
        return _page(found, found.Items)

    return made


def _batch_decoder(table: str, items: StoredItems) -> Decode:
    reply = msgspec.defstruct(
        "BatchGetItem",
        [
            ("Responses", dict.__class_getitem__((str, _list_of(_struct(items))))),
            ("UnprocessedKeys", dict[str, Any], {}),
        ],
        bases=(_Consumed,),
        kw_only=True,
    )
    decode = msgspec.json.Decoder(reply).decode

    def made(body: Body) -> Reply:
        found: Any = decode(body)
        if found.UnprocessedKeys or found.Responses.keys() - {table}:
            msg = "a reply with keys, or of other tables"
            raise ValueError(msg)
        listed = found.Responses.get(table, [])
        _place(listed, whole_items(body, lambda whole: whole["Responses"][table]))
        return {**_rest(found), "Responses": found.Responses, "UnprocessedKeys": {}}

    return made


def _joint_page_decoder(entities: Sequence[Entity[Any]], _: StoredItems) -> Decode:
    discriminator = entities[0].layout.discriminator
    if discriminator is None:
        msg = "nothing tells the classes apart"
        raise ValueError(msg)
    several = [entity.stored_items for entity in entities]
    readers = {
        name: items for entity, items in zip(entities, several, strict=True) for name in (entity.name, *entity.aliases)
    }
    struct = joint_struct(several)
    if struct is None:
        return _sorting_decoder(discriminator, readers)
    reply = msgspec.defstruct("JointPage", [("Items", _list_of(struct))], bases=(_Page,), kw_only=True)
    decode = msgspec.json.Decoder(reply).decode
    type_of = attrgetter(f"{field_of(discriminator)}.S")

    def made(body: Body) -> Reply:
        found: Any = decode(body)
        at = whole_items(body, lambda whole: whole["Items"])
        for position, item in enumerate(found.Items):
            item.origin = (at, position)
            item.reader = readers[type_of(item)]
        return _page(found, found.Items)

    return made


def _sorting_decoder(discriminator: str, readers: Mapping[str, StoredItems]) -> Decode:
    """Looks at each item's type first: one struct does not do for classes that store an attribute in different ways."""
    decoders = {name: msgspec.json.Decoder(_struct(items)).decode for name, items in readers.items()}
    head = msgspec.defstruct("Head", [("type", _Type)], rename={"type": discriminator}, gc=False)
    decode_head = msgspec.json.Decoder(head).decode
    reply = msgspec.defstruct("SortedPage", [("Items", list[msgspec.Raw])], bases=(_Page,), kw_only=True)
    decode_page = msgspec.json.Decoder(reply).decode

    def made(body: Body) -> Reply:
        found: Any = decode_page(body)
        raws = found.Items
        heads: list[Any] = list(map(decode_head, raws))
        items: list[Any] = [decoders[head.type.S](raw) for head, raw in zip(heads, raws, strict=True)]
        _place(items, lambda position: item_from_json(msgspec.json.decode(raws[position])))
        return _page(found, items)

    return made


def _place(items: Sequence[Any], at: Callable[[int], Item]) -> None:
    for position, item in enumerate(items):
        item.origin = (at, position)


def _rest(found: Any) -> Reply:
    return {} if found.ConsumedCapacity is _UNSET else {"ConsumedCapacity": found.ConsumedCapacity}


def _page(found: Any, items: list[Any]) -> Reply:
    made = _rest(found)
    made["Items"] = items
    if found.Count is not _UNSET:
        made["Count"] = found.Count
    if found.ScannedCount is not _UNSET:
        made["ScannedCount"] = found.ScannedCount
    if found.LastEvaluatedKey is not _UNSET:
        made["LastEvaluatedKey"] = item_from_json(found.LastEvaluatedKey)
    return made


def _list_of(element: Any) -> Any:
    return list.__class_getitem__(element)
