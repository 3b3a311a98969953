"""Generates the functions that read items: one straight line for a class, in either way of access."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec

from dynamap.codec.classes import ClassShape, FieldShape
from dynamap.codec.containers import ListOf, MapOf, SetOf, TupleOf
from dynamap.codec.failures import DecodeFailure
from dynamap.codec.generated import values
from dynamap.codec.generated.access import MISSING, Access, DictAccess, StructAccess, Tags
from dynamap.codec.generated.construction import Argument, constructor
from dynamap.codec.generated.singles import SetCode, set_code, single_code, without_normalize
from dynamap.codec.generated.source import MOST_NESTED, Block, Module, plain_name
from dynamap.codec.generated.structs import Structs
from dynamap.codec.scalars import Boolean, Text
from dynamap.codec.shapes import NULL, Shape
from dynamap.codec.unwrap import unwrapped
from dynamap.codec.wrappers import OptionalShape, Reference

__all__ = ["item_decoder", "struct_decoder", "structs_decoder"]

_NAMESPACE: dict[str, Any] = {
    "BOOLEANS": values.BOOLEANS,
    "Decimal": Decimal,
    MISSING: msgspec.UNSET,
    "NOTHING": frozenset[str](),
    "UUID": UUID,
    "from_json": values.from_json,
    "item_from_json": values.item_from_json,
    "new": object.__new__,
    "put": object.__setattr__,
    "read_date": values.read_date,
    "read_datetime": values.read_datetime,
    "read_duration": values.read_duration,
    "read_epoch": values.read_epoch,
    "read_float": values.read_float,
    "read_time": values.read_time,
    "surprise": values.surprise,
    "to_builtins": msgspec.to_builtins,
}
_OF_DICTS = Tags((), certain=False)


def item_decoder(shape: ClassShape) -> Callable[..., Any]:
    """Generate `decode_item(item, known=None, ignore=NOTHING)` for items as dicts, with the interpreter's results."""
    module = Module(**_NAMESPACE)
    decoder = _Decoder(module, None)
    return decoder.item(shape, "dicts", f"{module.constant(shape, 'shape')}.decode_item(item, known, ignore)")


def struct_decoder(shape: ClassShape, structs: Structs) -> Callable[..., Any]:
    """Generate `decode_item(item, known=None, ignore=NOTHING)` for items as structs of the class's struct type."""
    module = Module(**_NAMESPACE)
    decoder = _Decoder(module, structs)
    item = "item_from_json(to_builtins(item, builtin_types=(bytes,)))"
    return decoder.item(shape, "structs", f"{module.constant(shape, 'shape')}.decode_item({item}, known, ignore)")


def structs_decoder(shape: ClassShape, structs: Structs) -> Callable[..., Any]:
    """Generate `decode_items(items, append)`, which appends what many such structs are, without a call for each.

    It raises anything at all for the first that is to be looked at by itself. All fields of the class must be stored.
    """
    return _Decoder(Module(**_NAMESPACE), structs).items(shape)


class _Decoder:
    def __init__(self, module: Module, structs: Structs | None) -> None:
        self._module = module
        self._structs = structs
        self._functions: dict[tuple[int, str], str] = {}
        # below what has no struct, attribute values are dicts again
        self._of_dicts = self if structs is None else _Decoder(module, None)

    def _access(self, shape: ClassShape | None = None) -> Access:
        if self._structs is None:
            return DictAccess()
        return StructAccess({} if shape is None else self._structs.fields(shape))

    # ------------------------------------------------------------------------------------------------ items

    def item(self, shape: ClassShape, what: str, interpreted: str) -> Callable[..., Any]:
        block = Block("def decode_item(item, known=None, ignore=NOTHING)")
        unstored = frozenset(field.name for field in shape.fields if not field.stored and not field.extras)
        with block.inside("try"):
            if unstored:
                with block.inside(f"if known and not {self._module.constant(unstored, 'unstored')}.issuperset(known)"):
                    block.add("surprise()")
            else:
                with block.inside("if known"):
                    block.add("surprise()")
            block.add(f"return {self._built(block, shape, top=True)}")
        with block.inside("except Exception"):
            block.add("pass")
        block.add(f"return {interpreted}")
        self._module.add(block)
        return self._module.compile(f"dynamap decoder of {shape.kind}, {what}", "decode_item")

    def items(self, shape: ClassShape) -> Callable[..., Any]:
        block = Block("def decode_items(items, append)")
        with block.inside("for item in items"):
            block.add(f"append({self._built(block, shape, top=True)})")
        self._module.add(block)
        return self._module.compile(f"dynamap decoder of {shape.kind}, many structs", "decode_items")

    def _nested(self, shape: ClassShape) -> str:
        """Give the function that reads the content of M."""

        def body(block: Block) -> None:
            block.add(f"return {self._built(block, shape, top=False)}")

        return self._function(shape, "item", f"read_{shape.cls.__name__}", body)

    def _function(self, shape: Shape, parameter: str, word: str, body: Callable[[Block], None]) -> str:
        key = (id(shape), parameter)
        if key not in self._functions:
            # known before its body is, which may call it
            word = word if plain_name(word) else "read"
            name = self._functions[key] = self._module.fresh(word)
            block = Block(f"def {name}({parameter})")
            body(block)
            self._module.add(block)
        return self._functions[key]

    # ------------------------------------------------------------------------------------------------ fields

    def _built(self, block: Block, shape: ClassShape, *, top: bool) -> str:
        """Read all fields of `item`; gives the expression of the instance."""
        variables = {field.name: self._field(block, shape, field, top=top) for field in shape.fields}
        cls = self._module.constant(shape.cls, "cls")
        if shape.builder is not None:
            # what is missing is the builder's to make
            self._collect(block, "found", variables)
            return f"{self._module.constant(shape, 'shape')}.build(found)"
        if not shape.calls_init:
            return self._restored(block, shape, variables, cls)
        arguments = constructor(shape)
        if arguments is None:
            init = [field for field in shape.fields if field.field.init]
            self._collect(block, "arguments", {field.field.init_name: variables[field.name] for field in init})
            passed = "**arguments"
        else:
            passed = self._all(block, arguments, variables, keep=bool(shape.set_afterwards))
        if not shape.set_afterwards:
            return f"{cls}({passed})"
        block.add(f"instance = {cls}({passed})")
        for field in shape.set_afterwards:
            variable, certain = variables[field.name]
            setting = f"put(instance, {field.name!r}, {variable})"
            if certain:
                block.add(setting)
            else:
                with block.inside(f"if {variable} is not {MISSING}"):
                    block.add(setting)
        return "instance"

    def _collect(self, block: Block, name: str, variables: dict[str, tuple[str, bool]]) -> None:
        """Put into a dict what there is."""
        block.add(f"{name} = {{}}")
        for key, (variable, certain) in variables.items():
            setting = f"{name}[{key!r}] = {variable}"
            if certain:
                block.add(setting)
            else:
                with block.inside(f"if {variable} is not {MISSING}"):
                    block.add(setting)

    def _restored(self, block: Block, shape: ClassShape, variables: dict[str, tuple[str, bool]], cls: str) -> str:
        block.add(f"instance = new({cls})")
        for field in shape.fields:
            variable, certain = variables[field.name]
            if not certain:
                with block.inside(f"if {variable} is {MISSING}"):
                    block.add(f"{variable} = {self._module.constant(field.field, 'field')}.make_default(instance)")
            block.add(f"put(instance, {field.name!r}, {variable})")
        return "instance"

    def _all(
        self, block: Block, arguments: tuple[Argument, ...], variables: dict[str, tuple[str, bool]], *, keep: bool
    ) -> str:
        """Pass all arguments; `keep` leaves the variables of missing values as they are."""
        passed: list[str] = []
        for argument in arguments:
            variable, certain = variables[argument.field.name]
            value = variable
            if not certain:
                missing = argument.default is inspect.Parameter.empty
                default = "surprise()" if missing else self._module.constant(argument.default, "default")
                if keep:
                    value = f"({default} if {variable} is {MISSING} else {variable})"
                else:
                    with block.inside(f"if {variable} is {MISSING}"):
                        block.add(f"{variable} = {default}")
            passed.append(value if argument.positional else f"{argument.field.field.init_name}={value}")
        return ", ".join(passed)

    def _field(self, block: Block, shape: ClassShape, field: FieldShape, *, top: bool) -> tuple[str, bool]:
        """Read one field into a variable; tell whether it surely has a value then."""
        variable = self._module.fresh("v")
        if field.extras:
            block.add(f"{variable} = {self._extras(shape, field, top=top)}")
            return variable, True
        missing = _when_missing(shape, field, self._module)
        otherwise = missing or MISSING
        if not field.stored:
            if top:
                known = f"known[{field.name!r}] if known and {field.name!r} in known"
                block.add(f"{variable} = {known} else {otherwise}")
            else:
                block.add(f"{variable} = {otherwise}")
            return variable, missing is not None
        access, wire = self._access(shape), self._module.fresh("w")
        first, *others = field.read_from
        required = missing == "surprise()" and not others
        block.add(f"{wire} = {access.attribute('item', first, optional=not required)}")
        for other in others:
            with block.inside(f"if {wire} is {MISSING}"):
                block.add(f"{wire} = {access.attribute('item', other, optional=True)}")
        value = self.value(field.shape, wire, 0)
        if not required:
            value = f"{otherwise} if {wire} is {MISSING} else {value}"
        block.add(f"{variable} = {value}")
        return variable, missing is not None

    def _extras(self, shape: ClassShape, field: FieldShape, *, top: bool) -> str:
        names = (name for each in shape.fields if not each.extras for name in each.read_from)
        known = self._module.constant(frozenset(names), "stored")
        condition = f"name not in {known} and name not in ignore" if top else f"name not in {known}"
        dict_shape: Any = field.shape
        return f"{{name: {self.value(dict_shape.value, 'wire', 1)} for name, wire in item.items() if {condition}}}"

    # ------------------------------------------------------------------------------------------------ values

    def value(self, shape: Shape, wire: str, level: int) -> str:
        """The expression of the value that an attribute value in the variable holds."""
        if self._structs is None:
            return self._inside(shape, wire, _OF_DICTS, level)
        tags = self._structs.tags(shape)
        if not tags:
            plain = self._module.fresh("w")
            value = self._of_dicts.value(shape, plain, level)
            return f"({value} if ({plain} := from_json({wire})) is not None else surprise())"
        return self._inside(shape, wire, Tags(tags, certain=len(tags) == 1), level)

    def _inside(self, shape: Shape, wire: str, tags: Tags, level: int) -> str:
        shape = without_normalize(shape)
        access = self._access()
        if isinstance(shape, OptionalShape):
            left = Tags(tags.but(NULL), certain=False)
            return access.optional(wire, self._inside(shape.inner, wire, left, level), tags)
        single = single_code(shape, self._module)
        if single is not None:
            return single.read(access.content(wire, single.tag, tags), access.typed)
        if isinstance(shape, ClassShape):
            return f"{self._nested(shape)}({access.content(wire, 'M', tags)})"
        if isinstance(shape, Reference):
            return f"{self._whole(shape.target)}({wire})"
        if isinstance(shape, TupleOf):
            return f"{self._tuple(shape)}({access.content(wire, 'L', tags)})"
        if isinstance(shape, ListOf | MapOf | SetOf) and level >= MOST_NESTED:
            return f"{self._whole(shape)}({wire})"
        if isinstance(shape, ListOf):
            return self._list(shape, access.content(wire, "L", tags), level + 1)
        if isinstance(shape, MapOf):
            return self._map(shape, access.content(wire, "M", tags), level + 1)
        several = set_code(shape, self._module) if isinstance(shape, SetOf) else None
        if isinstance(shape, SetOf) and several is not None:
            return self._set(shape, several, wire, tags, level + 1)
        return f"{self._module.constant(shape, 'shape')}.decode({wire})"

    def _list(self, shape: ListOf, content: str, level: int) -> str:
        x = self._module.fresh("x")
        every = f"[{self.value(shape.element, x, level)} for {x} in {content}]"
        return every if shape.factory is list else f"tuple({every})"

    def _set(self, shape: SetOf, several: SetCode, wire: str, tags: Tags, level: int) -> str:
        access, factory, own = self._access(), shape.kind, several.tag
        x, y = self._module.fresh("x"), self._module.fresh("x")
        source = f"{wire}.{own}" if access.typed else f'{wire}["{own}"]'
        element = several.element.read(x, access.typed)
        elements = source if element == x else f"{{{element} for {x} in {source}}}"
        if element == x or factory != "set":
            elements = f"{factory}({elements})"
        # the empty set inside of a container is stored as an empty list
        listed = f"{self.value(shape.element, y, level)} for {y} in {access.content(wire, 'L', tags)}"
        listed = f"{{{listed}}}" if factory == "set" else f"{factory}([{listed}])"
        return f"({elements} if {access.alone(wire, own, tags)} else {listed})"

    def _map(self, shape: MapOf, content: str, level: int) -> str:
        k, x = self._module.fresh("k"), self._module.fresh("x")
        if isinstance(without_normalize(shape.key), Text):
            return f"{{{k}: {self.value(shape.value, x, level)} for {k}, {x} in {content}.items()}}"

        def body(block: Block) -> None:
            pair = f"{self._key(shape.key, k)}: {self.value(shape.value, x, 1)}"
            block.add(f"entries = {{{pair} for {k}, {x} in content.items()}}")
            # two texts may be one and the same key
            with block.inside("if len(entries) != len(content)"):
                block.add("surprise()")
            block.add("return entries")

        return f"{self._function(shape, 'content', 'read_map', body)}({content})"

    def _whole(self, shape: Shape) -> str:
        """Give the function that reads an attribute value."""

        def body(block: Block) -> None:
            block.add(f"return {self.value(shape, 'wire', 0)}")

        return self._function(shape, "wire", "read", body)

    def _tuple(self, shape: TupleOf) -> str:
        def body(block: Block) -> None:
            names = [self._module.fresh("w") for _ in shape.elements]
            with block.inside(f"if len(content) != {len(names)}"):
                block.add("surprise()")
            if names:
                block.add(f"{', '.join(names)}, = content")
            parts = [self.value(element, name, 0) for element, name in zip(shape.elements, names, strict=True)]
            block.add(f"return ({', '.join(parts)}{',' if len(parts) == 1 else ''})")

        return self._function(shape, "content", "read_tuple", body)

    def _key(self, shape: Shape, text: str) -> str:
        shape = without_normalize(shape)
        if isinstance(shape, Boolean):
            return f"BOOLEANS[{text}]"
        single = single_code(shape, self._module)
        if single is not None:
            return single.read(text, self._access().typed)
        return f"{self._module.constant(shape, 'shape')}.decode_key({text})"


def _when_missing(shape: ClassShape, field: FieldShape, module: Module) -> str | None:
    """The expression for a missing attribute; None where the class itself makes the value, its default."""
    if not field.shape.empty_when_absent:
        if field.field.has_default or shape.computes(field):
            return None
        try:
            if field.shape.decode_attribute(None) is None:
                return "None"
        except DecodeFailure:
            return "surprise()"
    inner = unwrapped(field.shape)
    if isinstance(inner, SetOf):
        return f"{inner.kind}()"
    return f"{module.constant(field.shape, 'shape')}.decode_attribute(None)"
