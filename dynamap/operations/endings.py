"""What a query or scan can end in besides all of its items: the first, the only one, their number, pages."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

from dynamap.markers import D
from dynamap.operations.base import Moment, Operation, Scope
from dynamap.operations.explain import explain
from dynamap.operations.stream import Stream
from dynamap.plan import Call, Plan

__all__ = ["Ending", "Pages", "Series"]

M = TypeVar("M")
R_co = TypeVar("R_co", covariant=True)


class Series(Operation[D, R_co]):
    """Requests one after the other, or none at all; `params()` and `explain()` show the first."""

    def _first_request(self, moment: Moment) -> Call | None:
        raise NotImplementedError

    def params(self) -> dict[str, Any]:
        """The first request as the dict that boto3's client would take; nothing is sent. Empty if none is needed."""
        call = self._first_request(self._runtime.moment())
        return {} if call is None else call.params

    def explain(self) -> str:
        """The first request for a person: names and values put back, what it costs, limits used."""
        call = self._first_request(self._runtime.moment())
        return "nothing is sent: no key can be in this range" if call is None else explain(call)


class Ending(Series[D, R_co]):
    """A reading that answers something else than a list of its items."""

    _scope: Scope[Any]
    _make_plan: Callable[[], Plan[R_co]]
    _make_request: Callable[[Moment], Call | None]

    def __init__(
        self,
        scope: Scope[Any],
        plan: Callable[[], Plan[R_co]],
        first_request: Callable[[Moment], Call | None],
    ) -> None:
        self.__dict__.update(_runtime=scope.runtime, _scope=scope, _make_plan=plan, _make_request=first_request)

    def _plan(self) -> Plan[R_co]:
        return self._make_plan()

    def _first_request(self, moment: Moment) -> Call | None:
        return self._make_request(moment)


class Pages(Stream[D, M], Generic[D, M]):
    """A reading, page after page."""

    def __init__(self, scope: Scope[Any], plan: Callable[[], Generator[Any, Any, Any]]) -> None:
        self._scope = scope
        self._make_plan = plan

    def _emitting(self) -> Generator[Any, Any, Any]:
        return self._make_plan()
