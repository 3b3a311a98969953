"""A shorter way through a client for calls of ours: its events, connections and credentials, without its slow parts.

A call is made on the client as ever, so that whoever wraps the client or handles its events sees and may change it. The
handlers here come last. They hand botocore few parameters to check, write the body, let the request be signed, sent and
its answer read (`attempts`), and return both from `before-call`, which boto3's guide to extensibility documents. Where
nobody can look at the parameters of a client that dynamap makes, it is given only those few at once, and items go along
as bytes.

What is of a kind unknown here takes the plain way: botocore goes on with the body that it is given.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from importlib import import_module
from types import FunctionType
from typing import Any, NoReturn
from weakref import WeakKeyDictionary, ref

from dynamap.drivers.attempts import Attempt, Attempts, Steps
from dynamap.drivers.events import OtherHandlers
from dynamap.drivers.failures import OurCall, our_call, within_deadline
from dynamap.drivers.requests import OPERATIONS, body_of, small_params
from dynamap.plan import Call

__all__ = ["AsyncLane", "Lane", "LaneRefused", "SyncLane", "begin_call", "lane_of"]

_KEY = "dynamap_passage"
# where the method that makes calls, or what botocore itself has put around it, comes from
_CLIENTS = ("botocore.client", "botocore.context", "aiobotocore.client", "aiobotocore.context")
_CONTENT_TYPE = "application/x-amz-json-1.0"
_log = logging.getLogger("botocore")


class LaneRefused(Exception):
    """Nothing was sent, and the call is to be made again without the lane."""


@dataclass
class _Passage:
    """One call on its way: the parameters that were given, as they were then, and those that botocore has."""

    given: dict[str, Any]
    before: dict[str, Any]
    params: dict[str, Any]
    call: OurCall
    small: dict[str, Any] = field(default_factory=dict[str, Any])
    body: bytes = b""


class Lane:
    """The handlers of one client; see `SyncLane` and `AsyncLane`."""

    before_call: Callable[..., Any]

    def __init__(self, client: Any) -> None:
        self._events = client.meta.events
        # both are handlers of before-send as well, for what botocore sends: see register() and clients
        checks = (within_deadline, self.check_whole)
        self._attempts = Attempts(self._events, self._plainly, self._pause, self._for_session, checks)
        # loaded with the client
        self._validate: Any = import_module("botocore.validate").validate_parameters
        self._closed: str | None = None
        self._exception = ""
        protocol = client.meta.service_model.metadata.get("protocol")
        if protocol != "json":
            self._closed = f"this botocore speaks the protocol {protocol}"

    def register(self) -> None:
        """Take the last place at the events; the general names come after those of a service or an operation."""
        for event, handler in (
            ("provide-client-params", self.provide_params),
            ("before-parameter-build", self.build),
            ("before-call", self.before_call),
        ):
            self._events.register_last(event, handler, unique_id=f"dynamap-lane-{event}")
        self._events.register_first("before-send.dynamodb", self.check_whole, unique_id="dynamap-lane-check-whole")
        self._attempts.register()

    def own(self, others: OtherHandlers, transport: Any = None) -> None:
        """Know that dynamap has made the client, and of handlers that others have all the same, by events.

        The client leaves the validation of parameters to the lane then. *transport* are connections; without them the
        client's own are used.
        """
        self._attempts.transport = transport
        self._attempts.others = others

    def explain(self) -> str:
        """Which way the calls take, and why."""
        if self._closed is not None:
            return f"plain: {self._closed}"
        if not self._attempts.are_ready:
            return "plain: the first call goes the plain way, from its answer on the next take the lane"
        over = "its own connections" if self.transport is None else "the lane's own connections"
        return f"lane: through the client and its events, over {over}{self._exception}"

    @property
    def transport(self) -> Any:
        """Connections of the lane's own, if it has any."""
        return self._attempts.transport

    def takes_bytes(self, client: Any) -> bool:
        """Whether nobody looks at the parameters of a call, so that items may go along as bytes instead."""
        others = self._attempts.others
        if others is None or others.before or self._closed is not None or _log.isEnabledFor(logging.DEBUG):
            return False
        # tracing and tests put functions of theirs in its place
        anything: object = client
        call: Any = getattr(type(anything), "_make_api_call", None)
        return type(call) is FunctionType and call.__globals__.get("__name__") in _CLIENTS

    def use(self, endpoint: Any) -> None:
        """Take the endpoint that `needs-retry` names after an answer; its connections are the client's."""
        if self._attempts.endpoint is None and endpoint is not None and self._closed is None:
            if all(hasattr(endpoint, name) for name in ("http_session", "prepare_request")):
                self._attempts.endpoint = endpoint
            else:
                self._closed = f"the client's endpoint is a {type(endpoint).__name__}, which is not botocore's"

    def close(self, reason: str) -> None:
        """Let every call take the plain way from now on."""
        self._closed = reason

    def _plainly(self, reason: str) -> None:
        self._exception = f"; the last call that took the plain way did so because {reason}"

    # ---- handlers

    def provide_params(self, params: Any = None, model: Any = None, context: Any = None, **_rest: object) -> Any:
        """Give botocore parameters of its own: those of the call, which wrappers may look at, stay as they are."""
        call = our_call()
        if call is not None and call.given is not None:
            context[_KEY] = _Passage(params, call.params, params, call)
            return None
        if call is None or not call.lane or self._closed is not None:
            return None
        if model.name not in OPERATIONS:
            return None
        if _log.isEnabledFor(logging.DEBUG):
            self._plainly("botocore's log is set to DEBUG")
            return None
        passage = context[_KEY] = _Passage(params, params.copy(), params.copy(), call)
        return passage.params

    def build(self, params: Any = None, model: Any = None, context: Any = None, **_rest: object) -> None:
        """Write the body, and leave only what botocore needs to find the endpoint."""
        if (
            not self._builds(params, model, context)
            and self._attempts.others is not None
            and model.input_shape is not None
        ):
            self._validate(params, model.input_shape)

    def check_whole(self, request: Any = None, **_rest: object) -> None:
        """Let nothing but the body that was written be sent for a call whose items the client was not given."""
        call = our_call()
        if call is not None and call.given is not None and request.body != call.body:
            self._refuse("somebody keeps events of the client back")

    def _builds(self, params: Any, model: Any, context: Any) -> bool:
        passage: _Passage | None = context.get(_KEY)
        if passage is None:
            return False
        if passage.call.given is not None:
            return self._builds_of_bytes(passage, model.name, params)
        if params is not passage.params:
            del context[_KEY]
            self._plainly("another handler of provide-client-params gave the parameters")
            return False
        if passage.given != passage.before:
            self._refuse("a handler of provide-client-params that comes after ours changes parameters")
        small = small_params(model.name, params)
        body = None if small is None else body_of(params)
        if small is None or body is None:
            del context[_KEY]
            self._plainly("botocore is to judge its parameters")
            return False
        passage.body, passage.small = body, small
        params.clear()
        params.update(small)
        return True

    def _builds_of_bytes(self, passage: _Passage, operation: str, params: Any) -> bool:
        """Write the body of what the client was not given; it must not send what it was given."""
        given = passage.call.given
        # made anew: whoever wraps a method may have changed what is inside
        small = None if given is None else small_params(operation, given)
        body = None if given is None or params is not passage.params or params != small else body_of(given)
        if small is None or body is None:
            self._refuse("somebody has other parameters for a call than it was made with")
        passage.small = small
        passage.body = passage.call.body = body
        return True

    def _entered(self, model: Any, params: Any, request_signer: Any, context: Any) -> Steps | None:
        """The steps of a call that is on its way, which end with `(http, parsed)`; None of one that is not.

        They end with None for the plain way, on which the body goes along.
        """
        passage: _Passage | None = context.pop(_KEY, None)
        if passage is None:
            return None
        self._hand_over(passage, params)
        if not self._attempts.are_ready:
            # botocore sends the same body: a transaction that is sent again, on the lane, is the same to the byte
            return None
        return self._attempts.steps(Attempt(passage.call, model, params, request_signer, context))

    def _hand_over(self, passage: _Passage, request: Any) -> None:
        if passage.params != passage.small:
            self._refuse("a handler of before-parameter-build that comes after ours changes parameters")
        if request["headers"].get("Content-Type") != _CONTENT_TYPE or request["method"] != "POST":
            self._refuse("botocore makes requests of another kind")
        request["body"] = passage.body

    def _refuse(self, reason: str) -> NoReturn:
        self.close(reason)
        raise LaneRefused(reason)

    def _pause(self, seconds: float) -> Any:
        raise NotImplementedError

    def _for_session(self, prepared: Any) -> Any:
        """The request in the form that the client's own connections are quickest with."""
        return prepared


class SyncLane(Lane):
    """The handlers of one boto3 or botocore client."""

    def before_call(
        self, model: Any = None, params: Any = None, request_signer: Any = None, context: Any = None, **_rest: object
    ) -> Any:
        """Send the request and answer `(http, parsed)`; None where botocore is to send it."""
        steps = self._entered(model, params, request_signer, context)
        if steps is None:
            return None
        answer = None
        while True:
            try:
                answer = steps.send(answer)
            except StopIteration as stop:
                return stop.value

    def _pause(self, seconds: float) -> Any:
        time.sleep(seconds)

    def _for_session(self, prepared: Any) -> Any:
        # urllib3 copies and searches the headers, which a dict is best at
        lean = copy(prepared)
        lean.headers = dict(prepared.headers.items())
        return lean


class AsyncLane(Lane):
    """The handlers of one aiobotocore client."""

    async def before_call(
        self, model: Any = None, params: Any = None, request_signer: Any = None, context: Any = None, **_rest: object
    ) -> Any:
        """That of SyncLane, awaited."""
        steps = self._entered(model, params, request_signer, context)
        if steps is None:
            return None
        answer: Any = None
        error: Exception | None = None
        try:
            while True:
                try:
                    step = steps.send(answer) if error is None else steps.throw(error)
                except StopIteration as stop:
                    return stop.value
                answer = error = None
                try:
                    answer = await step if hasattr(step, "__await__") else step
                except Exception as raised:  # noqa: BLE001 - the steps decide; cancellation passes through
                    error = raised
        finally:
            steps.close()

    def _pause(self, seconds: float) -> Any:
        # loaded already by whoever made the client
        import asyncio  # noqa: PLC0415

        return asyncio.sleep(seconds)


_lanes: WeakKeyDictionary[Any, ref[Lane]] = WeakKeyDictionary()
"""By the client's events: however a client is wrapped, these are the same; they hold the lane, and it them."""


def lane_of(client: Any, make: Callable[[Any], Lane] | None = None) -> Lane | None:
    """The lane of this client, made and registered now if there is none and *make* is given.

    None as well for what only resembles a client of botocore's, and has events of its own kind.
    """
    events = getattr(getattr(client, "meta", None), "events", None)
    if not all(hasattr(events, name) for name in ("emit", "emit_until_response", "register_last", "__weakref__")):
        return None
    found = _lanes.get(events)
    lane = None if found is None else found()
    if lane is None and make is not None:
        lane = make(client)
        lane.register()
        _lanes[events] = ref(lane)
    return lane


def begin_call(client: Any, call: Call, *, lane: bool) -> OurCall:
    """What a call of ours is while it is under way; entered, it gives the parameters for the client."""
    if lane and call.holds_json:
        way = lane_of(client)
        if way is not None and way.takes_bytes(client):
            small = small_params(call.operation, call.given)
            if small is not None:
                return OurCall(small, lane=True, decode=call.decode, given=call.given)
    return OurCall(call.params, lane=lane, decode=call.decode)
