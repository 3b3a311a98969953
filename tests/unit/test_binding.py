"""A bound repository: its key fields are filled in, and no other value gets past it."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamap import (
    CursorError,
    F,
    GlobalIndex,
    Index,
    KeyValueError,
    Normalize,
    RequestError,
    Table,
    connect,
    entity,
    evolve,
)
from tests.fakes import FakeClient, drive, store_of


class Region(Enum):
    EAST = "east"
    WEST = "west"


@entity("ORDER", pk="TENANT#{tenant}", sk="ORDER#{number}", version="revision")
class Order:
    tenant: str
    number: str
    total: Decimal = Decimal(0)
    revision: int = 0


@entity("NOTE", pk="NOTE#{number}", sk="OF#{tenant}")
class Note:
    number: int
    tenant: Annotated[str, Normalize(str.casefold)]
    text: str = ""


@entity("VISIT", pk="VISIT#{region}#{day}", sk="AT#{at}")
class Visit:
    region: Region
    day: int
    at: datetime
    tags: set[str] = attrs.field(factory=set[str])


Everything = Table("everything", [Order, Note, Visit])


def orders() -> Any:
    return store_of(Everything).of(Order)


def notes() -> Any:
    return store_of(Everything).of(Note)


def visits() -> Any:
    return store_of(Everything).of(Visit)


KEY = {"pk": {"S": "TENANT#acme"}, "sk": {"S": "ORDER#1"}}
MADE = {
    "get": lambda repository, **key: repository.get(**key),
    "update": lambda repository, **key: repository.update(**key).ignore_version().set(F(Order.total), Decimal(1)),
    "upsert": lambda repository, **key: repository.upsert(**key).ignore_version(),
    "delete": lambda repository, **key: repository.delete(**key).ignore_version(),
    "check": lambda repository, **key: repository.check(**key).exists(),
}


def key_of(made: Any) -> Any:
    return made._key


@pytest.mark.parametrize("verb", MADE)
def test_what_is_bound_is_filled_in(verb: str) -> None:
    bound = orders().bind(tenant="acme")
    assert key_of(MADE[verb](bound, number="1")) == KEY
    # giving it all the same is fine, as long as it is the same
    assert key_of(MADE[verb](bound, number="1", tenant="acme")) == KEY


@pytest.mark.parametrize("verb", MADE)
def test_another_value_is_refused(verb: str) -> None:
    with pytest.raises(KeyValueError) as caught:
        MADE[verb](orders().bind(tenant="acme"), number="1", tenant="other")
    assert str(caught.value) == (
        "Order.tenant is bound to 'acme' here, but 'other' was given: leave it out, or bind another repository"
    )


@pytest.mark.parametrize("verb", ["put", "update", "delete"])
def test_an_item_with_another_value_is_refused(verb: str) -> None:
    bound = orders().bind(tenant="acme")
    assert getattr(bound, verb)(Order("acme", "1", revision=3))._key == KEY
    with pytest.raises(KeyValueError) as caught:
        getattr(bound, verb)(Order("other", "1", revision=3))
    assert str(caught.value) == (
        "Order.tenant is bound to 'acme' here, but 'other' was given: leave it out, or bind another repository"
    )


def test_a_rewrite_cannot_leave_what_is_bound() -> None:
    order = Order("acme", "1", revision=3)
    with pytest.raises(RequestError):
        orders().bind(tenant="acme").update(order).to(evolve(order, tenant="other")).params()
    with pytest.raises(RequestError):
        orders().bind(tenant="acme").update(number="1").ignore_version().set(F(Order.tenant), "other").params()


def test_keys_of_items_are_bound_too() -> None:
    key = orders().bind(tenant="acme").key(number="1")
    assert key == orders().key(tenant="acme", number="1")
    with pytest.raises(KeyValueError):
        orders().bind(tenant="acme").key(tenant="other", number="1")


def test_a_read_asks_for_the_bound_key_only() -> None:
    driven = drive(orders().bind(tenant="acme").get(number="1")._plan(), {})
    assert [call.params["Key"] for call in driven.calls] == [KEY]


def test_binding_again_adds_and_never_replaces() -> None:
    bound = orders().bind(tenant="acme")
    assert bound.bind(number="1").get()._key == KEY
    assert bound.bind(tenant="acme").get(number="1")._key == KEY
    with pytest.raises(KeyValueError) as caught:
        bound.bind(tenant="other")
    assert str(caught.value) == (
        "Order.tenant is bound to 'acme' here, but 'other' was given: leave it out, or bind another repository"
    )


def test_the_repository_itself_stays_unbound() -> None:
    repository = orders()
    repository.bind(tenant="acme")
    assert repository.get(tenant="other", number="1")._key["pk"] == {"S": "TENANT#other"}
    assert repr(repository.bind(tenant="acme")) == "Repository(Order in 'everything', tenant='acme')"


def test_of_a_repository_with_a_typed_key() -> None:
    def order_key(*, tenant: str, number: str) -> None: ...

    repository: Any = store_of(Everything).of(Order, key=order_key)
    assert repository.bind(tenant="acme").get(number="1")._key == KEY
    with pytest.raises(KeyValueError):
        repository.bind(tenant="acme").get(number="1", tenant="other")


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ({}, "Repository(Order in 'everything').bind() takes key fields by name: tenant, number"),
        ({"total": 3}, "Order has no key field 'total' to bind: its key is tenant, number"),
        ({"tenant": None}, "Order.tenant is missing: the key needs a value for it"),
        (
            {"tenant": 5},
            "Order.tenant has no key: a str expected, got int; use str(value)",
        ),
    ],
)
def test_what_cannot_be_bound(key: dict[str, Any], message: str) -> None:
    with pytest.raises(KeyValueError) as caught:
        orders().bind(**key)
    assert str(caught.value) == message


def test_values_are_compared_as_keys_hold_them() -> None:
    bound = notes().bind(tenant="ACME")
    assert bound.get(number=1)._key == {"pk": {"S": "NOTE#1"}, "sk": {"S": "OF#acme"}}
    assert bound.get(number=1, tenant="acme")._key == bound.get(number=1)._key
    assert bound.put(Note(1, "Acme"))._key == bound.get(number=1)._key
    noon = datetime(2024, 1, 1, 12, tzinfo=timezone.utc)
    elsewhere = noon.astimezone(timezone(timedelta(hours=5)))
    visit = visits().bind(at=noon)
    assert visit.get(region=Region.EAST, day=1, at=elsewhere)._key == visit.get(region=Region.EAST, day=1)._key
    with pytest.raises(KeyValueError):
        visit.get(region=Region.EAST, day=1, at=noon + timedelta(microseconds=1))


@pytest.mark.parametrize("other", [True, 1.0, "1", Decimal(1), 2, None], ids=repr)
def test_what_is_merely_equal_is_another_value(other: Any) -> None:
    with pytest.raises(KeyValueError):
        visits().bind(day=1).get(region=Region.EAST, at=datetime.now(timezone.utc), day=other)
    with pytest.raises(KeyValueError):
        visits().bind(region=Region.EAST).get(region="east", at=datetime.now(timezone.utc), day=1)


NASTY = st.lists(
    st.sampled_from(["#", "$", "23", "24", "a", "%", "{", "}", "{id}", "\x00", "\uffff", "é", "TENANT#", "ORDER#"])
    | st.characters(exclude_categories=["Cs"]),
    min_size=1,
    max_size=12,
).map("".join)


@given(tenant=NASTY, other=NASTY, number=NASTY)
def test_no_input_of_one_tenant_makes_a_key_of_another(tenant: str, other: str, number: str) -> None:
    bound = orders().bind(tenant=tenant)
    own = orders().get(tenant=tenant, number="1")._key["pk"]
    for make in MADE.values():
        assert key_of(make(bound, number=number))["pk"] == own
    assert bound.put(Order(tenant, number))._key["pk"] == own
    if other != tenant:
        assert orders().get(tenant=other, number="1")._key["pk"] != own
        for make in MADE.values():
            with pytest.raises(KeyValueError):
                make(bound, number=number, tenant=other)
        for verb in ("put", "update", "delete"):
            with pytest.raises(KeyValueError):
                getattr(bound, verb)(Order(other, number, revision=1))


# ---- queries, indexes and batches


@entity(
    "TICKET",
    pk="TICKETS#{tenant}",
    sk="{state}#{number:06}",
    indexes=[
        Index("by_mail", pk="MAIL#{mail}", sk="{number:06}"),
        Index("by_owner", pk="OWNER#{owner}", sk="OF#{tenant}#{number:06}"),
        Index("by_day", pk="DAY#{day}", sk="{mail}#{tenant}"),
    ],
)
class Ticket:
    tenant: str
    state: str
    number: int
    mail: str = "m"
    owner: str = "o"
    day: str = "d"


Tickets = Table("tickets", [Ticket], indexes=[GlobalIndex(name) for name in ("by_mail", "by_owner", "by_day")])


def tickets() -> Any:
    return store_of(Tickets).of(Ticket).bind(tenant="acme")


def key_condition(query: Any) -> tuple[str, list[Any]]:
    params = query.params()
    values = params["ExpressionAttributeValues"]
    return params["KeyConditionExpression"], [next(iter(value.values())) for value in values.values()]


def test_a_query_is_one_of_the_bound_partition() -> None:
    whole = store_of(Tickets).of(Ticket)
    assert tickets().query().params() == whole.query(tenant="acme").params()
    assert tickets().query(state="open").params() == whole.query(tenant="acme", state="open").params()
    with pytest.raises(KeyValueError) as caught:
        tickets().query(tenant="other")
    assert str(caught.value) == (
        "Ticket.tenant is bound to 'acme' here, but 'other' was given: leave it out, or bind another repository"
    )


def test_an_index_that_has_what_is_bound_is_queried_with_it() -> None:
    bound = tickets().index("by_owner").query(owner="x")
    assert bound.params() == store_of(Tickets).of(Ticket).index("by_owner").query(owner="x", tenant="acme").params()
    assert "OF#acme#" in key_condition(bound)[1]
    with pytest.raises(KeyValueError):
        tickets().index("by_owner").query(owner="x", tenant="other")


def test_an_index_that_would_show_others_is_refused() -> None:
    with pytest.raises(RequestError) as caught:
        tickets().index("by_mail").query(mail="m")
    assert str(caught.value) == (
        "Ticket.tenant is bound here, but no part of the key that is asked for, so items with other values would be "
        "read too: use a key that has it, or do not bind it"
    )
    # what comes before it in the key must be given
    with pytest.raises(KeyValueError):
        tickets().index("by_day").query(day="d")
    assert "m#acme" in key_condition(tickets().index("by_day").query(day="d", mail="m"))[1]


def test_what_has_no_key_is_refused() -> None:
    with pytest.raises(RequestError):
        tickets()._scope.filled({}, ())


def test_keys_and_items_of_batches_are_bound() -> None:
    bound, whole = tickets(), store_of(Tickets).of(Ticket)
    keys = [{"state": "open", "number": 1}, bound.key(state="open", number=2), Ticket("acme", "open", 3)]
    driven = drive(bound.get_many(keys)._plan(), {"Responses": {}, "UnprocessedKeys": {}})
    asked = driven.calls[0].params["RequestItems"]["tickets"]["Keys"]
    assert [key["pk"] for key in asked] == [{"S": "TICKETS#acme"}] * 3
    others = [
        {"state": "open", "number": 1, "tenant": "other"},
        whole.key(tenant="other", state="open", number=1),
        Ticket("other", "open", 1),
    ]
    for other in others:
        for made in (bound.get_many([other]), bound.delete_many([other])):
            driven = drive(made._plan())
            assert isinstance(driven.error, KeyValueError)
            assert driven.calls == []
    driven = drive(bound.put_many([Ticket("other", "open", 1)])._plan())
    assert isinstance(driven.error, KeyValueError)
    assert driven.calls == []


@given(tenant=NASTY, other=NASTY, state=NASTY)
def test_no_query_of_one_tenant_reaches_another(tenant: str, other: str, state: str) -> None:
    bound = store_of(Tickets).of(Ticket).bind(tenant=tenant)
    whole = store_of(Tickets).of(Ticket)
    foreign = whole.put(Ticket(other, state, 1)).params()["Item"]
    for query in (bound.query(), bound.query(state=state)):
        pk = query.params()["ExpressionAttributeValues"].values()
        assert (foreign["pk"] in pk) is (other == tenant)
    owned = bound.index("by_owner").query(owner="o")
    texts = key_condition(owned)[1]
    prefix = next(text for text in texts if text.startswith("OF#"))
    assert foreign["by_ownersk"]["S"].startswith(prefix) is (other == tenant)


def test_a_cursor_of_one_tenant_opens_nothing_of_another() -> None:
    store: Any = connect(Tickets, client=FakeClient(), cursor_key=b"k" * 32)
    acme, other = (store.of(Ticket).bind(tenant=tenant) for tenant in ("acme", "other"))
    item = acme.put(Ticket("acme", "open", 1)).params()["Item"]
    reply = {"Items": [item], "LastEvaluatedKey": {name: item[name] for name in ("pk", "sk")}}
    page = drive(acme.query().page_size(1).page()._plan(), reply).result
    assert page.next is not None
    assert drive(acme.query().page_size(1).page(page.next)._plan(), {"Items": []}).result.items == []
    driven = drive(other.query().page_size(1).page(page.next)._plan())
    assert isinstance(driven.error, CursorError)
    assert driven.calls == []
