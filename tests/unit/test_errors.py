"""Errors: their places in the tree, what they carry, and how they travel."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import dynamap
from dynamap import errors
from dynamap.errors import (
    ConditionFailed,
    Conflict,
    DynamapError,
    Failure,
    Failures,
    Reason,
    RequestError,
    TransactionCanceled,
)


class Stored:
    """An entity, as far as an error is concerned."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stored) and other.n == self.n

    def __hash__(self) -> int:
        return self.n


CLASSES = [getattr(errors, name) for name in sorted(errors.__all__)]
ERRORS: list[type[DynamapError]] = [
    each for each in CLASSES if isinstance(each, type) and issubclass(each, DynamapError)
]

CASES: list[tuple[type[DynamapError], dict[str, Any]]] = [
    (errors.ModelError, {}),
    (errors.RequestError, {}),
    (errors.KeyValueError, {}),
    (errors.EncodeError, {"path": "$.a[2].b"}),
    (errors.ItemTooLarge, {"size": 500_000}),
    (errors.UnguardedWrite, {}),
    (errors.IncompleteUpsert, {}),
    (errors.ConflictingUpdate, {}),
    (errors.LimitExceeded, {}),
    (errors.CursorError, {}),
    (errors.ItemDecodeError, {"entity": Stored, "key": {"pk": "a"}, "path": "$.a", "applied": True}),
    (errors.ItemNotFound, {"entity": Stored, "key": {"id": "a"}}),
    (errors.ConditionFailed, {"seen": Stored(3)}),
    (errors.ItemAlreadyExists, {"seen": Stored(3)}),
    (errors.VersionConflict, {"seen": None}),
    (errors.TransactionConflict, {}),
    (errors.OutcomeUnknown, {"applied": True}),
    (errors.Throttled, {}),
    (errors.DeadlineExceeded, {}),
    (errors.ServiceError, {"code": "ValidationException", "message": "no"}),
]


@pytest.mark.parametrize("travel", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy, copy.deepcopy])
@pytest.mark.parametrize(("cls", "data"), CASES, ids=[cls.__name__ for cls, _ in CASES])
def test_an_error_travels_with_its_text_and_data(cls: type[DynamapError], data: dict[str, Any], travel: Any) -> None:
    error = cls("what happened", **data)
    error.runs = 4
    arrived = travel(error)
    assert type(arrived) is cls
    assert arrived.args == ("what happened",)
    assert str(arrived) == "what happened (given up after 4 runs)"
    assert {name: getattr(arrived, name) for name in data} == data
    assert arrived.runs == 4
    assert arrived.conflict is cls.conflict


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_protocol_of_pickle_does(protocol: int) -> None:
    error = pickle.loads(pickle.dumps(errors.ConditionFailed("no", seen=Stored(1)), protocol))
    assert error.seen == Stored(1)


def test_one_run_is_not_mentioned() -> None:
    assert str(ConditionFailed("no")) == "no"


def test_what_is_not_said_has_its_default() -> None:
    assert errors.ConditionFailed("no").seen is None
    assert errors.OutcomeUnknown("no").applied is None
    assert errors.ItemDecodeError("no").applied is False
    assert DynamapError().args == ("",)


PARENTS = {
    "ModelError": "DynamapError",
    "RequestError": "DynamapError",
    "KeyValueError": "RequestError",
    "EncodeError": "RequestError",
    "ItemTooLarge": "RequestError",
    "UnguardedWrite": "RequestError",
    "IncompleteUpsert": "RequestError",
    "ConflictingUpdate": "RequestError",
    "LimitExceeded": "RequestError",
    "CursorError": "RequestError",
    "ItemDecodeError": "DynamapError",
    "ItemNotFound": "DynamapError",
    "ConditionFailed": "DynamapError",
    "ItemAlreadyExists": "ConditionFailed",
    "VersionConflict": "ConditionFailed",
    "TransactionConflict": "DynamapError",
    "TransactionCanceled": "DynamapError",
    "OutcomeUnknown": "DynamapError",
    "Throttled": "DynamapError",
    "DeadlineExceeded": "DynamapError",
    "ServiceError": "DynamapError",
}


@pytest.mark.parametrize(("name", "parent"), PARENTS.items())
def test_each_error_stands_in_its_place(name: str, parent: str) -> None:
    assert getattr(errors, name).__bases__ == (getattr(errors, parent),)


@pytest.mark.parametrize("cls", ERRORS, ids=[cls.__name__ for cls in ERRORS])
def test_every_error_can_be_caught_from_the_front_door(cls: type[DynamapError]) -> None:
    assert issubclass(cls, DynamapError)
    if cls.__name__ in PARENTS and hasattr(dynamap, cls.__name__):
        assert getattr(dynamap, cls.__name__) is cls
    assert cls.__doc__


def test_only_races_are_conflicts() -> None:
    kinds = {cls.__name__: cls.conflict for cls in ERRORS if cls.conflict is not None}
    assert kinds == {
        "ConditionFailed": Conflict.CONDITION,
        "ItemAlreadyExists": Conflict.CONDITION,
        "VersionConflict": Conflict.VERSION,
        "TransactionConflict": Conflict.TRANSACTION,
    }


# ---- cancelled transactions


def cancelled(*operations: Any) -> TransactionCanceled:
    failures = (
        Failure(0, None),
        Failure(1, Reason.CONDITION_FAILED, "ConditionalCheckFailed", "no", Stored(3)),
        Failure(2, Reason.OTHER, "BrandNew"),
    )
    return TransactionCanceled("cancelled", _failures=Failures(failures, operations), conflict=Conflict.CONDITION)


def test_operations_are_found_by_identity() -> None:
    class AlwaysEqual:
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = None  # type: ignore[assignment]

    one, two, three = (AlwaysEqual() for _ in range(3))
    error: Any = cancelled(one, two, three)
    assert [error.reason_for(each) for each in (one, two, three)] == [None, Reason.CONDITION_FAILED, Reason.OTHER]
    assert [error.item_for(each) for each in (one, two, three)] == [None, Stored(3), None]
    with pytest.raises(LookupError) as caught:
        error.reason_for(AlwaysEqual())
    assert str(caught.value) == (
        "this operation object was not part of the transaction (every builder step makes a new one; an unpickled error "
        "knows only .failures)"
    )


def test_a_cancelled_transaction_travels_without_its_operations() -> None:
    class Unpicklable:
        def __reduce__(self) -> Any:
            msg = "never"
            raise TypeError(msg)

    operation: Any = Unpicklable()
    arrived = pickle.loads(pickle.dumps(cancelled(operation)))
    assert arrived.failures == cancelled().failures
    assert arrived.conflict is Conflict.CONDITION
    with pytest.raises(LookupError):
        arrived.reason_for(operation)


def test_failures_say_where_they_stand() -> None:
    assert [failure.position for failure in cancelled().failures] == [0, 1, 2]
    assert cancelled().failures[2].code == "BrandNew"


def test_request_errors_are_the_callers() -> None:
    assert all(
        issubclass(cls, RequestError) == (PARENTS.get(cls.__name__) == "RequestError" or cls is RequestError)
        for cls in ERRORS
        if cls.__name__ in PARENTS
    )
