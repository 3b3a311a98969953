"""The one compiler: from nodes to DynamoDB's text, with one set of names and values per request.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.html
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, TypeAlias

from dynamap.codec import ListOf, SetOf, Shape, Wire, exceeds, item_size, unwrapped
from dynamap.errors import EncodeError, LimitExceeded, RequestError
from dynamap.expressions.fields import Condition, Field, Size
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
from dynamap.model import Entity, Resolved

__all__ = ["NULL", "Compiler", "is_nothing", "is_operand", "order"]

# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
MOST_BYTES = 4096
MOST_OPERATORS = 300
MOST_IN = 100
MOST_DEPTH = 32
MOST_PLACEHOLDER_BYTES = 2 * 1024 * 1024

_OPERATOR = re.compile(r"\b(?:AND|OR|NOT|IN|BETWEEN)\b|<>|<=|>=|[<>]| [+-] |[a-z_]+\(")

NULL: Wire = {"NULL": True}

_Comparison: TypeAlias = "Compare | Between | Membership | Exists | TypeIs | BeginsWith | Contains"

# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
_UNORDERED = {"L", "M", "BOOL"}


class Compiler:
    """Compiles the expressions of one request about one entity; placeholders are numbered in order of appearance."""

    def __init__(self, entity: Entity[Any]) -> None:
        self._entity = entity
        self._names: dict[str, str] = {}
        self._values: dict[str, Wire] = {}
        self._read_from: dict[str, str] = {}

    def about(self, entity: Entity[Any]) -> Compiler:
        """One for what another entity's items are asked, in the same request."""
        other = Compiler(entity)
        other._names, other._values = self._names, self._values
        return other

    # ---- what the request takes

    def placeholders(self) -> dict[str, Any]:
        """The request's ExpressionAttributeNames and -Values; an empty one is left out, as the service wants it.

        Raises LimitExceeded for more than 2 MB of them.
        """
        if not self._names and not self._values:
            return {}
        names = {placeholder: name for name, placeholder in self._names.items()}
        parts: dict[str, Any] = {}
        if names:
            parts["ExpressionAttributeNames"] = names
        taken = sum(len(placeholder) + len(name.encode()) for placeholder, name in names.items())
        if exceeds(self._values, MOST_PLACEHOLDER_BYTES - taken):
            msg = (
                f"{self._entity.cls.__qualname__}: the names and values of the request have "
                f"{taken + item_size(self._values):,} bytes; DynamoDB takes {MOST_PLACEHOLDER_BYTES:,}: "
                f"split the request"
            )
            raise LimitExceeded(msg)
        if self._values:
            parts["ExpressionAttributeValues"] = dict(self._values)
        return parts

    def taken(self) -> tuple[dict[str, str], dict[str, Wire]]:
        """The names and the values by their placeholders."""
        return {placeholder: name for name, placeholder in self._names.items()}, self._values

    def name(self, attribute: str) -> str:
        """The placeholder of an attribute name; never the name itself, which may be reserved or hold a dot."""
        return self._names.setdefault(attribute, f"#{len(self._names)}")

    def value(self, wire: Wire) -> str:
        """The placeholder of a value."""
        placeholder = f":{len(self._values)}"
        self._values[placeholder] = wire
        return placeholder

    def resolve(self, field: object) -> Resolved:
        """The stored path and type of a field reference. Raises RequestError."""
        owner = self._entity.cls.__qualname__
        if not isinstance(field, Field):
            msg = f"{owner}: a field is wanted, as F({owner}.name) makes it; got {type(field).__name__}"
            raise RequestError(msg)
        try:
            resolved = self._entity.resolve(field.owner, field.path)
        except LookupError as error:
            msg = f"{owner} has no path {'.'.join(map(str, field.path))}: {error.args[0]}"
            raise RequestError(msg) from error
        if resolved is None:
            msg = f"{field!r} is a field of {field.owner.__qualname__}, but the request is about {owner}"
            raise RequestError(msg)
        if self._read_from and resolved.field in self._read_from:
            return replace(resolved, attributes=(self._read_from[resolved.field], *resolved.attributes[1:]))
        return resolved

    def path(self, attributes: Sequence[str | int]) -> str:
        """The text of a stored path: every name its own placeholder, list items by number.

        Raises LimitExceeded for one of more than 32 steps.
        """
        if len(attributes) > MOST_DEPTH:
            start = ".".join(map(str, attributes[:4]))
            msg = (
                f"{self._entity.cls.__qualname__}: the path {start}... has {len(attributes)} steps; DynamoDB takes "
                f"{MOST_DEPTH}: change the part that holds it as a whole"
            )
            raise LimitExceeded(msg)
        text = ""
        for step in attributes:
            if isinstance(step, int):
                text += f"[{step}]"
            else:
                text += f"{'.' if text else ''}{self.name(step)}"
        return text

    # ---- conditions

    def condition(self, parts: Sequence[Condition | str]) -> str | None:
        """The text of all these conditions together; None of no conditions. Raises LimitExceeded or RequestError."""
        texts = [part if isinstance(part, str) else self._node(part.node, within=len(parts) > 1) for part in parts]
        text = " AND ".join(texts)
        self._check_size(text, "condition")
        return text or None

    def _node(self, node: Node, *, within: bool = True) -> str:
        if isinstance(node, Not):
            return f"NOT {self._node(node.part)}"
        if isinstance(node, (And, Or)):
            texts = [self._node(part) for part in node.parts]
            text = (" AND " if isinstance(node, And) else " OR ").join(texts)
            return f"({text})" if within else text
        fields = dict.fromkeys(self.resolve(field).field for field in Condition(node).fields())
        renamed = [field for field in fields if self._entity.shape.by_name[field].aliases]
        return self._wherever_read(node, renamed) if renamed else self._comparison(node, within=within)

    def _wherever_read(self, node: _Comparison, renamed: Sequence[str]) -> str:
        """A condition on fields with aliases: it looks under the first name that is there, as reading does."""
        if not renamed:
            return self._comparison(node, within=True)
        field, *others = renamed
        names = self._entity.shape.by_name[field].read_from
        texts: list[str] = []
        for position, attribute in enumerate(names):
            self._read_from[field] = attribute
            parts = [f"attribute_not_exists({self.name(name)})" for name in names[:position]]
            if attribute != names[-1]:
                parts.append(f"attribute_exists({self.name(attribute)})")
            texts.append(f"({' AND '.join((*parts, self._wherever_read(node, others)))})")
        del self._read_from[field]
        return f"({' OR '.join(texts)})"

    def _comparison(self, node: _Comparison, *, within: bool) -> str:
        if isinstance(node, Compare):
            return self._compare(node, within=within)
        if isinstance(node, Between):
            return self._between(node, within=within)
        if isinstance(node, Membership):
            return self._membership(node, within=within)
        if isinstance(node, Exists):
            function = "attribute_exists" if node.expected else "attribute_not_exists"
            return f"{function}({self._operand(node.field)})"
        if isinstance(node, TypeIs):
            return f"attribute_type({self._operand(node.field)}, {self.value({'S': node.kind})})"
        resolved = self.resolve(node.field)
        if isinstance(node, BeginsWith):
            wire = self._prefix(node, resolved)
            return f"begins_with({self.path(resolved.attributes)}, {self.value(wire)})"
        wire = self._contained(node, resolved)
        return f"contains({self.path(resolved.attributes)}, {self.value(wire)})"

    def _prefix(self, node: BeginsWith, resolved: Resolved) -> Wire:
        given: Any = node.prefix
        if not isinstance(given, (str, bytes, bytearray, memoryview)):
            msg = f"{self._where(node.field)}: begins_with() takes a str or bytes; got {type(given).__name__}"
            raise RequestError(msg)
        tag, other, wanted = ("S", "B", "bytes") if isinstance(given, str) else ("B", "S", "a str")
        stored = resolved.shape.wire_types
        if tag not in stored and other in stored:
            msg = f"{self._where(node.field)}: begins_with() takes {wanted} here; got {type(node.prefix).__name__}"
            raise RequestError(msg)
        prefix = resolved.shape.normalize(given)
        return {"S": prefix} if isinstance(prefix, str) else {"B": bytes(prefix)}

    def _contained(self, node: Contains, resolved: Resolved) -> Wire:
        container = unwrapped(resolved.shape)
        # a part of a text is brought into the stored form of the whole
        element = container.element if isinstance(container, (ListOf, SetOf)) else resolved.shape
        return self._encode_with(element, node.item, resolved)

    def _compare(self, node: Compare, *, within: bool) -> str:
        left = self._operand(node.left)
        if is_operand(node.right):
            return f"{left} {node.operator} {self._operand(node.right)}"
        wire = self._operand_value(node.left, node.right)
        if is_nothing(node.right):  # noqa: SIM102 - what is nothing has two rules, and this is the first
            if node.operator not in ("=", "<>"):
                msg = (
                    f"{self._where(node.left)}: {node.operator} cannot compare with {_kind(node.right)}; "
                    f"use eq, ne, exists or not_exists"
                )
                raise RequestError(msg)
        if self.reads_like_absent(node.left, node.right):
            stored = self.value(wire)
            if node.operator == "=":
                text = f"attribute_not_exists({left}) OR {left} = {stored}"
            else:
                text = f"attribute_exists({left}) AND {left} <> {stored}"
            return f"({text})" if within else text
        return f"{left} {node.operator} {self.value(wire)}"

    def _between(self, node: Between, *, within: bool) -> str:
        operand = self._operand(node.operand)
        if node.low is None or node.high is None:
            msg = f"{self._where(node.operand)}: None is no bound of between(); use le() or ge() for one bound"
            raise RequestError(msg)
        bounds: list[str] = []
        wires: list[Wire] = []
        for bound in (node.low, node.high):
            if is_operand(bound):
                bounds.append(self._operand(bound))
            else:
                wire = self._operand_value(node.operand, bound)
                if wire.keys() & _UNORDERED and not is_nothing(bound):
                    msg = (
                        f"{self._where(node.operand)}: between() takes texts, numbers or binary data; others have no "
                        f"order"
                    )
                    raise RequestError(msg)
                wires.append(wire)
                bounds.append(self.value(wire))
        if len(wires) == 2 and wires[0].keys() != wires[1].keys():  # noqa: PLR2004 - both bounds are values
            msg = f"{self._where(node.operand)}: the bounds of between() are stored as two types; use one for both"
            raise RequestError(msg)
        if len(wires) == 2 and order(wires[0]) > order(wires[1]):  # noqa: PLR2004 - both bounds are values
            # the service answers a ValidationException, emulators an empty result
            msg = f"{self._where(node.operand)}: the lower bound of between() is above the upper one; swap them"
            raise RequestError(msg)
        text = f"{operand} BETWEEN {bounds[0]} AND {bounds[1]}"
        # the AND of a BETWEEN beside that of a conjunction reads badly
        return f"({text})" if within else text

    def _membership(self, node: Membership, *, within: bool) -> str:
        operand = self._operand(node.operand)
        if len(node.candidates) == 1:
            self._check_single(node.operand, node.candidates[0])
        absent = [each for each in node.candidates if self.reads_like_absent(node.operand, each)]
        present = [each for each in node.candidates if not self.reads_like_absent(node.operand, each)]
        if len(node.candidates) > MOST_IN:
            msg = f"{self._where(node.operand)}: is_in() takes up to {MOST_IN} values; got {len(node.candidates)}"
            raise LimitExceeded(msg)
        texts = [self._compare(Compare("=", node.operand, candidate), within=False) for candidate in absent[:1]]
        if present:
            candidates = [
                self._operand(each) if is_operand(each) else self.value(self._operand_value(node.operand, each))
                for each in present
            ]
            texts.append(f"{operand} IN ({', '.join(candidates)})")
        text = " OR ".join(texts)
        return f"({text})" if within and len(texts) > 1 else text

    def _check_single(self, operand: object, candidate: object) -> None:
        """Raise EncodeError for all values of an is_in() as one."""
        if not _is_several(candidate) or isinstance(operand, Size):
            return
        if not {"L", "SS", "NS", "BS"}.isdisjoint(self.resolve(operand).shape.wire_types):
            # such a field may hold several values itself
            return
        try:
            self._operand_value(operand, candidate)
        except EncodeError as error:
            msg = f"{error}: is_in() takes the values one by one, as is_in(*values)"
            raise EncodeError(msg, path=error.path) from error

    def _operand(self, operand: object) -> str:
        if isinstance(operand, Size):
            return f"size({self.path(self.resolve(operand.field).attributes)})"
        return self.path(self.resolve(operand).attributes)

    def _operand_value(self, beside: object, value: object) -> Wire:
        """A plain value, encoded as the operand beside it is stored."""
        if isinstance(beside, Size):
            if isinstance(value, bool) or not isinstance(value, int):
                msg = f"{self._where(beside)}: a size is compared with an int; got {type(value).__name__}"
                raise RequestError(msg)
            return {"N": str(value)}
        if value is None:
            return NULL
        resolved = self.resolve(beside)
        return self._encode_with(resolved.shape, value, resolved)

    def reads_like_absent(self, beside: object, value: object) -> bool:
        """Whether a missing attribute would be read as this value: None or an empty set, but for another default."""
        if not is_nothing(value) or isinstance(beside, Size):
            return False
        resolved = self.resolve(beside)
        if value is None and not resolved.shape.accepts(None):
            return not resolved.shape.empty_when_absent
        self._encode_with(resolved.shape, value, resolved)  # refused here, with the class, where it is no such value
        return resolved.shape.encode_attribute(value, resolved.path) is None

    def _encode_with(self, shape: Shape, value: object, resolved: Resolved) -> Wire:
        try:
            return shape.encode(value, resolved.path)
        except EncodeError as error:
            msg = f"{self._entity.cls.__qualname__} {error}"
            raise EncodeError(msg, path=error.path) from error

    def _where(self, operand: object) -> str:
        field = operand.field if isinstance(operand, Size) else operand
        path = ".".join(map(str, field.path)) if isinstance(field, Field) else "?"
        return f"{self._entity.cls.__qualname__}.{path}"

    # ---- limits

    def _check_size(self, text: str, what: str) -> None:
        # placeholders and operators are ASCII
        size = len(text)
        owner = self._entity.cls.__qualname__
        if size > MOST_BYTES:
            msg = f"{owner}: the {what} expression has {size:,} bytes; DynamoDB takes {MOST_BYTES:,}: split the request"
            raise LimitExceeded(msg)
        # the = of a SET is none: AWS counts two in SET a = :x + :y + :z
        operators = _operators(text) + (text.count(" = ") if what != "update" else 0)
        if operators > MOST_OPERATORS:
            msg = f"{owner}: the {what} has {operators} operators; DynamoDB takes {MOST_OPERATORS}: split the request"
            raise LimitExceeded(msg)


def _is_several(value: object) -> bool:
    return isinstance(value, (list, tuple, set, frozenset))


def is_operand(value: object) -> bool:
    """Whether it stands for a stored value."""
    return isinstance(value, (Field, Size))


def _operators(text: str) -> int:
    """How many operators and functions an expression has, comparisons by = left out.

    The AND of a BETWEEN is none of its own.

    >>> _operators("SET #0 = if_not_exists(#0, :0) + :1"), _operators("#0 BETWEEN :0 AND :1 OR NOT size(#1) <> :2")
    (2, 5)
    """
    return len(_OPERATOR.findall(text)) - text.count(" BETWEEN ")


def is_nothing(value: object) -> bool:
    """Whether it is a value that may be stored as an absent attribute."""
    return value is None or (isinstance(value, (set, frozenset)) and not value)


def _kind(value: object) -> str:
    return "None" if value is None else "an empty set"


def order(wire: Wire) -> Any:
    """What the service orders by: numbers by value, text by its UTF-8 bytes."""
    kind, value = next(iter(wire.items()))
    if kind == "N":
        return Decimal(value)
    return value.encode() if kind == "S" else value
