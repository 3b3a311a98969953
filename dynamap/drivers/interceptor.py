"""What may stand between a driver and its client, the same for both modes."""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol

from dynamap.plan import Call, CallFailed, Reply

__all__ = ["Interceptor", "method_of"]


class Interceptor(Protocol):
    """Sees every call; what it answers, if anything, takes the place of the call or reply, as does what it raises."""

    def before(self, call: Call, /) -> Call | None:
        """Before the call is sent."""

    def after(self, call: Call, outcome: Reply | CallFailed, /) -> Reply | None:
        """When the reply or the failure is known; in place of a failure only an exception counts."""


@lru_cache(maxsize=256)
def method_of(operation: str) -> str:
    """The client's method for an operation of the service: `UpdateItem` is `update_item`."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in operation).lstrip("_")
