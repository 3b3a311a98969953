"""What a class is in a table: its stored attributes, its key, its version; from instance to item and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, Generic, NoReturn, TypeVar, cast

from msgspec.structs import replace

from dynamap.codec import ClassShape, DecodeFailure, FieldShape, JsonItem, Shape, Wire, format_path, unwrapped
from dynamap.codec.generated import compiled
from dynamap.errors import EncodeError, ItemDecodeError, KeyValueError, ModelError, RequestError
from dynamap.model.declare import Declaration
from dynamap.model.indexes import IndexUse
from dynamap.model.key_code import KeyCode, key_code
from dynamap.model.keys import FieldKey, KeyPart
from dynamap.model.layout import Layout
from dynamap.model.places import Resolved, value_at, wire_at
from dynamap.model.stored import UNREAD, StoredItem, StoredItems
from dynamap.model.templates import KeyMismatch

__all__ = ["Entity"]

M = TypeVar("M")

_MOST_RESOLVED = 1000
"""The field references that are remembered for one class in one table."""


class Entity(Generic[M]):
    """One class in one table."""

    def __init__(  # made by Table only
        self,
        cls: type[M],
        declared: Declaration,
        layout: Layout,
        shape: ClassShape,
        pk: KeyPart,
        sk: KeyPart | None,
        uses: Sequence[IndexUse] = (),
        stored_keys: Mapping[str, FieldKey] = MappingProxyType({}),
        *,
        untyped: bool = False,
    ) -> None:
        self.cls = cls
        self.name: str = declared.name or cls.__qualname__
        self.aliases = declared.aliases
        self.layout = layout
        self.shape = shape
        self.version = declared.version
        self.ttl = declared.ttl
        self.untyped = untyped
        self.key_parts: tuple[KeyPart, ...] = (pk,) if sk is None else (pk, sk)
        self.key_fields: tuple[str, ...] = tuple(dict.fromkeys(name for part in self.key_parts for name in part.fields))
        self._fields: dict[str, FieldShape] = shape.by_name
        self._stored_keys = stored_keys
        self.has_stored_keys = bool(stored_keys)
        """Whether attributes of fields are keys too, so that not all that the fields hold can be stored."""
        self._resolved: dict[tuple[type, str], Resolved] = {}
        self.derived: dict[str, Any] = {}
        """What others keep for the class in this table, by their own names."""
        self._stored_items: StoredItems | None = None
        self._check()
        self.version_attribute = self._fields[declared.version].attribute if declared.version is not None else None
        self.ttl_attribute = None if declared.ttl is None else layout.ttl
        self.indexes: tuple[IndexUse, ...] = tuple(self._resolved_use(use) for use in uses)
        self._check_indexes()
        uses = [use for use in self.indexes if use.computed]
        depends = [name for use in uses for part in use.computed for name in (*part.fields, *use.when_fields)]
        self.index_fields = frozenset(depends)
        """The fields that attributes written for indexes depend on."""

    @property
    def pk(self) -> KeyPart:
        """What it has in the table's partition key attribute."""
        return self.key_parts[0]

    @property
    def sk(self) -> KeyPart | None:
        """What it has in the table's sort key attribute; None of a table without one."""
        return self.key_parts[1] if len(self.key_parts) > 1 else None

    def take_parts(self, parts: Sequence[KeyPart]) -> None:
        """Take key parts that refuse what would be another entity's key; made by Table only."""
        self.key_parts = tuple(parts)
        self.__dict__.pop("key_code", None)

    def __repr__(self) -> str:
        return f"Entity({self.cls.__qualname__})"

    def _check(self) -> None:
        owner = self.cls.__qualname__
        for field in self.shape.fields:
            if not field.stored or field.extras:
                continue
            if field.attribute in self._taken() and field.name != self.ttl:
                msg = (
                    f"{owner}.{field.name} is stored as {field.attribute!r}, which the table uses for itself: give "
                    f'the field another name with Annotated[..., Attribute("...")], or the table other names'
                )
                raise ModelError(msg)
            for alias in field.aliases:
                if alias in (*self._taken(), *(key.name for key in self.layout.keys)):
                    msg = (
                        f"{owner}.{field.name} has the alias {alias!r}, which the table uses for itself: leave it "
                        f"out, or give the table other names"
                    )
                    raise ModelError(msg)
        self._check_single("version", self.version)
        self._check_single("TTL", self.ttl)
        if self.version is not None:
            self._check_version(self._fields[self.version])
        if self.version is not None and self.version == self.ttl:
            msg = f"{owner}.{self.version} is the version and the TTL: use two fields"
            raise ModelError(msg)

    def _check_version(self, field: FieldShape) -> None:
        problem = None
        if field.shape.kind != "int":
            problem = "it must be an int"
        elif not field.stored:
            problem = "it must be stored"
        elif field.field.has_default and (field.field.factory is not None or field.field.default != 0):
            problem = "its default must be 0, which means a new item"
        elif field.aliases:
            msg = (
                f"{self.cls.__qualname__}.{field.name} is the version, so it must have no aliases, under which others "
                f'would go on counting: give it the stored name alone, as Annotated[int, Attribute("...")]'
            )
            raise ModelError(msg)
        if problem is not None:
            where = f"{self.cls.__qualname__}.{field.name}"
            msg = f"{where} is the version, so {problem}: write `{field.name}: int = 0`"
            raise ModelError(msg)

    def _check_single(self, what: str, name: str | None) -> None:
        if name is not None and name in self.key_fields:
            owner = self.cls.__qualname__
            msg = f"{owner}.{name} is the {what} and part of a key, but a key never changes: use another field"
            raise ModelError(msg)

    def _taken(self) -> list[str]:
        """The attributes that no field may have."""
        layout = self.layout
        keys = [key.name for key in layout.keys if key.name not in self._stored_keys]
        return [*keys, *(name for name in (layout.discriminator, layout.write_id, layout.ttl) if name is not None)]

    # ---- indexes

    def _resolved_use(self, use: IndexUse) -> IndexUse:
        """The use of an index with the fields that its condition speaks of."""
        if use.when is None:
            return use
        where = f"{self.cls.__qualname__}: when= of the index {use.index.name!r}"
        fields: dict[str, None] = {}
        for reference in use.when.fields():
            try:
                resolved = self.resolve(reference.owner, reference.path)
            except LookupError as error:
                msg = f"{where} names {'.'.join(map(str, reference.path))}: {error.args[0]}; correct the name"
                raise ModelError(msg) from error
            if resolved is None:
                msg = f"{where} speaks of {reference!r}, a field of {reference.owner.__qualname__}: use the class's own"
                raise ModelError(msg)
            fields[resolved.field] = None
        return replace(use, when_fields=tuple(fields))

    def _check_indexes(self) -> None:
        owner = self.cls.__qualname__
        written: dict[str, tuple[IndexUse, KeyPart]] = {}
        for use in self.indexes:
            name = use.index.name
            for field in dict.fromkeys((*(name for part in use.computed for name in part.fields), *use.when_fields)):
                if field == self.version:
                    msg = (
                        f"{owner}.{field} is the version, which changes with every write, and part of the index "
                        f"{name!r}: use another field"
                    )
                    raise ModelError(msg)
                if not self._fields[field].stored and field not in self.key_fields:
                    msg = (
                        f"{owner}.{field} is part of the index {name!r}, but not stored, nor part of the key: store it"
                    )
                    raise ModelError(msg)
            for part in use.computed:
                other, its = written.setdefault(part.attribute, (use, part))
                if its.text != part.text or (other.when is not use.when and use is not other):
                    msg = (
                        f"{owner}: the indexes {other.index.name!r} and {name!r} share the attribute "
                        f"{part.attribute!r}, so their templates there and when= must be the same"
                    )
                    raise ModelError(msg)

    def index(self, name: str) -> IndexUse:
        """How the class maps onto an index. Raises RequestError for one that it does not map onto."""
        for use in self.indexes:
            if use.index.name == name:
                return use
        listed = ", ".join(use.index.name for use in self.indexes) or "none"
        msg = (
            f"{self.cls.__qualname__} does not map onto an index {name!r}; its indexes are {listed}: declare it with "
            f"indexes=[Index({name!r}, ...)]"
        )
        raise RequestError(msg)

    # ---- keys

    def key(self, values: Mapping[str, Any]) -> dict[str, Wire]:
        """The primary key for these field values, all of them and no others. Raises KeyValueError."""
        try:
            made = self.key_code.of_values(values)
        except Exception:  # noqa: BLE001 - whatever it is, the parts say it
            made = None
        return self.key_by_parts(values) if made is None else made

    @cached_property
    def key_code(self) -> KeyCode:
        """What is generated for its keys, made when the first is."""
        return key_code(self.cls.__qualname__, self._fields, self.key_fields, self.key_parts, self.indexes)

    def key_by_parts(self, values: Mapping[str, Any]) -> dict[str, Wire]:
        """The same as `key`, without generated code."""
        for name in values:
            if name not in self.key_fields:
                msg = f"{self.cls.__qualname__} has no key field {name!r}: its key is {self._key_words()}"
                raise KeyValueError(msg)
        normal = self.normalized(values)
        return {part.attribute: part.encode(normal) for part in self.key_parts}

    def normalized(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Field values in their stored form, as keys hold them. Raises KeyValueError."""
        normal: dict[str, Any] = {}
        for name, value in values.items():
            try:
                normal[name] = self._fields[name].shape.normalize(value)
            except EncodeError as error:
                problem = str(error).removeprefix("$: ")
                msg = f"{self.cls.__qualname__}.{name} has no key: {problem}"
                raise KeyValueError(msg) from error
        return normal

    def key_value(self, name: str, value: Any) -> tuple[Any, Wire]:
        """One key field's value in its stored form, and its attribute value. Raises KeyValueError for none."""
        normal = self.normalized({name: value})[name]
        if normal is None:
            msg = f"{self.cls.__qualname__}.{name} is missing: the key needs a value for it"
            raise KeyValueError(msg)
        try:
            # the value is normalized already
            return normal, unwrapped(self._fields[name].shape).encode(normal)
        except EncodeError as error:
            problem = str(error).removeprefix("$: ")
            msg = f"{self.cls.__qualname__}.{name} has no key: {problem}"
            raise KeyValueError(msg) from error

    def key_values(self, instance: M) -> dict[str, Any]:
        """The key fields of an instance."""
        return {name: getattr(instance, name) for name in self.key_fields}

    def key_of(self, instance: M) -> dict[str, Wire]:
        """The primary key of an instance. Raises KeyValueError."""
        try:
            made = self.key_code.of_instance(instance)
        except Exception:  # noqa: BLE001 - whatever it is, the parts say it
            made = None
        return self.key_by_parts(self.key_values(instance)) if made is None else made

    def index_attributes(self, instance: M) -> dict[str, Wire] | None:
        """The attributes that an instance has for indexes; None where each is to be looked at by itself."""
        if not self.indexes:
            return {}
        try:
            return self.key_code.of_indexes(instance)
        except Exception:  # noqa: BLE001 - whatever it is, the parts say it
            return None

    def _key_words(self) -> str:
        return ", ".join(self.key_fields) or "the same for all its items"

    # ---- items

    def encode(self, instance: M, key: Mapping[str, Wire] | None = None) -> dict[str, Wire]:
        """The whole item but for the write id; *key* is its key if that is known.

        Raises KeyValueError or EncodeError.
        """
        item = self.key_of(instance) if key is None else dict(key)
        if self.layout.discriminator is not None:
            item[self.layout.discriminator] = {"S": self.name}
        item.update(self.attributes(instance))
        return item

    def attributes(self, instance: M) -> dict[str, Wire]:
        """The stored fields of an instance, without bookkeeping. Raises EncodeError or KeyValueError."""
        try:
            attributes = compiled(self.shape).encode_item(instance, ignore=self.layout.bookkeeping)
        except EncodeError as error:
            msg = f"{self.cls.__qualname__} {error}"
            raise EncodeError(msg, path=error.path) from error
        for attribute in self._stored_keys:
            if attribute in attributes:
                self.check_key(attribute, attributes[attribute])
        return attributes

    def check_key(self, attribute: str, wire: Wire) -> None:
        """Raise KeyValueError for a field's value that its attribute, a key of an index, cannot hold."""
        if attribute in self._stored_keys:
            self._stored_keys[attribute].check(wire)

    def decode(self, item: Mapping[str, Wire], *, applied: bool = False) -> M:
        """The entity that an item is. Raises ItemDecodeError; *applied* says that it was met after a write."""
        instance: M = self.decode_as(self.shape, item, applied=applied)
        return instance

    def decode_into(self, items: Sequence[Mapping[str, Wire]], made: list[M]) -> None:
        """Add the entities that items are. Raises ItemDecodeError for the first that is none."""
        position = 0
        while position < len(items):
            if self._stored_items is not None:
                position = self._stored_items.read_into(items, made, position)
            if position < len(items):
                made.append(self.decode(items[position]))
                position += 1

    def decode_as(self, shape: ClassShape, item: Mapping[str, Wire], *, applied: bool = False) -> Any:
        """The instance of a class with some of the entity's fields, as they are stored, that an item is."""
        if type(item) is JsonItem:
            read: StoredItem | None = self.stored_items.of_json(item.json)
            item = cast("Mapping[str, Wire]", item.whole() if read is None else read)
        if isinstance(item, StoredItem):
            if shape is self.shape and item.reader is self._stored_items:
                read = item.reader.read(item)
                if read is not UNREAD:
                    return read
            item = item.whole()
        if not self.claims(item):
            discriminator = self.layout.discriminator or ""
            found = item.get(discriminator, {}).get("S")
            what = "it has none" if found is None else f"it says {found!r}"
            self._refuse(item, f"$.{discriminator}", f"the discriminator should be {self.name!r}, but {what}", applied)
        versioned = self.version_attribute is not None and self.version in shape.by_name
        if versioned and self.stored_version(item, applied=applied) == 0:
            item = {**item, self.version_attribute or "": {"N": "-1"}}
        try:
            known = self._known(item, shape, applied=applied)
            return compiled(shape).decode_item(item, known=known, ignore=self.layout.bookkeeping)
        except DecodeFailure as failure:
            self.refuse(item, failure, applied=applied)

    @property
    def stored_items(self) -> StoredItems:
        """How its items are read from the bytes of a reply; made when it is first asked for."""
        if self._stored_items is None:
            names = [self.name, *self.aliases, *((None,) if self.untyped else ())]
            stored = all(field.stored for field in self.shape.fields)
            known = None if stored else partial(self._known, shape=self.shape, applied=False)
            made = StoredItems(self.shape, self.layout, names, self.ttl_attribute, self.version_attribute, known)
            # of two that are made at the same time one is kept: structs of the other would be read as dicts
            self._stored_items = made
        return self._stored_items

    def refuse(self, item: Mapping[str, Wire], failure: DecodeFailure, *, applied: bool = False) -> NoReturn:
        """Raise ItemDecodeError: the item has something that does not fit."""
        self._refuse(item, format_path(failure.path), failure.problem, applied, failure)

    def claims(self, item: Mapping[str, Wire]) -> bool:
        """Whether an item says that it is one of this class, or says nothing and this class is what such items are."""
        if isinstance(item, StoredItem) and item.reader is self._stored_items:
            return item.reader.claims(item)
        if self.layout.discriminator is None:
            return True
        found = item.get(self.layout.discriminator)
        if found is None:
            return self.untyped
        return found.get("S") == self.name or found.get("S") in self.aliases

    def claimed(self, items: list[dict[str, Wire]]) -> list[dict[str, Wire]]:
        """Those of some items that `claims` is true of."""
        if self._stored_items is not None and self._stored_items.claims_all(items):
            return items
        return [item for item in items if self.claims(item)]

    def _known(self, item: Mapping[str, Wire], shape: ClassShape, *, applied: bool) -> dict[str, Any]:
        """The fields that are not stored, recovered from the key."""
        if all(field.stored for field in shape.fields):
            return {}
        known: dict[str, Any] = {}
        for part in self.key_parts:
            if part.attribute in item:
                try:
                    known |= part.decode(item[part.attribute])
                except KeyMismatch as mismatch:
                    problem = "the key does not fit its template"
                    self._refuse(item, f"$.{part.attribute}", problem, applied, mismatch)
        return {field.name: known[field.name] for field in shape.fields if not field.stored and field.name in known}

    def _refuse(
        self,
        item: Mapping[str, Wire],
        path: str,
        problem: str,
        applied: bool,  # noqa: FBT001
        cause: Exception | None = None,
    ) -> NoReturn:
        names = [name for name in (self.layout.pk, self.layout.sk) if name is not None and name in item]
        key = {name: next(iter(item[name].values())) for name in names}
        after = " (met after a write that was applied)" if applied else ""
        msg = f"the item {key} is no {self.cls.__qualname__}: {path}: {problem}{after}"
        raise ItemDecodeError(msg, entity=self.cls, key=key, path=path, applied=applied) from cause

    # ---- versions

    def stored_version(self, item: Mapping[str, Wire], *, applied: bool = False) -> int:
        """The version that an item carries; 0 where it has none.

        Raises ItemDecodeError for what is no version: with another number no guard would ever hold again.
        """
        attribute = self.version_attribute or ""
        wire = item.get(attribute, {"N": "0"})
        number = Decimal(wire["N"]) if "N" in wire else None
        if number is None or number < 0 or number != number.to_integral_value():
            problem = "a version is a whole number from 0 on: mend the item, or remove the attribute to start afresh"
            self._refuse(item, f"$.{attribute}", problem, applied)
        return int(number)

    def read_version(self, instance: M) -> int:
        """The version that an instance was read with: 0 if it was never stored, -1 if it was stored without one."""
        version: int = getattr(instance, self.version or "")
        return version

    # ---- TTL

    def is_expired(self, item: Mapping[str, Wire], now: int) -> bool:
        """Whether an item's time is over at *now*, in whole epoch seconds; one without a number there never expires."""
        number = item.get(self.ttl_attribute or "", {}).get("N")
        return number is not None and Decimal(number) <= now

    # ---- field references

    def resolve(self, owner: type, path: tuple[str | int, ...]) -> Resolved | None:
        """The stored path and type of a field reference; None for a field of another class."""
        if len(path) != 1 or type(path[0]) is not str:
            return self._resolve(owner, path)
        known = (owner, path[0])
        found = self._resolved.get(known)
        if found is None:
            found = self._resolve(owner, path)
            if found is not None:
                if len(self._resolved) >= _MOST_RESOLVED:
                    self._resolved.clear()
                self._resolved[known] = found
        return found

    def _resolve(self, owner: type, path: tuple[str | int, ...]) -> Resolved | None:
        if not issubclass(self.cls, owner):
            return None
        shape: Shape = self.shape
        attributes: list[str | int] = []
        for step in path:
            attribute, shape = shape.at(step)
            attributes.append(attribute)
        return Resolved(tuple(attributes), shape, path)

    def decode_path(self, item: Mapping[str, Wire], resolved: Resolved, *, applied: bool = False) -> Any:
        """The value that reading the item gives at a path, None if nothing is there. Raises ItemDecodeError."""
        wire = wire_at(item, resolved.attributes)
        if wire is None:
            # it may be stored under an alias, or be what the class makes of nothing: a default, the empty set
            return value_at(self.decode(item, applied=applied), resolved.path)
        try:
            return resolved.shape.decode(wire, resolved.path)
        except DecodeFailure as failure:
            self.refuse(item, failure, applied=applied)
