"""Kinds of writes, sent over a `FaultProxy`, and what was reported beside what stands in the table."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import pytest

from dynamap import (
    ConditionFailed,
    DynamapError,
    F,
    ItemAlreadyExists,
    ItemNotFound,
    OutcomeUnknown,
    Store,
    Table,
    TransactionCanceled,
    VersionConflict,
    connect,
    connect_async,
    entity,
    evolve,
)
from dynamap.backoff import TokenBucket
from dynamap.drivers import clients
from tests.backends import Backend, client_for
from tests.fault_proxy import FaultProxy, Script
from tests.modes import Mode, RawTable, impatient
from tests.wire_faults import REFUSED, WireFault

__all__ = ["KINDS", "Account", "Case", "Kind", "Lane", "Lanes", "Note", "Told", "answer_of", "read_account"]

Item = dict[str, Any]

VERSION = 1_700_000_000_000_000


@entity("ACCOUNT", pk="ACCOUNT#{id}", sk="BALANCE", version="revision")
class Account:
    id: str
    balance: int = 0
    revision: int = 0


@entity("NOTE", pk="NOTE#{id}", sk="NOTE")
class Note:
    id: str
    count: int = 0


# ---- kinds of writes


@dataclass(frozen=True)
class Kind:
    """A write of the item with an id; how many calls it makes when nothing happens; and what it leaves behind.

    *times* tells from the stored account and note how often the write was applied, and *result* is what it answers.
    """

    calls: int
    write: Callable[[Store[Any], str], Any]
    times: Callable[[Item | None, Item | None], int]
    result: Callable[[str], Any]
    creates: bool = False


def read_account(new: str) -> Account:
    """The account with this id as `Lane.prepare` stores it."""
    return Account(new, 1, VERSION)


def _number(item: Item | None, attribute: str) -> int:
    assert item is not None
    return int(item[attribute]["N"])


def _raised(account: Item | None, note: Item | None) -> int:
    times = _number(account, "revision") - VERSION
    assert _number(account, "balance") == 1 + times
    assert _number(note, "count") == 1
    return times


def _counted(account: Item | None, note: Item | None) -> int:
    return _number(note, "count") - 1


def _both(account: Item | None, note: Item | None) -> int:
    times = _number(account, "balance") - 1
    assert _counted(account, note) == times == _number(account, "revision") - VERSION
    return times


Case = tuple[Kind, Mapping[int, WireFault]]
"""A write, and the faults that come to its requests."""

KINDS: dict[str, Kind] = {
    "put": Kind(
        1,
        lambda s, new: s.of(Account).put(evolve(read_account(new), balance=2)),
        _raised,
        lambda new: Account(new, 2, VERSION + 1),
    ),
    "update": Kind(
        1,
        lambda s, new: s.of(Account).update(read_account(new)).add(F(Account.balance), 1),
        _raised,
        lambda new: Account(new, 2, VERSION + 1),
    ),
    "create": Kind(
        1,
        lambda s, new: s.of(Note).put(Note(new, 2)).if_not_exists(),
        lambda account, note: 0 if note is None else _counted(account, note),
        lambda new: Note(new, 2),
        creates=True,
    ),
    "add": Kind(1, lambda s, new: s.of(Note).update(id=new).add(F(Note.count), 1), _counted, lambda new: Note(new, 2)),
    "set": Kind(1, lambda s, new: s.of(Note).update(id=new).set(F(Note.count), 2), _counted, lambda new: Note(new, 2)),
    "delete": Kind(
        1,
        lambda s, new: s.of(Account).delete(read_account(new)),
        lambda account, note: account is None,
        lambda new: None,
    ),
    "transact": Kind(
        1,
        lambda s, new: s.transact(
            s.of(Note).update(id=new).add(F(Note.count), 1),
            s.of(Account).update(read_account(new)).add(F(Account.balance), 1),
        ).token(f"token-{new}"),
        _both,
        lambda new: None,
    ),
    "exactly": Kind(
        2,
        lambda s, new: s.of(Note).update(id=new).add(F(Note.count), 1).exactly_once(),
        _counted,
        lambda new: Note(new, 2),
    ),
}


# ---- lanes


REFUSALS = (ConditionFailed, ItemAlreadyExists, VersionConflict, ItemNotFound, TransactionCanceled)


@dataclass(frozen=True)
class Told:
    """What was reported of a write, and what was true.

    As text: `ok` for a result, `no` for a refusal, `?` for an unknown outcome, `!` for one that is known to be applied,
    or the error's name; then how often it was applied, and how many requests of writes were sent.
    """

    answer: Any
    times: int
    sent: int
    calls: int
    """With the reads."""

    def __str__(self) -> str:
        word = "ok"
        if isinstance(self.answer, OutcomeUnknown):
            word = "?" if self.answer.applied is None else "!"
        elif isinstance(self.answer, REFUSALS):
            word = "no"
        elif isinstance(self.answer, Exception):
            word = f"{type(self.answer).__name__} "
        return f"{word}{self.times}/{self.sent}"

    @property
    def agrees(self) -> bool:
        """Whether what was reported is not contradicted by the table."""
        if isinstance(self.answer, OutcomeUnknown):
            return self.answer.applied is None or self.times > 0
        return (self.times == 0) == isinstance(self.answer, Exception)


class Lane:
    """A store of one mode over a proxy before one server, and the same table as the server itself shows it."""

    _ids = itertools.count(1)

    def __init__(self, mode: Mode, raw: RawTable, proxy: FaultProxy, make: Callable[[str], Store[Any]]) -> None:
        self.mode = mode
        self.raw = raw
        self.proxy = proxy
        self.store = make(proxy.url)
        # one that is never empty: the repeats of all tests come from it
        self.store._runtime = replace(self.store._runtime, bucket=TokenBucket(1e9))
        # a proxy where nobody listens does so again when the client pauses: no test waits for it
        self.store._runtime.driver._sleep = self._listen_later if mode.is_async else self._listen
        # the first answer opens the lane, which has connections of its own
        self.connect_first(reused=False)

    def _listen(self, seconds: float) -> None:
        del seconds
        self.proxy.listen()

    async def _listen_later(self, seconds: float) -> None:
        self.proxy.listen()
        await asyncio.sleep(seconds)

    def prepare(self, *kinds: Kind) -> list[str]:
        """Store what these writes are about, each under an id that is no part of another."""
        made = [f"i{next(self._ids)}." for _ in kinds]
        items: list[dict[str, Any]] = []
        for kind, new in zip(kinds, made, strict=True):
            account = {"balance": {"N": "1"}, "revision": {"N": str(VERSION)}, "_w": {"S": "before"}}
            items.append({**_account_key(new), "_type": {"S": "ACCOUNT"}, "id": {"S": new}, **account})
            if not kind.creates:
                items.append({**_note_key(new), "_type": {"S": "NOTE"}, "id": {"S": new}, "count": {"N": "1"}})
        for start in range(0, len(items), 25):
            puts = [{"PutRequest": {"Item": item}} for item in items[start : start + 25]]
            assert not self.raw.client.batch_write_item(RequestItems={self.raw.name: puts})["UnprocessedItems"]
        return made

    def stored(self, *made: str) -> list[tuple[Item | None, Item | None]]:
        """The account and the note under each id, as they stand in the table."""
        keys = [key for new in made for key in (_account_key(new), _note_key(new))]
        found: dict[tuple[str, str], Item] = {}
        for start in range(0, len(keys), 100):
            wanted = {self.raw.name: {"Keys": keys[start : start + 100], "ConsistentRead": True}}
            reply = self.raw.client.batch_get_item(RequestItems=wanted)
            assert not reply["UnprocessedKeys"]
            found |= {(item["id"]["S"], item["_type"]["S"]): item for item in reply["Responses"][self.raw.name]}
        return [(found.get((new, "ACCOUNT")), found.get((new, "NOTE"))) for new in made]

    def connect_first(self, *, reused: bool) -> None:
        """Leave the client with one connection that was used before, or with none."""
        self.proxy.keep_alive(reused)
        assert self.mode.wait(self.store.of(Note).get(id="nobody").send()) is None
        self.proxy.keep_alive(True)

    def tell(self, kind: Kind, faults: Mapping[int, WireFault], *, reused: bool = True) -> Told:
        """Send the write while these faults come."""
        return self.tell_in_turn([(kind, faults)], reused=reused)[0]

    def tell_in_turn(self, cases: Sequence[Case], *, reused: bool = True) -> list[Told]:
        """The same for several, one after another."""
        made = self.prepare(*[kind for kind, _ in cases])
        sent: list[tuple[Script, Any]] = []
        for (kind, faults), new in zip(cases, made, strict=True):
            used_first = reused and faults.get(1) is not REFUSED
            self.connect_first(reused=used_first)
            script = self.proxy.play(faults)
            answer = answer_of(lambda: self.mode.wait(kind.write(self.store, new).send()))  # noqa: B023 - called at once
            self.proxy.settle(script)
            assert script.requests[0].reused is used_first
            sent.append((script, answer))
        return self._conclude([kind for kind, _ in cases], made, sent)

    def tell_at_once(self, cases: Sequence[Case]) -> list[Told]:
        """The same for several at the same time, so that their timeouts pass together."""
        made = self.prepare(*[kind for kind, _ in cases])
        scripts = [self.proxy.play(faults, about=new) for (_, faults), new in zip(cases, made, strict=True)]
        answers = self.send_all([kind.write(self.store, new) for (kind, _), new in zip(cases, made, strict=True)])
        for script in scripts:
            self.proxy.settle(script)
        return self._conclude([kind for kind, _ in cases], made, list(zip(scripts, answers, strict=True)))

    def send_all(self, operations: list[Any]) -> list[Any]:
        """What each of these answers, or its error; sent at the same time."""

        async def awaited(operation: Any) -> Any:
            try:
                return await operation.send()
            except DynamapError as error:
                return error

        if self.mode.is_async:
            return self.mode.gather(*[awaited(operation) for operation in operations])
        with ThreadPoolExecutor(len(operations)) as threads:
            return list(threads.map(lambda operation: answer_of(operation.send), operations))

    def _conclude(self, kinds: Sequence[Kind], made: Sequence[str], sent: Sequence[tuple[Script, Any]]) -> list[Told]:
        stored = self.stored(*made)
        return [_told(*each) for each in zip(kinds, made, sent, stored, strict=True)]


def _told(kind: Kind, new: str, sent: tuple[Script, Any], stored: tuple[Item | None, Item | None]) -> Told:
    script, answer = sent
    times = int(kind.times(*stored))
    if kind is KINDS["set"]:
        # which cannot be seen twice
        assert times == bool(script.applied)
        times = script.applied
    if not isinstance(answer, Exception) and kind is not KINDS["transact"]:
        assert answer == kind.result(new)
    transactions = {request.body for request in script.writes if request.operation == "TransactWriteItems"}
    assert len(transactions - {b""}) <= 1, "another request under the same token"
    return Told(answer, times, len(script.writes), len(script.requests))


def _account_key(new: str) -> dict[str, Any]:
    return {"pk": {"S": f"ACCOUNT#{new}"}, "sk": {"S": "BALANCE"}}


def _note_key(new: str) -> dict[str, Any]:
    return {"pk": {"S": f"NOTE#{new}"}, "sk": {"S": "NOTE"}}


def answer_of(send: Callable[[], Any]) -> Any:
    """What was answered, or the error."""
    try:
        return send()
    except DynamapError as error:
        return error


class Lanes:
    """Makes each lane once."""

    def __init__(self) -> None:
        self._lanes: dict[tuple[str, ...], Lane] = {}
        self._closers: list[Callable[[], object]] = []

    def get(self, backend: Backend, mode: Mode, *, client: str = "made", read_timeout: float = 20.0) -> Lane:
        """Over a client that dynamap makes, or over one that was passed in, in this retry mode of botocore's.

        "once" is one that never retries.
        """
        key = (backend.name, mode.name, client, str(read_timeout))
        if key not in self._lanes:
            self._lanes[key] = self._make(backend, mode, client, read_timeout)
        return self._lanes[key]

    def _make(self, backend: Backend, mode: Mode, client: str, read_timeout: float) -> Lane:
        raw = RawTable(backend.client, f"faults-{len(self._lanes)}-{mode.name}-{backend.name}")
        raw.create()
        # roto takes a repeated token for a new transaction
        proxy = FaultProxy(backend.url, tokens=backend.name == "roto")
        self._closers += [lambda: backend.client.delete_table(TableName=raw.name), proxy.close]
        table = Table(raw.name, [Account, Note])

        def make(url: str) -> Store[Any]:
            if client == "made":
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(clients, "_LOCAL_READ_TIMEOUT", read_timeout)
                    store = mode.connect_url(table, url)
                    mode.wait(store._runtime.driver.client())
                self._closers.append(lambda: mode.wait(store.close()))
                return store
            options: dict[str, Any] = {
                "read_timeout": read_timeout,
                "retries": {"total_max_attempts": 1} if client == "once" else {"mode": client, "max_attempts": 4},
            }
            if mode.is_async:
                return impatient(connect_async(table, client=mode.wait(mode.open_client(url, **options))))
            passed = client_for(url, **options)
            self._closers.append(passed.close)
            return impatient(connect(table, client=passed))

        return Lane(mode, raw, proxy, make)

    def close(self) -> None:
        for close in reversed(self._closers):
            close()
