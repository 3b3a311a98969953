"""@entity and @mapped: what a class says about itself, kept beside it until a Table asks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, get_origin
from weakref import WeakKeyDictionary

import attrs
import msgspec
from msgspec.structs import replace
from typing_extensions import dataclass_transform

from dynamap.codec import declares_fields, field_names, generic_model, has_fields, remember_names
from dynamap.errors import ModelError
from dynamap.model.indexes import Index
from dynamap.model.templates import template_fields

__all__ = ["Declaration", "declaration_of", "entity", "mapped"]

C = TypeVar("C", bound=type)
M = TypeVar("M")


class Declaration(msgspec.Struct, frozen=True):
    """What a class decorator was told."""

    name: str | None
    pk: str | None = None
    sk: str | None = None
    version: str | None = None
    aliases: tuple[str, ...] = ()
    abstract: bool = False
    ttl: str | None = None
    indexes: tuple[Index, ...] = ()


_adopted: WeakKeyDictionary[type, Declaration] = WeakKeyDictionary()


def declaration_of(cls: type) -> Declaration | None:
    """What was declared on exactly this class; an inherited declaration does not count.

    A generic class with its arguments, as `Box[int]`, is what Box was declared to be.
    """
    model = generic_model(cls)
    origin: type = (get_origin(cls) or cls) if model is None else model[0]
    declared: Declaration | None = origin.__dict__.get("__dynamap__")
    return declared if declared is not None else _adopted.get(origin)


def _with_inherited(cls: type, declared: Declaration) -> Declaration:
    """The declaration with what bases say of the fields that it inherits: which guards writes, and which expires."""
    for base in cls.__mro__[1:]:
        inherited = declaration_of(base)
        if inherited is not None:
            version = inherited.version if declared.version is None else declared.version
            ttl = inherited.ttl if declared.ttl is None else declared.ttl
            return replace(declared, version=version, ttl=ttl)
    return declared


def _keep_names(cls: type, fields: list[attrs.Attribute[Any]]) -> list[attrs.Attribute[Any]]:
    for field in fields:
        if isinstance(field.default, dataclasses.Field):
            msg = (
                f"{cls.__qualname__}.{field.name} has dataclasses.field(...) as its default, which attrs would take "
                f"for a value: write attrs.field(...), as @entity makes an attrs class"
            )
            raise ModelError(msg)
        default: Any = field.default
        kind = type(default).__name__
        if kind in ("list", "dict", "set"):
            msg = (
                f"{cls.__qualname__}.{field.name} has one {kind} as the default of all instances: "
                f"write attrs.field(factory={kind})"
            )
            raise ModelError(msg)
    # attrs strips underscores from __init__'s parameters, the checkers' dataclass_transform does not: keep the name
    return [
        field.evolve(alias=field.name) if getattr(field, "alias_is_default", not field.alias) else field
        for field in fields
    ]


def _check_called(name: object, decorator: str) -> None:
    """Without parentheses a decorator is given the class where its name should be."""
    if isinstance(name, type):
        written = f'{decorator}("{name.__name__.upper()}", pk="...")'
        msg = f"{decorator} takes arguments: write {written} above {name.__qualname__}"
        raise ModelError(msg)


@dataclass_transform(field_specifiers=(attrs.field,))
def entity(
    name: str | None = None,
    /,
    *,
    pk: str | None = None,
    sk: str | None = None,
    version: str | None = None,
    ttl: str | None = None,
    indexes: Sequence[Index] = (),
    aliases: Sequence[str] = (),
    abstract: bool = False,
    frozen: bool = False,
    kw_only: bool = False,
    eq: bool = True,
    order: bool = False,
    init: bool = True,
) -> Callable[[C], C]:
    """Make the class a slotted attrs class and an entity.

    *name* is the discriminator that is stored with every item, *aliases* are older ones that are still read. *pk* and
    *sk* are key templates; without one, the field that is stored in the table's key attribute is the key, as it is.
    *version* names the int field that guards writes, *ttl* the field that says when an item expires, *indexes* what the
    class has in the table's indexes. `abstract=True` makes a base class for other entities. A subclass inherits fields,
    *version* and *ttl*, and has a name and keys of its own. The rest is as attrs has it. Raises ModelError where the
    declaration cannot work.
    """
    _check_called(name, "@entity")
    declared = Declaration(name, pk, sk, version, _aliases_of(aliases), abstract, ttl, tuple(indexes))

    def decorate(cls: C) -> C:
        _refuse_model(cls)
        if declares_fields(cls):
            msg = (
                f"@entity makes {cls.__qualname__} an attrs class itself, but it already is an attrs class or a "
                f"dataclass; use @mapped(...) above @dataclass or @attrs.define"
            )
            raise ModelError(msg)
        for base in cls.__mro__[1:]:
            if declares_fields(base) and "__dynamap__" not in base.__dict__:
                msg = (
                    f"{cls.__qualname__} inherits fields from {base.__qualname__}, which @entity did not make: "
                    f"decorate {base.__qualname__} with @entity(abstract=True), or use @mapped on both"
                )
                raise ModelError(msg)
        made: Any = attrs.define(
            cls,
            slots=True,
            frozen=frozen,
            kw_only=kw_only,
            eq=eq,
            order=order,
            init=init,
            field_transformer=_keep_names,
        )
        complete = _with_inherited(made, declared)
        _check(made, complete, decorator="@entity")
        made.__dynamap__ = complete
        remember_names(made)
        result: C = made
        return result

    return decorate


def mapped(
    name: str | None = None,
    /,
    *,
    pk: str | None = None,
    sk: str | None = None,
    version: str | None = None,
    ttl: str | None = None,
    indexes: Sequence[Index] = (),
    aliases: Sequence[str] = (),
) -> Callable[[type[M]], type[M]]:
    """Adopt a dataclass, attrs class, pydantic model or pydantic dataclass as an entity; nothing is written onto it.

    The arguments are those of `entity`. Raises ModelError where the declaration cannot work.
    """
    _check_called(name, "@mapped")
    declared = Declaration(name, pk, sk, version, _aliases_of(aliases), ttl=ttl, indexes=tuple(indexes))

    def decorate(cls: type[M]) -> type[M]:
        if not has_fields(cls) or issubclass(cls, tuple):
            msg = (
                f"@mapped adopts a dataclass, an attrs class or what pydantic makes; {cls.__qualname__} is neither: "
                f"put @mapped above @dataclass, or use @entity"
            )
            raise ModelError(msg)
        complete = _with_inherited(cls, declared)
        _check(cls, complete, decorator="@mapped")
        _adopted[cls] = complete
        remember_names(cls)
        return cls

    return decorate


def _refuse_model(cls: type) -> None:
    if any("__pydantic_validator__" in base.__dict__ for base in cls.__mro__):
        msg = f"@entity makes {cls.__qualname__} an attrs class itself, but pydantic made it; use @mapped(...) above it"
        raise ModelError(msg)


def _aliases_of(aliases: Sequence[str]) -> tuple[str, ...]:
    if isinstance(aliases, str):
        # a text is a sequence of texts too: its letters
        msg = f"aliases={aliases!r} is one text: write aliases=({aliases!r},)"
        raise ModelError(msg)
    return tuple(aliases)


def _check(cls: type, declared: Declaration, *, decorator: str) -> None:
    """Everything that can be said before the annotations can be resolved."""
    if declared.abstract:
        if declared != Declaration(None, version=declared.version, aliases=declared.aliases, abstract=True):
            msg = (
                f"{cls.__qualname__} is abstract, so it has no items: "
                f"leave out its name, key templates, ttl and indexes"
            )
            raise ModelError(msg)
        return
    if not declared.name:
        msg = (
            f"{cls.__qualname__} needs a name, which is stored with every item as its discriminator: "
            f'write {decorator}("{cls.__name__.upper()}", ...)'
        )
        raise ModelError(msg)
    for each in (declared.name, *declared.aliases):
        if any("\ud800" <= character <= "\udfff" for character in each):
            msg = (
                f"{cls.__qualname__}: the name {each!r} has half of a surrogate pair, which no request can hold: "
                f"correct it"
            )
            raise ModelError(msg)
    names = field_names(cls)
    for part, template in _templates(declared):
        template_fields(template, owner=cls.__qualname__, part=part, names=names)
    if declared.ttl is not None and declared.ttl not in names:
        msg = (
            f"{cls.__qualname__}: ttl={declared.ttl!r} names no field; its fields are {', '.join(names)}: "
            f"add `{declared.ttl}: datetime | None = None`"
        )
        raise ModelError(msg)
    if declared.version is not None and declared.version not in names:
        msg = (
            f"{cls.__qualname__}: version={declared.version!r} names no field; its fields are {', '.join(names)}: "
            f"add `{declared.version}: int = 0`"
        )
        raise ModelError(msg)


def _templates(declared: Declaration) -> Iterator[tuple[str, str]]:
    """Every key template with what messages call it."""
    own = (("pk", declared.pk), ("sk", declared.sk))
    others = (
        (f"{index.name} {word}", given)
        for index in declared.indexes
        for word, given in (("pk", index.pk), ("sk", index.sk))
    )
    for part, given in (*own, *others):
        for template in (given,) if isinstance(given, str) else given or ():
            yield part, template
