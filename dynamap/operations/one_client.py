"""What can be sent as one request: operations whose calls take the same route, to one client."""

from __future__ import annotations

from collections.abc import Iterator, ValuesView
from collections.abc import Set as AbstractSet

from dynamap.errors import RequestError
from dynamap.operations.base import Runtime

__all__ = ["check_one_client", "unpacking_remedy"]


def check_one_client(verb: str, position: int, own: Runtime, runtime: Runtime) -> None:
    """Raise RequestError for an argument, an operation with a runtime of its *own*, that another client would send."""
    if _same_route(own, runtime):
        return
    msg = (
        f"{verb}: argument {position} belongs to a store with another client: pass one client= to connect() of both "
        f"stores, or, where they have the same Table, make one of the other with store.with_name()"
    )
    raise RequestError(msg)


def unpacking_remedy(method: str, given: object) -> str:
    """What to add to a message about what was *given* to this method of a store: several operations in one argument."""
    return f": write {method}(*...)" if isinstance(given, (list, tuple, AbstractSet, ValuesView, Iterator)) else ""


def _same_route(one: Runtime, other: Runtime) -> bool:
    # one engine in memory serves plain stores and those of asyncio
    if len(one.route) != len(other.route) or type(one.driver) is not type(other.driver):
        return False
    return all(mine is its for mine, its in zip(one.route, other.route, strict=True))
