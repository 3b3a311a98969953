"""The commands that an operation's plan yields to a driver, and what the driver may throw into it.

A plan is a generator without I/O: it yields a command and receives the reply, or has an error thrown into it where it
waits. A driver runs it to its end (`run`) or hands out what it emits on the way (`iterate`), with threads or tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, TypeAlias, TypeVar

import msgspec

from dynamap.codec import Body, without_json

__all__ = [
    "Call",
    "CallFailed",
    "Command",
    "Emit",
    "Item",
    "Join",
    "Plan",
    "Reached",
    "Reply",
    "Sleep",
    "Spawn",
    "Ticket",
    "tables_of",
]

R = TypeVar("R")

Item: TypeAlias = "dict[str, dict[str, Any]]"
Reply: TypeAlias = "dict[str, Any]"


class Call(msgspec.Struct, frozen=True, eq=False):
    """One request to the service; the reply is the dict that boto3's client answers.

    *given* are the parameters; where it *holds_json*, items among them are `JsonItem`, and not yet as the client takes
    them. A driver that has the body of a success may make the reply with *decode*, which raises for one that it does
    not take: then the reply is made as ever.
    """

    operation: str
    given: dict[str, Any]
    decode: Callable[[Body], Reply] | None = None
    holds_json: bool = False

    @property
    def params(self) -> dict[str, Any]:
        """The parameters as boto3's client takes them."""
        # kept once they are made: who looks again, and a repetition, see the same ones
        if self.holds_json:
            msgspec.structs.force_setattr(self, "given", without_json(self.given))
            msgspec.structs.force_setattr(self, "holds_json", False)  # noqa: FBT003
        return self.given

    def __eq__(self, other: object) -> bool:
        """Whether both ask for the same, whatever reads the answer."""
        if not isinstance(other, Call):
            return NotImplemented
        return (self.operation, self.params) == (other.operation, other.params)

    __hash__ = None  # type: ignore[assignment]  # its parameters can change

    def __repr__(self) -> str:
        return f"Call(operation={self.operation!r}, params={self.params!r})"


def tables_of(call: Call) -> tuple[str, ...]:
    """The tables that a request names, each once, in their order; a statement's are not known."""
    params = call.given
    if "TableName" in params:
        return (params["TableName"],)
    # a batch names its tables as keys, a transaction in each of its actions
    actions = (action for item in params.get("TransactItems", ()) for action in item.values())
    return tuple(dict.fromkeys((*params.get("RequestItems", ()), *(action["TableName"] for action in actions))))


class Sleep(msgspec.Struct, frozen=True):
    """Wait this long; the reply is None."""

    seconds: float


class Spawn(msgspec.Struct, frozen=True):
    """Run another plan beside this one; the reply is its ticket."""

    plan: Generator[Any, Any, Any]


class Ticket:
    """Stands for a spawned plan until it is joined; compared by identity."""

    __slots__ = ()


class Join(msgspec.Struct, frozen=True):
    """Wait for the first of these to end; the reply is `(ticket, result)`, or its error is thrown."""

    tickets: tuple[Ticket, ...]


class Emit(msgspec.Struct, frozen=True):
    """Hand these items to whoever iterates; the reply is None."""

    items: Sequence[Any]


Command: TypeAlias = "Call | Sleep | Spawn | Join | Emit"
Plan: TypeAlias = Generator[Command, Any, R]


class Reached(Enum):
    """How far a failed call is known to have come."""

    NOTHING = auto()
    """The request never left: no connection, no name, no handshake, no place in the pool."""
    UNKNOWN = auto()
    """Some of it went out and no whole answer came back."""
    REFUSED = auto()
    """The client itself refused to send it, and would again."""
    ANSWERED = auto()
    """The service answered with an error."""
    APPLIED = auto()
    """The service answered that all is well, but the answer cannot be read."""


@dataclass(eq=False)
class CallFailed(Exception):
    """A driver's account of a call that brought no reply; the client's own exception is its `__cause__`."""

    reached: Reached
    code: str
    message: str = ""
    status: int | None = None
    item: Item | None = None
    reasons: Sequence[Mapping[str, Any]] = field(default=())

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"

    @property
    def origin(self) -> BaseException:
        """What an error that is raised for it names as its cause: the client's own exception, where there is one."""
        return self.__cause__ or self
