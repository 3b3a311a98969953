"""A shorter way through a client for calls of ours: its events, connections and credentials, without its slow parts.

A call is made on the client as ever, with all its parameters, so that whoever wraps the client or handles its events
sees and may change it. The handlers here come last. They hand botocore few parameters to check, write the body, sign,
send over the client's own connections and read the answer, and return both from `before-call`, which boto3's guide to
extensibility documents. In between come the events that botocore itself emits for a request, with the same arguments.

What is of a kind unknown here takes the plain way: botocore goes on with the body that it is given.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Generator
from copy import copy
from dataclasses import dataclass, field
from importlib import import_module
from types import FunctionType, MethodType
from typing import Any
from weakref import WeakKeyDictionary, ref

from dynamap.drivers.failures import DamagedReply, OurCall, check_reply, our_call
from dynamap.drivers.messages import Headers
from dynamap.drivers.replies import parsed_reply
from dynamap.drivers.requests import OPERATIONS, body_of, small_params
from dynamap.drivers.signing import Signer

__all__ = ["AsyncLane", "Lane", "LaneRefused", "SyncLane", "lane_of"]

Steps = Generator[Any, Any, Any]
"""Yields what a client gives, an answer or one that is still to be awaited, and is sent the answer."""

_REPLACED = ("botocore.endpoint", "botocore.httpsession")
_KEY, _SIGNATURE = "dynamap_passage", "dynamap_signature"
_OURS = "dynamap"
_FIRST_NO_SUCCESS = 300
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


class _Attempt:
    """What the sending of one request needs to know."""

    __slots__ = ("call", "context", "model", "name", "params", "signer")

    def __init__(self, call: OurCall, model: Any, params: Any, signer: Any, context: Any) -> None:
        self.call, self.model, self.params, self.signer, self.context = call, model, params, signer, context
        self.name = f"dynamodb.{model.name}"


class _Signature:
    """What a request is signed with, if it is left to the lane."""

    __slots__ = ("auth", "is_ours", "region", "service")

    def __init__(self, auth: Any, region: str, service: str) -> None:
        self.auth, self.region, self.service = auth, region, service
        self.is_ours = False


class Lane:
    """The handlers of one client; see `SyncLane` and `AsyncLane`."""

    before_call: Callable[..., Any]
    transport: Any = None
    """Connections of the lane's own; without them, and for what they do not take, the client's are used."""
    validates = False
    """Whether the client leaves it to the lane to look at the parameters of calls that take the plain way."""

    def __init__(self, client: Any) -> None:
        self._events = client.meta.events
        self._signer = Signer()
        # loaded with the client
        self._unsigned: Any = import_module("botocore").UNSIGNED
        self._create_request: Any = import_module("botocore.awsrequest").create_request_object
        self._validate: Any = import_module("botocore.validate").validate_parameters
        self._endpoint: Any = None
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
        # beside botocore's own signer, so that what comes after it is as little signed as ever
        self._events.register("request-created.dynamodb", self.sign, unique_id="dynamap-lane-sign")
        self._events.register_last("choose-signer", self.choose, unique_id="dynamap-lane-choose")

    def explain(self) -> str:
        """Which way the calls take, and why."""
        if self._closed is not None:
            return f"plain: {self._closed}"
        if self._endpoint is None:
            return "plain: the first call goes the plain way, from its answer on the next take the lane"
        over = "its own connections" if self.transport is None else "the lane's own connections"
        return f"lane: through the client and its events, over {over}{self._exception}"

    def use(self, endpoint: Any) -> None:
        """Take the endpoint that `needs-retry` names after an answer; its connections are the client's."""
        if self._endpoint is None and endpoint is not None and self._closed is None:
            if all(hasattr(endpoint, name) for name in ("http_session", "prepare_request")):
                self._endpoint = endpoint
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
        if not self._builds(params, model, context) and self.validates and model.input_shape is not None:
            self._validate(params, model.input_shape)

    def _builds(self, params: Any, model: Any, context: Any) -> bool:
        passage: _Passage | None = context.get(_KEY)
        if passage is None:
            return False
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

    def _entered(self, model: Any, params: Any, request_signer: Any, context: Any) -> Steps | None:
        """The steps of a call that is on its way, which end with `(http, parsed)`; None of one that is not.

        They end with None for the plain way, on which the body goes along.
        """
        passage: _Passage | None = context.pop(_KEY, None)
        if passage is None:
            return None
        self._hand_over(passage, params)
        if self._endpoint is None:
            # botocore sends the same body: a transaction that is sent again, on the lane, is the same to the byte
            return None
        return self._steps(_Attempt(passage.call, model, params, request_signer, context))

    def _hand_over(self, passage: _Passage, request: Any) -> None:
        if passage.params != passage.small:
            self._refuse("a handler of before-parameter-build that comes after ours changes parameters")
        if request["headers"].get("Content-Type") != _CONTENT_TYPE or request["method"] != "POST":
            self._refuse("botocore makes requests of another kind")
        request["body"] = passage.body

    def _refuse(self, reason: str) -> None:
        self.close(reason)
        raise LaneRefused(reason)

    def _pause(self, seconds: float) -> Any:
        raise NotImplementedError

    def _for_session(self, prepared: Any) -> Any:
        """The request in the form that the client's own connections are quickest with."""
        return prepared

    # ---- what botocore's endpoint does, one attempt

    def _steps(self, attempt: _Attempt) -> Steps:
        try:
            return (yield from self._attempt(attempt))
        except Exception as error:
            yield self._events.emit(f"after-call-error.{attempt.name}", exception=error, context=attempt.context)
            raise

    def _attempt(self, attempt: _Attempt) -> Steps:
        emit, endpoint, name, model = self._events.emit, self._endpoint, attempt.name, attempt.model
        request = yield from self._signed(attempt)
        if request is None:
            return None
        prepared = _prepared(request) if _is_botocores(endpoint.prepare_request) else None
        prepared = prepared or endpoint.prepare_request(request)
        http = error = response = parsed = None
        try:
            http = _first((yield emit(f"before-send.{name}", request=prepared)))
            if http is None and self.transport is not None and _is_botocores(endpoint.http_session.send):
                http = yield self.transport.send(prepared)
            if http is None:
                http = yield endpoint.http_session.send(self._for_session(prepared))
        except Exception as raised:  # noqa: BLE001 - needs-retry is told, and raises it
            error = raised
        if http is not None:
            response = {
                "headers": http.headers,
                "status_code": http.status_code,
                "context": {"operation_name": model.name},
                "body": (yield http.content),
            }
            parsed = yield from self._parsed(attempt, http, response)
        yield emit(
            f"response-received.{name}",
            response_dict=response,
            parsed_response=parsed,
            context=attempt.context,
            exception=error,
        )
        answer = None if http is None or parsed is None else (http, parsed)
        responses = yield emit(
            f"needs-retry.{name}",
            response=answer,
            endpoint=endpoint,
            operation=model,
            attempts=1,
            caught_exception=error,
            request_dict=attempt.params,
        )
        delay = _first(responses)
        if delay is not None and delay is not False:
            yield self._pause(delay)
            return None
        if error is not None:
            raise error
        if parsed is not None:
            parsed["ResponseMetadata"]["RetryAttempts"] = 0
        return answer

    def _parsed(self, attempt: _Attempt, http: Any, response: dict[str, Any]) -> Steps:
        """The answer as a dict; the call remembers the one that was found whole, so that nobody has to look again."""
        customized: dict[str, Any] = {}
        whole, decode = False, attempt.call.decode
        if response["status_code"] < _FIRST_NO_SUCCESS:
            try:
                check_reply(response["headers"], response["body"], parsed=True)
                whole = True
            except DamagedReply:
                decode = None
        body = response["body"]
        yield self._events.emit(
            f"before-parse.{attempt.name}",
            operation_model=attempt.model,
            response_dict=response,
            customized_response_dict=customized,
        )
        parsed, read = parsed_reply(attempt.model, response, decode)
        if whole and read and response["body"] is body:
            attempt.call.whole = http
        parsed.update(customized)
        return parsed

    def _signed(self, attempt: _Attempt) -> Steps:
        """The request with its signature; None for the plain way."""
        context, signer, name = attempt.context, attempt.signer, attempt.name
        given = context.get("auth_type")
        auth_type = given or signer.signature_version
        signing: dict[str, Any] = context.get("signing") or {}
        if auth_type != "v4" or "request_credentials" in signing or "identity_cache" in signing:
            self._plainly("it is not signed in the usual way")
            return None
        region, service = signing.get("region") or signer.region_name, signing.get("signing_name", signer.signing_name)
        auth = yield signer.get_auth_instance(service, region, "v4")
        retries = context.setdefault("retries", {})
        retries["attempt"] = 1
        if "invocation-id" not in retries:
            retries["invocation-id"] = _invocation()
        request = self._create_request(attempt.params)
        # botocore's own signer is a handler of this event: it asks for the signature to use, of a name that only
        # `choose` knows, so that everybody else's handlers have their turn
        context["auth_type"], context[_SIGNATURE] = _OURS, _Signature(auth, region, service)
        try:
            yield self._events.emit(f"request-created.{name}", request=request, operation_name=attempt.model.name)
        finally:
            context["auth_type"] = given
            del context[_SIGNATURE]
        return request

    def choose(self, context: Any = None, **_rest: object) -> Any:
        """Let botocore sign nothing where nobody wants another signature than the usual one."""
        found: _Signature | None = context.get(_SIGNATURE)
        if found is None:
            return None
        found.is_ours = True
        return self._unsigned

    def sign(self, request: Any = None, **_rest: object) -> None:
        """Sign a request of the lane, unless a handler before has done so."""
        found: _Signature | None = request.context.get(_SIGNATURE)
        if found is None or not found.is_ours or "Authorization" in request.headers:
            return
        auth = found.auth
        headers = None
        if (
            _is_known(auth)
            and auth.credentials is not None
            and request.context.get("payload_signing_enabled", True)
            and type(request.data) is bytes
            and not request.params
            and request.method == "POST"
        ):
            headers = self._signer.headers(
                request.headers.items(),
                request.url,
                request.data,
                auth.credentials,
                region=found.region,
                service=found.service,
            )
        if headers is None:
            auth.add_auth(request)
            return
        for header, value in headers:
            request.headers[header] = value


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


def _first(responses: Any) -> Any:
    return next((response for _, response in responses if response is not None), None)


def _invocation() -> str:
    """What `str(uuid4())` gives, sooner."""
    digits = os.urandom(16).hex()
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


def _is_botocores(method: Any) -> bool:
    """Whether nobody has put a function of theirs in the place of this method, as tracing does."""
    # a wrapper may look like what it wraps, but for its type
    if type(method) is not MethodType or type(method.__func__) is not FunctionType:
        return False
    return method.__func__.__globals__.get("__name__") in _REPLACED


def _prepared(request: Any) -> Any:
    """What botocore prepares of a request that is of the usual kind; None of another."""
    # loaded with the first client
    from botocore.awsrequest import AWSPreparedRequest  # noqa: PLC0415

    body = request.data
    if type(body) is not bytes or not body or request.params:
        return None
    headers: Any = Headers()
    for name, value in request.headers.items():
        headers[name] = value.encode() if isinstance(value, str) else value
    if len(headers) != len(request.headers) or "Transfer-Encoding" in headers:
        return None
    if "Content-Length" not in headers:
        headers["Content-Length"] = str(len(body))
    prepared: Any = AWSPreparedRequest(request.method, request.url, headers, body, request.stream_output)
    # older ones have none
    prepared.context = request.context
    return prepared


def _is_known(auth: object) -> bool:
    return (type(auth).__module__, type(auth).__qualname__) in {
        ("botocore.auth", "SigV4Auth"),
        ("botocore.crt.auth", "CrtSigV4Auth"),
    }
