"""Tables that boto3 programs and older releases read and write too, on every backend."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Annotated, Any

import boto3
import pytest

from dynamap import (
    Attribute,
    ConditionFailed,
    Extras,
    F,
    ItemAlreadyExists,
    ItemDecodeError,
    Key,
    Table,
    VersionConflict,
    entity,
    evolve,
    mapped,
)
from tests.backends import Backend
from tests.modes import Mode, RawTable


@pytest.fixture
def resource(backend: Backend, raw: RawTable) -> Any:
    """The new table as the usual boto3 program has it."""
    made = boto3.resource(
        "dynamodb",
        endpoint_url=backend.url,
        region_name="us-east-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",
    )
    yield made.Table(raw.name)
    made.meta.client.close()


@dataclass(frozen=True)
class Line:
    what: str
    price: Decimal
    note: str | None = None


@mapped("ORDER", pk="ORDER#{id}", sk="ORDER")
@dataclass(frozen=True)
class Order:
    id: str
    total: Decimal
    count: int = 0
    paid: bool = False
    note: str | None = None
    data: bytes = b""
    tags: set[str] = field(default_factory=set)
    lines: list[Line] = field(default_factory=list)
    free: dict[str, Any] = field(default_factory=dict)


Orders = Table("orders", [Order], discriminator=None, write_id=None)

ORDER = Order(
    "7", Decimal("12.50"), 3, True, "x", b"\x00\xff", {"a", "b"}, [Line("tea", Decimal("0.1"))], {"a": [1, None, {"b"}]}
)
ITEM = {
    "pk": "ORDER#7",
    "sk": "ORDER",
    "id": "7",
    "total": Decimal("12.50"),
    "count": 3,
    "paid": True,
    "note": "x",
    "data": b"\x00\xff",
    "tags": {"a", "b"},
    "lines": [{"what": "tea", "price": Decimal("0.1"), "note": None}],
    "free": {"a": [1, None, {"b"}]},
}


def test_what_boto3_puts_is_read_back_equal(backend: Backend, mode: Mode, resource: Any) -> None:
    orders = mode.connect(Orders, backend).with_name(resource.name).of(Order)
    resource.put_item(Item=ITEM)
    assert mode.wait(orders.get(id="7").strongly_consistent().send()) == ORDER
    # None stored as NULL, fields left out, and whatever else stands there
    resource.put_item(Item={"pk": "ORDER#8", "sk": "ORDER", "id": "8", "total": 1, "note": None, "unknown": {"x": 1}})
    assert mode.wait(orders.get(id="8").strongly_consistent().send()) == Order("8", Decimal(1))


def test_what_dynamap_puts_is_read_by_boto3_equal(backend: Backend, mode: Mode, resource: Any) -> None:
    orders = mode.connect(Orders, backend).with_name(resource.name).of(Order)
    mode.wait(orders.put(ORDER).send())
    key = {"pk": "ORDER#7", "sk": "ORDER"}
    assert resource.get_item(Key=key, ConsistentRead=True)["Item"] == ITEM
    mode.wait(orders.put(Order("7", Decimal(1))).send())
    assert resource.get_item(Key=key, ConsistentRead=True)["Item"] == {
        **key,
        "id": "7",
        "total": 1,
        "count": 0,
        "paid": False,
        "data": b"",
        "lines": [],
        "free": {},
    }


def test_what_no_field_knows_survives_an_update_and_not_a_put(backend: Backend, mode: Mode, resource: Any) -> None:
    orders = mode.connect(Orders, backend).with_name(resource.name).of(Order)
    resource.put_item(Item={**ITEM, "later": "release", "lines": [{"what": "tea", "price": 1, "weight": 5}]})
    order = mode.wait(orders.get(id="7").required().strongly_consistent().send())
    mode.wait(orders.update(order).to(replace(order, count=4, note=None)).send())
    item = resource.get_item(Key={"pk": "ORDER#7", "sk": "ORDER"}, ConsistentRead=True)["Item"]
    assert (item["later"], item["count"], "note" in item) == ("release", 4, False)
    assert item["lines"] == [{"what": "tea", "price": 1, "weight": 5}]
    mode.wait(orders.put(order).send())
    item = resource.get_item(Key={"pk": "ORDER#7", "sk": "ORDER"}, ConsistentRead=True)["Item"]
    assert "later" not in item


def test_extras_survive_a_put_too(backend: Backend, mode: Mode, resource: Any) -> None:
    @mapped("ORDER", pk="ORDER#{id}", sk="ORDER")
    @dataclass(frozen=True)
    class Keeper:
        id: str
        extra: Annotated[dict[str, Any], Extras()] = field(default_factory=dict)

    table = Table("orders", [Keeper], discriminator=None, write_id=None)
    keepers = mode.connect(table, backend).with_name(resource.name).of(Keeper)
    resource.put_item(Item={**ITEM, "later": {"set": {1}}})
    keeper = mode.wait(keepers.get(id="7").required().strongly_consistent().send())
    mode.wait(keepers.put(keeper).send())
    item = resource.get_item(Key={"pk": "ORDER#7", "sk": "ORDER"}, ConsistentRead=True)["Item"]
    assert item == {**ITEM, "later": {"set": {1}}}


def test_bookkeeping_is_seen_by_others_and_not_needed(backend: Backend, mode: Mode, resource: Any) -> None:
    """Items of before have neither type nor version nor write id; dynamap's writes add them, others may drop them."""

    @entity("USER", pk="USER#{id}", sk="USER", version="version", frozen=True)
    class User:
        id: str
        name: str = ""
        version: int = 0

    table = Table("users", [User], untyped=User)
    users = mode.connect(table, backend).with_name(resource.name).of(User)
    key = {"pk": "USER#1", "sk": "USER"}
    resource.put_item(Item={**key, "id": "1", "name": "ada"})
    old = mode.wait(users.get(id="1").required().send())
    assert old == User("1", "ada", -1)
    new = mode.wait(users.update(old).to(evolve(old, name="Ada")).send())
    item = resource.get_item(Key=key, ConsistentRead=True)["Item"]
    assert item == {**key, "id": "1", "name": "Ada", "version": new.version, "_w": item["_w"]}
    newer = mode.wait(users.put(new).send())
    assert resource.get_item(Key=key, ConsistentRead=True)["Item"]["_type"] == "USER"
    # a program that knows nothing of versions replaces the item: what was read before is stale
    resource.put_item(Item={**key, "id": "1", "name": "eve"})
    with pytest.raises(VersionConflict):
        mode.wait(users.put(newer).send())
    with pytest.raises(ItemAlreadyExists):
        mode.wait(users.put(User("1")).if_not_exists().send())
    assert mode.wait(users.get(id="1").required().send()) == User("1", "eve", -1)


@pytest.mark.parametrize(
    ("hint", "stored", "value", "written"),
    [
        (Annotated[int, Attribute(decode=int)], "12", 12, 12),
        (Annotated[int, Attribute(decode=int)], 12, 12, 12),
        (Annotated[bool, Attribute(decode=bool)], 1, True, True),
        (
            Annotated[list[str], Attribute(decode=lambda given: given.split(",") if isinstance(given, str) else given)],
            "a,b",
            ["a", "b"],
            ["a", "b"],
        ),
        (Annotated[set[str], Attribute(decode=set)], ["a", "b"], {"a", "b"}, {"a", "b"}),
        (int | str, "12", "12", "12"),
    ],
    ids=["text to number", "already a number", "number to bool", "text to list", "list to set", "either"],
)
def test_a_type_that_changed_is_read_in_both_forms_and_written_in_one(
    backend: Backend, mode: Mode, resource: Any, hint: Any, stored: Any, value: Any, written: Any
) -> None:
    class Holder:
        id: str
        value: hint  # type: ignore[valid-type]

    Holder.__annotations__ = {"id": str, "value": hint}
    holder = mapped("HOLDER", pk="HOLDER#{id}", sk="HOLDER")(dataclass(frozen=True)(Holder))
    holders = mode.connect(Table("holders", [holder], discriminator=None, write_id=None), backend)
    repository: Any = holders.with_name(resource.name).of(holder)
    key = {"pk": "HOLDER#1", "sk": "HOLDER"}
    resource.put_item(Item={**key, "id": "1", "value": stored})
    read = mode.wait(repository.get(id="1").required().strongly_consistent().send())
    assert read.value == value
    mode.wait(repository.put(read).send())
    assert resource.get_item(Key=key, ConsistentRead=True)["Item"]["value"] == written
    assert mode.wait(repository.get(id="1").required().strongly_consistent().send()) == read


@dataclass(frozen=True)
class Address:
    city: str = ""
    code: Annotated[str | None, Attribute(aliases=("zip",))] = None


@mapped("USER", pk="USER#{id}", sk="USER")
@dataclass(frozen=True)
class NewUser:
    """What the new release says: mail is called email, and there is an address."""

    id: str
    email: Annotated[str | None, Attribute(aliases=("mail",))] = None
    points: Annotated[int, Attribute(aliases=("score",))] = 0
    address: Address = field(default_factory=Address)


@mapped("USER", pk="USER#{id}", sk="USER")
@dataclass(frozen=True)
class BridgeUser:
    """What the release before it says, so that both may run: the old names are written, the new ones are read."""

    id: str
    mail: Annotated[str | None, Attribute(aliases=("email",))] = None
    score: Annotated[int, Attribute(aliases=("points",))] = 0


@pytest.mark.not_on("embedded", reason="moto does not parse an if_not_exists inside of another")
def test_a_rename_loses_nothing_while_two_releases_run(backend: Backend, mode: Mode, resource: Any) -> None:
    wait = mode.wait
    new = mode.connect(Table("users", [NewUser]), backend).with_name(resource.name).of(NewUser)
    old = mode.connect(Table("users", [BridgeUser]), backend).with_name(resource.name).of(BridgeUser)
    points, score = F(NewUser, lambda user: user.points), F(BridgeUser, lambda user: user.score)
    email, mail = F(NewUser, lambda user: user.email), F(BridgeUser, lambda user: user.mail)
    key = {"pk": "USER#1", "sk": "USER"}
    resource.put_item(Item={**key, "_type": "USER", "id": "1", "mail": "a@x", "score": 5})

    assert wait(new.update(id="1").add(points, 1).if_(email.eq("a@x") & points.ge(5)).send()).points == 6
    assert wait(old.update(id="1").add(score, 1).if_(score.eq(6)).send()).score == 7
    assert wait(new.update(id="1").set(points, points + 1).if_(points.eq(7)).send()).points == 8
    read = wait(old.get(id="1").required().strongly_consistent().send())
    assert read == BridgeUser("1", "a@x", 8)
    assert wait(old.update(read).to(replace(read, mail=None, score=9)).send()) == BridgeUser("1", None, 9)
    with pytest.raises(ConditionFailed):
        wait(new.update(id="1").set(email, "b@x").if_(email.exists()).send())
    assert wait(new.update(id="1").set_if_missing(email, "b@x").send()).email == "b@x"
    with pytest.raises(ConditionFailed):
        wait(old.update(id="1").set(mail, "c@x").if_(mail.not_exists()).send())
    assert wait(old.update(id="1").set(score, score.or_else(100) - 4).send()) == BridgeUser("1", "b@x", 5)
    user = wait(new.get(id="1").required().strongly_consistent().send())
    assert user == NewUser("1", "b@x", 5)
    wait(new.put(user).send())
    item = resource.get_item(Key=key, ConsistentRead=True)["Item"]
    assert set(item) == {"pk", "sk", "_type", "id", "email", "points", "address"}


def test_a_difference_inside_of_what_older_items_lack(backend: Backend, mode: Mode, resource: Any) -> None:
    new = mode.connect(Table("users", [NewUser]), backend).with_name(resource.name).of(NewUser)
    key = {"pk": "USER#1", "sk": "USER"}
    for stored, written in [
        ({}, {"city": "Rome", "code": None}),
        ({"address": {"city": "Oslo", "zip": "1", "later": 1}}, {"city": "Rome", "zip": "1", "later": 1}),
    ]:
        resource.put_item(Item={**key, "_type": "USER", "id": "1", **stored})
        user = mode.wait(new.get(id="1").required().strongly_consistent().send())
        changed = replace(user, address=replace(user.address, city="Rome"))
        assert mode.wait(new.update(user).to(changed).send()) == changed
        assert resource.get_item(Key=key, ConsistentRead=True)["Item"]["address"] == written
    user = mode.wait(new.get(id="1").required().strongly_consistent().send())
    changed = replace(user, address=replace(user.address, code="2"))
    assert mode.wait(new.update(user).to(changed).send()) == changed
    item = resource.get_item(Key=key, ConsistentRead=True)["Item"]
    assert item["address"] == {"city": "Rome", "code": "2", "later": 1}


def test_an_item_that_does_not_fit_is_named(backend: Backend, mode: Mode, resource: Any) -> None:
    orders = mode.connect(Orders, backend).with_name(resource.name).of(Order)
    resource.put_item(Item={**ITEM, "lines": [{"what": "tea", "price": "1"}]})
    with pytest.raises(ItemDecodeError) as refused:
        mode.wait(orders.get(id="7").send())
    assert refused.value.path == "$.lines[0].price"
    assert refused.value.key == {"pk": "ORDER#7", "sk": "ORDER"}


def test_keys_that_are_attributes_and_templates_that_others_render(backend: Backend, mode: Mode, resource: Any) -> None:
    """The keys of another program are taken as they are: nothing in them is escaped."""

    @mapped("EVENT", pk="user:{user}", sk="event#{day}#{name}")
    @dataclass(frozen=True)
    class Event:
        user: str
        day: str
        name: str

    table = Table("events", [Event], pk=Key("pk"), sk=Key("sk"), discriminator=None, write_id=None, escape=False)
    events = mode.connect(table, backend).with_name(resource.name).of(Event)
    key = {"pk": "user:a$23b", "sk": "event#2025-01-01#x"}
    event = Event("a$23b", "2025-01-01", "x")
    resource.put_item(Item={**key, "user": "a$23b", "day": "2025-01-01", "name": "x"})
    assert mode.wait(events.get(user="a$23b", day="2025-01-01", name="x").strongly_consistent().send()) == event
    mode.wait(events.put(event).send())
    assert resource.scan(ConsistentRead=True)["Count"] == 1
