"""Students of an online school: the class, its table, and the service that is all other code knows of them."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Annotated, Any

from dynamap import (
    ConditionFailed,
    F,
    GlobalIndex,
    Index,
    ItemNotFound,
    Normalize,
    Store,
    Sync,
    Table,
    entity,
    evolve,
    retry_on_conflict,
)
from recipes.soft_delete import LIVE, SoftDeletable, SoftRepository


def normalised(email: str) -> str:
    """The one form of an address: in what is stored, in the key of the index, and in what is looked up."""
    return email.strip().lower()


@entity(
    "STUDENT",
    pk="STUDENT#{id}",
    sk="STUDENT",
    # who is deleted leaves the index
    indexes=[Index("by-email", pk="EMAIL#{email}", sk="STUDENT#{id}", when=lambda: LIVE)],
)
class Student(SoftDeletable):
    """Somebody who learns; `xp` are the points that finished lessons bring.

    The base brings a version, and who deleted the student and when.
    """

    id: str
    first_name: str
    last_name: str
    email: Annotated[str, Normalize(normalised)]
    newsletter: bool = False
    xp: int = 0


School = Table("school", [Student], indexes=[GlobalIndex("by-email")])


def _new_id() -> str:
    return uuid.uuid4().hex


def _missing(id: str) -> ItemNotFound:  # noqa: A002 - the field's name
    return ItemNotFound(f"there is no student {id!r}", entity=Student, key={"id": id})


class Students:
    """The students in the table of a store.

    An index keeps nothing unique: several students may share an address, as a family does. The recipe `uniqueness` is
    for those who must not. Whoever is deleted is not there for any method but `restore`.
    """

    def __init__(self, store: Store[Sync], new_id: Callable[[], str] = _new_id) -> None:
        self._students = SoftRepository(store, Student, claims=None)
        self._new_id = new_id

    def enrol(self, first_name: str, last_name: str, email: str, *, newsletter: bool = False) -> Student:
        """A new student; also where the answer is lost on the way, there is one."""
        student = Student(self._new_id(), first_name, last_name, email, newsletter)
        return self._students.create(student)

    def find(self, id: str) -> Student | None:  # noqa: A002 - the field's name
        """The student as every write before left them, or None."""
        return self._students.get(id=id)

    def find_by_email(self, email: str) -> list[Student]:
        """All students with this address, however it is spelt; read from an index, so perhaps a moment old."""
        return self._students.query_index("by-email", email=email).send()

    @retry_on_conflict
    def change(
        self,
        id: str,  # noqa: A002 - the field's name
        *,
        first_name: str | None = None,
        last_name: str | None = None,
        email: str | None = None,
        newsletter: bool | None = None,
    ) -> Student:
        """Change what is given; what is None stays. Raises ItemNotFound if there is no such student."""
        given: dict[str, Any] = {
            "first_name": first_name,
            "last_name": last_name,
            "email": email,
            "newsletter": newsletter,
        }
        student = self.find(id)
        if student is None:
            raise _missing(id)
        changed = evolve(student, **{name: value for name, value in given.items() if value is not None})
        return self._students.update(student).to(changed).send()

    def award(self, id: str, points: int) -> Student:  # noqa: A002 - the field's name
        """Add points, once, also where an answer is lost. Raises ItemNotFound if there is no such student."""
        # the sum depends on nothing that was read, so no version has to guard it: awards never conflict
        more = self._students.update_by_key(id=id).add(F(Student.xp), points)
        try:
            return more.exactly_once().send()
        except ConditionFailed as error:
            raise _missing(id) from error

    def delete(self, id: str, *, by: str) -> Student:  # noqa: A002 - the field's name
        """Hide a student, and note who did it first. Raises ItemNotFound if there was no such student ever."""
        deleted = self._students.delete(by=by, id=id)
        if deleted is None:
            raise _missing(id)
        return deleted

    def restore(self, id: str) -> Student:  # noqa: A002 - the field's name
        """Show a student again, as before the deletion. Raises ItemNotFound if there was no such student ever."""
        return self._students.restore(id=id)
