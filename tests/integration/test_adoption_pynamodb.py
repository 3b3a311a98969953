"""Items put by PynamoDB are read back equal, and PynamoDB reads what dynamap writes: every attribute, both ways."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any

import pytest
from pynamodb.exceptions import AttributeDeserializationError
from pynamodb.models import Model

from dynamap import Attribute, F, ItemDecodeError, Key, Table, connect, mapped
from tests.backends import Backend
from tests.modes import Mode
from tests.pynamodb_models import AddressMap, player_model, pynamodb_table

SINCE = datetime(2025, 12, 17, 21, 47, 8, 305464, timezone.utc)
ANCIENT = datetime(33, 1, 1, tzinfo=timezone.utc)
LATER = datetime(2125, 1, 1, tzinfo=timezone.utc)


def _text(value: datetime) -> str:
    utc = value.astimezone(timezone.utc).replace(tzinfo=None)
    return f"{utc.isoformat(timespec='microseconds')}+0000"


Time = Annotated[datetime, Attribute(encode=_text)]
LegacyBytes = Annotated[bytes, Attribute(encode=b64encode, decode=b64decode)]
# inside of maps and lists, PynamoDB knows no empty set, but NULL
InnerSet = Annotated[set[str], Attribute(encode=lambda value: value or None, decode=lambda value: value or set())]


@dataclass(frozen=True)
class Address:
    city: str
    code: Annotated[str | None, Attribute("post.code")] = None
    since: Time | None = None
    tags: InnerSet = field(default_factory=set)
    picture: bytes | None = None


@mapped("PLAYER", version="revision", ttl="expires")
@dataclass(frozen=True)
class Player:
    name: Annotated[str, Attribute("player-name")]
    joined: Time
    score: int
    ratio: float | None = None
    active: bool = True
    picture: bytes | None = None
    seal: LegacyBytes | None = None
    seals: set[LegacyBytes] = field(default_factory=set)
    chunks: set[bytes] = field(default_factory=set)
    settings: Annotated[dict[str, Any] | None, Attribute(encode=json.dumps, decode=json.loads)] = None
    lines: list[str] | None = None
    groups: list[InnerSet] | None = None
    mixed: list[Any] | None = None
    home: Address | None = None
    others: list[Address] | None = None
    free: dict[str, Any] | None = None
    tags: set[str] = field(default_factory=set)
    numbers: set[Decimal] = field(default_factory=set)
    expires: datetime | None = None
    seen: Annotated[Time | None, Attribute("last-seen")] = None
    revision: int = 0


Players = Table("players", [Player], pk=Key("player-name"), sk=Key("joined"), discriminator=None, ttl="expires")

FULL = Player(
    name="ada",
    joined=SINCE,
    score=10**20,
    ratio=0.1,
    active=False,
    picture=b"\x00\xff",
    seal=b"\xfe\xff",
    seals={b"\xff", b"a"},
    chunks={b"\x00"},
    settings={"theme": "dark", "sizes": [1, 2.5, None]},
    lines=["a", "", "ü"],
    groups=[{"a", "b"}, set()],
    mixed=[1, "a", None, True, b"\xff", {"deep": [1]}],
    home=Address("Berlin", "10115", SINCE, {"old"}, b"\xff"),
    others=[Address("Rome"), Address("", tags={"x"})],
    free={"n": 1, "half": Decimal("0.5"), "s": "", "none": None, "list": [1], "map": {"set": {"a"}}},
    tags={"red", "blue"},
    numbers={Decimal(1), Decimal("2.5"), Decimal("-1e-7")},
    expires=LATER,
    seen=ANCIENT,
)
BARE = Player("bob", ANCIENT, 0)


def values(player: Player) -> dict[str, Any]:
    """The player as PynamoDB's attributes hold it: what is None or an empty set has no attribute."""
    found = {name: getattr(player, name) for name in player.__dataclass_fields__}
    for name in ("home", "others"):
        given = found[name]
        made = [address_map(each) for each in (given if isinstance(given, list) else [given] if given else [])]
        found[name] = made if isinstance(given, list) else next(iter(made), None)
    found["numbers"] = {float(number) for number in player.numbers}
    if player.free is not None:
        found["free"] = {**player.free, "half": 0.5}
    if not player.revision:
        del found["revision"]
    return {name: value for name, value in found.items() if value is not None and value != set()}


def address_map(address: Address) -> AddressMap:
    found = {name: getattr(address, name) for name in address.__dataclass_fields__}
    return AddressMap(**{name: value for name, value in found.items() if value is not None and value != set()})


def plain(value: Any) -> Any:
    """Attribute values without PynamoDB's own classes; a set inside a list is None where it is empty."""
    if isinstance(value, AddressMap):
        return plain(value.attribute_values)
    if hasattr(value, "attribute_values"):
        return plain(value.attribute_values)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [None if item == set() else plain(item) for item in value]
    return value


@pytest.fixture
def model(backend: Backend, table_name: str) -> Iterator[type[Model]]:
    with pynamodb_table(player_model, backend, table_name) as model:
        yield model


@pytest.mark.parametrize("player", [FULL, BARE], ids=["full", "bare"])
def test_what_pynamodb_puts_is_read_back_equal(
    backend: Backend, mode: Mode, model: type[Model], table_name: str, player: Player
) -> None:
    model(**values(player)).save()
    players = mode.connect(Players, backend).with_name(table_name).of(Player)
    read = mode.wait(players.get(name=player.name, joined=player.joined).required().send())
    assert read == replace(player, revision=1)


@pytest.mark.parametrize("player", [FULL, BARE], ids=["full", "bare"])
def test_what_dynamap_puts_is_read_by_pynamodb(
    backend: Backend, mode: Mode, model: type[Model], table_name: str, player: Player
) -> None:
    players = mode.connect(Players, backend).with_name(table_name).of(Player)
    stored = mode.wait(players.put(player).send())
    read = model.get(player.name, player.joined)
    assert plain(read.attribute_values) == plain(values(stored))


def test_a_difference_leaves_what_pynamodb_alone_knows(
    backend: Backend, mode: Mode, model: type[Model], table_name: str
) -> None:
    model(**values(FULL)).save()
    backend.client.update_item(
        TableName=table_name,
        Key={"player-name": {"S": "ada"}, "joined": {"S": _text(SINCE)}},
        UpdateExpression="SET unknown_there = :o",
        ExpressionAttributeValues={":o": {"S": "kept"}},
    )
    players = mode.connect(Players, backend).with_name(table_name).of(Player)
    read = mode.wait(players.get(name="ada", joined=SINCE).required().send())
    changed = replace(read, home=replace(read.home, since=None, tags=set()), tags=set(), seal=None, score=1)
    written = mode.wait(players.update(read).to(changed).send())
    assert written == replace(changed, revision=read.revision + 1)
    item = backend.client.scan(TableName=table_name)["Items"][0]
    assert item["unknown_there"] == {"S": "kept"}
    assert plain(model.get("ada", SINCE).attribute_values) == plain(values(written))


def test_operands_are_stored_as_pynamodb_stores_them(
    backend: Backend, mode: Mode, model: type[Model], table_name: str
) -> None:
    model(**values(BARE), seen=SINCE, seals={b"a", b"b"}).save()
    players = mode.connect(Players, backend).with_name(table_name).of(Player)
    seen = F(Player, lambda player: player.seen)
    seals = F(Player, lambda player: player.seals)
    assert mode.wait(players.get(name="bob", joined=ANCIENT).required().send()).seals == {b"a", b"b"}
    update = players.update(name="bob", joined=ANCIENT).set(seen, SINCE + timedelta(days=1)).discard(seals, b"b")
    update = update.if_(seen.eq(SINCE) & seals.contains(b"a")).ignore_version()
    assert mode.wait(update.send()).seen == SINCE + timedelta(days=1)
    read = model.get("bob", ANCIENT)
    assert read.seen == SINCE + timedelta(days=1)
    assert read.seals == {b"a"}


def test_the_defaults_of_both_differ_in_these(backend: Backend, model: type[Model], table_name: str) -> None:
    """What `docs/adopting.md` warns of: without the adapters, PynamoDB could not read dynamap's items."""
    key = {"player-name": {"S": "eve"}, "joined": {"S": _text(SINCE)}}
    bare = {**key, "score": {"N": "1"}}
    for attribute, wire, error in [
        ("last-seen", {"S": "2025-12-17T21:47:08.305464Z"}, ValueError),
        ("home", {"M": {"city": {"S": ""}, "tags": {"L": []}}}, AttributeDeserializationError),
        ("groups", {"L": [{"L": []}]}, AttributeDeserializationError),
        ("settings", {"M": {}}, AttributeDeserializationError),
    ]:
        backend.client.put_item(TableName=table_name, Item={**bare, attribute: wire})
        with pytest.raises(error):
            model.get("eve", SINCE)
    backend.client.put_item(TableName=table_name, Item={**bare, "seal": {"B": b"\xff"}})
    assert model.get("eve", SINCE).seal == b""  # no error, but another value


def test_times_without_the_adapter_are_read_all_the_same(backend: Backend, model: type[Model], table_name: str) -> None:
    @mapped("PLAYER")
    @dataclass
    class Reader:
        name: Annotated[str, Attribute("player-name")]
        joined: Time
        seen: Annotated[datetime | None, Attribute("last-seen")] = None
        score: str = ""

    model(**values(BARE), seen=SINCE).save()
    table = Table("players", [Reader], pk=Key("player-name"), sk=Key("joined"), discriminator=None)
    readers = connect(table, client=backend.client).with_name(table_name).of(Reader)
    with pytest.raises(ItemDecodeError, match="score"):
        readers.get(name="bob", joined=ANCIENT).send()
    update = {"UpdateExpression": "REMOVE score", "Key": {"player-name": {"S": "bob"}, "joined": {"S": _text(ANCIENT)}}}
    backend.client.update_item(TableName=table_name, **update)
    read: Any = readers.get(name="bob", joined=ANCIENT).strongly_consistent().send()
    assert read.seen == SINCE
