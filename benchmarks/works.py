"""The works that every peer does, and what they have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

WORKS: Mapping[str, int] = {
    "get": 200,
    "put": 200,
    "update": 200,
    "query": 6,
    "query_5_types": 6,
    "batch_get": 40,
    "batch_write": 40,
    "transact": 60,
}
"""The names, and how often each is done in a round."""

Works = dict[str, Callable[[], Any]]
"""What a peer can do: each call does the work once; of peers for asyncio, it answers something to await."""

UPDATE: Mapping[str, Any] = {"quantity": 5, "note": "a new note", "price": Decimal("1.50")}
"""What an update sets, of the item with this number, while `quantity` is that much."""
UPDATED = 1
UPDATE_IF = 4

RAW_UPDATE: Mapping[str, Any] = {
    "UpdateExpression": "SET #q = :q, #n = :n, #p = :p",
    "ConditionExpression": "#q = :if",
    "ExpressionAttributeNames": {"#q": "quantity", "#n": "note", "#p": "price"},
}
"""The same for clients that take it as it is sent."""
RAW_UPDATE_VALUES: Mapping[str, Any] = {
    ":q": UPDATE["quantity"],
    ":n": UPDATE["note"],
    ":p": UPDATE["price"],
    ":if": UPDATE_IF,
}


@dataclass(frozen=True)
class Peer:
    """A library, or a way to use one: `benchmarks/peers/<module>.py`, and the distributions that it needs."""

    name: str
    module: str
    needs: tuple[str, ...]
    least_python: tuple[int, int] = (3, 10)
    quick: bool = True


PEERS = (
    Peer("boto3", "bare_boto3", ("boto3",)),
    Peer("boto3_table", "boto3_table", ("boto3",), quick=False),
    Peer("dynamap", "dynamap_sync", ("dynamap",)),
    Peer("dynamap_aio", "dynamap_aio", ("dynamap", "aiobotocore")),
    Peer("pynamodb", "with_pynamodb", ("pynamodb",)),
    Peer("aiodynamo", "with_aiodynamo", ("aiodynamo", "aiohttp")),
    Peer("dynamoxy", "with_dynamoxy", ("dynamoxy",), least_python=(3, 12)),
    Peer("aiobotocore", "with_aiobotocore", ("aiobotocore",), quick=False),
    Peer("dyntastic", "with_dyntastic", ("dyntastic",), quick=False),
    Peer("pydynantic", "with_pydynantic", ("pydynantic",), quick=False),
)
"""The first is what all others are compared with; only the quick ones run in the quick form."""
