"""What happened in a simulation, as text that can be read and replayed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dynamap.plan import Call, CallFailed, Reached, Reply
from dynamap.testing.simulation.schedules import Schedule

__all__ = ["Record", "Step", "key_words", "outcome_words", "target_words"]


@dataclass(frozen=True)
class Step:
    """One line of a record: who did what to what, what went wrong, and what the client was told."""

    number: int
    at: float
    who: str
    what: str
    fault: str = ""
    outcome: str = ""


class Record:
    """Every step of one schedule in order; `str` is a table of them with the schedule, which `Bench.replay` takes.

    It shows keys, and no other values.
    """

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.steps: list[Step] = []

    def add(self, at: float, who: str, what: str, fault: str = "", outcome: str = "") -> None:
        """Add a step."""
        self.steps.append(Step(len(self.steps) + 1, at, who, what, fault, outcome))

    def __str__(self) -> str:
        rows = [
            (str(step.number), f"{step.at:.3f}", step.who, step.what, step.fault, step.outcome) for step in self.steps
        ]
        widths = [max((len(row[column]) for row in rows), default=0) for column in range(6)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([*lines, str(self.schedule)])


def target_words(call: Call, keys: Sequence[str]) -> str:
    """An operation and the keys that it is about; *keys* are the names of the key attributes."""
    return f"{call.operation} {_target(call, keys)}".rstrip()


def _target(call: Call, keys: Sequence[str]) -> str:
    params = call.params
    if call.operation in ("TransactWriteItems", "TransactGetItems"):
        parts = [(kind, inner) for each in params["TransactItems"] for kind, inner in each.items()]
        return ", ".join(f"{kind} {key_words(inner.get('Key') or inner['Item'], keys)}" for kind, inner in parts)
    if "RequestItems" in params:
        return f"of {sum(map(_length, params['RequestItems'].values()))}"
    if "Key" in params or "Item" in params:
        return key_words(params.get("Key") or params["Item"], keys)
    return str(params.get("IndexName", ""))


def _length(requests: Mapping[str, Sequence[Any]] | Sequence[Any]) -> int:
    return len(requests["Keys"] if isinstance(requests, Mapping) else requests)


def key_words(attributes: Mapping[str, Any], keys: Sequence[str]) -> str:
    """The key of an item."""
    return " / ".join(str(next(iter(attributes[name].values()))) for name in keys if name in attributes)


def outcome_words(outcome: Reply | BaseException) -> str:
    """What a call came to."""
    if not isinstance(outcome, BaseException):
        return "ok"
    if isinstance(outcome, CallFailed):
        kinds = {Reached.UNKNOWN: "lost", Reached.NOTHING: "not sent", Reached.APPLIED: "unreadable"}
        return kinds.get(outcome.reached, outcome.code)
    return type(outcome).__name__
