"""Checks: conditions on items that a transaction does not change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dynamap import Check, F, ItemKey, KeyValueError, RequestError, Table, Write, entity
from tests.fakes import async_store_of, store_of


@entity("STOCK", pk="STOCK#{sku}", sk="STOCK")
class Stock:
    sku: str
    count: int = 0


@entity("PART", pk="PART#{sku}", sk="PART#{number:04}")
class Part:
    sku: str
    number: int


Shop = Table("shop", [Stock, Part])
KEY = {"pk": {"S": "STOCK#x"}, "sk": {"S": "STOCK"}}
ON_FAILURE = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
Step = Callable[[Any], Any]


def stock() -> Check[Any, Stock]:
    return store_of(Shop).of(Stock).check(sku="x")


CHECKS: list[tuple[str, Step, dict[str, Any]]] = [
    (
        "exists",
        lambda c: c.exists(),
        {"ConditionExpression": "attribute_exists(#0)", "ExpressionAttributeNames": {"#0": "pk"}},
    ),
    (
        "does not exist",
        lambda c: c.not_exists(),
        {"ConditionExpression": "attribute_not_exists(#0)", "ExpressionAttributeNames": {"#0": "pk"}},
    ),
    (
        "a condition",
        lambda c: c.if_(F(Stock.count).ge(3)),
        {
            "ConditionExpression": "#0 >= :0",
            "ExpressionAttributeNames": {"#0": "count"},
            "ExpressionAttributeValues": {":0": {"N": "3"}},
        },
    ),
    (
        "exists, under two conditions",
        lambda c: c.if_(F(Stock.count).ge(3)).exists().if_(F(Stock.count).lt(9)),
        {
            "ConditionExpression": "attribute_exists(#0) AND #1 >= :0 AND #1 < :1",
            "ExpressionAttributeNames": {"#0": "pk", "#1": "count"},
            "ExpressionAttributeValues": {":0": {"N": "3"}, ":1": {"N": "9"}},
        },
    ),
    (
        "said twice",
        lambda c: c.exists().exists(),
        {"ConditionExpression": "attribute_exists(#0)", "ExpressionAttributeNames": {"#0": "pk"}},
    ),
]


@pytest.mark.parametrize(("step", "expected"), [each[1:] for each in CHECKS], ids=[each[0] for each in CHECKS])
def test_the_params_are_those_of_a_condition_check(step: Step, expected: dict[str, Any]) -> None:
    for store in (store_of(Shop), async_store_of(Shop)):
        check = step(store.of(Stock).check(sku="x"))
        assert check.params() == {"TableName": "shop", "Key": KEY, **ON_FAILURE, **expected}


def test_it_stands_as_it_is_in_a_transaction() -> None:
    store = store_of(Shop)
    check = store.of(Stock).check(sku="x").exists()
    put = store.of(Stock).put(Stock("y"))
    items = store.transact(put, check).params()["TransactItems"]
    assert items[1] == {"ConditionCheck": check.params()}


def test_explain_puts_names_and_values_back() -> None:
    assert stock().exists().if_(F(Stock.count).ge(3)).explain() == (
        "ConditionCheck on shop\n"
        '  key        pk = "STOCK#x", sk = "STOCK"\n'
        "  condition  attribute_exists(pk) AND count >= 3\n"
        "  capacity   1 write unit for each KB of the item; twice that, as for everything in a transaction\n"
        "  limits     condition 33 of 4,096 bytes"
    )


def test_it_is_a_write_that_cannot_be_sent_by_itself() -> None:
    check = stock().exists()
    assert isinstance(check, Write)
    assert not hasattr(check, "send")
    assert not hasattr(check, "try_send")


def test_every_step_answers_a_copy() -> None:
    start = stock()
    assert start.exists() is not start
    with pytest.raises(RequestError, match="it checks nothing"):
        start.params()
    with pytest.raises(AttributeError) as caught:
        start._existence = True
    assert str(caught.value) == "Check is frozen: every step, such as .if_(...), answers a changed copy"


WHAT = "check of Stock sku='x': "
REFUSED: list[tuple[str, Step, str]] = [
    ("nothing", lambda c: c.params(), f"{WHAT}it checks nothing: add exists(), not_exists() or if_(condition)"),
    (
        "nothing, explained",
        lambda c: c.explain(),
        f"{WHAT}it checks nothing: add exists(), not_exists() or if_(condition)",
    ),
    (
        "both",
        lambda c: c.exists().not_exists(),
        f"{WHAT}exists() and not_exists() contradict each other: leave one out",
    ),
    (
        "both, the other way",
        lambda c: c.not_exists().exists(),
        f"{WHAT}exists() and not_exists() contradict each other: leave one out",
    ),
    (
        "no condition",
        lambda c: c.if_(F(Stock.count)),
        f"{WHAT}if_() takes a Condition, such as F(X.count).ge(1); got Field",
    ),
]


@pytest.mark.parametrize(("step", "text"), [each[1:] for each in REFUSED], ids=[each[0] for each in REFUSED])
def test_what_checks_nothing_is_refused(step: Step, text: str) -> None:
    with pytest.raises(RequestError) as caught:
        step(stock())
    assert str(caught.value) == text


def test_a_check_of_nothing_is_refused_by_the_transaction_too() -> None:
    store = store_of(Shop)
    with pytest.raises(RequestError, match="it checks nothing"):
        store.transact(store.of(Stock).check(sku="x")).params()


# ---- keys of items


def test_a_key_is_equal_to_another_with_the_same_fields_and_hashable() -> None:
    parts = store_of(Shop).of(Part)
    key = parts.key(sku="a", number=3)
    assert key == ItemKey(Part, {"sku": "a", "number": 3})
    assert key == async_store_of(Shop).of(Part).key(number=3, sku="a")
    assert len({key, parts.key(number=3, sku="a"), parts.key(sku="a", number=4)}) == 2
    with pytest.raises(AttributeError):
        key.entity = Part  # type: ignore[misc]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"sku": "a", "nr": 3}, "Part has no key field 'nr': its key is sku, number"),
        ({"sku": "a", "number": 12345}, None),
        ({"sku": "a"}, None),
    ],
)
def test_a_key_that_no_item_can_have_is_refused(values: dict[str, Any], text: str | None) -> None:
    parts = store_of(Shop).of(Part)
    for make in (parts.key, parts.check, parts.upsert):
        with pytest.raises(KeyValueError) as caught:
            make(**values)
        assert text is None or str(caught.value) == text


def test_key_fields_go_by_name() -> None:
    def part_key(*, sku: str, number: int) -> None: ...

    keyed: Any = store_of(Shop).of(Part, key=part_key)
    assert keyed.key(sku="a", number=3) == ItemKey(Part, {"sku": "a", "number": 3})
    assert keyed.check(sku="a", number=3).exists().params()["Key"] == keyed.upsert(sku="a", number=3).params()["Key"]
    for name in ("key", "check", "upsert"):
        with pytest.raises(KeyValueError) as caught:
            getattr(keyed, name)("a", 3)
        assert str(caught.value) == f"Repository(Part in 'shop').{name}() takes key fields by name"
