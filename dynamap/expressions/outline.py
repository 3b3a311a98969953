"""Requests that are compiled once: those with the same outline differ in their values alone.

An outline is all that decides the text and the names of a request's expressions. The compiler makes those of the first
request that has it, the next ones take them, with values of their own. What is rare has no outline, nor has what the
compiler refuses: it says why.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from dynamap.codec import SetOf, Wire, size_at_most, unwrapped
from dynamap.expressions.compiler import MOST_IN, MOST_PLACEHOLDER_BYTES, Compiler, is_nothing, is_operand, order
from dynamap.expressions.fields import Condition, Field, OrElse, Size, Sum
from dynamap.expressions.nodes import (
    Action,
    Add,
    And,
    Append,
    BeginsWith,
    Between,
    Compare,
    Contains,
    Discard,
    Exists,
    Membership,
    Node,
    Not,
    Or,
    Remove,
    Set,
    SetIfMissing,
    TypeIs,
    Value,
)
from dynamap.expressions.updates import NO_ITEMS, ZERO, UpdateCompiler
from dynamap.model import Entity, Resolved

__all__ = ["Outline", "Unusual"]

_KEPT = "expressions"
_MOST_KEPT = 256
"""The outlines that are kept for one class in one table; with one more all are forgotten."""


class Unusual(Exception):
    """There is no outline of this: it is compiled as it is."""


class _Compiled(NamedTuple):
    """What the compiler made of a request: its expressions, names, and the placeholders of its values."""

    texts: dict[str, Any]
    names: dict[str, str]
    placeholders: tuple[str, ...]
    taken: int
    """The bytes of the names and of their placeholders."""


class Outline(UpdateCompiler):
    """Takes the expressions of one request apart, in the order in which they are compiled.

    Each step raises Unusual for what has no outline, or what the compiler raises for what it refuses.
    """

    def __init__(self, entity: Entity[Any], kind: str) -> None:
        super().__init__(entity)
        self._steps: list[Hashable] = [kind]
        self.wires: list[Wire] = []
        """The values, as far as they were taken apart."""

    # ---- what is known of the same outline

    def params(self) -> dict[str, Any] | None:
        """The parameters with expressions, names and values, if another request had this outline before.

        Raises Unusual where the text of that one is of no use.
        """
        kept: dict[tuple[Hashable, ...], _Compiled] = self._entity.derived.get(_KEPT, {})
        found = kept.get(tuple(self._steps))
        if found is None:
            return None
        params = dict(found.texts)
        if found.names:
            params["ExpressionAttributeNames"] = dict(found.names)
        if found.placeholders:
            params["ExpressionAttributeValues"] = values = dict(zip(found.placeholders, self.wires, strict=True))
            if size_at_most(values) + found.taken > MOST_PLACEHOLDER_BYTES:
                raise Unusual
        return params

    def keep(self, texts: Mapping[str, Any], compiler: Compiler) -> None:
        """Keep what the compiler made of this request, for others with the same outline."""
        names, values = compiler.taken()
        if list(values.values()) != self.wires:
            # such as those of fields with aliases, which are named more than once
            return
        taken = sum(len(placeholder) + len(name.encode()) for placeholder, name in names.items())
        kept = self._entity.derived.setdefault(_KEPT, {})
        if len(kept) >= _MOST_KEPT:
            kept.clear()
        kept[tuple(self._steps)] = _Compiled(dict(texts), names, tuple(values), taken)

    # ---- values

    def guarded(self, kind: int, wires: Sequence[Wire], *, expires: bool) -> None:
        """A generated condition with its values; with *expires* it speaks of the time at which items expire."""
        self._steps += ("guard", kind, expires)
        self.wires += wires

    def kept_up(self, kind: int, wires: Sequence[Wire]) -> None:
        """What an update under this kind of guard writes beside its changes: a version, an id."""
        self._steps += ("bookkeeping", kind, len(wires))
        self.wires += wires

    def assigned(self, path: tuple[str | int, ...], wire: Wire | None) -> None:
        """A stored path that is set to a value, or removed."""
        self._steps += ("assigned", self._plain(path), wire is None)
        if wire is not None:
            self.wires.append(wire)

    @staticmethod
    def _plain(path: tuple[str | int, ...]) -> tuple[str | int, ...]:
        # True is equal to 1, but is no position of a list
        if len(path) == 1 and type(path[0]) is str:
            return path
        if not all(type(step) is str or type(step) is int for step in path):
            raise Unusual
        return path

    def _field(self, reference: Any) -> tuple[type, tuple[str | int, ...]]:
        if not isinstance(reference, Field):
            raise Unusual
        return reference.owner, self._plain(reference.path)

    # ---- actions

    def actions(self, actions: Sequence[Action]) -> None:
        """The actions of an update."""
        for action in actions:
            self._action(action)

    def _action(self, action: Action) -> None:
        reference: Any = action.field
        field = self._field(reference)
        if isinstance(action, Remove):
            self._steps += (Remove, *field)
            return
        resolved = self.resolve(reference)
        if isinstance(action, Set):
            self._set(action, field, resolved)
        elif isinstance(action, SetIfMissing):
            wire = self.stored(action.value, resolved)
            if wire is None:
                raise Unusual
            self._steps += (SetIfMissing, *field)
            self.wires.append(wire)
        elif isinstance(action, Append):
            self._steps += (Append, *field, action.in_front)
            self.wires += (self._start(resolved, NO_ITEMS), self._items(action, resolved))
        else:
            self._counted(action, field, resolved)

    def _set(self, action: Set, field: tuple[type, tuple[str | int, ...]], resolved: Resolved) -> None:
        value: Any = action.value
        if isinstance(value, Value):
            self._steps += ("computed", *field)
            self._right(value, resolved)
            return
        wire = self.stored(value, resolved)
        self._steps += (Set, *field, wire is None)
        if wire is not None:
            self.wires.append(wire)

    def _right(self, value: Any, resolved: Resolved) -> None:
        """A sum, or one of its terms."""
        if isinstance(value, Sum):
            self._steps += (Sum, value.sign)
            self._right(value.left, resolved)
            self._right(value.right, resolved)
        elif isinstance(value, OrElse):
            reference: object = value.field
            self._steps += (OrElse, *self._field(reference))
            self._right(value.default, self.resolve(reference))
        elif is_operand(value):
            self._steps += (Field, *self._field(value))
        else:
            self._steps.append("value")
            self.wires.append(self._encode_with(resolved.shape, self._number_like(value, resolved), resolved))

    def _counted(self, action: Add | Discard, field: tuple[type, tuple[str | int, ...]], resolved: Resolved) -> None:
        shape = unwrapped(resolved.shape)
        if isinstance(shape, SetOf):
            self._steps += ("elements", isinstance(action, Add), *field)
            self.wires.append(self._elements(action, shape, resolved))
            return
        if isinstance(action, Discard):
            raise Unusual
        amount, start = self._amount(action, resolved), self._start(resolved, ZERO)
        begins = start == ZERO and not self._field_aliases(resolved)
        self._steps += (Add, *field, begins)
        self.wires += (amount,) if begins else (start, amount)

    # ---- conditions

    def conditions(self, conditions: Sequence[Condition]) -> None:
        """Conditions that must all hold."""
        self._steps.append(len(conditions))
        for condition in conditions:
            self._condition(condition.node)

    def _condition(self, node: Node) -> None:
        kind: type = type(node)
        if isinstance(node, Compare):
            self._steps += (kind, node.operator)
            self._compared(node.left)
            self._compared_with(node.right, node.left)
        elif isinstance(node, (And, Or)):
            self._steps += (kind, len(node.parts))
            for part in node.parts:
                self._condition(part)
        elif isinstance(node, Not):
            self._steps.append(kind)
            self._condition(node.part)
        elif isinstance(node, Exists):
            self._steps += (kind, node.expected)
            self._compared(node.field)
        elif isinstance(node, TypeIs):
            self._steps.append(kind)
            self._compared(node.field)
            self.wires.append({"S": node.kind})
        elif isinstance(node, Between):
            self._between_bounds(node)
        elif isinstance(node, Membership):
            self._several(node)
        else:
            self._part_of(node)

    def _compared(self, operand: object) -> None:
        if isinstance(operand, Size):
            self._steps += (Size, *self._field(operand.field))
        else:
            self._steps += (Field, *self._field(operand))

    def _compared_with(self, value: object, beside: object) -> Wire | None:
        """A field, or a plain value, which is answered as it is stored."""
        if is_operand(value):
            self._compared(value)
            return None
        if is_nothing(value):
            raise Unusual
        wire = self._operand_value(beside, value)
        self._steps.append("value")
        self.wires.append(wire)
        return wire

    def _between_bounds(self, node: Between) -> None:
        self._steps.append(Between)
        self._compared(node.operand)
        low, high = (self._compared_with(bound, node.operand) for bound in (node.low, node.high))
        if low is not None and high is not None and (low.keys() != high.keys() or order(low) > order(high)):
            raise Unusual

    def _several(self, node: Membership) -> None:
        count = len(node.candidates)
        if not 1 < count <= MOST_IN:
            raise Unusual
        self._steps += (Membership, count)
        self._compared(node.operand)
        for candidate in node.candidates:
            self._compared_with(candidate, node.operand)

    def _part_of(self, node: BeginsWith | Contains) -> None:
        kind: type = type(node)
        self._steps.append(kind)
        self._compared(node.field)
        resolved = self.resolve(node.field)
        if isinstance(node, BeginsWith):
            self.wires.append(self._prefix(node, resolved))
        else:
            self.wires.append(self._contained(node, resolved))
