"""Scans: what is sent, how fast, and what is refused before anything is."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from typing import Any

import pytest

from dynamap import KeyValueError, Progress, RequestError, Store, Sync, progress_bar
from dynamap.plan import Call, Sleep
from tests.in_memory import memory_store
from tests.orders import Document, Documents, Order, Orders

SECRET = bytes(range(32))


def documents(count: int = 5, **options: Any) -> Store[Sync]:
    return memory_store(Documents, [Document("a", number) for number in range(count)], **options)[0]


def refused(make: Any) -> str:
    with pytest.raises(RequestError) as caught:
        make()
    return str(caught.value)


def test_params_of_a_scan() -> None:
    scan = memory_store(Orders)[0].of(Order).scan()
    type_filter = {
        "FilterExpression": "#0 = :0",
        "ExpressionAttributeNames": {"#0": "_type"},
        "ExpressionAttributeValues": {":0": {"S": "ORDER"}},
    }
    assert scan.params() == {"TableName": "orders", "ConsistentRead": True, **type_filter}
    assert scan.eventually_consistent().segments(3).page_size(7).params() == {
        "TableName": "orders",
        "TotalSegments": 3,
        "Segment": 0,
        "Limit": 7,
        **type_filter,
    }


def test_explain_says_which_segment() -> None:
    explained = documents().of(Document).scan().segments(3).page_size(7).explain()
    assert "  reads      7 items at most in this request, before the filter, segment 1 of 3\n" in explained


def test_refused_steps() -> None:
    scan = documents().of(Document).scan()
    assert refused(lambda: scan.segments(0)) == "scan of Document: segments() takes an int from 1 on; got 0"
    assert (
        refused(lambda: scan.segments(2_000_000)) == "scan of Document: segments() takes up to 1,000,000; got 2,000,000"
    )
    assert (
        refused(lambda: scan.rate(0))
        == "scan of Document: rate() takes a number of read units per second above 0; got 0"
    )
    assert (
        refused(lambda: scan.filter(1))  # type: ignore[arg-type]
        == "scan of Document: filter() takes a Condition, such as F(X.count).ge(1); got int"
    )
    assert (
        refused(lambda: scan.resume("x"))
        == "scan of Document: resume() takes a cursor, which needs a secret: write connect(..., cursor_key=...)"
    )
    assert (
        refused(lambda: scan.segments(2).page())
        == "scan of Document: page() reads one series of pages: use pages() in segments, and resume(page.next)"
    )


def test_a_bound_repository_has_no_scan() -> None:
    orders = memory_store(Orders)[0].of(Order).bind(customer="a")
    assert refused(orders.scan) == (
        "scan of Order: a repository that is bound to customer has no scan, which would read the items of all others "
        "too: use query()"
    )
    assert not issubclass(RequestError, KeyValueError)


def test_the_rate_is_kept_by_all_segments_together() -> None:
    now = 0.0
    sent: list[float] = []
    store = documents(40)
    scan = store.of(Document).scan().page_size(4).rate(2.0)
    scan = scan._copy(_runtime=replace(store._runtime, monotonic=lambda: now))
    plan = scan._plan()
    command = next(plan)
    while True:
        try:
            if isinstance(command, Sleep):
                now += command.seconds
                command = plan.send(None)
            else:
                assert isinstance(command, Call)
                sent.append(now)
                reply = store._runtime.driver.client().scan(**command.params)
                command = plan.send({**reply, "ConsumedCapacity": {"CapacityUnits": 3.0}})
        except StopIteration as stop:
            assert len(stop.value) == 40
            break
    assert sent == [pytest.approx(1.5 * number) for number in range(len(sent))]
    assert len(sent) == 11


def test_where_nothing_says_what_was_consumed_the_items_do() -> None:
    scan = documents(3).of(Document).scan().rate(1000.0)
    assert "ReturnConsumedCapacity" not in scan.params()
    assert len(scan.send()) == 3


def test_a_told_function_that_raises_ends_the_scan() -> None:
    def told(progress: Progress) -> None:
        msg = "enough"
        raise RuntimeError(msg)

    with pytest.raises(RuntimeError, match="enough"):
        documents().of(Document).scan().on_progress(told).send()


def test_a_progress_bar() -> None:
    drawn = io.StringIO()
    with progress_bar("documents", total=5, file=drawn) as bar:
        documents().of(Document).scan().page_size(2).on_progress(bar).send()
    assert "documents: 100%" in drawn.getvalue()
    assert "5/5" in drawn.getvalue()


def test_without_its_package_there_is_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(RequestError) as caught, progress_bar():
        pass
    assert str(caught.value) == (
        'progress_bar() needs the package tqdm: install it with `pip install "dynamap[progress]"`'
    )
