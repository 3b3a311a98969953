"""A stored version that is none is said, not guessed: no guard would ever hold of it again."""

from __future__ import annotations

from typing import Any

import pytest

from dynamap import ItemDecodeError, Table, entity


@entity("PAGE", pk="PAGE#{id}", sk="PAGE", version="revision")
class Page:
    id: str
    revision: int = 0


PAGE = Table("pages", [Page]).entity(Page)


def item(version: dict[str, Any] | None) -> dict[str, Any]:
    stored: dict[str, Any] = {"pk": {"S": "PAGE#x"}, "sk": {"S": "PAGE"}, "_type": {"S": "PAGE"}, "id": {"S": "x"}}
    return stored if version is None else {**stored, "revision": version}


@pytest.mark.parametrize(
    ("version", "expected"),
    [(None, -1), ({"N": "0"}, -1), ({"N": "7"}, 7), ({"N": "5E2"}, 500), ({"N": "3.0"}, 3)],
)
def test_a_whole_number_is_a_version_and_none_or_0_reads_as_never_versioned(
    version: dict[str, Any] | None, expected: int
) -> None:
    assert PAGE.decode(item(version)).revision == expected


@pytest.mark.parametrize("version", [{"N": "1.5"}, {"N": "-1"}, {"N": "-3"}, {"S": "5"}, {"NULL": True}])
@pytest.mark.parametrize("applied", [False, True])
def test_anything_else_is_an_item_that_does_not_fit(version: dict[str, Any], applied: bool) -> None:
    with pytest.raises(ItemDecodeError) as raised:
        PAGE.decode(item(version), applied=applied)
    assert str(raised.value).startswith(
        "the item {'pk': 'PAGE#x', 'sk': 'PAGE'} is no Page: $.revision: a version is a whole number from 0 on: "
        "mend the item, or remove the attribute to start afresh"
    )
    assert (raised.value.path, raised.value.applied) == ("$.revision", applied)
