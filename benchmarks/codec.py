"""What encoding and decoding cost: the interpreter, the generated code, and what others take for the same items.

    python benchmarks/codec.py [rounds]

Prints milliseconds of processor time per 1000 items of about 1 KB, the median of alternating rounds, and ratios to the
interpreter. "from JSON" starts at the body's bytes, as a transport of its own would; "from dicts" starts at what boto3
hands over.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from base64 import b64encode
from collections import deque
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import attrs
import cattrs
import msgspec
from boto3.dynamodb.types import TypeDeserializer, TypeSerializer

from dynamap.codec import Context, class_shape
from dynamap.codec.generated import compiled

ITEMS = 1000


@attrs.define
class Address:
    street: str
    city: str
    zip_code: int


@attrs.define
class Order:
    customer: str
    number: str
    count: int
    price: Decimal
    active: bool
    note: str
    labels: set[str]
    lines: list[str]
    address: Address
    photo: bytes
    closed: str | None = None


def order(number: int) -> Order:
    return Order(
        customer=f"customer-{number % 7}",
        number=f"ORDER#{number:012}",
        count=number,
        price=Decimal(number * 7 + 1) / 100,
        active=number % 2 == 0,
        note="a note that says what there is to say about it " * 6,
        labels={f"label-{label}" for label in range(5)},
        lines=[f"a line of the order, the one with the number {line}" for line in range(6)],
        address=Address("Some Street 17", "Rome", 1000 + number),
        photo=bytes(range(64)),
    )


def as_json(value: Any) -> Any:
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, dict):
        return {key: as_json(each) for key, each in value.items()}
    return [as_json(each) for each in value] if isinstance(value, list) else value


def cattrs_decoder() -> Callable[[Any], Order]:
    """A cattrs converter with a hook for each wire type: what one would write by hand."""
    converter = cattrs.Converter(detailed_validation=False)
    for kind, tag in ((str, "S"), (bool, "BOOL"), (bytes, "B")):
        converter.register_structure_hook(kind, lambda wire, _, tag=tag: wire[tag])
    converter.register_structure_hook(int, lambda wire, _: int(wire["N"]))
    converter.register_structure_hook(Decimal, lambda wire, _: Decimal(wire["N"]))
    converter.register_structure_hook_func(lambda hint: hint == str | None, lambda wire, _: wire.get("S"))
    converter.register_structure_hook_func(lambda hint: hint == set[str], lambda wire, _: set(wire["SS"]))
    converter.register_structure_hook_func(
        lambda hint: hint == list[str], lambda wire, _: [each["S"] for each in wire["L"]]
    )
    address = cattrs.gen.make_dict_structure_fn(Address, converter)
    converter.register_structure_hook(Address, lambda wire, hint: address(wire["M"], hint))
    return lambda item: converter.structure(item, Order)


def cattrs_encoder() -> Callable[[Order], Any]:
    """The same in the other direction."""
    converter = cattrs.Converter()
    for kind, tag in ((str, "S"), (bool, "BOOL"), (bytes, "B")):
        converter.register_unstructure_hook(kind, lambda value, tag=tag: {tag: value})
    converter.register_unstructure_hook(int, lambda value: {"N": str(value)})
    converter.register_unstructure_hook(Decimal, lambda value: {"N": str(value)})
    converter.register_unstructure_hook_func(lambda hint: hint == set[str], lambda value: {"SS": sorted(value)})
    converter.register_unstructure_hook_func(
        lambda hint: hint == list[str], lambda value: {"L": [{"S": each} for each in value]}
    )
    converter.register_unstructure_hook_func(
        lambda hint: hint == str | None, lambda value: {"NULL": True} if value is None else {"S": value}
    )
    address = cattrs.gen.make_dict_unstructure_fn(Address, converter)
    converter.register_unstructure_hook(Address, lambda value: {"M": address(value)})
    return converter.unstructure


def boto3_encoder() -> Callable[[Order], Any]:
    serialize = TypeSerializer().serialize
    return lambda value: {name: serialize(each) for name, each in attrs.asdict(value).items()}


def boto3_decoder() -> Callable[[Any], Any]:
    deserialize = TypeDeserializer().deserialize
    return lambda item: {name: deserialize(wire) for name, wire in item.items()}


drain = deque[Any](maxlen=0).extend


def every(function: Callable[[Any], Any], values: list[Any]) -> Callable[[], None]:
    """Call the function for each of the values and keep nothing, so that no garbage collection is in the figures."""
    return lambda: drain(map(function, values))


def measured(works: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The median milliseconds of each; one round is once each, so that a slow moment meets all alike."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            begin = time.process_time()
            work()
            taken[name].append((time.process_time() - begin) * 1000)
    return {name: statistics.median(each) for name, each in taken.items()}


def show(title: str, works: dict[str, Callable[[], Any]], rounds: int) -> None:
    results = measured(works, rounds)
    reference = next(iter(results.values()))
    print(f"{title}, ms per {ITEMS} items")
    for name, taken in results.items():
        print(f"  {name:44}{taken:8.2f}{taken / reference:8.3f}")


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    shape = class_shape(Order, context=Context())
    code = compiled(shape)
    orders = [order(number) for number in range(ITEMS)]
    items = [shape.encode_item(each) for each in orders]
    body = json.dumps([as_json(each) for each in items]).encode()
    structs = msgspec.json.Decoder(list[code.raw_type])  # type: ignore[name-defined]
    from_boto3, from_cattrs = boto3_decoder(), cattrs_decoder()
    to_boto3, to_cattrs = boto3_encoder(), cattrs_encoder()
    raw = structs.decode(body)
    assert [code.decode_struct(each) for each in raw] == orders
    assert [code.decode_item(each) for each in items] == orders
    assert [code.encode_item(each) for each in orders] == items
    assert [from_cattrs(each) for each in items] == orders
    print(f"{len(body) / ITEMS:.0f} bytes of JSON an item")
    show(
        "decode",
        {
            "interpreter, from dicts": every(shape.decode_item, items),
            "generated, from dicts": every(code.decode_item, items),
            "generated, from structs": every(code.decode_struct, raw),
            "generated, from JSON through structs": lambda: drain(map(code.decode_struct, structs.decode(body))),
            "msgspec alone, from JSON to structs": lambda: structs.decode(body),
            "boto3 TypeDeserializer, from dicts": every(from_boto3, items),
            "cattrs, from dicts": every(from_cattrs, items),
        },
        rounds,
    )
    show(
        "encode",
        {
            "interpreter": every(shape.encode_item, orders),
            "generated": every(code.encode_item, orders),
            "boto3 TypeSerializer": every(to_boto3, orders),
            "cattrs": every(to_cattrs, orders),
        },
        rounds,
    )


if __name__ == "__main__":
    main()
