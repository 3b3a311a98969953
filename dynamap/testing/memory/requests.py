"""One request on one table: its key, condition and projection, and the write that it asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dynamap.plan import Reply
from dynamap.testing.memory.expressions import Parameters, Step, parse_condition, parse_projection
from dynamap.testing.memory.failures import condition_failed, refuse
from dynamap.testing.memory.tables import MemoryTable
from dynamap.testing.memory.updates import check_overlap, parse_update
from dynamap.testing.memory.values import Item, Wire, copied, item_size, stored

__all__ = ["Request", "State", "Write", "copied_item", "fragment", "prepared_write", "read_units", "with_capacity"]


@dataclass
class State:
    """What an engine holds: its tables by name, the tokens of transactions that it remembers, and its clock."""

    clock: Callable[[], float]
    tables: dict[str, MemoryTable] = field(default_factory=dict[str, MemoryTable])
    tokens: dict[str, tuple[float, str]] = field(default_factory=dict[str, "tuple[float, str]"])

    def table(self, name: str) -> MemoryTable:
        """The table of this name. Raises CallFailed."""
        table = self.tables.get(name)
        if table is None:
            msg = f"Requested resource not found: Table: {name} not found"
            refuse(msg, "ResourceNotFoundException")
        return table


@dataclass(frozen=True)
class Write:
    """A write that was checked against its item but not made yet: what stands there, and what will."""

    table: MemoryTable
    key: Mapping[str, Any]
    old: Item | None
    new: Item | None
    changes: bool = True

    def make(self) -> None:
        """Make it."""
        if self.changes:
            self.table.store(self.key, self.new)

    @property
    def units(self) -> float:
        """The write units that it takes."""
        largest = max(item_size(item) if item is not None else 0 for item in (self.old, self.new))
        return float(max(1, -(-largest // 1024)))


class Request:
    """The parameters of a request on one table, with what its expressions share."""

    def __init__(self, state: State, params: Mapping[str, Any]) -> None:
        self.params = params
        self.table = state.table(params["TableName"])
        self.parameters = Parameters(params)

    def key(self) -> dict[str, Any]:
        """The checked key. Raises CallFailed."""
        key = {name: stored(wire) for name, wire in self.params["Key"].items()}
        self.table.check_key(key)
        return key

    def holds(self, item: Item | None) -> bool:
        """Whether the request's condition holds of an item. Raises CallFailed."""
        text = self.params.get("ConditionExpression")
        if text is None:
            return True
        condition = parse_condition(text)
        condition.check(self.parameters)
        return condition.test(item, self.parameters)

    def refusal(self, old: Item | None) -> Exception:
        """The error for a condition that does not hold."""
        wanted = self.params.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
        return condition_failed(copied_item(old) if wanted and old is not None else None)

    def projected(self, item: Item) -> Item:
        """What the request asks for of an item, as a copy. Raises CallFailed."""
        text = self.params.get("ProjectionExpression")
        if text is None:
            return copied_item(item)
        paths, placeholders = parse_projection(text)
        self.parameters.use(placeholders)
        resolved = [path.resolved(self.parameters) for path in paths]
        check_overlap(resolved, "ProjectionExpression")
        return fragment(item, resolved)

    def check_projection(self) -> None:
        """Raise CallFailed for a projection that cannot be, even if no item is found."""
        self.projected({})


def copied_item(item: Mapping[str, Any]) -> Item:
    """A copy that shares nothing which could be changed."""
    return {name: copied(wire) for name, wire in item.items()}


def fragment(item: Mapping[str, Wire], paths: Sequence[tuple[Step, ...]]) -> Item:
    """Only what stands at these paths: maps keep their names, lists hold the elements that were asked for."""
    tree: dict[Step, Any] = {}
    for path in paths:
        node = tree
        for step in path:
            node = node.setdefault(step, {})
    return _cut({"M": item}, tree).get("M", {}) if tree else {}


def _cut(wire: Mapping[str, Any], tree: Mapping[Step, Any]) -> Wire:
    """What of a value stands at the paths of a tree; empty if nothing does."""
    if not tree:
        return copied(dict(wire))
    if "M" in wire:
        inner = {
            name: _cut(wire["M"][name], tree[name]) for name in tree if isinstance(name, str) and name in wire["M"]
        }
        found = {name: cut for name, cut in inner.items() if cut}
        return {"M": found} if found else {}
    steps = sorted(step for step in tree if isinstance(step, int) and "L" in wire and step < len(wire["L"]))
    elements = [_cut(wire["L"][step], tree[step]) for step in steps]
    left = [cut for cut in elements if cut]
    return {"L": left} if left else {}


def prepared_write(state: State, kind: str, params: Mapping[str, Any]) -> tuple[Write, Request]:
    """A put, update, delete or check, with its condition judged. Raises CallFailed."""
    request = Request(state, params)
    table = request.table
    if kind == "Put":
        new: Item | None = {name: stored(wire) for name, wire in params["Item"].items()}
        assert new is not None  # noqa: S101 - for the checkers
        table.check_item(new)
        key = table.key_of(new)
    else:
        key = request.key()
        new = None
    old = table.get(key)
    update = None
    if kind == "Update" and params.get("UpdateExpression") is not None:
        update = parse_update(params["UpdateExpression"])
        update.check(request.parameters, table.primary.keys)
    holds = request.holds(old)
    request.parameters.check_all_used()
    if not holds:
        raise request.refusal(old)
    if kind == "Update":
        before = old if old is not None else key
        new = dict(before) if update is None else update.apply(before, request.parameters)
        table.check_item(new)
    return Write(table, key, old, new, changes=kind != "ConditionCheck"), request


def read_units(size: int, *, consistent: bool) -> float:
    """The read units for so many bytes."""
    return max(1, -(-size // 4096)) * (1.0 if consistent else 0.5)


def with_capacity(
    reply: Reply, params: Mapping[str, Any], units: Iterable[tuple[str, float]], *, several: bool = False
) -> Reply:
    """The reply with the consumed capacity by table, if the request asks for it; only then are *units* looked at."""
    if params.get("ReturnConsumedCapacity", "NONE") != "NONE":
        totals: dict[str, float] = {}
        for name, used in units:
            totals[name] = totals.get(name, 0.0) + used
        consumed = [{"TableName": name, "CapacityUnits": used} for name, used in totals.items()]
        reply["ConsumedCapacity"] = consumed if several else consumed[0]
    return reply
