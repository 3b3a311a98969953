"""The story of two students, told on a DynamoDB inside this process: `python -m examples.students`."""

from __future__ import annotations

from dynamap import ItemNotFound, connect
from dynamap.testing import embedded
from examples.students.students import School, Students


def main() -> None:
    """Enrol, find, change, award, delete, restore; each step is asserted."""
    with embedded() as endpoint_url, connect(School, endpoint_url=endpoint_url) as store:
        store.create_table()
        students = Students(store)

        john = students.enrol("John", "Smith", "John@School.example", newsletter=True)
        mary = students.enrol("Mary", "Smith", "john@school.example")
        print("Enrolled:", john)
        assert students.find(john.id) == john

        found = students.find_by_email("JOHN@school.EXAMPLE")
        print("Found by e-mail:", ", ".join(student.first_name for student in found))
        assert {student.id for student in found} == {john.id, mary.id}

        changed = students.change(mary.id, email="Mary@school.example", last_name="")
        print("Changed:", changed)
        assert students.find_by_email("mary@school.example") == [changed]
        assert students.find_by_email("john@school.example") == [john]
        assert changed.last_name == ""

        lessons = (10, 25)
        for points in lessons:
            print("Awarded:", students.award(john.id, points).xp, "points")
        assert students.change(john.id, newsletter=False).xp == sum(lessons)

        mary = students.delete(changed.id, by="head office")
        print("Deleted:", mary.first_name, "by", mary.deleted_by)
        assert students.find(mary.id) is None
        assert students.find_by_email("mary@school.example") == []
        restored = students.restore(mary.id)
        print("Restored:", restored)
        assert students.find_by_email("mary@school.example") == [restored]
        assert (restored.deleted_at, restored.deleted_by) == (None, None)

        try:
            students.award("nobody", 10)
        except ItemNotFound as error:
            print("Refused:", error)
        assert students.find("nobody") is None


if __name__ == "__main__":
    main()
