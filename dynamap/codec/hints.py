"""Taking annotations apart: names for messages, unions, what the markers of a field say."""

from __future__ import annotations

import types
import typing
from typing import Annotated, Any, Final, Literal, TypeVar, get_args, get_origin

import typing_extensions

from dynamap.codec.annotations import Attribute, Extras
from dynamap.codec.fields import ClassField
from dynamap.errors import ModelError

__all__ = [
    "ALIASES",
    "SELVES",
    "TRANSPARENT",
    "UNIONS",
    "is_extras",
    "merged_attribute",
    "model_error",
    "type_name",
    "union_members",
    "upper_bound",
    "value_hint",
]

UNIONS = (typing.Union, types.UnionType)
# typing_extensions has its own class where it mends that of typing
ALIASES: tuple[Any, ...] = (
    typing_extensions.TypeAliasType,
    getattr(typing, "TypeAliasType", typing_extensions.TypeAliasType),
)
SELVES: tuple[Any, ...] = tuple(
    vars(module)["Self"] for module in (typing, typing_extensions) if "Self" in vars(module)
)
TRANSPARENT = (Final, typing_extensions.Required, typing_extensions.NotRequired, typing_extensions.ReadOnly)


def type_name(hint: object) -> str:
    """Name a type for messages."""
    if isinstance(hint, type) and get_origin(hint) is None:
        return hint.__qualname__.rpartition("<locals>.")[2]
    return str(hint).replace("typing.", "")


def model_error(where: str, problem: str) -> ModelError:
    """Make the error for a declaration that cannot work; the caller raises it."""
    return ModelError(f"{where}: {problem}")


def upper_bound(variable: TypeVar, where: str) -> Any:
    """Give the type that stands for a type variable which nothing fills in."""
    if variable.__constraints__:
        raise model_error(where, f"the type variable {variable} may be several types; say which, as in Box[int]")
    return Any if variable.__bound__ is None else variable.__bound__


def union_members(hint: Any) -> list[Any]:
    """Flatten a union and the aliases of unions in it, and make one Literal of all."""
    flat: list[Any] = []
    literals: list[Any] = []
    for argument in get_args(hint):
        inner = argument
        if isinstance(argument, ALIASES) and get_origin(argument.__value__) in UNIONS:
            inner = argument.__value__
        if get_origin(inner) in UNIONS:
            flat += union_members(inner)
        elif get_origin(inner) is Literal:
            literals += get_args(inner)
        else:
            flat.append(inner)
    if literals:
        # 1 and True are equal but two literals
        distinct: dict[tuple[Any, Any], Any] = {(type(value), value): value for value in literals}
        flat.append(Literal[tuple(distinct.values())])
    return flat


def is_extras(marker: object) -> bool:
    """Tell whether the marker is Extras(), called or not."""
    return isinstance(marker, Extras) or marker is Extras


def merged_attribute(field: ClassField, where: str) -> Attribute:
    """Merge what the field's Attribute markers say; two of them must not say the same thing twice."""
    merged = Attribute()
    for marker in field.markers:
        if isinstance(marker, Attribute):
            if (merged.name and marker.name) or (merged.aliases and marker.aliases):
                raise model_error(where, "two Attribute markers name the attribute; leave one")
            merged = Attribute(
                name=merged.name or marker.name,
                aliases=merged.aliases or tuple(marker.aliases),
                stored=merged.stored and marker.stored,
            )
    return merged


def value_hint(field: ClassField) -> Any:
    """Leave only the markers that speak of the value: names and Extras are the field's."""
    if not field.markers:
        return field.hint
    kept: list[Any] = []
    for marker in field.markers:
        if isinstance(marker, Attribute):
            kept.append(Attribute(encode=marker.encode, decode=marker.decode))
        elif not is_extras(marker):
            kept.append(marker)
    inner = field.hint.__origin__
    parts = (inner, *kept)
    return Annotated[parts] if kept else inner
