"""Students of an online school: the class, its table, and the service that is all other code knows of them."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Annotated, Any

from dynamap import F, GlobalIndex, Index, Normalize, Store, Sync, Table, entity, evolve, retry_on_conflict


def normalised(email: str) -> str:
    """The one form of an address: in what is stored, in the key of the index, and in what is looked up."""
    return email.strip().lower()


@entity(
    "STUDENT",
    pk="STUDENT#{id}",
    sk="STUDENT",
    version="revision",
    indexes=[Index("by-email", pk="EMAIL#{email}", sk="STUDENT#{id}")],
    frozen=True,
)
class Student:
    """Somebody who learns; `xp` are the points that finished lessons bring."""

    id: str
    first_name: str
    last_name: str
    email: Annotated[str, Normalize(normalised)]
    newsletter: bool = False
    xp: int = 0
    revision: int = 0


School = Table("school", [Student], indexes=[GlobalIndex("by-email")])


def _new_id() -> str:
    return uuid.uuid4().hex


class Students:
    """The students in the table of a store.

    An index keeps nothing unique: several students may share an address, as a family does. The recipe `uniqueness` is
    for those who must not.
    """

    def __init__(self, store: Store[Sync], new_id: Callable[[], str] = _new_id) -> None:
        self._students = store.of(Student)
        self._new_id = new_id

    def enrol(self, first_name: str, last_name: str, email: str, *, newsletter: bool = False) -> Student:
        """A new student; also where the answer is lost on the way, there is one."""
        student = Student(self._new_id(), first_name, last_name, email, newsletter)
        return self._students.put(student).if_not_exists().send()

    def find(self, id: str) -> Student | None:  # noqa: A002 - the field's name
        """The student as every write before left them, or None."""
        return self._students.get(id=id).send()

    def find_by_email(self, email: str) -> list[Student]:
        """All students with this address, however it is spelt; read from an index, so perhaps a moment old."""
        return self._students.index("by-email").query(email=email).send()

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
        student = self._students.get(id=id).required().send()
        changed = evolve(student, **{name: value for name, value in given.items() if value is not None})
        return self._students.update(student).to(changed).send()

    def award(self, id: str, points: int) -> Student:  # noqa: A002 - the field's name
        """Add points, once, also where an answer is lost. Raises ItemNotFound if there is no such student."""
        # the sum depends on nothing that was read, so no version has to guard it: awards never conflict
        more = self._students.update(id=id).ignore_version().add(F(Student.xp), points)
        return more.exactly_once().send()
