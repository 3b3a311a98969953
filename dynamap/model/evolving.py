"""evolve: a changed copy of an instance, typed for every checker that can."""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, overload

import attrs
from typing_extensions import ParamSpec

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
        def evolve(instance: Any, /, *args: Any, **changes: Any) -> Any: ...

    else:

        class _Attrs(Protocol): ...

        # mypy checks the changes, pyright does not before 3.13
        from dataclasses import replace as evolve
else:

    def evolve(instance, /, **changes):
        """A copy with these fields changed; for attrs classes and dataclasses, frozen or not."""
        cls = type(instance)
        if "__attrs_attrs__" in dir(cls):
            return attrs.evolve(instance, **changes)
        if dataclasses.is_dataclass(cls):
            return dataclasses.replace(instance, **changes)
        msg = f"evolve() takes an instance of an attrs class or dataclass; got {cls.__name__}"
        raise TypeError(msg)
