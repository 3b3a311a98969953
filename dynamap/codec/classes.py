"""The shape of attrs classes and dataclasses: as maps inside of items, and as whole items."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import msgspec

from dynamap.codec.failures import DecodeFailure, Wire, refusal, with_article
from dynamap.codec.fields import ClassField
from dynamap.codec.paths import Path
from dynamap.codec.pydantic_classes import Builder, builder_for
from dynamap.codec.shapes import Shape, refuse_depth

__all__ = ["ClassShape", "FieldShape"]


class FieldShape(msgspec.Struct, frozen=True):
    """A field of a class and how it is stored: `attribute` is the stored name, `aliases` are read in its absence.

    `stored` is false for a field that is recovered from a key, `extras` true for the one that keeps unknown attributes.
    """

    name: str
    attribute: str
    aliases: tuple[str, ...]
    shape: Shape
    field: ClassField
    stored: bool = True
    extras: bool = False

    @property
    def read_from(self) -> tuple[str, ...]:
        """The stored names that it is read from, the first that is there counts."""
        return (self.attribute, *self.aliases)


def _init_names(fields: tuple[FieldShape, ...]) -> set[str]:
    return {field.field.init_name for field in fields if field.field.init}


def _calls_init(cls: type[Any], fields: tuple[FieldShape, ...]) -> bool:
    """Tell whether `cls(...)` can be called with all fields that claim to be its parameters, and nothing else."""
    if builder_for(cls) is not None:
        return False
    parameter = inspect.Parameter
    parameters = inspect.signature(cls).parameters
    several = {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}
    any_name = any(each.kind is parameter.VAR_KEYWORD for each in parameters.values())
    named = {name for name, each in parameters.items() if each.kind not in {*several, parameter.POSITIONAL_ONLY}}
    required = {
        name for name, each in parameters.items() if each.default is parameter.empty and each.kind not in several
    }
    given = _init_names(fields)
    return required <= given and (any_name or given <= named)


def _set_afterwards(cls: type[Any], fields: tuple[FieldShape, ...]) -> tuple[FieldShape, ...]:
    """Give all fields if `__init__` computes or may change some of them, else none."""
    if builder_for(cls) is not None:
        return ()
    hooked = hasattr(cls, "__post_init__") or hasattr(cls, "__attrs_post_init__")
    computed = any(not field.field.init for field in fields)
    more = set(inspect.signature(cls).parameters) - _init_names(fields)
    return fields if hooked or computed or more else ()


class ClassShape(Shape, frozen=True, eq=False, dict=True, weakref=True):
    """An attrs class, dataclass, pydantic model or NamedTuple, stored as M, or as an item if it is an entity.

    Only instances of the very class are taken: those of a subclass would not come back as what they are. Instances are
    built by `__init__` where it can be called with the fields alone (`calls_init`), else without it. Where `__init__`
    or its hook computes fields, all are set afterwards (`set_afterwards`): stored values come back exactly. Classes
    whose `__init__` validates have a `builder` instead, which does all that.
    """

    cls: type[Any]
    fields: tuple[FieldShape, ...]
    derived: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    """What is made of the shape once and kept with it, such as generated code."""

    @cached_property
    def by_name(self) -> dict[str, FieldShape]:
        """The fields by their names."""
        return {field.name: field for field in self.fields}

    @cached_property
    def extras(self) -> FieldShape | None:
        """The field that keeps unknown attributes."""
        return next((field for field in self.fields if field.extras), None)

    @cached_property
    def calls_init(self) -> bool:
        """Whether `cls(...)` can be called with the fields alone."""
        return _calls_init(self.cls, self.fields)

    @cached_property
    def set_afterwards(self) -> tuple[FieldShape, ...]:
        """The fields that are set on an instance when it is there."""
        return _set_afterwards(self.cls, self.fields)

    @cached_property
    def builder(self) -> Builder | None:
        """What makes instances of a class whose `__init__` validates."""
        return builder_for(self.cls)

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(name for field in self.fields if not field.extras for name in field.read_from)

    def __repr__(self) -> str:
        return f"ClassShape({self.cls.__qualname__})"

    @property
    def kind(self) -> str:
        return self.cls.__qualname__.rpartition("<locals>.")[2]

    @property
    def wire_types(self) -> tuple[str, ...]:
        return ("M",)

    def accepts(self, value: object) -> bool:
        return type(value) is self.cls

    def remedy(self, value: object) -> str:
        if isinstance(value, dict):
            return f"use {self.kind}(**value)"
        if isinstance(value, self.cls):
            return "declare the subclass, or a union of both with a Literal tag"
        return f"pass an instance of {self.kind}"

    def can_lack(self, name: str) -> bool:
        """Tell whether an item can be read that has no attribute for this field."""
        field = self.by_name[name]
        if field.shape.empty_when_absent or field.field.has_default or self.computes(field):
            return True
        try:
            field.shape.decode_attribute(None)
        except DecodeFailure:
            return False
        return True

    def computes(self, field: FieldShape) -> bool:
        """Tell whether the class itself gives the field a value when an instance is built."""
        if field.field.init:
            return False
        return self.calls_init or (self.builder is not None and self.builder.runs_hook(self.cls))

    def at(self, step: Any) -> tuple[str | int, Shape]:
        field = self.by_name.get(step) if isinstance(step, str) else None
        if field is None:
            msg = f"{self.kind} has no field {step!r}"
            raise LookupError(msg)
        if not field.stored or field.extras:
            msg = f"{self.kind}.{field.name} is not stored as an attribute"
            raise LookupError(msg)
        return field.attribute, field.shape

    # ------------------------------------------------------------------------------------------------ encoding

    def encode(self, value: Any, path: Path = ()) -> Wire:
        if not self.accepts(value):
            raise self.unexpected(value, path)
        refuse_depth(path)
        content: dict[str, Wire] = {}
        for field in self.fields:
            if field.stored and not field.extras:
                content[field.attribute] = field.shape.encode(self._get(value, field, path), (*path, field.name))
        self._add_extras(value, content, path, frozenset())
        return {"M": content}

    def encode_item(self, instance: Any, path: Path = (), ignore: frozenset[str] = frozenset()) -> dict[str, Wire]:
        """Give the attributes of an item by their stored names, absent ones left out.

        Extras that name a field's attribute or one of `ignore` (bookkeeping attributes) are an EncodeError.
        """
        if not self.accepts(instance):
            raise self.unexpected(instance, path)
        item: dict[str, Wire] = {}
        for field in self.fields:
            if field.stored and not field.extras:
                wire = field.shape.encode_attribute(self._get(instance, field, path), (*path, field.name))
                if wire is not None:
                    item[field.attribute] = wire
        self._add_extras(instance, item, path, ignore)
        return item

    def _get(self, instance: object, field: FieldShape, path: Path) -> Any:
        try:
            return getattr(instance, field.name)
        except AttributeError as error:
            raise refusal((*path, field.name), f"the {self.kind} has no value there; set it first") from error

    def _add_extras(self, instance: object, content: dict[str, Wire], path: Path, ignore: frozenset[str]) -> None:
        if self.extras is None:
            return
        inside = (*path, self.extras.name)
        extras: dict[str, Wire] = self.extras.shape.encode(self._get(instance, self.extras, path), inside)["M"]
        for name, wire in extras.items():
            if name in self._known or name in ignore:
                problem = "an extra with the name of an attribute that is stored anyway; leave it out"
                raise refusal((*inside, name), problem)
            content[name] = wire

    # ------------------------------------------------------------------------------------------------ decoding

    def decode(self, wire: Wire, path: Path = ()) -> Any:
        return self._read(self.take(wire, path)[1], {}, frozenset(), path)

    def decode_item(
        self,
        item: Mapping[str, Wire],
        known: Mapping[str, Any] | None = None,
        ignore: frozenset[str] = frozenset(),
    ) -> Any:
        """Build the instance that an item holds; raises DecodeFailure with the path.

        `known` gives fields that were recovered elsewhere, by field name; `ignore` names bookkeeping attributes, which
        are no extras. A missing attribute is the field's default, None of an Optional, or the empty set.
        """
        return self._read(item, known or {}, ignore, ())

    def _read(self, item: Mapping[str, Wire], known: Mapping[str, Any], ignore: frozenset[str], path: Path) -> Any:
        values: dict[str, Any] = {}
        for field in self.fields:
            if field.name in known:
                values[field.name] = known[field.name]
            elif field.extras:
                values[field.name] = self._read_extras(item, ignore, field, path)
            else:
                self._read_field(item, field, values, path)
        return self.build(values, path)

    def _read_field(self, item: Mapping[str, Wire], field: FieldShape, values: dict[str, Any], path: Path) -> None:
        """Put the field's value into `values`, unless the class itself makes it: its default."""
        inside = (*path, field.name)
        if field.stored:
            for name in field.read_from:
                if name in item:
                    values[field.name] = field.shape.decode(item[name], inside)
                    return
        if field.shape.empty_when_absent:
            values[field.name] = field.shape.decode_attribute(None, inside)
            return
        if field.field.has_default or self.computes(field):
            return
        try:
            values[field.name] = field.shape.decode_attribute(None, inside)
        except DecodeFailure as failure:
            if failure.path != inside:
                raise
            problem = f"{with_article(field.shape.kind)} expected, the attribute {field.attribute!r} is missing"
            raise DecodeFailure(inside, problem) from None

    def _read_extras(self, item: Mapping[str, Wire], ignore: frozenset[str], field: FieldShape, path: Path) -> Any:
        unknown = {name: wire for name, wire in item.items() if name not in self._known and name not in ignore}
        return field.shape.decode({"M": unknown}, (*path, field.name))

    def build(self, values: Mapping[str, Any], path: Path = ()) -> Any:
        """Build the instance that has these values, by field name; the class makes those that are missing."""
        if self.builder is not None:
            return self._build_unvalidated(self.builder, values, path)
        if not self.calls_init:
            return self._restore(values)
        given = [field for field in self.fields if field.field.init and field.name in values]
        arguments = {field.field.init_name: values[field.name] for field in given}
        try:
            instance = self.cls(**arguments)
        except Exception as error:
            raise self._refused(error, path) from error
        for field in self.set_afterwards:
            if field.name in values:
                object.__setattr__(instance, field.name, values[field.name])
        return instance

    def _build_unvalidated(self, builder: Builder, values: Mapping[str, Any], path: Path) -> Any:
        try:
            return builder.build(self.cls, [field.field for field in self.fields], values)
        except Exception as error:
            raise self._refused(error, path) from error

    def _refused(self, error: Exception, path: Path) -> DecodeFailure:
        return DecodeFailure(path, f"{self.kind}() refused the stored values with {type(error).__name__}")

    def _restore(self, values: Mapping[str, Any]) -> Any:
        instance = object.__new__(self.cls)
        for field in self.fields:
            value = values[field.name] if field.name in values else field.field.make_default(instance)
            object.__setattr__(instance, field.name, value)
        return instance

    # ------------------------------------------------------------------------------------------------ normalizing

    def normalize(self, value: Any) -> Any:
        """Give the instance whose fields are all in their stored form; the same one if they are already."""
        if not self.accepts(value):
            return value
        given = {field.name: getattr(value, field.name) for field in self.fields}
        values = {field.name: field.shape.normalize(given[field.name]) for field in self.fields}
        if values == given:
            return value
        return self.build(values)
