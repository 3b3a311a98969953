"""Tables whose keys are real attributes of any key type, as other programs made them; and items that expire."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal
from typing import Annotated, Any

import pytest

from dynamap import (
    Attribute,
    F,
    GlobalIndex,
    Index,
    ItemAlreadyExists,
    ItemDecodeError,
    ItemNotFound,
    Key,
    KeyValueError,
    LocalIndex,
    Table,
    VersionConflict,
    connect,
    entity,
    evolve,
    mapped,
)
from tests.backends import Backend
from tests.modes import Mode


@mapped("LINE", version="version", indexes=[Index("total", sk=None), Index("inverse"), Index("local")])
@dataclass(frozen=True)
class Line:
    customer: Annotated[str, Attribute("customer-id")]
    number: Annotated[int, Attribute("order.no")]
    total: Annotated[Decimal | None, Attribute("to.tal")] = None
    note: str | None = None
    version: Annotated[int, Attribute("v:1")] = 0


Lines = Table(
    "lines",
    [Line],
    pk=Key("customer-id"),
    sk=Key("order.no", int),
    write_id="_w#",
    indexes=[
        GlobalIndex("total", pk="_type", sk=Key("to.tal", int)),
        GlobalIndex("inverse", pk="order.no", sk="customer-id"),
        LocalIndex("local", sk=Key("to.tal", int)),
    ],
)


@entity("CHUNK", frozen=True)
class Chunk:
    digest: bytes
    size: int = 0


Chunks = Table("chunks", [Chunk], pk=Key("digest", bytes), sk=None)


@entity("READING")
class Reading:
    at: Decimal
    value: float = 0.0


Readings = Table("readings", [Reading], pk=Key("at", int), sk=None, discriminator=None, write_id=None)


def test_odd_names_work_everywhere(backend: Backend, mode: Mode, table_name: str) -> None:
    wait = mode.wait
    store = mode.connect(Lines, backend).with_name(table_name)
    wait(store.create_table())
    lines = store.of(Line)
    first = wait(lines.put(Line("a#1", 7, Decimal("2.50"))).if_not_exists().send())
    assert wait(lines.get(customer="a#1", number=7).required().send()) == first
    with pytest.raises(ItemAlreadyExists):
        wait(lines.put(Line("a#1", 7)).if_not_exists().send())
    with pytest.raises(VersionConflict):
        wait(lines.put(Line("a#1", 7)).send())
    second = wait(lines.update(first).to(evolve(first, note="x", total=Decimal(3))).send())
    key = {"customer-id": {"S": "a#1"}, "order.no": {"N": "7"}}
    item = backend.client.get_item(TableName=table_name, Key=key)["Item"]
    del item["_w#"]
    assert item == {
        **key,
        "_type": {"S": "LINE"},
        "to.tal": {"N": "3"},
        "note": {"S": "x"},
        "v:1": {"N": str(second.version)},
    }
    for index in ("total", "inverse", "local"):
        assert len(backend.client.scan(TableName=table_name, IndexName=index)["Items"]) == 1
    update = lines.update(customer="a#1", number=7).set(F(Line, lambda line: line.total), None).ignore_version()
    assert wait(update.send()).total is None
    assert len(backend.client.scan(TableName=table_name, IndexName="total")["Items"]) == 0
    wait(lines.delete(customer="a#1", number=7).ignore_version().if_exists().send())
    with pytest.raises(ItemNotFound):
        wait(lines.get(customer="a#1", number=7).required().send())
    wait(store.delete_table())


def test_binary_and_numeric_keys(backend: Backend, mode: Mode, table_name: str) -> None:
    wait = mode.wait
    store = mode.connect(Chunks, backend).with_name(table_name)
    wait(store.create_table())
    chunks = store.of(Chunk)
    wait(chunks.put(Chunk(b"\x00\xff", 2)).send())
    assert wait(chunks.get(digest=b"\x00\xff").send()) == Chunk(b"\x00\xff", 2)
    assert wait(chunks.update(digest=b"\x00\xff").add(F(Chunk.size), 1).send()).size == 3
    wait(chunks.delete(digest=b"\x00\xff").send())
    assert wait(chunks.get(digest=b"\x00\xff").strongly_consistent().send()) is None
    wait(store.delete_table())

    store = mode.connect(Readings, backend).with_name(table_name)
    wait(store.create_table())
    readings = store.of(Reading)
    wait(readings.put(Reading(Decimal("1.0"), 0.5)).send())
    wait(readings.put(Reading(Decimal(1), 1.5)).send())
    items: list[Any] = backend.client.scan(TableName=table_name)["Items"]
    assert items == [{"at": {"N": "1"}, "value": {"N": "1.5"}}]
    assert wait(readings.get(at=Decimal("1.00")).strongly_consistent().required().send()).value == 1.5
    wait(store.delete_table())


@pytest.mark.parametrize(
    "key",
    [{"customer": "a"}, {"number": 1}, {"customer": "", "number": 1}, {"customer": "a", "number": "1"}, {}],
    ids=["no sort key", "no partition key", "empty", "of another type", "nothing"],
)
def test_an_incomplete_key_is_refused_before_it_is_sent(mode: Mode, key: dict[str, Any]) -> None:
    lines = mode.connect_url(Lines, "http://127.0.0.1:1").of(Line)
    for operation in (lines.get, lines.update, lines.delete):
        with pytest.raises(KeyValueError):
            operation(**key)


def test_items_of_before_there_were_types(backend: Backend, table_name: str) -> None:
    @entity("OLD", pk="{id}", sk="OLD")
    class Old:
        id: str
        count: int = 0

    @entity("NEW", pk="{id}", sk="NEW")
    class New:
        id: str

    store = connect(Table("mixed", [Old, New], untyped=Old), client=backend.client).with_name(table_name)
    store.create_table()
    for sk in ("OLD", "NEW"):
        item = {"pk": {"S": "1"}, "sk": {"S": sk}, "id": {"S": "1"}}
        backend.client.put_item(TableName=table_name, Item=item)
    assert store.of(Old).get(id="1").required().send() == Old("1")
    assert store.of(Old).update(id="1").add(F(Old, lambda old: old.count), 2).send().count == 2
    with pytest.raises(ItemDecodeError, match="the discriminator should be 'NEW', but it has none"):
        store.of(New).get(id="1").send()
    store.delete_table()


@entity("SESSION", pk="S#{id}", sk="S", ttl="expires_at")
class Session:
    id: str
    expires_at: datetime | None = None


@pytest.mark.not_on("dynalite", reason="it has no TTL")
def test_a_table_with_a_ttl_has_it_on(backend: Backend, mode: Mode, table_name: str) -> None:
    wait = mode.wait
    store = mode.connect(Table("sessions", [Session], ttl="ttl"), backend).with_name(table_name)
    wait(store.create_table())
    described = backend.client.describe_time_to_live(TableName=table_name)["TimeToLiveDescription"]
    assert described["AttributeName"] == "ttl"
    assert described["TimeToLiveStatus"] in ("ENABLED", "ENABLING")
    at = datetime(2024, 1, 1, microsecond=1, tzinfo=timezone.utc)
    stored = wait(store.of(Session).put(Session("1", at)).send())
    assert stored.expires_at == datetime(2024, 1, 1, second=1, tzinfo=timezone.utc)
    item = backend.client.get_item(TableName=table_name, Key={"pk": {"S": "S#1"}, "sk": {"S": "S"}})["Item"]
    assert item["ttl"] == {"N": "1704067201"}
    wait(store.delete_table())
