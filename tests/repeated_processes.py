"""What processes do that all want the same values, or repeat the same calls; a spawned process finds it here."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from pathlib import Path

from dynamap import F, OutcomeUnknown, Table, entity
from recipes import idempotency, uniqueness
from tests.recipe_processes import store_at

__all__ = ["Charge", "Wallet", "charge_all", "members", "register_all", "shop"]


@entity("WALLET", pk="WALLET#{name}", sk="WALLET")
class Wallet:
    """What charges are taken from."""

    name: str
    charges: int = 0


@entity("CHARGE", pk="CHARGE#{key}#{id}", sk="CHARGE")
class Charge:
    """An effect; a second one of the same key would be another item."""

    key: str
    id: str


def members(table: str) -> Table:
    return Table(table, [uniqueness.Registrant, uniqueness.Claim])


def shop(table: str) -> Table:
    return Table(table, [idempotency.Answered[str], Wallet, Charge], ttl="ttl")


def register_all(url: str, table: str, name: str, emails: Sequence[str], path: Path) -> None:
    """Register somebody with each of these addresses; writes to *path* which of them this process got."""
    store = store_at(url, members(table))
    won: list[str] = []
    for email in emails:
        registrant = uniqueness.Registrant(f"{name} {email}", uuid.uuid4().hex, email)
        while True:
            try:
                result = uniqueness.register(store, registrant)
            except (uniqueness.Contended, OutcomeUnknown):
                continue
            break
        if isinstance(result, uniqueness.Done):
            won.append(email)
    path.write_text(json.dumps(won))


def charge_all(url: str, table: str, keys: Sequence[str], path: Path) -> None:
    """Make one charge for each of these keys; writes to *path* what each of them was answered."""
    store = store_at(url, shop(table))
    once = idempotency.IdempotentTransaction(store, idempotency.Answered[str])
    answers: list[tuple[str, str]] = []
    for key in keys:

        def effect(key: str = key) -> idempotency.Effect[str]:
            charge = Charge(key, uuid.uuid4().hex)
            count = store.of(Wallet).upsert(name=key[-1]).add(F(Wallet.charges), 1)
            return idempotency.Effect(charge.id, [store.of(Charge).put(charge).if_not_exists(), count])

        while True:
            try:
                answers.append((key, once.run(key, {"key": key}, effect)))
            except (idempotency.Contended, OutcomeUnknown):
                continue
            break
    path.write_text(json.dumps(answers))
