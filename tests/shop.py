"""The classes whose requests are looked at."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

import attrs

from dynamap import Attribute, Table, entity

__all__ = ["LEGACY", "NEW", "PAGE", "READ", "Account", "Address", "Shop", "Street", "View", "accounts", "views"]


@attrs.frozen
class Street:
    name: str = ""
    number: int | None = None


@attrs.frozen
class Address:
    city: str = ""
    street: Street = attrs.field(factory=Street)
    zip: Annotated[str, Attribute("post.code")] = ""


@entity("ACCOUNT", pk="ACCOUNT#{id}", sk="BALANCE", version="revision", frozen=True)
class Account:
    id: str
    balance: Decimal = Decimal(0)
    address: Address = attrs.field(factory=Address)
    note: str | None = None
    tags: set[str] = attrs.field(factory=set[str])
    marks: dict[str, int] = attrs.field(factory=dict[str, int])
    lines: list[Address] = attrs.field(factory=list[Address])
    revision: Annotated[int, Attribute("_v")] = 0


@entity("VIEW", pk="VIEW#{page}", sk="VIEW", frozen=True)
class View:
    page: str
    count: int = 0
    owner: str | None = None
    tags: set[str] = attrs.field(factory=set[str])


Shop = Table("shop", [Account, View])

NEW = Account(id="a")
READ = Account(id="a", revision=7)
LEGACY = Account(id="a", revision=-1)
PAGE = View(page="p")


def accounts(store: Any) -> Any:
    """Their repository, hidden from the type checkers."""
    return store.of(Account)


def views(store: Any) -> Any:
    """Their repository, hidden from the type checkers."""
    return store.of(View)
