"""The engine in memory by itself: what it refuses, indexes, pages, tokens, batches and tables."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dynamap import RequestError, Table, entity
from dynamap.plan import Call, CallFailed
from dynamap.testing import MemoryEngine, memory_store, memory_store_async

INVALID = "ValidationException"
KEYS = {"pk": {"S": "p"}, "sk": {"N": "1"}}


@pytest.fixture
def now() -> list[float]:
    return [1_000.0]


@pytest.fixture
def engine(now: list[float]) -> MemoryEngine:
    engine = MemoryEngine(clock=lambda: now[0])
    engine.answer(
        Call(
            "CreateTable",
            {
                "TableName": "things",
                "AttributeDefinitions": [
                    {"AttributeName": name, "AttributeType": kind}
                    for name, kind in {"pk": "S", "sk": "N", "group": "S", "rank": "N"}.items()
                ],
                "KeySchema": schema("pk", "sk"),
                "GlobalSecondaryIndexes": [
                    {
                        "IndexName": "by-group",
                        "KeySchema": schema("group", "rank"),
                        "Projection": projection("KEYS_ONLY"),
                    },
                    {
                        "IndexName": "by-both",
                        "KeySchema": [
                            {"AttributeName": "group", "KeyType": "HASH"},
                            {"AttributeName": "pk", "KeyType": "HASH"},
                            {"AttributeName": "rank", "KeyType": "RANGE"},
                            {"AttributeName": "sk", "KeyType": "RANGE"},
                        ],
                        "Projection": projection("ALL"),
                    },
                ],
                "LocalSecondaryIndexes": [
                    {
                        "IndexName": "by-rank",
                        "KeySchema": schema("pk", "rank"),
                        "Projection": projection("INCLUDE", ["note"]),
                    }
                ],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )
    )
    return engine


def schema(partition: str, sort: str) -> list[dict[str, str]]:
    return [{"AttributeName": partition, "KeyType": "HASH"}, {"AttributeName": sort, "KeyType": "RANGE"}]


def projection(kind: str, names: list[str] | None = None) -> dict[str, Any]:
    return {"ProjectionType": kind, **({"NonKeyAttributes": names} if names else {})}


def send(engine: MemoryEngine, operation: str, /, **params: Any) -> Any:
    return engine.answer(Call(operation, {"TableName": "things", **params}))


def put(engine: MemoryEngine, sk: int, **attributes: Any) -> None:
    send(engine, "PutItem", Item={"pk": {"S": "p"}, "sk": {"N": str(sk)}, **attributes})


def refused(engine: MemoryEngine, operation: str, /, code: str = INVALID, **params: Any) -> CallFailed:
    with pytest.raises(CallFailed) as raised:
        send(engine, operation, **params)
    assert raised.value.code == code, raised.value
    return raised.value


# ---- what is refused


def nested(levels: int) -> Any:
    return {"L": [nested(levels - 1)]} if levels else {"S": "x"}


BAD_ITEMS: dict[str, Any] = {
    "an empty set": {"SS": []},
    "duplicates": {"SS": ["a", "a"]},
    "equal numbers in a set": {"NS": ["1", "1.0"]},
    "39 digits": {"N": "1" * 39},
    "no number": {"N": "NaN"},
    "a number with spaces": {"N": " 1"},
    "too large a number": {"N": "1E+126"},
    "too small a number": {"N": "1E-131"},
    "null that is false": {"NULL": False},
    "a value of two types": {"S": "a", "N": "1"},
    "no value": {},
    "an unknown type": {"X": "a"},
    "a text that is none": {"S": 1},
    "nesting": nested(33),
    "400 KB": {"S": "x" * 409_600},
}


@pytest.mark.parametrize("what", sorted(BAD_ITEMS))
def test_values_that_cannot_be_stored_are_refused(engine: MemoryEngine, what: str) -> None:
    refused(engine, "PutItem", Item={**KEYS, "a": BAD_ITEMS[what]})
    assert engine.items("things") == []


BAD_KEYS: dict[str, Any] = {
    "missing sort key": {"pk": {"S": "p"}},
    "one too many": {**KEYS, "a": {"S": "a"}},
    "another type": {"pk": {"N": "1"}, "sk": {"N": "1"}},
    "empty": {"pk": {"S": ""}, "sk": {"N": "1"}},
    "too long": {"pk": {"S": "x" * 2049}, "sk": {"N": "1"}},
}


@pytest.mark.parametrize("what", sorted(BAD_KEYS))
def test_keys_that_are_none_are_refused(engine: MemoryEngine, what: str) -> None:
    refused(engine, "GetItem", Key=BAD_KEYS[what])
    refused(engine, "DeleteItem", Key=BAD_KEYS[what])


@pytest.mark.parametrize("value", [{"N": "1"}, {"S": ""}])
def test_a_key_of_an_index_must_be_one(engine: MemoryEngine, value: Any) -> None:
    refused(engine, "PutItem", Item={**KEYS, "group": value})


V = {":v": {"N": "1"}}
BAD_CONDITIONS: list[tuple[str, dict[str, Any]]] = [
    ("", {}),
    ("a", {}),
    ("a =", {}),
    ("a = :v AND", V),
    ("a = :v)", V),
    ("((a = :v))", V),
    ("a = a", {}),
    ("a = :w", V),
    ("a = :v", {**V, ":unused": {"N": "1"}}),
    ("#a = :v", V),
    ("foo(a)", {}),
    ("attribute_exists(a, b)", {}),
    ("attribute_exists(:v)", V),
    ("begins_with(a, :v)", V),
    ("attribute_type(a, :v)", {":v": {"S": "X"}}),
    ("a < :v", {":v": {"BOOL": True}}),
    ("a BETWEEN :v AND :w", {":v": {"N": "2"}, ":w": {"N": "1"}}),
    ("a BETWEEN :v AND :w", {":v": {"N": "1"}, ":w": {"S": "1"}}),
    (f"a IN ({', '.join([':v'] * 101)})", V),
    (" OR ".join(["a < :v"] * 160), V),
    (" OR ".join(["attribute_exists(abcdefghijkl)"] * 140), {}),
    ("a[x] = :v", V),
    ("a ? :v", V),
    ("AND = :v", V),
]


@pytest.mark.parametrize(("text", "values"), BAD_CONDITIONS)
def test_conditions_that_are_none_are_refused(engine: MemoryEngine, text: str, values: dict[str, Any]) -> None:
    put(engine, 1)
    params = {"ExpressionAttributeValues": values} if values else {}
    refused(engine, "DeleteItem", Key=KEYS, ConditionExpression=text, **params)
    assert len(engine.items("things")) == 1


BAD_UPDATES: list[tuple[str, dict[str, Any]]] = [
    ("", {}),
    ("SET a", {}),
    ("SET a = :v SET b = :v", V),
    ("SET a = :v, a = :v", V),
    ("SET a.b = :v, a = :v", V),
    ("SET a.b = :v, a[0] = :v", V),
    ("SET pk = :v", V),
    ("SET a = missing", {}),
    ("SET a = n + s", {}),
    ("SET a = list_append(n, n)", {}),
    ("SET m.x.y = :v", V),
    ("SET l.x = :v", V),
    ("SET a = foo(n, :v)", V),
    ("SET rank = :v", {":v": {"S": "x"}}),
    ("ADD a :v", {":v": {"S": "x"}}),
    ("ADD s :v", V),
    ("ADD n :v", {":v": {"SS": ["x"]}}),
    ("DELETE n :v", V),
    ("REMOVE missing.x", {}),
    ("SET big = big + :v", {":v": {"N": "0.1"}}),
    ("CHANGE a = :v", V),
]


@pytest.mark.parametrize(("text", "values"), BAD_UPDATES)
def test_updates_that_are_none_are_refused(engine: MemoryEngine, text: str, values: dict[str, Any]) -> None:
    put(engine, 1, n={"N": "1"}, s={"S": "s"}, m={"M": {}}, l={"L": []}, big={"N": "9" * 38})
    before = engine.items("things")
    params = {"ExpressionAttributeValues": values} if values else {}
    refused(engine, "UpdateItem", Key=KEYS, UpdateExpression=text, **params)
    assert engine.items("things") == before


def test_other_requests_that_are_none_are_refused(engine: MemoryEngine) -> None:
    refused(engine, "PutItem", Item=KEYS, ReturnValues="ALL_NEW")
    refused(engine, "GetItem", Key=KEYS, ProjectionExpression="a, a.b")
    refused(engine, "GetItem", Key=KEYS, ExpressionAttributeNames={"#unused": "a"})
    refused(engine, "GetItem", code="ResourceNotFoundException", Key=KEYS, TableName="nothing")
    refused(engine, "ExecuteStatement", code="UnknownOperationException", Statement="")


# ---- updates


def test_right_sides_see_the_item_as_it_was(engine: MemoryEngine) -> None:
    put(engine, 1, a={"N": "1"}, b={"N": "2"}, l={"L": [{"N": str(n)} for n in range(4)]})
    reply = send(
        engine,
        "UpdateItem",
        Key=KEYS,
        UpdateExpression="SET a = b, b = a, l[9] = :x, l[1] = :y REMOVE l[0], l[2]",
        ExpressionAttributeValues={":x": {"S": "x"}, ":y": {"S": "y"}},
        ReturnValues="UPDATED_NEW",
    )
    assert engine.items("things")[0]["l"] == {"L": [{"S": "y"}, {"N": "3"}, {"S": "x"}]}
    assert (reply["Attributes"]["a"], reply["Attributes"]["b"]) == ({"N": "2"}, {"N": "1"})


def test_numbers_are_exact_and_have_one_form(engine: MemoryEngine) -> None:
    put(engine, 1, a={"N": "1.50"}, b={"N": "-0.0"}, c={"N": "1E3"}, d={"N": "9" * 37 + "8"})
    reply = send(
        engine,
        "UpdateItem",
        Key=KEYS,
        UpdateExpression="ADD d :one",
        ExpressionAttributeValues={":one": {"N": "1"}},
        ReturnValues="ALL_NEW",
    )
    numbers = {name: reply["Attributes"][name]["N"] for name in "abcd"}
    assert numbers == {"a": "1.5", "b": "0", "c": "1000", "d": "9" * 38}


def test_what_is_answered_can_be_changed_without_changing_what_is_stored(engine: MemoryEngine) -> None:
    put(engine, 1, m={"M": {"l": {"L": []}}}, s={"SS": ["a"]})
    item = send(engine, "GetItem", Key=KEYS)["Item"]
    item["m"]["M"]["l"]["L"].append({"S": "x"})
    item["s"]["SS"].append("b")
    engine.items("things")[0]["m"]["M"].clear()
    assert send(engine, "GetItem", Key=KEYS)["Item"]["m"] == {"M": {"l": {"L": []}}}
    assert send(engine, "GetItem", Key=KEYS)["Item"]["s"] == {"SS": ["a"]}


# ---- queries and indexes

P = {":p": {"S": "p"}}


def numbers(reply: Any) -> list[int]:
    return [int(item["sk"]["N"]) for item in reply["Items"]]


def query(engine: MemoryEngine, text: str, values: dict[str, Any], **params: Any) -> Any:
    return send(engine, "Query", KeyConditionExpression=text, ExpressionAttributeValues=values, **params)


def test_a_partition_is_ordered_by_number(engine: MemoryEngine) -> None:
    for number in (10, 9, -3, 2):
        put(engine, number)
    assert numbers(query(engine, "pk = :p", P)) == [-3, 2, 9, 10]
    assert numbers(query(engine, "pk = :p AND sk >= :n", {**P, ":n": {"N": "2"}})) == [2, 9, 10]
    assert numbers(query(engine, ":n > sk AND pk = :p", {**P, ":n": {"N": "9"}}, ScanIndexForward=False)) == [2, -3]


def test_pages_follow_one_another(engine: MemoryEngine) -> None:
    for number in range(7):
        put(engine, number)
    for forward in (True, False):
        seen: list[list[int]] = []
        params: dict[str, Any] = {"Limit": 3, "ScanIndexForward": forward}
        while True:
            reply = query(engine, "pk = :p", P, **params)
            seen.append(numbers(reply))
            if "LastEvaluatedKey" not in reply:
                break
            params["ExclusiveStartKey"] = reply["LastEvaluatedKey"]
            # the item that the page ended with may go
            send(engine, "DeleteItem", Key=reply["LastEvaluatedKey"])
        assert [len(page) for page in seen] == ([3, 3, 1] if forward else [3, 2])
        flat = [number for page in seen for number in page]
        assert flat == sorted(flat, reverse=not forward)
    reply = query(engine, "pk = :p", P, Limit=len(engine.items("things")))
    assert "LastEvaluatedKey" in reply  # the service does not look ahead


def test_a_page_ends_at_a_megabyte(engine: MemoryEngine) -> None:
    for number in range(4):
        put(engine, number, text={"S": "x" * 300_000})
    reply = query(engine, "pk = :p", P)
    assert (numbers(reply), reply["ScannedCount"]) == ([0, 1, 2, 3], 4)
    put(engine, 4)
    assert numbers(query(engine, "pk = :p", P)) == [0, 1, 2, 3]


def test_filters_count_what_they_drop(engine: MemoryEngine) -> None:
    for number in range(4):
        put(engine, number, even={"BOOL": number % 2 == 0})
    values = {**P, ":yes": {"BOOL": True}}
    reply = query(engine, "pk = :p", values, FilterExpression="even = :yes", Select="COUNT")
    assert (reply["Count"], reply["ScannedCount"], "Items" in reply) == (2, 4, False)
    refused(engine, "Query", KeyConditionExpression="pk = :p", FilterExpression="sk = :p", ExpressionAttributeValues=P)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("sk = :n", {":n": {"N": "1"}}),
        ("pk = :p OR sk = :n", {**P, ":n": {"N": "1"}}),
        ("pk = :p AND sk <> :n", {**P, ":n": {"N": "1"}}),
        ("pk > :p", P),
        ("pk = :p AND pk = :p", P),
        ("pk = :p AND note = :n", {**P, ":n": {"N": "1"}}),
        ("pk = :p AND sk = :n", {**P, ":n": {"S": "1"}}),
        ("pk = :p AND size(sk) = :n", {**P, ":n": {"N": "1"}}),
        ("NOT pk = :p", P),
    ],
)
def test_key_conditions_that_are_none_are_refused(engine: MemoryEngine, text: str, values: dict[str, Any]) -> None:
    refused(engine, "Query", KeyConditionExpression=text, ExpressionAttributeValues=values)


def test_indexes_hold_what_they_project(engine: MemoryEngine) -> None:
    put(engine, 1, group={"S": "g"}, rank={"N": "2"}, note={"S": "n"}, other={"S": "o"})
    put(engine, 2, group={"S": "g"}, rank={"N": "1"})
    put(engine, 3, group={"S": "g"})
    g = {":g": {"S": "g"}}
    by_group = query(engine, "#g = :g", g, IndexName="by-group", ExpressionAttributeNames={"#g": "group"})
    assert numbers(by_group) == [2, 1]
    assert sorted(by_group["Items"][1]) == ["group", "pk", "rank", "sk"]
    by_rank = query(engine, "pk = :p AND rank > :n", {**P, ":n": {"N": "1"}}, IndexName="by-rank", ConsistentRead=True)
    assert sorted(by_rank["Items"][0]) == ["note", "pk", "rank", "sk"]
    # a local index fetches what it does not project
    fetched = query(engine, "pk = :p", P, IndexName="by-rank", ProjectionExpression="other")
    assert fetched["Items"] == [{}, {"other": {"S": "o"}}]
    both = query(
        engine,
        "#g = :g AND pk = :p AND rank = :n",
        {**g, **P, ":n": {"N": "2"}},
        IndexName="by-both",
        ExpressionAttributeNames={"#g": "group"},
    )
    assert numbers(both) == [1]
    common: Any = {"KeyConditionExpression": "#g = :g", "ExpressionAttributeValues": g}
    names = {"ExpressionAttributeNames": {"#g": "group"}}
    refused(engine, "Query", **common, **names, IndexName="by-group", ConsistentRead=True)
    refused(engine, "Query", **common, **names, IndexName="by-group", ProjectionExpression="other")
    refused(engine, "Query", **common, **names, IndexName="by-both")
    refused(engine, "Query", **common, **names, IndexName="nothing")


def test_pages_of_an_index_begin_at_its_keys(engine: MemoryEngine) -> None:
    for number in range(3):
        put(engine, number, group={"S": "g"}, rank={"N": "5"})
    params: dict[str, Any] = {"IndexName": "by-group", "ExpressionAttributeNames": {"#g": "group"}, "Limit": 1}
    seen: list[int] = []
    for _ in range(3):
        reply = query(engine, "#g = :g", {":g": {"S": "g"}}, **params)
        seen += numbers(reply)
        params["ExclusiveStartKey"] = reply["LastEvaluatedKey"]
    assert sorted(seen) == [0, 1, 2]
    assert sorted(reply["LastEvaluatedKey"]) == ["group", "pk", "rank", "sk"]
    refused(
        engine,
        "Query",
        KeyConditionExpression="pk = :p",
        ExpressionAttributeValues=P,
        ExclusiveStartKey={"pk": {"S": "p"}},
    )


def test_segments_share_a_scan(engine: MemoryEngine) -> None:
    for number in range(20):
        send(engine, "PutItem", Item={"pk": {"S": str(number)}, "sk": {"N": str(number)}})
    segments = [numbers(send(engine, "Scan", Segment=segment, TotalSegments=3)) for segment in range(3)]
    assert sorted(number for segment in segments for number in segment) == list(range(20))
    assert all(segments)
    assert numbers(send(engine, "Scan")) != list(range(20))  # partitions have no order
    refused(engine, "Scan", Segment=3, TotalSegments=3)
    refused(engine, "Scan", Segment=0)
    refused(engine, "Scan", Limit=0)


# ---- transactions


def transact(engine: MemoryEngine, *actions: dict[str, Any], token: str | None = None) -> Any:
    named = [{kind: {"TableName": "things", **inner}} for action in actions for kind, inner in action.items()]
    params = {"TransactItems": named, **({} if token is None else {"ClientRequestToken": token})}
    return engine.answer(Call("TransactWriteItems", params))


ADD = {"Update": {"Key": KEYS, "UpdateExpression": "ADD n :v", "ExpressionAttributeValues": V}}


def test_a_token_is_remembered_for_ten_minutes(engine: MemoryEngine, now: list[float]) -> None:
    for _ in range(3):
        transact(engine, ADD, token="t")
    assert engine.items("things")[0]["n"] == {"N": "1"}
    with pytest.raises(CallFailed) as raised:
        transact(engine, {"Delete": {"Key": KEYS}}, token="t")
    assert raised.value.code == "IdempotentParameterMismatchException"
    now[0] += 599
    transact(engine, ADD, token="t")
    assert engine.items("things")[0]["n"] == {"N": "1"}
    now[0] += 2
    transact(engine, ADD, token="t")
    assert engine.items("things")[0]["n"] == {"N": "2"}


def test_all_or_nothing_with_reasons_by_position(engine: MemoryEngine) -> None:
    put(engine, 1, s={"S": "s"})
    second = {"pk": {"S": "q"}, "sk": {"N": "1"}}
    third = {"pk": {"S": "r"}, "sk": {"N": "1"}}
    check = {"ConditionExpression": "attribute_not_exists(pk)", "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    with pytest.raises(CallFailed) as raised:
        transact(
            engine,
            {"Put": {"Item": second}},
            {"ConditionCheck": {"Key": KEYS, **check}},
            {"Update": {"Key": third, "UpdateExpression": "SET a = missing"}},
            token="t",
        )
    assert raised.value.code == "TransactionCanceledException"
    assert [reason["Code"] for reason in raised.value.reasons] == ["None", "ConditionalCheckFailed", "ValidationError"]
    assert raised.value.reasons[1]["Item"]["s"] == {"S": "s"}
    assert len(engine.items("things")) == 1
    # what was cancelled is not remembered
    transact(engine, {"Put": {"Item": second}}, token="t")
    assert len(engine.items("things")) == 2


@pytest.mark.parametrize(
    "actions",
    [
        [],
        [ADD, {"Delete": {"Key": KEYS}}],
        [{"Put": {"Item": {"pk": {"S": str(n)}, "sk": {"N": "1"}}}} for n in range(101)],
        [{"Put": {"Item": {"pk": {"S": str(n)}, "sk": {"N": "1"}, "a": {"S": "x" * 400_000}}}} for n in range(11)],
        [{"ConditionCheck": {"Key": KEYS}}],
        [{"Update": {"Key": KEYS, "UpdateExpression": "SET"}}],
    ],
    ids=["none", "one item twice", "too many", "too large", "nothing to check", "no syntax"],
)
def test_transactions_that_are_none_are_refused(engine: MemoryEngine, actions: list[Any]) -> None:
    with pytest.raises(CallFailed) as raised:
        transact(engine, *actions)
    assert raised.value.code == INVALID
    assert engine.items("things") == []


def test_reads_together_are_in_order(engine: MemoryEngine) -> None:
    put(engine, 1, s={"S": "s"})
    keys = [{"pk": {"S": "p"}, "sk": {"N": str(number)}} for number in (2, 1)]
    gets = [{"Get": {"TableName": "things", "Key": key, "ProjectionExpression": "s"}} for key in keys]
    reply = engine.answer(Call("TransactGetItems", {"TransactItems": gets}))
    assert reply["Responses"] == [{}, {"Item": {"s": {"S": "s"}}}]
    with pytest.raises(CallFailed, match="multiple operations on one item"):
        engine.answer(Call("TransactGetItems", {"TransactItems": gets[:1] * 2}))


# ---- batches and tables


def test_batches_have_bounds_and_no_duplicates(engine: MemoryEngine) -> None:
    def write(count: int, *, same: bool = False) -> Any:
        puts = [
            {"PutRequest": {"Item": {"pk": {"S": "p"}, "sk": {"N": "0" if same else str(n)}}}} for n in range(count)
        ]
        return engine.answer(Call("BatchWriteItem", {"RequestItems": {"things": puts}}))

    def read(count: int, *, same: bool = False) -> Any:
        keys = [{"pk": {"S": "p"}, "sk": {"N": "0" if same else str(n)}} for n in range(count)]
        return engine.answer(Call("BatchGetItem", {"RequestItems": {"things": {"Keys": keys}}}))

    for operation, most in ((write, 25), (read, 100)):
        for count, same in ((0, False), (most + 1, False), (2, True)):
            with pytest.raises(CallFailed, match=INVALID):
                operation(count, same=same)
        operation(most)
    assert len(read(100)["Responses"]["things"]) == 25
    for number in range(45):
        put(engine, number, text={"S": "x" * 390_000})
    reply = read(45)
    assert len(reply["Responses"]["things"]) + len(reply["UnprocessedKeys"]["things"]["Keys"]) == 45
    assert len(reply["UnprocessedKeys"]["things"]["Keys"]) == 2


def test_units_are_told_to_those_who_ask(engine: MemoryEngine) -> None:
    asked = {"ReturnConsumedCapacity": "TOTAL"}
    item = {**KEYS, "text": {"S": "x" * 5_000}}
    units = [
        send(engine, "PutItem", Item=item, **asked),
        send(engine, "GetItem", Key=KEYS, **asked),
        send(engine, "GetItem", Key=KEYS, ConsistentRead=True, **asked),
        query(engine, "pk = :p", P, **asked),
    ]
    assert [reply["ConsumedCapacity"]["CapacityUnits"] for reply in units] == [5.0, 1.0, 2.0, 1.0]
    assert "ConsumedCapacity" not in send(engine, "GetItem", Key=KEYS)


def test_tables_are_created_changed_and_deleted(engine: MemoryEngine) -> None:
    refused(
        engine,
        "CreateTable",
        code="ResourceInUseException",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
    )
    refused(
        engine,
        "CreateTable",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "unused")],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
    )
    described = send(engine, "DescribeTable")["Table"]
    assert (described["TableStatus"], described["ItemCount"]) == ("ACTIVE", 0)
    put(engine, 1, colour={"S": "red"})
    send(
        engine,
        "UpdateTable",
        AttributeDefinitions=[*described["AttributeDefinitions"], {"AttributeName": "colour", "AttributeType": "S"}],
        GlobalSecondaryIndexUpdates=[
            {
                "Create": {
                    "IndexName": "by-colour",
                    "KeySchema": [{"AttributeName": "colour", "KeyType": "HASH"}],
                    "Projection": projection("ALL"),
                }
            }
        ],
    )
    assert numbers(query(engine, "colour = :c", {":c": {"S": "red"}}, IndexName="by-colour")) == [1]
    assert send(engine, "DescribeTimeToLive")["TimeToLiveDescription"] == {"TimeToLiveStatus": "DISABLED"}
    ttl = {"TimeToLiveSpecification": {"Enabled": True, "AttributeName": "ttl"}}
    send(engine, "UpdateTimeToLive", **ttl)
    refused(engine, "UpdateTimeToLive", **ttl)
    assert send(engine, "DescribeTimeToLive")["TimeToLiveDescription"]["AttributeName"] == "ttl"
    send(engine, "DeleteTable")
    refused(engine, "DescribeTable", code="ResourceNotFoundException")
    assert engine.answer(Call("ListTables", {})) == {"TableNames": []}


def test_a_replica_answers_from_what_it_has_seen(engine: MemoryEngine) -> None:
    put(engine, 1)
    before = engine.snapshot()
    put(engine, 2)
    call = Call("Scan", {"TableName": "things"})
    assert numbers(engine.answer_from(before, call)) == [1]
    assert sorted(numbers(engine.answer(call))) == [1, 2]


# ---- stores


@entity("NOTE", pk="NOTE#{id}", sk="NOTE")
class Note:
    id: str
    text: str = ""


Notes = Table("notes", [Note])


def test_stores_of_both_modes_share_an_engine() -> None:
    engine = MemoryEngine()
    memory_store(Notes, engine=engine).of(Note).put(Note("a", "text")).send()

    async def read() -> Note | None:
        async with memory_store_async(Notes, engine=engine) as store:
            return await store.of(Note).get(id="a").send()

    assert asyncio.run(read()) == Note("a", "text")
    assert len(engine.items("notes")) == 1


def test_a_store_in_memory_is_used_as_any_other() -> None:
    with memory_store(Notes, clock=lambda: 5.0, write_ids=lambda: "id") as store:
        store.of(Note).put(Note("a")).if_not_exists().send()
        store.delete_table()
        store.create_table()
        assert store.of(Note).get(id="a").send() is None
    with pytest.raises(RequestError, match="has no client"):
        store._runtime.driver.client()  # type: ignore[attr-defined]


def test_each_store_in_memory_has_a_table_of_its_own() -> None:
    memory_store(Notes).of(Note).put(Note("a")).send()
    assert memory_store(Notes).of(Note).get(id="a").send() is None
