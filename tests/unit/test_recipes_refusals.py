"""What makes no sense is refused by every recipe before anything is sent, in both forms."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import math
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dynamap import KeyValueError, RequestError, Store, Table, entity
from dynamap.errors import EncodeError
from dynamap.testing import FaultPlan, memory_store, memory_store_async
from recipes import soft_delete
from recipes.aio import soft_delete as soft_delete_async

RECIPES = Path(__file__).parents[2] / "recipes" / "aio"
NOW = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
NAIVE = datetime(2026, 1, 1, 12)
NAN = float("nan")


@entity("INVOICE", pk="INVOICE#{number}", sk="INVOICE")
class Invoice:
    number: int


def note_of(recipe: Any) -> type[Any]:
    @entity("NOTE", pk="NOTE#{name}", sk="NOTE", ttl="purge_at")
    class Note(recipe.SoftDeletable):  # type: ignore[misc]
        name: str

    return Note


NOTES = {each: note_of(each) for each in (soft_delete, soft_delete_async)}
MODELS: dict[str, Callable[[ModuleType], list[type]]] = {
    "counters": lambda each: [
        each.Counter,
        each.Stock,
        each.SetTally,
        each.MarkedTally,
        each.Marker,
        each.Shards,
        each.Shard,
    ],
    "gapless_sequence": lambda each: [each.Numbered, each.NumberClaim, Invoice],
    "hilo": lambda each: [each.HiLoBlock],
    "idempotency": lambda each: [each.Answered[str], each.LeasedCall[str]],
    "optimistic_locking": lambda each: [each.Account],
    "out_of_order": lambda each: [each.LiveMatch, each.Standing],
    "outbox": lambda each: [each.OutboxEvent, each.OutboxLease],
    "soft_delete": lambda each: [NOTES[each]],
    "truncate": lambda _: [Invoice],
    "uniqueness": lambda each: [each.Registrant, each.Claim],
}

Call = Callable[[ModuleType, "Store[Any]"], Any]


def counted(recipe: ModuleType, store: Store[Any], **options: Any) -> Any:
    given = {"name": "signups", "event_id": "e", "at": NOW, "clock": NOW.timestamp, **options}
    return recipe.count_by_marker(store, **given)


def in_set(recipe: ModuleType, store: Store[Any], **options: Any) -> Any:
    given = {"name": "signups", "event_id": "e", "at": NOW, **options}
    return recipe.count_in_set(store.of(recipe.SetTally), **given)


def added(recipe: ModuleType, store: Store[Any], *given: Any, **options: Any) -> Any:
    return recipe.add(store.of(recipe.Counter), *given, **options)


def issued(recipe: ModuleType, store: Store[Any], sequence: str, order: str, **options: Any) -> Any:
    return recipe.issue(store, sequence, order, Invoice, **options)


def once(recipe: ModuleType, store: Store[Any], key: str = "k", request: object = None, **options: Any) -> Any:
    call = recipe.IdempotentTransaction(store, recipe.Answered[str], **options)
    return call.run(key, request, lambda: pytest.fail("the effect was asked for"))


def leased(recipe: ModuleType, store: Store[Any], key: str = "k", request: object = None, **options: Any) -> Any:
    call = recipe.IdempotentCall(store, recipe.LeasedCall[str], **{"lease": 10, **options})
    return call.run(key, request, lambda: pytest.fail("the body ran"))


def transferred(recipe: ModuleType, store: Store[Any], amount: Any, target: str = "b") -> Any:
    return recipe.transfer(store, amount, source="a", target=target)


def scored(recipe: ModuleType, store: Store[Any], **options: Any) -> Any:
    given = {"match": "m", "home": 1, "at": NOW, "event_id": "e", **options}
    stamp = recipe.Stamp(given["at"], given["event_id"])
    return recipe.change_score(store.of(recipe.LiveMatch), given["match"], given["home"], 0, stamp)


def removed(recipe: ModuleType, store: Store[Any], keep_for: timedelta) -> Any:
    return recipe.remove(store.of(recipe.LiveMatch), "m", recipe.Stamp(NOW, "e"), keep_for=keep_for)


def replaced(recipe: ModuleType, store: Store[Any], **options: Any) -> Any:
    given = {"team": "Bern", "points": 1, "sequence": 1, "event_id": "e", **options}
    return recipe.replace(store.of(recipe.Standing), recipe.Standing(**given))


def recorded(recipe: ModuleType, store: Store[Any], key: str = "k", sequence: Any = 1, **options: Any) -> Any:
    return recipe.record(store, key, sequence, "", **options).send()


def swept(recipe: ModuleType, store: Store[Any], bucket: Any = 0, **options: Any) -> Any:
    return recipe.Relay(store, None, **options).sweep(bucket)


def deleted(recipe: ModuleType, store: Store[Any], **options: Any) -> Any:
    return recipe.SoftRepository(store, NOTES[recipe], claims=None).delete(name="n", by="bob", **options)


def registered(recipe: ModuleType, store: Store[Any], **options: Any) -> Any:
    given = {"id": "ann", "registration": "form", "email": "a@example.org", **options}
    return recipe.register(store, recipe.Registrant(**given))


def truncated(recipe: ModuleType, store: Store[Any], **options: Any) -> Any:
    return recipe.truncate(store.of(Invoice), **{"confirm": "somewhere", **options})


CASES: list[tuple[str, Call, type[Exception], str]] = [
    ("counters", lambda recipe, store: added(recipe, store, ""), ValueError, "name= is empty"),
    (
        "counters",
        lambda recipe, store: added(recipe, store, "n", when_lost="atleast_once"),
        ValueError,
        "when_lost= is at_most_once or at_least_once; got 'atleast_once'",
    ),
    ("counters", lambda recipe, store: added(recipe, store, "n", Decimal("NaN")), EncodeError, "NaN"),
    ("counters", lambda recipe, store: added(recipe, store, "n", Decimal("Infinity")), EncodeError, "infinities"),
    ("counters", lambda recipe, store: added(recipe, store, "n", True), EncodeError, "got bool"),
    ("counters", lambda recipe, store: added(recipe, store, "n", 0.5), EncodeError, "got float"),
    ("counters", lambda recipe, store: recipe.take(store.of(recipe.Stock), "s", 0), ValueError, "one unit"),
    ("counters", lambda recipe, store: recipe.take(store.of(recipe.Stock), "s", True), EncodeError, "got bool"),
    ("counters", lambda recipe, store: recipe.put_back(store.of(recipe.Stock), "s", -1), ValueError, "one unit"),
    ("counters", lambda recipe, store: in_set(recipe, store, event_id=""), ValueError, "event_id= is empty"),
    ("counters", lambda recipe, store: in_set(recipe, store, name=""), ValueError, "name= is empty"),
    ("counters", lambda recipe, store: in_set(recipe, store, at=NAIVE), ValueError, "needs a zone"),
    ("counters", lambda recipe, store: counted(recipe, store, event_id=""), ValueError, "event_id= is empty"),
    ("counters", lambda recipe, store: counted(recipe, store, name=""), ValueError, "name= is empty"),
    ("counters", lambda recipe, store: counted(recipe, store, at=NAIVE), ValueError, "needs a zone"),
    ("counters", lambda recipe, store: counted(recipe, store, horizon=timedelta(0)), ValueError, "how late"),
    ("counters", lambda recipe, store: counted(recipe, store, horizon=-timedelta(1)), ValueError, "how late"),
    ("counters", lambda recipe, store: counted(recipe, store, deadline=NAN), ValueError, "deadline"),
    ("counters", lambda recipe, store: counted(recipe, store, deadline=-1), ValueError, "deadline"),
    ("counters", lambda recipe, store: recipe.ShardedCounter(store, ""), ValueError, "name= is empty"),
    ("counters", lambda recipe, store: recipe.ShardedCounter(store, "v").grow(0), ValueError, "one shard"),
    ("counters", lambda recipe, store: recipe.ShardedCounter(store, "v").grow(True), EncodeError, "got bool"),
    ("gapless_sequence", lambda recipe, store: issued(recipe, store, "", "order"), ValueError, "is empty"),
    ("gapless_sequence", lambda recipe, store: issued(recipe, store, "invoice", ""), ValueError, "is empty"),
    (
        "gapless_sequence",
        lambda recipe, store: issued(recipe, store, "invoice", "order", deadline=NAN),
        ValueError,
        "deadline",
    ),
    ("hilo", lambda recipe, store: recipe.create(store, ""), ValueError, "a sequence has a name"),
    ("hilo", lambda recipe, store: recipe.create(store, "n", floor=-1), ValueError, "a floor from 0 on; got 'n', -1"),
    ("hilo", lambda recipe, store: recipe.create(store, "n", floor=True), EncodeError, "got bool"),
    ("hilo", lambda recipe, store: recipe.HiLo(store, "n", 0), ValueError, "at least one number"),
    ("hilo", lambda recipe, store: recipe.HiLo(store, "n", True).next(), EncodeError, "got bool"),
    ("hilo", lambda recipe, store: recipe.HiLo(store, "n", 2.5).next(), EncodeError, "got float"),
    ("idempotency", lambda recipe, store: once(recipe, store, ""), ValueError, "the key is empty"),
    ("idempotency", lambda recipe, store: once(recipe, store, request=NOW), TypeError, "not JSON serializable"),
    ("idempotency", lambda recipe, store: once(recipe, store, horizon=599), ValueError, "a horizon is at least 600 s"),
    ("idempotency", lambda recipe, store: once(recipe, store, horizon=NAN), ValueError, "got nan s"),
    ("idempotency", lambda recipe, store: once(recipe, store, horizon=math.inf), ValueError, "got inf s"),
    ("idempotency", lambda recipe, store: leased(recipe, store, ""), ValueError, "the key is empty"),
    ("idempotency", lambda recipe, store: leased(recipe, store, lease=0), ValueError, "longer than nothing"),
    ("idempotency", lambda recipe, store: leased(recipe, store, lease=NAN), ValueError, "got nan s"),
    ("idempotency", lambda recipe, store: leased(recipe, store, lease=700, horizon=700), ValueError, "shorter than"),
    ("idempotency", lambda recipe, store: leased(recipe, store, horizon=599), ValueError, "a horizon is at least"),
    *(
        (
            "optimistic_locking",
            lambda recipe, store, amount=amount: transferred(recipe, store, amount),
            ValueError,
            f"a transfer moves a Decimal of more than nothing; got {amount!r}",
        )
        for amount in (0, True, 0.5, Decimal(0), Decimal(-1), Decimal("NaN"), Decimal("Infinity"))
    ),
    (
        "optimistic_locking",
        lambda recipe, store: transferred(recipe, store, Decimal(1), "a"),
        ValueError,
        "one account",
    ),
    ("out_of_order", lambda recipe, store: scored(recipe, store, event_id=""), ValueError, "an id"),
    ("out_of_order", lambda recipe, store: scored(recipe, store, match=""), ValueError, "match is empty"),
    (
        "out_of_order",
        lambda recipe, store: recipe.restore(store.of(recipe.LiveMatch), "", recipe.Stamp(NOW, "e")),
        ValueError,
        "match is empty",
    ),
    ("out_of_order", lambda recipe, store: replaced(recipe, store, team=""), ValueError, "a team and an id"),
    ("out_of_order", lambda recipe, store: scored(recipe, store, at=NAIVE), ValueError, "a time with a zone"),
    ("out_of_order", lambda recipe, store: scored(recipe, store, home=True), EncodeError, "got bool"),
    (
        "out_of_order",
        lambda recipe, store: removed(recipe, store, timedelta(0)),
        ValueError,
        "late; got 0:00:00",
    ),
    (
        "out_of_order",
        lambda recipe, store: removed(recipe, store, -timedelta(1)),
        ValueError,
        "late; got -1 day",
    ),
    ("out_of_order", lambda recipe, store: replaced(recipe, store, event_id=""), ValueError, "a team and an id"),
    ("out_of_order", lambda recipe, store: replaced(recipe, store, sequence=True), EncodeError, "got bool"),
    ("outbox", lambda recipe, store: recorded(recipe, store, ""), ValueError, "an event has a key"),
    ("outbox", lambda recipe, store: recorded(recipe, store, sequence=-1), ValueError, "from 0 on; got 'k', -1, 0"),
    ("outbox", lambda recipe, store: recorded(recipe, store, part=-1), ValueError, "from 0 on; got 'k', 1, -1"),
    ("outbox", lambda recipe, store: recorded(recipe, store, part=1000), KeyValueError, "3 digits"),
    ("outbox", lambda recipe, store: recorded(recipe, store, sequence=True), KeyValueError, "not bool"),
    *(
        (
            "outbox",
            lambda recipe, store, buckets=buckets: recorded(recipe, store, buckets=buckets),
            ValueError,
            f"there are 1 to 10000 buckets; got {buckets}",
        )
        for buckets in (0, -1, True, 10_001)
    ),
    ("outbox", lambda recipe, store: swept(recipe, store, -1), ValueError, "buckets are counted from 0; got -1"),
    ("outbox", lambda recipe, store: swept(recipe, store, True), KeyValueError, "not bool"),
    ("outbox", lambda recipe, store: swept(recipe, store, attempts=0), ValueError, "at least one attempt"),
    ("outbox", lambda recipe, store: swept(recipe, store, attempts=True), ValueError, "at least one attempt"),
    ("outbox", lambda recipe, store: swept(recipe, store, lease=0.0), ValueError, "got 10, 0.0 s"),
    ("outbox", lambda recipe, store: swept(recipe, store, lease=NAN), ValueError, "got 10, nan s"),
    ("soft_delete", lambda recipe, store: deleted(recipe, store, purge_after=-timedelta(1)), ValueError, "got -1 day"),
    ("truncate", lambda recipe, store: truncated(recipe, store, confirm=""), Exception, "but '' was confirmed"),
    ("truncate", lambda recipe, store: truncated(recipe, store, page_size=0), RequestError, "from 1 on; got 0"),
    ("truncate", lambda recipe, store: truncated(recipe, store, page_size=True), RequestError, "got True"),
    ("truncate", lambda recipe, store: truncated(recipe, store, resume=""), RequestError, "cursor_key"),
    ("truncate", lambda recipe, store: truncated(recipe, store, checkpoint=print), RequestError, "cursor_key"),
    ("truncate", lambda recipe, store: truncated(recipe, store, keys=int), RequestError, "a field is wanted"),
    ("uniqueness", lambda recipe, store: registered(recipe, store, id=""), ValueError, "an id and a registration"),
    ("uniqueness", lambda recipe, store: registered(recipe, store, registration=""), ValueError, "a registration"),
    ("uniqueness", lambda recipe, store: registered(recipe, store, email=" "), ValueError, "email is empty"),
    ("uniqueness", lambda recipe, store: registered(recipe, store, phones="079"), EncodeError, "a frozenset expected"),
    (
        "uniqueness",
        lambda recipe, store: recipe.find(store, "mail", "a@example.org"),
        ValueError,
        "a record is found by email, handle, phones; got 'mail'",
    ),
]


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize(
    ("name", "call", "error", "message"), CASES, ids=[f"{name}-{message}" for name, _, _, message in CASES]
)
def test_it_is_refused_before_anything_is_sent(
    name: str, call: Call, error: type[Exception], message: str, mode: str
) -> None:
    recipe = importlib.import_module(f"recipes.{'aio.' if mode == 'async' else ''}{name}")
    table = Table("somewhere", MODELS[name](recipe), ttl="ttl")
    plan = FaultPlan()

    async def in_a_loop() -> None:
        answer = call(recipe, plan.over(memory_store_async(table)))
        if inspect.isawaitable(answer):
            await answer

    def run() -> None:
        if mode == "async":
            asyncio.run(in_a_loop())
        else:
            call(recipe, plan.over(memory_store(table)))

    with pytest.raises(error) as refused:
        run()
    assert message in str(refused.value)
    assert not plan.calls


def test_every_recipe_is_here() -> None:
    assert {name for name, *_ in CASES} == set(MODELS) == {path.stem for path in RECIPES.glob("*.py")}
