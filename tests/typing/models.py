"""Classes of every kind that dynamap takes; use.py, errors.py and the run-time tests share them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, ClassVar, Generic, Literal, NewType, TypeVar

import attrs

from dynamap import (
    Attribute,
    EpochMillis,
    EpochSeconds,
    Extras,
    F,
    GlobalIndex,
    Index,
    Key,
    LocalIndex,
    Normalize,
    Table,
    camel_case,
    entity,
    mapped,
)

UserId = NewType("UserId", str)
Cents = NewType("Cents", int)
T = TypeVar("T")


class Status(Enum):
    OPEN = "open"
    PAID = "paid"


@entity("ACCOUNT", pk="ACCOUNT#{id}", sk="BALANCE", version="revision")
class Account:
    id: str
    balance: Decimal = Decimal(0)
    revision: int = 0


@mapped("REGISTRANT", pk="USER#{id}", sk="REGISTRATION", indexes=[Index("gsi1", pk="MAIL#{email}", sk="USER#{id}")])
@dataclass(frozen=True, slots=True)
class Registrant:
    id: str
    email: str
    handle: str | None = None


@mapped("MAIL", pk="MAIL#{address}", sk="CLAIM")
@dataclass(frozen=True)
class MailClaim:
    address: str
    owner: str


@entity("HANDLE", pk="HANDLE#{handle}", sk="CLAIM", frozen=True)
class HandleClaim:
    handle: str
    owner: str


@attrs.define
class Address:
    city: str
    zip: int


@attrs.frozen
class Line:
    sku: str
    price: Decimal
    count: int = 1


@entity(
    "ORDER",
    pk="CUSTOMER#{customer}",
    sk="ORDER#{at}",
    version="revision",
    ttl="expires",
    kw_only=True,
    frozen=True,
    indexes=[
        Index("gsi1", pk="STATUS#{status}", sk="{at}", when=lambda: F(Order.status).ne(Status.PAID)),
        Index("by_at"),
    ],
)
class Order:
    customer: UserId
    at: datetime
    status: Status = Status.OPEN
    kind: Literal["web", "shop"] = "web"
    total: Cents = Cents(0)
    weight: float = 0.0
    paid: bool = False
    note: str | None = None
    visits: int | None = None
    address: Address
    lines: list[Line] = attrs.field(factory=list[Line])
    tags: set[str] = attrs.field(factory=set[str])
    labels: frozenset[str] | None = None
    codes: list[int] = attrs.field(factory=list[int])
    prices: dict[str, Decimal] = attrs.field(factory=dict[str, Decimal])
    blob: bytes = b""
    email: Annotated[str, Normalize(str.casefold), Attribute("mail", aliases=("e-mail",))] = ""
    created: Annotated[datetime, EpochMillis()] = datetime(2020, 1, 1, tzinfo=timezone.utc)
    expires: Annotated[datetime | None, EpochSeconds()] = None
    rest: Annotated[dict[str, Any], Extras()] = attrs.field(factory=dict[str, Any])
    took: timedelta = timedelta()
    _token: str = "secret"
    revision: int = 0
    registry: ClassVar[dict[str, int]] = {}


@entity("PAYMENT", pk="CUSTOMER#{customer}", sk="PAYMENT#{seq:012}")
class Payment:
    customer: str
    seq: int
    amount: Decimal = Decimal(0)


@mapped("LEGACY")
@dataclass(frozen=True)
class Legacy:
    customer: Annotated[str, Attribute("customer-id")]
    number: Annotated[int, Attribute("order.no")]


@entity("STOCK", pk="STOCK#{sku}", sk="STOCK")
class Stock:
    sku: str
    count: int = 0
    reserved: int = 0
    views: int | None = None


@entity("VIEWS", pk="VIEWS#{page}", sk="VIEWS")
class Views:
    page: str
    count: int = 0


@entity(abstract=True)
class Named:
    id: str
    name: str


@entity("CUSTOMER", pk="C#{id}", sk="C")
class Customer(Named):
    vip: bool = False


@entity("BOX", pk="BOX#{id}", sk="BOX")
class Box(Generic[T]):
    id: str
    value: T


@mapped("FOREIGN", pk="F#{id}", sk="F")
@attrs.define
class Foreign:
    id: str
    n: int = 0
    address: Address | None = None


@mapped("INIT", pk="I#{id}", sk="I")
@dataclass
class WithInit:
    id: str
    seed: InitVar[int]
    doubled: int = field(init=False, default=0)

    def __post_init__(self, seed: int) -> None:
        self.doubled = seed * 2


ShopTable = Table(
    "shop",
    [Account, Registrant, MailClaim, HandleClaim, Order, Payment, Stock, Views, Customer, Foreign],
    names=camel_case,
    ttl="ttl",
    indexes=[
        GlobalIndex("gsi1"),
        GlobalIndex("by_at", pk=("_type", Key("customer")), sk="at", projection=["_type", "ttl"]),
        LocalIndex("created", sk=Key("created", int)),
    ],
    overlap=[(Account, Order)],
)
LegacyTable = Table(
    "legacy", [Legacy], pk=Key("customer-id"), sk=Key("order.no", int), discriminator=None, untyped=Legacy
)
Payments = Table("payments-2020", [Payment], pk=Key("customer-id"), sk=Key("payment"))


def account_key(*, id: str) -> None: ...  # noqa: A002 - the key field's name
def order_key(*, customer: UserId, at: datetime) -> None: ...


keys: list[Callable[..., None]] = [account_key, order_key]


@attrs.frozen
class OrderLine:
    """A second class for project()."""

    customer: UserId
    total: Cents
