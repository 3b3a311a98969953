"""The outbox of real processes: as many write as relay, and one of the relays is killed."""

from __future__ import annotations

from multiprocessing import get_context
from pathlib import Path

import pytest

from tests.backends import RunningBackends
from tests.depth import how_many
from tests.outbox_processes import KEYS, Parcel, depot, published_in, relay_events, write_events
from tests.recipe_processes import running, store_at

HALF = how_many(quick=2, deep=4)


@pytest.mark.slow
@pytest.mark.deep
@pytest.mark.parametrize("name", ["ministack", "roto"])
def test_every_event_is_published_in_order_though_a_relay_is_killed(
    name: str, running_backends: RunningBackends, table_name: str, tmp_path: Path
) -> None:
    url = running_backends.get(name).url
    store = store_at(url, depot(table_name))
    store.create_table()
    parcels = store.of(Parcel)
    for key in KEYS:
        parcels.put(Parcel(key)).send()
    context = get_context("spawn")
    written, path = context.Event(), tmp_path / "published"
    receiver, sender = context.Pipe(duplex=False)
    each = how_many(quick=10, deep=250)
    writing = [(url, table_name, seed, each) for seed in range(HALF)]
    relaying = [(url, table_name, path, written, sender if number == 0 else None) for number in range(HALF)]
    with running(relay_events, relaying[:1]) as (victim,), running(write_events, writing) as writers:
        assert receiver.recv() == "begun"
        with running(relay_events, relaying[1:]) as relays:
            victim.kill()
            for process in writers:
                process.join()
                assert process.exitcode == 0
            written.set()
            for process in relays:
                process.join()
                assert process.exitcode == 0
    receiver.close()
    sender.close()
    published = published_in(path)
    assert len({event_id for _, _, event_id in published}) == len({event[:2] for event in published}) == HALF * each
    for key in KEYS:
        parcel = parcels.get(id=key).required().send()
        first = list(dict.fromkeys(sequence for each_key, sequence, _ in published if each_key == key))
        # it was put with version 1, so that the changes were made from 1, 2, 3, ...
        assert first == list(range(1, parcel.moves + 1))
    store.delete_table()
    store.close()
