"""explain(): a request as a person reads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import attrs
import pytest

from dynamap import Attribute, F, Table, entity, evolve
from tests.fakes import async_store_of, store_of


@attrs.frozen
class Part:
    size: int = 0


@entity("X", pk="X#{id}", sk="X", version="revision", frozen=True)
class X:
    id: str
    n: int = 0
    note: str | None = None
    tags: set[str] = attrs.field(factory=set[str])
    blob: bytes = b""
    dotted: Annotated[str, Attribute("a.b")] = ""
    part: Part = Part()
    marks: dict[str, int] = attrs.field(factory=dict[str, int])
    revision: int = 0


@entity("Y", pk="Y#{id}", sk="Y", frozen=True)
class Y:
    id: str
    text: str = ""
    numbers: list[Any] = attrs.field(factory=list[Any])


Tables = Table("tables", [X, Y])
READ = X("a", revision=7)
Build = Callable[[Any, Any], Any]

TEXTS: dict[str, tuple[Build, str]] = {
    "get": (
        lambda x, y: x.get(id="a"),
        """\
GetItem on tables
  key        pk = "X#a", sk = "X"
  capacity   1 read unit for each 4 KB of the item (strongly consistent)""",
    ),
    "eventual get": (
        lambda x, y: y.get(id='say "hi"\n'),
        """\
GetItem on tables
  key        pk = "Y#say \\"hi\\"\\n", sk = "Y"
  capacity   half a read unit for each 4 KB of the item (eventually consistent)""",
    ),
    "put": (
        lambda x, y: y.put(Y("a", "日本", [1, None, True, b"xy", {"k": "v", "1st": 2}])),
        """\
PutItem on tables
  item       pk = "Y#a", sk = "Y", _type = "Y", id = "a", text = "日本", numbers = [1, null, true, 2 bytes, \
{k: "v", `1st`: 2}]
  capacity   1 write unit for these SIZE bytes; more if a larger item is replaced""",
    ),
    "create": (
        lambda x, y: y.put(Y("a")).if_not_exists(),
        """\
PutItem on tables
  item       pk = "Y#a", sk = "Y", _type = "Y", id = "a", text = "", numbers = [], _w = "w1"
  condition  attribute_not_exists(pk)
  capacity   1 write unit for these SIZE bytes; more if a larger item is replaced
  limits     condition 24 of 4,096 bytes""",
    ),
    "large put": (
        lambda x, y: y.put(Y("a", "x" * 2000)).returning_old(),
        """\
PutItem on tables
  item       pk = "Y#a", sk = "Y", _type = "Y", id = "a", text = "XXX", numbers = []
  answers    ALL_OLD
  capacity   2 write units for these SIZE bytes; more if a larger item is replaced""",
    ),
    "update": (
        lambda x, y: (
            x.update(id="a")
            .if_version(7)
            .add(F(X.n), 2)
            .add(F(X.tags), "b", "a")
            .set(F(X.dotted), "x")
            .set(F(X, lambda x: x.part.size), 3)
            .if_(F(X.n).between(1, 5) | F(X.note).eq(None))
        ),
        """\
UpdateItem on tables
  key        pk = "X#a", sk = "X"
  update     SET `a.b` = "x", part.size = 3, revision = 8, `_w` = "w1" ADD n 2, tags {"a", "b"}
  condition  revision = 7 AND ((n BETWEEN 1 AND 5) OR (attribute_not_exists(note) OR note = null))
  answers    ALL_NEW
  capacity   1 write unit for each KB of the item, before or after, whichever is larger
  limits     update UU, condition CC of 4,096 bytes""",
    ),
    "delete": (
        lambda x, y: x.delete(READ),
        """\
DeleteItem on tables
  key        pk = "X#a", sk = "X"
  condition  revision = 7
  capacity   1 write unit for each KB of the item, before or after, whichever is larger
  limits     condition 7 of 4,096 bytes""",
    ),
}


def masked(text: str) -> str:
    """Without what depends on how the text is compiled."""
    import re

    text = re.sub(r"these [\d,]+ bytes", "these SIZE bytes", text)
    text = re.sub(r"update \d+, condition \d+ of", "update UU, condition CC of", text)
    return text.replace("x" * 2000, "XXX").replace("`_w`", "_w")


@pytest.mark.parametrize("make", [store_of, async_store_of], ids=["sync", "async"])
@pytest.mark.parametrize(("build", "text"), TEXTS.values(), ids=TEXTS)
def test_explained(build: Build, text: str, make: Any) -> None:
    store = make(Tables)
    assert masked(build(store.of(X), store.of(Y)).explain()) == masked(text)


def test_what_looks_like_a_placeholder_in_a_value_stays() -> None:
    text = store_of(Tables).of(Y).update(id="a").set(F(Y.text), "#0 :1").explain()
    assert 'SET text = "#0 :1"' in text


def test_the_size_is_what_the_service_counts() -> None:
    # names and values in UTF-8, numbers by their digits, 1 for booleans, 3 for a list and 1 for each of its elements
    text = store_of(Tables).of(Y).put(Y("a", "ä")).explain()
    size = sum(map(len, ("pk", "Y#a", "sk", "Y", "_type", "Y", "id", "a", "text", "numbers"))) + 2 + 3
    assert f"for these {size} bytes" in text


def test_explaining_sends_nothing_and_changes_nothing() -> None:
    operation = store_of(Tables).of(X).update(READ).to(evolve(READ, n=1))
    before = operation.params()
    operation.explain()
    after = operation.params()
    del before["ExpressionAttributeValues"], after["ExpressionAttributeValues"]
    assert before == after
