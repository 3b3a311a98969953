"""The fields that a class declares, whatever made the class: one reader for each kind of class.

Annotations are resolved when they are asked for, not when the class is made, so that classes may refer to later ones.
"""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Final, TypeVar, get_args, get_origin

import msgspec

from dynamap.codec.pydantic_classes import PydanticDataclassReader, PydanticModelReader, generic_model
from dynamap.codec.readers import AttrsReader, DataclassReader, Declared, NamedTupleReader, Reader
from dynamap.codec.scopes import names_around, own_annotations
from dynamap.errors import ModelError

__all__ = ["ClassField", "class_fields", "declares_fields", "field_names", "has_fields", "init_names"]


class ClassField(msgspec.Struct, frozen=True):
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


# The order counts: a pydantic dataclass is a dataclass too.
_READERS: tuple[Reader, ...] = (
    AttrsReader(),
    PydanticModelReader(),
    PydanticDataclassReader(),
    DataclassReader(),
    NamedTupleReader(),
)


def _own_reader(cls: type) -> Reader | None:
    return next((reader for reader in _READERS if reader.claims(cls)), None)


def declares_fields(cls: type) -> bool:
    """Tell whether this very class, not only a base of it, was made by one of those whose fields can be read."""
    return _own_reader(cls) is not None


def has_fields(cls: object) -> bool:
    """Tell whether it is a class whose fields can be read, or a generic alias of one.

    Those are attrs classes, dataclasses, pydantic models and dataclasses, and NamedTuples.
    """
    origin = get_origin(cls) or cls
    return isinstance(origin, type) and any(declares_fields(base) for base in origin.__mro__)


def _declared(cls: type) -> tuple[Declared, ...]:
    for base in cls.__mro__:
        reader = _own_reader(base)
        if reader is not None:
            declared = tuple(reader.read(cls))
            _refuse_stray_annotations(cls, base, tuple(field.name for field in declared))
            return declared
    msg = f"{cls.__qualname__} is no attrs class, dataclass or pydantic model; make it one"
    raise ModelError(msg)


def _refuse_stray_annotations(cls: type, made: type, names: tuple[str, ...]) -> None:
    """Refuse what a subclass without decorator annotates: it looks like fields, and would never be stored."""
    for base in cls.__mro__[: cls.__mro__.index(made)]:
        for name, annotation in own_annotations(base).items():
            if name not in names and not _is_class_variable(annotation):
                msg = (
                    f"{base.__qualname__}.{name} is no field, because {base.__qualname__} only inherits from "
                    f"{made.__qualname__}, which is decorated; decorate {base.__qualname__} as well"
                )
                raise ModelError(msg)


def _is_class_variable(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return annotation.partition("[")[0].rpartition(".")[2].strip() == "ClassVar"
    return annotation is ClassVar or get_origin(annotation) is ClassVar


def field_names(cls: Any) -> tuple[str, ...]:
    """Give the names of a class's fields without resolving their annotations; ModelError if it has no fields."""
    return tuple(field.name for field in _declared(get_origin(cls) or cls))


def init_names(cls: type) -> dict[str, str]:
    """Give the keyword by which `__init__` takes each of its fields; "" for one that no keyword reaches."""
    return {field.name: field.init_name for field in _declared(cls) if field.init}


def class_fields(cls: Any, localns: Mapping[str, Any] | None = None) -> tuple[ClassField, ...]:
    """Give the fields of a class; a generic alias such as `Box[int]` fills them in.

    `localns` gives names that are known neither in the class's module nor in the class. Raises ModelError for a class
    without fields, and for an annotation that cannot be resolved, naming class, field and name.
    """
    origin: type = get_origin(cls) or cls
    arguments = _type_arguments(cls)
    return tuple(_complete(origin, field, arguments, localns) for field in _declared(origin))


def _complete(
    cls: type, declared: Declared, arguments: Mapping[type, Mapping[Any, Any]], localns: Mapping[str, Any] | None
) -> ClassField:
    hint = _hint(cls, declared, arguments, localns)
    while get_origin(hint) is Final:
        (hint,) = get_args(hint)
    hint = _annotated(hint, declared.markers)
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


def _annotated(hint: Any, markers: tuple[Any, ...]) -> Any:
    parts = (hint, *markers)
    return Annotated[parts] if markers else hint


def _hint(
    cls: type, declared: Declared, arguments: Mapping[type, Mapping[Any, Any]], localns: Mapping[str, Any] | None
) -> Any:
    owner, annotation = _annotation(cls, declared)
    try:
        return _substituted(_resolved(owner, declared.name, annotation, localns), arguments.get(owner, {}))
    except ModelError:
        if declared.resolved is None:
            raise
        return declared.resolved


def _annotation(cls: type, declared: Declared) -> tuple[type, Any]:
    """Find the class that annotates the field last, and its annotation."""
    name = declared.annotated_as or declared.name
    for base in cls.__mro__:
        own = own_annotations(base)
        # what pydantic's own base class says of its internals is not what the user says
        if name in own and not (declared.annotated_as and base.__module__.startswith("pydantic.")):
            return base, own[name]
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
    known = {**names_around(owner), **_names_inside(owner), owner.__name__: owner, **parameters, **(localns or {})}
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
        # a pydantic Box[int] is no alias, but a subclass of Box
        origin, given = generic_model(origin) or (origin, get_args(alias))
        parameters: tuple[Any, ...] = getattr(origin, "__parameters__", ())
        own = dict(zip(parameters, (_substituted(each, outer) for each in given), strict=False))
        found.setdefault(origin, own)
        for base in origin.__dict__.get("__orig_bases__", origin.__bases__):
            if base is not origin:
                visit(base, own)

    visit(cls, {})
    return found
