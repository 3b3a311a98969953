"""The lane goes through the client: whoever wraps it or handles its events sees, and may change, every call."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Any

import botocore.client
import pytest
from botocore import UNSIGNED
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.exceptions import ReadTimeoutError
from botocore.stub import Stubber

from dynamap import Table, connect, connect_async, entity
from dynamap.plan import Call, CallFailed, Reached
from dynamap.testing import memory_store
from tests.lane_clients import GET, KEYS, MODES, OWN, Answer, LaneClient, opened

ALL = [*MODES, *OWN]

FULL = {"TableName": "table", "Item": {"pk": {"S": "a"}, "photo": {"B": b"\x00\xff"}}}
PUT = Call("PutItem", FULL)
LANE = "lane: "


@entity("PAGE", pk="PAGE#{id}", sk="PAGE")
class Page:
    id: str


def body_of(request: Any) -> Any:
    return json.loads(request.body)


def text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else value


def header(request: Any, name: str) -> str:
    return text(request.headers[name])


# ---- which way


@pytest.mark.parametrize("mode", ALL)
def test_the_first_answer_opens_the_lane(mode: str) -> None:
    with opened(mode, warm=False) as client:
        assert client.explain().startswith("plain: the first call")
        client.run()
        assert client.explain().startswith(LANE)
        client.run()
        assert client.explain() == "lane: through the client and its events, over its own connections"


@pytest.mark.parametrize("mode", ALL)
def test_without_the_lane_there_are_no_handlers_of_it(mode: str) -> None:
    with opened(mode, lane=False) as client:
        client.run()
        assert client.explain().startswith("plain: the lane is switched off")
        responses = client.wait(
            client.client.meta.events.emit("provide-client-params.dynamodb.GetItem", params={}, model=None, context={})
        )
        assert responses == []


@pytest.mark.parametrize("mode", ALL)
def test_a_store_without_the_lane_goes_plain_over_a_client_that_has_one(mode: str) -> None:
    with opened(mode) as client:
        client.use_lane(False)
        client.run()
        client.use_lane(True)
        client.run()
        plain, lane = client.sent
        assert plain.body == b'{"TableName": "table", "Key": {"pk": {"S": "a"}}}'
        assert lane.body == b'{"TableName":"table","Key":{"pk":{"S":"a"}}}'


@pytest.mark.parametrize(
    ("value", "lane", "expected"),
    [
        (None, None, "plain: there is no client yet"),
        ("1", None, "plain: there is no client yet"),
        ("0", None, "plain: the lane is switched off"),
        ("0", True, "plain: there is no client yet"),
        ("1", False, "plain: the lane is switched off"),
    ],
)
def test_the_environment_decides_unless_the_program_does(
    monkeypatch: pytest.MonkeyPatch, value: str | None, lane: bool | None, expected: str
) -> None:
    monkeypatch.delenv("DYNAMAP_LANE", raising=False)
    if value is not None:
        monkeypatch.setenv("DYNAMAP_LANE", value)
    for make in (connect, connect_async):
        assert make(Table("pages", [Page]), lane=lane).explain_client().startswith(expected)


def test_a_store_without_a_client_says_so() -> None:
    assert memory_store(Table("pages", [Page])).explain_client() == "plain: a store in memory has no client"


@pytest.mark.parametrize("mode", ALL)
def test_calls_of_others_never_take_the_lane(mode: str) -> None:
    with opened(mode) as client:
        client.own("get_item", **GET.params)
        assert client.sent[0].body == b'{"TableName": "table", "Key": {"pk": {"S": "a"}}}'


@pytest.mark.parametrize("mode", ALL)
def test_with_botocores_log_at_debug_it_logs_the_calls(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    with opened(mode) as client, caplog.at_level(logging.DEBUG, "botocore"):
        client.run()
        assert "Sending http request" in caplog.text
        assert "because botocore's log is set to DEBUG" in client.explain()


@pytest.mark.parametrize("mode", ALL)
def test_what_json_cannot_hold_is_left_to_botocore(mode: str) -> None:
    with opened(mode) as client:
        with pytest.raises(CallFailed) as caught:
            client.run(Call("PutItem", {"TableName": "table", "Item": {"pk": {"S": object()}}}))
        assert (caught.value.reached, caught.value.code) == (Reached.REFUSED, "ParamValidationError")
        assert client.sent == []
        assert "because botocore is to judge" in client.explain()


@pytest.mark.parametrize("mode", ALL)
@pytest.mark.parametrize("params", [{}, {"TableName": ""}, {"Key": {}}, {"TableName": "table"}])
def test_parameters_that_are_missing_are_missed_by_botocore(mode: str, params: Any) -> None:
    with opened(mode) as client:
        with pytest.raises(CallFailed) as caught:
            client.run(Call("GetItem", params))
        assert (caught.value.reached, client.sent) == (Reached.REFUSED, [])


# ---- requests

REQUESTS = [
    GET,
    PUT,
    Call("GetItem", {"TableName": "table", "Key": {"pk": {"S": "é\u2028\U0001f600"}}, "ConsistentRead": True}),
    Call(
        "UpdateItem",
        {
            "TableName": "table",
            "Key": {"pk": {"S": "a"}},
            "UpdateExpression": "SET #a = :a",
            "ExpressionAttributeNames": {"#a": "a"},
            "ExpressionAttributeValues": {":a": {"L": [{"N": "1"}, {"BS": [b"x", b"y"]}, {"M": {"B": {"B": b""}}}]}},
            "ReturnValues": "ALL_NEW",
        },
    ),
    Call("DeleteItem", {"TableName": "table", "Key": {"pk": {"S": "a"}}, "ReturnValues": "ALL_OLD"}),
    Call(
        "Query",
        {
            "TableName": "table",
            "KeyConditionExpression": "pk = :pk",
            "ExpressionAttributeValues": {":pk": {"S": "a"}},
            "Limit": 3,
            "ScanIndexForward": False,
            "ExclusiveStartKey": {"pk": {"S": "a"}},
        },
    ),
    Call("Scan", {"TableName": "table", "Segment": 0, "TotalSegments": 2}),
    Call(
        "BatchGetItem", {"RequestItems": {"one": {"Keys": [{"pk": {"S": "a"}}]}, "two": {"Keys": [{"pk": {"S": "b"}}]}}}
    ),
    Call("BatchWriteItem", {"RequestItems": {"one": [{"PutRequest": {"Item": FULL["Item"]}}]}}),
    Call("TransactGetItems", {"TransactItems": [{"Get": {"TableName": "one", "Key": {"pk": {"S": "a"}}}}]}),
    Call(
        "TransactWriteItems",
        {
            "TransactItems": [
                {"Put": FULL},
                {"Delete": {"TableName": "two", "Key": {"pk": {"S": "a"}}}},
                {"Update": {"TableName": "one", "Key": {"pk": {"S": "a"}}, "UpdateExpression": "REMOVE a"}},
                {
                    "ConditionCheck": {
                        "TableName": "one",
                        "Key": {"pk": {"S": "b"}},
                        "ConditionExpression": "attribute_exists(pk)",
                    }
                },
            ],
            "ClientRequestToken": "token",
        },
    ),
]


@pytest.mark.parametrize("mode", ALL)
@pytest.mark.parametrize("call", REQUESTS, ids=lambda call: call.operation)
def test_the_request_is_that_of_botocore(mode: str, call: Call) -> None:
    with opened(mode) as client:
        before = json.dumps(call.params, default=repr)
        client.run(call)
        assert client.explain() == "lane: through the client and its events, over its own connections"
        client.use_lane(False)
        client.run(call)
        assert json.dumps(call.params, default=repr) == before
        lane, plain = client.sent
        assert body_of(lane) == body_of(plain)
        assert (lane.method, lane.url, lane.stream_output) == (plain.method, plain.url, plain.stream_output)
        assert sorted(lane.headers) == sorted(plain.headers)
        differing = ("amz-sdk-invocation-id", "Authorization", "X-Amz-Date", "Content-Length", "User-Agent")
        for name in plain.headers:
            assert type(lane.headers[name]) is type(plain.headers[name])
            assert name in differing or lane.headers[name] == plain.headers[name]
        assert header(lane, "Content-Length") == str(len(lane.body))
        assert header(lane, "X-Amz-Security-Token") == KEYS["aws_session_token"]
        assert header(lane, "Authorization").partition("Signature=")[0] == (
            header(plain, "Authorization")
            .partition("Signature=")[0]
            .replace(header(plain, "X-Amz-Date")[:8], header(lane, "X-Amz-Date")[:8])
        )


@pytest.mark.parametrize("mode", ALL)
def test_a_transaction_is_the_same_request_to_the_byte_when_the_first_attempt_goes_the_plain_way(mode: str) -> None:
    """So that the repeat of one whose answer was lost is no other request under its token."""
    with opened(mode, warm=False) as client:
        items: Any = [{"pk": {"S": "é😀\u2028\x7f"}, "bytes": {"BS": [b"\x00", bytearray(b"x")]}}, {"pk": {"N": "1"}}]
        params = {"TransactItems": [{"Put": {**FULL, "Item": item}} for item in items], "ClientRequestToken": "token"}
        for way in ("plain", "lane"):
            assert client.explain().startswith(way)
            client.run(Call("TransactWriteItems", params))
        assert client.sent[0].body == client.sent[1].body


@pytest.mark.parametrize("mode", ALL)
def test_a_transaction_without_a_token_gets_one_from_botocore(mode: str) -> None:
    with opened(mode) as client:
        client.run(Call("TransactWriteItems", {"TransactItems": [{"Put": FULL}]}))
        assert len(body_of(client.sent[0])["ClientRequestToken"]) == 36
        assert client.explain().endswith("own connections")


# ---- answers

FAILURES = [
    pytest.param(
        Answer(
            b'{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"no",'
            b'"Item":{"pk":{"S":"a"},"photo":{"B":"AP8="}}}',
            400,
        ),
        id="condition",
    ),
    pytest.param(
        Answer(
            b'{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","Message":"no",'
            b'"CancellationReasons":[{"Code":"None"},{"Code":"ConditionalCheckFailed","Item":{"pk":{"B":"AP8="}}}]}',
            400,
        ),
        id="cancelled",
    ),
    pytest.param(Answer(b'{"__type":"com.amazon.coral.service#InternalServerError"}', 500), id="internal"),
    pytest.param(Answer(b"<html>", 503), id="no words"),
    pytest.param(Answer(b"", 500), id="nothing"),
    pytest.param(Answer(b'{"__type":"x#ThrottlingException"}', 400), id="throttled"),
    pytest.param(Answer(b"{}", 301), id="redirect"),
    pytest.param(Answer(b'{"Item":{"pk"', 200), id="cut off"),
    pytest.param(Answer(b"{}", checksum="1"), id="wrong checksum"),
    pytest.param(Answer(b"{}", length="40"), id="wrong length"),
    pytest.param(Answer(b"[]"), id="no object"),
    pytest.param(Answer(b""), id="empty"),
    pytest.param(Answer(error=ReadTimeoutError(endpoint_url="x")), id="timeout"),
    pytest.param(Answer(error=ValueError("of a handler")), id="handler"),
]


def failed(client: LaneClient, answer: Answer) -> Any:
    with pytest.raises(CallFailed) as caught:
        client.run(answer=answer)
    failure = caught.value
    cause = failure.__cause__
    return (
        *(failure.reached, failure.code, failure.message, failure.status, failure.item, failure.reasons),
        type(cause).__name__,
        str(cause),
    )


@pytest.mark.parametrize("mode", ALL)
@pytest.mark.parametrize("retries", [None, {"mode": "legacy"}, {"mode": "standard"}, {"mode": "adaptive"}], ids=str)
@pytest.mark.parametrize("answer", FAILURES)
def test_failures_are_those_of_the_plain_way_and_nothing_is_sent_again(mode: str, retries: Any, answer: Answer) -> None:
    with opened(mode, retries=retries) as client:
        errors: list[str] = []
        client.register(
            "after-call-error.dynamodb", lambda exception, **_: errors.append(f"{type(exception).__name__}")
        )
        lane = failed(client, answer)
        assert client.explain().endswith("own connections")
        client.use_lane(False)
        plain = failed(client, answer)
        assert len(client.sent) == 2
        if mode in OWN and answer.body == b"[]":
            # botocore's parser fails before anybody can say that it was answered
            assert (lane[0], plain[0]) == (Reached.APPLIED, Reached.UNKNOWN)
            return
        assert plain == lane
        if mode in MODES or answer.error is not None:
            # on the plain way needs-retry raises at the answer of an error, which the lane leaves to the client itself
            assert len(errors) == 2
            assert errors[0] == errors[1]


ANSWERS = [
    b"{}",
    b' {"Item": {"pk": {"S": "a"}} } ',
    b'{"Item":{"B":{"B":"AP8="},"BS":{"BS":["AP8=",""]},"S":{"S":"B"},"n":{"NULL":true},"m":{"M":{"B":{"L":[{"B":""}]}}}}}',
    b'{"Item":{"pk":{"S":"\\ud83d\\ude00 \\u00e9"}}}',
    '{"Item":{"pk":{"S":"é😀"}}}'.encode(),
    b'{"Item":{"pk":{"S":"\\ud800"}}}',
    b'{"Item":null,"ConsumedCapacity":{"TableName":"table","CapacityUnits":0.5}}',
    b'{"Item":{"pk":{"S":"a","N":null}}}',
    b'{"Item":{"pk":{"S":"null, null"}}}',
    b'{"Item":{"pk":{"S":"a"},"pk":{"S":"b"}}}',
    b'{"ConsumedCapacity":{"TableName":"B","CapacityUnits":2,"GlobalSecondaryIndexes":{"B":{"CapacityUnits":1.0}}}}',
]


@pytest.mark.parametrize("mode", ALL)
@pytest.mark.parametrize("body", ANSWERS)
def test_answers_are_those_of_the_plain_way(mode: str, body: bytes) -> None:
    with opened(mode) as client:
        call = Call("GetItem", {**GET.params, "ReturnConsumedCapacity": "TOTAL"})
        lane = client.run(call, Answer(body))
        assert client.explain().endswith("own connections")
        client.use_lane(False)
        assert client.run(call, Answer(body)) == lane
        assert lane["ResponseMetadata"]["RetryAttempts"] == 0
        assert list(lane["ResponseMetadata"]) == ["RequestId", "HTTPStatusCode", "HTTPHeaders", "RetryAttempts"]


# ---- who else is there


@pytest.mark.parametrize("mode", ALL)
def test_a_wrapper_sees_every_call_with_all_its_parameters_before_and_after(mode: str) -> None:
    with opened(mode) as client:
        seen: list[Any] = []
        original: Any = type(client.client)._make_api_call

        class Wrapping(type(client.client)):  # type: ignore[misc]
            if mode.startswith("async"):

                async def _make_api_call(self, operation: str, params: Any) -> Any:
                    seen.append((operation, dict(params)))
                    answer = await original(self, operation, params)
                    seen.append((operation, dict(params)))
                    return answer
            else:

                def _make_api_call(self, operation: str, params: Any) -> Any:
                    seen.append((operation, dict(params)))
                    answer = original(self, operation, params)
                    seen.append((operation, dict(params)))
                    return answer

        client.client.__class__ = Wrapping
        client.run(PUT)
        assert seen == [("PutItem", FULL)] * 2
        assert client.explain().startswith(LANE)


def test_a_wrapper_may_change_the_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    original = botocore.client.BaseClient._make_api_call

    def encrypting(self: Any, operation: str, params: Any) -> Any:
        return original(self, operation, {**params, "Item": {"pk": {"S": "sealed"}}})

    with opened("sync") as client:
        monkeypatch.setattr(botocore.client.BaseClient, "_make_api_call", encrypting)
        client.run(PUT)
        assert body_of(client.sent[0])["Item"] == {"pk": {"S": "sealed"}}
        assert client.explain().startswith(LANE)


@pytest.mark.parametrize("mode", ALL)
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("event", ["provide-client-params", "before-parameter-build"])
@pytest.mark.parametrize("name", ["", ".dynamodb", ".dynamodb.PutItem"])
def test_a_handler_may_change_the_parameters_in_place(mode: str, last: bool, event: str, name: str) -> None:
    with opened(mode) as client:
        client.register(event + name, lambda params, **_: params.update(TableName="other"), last=last)
        client.run(PUT)
        client.run(PUT)
        assert [body_of(request) for request in client.sent] == [
            {"TableName": "other", "Item": {"pk": {"S": "a"}, "photo": {"B": "AP8="}}}
        ] * 2


@pytest.mark.parametrize("mode", ALL)
@pytest.mark.parametrize("name", ["", ".dynamodb", ".dynamodb.PutItem"])
def test_a_handler_may_give_other_parameters(mode: str, name: str) -> None:
    with opened(mode) as client:
        client.register(f"provide-client-params{name}", lambda params, **_: {**params, "TableName": "other"})
        client.run(PUT)
        assert body_of(client.sent[0])["TableName"] == "other"


@pytest.mark.parametrize("mode", ALL)
def test_handlers_see_all_parameters(mode: str) -> None:
    with opened(mode) as client:
        seen: list[Any] = []
        for event in ("provide-client-params", "before-parameter-build"):
            client.register(f"{event}.dynamodb", lambda params, **_: seen.append(dict(params)))
        client.run(PUT)
        assert seen == [FULL] * 2


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("event", ["request-created", "before-sign", "before-call"])
def test_a_header_that_a_handler_adds_is_sent_and_signed(mode: str, event: str) -> None:
    def add(request: Any = None, params: Any = None, **_rest: Any) -> None:
        (params if request is None else request)["headers"].update({"X-More": "more"}) if request is None else None
        if request is not None:
            request.headers["X-More"] = "more"

    with opened(mode) as client:
        client.register(f"{event}.dynamodb.GetItem", add)
        client.run()
        assert header(client.sent[0], "X-More") == "more"
        assert ";x-more," in header(client.sent[0], "Authorization")
        assert client.explain().endswith("own connections")


@pytest.mark.parametrize("mode", MODES)
def test_a_handler_may_choose_not_to_sign(mode: str) -> None:
    with opened(mode) as client:
        client.register("choose-signer.dynamodb", lambda **_: UNSIGNED)
        client.run()
        assert "Authorization" not in client.sent[0].headers
        assert client.explain().endswith("own connections")


def test_an_unsigned_client_stays_unsigned() -> None:
    with opened("sync", warm=False) as client:
        unsigned = LaneClient(
            botocore.session.get_session().create_client(
                "dynamodb", region_name="us-east-1", config=Config(signature_version=UNSIGNED)
            ),
            None,
            lane=True,
        )
        unsigned.run()
        unsigned.run()
        assert ["Authorization" in request.headers for request in unsigned.sent] == [False, False]
        client.run()


@pytest.mark.parametrize("mode", MODES)
def test_a_request_that_a_handler_has_signed_keeps_its_signature(mode: str) -> None:
    with opened(mode) as client:

        def sign(request: Any, **_rest: Any) -> None:
            request.headers["Authorization"] = "of its own"

        client.register("request-created.dynamodb", sign)
        client.run()
        assert header(client.sent[0], "Authorization") == "of its own"


def arguments(event: str, given: Mapping[str, Any]) -> tuple[str, list[str], Any]:
    """What a handler is told, with the version of the signature; when it comes to signing botocore signs nothing."""
    return event, sorted(given), None if event.startswith("before-sign") else given.get("signature_version")


@pytest.mark.parametrize("mode", MODES)
def test_the_events_of_an_attempt_are_those_of_botocore(mode: str) -> None:
    """The same events with the same arguments, in the same order."""
    events = (
        *("provide-client-params", "before-parameter-build", "before-call", "request-created", "choose-signer"),
        *("before-sign", "before-send", "before-parse", "response-received", "needs-retry", "after-call"),
    )
    with opened(mode) as client:
        seen: list[Any] = []
        for event in events:
            client.register(f"{event}.dynamodb", lambda event_name, **rest: seen.append(arguments(event_name, rest)))
        client.run()
        lane = list(seen)
        seen.clear()
        client.use_lane(False)
        client.run()
        assert lane == seen


@pytest.mark.parametrize("mode", OWN)
def test_where_somebody_handles_sending_that_is_the_only_event_in_between(mode: str) -> None:
    with opened(mode) as client:
        seen: list[str] = []
        client.register("*", lambda event_name, **_: seen.append(event_name))
        client.run()
        names = ["provide-client-params", "before-parameter-build", "before-call", "before-send", "after-call"]
        assert seen == [
            name
            for each in names
            for name in (f"{each}.dynamodb.GetItem", *(["before-endpoint-resolution.dynamodb"] * (each == names[1])))
        ]


@pytest.mark.parametrize("mode", MODES)
def test_an_answer_may_be_changed_before_and_after_it_is_read(mode: str) -> None:
    with opened(mode) as client:

        def before(response_dict: Any, customized_response_dict: Any, **_rest: Any) -> None:
            response_dict["body"] = b'{"Item":{"pk":{"S":"changed"}}}'
            customized_response_dict["More"] = 1

        client.register("before-parse.dynamodb", before)
        client.register("after-call.dynamodb", lambda parsed, **_: parsed.update(Last=2))
        reply = client.run()
        assert (reply["Item"], reply["More"], reply["Last"]) == ({"pk": {"S": "changed"}}, 1, 2)
        assert client.explain().startswith(LANE)


@pytest.mark.parametrize("mode", MODES)
def test_a_handler_that_asks_for_a_repeat_gets_it(mode: str) -> None:
    with opened(mode) as client:
        asked: list[int] = []

        def again(attempts: int, **_rest: Any) -> Any:
            asked.append(attempts)
            return 0 if len(asked) == 1 else None

        client.register("needs-retry.dynamodb", again)
        client.answers.append(Answer(b'{"Item":{"pk":{"S":"first"}}}'))
        reply = client.run(answer=Answer(b'{"Item":{"pk":{"S":"second"}}}'))
        assert reply["Item"] == {"pk": {"S": "second"}}
        assert len(client.sent) == 2


@pytest.mark.parametrize("mode", ALL)
@pytest.mark.parametrize("last", [False, True])
def test_a_handler_of_before_call_may_answer(mode: str, last: bool) -> None:
    with opened(mode) as client:
        http = AWSResponse("http://localhost", 200, {}, None)
        event = "before-call.dynamodb" if not last else "before-call"
        client.register(event, lambda **_: (http, {"Item": {"pk": {"S": "cached"}}}))
        client.answers = [Answer(), Answer()]
        assert client.run()["Item"] == {"pk": {"S": "cached"}}
        assert client.sent == []


@pytest.mark.parametrize("before", [True, False])
def test_a_stubber_stubs(before: bool) -> None:
    with opened("sync", warm=False) as client:
        if before:
            client.run()
        with Stubber(client.client) as stubber:
            stubber.add_response("put_item", {}, FULL)
            stubber.add_client_error("put_item", "ThrottlingException", "slow down", 400)
            client.run(PUT)
            with pytest.raises(CallFailed) as caught:
                client.run(PUT)
            stubber.assert_no_pending_responses()
        assert caught.value.code == "ThrottlingException"
        client.run(PUT)


# ---- in asyncio


def test_a_call_that_is_cancelled_while_it_waits_is_over() -> None:
    with opened("async") as client:
        waiting = asyncio.Event()

        async def never(**_rest: Any) -> None:
            waiting.set()
            await asyncio.Event().wait()

        client.client.meta.events.register_first("before-send", never)

        async def cancelled() -> None:
            task = asyncio.ensure_future(client.driver.run(iter_of(GET)))
            await waiting.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        client.wait(cancelled())
        client.client.meta.events.unregister("before-send", never)
        assert client.run()["ResponseMetadata"]["HTTPStatusCode"] == 200


def iter_of(call: Call) -> Any:
    return (yield call)


@pytest.mark.parametrize("event", ["provide-client-params", "before-parameter-build", "request-created", "before-send"])
def test_handlers_may_be_awaited(event: str) -> None:
    with opened("async") as client:
        seen: list[str] = []

        async def handler(event_name: str, **_rest: Any) -> None:
            await asyncio.sleep(0)
            seen.append(event_name)

        client.register(f"{event}.dynamodb", handler)
        client.run()
        assert seen == [f"{event}.dynamodb.GetItem"]
        assert client.explain().endswith("own connections")
