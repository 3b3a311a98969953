"""Stores and repositories: what their methods take, and what they say of wrong arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dynamap import F, KeyValueError, RequestError, Table, connect, entity
from tests.fakes import FakeClient, async_store_of, store_of


@entity("LINE", pk="ORDER#{order}", sk="LINE#{number:04}")
class Line:
    order: str
    number: int
    text: str = ""


@entity("DOC", pk="DOC#{id}", sk="DOC", version="v")
class Doc:
    id: str
    v: int = 0


@entity("SUB", pk="SUB#{order}", sk="LINE#{number:04}")
class SubLine(Line):
    more: str = ""


@entity("SINGLE", pk="SINGLE", sk="SINGLE")
class Single:
    n: int = 0


Lines = Table("lines", [Line, Doc, SubLine, Single])


def lines(store: Any) -> Any:
    return store.of(Line)


ARGUMENTS: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "an unknown key field": (
        lambda s: lines(s).get(order="o", nr=1),
        KeyValueError,
        "Line has no key field 'nr': its key is order, number",
    ),
    "a field that is no key field": (
        lambda s: lines(s).update(order="o", number=1, text="x"),
        KeyValueError,
        "Line has no key field 'text': its key is order, number",
    ),
    "no key field exists": (
        lambda s: s.of(Single).get(n=1),
        KeyValueError,
        "Single has no key field 'n': its key is the same for all its items",
    ),
    "put of another class": (
        lambda s: lines(s).put(Doc("1")),
        RequestError,
        "Repository(Line in 'lines').put() takes an instance of Line; got Doc",
    ),
    "put of a class": (
        lambda s: lines(s).put(Line),
        RequestError,
        "Repository(Line in 'lines').put() takes an instance of Line; got type",
    ),
    "put of a dict": (
        lambda s: lines(s).put({"order": "o"}),
        RequestError,
        "Repository(Line in 'lines').put() takes an instance of Line; got dict",
    ),
    "put of a subclass, whose fields would be lost": (
        lambda s: lines(s).put(SubLine("o", 1)),
        RequestError,
        "Repository(Line in 'lines').put() takes an instance of Line; got SubLine",
    ),
    "update of a text": (
        lambda s: lines(s).update("o"),
        RequestError,
        "Repository(Line in 'lines').update() takes an instance of Line; got str",
    ),
    "update of None": (
        lambda s: lines(s).update(None),
        RequestError,
        "Repository(Line in 'lines').update() takes an instance of Line; got NoneType",
    ),
    "delete of another class": (
        lambda s: lines(s).delete(Doc("1")),
        RequestError,
        "Repository(Line in 'lines').delete() takes an instance of Line; got Doc",
    ),
    "delete of two": (
        lambda s: lines(s).delete(Line("o", 1), Line("o", 2)),
        RequestError,
        "Repository(Line in 'lines').delete() takes one item that was read, or key fields by name",
    ),
    "an item and a key": (
        lambda s: lines(s).update(Line("o", 1), order="o"),
        RequestError,
        "Repository(Line in 'lines').update() takes one item that was read, or key fields by name",
    ),
}


@pytest.mark.parametrize(("use", "error", "message"), ARGUMENTS.values(), ids=ARGUMENTS)
@pytest.mark.parametrize("store", [store_of, async_store_of], ids=["sync", "async"])
def test_a_wrong_argument_is_refused_at_once(
    store: Callable[[Table], Any], use: Callable[[Any], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        use(store(Lines))
    assert type(caught.value) is error
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "use",
    [
        lambda s: lines(s).get(order="o"),
        lambda s: lines(s).update(order="o"),
        lambda s: lines(s).delete(),
        lambda s: lines(s).update(),
        lambda s: lines(s).get(order="o", number=None),
        lambda s: lines(s).get(order="o", number=10_000),
        lambda s: lines(s).get(order=7, number=1),
        lambda s: lines(s).get(order="o", number=True),
        lambda s: lines(s).get(order="x" * 3000, number=1),
    ],
)
def test_a_key_that_is_not_whole_is_refused_with_class_and_field(use: Callable[[Any], Any]) -> None:
    with pytest.raises(KeyValueError) as caught:
        use(store_of(Lines))
    text = str(caught.value)
    assert "Line" in text
    assert "order" in text or "number" in text


def test_a_positional_key_is_a_mistake_that_names_the_method() -> None:
    for store in (store_of(Lines), async_store_of(Lines)):
        with pytest.raises(TypeError, match="get"):
            lines(store).get("o")


def line_key(*, order: str, number: int) -> None: ...


def wrong_key(*, order: str) -> None: ...


def test_a_keyed_repository_takes_the_same() -> None:
    keyed: Any = store_of(Lines).of(Line, key=line_key)
    assert keyed.get(order="o", number=1).params()["Key"] == {"pk": {"S": "ORDER#o"}, "sk": {"S": "LINE#0001"}}
    assert (
        keyed.update(Line("o", 1)).set(F(Line.text), "x").params()["Key"]
        == keyed.delete(order="o", number=1).params()["Key"]
    )
    with pytest.raises(KeyValueError) as caught:
        keyed.get("o", 1)
    assert str(caught.value) == "Repository(Line in 'lines').get() takes key fields by name"


def test_key_must_name_the_key_fields() -> None:
    with pytest.raises(RequestError) as caught:
        store_of(Lines).of(Line, key=wrong_key)
    assert str(caught.value) == "key= of Line has the parameters order; the key fields are order, number"


def test_a_class_of_another_table_has_no_repository() -> None:
    with pytest.raises(RequestError, match="Line is not in Table 'docs': add it to the table's entities"):
        store_of(Table("docs", [Doc])).of(Line)


def test_other_names_for_the_same_table() -> None:
    store = store_of(Lines)
    assert store.with_name("prod-lines").of(Line).put(Line("o", 1)).params()["TableName"] == "prod-lines"
    assert lines(store).put(Line("o", 1)).params()["TableName"] == "lines"
    staged = connect(Lines, client=FakeClient(), prefix="stage-")
    assert lines(staged).get(order="o", number=1).params()["TableName"] == "stage-lines"
    assert repr(staged) == "Store('stage-lines')"


@pytest.mark.parametrize("name", ["", "ab", "a b", "x" * 256, "tabelle-ä", "a/b", "name\n"])
def test_a_name_that_dynamodb_does_not_take_is_refused(name: str) -> None:
    with pytest.raises(RequestError) as caught:
        store_of(Lines).with_name(name)
    assert str(caught.value) == (f"{name!r} is no table name: 3 to 255 letters, digits, dots, dashes and underscores")


def test_repositories_show_what_they_are() -> None:
    assert repr(lines(store_of(Lines))) == "Repository(Line in 'lines')"


def test_nothing_is_sent_before_send() -> None:
    client = FakeClient()
    store = connect(Lines, client=client)
    operation = lines(store).put(Line("o", 1)).if_not_exists()
    operation.params()
    operation.explain()
    assert client.calls == []


def test_sending_goes_through_the_client() -> None:
    client = FakeClient(lambda method, params: {})
    store = connect(Lines, client=client)
    assert lines(store).put(Line("o", 1, "x")).send() == Line("o", 1, "x")
    assert lines(store).get(order="o", number=1).send() is None
    assert [method for method, _ in client.calls] == ["put_item", "get_item"]
