"""Keys of two entities of one table: what is called apart never meets, what is refused is what would."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache
from itertools import product
from typing import Any, Literal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamap.errors import KeyValueError, ModelError
from dynamap.model.templates import Coincidence, KeyTemplate, KeyTemplates, Overlap, can_coincide, parse_template

WORDS = [*("".join(word) for size in range(3) for word in product("#$a0", repeat=size)), "$24", "a$24"]
HINTS: Mapping[str, Any] = {
    "id": str,
    "name": str,
    "seq": int,
    "tag": Literal["a", "", "a#"],
    "one": Literal["0"],
    "flag": bool,
    "at": datetime,
    "uuid": UUID,
}
VALUES: Mapping[str, list[Any]] = {
    "id": WORDS,
    "name": WORDS,
    "seq": [*range(-9, 10)],
    "tag": ["a", "", "a#"],
    "one": ["0"],
    "flag": [True, False],
}


def template(text: str, owner: str = "Order", part: str = "pk") -> KeyTemplate:
    return parse_template(text, HINTS, owner=owner, part=part)


def rows(parsed: KeyTemplate) -> Iterator[dict[str, Any]]:
    for values in product(*(VALUES[field] for field in parsed.fields)):
        yield dict(zip(parsed.fields, values, strict=True))


def keys(parsed: KeyTemplate) -> dict[str, dict[str, Any]]:
    """Every key that the small values give, with its values."""
    found: dict[str, dict[str, Any]] = {}
    for values in rows(parsed):
        try:
            key = parsed.render(values)
        except KeyValueError:
            continue
        assert key not in found, (parsed.text, values, found[key])
        assert parsed.parse(key) == values
        found[key] = values
    return found


SEGMENTS = [
    "",
    "a",
    "0",
    "a$",
    "$24",
    "{id}",
    "{id:raw}",
    "{seq:01}",
    "{tag}",
    "{one}",
    "a{id}",
    "{id}0",
    "{seq:01}a{id}",
]
LAST_SEGMENTS = ["", "a", "0", "$24", "{name}", "{name:ordered}", "{tag}", "a{name}", "{id:raw}0{name}", "{id:raw}$"]


def _pool() -> Iterator[KeyTemplate]:
    for text in [
        *SEGMENTS,
        *LAST_SEGMENTS,
        *("#".join(pair) for pair in product(SEGMENTS, LAST_SEGMENTS)),
        "a##",
        "#{id}#",
    ]:
        try:
            yield template(text)
        except ModelError as error:
            assert "is empty" in str(error) or "separated" in str(error)


@cache
def pool() -> tuple[tuple[KeyTemplate, dict[str, dict[str, Any]]], ...]:
    return tuple((parsed, keys(parsed)) for parsed in _pool())


def refused(parsed: KeyTemplate | None, known: Mapping[str, Any]) -> set[str]:
    assert parsed is not None
    return {key for key in known if any(refusal.meets(key) for refusal in parsed.refusals)}


def test_every_template_of_the_pool_is_injective() -> None:
    assert len(pool()) > 100
    assert any(len(known) > 300 for _, known in pool())


def is_exact(parsed: KeyTemplate) -> bool:
    """Whether the comparison knows all about a template: not of a field that stands twice, nor of a bare `$`."""
    return len(parsed.fields) == len(parsed.placeholders) and "$" not in parsed.text


def test_what_is_apart_never_meets_and_what_is_refused_is_what_would_meet() -> None:
    seen: dict[Overlap, int] = dict.fromkeys(Overlap, 0)
    for first, first_keys in pool():
        for second, second_keys in pool():
            found = can_coincide((first, None), (second, None))
            seen[found.overlap] += 1
            shared = first_keys.keys() & second_keys.keys()
            where = (first.text, second.text, sorted(shared)[:3])
            assert found.overlap is not Overlap.NEVER or not shared, where
            assert found.overlap is Overlap.NEVER or shared or not (is_exact(first) and is_exact(second)), where
            if found.overlap is Overlap.AVOIDABLE:
                none, all_refused = sorted(
                    (refused(found.first[0], first_keys), refused(found.second[0], second_keys)), key=len
                )
                assert not none, where
                assert shared <= all_refused, where
                if not first.fields or not second.fields:
                    # against a single key of the other entity nothing else is refused
                    assert all_refused == shared or not (is_exact(first) and is_exact(second)), where
    assert all(count > 100 for count in seen.values())


def test_a_refused_key_is_not_rendered() -> None:
    for first, first_keys in pool():
        found = can_coincide((first, None), (template("a#0"), None))
        if found.overlap is Overlap.AVOIDABLE:
            refusing = found.first[0]
            assert refusing is not None
            for key in refused(refusing, first_keys):
                with pytest.raises(KeyValueError, match="would give a key of Order"):
                    refusing.render(first_keys[key])


PAIRS = st.tuples(
    st.sampled_from(["a", "{id}", "{one}#{id}", "a#{id}", "{tag}"]),
    st.sampled_from([*SEGMENTS[1:], "{id}#{name}", "a#{id}"]),
)


def both(texts: tuple[str, str], owner: str) -> tuple[KeyTemplate, KeyTemplate]:
    return template(texts[0], owner, "pk"), template(texts[1], owner, "sk")


def pairs(parsed: KeyTemplates) -> set[tuple[str, str]]:
    partition, sort = parsed
    assert partition is not None
    assert sort is not None
    fields = list(dict.fromkeys([*partition.fields, *sort.fields]))
    found: set[tuple[str, str]] = set()
    for row in product(*(VALUES[field] for field in fields)):
        values = dict(zip(fields, row, strict=True))
        try:
            found.add((partition.render(values), sort.render(values)))
        except KeyValueError:
            continue
    return found


@given(first=PAIRS, second=PAIRS)
def test_partition_and_sort_key_are_judged_together(first: tuple[str, str], second: tuple[str, str]) -> None:
    one, other = both(first, "One"), both(second, "Other")
    found = can_coincide(one, other)
    if found.overlap is Overlap.NEVER:
        assert not pairs(one) & pairs(other)
    elif found.overlap is Overlap.AVOIDABLE:
        assert not pairs(found.first) & pairs(found.second)
        assert found.refusal is not None
    assert (found.refusal is not None) == (found.overlap is Overlap.AVOIDABLE)
    assert can_coincide(other, one).overlap is found.overlap


def compare(first: tuple[str, str], second: tuple[str, str]) -> Coincidence:
    return can_coincide(both(first, "Registrant"), both(second, "Account"))


@pytest.mark.parametrize(
    ("first", "second", "overlap"),
    [
        (("USER#{id}", "REGISTRATION"), ("ACCOUNT#{id}", "BALANCE"), Overlap.NEVER),
        (("USER#{id}", "REGISTRATION"), ("USER#{id}", "BALANCE"), Overlap.NEVER),
        (("USER#{id}", "PROFILE"), ("USER#{id}", "PROFILE"), Overlap.UNAVOIDABLE),
        (("USER#{id}", "A#{name}"), ("USER#{id}", "B#{name}"), Overlap.NEVER),
        (("USER#{id}", "A{name}"), ("USER#{id}", "AB{name}"), Overlap.UNAVOIDABLE),
        (("USER#{id}", "A{name}"), ("USER#{id}", "B{name}"), Overlap.NEVER),
        (("USER#{id}", "{name}A"), ("USER#{id}", "{name}B"), Overlap.NEVER),
        (("USER#{id}", "{name}"), ("USER#{id}", "BALANCE"), Overlap.AVOIDABLE),
        (("USER#{id}", "{flag}"), ("USER#{id}", "BALANCE"), Overlap.NEVER),
        (("USER#{id}", "{flag}"), ("USER#{id}", "true"), Overlap.UNAVOIDABLE),
        (("USER#{id}", "{seq:03}"), ("USER#{id}", "000"), Overlap.UNAVOIDABLE),
        (("USER#{id}", "{seq:03}"), ("USER#{id}", "{seq:04}"), Overlap.NEVER),
        (("USER#{id}", "{seq:03}"), ("USER#{id}", "{name}"), Overlap.UNAVOIDABLE),
        (("USER#{id}", "{at}"), ("USER#{id}", "{uuid}"), Overlap.NEVER),
        (("USER#{id}", "{at}"), ("USER#{id}", "2024"), Overlap.NEVER),
        (("USER#{id}", "{name}"), ("USER#{id}", "{flag}"), Overlap.AVOIDABLE),
        (("{id}#{name}", "X"), ("USER#{name}", "X"), Overlap.AVOIDABLE),
        (("{id}", "{name}"), ("{id}", "{name}"), Overlap.UNAVOIDABLE),
    ],
)
def test_keys_are_compared_segment_by_segment(
    first: tuple[str, str], second: tuple[str, str], overlap: Overlap
) -> None:
    assert compare(first, second).overlap is overlap
    assert compare(second, first).overlap is overlap


def test_the_other_entitys_literal_is_refused_by_name() -> None:
    found = compare(("USER#{id}", "{name}"), ("USER#{id}", "BALANCE"))
    partition, sort = found.first
    assert partition is not None
    assert sort is not None
    assert sort.render({"name": "BALANCES"}) == "BALANCES"
    with pytest.raises(
        KeyValueError, match=r"Registrant: .* key of Account: choose another value for Registrant\.name"
    ):
        sort.render({"name": "BALANCE"})
    assert partition.refusals == ()


def test_only_the_whole_other_key_is_refused() -> None:
    found = can_coincide((template("{id}#{name}"), None), (template("ORDER#LATEST", "Latest"), None))
    parsed = found.first[0]
    assert parsed is not None
    assert parsed.render({"id": "ORDER", "name": "1"}) == "ORDER#1"
    with pytest.raises(KeyValueError, match="key of Latest"):
        parsed.render({"id": "ORDER", "name": "LATEST"})


def test_refusals_of_several_comparisons_add_up() -> None:
    keys_of_first: KeyTemplates = (template("{id}"), None)
    for literal in ("A", "B"):
        keys_of_first = can_coincide(keys_of_first, (template(literal, literal), None)).first
    parsed = keys_of_first[0]
    assert parsed is not None
    for literal in ("A", "B"):
        with pytest.raises(KeyValueError, match=f"key of {literal}"):
            parsed.render({"id": literal})
    assert parsed.render({"id": "C"}) == "C"
