"""Field references, and the conditions and values that are made from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sized
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeVar, cast, get_origin, overload
from uuid import UUID

from dynamap.expressions.nodes import (
    And,
    AttributeType,
    BeginsWith,
    Between,
    Compare,
    Contains,
    Exists,
    Membership,
    Node,
    Not,
    Operand,
    Or,
    TypeIs,
    Value,
)

__all__ = ["Condition", "F", "Field", "KeyCondition", "OrElse", "Size", "Sum", "Term"]

T = TypeVar("T")
U = TypeVar("U")
M = TypeVar("M")

# What a method is for is said by a covariant base as self type: Operand[str | None] takes str, NewType, Literal and
# Optional alike. A bounded TypeVar there is not checked by mypy: F(Stock.count).begins_with("x") would pass.
Number: TypeAlias = "int | float | Decimal"
Ordered: TypeAlias = "str | bytes | int | float | Decimal | date | time | timedelta | UUID | Enum | None"
MYPY = False  # mypy takes it for True
_TERMS: tuple[type, ...] = (Operand, Value)
_NODES = (Compare, Between, Membership, Exists, TypeIs, BeginsWith, Contains, And, Or, Not)


class Condition:
    """A condition on one item; combine several with `&`, `|` and `~`."""

    __slots__ = ("node",)

    def __init__(self, node: Node) -> None:
        self.node = node

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_told(self.node)})"

    def __and__(self, other: Condition) -> Condition:
        return Condition(And((self.node, _node_of(other, "&"))))

    def __or__(self, other: Condition) -> Condition:
        return Condition(Or((self.node, _node_of(other, "|"))))

    def __invert__(self) -> Condition:
        return Condition(Not(self.node))

    def fields(self) -> tuple[Field[Any], ...]:
        """The references in it, in order."""
        return tuple(_references(self.node))

    # To pyright a __bool__ that answers no bool, so that `if condition` is an error in every mode; to mypy none at all,
    # so that its truthy-bool rule reports it. NoReturn would make mypy skip the rest of the user's function in silence.
    if TYPE_CHECKING:
        if not MYPY:

            def __bool__(self) -> str: ...

    else:

        def __bool__(self):  # noqa: ANN204 - the checkers read the one above
            msg = "a Condition has no truth value; combine conditions with & | ~ instead of and, or, not"
            raise TypeError(msg)


def _node_of(other: object, operator: str) -> Node:
    if isinstance(other, Condition):
        return other.node
    msg = f"{operator} combines two Conditions; got {type(other).__name__}"
    raise TypeError(msg)


def _told(part: object) -> str:
    """A condition or an operand for a person; values are left out, they may be secret."""
    if isinstance(part, _TERMS):
        return repr(part)
    if isinstance(part, (And, Or)):
        texts = [f"({_told(each)})" if isinstance(each, (And, Or)) else _told(each) for each in part.parts]
        return (" & " if isinstance(part, And) else " | ").join(texts)
    if isinstance(part, Not):
        return f"~({_told(part.part)})"
    if isinstance(part, Compare):
        return f"{part.left!r} {part.operator} {_told(part.right)}"
    if isinstance(part, Between):
        return f"{part.operand!r} between {_told(part.low)} and {_told(part.high)}"
    if isinstance(part, Membership):
        return f"{part.operand!r} in ({', '.join(map(_told, part.candidates))})"
    if isinstance(part, Exists):
        return f"{part.field!r} {'exists' if part.expected else 'does not exist'}"
    if isinstance(part, TypeIs):
        return f"{part.field!r} is stored as {part.kind}"
    if isinstance(part, (BeginsWith, Contains)):
        return f"{part.field!r} {'begins with' if isinstance(part, BeginsWith) else 'contains'} ..."
    return "..."


def _references(part: object) -> Iterator[Field[Any]]:
    if isinstance(part, Field):
        yield part
    elif isinstance(part, Size):
        yield from _references(part.field)
    elif isinstance(part, tuple):
        for each in cast("tuple[object, ...]", part):
            yield from _references(each)
    elif isinstance(part, _NODES):
        for name in part.__struct_fields__:
            yield from _references(getattr(part, name))


class KeyCondition(Condition):
    """A comparison that `Query.range` takes too."""

    __slots__ = ()


class Term(Value[T]):
    """A field or an or_else: DynamoDB adds and subtracts exactly two of them, so a sum is no Term again."""

    __slots__ = ()

    def __add__(self: Value[Number], other: T | int | Term[T]) -> Value[T]:
        return Sum(self, "+", other)

    def __sub__(self: Value[Number], other: T | int | Term[T]) -> Value[T]:
        return Sum(self, "-", other)

    def __radd__(self: Value[Number], other: T | int) -> Value[T]:
        return Sum(other, "+", self)

    def __rsub__(self: Value[Number], other: T | int) -> Value[T]:
        return Sum(other, "-", self)


class Sum(Value[T]):
    """A sum or difference of exactly two operands."""

    __slots__ = ("left", "right", "sign")

    def __init__(self, left: object, sign: str, right: object) -> None:
        self.left, self.sign, self.right = left, sign, right

    def __repr__(self) -> str:
        return f"{_told(self.left)} {self.sign} {_told(self.right)}"


class OrElse(Term[T]):
    """A field, or a default where the item has no such attribute (`if_not_exists`)."""

    __slots__ = ("default", "field")

    def __init__(self, field: Field[Any], default: object) -> None:
        self.field, self.default = field, default

    def __repr__(self) -> str:
        return f"{self.field!r}.or_else({_told(self.default)})"


class Size(Operand[int]):
    """The size of a field: characters, bytes, or elements."""

    __slots__ = ("field",)

    def __init__(self, field: Operand[Sized | None]) -> None:
        self.field = field

    def __repr__(self) -> str:
        return f"{self.field!r}.size()"

    def eq(self, other: int | Operand[int]) -> Condition:
        return Condition(Compare("=", self, other))

    def ne(self, other: int | Operand[int]) -> Condition:
        return Condition(Compare("<>", self, other))

    def lt(self, other: int | Operand[int]) -> Condition:
        return Condition(Compare("<", self, other))

    def le(self, other: int | Operand[int]) -> Condition:
        return Condition(Compare("<=", self, other))

    def gt(self, other: int | Operand[int]) -> Condition:
        return Condition(Compare(">", self, other))

    def ge(self, other: int | Operand[int]) -> Condition:
        return Condition(Compare(">=", self, other))

    def between(self, low: int | Operand[int], high: int | Operand[int]) -> Condition:
        return Condition(Between(self, low, high))


class Field(Term[T], Operand[T]):
    """A reference to a field, or to a path inside one.

    Invariant in T: that is what makes `.set(F(Account.balance), "x")` an error.
    """

    __slots__ = ("owner", "path")

    def __init__(self, owner: type[Any], path: tuple[str | int, ...]) -> None:
        self.owner, self.path = owner, path

    def __repr__(self) -> str:
        return f"F({self.owner.__name__}: {'.'.join(map(str, self.path))})"

    def eq(self, other: T | Operand[T | None]) -> KeyCondition:
        """Equal to a value or to another field; `eq(None)` holds where reading would give None."""
        return KeyCondition(Compare("=", self, other))

    def ne(self, other: T | Operand[T | None]) -> Condition:
        """Not equal; true as well where the item has no such attribute, as DynamoDB defines `<>`."""
        return Condition(Compare("<>", self, other))

    def lt(self: Operand[Ordered], other: T | Operand[T | None]) -> KeyCondition:
        """Less than a value or another field; false where the item has no such attribute."""
        return KeyCondition(Compare("<", self, other))

    def le(self: Operand[Ordered], other: T | Operand[T | None]) -> KeyCondition:
        """Less or equal; false where the item has no such attribute."""
        return KeyCondition(Compare("<=", self, other))

    def gt(self: Operand[Ordered], other: T | Operand[T | None]) -> KeyCondition:
        """Greater than a value or another field; false where the item has no such attribute."""
        return KeyCondition(Compare(">", self, other))

    def ge(self: Operand[Ordered], other: T | Operand[T | None]) -> KeyCondition:
        """Greater or equal; false where the item has no such attribute."""
        return KeyCondition(Compare(">=", self, other))

    def between(self: Operand[Ordered], low: T | Operand[T | None], high: T | Operand[T | None]) -> KeyCondition:
        """From low to high, both included; low above high is a RequestError, as it is one of the service's."""
        return KeyCondition(Between(self, low, high))

    def is_in(self, first: T | Operand[T | None], /, *rest: T | Operand[T | None]) -> Condition:
        """One of up to 100 values."""
        return Condition(Membership(self, (first, *rest)))

    def exists(self) -> Condition:
        """The item has this attribute; a stored NULL is one."""
        return Condition(Exists(self, expected=True))

    def not_exists(self) -> Condition:
        """The item has no such attribute."""
        return Condition(Exists(self, expected=False))

    def attribute_type(self, kind: AttributeType) -> Condition:
        """The attribute is stored as this type, by DynamoDB's name: "S", "N", "NULL" and so on."""
        return Condition(TypeIs(self, kind))

    def size(self: Operand[Sized | None]) -> Size:
        """The size, to compare by `eq`, `lt` and so on: characters of a text, bytes, or elements."""
        return Size(self)

    def not_exists_or_lt(self: Operand[Ordered], other: T | Operand[T | None]) -> Condition:
        """Less than this, or the item has no such attribute."""
        return Condition(Or((Exists(self, expected=False), Compare("<", self, other))))

    def not_exists_or_le(self: Operand[Ordered], other: T | Operand[T | None]) -> Condition:
        """Less or equal, or the item has no such attribute."""
        return Condition(Or((Exists(self, expected=False), Compare("<=", self, other))))

    def not_exists_or_eq(self, other: T | Operand[T | None]) -> Condition:
        """Equal, or the item has no such attribute."""
        return Condition(Or((Exists(self, expected=False), Compare("=", self, other))))

    @overload
    def begins_with(self: Operand[str | None], prefix: str) -> KeyCondition: ...
    @overload
    def begins_with(self: Operand[bytes | None], prefix: bytes) -> KeyCondition: ...
    def begins_with(self, prefix: Any) -> KeyCondition:
        """The text or the bytes begin with this."""
        return KeyCondition(BeginsWith(self, prefix))

    # one overload per container: a union as self type lets mypy pass contains(1) on list[str]
    @overload
    def contains(self: Field[list[U]], item: U) -> Condition: ...
    @overload
    def contains(self: Field[list[U] | None], item: U) -> Condition: ...
    @overload
    def contains(self: Field[set[U]], item: U) -> Condition: ...
    @overload
    def contains(self: Field[set[U] | None], item: U) -> Condition: ...
    @overload
    def contains(self: Field[frozenset[U]], item: U) -> Condition: ...
    @overload
    def contains(self: Field[frozenset[U] | None], item: U) -> Condition: ...
    @overload
    def contains(self: Field[tuple[U, ...]], item: U) -> Condition: ...
    @overload
    def contains(self: Field[tuple[U, ...] | None], item: U) -> Condition: ...
    @overload
    def contains(self: Operand[str | None], item: str) -> Condition: ...
    @overload
    def contains(self: Operand[bytes | None], item: bytes) -> Condition: ...
    def contains(self, item: Any) -> Condition:
        """The list or set holds this element, or the text or bytes this part."""
        return Condition(Contains(self, item))

    @overload
    def or_else(self: Field[U | None], default: U | Field[U]) -> OrElse[U]: ...
    @overload
    def or_else(self: Field[U], default: U | Field[U]) -> OrElse[U]: ...
    def or_else(self, default: Any) -> OrElse[Any]:
        """The field, or a default where the item has no such attribute."""
        return OrElse[Any](self, default)


class _Recorder:
    """Stands for an instance inside the lambda of F and remembers the path that was taken."""

    __slots__ = ("dynamap_path_",)

    def __init__(self, *path: str | int) -> None:
        self.dynamap_path_ = path

    def __getattr__(self, name: str) -> _Recorder:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _Recorder(*self.dynamap_path_, name)

    def __getitem__(self, step: str | int) -> _Recorder:
        return _Recorder(*self.dynamap_path_, step)

    def __iter__(self) -> NoReturn:
        msg = "the lambda of F(X, lambda x: ...) may only follow attributes, list items and map keys"
        raise TypeError(msg)

    def __call__(self, *_args: object, **_kwargs: object) -> NoReturn:
        called = ".".join(map(str, self.dynamap_path_))
        msg = (
            f"the lambda of F(X, lambda x: ...) calls {called}(): "
            f"it may only follow attributes, list items and map keys"
        )
        raise TypeError(msg)


@overload
def F(attribute: T, /) -> Field[T]: ...
@overload
def F(model: type[M], pick: Callable[[M], T], /) -> Field[T]: ...
def F(subject: Any, pick: Callable[[Any], Any] | None = None, /) -> Field[Any]:  # noqa: N802 - the public name
    """A reference to a field: `F(Account.balance)`, or `F(Order, lambda o: o.address.city)` for any class and any path.

    The short form works on classes that @entity made, whose slot descriptors know their name and owner; anything else
    raises a TypeError that shows the long form.
    """
    if pick is not None:
        model = get_origin(subject) or subject
        picked = pick(_Recorder())
        if not isinstance(picked, _Recorder) or not picked.dynamap_path_:
            msg = f"F({model.__name__}, lambda x: ...) must return one attribute path; got {type(picked).__name__}"
            raise TypeError(msg)
        return Field(model, picked.dynamap_path_)
    if isinstance(subject, MemberDescriptorType) and "__dynamap__" in vars(subject.__objclass__):
        return Field(subject.__objclass__, (subject.__name__,))
    msg = (
        f"F() takes an attribute of an @entity class, as in F(Account.balance); got {type(subject).__name__}. "
        f"For other classes write F(Model, lambda m: m.attribute)"
    )
    raise TypeError(msg)
