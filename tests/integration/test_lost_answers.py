"""Lost answers, throttles and other writers between attempts: a write is applied once, refused, or said unknown."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import attrs
import pytest

from dynamap import (
    Applied,
    ConditionFailed,
    DynamapError,
    F,
    ItemAlreadyExists,
    ItemNotFound,
    OutcomeUnknown,
    Refused,
    ServiceError,
    Store,
    Table,
    Throttled,
    TransactionConflict,
    VersionConflict,
    deadline,
    entity,
    evolve,
    retry_on_conflict,
)
from dynamap.plan import Call, CallFailed, Reply
from dynamap.store import intercepted
from dynamap.testing import Fault, FaultPlan
from tests.backends import Backend
from tests.depth import how_many
from tests.modes import Mode, RawTable

BEFORE, AFTER, THROTTLE, CONFLICT = Fault.DROP_BEFORE, Fault.DROP_AFTER, Fault.THROTTLE, Fault.CONFLICT

MOST_ATTEMPTS = 10
VERSION = 1_700_000_000_000_000


@entity("ACCOUNT", pk="ACCOUNT#{id}", sk="BALANCE", version="revision")
class Account:
    id: str
    balance: int = 0
    text: str = ""
    revision: int = 0


@entity("NOTE", pk="NOTE#{id}", sk="NOTE")
class Note:
    id: str
    count: int = 0
    text: str = ""
    lines: list[str] = attrs.field(factory=list[str])


ACCOUNT_KEY = ("ACCOUNT#a", "BALANCE")
NOTE_KEY = ("NOTE#n", "NOTE")
READ = Account("a", 1, "", VERSION)
LEGACY = Account("a", 1, "", -1)


class Ledger:
    """Counts what the service really did, whatever became of its answers."""

    def __init__(self) -> None:
        self.applied = 0

    def before(self, call: Call, /) -> None:
        """Called by the driver."""

    def after(self, call: Call, outcome: Reply | CallFailed, /) -> None:
        """Called by the driver."""
        self.applied += call.operation != "GetItem" and not isinstance(outcome, CallFailed)


class Laboratory:
    """One table, a store whose calls can fail, and what stands in the table."""

    def __init__(self, mode: Mode, raw: RawTable, store: Store[Any]) -> None:
        self.mode = mode
        self.raw = raw
        self._store = store
        self.ledger = Ledger()
        self.plan = FaultPlan()
        self._used = False
        self._fresh = itertools.count(VERSION + 5_000, 10)

    def fresh(self) -> int:
        """The first version of an item that is made now."""
        return next(self._fresh)

    def put_account(self, balance: int = 1, version: int | None = VERSION, write_id: str = "before") -> None:
        version_attribute = {} if version is None else {"revision": {"N": str(version)}, "_w": {"S": write_id}}
        self.raw.put(
            *ACCOUNT_KEY,
            _type={"S": "ACCOUNT"},
            id={"S": "a"},
            balance={"N": str(balance)},
            text={"S": ""},
            **version_attribute,
        )

    def put_note(self, count: int = 1) -> None:
        self.raw.put(
            *NOTE_KEY,
            _type={"S": "NOTE"},
            id={"S": "n"},
            count={"N": str(count)},
            text={"S": ""},
            lines={"L": []},
        )

    def clear(self) -> None:
        self.raw.delete(*ACCOUNT_KEY)
        self.raw.delete(*NOTE_KEY)

    def prepare(self, case: Case) -> None:
        if self._used:
            self.clear()
        self._used = True
        if case.version is not None:
            self.put_account(version=case.version or None)
        if case.note:
            self.put_note()

    def send(
        self,
        write: Callable[[Any, Any], Any],
        faults: dict[int, Fault],
        before: dict[int, Callable[[], object]] | None = None,
        *,
        finish: str = "send",
    ) -> Any:
        """Send what *write* makes of the two repositories while these faults and other writers come."""
        self.ledger = Ledger()
        self.plan = FaultPlan(faults, before=before)
        store = self.plan.over(intercepted(self._store, self.ledger))
        return self.mode.wait(getattr(write(store.of(Account), store.of(Note)), finish)())

    def stored(self, attribute: str, key: tuple[str, str] = ACCOUNT_KEY) -> Any:
        item = self.raw.get(*key)
        return None if item is None or attribute not in item else next(iter(item[attribute].values()))


@pytest.fixture
def lab(mode: Mode, backend: Backend, raw: RawTable) -> Laboratory:
    table = Table(raw.name, [Account, Note])
    ids = (f"{raw.name}-{number}"[-36:] for number in itertools.count())
    store = mode.connect(table, backend, clock=lambda: 1_800_000_000, write_ids=lambda: next(ids))
    return Laboratory(mode, raw, store)


@dataclass(frozen=True)
class Case:
    """A write, and what must stand in the table before: an account of a version (0: without one), or a note."""

    name: str
    write: Callable[[Any, Any], Any]
    version: int | None = None
    note: bool = False


def cases(*given: Case) -> Any:
    return pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in given])


GUARDED = [
    Case("put", lambda a, n: a.put(evolve(READ, balance=2)), VERSION),
    Case("replace", lambda a, n: a.put(evolve(READ, balance=2)).if_exists(), VERSION),
    Case("rewrite", lambda a, n: a.update(READ).to(evolve(READ, balance=2)), VERSION),
    Case("add", lambda a, n: a.update(READ).add(F(Account.balance), 1), VERSION),
    Case("keyed add", lambda a, n: a.update(id="a").if_version(VERSION).add(F(Account.balance), 1), VERSION),
    Case("arithmetic", lambda a, n: a.update(READ).set(F(Account.balance), F(Account.balance) + 1), VERSION),
    Case(
        "conditioned add",
        lambda a, n: a.update(READ).add(F(Account.balance), 1).if_(F(Account.balance).eq(1)),
        VERSION,
    ),
    Case("put without a version", lambda a, n: a.put(evolve(LEGACY, balance=2)), 0),
    Case("add without a version", lambda a, n: a.update(LEGACY).add(F(Account.balance), 1), 0),
    Case("permitted twice", lambda a, n: a.put(evolve(READ, balance=2)).at_least_once(), VERSION),
]
CREATES = [
    Case("new account", lambda a, n: a.put(Account("a", 2))),
    Case("create account", lambda a, n: a.put(Account("a", 2)).if_not_exists()),
    Case("create note", lambda a, n: n.put(Note("n", 2)).if_not_exists()),
]
DELETES = [
    Case("delete", lambda a, n: a.delete(READ), VERSION),
    Case("keyed delete", lambda a, n: a.delete(id="a").if_version(VERSION), VERSION),
    Case("delete what must exist", lambda a, n: a.delete(READ).if_exists(), VERSION),
]
ABSOLUTE = [
    Case("put note", lambda a, n: n.put(Note("n", 2)), note=True),
    Case("replace note", lambda a, n: n.put(Note("n", 2)).if_exists(), note=True),
    Case("set", lambda a, n: n.update(id="n").set(F(Note.count), 2), note=True),
    Case("remove", lambda a, n: n.update(id="n").remove(F(Note.lines)), note=True),
    Case("rewrite note", lambda a, n: n.update(Note("n", 1)).to(Note("n", 2)), note=True),
    Case("delete note", lambda a, n: n.delete(id="n"), note=True),
]
RELATIVE = [
    Case("add", lambda a, n: n.update(id="n").add(F(Note.count), 1), note=True),
    Case("arithmetic", lambda a, n: n.update(id="n").set(F(Note.count), F(Note.count) + 1), note=True),
    Case("append", lambda a, n: n.update(id="n").append(F(Note.lines), "x"), note=True),
    Case("ignored version", lambda a, n: a.update(id="a").ignore_version().set(F(Account.balance), 2), VERSION),
    Case("delete of any version", lambda a, n: a.delete(id="a").ignore_version(), VERSION),
    Case("conditioned put", lambda a, n: n.put(Note("n", 2)).if_(F(Note.count).ge(1)), note=True),
    Case("conditioned set", lambda a, n: n.update(id="n").set(F(Note.text), "x").if_(F(Note.count).ge(1)), note=True),
    Case("conditioned delete", lambda a, n: n.delete(id="n").if_(F(Note.count).ge(1)), note=True),
    Case("put that answers the old note", lambda a, n: n.put(Note("n", 2)).returning_old(), note=True),
    Case(
        "set that answers the old note",
        lambda a, n: n.update(id="n").set(F(Note.count), 2).returning_old(),
        note=True,
    ),
    Case("delete that answers the old note", lambda a, n: n.delete(id="n").returning_old(), note=True),
]
# what follows from a history is the plan's to say, and both modes run the same plan
IN_ONE_MODE = pytest.mark.parametrize("mode", ["sync"], indirect=True)
ONE_LOSS = pytest.mark.parametrize("fault", [BEFORE, AFTER], ids=lambda fault: fault.name.lower())


# ---- one answer is lost


@ONE_LOSS
@cases(*GUARDED, *CREATES)
def test_a_guarded_write_is_applied_once(lab: Laboratory, case: Case, fault: Fault) -> None:
    lab.prepare(case)
    answer = lab.send(case.write, {1: fault}, finish="try_send")
    assert isinstance(answer, Applied)
    assert lab.ledger.applied == 1
    lab.prepare(case)
    stored = lab.send(case.write, {1: fault})
    assert lab.ledger.applied == 1
    if isinstance(stored, Note):
        assert lab.stored("count", NOTE_KEY) == str(stored.count) == "2"
    else:
        assert lab.stored("balance") == str(stored.balance) == "2"
        assert lab.stored("revision") == str(stored.revision)


@cases(*DELETES)
def test_a_guarded_delete_whose_answer_is_lost_is_unknown(lab: Laboratory, case: Case) -> None:
    lab.prepare(case)
    with pytest.raises(OutcomeUnknown) as caught:
        lab.send(case.write, {1: AFTER})
    assert caught.value.applied is None
    assert caught.value.conflict is None
    assert lab.ledger.applied == 1
    assert lab.stored("id") is None


@cases(*DELETES, *ABSOLUTE)
def test_what_was_dropped_before_it_arrived_is_repeated(lab: Laboratory, case: Case) -> None:
    lab.prepare(case)
    lab.send(case.write, {1: BEFORE})
    assert lab.ledger.applied == 1


@cases(*ABSOLUTE)
def test_an_absolute_write_is_repeated(lab: Laboratory, case: Case) -> None:
    lab.prepare(case)
    lab.send(case.write, {1: AFTER})
    assert lab.ledger.applied == 2


@ONE_LOSS
@cases(*RELATIVE)
def test_a_relative_write_is_never_repeated(lab: Laboratory, case: Case, fault: Fault) -> None:
    for finish in ("send", "try_send"):
        lab.prepare(case)
        with pytest.raises(OutcomeUnknown) as caught:
            lab.send(case.write, {1: fault}, finish=finish)
        assert caught.value.applied is None
        assert caught.value.__cause__ is not None
        assert len(lab.plan.calls) == 1
        assert lab.ledger.applied == (fault is AFTER)


@IN_ONE_MODE
@cases(*[case for case in RELATIVE if "answers" not in case.name])
def test_a_relative_write_is_repeated_where_the_caller_permits_it(lab: Laboratory, case: Case) -> None:
    lab.prepare(case)
    answer = lab.send(lambda a, n: case.write(a, n).at_least_once(), {1: AFTER}, finish="try_send")
    # the item that the condition was about is gone: its second attempt is refused, as the caller permitted
    assert answer == Refused(None) if case.name == "conditioned delete" else isinstance(answer, Applied)
    assert len([call for call in lab.plan.calls if call.operation != "GetItem"]) == 2


@IN_ONE_MODE
@ONE_LOSS
@cases(*GUARDED[:6], *CREATES, *ABSOLUTE, *DELETES)
def test_no_write_is_repeated_where_the_caller_forbids_it(lab: Laboratory, case: Case, fault: Fault) -> None:
    lab.prepare(case)
    with pytest.raises(OutcomeUnknown):
        lab.send(lambda a, n: case.write(a, n).at_most_once(), {1: fault})
    assert len(lab.plan.calls) == 1


def test_an_old_value_that_is_lost_is_said_to_be(lab: Laboratory) -> None:
    for write in (
        lambda a, n: a.put(evolve(READ, balance=2)).returning_old(),
        lambda a, n: a.update(READ).add(F(Account.balance), 1).returning_old(),
    ):
        lab.put_account()
        with pytest.raises(OutcomeUnknown) as caught:
            lab.send(write, {1: AFTER})
        assert caught.value.applied is True
        assert lab.ledger.applied == 1


def test_a_new_value_is_found_again(lab: Laboratory) -> None:
    lab.put_account()
    update = lab.send(lambda a, n: a.update(READ).add(F(Account.balance), 1).returning(F(Account.balance)), {1: AFTER})
    assert update == 2
    assert lab.stored("balance") == "2"


def test_without_write_ids_a_repeated_guarded_write_is_unknown(mode: Mode, backend: Backend, raw: RawTable) -> None:
    lab = Laboratory(mode, raw, mode.connect(Table(raw.name, [Account, Note], write_id=None), backend))
    for case in GUARDED[:6]:
        lab.prepare(case)
        with pytest.raises(OutcomeUnknown):
            lab.send(case.write, {1: AFTER})
        assert lab.ledger.applied == 1
        lab.prepare(case)
        lab.send(case.write, {1: BEFORE})
        assert lab.ledger.applied == 1


@pytest.mark.not_on("dynalite", reason="it has no transactions")
@pytest.mark.not_on("roto", reason="it takes a repeated client token for a new transaction")
@ONE_LOSS
def test_exactly_once_is_exact_for_relative_writes_and_deletes(lab: Laboratory, fault: Fault) -> None:
    lab.put_note()
    lab.send(lambda a, n: n.update(id="n").add(F(Note.count), 1).exactly_once(), {1: fault})
    assert lab.stored("count", NOTE_KEY) == "2"
    lab.put_account()
    lab.send(lambda a, n: a.update(id="a").ignore_version().add(F(Account.balance), 1).exactly_once(), {1: fault})
    assert lab.stored("balance") == "2"
    lab.put_account()
    lab.send(lambda a, n: a.delete(READ).exactly_once(), {1: fault})
    assert lab.stored("id") is None


# ---- reads


@pytest.mark.parametrize("fault", list(Fault), ids=lambda fault: fault.name.lower())
def test_a_read_is_repeated_whatever_happened(lab: Laboratory, fault: Fault) -> None:
    lab.put_account()
    assert lab.send(lambda a, n: a.get(id="a"), dict.fromkeys(range(1, MOST_ATTEMPTS), fault)) == READ
    assert len(lab.plan.calls) == MOST_ATTEMPTS


@pytest.mark.parametrize(
    ("fault", "error"),
    [(BEFORE, ServiceError), (AFTER, ServiceError), (THROTTLE, Throttled), (CONFLICT, TransactionConflict)],
    ids=lambda value: getattr(value, "name", getattr(value, "__name__", "")).lower(),
)
def test_a_read_is_given_up_in_the_end(lab: Laboratory, fault: Fault, error: type[DynamapError]) -> None:
    lab.put_account()
    with pytest.raises(error, match="get of Account id='a'"):
        lab.send(lambda a, n: a.get(id="a"), dict.fromkeys(range(1, 99), fault))
    assert len(lab.plan.calls) == MOST_ATTEMPTS


# ---- refusals for load


@IN_ONE_MODE
@pytest.mark.parametrize("fault", [THROTTLE, CONFLICT], ids=lambda fault: fault.name.lower())
@cases(GUARDED[0], GUARDED[3], CREATES[0], DELETES[0], ABSOLUTE[0], *RELATIVE)
def test_a_write_outlasts_refusals_that_pass(lab: Laboratory, case: Case, fault: Fault) -> None:
    lab.prepare(case)
    lab.send(case.write, {1: fault, 2: fault, 3: fault})
    assert lab.ledger.applied == 1
    assert len(lab.plan.calls) == 4


@pytest.mark.parametrize(
    ("fault", "error"),
    [(THROTTLE, Throttled), (CONFLICT, TransactionConflict)],
    ids=lambda value: getattr(value, "name", getattr(value, "__name__", "")).lower(),
)
@cases(GUARDED[3], RELATIVE[0])
def test_refusals_that_do_not_pass_are_raised(
    lab: Laboratory, case: Case, fault: Fault, error: type[DynamapError]
) -> None:
    lab.prepare(case)
    with pytest.raises(error, match="nothing was written"):
        lab.send(case.write, dict.fromkeys(range(1, 99), fault))
    assert len(lab.plan.calls) == MOST_ATTEMPTS
    assert lab.ledger.applied == 0


@IN_ONE_MODE
@pytest.mark.parametrize("fault", [THROTTLE, CONFLICT, BEFORE], ids=lambda fault: fault.name.lower())
@pytest.mark.parametrize("first", [BEFORE, AFTER], ids=lambda fault: fault.name.lower())
@cases(GUARDED[3], CREATES[1], ABSOLUTE[2])
def test_after_a_lost_answer_a_refusal_says_nothing_about_it(
    lab: Laboratory, case: Case, first: Fault, fault: Fault
) -> None:
    lab.prepare(case)
    with pytest.raises(OutcomeUnknown) as caught:
        lab.send(case.write, {1: first, **dict.fromkeys(range(2, 99), fault)})
    assert caught.value.applied is None
    assert lab.ledger.applied == (first is AFTER)


@IN_ONE_MODE
@pytest.mark.not_on("embedded", "ministack", reason="a failed condition brings its item there: there is no second look")
@pytest.mark.parametrize("fault", list(Fault), ids=lambda fault: fault.name.lower())
@cases(GUARDED[0], CREATES[1], DELETES[0])
def test_after_a_lost_answer_a_second_look_that_fails_says_nothing_about_it(
    lab: Laboratory, case: Case, fault: Fault
) -> None:
    lab.prepare(case)
    with pytest.raises(OutcomeUnknown):
        lab.send(case.write, {1: AFTER, **dict.fromkeys(range(3, 99), fault)})
    assert lab.ledger.applied == 1


def test_a_deadline_that_ends_after_a_lost_answer_leaves_it_unknown(
    lab: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.put_account()
    bounded = deadline(3600)
    over = deadline(0)

    def write(a: Any, n: Any) -> Any:
        return a.update(READ).add(F(Account.balance), 1)

    with bounded:
        assert lab.send(write, {1: AFTER}).balance == 2
    lab.put_account()
    counted = Ledger.after

    def ending(ledger: Ledger, call: Call, outcome: Any, /) -> Any:
        over.__enter__()
        return counted(ledger, call, outcome)

    monkeypatch.setattr(Ledger, "after", ending)
    with pytest.raises(OutcomeUnknown):
        lab.send(write, {1: AFTER})
    over.__exit__(None, None, None)
    assert lab.stored("balance") == "2"


# ---- other writers in between


FOREIGN: dict[str, Callable[[Laboratory], object]] = {
    "another version": lambda lab: lab.put_account(7, int(lab.stored("revision") or lab.fresh()) + 1, "theirs"),
    "another attribute": lambda lab: lab.raw.update(*ACCOUNT_KEY, "SET newer = :x", x={"S": "x"}),
    "deleted": lambda lab: lab.raw.delete(*ACCOUNT_KEY),
    "deleted and made again": lambda lab: lab.put_account(7, lab.fresh(), "theirs"),
    "version lost": lambda lab: lab.put_account(7, None),
}

# what a write that was read at VERSION becomes when another comes between its lost first attempt and its second
BETWEEN: list[tuple[str, Fault, type[DynamapError] | None]] = [
    ("another version", BEFORE, VersionConflict),
    ("another version", AFTER, OutcomeUnknown),
    ("another attribute", BEFORE, None),
    ("another attribute", AFTER, None),
    ("deleted", BEFORE, OutcomeUnknown),
    ("deleted", AFTER, OutcomeUnknown),
    ("deleted and made again", BEFORE, OutcomeUnknown),
    ("deleted and made again", AFTER, OutcomeUnknown),
    ("version lost", BEFORE, OutcomeUnknown),
    ("version lost", AFTER, OutcomeUnknown),
]


@IN_ONE_MODE
@pytest.mark.parametrize(
    ("foreign", "fault", "error"),
    BETWEEN,
    ids=[f"{foreign}, {fault.name.lower()}" for foreign, fault, _ in BETWEEN],
)
@cases(*GUARDED[:6])
def test_another_writer_between_the_attempts_of_a_guarded_write(
    lab: Laboratory, case: Case, foreign: str, fault: Fault, error: type[DynamapError] | None
) -> None:
    lab.prepare(case)
    before = {2: lambda: FOREIGN[foreign](lab)}
    if error is None:
        assert lab.send(case.write, {1: fault}, before).balance == 2
        assert lab.ledger.applied == 1
        assert lab.stored("newer") == "x" or case.name in ("put", "replace")
        return
    with pytest.raises(error) as caught:
        lab.send(case.write, {1: fault}, before)
    assert lab.ledger.applied == (fault is AFTER)
    if isinstance(caught.value, VersionConflict):
        assert caught.value.seen == Account("a", 7, "", VERSION + 1)
    else:
        assert caught.value.conflict is None


@IN_ONE_MODE
@pytest.mark.parametrize(
    ("foreign", "fault", "error"),
    [
        ("another version", BEFORE, VersionConflict),
        ("another attribute", BEFORE, None),
        ("deleted", BEFORE, OutcomeUnknown),
        ("deleted and made again", BEFORE, OutcomeUnknown),
        ("deleted and made again", AFTER, OutcomeUnknown),
        ("version lost", AFTER, OutcomeUnknown),
    ],
    ids=lambda value: value if isinstance(value, str) else getattr(value, "name", ""),
)
@cases(*DELETES)
def test_another_writer_between_the_attempts_of_a_guarded_delete(
    lab: Laboratory, case: Case, foreign: str, fault: Fault, error: type[DynamapError] | None
) -> None:
    lab.prepare(case)
    before = {2: lambda: FOREIGN[foreign](lab)}
    if error is None:
        lab.send(case.write, {1: fault}, before)
        assert lab.stored("id") is None
        return
    with pytest.raises(error):
        lab.send(case.write, {1: fault}, before)
    assert lab.ledger.applied == (fault is AFTER)


@pytest.mark.parametrize("fault", [BEFORE, AFTER], ids=lambda fault: fault.name.lower())
@cases(CREATES[0], CREATES[1])
def test_another_writer_between_the_attempts_of_a_create(lab: Laboratory, case: Case, fault: Fault) -> None:
    lab.prepare(case)
    with pytest.raises(OutcomeUnknown):
        lab.send(case.write, {1: fault}, {2: lambda: lab.put_account(7, VERSION, "theirs")})
    assert lab.ledger.applied == (fault is AFTER)
    assert lab.stored("balance") == "7"


def test_without_a_lost_answer_a_refusal_is_what_it_is(lab: Laboratory) -> None:
    lab.put_account(7, VERSION + 9, "theirs")
    for faults in ({}, {1: THROTTLE}, {1: CONFLICT, 2: THROTTLE}):
        with pytest.raises(VersionConflict):
            lab.send(GUARDED[3].write, faults)
        with pytest.raises(ItemAlreadyExists):
            lab.send(CREATES[1].write, faults)
        with pytest.raises(ItemNotFound):
            lab.send(RELATIVE[0].write, faults)
        assert lab.ledger.applied == 0


@pytest.mark.parametrize("fault", [BEFORE, AFTER], ids=lambda fault: fault.name.lower())
def test_a_condition_that_was_not_met_the_second_time(lab: Laboratory, fault: Fault) -> None:
    def write(a: Any, n: Any) -> Any:
        return a.update(READ).add(F(Account.balance), 1).if_(F(Account.balance).eq(1))

    def spent() -> None:
        lab.raw.update(*ACCOUNT_KEY, "SET balance = :b", b={"N": "0"})

    lab.put_account()
    if fault is AFTER:
        # the write id is still there: it was applied, whatever another program did to the balance since
        assert lab.send(write, {1: fault}, {2: spent}, finish="try_send") == Applied(Account("a", 0, "", VERSION + 1))
        assert lab.ledger.applied == 1
    else:
        assert lab.send(write, {1: fault}, {2: spent}, finish="try_send") == Refused(Account("a", 0, "", VERSION))
        assert lab.ledger.applied == 0


def test_an_unknown_outcome_is_not_rerun(lab: Laboratory) -> None:
    lab.put_note()
    runs: list[int] = []

    def add() -> Any:
        runs.append(1)
        return lab.send(RELATIVE[0].write, {1: AFTER})

    with pytest.raises(OutcomeUnknown) as caught:
        retry_on_conflict(add, sleep=lambda seconds: None)()
    assert len(runs) == caught.value.runs == 1
    assert lab.stored("count", NOTE_KEY) == "2"


# ---- everything at once


MISHAPS = [None, BEFORE, AFTER, THROTTLE, CONFLICT]
SAMPLES = how_many(quick=3, deep=10)


@IN_ONE_MODE
@pytest.mark.deep
@cases(*GUARDED, *CREATES[:2], *DELETES, *ABSOLUTE, *RELATIVE)
def test_what_is_reported_agrees_with_what_happened(lab: Laboratory, case: Case) -> None:
    choose = random.Random(case.name)  # the same histories in every run
    for _ in range(SAMPLES):
        faults = {number: choose.choice(MISHAPS) for number in (1, 2, 3, 4)}
        # a program that takes versions away would make the condition of such a write true again
        acts = [name for name in FOREIGN if name != "version lost" or case.version]
        others = {number: choose.choice([None, None, *acts]) for number in (2, 3, 4)}
        lab.prepare(case)
        before = {number: act_of(lab, name) for number, name in others.items() if name is not None}
        history = f"{case.name}: {faults} {others}"
        lossy = {number: fault for number, fault in faults.items() if fault is not None}
        outcome = outcome_of(lambda: lab.send(case.write, lossy, before))  # noqa: B023  # it is called at once
        if isinstance(outcome, OutcomeUnknown):
            sent = range(1, len(lab.plan.calls) + 1)
            assert any(lossy.get(number) in (BEFORE, AFTER) for number in sent), history
            assert outcome.applied is None or lab.ledger.applied, history
        elif isinstance(outcome, DynamapError):
            assert isinstance(outcome, (ConditionFailed, ItemNotFound)), history
            assert lab.ledger.applied == 0, history
        else:
            assert lab.ledger.applied >= 1, history
        if case not in ABSOLUTE and not (case in CREATES and others_delete(others)):
            assert lab.ledger.applied <= 1, history


def outcome_of(send: Callable[[], Any]) -> Any:
    """What was answered, or the error that was raised."""
    try:
        return send()
    except DynamapError as error:
        return error


def act_of(lab: Laboratory, name: str) -> Callable[[], object]:
    def act() -> None:
        if lab.raw.get(*ACCOUNT_KEY) is not None or name == "deleted and made again":
            FOREIGN[name](lab)

    return act


def others_delete(others: dict[int, str | None]) -> bool:
    return "deleted" in others.values()
