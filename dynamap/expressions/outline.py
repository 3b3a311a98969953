"""Requests that are compiled once: those with the same outline differ in their values alone.

An outline is all that decides the text and the names of a request's expressions. The compiler makes those of the first
request that has it, the next ones take them, with values of their own. What is rare has no outline, nor has what the
compiler refuses: it says why.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from dynamap.codec import FieldShape, SetOf, Wire, size_at_most, unwrapped
from dynamap.codec.generated import interpreted
from dynamap.codec.generated.encoders import value_encoders
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

_PLACES = "places"
_MOST_PLACES = 1000
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


class _Place:
    """What a field reference names; the same object for the same field, so that it is its own name in outlines.

    *encoders* are those of a whole field.
    """

    __slots__ = ("encoders", "name", "resolved")

    def __init__(self, resolved: Resolved, name: Hashable, field: FieldShape | None = None) -> None:
        self.resolved = resolved
        self.name: Hashable = self if field is not None else name
        self.encoders = None if field is None or interpreted() else value_encoders(field)


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

    def guarded(self, kind: Hashable, wires: Sequence[Wire], *, expires: bool) -> None:
        """A generated condition with its values; with *expires* it speaks of the time at which items expire."""
        self._steps += ("guard", kind, expires)
        self.wires += wires

    def kept_up(self, kind: Hashable, wires: Sequence[Wire]) -> None:
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

    def _place(self, reference: object) -> _Place:
        given = reference  # before the checkers make it a Field of something unknown
        if not isinstance(reference, Field):
            raise Unusual
        owner, path = reference.owner, reference.path
        if len(path) != 1 or type(path[0]) is not str:
            return _Place(self.resolve(given), (owner, self._plain(path)))
        places: dict[tuple[type, str], _Place] = self._entity.derived.setdefault(_PLACES, {})
        found = places.get((owner, path[0]))
        if found is None:
            resolved = self.resolve(given)
            found = _Place(resolved, None, self._entity.shape.by_name[resolved.field])
            if len(places) >= _MOST_PLACES:
                places.clear()
            places[owner, path[0]] = found
        return found

    def _stored_at(self, place: _Place, value: object) -> Wire | None:
        """What `stored` gives."""
        if place.encoders is None:
            return self.stored(value, place.resolved)
        wire = place.encoders.attribute(value)
        if wire is not None:
            self._entity.check_key(str(place.resolved.attributes[0]), wire)
        return wire

    # ---- actions

    def actions(self, actions: Sequence[Action]) -> None:
        """The actions of an update."""
        for action in actions:
            self._action(action)

    def _action(self, action: Action) -> None:
        place = self._place(action.field)
        resolved = place.resolved
        if isinstance(action, Set):
            self._set(action, place)
        elif isinstance(action, Remove):
            self._steps += (Remove, place.name)
        elif isinstance(action, SetIfMissing):
            wire = self._stored_at(place, action.value)
            if wire is None:
                raise Unusual
            self._steps += (SetIfMissing, place.name)
            self.wires.append(wire)
        elif isinstance(action, Append):
            self._steps += (Append, place.name, action.in_front)
            self.wires += (self._start(resolved, NO_ITEMS), self._items(action, resolved))
        else:
            self._counted(action, place)

    def _set(self, action: Set, place: _Place) -> None:
        value: Any = action.value
        if isinstance(value, Value):
            self._steps += ("computed", place.name)
            self._right(value, place.resolved)
            return
        wire = self._stored_at(place, value)
        self._steps += (Set, place.name, wire is None)
        if wire is not None:
            self.wires.append(wire)

    def _right(self, value: Any, resolved: Resolved) -> None:
        """A sum, or one of its terms."""
        if isinstance(value, Sum):
            self._steps += (Sum, value.sign)
            self._right(value.left, resolved)
            self._right(value.right, resolved)
        elif isinstance(value, OrElse):
            place = self._place(value.field)
            self._steps += (OrElse, place.name)
            self._right(value.default, place.resolved)
        elif is_operand(value):
            self._steps += (Field, self._place(value).name)
        else:
            self._steps.append("value")
            self.wires.append(self._encode_with(resolved.shape, self._number_like(value, resolved), resolved))

    def _counted(self, action: Add | Discard, place: _Place) -> None:
        resolved = place.resolved
        shape = unwrapped(resolved.shape)
        if isinstance(shape, SetOf):
            self._steps += ("elements", isinstance(action, Add), place.name)
            self.wires.append(self._elements(action, shape, resolved))
            return
        if isinstance(action, Discard):
            raise Unusual
        amount, start = self._amount(action, resolved), self._start(resolved, ZERO)
        begins = start == ZERO and not self._field_aliases(resolved)
        self._steps += (Add, place.name, begins)
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
            self._compared_with(node.right, node.left, self._compared(node.left))
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

    def _compared(self, operand: object) -> _Place | None:
        """What is compared; answers the place of a field, None of the size of one."""
        if isinstance(operand, Size):
            self._steps += (Size, self._place(operand.field).name)
            return None
        place = self._place(operand)
        self._steps.append(place.name)
        return place

    def _compared_with(self, value: object, beside: object, place: _Place | None) -> Wire | None:
        """A field, or a plain value, which is answered as it is stored."""
        if is_operand(value):
            self._steps.append(Field)
            self._compared(value)
            return None
        if is_nothing(value):
            raise Unusual
        encoders = None if place is None else place.encoders
        wire = self._operand_value(beside, value) if encoders is None else encoders.value(value)
        self._steps.append("value")
        self.wires.append(wire)
        return wire

    def _between_bounds(self, node: Between) -> None:
        self._steps.append(Between)
        place = self._compared(node.operand)
        low, high = (self._compared_with(bound, node.operand, place) for bound in (node.low, node.high))
        if low is not None and high is not None and (low.keys() != high.keys() or order(low) > order(high)):
            raise Unusual

    def _several(self, node: Membership) -> None:
        count = len(node.candidates)
        if not 1 < count <= MOST_IN:
            raise Unusual
        self._steps += (Membership, count)
        place = self._compared(node.operand)
        for candidate in node.candidates:
            self._compared_with(candidate, node.operand, place)

    def _part_of(self, node: BeginsWith | Contains) -> None:
        kind: type = type(node)
        self._steps.append(kind)
        self._compared(node.field)
        resolved = self.resolve(node.field)
        if isinstance(node, BeginsWith):
            self.wires.append(self._prefix(node, resolved))
        else:
            self.wires.append(self._contained(node, resolved))
