"""Every operation against a plain dict, in any order, on every server: what is answered and stored is never another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from dynamap import DynamapError, F, Field, Reason, Refused, Store, TransactionCanceled, evolve
from dynamap.operations import cursor_keys
from dynamap.testing import MemoryEngine, memory_store, memory_store_async
from tests.backends import RunningBackends
from tests.depth import how_many
from tests.model_machine import (
    NAMES,
    SPACES,
    Doc,
    Entity,
    Key,
    Shelf,
    Tally,
    Write,
    fields_of,
    key_of,
    keys,
    new_entities,
    sort_key,
    writes,
)
from tests.modes import MODES, Mode

# aiohttp finds the body of a batch of large items long; nobody sees that but those who turn warnings into errors
pytestmark = pytest.mark.filterwarnings("ignore:Sending a large body directly:ResourceWarning")

SECRET = bytes(range(32))
RUNS = how_many(quick=6, deep=500)


def runs(count: int) -> settings:
    return settings(
        max_examples=count,
        stateful_step_count=how_many(quick=15, deep=25),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


spaces = st.sampled_from(SPACES)
page_sizes = st.sampled_from([1, 2, None])
ways = st.sampled_from(["send", "iterate", "pages", "cursors", "count"])


class Machine(RuleBasedStateMachine):
    """The store and the dict; the modes take turns by the run."""

    stores: dict[str, tuple[Mode, Store[Any]]]
    transactions: bool

    def __init__(self) -> None:
        super().__init__()
        self.model: dict[Key, Entity] = {}
        self.read: list[Entity] = []
        self.looked_at: type[Any] = Doc

    @initialize(mode=st.sampled_from(MODES), items=st.lists(new_entities, max_size=10))
    def connected(self, mode: str, items: list[Entity]) -> None:
        """Something to be read is there from the beginning."""
        self.mode, self.store = self.stores[mode]
        self.put_all(items)

    # ---- writes

    @rule(data=st.data())
    def write(self, data: st.DataObject) -> None:
        write = data.draw(writes(self.read))
        self.send(write)

    @rule(data=st.data())
    def write_if(self, data: st.DataObject) -> None:
        """A condition that is an answer."""
        write = data.draw(writes(self.read))
        operation = write.operation(self.store)
        expected = write.fails(self.model)
        if expected is None:
            self.wait(operation.try_send())
            self.applied(write)
            return
        try:
            answer: Any = self.wait(operation.try_send())
        except DynamapError as error:
            assert type(error) is expected
            return
        refused: Any = answer
        assert isinstance(answer, Refused)
        assert refused.seen == self.model.get(write.key)

    def send(self, write: Write) -> None:
        expected = write.fails(self.model)
        try:
            self.wait(write.operation(self.store).send())
        except DynamapError as error:
            assert type(error) is expected, f"{write.what}: {error!r}"
        else:
            assert expected is None, f"{write.what}: no {expected}"
            self.applied(write)

    def applied(self, *done: Write) -> None:
        """Take over what must be stored now, and the revisions that the service gave."""
        for write in done:
            after = write.done(self.model)
            self.model = self.with_revision(after, write.key) if after != self.model else after

    def with_revision(self, after: dict[Key, Entity], key: Key) -> dict[Key, Entity]:
        if key not in after:
            return after
        stored = self.get(key)
        expected = after[key]
        if isinstance(expected, Doc) and expected.revision == 0:
            assert isinstance(stored, Doc)
            assert stored.revision > 0
            expected = evolve(expected, revision=stored.revision)
        assert stored == expected
        self.read = [*self.read, expected][-6:]
        return {**after, key: expected}

    @rule(items=st.lists(new_entities, min_size=1, max_size=4))
    def put_many(self, items: list[Entity]) -> None:
        self.put_all(items)

    def put_all(self, items: list[Entity]) -> None:
        for cls in (Doc, Tally):
            own = [item for item in items if type(item) is cls]
            if own:
                self.wait(self.store.of(cls).put_many(own, unversioned=cls is Doc).send())
        # of several puts of one key the last stays
        for key, item in {key_of(item): item for item in items}.items():
            self.model = self.with_revision({**self.model, key: item}, key)

    @rule(deleted=st.lists(keys, min_size=1, max_size=4))
    def delete_many(self, deleted: list[Key]) -> None:
        for cls in (Doc, Tally):
            own = [fields_of(key) for key in deleted if key[0] is cls]
            if own:
                self.wait(self.store.of(cls).delete_many(own, unversioned=cls is Doc).send())
        self.model = {key: item for key, item in self.model.items() if key not in deleted}

    @rule(data=st.data())
    def transact(self, data: st.DataObject) -> None:
        if not self.transactions:
            return
        all_writes = data.draw(
            st.lists(writes(self.read, checks=True), min_size=1, max_size=4, unique_by=lambda write: write.key)
        )
        operations = [write.operation(self.store) for write in all_writes]
        failing = [write.fails(self.model) is not None for write in all_writes]
        try:
            self.wait(self.store.transact(*operations).send())
        except TransactionCanceled as error:
            reasons = [error.reason_for(operation) is Reason.CONDITION_FAILED for operation in operations]
            assert reasons == failing, [write.what for write in all_writes]
            for write, operation, fails in zip(all_writes, operations, failing, strict=True):
                if fails:
                    assert error.item_for(operation) == self.model.get(write.key)
        else:
            assert not any(failing), [write.what for write in all_writes]
            self.applied(*all_writes)

    # ---- reads

    @rule(key=keys)
    def get_one(self, key: Key) -> None:
        assert self.get(key) == self.model.get(key)

    @rule(wanted=st.lists(keys, max_size=5), cls=st.sampled_from([Doc, Tally]))
    def get_many(self, wanted: list[Key], cls: type[Any]) -> None:
        own = [key for key in wanted if key[0] is cls]
        query = self.store.of(cls).get_many([fields_of(key) for key in own]).strongly_consistent()
        assert self.wait(query.send()) == [self.model.get(key) for key in own]

    @rule(wanted=st.lists(keys, min_size=1, max_size=3, unique=True))
    def get_at_one_moment(self, wanted: list[Key]) -> None:
        if self.transactions:
            gets = [self.store.of(key[0]).get(**fields_of(key)) for key in wanted]
            assert list(self.wait(self.store.transact_get(*gets).send())) == [self.model.get(key) for key in wanted]

    @rule(
        space=spaces,
        names=st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)).map(sorted),
        kind=st.sampled_from(["all", "one", "between", "begins_with"]),
        least=st.sampled_from([None, None, 0, 1]),
        reverse=st.booleans(),
        size=page_sizes,
        limit=st.sampled_from([None, None, 1, 2]),
        way=ways,
    )
    def query_docs(
        self,
        space: str,
        names: list[str],
        kind: str,
        least: int | None,
        reverse: bool,
        size: int | None,
        limit: int | None,
        way: str,
    ) -> None:
        low, high = names
        holding: dict[str, Callable[[str], bool]] = {
            "all": lambda name: True,
            "one": lambda name: name == low,
            "between": lambda name: low <= name <= high,
            "begins_with": lambda name: name.startswith(low),
        }
        query = self.store.of(Doc).query(space=space, **({"name": low} if kind == "one" else {}))
        if kind == "between":
            query = query.range(F(Doc.name).between(low, high))
        elif kind == "begins_with":
            query = query.range(F(Doc.name).begins_with(low))
        expected = [item for item in self.docs(space) if holding[kind](item.name)]
        if least is not None:
            query = query.filter(F(Doc.count).ge(least))
            expected = [item for item in expected if item.count >= least]
        self.compare(query, expected, reverse=reverse, size=size, limit=limit, way=way)

    @rule(space=spaces, reverse=st.booleans(), size=page_sizes, limit=st.sampled_from([None, 1, 3]), way=ways)
    def query_both(self, space: str, reverse: bool, size: int | None, limit: int | None, way: str) -> None:
        expected = sorted((item for item in self.model.values() if item.space == space), key=sort_key)
        query = self.store.query(Tally, Doc, space=space).consistent()
        self.compare(query, expected, reverse=reverse, size=size, limit=limit, way=way)
        groups = ([item for item in expected if type(item) is cls] for cls in (Tally, Doc))
        assert self.wait(query.grouped().send()) == tuple(groups)

    @rule(note=st.sampled_from(["x", "y"]), size=page_sizes, way=ways)
    def query_index(self, note: str, size: int | None, way: str) -> None:
        noted = [item for item in self.model.values() if isinstance(item, Tally) and item.note == note]
        expected = sorted(noted, key=lambda item: (item.number, item.space))
        query = self.store.of(Tally).index("notes").query(note=note)
        self.compare(query, expected, reverse=False, size=size, limit=None, way=way)

    @rule(
        cls=st.sampled_from([Doc, Tally]),
        segments=st.sampled_from([1, 1, 2]),
        tag=st.sampled_from([None, None, "p"]),
        size=page_sizes,
        way=st.sampled_from(["send", "iterate", "pages", "count"]),
    )
    def scan(self, cls: type[Any], segments: int, tag: str | None, size: int | None, way: str) -> None:
        query = self.store.of(cls).scan().consistent().segments(segments)
        query = query if size is None else query.page_size(size)
        expected = [item for item in self.model.values() if type(item) is cls]
        if tag is not None:
            query = query.filter(Field[Any](cls, ("tags",)).contains(tag))
            expected = [item for item in expected if tag in item.tags]
        found = self.answered(query, way)
        if way == "count":
            assert found == len(expected)
        else:
            assert sorted(found, key=_everywhere) == sorted(expected, key=_everywhere)

    @invariant()
    def nothing_else_is_stored(self) -> None:
        if hasattr(self, "store"):
            # one class after the other, each at every second step
            self.looked_at = Doc if self.looked_at is Tally else Tally
            found = self.wait(self.store.of(self.looked_at).scan().consistent().send())
            expected = [item for item in self.model.values() if type(item) is self.looked_at]
            assert sorted(found, key=_everywhere) == sorted(expected, key=_everywhere)

    def teardown(self) -> None:
        """Leave an empty table to the next run, however this one has ended."""
        mode, store = self.stores["sync"]
        for cls in (Doc, Tally):
            found = mode.wait(store.of(cls).scan().consistent().send())
            mode.wait(store.of(cls).delete_many(found, unversioned=True).send())

    # ---- what the rules share

    def wait(self, answer: Any) -> Any:
        return self.mode.wait(answer)

    def get(self, key: Key) -> Any:
        return self.wait(self.store.of(key[0]).get(**fields_of(key)).strongly_consistent().send())

    def docs(self, space: str) -> list[Doc]:
        return sorted(
            (item for item in self.model.values() if isinstance(item, Doc) and item.space == space), key=sort_key
        )

    def compare(
        self, query: Any, expected: list[Any], *, reverse: bool, size: int | None, limit: int | None, way: str
    ) -> None:
        query = query.reverse() if reverse else query
        query = query if size is None else query.page_size(size)
        expected = expected[::-1] if reverse else expected
        # of a page that is asked for by its cursor, the limit is that of the page
        wanted = expected if limit is None or way == "cursors" else expected[:limit]
        found = self.answered(query if limit is None else query.limit(limit), way)
        assert found == (len(wanted) if way == "count" else wanted)

    def answered(self, query: Any, way: str) -> Any:
        if way in ("send", "count"):
            return self.wait((query if way == "send" else query.count()).send())
        if way != "cursors":
            return (
                self.listed(query)
                if way == "iterate"
                else [i for page in self.listed(query.pages()) for i in page.items]
            )
        found: list[Any] = []
        cursor: str | None = None
        while True:
            page = self.wait(query.page(cursor).send())
            found += page.items
            cursor = page.next
            if cursor is None:
                return found

    def listed(self, stream: Any) -> list[Any]:
        async def collected() -> list[Any]:
            return [item async for item in stream]

        return self.wait(collected()) if self.mode.is_async else list(stream)


def _everywhere(item: Entity) -> tuple[Any, ...]:
    return item.space, *sort_key(item)


@pytest.fixture
def in_memory(running_modes: dict[str, Mode]) -> dict[str, tuple[Mode, Store[Any]]]:
    """A store in each mode over one table in memory."""
    engine = MemoryEngine()
    made: dict[str, Any] = {
        "sync": memory_store(Shelf, engine=engine),
        "async": memory_store_async(Shelf, engine=engine),
    }
    for store in made.values():
        store._runtime = replace(store._runtime, cursor_keys=cursor_keys(SECRET, None))
    return {name: (running_modes[name], store) for name, store in made.items()}


@pytest.fixture
def stores(
    request: pytest.FixtureRequest, running_backends: RunningBackends, running_modes: dict[str, Mode], table_name: str
) -> Iterator[dict[str, tuple[Mode, Store[Any]]]]:
    """A store in each mode over one new table."""
    backend = running_backends.get(request.param)
    made = {
        name: (mode, mode.connect(Shelf, backend, cursor_key=SECRET).with_name(table_name))
        for name, mode in running_modes.items()
    }
    mode, store = made["sync"]
    mode.wait(store.create_table())
    yield made
    mode.wait(store.delete_table())


def machine(made: dict[str, tuple[Mode, Store[Any]]], *, transactions: bool = True) -> Any:
    return type("Machine", (Machine,), {"stores": made, "transactions": transactions})


@pytest.mark.deep
@pytest.mark.parametrize("stores", ["embedded", "ministack", "roto"], indirect=True)
def test_as_a_dict(stores: dict[str, tuple[Mode, Store[Any]]]) -> None:
    run_state_machine_as_test(machine(stores), settings=runs(RUNS))


@pytest.mark.deep
def test_as_a_dict_in_memory(in_memory: dict[str, tuple[Mode, Store[Any]]]) -> None:
    run_state_machine_as_test(machine(in_memory), settings=runs(how_many(quick=25, deep=5000)))


@pytest.mark.deep
@pytest.mark.parametrize("stores", ["dynalite"], indirect=True)
def test_as_a_dict_without_transactions(stores: dict[str, tuple[Mode, Store[Any]]]) -> None:
    run_state_machine_as_test(machine(stores, transactions=False), settings=runs(RUNS))
