"""Items of puts are JSON at once, the same as the dicts that `Entity.encode` makes, which whoever looks is given."""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any

import botocore
import botocore.client
import botocore.handlers
import botocore.monitoring
import pytest

from dynamap import Attribute, Extras, GlobalIndex, Index, Table, connect, mapped
from dynamap.codec import JsonItem, item_size, size_at_most, to_json, without_json
from dynamap.codec.generated import item_from_json
from dynamap.drivers.events import OtherHandlers, watched
from dynamap.drivers.requests import body_of
from dynamap.errors import ModelError
from dynamap.model import json_item
from dynamap.plan import Call
from dynamap.testing import embedded, memory_store
from tests.lane_clients import MODES, OWN, opened


@mapped("PAGE", pk="PAGE#{id}", sk="PAGE", indexes=[Index("places", pk="PLACE#{place}", sk="{id}")])
@dataclass
class Page:
    id: str
    place: str | None = None
    text: str = ""
    prices: set[Decimal] = field(default_factory=set)
    photo: bytes = b""
    photos: set[bytes] = field(default_factory=set)
    seen: dict[str, list[int]] = field(default_factory=dict)


@mapped("NOTE", pk="NOTE#{id}", sk="NOTE", version="revision")
@dataclass
class Note:
    id: str
    text: str = ""
    revision: int = 0


@mapped("OPEN", pk="OPEN#{id}", sk="OPEN")
@dataclass
class Open:
    """It keeps what it does not know."""

    id: str
    more: Annotated[dict[str, Any], Extras()] = field(default_factory=dict)


@mapped("KEYED", pk="KEYED#{id}", sk="KEYED", indexes=[Index("places", pk="{place}", sk="{id}")])
@dataclass
class Keyed:
    """A field of it is the key of an index, as it is stored."""

    id: str
    place: Annotated[str, Attribute("gsi1pk")] = "a"


PLACES = GlobalIndex("places", pk="gsi1pk", sk="gsi1sk")
TABLE = Table("things", [Page, Note, Open], indexes=[PLACES])
PAGE = Page(
    'a"\\\n\u0001é😀',
    "here",
    "null \u2028",
    {Decimal("1.50"), Decimal("-0"), Decimal("1E+40"), Decimal("0.001")},
    b"\x00\xff",
    {b"\x00", b"\xff"},
    {'b"': [1, -2], "ä": []},
)


def calls_of(*operations: Any) -> list[Call]:
    return [operation._call(operation._runtime.moment()) for operation in operations]


# ---- which items


def test_puts_are_json() -> None:
    store = memory_store(TABLE)
    pages = store.of(Page)
    calls = calls_of(
        pages.put(PAGE),
        pages.put(PAGE).if_not_exists(),
        pages.put(PAGE).returning_old(),
        pages.put(PAGE).exactly_once(),
        pages.put_many([PAGE]),
        store.transact(pages.put(PAGE)),
    )
    assert [call.holds_json for call in calls] == [True] * 6


@pytest.mark.parametrize("thing", [Open("1", {"x": 1})])
def test_a_class_that_keeps_what_it_does_not_know_is_encoded_as_dicts(thing: Any) -> None:
    (call,) = calls_of(memory_store(TABLE).of(Open).put(thing))
    assert not call.holds_json


def test_what_is_changed_in_the_parameters_of_one_call_is_not_changed_in_the_next() -> None:
    store = memory_store(TABLE)
    for put in (store.of(Open).put(Open("1", {"x": 1})), store.of(Page).put(PAGE)):
        before = put.params()
        changed = put.params()
        del changed["Item"]["pk"]
        assert put.params() == before


def test_a_class_with_a_field_that_is_a_key_is_encoded_as_dicts() -> None:
    table = Table("things", [Keyed], indexes=[PLACES])
    (call,) = calls_of(memory_store(table).of(Keyed).put(Keyed("1")))
    assert not call.holds_json
    assert call.params["Item"]["gsi1pk"] == {"S": "a"}


def test_the_item_is_that_of_encode() -> None:
    page = TABLE.entity(Page)
    made = json_item(page, PAGE, page.key_of(PAGE))
    assert made is not None
    assert dict(made) == {**page.encode(PAGE), "gsi1pk": {"S": "PLACE#here"}, "gsi1sk": {"S": PAGE.id}}
    assert made.whole() is made.whole()
    assert page.decode(made) == PAGE
    assert size_at_most(made) >= item_size(made)


def test_a_version_is_added_to_it() -> None:
    store = memory_store(TABLE)
    notes = store.of(Note)
    note = Note("1", "x", 7)
    put, many, both = calls_of(
        notes.put(note),
        notes.put_many([note], unversioned=True),
        store.transact(notes.put(note)),
    )
    item = put.params["Item"]
    assert item["revision"] == {"N": "8"}
    assert set(item) == {"pk", "sk", "_type", "id", "text", "revision", "_w"}
    (request,) = many.params["RequestItems"]["things"]
    assert int(request["PutRequest"]["Item"]["revision"]["N"]) > 10**15
    assert both.params["TransactItems"][0]["Put"]["Item"]["revision"] == {"N": "8"}


def test_what_cannot_be_stored_is_refused_as_ever() -> None:
    page = TABLE.entity(Page)
    for wrong in (Page("1", text="\ud800"), Page("1", prices={Decimal("NaN")}), Page("1", photo="x")):  # type: ignore[arg-type]
        assert json_item(page, wrong, page.key_of(wrong)) is None


# ---- JSON that is a mapping


def test_an_item_is_a_mapping() -> None:
    item = JsonItem(b'{"pk":{"S":"a"},"photo":{"B":"AP8="},"photos":{"BS":["AP8="]}}')
    assert item == {"pk": {"S": "a"}, "photo": {"B": b"\x00\xff"}, "photos": {"BS": [b"\x00\xff"]}}
    assert (len(item), list(item), item.get("none"), "pk" in item) == (3, ["pk", "photo", "photos"], None, True)
    assert repr(JsonItem(b'{"pk":{"S":"a"}}')) == "JsonItem({'pk': {'S': 'a'}})"


def test_attributes_are_added_behind_it() -> None:
    item = JsonItem(b'{"pk":{"S":"a"}}')
    assert item.with_attributes({}) is item
    assert item.with_attributes({"_w": {"S": "x"}}).json == b'{"pk":{"S":"a"},"_w":{"S":"x"}}'
    assert "_w" not in item


def test_as_a_part_of_a_request_it_is_what_it_is() -> None:
    item = JsonItem(b'{"pk":{"S":"a"}}')
    assert to_json({"Items": [{"Put": item}]}) == b'{"Items":[{"Put":{"pk":{"S":"a"}}}]}'
    assert body_of({"Item": object()}) is None
    assert without_json({"Items": [{"Put": item}], "n": 1}) == {"Items": [{"Put": {"pk": {"S": "a"}}}], "n": 1}


def test_a_call_gives_dicts() -> None:
    item = JsonItem(b'{"pk":{"S":"a"}}')
    call = Call("PutItem", {"TableName": "t", "Item": item}, holds_json=True)
    assert call == Call("PutItem", {"TableName": "t", "Item": {"pk": {"S": "a"}}})
    assert call.params is call.params
    assert type(call.params["Item"]) is dict
    assert not call.holds_json
    assert repr(call) == "Call(operation='PutItem', params={'TableName': 't', 'Item': {'pk': {'S': 'a'}}})"


def test_what_is_done_to_parameters_that_were_looked_at_is_not_stored() -> None:
    pages = memory_store(TABLE).of(Page)
    put = pages.put(Page("1", text="x"))
    put.params()["Item"].clear()
    put.params()["Item"]["pk"] = {"S": "PAGE#other"}
    assert put.params()["Item"]["pk"] == {"S": "PAGE#1"}
    put.send()
    assert pages.get(id="1").send() == Page("1", text="x")


# ---- on its way

ITEM = b'{"pk":{"S":"a"},"photo":{"B":"AP8="}}'
MORE = {"ReturnConsumedCapacity": "TOTAL"}
WHOLE = {"pk": {"S": "a"}, "photo": {"B": b"\x00\xff"}}


def put_call() -> Call:
    return Call("PutItem", {"TableName": "table", "Item": JsonItem(ITEM)}, holds_json=True)


@pytest.mark.parametrize("mode", [*MODES, *OWN])
def test_the_request_has_the_item(mode: str) -> None:
    with opened(mode) as client:
        client.run(put_call())
        client.use_lane(False)
        client.run(put_call())
        assert [item_from_json(json.loads(request.body)["Item"]) for request in client.sent] == [WHOLE] * 2


@pytest.mark.parametrize("mode", OWN)
def test_a_client_that_nobody_has_is_called_without_the_item(mode: str) -> None:
    with opened(mode) as client:
        seen: list[Any] = []
        # it is not known to the lane, as all others are
        client.register("before-parameter-build.dynamodb", lambda params, **_: seen.append(dict(params)))
        client.run(put_call())
        assert seen == [{"TableName": "table", "Item": {}}]
        assert json.loads(client.sent[0].body)["Item"] == json.loads(ITEM)


@pytest.mark.parametrize("mode", OWN)
def test_who_wraps_the_method_that_calls_sees_the_item(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(mode) as client:
        seen: list[Any] = []
        cls = type(client.client)
        original = cls._make_api_call

        def watch(self: Any, operation: str, params: Any) -> Any:
            seen.append(params["Item"])
            return original(self, operation, params)

        monkeypatch.setattr(cls, "_make_api_call", watch)
        client.run(put_call())
        assert seen == [WHOLE]


@pytest.mark.parametrize("mode", OWN)
def test_botocores_log_has_the_item(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    with opened(mode) as client:
        with caplog.at_level(logging.DEBUG, "botocore"):
            client.run(put_call())
        assert json.loads(client.sent[0].body)["Item"] == json.loads(ITEM)


@pytest.mark.parametrize("mode", OWN)
def test_a_closed_lane_sends_the_item(mode: str) -> None:
    with opened(mode) as client:
        client.register("before-call.dynamodb", lambda params, **_: params["headers"].update({"Content-Type": "text"}))
        client.run(put_call())
        assert client.explain().startswith("plain: ")
        client.run(put_call())
        assert [json.loads(request.body)["Item"] for request in client.sent] == [json.loads(ITEM)] * 2


@pytest.mark.parametrize("mode", OWN)
@pytest.mark.parametrize("last", [False, True])
def test_parameters_that_somebody_changes_all_the_same_are_sent_whole(mode: str, last: bool) -> None:
    with opened(mode) as client:
        client.register(
            "provide-client-params.dynamodb",
            lambda params, **_: (
                params.update(ReturnConsumedCapacity="TOTAL") if params["Item"] else params.update(x="y")
            ),
            last=last,
        )
        client.run(put_call())
        (request,) = client.sent
        assert json.loads(request.body) == {"TableName": "table", "Item": json.loads(ITEM), **MORE}


@pytest.mark.parametrize("mode", OWN)
def test_without_the_events_of_the_client_no_empty_item_is_sent(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(mode) as client:

        def emit(api_params: Any, **_rest: Any) -> Any:
            return api_params

        async def emit_async(api_params: Any, **_rest: Any) -> Any:
            return api_params

        silent = emit_async if mode.startswith("async") else emit
        monkeypatch.setattr(client.client, "_emit_api_params", silent)
        client.run(put_call())
        (request,) = client.sent
        assert json.loads(request.body)["Item"] == json.loads(ITEM)


@pytest.mark.parametrize("mode", OWN)
def test_an_item_that_somebody_fills_all_the_same_is_refused_and_sent_whole(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(mode) as client:
        original = client.client.put_item

        def put_item(**params: Any) -> Any:
            params["Item"]["tenant"] = {"S": "T"}
            return original(**params)

        monkeypatch.setattr(client.client, "put_item", put_item)
        client.run(put_call())
        assert json.loads(client.sent[0].body)["Item"] == {**json.loads(ITEM), "tenant": {"S": "T"}}


@pytest.mark.parametrize("event", ["creating-client-class", "provide-client-params", "before-parameter-build", "*"])
def test_initializers_of_sessions_that_could_see_the_item_do(
    event: str, initialized: Callable[[Callable[[Any], None]], None]
) -> None:
    seen: list[Any] = []

    def watch(event_name: str, params: Any = None, class_attributes: Any = None, **_rest: Any) -> None:
        if class_attributes is not None:
            original = class_attributes["put_item"]

            def put_item(self: Any, **params: Any) -> Any:
                seen.append(params["Item"]["text"])
                return original(self, **params)

            class_attributes["put_item"] = put_item
        elif event_name.endswith("PutItem") and isinstance(params, dict) and "Item" in params:
            seen.append(params["Item"]["text"])

    initialized(lambda session: session.register(event, watch))
    with embedded() as url, connect(TABLE, endpoint_url=url) as store:
        store.create_table()
        store.of(Page).put(Page("1", text="x")).send()
        assert store.of(Page).get(id="1").send() == Page("1", text="x")
    assert {"S": "x"} in seen
    assert all(each == {"S": "x"} for each in seen)


# ---- who handles events


class Emitter:
    """As botocore's is registered at and copied."""

    def register(self, event_name: str, handler: Any) -> None: ...
    def register_first(self, event_name: str, handler: Any) -> None: ...
    def register_last(self, event_name: str, handler: Any) -> None: ...


@pytest.mark.parametrize("method", ["register", "register_first", "register_last"])
@pytest.mark.parametrize(
    ("event", "noted"),
    [
        ("provide-client-params.dynamodb.PutItem", ["before"]),
        ("before-parameter-build", ["before"]),
        ("creating-client-class.dynamodb", ["before"]),
        ("request-created.dynamodb", ["between"]),
        ("needs-retry.*.PutItem", ["between"]),
        ("*.dynamodb", ["before", "between", "sending"]),
        ("before-send.dynamodb", ["sending"]),
        ("after-call", []),
    ],
)
def test_handlers_of_others_are_noted(method: str, event: str, noted: list[str]) -> None:
    emitter = watched(Emitter)
    getattr(emitter, method)(event, botocore.handlers.add_recursion_detection_header)
    assert emitter.others == OtherHandlers()
    getattr(emitter, method)(event, lambda **_: None)
    assert emitter.others == OtherHandlers(**dict.fromkeys(noted, True))


def test_a_handler_without_a_module_is_one_of_others() -> None:
    emitter = watched(Emitter)
    emitter.register("request-created", (lambda **_: None).__call__)
    assert emitter.others.between


def test_so_is_one_that_wraps_one_of_botocores() -> None:
    emitter = watched(Emitter)

    @functools.wraps(botocore.handlers.add_recursion_detection_header)
    def wrapper(**_: Any) -> None: ...

    emitter.register("before-send", wrapper)
    assert emitter.others.sending


def test_what_reports_attempts_is_one_of_others() -> None:
    emitter = watched(Emitter)
    emitter.register("*", botocore.monitoring.Monitor(None, None).capture)
    assert emitter.others.between


def test_names_that_no_request_can_hold_are_refused_where_they_are_declared() -> None:
    for given in ({"name": "a\ud800"}, {"aliases": ("a\ud800",)}):
        with pytest.raises(ModelError) as error:
            Attribute(**given)  # type: ignore[arg-type]
        assert str(error.value) == (
            "the attribute name 'a\\ud800' has half of a surrogate pair, which no request can hold: correct it"
        )
    with pytest.raises(ModelError) as error:
        mapped("A\udfff", pk="A#{id}", sk="A")(Page)
    assert str(error.value) == (
        "Page: the name 'A\\udfff' has half of a surrogate pair, which no request can hold: correct it"
    )
