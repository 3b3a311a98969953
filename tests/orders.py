"""Classes that are queried: keys of several fields, indexes of every kind, neighbours in the same partition."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Annotated

from dynamap import Attribute, EpochSeconds, GlobalIndex, Index, Key, LocalIndex, Table, entity

__all__ = [
    "START",
    "Document",
    "Documents",
    "Line",
    "Order",
    "Orders",
    "Reading",
    "Readings",
    "Session",
    "Stock",
    "day",
]

START = datetime(2024, 1, 1, tzinfo=timezone.utc)


def day(number: int) -> datetime:
    return START + timedelta(days=number)


@entity(
    "ORDER",
    pk="CUSTOMER#{customer}",
    sk="ORDER#{at}#{number:04}",
    version="revision",
    frozen=True,
    indexes=[
        Index("status", pk="STATUS#{status}", sk="{total:09.2}"),
        Index("kinds", sk="{at}"),
        Index("label", sk="{label}"),
        Index("brief", pk="BRIEF#{customer}", sk="{number:04}"),
    ],
)
class Order:
    customer: str
    at: datetime
    number: int
    status: str | None = None
    total: Decimal = Decimal(0)
    label: str | None = None
    note: str | None = None
    tags: frozenset[str] = frozenset()
    revision: int = 0


@entity("LINE", pk="CUSTOMER#{customer}", sk="ORDERLINE#{order}#{line:03}", frozen=True)
class Line:
    """A neighbour whose literal begins as that of an order does."""

    customer: str
    order: str
    line: int
    count: int = 1


@entity("SESSION", pk="CUSTOMER#{customer}", sk="SESSION#{id}", ttl="until", aliases=("LOGIN",), frozen=True)
class Session:
    customer: str
    id: str
    until: Annotated[datetime | None, EpochSeconds()] = None
    device: str = ""


@entity("STOCK", pk="STOCK", sk="{shelf:ordered}#{name:ordered}", frozen=True)
class Stock:
    """All of one partition, with two texts that keep their order."""

    shelf: str
    name: str
    count: int = 0


Orders = Table(
    "orders",
    [Order, Line, Session, Stock],
    ttl="ttl",
    indexes=[
        GlobalIndex("status"),
        GlobalIndex("kinds", pk="_type", sk="kindssk"),
        LocalIndex("label"),
        GlobalIndex("brief", projection=["_type", "ttl", "status"]),
    ],
)


@entity("DOCUMENT", indexes=[Index("place")], frozen=True)
class Document:
    """Its keys are fields, one of them a number; its index has a key of several attributes."""

    customer: Annotated[str, Attribute("customer-id")]
    number: Annotated[int, Attribute("order.no")]
    country: str | None = None
    city: str | None = None
    street: str | None = None
    house: int | None = None
    blob: bytes = b""


Documents = Table(
    "documents",
    [Document],
    pk=Key("customer-id"),
    sk=Key("order.no", int),
    indexes=[GlobalIndex("place", pk=["country", "city"], sk=["street", Key("house", int)])],
)


@entity("READING", frozen=True)
class Reading:
    """Binary sort keys."""

    sensor: str
    frame: bytes
    value: Decimal = Decimal(0)


Readings = Table("readings", [Reading], pk="sensor", sk=Key("frame", bytes))
