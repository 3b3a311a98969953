"""From a shape to the one inside its wrappers."""

from __future__ import annotations

from dynamap.codec.shapes import Shape
from dynamap.codec.wrappers import Normalized, OptionalShape, Reference

__all__ = ["unwrapped"]


def unwrapped(shape: Shape) -> Shape:
    """The shape without Optional, Normalize and references to itself."""
    while True:
        if isinstance(shape, (OptionalShape, Normalized)):
            shape = shape.inner
        elif isinstance(shape, Reference):
            shape = shape.target
        else:
            return shape
