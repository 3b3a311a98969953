"""What a query of several types leaves out: conditions that are asked of the items of some types only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dynamap.errors import RequestError
from dynamap.expressions import Compiler, Condition
from dynamap.model import Entity
from dynamap.operations.filtering import Hiding, check_filter, type_text
from dynamap.operations.targets import Target

__all__ = ["JointFilter", "check_joint_filter"]


def check_joint_filter(targets: Sequence[Target], condition: Condition, what: str) -> None:
    """Raise RequestError for a condition that no type that is asked for has all fields of; *what* names the query."""
    if not _about(targets, condition):
        owners = dict.fromkeys(reference.owner for reference in condition.fields())
        for reference in condition.fields():
            if not any(issubclass(target.entity.cls, reference.owner) for target in targets):
                msg = f"{what}: filter() got {reference!r}, but {reference.owner.__qualname__} is not asked for"
                raise RequestError(msg)
        listed = " and ".join(owner.__qualname__ for owner in owners)
        msg = f"{what}: filter() takes a condition on one class, and this is on {listed}: write a filter() for each"
        raise RequestError(msg)
    for target in _about(targets, condition):
        check_filter(target, condition, what)


def _about(targets: Sequence[Target], condition: Condition) -> list[Target]:
    """The targets of the types that have all the fields of a condition."""
    owners = [reference.owner for reference in condition.fields()]
    return [target for target in targets if all(issubclass(target.entity.cls, owner) for owner in owners)]


class JointFilter:
    """Makes the filter of one request; *others* are the types of the table that are not asked for.

    With *unknown* it lets the items of types through that are none of the table's, so that they can be refused.
    """

    def __init__(
        self, targets: Sequence[Target], others: Sequence[Entity[Any]], compiler: Compiler, *, unknown: bool
    ) -> None:
        self._targets = targets
        self._others = others
        self._compiler = compiler
        self._unknown = unknown
        self._placeholders: dict[str, str] = {}

    def hiding(self, conditions: Sequence[Condition], now: int | None) -> Hiding:
        """All that is to be left out: other types, what has expired at *now*, and what the conditions exclude."""
        asked = [target.entity for target in self._targets]
        layout = asked[0].layout
        parts: list[Condition | str] = []
        if self._unknown and self._others:
            parts.append(f"NOT {self._typed(self._others, layout.discriminator or '')}")
        elif not self._unknown and layout.discriminator is not None:
            parts.append(self._typed(asked, layout.discriminator))
        clock: str | None = None
        expiring = [entity for entity in asked if entity.ttl_attribute is not None]
        if now is not None and expiring and layout.ttl is not None:
            # where no number stands nothing expires: NOT says so, and > would not
            clock = self._compiler.value({"N": str(now)})
            expired = f"{self._compiler.name(layout.ttl)} <= {clock}"
            if self._is_everything(expiring):
                parts.append(f"NOT {expired}")
            else:
                parts.append(f"NOT ({self._typed(expiring, layout.discriminator or '')} AND {expired})")
        for condition in conditions:
            parts += self._asked_of(condition)
        return Hiding(tuple(parts), clock, complete=not self._unknown)

    def _asked_of(self, condition: Condition) -> list[Condition | str]:
        """A condition on the items of the types that have its fields; those of others stay in."""
        groups: list[tuple[object, list[Entity[Any]]]] = []
        for target in _about(self._targets, condition):
            # types that store the fields in the same way share one text
            alone = Compiler(target.entity)
            compiled = (alone.condition([condition]), alone.placeholders())
            for known, members in groups:
                if known == compiled:
                    members.append(target.entity)
                    break
            else:
                groups.append((compiled, [target.entity]))
        if len(groups) == 1 and self._is_everything(groups[0][1]):
            return [condition]
        made: list[Condition | str] = []
        for _, members in groups:
            text = self._compiler.about(members[0]).condition([condition])
            made.append(f"(NOT {self._typed(members, members[0].layout.discriminator or '')} OR {text})")
        return made

    def _is_everything(self, entities: Sequence[Entity[Any]]) -> bool:
        """Whether all that comes is of these types."""
        return not self._unknown and len(entities) == len(self._targets)

    def _typed(self, entities: Sequence[Entity[Any]], discriminator: str) -> str:
        """That an item is one of these types."""
        name = self._compiler.name(discriminator)
        values = [self._placeholder(each) for entity in entities for each in (entity.name, *entity.aliases)]
        return type_text(name, values, untyped=any(entity.untyped for entity in entities))

    def _placeholder(self, name: str) -> str:
        if name not in self._placeholders:
            self._placeholders[name] = self._compiler.value({"S": name})
        return self._placeholders[name]
