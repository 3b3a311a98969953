"""What a server may not have: DynamoDB has it all, others that speak its protocol do not.

ScyllaDB Alternator has no transactions and no PartiQL. No server says beforehand what it lacks: the first request that
needs it is the probe, it writes nothing, and what it showed is remembered for the store's client.
"""

from __future__ import annotations

from enum import Enum
from typing import TypeVar

from dynamap.errors import RequestError, ServiceError
from dynamap.operations.base import Runtime
from dynamap.plan import Plan

__all__ = ["Capability", "needing"]

R = TypeVar("R")

_UNKNOWN = "UnknownOperationException"


class Capability(Enum):
    """What is needed, and what to do without it."""

    TRANSACTIONS = (
        "transactions",
        "write the items one by one, each under its version or a condition, or use a server that has them",
    )
    EXACTLY_ONCE = (
        "transactions",
        "leave out exactly_once(): under a version, and where it only creates, a write recognises its own repetition",
    )
    SNAPSHOTS = ("transactions", "read the items with get(), each as it is by itself, or use a server that has them")
    PARTIQL = ("PartiQL", "use get, query and scan, or a server that has it")

    @property
    def what(self) -> str:
        """The part of the service that is needed."""
        return self.value[0]

    @property
    def remedy(self) -> str:
        """What to do where the server does not have it."""
        return self.value[1]


def needing(capability: Capability, runtime: Runtime, what: str, plan: Plan[R]) -> Plan[R]:
    """The plan, where the server has what it needs. Raises RequestError where it does not: nothing is done then."""
    if capability.what in runtime.lacking:
        raise RequestError(_message(capability, what))
    try:
        return (yield from plan)
    except ServiceError as error:
        if error.code != _UNKNOWN:
            raise
        runtime.lacking.add(capability.what)
        raise RequestError(_message(capability, what)) from error.__cause__ or error


def _message(capability: Capability, what: str) -> str:
    return f"{what}: this server has no {capability.what}, and nothing was done: {capability.remedy}"
