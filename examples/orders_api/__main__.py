"""The service on a DynamoDB inside this process, with some orders to look at: `python -m examples.orders_api`."""

from __future__ import annotations

import argparse
import secrets
import socket
from datetime import datetime, timedelta, timezone
from decimal import Decimal

import uvicorn

from dynamap import connect, connect_async
from dynamap.testing import embedded
from examples.orders_api.api import create_app
from examples.orders_api.orders import Order, Shop


def main() -> None:
    """Serve until Ctrl+C."""
    parser = argparse.ArgumentParser(prog="python -m examples.orders_api", description=__doc__)
    parser.add_argument("--port", type=int, default=8000, help="0 for a free one; default: %(default)s")
    port: int = parser.parse_args().port
    with embedded() as endpoint_url:
        with connect(Shop, endpoint_url=endpoint_url) as store:
            store.create_table()
            # unversioned: the table is new, so that nothing is overwritten
            store.of(Order).put_many(_some_orders(45), unversioned=True).send()
        # a service of several processes takes one that they share, from where its other secrets are
        served = connect_async(Shop, endpoint_url=endpoint_url, cursor_key=secrets.token_bytes(32))
        server = uvicorn.Server(uvicorn.Config(create_app(served), log_level="warning", ws="none"))
        with socket.create_server(("127.0.0.1", port)) as listening:
            where = f"http://127.0.0.1:{listening.getsockname()[1]}"
            print(f"Try {where}/customers/ann/orders?limit=10", flush=True)
            server.run(sockets=[listening])


def _some_orders(count: int) -> list[Order]:
    first = datetime(2025, 12, 17, 9, tzinfo=timezone.utc)
    times = (first + timedelta(minutes=7 * number) for number in range(count))
    return [
        Order("ann", f"{placed:%Y%m%dT%H%M%S%f}-{number:08x}", placed, f"Book {number}", Decimal(number))
        for number, placed in enumerate(times, 1)
    ]


if __name__ == "__main__":
    main()
