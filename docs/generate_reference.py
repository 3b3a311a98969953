"""Write docs/reference.md from the signatures and docstrings of the public names.

    python docs/generate_reference.py

Signatures are taken from the sources, not from `inspect`, so that the page is the same on every version of Python. A
new public name needs nothing here: its module says which group it belongs to.
"""

from __future__ import annotations

import ast
import enum
import importlib
import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from textwrap import indent
from types import ModuleType
from typing import Any

import dynamap
import dynamap.otel
import dynamap.testing

PAGE = Path(__file__).with_name("reference.md")

_INTRODUCTION = """\
# Reference

Every public name, with its signature and what its docstring says. Made by `python docs/generate_reference.py`, and
compared with the sources by the tests: change a docstring there, not this page.

Methods marked *awaited* are awaited where the store is one of `connect_async`. A method that several classes share is
described where it comes first, and named in the others.
"""

# A group takes the names whose modules begin with one of its prefixes, the longest prefix of all groups counting. The
# names that a reader needs first come first, the others follow in alphabetical order.
_GROUPS: Sequence[tuple[str, str, Sequence[str], Sequence[str]]] = (
    (
        "Declare",
        "What classes and tables are. See [Modelling](modelling.md).",
        ("dynamap.model", "dynamap.codec"),
        ("entity", "mapped", "Table", "Key", "Index", "GlobalIndex", "LocalIndex", "Attribute", "evolve"),
    ),
    (
        "Connect",
        "From a description to a table within reach. See [Getting started](start.md).",
        ("dynamap.store", "dynamap.repository", "dynamap.markers", "dynamap.drivers"),
        ("connect", "connect_async", "Store", "Repository"),
    ),
    (
        "Fields and conditions",
        "What conditions, updates and answers are made of.",
        ("dynamap.expressions",),
        ("F", "Field", "Condition"),
    ),
    (
        "Read",
        "Made by the methods of a `Repository` or `Store`; nothing is sent before `send()`.",
        (
            "dynamap.operations.base",
            "dynamap.operations.batch_get",
            "dynamap.operations.execute",
            "dynamap.operations.get",
            "dynamap.operations.index_view",
            "dynamap.operations.multi_query",
            "dynamap.operations.pacing",
            "dynamap.operations.pages",
            "dynamap.operations.query",
            "dynamap.operations.scan",
            "dynamap.progress",
        ),
        ("Operation", "Get", "Query", "Scan", "Page"),
    ),
    (
        "Write",
        "Made by the methods of a `Repository`. See [Writing safely](writing-safely.md).",
        ("dynamap.operations",),
        ("Put", "Update", "UpdateItem", "Rewrite", "Upsert", "Delete", "Applied", "Refused"),
    ),
    (
        "Transact",
        "Several items, all or nothing.",
        ("dynamap.operations.transact", "dynamap.operations.check"),
        ("Transaction", "Transacted", "Check"),
    ),
    (
        "Retry and bound",
        "What to do again, and how long.",
        ("dynamap.retry", "dynamap.backoff"),
        ("retry_on_conflict", "deadline"),
    ),
    (
        "Observe",
        (
            "What calls consume, how long they take, and how they end. `telemetry` is in `dynamap.otel`, and needs\n"
            "`pip install 'dynamap[otel]'`."
        ),
        ("dynamap.operations.observing", "dynamap.otel"),
        ("Capacity", "CallInfo", "telemetry"),
    ),
    (
        "Errors",
        "By cause; all of them are `DynamapError`, carry their data as attributes, and can be pickled.",
        ("dynamap.errors",),
        ("DynamapError", "ModelError", "RequestError"),
    ),
    (
        "Testing",
        "`from dynamap.testing import ...`, with `pip install 'dynamap[testing]'`.",
        ("dynamap.testing",),
        ("embedded", "memory_store", "memory_store_async", "FaultPlan", "Fault", "every_fault", "Bench"),
    ),
)

# Where a name is found by its meaning, not by its module.
_PLACES = {
    "Applied": "Write",
    "Refused": "Write",
    "Write": "Write",
    "Conflict": "Retry and bound",
    "Failure": "Transact",
    "Failures": "Transact",
    "Reason": "Transact",
}

# Their instances are made by calling them; those of other classes come from the methods of others.
_CALLED = ("dynamap.model", "dynamap.codec", "dynamap.testing")
_NOT_CALLED = ("Record", "Run", "Outcome", "Items", "ScheduleFailed", "ServerUnavailable")
_MOST_VARIANTS = 3
_WIDTH = 110


@dataclass
class _Page:
    """Where the headings are, and which members were described already, under which name."""

    anchors: dict[str, str]
    described: dict[object, str] = field(default_factory=dict[object, str])

    def link(self, name: str) -> str:
        return f"[`{name}`](#{self.anchors[name]})"


# ---- sources


@dataclass(frozen=True)
class _Source:
    """A class or function as it is written."""

    node: ast.AST
    text: str

    def segment(self, node: ast.AST) -> str:
        """The text of a part, on one line."""
        text = re.sub(r"\s+", " ", ast.get_source_segment(self.text, node) or "").replace("( ", "(")
        # whoever makes operations loads them late, by their package: to a reader they have no other names for it
        return re.sub(r"\boperations\.(?=[A-Z])", "", text)


@cache
def _module(name: str) -> tuple[ast.Module, str]:
    text = inspect.getsource(importlib.import_module(name))
    return ast.parse(text), text


def _definitions(body: Sequence[ast.stmt], name: str) -> list[Any]:
    """All definitions of a name, its overloads too, also those under an `if`."""
    found: list[Any] = []
    for node in body:
        if isinstance(node, ast.If):
            found += _definitions([*node.body, *node.orelse], name)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name == name:
            found.append(node)
    return found


def _is_overload(node: Any) -> bool:
    return any(isinstance(each, ast.Name) and each.id == "overload" for each in node.decorator_list)


# ---- signatures


def _parameters(source: _Source, arguments: ast.arguments, *, method: bool) -> Iterator[str]:
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    defaults += arguments.defaults
    bound = 1 if method else 0
    for number, (argument, default) in enumerate(zip(positional, defaults, strict=True)):
        if number >= bound:
            yield _parameter(source, argument, default)
        if arguments.posonlyargs and number + 1 == len(arguments.posonlyargs) and number >= bound:
            yield "/"
    if arguments.vararg is not None:
        yield f"*{_parameter(source, arguments.vararg, None)}"
    elif arguments.kwonlyargs:
        yield "*"
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _parameter(source, argument, default)
    if arguments.kwarg is not None:
        yield f"**{_parameter(source, arguments.kwarg, None)}"


def _parameter(source: _Source, argument: ast.arg, default: ast.expr | None) -> str:
    text = argument.arg
    if argument.annotation is not None:
        text += f": {source.segment(argument.annotation)}"
    if default is not None:
        text += f" = {source.segment(default)}" if argument.annotation is not None else f"={source.segment(default)}"
    return text


def _call(name: str, parameters: Sequence[str], answer: str) -> str:
    line = f"{name}({', '.join(parameters)}){answer}"
    if len(line) <= _WIDTH:
        return line
    inner = "".join(f"    {parameter},\n" for parameter in parameters)
    return f"{name}(\n{inner}){answer}"


def _signatures(source: _Source, nodes: Sequence[Any], name: str, *, method: bool) -> list[str]:
    """The variants of a function, those for the two modes as one; of many, the first ones."""
    overloads = [node for node in nodes if _is_overload(node)]
    variants: dict[str, None] = {}
    for node in overloads or nodes[-1:]:
        bound = method and not any(
            isinstance(each, ast.Name) and each.id == "staticmethod" for each in node.decorator_list
        )
        answer = "" if node.returns is None else f" -> {source.segment(node.returns)}"
        variants[_call(name, list(_parameters(source, node.args, method=bound)), answer)] = None
    made = list(variants)
    if len(made) > _MOST_VARIANTS:
        return [*made[: _MOST_VARIANTS - 1], f"...  # and {len(made) - _MOST_VARIANTS + 1} more like these"]
    return made


# ---- texts


def _text(documented: str | None) -> str:
    """A docstring as Markdown: examples as blocks, sections as lists."""
    if not documented:
        return ""
    blocks: list[str] = []
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(documented)):
        lines = paragraph.split("\n")
        if lines[0].startswith(">>>"):
            blocks.append("\n".join(["```pycon", *lines, "```"]))
        elif re.fullmatch(r"(Raises|Args|Returns|Yields):", lines[0]):
            entries = [re.sub(r"^(\w+): ", r"`\1`: ", line.strip()) for line in lines[1:]]
            blocks.append("\n".join([lines[0], "", *(f"- {entry}" for entry in entries)]))
        elif all(line.startswith(" ") or re.match(r"[a-z_]+(, [a-z_]+)*: ", line) for line in lines):
            entries = re.sub(r"\n {4}", " ", paragraph).split("\n")
            blocks.append("\n".join(_entry(entry) for entry in entries))
        else:
            blocks.append(paragraph)
    return "\n\n".join(blocks)


def _entry(line: str) -> str:
    names, _, text = line.partition(": ")
    return f"- {', '.join(f'`{name}`' for name in names.split(', '))}: {text}"


def _block(lines: Sequence[str]) -> str:
    return "\n".join(["```text", *lines, "```"])


# ---- names


def _public_members(cls: type[Any]) -> Iterator[tuple[str, Any, type[Any]]]:
    """Public methods and properties with the class that defines them: bases first, each in the order of its source."""
    seen: dict[str, tuple[Any, type[Any]]] = {}
    for base in reversed(cls.__mro__):
        if not base.__module__.startswith("dynamap"):
            continue
        for name, value in vars(base).items():
            kind = (property, staticmethod, classmethod)
            if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, kind)):
                seen[name] = (value, base)
    for name, (value, base) in seen.items():
        yield name, value, base


def _class_source(cls: type[Any]) -> _Source:
    tree, text = _module(cls.__module__)
    return _Source(_definitions(tree.body, cls.__name__)[-1], text)


def _annotated(source: _Source) -> Iterator[tuple[str, str, ast.expr | None]]:
    for node in getattr(source.node, "body", ()):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and not node.target.id.startswith("_"):
            yield node.target.id, source.segment(node.annotation), node.value


def _documented(body: Sequence[ast.stmt]) -> Iterator[tuple[str, ast.expr, str]]:
    """The values that are assigned to names, with the strings that stand under them."""
    for node, following in zip(body, [*body[1:], None], strict=True):
        target: ast.expr | None = node.target if isinstance(node, ast.AnnAssign) else None
        if isinstance(node, ast.Assign):
            target = node.targets[0]
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(target, ast.Name) and node.value is not None:
            text = following.value if isinstance(following, ast.Expr) else None
            yield target.id, node.value, str(text.value) if isinstance(text, ast.Constant) else ""


def _members(source: _Source) -> Iterator[str]:
    """The members of an Enum."""
    for name, _, text in _documented(getattr(source.node, "body", ())):
        yield f"- `{name}`" + (f": {text}" if text else "")


def _constructor(cls: type[Any]) -> list[str]:
    source = _class_source(cls)
    own = _definitions(getattr(source.node, "body", ()), "__init__")
    if own:
        return [each.removesuffix(" -> None") for each in _signatures(source, own, cls.__name__, method=True)]
    parameters = [
        f"{name}: {hint}" if value is None else f"{name}: {hint} = {source.segment(value)}"
        for name, hint, value in _annotated(source)
    ]
    return [_call(cls.__name__, parameters, "")]


def _is_called(cls: type[Any], name: str) -> bool:
    return cls.__module__.startswith(_CALLED) and name not in _NOT_CALLED and not issubclass(cls, enum.Enum)


def _of_class(page: _Page, name: str, cls: type[Any]) -> Iterator[str]:
    if _is_called(cls, name):
        yield _block(_constructor(cls))
    bases = [base.__name__ for base in cls.__mro__[1:] if base.__name__ in dynamap.__all__]
    if issubclass(cls, dynamap.DynamapError) and bases:
        yield f"A {page.link(bases[0])}."
    yield _text(cls.__doc__)
    if issubclass(cls, enum.Enum):
        yield "\n".join(_members(_class_source(cls)))
    elif not _is_called(cls, name):
        hints = [f"`{attribute}: {hint}`" for attribute, hint, _ in _annotated(_class_source(cls))]
        if hints:
            yield "Attributes: " + ", ".join(hints) + "."
    shared: dict[str, list[str]] = {}
    for member, value, base in _public_members(cls):
        where = page.described.setdefault((base, member), name)
        if where == name:
            yield _of_member(member, value, base)
        else:
            shared.setdefault(where, []).append(member)
    for where, members in shared.items():
        yield f"As {page.link(where)}: " + ", ".join(f"`{member}`" for member in members) + "."


def _of_member(name: str, value: Any, base: type[Any]) -> str:
    source = _class_source(base)
    nodes = _definitions(getattr(source.node, "body", ()), name)
    function = value.fget if isinstance(value, property) else inspect.unwrap(getattr(value, "__func__", value))
    awaited = any(isinstance(node, ast.AsyncFunctionDef) for node in nodes)
    described = ("*awaited*. " if awaited else "") + _text(function.__doc__)
    if isinstance(value, property):
        heads = [f"{name}: {source.segment(nodes[0].returns)}"]
    else:
        heads = _signatures(source, nodes, name, method=True)
    single = len(heads) == 1 and "\n" not in heads[0]
    parts = [f"- `{heads[0]}`"] if single else [f"- `{name}`", _block(heads)]
    return indent("\n\n".join([*parts, described]).strip(), "  ").lstrip()


def _of_function(name: str, function: Any) -> Iterator[str]:
    plain = inspect.unwrap(function)
    tree, text = _module(plain.__module__)
    yield _block(_signatures(_Source(tree, text), _definitions(tree.body, plain.__name__), name, method=False))
    yield _text(plain.__doc__)


def _of_value(name: str, module: str) -> Iterator[str]:
    """A constant or alias, with the string that stands under it in its module."""
    tree, text = _module(module)
    for assigned, value, documented in _documented(tree.body):
        if assigned == name:
            yield _block([f"{name} = {_Source(tree, text).segment(value)}"])
            yield _text(documented)


# ---- the page


def _outer_statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, also those under an `if`, where a package has the names that it loads late."""
    for node in body:
        if isinstance(node, ast.If):
            yield from _outer_statements(node.body)
        else:
            yield node


def _home(name: str, package: ModuleType) -> str:
    """The module in which a public name is defined."""
    module = package.__name__
    while True:
        tree, _ = _module(module)
        source = next(
            (
                node.module
                for node in _outer_statements(tree.body)
                if isinstance(node, ast.ImportFrom) and any((each.asname or each.name) == name for each in node.names)
            ),
            None,
        )
        if source is None:
            return module
        module = source


def _group_of(name: str, home: str) -> str:
    if name in _PLACES and not home.startswith("dynamap.testing"):
        return _PLACES[name]
    found = [
        (len(prefix), title)
        for title, _, prefixes, _ in _GROUPS
        for prefix in prefixes
        if home == prefix or home.startswith(f"{prefix}.")
    ]
    if not found:
        msg = f"{name} is defined in {home}, which is in no group of {Path(__file__).name}: add the module to one"
        raise LookupError(msg)
    return max(found)[1]


def _described(page: _Page, name: str, value: Any, home: str) -> str:
    if inspect.isclass(value):
        parts = _of_class(page, name, value)
    elif callable(value):
        parts = _of_function(name, value)
    else:
        parts = _of_value(name, home)
    return "\n\n".join(part for part in (f"### {name}", *parts) if part)


def _anchors(headings: Sequence[str]) -> dict[str, str]:
    """Where Markdown renderers put these headings, of which some differ in case only; the last of a name counts."""
    anchors: dict[str, str] = {}
    taken: dict[str, int] = {}
    for heading in headings:
        slug = heading.lower().replace(" ", "-")
        number = taken.get(slug, 0)
        taken[slug] = number + 1
        anchors[heading] = f"{slug}-{number}" if number else slug
    return anchors


def render() -> str:
    """The page as the sources of today make it."""
    groups: dict[str, dict[str, tuple[Any, str]]] = {title: {} for title, *_ in _GROUPS}
    for package in (dynamap, dynamap.otel, dynamap.testing):
        for name in package.__all__:
            home = _home(name, package)
            groups[_group_of(name, home)][name] = (getattr(package, name), home)
    ordered: dict[str, list[str]] = {}
    for title, _, _, first in _GROUPS:
        members = groups[title]
        ordered[title] = [
            *(name for name in first if name in members),
            *(name for name in members if name not in first),
        ]
    page = _Page(_anchors(["Reference", *(each for title, names in ordered.items() for each in (title, *names))]))
    index = [f"- **{title}**: " + ", ".join(map(page.link, names)) for title, names in ordered.items()]
    parts = [_INTRODUCTION.strip(), "\n".join(index)]
    for title, introduction, _, _ in _GROUPS:
        parts += [f"## {title}", introduction]
        parts += [_described(page, name, *groups[title][name]) for name in ordered[title]]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
