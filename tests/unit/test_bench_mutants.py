"""The bench finds what it is for: rules of safe writes that were changed for worse do not survive it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import dynamap.operations.sending
import dynamap.operations.settling
import dynamap.operations.transact
import dynamap.operations.writing
from dynamap import (
    Conflict,
    DynamapError,
    F,
    OutcomeUnknown,
    Store,
    Sync,
    Table,
    entity,
    evolve,
    retry_on_conflict,
)
from dynamap.operations.delete import Delete
from dynamap.operations.guards import Guard, GuardKind
from dynamap.operations.sending import Repeat
from dynamap.operations.settling import Settled
from dynamap.operations.writing import WriteSteps
from dynamap.plan import Call
from dynamap.testing import Bench, Fault, Run, ScheduleFailed
from tests.depth import how_many

SCHEDULES = 150


@entity("DOCUMENT", pk="DOCUMENT", sk="DOCUMENT", version="revision")
class Document:
    edits: int = 0
    revision: int = 0


@entity("TALLY", pk="TALLY#{name}", sk="TALLY")
class Tally:
    name: str
    count: int = 0


@entity("JOB", pk="JOB", sk="JOB", version="revision")
class Job:
    revision: int = 0


Ledger = Table("ledger", [Document, Tally, Job])


def edit(store: Store[Sync]) -> None:
    """Count by reading and writing under the version."""
    documents = store.of(Document)

    @retry_on_conflict(attempts=20)
    def run() -> None:
        document = documents.get().required().send()
        documents.update(document).to(evolve(document, edits=document.edits + 1)).send()

    run()


def add(store: Store[Sync]) -> None:
    """Count by ADD."""

    @retry_on_conflict
    def run() -> None:
        store.of(Tally).update(name="added").add(F(Tally.count), 1).send()

    run()


def add_in_transaction(store: Store[Sync]) -> None:
    """Count by ADD in a transaction."""
    store.transact(store.of(Tally).update(name="transacted").add(F(Tally.count), 1)).send()


def take(store: Store[Sync]) -> None:
    """Take the job, which only one can."""
    job = store.of(Job).get().required().send()
    store.of(Job).delete(job).send()


def forget_expressions() -> None:
    """Let the conditions be compiled anew, by the rules as they are now."""
    for cls in Ledger.entities:
        Ledger.entity(cls).derived.clear()


WORKS: dict[str, Callable[[Store[Sync]], None]] = {
    "edits": edit,
    "added": add,
    "transacted": add_in_transaction,
    "taken": take,
}


def ledger(work: str) -> Bench:
    """Four clients that do the same work; what is counted fits what they were told."""
    bench = Bench(Ledger, faults=list(Fault), fault_rate=0.25)

    @bench.setup
    def begin(store: Store[Sync]) -> None:
        store.of(Document).put(Document()).send()
        for name in ("added", "transacted"):
            store.of(Tally).put(Tally(name)).send()
        store.of(Job).put(Job()).send()

    @bench.client(count=4)
    def worker(store: Store[Sync]) -> None:
        WORKS[work](store)

    @bench.afterwards
    def what_was_done_is_counted_once(run: Run) -> None:
        counts = {
            "edits": run.items.of(Document)[0].edits,
            **{tally.name: tally.count for tally in run.items.of(Tally)},
            "taken": 1 - len(run.items.of(Job)),
        }
        done = sum(outcome.returned for outcome in run.outcomes.values())
        unknown = sum(isinstance(outcome.error, OutcomeUnknown) for outcome in run.outcomes.values())
        assert done <= counts[work] <= done + unknown, f"{work}: {counts[work]} for {done} done and {unknown} unknown"

    return bench


@pytest.mark.parametrize("work", sorted(WORKS))
def test_the_shipped_rules_survive(work: str) -> None:
    ledger(work).run_many(how_many(quick=SCHEDULES, deep=5_000))


# ---- rules changed for worse

Patch = pytest.MonkeyPatch


def write_id_is_never_compared(patch: Patch) -> None:
    patch.setattr(dynamap.operations.settling, "is_mine", lambda *_args: False)


def unclear_is_taken_for_refused(patch: Patch) -> None:
    patch.setattr(dynamap.operations.settling, "_surely_refused", lambda *_args: True)


def everything_is_repeated(patch: Patch) -> None:
    patch.setattr(WriteSteps, "_repeats", lambda *_args: Repeat.SAFELY)


def the_version_is_not_checked(patch: Patch) -> None:
    texts = Guard.texts

    def without_version(guard: Guard, *args: Any) -> list[str]:
        return texts(replace(guard, kind=GuardKind.EXISTS) if guard.kind is GuardKind.VERSION else guard, *args)

    patch.setattr(Guard, "texts", without_version)


def an_absent_item_shows_that_it_was_deleted(patch: Patch) -> None:
    settle = dynamap.operations.writing.settle

    def settled(*args: Any) -> Any:
        try:
            return (yield from settle(*args))
        except OutcomeUnknown:
            return Settled(item={})

    patch.setattr(dynamap.operations.writing, "settle", settled)
    patch.setattr(Delete, "_resolved_result", lambda *_args: None)


def unknown_is_run_again(patch: Patch) -> None:
    patch.setattr(OutcomeUnknown, "conflict", Conflict.VERSION)


def each_attempt_has_a_token_of_its_own(patch: Patch) -> None:
    transact = dynamap.operations.sending.transact

    def with_new_tokens(runtime: Any, call: Call, *more: Any) -> Any:
        plan = transact(runtime, call, *more)
        command = next(plan)
        while True:
            if isinstance(command, Call):
                command = Call(command.operation, {**command.params, "ClientRequestToken": runtime.write_ids()})
            try:
                reply = yield command
            except Exception as error:  # noqa: BLE001 - the plan decides
                step: Callable[[], Any] = lambda error=error: plan.throw(error)  # noqa: E731
            else:
                step = lambda reply=reply: plan.send(reply)  # noqa: E731
            try:
                command = step()
            except StopIteration as stop:
                return stop.value

    patch.setattr(dynamap.operations.transact, "transact", with_new_tokens)


MUTANTS: list[tuple[Callable[[Patch], None], str]] = [
    (write_id_is_never_compared, "edits"),
    (unclear_is_taken_for_refused, "edits"),
    (everything_is_repeated, "added"),
    (the_version_is_not_checked, "edits"),
    (an_absent_item_shows_that_it_was_deleted, "taken"),
    (unknown_is_run_again, "added"),
    (each_attempt_has_a_token_of_its_own, "transacted"),
]


@pytest.mark.parametrize(("mutant", "work"), MUTANTS, ids=[mutant.__name__ for mutant, _ in MUTANTS])
def test_a_rule_that_was_changed_for_worse_is_found(
    mutant: Callable[[Patch], None], work: str, monkeypatch: Patch
) -> None:
    mutant(monkeypatch)
    forget_expressions()
    with pytest.raises(ScheduleFailed, match="what_was_done_is_counted_once") as found:
        ledger(work).run_many(SCHEDULES)
    with pytest.raises(ScheduleFailed) as again:
        ledger(work).replay(str(found.value))
    assert str(again.value.record) == str(found.value.record)
    monkeypatch.undo()
    forget_expressions()
    # the same schedule is survived by the rule as it is shipped
    ledger(work).replay(str(found.value))


def test_errors_that_are_told_are_errors_of_dynamap() -> None:
    bench = ledger("taken")
    errors = [outcome.error for seed in range(20) for outcome in bench.run(seed).outcomes.values()]
    assert any(isinstance(error, DynamapError) for error in errors)
