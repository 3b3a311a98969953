"""What is generated for a class, made when it is first used, and kept with the class's shape."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from threading import RLock
from typing import Any, Protocol, TypeAlias

from dynamap.codec.classes import ClassShape
from dynamap.codec.failures import Wire
from dynamap.codec.generated.decoders import item_decoder, struct_decoder, structs_decoder
from dynamap.codec.generated.encoders import item_encoder
from dynamap.codec.generated.json_encoders import json_encoder
from dynamap.codec.generated.structs import Structs
from dynamap.codec.generated.values import item_from_json
from dynamap.codec.json_items import to_json

__all__ = ["CompiledClass", "ItemDecoder", "ItemEncoder", "JsonEncoder", "compiled", "interpreted"]

_NOTHING: frozenset[str] = frozenset()
_lock = RLock()


JsonEncoder: TypeAlias = "Callable[[Any, Mapping[str, Wire]], bytes | None]"


StructsDecoder: TypeAlias = "Callable[[Sequence[Any], Callable[[Any], None]], None]"


class ItemEncoder(Protocol):
    """From an instance to its item."""

    def __call__(self, instance: Any, ignore: frozenset[str] = ...) -> dict[str, Wire]: ...


class ItemDecoder(Protocol):
    """From an item to the instance."""

    def __call__(self, item: Any, known: Mapping[str, Any] | None = None, ignore: frozenset[str] = ...) -> Any: ...


class CompiledClass:
    """The generated encoder and decoders of one class; each is made when it is first called.

    `encode_item(instance, ignore)` and `decode_item(item, known, ignore)` give and raise exactly what those of the
    shape do, on items as boto3's low-level client has them. `decode_struct(raw, known, ignore)` does the same for what
    `msgspec.json.decode(body, type=raw_type)` gives, with bytes in base64 in the body. Where msgspec refuses a body,
    decode it without a type and hand `item_from_json(item)` to `decode_item`, which says what is wrong, if anything.
    """

    encode_item: ItemEncoder
    decode_item: ItemDecoder
    decode_struct: ItemDecoder

    def __init__(self, shape: ClassShape) -> None:
        self.shape = shape
        self._structs = Structs()
        self._raw_type: Any = None
        self._structs_decoder: StructsDecoder | None = None
        self._json_encoders: dict[tuple[object, ...], JsonEncoder] = {}
        self.encode_item = self._first_encode_item
        self.decode_item = self._first_decode_item
        self.decode_struct = self._first_decode_struct

    def __repr__(self) -> str:
        return f"CompiledClass({self.shape.cls.__qualname__})"

    @property
    def raw_type(self) -> Any:
        """The type for msgspec: a Struct in which a missing attribute is `msgspec.UNSET`, or a dict.

        A dict is needed for a class that keeps unknown attributes (`Extras`), and for names that msgspec cannot take.
        A struct can have subclasses with more fields, as for the attributes of keys: `decode_struct` takes them too.
        """
        if self._raw_type is None:
            with _lock:
                if self._raw_type is None:
                    self._raw_type = self._structs.struct(self.shape) if self._uses_structs() else dict[str, Any]
        return self._raw_type

    @property
    def raw_fields(self) -> Mapping[str, str] | None:
        """The field of `raw_type` for each attribute and each older name of one; None if it is a dict."""
        return self._structs.fields(self.shape) if self._uses_structs() else None

    def _uses_structs(self) -> bool:
        return self._structs.has_struct(self.shape) and not interpreted()

    @property
    def decode_structs(self) -> StructsDecoder:
        """Appends the instances that many structs are; raises for the first that `decode_struct` is to look at.

        Of classes that have a struct, and all of whose fields are stored.
        """
        if self._structs_decoder is None:
            with _lock:
                if self._structs_decoder is None:
                    self._structs_decoder = structs_decoder(self.shape, self._structs)
        return self._structs_decoder

    def json_encoder(
        self, without: str | None, keys: Mapping[str, str], constants: Mapping[str, Wire]
    ) -> JsonEncoder | None:
        """What writes the item of an instance, with its key, as JSON; None for a class that keeps unknown attributes.

        *keys* are the wire types of the key's attributes, *constants* what every item has beside its fields; the field
        *without* is left out. It answers None for what `encode_item` is to judge.
        """
        if self.shape.extras is not None or interpreted():
            return None
        made_for = (without, *keys.items(), to_json(constants))
        with _lock:
            if made_for not in self._json_encoders:
                self._json_encoders[made_for] = json_encoder(self.shape, without, keys, constants)
        return self._json_encoders[made_for]

    # The first call replaces itself. Whoever still holds on to it gets what the replacement gives.

    def _first_encode_item(self, instance: Any, ignore: frozenset[str] = _NOTHING) -> dict[str, Wire]:
        with _lock:
            if self.encode_item == self._first_encode_item:
                self.encode_item = self._interpret_instance if interpreted() else item_encoder(self.shape)
        return self.encode_item(instance, ignore)

    def _first_decode_item(
        self, item: Any, known: Mapping[str, Any] | None = None, ignore: frozenset[str] = _NOTHING
    ) -> Any:
        with _lock:
            if self.decode_item == self._first_decode_item:
                self.decode_item = self.shape.decode_item if interpreted() else item_decoder(self.shape)
        return self.decode_item(item, known, ignore)

    def _first_decode_struct(
        self, item: Any, known: Mapping[str, Any] | None = None, ignore: frozenset[str] = _NOTHING
    ) -> Any:
        with _lock:
            if self.decode_struct == self._first_decode_struct:
                structs = self._uses_structs()
                self.decode_struct = struct_decoder(self.shape, self._structs) if structs else self._decode_json
        return self.decode_struct(item, known, ignore)

    def _interpret_instance(self, instance: Any, ignore: frozenset[str] = _NOTHING) -> dict[str, Wire]:
        return self.shape.encode_item(instance, (), ignore)

    def _decode_json(self, item: Any, known: Mapping[str, Any] | None = None, ignore: frozenset[str] = _NOTHING) -> Any:
        return self.decode_item(item_from_json(item), known, ignore)


def interpreted() -> bool:
    """Whether nothing is to be generated."""
    return os.environ.get("DYNAMAP_INTERPRETER") == "1"


def compiled(shape: ClassShape) -> CompiledClass:
    """Give what is generated for the class of this shape, always the same object; nothing is generated yet."""
    found: CompiledClass | None = shape.derived.get("compiled")
    if found is not None:
        return found
    with _lock:
        made: CompiledClass = shape.derived.setdefault("compiled", CompiledClass(shape))
    return made
