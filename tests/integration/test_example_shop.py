"""The example of a shop over HTTP: everything is asked for twice and more, at the same moment, and happens once."""

from __future__ import annotations

import asyncio
import json
import os
import re
import select
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from decimal import Decimal
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pytest
import uvicorn

from dynamap import connect_async
from examples.shop.api import create_app
from examples.shop.shop import Basket, Service, Shop, prepare
from tests.backends import Backend, RunningBackends
from tests.browser import browser, find_chromium

R = TypeVar("R")

ROOT = Path(__file__).parents[2]
PATIENCE = 120.0
TRIES = 20


class Answer(NamedTuple):
    status: int
    body: Any


class Http:
    """Requests to one port of this machine, repeated with the same key while the service says so."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/"
        self._port = port

    def once(self, method: str, path: str, body: object = None, key: str | None = None) -> Answer:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)
        try:
            headers = {} if key is None else {"Idempotency-Key": key}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            read = response.read()
            is_json = response.headers["content-type"] == "application/json"
            return Answer(response.status, json.loads(read) if is_json else read.decode())
        finally:
            connection.close()

    def ask(self, method: str, path: str, body: object = None, key: str | None = None) -> Answer:
        for _ in range(TRIES):
            answer = self.once(method, path, body, key)
            if answer.status != 503:
                break
        return answer

    def customer(self) -> str:
        email = f"{uuid.uuid4().hex}@example.org"
        answer = self.ask("POST", "/customers", {"email": email}, uuid.uuid4().hex)
        assert answer.status == 201, answer
        return str(answer.body["id"])

    def buy(self, customer: str, key: str, sku: str = "book", units: int = 1) -> Answer:
        return self.ask("POST", f"/customers/{customer}/orders", {"sku": sku, "units": units}, key)

    def stored(self, kind: str) -> list[Any]:
        """The items of a type, as they are in the table."""
        return [item for item in self.ask("GET", "/items").body["items"] if item["_type"] == kind]

    def events_until(self, is_enough: Callable[[list[Any]], bool]) -> list[Any]:
        """All that was published, as soon as it is enough."""
        until, count = time.monotonic() + PATIENCE, 0
        while True:
            answer = self.ask("GET", f"/events?after={count}")
            count = answer.body["count"]
            if is_enough(answer.body["events"]):
                return list(answer.body["events"])
            assert time.monotonic() < until, answer.body


def at_once(count: int, act: Callable[[int], R]) -> list[R]:
    """The results of so many calls, none of which begins before all can."""
    barrier = threading.Barrier(count)

    def together(number: int) -> R:
        barrier.wait(PATIENCE)
        return act(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(together, range(count)))


def statuses(answers: list[Answer]) -> dict[int, int]:
    return dict(Counter(answer.status for answer in answers))


def invoiced(events: list[Any]) -> set[str]:
    return {event["key"] for event in events if event["event"] == "invoiced"}


@contextmanager
def serving(backend: Backend, prefix: str) -> Generator[Http, None, None]:
    """The service, on a free port, over a table that is there."""
    served = connect_async(Shop, endpoint_url=backend.url, prefix=prefix)
    app = create_app(served, f"{prefix}{Shop.name}")
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="none"))
    # it listens before the server runs: the first connection waits for it there
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield Http(listening.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
    assert not thread.is_alive()


@pytest.fixture(params=["embedded", "ministack"])
def backend(request: pytest.FixtureRequest, running_backends: RunningBackends) -> Backend:
    """Those of the servers that have both transactions and PartiQL, by which the service shows its items."""
    return running_backends.get(request.param)


@contextmanager
def new_table(backend: Backend) -> Generator[str, None, None]:
    """The prefix of a new table that is prepared."""
    prefix = f"test-{uuid.uuid4().hex}-"

    async def create() -> None:
        async with connect_async(Shop, endpoint_url=backend.url, prefix=prefix) as store:
            await store.create_table()
            await prepare(store)

    asyncio.run(create())
    yield prefix
    backend.client.delete_table(TableName=f"{prefix}{Shop.name}")


@pytest.fixture
def prefix(backend: Backend) -> Iterator[str]:
    with new_table(backend) as made:
        yield made


@pytest.fixture
def http(backend: Backend, prefix: str) -> Iterator[Http]:
    with serving(backend, prefix) as made:
        yield made


@pytest.fixture(scope="module")
def one_http(running_backends: RunningBackends) -> Iterator[Http]:
    """The service on the embedded engine, for what does not come so far as to a server."""
    embedded = running_backends.get("embedded")
    with new_table(embedded) as made, serving(embedded, made) as http:
        yield http


def test_of_twenty_registrations_of_one_address_one_succeeds(http: Http) -> None:
    spellings = ("Ann@Example.org", "ann@example.org")
    answers = at_once(
        20, lambda number: http.ask("POST", "/customers", {"email": spellings[number % 2]}, f"key-{number}")
    )
    assert statuses(answers) == {201: 1, 409: 19}
    [done] = [answer for answer in answers if answer.status == 201]
    assert [each["id"] for each in http.stored("REGISTRANT")] == [done.body["id"]]
    assert [each["owner"] for each in http.stored("CLAIM")] == [done.body["id"]]


def test_a_registration_that_is_repeated_is_the_same_customer(http: Http) -> None:
    answers = at_once(5, lambda _: http.ask("POST", "/customers", {"email": "ann@example.org"}, "key"))
    assert statuses(answers) == {201: 5}
    assert len({answer.body["id"] for answer in answers}) == 1
    other = http.ask("POST", "/customers", {"email": "bob@example.org"}, "key")
    assert (other.status, len(http.stored("REGISTRANT"))) == (422, 1)


def test_a_checkout_that_is_repeated_charges_once(http: Http) -> None:
    customer = http.customer()
    answers = at_once(5, lambda _: http.buy(customer, "key", units=2))
    assert statuses(answers) == {201: 5}
    assert len({answer.body["number"] for answer in answers}) == 1
    assert [Decimal(str(each["charged"])) for each in http.stored("ACCOUNT")] == [Decimal(25)]
    assert [each["left"] for each in http.stored("STOCK") if each["sku"] == "book"] == [3]
    assert len(http.stored("ORDER")) == 1


def test_two_checkouts_are_two_orders(http: Http) -> None:
    customer = http.customer()
    answers = at_once(2, lambda number: http.buy(customer, f"key-{number}"))
    assert statuses(answers) == {201: 2}
    assert len({answer.body["number"] for answer in answers}) == 2
    assert [Decimal(str(each["charged"])) for each in http.stored("ACCOUNT")] == [Decimal(25)]


def test_a_key_is_good_for_one_request_of_one_customer(http: Http) -> None:
    ann, bob = http.customer(), http.customer()
    first = http.buy(ann, "key")
    assert http.buy(ann, "key", units=2).status == 422
    of_bob = http.buy(bob, "key")
    assert (of_bob.status, of_bob.body["customer"]) == (201, bob)
    assert of_bob.body["number"] != first.body["number"]


def test_ten_pieces_and_thirty_buyers_are_ten_orders_each_invoiced_and_told_of_in_order(http: Http) -> None:
    assert http.ask("PUT", "/stock/lamp", {"left": 10}).status == 200
    customers = [http.customer() for _ in range(3)]
    answers = at_once(30, lambda number: http.buy(customers[number % 3], f"key-{number}", "lamp"))
    assert statuses(answers) == {201: 10, 409: 20}
    numbers = sorted(answer.body["number"] for answer in answers if answer.status == 201)
    assert sorted(each["number"] for each in http.stored("ORDER")) == numbers
    assert len(set(numbers)) == 10
    assert [each["left"] for each in http.stored("STOCK") if each["sku"] == "lamp"] == [0]
    assert sum(Decimal(str(each["charged"])) for each in http.stored("ACCOUNT")) == 400

    # while the relay has them invoiced, so do others
    invoices = at_once(20, lambda number: http.ask("POST", f"/orders/{numbers[number % 10]}/invoice"))
    assert statuses(invoices) == {200: 20}
    keys = {f"order-{number}" for number in numbers}
    events = http.events_until(lambda seen: invoiced(seen) == keys)
    documents = http.stored("INVOICE")
    assert sorted(each["number"] for each in documents) == list(range(1, 11))
    assert sorted(each["order"] for each in documents) == numbers
    noted = {each["number"]: each["invoice"] for each in http.stored("ORDER")}
    assert noted == {each["order"]: each["number"] for each in documents}
    assert {number % 10: answer.body["invoice"] for number, answer in enumerate(invoices)} == {
        at: noted[number] for at, number in enumerate(numbers)
    }

    for key in sorted(keys):
        published = [event for event in events if event["key"] == key]
        first_seen = list(dict.fromkeys((event["sequence"], event["event"]) for event in published))
        assert first_seen == sorted(first_seen)
        assert [event for _, event in first_seen] == ["placed", "invoiced"]
    assert {event["key"] for event in events} == keys


def test_what_a_service_has_left_undone_is_done_by_the_next(backend: Backend, prefix: str) -> None:
    async def buy_and_end() -> list[int]:
        async with connect_async(Shop, endpoint_url=backend.url, prefix=prefix) as store:
            service = Service(store)
            customer = await service.register("key", "ann@example.org")
            bought = [await service.checkout(f"key-{number}", Basket(customer.id, "book", 1)) for number in range(3)]
            return [order.number for order in bought]

    keys = {f"order-{number}" for number in asyncio.run(buy_and_end())}
    with serving(backend, prefix) as http:
        http.events_until(lambda seen: invoiced(seen) == keys)
        assert sorted(each["number"] for each in http.stored("INVOICE")) == [1, 2, 3]
    with serving(backend, prefix) as again:
        assert again.ask("GET", "/events").body == {"count": 0, "events": []}
        assert again.stored("OUTBOX_EVENT") == []


@pytest.mark.parametrize(
    ("method", "path", "body", "key", "status", "words"),
    [
        ("POST", "/customers", {"email": "a@b"}, None, 400, "Idempotency-Key is wanted"),
        ("POST", "/customers", {"email": "a@b"}, "k" * 101, 400, "Idempotency-Key is wanted"),
        ("POST", "/customers", {"email": "nobody"}, "key", 400, "email"),
        ("POST", "/customers/nobody/orders", {"sku": "book"}, "key", 404, "no such thing"),
        ("POST", "/customers/nobody/orders", {"sku": "moon"}, "key", 400, "sku: one of book, lamp"),
        ("POST", "/customers/nobody/orders", {"sku": "book", "units": 0}, "key", 400, "units"),
        ("POST", "/orders/7/invoice", None, None, 404, "no such thing"),
        ("GET", "/orders/7", None, None, 404, "no such thing"),
        ("PUT", "/stock/book", {"left": -1}, None, 400, "left"),
        ("PUT", "/stock/moon", {"left": 1}, None, 400, "sku: one of book, lamp"),
        ("GET", "/events?after=x", None, None, 400, "after"),
    ],
)
def test_a_request_that_is_wrong_is_told_so_and_changes_nothing(
    one_http: Http, method: str, path: str, body: object, key: str | None, status: int, words: str
) -> None:
    answer = one_http.once(method, path, body, key)
    assert (answer.status, words in answer.body["error"]) == (status, True), answer
    assert [one_http.stored(kind) for kind in ("REGISTRANT", "ORDER", "ANSWERED", "OUTBOX_EVENT")] == [[], [], [], []]


# ---- the page

ACTS = {
    "register": r"Registered twice with one address: (201 and 409|409 and 201)",
    "same-key": r"Paid twice with one key: 201 and 201, orders: 1",
    "other-key": r"Paid twice with two keys: 201 and 201, orders: 2",
    "last-piece": r"Bought the last piece twice: (201 and 409|409 and 201), orders: 1",
    "invoice": r"Invoiced twice, beside the relay: 200 and 200, invoices: 1",
}

PRESS = """
new Promise((resolve) => {
  const button = document.getElementById(%s);
  // it is disabled for as long as it is at work
  new MutationObserver((_, observer) => {
    if (button.disabled) return;
    observer.disconnect();
    resolve(document.getElementById("summary").textContent);
  }).observe(button, { attributes: true });
  button.click();
})
"""

ROWS = "[...document.querySelectorAll(%s)].map((row) => [...row.cells].map((cell) => cell.textContent))"

SHOWN_EVENTS = """
new Promise((resolve) => {
  const events = document.getElementById("events");
  const look = () => events.rows.length >= %d && resolve([...events.rows].map((row) => row.cells[2].textContent));
  new MutationObserver(look).observe(events, { childList: true });
  look();
})
"""


@contextmanager
def started() -> Generator[Http, None, None]:
    """The service as its one command starts it."""
    program = subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "examples.shop", "--port", "0"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert program.stdout is not None
        assert select.select([program.stdout], [], [], PATIENCE)[0]
        said = program.stdout.readline()
        found = re.fullmatch(r"Open http://127\.0\.0\.1:(\d+)/\n", said)
        assert found is not None, said
        yield Http(int(found[1]))
    finally:
        program.terminate()
        _, errors = program.communicate(timeout=PATIENCE)
    assert errors == ""


def test_it_starts_by_one_command_and_has_a_page_that_needs_nothing_else() -> None:
    with started() as http:
        answer = http.once("GET", "/")
        assert answer.status == 200
        assert re.findall(r'<button id="([^"]*)"', answer.body) == list(ACTS)
        assert re.findall(r"""(?:https?:)?//[a-z]|\bsrc=|@import|url\(|href="(?!data:)""", answer.body) == []
        assert http.buy(http.customer(), "key").status == 201


def test_the_page_sends_everything_twice_and_shows_what_came_of_it(tmp_path: Path) -> None:
    path = find_chromium()
    with started() as http, browser(path, tmp_path) as page:
        page.open(http.url)
        for button, expected in ACTS.items():
            assert re.fullmatch(expected, page.evaluate(PRESS % json.dumps(button)))
            requests = page.evaluate(ROWS % json.dumps("#requests tr"))[:2]
            assert {row[0].split()[0] for row in requests} == {"POST"}
            same_key = len({row[1] for row in requests}) == 1
            assert same_key == (button in {"same-key", "invoice"})
        # the relay's work comes into sight by itself: one order, two, one, and one
        assert sorted(page.evaluate(SHOWN_EVENTS % 10)) == ["invoiced"] * 5 + ["placed"] * 5
        shown = [row[0].split("#")[0] for row in page.evaluate(ROWS % json.dumps("#items tr"))]
        assert shown.count("ORDER") == shown.count("INVOICE") == 5
        assert shown.count("CLAIM") == shown.count("REGISTRANT") == 5
        assert page.errors == []
