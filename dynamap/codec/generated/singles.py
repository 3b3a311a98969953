"""The code for single values: their content is written from a variable and read from an expression."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from enum import Enum, Flag
from inspect import getattr_static
from typing import Any, Literal

import msgspec

from dynamap.codec.choices import EnumShape, LiteralShape
from dynamap.codec.containers import SetOf
from dynamap.codec.generated.source import Module
from dynamap.codec.scalars import Binary, Boolean, Float, Integer, Number, Text, Uuid
from dynamap.codec.shapes import Shape
from dynamap.codec.temporal import Date, DateTime, Duration, EpochNumber, EpochTime, Time
from dynamap.codec.wrappers import Normalized

__all__ = [
    "SetCode",
    "SingleCode",
    "SingleTag",
    "set_code",
    "set_tag",
    "single_code",
    "single_tag",
    "without_normalize",
]

SingleTag = Literal["S", "N", "B", "BOOL"]

SetTag = Literal["SS", "NS", "BS"]

_SET_TAGS: dict[str, SetTag] = {"S": "SS", "N": "NS", "B": "BS"}
_YEAR_2101 = 4_133_980_800
_UNITS = {"seconds": timedelta(seconds=1), "milliseconds": timedelta(milliseconds=1)}
_TAGS: dict[type[Shape], SingleTag] = {
    Text: "S",
    Uuid: "S",
    DateTime: "S",
    Date: "S",
    Time: "S",
    Integer: "N",
    Float: "N",
    Number: "N",
    Duration: "N",
    EpochTime: "N",
    EpochNumber: "N",
    Boolean: "BOOL",
    Binary: "B",
}


class SingleCode(msgspec.Struct, frozen=True):
    """`write` takes the name of a variable, `read` the expression of the content and whether its type is known.

    Both give an expression. `accepts` takes the name of a variable and gives the condition under which the shape takes
    its value.
    """

    tag: SingleTag
    write: Callable[[str], str]
    read: Callable[[str, bool], str]
    accepts: Callable[[str], str]


class SetCode(msgspec.Struct, frozen=True):
    """The wire type of a set, and the code for its elements."""

    tag: SetTag
    element: SingleCode


def without_normalize(shape: Shape) -> Shape:
    """The shape that reads: Normalize speaks of writing."""
    while isinstance(shape, Normalized):
        shape = shape.inner
    return shape


def single_tag(shape: Shape) -> SingleTag | None:
    """Give the wire type of a kind of single value that code is generated for."""
    if isinstance(shape, EnumShape):
        # members with a value of their own making are left to the interpreter
        own_value = getattr_static(shape.cls, "value") is not getattr_static(Enum, "value")
        return None if own_value else _choice_tag(shape.wire_types)
    if isinstance(shape, LiteralShape):
        return _choice_tag(shape.wire_types) if {type(value) for value in shape.values} in ({str}, {int}) else None
    return _TAGS.get(type(shape))


def _choice_tag(tags: tuple[str, ...]) -> SingleTag | None:
    if tags == ("S",):
        return "S"
    return "N" if tags == ("N",) else None


def single_code(shape: Shape, module: Module) -> SingleCode | None:
    """Give the code for a single value; None for shapes that are none, or that are left to the interpreter."""
    tag = single_tag(shape)
    if tag is None:
        return None
    if isinstance(shape, EnumShape):
        return _enum(shape, tag, module)
    if isinstance(shape, LiteralShape):
        return _literal(shape, tag, module)
    return _ANSWERS[type(shape)](shape, tag, module)


def set_tag(shape: SetOf) -> SetTag | None:
    """Give the wire type of a set that code is generated for."""
    tag = single_tag(without_normalize(shape.element))
    return None if tag is None else _SET_TAGS.get(tag)


def set_code(shape: SetOf, module: Module) -> SetCode | None:
    """Give the code for the elements of a set; None for one that is left to the interpreter."""
    tag, element = set_tag(shape), single_code(without_normalize(shape.element), module)
    return None if tag is None or element is None else SetCode(tag, element)


# ---------------------------------------------------------------------------------------------------- in line


def _text(shape: Shape, tag: SingleTag, module: Module) -> SingleCode:  # noqa: ARG001
    return SingleCode(
        tag,
        lambda v: f"({v} if type({v}) is str and {v}.isascii() else text_content({v}))",
        lambda c, typed: c,  # noqa: ARG005
        lambda v: f"isinstance({v}, str)",
    )


def _read_integer(module: Module) -> Callable[[str, bool], str]:
    def read(content: str, typed: bool) -> str:  # noqa: FBT001
        if typed:
            return f"int({content})"
        c = module.fresh("c")
        return f"(int({c}) if type({c} := {content}) is str else surprise())"

    return read


def _integer(shape: Shape, tag: SingleTag, module: Module) -> SingleCode:  # noqa: ARG001
    limit = f"1{'0' * 38}"
    return SingleCode(
        tag,
        lambda v: f'(f"{{{v}}}" if type({v}) is int and -{limit} < {v} < {limit} else integer_content({v}))',
        _read_integer(module),
        lambda v: f"(isinstance({v}, int) and type({v}) is not bool)",
    )


def _number(shape: Shape, tag: SingleTag, module: Module) -> SingleCode:  # noqa: ARG001
    def read(content: str, typed: bool) -> str:  # noqa: ARG001, FBT001
        number = module.fresh("n")
        return f"({number} if ({number} := Decimal({content})).is_finite() else surprise())"

    def write(v: str) -> str:
        t = module.fresh("t")
        # without an exponent only a zero at the end is too much, and the sign of a zero
        digits = f'({t}.isdigit() or ({t}[-1] != "0" and {t}.replace(".", "", 1).isdigit()))'
        short = f"type({v}) is Decimal and len({t} := str({v})) < 39 and {digits}"
        return f"({t} if {short} else decimal_content({v}))"

    return SingleCode(tag, write, read, lambda v: f"isinstance({v}, Decimal)")


def _boolean(shape: Shape, tag: SingleTag, module: Module) -> SingleCode:  # noqa: ARG001
    return SingleCode(
        tag,
        lambda v: f"({v} if {v} is True or {v} is False else surprise())",
        lambda c, typed: c if typed else f"bool({c})",
        lambda v: f"isinstance({v}, bool)",
    )


def _binary(shape: Shape, tag: SingleTag, module: Module) -> SingleCode:  # noqa: ARG001
    factory = shape.kind  # bytes or bytearray

    def read(content: str, typed: bool) -> str:  # noqa: FBT001
        plain = content if typed else f"bytes({content})"
        return plain if factory == "bytes" else f"{factory}({plain})"

    return SingleCode(
        tag,
        lambda v: f"({v} if type({v}) is bytes else binary_content({v}))",
        read,
        lambda v: f"isinstance({v}, (bytes, bytearray, memoryview))",
    )


# ---------------------------------------------------------------------------------------------------- by functions


def _function(write: str, read: str, accepts: str) -> Callable[[Shape, SingleTag, Module], SingleCode]:
    def answer(shape: Shape, tag: SingleTag, module: Module) -> SingleCode:  # noqa: ARG001
        return SingleCode(
            tag,
            lambda v: f"{write}({v})",
            lambda c, typed: f"{read}({c})",  # noqa: ARG005
            lambda v: f"({accepts.format(v=v)})",
        )

    return answer


def _epoch_time(shape: EpochTime, tag: SingleTag, module: Module) -> SingleCode:
    unit = module.constant(_UNITS[shape.unit], "unit")
    return SingleCode(
        tag,
        lambda v: f"epoch_content({v}, {unit})",
        lambda c, typed: f"read_epoch({c}, {unit})",  # noqa: ARG005
        lambda v: f"isinstance({v}, datetime)",
    )


def _epoch_number(shape: EpochNumber, tag: SingleTag, module: Module) -> SingleCode:
    limit = _YEAR_2101 if shape.unit == "seconds" else 10**126
    accepted = "int" if shape.factory is int else "(int, float)"
    return SingleCode(
        tag,
        lambda v: f"epoch_number_content({v}, {accepted}, {limit})",
        _read_integer(module) if shape.factory is int else lambda c, typed: f"read_float({c})",  # noqa: ARG005
        lambda v: f"(isinstance({v}, {accepted}) and type({v}) is not bool)",
    )


_ANSWERS: dict[type[Shape], Callable[[Any, SingleTag, Module], SingleCode]] = {
    Text: _text,
    Integer: _integer,
    Number: _number,
    Boolean: _boolean,
    Binary: _binary,
    Float: _function("float_content", "read_float", "isinstance({v}, (float, int)) and type({v}) is not bool"),
    Uuid: _function("uuid_content", "UUID", "isinstance({v}, UUID)"),
    DateTime: _function("datetime_content", "read_datetime", "isinstance({v}, datetime)"),
    Date: _function("date_content", "read_date", "isinstance({v}, date) and not isinstance({v}, datetime)"),
    Time: _function("time_content", "read_time", "isinstance({v}, time)"),
    Duration: _function("duration_content", "read_duration", "isinstance({v}, timedelta)"),
    EpochTime: _epoch_time,
    EpochNumber: _epoch_number,
}


# ---------------------------------------------------------------------------------------------------- choices


def _enum(shape: EnumShape, tag: SingleTag, module: Module) -> SingleCode:
    own, cls = module.constant(shape, "enum"), module.constant(shape.cls, "cls")
    # by name, which is a plain attribute, and needs no hash or comparison of the user's making
    by_name = module.constant({member.name: shape.encode(member)[tag] for member in shape.cls}, "contents")
    by_content = module.constant({shape.encode(member)[tag]: member for member in shape.cls}, "members")
    flag = issubclass(shape.cls, Flag)
    other = f"flag_content({{v}}, {cls})" if flag else f'{own}.encode({{v}})["{tag}"]'

    def write(v: str) -> str:
        known = f"type({v}) is {cls} and {v}._name_ in {by_name}"
        return f"({by_name}[{v}._name_] if {known} else {other.format(v=v)})"

    def read(content: str, typed: bool) -> str:  # noqa: ARG001, FBT001
        c = module.fresh("c")
        rest = f'{own}.decode({{"{tag}": {c}}})'
        combined = f"({cls}(int({c})) if type({c}) is str else surprise())" if flag else rest
        return f"({by_content}[{c}] if ({c} := {content}) in {by_content} else {combined})"

    return SingleCode(tag, write, read, lambda v: f"isinstance({v}, {cls})")


def _literal(shape: LiteralShape, tag: SingleTag, module: Module) -> SingleCode:
    own = module.constant(shape, "literal")
    stored = module.constant({value: shape.encode(value)[tag] for value in shape.values}, "contents")
    values = module.constant({shape.encode(value)[tag]: value for value in shape.values}, "values")
    kind = type(shape.values[0]).__name__  # str or int

    def read(content: str, typed: bool) -> str:  # noqa: ARG001, FBT001
        c = module.fresh("c")
        return f'({values}[{c}] if ({c} := {content}) in {values} else {own}.decode({{"{tag}": {c}}}))'

    return SingleCode(
        tag,
        lambda v: f"({stored}[{v}] if type({v}) is {kind} and {v} in {stored} else surprise())",
        read,
        lambda v: f"(type({v}) is {kind} and {v} in {stored})",
    )
