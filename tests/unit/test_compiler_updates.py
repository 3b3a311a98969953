"""The compiler of updates: every action's text, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from dynamap import F, RequestError, Table
from dynamap.expressions import UpdateCompiler
from tests.everything import X, Y
from tests.fakes import store_of

Entity = Table("table", [X, Y]).entity(X)


def updated(change: Callable[[Any], Any]) -> str:
    params = change(store_of(Table("table", [X])).of(X).update(id="1")).params()
    names, values = params.get("ExpressionAttributeNames", {}), params.get("ExpressionAttributeValues", {})
    shown = {**names, **{name: f"{kind}:{value}" for name, wire in values.items() for kind, value in wire.items()}}
    return re.sub(r"[#:]\d+", lambda match: f"<{shown[match[0]]}>", params["UpdateExpression"])


UPDATES: list[tuple[Callable[[Any], Any], str]] = [
    (lambda u: u.set(F(X.n), 1), "SET <n> = <N:1>"),
    (lambda u: u.set(F(X.n), F(X.m)), "SET <n> = <m>"),
    (lambda u: u.set(F(X.n), F(X.n) + 1), "SET <n> = <n> + <N:1>"),
    (lambda u: u.set(F(X.n), F(X.n) - F(X.m)), "SET <n> = <n> - <m>"),
    (lambda u: u.set(F(X.n), 10 - F(X.n)), "SET <n> = <N:10> - <n>"),
    (lambda u: u.set(F(X.n), F(X.m).or_else(5)), "SET <n> = if_not_exists(<m>, <N:5>)"),
    (lambda u: u.set(F(X.n), F(X.m).or_else(F(X.n))), "SET <n> = if_not_exists(<m>, <n>)"),
    (lambda u: u.set(F(X.n), F(X.m).or_else(0) + F(X.n)), "SET <n> = if_not_exists(<m>, <N:0>) + <n>"),
    (lambda u: u.set(F(X.price), F(X.price) + 1), "SET <price> = <price> + <N:1>"),
    (lambda u: u.set(F(X.price), F(X.price) - Decimal("0.5")), "SET <price> = <price> - <N:0.5>"),
    (lambda u: u.set(F(X.note), None), "REMOVE <note>"),
    (lambda u: u.set(F(X.greeting), None), "SET <greeting> = <NULL:True>"),
    (lambda u: u.set(F(X.maybe_tags), None), "SET <maybe_tags> = <NULL:True>"),
    (lambda u: u.set(F(X.maybe_tags), set()), "REMOVE <maybe_tags>"),
    (lambda u: u.set(F(X, lambda x: x.address.zip), None), "SET <address>.<post.code> = <NULL:True>"),
    (lambda u: u.set(F(X, lambda x: x.lines[1].city), "a"), "SET <lines>[1].<city> = <S:a>"),
    (lambda u: u.set(F(X, lambda x: x.marks["a.b"]), 1), "SET <marks>.<a.b> = <N:1>"),
    (lambda u: u.remove(F(X, lambda x: x.marks["a"]), F(X.note)), "REMOVE <marks>.<a>, <note>"),
    (lambda u: u.set(F(X.mail), "A@B"), "SET <mail> = <S:a@b>"),
    (lambda u: u.set(F(X.size), 1).set(F(X.dotted), "x"), "SET <size> = <N:1>, <a.b> = <S:x>"),
    (lambda u: u.add(F(X.n), -2), "ADD <n> <N:-2>"),
    (lambda u: u.add(F(X.price), 2), "ADD <price> <N:2>"),
    (lambda u: u.add(F(X.tags), "b", "a", "b"), "ADD <tags> <SS:['a', 'b']>"),
    (lambda u: u.add(F(X.numbers), 10, 9), "ADD <numbers> <NS:['10', '9']>"),
]


@pytest.mark.parametrize(("change", "text"), UPDATES, ids=[text for _, text in UPDATES])
def test_every_action_has_its_text(change: Callable[[Any], Any], text: str) -> None:
    assert updated(change) == text


REFUSED_UPDATES: list[tuple[Callable[[Any], Any], str]] = [
    (
        lambda u: u.add(F(X.text), "a"),
        "X.text: add() takes one amount for a number or elements for a set; this field holds str",
    ),
    (
        lambda u: u.add(F(X.at), 1),
        "X.at: add() takes one amount for a number or elements for a set; this field holds datetime",
    ),
    (
        lambda u: u.add(F(X.n), 1, 2),
        "X.n: add() takes one amount for a number or elements for a set; this field holds int",
    ),
    (lambda u: u.add(F(X.n), True), "X $.n: an int expected, got bool"),
    (lambda u: u.add(F(X.n), 1.5), "X $.n: an int expected, got float"),
    (lambda u: u.add(F(X.tags), 1), "X $.tags"),
    (lambda u: u.add(F(X.tags), ["a"]), "X.tags: add() takes the elements one by one"),
    (lambda u: u.set(F(X.n), "1"), "X $.n: an int expected, got str"),
    (lambda u: u.set(F(X.n), F(X.n) + "1"), "X $.n: an int expected, got str"),
    (lambda u: u.set(F(X.n), F(Y.n)), "F(Y: n) is a field of Y, but the request is about X"),
    (lambda u: u.set(F(X.n), F(X.n).size()), "X $.n: an int expected, got Size"),
    (lambda u: u.set("n", 1), "X: a field is wanted, as F(X.name) makes it; got str"),
    (lambda u: u.set(F(X.n), 1).set(F(X.n), 2), "X: one update changes n and n, which are the same: leave one out"),
    (
        lambda u: u.set(F(X, lambda x: x.lines[0].city), "a").remove(F(X, lambda x: x.lines[0])),
        "X: one update changes lines.0.city and lines.0, which overlap: leave one out",
    ),
]


@pytest.mark.parametrize(("change", "message"), REFUSED_UPDATES, ids=[message for _, message in REFUSED_UPDATES])
def test_an_action_is_refused_while_it_is_built(change: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(RequestError) as caught:
        updated(change)
    assert str(caught.value).startswith(message)


def test_paths_beside_each_other_do_not_conflict() -> None:
    text = updated(
        lambda u: (
            u.set(F(X, lambda x: x.address.city), "a")
            .set(F(X, lambda x: x.address.zip), 1)
            .set(F(X, lambda x: x.lines[0].city), "a")
            .set(F(X, lambda x: x.lines[1].city), "a")
        )
    )
    assert text.count("=") == 4


def test_one_compiler_numbers_condition_and_update_together() -> None:
    compiler = UpdateCompiler(Entity)
    update = compiler.update([], [(("n",), compiler.value({"N": "1"}))])
    condition = compiler.condition([F(X.n).eq(0), F(X.m).eq(2)])
    assert (update, condition) == ("SET #0 = :0", "#0 = :1 AND #1 = :2")
    assert compiler.placeholders() == {
        "ExpressionAttributeNames": {"#0": "n", "#1": "m"},
        "ExpressionAttributeValues": {":0": {"N": "1"}, ":1": {"N": "0"}, ":2": {"N": "2"}},
    }
