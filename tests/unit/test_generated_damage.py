"""Each type with each thing that may stand there by mistake: the value or the error is the interpreter's."""

from __future__ import annotations

from dataclasses import make_dataclass
from typing import Annotated, Any, Optional

import pytest

from dynamap.codec import Attribute, ClassShape
from tests.comparing import check_reading, check_writing
from tests.damage import WIRES, WRONG
from tests.value_types import CALLED, GENERATED, Node, shape_of_class

TYPES = {**GENERATED, **CALLED, "class with Any inside": (Node, [])}


def holder(hint: Any) -> ClassShape:
    """A class with a field of the type that must be there, and one that need not, under an older name too."""
    optional = Annotated[Optional[hint], Attribute("o", aliases=("old",))]  # noqa: UP045  (some hints know no |)
    return shape_of_class(make_dataclass("Holder", [("value", hint), ("other", optional, None)]))


@pytest.mark.parametrize("name", TYPES)
def test_wrong_attribute_values(name: str) -> None:
    hint, values = TYPES[name]
    shape = holder(hint)
    good = [shape.fields[0].shape.encode(value) for value in values]
    for wire in [*WIRES, *good]:
        check_reading(shape, {"value": wire}, {})
        check_reading(shape, {"value": wire, "old": wire}, {})
    check_reading(shape, {}, {})


@pytest.mark.parametrize("name", TYPES)
def test_wrong_values(name: str) -> None:
    hint, values = TYPES[name]
    shape = holder(hint)
    # the good ones are written, or all that follows would compare one and the same error
    assert all(shape.encode_item(shape.cls(value)) is not None for value in values)
    for given in [*values, *WRONG]:
        several = (given, [given], (given,), (given, 5), (given, None), {"k": given}, *_set_of(given))
        for value in several:
            check_writing(shape, shape.cls(value))


def _set_of(value: Any) -> list[Any]:
    try:
        return [{value}, frozenset([value])]
    except TypeError:  # unhashable
        return []
