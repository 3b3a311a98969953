"""Values <-> wire: the interpreter, which is the reference for every generated encoder and decoder."""

from dynamap.codec.annotations import Attribute, EpochMillis, EpochSeconds, Extras, Normalize
from dynamap.codec.anything import AnyShape
from dynamap.codec.choices import EnumShape, LiteralShape
from dynamap.codec.classes import ClassShape, FieldShape
from dynamap.codec.containers import ListOf, MapOf, SetOf, TupleOf
from dynamap.codec.context import Context
from dynamap.codec.failures import DecodeFailure, Wire
from dynamap.codec.fields import ClassField, class_fields, declares_fields, field_names, has_fields, init_names
from dynamap.codec.inspection import class_shape, shape_of
from dynamap.codec.json_items import Body, JsonItem, to_json, without_json
from dynamap.codec.paths import Path, format_path
from dynamap.codec.pydantic_classes import annotated_type, generic_model, is_pydantic, is_pydantic_model
from dynamap.codec.scalars import Binary, Boolean, Float, Integer, Number, Text, Uuid
from dynamap.codec.scopes import remember_names
from dynamap.codec.shapes import Shape
from dynamap.codec.sizes import MOST_ITEM_BYTES, exceeds, item_size, size_at_most, wire_size
from dynamap.codec.temporal import Date, DateTime, Duration, EpochNumber, EpochTime, Time
from dynamap.codec.unions import TaggedUnion, UnionShape
from dynamap.codec.unwrap import unwrapped
from dynamap.codec.wrappers import Converted, Custom, Normalized, OptionalShape, Reference

__all__ = [
    "MOST_ITEM_BYTES",
    "AnyShape",
    "Attribute",
    "Binary",
    "Body",
    "Boolean",
    "ClassField",
    "ClassShape",
    "Context",
    "Converted",
    "Custom",
    "Date",
    "DateTime",
    "DecodeFailure",
    "Duration",
    "EnumShape",
    "EpochMillis",
    "EpochNumber",
    "EpochSeconds",
    "EpochTime",
    "Extras",
    "FieldShape",
    "Float",
    "Integer",
    "JsonItem",
    "ListOf",
    "LiteralShape",
    "MapOf",
    "Normalize",
    "Normalized",
    "Number",
    "OptionalShape",
    "Path",
    "Reference",
    "SetOf",
    "Shape",
    "TaggedUnion",
    "Text",
    "Time",
    "TupleOf",
    "UnionShape",
    "Uuid",
    "Wire",
    "annotated_type",
    "class_fields",
    "class_shape",
    "declares_fields",
    "exceeds",
    "field_names",
    "format_path",
    "generic_model",
    "has_fields",
    "init_names",
    "is_pydantic",
    "is_pydantic_model",
    "item_size",
    "remember_names",
    "shape_of",
    "size_at_most",
    "to_json",
    "unwrapped",
    "wire_size",
    "without_json",
]
