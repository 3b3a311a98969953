"""PartiQL in both modes, on the servers that have it."""

from __future__ import annotations

from typing import Any

import pytest

from dynamap import ConditionFailed, ItemAlreadyExists, RequestError, Store, Table, entity
from tests.backends import Backend
from tests.modes import Mode, RawTable

has_partiql = pytest.mark.not_on("dynalite", "roto", reason="they have no PartiQL")
writes_partiql = pytest.mark.not_on(
    "dynalite", "roto", "embedded", reason="two have no PartiQL, moto cannot insert with parameters or delete"
)


@entity("NOTE", pk="NOTE#{id}", sk="NOTE")
class Note:
    id: str
    count: int = 0


@pytest.fixture
def store(mode: Mode, backend: Backend, raw: RawTable) -> Store[Any]:
    return mode.connect(Table(raw.name, [Note]), backend)


@has_partiql
def test_reads_with_parameters(mode: Mode, store: Store[Any], raw: RawTable) -> None:
    for name in ("a", "b", "it's"):
        mode.wait(store.of(Note).put(Note(name, 3)).send())
    statement = f'SELECT * FROM "{raw.name}" WHERE pk = ?'
    [found] = mode.wait(store.execute(statement, ["NOTE#it's"]).send())
    assert (found["id"], found["count"], found["_type"]) == ("it's", 3, "NOTE")
    assert mode.wait(store.execute(statement, ["NOTE#nobody"]).send()) == []
    everything = mode.wait(store.execute(f'SELECT * FROM "{raw.name}"').send())
    assert sorted(item["id"] for item in everything) == ["a", "b", "it's"]


@writes_partiql
def test_writes(mode: Mode, store: Store[Any], raw: RawTable) -> None:
    insert = f"INSERT INTO \"{raw.name}\" VALUE {{'pk': ?, 'sk': ?, 'n': ?}}"
    mode.wait(store.execute(insert, ["p", "s", 1], writes=True).send())
    with pytest.raises(ItemAlreadyExists):
        mode.wait(store.execute(insert, ["p", "s", 2], writes=True).send())
    update = f'UPDATE "{raw.name}" SET n = ? WHERE pk = ? AND sk = ?'
    mode.wait(store.execute(update, [5, "p", "s"], writes=True).send())
    assert (raw.get("p", "s") or {})["n"] == {"N": "5"}
    with pytest.raises(ConditionFailed):
        mode.wait(store.execute(update, [5, "nothing", "s"], writes=True).send())
    mode.wait(store.execute(f'DELETE FROM "{raw.name}" WHERE pk = ? AND sk = ?', ["p", "s"], writes=True).send())
    assert raw.get("p", "s") is None


@pytest.mark.not_on("embedded", "ministack", reason="they have PartiQL")
@pytest.mark.not_on("roto", reason="its answer to what it does not know is no DynamoDB answer")
def test_a_server_without_it(mode: Mode, store: Store[Any], raw: RawTable) -> None:
    for _ in range(2):
        with pytest.raises(RequestError) as caught:
            mode.wait(store.execute(f'SELECT * FROM "{raw.name}"').send())
        assert str(caught.value) == (
            "PartiQL SELECT: this server has no PartiQL, and nothing was done: use get, query and scan, or a server "
            "that has it"
        )


@pytest.mark.not_on("embedded", "ministack", "roto", reason="they have transactions")
def test_a_server_without_transactions(mode: Mode, store: Store[Any], raw: RawTable) -> None:
    notes = store.of(Note)
    with pytest.raises(RequestError, match="this server has no transactions, and nothing was done: leave out"):
        mode.wait(notes.put(Note("a")).exactly_once().send())
    with pytest.raises(RequestError, match="this server has no transactions, and nothing was done: write the items"):
        mode.wait(store.transact(notes.put(Note("a")), notes.put(Note("b"))).send())
    with pytest.raises(RequestError, match="this server has no transactions, and nothing was done: read the items"):
        mode.wait(store.transact_get(notes.get(id="a")).send())
    assert mode.wait(notes.put(Note("a")).send()) == mode.wait(notes.get(id="a").send())
