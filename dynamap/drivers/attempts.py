"""What botocore's endpoint does with a request, once: it signs it, sends it, and reads the answer.

In between come the events that botocore itself emits, with the same arguments. For clients that dynamap makes,
`before-send` is emitted where somebody handles it, and all others where somebody handles one of them, as initializers
of sessions may.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from functools import lru_cache
from importlib import import_module
from types import FunctionType, MethodType
from typing import Any

from dynamap.codec import Body
from dynamap.drivers.events import OtherHandlers
from dynamap.drivers.failures import DamagedReply, OurCall, check_reply
from dynamap.drivers.messages import ClientResponse, Headers, RequestHeaders
from dynamap.drivers.replies import parsed_reply
from dynamap.drivers.signing import Signer

__all__ = ["Attempt", "Attempts", "Steps"]

Steps = Generator[Any, Any, Any]
"""Yields what a client gives, an answer or one that is still to be awaited, and is sent the answer."""

_REPLACED = ("botocore.endpoint", "botocore.httpsession")
_SIGNATURE = "dynamap_signature"
_KNOWN_SIGNERS = {("botocore.auth", "SigV4Auth"), ("botocore.crt.auth", "CrtSigV4Auth")}
_FIRST_NO_SUCCESS = 300
_MADE_HERE = {
    *("accept-encoding", "amz-sdk-invocation-id", "amz-sdk-request", "authorization", "content-length", "host"),
    *("transfer-encoding", "x-amz-date", "x-amz-security-token"),
}


class Attempt:
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

    @property
    def is_usual(self) -> bool:
        """Whether it is one that is known here, with credentials."""
        auth: object = self.auth
        return (type(auth).__module__, type(auth).__qualname__) in _KNOWN_SIGNERS and self.auth.credentials is not None


class Attempts:
    """Those of one client; *pause* and *for_session* are those of its mode, *plainly* is told why one is given up.

    *checks* are our own handlers of `before-send`.
    """

    transport: Any = None
    """Connections of the lane's own; without them, and for what they do not take, the client's are used."""
    others: OtherHandlers | None = None
    """What others handle of the events of a client that dynamap has made; None for other clients."""

    def __init__(
        self,
        events: Any,
        plainly: Callable[[str], None],
        pause: Callable[[float], Any],
        for_session: Callable[[Any], Any],
        checks: Sequence[Callable[..., None]],
    ) -> None:
        self._events, self._checks = events, checks
        self._plainly, self._pause, self._for_session = plainly, pause, for_session
        self._signer = Signer()
        self.endpoint: Any = None
        """The client's; known from its first answer on the plain way, and asked for its connections."""
        # loaded with the client
        self._endpoint_class: Any = import_module("botocore.endpoint").Endpoint
        self._session_class: Any = import_module("botocore.httpsession").URLLib3Session
        self._unsigned: Any = import_module("botocore").UNSIGNED
        requests: Any = import_module("botocore.awsrequest")
        self._create_request, self._prepared_request = requests.create_request_object, requests.AWSPreparedRequest

    @property
    def are_ready(self) -> bool:
        """Whether there is what requests can be sent over."""
        if self.endpoint is not None:
            return True
        return self._own_connections is not None and self._is_unwatched

    def register(self) -> None:
        """Take part in the signing of requests."""
        # beside botocore's own signer, so that what comes after it is as little signed as ever
        self._events.register("request-created.dynamodb", self.sign, unique_id="dynamap-lane-sign")
        self._events.register_last("choose-signer", self.choose, unique_id="dynamap-lane-choose")

    def steps(self, attempt: Attempt) -> Steps:
        """Send it and answer `(http, parsed)`; None where botocore is to send it."""
        try:
            signature = yield from self._signature(attempt)
            if signature is None:
                return None
            if self._is_unwatched and signature.is_usual:
                prepared = self._prepared_at_once(attempt, signature)
                if prepared is not None:
                    return (yield from self._briefly(attempt, prepared))
            return None if self.endpoint is None else (yield from self._in_full(attempt, signature))
        except Exception as error:
            yield self._events.emit(f"after-call-error.{attempt.name}", exception=error, context=attempt.context)
            raise

    @property
    def _is_unwatched(self) -> bool:
        """Whether nobody sees what comes between `before-call` and `after-call`, but for the sending."""
        if self.others is None or self.others.between:
            return False
        return _is_botocores((self.endpoint or self._endpoint_class).prepare_request)

    @property
    def _own_connections(self) -> Any:
        """The lane's connections, where nobody has put something of theirs in the place of the client's."""
        session = self._session_class if self.endpoint is None else self.endpoint.http_session
        return self.transport if _is_botocores(session.send) else None

    # ---- of clients that are dynamap's own

    def _prepared_at_once(self, attempt: Attempt, signature: _Signature) -> Any:
        """The request as it is after the events of its creation; None of an unusual one."""
        params = attempt.params
        if params.get("query_string") or not _are_usual(tuple(params["headers"])):
            return None
        url, body = params["url"], params["body"]
        given = list(params["headers"].items())
        added = self._signer.headers(
            given, url, body, signature.auth.credentials, region=signature.region, service=signature.service
        )
        if added is None:
            return None
        retries = (("amz-sdk-invocation-id", _invocation()), ("amz-sdk-request", "attempt=1"))
        # as botocore makes them: bytes, but for the length
        pairs = [(name, value.encode()) for name, value in (*given, *added, *retries)]
        headers = RequestHeaders([*pairs, ("Content-Length", str(len(body)))], body)
        return self._prepared_of(params["method"], url, headers, body, attempt.context, stream=False)

    def _briefly(self, attempt: Attempt, prepared: Any) -> Steps:
        http = yield from self._sent(attempt, prepared)
        if http is None:
            return None
        # handlers of before-parse expect bytes; here are none, so that a bytearray need not be copied
        body = http.body if isinstance(http, ClientResponse) else (yield http.content)
        response = self._response(attempt, http, body)
        succeeded = response["status_code"] < _FIRST_NO_SUCCESS
        if succeeded:
            check_reply(response["headers"], response["body"], parsed=True)
        parsed, read = parsed_reply(attempt.model, response, attempt.call.decode)
        if succeeded and not read:
            # botocore's parser finds nothing in what is no JSON, and says nothing
            check_reply(response["headers"], response["body"])
        parsed["ResponseMetadata"]["RetryAttempts"] = 0
        return http, parsed

    # ---- of all others

    def _in_full(self, attempt: Attempt, signature: _Signature) -> Steps:
        emit, endpoint, name, model = self._events.emit, self.endpoint, attempt.name, attempt.model
        request = yield from self._created(attempt, signature)
        prepared = self._prepared(request) if _is_botocores(endpoint.prepare_request) else None
        prepared = prepared or endpoint.prepare_request(request)
        http = error = response = parsed = None
        try:
            http = yield from self._sent(attempt, prepared)
        except Exception as raised:  # noqa: BLE001 - needs-retry is told, and raises it
            error = raised
        if http is not None:
            response = self._response(attempt, http, (yield http.content))
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

    def _parsed(self, attempt: Attempt, http: Any, response: dict[str, Any]) -> Steps:
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

    def _created(self, attempt: Attempt, signature: _Signature) -> Steps:
        """The request with its signature."""
        context = attempt.context
        retries = context.setdefault("retries", {})
        retries["attempt"] = 1
        if "invocation-id" not in retries:
            retries["invocation-id"] = _invocation()
        request = self._create_request(attempt.params)
        # botocore's own signer is a handler of this event, and asks for the signature to use. Without a type of the
        # operation its own chooser says nothing, so that all handlers are asked, and `choose` last
        auth_type = context.get("auth_type")
        context["auth_type"], context[_SIGNATURE] = None, signature
        try:
            yield self._events.emit(
                f"request-created.{attempt.name}", request=request, operation_name=attempt.model.name
            )
        finally:
            context["auth_type"] = auth_type
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
        headers = None
        if (
            found.is_usual
            and request.context.get("payload_signing_enabled", True)
            and type(request.data) is bytes
            and not request.params
            and request.method == "POST"
        ):
            headers = self._signer.headers(
                request.headers.items(),
                request.url,
                request.data,
                found.auth.credentials,
                region=found.region,
                service=found.service,
            )
        if headers is None:
            found.auth.add_auth(request)
            return
        for header, value in headers:
            request.headers[header] = value

    def _prepared(self, request: Any) -> Any:
        """What botocore prepares of a request that is of the usual kind; None of another."""
        body = request.data
        if type(body) is not bytes or not body or request.params:
            return None
        pairs = [(name, value.encode() if isinstance(value, str) else value) for name, value in request.headers.items()]
        headers = Headers(pairs)
        if len(headers) != len(pairs) or "Transfer-Encoding" in headers:
            return None
        if "Content-Length" not in headers:
            headers["Content-Length"] = str(len(body))
        return self._prepared_of(
            request.method, request.url, headers, body, request.context, stream=request.stream_output
        )

    # ---- of both

    def _signature(self, attempt: Attempt) -> Steps:
        """What to sign it with; None for the plain way."""
        context, signer = attempt.context, attempt.signer
        auth_type = context.get("auth_type") or signer.signature_version
        signing: dict[str, Any] = context.get("signing") or {}
        if auth_type != "v4" or "request_credentials" in signing or "identity_cache" in signing:
            self._plainly("it is not signed in the usual way")
            return None
        region, service = signing.get("region") or signer.region_name, signing.get("signing_name", signer.signing_name)
        auth = yield signer.get_auth_instance(service, region, "v4")
        return _Signature(auth, region, service)

    def _prepared_of(self, method: str, url: str, headers: Headers, body: bytes, context: Any, *, stream: bool) -> Any:
        prepared = self._prepared_request(method, url, headers, body, stream)
        # older ones have none
        prepared.context = context
        return prepared

    def _sent(self, attempt: Attempt, prepared: Any) -> Steps:
        """The answer; None, and nothing was sent, for what only botocore can send."""
        http = None
        if self.others is None or self.others.sending:
            http = _first((yield self._events.emit(f"before-send.{attempt.name}", request=prepared)))
        else:
            for check in self._checks:
                check(request=prepared)
        connections = self._own_connections
        if http is None and connections is not None:
            http = yield connections.send(prepared)
        if http is None and self.endpoint is not None:
            http = yield self.endpoint.http_session.send(self._for_session(prepared))
        return http

    def _response(self, attempt: Attempt, http: Any, body: Body) -> dict[str, Any]:
        """The parts of an answer that botocore's parsers take."""
        return {
            "headers": http.headers,
            "status_code": http.status_code,
            "context": {"operation_name": attempt.model.name},
            "body": body,
        }


def _first(responses: Any) -> Any:
    return next((response for _, response in responses if response is not None), None)


# those of one operation are the same from call to call
@lru_cache(maxsize=64)
def _are_usual(names: tuple[str, ...]) -> bool:
    """Whether none of these headers is twice there, or one that is made here."""
    lowered = {name.lower() for name in names}
    return len(lowered) == len(names) and lowered.isdisjoint(_MADE_HERE)


def _invocation() -> str:
    """What `str(uuid4())` gives, sooner."""
    digits = os.urandom(16).hex()
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


def _is_botocores(method: Any) -> bool:
    """Whether nobody has put a function of theirs in the place of this method, as tracing does."""
    function = method.__func__ if type(method) is MethodType else method
    # a wrapper may look like what it wraps, but for its type
    return type(function) is FunctionType and function.__globals__.get("__name__") in _REPLACED
