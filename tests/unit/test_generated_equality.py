"""Generated code gives what the interpreter gives, for any class, any value, and any damage."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
from hypothesis import assume, given
from hypothesis import strategies as st

from dynamap.codec import ClassShape, DecodeFailure
from dynamap.codec.generated import compiled, item_from_json
from dynamap.errors import EncodeError
from tests.class_strategies import WRONG, Made, classes, damaged, exact, json_of, shape_of_class

IGNORE = frozenset({"pk", "_w"})


def outcome(work: Callable[[], Any]) -> Any:
    """What comes out: the value in its exact form, or the error with its text and path."""
    try:
        return exact(work())
    except DecodeFailure as failure:
        return DecodeFailure, failure.path, failure.problem
    except EncodeError as error:
        return EncodeError, str(error), error.path
    except Exception as error:  # noqa: BLE001 - whatever the interpreter makes of what no service returns
        return type(error), str(error)


def read_json(shape: ClassShape, body: bytes, known: dict[str, Any]) -> Any:
    """As a transport reads: by structs, or, where msgspec refuses them, the slow way."""
    code = compiled(shape)
    try:
        raw = msgspec.json.decode(body, type=code.raw_type)
    except msgspec.DecodeError:
        return code.decode_item(item_from_json(json.loads(body)), known, IGNORE)
    return code.decode_struct(raw, known, IGNORE)


def unstored(shape: ClassShape, instance: Any) -> dict[str, Any]:
    return {field.name: getattr(instance, field.name) for field in shape.fields if not field.stored}


def check_reading(shape: ClassShape, item: dict[str, Any], known: dict[str, Any]) -> None:
    code = compiled(shape)
    expected = outcome(lambda: shape.decode_item(item, known, IGNORE))
    assert outcome(lambda: code.decode_item(item, known, IGNORE)) == expected
    body = json.dumps(json_of(item)).encode()
    expected = outcome(lambda: shape.decode_item(item_from_json(json.loads(body)), known, IGNORE))
    assert outcome(lambda: read_json(shape, body, known)) == expected


@given(classes(), st.data())
def test_instances_are_written_and_read_as_the_interpreter_does(made: Made, data: st.DataObject) -> None:
    shape = shape_of_class(made.cls)
    code = compiled(shape)
    for _ in range(3):
        instance = data.draw(made.instances)
        expected = outcome(lambda: shape.encode_item(instance, ignore=IGNORE))  # noqa: B023
        assert outcome(lambda: code.encode_item(instance, IGNORE)) == expected  # noqa: B023
        if expected[0] is dict:
            check_reading(shape, shape.encode_item(instance, ignore=IGNORE), unstored(shape, instance))


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
    for _ in range(5):
        check_reading(shape, data.draw(damaged(item)), data.draw(st.sampled_from([known, {}, {"alpha": 1}])))


@given(classes(), st.data())
def test_wrong_values_are_refused_with_the_same_words(made: Made, data: st.DataObject) -> None:
    shape = shape_of_class(made.cls)
    code = compiled(shape)
    instance = data.draw(made.instances)
    for _ in range(5):
        field = data.draw(st.sampled_from(shape.fields))
        value = data.draw(st.sampled_from(WRONG))
        object.__setattr__(
            instance, field.name, data.draw(st.sampled_from([value, [value], {"k": value}, (value, value)]))
        )
        expected = outcome(lambda: shape.encode_item(instance, ignore=IGNORE))
        assert outcome(lambda: code.encode_item(instance, IGNORE)) == expected
