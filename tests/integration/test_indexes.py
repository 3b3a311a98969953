"""Every write leaves an item in the indexes where it belongs, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynamap import (
    Applied,
    ConditionFailed,
    F,
    Refused,
    Repository,
    RequestError,
    Store,
    Sync,
    VersionConflict,
    connect,
    evolve,
    retry_on_conflict,
)
from tests.backends import Backend
from tests.depth import how_many
from tests.indexed import Case, Chore, Desks, Plain, Ticket, expected, found, later

Repo = Repository[Sync, Any]


@pytest.fixture
def desks(backend: Backend, table_name: str) -> Iterator[Store[Sync]]:
    """The table with its indexes."""
    store = connect(Desks, client=backend.client).with_name(table_name)
    store.create_table()
    yield store
    store.delete_table()


def stored(client: Any, name: str) -> dict[str, Any] | None:
    """The only item, as other programs see it."""
    items: list[dict[str, Any]] = client.scan(TableName=name, ConsistentRead=True)["Items"]
    return items[0] if items else None


def in_index(client: Any, table: str, index: str) -> int:
    return len(client.scan(TableName=table, IndexName=index)["Items"])


# ---- random writes

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "owner": st.sampled_from([None, "ann", "o#"]),
    "status": st.sampled_from(["open", "closed"]),
    "rank": st.integers(0, 12),
    "at": st.integers(0, 3).map(later),
    "place": st.sampled_from([None, "here", "there"]),
    "label": st.sampled_from([None, "x", "y#"]),
    "due": st.sampled_from([None, later(0), later(5)]),
    "count": st.integers(0, 3),
}
Change = dict[str, Any]


def changes_of(names: list[str], most: int) -> st.SearchStrategy[Change]:
    """Values of some of these fields."""
    chosen = st.lists(st.sampled_from(names), min_size=1, max_size=most, unique=True)
    return chosen.flatmap(lambda taken: st.fixed_dictionaries({name: VALUES[name] for name in taken}))


# those that the conditions of indexes speak of come oftener than the others
CHANGES = changes_of(["status", "place", "count"], 1) | changes_of(sorted(VALUES), 3)


@attrs.frozen
class Step:
    """A write: its kind, what it changes, and whether it says what the other fields hold."""

    kind: str
    changes: Change
    tells: bool


STEPS = st.lists(
    st.builds(
        Step,
        st.sampled_from(["put", "to", "to", "set", "remove", "remove", "add", "missing", "upsert", "delete"]),
        CHANGES,
        st.booleans(),
    ),
    min_size=1,
    max_size=8,
)


def write(repository: Repo, cls: type[Any], step: Step, raw: dict[str, Any] | None) -> None:
    """Send it, where *raw* is stored; one that could not leave the indexes right is refused."""
    key = {"desk": "d", "id": "1"}
    item = repository.get(**key).strongly_consistent().send()
    if step.kind == "put" or (item is None and step.kind != "upsert"):
        base = item if item is not None and step.tells else cls(**key)
        version = {} if item is None or cls is Ticket else {"revision": item.revision}
        repository.put(attrs.evolve(base, **step.changes, **version)).send()
    elif step.kind == "upsert":
        operation = repository.upsert(**key).set_fields(step.changes)
        send(operation if cls is Ticket else operation.ignore_version(), item, step, raw)
    elif step.kind == "to":
        repository.update(item).to(attrs.evolve(item, **step.changes)).send()
    elif step.kind == "delete":
        repository.delete(item).send()
    else:
        reads = step.tells and cls is not Ticket
        update: Any = repository.update(item) if reads else repository.update(**key)
        if not reads and cls is not Ticket:
            update = update.ignore_version()
        send(changed(update, cls, step), item, step, raw)


def changed(update: Any, cls: type[Any], step: Step) -> Any:
    names = list(step.changes)
    if step.kind == "remove":
        return update.remove(*[F(cls, lambda x, name=name: getattr(x, name)) for name in names])
    if step.kind == "add":
        name = "rank" if "rank" in names else "count"
        return update.add(F(cls, lambda x: getattr(x, name)), 1)
    if step.kind == "missing":
        for name, value in step.changes.items():
            if value is not None:
                update = update.set_if_missing(F(cls, lambda x, name=name: getattr(x, name)), value)
        return update.set(F(cls, lambda x: x.count), 1) if all(v is None for v in step.changes.values()) else update
    return update.set_fields(step.changes)


def send(operation: Any, item: Any, step: Step, raw: dict[str, Any] | None) -> None:
    try:
        if step.tells and item is not None and operation._version_guard is None:
            others = [name for name in VALUES if name not in step.changes]
            operation = operation.given(**{name: getattr(item, name) for name in others})
        operation.params()
    except RequestError:
        assert not (step.kind == "set" and step.tells)
        return
    try:
        operation.send()
    except ConditionFailed:
        # what was told is the item as it is read, but a condition of an index is one on what is stored
        assert operation._given
        assert raw is not None
        assert "status" not in raw


@pytest.mark.slow
@pytest.mark.deep
@pytest.mark.parametrize("cls", [Ticket, Case, Chore])
@settings(
    max_examples=how_many(quick=15, deep=60),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=STEPS)
def test_after_any_writes_the_index_attributes_are_as_the_item_makes_them(
    desks: Store[Sync], client: Any, table_name: str, cls: type[Any], steps: list[Step]
) -> None:
    repository: Repo = desks.of(cls)
    raw = stored(client, table_name)
    if raw is not None:
        client.delete_item(TableName=table_name, Key={name: raw[name] for name in ("pk", "sk")})
        raw = None
    for step in steps:
        write(repository, cls, step, raw)
        raw = stored(client, table_name)
        if raw is not None:
            assert found(raw) == expected(raw), step


# ---- what each kind of write does

FULL = Ticket("d", "1", owner="ann", rank=3, at=later(1), place="here", label="x", due=later(0))
INDEXES = ("owner", "open", "place", "seconds", "local")
NAMES = {"owner", "open", "place", "seconds", "local"}


def memberships(client: Any, table: str) -> set[str]:
    return {index for index in INDEXES if in_index(client, table, index)}


def test_an_item_is_in_the_indexes_whose_components_it_has(desks: Store[Sync], client: Any, table_name: str) -> None:
    tickets = desks.of(Ticket)
    tickets.put(FULL).send()
    assert memberships(client, table_name) == NAMES
    item = stored(client, table_name)
    assert item is not None
    # the epoch is a time like any other
    assert item["secondssk"] == {"N": "0"}
    tickets.put(Ticket("d", "1")).send()
    assert memberships(client, table_name) == set()
    tickets.update(desk="d", id="1").set(F(Ticket.place), "there").given(status="open", rank=0).send()
    assert memberships(client, table_name) == {"open", "place"}
    tickets.update(desk="d", id="1").set(F(Ticket.status), "closed").given(place="there", rank=0, at=later(0)).send()
    assert memberships(client, table_name) == {"place"}
    tickets.update(desk="d", id="1").remove(F(Ticket.place)).given(status="closed").send()
    assert memberships(client, table_name) == set()
    tickets.update(desk="d", id="1").set(F(Ticket.owner), "ann").send()
    assert memberships(client, table_name) == {"owner"}
    tickets.update(desk="d", id="1").set(F(Ticket.owner), None).send()
    assert memberships(client, table_name) == set()
    tickets.delete(desk="d", id="1").send()
    assert stored(client, table_name) is None


def test_an_update_of_something_else_leaves_the_indexes_alone(desks: Store[Sync], client: Any, table_name: str) -> None:
    tickets = desks.of(Ticket)
    tickets.put(FULL).send()
    update = tickets.update(desk="d", id="1").add(F(Ticket.count), 1)
    assert set(update.params()["ExpressionAttributeNames"].values()) == {"count", "pk"}
    update.send()
    assert memberships(client, table_name) == NAMES


def test_an_upsert_that_creates_writes_every_index_key(desks: Store[Sync], client: Any, table_name: str) -> None:
    tickets = desks.of(Ticket)
    upsert = tickets.upsert(desk="d", id="1").set(F(Ticket.owner), "ann").set(F(Ticket.status), "closed")
    # nothing is known of an item that may exist
    with pytest.raises(RequestError, match="cannot be known without at: set it too"):
        upsert.send()
    upsert = upsert.set(F(Ticket.at), later(7)).set(F(Ticket.rank), 1).set(F(Ticket.place), "here")
    upsert.send()
    item = stored(client, table_name)
    assert item is not None
    assert found(item) == expected(item)
    assert memberships(client, table_name) == {"owner", "place"}


def test_an_upsert_that_changes_keeps_the_index_keys_of_the_item(
    desks: Store[Sync], client: Any, table_name: str
) -> None:
    tickets = desks.of(Plain)
    tickets.put(Plain("1", status="closed", label="x")).send()
    tickets.upsert(id="1").set(F(Plain.count), 5).send()
    tickets.upsert(id="2").set(F(Plain.count), 5).send()
    items = {item["id"]["S"]: item for item in client.scan(TableName=table_name)["Items"]}
    assert items["1"]["ownerpk"] == {"S": "closed"}
    assert items["1"]["ownersk"] == {"S": "x"}
    assert items["2"]["ownerpk"] == {"S": "open"}
    assert "ownersk" not in items["2"]
    tickets.upsert(id="2").set_if_missing(F(Plain.label), "y").send()
    tickets.upsert(id="1").set_if_missing(F(Plain.label), "y").send()
    items = {item["id"]["S"]: item for item in client.scan(TableName=table_name)["Items"]}
    assert [items[number]["ownersk"]["S"] for number in "12"] == ["x", "y"]


@pytest.fixture
def race(desks: Store[Sync]) -> Callable[[], Ticket]:
    """A ticket that was read, and that another writer has changed since."""

    def start() -> Ticket:
        tickets = desks.of(Ticket)
        tickets.put(FULL).send()
        read = tickets.get(desk="d", id="1").strongly_consistent().required().send()
        tickets.update(read).to(evolve(read, status="closed")).send()
        return read

    return start


def test_a_difference_is_not_written_over_another_components_change(
    desks: Store[Sync], client: Any, table_name: str, race: Callable[[], Ticket]
) -> None:
    tickets, read = desks.of(Ticket), race()
    with pytest.raises(VersionConflict) as error:
        tickets.update(read).to(evolve(read, at=later(9))).send()
    assert str(error.value) == (
        "update of Ticket desk='d', id='1': status is no longer as it was read, and part of an index; nothing was "
        "written: read it again, as retry_on_conflict does"
    )
    seen = error.value.seen
    assert isinstance(seen, Ticket)
    assert seen.status == "closed"

    @retry_on_conflict
    def postpone() -> None:
        now = tickets.get(desk="d", id="1").strongly_consistent().required().send()
        tickets.update(now).to(evolve(now, at=later(9))).send()

    postpone()
    item = stored(client, table_name)
    assert item is not None
    assert found(item) == expected(item)
    # what is part of no index is written whatever else changed
    tickets.update(read).to(evolve(read, count=9)).send()


def test_what_was_said_of_the_item_must_be_true(desks: Store[Sync], race: Callable[[], Ticket]) -> None:
    tickets = desks.of(Ticket)
    race()
    update = tickets.update(desk="d", id="1").set(F(Ticket.at), later(9))
    with pytest.raises(ConditionFailed):
        update.given(status="open").send()
    assert isinstance(update.given(status="open").try_send(), Refused)
    assert isinstance(update.given(status="closed").try_send(), Applied)


def test_a_version_guards_what_the_keys_are_made_of(desks: Store[Sync], client: Any, table_name: str) -> None:
    cases = desks.of(Case)
    case = cases.put(Case("d", "1", owner="ann", place="here")).send()
    params = cases.update(case).set(F(Case.at), later(4)).params()
    assert "ownersk" in params["ExpressionAttributeNames"].values()
    newer = cases.update(case).set(F(Case.at), later(4)).send()
    item = stored(client, table_name)
    assert item is not None
    assert found(item) == expected(item)
    assert item["_v"] == {"N": str(newer.revision)}
    with pytest.raises(VersionConflict):
        cases.update(case).set(F(Case.status), "closed").send()
    with pytest.raises(RequestError, match="cannot be known without status"):
        cases.update(newer).ignore_version().set(F(Case.at), later(4)).send()
    ignoring = cases.update(newer).to(evolve(newer, at=later(8))).ignore_version()
    assert "status" in ignoring.params()["ExpressionAttributeNames"].values()


@pytest.mark.parametrize("cls", [Ticket, Case])
def test_a_default_that_is_only_read_is_stored_before_a_condition_holds_of_it(
    desks: Store[Sync], client: Any, table_name: str, cls: type[Any]
) -> None:
    repository: Repo = desks.of(cls)
    item = repository.put(cls("d", "1", rank=2)).send()
    status, place = F(cls, lambda x: x.status), F(cls, lambda x: x.place)
    keyed: Any = repository.update(desk="d", id="1")
    keyed = keyed if cls is Ticket else keyed.if_version(item.revision)
    read = keyed.remove(status).given(at=item.at, place=None).send()
    assert read.status == "open"
    keyed = keyed if cls is Ticket else keyed.if_version(read.revision)
    with pytest.raises(ConditionFailed, match="status is only read as given"):
        keyed.set(place, "here").given(status="open", rank=2).send()
    assert in_index(client, table_name, "open") == 0
    # what is in the index is what a scan with its condition finds
    operation = repository.update(read).to(evolve(read, place="here"))
    assert repository.scan().filter(status.eq("open")).send() == []
    assert operation.send().status == "open"
    assert len(repository.scan().filter(status.eq("open") & place.exists()).send()) == 1
    raw = stored(client, table_name)
    assert raw is not None
    assert found(raw) == expected(raw)
    assert raw["opensk"] == {"S": "002"}


def test_an_item_of_before_a_field_existed_reads_as_its_default(
    desks: Store[Sync], client: Any, table_name: str
) -> None:
    tickets = desks.of(Ticket)
    client.put_item(
        TableName=table_name,
        Item={
            **tickets.put(Ticket("d", "1")).params()["Item"],
            "owner": {"S": "ann"},
        },
    )
    client.update_item(
        TableName=table_name,
        Key={"pk": {"S": "DESK#d"}, "sk": {"S": "TICKET#1"}},
        UpdateExpression="REMOVE #s",
        ExpressionAttributeNames={"#s": "status"},
    )
    read = tickets.get(desk="d", id="1").required().send()
    tickets.update(read).to(evolve(read, at=later(3))).send()
    tickets.update(desk="d", id="1").set(F(Ticket.at), later(4)).given(status="open").send()
    item = stored(client, table_name)
    assert item is not None
    assert item["ownersk"] == {"S": f"open#{later(4).isoformat(timespec='microseconds')[:-6]}Z"}
