"""The benchmarks' own arithmetic, their stub's answers, and that a peer that does other work is found out."""

from __future__ import annotations

import base64
import http.client
import json
import socket
import zlib
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from boto3.dynamodb.types import TypeDeserializer

from benchmarks import answers, checks, compare, server, tables
from benchmarks.items import ORDER, Kind, expected, mixed_kinds, plain, wide_kind
from benchmarks.server import Seen, Stub
from benchmarks.works import PEERS, RAW_UPDATE_VALUES, WORKS

PREPARED = answers.answers()

# ---- arithmetic


def a_round(**processor: float) -> compare.Round:
    return {peer: {"get": (taken, taken * 2 if peer == "fast" else taken)} for peer, taken in processor.items()}


def test_a_ratio_is_the_median_of_the_rounds_own_ratios() -> None:
    # the second round ran on a machine that was ten times slower, the third met something that stopped the one
    rounds = [a_round(base=100, fast=50), a_round(base=1000, fast=500), a_round(base=100, fast=900)]
    assert compare.ratios(rounds, "base") == {"get": {"base": 1.0, "fast": 0.5}}
    assert compare.ratios(rounds, "base", compare.WALL) == {"get": {"base": 1.0, "fast": 1.0}}
    assert compare.medians(rounds, "base") == {"get": 100}
    assert compare.spread(rounds, "base") == 10


@pytest.mark.parametrize(
    ("seconds", "most", "done"),
    [(100, 9, 4), (100, 3, 3), (10, 9, 1), (60, 9, 2), (float("inf"), 7, 7)],
    ids=["as many as fit", "the most", "one at least", "two", "no limit"],
)
def test_rounds_end_before_the_time_does(seconds: float, most: int, done: int) -> None:
    now = 0.0

    def one(number: int) -> compare.Round:
        nonlocal now
        now += 25
        return a_round(base=number + 1)

    assert len(compare.rounds_within(one, most=most, seconds=seconds, clock=lambda: now)) == done


def test_every_second_round_goes_backwards(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []

    def answer_of(*arguments: str) -> dict[str, Any]:
        started.append(arguments[2])
        return {}

    monkeypatch.setattr(compare, "answer_of", answer_of)
    measure = compare.measure(Stub(0), ["a", "b", "c"], 1)
    for number in range(3):
        measure(number)
    assert "".join(started) == "abccbaabc"


def test_a_table_is_aligned() -> None:
    times: dict[str, dict[str, float]] = {"get": {"boto3": 1, "other": 12.344}, "put": {"boto3": 1, "other": 2}}
    made = tables.ratio_table("times", times, ["boto3", "other"])
    assert made == "times    get   put\nboto3   1.00  1.00\nother  12.34  2.00"


def test_the_named_peers_and_works_are_there() -> None:
    assert list(WORKS) == [
        "get",
        "put",
        "update",
        "query",
        "query_5_types",
        "batch_get",
        "batch_write",
        "transact",
    ]
    quick = ["boto3", "dynamap", "dynamap_aio", "pynamodb", "aiodynamo", "dynamoxy"]
    assert [peer.name for peer in PEERS if peer.quick] == quick
    assert all((server.HERE / "peers" / f"{peer.module}.py").exists() for peer in PEERS)


# ---- items


def test_an_item_is_about_1_kb_and_always_the_same() -> None:
    assert 900 < len(json.dumps(ORDER.wire(7), separators=(",", ":"))) < 1100
    assert ORDER.wire(7) == ORDER.wire(7) != ORDER.wire(8)


@pytest.mark.parametrize("kind", [ORDER, *mixed_kinds(5), wide_kind(5), wide_kind(200)], ids=lambda kind: kind.name)
def test_the_wire_form_means_the_values(kind: Kind) -> None:
    wire: dict[str, Any] = {
        name: {"B": base64.b64decode(value["B"])} if "B" in value else value for name, value in kind.wire(3).items()
    }
    deserialize = TypeDeserializer().deserialize
    assert plain({name: deserialize(value) for name, value in wire.items()}, kind) == expected(kind, 3)
    assert plain(checks.unwired(kind.wire(3)), kind) == expected(kind, 3)


@pytest.mark.parametrize("attributes", answers.ATTRIBUTE_COUNTS)
def test_wide_items_have_the_number_of_attributes(attributes: int) -> None:
    assert len(wide_kind(attributes).wire(1)) == attributes


# ---- the stub


STUBS: dict[str, Callable[[], list[str] | None]] = {
    "in C": lambda: None if (built := server.build()) is None else [str(built)],
    "in Python": server.python_stub,
}


@pytest.fixture(scope="module", params=list(STUBS))
def stub(request: pytest.FixtureRequest) -> Iterator[Stub]:
    command = STUBS[request.param]()
    if command is None:
        pytest.skip("no C compiler is installed")
    with server.running(command) as running:
        yield running


ASKED = [
    ("GetItem", answers.TABLE),
    ("GetItem", answers.ENTITY_PREFIX + answers.TABLE),
    ("PutItem", answers.TABLE),
    ("Query", answers.TABLE),
    ("Query", answers.mixed_table(answers.MIXED)),
    ("BatchGetItem", answers.TABLE),
    ("BatchWriteItem", answers.TABLE),
    ("TransactWriteItems", answers.TABLE),
    ("UpdateItem", answers.TABLE),
    ("DescribeTable", answers.TABLE),
]


@pytest.mark.parametrize(("operation", "table"), ASKED)
def test_an_answer_is_what_was_prepared_and_fits_its_checksum(stub: Stub, operation: str, table: str) -> None:
    answer = stub.call(operation, json.dumps({"TableName": table}))
    assert answer.status == 200
    assert answer.headers["x-amz-crc32"] == str(zlib.crc32(answer.body))
    assert json.loads(answer.body) == PREPARED.get(f"{operation}@{table}", PREPARED.get(operation))


def test_a_page_holds_the_items_of_all_types(stub: Stub) -> None:
    body = stub.call("Query", json.dumps({"TableName": answers.mixed_table(answers.MIXED)})).body
    items = json.loads(body)["Items"]
    assert len(items) == answers.PAGE
    assert sorted({item["_type"]["S"] for item in items}) == ["INVOICE", "ORDER", "PAYMENT", "SHIPMENT", "VISIT"]
    assert 900_000 < len(body) < 1_200_000


def test_one_connection_takes_many_requests_also_at_once_and_in_pieces(stub: Stub) -> None:
    body = json.dumps({"TableName": answers.TABLE})
    headers = f"Host: x\r\nX-AMZ-TARGET: DynamoDB_20120810.GetItem\r\nContent-length: {len(body)}"
    request = f"POST / HTTP/1.1\r\n{headers}\r\n\r\n{body}".encode()
    expected_answer = answers.response(PREPARED[f"GetItem@{answers.TABLE}"])
    with socket.create_connection(("127.0.0.1", stub.port), timeout=10) as connection:
        connection.sendall(request * 3 + request[:40])
        assert received(connection, 3 * len(expected_answer)) == expected_answer * 3
        connection.sendall(request[40:])
        assert received(connection, len(expected_answer)) == expected_answer


def received(connection: socket.socket, length: int) -> bytes:
    found = b""
    while len(found) < length:
        piece = connection.recv(length - len(found))
        assert piece, f"the connection ended after {len(found)} of {length} bytes"
        found += piece
    return found


def test_a_body_that_is_announced_is_asked_for(stub: Stub) -> None:
    head = b"POST / HTTP/1.1\r\nX-Amz-Target: D.PutItem\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
    with socket.create_connection(("127.0.0.1", stub.port), timeout=10) as connection:
        connection.sendall(head)
        go_on = b"HTTP/1.1 100 Continue\r\n\r\n"
        assert received(connection, len(go_on)) == go_on
        connection.sendall(b"{}")
        assert received(connection, 15) == b"HTTP/1.1 200 OK"


def test_it_tells_what_it_has_seen(stub: Stub) -> None:
    stub.seen()
    connection = http.client.HTTPConnection("127.0.0.1", stub.port, timeout=10)
    for number in range(3):
        connection.request("POST", "/", json.dumps({"n": number}), {"X-Amz-Target": "DynamoDB_20120810.PutItem"})
        connection.getresponse().read()
    connection.close()
    assert stub.seen() == Seen(3, {"n": 2})
    assert stub.seen() == Seen(0, None)


def test_an_operation_that_it_does_not_know_is_refused(stub: Stub) -> None:
    assert stub.call("DeleteTable").status == 400


def test_without_a_compiler_the_stub_is_in_python_but_not_in_ci(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(server, "compiler", lambda: None)
    assert server.build(tmp_path) is None
    monkeypatch.setattr(server, "build", lambda: None)
    monkeypatch.setenv("CI", "false")
    assert server.stub_command() == server.python_stub()
    assert "No C compiler" in capsys.readouterr().err
    monkeypatch.setenv("CI", "true")
    with pytest.raises(server.NoCompiler, match="no C compiler is installed"):
        server.stub_command()


# ---- who does other work is found out


def bare_reply(operation: str) -> Any:
    return PREPARED[f"{operation}@{answers.TABLE}"]


KEY = {name: {"S": text} for name, text in ORDER.key(1).items()}
RIGHT: dict[str, tuple[Any, Seen]] = {
    "get": (bare_reply("GetItem"), Seen(1, {"Key": KEY})),
    "put": ({}, Seen(1, {"Item": ORDER.wire(1)})),
    "update": (
        {},
        Seen(
            1,
            {
                "Key": KEY,
                "ConditionExpression": "#q = :if",
                "ExpressionAttributeValues": {
                    name: {"S": value} if isinstance(value, str) else {"N": str(value)}
                    for name, value in RAW_UPDATE_VALUES.items()
                },
            },
        ),
    ),
    "query": (bare_reply("Query"), Seen(1, {})),
    "batch_get": (bare_reply("BatchGetItem"), Seen(1, {"RequestItems": {"bench": {"Keys": [KEY] * 100}}})),
    "batch_write": (
        {},
        Seen(1, {"RequestItems": {"bench": [{"PutRequest": {"Item": ORDER.wire(each)}} for each in range(25)]}}),
    ),
    "transact": ({}, Seen(1, {"TransactItems": [{"Put": {"Item": ORDER.wire(each)}} for each in range(10)]})),
}


@pytest.mark.parametrize("work", list(RIGHT))
def test_the_work_that_was_done_passes(work: str) -> None:
    checks.check(work, *RIGHT[work])


@pytest.mark.parametrize("work", list(RIGHT))
def test_work_in_two_calls_is_found_out(work: str) -> None:
    reply, seen = RIGHT[work]
    with pytest.raises(checks.WrongWork, match="number of calls: 2 instead of 1"):
        checks.check(work, reply, Seen(2, seen.body))


def damaged(value: Any) -> Any:
    """The same with one number in it that is another."""
    changed = json.loads(json.dumps(value))
    item = next(each for each in found_items(changed) if "quantity" in each)
    item["quantity"] = {"N": "-1"}
    return changed


def found_items(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield value
        for each in value.values():
            yield from found_items(each)
    elif isinstance(value, list):
        for each in value:
            yield from found_items(each)


@pytest.mark.parametrize("work", ["get", "query", "batch_get"])
def test_an_answer_that_is_not_what_was_sent_is_found_out(work: str) -> None:
    reply, seen = RIGHT[work]
    with pytest.raises(checks.WrongWork, match=f"{work}, ORDER"):
        checks.check(work, damaged(reply), seen)


@pytest.mark.parametrize("work", ["put", "batch_write", "transact"])
def test_a_write_of_something_else_is_found_out(work: str) -> None:
    reply, seen = RIGHT[work]
    with pytest.raises(checks.WrongWork, match=work):
        checks.check(work, reply, Seen(1, damaged(seen.body)))


@pytest.mark.parametrize("left_out", ["ConditionExpression", ":n"])
def test_an_update_of_something_else_is_found_out(left_out: str) -> None:
    body = json.loads(json.dumps(RIGHT["update"][1].body))
    body.pop(left_out, None)
    body["ExpressionAttributeValues"].pop(left_out, None)
    with pytest.raises(checks.WrongWork, match="update"):
        checks.check("update", {}, Seen(1, body))


def test_an_update_that_answers_something_else_is_found_out() -> None:
    body = {**RIGHT["update"][1].body, "ReturnValues": "ALL_NEW"}
    checks.check("update", ORDER.wire(1), Seen(1, body))
    with pytest.raises(checks.WrongWork, match="update, ORDER 1"):
        checks.check("update", ORDER.wire(2), Seen(1, body))


def test_items_of_several_types_must_be_told_apart() -> None:
    reply = json.loads(json.dumps(PREPARED[f"Query@{answers.mixed_table(answers.MIXED)}"]))
    checks.check("query_5_types", reply, Seen(1, {}))
    reply["Items"].pop()
    with pytest.raises(checks.WrongWork, match="number of items: 999 instead of 1000"):
        checks.check("query_5_types", reply, Seen(1, {}))
    with pytest.raises(checks.WrongWork, match="an item is a SimpleOrder, and should be a Order"):
        checks.check("get", type("SimpleOrder", (), ORDER.values(1))(), RIGHT["get"][1])


def test_numbers_are_compared_by_value_whatever_their_type() -> None:
    values = ORDER.values(1)
    assert plain(values | {"price": float(values["price"])}, ORDER) == expected(ORDER, 1)
    assert plain(values | {"price": values["price"] + Decimal("0.01")}, ORDER) != expected(ORDER, 1)
