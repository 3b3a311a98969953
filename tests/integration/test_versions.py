"""Versions: what is stored by which write, and who loses a race, as other programs on the table see it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dynamap import (
    ConditionFailed,
    F,
    ItemAlreadyExists,
    ItemNotFound,
    RequestError,
    Store,
    Table,
    UnguardedWrite,
    VersionConflict,
    entity,
    evolve,
)
from dynamap.testing import FaultPlan
from tests.backends import Backend
from tests.modes import Mode, RawTable

Wait = Callable[[Any], Any]


@entity("ACCOUNT", pk="ACCOUNT#{id}", sk="BALANCE", version="revision")
class Account:
    id: str
    balance: int = 0
    revision: int = 0


@entity("NOTE", pk="NOTE#{id}", sk="NOTE")
class Note:
    id: str
    text: str = ""


KEY = ("ACCOUNT#a", "BALANCE")


class Clock:
    """A clock that moves on by hand."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.000_25

    def __call__(self) -> float:
        return self.now

    @property
    def microsecond(self) -> int:
        return int(self.now * 1_000_000)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def wait(mode: Mode) -> Wait:
    return mode.wait


@pytest.fixture
def store(mode: Mode, backend: Backend, raw: RawTable, clock: Clock) -> Store[Any]:
    return mode.connect(Table(raw.name, [Account, Note]), backend, clock=clock)


@pytest.fixture
def accounts(store: Store[Any]) -> Any:
    return store.of(Account)


def stored_version(raw: RawTable) -> int | None:
    """The version as it stands in the table, None where there is none."""
    item = raw.get(*KEY)
    assert item is not None
    return int(item["revision"]["N"]) if "revision" in item else None


def put_legacy(raw: RawTable, balance: int = 1, **attributes: Any) -> None:
    """An item as a release before versions wrote it."""
    raw.put(*KEY, _type={"S": "ACCOUNT"}, id={"S": "a"}, balance={"N": str(balance)}, **attributes)


# ---- counting


def test_a_new_item_starts_with_the_microsecond_of_the_clock(
    accounts: Any, raw: RawTable, wait: Wait, clock: Clock
) -> None:
    account = wait(accounts.put(Account("a")).send())
    assert account.revision == stored_version(raw) == clock.microsecond == 1_700_000_000_000_250


def test_a_table_may_start_with_a_small_number(mode: Mode, backend: Backend, raw: RawTable, wait: Wait) -> None:
    accounts = mode.connect(Table(raw.name, [Account], version_start=1), backend).of(Account)
    account = wait(accounts.put(Account("a")).send())
    assert account.revision == stored_version(raw) == 1
    assert wait(accounts.put(account).send()).revision == 2


def test_every_write_adds_one_and_leaves_what_was_passed_unchanged(
    accounts: Any, raw: RawTable, wait: Wait, clock: Clock
) -> None:
    balance = F(Account.balance)
    first = wait(accounts.put(Account("a", 1)).send())
    start = first.revision
    clock.now += 3600
    writes: list[Callable[[Account], Any]] = [
        accounts.put,
        lambda account: accounts.put(account).if_exists(),
        lambda account: accounts.update(account).to(evolve(account, balance=5)),
        lambda account: accounts.update(account).to(evolve(account)),
        lambda account: accounts.update(account).set(balance, 6),
        lambda account: accounts.update(account).add(balance, 6),
        lambda account: accounts.update(id="a").if_version(account.revision).remove(balance),
        lambda account: accounts.update(id="a").ignore_version().set(balance, 8),
    ]
    account = first
    for number, write in enumerate(writes, start=1):
        before = evolve(account)
        stored = wait(write(account).send())
        assert account == before
        assert stored.revision == stored_version(raw) == start + number
        assert wait(accounts.get(id="a").send()) == stored
        account = stored
    assert wait(accounts.put(account).returning_old().send()) == account
    assert stored_version(raw) == account.revision + 1
    assert first == Account("a", 1, start)


def test_a_returned_version_is_the_new_one(accounts: Any, wait: Wait) -> None:
    account = wait(accounts.put(Account("a", 1)).send())
    update = accounts.update(account).add(F(Account.balance), 2)
    assert wait(update.returning(F(Account.revision), F(Account.balance)).send()) == (account.revision + 1, 3)
    again = accounts.update(id="a").ignore_version().add(F(Account.balance), 2)
    assert wait(again.returning_old().send()) == Account("a", 3, account.revision + 1)


# ---- conflicts


STALE = [
    pytest.param(lambda accounts, old: accounts.put(old), id="put"),
    pytest.param(lambda accounts, old: accounts.put(old).if_exists(), id="replace"),
    pytest.param(lambda accounts, old: accounts.update(old).to(evolve(old, balance=9)), id="rewrite"),
    pytest.param(lambda accounts, old: accounts.update(old).to(evolve(old)), id="rewrite of nothing"),
    pytest.param(lambda accounts, old: accounts.update(old).add(F(Account.balance), 9), id="update"),
    pytest.param(
        lambda accounts, old: accounts.update(id="a").if_version(old.revision).add(F(Account.balance), 9),
        id="keyed update",
    ),
    pytest.param(lambda accounts, old: accounts.delete(old), id="delete"),
    pytest.param(lambda accounts, old: accounts.delete(id="a").if_version(old.revision), id="keyed delete"),
    pytest.param(lambda accounts, old: accounts.delete(old).if_exists(), id="delete of what must exist"),
    pytest.param(lambda accounts, old: accounts.put(old).returning_old(), id="put that answers the old item"),
    pytest.param(lambda accounts, old: accounts.delete(old).returning_old(), id="delete that answers the old item"),
]


@pytest.mark.parametrize("stale", STALE)
def test_a_stale_writer_loses_and_sees_what_is_stored(
    accounts: Any, raw: RawTable, wait: Wait, stale: Callable[..., Any]
) -> None:
    old = wait(accounts.put(Account("a", 1)).send())
    newer = wait(accounts.update(old).to(evolve(old, balance=2)).send())
    item = raw.get(*KEY)
    for finish in ("send", "try_send"):
        with pytest.raises(VersionConflict) as caught:
            wait(getattr(stale(accounts, old), finish)())
        assert caught.value.seen == newer
    assert raw.get(*KEY) == item


@pytest.mark.parametrize("stale", STALE)
def test_a_guarded_write_of_what_is_gone_is_a_conflict_that_saw_nothing(
    accounts: Any, raw: RawTable, wait: Wait, stale: Callable[..., Any]
) -> None:
    old = wait(accounts.put(Account("a", 1)).send())
    raw.delete(*KEY)
    for finish in ("send", "try_send"):
        with pytest.raises(VersionConflict) as caught:
            wait(getattr(stale(accounts, old), finish)())
        assert caught.value.seen is None
    assert raw.get(*KEY) is None


@pytest.mark.parametrize("stale", STALE)
def test_a_stale_writer_loses_to_an_item_that_was_deleted_and_made_again(
    accounts: Any, raw: RawTable, wait: Wait, clock: Clock, stale: Callable[..., Any]
) -> None:
    old = wait(accounts.put(Account("a", 1)).send())
    wait(accounts.delete(old).send())
    clock.now += 0.001
    again = wait(accounts.put(Account("a", 7)).send())
    assert again.revision > old.revision
    with pytest.raises(VersionConflict) as caught:
        wait(stale(accounts, old).send())
    assert caught.value.seen == again
    assert stored_version(raw) == again.revision


def test_a_new_item_over_a_live_one_is_a_conflict_and_a_create_finds_it(
    accounts: Any, raw: RawTable, wait: Wait
) -> None:
    live = wait(accounts.put(Account("a", 1)).send())
    with pytest.raises(VersionConflict) as conflict:
        wait(accounts.put(Account("a", 2)).send())
    assert conflict.value.seen == live
    with pytest.raises(VersionConflict):
        wait(accounts.put(Account("a", 2)).try_send())
    with pytest.raises(ItemAlreadyExists) as exists:
        wait(accounts.put(Account("a", 2)).if_not_exists().send())
    assert exists.value.seen == live
    assert wait(accounts.get(id="a").send()) == live


def test_a_guarded_delete_deletes_the_version_that_was_read(accounts: Any, raw: RawTable, wait: Wait) -> None:
    account = wait(accounts.put(Account("a", 1)).send())
    assert wait(accounts.delete(account).returning_old().send()) == account
    assert raw.get(*KEY) is None


# ---- items without a version


LEGACY = [
    pytest.param({}, id="without a version"),
    pytest.param({"revision": {"N": "0"}}, id="with version 0"),
]
LEGACY_WRITES = [
    pytest.param(lambda accounts, old: accounts.put(old), 1, id="put"),
    pytest.param(lambda accounts, old: accounts.put(old).if_exists(), 1, id="replace"),
    pytest.param(lambda accounts, old: accounts.update(old).to(evolve(old, balance=3)), 3, id="rewrite"),
    pytest.param(lambda accounts, old: accounts.update(old).to(evolve(old)), 1, id="rewrite of nothing"),
    pytest.param(lambda accounts, old: accounts.update(old).add(F(Account.balance), 4), 5, id="update"),
    pytest.param(
        lambda accounts, old: accounts.update(id="a").if_version(-1).set(F(Account.balance), 6), 6, id="keyed update"
    ),
    pytest.param(
        lambda accounts, old: accounts.update(id="a").ignore_version().add(F(Account.balance), 7),
        8,
        id="update of any version",
    ),
]


@pytest.mark.parametrize("attributes", LEGACY)
@pytest.mark.parametrize(("write", "balance"), LEGACY_WRITES)
def test_a_legacy_item_reads_as_minus_one_and_starts_afresh(
    accounts: Any,
    raw: RawTable,
    wait: Wait,
    clock: Clock,
    attributes: dict[str, Any],
    write: Callable[..., Any],
    balance: int,
) -> None:
    put_legacy(raw, **attributes)
    legacy = wait(accounts.get(id="a").send())
    assert legacy == Account("a", 1, -1)
    stored = wait(write(accounts, legacy).send())
    assert stored == Account("a", balance, clock.microsecond)
    assert stored_version(raw) == clock.microsecond
    assert wait(accounts.get(id="a").send()) == stored


@pytest.mark.parametrize("attributes", LEGACY)
def test_a_legacy_item_can_be_deleted(accounts: Any, raw: RawTable, wait: Wait, attributes: dict[str, Any]) -> None:
    put_legacy(raw, **attributes)
    legacy = wait(accounts.get(id="a").send())
    wait(accounts.delete(legacy).send())
    assert raw.get(*KEY) is None


GUARDED = [
    pytest.param(lambda accounts, old: accounts.put(old), id="put"),
    pytest.param(lambda accounts, old: accounts.update(old).to(evolve(old, balance=3)), id="rewrite"),
    pytest.param(lambda accounts, old: accounts.update(old).add(F(Account.balance), 4), id="update"),
    pytest.param(lambda accounts, old: accounts.delete(old), id="delete"),
]


@pytest.mark.parametrize("attributes", LEGACY)
@pytest.mark.parametrize("write", GUARDED)
def test_a_legacy_item_that_is_gone_or_was_versioned_meanwhile_is_a_conflict(
    accounts: Any, raw: RawTable, wait: Wait, attributes: dict[str, Any], write: Callable[..., Any]
) -> None:
    put_legacy(raw, **attributes)
    legacy = wait(accounts.get(id="a").send())
    raw.delete(*KEY)
    with pytest.raises(VersionConflict) as caught:
        wait(write(accounts, legacy).send())
    assert caught.value.seen is None
    assert raw.get(*KEY) is None
    put_legacy(raw, revision={"N": "17"})
    with pytest.raises(VersionConflict) as caught:
        wait(write(accounts, legacy).send())
    assert caught.value.seen == Account("a", 1, 17)
    assert stored_version(raw) == 17


@pytest.mark.parametrize("attributes", LEGACY)
def test_a_new_item_over_a_legacy_one_is_a_conflict(
    accounts: Any, raw: RawTable, wait: Wait, attributes: dict[str, Any]
) -> None:
    put_legacy(raw, **attributes)
    with pytest.raises(VersionConflict) as caught:
        wait(accounts.put(Account("a")).send())
    assert caught.value.seen == Account("a", 1, -1)


# ---- keyed writes


def test_a_keyed_write_says_what_it_knows_of_the_version(mode: Mode, embedded_backend: Backend, wait: Wait) -> None:
    plan = FaultPlan()
    accounts = plan.over(mode.connect(Table("unsent", [Account, Note]), embedded_backend)).of(Account)
    for write in (
        accounts.update(id="a").set(F(Account.balance), 1),
        accounts.update(id="a").set(F(Account.balance), 1).if_(F(Account.revision).eq(3)),
        accounts.update(id="a").set(F(Account.balance), 1).returning_old(),
        accounts.delete(id="a"),
        accounts.delete(id="a").if_exists(),
    ):
        with pytest.raises(UnguardedWrite, match=r"if_version.*ignore_version"):
            wait(write.send())
        with pytest.raises(UnguardedWrite):
            write.params()
    assert plan.calls == []


@pytest.mark.parametrize("version", [0, -2, True, "3", 3.0, None])
def test_a_version_that_no_item_has_is_refused(mode: Mode, embedded_backend: Backend, version: Any) -> None:
    accounts = mode.connect(Table("unsent", [Account]), embedded_backend).of(Account)
    with pytest.raises(RequestError):
        accounts.update(id="a").if_version(version)
    with pytest.raises(RequestError):
        accounts.delete(id="a").if_version(version)


def test_versions_of_a_type_without_them_are_refused(mode: Mode, embedded_backend: Backend) -> None:
    notes = mode.connect(Table("unsent", [Note]), embedded_backend).of(Note)
    with pytest.raises(RequestError, match="version"):
        notes.update(id="n").if_version(1)
    with pytest.raises(RequestError, match="version"):
        notes.delete(id="n").ignore_version()


def test_an_item_that_was_never_stored_cannot_be_updated_or_deleted(mode: Mode, embedded_backend: Backend) -> None:
    accounts = mode.connect(Table("unsent", [Account]), embedded_backend).of(Account)
    with pytest.raises(RequestError, match="never stored"):
        accounts.update(Account("a"))
    with pytest.raises(RequestError, match="never stored"):
        accounts.delete(Account("a"))


def test_put_refuses_an_existence_that_contradicts_the_version(mode: Mode, embedded_backend: Backend) -> None:
    accounts = mode.connect(Table("unsent", [Account]), embedded_backend).of(Account)
    with pytest.raises(RequestError, match="contradicts"):
        accounts.put(Account("a")).if_exists().params()
    with pytest.raises(RequestError, match="contradicts"):
        accounts.put(Account("a", revision=3)).if_not_exists().params()
    with pytest.raises(RequestError, match="contradicts"):
        accounts.put(Account("a", revision=-1)).if_not_exists().params()


def test_ignoring_the_version_never_lowers_it(accounts: Any, raw: RawTable, wait: Wait, clock: Clock) -> None:
    # ahead of the clock, as another machine's clock may have been
    put_legacy(raw, revision={"N": str(clock.microsecond + 500)})
    update = accounts.update(id="a").ignore_version().set(F(Account.balance), 2)
    assert wait(update.send()).revision == clock.microsecond + 501
    put_legacy(raw, revision={"N": "1"})
    assert wait(update.send()).revision == stored_version(raw) == 2


def test_ignoring_the_version_of_what_is_not_there(accounts: Any, raw: RawTable, wait: Wait) -> None:
    with pytest.raises(ItemNotFound) as caught:
        wait(accounts.update(id="a").ignore_version().add(F(Account.balance), 1).send())
    assert caught.value.key == {"id": "a"}
    wait(accounts.delete(id="a").ignore_version().send())
    with pytest.raises(ItemNotFound):
        wait(accounts.delete(id="a").ignore_version().if_exists().send())
    assert raw.get(*KEY) is None


def test_ignoring_the_version_deletes_any(accounts: Any, raw: RawTable, wait: Wait) -> None:
    for attributes in ({}, {"revision": {"N": "0"}}, {"revision": {"N": "17"}}):
        put_legacy(raw, **attributes)
        wait(accounts.delete(id="a").ignore_version().send())
        assert raw.get(*KEY) is None


@pytest.mark.parametrize("attributes", [*LEGACY, pytest.param({"revision": {"N": "17"}}, id="with a version")])
def test_a_condition_beside_an_ignored_version_is_the_callers(
    accounts: Any, raw: RawTable, wait: Wait, attributes: dict[str, Any]
) -> None:
    put_legacy(raw, **attributes)
    item = raw.get(*KEY)
    update = accounts.update(id="a").ignore_version().add(F(Account.balance), 1).if_(F(Account.balance).ge(5))
    with pytest.raises(ConditionFailed) as caught:
        wait(update.send())
    assert type(caught.value) is ConditionFailed
    assert caught.value.seen == wait(accounts.get(id="a").send())
    assert raw.get(*KEY) == item


# ---- other writers at the wrong moment


def test_a_legacy_item_that_is_versioned_while_its_version_is_ignored(
    store: Store[Any], raw: RawTable, wait: Wait
) -> None:
    put_legacy(raw, revision={"N": "0"})
    for number in (2, 3, 4):
        # before the repetition that starts afresh; servers that send no item are asked for it first
        plan = FaultPlan(before={number: lambda: put_legacy(raw, 5, revision={"N": "17"})})
        put_legacy(raw, 5, revision={"N": "0"})
        accounts = plan.over(store).of(Account)
        stored = wait(accounts.update(id="a").ignore_version().add(F(Account.balance), 1).send())
        assert stored.balance == 6
        assert stored.revision == stored_version(raw)
        assert len(plan.calls) < number or stored.revision == 18


def test_a_legacy_item_that_is_deleted_while_its_version_is_ignored(
    store: Store[Any], raw: RawTable, wait: Wait
) -> None:
    for number in (2, 3):
        plan = FaultPlan(before={number: lambda: raw.delete(*KEY)})
        put_legacy(raw, revision={"N": "0"})
        accounts = plan.over(store).of(Account)
        update = accounts.update(id="a").ignore_version().add(F(Account.balance), 1)
        try:
            stored = wait(update.send())
        except ItemNotFound:
            assert raw.get(*KEY) is None
        else:
            assert len(plan.calls) < number
            assert stored_version(raw) == stored.revision


@pytest.mark.not_on("embedded", "ministack", reason="a failed condition brings its item there: there is no second look")
def test_an_item_that_is_gone_at_the_second_look_was_there_at_the_first(
    store: Store[Any], raw: RawTable, wait: Wait
) -> None:
    wait(store.of(Account).put(Account("a")).send())
    accounts = FaultPlan(before={2: lambda: raw.delete(*KEY)}).over(store).of(Account)
    with pytest.raises(VersionConflict) as conflict:
        wait(accounts.put(Account("a", 2)).send())
    assert conflict.value.seen is None
    wait(store.of(Account).put(Account("a")).send())
    accounts = FaultPlan(before={2: lambda: raw.delete(*KEY)}).over(store).of(Account)
    with pytest.raises(ItemAlreadyExists) as exists:
        wait(accounts.put(Account("a", 2)).if_not_exists().send())
    assert exists.value.seen is None


@pytest.mark.not_on("embedded", "ministack", reason="a failed condition brings its item there: there is no second look")
def test_an_item_that_is_there_at_the_second_look_was_missing_at_the_first(
    store: Store[Any], raw: RawTable, wait: Wait
) -> None:
    def others_note() -> None:
        raw.put("NOTE#n", "NOTE", _type={"S": "NOTE"}, id={"S": "n"}, text={"S": "x"})

    for write in (
        lambda notes: notes.update(id="n").set(F(Note.text), "y").send(),
        lambda notes: notes.update(id="n").set(F(Note.text), "y").try_send(),
        lambda notes: notes.put(Note("n")).if_exists().send(),
        lambda notes: notes.delete(id="n").if_exists().send(),
    ):
        raw.delete("NOTE#n", "NOTE")
        notes = FaultPlan(before={2: others_note}).over(store).of(Note)
        with pytest.raises(ItemNotFound):
            wait(write(notes))


@pytest.mark.not_on("embedded", "ministack", reason="a failed condition brings its item there: there is no second look")
def test_a_version_that_is_back_at_the_second_look_had_been_another(
    store: Store[Any], raw: RawTable, wait: Wait
) -> None:
    account = wait(store.of(Account).put(Account("a", 1)).send())
    item = raw.get(*KEY)
    assert item is not None
    raw.put(*KEY, **{**item, "revision": {"N": "5"}})
    # an old copy of the item is restored: whatever stands there now, the write was refused by its version
    accounts = FaultPlan(before={2: lambda: raw.put(*KEY, **item)}).over(store).of(Account)
    with pytest.raises(VersionConflict):
        wait(accounts.update(account).to(evolve(account, balance=2)).send())
