"""What an update makes of an item that is not there, computed here as the service would.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.UpdateExpressions.html
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal
from typing import TypeAlias

from dynamap.codec import Number, SetOf, Wire, unwrapped
from dynamap.expressions.fields import OrElse, Sum
from dynamap.expressions.nodes import Action, Add, Append, Set, SetIfMissing
from dynamap.expressions.updates import NO_ITEMS, ZERO, UpdateCompiler
from dynamap.model import Resolved

__all__ = ["StartingValues"]

# exact for any two numbers that DynamoDB holds: from 1E-130 to 1E+126
_EXACT = Context(prec=300)

_Attributes: TypeAlias = "dict[str, Wire]"


class StartingValues(UpdateCompiler):
    """Computes what the actions of an upsert store where nothing is stored; only whole fields are changed by them."""

    def attributes(self, actions: Sequence[Action]) -> _Attributes:
        """The attributes by name, of those actions that store any. Raises EncodeError or KeyValueError."""
        stored: _Attributes = {}
        for action in actions:
            resolved = self.resolve(action.field)
            wire = self._started(action, resolved)
            if wire is not None:
                attribute = str(resolved.attributes[0])
                self._entity.check_key(attribute, wire)
                stored[attribute] = wire
        return stored

    def _started(self, action: Action, resolved: Resolved) -> Wire | None:
        if isinstance(action, Set):
            computed = isinstance(action.value, (OrElse, Sum))
            return self._term_value(action.value, resolved) if computed else self.stored(action.value, resolved)
        if isinstance(action, SetIfMissing):
            return self.stored(action.value, resolved)
        if isinstance(action, Add):
            shape = unwrapped(resolved.shape)
            if isinstance(shape, SetOf):
                return self._elements(action, shape, resolved)
            return self._sum(self._start(resolved, ZERO), "+", self._amount(action, resolved), resolved)
        if isinstance(action, Append):
            start, added = self._start(resolved, NO_ITEMS)["L"], self._items(action, resolved)["L"]
            return {"L": [*added, *start] if action.in_front else [*start, *added]}
        # there is nothing to take away from
        return None

    def _term_value(self, term: object, resolved: Resolved) -> Wire:
        """What a part of a right side stands for where every field is missing."""
        if isinstance(term, OrElse):
            field: object = term.field
            default: object = term.default
            return self._term_value(default, self.resolve(field))
        if isinstance(term, Sum):
            left: object = term.left
            right: object = term.right
            return self._sum(self._term_value(left, resolved), term.sign, self._term_value(right, resolved), resolved)
        return self._encode_with(resolved.shape, self._number_like(term, resolved), resolved)

    def _sum(self, left: Wire, sign: str, right: Wire, resolved: Resolved) -> Wire:
        one, two = Decimal(left["N"]), Decimal(right["N"])
        total = _EXACT.add(one, two) if sign == "+" else _EXACT.subtract(one, two)
        return self._encode_with(Number(), total, resolved)
