"""A table in memory that reads expressions by DynamoDB's grammar, written apart from the compiler that it judges.

Knows PutItem, UpdateItem, DeleteItem and GetItem, and refuses what DynamoDB refuses of expressions: placeholders that
are unused or undefined, names outside of placeholders, overlapping paths.
"""

from __future__ import annotations

import copy
import re
from decimal import Decimal
from typing import Any

from dynamap.plan import Call, CallFailed, Reached

__all__ = ["Expression", "TinyTable", "holds"]

_TOKEN = re.compile(r"\s*(?:([#:]\w+)|(<>|<=|>=|[=<>(),.+\-\[\]])|(\d+)|([A-Za-z_]+))")
_MISSING = object()


class Expression:
    """One request's expressions over one item: parses, evaluates, and remembers which placeholders were used."""

    def __init__(self, names: dict[str, str], values: dict[str, Any], item: dict[str, Any] | None) -> None:
        self._names, self._values, self._item = names, values, item
        self.used: set[str] = set()
        self._tokens: list[str] = []
        self._at = 0

    # ---- tokens

    def _read(self, text: str) -> None:
        self._tokens, self._at = [], 0
        position = 0
        while position < len(text):
            match = _TOKEN.match(text, position)
            assert match, f"no token at {text[position:]!r}"
            self._tokens.append(match[0].strip())
            position = match.end()

    def _peek(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def _take(self, token: str) -> None:
        found = self._next()
        assert found == token, f"{token} expected, found {found!r} in {' '.join(self._tokens)}"

    # ---- conditions: OR binds weakest, then AND, then NOT, then comparisons

    def condition(self, text: str) -> bool:
        """Whether it holds of the item."""
        self._read(text)
        result = self._or()
        assert not self._peek(), f"{self._peek()!r} is left over in {text}"
        return result

    def _or(self) -> bool:
        result = self._and()
        while self._peek() == "OR":
            self._next()
            right = self._and()
            result = result or right
        return result

    def _and(self) -> bool:
        result = self._not()
        while self._peek() == "AND":
            self._next()
            right = self._not()
            result = result and right
        return result

    def _not(self) -> bool:
        if self._peek() == "NOT":
            self._next()
            return not self._not()
        if self._peek() == "(":
            self._next()
            result = self._or()
            self._take(")")
            return result
        if self._peek() in ("attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains"):
            return self._function()
        return self._comparison()

    def _function(self) -> bool:
        name = self._next()
        self._take("(")
        subject = self._operand()
        argument: Any = None
        if self._peek() == ",":
            self._next()
            argument = self._operand()
        self._take(")")
        if name == "attribute_exists":
            return subject is not _MISSING
        if name == "attribute_not_exists":
            return subject is _MISSING
        if subject is _MISSING or argument is _MISSING:
            return False
        (kind, value), (other_kind, other) = *subject.items(), *argument.items()
        if name == "attribute_type":
            return bool(kind == other)
        if name == "begins_with":
            return bool(kind == other_kind and value.startswith(other))
        if kind in ("SS", "NS", "BS"):
            return bool(kind[0] == other_kind and other in value)
        if kind == "L":
            return bool(argument in value)
        return bool(kind == other_kind and other in value)

    def _comparison(self) -> bool:
        left = self._operand()
        word = self._next()
        if word == "BETWEEN":
            low = self._operand()
            self._take("AND")
            high = self._operand()
            return _ordered(low, "<=", left) and _ordered(left, "<=", high)
        if word == "IN":
            self._take("(")
            found = _equal(left, self._operand())
            while self._peek() == ",":
                self._next()
                candidate = self._operand()
                found = found or _equal(left, candidate)
            self._take(")")
            return found
        right = self._operand()
        if word == "=":
            return _equal(left, right)
        if word == "<>":
            return not _equal(left, right)
        assert word in ("<", "<=", ">", ">="), f"no comparison: {word!r}"
        return _ordered(left, word, right)

    def _operand(self) -> Any:
        token = self._peek()
        if token == "size":
            self._next()
            self._take("(")
            subject = self._operand()
            self._take(")")
            return _MISSING if subject is _MISSING else {"N": str(_size(subject))}
        if token.startswith(":"):
            return self._value()
        return _at({"M": self._item or {}}, self._path())

    def _value(self) -> Any:
        token = self._next()
        self.used.add(token)
        return self._values[token]

    def _path(self) -> list[str | int]:
        path: list[str | int] = [self._name()]
        while self._peek() in (".", "["):
            if self._next() == ".":
                path.append(self._name())
            else:
                path.append(int(self._next()))
                self._take("]")
        return path

    def _name(self) -> str:
        token = self._next()
        assert token.startswith("#"), f"a name that is no placeholder: {token!r}"
        self.used.add(token)
        return self._names[token]

    # ---- updates

    def update(self, text: str, key: dict[str, Any]) -> dict[str, Any]:
        """The item as it is after the update; every right side sees it as it was before."""
        self._read(text)
        result: dict[str, Any] = copy.deepcopy(self._item) if self._item is not None else dict(key)
        paths: list[list[str | int]] = []
        clauses: set[str] = set()
        while self._peek():
            clause = self._next()
            assert clause in ("SET", "REMOVE", "ADD", "DELETE"), clause
            assert clause not in clauses, f"{clause} stands twice"
            clauses.add(clause)
            while True:
                path = self._path()
                for other in paths:
                    shared = min(len(other), len(path))
                    assert other[:shared] != path[:shared], f"two paths overlap: {other} and {path}"
                paths.append(path)
                self._change(clause, path, result)
                if self._peek() != ",":
                    break
                self._next()
        assert not any(path[0] in key for path in paths), "a key attribute is changed"
        return result

    def _change(self, clause: str, path: list[str | int], result: dict[str, Any]) -> None:
        if clause == "SET":
            self._take("=")
            _put(result, path, self._sum())
        elif clause == "REMOVE":
            _put(result, path, _MISSING)
        else:
            amount = self._value()
            old = _at({"M": self._item or {}}, path)
            ((kind, added),) = amount.items()
            if clause == "DELETE":
                left = [] if old is _MISSING else [each for each in old[kind] if each not in added]
                new = {kind: left} if left else _MISSING
            elif old is _MISSING:
                new = amount
            elif kind == "N":
                new = {"N": _text(Decimal(old["N"]) + Decimal(added))}
            else:
                new = {kind: [*old[kind], *(each for each in added if each not in old[kind])]}
            _put(result, path, new)

    def _sum(self) -> Any:
        left = self._term()
        if self._peek() not in ("+", "-"):
            return left
        sign = self._next()
        one, two = Decimal(left["N"]), Decimal(self._term()["N"])
        return {"N": _text(one + two if sign == "+" else one - two)}

    def _term(self) -> Any:
        if self._peek() == "if_not_exists":
            self._next()
            self._take("(")
            found = self._operand()
            self._take(",")
            default = self._term()
            self._take(")")
            return default if found is _MISSING else found
        if self._peek() == "list_append":
            self._next()
            self._take("(")
            first = self._term()
            self._take(",")
            second = self._term()
            self._take(")")
            return {"L": [*first["L"], *second["L"]]}
        return self._operand()


def _text(number: Decimal) -> str:
    return format(number.normalize(), "f")


def _size(wire: dict[str, Any]) -> int:
    ((kind, value),) = wire.items()
    return len(value.encode()) if kind == "S" else len(value)


def _comparable(wire: Any) -> Any:
    ((kind, value),) = wire.items()
    if kind == "N":
        return Decimal(value)
    return value.encode() if kind == "S" else value


def _equal(left: Any, right: Any) -> bool:
    if left is _MISSING or right is _MISSING:
        return False
    (kind, one), (other_kind, two) = *left.items(), *right.items()
    if kind != other_kind:
        return False
    if kind in ("SS", "NS", "BS"):
        return set(one) == set(two)
    return bool(Decimal(one) == Decimal(two)) if kind == "N" else bool(one == two)


def _ordered(left: Any, word: str, right: Any) -> bool:
    if left is _MISSING or right is _MISSING or list(left) != list(right):
        return False
    one, two = _comparable(left), _comparable(right)
    return bool({"<": one < two, "<=": one <= two, ">": one > two, ">=": one >= two}[word])


def _at(wire: Any, path: list[str | int]) -> Any:
    here: Any = wire
    for step in path:
        inside = here.get("L" if isinstance(step, int) else "M")
        if inside is None:
            return _MISSING
        if isinstance(step, int):
            if step >= len(inside):
                return _MISSING
            here = inside[step]
        elif step in inside:
            here = inside[step]
        else:
            return _MISSING
    return here


def _put(item: dict[str, Any], path: list[str | int], value: Any) -> None:
    *parents, last = path
    parent = _at({"M": item}, parents)
    assert parent is not _MISSING, f"the document path {path} has no parent"
    if isinstance(last, int):
        parent["L"][last : last + 1] = [] if value is _MISSING else [value]
    elif value is _MISSING:
        parent["M"].pop(last, None)
    else:
        parent["M"][last] = copy.deepcopy(value)


def holds(params: dict[str, Any], item: dict[str, Any] | None, parameter: str = "ConditionExpression") -> bool:
    """Whether the condition of a request holds of an item; every placeholder must be used by it."""
    names, values = params.get("ExpressionAttributeNames", {}), params.get("ExpressionAttributeValues", {})
    expression = Expression(names, values, item)
    result = expression.condition(params[parameter])
    assert expression.used == {*names, *values}
    return result


class TinyTable:
    """Items by key; `apply` does what DynamoDB would do with a call."""

    def __init__(self, *, pk: str = "pk", sk: str | None = "sk", sends_item: bool = True) -> None:
        self._keys = tuple(name for name in (pk, sk) if name is not None)
        self._sends_item = sends_item
        self.items: dict[tuple[str, ...], dict[str, Any]] = {}

    def _key(self, attributes: dict[str, Any]) -> tuple[str, ...]:
        return tuple(attributes[name]["S"] for name in self._keys)

    def get(self, attributes: dict[str, Any]) -> dict[str, Any] | None:
        """The item under this key."""
        return copy.deepcopy(self.items.get(self._key(attributes)))

    def apply(self, call: Call) -> dict[str, Any]:
        """The reply. Raises CallFailed where a condition does not hold."""
        params = call.params
        key_source = params["Item"] if call.operation == "PutItem" else params["Key"]
        key = self._key(key_source)
        old = self.get(key_source)
        if call.operation == "GetItem":
            return {"Item": old} if old is not None else {}
        names, values = params.get("ExpressionAttributeNames", {}), params.get("ExpressionAttributeValues", {})
        assert names or "ExpressionAttributeNames" not in params, "an empty map of names"
        assert values or "ExpressionAttributeValues" not in params, "an empty map of values"
        expression = Expression(names, values, old)
        condition = params.get("ConditionExpression")
        fits = condition is None or expression.condition(condition)
        new = None
        if call.operation == "PutItem":
            new = copy.deepcopy(params["Item"])
        elif call.operation == "UpdateItem":
            key_part = dict(params["Key"])
            text = params.get("UpdateExpression")
            if not fits:
                expression.used.update(re.findall(r"[#:]\w+", text or ""))
            elif text is None:
                new = old or key_part
            else:
                new = expression.update(text, key_part)
        assert expression.used == {*names, *values}, f"unused: {sorted({*names, *values} - expression.used)}"
        if not fits:
            sent = old if params.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD" and self._sends_item else None
            raise CallFailed(Reached.ANSWERED, "ConditionalCheckFailedException", "failed", status=400, item=sent)
        if new is None:
            self.items.pop(key, None)
        else:
            self.items[key] = new
        answers = params.get("ReturnValues", "NONE")
        if answers == "ALL_OLD":
            return {"Attributes": old} if old is not None else {}
        if answers == "ALL_NEW":
            return {"Attributes": copy.deepcopy(new)}
        assert answers == "NONE", answers
        return {}
