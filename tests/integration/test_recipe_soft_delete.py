"""Soft delete on every backend, in both modes: every read, indexes, limits, purging, and what never makes an item."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from types import ModuleType
from typing import Any

import pytest

from dynamap import (
    ConditionFailed,
    F,
    GlobalIndex,
    Index,
    ItemAlreadyExists,
    ItemNotFound,
    Store,
    Table,
    VersionConflict,
    entity,
    evolve,
)
from recipes import soft_delete
from recipes.aio import soft_delete as soft_delete_async
from tests.backends import Backend
from tests.modes import Mode


@entity("BARE", pk="BARE#{name}", sk="BARE")
class Bare:
    """Something that does not expire."""

    name: str


def student_of(recipe: ModuleType) -> Any:
    @entity(
        "STUDENT",
        pk="SCHOOL#{school}",
        sk="STUDENT#{name}",
        ttl="purge_at",
        indexes=[
            Index("gsi1", pk="MAIL#{mail}", sk="STUDENT#{name}", when=lambda: recipe.LIVE),
            Index("gsi2", pk="GROUP#{group}", sk="STUDENT#{name}"),
        ],
    )
    class Student(recipe.SoftDeletable):  # type: ignore[misc, name-defined]
        """What is deleted so."""

        school: str
        name: str
        mail: str = "m"
        group: str = "g"
        text: str = ""
        points: int = 0
        is_active: bool = False
        nothing: None = None
        tags: frozenset[str] = frozenset()

    return Student


@pytest.fixture
def recipe(mode: Mode) -> ModuleType:
    return soft_delete_async if mode.is_async else soft_delete


@pytest.fixture
def student(recipe: ModuleType) -> Any:
    return student_of(recipe)


@pytest.fixture
def store(mode: Mode, backend: Backend, table_name: str, student: Any) -> Iterator[Store[Any]]:
    indexes = [GlobalIndex("gsi1"), GlobalIndex("gsi2")]
    # made without its TTL, which dynalite does not know, and nothing is to be deleted meanwhile
    mode.wait(mode.connect(Table(table_name, [Bare], indexes=indexes), backend).create_table())
    made = mode.connect(Table(table_name, [student], indexes=indexes, ttl="ttl"), backend)
    yield made
    mode.wait(made.delete_table())


@pytest.fixture
def students(store: Store[Any], recipe: ModuleType, student: Any) -> Any:
    return recipe.SoftRepository(store, student, claims=None)


def names(items: list[Any]) -> list[str | None]:
    return [None if item is None else item.name for item in items]


def test_hidden_in_every_read(mode: Mode, students: Any, student: Any, backend: Backend) -> None:
    for name in "abcdef":
        mode.call(students.create, student("s", name))
    for name in "abd":
        mode.call(partial(students.delete, school="s", name=name, by=""))
    whole = students.include_deleted()
    keys = [{"school": "s", "name": name} for name in "abc"]
    assert mode.call(partial(students.get, **keys[0])) is None
    assert mode.call(partial(whole.get, **keys[0])).deleted_by == ""
    assert names(mode.call(students.get_many, keys)) == [None, None, "c"]
    assert names(mode.call(whole.get_many, keys)) == ["a", "b", "c"]
    if backend.name != "dynalite":  # it has no transactions
        assert names(mode.call(students.get_together, *keys)) == [None, None, "c"]
        assert names(mode.call(whole.get_together, *keys)) == ["a", "b", "c"]
    assert names(mode.wait(students.query(school="s").page_size(1).limit(2).send())) == ["c", "e"]
    assert names(mode.wait(students.query(school="s").page_size(1).limit(9).send())) == ["c", "e", "f"]
    assert mode.wait(students.query(school="s").count().send()) == 3
    assert names(mode.wait(whole.query(school="s").send())) == list("abcdef")
    assert sorted(item.name for item in mode.wait(students.scan().send())) == ["c", "e", "f"]
    assert len(mode.wait(whole.scan().send())) == 6
    # the one index does not have them, of the other they are filtered out
    assert names(mode.wait(students.query_index("gsi1", mail="m").page_size(1).limit(2).send())) == ["c", "e"]
    assert names(mode.wait(whole.query_index("gsi1", mail="m").send())) == ["c", "e", "f"]
    assert names(mode.wait(students.query_index("gsi2", group="g").page_size(1).limit(2).send())) == ["c", "e"]
    assert names(mode.wait(whole.query_index("gsi2", group="g").send())) == list("abcdef")


@pytest.mark.parametrize(
    "values",
    [{}, {"text": "x", "points": -1, "is_active": True, "tags": frozenset({"", "t"})}],
    ids=["falsy", "others"],
)
def test_restored_as_it_was(mode: Mode, students: Any, student: Any, values: dict[str, Any]) -> None:
    key = {"school": "s", "name": "student#student#"}
    stored = mode.call(students.create, student(**key, **values))
    deleted = mode.call(partial(students.delete, **key, by="bob", purge_after=timedelta(days=30)))
    again = mode.call(partial(students.delete, **key, by="eve"))
    assert again == mode.call(partial(students.include_deleted().get, **key))
    assert (again.deleted_by, again.deleted_at) == ("bob", deleted.deleted_at)
    assert mode.wait(students.query_index("gsi1", mail="m").send()) == []
    restored = mode.call(partial(students.restore, **key))
    assert restored == evolve(stored, revision=restored.revision)
    assert mode.call(partial(students.restore, **key)) == restored
    assert mode.wait(students.query_index("gsi1", mail="m").send()) == [restored]


def test_nothing_makes_an_item_but_create(mode: Mode, store: Store[Any], students: Any, student: Any) -> None:
    key = {"school": "s", "name": "a"}
    points = F(student, lambda item: item.points)
    assert mode.call(partial(students.delete, **key, by="bob")) is None
    with pytest.raises(ItemNotFound, match="no Student to restore"):
        mode.call(partial(students.restore, **key))
    with pytest.raises(ItemNotFound):
        mode.call(students.update_by_key(**key).add(points, 1).send)
    read = mode.call(students.create, student(**key))
    mode.wait(store.of(student).delete(read).send())
    with pytest.raises(VersionConflict):
        mode.call(students.update(read).set(points, 1).send)
    assert mode.wait(store.of(student).scan().send()) == []


def test_what_is_deleted_is_not_changed(mode: Mode, students: Any, student: Any, recipe: ModuleType) -> None:
    key = {"school": "s", "name": "a"}
    points = F(student, lambda item: item.points)
    read = mode.call(students.create, student(**key))
    with pytest.raises(ItemAlreadyExists):
        mode.call(students.create, student(**key))
    with pytest.raises(recipe.NotDeleted):
        mode.call(students.revive, read, student(**key))
    deleted = mode.call(partial(students.delete, **key, by="bob"))
    with pytest.raises(VersionConflict):
        mode.call(students.update(read).set(points, 1).send)
    with pytest.raises(ConditionFailed):
        mode.call(students.update_by_key(**key).add(points, 1).send)
    with pytest.raises(recipe.Deleted):
        students.update(deleted)
    with pytest.raises(recipe.Deleted):
        mode.call(students.create, student(**key))
    assert mode.call(partial(students.include_deleted().get, **key)) == deleted
    revived = mode.call(students.revive, deleted, student(**key, text="new"))
    assert mode.call(partial(students.get, **key)) == revived
    with pytest.raises(VersionConflict):
        mode.call(students.revive, deleted, student(**key, text="newer"))


def test_purged_is_gone_though_it_lies_there(
    mode: Mode, store: Store[Any], recipe: ModuleType, students: Any, student: Any
) -> None:
    key = {"school": "s", "name": "a"}
    mode.call(students.create, student(**key))
    earlier = recipe.SoftRepository(store, student, claims=None, clock=lambda: time.time() - 90)
    mode.call(partial(earlier.delete, **key, by="bob", purge_after=timedelta(seconds=60)))
    assert mode.call(partial(students.include_deleted().get, **key)) is None
    assert len(mode.wait(store.of(student, consistent=True).scan().include_expired().send())) == 1
    with pytest.raises(ItemNotFound):
        mode.call(partial(students.restore, **key))
    assert mode.call(students.create, student(**key, text="new")).text == "new"
    assert mode.wait(store.of(student).scan().count().send()) == 1
