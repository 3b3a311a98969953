"""Pages: what one request of a query or scan brings, and the next one, perhaps read ahead."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar, final

from msgspec.structs import replace as changed

from dynamap.operations.base import Runtime
from dynamap.operations.sending import read
from dynamap.operations.stopping import Stop, unless_stopped
from dynamap.plan import Call, Item, Join, Plan, Reply, Spawn, Ticket

__all__ = ["Found", "Page", "PageSource", "Pager", "Source", "Watch", "binding_of"]

M_co = TypeVar("M_co", covariant=True)

# after so many doublings a page that was small on purpose is as large as the service makes it
_MOST_DOUBLINGS = 10
# the service takes no greater number as `Limit`, and makes no page of so many items
_GREATEST_LIMIT = 2**31 - 1


@final
@dataclass(frozen=True)
class Page(Generic[M_co]):
    """Some of the items of a query or scan.

    *next* is the cursor with which `page(cursor)` goes on, None if nothing is left. *skipped* counts the items that
    were read, and paid for, but are left out: those of other types, expired ones, and what no filter lets through.
    """

    items: list[M_co]
    next: str | None
    skipped: int = 0


@dataclass(frozen=True)
class Source:
    """A series of requests: the call without its `Limit` and start, and which of the items it brings count.

    *what* names it in messages. *shown* are those of some items that count. *filtered* says that the caller's own
    condition leaves items out, *binding* makes what stands for all that a cursor belongs to.
    """

    call: Call
    what: str
    shown: Callable[[list[Item]], list[Item]]
    filtered: bool
    binding: Callable[[], bytes]

    def segment(self, number: int) -> Source:
        """The same of one segment of a scan."""
        return replace(self, call=changed(self.call, given={**self.call.given, "Segment": number}))

    def request(self, start: Item | None, size: int | None) -> Call:
        """One of the requests: *size* items after *start*."""
        more: dict[str, Any] = {} if size is None else {"Limit": size}
        if start is not None:
            more["ExclusiveStartKey"] = start
        return changed(self.call, given={**self.call.given, **more}) if more else self.call


@dataclass(frozen=True)
class Found:
    """What one request brought: the items that count, how many they are, and where the next one starts.

    *items* are empty where they were only counted. *skipped* are those that were read and do not count. *segment* is
    the number of the segment of a scan that they are from.
    """

    items: list[Item]
    count: int
    skipped: int
    next_start: Item | None
    segment: int = 0


class Watch(Protocol):
    """What looks at every request of a reading: it may wait before one, and learns what it brought."""

    def before(self) -> Plan[None]:
        """Called before a request is sent."""
        ...

    def prepared(self, call: Call) -> Call:
        """The request, perhaps asking for more than the reading needs."""
        ...

    def after(self, reply: Mapping[str, Any], found: Found) -> None:
        """Called when the answer is there, perhaps in another thread."""
        ...


class PageSource(Protocol):
    """What hands out the pages of a reading."""

    def next_page(self, wanted: int | None = None) -> Plan[Found | None]:
        """What the next request brings, None if there is none; *wanted* is how many items are still asked for."""
        ...

    def first_call(self, wanted: int | None) -> Call:
        """The request that would be sent next."""
        ...

    def position(self, found: Found, after: Item | None) -> Item | None:
        """Where to go on after the items of this page, or after the one that has this key; None at the end."""
        ...

    def close(self) -> None:
        """Say that nobody waits for what is being read any more."""
        ...


class Pager:
    """Reads page after page, each when it is asked for, or with *ahead* one more in the meantime.

    *most* bounds the requests. Without *page_size* a page is no larger than what is wanted, and grows if that was not
    there; under a filter it is as large as the service makes it, 1 MB.
    """

    def __init__(
        self,
        runtime: Runtime,
        source: Source,
        *,
        start: Item | None = None,
        page_size: int | None = None,
        most: int | None = None,
        ahead: bool = False,
        watch: Watch | None = None,
        segment: int = 0,
    ) -> None:
        self._runtime = runtime
        self._watch = watch
        self._segment = segment
        self._source = source
        self._start = start
        self._page_size = page_size
        self._left = most
        self._ahead = ahead
        self._doublings = 0
        self._ended = False
        self._ticket: Ticket | None = None
        self._stop = Stop()

    def next_page(self, wanted: int | None = None) -> Plan[Found | None]:
        """What the next request brings, None if there is none; *wanted* is how many items are still asked for."""
        if self._ticket is not None:
            ticket, self._ticket = self._ticket, None
            _, found = yield Join((ticket,))
        elif self._ended or self._left == 0:
            return None
        else:
            found = yield from self._fetch(self.first_call(wanted))
        page: Found = found
        self._start = page.next_start
        self._ended = self._start is None
        left = None if wanted is None else wanted - page.count
        if self._ahead and not self._ended and self._left != 0 and (left is None or left > 0):
            self._ticket = yield Spawn(unless_stopped(self._fetch(self.first_call(left)), self._stop))
        return page

    def close(self) -> None:
        """Say that nobody waits for a page that is being read ahead."""
        self._stop.requested = True

    def first_call(self, wanted: int | None) -> Call:
        """The request that would be sent next."""
        return self._source.request(self._start, self._size(wanted))

    def _size(self, wanted: int | None) -> int | None:
        if self._page_size is not None:
            return min(self._page_size, _GREATEST_LIMIT)
        if wanted is None or self._source.filtered or self._doublings > _MOST_DOUBLINGS:
            return None
        return min(wanted << self._doublings, _GREATEST_LIMIT)

    def _fetch(self, call: Call) -> Plan[Found]:
        self._doublings += 1
        if self._left is not None:
            self._left -= 1
        return self._found(call)

    def position(self, found: Found, after: Item | None) -> Item | None:
        """Where to go on after the items of this page, or after the one that has this key; None at the end."""
        return found.next_start if after is None else after

    def _found(self, call: Call) -> Plan[Found]:
        watch = self._watch
        if watch is not None:
            yield from watch.before()
            call = watch.prepared(call)
        reply: Reply = yield from read(self._runtime, call, self._source.what)
        # some servers send an empty list beside the number, and some end with an empty key
        counted = call.params.get("Select") == "COUNT"
        answered: list[Item] = [] if counted else reply["Items"]
        items = self._source.shown(answered)
        count: int = reply["Count"] if counted else len(items)
        read_items: int = reply["ScannedCount"] if "ScannedCount" in reply else reply.get("Count", len(answered))
        next_start: Item | None = reply.get("LastEvaluatedKey") or None
        found = Found(items, count, read_items - count, next_start, self._segment)
        if watch is not None:
            watch.after(reply, found)
        return found


def binding_of(
    operation: str, params: Mapping[str, Any], names: Mapping[str, str], values: Mapping[str, Any], clock: str | None
) -> bytes:
    """What a cursor belongs to: all of a request but for the time, and what it wants of the items.

    *names* and *values* are those of placeholders, *clock* is that of the time in the filter.
    """
    bound = [
        operation,
        params,
        names,
        {placeholder: values[placeholder] for placeholder in values if placeholder != clock},
    ]
    return hashlib.sha256(json.dumps(bound, sort_keys=True, default=_hexadecimal).encode()).digest()


def _hexadecimal(value: Any) -> dict[str, str]:
    """Binary data, for which JSON has no word."""
    return {"hexadecimal": bytes(value).hex()}
