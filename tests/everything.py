"""A class with a field of every kind that an expression may speak of."""

from __future__ import annotations

from datetime import datetime, timezone
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any
from uuid import UUID

import attrs

from dynamap import Attribute, Normalize, entity

__all__ = ["Address", "Color", "X", "Y"]


class Color(Enum):
    RED = "red"
    BLUE = "blue"


@attrs.frozen
class Address:
    city: str = ""
    zip: Annotated[int | None, Attribute("post.code")] = None


@entity("X", pk="X#{id}", sk="X")
class X:
    id: str
    n: int = 0
    m: int = 0
    price: Decimal = Decimal(0)
    weight: float = 0.0
    flag: bool = False
    text: str = ""
    note: str | None = None
    greeting: str | None = "hello"
    blob: bytes = b""
    color: Color = Color.RED
    uid: UUID = UUID(int=0)
    at: datetime = datetime(2020, 1, 1, tzinfo=timezone.utc)
    tags: set[str] = attrs.field(factory=set[str])
    numbers: frozenset[int] = frozenset()
    maybe_tags: set[str] | None = None
    lines: list[Address] = attrs.field(factory=list[Address])
    names: tuple[str, ...] = ()
    marks: dict[str, int] = attrs.field(factory=dict[str, int])
    address: Address = attrs.field(factory=Address)
    nick: Annotated[str | None, Normalize(str.casefold)] = None
    mail: Annotated[str, Normalize(str.casefold)] = ""
    anything: Any = None
    size: int = 0
    dotted: Annotated[str, Attribute("a.b")] = ""
    dashed: Annotated[str, Attribute("a-b")] = ""
    joined: Annotated[str, Attribute("ab")] = ""


@entity("Y", pk="Y#{id}", sk="Y")
class Y:
    id: str
    n: int = 0
