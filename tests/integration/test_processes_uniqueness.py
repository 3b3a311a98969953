"""Real processes that all want the same addresses."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from recipes.uniqueness import Claim, Registrant
from tests.backends import RunningBackends
from tests.depth import how_many
from tests.recipe_processes import running, store_at
from tests.repeated_processes import members, register_all

PROCESSES = how_many(quick=3, deep=8)


@pytest.mark.slow
@pytest.mark.deep
@pytest.mark.parametrize("name", ["ministack", "roto"])
def test_of_many_processes_one_gets_each_address(
    name: str, running_backends: RunningBackends, table_name: str, tmp_path: Path
) -> None:
    url = running_backends.get(name).url
    store = store_at(url, members(table_name))
    store.create_table()
    emails = [f"{number}@example.org" for number in range(how_many(quick=6, deep=100))]
    # each process writes them in its own way
    forms = [str.upper, str.title, "{} ".format, " {}".format]
    paths = [tmp_path / str(number) for number in range(PROCESSES)]
    arguments = [
        (url, table_name, path.name, [form(email) for email in emails], path)
        for path, form in zip(paths, itertools.cycle(forms))
    ]
    with running(register_all, arguments) as processes:
        for process in processes:
            process.join()
            assert process.exitcode == 0
    won = [(email.strip().lower(), path.name) for path in paths for email in json.loads(path.read_text())]
    assert sorted(email for email, _ in won) == sorted(emails)
    registrants = store.of(Registrant).scan().send()
    assert sorted((each.email.strip().lower(), each.id.split()[0]) for each in registrants) == sorted(won)
    claims = {claim.value: claim.owner for claim in store.of(Claim, consistent=True).scan().send()}
    assert claims == {each.email.strip().lower(): each.id for each in registrants}
    store.delete_table()
    store.close()
