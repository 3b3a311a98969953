"""Generates the functions that write items as JSON: one straight line for a class, without a dict in between."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from dynamap.codec.classes import ClassShape, FieldShape
from dynamap.codec.containers import ListOf, MapOf, SetOf, TupleOf
from dynamap.codec.failures import Wire
from dynamap.codec.generated.encoders import NAMESPACE, Depth, Encoder, types_named
from dynamap.codec.generated.singles import SingleCode, set_code, single_code
from dynamap.codec.generated.source import MOST_NESTED, Block, Module
from dynamap.codec.json_items import to_json
from dynamap.codec.scalars import Text
from dynamap.codec.shapes import Shape
from dynamap.codec.wrappers import Normalized, OptionalShape, Reference

__all__ = ["json_encoder"]

_NULL = '{"NULL":true}'
# so many are quicker added than joined
_FEW = 3


class _Piece(NamedTuple):
    """A part of the JSON: a constant, or the expression of bytes."""

    text: str
    is_constant: bool


def _constant(text: str) -> _Piece:
    return _Piece(text, is_constant=True)


def _expression(text: str) -> _Piece:
    return _Piece(text, is_constant=False)


_Pieces = list[_Piece]


def json_encoder(
    shape: ClassShape, without: str | None, keys: Mapping[str, str], constants: Mapping[str, Wire]
) -> Callable[[Any, Mapping[str, Wire]], bytes | None]:
    """Generate `encode_json(instance, key)`: the item with its key; None for what the interpreter is to judge.

    *keys* are the wire types of the key's attributes, at least one, and *constants* are attributes that every item has
    beside those of its fields. The field *without* is left out. Classes that keep unknown attributes are none of these.
    """
    # for texts, numbers, which are texts, bytes, which become base64, and whole attribute values
    module = Module(**NAMESPACE, to_json=to_json)
    return _JsonEncoder(module).whole_item(shape, without, keys, constants)


class _JsonEncoder(Encoder):
    def whole_item(
        self, shape: ClassShape, without: str | None, keys: Mapping[str, str], constants: Mapping[str, Wire]
    ) -> Callable[[Any, Mapping[str, Wire]], bytes | None]:
        block = Block("def encode_json(instance, key)")
        with block.inside("try"):
            with block.inside(f"if type(instance) is not {self._module.constant(shape.cls, 'cls')}"):
                block.add("surprise()")
            pieces: _Pieces = []
            for name, tag in keys.items():
                content = _expression(f"to_json(key[{name!r}][{tag!r}])")
                pieces += [_constant(f'{"," if pieces else "{"}{_name(name)}:{{"{tag}":'), content, _constant("}")]
            pieces += [_constant(f",{_name(name)}:{to_json(wire).decode()}") for name, wire in constants.items()]
            for field in shape.fields:
                if field.stored and field.name != without:
                    pieces += self._with_comma(block, field)
            block.add(f"return {_joined([*pieces, _constant('}')])}")
        with block.inside("except Exception"):
            block.add("return None")
        self._module.add(block)
        return self._module.compile(f"dynamap JSON encoder of {shape.kind}", "encode_json")

    def _with_comma(self, block: Block, field: FieldShape) -> _Pieces:
        """An attribute after a comma, or nothing if it is absent."""
        shape, variable, name = field.shape, self._take(block, field), f",{_name(field.attribute)}:"
        if self._always(shape):
            return [_constant(name), *self._pieces(shape, variable, Depth(1), 0)]
        text = self._module.fresh("j")
        block.add(f"{text} = {self._or_absent(shape, variable, name)}")
        return [_expression(text)]

    def _or_absent(self, shape: Shape, variable: str, name: str) -> str:
        if isinstance(shape, OptionalShape):
            inner = self._or_absent(shape.inner, variable, name)
            absent = name + _NULL if shape.stores_null or shape.empty_when_absent else ""
            return f"({inner} if {variable} is not None else {absent.encode()!r})"
        if self._always(shape) or isinstance(shape, SetOf):
            there = _joined([_constant(name), *self._pieces(shape, variable, Depth(1), 0)])
            if not isinstance(shape, SetOf):
                return there
            return f'({there} if {variable} or not isinstance({variable}, (set, frozenset)) else b"")'
        wire = self._module.fresh("w")
        encoded = f"{self._module.constant(shape, 'shape')}.encode_attribute({variable}, {Depth(1).path})"
        return f'(b"" if ({wire} := {encoded}) is None else {name.encode()!r} + to_json({wire}))'

    # ---- values

    def _value(self, shape: Shape, v: str, depth: Depth, level: int) -> str:
        return _joined(self._pieces(shape, v, depth, level))

    def _pieces(self, shape: Shape, v: str, depth: Depth, level: int) -> _Pieces:
        if isinstance(shape, OptionalShape):
            inner = self._value(shape.inner, v, depth, level)
            return [_expression(f"({_NULL.encode()!r} if {v} is None else {inner})")]
        single = single_code(shape, self._module)
        if single is not None:
            return [_constant(f'{{"{single.tag}":'), _expression(self._written(shape, single, v)), _constant("}")]
        if isinstance(shape, Normalized):
            return [_expression(self._call(shape, v, depth, self._normalized))]
        if isinstance(shape, Reference):
            whole = self._call(shape.target, v, Depth(0, counted=True), self._whole, argument=depth)
            return [_expression(whole)]
        return self._several(shape, v, depth, level)

    def _several(self, shape: Shape, v: str, depth: Depth, level: int) -> _Pieces:
        body: Callable[[Block, Any, Depth], None] | None = None
        if isinstance(shape, ClassShape) and shape.extras is None:
            body = self._class
        elif isinstance(shape, MapOf):
            body = self._map
        if body is not None:
            return [_constant('{"M":{'), _expression(self._call(shape, v, depth, body)), _constant("}}")]
        if isinstance(shape, TupleOf):
            return [_constant('{"L":['), _expression(self._call(shape, v, depth, self._tuple)), _constant("]}")]
        if isinstance(shape, ListOf | SetOf) and level >= MOST_NESTED:
            return [_expression(self._call(shape, v, depth, self._whole))]
        if isinstance(shape, ListOf):
            return [_expression(self._list(shape, v, depth, level + 1))]
        several = set_code(shape, self._module) if isinstance(shape, SetOf) else None
        if isinstance(shape, SetOf) and several is not None:
            x = self._module.fresh("x")
            if type(shape.element) is Text:
                # a set holds no text twice, so that a list will do
                elements = f"[{x} if type({x}) is str else surprise() for {x} in {v}]"
            else:
                elements = f"{{{self._content(shape.element, x)} for {x} in {v}}}"
            there = _joined(
                [_constant(f'{{"{several.tag}":'), _expression(f"to_json(sorted({elements}))"), _constant("}")]
            )
            full = f"""({there} if {v} else b'{{"L":[]}}')"""
            return [_expression(f"({full} if isinstance({v}, (set, frozenset)) else surprise())")]
        return [_expression(f"to_json({self._module.constant(shape, 'shape')}.encode({v}, {depth.path}))")]

    def _written(self, shape: Shape, single: SingleCode, v: str) -> str:
        """What stands under the wire type."""
        # of texts only surrogates are refused, which have no JSON either
        content = f"({v} if type({v}) is str else text_content({v}))" if type(shape) is Text else single.write(v)
        return f'(b"true" if {content} else b"false")' if single.tag == "BOOL" else f"to_json({content})"

    def _list(self, shape: ListOf, v: str, depth: Depth, level: int) -> str:
        x = self._module.fresh("x")
        accepted = " and ".join([f"isinstance({v}, {types_named(shape.accepted)})", *depth.conditions])
        single = single_code(shape.element, self._module)
        if single is None:
            every = f'b",".join([{self._value(shape.element, x, depth.deeper(), level)} for {x} in {v}])'
            return f"""(b'{{"L":[' + {every} + b"]}}" if {accepted} else surprise())"""
        # what stands between them is added once
        tag = f'{{"{single.tag}":'
        every = f"[{self._written(shape.element, single, x)} for {x} in {v}]"
        between, start, end = f"}},{tag}".encode(), f'{{"L":[{tag}'.encode(), b"}]}"
        full = f"""({start!r} + {between!r}.join({every}) + {end!r} if {v} else b'{{"L":[]}}')"""
        return f"({full} if {accepted} else surprise())"

    # ---- functions, which give what stands between the brackets

    def _class(self, block: Block, shape: ClassShape, depth: Depth) -> None:
        self._require(block, f"type(value) is {self._module.constant(shape.cls, 'cls')}", *depth.conditions)
        block.add("instance = value")
        pieces: _Pieces = []
        for field in shape.fields:
            if field.stored:
                comma = "," if pieces else ""
                pieces.append(_constant(f"{comma}{_name(field.attribute)}:"))
                pieces += self._pieces(field.shape, self._take(block, field), depth.deeper(), 0)
        block.add(f"return {_joined(pieces)}")

    def _tuple(self, block: Block, shape: TupleOf, depth: Depth) -> None:
        names = self._unpacked(block, shape, depth)
        values = zip(shape.elements, names, strict=True)
        every = ", ".join(self._value(element, name, depth.deeper(), 0) for element, name in values)
        block.add(f'return b",".join([{every}])')

    def _map(self, block: Block, shape: MapOf, depth: Depth) -> None:
        self._map_content(block, shape, depth)
        block.add("return b','.join([to_json(name) + b':' + value for name, value in content.items()])")


def _name(attribute: str) -> str:
    return to_json(attribute).decode()


def _joined(pieces: Sequence[_Piece]) -> str:
    """The expression of the whole."""
    merged: _Pieces = []
    for piece in pieces:
        if piece.is_constant and merged and merged[-1].is_constant:
            merged[-1] = _constant(merged[-1].text + piece.text)
        elif piece.text:
            merged.append(piece)
    parts = [repr(piece.text.encode()) if piece.is_constant else piece.text for piece in merged]
    if len(parts) > _FEW:
        return f'b"".join(({", ".join(parts)}))'
    return f"({' + '.join(parts)})" if parts else 'b""'
