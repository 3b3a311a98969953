"""Clients with retries of their own send our writes once over connections that really break, and their own again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.backends import DIRECT, Backend, RunningBackends, client_for
from tests.depth import how_many
from tests.fault_lanes import KINDS, Lanes
from tests.modes import Mode, async_client
from tests.wire_faults import FAULTS

pytestmark = DIRECT

RETRY_MODES = ["legacy", "standard", "adaptive"]
FAULTS_HERE = [name for name in FAULTS if "stall" not in name]


@pytest.fixture
def backend(running_backends: RunningBackends) -> Backend:
    """The faster of the servers with transactions: here the client counts."""
    return running_backends.get("roto")


@pytest.fixture(scope="module")
def lanes(running_modes: dict[str, Mode], running_backends: RunningBackends) -> Iterator[Lanes]:
    made = Lanes()
    yield made
    made.close()


@pytest.mark.deep
@pytest.mark.parametrize("fault", FAULTS_HERE)
def test_a_client_that_retries_sends_our_writes_as_one_does_that_never_retries(
    lanes: Lanes, backend: Backend, mode: Mode, fault: str
) -> None:
    names = ["add", *KINDS][: how_many(quick=1, deep=len(KINDS) + 1)]
    cases = [(KINDS[name], {1: FAULTS[fault]}) for name in names]
    for reused in (True, False)[: how_many(quick=1, deep=2)]:
        reference = lanes.get(backend, mode, client="once").tell_in_turn(cases, reused=reused)
        for retry_mode in RETRY_MODES:
            told = lanes.get(backend, mode, client=retry_mode).tell_in_turn(cases, reused=reused)
            assert all(each.agrees for each in told), retry_mode
            assert list(map(str, told)) == list(map(str, reference)), retry_mode


@pytest.mark.parametrize("fault", ["head cut", "body cut", "short length"])
def test_a_passed_client_tells_of_half_an_answer_what_its_connections_do(
    lanes: Lanes, backend: Backend, mode: Mode, fault: str
) -> None:
    """urllib3 hands out the part that came, with its status 200, and aiohttp gives an error instead."""
    told = lanes.get(backend, mode, client="once").tell_in_turn([(KINDS["add"], {1: FAULTS[fault]})])
    assert list(map(str, told)) == ["?1/1" if mode.is_async else "!1/1"]


@pytest.mark.parametrize("retry_mode", RETRY_MODES)
@pytest.mark.parametrize("fault", ["reset before", "closed after", "500 after"])
def test_what_a_client_sends_for_itself_it_sends_again(
    lanes: Lanes, backend: Backend, mode: Mode, retry_mode: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which shows that the proxy would see a repetition of ours, and that it would be applied twice."""
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda seconds: None)
    lane = lanes.get(backend, mode)
    (new,) = lane.prepare(KINDS["add"])
    options: dict[str, Any] = {"retries": {"mode": retry_mode, "max_attempts": 3}}
    request: dict[str, Any] = {
        "TableName": lane.raw.name,
        "Key": {"pk": {"S": f"NOTE#{new}"}, "sk": {"S": "NOTE"}},
        "UpdateExpression": "ADD #count :one",
        "ExpressionAttributeNames": {"#count": "count"},
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }

    async def awaited() -> None:
        async with async_client(lane.proxy.url, **options) as client:
            await client.update_item(**request)

    script = lane.proxy.play({1: FAULTS[fault]})
    if mode.is_async:
        mode.wait(awaited())
    else:
        client = client_for(lane.proxy.url, **options)
        client.update_item(**request)
        client.close()
    lane.proxy.settle(script)
    assert len(script.writes) == 2
    ((_, note),) = lane.stored(new)
    assert note is not None
    assert note["count"] == {"N": "2" if fault == "reset before" else "3"}
