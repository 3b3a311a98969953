"""Where classes may be defined: in functions, in modules imported twice, and what annotations may name there."""

from __future__ import annotations

import gc
import importlib.util
import os
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from dataclasses import InitVar, dataclass
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import pytest
import typing_extensions

from dynamap import ModelError, RequestError, Table, entity, mapped
from dynamap.codec import Context, class_shape
from dynamap.model import Entity

if TYPE_CHECKING:
    from fractions import Fraction

Made = Callable[[], object]


def described(cls: Any, **options: Any) -> Entity[Any]:
    """The class as the only one of a table."""
    return Table("table", [cls], **options).entity(cls)


def comes_back(cls: Any, *values: Any) -> None:
    for value in values:
        read = described(cls, ttl="expires_").decode(described(cls, ttl="expires_").encode(value))
        assert read == value
        assert type(read) is type(value)


def refusal(make: Made) -> str:
    with pytest.raises(ModelError) as caught:
        make()
    return str(caught.value).replace(f"{make.__qualname__}.<locals>.", "")


# ---- where annotations are resolved


class Shadowed:
    """No type that could be stored: what functions call by its name must be found instead."""


def test_a_class_of_a_function_may_name_its_neighbours() -> None:
    @dataclass
    class Shadowed:
        n: int

    @entity("ORDER", pk="O#{id}", sk="O")
    class Order:
        id: str
        line: Shadowed
        parent: Order | None = None
        lines: list[Shadowed] = attrs.field(factory=list)

    comes_back(Order, Order("a", Shadowed(1), Order("b", Shadowed(2)), [Shadowed(3)]))


def test_a_class_of_a_function_may_name_what_the_function_defines_later() -> None:
    @entity("ORDER", pk="O#{id}", sk="O")
    class Order:
        id: str
        customer: Customer | None = None

    @mapped("CUSTOMER", pk="C#{id}", sk="C")
    @dataclass
    class Customer:
        id: str
        last: Order | None = None

    table = Table("table", [Order, Customer])
    value = Customer("c", Order("o", Customer("d")))
    assert table.entity(Customer).decode(table.entity(Customer).encode(value)) == value


def parts(number: int) -> tuple[Any, Any]:
    """Two classes of a call that is over when a table is made of them; each call has its own."""

    class Colour(Enum):
        RED = number

    @dataclass
    class Part:
        colour: Colour

    @mapped("WHOLE", pk="W#{id}", sk="W")
    @attrs.frozen
    class Whole:
        id: str
        parts: list[Part]

    return Whole, Part


@pytest.mark.parametrize("numbers", [(1, 2), (2, 1)])
def test_a_class_of_a_function_that_has_returned_knows_its_names(numbers: tuple[int, int]) -> None:
    made = [(parts(number), number) for number in numbers]
    for (whole, part), number in made:
        colour = class_shape(part, context=Context()).by_name["colour"].shape
        red = colour.decode({"N": str(number)})
        comes_back(whole, whole("a", [part(red)]))


def test_what_a_function_defines_later_is_out_of_reach_when_it_has_returned() -> None:
    def early() -> Any:
        @entity("E", pk="E#{id}", sk="E")
        class Early:
            id: str
            later: Later

        @dataclass
        class Later:
            n: int

        return Early

    cls = early()
    text = refusal(lambda: Table("table", [cls]))
    assert "Early.later: the annotation 'Later' names 'Later', which cannot be resolved" in text


def test_a_method_or_a_lambda_may_define_classes() -> None:
    class Factory:
        def make(self) -> Any:
            @dataclass
            class Inner:
                n: int

            @entity("X", pk="X#{id}", sk="X")
            class X:
                id: str
                inner: Inner

            return X, Inner

    cls, inner = Factory().make()
    comes_back(cls, cls("a", inner(1)))


def test_a_class_inside_of_a_class_is_known_there() -> None:
    @entity("X", pk="X#{id}", sk="X")
    class X:
        @dataclass
        class Inner:
            n: int

        id: str
        inner: Inner

    comes_back(X, X("a", X.Inner(1)))


class Big:
    """Anything that a function holds on to while it runs."""


def test_decorating_keeps_no_local_values_alive() -> None:
    def local() -> tuple[Any, weakref.ref[Any], weakref.ref[Any]]:
        big = Big()

        class Other:
            pass

        @entity("X", pk="X#{id}", sk="X")
        class X:
            id: str
            text: str = "big Other"

        return X, weakref.ref(big), weakref.ref(Other)

    cls, big, other = local()
    gc.collect()
    assert described(cls).key({"id": "a"})
    assert big() is None
    assert other() is None


def test_classes_of_functions_are_collected() -> None:
    def local() -> list[weakref.ref[Any]]:
        made = parts(1)
        Table("table", [made[0]])
        return [weakref.ref(cls) for cls in made]

    references = local()
    for _ in references:
        gc.collect()
    assert [reference() for reference in references] == [None, None]


def test_a_name_for_checkers_only_is_refused_with_class_field_name_and_remedy() -> None:
    @entity("X", pk="X#{id}", sk="X")
    class X:
        id: str
        share: Fraction | None = None

    text = refusal(lambda: Table("table", [X]))
    assert text.endswith(
        "X.share: the annotation 'Fraction | None' names 'Fraction', which cannot be resolved; define or import it at "
        f"the top of {__name__}, outside of TYPE_CHECKING"
    )


def test_a_name_for_checkers_only_may_stand_where_no_field_does() -> None:
    @mapped("X", pk="X#{id}", sk="X")
    @dataclass
    class X:
        id: str
        known: ClassVar[dict[str, Fraction]] = {}
        seed: InitVar[Fraction | None] = None

    comes_back(X, X("a"))


@attrs.define
class Tree:
    name: str
    children: list[typing_extensions.Self] = attrs.field(factory=list)
    parent: typing_extensions.Self | None = None


def test_self_is_the_class() -> None:
    shape = class_shape(Tree, context=Context())
    tree = Tree("a", [Tree("b", parent=Tree("c"))])
    assert shape.decode(shape.encode(tree)) == tree


# ---- modules that are imported twice


@pytest.fixture
def imported(tmp_path: Path) -> Iterator[Callable[[str], ModuleType]]:
    """Imports one file under any name."""
    path = tmp_path / "shop.py"
    path.write_text(
        "from dynamap import entity\n@entity('ITEM', pk='I#{id}', sk='I')\nclass Item:\n    id: str\n", encoding="utf-8"
    )
    names: list[str] = []

    def load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        names.append(name)
        spec.loader.exec_module(module)
        return module

    yield load
    for name in dict.fromkeys(names):
        del sys.modules[name]


def test_a_module_under_two_names(imported: Callable[[str], ModuleType]) -> None:
    one, two = imported("package.shop").Item, imported("shop").Item
    assert refusal(lambda: Table("table", [one, two])) == (
        "Table 'table' holds two classes Item, of package.shop and of shop: import the module under one name only"
    )
    with pytest.raises(RequestError) as caught:
        Table("table", [one]).entity(two)
    assert str(caught.value) == (
        "Item is not in Table 'table': it holds another class of this name, of package.shop and of shop: import the "
        "module under one name only"
    )
    # what one of both has stored, the other reads
    assert described(two).decode(described(one).encode(one("a"))) == two("a")


def test_a_module_that_was_reloaded(imported: Callable[[str], ModuleType]) -> None:
    old, new = imported("shop").Item, imported("shop").Item
    remedy = "both of shop, which was reloaded: make the table again, and all else that holds the class"
    assert refusal(lambda: Table("table", [old, new])) == f"Table 'table' holds two classes Item, {remedy}"
    with pytest.raises(RequestError) as caught:
        Table("table", [old]).entity(new)
    assert str(caught.value) == f"Item is not in Table 'table': it holds another class of this name, {remedy}"
    # what the old class has stored, the new one reads
    assert described(new).decode(described(old).encode(old("a"))) == new("a")


def test_entities_are_made_without_the_future_import(tmp_path: Path) -> None:
    path = tmp_path / "eager.py"
    path.write_text(
        "from dataclasses import dataclass\n"
        "from typing import Optional\n"
        "from dynamap import Table, entity, mapped\n"
        "@entity('A', pk='A#{id}', sk='A')\n"
        "class A:\n    id: str\n    next: Optional['A'] = None\n    b: 'list[B] | None' = None\n"
        "@mapped('B', pk='B#{id}', sk='B')\n@dataclass\n"
        "class B:\n    id: str\n    a: 'A'\n"
        "table = Table('t', [A, B])\n"
        "value = B('b', A('a', A('c'), [B('d', A('e'))]))\n"
        "described = table.entity(B)\n"
        "assert described.decode(described.encode(value)) == value\n",
        encoding="utf-8",
    )
    checkout = str(Path(__file__).parents[2])
    subprocess.run([sys.executable, "-W", "error", str(path)], check=True, env={**os.environ, "PYTHONPATH": checkout})
