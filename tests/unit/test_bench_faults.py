"""Every fault, over a store in memory in both modes: what the client is told, and what the service did."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from dynamap import (
    F,
    ItemAlreadyExists,
    OutcomeUnknown,
    RequestError,
    ServiceError,
    Store,
    Table,
    Throttled,
    TransactionCanceled,
    TransactionConflict,
    entity,
)
from dynamap.plan import Call, CallFailed, Plan
from dynamap.testing import (
    AnyFault,
    Cancellation,
    ClientCrashed,
    Crash,
    Fault,
    FaultPlan,
    MemoryEngine,
    Refusal,
    Unprocessed,
    every_fault,
    memory_store,
    memory_store_async,
)


@entity("TALLY", pk="TALLY#{name}", sk="TALLY")
class Tally:
    name: str
    count: int = 0


Tallies = Table("tallies", [Tally])


class Lab:
    """A store of a mode, whose answers are waited for, and a look at what is there."""

    def __init__(self, mode: str) -> None:
        self.engine = MemoryEngine()
        make: Any = memory_store if mode == "sync" else memory_store_async
        self.store: Store[Any] = make(Tallies, engine=self.engine)
        # repeats follow at once
        self.store._runtime = replace(self.store._runtime, random=lambda: 0.0)
        self._mode = mode

    def wait(self, send: Callable[[], Any]) -> Any:
        async def inside() -> Any:
            return await send()

        return send() if self._mode == "sync" else asyncio.run(inside())

    def run(self, store: Store[Any], plan: Plan[Any]) -> Any:
        return self.wait(lambda: store._runtime.driver.run(plan))

    def counts(self) -> dict[str, int]:
        return {item["name"]["S"]: int(item["count"]["N"]) for item in self.engine.items("tallies")}


@pytest.fixture(params=["sync", "async"])
def lab(request: pytest.FixtureRequest) -> Lab:
    return Lab(request.param)


def one(call: Call) -> Plan[Any]:
    return (yield call)


ALWAYS = range(1, 50)


@pytest.mark.parametrize(
    ("fault", "error", "applied"),
    [
        (Fault.DROP_BEFORE, OutcomeUnknown, False),
        (Fault.DROP_AFTER, OutcomeUnknown, True),
        (Fault.NOT_SENT, ServiceError, False),
        (Fault.THROTTLE, Throttled, False),
        (Fault.CONFLICT, TransactionConflict, False),
        (Fault.ERROR_BEFORE, OutcomeUnknown, False),
        (Fault.ERROR_AFTER, OutcomeUnknown, True),
        (Fault.DAMAGED, OutcomeUnknown, True),
        (Refusal("AccessDeniedException", "no"), ServiceError, False),
        (Refusal("LimitExceededException"), ServiceError, False),
    ],
    ids=str,
)
def test_an_addition_that_always_meets_a_fault(
    lab: Lab, fault: AnyFault, error: type[Exception], applied: bool
) -> None:
    lab.wait(lab.store.of(Tally).put(Tally("t")).send)
    plan = FaultPlan(dict.fromkeys(ALWAYS, fault))
    with pytest.raises(error) as raised:
        lab.wait(plan.over(lab.store).of(Tally).update(name="t").add(F(Tally.count), 1).at_most_once().send)
    assert lab.counts() == {"t": int(applied)}
    if fault is Fault.DAMAGED:
        assert isinstance(raised.value, OutcomeUnknown)
        assert raised.value.applied is True


@pytest.mark.parametrize("fault", list(Fault), ids=lambda fault: fault.name.lower())
def test_a_create_outlives_one_fault(lab: Lab, fault: Fault) -> None:
    plan = FaultPlan({1: fault})
    create = plan.over(lab.store).of(Tally).put(Tally("t", 7)).if_not_exists()
    assert lab.wait(create.send) == Tally("t", 7)
    assert lab.counts() == {"t": 7}
    assert len(plan.calls) == (1 if fault is Fault.DAMAGED else 2)
    with pytest.raises(ItemAlreadyExists):
        lab.wait(create.send)


@pytest.mark.parametrize(("crash", "stored"), [(Crash.BEFORE, {}), (Crash.AFTER, {"t": 0})])
def test_a_crash_passes_every_handler_of_exceptions(lab: Lab, crash: Crash, stored: dict[str, int]) -> None:
    with pytest.raises(ClientCrashed, match="PutItem"):
        lab.wait(FaultPlan({1: crash}).over(lab.store).of(Tally).put(Tally("t")).send)
    assert lab.counts() == stored
    assert not issubclass(ClientCrashed, Exception)


@pytest.mark.parametrize(
    ("codes", "error", "calls"),
    [
        (["TransactionConflict"], None, 2),
        ([None, "ThrottlingError"], None, 2),
        (["TransactionConflict", "ConditionalCheckFailed"], TransactionCanceled, 1),
        (["ValidationError"], TransactionCanceled, 1),
    ],
)
def test_cancellations_have_the_reasons_that_are_given(
    lab: Lab, codes: list[str | None], error: type[Exception] | None, calls: int
) -> None:
    plan = FaultPlan({1: Cancellation(codes)})
    store = plan.over(lab.store)
    puts = [store.of(Tally).put(Tally(name)) for name in "ab"]
    transaction = store.transact(*puts)
    if error is None:
        lab.wait(transaction.send)
        assert lab.counts() == {"a": 0, "b": 0}
    else:
        with pytest.raises(error) as raised:
            lab.wait(transaction.send)
        assert isinstance(raised.value, TransactionCanceled)
        assert [failure.code for failure in raised.value.failures] == [*codes, *[None] * (2 - len(codes))]
        assert lab.counts() == {}
    # the item of a failed condition is looked for
    assert len([call for call in plan.calls if call.operation == "TransactWriteItems"]) == calls


@pytest.mark.parametrize("fault", [Unprocessed(), Cancellation(["TransactionConflict"])], ids=["batch", "transaction"])
def test_a_fault_that_cannot_be_is_refused(lab: Lab, fault: AnyFault) -> None:
    with pytest.raises(RequestError, match=r"GetItem .*: the fault is for"):
        lab.wait(FaultPlan({1: fault}).over(lab.store).of(Tally).get(name="t").send)


def put_request(name: str) -> dict[str, Any]:
    return {"PutRequest": {"Item": {"pk": {"S": name}, "sk": {"S": "s"}, "name": {"S": name}, "count": {"N": "0"}}}}


def test_half_of_a_batch_of_writes_is_left_undone(lab: Lab) -> None:
    store = FaultPlan({1: Unprocessed()}).over(lab.store)
    requests = [put_request(name) for name in "abcde"]
    call = Call("BatchWriteItem", {"RequestItems": {"tallies": requests}})
    reply = lab.run(store, one(call))
    assert sorted(lab.counts()) == ["a", "c", "e"]
    assert reply["UnprocessedItems"] == {"tallies": [requests[1], requests[3]]}
    # what is left is a request of its own, and the one that was sent is as it was
    assert (
        lab.run(store, one(Call("BatchWriteItem", {"RequestItems": reply["UnprocessedItems"]})))["UnprocessedItems"]
        == {}
    )
    assert len(call.params["RequestItems"]["tallies"]) == 5
    assert sorted(lab.counts()) == ["a", "b", "c", "d", "e"]


def test_half_of_a_batch_of_reads_is_left_undone(lab: Lab) -> None:
    lab.run(lab.store, one(Call("BatchWriteItem", {"RequestItems": {"tallies": [put_request(n) for n in "abc"]}})))
    keys = [{"pk": {"S": name}, "sk": {"S": "s"}} for name in "abc"]
    call = Call("BatchGetItem", {"RequestItems": {"tallies": {"Keys": keys, "ConsistentRead": True}}})
    reply = lab.run(FaultPlan({1: Unprocessed()}).over(lab.store), one(call))
    assert sorted(item["name"]["S"] for item in reply["Responses"]["tallies"]) == ["a", "c"]
    assert reply["UnprocessedKeys"] == {"tallies": {"Keys": [keys[1]], "ConsistentRead": True}}


def test_actions_run_before_the_call_and_calls_are_listed(lab: Lab) -> None:
    seen: list[int] = []
    plan = FaultPlan(before={2: lambda: seen.append(len(plan.calls))})
    tallies = plan.over(lab.store).of(Tally)
    for name in "abc":
        lab.wait(tallies.get(name=name).send)
    assert seen == [2]
    assert [call.operation for call in plan.calls] == ["GetItem"] * 3


def test_a_failure_of_the_service_stays_one_where_the_fault_changes_replies(lab: Lab) -> None:
    plan = FaultPlan({1: Fault.DAMAGED})
    lab.wait(lab.store.of(Tally).put(Tally("t")).send)
    with pytest.raises(CallFailed, match="ConditionalCheckFailedException"):
        lab.run(
            plan.over(lab.store),
            one(
                Call(
                    "PutItem",
                    {
                        "TableName": "tallies",
                        "Item": {"pk": {"S": "TALLY#t"}, "sk": {"S": "TALLY"}},
                        "ConditionExpression": "attribute_not_exists(pk)",
                    },
                )
            ),
        )


def test_every_place_of_every_fault_is_tried(lab: Lab) -> None:
    """The scenario of the documentation: two counted calls, each fault at each of them."""

    def scenario(plan: FaultPlan) -> None:
        tallies = plan.over(lab.store).of(Tally)
        lab.wait(tallies.put(Tally("t")).if_not_exists().send)
        lab.wait(tallies.update(name="t").set(F(Tally.count), 5).send)

    undisturbed = FaultPlan()
    scenario(undisturbed)
    plans = list(every_fault(len(undisturbed.calls)))
    assert len(plans) == 2 * len(Fault)
    for plan in plans:
        lab.engine.load("tallies", [])
        unreadable = "call 2: damaged" in str(plan)
        if unreadable:
            with pytest.raises(OutcomeUnknown):
                scenario(plan)
        else:
            scenario(plan)
        assert lab.counts() == {"t": 5}, plan


def test_plans_for_several_faults_at_once() -> None:
    plans = [str(plan) for plan in every_fault(3, [Fault.THROTTLE, Crash.AFTER], at_once=2)]
    assert len(plans) == len(set(plans)) == 12
    assert "FaultPlan(call 1: throttle, call 3: crash after)" in plans


@pytest.mark.parametrize(
    ("faults", "message"),
    [
        ({0: Fault.DROP_AFTER}, "faults: no call has the number 0: they count from 1"),
        ([Fault.DROP_AFTER], "faults is a dict by the call's number, counted from 1, such as {1: ...}; got list"),
    ],
    ids=["number 0", "a list"],
)
def test_a_fault_that_can_never_strike_is_refused(faults: Any, message: str) -> None:
    with pytest.raises(RequestError) as raised:
        FaultPlan(faults)
    assert str(raised.value) == message
