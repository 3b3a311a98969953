"""The names that annotations of a class inside of a function may use: those of the function.

Annotations are resolved when a Table is made. Of a class at the top of a module, the module knows all names then. A
function's names are gone with its call, so what the annotations mention is kept when a class is decorated; whatever the
function has defined later is found in its frame if it still runs, as it does when it makes the Table itself.
"""

from __future__ import annotations

import inspect
import re
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any
from weakref import WeakKeyDictionary

__all__ = ["names_around", "own_annotations", "remember_names"]

_LOCAL = "<locals>"
_WORD = re.compile(r"[^\W\d]\w*")
_FROM_TYPING = ("typing", "typing_extensions", "types")

# Held weakly by class, and only what its annotations mention: a class keeps no local values alive.
_remembered: WeakKeyDictionary[type, dict[str, Any]] = WeakKeyDictionary()


def own_annotations(cls: type) -> Mapping[str, Any]:
    """Give what this very class annotates, as it stands there."""
    if sys.version_info >= (3, 14):
        import annotationlib  # noqa: PLC0415  (only there since 3.14)

        found: Mapping[str, Any] = annotationlib.get_annotations(cls, format=annotationlib.Format.FORWARDREF)
        return found
    return inspect.get_annotations(cls)


def remember_names(cls: type) -> None:
    """Keep the types that the class's annotations mention and that are known where it is being defined.

    To be called while the function that defines the class runs, else it does nothing; so for classes of modules.
    """
    frame = next(_frames(cls), None)
    if frame is None:
        return
    known = frame.f_locals
    waiting = [cls]
    while waiting:
        here = waiting.pop()
        names = {
            word: known[word]
            for base in here.__mro__
            if _function_of(base) == _function_of(cls)
            for word in _mentioned(base)
            if word in known and known[word] is not here and _is_type(known[word])
        }
        if names:
            _remembered[here] = names
        # a class that it mentions need not be decorated itself
        waiting += [each for each in names.values() if isinstance(each, type) and each not in _remembered]


def names_around(cls: type) -> dict[str, Any]:
    """Give the names of the function that defines the class, remembered ones and those of its running call."""
    names: dict[str, Any] = dict(_remembered.get(cls, {}))
    for frame in _frames(cls):
        # of several calls, the one that made this class
        if any(value is cls for value in frame.f_locals.values()):
            names |= {name: value for name, value in frame.f_locals.items() if _is_type(value)}
            break
    return names


def _function_of(cls: type) -> tuple[str, str]:
    """The module and the innermost function that defines the class; no function of a class of a module."""
    return cls.__module__, cls.__qualname__.rpartition(f".{_LOCAL}.")[0].rpartition(".")[2]


def _frames(cls: type) -> Iterator[types.FrameType]:
    """The running calls of the function that defines the class, the innermost first."""
    module, function = _function_of(cls)
    frame = inspect.currentframe() if function else None
    while frame is not None:
        if frame.f_code.co_name == function and frame.f_globals.get("__name__") == module:
            yield frame
        frame = frame.f_back


def _mentioned(cls: type) -> Iterator[str]:
    for annotation in own_annotations(cls).values():
        # an annotation that is no text may hold some, as list["Line"]
        yield from _WORD.findall(annotation if isinstance(annotation, str) else repr(annotation))


def _is_type(value: object) -> bool:
    return isinstance(value, type | types.ModuleType) or type(value).__module__ in _FROM_TYPING
