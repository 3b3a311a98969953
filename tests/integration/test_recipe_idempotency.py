"""Idempotency keys on the servers, in both modes: transactions where there are any, leased calls everywhere."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from decimal import Decimal
from types import ModuleType
from typing import Any

import pytest

from dynamap import F, Key, ModelError, OutcomeUnknown, Store, Table, TransactionCanceled, entity, mapped
from dynamap.testing import Fault, FaultPlan, memory_store
from recipes import idempotency as plain
from recipes.aio import idempotency as awaited
from tests.backends import Backend
from tests.modes import Mode, RawTable
from tests.together import together

transactions = pytest.mark.not_on("dynalite", reason="it has no transactions")

WRITERS = 8
NOON = datetime(2024, 2, 29, 12, tzinfo=timezone.utc)


@entity("CHARGE", pk="CHARGE#{id}", sk="CHARGE")
class Charge:
    id: str
    count: int = 0


@pytest.fixture
def recipe(mode: Mode) -> ModuleType:
    return awaited if mode.is_async else plain


@pytest.fixture
def store(mode: Mode, backend: Backend, raw: RawTable, recipe: ModuleType) -> Store[Any]:
    return mode.connect(Table(raw.name, [recipe.Answered[str], recipe.LeasedCall[str], Charge], ttl="ttl"), backend)


def charging(mode: Mode, store: Store[Any], recipe: ModuleType, answer: Any) -> Any:
    """An effect that counts itself, and answers this; as the mode wants it."""

    def effect() -> Any:
        return recipe.Effect(answer, [store.of(Charge).upsert(id="a").add(F(Charge.count), 1)])

    return in_mode(mode, effect)


def in_mode(mode: Mode, function: Any) -> Any:
    async def awaitable() -> Any:
        return function()

    return awaitable if mode.is_async else function


def charged(mode: Mode, store: Store[Any]) -> int:
    charge = mode.wait(store.of(Charge).get(id="a").strongly_consistent().send())
    return 0 if charge is None else int(charge.count)


def transaction(store: Store[Any], recipe: ModuleType, **options: Any) -> Any:
    return recipe.IdempotentTransaction(store, recipe.Answered[str], **options)


def call(store: Store[Any], recipe: ModuleType, **options: Any) -> Any:
    return recipe.IdempotentCall(store, recipe.LeasedCall[str], **{"lease": 60, **options})


ANSWERS: list[tuple[Any, Any]] = [
    (type(None), None),
    (bool, False),
    (int, 0),
    (str, ""),
    (bytes, b""),
    (bytes, b"\x00\xff"),
    (Decimal, Decimal("-0.10")),
    (float, 0.1),
    (list[int], []),
    (tuple[int, ...], ()),
    (tuple[int, str], (1, "2")),
    (dict[int, str], {}),
    (dict[int, str], {1: "2"}),
    (frozenset[str], frozenset()),
    (frozenset[str] | None, frozenset()),
    (frozenset[str] | None, None),
    (str | None, None),
    (datetime, NOON.astimezone(timezone(timedelta(hours=1)))),
    (Charge | None, Charge("a", 3)),
]


@pytest.mark.parametrize(("kind", "answer"), ANSWERS, ids=[f"{kind} {answer!r:.20}" for kind, answer in ANSWERS])
def test_every_answer_is_the_same_each_time(
    kind: Any, answer: Any, mode: Mode, recipe: ModuleType, embedded_backend: Backend, table_name: str
) -> None:
    table = Table(table_name, [recipe.Answered[kind], recipe.LeasedCall[kind], Charge], ttl="ttl")
    store = mode.connect(table, embedded_backend)
    mode.wait(store.create_table())
    bodies: list[int] = []

    def body() -> Any:
        bodies.append(1)
        return answer

    calls = recipe.IdempotentCall(store, recipe.LeasedCall[kind], lease=60)
    once = recipe.IdempotentTransaction(store, recipe.Answered[kind])
    for run, what in ((calls.run, in_mode(mode, body)), (once.run, charging(mode, store, recipe, answer))):
        first, second = (mode.call(run, "k", "request", what) for _ in range(2))
        assert first == second == answer
        assert repr(first) == repr(second)
        assert type(first) is type(second) is type(answer)
    assert len(bodies) == charged(mode, store) == 1
    mode.wait(store.delete_table())


@transactions
def test_of_many_transactions_with_one_key_one_is_applied(store: Store[Any], mode: Mode, recipe: ModuleType) -> None:
    once = transaction(store, recipe)

    def plainly(number: int) -> Any:
        return once.run("k", "request", charging(mode, store, recipe, str(number)))

    async def in_a_task(number: int) -> Any:
        return await once.run("k", "request", charging(mode, store, recipe, str(number)))

    assert len(set(together(mode, plainly, in_a_task, WRITERS))) == 1
    assert charged(mode, store) == 1
    with pytest.raises(recipe.PayloadMismatch):
        mode.call(once.run, "k", "another request", charging(mode, store, recipe, "x"))
    assert charged(mode, store) == 1


def test_of_many_calls_with_one_key_one_runs(store: Store[Any], mode: Mode, recipe: ModuleType) -> None:
    once = call(store, recipe)
    bodies: list[int] = []

    def body() -> str:
        bodies.append(1)
        return "done"

    def plainly(number: int) -> Any:
        try:
            return once.run("k", "request", body)
        except recipe.InProgress:
            return None

    async def in_a_task(number: int) -> Any:
        try:
            return await once.run("k", "request", in_mode(mode, body))
        except recipe.InProgress:
            return None

    assert set(together(mode, plainly, in_a_task, WRITERS)) <= {"done", None}
    assert len(bodies) == 1
    assert mode.call(once.run, "k", "request", in_mode(mode, body)) == "done"
    with pytest.raises(recipe.PayloadMismatch):
        mode.call(once.run, "k", "another request", in_mode(mode, body))
    assert len(bodies) == 1


@transactions
def test_a_record_that_is_over_counts_as_none_though_it_is_there(
    store: Store[Any], mode: Mode, recipe: ModuleType, raw: RawTable
) -> None:
    now = 1_700_000_000.0
    once = transaction(store, recipe, horizon=600, clock=lambda: now)
    assert mode.call(once.run, "k", "request", charging(mode, store, recipe, "first")) == "first"
    now += 599.9
    assert mode.call(once.run, "k", "request", charging(mode, store, recipe, "second")) == "first"
    now += 0.1
    assert raw.get("ANSWERED#k", "ANSWERED") is not None
    assert mode.call(once.run, "k", "another request", charging(mode, store, recipe, "second")) == "second"
    assert charged(mode, store) == 2


def test_a_lease_that_is_over_is_taken_once(store: Store[Any], mode: Mode, recipe: ModuleType) -> None:
    now = 1_700_000_000.0
    once = call(store, recipe, clock=lambda: now)

    class Killed(BaseException):
        pass

    def die() -> Any:
        raise Killed

    with pytest.raises(Killed):
        mode.call(once.run, "k", "request", in_mode(mode, die))
    now += 59.9
    with pytest.raises(recipe.InProgress) as blocked:
        mode.call(once.run, "k", "request", in_mode(mode, lambda: "second"))
    assert blocked.value.until == 1_700_000_060.0
    now += 0.1
    with pytest.raises(recipe.PayloadMismatch):
        mode.call(once.run, "k", "another request", in_mode(mode, lambda: "second"))
    assert mode.call(once.run, "k", "request", in_mode(mode, lambda: "second")) == "second"
    assert mode.call(once.run, "k", "request", in_mode(mode, lambda: "third")) == "second"


def test_who_fails_late_does_not_undo_the_answer_of_another(store: Store[Any], mode: Mode, recipe: ModuleType) -> None:
    slow, quick = call(store, recipe, lease=0.001), call(store, recipe, clock=lambda: 4e9)

    def fail_late() -> Any:
        raise LookupError

    async def fail_after_another() -> Any:
        assert await quick.run("k", "request", in_mode(mode, lambda: "second")) == "second"
        return fail_late()

    def fail_after_another_plainly() -> Any:
        assert quick.run("k", "request", lambda: "second") == "second"
        return fail_late()

    with pytest.raises(LookupError):
        mode.call(slow.run, "k", "request", fail_after_another if mode.is_async else fail_after_another_plainly)
    assert mode.call(quick.run, "k", "request", in_mode(mode, lambda: "third")) == "second"


@transactions
def test_lost_answers_are_found_out(store: Store[Any], mode: Mode, recipe: ModuleType) -> None:
    lost = FaultPlan(dict.fromkeys(range(2, 9), Fault.DROP_AFTER)).over(store)
    assert mode.call(transaction(lost, recipe).run, "k", "r", charging(mode, lost, recipe, "first")) == "first"
    assert charged(mode, store) == 1
    for position in (1, 2):
        lost = FaultPlan({position: Fault.DROP_AFTER}).over(store)
        key = f"call-{position}"
        assert mode.call(call(lost, recipe).run, key, "r", in_mode(mode, lambda: "done")) == "done"
    dead = FaultPlan(dict.fromkeys(range(1, 200), Fault.DROP_BEFORE)).over(store)
    with pytest.raises(OutcomeUnknown):
        mode.call(call(dead, recipe).run, "dead", "r", in_mode(mode, lambda: "done"))
    # what is unknown stays so, whatever comes after it
    plan = {position: Fault.DROP_BEFORE if position < 12 else Fault.THROTTLE for position in range(2, 200)}
    ill = FaultPlan(plan).over(store)
    with pytest.raises(OutcomeUnknown):
        mode.call(transaction(ill, recipe).run, "ill", "r", charging(mode, ill, recipe, "x"))


@transactions
def test_an_effect_that_is_refused_leaves_no_record(store: Store[Any], mode: Mode, recipe: ModuleType) -> None:
    mode.wait(store.of(Charge).put(Charge("a", 1)).send())

    def refused() -> Any:
        return recipe.Effect("x", [store.of(Charge).put(Charge("a")).if_not_exists()])

    once = transaction(store, recipe)
    with pytest.raises(TransactionCanceled):
        mode.call(once.run, "k", "request", in_mode(mode, refused))
    assert mode.call(once.run, "k", "request", charging(mode, store, recipe, "done")) == "done"
    assert charged(mode, store) == 2


def test_what_tells_requests_apart() -> None:
    assert plain.fingerprint({"a": 1, "b": [2]}) == plain.fingerprint(dict(reversed([("a", 1), ("b", [2])])))
    requests = [None, 1, "1", [1], {"a": 1}, {"a": "1"}, {"a": None}, {}]
    assert len({plain.fingerprint(request) for request in requests}) == len(requests)
    with pytest.raises(TypeError):
        plain.fingerprint(Decimal(1))


@mapped("REFUNDED", pk="REFUNDED#{key}", sk="REFUNDED")
class Refunded(plain.Answered[int]):
    pass


def test_a_table_with_answers_of_several_types() -> None:
    store = memory_store(Table("shop", [plain.Answered[str], Refunded], ttl="ttl"))
    for _ in range(2):
        bought = plain.IdempotentTransaction(store, plain.Answered[str]).run("k", 1, lambda: plain.Effect("tea", []))
        refunded = plain.IdempotentTransaction(store, Refunded).run("k", 2, lambda: plain.Effect(5, []))
        assert (bought, refunded) == ("tea", 5)


def test_a_table_with_keys_of_other_names() -> None:
    store = memory_store(Table("shop", [plain.LeasedCall[str]], pk=Key("id"), sk=Key("part"), ttl="gone_at"))
    once = plain.IdempotentCall(store, plain.LeasedCall[str], lease=60)
    assert once.run("k", "request", lambda: "first") == "first"
    assert once.run("k", "request", lambda: "second") == "first"


def test_a_table_whose_keys_have_one_name_is_none() -> None:
    with pytest.raises(ModelError, match="names of their own"):
        Table("shop", [plain.LeasedCall[str]], pk=Key("id"), sk=Key("id"), ttl="gone_at")


@transactions
def test_who_meets_the_first_call_at_work_gets_its_answer(store: Store[Any], mode: Mode, recipe: ModuleType) -> None:
    # its transaction is in conflict with that of the first, until it reads again
    busy = FaultPlan(dict.fromkeys(range(2, 12), Fault.CONFLICT)).over(store)
    first, second = transaction(store, recipe), transaction(busy, recipe)
    quicker = charging(mode, store, recipe, "first")
    asked: list[int] = []

    def effect() -> Any:
        asked.append(1)
        return recipe.Effect("second", [busy.of(Charge).upsert(id="a").add(F(Charge.count), 1)])

    def plainly() -> Any:
        first.run("k", "request", quicker)
        return effect()

    async def awaited_effect() -> Any:
        await first.run("k", "request", quicker)
        return effect()

    answer = mode.call(second.run, "k", "request", awaited_effect if mode.is_async else plainly)
    assert (answer, len(asked), charged(mode, store)) == ("first", 1, 1)


def test_what_it_costs() -> None:
    store = memory_store(Table("shop", [plain.Answered[int], plain.LeasedCall[int], Charge], ttl="ttl"))
    once = plain.IdempotentTransaction(store, plain.Answered[int])
    calls = plain.IdempotentCall(store, plain.LeasedCall[int], lease=60)
    units: list[float] = []
    for _ in range(2):
        with store.capacity() as spent:
            once.run("k", "request", lambda: plain.Effect(1, [store.of(Charge).put(Charge("a"))]))
        units.append(spent.total)
    with store.capacity() as spent:
        calls.run("k", "request", lambda: 1)
    # the strong read and two writes of a transaction; the read; two writes
    assert [*units, spent.total] == [5, 1, 2]
