"""Scan: every item of one class in a table or index, in no order, perhaps in segments at once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar, overload

from typing_extensions import Self

from dynamap.errors import RequestError
from dynamap.expressions import Compiler, Condition, Field
from dynamap.markers import D
from dynamap.operations.base import Moment, Operation, Scope
from dynamap.operations.filtering import check_filter
from dynamap.operations.pacing import Pace, Progress
from dynamap.operations.pages import Page, Pager, PageSource, Source
from dynamap.operations.projection import Projection
from dynamap.operations.reading import Reading
from dynamap.operations.segments import SegmentPager, resumed, start_of
from dynamap.operations.targets import Target
from dynamap.plan import Item

__all__ = ["Scan"]

M = TypeVar("M")
T1 = TypeVar("T1")
T2 = TypeVar("T2")
T3 = TypeVar("T3")
T4 = TypeVar("T4")
T5 = TypeVar("T5")
T6 = TypeVar("T6")

# https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Scan.html
_MOST_SEGMENTS = 1_000_000


class Scan(Reading[D, M]):
    """Read all items of one class in a table or index, in no order.

    It reads the whole table, and pays for it, whatever is in it: a read unit for each 4 KB of everything, half of that
    if read eventually. It is no snapshot: an item that is written meanwhile may be answered as it was or as it is.
    """

    _segments: int
    _rate: float | None
    _told: Callable[[Progress], object] | None
    _position: str | None

    def __init__(self, scope: Scope[M], target: Target) -> None:
        if scope.bound:
            names = ", ".join(scope.bound)
            msg = (
                f"scan of {scope.entity.cls.__qualname__}: a repository that is bound to {names} has no scan, which "
                f"would read the items of all others too: use query()"
            )
            raise RequestError(msg)
        self._begin(scope, target, {}, f"scan of {scope.entity.cls.__qualname__}")
        self.__dict__.update(_segments=1, _rate=None, _told=None, _position=None)

    def filter(self, condition: Condition, /) -> Self:
        """Leave out items of which this does not hold, after they were read and paid for; several must all hold.

        Unlike that of a query it may name keys.
        """
        return super().filter(condition)

    def segments(self, n: int, /) -> Self:
        """Read so many parts of the table at once, each in a thread or task of its own; from 1 to 1,000,000.

        Items come as they arrive. `page_size` is that of each request, `limit` and `max_pages` count all together.
        """
        segments = self._positive(n, "segments")
        if segments > _MOST_SEGMENTS:
            msg = f"{self._what}: segments() takes up to {_MOST_SEGMENTS:,}; got {segments:,}"
            raise RequestError(msg)
        return self._copy(_segments=segments)

    def rate(self, units_per_second: float, /) -> Self:
        """Read so many capacity units per second on average, all segments together.

        A request is sent when those before are paid for, so that one may be as large as a page: use `page_size` for a
        smoother load. Where the service does not say what it took, it is reckoned from the size of the items.
        """
        given: Any = units_per_second
        if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 < given < float("inf"):
            shown = repr(given) if isinstance(given, (int, float)) else type(given).__name__
            msg = f"{self._what}: rate() takes a number of read units per second above 0; got {shown}"
            raise RequestError(msg)
        return self._copy(_rate=float(given))

    def on_progress(self, told: Callable[[Progress], object], /) -> Self:
        """Call this after each request with the `Progress` so far, one call after the other, in any thread.

        What it raises ends the scan. `dynamap.progress.progress_bar` makes one that draws a bar.
        """
        given: Any = told
        if not callable(given) or inspect.iscoroutinefunction(given):
            got = "a coroutine function" if callable(given) else type(given).__name__
            msg = f"{self._what}: on_progress() takes a plain function of one argument, the Progress; got {got}"
            raise RequestError(msg)
        return self._copy(_told=told)

    def resume(self, cursor: str, /) -> Self:
        """Go on where a page ended: *cursor* is the `next` of one that `pages()` or `page()` of the same scan answered.

        A scan in segments takes that of a scan in as many. CursorError, when it is sent, for a cursor that does not
        belong here.
        """
        if self._runtime.cursor_keys is None:
            msg = f"{self._what}: resume() takes a cursor, which needs a secret: write connect(..., cursor_key=...)"
            raise RequestError(msg)
        return self._copy(_position=cursor)

    def page(self, cursor: str | None = None, /) -> Operation[D, Page[M]]:
        """One page, as that of a query; a scan in segments has `pages()` instead."""
        if self._segments > 1:
            msg = f"{self._what}: page() reads one series of pages: use pages() in segments, and resume(page.next)"
            raise RequestError(msg)
        return Reading[D, M].page(self, self._position if cursor is None else cursor)

    @overload
    def project(self, model: type[T1], /) -> Scan[D, T1]: ...
    @overload
    def project(self, a: Field[T1], /) -> Scan[D, T1]: ...
    @overload
    def project(self, a: Field[T1], b: Field[T2], /) -> Scan[D, tuple[T1, T2]]: ...
    @overload
    def project(self, a: Field[T1], b: Field[T2], c: Field[T3], /) -> Scan[D, tuple[T1, T2, T3]]: ...
    @overload
    def project(self, a: Field[T1], b: Field[T2], c: Field[T3], d: Field[T4], /) -> Scan[D, tuple[T1, T2, T3, T4]]: ...
    @overload
    def project(
        self, a: Field[T1], b: Field[T2], c: Field[T3], d: Field[T4], e: Field[T5], /
    ) -> Scan[D, tuple[T1, T2, T3, T4, T5]]: ...
    @overload
    def project(
        self, a: Field[T1], b: Field[T2], c: Field[T3], d: Field[T4], e: Field[T5], f: Field[T6], /
    ) -> Scan[D, tuple[T1, T2, T3, T4, T5, T6]]: ...
    def project(self, *what: Any) -> Any:
        """Answer a part of each item: another class with some of the fields, a field's value, or a tuple of several.

        It costs the same read units; only less is sent. Raises RequestError as that of a query.
        """
        return self._copy(_projection=Projection.of(self._scope.entity, what, index=self._target.index))

    # ---- compiling

    def _source(self, moment: Moment, *, counting: bool = False) -> Source | None:
        params: dict[str, Any] = {"TableName": self._scope.table_name}
        if self._target.index is not None:
            params["IndexName"] = self._target.index.name
        if self._segments > 1:
            params["TotalSegments"] = self._segments
        return self._completed("Scan", params, Compiler(self._scope.entity), moment, counting=counting)

    def _check_filter(self, condition: Condition) -> None:
        check_filter(self._target, condition, self._what, keys_allowed=True)

    def _pager(self, source: Source, start: Item | None = None, *, ahead: bool = False) -> PageSource:
        watch = None
        if self._rate is not None or self._told is not None:
            watch = Pace(self._runtime, rate=self._rate, told=self._told, consistent=self._consistent)
        keys = self._runtime.cursor_keys
        if start is None and self._position is not None and keys is not None:
            start = keys.open(self._position, source.binding(), now=self._runtime.clock())
        if self._segments == 1:
            return Pager(
                self._runtime,
                source,
                start=start,
                page_size=self._page_size,
                most=self._max_pages,
                ahead=ahead,
                watch=watch,
            )
        places = resumed(start, self._segments)
        pagers = [
            Pager(
                self._runtime,
                source.segment(segment),
                start=start_of(place),
                page_size=self._page_size,
                watch=watch,
                segment=segment,
            )
            for segment, place in enumerate(places)
        ]
        return SegmentPager(pagers, places, self._max_pages)
