"""The error table: what each failure says about one attempt, and what a cancelled transaction was."""

from __future__ import annotations

from typing import Any

import pytest

from dynamap.errors import Conflict, Reason
from dynamap.outcomes import Verdict, judge, judge_reasons, reason_of
from dynamap.plan import CallFailed, Reached

ANSWERED = {
    "ConditionalCheckFailedException": Verdict.CONDITION,
    "DuplicateItemException": Verdict.CONDITION,
    "ThrottlingException": Verdict.THROTTLED,
    "ThrottlingError": Verdict.THROTTLED,
    "Throttling": Verdict.THROTTLED,
    "ProvisionedThroughputExceededException": Verdict.THROTTLED,
    "RequestLimitExceeded": Verdict.THROTTLED,
    "TransactionConflictException": Verdict.CONFLICT,
    "ReplicatedWriteConflictException": Verdict.CONFLICT,
    "ValidationException": Verdict.REFUSED,
    "ResourceNotFoundException": Verdict.REFUSED,
    "AccessDeniedException": Verdict.REFUSED,
    "ItemCollectionSizeLimitExceededException": Verdict.REFUSED,
    "LimitExceededException": Verdict.REFUSED,
    "ResourceInUseException": Verdict.REFUSED,
    "IdempotentParameterMismatchException": Verdict.REFUSED,
    "SerializationException": Verdict.REFUSED,
    "MissingAuthenticationTokenException": Verdict.REFUSED,
    "IncompleteSignatureException": Verdict.REFUSED,
    "ExpiredTokenException": Verdict.CREDENTIALS,
    "ExpiredToken": Verdict.CREDENTIALS,
    "UnrecognizedClientException": Verdict.CREDENTIALS,
    "InvalidSignatureException": Verdict.CREDENTIALS,
    "RequestExpired": Verdict.CREDENTIALS,
    "TransactionInProgressException": Verdict.PENDING,
    "TransactionCanceledException": Verdict.CANCELED,
    "InternalServerError": Verdict.AMBIGUOUS,
    "RequestTimeout": Verdict.AMBIGUOUS,
    "RequestTimeoutException": Verdict.AMBIGUOUS,
    # what nobody has heard of may have been applied
    "ServiceUnavailable": Verdict.AMBIGUOUS,
    "502": Verdict.AMBIGUOUS,
    "503": Verdict.AMBIGUOUS,
    "504": Verdict.AMBIGUOUS,
    "Unknown": Verdict.AMBIGUOUS,
    "SomethingNewException": Verdict.AMBIGUOUS,
    "": Verdict.AMBIGUOUS,
}


@pytest.mark.parametrize(("code", "verdict"), ANSWERED.items())
def test_an_answer_is_judged_by_its_code(code: str, verdict: Verdict) -> None:
    assert judge(CallFailed(Reached.ANSWERED, code)) is verdict


@pytest.mark.parametrize(
    ("reached", "verdict"),
    [
        (Reached.NOTHING, Verdict.UNSENT),
        (Reached.UNKNOWN, Verdict.AMBIGUOUS),
        (Reached.APPLIED, Verdict.APPLIED),
    ],
)
def test_without_an_answer_only_how_far_the_call_came_counts(reached: Reached, verdict: Verdict) -> None:
    # the client's own name for it may look like anything
    assert judge(CallFailed(reached, "ValidationException")) is verdict
    assert judge(CallFailed(reached, "ReadTimeoutError")) is verdict


REASONS = {
    "ConditionalCheckFailed": Reason.CONDITION_FAILED,
    "ItemCollectionSizeLimitExceeded": Reason.COLLECTION_TOO_LARGE,
    "TransactionConflict": Reason.CONFLICT,
    "ProvisionedThroughputExceeded": Reason.CAPACITY_EXCEEDED,
    "ThrottlingError": Reason.THROTTLED,
    "ValidationError": Reason.INVALID,
    "DuplicateItem": Reason.OTHER,
    "AccessDenied": Reason.OTHER,
    "other": Reason.OTHER,
    "None": None,
    None: None,
}


@pytest.mark.parametrize(("code", "reason"), REASONS.items())
def test_a_reason_keeps_its_meaning_and_the_unknown_stays_open(code: str | None, reason: Reason | None) -> None:
    assert reason_of(code) is reason


CCF, CONFLICT, THROUGHPUT, THROTTLED, INVALID, SIZE, NEW, NONE = (
    "ConditionalCheckFailed",
    "TransactionConflict",
    "ProvisionedThroughputExceeded",
    "ThrottlingError",
    "ValidationError",
    "ItemCollectionSizeLimitExceeded",
    "BrandNew",
    "None",
)


@pytest.mark.parametrize(
    ("codes", "guards", "conflict"),
    [
        # only failed conditions: a version conflict if each can only be a version guard
        ([CCF], [True], Conflict.VERSION),
        ([CCF], [False], Conflict.CONDITION),
        ([CCF, CCF], [True, True], Conflict.VERSION),
        ([CCF, CCF], [True, False], Conflict.CONDITION),
        ([CCF, NONE], [True, False], Conflict.VERSION),
        ([NONE, CCF], [False, True], Conflict.VERSION),
        ([NONE, CCF], [True, False], Conflict.CONDITION),
        # a conflict or a throttle anywhere: whatever failed beside it, it may pass
        ([CONFLICT], [False], Conflict.TRANSACTION),
        ([CONFLICT, CCF], [False, False], Conflict.TRANSACTION),
        ([CCF, CONFLICT], [True, True], Conflict.TRANSACTION),
        ([CCF, THROUGHPUT], [False, False], Conflict.TRANSACTION),
        ([THROTTLED, NONE], [False, False], Conflict.TRANSACTION),
        # what no rerun can mend, whatever stands beside it
        ([INVALID], [False], None),
        ([SIZE], [False], None),
        ([NEW], [False], None),
        ([CONFLICT, INVALID], [False, False], None),
        ([CCF, SIZE], [True, True], None),
        ([NEW, CONFLICT], [True, True], None),
        # nothing was said
        ([], [], None),
        ([NONE, NONE], [True, True], None),
    ],
)
def test_a_cancelled_transaction_is_judged_by_all_its_reasons(
    codes: list[str], guards: list[bool], conflict: Conflict | None
) -> None:
    reasons: list[dict[str, Any]] = [{"Code": code} for code in codes]
    assert judge_reasons(reasons, version_guards=guards) is conflict


def test_a_reason_without_a_code_is_none() -> None:
    assert judge_reasons([{}, {"Code": CCF}], version_guards=[False, True]) is Conflict.VERSION


def test_reasons_and_guards_belong_together() -> None:
    with pytest.raises(ValueError, match="argument"):
        judge_reasons([{"Code": CCF}], version_guards=[True, False])
