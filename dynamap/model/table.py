"""Table: a pure description of a table and of the classes in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, Literal, TypeVar, get_args, get_origin

from msgspec.structs import replace

from dynamap.codec import Context, EnumShape, LiteralShape, class_shape, unwrapped
from dynamap.errors import ModelError, RequestError
from dynamap.model.declare import Declaration, declaration_of
from dynamap.model.entities import Entity
from dynamap.model.indexes import GlobalIndex, LocalIndex, PhysicalIndex, physical_indexes
from dynamap.model.key_parts import KeyParts
from dynamap.model.keys import ConstantKey, FieldKey, Key, KeyPart, TemplateKey, as_key
from dynamap.model.layout import Layout
from dynamap.model.templates import KeyTemplate, KeyTemplates, Overlap, can_coincide, parse_template
from dynamap.model.ttl import with_ttl

__all__ = ["Table"]

M = TypeVar("M")

# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
_MOST_INCLUDED = 100


class Table:
    """A pure description: no client, nothing is sent.

    *entities* are the classes whose items the table holds. *pk* and *sk* are its key attributes, `sk=None` a table
    without sort key; a name alone holds text, `Key("order-no", int)` numbers. *indexes* are its secondary indexes.
    *discriminator* is the attribute that holds each item's type, and *untyped* the class of items that have none; with
    `discriminator=None` no item has one, so that the table holds one class. *ttl* is the attribute that says when items
    expire, *write_id* the one that lets a write recognise itself when its answer was lost (None stores none). A new
    versioned item starts with the current microsecond, or with *version_start*. *names* gives attribute names for field
    names, such as `camel_case`. *escape=False* takes the values of all key templates as they are and refuses the
    delimiter. *overlap* lists pairs of classes whose keys may coincide. *converter* is a cattrs converter for types
    that dynamap does not know.

    *replicated* says that it is a global table which several regions write at a time, and refuses what cannot hold
    there. True stands for eventual consistency, where the last writer of any region wins: no versions, no conditions of
    yours, no counters. "strongly" stands for strong consistency, where these hold, but DynamoDB has no transactions, no
    TTL and no local indexes. Of a table that one region alone writes, leave it out.

    Raises ModelError: everything that is wrong with the classes is said here.
    """

    def __init__(
        self,
        name: str,
        entities: Sequence[type[Any]],
        *,
        pk: Key | str = "pk",
        sk: Key | str | None = "sk",
        indexes: Sequence[GlobalIndex | LocalIndex] = (),
        discriminator: str | None = "_type",
        untyped: type[Any] | None = None,
        ttl: str | None = None,
        escape: bool = True,
        write_id: str | None = "_w",
        version_start: int | None = None,
        names: Callable[[str], str] | None = None,
        overlap: Sequence[tuple[type[Any], type[Any]]] = (),
        converter: Any = None,
        replicated: bool | Literal["strongly"] = False,
    ) -> None:
        self.name = name
        self.entities = _checked_classes(name, entities)
        if version_start is not None and version_start < 1:
            msg = f"Table {name!r}: version_start must be at least 1, because 0 means a new item"
            raise ModelError(msg)
        keys = [as_key(pk), *([] if sk is None else [as_key(sk)])]
        self.layout = Layout(
            partition=keys[0],
            sort=keys[1] if len(keys) > 1 else None,
            discriminator=discriminator,
            write_id=write_id,
            version_start=version_start,
            ttl=ttl,
            indexes=physical_indexes(name, keys, indexes),
            replicated=replicated,
        )
        self._untyped = untyped
        self._check_layout()
        self._escape = escape
        self._context = Context(converter=converter) if names is None else Context(converter=converter, names=names)
        self._described: dict[type[Any], Entity[Any]] = {}
        for cls in self.entities:
            self._described[_origin(cls)] = self._describe(cls)
        self._check_names()
        self._check_untyped()
        self._check_replicated()
        for index in self.layout.indexes:
            self._check_projection(index)
        self._check_coincidence({frozenset(map(_origin, pair)) for pair in overlap})

    def __repr__(self) -> str:
        return f"Table({self.name!r}, [{', '.join(map(_name, self.entities))}])"

    def entity(self, cls: type[M]) -> Entity[M]:
        """What this class is in this table. Raises RequestError for a class that is not in it."""
        asked: Any = _origin(cls)
        if not isinstance(asked, type):
            msg = f"a class of Table {self.name!r} is wanted; got an instance of {type(asked).__qualname__}"
            raise RequestError(msg)
        entity: Entity[M] | None = self._described.get(asked)
        if entity is None or (get_origin(cls) is not None and cls not in self.entities):
            remedy = "add it to the table's entities"
            for other in self.entities:
                if entity is not None and _origin(other) is entity.cls:
                    remedy = f"the table holds {_name(other)}; use one of both in both places"
                elif _name(other) == _name(cls) and hasattr(cls, "__module__"):
                    remedy = f"it holds another class of this name, {_twice(other, cls)}"
            msg = f"{_name(cls)} is not in Table {self.name!r}: {remedy}"
            raise RequestError(msg)
        return entity

    # ---- checks

    def _check_layout(self) -> None:
        layout = self.layout
        names = [layout.pk, layout.sk, layout.discriminator, layout.write_id, layout.ttl]
        used = [name for name in names if name is not None]
        if len(set(used)) != len(used) or not all(used):
            msg = (
                f"Table {self.name!r}: pk, sk, discriminator, write_id and ttl need names of their own; "
                f"got {', '.join(used)}"
            )
            raise ModelError(msg)
        for index in layout.indexes:
            for key in index.keys:
                wanted = {layout.discriminator: "S", layout.ttl: "N", layout.write_id: None}.get(
                    key.name, key.wire_type
                )
                if wanted != key.wire_type:
                    remedy = (
                        "which dynamap uses for itself: use another attribute"
                        if wanted is None
                        else f"which holds {wanted}: declare Key({key.name!r}, {'str' if wanted == 'S' else 'int'})"
                    )
                    msg = f"Table {self.name!r}: index {index.name!r} has the key attribute {key.name!r}, {remedy}"
                    raise ModelError(msg)

    def _describe(self, cls: type[M]) -> Entity[M]:
        declared = declaration_of(cls)
        if declared is None or declared.abstract:
            what = "is abstract" if declared is not None else "is no entity"
            msg = f"{_name(cls)} {what}, so it cannot be in Table {self.name!r}: decorate it with @entity or @mapped"
            raise ModelError(msg)
        origin: type[M] = _origin(cls)
        if origin in self._described:
            msg = f"{origin.__qualname__} stands twice in Table {self.name!r}"
            raise ModelError(msg)
        owner = origin.__qualname__
        shape = class_shape(cls, context=self._context)
        if declared.ttl is not None:
            if self.layout.ttl is None:
                msg = (
                    f"{owner} has the TTL {declared.ttl!r}, but Table {self.name!r} has no TTL attribute: "
                    f'write Table(..., ttl="ttl")'
                )
                raise ModelError(msg)
            shape = with_ttl(shape, declared.ttl, self.layout.ttl, owner=owner)
        maker = KeyParts(shape, owner=owner, table=self.name, escape=self._escape)
        pk, sk = self._key(owner, declared, maker)
        fixed = {part.attribute: part.as_stored() for part in (pk, sk) if part is not None}
        if self.layout.discriminator is not None:
            fixed[self.layout.discriminator] = ConstantKey(self.layout.discriminator, declared.name or owner)
        uses = maker.uses(declared.indexes, self.layout.indexes, fixed)
        stored_keys = maker.stored_keys(self.layout)
        untyped = origin is _origin(self._untyped)
        return Entity(origin, declared, self.layout, shape, pk, sk, uses, stored_keys, untyped=untyped)

    def _key(self, owner: str, declared: Declaration, maker: KeyParts) -> tuple[KeyPart, KeyPart | None]:
        pk = maker.table_part(self.layout.partition, declared.pk, "pk")
        if self.layout.sort is not None:
            return pk, maker.table_part(self.layout.sort, declared.sk, "sk")
        if declared.sk is not None:
            msg = f"{owner} has a sort key template, but Table {self.name!r} has no sort key: leave it out"
            raise ModelError(msg)
        return pk, None

    def _check_names(self) -> None:
        holders: dict[str, Entity[Any]] = {}
        for entity in self._described.values():
            for name in (entity.name, *entity.aliases):
                if name in holders:
                    one, other = holders[name].cls, entity.cls
                    if _name(one) == _name(other):
                        msg = f"Table {self.name!r} holds two classes {_name(one)}, {_twice(one, other)}"
                        raise ModelError(msg)
                    msg = (
                        f"Table {self.name!r}: {_name(one)} and {_name(other)} are both called {name!r}: "
                        f"give one another name"
                    )
                    raise ModelError(msg)
                holders[name] = entity

    def _check_untyped(self) -> None:
        if self.layout.discriminator is None and len(self.entities) > 1:
            msg = (
                f"Table {self.name!r} has no discriminator, so nothing tells its items apart: let it hold one class, "
                f"or name a discriminator and say with untyped= which class the items without one are"
            )
            raise ModelError(msg)
        if self._untyped is not None and _origin(self._untyped) not in self._described:
            name = getattr(self._untyped, "__qualname__", self._untyped)
            msg = f"Table {self.name!r}: untyped={name} is none of its entities: add it to them"
            raise ModelError(msg)

    def _check_replicated(self) -> None:
        """What a global table cannot keep.

        https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GlobalTables.html
        """
        layout = self.layout
        if layout.replicated not in (False, True, "strongly"):
            msg = f'Table {self.name!r}: replicated is True, "strongly" or False; got {layout.replicated!r}'
            raise ModelError(msg)
        if layout.replicated is True:
            for entity in self._described.values():
                if entity.version is not None:
                    msg = (
                        f"Table {self.name!r} is replicated, so that the last writer of any region wins, but "
                        f"{entity.cls.__qualname__} has a version, which would promise something else: let one region "
                        f'write, without replicated=True, or use a table with strong consistency, replicated="strongly"'
                    )
                    raise ModelError(msg)
        if layout.replicated == "strongly":
            local = [index.name for index in layout.indexes if index.local]
            lacking = [*(["a TTL"] if layout.ttl is not None else []), *(f"the local index {name!r}" for name in local)]
            if lacking:
                msg = (
                    f"Table {self.name!r} has {' and '.join(lacking)}, which a global table with strong consistency "
                    f"does not take: leave it out"
                )
                raise ModelError(msg)

    def _check_projection(self, index: PhysicalIndex) -> None:
        """What an index holds must be enough to say what its items are, and name only what is stored."""
        if index.projection == "ALL":
            return
        where = f"Table {self.name!r}: index {index.name!r}"
        always = [key.name for key in self.layout.keys]
        needed = [self.layout.discriminator, self.layout.ttl]
        missing = [name for name in needed if name is not None and not index.projects(name, always)]
        if missing:
            wanted = ", ".join(map(repr, dict.fromkeys((*index.included, *missing))))
            msg = (
                f"{where} does not project {' and '.join(map(repr, missing))}, without which its items cannot be read: "
                f"write projection=[{wanted}]"
            )
            raise ModelError(msg)
        known: dict[str, str] = {name: name for name in self.layout.bookkeeping}
        fields: dict[str, str] = {}
        for entity in self._described.values():
            for field in entity.shape.fields:
                if field.stored and not field.extras:
                    known[field.attribute] = fields[field.name] = field.attribute
        if self.layout.ttl is not None:
            known[self.layout.ttl] = self.layout.ttl
        for name in index.included:
            if name not in known and not any(entity.shape.extras for entity in self._described.values()):
                hint = (
                    f"is the field that is stored as {fields[name]!r}: name that"
                    if name in fields
                    else ("is stored by none of its classes: correct the name, or leave it out")
                )
                msg = f"{where} projects {name!r}, which {hint}"
                raise ModelError(msg)
        if len(index.included) > _MOST_INCLUDED:
            count = len(index.included)
            msg = f"{where} projects {count} attributes; DynamoDB takes {_MOST_INCLUDED} by name: project ALL"
            raise ModelError(msg)

    def _check_coincidence(self, permitted: set[frozenset[type[Any]]]) -> None:
        """No two classes may write the same key; a value that would is refused when its key is made."""
        for one, two in combinations(self._described, 2):
            if frozenset((one, two)) in permitted:
                continue
            first, second = self._described[one], self._described[two]
            found = can_coincide(_comparable(first), _comparable(second))
            if found.overlap is Overlap.UNAVOIDABLE:
                msg = (
                    f"Table {self.name!r}: keys of {one.__qualname__} ({_templates_text(first)}) and "
                    f"{two.__qualname__} ({_templates_text(second)}) can be the same: begin one with another literal, "
                    f"or permit it with overlap=[({one.__qualname__}, {two.__qualname__})]"
                )
                raise ModelError(msg)
            for entity, templates in ((first, found.first), (second, found.second)):
                entity.take_parts(
                    [_refusing(part, its) for part, its in zip(entity.key_parts, templates, strict=False)]
                )


def _checked_classes(name: Any, entities: Any) -> tuple[type[Any], ...]:
    """The classes that a table is given. Raises ModelError for no name, or no list of classes."""
    if not isinstance(name, str):
        got = type(name).__name__
        msg = f"a Table has a name and then a list of classes, such as Table('books', [Book]); got {got} for the name"
        raise ModelError(msg)
    where = f"Table {name!r} takes its classes in a list"
    if isinstance(entities, type) or get_origin(entities) is not None:
        msg = f"{where}: write Table({name!r}, [{_name(entities)}])"
        raise ModelError(msg)
    given: object = entities
    # messages name the classes in the order in which they are given, and a set has none
    if isinstance(given, (str, set, frozenset, dict)) or not hasattr(given, "__iter__"):
        msg = f"{where}, such as [Book]; got {type(entities).__name__}"
        raise ModelError(msg)
    return tuple(entities)


def _origin(cls: Any) -> Any:
    """The class that instances have: that of Box[int] is Box."""
    return get_origin(cls) or cls


def _name(cls: Any) -> str:
    if get_origin(cls) is not None:
        return f"{get_origin(cls).__qualname__}[{', '.join(map(_name, get_args(cls)))}]"
    return str(getattr(cls, "__qualname__", cls))


def _twice(one: type[Any], other: type[Any]) -> str:
    """Why there are two classes of one name, and what to do about it."""
    if one.__module__ == other.__module__:
        return f"both of {one.__module__}, which was reloaded: make the table again, and all else that holds the class"
    return f"of {one.__module__} and of {other.__module__}: import the module under one name only"


def _templates_text(entity: Entity[Any]) -> str:
    return ", ".join(repr(part.text) for part in entity.key_parts)


def _comparable(entity: Entity[Any]) -> KeyTemplates:
    """The templates that stand for an entity's keys in a comparison; None where a key may be any text or number."""
    templates = [_comparable_part(part) for part in entity.key_parts]
    return templates[0], templates[1] if len(templates) > 1 else None


def _comparable_part(part: KeyPart) -> KeyTemplate | None:
    if isinstance(part, TemplateKey):
        return part.template
    if isinstance(part, FieldKey) and isinstance(unwrapped(part.field.shape), (EnumShape, LiteralShape)):
        try:
            return parse_template(
                part.text, {part.field.name: part.field.field.hint}, owner=part.owner, part="pk", escape=False
            )
        except ModelError:
            return None
    return None


def _refusing(part: KeyPart, template: KeyTemplate | None) -> KeyPart:
    """The part with a template that refuses what would be another entity's key."""
    return replace(part, template=template) if isinstance(part, TemplateKey) and template is not None else part
