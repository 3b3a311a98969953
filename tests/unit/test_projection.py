"""Projections: what is asked of the service, and that every value is the one of the whole entity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from decimal import Decimal
from typing import Annotated, Any, NamedTuple

import attrs
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from dynamap import (
    Attribute,
    DynamapError,
    EpochSeconds,
    Extras,
    F,
    Field,
    GlobalIndex,
    Index,
    ItemDecodeError,
    ItemNotFound,
    LimitExceeded,
    LocalIndex,
    RequestError,
    Table,
    entity,
    mapped,
)
from dynamap.codec import unwrapped
from dynamap.model import value_at
from dynamap.operations.partial import part_of
from dynamap.operations.projection import Projection
from dynamap.plan import Call
from dynamap.testing import MemoryEngine, memory_store
from tests.class_strategies import Made, classes
from tests.depth import how_many
from tests.fakes import store_of
from tests.shop import Account, Shop, View
from tests.value_types import exact


@attrs.frozen
class Place:
    city: str
    zip: Annotated[str | None, Attribute("post.code")] = None
    country: str = "CH"


@entity(
    "ORDER",
    pk="ORDER#{customer}",
    sk="{number:06}",
    version="revision",
    ttl="until",
    indexes=[
        Index("some", pk="STATE#{state}", sk="{customer}"),
        Index("keys", pk="STATE#{state}", sk="{number:06}"),
        Index("local", sk="{state}"),
        Index("every", pk="STATE#{state}", sk="{total_text}"),
    ],
)
class Order:
    customer: Annotated[str, Attribute(stored=False)]
    number: Annotated[int, Attribute(stored=False)]
    state: str = "open"
    total: Annotated[Decimal, Attribute("amount", aliases=("sum", "total"))] = Decimal(0)
    total_text: str = "0"
    at: Annotated[datetime | None, EpochSeconds()] = None
    place: Place | None = None
    stop: Place = attrs.field(factory=lambda: Place("Bern"))
    notes: dict[str, str] = attrs.field(factory=dict[str, str])
    tags: set[str] = attrs.field(factory=set[str])
    lines: list[Place] = attrs.field(factory=list[Place])
    until: datetime | None = None
    revision: int = 0


Orders = Table(
    "orders",
    [Order],
    ttl="ttl",
    indexes=[
        GlobalIndex("some", projection=["_type", "ttl", "state", "lines", "notes"]),
        GlobalIndex("keys", projection=["_type", "ttl"]),
        LocalIndex("local", projection=["_type", "ttl"]),
        GlobalIndex("every"),
    ],
)
ORDERS = Orders.entity(Order)
SILENT = "pk sk _type ttl"


def read(*what: Any) -> dict[str, Any]:
    repository: Any = store_of(Orders).of(Order)
    params: dict[str, Any] = repository.get(customer="c", number=1).project(*what).params()
    return params


def asked(*what: Any) -> str | None:
    """The attributes that are read, with their names put back."""
    params = read(*what)
    text: str | None = params.get("ProjectionExpression")
    if text is None:
        assert "ExpressionAttributeNames" not in params
        return None
    for placeholder, name in reversed(params["ExpressionAttributeNames"].items()):
        text = text.replace(placeholder, repr(name) if "." in name else name)
    return text.replace(",", "")


# ---- what is asked for


@attrs.frozen
class Summary:
    number: int
    state: str
    total: Decimal | None


@attrs.frozen
class Deep:
    place: Place | None


ASKED: list[tuple[tuple[Any, ...], str | None]] = [
    ((F(Order.state),), f"state {SILENT}"),
    ((F(Order.state), F(Order.at)), f"state at {SILENT}"),
    ((F(Order.state), F(Order.state)), f"state {SILENT}"),
    # every name under which it may be stored
    ((F(Order.total),), f"amount sum total {SILENT}"),
    # recovered from the key
    ((F(Order.number),), SILENT),
    ((F(Order.customer), F(Order.number)), SILENT),
    ((F(Order.until),), "ttl pk sk _type"),
    ((F(Order.revision),), f"revision {SILENT}"),
    # a missing entry and a missing map are both nothing
    ((F(Order, lambda o: o.notes["a.b"]),), f"notes.'a.b' {SILENT}"),
    ((F(Order, lambda o: o.notes["a"]), F(Order, lambda o: o.notes["b"])), f"notes.a notes.b {SILENT}"),
    ((F(Order, lambda o: o.place.zip if o.place else None),), f"place.'post.code' {SILENT}"),
    ((F(Order, lambda o: o.stop.country),), f"stop.country {SILENT}"),
    # without a city a place is damaged, but there may be no place
    ((F(Order, lambda o: o.place.city),), f"place {SILENT}"),
    ((F(Order, lambda o: o.place.country),), f"place {SILENT}"),
    # the city of no stop is Bern
    ((F(Order, lambda o: o.stop.city),), f"stop {SILENT}"),
    # items of lists come without their positions
    ((F(Order, lambda o: o.lines[1]),), f"lines {SILENT}"),
    ((F(Order, lambda o: o.lines[1].zip),), f"lines {SILENT}"),
    # overlapping paths are the shorter one
    ((F(Order, lambda o: o.notes["a"]), F(Order.notes)), f"notes {SILENT}"),
    ((F(Order.stop), F(Order, lambda o: o.stop.zip)), f"stop {SILENT}"),
    ((F(Order, lambda o: o.stop.zip), F(Order, lambda o: o.stop.city)), f"stop {SILENT}"),
    ((Summary,), f"state amount sum total {SILENT}"),
    ((Deep,), f"place {SILENT}"),
    ((Order,), None),
]


@pytest.mark.parametrize(("what", "text"), ASKED)
def test_what_is_read(what: tuple[Any, ...], text: str | None) -> None:
    assert asked(*what) == text


def test_a_request_as_a_whole() -> None:
    assert read(F(Order.state), F(Order, lambda o: o.notes["x"])) == {
        "TableName": "orders",
        "Key": {"pk": {"S": "ORDER#c"}, "sk": {"S": "000001"}},
        "ConsistentRead": True,
        "ProjectionExpression": "#0, #1.#2, #3, #4, #5, #6",
        "ExpressionAttributeNames": {
            "#0": "state",
            "#1": "notes",
            "#2": "x",
            "#3": "pk",
            "#4": "sk",
            "#5": "_type",
            "#6": "ttl",
        },
    }


def test_a_step_before_or_after_it_stays() -> None:
    orders: Any = store_of(Orders).of(Order)
    get = orders.get(customer="c", number=1)
    one = get.required().eventually_consistent().include_expired().project(F(Order.state))
    other = get.project(F(Order.state)).required().eventually_consistent().include_expired()
    assert one.params() == other.params()
    assert "ConsistentRead" not in one.params()
    assert "ProjectionExpression" not in get.params()


@pytest.mark.parametrize("what", [(F(Order.state),), (Summary,), (F(Order, lambda o: o.notes["x"]),)])
def test_a_miss_is_a_miss(what: tuple[Any, ...]) -> None:
    orders: Any = memory_store(Orders).of(Order)
    get = orders.get(customer="c", number=1).project(*what)
    assert get.send() is None
    with pytest.raises(ItemNotFound):
        get.required().send()


def test_what_has_expired_is_hidden() -> None:
    orders: Any = memory_store(Orders, clock=lambda: 2_000_000_000.0).of(Order)
    old = datetime(2001, 1, 1, tzinfo=timezone.utc)
    orders.put(Order("c", 1, state="done", until=old)).send()
    get = orders.get(customer="c", number=1).project(F(Order.state))
    assert get.send() is None
    assert get.include_expired().send() == "done"


def test_an_item_without_any_of_the_attributes_is_no_miss() -> None:
    @entity("N", pk="N#{id}", sk="N")
    class Note:
        id: str
        text: str | None = None
        count: int = 7

    table = Table("notes", [Note], discriminator=None)
    notes: Any = memory_store(table).of(Note)
    notes.put(Note("a")).send()
    engine_item = notes.get(id="a").project(F(Note.text), F(Note.id)).required().send()
    assert engine_item == (None, "a")


def test_another_type_is_said_to_be_one() -> None:
    accounts = Shop.entity(Account)
    item = {"pk": {"S": "ACCOUNT#a"}, "sk": {"S": "BALANCE"}, "_type": {"S": "OTHER"}, "balance": {"N": "1"}}
    for what in ((F(Account.balance),), (F(Account, lambda a: a.marks["x"]),)):
        with pytest.raises(ItemDecodeError) as caught:
            Projection.of(accounts, what).decode(item)
        assert str(caught.value) == (
            "the item {'pk': 'ACCOUNT#a', 'sk': 'BALANCE'} is no Account: $._type: the discriminator should be "
            "'ACCOUNT', but it says 'OTHER'"
        )


DAMAGED: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
    ((F(Order.state),), {"state": {"N": "1"}}, "$.state: a str expected, found a number (N)"),
    ((Summary,), {"amount": {"S": "1"}}, "$.total: a Decimal expected, found a text (S)"),
    (
        (F(Order, lambda o: o.notes["x"]),),
        {"notes": {"M": {"x": {"N": "1"}}}},
        "$.notes.x: a str expected, found a number (N)",
    ),
    (
        (F(Order, lambda o: o.place.city),),
        {"place": {"M": {}}},
        "$.place.city: a str expected, the attribute 'city' is missing",
    ),
]


@pytest.mark.parametrize(("what", "attributes", "problem"), DAMAGED)
def test_what_does_not_fit_is_said_with_its_path(
    what: tuple[Any, ...], attributes: dict[str, Any], problem: str
) -> None:
    item = {"pk": {"S": "ORDER#c"}, "sk": {"S": "000001"}, "_type": {"S": "ORDER"}, **attributes}
    with pytest.raises(ItemDecodeError) as caught:
        Projection.of(ORDERS, what).decode(item)
    assert str(caught.value) == f"the item {{'pk': 'ORDER#c', 'sk': '000001'}} is no Order: {problem}"


# ---- refused


@attrs.frozen
class Unknown:
    state: str
    colour: str


@attrs.frozen
class Narrow:
    at: datetime


@attrs.frozen
class Refusing:
    state: str = attrs.field(validator=attrs.validators.in_(["open"]))


HAVE = "project() of Order: the index"
HELP = "leave it out, add its attribute to the index's projection, or read whole entities with the hydrate() of a query"
REFUSED: list[tuple[tuple[Any, ...], str]] = [
    ((), "project() of Order takes one class, or fields, as project(F(Order.name)); got nothing"),
    (
        (Summary, Summary),
        "project() of Order takes one class, or fields, as project(F(Order.name)); got Summary, Summary",
    ),
    (
        (F(Order.state), Summary),
        "project() of Order takes one class, or fields, as project(F(Order.name)); got F(Order: state), Summary",
    ),
    (("state",), "Order: a field is wanted, as F(Order.name) makes it; got str"),
    ((int,), "Order: a field is wanted, as F(Order.name) makes it; got type"),
    ((F(View.page),), "F(View: page) is a field of View, but the request is about Order"),
    ((F(Order, lambda o: o.colour),), "Order has no path colour: Order has no field 'colour'"),
    (
        (Unknown,),
        "project(Unknown) of Order: Unknown.colour is no field of Order: leave it out, or name it as there",
    ),
    (
        (Narrow,),
        "project(Narrow) of Order: Narrow.at is declared as datetime, but Order.at as datetime.datetime | None: "
        "declare it the same",
    ),
]


@pytest.mark.parametrize(("what", "message"), REFUSED)
def test_what_is_no_part_of_the_entity_is_refused(what: tuple[Any, ...], message: str) -> None:
    with pytest.raises(RequestError) as caught:
        read(*what)
    assert str(caught.value) == message


def test_more_than_four_kilobytes_of_expression_are_refused() -> None:
    fields = {f"field_{number}": int for number in range(800)}
    cls = attrs.make_class("Wide", {name: attrs.field(type=kind) for name, kind in {"id": str, **fields}.items()})
    wide: Any = mapped("WIDE", pk="WIDE#{id}", sk="WIDE")(cls)
    repository: Any = store_of(Table("wide", [wide])).of(wide)
    get = repository.get(id="a").project(*(F(wide, lambda w, name=name: getattr(w, name)) for name in fields))
    with pytest.raises(LimitExceeded) as caught:
        get.params()
    assert str(caught.value) == (
        "Wide: the projection expression has 4,706 bytes; DynamoDB takes 4,096: project fewer fields"
    )


# ---- indexes


def on(index: str, *what: Any) -> Projection:
    return Projection.of(ORDERS, what, index=ORDERS.index(index).index)


HELD: list[tuple[str, tuple[Any, ...]]] = [
    ("some", (F(Order.state), F(Order.customer), F(Order.number))),
    ("some", (F(Order, lambda o: o.notes["x"]), F(Order, lambda o: o.lines[0].city))),
    ("some", (F(Order.until),)),
    ("keys", (F(Order.customer),)),
    ("every", (Order,)),
    ("every", (Summary,)),
    # what a local index does not hold is fetched from the table
    ("local", (F(Order.total), F(Order.stop))),
    ("local", (Summary,)),
    ("local", (Order,)),
]


@pytest.mark.parametrize(("index", "what"), HELD)
def test_an_index_gives_what_it_holds(index: str, what: tuple[Any, ...]) -> None:
    item = ORDERS.encode(Order("c", 1, notes={"x": "y"}, lines=[Place("Thun")], revision=3))
    whole = ORDERS.decode(item)
    found = on(index, *what).decode(item)
    assert found == Projection.of(ORDERS, what).decode(item)
    assert what != (Order,) or found == whole


@pytest.mark.parametrize("what", [(F(Order.total), F(Order.stop)), (Summary,), (Order,)])
def test_what_a_local_index_does_not_hold_comes_from_the_table(what: tuple[Any, ...]) -> None:
    # the other servers answer only what the index holds, as if the rest were not there
    orders: Any = memory_store(Orders).of(Order)
    order = orders.put(Order("c", 1, total=Decimal(9), stop=Place("Thun"))).send()
    found = orders.index("local").query(customer="c", state="open").project(*what).send()
    assert found == [Projection.of(ORDERS, what).decode(ORDERS.encode(order))]


NOT_HELD: list[tuple[str, tuple[Any, ...], str]] = [
    ("some", (F(Order.at),), f"{HAVE} 'some' does not hold at: {HELP}"),
    ("some", (F(Order.at), F(Order.state), F(Order.stop)), f"{HAVE} 'some' does not hold at, stop: {HELP}"),
    ("some", (F(Order, lambda o: o.stop.zip),), f"{HAVE} 'some' does not hold stop: {HELP}"),
    ("keys", (F(Order.state),), f"{HAVE} 'keys' does not hold state: {HELP}"),
    ("some", (Summary,), f"{HAVE} 'some' does not hold total: {HELP}"),
    # a default must not stand for what is not there to be read
    (
        "some",
        (Order,),
        f"{HAVE} 'some' does not hold total, total_text, at, place, stop, tags, revision: {HELP}",
    ),
]


@pytest.mark.parametrize(("index", "what", "message"), NOT_HELD)
def test_an_index_does_not_give_what_it_does_not_hold(index: str, what: tuple[Any, ...], message: str) -> None:
    with pytest.raises(RequestError) as caught:
        on(index, *what)
    assert str(caught.value) == message


# ---- a class of some of the fields


@dataclass(frozen=True, slots=True)
class AsDataclass:
    state: str
    number: int
    notes: dict[str, str] = field(default_factory=dict)


class AsModel(BaseModel):
    state: str
    number: int
    notes: dict[str, str]


class AsTuple(NamedTuple):
    state: str
    number: int
    notes: dict[str, str]


@entity("OTHER", pk="OTHER#{state}", sk="OTHER")
class AsEntity:
    state: str
    number: int
    notes: dict[str, str]


@attrs.define
class Computing:
    state: str
    number: int
    words: str = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.words = f"{self.number} is {self.state}"


ITEM: dict[str, Any] = {
    "pk": {"S": "ORDER#c"},
    "sk": {"S": "000007"},
    "_type": {"S": "ORDER"},
    "notes": {"M": {"a": {"S": "b"}}},
}


@pytest.mark.parametrize("cls", [AsDataclass, AsModel, AsTuple, AsEntity])
def test_any_kind_of_class_takes_the_fields(cls: Any) -> None:
    assert Projection.of(ORDERS, (cls,)).decode(ITEM) == cls(state="open", number=7, notes={"a": "b"})


def test_defaults_are_those_of_the_entity() -> None:
    @attrs.frozen
    class Other:
        state: str = "unknown"
        total: Decimal = Decimal(-1)
        revision: int = 99

    assert Projection.of(ORDERS, (Other,)).decode(ITEM) == Other("open", Decimal(0), -1)


def test_a_class_may_compute_fields_of_its_own() -> None:
    assert Projection.of(ORDERS, (Computing,)).decode(ITEM).words == "7 is open"


def test_a_class_that_refuses_the_values_says_so() -> None:
    with pytest.raises(ItemDecodeError) as caught:
        Projection.of(ORDERS, (Refusing,)).decode({**ITEM, "state": {"S": "done"}})
    assert str(caught.value) == (
        "the item {'pk': 'ORDER#c', 'sk': '000007'} is no Order: $: Refusing() refused the stored values "
        "with ValueError"
    )


def test_attribute_names_are_those_of_the_entity() -> None:
    @attrs.frozen
    class Named:
        total: Annotated[Decimal, Attribute("of_no_account")]

    assert Projection.of(ORDERS, (Named,)).decode({**ITEM, "sum": {"N": "3"}}) == Named(Decimal(3))


# ---- where a part does not tell


@entity("WHOLE", pk="WHOLE#{id}", sk="WHOLE", indexes=[Index("some", pk="{id}")])
class Whole:
    id: str
    name: str = "x"
    upper: str = attrs.field(default=attrs.Factory(lambda self: self.name.upper(), takes_self=True))
    converted: str = attrs.field(default="D", converter=str.lower)
    rest: Annotated[dict[str, Any], Extras()] = attrs.field(factory=dict[str, Any])


@mapped("HOOKED", pk="HOOKED#{id}", sk="HOOKED")
@dataclass
class Hooked:
    id: str
    name: str | None = None
    shown: str = ""
    made: int = field(init=False)

    def __post_init__(self) -> None:
        self.shown = self.shown or f"<{self.name}>"
        self.made = len(self.shown)


@mapped("WRITTEN", pk="WRITTEN#{id}", sk="WRITTEN")
@attrs.define(init=False)
class Written:
    id: str
    name: str

    def __init__(self, id: str, name: str) -> None:  # noqa: A002 - the field's name
        self.id = id
        self.name = name.strip()


Odd = Table(
    "odd", [Whole, Hooked, Written], indexes=[GlobalIndex("some", sk=(), projection=["_type", "name", "upper"])]
)
TELLING: list[tuple[Any, str, str | None]] = [
    (Whole, "name", "name pk sk _type"),
    (Whole, "converted", "converted pk sk _type"),
    (Whole, "upper", None),
    (Whole, "rest", None),
    (Hooked, "id", "id pk sk _type"),
    (Hooked, "name", None),
    (Hooked, "shown", None),
    (Hooked, "made", None),
    (Written, "name", None),
]


@pytest.mark.parametrize(("cls", "name", "text"), TELLING)
def test_what_depends_on_other_attributes_is_read_with_the_whole(cls: Any, name: str, text: str | None) -> None:
    odd = Odd.entity(cls)
    item: dict[str, Any] = {
        "pk": {"S": f"{odd.name}#1"},
        "sk": {"S": odd.name},
        "_type": {"S": odd.name},
        "id": {"S": "1"},
        "name": {"S": " ann"},
        "more": {"S": "m"},
    }
    reference = F(cls, lambda each: getattr(each, name))
    projection = Projection.of(odd, (reference,))
    assert projection.decode(item) == getattr(odd.decode(item), name)
    repository: Any = store_of(Odd).of(cls)
    params = repository.get(id="1").project(reference).params()
    names = params.get("ExpressionAttributeNames", {})
    assert (" ".join(names.values()) or None) == text


def test_what_is_stored_in_a_partial_index_is_read_there_all_the_same() -> None:
    odd = Odd.entity(Whole)
    index = odd.index("some").index
    item = {"pk": {"S": "WHOLE#1"}, "sk": {"S": "WHOLE"}, "_type": {"S": "WHOLE"}, "upper": {"S": "U"}}
    projection = Projection.of(odd, (F(Whole.upper),), index=index)
    assert projection.decode(item) == "U"
    del item["upper"]
    with pytest.raises(ItemDecodeError, match=r"\$\.upper: a str expected, the attribute 'upper' is missing"):
        projection.decode(item)


def test_attributes_of_no_field_are_not_in_a_partial_index() -> None:
    odd = Odd.entity(Whole)
    with pytest.raises(RequestError, match="the index 'some' does not hold rest"):
        Projection.of(odd, (F(Whole.rest),), index=odd.index("some").index)


# ---- every value is the one of the whole entity


def path_of(shape: Any, value: Any, draw: Callable[[Sequence[Any]], Any]) -> tuple[Any, ...]:
    """A random path that can be referred to, along a value or beside it."""
    path: tuple[Any, ...] = ()
    while True:
        inner = unwrapped(shape)
        steps: list[Any] = [*getattr(inner, "by_name", {})]
        if isinstance(value, dict):
            steps += value
        if isinstance(value, (list, tuple)):
            steps += range(len(value) + 1)
        if not steps or (path and draw([False, True, True]) is False):
            return path
        step = draw(steps)
        try:
            shape = shape.at(step)[1]
        except LookupError:
            # one that has no attribute of its own can be asked for, but nothing inside of it
            return path or (step,)
        path, value = (*path, step), value_at(value, (step,))


@settings(max_examples=how_many(quick=60, deep=20_000), deadline=None)
@pytest.mark.deep
@given(classes(), st.data())
def test_each_part_is_that_of_the_whole(made: Made, data: st.DataObject) -> None:
    try:
        table = Table("random", [mapped("RANDOM", pk="RANDOM", sk="RANDOM")(made.cls)])
        described = table.entity(made.cls)
        item = described.encode(data.draw(made.instances))
    except DynamapError:
        # what can be no entity, or cannot be stored, is another test's
        assume(False)
        raise
    lost = data.draw(st.sets(st.sampled_from(sorted(item)), max_size=3)) - {"pk", "sk", "_type"}
    item = {name: wire for name, wire in item.items() if name not in lost}
    for wire in item.values():
        if wire.get("M"):
            wire["M"].pop(data.draw(st.sampled_from([None, *wire["M"]])), None)
    try:
        whole = described.decode(item)
    except ItemDecodeError:
        assume(False)
        raise
    engine = MemoryEngine()
    repository: Any = memory_store(table, engine=engine).of(made.cls)
    engine.answer(Call("PutItem", {"TableName": "random", "Item": item}))
    drawn = lambda choices: data.draw(st.sampled_from(choices))  # noqa: E731
    paths = [path_of(described.shape, whole, drawn) for _ in range(data.draw(st.integers(1, 4)))]
    wanted = [value_at(whole, path) for path in paths]
    found = repository.get().project(*(Field(made.cls, path) for path in paths)).send()
    assert exact(found) == exact(wanted[0] if len(wanted) == 1 else tuple(wanted))


@attrs.frozen
class Plain:
    value: str | None = None


@attrs.frozen
class Renamed:
    value: Annotated[str | None, Attribute(aliases=("older",))] = None


@attrs.frozen
class Converting:
    value: str | None = attrs.field(default=None, converter=lambda value: value)


@attrs.frozen
class OfItself:
    value: str | None = attrs.field(default=attrs.Factory(lambda self: None, takes_self=True))


@dataclass
class WithHook:
    value: str | None = None

    def __post_init__(self) -> None:
        self.value = self.value or "hooked"


@dataclass
class Computed:
    value: str | None = field(init=False, default=None)


@attrs.define(init=False)
class ByHand:
    value: str | None = None

    def __init__(self, value: str | None = None) -> None:
        self.value = value


@dataclass(init=False)
class AlsoByHand:
    value: str | None = None

    def __init__(self, value: str | None = None) -> None:
        self.value = value


DEEP: list[tuple[Any, bool]] = [
    (Plain, True),
    (Renamed, False),
    (Converting, False),
    (OfItself, False),
    (WithHook, False),
    (Computed, False),
    (ByHand, False),
    (AlsoByHand, False),
]


@pytest.mark.parametrize(("inner", "deep"), DEEP)
def test_only_what_a_class_leaves_as_it_is_stored_is_read_alone(inner: Any, deep: bool) -> None:
    fields = {"id": attrs.field(type=str), "inner": attrs.field(type=inner, factory=inner)}
    cls: Any = mapped("X", pk="X#{id}", sk="X")(attrs.make_class("X", fields))
    part = part_of(Table("deep", [cls]).entity(cls), ("inner", "value"))
    assert (part is not None) is deep


def test_a_path_goes_to_the_service_as_deep_as_nothing_has_one_meaning() -> None:
    part = part_of(ORDERS, ("notes", "x"))
    assert part is not None
    assert part.absent() is None
    assert part_of(ORDERS, ("state",)) is None
