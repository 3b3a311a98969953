"""evolve: a changed copy of an instance, typed for every checker that can."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, overload

import attrs
from typing_extensions import ParamSpec

from dynamap.codec import init_names, is_pydantic, is_pydantic_model

__all__ = ["evolve"]

M_co = TypeVar("M_co", covariant=True)
A = TypeVar("A", bound="_Attrs")
P = ParamSpec("P")


if TYPE_CHECKING:
    if sys.version_info >= (3, 13):

        class _Replaceable(Protocol[P, M_co]):
            def __replace__(self, /, *args: P.args, **changes: P.kwargs) -> M_co: ...

        class _Attrs(Protocol):
            # attrs.AttrsInstance is an empty protocol to pyright
            __attrs_attrs__: ClassVar[Any]

        @overload
        def evolve(instance: _Replaceable[P, M_co], /, *args: P.args, **changes: P.kwargs) -> M_co: ...
        @overload
        def evolve(instance: A, /, **changes: Any) -> A: ...  # mypy gives attrs classes no __replace__
        def evolve(instance: Any, /, *args: Any, **changes: Any) -> Any: ...  # noqa: D103 - for checkers only

    else:

        class _Attrs(Protocol): ...

        # mypy checks the changes, pyright does not before 3.13
        from dataclasses import replace as evolve
else:

    def evolve(instance: Any, /, **changes: Any) -> Any:
        """A copy with these fields changed; for attrs classes, dataclasses and pydantic models, frozen or not.

        The class makes the copy from all its fields, so that what it does when an instance is made is done again:
        converters, validators and hooks run. A pydantic class takes the fields by their own names, whatever their
        aliases; it raises its ValidationError. TypeError for what has no such field.
        """
        cls = type(instance)
        if is_pydantic(cls):
            return _made_anew(instance, changes)
        if "__attrs_attrs__" in dir(cls):
            return attrs.evolve(instance, **changes)
        if dataclasses.is_dataclass(cls):
            return dataclasses.replace(instance, **changes)
        msg = f"evolve() takes an instance of an attrs class, a dataclass or a pydantic model; got {cls.__name__}"
        raise TypeError(msg)

    def _made_anew(instance: Any, changes: Mapping[str, Any]) -> Any:
        cls = type(instance)
        names = init_names(cls)
        extra = getattr(instance, "model_extra", None)
        unknown = [name for name in changes if name not in names]
        if unknown and extra is None:
            msg = f"{cls.__name__} has no field {unknown[0]!r} that evolve() could change"
            raise TypeError(msg)
        values = {name: getattr(instance, name) for name in names} | (extra or {}) | changes
        unreachable = [name for name in values if not names.get(name, name)]
        if unreachable:
            msg = (
                f"evolve() cannot give {cls.__name__} its {unreachable[0]}, which it takes only from a path into other "
                f"data: set validate_by_name=True in its configuration"
            )
            raise TypeError(msg)
        made = cls(**{names.get(name, name): value for name, value in values.items()})
        if is_pydantic_model(cls):
            # what nobody has set stays so
            made.model_fields_set.difference_update(names.keys() - instance.model_fields_set - changes.keys())
        return made
