"""The service: a customer's orders over HTTP, page by page, with changes that overwrite nobody else's."""

from __future__ import annotations

import re
import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timezone
from decimal import Decimal
from typing import Annotated, Any, TypeVar
from urllib.parse import quote, urlencode

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dynamap import (
    Async,
    CursorError,
    EncodeError,
    F,
    ItemNotFound,
    KeyValueError,
    Repository,
    Store,
    VersionConflict,
)
from examples.orders_api.orders import Order, Status

T = TypeVar("T")

MOST_ORDERS_IN_A_PAGE = 100
_DEFAULT_PAGE = 20
_NUMBER = re.compile("[0-9]{1,3}")


class NewOrder(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a POST."""

    article: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    total: Decimal


class NewStatus(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a PATCH: the new status, and the revision of the order that it is meant for."""

    status: Status
    revision: Annotated[int, msgspec.Meta(ge=1)]


class BadRequest(Exception):
    """The caller's mistake, in words for the caller."""


class OrdersApi:
    """The endpoints, over one store."""

    def __init__(self, store: Store[Async], now: Callable[[], datetime]) -> None:
        self._orders = store.of(Order)
        self._now = now

    async def list(self, request: Request) -> Response:
        """The newest orders first; `next` is the address of the following page."""
        limit = _limit(request.query_params.get("limit"))
        query = self._of_customer(request).query().reverse().limit(limit)
        page = await query.page(request.query_params.get("cursor")).send()
        following = None
        if page.next is not None:
            following = f"{_path(request)}?{urlencode({'limit': limit, 'cursor': page.next})}"
        return _json({"orders": [_shown(order) for order in page.items], "next": following})

    async def create(self, request: Request) -> Response:
        """Place an order; its number is the service's choice."""
        body = await _body(request, NewOrder)
        if not body.total.is_finite() or body.total < 0:
            msg = "total: a number from 0 on"
            raise BadRequest(msg)
        orders = self._of_customer(request)
        placed = self._now()
        number = f"{placed:%Y%m%dT%H%M%S%f}-{secrets.token_hex(4)}"
        order = Order(request.path_params["customer"], number, placed, body.article, body.total)
        stored = await orders.put(order).if_not_exists().send()
        return _json(_shown(stored), status=201, headers={"Location": f"{_path(request)}/{stored.number}"})

    async def read(self, request: Request) -> Response:
        """One order."""
        order = await self._of_customer(request).get(number=request.path_params["number"]).required().send()
        return _json(_shown(order))

    async def change(self, request: Request) -> Response:
        """Set the status, if the order still is in the revision that the caller has seen."""
        body = await _body(request, NewStatus)
        order = self._of_customer(request).update(number=request.path_params["number"]).if_version(body.revision)
        changed = await order.set(F(Order.status), body.status).send()
        return _json(_shown(changed))

    def _of_customer(self, request: Request) -> Repository[Async, Order]:
        # whatever comes later from the path, the query or a cursor, it reaches this customer's orders only
        return self._orders.bind(customer=request.path_params["customer"])


def create_app(store: Store[Async], now: Callable[[], datetime] = lambda: datetime.now(timezone.utc)) -> Starlette:
    """The application over a store with a `cursor_key=`, which it closes in the end."""
    api = OrdersApi(store, now)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None, None]:
        async with store:
            yield

    return Starlette(
        routes=[
            Route("/customers/{customer}/orders", api.list, methods=["GET"]),
            Route("/customers/{customer}/orders", api.create, methods=["POST"]),
            Route("/customers/{customer}/orders/{number}", api.read, methods=["GET"]),
            Route("/customers/{customer}/orders/{number}", api.change, methods=["PATCH"]),
        ],
        exception_handlers={
            BadRequest: _says(400),
            CursorError: _says(400),
            EncodeError: _says(400),
            KeyValueError: _says(400),
            ItemNotFound: _not_found,
            VersionConflict: _conflict,
        },
        lifespan=lifespan,
    )


# ---- requests


def _limit(text: str | None) -> int:
    if text is None:
        return _DEFAULT_PAGE
    if not _NUMBER.fullmatch(text) or not 1 <= int(text) <= MOST_ORDERS_IN_A_PAGE:
        msg = f"limit: a number from 1 to {MOST_ORDERS_IN_A_PAGE}"
        raise BadRequest(msg)
    return int(text)


async def _body(request: Request, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(await request.body(), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(str(error)) from error


# ---- answers


def _path(request: Request) -> str:
    """The address of the customer's orders, without a host: whatever stands in front of the service knows that."""
    return f"/customers/{quote(request.path_params['customer'], safe='')}/orders"


def _shown(order: Order) -> dict[str, Any]:
    return {
        "customer": order.customer,
        "number": order.number,
        "placed": order.placed,
        "article": order.article,
        "total": order.total,
        "status": order.status,
        "revision": order.revision,
    }


def _json(content: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(content), status, headers, media_type="application/json")


def _says(status: int) -> Callable[[Request, Exception], Response]:
    """An answer with the error's own words, which hold no values of anybody's items."""
    return lambda _, error: _json({"error": str(error)}, status)


def _not_found(_: Request, __: Exception) -> Response:
    return _json({"error": "there is no such order"}, 404)


def _conflict(_: Request, error: Exception) -> Response:
    seen = error.seen if isinstance(error, VersionConflict) else None
    if not isinstance(seen, Order):
        return _json({"error": "there is no such order"}, 404)
    message = "the order has changed since it was read: decide again on what it is now"
    return _json({"error": message, "order": _shown(seen)}, 409)
