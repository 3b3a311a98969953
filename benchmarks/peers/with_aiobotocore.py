"""aiobotocore's client: boto3's for asyncio, with the same answers."""

from __future__ import annotations

from aiobotocore.session import get_session

from benchmarks.peers.wire import works_of
from benchmarks.works import Works


async def prepare(url: str) -> Works:
    return works_of(await get_session().create_client("dynamodb", endpoint_url=url).__aenter__())
