"""The example of students: its story, and what such code easily gets wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dynamap import ItemNotFound, Store, Sync, connect, evolve
from dynamap.testing import Fault, FaultPlan
from examples.students.students import School, Student, Students
from tests.backends import Backend

ROOT = Path(__file__).parents[2]
NO_TRANSACTIONS = pytest.mark.not_on("dynalite", reason="it has no transactions")


@pytest.fixture
def store(backend: Backend, table_name: str) -> Iterator[Store[Sync]]:
    """The school on each backend in turn."""
    with connect(School, client=backend.client, prefix=f"{table_name}-") as made:
        made.create_table()
        yield made
        made.delete_table()


@pytest.fixture
def students(store: Store[Sync]) -> Students:
    """The service under test; its ids are 1, 2, 3 and so on."""
    ids = iter(range(1, 1_000))
    return Students(store, new_id=lambda: str(next(ids)))


def stored_items(store: Store[Sync], backend: Backend, table_name: str) -> int:
    counted: int = backend.client.scan(TableName=f"{table_name}-school", Select="COUNT", ConsistentRead=True)["Count"]
    return counted


def test_a_student_who_is_enrolled_is_found_by_id(students: Students) -> None:
    student = students.enrol("John", "Smith", "john@school.example")
    assert students.find(student.id) == student
    assert students.find("nobody") is None


@pytest.mark.parametrize("newsletter", [False, True])
@pytest.mark.parametrize("name", ["", "0", "None", "John"])
def test_what_is_falsy_comes_back_as_it_was(students: Students, name: str, newsletter: bool) -> None:
    student = students.enrol(name, "", "", newsletter=newsletter)
    found = students.find(student.id)
    assert found == student
    assert found is not None
    assert (found.first_name, found.last_name, found.email, found.newsletter) == (name, "", "", newsletter)
    assert (found.newsletter is newsletter, found.xp) == (True, 0)
    assert students.find_by_email("") == [student]


@pytest.mark.parametrize("spelt", ["john@school.example", "JOHN@SCHOOL.EXAMPLE", "  John@School.example\n"])
def test_an_address_is_the_same_however_it_is_spelt(students: Students, spelt: str) -> None:
    student = students.enrol("John", "Smith", "John@School.Example")
    assert student.email == "john@school.example"
    assert students.find_by_email(spelt) == [student]


def test_an_address_is_brought_into_its_form_when_it_changes(students: Students) -> None:
    student = students.enrol("John", "Smith", "john@school.example")
    changed = students.change(student.id, email=" J.Smith@School.Example")
    assert changed.email == "j.smith@school.example"
    assert students.find_by_email("J.SMITH@school.example") == [changed]
    assert students.find_by_email("john@school.example") == []


def test_one_field_changes_and_the_others_stay(students: Students) -> None:
    student = students.enrol("John", "Smith", "john@school.example", newsletter=True)
    changed = students.change(student.id, first_name="")
    assert (changed.first_name, changed.last_name, changed.newsletter) == ("", "Smith", True)
    changed = students.change(student.id, newsletter=False)
    assert (changed.first_name, changed.newsletter, changed.email) == ("", False, "john@school.example")
    assert students.find(student.id) == changed


def test_a_change_of_nothing_changes_nothing(students: Students) -> None:
    student = students.enrol("John", "Smith", "john@school.example")
    same = students.change(student.id)
    assert (same.first_name, same.last_name, same.email, same.xp) == ("John", "Smith", "john@school.example", 0)


def test_who_is_missing_is_an_error_and_no_item_is_left(
    students: Students, store: Store[Sync], backend: Backend, table_name: str
) -> None:
    for change in ({"first_name": "Ghost"}, {"email": "ghost@school.example"}, {}):
        with pytest.raises(ItemNotFound):
            students.change("nobody", **change)  # type: ignore[arg-type]
    assert stored_items(store, backend, table_name) == 0


@NO_TRANSACTIONS
def test_points_for_who_is_missing_are_an_error_and_no_item_is_left(
    students: Students, store: Store[Sync], backend: Backend, table_name: str
) -> None:
    with pytest.raises(ItemNotFound):
        students.award("nobody", 10)
    assert stored_items(store, backend, table_name) == 0


@NO_TRANSACTIONS
def test_points_of_many_writers_add_up_beside_changes(students: Students) -> None:
    student = students.enrol("John", "Smith", "john@school.example")
    with ThreadPoolExecutor(4) as pool:
        done = [pool.submit(students.award, student.id, 5) for _ in range(12)]
        done += [pool.submit(students.change, student.id, newsletter=True) for _ in range(2)]
        for each in done:
            each.result()
    found = students.find(student.id)
    assert found is not None
    assert (found.xp, found.newsletter) == (60, True)


@pytest.mark.parametrize("fault", [Fault.DROP_BEFORE, Fault.DROP_AFTER])
@NO_TRANSACTIONS
@pytest.mark.not_on("roto", reason="it takes a repeated client token for a new transaction")
def test_points_count_once_where_the_answer_is_lost(store: Store[Sync], students: Students, fault: Fault) -> None:
    student = students.enrol("John", "Smith", "john@school.example")
    unlucky = Students(FaultPlan({1: fault}).over(store))
    assert unlucky.award(student.id, 10).xp == 10
    found = students.find(student.id)
    assert found is not None
    assert found.xp == 10


def test_who_is_enrolled_is_there_once_where_the_answer_is_lost(
    store: Store[Sync], backend: Backend, table_name: str
) -> None:
    unlucky = Students(FaultPlan({1: Fault.DROP_AFTER}).over(store))
    student = unlucky.enrol("John", "Smith", "john@school.example")
    assert unlucky.find(student.id) == student
    assert stored_items(store, backend, table_name) == 1


@pytest.mark.not_on("roto", reason="its pages are not cut at 1 MB")
def test_all_students_of_an_address_are_found_beyond_the_first_page(students: Students, store: Store[Sync]) -> None:
    # a page is 1 MB at most: three of these, or fewer
    enrolled = [students.enrol("Heir", "x" * 300_000, "castle@school.example") for _ in range(7)]
    query = store.of(Student).index("by-email").query(email="castle@school.example")
    assert len(list(query.pages())) > 1
    assert students.find_by_email("castle@school.example") == enrolled


def test_ids_that_look_like_keys_are_ids_like_others(store: Store[Sync]) -> None:
    ids = ["x", "STUDENT#x", "STUDENT#STUDENT#x", "abcSTUDENT#d", "a$23b", "a#b"]
    remaining = iter(ids)
    students = Students(store, new_id=lambda: next(remaining))
    for id_ in ids:
        students.enrol(id_, "", f"{id_}@school.example")
    for id_ in ids:
        found: Any = students.find(id_)
        assert (found.id, found.first_name) == (id_, id_)
    assert students.find("abcd") is None


def test_who_is_deleted_is_hidden_and_comes_back_as_before(students: Students) -> None:
    john = students.enrol("John", "", "family@school.example", newsletter=True)
    mary = students.enrol("Mary", "Smith", "family@school.example")
    deleted = students.delete(john.id, by="head office")
    assert (deleted.id, deleted.first_name, deleted.deleted_by) == (john.id, "John", "head office")
    assert deleted.deleted_at is not None
    assert students.find(john.id) is None
    assert students.find_by_email("FAMILY@school.example") == [mary]

    restored = students.restore(john.id)
    assert evolve(restored, revision=john.revision) == john
    assert students.find(john.id) == restored
    assert students.find_by_email("family@school.example") == [restored, mary]


@pytest.mark.parametrize("name", ["", "0", "None"])
def test_who_deletes_first_is_noted_whatever_the_name(students: Students, name: str) -> None:
    student = students.enrol("John", "Smith", "john@school.example")
    first = students.delete(student.id, by=name)
    assert first.deleted_by == name
    assert students.delete(student.id, by="another") == first
    assert students.find(student.id) is None


def test_who_is_not_deleted_is_restored_without_a_change(students: Students) -> None:
    student = students.enrol("John", "Smith", "john@school.example")
    assert students.restore(student.id) == student


def test_who_was_never_there_is_neither_deleted_nor_restored(
    students: Students, store: Store[Sync], backend: Backend, table_name: str
) -> None:
    with pytest.raises(ItemNotFound):
        students.delete("nobody", by="head office")
    with pytest.raises(ItemNotFound):
        students.restore("nobody")
    assert stored_items(store, backend, table_name) == 0


def test_who_is_deleted_is_not_changed(students: Students) -> None:
    student = students.enrol("John", "Smith", "john@school.example")
    students.delete(student.id, by="head office")
    with pytest.raises(ItemNotFound):
        students.change(student.id, email="j.smith@school.example")
    assert students.find_by_email("j.smith@school.example") == []
    restored = students.restore(student.id)
    assert (restored.email, restored.first_name) == ("john@school.example", "John")


@NO_TRANSACTIONS
def test_who_is_deleted_earns_no_points(students: Students) -> None:
    student = students.enrol("John", "Smith", "john@school.example")
    students.award(student.id, 5)
    students.delete(student.id, by="head office")
    with pytest.raises(ItemNotFound):
        students.award(student.id, 10)
    assert students.restore(student.id).xp == 5


@NO_TRANSACTIONS
def test_points_that_were_earned_before_a_deletion_are_there_after_it(students: Students) -> None:
    student = students.enrol("John", "Smith", "john@school.example")

    def award() -> int:
        try:
            students.award(student.id, 1)
        except ItemNotFound:
            return 0
        return 1

    with ThreadPoolExecutor(4) as pool:
        earning = [pool.submit(award) for _ in range(12)]
        pool.submit(students.delete, student.id, by="head office").result()
        earned = sum(each.result() for each in earning)
    assert students.find(student.id) is None
    assert students.restore(student.id).xp == earned


@pytest.mark.parametrize("fault", [Fault.DROP_BEFORE, Fault.DROP_AFTER])
@pytest.mark.parametrize("call", [1, 2])
def test_a_deletion_and_its_undoing_survive_lost_answers(
    store: Store[Sync], students: Students, call: int, fault: Fault
) -> None:
    student = students.enrol("John", "Smith", "john@school.example")
    deleted = Students(FaultPlan({call: fault}).over(store)).delete(student.id, by="head office")
    assert deleted.deleted_by == "head office"
    assert students.find(student.id) is None
    restored = Students(FaultPlan({call: fault}).over(store)).restore(student.id)
    assert evolve(restored, revision=student.revision) == student
    assert students.find(student.id) == restored


def test_the_story_runs_as_a_program() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "examples.students"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "Awarded: 35 points" in done.stdout
    assert "Deleted: Mary by head office" in done.stdout
    assert "Refused: update of Student id='nobody': there is no such item" in done.stdout
