"""What a query or scan leaves out, and what of a table or index can be seen at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dynamap.errors import RequestError
from dynamap.expressions import Compiler, Condition
from dynamap.operations.targets import Target

__all__ = ["Hiding", "check_filter", "check_whole", "hiding", "type_text"]


@dataclass(frozen=True)
class Hiding:
    """What the service is to leave out: conditions, or their texts, all of which are to hold.

    *clock* is the placeholder of the time in them. *complete* says that nothing has to be left out afterwards, so that
    the service can count.
    """

    parts: tuple[Condition | str, ...]
    clock: str | None
    complete: bool


def hiding(target: Target, filters: Sequence[Condition], compiler: Compiler, now: int | None) -> Hiding:
    """Leave out items of other types, what has expired at *now*, in epoch seconds, and what the filters exclude.

    Without *now* expired items stay in. The service lets no filter of a query name a key attribute: where the type or
    the time of an item stands in one, it is looked at when the item has come.
    """
    entity, keys = target.entity, target.attributes
    texts: list[str] = []
    complete = True
    discriminator = entity.layout.discriminator
    if discriminator in keys:
        complete = False
    elif discriminator is not None:
        name = compiler.name(discriminator)
        values = [compiler.value({"S": each}) for each in (entity.name, *entity.aliases)]
        texts.append(type_text(name, values, untyped=entity.untyped))
    clock: str | None = None
    if now is not None and entity.ttl_attribute in keys:
        complete = False
    elif now is not None and entity.ttl_attribute is not None:
        clock = compiler.value({"N": str(now)})
        # where no number stands nothing expires: NOT says so, and > would not
        texts.append(f"NOT {compiler.name(entity.ttl_attribute)} <= {clock}")
    return Hiding((*texts, *filters), clock, complete)


def type_text(name: str, values: Sequence[str], *, untyped: bool) -> str:
    """That the discriminator, whose placeholder is *name*, is one of these, or with *untyped* is not there."""
    text = f"{name} = {values[0]}" if len(values) == 1 else f"{name} IN ({', '.join(values)})"
    return f"({text} OR attribute_not_exists({name}))" if untyped else text


def check_filter(target: Target, condition: Condition, what: str, *, keys_allowed: bool = False) -> None:
    """Raise RequestError for a field that no filter can see there; *what* names the operation.

    *keys_allowed* as in a scan: only the filter of a query must not name the keys of what is read.
    """
    entity, compiler = target.entity, Compiler(target.entity)
    for reference in condition.fields():
        name = compiler.resolve(reference).field
        field = entity.shape.by_name[name]
        owner = f"{entity.cls.__qualname__}.{name}"
        keys = [attribute for attribute in field.read_from if attribute in target.attributes]
        if keys and not keys_allowed:
            msg = (
                f"{what}: {owner} is stored as {keys[0]!r}, a key attribute of {target.words}, which no filter may "
                f"name: give it to query() or range()"
            )
            raise RequestError(msg)
        missing = target.missing(field.read_from)
        if missing:
            msg = (
                f"{what}: {target.words} does not hold {missing[0]!r}, so that no filter can see {owner}: project it "
                f"in the index, or filter what was read"
            )
            raise RequestError(msg)


def check_whole(target: Target, what: str, *, hydrates: bool) -> None:
    """Raise RequestError where the items of an index are no whole entities.

    *what* names the operation, *hydrates* says that it has a `hydrate()`.
    """
    if target.index is None:
        return
    shape = target.entity.shape
    stored = [name for field in shape.fields if field.stored and not field.extras for name in field.read_from]
    missing = [repr(name) for name in target.missing(tuple(stored))]
    if target.index.projection != "ALL" and shape.extras:
        missing.append("what is no field")
    if missing:
        remedy = (
            "add hydrate(), which reads them from the table, or project()" if hydrates else "project() what it holds"
        )
        msg = (
            f"{what}: {target.words} does not hold {', '.join(missing)}, so that its items are no whole "
            f"{target.entity.cls.__qualname__}: {remedy}"
        )
        raise RequestError(msg)
