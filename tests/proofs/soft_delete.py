"""Proof of soft delete: against a model, with unique values and other writers, and while items are purged."""

from __future__ import annotations

import random
from types import ModuleType
from typing import Any

from dynamap import (
    Async,
    ConditionFailed,
    DynamapError,
    F,
    GlobalIndex,
    Index,
    ItemAlreadyExists,
    ItemNotFound,
    Store,
    Sync,
    Table,
    TransactionCanceled,
    VersionConflict,
    entity,
    evolve,
)
from dynamap.testing import Items, Run
from tests.proofs.framework import Mutant, Scenario, Stage, StagedBench

VALUES: tuple[dict[str, Any], ...] = (
    {"text": "", "count": 0, "done": False, "tags": ()},
    {"text": "x", "count": 1, "done": True, "tags": ("",)},
)


@entity("MAIL", pk="MAIL#{mail}", sk="MAIL", frozen=True)
class MailClaim:
    mail: str
    owner: str


def note_of(recipe: ModuleType) -> Any:
    @entity(
        "NOTE",
        pk="SHELF#{shelf}",
        sk="NOTE#{name}",
        indexes=[Index("gsi1", pk="TITLE#{title}", sk="NOTE#{name}", when=lambda: recipe.LIVE)],
    )
    class Note(recipe.SoftDeletable):  # type: ignore[misc, name-defined]
        shelf: str
        name: str
        title: str
        text: str = ""
        count: int = 0
        done: bool = False
        tags: tuple[str, ...] = ()

    return Note


def table_of(note: Any) -> Table:
    return Table("notes", [note, MailClaim], indexes=[GlobalIndex("gsi1")])


def is_deleted(item: Any) -> bool:
    return item is not None and item.deleted_at is not None


def is_live(item: Any) -> bool:
    return item is not None and item.deleted_at is None


class Keeper:
    """The only writer of a shelf: it knows what must be there, tombstones included."""

    def __init__(self, recipe: ModuleType, note: Any, store: Store[Async], shelf: str, clock: Any) -> None:
        self.recipe = recipe
        self.note = note
        self.shelf = shelf
        self.notes = recipe.SoftRepository(store, note, claims=None, clock=clock)
        self.model: dict[str, Any] = {}
        runtime: Any = store._runtime
        self.chance = random.Random(runtime.random())

    async def load(self) -> None:
        found = await self.notes.include_deleted().query(shelf=self.shelf).send()
        self.model = {item.name: item for item in found}

    async def step(self) -> None:
        """Do something to a note, and look whether it does what the model says."""
        name = self.chance.choice("ab")
        act = self.chance.choice((self.create, self.revive, self.delete, self.restore, self.update, self.add))
        item = self.model.get(name)
        # what one attempt did may be unknown: a read tells
        try:
            result = await act(name, item)
        except (ConditionFailed, ItemNotFound) as error:
            msg = f"S1: {act.__name__} of {item} was refused: {error!r}"
            raise AssertionError(msg) from error
        if result is None:
            assert name not in self.model, "S2: nothing became of it"
        else:
            self.model[name] = result

    async def create(self, name: str, item: Any) -> Any:
        new = self.note(self.shelf, name, self.shelf, **self.chance.choice(VALUES))
        try:
            stored = await self.notes.create(new)
        except self.recipe.Deleted:
            assert is_deleted(item), f"S1: {item} is not deleted"
            return item
        except ItemAlreadyExists:
            assert is_live(item), f"S1: {item} was in the way"
            return item
        assert item is None, f"S1: created over {item}"
        assert evolve(stored, revision=0) == new, "S6: another note was stored"
        return stored

    async def revive(self, name: str, item: Any) -> Any:
        if item is None:
            return None
        new = self.note(self.shelf, name, self.shelf, **self.chance.choice(VALUES))
        try:
            stored = await self.notes.revive(item, new)
        except self.recipe.NotDeleted:
            assert not is_deleted(item), f"S1: {item} is deleted"
            return item
        assert is_deleted(item), f"S1: {item} was replaced"
        assert evolve(stored, revision=0) == new, "S6: another note was stored"
        return stored

    async def delete(self, name: str, item: Any) -> Any:
        by = self.chance.choice(("", "bob"))
        deleted = await self.notes.delete(shelf=self.shelf, name=name, by=by)
        if item is None or is_deleted(item):
            assert deleted == item, f"S1: {item} became {deleted}"
            return item
        assert is_deleted(deleted), f"S1: {item} became {deleted}"
        assert deleted.deleted_by == by, f"S6: by {deleted.deleted_by!r} for {by!r}"
        same = evolve(deleted, deleted_at=None, deleted_by=None, revision=item.revision)
        assert same == item, f"S6: {item} became {deleted}"
        return deleted

    async def restore(self, name: str, item: Any) -> Any:
        try:
            restored = await self.notes.restore(shelf=self.shelf, name=name)
        except ItemNotFound:
            assert item is None, f"S1: {item} was not found"
            return None
        assert item is not None, f"S2: {restored} came to be"
        same = evolve(item, deleted_at=None, deleted_by=None, revision=restored.revision)
        assert restored == same, f"S1, S6: {item} became {restored}"
        return restored

    async def update(self, name: str, item: Any) -> Any:
        del name
        if item is None:
            return None
        values = self.chance.choice(VALUES)
        try:
            updated = await self.notes.update(item).to(evolve(item, **values)).send()
        except self.recipe.Deleted:
            assert is_deleted(item), f"S1: {item} is not deleted"
            return item
        assert not is_deleted(item), "S1: a deleted note was changed"
        assert updated == evolve(item, revision=updated.revision, **values), f"S6: {updated}"
        return updated

    async def add(self, name: str, item: Any) -> Any:
        one_more = self.notes.update_by_key(shelf=self.shelf, name=name).add(F(self.note, lambda note: note.count), 1)
        try:
            updated = await one_more.send()
        except ItemNotFound:
            assert item is None, f"S1: {item} was not found"
            return None
        except ConditionFailed:
            assert is_deleted(item), f"S1: {item} was refused"
            return item
        assert is_live(item), f"S1, S2: {item} became {updated}"
        assert updated == evolve(item, count=item.count + 1, revision=updated.revision)
        return updated

    async def look(self) -> None:
        """Read in one of the ways, with and without what is deleted."""
        whole = self.chance.choice((True, False))
        notes = self.notes.include_deleted() if whole else self.notes
        seen = [each for _, each in sorted(self.model.items()) if whole or not is_deleted(each)]
        by_name = [next((each for each in seen if each.name == name), None) for name in "abc"]
        keys = [{"shelf": self.shelf, "name": name} for name in "abc"]
        way = self.chance.choice(("get", "batch", "transaction", "query", "index", "scan"))
        letter = "S3"
        if way == "get":
            found, wanted = [await notes.get(**key) for key in keys[:2]], by_name[:2]
        elif way == "batch":
            found, wanted = await notes.get_many(keys), by_name
        elif way == "transaction":
            found, wanted = await notes.get_together(*keys), by_name
        elif way == "query":
            letter, limit = "S3, S4", self.chance.choice((1, 2))
            found, wanted = await notes.query(shelf=self.shelf).page_size(1).limit(limit).send(), seen[:limit]
        elif way == "index":
            found = await notes.query_index("gsi1", title=self.shelf).send()
            wanted = [each for each in seen if not is_deleted(each)]
        else:
            found = [each for each in await notes.scan().page_size(1).send() if each.shelf == self.shelf]
            found, wanted = sorted(found, key=lambda each: str(each.name)), seen
        assert found == wanted, f"{letter}: {way} shows {found} for {wanted}"


def model(recipe: ModuleType, stage: Stage) -> StagedBench:
    """S1 to S4, S6: two shelves, each against a dict with tombstones, under faults and with pages of one item."""
    note = note_of(recipe)
    bench = stage.bench(table_of(note), fault_rate=0.05)

    async def keep(store: Store[Async], shelf: str) -> None:
        keeper = Keeper(recipe, note, store, shelf, bench.clock)
        await keeper.load()
        for _ in range(5):
            try:
                await keeper.step()
            except DynamapError:
                await keeper.load()
            await keeper.look()

    for shelf in ("left", "right"):
        bench.client(keep, shelf, restarts=1)

    @bench.invariant
    def the_index_has_what_is_live(items: Items) -> None:
        for item in items:
            assert ("gsi1pk" in item) != ("deleted_at" in item), f"S3: in the index: {item}"

    return bench


def unique_values(recipe: ModuleType, stage: Stage) -> StagedBench:  # noqa: C901 - one story
    """claims: a value is claimed exactly while its owner is live, whoever deletes, restores and creates at once."""

    @entity("MEMBER", pk="MEMBER#{name}", sk="MEMBER")
    class Member(recipe.SoftDeletable):  # type: ignore[misc, name-defined]
        name: str
        mail: str = "m"

    member: Any = Member
    bench = stage.bench(Table("club", [member, MailClaim]), fault_rate=0.15)

    def members(store: Store[Async]) -> Any:
        mails = store.of(MailClaim)
        claims = recipe.Claims(
            claim=lambda item: [mails.put(MailClaim(item.mail, item.name)).if_not_exists()],
            release=lambda item: [mails.delete(mail=item.mail).if_(F(MailClaim.owner).eq(item.name))],
        )
        return recipe.SoftRepository(store, member, claims=claims, clock=bench.clock)

    @bench.setup
    def begin(store: Store[Sync]) -> None:
        store.of(member).put(member("a")).send()
        store.of(MailClaim).put(MailClaim("m", "a")).send()

    @bench.client(count=2)
    async def delete(store: Store[Async]) -> None:
        await members(store).delete(name="a", by="")

    @bench.client
    async def restore(store: Store[Async]) -> None:
        for _ in range(2):
            try:
                await members(store).restore(name="a")
            except recipe.ClaimTaken:
                continue

    @bench.client
    async def create(store: Store[Async]) -> None:
        try:
            await members(store).create(member("b"))
        except recipe.ClaimTaken:
            return

    @bench.invariant
    def claims_are_those_of_the_live(items: Items) -> None:
        live = [(item.mail, item.name) for item in items.of(member) if not is_deleted(item)]
        claims = [(claim.mail, claim.owner) for claim in items.of(MailClaim)]
        if claims or len(items) > 1:
            assert claims == live, f"claims: {claims} of {live}"

    @bench.afterwards
    def a_lost_race_is_run_again(run: Run) -> None:
        errors = [outcome.error for name, outcome in run.outcomes.items() if name != "create"]
        assert not any(isinstance(each, (TransactionCanceled, ConditionFailed)) for each in errors), f"claims: {errors}"

    return bench


def purging(recipe: ModuleType, stage: Stage) -> StagedBench:
    """S2: what was deleted for good does not come back, whatever others were about to do with it."""
    note = note_of(recipe)
    bench = stage.bench(table_of(note), fault_rate=0.15)
    purged: list[bool] = []

    @bench.setup
    def begin(store: Store[Sync]) -> None:
        purged.clear()
        store.of(note).put(note("left", "a", "t")).send()

    @bench.client(count=2)
    async def change(store: Store[Async]) -> None:
        notes = recipe.SoftRepository(store, note, claims=None, clock=bench.clock)
        key = {"shelf": "left", "name": "a"}
        try:
            await notes.delete(**key, by="bob")
            item = await notes.restore(**key)
            await notes.update(item).to(evolve(item, text="changed")).send()
        except (ItemNotFound, VersionConflict):
            return

    @bench.client
    async def purge(store: Store[Async]) -> None:
        await store.of(note).delete(shelf="left", name="a").ignore_version().send()

    @bench.invariant
    def nothing_comes_back(items: Items) -> None:
        if not items:
            purged.append(True)
        assert not (purged and items), f"S2: {items} came back"

    return bench


SCENARIOS: tuple[Scenario, ...] = (model, unique_values, purging)

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "S1",
        "deleted again",
        "(item.deleted_at is not None) == delete:",
        "(item.deleted_at is None and not delete):",
        ("model",),
    ),
    Mutant(
        "S1",
        "restored in part",
        "return evolve(item, deleted_at=None, deleted_by=None,",
        "return evolve(item, deleted_at=None,",
    ),
    Mutant("S1", "changed while it is deleted", ".ignore_version().if_(LIVE)", ".ignore_version()", ("model",)),
    Mutant("S1", "a live one is replaced", "if deleted.deleted_at is None:", "if deleted.revision == 0:", ("model",)),
    Mutant(
        "S2",
        "written without its guard",
        "write = self._items.update(item).to(changed(item))",
        "write = self._items.put(evolve(changed(item), revision=0))",
        ("purging",),
    ),
    Mutant("S3", "what is read by key", "or item.deleted_at is None or not self._hides", "or True", ("model",)),
    Mutant("S3", "queries", "return query.filter(LIVE) if self._hides else query", "return query", ("model",)),
    Mutant(
        "S3",
        "scans",
        "self._items.scan().filter(LIVE) if self._hides else self._items.scan()",
        "self._items.scan()",
        ("model",),
    ),
    Mutant("S3", "with those that are deleted", "whole._hides = False", "whole._hides = True", ("model",)),
    Mutant(
        "S4",
        "a page is not all",
        "return query.filter(LIVE) if",
        "return query.filter(LIVE).max_pages(1) if",
        ("model",),
    ),
    Mutant("S6", "an empty name is nobody's", "deleted_by=by,", "deleted_by=by or None,", ("model",)),
    Mutant("claims", "not released", "self._claims.release if self._claims else None", "None", ("unique_values",)),
    Mutant("claims", "not taken again", "self._claims.claim if self._claims else None", "None", ("unique_values",)),
    Mutant(
        "claims", "not taken", "put, self._claims.claim(item) if self._claims else ()", "put, ()", ("unique_values",)
    ),
    Mutant(
        "claims",
        "a lost race ends it",
        "on=VERSION | TRANSACTION)",
        "on=TRANSACTION)",
        ("unique_values",),
    ),
)
