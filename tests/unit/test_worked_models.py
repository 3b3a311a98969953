"""Over all classes that the documents and examples declare: no two different field tuples give one key.

The declarations of each document are executed, nothing else of it, so that no server is needed. Its blocks are run as a
whole elsewhere.
"""

from __future__ import annotations
import __future__

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from itertools import combinations, islice, pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dynamap import KeyValueError, ModelError, Table
from dynamap.model import Entity
from dynamap.model.templates import KeyMismatch, plain_type
from tests.depth import how_many

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md")), *sorted((ROOT / "examples").glob("**/*.py"))]


# ---- collecting


@dataclass(frozen=True)
class Model:
    """A table of a document, and the pairs of classes that it permits to share keys."""

    table: Table
    permitted: frozenset[frozenset[type[Any]]]

    @property
    def entities(self) -> list[Entity[Any]]:
        return [self.table.entity(cls) for cls in self.table.entities]

    def permits(self, one: Entity[Any], other: Entity[Any]) -> bool:
        return frozenset((one.cls, other.cls)) in self.permitted


def source_of(document: Path) -> str:
    text = document.read_text(encoding="utf-8")
    if document.suffix == ".py":
        return text
    return "\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))


def is_declaration(node: ast.stmt) -> bool:
    """Whether executing it sends nothing: imports, definitions, constants, tables, and stores over them."""
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if not all(isinstance(target, ast.Name) for target in targets):
            return False
        calls = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
        names = [each.func.id for each in calls if isinstance(each.func, ast.Name)]
        return not calls or not {"Attribute", "Table", "NewType", "TypeVar"}.isdisjoint(names)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        # a plain one may stand in a class, as in Normalize(function); a decorator may be made by what is left out
        return not node.decorator_list
    return isinstance(node, (ast.Import, ast.ImportFrom, ast.ClassDef))


def tables_in(tree: ast.AST) -> int:
    """How many tables are made in a document, but for those that are meant to fail."""
    if isinstance(tree, ast.Try):
        return 0
    made = isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "Table"
    return made + sum(map(tables_in, ast.iter_child_nodes(tree)))


def declare(document: Path, monkeypatch: pytest.MonkeyPatch) -> list[Model]:
    """Execute the declarations of a document and give its tables."""
    models: list[Model] = []
    check = Table._check_coincidence

    def recording(self: Table, permitted: set[frozenset[type[Any]]]) -> None:
        check(self, permitted)
        models.append(Model(self, frozenset(permitted)))

    tree = ast.parse(source_of(document))
    expected = tables_in(tree)
    module = ModuleType(f"declarations of {document.name}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    declarations = [node for node in tree.body if is_declaration(node)]
    later = [node for node in declarations if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    flags = __future__.annotations.compiler_flag if later else 0
    body = [node for node in declarations if node not in later]
    imports: list[ast.stmt] = [node for node in body if isinstance(node, (ast.Import, ast.ImportFrom))]
    # first, so that tables of modules that are imported are not among those of the document
    exec(compile(ast.Module(imports, []), str(document), "exec", flags, dont_inherit=True), vars(module))
    monkeypatch.setattr(Table, "_check_coincidence", recording)
    exec(compile(ast.Module(body, []), str(document), "exec", flags, dont_inherit=True), vars(module))
    monkeypatch.setattr(Table, "_check_coincidence", check)
    assert len(models) == expected, f"{document.name}: declare tables at its top level, so that their keys are tested"
    return models


def collected() -> dict[str, Model]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        return {
            f"{document.name}-{number}-{model.table.name.partition('-')[0]}": model
            for document in DOCUMENTS
            for number, model in enumerate(declare(document, monkeypatch))
        }


MODELS = collected()


# ---- random keys


def texts_of(model: Model) -> list[str]:
    """What a template writes as literals: the texts with which a free field comes nearest to another's key."""
    found = {"", "#", "$", "$23", "a", "-", "1"}
    for entity in model.entities:
        for part in entity.key_parts:
            literals = re.split(r"\{[^}]*\}", part.text)
            found |= {piece for literal in literals for piece in (literal, *literal.split("#"))}
    return sorted(found)


def values_of(hint: Any, model: Model) -> st.SearchStrategy[Any]:
    """Values that lie close together, so that different ones often nearly share a key."""
    plain = plain_type(hint)
    if plain is str:
        return st.lists(st.sampled_from(texts_of(model)), min_size=1, max_size=3).map("".join)
    if plain is int:
        return st.integers(-12, 99)
    if plain is Decimal:
        return st.decimals(-20, 20, places=2, allow_nan=False, allow_infinity=False)
    if plain is datetime:
        zones = st.integers(-2, 2).map(lambda hours: timezone(timedelta(hours=hours)))
        start = datetime(2025, 12, 31, 22)
        return st.datetimes(start, start + timedelta(hours=4), timezones=zones)
    return st.from_type(plain)


@st.composite
def keys(draw: st.DrawFn, model: Model, entity: Entity[Any]) -> dict[str, Any] | None:
    """The fields of a key as they are looked up, after Normalize; None where they are refused."""
    hints = {name: entity.shape.by_name[name].field.hint for name in entity.key_fields}
    values = {name: draw(values_of(hint, model)) for name, hint in hints.items()}
    try:
        entity.key(values)
        return entity.normalized(values)
    except KeyValueError:
        return None


def shifted(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The same texts, cut at other places: what would share a key if delimiters were not escaped."""
    names = [name for name, value in values.items() if type(value) is str]
    if not names:
        yield dict(values)
        return
    pieces = "#".join(values[name] for name in names).split("#")
    for cuts in combinations(range(1, len(pieces)), len(names) - 1):
        bounds = [0, *cuts, len(pieces)]
        texts = ["#".join(pieces[start:end]) for start, end in pairwise(bounds)]
        yield {**values, **dict(zip(names, texts, strict=True))}


def stored_key(entity: Entity[Any], values: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted((name, tuple(wire.items())) for name, wire in entity.key(values).items()))


def readings(entity: Entity[Any], key: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The field values of which an entity would make this key, if there are some."""
    values: dict[str, Any] = {}
    try:
        for part in entity.key_parts:
            for name, value in part.decode(key[part.attribute]).items():
                if values.setdefault(name, value) != value:
                    return
        if entity.key(values) == key:
            yield values
    except (KeyMismatch, KeyValueError):
        return


# ---- the tests

SETTINGS = settings(max_examples=how_many(quick=20, deep=300))


def test_the_documents_declare_models() -> None:
    documents = {name.partition("-")[0] for name in MODELS}
    assert {"README.md", "modelling.md", "start.md", "safe_writes.py"} <= documents


@pytest.mark.deep
@pytest.mark.parametrize("name", MODELS)
@SETTINGS
@given(data=st.data())
def test_no_two_field_tuples_give_one_key(name: str, data: st.DataObject) -> None:
    model = MODELS[name]
    entities = st.sampled_from(model.entities)
    made: dict[Any, tuple[Entity[Any], dict[str, Any]]] = {}
    for _ in range(6):
        entity = data.draw(entities)
        drawn = data.draw(keys(model, entity))
        for values in [] if drawn is None else islice(shifted(drawn), 20):
            try:
                key = stored_key(entity, values)
            except KeyValueError:
                continue
            other, others = made.setdefault(key, (entity, values))
            if not model.permits(entity, other):
                assert (entity, values) == (other, others)


@pytest.mark.deep
@pytest.mark.parametrize("name", MODELS)
@SETTINGS
@given(data=st.data())
def test_a_key_is_read_as_the_fields_that_it_was_made_of_and_as_nothing_else(name: str, data: st.DataObject) -> None:
    model = MODELS[name]
    entity = data.draw(st.sampled_from(model.entities))
    values = data.draw(keys(model, entity))
    assume(values is not None)
    key = entity.key(values)
    assert list(readings(entity, key)) == [values]
    for other in model.entities:
        if other is not entity and not model.permits(entity, other):
            assert list(readings(other, key)) == []


def test_a_document_with_a_hidden_table_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = tmp_path / "hidden.md"
    document.write_text(
        "```python\nfrom dynamap import Table\ndef make():\n    return Table('made', [])\n```\n", encoding="utf-8"
    )
    with pytest.raises(AssertionError, match="declare tables at its top level"):
        declare(document, monkeypatch)


def test_a_table_that_is_meant_to_fail_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = tmp_path / "refused.md"
    document.write_text(
        "```python\nfrom dynamap import Table\ntry:\n    Table('made', [int])\nexcept Exception:\n    pass\n```\n",
        encoding="utf-8",
    )
    assert declare(document, monkeypatch) == []


def test_the_check_itself_sees_a_key_that_two_classes_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = tmp_path / "shared.md"
    template = "@entity('{0}', pk='PK#{{id}}', sk='{{tag}}')\nclass {0}:\n    id: str\n    tag: str\n"
    classes = template.format("One") + template.format("Two")
    shared = "Shared = Table('shared', [One, Two], overlap=[(One, Two)])\n"
    document.write_text(f"```python\nfrom dynamap import Table, entity\n{classes}{shared}```\n", encoding="utf-8")
    (model,) = declare(document, monkeypatch)
    one, two = model.entities
    assert model.permits(one, two)
    assert list(readings(two, one.key({"id": "#", "tag": "$"}))) == [{"id": "#", "tag": "$"}]
    with pytest.raises(ModelError, match="can be the same"):
        Table("shared", model.table.entities)
