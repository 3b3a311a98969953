"""Soft delete: a deleted item is hidden, not gone; it says when and by whom, and can be restored until it is purged.

Guarantees
    What is deleted is in the answer of no read of a SoftRepository: get, query, scan, batch, transactional read, index;
    `include_deleted()` shows it. A limit counts what is shown. It is not changed while it is deleted, and nothing that
    is not there comes to be but by `create`. Who deletes first is noted. Restored, an item is what it was before.
    Claims of unique values are released and taken again in the transaction that deletes and restores, or kept.

Does not guarantee
    Anything for those who read or write past the SoftRepository, by `store.of(...)`. That an item can be restored: its
    unique values may be taken by then, and its time may be over. Deletion for good: privacy needs `purge_after`, or
    `store.of(...)`, and DynamoDB deletes what has expired days later. That an index shows a deletion at once.

Costs
    Deleting or restoring: a strong read and a write of the whole item, with claims twice the write and 2 write units
    for each, and the index entries.
    A tombstone in a partition costs each query the read units of its size, though not in an index with `when=`.

Take another
    A delete and a backup (point-in-time recovery) where only accidents are to be undone. A status field where deleted
    things go on to be looked at. `truncate` for many items at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, Generic, TypeVar

from dynamap import (
    TRANSACTION,
    VERSION,
    Async,
    F,
    ItemAlreadyExists,
    ItemKey,
    ItemNotFound,
    Put,
    Query,
    Reason,
    Rewrite,
    Scan,
    Store,
    TransactionCanceled,
    Update,
    UpdateItem,
    VersionConflict,
    Write,
    entity,
    evolve,
    retry_on_conflict,
)

__all__ = ["ClaimTaken", "Claims", "Deleted", "NotDeleted", "SoftDeletable", "SoftRepository"]

RUNS = 20


class Deleted(Exception):
    """The item is deleted: restore or revive it first."""


class NotDeleted(Exception):
    """The item is not deleted, so that nothing may take its place."""


class ClaimTaken(Exception):
    """A unique value of the item belongs to another one by now: nothing was changed. `claim` is the write of it."""

    def __init__(self, message: str, claim: object) -> None:
        super().__init__(message)
        self.claim = claim


@entity(abstract=True, version="revision", kw_only=True)
class SoftDeletable:
    """The base of what can be deleted so: `@entity("USER", pk=..., ttl="purge_at") class User(SoftDeletable)`.

    `purge_at` counts only where the class and its table say that it is the TTL.
    """

    deleted_at: datetime | None = None
    deleted_by: str | None = None
    purge_at: datetime | None = None
    revision: int = 0


LIVE = F(SoftDeletable.deleted_at).not_exists()
"""The condition of what is not deleted, for a `when=` too: `Index("gsi1", pk="MAIL#{mail}", when=lambda: LIVE)`."""

M = TypeVar("M", bound=SoftDeletable)


@dataclass(frozen=True)
class Claims(Generic[M]):
    """The writes that claim the unique values of an item, and those that release them, each on its own condition."""

    claim: Callable[[M], Sequence[Write[Async, object]]]
    release: Callable[[M], Sequence[Write[Async, object]]]


class SoftRepository(Generic[M]):
    """The items of a class without those that are deleted.

    *claims* are released by a deletion and taken again by a restoration; None keeps them with the deleted item, or
    says that there are none. *clock* answers epoch seconds.
    """

    def __init__(
        self,
        store: Store[Async],
        model: type[M],
        *,
        claims: Claims[M] | None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._model = model
        self._items = store.of(model)
        self._claims = claims
        self._clock = clock
        self._hides = True

    def include_deleted(self) -> SoftRepository[M]:
        """The same items, with those that are deleted."""
        whole = SoftRepository(self._store, self._model, claims=self._claims, clock=self._clock)
        whole._hides = False
        return whole

    # ---- reads

    def shown(self, item: M | None) -> M | None:
        """What is seen of an item that was read in some other way."""
        return item if item is None or item.deleted_at is None or not self._hides else None

    async def get(self, **key: object) -> M | None:
        """One item."""
        return self.shown(await self._items.get(**key).send())

    async def get_many(self, keys: Iterable[M | ItemKey[M] | Mapping[str, Any]]) -> list[M | None]:
        """Any number of items, in the order of their keys."""
        return [self.shown(item) for item in await self._items.get_many(keys).send()]

    async def get_together(self, *keys: Mapping[str, Any]) -> list[M | None]:
        """Up to 100 items as they are at one moment."""
        found = await self._store.transact_get(*(self._items.get(**key) for key in keys)).send()
        return [self.shown(item) for item in found]

    def query(self, **leading: object) -> Query[Async, M]:
        """The items of a partition, for more steps, and `send()`."""
        return self._filtered(self._items.query(**leading))

    def query_index(self, name: str, **leading: object) -> Query[Async, M]:
        """The same in an index, which must hold `deleted_at`. With `when=` it never has deleted items to include."""
        return self._filtered(self._items.index(name).query(**leading))

    def scan(self) -> Scan[Async, M]:
        """All items."""
        return self._items.scan().filter(LIVE) if self._hides else self._items.scan()

    def _filtered(self, query: Query[Async, M]) -> Query[Async, M]:
        return query.filter(LIVE) if self._hides else query

    # ---- writes

    async def create(self, item: M) -> M:
        """Store a new item and claim its values.

        Raises Deleted where a deleted one is in its place: `revive` it. ItemAlreadyExists, ClaimTaken, OutcomeUnknown.
        """
        put = self._items.put(item).if_not_exists()
        try:
            return await self._send(put, self._claims.claim(item) if self._claims else ())
        except ItemAlreadyExists as error:
            if isinstance(error.seen, SoftDeletable) and error.seen.deleted_at is not None:
                msg = "a deleted item is in the place of the new one"
                raise Deleted(msg) from error
            raise

    async def revive(self, deleted: M, item: M) -> M:
        """Store a new item over a deleted one that was read by `include_deleted()`.

        Raises NotDeleted, VersionConflict if it was changed since, ClaimTaken, OutcomeUnknown.
        """
        if deleted.deleted_at is None:
            msg = "only a deleted item can be revived"
            raise NotDeleted(msg)
        new = evolve(item, revision=deleted.revision, deleted_at=None, deleted_by=None, purge_at=None)
        return await self._send(self._items.update(deleted).to(new), self._claims.claim(new) if self._claims else ())

    def update(self, item: M) -> UpdateItem[Async, M]:
        """Change an item that was read: `.to(changed)`, or steps. Whoever deletes it meanwhile wins. Raises Deleted.

        Claims stay as they are: to change a unique value, send this in a transaction with the claims of both values.
        """
        if item.deleted_at is not None:
            msg = "a deleted item is not changed"
            raise Deleted(msg)
        return self._items.update(item)

    def update_by_key(self, **key: object) -> Update[Async, M]:
        """Change an item by steps, whatever version it has: ConditionFailed if it is deleted, ItemNotFound."""
        return self._items.update(**key).ignore_version().if_(LIVE)

    async def delete(self, *, by: str, purge_after: timedelta | None = None, **key: object) -> M | None:
        """Hide an item; answers it as it is now, None if there is none.

        One that is deleted stays as it is. After *purge_after* it has expired. Raises VersionConflict after 20 lost
        runs, OutcomeUnknown.
        """
        if purge_after is not None and purge_after < timedelta():
            msg = f"an item is purged after its deletion, not before; got {purge_after}"
            raise ValueError(msg)

        def deleted(item: M) -> M:
            now = datetime.fromtimestamp(self._clock(), timezone.utc)
            purge_at = None if purge_after is None else now + purge_after
            return evolve(item, deleted_at=now, deleted_by=by, purge_at=purge_at)

        return await self._change(key, deleted, self._claims.release if self._claims else None, delete=True)

    async def restore(self, **key: object) -> M:
        """Show an item again; one that is not deleted stays as it is.

        Raises ItemNotFound, also if its time is over, ClaimTaken, VersionConflict after 20 lost runs, OutcomeUnknown.
        """

        def restored(item: M) -> M:
            return evolve(item, deleted_at=None, deleted_by=None, purge_at=None)

        item = await self._change(key, restored, self._claims.claim if self._claims else None, delete=False)
        if item is None:
            msg = f"there is no {self._model.__name__} to restore"
            raise ItemNotFound(msg, entity=self._model, key=key)
        return item

    @retry_on_conflict(attempts=RUNS, on=VERSION | TRANSACTION)
    async def _change(
        self,
        key: Mapping[str, object],
        changed: Callable[[M], M],
        claims: Callable[[M], Sequence[Write[Async, object]]] | None,
        *,
        delete: bool,
    ) -> M | None:
        item = await self._items.get(**key).strongly_consistent().send()
        if item is None or (item.deleted_at is not None) == delete:
            return item
        write = self._items.update(item).to(changed(item))
        return await self._send(write, claims(item) if claims else ())

    async def _send(self, write: Put[Async, M] | Rewrite[Async, M], claims: Sequence[Write[Async, object]]) -> M:
        """Send it with the claims, refused as it would be without. Only where it was not, a claim was in the way."""
        if not claims:
            return await write.send()
        try:
            return (await self._store.transact(write, *claims).send()).stored(write)
        except TransactionCanceled as error:
            if not {failure.reason for failure in error.failures} <= {None, Reason.CONDITION_FAILED}:
                raise
            if error.reason_for(write) is None:
                refused = [each for each in claims if error.reason_for(each) is Reason.CONDITION_FAILED]
                msg = f"a unique value of the {self._model.__name__} is not its own"
                raise ClaimTaken(msg, refused[0]) from error
            is_new = isinstance(write, Put)
            msg = f"the {self._model.__name__} {'is there already' if is_new else 'was changed by another writer'}"
            raise (ItemAlreadyExists if is_new else VersionConflict)(msg, seen=error.item_for(write)) from error
