"""Query of several types: items of one partition, each as an instance of its class."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, NoReturn, TypeVar

from typing_extensions import Self

from dynamap.codec import Body
from dynamap.errors import ItemDecodeError, RequestError
from dynamap.expressions import Compiler, Condition, KeyCondition
from dynamap.markers import D
from dynamap.model import UNREAD, Entity, StoredItem
from dynamap.operations.base import Moment, Operation, Scope, key_text
from dynamap.operations.endings import Ending
from dynamap.operations.filtering import Hiding
from dynamap.operations.joint_filters import JointFilter, check_joint_filter
from dynamap.operations.joint_keys import JointSelection, bounds_of, select_jointly
from dynamap.operations.pages import Source
from dynamap.operations.reading import Reading
from dynamap.operations.replies import joint_page_decoder
from dynamap.operations.settling import unexpired
from dynamap.operations.stream import gathered
from dynamap.operations.targets import Target
from dynamap.plan import Item, Plan, Reply

__all__ = ["JointScope", "MultiQuery"]

M = TypeVar("M")
G = TypeVar("G")


@dataclass(frozen=True)
class JointScope(Scope[Any]):
    """Where a query of several types goes: *entities* are those that are asked for, *others* those of the table too."""

    entities: tuple[Entity[Any], ...] = ()
    others: tuple[Entity[Any], ...] = ()

    @property
    def subject(self) -> str | None:
        """None where several may be meant."""
        return super().subject if len(self.entities) == 1 else None


class MultiQuery(Reading[D, M], Generic[D, M, G]):
    """Read the items of several types in one partition, in the order of the sort key; the table alone, no index.

    Costs a read unit for each 4 KB of what has the beginning that the sort keys of all these types share, which is the
    whole partition if they share none; half of that if read eventually, as it is unless one of the types is versioned.
    Items of other types are left out, and are among those that `Page.skipped` counts.
    """

    _entities: tuple[Entity[Any], ...]
    _others: tuple[Entity[Any], ...]
    _targets: tuple[Target, ...]
    _selection: JointSelection
    _ranged: bool
    _reversed: bool
    _unknown: bool
    _numbered: bool

    def __init__(self, scope: JointScope, values: Mapping[str, object]) -> None:
        names = ", ".join(entity.cls.__qualname__ for entity in scope.entities)
        what = f"query of {names} {key_text(values)}".rstrip()
        for position, entity in enumerate(scope.entities):
            if entity in scope.entities[:position]:
                msg = f"{what}: {entity.cls.__qualname__} is asked for twice: name each class once"
                raise RequestError(msg)
        targets = tuple(Target.table(entity) for entity in scope.entities)
        self._begin(scope, targets[0], dict(values), what)
        self.__dict__.update(
            _entities=scope.entities,
            _others=scope.others,
            _targets=targets,
            _selection=select_jointly(targets, values, what),
            _ranged=False,
            _reversed=False,
            _unknown=False,
            _numbered=False,
        )

    # ---- steps

    def range(self, condition: KeyCondition, /) -> Self:
        """Only what has the next sort key field in this range, as `range(F(Order.at).between(a, b))`.

        It is the first field of the sort key that the partition key does not give, and must stand at the same place in
        the sort keys of all the types, behind the same text, whatever its name is in each. RequestError otherwise, for
        a second range, and for a field in whose order keys do not sort; KeyValueError for a value that a key cannot
        hold.
        """
        if self._ranged:
            msg = f"{self._what}: a query takes one range, and has one: use between() for two ends, or filter()"
            raise RequestError(msg)
        bounds = bounds_of(self._targets, self._values, condition, self._what)
        selection = select_jointly(self._targets, self._values, self._what, bounds)
        return self._copy(_selection=selection, _ranged=True)

    def filter(self, condition: Condition, /) -> Self:
        """Leave out items of which this does not hold, after they were read and paid for; several must all hold.

        It is asked of the types that have all of its fields: items of the others stay in. A field that several inherit
        is one of them all, also as `F(Order.note)`; `F(Order, lambda order: order.note)` is that of orders alone.
        RequestError for fields of several types in one condition, for a type that is not asked for, and for a key
        attribute.
        """
        return super().filter(condition)

    def reverse(self) -> Self:
        """From the last key to the first; twice is forward again."""
        return self._copy(_reversed=not self._reversed)

    def raise_unknown(self) -> Self:
        """Raise ItemDecodeError when an item comes up that is of none of the table's types, instead of leaving it out.

        It looks at what is read: what lies outside of the keys that these types can have, or of the range, is not.
        """
        return self._copy(_unknown=True)

    def grouped(self) -> Operation[D, G]:
        """All items, as a list for each type, in the order in which the types were named; each in that of the keys."""
        return Ending(self._scope, self._grouped_plan, self._first_request)

    # ---- compiling

    def _source(self, moment: Moment, *, counting: bool = False) -> Source | None:
        selection = self._selection.whole
        if selection.nothing:
            return None
        compiler = Compiler(self._scope.entity)
        params: dict[str, Any] = {"TableName": self._scope.table_name}
        params["KeyConditionExpression"] = selection.text(compiler)
        if self._reversed:
            params["ScanIndexForward"] = False
        source = self._completed("Query", params, compiler, moment, counting=counting)
        if self._selection.exact:
            return source
        # two ranges may read the same keys and take others of them
        each = repr(self._selection.each).encode()
        return replace(source, binding=lambda: hashlib.sha256(source.binding() + each).digest())

    def _hiding(self, compiler: Compiler, moment: Moment) -> Hiding:
        made = JointFilter(self._targets, self._others, compiler, unknown=self._looks_for_unknown)
        hidden = made.hiding(self._filters, self._expiry(moment))
        return hidden if self._selection.exact else replace(hidden, complete=False)

    @property
    def _looks_for_unknown(self) -> bool:
        return self._unknown and self._scope.entity.layout.discriminator is not None

    @property
    def _counts_whole(self) -> bool:
        return self._looks_for_unknown

    def _expiry(self, moment: Moment) -> int | None:
        if self._expired_included:
            return None
        moments = (replace(self._scope, entity=entity).expiry(moment) for entity in self._entities)
        return next((each for each in moments if each is not None), None)

    def _check_filter(self, condition: Condition) -> None:
        check_joint_filter(self._targets, condition, self._what)

    def _reply_decoder(self) -> Callable[[Body], Reply]:
        return joint_page_decoder(self._entities)

    # ---- items

    def _shown(self, moment: Moment) -> Callable[[list[Item]], list[Item]]:
        now = self._expiry(moment)

        def shows(item: Item) -> bool:
            position = self._position(item)
            if position is None:
                # what is to be raised for it is raised in its turn
                return self._looks_for_unknown and not any(entity.claims(item) for entity in self._others)
            entity = self._entities[position]
            return unexpired(entity, item, now) is not None and self._selection.holds(position, item)

        # one that was read as a struct is one of the types
        certain = now is None and self._selection.exact
        return lambda items: [item for item in items if (certain and isinstance(item, StoredItem)) or shows(item)]

    def _position(self, item: Item) -> int | None:
        """Which of the types an item is; None if it is none of them."""
        for position, entity in enumerate(self._entities):
            if entity.claims(item):
                return position
        return None

    def _decode_into(self, items: list[Item], values: list[M]) -> None:
        numbered = self._numbered
        for item in items:
            # one that was read as a struct is of the class of its discriminator
            read: Any = UNREAD if numbered or not isinstance(item, StoredItem) else item.reader.read(item)
            values.append(self._decode(item) if read is UNREAD else read)

    def _decode(self, item: Item) -> M:
        position = self._position(item)
        if position is None:
            self._refuse(item)
        value: Any = self._entities[position].decode(item)
        return (position, value) if self._numbered else value  # type: ignore[return-value]  # numbered for grouped()

    def _refuse(self, item: Item) -> NoReturn:
        layout = self._scope.entity.layout
        attribute = layout.discriminator or ""
        key = {each.name: next(iter(item[each.name].values())) for each in layout.keys}
        found = item.get(attribute, {}).get("S")
        says = "has no type" if found is None else f"has the type {found!r}"
        msg = (
            f"{self._what}: the item {key} {says}, which is none of the table's: $.{attribute}: add its class to the "
            f"Table, or leave out raise_unknown()"
        )
        raise ItemDecodeError(msg, entity=self._scope.entity.cls, key=key, path=f"$.{attribute}")

    def _grouped_plan(self) -> Plan[G]:
        found: list[tuple[int, Any]] = []
        numbered: MultiQuery[D, Any, G] = self._copy(_numbered=True)
        yield from gathered(numbered._emitting(), found)
        groups: tuple[list[Any], ...] = tuple([] for _ in self._entities)
        for position, value in found:
            groups[position].append(value)
        answer: Any = groups
        return answer  # type: ignore[no-any-return]  # a tuple of as many lists as there are types
