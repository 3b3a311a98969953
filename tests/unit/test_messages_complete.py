"""Every ModelError and RequestError has a test of its whole message: each is looked up in the tests.

A message is taken from the source as its fixed words, with anything in the place of what is filled in; one of the texts
that the tests spell out must be such a message, from its beginning to its end. That the right input gives it is for the
test that spells it out to say.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import dynamap
from dynamap import errors

SOURCE = Path(dynamap.__file__).parent
TESTS = Path(__file__).parents[1]

WHOLE = {
    name
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, (errors.ModelError, errors.RequestError))
}
# these are given, as their last argument, the end of a message that begins with a class, a field or a path
ENDS = {"KeyValueProblem", "TemplateProblem", "model_error", "refusal", "template_error"}
ANYTHING = "(?:.*)"


def pattern(message: ast.expr, constants: dict[str, str]) -> str:
    """A regular expression for the messages that an expression makes."""
    if isinstance(message, ast.Constant):
        return re.escape(str(message.value))
    if isinstance(message, ast.Name):
        return re.escape(constants[message.id]) if message.id in constants else ANYTHING
    if isinstance(message, ast.FormattedValue) and message.conversion == -1 and message.format_spec is None:
        return pattern(message.value, constants)
    if isinstance(message, ast.JoinedStr):
        return "".join(pattern(part, constants) for part in message.values)
    if isinstance(message, ast.BinOp):
        return pattern(message.left, constants) + pattern(message.right, constants)
    if isinstance(message, ast.IfExp):
        return f"(?:{pattern(message.body, constants)}|{pattern(message.orelse, constants)})"
    return ANYTHING


def made(tree: ast.AST, constants: dict[str, str]) -> Iterator[tuple[int, bool, list[str]]]:
    """Each error that a module makes: its line, whether the whole of its message is there, and what that may be."""
    for function in ast.walk(tree):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        own = list(_own_nodes(function))
        for call in own:
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in WHOLE | ENDS:
                given = _assigned(own, call) or call.args[-1:]
                yield call.lineno, call.func.id in WHOLE, [pattern(message, constants) for message in given]


def _own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(function):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield child
            yield from _own_nodes(child)


def _assigned(nodes: list[ast.AST], call: ast.Call) -> list[ast.expr]:
    """What the variable that holds the message was given last before the call, with each of what was added to it."""
    name = call.args[-1].id if isinstance(call.args[-1], ast.Name) else None
    added: list[ast.expr] = []
    before = [each for each in nodes if isinstance(each, (ast.Assign, ast.AugAssign)) and each.lineno < call.lineno]
    for each in sorted(before, key=lambda each: each.lineno, reverse=True):
        target = each.target if isinstance(each, ast.AugAssign) else each.targets[0]
        if not isinstance(target, ast.Name) or target.id != name:
            continue
        if isinstance(each, ast.Assign):
            return [ast.BinOp(each.value, ast.Add(), more) for more in added] or [each.value]
        added.append(each.value)
    return []


def constants_of(trees: list[ast.Module]) -> dict[str, str]:
    """The texts that modules hold under names."""
    return {
        statement.targets[0].id: str(statement.value.value)
        for tree in trees
        for statement in tree.body
        if isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Name)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    }


@cache
def spelled_out() -> list[str]:
    """The texts of the tests, but for the regular expressions of `match=` and the pieces of f-strings."""
    found: dict[str, None] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        pieces = {
            id(part)
            for each in ast.walk(tree)
            if isinstance(each, ast.JoinedStr) or (isinstance(each, ast.keyword) and each.arg == "match")
            for part in ast.walk(each)
        }
        for each in ast.walk(tree):
            if isinstance(each, ast.Constant) and isinstance(each.value, str) and id(each) not in pieces:
                found[each.value] = None
    return list(found)


def missing(source: str, constants: dict[str, str]) -> list[int]:
    """The lines of a module that make an error whose message no test spells out."""
    lines: list[int] = []
    for line, whole, patterns in made(ast.parse(source), constants):
        for one in patterns:
            # what is passed on may begin with where it was met, as "put_many of Order, item 3: "
            message = re.compile(f"(?:.*: )?{one}" if whole else one, re.DOTALL)
            if not any(map(message.fullmatch if whole else message.search, spelled_out())):
                lines.append(line)
    return lines


def test_every_message_is_spelled_out_in_a_test() -> None:
    sources = {path: path.read_text(encoding="utf-8") for path in sorted(SOURCE.rglob("*.py"))}
    constants = constants_of([ast.parse(text) for text in sources.values()])
    found = [
        f"{path.relative_to(SOURCE.parent)}:{line}"
        for path, text in sources.items()
        for line in missing(text, constants)
    ]
    assert found == [], "compare str(error) with the whole text, as tests/unit/test_messages_operations.py does"


def test_a_message_that_no_test_spells_out_is_found() -> None:
    source = """
def check(names):
    msg = f"{names} are refused " f"for the colour of {'its' if names else 'their'} ribbon"
    raise RequestError(msg)
    msg = f"{names}: they have a ribbon already"
    msg += f", the {_COLOUR} one"
    raise ModelError(msg)
    raise RequestError("transact() takes at least one operation")
"""
    assert missing(source, {"_COLOUR": "red"}) == [4, 7]
