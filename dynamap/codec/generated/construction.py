"""How the interpreter's way to build an instance is written as one call.

`ClassShape` leaves missing values out of the call, so that the class makes its own defaults. To leave a parameter out
is to pass its default, so that generated code can name every parameter: defaults are taken from the function itself.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

import msgspec

from dynamap.codec.classes import ClassShape, FieldShape
from dynamap.codec.generated.source import plain_name

__all__ = ["Argument", "constructor"]


class Argument(msgspec.Struct, frozen=True):
    """A field and how it is passed; `default` is what the parameter has, `inspect.Parameter.empty` for none."""

    field: FieldShape
    positional: bool
    default: Any


def _called(cls: type[Any]) -> Callable[..., Any] | None:
    """Give the function that a call of the class comes down to, if there is nothing else on the way."""
    if type(cls).__call__ is not type.__call__:
        return None
    init, new = inspect.getattr_static(cls, "__init__"), inspect.getattr_static(cls, "__new__")
    if isinstance(new, staticmethod):
        new = new.__func__
    if new is object.__new__ and isinstance(init, FunctionType):
        return init
    if init is object.__init__ and isinstance(new, FunctionType):
        return new
    return None


def constructor(shape: ClassShape) -> tuple[Argument, ...] | None:
    """Give the arguments of the call, positional ones first; None if missing values must be left out."""
    function = _called(shape.cls)
    if function is None or hasattr(function, "__wrapped__") or hasattr(function, "__signature__"):
        return None
    given = {field.field.init_name: field for field in shape.fields if field.field.init}
    parameters = list(inspect.signature(function).parameters.values())[1:]
    passed: list[Argument] = []
    in_order = True
    for parameter in parameters:
        field = given.pop(parameter.name, None)
        in_order = in_order and field is not None and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        if field is not None:
            if parameter.kind not in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}:
                return None
            if not in_order and not plain_name(parameter.name):
                return None
            passed.append(Argument(field, in_order, parameter.default))
    return None if given else tuple(passed)
