"""Generated code gives what the interpreter gives, for any class, any value, and any damage."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dynamap.codec import ClassShape
from dynamap.codec.generated.encoders import value_encoders
from dynamap.errors import EncodeError
from tests.class_strategies import Made, classes
from tests.comparing import IGNORE, check_reading, check_writing, outcome
from tests.damage import WRONG, damaged
from tests.depth import how_many
from tests.value_types import shape_of_class


def unstored(shape: ClassShape, instance: Any) -> dict[str, Any]:
    return {field.name: getattr(instance, field.name) for field in shape.fields if not field.stored}


@pytest.mark.deep
@settings(max_examples=how_many(quick=60, deep=5_000))
@given(classes(), st.data())
def test_instances_are_written_and_read_as_the_interpreter_does(made: Made, data: st.DataObject) -> None:
    shape = shape_of_class(made.cls)
    for _ in range(how_many(quick=3, deep=20)):
        instance = data.draw(made.instances)
        check_writing(shape, instance)
        try:
            item = shape.encode_item(instance, ignore=IGNORE)
        except EncodeError:
            continue
        check_reading(shape, item, unstored(shape, instance))


@pytest.mark.deep
@settings(max_examples=how_many(quick=60, deep=5_000))
@given(classes(), st.data())
def test_damaged_items_give_the_same_value_or_the_same_error(made: Made, data: st.DataObject) -> None:
    shape = shape_of_class(made.cls)
    instance = data.draw(made.instances)
    try:
        item = shape.encode_item(instance, ignore=IGNORE)
    except EncodeError:
        assume(False)
        raise
    known = unstored(shape, instance)
    for _ in range(how_many(quick=5, deep=20)):
        check_reading(shape, data.draw(damaged(item)), data.draw(st.sampled_from([known, {}, {"alpha": 1}])))


@given(classes(), st.data())
def test_wrong_values_are_refused_with_the_same_words(made: Made, data: st.DataObject) -> None:
    shape = shape_of_class(made.cls)
    instance = data.draw(made.instances)
    for _ in range(5):
        field = data.draw(st.sampled_from(shape.fields))
        value = data.draw(st.sampled_from(WRONG))
        object.__setattr__(
            instance, field.name, data.draw(st.sampled_from([value, [value], {"k": value}, (value, value)]))
        )
        check_writing(shape, instance)


@pytest.mark.deep
@settings(max_examples=how_many(quick=60, deep=5_000))
@given(classes(), st.data())
def test_values_are_written_by_themselves_as_the_interpreter_does(made: Made, data: st.DataObject) -> None:
    shape = shape_of_class(made.cls)
    instance = data.draw(made.instances)
    for field in shape.fields:
        encoders, path = value_encoders(field), (field.name,)
        wrong = data.draw(st.sampled_from(WRONG))
        for value in (getattr(instance, field.name), None, wrong, [wrong], {"k": wrong}):
            expected = outcome(lambda: field.shape.encode_attribute(value, path))  # noqa: B023
            assert outcome(lambda: encoders.attribute(value)) == expected  # noqa: B023
            expected = outcome(lambda: field.shape.encode(value, path))  # noqa: B023
            assert outcome(lambda: encoders.value(value)) == expected  # noqa: B023
