"""The service: the shop over HTTP. Whoever gets no answer, or 503, asks again with the same Idempotency-Key."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from dynamap import (
    Async,
    EncodeError,
    ItemNotFound,
    KeyValueError,
    OutcomeUnknown,
    Store,
    Throttled,
    TransactionCanceled,
    TransactionConflict,
    VersionConflict,
)
from examples.shop.relay import Published, Publisher, Runner
from examples.shop.shop import PRICES, Basket, EmailTaken, Order, Service, SoldOut
from recipes.aio import gapless_sequence, idempotency, uniqueness

T = TypeVar("T")

PAGE = Path(__file__).with_name("page.html")
LONGEST_WAIT = 2.0
_KEY = re.compile("[!-~]{1,100}")


class NewCustomer(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a registration."""

    email: Annotated[str, msgspec.Meta(min_length=3, max_length=200, pattern="^[^@ ]+@[^@ ]+$")]


class NewOrder(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a checkout."""

    sku: Annotated[str, msgspec.Meta(min_length=1, max_length=50)]
    units: Annotated[int, msgspec.Meta(ge=1, le=100)] = 1


class NewStock(msgspec.Struct, forbid_unknown_fields=True):
    """How many pieces there are from now on."""

    left: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]


class BadRequest(Exception):
    """The caller's mistake, in words for the caller."""


class ShopApi:
    """The endpoints, over one store; *table_name* is where its items are, to show them."""

    def __init__(self, store: Store[Async], table_name: str) -> None:
        self._store = store
        self._everything = f'SELECT * FROM "{table_name}"'  # noqa: S608 - no caller's text is in it
        self._service = Service(store)
        self._published = Published()
        self._runner = Runner(store, Publisher(self._service, self._published))

    async def page(self, _: Request) -> Response:
        """The page that presses every button twice."""
        return HTMLResponse(PAGE.read_text(encoding="utf-8"))

    async def register(self, request: Request) -> Response:
        """A customer, one for each address."""
        body = await _body(request, NewCustomer)
        customer = await self._service.register(_key(request), body.email)
        return _json({"id": customer.id, "email": customer.email}, 201)

    async def checkout(self, request: Request) -> Response:
        """An order, one for each key; `invoice` is null until the relay has issued it."""
        body = await _body(request, NewOrder)
        _check_sku(body.sku)
        basket = Basket(request.path_params["customer"], body.sku, body.units)
        order = await self._service.checkout(_key(request), basket)
        self._runner.wake()
        return _json(_shown(order), 201)

    async def order(self, request: Request) -> Response:
        """The order as it is now."""
        return _json(_shown(await self._service.order(request.path_params["number"])))

    async def invoice(self, request: Request) -> Response:
        """The order's invoice now, whether or not the relay was quicker."""
        number = await self._service.invoice(request.path_params["number"])
        self._runner.wake()
        return _json({"invoice": number})

    async def restock(self, request: Request) -> Response:
        """Say how many pieces there are."""
        body = await _body(request, NewStock)
        _check_sku(request.path_params["sku"])
        stock = await self._service.restock(request.path_params["sku"], body.left)
        return _json({"sku": stock.sku, "left": stock.left})

    async def events(self, request: Request) -> Response:
        """What was published, `?after=3` waits for a fourth, but not for ever."""
        after = request.query_params.get("after")
        if after is not None:
            if not re.fullmatch("[0-9]{1,9}", after):
                msg = "after: how many events were seen"
                raise BadRequest(msg)
            await self._published.wait_for_more(int(after), LONGEST_WAIT)
        return _json({"count": self._published.count, "events": list(self._published.events)})

    async def items(self, _: Request) -> Response:
        """Everything in the table as it is stored: to be looked at in an example, and nowhere else."""
        found = await self._store.execute(self._everything).strongly_consistent().send()
        return _json({"items": sorted(found, key=lambda item: (str(item["pk"]), str(item["sk"])))})

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncGenerator[None, None]:
        """The relay runs beside the requests, and ends before the store is closed."""
        async with self._store:
            relay = asyncio.create_task(self._runner.run())
            yield
            self._runner.stop()
            await relay


def create_app(store: Store[Async], table_name: str) -> Starlette:
    """The application over a store, which it closes in the end."""
    api = ShopApi(store, table_name)
    return Starlette(
        routes=[
            Route("/", api.page, methods=["GET"]),
            Route("/customers", api.register, methods=["POST"]),
            Route("/customers/{customer}/orders", api.checkout, methods=["POST"]),
            Route("/orders/{number:int}", api.order, methods=["GET"]),
            Route("/orders/{number:int}/invoice", api.invoice, methods=["POST"]),
            Route("/stock/{sku}", api.restock, methods=["PUT"]),
            Route("/events", api.events, methods=["GET"]),
            Route("/items", api.items, methods=["GET"]),
        ],
        exception_handlers={
            BadRequest: _says(400),
            EncodeError: _says(400),
            KeyValueError: _says(400),
            ItemNotFound: _says(404, "there is no such thing here"),
            EmailTaken: _says(409),
            SoldOut: _says(409),
            idempotency.PayloadMismatch: _says(422, "the key was used for another request: take a new one"),
            # nothing was done, or nobody knows: the same request with the same key is right in both cases
            gapless_sequence.Contended: _try_again,
            idempotency.Contended: _try_again,
            uniqueness.Contended: _try_again,
            OutcomeUnknown: _try_again,
            Throttled: _try_again,
            TransactionCanceled: _try_again,
            TransactionConflict: _try_again,
            VersionConflict: _try_again,
        },
        lifespan=api.lifespan,
    )


# ---- requests


def _key(request: Request) -> str:
    key = request.headers.get("idempotency-key", "")
    if not _KEY.fullmatch(key):
        msg = "the header Idempotency-Key is wanted, of up to 100 visible ASCII characters: new for each new wish"
        raise BadRequest(msg)
    return key


def _check_sku(sku: str) -> None:
    if sku not in PRICES:
        msg = f"sku: one of {', '.join(PRICES)}"
        raise BadRequest(msg)


async def _body(request: Request, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(await request.body(), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(str(error)) from error


# ---- answers


def _shown(order: Order) -> dict[str, object]:
    return {
        "number": order.number,
        "customer": order.customer,
        "sku": order.sku,
        "units": order.units,
        "total": order.total,
        "invoice": order.invoice,
    }


def _json(content: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(content), status, headers, media_type="application/json")


def _says(status: int, words: str | None = None) -> Callable[[Request, Exception], Response]:
    """An answer with these words or the error's own, which hold no values of anybody's items."""
    return lambda _, error: _json({"error": words or str(error)}, status)


def _try_again(_: Request, __: Exception) -> Response:
    words = "no answer this time: ask again, with the same key"
    return _json({"error": words}, 503, {"Retry-After": "1"})
