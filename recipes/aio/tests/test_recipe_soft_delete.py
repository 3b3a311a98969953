"""How soft delete is used, and what it hides and refuses; copied along with the recipe."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dynamap import Async, F, GlobalIndex, Index, ItemAlreadyExists, Store, Table, VersionConflict, entity, evolve
from dynamap.testing import memory_store_async
from recipes.aio.soft_delete import LIVE, Claims, ClaimTaken, Deleted, SoftDeletable, SoftRepository

pytestmark = pytest.mark.asyncio  # asyncio only

NOW = 1_700_000_000.0


@entity("MAIL", pk="MAIL#{mail}", sk="MAIL", frozen=True)
class MailClaim:
    """Says whose address it is."""

    mail: str
    owner: str


@entity(
    "STUDENT",
    pk="SCHOOL#{school}",
    sk="STUDENT#{name}",
    ttl="purge_at",
    indexes=[Index("gsi1", pk="MAIL#{mail}", sk="STUDENT#{name}", when=lambda: LIVE)],
)
class Student(SoftDeletable):
    """What is deleted so."""

    school: str
    name: str
    mail: str
    points: int = 0


def school() -> Store[Async]:
    table = Table("school", [Student, MailClaim], indexes=[GlobalIndex("gsi1")], ttl="ttl")
    return memory_store_async(table, clock=lambda: NOW)


def students_of(store: Store[Async]) -> SoftRepository[Student]:
    mails = store.of(MailClaim)
    claims = Claims[Student](
        claim=lambda student: [mails.put(MailClaim(student.mail, student.name)).if_not_exists()],
        release=lambda student: [mails.delete(mail=student.mail).if_(F(MailClaim.owner).eq(student.name))],
    )
    return SoftRepository(store, Student, claims=claims, clock=lambda: NOW)


async def test_a_deleted_item_is_hidden_and_can_be_restored() -> None:
    students = students_of(school())
    ada = await students.create(Student("s", "ada", "ada@example.org"))
    deleted = await students.delete(school="s", name="ada", by="bob")
    assert deleted is not None
    assert deleted.deleted_by == "bob"
    assert await students.get(school="s", name="ada") is None
    assert await students.query(school="s").send() == []
    assert await students.query_index("gsi1", mail="ada@example.org").send() == []
    assert await students.include_deleted().get(school="s", name="ada") == deleted
    restored = await students.restore(school="s", name="ada")
    assert restored == evolve(ada, revision=restored.revision)
    assert await students.query_index("gsi1", mail="ada@example.org").send() == [restored]


async def test_a_deleted_item_is_not_changed() -> None:
    students = students_of(school())
    ada = await students.create(Student("s", "ada", "ada@example.org"))
    deleted = await students.delete(school="s", name="ada", by="bob")
    assert deleted is not None
    with pytest.raises(Deleted):
        students.update(deleted)
    with pytest.raises(Deleted):
        await students.create(Student("s", "ada", "ada@example.org"))
    revived = await students.revive(deleted, Student("s", "ada", "ada@example.org", points=3))
    assert revived.revision > ada.revision
    assert await students.get(school="s", name="ada") == revived


async def test_an_address_is_free_while_its_owner_is_deleted() -> None:
    students = students_of(school())
    await students.create(Student("s", "ada", "a@example.org"))
    await students.delete(school="s", name="ada", by="bob")
    await students.create(Student("s", "ann", "a@example.org"))
    with pytest.raises(ClaimTaken):
        await students.restore(school="s", name="ada")


async def test_what_has_expired_is_gone() -> None:
    students = students_of(school())
    await students.create(Student("s", "ada", "a@example.org"))
    await students.delete(school="s", name="ada", by="bob", purge_after=timedelta(0))
    assert await students.include_deleted().get(school="s", name="ada") is None


async def test_with_claims_it_is_refused_by_the_same_errors_as_without() -> None:
    students = students_of(school())
    ada = await students.create(Student("eth", "ada", "ada@example.org"))
    with pytest.raises(ItemAlreadyExists) as caught:
        await students.create(Student("eth", "ada", "other@example.org"))
    assert caught.value.seen == ada
    deleted = await students.delete(school="eth", name="ada", by="bob")
    assert deleted is not None
    await students.revive(deleted, ada)
    with pytest.raises(VersionConflict):
        await students.revive(deleted, ada)
