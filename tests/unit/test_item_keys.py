"""The key of an item is the same however its fields were written."""

from __future__ import annotations

from typing import Annotated

import pytest

from dynamap import KeyValueError, Normalize, Table, entity
from tests.fakes import store_of


@entity("USER", pk="USER#{mail}", sk="USER#{number:012}")
class User:
    mail: Annotated[str, Normalize(str.lower)]
    number: int


Users = Table("users", [User])


def test_a_key_is_in_its_stored_form() -> None:
    users = store_of(Users).of(User)
    one, other = users.key(mail="A@X", number=7), users.key(number=7, mail="a@x")
    assert one == other
    assert len({one, other}) == 1
    assert one.values == {"mail": "a@x", "number": 7}
    assert users.get(**one.values).params() == users.get(mail="A@X", number=7).params()
    assert one != users.key(mail="b@x", number=7)
    with pytest.raises(KeyValueError):
        users.key(mail="A@X")
