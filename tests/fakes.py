"""Stand-ins for what a unit test must not have: a client, a clock, a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

from dynamap import Store, Sync, Table, connect, connect_async
from dynamap.backoff import TokenBucket
from dynamap.plan import Call, CallFailed, Plan, Reached, Sleep

__all__ = [
    "Driven",
    "FakeClient",
    "answered",
    "applied_but_unreadable",
    "async_store_of",
    "condition_failed",
    "drive",
    "lost",
    "never_sent",
    "numbered",
    "store_of",
]

NOW = 1_700_000_000.0
"""The clock of every store here, in epoch seconds."""


class FakeClient:
    """Looks like a DynamoDB client; *answer* gives each call's reply, or raises."""

    def __init__(self, answer: Callable[[str, dict[str, Any]], Any] | None = None) -> None:
        self._answer = answer
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.registered: list[tuple[str, Callable[..., Any]]] = []
        events = SimpleNamespace(register_first=self._register_first)
        self.meta = SimpleNamespace(events=events, service_model=SimpleNamespace(service_name="dynamodb"))

    def _register_first(self, name: str, handler: Callable[..., Any], unique_id: str | None = None) -> None:
        self.registered.append((name, handler))

    def __getattr__(self, method: str) -> Callable[..., Any]:
        if method.startswith("_"):
            raise AttributeError(method)

        def call(**params: Any) -> Any:
            self.calls.append((method, params))
            assert self._answer is not None, f"{method} was called, though nothing should be sent"
            return self._answer(method, params)

        return call


def numbered(prefix: str = "w") -> Callable[[], str]:
    """Ids in order: w1, w2, w3."""
    numbers = iter(range(1, 1_000_000))
    return lambda: f"{prefix}{next(numbers)}"


def store_of(
    table: Table,
    *,
    clock: Callable[[], float] = lambda: NOW,
    write_ids: Callable[[], str] | None = None,
    bucket: TokenBucket | None = None,
    random: Callable[[], float] = lambda: 0.5,
    monotonic: Callable[[], float] | None = None,
) -> Store[Sync]:
    """A store whose operations can be seen and driven by hand, but not sent."""
    store = connect(table, client=FakeClient(), clock=clock, write_ids=write_ids or numbered())
    runtime = replace(store._runtime, bucket=bucket or TokenBucket(), random=random)
    if monotonic is not None:
        runtime = replace(runtime, monotonic=monotonic)
    return Store(table, store._name, runtime)


def async_store_of(table: Table) -> Any:
    """The same for asyncio."""
    return connect_async(table, client=FakeClient(), clock=lambda: NOW, write_ids=numbered())


# ---- what may happen to a call


def answered(code: str, message: str = "", **more: Any) -> CallFailed:
    """The service answered with an error."""
    return CallFailed(Reached.ANSWERED, code, message, **more)


def condition_failed(item: Any = None) -> CallFailed:
    """The condition was false; *item* is what stood there."""
    return answered("ConditionalCheckFailedException", "The conditional request failed", status=400, item=item)


def lost() -> CallFailed:
    """The connection broke after the request went out."""
    return CallFailed(Reached.UNKNOWN, "ConnectionClosedError", "closed")


def never_sent() -> CallFailed:
    """There was no connection."""
    return CallFailed(Reached.NOTHING, "EndpointConnectionError", "refused")


def applied_but_unreadable() -> CallFailed:
    """A 2xx whose body was damaged."""
    return CallFailed(Reached.APPLIED, "DamagedReply", "12 bytes of 40 arrived")


# ---- driving a plan by hand


@dataclass
class Driven:
    """What a plan did: its calls and sleeps in order, and its result or error."""

    calls: list[Call] = field(default_factory=list)
    sleeps: list[float] = field(default_factory=list)
    result: Any = None
    error: Exception | None = None

    @property
    def outcome(self) -> Any:
        """The result; raises what the plan raised."""
        if self.error is not None:
            raise self.error
        return self.result

    @property
    def operations(self) -> list[str]:
        """The calls' names."""
        return [call.operation for call in self.calls]


def drive(plan: Plan[Any], *replies: Any, answer: Callable[[Call], Any] | None = None) -> Driven:
    """Run a plan: each reply in turn is answered, or raised if it is an exception; then *answer* is asked.

    AssertionError if the plan calls more often, or leaves a reply unused.
    """
    driven = Driven()
    waiting: Iterator[Any] = iter(replies)
    left = len(replies)
    reply: Any = None
    error: Exception | None = None
    while True:
        try:
            command = plan.send(reply) if error is None else plan.throw(error)
        except StopIteration as stop:
            driven.result = stop.value
            break
        except AssertionError:
            raise
        except Exception as raised:  # noqa: BLE001 - whatever the plan raises is what the test looks at
            driven.error = raised
            break
        reply = error = None
        if isinstance(command, Sleep):
            driven.sleeps.append(command.seconds)
            continue
        assert isinstance(command, Call)
        driven.calls.append(command)
        if left:
            left -= 1
            given = next(waiting)
        else:
            assert answer is not None, f"one call too many: {command.operation}"
            try:
                given = answer(command)
            except CallFailed as failed:
                given = failed
        if isinstance(given, Exception):
            error = given
        else:
            reply = given
    assert not left, f"{left} replies were not asked for"
    return driven
