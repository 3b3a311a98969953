"""PynamoDB's VersionAttribute and dynamap's versions are one count: each guards against the other's writes."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

import pytest
from pynamodb.exceptions import DeleteError, PutError, UpdateError
from pynamodb.models import Model

from dynamap import F, Key, Table, VersionConflict, connect, entity, evolve
from tests.backends import Backend
from tests.modes import Mode
from tests.pynamodb_models import pynamodb_table, wallet_model


@entity("WALLET", version="revision", frozen=True)
class Wallet:
    owner: str
    coins: int = 0
    note: str | None = None
    revision: int = 0


def table(write_id: str | None = "_w", version_start: int | None = None) -> Table:
    return Table(
        "wallets",
        [Wallet],
        pk=Key("owner"),
        sk=None,
        discriminator=None,
        write_id=write_id,
        version_start=version_start,
    )


@pytest.fixture
def model(backend: Backend, table_name: str) -> Iterator[type[Model]]:
    with pynamodb_table(wallet_model, backend, table_name) as model:
        yield model


@pytest.mark.parametrize("write_id", ["_w", None])
def test_both_count_on(backend: Backend, mode: Mode, model: type[Model], table_name: str, write_id: str | None) -> None:
    wait = mode.wait
    wallets = mode.connect(table(write_id), backend).with_name(table_name).of(Wallet)
    model("ada", coins=5).save()
    one = wait(wallets.get(owner="ada").required().send())
    assert one == Wallet("ada", 5, None, 1)
    two = wait(wallets.update(one).to(evolve(one, coins=6)).send())
    assert two.revision == 2
    theirs = model.get("ada", consistent_read=True)
    assert (theirs.coins, theirs.revision) == (6, 2)
    theirs.update(actions=[model.coins.add(1)])
    assert theirs.revision == 3
    three = wait(wallets.get(owner="ada").required().send())
    assert three == Wallet("ada", 7, None, 3)
    assert wait(wallets.update(owner="ada").add(F(Wallet.coins), 1).ignore_version().send()).revision == 4
    theirs.refresh(consistent_read=True)
    theirs.note = "saved"
    theirs.save()
    assert wait(wallets.get(owner="ada").required().send()) == Wallet("ada", 8, "saved", 5)


def test_a_stale_write_of_either_is_refused(backend: Backend, mode: Mode, model: type[Model], table_name: str) -> None:
    wait = mode.wait
    wallets = mode.connect(table(), backend).with_name(table_name).of(Wallet)
    model("ada").save()
    ours, theirs = wait(wallets.get(owner="ada").required().send()), model.get("ada", consistent_read=True)
    written = wait(wallets.put(evolve(ours, coins=1)).send())
    for refused, write in [
        (PutError, theirs.save),
        (UpdateError, lambda: theirs.update(actions=[model.coins.add(5)])),
        (DeleteError, theirs.delete),
    ]:
        with pytest.raises(refused):
            write()
    model.get("ada", consistent_read=True).update(actions=[model.coins.add(1)])
    for operation in (
        wallets.put(written),
        wallets.update(written).to(evolve(written, coins=9)),
        wallets.delete(written),
        wallets.put(Wallet("ada")),
    ):
        with pytest.raises(VersionConflict):
            wait(operation.send())
    with pytest.raises(PutError):
        model("ada", coins=7).save()
    assert wait(wallets.get(owner="ada").required().send()).coins == 2


def test_new_items_of_dynamap_start_at_the_microsecond_and_pynamodb_counts_on(
    backend: Backend, mode: Mode, model: type[Model], table_name: str
) -> None:
    wallets = mode.connect(table(), backend).with_name(table_name).of(Wallet)
    before = time.time_ns() // 1000
    stored = mode.wait(wallets.put(Wallet("eve", 1)).send())
    assert before <= stored.revision <= time.time_ns() // 1000
    theirs = model.get("eve", consistent_read=True)
    theirs.coins = 2
    theirs.save()
    assert theirs.revision == stored.revision + 1
    assert mode.wait(wallets.get(owner="eve").required().send()) == evolve(stored, coins=2, revision=theirs.revision)
    small = mode.connect(table(version_start=1), backend).with_name(table_name).of(Wallet)
    assert mode.wait(small.put(Wallet("bob")).send()).revision == 1


def test_items_from_before_the_version_was_declared(
    backend: Backend, mode: Mode, model: type[Model], table_name: str
) -> None:
    backend.client.put_item(TableName=table_name, Item={"owner": {"S": "old"}, "coins": {"N": "3"}})
    wallets = mode.connect(table(), backend).with_name(table_name).of(Wallet)
    old = mode.wait(wallets.get(owner="old").required().send())
    assert old.revision == -1
    theirs = model.get("old", consistent_read=True)
    theirs.update(actions=[model.coins.add(1)])
    assert theirs.revision == 1
    with pytest.raises(VersionConflict):
        mode.wait(wallets.update(old).to(evolve(old, coins=0)).send())


def test_what_a_save_of_pynamodb_loses(backend: Backend, mode: Mode, model: type[Model], table_name: str) -> None:
    """It replaces the item, so the write id goes, and with it any attribute that the model does not know."""
    wallets = mode.connect(table(), backend).with_name(table_name).of(Wallet)
    stored = mode.wait(wallets.put(Wallet("ada")).send())
    backend.client.update_item(TableName=table_name, Key={"owner": {"S": "ada"}}, UpdateExpression="SET later = coins")
    theirs = model.get("ada", consistent_read=True)
    theirs.update(actions=[model.coins.add(1)])
    item = backend.client.get_item(TableName=table_name, Key={"owner": {"S": "ada"}}, ConsistentRead=True)["Item"]
    assert {"_w", "later"} <= set(item)
    theirs.save()
    item = backend.client.get_item(TableName=table_name, Key={"owner": {"S": "ada"}}, ConsistentRead=True)["Item"]
    assert set(item) == {"owner", "coins", "revision"}
    assert mode.wait(wallets.get(owner="ada").required().send()).revision == stored.revision + 2


@pytest.mark.parametrize("seed", range(4))
def test_no_coin_is_lost_whoever_writes(backend: Backend, model: type[Model], table_name: str, seed: int) -> None:
    """Readers that hold on to what they read write in any order: what was accepted is what is stored."""
    order = random.Random(seed)
    wallets = connect(table(), client=backend.client).with_name(table_name).of(Wallet)
    model("ada").save()
    ours, theirs, accepted, refused = None, None, 0, 0
    for _ in range(25):
        action = order.choice(["read", "read", "put", "to", "save", "update"])
        try:
            if action == "read":
                if order.random() < 0.5:
                    ours = wallets.get(owner="ada").required().send()
                else:
                    theirs = model.get("ada", consistent_read=True)
                continue
            if action in {"put", "to"} and ours is not None:
                changed = evolve(ours, coins=ours.coins + 1)
                ours = (wallets.put(changed) if action == "put" else wallets.update(ours).to(changed)).send()
            elif action == "save" and theirs is not None:
                theirs.coins += 1
                theirs.save()
            elif action == "update" and theirs is not None:
                theirs.update(actions=[model.coins.add(1)])
            else:
                continue
            accepted += 1
        except VersionConflict:
            refused, ours = refused + 1, None
        except (PutError, UpdateError) as error:
            if error.cause_response_code != "ConditionalCheckFailedException":
                raise
            refused, theirs = refused + 1, None
    stored = wallets.get(owner="ada").required().send()
    assert (stored.coins, stored.revision) == (accepted, accepted + 1)
    assert accepted
    assert refused
