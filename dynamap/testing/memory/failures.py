"""The service's errors, as a driver would report them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from dynamap.plan import CallFailed, Reached

__all__ = ["INVALID", "condition_failed", "refuse"]

INVALID = "ValidationException"


def refuse(message: str, code: str = INVALID, *, reasons: Sequence[Mapping[str, Any]] = ()) -> NoReturn:
    """Raise CallFailed for an error answer with status 400."""
    raise CallFailed(Reached.ANSWERED, code, message, status=400, reasons=reasons)


def condition_failed(item: Mapping[str, Any] | None) -> CallFailed:
    """The condition does not hold; *item* is what stood there, if the request asked for it."""
    code, message = "ConditionalCheckFailedException", "The conditional request failed"
    return CallFailed(Reached.ANSWERED, code, message, status=400, item=None if item is None else dict(item))
