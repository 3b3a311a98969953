"""Orders of customers: the class and its table."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from enum import Enum

from dynamap import Table, entity


class Status(Enum):
    """How far an order has come."""

    OPEN = "open"
    PAID = "paid"
    SENT = "sent"
    CANCELLED = "cancelled"


@entity("ORDER", pk="CUSTOMER#{customer}", sk="ORDER#{number}", version="revision", frozen=True)
class Order:
    """What a customer ordered; numbers begin with the time, so that the keys of a customer sort by it."""

    customer: str
    number: str
    placed: datetime
    article: str
    total: Decimal
    status: Status = Status.OPEN
    revision: int = 0


Shop = Table("shop", [Order])
