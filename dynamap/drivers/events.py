"""Whether somebody else handles the events of a client that dynamap makes.

Nobody is given the client, but initializers of botocore's sessions may register handlers for all clients of a program:
https://docs.aws.amazon.com/boto3/latest/guide/events.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["BETWEEN", "watched"]

BETWEEN = ("request-created", "choose-signer", "before-sign", "before-parse", "response-received", "needs-retry")
"""The events between `before-call` and `after-call`, but for `before-send`."""

_KNOWN = ("aiobotocore", "boto3", "botocore", "dynamap")


def watched(emitter: Any) -> Any:
    """An emitter of this class; its list `foreign` has the events of `BETWEEN` that others handle, on it and its copies.

    Sessions take it as *event_hooks*, and make that of each client as a copy of it.
    """
    names = ("register", "register_first", "register_last")
    kind: Any = type("WatchedEmitter", (emitter,), {name: _noting(getattr(emitter, name)) for name in names})
    made = kind()
    made.foreign = []
    return made


def _noting(register: Callable[..., object]) -> Callable[..., object]:
    def noting(self: Any, event_name: str, handler: Any, *rest: Any, **more: Any) -> object:
        if _may_be_between(event_name) and str(handler.__module__).partition(".")[0] not in _KNOWN:
            self.foreign.append(event_name)
        return register(self, event_name, handler, *rest, **more)

    return noting


def _may_be_between(event_name: str) -> bool:
    first = event_name.partition(".")[0]
    return first in BETWEEN or "*" in first
