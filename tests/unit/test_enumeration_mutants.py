"""The enumeration of outcomes finds what it is for: each of these wrong rules is caught, and the right ones are not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec.structs import replace

import dynamap.operations.sending
import dynamap.operations.settling
import dynamap.operations.writing
from dynamap.operations.sending import Repeat
from dynamap.operations.settling import Settled
from dynamap.operations.writing import WriteSteps
from dynamap.outcomes import Verdict, judge
from dynamap.plan import CallFailed, Plan
from tests.enumeration import BY_REPLIES, KINDS, Tries, explore, read_table, summary
from tests.enumeration_running import SETTINGS, violation
from tests.enumeration_worlds import READ_VERSION

TOLD = read_table(BY_REPLIES)
WHOLE = 2


def findings(names: tuple[str, ...]) -> Iterator[str]:
    """What the enumeration has to say against these kinds of write."""
    for kind in (kind for kind in KINDS if str(kind) in names):
        for setting in SETTINGS:
            for course in explore(kind, setting, Tries(WHOLE)):
                told = summary(course.replies)
                expected = TOLD[str(kind)].get(told, ("",))[0].split(" or ")
                problem = violation(course)
                if problem is not None:
                    yield problem
                elif course.reported not in expected:
                    yield f"expected {expected}: {course}"


# ---- wrong rules


def forgets_lost_answers(patch: pytest.MonkeyPatch) -> None:
    """After a lost answer a later throttle is said to be all there was."""

    def note(self: Any, failed: CallFailed, verdict: Verdict) -> None:
        self._last = failed
        self.lost = None

    patch.setattr(dynamap.operations.sending._Attempts, "_note", note)


def takes_lost_for_undone(patch: pytest.MonkeyPatch) -> None:
    """A lost answer is one of a request that never arrived."""

    def wrong(failed: CallFailed) -> Verdict:
        verdict = judge(failed)
        return Verdict.UNSENT if verdict is Verdict.AMBIGUOUS else verdict

    patch.setattr(dynamap.operations.sending, "judge", wrong)


def takes_damaged_for_lost(patch: pytest.MonkeyPatch) -> None:
    """What was answered with a word of success is an unknown outcome, though it is known."""

    def wrong(failed: CallFailed) -> Verdict:
        verdict = judge(failed)
        return Verdict.AMBIGUOUS if verdict is Verdict.APPLIED else verdict

    patch.setattr(dynamap.operations.sending, "judge", wrong)


def looks_at_versions_only(patch: pytest.MonkeyPatch) -> None:
    """The next version is mine, whoever stored it."""

    def is_mine(entity: Any, write_id: str | None, seen: Any) -> bool:
        return seen is not None and seen.get("revision") == {"N": str(READ_VERSION + 1)}

    patch.setattr(dynamap.operations.settling, "is_mine", is_mine)


def ignores_the_write_id(patch: pytest.MonkeyPatch) -> None:
    """Nothing is ever recognised as one's own."""
    patch.setattr(dynamap.operations.settling, "is_mine", lambda *_: False)


def takes_a_failed_condition_for_a_refusal(patch: pytest.MonkeyPatch) -> None:
    """Whatever stands there, if it is not mine then mine was not applied."""
    patch.setattr(dynamap.operations.settling, "_surely_refused", lambda *_: True)


def is_never_sure(patch: pytest.MonkeyPatch) -> None:
    """A refusal after a lost answer is always unknown, even if what stands there tells."""
    patch.setattr(dynamap.operations.settling, "_surely_refused", lambda *_: False)


def repeats_everything(patch: pytest.MonkeyPatch) -> None:
    """Every write follows its own lost attempt."""
    patch.setattr(WriteSteps, "_repeats", lambda *_: Repeat.SAFELY)


def takes_what_is_gone_for_deleted(patch: pytest.MonkeyPatch) -> None:
    """A delete that finds nothing after a lost answer was the one that deleted it."""
    right = dynamap.operations.settling.settle

    def settle(scope: Any, terms: Any, answer: Any) -> Plan[Settled]:
        if terms.deletes and answer.ambiguous and answer.seen is None:
            yield from ()
            return Settled(item={})
        return (yield from right(scope, terms, answer))

    patch.setattr(dynamap.operations.writing, "settle", settle)
    patch.setattr("dynamap.operations.delete.Delete._resolved_result", lambda *_: None)


def renews_the_token(patch: pytest.MonkeyPatch) -> None:
    """Each attempt of a transaction has a token of its own."""
    right = dynamap.operations.sending.transact

    def transact(runtime: Any, call: Any, what: str, started: float) -> Any:
        plan = right(runtime, call, what, started)
        answer: Any = None
        step: Callable[[Any], Any] = plan.send
        while True:
            try:
                command = step(answer)
            except StopIteration as stop:
                return stop.value
            if command is call:
                command = replace(call, given={**call.given, "ClientRequestToken": runtime.write_ids()})
            try:
                answer, step = (yield command), plan.send
            except CallFailed as failed:
                answer, step = failed, plan.throw

    patch.setattr(dynamap.operations.writing, "transact", transact)


def forgets_what_a_batch_left(patch: pytest.MonkeyPatch) -> None:
    """What the service has left undone is taken for done."""
    patch.setattr("dynamap.operations.batch_write._Batch._undone", lambda *_: set())


ADD, SET = "update add", "update, if_version set"
MUTANTS: dict[Callable[[pytest.MonkeyPatch], None], tuple[str, ...]] = {
    forgets_lost_answers: (SET,),
    takes_lost_for_undone: (SET,),
    takes_damaged_for_lost: ("update add returning",),
    looks_at_versions_only: (SET,),
    ignores_the_write_id: (SET,),
    takes_a_failed_condition_for_a_refusal: (SET,),
    is_never_sure: (SET,),
    repeats_everything: (ADD,),
    takes_what_is_gone_for_deleted: ("delete, version read",),
    renews_the_token: ("update add, exactly_once",),
    forgets_what_a_batch_left: ("put_many, item 2 of 3",),
}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_wrong_rule_is_caught(mutant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    names = MUTANTS[mutant]
    mutant(monkeypatch)
    assert next(findings(names), None) is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({name for names in MUTANTS.values() for name in names}))
def test_the_shipped_rule_is_not(name: str) -> None:
    assert next(findings((name,)), None) is None
