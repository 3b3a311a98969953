"""Creating and deleting the table itself, and waiting until it is so."""

from __future__ import annotations

from typing import Any

from dynamap.backoff import time_left
from dynamap.errors import DeadlineExceeded, OutcomeUnknown, ServiceError
from dynamap.operations.base import Runtime
from dynamap.operations.sending import Repeat, read, write
from dynamap.plan import Call, Plan, Sleep

__all__ = ["create_table", "delete_table"]

_IN_USE = "ResourceInUseException"
_NOT_FOUND = "ResourceNotFoundException"
_TOO_MANY = "LimitExceededException"


class _Waiting:
    """Ever longer pauses between looks at the table, up to a bound: a table that takes longer is stuck."""

    def __init__(self, runtime: Runtime, what: str) -> None:
        self._runtime = runtime
        self._what = what
        self._pause = 0.05
        self._left = 300.0

    def pause(self) -> Sleep:
        """The next pause. Raises DeadlineExceeded when there has been enough of them."""
        deadline = time_left(self._runtime.monotonic)
        left = self._left if deadline is None else min(self._left, deadline)
        if left <= 0:
            msg = f"{self._what}: it takes longer than it may; look at the table's status"
            raise DeadlineExceeded(msg)
        seconds = min(self._pause, left)
        self._left -= seconds
        self._pause = min(self._pause * 2, 2.0)
        return Sleep(seconds)


def create_table(runtime: Runtime, params: dict[str, Any], *, ttl: str | None = None) -> Plan[None]:
    """Create the table, wait until it is ACTIVE, and switch on its TTL.

    One of this name that is being deleted is waited for; one that stays is a ServiceError with the code
    ResourceInUseException.
    """
    name = params["TableName"]
    what = f"create table {name}"
    waiting = _Waiting(runtime, what)
    while True:
        status = yield from _status(runtime, name, what)
        if status == "DELETING":
            yield waiting.pause()
            continue
        if status is not None:
            msg = f"{what}: a table of this name is there already, with status {status}"
            raise ServiceError(msg, code=_IN_USE, message=msg)
        try:
            yield from write(runtime, Call("CreateTable", params), what, Repeat.SAFELY)
        except OutcomeUnknown:
            # its answer was lost: the next look at the table tells
            if (yield from _status(runtime, name, what)) is None:
                yield waiting.pause()
                continue
        except ServiceError as error:
            if error.code != _TOO_MANY:
                raise
            yield waiting.pause()
            continue
        break
    while (yield from _status(runtime, name, what)) != "ACTIVE":
        yield waiting.pause()
    if ttl is not None:
        yield from _enable_ttl(runtime, name, ttl, f"TTL of table {name}", waiting)


def _enable_ttl(runtime: Runtime, name: str, attribute: str, what: str, waiting: _Waiting) -> Plan[None]:
    """Let items expire by this attribute; the service may take an hour to begin, which is not waited for.

    https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTimeToLive.html
    """
    specification = {"Enabled": True, "AttributeName": attribute}
    call = Call("UpdateTimeToLive", {"TableName": name, "TimeToLiveSpecification": specification})
    while True:
        try:
            yield from write(runtime, call, what, Repeat.SAFELY)
        except OutcomeUnknown:
            # a repetition is refused where it is on already
            reply = yield from read(runtime, Call("DescribeTimeToLive", {"TableName": name}), what)
            found = reply.get("TimeToLiveDescription", {})
            if found.get("AttributeName") == attribute and found.get("TimeToLiveStatus") in ("ENABLED", "ENABLING"):
                return
        except ServiceError as error:
            if error.code not in (_IN_USE, _TOO_MANY):
                raise
        else:
            return
        yield waiting.pause()


def delete_table(runtime: Runtime, name: str) -> Plan[None]:
    """Delete the table with all its items and wait until it is gone; one that is not there is fine."""
    what = f"delete table {name}"
    waiting = _Waiting(runtime, what)
    while True:
        status = yield from _status(runtime, name, what)
        if status is None:
            return
        if status == "ACTIVE":
            try:
                yield from write(runtime, Call("DeleteTable", {"TableName": name}), what, Repeat.SAFELY)
            except OutcomeUnknown:
                pass  # its answer was lost: the next look at the table tells
            except ServiceError as error:
                if error.code not in (_IN_USE, _NOT_FOUND, _TOO_MANY):
                    raise
        yield waiting.pause()


def _status(runtime: Runtime, name: str, what: str) -> Plan[str | None]:
    """The table's status; None if there is no such table."""
    try:
        reply = yield from read(runtime, Call("DescribeTable", {"TableName": name}), what)
    except ServiceError as error:
        if error.code == _NOT_FOUND:
            return None
        raise
    status: str = reply["Table"]["TableStatus"]
    return status
