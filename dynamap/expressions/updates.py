"""The compiler of updates: SET, REMOVE, ADD and DELETE.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.UpdateExpressions.html
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TypeAlias, cast

from dynamap.codec import FieldShape, Float, Integer, ListOf, Number, SetOf, Wire, unwrapped
from dynamap.errors import ConflictingUpdate, EncodeError, RequestError
from dynamap.expressions.compiler import Compiler, is_operand
from dynamap.expressions.fields import OrElse, Sum
from dynamap.expressions.nodes import Action, Add, Append, Discard, Set, SetIfMissing, Value
from dynamap.model import Resolved

__all__ = ["NO_ITEMS", "ZERO", "Assignment", "UpdateCompiler"]

Assignment: TypeAlias = "tuple[tuple[str | int, ...], str | None]"
"""A stored path, and the ready text of what it is set to; None where it is removed."""

_Clauses: TypeAlias = "dict[str, list[str]]"
ZERO: Wire = {"N": "0"}
NO_ITEMS: Wire = {"L": []}


class UpdateCompiler(Compiler):
    """Compiles requests that change attributes of an item."""

    def update(self, actions: Sequence[Action], assigned: Sequence[Assignment] = ()) -> str | None:
        """The text of an update; None of no action. *assigned* comes behind the actions, without being checked.

        Raises ConflictingUpdate where two actions name the same or overlapping paths, which the service refuses.
        """
        clauses: _Clauses = {"SET": [], "REMOVE": [], "ADD": [], "DELETE": []}
        taken = [attributes for attributes, _ in assigned]
        for action in actions:
            resolved = self.resolve(action.field)
            self._check_free(resolved.attributes, taken)
            taken.append(resolved.attributes)
            self._compile(action, resolved, clauses)
        for attributes, text in assigned:
            self._assign(attributes, text, clauses)
        text = " ".join(f"{clause} {', '.join(parts)}" for clause, parts in clauses.items() if parts)
        self._check_size(text, "update")
        return text or None

    def stored(self, value: object, resolved: Resolved) -> Wire | None:
        """What a value is stored as; None of one that is stored as an absent attribute.

        Raises EncodeError, or KeyValueError where it stands in a key of an index that cannot hold it.
        """
        try:
            if resolved.top_level:
                wire = resolved.shape.encode_attribute(value, resolved.path)
                if wire is not None:
                    self._entity.check_key(str(resolved.attributes[0]), wire)
                return wire
            return resolved.shape.encode(value, resolved.path)
        except EncodeError as error:
            msg = f"{self._entity.cls.__qualname__} {error}"
            raise EncodeError(msg, path=error.path) from error

    def present_or(self, resolved: Resolved, wire: Wire) -> str:
        """What is stored, or else this value; one that is stored under an alias counts."""
        return self._stored_or(resolved, self.value(wire))

    def _stored_or(self, resolved: Resolved, text: str | None) -> str:
        """What is stored, under the field's name or an alias, or else this text; with None it must be stored."""
        places = [self.path(resolved.attributes), *map(self.name, self._field_aliases(resolved))]
        if text is None:
            text = places.pop()
        for place in reversed(places):
            text = f"if_not_exists({place}, {text})"
        return text

    def _check_free(self, path: tuple[str | int, ...], taken: list[tuple[str | int, ...]]) -> None:
        for other in taken:
            shared = min(len(path), len(other))
            if path[:shared] == other[:shared]:
                one, two = (".".join(map(str, steps)) for steps in (other, path))
                msg = (
                    f"{self._entity.cls.__qualname__}: one update changes {one} and {two}, which "
                    f"{'are the same' if one == two else 'overlap'}: leave one out"
                )
                raise ConflictingUpdate(msg)

    # ---- one action

    def _compile(self, action: Action, resolved: Resolved, clauses: _Clauses) -> None:
        path = self.path(resolved.attributes)
        if isinstance(action, Set):
            self._assign(resolved.attributes, self._right_side(action, resolved), clauses)
        elif isinstance(action, SetIfMissing):
            wire = self.stored(action.value, resolved)
            if wire is None:
                msg = (
                    f"{self._where(action.field)}: set_if_missing() with a value that is stored as an absent attribute "
                    f"changes nothing; leave it out"
                )
                raise RequestError(msg)
            self._assign(resolved.attributes, self.present_or(resolved, wire), clauses)
        elif isinstance(action, Add):
            self._compile_add(action, resolved, clauses)
        elif isinstance(action, Discard):
            shape = unwrapped(resolved.shape)
            if not isinstance(shape, SetOf):
                msg = (
                    f"{self._where(action.field)}: discard() takes elements out of a set; "
                    f"this field holds {resolved.shape.kind}"
                )
                raise RequestError(msg)
            clauses["DELETE"].append(f"{path} {self.value(self._elements(action, shape, resolved))}")
        elif isinstance(action, Append):
            self._compile_append(action, resolved, clauses)
        else:
            self._assign(resolved.attributes, None, clauses)

    def _assign(self, attributes: tuple[str | int, ...], text: str | None, clauses: _Clauses) -> None:
        path = self.path(attributes)
        if text is None:
            clauses["REMOVE"].append(path)
        else:
            clauses["SET"].append(f"{path} = {text}")
        if len(attributes) == 1:
            # what an alias still holds would be read again: here once the attribute is removed, and by a release for
            # which it is the name
            clauses["REMOVE"] += [self.name(alias) for alias in self._aliases(attributes[0])]

    def _aliases(self, attribute: object) -> tuple[str, ...]:
        return next((field.aliases for field in self._entity.shape.fields if field.attribute == attribute), ())

    def _right_side(self, action: Set, resolved: Resolved) -> str | None:
        """What a field is set to; None where the value is stored as an absent attribute."""
        value = action.value
        if isinstance(value, Sum):
            return f"{self._term(value.left, resolved)} {value.sign} {self._term(value.right, resolved)}"
        if isinstance(value, Value):
            return self._term(cast("object", value), resolved)
        wire = self.stored(value, resolved)
        return None if wire is None else self.value(wire)

    def _term(self, term: object, resolved: Resolved) -> str:
        if is_operand(term):
            return self._stored_or(self.resolve(term), None)
        if isinstance(term, OrElse):
            reference: object = term.field
            field = self.resolve(reference)
            return self._stored_or(field, self._term(term.default, field))
        return self.value(self._encode_with(resolved.shape, self._number_like(term, resolved), resolved))

    @staticmethod
    def _number_like(term: object, resolved: Resolved) -> object:
        # the typing lets an int be added to a Decimal field
        if isinstance(unwrapped(resolved.shape), Number) and isinstance(term, int) and not isinstance(term, bool):
            return Decimal(term)
        return term

    def _compile_add(self, action: Add, resolved: Resolved, clauses: _Clauses) -> None:
        path = self.path(resolved.attributes)
        shape = unwrapped(resolved.shape)
        if isinstance(shape, SetOf):
            clauses["ADD"].append(f"{path} {self.value(self._elements(action, shape, resolved))}")
            return
        wire = self._amount(action, resolved)
        start = self._start(resolved, ZERO)
        if start == ZERO and not self._field_aliases(resolved):
            clauses["ADD"].append(f"{path} {self.value(wire)}")
        else:
            # ADD would begin with 0 where reading gives something else
            self._assign(resolved.attributes, f"{self.present_or(resolved, start)} + {self.value(wire)}", clauses)

    def _amount(self, action: Add, resolved: Resolved) -> Wire:
        amount = self._number_like(action.what[0], resolved) if len(action.what) == 1 else None
        if amount is None or not isinstance(unwrapped(resolved.shape), (Integer, Float, Number)):
            msg = (
                f"{self._where(action.field)}: add() takes one amount for a number or elements for a set; "
                f"this field holds {resolved.shape.kind}"
            )
            raise RequestError(msg)
        return self._encode_with(resolved.shape, amount, resolved)

    def _compile_append(self, action: Append, resolved: Resolved, clauses: _Clauses) -> None:
        items = self._items(action, resolved)
        stored = self.present_or(resolved, self._start(resolved, NO_ITEMS))
        given = self.value(items)
        both = f"{given}, {stored}" if action.in_front else f"{stored}, {given}"
        self._assign(resolved.attributes, f"list_append({both})", clauses)

    def _items(self, action: Append, resolved: Resolved) -> Wire:
        shape = unwrapped(resolved.shape)
        if not isinstance(shape, ListOf):
            msg = (
                f"{self._where(action.field)}: {'prepend' if action.in_front else 'append'}() puts items into a list; "
                f"this field holds {resolved.shape.kind}"
            )
            raise RequestError(msg)
        return self._encode_with(resolved.shape, shape.factory(action.items), resolved)

    def _elements(self, action: Add | Discard, shape: SetOf, resolved: Resolved) -> Wire:
        step = "add" if isinstance(action, Add) else "discard"
        if not resolved.top_level:
            msg = (
                f"{self._where(action.field)}: {step}() changes sets that are fields of "
                f"{self._entity.cls.__qualname__} itself, because inside of another value an empty set is stored as a "
                f"list; set it as a whole"
            )
            raise RequestError(msg)
        if self._field_aliases(resolved):
            msg = (
                f"{self._where(action.field)}: {step}() would miss what is stored under an alias of the field; "
                f"read the item and update it as a whole, with update(item).to(changed)"
            )
            raise RequestError(msg)
        try:
            elements = shape.factory(action.what)
        except TypeError as error:
            msg = f"{self._where(action.field)}: {step}() takes the elements one by one, each of which a set can hold"
            raise RequestError(msg) from error
        return self._encode_with(resolved.shape, elements, resolved)

    # ---- where nothing is stored

    def _top_field(self, resolved: Resolved) -> FieldShape | None:
        return self._entity.shape.by_name[resolved.field] if resolved.top_level else None

    def _field_aliases(self, resolved: Resolved) -> tuple[str, ...]:
        field = self._top_field(resolved)
        return () if field is None else field.aliases

    def _start(self, resolved: Resolved, empty: Wire) -> Wire:
        """What a missing number or list counts as: the field's default, which reading gives too, or nothing."""
        field = self._top_field(resolved)
        if field is None or not field.field.has_default or field.field.factory_takes_self:
            return empty
        default = field.field.make_default()
        return empty if default is None else self._encode_with(resolved.shape, default, resolved)
