"""What a class is in a table: its stored attributes, its key, its version; from instance to item and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeVar

from dynamap.codec import ClassShape, DecodeFailure, FieldShape, Shape, Wire, format_path
from dynamap.errors import EncodeError, ItemDecodeError, KeyValueError, ModelError
from dynamap.model.declare import Declaration
from dynamap.model.templates import KeyMismatch, KeyTemplate

__all__ = ["Entity", "Layout", "Resolved"]

M = TypeVar("M")


@dataclass(frozen=True)
class Layout:
    """The attributes of a table that are no fields of anybody's."""

    pk: str
    sk: str | None
    discriminator: str
    write_id: str | None
    version_start: int | None

    @property
    def bookkeeping(self) -> frozenset[str]:
        """The names that no field may take."""
        names = (self.pk, self.sk, self.discriminator, self.write_id)
        return frozenset(name for name in names if name is not None)

    def first_version(self, now: float) -> int:
        """The number that a new item gets: the current microsecond, so that versions do not recur after a delete."""
        return self.version_start if self.version_start is not None else int(now * 1_000_000)


@dataclass(frozen=True, slots=True)
class Resolved:
    """A field reference, resolved: the stored path and the type that stands there."""

    attributes: tuple[str | int, ...]
    shape: Shape
    path: tuple[str | int, ...]

    @property
    def field(self) -> str:
        """The entity's own field that the path begins with."""
        return str(self.path[0])

    @property
    def top_level(self) -> bool:
        return len(self.path) == 1


class Entity(Generic[M]):
    """One class in one table."""

    def __init__(  # noqa: PLR0913 - made by Table only
        self,
        cls: type[M],
        declared: Declaration,
        layout: Layout,
        shape: ClassShape,
        pk: KeyTemplate,
        sk: KeyTemplate | None,
    ) -> None:
        self.cls = cls
        self.name: str = declared.name or cls.__qualname__
        self.aliases = declared.aliases
        self.layout = layout
        self.shape = shape
        self.pk = pk
        self.sk = sk
        self.version = declared.version
        self.key_fields: tuple[str, ...] = tuple(dict.fromkeys((*pk.fields, *(sk.fields if sk is not None else ()))))
        self._fields: dict[str, FieldShape] = shape.by_name
        self._check()
        self.version_attribute = self._fields[declared.version].attribute if declared.version is not None else None

    def __repr__(self) -> str:
        return f"Entity({self.cls.__qualname__})"

    def _check(self) -> None:
        owner = self.cls.__qualname__
        stored: dict[str, str] = {}
        for field in self.shape.fields:
            if field.attribute in self.layout.bookkeeping:
                msg = (
                    f"{owner}.{field.name} is stored as {field.attribute!r}, which the table uses for itself: give "
                    f'the field another name with Annotated[..., Attribute("...")], or the table other names'
                )
                raise ModelError(msg)
            if field.attribute in stored:
                msg = f"{owner}: the fields {stored[field.attribute]} and {field.name} are both stored as {field.attribute!r}"
                raise ModelError(msg)
            stored[field.attribute] = field.name
        if self.version is None:
            return
        if self._fields[self.version].shape.kind != "int":
            msg = f"{owner}.{self.version} is the version, so it must be an int: write `{self.version}: int = 0`"
            raise ModelError(msg)
        if self.version in self.key_fields:
            msg = f"{owner}.{self.version} is the version and part of a key, but a key never changes: use another field"
            raise ModelError(msg)

    # ---- keys

    def key(self, values: Mapping[str, Any]) -> dict[str, Wire]:
        """The primary key for these field values, all of them and no others. Raises KeyValueError."""
        for name in values:
            if name not in self.key_fields:
                msg = f"{self.cls.__qualname__} has no key field {name!r}: its key is {self._key_words()}"
                raise KeyValueError(msg)
        normal = {name: self._fields[name].shape.normalize(value) for name, value in values.items()}
        key: dict[str, Wire] = {self.layout.pk: {"S": self.pk.render(normal)}}
        if self.sk is not None and self.layout.sk is not None:
            key[self.layout.sk] = {"S": self.sk.render(normal)}
        return key

    def key_values(self, instance: M) -> dict[str, Any]:
        """The key fields of an instance."""
        return {name: getattr(instance, name) for name in self.key_fields}

    def key_of(self, instance: M) -> dict[str, Wire]:
        """The primary key of an instance. Raises KeyValueError."""
        return self.key(self.key_values(instance))

    def _key_words(self) -> str:
        return ", ".join(self.key_fields) or "the same for all its items"

    # ---- items

    def encode(self, instance: M) -> dict[str, Wire]:
        """The whole item but for the write id. Raises KeyValueError or EncodeError."""
        key = self.key_of(instance)
        return {**key, self.layout.discriminator: {"S": self.name}, **self.attributes(instance)}

    def attributes(self, instance: M) -> dict[str, Wire]:
        """The stored fields of an instance, without key and bookkeeping. Raises EncodeError."""
        try:
            return self.shape.encode_item(instance, ignore=self.layout.bookkeeping)
        except EncodeError as error:
            raise EncodeError(f"{self.cls.__qualname__} {error}", path=error.path) from error

    def decode(self, item: Mapping[str, Wire], *, applied: bool = False) -> M:
        """The entity that an item is. Raises ItemDecodeError; *applied* says that it was met after a write."""
        found = item.get(self.layout.discriminator, {}).get("S")
        if found != self.name and found not in self.aliases:
            what = "it has none" if found is None else f"it says {found!r}"
            self._refuse(
                item, f"$.{self.layout.discriminator}", f"the discriminator should be {self.name!r}, but {what}", applied
            )
        if self.version_attribute is not None and self.stored_version(item) == 0:
            item = {**item, self.version_attribute: {"N": "-1"}}
        try:
            instance: M = self.shape.decode_item(item, known=self._known(item), ignore=self.layout.bookkeeping)
        except DecodeFailure as failure:
            self._refuse(item, format_path(failure.path), failure.problem, applied, failure)
        return instance

    def _known(self, item: Mapping[str, Wire]) -> dict[str, Any]:
        """The fields that are not stored, recovered from the key."""
        if all(field.stored for field in self.shape.fields):
            return {}
        known: dict[str, Any] = {}
        for template, attribute in ((self.pk, self.layout.pk), (self.sk, self.layout.sk)):
            if template is not None and attribute is not None and "S" in item.get(attribute, {}):
                try:
                    known |= template.parse(item[attribute]["S"])
                except KeyMismatch as mismatch:
                    self._refuse(item, f"$.{attribute}", "the key does not fit its template", applied=False, cause=mismatch)
        return {field.name: known[field.name] for field in self.shape.fields if not field.stored and field.name in known}

    def _refuse(
        self, item: Mapping[str, Wire], path: str, problem: str, applied: bool, cause: Exception | None = None  # noqa: FBT001
    ) -> NoReturn:
        names = [name for name in (self.layout.pk, self.layout.sk) if name is not None and name in item]
        key = {name: next(iter(item[name].values())) for name in names}
        after = " (met after a write that was applied)" if applied else ""
        msg = f"the item {key} is no {self.cls.__qualname__}: {path}: {problem}{after}"
        raise ItemDecodeError(msg, entity=self.cls, key=key, path=path, applied=applied) from cause

    # ---- versions

    def stored_version(self, item: Mapping[str, Wire]) -> int:
        """The version that an item carries; 0 where it has none."""
        number = item.get(self.version_attribute or "", {}).get("N", "0")
        return int(number)

    def read_version(self, instance: M) -> int:
        """The version that an instance was read with: 0 if it was never stored, -1 if it was stored without one."""
        version: int = getattr(instance, self.version or "")
        return version

    # ---- field references

    def resolve(self, owner: type, path: tuple[str | int, ...]) -> Resolved | None:
        """The stored path and type of a field reference; None for a field of another class."""
        if not issubclass(self.cls, owner):
            return None
        shape: Shape = self.shape
        attributes: list[str | int] = []
        for step in path:
            attribute, shape = shape.at(step)
            attributes.append(attribute)
        return Resolved(tuple(attributes), shape, path)

    def decode_path(self, item: Mapping[str, Wire], resolved: Resolved, *, applied: bool = False) -> Any:
        """The value that stands at a path of an item. Raises ItemDecodeError."""
        try:
            wire = _wire_at(item, resolved.attributes)
            if resolved.top_level:
                return resolved.shape.decode_attribute(wire, resolved.path)
            return None if wire is None else resolved.shape.decode(wire, resolved.path)
        except DecodeFailure as failure:
            self._refuse(item, format_path(failure.path), failure.problem, applied, failure)


def _wire_at(item: Mapping[str, Wire], attributes: tuple[str | int, ...]) -> Wire | None:
    here: Any = {"M": item}
    for step in attributes:
        inside = here.get("L" if isinstance(step, int) else "M")
        if inside is None:
            return None
        if isinstance(step, int):
            here = inside[step] if step < len(inside) else None
        else:
            here = inside.get(step)
        if here is None:
            return None
    found: Wire = here
    return found
