"""A scan in segments: several series of pages at once, handed out as they arrive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dynamap.codec import Wire
from dynamap.operations.pages import Found, Pager
from dynamap.operations.stopping import Stop, unless_stopped
from dynamap.plan import Call, Item, Join, Plan, Spawn, Ticket

__all__ = ["SegmentPager", "resumed", "start_of"]

_NAME = "segments"
# where a segment stands, as a value of DynamoDB, so that it travels as the key of an item does: a key, or one of these
_UNTOUCHED: Wire = {"BOOL": False}
_ENDED: Wire = {"BOOL": True}


class SegmentPager:
    """The pages of all segments: of each at most one is under way, while one is in the caller's hands.

    *places* says where each segment begins: `_UNTOUCHED`, a key, or `_ENDED`. *most* bounds the requests of all.
    """

    def __init__(self, pagers: Sequence[Pager], places: Sequence[Wire], most: int | None) -> None:
        self._pagers = pagers
        self._places = list(places)
        self._left = most
        self._waiting = [segment for segment, place in enumerate(places) if place != _ENDED]
        self._running: dict[Ticket, int] = {}
        self._stop = Stop()

    def next_page(self, wanted: int | None = None) -> Plan[Found | None]:
        """What the next answer brings, of whichever segment it comes; None if there is none."""
        yield from self._start(wanted)
        if not self._running:
            return None
        ticket, page = yield Join(tuple(self._running))
        found: Found = page
        segment = self._running.pop(ticket)
        self._places[segment] = _ENDED if found.next_start is None else {"M": found.next_start}
        if found.next_start is not None:
            self._waiting.append(segment)
        if wanted is None or wanted > found.count:
            # the others, and the next page of this one, come while the caller has these items in hand
            yield from self._start(None if wanted is None else wanted - found.count)
        return found

    def close(self) -> None:
        """Say that nobody waits for the pages that are under way."""
        self._stop.requested = True

    def first_call(self, wanted: int | None) -> Call:
        """The first request of the first segment that has not ended."""
        first = self._waiting[0] if self._waiting else 0
        return self._pagers[first].first_call(wanted)

    def position(self, found: Found, after: Item | None) -> Item | None:
        """Where all segments stand after the items of this page, or after the one with this key; None at the end."""
        places = list(self._places)
        if after is not None:
            places[found.segment] = {"M": after}
        return None if all(place == _ENDED for place in places) else {_NAME: {"L": places}}

    def _start(self, wanted: int | None) -> Plan[None]:
        while self._waiting and self._left != 0:
            segment = self._waiting.pop(0)
            if self._left is not None:
                self._left -= 1
            page = unless_stopped(self._pagers[segment].next_page(wanted), self._stop)
            self._running[(yield Spawn(page))] = segment


def resumed(position: Item | None, segments: int) -> list[Any]:
    """The places of so many segments from what `position` answered, or from none at all."""
    return [_UNTOUCHED] * segments if position is None else list(position[_NAME]["L"])


def start_of(place: Wire) -> Item | None:
    """The key after which a segment goes on; None at its beginning."""
    start: Item | None = place.get("M")
    return start
