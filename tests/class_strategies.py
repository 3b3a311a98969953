"""Random classes with random fields, and instances of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import attrs
from hypothesis import strategies as st

from dynamap.codec import Attribute, EpochMillis, EpochSeconds, Extras, Normalize
from tests.value_types import Card, Color, Level, Mixed, Node, Point, Rights, Temperature, Transfer, Word

texts = st.text(max_size=6)


def named(key: object) -> bool:
    """Whether a map can have this key: DynamoDB has no empty names."""
    return key != ""


names = texts.filter(named)
integers = st.integers(-(10**38) + 1, 10**38 - 1) | st.integers(-1000, 1000)
decimals = st.decimals(-(10**20), 10**20, places=7, allow_nan=False, allow_infinity=False) | st.decimals(
    -1000, 1000, places=2
)
floats = st.floats(-1e100, 1e100, allow_subnormal=False).filter(lambda x: x == 0 or abs(x) > 1e-100)
moments = st.datetimes(timezones=st.just(timezone.utc)) | st.datetimes(
    datetime(1000, 1, 1), datetime(9000, 1, 1), timezones=st.just(timezone(timedelta(hours=-5)))
)
epochs = st.integers(0, 4_000_000_000).map(lambda count: datetime.fromtimestamp(count, timezone.utc))
plain = st.recursive(
    st.none()
    | st.booleans()
    | texts
    | integers
    | decimals
    | st.binary(max_size=3)
    | st.sets(texts, min_size=1, max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2),
    max_leaves=4,
)
nodes = st.recursive(
    st.builds(Node, texts),
    lambda inner: st.builds(Node, texts, st.none() | inner, st.lists(inner, max_size=2), plain),
    max_leaves=4,
)


@attrs.frozen(repr=False)
class Kind:
    """A type, its values, and whether they can be keys or elements of sets."""

    hint: Any
    values: st.SearchStrategy[Any]
    hashed: bool = False


SCALARS: list[Kind] = [
    Kind(str, texts, True),
    Kind(int, integers, True),
    Kind(float, floats | st.integers(-100, 100), True),
    Kind(Decimal, decimals, True),
    Kind(UUID, st.uuids(), True),
    Kind(Color, st.sampled_from(Color), True),
    Kind(Word, st.sampled_from(Word), True),
    Kind(Level, st.sampled_from(Level), True),
    Kind(Rights, st.sampled_from([*Rights, Rights.READ | Rights.ADMIN, Rights(0)]), True),
    Kind(datetime, moments, True),
    Kind(date, st.dates(), True),
    Kind(timedelta, st.timedeltas(), True),
    Kind(Literal["a", "b"], st.sampled_from(["a", "b"]), True),
    Kind(Literal[1, 20], st.sampled_from([1, 20]), True),
    Kind(Annotated[str, Normalize(str.casefold)], texts, True),
    Kind(Annotated[datetime, EpochSeconds()], epochs, True),
    Kind(Annotated[datetime, EpochMillis()], moments, True),
    Kind(Annotated[int, EpochSeconds()], st.integers(-100, 4_000_000_000), True),
    Kind(Annotated[float, EpochMillis()], st.integers(0, 10**12) | st.floats(0, 1e12), True),
    Kind(bool, st.booleans()),
    Kind(bytes, st.binary(max_size=5)),
    Kind(bytearray, st.binary(max_size=5).map(bytearray)),
    Kind(time, st.times() | st.times(timezones=st.just(timezone(timedelta(hours=2))))),
    Kind(Mixed, st.sampled_from(Mixed)),
    Kind(Literal["a", 1, True], st.sampled_from(["a", 1, True])),
]
OTHERS: list[Kind] = [
    Kind(Any, plain),
    Kind(str | int | bytes, texts | integers | st.binary(max_size=3)),
    Kind(Card | Transfer, st.builds(Card, texts) | st.builds(Transfer, integers)),
    Kind(Temperature, st.integers(-50, 50).map(Temperature)),
    Kind(Annotated[int, Attribute(encode=str, decode=int)], st.integers(-50, 50)),
    Kind(Node, nodes),
    Kind(Point, st.builds(Point, integers, st.none() | integers)),
]
HASHED = [kind for kind in SCALARS if kind.hashed]


def _of(container: Any, *arguments: Any) -> Any:
    return container[arguments]


def _tupled(first: Kind, second: Kind) -> Kind:
    return Kind(_of(tuple, first.hint, second.hint), st.tuples(first.values, second.values))


def _mapped(key: Kind, value: Kind) -> Kind:
    return Kind(_of(dict, key.hint, value.hint), st.dictionaries(key.values.filter(named), value.values, max_size=2))


def _optional(inner: Kind) -> Kind:
    # Any and Optional[Any] are one; a Literal of several kinds takes None in
    return Kind(inner.hint | None if inner.hint is not Any else Any, st.none() | inner.values)


def _sets(element: Kind, factory: Any) -> Kind:
    return Kind(_of(factory, element.hint), st.sets(element.values, max_size=3).map(factory))


WAYS: list[Callable[[Kind, Kind], Kind]] = [
    lambda kind, _: _optional(kind),
    lambda kind, _: Kind(_of(list, kind.hint), st.lists(kind.values, max_size=3)),
    lambda kind, _: Kind(_of(tuple, kind.hint, ...), st.lists(kind.values, max_size=3).map(tuple)),
    _tupled,
]


@st.composite
def kinds(draw: st.DrawFn, depth: int) -> Kind:
    """A type, nested up to the depth."""
    way = draw(st.integers(0, 9)) if depth else 0
    if way <= 3:
        return draw(st.sampled_from([*SCALARS, *OTHERS]))
    if way == 4:
        element = draw(st.sampled_from([*HASHED, Kind(bytes, st.binary(max_size=2))]))
        return _sets(element, draw(st.sampled_from([set, frozenset])))
    if way == 5:
        return _mapped(draw(st.sampled_from(HASHED)), draw(kinds(depth - 1)))
    if way == 6:
        made = draw(classes(depth - 1, nested=True))
        return Kind(made.cls, made.instances)
    return draw(st.sampled_from(WAYS))(draw(kinds(depth - 1)), draw(kinds(depth - 1)))


@attrs.frozen(repr=False)
class Made:
    """A class and its instances."""

    cls: Any
    instances: st.SearchStrategy[Any]


@attrs.frozen
class _Field:
    name: str
    hint: Any
    values: st.SearchStrategy[Any]
    default: Any
    factory: Callable[[], Any] | None
    init: bool

    @property
    def has_default(self) -> bool:
        return self.default is not attrs.NOTHING or self.factory is not None


ODD_NAMES = ["customer-id", "a.b", "x y", "Zahl", "ünï", 'quo"te', "class", "\\", "_w", "#"]


@st.composite
def _fields(draw: st.DrawFn, depth: int, *, nested: bool) -> list[_Field]:
    names = draw(
        st.lists(
            st.sampled_from(["alpha", "beta", "gamma", "delta", "_own", "item"]), min_size=1, max_size=4, unique=True
        )
    )
    odd = draw(st.permutations(ODD_NAMES))
    fields: list[_Field] = []
    for name in names:
        kind = draw(kinds(depth))
        markers: dict[str, Any] = {}
        if draw(st.integers(0, 3)) == 0:
            markers["name"] = odd.pop()
        if draw(st.integers(0, 3)) == 0:
            markers["aliases"] = (odd.pop(),)
        default, factory, init = attrs.NOTHING, None, True
        how = draw(st.integers(0, 5))
        if how == 0:
            value = draw(kind.values)
            factory = lambda value=value: value  # noqa: E731
        elif how == 1:
            default = draw(st.sampled_from([None, 0, "d"]))
        if factory is not None or default is not attrs.NOTHING:
            init = draw(st.integers(0, 3)) > 0
            if draw(st.integers(0, 3)) == 0:
                markers["stored"] = False
        elif not nested and draw(st.integers(0, 7)) == 0:
            markers["stored"] = False
        hint = Annotated[kind.hint, Attribute(**markers)] if markers else kind.hint
        fields.append(_Field(name, hint, kind.values, default, factory, init))
    if draw(st.integers(0, 3)) == 0:
        # names that fields have are refused, which is to be seen too, but not too often
        extra_names = st.text("pqr", min_size=1, max_size=3) | st.sampled_from(["alpha", "_w", "pk"])
        extras = st.dictionaries(st.text("pqr", min_size=1, max_size=3), plain, max_size=2) | st.dictionaries(
            extra_names, plain, max_size=1
        )
        fields.append(_Field("rest", Annotated[dict[str, Any], Extras()], extras, attrs.NOTHING, dict, init=True))
    return fields


@st.composite
def classes(draw: st.DrawFn, depth: int = 3, *, nested: bool = False) -> Made:
    """A class of a random kind; in a nested one, fields that are not stored have a default."""
    fields = draw(_fields(depth, nested=nested))
    keyword_only = draw(st.booleans())
    if not keyword_only:
        fields.sort(key=lambda field: field.has_default)
    options = {"frozen": draw(st.booleans()), "kw_only": keyword_only, "slots": draw(st.booleans())}
    hooked = draw(st.integers(0, 5)) == 0
    make = draw(st.sampled_from([_attrs_class, _dataclass]))
    cls = make(fields, options, hooked=hooked)

    def build(values: tuple[Any, ...]) -> Any:
        given = dict(zip((field.name for field in fields), values, strict=True))
        prefix = "_" if make is _attrs_class else ""
        instance = cls(**{field.name.removeprefix(prefix): given[field.name] for field in fields if field.init})
        for field in fields:
            if not field.init:
                object.__setattr__(instance, field.name, given[field.name])
        return instance

    return Made(cls, st.tuples(*(field.values for field in fields)).map(build))


def _namespace(fields: list[_Field], hook: str | None) -> dict[str, Any]:
    namespace: dict[str, Any] = {
        "__annotations__": {field.name: field.hint for field in fields},
        "__module__": __name__,
    }
    if hook:
        namespace[hook] = lambda self: None
    return namespace


def _attrs_class(fields: list[_Field], options: dict[str, bool], *, hooked: bool) -> Any:
    namespace = _namespace(fields, "__attrs_post_init__" if hooked else None)
    for field in fields:
        default: Any = attrs.Factory(field.factory) if field.factory else field.default
        namespace[field.name] = attrs.field(default=default, init=field.init)
    return attrs.define(**options)(type("Made", (), namespace))


def _dataclass(fields: list[_Field], options: dict[str, bool], *, hooked: bool) -> Any:
    namespace = _namespace(fields, "__post_init__" if hooked else None)
    for field in fields:
        if field.factory:
            namespace[field.name] = dataclasses.field(default_factory=field.factory, init=field.init)
        elif field.default is not attrs.NOTHING:
            namespace[field.name] = dataclasses.field(default=field.default, init=field.init)
    return dataclasses.dataclass(**options)(type("Made", (), namespace))
