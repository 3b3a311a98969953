"""From builders to the dicts that boto3 would take, in both modes; nothing is sent."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from dynamap import F, Table, entity, evolve
from tests.fakes import NOW, async_store_of, store_of
from tests.shop import LEGACY, NEW, PAGE, READ, Account, Address, Shop, Street, View, accounts, views

KEY = {"pk": {"S": "ACCOUNT#a"}, "sk": {"S": "BALANCE"}}
VIEW_KEY = {"pk": {"S": "VIEW#p"}, "sk": {"S": "VIEW"}}
START = {"N": str(int(NOW * 1_000_000))}
ON_FAILURE = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
ADDRESS = {
    "M": {"city": {"S": ""}, "street": {"M": {"name": {"S": ""}, "number": {"NULL": True}}}, "post.code": {"S": ""}}
}
ITEM = {
    **KEY,
    "_type": {"S": "ACCOUNT"},
    "balance": {"N": "0"},
    "address": ADDRESS,
    "id": {"S": "a"},
    "marks": {"M": {}},
    "lines": {"L": []},
}
VIEW = {**VIEW_KEY, "_type": {"S": "VIEW"}, "page": {"S": "p"}, "count": {"N": "0"}}
W1 = {"S": "w1"}

Build = Callable[[Any], Any]


CASES: dict[str, tuple[Build, dict[str, Any]]] = {
    # ---- get
    "get, versioned": (
        lambda s: accounts(s).get(id="a"),
        {"TableName": "shop", "Key": KEY, "ConsistentRead": True},
    ),
    "get, unversioned": (lambda s: views(s).get(page="p"), {"TableName": "shop", "Key": VIEW_KEY}),
    "get, strong on request": (
        lambda s: views(s).get(page="p").strongly_consistent(),
        {"TableName": "shop", "Key": VIEW_KEY, "ConsistentRead": True},
    ),
    "get, eventual on request": (
        lambda s: accounts(s).get(id="a").required().eventually_consistent(),
        {"TableName": "shop", "Key": KEY},
    ),
    "get, the repository decides": (
        lambda s: s.of(View, consistent=True).get(page="p").required(),
        {"TableName": "shop", "Key": VIEW_KEY, "ConsistentRead": True},
    ),
    "get, the repository decides, eventual": (
        lambda s: s.of(Account, consistent=False).get(id="a"),
        {"TableName": "shop", "Key": KEY},
    ),
    # ---- put, unversioned
    "put": (lambda s: views(s).put(PAGE), {"TableName": "shop", "Item": VIEW}),
    "put, create": (
        lambda s: views(s).put(PAGE).if_not_exists(),
        {
            "TableName": "shop",
            "Item": {**VIEW, "_w": W1},
            "ConditionExpression": "attribute_not_exists(#0)",
            **ON_FAILURE,
            "ExpressionAttributeNames": {"#0": "pk"},
        },
    ),
    "put, replace": (
        lambda s: views(s).put(PAGE).if_exists(),
        {
            "TableName": "shop",
            "Item": VIEW,
            "ConditionExpression": "attribute_exists(#0)",
            **ON_FAILURE,
            "ExpressionAttributeNames": {"#0": "pk"},
        },
    ),
    "put, the last word on existence counts": (
        lambda s: views(s).put(PAGE).if_exists().if_not_exists(),
        {
            "TableName": "shop",
            "Item": {**VIEW, "_w": W1},
            "ConditionExpression": "attribute_not_exists(#0)",
            **ON_FAILURE,
            "ExpressionAttributeNames": {"#0": "pk"},
        },
    ),
    "put, condition": (
        lambda s: views(s).put(PAGE).if_(F(View.count).lt(5)),
        {
            "TableName": "shop",
            "Item": VIEW,
            "ConditionExpression": "#0 < :0",
            **ON_FAILURE,
            "ExpressionAttributeNames": {"#0": "count"},
            "ExpressionAttributeValues": {":0": {"N": "5"}},
        },
    ),
    "put, two conditions and existence": (
        lambda s: (
            views(s).put(PAGE).if_(F(View.count).lt(5) | F(View.owner).exists()).if_exists().if_(F(View.count).ge(1))
        ),
        {
            "TableName": "shop",
            "Item": VIEW,
            "ConditionExpression": "attribute_exists(#0) AND (#1 < :0 OR attribute_exists(#2)) AND #1 >= :1",
            **ON_FAILURE,
            "ExpressionAttributeNames": {"#0": "pk", "#1": "count", "#2": "owner"},
            "ExpressionAttributeValues": {":0": {"N": "5"}, ":1": {"N": "1"}},
        },
    ),
    "put, returning old": (
        lambda s: views(s).put(PAGE).returning_old(),
        {"TableName": "shop", "Item": VIEW, "ReturnValues": "ALL_OLD"},
    ),
    # ---- put, versioned
    "put, version 0": (
        lambda s: accounts(s).put(NEW),
        {
            "TableName": "shop",
            "Item": {**ITEM, "_w": W1, "_v": START},
            "ConditionExpression": "attribute_not_exists(#0)",
            **ON_FAILURE,
            "ExpressionAttributeNames": {"#0": "pk"},
        },
    ),
    "put, version 7": (
        lambda s: accounts(s).put(READ),
        {
            "TableName": "shop",
            "Item": {**ITEM, "_w": W1, "_v": {"N": "8"}},
            "ConditionExpression": "#0 = :0",
            **ON_FAILURE,
            "ExpressionAttributeNames": {"#0": "_v"},
            "ExpressionAttributeValues": {":0": {"N": "7"}},
        },
    ),
    "put, version 7, replace": (
        lambda s: accounts(s).put(READ).if_exists(),
        {
            "TableName": "shop",
            "Item": {**ITEM, "_w": W1, "_v": {"N": "8"}},
            "ConditionExpression": "#0 = :0",
            **ON_FAILURE,
            "ExpressionAttributeNames": {"#0": "_v"},
            "ExpressionAttributeValues": {":0": {"N": "7"}},
        },
    ),
    "put, legacy": (
        lambda s: accounts(s).put(LEGACY).if_(F(Account.balance).ge(Decimal(1))),
        {
            "TableName": "shop",
            "Item": {**ITEM, "_w": W1, "_v": START},
            "ConditionExpression": "attribute_exists(#0) AND (attribute_not_exists(#1) OR #1 = :0) AND #2 >= :1",
            **ON_FAILURE,
            "ExpressionAttributeNames": {"#0": "pk", "#1": "_v", "#2": "balance"},
            "ExpressionAttributeValues": {":0": {"N": "0"}, ":1": {"N": "1"}},
        },
    ),
    # ---- update, unversioned
    "update, set": (
        lambda s: views(s).update(page="p").set(F(View.count), 3),
        {
            "TableName": "shop",
            "Key": VIEW_KEY,
            "UpdateExpression": "SET #0 = :0",
            "ConditionExpression": "attribute_exists(#1)",
            **ON_FAILURE,
            "ExpressionAttributeNames": {"#0": "count", "#1": "pk"},
            "ExpressionAttributeValues": {":0": {"N": "3"}},
            "ReturnValues": "ALL_NEW",
        },
    ),
    "update, everything": (
        lambda s: (
            views(s)
            .update(page="p")
            .add(F(View.tags), "b", "a")
            .set(F(View.count), F(View.count).or_else(0) + 2)
            .remove(F(View.owner))
            .if_(F(View.count).lt(9))
        ),
        {
            "TableName": "shop",
            "Key": VIEW_KEY,
            "UpdateExpression": "SET #1 = if_not_exists(#1, :1) + :2 REMOVE #2 ADD #0 :0",
            "ConditionExpression": "attribute_exists(#3) AND #1 < :3",
            **ON_FAILURE,
            "ExpressionAttributeNames": {"#0": "tags", "#1": "count", "#2": "owner", "#3": "pk"},
            "ExpressionAttributeValues": {
                ":0": {"SS": ["a", "b"]},
                ":1": {"N": "0"},
                ":2": {"N": "2"},
                ":3": {"N": "9"},
            },
            "ReturnValues": "ALL_NEW",
        },
    ),
    "update, None and the empty set are absent": (
        lambda s: views(s).update(page="p").set(F(View.owner), None).set(F(View.tags), set()),
        {
            "TableName": "shop",
            "Key": VIEW_KEY,
            "UpdateExpression": "REMOVE #0, #1",
            "ConditionExpression": "attribute_exists(#2)",
            **ON_FAILURE,
            "ExpressionAttributeNames": {"#0": "owner", "#1": "tags", "#2": "pk"},
            "ReturnValues": "ALL_NEW",
        },
    ),
    "update, returning old": (
        lambda s: views(s).update(page="p").add(F(View.count), 1).returning_old(),
        {
            "TableName": "shop",
            "Key": VIEW_KEY,
            "UpdateExpression": "ADD #0 :0",
            "ConditionExpression": "attribute_exists(#1)",
            **ON_FAILURE,
            "ExpressionAttributeNames": {"#0": "count", "#1": "pk"},
            "ExpressionAttributeValues": {":0": {"N": "1"}},
            "ReturnValues": "ALL_OLD",
        },
    ),
    # ---- update, versioned
    "update, if_version": (
        lambda s: accounts(s).update(id="a").if_version(7).add(F(Account.balance), 5),
        {
            "TableName": "shop",
            "Key": KEY,
            "UpdateExpression": "SET #1 = :1, #2 = :2 ADD #0 :0",
            "ConditionExpression": "#1 = :3",
            **ON_FAILURE,
            "ExpressionAttributeNames": {"#0": "balance", "#1": "_v", "#2": "_w"},
            "ExpressionAttributeValues": {":0": {"N": "5"}, ":1": {"N": "8"}, ":2": W1, ":3": {"N": "7"}},
            "ReturnValues": "ALL_NEW",
        },
    ),
    "update, of an item": (
        lambda s: accounts(s).update(READ).set(F(Account.note), "x"),
        {
            "TableName": "shop",
            "Key": KEY,
            "UpdateExpression": "SET #0 = :0, #1 = :1, #2 = :2",
            "ConditionExpression": "#1 = :3",
            **ON_FAILURE,
            "ExpressionAttributeNames": {"#0": "note", "#1": "_v", "#2": "_w"},
            "ExpressionAttributeValues": {":0": {"S": "x"}, ":1": {"N": "8"}, ":2": W1, ":3": {"N": "7"}},
            "ReturnValues": "ALL_NEW",
        },
    ),
    "update, legacy": (
        lambda s: accounts(s).update(id="a").if_version(-1).remove(F(Account.note)),
        {
            "TableName": "shop",
            "Key": KEY,
            "UpdateExpression": "SET #1 = :0, #2 = :1 REMOVE #0",
            "ConditionExpression": "attribute_exists(#3) AND (attribute_not_exists(#1) OR #1 = :2)",
            **ON_FAILURE,
            "ExpressionAttributeNames": {"#0": "note", "#1": "_v", "#2": "_w", "#3": "pk"},
            "ExpressionAttributeValues": {":0": START, ":1": W1, ":2": {"N": "0"}},
            "ReturnValues": "ALL_NEW",
        },
    ),
    "update, ignore_version": (
        lambda s: accounts(s).update(READ).ignore_version().set(F(Account.note), "x"),
        {
            "TableName": "shop",
            "Key": KEY,
            "UpdateExpression": "SET #0 = :0, #1 = if_not_exists(#1, :1) + :2, #2 = :3",
            "ConditionExpression": "attribute_exists(#3) AND #1 <> :4",
            **ON_FAILURE,
            "ExpressionAttributeNames": {"#0": "note", "#1": "_v", "#2": "_w", "#3": "pk"},
            "ExpressionAttributeValues": {
                ":0": {"S": "x"},
                ":1": {"N": str(int(NOW * 1_000_000) - 1)},
                ":2": {"N": "1"},
                ":3": W1,
                ":4": {"N": "0"},
            },
            "ReturnValues": "ALL_NEW",
        },
    ),
    # ---- differences
    "to, a top-level attribute": (
        lambda s: accounts(s).update(READ).to(evolve(READ, balance=Decimal(5))),
        {
            "TableName": "shop",
            "Key": KEY,
            "UpdateExpression": "SET #0 = :0, #1 = :1, #2 = :2",
            "ConditionExpression": "#1 = :3",
            **ON_FAILURE,
            "ExpressionAttributeNames": {"#0": "balance", "#1": "_v", "#2": "_w"},
            "ExpressionAttributeValues": {":0": {"N": "5"}, ":1": {"N": "8"}, ":2": W1, ":3": {"N": "7"}},
            "ReturnValues": "ALL_NEW",
        },
    ),
    "to, inside nested classes, with a name that holds a dot": (
        lambda s: accounts(s).update(READ).to(evolve(READ, address=Address(city="X", street=Street("", 3), zip="1"))),
        {
            "TableName": "shop",
            "Key": KEY,
            "UpdateExpression": "SET #0.#1 = :0, #0.#2.#3 = :1, #0.#4 = :2, #5 = :3, #6 = :4",
            "ConditionExpression": "#5 = :5",
            **ON_FAILURE,
            "ExpressionAttributeNames": {
                "#0": "address",
                "#1": "city",
                "#2": "street",
                "#3": "number",
                "#4": "post.code",
                "#5": "_v",
                "#6": "_w",
            },
            "ExpressionAttributeValues": {
                ":0": {"S": "X"},
                ":1": {"N": "3"},
                ":2": {"S": "1"},
                ":3": {"N": "8"},
                ":4": W1,
                ":5": {"N": "7"},
            },
            "ReturnValues": "ALL_NEW",
        },
    ),
    "to, maps and lists whole, removed and emptied": (
        lambda s: (
            accounts(s)
            .update(evolve(READ, note="x", tags={"a"}, marks={"m": 1}))
            .to(evolve(READ, lines=[Address("X")], marks={"m": 1, "n": 2}))
        ),
        {
            "TableName": "shop",
            "Key": KEY,
            "UpdateExpression": "SET #2 = :0, #3 = :1, #4 = :2, #5 = :3 REMOVE #0, #1",
            "ConditionExpression": "#4 = :4",
            **ON_FAILURE,
            "ExpressionAttributeNames": {
                "#0": "note",
                "#1": "tags",
                "#2": "marks",
                "#3": "lines",
                "#4": "_v",
                "#5": "_w",
            },
            "ExpressionAttributeValues": {
                ":0": {"M": {"m": {"N": "1"}, "n": {"N": "2"}}},
                ":1": {"L": [{"M": {**ADDRESS["M"], "city": {"S": "X"}}}]},
                ":2": {"N": "8"},
                ":3": W1,
                ":4": {"N": "7"},
            },
            "ReturnValues": "ALL_NEW",
        },
    ),
    "to, nothing, guarded": (
        lambda s: accounts(s).update(READ).to(evolve(READ)),
        {
            "TableName": "shop",
            "Key": KEY,
            "UpdateExpression": "SET #0 = :0, #1 = :1",
            "ConditionExpression": "#0 = :2",
            **ON_FAILURE,
            "ExpressionAttributeNames": {"#0": "_v", "#1": "_w"},
            "ExpressionAttributeValues": {":0": {"N": "8"}, ":1": W1, ":2": {"N": "7"}},
            "ReturnValues": "ALL_NEW",
        },
    ),
    "to, nothing, unguarded": (
        lambda s: views(s).update(PAGE).to(evolve(PAGE)),
        {
            "TableName": "shop",
            "Key": VIEW_KEY,
            "ConditionExpression": "attribute_exists(#0)",
            **ON_FAILURE,
            "ExpressionAttributeNames": {"#0": "pk"},
            "ReturnValues": "ALL_NEW",
        },
    ),
    "to, a legacy item": (
        lambda s: accounts(s).update(LEGACY).to(evolve(LEGACY, note="x")),
        {
            "TableName": "shop",
            "Key": KEY,
            "UpdateExpression": "SET #0 = :0, #1 = :1, #2 = :2",
            "ConditionExpression": "attribute_exists(#3) AND (attribute_not_exists(#1) OR #1 = :3)",
            **ON_FAILURE,
            "ExpressionAttributeNames": {"#0": "note", "#1": "_v", "#2": "_w", "#3": "pk"},
            "ExpressionAttributeValues": {":0": {"S": "x"}, ":1": START, ":2": W1, ":3": {"N": "0"}},
            "ReturnValues": "ALL_NEW",
        },
    ),
    # ---- delete
    "delete": (lambda s: views(s).delete(page="p"), {"TableName": "shop", "Key": VIEW_KEY}),
    "delete, of an item": (lambda s: views(s).delete(PAGE), {"TableName": "shop", "Key": VIEW_KEY}),
    "delete, if it exists": (
        lambda s: views(s).delete(page="p").if_exists().if_(F(View.count).eq(0)),
        {
            "TableName": "shop",
            "Key": VIEW_KEY,
            "ConditionExpression": "attribute_exists(#0) AND #1 = :0",
            **ON_FAILURE,
            "ExpressionAttributeNames": {"#0": "pk", "#1": "count"},
            "ExpressionAttributeValues": {":0": {"N": "0"}},
        },
    ),
    "delete, returning old": (
        lambda s: views(s).delete(page="p").returning_old(),
        {"TableName": "shop", "Key": VIEW_KEY, "ReturnValues": "ALL_OLD"},
    ),
    "delete, versioned": (
        lambda s: accounts(s).delete(READ),
        {
            "TableName": "shop",
            "Key": KEY,
            "ConditionExpression": "#0 = :0",
            **ON_FAILURE,
            "ExpressionAttributeNames": {"#0": "_v"},
            "ExpressionAttributeValues": {":0": {"N": "7"}},
        },
    ),
    "delete, legacy": (
        lambda s: accounts(s).delete(LEGACY),
        {
            "TableName": "shop",
            "Key": KEY,
            "ConditionExpression": "attribute_exists(#0) AND (attribute_not_exists(#1) OR #1 = :0)",
            **ON_FAILURE,
            "ExpressionAttributeNames": {"#0": "pk", "#1": "_v"},
            "ExpressionAttributeValues": {":0": {"N": "0"}},
        },
    ),
    "delete, ignore_version": (
        lambda s: accounts(s).delete(READ).ignore_version(),
        {"TableName": "shop", "Key": KEY},
    ),
    "delete, ignore_version, if it exists": (
        lambda s: accounts(s).delete(id="a").ignore_version().if_exists(),
        {
            "TableName": "shop",
            "Key": KEY,
            "ConditionExpression": "attribute_exists(#0)",
            **ON_FAILURE,
            "ExpressionAttributeNames": {"#0": "pk"},
        },
    ),
}


EXPRESSIONS = ("UpdateExpression", "ConditionExpression")


def readable(params: dict[str, Any]) -> dict[str, Any]:
    """The same request with names and values put back: which number a placeholder has is nobody's business."""
    names, values = params.get("ExpressionAttributeNames", {}), params.get("ExpressionAttributeValues", {})
    known = {**names, **values}
    readable = {name: value for name, value in params.items() if not name.startswith("ExpressionAttribute")}
    for parameter in EXPRESSIONS:
        if parameter in params:
            readable[parameter] = re.sub(r"[#:]\d+", lambda match: f"<{known[match[0]]}>", params[parameter])
    return readable


@pytest.mark.parametrize(("build", "params"), CASES.values(), ids=CASES)
def test_params(build: Build, params: dict[str, Any]) -> None:
    assert readable(build(store_of(Shop)).params()) == readable(params)


@pytest.mark.parametrize("build", [build for build, _ in CASES.values()], ids=CASES)
def test_placeholders_are_numbered_used_and_as_many_as_needed(build: Build) -> None:
    params = build(store_of(Shop)).params()
    text = " ".join(params.get(parameter, "") for parameter in EXPRESSIONS)
    for parameter, sign in (("ExpressionAttributeNames", "#"), ("ExpressionAttributeValues", ":")):
        given = params.get(parameter, {})
        assert list(given) == [f"{sign}{number}" for number in range(len(given))]
        assert set(given) == set(re.findall(rf"{sign}\d+", text))
        assert given or parameter not in params
    names = params.get("ExpressionAttributeNames", {})
    assert len(set(names.values())) == len(names)


@pytest.mark.parametrize("build", [build for build, _ in CASES.values()], ids=CASES)
def test_both_modes_say_the_same(build: Build) -> None:
    assert build(async_store_of(Shop)).params() == build(store_of(Shop)).params()


@pytest.mark.parametrize("build", [build for build, _ in CASES.values()], ids=CASES)
def test_params_are_the_same_every_time_and_nobody_elses(build: Build) -> None:
    operation = build(store_of(Shop, write_ids=lambda: "w"))
    first = operation.params()
    again = copy.deepcopy(first)
    assert list(operation.params()) == list(first)
    first.clear()
    assert operation.params() == again


def test_numbers_rise_by_one_and_start_where_the_table_says() -> None:
    table = Table("shop", [Account], version_start=1)
    assert accounts(store_of(table)).put(NEW).params()["Item"]["_v"] == {"N": "1"}
    ignoring = accounts(store_of(table)).update(id="a").ignore_version().set(F(Account.balance), Decimal(5)).params()
    assert ignoring["UpdateExpression"] == "SET #1 = :3, #0 = if_not_exists(#0, :0) + :1, #2 = :2"
    assert [ignoring["ExpressionAttributeValues"][name] for name in (":0", ":1")] == [{"N": "0"}, {"N": "1"}]


def test_a_table_without_write_ids_stores_none() -> None:
    table = Table("shop", [Account, View], write_id=None)
    assert "_w" not in accounts(store_of(table)).put(NEW).params()["Item"]
    assert "_w" not in views(store_of(table)).put(PAGE).if_not_exists().params()["Item"]
    update = accounts(store_of(table)).update(READ).to(evolve(READ)).params()
    assert update["UpdateExpression"] == "SET #0 = :0"


def test_the_tables_own_names_are_used() -> None:
    table = Table("shop", [View], pk="customer-id", sk="kind.of", discriminator="what", write_id="by")
    put = views(store_of(table)).put(PAGE).if_not_exists().params()
    assert put["Item"] == {
        "customer-id": {"S": "VIEW#p"},
        "kind.of": {"S": "VIEW"},
        "what": {"S": "VIEW"},
        "by": W1,
        "page": {"S": "p"},
        "count": {"N": "0"},
    }
    assert put["ExpressionAttributeNames"] == {"#0": "customer-id"}


def test_a_builder_is_a_new_write_each_time_it_is_seen() -> None:
    operation = accounts(store_of(Shop)).put(NEW)
    assert operation.params()["Item"]["_w"] == {"S": "w1"}
    assert operation.params()["Item"]["_w"] == {"S": "w2"}


def test_what_is_put_is_what_it_was_when_it_was_put() -> None:
    @entity("M", pk="M#{id}", sk="M")
    class Mutable:
        id: str
        n: int = 0

    item = Mutable("1", 1)
    operation = store_of(Table("shop", [Mutable])).of(Mutable).put(item)
    item.n = 2
    assert operation.params()["Item"]["n"] == {"N": "1"}
