"""Operations against a server, in both modes: what is stored exactly, what survives, and what each refusal is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Annotated, Any

import attrs
import pytest

from dynamap import (
    Applied,
    Attribute,
    ConditionFailed,
    ConflictingUpdate,
    EncodeError,
    F,
    ItemAlreadyExists,
    ItemDecodeError,
    ItemNotFound,
    KeyValueError,
    Refused,
    Repository,
    RequestError,
    ServiceError,
    Store,
    Table,
    VersionConflict,
    entity,
    evolve,
)
from dynamap.testing import FaultPlan
from tests.backends import Backend
from tests.modes import Mode, RawTable

Wait = Callable[[Any], Any]

NOW = 1_700_000_000.25
FIRST = 1_700_000_000_250_000


@entity("ACCOUNT", pk="ACCOUNT#{id}", sk="BALANCE", version="revision")
class Account:
    id: str
    balance: Decimal = Decimal(0)
    owner: str | None = None
    revision: int = 0


@attrs.frozen
class Street:
    name: str
    number: int | None = None


@attrs.frozen
class Address:
    city: str
    street: Street | None = None
    tags: frozenset[str] = frozenset()


@entity("NOTE", pk="NOTE#{id}", sk="NOTE", aliases=("MEMO",))
class Note:
    id: str
    text: str = ""
    size: int = 0
    status: Annotated[str | None, Attribute("the.status")] = None
    tags: set[str] = attrs.field(factory=set[str])
    codes: set[int] = attrs.field(factory=set[int])
    blob: bytes = b""
    address: Address | None = None
    labels: dict[str, Any] = attrs.field(factory=dict[str, Any])
    lines: list[int] = attrs.field(factory=list[int])


@pytest.fixture
def store(mode: Mode, backend: Backend, raw: RawTable) -> Store[Any]:
    table = Table(raw.name, [Account, Note])
    return mode.connect(table, backend, clock=lambda: NOW, write_ids=lambda: "mine")


@pytest.fixture
def unsent(mode: Mode, embedded_backend: Backend) -> Iterator[Store[Any]]:
    """A store through which nothing may be sent."""
    plan = FaultPlan()
    yield plan.over(mode.connect(Table("unsent", [Account, Note]), embedded_backend))
    assert plan.calls == []


@pytest.fixture
def wait(mode: Mode) -> Wait:
    return mode.wait


@pytest.fixture
def accounts(store: Store[Any]) -> Repository[Any, Account]:
    return store.of(Account)


@pytest.fixture
def notes(store: Store[Any]) -> Repository[Any, Note]:
    return store.of(Note)


NOTE_KEY = ("NOTE#n", "NOTE")
ACCOUNT_KEY = ("ACCOUNT#a", "BALANCE")

STORED_ACCOUNT = {
    "pk": {"S": "ACCOUNT#a"},
    "sk": {"S": "BALANCE"},
    "_type": {"S": "ACCOUNT"},
    "_w": {"S": "mine"},
    "id": {"S": "a"},
    "balance": {"N": "12.5"},
    "revision": {"N": str(FIRST)},
}
EMPTY_NOTE = {
    "pk": {"S": "NOTE#n"},
    "sk": {"S": "NOTE"},
    "_type": {"S": "NOTE"},
    "id": {"S": "n"},
    "text": {"S": ""},
    "size": {"N": "0"},
    "blob": {"B": b""},
    "labels": {"M": {}},
    "lines": {"L": []},
}


def damaged(changes: dict[str, Any]) -> dict[str, Any]:
    """The stored form of an empty note with other attributes; None leaves one out."""
    return {name: wire for name, wire in {**EMPTY_NOTE, **changes}.items() if wire is not None}


# ---- what is stored


def test_a_put_stores_fields_discriminator_version_write_id_and_key_and_nothing_else(
    accounts: Repository[Any, Account], raw: RawTable, wait: Wait
) -> None:
    put = Account("a", Decimal("12.5"))
    stored = wait(accounts.put(put).send())
    assert raw.get(*ACCOUNT_KEY) == STORED_ACCOUNT
    assert stored == Account("a", Decimal("12.5"), None, FIRST)
    assert put == Account("a", Decimal("12.5"))
    assert wait(accounts.get(id="a").send()) == stored


def test_empty_values_are_stored_and_none_and_empty_sets_are_not(
    notes: Repository[Any, Note], raw: RawTable, wait: Wait
) -> None:
    wait(notes.put(Note("n")).send())
    assert raw.get(*NOTE_KEY) == EMPTY_NOTE
    assert wait(notes.get(id="n").send()) == Note("n")


def test_empty_and_null_values_inside_containers_come_back_as_they_were(
    notes: Repository[Any, Note], raw: RawTable, wait: Wait
) -> None:
    labels = {"a": "", "b": {"c": "", "d": None}, "l": [None, 1, "", {}, []], "s": {""}}
    address = Address("", None, frozenset())
    note = Note("n", labels=labels, address=address, tags={""})
    wait(notes.put(note).send())
    item = raw.get(*NOTE_KEY)
    assert item is not None
    assert item["labels"] == {
        "M": {
            "a": {"S": ""},
            "b": {"M": {"c": {"S": ""}, "d": {"NULL": True}}},
            "l": {"L": [{"NULL": True}, {"N": "1"}, {"S": ""}, {"M": {}}, {"L": []}]},
            "s": {"SS": [""]},
        }
    }
    assert item["address"] == {"M": {"city": {"S": ""}, "street": {"NULL": True}, "tags": {"L": []}}}
    assert item["tags"] == {"SS": [""]}
    assert wait(notes.get(id="n").send()) == note


def test_a_put_replaces_the_whole_item(notes: Repository[Any, Note], raw: RawTable, wait: Wait) -> None:
    raw.put(*NOTE_KEY, newer={"S": "kept by a newer release"}, text={"S": "old"})
    assert wait(notes.put(Note("n", "new")).send()) == Note("n", "new")
    assert raw.get(*NOTE_KEY) == {**EMPTY_NOTE, "text": {"S": "new"}}


def test_a_get_of_what_is_not_there_is_none_or_item_not_found(notes: Repository[Any, Note], wait: Wait) -> None:
    assert wait(notes.get(id="n").send()) is None
    with pytest.raises(ItemNotFound) as caught:
        wait(notes.get(id="n").required().send())
    assert caught.value.entity is Note
    assert caught.value.key == {"id": "n"}


# ---- differences


def test_to_sends_only_the_difference_and_keeps_unknown_attributes(
    accounts: Repository[Any, Account], raw: RawTable, wait: Wait
) -> None:
    account = wait(accounts.put(Account("a", Decimal(1), "o")).send())
    raw.update(*ACCOUNT_KEY, "SET newer = :x, balance = :b", x={"S": "x"}, b={"N": "7"})
    changed = wait(accounts.update(account).to(evolve(account, owner=None)).send())
    assert changed == Account("a", Decimal(7), None, FIRST + 1)
    assert raw.get(*ACCOUNT_KEY) == {
        **STORED_ACCOUNT,
        "balance": {"N": "7"},
        "newer": {"S": "x"},
        "revision": {"N": str(FIRST + 1)},
    }
    assert account == Account("a", Decimal(1), "o", FIRST)


def test_to_keeps_unknown_attributes_inside_nested_classes(
    notes: Repository[Any, Note], raw: RawTable, wait: Wait
) -> None:
    note = Note("n", address=Address("Ulm", Street("Hof", 1), frozenset({"a"})))
    wait(notes.put(note).send())
    raw.update(*NOTE_KEY, "SET address.newer = :x, address.street.newer = :x", x={"S": "x"})
    changed = evolve(note, address=Address("Bonn", Street("Hof", None), frozenset()))
    assert wait(notes.update(note).to(changed).send()) == changed
    item = raw.get(*NOTE_KEY)
    assert item is not None
    assert item["address"] == {
        "M": {
            "city": {"S": "Bonn"},
            "street": {"M": {"name": {"S": "Hof"}, "number": {"NULL": True}, "newer": {"S": "x"}}},
            "tags": {"L": []},
            "newer": {"S": "x"},
        }
    }


CHANGES = [
    pytest.param({"tags": {"a"}}, {"tags": set()}, "tags", None, id="a set becomes empty"),
    pytest.param({"tags": set()}, {"tags": {"a"}}, "tags", {"SS": ["a"]}, id="an empty set is filled"),
    pytest.param({"codes": {1, 2}}, {"codes": {2}}, "codes", {"NS": ["2"]}, id="an element leaves a set"),
    pytest.param({"status": "new"}, {"status": None}, "the.status", None, id="a value becomes None"),
    pytest.param({"status": None}, {"status": ""}, "the.status", {"S": ""}, id="None becomes empty text"),
    pytest.param({"text": "x"}, {"text": ""}, "text", {"S": ""}, id="a text becomes empty"),
    pytest.param({"blob": b"x"}, {"blob": b""}, "blob", {"B": b""}, id="bytes become empty"),
    pytest.param({"size": 1}, {"size": 0}, "size", {"N": "0"}, id="a number becomes 0"),
    pytest.param({"labels": {"a": 1}}, {"labels": {}}, "labels", {"M": {}}, id="a map becomes empty"),
    pytest.param({"lines": [1]}, {"lines": []}, "lines", {"L": []}, id="a list becomes empty"),
    pytest.param(
        {"labels": {"a.b": 1, "a": {"b": 2}}},
        {"labels": {"a.b": 3, "a": {"b": 2}}},
        "labels",
        {"M": {"a.b": {"N": "3"}, "a": {"M": {"b": {"N": "2"}}}}},
        id="a key with a dot",
    ),
    pytest.param({"address": Address("Ulm")}, {"address": None}, "address", None, id="a nested class becomes None"),
    pytest.param(
        {"address": None},
        {"address": Address("Ulm")},
        "address",
        {"M": {"city": {"S": "Ulm"}, "street": {"NULL": True}, "tags": {"L": []}}},
        id="None becomes a nested class",
    ),
]


@pytest.mark.parametrize(("before", "after", "attribute", "wire"), CHANGES)
def test_to_stores_each_kind_of_change(
    notes: Repository[Any, Note],
    raw: RawTable,
    wait: Wait,
    before: dict[str, Any],
    after: dict[str, Any],
    attribute: str,
    wire: dict[str, Any] | None,
) -> None:
    old, new = Note("n", **before), Note("n", **after)
    wait(notes.put(old).send())
    assert wait(notes.update(old).to(new).send()) == new
    item = raw.get(*NOTE_KEY)
    assert item is not None
    assert item.get(attribute) == wire
    assert wait(notes.get(id="n").send()) == new


def test_an_empty_difference_of_an_unversioned_type_checks_that_the_item_exists(
    notes: Repository[Any, Note], raw: RawTable, wait: Wait
) -> None:
    note = Note("n", "x")
    with pytest.raises(ItemNotFound) as caught:
        wait(notes.update(note).to(evolve(note)).send())
    assert caught.value.key == {"id": "n"}
    assert raw.get(*NOTE_KEY) is None
    wait(notes.put(note).send())
    raw.update(*NOTE_KEY, "SET newer = :x", x={"S": "x"})
    assert wait(notes.update(note).to(Note("n", "x")).send()) == note
    assert raw.get(*NOTE_KEY) == {**EMPTY_NOTE, "text": {"S": "x"}, "newer": {"S": "x"}}


def test_to_that_changes_a_key_or_the_version_is_refused_before_it_is_sent(unsent: Store[Any]) -> None:
    accounts = unsent.of(Account)
    account = Account("a", revision=5)
    with pytest.raises(RequestError, match="key"):
        accounts.update(account).to(evolve(account, id="b"))
    with pytest.raises(RequestError, match="version"):
        accounts.update(account).to(evolve(account, revision=6))


# ---- updates by step


def test_steps_set_add_and_remove_what_they_name(notes: Repository[Any, Note], raw: RawTable, wait: Wait) -> None:
    wait(notes.put(Note("n", "x", 3, "new", {"a"}, {1}, lines=[1, 2])).send())
    changed = wait(
        notes.update(id="n")
        .set(F(Note.text), "y")
        .add(F(Note.size), 4)
        .add(F(Note.tags), "b", "c")
        .remove(F(Note.status), F(Note.codes))
        .set(F(Note, lambda n: n.lines[1]), 9)
        .send()
    )
    assert changed == Note("n", "y", 7, None, {"a", "b", "c"}, set(), lines=[1, 9])
    item = raw.get(*NOTE_KEY)
    assert item is not None
    assert sorted(item.pop("tags")["SS"]) == ["a", "b", "c"]
    assert item == {**EMPTY_NOTE, "text": {"S": "y"}, "size": {"N": "7"}, "lines": {"L": [{"N": "1"}, {"N": "9"}]}}


def test_set_to_none_or_to_an_empty_set_removes_the_attribute(
    notes: Repository[Any, Note], raw: RawTable, wait: Wait
) -> None:
    wait(notes.put(Note("n", status="new", tags={"a"}, address=Address("Ulm"))).send())
    steps = notes.update(id="n").set(F(Note.status), None).set(F(Note.tags), set()).set(F(Note.address), None)
    assert wait(steps.send()) == Note("n")
    assert raw.get(*NOTE_KEY) == EMPTY_NOTE


def test_arithmetic_counts_on_what_is_stored(notes: Repository[Any, Note], raw: RawTable, wait: Wait) -> None:
    wait(notes.put(Note("n", size=3)).send())
    assert wait(notes.update(id="n").set(F(Note.size), F(Note.size) - 5).send()).size == -2
    raw.put(*NOTE_KEY, **damaged({"size": None}))
    assert wait(notes.update(id="n").set(F(Note.size), F(Note.size).or_else(10) + 5).send()).size == 15


def test_adding_to_what_is_missing_counts_as_0_or_empty(
    notes: Repository[Any, Note], raw: RawTable, wait: Wait
) -> None:
    raw.put(*NOTE_KEY, **damaged({"size": None}))
    assert wait(notes.update(id="n").add(F(Note.size), 2).add(F(Note.codes), 7).send()) == Note("n", size=2, codes={7})


def test_a_step_into_a_nested_class_keeps_its_siblings(notes: Repository[Any, Note], raw: RawTable, wait: Wait) -> None:
    wait(notes.put(Note("n", address=Address("Ulm", Street("Hof", 1), frozenset({"a"})))).send())
    raw.update(*NOTE_KEY, "SET address.newer = :x", x={"S": "x"})
    city = F(Note, lambda n: n.address.city if n.address else None)
    assert wait(notes.update(id="n").set(city, "Bonn").send()).address == Address(
        "Bonn", Street("Hof", 1), frozenset({"a"})
    )
    item = raw.get(*NOTE_KEY)
    assert item is not None
    assert item["address"]["M"]["newer"] == {"S": "x"}


def test_a_step_into_a_nested_class_that_is_not_there_is_refused_and_stores_nothing(
    notes: Repository[Any, Note], raw: RawTable, wait: Wait
) -> None:
    wait(notes.put(Note("n")).send())
    city = F(Note, lambda n: n.address.city if n.address else None)
    with pytest.raises(ServiceError) as caught:
        wait(notes.update(id="n").set(city, "Bonn").send())
    assert caught.value.code == "ValidationException"
    assert raw.get(*NOTE_KEY) == EMPTY_NOTE


def test_two_steps_on_overlapping_paths_are_refused_before_they_are_sent(unsent: Store[Any], wait: Wait) -> None:
    notes = unsent.of(Note)
    city = F(Note, lambda n: n.address.city if n.address else None)
    update = notes.update(id="n").set(F(Note.address), None).set(city, "Bonn")
    with pytest.raises(ConflictingUpdate, match=r"address.*address\.city"):
        wait(update.send())


@pytest.mark.parametrize("existing", [None, "ANOTHER"], ids=["nothing", "its neighbour"])
def test_an_update_of_what_is_not_there_creates_no_ghost(
    notes: Repository[Any, Note], raw: RawTable, wait: Wait, existing: str | None
) -> None:
    if existing is not None:
        raw.put(NOTE_KEY[0], existing)
    with pytest.raises(ItemNotFound) as caught:
        wait(notes.update(id="n").add(F(Note.size), 1).send())
    assert caught.value.entity is Note
    assert caught.value.key == {"id": "n"}
    assert raw.get(*NOTE_KEY) is None


def test_what_a_step_cannot_store_is_refused_before_it_is_sent(unsent: Store[Any], wait: Wait) -> None:
    notes = unsent.of(Note)
    wrong: Any = "many"
    with pytest.raises(EncodeError) as caught:
        wait(notes.update(id="n").set(F(Note.size), wrong).send())
    assert caught.value.path == "$.size"
    with pytest.raises(EncodeError):
        notes.put(Note("n", size=10**38 + 1))
    with pytest.raises(KeyValueError):
        notes.get(id="x" * 2048)
    with pytest.raises(KeyValueError):
        notes.update(key="n")
    with pytest.raises(RequestError):
        notes.update(id="n").set(F(Account.balance), Decimal(1))
    with pytest.raises(RequestError):
        notes.update(id="n").set(F(Note.id), "m")


# ---- what is answered


def test_returning_answers_new_values(notes: Repository[Any, Note], wait: Wait) -> None:
    wait(notes.put(Note("n", size=3)).send())
    update = notes.update(id="n").add(F(Note.size), 2)
    assert wait(update.returning(F(Note.size)).send()) == 5
    assert wait(update.returning(F(Note.size), F(Note.status), F(Note.tags)).send()) == (7, None, set())


def test_returning_reaches_into_nested_classes_and_lists(notes: Repository[Any, Note], wait: Wait) -> None:
    wait(notes.put(Note("n", address=Address("Ulm"), lines=[4, 5])).send())
    city = F(Note, lambda n: n.address.city if n.address else None)
    missing = F(Note, lambda n: n.lines[7])
    update = notes.update(id="n").set(F(Note.text), "x")
    assert wait(update.returning(city, F(Note, lambda n: n.lines[1]), missing).send()) == ("Ulm", 5, None)


def test_returning_old_answers_what_stood_there_before(notes: Repository[Any, Note], wait: Wait) -> None:
    assert wait(notes.put(Note("n", "1")).returning_old().send()) is None
    assert wait(notes.put(Note("n", "2")).returning_old().send()) == Note("n", "1")
    assert wait(notes.update(id="n").set(F(Note.text), "3").returning_old().send()) == Note("n", "2")
    assert wait(notes.delete(id="n").returning_old().send()) == Note("n", "3")
    assert wait(notes.delete(id="n").returning_old().send()) is None


# ---- deletes


def test_a_delete_leaves_nothing(notes: Repository[Any, Note], raw: RawTable, wait: Wait) -> None:
    wait(notes.put(Note("n")).send())
    assert wait(notes.delete(Note("n")).send()) is None
    assert raw.get(*NOTE_KEY) is None


def test_a_delete_of_what_is_not_there_is_fine_unless_it_must_exist(notes: Repository[Any, Note], wait: Wait) -> None:
    wait(notes.delete(id="n").send())
    with pytest.raises(ItemNotFound) as caught:
        wait(notes.delete(id="n").if_exists().send())
    assert caught.value.key == {"id": "n"}
    assert wait(notes.delete(id="n").if_exists().try_send()) == Refused(None)


# ---- conditions


def test_create_finds_the_item_that_is_there(notes: Repository[Any, Note], raw: RawTable, wait: Wait) -> None:
    create = notes.put(Note("n", "second")).if_not_exists()
    assert wait(notes.put(Note("n", "first")).if_not_exists().send()) == Note("n", "first")
    with pytest.raises(ItemAlreadyExists) as caught:
        wait(create.send())
    assert caught.value.seen == Note("n", "first")
    assert wait(create.try_send()) == Refused(Note("n", "first"))
    assert raw.get(*NOTE_KEY) == {**EMPTY_NOTE, "text": {"S": "first"}, "_w": {"S": "mine"}}


def test_replace_wants_an_item(notes: Repository[Any, Note], raw: RawTable, wait: Wait) -> None:
    replace = notes.put(Note("n", "second")).if_exists()
    with pytest.raises(ItemNotFound):
        wait(replace.send())
    assert wait(replace.try_send()) == Refused(None)
    assert raw.get(*NOTE_KEY) is None
    wait(notes.put(Note("n", "first")).send())
    assert wait(replace.try_send()) == Applied(Note("n", "second"))


CONDITIONED = [
    pytest.param(lambda notes, cond: notes.put(Note("n", "new")).if_(cond), id="put"),
    pytest.param(lambda notes, cond: notes.update(id="n").set(F(Note.text), "new").if_(cond), id="update"),
    pytest.param(lambda notes, cond: notes.update(Note("n")).to(Note("n", "new")).if_(cond), id="rewrite"),
    pytest.param(lambda notes, cond: notes.delete(id="n").if_(cond), id="delete"),
]


@pytest.mark.parametrize("conditioned", CONDITIONED)
def test_a_false_condition_refuses_the_write_and_shows_what_stood_there(
    notes: Repository[Any, Note], raw: RawTable, wait: Wait, conditioned: Any
) -> None:
    wait(notes.put(Note("n", "old", 3)).send())
    write = conditioned(notes, F(Note.size).ge(4))
    with pytest.raises(ConditionFailed) as caught:
        wait(write.send())
    assert type(caught.value) is ConditionFailed
    assert caught.value.seen == Note("n", "old", 3)
    assert caught.value.__cause__ is not None
    assert wait(write.try_send()) == Refused(Note("n", "old", 3))
    assert raw.get(*NOTE_KEY) == {**EMPTY_NOTE, "text": {"S": "old"}, "size": {"N": "3"}}


@pytest.mark.parametrize("conditioned", CONDITIONED)
def test_a_true_condition_lets_the_write_through(
    notes: Repository[Any, Note], raw: RawTable, wait: Wait, conditioned: Any
) -> None:
    wait(notes.put(Note("n", "old", 3)).send())
    assert isinstance(wait(conditioned(notes, F(Note.size).ge(3)).try_send()), Applied)
    item = raw.get(*NOTE_KEY)
    assert item is None or item["text"] == {"S": "new"}


def test_a_condition_on_a_put_over_nothing_is_refused_with_nothing_seen(
    notes: Repository[Any, Note], raw: RawTable, wait: Wait
) -> None:
    write = notes.put(Note("n")).if_(F(Note.size).ge(1))
    with pytest.raises(ConditionFailed) as caught:
        wait(write.send())
    assert caught.value.seen is None
    assert wait(write.try_send()) == Refused(None)
    assert raw.get(*NOTE_KEY) is None


def test_a_conditioned_update_of_what_is_not_there_is_item_not_found(notes: Repository[Any, Note], wait: Wait) -> None:
    update = notes.update(id="n").add(F(Note.size), -1).if_(F(Note.size).ge(1))
    with pytest.raises(ItemNotFound):
        wait(update.send())
    with pytest.raises(ItemNotFound):
        wait(update.try_send())


def test_several_conditions_must_all_hold(notes: Repository[Any, Note], wait: Wait) -> None:
    wait(notes.put(Note("n", "x", 3)).send())
    update = notes.update(id="n").add(F(Note.size), 1).if_(F(Note.size).ge(3)).if_(F(Note.text).eq("y"))
    assert wait(update.try_send()) == Refused(Note("n", "x", 3))
    either = F(Note.text).eq("y") | F(Note.tags).not_exists()
    either_of_them = notes.update(id="n").add(F(Note.size), 1).if_(F(Note.size).ge(3) & either)
    assert wait(either_of_them.send()).size == 4


def test_a_version_guard_raises_from_try_send_and_a_condition_beside_it_does_not(
    accounts: Repository[Any, Account], wait: Wait
) -> None:
    account = wait(accounts.put(Account("a", Decimal(3))).send())
    poorer = evolve(account, balance=Decimal(0))
    refused = accounts.update(account).to(poorer).if_(F(Account.balance).ge(Decimal(4)))
    assert wait(refused.try_send()) == Refused(account)
    changed = wait(accounts.update(account).to(poorer).send())
    with pytest.raises(VersionConflict) as caught:
        wait(refused.try_send())
    assert caught.value.seen == changed


# ---- items that do not fit


def test_an_alias_is_read_and_keeps_its_name_until_it_is_put(
    notes: Repository[Any, Note], raw: RawTable, wait: Wait
) -> None:
    raw.put(*NOTE_KEY, **{**EMPTY_NOTE, "_type": {"S": "MEMO"}})
    assert wait(notes.get(id="n").send()) == Note("n")
    wait(notes.put(Note("n")).send())
    assert raw.get(*NOTE_KEY) == EMPTY_NOTE


DAMAGED = [
    pytest.param({"_type": {"S": "ACCOUNT"}}, "$._type", id="another type"),
    pytest.param({"_type": {"N": "1"}}, "$._type", id="a discriminator that is no text"),
    pytest.param({"_type": None}, "$._type", id="no discriminator"),
    pytest.param({"size": {"S": "3"}}, "$.size", id="a text for a number"),
    pytest.param({"size": {"N": "3.5"}}, "$.size", id="a fraction for a whole number"),
    pytest.param({"size": {"NULL": True}}, "$.size", id="null for a number"),
    pytest.param({"tags": {"NS": ["1"]}}, "$.tags", id="numbers for texts"),
    pytest.param({"lines": {"L": [{"N": "1"}, {"S": "2"}]}}, "$.lines[1]", id="an element of a list"),
    pytest.param({"address": {"M": {"city": {"N": "1"}}}}, "$.address.city", id="inside a nested class"),
    pytest.param({"address": {"L": []}}, "$.address", id="a list for a nested class"),
]


@pytest.mark.parametrize(("changes", "path"), DAMAGED)
def test_an_item_that_does_not_fit_names_class_key_and_path(
    notes: Repository[Any, Note], raw: RawTable, wait: Wait, changes: dict[str, Any], path: str
) -> None:
    raw.put(*NOTE_KEY, **damaged(changes))
    with pytest.raises(ItemDecodeError) as caught:
        wait(notes.get(id="n").send())
    error = caught.value
    assert (error.entity, error.key, error.path, error.applied) == (
        Note,
        {"pk": "NOTE#n", "sk": "NOTE"},
        path,
        False,
    )
    assert "Note" in str(error)
    assert path in str(error)


def test_a_damaged_item_that_is_met_after_a_write_says_that_it_was_applied(
    notes: Repository[Any, Note], raw: RawTable, wait: Wait
) -> None:
    item = damaged({"size": {"S": "three"}})
    raw.put(*NOTE_KEY, **item)
    for write in (
        notes.update(id="n").set(F(Note.text), "1"),
        notes.update(id="n").set(F(Note.text), "2").returning(F(Note.size)),
        notes.update(id="n").set(F(Note.text), "3").returning_old(),
        notes.update(Note("n")).to(Note("n", "4")),
    ):
        with pytest.raises(ItemDecodeError) as caught:
            wait(write.send())
        assert caught.value.applied is True
        assert caught.value.path == "$.size"
        assert "three" not in str(caught.value)
    assert raw.get(*NOTE_KEY) == {**item, "text": {"S": "4"}}
    with pytest.raises(ItemDecodeError) as caught:
        wait(notes.put(Note("n")).returning_old().send())
    assert caught.value.applied is True
    assert raw.get(*NOTE_KEY) == EMPTY_NOTE


def test_a_failed_condition_over_a_damaged_item_says_that_nothing_was_applied(
    notes: Repository[Any, Note], raw: RawTable, wait: Wait
) -> None:
    item = damaged({"size": {"S": "three"}})
    raw.put(*NOTE_KEY, **item)
    with pytest.raises(
        ItemAlreadyExists, match=r"nothing was written, and what is stored there does not fit: .*\$\.size"
    ):
        wait(notes.put(Note("n")).if_not_exists().send())
    with pytest.raises(ConditionFailed, match="does not fit"):
        wait(notes.put(Note("n")).if_(F(Note.text).eq("x")).try_send())
    assert raw.get(*NOTE_KEY) == item


def test_a_table_that_is_not_there_is_a_service_error(mode: Mode, backend: Backend, table_name: str) -> None:
    notes = mode.connect(Table(table_name, [Note]), backend).of(Note)
    update = notes.update(id="n").remove(F(Note.text))
    for operation in (notes.get(id="n"), notes.put(Note("n")), update, notes.delete(id="n")):
        with pytest.raises(ServiceError) as caught:
            mode.wait(operation.send())
        assert caught.value.code == "ResourceNotFoundException"


# ---- builders


def test_builders_are_frozen_and_answer_changed_copies(notes: Repository[Any, Note], wait: Wait) -> None:
    base = notes.update(id="n")
    one, two = base.set(F(Note.text), "1"), base.set(F(Note.size), 2)
    wait(notes.put(Note("n")).send())
    assert wait(one.send()) == Note("n", "1")
    assert wait(two.send()) == Note("n", "1", 2)
    with pytest.raises(RequestError, match="it changes nothing"):
        wait(base.send())
    anything: Any = base
    with pytest.raises(AttributeError):
        anything.field = 1


def test_params_is_what_a_plain_client_would_send(
    accounts: Repository[Any, Account], raw: RawTable, wait: Wait
) -> None:
    account = wait(accounts.put(Account("a", Decimal(1))).send())
    update = accounts.update(account).to(evolve(account, balance=Decimal("12.5")))
    raw.client.update_item(**update.params())
    assert raw.get(*ACCOUNT_KEY) == {**STORED_ACCOUNT, "revision": {"N": str(FIRST + 1)}}
    raw.client.put_item(**accounts.put(Account("b")).params())
    assert wait(accounts.get(id="b").send()) == Account("b", revision=FIRST)
