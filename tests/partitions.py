"""Classes that share partitions: a customer with orders and their lines, what happened when, and numbered bookings."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated

from dynamap import Attribute, EpochSeconds, Key, Normalize, Table, entity
from tests.orders import day

__all__ = [
    "Bookings",
    "Customer",
    "Deposit",
    "Line",
    "Note",
    "Order",
    "Partitions",
    "Payment",
    "Session",
    "Visit",
    "Withdrawal",
]


@entity(abstract=True, frozen=True)
class Remarked:
    """What several of them inherit."""

    customer: str
    remark: str | None = None


@entity("CUSTOMER", pk="CUSTOMER#{id}", sk="CUSTOMER", version="revision", frozen=True)
class Customer:
    """Calls the field of the partition key by another name, and has one sort key."""

    id: str
    name: str = ""
    revision: int = 0


@entity("ORDER", pk="CUSTOMER#{customer}", sk="ORDER#{order:ordered}", frozen=True)
class Order(Remarked):
    order: str = ""
    total: Decimal = Decimal(0)
    count: int = 0


@entity("LINE", pk="CUSTOMER#{customer}", sk="ORDER#{number:ordered}#LINE#{line:03}", frozen=True)
class Line(Remarked):
    """Stands behind its order, whose number it calls by another name."""

    number: str = ""
    line: int = 0
    count: Annotated[int, Attribute("amount")] = 0


@entity("SESSION", pk="CUSTOMER#{customer}", sk="SESSION#{id}", ttl="until", aliases=("LOGIN",), frozen=True)
class Session:
    customer: str
    id: str
    until: Annotated[datetime | None, EpochSeconds()] = None


@entity("NOTE", pk="CUSTOMER#{customer}", sk="NOTE#{id}", frozen=True)
class Note:
    """The class of the items that have no type."""

    customer: str
    id: str
    text: str = ""


@entity("VISIT", pk="CUSTOMER#{customer}", sk="{at}#VISIT", ttl="until", frozen=True)
class Visit(Remarked):
    at: datetime = day(0)
    until: Annotated[datetime | None, EpochSeconds()] = None


@entity("PAYMENT", pk="CUSTOMER#{customer}", sk="{at}#PAYMENT#{number:03}", frozen=True)
class Payment(Remarked):
    at: datetime = day(0)
    number: int = 0


Partitions = Table("partitions", [Customer, Order, Line, Session, Note, Visit, Payment], untyped=Note, ttl="ttl")


@entity("DEPOSIT", frozen=True)
class Deposit:
    account: str
    number: int
    amount: int = 0


@entity("WITHDRAWAL", frozen=True)
class Withdrawal:
    """Counts from a thousand on, whatever is asked for."""

    account: str
    number: Annotated[int, Normalize(lambda number: number % 1000 + 1000)]
    amount: int = 0


Bookings = Table(
    "bookings",
    [Deposit, Withdrawal],
    pk=Key("account"),
    sk=Key("number", int),
    overlap=[(Deposit, Withdrawal)],
)
