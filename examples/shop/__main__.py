"""The shop on a DynamoDB inside this process, with a page in the browser: `python -m examples.shop`."""

from __future__ import annotations

import argparse
import asyncio
import socket

import uvicorn

from dynamap import connect_async
from dynamap.testing import embedded
from examples.shop.api import create_app
from examples.shop.shop import Shop, prepare


def main() -> None:
    """Serve until Ctrl+C."""
    parser = argparse.ArgumentParser(prog="python -m examples.shop", description=__doc__)
    parser.add_argument("--port", type=int, default=8000, help="0 for a free one; default: %(default)s")
    port: int = parser.parse_args().port
    with embedded() as endpoint_url:
        asyncio.run(_create(endpoint_url))
        app = create_app(connect_async(Shop, endpoint_url=endpoint_url), Shop.name)
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="none"))
        with socket.create_server(("127.0.0.1", port)) as listening:
            print(f"Open http://127.0.0.1:{listening.getsockname()[1]}/", flush=True)
            server.run(sockets=[listening])


async def _create(endpoint_url: str) -> None:
    async with connect_async(Shop, endpoint_url=endpoint_url) as store:
        await store.create_table()
        await prepare(store)


if __name__ == "__main__":
    main()
