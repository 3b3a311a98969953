"""What the types promise holds at run time as well."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import inspect
import pickle
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import attrs
import pytest

from dynamap import (
    Applied,
    Condition,
    ConditionFailed,
    F,
    Field,
    ItemAlreadyExists,
    ItemNotFound,
    ModelError,
    Reason,
    Refused,
    TransactionCanceled,
    entity,
    evolve,
    mapped,
    retry_on_conflict,
)
from dynamap.errors import Failure, Failures
from tests.typing.models import (
    Account,
    Address,
    Box,
    Customer,
    Foreign,
    HandleClaim,
    Line,
    Named,
    Order,
    Registrant,
    Stock,
    UserId,
    WithInit,
)

NOW = datetime(2024, 1, 1, tzinfo=timezone.utc)


def unchecked(value: object) -> Any:
    """Hide a value from the type checkers, which would refuse what is about to be tried."""
    return value


def order_of(customer: str = "c", **fields: Any) -> Order:
    return Order(customer=UserId(customer), at=NOW, address=Address("Bonn", 53111), **fields)


# ---- what @entity makes


def test_an_entity_is_a_slotted_attrs_class() -> None:
    assert attrs.has(Order)
    assert "__dict__" not in dir(order_of())
    with pytest.raises(AttributeError):
        unchecked(Account("x")).nope = 1


def test_an_entity_takes_the_options_of_attrs() -> None:
    order = order_of()
    with pytest.raises(AttributeError):
        unchecked(order).note = "frozen"
    with pytest.raises(TypeError):
        unchecked(Order)("keywords", NOW)
    assert hash(HandleClaim("a", "b")) == hash(HandleClaim("a", "b"))
    with pytest.raises(TypeError, match="unhashable"):
        hash(Account("x"))
    match Account("x", Decimal(3)):
        case Account(key, balance):
            assert (key, balance) == ("x", Decimal(3))


def test_defaults_are_made_anew_and_class_variables_stay() -> None:
    assert order_of(lines=[Line("s", Decimal(1))]).lines
    assert order_of().lines == []
    assert order_of().lines is not order_of().lines
    assert Order.registry == {}


def test_a_private_field_keeps_its_name_in_init_as_the_checkers_say() -> None:
    secret = order_of(_token="t")
    assert evolve(secret, _token="u")._token == "u"

    @entity("P", pk="P#{id}")
    class Private:
        id: str
        _a: int = attrs.field(default=1, alias="given")
        _b: int = 2

    @entity("P2", pk="P2#{id}")
    class Child(Private):
        _c: int = 3

    made = unchecked(Child)("x", given=5, _b=6, _c=7)
    assert (made._a, made._b, made._c) == (5, 6, 7)


def test_entities_inherit_from_entities() -> None:
    customer = Customer(id="x", name="n", vip=True)
    assert customer == Customer("x", "n", vip=True)
    assert isinstance(customer, Named)

    @entity("K", pk="K#{id}", kw_only=True)
    class KeywordChild(Named):
        extra: int

    # kw_only is about the class's own fields, as for dataclasses
    assert KeywordChild("i", "n", extra=3).extra == 3


def test_super_and_init_false_work_in_the_class_that_slots_replace() -> None:
    @entity("S", pk="S#{id}")
    class Supered:
        id: str
        made: int = attrs.field(init=False, default=7)

        def __attrs_post_init__(self) -> None:
            super().__init__()
            self.made += 1

    assert Supered("x").made == 8
    assert evolve(Supered("x"), id="y").made == 8


# ---- field references


def test_a_slot_is_a_field_reference() -> None:
    balance = F(Account.balance)
    assert isinstance(balance, Field)
    assert (balance.owner, balance.path) == (Account, ("balance",))
    assert F(Order._token).path == ("_token",)
    assert F(Customer.name).owner is Named
    assert F(Customer.vip).owner is Customer


def test_a_field_that_a_subclass_defines_again_is_known_by_name() -> None:
    @entity("R", pk="R#{id}")
    class Redefined(Named):
        name: str = "other"

    assert F(Redefined.name).path == ("name",)
    assert issubclass(Redefined, F(Redefined.name).owner)


@pytest.mark.parametrize(
    ("field", "path"),
    [
        (lambda: F(Order, lambda o: o.address.city), ("address", "city")),
        (lambda: F(Order, lambda o: o.lines[0].price), ("lines", 0, "price")),
        (lambda: F(Order, lambda o: o.prices["eur"]), ("prices", "eur")),
        (lambda: F(Registrant, lambda r: r.handle), ("handle",)),
        (lambda: F(Foreign, lambda f: f.address.city if f.address else None), ("address", "city")),
        (lambda: F(Box[int], lambda b: b.value), ("value",)),
    ],
)
def test_a_lambda_names_a_path(field: Callable[[], Field[Any]], path: tuple[str | int, ...]) -> None:
    assert field().path == path


def test_a_generic_class_owns_the_fields_of_all_its_kinds() -> None:
    assert Box("i", 3).value == 3
    assert F(Box[int], lambda b: b.value).owner is Box


@pytest.mark.parametrize(
    "wrong",
    [
        3,
        None,
        Account,
        Account("x").balance,
        property(),
        unchecked(Foreign).n,
        unchecked(Registrant).email,
        unchecked(Order).registry,
    ],
    ids=lambda wrong: type(wrong).__name__,
)
def test_what_is_no_field_is_refused_with_the_form_that_always_works(wrong: object) -> None:
    with pytest.raises(TypeError, match=r"lambda \w+: \w+\.\w+"):
        F(wrong)


@pytest.mark.parametrize(
    "pick",
    [
        lambda _: 3,
        lambda o: o,
        lambda o: list(o.tags),
        lambda o: o.note == "x",
        lambda o: o.note.upper(),
    ],
    ids=["constant", "the instance", "iteration", "comparison", "call"],
)
def test_a_lambda_that_names_no_path_is_refused(pick: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match=r"F\(Order, lambda|lambda of F\("):
        F(Order, pick)


def test_a_slot_has_no_attributes_of_its_own() -> None:
    with pytest.raises(AttributeError):
        unchecked(Order.address).city


# ---- conditions


@pytest.mark.parametrize(
    "misuse",
    [
        bool,
        lambda condition: not condition,
        lambda condition: condition and condition,
        lambda condition: 1 if condition else 2,
    ],
    ids=["bool", "not", "and", "if"],
)
def test_a_condition_has_no_truth_value(misuse: Callable[[Any], object]) -> None:
    condition = F(Stock.count).ge(F(Stock.reserved)) & ~F(Stock.sku).eq("x") | F(Stock.views).not_exists()
    assert isinstance(condition, Condition)
    with pytest.raises(TypeError, match=r"& \| ~"):
        misuse(condition)


def test_fields_are_compared_by_words_not_by_operators() -> None:
    count = unchecked(F(Stock.count))
    assert (count == 5) is False
    with pytest.raises(TypeError):
        count > 5  # noqa: B015
    with pytest.raises(TypeError):
        count + 1 + 2


# ---- evolve


def test_evolve_answers_a_changed_copy_of_any_kind_of_class() -> None:
    account = Account("x")
    assert evolve(account, balance=Decimal(5)) == Account("x", Decimal(5))
    assert account == Account("x")
    assert evolve(Registrant("i", "e"), handle="h") == Registrant("i", "e", "h")
    assert unchecked(evolve)(Foreign("x"), n=3) == Foreign("x", 3)
    assert type(evolve(Customer("x", "n"), name="m")) is Customer
    assert evolve(WithInit("x", 3), seed=4).doubled == 8


@pytest.mark.parametrize("instance", [Account("x"), Registrant("i", "e"), Foreign("x"), 3], ids=repr)
def test_evolve_refuses_what_has_no_such_field(instance: object) -> None:
    with pytest.raises(TypeError):
        unchecked(evolve)(instance, nope=1)


def test_evolve_wants_the_init_only_fields_again() -> None:
    error = ValueError if sys.version_info < (3, 13) else (ValueError, TypeError)
    with pytest.raises(error, match="seed"):
        unchecked(evolve)(WithInit("x", 3), id="y")


# ---- what @entity and @mapped refuse


@dataclasses.dataclass
class DataBase:
    id: str


@attrs.define
class AttrsBase:
    id: str


@pytest.mark.parametrize("made", [DataBase, AttrsBase, Account])
def test_entity_refuses_a_class_that_is_made_already(made: type[Any]) -> None:
    with pytest.raises(ModelError, match="@mapped"):
        entity("X", pk="X#{id}")(made)


@pytest.mark.parametrize("base", [DataBase, AttrsBase])
def test_entity_refuses_fields_that_another_decorator_made(base: type[Any]) -> None:
    child = type("Child", (base,), {"__annotations__": {"n": "int"}})
    with pytest.raises(ModelError, match=f"inherits fields from {base.__name__}"):
        entity("X", pk="X#{id}")(child)


def test_mapped_refuses_a_class_without_fields() -> None:
    with pytest.raises(ModelError, match="neither"):
        mapped("X", pk="X#{id}")(type("Bare", (), {}))


@pytest.mark.parametrize("adopted", [DataBase, AttrsBase])
def test_mapped_changes_nothing_on_the_class(adopted: type[Any]) -> None:
    before = dict(vars(adopted))
    assert mapped("X", pk="X#{id}")(adopted) is adopted
    assert dict(vars(adopted)) == before


# ---- pickling and copying


@pytest.mark.parametrize("way", [lambda one: pickle.loads(pickle.dumps(one)), copy.copy, copy.deepcopy])
@pytest.mark.parametrize(
    "thing",
    [
        Account("x"),
        order_of(lines=[Line("s", Decimal(1))]),
        Customer("x", "n", vip=True),
        Box("i", 3),
        HandleClaim("a", "b"),
        Registrant("i", "e"),
        Foreign("x"),
        Applied(Account("x")),
        Refused(None),
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_plain_values_travel(thing: Any, way: Callable[[Any], Any]) -> None:
    again = way(thing)
    assert again == thing
    assert type(again) is type(thing)


def travelled(error: Any) -> Any:
    return pickle.loads(pickle.dumps(error))


def test_errors_travel_with_what_they_carry() -> None:
    error = travelled(ItemAlreadyExists("ACCOUNT x exists", seen=Account("x")))
    assert isinstance(error, ConditionFailed)
    assert (error.seen, str(error)) == (Account("x"), "ACCOUNT x exists")
    assert travelled(ItemNotFound("m", entity=Account, key={"id": "x"})).key == {"id": "x"}


def test_the_operations_of_a_cancelled_transaction_are_their_own_markers() -> None:
    one, two = unchecked(object()), unchecked(object())
    reasons = (Failure(0, None), Failure(1, Reason.CONDITION_FAILED, item=Account("x")))
    error = TransactionCanceled("m", _failures=Failures(reasons, (one, two)))
    assert error.reason_for(one) is None
    assert error.reason_for(two) is Reason.CONDITION_FAILED
    assert error.item_for(two) == Account("x")
    with pytest.raises(LookupError, match="not part"):
        error.reason_for(unchecked(object()))
    assert travelled(error).failures == error.failures
    with pytest.raises(LookupError, match="unpickled"):
        travelled(error).reason_for(one)


# ---- outcomes and retries


@pytest.mark.parametrize("outcome", [Applied(3), Refused(None)])
def test_outcomes_are_matched(outcome: Applied[int] | Refused[None]) -> None:
    match outcome:
        case Applied(stored):
            assert stored == 3
        case Refused(seen):
            assert seen is None


def test_a_retry_is_what_it_wraps() -> None:
    @retry_on_conflict
    async def coroutine(n: int) -> int:
        return n

    @retry_on_conflict(attempts=3)
    def plain(n: int) -> int:
        return n

    assert asyncio.run(coroutine(3)) == 3 == plain(3)
    assert plain.__name__ == "plain"
    assert inspect.iscoroutinefunction(coroutine)

    def generator() -> Any:
        yield 1

    with pytest.raises(TypeError, match="generator"):
        retry_on_conflict(generator)
