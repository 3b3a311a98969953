"""Creating and deleting tables: what is created, when it is done, and what a lost answer leaves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dynamap import (
    DeadlineExceeded,
    Key,
    RequestError,
    ServiceError,
    Store,
    Table,
    connect,
    connect_async,
    deadline,
    entity,
)
from dynamap.drivers import ClientOptions, SyncDriver
from dynamap.operations import Runtime, create_table, delete_table
from dynamap.plan import CallFailed, Reached, Sleep
from dynamap.testing import Fault, FaultPlan
from tests.backends import Backend
from tests.modes import Mode, RawTable


@entity("NOTE", pk="NOTE#{id}", sk="NOTE")
class Note:
    id: str


@entity("TAG", pk="TAG#{name}")
class Tag:
    name: str


@pytest.fixture
def store(mode: Mode, backend: Backend, table_name: str) -> Iterator[Store[Any]]:
    store = mode.connect(Table(table_name, [Note]), backend)
    yield store
    mode.wait(store.delete_table())


def described(client: Any, name: str) -> dict[str, Any] | None:
    try:
        table: dict[str, Any] = client.describe_table(TableName=name)["Table"]
    except client.exceptions.ResourceNotFoundException:
        return None
    return table


def test_a_table_on_demand_can_be_used_at_once(store: Store[Any], mode: Mode, client: Any, table_name: str) -> None:
    assert mode.wait(store.create_table()) is None
    table = described(client, table_name)
    assert table is not None
    assert table["TableStatus"] == "ACTIVE"
    assert table["KeySchema"] == [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ]
    assert sorted(table["AttributeDefinitions"], key=lambda each: each["AttributeName"]) == [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "S"},
    ]
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    notes = store.of(Note)
    mode.wait(notes.put(Note("n")).send())
    assert mode.wait(notes.get(id="n").send()) == Note("n")


def test_a_provisioned_table(store: Store[Any], mode: Mode, client: Any, table_name: str) -> None:
    mode.wait(store.create_table(read_capacity=3, write_capacity=2))
    table = described(client, table_name)
    assert table is not None
    assert table.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED") == "PROVISIONED"
    assert table["ProvisionedThroughput"]["ReadCapacityUnits"] == 3
    assert table["ProvisionedThroughput"]["WriteCapacityUnits"] == 2


def test_a_table_with_other_key_names_and_without_a_sort_key(
    mode: Mode, backend: Backend, client: Any, table_name: str
) -> None:
    store = mode.connect(Table(table_name, [Tag], pk=Key("tag-id.1"), sk=None), backend)
    mode.wait(store.create_table())
    table = described(client, table_name)
    assert table is not None
    assert table["KeySchema"] == [{"AttributeName": "tag-id.1", "KeyType": "HASH"}]
    mode.wait(store.of(Tag).put(Tag("a")).if_not_exists().send())
    assert mode.wait(store.of(Tag).get(name="a").send()) == Tag("a")
    mode.wait(store.delete_table())
    assert described(client, table_name) is None


def test_a_prefix_and_another_name_are_other_tables(mode: Mode, backend: Backend, client: Any, table_name: str) -> None:
    store = mode.connect(Table(table_name[:20], [Note]), backend, prefix=f"{table_name[20:]}-")
    mode.wait(store.create_table())
    assert described(client, f"{table_name[20:]}-{table_name[:20]}") is not None
    other = store.with_name(table_name)
    mode.wait(other.create_table())
    mode.wait(other.of(Note).put(Note("n")).send())
    assert mode.wait(store.of(Note).get(id="n").send()) is None
    mode.wait(store.delete_table())
    assert described(client, table_name) is not None
    mode.wait(other.delete_table())


# ---- refused before anything is sent


@pytest.mark.parametrize("name", ["", "ab", "a b c", "a/b/c", "tëst", "x" * 256, "name\n"])
def test_a_name_that_no_table_can_have_is_refused(mode: Mode, name: str) -> None:
    with pytest.raises(RequestError, match="is no table name"):
        (connect_async if mode.is_async else connect)(Table(name, [Note]))
    good = (connect_async if mode.is_async else connect)(Table("good", [Note]))
    with pytest.raises(RequestError, match="is no table name"):
        good.with_name(name)


@pytest.mark.parametrize(
    "capacities",
    [(1, None), (None, 1), (0, 1), (1, 0), (-1, 1), (1.5, 1), (True, 1), ("5", 1)],
    ids=str,
)
def test_capacities_that_no_table_can_have_are_refused(
    mode: Mode, embedded_backend: Backend, table_name: str, capacities: tuple[Any, Any]
) -> None:
    plan = FaultPlan()
    store = plan.over(mode.connect(Table(table_name, [Note]), embedded_backend))
    read_capacity, write_capacity = capacities
    with pytest.raises(RequestError, match="_capacity"):
        mode.wait(store.create_table(read_capacity=read_capacity, write_capacity=write_capacity))
    assert plan.calls == []


# ---- what is there already, or is not


def test_a_table_that_exists_is_an_error_and_keeps_its_items(store: Store[Any], mode: Mode) -> None:
    mode.wait(store.create_table())
    mode.wait(store.of(Note).put(Note("n")).send())
    with pytest.raises(ServiceError) as caught:
        mode.wait(store.create_table())
    assert caught.value.code == "ResourceInUseException"
    assert mode.wait(store.of(Note).get(id="n").send()) == Note("n")


def test_deleting_a_table_that_is_not_there_is_fine(
    store: Store[Any], mode: Mode, client: Any, table_name: str
) -> None:
    mode.wait(store.delete_table())
    mode.wait(store.create_table())
    mode.wait(store.of(Note).put(Note("n")).send())
    mode.wait(store.delete_table())
    assert described(client, table_name) is None
    mode.wait(store.delete_table())
    # a table of the same name is a new one
    mode.wait(store.create_table())
    assert mode.wait(store.of(Note).get(id="n").send()) is None


# ---- lost answers and refusals

LOSSES = [
    pytest.param({1: Fault.DROP_BEFORE}, id="the first look never arrives"),
    pytest.param({2: Fault.DROP_BEFORE}, id="the request never arrives"),
    pytest.param({2: Fault.DROP_AFTER}, id="the answer is lost"),
    pytest.param({2: Fault.DROP_AFTER, 3: Fault.DROP_AFTER}, id="two answers are lost"),
    pytest.param({2: Fault.DROP_BEFORE, 3: Fault.DROP_AFTER}, id="a request, then an answer"),
    pytest.param({2: Fault.THROTTLE, 3: Fault.THROTTLE}, id="throttled"),
    pytest.param({2: Fault.DROP_AFTER, 3: Fault.THROTTLE, 4: Fault.DROP_BEFORE}, id="lost, then throttled"),
    pytest.param(
        dict.fromkeys(range(2, 14), Fault.DROP_BEFORE), id="nothing arrives for longer than one sending lasts"
    ),
    pytest.param(
        {2: Fault.DROP_AFTER, **dict.fromkeys(range(3, 12), Fault.DROP_BEFORE)}, id="lost, then nothing arrives"
    ),
]


@pytest.mark.parametrize("faults", LOSSES)
def test_creating_outlasts_lost_answers(
    store: Store[Any], mode: Mode, client: Any, table_name: str, faults: dict[int, Fault]
) -> None:
    mode.wait(FaultPlan(faults).over(store).create_table())
    table = described(client, table_name)
    assert table is not None
    assert table["TableStatus"] == "ACTIVE"


@pytest.mark.parametrize("faults", LOSSES)
def test_deleting_outlasts_lost_answers(
    store: Store[Any], mode: Mode, client: Any, table_name: str, faults: dict[int, Fault]
) -> None:
    mode.wait(store.create_table())
    mode.wait(FaultPlan(faults).over(store).delete_table())
    assert described(client, table_name) is None


def test_a_table_that_another_program_creates_meanwhile_is_an_error(
    store: Store[Any], mode: Mode, client: Any, table_name: str
) -> None:
    plan = FaultPlan(before={2: lambda: RawTable(client, table_name).create()})
    with pytest.raises(ServiceError) as caught:
        mode.wait(plan.over(store).create_table())
    assert caught.value.code == "ResourceInUseException"


def test_a_table_that_another_program_deletes_meanwhile_is_gone(
    store: Store[Any], mode: Mode, client: Any, table_name: str
) -> None:
    mode.wait(store.create_table())
    plan = FaultPlan(before={2: lambda: client.delete_table(TableName=table_name)})
    mode.wait(plan.over(store).delete_table())
    assert described(client, table_name) is None


def test_a_deadline_bounds_creating(store: Store[Any], mode: Mode, client: Any, table_name: str) -> None:
    def create() -> Any:
        with deadline(0):
            return store.create_table() if not mode.is_async else created_in_time(store)

    with pytest.raises(DeadlineExceeded):
        mode.wait(create())
    assert described(client, table_name) is None


async def created_in_time(store: Store[Any]) -> None:
    with deadline(0):
        await store.create_table()


@pytest.mark.parametrize(
    ("plan", "status"),
    [
        pytest.param(lambda runtime: create_table(runtime, {"TableName": "stuck"}), None, id="create"),
        pytest.param(lambda runtime: create_table(runtime, {"TableName": "stuck"}), "DELETING", id="wait, then create"),
        pytest.param(lambda runtime: delete_table(runtime, "stuck"), "ACTIVE", id="delete"),
        pytest.param(lambda runtime: delete_table(runtime, "stuck"), "CREATING", id="wait, then delete"),
    ],
)
def test_a_table_that_is_stuck_is_given_up_after_minutes(plan: Callable[[Runtime], Any], status: str | None) -> None:
    """All requests but looks at the table are lost, for ever; no server does that, so the plan is driven by hand."""
    driver = SyncDriver(ClientOptions())
    runtime = Runtime(driver, clock=time.time, write_ids=lambda: "mine", route=(driver,))
    steps = plan(runtime)
    sleeps: list[float] = []
    with pytest.raises(DeadlineExceeded, match="stuck"):
        lose_everything(steps, status, sleeps)
    assert 60 < sum(sleeps) < 600


def lose_everything(steps: Any, status: str | None, sleeps: list[float]) -> None:
    """Answer looks at the table with this status, and nothing else."""
    command = next(steps)
    for _ in range(10_000):
        if isinstance(command, Sleep):
            sleeps.append(command.seconds)
            command = steps.send(None)
        elif command.operation != "DescribeTable":
            command = steps.throw(CallFailed(Reached.UNKNOWN, "ConnectionClosedError", "lost"))
        elif status is None:
            command = steps.throw(CallFailed(Reached.ANSWERED, "ResourceNotFoundException", "no such table"))
        else:
            command = steps.send({"Table": {"TableStatus": status}})
    pytest.fail("it asks and asks without a pause")
