"""boto3's own conversion and dynamap's agree: what one of them stores, the other reads as an equal value."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import attrs
from boto3.dynamodb.types import Binary, TypeDeserializer, TypeSerializer
from hypothesis import given
from hypothesis import strategies as st

from dynamap import Table, entity

TEXT = st.text(max_size=20)
BYTES = st.binary(max_size=20)
INTEGERS = st.integers(-(10**38) + 1, 10**38 - 1)
DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**20), max_value=10**20)
SETS = st.one_of(st.sets(TEXT, min_size=1), st.sets(DECIMALS, min_size=1), st.sets(BYTES, min_size=1))
SINGLES = st.one_of(st.none(), st.booleans(), TEXT, DECIMALS, BYTES)
ANYTHING = st.recursive(
    st.one_of(SINGLES, SETS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXT.filter(bool), inner, max_size=4)),
    max_leaves=8,
)


@attrs.frozen
class Line:
    name: str
    price: Decimal
    note: str | None = None


@entity("ORDER", pk="ORDER#{id}", sk="ORDER", frozen=True)
class Order:
    id: str
    number: int = 0
    price: Decimal = Decimal(0)
    paid: bool = False
    data: bytes = b""
    tags: set[str] = attrs.field(factory=set[str])
    sizes: frozenset[int] = frozenset()
    parts: set[bytes] = attrs.field(factory=set[bytes])
    lines: list[Line] = attrs.field(factory=list[Line])
    prices: dict[str, Decimal] = attrs.field(factory=dict[str, Decimal])
    anything: Any = None


ORDERS = st.builds(
    Order,
    id=TEXT.filter(bool),
    number=INTEGERS,
    price=DECIMALS,
    paid=st.booleans(),
    data=BYTES,
    tags=st.sets(TEXT),
    sizes=st.frozensets(INTEGERS),
    parts=st.sets(BYTES),
    lines=st.lists(st.builds(Line, TEXT, DECIMALS, st.none() | TEXT), max_size=3),
    prices=st.dictionaries(TEXT.filter(bool), DECIMALS),
    anything=ANYTHING,
)
described = Table("orders", [Order]).entity(Order)


def plain(value: Any) -> Any:
    """A value without boto3's class for bytes."""
    if isinstance(value, Binary):
        return value.value
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return {plain(each) for each in value} if isinstance(value, set) else value


def as_boto3_has_it(order: Order) -> dict[str, Any]:
    """The attributes of an order as boto3's users write them: an empty set is left out, and so is None."""
    values = {**attrs.asdict(order), "sizes": set(order.sizes)}
    return {name: value for name, value in values.items() if value is not None and value != set()}


@given(ORDERS)
def test_boto3_reads_what_dynamap_stores(order: Order) -> None:
    read = TypeDeserializer()
    stored = {name: plain(read.deserialize(wire)) for name, wire in described.encode(order).items()}
    key = described.key_of(order)
    assert stored == {"pk": key["pk"]["S"], "sk": "ORDER", "_type": "ORDER", **as_boto3_has_it(order)}


@given(ORDERS)
def test_dynamap_reads_what_boto3_stores(order: Order) -> None:
    write = TypeSerializer()
    item = {name: write.serialize(value) for name, value in as_boto3_has_it(order).items()}
    assert described.decode({**item, "_type": {"S": "ORDER"}, **described.key_of(order)}) == order


@given(ORDERS)
def test_dynamap_reads_none_that_boto3_stores(order: Order) -> None:
    item = {name: TypeSerializer().serialize(value) for name, value in as_boto3_has_it(order).items()}
    item["anything"] = {"NULL": True}
    assert described.decode({**item, "_type": {"S": "ORDER"}}) == attrs.evolve(order, anything=None)
