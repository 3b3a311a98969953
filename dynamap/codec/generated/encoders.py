"""Generates the functions that write items: one straight line for a class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from dynamap.codec.classes import ClassShape, FieldShape
from dynamap.codec.containers import ListOf, MapOf, SetOf, TupleOf
from dynamap.codec.failures import Wire
from dynamap.codec.generated import values
from dynamap.codec.generated.singles import SetCode, set_code, single_code
from dynamap.codec.generated.source import MOST_NESTED, Block, Module, plain_name
from dynamap.codec.scalars import Boolean
from dynamap.codec.shapes import MAXIMUM_DEPTH, Shape
from dynamap.codec.wrappers import Normalized, OptionalShape, Reference

__all__ = ["NAMESPACE", "Depth", "Encoder", "ValueEncoders", "item_encoder", "types_named", "value_encoders"]

_NULL = '{"NULL": True}'
NAMESPACE: dict[str, Any] = {
    "Decimal": Decimal,
    "Mapping": Mapping,
    "NOTHING": frozenset[str](),
    "UUID": UUID,
    "binary_content": values.binary_content,
    "date": date,
    "date_content": values.date_content,
    "datetime": datetime,
    "datetime_content": values.datetime_content,
    "decimal_content": values.decimal_content,
    "duration_content": values.duration_content,
    "epoch_content": values.epoch_content,
    "epoch_number_content": values.epoch_number_content,
    "flag_content": values.flag_content,
    "float_content": values.float_content,
    "integer_content": values.integer_content,
    "surprise": values.surprise,
    "text_content": values.text_content,
    "time": time,
    "time_content": values.time_content,
    "timedelta": timedelta,
    "uuid_content": values.uuid_content,
}


class Depth(NamedTuple):
    """How many steps below the item a value stands: so many, or so many more than the parameter `depth` says."""

    steps: int
    counted: bool = False

    def deeper(self, steps: int = 1) -> Depth:
        return Depth(self.steps + steps, self.counted)

    @property
    def text(self) -> str:
        return f"depth + {self.steps}" if self.counted else str(self.steps)

    @property
    def path(self) -> str:
        """A path of this length: errors are told by the interpreter, which knows the steps."""
        return f'("",) * ({self.text})'

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions under which a container may stand here, if there are any."""
        if self.counted:
            return (f"{self.text} <= {MAXIMUM_DEPTH}",)
        return () if self.steps <= MAXIMUM_DEPTH else ("False",)


def item_encoder(shape: ClassShape) -> Callable[..., Any]:
    """Generate `encode_item(instance, ignore=NOTHING)` with the interpreter's results."""
    return Encoder(Module(**NAMESPACE)).item(shape)


class ValueEncoders(NamedTuple):
    """What `encode_attribute` and `encode` of a field's shape give and raise."""

    attribute: Callable[[Any], Wire | None]
    value: Callable[[Any], Wire]


def value_encoders(field: FieldShape) -> ValueEncoders:
    """Generate the functions that write a field's value by itself."""
    return Encoder(Module(**NAMESPACE)).values(field)


class Encoder:
    """Writes the functions of a module; what they give is what its methods say, as Python or, below, as JSON."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._functions: dict[tuple[int, str, str], str] = {}

    # ------------------------------------------------------------------------------------------------ items

    def item(self, shape: ClassShape) -> Callable[..., Any]:
        block = Block("def encode_item(instance, ignore=NOTHING)")
        own = self._module.constant(shape, "shape")
        with block.inside("try"):
            with block.inside(f"if type(instance) is not {self._module.constant(shape.cls, 'cls')}"):
                block.add("surprise()")
            fields = [field for field in shape.fields if field.stored and not field.extras]
            variables = {field.name: self._take(block, field) for field in fields}
            # those that are always there make the dict, up to the first that may be absent: the order is kept
            always = [field for field in fields if self._always(field.shape)]
            first = next((index for index, field in enumerate(fields) if field not in always), len(fields))
            entries = [self._entry(field, variables[field.name], Depth(1)) for field in fields[:first]]
            block.add(f"item = {{{', '.join(entries)}}}")
            for field in fields[first:]:
                self._attribute(block, field.attribute, field.shape, variables[field.name])
            self._extras(block, shape, "item", Depth(0), top=True)
            block.add("return item")
        with block.inside("except Exception"):
            block.add("pass")
        block.add(f"return {own}.encode_item(instance, (), ignore)")
        self._module.add(block)
        return self._module.compile(f"dynamap encoder of {shape.kind}", "encode_item")

    def values(self, field: FieldShape) -> ValueEncoders:
        own, path = self._module.constant(field.shape, "shape"), repr((field.name,))
        attribute = Block("def encode_attribute(value)")
        with attribute.inside("try"):
            attribute.add("item = {}")
            self._attribute(attribute, field.attribute, field.shape, "value")
            attribute.add(f"return item.get({field.attribute!r})")
        value = Block("def encode(value)")
        with value.inside("try"):
            value.add(f"return {self._value(field.shape, 'value', Depth(1), 0)}")
        for block, name in ((attribute, "encode_attribute"), (value, "encode")):
            with block.inside("except Exception"):
                block.add("pass")
            block.add(f"return {own}.{name}(value, {path})")
            self._module.add(block)
        made = self._module.compile(f"dynamap encoder of {field.shape.kind}", "encode_attribute")
        return ValueEncoders(made, made.__globals__["encode"])

    def _take(self, block: Block, field: FieldShape) -> str:
        variable = self._module.fresh("v")
        taken = f"instance.{field.name}" if plain_name(field.name) else f"getattr(instance, {field.name!r})"
        block.add(f"{variable} = {taken}")
        return variable

    def _entry(self, field: FieldShape, variable: str, depth: Depth) -> str:
        return f"{field.attribute!r}: {self._value(field.shape, variable, depth, 0)}"

    def _always(self, shape: Shape) -> bool:
        """Tell whether an attribute of the shape is never absent, and encoded as it is in containers."""
        if isinstance(shape, Normalized | Reference):
            return self._always(shape.target if isinstance(shape, Reference) else shape.inner)
        return isinstance(shape, ListOf | MapOf | TupleOf | ClassShape) or single_code(shape, self._module) is not None

    def _attribute(self, block: Block, name: str, shape: Shape, variable: str) -> None:
        """Add an attribute to `item`, unless the value's attribute is absent."""
        target, depth = f"item[{name!r}]", Depth(1)
        if self._always(shape):
            block.add(f"{target} = {self._value(shape, variable, depth, 0)}")
        elif isinstance(shape, OptionalShape):
            with block.inside(f"if {variable} is not None"):
                self._attribute(block, name, shape.inner, variable)
            if shape.stores_null or shape.empty_when_absent:
                with block.inside("else"):
                    block.add(f"{target} = {_NULL}")
        elif isinstance(shape, SetOf):
            with block.inside(f"if {variable} or not isinstance({variable}, (set, frozenset))"):
                block.add(f"{target} = {self._value(shape, variable, depth, 0)}")
        else:
            wire = self._module.fresh("w")
            block.add(f"{wire} = {self._module.constant(shape, 'shape')}.encode_attribute({variable}, {depth.path})")
            with block.inside(f"if {wire} is not None"):
                block.add(f"{target} = {wire}")

    def _extras(self, block: Block, shape: ClassShape, item: str, depth: Depth, *, top: bool) -> None:
        if shape.extras is None:
            return
        variable = self._take(block, shape.extras)
        names = (name for each in shape.fields if not each.extras for name in each.read_from)
        stored = self._module.constant(frozenset(names), "stored")
        with block.inside(f"if {variable} or type({variable}) is not dict"):
            block.add(f'extras = {self._value(shape.extras.shape, variable, depth.deeper(), 0)}["M"]')
            taken = f"not {stored}.isdisjoint(extras)"
            with block.inside(f"if {taken} or not ignore.isdisjoint(extras)" if top else f"if {taken}"):
                block.add("surprise()")
            block.add(f"{item}.update(extras)")

    # ------------------------------------------------------------------------------------------------ values

    def _value(self, shape: Shape, v: str, depth: Depth, level: int) -> str:
        """The expression of the attribute value for the value in the variable, as it is encoded in containers."""
        if isinstance(shape, OptionalShape):
            return f"({_NULL} if {v} is None else {self._value(shape.inner, v, depth, level)})"
        single = single_code(shape, self._module)
        if single is not None:
            return f'{{"{single.tag}": {single.write(v)}}}'
        if isinstance(shape, Normalized):
            return self._call(shape, v, depth, self._normalized)
        if isinstance(shape, Reference):
            return self._call(shape.target, v, Depth(0, counted=True), self._whole, argument=depth)
        return self._container(shape, v, depth, level)

    def _container(self, shape: Shape, v: str, depth: Depth, level: int) -> str:
        if isinstance(shape, ClassShape):
            return f'{{"M": {self._call(shape, v, depth, self._class)}}}'
        if isinstance(shape, TupleOf):
            return f'{{"L": {self._call(shape, v, depth, self._tuple)}}}'
        if isinstance(shape, MapOf):
            return f'{{"M": {self._call(shape, v, depth, self._map)}}}'
        if isinstance(shape, ListOf | SetOf) and level >= MOST_NESTED:
            return self._call(shape, v, depth, self._whole)
        if isinstance(shape, ListOf):
            return self._list(shape, v, depth, level + 1)
        several = set_code(shape, self._module) if isinstance(shape, SetOf) else None
        if isinstance(shape, SetOf) and several is not None:
            return self._set(shape, several, v)
        return f"{self._module.constant(shape, 'shape')}.encode({v}, {depth.path})"

    def _list(self, shape: ListOf, v: str, depth: Depth, level: int) -> str:
        x = self._module.fresh("x")
        accepted = " and ".join([f"isinstance({v}, {types_named(shape.accepted)})", *depth.conditions])
        every = f"[{self._value(shape.element, x, depth.deeper(), level)} for {x} in {v}]"
        return f'({{"L": {every}}} if {accepted} else surprise())'

    def _set(self, shape: SetOf, several: SetCode, v: str) -> str:
        x = self._module.fresh("x")
        # texts sort by code points as their UTF-8 bytes do
        elements = f'{{"{several.tag}": sorted({{{self._content(shape.element, x)} for {x} in {v}}})}}'
        return f'(({elements} if {v} else {{"L": []}}) if isinstance({v}, (set, frozenset)) else surprise())'

    def _content(self, shape: Shape, v: str) -> str:
        """The expression of what stands under the wire type of a single value."""
        if isinstance(shape, Normalized):
            return self._call(shape, v, Depth(0), self._normalized_content)
        single = single_code(shape, self._module)
        if single is None:
            return f"{self._module.constant(shape, 'shape')}.encode_key({v})"
        return single.write(v)

    # ------------------------------------------------------------------------------------------------ functions

    def _call(
        self,
        shape: Shape,
        v: str,
        depth: Depth,
        body: Callable[[Block, Any, Depth], None],
        argument: Depth | None = None,
    ) -> str:
        """The call of a function for the shape: one for each depth, or one that is told the depth."""
        told = depth.counted
        inside = Depth(0, counted=True) if told else depth
        key = (id(shape), body.__name__, "" if told else depth.text)
        if key not in self._functions:
            # known before its body is, which may call it
            word = f"write_{shape.cls.__name__}" if isinstance(shape, ClassShape) else "write"
            name = self._functions[key] = self._module.fresh(word if plain_name(word) else "write")
            block = Block(f"def {name}(value, depth)" if told else f"def {name}(value)")
            body(block, shape, inside)
            self._module.add(block)
        argument = depth if argument is None else argument
        return f"{self._functions[key]}({v}, {argument.text})" if told else f"{self._functions[key]}({v})"

    def _require(self, block: Block, *conditions: str) -> None:
        with block.inside(f"if not ({' and '.join(conditions)})"):
            block.add("surprise()")

    def _whole(self, block: Block, shape: Shape, depth: Depth) -> None:
        block.add(f"return {self._value(shape, 'value', depth, 0)}")

    def _class(self, block: Block, shape: ClassShape, depth: Depth) -> None:
        """Give the content of M."""
        self._require(block, f"type(value) is {self._module.constant(shape.cls, 'cls')}", *depth.conditions)
        block.add("instance = value")
        fields = [field for field in shape.fields if field.stored and not field.extras]
        variables = [self._take(block, field) for field in fields]
        pairs = zip(fields, variables, strict=True)
        entries = [self._entry(field, variable, depth.deeper()) for field, variable in pairs]
        block.add(f"content = {{{', '.join(entries)}}}")
        self._extras(block, shape, "content", depth, top=False)
        block.add("return content")

    def _tuple(self, block: Block, shape: TupleOf, depth: Depth) -> None:
        """Give the content of L."""
        names = self._unpacked(block, shape, depth)
        pairs = zip(shape.elements, names, strict=True)
        parts = [self._value(element, name, depth.deeper(), 1) for element, name in pairs]
        block.add(f"return [{', '.join(parts)}]")

    def _unpacked(self, block: Block, shape: TupleOf, depth: Depth) -> list[str]:
        """The variables of a tuple's elements."""
        length = f"len(value) == {len(shape.elements)}"
        self._require(block, "isinstance(value, tuple)", length, *depth.conditions)
        names = [self._module.fresh("x") for _ in shape.elements]
        if names:
            block.add(f"{', '.join(names)}, = value")
        return names

    def _map(self, block: Block, shape: MapOf, depth: Depth) -> None:
        """Give the content of M."""
        self._map_content(block, shape, depth)
        block.add("return content")

    def _map_content(self, block: Block, shape: MapOf, depth: Depth) -> None:
        """Put values by the texts of their keys into `content`."""
        accepted = f"(type(value) is dict or isinstance(value, {types_named(shape.accepted)}))"
        self._require(block, accepted, *depth.conditions)
        k, x = self._module.fresh("k"), self._module.fresh("x")
        pair = f"{self._key(shape.key, k)}: {self._value(shape.value, x, depth.deeper(), 1)}"
        block.add(f"content = {{{pair} for {k}, {x} in value.items()}}")
        # two keys may be stored as one and the same text, and none may be stored as no text at all
        self._require(block, "len(content) == len(value)", "'' not in content")

    def _key(self, shape: Shape, v: str) -> str:
        if isinstance(shape, Normalized):
            return self._call(shape, v, Depth(0), self._normalized_key)
        if isinstance(shape, Boolean):
            return f'("true" if {v} is True else "false" if {v} is False else surprise())'
        return self._content(shape, v)

    def _apply(self, block: Block, shape: Normalized) -> None:
        single = single_code(shape.inner, self._module)
        own = self._module.constant(shape.inner, "shape")
        self._require(block, f"{own}.accepts(value)" if single is None else single.accepts("value"))
        block.add(f"normal = {self._module.constant(shape.function, 'normalize')}(value)")

    def _normalized(self, block: Block, shape: Normalized, depth: Depth) -> None:
        self._apply(block, shape)
        block.add(f"return {self._value(shape.inner, 'normal', depth, 0)}")

    def _normalized_content(self, block: Block, shape: Normalized, depth: Depth) -> None:  # noqa: ARG002
        self._apply(block, shape)
        block.add(f"return {self._content(shape.inner, 'normal')}")

    def _normalized_key(self, block: Block, shape: Normalized, depth: Depth) -> None:  # noqa: ARG002
        self._apply(block, shape)
        block.add(f"return {self._key(shape.inner, 'normal')}")


def types_named(types: tuple[type, ...]) -> str:
    """The second argument of `isinstance`."""
    names = [kind.__name__ for kind in types]  # list, tuple, dict, Mapping
    return names[0] if len(names) == 1 else f"({', '.join(names)})"
