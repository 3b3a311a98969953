"""Key attributes, and what an entity stores in them: a rendered template, or the value of one field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from dynamap.codec import DecodeFailure, FieldShape, Wire, unwrapped
from dynamap.errors import EncodeError, KeyValueError, ModelError
from dynamap.model.templates import KeyMismatch, KeyTemplate

__all__ = ["ConstantKey", "FieldKey", "Key", "KeyPart", "KeyType", "TemplateKey", "as_key"]

KeyType: TypeAlias = Literal["S", "N", "B"]

# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
_PARTITION_LIMIT = 2048
_SORT_LIMIT = 1024
_TYPES: dict[Any, KeyType] = {str: "S", int: "N", bytes: "B"}
_NAMES = {"S": "str", "N": "int", "B": "bytes"}


class Key(msgspec.Struct, frozen=True):
    """A key attribute: its name, and whether it holds text (`str`), numbers (`int`) or binary data (`bytes`).

    >>> Key("order-no", int).wire_type
    'N'
    """

    name: str
    type: type[str] | type[int] | type[bytes] = str

    def __post_init__(self) -> None:
        name: Any = self.name
        if not isinstance(name, str) or not 0 < len(name.encode()) <= 255:  # noqa: PLR2004 - the service's limit
            msg = f"Key({name!r}): the name of a key attribute has 1 to 255 bytes"
            raise ModelError(msg)
        if self.type not in _TYPES:
            msg = f"Key({name!r}, {self.type!r}): a key attribute holds str, int (any number) or bytes"
            raise ModelError(msg)

    @property
    def wire_type(self) -> KeyType:
        """DynamoDB's name of the type."""
        return _TYPES[self.type]


def as_key(key: Key | str) -> Key:
    """A key attribute from its name alone: it holds text."""
    return Key(key) if isinstance(key, str) else key


class KeyPart(msgspec.Struct, frozen=True):
    """What an entity stores in one key attribute of the table or of an index."""

    attribute: str

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that it is made of, each once, in order."""
        raise NotImplementedError

    @property
    def text(self) -> str:
        """What messages show of it."""
        raise NotImplementedError

    @property
    def computed(self) -> bool:
        """Whether it is stored in addition to the fields; otherwise the attribute is a field's own."""
        raise NotImplementedError

    def as_stored(self) -> KeyPart:
        """The same as a key of an index, which has it from the table's own key."""
        raise NotImplementedError

    def encode(self, values: Mapping[str, Any]) -> Wire:
        """The attribute value for these field values, which are normalized. Raises KeyValueError."""
        raise NotImplementedError

    def decode(self, wire: Wire) -> dict[str, Any]:
        """The field values of an attribute value; raises KeyMismatch if it is no key of this kind."""
        raise NotImplementedError

    def is_complete(self, values: Mapping[str, Any]) -> bool:
        """Whether every field has a value; None is none."""
        return all(values.get(field) is not None for field in self.fields)


class TemplateKey(KeyPart, frozen=True):
    """A key template, stored as text; *stored_anyway* where an index has it from the table's own key."""

    attribute: str
    template: KeyTemplate
    stored_anyway: bool = False

    @property
    def fields(self) -> tuple[str, ...]:
        return self.template.fields

    @property
    def text(self) -> str:
        return self.template.text

    @property
    def computed(self) -> bool:
        return not self.stored_anyway

    def as_stored(self) -> KeyPart:
        return replace(self, stored_anyway=True)

    def encode(self, values: Mapping[str, Any]) -> Wire:
        return {"S": self.template.render(values)}

    def decode(self, wire: Wire) -> dict[str, Any]:
        if "S" not in wire:
            msg = f"not a text, as the {self.template.part} template {self.text!r} of {self.template.owner} gives"
            raise KeyMismatch(msg)
        return self.template.parse(wire["S"])


class FieldKey(KeyPart, frozen=True):
    """The value of one field, stored as it is: as text, a number or binary data.

    Numbers are written in one way only, so that 1 and 1.0 are one key. *stored_anyway* is as for `TemplateKey`.
    """

    attribute: str
    kind: KeyType
    owner: str
    field: FieldShape
    sort: bool
    stored_anyway: bool = False

    @property
    def fields(self) -> tuple[str, ...]:
        return (self.field.name,)

    @property
    def text(self) -> str:
        return f"{{{self.field.name}}}"

    @property
    def computed(self) -> bool:
        return not self.stored_anyway and (self.field.attribute != self.attribute or not self.field.stored)

    def as_stored(self) -> KeyPart:
        return replace(self, stored_anyway=True)

    def check_type(self) -> None:
        """Raise ModelError if the field's values are not stored as the attribute's type."""
        shape = self.field.shape
        stored = [kind for kind in shape.wire_types if kind != "NULL"]
        if stored == [self.kind]:
            return
        msg = (
            f"{self._named()} cannot be the key attribute {self.attribute!r}: that holds {_NAMES[self.kind]} "
            f"({self.kind}), but {shape.kind} is stored as {' or '.join(stored)}: "
        )
        if len(stored) == 1 and stored[0] in _NAMES:
            msg += f"declare Key({self.attribute!r}, {_NAMES[stored[0]]}), or give the field another type"
        else:
            msg += "give the field another type, or the key another field"
        raise ModelError(msg)

    @property
    def limit(self) -> int:
        """The most bytes that DynamoDB takes: 2048 in a partition key, 1024 in a sort key."""
        return _SORT_LIMIT if self.sort else _PARTITION_LIMIT

    def encode(self, values: Mapping[str, Any]) -> Wire:
        value = values.get(self.field.name)
        if value is None:
            msg = f"{self._named()} is missing: the key needs a value for it"
            raise KeyValueError(msg)
        try:
            # the values are normalized already
            wire = unwrapped(self.field.shape).encode(value, (self.field.name,))
        except EncodeError as error:
            problem = str(error).removeprefix(f"$.{self.field.name}: ")
            msg = f"{self._named()} has no key: {problem}"
            raise KeyValueError(msg) from error
        self.check(wire)
        return wire

    def check(self, wire: Wire) -> None:
        """Raise KeyValueError for an attribute value that DynamoDB takes elsewhere, but not in a key."""
        kind, content = next(iter(wire.items()))
        if kind == "N":
            return
        size = len(content.encode() if kind == "S" else content)
        limit = self.limit
        if size == 0:
            msg = f"{self._named()} is empty, which DynamoDB does not take in a key: give it a value"
            raise KeyValueError(msg)
        if size > limit:
            msg = (
                f"{self._named()} has {size} bytes; DynamoDB takes {limit} in the key attribute {self.attribute!r}: "
                f"shorten it"
            )
            raise KeyValueError(msg)

    def decode(self, wire: Wire) -> dict[str, Any]:
        try:
            return {self.field.name: self.field.shape.decode(wire, (self.field.name,))}
        except DecodeFailure as failure:
            msg = f"not a value of {self._named()}: {failure}"
            raise KeyMismatch(msg) from failure

    def _named(self) -> str:
        return f"{self.owner}.{self.field.name}"


class ConstantKey(KeyPart, frozen=True):
    """What is the same for all items of an entity and stored anyway: the discriminator as a key of an index."""

    attribute: str
    value: str

    @property
    def fields(self) -> tuple[str, ...]:
        return ()

    @property
    def text(self) -> str:
        return self.value

    @property
    def computed(self) -> bool:
        return False

    def as_stored(self) -> KeyPart:
        return self

    def encode(self, values: Mapping[str, Any]) -> Wire:
        del values
        return {"S": self.value}

    def decode(self, wire: Wire) -> dict[str, Any]:
        del wire
        return {}
