"""What every operation is: a frozen builder that can be seen before it is sent."""

from __future__ import annotations

import math
import random as random_module
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar, final, overload

import msgspec
from typing_extensions import Self

from dynamap.backoff import TokenBucket
from dynamap.errors import KeyValueError, RequestError
from dynamap.markers import Async, D, M_co, Sync
from dynamap.model import Entity
from dynamap.operations.cursors import CursorKeys
from dynamap.operations.explain import explain
from dynamap.operations.observing import CallInfo, observed
from dynamap.plan import Call, Plan

__all__ = [
    "Applied",
    "Attempt",
    "Builder",
    "Moment",
    "Named",
    "Operation",
    "Refused",
    "Runtime",
    "Scope",
    "Stores",
    "key_text",
    "named",
]

M = TypeVar("M")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
S = TypeVar("S")
S_co = TypeVar("S_co", covariant=True)


class Driver(Protocol):
    """What runs a plan, or iterates what it emits; in asyncio it answers an awaitable, or is iterated so."""

    def run(self, plan: Plan[Any], /) -> Any: ...
    def iterate(self, plan: Plan[Any], /) -> Any: ...


class Moment(msgspec.Struct, frozen=True):
    """What one sending of a write fixes for all its attempts: the wall clock in epoch seconds, and the write id.

    *started* is the second at which a version that starts afresh begins, where that is another.
    """

    now: float
    write_id: str
    started: float | None = None

    @property
    def start(self) -> float:
        """The second at which a version that starts afresh begins."""
        return self.now if self.started is None else self.started

    def restarted(self, now: float) -> Moment:
        """The same for an attempt after a lost answer: what starts afresh starts later, so that no number recurs."""
        # a step that no writer outruns, should the clock stand still or go back
        return msgspec.structs.replace(self, started=max(now, self.start + 0.001))


def _with_suspend() -> float:
    """Seconds on a clock that also counts while the machine is suspended, as the service's own does."""
    boot: int | None = getattr(time, "CLOCK_BOOTTIME", None)
    return time.time() if boot is None else time.clock_gettime(boot)


@dataclass(frozen=True)
class Runtime:
    """What the operations of one store share."""

    driver: Driver
    clock: Callable[[], float]
    write_ids: Callable[[], str]
    monotonic: Callable[[], float] = time.monotonic
    elapsed: Callable[[], float] = _with_suspend
    random: Callable[[], float] = random_module.random
    bucket: TokenBucket = field(default_factory=TokenBucket)
    on_call: Callable[[CallInfo], object] | None = None
    lacking: set[str] = field(default_factory=set[str])
    """What the server was found not to have, see `capabilities`."""
    cursor_keys: CursorKeys | None = None
    route: tuple[object, ...] = field(kw_only=True)
    """The client, and the interceptors before it.

    Stores whose routes are the same objects can be sent as one request.
    """

    def observed(self, plan: Plan[R], entity: str | None = None) -> Plan[R]:
        """The plan, watched by whoever listens to this store's calls; *entity* is the class that they are about."""
        return observed(
            plan,
            driver=self.driver,
            on_call=self.on_call,
            clock=self.monotonic,
            entity=entity,
            lacking=self.lacking,
        )

    def moment(self) -> Moment:
        """A new one: a builder that is sent twice is two writes."""
        return Moment(self.clock(), self.write_ids())


@dataclass(frozen=True)
class Scope(Generic[M]):
    """Where the operations of one repository go; *bound* are the key fields that it fills in and enforces."""

    runtime: Runtime
    table_name: str
    entity: Entity[M]
    consistent: bool
    bound: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def subject(self) -> str | None:
        """The class that its operations are about, as those hear it who listen to calls."""
        return self.entity.cls.__qualname__

    def filled(self, values: Mapping[str, Any], fields: Sequence[str] | None = None) -> dict[str, Any]:
        """Key field values with those that are bound; *fields* are those of the key, by default the table's.

        Whatever takes key fields from the caller takes them through here, for a bound field always has the bound
        value. Raises KeyValueError for another one, RequestError for a key without it.
        """
        if not self.bound:
            return dict(values)
        for name in self.bound:
            if name in values:
                self._check_bound(name, values[name])
            if fields is not None and name not in fields:
                msg = (
                    f"{self.entity.cls.__qualname__}.{name} is bound here, but no part of the key that is asked for, "
                    f"so items with other values would be read too: use a key that has it, or do not bind it"
                )
                raise RequestError(msg)
        return {**values, **self.bound}

    def check_instance(self, instance: M) -> None:
        """Raise KeyValueError for an instance whose key fields have other values than the bound ones."""
        for name in self.bound:
            self._check_bound(name, getattr(instance, name))

    def _check_bound(self, name: str, value: Any) -> None:
        # in their stored form, which keys hold, and by their type: 1 is no True
        stored, given = (self.entity.key_value(name, each) for each in (self.bound[name], value))
        if stored != given:
            msg = (
                f"{self.entity.cls.__qualname__}.{name} is bound to {self.bound[name]!r} here, but {value!r} was "
                f"given: leave it out, or bind another repository"
            )
            raise KeyValueError(msg)

    def expiry(self, moment: Moment) -> int | None:
        """The second up to which items have expired; None for a type that never expires."""
        return None if self.entity.ttl_attribute is None else math.floor(moment.now)


class Named:
    """What an operation on one item is called in messages, put together when one is made."""

    __slots__ = ("_scope", "_values", "_verb")

    def __init__(self, verb: str, scope: Scope[Any], values: Mapping[str, Any]) -> None:
        self._verb = verb
        self._scope = scope
        self._values = values

    def __str__(self) -> str:
        return named(self._verb, self._scope, self._values)


def named(verb: str, scope: Scope[Any], values: Mapping[str, Any]) -> str:
    """What an operation is called in messages: its verb, the class, and the key fields."""
    return f"{verb} of {scope.entity.cls.__qualname__} {key_text(values)}".rstrip()


def key_text(values: Mapping[str, Any]) -> str:
    """Key fields as messages show them."""
    return ", ".join(f"{name}={value!r}" for name, value in values.items())


# ---- outcomes


@final
class Applied(msgspec.Struct, Generic[R_co], frozen=True):
    """A write that was applied, and what `send()` would have answered."""

    stored: R_co


@final
class Refused(msgspec.Struct, Generic[S_co], frozen=True):
    """A write that its own condition refused, and the entity that stood there."""

    seen: S_co


# ---- builders


class Builder:
    """Frozen: every step answers a changed copy."""

    def __setattr__(self, name: str, value: object) -> None:
        msg = f"{type(self).__name__} is frozen: every step, such as .if_(...), answers a changed copy"
        raise AttributeError(msg)

    def _copy(self, **changes: Any) -> Self:
        return self._become(type(self), **changes)

    def _become(self, kind: type[R], **changes: Any) -> R:
        made = object.__new__(kind)
        made.__dict__.update(self.__dict__)
        made.__dict__.update(changes)
        return made


class Operation(Builder, Generic[D, R_co]):
    """One request, or a series of them, that answers an R.

    Nothing is sent before `send()`. In asyncio it is awaited.
    """

    _runtime: Runtime

    def _call(self, moment: Moment) -> Call:
        raise NotImplementedError

    def _plan(self) -> Plan[R_co]:
        raise NotImplementedError

    def _observed(self, plan: Plan[R]) -> Plan[R]:
        """The plan as it is to be run or iterated: whoever listens to the store's calls hears of them."""
        scope: Scope[Any] | None = self.__dict__.get("_scope")
        return self._runtime.observed(plan, None if scope is None else scope.subject)

    @overload
    def send(self: Operation[Sync, R]) -> R: ...
    @overload
    async def send(self: Operation[Async, R]) -> R: ...
    def send(self) -> Any:
        """Send it and answer its result. Raises the errors of `dynamap.errors`."""
        return self._runtime.driver.run(self._observed(self._plan()))

    def params(self) -> dict[str, Any]:
        """The request as the dict that boto3's client would take; nothing is sent."""
        return self._call(self._runtime.moment()).params

    def explain(self) -> str:
        """The request for a person: names and values put back, estimated capacity units, limits used."""
        return explain(self._call(self._runtime.moment()))


class Attempt(Operation[D, R_co], Generic[D, R_co, S_co]):
    """An operation that a condition can refuse."""

    def _try_plan(self) -> Plan[Any]:
        raise NotImplementedError

    @overload
    def try_send(self: Attempt[Sync, R, S]) -> Applied[R] | Refused[S]: ...
    @overload
    async def try_send(self: Attempt[Async, R, S]) -> Applied[R] | Refused[S]: ...
    def try_send(self) -> Any:
        """Send it; a condition of the caller's that failed is an answer, not an error. Version guards still raise."""
        return self._runtime.driver.run(self._observed(self._try_plan()))


class Stores(Generic[M_co]):
    """A write that knows the entity it stores before it is sent."""
