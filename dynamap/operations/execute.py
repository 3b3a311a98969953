"""PartiQL: one statement, its parameters and its answer as plain values.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.html
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from typing_extensions import Self

from dynamap.codec import AnyShape, DecodeFailure
from dynamap.errors import (
    ConditionFailed,
    EncodeError,
    ItemAlreadyExists,
    ItemDecodeError,
    OutcomeUnknown,
    RequestError,
    UnguardedWrite,
)
from dynamap.markers import D
from dynamap.operations.base import Moment, Operation, Runtime
from dynamap.operations.capabilities import Capability, needing
from dynamap.operations.sending import Repeat, read, write
from dynamap.plan import Call, Plan, Reply

__all__ = ["Execute"]

_VERBS = ("SELECT", "INSERT", "UPDATE", "DELETE")
_WORD = re.compile(r"\s*([A-Za-z]+)")
_WRITTEN = re.compile(r"""\s*(?:INSERT\s+INTO|UPDATE|DELETE\s+FROM)\s+(?:"([^"]+)"|([\w.-]+))""", re.IGNORECASE)
# https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ExecuteStatement.html
_LONGEST = 8192
_ANY = AnyShape()


class Execute(Operation[D, "list[dict[str, Any]]"]):
    """Send one PartiQL statement; answers the items of all pages as dicts of plain values, as the table holds them.

    No class is involved: items of every type are among them, expired ones too, attributes have their stored names, and
    numbers are int if they are integral, else Decimal. A SELECT without the whole partition key in its WHERE reads the
    whole table, and costs as much.
    """

    _statement: str
    _parameters: list[dict[str, Any]]
    _writes: bool
    _consistent: bool
    _what: str

    def __init__(
        self,
        runtime: Runtime,
        table_name: str,
        statement: str,
        parameters: Sequence[object],
        *,
        writes: bool,
        versioned: Sequence[str],
    ) -> None:
        verb = _verb_of(statement)
        what = f"PartiQL {verb}"
        if verb != "SELECT":
            held = versioned if _may_name(statement, table_name) else ()
            _check_write(what, writes=writes, versioned=held)
        self.__dict__.update(
            _runtime=runtime,
            _statement=statement,
            _parameters=_encoded(what, parameters),
            _writes=verb != "SELECT",
            _consistent=False,
            _what=what,
        )

    def strongly_consistent(self) -> Self:
        """Read what every write that was answered before has stored; costs twice as much."""
        if self._writes:
            msg = f"{self._what}: only a SELECT is read strongly or eventually: leave out strongly_consistent()"
            raise RequestError(msg)
        return self._copy(_consistent=True)

    def _call(self, moment: Moment) -> Call:
        del moment
        return self._page(None)

    def _page(self, token: str | None) -> Call:
        params: dict[str, Any] = {"Statement": self._statement}
        if self._parameters:
            params["Parameters"] = self._parameters
        if self._consistent:
            params["ConsistentRead"] = True
        if token is not None:
            params["NextToken"] = token
        return Call("ExecuteStatement", params)

    # ---- the plan

    def _plan(self) -> Plan[list[dict[str, Any]]]:
        sending = self._write() if self._writes else self._read()
        return (yield from needing(Capability.PARTIQL, self._runtime, self._what, sending))

    def _read(self) -> Plan[list[dict[str, Any]]]:
        items: list[dict[str, Any]] = []
        token: str | None = None
        while True:
            reply = yield from read(self._runtime, self._page(token), self._what)
            items += self._decoded(reply)
            token = reply.get("NextToken")
            if token is None:
                return items

    def _write(self) -> Plan[list[dict[str, Any]]]:
        """A write is sent once: nothing says whether it may follow itself."""
        answer = yield from write(self._runtime, self._page(None), self._what, Repeat.NEVER)
        if answer.condition_failed:
            if answer.cause is not None and answer.cause.code == "DuplicateItemException":
                msg = f"{self._what}: there is an item already; nothing was written"
                raise ItemAlreadyExists(msg) from answer.origin
            msg = f"{self._what}: the condition does not hold, or there is no such item; nothing was written"
            raise ConditionFailed(msg) from answer.origin
        if answer.reply is not None:
            return self._decoded(answer.reply, applied=True)
        if re.search(r"\bRETURNING\b", self._statement, re.IGNORECASE):
            msg = f"{self._what}: it was applied, but the answer with the value was lost: read the item"
            raise OutcomeUnknown(msg, applied=True) from answer.origin
        return []

    def _decoded(self, reply: Reply, *, applied: bool = False) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        for number, item in enumerate(reply.get("Items", ())):
            try:
                items.append({name: _ANY.decode(wire, (name,)) for name, wire in item.items()})
            except DecodeFailure as failure:
                after = " (met after a write that was applied)" if applied else ""
                msg = f"{self._what}: item {number + 1} of the answer cannot be read: {failure}{after}"
                raise ItemDecodeError(msg, entity=dict, key={}, path=str(failure), applied=applied) from failure
        return items


def _verb_of(statement: object) -> str:
    found = _WORD.match(statement) if isinstance(statement, str) else None
    verb = "" if found is None else found[1].upper()
    if not isinstance(statement, str) or verb not in _VERBS:
        kind = "" if isinstance(statement, str) else f"; got {type(statement).__name__}"
        msg = f"execute() takes a PartiQL statement that begins with {', '.join(_VERBS)}{kind}"
        raise RequestError(msg)
    if len(statement) > _LONGEST:
        msg = f"execute() takes a statement of up to {_LONGEST:,} characters; got {len(statement):,}"
        raise RequestError(msg)
    return verb


def _may_name(statement: str, table_name: str) -> bool:
    """Whether a statement that writes may be about this table: what cannot be told is."""
    found = _WRITTEN.match(statement)
    return found is None or (found[1] or found[2]).casefold() == table_name.casefold()


def _check_write(what: str, *, writes: bool, versioned: Sequence[str]) -> None:
    if not writes:
        msg = (
            f"{what}: it writes, and knows nothing of keys, indexes, types and versions: put, update and delete do; "
            f"say writes=True to send it all the same"
        )
        raise RequestError(msg)
    if versioned:
        msg = (
            f"{what}: the table holds {', '.join(versioned)}, whose versions it would neither check nor raise, so that "
            f"other writers would lose its change or theirs: say unversioned=True if it writes none of them, or if "
            f"nobody else writes meanwhile"
        )
        raise UnguardedWrite(msg)


def _encoded(what: str, parameters: Sequence[object]) -> list[dict[str, Any]]:
    given: Any = parameters
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        msg = f"{what}: the parameters are a list, one for each ? of the statement; got {type(given).__name__}"
        raise RequestError(msg)
    encoded: list[dict[str, Any]] = []
    for number, value in enumerate(parameters, 1):
        try:
            encoded.append(_ANY.encode(value))
        except EncodeError as error:
            # there is no class here that could declare a type
            problem, declares, _ = str(error).removeprefix("$: ").partition("; declare")
            hint = "; give the text, number or other plain value that is stored" if declares else ""
            msg = f"{what}: parameter {number}: {problem}{hint}"
            raise EncodeError(msg, path=error.path) from error
    return encoded
