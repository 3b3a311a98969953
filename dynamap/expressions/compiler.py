"""The one compiler: from nodes to DynamoDB's text, with one set of names and values per request.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.html
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, TypeAlias, cast

from dynamap.codec import Float, Integer, ListOf, Number, SetOf, Shape, Wire, unwrapped
from dynamap.errors import ConflictingUpdate, EncodeError, LimitExceeded, RequestError
from dynamap.expressions.fields import Condition, Field, OrElse, Size, Sum
from dynamap.expressions.nodes import (
    Action,
    Add,
    And,
    BeginsWith,
    Between,
    Compare,
    Contains,
    Exists,
    Membership,
    Node,
    Not,
    Set,
    TypeIs,
    Value,
)
from dynamap.model import Entity, Resolved

__all__ = ["Assignment", "Compiler"]

# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
MOST_BYTES = 4096
MOST_OPERATORS = 300
MOST_IN = 100

_NULL: Wire = {"NULL": True}

Assignment: TypeAlias = "tuple[tuple[str | int, ...], str | None]"


class Compiler:
    """Compiles the expressions of one request about one entity; placeholders are numbered in order of appearance."""

    def __init__(self, entity: Entity[Any]) -> None:
        self._entity = entity
        self._names: dict[str, str] = {}
        self._values: dict[str, Wire] = {}
        self._operators = 0

    # ---- what the request takes

    def placeholders(self) -> dict[str, Any]:
        """The request's ExpressionAttributeNames and -Values; an empty one is left out, as the service wants it."""
        names = {placeholder: name for name, placeholder in self._names.items()}
        parts: dict[str, Any] = {}
        if names:
            parts["ExpressionAttributeNames"] = names
        if self._values:
            parts["ExpressionAttributeValues"] = dict(self._values)
        return parts

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
        return resolved

    def path(self, attributes: Sequence[str | int]) -> str:
        """The text of a stored path: every name its own placeholder, list items by number."""
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
        self._operators += len(texts) - 1
        text = " AND ".join(texts)
        self._check_size(text, "condition")
        return text or None

    def _node(self, node: Node, *, within: bool = True) -> str:  # noqa: C901, PLR0911, PLR0912 - one arm per node
        self._operators += 1
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
        if isinstance(node, BeginsWith):
            resolved = self.resolve(node.field)
            prefix = resolved.shape.normalize(node.prefix)
            wire = {"S": prefix} if isinstance(prefix, str) else {"B": bytes(prefix)}
            return f"begins_with({self.path(resolved.attributes)}, {self.value(wire)})"
        if isinstance(node, Contains):
            resolved = self.resolve(node.field)
            container = unwrapped(resolved.shape)
            element = container.element if isinstance(container, (ListOf, SetOf)) else container
            item = self._encode_with(element, node.item, resolved)
            return f"contains({self.path(resolved.attributes)}, {self.value(item)})"
        if isinstance(node, Not):
            return f"NOT {self._node(node.part)}"
        texts = [self._node(part) for part in node.parts]
        text = (" AND " if isinstance(node, And) else " OR ").join(texts)
        return f"({text})" if within else text

    def _compare(self, node: Compare, *, within: bool) -> str:
        left = self._operand(node.left)
        if _is_operand(node.right):
            return f"{left} {node.operator} {self._operand(node.right)}"
        wire = self._operand_value(node.left, node.right)
        if _reads_like_absent(node.right):
            if node.operator not in ("=", "<>"):
                msg = f"{self._where(node.left)}: {node.operator} cannot compare with {_kind(node.right)}; use eq, ne, exists or not_exists"
                raise RequestError(msg)
            self._operators += 1
            stored = self.value(wire)
            if node.operator == "=":
                text = f"attribute_not_exists({left}) OR {left} = {stored}"
            else:
                text = f"attribute_exists({left}) AND {left} <> {stored}"
            return f"({text})" if within else text
        return f"{left} {node.operator} {self.value(wire)}"

    def _between(self, node: Between, *, within: bool) -> str:
        operand = self._operand(node.operand)
        bounds: list[str] = []
        wires: list[Wire] = []
        for bound in (node.low, node.high):
            if _is_operand(bound):
                bounds.append(self._operand(bound))
            else:
                wire = self._operand_value(node.operand, bound)
                wires.append(wire)
                bounds.append(self.value(wire))
        if len(wires) == 2 and _order(wires[0]) > _order(wires[1]):  # noqa: PLR2004 - both bounds are values
            # the service answers a ValidationException, emulators an empty result
            msg = f"{self._where(node.operand)}: the lower bound of between() is above the upper one; swap them"
            raise RequestError(msg)
        text = f"{operand} BETWEEN {bounds[0]} AND {bounds[1]}"
        # the AND of a BETWEEN beside that of a conjunction reads badly
        return f"({text})" if within else text

    def _membership(self, node: Membership, *, within: bool) -> str:
        operand = self._operand(node.operand)
        absent = [candidate for candidate in node.candidates if _reads_like_absent(candidate)]
        present = [candidate for candidate in node.candidates if not _reads_like_absent(candidate)]
        if len(node.candidates) > MOST_IN:
            msg = f"{self._where(node.operand)}: is_in() takes up to {MOST_IN} values; got {len(node.candidates)}"
            raise LimitExceeded(msg)
        texts = [self._compare(Compare("=", node.operand, candidate), within=False) for candidate in absent[:1]]
        if present:
            candidates = [
                self._operand(each)
                if _is_operand(each)
                else self.value(self._operand_value(node.operand, each))
                for each in present
            ]
            self._operators += len(candidates) - 1
            texts.append(f"{operand} IN ({', '.join(candidates)})")
        text = " OR ".join(texts)
        return f"({text})" if within and len(texts) > 1 else text

    def _operand(self, operand: object) -> str:
        if isinstance(operand, Size):
            self._operators += 1
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
            return _NULL
        resolved = self.resolve(beside)
        return self._encode_with(resolved.shape, value, resolved)

    def _encode_with(self, shape: Shape, value: object, resolved: Resolved) -> Wire:
        try:
            return shape.encode(value, resolved.path)
        except EncodeError as error:
            raise EncodeError(f"{self._entity.cls.__qualname__} {error}", path=error.path) from error

    def _where(self, operand: object) -> str:
        field = operand.field if isinstance(operand, Size) else operand
        path = ".".join(map(str, field.path)) if isinstance(field, Field) else "?"
        return f"{self._entity.cls.__qualname__}.{path}"

    # ---- updates

    def update(self, actions: Sequence[Action], assigned: Sequence[Assignment] = ()) -> str | None:
        """The text of an update; None of no action. *assigned* are stored paths with ready texts, None to remove one.

        Raises ConflictingUpdate where two actions name the same or overlapping paths, which the service refuses.
        """
        clauses: dict[str, list[str]] = {"SET": [], "REMOVE": [], "ADD": []}
        taken = [attributes for attributes, _ in assigned]
        for action in actions:
            resolved = self.resolve(action.field)
            self._check_free(resolved.attributes, taken)
            taken.append(resolved.attributes)
            path = self.path(resolved.attributes)
            if isinstance(action, Add):
                clauses["ADD"].append(f"{path} {self.value(self._added(action, resolved))}")
                continue
            text = self._assigned(action, resolved) if isinstance(action, Set) else None
            clauses["REMOVE" if text is None else "SET"].append(path if text is None else f"{path} = {text}")
        for attributes, text in assigned:
            path = self.path(attributes)
            clauses["REMOVE" if text is None else "SET"].append(path if text is None else f"{path} = {text}")
        text = " ".join(f"{clause} {', '.join(parts)}" for clause, parts in clauses.items() if parts)
        self._operators += sum(map(len, clauses.values()))
        self._check_size(text, "update")
        return text or None

    def _check_free(self, path: tuple[str | int, ...], taken: list[tuple[str | int, ...]]) -> None:
        for other in taken:
            shared = min(len(path), len(other))
            if path[:shared] == other[:shared]:
                one, two = (".".join(map(str, steps)) for steps in (other, path))
                msg = (
                    f"{self._entity.cls.__qualname__}: one update changes {one} and {two}, which "
                    f"{'are the same' if one == two else 'overlap'}: leave one out"
                )
                raise ConflictingUpdate(msg)

    def _assigned(self, action: Set, resolved: Resolved) -> str | None:
        """The right side of a set; None where the value is stored as an absent attribute."""
        value = action.value
        if isinstance(value, Sum):
            self._operators += 1
            return f"{self._term(value.left, resolved)} {value.sign} {self._term(value.right, resolved)}"
        if isinstance(value, Value):
            return self._term(cast("object", value), resolved)
        wire = self._stored(value, resolved)
        return None if wire is None else self.value(wire)

    def _term(self, term: object, resolved: Resolved) -> str:
        if _is_operand(term):
            return self.path(self.resolve(term).attributes)
        if isinstance(term, OrElse):
            self._operators += 1
            reference: object = term.field
            field = self.resolve(reference)
            return f"if_not_exists({self.path(field.attributes)}, {self._term(term.default, field)})"
        return self.value(self._encode_with(resolved.shape, self._number_like(term, resolved), resolved))

    @staticmethod
    def _number_like(term: object, resolved: Resolved) -> object:
        # the typing lets an int be added to a Decimal field
        if isinstance(unwrapped(resolved.shape), Number) and isinstance(term, int) and not isinstance(term, bool):
            return Decimal(term)
        return term

    def _stored(self, value: object, resolved: Resolved) -> Wire | None:
        try:
            if resolved.top_level:
                return resolved.shape.encode_attribute(value, resolved.path)
            return resolved.shape.encode(value, resolved.path)
        except EncodeError as error:
            raise EncodeError(f"{self._entity.cls.__qualname__} {error}", path=error.path) from error

    def _added(self, action: Add, resolved: Resolved) -> Wire:
        shape = unwrapped(resolved.shape)
        if isinstance(shape, SetOf):
            return self._encode_with(shape, shape.factory(action.what), resolved)
        amount = self._number_like(action.what[0], resolved) if len(action.what) == 1 else None
        if amount is None or not isinstance(shape, (Integer, Float, Number)):
            msg = (
                f"{self._where(action.field)}: add() takes one amount for a number or elements for a set; "
                f"this field holds {resolved.shape.kind}"
            )
            raise RequestError(msg)
        return self._encode_with(resolved.shape, amount, resolved)

    # ---- limits

    def _check_size(self, text: str, what: str) -> None:
        size = len(text.encode())
        owner = self._entity.cls.__qualname__
        if size > MOST_BYTES:
            msg = f"{owner}: the {what} expression has {size:,} bytes; DynamoDB takes {MOST_BYTES:,}: split the request"
            raise LimitExceeded(msg)
        if self._operators > MOST_OPERATORS:
            msg = f"{owner}: the {what} has {self._operators} operators; DynamoDB takes {MOST_OPERATORS}: split the request"
            raise LimitExceeded(msg)


def _is_operand(value: object) -> bool:
    return isinstance(value, (Field, Size))


def _reads_like_absent(value: object) -> bool:
    """Whether a missing attribute would be read as this value."""
    return value is None or (isinstance(value, (set, frozenset)) and not value)


def _kind(value: object) -> str:
    return "None" if value is None else "an empty set"


def _order(wire: Wire) -> Any:
    """What the service orders by: numbers by value, text by its UTF-8 bytes."""
    kind, value = next(iter(wire.items()))
    if kind == "N":
        return Decimal(value)
    return value.encode() if kind == "S" else value
