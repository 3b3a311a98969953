"""The field that says when an item expires, as DynamoDB's TTL wants it stored."""

from __future__ import annotations

import msgspec

from dynamap.codec import ClassShape, DateTime, EpochNumber, EpochTime, Integer, Normalized, OptionalShape, Shape
from dynamap.errors import ModelError

__all__ = ["with_ttl"]


def with_ttl(shape: ClassShape, field_name: str, attribute: str, *, owner: str) -> ClassShape:
    """The class with this field stored in the table's TTL attribute, as whole seconds since 1970, rounded up.

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/TTL.html: anything but a number is ignored there,
    and so is a number of milliseconds, which is an EncodeError here. Raises ModelError for a field of another type.
    """
    field = shape.by_name[field_name]
    seconds = _in_seconds(field.shape)
    if seconds is None or not field.stored or field.extras:
        msg = (
            f"{owner}.{field_name} is the TTL, so it must be a datetime or an int of seconds since 1970, or an "
            f"Optional of one: write `{field_name}: datetime | None = None`"
        )
        raise ModelError(msg)
    changed = msgspec.structs.replace(field, attribute=attribute, shape=seconds)
    return ClassShape(shape.cls, tuple(changed if each is field else each for each in shape.fields))


def _in_seconds(shape: Shape) -> Shape | None:
    if isinstance(shape, (OptionalShape, Normalized)):
        inner = _in_seconds(shape.inner)
        return None if inner is None else msgspec.structs.replace(shape, inner=inner)
    if isinstance(shape, DateTime):
        return EpochTime("seconds")
    if isinstance(shape, Integer):
        return EpochNumber("seconds", int)
    if isinstance(shape, (EpochTime, EpochNumber)) and shape.unit == "seconds":
        return shape
    return None
