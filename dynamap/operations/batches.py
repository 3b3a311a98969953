"""What operations on many items share: what they are given, how they name it, and how often they ask again."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from operator import length_hint
from typing import Any, Final, Generic, TypeVar

from dynamap.backoff import RETRY_COST, full_jitter, time_left
from dynamap.errors import (
    DeadlineExceeded,
    DynamapError,
    RequestError,
    ServiceError,
    Throttled,
    TransactionConflict,
)
from dynamap.operations.base import Runtime, Scope, key_text
from dynamap.operations.item_key import ItemKey
from dynamap.plan import Item, Sleep

__all__ = [
    "MOST_PLACES",
    "Given",
    "Reader",
    "Rounds",
    "annotate",
    "check_model",
    "check_time",
    "identity_of",
    "key_of",
    "reason",
    "shown",
    "then",
]

M = TypeVar("M")
T = TypeVar("T")

# what may be read for one request: of one key over and over, no number of others would ever be there
MOST_PLACES: Final = 1000

# they know how much is left, and asking runs no code of the caller's
_KNOWING: Final = (
    type(iter(list[Any]())),
    type(iter(tuple[Any, ...]())),
    type(iter(set[Any]())),
    type(iter(dict[Any, Any]())),
    type(iter(dict[Any, Any]().values())),
)

_MOST_ROUNDS = 10
_BASE = 0.05
_CAP = 5.0


# ---- what is given


class Given(Generic[T]):
    """The keys or items of a batch; an iterator can be read but once, by whichever copy of the builder is sent."""

    def __init__(self, things: Iterable[T], model: type[Any], what: str, noun: str) -> None:
        given: Any = things
        single = isinstance(given, (str, bytes, bytearray, Mapping, ItemKey, model))
        if single or not isinstance(given, Iterable):
            hint = "put it in a list" if single else "collect it in a list first"
            msg = f"{what} takes {noun}s as a list or another iterable; got {type(given).__name__}: {hint}"
            raise RequestError(msg)
        self._things = things
        self._what = what
        self._iterator: Iterator[T] | None = None
        iterator = iter(things)
        if iterator is things:
            self._iterator = iterator
        self._seen: deque[T] = deque()
        self._begun = False

    def begin(self) -> Iterator[T]:
        """All of them, from the first on. Raises RequestError for an iterator that was read before."""
        if self._iterator is None:
            return iter(self._things)
        self._check_unread()
        self._begun = True
        return self._rest(self._iterator)

    def peek(self) -> Iterator[T]:
        """The same to look at: they are still there afterwards."""
        if self._iterator is None:
            yield from self._things
            return
        self._check_unread()
        yield from tuple(self._seen)
        for thing in self._iterator:
            self._seen.append(thing)
            yield thing

    def _rest(self, iterator: Iterator[T]) -> Iterator[T]:
        while self._seen:
            yield self._seen.popleft()
        yield from iterator

    def _check_unread(self) -> None:
        if self._begun:
            msg = (
                f"{self._what}: it was given an iterator, which was read when it was sent: make it of a list to send "
                f"it again"
            )
            raise RequestError(msg)


class Reader(Generic[T]):
    """Makes something of each thing that an iterable gives; *more* until it has ended, or raised the *error*.

    *make* raises what is wrong with a thing, *what* and *noun* are the words of messages, *count* is how many were
    made. *mistaken* says that the error is about the thing itself, so that its message names its place.
    """

    def __init__(self, given: Iterator[Any], make: Callable[[Any], T], what: str, noun: str) -> None:
        self._given = given
        self._make = make
        self._what = what
        self._noun = noun
        self.more = True
        self.error: Exception | None = None
        self.mistaken = False
        self.count = 0

    def _several(self, most: int) -> list[T]:
        """The next ones, no more than so many; fewer where no more are to come."""
        several: list[T] = []
        if not self.more:
            return several
        make = self._make
        making = False
        try:
            for given in islice(self._given, most):
                making = True
                several.append(make(given))
                self.count += 1
                making = False
        except Exception as error:  # noqa: BLE001 - raised in its turn, after what came before it
            # whoever gives them may raise anything, and so may a caller's own encoder
            if making and isinstance(error, DynamapError):
                self.mistaken = True
                self._end(_located(error, self._what, self._noun, self.count + 1))
            else:
                self._end(error)
        else:
            self.more = len(several) == most
        return several

    def is_at_end(self) -> bool:
        """Whether nothing more is to come, as far as that is known without reading on."""
        return not self.more or (type(self._given) in _KNOWING and length_hint(self._given) == 0)

    def _end(self, error: Exception) -> None:
        self.more = False
        self.error = error


def key_of(scope: Scope[M], given: object) -> tuple[Mapping[str, Any], Item]:
    """The key fields and the key that something stands for. Raises RequestError or KeyValueError."""
    entity = scope.entity
    untyped: Any = given
    kind: Any = type(given)
    if kind is dict:
        values = scope.filled(untyped)
    elif isinstance(given, ItemKey):
        if untyped.entity is not entity.cls:
            msg = f"this is a key of {untyped.entity.__qualname__}, not of {entity.cls.__qualname__}"
            raise RequestError(msg)
        values = scope.filled(untyped.values)
    elif type(given) is entity.cls:
        scope.check_instance(untyped)
        values = entity.key_values(untyped)
    elif isinstance(given, Mapping):
        values = scope.filled(untyped)
    else:
        msg = (
            f"a key is key(...) of the repository, an instance of {entity.cls.__qualname__}, or a dict of its key "
            f"fields ({', '.join(entity.key_fields) or 'it has none'}); got {type(given).__name__}"
        )
        raise RequestError(msg)
    return values, entity.key(values)


def check_model(scope: Scope[M], given: object) -> M:
    """The instance, if it is one of the class. Raises RequestError."""
    cls = scope.entity.cls
    if type(given) is not cls:
        msg = f"it takes instances of {cls.__qualname__}; got {type(given).__name__}"
        raise RequestError(msg)
    instance: Any = given
    scope.check_instance(instance)
    checked: M = instance
    return checked


def identity_of(scope: Scope[Any], item: Mapping[str, Mapping[str, Any]]) -> tuple[Any, ...]:
    """What two keys of one item share, from its key or the whole of it, as a server answers it."""
    layout = scope.entity.layout
    try:
        return layout.identity(item)
    except KeyError:
        # it may answer anything
        return tuple([next(iter(item[key.name].values())) for key in layout.keys])


# ---- messages


def shown(values: Mapping[str, Any]) -> str:
    """A key in words."""
    return key_text(values) or "the only one"


def reason(error: DynamapError) -> str:
    """Why a request of many was given up, in words: what else its error says is about that request alone."""
    if isinstance(error, Throttled):
        return "the service kept refusing for load"
    if isinstance(error, TransactionConflict):
        return "transactions kept items busy"
    if isinstance(error, DeadlineExceeded):
        return "the deadline is over"
    if isinstance(error, ServiceError):
        return f"{error.code}: {error.message}"
    return str(error)


def then(error: BaseException | None, noun: str) -> str:
    """What a message adds where the iterable had come to a mistake too: that one was taken, and is not left."""
    return "" if error is None else f"; the next {noun} raised {type(error).__name__}"


def _located(error: DynamapError, what: str, noun: str, position: int) -> DynamapError:
    """The same error, with the place in the iterable that it is about."""
    made = type(error)(f"{what}, {noun} {position:,}: {error}", **error.__dict__)
    made.__cause__ = error
    return made


def annotate(error: BaseException, note: str) -> None:
    """Add a line to somebody else's error, which tracebacks show from Python 3.11 on."""
    notes: list[str] = getattr(error, "__notes__", [])
    error.__dict__["__notes__"] = [*notes, note]


# ---- asking again


class Rounds:
    """Asks again for what the service leaves undone, as long as it does some of it.

    The pauses grow, and the bucket is drawn on, while nothing is done; every progress begins anew.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._count = 0
        self._taken = 0.0

    def pause(self, *, progressed: bool) -> Sleep | None:
        """The pause before the next round, None if there may be none."""
        if progressed:
            self.succeeded()
            self._count = 0
        self._count += 1
        if self._count >= _MOST_ROUNDS or not self._runtime.bucket.take(RETRY_COST):
            return None
        self._taken = RETRY_COST
        pause = full_jitter(self._count, base=_BASE, cap=_CAP, random=self._runtime.random)
        left = time_left(self._runtime.monotonic)
        return Sleep(pause if left is None else min(pause, left))

    def succeeded(self) -> None:
        """Give back what the last round took."""
        self._runtime.bucket.give(self._taken)
        self._taken = 0.0

    def given_up(self, what: str, count: int) -> Throttled:
        """The error that there may be no further round."""
        msg = f"{what}: the service kept leaving {count} undone: spread the load or raise the capacity"
        return Throttled(msg)


def check_time(runtime: Runtime, what: str, done: str) -> None:
    """Raise DeadlineExceeded when the time is over before anything was taken from the iterable."""
    left = time_left(runtime.monotonic)
    if left is not None and left <= 0:
        msg = f"{what}: the deadline is over, and nothing was {done}"
        raise DeadlineExceeded(msg)
