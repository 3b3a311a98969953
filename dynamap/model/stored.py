"""Items read straight from the bytes of a reply, as structs that are items to whoever looks at their attributes.

A reply is decoded once, into structs whose fields have their types, which is several times faster than into dicts, and
the generated decoders make instances of them. What does not fit is decoded again, as dicts, which say what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from operator import attrgetter
from typing import Any, Final, cast

import msgspec

from dynamap.codec import Body, ClassShape, Wire
from dynamap.codec.generated import compiled, item_from_json
from dynamap.codec.generated.structs import field_of
from dynamap.codec.generated.values import from_json
from dynamap.model.layout import Layout

__all__ = ["UNREAD", "StoredItem", "StoredItems", "joint_struct", "whole_items"]

UNREAD: Final = object()
"""Stands for an instance where none was made."""

_ORIGIN = "dynamap.origin"
_READER = "dynamap.reader"
"""What structs call in JSON what is no attribute; what attributes of these names hold is overwritten."""


class _Text(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """The attribute value of a discriminator, or a key that is text."""

    S: str


class _Number(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """The attribute value of a key that is a number."""

    N: str


class _Binary(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """The attribute value of a key that is binary data."""

    B: bytes


_KEYS: dict[str, Any] = {"S": _Text, "N": _Number, "B": _Binary}


class StoredItem:
    """One item of a reply: a struct, and a mapping of attributes as every item is.

    *origin* gives the whole of it, and the position that it has there.
    """

    __slots__ = ()

    origin: tuple[Callable[[int], dict[str, Wire]], int]
    reader: StoredItems
    """Reads the items of the class that it is one of."""
    kept: dict[str, str]
    """The struct's field for each attribute that it has beside those of the class, or that holds a single value."""

    def whole(self) -> dict[str, Wire]:
        """The item as a dict, as boto3's low-level client gives it."""
        at, position = self.origin
        return at(position)

    def get(self, name: str, default: Any = None) -> Any:
        """The attribute value, or the default where there is none."""
        field = self.kept.get(name)
        if field is None:
            return self.whole().get(name, default)
        wire = getattr(self, field)
        if wire is msgspec.UNSET:
            return default
        if isinstance(wire, msgspec.Struct):
            # the struct of a single value has the bytes themselves
            given = ((tag, getattr(wire, tag)) for tag in wire.__struct_fields__)
            return {tag: content for tag, content in given if content is not msgspec.UNSET}
        return from_json(wire)

    def __getitem__(self, name: str) -> Wire:
        wire = self.get(name)
        if wire is None:
            raise KeyError(name)
        return cast("Wire", wire)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.whole())

    def __bool__(self) -> bool:
        # it has a key at least
        return True

    def __len__(self) -> int:
        return len(self.whole())

    def keys(self) -> Any:
        """The names of the attributes."""
        return self.whole().keys()

    def values(self) -> Any:
        """The attribute values."""
        return self.whole().values()

    def items(self) -> Any:
        """The names with the attribute values."""
        return self.whole().items()


class StoredItems:
    """How the items of one entity are read: their struct type, and what makes instances of it.

    *struct* is None where items of the class cannot be structs: then they are dicts, as ever.
    """

    def __init__(
        self,
        shape: ClassShape,
        layout: Layout,
        names: Sequence[str | None],
        ttl: str | None,
        version: str | None,
        known: Callable[[Mapping[str, Wire]], Mapping[str, Any]] | None,
    ) -> None:
        self._compiled = compiled(shape)
        self._names = frozenset(names)
        self._known = known
        self.decoders: dict[object, Any] = {}
        """What was made to read replies with such items, by the kind of the reply."""
        fields = self._compiled.raw_fields
        self.struct: Any = None
        self._type_field: str | None = None
        if fields is None or _ORIGIN in fields or _READER in fields:
            return
        self._version_field = None if version is None else fields[version]
        types: dict[str, Any] = {key.name: _KEYS[key.wire_type] for key in layout.keys}
        if layout.discriminator is not None:
            types.setdefault(layout.discriminator, _Text)
        if ttl is not None:
            types.setdefault(ttl, dict[str, Any])
        extra = {name: field_of(name) for name in types if name not in fields}
        attributes = {**fields, **extra}
        keys = [(attrgetter(f"{attributes[key.name]}.{key.wire_type}"), key.wire_type) for key in layout.keys]
        self.identity: Callable[[StoredItem], tuple[Any, ...]]
        """The contents of an item's key; numbers by value, as the service compares."""
        if len(keys) > 1 and all(tag != "N" for _, tag in keys):
            self.identity = attrgetter(*(f"{attributes[key.name]}.{key.wire_type}" for key in layout.keys))
        else:
            self.identity = lambda item: tuple([Decimal(of(item)) if tag == "N" else of(item) for of, tag in keys])
        if layout.discriminator is not None:
            self._type_field = extra[layout.discriminator]
            self._discriminator_of = attrgetter(f"{self._type_field}.S")
        self.struct = msgspec.defstruct(
            shape.cls.__name__,
            [
                *((field, types[name] | msgspec.UnsetType, msgspec.UNSET) for name, field in extra.items()),
                ("origin", Any, None),
            ],
            bases=(StoredItem, self._compiled.raw_type),
            rename={**{field: name for name, field in extra.items()}, "origin": _ORIGIN},
            namespace={"kept": {**_single(fields, self._compiled.raw_type), **extra}, "reader": self},
            gc=False,
        )

    def of_json(self, json: bytes) -> StoredItem | None:
        """The item that is this JSON; None if it cannot be a struct."""
        if self.struct is None:
            return None
        decode = self.decoders.get("one item")
        if decode is None:
            decode = self.decoders["one item"] = msgspec.json.Decoder(self.struct).decode
        try:
            item: Any = decode(json)
        except msgspec.ValidationError:
            return None
        item.origin = (whole_items(json, lambda whole: [whole]), 0)
        return cast("StoredItem", item)

    def claims(self, item: StoredItem) -> bool:
        """Whether an item says that it is one of the class; None among the names stands for saying nothing."""
        if self._type_field is None:
            return True
        said = getattr(item, self._type_field)
        return (None if said is msgspec.UNSET else said.S) in self._names

    def read(self, item: StoredItem) -> Any:
        """The instance that an item is; UNREAD where it is to be looked at as a dict, which says what is wrong."""
        if self._type_field is not None:
            # as claims(), whose call would cost a tenth of the reading
            said = getattr(item, self._type_field)
            if (None if said is msgspec.UNSET else said.S) not in self._names:
                return UNREAD
        if self._version_field is not None:
            wire = getattr(item, self._version_field)
            # without a version, or with 0, it is read as -1; and others are no versions
            text = "" if wire is msgspec.UNSET else wire.N
            if not (text.isascii() and text.isdigit() and text.strip("0")):
                return UNREAD
        try:
            known = None if self._known is None else self._known(cast("Mapping[str, Wire]", item))
            return self._compiled.decode_struct(item, known)
        except Exception:  # noqa: BLE001 - the dict will tell, in the words of the interpreter
            return UNREAD

    def are_structs(self, items: Sequence[Any]) -> bool:
        """Whether all items are structs that were read for the class."""
        return self.struct is not None and {self.struct}.issuperset(map(type, items))

    def claims_all(self, items: Sequence[Any]) -> bool:
        """Whether all items are structs of the class, and say so; sooner than by asking of each."""
        if not self.are_structs(items):
            return False
        if self._type_field is None:
            return True
        try:
            return self._names.issuperset(map(self._discriminator_of, items))
        except AttributeError:
            # one says nothing
            return False

    def read_into(self, items: Sequence[Any], made: list[Any], start: int) -> int:
        """Add the instances that items are, from a position on; answers the position of the first that is UNREAD."""
        position = start
        # only of all of them: for what is left of them, each time that one is UNREAD, it would take too long
        if not start and self._version_field is None and self._known is None and self.claims_all(items):
            before = len(made)
            try:
                self._compiled.decode_structs(items, made.append)
            except Exception:  # noqa: BLE001 - as above
                position = len(made) - before
            else:
                return len(items)
        for at in range(position, len(items)):
            read = self.read(items[at]) if type(items[at]) is self.struct else UNREAD
            if read is UNREAD:
                return at
            made.append(read)
        return len(items)


def joint_struct(several: Sequence[StoredItems]) -> Any:
    """A struct type for items of any of these classes, whose *reader* is to be set when it is known.

    None where one of them has none, or where they read an attribute in different ways.
    """
    fields: dict[str, tuple[str, Any]] = {}
    kept: dict[str, str] = {}
    for items in several:
        if items.struct is None:
            return None
        kept |= items.struct.kept
        for field in msgspec.structs.fields(items.struct):
            if field.encode_name == _ORIGIN:
                continue
            known, kind = fields.setdefault(field.encode_name, (field.name, field.type))
            if known != field.name or not _are_alike(kind, field.type):
                return None
    return msgspec.defstruct(
        "JointItem",
        [
            *((name, kind, msgspec.UNSET) for name, kind in fields.values()),
            ("origin", Any, None),
            ("reader", Any, None),
        ],
        bases=(StoredItem,),
        rename={**{name: attribute for attribute, (name, _) in fields.items()}, "origin": _ORIGIN, "reader": _READER},
        namespace={"kept": kept},
        gc=False,
    )


def _are_alike(one: Any, other: Any) -> bool:
    """Whether two types are the same but for the structs in them, which have the same fields."""
    if one == other:
        return True
    parts, others = getattr(one, "__args__", ()), getattr(other, "__args__", ())
    if parts and len(parts) == len(others) and getattr(one, "__origin__", None) is getattr(other, "__origin__", None):
        return all(map(_are_alike, parts, others))
    if not all(isinstance(each, type) and issubclass(each, msgspec.Struct) for each in (one, other)):
        return False
    fields, of_other = msgspec.structs.fields(one), msgspec.structs.fields(other)
    return len(fields) == len(of_other) and all(
        (field.name, field.encode_name, field.default) == (its.name, its.encode_name, its.default)
        and _are_alike(field.type, its.type)
        for field, its in zip(fields, of_other, strict=True)
    )


def _single(fields: Mapping[str, str], struct: Any) -> dict[str, str]:
    """The fields whose attribute value is one that a struct with its contents stands for, or no struct at all."""
    types = {field.name: field.type for field in msgspec.structs.fields(struct)}
    return {name: field for name, field in fields.items() if _is_single(types[field])}


def _is_single(kind: Any) -> bool:
    if kind is Any:
        return True
    parts = [part for part in getattr(kind, "__args__", (kind,)) if part is not msgspec.UnsetType]
    if len(parts) != 1 or not isinstance(parts[0], type) or not issubclass(parts[0], msgspec.Struct):
        return False
    contents: list[Any] = []
    for field in msgspec.structs.fields(parts[0]):
        contents += getattr(field.type, "__args__", (field.type,))
    return set(contents) <= {str, bytes, bool, msgspec.UnsetType}


def whole_items(body: Body, items_of: Callable[[Any], Any]) -> Callable[[int], dict[str, Wire]]:
    """The items of a reply as dicts, which are made of its *body* when the first is asked for."""
    found: list[dict[str, Wire]] = []

    def at(position: int) -> dict[str, Wire]:
        if not found:
            found.extend(item_from_json(item) for item in items_of(msgspec.json.decode(body)))
        return found[position]

    return at
