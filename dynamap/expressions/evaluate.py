"""A condition evaluated here, on an encoded item, as DynamoDB would evaluate it there.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from operator import ge, gt, le, lt
from typing import Any, cast

from dynamap.codec import ListOf, SetOf, Shape, Wire, unwrapped
from dynamap.errors import RequestError
from dynamap.expressions.compiler import NULL, Compiler, is_nothing, is_operand, order
from dynamap.expressions.fields import Condition, Size
from dynamap.expressions.nodes import (
    And,
    BeginsWith,
    Between,
    Compare,
    Contains,
    Exists,
    Membership,
    Node,
    Not,
    Or,
    TypeIs,
)
from dynamap.model import Entity, wire_at

__all__ = ["evaluate"]

_ORDERS: dict[str, Callable[[Any, Any], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}
_SETS = ("SS", "NS", "BS")


def evaluate(condition: Condition, entity: Entity[Any], item: Mapping[str, Wire]) -> bool:
    """Whether a condition holds of an item of this entity. Raises RequestError or EncodeError as compiling it does.

    What is missing is unequal to everything and in no order with anything; values of different types are unequal.
    """
    try:
        return _Evaluator(entity, item).holds(condition.node)
    except RequestError:
        # the compiler says it better: with the class, and with what to do
        Compiler(entity).condition([condition])
        raise


class _Evaluator:
    def __init__(self, entity: Entity[Any], item: Mapping[str, Wire]) -> None:
        self._entity = entity
        self._compiler = Compiler(entity)
        self._item = item

    def holds(self, node: Node) -> bool:
        if isinstance(node, Not):
            return not self.holds(node.part)
        if isinstance(node, And):
            return all(self.holds(part) for part in node.parts)
        if isinstance(node, Or):
            return any(self.holds(part) for part in node.parts)
        if isinstance(node, Compare):
            return self._compare(node.operator, node.left, node.right)
        if isinstance(node, Between):
            return self._compare(">=", node.operand, node.low) and self._compare("<=", node.operand, node.high)
        if isinstance(node, Membership):
            return any(self._compare("=", node.operand, candidate) for candidate in node.candidates)
        return self._function(node)

    def _function(self, node: Exists | TypeIs | BeginsWith | Contains) -> bool:
        stored = self._stored(node.field)
        if isinstance(node, Exists):
            return (stored is not None) is node.expected
        if stored is None:
            return False
        if isinstance(node, TypeIs):
            return node.kind in stored
        if isinstance(node, BeginsWith):
            return self._begins_with(node, stored)
        return self._contains(node, stored)

    # ---- operands

    def _stored(self, reference: object) -> Wire | None:
        resolved = self._compiler.resolve(reference)
        # under the first name that is there, as reading does
        names = self._entity.shape.by_name[resolved.field].read_from
        first = next((name for name in names if name in self._item), resolved.attributes[0])
        return wire_at(self._item, (first, *resolved.attributes[1:]))

    def _operand(self, operand: object) -> Wire | None:
        if not isinstance(operand, Size):
            return self._stored(operand)
        stored = self._stored(operand.field)
        if stored is None:
            return None
        kind, content = next(iter(stored.items()))
        return {"N": str(len(content))} if kind in ("S", "B", "L", "M", *_SETS) else None

    def _compare(self, operator: str, left: object, right: object) -> bool:
        stored = self._operand(left)
        if is_operand(right):
            return _compare(operator, stored, self._operand(right))
        if isinstance(left, Size):
            return _compare(operator, stored, {"N": str(right)})
        resolved = self._compiler.resolve(left)
        wire = NULL if right is None else resolved.shape.encode(right, resolved.path)
        if is_nothing(right):
            if operator in _ORDERS:
                msg = f"{left!r}: {operator} cannot compare with None or an empty set; use eq, ne, exists or not_exists"
                raise RequestError(msg)
            # what is read as None or as the empty set may be missing
            if stored is None and self._compiler.reads_like_absent(left, right):
                return operator == "="
        return _compare(operator, stored, wire)

    def _begins_with(self, node: BeginsWith, stored: Wire) -> bool:
        prefix: Any = self._compiler.resolve(node.field).shape.normalize(node.prefix)
        kind = "S" if isinstance(prefix, str) else "B"
        return kind in stored and stored[kind].startswith(prefix)

    def _contains(self, node: Contains, stored: Wire) -> bool:
        resolved = self._compiler.resolve(node.field)
        container = unwrapped(resolved.shape)
        element: Shape = container.element if isinstance(container, (ListOf, SetOf)) else container
        wanted = element.encode(node.item, resolved.path)
        kind, content = next(iter(stored.items()))
        if kind == "L":
            return any(_same(each, wanted) for each in content)
        if kind in _SETS:
            return any(_same({kind[0]: each}, wanted) for each in content)
        return kind in ("S", "B") and kind in wanted and wanted[kind] in content


def _compare(operator: str, left: Wire | None, right: Wire | None) -> bool:
    if operator == "=":
        return left is not None and right is not None and _same(left, right)
    if operator == "<>":
        return left is None or right is None or not _same(left, right)
    if left is None or right is None:
        return False
    for kind in ("N", "S", "B"):
        if kind in left and kind in right:
            return _ORDERS[operator](order(left), order(right))
    return False


def _same(left: Wire, right: Wire) -> bool:
    """Whether two values are equal: sets in any order, numbers by value, containers by what is in them."""
    return _comparable(left) == _comparable(right)


def _comparable(wire: Wire) -> tuple[str, Any]:
    kind, content = next(iter(wire.items()))
    if kind == "N":
        return kind, Decimal(content)
    if kind == "NS":
        return kind, frozenset(map(Decimal, content))
    if kind in _SETS:
        return kind, frozenset(content)
    if kind == "L":
        return kind, [_comparable(each) for each in content]
    if kind == "M":
        return kind, {name: _comparable(each) for name, each in cast("Mapping[str, Wire]", content).items()}
    return kind, content
