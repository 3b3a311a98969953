"""Who listens to the calls: what is counted, what is told, and that nothing changes where nobody listens."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from dynamap import (
    CallInfo,
    Capacity,
    F,
    ItemAlreadyExists,
    RequestError,
    ServiceError,
    Table,
    connect,
    connect_async,
    entity,
)
from dynamap.operations.observing import observed
from dynamap.plan import Call, CallFailed, Emit, Join, Sleep, Spawn, Ticket
from tests.fakes import FakeClient, answered, condition_failed, drive, lost, numbered, store_of


@entity("NOTE", pk="NOTE#{id}", sk="NOTE")
class Note:
    id: str
    count: int = 0


Notes = Table("notes", [Note])


def consumed(units: float, table: str = "notes", **indexes: float) -> dict[str, Any]:
    found: dict[str, Any] = {"TableName": table, "CapacityUnits": units, "Table": {"CapacityUnits": 0.5}}
    if indexes:
        found["GlobalSecondaryIndexes"] = {name: {"CapacityUnits": each} for name, each in indexes.items()}
    return found


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def listening() -> tuple[Any, list[CallInfo]]:
    """A store whose calls are told to a list; its clock ticks with each look."""
    told: list[CallInfo] = []
    store = store_of(Notes)
    store._runtime = replace(store._runtime, on_call=told.append, monotonic=Clock())
    return store, told


def sent(operation: Any, *replies: Any, **options: Any) -> Any:
    """The operation as `send` would give it to its driver, driven by hand."""
    return drive(operation._observed(operation._plan()), *replies, **options)


# ---- where nobody listens


def test_nothing_is_wrapped_where_nobody_listens() -> None:
    operation: Any = store_of(Notes).of(Note).get(id="a")
    plan = operation._plan()
    assert operation._observed(plan) is plan
    elsewhere: Any = store_of(Notes)
    with elsewhere.capacity():
        assert operation._observed(plan) is plan
    assert sent(operation, {}).calls[0].params == operation.params()


# ---- capacity


def test_units_are_summed_by_table_index_and_operation() -> None:
    store: Any = store_of(Notes)
    notes = store.of(Note)
    with store.capacity() as used:
        first = sent(notes.get(id="a"), {"ConsumedCapacity": consumed(0.5)})
        sent(notes.put(Note("a")), {"ConsumedCapacity": consumed(3.0, gsi1=1.0, gsi2=1.0)})
        sent(notes.put(Note("b")), {"ConsumedCapacity": consumed(2.0, gsi1=1.0)})
        other = store.with_name("archive").of(Note)
        both = store.transact(notes.put(Note("c")), other.put(Note("d")))
        sent(both, {"ConsumedCapacity": [consumed(2.0), consumed(4.0, "archive")]})
    assert first.calls[0].params == {**notes.get(id="a").params(), "ReturnConsumedCapacity": "INDEXES"}
    assert used.total == 11.5
    assert dict(used.by_table) == {"archive": 4.0, "notes": 7.5}
    assert dict(used.by_index) == {"gsi1": 2.0, "gsi2": 1.0}
    assert dict(used.by_operation) == {"GetItem": 0.5, "PutItem": 5.0, "TransactWriteItems": 6.0}
    assert repr(used) == "Capacity(11.5 units)"
    assert list(used.by_table) == ["archive", "notes"]


def test_a_server_that_does_not_say_counts_as_nothing() -> None:
    store: Any = store_of(Notes)
    with store.capacity() as used:
        sent(store.of(Note).get(id="a"), {})
        sent(store.of(Note).get(id="a"), {"ConsumedCapacity": {"TableName": "notes", "CapacityUnits": 1}})
    assert (used.total, dict(used.by_operation)) == (1.0, {"GetItem": 1.0})


def test_a_server_that_does_not_take_the_question_is_asked_less() -> None:
    store, told = listening()
    refusal = answered("ValidationException", "INDEXES consumed capacity is not supported", status=400)
    with store.capacity() as used:
        first = sent(store.of(Note).put(Note("a")), refusal, {"ConsumedCapacity": {"CapacityUnits": 2.0}})
        second = sent(store.of(Note).get(id="a"), {"ConsumedCapacity": {"CapacityUnits": 0.5}})
    assert first.result == Note("a")
    assert first.sleeps == []
    asked = [call.params["ReturnConsumedCapacity"] for call in (*first.calls, *second.calls)]
    assert asked == ["INDEXES", "TOTAL", "TOTAL"]
    assert dict(used.by_table) == {"notes": 2.5}
    assert [(each.operation, each.attempts, each.error) for each in told] == [
        ("PutItem", 1, None),
        ("GetItem", 1, None),
    ]


def test_another_refusal_is_not_asked_again() -> None:
    store, told = listening()
    assert isinstance(sent(store.of(Note).get(id="a"), answered("ValidationException", "no")).error, ServiceError)
    again = answered("ValidationException", "consumed capacity is nothing to me")
    driven = sent(store.of(Note).get(id="a"), again, answered("ValidationException", "consumed capacity, I said"))
    assert isinstance(driven.error, ServiceError)
    assert [each.error for each in told] == ["ValidationException"] * 2


def test_attempts_have_the_same_bytes_and_only_the_answer_counts() -> None:
    store: Any = store_of(Notes)
    with store.capacity() as used:
        driven = sent(
            store.of(Note).get(id="a"), lost(), answered("ThrottlingException"), {"ConsumedCapacity": consumed(1.0)}
        )
    assert driven.calls[0] is driven.calls[1] is driven.calls[2]
    assert used.total == 1.0


def test_blocks_may_be_nested_and_end() -> None:
    store: Any = store_of(Notes)
    get = store.of(Note).get(id="a")
    reply = {"ConsumedCapacity": consumed(1.0)}
    with store.capacity() as outer:
        sent(get, reply)
        with store.capacity() as inner:
            sent(get, reply)
        sent(get, reply)
    assert "ReturnConsumedCapacity" not in sent(get, {}).calls[0].params
    assert (outer.total, inner.total) == (3.0, 1.0)


def test_what_begins_inside_is_counted_to_its_end_and_nothing_else() -> None:
    store: Any = store_of(Notes)
    get = store.of(Note).get(id="a")
    before = get._observed(get._plan())
    with store.capacity() as used:
        inside = get._observed(get._plan())
        drive(before, {"ConsumedCapacity": consumed(10.0)})
    drive(inside, {"ConsumedCapacity": consumed(1.0)})
    assert used.total == 1.0


def test_threads_have_blocks_of_their_own_unless_they_take_the_context_along() -> None:
    store: Any = store_of(Notes)
    get = store.of(Note).get(id="a")
    own: list[Capacity] = []

    def send_one() -> None:
        sent(get, {"ConsumedCapacity": consumed(1.0)} if watched() else {})

    def watched() -> bool:
        plan = get._plan()
        return get._observed(plan) is not plan

    def apart() -> None:
        with store.capacity() as used:
            send_one()
        own.append(used)

    with store.capacity() as used:
        for target in (apart, send_one, lambda: contextvars.copy_context().run(send_one)):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()
        context = contextvars.copy_context()
        thread = threading.Thread(target=lambda: context.run(send_one))
        thread.start()
        thread.join()
    assert used.total == 1.0
    assert [each.total for each in own] == [1.0]


def test_tasks_inside_are_counted_and_tasks_beside_each_other_are_not_mixed() -> None:
    store: Any = connect_async(Notes, client=AsyncClient({"ConsumedCapacity": consumed(1.0)}))
    notes = store.of(Note)

    async def worker(times: int) -> float:
        with store.capacity() as used:
            for _ in range(times):
                await notes.get(id="a").send()
            await asyncio.gather(*(notes.get(id="b").send() for _ in range(times)))
        return float(used.total)

    async def together() -> tuple[list[float], float]:
        with store.capacity() as used:
            each = await asyncio.gather(worker(1), worker(2), worker(5))
        await notes.get(id="a").send()
        return list(each), used.total

    assert asyncio.run(together()) == ([2.0, 4.0, 10.0], 16.0)


class AsyncClient(FakeClient):
    def __init__(self, reply: Any) -> None:
        super().__init__(lambda method, params: self._later(reply))

    async def _later(self, reply: Any) -> Any:
        await asyncio.sleep(0)
        return reply


def test_spawned_plans_are_counted_and_told() -> None:
    told: list[CallInfo] = []
    store: Any = connect(Notes, client=FakeClient(lambda method, params: {"ConsumedCapacity": consumed(1.0)}))

    def child(number: int) -> Any:
        reply = yield Call("GetItem", {"TableName": "notes", "Key": {"pk": {"N": str(number)}}})
        return reply

    def parent() -> Any:
        tickets: list[Ticket] = []
        for number in range(3):
            tickets.append((yield Spawn(child(number))))  # noqa: PERF401 - a plan cannot yield inside of one
        while tickets:
            ticket, _ = yield Join(tuple(tickets))
            tickets.remove(ticket)
        yield Emit(["done"])
        return "end"

    driver = store._runtime.driver
    with store.capacity() as used:
        plan = observed(parent(), driver=driver, on_call=told.append, clock=Clock(), entity="Note", lacking=set())
        assert driver.run(plan) == "end"
    assert used.total == 3.0
    assert [(info.operation, info.entity, info.units) for info in told] == [("GetItem", "Note", 1.0)] * 3


def test_a_block_is_used_once_at_a_time() -> None:
    block = store_of(Notes).capacity()
    with block, pytest.raises(RuntimeError) as caught, block:
        pass
    assert str(caught.value) == "this capacity() is in use already: make a new one for each with block"


# ---- on_call


def test_a_call_is_told_once_with_all_its_attempts() -> None:
    store, told = listening()
    sent(store.of(Note).get(id="a"), lost(), lost(), {"ConsumedCapacity": consumed(0.5)})
    # the clock ticked at the first attempt, at each of three ends, and wherever the plan looked
    [info] = told
    assert replace(info, latency=timedelta(0)) == CallInfo(
        operation="GetItem",
        entity="Note",
        index=None,
        units=0.5,
        attempts=3,
        latency=timedelta(0),
        tables=("notes",),
        error=None,
    )
    assert info.latency >= timedelta(seconds=3)


def test_attempts_that_differ_are_attempts_of_one_call() -> None:
    store, told = listening()

    def plan() -> Any:
        for number in range(2):
            try:
                yield Call("PutItem", {"TableName": "notes", "Item": {"n": {"N": str(number)}}})
            except CallFailed:
                yield Sleep(0.1)
        yield Call("PutItem", {"TableName": "notes", "Item": {}})

    watched = store._runtime.observed(plan())
    driven = drive(watched, lost(), {"ConsumedCapacity": consumed(2.0)}, {"ConsumedCapacity": consumed(1.0)})
    assert [(each.attempts, each.units) for each in told] == [(2, 2.0), (1, 1.0)]
    assert [call.params["ReturnConsumedCapacity"] for call in driven.calls] == ["INDEXES"] * 3


def test_a_failed_condition_is_told_as_refused_and_the_read_after_it_by_itself() -> None:
    store, told = listening()
    driven = sent(
        store.of(Note).put(Note("a")).if_not_exists(), condition_failed(), {"ConsumedCapacity": consumed(1.0)}
    )
    assert isinstance(driven.error, ItemAlreadyExists)
    assert [(each.operation, each.error, each.refused, each.units) for each in told] == [
        ("PutItem", "ConditionalCheckFailedException", True, None),
        ("GetItem", None, False, 1.0),
    ]


def test_a_failure_is_told_with_its_last_code() -> None:
    store, told = listening()
    driven = sent(store.of(Note).get(id="a"), lost(), answered("ValidationException", "no"))
    assert isinstance(driven.error, ServiceError)
    assert [(each.attempts, each.error, each.refused, each.units) for each in told] == [
        (2, "ValidationException", False, None)
    ]


@pytest.mark.parametrize(
    ("codes", "refused"),
    [
        (["None", "ConditionalCheckFailed"], True),
        (["ConditionalCheckFailed", "TransactionConflict"], False),
        (["ValidationError"], False),
        ([], False),
    ],
)
def test_a_cancelled_transaction_is_refused_by_its_conditions_alone(codes: list[str], refused: bool) -> None:
    info = CallInfo(
        "TransactWriteItems",
        None,
        None,
        None,
        1,
        timedelta(0),
        error="TransactionCanceledException",
        reasons=tuple(codes),
    )
    assert info.refused is refused


def test_tables_of_a_transaction_and_reasons_are_told() -> None:
    store, told = listening()
    notes, archive = store.of(Note), store.with_name("archive").of(Note)
    create = notes.put(Note("a")).if_not_exists()
    cancellation = answered(
        "TransactionCanceledException",
        reasons=[{"Code": "ConditionalCheckFailed", "Item": {"pk": {"S": "x"}}}, {"Code": "None"}],
    )
    operation = store.transact(create, archive.put(Note("a")))
    sent(operation, cancellation)
    [info] = told
    assert (info.tables, info.entity, info.reasons, info.refused) == (
        ("notes", "archive"),
        None,
        ("ConditionalCheckFailed", "None"),
        True,
    )


def test_a_call_that_is_given_up_while_it_is_under_way_is_told() -> None:
    store, told = listening()
    plan = store.of(Note).get(id="a")
    watched = plan._observed(plan._plan())
    next(watched)
    watched.close()
    assert [(each.attempts, each.error) for each in told] == [(1, "Abandoned")]


def test_a_call_that_is_given_up_in_a_pause_has_the_code_of_its_last_attempt() -> None:
    store, told = listening()
    plan = store.of(Note).get(id="a")
    watched = plan._observed(plan._plan())
    next(watched)
    assert isinstance(watched.throw(answered("ThrottlingException")), Sleep)
    watched.close()
    assert [(each.attempts, each.error) for each in told] == [(1, "ThrottlingException")]


def test_another_exception_of_the_driver_reaches_the_plan() -> None:
    store, told = listening()
    driven = sent(store.of(Note).get(id="a"), RequestError("another event loop"))
    assert str(driven.error) == "another event loop"
    assert [each.error for each in told] == ["RequestError"]


def test_a_listener_that_raises_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def bad(info: CallInfo) -> None:
        raise ZeroDivisionError

    client = FakeClient(lambda method, params: {"Attributes": {}})
    store = connect(Notes, client=client, on_call=bad, write_ids=numbered())
    with caplog.at_level(logging.ERROR, logger="dynamap"):
        assert store.of(Note).put(Note("a")).send() == Note("a")
    assert [method for method, _ in client.calls] == ["put_item"]
    assert [record.message for record in caplog.records] == ["on_call raised; the call itself is not affected"]
    assert caplog.records[0].exc_info is not None


@pytest.mark.parametrize("make", [connect, connect_async])
def test_what_cannot_listen_is_refused(make: Any) -> None:
    async def later(info: CallInfo) -> None: ...

    with pytest.raises(RequestError) as caught:
        make(Notes, client=FakeClient(), on_call=later)
    assert str(caught.value) == (
        "on_call= takes a plain function of a CallInfo, in asyncio too; got a function that must be awaited"
    )
    with pytest.raises(RequestError) as caught:
        make(Notes, client=FakeClient(), on_call="print")
    assert str(caught.value) == "on_call= takes a plain function of a CallInfo, in asyncio too; got str"


def test_the_table_itself_is_told_of_too_and_never_asked_what_it_costs() -> None:
    told: list[CallInfo] = []

    def missing(method: str, params: Any) -> Any:
        assert "ReturnConsumedCapacity" not in params
        if method == "describe_table" and not told:
            error = {"Error": {"Code": "ResourceNotFoundException", "Message": "no"}}
            raise ClientError(error, "DescribeTable")  # type: ignore[arg-type]
        return {"Table": {"TableStatus": "ACTIVE"}}

    store = connect(Notes, client=FakeClient(missing), on_call=told.append)
    store.create_table()
    assert [(each.operation, each.error, each.units) for each in told] == [
        ("DescribeTable", "ResourceNotFoundException", None),
        ("CreateTable", None, None),
        ("DescribeTable", None, None),
    ]
    assert told[1].tables == ("notes",)


def test_writes_with_changes_are_told_as_what_they_are() -> None:
    store, told = listening()
    sent(store.of(Note).upsert(id="a").add(F(Note.count), 1), {"Attributes": {}})
    assert [(each.operation, each.attempts) for each in told] == [("UpdateItem", 1)]
