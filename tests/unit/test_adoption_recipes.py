"""Adapters for what other tools store in a form of their own: what is written, what is read, and what is refused."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from datetime import datetime, timedelta, timezone
from typing import Annotated, Any

import attrs
import pytest

from dynamap import Attribute, F, Table, connect, entity
from dynamap.codec import Context, shape_of

NOON = datetime(2025, 12, 17, 12, 0, 0, 5, timezone.utc)


def pynamodb_time(value: datetime) -> str:
    return value.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f+0000")


Time = Annotated[datetime, Attribute(encode=pynamodb_time)]
Legacy = Annotated[bytes, Attribute(encode=b64encode, decode=b64decode)]
Json = Attribute(encode=json.dumps, decode=json.loads)
Tags = Annotated[set[str], Attribute(encode=lambda tags: tags or None, decode=lambda tags: tags or set())]


@pytest.mark.parametrize(
    ("hint", "value", "stored"),
    [
        (Time, NOON, {"S": "2025-12-17T12:00:00.000005+0000"}),
        (Time, NOON.astimezone(timezone(timedelta(hours=5))), {"S": "2025-12-17T12:00:00.000005+0000"}),
        (list[Time], [NOON], {"L": [{"S": "2025-12-17T12:00:00.000005+0000"}]}),
        (Legacy, b"\xff", {"B": b"/w=="}),
        (set[Legacy], {b"\xff", b"a"}, {"BS": [b"/w==", b"YQ=="]}),
        (set[Legacy], set[bytes](), {"L": []}),
        (Annotated[dict[str, Any], Json], {"a": [1, None]}, {"S": '{"a": [1, null]}'}),
        (Tags, {"a"}, {"SS": ["a"]}),
        (Tags, set[str](), {"NULL": True}),
        (Annotated[bool, Attribute(encode=int, decode=bool)], True, {"N": "1"}),
    ],
)
def test_adapters_go_both_ways(hint: Any, value: Any, stored: Any) -> None:
    shape = shape_of(hint, where="Old.field", context=Context())
    assert shape.encode(value) == stored
    assert shape.decode(stored) == value


@entity("EVENT", frozen=True)
class Event:
    id: str
    at: Time
    marks: set[Legacy] = attrs.field(factory=set[bytes])


Events = Table("events", [Event], pk="id", sk="at", discriminator=None, write_id=None)


def test_adapted_values_are_keys_and_operands_too() -> None:
    events = connect(Events, endpoint_url="http://127.0.0.1:1").of(Event)
    key = {"id": {"S": "a"}, "at": {"S": "2025-12-17T12:00:00.000005+0000"}}
    assert events.get(id="a", at=NOON).params()["Key"] == key
    assert events.put(Event("a", NOON, {b"a"})).params()["Item"] == {**key, "marks": {"BS": [b"YQ=="]}}
    assert events.put(Event("a", NOON)).params()["Item"] == key
    update = events.update(id="a", at=NOON).add(F(Event.marks), b"b").if_(F(Event.marks).contains(b"a"))
    values = update.params()["ExpressionAttributeValues"].values()
    assert {"BS": [b"Yg=="]} in values
    assert {"B": b"YQ=="} in values


@entity("NOTE", frozen=True)
class FromList:
    id: str
    tags: Annotated[set[str], Attribute(decode=set)]


@entity("NOTE", frozen=True)
class ToList:
    id: str
    tags: Annotated[set[str], Attribute(encode=sorted)]


@pytest.mark.parametrize(("cls", "empty"), [(FromList, None), (ToList, {"L": []})])
def test_a_set_that_was_or_is_a_list_reads_as_empty_where_it_is_absent(cls: Any, empty: Any) -> None:
    described: Any = Table("notes", [cls], pk="id", sk=None).entity(cls)
    item = {"id": {"S": "a"}, "_type": {"S": "NOTE"}}
    assert described.decode(item) == cls("a", set())
    assert described.decode({**item, "tags": {"L": [{"S": "b"}]}}) == cls("a", {"b"})
    assert described.encode(cls("a", set())).get("tags") == empty
    assert described.decode(described.encode(cls("a", set()))) == cls("a", set())
