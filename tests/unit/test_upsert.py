"""Upserts: what they write beside the changes, when they are refused, and what follows a lost answer."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any

import attrs
import pytest

from dynamap import (
    Applied,
    Attribute,
    ConditionFailed,
    DynamapError,
    F,
    GlobalIndex,
    IncompleteUpsert,
    Index,
    ItemDecodeError,
    Normalize,
    OutcomeUnknown,
    Refused,
    RequestError,
    Table,
    UnguardedWrite,
    VersionConflict,
    entity,
)
from tests.fakes import NOW, async_store_of, condition_failed, drive, lost, numbered, store_of
from tests.tiny_table import TinyTable


@attrs.frozen
class Address:
    city: str


@entity("VIEWS", pk="VIEWS#{page}", sk="VIEWS", frozen=True)
class Views:
    page: str
    count: int = 0


@entity("USER", pk="USER#{mail}", sk="USER#{number:04}", frozen=True)
class User:
    mail: Annotated[str, Normalize(str.casefold)]
    number: int
    name: str
    since: str | None
    tags: set[str]
    home: Address | None = None
    score: int = 100
    note: str = "-"
    lines: list[int] = attrs.field(factory=list[int])
    visits: Annotated[int, Attribute("v", aliases=("n",))] = 5
    twice: int = attrs.field(default=attrs.Factory(lambda self: self.score * 2, takes_self=True))


@entity("LABELS", pk="LABELS#{id}", sk="LABELS", frozen=True)
class Labels:
    id: str
    labels: frozenset[str] = frozenset({"new"})
    flags: frozenset[str] | None = None


@entity("DOC", pk="DOC#{id}", sk="DOC", version="revision", frozen=True)
class Doc:
    id: str
    title: str
    count: int = 0
    revision: int = 0


Tables = Table("things", [Views, User, Labels, Doc])
VIEWS_KEY = {"pk": {"S": "VIEWS#p"}, "sk": {"S": "VIEWS"}}
DOC_KEY = {"pk": {"S": "DOC#d"}, "sk": {"S": "DOC"}}
ON_FAILURE = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
FIRST = int(NOW * 1_000_000)
Step = Callable[[Any], Any]


def users() -> Any:
    return store_of(Tables).of(User).upsert(mail="A@x", number=7)


def docs() -> Any:
    return store_of(Tables).of(Doc).upsert(id="d")


def shown(params: dict[str, Any], parameter: str = "UpdateExpression") -> str:
    """An expression with names and values put back."""
    text: str = params[parameter]
    names, values = params.get("ExpressionAttributeNames", {}), params.get("ExpressionAttributeValues", {})
    for placeholder in sorted([*names, *values], key=len, reverse=True):
        wire = values.get(placeholder)
        text = text.replace(placeholder, names[placeholder] if wire is None else repr(next(iter(wire.values()))))
    return text


# ---- what is written


def test_the_params_are_those_of_one_update_item() -> None:
    for store in (store_of(Tables), async_store_of(Tables)):
        assert store.of(Views).upsert(page="p").add(F(Views.count), 1).params() == {
            "TableName": "things",
            "Key": VIEWS_KEY,
            "UpdateExpression": "SET #0 = if_not_exists(#0, :0), #2 = :1 ADD #1 :2",
            "ExpressionAttributeNames": {"#0": "_type", "#1": "count", "#2": "page"},
            "ExpressionAttributeValues": {":0": {"S": "VIEWS"}, ":1": {"S": "p"}, ":2": {"N": "1"}},
            "ReturnValues": "ALL_NEW",
        }


def test_a_new_item_gets_discriminator_key_fields_and_defaults() -> None:
    params = users().set(F(User.name), "x").params()
    assert params["Key"] == {"pk": {"S": "USER#a@x"}, "sk": {"S": "USER#0007"}}
    assert shown(params) == (
        "SET name = 'x', _type = if_not_exists(_type, 'USER'), mail = 'a@x', number = '7', "
        "score = if_not_exists(score, '100'), note = if_not_exists(note, '-'), lines = if_not_exists(lines, []), "
        "v = if_not_exists(v, if_not_exists(n, '5')) REMOVE n"
    )


def test_a_field_that_is_changed_gets_no_default() -> None:
    upsert = users().set(F(User.name), "x").add(F(User.score), 1).remove(F(User.note)).append(F(User.lines), 1)
    assert shown(upsert.set_if_missing(F(User.visits), 9).params()) == (
        "SET name = 'x', score = if_not_exists(score, '100') + '1', "
        "lines = list_append(if_not_exists(lines, []), [{'N': '1'}]), v = if_not_exists(v, if_not_exists(n, '9')), "
        "_type = if_not_exists(_type, 'USER'), mail = 'a@x', number = '7' REMOVE note, n"
    )


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (lambda u: u.set(F(User.name), "x"), "name = 'x'"),
        (lambda u: u.set_if_missing(F(User.name), "x"), "name = if_not_exists(name, 'x')"),
        (lambda u: u.set_fields({"name": "x"}), "name = 'x'"),
    ],
)
def test_a_field_without_default_is_given_in_any_way(step: Step, expected: str) -> None:
    assert expected in shown(step(users()).params())


def test_a_set_whose_default_is_not_empty_is_given() -> None:
    labels = store_of(Tables).of(Labels).upsert(id="x").add(F(Labels.labels), "a").set(F(Labels.flags), None)
    assert shown(labels.params()) == (
        "SET flags = True, _type = if_not_exists(_type, 'LABELS'), id = 'x' ADD labels ['a']"
    )


WHAT = "upsert of User mail='A@x', number=7: it may create the item, "
LABELS = "upsert of Labels id='x': it may create the item, "
INCOMPLETE: list[tuple[str, Callable[[], Any], str, tuple[str, ...]]] = [
    (
        "a field is missing",
        users,
        f"{WHAT}which would lack name: set it, or update() an item that exists",
        ("name",),
    ),
    (
        "two fields are missing",
        lambda: store_of(Table("pairs", [Pair])).of(Pair).upsert(id="p"),
        (
            "upsert of Pair id='p': it may create the item, which would lack one, two: set them, or update() an item "
            "that exists"
        ),
        ("one", "two"),
    ),
    (
        "a nested path",
        lambda: users().set(F(User.name), "x").set(F(User, lambda u: u.home.city if u.home else ""), "y"),
        (
            f"{WHAT}which would have no home to change home.city inside of: set home as a whole, or update() an item "
            f"that exists"
        ),
        ("home",),
    ),
    (
        "another field's value",
        lambda: users().set(F(User.name), F(User.note)),
        f"{WHAT}which would have no note to set name to: use .or_else(...), or update() an item that exists",
        ("note",),
    ),
    (
        "its own value",
        lambda: users().set(F(User.name), "x").set(F(User.score), F(User.score) + 1),
        f"{WHAT}which would have no score to set score to: use .or_else(...), or update() an item that exists",
        ("score",),
    ),
    (
        "another field's value by default",
        lambda: users().set(F(User.name), "x").set(F(User.score), F(User.score).or_else(F(User.number)) + 1),
        f"{WHAT}which would have no number to set score to: use .or_else(...), or update() an item that exists",
        ("number",),
    ),
    (
        "sets whose default is not empty",
        lambda: store_of(Tables).of(Labels).upsert(id="x"),
        (
            f"{LABELS}but a default for labels, flags would change an item that exists where the set is empty: give "
            f"them with set() or set_if_missing(), or update() an item that exists"
        ),
        ("labels", "flags"),
    ),
    (
        "one such set",
        lambda: store_of(Tables).of(Labels).upsert(id="x").set(F(Labels.flags), None),
        (
            f"{LABELS}but a default for labels would change an item that exists where the set is empty: give it with "
            f"set() or set_if_missing(), or update() an item that exists"
        ),
        ("labels",),
    ),
]


@entity("PAIR", pk="PAIR#{id}", sk="PAIR")
class Pair:
    id: str
    one: int
    two: str


@pytest.mark.parametrize(
    ("make", "text", "fields"), [each[1:] for each in INCOMPLETE], ids=[each[0] for each in INCOMPLETE]
)
def test_what_would_create_no_complete_entity_is_refused(
    make: Callable[[], Any], text: str, fields: tuple[str, ...]
) -> None:
    upsert = make()
    for attempt in (upsert.params, upsert.explain, lambda: drive(upsert._plan()).outcome):
        with pytest.raises(IncompleteUpsert) as caught:
            attempt()
        assert str(caught.value) == text
        assert caught.value.fields == fields


def test_or_else_makes_arithmetic_possible() -> None:
    upsert = users().set(F(User.name), "x").set(F(User.score), F(User.score).or_else(7) + 1)
    assert "score = if_not_exists(score, '7') + '1'" in shown(upsert.params())


REFUSED: list[tuple[str, Callable[[], Any], type[DynamapError], str]] = [
    (
        "unguarded",
        lambda: docs().set(F(Doc.title), "x").params(),
        UnguardedWrite,
        (
            "upsert of Doc id='d': the type is versioned, so a keyed write says if_version(n) or ignore_version(); "
            "if_version(0) is for an item that is not stored yet"
        ),
    ),
    (
        "unversioned, with a version",
        lambda: users().if_version(3),
        RequestError,
        "User has no version field: declare one with version=..., or leave the version out",
    ),
    (
        "unversioned, ignoring",
        lambda: users().ignore_version(),
        RequestError,
        "User has no version field: declare one with version=..., or leave the version out",
    ),
    (
        "a key field",
        lambda: users().set(F(User.number), 3),
        RequestError,
        (
            "upsert of User mail='A@x', number=7: number is part of the key, which never changes: put a new item and "
            "delete this one"
        ),
    ),
    (
        "nothing to answer",
        lambda: users().returning(),
        RequestError,
        "upsert of User mail='A@x', number=7: returning() names the fields to answer, such as returning(F(X.count))",
    ),
]


@pytest.mark.parametrize(("make", "error", "text"), [each[1:] for each in REFUSED], ids=[each[0] for each in REFUSED])
def test_what_cannot_work_is_refused(make: Callable[[], Any], error: type[DynamapError], text: str) -> None:
    with pytest.raises(DynamapError) as caught:
        make()
    assert type(caught.value) is error
    assert str(caught.value) == text


# ---- versions


def test_ignoring_the_version_adds_one_or_starts_afresh() -> None:
    params = docs().set(F(Doc.title), "x").ignore_version().params()
    assert shown(params) == (
        f"SET title = 'x', _type = if_not_exists(_type, 'DOC'), id = 'd', count = if_not_exists(count, '0'), "
        f"revision = if_not_exists(revision, '{FIRST - 1}') + '1', _w = 'w1'"
    )
    assert shown(params, "ConditionExpression") == "revision <> '0'"


def test_version_0_creates_only() -> None:
    params = docs().set(F(Doc.title), "x").if_version(0).params()
    assert shown(params) == (
        f"SET title = 'x', _type = if_not_exists(_type, 'DOC'), id = 'd', count = if_not_exists(count, '0'), "
        f"revision = '{FIRST}', _w = 'w1'"
    )
    assert shown(params, "ConditionExpression") == "attribute_not_exists(pk)"


def test_under_a_version_an_upsert_is_an_update() -> None:
    params = docs().add(F(Doc.count), 1).if_version(7).params()
    assert shown(params) == "SET revision = '8', _w = 'w1' ADD count '1'"
    assert shown(params, "ConditionExpression") == "revision = '7'"
    params = docs().add(F(Doc.count), 1).if_version(-1).params()
    assert shown(params) == f"SET revision = '{FIRST}', _w = 'w1' ADD count '1'"
    assert shown(params, "ConditionExpression") == (
        "attribute_exists(pk) AND (attribute_not_exists(revision) OR revision = '0')"
    )


# ---- against a table


def stored(**attributes: Any) -> dict[str, Any]:
    wires = {name: {"N": str(value)} if isinstance(value, int) else {"S": value} for name, value in attributes.items()}
    return {**DOC_KEY, "_type": {"S": "DOC"}, "id": {"S": "d"}, **wires}


def table_with(item: dict[str, Any] | None) -> TinyTable:
    table = TinyTable()
    if item is not None:
        table.items[("DOC#d", "DOC")] = item
    return table


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (None, Doc("d", "x", 0, FIRST)),
        (stored(title="old", count=3, revision=7), Doc("d", "x", 3, 8)),
        (stored(title="old", revision=7), Doc("d", "x", 0, 8)),
        (stored(title="old", count=3), Doc("d", "x", 3, FIRST)),
        (stored(title="old", count=3, revision=0), Doc("d", "x", 3, FIRST)),
    ],
    ids=["nothing", "versioned", "without a count", "without a version", "with version 0"],
)
@pytest.mark.parametrize("sends_item", [True, False])
def test_whatever_is_stored_the_version_rises(item: Any, expected: Doc, sends_item: bool) -> None:
    table = table_with(item)
    table._sends_item = sends_item
    driven = drive(docs().set(F(Doc.title), "x").ignore_version()._plan(), answer=table.apply)
    assert driven.outcome == expected
    assert table.items[("DOC#d", "DOC")]["revision"] == {"N": str(expected.revision)}


def test_the_old_entity_is_answered_or_none() -> None:
    table = table_with(None)
    upsert = docs().set(F(Doc.title), "x").ignore_version().returning_old()
    assert drive(upsert._plan(), answer=table.apply).outcome is None
    assert drive(upsert._plan(), answer=table.apply).outcome == Doc("d", "x", 0, FIRST)
    count = docs().add(F(Doc.count), 2).set(F(Doc.title), "y").ignore_version().returning(F(Doc.count), F(Doc.title))
    assert drive(count._plan(), answer=table.apply).outcome == (2, "y")


@pytest.mark.parametrize(
    ("item", "seen"), [(stored(title="a", revision=7), Doc("d", "a", 0, 7)), (stored(title="a"), Doc("d", "a", 0, -1))]
)
def test_version_0_over_a_stored_item_is_a_conflict(item: Any, seen: Doc) -> None:
    driven = drive(docs().set(F(Doc.title), "x").if_version(0)._plan(), answer=table_with(item).apply)
    assert isinstance(driven.error, VersionConflict)
    assert driven.error.seen == seen
    assert str(driven.error) == (
        "upsert of Doc id='d': version 0 means a new item, but one is stored already; nothing was written: read it "
        "first, or put it with if_not_exists() where this is an answer"
    )


def test_a_version_that_is_gone_is_a_conflict() -> None:
    driven = drive(docs().set(F(Doc.title), "x").if_version(7)._plan(), answer=table_with(None).apply)
    assert isinstance(driven.error, VersionConflict)
    assert driven.error.seen is None


def test_a_condition_that_nothing_stored_fails_is_the_callers() -> None:
    upsert = docs().set(F(Doc.title), "x").ignore_version().if_(F(Doc.count).ge(3))
    driven = drive(upsert._plan(), answer=table_with(None).apply)
    assert type(driven.error) is ConditionFailed
    assert driven.error.seen is None
    assert drive(upsert._try_plan(), answer=table_with(None).apply).outcome == Refused(None)
    item = stored(title="a", count=2, revision=7)
    assert drive(upsert._try_plan(), answer=table_with(item).apply).outcome == Refused(Doc("d", "a", 2, 7))
    item = stored(title="a", count=3, revision=7)
    assert drive(upsert._try_plan(), answer=table_with(item).apply).outcome == Applied(Doc("d", "x", 3, 8))


def test_an_item_of_another_type_keeps_its_type() -> None:
    table = table_with({**stored(title="a"), "_type": {"S": "OTHER"}})
    driven = drive(docs().set(F(Doc.title), "x").ignore_version()._plan(), answer=table.apply)
    assert isinstance(driven.error, ItemDecodeError)
    assert driven.error.applied
    assert table.items[("DOC#d", "DOC")]["_type"] == {"S": "OTHER"}


# ---- lost answers


def lose_first(table: TinyTable, *, applied: bool) -> Callable[[Any], Any]:
    """The table, whose first answer is lost."""
    left = [applied]

    def answer(call: Any) -> Any:
        if left:
            if left.pop():
                table.apply(call)
            raise lost()
        return table.apply(call)

    return answer


def upsert_of(step: Step) -> Any:
    store = store_of(Tables, write_ids=numbered())
    return step(store.of(Doc).upsert(id="d").set(F(Doc.title), "x"))


@pytest.mark.parametrize("applied", [True, False])
def test_a_create_is_repeated_and_recognises_itself(applied: bool) -> None:
    table = table_with(None)
    driven = drive(upsert_of(lambda u: u.if_version(0))._plan(), answer=lose_first(table, applied=applied))
    # what starts a version afresh starts later after a lost answer
    assert driven.outcome == Doc("d", "x", 0, FIRST if applied else FIRST + 1000)
    assert driven.operations == ["UpdateItem", "UpdateItem"]


@pytest.mark.parametrize("applied", [True, False])
def test_a_versioned_upsert_is_repeated_and_recognises_itself(applied: bool) -> None:
    table = table_with(stored(title="a", count=1, revision=7))
    plan = upsert_of(lambda u: u.add(F(Doc.count), 1).if_version(7))._plan()
    assert drive(plan, answer=lose_first(table, applied=applied)).outcome == Doc("d", "x", 2, 8)


@pytest.mark.parametrize("applied", [True, False])
def test_an_upsert_that_ignores_the_version_is_not_repeated(applied: bool) -> None:
    table = table_with(None)
    driven = drive(upsert_of(lambda u: u.ignore_version())._plan(), answer=lose_first(table, applied=applied))
    assert isinstance(driven.error, OutcomeUnknown)
    assert driven.operations == ["UpdateItem"]


@pytest.mark.parametrize(
    ("step", "repeats"),
    [
        (lambda u: u.set(F(User.name), "x"), True),
        (lambda u: u.set_if_missing(F(User.name), "x"), True),
        (lambda u: u.set(F(User.name), "x").discard(F(User.tags), "a"), True),
        (lambda u: u.set(F(User.name), "x").add(F(User.score), 1), False),
        (lambda u: u.set(F(User.name), "x").append(F(User.lines), 1), False),
        (lambda u: u.set(F(User.name), "x").if_(F(User.score).ge(1)), False),
        (lambda u: u.set(F(User.name), "x").returning_old(), False),
        (lambda u: u.set(F(User.name), "x").add(F(User.score), 1).at_least_once(), True),
        (lambda u: u.set(F(User.name), "x").at_most_once(), False),
    ],
)
def test_an_unversioned_upsert_is_repeated_like_an_update(step: Step, repeats: bool) -> None:
    item = {
        "pk": {"S": "USER#a@x"},
        "sk": {"S": "USER#0007"},
        "_type": {"S": "USER"},
        "mail": {"S": "a@x"},
        "number": {"N": "7"},
        "name": {"S": "x"},
    }
    replies = [lost(), {"Attributes": item}] if repeats else [lost()]
    driven = drive(step(users())._plan(), *replies)
    assert isinstance(driven.error, OutcomeUnknown) is not repeats
    assert repeats is False or driven.outcome.name == "x"


def test_a_condition_that_fails_without_a_lost_answer_is_a_refusal() -> None:
    upsert = users().set(F(User.name), "x").if_(F(User.score).ge(1))
    driven = drive(upsert._plan(), condition_failed(), {})
    assert type(driven.error) is ConditionFailed
    assert str(driven.error) == (
        "upsert of User mail='A@x', number=7: the condition does not hold; nothing was written"
    )


def test_it_is_a_part_of_a_transaction() -> None:
    store = store_of(Tables)
    upsert = store.of(Views).upsert(page="p").set(F(Views.count), 3)
    items = store.transact(upsert).params()["TransactItems"]
    alone = upsert.params()
    del alone["ReturnValues"]
    assert items == [{"Update": alone}]


def test_a_default_is_made_once_for_an_upsert() -> None:
    made = iter("abc")

    @entity("TOKEN", pk="TOKEN#{id}", sk="TOKEN")
    class Token:
        id: str
        token: str = attrs.field(factory=lambda: next(made))

    tokens = store_of(Table("tokens", [Token])).of(Token)
    upsert = tokens.upsert(id="x")
    for operation in (upsert, upsert, upsert.at_least_once()):
        assert "token = if_not_exists(token, 'a')" in shown(operation.params())
    assert "token = if_not_exists(token, 'b')" in shown(tokens.upsert(id="x").params())


def test_an_index_key_is_not_made_of_a_default_that_may_be_another_each_time() -> None:
    @entity("TOKEN", pk="TOKEN#{id}", sk="TOKEN", indexes=[Index("by-token", pk="BY#{token}", sk="TOKEN")])
    class Token:
        id: str
        token: str = attrs.field(factory=lambda: "x")

    tokens = store_of(Table("tokens", [Token], indexes=[GlobalIndex("by-token")])).of(Token)
    with pytest.raises(RequestError) as error:
        tokens.upsert(id="x").params()
    assert str(error.value).replace(Token.__qualname__, "Token") == (
        "upsert of Token id='x': the key of the index 'by-token' (by-tokenpk) cannot be known without token: set it "
        "too, or use update(item).to(changed)"
    )
    assert "BY#y" in tokens.upsert(id="x").set(F(Token.token), "y").explain()


def test_decimal_defaults_are_written_exactly() -> None:
    @entity("PRICE", pk="PRICE#{id}", sk="PRICE")
    class Price:
        id: str
        amount: Decimal = Decimal("1.10")

    params = store_of(Table("prices", [Price])).of(Price).upsert(id="x").params()
    assert "amount = if_not_exists(amount, '1.1" in shown(params)
