"""Whether somebody else handles the events of a client that dynamap makes.

Nobody is given the client, but initializers of botocore's sessions may register handlers for all clients of a program:
https://docs.aws.amazon.com/boto3/latest/guide/events.html
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["OtherHandlers", "watched"]

# whoever changes the class of clients may put methods of theirs into it
_BEFORE = ("creating-client-class", "provide-client-params", "before-parameter-build")
_BETWEEN = ("request-created", "choose-signer", "before-sign", "before-parse", "response-received", "needs-retry")
# botocore's own, but it tells others of each attempt
_REPORTING = ("botocore.monitoring",)
_TRUSTED_PACKAGES = ("aiobotocore", "boto3", "botocore", "dynamap")


@dataclass
class OtherHandlers:
    """What others handle: events *before* a request is made, its *sending*, others *between* that and its answer."""

    before: bool = False
    between: bool = False
    sending: bool = False

    def note(self, event_name: str) -> None:
        """Remember that somebody handles this event, or all whose names fit."""
        first = event_name.partition(".")[0]
        self.before = self.before or first in _BEFORE or "*" in first
        self.between = self.between or first in _BETWEEN or "*" in first
        self.sending = self.sending or first == "before-send" or "*" in first


def watched(emitter: Any) -> Any:
    """An emitter of this class; its `others`, which is that of its copies too, knows what others handle.

    Sessions take it as *event_hooks*, and make that of each client as a copy of it.
    """
    names = ("register", "register_first", "register_last")
    kind: Any = type("WatchedEmitter", (emitter,), {name: _noting(getattr(emitter, name)) for name in names})
    made = kind()
    made.others = OtherHandlers()
    return made


def _noting(register: Callable[..., object]) -> Callable[..., object]:
    def noting(self: Any, event_name: str, handler: Any, *rest: Any, **more: Any) -> object:
        module = str(getattr(handler, "__module__", None))
        trusted = module.partition(".")[0] in _TRUSTED_PACKAGES and module not in _REPORTING
        # a wrapper has the name of what it wraps
        if not trusted or hasattr(handler, "__wrapped__"):
            self.others.note(event_name)
        return register(self, event_name, handler, *rest, **more)

    return noting
