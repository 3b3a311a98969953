"""Charges that real processes repeat under the same keys."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.backends import RunningBackends
from tests.depth import how_many
from tests.recipe_processes import running, store_at
from tests.repeated_processes import Charge, Wallet, charge_all, shop

PROCESSES = how_many(quick=3, deep=8)
TIMES = 3


@pytest.mark.slow
@pytest.mark.deep
@pytest.mark.parametrize("name", ["ministack", "roto"])
def test_a_charge_that_processes_repeat_is_made_once(
    name: str, running_backends: RunningBackends, table_name: str, tmp_path: Path
) -> None:
    url = running_backends.get(name).url
    store = store_at(url, shop(table_name))
    store.create_table()
    keys = [f"request-{number}" for number in range(how_many(quick=20, deep=400))]
    # each key is taken by three processes that come to it at about the same time
    shares = [
        [key for number, key in enumerate(keys) if (position - number) % PROCESSES < TIMES]
        for position in range(PROCESSES)
    ]
    paths = [tmp_path / str(number) for number in range(PROCESSES)]
    with running(
        charge_all, [(url, table_name, share, path) for share, path in zip(shares, paths, strict=True)]
    ) as processes:
        for process in processes:
            process.join()
            assert process.exitcode == 0
    charges = {charge.key: charge.id for charge in store.of(Charge, consistent=True).scan().send()}
    wallets = store.of(Wallet, consistent=True).scan().send()
    assert sum(wallet.charges for wallet in wallets) == len(keys)
    assert sorted(charges) == sorted(keys)
    answers = [(key, answer) for path in paths for key, answer in json.loads(path.read_text())]
    assert len(answers) == TIMES * len(keys)
    assert answers == [(key, charges[key]) for key, _ in answers]
    store.delete_table()
    store.close()
