"""Reads driven by hand: what is repeated, for how long, and how they end."""

from __future__ import annotations

from typing import Any

import pytest

import dynamap
from dynamap import (
    DeadlineExceeded,
    ItemDecodeError,
    ItemNotFound,
    ServiceError,
    Table,
    Throttled,
    TransactionConflict,
    entity,
)
from dynamap.backoff import LOST_COST, RETRY_COST, TokenBucket
from dynamap.plan import CallFailed, Sleep
from tests.fakes import answered, applied_but_unreadable, drive, lost, never_sent, store_of


@entity("NOTE", pk="NOTE#{id}", sk="NOTE")
class Note:
    id: str
    text: str = ""


Notes = Table("notes", [Note])
KEY = {"pk": {"S": "NOTE#a"}, "sk": {"S": "NOTE"}}
ITEM = {**KEY, "_type": {"S": "NOTE"}, "id": {"S": "a"}, "text": {"S": "hello"}}
REPLY = {"Item": ITEM}


def plan_of(*, required: bool = False, **options: Any) -> Any:
    notes = store_of(Notes, **options).of(Note)
    operation: Any = notes.get(id="a")
    return (operation.required() if required else operation)._plan()


def test_an_item_is_answered() -> None:
    driven = drive(plan_of(), REPLY)
    assert driven.result == Note("a", "hello")
    assert [(call.operation, call.params) for call in driven.calls] == [("GetItem", {"TableName": "notes", "Key": KEY})]
    assert driven.sleeps == []


def test_a_miss_is_none_or_not_found() -> None:
    assert drive(plan_of(), {}).result is None
    error = drive(plan_of(required=True), {}).error
    assert isinstance(error, ItemNotFound)
    assert str(error) == "get of Note id='a': there is no such item"
    assert (error.entity, error.key, error.conflict) == (Note, {"id": "a"}, None)


PASSING = {
    "lost": lost,
    "never sent": never_sent,
    "unreadable": applied_but_unreadable,
    "throttled": lambda: answered("ThrottlingException"),
    "capacity": lambda: answered("ProvisionedThroughputExceededException"),
    "limit": lambda: answered("RequestLimitExceeded"),
    "conflict": lambda: answered("TransactionConflictException"),
    "500": lambda: answered("InternalServerError", status=500),
    "503": lambda: answered("503", status=503),
    "unknown": lambda: answered("WhatIsThis"),
    "expired": lambda: answered("ExpiredTokenException"),
    "signature": lambda: answered("InvalidSignatureException"),
}


@pytest.mark.parametrize("failure", PASSING.values(), ids=PASSING)
def test_whatever_may_pass_is_repeated(failure: Any) -> None:
    driven = drive(plan_of(), failure(), REPLY)
    assert driven.result == Note("a", "hello")
    assert driven.operations == ["GetItem", "GetItem"]
    assert driven.calls[0] is driven.calls[1]
    assert len(driven.sleeps) == 1


@pytest.mark.parametrize(
    "code",
    [
        "ValidationException",
        "AccessDeniedException",
        "SerializationException",
        "UnknownOperationException",
    ],
)
def test_what_cannot_pass_is_raised_with_the_services_words(code: str) -> None:
    failed = answered(code, "what the service says")
    failed.__cause__ = ValueError("botocore's own")
    error = drive(plan_of(), failed).error
    assert isinstance(error, ServiceError)
    assert (error.code, error.message) == (code, "what the service says")
    assert str(error) == f"get of Note id='a': {code}: what the service says"
    assert error.__cause__ is failed.__cause__


def test_credentials_are_given_one_more_chance() -> None:
    expired = [answered("ExpiredTokenException", "expired") for _ in range(2)]
    error = drive(plan_of(), *expired).error
    assert isinstance(error, ServiceError)
    assert error.code == "ExpiredTokenException"
    mixed = drive(plan_of(), answered("ExpiredToken"), lost(), answered("UnrecognizedClientException", "who"))
    assert isinstance(mixed.error, ServiceError)


@pytest.mark.parametrize(
    ("failure", "error", "message"),
    [
        (
            lambda: answered("ThrottlingException", "slow"),
            Throttled,
            (
                "get of Note id='a': the service kept refusing for load (ThrottlingException), nothing was read: "
                "spread "
                "the "
                "load or raise the capacity"
            ),
        ),
        (
            lambda: answered("TransactionConflictException"),
            TransactionConflict,
            "get of Note id='a': a transaction kept the item busy, nothing was read: send it again later",
        ),
        (
            never_sent,
            ServiceError,
            "get of Note id='a': EndpointConnectionError: refused (nothing was read, after 10 attempts)",
        ),
        (
            lost,
            ServiceError,
            "get of Note id='a': ConnectionClosedError: closed (nothing was read, after 10 attempts)",
        ),
        (
            applied_but_unreadable,
            ServiceError,
            "get of Note id='a': DamagedReply: 12 bytes of 40 arrived (nothing was read, after 10 attempts)",
        ),
    ],
)
def test_attempts_are_bounded(failure: Any, error: type[Exception], message: str) -> None:
    driven = drive(plan_of(), *(failure() for _ in range(10)))
    assert type(driven.error) is error
    assert str(driven.error) == message
    assert len(driven.sleeps) == 9


def test_pauses_grow_with_full_jitter_up_to_a_bound() -> None:
    plain = drive(plan_of(random=lambda: 0.999999), *(lost() for _ in range(10))).sleeps
    assert plain == pytest.approx([0.025 * 2**n for n in range(8)] + [5.0], rel=1e-4)
    throttled = drive(plan_of(random=lambda: 0.999999), *(answered("ThrottlingException") for _ in range(10))).sleeps
    assert throttled == pytest.approx([0.05 * 2**n for n in range(7)] + [5.0, 5.0], rel=1e-4)
    assert drive(plan_of(random=lambda: 0.0), *(lost() for _ in range(10))).sleeps == [0.0] * 9


# ---- the bucket


def test_repeats_are_paid_from_the_bucket_and_given_back_by_success() -> None:
    bucket = TokenBucket(100.0)
    bucket.take(50.0)
    drive(plan_of(bucket=bucket), lost(), answered("ThrottlingException"), REPLY)
    # the last repeat's price comes back
    assert bucket.left == 50.0 - LOST_COST
    drive(plan_of(bucket=bucket), REPLY)
    assert bucket.left == 50.0 - LOST_COST + 1.0


def test_an_empty_bucket_ends_the_repeats() -> None:
    driven = drive(
        plan_of(bucket=TokenBucket(RETRY_COST)), answered("ThrottlingException"), answered("ThrottlingException")
    )
    assert isinstance(driven.error, Throttled)
    assert drive(plan_of(bucket=TokenBucket(LOST_COST - 1)), lost()).operations == ["GetItem"]


def test_operations_of_one_store_share_the_bucket() -> None:
    bucket = TokenBucket(2 * LOST_COST)
    notes = store_of(Notes, bucket=bucket).of(Note)
    drive(notes.get(id="a")._plan(), lost(), lost(), lost())
    assert bucket.left == 0.0
    assert drive(notes.get(id="b")._plan(), lost()).operations == ["GetItem"]


# ---- deadlines


class Clock:
    def __init__(self) -> None:
        import time

        self.now = time.monotonic()

    def __call__(self) -> float:
        return self.now


def test_a_deadline_that_is_over_sends_nothing() -> None:
    with dynamap.deadline(0):
        driven = drive(plan_of())
    assert isinstance(driven.error, DeadlineExceeded)
    assert str(driven.error) == "get of Note id='a': the deadline is over, and nothing was read"
    assert driven.calls == []


def test_no_pause_is_longer_than_what_is_left_and_no_attempt_follows_the_end() -> None:
    clock = Clock()
    with dynamap.deadline(1):
        plan = plan_of(monotonic=clock, random=lambda: 0.999)
        next(plan)
        clock.now += 0.99
        pause = plan.throw(lost())
        assert isinstance(pause, Sleep)
        assert pause.seconds <= 0.011
        clock.now += 0.02
        with pytest.raises(DeadlineExceeded) as caught:
            plan.send(None)
    assert isinstance(caught.value.__cause__, CallFailed)


def test_a_stored_item_that_does_not_fit_is_named_with_key_and_path() -> None:
    error = drive(plan_of(), {"Item": {**ITEM, "text": {"N": "5"}}}).error
    assert isinstance(error, ItemDecodeError)
    assert (error.entity, error.key, error.path, error.applied) == (
        Note,
        {"pk": "NOTE#a", "sk": "NOTE"},
        "$.text",
        False,
    )
    assert str(error) == (
        "the item {'pk': 'NOTE#a', 'sk': 'NOTE'} is no Note: $.text: a str expected, found a number (N)"
    )


def test_an_item_of_another_type_is_no_answer() -> None:
    error = drive(plan_of(), {"Item": {**ITEM, "_type": {"S": "OTHER"}}}).error
    assert isinstance(error, ItemDecodeError)
    assert str(error) == (
        "the item {'pk': 'NOTE#a', 'sk': 'NOTE'} is no Note: $._type: the discriminator should be 'NOTE', but it says "
        "'OTHER'"
    )
    without = drive(plan_of(), {"Item": {name: wire for name, wire in ITEM.items() if name != "_type"}}).error
    assert str(without).endswith("the discriminator should be 'NOTE', but it has none")
