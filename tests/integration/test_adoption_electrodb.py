"""Tables of ElectroDB: its composed keys and its two attributes are read, and written so that it finds them.

The layout is that of ElectroDB 3: `$service#name_value` and `$entity_version#name_value`, in lower case, beside the
attributes as they are, and `__edb_e__` and `__edb_v__`, by which it knows its own items.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

import attrs
import pytest

from dynamap import Attribute, F, GlobalIndex, Index, ItemDecodeError, Normalize, Table, entity, evolve
from tests.backends import Backend
from tests.modes import Mode

PROGRAM = Path(__file__).with_name("adoption_electrodb.cjs")
MODULES = os.environ.get("DYNAMAP_ELECTRODB", "")


def camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


@attrs.frozen
class Line:
    what: str
    price: Decimal


def lower(name: str) -> Any:
    """A field that is in the key alone: what ElectroDB makes of another, in lower case."""
    return attrs.field(
        init=False, repr=False, default=attrs.Factory(lambda task: getattr(task, name).lower(), takes_self=True)
    )


KeyText = Annotated[str, Attribute(stored=False), Normalize(str.lower)]


@entity(
    "Task",
    pk="$office#team_{team_key:raw}",
    sk="$task_1#taskid_{task_key:raw}",
    indexes=[Index("gsi1", pk="$office#done_{done}", sk="$task_1#order_{order:04}#taskid_{task_key:raw}")],
    frozen=True,
)
class Task:
    team: str
    task_id: str
    done: bool = False
    points: Decimal | None = None
    order: int = 0
    tags: set[str] = attrs.field(factory=set[str])
    lines: list[Line] = attrs.field(factory=list[Line])
    note: str | None = None
    version: Annotated[Literal["1"], Attribute("__edb_v__")] = "1"
    team_key: KeyText = lower("team")
    task_key: KeyText = lower("task_id")


Tasks = Table(
    "office", [Task], indexes=[GlobalIndex("gsi1")], discriminator="__edb_e__", write_id=None, names=camel_case
)

FULL = Task("Tea Room", "T-1", True, Decimal("1.5"), 12, {"a", "b"}, [Line("cup", Decimal("2.25"))], "ü")
FULL_JSON = {
    "team": "Tea Room",
    "taskId": "T-1",
    "done": True,
    "points": 1.5,
    "order": 12,
    "tags": ["a", "b"],
    "lines": [{"what": "cup", "price": 2.25}],
    "note": "ü",
}
BARE = Task("Tea Room", "T-2")
BARE_JSON = {"team": "Tea Room", "taskId": "T-2", "done": False, "order": 0}


class Program:
    """A running program of another language."""

    def __init__(self) -> None:
        node = shutil.which("node")
        if node is None or not Path(MODULES, "electrodb").is_dir():
            missing = "node is not installed" if node is None else "DYNAMAP_ELECTRODB names no folder with electrodb"
            reason = f"{missing}: `make servers` installs electrodb where it finds npm"
            (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
        # node would print a warning of the kind of its modules
        environment = {**os.environ, "NODE_PATH": MODULES, "NODE_NO_WARNINGS": "1"}
        self._process = subprocess.Popen(
            [str(node), str(PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=environment,
        )

    def ask(self, *request: Any) -> Any:
        """What it answers to a line of input."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{json.dumps(request)}\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert "error" not in answer, answer["error"]
        return answer["data"]

    def close(self) -> None:
        self._process.communicate(timeout=30)


class ElectroDB:
    """Its entity over one table of a backend."""

    def __init__(self, program: Program, url: str, table_name: str) -> None:
        self._program, self._url, self._table_name = program, url, table_name

    def ask(self, step: str, argument: Any = None) -> Any:
        """What a step of the program answers."""
        return self._program.ask(self._url, self._table_name, step, argument or {})


@pytest.fixture(scope="module")
def program() -> Iterator[Program]:
    program = Program()
    try:
        yield program
    finally:
        program.close()


@pytest.fixture
def electro(program: Program, backend: Backend, table_name: str) -> ElectroDB:
    return ElectroDB(program, backend.url, table_name)


@pytest.fixture
def tasks(backend: Backend, mode: Mode, electro: ElectroDB, table_name: str) -> Iterator[Any]:
    store = mode.connect(Tasks, backend).with_name(table_name)
    mode.wait(store.create_table())
    yield store.of(Task)
    mode.wait(store.delete_table())


@pytest.mark.parametrize(("task", "as_json"), [(FULL, FULL_JSON), (BARE, BARE_JSON)], ids=["full", "bare"])
def test_what_electrodb_puts_is_read_back_equal(
    mode: Mode, electro: ElectroDB, tasks: Any, task: Task, as_json: dict[str, Any]
) -> None:
    electro.ask("put", as_json)
    get = tasks.get(team_key=task.team, task_key=task.task_id).strongly_consistent()
    assert mode.wait(get.required().send()) == task


@pytest.mark.parametrize(("task", "as_json"), [(FULL, FULL_JSON), (BARE, BARE_JSON)], ids=["full", "bare"])
def test_electrodb_finds_and_reads_what_dynamap_puts(
    mode: Mode, electro: ElectroDB, tasks: Any, task: Task, as_json: dict[str, Any]
) -> None:
    mode.wait(tasks.put(task).send())
    expected = {"lines": [], **as_json}
    assert electro.ask("get", {"team": task.team, "taskId": task.task_id}) == expected
    assert electro.ask("list", {"team": task.team}) == [expected]
    assert electro.ask("byState", {"done": task.done, "order": task.order}) == [expected]
    assert electro.ask("scan") == [expected]


def test_both_store_the_same_item(
    mode: Mode, electro: ElectroDB, tasks: Any, backend: Backend, table_name: str
) -> None:
    mode.wait(tasks.put(FULL).send())
    ours = backend.client.scan(TableName=table_name, ConsistentRead=True)["Items"]
    electro.ask("put", FULL_JSON)
    assert backend.client.scan(TableName=table_name, ConsistentRead=True)["Items"] == ours


def test_each_changes_what_the_other_wrote(mode: Mode, electro: ElectroDB, tasks: Any) -> None:
    key = {"team": "Tea Room", "taskId": "T-1"}
    electro.ask("create", FULL_JSON)
    task = mode.wait(tasks.get(team_key="tea room", task_key="t-1").required().strongly_consistent().send())
    changed = evolve(task, done=False, order=7, note=None, tags=set())
    assert mode.wait(tasks.update(task).to(changed).send()) == changed
    assert [each["taskId"] for each in electro.ask("byState", {"done": False, "order": 7})] == ["T-1"]
    patched = electro.ask("patch", {"key": key, "set": {"points": 2, "order": 8, "done": True}})
    assert (patched["points"], "note" in patched, "tags" in patched) == (2, False, False)
    read = mode.wait(tasks.get(team_key="tea room", task_key="t-1").required().strongly_consistent().send())
    assert read == evolve(changed, points=Decimal(2), order=8, done=True)
    update = tasks.update(team_key="tea room", task_key="t-1").set(F(Task.done), False).given(order=8)
    assert mode.wait(update.send()).done is False
    assert [each["order"] for each in electro.ask("byState", {"done": False})] == [8]
    mode.wait(tasks.delete(read).send())
    assert electro.ask("get", key) is None


def test_an_item_of_another_electrodb_entity_is_refused(
    mode: Mode, electro: ElectroDB, tasks: Any, backend: Backend, table_name: str
) -> None:
    electro.ask("put", BARE_JSON)
    item = backend.client.scan(TableName=table_name, ConsistentRead=True)["Items"][0]
    for attribute, value in (("__edb_e__", "Meeting"), ("__edb_v__", "2")):
        backend.client.put_item(TableName=table_name, Item={**item, attribute: {"S": value}})
        with pytest.raises(ItemDecodeError):
            mode.wait(tasks.get(team_key="tea room", task_key="t-2").strongly_consistent().send())
