"""Replies read straight from their bytes say what replies of dicts say, whatever stands in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

import attrs
import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import given

from dynamap import Attribute, Extras, F, Key, Table, entity, mapped
from dynamap.codec.generated import item_from_json
from dynamap.errors import DynamapError, ItemDecodeError
from dynamap.model import Entity, StoredItem, StoredItems, joint_struct
from dynamap.operations.replies import batch_decoder, item_decoder, joint_page_decoder, page_decoder
from dynamap.plan import Call, Reply
from tests.damage import damaged
from tests.everything import X, Y
from tests.fakes import drive, store_of
from tests.value_types import exact, json_of


@entity("V", pk="V#{id}", sk="V", version="version", ttl="expires")
class Versioned:
    id: str
    text: str = ""
    version: int = 0
    expires: int | None = None


@entity("K", pk="K#{id}", sk="K#{part}", aliases=["OLD"])
class Keyed:
    """Its key fields are nowhere but in its key."""

    id: Annotated[str, Attribute(stored=False)]
    part: Annotated[str, Attribute(stored=False)]
    text: Annotated[str, Attribute("new", aliases=("old",))] = ""


@entity("E", pk="E#{id}", sk="E")
class Keeping:
    """It keeps what it does not know, so that its items stay dicts."""

    id: str
    more: Annotated[dict[str, Any], Extras()]


@mapped("M")
@dataclass
class Measured:
    """Its keys are fields, a number and binary data."""

    id: int
    at: bytes
    value: float = 0.0


TABLE = Table("things", [X, Y, Versioned, Keyed, Keeping], ttl="expires")
MEASURES = Table("measures", [Measured], pk=Key("id", int), sk=Key("at", bytes), discriminator=None)
CUSTOMERS = Table("customers", [Y], untyped=Y)

EXAMPLES: list[tuple[Table, Any]] = [
    (
        TABLE,
        X("1", n=5, note="é", blob=b"\xff\x00", tags={"a", "b"}, maybe_tags=None, marks={"k": 1}, anything=[1, "x"]),
    ),
    (TABLE, Y("1", n=3)),
    (CUSTOMERS, Y("1", n=3)),
    (TABLE, Versioned("1", "text", 7, 1_800_000_000)),
    (TABLE, Versioned("1", "text", 0, None)),
    (TABLE, Keyed("a#b", "c", "text")),
    (TABLE, Keeping("1", {"unknown": 5})),
    (MEASURES, Measured(5, b"\x01\xff", 2.5)),
]
NAMES = [f"{type(instance).__name__} in {table.name}" for table, instance in EXAMPLES]


def entity_of(table: Table, cls: type[Any]) -> Entity[Any]:
    found: Entity[Any] = store_of(table).of(cls)._scope.entity
    return found


def body_of(reply: Any) -> bytes:
    return json.dumps(json_of(reply)).encode()


def as_dicts(body: bytes) -> dict[str, Any]:
    """The reply as drivers make it that do not read it straight."""
    reply: dict[str, Any] = json.loads(body)
    if "Item" in reply:
        reply["Item"] = item_from_json(reply["Item"])
    if "Items" in reply:
        reply["Items"] = [item_from_json(item) for item in reply["Items"]]
    return reply


def outcome(work: Callable[[], Any]) -> Any:
    try:
        return exact(work())
    except DynamapError as error:
        return type(error), str(error), getattr(error, "path", None), getattr(error, "key", None)
    except Exception as error:  # noqa: BLE001 - whatever is made of what no service answers
        return type(error), str(error)


def read_straight(decode: Callable[[bytes], Reply], body: bytes) -> tuple[Reply, bool]:
    """The reply as the lane makes it, and whether it was read straight."""
    try:
        return decode(body), True
    except Exception:  # noqa: BLE001 - whatever it is, the reply is made as ever
        return as_dicts(body), False


def check_item(one: Entity[Any], item: dict[str, Any], now: int = 1_750_000_000) -> bool:
    body = body_of({"Item": item, "ConsumedCapacity": {"CapacityUnits": 0.5}})
    made, straight = read_straight(item_decoder(one), body)
    expected = as_dicts(body)["Item"]
    assert made["ConsumedCapacity"] == {"CapacityUnits": 0.5}
    found = made["Item"]
    assert outcome(lambda: one.claims(found)) == outcome(lambda: one.claims(expected))
    if one.ttl_attribute is not None:
        assert outcome(lambda: one.is_expired(found, now)) == outcome(lambda: one.is_expired(expected, now))
    assert outcome(lambda: one.decode(found)) == outcome(lambda: one.decode(expected))
    for name in {*expected, "absent"}:
        assert found.get(name) == expected.get(name)
        assert (name in found) == (name in expected)
    assert dict(found.items()) == expected
    assert list(found) == list(expected)
    assert len(found) == len(expected)
    return straight


@pytest.mark.parametrize(("table", "instance"), EXAMPLES, ids=NAMES)
def test_good_items(table: Table, instance: Any) -> None:
    one = entity_of(table, type(instance))
    straight = check_item(one, one.encode(instance))
    assert straight is not isinstance(instance, Keeping)


@given(data=st.data())
def test_damaged_items(data: st.DataObject) -> None:
    table, instance = data.draw(st.sampled_from(EXAMPLES))
    one = entity_of(table, type(instance))
    good = one.encode(instance)
    # the service stores no item whose key is of another kind
    key = {part.attribute: good.pop(part.attribute) for part in one.key_parts}
    item = {**key, **data.draw(damaged(good)), **key}
    body = body_of({"Item": item})
    found, _ = read_straight(item_decoder(one), body)
    expected = as_dicts(body)["Item"]
    assert outcome(lambda: one.decode(found["Item"])) == outcome(lambda: one.decode(expected))


@pytest.mark.parametrize(
    "change",
    [
        {"_type": {"S": "Y"}},
        {"_type": {"N": "5"}},
        {"_type": None},
        {"version": {"N": "0"}},
        {"version": {"N": "00"}},
        {"version": {"N": "-1"}},
        {"version": {"N": "1.5"}},
        {"version": {"N": "1E2"}},
        {"version": {"S": "x"}},
        {"version": None},
        {"expires": {"S": "soon"}},
        {"expires": {"N": "5"}},
        {"expires": {"N": "1.7E9"}},
        {"expires": None},
        {"pk": {"S": "other"}},
        {"dynamap.origin": {"S": "taken"}},
    ],
    ids=str,
)
def test_bookkeeping_that_others_wrote(change: dict[str, Any]) -> None:
    one = entity_of(TABLE, Versioned)
    item = {**one.encode(Versioned("1", "text", 7, 1_800_000_000)), **change}
    check_item(one, {name: wire for name, wire in item.items() if wire is not None})


def test_reading_an_item_makes_no_dict_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    one = entity_of(TABLE, Versioned)
    body = body_of({"Item": one.encode(Versioned("1", version=3, expires=2_000_000_000))})
    monkeypatch.setattr(StoredItem, "whole", None)
    get = store_of(TABLE).of(Versioned).get(id="1")
    found = drive(get._plan(), answer=lambda call: call.decode(body) if call.decode else None)
    assert found.outcome == Versioned("1", version=3, expires=2_000_000_000)


def test_an_update_reads_what_it_answers_straight(monkeypatch: pytest.MonkeyPatch) -> None:
    one = entity_of(TABLE, Versioned)
    body = body_of({"Attributes": one.encode(Versioned("1", "new", version=4))})
    monkeypatch.setattr(StoredItem, "whole", None)
    update = store_of(TABLE).of(Versioned).update(Versioned("1", version=3)).to(Versioned("1", "new", version=3))
    found = drive(update._plan(), answer=lambda call: call.decode(body) if call.decode else None)
    assert found.outcome == Versioned("1", "new", version=4)


@pytest.mark.parametrize("damage", [{"text": {"N": "5"}}, {"_type": {"S": "X"}}, {"version": {"N": "1.5"}}], ids=str)
def test_an_update_whose_answer_does_not_decode_was_applied(damage: dict[str, Any]) -> None:
    one = entity_of(TABLE, Versioned)
    body = body_of({"Attributes": {**one.encode(Versioned("1", "new", version=4)), **damage}})
    update = store_of(TABLE).of(Versioned).update(id="1").ignore_version().set(F(Versioned.text), "new")
    for straight in (True, False):

        def answer(call: Call, straight: bool = straight) -> Reply:
            assert call.decode is not None
            if straight:
                with suppress(msgspec.ValidationError):
                    return call.decode(body)
            return {"Attributes": item_from_json(json.loads(body)["Attributes"])}

        error = drive(update._plan(), answer=answer).error
        assert isinstance(error, ItemDecodeError)
        assert error.applied


def test_a_reply_without_an_item() -> None:
    one = entity_of(TABLE, Versioned)
    assert item_decoder(one)(b"{}") == {}


def test_an_alias_of_the_class_is_read() -> None:
    one = entity_of(TABLE, Keyed)
    item = {**one.encode(Keyed("1", "2", "x")), "_type": {"S": "OLD"}}
    assert check_item(one, item)
    assert one.decode(item_decoder(one)(body_of({"Item": item}))["Item"]) == Keyed("1", "2", "x")


def page(items: Sequence[Any], **more: Any) -> bytes:
    return body_of({"Items": items, "Count": len(items), "ScannedCount": len(items) + 2, **more})


def test_a_page_has_all_that_one_of_dicts_has() -> None:
    one = entity_of(MEASURES, Measured)
    items = [one.encode(Measured(number, bytes([number]))) for number in range(3)]
    body = page(items, LastEvaluatedKey={"id": {"N": "2"}, "at": {"B": b"\xfe"}}, ConsumedCapacity={"CapacityUnits": 1})
    reply = page_decoder(one)(body)
    read: list[Any] = []
    one.decode_into(reply.pop("Items"), read)
    assert read == [Measured(number, bytes([number])) for number in range(3)]
    assert reply == {
        "Count": 3,
        "ScannedCount": 5,
        "LastEvaluatedKey": {"id": {"N": "2"}, "at": {"B": b"\xfe"}},
        "ConsumedCapacity": {"CapacityUnits": 1},
    }


def test_items_that_do_not_decode_come_after_those_before_them() -> None:
    one = entity_of(TABLE, Y)
    items = [one.encode(Y(str(number))) for number in range(3)]
    items[2] = {**items[2], "_type": {"S": "X"}}
    reply = page_decoder(one)(page(items))
    read: list[Any] = []
    with pytest.raises(ItemDecodeError, match="the discriminator should be 'Y', but it says 'X'"):
        one.decode_into(reply["Items"], read)
    assert read == [Y("0"), Y("1")]


@attrs.define
class Place:
    city: str
    zip_code: int = 0


@entity("HOUSE", pk="H#{id}", sk="H")
class House:
    id: str
    place: Place
    note: str = ""


@entity("HUT", pk="H#{id}", sk="HUT")
class Hut:
    """What it shares with a house it stores in the same way."""

    id: str
    place: Place
    beds: int = 0


@pytest.mark.parametrize("odd", [{0}, {3}, {1, 2}, {0, 1, 2, 3}])
def test_a_page_is_claimed_once_however_many_of_its_items_are_looked_at_by_themselves(
    odd: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = entity_of(BUILDINGS, Hut)
    items = [one.encode(Hut(str(number), Place("x"), 2)) for number in range(4)]
    for number in odd:
        items[number]["beds"] = {"N": "2.0"}
    claimed: list[int] = []
    claims_all = StoredItems.claims_all

    def counting(self: StoredItems, given: Sequence[Any]) -> bool:
        claimed.append(len(given))
        return claims_all(self, given)

    monkeypatch.setattr(StoredItems, "claims_all", counting)
    read: list[Any] = []
    one.decode_into(page_decoder(one)(page(items))["Items"], read)
    assert read == [Hut(str(number), Place("x"), 2) for number in range(4)]
    assert claimed == [4]


@entity("SHED", pk="H#{id}", sk="SHED")
class Shed:
    """Its note is a number."""

    id: str
    note: int = 0


BUILDINGS = Table("buildings", [House, Hut, Shed])
PAIRS: list[Any] = [
    (TABLE, [Y("1"), Versioned("1", version=3), Y("2"), Versioned("2", version=4)], True),
    (BUILDINGS, [House("1", Place("a", 5), "x"), Hut("1", Place("b"), 7), House("2", Place("c"))], True),
    (BUILDINGS, [House("1", Place("a", 5), "x"), Shed("1", 7)], False),
]


@pytest.mark.parametrize(("table", "instances", "joint"), PAIRS, ids=["fields apart", "the same ways", "other ways"])
def test_a_page_of_several_types(table: Table, instances: list[Any], joint: bool) -> None:
    several = tuple(entity_of(table, cls) for cls in (type(instances[0]), type(instances[1])))
    structs = joint_struct([one.stored_items for one in several])
    assert (structs is not None) is joint
    items = [several[number % 2].encode(instance) for number, instance in enumerate(instances)]
    reply = joint_page_decoder(several)(page(items))
    assert [several[number % 2].decode(item) for number, item in enumerate(reply["Items"])] == instances
    assert all(isinstance(item, StoredItem) for item in reply["Items"])
    assert [dict(item.items()) for item in reply["Items"]] == items
    for strange in ({"S": "K"}, {"N": "5"}):
        with pytest.raises((KeyError, msgspec.ValidationError)):
            joint_page_decoder(several)(page([{**items[0], "_type": strange}]))


@entity("CALL", pk="C#{customer}", sk="CALL#{at}", ttl="expires")
class Phoned:
    customer: str
    at: str
    expires: int | None = None


@entity("MAIL", pk="C#{customer}", sk="MAIL#{at}")
class Mailed:
    customer: str
    at: str
    length: int = 0


CONTACTS = Table("contacts", [Phoned, Mailed], ttl="expires")


def contacts() -> list[dict[str, Any]]:
    phoned, mailed = (entity_of(CONTACTS, cls) for cls in (Phoned, Mailed))
    return [
        phoned.encode(Phoned("c", "1")),
        mailed.encode(Mailed("c", "2", 5)),
        # who sends what the filter excludes is no service of ours, but reads both ways alike
        phoned.encode(Phoned("c", "3", 5)),
        {**mailed.encode(Mailed("c", "4")), "length": {"S": "long"}},
        mailed.encode(Mailed("c", "5")),
    ]


def sent(operation: Any, items: list[dict[str, Any]], *, straight: bool, key: str = "Items") -> Any:
    """What an operation answers, or raises, when these come."""

    def answer(call: Call) -> Reply:
        assert call.decode is not None
        responses: Any = {"contacts": items}
        body = page(items) if key == "Items" else body_of({"Responses": responses, "UnprocessedKeys": {}})
        if straight:
            with suppress(msgspec.ValidationError):
                return call.decode(body)
        reply = as_dicts(body)
        if key != "Items":
            reply["Responses"] = {"contacts": [item_from_json(item) for item in reply["Responses"]["contacts"]]}
        return reply

    return outcome(lambda: drive(operation._plan(), answer=answer).outcome)


@pytest.mark.parametrize("count", range(6))
def test_queries_answer_both_ways_alike(count: int) -> None:
    store = store_of(CONTACTS)
    items = contacts()[:count]
    operations: list[Any] = [
        store.query(Phoned, Mailed, customer="c"),
        store.query(Phoned, Mailed, customer="c").include_expired().grouped(),
        store.of(Mailed).query(customer="c"),
        store.of(Phoned).query(customer="c").limit(2),
        store.of(Phoned).query(customer="c").first(),
        store.of(Mailed).scan(),
    ]
    for operation in operations:
        assert sent(operation, items, straight=True) == sent(operation, items, straight=False)


@pytest.mark.parametrize("count", range(3))
def test_batches_answer_both_ways_alike(count: int) -> None:
    store = store_of(CONTACTS)
    one = entity_of(CONTACTS, Mailed)
    items = [one.encode(Mailed("c", str(number), number)) for number in range(count)]
    keys = [{"customer": "c", "at": at} for at in ("1", "0", "2", "1")]
    straight, plain = (
        sent(store.of(Mailed).get_many(keys), items, straight=way, key="Responses") for way in (True, False)
    )
    assert straight == plain


def test_a_batch_that_leaves_keys_is_made_of_dicts() -> None:
    one = entity_of(MEASURES, Measured)
    left = {"UnprocessedKeys": {"measures": {"Keys": [{"id": {"N": "2"}, "at": {"B": b"\xfe"}}]}}, "Responses": {}}
    with pytest.raises(ValueError, match="a reply with keys"):
        batch_decoder(one, "measures")(body_of(left))


def test_identities_are_those_of_dicts() -> None:
    one = entity_of(MEASURES, Measured)
    item = {**one.encode(Measured(5, b"\xfe")), "id": {"N": "5.0"}}
    found = item_decoder(one)(body_of({"Item": item}))["Item"]
    assert found.reader.identity(found) == (Decimal(5), b"\xfe")


def test_nothing_is_made_before_a_reply_comes() -> None:
    fresh = Table("fresh", [Y])
    one = entity_of(fresh, Y)
    for decode in (item_decoder(one), page_decoder(one), batch_decoder(one, "fresh"), joint_page_decoder((one,))):
        assert callable(decode)
    assert one._stored_items is None
