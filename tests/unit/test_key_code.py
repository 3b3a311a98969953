"""Keys by generated code are those that the key parts make, errors included."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dynamap import (
    Attribute,
    DynamapError,
    F,
    GlobalIndex,
    Index,
    Key,
    KeyValueError,
    Normalize,
    Table,
    entity,
)
from dynamap.model import Entity
from dynamap.operations.index_keys import index_attributes, stored_item


class Kind(str, Enum):
    OPEN = "open"
    ODD = "a#b"


class Word(str):
    """A str of another type."""

    __slots__ = ()


@entity("TEXT", pk="TEXT#{name}#{number}", sk="{name}")
class Text:
    name: str
    number: int


@entity("WIDE", pk="WIDE#{seq:04}#{price:09.2}", sk="{text:ordered}#{seq:04}#{kind}")
class Wide:
    seq: int
    price: Decimal
    text: str
    kind: Kind


@entity("RAW", pk="RAW#{one:raw}|{two:raw}", sk="A")
class Raw:
    one: str
    two: str | None


@entity("TIME", pk="TIME#{at}#{day}#{hour}#{tag}", sk="{id}#{flag}")
class Times:
    at: datetime
    day: date
    hour: time
    id: UUID
    flag: bool
    tag: Literal["a", "b", 1]


@entity("FOLDED", pk="FOLDED#{mail}", sk="{nick}")
class Folded:
    mail: Annotated[str, Normalize(str.casefold)]
    nick: Annotated[str, Normalize(str.strip)] | None


@entity("FIELDS")
class Fields:
    owner: Annotated[str, Attribute("pk")]
    number: Annotated[int, Attribute("sk")]


@entity("BINARY")
class Binary:
    digest: Annotated[bytes, Attribute("pk")]
    amount: Annotated[Decimal, Attribute("sk")]


@entity("ONE", pk="ONE", sk="ONE")
class One:
    count: int = 0


@entity("FIRST", pk="{id}#{rest}", sk="A")
class First:
    id: str
    rest: str


@entity("SECOND", pk="X#{id}", sk="A")
class Second:
    id: str


def only(cls: Any, **options: Any) -> Entity[Any]:
    return Table("t", [cls], **options).entity(cls)


CLASSES: Mapping[str, Entity[Any]] = {
    "texts": only(Text),
    "padded": only(Wide),
    "raw": only(Raw),
    "times": only(Times),
    "normalized": only(Folded),
    "fields": only(Fields, sk=Key("sk", int)),
    "binary": only(Binary, pk=Key("pk", bytes), sk=Key("sk", int)),
    "constant": only(One),
    "refusing": Table("t", [First, Second]).entity(First),
}

texts = st.one_of(
    st.text(max_size=6),
    st.text("#$|aA\xe9 ", max_size=8),
    st.sampled_from(["x" * 2040, "x" * 1018, "\xe9" * 1024, "\ud800", "a#\U0001f600$"]),
    st.sampled_from(list(Kind)),
    st.builds(Word, st.text("#$aA", max_size=4)),
)
numbers = st.one_of(
    st.integers(-12, 12_000), st.integers(), st.booleans(), st.sampled_from([10**37, 10**38, -(10**38), 2**9000])
)
values = st.one_of(
    texts,
    numbers,
    st.none(),
    st.binary(max_size=4),
    st.sampled_from([b"x" * 2049, bytearray(b"ab"), 1.5]),
    st.decimals(allow_nan=True, places=2),
    st.datetimes(timezones=st.sampled_from([timezone.utc, timezone(timedelta(hours=3))])),
    st.dates(),
    st.times(),
    st.uuids(),
)
FITTING: Mapping[Any, st.SearchStrategy[Any]] = {
    str: texts,
    int: numbers,
    Decimal: st.decimals(allow_nan=False, allow_infinity=False, places=2) | st.integers(0, 99_999_999).map(Decimal),
    Kind: st.sampled_from(list(Kind)),
    datetime: st.datetimes(timezones=st.just(timezone.utc)) | st.datetimes(),
    date: st.dates() | st.datetimes(),
    time: st.times(),
    UUID: st.uuids(),
    bool: st.booleans(),
    bytes: st.binary(max_size=4) | st.sampled_from([b"x" * 2049]),
}


def fitting(described: Entity[Any], name: str) -> st.SearchStrategy[Any]:
    hint = described.shape.by_name[name].field.hint
    while hint not in FITTING:
        hint = next((each for each in getattr(hint, "__args__", ()) if each is not type(None)), str)
        hint = hint if isinstance(hint, type) else str
    return FITTING[hint]


@st.composite
def keys(draw: st.DrawFn) -> tuple[Entity[Any], dict[str, Any]]:
    """Field values of one of the classes, most of them of the right type."""
    described = draw(st.sampled_from(list(CLASSES.values())))
    given_values = {
        name: draw(fitting(described, name)) if draw(st.integers(0, 9)) else draw(values)
        for name in described.key_fields
    }
    if given_values and not draw(st.integers(0, 15)):
        del given_values[draw(st.sampled_from(sorted(given_values)))]
    if not draw(st.integers(0, 15)):
        given_values["other"] = 1
    return described, given_values


def outcome(made: Callable[[], Any]) -> tuple[str, Any]:
    try:
        return "made", made()
    except DynamapError as error:
        return type(error).__name__, (str(error), str(error.__cause__))


def typed(wires: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The same with the type of every content, since equal values of two types are not the same."""
    return {name: {tag: (type(each).__name__, each) for tag, each in wire.items()} for name, wire in wires.items()}


def same(generated: tuple[str, Any], interpreted: tuple[str, Any]) -> None:
    assert generated == interpreted
    if generated[0] == "made":
        assert typed(generated[1]) == typed(interpreted[1])
        assert list(generated[1]) == list(interpreted[1])


@given(keys())
def test_a_key_of_values_is_the_one_that_its_parts_make(asked: tuple[Entity[Any], dict[str, Any]]) -> None:
    described, given_values = asked
    same(outcome(lambda: described.key(given_values)), outcome(lambda: described.key_by_parts(given_values)))


@given(keys())
def test_a_key_of_an_instance_is_the_one_that_its_parts_make(asked: tuple[Entity[Any], dict[str, Any]]) -> None:
    described, given_values = asked
    instance = object.__new__(described.cls)
    for name in described.key_fields:
        object.__setattr__(instance, name, given_values.get(name))
    by_parts = outcome(lambda: described.key_by_parts(described.key_values(instance)))
    same(outcome(lambda: described.key_of(instance)), by_parts)


USUAL: Mapping[str, dict[str, Any]] = {
    "texts": {"name": "a#b", "number": 7},
    "padded": {"seq": 12, "price": Decimal("1.50"), "text": "a b", "kind": Kind.OPEN},
    "raw": {"one": "a", "two": "b"},
    "times": {
        "at": datetime(2024, 1, 1, tzinfo=timezone.utc),
        "day": date(2024, 1, 1),
        "hour": time(1, 2),
        "id": UUID(int=5),
        "flag": True,
        "tag": "a",
    },
    "normalized": {"mail": "A@B", "nick": " x "},
    "fields": {"owner": "alice", "number": 5},
    "binary": {"digest": b"ab", "amount": Decimal("1.5")},
    "constant": {},
    "refusing": {"id": "a", "rest": "b"},
}


@pytest.mark.parametrize("name", CLASSES)
def test_generated_code_makes_the_usual_keys_by_itself(name: str) -> None:
    described, given_values = CLASSES[name], USUAL[name]
    code = described.key_code
    made = code.of_values(given_values)
    assert made == described.key_by_parts(given_values)
    instance = object.__new__(described.cls)
    for field, value in given_values.items():
        object.__setattr__(instance, field, value)
    assert code.of_instance(instance) == made


def test_another_entitys_key_is_refused_by_generated_code_too() -> None:
    with pytest.raises(KeyValueError, match="would give a key of Second"):
        CLASSES["refusing"].key({"id": "X", "rest": "b"})


# ---- indexes


@entity(
    "DOC",
    pk="DOC#{id}",
    sk="DOC",
    indexes=[Index("gsi", pk="{kind}#{category}", sk="{mail}"), Index("plain", pk="DOCS#{kind}", sk="{number:05}")],
)
class Document:
    id: str
    kind: str
    category: str | None
    mail: Annotated[str, Normalize(str.casefold)]
    number: int | None


@entity("JOB", pk="JOB#{id}", sk="JOB", indexes=[Index("gsi", pk="JOBS", sk="{id}", when=lambda: F(Job.open).eq(True))])
class Job:
    id: str
    open: bool = True


Indexed = Table("t", [Document, Job], indexes=[GlobalIndex("gsi"), GlobalIndex("plain", pk="pk1", sk="sk1")])


def by_parts(described: Entity[Any], instance: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for use in described.indexes:
        for part in use.computed:
            normal = described.normalized({name: getattr(instance, name) for name in part.fields})
            if part.is_complete(normal):
                found[part.attribute] = part.encode(normal)
    return found


@given(texts, texts, texts | st.none(), texts, numbers | st.none())
@example("a", "b", None, "C", 5)
def test_attributes_for_indexes_are_those_that_the_parts_make(
    identifier: str,
    kind: str,
    category: str | None,
    mail: str,
    number: int | None,
) -> None:
    described = Indexed.entity(Document)
    instance = Document(identifier, kind, category, mail, number)
    same(outcome(lambda: index_attributes(described, instance, {})), outcome(lambda: by_parts(described, instance)))


def test_generated_code_makes_the_attributes_for_indexes_by_itself() -> None:
    described = Indexed.entity(Document)
    made = described.index_attributes(Document("1", "text", None, "A@B", 5))
    assert made == {"gsisk": {"S": "a@b"}, "pk1": {"S": "DOCS#text"}, "sk1": {"S": "00005"}}


def test_an_index_under_a_condition_is_looked_at_by_itself() -> None:
    described = Indexed.entity(Job)
    assert described.index_attributes(Job("1")) is None
    opened, closed = (stored_item(described, Job("1", open=each), {}) for each in (True, False))
    assert {"S": "JOBS"} in opened.values()
    assert {"S": "JOBS"} not in closed.values()
