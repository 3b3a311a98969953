"""Ending what was spawned, when nobody waits for it any more."""

from __future__ import annotations

from typing import Any, TypeVar

from dynamap.plan import Plan

__all__ = ["Stop", "unless_stopped"]

R = TypeVar("R")


class Stop:
    """Says to spawned plans that nobody waits for them any more."""

    __slots__ = ("requested",)

    def __init__(self) -> None:
        self.requested = False


def unless_stopped(plan: Plan[R], stop: Stop) -> Plan[R | None]:
    """The plan, up to the command at which it is stopped; a call that is under way is not interrupted."""
    reply: Any = None
    error: Exception | None = None
    try:
        while not stop.requested:
            try:
                command = plan.send(reply) if error is None else plan.throw(error)
            except StopIteration as end:
                result: R = end.value
                return result
            reply = error = None
            try:
                reply = yield command
            except Exception as raised:  # noqa: BLE001 - the plan decides
                error = raised
    finally:
        plan.close()
    return None
