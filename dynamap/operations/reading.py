"""Reading many items: what queries and scans have in common."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from functools import partial
from typing import Any, Generic, TypeVar

from typing_extensions import Self

from dynamap.codec import Body
from dynamap.errors import ItemDecodeError, ItemNotFound, RequestError, SeveralItems
from dynamap.expressions import Compiler, Condition
from dynamap.markers import D
from dynamap.model import Entity
from dynamap.operations.base import Moment, Operation, Scope
from dynamap.operations.cursors import CursorKeys
from dynamap.operations.endings import Ending, Pages, Series
from dynamap.operations.filtering import Hiding, check_filter, check_whole, hiding
from dynamap.operations.pages import Found, Page, Pager, PageSource, Source, binding_of
from dynamap.operations.projection import Projection
from dynamap.operations.replies import page_decoder
from dynamap.operations.stream import Stream, gathered
from dynamap.operations.targets import Target
from dynamap.plan import Call, Emit, Item, Plan, Reply

__all__ = ["Reading"]

M = TypeVar("M")
R = TypeVar("R")

# a page of keys alone may hold thousands, each of which stands for an item of up to 400 KB
_MOST_AT_ONCE = 400


class Reading(Stream[D, M], Series[D, "list[M]"], Generic[D, M]):
    """Reads items page after page: `send()` answers a list of all, iteration hands them out as they come.

    A read unit pays for 4 KB that were read, before anything is left out, half of one if they are read eventually.
    """

    _scope: Scope[Any]
    _target: Target
    _values: dict[str, Any]
    _what: str
    _filters: tuple[Condition, ...]
    _limit: int | None
    _page_size: int | None
    _max_pages: int | None
    _expired_included: bool
    _consistent: bool
    _whole_consistent: bool
    _ahead: bool
    _hydrated: bool
    _projection: Projection | None

    def _begin(self, scope: Scope[Any], target: Target, values: dict[str, Any], what: str) -> None:
        self.__dict__.update(
            _runtime=scope.runtime,
            _scope=scope,
            _target=target,
            _values=values,
            _what=what,
            _filters=(),
            _limit=None,
            _page_size=None,
            _max_pages=None,
            _expired_included=False,
            _consistent=scope.consistent and not target.is_global,
            _whole_consistent=scope.consistent,
            _ahead=False,
            _hydrated=False,
            _projection=None,
        )

    # ---- what each kind of reading is

    def _source(self, moment: Moment, *, counting: bool = False) -> Source | None:
        """The requests; None if no item can match, so that none is needed. Raises RequestError."""
        raise NotImplementedError

    def _pager(self, source: Source, start: Item | None = None, *, ahead: bool = False) -> PageSource:
        return Pager(self._runtime, source, start=start, page_size=self._page_size, most=self._max_pages, ahead=ahead)

    def _decode_into(self, items: list[Item], values: list[M]) -> None:
        """Add what is answered for these items. Raises ItemDecodeError for the first that is none of the class."""
        if self._projection is None:
            self._scope.entity.decode_into(items, values)
            return
        for item in items:
            values.append(self._projection.decode(item))  # noqa: PERF401 - those before a faulty one are kept

    # ---- steps

    def filter(self, condition: Condition, /) -> Self:
        """Leave out items of which this does not hold, after they were read and paid for; several must all hold.

        Raises RequestError for a condition on a key attribute of what is read: ask for keys with `query()` and
        `range()`.
        """
        given: Any = condition
        if not isinstance(given, Condition):
            msg = f"{self._what}: filter() takes a Condition, such as F(X.count).ge(1); got {type(given).__name__}"
            raise RequestError(msg)
        self._check_filter(condition)
        return self._copy(_filters=(*self._filters, condition))

    def limit(self, n: int, /) -> Self:
        """Answer so many items at most, of those that no filter leaves out. It takes an int from 1 on."""
        return self._copy(_limit=self._positive(n, "limit"))

    def page_size(self, n: int, /) -> Self:
        """Let each request read so many items at most, before the filter: DynamoDB's `Limit`, an int from 1 on."""
        return self._copy(_page_size=self._positive(n, "page_size"))

    def max_pages(self, n: int, /) -> Self:
        """Send so many requests at most, and answer what they brought. It takes an int from 1 on."""
        return self._copy(_max_pages=self._positive(n, "max_pages"))

    def include_expired(self) -> Self:
        """Answer items whose time is over too, until DynamoDB has deleted them."""
        return self._copy(_expired_included=True)

    def strongly_consistent(self) -> Self:
        """Read what every write that was answered before has stored; costs twice as much.

        Raises RequestError on a global index, which is always read eventually.
        """
        self._target.check_consistent()
        return self._copy(_consistent=True, _whole_consistent=True)

    def consistent(self) -> Self:
        """The same as `strongly_consistent()`."""
        return self.strongly_consistent()

    def eventually_consistent(self) -> Self:
        """Read what may be a little old, for half the price."""
        return self._copy(_consistent=False, _whole_consistent=False)

    def read_ahead(self) -> Self:
        """Read the next page while the caller of an iteration works on the one before; at most one, for one thread."""
        return self._copy(_ahead=True)

    # ---- sending

    def _plan(self) -> Plan[list[M]]:
        found: list[M] = []
        yield from gathered(self._emitting(), found)
        return found

    def _emitting(self) -> Generator[Any, Any, Any]:
        source = self._source(self._runtime.moment())
        if source is None:
            return
        left = self._limit
        with closing(self._pager(source, ahead=self._ahead)) as pager:
            while left is None or left > 0:
                found = yield from pager.next_page(left)
                if found is None:
                    return
                rest = found.items
                while rest and left != 0:
                    size = self._chunk_size(left)
                    values: list[M] = []
                    try:
                        yield from self._decoded(rest[:size], values)
                    except ItemDecodeError:
                        # what came before it is good
                        if values:
                            yield Emit(values)
                        raise
                    rest = rest[size:]
                    left = None if left is None else left - len(values)
                    if values:
                        yield Emit(values)

    def _taken(self, items: list[Item], left: int | None) -> Plan[tuple[list[M], list[Item]]]:
        """What is answered for the first of these items, *left* at most, and the items that are not needed for it."""
        values: list[M] = []
        rest = items
        while rest and (left is None or len(values) < left):
            size = self._chunk_size(None if left is None else left - len(values))
            yield from self._decoded(rest[:size], values)
            rest = rest[size:]
        return values, rest

    def _chunk_size(self, left: int | None) -> int:
        """How many items to make answers of at once, where *left* are asked for still."""
        return _MOST_AT_ONCE if left is None else min(left, _MOST_AT_ONCE)

    def _decoded(self, items: list[Item], values: list[M]) -> Plan[None]:
        """Add what is answered for these items."""
        yield from ()
        self._decode_into(items, values)

    def _first_request(self, moment: Moment) -> Call | None:
        source = self._source(moment)
        return None if source is None else self._pager(source).first_call(self._limit)

    # ---- other ends

    def first(self) -> Operation[D, M | None]:
        """The first item, or None if there is none; reads one item at a time, or a page if there is a filter."""
        return self._ending(self._at_most(1), _first)

    def one(self) -> Operation[D, M]:
        """The only item: `ItemNotFound` if there is none, `SeveralItems` if there are more."""
        return self._ending(self._at_most(2), self._only)

    def count(self) -> Operation[D, int]:
        """How many items `send()` would answer: read and paid for in the same way, but not sent over the line.

        They are sent where the type or the time of an item stands in a key of the index, and after `hydrate()`.
        """
        return Ending(self._scope, self._count_plan, self._count_request)

    def page(self, cursor: str | None = None, /) -> Operation[D, Page[M]]:
        """One page: `limit` items, or what one request brings; *cursor* is the `next` of the page before.

        A request that brings nothing is followed by another, so that only the last page is empty, or one that
        `max_pages` ended. Needs `connect(cursor_key=...)`, without which it is a RequestError. CursorError for a cursor
        that was changed, is too old, or belongs to another table, index, key, range, filter or direction.
        """
        keys = self._runtime.cursor_keys
        if keys is None:
            msg = (
                f"{self._what}: page() gives and takes cursors, which need a secret: write "
                f"connect(..., cursor_key=...), or iterate, which needs none"
            )
            raise RequestError(msg)
        return Ending(
            self._scope,
            lambda: self._page_plan(keys, cursor),
            lambda moment: self._page_request(keys, cursor, moment),
        )

    def pages(self) -> Stream[D, Page[M]]:
        """Page after page as they come; `limit` bounds the items of all together.

        Each page has items, except a last one where `max_pages` ended a search that had found nothing more: from its
        `next` the search can go on. Without `connect(cursor_key=...)` the `next` of every page is None.
        """
        return Pages(self._scope, self._emitting_pages)

    def _at_most(self, n: int) -> Self:
        return self._copy(_limit=n if self._limit is None else min(n, self._limit), _ahead=False)

    def _ending(self, reading: Reading[D, M], end: Callable[[list[M]], R]) -> Operation[D, R]:
        def plan() -> Plan[R]:
            found = yield from reading._plan()
            return end(found)

        return Ending(self._scope, plan, reading._first_request)

    def _only(self, found: list[M]) -> M:
        if not found:
            msg = f"{self._what}: there is no such item"
            raise ItemNotFound(msg, entity=self._scope.entity.cls, key=self._values)
        if len(found) > 1:
            msg = f"{self._what}: one() found several items: use first(), or say more of the key"
            raise SeveralItems(msg, entity=self._scope.entity.cls, key=self._values)
        return found[0]

    @property
    def _counts_whole(self) -> bool:
        """Whether items are counted as they are answered, so that each is looked at."""
        return self._hydrated

    def _count_plan(self) -> Plan[int]:
        if self._counts_whole:
            found_whole = yield from self._plan()
            return len(found_whole)
        source = self._source(self._runtime.moment(), counting=True)
        if source is None:
            return 0
        total, left = 0, self._limit
        with closing(self._pager(source, ahead=self._ahead)) as pager:
            while left is None or left > 0:
                found = yield from pager.next_page(left)
                if found is None:
                    break
                total += found.count if left is None else min(found.count, left)
                left = None if left is None else left - found.count
        return total

    def _count_request(self, moment: Moment) -> Call | None:
        source = self._source(moment, counting=not self._counts_whole)
        return None if source is None else self._pager(source).first_call(self._limit)

    def _emitting_pages(self) -> Generator[Any, Any, Any]:
        moment = self._runtime.moment()
        source = self._source(moment)
        if source is None:
            return
        keys = self._runtime.cursor_keys
        left = self._limit
        skipped = 0
        start: Item | None = None
        with closing(self._pager(source, ahead=self._ahead)) as pager:
            while left is None or left > 0:
                found = yield from pager.next_page(left)
                if found is None:
                    break
                values, rest = yield from self._taken(found.items, left)
                skipped += found.skipped
                left = None if left is None else left - len(values)
                start = self._start_after(pager, found, rest)
                if values:
                    sealed = (
                        None if start is None or keys is None else keys.seal(start, source.binding(), now=moment.now)
                    )
                    yield Emit([Page(values, sealed, skipped)])
                    skipped, start = 0, None
            if start is not None and keys is not None:
                # `max_pages` ended what brought nothing: without its place nobody could go on
                yield Emit([Page([], keys.seal(start, source.binding(), now=moment.now), skipped)])

    def _page_plan(self, keys: CursorKeys, cursor: str | None) -> Plan[Page[M]]:
        moment = self._runtime.moment()
        source = self._source(moment)
        if source is None:
            return Page([], None)
        pager = self._pager(source, self._opened(keys, cursor, source, moment))
        values: list[M] = []
        skipped = 0
        start: Item | None = None
        while True:
            left = None if self._limit is None else self._limit - len(values)
            found = yield from pager.next_page(left)
            if found is None:
                break
            taken, rest = yield from self._taken(found.items, left)
            values += taken
            skipped += found.skipped
            start = self._start_after(pager, found, rest)
            if start is None or (values if self._limit is None else len(values) == self._limit):
                break
        sealed = None if start is None else keys.seal(start, source.binding(), now=moment.now)
        return Page(values, sealed, skipped)

    def _page_request(self, keys: CursorKeys, cursor: str | None, moment: Moment) -> Call | None:
        source = self._source(moment)
        if source is None:
            return None
        start = self._opened(keys, cursor, source, moment)
        return self._pager(source, start).first_call(self._limit)

    def _opened(self, keys: CursorKeys, cursor: str | None, source: Source, moment: Moment) -> Item | None:
        return None if cursor is None else keys.open(cursor, source.binding(), now=moment.now)

    def _start_after(self, pager: PageSource, found: Found, rest: list[Item]) -> Item | None:
        """Where reading goes on if these items of a page are left: after the last one that was taken."""
        if not rest:
            return pager.position(found, None)
        last = found.items[-len(rest) - 1]
        return pager.position(found, {name: last[name] for name in self._target.start_attributes})

    # ---- what sources are made of

    def _completed(
        self, operation: str, params: dict[str, Any], compiler: Compiler, moment: Moment, *, counting: bool
    ) -> Source:
        """The requests of these params, filtered and projected; *compiler* has the key condition's names and values."""
        hidden: Hiding = self._hiding(compiler, moment)
        text = compiler.condition(hidden.parts)
        if text is not None:
            params["FilterExpression"] = text
        names, values = compiler.taken()
        # as they are now; few requests have a cursor
        binding = partial(binding_of, operation, params.copy(), names, values.copy(), hidden.clock)
        decode = None
        if counting:
            if hidden.complete:
                params["Select"] = "COUNT"
        elif self._projection is not None:
            projected = self._projection.text(compiler, self._target.start_attributes)
            if projected is not None:
                params["ProjectionExpression"] = projected
        elif not self._hydrated:
            decode = self._reply_decoder()
            check_whole(self._target, self._what, hydrates=operation == "Query")
        params |= compiler.placeholders()
        if self._consistent:
            params["ConsistentRead"] = True
        return Source(Call(operation, params, decode), self._what, self._shown(moment), bool(self._filters), binding)

    def _reply_decoder(self) -> Callable[[Body], Reply]:
        """What makes replies of whole items straight from their bytes."""
        return page_decoder(self._scope.entity)

    def _expiry(self, moment: Moment) -> int | None:
        """The second up to which items have expired; None where that does not count."""
        return None if self._expired_included else self._scope.expiry(moment)

    def _hiding(self, compiler: Compiler, moment: Moment) -> Hiding:
        """What the service is to leave out."""
        return hiding(self._target, self._filters, compiler, self._expiry(moment))

    def _shown(self, moment: Moment) -> Callable[[list[Item]], list[Item]]:
        """Those of the items that came that were asked for."""
        entity: Entity[Any] = self._scope.entity
        now = self._expiry(moment)
        if now is None:
            return entity.claimed
        return lambda items: [item for item in entity.claimed(items) if not entity.is_expired(item, now)]

    # ---- checks

    def _check_filter(self, condition: Condition) -> None:
        """Raise RequestError for a field that no filter can see."""
        check_filter(self._target, condition, self._what)

    def _positive(self, n: object, step: str) -> int:
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            shown = repr(n) if isinstance(n, int) else type(n).__name__
            msg = f"{self._what}: {step}() takes an int from 1 on; got {shown}"
            raise RequestError(msg)
        return n


def _first(found: list[M]) -> M | None:
    return found[0] if found else None
