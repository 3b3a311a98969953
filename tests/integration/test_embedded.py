"""The embedded engine: starts empty, stands alone, serves many clients, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
import pytest
from aiobotocore.session import get_session

from dynamap.testing import embedded
from tests.backends import client_for


def create_table(client: Any, name: str, **more: Any) -> None:
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        **more,
    )


def test_starts_empty_each_time() -> None:
    for _ in range(2):
        with embedded() as url:
            client = client_for(url)
            assert client.list_tables()["TableNames"] == []
            create_table(client, "left-behind")
            client.close()


def test_engines_at_the_same_time_share_nothing() -> None:
    with embedded() as one, embedded() as other:
        first, second = client_for(one), client_for(other)
        create_table(first, "only-in-one")
        assert first.list_tables()["TableNames"] == ["only-in-one"]
        assert second.list_tables()["TableNames"] == []
        first.close()
        second.close()


def test_listens_on_the_ipv4_loopback_only() -> None:
    with embedded() as url:
        assert url.startswith("http://127.0.0.1:")


def test_a_hundred_connections_lose_no_update() -> None:
    with embedded() as url:
        client = client_for(url)
        create_table(client, "counter")
        barrier = threading.Barrier(100)

        def count() -> None:
            barrier.wait()
            for _ in range(3):
                client.update_item(
                    TableName="counter",
                    Key={"pk": {"S": "one"}},
                    UpdateExpression="ADD visits :one",
                    ExpressionAttributeValues={":one": {"N": "1"}},
                )

        with ThreadPoolExecutor(100) as pool:
            for future in [pool.submit(count) for _ in range(100)]:
                future.result()
        item = client.get_item(TableName="counter", Key={"pk": {"S": "one"}})["Item"]
        assert item["visits"] == {"N": "300"}
        client.close()


def test_one_of_many_racing_transactions_wins() -> None:
    with embedded() as url:
        client = client_for(url)
        create_table(client, "claims")

        def claim(number: int) -> bool:
            put = {
                "TableName": "claims",
                "Item": {"pk": {"S": "prize"}, "owner": {"N": str(number)}},
                "ConditionExpression": "attribute_not_exists(pk)",
            }
            try:
                client.transact_write_items(TransactItems=[{"Put": put}])
            except client.exceptions.TransactionCanceledException:
                return False
            return True

        with ThreadPoolExecutor(20) as pool:
            assert sum(pool.map(claim, range(20))) == 1
        client.close()


def test_serves_aiobotocore() -> None:
    async def visit(url: str) -> list[str]:
        async with get_session().create_client(
            "dynamodb",
            endpoint_url=url,
            region_name="us-east-1",
            aws_access_key_id="local",
            aws_secret_access_key="local",  # a placeholder: the engine checks no signature
        ) as client:
            await client.create_table(
                TableName="asynchronous",
                KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
                BillingMode="PAY_PER_REQUEST",
            )
            puts = [client.put_item(TableName="asynchronous", Item={"pk": {"S": str(n)}}) for n in range(30)]
            await asyncio.gather(*puts)
            found = await client.scan(TableName="asynchronous", ConsistentRead=True)
            return sorted(item["pk"]["S"] for item in found["Items"])

    with embedded() as url:
        assert asyncio.run(visit(url)) == sorted(str(n) for n in range(30))


def test_a_region_that_does_not_exist_is_served() -> None:
    with embedded() as url:
        client = client_for(url)
        create_table(client, "anywhere")
        elsewhere = boto3.client(
            "dynamodb",
            endpoint_url=url,
            region_name="local",
            aws_access_key_id="x",
            aws_secret_access_key="x",
        )
        assert elsewhere.list_tables()["TableNames"] == ["anywhere"]
        elsewhere.close()
        client.close()


def test_streams_are_served_beside_tables() -> None:
    with embedded() as url:
        client = client_for(url)
        create_table(client, "watched", StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"})
        client.put_item(TableName="watched", Item={"pk": {"S": "seen"}})
        arn = client.describe_table(TableName="watched")["Table"]["LatestStreamArn"]
        streams = boto3.client(
            "dynamodbstreams",
            endpoint_url=url,
            region_name="us-east-1",
            aws_access_key_id="local",
            aws_secret_access_key="local",
        )
        shard = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
        iterator = streams.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON")
        records = streams.get_records(ShardIterator=iterator["ShardIterator"])["Records"]
        assert [record["dynamodb"]["NewImage"]["pk"] for record in records] == [{"S": "seen"}]
        streams.close()
        client.close()


def test_leaves_no_thread_and_no_open_connection() -> None:
    before = threading.active_count()
    with embedded() as url:
        clients = [client_for(url) for _ in range(3)]
        for client in clients:
            client.list_tables()
        assert threading.active_count() > before
    assert threading.active_count() == before
    for client in clients:
        client.close()
    # An unclosed socket is a ResourceWarning when it is collected, and warnings are errors here.
    gc.collect()


def test_an_account_shared_by_the_environment_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOTO_ACCOUNT_ID", "111122223333")
    with pytest.raises(RuntimeError, match="Unset MOTO_ACCOUNT_ID"), embedded():
        pass


def run_python(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # our own program
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=60, check=False
    )


def test_prints_nothing_when_clients_go_away_and_requests_are_wrong() -> None:
    result = run_python(
        """
import socket
from dynamap.testing import embedded

def request(target, body):
    return (
        f"POST / HTTP/1.1\\r\\nHost: x\\r\\nX-Amz-Target: {target}\\r\\nContent-Length: {len(body)}\\r\\n\\r\\n{body}"
    ).encode()

with embedded() as url:
    port = int(url.rpartition(":")[2])
    gone = socket.create_connection(("127.0.0.1", port))
    gone.sendall(request("DynamoDB_20120810.ListTables", "{}")[:-1])
    gone.close()
    for target, body in [
        ("DynamoDB_20120810.PutItem", "not json"),
        ("DynamoDB_20120810.PutItem", "[]"),
        ("DynamoDB_20120810.NoSuchThing", "{}"),
        ("DynamoDB_20120810.UpdateItem", "[1]"),
        ("S3.PutObject", "{}"),
    ]:
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(request(target, body))
            reply = connection.recv(65536)
            assert reply.startswith(b"HTTP/1.1 400 "), (target, reply)
print("served")
"""
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "served\n", "")


def test_a_block_that_is_never_left_does_not_keep_the_interpreter_alive() -> None:
    result = run_python("from dynamap.testing import embedded\nengine = embedded()\nprint(engine.__enter__()[:17])")
    assert (result.returncode, result.stdout, result.stderr) == (0, "http://127.0.0.1:\n", "")


def test_importing_the_tools_does_not_import_moto() -> None:
    result = run_python("import sys, dynamap.testing\nprint('moto' in sys.modules)")
    assert (result.stdout, result.stderr) == ("False\n", "")


def test_a_missing_moto_says_what_to_install() -> None:
    result = run_python(
        """
import sys
sys.modules["moto"] = None
from dynamap.testing import embedded
try:
    with embedded():
        pass
except ImportError as error:
    print(error)
"""
    )
    assert "pip install 'dynamap[testing]'" in result.stdout
    assert result.stderr == ""
