"""Which keys a query of several types asks for: one condition that takes in what each of them needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from dynamap.codec import Wire
from dynamap.errors import KeyValueError, RequestError
from dynamap.expressions import Field, KeyCondition
from dynamap.expressions.compiler import order
from dynamap.expressions.nodes import BeginsWith, Between, Compare
from dynamap.model.key_text import after_prefix
from dynamap.model.keys import KeyPart, TemplateKey
from dynamap.operations.key_conditions import Bound, KeyComparison, Selection, bound_of, compared, select
from dynamap.operations.targets import Target

__all__ = ["JointSelection", "bounds_of", "select_jointly"]

# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
_SORT_LIMIT = 1024


@dataclass(frozen=True)
class JointSelection:
    """The keys that are asked for, and for each type, in their order, the ones that it needs of them.

    *exact* says that these are the same, so that no item that comes has to be left out because of its key.
    """

    whole: Selection
    each: tuple[Selection, ...]
    exact: bool = True

    def holds(self, position: int, item: Mapping[str, Wire]) -> bool:
        """Whether the key of an item of this type is one that was asked for."""
        if self.exact:
            return True
        selection = self.each[position]
        return not selection.nothing and all(
            comparison.attribute in item and _holds(comparison, item[comparison.attribute])
            for comparison in selection.comparisons
        )


def select_jointly(
    targets: Sequence[Target], values: Mapping[str, Any], what: str, bounds: Sequence[Bound] | None = None
) -> JointSelection:
    """The keys of one partition that types with these targets need; *what* names the query in messages.

    *bounds* is the same range as each of them has it. Raises KeyValueError for values that are missing, or of no
    partition key, RequestError where the types have no partition in common.
    """
    _check_fields(targets, values, what)
    selections = tuple(select(target, _own_values(target, values)) for target in targets)
    partition = _shared_partition(targets, [selection.comparisons[0] for selection in selections], what)
    if bounds is not None:
        selections = tuple(
            select(target, _own_values(target, values), bound) for target, bound in zip(targets, bounds, strict=True)
        )
    wanted = [selection for selection in selections if not selection.nothing]
    if not wanted:
        return JointSelection(Selection((), nothing=True), selections)
    sorts = [selection.comparisons[1] if len(selection.comparisons) > 1 else None for selection in wanted]
    if all(sort == sorts[0] for sort in sorts):
        # a type that needs nothing here has no item in the range of the others
        return JointSelection(wanted[0], selections, exact=len(wanted) == len(selections))
    joint = _common_beginning(sorts) if bounds is None else _hull(sorts)
    whole = Selection((partition, *(() if joint is None else (joint,))))
    # without a range what differs is what stands before the fields: no item of a type is elsewhere
    return JointSelection(whole, selections, exact=bounds is None)


def bounds_of(
    targets: Sequence[Target], values: Mapping[str, Any], condition: KeyCondition, what: str
) -> tuple[Bound, ...]:
    """The same range of the next sort key field of each type.

    Raises RequestError unless that field stands at the same place in all of their sort keys.
    """
    given: Any = condition
    node = given.node if isinstance(given, KeyCondition) else None
    reference = compared(node)
    if not isinstance(reference, Field):
        # whatever it is, it is refused as a query of one type refuses it
        return tuple(bound_of(target, _own_values(target, values), condition) for target in targets)
    owners = [target for target in targets if issubclass(target.entity.cls, reference.owner)]
    if not owners:
        msg = f"{what}: range() got {reference!r}, but {reference.owner.__qualname__} is not asked for"
        raise RequestError(msg)
    # first where the condition is from: what it says of that class is what the caller knows
    found = {target.entity.cls: bound_of(target, _own_values(target, values), condition) for target in owners}
    _check_places(owners[0], targets, values, what)
    for target in targets:
        if target.entity.cls not in found:
            own = Field[Any](target.entity.cls, (_next_field(target, values) or "",))
            found[target.entity.cls] = bound_of(target, _own_values(target, values), KeyCondition(_about(node, own)))
    return tuple(found[target.entity.cls] for target in targets)


# ---- the partition


def _own_values(target: Target, values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: values[name] for part in target.partition for name in part.fields if name in values}


def _check_fields(targets: Sequence[Target], values: Mapping[str, Any], what: str) -> None:
    fields = dict.fromkeys(name for target in targets for part in target.partition for name in part.fields)
    for name in values:
        if name not in fields:
            msg = (
                f"{what}: {name!r} is no field of a partition key, which takes {', '.join(fields) or 'none'}: ask for "
                f"sort keys with range()"
            )
            raise KeyValueError(msg)
    for target in targets:
        for part in target.partition:
            missing = [name for name in part.fields if name not in values]
            if missing:
                msg = (
                    f"{what}: {' and '.join(missing)} is missing, of which {target.entity.cls.__qualname__} makes its "
                    f"partition key {part.text!r}"
                )
                raise KeyValueError(msg)


def _shared_partition(targets: Sequence[Target], partitions: Sequence[KeyComparison], what: str) -> KeyComparison:
    """The partition that all have their items in."""
    for target, partition in zip(targets, partitions, strict=True):
        if partition.operands != partitions[0].operands:
            one, other = (
                f"{each.entity.cls.__qualname__} has its items in {_shown(its)} ({each.partition[0].text!r})"
                for each, its in ((targets[0], partitions[0]), (target, partition))
            )
            msg = f"{what}: a query reads one partition, but {one} and {other}: query them apart"
            raise RequestError(msg)
    return partitions[0]


def _shown(comparison: KeyComparison) -> str:
    return repr(next(iter(comparison.operands[0].values())))


# ---- what stands in the sort keys


def _sort_part(target: Target) -> KeyPart | None:
    return target.sort[0] if target.sort else None


def _next_field(target: Target, values: Mapping[str, Any]) -> str | None:
    """The first field of its sort key that is not given."""
    part = _sort_part(target)
    own = _own_values(target, values)
    return None if part is None else next((name for name in part.fields if name not in own), None)


def _place(target: Target, values: Mapping[str, Any]) -> str:
    """What stands before the next field in the sort key."""
    part = _sort_part(target)
    own = target.entity.normalized(_own_values(target, values))
    return part.template.prefix(own) if isinstance(part, TemplateKey) else ""


def _shown_place(target: Target, values: Mapping[str, Any]) -> str:
    place = _place(target, values)
    return f"after {place!r}" if place else "first"


def _check_places(first: Target, targets: Sequence[Target], values: Mapping[str, Any], what: str) -> None:
    for target in targets:
        if _next_field(target, values) is None:
            part = _sort_part(target)
            msg = (
                f"{what}: {target.entity.cls.__qualname__} takes no range, for its sort key "
                f"{'' if part is None else part.text!r} is always the same: query it apart, or use filter()"
            )
            raise RequestError(msg)
        if _place(target, values) != _place(first, values):
            one, other = (
                f"{each.entity.cls.__qualname__}.{_next_field(each, values)} stands {_shown_place(each, values)}"
                for each in (first, target)
            )
            msg = (
                f"{what}: a range is of one place in the sort keys, but {one} and {other}: query them apart, or use "
                f"filter()"
            )
            raise RequestError(msg)


def _about(node: object, field: Field[Any]) -> Any:
    """The same comparison of another field."""
    if isinstance(node, Compare):
        return replace(node, left=field)
    if isinstance(node, Between):
        return replace(node, operand=field)
    return replace(node, field=field) if isinstance(node, BeginsWith) else node


# ---- one condition for all


def _common_beginning(sorts: Sequence[KeyComparison | None]) -> KeyComparison | None:
    """The beginning that all of these have in common; None if there is none, so that all of the partition is read."""
    texts: list[str] = []
    for sort in sorts:
        if sort is None or "S" not in sort.operands[0]:
            return None
        texts.append(sort.operands[0]["S"])
    beginning = _beginning(min(texts), max(texts))
    attribute = next(sort.attribute for sort in sorts if sort is not None)
    return KeyComparison(attribute, "begins_with", ({"S": beginning},)) if beginning else None


def _beginning(one: str, other: str) -> str:
    """The beginning that two texts have in common."""
    size = next((number for number, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), len(one))
    return one[:size]


def _hull(sorts: Sequence[KeyComparison | None]) -> KeyComparison | None:
    """From the lowest key that one of these takes to the highest, or past it; None if they have no end."""
    attribute = ""
    lows: list[Wire] = []
    highs: list[Wire] = []
    for sort in sorts:
        if sort is None:
            return None
        attribute = sort.attribute
        low, high = _ends(sort)
        lows += [] if low is None else [low]
        highs += [] if high is None else [high]
    low = min(lows, key=order) if len(lows) == len(sorts) else None
    high = max(highs, key=order) if len(highs) == len(sorts) else None
    if low is None:
        return None if high is None else KeyComparison(attribute, "le", (high,))
    if high is None:
        return KeyComparison(attribute, "ge", (low,))
    return KeyComparison(attribute, "between", (low, high))


def _ends(comparison: KeyComparison) -> tuple[Wire | None, Wire | None]:
    first, last = comparison.operands[0], comparison.operands[-1]
    if comparison.sign in ("lt", "le"):
        return None, first
    if comparison.sign in ("gt", "ge"):
        return first, None
    if comparison.sign == "begins_with":
        after = after_prefix(first["S"], _SORT_LIMIT) if "S" in first else None
        return first, None if after is None else {"S": after}
    return first, last


def _holds(comparison: KeyComparison, wire: Wire) -> bool:
    """Whether a stored key attribute is one of these, as DynamoDB compares."""
    first, last = comparison.operands[0], comparison.operands[-1]
    if wire.keys() != first.keys():
        return False
    if comparison.sign == "begins_with":
        return bool(order(wire).startswith(order(first)))
    here, low = order(wire), order(first)
    return bool(
        {
            "eq": here == low,
            "lt": here < low,
            "le": here <= low,
            "gt": here > low,
            "ge": here >= low,
            "between": low <= here <= order(last),
        }[comparison.sign]
    )
