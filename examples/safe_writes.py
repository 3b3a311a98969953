"""Eight writers, one account: no deposit is lost where the account has a version, and many are where it has none.

    make demo                       on a DynamoDB inside this process
    python examples/safe_writes.py  the same, where dynamap[aio,testing] is installed

With AWS_ENDPOINT_URL_DYNAMODB set it runs there, on AWS or on any server that speaks DynamoDB's protocol, in a table
of its own that it creates and deletes. It exits with 1 if anything that it says does not hold.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import uuid
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeVar

from dynamap import (
    Async,
    F,
    Repository,
    Store,
    Sync,
    Table,
    UnguardedWrite,
    connect,
    connect_async,
    entity,
    evolve,
    retry_on_conflict,
)

# ---- what is stored


@entity("ACCOUNT", pk="ACCOUNT#{id}", sk="BALANCE", version="revision")
class Account:
    """An account that nobody overwrites unseen: `revision` guards every write and rises with it."""

    id: str
    balance: Decimal = Decimal(0)
    revision: int = 0


@entity("JAR", pk="JAR#{id}", sk="BALANCE")
class Jar:
    """The same without a version: the last writer wins."""

    id: str
    balance: Decimal = Decimal(0)


@entity("DOCUMENT", pk="DOCUMENT#{owner}#{title}", sk="TEXT")
class Document:
    """Something whose key is made of two things that users type."""

    owner: str
    title: str
    text: str


# The name is new in every process, so the table that is created and deleted is nobody else's.
Bank = Table(f"dynamap-demo-{uuid.uuid4().hex}", [Account, Jar, Document])

# ---- eight writers

WRITERS = 8
DEPOSITS_EACH = 50
OPENING_BALANCE = Decimal(100)

# Eight writers to one item are nearly always in each other's way, and chance decides who gets through: an unlucky one
# may lose more often than ten times, which is the default. The pauses grow with its conflicts, up to a second, so that
# losing 200 times in a row does not happen.
ATTEMPTS = 200

AnyAccount = TypeVar("AnyAccount", Account, Jar)


@dataclass(frozen=True)
class Figures:
    """What one run came to: deposits made without an error, conflicts met on the way, balance before and after."""

    deposits: int
    conflicts: int
    before: Decimal
    after: Decimal

    @property
    def lost(self) -> Decimal:
        """How many deposits of 1 are missing from the balance."""
        return self.before + self.deposits - self.after


def deposit_often(accounts: Repository[Sync, AnyAccount], owner: str, all_have_read: threading.Barrier) -> int:
    """Deposit 1, fifty times over; answers how many conflicts that met."""
    runs = 0

    @retry_on_conflict(attempts=ATTEMPTS)
    def deposit() -> AnyAccount:
        nonlocal runs
        runs += 1
        account = accounts.get(id=owner).required().send()
        if runs == 1:
            # Once, every writer has read before any of them writes: the race is certain, not just likely.
            all_have_read.wait()
        return accounts.update(account).to(evolve(account, balance=account.balance + 1)).send()

    for done in range(1, DEPOSITS_EACH + 1):
        deposit()
        show_progress(done)
    return runs - DEPOSITS_EACH


def run_threads(store: Store[Sync], model: type[AnyAccount], owner: str) -> Figures:
    """Open the account and let eight threads deposit."""
    accounts = store.of(model, consistent=True)
    before = accounts.put(model(owner, OPENING_BALANCE)).send().balance
    # The timeout is for a writer that fails before it gets there: the others would wait for it for ever.
    all_have_read = threading.Barrier(WRITERS, timeout=60)
    with ThreadPoolExecutor(WRITERS) as pool:
        writers = [pool.submit(deposit_often, accounts, owner, all_have_read) for _ in range(WRITERS)]
        conflicts = sum(writer.result() for writer in writers)
    after = accounts.get(id=owner).required().send().balance
    return Figures(WRITERS * DEPOSITS_EACH, conflicts, before, after)


# ---- the same in asyncio: `await` before each `send()`


class Meeting:
    """A barrier for tasks: `wait` returns when the last of them has come. From Python 3.11 on, take asyncio.Barrier."""

    def __init__(self, parties: int) -> None:
        self._missing = parties
        self._complete = asyncio.Event()

    async def wait(self) -> None:
        """Wait for the others."""
        self._missing -= 1
        if self._missing == 0:
            self._complete.set()
        await self._complete.wait()


async def deposit_often_async(accounts: Repository[Async, AnyAccount], owner: str, all_have_read: Meeting) -> int:
    """Deposit 1, fifty times over; answers how many conflicts that met."""
    runs = 0

    @retry_on_conflict(attempts=ATTEMPTS)
    async def deposit() -> AnyAccount:
        nonlocal runs
        runs += 1
        account = await accounts.get(id=owner).required().send()
        if runs == 1:
            await all_have_read.wait()
        return await accounts.update(account).to(evolve(account, balance=account.balance + 1)).send()

    for done in range(1, DEPOSITS_EACH + 1):
        await deposit()
        show_progress(done)
    return runs - DEPOSITS_EACH


async def run_tasks(endpoint_url: str, model: type[AnyAccount], owner: str) -> Figures:
    """Open the account and let eight tasks deposit, over one aiobotocore client."""
    async with connect_async(Bank, endpoint_url=endpoint_url) as store:
        accounts = store.of(model, consistent=True)
        before = (await accounts.put(model(owner, OPENING_BALANCE)).send()).balance
        all_have_read = Meeting(WRITERS)
        conflicts = sum(
            await asyncio.gather(*(deposit_often_async(accounts, owner, all_have_read) for _ in range(WRITERS)))
        )
        after = (await accounts.get(id=owner).required().send()).balance
        return Figures(WRITERS * DEPOSITS_EACH, conflicts, before, after)


# ---- two mistakes that are caught


def refuse_unguarded(store: Store[Sync], owner: str) -> UnguardedWrite | None:
    """Try to overwrite a versioned account without a word on its version; answers the error that stopped it."""
    accounts = store.of(Account)
    try:
        accounts.update(id=owner).set(F(Account.balance), Decimal(0)).send()
    except UnguardedWrite as error:
        return error
    return None


def store_lookalikes(store: Store[Sync]) -> tuple[list[str], list[str]]:
    """Store two documents whose parts, joined by `#`, look the same; answers their keys, and their texts read back."""
    documents = store.of(Document)
    ann = Document(owner="ann", title="bob#plans", text="Ann's")
    bob = Document(owner="ann#bob", title="plans", text="Bob's")
    keys: list[str] = []
    for document in (ann, bob):
        create = documents.put(document).if_not_exists()
        create.send()
        keys.append(create.params()["Item"]["pk"]["S"])
    texts = [
        documents.get(owner=document.owner, title=document.title).strongly_consistent().required().send().text
        for document in (ann, bob)
    ]
    return keys, texts


# ---- the demo


class BrokenPromise(Exception):
    """Something that this demo says does not hold."""


def promise(kept: bool, words: str) -> None:  # noqa: FBT001
    """Say it, or raise that it does not hold."""
    if not kept:
        raise BrokenPromise(words)
    say(f"  ok: {words}")


def say(words: str = "") -> None:
    """Print a line at once, also into a pipe."""
    print(words, flush=True)


def show_progress(done: int) -> None:
    """A dot for every ten deposits."""
    if done % 10 == 0:
        print(".", end="", flush=True)


@contextmanager
def own_table(endpoint_url: str) -> Generator[Store[Sync], None, None]:
    """Create the table, and delete it in the end."""
    with connect(Bank, endpoint_url=endpoint_url) as store:
        store.create_table()
        try:
            yield store
        finally:
            store.delete_table()


def demonstrate(endpoint_url: str) -> None:
    """Everything, in order. Raises BrokenPromise."""
    with own_table(endpoint_url) as store:
        say("One request, before it is sent:")
        account = store.of(Account).put(Account("alice", OPENING_BALANCE)).send()
        changed = evolve(account, balance=account.balance + 1)
        say(store.of(Account).update(account).to(changed).explain())

        say(f"\n{WRITERS} threads, one account with a version:")
        promise_all_kept(run_threads(store, Account, "threads"))
        say(f"\n{WRITERS} asyncio tasks, one account with a version:")
        promise_all_kept(asyncio.run(run_tasks(endpoint_url, Account, "tasks")))

        say(f"\n{WRITERS} threads, the same without a version:")
        promise_some_lost(run_threads(store, Jar, "threads"))
        say(f"\n{WRITERS} asyncio tasks, the same without a version:")
        promise_some_lost(asyncio.run(run_tasks(endpoint_url, Jar, "tasks")))

        say("\nAn update that would overwrite whatever another writer stored:")
        refused = refuse_unguarded(store, "alice")
        say(f"  {refused}")
        untouched = store.of(Account).get(id="alice").send() == account
        promise(refused is not None and untouched, "refused before it was sent; the account is as it was")

        say("\nTwo documents whose owner and title, joined by #, are both ann#bob#plans:")
        keys, texts = store_lookalikes(store)
        for key, text in zip(keys, texts, strict=True):
            say(f"  {text} is stored under {key}")
        promise(keys[0] != keys[1] and texts == ["Ann's", "Bob's"], "two keys, and neither overwrote the other")


def promise_all_kept(figures: Figures) -> None:
    """With a version: writers were in each other's way, and every deposit is in the balance."""
    show_figures(figures)
    promise(figures.conflicts > 0, "the writers did meet conflicts")
    promise(figures.lost == 0, f"the balance is {figures.deposits} more, exactly")


def promise_some_lost(figures: Figures) -> None:
    """Without one: no conflict was met, and deposits are gone."""
    show_figures(figures)
    promise(figures.conflicts == 0, "no writer noticed anything")
    promise(figures.lost > 0, f"{figures.lost} deposits are lost, though each was answered with success")


def show_figures(figures: Figures) -> None:
    """What one run came to, after its dots."""
    say(f"\n  {figures.deposits} deposits of 1, {figures.conflicts} conflicts met")
    say(f"  balance {figures.before} before, {figures.after} after")


def main() -> int:
    """Run the demo where AWS_ENDPOINT_URL_DYNAMODB points, or on an embedded DynamoDB; answers the exit code."""
    configured = os.environ.get("AWS_ENDPOINT_URL_DYNAMODB")
    if configured:
        place: AbstractContextManager[str] = nullcontext(configured)
    else:
        from dynamap.testing import embedded  # noqa: PLC0415 - takes moto, which other endpoints do without

        place = embedded()
    with place as endpoint_url:
        say(f"DynamoDB at {endpoint_url}, table {Bank.name}\n")
        try:
            demonstrate(endpoint_url)
        except BrokenPromise as broken:
            print(f"FAILED, this does not hold: {broken}", file=sys.stderr)
            return 1
    say("\nEverything held.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
