"""Whether generated code gives what the interpreter gives, be it a value or an error."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec

from dynamap.codec import ClassShape, DecodeFailure
from dynamap.codec.generated import compiled, item_from_json
from dynamap.errors import EncodeError
from tests.value_types import exact, json_of

IGNORE = frozenset({"pk", "_w"})
# an attribute of no class here
KEYS = {'the "key"': "S"}
KEY = {'the "key"': {"S": 'a"\\\n\x7fé😀'}}


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
    check_many(shape, raw)
    return code.decode_struct(raw, known, IGNORE)


def check_many(shape: ClassShape, raw: Any) -> None:
    """Where structs are read one after the other without a call each, they are what each of them is by itself."""
    code = compiled(shape)
    if code.raw_fields is None or not all(field.stored for field in shape.fields):
        return
    made: list[Any] = []
    try:
        code.decode_structs([raw, raw], made.append)
    except Exception:  # noqa: BLE001 - then each is to be looked at by itself
        return
    assert [exact(each) for each in made] == [exact(code.decode_struct(raw, None, IGNORE))] * 2


def check_writing(shape: ClassShape, instance: Any) -> None:
    """Write the instance in all ways."""
    code = compiled(shape)
    expected = outcome(lambda: shape.encode_item(instance, ignore=IGNORE))
    assert outcome(lambda: code.encode_item(instance, IGNORE)) == expected
    item = written_as_json(shape, instance)
    # what it does not take is to be encoded as a dict
    assert item is None or exact(item) == expected


def written_as_json(shape: ClassShape, instance: Any) -> dict[str, Any] | None:
    """The item that the JSON of an instance is; None where the interpreter is to judge the instance."""
    encoder = compiled(shape).json_encoder(None, KEYS, {})
    assert (encoder is None) == (shape.extras is not None)
    written = None if encoder is None else encoder(instance, KEY)
    if written is None:
        return None
    item = item_from_json(json.loads(written))
    assert {name: item.pop(name) for name in KEY} == KEY
    return item


def check_reading(shape: ClassShape, item: dict[str, Any], known: dict[str, Any]) -> None:
    """Read the item in both ways, from dicts and from JSON."""
    code = compiled(shape)
    expected = outcome(lambda: shape.decode_item(item, known, IGNORE))
    assert outcome(lambda: code.decode_item(item, known, IGNORE)) == expected
    body = json.dumps(json_of(item)).encode()
    expected = outcome(lambda: shape.decode_item(item_from_json(json.loads(body)), known, IGNORE))
    assert outcome(lambda: read_json(shape, body, known)) == expected
