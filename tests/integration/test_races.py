"""Races on real servers: no deposit is lost or doubled, and of many creators one wins."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from dynamap import (
    ConditionFailed,
    F,
    ItemAlreadyExists,
    ItemNotFound,
    Store,
    Table,
    VersionConflict,
    entity,
    evolve,
    retry_on_conflict,
)
from tests.backends import Backend
from tests.depth import how_many
from tests.modes import Mode, RawTable

WRITERS = 8
DEPOSITS = 5
ATTEMPTS = 200


@entity("ACCOUNT", pk="ACCOUNT#{id}", sk="BALANCE", version="revision")
class Account:
    id: str
    balance: int = 0
    revision: int = 0


@entity("STOCK", pk="STOCK#{sku}", sk="STOCK")
class Stock:
    sku: str
    count: int = 0


KEY = ("ACCOUNT#a", "BALANCE")


class Meeting:
    """The first run of each writer waits here between its read and its write, so that all of them read the same."""

    def __init__(self, parties: int) -> None:
        self._barrier = threading.Barrier(parties, timeout=60)
        self._missing = parties
        self._complete = asyncio.Event()

    def wait(self) -> None:
        self._barrier.wait()

    async def wait_async(self) -> None:
        self._missing -= 1
        if not self._missing:
            self._complete.set()
        await asyncio.wait_for(self._complete.wait(), 60)


@pytest.fixture
def store(mode: Mode, backend: Backend, raw: RawTable) -> Store[Any]:
    return mode.connect(Table(raw.name, [Account, Stock]), backend)


def together(
    mode: Mode, plain: Callable[[int], Any], awaited: Callable[[int], Awaitable[Any]], writers: int = WRITERS
) -> list[Any]:
    """Run one of these for each writer, in threads or in tasks, and answer what they answer."""

    async def run(number: int) -> Any:
        return await awaited(number)

    if mode.is_async:
        return mode.gather(*(run(number) for number in range(writers)))
    with ThreadPoolExecutor(writers) as threads:
        return list(threads.map(plain, range(writers)))


def test_deposits_add_up_exactly(store: Store[Any], mode: Mode, raw: RawTable) -> None:
    accounts = store.of(Account)
    start = mode.wait(accounts.put(Account("a")).send()).revision
    meeting, conflicts = Meeting(WRITERS), []

    def deposits(number: int) -> int:
        first = True

        @retry_on_conflict(attempts=ATTEMPTS, sleep=lambda seconds: None)
        def deposit() -> Account:
            nonlocal first
            account = accounts.get(id="a").required().send()
            if first:
                first = False
                meeting.wait()
            try:
                return accounts.update(account).to(evolve(account, balance=account.balance + 1)).send()
            except VersionConflict:
                conflicts.append(number)
                raise

        return len([deposit() for _ in range(DEPOSITS)])

    async def deposits_in_tasks(number: int) -> int:
        first = True

        @retry_on_conflict(attempts=ATTEMPTS, sleep=yield_to_others)
        async def deposit() -> Account:
            nonlocal first
            account = await accounts.get(id="a").required().send()
            if first:
                first = False
                await meeting.wait_async()
            try:
                return await accounts.update(account).to(evolve(account, balance=account.balance + 1)).send()
            except VersionConflict:
                conflicts.append(number)
                raise

        return len([await deposit() for _ in range(DEPOSITS)])

    assert together(mode, deposits, deposits_in_tasks) == [DEPOSITS] * WRITERS
    account = mode.wait(accounts.get(id="a").send())
    assert account == Account("a", WRITERS * DEPOSITS, start + WRITERS * DEPOSITS)
    assert raw.get(*KEY)["balance"] == {"N": str(WRITERS * DEPOSITS)}
    # all of them read before anybody wrote: all but one had to read again
    assert len(conflicts) >= WRITERS - 1


async def yield_to_others(seconds: float) -> None:
    await asyncio.sleep(0)


def test_without_a_retry_all_but_one_lose(store: Store[Any], mode: Mode) -> None:
    accounts = store.of(Account)
    account = mode.wait(accounts.put(Account("a")).send())

    def write(number: int) -> bool:
        try:
            accounts.update(account).to(evolve(account, balance=number + 1)).send()
        except VersionConflict:
            return False
        return True

    async def write_in_task(number: int) -> bool:
        try:
            await accounts.update(account).to(evolve(account, balance=number + 1)).send()
        except VersionConflict:
            return False
        return True

    won = together(mode, write, write_in_task)
    assert won.count(True) == 1
    assert mode.wait(accounts.get(id="a").send()) == Account("a", won.index(True) + 1, account.revision + 1)


@pytest.mark.parametrize("versioned", [False, True], ids=["if_not_exists", "version 0"])
def test_of_many_creators_one_wins_and_the_others_see_its_item(store: Store[Any], mode: Mode, versioned: bool) -> None:
    accounts, stocks = store.of(Account), store.of(Stock)

    def create(number: int) -> Any:
        if versioned:
            return accounts.put(Account("a", number + 1)).send()
        return stocks.put(Stock("s", number + 1)).if_not_exists().send()

    refusal: type[ConditionFailed] = VersionConflict if versioned else ItemAlreadyExists

    def plain(number: int) -> tuple[bool, Any]:
        try:
            return True, create(number)
        except refusal as error:
            return False, error.seen

    async def awaited(number: int) -> tuple[bool, Any]:
        try:
            return True, await create(number)
        except refusal as error:
            return False, error.seen

    outcomes = together(mode, plain, awaited)
    winners = [item for won, item in outcomes if won]
    assert len(winners) == 1
    assert [seen for won, seen in outcomes if not won] == winners * (WRITERS - 1)


def test_a_stock_never_goes_below_zero(store: Store[Any], mode: Mode) -> None:
    stocks = store.of(Stock)
    mode.wait(stocks.put(Stock("s", WRITERS * 2 + 1)).send())

    def take() -> Any:
        return stocks.update(sku="s").add(F(Stock.count), -1).if_(F(Stock.count).ge(1))

    def plain(number: int) -> int:
        taken = 0
        for _ in range(4):
            try:
                take().send()
            except ConditionFailed:
                continue
            taken += 1
        return taken

    async def awaited(number: int) -> int:
        taken = 0
        for _ in range(4):
            try:
                await take().send()
            except ConditionFailed:
                continue
            taken += 1
        return taken

    assert sum(together(mode, plain, awaited)) == WRITERS * 2 + 1
    assert mode.wait(stocks.get(sku="s").send()) == Stock("s", 0)


def test_relative_updates_need_no_version(store: Store[Any], mode: Mode) -> None:
    stocks = store.of(Stock)
    mode.wait(stocks.put(Stock("s")).send())
    update = stocks.update(sku="s").add(F(Stock.count), 1).returning(F(Stock.count))

    def plain(number: int) -> list[int]:
        return [update.send() for _ in range(DEPOSITS)]

    async def awaited(number: int) -> list[int]:
        return [await update.send() for _ in range(DEPOSITS)]

    answers = together(mode, plain, awaited)
    # one builder, sent by all of them: every answer is another number
    assert sorted(number for each in answers for number in each) == list(range(1, WRITERS * DEPOSITS + 1))


def test_writers_that_ignore_the_version_raise_it_all_the_same(store: Store[Any], mode: Mode, raw: RawTable) -> None:
    accounts = store.of(Account)
    # an item of a release without versions: one of them starts afresh, the others count on
    for start in ({}, {"revision": {"N": "0"}}):
        raw.put(*KEY, _type={"S": "ACCOUNT"}, id={"S": "a"}, balance={"N": "0"}, **start)
        update = accounts.update(id="a").ignore_version().add(F(Account.balance), 1)

        def plain(number: int, update: Any = update) -> int:
            return update.send().revision

        async def awaited(number: int, update: Any = update) -> int:
            return (await update.send()).revision

        revisions = sorted(together(mode, plain, awaited))
        assert revisions == list(range(revisions[0], revisions[0] + WRITERS))
        assert raw.get(*KEY)["balance"] == {"N": str(WRITERS)}


def test_a_guarded_delete_and_guarded_updates_do_not_both_win(store: Store[Any], mode: Mode, raw: RawTable) -> None:
    accounts = store.of(Account)
    account = mode.wait(accounts.put(Account("a")).send())

    def write(number: int) -> Any:
        if number % 2:
            return accounts.delete(account).send()
        return accounts.update(account).to(evolve(account, balance=number)).send()

    def plain(number: int) -> bool:
        try:
            write(number)
        except VersionConflict:
            return False
        return True

    async def awaited(number: int) -> bool:
        try:
            await write(number)
        except VersionConflict:
            return False
        return True

    won = together(mode, plain, awaited)
    assert won.count(True) == 1
    assert (raw.get(*KEY) is None) == bool(won.index(True) % 2)


def test_creating_and_deleting_in_turns_loses_nothing(store: Store[Any], mode: Mode, raw: RawTable) -> None:
    """Everybody adds one to what is there, or makes it; everybody deletes what holds two and keeps it as taken out."""
    accounts = store.of(Account)

    def plain(number: int) -> int:
        @retry_on_conflict(attempts=ATTEMPTS, sleep=lambda seconds: None)
        def turn() -> int:
            account = accounts.get(id="a").send()
            if account is None:
                accounts.put(Account("a", 1)).send()
            elif account.balance >= 2:
                accounts.delete(account).send()
                return account.balance
            else:
                accounts.update(account).to(evolve(account, balance=account.balance + 1)).send()
            return -1

        return sum(turn() for _ in range(DEPOSITS))

    async def awaited(number: int) -> int:
        @retry_on_conflict(attempts=ATTEMPTS, sleep=yield_to_others)
        async def turn() -> int:
            account = await accounts.get(id="a").send()
            if account is None:
                await accounts.put(Account("a", 1)).send()
            elif account.balance >= 2:
                await accounts.delete(account).send()
                return int(account.balance)
            else:
                await accounts.update(account).to(evolve(account, balance=account.balance + 1)).send()
            return -1

        return sum([await turn() for _ in range(DEPOSITS)])

    taken_less_put = sum(together(mode, plain, awaited))
    account = mode.wait(accounts.get(id="a").send())
    assert -taken_less_put == (0 if account is None else account.balance)


def test_an_update_of_what_another_deleted_finds_nothing(store: Store[Any], mode: Mode) -> None:
    stocks = store.of(Stock)
    mode.wait(stocks.put(Stock("s")).send())
    mode.wait(stocks.delete(sku="s").send())

    def plain(number: int) -> bool:
        try:
            stocks.update(sku="s").add(F(Stock.count), 1).send()
        except ItemNotFound:
            return False
        return True

    async def awaited(number: int) -> bool:
        try:
            await stocks.update(sku="s").add(F(Stock.count), 1).send()
        except ItemNotFound:
            return False
        return True

    assert together(mode, plain, awaited) == [False] * WRITERS
    assert mode.wait(stocks.get(sku="s").send()) is None


@pytest.mark.deep
def test_the_embedded_engine_serves_many_threads(
    embedded_backend: Backend, running_modes: Any, table_name: str
) -> None:
    mode: Mode = running_modes["sync"]
    store = mode.connect(Table(table_name, [Account, Stock]), embedded_backend)
    store.create_table()
    accounts, stocks = store.of(Account), store.of(Stock)
    accounts.put(Account("a")).send()
    stocks.put(Stock("s")).send()
    writers = how_many(quick=24, deep=64)
    meeting = Meeting(writers)

    def work(number: int) -> int:
        meeting.wait()
        stocks.put(Stock(f"own-{number}", number)).if_not_exists().send()
        for _ in range(5):
            stocks.update(sku="s").add(F(Stock.count), 1).send()

        @retry_on_conflict(attempts=1000)
        def deposit() -> Account:
            account = accounts.get(id="a").required().send()
            return accounts.update(account).to(evolve(account, balance=account.balance + 1)).send()

        deposit()
        return stocks.get(sku=f"own-{number}").strongly_consistent().required().send().count

    with ThreadPoolExecutor(writers) as threads:
        assert list(threads.map(work, range(writers))) == list(range(writers))
    assert stocks.get(sku="s").strongly_consistent().send() == Stock("s", writers * 5)
    assert accounts.get(id="a").required().send().balance == writers
    store.delete_table()
