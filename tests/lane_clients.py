"""Clients of both modes whose answers come from a list, and which keep what was to be sent; for tests of the lane."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from aiobotocore.awsrequest import AioAWSResponse
from aiobotocore.config import AioConfig
from botocore.awsrequest import AWSResponse
from botocore.config import Config

from dynamap.drivers import AsyncDriver, SyncDriver
from dynamap.drivers.events import OtherHandlers
from dynamap.drivers.lane import lane_of
from dynamap.plan import Call, Plan
from tests.sessions import shared_session

__all__ = ["KEYS", "MODES", "OWN", "Answer", "LaneClient", "opened"]

KEYS = {"aws_access_key_id": "AKIDEXAMPLE", "aws_secret_access_key": "secret", "aws_session_token": "token"}
MODES = ["sync", "async"]
# of clients as dynamap makes them
OWN = ["sync, own", "async, own"]
GET = Call("GetItem", {"TableName": "table", "Key": {"pk": {"S": "a"}}})


@dataclass
class Answer:
    """What comes back over the wire, or is raised."""

    body: bytes = b"{}"
    status: int = 200
    error: Exception | None = None
    checksum: str | None = None
    length: str | None = None

    @property
    def headers(self) -> dict[str, str]:
        return {
            "x-amzn-RequestId": "request",
            "Content-Type": "application/x-amz-json-1.0",
            "Content-Length": self.length or str(len(self.body)),
            "x-amz-crc32": self.checksum or str(zlib.crc32(self.body)),
        }


class LaneClient:
    """A client with a driver of its mode; *sent* are the requests that would have gone out."""

    def __init__(self, client: Any, loop: asyncio.AbstractEventLoop | None, *, lane: bool, own: bool = False) -> None:
        self.client, self._loop = client, loop
        self.sent: list[Any] = []
        self.answers: list[Answer] = []
        self.use_lane(lane)
        way = lane_of(client)
        if way is not None and own:
            # the answers come from a handler of that
            way.own(OtherHandlers(sending=True))
        # before what tests register, which is called first then
        client.meta.events.register_last("before-send", self._send_async if loop else self._send)

    def use_lane(self, lane: bool) -> None:
        driver: Any = AsyncDriver if self._loop else SyncDriver
        self.driver = driver(self.client, lane=lane)

    def register(self, event: str, handler: Callable[..., Any], *, last: bool = False) -> None:
        events = self.client.meta.events
        (events.register_last if last else events.register)(event, handler)

    def run(self, call: Call = GET, answer: Answer | None = None) -> Any:
        self.answers.append(answer or Answer())
        return self.wait(self.driver.run(_one(call)))

    def own(self, method: str, answer: Answer | None = None, **params: Any) -> Any:
        """A call that is not dynamap's."""
        self.answers.append(answer or Answer())
        return self.wait(getattr(self.client, method)(**params))

    def wait(self, answer: Any) -> Any:
        return answer if self._loop is None else self._loop.run_until_complete(answer)

    def explain(self) -> str:
        explanation: str = self.driver.explain_client()
        return explanation

    def _next(self, request: Any) -> Answer:
        self.sent.append(request)
        answer = self.answers.pop(0)
        if answer.error is not None:
            raise answer.error
        return answer

    def _send(self, request: Any, **_rest: Any) -> Any:
        answer = self._next(request)
        raw = SimpleNamespace(stream=lambda **_: iter([answer.body]))
        return AWSResponse(request.url, answer.status, answer.headers, raw)

    async def _send_async(self, request: Any, **_rest: Any) -> Any:
        answer = self._next(request)

        async def read() -> bytes:
            return answer.body

        # older versions take the headers from here
        pairs = [(name.encode(), value.encode()) for name, value in answer.headers.items()]
        raw = SimpleNamespace(read=read, raw_headers=pairs)
        return AioAWSResponse(request.url, answer.status, answer.headers, raw)


def _one(call: Call) -> Plan[Any]:
    return (yield call)


@contextmanager
def opened(
    mode: str, *, lane: bool = True, session: Any = None, warm: bool = True, **options: Any
) -> Iterator[LaneClient]:
    """A client, which has had its first call unless it is not to be *warm*."""
    mode, _, own = mode.partition(", ")
    arguments: dict[str, Any] = {"region_name": "us-east-1", **({} if session else KEYS)}
    retries = options.pop("retries", None)
    config: Any = AioConfig if mode == "async" else Config
    arguments |= {"config": config(retries=retries, parameter_validation=not own), **options}
    if mode == "sync":
        made = (session or shared_session(mode)).create_client("dynamodb", **arguments)
        yield _warmed(LaneClient(made, None, lane=lane, own=bool(own)), warm)
        made.close()
        return
    loop = asyncio.new_event_loop()
    stack = AsyncExitStack()
    context = (session or shared_session(mode)).create_client("dynamodb", **arguments)
    made = loop.run_until_complete(stack.enter_async_context(context))
    try:
        yield _warmed(LaneClient(made, loop, lane=lane, own=bool(own)), warm)
    finally:
        loop.run_until_complete(stack.aclose())
        loop.close()


def _warmed(client: LaneClient, warm: bool) -> LaneClient:
    if warm:
        client.run()
        client.sent.clear()
    return client
