"""Get many: any number of items by their keys, answered in the order of the keys."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import NoneType
from typing import Any, Final, Generic, TypeVar

import msgspec
from typing_extensions import Self

from dynamap.errors import BatchIncomplete, DynamapError, ItemDecodeError, RequestError, ServiceError
from dynamap.markers import D
from dynamap.model import UNREAD, StoredItem
from dynamap.operations.base import Moment, Operation, Scope
from dynamap.operations.batches import (
    MOST_PLACES,
    Given,
    Reader,
    Rounds,
    check_time,
    identity_of,
    key_of,
    reason,
    shown,
    then,
)
from dynamap.operations.item_key import ItemKey
from dynamap.operations.replies import batch_decoder
from dynamap.operations.sending import read
from dynamap.operations.settling import unexpired
from dynamap.operations.stopping import Stop, unless_stopped
from dynamap.operations.stream import Stream, gathered
from dynamap.plan import Call, Emit, Item, Join, Plan, Spawn, Ticket

__all__ = ["GetMany"]

M = TypeVar("M")

# https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html
MOST_KEYS: Final = 100
# each may bring 16 MB
MOST_IN_FLIGHT: Final = 4


class GetMany(Stream[D, "M | None"], Operation[D, "list[M | None]"], Generic[D, M]):
    """Read any number of items by their keys; answers in the order of the keys, None where nothing is stored.

    Reads 100 keys in a request and up to four requests at a time, so that up to 400 keys are taken from the iterable
    before the first answer. A loop over it holds no more than those in memory, however many there are; `send()` answers
    a list. In asyncio the iterable is read in the event loop. A key that is there several times is answered in each of
    its places, and read once if those are near each other, within the 400.

    What the service leaves out, for load or because a reply is full at 16 MB, is asked for again. What it keeps
    leaving out is `BatchIncomplete`, with the keys that are `left`. Each answer is as `get` would have it: an expired
    item is None, one of another class is an `ItemDecodeError`. A mistake in a key, KeyValueError or RequestError, is
    raised in its place, after the answers to the keys before it.

    Versioned types are read strongly unless asked otherwise, others eventually. Costs a read unit for each 4 KB of each
    item, half of one if read eventually, and as much as an item of 4 KB for a key without one.
    """

    _scope: Scope[M]
    _given: Given[Any]
    _what: str
    _consistent: bool
    _expired_included: bool

    def __init__(self, scope: Scope[M], keys: Iterable[M | ItemKey[M] | Mapping[str, Any]]) -> None:
        what = f"get_many of {scope.entity.cls.__qualname__}"
        self.__dict__.update(
            _runtime=scope.runtime,
            _scope=scope,
            _given=Given(keys, scope.entity.cls, what, "key"),
            _what=what,
            _consistent=scope.consistent,
            _expired_included=False,
        )

    def strongly_consistent(self) -> Self:
        """Read what every write that was answered before has stored; costs twice as much."""
        return self._copy(_consistent=True)

    def eventually_consistent(self) -> Self:
        """Read what may be a little old, for half the price."""
        return self._copy(_consistent=False)

    def include_expired(self) -> Self:
        """Answer items whose time is over too, until DynamoDB has deleted them."""
        return self._copy(_expired_included=True)

    # ---- compiling

    def _call(self, moment: Moment) -> Call:
        """The first request."""
        del moment
        reader = _Reader(self._scope, self._given.peek(), self._what)
        chunk = reader.take()
        if reader.error is not None:
            raise reader.error
        if not chunk.slots:
            msg = f"{self._what}: there are no keys, so nothing would be sent"
            raise RequestError(msg)
        return self._request(slot.key for slot in chunk.slots.values())

    def _request(self, keys: Iterable[Item]) -> Call:
        wanted: dict[str, Any] = {"Keys": list(keys)}
        if self._consistent:
            wanted["ConsistentRead"] = True
        table = self._scope.table_name
        return Call("BatchGetItem", {"RequestItems": {table: wanted}}, batch_decoder(self._scope.entity, table))

    # ---- the plans

    def _plan(self) -> Plan[list[M | None]]:
        found: list[M | None] = []
        try:
            yield from gathered(self._emitting(), found)
        except BatchIncomplete as error:
            error.answered = tuple(found)
            raise
        return found

    def _emitting(self) -> Plan[None]:
        stop = Stop()
        try:
            yield from self._in_order(stop)
        finally:
            stop.requested = True

    def _in_order(self, stop: Stop) -> Plan[None]:
        check_time(self._runtime, self._what, "read")
        reader = _Reader(self._scope, self._given.begin(), self._what)
        window: deque[_Chunk] = deque()
        running: dict[Ticket, _Chunk] = {}
        following: _Chunk | None = None
        while True:
            while (following or reader.more) and len(window) < MOST_IN_FLIGHT:
                chunk, following = following or reader.take(), None
                if not chunk.places:
                    break
                if not window and reader.more:
                    # whether there is another one is not known before it is asked for
                    ahead = reader.take()
                    following = ahead if ahead.places else None
                chunk.now = None if self._expired_included else self._scope.expiry(Moment(self._runtime.clock(), ""))
                window.append(chunk)
                if not following and not reader.more and len(window) == 1:
                    # a single request needs nobody beside it
                    chunk.error = yield from self._fetch(chunk)
                elif chunk.slots:
                    ticket = yield Spawn(unless_stopped(self._fetch(chunk), stop))
                    chunk.ticket = ticket
                    running[ticket] = chunk
            if not window:
                break
            while window[0].ticket in running:
                ticket, error = yield Join(tuple(running))
                running.pop(ticket).error = error
            first = window.popleft()
            yield from self._hand_out(first, window, reader)
            reader.forget(first)
        if reader.error is not None:
            raise reader.error

    def _fetch(self, chunk: _Chunk) -> Plan[DynamapError | None]:
        """Read what a chunk asks for into its slots; answers why some of it could not be read."""
        waiting = dict(chunk.slots)
        rounds = Rounds(self._runtime)
        while waiting:
            call = self._request(slot.key for slot in waiting.values())
            try:
                reply = yield from read(self._runtime, call, self._what)
            except DynamapError as error:
                return error
            left = self._take_reply(reply, waiting)
            progressed = len(left) < len(waiting)
            waiting = left
            if waiting:
                pause = rounds.pause(progressed=progressed)
                if pause is None:
                    return rounds.given_up(self._what, len(waiting))
                yield pause
        rounds.succeeded()
        return None

    def _take_reply(
        self, reply: Mapping[str, Any], waiting: Mapping[tuple[Any, ...], _Slot]
    ) -> dict[tuple[Any, ...], _Slot]:
        """Put the items where they are waited for; answers what is waited for still."""
        responses: Mapping[str, Sequence[Any]] = reply.get("Responses") or {}
        unprocessed: Mapping[str, Mapping[str, Sequence[Item]]] = reply.get("UnprocessedKeys") or {}
        stored = self._scope.entity.stored_items
        for items in responses.values():
            if stored.are_structs(items):
                identities: Iterable[Any] = map(stored.identity, items)
            else:
                identities = [identity_of(self._scope, item) for item in items]
            for identity, item in zip(identities, items, strict=True):
                slot = waiting.get(identity)
                if slot is not None:
                    slot.item = item
        if not unprocessed:
            for slot in waiting.values():
                slot.answered = True
            return {}
        left = {identity_of(self._scope, key) for wanted in unprocessed.values() for key in wanted["Keys"]}
        if not left <= waiting.keys():
            # it left out what was not asked for: then only what it brought is known
            left = {identity for identity, slot in waiting.items() if slot.item is None}
        for identity, slot in waiting.items():
            slot.answered = identity not in left
        return {identity: slot for identity, slot in waiting.items() if identity in left}

    # ---- answers

    def _hand_out(self, chunk: _Chunk, later: Iterable[_Chunk], reader: _Reader) -> Plan[None]:
        answers: list[Any] = []
        entity = self._scope.entity
        try:
            items: list[Any] = [slot.item for slot in chunk.places]
            if NoneType not in map(type, items) and entity.ttl_attribute is None:
                entity.decode_into(items, answers)
            else:
                self._answer_each(chunk, answers)
        except ItemDecodeError:
            yield Emit(answers)
            raise
        yield Emit(answers)
        if chunk.error is not None and len(answers) < len(chunk.places):
            if isinstance(chunk.error, ServiceError):
                raise chunk.error
            places = [*chunk.places[len(answers) :], *(slot for each in later for slot in each.places)]
            raise self._incomplete(places, reader, chunk.error) from chunk.error

    def _answer_each(self, chunk: _Chunk, answers: list[M | None]) -> None:
        for slot in chunk.places:
            if not slot.answered:
                break
            answers.append(self._answer(slot, chunk.now))

    def _answer(self, slot: _Slot, now: int | None) -> M | None:
        entity = self._scope.entity
        item = unexpired(entity, slot.item, now)
        if isinstance(item, StoredItem) and (read := item.reader.read(item)) is not UNREAD:
            return read
        return None if item is None else entity.decode(item)

    def _incomplete(self, places: Sequence[_Slot], reader: _Reader, error: DynamapError) -> BatchIncomplete:
        left = tuple(ItemKey(self._scope.entity.cls, slot.values) for slot in places)
        counted = f"{len(left):,} of the {reader.count:,} keys that were taken"
        msg = (
            f"{self._what}: {counted} have no answer, the first of them {shown(left[0].values)}: {reason(error)}; "
            f"ask again for what is in .left{then(reader.error, 'key')}"
        )
        return BatchIncomplete(msg, left=left)


class _Slot(msgspec.Struct, eq=False):
    """One key, and what is stored there once it is *answered*."""

    values: Mapping[str, Any]
    key: Item
    item: Item | None = None
    answered: bool = False


@dataclass(slots=True, eq=False)
class _Chunk:
    """One request: the *slots* that it fills, and the *places* of the iterable that it answers, in order."""

    slots: dict[tuple[Any, ...], _Slot] = field(default_factory=dict[tuple[Any, ...], _Slot])
    places: list[_Slot] = field(default_factory=list[_Slot])
    now: int | None = None
    ticket: Ticket | None = None
    error: DynamapError | None = None


class _Reader(Reader["tuple[Mapping[str, Any], Item]"]):
    """Makes requests of the keys that the iterable gives."""

    def __init__(self, scope: Scope[Any], given: Iterator[Any], what: str) -> None:
        super().__init__(given, partial(key_of, scope), what, "key")
        self._scope = scope
        self._known: dict[tuple[Any, ...], _Slot] = {}

    def take(self) -> _Chunk:
        """The next request; without places if there is nothing left."""
        chunk = _Chunk()
        slots, places, known = chunk.slots, chunk.places, self._known
        identity_of_key = self._scope.entity.layout.identity
        while len(slots) < MOST_KEYS and len(places) < MOST_PLACES:
            several = self._several(min(MOST_KEYS - len(slots), MOST_PLACES - len(places)))
            for values, key in several:
                identity = identity_of_key(key)
                slot = known.get(identity)
                if slot is None:
                    slot = known[identity] = slots[identity] = _Slot(values, key)
                places.append(slot)
            if not several:
                break
        return chunk

    def forget(self, chunk: _Chunk) -> None:
        """What this request has read is old now: if asked for again, it is read again."""
        for identity in chunk.slots:
            del self._known[identity]
