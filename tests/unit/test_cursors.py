"""Cursors: opened as they were sealed or not at all, and never a word about what is inside."""

from __future__ import annotations

import base64
import sys
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import dynamap.operations.cursors as module
from dynamap import CursorError, RequestError, Table, connect, connect_async, entity
from dynamap.operations import CursorKeys, cursor_keys
from tests.fakes import FakeClient

NOW = 1_700_000_000.9
SECRET = bytes(range(32))
OTHER = bytes(range(1, 33))
KEY: dict[str, Any] = {"pk": {"S": "TENANT#acme"}, "order-no": {"N": "100"}, "raw": {"B": b"\x00\xff"}}
BINDING = b"orders by customer"
# What earlier releases gave away with SECRET for KEY and BINDING at NOW. Every later one must open it: add, never edit.
GIVEN_AWAY = [
    "AfOKAX5vbjOFJSpCPGHC45XOSjXe3icQxHH5V1xcd277Fg_GhXiNzSDy-OTjNW56O1Z-2uw3anV6dQdYzMP78IJdr5mGAJ8NAAIDpUO9-5dS0oBQYg",
]

wires = (
    st.builds(lambda text: {"S": text}, st.text(max_size=20))
    | st.builds(lambda number: {"N": str(number)}, st.integers() | st.decimals(allow_nan=False, allow_infinity=False))
    | st.builds(lambda raw: {"B": raw}, st.binary(max_size=20))
)
keys = st.dictionaries(st.text(min_size=1, max_size=10), wires, max_size=10)


def keys_of(*secrets: bytes, max_age: float | None = None) -> CursorKeys:
    made = cursor_keys(secrets, max_age)
    assert made is not None
    return made


@entity("ORDER", pk="ORDER#{id}", sk="ORDER")
class Order:
    id: str


Orders = Table("orders", [Order])
ONE = keys_of(SECRET)
NO_CURSOR = "this is no cursor: give the text in the .next of a page as it was, or none for the first page"
NOT_HERE = (
    "the cursor does not belong here: it was changed, sealed with another cursor_key=, or made by another query "
    "(table, index, keys, range, filter and direction must be the same): start again with the first page"
)


@pytest.mark.parametrize("text", GIVEN_AWAY)
def test_what_was_given_away_once_is_opened_for_ever(text: str) -> None:
    assert ONE.open(text, BINDING, now=NOW) == KEY


@given(keys, st.binary(max_size=40), st.floats(0, 4e9))
def test_it_opens_as_it_was_sealed(key: dict[str, Any], binding: bytes, now: float) -> None:
    text = ONE.seal(key, binding, now=now)
    opened = ONE.open(text, binding, now=now)
    assert opened == key
    assert list(opened) == list(key)


@given(keys)
def test_its_text_needs_no_quoting_in_a_url(key: dict[str, Any]) -> None:
    text = ONE.seal(key, BINDING, now=NOW)
    assert text.isascii()
    assert text.replace("-", "").replace("_", "").isalnum()


def test_the_longest_keys_of_a_table_and_an_index_fit() -> None:
    key = {f"{'n' * 254}{number}": {"S": "x" * (1024 if number % 2 else 2048)} for number in range(10)}
    assert ONE.open(ONE.seal(key, BINDING, now=NOW), BINDING, now=NOW) == key


def test_no_two_are_the_same_and_none_shows_what_is_inside() -> None:
    texts = {ONE.seal(KEY, BINDING, now=NOW) for _ in range(100)}
    assert len(texts) == 100
    for text in texts:
        raw = base64.urlsafe_b64decode(text + "==")
        assert b"acme" not in raw
        assert b"order-no" not in raw


# ---- whatever is not the same text, under the same key, for the same query

mutations = st.one_of(
    st.tuples(st.just("put"), st.integers(0, 10_000), st.characters()),
    st.tuples(st.just("insert"), st.integers(0, 10_000), st.text(min_size=1, max_size=4)),
    st.tuples(st.just("cut"), st.integers(0, 10_000), st.integers(1, 10)),
    st.tuples(st.just("flip"), st.integers(0, 10_000), st.integers(0, 7)),
)


def mutated(text: str, mutation: tuple[str, int, Any]) -> str:
    kind, position, what = mutation
    if kind == "flip":
        raw = bytearray(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        raw[position % len(raw)] ^= 1 << what
        return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
    at = position % len(text)
    after = {"put": at + 1, "insert": at, "cut": at + what if kind == "cut" else at}[kind]
    return text[:at] + ("" if kind == "cut" else what) + text[after:]


@pytest.mark.deep
@given(keys, mutations)
@example(KEY, ("put", 10_000, "="))
def test_no_other_text_opens(key: dict[str, Any], mutation: tuple[str, int, Any]) -> None:
    text = ONE.seal(key, BINDING, now=NOW)
    changed = mutated(text, mutation)
    assume(changed != text)
    with pytest.raises(CursorError):
        ONE.open(changed, BINDING, now=NOW)


def test_another_text_of_the_same_bytes_does_not_open() -> None:
    texts = (ONE.seal({"pk": {"S": "x" * length}}, BINDING, now=NOW) for length in range(3))
    for text in texts:
        for other in (text + "=" * (-len(text) % 4 or 4), text + "\n", f" {text}", text[:-1] + successor(text[-1])):
            with pytest.raises(CursorError):
                ONE.open(other, BINDING, now=NOW)


def successor(character: str) -> str:
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return alphabet[(alphabet.index(character) + 1) % 64]


@pytest.mark.deep
@given(keys, st.binary(max_size=40), st.binary(max_size=40))
def test_it_never_opens_for_another_query(key: dict[str, Any], binding: bytes, other: bytes) -> None:
    assume(binding != other)
    with pytest.raises(CursorError) as caught:
        ONE.open(ONE.seal(key, binding, now=NOW), other, now=NOW)
    assert str(caught.value) == NOT_HERE


@given(st.text() | st.text(alphabet="ABab01-_", min_size=40))
@example("AQ" + "A" * 60)
def test_no_garbage_opens(text: str) -> None:
    with pytest.raises(CursorError):
        ONE.open(text, BINDING, now=NOW)


REFUSED: list[tuple[object, str]] = [
    ("", "a cursor is the text in the .next of a page; got an empty one: leave it out for the first page"),
    (7, "a cursor is the text in the .next of a page; got int"),
    (GIVEN_AWAY[0].encode(), "a cursor is the text in the .next of a page; got bytes"),
    ({"pk": {"S": "secret"}}, "a cursor is the text in the .next of a page; got dict"),
    ("x", NO_CURSOR),
    ("not base64!", NO_CURSOR),
    ("é" * 60, NO_CURSOR),
    (GIVEN_AWAY[0][:43], NO_CURSOR),
    (GIVEN_AWAY[0] + "=", NO_CURSOR),
    ("A" * 32_769, NO_CURSOR),
    (
        "Ag" + GIVEN_AWAY[0][2:],
        "this is no cursor that this version of dynamap can read: start again with the first page",
    ),
    (GIVEN_AWAY[0][:-4] + "AAAA", NOT_HERE),
    ("AQ" + "A" * 32_000, NOT_HERE),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_is_no_cursor_is_said_to_be_none(text: object, message: str) -> None:
    with pytest.raises(CursorError) as caught:
        ONE.open(text, BINDING, now=NOW)
    assert str(caught.value) == message


# ---- keys


def test_the_first_key_seals_and_every_key_opens() -> None:
    old, both, new = keys_of(SECRET), keys_of(OTHER, SECRET), keys_of(OTHER)
    text = old.seal(KEY, BINDING, now=NOW)
    assert both.open(text, BINDING, now=NOW) == KEY
    with pytest.raises(CursorError, match="does not belong here"):
        new.open(text, BINDING, now=NOW)
    assert new.open(both.seal(KEY, BINDING, now=NOW), BINDING, now=NOW) == KEY


def test_a_longer_key_counts_whole() -> None:
    one, other = keys_of(SECRET * 2), keys_of(SECRET + OTHER)
    with pytest.raises(CursorError, match="does not belong here"):
        other.open(one.seal(KEY, BINDING, now=NOW), BINDING, now=NOW)


def test_no_key_is_shown() -> None:
    assert repr(keys_of(SECRET, OTHER)) == "CursorKeys(<2>)"


def told(got: str) -> str:
    return (
        "cursor_key= is a secret of at least 32 bytes, or a sequence of them of which the first seals new cursors; "
        f"{got}: make one with secrets.token_bytes(32) and keep it with your other secrets"
    )


KEYS_REFUSED: list[tuple[object, object, str]] = [
    (b"", None, told("got one of 0")),
    (b"s" * 31, None, told("got one of 31")),
    ([SECRET, b"short"], None, told("got one of 5")),
    ([], None, told("got none")),
    ("s" * 32, None, told("got str")),
    (7, None, told("got int")),
    ({SECRET}, None, told("got set")),
    ([SECRET, "s" * 32], None, told("got a sequence with str")),
    (bytearray(SECRET), None, told("got a sequence with int")),
    (SECRET, 0, "cursor_max_age= is a number of seconds above 0; got 0"),
    (SECRET, -1.5, "cursor_max_age= is a number of seconds above 0; got -1.5"),
    (SECRET, float("nan"), "cursor_max_age= is a number of seconds above 0; got nan"),
    (SECRET, "60", "cursor_max_age= is a number of seconds above 0; got '60'"),
    (SECRET, True, "cursor_max_age= is a number of seconds above 0; got True"),
    (None, 60, "cursor_max_age= is about the cursors of pages, which need cursor_key=: give both"),
]


@pytest.mark.parametrize("connected", [connect, connect_async], ids=["sync", "async"])
@pytest.mark.parametrize(("secret", "max_age", "message"), KEYS_REFUSED)
def test_connecting_refuses_what_is_no_key(connected: Any, secret: object, max_age: object, message: str) -> None:
    with pytest.raises(RequestError) as caught:
        connected(Orders, client=FakeClient(), cursor_key=secret, cursor_max_age=max_age)
    assert str(caught.value) == message


@pytest.mark.parametrize("connected", [connect, connect_async], ids=["sync", "async"])
def test_a_store_has_the_keys_that_it_was_given(connected: Any) -> None:
    without, one, several = (
        connected(Orders, client=FakeClient(), cursor_key=secret)._runtime.cursor_keys
        for secret in (None, SECRET, (OTHER, SECRET))
    )
    assert without is None
    assert several.open(one.seal(KEY, BINDING, now=NOW), BINDING, now=NOW) == KEY


def test_without_the_package_connecting_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "cryptography"]:
        monkeypatch.setitem(sys.modules, name, None)
    connect(Orders, client=FakeClient())
    with pytest.raises(RequestError) as caught:
        connect(Orders, client=FakeClient(), cursor_key=SECRET)
    assert str(caught.value) == (
        'cursor_key= needs the package cryptography: install it with `pip install "dynamap[cursors]"`'
    )


# ---- age


def test_an_older_one_is_refused() -> None:
    hour = keys_of(SECRET, max_age=3600)
    text = ONE.seal(KEY, BINDING, now=1000)
    assert hour.open(text, BINDING, now=4600) == KEY
    with pytest.raises(CursorError) as caught:
        hour.open(text, BINDING, now=4600.5)
    assert str(caught.value) == "the cursor is older than the 3600 seconds of cursor_max_age: start again"


def test_one_of_a_machine_whose_clock_is_ahead_is_opened() -> None:
    hour = keys_of(SECRET, max_age=3600)
    assert hour.open(hour.seal(KEY, BINDING, now=2000), BINDING, now=1000) == KEY


def test_the_age_of_one_that_does_not_belong_here_is_not_told() -> None:
    hour = keys_of(SECRET, max_age=3600)
    with pytest.raises(CursorError, match="does not belong here"):
        hour.open(hour.seal(KEY, BINDING, now=0), b"another", now=NOW)


def test_the_format_has_a_version_that_is_sealed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    text = ONE.seal(KEY, BINDING, now=NOW)
    monkeypatch.setattr(module, "_VERSION", b"\x02")
    with pytest.raises(CursorError, match="does not belong here"):
        ONE.open("Ag" + text[2:], BINDING, now=NOW)
