"""Whether the values of one declared type are values of another."""

from __future__ import annotations

from datetime import date, datetime
from types import NoneType
from typing import Annotated, Any, Literal, NewType, cast, get_args, get_origin

from dynamap.codec.hints import ALIASES, UNIONS

__all__ = ["fits"]

# values of the first are instances of the second, but not what is meant by it
_APART = ((bool, int), (datetime, date))


def fits(given: Any, wanted: Any) -> bool:
    """Whether every value of the type *given* is one of the type *wanted*; what `Annotated` says counts for nothing.

    >>> fits(int, int | None), fits(int | None, int), fits(list[bool], list[int])
    (True, False, False)
    """
    given, wanted = _bare(given), _bare(wanted)
    if wanted is Any or wanted is object or given == wanted:
        return True
    if get_origin(given) in UNIONS:
        return all(fits(each, wanted) for each in get_args(given))
    if get_origin(wanted) in UNIONS:
        return any(fits(given, each) for each in get_args(wanted)) or _literals_fit(given, wanted)
    if get_origin(given) is Literal:
        return _literals_fit(given, wanted)
    if isinstance(given, NewType):
        return fits(given.__supertype__, wanted)
    return _classes_fit(given, wanted)


def _bare(hint: Any) -> Any:
    while True:
        if get_origin(hint) is Annotated:
            hint = hint.__origin__
        elif isinstance(hint, ALIASES):
            hint = hint.__value__
        else:
            return NoneType if hint is None else hint


def _literals_fit(given: Any, wanted: Any) -> bool:
    """Whether each value of a Literal is one of the type."""
    if get_origin(given) is not Literal:
        return False
    if get_origin(wanted) is Literal:
        choices: list[tuple[Any, Any]] = [(type(value), value) for value in get_args(wanted)]
        return all((type(value), value) in choices for value in get_args(given))
    if get_origin(wanted) in UNIONS:
        return all(any(_literals_fit(Literal[value], each) for each in get_args(wanted)) for value in get_args(given))
    return all(fits(type(value), wanted) for value in get_args(given))


def _classes_fit(given: Any, wanted: Any) -> bool:
    one, other = get_origin(given) or given, get_origin(wanted) or wanted
    if not all(isinstance(each, type) for each in (one, other)):
        return False
    if any(issubclass(one, narrow) and not issubclass(other, narrow) and other is wide for narrow, wide in _APART):
        return False
    try:
        if not issubclass(one, other):
            return False
    except TypeError:
        # a protocol that cannot be asked
        return False
    return _arguments_fit(one, get_args(given), other, get_args(wanted))


def _arguments_fit(one: type, given: tuple[Any, ...], other: type, wanted: tuple[Any, ...]) -> bool:
    if not wanted:
        return True
    if one is tuple and given and given[-1] is ...:
        # of any length: only what is of any length too takes it
        open_ended = other is not tuple or wanted[-1] is ...
        return open_ended and fits(given[0], wanted[0])
    if one is tuple and (other is not tuple or wanted[-1] is ...):
        return all(fits(each, wanted[0]) for each in given)
    pairs = zip(given, wanted, strict=False)
    return len(given) == len(wanted) and all(fits(each, its) for each, its in cast("Any", pairs))
