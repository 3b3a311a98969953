"""Which key part an entity has for a key attribute: a template, a field as it is, or what is stored there anyway."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dynamap.codec import ClassShape
from dynamap.errors import EncodeError, ModelError
from dynamap.model.indexes import Conditional, Index, IndexUse, PhysicalIndex, templates_of
from dynamap.model.keys import FieldKey, Key, KeyPart, TemplateKey
from dynamap.model.layout import Layout
from dynamap.model.templates import parse_template, sole_field

__all__ = ["KeyParts"]

_NAMES = {"S": "str", "N": "int", "B": "bytes"}


class KeyParts:
    """Makes the key parts of one class in one table.

    *fixed* are the attributes whose part is known already: for an index, the table's own keys and the discriminator.
    """

    def __init__(self, shape: ClassShape, *, owner: str, table: str, escape: bool) -> None:
        self._owner = owner
        self._table = table
        self._escape = escape
        self._by_name = shape.by_name
        self._hints = {field.name: field.field.hint for field in shape.fields}
        self._by_attribute = {field.attribute: field for field in shape.fields if not field.extras}

    def table_part(self, key: Key, template: str | None, part: str) -> KeyPart:
        """What the entity stores in a key attribute of the table. Raises ModelError."""
        return self._part(key, template, part, {})

    def uses(
        self, declared: Sequence[Index], physical: Sequence[PhysicalIndex], fixed: Mapping[str, KeyPart]
    ) -> tuple[IndexUse, ...]:
        """How the entity maps onto the indexes, conditions resolved but not yet looked into. Raises ModelError."""
        known = {index.name: index for index in physical}
        made: list[IndexUse] = []
        for index in declared:
            found = known.get(index.name)
            if found is None:
                listed = ", ".join(known) or "none"
                msg = (
                    f"{self._owner} maps onto the index {index.name!r}, but Table {self._table!r} has no such index; "
                    f"its indexes are {listed}: add GlobalIndex({index.name!r}) to indexes="
                )
                raise ModelError(msg)
            if any(use.index is found for use in made):
                msg = f"{self._owner} maps onto the index {index.name!r} twice: leave one out"
                raise ModelError(msg)
            made.append(self._use(index, found, fixed))
        return tuple(made)

    def stored_keys(self, layout: Layout) -> dict[str, FieldKey]:
        """The fields that stand in a key attribute of the table or of an index, by attribute, meant for it or not."""
        found: dict[str, FieldKey] = {}
        for index in (None, *layout.indexes):
            keys, partition = (layout.keys, 1) if index is None else (index.keys, len(index.partition))
            for number, key in enumerate(keys):
                field = self._by_attribute.get(key.name)
                if field is not None and field.stored:
                    # the narrower limit counts, that of sort keys
                    sort = number >= partition or (key.name in found and found[key.name].sort)
                    found[key.name] = self._field_key(key, field.name, sort=sort, index=index)
        return found

    # ---- one index

    def _use(self, declared: Index, index: PhysicalIndex, fixed: Mapping[str, KeyPart]) -> IndexUse:
        where = f"{self._owner}: index {index.name!r}"
        if index.local and declared.pk is not None:
            msg = f"{where} is local, so its partition key is that of the table: leave out pk="
            raise ModelError(msg)
        parts: list[tuple[KeyPart, ...]] = []
        for word, given, keys in (("pk", declared.pk, index.partition), ("sk", declared.sk, index.sort)):
            what = f"{where}: its {'partition' if word == 'pk' else 'sort'} key"
            templates = templates_of(given, keys, what)
            parts.append(
                tuple(
                    self._part(key, template, f"{index.name} {word}", fixed, index)
                    for key, template in zip(keys, templates, strict=True)
                )
            )
        when = None if declared.when is None else _condition(declared.when, where)
        use = IndexUse(index, parts[0], parts[1], when)
        if when is not None and not use.computed:
            msg = (
                f"{where}: when= leaves items out by leaving out what is written for the index alone, but all of its "
                f"keys are stored anyway: give it a template, or leave out when="
            )
            raise ModelError(msg)
        return use

    # ---- one attribute

    def _part(
        self,
        key: Key,
        template: str | None,
        part: str,
        fixed: Mapping[str, KeyPart],
        index: PhysicalIndex | None = None,
    ) -> KeyPart:
        sort = part.endswith("sk")
        if template is None:
            return fixed.get(key.name) or self._stored_part(key, part, sort=sort, index=index)
        sole = sole_field(template)
        field = self._by_name.get(sole) if sole is not None else None
        if field is not None and field.attribute == key.name:
            return self._field_key(key, field.name, sort=sort, index=index)
        self._check_free(key, part)
        if key.name in fixed:
            msg = (
                f"{self._owner}: the {part} attribute {key.name!r} is the table's own, so that it is stored anyway: "
                f"leave out the template {template!r}"
            )
            raise ModelError(msg)
        if key.wire_type == "S":
            made = parse_template(template, self._hints, owner=self._owner, part=part, escape=self._escape)
            return TemplateKey(key.name, made)
        if field is None:
            msg = (
                f"{self._owner}: the {part} template {template!r} must be one field in braces and nothing else, "
                f"because the attribute {key.name!r} holds {_NAMES[key.wire_type]}"
            )
            raise ModelError(msg)
        return self._field_key(key, field.name, sort=sort, index=index)

    def _stored_part(self, key: Key, part: str, *, sort: bool, index: PhysicalIndex | None) -> KeyPart:
        field = self._by_attribute.get(key.name)
        if field is None:
            word = part.rpartition(" ")[2]
            example = f"ABC#{{{next(iter(self._by_name))}}}" if key.wire_type == "S" else "{number}"
            msg = (
                f"{self._owner} has no {part} template, and no field that is stored as {key.name!r}: write "
                f'{word}="{example}", or give the field that it is Annotated[..., Attribute({key.name!r})]'
            )
            raise ModelError(msg)
        return self._field_key(key, field.name, sort=sort, index=index)

    def _field_key(self, key: Key, name: str, *, sort: bool, index: PhysicalIndex | None) -> FieldKey:
        field = self._by_name[name]
        made = FieldKey(key.name, key.wire_type, self._owner, field, sort)
        made.check_type()
        if index is None or made.computed:
            return made
        try:
            stored = field.shape.encode_attribute(None)
        except EncodeError:
            # it is not Optional
            return made
        if stored is not None:
            msg = (
                f"{self._owner}.{name} is a key of the index {index.name!r}, but its None is stored as NULL, which no "
                f"key may be: give it the default None"
            )
            raise ModelError(msg)
        return made

    def _check_free(self, key: Key, part: str) -> None:
        """A template needs an attribute that no field has."""
        field = self._by_attribute.get(key.name)
        if field is None or not field.stored:
            return
        msg = (
            f"{self._owner}.{field.name} is stored as {key.name!r}, where its {part} template is to be stored too: "
            f'leave out the template to make the field the key, or give the field another name with Attribute("...")'
        )
        raise ModelError(msg)


def _condition(when: Conditional | Callable[[], Conditional], where: str) -> Conditional:
    made: Any = when if isinstance(when, Conditional) else when()
    if not isinstance(made, Conditional):
        msg = f"{where}: when= is a condition, or a function that answers one; got {type(made).__name__}"
        raise ModelError(msg)
    return made
