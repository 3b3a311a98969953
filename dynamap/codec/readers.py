"""What attrs, dataclasses and NamedTuples say about the fields of a class: one reader for each kind."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

__all__ = ["AttrsReader", "DataclassReader", "Declared", "NamedTupleReader", "Reader"]


class Declared(msgspec.Struct, frozen=True):
    """What a reader finds out without resolving anything.

    `annotated_as` names the annotation where it is not the field's own. `type` is for fields that have no annotation,
    `resolved` what the maker of the class made of the annotation, for where it cannot be resolved again.
    """

    name: str
    init: bool = True
    init_name: str = ""
    kw_only: bool = False
    has_default: bool = False
    default: Any = None
    factory: Callable[..., Any] | None = None
    factory_takes_self: bool = False
    annotated_as: str = ""
    type: Any = None
    resolved: Any = None
    markers: tuple[Any, ...] = ()


class Reader(ABC):
    """Reads the fields of one kind of class."""

    @abstractmethod
    def claims(self, cls: type) -> bool:
        """Tell whether this very class, not a base of it, was made the reader's way."""

    @abstractmethod
    def read(self, cls: type) -> Iterator[Declared]:
        """Give the fields in order, inherited ones included; InitVar and ClassVar are none."""


class AttrsReader(Reader):
    """Classes made by attrs, slotted or not."""

    def claims(self, cls: type) -> bool:
        return "__attrs_attrs__" in cls.__dict__

    def read(self, cls: type) -> Iterator[Declared]:
        # loaded already by whatever made the class
        import attrs  # noqa: PLC0415

        fields: tuple[attrs.Attribute[Any], ...] = attrs.fields(cls)
        for field in fields:
            default: Any = field.default
            factory = default if isinstance(default, attrs.Factory) else None  # type: ignore[arg-type]
            yield Declared(
                name=field.name,
                init=field.init,
                init_name=field.alias or field.name.lstrip("_"),
                kw_only=field.kw_only,
                has_default=default is not attrs.NOTHING,
                default=None if default is attrs.NOTHING or factory is not None else default,
                factory=None if factory is None else factory.factory,
                factory_takes_self=factory is not None and factory.takes_self,
                type=field.type,
            )


class DataclassReader(Reader):
    """Classes made by the standard library's `@dataclass`."""

    def claims(self, cls: type) -> bool:
        return "__dataclass_fields__" in cls.__dict__

    def read(self, cls: type) -> Iterator[Declared]:
        anything: Any = cls
        for field in dataclasses.fields(anything):
            factory = None if field.default_factory is dataclasses.MISSING else field.default_factory
            plain = field.default is not dataclasses.MISSING
            yield Declared(
                name=field.name,
                init=field.init,
                init_name=field.name,
                kw_only=field.kw_only is True,
                has_default=plain or factory is not None,
                default=field.default if plain else None,
                factory=factory,
                type=field.type,
            )


class NamedTupleReader(Reader):
    """Classes made by `typing.NamedTuple`."""

    def claims(self, cls: type) -> bool:
        return issubclass(cls, tuple) and "_fields" in cls.__dict__ and "_field_defaults" in cls.__dict__

    def read(self, cls: type) -> Iterator[Declared]:
        anything: Any = cls
        for name in anything._fields:
            defaults = anything._field_defaults
            yield Declared(name=name, init_name=name, has_default=name in defaults, default=defaults.get(name))
