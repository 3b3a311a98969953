"""Which operations can be sent as one request: those whose calls go the same way, through one client."""

from __future__ import annotations

from dynamap.errors import RequestError
from dynamap.operations.base import Runtime

__all__ = ["check_one_client"]


def check_one_client(verb: str, position: int, own: Runtime, runtime: Runtime) -> None:
    """Raise RequestError for an argument, an operation with a runtime of its *own*, that another client would send."""
    if own.driver is runtime.driver or _same_way(own, runtime):
        return
    msg = (
        f"{verb}: argument {position} belongs to a store with another client: pass one client= to connect() of both "
        f"stores, or, where they have the same Table, make one of the other with store.with_name()"
    )
    raise RequestError(msg)


def _same_way(one: Runtime, other: Runtime) -> bool:
    if not one.way or len(one.way) != len(other.way) or type(one.driver) is not type(other.driver):
        return False
    return all(mine is its for mine, its in zip(one.way, other.way, strict=True))
