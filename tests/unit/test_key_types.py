"""Which type a hint stands for in a key."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, NewType, Optional

import pytest
from typing_extensions import TypeAliasType

from dynamap.errors import ModelError
from dynamap.model.templates import parse_template, plain_type

UserId = NewType("UserId", str)
AdminId = NewType("AdminId", UserId)
Alias = TypeAliasType("Alias", Annotated[AdminId, "extra"])


@pytest.mark.parametrize(
    ("hint", "plain"),
    [
        (str, str),
        (Annotated[int, "extra"], int),
        (int | None, int),
        (Optional[int], int),  # noqa: UP045 -- the older form has its own type
        (Annotated[int | None, "extra"], int),
        (Optional[Annotated[int, "extra"]], int),  # noqa: UP045
        (AdminId, str),
        (AdminId | None, str),
        (Alias, str),
        (Final[int], int),
        (Literal["a"], Literal["a"]),
        (int | str, int | str),
        (int | str | None, int | str | None),
        (list[int], list[int]),
    ],
)
def test_a_hint_is_reduced_to_the_type_of_its_values(hint: Any, plain: Any) -> None:
    assert plain_type(hint) == plain


def test_a_literal_of_none_and_text_keeps_its_text() -> None:
    parsed = parse_template("{kind}", {"kind": Literal["a", None]}, owner="Order", part="pk")
    assert parsed.render({"kind": "a"}) == "a"
    assert not parsed.is_complete({"kind": None})


@pytest.mark.parametrize("hint", [Literal[b"a"], Literal[None], dict[str, int], complex, None, "str"])
def test_other_types_are_refused(hint: Any) -> None:
    with pytest.raises(ModelError, match=r"Order: the pk template '\{kind\}' cannot hold 'kind'"):
        parse_template("{kind}", {"kind": hint}, owner="Order", part="pk")
