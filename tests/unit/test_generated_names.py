"""Names of attributes, fields and classes in generated code and in struct types: data, never code."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import make_dataclass
from decimal import Decimal
from typing import Annotated, Any

import attrs
import msgspec
import pytest

from dynamap.codec import Attribute, Context, DecodeFailure, class_shape
from dynamap.codec.generated import CompiledClass, compiled, item_from_json
from tests.value_types import json_of


@attrs.define
class Account:
    id: str
    balance: Decimal = Decimal(0)
    tags: set[str] = attrs.field(factory=set)


def fresh(cls: Any = Account) -> CompiledClass:
    return compiled(class_shape(cls, context=Context()))


def test_names_are_data_and_never_code() -> None:
    attributes = ["it's", '"""', "\\", "a\nb", "{x}", "{", "%s", "__import__('os')", "'+1+'", "\x00", "None"]
    fields = [(f"f{number}", Annotated[str, Attribute(name)], "") for number, name in enumerate(attributes)]
    cls = make_dataclass("Odd", fields)
    code = fresh(cls)
    instance = cls(*(f"v{number}" for number in range(len(fields))))
    item = code.encode_item(instance)
    assert item == {name: {"S": f"v{number}"} for number, name in enumerate(attributes)}
    assert code.decode_item(item) == instance
    assert code.raw_type == dict[str, Any]
    assert code.decode_struct(json.loads(json.dumps(item))) == instance


@pytest.mark.parametrize("name", ["ﬁ", "ªb", "ſ", "ünï"])
def test_field_names_that_python_would_change_in_source(name: str) -> None:
    cls = type("Changed", (), {"__init__": lambda self, **values: self.__dict__.update(values)})
    cls.__annotations__ = {name: str}
    made = attrs.define(init=False, slots=False)(cls)
    code = fresh(made)
    instance = made(**{unicodedata.normalize("NFKC", name): "another's", name: "x"})
    assert code.encode_item(instance) == {name: {"S": "x"}}
    assert vars(code.decode_item({name: {"S": "x"}})) == {name: "x"}


def test_generated_names_do_not_meet_those_of_fields() -> None:
    words = [
        "item",
        "instance",
        "known",
        "ignore",
        "shape_1",
        "cls_2",
        "surprise",
        "UNSET",
        "value",
        "arguments",
        "str",
    ]
    cls = make_dataclass("Words", [(word, str) for word in words])
    code = fresh(cls)
    instance = cls(*words)
    assert code.decode_item(code.encode_item(instance)) == instance


def test_a_class_name_is_data_too() -> None:
    cls = make_dataclass("Plain", [("id", str)])
    outer = make_dataclass("Outer", [("inner", cls)])
    cls.__name__ = cls.__qualname__ = "not a name: (x"
    code = fresh(outer)
    instance = outer(cls("a"))
    assert code.decode_item(code.encode_item(instance)) == instance
    body = json.dumps(code.encode_item(instance)).encode()
    assert code.decode_struct(msgspec.json.decode(body, type=code.raw_type)) == instance


def test_struct_types_leave_unknown_attributes_out_and_take_odd_names() -> None:
    @attrs.define
    class Dashed:
        customer: Annotated[str, Attribute("customer-id", aliases=("a b",))]

    code = fresh(Dashed)
    assert code.raw_fields == {"customer-id": "x_637573746f6d65722d6964", "a b": "x_612062"}
    for body in (b'{"customer-id":{"S":"x"},"more":{"X":5}}', b'{"a b":{"S":"x"},"b":[]}'):
        assert code.decode_struct(msgspec.json.decode(body, type=code.raw_type)) == Dashed("x")


def test_a_struct_that_lacks_something_gives_the_interpreters_error() -> None:
    code = fresh()
    raw = msgspec.json.decode(b'{"balance":{"N":"x"},"tags":{"L":[]}}', type=code.raw_type)
    with pytest.raises(DecodeFailure, match=r"\$\.id: a str expected, the attribute 'id' is missing"):
        code.decode_struct(raw)
    raw = msgspec.json.decode(b'{"id":{"S":"a"},"balance":{"N":"NaN"}}', type=code.raw_type)
    with pytest.raises(DecodeFailure, match=r"\$\.balance: a finite number expected"):
        code.decode_struct(raw)


def test_bytes_come_from_base64_at_every_depth() -> None:
    @attrs.define
    class Photos:
        one: bytes
        many: set[bytes]
        anything: Any
        named: dict[str, list[bytes]]

    value = Photos(b"\xff", {b"a", b"b"}, {"B": b"c", "list": [{b"d"}]}, {"B": [b"e"]})
    code = fresh(Photos)
    item = code.encode_item(value)
    body = json.dumps(json_of(item))
    assert code.decode_struct(msgspec.json.decode(body, type=code.raw_type)) == value
    assert item_from_json(json.loads(body)) == item


def test_a_struct_type_can_be_extended_by_attributes_that_are_no_fields() -> None:
    code = fresh()
    fields: list[Any] = [("pk", dict[str, str]), ("kind", dict[str, str])]
    extended = msgspec.defstruct("Extended", fields, bases=(code.raw_type,), rename={"kind": "_type"}, kw_only=True)
    body = b'{"pk":{"S":"A#1"},"_type":{"S":"ACCOUNT"},"id":{"S":"a"},"balance":{"N":"1.5"}}'
    raw: Any = msgspec.json.decode(body, type=extended)
    assert (raw.pk, raw.kind) == ({"S": "A#1"}, {"S": "ACCOUNT"})
    assert code.decode_struct(raw) == Account("a", Decimal("1.5"))
    with pytest.raises(DecodeFailure, match=r"\$\.id: a str expected, the attribute 'id' is missing"):
        code.decode_struct(msgspec.json.decode(body.replace(b'"id"', b'"no"'), type=extended))
