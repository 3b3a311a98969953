"""Who watches, signs for, or stands in for a client does so on the lane as well."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiobotocore.credentials
import aiobotocore.session
import botocore
import botocore.credentials
import botocore.endpoint
import botocore.httpsession
import botocore.session
import moto
import pytest
from opentelemetry.instrumentation.botocore import BotocoreInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from dynamap import Table, connect, connect_async, entity
from dynamap.drivers import attempts
from dynamap.drivers.lane import lane_of
from dynamap.plan import Call, CallFailed, Reached
from dynamap.testing import embedded
from tests.lane_clients import GET, MODES, OWN, Answer, opened

ALL = [*MODES, *OWN]

LANE = "lane: through the client and its events, over its own connections"


def header(request: Any, name: str) -> str:
    value = request.headers[name]
    text: str = value.decode() if isinstance(value, bytes) else value
    return text


def access_key(request: Any) -> str:
    return header(request, "Authorization").partition("Credential=")[2].partition("/")[0]


# ---- credentials


def session_of(mode: str, credentials: Any) -> Any:
    """A session whose provider of credentials gives these."""
    session = (aiobotocore.session if mode.startswith("async") else botocore.session).get_session()

    async def load() -> Any:
        return credentials

    provider = SimpleNamespace(METHOD="test", load=load if mode.startswith("async") else lambda: credentials)
    session.get_component("credential_provider").providers.insert(0, provider)
    return session


class Issuer:
    """Gives new keys each time, which are good for an hour of a clock that is set by hand."""

    def __init__(self, mode: str) -> None:
        self.now = dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)
        self.issued = 0
        self.broken = False
        self.issue: Callable[[], Any] = self._issue_async if mode.startswith("async") else self._issue

    def time(self) -> dt.datetime:
        return self.now

    def _issue(self) -> dict[str, str]:
        if self.broken:
            msg = "no keys today"
            raise botocore.exceptions.CredentialRetrievalError(provider="test", error_msg=msg)
        self.issued += 1
        expiry = self.now + dt.timedelta(hours=1)
        return {
            "access_key": f"KEY{self.issued}",
            "secret_key": f"secret{self.issued}",
            "token": f"token{self.issued}",
            "expiry_time": expiry.isoformat(),
        }

    async def _issue_async(self) -> dict[str, str]:
        return self._issue()


@pytest.mark.parametrize("mode", ALL)
def test_keys_that_expire_are_renewed_between_calls(mode: str) -> None:
    issuer = Issuer(mode)
    module: Any = aiobotocore.credentials if mode.startswith("async") else botocore.credentials
    kind = (
        module.AioDeferredRefreshableCredentials if mode.startswith("async") else module.DeferredRefreshableCredentials
    )
    with opened(mode, session=session_of(mode, kind(issuer.issue, "assume-role", issuer.time))) as client:
        client.run()
        client.run()
        issuer.now += dt.timedelta(hours=2)
        client.run()
        assert [access_key(request) for request in client.sent] == ["KEY1", "KEY1", "KEY2"]
        assert [header(request, "X-Amz-Security-Token") for request in client.sent] == ["token1", "token1", "token2"]
        issuer.now += dt.timedelta(hours=2)
        issuer.broken = True
        with pytest.raises(CallFailed) as caught:
            client.run()
        assert (caught.value.reached, caught.value.code) == (Reached.NOTHING, "CredentialRetrievalError")
        assert client.explain() == LANE
        client.answers.clear()
        issuer.broken = False
        client.run()
        assert access_key(client.sent[-1]) == "KEY3"


@pytest.mark.parametrize("mode", ALL)
def test_keys_without_a_token_are_sent_without_one(mode: str) -> None:
    module: Any = aiobotocore.credentials if mode.startswith("async") else botocore.credentials
    kind = module.AioCredentials if mode.startswith("async") else module.Credentials
    with opened(mode, session=session_of(mode, kind("STATIC", "secret"))) as client:
        client.run()
        assert access_key(client.sent[0]) == "STATIC"
        assert "X-Amz-Security-Token" not in client.sent[0].headers
        assert client.explain() == LANE


@pytest.mark.parametrize("mode", ALL)
def test_keys_come_from_a_process(mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"Version": 1, "AccessKeyId": "PROCESS", "SecretAccessKey": "secret", "SessionToken": "of the process"}
    script = tmp_path / "keys.py"
    script.write_text(f"print({json.dumps(json.dumps(answer))})", encoding="utf-8")
    config = tmp_path / "config"
    config.write_text(f"[profile other]\ncredential_process = {sys.executable} {script}\n", encoding="utf-8")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("AWS_PROFILE", "other")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    session = (aiobotocore.session if mode.startswith("async") else botocore.session).get_session()
    with opened(mode, session=session) as client:
        client.run()
        assert access_key(client.sent[0]) == "PROCESS"
        assert header(client.sent[0], "X-Amz-Security-Token") == "of the process"
        assert client.explain() == LANE


@pytest.mark.parametrize("mode", ALL)
def test_without_keys_a_call_is_refused_as_ever(mode: str) -> None:
    module: Any = aiobotocore.credentials if mode.startswith("async") else botocore.credentials
    kind = module.AioCredentials if mode.startswith("async") else module.Credentials
    keys = kind("STATIC", "secret")
    with opened(mode, session=session_of(mode, keys)) as client:
        # as a chain of providers would end
        client.client._request_signer._credentials = None
        with pytest.raises(CallFailed) as caught:
            client.run()
        assert (caught.value.reached, caught.value.code) == (Reached.REFUSED, "NoCredentialsError")
        assert client.sent == []


# ---- tracing


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    instrumentor = BotocoreInstrumentor()
    instrumentor.instrument(tracer_provider=provider)
    yield exporter
    instrumentor.uninstrument()
    provider.shutdown()


def test_the_botocore_instrumentation_of_opentelemetry_sees_each_call(spans: InMemorySpanExporter) -> None:
    with opened("sync") as client:
        spans.clear()
        client.run()
        client.run(Call("PutItem", {"TableName": "table", "Item": {"pk": {"S": "a"}}}))
        with pytest.raises(CallFailed):
            client.run(answer=Answer(b'{"__type":"x#ResourceNotFoundException"}', 400))
        assert client.explain() == LANE
        finished = spans.get_finished_spans()
        assert [(span.attributes or {})["rpc.method"] for span in finished] == ["GetItem", "PutItem", "GetItem"]
        assert [(span.attributes or {})["aws.dynamodb.table_names"] for span in finished] == [("table",)] * 3
        assert [(span.attributes or {})["http.status_code"] for span in finished[:2]] == [200, 200]
        assert [span.status.is_ok for span in finished] == [True, True, False]
        # what tells the service which trace the request belongs to
        for request, span in zip(client.sent, finished, strict=True):
            assert f"{span.context.trace_id:032x}"[8:] in header(request, "X-Amzn-Trace-Id")


@pytest.mark.parametrize("mode", ALL)
def test_who_replaces_the_preparing_of_requests_is_called(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    original = botocore.endpoint.Endpoint.prepare_request

    def prepare(self: Any, request: Any) -> Any:
        request.headers["X-Traced"] = "yes"
        return original(self, request)

    with opened(mode) as client:
        monkeypatch.setattr(botocore.endpoint.Endpoint, "prepare_request", prepare)
        client.run()
        assert header(client.sent[0], "X-Traced") == "yes"
        assert client.explain() == LANE


@pytest.mark.parametrize("mode", ALL)
def test_a_handler_of_before_send_sees_and_may_change_each_request(mode: str) -> None:
    with opened(mode) as client:
        seen: list[Any] = []

        def watch(request: Any, **_rest: Any) -> None:
            seen.append((request.method, request.url, request.headers["x-amz-target"], request.body))
            request.headers["content-type"] = b"application/json"

        client.client.meta.events.register_first("before-send.dynamodb.GetItem", watch)
        client.run()
        client.run()
        url = "https://dynamodb.us-east-1.amazonaws.com/"
        body = b'{"TableName":"table","Key":{"pk":{"S":"a"}}}'
        assert seen == [("POST", url, b"DynamoDB_20120810.GetItem", body)] * 2
        assert [header(request, "Content-Type") for request in client.sent] == ["application/json"] * 2
        assert [len(list(request.headers)) for request in client.sent] == [len(set(client.sent[0].headers))] * 2


# ---- in the place of the service


@entity("PAGE", pk="PAGE#{id}", sk="PAGE")
class Page:
    id: str
    text: str = ""


PAGES = Table("pages", [Page])


def test_moto_answers_a_client_that_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with moto.mock_aws(), connect(PAGES, lane=True) as store:
        store.create_table()
        pages = store.of(Page)
        pages.put(Page("a", "one")).send()
        assert store.explain_client() == "lane: through the client and its events, over the lane's own connections"
        assert pages.get(id="a").send() == Page("a", "one")
        pages.delete(id="a").send()
        assert pages.get(id="a").send() is None


# ---- handlers of all of a program's clients


def read_twice(mode: str) -> list[Any]:
    """What a client that dynamap makes answers."""
    with embedded() as url, connect(PAGES, endpoint_url=url, lane=True) as store:
        store.create_table()
        if mode == "sync":
            return [store.of(Page).get(id="a").send() for _ in range(2)]

        async def read() -> list[Any]:
            async with connect_async(PAGES, endpoint_url=url, lane=True) as own:
                return [await own.of(Page).get(id="a").send() for _ in range(2)]

        return asyncio.run(read())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("event", ["request-created", "request-created.dynamodb.GetItem", "*.dynamodb.GetItem", "*"])
def test_what_an_initializer_of_sessions_registers_is_called_for_each_request(
    mode: str, event: str, initialized: Callable[[Callable[[Any], None]], None]
) -> None:
    seen: list[str] = []

    def watch(event_name: str, **_rest: Any) -> None:
        if event_name.startswith("request-created") and event_name.endswith("GetItem"):
            seen.append(event_name)

    initialized(lambda session: session.register(event, watch))
    assert read_twice(mode) == [None, None]
    assert seen == ["request-created.dynamodb.GetItem"] * 2


@pytest.mark.parametrize("mode", MODES)
def test_a_handler_of_sending_is_called_and_leaves_the_rest_as_it_is(
    mode: str, initialized: Callable[[Callable[[Any], None]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    briefly: list[Any] = []
    original = attempts.Attempts._briefly
    monkeypatch.setattr(attempts.Attempts, "_briefly", lambda *given: briefly.append(given) or original(*given))

    def watch(request: Any, **_rest: Any) -> None:
        seen.append(header(request, "X-Amz-Target"))

    initialized(lambda session: session.register("before-send.dynamodb.GetItem", watch))
    assert read_twice(mode) == [None, None]
    assert seen == ["DynamoDB_20120810.GetItem"] * 2
    # of asyncio the first call tells what connections there are
    assert len(briefly) == (2 if mode == "sync" else 1)


# ---- why a call takes the plain way


@pytest.mark.parametrize("mode", ALL)
def test_the_reason_for_the_plain_way_is_told(mode: str) -> None:
    with opened(mode) as client:
        other = {**GET.params, "ConsistentRead": True}
        client.register("provide-client-params.dynamodb", lambda **_: other, last=True)
        client.run()
        assert client.explain() == (
            f"{LANE}; the last call that took the plain way did so because "
            "another handler of provide-client-params gave the parameters"
        )
    with opened(mode) as client:
        client.register("before-call.dynamodb", lambda context, **_: context.update(auth_type="v4a"))
        client.answers.append(Answer())
        with pytest.raises(CallFailed):
            client.run()
        assert client.explain().endswith("because it is not signed in the usual way")
    with opened(mode) as client:
        client.register("before-call.dynamodb", lambda params, **_: params["headers"].update({"Content-Type": "text"}))
        client.run()
        assert client.explain() == "plain: botocore makes requests of another kind"


@pytest.mark.parametrize("mode", ALL)
def test_a_botocore_that_speaks_otherwise_is_left_alone(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(mode, lane=False) as client:
        # every client of the session has this description
        monkeypatch.setitem(client.client.meta.service_model.metadata, "protocol", "smithy-rpc-v2-cbor")
        client.use_lane(True)
        assert client.explain() == "plain: this botocore speaks the protocol smithy-rpc-v2-cbor"


def test_an_endpoint_of_another_kind_is_left_alone() -> None:
    with opened("sync", warm=False) as client:
        lane = lane_of(client.client)
        assert lane is not None
        lane.use(SimpleNamespace())
        client.run()
        client.run()
        assert client.explain() == "plain: the client's endpoint is a SimpleNamespace, which is not botocore's"
