"""What moto answers differently from DynamoDB, and the embedded engine answers as DynamoDB does.

The behaviours that servers share run on all of them: the mend must not differ from its models.
"""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.backends import Backend

Item = dict[str, Any]


@pytest.fixture
def table(client: Any, table_name: str) -> str:
    client.create_table(
        TableName=table_name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    client.get_waiter("table_exists").wait(TableName=table_name, WaiterConfig={"Delay": 1, "MaxAttempts": 20})
    return table_name


def stored(client: Any, table: str, pk: str) -> Item | None:
    item: Item | None = client.get_item(TableName=table, Key={"pk": {"S": pk}}, ConsistentRead=True).get("Item")
    return item


def refusal(error: pytest.ExceptionInfo[ClientError]) -> tuple[str, int]:
    response = error.value.response
    return response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]


def addition(table: str, amount: int, **more: Any) -> Item:
    return {
        "Update": {
            "TableName": table,
            "Key": {"pk": {"S": "balance"}},
            "UpdateExpression": "ADD amount :amount",
            "ExpressionAttributeValues": {":amount": {"N": str(amount)}},
            **more,
        }
    }


@pytest.mark.not_on("dynalite", reason="it has no transactions")
@pytest.mark.not_on("roto", reason="it ignores client tokens")
def test_a_repeated_client_token_has_one_effect(client: Any, table: str) -> None:
    for _ in range(3):
        client.transact_write_items(TransactItems=[addition(table, 5)], ClientRequestToken="first")
    assert stored(client, table, "balance") == {"pk": {"S": "balance"}, "amount": {"N": "5"}}
    client.transact_write_items(TransactItems=[addition(table, 5)], ClientRequestToken="second")
    assert stored(client, table, "balance") == {"pk": {"S": "balance"}, "amount": {"N": "10"}}


@pytest.mark.not_on("dynalite", reason="it has no transactions")
@pytest.mark.not_on("roto", reason="it ignores client tokens")
def test_a_client_token_cannot_name_another_request(client: Any, table: str) -> None:
    client.transact_write_items(TransactItems=[addition(table, 5)], ClientRequestToken="same")
    with pytest.raises(ClientError) as error:
        client.transact_write_items(TransactItems=[addition(table, 6)], ClientRequestToken="same")
    assert refusal(error) == ("IdempotentParameterMismatchException", 400)
    assert stored(client, table, "balance") == {"pk": {"S": "balance"}, "amount": {"N": "5"}}


@pytest.mark.not_on("dynalite", reason="it has no transactions")
def test_the_token_of_a_cancelled_transaction_is_free(client: Any, table: str) -> None:
    transaction = [addition(table, 5, ConditionExpression="attribute_exists(pk)")]
    with pytest.raises(client.exceptions.TransactionCanceledException):
        client.transact_write_items(TransactItems=transaction, ClientRequestToken="again")
    client.put_item(TableName=table, Item={"pk": {"S": "balance"}, "amount": {"N": "1"}})
    client.transact_write_items(TransactItems=transaction, ClientRequestToken="again")
    assert stored(client, table, "balance") == {"pk": {"S": "balance"}, "amount": {"N": "6"}}


@pytest.mark.not_on("dynalite", reason="it has no transactions")
def test_transact_get_projects(client: Any, table: str) -> None:
    client.put_item(
        TableName=table,
        Item={"pk": {"S": "a"}, "name": {"S": "Ada"}, "rest": {"M": {"x": {"N": "1"}, "y": {"N": "2"}}}},
    )
    client.put_item(TableName=table, Item={"pk": {"S": "b"}, "name": {"S": "Bob"}})
    found = client.transact_get_items(
        TransactItems=[
            {
                "Get": {
                    "TableName": table,
                    "Key": {"pk": {"S": "a"}},
                    "ProjectionExpression": "#name, rest.y",
                    "ExpressionAttributeNames": {"#name": "name"},
                }
            },
            {"Get": {"TableName": table, "Key": {"pk": {"S": "nobody"}}}},
            {"Get": {"TableName": table, "Key": {"pk": {"S": "b"}}}},
        ]
    )["Responses"]
    assert found == [
        {"Item": {"name": {"S": "Ada"}, "rest": {"M": {"y": {"N": "2"}}}}},
        {},
        {"Item": {"pk": {"S": "b"}, "name": {"S": "Bob"}}},
    ]


@pytest.mark.not_on("dynalite", reason="it has no transactions")
def test_transact_get_reads_a_hundred_items(client: Any, table: str) -> None:
    gets = [{"Get": {"TableName": table, "Key": {"pk": {"S": str(n)}}}} for n in range(100)]
    client.put_item(TableName=table, Item={"pk": {"S": "99"}})
    assert client.transact_get_items(TransactItems=gets)["Responses"] == [*[{}] * 99, {"Item": {"pk": {"S": "99"}}}]


def test_transact_get_refuses_one_item_twice_and_says_what_it_used(embedded_backend: Backend, table_name: str) -> None:
    client = embedded_backend.client
    client.create_table(
        TableName=table_name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "N"}],
        BillingMode="PAY_PER_REQUEST",
    )
    one, same, two = ({"Get": {"TableName": table_name, "Key": {"pk": {"N": n}}}} for n in ("1", "1.0", "2"))
    with pytest.raises(ClientError) as error:
        client.transact_get_items(TransactItems=[one, same])
    assert refusal(error) == ("ValidationException", 400)
    used = client.transact_get_items(TransactItems=[one, two], ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"]
    assert used == [{"TableName": table_name, "CapacityUnits": 4.0, "ReadCapacityUnits": 4.0}]


@pytest.mark.parametrize(
    ("returning", "attributes"),
    [
        ("NONE", None),
        ("ALL_OLD", {"pk": {"S": "there"}, "kept": {"S": "yes"}}),
        ("ALL_NEW", {"pk": {"S": "there"}, "kept": {"S": "yes"}}),
        ("UPDATED_OLD", None),
        ("UPDATED_NEW", None),
    ],
)
def test_an_update_of_nothing_returns_what_was_asked_for(
    client: Any, table: str, returning: str, attributes: Item | None
) -> None:
    client.put_item(TableName=table, Item={"pk": {"S": "there"}, "kept": {"S": "yes"}})
    reply = client.update_item(TableName=table, Key={"pk": {"S": "there"}}, ReturnValues=returning)
    # Servers differ in how they say "none": an empty map or nothing.
    assert (reply.get("Attributes") or None) == attributes
    assert stored(client, table, "there") == {"pk": {"S": "there"}, "kept": {"S": "yes"}}


def test_an_update_of_nothing_creates_the_item(client: Any, table: str) -> None:
    reply = client.update_item(TableName=table, Key={"pk": {"S": "new"}}, ReturnValues="ALL_NEW")
    assert reply["Attributes"] == {"pk": {"S": "new"}}
    assert stored(client, table, "new") == {"pk": {"S": "new"}}


def test_an_update_that_only_checks_its_condition_checks_it(client: Any, table: str) -> None:
    condition: Any = {
        "ConditionExpression": "#color = :color",
        "ExpressionAttributeNames": {"#color": "color"},
        "ExpressionAttributeValues": {":color": {"S": "red"}},
    }
    with pytest.raises(client.exceptions.ConditionalCheckFailedException):
        client.update_item(TableName=table, Key={"pk": {"S": "ball"}}, **condition)
    assert stored(client, table, "ball") is None
    client.put_item(TableName=table, Item={"pk": {"S": "ball"}, "color": {"S": "red"}})
    reply = client.update_item(TableName=table, Key={"pk": {"S": "ball"}}, ReturnValues="ALL_NEW", **condition)
    assert reply["Attributes"] == {"pk": {"S": "ball"}, "color": {"S": "red"}}


@pytest.mark.not_on("dynalite", reason="it does not return the item of a failed condition")
@pytest.mark.not_on("roto", reason="it does not return the item of a failed condition")
def test_an_update_that_only_checks_its_condition_shows_the_item_that_failed_it(client: Any, table: str) -> None:
    client.put_item(TableName=table, Item={"pk": {"S": "ball"}, "color": {"S": "blue"}})
    with pytest.raises(client.exceptions.ConditionalCheckFailedException) as error:
        client.update_item(
            TableName=table,
            Key={"pk": {"S": "ball"}},
            ConditionExpression="color = :color",
            ExpressionAttributeValues={":color": {"S": "red"}},
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    assert error.value.response["Item"] == {"pk": {"S": "ball"}, "color": {"S": "blue"}}


def test_a_batch_write_refuses_one_item_twice(client: Any, table: str) -> None:
    put = {"PutRequest": {"Item": {"pk": {"S": "twice"}, "n": {"N": "1"}}}}
    delete = {"DeleteRequest": {"Key": {"pk": {"S": "twice"}}}}
    with pytest.raises(ClientError) as error:
        client.batch_write_item(RequestItems={table: [put, delete]})
    assert refusal(error) == ("ValidationException", 400)


def test_a_batch_write_refuses_more_than_25(client: Any, table: str) -> None:
    puts = [{"PutRequest": {"Item": {"pk": {"S": str(n)}}}} for n in range(26)]
    with pytest.raises(ClientError) as error:
        client.batch_write_item(RequestItems={table: puts})
    assert refusal(error) == ("ValidationException", 400)
    client.batch_write_item(RequestItems={table: puts[:25]})
    assert stored(client, table, "24") is not None


def test_a_request_that_the_engine_cannot_take_is_the_callers_mistake(
    embedded_backend: Backend, table_name: str
) -> None:
    client = embedded_backend.client
    client.create_table(
        TableName=table_name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    with pytest.raises(ClientError) as error:
        client.transact_write_items(
            TransactItems=[{"Update": {"TableName": table_name, "Key": {"pk": {"S": "x"}}, "UpdateExpression": "SET"}}]
        )
    assert refusal(error) == ("ValidationException", 400)
    client.put_item(TableName=table_name, Item={"pk": {"S": "x"}, "size": {"N": "1"}})
    with pytest.raises(ClientError) as error:
        client.scan(
            TableName=table_name,
            FilterExpression="#size < :size",
            ExpressionAttributeNames={"#size": "size"},
            ExpressionAttributeValues={":size": {"S": "text"}},
        )
    assert refusal(error) == ("ValidationException", 400)
