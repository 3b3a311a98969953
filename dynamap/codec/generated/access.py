"""Two ways to what stands in an item: attribute values as dicts, and as msgspec structs. The code around is the same.

An attribute value as a dict is as boto3 gives it, with bytes under "B". As a struct it has one field for each wire type
that its shape can be read from, `UNSET` where there is nothing; msgspec has checked the types of what is there.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from dynamap.codec.shapes import NULL

__all__ = ["MISSING", "Access", "DictAccess", "StructAccess", "Tags"]

MISSING = "UNSET"
"""The name of what stands for a missing value in generated code."""


class Tags(NamedTuple):
    """The wire types that may still be there, and whether msgspec has made sure that there is one, the only one."""

    possible: tuple[str, ...]
    certain: bool

    def but(self, tag: str) -> tuple[str, ...]:
        return tuple(each for each in self.possible if each != tag)


class Access(Protocol):
    """Expressions for what stands in an item."""

    typed: bool
    """Whether contents are sure to have the Python type of their wire type."""

    def attribute(self, item: str, name: str, *, optional: bool) -> str:
        """The attribute value; if it is missing, MISSING where it is optional, anything that fails where not."""
        ...

    def content(self, wire: str, tag: str, tags: Tags) -> str:
        """What stands under the wire type, the only one; fails without it."""
        ...

    def alone(self, wire: str, tag: str, tags: Tags) -> str:
        """The condition that the wire type is there, the only one."""
        ...

    def optional(self, wire: str, inner: str, tags: Tags) -> str:
        """None for NULL, else what the inner expression gives, in which NULL is no more possible."""
        ...


class DictAccess:
    """Attribute values as dicts."""

    typed = False

    def attribute(self, item: str, name: str, *, optional: bool) -> str:
        return f"{item}.get({name!r}, {MISSING})" if optional else f"{item}[{name!r}]"

    def content(self, wire: str, tag: str, tags: Tags) -> str:  # noqa: ARG002
        return f'({wire}["{tag}"] if len({wire}) == 1 else surprise())'

    def alone(self, wire: str, tag: str, tags: Tags) -> str:  # noqa: ARG002
        return f'"{tag}" in {wire} and len({wire}) == 1'

    def optional(self, wire: str, inner: str, tags: Tags) -> str:  # noqa: ARG002
        # taking what is there fails for everything that has `in` but is no dict
        null = f'(None if len({wire}) == 1 and {wire}["{NULL}"] is not {MISSING} else surprise())'
        return f'({inner} if "{NULL}" not in {wire} else {null})'


class StructAccess:
    """Attribute values as structs; `fields` gives the struct's field for each attribute."""

    typed = True

    def __init__(self, fields: dict[str, str]) -> None:
        self._fields = fields

    def attribute(self, item: str, name: str, *, optional: bool) -> str:  # noqa: ARG002
        return f"{item}.{self._fields[name]}"

    def content(self, wire: str, tag: str, tags: Tags) -> str:
        if tags.certain:
            return f"{wire}.{tag}"
        return f"({wire}.{tag} if {self.alone(wire, tag, tags)} else surprise())"

    def alone(self, wire: str, tag: str, tags: Tags) -> str:
        if tags.certain:
            return "True"
        others = [f"{wire}.{other} is {MISSING}" for other in tags.but(tag)]
        return " and ".join([f"{wire}.{tag} is not {MISSING}", *others])

    def optional(self, wire: str, inner: str, tags: Tags) -> str:
        null = f"(None if {self.alone(wire, NULL, tags)} else surprise())"
        return f"({inner} if {wire}.{NULL} is {MISSING} else {null})"
