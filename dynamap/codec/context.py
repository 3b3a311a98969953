"""What the shapes of one table share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dynamap.codec.shapes import Shape
from dynamap.codec.wrappers import Reference

__all__ = ["Context"]


def _same(name: str) -> str:
    return name


class Context:
    """What the shapes of one table share.

    `converter`, of cattrs, takes leaf types that dynamap does not know, `names` makes stored names of field names,
    `localns` helps to resolve annotations of classes that were made inside of functions.
    """

    def __init__(
        self,
        converter: Any = None,
        names: Callable[[str], str] = _same,
        localns: Mapping[str, Any] | None = None,
    ) -> None:
        self.converter = converter
        self.names = names
        self.localns = localns
        self._shapes: dict[Any, Shape] = {}
        self._open: dict[Any, None] = {}

    @property
    def innermost(self) -> Any:
        """The class whose shape is being made: what Self stands for in its annotations."""
        return next(reversed(self._open))

    def once(self, key: Any, name: str, build: Callable[[], Shape]) -> Shape:
        """Give the shape for a class or alias, built once; a Reference to it while it is being built."""
        if key in self._shapes:
            return self._shapes[key]
        if key in self._open:
            return Reference(name, key, self._shapes)
        self._open[key] = None
        try:
            shape = self._shapes[key] = build()
        finally:
            del self._open[key]
        return shape
