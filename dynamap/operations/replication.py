"""What a global table cannot keep, and is refused before it is sent.

With eventual consistency each region takes a write by what it holds itself, and of two writes of one item the last one
wins everywhere: a condition that held, or an amount that was added, may be gone afterwards. With strong consistency
conditions hold in every region, and there are no transactions.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GlobalTables.html
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dynamap.errors import RequestError
from dynamap.expressions import Action, Add, Sum
from dynamap.expressions import Set as SetAction
from dynamap.model import Entity

__all__ = ["check_actions_hold", "check_condition_holds", "check_transactions_hold"]


def check_condition_holds(entity: Entity[Any], what: object) -> None:
    """Raise RequestError where another region may write at the same time under the same condition."""
    if entity.layout.replicated is True:
        msg = (
            f"{what}: the table is replicated, so that a condition holds in one region only, and the last writer of "
            f"any region wins: leave the condition out, or let one region write, without replicated=True"
        )
        raise RequestError(msg)


def check_actions_hold(entity: Entity[Any], what: object, actions: Iterable[Action]) -> None:
    """Raise RequestError for an action that counts on what other regions have written."""
    if entity.layout.replicated is not True:
        return
    for action in actions:
        counts = isinstance(action, Add) or (isinstance(action, SetAction) and isinstance(action.value, Sum))
        if counts:
            msg = (
                f"{what}: the table is replicated, so that what is added in two regions at a time is lost in one: set "
                f"values, keep an item for each region, or let one region write, without replicated=True"
            )
            raise RequestError(msg)


def check_transactions_hold(entity: Entity[Any], what: str) -> None:
    """Raise RequestError where the service has no transactions."""
    if entity.layout.replicated == "strongly":
        msg = (
            f"{what}: the table is replicated with strong consistency, where DynamoDB has no transactions: write the "
            f"items one by one, each under its version or a condition"
        )
        raise RequestError(msg)
