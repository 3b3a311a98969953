"""Whether one declared type takes every value of another, by hand and by hypothesis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Generic, Literal, NewType, Optional, Protocol, TypeVar, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import TypeAliasType

from dynamap.codec.fitting import fits

T = TypeVar("T")
UserId = NewType("UserId", str)
Name = TypeAliasType("Name", "str | None", type_params=())


class Box(Generic[T]): ...


class Animal: ...


class Dog(Animal): ...


class Level(IntEnum):
    LOW = 1


class Color(str, Enum):
    RED = "red"


class Quacks(Protocol):
    def quack(self) -> None: ...


FIT: list[tuple[Any, Any]] = [
    (int, int),
    (int, Any),
    (Any, Any),
    (int, object),
    (int, int | None),
    (None, int | None),
    (Optional[int], Union[None, int]),  # noqa: UP007, UP045 - the older spelling
    (int | str, str | bytes | int),
    (Annotated[int, "x"], int),
    (int, Annotated[int | None, "x"]),
    (Dog, Animal),
    (Level, int),
    (Color, str),
    (datetime, datetime | None),
    (UserId, UserId),
    (UserId, str),
    (TypeAliasType("Alias", int), int),
    (Literal["a"], Literal["a", "b"]),
    (Literal["a"], str),
    (Literal["a", 1], str | int),
    (Literal["a", None], str | None),
    (Literal["a", None], Literal["a"] | None),
    (list[int], list[int]),
    (list[int], list[int | None]),
    (list[int], list),
    (list[int], Sequence[int]),
    (dict[str, int], Mapping[str, Any]),
    (tuple[int, str], tuple[int, str]),
    (tuple[int, int], tuple[int, ...]),
    (tuple[int, ...], tuple[int | str, ...]),
    (tuple[int, ...], Sequence[int]),
    (tuple[int, str], Sequence[int | str]),
    (set[str], set[str]),
    (Box[int], Box[int]),
    (Box[int], Box),
]
APART: list[tuple[Any, Any]] = [
    (int | None, int),
    (int, str),
    (int, float),
    (int, Decimal),
    (Any, int),
    (object, int),
    (bool, int),
    (datetime, date),
    (Animal, Dog),
    (int, Level),
    (str, UserId),
    (str, Literal["a"]),
    (Literal["a", "b"], Literal["a"]),
    (Literal[1], Literal[True]),
    (Literal["a", 1], str),
    (list[int], list[str]),
    (list[bool], list[int]),
    (list[int], set[int]),
    (list, list[int]),
    (Sequence[int], list[int]),
    (dict[str, int], dict[int, int]),
    (tuple[int, str], tuple[int]),
    (tuple[int, ...], tuple[int, int]),
    (tuple[int, str], tuple[int, ...]),
    (tuple[int, str], Sequence[int]),
    (Box[int], Box[str]),
    (Dog, Quacks),
    (int, T),
]


@pytest.mark.parametrize(("given_type", "wanted"), FIT)
def test_every_value_fits(given_type: Any, wanted: Any) -> None:
    assert fits(given_type, wanted)


@pytest.mark.parametrize(("given_type", "wanted"), APART)
def test_not_every_value_fits(given_type: Any, wanted: Any) -> None:
    assert not fits(given_type, wanted)


types: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from([int, str, bool, Decimal, datetime, None, Any, UserId, Literal["a", 1], Dog]),
    lambda inner: (
        st.builds(lambda one, other: Union[one, other], inner, inner)  # noqa: UP007 - made when running
        | st.builds(lambda one: list[one], inner)
        | st.builds(lambda one, other: dict[one, other], inner, inner)
        | st.builds(lambda one: tuple[one, ...], inner)
        | st.builds(lambda one, other: tuple[one, other], inner, inner)
    ),
    max_leaves=6,
)


@given(types)
def test_a_type_fits_itself_and_its_optional(one: Any) -> None:
    assert fits(one, one)
    assert fits(one, Optional[one])  # noqa: UP045 - made when running
    assert fits(one, Any)


@given(types, types, types)
def test_what_fits_two_steps_fits_one(one: Any, two: Any, three: Any) -> None:
    if fits(one, two) and fits(two, three):
        assert fits(one, three)
