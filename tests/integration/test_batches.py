"""Batches on every server, in both modes: all, once, in order, whatever the servers do with batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dynamap import BatchIncomplete, Key, OutcomeUnknown, Store, Table, VersionConflict, entity, evolve
from dynamap.store import intercepted
from dynamap.testing import Fault, FaultPlan, Refusal, Unprocessed
from tests.backends import Backend
from tests.leaving import Leaving
from tests.modes import Mode, RawTable


@entity("NOTE", pk="NOTE#{id}", sk="NOTE", frozen=True)
class Note:
    id: str
    text: str = ""


@entity("DOC", pk="DOC#{id}", sk="DOC", version="revision", frozen=True)
class Doc:
    id: str
    text: str = ""
    revision: int = 0


@entity("VIEWS", frozen=True)
class Views:
    page: int
    count: int = 0


@pytest.fixture
def store(mode: Mode, backend: Backend, raw: RawTable) -> Store[Any]:
    return mode.connect(Table(raw.name, [Note, Doc]), backend)


def notes(number: int) -> Iterator[Note]:
    return (Note(str(each), f"text {each}") for each in range(number))


def keys(number: int) -> Iterator[dict[str, str]]:
    return ({"id": str(each)} for each in range(number))


def looped(mode: Mode, stream: Any) -> list[Any]:
    """What a loop over it gives."""

    async def loop() -> list[Any]:
        return [each async for each in stream]

    found: list[Any] = mode.wait(loop()) if mode.is_async else list(stream)
    return found


def test_what_is_put_is_read_and_deleted(mode: Mode, store: Store[Any]) -> None:
    repository = store.of(Note)
    assert mode.wait(repository.put_many(notes(130)).send()) is None
    wanted = [{"id": "77"}, repository.key(id="none"), Note("3"), *keys(130), {"id": "77"}]
    expected = [Note("77", "text 77"), None, Note("3", "text 3"), *notes(130), Note("77", "text 77")]
    assert mode.wait(repository.get_many(wanted).send()) == expected
    assert looped(mode, repository.get_many(wanted)) == expected
    assert mode.wait(repository.delete_many([*keys(129), {"id": "none"}, Note("5"), Note("5")]).send()) is None
    assert looped(mode, repository.get_many(keys(130))) == [*[None] * 129, Note("129", "text 129")]


def test_what_is_left_undone_is_done_later(mode: Mode, store: Store[Any]) -> None:
    leaving = Leaving(0.3, seed=4)
    repository = intercepted(store, leaving).of(Note)
    mode.wait(repository.put_many(notes(120)).send())
    assert mode.wait(repository.get_many(keys(120)).send()) == list(notes(120))
    mode.wait(repository.delete_many(keys(120)).send())
    assert mode.wait(store.of(Note).get_many(keys(120)).send()) == [None] * 120
    assert leaving.left > 60


def test_the_last_put_of_a_key_stays(mode: Mode, store: Store[Any]) -> None:
    repository = intercepted(store, Leaving(0.4, seed=5)).of(Note)
    items = [Note(str(each % 30), str(each)) for each in range(200)]
    mode.wait(repository.put_many(items).send())
    expected = {item.id: item.text for item in items}
    found = mode.wait(repository.get_many(keys(30)).send())
    assert {each.id: each.text for each in found} == expected


@pytest.mark.parametrize(
    "faults",
    [
        {1: Fault.DROP_AFTER, 2: Fault.DROP_BEFORE},
        {1: Unprocessed(), 2: Fault.ERROR_AFTER, 3: Fault.THROTTLE},
        {1: Fault.DAMAGED, 2: Fault.NOT_SENT},
    ],
    ids=str,
)
def test_faults_on_the_way(mode: Mode, store: Store[Any], faults: dict[int, Any]) -> None:
    repository = FaultPlan(faults).over(store).of(Note)
    mode.wait(repository.put_many(notes(60)).send())
    repository = FaultPlan(faults).over(store).of(Note)
    assert mode.wait(repository.get_many(keys(60)).send()) == list(notes(60))
    repository = FaultPlan(faults).over(store).of(Note)
    mode.wait(repository.delete_many(keys(60)).send())
    assert mode.wait(store.of(Note).get_many(keys(60)).send()) == [None] * 60


def test_what_was_refused_is_left(mode: Mode, store: Store[Any]) -> None:
    repository = FaultPlan({2: Refusal("AccessDeniedException")}).over(store).of(Note)
    with pytest.raises(BatchIncomplete) as caught:
        mode.wait(repository.put_many(notes(60)).send())
    left = {each.id for each in caught.value.left}
    found = mode.wait(store.of(Note).get_many(keys(60)).send())
    assert {each.id for each in found if each is not None} == set(map(str, range(60))) - left
    mode.wait(store.of(Note).put_many(caught.value.left).send())
    assert mode.wait(store.of(Note).get_many(keys(60)).send()) == list(notes(60))


def test_versions_start_afresh(mode: Mode, store: Store[Any]) -> None:
    docs = store.of(Doc)
    mode.wait(docs.put_many([Doc("a", "1"), Doc("b", "1")], unversioned=True).send())
    first, _ = mode.wait(docs.get_many([{"id": "a"}, {"id": "b"}]).send())
    changed = mode.wait(docs.update(first).to(evolve(first, text="2")).send())
    assert changed.revision == first.revision + 1
    mode.wait(docs.put_many([evolve(first, text="3")], unversioned=True).send())
    with pytest.raises(VersionConflict):
        mode.wait(docs.update(changed).to(evolve(changed, text="4")).send())
    mode.wait(docs.delete_many([changed], unversioned=True).send())
    assert mode.wait(docs.get_many([{"id": "a"}, {"id": "b"}]).send())[0] is None


def test_a_lost_answer_of_a_versioned_type_is_unknown(mode: Mode, store: Store[Any]) -> None:
    plan = FaultPlan({1: Fault.DROP_AFTER})
    items = [Doc("a"), Doc("b")]
    with pytest.raises(OutcomeUnknown) as caught:
        mode.wait(plan.over(store).of(Doc).put_many(items, unversioned=True).send())
    assert caught.value.left == tuple(items)
    assert len(plan.calls) == 1


def test_numbers_and_no_sort_key(mode: Mode, backend: Backend, table_name: str) -> None:
    store = mode.connect(Table(table_name, [Views], pk=Key("page", int), sk=None), backend)
    mode.wait(store.create_table())
    views = intercepted(store, Leaving(0.3, seed=6)).of(Views)
    mode.wait(views.put_many(Views(number * 10, number) for number in range(60)).send())
    found = mode.wait(views.get_many({"page": number * 10} for number in range(60)).send())
    assert found == [Views(number * 10, number) for number in range(60)]
    mode.wait(store.delete_table())
