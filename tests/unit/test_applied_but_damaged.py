"""An item that does not fit, met after a write that was applied: the error says that the write was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import pytest

from dynamap import Attribute, F, ItemDecodeError, Table, entity
from tests.fakes import answered, drive, lost, store_of


@entity("LINE", pk="ORDER#{order}", sk="LINE#{number:03}", version="revision")
class Line:
    order: str
    number: Annotated[int, Attribute(stored=False)]
    count: int = 0
    revision: int = 0


Lines = Table("lines", [Line])
FITS = store_of(Lines).of(Line).put(Line("o", 1)).params()["Item"]
DAMAGED: dict[str, dict[str, Any]] = {
    "a field": {**FITS, "count": {"S": "?"}},
    "a key that a field is recovered from": {**FITS, "sk": {"S": "LINE#x"}},
    "a version": {**FITS, "revision": {"N": "-3"}},
    "another type": {**FITS, "_type": {"S": "OTHER"}},
}
WRITES: dict[str, Callable[[Any], Any]] = {
    "update": lambda lines: lines.update(order="o", number=1).ignore_version().add(F(Line.count), 1),
    "update returning the old": lambda lines: (
        lines.update(order="o", number=1).if_version(7).add(F(Line.count), 1).returning_old()
    ),
    "upsert": lambda lines: lines.upsert(order="o", number=1).ignore_version().add(F(Line.count), 1),
    "put returning the old": lambda lines: lines.put(Line("o", 1, 1, 7)).returning_old(),
    "delete returning the old": lambda lines: lines.delete(Line("o", 1, 1, 7)).returning_old(),
}


@pytest.mark.parametrize("trying", [False, True], ids=["send", "try_send"])
@pytest.mark.parametrize("item", DAMAGED.values(), ids=DAMAGED)
@pytest.mark.parametrize("build", WRITES.values(), ids=WRITES)
def test_it_says_that_the_write_was_applied(build: Callable[[Any], Any], item: dict[str, Any], trying: bool) -> None:
    operation = build(store_of(Lines).of(Line))
    driven = drive(operation._try_plan() if trying else operation._plan(), {"Attributes": item})
    assert isinstance(driven.error, ItemDecodeError)
    assert driven.error.applied
    assert str(driven.error).endswith("(met after a write that was applied)")


def test_so_does_one_about_a_field_that_was_asked_for() -> None:
    update = store_of(Lines).of(Line).update(order="o", number=1).ignore_version().add(F(Line.count), 1)
    error = drive(update.returning(F(Line.count))._plan(), {"Attributes": DAMAGED["a field"]}).error
    assert isinstance(error, ItemDecodeError)
    assert error.applied
    assert str(error).endswith("(met after a write that was applied)")


@pytest.mark.parametrize("item", DAMAGED.values(), ids=DAMAGED)
def test_so_does_the_read_that_answers_a_transaction_of_one(item: dict[str, Any]) -> None:
    operation = WRITES["update"](store_of(Lines).of(Line)).exactly_once()
    error = drive(operation._plan(), lost(), answered("TransactionInProgressException"), {}, {"Item": item}).error
    assert isinstance(error, ItemDecodeError)
    assert error.applied


def test_a_read_says_nothing_of_a_write() -> None:
    error = drive(store_of(Lines).of(Line).get(order="o", number=1)._plan(), {"Item": DAMAGED["a field"]}).error
    assert isinstance(error, ItemDecodeError)
    assert not error.applied
    assert "applied" not in str(error)
