"""How dynamap makes its clients, and what it asks of those that it is given."""

from __future__ import annotations

import inspect
import ipaddress
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from dynamap.drivers.events import watched
from dynamap.drivers.failures import check_reply, within_deadline, without_retries
from dynamap.drivers.lane import AsyncLane, Lane, SyncLane, lane_of
from dynamap.errors import RequestError

__all__ = [
    "PLACEHOLDERS",
    "ClientOptions",
    "accept_async_client",
    "accept_client",
    "client_arguments",
    "close_client",
    "make_client",
    "placeholders_for",
]

_CONNECT_TIMEOUT = 1.0
_READ_TIMEOUT = 5.0
# servers for tests answer the scan of a large table slowly; to ask again would only keep them busy
_LOCAL_READ_TIMEOUT = 60.0
_POOL = 50
# https://www.rfc-editor.org/rfc/rfc9110#name-tokens
_UNUSUAL_IN_NAMES = re.compile(r"[^A-Za-z0-9!#$%&'*+.^_`|~-]")


@dataclass(frozen=True)
class ClientOptions:
    """What `connect` was told about the client that it is to make."""

    endpoint_url: str | None = None
    region_name: str | None = None
    lane: bool = False

    @property
    def is_local(self) -> bool:
        """Whether the endpoint, given or from the environment, is on this machine."""
        named = self.endpoint_url or os.environ.get("AWS_ENDPOINT_URL_DYNAMODB") or os.environ.get("AWS_ENDPOINT_URL")
        return is_loopback(named)


def accept_client(client: Any, *, lane: bool = False) -> Any:
    """Take a client for our calls: its own retries stay as they are for everybody else's."""
    way: Lane | None = None

    def needs_retry(
        response: Any = None,
        caught_exception: Exception | None = None,
        operation: Any = None,
        endpoint: Any = None,
        **_rest: object,
    ) -> None:
        nonlocal way
        # a store that comes later may give the client its lane
        way = way or lane_of(client)
        if way is not None:
            way.use(endpoint)
        http = without_retries(client, response, caught_exception, operation)
        if http is not None:
            check_reply(http.headers, http.content)

    if _is_awaited(client):
        msg = "connect() takes a boto3 or botocore client; this one is aiobotocore's: pass it to connect_async()"
        raise RequestError(msg)
    _accept(client, needs_retry)
    if lane:
        lane_of(client, SyncLane)
    return client


def accept_async_client(client: Any, *, lane: bool = False) -> Any:
    """The same for aiobotocore, whose bodies are awaited."""
    way: Lane | None = None

    async def needs_retry(
        response: Any = None,
        caught_exception: Exception | None = None,
        operation: Any = None,
        endpoint: Any = None,
        **_rest: object,
    ) -> None:
        nonlocal way
        # a store that comes later may give the client its lane
        way = way or lane_of(client)
        if way is not None:
            way.use(endpoint)
        http = without_retries(client, response, caught_exception, operation)
        if http is not None:
            check_reply(http.headers, await http.content)

    if _is_awaited(client) is False:
        # its calls would be made, and only then fail to be awaited
        msg = "connect_async() takes an aiobotocore client; this one is boto3's or botocore's: pass it to connect()"
        raise RequestError(msg)
    _accept(client, needs_retry)
    if lane:
        lane_of(client, AsyncLane)
    return client


def _is_awaited(client: Any) -> bool | None:
    """Whether this client's calls are awaited; None of what is no client of botocore's kind."""
    call = getattr(client, "_make_api_call", None)
    return None if call is None else inspect.iscoroutinefunction(call)


def _accept(client: Any, handler: Callable[..., Any]) -> None:
    meta = getattr(client, "meta", None)
    events = getattr(meta, "events", None)
    service = getattr(getattr(meta, "service_model", None), "service_name", None)
    if events is None or service != "dynamodb":
        msg = (
            f"client= takes a DynamoDB client, as boto3.client('dynamodb') makes it; got {type(client).__name__}"
            f"{'' if service is None else f' for {service}'}: of a boto3 resource or table, make a client beside it"
        )
        raise RequestError(msg)
    if _translates_values(events):
        msg = (
            "client= takes a DynamoDB client, as boto3.client('dynamodb') makes it; this one belongs to a boto3 "
            "resource, whose calls translate values by themselves: make a client beside it"
        )
        raise RequestError(msg)
    events.register_first("needs-retry.dynamodb", handler, unique_id="dynamap-without-retries")
    events.register_first("before-send.dynamodb", within_deadline, unique_id="dynamap-within-deadline")


def _translates_values(events: Any) -> bool:
    """Whether a boto3 resource has put its handlers between plain values and wire values onto this client."""
    emitter = getattr(events, "_emitter", events)
    return "dynamodb-attr-value-input" in getattr(emitter, "_unique_id_handlers", ())


def client_arguments(options: ClientOptions, session: Any, config: Callable[..., Any]) -> dict[str, Any]:
    """The arguments of `session.create_client` but for the credentials. Raises RequestError without a region."""
    region = options.region_name or session.get_config_variable("region")
    if region is None and options.is_local:
        region = "us-east-1"
    if region is None:
        msg = (
            "no region is configured: pass region_name=, set AWS_DEFAULT_REGION, or pass the endpoint_url= of a local "
            "server, as dynamap.testing.embedded gives"
        )
        raise RequestError(msg)
    return {
        "service_name": "dynamodb",
        "endpoint_url": options.endpoint_url,
        "region_name": region,
        "config": config(
            connect_timeout=_CONNECT_TIMEOUT,
            read_timeout=_LOCAL_READ_TIMEOUT if options.is_local else _READ_TIMEOUT,
            max_pool_connections=_POOL,
            tcp_keepalive=True,
            # what takes the lane was made here, and what goes the plain way `Lane.build` validates
            parameter_validation=not options.lane,
            retries={"mode": "standard", "total_max_attempts": 1},
            user_agent=_user_agent(session),
        ),
    }


def _user_agent(session: Any) -> str:
    """The session's, with our name, made once: a client puts together anew for each call what it is not given."""
    extra = session.user_agent_extra
    named = session.user_agent()
    # the client adds it
    named = named[: -len(extra)].rstrip() if extra and named.endswith(extra) else named
    try:
        ours = f"dynamap/{import_module('importlib.metadata').version('dynamap')}"
    except import_module("importlib.metadata").PackageNotFoundError:
        ours = "dynamap"
    application = session.get_config_variable("user_agent_appid")
    return f"{named} {ours}" + (f" app/{_UNUSUAL_IN_NAMES.sub('-', application)}" if application else "")


def placeholders_for(options: ClientOptions, session: Any) -> bool:
    """Whether placeholders may stand for credentials: a server on this machine, and none configured for it.

    The instance's own role is not asked for: that would be a call over the network to reach a server beside us.
    """
    if not options.is_local:
        return False
    session.get_component("credential_provider").remove("iam-role")
    return True


def is_loopback(endpoint_url: str | None) -> bool:
    """Whether this URL names the machine itself."""
    host = urlsplit(endpoint_url).hostname if endpoint_url else None
    if host is None or host == "localhost":
        return host is not None
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


PLACEHOLDERS = {"aws_access_key_id": "placeholder", "aws_secret_access_key": "placeholder"}


def make_client(options: ClientOptions) -> Any:
    """A botocore client with short timeouts, but for servers on this machine, and without retries of its own."""
    # botocore is loaded with the first client, not with dynamap
    config, sessions = import_module("botocore.config"), import_module("botocore.session")
    events = watched(import_module("botocore.hooks").HierarchicalEmitter)
    session = sessions.Session(event_hooks=events)
    import_module("dynamap.drivers.models_loader").load_models_quickly(session)
    arguments = client_arguments(options, session, config.Config)
    if placeholders_for(options, session) and session.get_credentials() is None:
        arguments |= PLACEHOLDERS
    client = accept_client(session.create_client(**arguments), lane=options.lane)
    lane = lane_of(client)
    if lane is not None:
        lane.own(events.others, import_module("dynamap.drivers.transport").transport_of(client, session))
    return client


def close_client(client: Any) -> None:
    """Close a client that `make_client` made, with the lane's connections."""
    lane = lane_of(client)
    if lane is not None and lane.transport is not None:
        lane.transport.close()
    client.close()
