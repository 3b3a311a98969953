"""The fields that a class declares, whatever made the class: one reader for each kind of class.

Annotations are resolved when they are asked for, not when the class is made, so that classes may refer to later ones.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
import typing
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Final, TypeVar, get_args, get_origin

import attrs

from dynamap.errors import ModelError

__all__ = ["ClassField", "class_fields", "field_names", "has_fields"]


@attrs.frozen
class ClassField:
    """One field of a class.

    `hint` is its resolved type as declared, `markers` what `Annotated` says at its outside. `init_name` is the
    parameter of `__init__` if `init` is true.
    """

    name: str
    hint: Any
    markers: tuple[Any, ...]
    init: bool
    init_name: str
    kw_only: bool
    has_default: bool
    default: Any = None
    factory: Callable[..., Any] | None = None
    factory_takes_self: bool = False

    def make_default(self, instance: object = None) -> Any:
        """Give the default; a factory is called. `instance` is for attrs factories that take the instance.

        Raises ModelError if there is none.
        """
        if not self.has_default:
            msg = f"the field {self.name} has no default"
            raise ModelError(msg)
        if self.factory is None:
            return self.default
        return self.factory(instance) if self.factory_takes_self else self.factory()

    @property
    def defaults_to_none(self) -> bool:
        """Whether None is what stands for a missing value anyway: the default is None, or there is none."""
        return not self.has_default or (self.factory is None and self.default is None)


@attrs.frozen
class _Declared:
    """What a reader finds out without resolving anything; `type` is for fields that have no annotation."""

    name: str
    init: bool = True
    init_name: str = ""
    kw_only: bool = False
    has_default: bool = False
    default: Any = None
    factory: Callable[..., Any] | None = None
    factory_takes_self: bool = False
    type: Any = None


class _Reader(ABC):
    """Reads the fields of one kind of class."""

    @abstractmethod
    def claims(self, cls: type) -> bool:
        """Tell whether this very class, not a base of it, was made the reader's way."""

    @abstractmethod
    def read(self, cls: type) -> Iterator[_Declared]:
        """Give the fields in order, inherited ones included; InitVar and ClassVar are none."""


class _AttrsReader(_Reader):
    def claims(self, cls: type) -> bool:
        return "__attrs_attrs__" in cls.__dict__

    def read(self, cls: type) -> Iterator[_Declared]:
        fields: tuple[attrs.Attribute[Any], ...] = attrs.fields(cls)
        for field in fields:
            default: Any = field.default
            factory = default if isinstance(default, attrs.Factory) else None  # type: ignore[arg-type]
            yield _Declared(
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


class _DataclassReader(_Reader):
    def claims(self, cls: type) -> bool:
        return "__dataclass_fields__" in cls.__dict__

    def read(self, cls: type) -> Iterator[_Declared]:
        anything: Any = cls
        for field in dataclasses.fields(anything):
            factory = None if field.default_factory is dataclasses.MISSING else field.default_factory
            plain = field.default is not dataclasses.MISSING
            yield _Declared(
                name=field.name,
                init=field.init,
                init_name=field.name,
                kw_only=field.kw_only is True,
                has_default=plain or factory is not None,
                default=field.default if plain else None,
                factory=factory,
                type=field.type,
            )


class _NamedTupleReader(_Reader):
    def claims(self, cls: type) -> bool:
        return issubclass(cls, tuple) and "_fields" in cls.__dict__ and "_field_defaults" in cls.__dict__

    def read(self, cls: type) -> Iterator[_Declared]:
        anything: Any = cls
        for name in anything._fields:
            defaults = anything._field_defaults
            yield _Declared(name=name, init_name=name, has_default=name in defaults, default=defaults.get(name))


_READERS: tuple[_Reader, ...] = (_AttrsReader(), _DataclassReader(), _NamedTupleReader())


def _reader(cls: type) -> _Reader | None:
    for base in cls.__mro__:
        for reader in _READERS:
            if reader.claims(base):
                return reader
    return None


def has_fields(cls: object) -> bool:
    """Tell whether it is a class (or a generic alias of one) whose fields can be read: attrs, dataclass, NamedTuple."""
    origin = get_origin(cls) or cls
    return isinstance(origin, type) and _reader(origin) is not None


def _declared(cls: type) -> tuple[_Declared, ...]:
    reader = _reader(cls)
    if reader is None:
        msg = f"{cls.__qualname__} is neither an attrs class nor a dataclass; decorate it as one"
        raise ModelError(msg)
    return tuple(reader.read(cls))


def field_names(cls: Any) -> tuple[str, ...]:
    """Give the names of a class's fields without resolving their annotations; ModelError if it has no fields."""
    return tuple(field.name for field in _declared(get_origin(cls) or cls))


def class_fields(cls: Any, localns: Mapping[str, Any] | None = None) -> tuple[ClassField, ...]:
    """Give the fields of an attrs class, a dataclass or a NamedTuple; a generic alias such as `Box[int]` fills them in.

    `localns` gives names that are known neither in the class's module nor in the class. Raises ModelError for a class
    without fields, and for an annotation that cannot be resolved, naming class, field and name.
    """
    origin: type = get_origin(cls) or cls
    arguments = _type_arguments(cls)
    return tuple(_complete(origin, field, arguments, localns) for field in _declared(origin))


def _complete(
    cls: type, declared: _Declared, arguments: Mapping[type, Mapping[Any, Any]], localns: Mapping[str, Any] | None
) -> ClassField:
    owner, annotation = _annotation(cls, declared)
    hint = _substituted(_resolved(owner, declared.name, annotation, localns), arguments.get(owner, {}))
    while get_origin(hint) is Final:
        (hint,) = get_args(hint)
    markers: tuple[Any, ...] = hint.__metadata__ if get_origin(hint) is Annotated else ()
    return ClassField(
        name=declared.name,
        hint=hint,
        markers=markers,
        init=declared.init,
        init_name=declared.init_name,
        kw_only=declared.kw_only,
        has_default=declared.has_default,
        default=declared.default,
        factory=declared.factory,
        factory_takes_self=declared.factory_takes_self,
    )


def _own_annotations(cls: type) -> Mapping[str, Any]:
    if sys.version_info >= (3, 14):
        import annotationlib  # noqa: PLC0415  (only there since 3.14)

        found: Mapping[str, Any] = annotationlib.get_annotations(cls, format=annotationlib.Format.FORWARDREF)
        return found
    return inspect.get_annotations(cls)


def _annotation(cls: type, declared: _Declared) -> tuple[type, Any]:
    """Find the class that annotates the field last, and its annotation."""
    for base in cls.__mro__:
        own = _own_annotations(base)
        if declared.name in own:
            return base, own[declared.name]
    if declared.type is None:
        msg = f"{cls.__qualname__}.{declared.name} has no type; annotate it"
        raise ModelError(msg)
    return cls, declared.type


def _names_inside(cls: type) -> dict[str, Any]:
    """Give the classes defined inside of a class; its other members could hide types, as `date: date` does."""
    return {name: member for name, member in vars(cls).items() if isinstance(member, type)}


def _resolved(owner: type, name: str, annotation: Any, localns: Mapping[str, Any] | None) -> Any:
    module = sys.modules.get(owner.__module__)
    parameters = {parameter.__name__: parameter for parameter in getattr(owner, "__type_params__", ())}
    known = {**_names_inside(owner), owner.__name__: owner, **parameters, **(localns or {})}
    # one field at a time: an unresolvable ClassVar or InitVar beside it is no concern of this field
    holder = type("Holder", (), {"__annotations__": {name: annotation}})
    try:
        return typing.get_type_hints(holder, vars(module) if module else {}, known, include_extras=True)[name]
    except NameError as error:
        missing = error.name or str(error)
        msg = (
            f"{owner.__qualname__}.{name}: the annotation {_text(annotation)} names {missing!r}, which cannot be "
            f"resolved; define or import it at the top of {owner.__module__}, outside of TYPE_CHECKING"
        )
        raise ModelError(msg) from error
    except Exception as error:
        msg = f"{owner.__qualname__}.{name}: the annotation {_text(annotation)} cannot be resolved: {error}; correct it"
        raise ModelError(msg) from error


def _text(annotation: object) -> str:
    return repr(annotation) if isinstance(annotation, str) else str(annotation)


def _substituted(hint: Any, arguments: Mapping[Any, Any]) -> Any:
    """Put the arguments of a generic class in the place of its type variables."""
    if not arguments:
        return hint
    if isinstance(hint, TypeVar):
        return arguments.get(hint, hint)
    parameters: tuple[Any, ...] = getattr(hint, "__parameters__", ())
    if not parameters or (isinstance(hint, type) and get_origin(hint) is None):
        return hint
    generic: Any = hint
    return generic[tuple(arguments.get(parameter, parameter) for parameter in parameters)]


def _type_arguments(cls: Any) -> dict[type, dict[Any, Any]]:
    """Give, for each generic class that `cls` is or inherits from, what its type variables stand for."""
    found: dict[type, dict[Any, Any]] = {}

    def visit(alias: Any, outer: Mapping[Any, Any]) -> None:
        origin = get_origin(alias) or alias
        if not isinstance(origin, type):
            return
        parameters: tuple[Any, ...] = getattr(origin, "__parameters__", ())
        own = dict(zip(parameters, (_substituted(each, outer) for each in get_args(alias)), strict=False))
        found.setdefault(origin, own)
        for base in origin.__dict__.get("__orig_bases__", origin.__bases__):
            if base is not origin:
                visit(base, own)

    visit(cls, {})
    return found
