"""Update expressions: parsed, checked against the key, and applied to an item.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.UpdateExpressions.html
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, TypeAlias

from dynamap.testing.memory.expressions import Parameters, Path, Step, Tokens, find
from dynamap.testing.memory.failures import refuse
from dynamap.testing.memory.values import EXACT, Item, Wire, copied, equal, kind_of, number_text

__all__ = ["Update", "check_overlap", "parse_update"]

_SETS = ("SS", "NS", "BS")
_WRONG_TYPE = "An operand in the update expression has an incorrect data type"
_NO_PATH = "The document path provided in the update expression is invalid for update"
_NO_ATTRIBUTE = "The provided expression refers to an attribute that does not exist in the item"


@dataclass(frozen=True, slots=True)
class _Call:
    """if_not_exists or list_append."""

    function: str
    first: _Term
    second: _Term


_Term: TypeAlias = "Path | str | _Call"


@dataclass(frozen=True, slots=True)
class _Change:
    clause: str
    path: Path
    terms: tuple[_Term, ...] = ()
    sign: str = ""


@dataclass(frozen=True)
class Update:
    """A parsed update."""

    changes: tuple[_Change, ...]
    placeholders: tuple[str, ...]

    def paths(self, parameters: Parameters) -> list[tuple[Step, ...]]:
        """The paths that it changes."""
        return [change.path.resolved(parameters) for change in self.changes]

    def check(self, parameters: Parameters, keys: Sequence[str]) -> None:
        """Note what it uses, and raise CallFailed for what the service refuses without looking at an item."""
        parameters.use(self.placeholders)
        paths = self.paths(parameters)
        check_overlap(paths, "UpdateExpression")
        for change, path in zip(self.changes, paths, strict=True):
            if path[0] in keys:
                msg = f"Cannot update attribute {path[0]}. This attribute is part of the key"
                refuse(f"One or more parameter values were invalid: {msg}")
            if change.clause in ("ADD", "DELETE"):
                kind = kind_of(parameters.value(str(change.terms[0])))
                if kind not in _SETS and (kind != "N" or change.clause == "DELETE"):
                    msg = (
                        f"Invalid UpdateExpression: Incorrect operand type for operator or function; operator: "
                        f"{change.clause}, operand type: {kind}"
                    )
                    refuse(msg)

    def apply(self, item: Item, parameters: Parameters) -> Item:
        """The item as it is afterwards; every right side sees it as it was before. Raises CallFailed."""
        result = {name: copied(wire) for name, wire in item.items()}
        removals: list[tuple[Step, ...]] = []
        appended: list[tuple[tuple[Step, ...], Wire]] = []
        for change in self.changes:
            path = change.path.resolved(parameters)
            if change.clause == "REMOVE":
                _parent(item, path)
                removals.append(path)
                continue
            old = find(item, path)
            new = self._new_value(change, old, item, parameters)
            if new is None:
                removals.append(path)
            elif isinstance(path[-1], int) and old is None:
                appended.append((path, new))
            else:
                _put(result, path, new)
        # an index beyond the end appends, in the order of the indexes
        for path, new in sorted(appended, key=lambda pair: _last_index(pair[0])):
            _put(result, path, new)
        # indexes mean places in the old list, so the last goes first
        for path in sorted(removals, key=_last_index, reverse=True):
            _remove(result, path)
        return result

    def _new_value(self, change: _Change, old: Wire | None, item: Item, parameters: Parameters) -> Wire | None:
        values = [_evaluate(term, item, parameters) for term in change.terms]
        if change.clause == "SET":
            return copied(values[0]) if len(values) == 1 else _sum(values[0], values[1], change.sign)
        (amount,) = values
        if change.clause == "ADD":
            return _added(old, amount)
        return _taken_out(old, amount)


def _last_index(path: tuple[Step, ...]) -> int:
    return path[-1] if isinstance(path[-1], int) else -1


def _evaluate(term: _Term, item: Item, parameters: Parameters) -> Wire:
    if isinstance(term, str):
        return parameters.value(term)
    if isinstance(term, Path):
        found = find(item, term.resolved(parameters))
        if found is None:
            refuse(_NO_ATTRIBUTE)
        return found
    if term.function == "if_not_exists":
        assert isinstance(term.first, Path)  # noqa: S101 - the parser takes nothing else
        found = find(item, term.first.resolved(parameters))
        return _evaluate(term.second, item, parameters) if found is None else found
    first, second = _evaluate(term.first, item, parameters), _evaluate(term.second, item, parameters)
    if kind_of(first) != "L" or kind_of(second) != "L":
        refuse(_WRONG_TYPE)
    return {"L": [*first["L"], *second["L"]]}


def _sum(left: Wire, right: Wire, sign: str) -> Wire:
    if kind_of(left) != "N" or kind_of(right) != "N":
        refuse(_WRONG_TYPE)
    one, two = Decimal(left["N"]), Decimal(right["N"])
    return {"N": number_text(EXACT.add(one, two) if sign == "+" else EXACT.subtract(one, two))}


def _added(old: Wire | None, amount: Wire) -> Wire:
    if old is None:
        return copied(amount)
    if kind_of(old) != kind_of(amount):
        refuse(_WRONG_TYPE)
    kind = kind_of(amount)
    if kind == "N":
        return _sum(old, amount, "+")
    return {kind: [*old[kind], *(each for each in amount[kind] if not _holds(old, each))]}


def _taken_out(old: Wire | None, amount: Wire) -> Wire | None:
    if old is None:
        return None
    if kind_of(old) != kind_of(amount):
        refuse(_WRONG_TYPE)
    kind = kind_of(amount)
    left = [each for each in old[kind] if not _holds(amount, each)]
    return {kind: left} if left else None


def _holds(container: Wire, element: Any) -> bool:
    (kind, elements) = next(iter(container.items()))
    return any(equal({kind[0]: each}, {kind[0]: element}) for each in elements)


def _parent(item: Item, path: tuple[Step, ...]) -> Any:
    """The map or list that holds the last step."""
    parent = {"M": item} if len(path) == 1 else find(item, path[:-1])
    wanted = "L" if isinstance(path[-1], int) else "M"
    if parent is None or wanted not in parent:
        refuse(_NO_PATH)
    return parent[wanted]


def _put(item: Item, path: tuple[Step, ...], new: Wire) -> None:
    parent, last = _parent(item, path), path[-1]
    if isinstance(last, int) and last >= len(parent):
        parent.append(new)
    else:
        parent[last] = new


def _remove(item: Item, path: tuple[Step, ...]) -> None:
    parent, last = _parent(item, path), path[-1]
    if isinstance(last, int):
        del parent[last : last + 1]
    else:
        parent.pop(last, None)


def check_overlap(paths: Sequence[tuple[Step, ...]], what: str) -> None:
    """Raise CallFailed for paths of which one holds the other, or that need one parent to be a map and a list."""
    for position, one in enumerate(paths):
        for two in paths[:position]:
            shared = min(len(one), len(two))
            if one[:shared] == two[:shared]:
                msg = f"Invalid {what}: Two document paths overlap with each other"
                refuse(msg)
            fork = next(at for at in range(shared) if one[at] != two[at])
            if isinstance(one[fork], int) != isinstance(two[fork], int):
                msg = f"Invalid {what}: Two document paths conflict with each other"
                refuse(msg)


# ---- parsing


@lru_cache(maxsize=4096)
def parse_update(text: str) -> Update:
    """Parse an UpdateExpression. Raises CallFailed."""
    tokens = Tokens(text, "UpdateExpression")
    changes: list[_Change] = []
    seen: list[str] = []
    while tokens.peek():
        clause = tokens.take("SET", "REMOVE", "ADD", "DELETE")
        if clause in seen:
            msg = f'Invalid UpdateExpression: The "{clause}" section can only be used once in an update expression;'
            refuse(msg)
        seen.append(clause)
        changes.append(_change(tokens, clause))
        while tokens.peek() == ",":
            tokens.next()
            changes.append(_change(tokens, clause))
    return Update(tuple(changes), tuple(tokens.placeholders))


def _change(tokens: Tokens, clause: str) -> _Change:
    path = tokens.path()
    if clause == "REMOVE":
        return _Change(clause, path)
    if clause != "SET":
        tokens.operator()
        return _Change(clause, path, (tokens.value(),))
    tokens.take("=")
    first = _term(tokens)
    if tokens.peek() not in ("+", "-"):
        return _Change(clause, path, (first,))
    sign = tokens.next()
    tokens.operator()
    return _Change(clause, path, (first, _term(tokens)), sign)


def _term(tokens: Tokens) -> _Term:
    if tokens.peek(1) != "(":
        return tokens.value() if tokens.peek().startswith(":") else tokens.path()
    function = tokens.next()
    if function not in ("if_not_exists", "list_append"):
        msg = f"Invalid UpdateExpression: Invalid function name; function: {function}"
        refuse(msg)
    tokens.operator()
    tokens.take("(")
    first = tokens.path() if function == "if_not_exists" else _term(tokens)
    tokens.take(",")
    second = _term(tokens)
    tokens.take(")")
    return _Call(function, first, second)
