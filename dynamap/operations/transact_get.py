"""Several reads at one moment: all of them, as they were together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from dynamap.errors import LimitExceeded, Reason, RequestError, ServiceError
from dynamap.markers import D
from dynamap.operations.actions import MOST_ACTIONS
from dynamap.operations.base import Moment, Operation, Runtime
from dynamap.operations.capabilities import Capability, needing
from dynamap.operations.get import Get
from dynamap.operations.one_client import check_one_client, unpacking_remedy
from dynamap.operations.replication import check_transactions_hold
from dynamap.operations.sending import read
from dynamap.outcomes import Verdict, judge, only_contention, reason_of
from dynamap.plan import Call, CallFailed, Plan, Reached, Reply

__all__ = ["TransactGet"]

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

_LISTED = {"TableName", "Key", "ProjectionExpression", "ExpressionAttributeNames"}


class TransactGet(Operation[D, R_co]):
    """Read up to 100 items, of 4 MB together, as they were at one moment; answers a tuple in the order of the gets.

    Always strongly consistent. Costs twice what strong reads cost alone: two read units for each 4 KB of an item.
    """

    _gets: tuple[Get[Any, Any, Any], ...]
    _what: str

    def __init__(self, runtime: Runtime, gets: Sequence[object]) -> None:
        checked = tuple(_checked_get(position, each, runtime) for position, each in enumerate(gets, 1))
        self.__dict__.update(_runtime=runtime, _gets=checked, _what=f"transaction of {len(checked)} gets")
        if not checked:
            msg = "transact_get() takes at least one get"
            raise RequestError(msg)
        if len(checked) > MOST_ACTIONS:
            msg = (
                f"transact_get() takes up to {MOST_ACTIONS} gets; got {len(checked)}: read them in several, or batches"
            )
            raise LimitExceeded(msg)
        _check_distinct(checked)

    def _call(self, moment: Moment) -> Call:
        items: list[dict[str, Any]] = []
        for get in self._gets:
            params = get._call(moment).params  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
            items.append({"Get": {name: value for name, value in params.items() if name in _LISTED}})
        return Call("TransactGetItems", {"TransactItems": items})

    def _plan(self) -> Plan[R_co]:
        moment = self._runtime.moment()
        sending = self._contention_passes(read(self._runtime, self._call(moment), self._what))
        reply: Reply = yield from needing(Capability.SNAPSHOTS, self._runtime, self._what, sending)
        responses: Sequence[Mapping[str, Any]] = reply["Responses"]
        answers: Any = tuple(
            get._answer(response.get("Item") or None, moment)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
            for get, response in zip(self._gets, responses, strict=True)
        )
        return answers  # type: ignore[no-any-return]

    def _contention_passes(self, plan: Plan[R]) -> Plan[R]:
        """The plan, told of a cancelled transaction what a single read would be told: nothing else can be the cause.

        Raises ServiceError where it was cancelled for something that does not pass.
        """
        reply: Any = None
        error: Exception | None = None
        while True:
            try:
                command = plan.send(reply) if error is None else plan.throw(error)
            except StopIteration as stop:
                result: R = stop.value
                return result
            reply = error = None
            try:
                reply = yield command
            except CallFailed as failed:
                error = failed if judge(failed) is not Verdict.CANCELED else self._passing(failed)

    def _passing(self, canceled: CallFailed) -> CallFailed:
        if not only_contention(canceled.reasons):
            named = "; ".join(
                f"get {position} ({get._what}): {reason.get('Code')}"  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
                for position, (get, reason) in enumerate(zip(self._gets, canceled.reasons, strict=False), 1)
                if reason_of(reason.get("Code")) is not None
            )
            msg = f"{self._what}: cancelled, nothing was read: {named or canceled.message}"
            raise ServiceError(msg, code=canceled.code, message=canceled.message) from canceled.origin
        conflict = any(reason_of(reason.get("Code")) is Reason.CONFLICT for reason in canceled.reasons)
        code = "TransactionConflictException" if conflict else "ThrottlingException"
        passing = CallFailed(Reached.ANSWERED, code, canceled.message, canceled.status)
        passing.__cause__ = canceled.origin
        return passing


def _checked_get(position: int, operation: object, runtime: Runtime) -> Get[Any, Any, Any]:
    made: Any = operation
    if not isinstance(made, Get):
        got = f"argument {position} is {type(made).__name__}{unpacking_remedy('transact_get', made)}"
        msg = f"transact_get() takes gets, such as accounts.get(...); {got}"
        raise RequestError(msg)
    get: Get[Any, Any, Any] = operation  # type: ignore[assignment] # pyright: ignore[reportAssignmentType]
    scope = get._scope  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    check_one_client("transact_get()", position, scope.runtime, runtime)
    check_transactions_hold(scope.entity, f"transact_get(): argument {position}")
    return get


def _check_distinct(gets: Sequence[Get[Any, Any, Any]]) -> None:
    """Raise RequestError for two gets of one item, which the service would refuse.

    https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactGetItems.html
    """
    seen: dict[tuple[Any, ...], int] = {}
    for position, get in enumerate(gets, 1):
        scope, key = get._scope, get._key  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        identity = (scope.table_name, *scope.entity.layout.identity(key))
        if identity in seen:
            msg = (
                f"transact_get() takes an item once, but gets {seen[identity]} and {position} "
                f"({get._what}) are about the same: leave one out"  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
            )
            raise RequestError(msg)
        seen[identity] = position
