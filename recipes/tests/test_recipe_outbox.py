"""How the outbox is used, and what becomes of what cannot be published; copied along with the recipe."""

from __future__ import annotations

import pytest

from dynamap import Store, Sync, Table, TransactionCanceled, entity, evolve
from dynamap.testing import memory_store
from recipes.outbox import OutboxEvent, OutboxLease, Relay, bucket_of, record


@entity("PAYMENT", pk="PAYMENT#{id}", sk="STATE", version="revision")
class Payment:
    """What the events tell of."""

    id: str
    state: str = "new"
    revision: int = 0


class Broker:
    """Takes everything but what it does not like."""

    def __init__(self, refused: str = "") -> None:
        self.refused = refused
        self.taken: list[tuple[str, str]] = []

    def publish(self, event: OutboxEvent, /) -> None:
        if event.payload == self.refused:
            msg = "no"
            raise ConnectionError(msg)
        self.taken.append((event.key, event.payload))


def move(store: Store[Sync], name: str, state: str) -> None:
    """Change a payment, and record that it was changed."""
    payments = store.of(Payment)
    payment = payments.get(id=name).send() or Payment(name)
    changed = payments.put(evolve(payment, state=state))
    store.transact(changed, record(store, name, payment.revision, state)).send()


def shop() -> Store[Sync]:
    return memory_store(Table("shop", [Payment, OutboxEvent, OutboxLease]))


def test_events_are_published_in_the_order_of_the_changes() -> None:
    store, broker = shop(), Broker()
    for state in ("new", "paid", "shipped"):
        move(store, "p1", state)
    relay = Relay(store, broker)
    while (relay.sweep(bucket_of("p1"))).published:
        pass
    assert broker.taken == [("p1", "new"), ("p1", "paid"), ("p1", "shipped")]


def test_no_event_without_its_change() -> None:
    store, broker = shop(), Broker()
    move(store, "p1", "new")
    with pytest.raises(TransactionCanceled):
        store.transact(store.of(Payment).put(Payment("p1")), record(store, "p1", 7, "never")).send()
    Relay(store, broker).sweep(bucket_of("p1"))
    assert broker.taken == [("p1", "new")]


def test_what_cannot_be_published_is_parked_until_somebody_decides() -> None:
    store, broker = shop(), Broker(refused="paid")
    for state in ("new", "paid", "shipped"):
        move(store, "p1", state)
    relay, bucket = Relay(store, broker, attempts=2), bucket_of("p1")
    sweeps = [relay.sweep(bucket) for _ in range(4)]
    assert [str(error) for sweep in sweeps for _, error in sweep.failed] == ["no", "no"]
    (parked,) = sweeps[-1].parked
    assert (parked.payload, parked.attempts) == ("paid", 2)
    assert broker.taken == [("p1", "new")]
    broker.refused = ""
    relay.retry(parked)
    relay.sweep(bucket)
    relay.sweep(bucket)
    assert broker.taken == [("p1", "new"), ("p1", "paid"), ("p1", "shipped")]


def test_a_bucket_has_one_relay_until_it_is_released() -> None:
    store, broker = shop(), Broker()
    move(store, "p1", "new")
    first, second, bucket = Relay(store, broker), Relay(store, broker), bucket_of("p1")
    assert (first.sweep(bucket)).complete
    assert not (second.sweep(bucket)).complete
    first.release(bucket)
    assert (second.sweep(bucket)).complete


def test_numbers_that_make_no_sense_are_refused() -> None:
    store = shop()
    for attempts, lease in ((0, 30.0), (10, 0.0), (10, float("nan")), (10, float("inf"))):
        with pytest.raises(ValueError, match="at least one attempt"):
            Relay(store, Broker(), attempts=attempts, lease=lease)
    with pytest.raises(ValueError, match="1 to 10000 buckets"):
        record(store, "p1", 0, "", buckets=0)


def test_a_forked_process_does_not_hold_the_lease_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    store = shop()
    broker = Broker()
    relay = Relay(store, broker)
    bucket = bucket_of("p1")
    assert (relay.sweep(bucket)).complete
    move(store, "p1", "paid")
    monkeypatch.setattr("os.getpid", lambda: -1)
    assert not (relay.sweep(bucket)).complete
    relay.release(bucket)
    assert not (Relay(store, broker).sweep(bucket)).complete
    assert broker.taken == []
