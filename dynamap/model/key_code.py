"""Generates the functions that make an entity's keys: a straight line for values in their usual form.

Whatever else a function meets, it answers None or raises anything at all: the key parts themselves are then asked, and
theirs are the errors. A `Normalize` function may then be called a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from dynamap.codec import FieldShape, Integer, OptionalShape, Shape, Wire, unwrapped
from dynamap.codec import Text as TextShape
from dynamap.codec.generated import interpreted
from dynamap.codec.generated.source import Block, Module, plain_name
from dynamap.codec.generated.values import surprise
from dynamap.model.indexes import IndexUse
from dynamap.model.key_template import KeyTemplate, Placeholder
from dynamap.model.key_values import Escape, Text
from dynamap.model.key_values import Integer as Digits
from dynamap.model.keys import FieldKey, KeyPart, TemplateKey
from dynamap.model.template_syntax import LiteralText

__all__ = ["KeyCode", "key_code"]

_MOST = f"1{'0' * 38}"
"""The least number that has more digits than DynamoDB takes."""


class KeyCode(NamedTuple):
    """What is generated for one entity; each function may answer None.

    *of_instance* and *of_values*, which takes all key fields and no others, give the key, *of_indexes* the attributes
    that an instance has for indexes.
    """

    of_instance: Callable[[Any], dict[str, Wire] | None]
    of_values: Callable[[Mapping[str, Any]], dict[str, Wire] | None]
    of_indexes: Callable[[Any], dict[str, Wire] | None]


def key_code(
    title: str,
    fields: Mapping[str, FieldShape],
    names: Sequence[str],
    parts: Sequence[KeyPart],
    uses: Sequence[IndexUse],
) -> KeyCode:
    """The functions for the keys of these parts, made of the fields with these names, and for these indexes."""
    if interpreted():
        return KeyCode(_nothing, _nothing, _nothing)
    generator = _Generator(fields)
    generator.key("key_of_instance", "instance", names, parts)
    generator.key("key_of_values", "values", names, parts)
    if all(use.when is None for use in uses):
        generator.indexes("index_attributes", uses)
    functions = generator.compiled(f"dynamap keys of {title}", "key_of_instance")
    indexes = functions.get("index_attributes", _nothing)
    return KeyCode(functions["key_of_instance"], functions["key_of_values"], indexes)


def _nothing(_given: Any) -> None:
    return None


class _Generator:
    def __init__(self, fields: Mapping[str, FieldShape]) -> None:
        self._fields = fields
        self._module = Module(surprise=surprise)

    def compiled(self, title: str, name: str) -> Mapping[str, Callable[[Any], Any]]:
        return self._module.compile(title, name).__globals__

    # ---- functions

    def key(self, name: str, given: str, names: Sequence[str], parts: Sequence[KeyPart]) -> None:
        """Add the function that makes the key of an `instance`, or of all `values`."""
        block = Block(f"def {name}({given})")
        if given == "values":
            with block.inside(f"if len(values) != {len(names)}"):
                block.add("return None")
        variables = {each: self._taken(block, each, given) for each in names}
        entries = [f"{part.attribute!r}: {self._wire(block, part, variables)}" for part in parts]
        block.add(f"return {{{', '.join(entries)}}}")
        self._module.add(block)

    def indexes(self, name: str, uses: Sequence[IndexUse]) -> None:
        """Add the function that makes the attributes of an `instance` for indexes: those whose fields have values."""
        block = Block(f"def {name}(instance)")
        block.add("found = {}")
        parts = [part for use in uses for part in use.computed]
        names = dict.fromkeys(each for part in parts for each in part.fields)
        variables = {each: self._taken(block, each, "instance") for each in names}
        for part in parts:
            complete = " and ".join(f"{variables[each]} is not None" for each in part.fields) or "True"
            with block.inside(f"if {complete}"):
                block.add(f"found[{part.attribute!r}] = {self._wire(block, part, variables)}")
        block.add("return found")
        self._module.add(block)

    def _taken(self, block: Block, name: str, given: str) -> str:
        """The variable of a field, in its stored form."""
        variable = self._module.fresh("v")
        if given == "values":
            taken = f"values[{name!r}]"
        else:
            taken = f"instance.{name}" if plain_name(name) else f"getattr(instance, {name!r})"
        shape = self._fields[name].shape
        if not _stays(shape):
            taken = f"{self._module.constant(shape, 'shape')}.normalize({taken})"
        block.add(f"{variable} = {taken}")
        return variable

    # ---- key parts

    def _wire(self, block: Block, part: KeyPart, variables: Mapping[str, str]) -> str:
        """The expression of a part's attribute value."""
        if isinstance(part, TemplateKey):
            return f'{{"S": {self._text(block, part.template, variables)}}}'
        if isinstance(part, FieldKey):
            variable, shape = variables[part.field.name], unwrapped(part.field.shape)
            if type(shape) is TextShape:
                self._require(block, f"type({variable}) is str", f"{variable}.isascii()")
                self._require(block, f"0 < len({variable}) <= {part.limit}")
                return f'{{"S": {variable}}}'
            if type(shape) is Integer:
                self._require(block, f"type({variable}) is int", f"-{_MOST} < {variable} < {_MOST}")
                return f'{{"N": f"{{{variable}}}"}}'
        given = ", ".join(f"{name!r}: {variables[name]}" for name in part.fields)
        return f"{self._module.constant(part, 'part')}.encode({{{given}}})"

    def _text(self, block: Block, template: KeyTemplate, variables: Mapping[str, str]) -> str:
        """The variable of a rendered template."""
        pieces = [
            repr(part.text) if isinstance(part, LiteralText) else self._piece(block, part, variables[part.field])
            for part in template.parts
        ]
        key = self._module.fresh("k")
        block.add(f"{key} = {' + '.join(pieces) or repr('')}")
        if template.refusals or not any(isinstance(part, LiteralText) for part in template.parts):
            return f"{self._module.constant(template, 'template')}.checked({key})"
        # what UTF-8 cannot write raises here
        self._require(block, f"len({key} if {key}.isascii() else {key}.encode()) <= {template.limit}")
        return key

    def _piece(self, block: Block, placeholder: Placeholder, variable: str) -> str:
        """The expression of what a placeholder's value is written as."""
        codec = placeholder.codec
        if placeholder.stop is None and isinstance(codec, Text) and codec.escape is Escape.DELIMITER:
            self._require(block, f"type({variable}) is str")
            # to look for them takes half as long, and mostly there are none
            escaped = f'{variable}.replace("$", "$24").replace("#", "$23")'
            return f'({variable} if "$" not in {variable} and "#" not in {variable} else {escaped})'
        if placeholder.stop is None and isinstance(codec, Digits):
            most = _MOST if codec.width is None else str(10**codec.width)
            least = f"-{most} <" if codec.width is None else "0 <="
            self._require(block, f"type({variable}) is int", f"{least} {variable} < {most}")
            return f'f"{{{variable}:0{codec.width or 0}d}}"' if codec.width else f'f"{{{variable}}}"'
        self._require(block, f"{variable} is not None")
        return f"{self._module.constant(placeholder, 'placeholder')}.encode({variable})"

    def _require(self, block: Block, *conditions: str) -> None:
        with block.inside(f"if not ({' and '.join(conditions)})"):
            block.add("surprise()")


def _stays(shape: Shape) -> bool:
    """Whether every value is in its stored form already."""
    if isinstance(shape, OptionalShape):
        return _stays(shape.inner)
    return type(shape).normalize is Shape.normalize
