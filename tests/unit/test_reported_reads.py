"""Inputs to reads that once went wrong: refused with a clear error, or read as they should be."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import pytest

import dynamap
from dynamap import DeadlineExceeded, F, Key, Progress, RequestError, Store, Sync, Table, entity, mapped
from dynamap.plan import Call, Plan, Sleep
from tests.fakes import drive, store_of
from tests.in_memory import memory_store
from tests.orders import Document, Documents, Order, Orders, day

V = TypeVar("V")
LARGEST = 2**31 - 1


def refused(make: Any) -> str:
    with pytest.raises(RequestError) as caught:
        make()
    return str(caught.value)


@pytest.fixture
def orders() -> Store[Sync]:
    return store_of(Orders)


# ---- numbers


def test_no_limit_is_greater_than_the_service_takes(orders: Store[Sync]) -> None:
    query = orders.of(Order).query(customer="c")
    assert query.limit(LARGEST).params()["Limit"] == LARGEST
    assert query.limit(sys.maxsize).params()["Limit"] == LARGEST
    assert query.page_size(sys.maxsize).params()["Limit"] == LARGEST
    assert orders.of(Order).scan().segments(2).limit(10**40).params()["Limit"] == LARGEST


def test_pages_that_grow_do_not_outgrow_what_the_service_takes() -> None:
    plan = store_of(Documents).of(Document).query(customer="a").limit(1_000_000_000)._plan()
    pages = [{"Items": [], "Count": 0, "ScannedCount": 1, "LastEvaluatedKey": {"a": {"S": "b"}}}] * 5
    driven = drive(plan, *pages, {"Items": [], "Count": 0})
    sizes = [call.params["Limit"] for call in driven.calls]
    assert sizes == [1_000_000_000, 2_000_000_000, LARGEST, LARGEST, LARGEST, LARGEST]


def test_a_rate_waits_no_longer_than_the_deadline() -> None:
    now = time.monotonic()
    store, client = memory_store(Documents, [Document("a", number) for number in range(4)])
    scan = store.of(Document).scan().page_size(1).rate(0.01)
    scan = scan._copy(_runtime=replace(store._runtime, monotonic=lambda: now))
    slept: list[float] = []

    def run(plan: Plan[Any]) -> None:
        nonlocal now
        command = next(plan)
        while True:
            if isinstance(command, Sleep):
                slept.append(command.seconds)
                now += command.seconds
                command = plan.send(None)
            else:
                assert isinstance(command, Call)
                reply = client.scan(**command.params)
                command = plan.send({**reply, "ConsumedCapacity": {"CapacityUnits": 100.0}})

    with dynamap.deadline(3600), pytest.raises(DeadlineExceeded):
        run(scan._plan())
    assert slept == [pytest.approx(3600, abs=60)]


@pytest.mark.parametrize("segments", [1, 3])
def test_pages_that_max_pages_ended_say_where_to_go_on_though_they_brought_nothing(segments: int) -> None:
    documents = [Document("a", number, city="there" if number == 7 else None) for number in range(9)]
    store, _ = memory_store(Documents, documents, cursor_key=bytes(range(32)))
    scan = store.of(Document).scan().filter(F(Document.city).exists()).page_size(1).segments(segments).max_pages(2)
    found: list[int] = []
    rounds = 1
    pages = list(scan.pages())
    while pages and pages[-1].next is not None:
        found += [document.number for page in pages for document in page.items]
        pages = list(scan.resume(pages[-1].next).pages())
        rounds += 1
    assert found == [7]
    assert rounds >= 5


def test_pages_that_reach_the_end_are_never_empty() -> None:
    store, _ = memory_store(Documents, [Document("a", 1), Document("a", 2)], cursor_key=bytes(range(32)))
    query = store.of(Document).query(customer="a").filter(F(Document.city).exists()).page_size(1)
    assert list(query.pages()) == []
    assert list(query.max_pages(9).pages()) == []
    assert list(store.of(Document).query(customer="b").max_pages(1).pages()) == []


# ---- what is no class, function or number


@pytest.mark.parametrize("given", [[], {}, None, "Order", 1])
def test_a_store_is_asked_for_classes(orders: Store[Sync], given: Any) -> None:
    kind = type(given).__name__
    message = f"a class of Table 'orders' is wanted; got an instance of {kind}"
    assert refused(lambda: orders.of(given)) == message
    assert refused(lambda: orders.query(given, customer="c")) == message


def test_an_instance_in_the_place_of_its_class_is_not_shown(orders: Store[Sync]) -> None:
    given: Any = Order("c", day(0), 1, note="private")
    assert refused(lambda: orders.of(given)) == "a class of Table 'orders' is wanted; got an instance of Order"


def test_the_key_of_a_repository_is_a_function(orders: Store[Sync]) -> None:
    given: Any = ["customer", "at", "number"]
    assert refused(lambda: orders.of(Order, key=given)) == (
        "key= of Order takes a function whose parameters are the key fields, customer, at, number; got list"
    )


async def told_in_vain(progress: Progress) -> None:
    """Nobody would await it."""


@pytest.mark.parametrize(
    ("given", "got"), [(1, "int"), (None, "NoneType"), ("print", "str"), (told_in_vain, "a coroutine function")]
)
def test_progress_is_told_to_a_plain_function(orders: Store[Sync], given: Any, got: str) -> None:
    message = "scan of Order: on_progress() takes a plain function of one argument, the Progress; got "
    assert refused(lambda: orders.of(Order).scan().on_progress(given)) == message + got


def test_a_rate_that_is_no_number_is_not_shown(orders: Store[Sync]) -> None:
    given: Any = "private"
    assert refused(lambda: orders.of(Order).scan().rate(given)) == (
        "scan of Order: rate() takes a number of read units per second above 0; got str"
    )


def test_a_text_begins_with_a_str_and_bytes_with_bytes() -> None:
    order, document = (store_of(table).of(cls) for table, cls in ((Orders, Order), (Documents, Document)))
    note: Any = F(Order.note)
    blob: Any = F(Document.blob)
    with pytest.raises(RequestError) as caught:
        order.query(customer="c").filter(note.begins_with(b"private")).params()
    assert str(caught.value) == "Order.note: begins_with() takes a str here; got bytes"
    with pytest.raises(RequestError) as caught:
        document.query(customer="c").filter(blob.begins_with("private")).params()
    assert str(caught.value) == "Document.blob: begins_with() takes bytes here; got str"
    accepted = document.query(customer="c").filter(blob.begins_with(memoryview(b"ab"))).params()
    assert {"B": b"ab"} in accepted["ExpressionAttributeValues"].values()


@entity("FRAME")
class Frame:
    sensor: str
    frame: bytearray


def test_keys_of_changeable_bytes_are_bytes() -> None:
    store, _ = memory_store(Table("frames", [Frame], pk="sensor", sk=Key("frame", bytes)))
    frames = store.of(Frame)
    given = bytearray(b"ab")
    key = frames.key(sensor="a", frame=given)
    given[:] = b"changed"
    assert {key, frames.key(sensor="a", frame=memoryview(b"ab"))} == {frames.key(sensor="a", frame=b"ab")}
    frames.put(Frame("a", bytearray(b"ab"))).send()
    assert frames.get_many([key]).send() == [Frame("a", bytearray(b"ab"))]
    frame: Any = F(Frame.frame)
    assert frames.query(sensor="a").range(frame.begins_with(bytearray(b"a"))).count().send() == 1


# ---- partial items


def test_a_scan_of_a_partial_index_does_not_advise_what_it_does_not_have(orders: Store[Sync]) -> None:
    scan = orders.of(Order).index("brief").scan()
    assert refused(scan.params) == (
        "scan of Order: the index 'brief' does not hold 'customer', 'at', 'number', 'total', 'label', 'note', 'tags', "
        "'revision', so that its items are no whole Order: project() what it holds"
    )
    assert refused(lambda: scan.project(F(Order.note))) == (
        "project() of Order: the index 'brief' does not hold note: leave it out, add its attribute to the index's "
        "projection, or read whole entities with the hydrate() of a query"
    )


@mapped("BOX", pk="BOX#{id}", sk="BOX")
@dataclass
class Box(Generic[V]):
    id: str
    content: V


def test_a_generic_class_is_no_projection_of_another_type() -> None:
    whole: Any = Box[int]
    store, _ = memory_store(Table("boxes", [whole]))
    boxes = store.of(whole)
    boxes.put(Box("a", 1)).send()
    assert boxes.get(id="a").project(Box[int]).send() == Box("a", 1)
    assert boxes.query(id="a").project(Box).send() == [Box("a", 1)]
    message = refused(lambda: boxes.get(id="a").project(Box[str]))
    assert message.replace(f"{__name__}.", "") == (
        "project(Box[str]) of Box: Box[str].content is declared as str, but Box.content as int: declare it the same"
    )
