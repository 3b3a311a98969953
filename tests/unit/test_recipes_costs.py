"""What the recipes' headers and pages say of capacity units, and that all recipes fit into one table."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from types import ModuleType
from typing import get_origin

import pytest

from benchmarks.recipe_calls import CASES, DRAFTS, MODELS, SHARDS, Everything, table_of, taken_by
from dynamap import Table
from dynamap.model.declare import declaration_of
from recipes import soft_delete, truncate

RECIPES = sorted(path.stem for path in (Path(__file__).parents[2] / "recipes" / "aio").glob("*.py"))

# read units and write units of items up to 1 KB; a failed condition costs a write unit that no answer reports
UNITS: dict[str, tuple[float, float]] = {
    "optimistic_locking.change": (1, 1),
    "optimistic_locking.transfer": (2, 4),
    "counters.add": (0, 1),
    "counters.take": (0, 1),
    "counters.count_in_set": (0, 1),
    "counters.count_by_marker": (0, 4),
    "counters.ShardedCounter.add, the first": (1, 1),
    f"counters.ShardedCounter.total, {SHARDS} shards": (1 + SHARDS, 0),
    "hilo.HiLo.next, blocks of 100": (0, 1),
    "gapless_sequence.issue": (2, 6),
    "gapless_sequence.issue, repeated": (1, 0),
    "idempotency.IdempotentTransaction.run": (1, 2 + 2),
    "idempotency.IdempotentTransaction.run, repeated": (1, 0),
    "idempotency.IdempotentCall.run": (0, 2),
    "idempotency.IdempotentCall.run, repeated": (0, 0),
    "out_of_order.change_score": (0, 1),
    "out_of_order.change_score, late": (0, 0),
    "outbox.record, with its change": (0, 2 + 2),
    "outbox.Relay.sweep, the first, of an event": (2 + 1 + 1, 2 + 1),
    "outbox.Relay.sweep, of an event": (2 + 1, 2),
    "outbox.Relay.sweep, of nothing": (1, 0),
    "soft_delete.SoftRepository.create": (0, 1),
    "soft_delete.SoftRepository.delete": (1, 1),
    "soft_delete.SoftRepository.delete, with a claim": (1, 2 + 2),
    "soft_delete.SoftRepository.restore": (1, 1),
    f"truncate.truncate, {DRAFTS} items": (1, DRAFTS),
    "uniqueness.register, two values": (0, 6),
    "uniqueness.register, repeated": (0, 0),
    "uniqueness.change of a value": (1, 2 + 4),
    "uniqueness.find": (2, 0),
}
REFUSED = {name for name in UNITS if name.endswith((", late", "Call.run, repeated", "register, repeated"))}


@pytest.mark.parametrize("name", CASES)
def test_units_are_those_of_the_pages(name: str) -> None:
    taken = taken_by(CASES[name])
    assert (taken.read_units, taken.write_units) == UNITS[name]
    # what a failed condition costs is not reported: that there was such a write is
    writes = {"PutItem", "UpdateItem", "TransactWriteItems"} & set(taken.calls)
    assert (name in REFUSED) == bool(writes and not taken.write_units)


def test_every_recipe_has_cases() -> None:
    assert sorted({name.split(".")[0] for name in CASES}) == sorted(MODELS) == RECIPES


# ---- one table, and tables of their own


def entities_of(module: ModuleType) -> Iterator[type]:
    """The classes of a recipe that may stand in a table, without those that are bases."""
    for name in module.__all__:
        found = getattr(module, name)
        if isinstance(found, type) and found is not soft_delete.SoftDeletable and declaration_of(found) is not None:
            yield found


def origin(model: type) -> type:
    return get_origin(model) or model


def test_all_entities_of_all_recipes_are_in_the_one_table() -> None:
    stored = {origin(model) for model in Everything.entities}
    found = {model for name in RECIPES for model in entities_of(importlib.import_module(f"recipes.{name}"))}
    # a table of Anything is nothing else: it empties one that has others
    assert found - stored == {truncate.Anything}


def beginning(template: str) -> str:
    """What every key of a template begins with; of one without placeholders, all of it, with an end."""
    literal, placeholder, _ = template.partition("{")
    return literal if placeholder else f"{literal}\0"


def begins_apart(one: str, other: str) -> bool:
    return not one.startswith(other) and not other.startswith(one)


def test_whatever_is_in_them_keys_of_two_entities_differ() -> None:
    """Table refuses templates that coincide, and takes those that only some values bring together: not even those."""
    keys = {}
    for model in Everything.entities:
        declared = declaration_of(origin(model))
        assert declared is not None
        keys[origin(model).__name__] = (beginning(str(declared.pk)), beginning(str(declared.sk)))
    assert len(keys) == len(Everything.entities)
    close = [(one, other) for one, other in combinations(keys, 2) if not any(map(begins_apart, keys[one], keys[other]))]
    assert not close


@pytest.mark.parametrize("name", CASES)
def test_a_recipe_does_the_same_in_a_table_of_its_own(name: str) -> None:
    recipe = name.split(".", maxsplit=1)[0]
    models = table_of("any", recipe).entities
    own = Table(f"{recipe}-1", models, pk="customer-id", sk="order no", ttl="expires", discriminator="kind")
    assert taken_by(CASES[name], own) == taken_by(CASES[name])
