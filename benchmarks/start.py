"""Cold start: what it takes to import a library, and to get the first answer, in a fresh interpreter."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

from benchmarks.processes import ROOT, WorkerFailed, environment
from benchmarks.server import Stub
from benchmarks.tables import table
from benchmarks.works import Peer

ROUNDS = 5

_DECLARED = """
from dynamap import Table, connect, connect_async, entity

@entity("ORDER", pk="CUSTOMER#{customer}", sk="ORDER#{number}")
class Order:
    customer: str
    number: str

Orders = Table("bench", [Order])
"""
IMPORTS: Mapping[str, str] = {
    "boto3": "import boto3",
    "dynamap": "from dynamap import Table, connect, entity",
    "pynamodb": "from pynamodb.models import Model",
    "aiodynamo": "from aiodynamo.client import Client; import aiohttp",
    "dynamoxy": "import dynamoxy",
    "dyntastic": "from dyntastic import Dyntastic",
    "pydynantic": "from pydynantic import Entity",
}
FIRST_GETS: Mapping[str, str] = {
    "boto3": """
import boto3
key = {"pk": {"S": "CUSTOMER#c-0001"}, "sk": {"S": "ORDER#00000001"}}
boto3.client("dynamodb", endpoint_url=URL).get_item(TableName="bench", Key=key)["Item"]
""",
    "dynamap": _DECLARED
    + """
connect(Orders, endpoint_url=URL).of(Order).get(customer="c-0001", number="00000001").required().send()
""",
    "dynamap_aio": _DECLARED
    + """
import asyncio
async def main():
    async with connect_async(Orders, endpoint_url=URL) as store:
        await store.of(Order).get(customer="c-0001", number="00000001").required().send()
asyncio.run(main())
""",
}


def _taken(code: str) -> tuple[float, float]:
    """Milliseconds of processor and wall time of an interpreter that runs this."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, cwd=ROOT, env=environment()
    )
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        msg = f"this ended with {done.returncode}:\n{code}\n{done.stderr.strip()[-1000:]}"
        raise WorkerFailed(msg)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return processor * 1e3, wall * 1e3


def show_start(stub: Stub, peers: Sequence[Peer]) -> None:
    """Measure in alternating rounds, and print."""
    names = [peer.name for peer in peers]
    codes = {"an interpreter that does nothing": "pass"}
    codes |= {f"{name}: import": code for name, code in IMPORTS.items() if name in names}
    codes |= {
        f"{name}: import, client, first get": f"URL = {stub.url!r}\n{code}"
        for name, code in FIRST_GETS.items()
        if name in names
    }
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in codes}
    for _ in range(ROUNDS):
        for name, code in codes.items():
            taken[name].append(_taken(code))
    rows = [
        (name, [f"{statistics.median(column):.0f}" for column in zip(*each, strict=True)])
        for name, each in taken.items()
    ]
    print()
    print(table(f"cold start, milliseconds, the median of {ROUNDS}", ["processor", "wall"], rows))
