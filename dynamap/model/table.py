"""Table: a pure description of a table and of the classes in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeVar

from dynamap.codec import Context, class_fields, class_shape
from dynamap.errors import ModelError, RequestError
from dynamap.model.declare import Declaration, declaration_of
from dynamap.model.entities import Entity, Layout
from dynamap.model.templates import KeyTemplate, Overlap, can_coincide, parse_template

__all__ = ["Key", "Table"]

M = TypeVar("M")


@dataclass(frozen=True)
class Key:
    """The name of a key attribute."""

    name: str


class Table:
    """A pure description: no client, nothing is sent.

    *entities* are the classes whose items the table holds. *pk* and *sk* name its key attributes, `sk=None` a table
    without sort key. *discriminator* is the attribute that holds each item's type, *write_id* the one that lets a write
    recognise itself when its answer was lost (None stores none). A new versioned item starts with the current
    microsecond, or with *version_start*. *names* gives attribute names for field names, such as `camel_case`.
    *escape=False* takes the values of all key templates as they are and refuses the delimiter. *overlap* lists pairs of
    classes whose keys may coincide. *converter* is a cattrs converter for types that dynamap does not know.

    Raises ModelError: everything that is wrong with the classes is said here.
    """

    def __init__(
        self,
        name: str,
        entities: Sequence[type[Any]],
        *,
        pk: Key | str = "pk",
        sk: Key | str | None = "sk",
        discriminator: str = "_type",
        escape: bool = True,
        write_id: str | None = "_w",
        version_start: int | None = None,
        names: Callable[[str], str] | None = None,
        overlap: Sequence[tuple[type[Any], type[Any]]] = (),
        converter: Any = None,
    ) -> None:
        self.name = name
        self.entities = tuple(entities)
        if version_start is not None and version_start < 1:
            msg = f"Table {name!r}: version_start must be at least 1, because 0 means a new item"
            raise ModelError(msg)
        self.layout = Layout(
            pk=_key_name(pk),
            sk=None if sk is None else _key_name(sk),
            discriminator=discriminator,
            write_id=write_id,
            version_start=version_start,
        )
        self._check_layout()
        self._escape = escape
        self._context = Context(converter=converter) if names is None else Context(converter=converter, names=names)
        self._described: dict[type[Any], Entity[Any]] = {}
        for cls in self.entities:
            self._described[cls] = self._describe(cls)
        self._check_names()
        self._check_coincidence({frozenset(pair) for pair in overlap})

    def __repr__(self) -> str:
        return f"Table({self.name!r}, [{', '.join(cls.__qualname__ for cls in self.entities)}])"

    def entity(self, cls: type[M]) -> Entity[M]:
        """What this class is in this table. Raises RequestError for a class that is not in it."""
        entity: Entity[M] | None = self._described.get(cls)
        if entity is None:
            msg = f"{getattr(cls, '__qualname__', cls)} is not in Table {self.name!r}: add it to the table's entities"
            raise RequestError(msg)
        return entity

    # ---- checks

    def _check_layout(self) -> None:
        layout = self.layout
        names = [layout.pk, layout.sk, layout.discriminator, layout.write_id]
        used = [name for name in names if name is not None]
        if len(set(used)) != len(used) or not all(used):
            msg = f"Table {self.name!r}: pk, sk, discriminator and write_id need names of their own; got {', '.join(used)}"
            raise ModelError(msg)

    def _describe(self, cls: type[M]) -> Entity[M]:
        declared = declaration_of(cls)
        if declared is None or declared.abstract:
            what = "is abstract" if declared is not None else "is no entity"
            msg = f"{cls.__qualname__} {what}, so it cannot be in Table {self.name!r}: decorate it with @entity or @mapped"
            raise ModelError(msg)
        if cls in self._described:
            msg = f"{cls.__qualname__} stands twice in Table {self.name!r}"
            raise ModelError(msg)
        shape = class_shape(cls, context=self._context)
        pk, sk = self._templates(cls, declared)
        return Entity(cls, declared, self.layout, shape, pk, sk)

    def _templates(self, cls: type[Any], declared: Declaration) -> tuple[KeyTemplate, KeyTemplate | None]:
        owner = cls.__qualname__
        hints = {field.name: field.hint for field in class_fields(cls)}
        if declared.sk is None and self.layout.sk is not None:
            msg = f'{owner} needs a sort key template, because Table {self.name!r} has a sort key: write sk="..."'
            raise ModelError(msg)
        if declared.sk is not None and self.layout.sk is None:
            msg = f"{owner} has a sort key template, but Table {self.name!r} has no sort key: leave it out"
            raise ModelError(msg)
        pk = parse_template(declared.pk or "", hints, owner=owner, part="pk", escape=self._escape)
        if declared.sk is None:
            return pk, None
        return pk, parse_template(declared.sk, hints, owner=owner, part="sk", escape=self._escape)

    def _check_names(self) -> None:
        holders: dict[str, Entity[Any]] = {}
        for entity in self._described.values():
            for name in (entity.name, *entity.aliases):
                if name in holders:
                    msg = (
                        f"Table {self.name!r}: {holders[name].cls.__qualname__} and {entity.cls.__qualname__} are both "
                        f"called {name!r}: give one another name"
                    )
                    raise ModelError(msg)
                holders[name] = entity

    def _check_coincidence(self, permitted: set[frozenset[type[Any]]]) -> None:
        """No two classes may write the same key; a value that would is refused when its key is made."""
        for one, two in combinations(self.entities, 2):
            if frozenset((one, two)) in permitted:
                continue
            first, second = self._described[one], self._described[two]
            found = can_coincide((first.pk, first.sk), (second.pk, second.sk))
            if found.overlap is Overlap.UNAVOIDABLE:
                msg = (
                    f"Table {self.name!r}: keys of {one.__qualname__} ({_templates_text(first)}) and "
                    f"{two.__qualname__} ({_templates_text(second)}) can be the same: begin one with another literal, or "
                    f"permit it with overlap=[({one.__qualname__}, {two.__qualname__})]"
                )
                raise ModelError(msg)
            first.pk, first.sk = found.first
            second.pk, second.sk = found.second


def _templates_text(entity: Entity[Any]) -> str:
    return repr(entity.pk.text) if entity.sk is None else f"{entity.pk.text!r}, {entity.sk.text!r}"


def _key_name(key: Key | str) -> str:
    return key if isinstance(key, str) else key.name
