"""Pydantic models and dataclasses: their fields, and instances made of stored values; pydantic is never imported here.

What makes a class one of pydantic's is on the class itself, so that code without pydantic pays nothing for it.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Annotated, Any, Protocol

import msgspec

from dynamap.codec.annotations import Extras
from dynamap.codec.readers import Declared, Reader
from dynamap.errors import ModelError

__all__ = [
    "Builder",
    "PydanticDataclassReader",
    "PydanticModelReader",
    "annotated_type",
    "builder_for",
    "generic_model",
    "is_pydantic",
    "is_pydantic_dataclass",
    "is_pydantic_model",
]

# To checkers these are Annotated; when running they are classes that no value is an instance of.
_ANNOTATIONS: dict[str, type] = {
    "AwareDatetime": datetime,
    "PastDatetime": datetime,
    "FutureDatetime": datetime,
    "PastDate": date,
    "FutureDate": date,
    "EmailStr": str,
}
_MODEL_EXTRA = "model_extra"
_EXTRA = "__pydantic_extra__"
_put = object.__setattr__


def is_pydantic_model(cls: type) -> bool:
    """Tell whether it is a subclass of pydantic's BaseModel."""
    return "__pydantic_generic_metadata__" in cls.__dict__


def is_pydantic_dataclass(cls: type) -> bool:
    """Tell whether this very class was made by pydantic's `@dataclass`."""
    return "__dataclass_fields__" in cls.__dict__ and "__pydantic_validator__" in cls.__dict__


def annotated_type(hint: Any) -> Any:
    """Give the type of the values for one of pydantic's that only says more about them, as `AwareDatetime`."""
    if isinstance(hint, type) and hint.__module__ in ("pydantic.types", "pydantic.networks"):
        return _ANNOTATIONS.get(hint.__name__, hint)
    return hint


def is_pydantic(cls: type) -> bool:
    """Tell whether pydantic has made its fields: of a model, of a dataclass or of a subclass that adds none."""
    if is_pydantic_model(cls):
        return True
    made = next(
        (base for base in cls.__mro__ if {"__dataclass_fields__", "__attrs_attrs__"} & base.__dict__.keys()), cls
    )
    return is_pydantic_dataclass(made)


def generic_model(cls: object) -> tuple[type, tuple[Any, ...]] | None:
    """Take `Box[int]` apart, which for a pydantic model is a class of its own; None for any other class."""
    metadata = cls.__dict__.get("__pydantic_generic_metadata__") if isinstance(cls, type) else None
    return (metadata["origin"], metadata["args"]) if metadata and metadata["origin"] is not None else None


# ---------------------------------------------------------------------------------------------------- reading


class PydanticModelReader(Reader):
    """Subclasses of BaseModel, generic ones too; `extra="allow"` makes `model_extra` keep unknown attributes."""

    def claims(self, cls: type) -> bool:
        return is_pydantic_model(cls)

    def read(self, cls: type) -> Iterator[Declared]:
        anything: Any = cls
        config: Mapping[str, Any] = anything.model_config
        for name, info in _infos(cls).items():
            yield _declared(cls, name, info, config)
        if config.get("extra") == "allow":
            yield Declared(
                _MODEL_EXTRA,
                init=False,
                has_default=True,
                factory=dict,
                annotated_as=_EXTRA,
                type=dict[str, Any],
                markers=(Extras(),),
            )


class PydanticDataclassReader(Reader):
    """Classes made by pydantic's `@dataclass`."""

    def claims(self, cls: type) -> bool:
        return is_pydantic_dataclass(cls)

    def read(self, cls: type) -> Iterator[Declared]:
        anything: Any = cls
        config: Mapping[str, Any] = anything.__pydantic_config__ if hasattr(cls, "__pydantic_config__") else {}
        if config.get("extra") == "allow":
            msg = (
                f"{cls.__qualname__} is a pydantic dataclass with extra='allow', whose extra values would not be "
                f"stored: give it a field `rest: Annotated[dict[str, Any], Extras()]` instead, or make it a BaseModel"
            )
            raise ModelError(msg)
        infos = _infos(cls)
        for field in dataclasses.fields(anything):
            info = infos[field.name]
            # before 2.11, only pydantic knew what its Field(init=False) says
            init = field.init and getattr(info, "init", None) is not False
            declared = _declared(cls, field.name, info, config)
            yield msgspec.structs.replace(declared, init=init, kw_only=field.kw_only is True)


def _infos(cls: type) -> Mapping[str, Any]:
    anything: Any = cls
    infos: Mapping[str, Any] = anything.__pydantic_fields__
    return infos


def _declared(cls: type, name: str, info: Any, config: Mapping[str, Any]) -> Declared:
    default, factory, takes_self = None, None, False
    if info.default_factory is not None:
        factory, takes_self = info.default_factory, bool(info.default_factory_takes_validated_data)
        if takes_self:
            factory = functools.partial(_from_earlier_fields, factory)
    elif not info.is_required():
        default = info.default
        if copy.deepcopy(default) is not default:
            # pydantic gives each instance a copy of its own
            default, factory = None, functools.partial(copy.deepcopy, default)
    return Declared(
        name=name,
        init_name=_init_name(name, info, config),
        kw_only=True,
        has_default=not info.is_required(),
        default=default,
        factory=factory,
        factory_takes_self=takes_self,
        resolved=_resolved_by_pydantic(cls, info),
    )


def _from_earlier_fields(factory: Callable[[dict[str, Any]], Any], instance: object) -> Any:
    return factory(dict(vars(instance)))


def _init_name(name: str, info: Any, config: Mapping[str, Any]) -> str:
    """Give the keyword by which the class takes the field; "" where there is none, only a path into other data."""
    by_name = config.get("populate_by_name") or config.get("validate_by_name")
    alias = info.validation_alias
    if alias is None or (by_name and config.get("validate_by_alias") is False):
        return name
    for choice in (alias, *getattr(alias, "choices", ())):
        if isinstance(choice, str):
            return choice
    return name if by_name else ""


def _resolved_by_pydantic(cls: type, info: Any) -> Any:
    """What pydantic made of the annotation in the scope where the class was defined; None while it could not."""
    if not getattr(cls, "__pydantic_complete__", False):
        return None
    parts = (info.annotation, *info.metadata)
    return Annotated[parts] if info.metadata else info.annotation


# ---------------------------------------------------------------------------------------------------- building


class _Field(Protocol):
    """What building needs to know of a field."""

    @property
    def name(self) -> str: ...
    @property
    def init(self) -> bool: ...
    @property
    def has_default(self) -> bool: ...
    def make_default(self, instance: object = None) -> Any: ...


class Builder(ABC):
    """Makes instances of stored values without validating them, as they were valid when they were made.

    Values come back exactly as they are stored: a validator that changes what it is given, as one that hashes, does not
    change it again. Hooks that run after validation run, so that private attributes and whatever else is computed is
    there; fields that a hook sets are what was stored all the same.
    """

    @abstractmethod
    def runs_hook(self, cls: type) -> bool:
        """Tell whether the class's own hook runs, which may give fields without a default a value."""

    @abstractmethod
    def build(self, cls: type, fields: Sequence[_Field], values: Mapping[str, Any]) -> Any:
        """Make the instance; a field without a value gets its default."""


class _ModelBuilder(Builder):
    def runs_hook(self, cls: type) -> bool:  # noqa: ARG002
        return False

    def build(self, cls: type, fields: Sequence[_Field], values: Mapping[str, Any]) -> Any:
        model: Any = cls
        instance = model.__new__(model)
        content: dict[str, Any] = {}
        _put(instance, "__dict__", content)
        for field in fields:
            if field.name != _MODEL_EXTRA:
                content[field.name] = values[field.name] if field.name in values else field.make_default(instance)
        allows_extra = model.model_config.get("extra") == "allow"
        _put(instance, "__pydantic_fields_set__", {name for name in content if name in values})
        if not getattr(model, "__pydantic_root_model__", False):
            _put(instance, _EXTRA, dict(values.get(_MODEL_EXTRA, {})) if allows_extra else None)
            _put(instance, "__pydantic_private__", None)
        if model.__pydantic_post_init__:
            instance.model_post_init(None)
            instance.__dict__.update((name, value) for name, value in values.items() if name != _MODEL_EXTRA)
        return instance


class _DataclassBuilder(Builder):
    def runs_hook(self, cls: type) -> bool:
        return hasattr(cls, "__post_init__") and _init_variables(cls) is not None

    def build(self, cls: type, fields: Sequence[_Field], values: Mapping[str, Any]) -> Any:
        anything: Any = cls
        instance: Any = object.__new__(anything)
        for field in fields:
            if field.name in values:
                _put(instance, field.name, values[field.name])
            elif field.has_default:
                _put(instance, field.name, field.make_default(instance))
        variables = _init_variables(cls)
        if hasattr(instance, "__post_init__") and variables is not None:
            instance.__post_init__(*variables)
            for name, value in values.items():
                _put(instance, name, value)
        return instance


def _init_variables(cls: type) -> list[Any] | None:
    """Give the defaults of the InitVars; None if one has none, so that `__post_init__` cannot be called."""
    anything: Any = cls
    every: Mapping[str, dataclasses.Field[Any]] = anything.__dataclass_fields__
    infos = _infos(cls)
    variables = [field for field in every.values() if _is_init_variable(field)]
    defaults: list[Any] = []
    for variable in variables:
        info = infos.get(variable.name)
        if info is None:
            if variable.default is dataclasses.MISSING:
                return None
            defaults.append(variable.default)
        elif info.is_required():
            return None
        else:
            defaults.append(info.get_default(call_default_factory=True))
    return defaults


def _is_init_variable(field: dataclasses.Field[Any]) -> bool:
    # dataclasses.fields() leaves them out and nothing public lists them
    return getattr(getattr(field, "_field_type", None), "name", None) == "_FIELD_INITVAR"


def builder_for(cls: type) -> Builder | None:
    """Give what makes instances of a pydantic class; None for other classes, whose own `__init__` does."""
    if not is_pydantic(cls):
        return None
    return _ModelBuilder() if is_pydantic_model(cls) else _DataclassBuilder()
