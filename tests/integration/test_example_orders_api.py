"""The example of a service over HTTP: pages by cursors in addresses, and changes that meet others'."""

from __future__ import annotations

import json
import os
import re
import select
import socket
import subprocess
import sys
import threading
import uuid
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, quote, urlsplit

import pytest
import uvicorn

from dynamap import connect, connect_async
from examples.orders_api.api import create_app
from examples.orders_api.orders import Shop
from tests.backends import Backend, RunningBackends

ROOT = Path(__file__).parents[2]
SECRET = b"0123456789abcdef0123456789abcdef"


class Answer(NamedTuple):
    status: int
    body: Any
    headers: dict[str, str]


def orders_of(customer: str) -> str:
    return f"/customers/{quote(customer, safe='')}/orders"


class Http:
    """Requests to one port of this machine."""

    def __init__(self, port: int) -> None:
        self._port = port

    def request(self, method: str, path: str, body: object = None) -> Answer:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=30)
        try:
            connection.request(method, path, body if body is None or isinstance(body, bytes) else json.dumps(body))
            response = connection.getresponse()
            return Answer(response.status, json.loads(response.read()), dict(response.getheaders()))
        finally:
            connection.close()

    def get(self, path: str) -> Answer:
        return self.request("GET", path)

    def place(self, customer: str, article: str, total: object = "9.50") -> Any:
        answer = self.request("POST", orders_of(customer), {"article": article, "total": total})
        assert answer.status == 201, answer
        return answer.body

    def articles(self, first: str) -> list[list[str]]:
        """The articles of all pages, page by page, as a client reads them who follows `next`."""
        pages: list[list[str]] = []
        path: str | None = first
        while path is not None:
            answer = self.get(path)
            assert answer.status == 200, answer
            pages.append([order["article"] for order in answer.body["orders"]])
            path = answer.body["next"]
        return pages


@contextmanager
def serving(backend: Backend, table_name: str) -> Generator[Http, None, None]:
    """The service, on a free port, over a new table."""
    prefix = f"{table_name}-"
    with connect(Shop, client=backend.client, prefix=prefix) as store:
        store.create_table()
        served = connect_async(Shop, endpoint_url=backend.url, prefix=prefix, cursor_key=SECRET)
        server = uvicorn.Server(uvicorn.Config(create_app(served), log_level="warning", ws="none"))
        # it listens before the server runs: the first connection waits for it there
        with socket.create_server(("127.0.0.1", 0)) as listening:
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
            thread.start()
            yield Http(listening.getsockname()[1])
            server.should_exit = True
            thread.join(30)
        assert not thread.is_alive()
        store.delete_table()


@pytest.fixture
def http(backend: Backend, table_name: str) -> Iterator[Http]:
    """The service on each backend in turn."""
    with serving(backend, table_name) as made:
        yield made


@pytest.fixture(scope="module")
def one_http(running_backends: RunningBackends) -> Iterator[Http]:
    """The service on the embedded engine, for what does not come so far as to a server."""
    with serving(running_backends.get("embedded"), f"test-{uuid.uuid4().hex}") as made:
        yield made


def test_orders_come_newest_first_page_by_page(http: Http) -> None:
    for number in range(7):
        http.place("ann", f"book {number}")
    http.place("bob", "a lamp")
    assert http.articles("/customers/ann/orders?limit=3") == [
        ["book 6", "book 5", "book 4"],
        ["book 3", "book 2", "book 1"],
        ["book 0"],
    ]
    assert http.articles("/customers/bob/orders") == [["a lamp"]]
    assert http.articles("/customers/nobody/orders") == [[]]


def test_an_order_is_placed_read_and_changed(http: Http) -> None:
    placed = http.request("POST", "/customers/ann/orders", {"article": "a book", "total": "12.50"})
    assert placed.status == 201
    assert (placed.body["total"], placed.body["status"]) == ("12.5", "open")
    where = {name.lower(): value for name, value in placed.headers.items()}["location"]
    assert http.get(where).body == placed.body
    paid = http.request("PATCH", where, {"status": "paid", "revision": placed.body["revision"]})
    assert (paid.status, paid.body["status"]) == (200, "paid")
    assert http.get(where).body == paid.body


def test_a_change_of_what_somebody_else_changed_is_a_conflict_and_shows_what_it_is_now(http: Http) -> None:
    order = http.place("ann", "a book")
    where = f"/customers/ann/orders/{order['number']}"
    http.request("PATCH", where, {"status": "paid", "revision": order["revision"]})
    late = http.request("PATCH", where, {"status": "cancelled", "revision": order["revision"]})
    assert late.status == 409
    assert "has changed since it was read" in late.body["error"]
    assert late.body["order"]["status"] == "paid"
    assert http.get(where).body == late.body["order"]
    again = http.request("PATCH", where, {"status": "sent", "revision": late.body["order"]["revision"]})
    assert (again.status, again.body["status"]) == (200, "sent")


def test_an_order_that_is_not_there_is_404_and_stays_absent(http: Http) -> None:
    for method, body in (("GET", None), ("PATCH", {"status": "paid", "revision": 1})):
        answer = http.request(method, "/customers/ann/orders/none", body)
        assert (answer.status, answer.body) == (404, {"error": "there is no such order"})
    assert http.articles("/customers/ann/orders") == [[]]


def test_orders_of_one_customer_are_not_there_for_another(http: Http) -> None:
    order = http.place("ann", "a book")
    assert http.get(f"/customers/bob/orders/{order['number']}").status == 404
    change = {"status": "cancelled", "revision": order["revision"]}
    assert http.request("PATCH", f"/customers/bob/orders/{order['number']}", change).status == 404


def test_a_cursor_of_one_customer_does_not_open_anothers_list(http: Http) -> None:
    for number in range(3):
        http.place("ann", f"book {number}")
        http.place("bob", f"lamp {number}")
    following: str = http.get("/customers/ann/orders?limit=1").body["next"]
    cursor = parse_qs(urlsplit(following).query)["cursor"][0]
    foreign = http.get(f"/customers/bob/orders?limit=1&cursor={quote(cursor)}")
    assert foreign.status == 400
    assert "the cursor does not belong here" in foreign.body["error"]
    assert "ann" not in foreign.body["error"]
    # the rest of the page may be of another size
    assert http.get(f"/customers/ann/orders?limit=2&cursor={quote(cursor)}").status == 200


def test_a_cursor_that_was_changed_is_400_with_words(one_http: Http) -> None:
    for number in range(3):
        one_http.place("ann", f"book {number}")
    following: str = one_http.get("/customers/ann/orders?limit=1").body["next"]
    cursor = parse_qs(urlsplit(following).query)["cursor"][0]
    changed = cursor[:40] + ("A" if cursor[40] != "A" else "B") + cursor[41:]
    for wrong, words in [
        (changed, "the cursor does not belong here"),
        (cursor[:-4], "cursor"),
        (cursor + "=", "this is no cursor"),
        ("", "leave it out for the first page"),
        ("20", "this is no cursor"),
        ("ünicode", "this is no cursor"),
    ]:
        answer = one_http.get(f"/customers/ann/orders?limit=1&cursor={quote(wrong)}")
        assert answer.status == 400, wrong
        assert words in answer.body["error"], wrong


@pytest.mark.parametrize("limit", ["0", "101", "-1", "1.5", "ten", "", "1000", "٣"])
def test_a_limit_out_of_bounds_is_400(one_http: Http, limit: str) -> None:
    answer = one_http.get(f"/customers/ann/orders?limit={quote(limit)}")
    assert (answer.status, answer.body) == (400, {"error": "limit: a number from 1 to 100"})


@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param(b"", "Input data was truncated", id="no body"),
        pytest.param(b"\xff", "JSON", id="no text"),
        pytest.param({"article": "a book"}, "missing required field `total`", id="no total"),
        pytest.param({"article": "", "total": "1"}, "length >= 1", id="no article"),
        pytest.param({"article": "a book", "total": "-1"}, "total: a number from 0 on", id="a negative total"),
        pytest.param({"article": "a book", "total": "NaN"}, "total: a number from 0 on", id="no number"),
        pytest.param({"article": "a book", "total": "1" * 39}, "total", id="more digits than DynamoDB has"),
        pytest.param({"article": "a book", "total": "1", "status": "paid"}, "unknown field `status`", id="a status"),
    ],
)
def test_a_body_that_makes_no_order_is_400_and_nothing_is_stored(one_http: Http, body: object, words: str) -> None:
    answer = one_http.request("POST", "/customers/careless/orders", body)
    assert answer.status == 400
    assert words in answer.body["error"]
    assert one_http.articles("/customers/careless/orders") == [[]]


@pytest.mark.parametrize("change", [{"status": "lost", "revision": 1}, {"status": "paid", "revision": 0}, {}])
def test_a_change_that_says_too_little_is_400(one_http: Http, change: object) -> None:
    assert one_http.request("PATCH", "/customers/ann/orders/1", change).status == 400


@pytest.mark.parametrize("customer", ["a#b c", "ä?&=%", "CUSTOMER#ann"])
def test_names_of_any_characters_lead_back_to_their_orders(one_http: Http, customer: str) -> None:
    for number in range(3):
        assert one_http.place(customer, f"book {number}")["customer"] == customer
    assert one_http.articles(f"{orders_of(customer)}?limit=2") == [
        ["book 2", "book 1"],
        ["book 0"],
    ]
    assert one_http.articles("/customers/a/orders") == [[]]


def test_a_name_that_no_key_can_hold_is_400(one_http: Http) -> None:
    answer = one_http.get(f"/customers/{'a' * 3_000}/orders")
    assert answer.status == 400
    assert "DynamoDB takes 2048" in answer.body["error"]


def test_it_starts_by_one_command() -> None:
    program = subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "examples.orders_api", "--port", "0"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert program.stdout is not None
        assert select.select([program.stdout], [], [], 60)[0]
        said = program.stdout.readline()
        found = re.fullmatch(r"Try http://127\.0\.0\.1:(\d+)(/customers/ann/orders\?limit=10)\n", said)
        assert found is not None, said
        pages = Http(int(found[1])).articles(found[2])
    finally:
        program.terminate()
        _, errors = program.communicate(timeout=30)
    assert errors == ""
    assert [len(page) for page in pages] == [10, 10, 10, 10, 5]
    assert pages[0][0] == "Book 45"
