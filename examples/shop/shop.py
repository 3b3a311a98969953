"""What the shop does, each act once however often it is asked for: six recipes over one table."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from dynamap import (
    CONDITION,
    TRANSACTION,
    VERSION,
    Async,
    F,
    Put,
    Store,
    Table,
    entity,
    evolve,
    retry_on_conflict,
)
from recipes.aio import gapless_sequence, hilo, outbox, uniqueness
from recipes.aio.counters import Stock
from recipes.aio.gapless_sequence import NumberClaim, Numbered
from recipes.aio.hilo import HiLo, HiLoBlock
from recipes.aio.idempotency import Answered, Effect, IdempotentTransaction, PayloadMismatch
from recipes.aio.outbox import OutboxEvent, OutboxLease
from recipes.aio.uniqueness import Claim, Registrant

PRICES = {"book": Decimal("12.50"), "lamp": Decimal(40)}
BUCKETS = 4
_CUSTOMERS = uuid.UUID("5a9ac6f5-51b2-4d3c-8d0a-9f1f5c9f0c53")


@entity("ORDER", pk="ORDER#{number}", sk="ORDER", version="revision", frozen=True)
class Order:
    """Who bought what; without an invoice until the relay has issued it."""

    number: int
    customer: str
    sku: str
    units: int
    total: Decimal
    invoice: int | None = None
    revision: int = 0


@entity("ACCOUNT", pk="ACCOUNT#{customer}", sk="ACCOUNT")
class Account:
    """What a customer was charged in all."""

    customer: str
    charged: Decimal = Decimal(0)


@entity("INVOICE", pk="INVOICE#{number}", sk="INVOICE", frozen=True)
class Invoice:
    """The document of a number: 1, 2, 3, ... without a hole."""

    number: int
    order: int
    total: Decimal


Shop = Table(
    "shop",
    [
        *(Order, Account, Invoice),
        *(Registrant, Claim, Stock, HiLoBlock, Answered[int], Numbered, NumberClaim, OutboxEvent, OutboxLease),
    ],
    ttl="expires_at",
)


class SoldOut(Exception):
    """There are too few pieces left; nothing was done."""


class EmailTaken(Exception):
    """Another customer has this address; nothing was done."""


@dataclass(frozen=True)
class Basket:
    """What a customer wants to buy."""

    customer: str
    sku: str
    units: int


async def prepare(store: Store[Async]) -> None:
    """Give a new table its counter of order numbers and something to sell."""
    await hilo.create(store, "orders")
    for sku in PRICES:
        await store.of(Stock).put(Stock(sku, 5)).if_not_exists().try_send()


class Service:
    """The acts of the shop, over one store."""

    def __init__(self, store: Store[Async]) -> None:
        self._store = store
        self._orders = store.of(Order)
        self._stocks = store.of(Stock)
        self._numbers = HiLo(store, "orders", size=10)
        self._once = IdempotentTransaction(store, Answered[int])

    async def register(self, key: str, email: str) -> Registrant:
        """Make a customer with an address that no other has; the same key again answers the same customer."""
        # the id comes from the key, so that a repetition means the same record
        customer = str(uuid.uuid5(_CUSTOMERS, key))
        done = await uniqueness.register(self._store, Registrant(customer, key, email))
        if isinstance(done, uniqueness.Taken):
            msg = "this e-mail address has a customer already"
            raise EmailTaken(msg)
        if done.registrant.email != email:
            msg = "the key was used for another address: a new request takes a new key"
            raise PayloadMismatch(msg)
        return done.registrant

    async def restock(self, sku: str, left: int) -> Stock:
        """Say how many pieces there are."""
        return await self._stocks.put(Stock(sku, left)).send()

    # a refusal by the stock's condition is looked at again: the next run reads that it is sold out
    @retry_on_conflict(on=CONDITION)
    async def checkout(self, key: str, basket: Basket) -> Order:
        """Take the pieces, charge the customer, store the order and its event: all of it once for a key, or nothing."""
        request = {"sku": basket.sku, "units": basket.units}
        # a customer's keys are their own: none leads to the answer of another's
        number = await self._once.run(f"{basket.customer}/{key}", request, partial(self._buy, basket))
        return await self.order(number)

    async def _buy(self, basket: Basket) -> Effect[int]:
        await self._store.of(Registrant).get(id=basket.customer).required().send()
        stock = await self._stocks.get(sku=basket.sku).required().strongly_consistent().send()
        if stock.left < basket.units:
            msg = "there are too few pieces left"
            raise SoldOut(msg)
        total = PRICES[basket.sku] * basket.units
        order = Order(await self._numbers.next(), basket.customer, basket.sku, basket.units, total)
        left = F(Stock.left)
        # the write of counters.take(), as a part of the transaction
        take = self._stocks.update(sku=basket.sku).add(left, -basket.units).if_(left.ge(basket.units))
        charge = self._store.of(Account).upsert(customer=basket.customer).add(F(Account.charged), total)
        return Effect(order.number, [take, charge, self._orders.put(order), self._event(order, "placed")])

    async def order(self, number: int) -> Order:
        """The order as it is now. Raises ItemNotFound."""
        return await self._orders.get(number=number).required().send()

    async def invoice(self, number: int) -> int:
        """Issue the order's invoice, unless it has one, and answer its number: asking again is harmless."""
        order = await self.order(number)
        if order.invoice is not None:
            return order.invoice
        document = partial(Invoice, order=number, total=order.total)
        issued = await gapless_sequence.issue(self._store, "invoices", str(number), document)
        # it is in the order only afterwards: whoever fails in between is followed by the relay, that finds the number
        return await self._note_invoice(number, issued.number)

    @retry_on_conflict(attempts=20, on=VERSION | TRANSACTION)
    async def _note_invoice(self, number: int, invoice: int) -> int:
        order = await self.order(number)
        if order.invoice is None:
            noted = self._orders.update(order).to(evolve(order, invoice=invoice))
            await self._store.transact(noted, self._event(order, "invoiced")).send()
        return invoice

    def _event(self, order: Order, what: str) -> Put[Async, OutboxEvent]:
        payload = json.dumps({"order": order.number, "event": what})
        return outbox.record(self._store, f"order-{order.number}", order.revision, payload, buckets=BUCKETS)
