"""One test for both modes: a `Mode` connects as its name says and waits for whatever an operation answers."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

from aiobotocore.config import AioConfig

from dynamap import Store, Table, connect, connect_async
from tests.backends import Backend
from tests.sessions import shared_session

MODES = ("sync", "async")


class Mode:
    """`connect` or `connect_async`, over one client for each backend; its tasks run in one event loop."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._loop = asyncio.new_event_loop()
        self._clients: dict[str, Any] = {}
        self._resources = AsyncExitStack()

    def __repr__(self) -> str:
        return f"Mode({self.name!r})"

    @property
    def is_async(self) -> bool:
        return self.name == "async"

    def connect(self, table: Table, backend: Backend, **options: Any) -> Store[Any]:
        """A store over this mode's client of the backend; its repeats follow at once, without a pause."""
        if not self.is_async:
            return impatient(connect(table, client=backend.client, **options))
        if backend.url not in self._clients:
            self._clients[backend.url] = self.wait(self.open_client(backend.url))
        return impatient(connect_async(table, client=self._clients[backend.url], **options))

    def connect_url(self, table: Table, url: str, **options: Any) -> Store[Any]:
        """A store that makes its own client; close it by `wait(store.close())`."""
        return impatient((connect_async if self.is_async else connect)(table, endpoint_url=url, **options))

    async def open_client(self, url: str, **config: Any) -> Any:
        """An aiobotocore client that lives as long as this mode."""
        return await self._resources.enter_async_context(async_client(url, **config))

    def wait(self, answer: Any) -> Any:
        """What an operation answers: in asyncio it is awaited."""
        return self._loop.run_until_complete(answer) if inspect.isawaitable(answer) else answer

    def call(self, function: Any, /, *args: Any) -> Any:
        """Call it, in asyncio inside the event loop, and wait for what it answers."""

        async def inside() -> Any:
            answer = function(*args)
            return await answer if inspect.isawaitable(answer) else answer

        return self.wait(inside()) if self.is_async else function(*args)

    def gather(self, *coroutines: Coroutine[Any, Any, Any]) -> list[Any]:
        """Run these as tasks beside each other."""

        async def together() -> list[Any]:
            return await asyncio.gather(*coroutines)

        results: list[Any] = self.wait(together())
        return results

    def close(self) -> None:
        self.wait(self._resources.aclose())
        self._loop.close()


def async_client(url: str, **config: Any) -> Any:
    """An aiobotocore client of a local endpoint, as a context manager; more of its config by keyword."""
    return shared_session("async").create_client(
        "dynamodb",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",  # a placeholder: local servers check no signature
        # node closes what was idle for five seconds: let go of it before, or a write meets its end
        config=AioConfig(**{"max_pool_connections": 100, "connector_args": {"keepalive_timeout": 3}, **config}),
    )


def impatient(store: Store[Any]) -> Store[Any]:
    """The same store without pauses between its repeats: full jitter from a random that answers 0."""
    store._runtime = replace(store._runtime, random=lambda: 0.0)
    return store


class RawTable:
    """A table as a plain boto3 client sees it: what other programs read and write there."""

    def __init__(self, client: Any, name: str) -> None:
        self.client = client
        self.name = name

    def create(self) -> None:
        answer = self.client.create_table(
            TableName=self.name,
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            BillingMode="PAY_PER_REQUEST",
        )
        status = answer["TableDescription"]["TableStatus"]
        while status != "ACTIVE":
            status = self.client.describe_table(TableName=self.name)["Table"]["TableStatus"]

    def get(self, pk: str, sk: str) -> dict[str, Any] | None:
        item: dict[str, Any] | None = self.client.get_item(
            TableName=self.name, Key=_key(pk, sk), ConsistentRead=True
        ).get("Item")
        return item

    def put(self, pk: str, sk: str, /, **attributes: Any) -> None:
        self.client.put_item(TableName=self.name, Item={**_key(pk, sk), **attributes})

    def update(self, pk: str, sk: str, text: str, /, **values: Any) -> None:
        """An unguarded update; *values* stand for `:name` in the text, and names in it must not be reserved."""
        self.client.update_item(
            TableName=self.name,
            Key=_key(pk, sk),
            UpdateExpression=text,
            **({"ExpressionAttributeValues": {f":{name}": value for name, value in values.items()}} if values else {}),
        )

    def delete(self, pk: str, sk: str) -> None:
        self.client.delete_item(TableName=self.name, Key=_key(pk, sk))


def _key(pk: str, sk: str) -> dict[str, Any]:
    return {"pk": {"S": pk}, "sk": {"S": sk}}
