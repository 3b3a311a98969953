"""Put many, delete many: any number of writes without conditions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

import msgspec

from dynamap.codec import JsonItem, exceeds
from dynamap.errors import (
    BatchIncomplete,
    DynamapError,
    OutcomeUnknown,
    RequestError,
    ServiceError,
    UnguardedWrite,
)
from dynamap.markers import D
from dynamap.operations.base import Moment, Operation, Scope
from dynamap.operations.batches import (
    MOST_PLACES,
    Given,
    Reader,
    Rounds,
    annotate,
    check_model,
    check_time,
    identity_of,
    key_of,
    reason,
    shown,
    then,
)
from dynamap.operations.index_keys import completed, stored_item
from dynamap.operations.item_key import ItemKey
from dynamap.operations.item_size import check_item_size
from dynamap.operations.sending import Repeat, write
from dynamap.operations.stopping import Stop, unless_stopped
from dynamap.plan import Call, CallFailed, Item, Join, Plan, Spawn, Ticket

__all__ = ["DeleteMany", "PutMany"]

M = TypeVar("M")

# https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html
MOST_WRITES: Final = 25
MOST_BYTES: Final = 16 * 1024 * 1024
MOST_IN_FLIGHT: Final = 8

_SMALL: Final = 32 * 1024
# a control character of one byte is \u0001 in JSON
_LONGEST_ESCAPE: Final = 6
# {"PutRequest": {"Item": ...}}, and more than that
_ENVELOPE: Final = 64


class _Entry(msgspec.Struct, eq=False):
    """One write of a request: *source* is what the caller gets back if it is left, *values* are its key fields.

    Those of an instance are left to be asked for.
    """

    position: int
    source: Any
    values: Mapping[str, Any] | None
    identity: tuple[Any, ...]
    request: dict[str, Any]
    weight: int = 0
    """The bytes that it takes in a request, or more."""
    item: Item | JsonItem | None = None
    """What a put stores, but for its version."""


_Chunk = dict[tuple[Any, ...], _Entry]


@dataclass(slots=True)
class _Ended:
    """How the sending of a chunk ended: what was left of it, and why."""

    left: _Chunk = field(default_factory=dict[tuple[Any, ...], _Entry])
    error: DynamapError | None = None


@dataclass(frozen=True, slots=True)
class _Batch:
    """Where a batch goes, its words, and what makes a write of one thing that is given, raising what is wrong with it.

    *inner* is where the key stands in a request.
    """

    scope: Scope[Any]
    what: str
    noun: str
    done: str
    entry: Callable[[Scope[Any], Any, int], _Entry]
    inner: str

    @property
    def repeat(self) -> Repeat:
        """Whether a request whose answer was lost may follow itself."""
        # of a version it would lay down again what other writers have raised since, or delete what they made
        return Repeat.SAFELY if self.scope.entity.version is None else Repeat.NEVER

    def stamp(self, chunk: _Chunk, moment: Moment) -> None:
        """Give the items of a request the version that starts afresh."""
        attribute = self.scope.entity.version_attribute
        if attribute is not None:
            version = {attribute: {"N": str(self.scope.entity.layout.first_version(moment.start))}}
            for entry in chunk.values():
                if entry.item is not None:
                    entry.request = {"PutRequest": {"Item": completed(entry.item, version)}}

    def request(self, chunk: _Chunk) -> Call:
        """The call that writes a chunk."""
        requests = [entry.request for entry in chunk.values()]
        holds_json = any(type(entry.item) is JsonItem for entry in chunk.values())
        return Call("BatchWriteItem", {"RequestItems": {self.scope.table_name: requests}}, holds_json=holds_json)

    def write(self, chunk: _Chunk) -> Plan[_Ended]:
        """Send a chunk until all of it is done, or no more of it can be."""
        runtime = self.scope.runtime
        repeat = self.repeat
        rounds = Rounds(runtime)
        left = chunk
        lost: CallFailed | None = None
        while True:
            try:
                answer = yield from write(runtime, self.request(left), self.what, repeat, lost)
            except DynamapError as error:
                return _Ended(left, error)
            undone = None if answer.reply is None else self._undone(answer.reply)
            progressed = False
            if undone is None or not undone <= left.keys():
                # some may be undone, and nobody knows which
                if repeat is Repeat.NEVER:
                    return _Ended(left, self._unreadable(answer.cause))
                lost = answer.cause
            else:
                lost = None
                progressed = len(undone) < len(left)
                left = {identity: entry for identity, entry in left.items() if identity in undone}
                if not left:
                    rounds.succeeded()
                    return _Ended()
            pause = rounds.pause(progressed=progressed)
            if pause is None:
                return _Ended(left, rounds.given_up(self.what, len(left)) if lost is None else self._unreadable(lost))
            yield pause

    def _undone(self, reply: Mapping[str, Any]) -> set[tuple[Any, ...]]:
        """The keys of what a reply says was not processed."""
        unprocessed: Mapping[str, Sequence[Mapping[str, Mapping[str, Item]]]] = reply.get("UnprocessedItems") or {}
        return {
            identity_of(self.scope, inner[self.inner])
            for requests in unprocessed.values()
            for request in requests
            for inner in request.values()
        }

    def _unreadable(self, cause: CallFailed | None) -> OutcomeUnknown:
        msg = f"{self.what}: it was answered, but the answer that says what was left undone cannot be read"
        error = OutcomeUnknown(msg)
        error.__cause__ = None if cause is None else cause.origin
        return error


class _WriteMany(Operation[D, None], Generic[D, M]):
    """What puts and deletes have in common."""

    _scope: Scope[M]
    _given: Given[Any]
    _batch: _Batch

    def _begin(self, batch: _Batch, things: Iterable[Any], verb: str, *, free: bool) -> None:
        entity = batch.scope.entity
        given = Given(things, entity.cls, batch.what, batch.noun)
        if entity.version is not None and not free:
            msg = (
                f"{batch.what}: the type is versioned, and a batch cannot look at versions: {verb} them one by one or "
                f"in a transaction, or say unversioned=True to {verb} whatever version is stored"
            )
            raise UnguardedWrite(msg)
        self.__dict__.update(_runtime=batch.scope.runtime, _scope=batch.scope, _given=given, _batch=batch)

    def _call(self, moment: Moment) -> Call:
        """The first request."""
        reader = _Reader(self._batch, self._given.peek(), moment)
        chunk = reader.take()
        if reader.error is not None:
            raise reader.error
        if not chunk:
            msg = f"{self._batch.what}: there are no {self._batch.noun}s, so nothing would be sent"
            raise RequestError(msg)
        return self._batch.request(chunk)

    def _plan(self) -> Plan[None]:
        batch, runtime = self._batch, self._runtime
        check_time(runtime, batch.what, batch.done)
        stop = Stop()
        try:
            yield from _Sending(batch, _Reader(batch, self._given.begin(), runtime.moment()), stop).run()
        finally:
            stop.requested = True


class PutMany(_WriteMany[D, M]):
    """Create or replace any number of items, each on its own, without conditions; answers None.

    Writes 25 items in a request and up to eight requests at a time. The iterable is read as they are sent, in asyncio
    in the event loop, so that memory holds no more than those however many items there are. The items are as if each
    had been put in its turn: of two with the same key the later one stays. Within a request only it is sent, else it
    waits until the earlier one is written.

    Each item is checked before its request is sent. EncodeError, KeyValueError, ItemTooLarge or RequestError is raised
    in its turn, when those before it are written, and says how many they are; so is what the iterable itself raises.

    What the service leaves undone is sent again. So is a request whose answer was lost: the last writer wins, as it
    does for `put`. What cannot be done is `BatchIncomplete`, with the items that are `left`, or `OutcomeUnknown`, also
    with what is `left`, if some of that may have been written after all. A ServiceError says that nothing was.

    Versioned types need *unversioned*, for a batch cannot look at versions: each item is written over whatever is
    stored, and its version starts afresh, as that of a new item, so that who has read the old one meets a
    `VersionConflict`. A lost answer is `OutcomeUnknown` then. Costs a write unit for each KB of the larger of the old
    and the new item.
    """

    def __init__(self, scope: Scope[M], items: Iterable[M], *, unversioned: bool) -> None:
        what = f"put_many of {scope.entity.cls.__qualname__}"
        batch = _Batch(scope, what, "item", "written", _put_entry, "Item")
        self._begin(batch, items, "put", free=unversioned)


class DeleteMany(_WriteMany[D, M]):
    """Delete any number of items by their keys, each on its own; those that are not there are fine. Answers None.

    Reads its iterable, sends, repeats and ends as putting many does: 25 keys in a request, up to eight requests at a
    time; of a key that is there several times one is enough. What is `left` are keys. Versioned types need
    *unversioned*, for a batch cannot look at versions, and a lost answer is `OutcomeUnknown` for them. Costs a write
    unit for each KB of each item, one if there is none.
    """

    def __init__(
        self, scope: Scope[M], keys: Iterable[M | ItemKey[M] | Mapping[str, Any]], *, unversioned: bool
    ) -> None:
        what = f"delete_many of {scope.entity.cls.__qualname__}"
        batch = _Batch(scope, what, "key", "deleted", _delete_entry, "Key")
        self._begin(batch, keys, "delete", free=unversioned)


def _put_entry(scope: Scope[Any], given: Any, position: int) -> _Entry:
    entity = scope.entity
    instance = check_model(scope, given)
    key = entity.key_of(instance)
    item = whole = stored_item(entity, instance, key)
    if entity.version_attribute is not None:
        # as long as the number that it will have
        version = {"N": str(entity.layout.first_version(scope.runtime.clock()))}
        whole = completed(item, {entity.version_attribute: version})
    weight = _SMALL * _LONGEST_ESCAPE
    if exceeds(whole, _SMALL):
        check_item_size(entity, whole, shown(entity.key_values(instance)))
        weight = _ENVELOPE + len(json.dumps(dict(whole), default=_as_base64))
    request = {"PutRequest": {"Item": whole}}
    return _Entry(position, instance, None, identity_of(scope, key), request, weight, item)


def _delete_entry(scope: Scope[Any], given: Any, position: int) -> _Entry:
    values, key = key_of(scope, given)
    source: ItemKey[Any] = ItemKey(scope.entity.cls, values)
    return _Entry(position, source, values, identity_of(scope, key), {"DeleteRequest": {"Key": key}})


def _as_base64(value: Any) -> str:
    """A stand-in of the length that bytes have in a request."""
    return "=" * (4 * len(value) // 3 + 4)


class _Reader(Reader[_Entry]):
    """Makes requests of the items or keys that the iterable gives."""

    def __init__(self, batch: _Batch, given: Iterator[Any], moment: Moment) -> None:
        super().__init__(given, self._entry, batch.what, batch.noun)
        self._batch = batch
        self._moment = moment
        self._waiting: list[_Entry] = []
        """What no request had room for yet, the first last."""

    def take(self) -> _Chunk:
        """The next request; empty if there is nothing left."""
        chunk: _Chunk = {}
        weight = 0
        places = 0
        while len(chunk) < MOST_WRITES and places < MOST_PLACES:
            if not self._waiting:
                self._waiting = self._several(min(MOST_WRITES - len(chunk), MOST_PLACES - places))[::-1]
                if not self._waiting:
                    break
            entry = self._waiting[-1]
            before = chunk.get(entry.identity)
            weight += entry.weight - (0 if before is None else before.weight)
            if weight > MOST_BYTES and chunk:
                break
            chunk[entry.identity] = self._waiting.pop()
            places += 1
        self._batch.stamp(chunk, self._moment)
        # a number of its own for each request: a version that starts afresh must not recur on a key that comes again
        self._moment = self._moment.restarted(self._batch.scope.runtime.clock())
        return chunk

    def _entry(self, given: Any) -> _Entry:
        return self._batch.entry(self._batch.scope, given, self.count + 1)

    def is_at_end(self) -> bool:
        """Whether there is no further request, as far as that is known without reading on."""
        return not self._waiting and super().is_at_end()

    def error_after(self) -> Exception | None:
        """The error, which says what became of those before it; they are written by now."""
        error = self.error
        if isinstance(error, DynamapError) and self.mistaken:
            made = type(error)(f"{error} ({self._before()})", **error.__dict__)
            made.__cause__ = error.__cause__
            return made
        if error is not None:
            annotate(error, f"{self._batch.what}, {self._batch.noun} {self.count + 1:,}: {self._before()}")
        return error

    def _before(self) -> str:
        noun, done = self._batch.noun, self._batch.done
        if not self.count:
            return f"nothing was {done}"
        if self.count == 1:
            return f"the {noun} before it was {done}"
        return f"the {self.count:,} {noun}s before it were {done}"


class _Sending:
    """One sending of a batch: what is in flight, what is left."""

    def __init__(self, batch: _Batch, reader: _Reader, stop: Stop) -> None:
        self._batch = batch
        self._stop = stop
        self._reader = reader
        self._running: dict[Ticket, _Chunk] = {}
        self._left: list[_Entry] = []
        self._errors: list[DynamapError] = []
        self._written = 0

    def run(self) -> Plan[None]:
        """Send everything, in eight lanes. Raises what the whole comes to."""
        while not self._errors and (chunk := self._reader.take()):
            yield from self._start(chunk)
        while self._running:
            yield from self._join()
        if self._errors:
            self._fail()
        error = self._reader.error_after()
        if error is not None:
            raise error

    def _start(self, chunk: _Chunk) -> Plan[None]:
        while len(self._running) >= MOST_IN_FLIGHT or self._overlaps(chunk):
            yield from self._join()
        if self._errors:
            self._left.extend(chunk.values())
            return
        plan = self._batch.write(chunk)
        if self._reader.is_at_end() and not self._running:
            # a single request needs nobody beside it
            self._end(chunk, (yield from plan))
            return
        ticket = yield Spawn(unless_stopped(plan, self._stop))
        self._running[ticket] = chunk

    def _overlaps(self, chunk: _Chunk) -> bool:
        """Whether an earlier write of the same item is under way: the later one must not overtake it."""
        return any(not chunk.keys().isdisjoint(other) for other in self._running.values())

    def _join(self) -> Plan[None]:
        ticket, ended = yield Join(tuple(self._running))
        self._end(self._running.pop(ticket), ended)

    def _end(self, chunk: _Chunk, ended: _Ended) -> None:
        self._written += len(chunk) - len(ended.left)
        self._left.extend(ended.left.values())
        if ended.error is not None:
            self._errors.append(ended.error)

    def _fail(self) -> None:
        first = self._errors[0]
        lost = next((error for error in self._errors if isinstance(error, OutcomeUnknown)), None)
        if lost is None and not self._written and isinstance(first, ServiceError):
            # such as that there is no table: nothing of a batch in it
            raise first
        self._left.sort(key=lambda entry: entry.position)
        batch = self._batch
        what, noun, done = batch.what, batch.noun, batch.done
        left = tuple(entry.source for entry in self._left)
        counted = f"{len(left):,} of the {self._reader.count:,} {noun}s that were taken"
        head = self._left[0]
        values = batch.scope.entity.key_values(head.source) if head.values is None else head.values
        named = f"the first of them {shown(values)}"
        after = then(self._reader.error, noun)
        if lost is not None:
            msg = (
                f"{what}: an answer was lost, and {counted} may not have been {done}, {named}: read what "
                f"is in .left before you repeat it{after}"
            )
            raise OutcomeUnknown(msg, left=left) from lost
        msg = f"{what}: {counted} were not {done}, {named}: {reason(first)}; send what is in .left again{after}"
        raise BatchIncomplete(msg, left=left) from first
