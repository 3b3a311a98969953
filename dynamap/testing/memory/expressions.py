"""Reading expressions by DynamoDB's grammar: from text to functions over an item.

Written apart from dynamap's compiler, which it judges: the only thing that both share is the service's documentation.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn, TypeAlias

from dynamap.testing.memory.failures import refuse
from dynamap.testing.memory.values import KINDS, Item, Wire, contains, equal, kind_of, length, precedes, stored

__all__ = ["Condition", "Parameters", "Path", "Step", "Tokens", "find", "parse_condition", "parse_projection"]

Step: TypeAlias = "str | int"
MOST_BYTES = 4096
MOST_OPERATORS = 300
MOST_IN = 100

_TOKEN = re.compile(r"\s*(?:([#:][A-Za-z0-9_]+)|([A-Za-z_][A-Za-z0-9_]*)|(<>|<=|>=|[=<>(),.+\-\[\]])|([0-9]+))")
_WORDS = ("AND", "OR", "NOT", "IN", "BETWEEN", "SET", "REMOVE", "ADD", "DELETE")
_FUNCTIONS = {
    "attribute_exists": 1,
    "attribute_not_exists": 1,
    "attribute_type": 2,
    "begins_with": 2,
    "contains": 2,
}
_ORDERED = ("S", "N", "B")
_TYPES: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(("<", "<=", ">", ">=", "BETWEEN"), _ORDERED),
    "begins_with": ("S", "B"),
    "attribute_type": ("S",),
}
_COMPARATORS = ("=", "<>", "<", "<=", ">", ">=")


class Parameters:
    """The names and values of one request, and which of them its expressions have used."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        self.names: Mapping[str, str] = request.get("ExpressionAttributeNames", {})
        given: Mapping[str, Any] = request.get("ExpressionAttributeValues", {})
        self.values: Mapping[str, Wire] = {token: stored(wire) for token, wire in given.items()}
        self.used: set[str] = set()

    def name(self, token: str) -> str:
        """The attribute name that a token stands for. Raises CallFailed."""
        if not token.startswith("#"):
            return token
        if token not in self.names:
            msg = f"An expression attribute name used in the document path is not defined; attribute name: {token}"
            refuse(msg)
        return self.names[token]

    def value(self, token: str) -> Wire:
        """The value that a token stands for. Raises CallFailed."""
        if token not in self.values:
            msg = f"An expression attribute value used in expression is not defined; attribute value: {token}"
            refuse(msg)
        return self.values[token]

    def use(self, tokens: Sequence[str]) -> None:
        """Note that an expression uses these. Raises CallFailed for one that is not defined."""
        for token in tokens:
            if token.startswith("#"):
                self.name(token)
            else:
                self.value(token)
            self.used.add(token)

    def check_all_used(self) -> None:
        """Raise CallFailed for names and values that no expression uses."""
        for given, what in ((self.names, "names"), (self.values, "values")):
            unused = [token for token in given if token not in self.used]
            if unused:
                msg = f"Value provided in ExpressionAttribute{what.title()} unused in expressions: keys: {unused}"
                refuse(msg)


@dataclass(frozen=True, slots=True)
class Path:
    """A document path as it is written: names and placeholders, and numbers of list items."""

    steps: tuple[Step, ...]

    def resolved(self, parameters: Parameters) -> tuple[Step, ...]:
        """The path with its names in place."""
        return tuple(step if isinstance(step, int) else parameters.name(step) for step in self.steps)


Operand: TypeAlias = "Path | str | Size"
"""A path, a value's placeholder, or a size."""


@dataclass(frozen=True, slots=True)
class Size:
    """`size(path)`."""

    path: Path


def find(item: Item | None, steps: Sequence[Step]) -> Wire | None:
    """What stands at a resolved path."""
    if item is None:
        return None
    here: Any = {"M": item}
    for step in steps:
        inside: Any = here.get("L" if isinstance(step, int) else "M")
        if inside is None:
            return None
        here = inside.get(step) if isinstance(step, str) else inside[step] if step < len(inside) else None
        if here is None:
            return None
    found: Wire = here
    return found


def look_up(operand: Operand, item: Item | None, parameters: Parameters) -> Wire | None:
    """The value of an operand."""
    if isinstance(operand, str):
        return parameters.value(operand)
    if isinstance(operand, Size):
        return length(find(item, operand.path.resolved(parameters)))
    return find(item, operand.resolved(parameters))


# ---- tokens


class Tokens:
    """The tokens of one expression, read from left to right."""

    def __init__(self, text: str, what: str) -> None:
        self.what = what
        self.placeholders: list[str] = []
        self.operators = 0
        if not text.strip():
            refuse(f"Invalid {what}: The expression can not be empty;")
        if len(text.encode()) > MOST_BYTES:
            refuse(f"Invalid {what}: Expression size has exceeded the maximum allowed size;")
        self._tokens: list[str] = []
        self._at = 0
        position = 0
        end = len(text.rstrip())
        while position < end:
            match = _TOKEN.match(text, position)
            if match is None:
                self.fail(text[position:])
            token = match[0].strip()
            self._tokens.append(token.upper() if token.upper() in _WORDS else token)
            position = match.end()

    def fail(self, token: str | None = None) -> NoReturn:
        """Raise the syntax error at the next token, or at the one that is given."""
        shown = token if token is not None else self.peek() or "<EOF>"
        refuse(f'Invalid {self.what}: Syntax error; token: "{shown}"')

    def peek(self, ahead: int = 0) -> str:
        """The next token, an empty one at the end."""
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else ""

    def next(self) -> str:
        """Take the next token."""
        token = self.peek()
        self._at += 1
        return token

    def take(self, *tokens: str) -> str:
        """Take one of these. Raises CallFailed."""
        if self.peek() not in tokens:
            self.fail()
        return self.next()

    def operator(self) -> None:
        """Count an operator or function. Raises CallFailed for too many."""
        self.operators += 1
        if self.operators > MOST_OPERATORS:
            msg = (
                f"Invalid {self.what}: The expression contains too many operators; maximum allowed is {MOST_OPERATORS}"
            )
            refuse(msg)

    def path(self) -> Path:
        """Take a document path. Raises CallFailed."""
        steps: list[Step] = [self._name()]
        while self.peek() in (".", "["):
            if self.next() == ".":
                steps.append(self._name())
            else:
                if not self.peek().isdigit():
                    self.fail()
                steps.append(int(self.next()))
                self.take("]")
        return Path(tuple(steps))

    def _name(self) -> str:
        token = self.peek()
        if token.startswith("#"):
            self.placeholders.append(token)
        elif not (token[:1].isalpha() or token.startswith("_")) or token in _WORDS or self.peek(1) == "(":
            self.fail()
        return self.next()

    def value(self) -> str:
        """Take a value's placeholder. Raises CallFailed."""
        if not self.peek().startswith(":"):
            self.fail()
        self.placeholders.append(self.peek())
        return self.next()

    def operand(self) -> Operand:
        """Take a path, a value or a size. Raises CallFailed."""
        if self.peek().startswith(":"):
            return self.value()
        if self.peek() == "size" and self.peek(1) == "(":
            self.next()
            self.next()
            self.operator()
            path = self.path()
            self.take(")")
            return Size(path)
        return self.path()


# ---- conditions


Test: TypeAlias = "Callable[[Item | None, Parameters], bool]"


@dataclass(frozen=True, slots=True)
class Comparison:
    """One test of a condition, as key conditions look at it: the word, and its operands."""

    word: str
    operands: tuple[Operand, ...]


@dataclass(frozen=True)
class Condition:
    """A parsed condition. *conjuncts* are its parts where it is a conjunction of comparisons, else None."""

    test: Test
    placeholders: tuple[str, ...]
    comparisons: tuple[Comparison, ...]
    conjuncts: tuple[Comparison, ...] | None
    what: str

    def check(self, parameters: Parameters) -> None:
        """Note what it uses, and raise CallFailed for operands that make no sense."""
        parameters.use(self.placeholders)
        for comparison in self.comparisons:
            _check_operands(comparison, parameters, self.what)

    def paths(self, parameters: Parameters) -> list[tuple[Step, ...]]:
        """Every document path in it."""
        operands = [operand for comparison in self.comparisons for operand in comparison.operands]
        paths = [operand.path if isinstance(operand, Size) else operand for operand in operands]
        return [path.resolved(parameters) for path in paths if isinstance(path, Path)]


@lru_cache(maxsize=4096)
def parse_condition(text: str, what: str = "ConditionExpression") -> Condition:
    """Parse a condition, a filter or a key condition. Raises CallFailed."""
    parser = _ConditionParser(Tokens(text, what))
    test, conjuncts = parser.disjunction()
    if parser.tokens.peek():
        parser.tokens.fail()
    return Condition(test, tuple(parser.tokens.placeholders), tuple(parser.comparisons), conjuncts, what)


_Parsed: TypeAlias = "tuple[Test, tuple[Comparison, ...] | None]"


class _ConditionParser:
    """OR binds weakest, then AND, then NOT, then comparisons."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.comparisons: list[Comparison] = []

    def disjunction(self) -> _Parsed:
        first, conjuncts = self._conjunction()
        tests = [first]
        while self.tokens.peek() == "OR":
            self.tokens.next()
            self.tokens.operator()
            tests.append(self._conjunction()[0])
        if len(tests) == 1:
            return first, conjuncts
        return lambda item, parameters: any(test(item, parameters) for test in tests), None

    def _conjunction(self) -> _Parsed:
        first, found = self._negation()
        tests, conjuncts = [first], found
        while self.tokens.peek() == "AND":
            self.tokens.next()
            self.tokens.operator()
            test, more = self._negation()
            tests.append(test)
            conjuncts = None if conjuncts is None or more is None else (*conjuncts, *more)
        if len(tests) == 1:
            return first, conjuncts
        return lambda item, parameters: all(test(item, parameters) for test in tests), conjuncts

    def _negation(self) -> _Parsed:
        if self.tokens.peek() == "NOT":
            self.tokens.next()
            self.tokens.operator()
            inner = self._negation()[0]
            return lambda item, parameters: not inner(item, parameters), None
        if self.tokens.peek() == "(":
            self.tokens.next()
            if self.tokens.peek() == "(" and self._closes_twice():
                msg = f"Invalid {self.tokens.what}: The expression has redundant parentheses;"
                refuse(msg)
            parsed = self.disjunction()
            self.tokens.take(")")
            return parsed
        if self.tokens.peek(1) == "(" and self.tokens.peek() != "size":
            return self._function()
        return self._comparison()

    def _closes_twice(self) -> bool:
        """Whether the parenthesis that opens here closes right before the end of the one around it."""
        depth, ahead = 0, 0
        while self.tokens.peek(ahead):
            depth += {"(": 1, ")": -1}.get(self.tokens.peek(ahead), 0)
            ahead += 1
            if depth == 0:
                return self.tokens.peek(ahead) == ")"
        return False

    def _function(self) -> _Parsed:
        name = self.tokens.next()
        if name not in _FUNCTIONS:
            msg = f"Invalid {self.tokens.what}: Invalid function name; function: {name}"
            refuse(msg)
        self.tokens.operator()
        self.tokens.take("(")
        operands: list[Operand] = [self.tokens.operand()]
        while self.tokens.peek() == ",":
            self.tokens.next()
            operands.append(self.tokens.operand())
        self.tokens.take(")")
        if len(operands) != _FUNCTIONS[name]:
            msg = (
                f"Invalid {self.tokens.what}: Incorrect number of operands for operator or function; operator or "
                f"function: {name}, number of operands: {len(operands)}"
            )
            refuse(msg)
        if name.startswith("attribute_") and not isinstance(operands[0], Path):
            msg = f"Invalid {self.tokens.what}: Operator or function requires a document path; function: {name}"
            refuse(msg)
        return self._made(name, operands)

    def _comparison(self) -> _Parsed:
        left = self.tokens.operand()
        word = self.tokens.take(*_COMPARATORS, "BETWEEN", "IN")
        self.tokens.operator()
        operands = [left]
        if word == "BETWEEN":
            operands.append(self.tokens.operand())
            self.tokens.take("AND")
            operands.append(self.tokens.operand())
        elif word == "IN":
            self.tokens.take("(")
            operands.append(self.tokens.operand())
            while self.tokens.peek() == ",":
                self.tokens.next()
                operands.append(self.tokens.operand())
            self.tokens.take(")")
            if len(operands) - 1 > MOST_IN:
                msg = f"Invalid {self.tokens.what}: The IN operator is provided with too many operands"
                refuse(msg)
        else:
            operands.append(self.tokens.operand())
        return self._made(word, operands)

    def _made(self, word: str, operands: list[Operand]) -> _Parsed:
        comparison = Comparison(word, tuple(operands))
        self.comparisons.append(comparison)
        judge = _JUDGES[word]

        def test(item: Item | None, parameters: Parameters) -> bool:
            return judge([look_up(operand, item, parameters) for operand in operands])

        return test, (comparison,)


_Found: TypeAlias = "Sequence[Wire | None]"


def _begins_with(found: _Found) -> bool:
    text, prefix = found
    if text is None or prefix is None or text.keys() != prefix.keys():
        return False
    (kind, whole), start = next(iter(text.items())), next(iter(prefix.values()))
    return kind in ("S", "B") and bool(whole.startswith(start))


_JUDGES: dict[str, Callable[[_Found], bool]] = {
    "=": lambda found: equal(found[0], found[1]),
    "<>": lambda found: not equal(found[0], found[1]),
    "<": lambda found: precedes(found[0], found[1], or_equal=False),
    "<=": lambda found: precedes(found[0], found[1], or_equal=True),
    ">": lambda found: precedes(found[1], found[0], or_equal=False),
    ">=": lambda found: precedes(found[1], found[0], or_equal=True),
    "BETWEEN": lambda found: (
        precedes(found[1], found[0], or_equal=True) and precedes(found[0], found[2], or_equal=True)
    ),
    "IN": lambda found: any(equal(found[0], each) for each in found[1:]),
    "attribute_exists": lambda found: found[0] is not None,
    "attribute_not_exists": lambda found: found[0] is None,
    "attribute_type": lambda found: found[0] is not None and {"S": kind_of(found[0])} == found[1],
    "begins_with": _begins_with,
    "contains": lambda found: contains(found[0], found[1]),
}


def _check_operands(comparison: Comparison, parameters: Parameters, what: str) -> None:
    """Raise CallFailed for what the service refuses without looking at an item."""
    word, operands = comparison.word, comparison.operands
    known = [parameters.value(operand) if isinstance(operand, str) else None for operand in operands]
    paths = [operand.resolved(parameters) for operand in operands if isinstance(operand, Path)]
    if word in _COMPARATORS and len(paths) > 1 and paths[0] == paths[1]:
        msg = (
            f"Invalid {what}: The first operand must be distinct from the remaining operands for this operator or "
            f"function; operator: {word}"
        )
        refuse(msg)
    for each in known:
        if each is not None and kind_of(each) not in _TYPES.get(word, KINDS):
            msg = (
                f"Invalid {what}: Incorrect operand type for operator or function; operator or function: {word}, "
                f"operand type: {kind_of(each)}"
            )
            refuse(msg)
    if word == "attribute_type" and (known[1] is None or known[1]["S"] not in KINDS):
        msg = f"Invalid {what}: Invalid attribute type name found; valid types: {', '.join(KINDS)}"
        refuse(msg)
    if word == "BETWEEN" and known[1] is not None and known[2] is not None:
        _check_bounds(known[1], known[2], what)


def _check_bounds(low: Wire, high: Wire, what: str) -> None:
    if not precedes(low, high, or_equal=True):
        msg = (
            f"Invalid {what}: The BETWEEN operator requires upper bound to be greater than or equal to lower bound "
            f"of the same type"
        )
        refuse(msg)


# ---- projections


@lru_cache(maxsize=1024)
def parse_projection(text: str) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """The paths of a ProjectionExpression, and the placeholders that it uses. Raises CallFailed."""
    tokens = Tokens(text, "ProjectionExpression")
    paths = [tokens.path()]
    while tokens.peek() == ",":
        tokens.next()
        paths.append(tokens.path())
    if tokens.peek():
        tokens.fail()
    return tuple(paths), tuple(tokens.placeholders)
