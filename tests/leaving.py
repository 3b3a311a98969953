"""A service that leaves a share of every batch undone."""

from __future__ import annotations

import random
import threading
from typing import Any

from dynamap.plan import Call, CallFailed, Reply

__all__ = ["Leaving"]


class Leaving:
    """Leaves each entry of a batch undone by this chance, never all of them; put it over a store by `intercepted`."""

    def __init__(self, share: float, seed: int = 0) -> None:
        self.calls = 0
        self.left = 0
        self._share = share
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._kept: dict[int, tuple[Call, dict[str, Any]]] = {}

    def before(self, call: Call, /) -> Call | None:
        """Send a part of it."""
        name, entries = _entries(call)
        with self._lock:
            self.calls += 1
            done = [entry for entry in entries if self._random.random() >= self._share] or entries[:1]
            undone = [entry for entry in entries if not any(entry is each for each in done)]
            self.left += len(undone)
            sent = _with(call, name, done)
            if undone:
                self._kept[id(sent)] = sent, _with(call, name, undone).params["RequestItems"]
        return sent

    def after(self, call: Call, outcome: Reply | CallFailed, /) -> Reply | None:
        """Say what is left."""
        with self._lock:
            _, undone = self._kept.pop(id(call), (None, None))
        if undone is None or isinstance(outcome, CallFailed):
            return None
        unprocessed = "UnprocessedKeys" if call.operation == "BatchGetItem" else "UnprocessedItems"
        assert not outcome.get(unprocessed)
        return {**outcome, unprocessed: undone}


def _entries(call: Call) -> tuple[str, list[Any]]:
    ((name, wanted),) = call.params["RequestItems"].items()
    return name, wanted["Keys"] if call.operation == "BatchGetItem" else wanted


def _with(call: Call, name: str, entries: list[Any]) -> Call:
    wanted: Any = call.params["RequestItems"][name]
    inner = {**wanted, "Keys": entries} if call.operation == "BatchGetItem" else entries
    return Call(call.operation, {**call.params, "RequestItems": {name: inner}})
