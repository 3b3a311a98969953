"""Items that are JSON already, as requests hold them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

import msgspec

from dynamap.codec.failures import Wire

__all__ = ["Body", "JsonItem", "to_json", "without_json"]

Body: TypeAlias = "bytes | bytearray"
"""The body of an answer; a long one is the bytearray that it was received into, and nobody changes it."""


class JsonItem(Mapping[str, Wire]):
    """An item as JSON, with bytes in base64; who looks into it sees the mapping that boto3's low-level client takes.

    The mapping is made of the JSON when it is first asked for, so that both stay what the item was.
    """

    __slots__ = ("_whole", "json")

    def __init__(self, json: bytes) -> None:
        self.json = json
        self._whole: dict[str, Wire] | None = None

    def __repr__(self) -> str:
        return f"JsonItem({self.whole()!r})"

    def whole(self) -> dict[str, Wire]:
        """The item as a dict, always the same one."""
        if self._whole is None:
            # loaded with the first class
            from dynamap.codec.generated.values import item_from_json  # noqa: PLC0415

            self._whole = item_from_json(msgspec.json.decode(self.json))
        return self._whole

    def with_attributes(self, attributes: Mapping[str, Wire]) -> JsonItem:
        """The same item with these, of which it has none yet."""
        return JsonItem(b"%b,%b" % (self.json[:-1], to_json(attributes)[1:])) if attributes else self

    def __getitem__(self, name: str) -> Wire:
        return self.whole()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.whole())

    def __len__(self) -> int:
        return len(self.whole())


def _as_it_is(value: object) -> msgspec.Raw:
    if type(value) is JsonItem:
        return msgspec.Raw(value.json)
    msg = f"{type(value).__name__} is no part of a request"
    raise TypeError(msg)


to_json = msgspec.json.Encoder(enc_hook=_as_it_is).encode
"""The JSON of parameters or parts of them: bytes as base64, and items that are JSON already as they are."""


def without_json(value: Any) -> Any:
    """The same parameters with dicts in the place of items that are JSON."""
    if type(value) is JsonItem:
        # each time another one: whoever is given it may change it
        return JsonItem(value.json).whole()
    if type(value) is dict:
        return {name: without_json(each) for name, each in cast("dict[str, Any]", value).items()}
    if type(value) is list:
        return [without_json(each) for each in cast("Sequence[Any]", value)]
    return value
