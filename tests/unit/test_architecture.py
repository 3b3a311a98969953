"""The layout holds: imports point only downwards, in no circle, and copyable code needs only what is public.

The checker reads the sources with `ast` and imports nothing. It is itself tested on small bad trees.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]

# Lowest first: a module may import from its own layer and from those before it.
LAYERS = (
    "late",
    "markers",
    "errors",
    "codec",
    "model",
    "expressions",
    "schema",
    "plan",
    "outcomes",
    "backoff",
    "retry",
    "operations",
    "drivers",
    "progress",
    "repository",
    "store",
    "otel",
    "testing",
    "__init__",
    "cli",
    "__main__",
)
PUBLIC_MODULES = ("dynamap", "dynamap.errors", "dynamap.otel", "dynamap.testing")
LONGEST_FILE = 500


class Import(NamedTuple):
    """One imported module, where it is written, and whether only checkers see it."""

    target: str
    line: int
    relative: bool
    for_checkers: bool


def module_name(root: Path, path: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def exported_names(path: Path) -> list[str]:
    """Give the module's `__all__`, or nothing."""
    return [
        name
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        for name in ast.literal_eval(node.value)
    ]


def imports_of(tree: ast.Module, modules: dict[str, Path]) -> list[Import]:
    """Every import of the file, those inside functions and `if TYPE_CHECKING` too, as names of modules."""
    for_checkers = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.dump(block.test)
        for statement in block.body
        for node in ast.walk(statement)
    }
    found: list[Import] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            # `from dynamap.codec import wire` names the module dynamap.codec.wire, if there is one, unless
            # dynamap.codec exports something else by that name.
            exported = exported_names(modules[base]) if base in modules else []
            targets = [
                f"{base}.{alias.name}" if f"{base}.{alias.name}" in modules and alias.name not in exported else base
                for alias in node.names
            ]
        else:
            continue
        relative = isinstance(node, ast.ImportFrom) and node.level > 0
        found.extend(
            Import(target, node.lineno, relative, id(node) in for_checkers) for target in dict.fromkeys(targets)
        )
    return found


def served_late(tree: ast.Module) -> dict[str, set[str]]:
    """What a package gives when it is asked for: the names of each module in its `exports(__name__, {...})`."""
    return {
        module: set(names)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "exports"
        for module, names in ast.literal_eval(node.args[1]).items()
    }


def shown_to_checkers(tree: ast.Module) -> dict[str, set[str]]:
    """What checkers believe that it gives: the names that it imports for them, each under its own name."""
    shown: dict[str, set[str]] = {}
    for block in tree.body:
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING":
            for node in block.body:
                if isinstance(node, ast.ImportFrom):
                    shown.setdefault(node.module or "", set()).update(
                        alias.asname or alias.name for alias in node.names
                    )
    return shown


def late_problems(where: str, tree: ast.Module) -> list[str]:
    """What checkers see of a package is what it gives, and what it exports."""
    served, shown = served_late(tree), shown_to_checkers(tree)
    return [
        f"{where}: checkers are told that {module} gives {', '.join(sorted(names))} here, and exports() says otherwise"
        for module in sorted(served.keys() | shown.keys())
        if (names := served.get(module, set()) ^ shown.get(module, set()))
    ]


def layer_of(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


def package_problems(root: Path) -> list[str]:
    """Check the package `dynamap` below `root`; give one line for each problem."""
    paths = sorted((root / "dynamap").rglob("*.py"))
    modules = {module_name(root, path): path for path in paths}
    problems: list[str] = []
    edges: dict[str, list[str]] = {}
    for module, path in modules.items():
        source = path.read_text(encoding="utf-8")
        where = path.relative_to(root).as_posix()
        length = source.count("\n")
        if length > LONGEST_FILE:
            problems.append(f"{where}: {length} lines; split it below {LONGEST_FILE}")
        layer = layer_of(module)
        if layer not in LAYERS:
            problems.append(f"{where}: {layer!r} is no layer; add it to LAYERS where it belongs")
            continue
        edges[module] = []
        tree = ast.parse(source)
        served = served_late(tree)
        if served:
            problems.extend(late_problems(where, tree))
        for found in imports_of(tree, modules):
            line = f"{where}:{found.line}"
            if found.relative:
                problems.append(f"{line}: a relative import; write it from dynamap")
            elif found.target.split(".")[0] == "dynamap":
                late = any(found.target == each or found.target.startswith(f"{each}.") for each in served)
                problems.extend(
                    own_import_problems(line, layer, found._replace(for_checkers=found.for_checkers and not late))
                )
                edges[module].append(found.target)
    return problems + [f"a circle of imports: {' -> '.join(circle)}" for circle in circles(edges)]


def own_import_problems(line: str, layer: str, found: Import) -> list[str]:
    problems: list[str] = []
    if found.for_checkers:
        problems.append(f"{line}: {found.target} only for type checkers; move the type down instead")
    target = layer_of(found.target)
    if target in LAYERS and LAYERS.index(target) > LAYERS.index(layer):
        problems.append(f"{line}: {layer} imports upwards from {target}")
    return problems


def circles(edges: dict[str, list[str]]) -> list[list[str]]:
    """Find circles among the modules, each once, by walking depth first."""
    done: set[str] = set()
    found: list[list[str]] = []

    def visit(module: str, trail: list[str]) -> None:
        if module in trail:
            found.append([*trail[trail.index(module) :], module])
        elif module not in done:
            for target in edges.get(module, []):
                visit(target, [*trail, module])
            done.add(module)

    for module in edges:
        visit(module, [])
    return found


def copyable_problems(root: Path, folder: str) -> list[str]:
    """Check that recipes or examples import nothing of dynamap but what is public, and none of their neighbours."""
    modules = {module_name(root, path): path for path in sorted((root / "dynamap").rglob("*.py"))}
    problems: list[str] = []
    for path in sorted((root / folder).rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        where = path.relative_to(root).as_posix()
        if source.count("\n") > LONGEST_FILE:
            problems.append(f"{where}: {source.count(chr(10))} lines; split it below {LONGEST_FILE}")
        for found in imports_of(ast.parse(source), modules):
            package = found.target.split(".")[0]
            its_test = path.parent.name == "tests" and found.target.endswith(path.stem.removeprefix("test_recipe_"))
            if found.relative or (package == "recipes" == folder and not its_test):
                problems.append(f"{where}:{found.line}: imports a neighbour; a copied file stands alone")
            elif package == "dynamap" and found.target not in PUBLIC_MODULES:
                problems.append(f"{where}:{found.line}: {found.target} is not public")
    return problems


def write_tree(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def test_the_package_keeps_its_layers() -> None:
    assert package_problems(ROOT) == []


@pytest.mark.parametrize("folder", ["recipes", "examples"])
def test_copyable_code_needs_only_what_is_public(folder: str) -> None:
    assert copyable_problems(ROOT, folder) == []


def test_the_front_door_lists_what_it_imports() -> None:
    path = ROOT / "dynamap" / "__init__.py"
    shown = shown_to_checkers(ast.parse(path.read_text(encoding="utf-8")))
    assert sorted(exported_names(path)) == sorted(name for names in shown.values() for name in names)


LATE = """from typing import TYPE_CHECKING
from dynamap.late import exports
if TYPE_CHECKING:
    from dynamap.store import Store, connect
else:
    __getattr__, __dir__ = exports(__name__, {"dynamap.store": ("Store", "connect")})
"""
GOOD = {
    "dynamap/__init__.py": LATE,
    "dynamap/late.py": "",
    "dynamap/errors.py": "import enum\n",
    "dynamap/codec/__init__.py": "",
    "dynamap/codec/wire.py": "from dynamap.errors import DynamapError\n",
    "dynamap/testing/__init__.py": "from dynamap.testing.embedded import embedded\n__all__ = ['embedded']\n",
    "dynamap/testing/embedded.py": "",
    "dynamap/store.py": "from dynamap.codec import wire\nfrom dynamap import errors\n",
}


def test_the_checker_accepts_a_good_tree(tmp_path: Path) -> None:
    write_tree(tmp_path, GOOD)
    assert package_problems(tmp_path) == []


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        (
            {"dynamap/errors.py": "from dynamap.store import Store\n"},
            "dynamap/errors.py:1: errors imports upwards from store",
        ),
        ({"dynamap/errors.py": "import dynamap.store\n"}, "dynamap/errors.py:1: errors imports upwards from store"),
        (
            {"dynamap/errors.py": "from dynamap import store\n"},
            "dynamap/errors.py:1: errors imports upwards from store",
        ),
        (
            {"dynamap/errors.py": "from dynamap import Store\n"},
            "dynamap/errors.py:1: errors imports upwards from __init__",
        ),
        (
            {"dynamap/errors.py": "def late():\n    from dynamap.store import Store\n"},
            "dynamap/errors.py:2: errors imports upwards from store",
        ),
        (
            {
                "dynamap/codec/a.py": "from dynamap.codec.b import b\n",
                "dynamap/codec/b.py": "import dynamap.codec.c\n",
                "dynamap/codec/c.py": "from dynamap.codec import a\n",
            },
            "a circle of imports: dynamap.codec.a -> dynamap.codec.b -> dynamap.codec.c -> dynamap.codec.a",
        ),
        (
            {
                "dynamap/codec/__init__.py": "from dynamap.codec.a import a\n",
                "dynamap/codec/a.py": "from dynamap.codec import b\n",
            },
            "a circle of imports: dynamap.codec -> dynamap.codec.a -> dynamap.codec",
        ),
        (
            {
                "dynamap/store.py": (
                    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from dynamap.errors import DynamapError\n"
                )
            },
            "dynamap/store.py:3: dynamap.errors only for type checkers; move the type down instead",
        ),
        (
            {"dynamap/codec/__init__.py": LATE},
            "dynamap/codec/__init__.py:4: codec imports upwards from store",
        ),
        (
            {"dynamap/__init__.py": LATE.replace("Store, connect", "Store")},
            (
                "dynamap/__init__.py: checkers are told that dynamap.store gives connect here, "
                "and exports() says otherwise"
            ),
        ),
        (
            {"dynamap/__init__.py": LATE.replace('"connect"', '"open"')},
            (
                "dynamap/__init__.py: checkers are told that dynamap.store gives connect, open here, "
                "and exports() says otherwise"
            ),
        ),
        (
            {"dynamap/__init__.py": LATE.replace("else", "    from dynamap.errors import DynamapError\nelse")},
            "dynamap/__init__.py:5: dynamap.errors only for type checkers; move the type down instead",
        ),
        (
            {"dynamap/codec/wire.py": "from . import other\n"},
            "dynamap/codec/wire.py:1: a relative import; write it from dynamap",
        ),
        ({"dynamap/codec/wire.py": "#\n" * 501}, "dynamap/codec/wire.py: 501 lines; split it below 500"),
        ({"dynamap/attic.py": ""}, "dynamap/attic.py: 'attic' is no layer; add it to LAYERS where it belongs"),
    ],
)
def test_the_checker_finds_each_kind_of_problem(tmp_path: Path, files: dict[str, str], problem: str) -> None:
    write_tree(tmp_path, {**GOOD, **files})
    assert problem in package_problems(tmp_path)


@pytest.mark.parametrize(
    ("folder", "line", "problem"),
    [
        ("recipes", "from dynamap.codec.wire import x", "recipes/lock.py:1: dynamap.codec.wire is not public"),
        ("recipes", "from dynamap import codec", "recipes/lock.py:1: dynamap.codec is not public"),
        ("examples", "import dynamap.store", "examples/lock.py:1: dynamap.store is not public"),
        (
            "recipes",
            "from recipes.outbox import x",
            "recipes/lock.py:1: imports a neighbour; a copied file stands alone",
        ),
        ("recipes", "from .outbox import x", "recipes/lock.py:1: imports a neighbour; a copied file stands alone"),
        ("recipes", "from dynamap import entity", None),
        ("recipes", "from dynamap.errors import VersionConflict", None),
        ("examples", "from dynamap.testing import embedded", None),
        ("examples", "from recipes.lock import Lock", None),
    ],
)
def test_the_checker_knows_what_is_public(tmp_path: Path, folder: str, line: str, problem: str | None) -> None:
    write_tree(tmp_path, {**GOOD, f"{folder}/lock.py": f"{line}\n"})
    assert copyable_problems(tmp_path, folder) == ([] if problem is None else [problem])
