"""The classes whose writes are driven by hand, and their items."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from dynamap import Table, entity
from tests.fakes import NOW, store_of

__all__ = [
    "READ",
    "START",
    "Account",
    "Build",
    "Tables",
    "View",
    "account_item",
    "operation_of",
    "plan_of",
    "view_item",
]


@entity("ACCOUNT", pk="ACCOUNT#{id}", sk="ACCOUNT", version="revision", frozen=True)
class Account:
    id: str
    balance: Decimal = Decimal(0)
    revision: int = 0


@entity("VIEW", pk="VIEW#{page}", sk="VIEW", frozen=True)
class View:
    page: str
    count: int = 0


Tables = Table("tables", [Account, View])
START = int(NOW * 1_000_000)


def account_item(version: int | None, *, by: str | None = None, balance: int = 0) -> dict[str, Any]:
    item: dict[str, Any] = {
        "pk": {"S": "ACCOUNT#a"},
        "sk": {"S": "ACCOUNT"},
        "_type": {"S": "ACCOUNT"},
        "id": {"S": "a"},
        "balance": {"N": str(balance)},
    }
    if version is not None:
        item["revision"] = {"N": str(version)}
    if by is not None:
        item["_w"] = {"S": by}
    return item


def view_item(count: int = 0, *, by: str | None = None) -> dict[str, Any]:
    item = {
        "pk": {"S": "VIEW#p"},
        "sk": {"S": "VIEW"},
        "_type": {"S": "VIEW"},
        "page": {"S": "p"},
        "count": {"N": str(count)},
    }
    return item if by is None else {**item, "_w": {"S": by}}


READ = Account("a", revision=7)
Build = Callable[[Any, Any], Any]


def operation_of(build: Build, **options: Any) -> Any:
    store = store_of(Tables, **options)
    return build(store.of(Account), store.of(View))


def plan_of(build: Build, *, trying: bool = False, **options: Any) -> Any:
    operation = operation_of(build, **options)
    return operation._try_plan() if trying else operation._plan()
