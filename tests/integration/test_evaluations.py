"""The verdicts on conditions are those of servers too, which evaluate what was compiled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from dynamap import Condition
from dynamap.expressions import Compiler
from tests.backends import Backend
from tests.evaluations import CASES, ITEM, Thing, Things
from tests.modes import RawTable

THING = Things.entity(Thing)
# Where a server is known to be wrong: AWS documents the other answer.
WRONG: dict[str, list[str]] = {
    "embedded": ["begins_with of bytes", "size of a missing attribute"],
    "dynalite": ["= of lists", "= of lists of numbers", "= of maps", "= of a nested class"],
}


@pytest.fixture
def thing(raw: RawTable) -> Iterator[RawTable]:
    """A table with the item that the conditions are about."""
    raw.client.put_item(TableName=raw.name, Item=THING.encode(ITEM))
    return raw


def holds(table: RawTable, condition: Condition) -> bool | None:
    """The server's verdict; None where it has none."""
    compiler = Compiler(THING)
    text = compiler.condition([condition])
    update: dict[str, Any] = {"ConditionExpression": text, **compiler.placeholders()}
    try:
        table.client.update_item(
            TableName=table.name, Key=THING.key_of(ITEM), UpdateExpression="REMOVE nothing", **update
        )
    except ClientError as error:
        return False if error.response["Error"]["Code"] == "ConditionalCheckFailedException" else None
    return True


def test_servers_agree(thing: RawTable, backend: Backend) -> None:
    found = {name: holds(thing, condition) for name, (condition, _) in CASES.items()}
    differ = [name for name, (_, verdict) in CASES.items() if found[name] is not verdict]
    assert differ == WRONG.get(backend.name, [])
