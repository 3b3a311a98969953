"""One action of a transaction, and what the service asks of all of them together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from dynamap.codec import MOST_ITEM_BYTES, JsonItem, item_size, size_at_most
from dynamap.errors import LimitExceeded, RequestError
from dynamap.markers import Write
from dynamap.model import Entity
from dynamap.operations.base import Runtime
from dynamap.operations.one_client import check_one_client, unpacking_remedy
from dynamap.operations.replication import check_transactions_hold
from dynamap.operations.settling import Terms
from dynamap.plan import Call, Item

__all__ = [
    "LONGEST_TOKEN",
    "MOST_ACTIONS",
    "Action",
    "check_actions",
    "checked_write",
    "transaction_of",
]

MOST_ACTIONS = 100
LONGEST_TOKEN = 36
MOST_BYTES = 4 * 1024 * 1024


class Action(msgspec.Struct, eq=False):
    """A write as a part of a transaction: its request, and what it is sent under, which says what its failure means.

    *kind* is Put, Update, Delete or ConditionCheck, *key* that of the item that it is about. *stored* answers the
    entity that it stores, None where that is not known. The *terms* and what *may_be_missing*, the parts of the item
    inside of which something is changed, are put together when they are asked for, and so is the name.
    """

    kind: str
    params: dict[str, Any]
    entity: Entity[Any]
    key: Item
    named: object
    made_under: Callable[[], Terms]
    stored: Callable[[], Any] = lambda: None
    may_be_missing: Callable[[], Sequence[str]] = tuple

    @property
    def what(self) -> str:
        """What it is called in messages."""
        return str(self.named)

    @property
    def terms(self) -> Terms:
        """What it is sent under."""
        return self.made_under()

    @property
    def parents(self) -> Sequence[str]:
        """The parts of the item that may be missing for what is changed inside of them."""
        return self.may_be_missing()

    def has_expired(self, item: Mapping[str, Any]) -> bool:
        """Whether the item that stands there counts as absent."""
        now = self.terms.now
        return now is not None and self.entity.is_expired(item, now)

    @property
    def identity(self) -> tuple[Any, ...]:
        """What two actions on one item share."""
        return (self.params["TableName"], *self.entity.layout.identity(self.key))


def transaction_of(actions: Sequence[Action], token: str) -> Call:
    """The request of a transaction."""
    items = [{action.kind: action.params} for action in actions]
    holds_json = any(type(action.params.get("Item")) is JsonItem for action in actions)
    return Call("TransactWriteItems", {"TransactItems": items, "ClientRequestToken": token}, holds_json=holds_json)


def checked_write(position: int, operation: object, runtime: Runtime) -> Any:
    """The operation, if it may be part of a transaction over this client. Raises RequestError."""
    made: Any = operation
    if not isinstance(operation, Write) or not hasattr(made, "_action"):
        msg = (
            f"transact() takes puts, updates, upserts, deletes and checks, without returning() and returning_old(); "
            f"argument {position} is {type(made).__name__}{unpacking_remedy('transact', made)}"
        )
        raise RequestError(msg)
    check_one_client("transact()", position, made._runtime, runtime)  # noqa: SLF001
    check_transactions_hold(made._scope.entity, f"transact(): argument {position}")  # noqa: SLF001
    return made


def check_actions(actions: Sequence[Action]) -> None:
    """Raise LimitExceeded or RequestError for what the service would refuse.

    https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
    """
    if len(actions) > MOST_ACTIONS:
        msg = f"a transaction takes up to {MOST_ACTIONS} operations; got {len(actions)}: make several of it"
        raise LimitExceeded(msg)
    seen: dict[tuple[Any, ...], tuple[int, Action]] = {}
    for position, action in enumerate(actions, 1):
        identity = action.identity
        if identity in seen:
            first, other = seen[identity]
            msg = (
                f"a transaction takes one operation per item, but operations {first} ({other.what}) and "
                f"{position} ({action.what}) are about the same: make one of them"
            )
            raise RequestError(msg)
        seen[identity] = (position, action)
    if sum(map(_at_most, actions)) <= MOST_BYTES or sum(map(_most, actions)) <= MOST_BYTES:
        return
    size = sum(map(_size, actions))
    if size > MOST_BYTES:
        msg = f"the items of this transaction have {size:,} bytes; DynamoDB takes {MOST_BYTES:,}: make several of it"
        raise LimitExceeded(msg)


def _at_most(action: Action) -> int:
    """No less than the size of an action, without a look at its item: that was checked when it was made."""
    values = action.params.get("ExpressionAttributeValues")
    return MOST_ITEM_BYTES if values is None else MOST_ITEM_BYTES + size_at_most(values)


def _most(action: Action) -> int:
    """No less than the size of an action."""
    values = action.params.get("ExpressionAttributeValues")
    most = size_at_most(action.params.get("Item") or action.key)
    return most if values is None else most + size_at_most(values)


def _size(action: Action) -> int:
    values = action.params.get("ExpressionAttributeValues", {})
    return item_size(action.params.get("Item") or action.key) + item_size(values)
