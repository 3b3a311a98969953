"""Renamed attributes: what older items hold under another name counts everywhere, and goes when it is written."""

from __future__ import annotations

from typing import Annotated, Any

import attrs
import pytest

from dynamap import Attribute, Condition, F, ModelError, Table, connect, entity, evolve


@attrs.frozen
class Address:
    city: str = ""


@attrs.frozen
class Profile:
    name: Annotated[str, Attribute("nick", aliases=("nickname",))] = ""


@entity("USER", pk="USER#{id}", sk="USER", frozen=True)
class User:
    id: str
    note: Annotated[str | None, Attribute(aliases=("memo",))] = None
    count: Annotated[int, Attribute("c", aliases=("n", "number"))] = 0
    lines: Annotated[list[int], Attribute("l", aliases=("log",))] = attrs.field(factory=list[int])
    address: Annotated[Address, Attribute("a", aliases=("home",))] = attrs.field(factory=Address)
    profile: Annotated[Profile, Attribute("p")] = attrs.field(factory=Profile)
    other: int = 0


Users = Table("users", [User])
NOTE, COUNT = F(User.note), F(User.count)


def users() -> Any:
    return connect(Users, endpoint_url="http://127.0.0.1:1").of(User)


def named(text: str | None, params: dict[str, Any]) -> str:
    """An expression with its names put back."""
    found = text or ""
    for placeholder, name in reversed(params["ExpressionAttributeNames"].items()):
        found = found.replace(placeholder, name)
    return found


def update_text(operation: Any) -> str:
    params = operation.params()
    return named(params["UpdateExpression"], params)


def condition_text(condition: Condition) -> str:
    params = users().put(User("a")).if_(condition).params()
    return named(params["ConditionExpression"], params)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda key: key.set(NOTE, "x"), "SET note = :0 REMOVE memo"),
        (lambda key: key.set(NOTE, None), "REMOVE note, memo"),
        (lambda key: key.remove(NOTE), "REMOVE note, memo"),
        (
            lambda key: key.set_if_missing(NOTE, "x"),
            "SET note = if_not_exists(note, if_not_exists(memo, :0)) REMOVE memo",
        ),
        (
            lambda key: key.add(COUNT, 1),
            "SET c = if_not_exists(c, if_not_exists(n, if_not_exists(number, :0))) + :1 REMOVE n, number",
        ),
        (
            lambda key: key.append(F(User.lines), 1),
            "SET l = list_append(if_not_exists(l, if_not_exists(log, :0)), :1) REMOVE log",
        ),
        (lambda key: key.set(F(User.other), COUNT), "SET other = if_not_exists(c, if_not_exists(n, number))"),
        (
            lambda key: key.set(COUNT, COUNT + 1),
            "SET c = if_not_exists(c, if_not_exists(n, number)) + :0 REMOVE n, number",
        ),
        (
            lambda key: key.set(COUNT, COUNT.or_else(3) - 1),
            "SET c = if_not_exists(c, if_not_exists(n, if_not_exists(number, :0))) - :1 REMOVE n, number",
        ),
        (lambda key: key.set(F(User, lambda user: user.address.city), "x"), "SET a.city = :0"),
    ],
    ids=[
        *("set", "set None", "remove", "set if missing", "add", "append"),
        *("copy", "add to itself", "or else", "inside"),
    ],
)
def test_an_update_counts_what_has_the_old_name_and_removes_it(make: Any, text: str) -> None:
    assert update_text(make(users().update(id="a"))) == text


def test_a_difference_removes_the_old_name_of_what_changes() -> None:
    user = User("a", "x", 1)
    assert update_text(users().update(user).to(evolve(user, count=2))) == "SET c = :0 REMOVE n, number"
    moved = evolve(user, address=Address("Rome"))
    assert update_text(users().update(user).to(moved)) == "SET a = :0 REMOVE home"
    named = evolve(user, profile=Profile("x"))
    assert update_text(users().update(user).to(named)) == "SET p.nick = :0 REMOVE p.nickname"


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (F(User.other).eq(1), "other = :0"),
        (NOTE.eq("x"), "((attribute_exists(note) AND note = :0) OR (attribute_not_exists(note) AND memo = :1))"),
        (
            NOTE.exists(),
            (
                "((attribute_exists(note) AND attribute_exists(note)) OR "
                "(attribute_not_exists(note) AND attribute_exists(memo)))"
            ),
        ),
        (
            NOTE.eq(None) & F(User.other).eq(1),
            (
                "((attribute_exists(note) AND (attribute_not_exists(note) OR note = :0)) OR "
                "(attribute_not_exists(note) AND (attribute_not_exists(memo) OR memo = :1))) AND other = :2"
            ),
        ),
        (
            ~COUNT.between(1, 2),
            (
                "NOT ((attribute_exists(c) AND (c BETWEEN :0 AND :1)) OR "
                "(attribute_not_exists(c) AND attribute_exists(n) AND (n BETWEEN :2 AND :3)) OR "
                "(attribute_not_exists(c) AND attribute_not_exists(n) AND (number BETWEEN :4 AND :5)))"
            ),
        ),
        (
            NOTE.size().gt(F(User.lines).size()),
            (
                "((attribute_exists(note) AND ((attribute_exists(l) AND size(note) > size(l)) OR "
                "(attribute_not_exists(l) AND size(note) > size(log)))) OR "
                "(attribute_not_exists(note) AND ((attribute_exists(l) AND size(memo) > size(l)) OR "
                "(attribute_not_exists(l) AND size(memo) > size(log)))))"
            ),
        ),
        (
            F(User, lambda user: user.address.city).begins_with("x"),
            (
                "((attribute_exists(a) AND begins_with(a.city, :0)) OR "
                "(attribute_not_exists(a) AND begins_with(home.city, :1)))"
            ),
        ),
    ],
    ids=["not renamed", "eq", "exists", "eq None", "not between", "two", "inside"],
)
def test_a_condition_looks_where_the_field_is_read_from(condition: Condition, text: str) -> None:
    assert condition_text(condition) == text


def test_a_version_is_not_renamed() -> None:
    @entity("DOCUMENT", pk="DOCUMENT#{id}", sk="DOCUMENT", version="revision")
    class Document:
        id: str
        revision: Annotated[int, Attribute("v", aliases=("rev",))] = 0

    with pytest.raises(ModelError) as refused:
        Table("documents", [Document])
    assert str(refused.value).endswith(
        "Document.revision is the version, so it must have no aliases, under which others would go on counting: "
        'give it the stored name alone, as Annotated[int, Attribute("...")]'
    )
